"""Sums and extremes of differences between three runs of one scene, by world and quantity.

    e = y(h) - y(h/2),  f = y(h/2) - y(h/4)

Where the error is C(t) h^p, f is e / 2^p at every frame and in every component. So the sums e.e, e.f, f.f tell the order and
whether there is one: they are the lengths of two vectors and the angle between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcli.analysis.diff.labelled import Labelled

QUANTITIES = ("joint.q", "joint.qd", "joint.qdd", "joint.effort", "joint.wrench", "body.position", "body.orientation",
              "body.velocity", "body.angular_velocity", "energy.total")  # fmt: skip
SIZES = ("energy.kinetic", "energy.potential", "energy.elastic")  # read for their size: a sum of them can be zero
_TURN = "rad"  # unit of the difference of two quaternions: the angle between them, twice the length of q_a - q_b


@dataclass(frozen=True)
class Quantity:
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


def quantities_of(column: Labelled) -> list[Quantity]:
    """The quantities of a dataset; numbers of other names are left out."""
    place = {label: k for k, label in enumerate(column.components)}
    turns = {label for four in column.quaternions for label in four}
    groups: dict[tuple[str, str], list[str]] = {}
    for label, one in column.components.items():
        name = _name(one.channel)
        if name in (*QUANTITIES, *SIZES) and label not in turns:
            groups.setdefault((name, one.unit), []).append(label)
    found = [Quantity(name, unit, tuple(labels), np.array([place[label] for label in labels]))
             for (name, unit), labels in groups.items()]  # fmt: skip
    rolls: dict[str, list[tuple[str, ...]]] = {}
    for four in column.quaternions:
        rolls.setdefault(_name(column.components[four[0]].channel), []).append(four)
    return found + [
        Quantity(name, _TURN, tuple(column.components[four[0]].channel for four in some),
                 np.array([[place[label] for label in four] for four in some]))
        for name, some in rolls.items() if name in QUANTITIES
    ]  # fmt: skip


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

    def add(self, what: Quantity, tiles: Sequence[np.ndarray], time: np.ndarray, worlds: np.ndarray) -> None:
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

    def _raise_to(self, what: Quantity, e: np.ndarray, time: np.ndarray, worlds: np.ndarray) -> None:
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
