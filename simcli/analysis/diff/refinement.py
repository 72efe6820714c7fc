"""What the length of the step does: sums of differences between three runs of one scene, by world and quantity.

    e = y(h) - y(h/2),  f = y(h/2) - y(h/4)

Where the error is C(t) h^p, f is e / 2^p at every frame and in every component. So the sums e.e, e.f, f.f say the order and
whether there is one: they are the lengths of two vectors and the angle between them. Then

    error(h) = |y(h) - y| = |y(h) - y(h/2)| 2^p / (2^p - 1)

Source: Richardson 1911. Deviation: p is observed, and an estimate is given only where both differences have the same shape.
None is given of worlds in which shapes may touch or a hard limit may be met: between frames too, as far as the speed there
can carry.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.diff.labelled import Labelled
from simcli.model.closure.limits import has_bounds
from simcli.model.tables.model import JointKind, Model
from simcli.records.contents.measures import EstimateVerdict
from simcli.records.reading.tiles import cut_frames, read_tile, tile_lengths

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

ESTIMATED_QUANTITIES = (
    "joint.q",
    "joint.qd",
    "joint.qdd",
    "joint.effort",
    "joint.wrench",
    "body.position",
    "body.orientation",
    "body.velocity",
    "body.angular_velocity",
    "energy.total",
)
SIZES = ("energy.kinetic", "energy.potential", "energy.elastic")  # read for their size: a sum of them can be zero
_TURN = "rad"  # unit of the difference of two quaternions: the angle between them, twice the length of q_a - q_b


@dataclass(frozen=True)
class EstimatedQuantity:
    """The numbers of a dataset that are one quantity in one unit.

    Attributes:
        name: as `joint.q`.
        unit: of the differences.
        labels: of the m differences.
        columns: (m,) or, of rotations, (m, 4), in the flattened dataset.
    """

    name: str
    unit: str
    labels: tuple[str, ...]
    columns: np.ndarray

    @property
    def is_turn(self) -> bool:
        """True for quaternions."""
        return self.columns.ndim > 1

    def of(self, values: np.ndarray) -> np.ndarray:
        """The numbers themselves, (F, W, m) or (F, W, m, 4), out of (F, W, n)."""
        return values[..., self.columns]


def quantities_of(column: Labelled) -> list[EstimatedQuantity]:
    """The quantities of a dataset; numbers of other names are left out."""
    place = {label: k for k, label in enumerate(column.components)}
    turns = {label for four in column.quaternions for label in four}
    groups: dict[tuple[str, str], list[str]] = {}
    for label, one in column.components.items():
        name = _name(one.channel)
        if name in (*ESTIMATED_QUANTITIES, *SIZES) and label not in turns:
            groups.setdefault((name, one.unit), []).append(label)
    found = [
        EstimatedQuantity(name, unit, tuple(labels), np.array([place[label] for label in labels]))
        for (name, unit), labels in groups.items()
    ]
    rolls: dict[str, list[tuple[str, ...]]] = {}
    for four in column.quaternions:
        rolls.setdefault(_name(column.components[four[0]].channel), []).append(four)
    return found + [
        EstimatedQuantity(
            name,
            _TURN,
            tuple(column.components[four[0]].channel for four in some),
            np.array([[place[label] for label in four] for four in some]),
        )
        for name, some in rolls.items()
        if name in ESTIMATED_QUANTITIES
    ]


def _name(channel: str) -> str:
    """`joint.q` of `joint.pin.q`."""
    return f"{channel.partition('.')[0]}.{channel.rpartition('.')[2]}"


class Sums:
    """What is known so far of one quantity.

    Args:
        n_worlds: W.

    Attributes:
        ee, ef, ff: (W,), sums over frames and components.
        last: [s], (W,), time of the last frame that all three runs have; -inf if there is none.
        e, f: (W,), largest sizes.
        scale: (W,), largest size of the quantity itself.
        time: [s], (W,), of the largest e.
        label: (W,), its component.
    """

    def __init__(self, n_worlds: int):
        self.ee, self.ef, self.ff = np.zeros((3, n_worlds))
        self.e, self.f, self.scale = np.zeros((3, n_worlds))
        self.last = np.full(n_worlds, -np.inf)
        self.time, self.label = np.full(n_worlds, np.nan), np.full(n_worlds, "", object)

    def add(self, what: EstimatedQuantity, tiles: Sequence[np.ndarray], time: np.ndarray, worlds: np.ndarray) -> None:
        """Take one more part.

        Args:
            what: the quantity.
            tiles: (F, W, n) of the runs at h, h/2, h/4; NaN from where a world has ended.
            time: [s], (F,).
            worlds: (W,), numbers.
        """
        a, b, c = (what.of(tile).astype(np.float64) for tile in tiles)
        if what.is_turn:
            b, c = nearer(a, b), nearer(a, c)
        with np.errstate(all="ignore"):
            e, f = a - b, b - c
            lives = np.isfinite(e).all(axis=tuple(range(2, e.ndim))) & np.isfinite(f).all(axis=tuple(range(2, f.ndim)))
            size, e, f = (_sizes(values, lives) for values in (a, e, f))
            if what.is_turn:
                size, e, f = (_lengths(values) for values in (size, e, f))
            self.ee[worlds] += np.sum(e * e, axis=(0, 2))
            self.ff[worlds] += np.sum(f * f, axis=(0, 2))
            self.ef[worlds] += np.sum(_dots(a - b, b - c, lives, what.is_turn), axis=(0, 2))
        self.last[worlds] = np.maximum(self.last[worlds], np.where(lives, time[:, None], -np.inf).max(axis=0))
        self.f[worlds] = np.maximum(self.f[worlds], np.abs(f).max(axis=(0, 2), initial=0.0))
        self.scale[worlds] = np.maximum(self.scale[worlds], np.abs(size).max(axis=(0, 2), initial=0.0))
        self._raise_to(what, np.abs(e), time, worlds)

    def _raise_to(self, what: EstimatedQuantity, e: np.ndarray, time: np.ndarray, worlds: np.ndarray) -> None:
        rows = np.moveaxis(e, 1, 0).reshape(len(worlds), -1)
        best = rows.argmax(axis=1)
        top = rows[np.arange(len(worlds)), best]
        better = (top > self.e[worlds]) | (self.label[worlds] == "")
        frame, component = np.divmod(best, len(what.labels))
        where = worlds[better]
        self.e[where], self.time[where] = top[better], time[frame[better]]
        self.label[where] = np.array(what.labels, object)[component[better]]


def nearer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Quaternions b with the sign that is nearer to a: q and -q are the same rotation; (..., 4)."""
    return np.where(np.sum(a * b, axis=-1, keepdims=True) < 0, -b, b)


def _sizes(values: np.ndarray, lives: np.ndarray) -> np.ndarray:
    return np.where(lives.reshape(lives.shape + (1,) * (values.ndim - 2)), values, 0.0)


def _lengths(values: np.ndarray) -> np.ndarray:
    """[rad], of quaternions that are differences: twice their lengths."""
    return 2.0 * np.linalg.norm(values, axis=-1)


def _dots(e: np.ndarray, f: np.ndarray, lives: np.ndarray, is_turn: bool) -> np.ndarray:
    products = _sizes(e, lives) * _sizes(f, lives)
    return 4.0 * products.sum(axis=-1) if is_turn else products


LEAST_ORDER = 0.7  # below it the factor 2^p/(2^p - 1) runs away
MORE_THAN_NOMINAL = 1.2  # by which an observed order may exceed that of the integrator: symmetric motions gain one
LEAST_COSINE = 0.95  # between both differences: the next term of the error changes the first by a third at most
CLEAR = 4.0  # floors of rounding beyond which a difference stands out
ROUND_STEPS = 16.0  # roundings of a few steps, beside the square root of the number of all


@dataclass(frozen=True)
class Floors:
    """What rounding may make of the numbers of a quantity.

    Attributes:
        walk: (W,), if roundings of all steps add up as a random walk; it cannot be less.
        drift: (W,), if each step is rounded the same way, as where a constant is added again and again.
    """

    walk: np.ndarray
    drift: np.ndarray


def rounding_floors(scale: np.ndarray, eps: float, n_steps: int) -> Floors:
    """Floors of numbers of a size, (W,), over a number of steps."""
    return Floors(eps * scale * (ROUND_STEPS + np.sqrt(n_steps)), eps * scale * (ROUND_STEPS + n_steps))


def order_and_error(sums: Sums, floors: Floors, nominal: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Observed order, estimate of the error, and verdict of each world, of motion without impacts.

    Args:
        sums: of the quantity.
        floors: of rounding.
        nominal: order of the integrator.

    Returns:
        order (W,), NaN where it cannot be seen; error (W,), NaN where nobody can tell, a bound where it is rounding;
        verdict (W,).
    """
    with np.errstate(all="ignore"):
        order = 0.5 * np.log2(sums.ee / sums.ff)
        cosine = sums.ef / np.sqrt(sums.ee * sums.ff)
        regular = (cosine >= LEAST_COSINE) & (order >= LEAST_ORDER) & (order <= nominal + MORE_THAN_NOMINAL)
        error = sums.e / (1.0 - 2.0**-order)
    lost = sums.f <= floors.walk  # the second difference is rounding, which has no order
    clear = lost & (sums.e > CLEAR * floors.drift)
    regular &= ~lost
    rounding = ~regular & ~clear & (sums.e <= floors.drift)
    verdict = np.select(
        [regular | clear, rounding], [EstimateVerdict.GOOD, EstimateVerdict.ROUNDING], EstimateVerdict.IRREGULAR
    )
    bound = np.where(sums.e <= floors.walk, floors.walk, floors.drift)
    # A difference that all but vanishes at half the step is of order two at least, or the step was too long by far.
    error = np.select([regular, clear, rounding], [error, sums.e / (1.0 - 0.25), bound], np.nan)
    return np.where(regular, order, np.nan), error, verdict


def step_for(wanted: float, error: float, order: float, dt: float) -> float:
    """[s], the longest step that is a whole part of `dt` and whose error is at most `wanted`.

    Args:
        wanted: error.
        error: of the run.
        order: of convergence.
        dt: [s], of the run.
    """
    if error <= wanted:
        return dt
    return dt / _round_part((error / wanted) ** (1.0 / order))


def _round_part(least: float) -> int:
    """The smallest product of powers of 2 and 5 that is not less: such a part of a step is written with few digits."""
    n_fives = int(np.ceil(np.log(least) / np.log(5))) + 1
    parts = (5**k * 2 ** max(int(np.ceil(np.log2(least / 5**k) - 1e-9)), 0) for k in range(n_fives + 1))
    return min(part for part in parts if part >= least * (1 - 1e-9))


_COORDINATES, RATES = "frames/joint_q", "frames/joint_qd"


def may_hit(run: "Trajectory", columns: dict[str, Labelled], models: Iterable[Model]) -> np.ndarray:
    """Worlds with impacts, perhaps; (W,) bool.

    Args:
        run: of the scene.
        columns: of it.
        models: of all its phases.
    """
    found = np.zeros(run.n_worlds, bool)
    for model in models:
        if model.contacts is not None or (model.joints.kind == JointKind.DISTANCE).any():
            return np.ones(run.n_worlds, bool)
        if has_bounds(model):
            found |= _near_limits(run, columns, model)
    return found


def _near_limits(run: "Trajectory", columns: dict[str, Labelled], model: Model) -> np.ndarray:
    """Worlds where a coordinate comes so near to a hard limit that it may meet it until the next frame."""
    dofs, found = model.dofs, np.zeros(run.n_worlds, bool)
    hard = (dofs.limit_stiffness == 0) & (np.isfinite(dofs.limit_lower) | np.isfinite(dofs.limit_upper))
    for dof in np.flatnonzero(hard.any(axis=0)).tolist():
        joint = int(np.searchsorted(model.joints.qd_start, dof, side="right")) - 1
        names = [f"joint.{model.joints.name[joint]}.{word}" for word in ("q", "qd")]
        places = [
            list(columns[path].components).index(name)
            for path, name in zip((_COORDINATES, RATES), names, strict=True)
            if path in columns and name in columns[path].components
        ]
        if len(places) < len(names):  # several coordinates, or not recorded
            return np.ones(run.n_worlds, bool)
        found |= _meets(run, places, dofs.limit_lower[:, dof], dofs.limit_upper[:, dof])
    return found


def _meets(run: "Trajectory", places: list[int], lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    paths = [run.column(path) for path in (_COORDINATES, RATES)]
    frames, worlds = np.arange(run.n_frames), np.arange(run.n_worlds)
    room, speed = np.full(run.n_worlds, np.inf), np.zeros(run.n_worlds)
    for part in cut_frames([frames, frames], tile_lengths(paths)[0]):
        q, qd = (read_tile(column, frames[part], worlds)[..., place] for column, place in zip(paths, places, strict=True))
        room = np.fmin(room, np.fmin.reduce(np.fmin(q - lower, upper - q)))
        speed = np.fmax(speed, np.fmax.reduce(np.abs(qd)))
    return room <= speed * float(np.diff(run.time).max(initial=0.0))
