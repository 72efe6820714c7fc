"""Channels: any recorded number by a name that a person would write.

    energy.total                    an energy [J]
    diag.status, diag.residual      diagnostics
    joint.pin.q                     q, qd, qdd, effort, wrench of a joint
    body.upper.position             position, orientation, velocity, angular_velocity of a body, stretch of an affine one
    point.upper/tip.position        position, velocity of a named point

Patterns take several at once: `joint.arm*.q`, `energy.*`. The subject is selected as everywhere (`spec/base/patterns.py`),
so that `joint.elbow.q` finds `left/elbow` too. The plural (`joints.pin.q`, as in the scene's paths) means the same.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from simcli.errors import UsageError
from simcli.records.contents.layout import OF_BODIES
from simcli.spec.base.channel_names import (
    CHANNEL_GROUPS,
    QUANTITY_TYPES,
    SCALARS,
    canonical,
    is_on_demand,
    split_name,
)
from simcli.spec.faults.synonyms import quantity_meant

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory
# group -> quantity -> labels of the components and their unit; a joint's own coordinates have those of the model
QUANTITIES = {
    group: {
        name: (one.parts, tuple(unit.replace("*", " ") or "1" for unit in one.units))
        for name, one in QUANTITY_TYPES[group].items()
        if name in names
    }
    for group, names in CHANNEL_GROUPS.items()
}
# The same with what files hold beside: no condition or measure takes it.
RECORDED_ONLY = {name: (one.labels, (one.unit,) * len(one.labels)) for name, one in OF_BODIES.items()}
RECORDED = {**QUANTITIES, "body": {**QUANTITIES["body"], **RECORDED_ONLY}}
CONTACT_LIST = "contacts"  # what is recorded of them is no channel
# quantity of a joint -> offsets and units in /model, and what its unit has beyond them
COORDINATES = {
    "q": ("q_start", "q_unit", ""),
    "qd": ("qd_start", "qd_unit", ""),
    "qdd": ("qd_start", "qd_unit", "^2"),
    "effort": ("qd_start", "effort_unit", ""),
}
DENSE = 4  # worlds that lie at most so far apart on average are read in one piece
MAX_JOINTS = 6  # drawn when no channel is named
DRIFT = "energy.drift"  # a difference, of which rounding is what a reader asks for
ENERGY_ROUNDING = 1e-12  # of the largest energy: sums of terms that large are off by some times 1e-16 of it in each step
_PROBES = 50  # frames by which the largest energy is found


@dataclass(frozen=True)
class ChannelSource:
    """Where a channel's numbers lie.

    Attributes:
        name: the channel.
        column: lazily read, (F, W) or (F, W, n).
        labels: one per component, `joint.pin.q` or `body.rod.position.x`.
        units: one per component.
    """

    name: str
    column: Any
    labels: tuple[str, ...]
    units: tuple[str, ...]

    def read(self, frames: slice, worlds: Sequence[int] | None = None) -> np.ndarray:
        """Numbers of some frames, (F, W, n) float64; of all worlds if none are named."""
        if worlds is None:
            block = self.column[frames]
        else:
            first, last = min(worlds), max(worlds)
            together = last - first < DENSE * len(worlds)
            block = (
                self.column[frames, first : last + 1][:, np.subtract(worlds, first)]
                if together
                else np.stack([self.column[frames, world] for world in worlds], axis=1)
            )
        return np.asarray(block, np.float64).reshape(*block.shape[:2], len(self.labels))


@dataclass(frozen=True)
class Channel:
    """Numbers of one channel.

    Attributes:
        name: the channel.
        time: [s], (F,).
        worlds: numbers of the worlds, W of them.
        values: (F, W, n), in `units`.
        labels: (n,).
        units: (n,).
        file: of which they are, where there are several.
    """

    name: str
    time: np.ndarray
    worlds: tuple[int, ...]
    values: np.ndarray
    labels: tuple[str, ...]
    units: tuple[str, ...]
    file: str = ""


def locate_channel(trajectory: "Trajectory", name: str) -> list[ChannelSource]:
    """Find the channels that a name or pattern means.

    Raises:
        UsageError: there is no such channel; the message has the nearest one.
    """
    wanted = canonical(name)
    if wanted == CONTACT_LIST:
        raise UsageError(
            f"`{CONTACT_LIST}` is a list in each frame, not a number: `simcli export -c {CONTACT_LIST}` "
            "alone writes it; diag.contacts and diag.penetration are channels"
        )
    if _column(trajectory, wanted) is not None:
        return [_source(trajectory, wanted)]
    found = [known for known in available(trajectory) if matches_channel(known, wanted)]
    if not found:
        known = available(trajectory)
        near = quantity_meant(wanted, known) or next(iter(get_close_matches(wanted, known, n=1)), "")
        if is_on_demand(wanted) and not (near and is_on_demand(near)):
            raise UsageError(f"{trajectory.path} does not hold `{name}`: name it in the scene, output: {{quantities: [..]}}")
        guess = f"did you mean `{near}`?" if near else f"channels begin with {', '.join((*SCALARS, *QUANTITIES))}"
        raise UsageError(f"no channel `{name}` in {trajectory.path}: {guess}")
    return [_source(trajectory, known) for known in found]


def matches_channel(channel: str, pattern: str) -> bool:
    """True if a pattern means a channel: as a whole, or by group, subject and quantity."""
    from simcli.spec.base.patterns import fits

    if fnmatchcase(channel, pattern):
        return True
    (group, subject, quantity), (groups, subjects, quantities) = split_name(channel), split_name(pattern)
    return bool(subjects) and fnmatchcase(group, groups) and fnmatchcase(quantity, quantities) and fits(subject, subjects)


def available(trajectory: "Trajectory") -> list[str]:
    """Names of all channels that a file holds."""
    subjects = {"joint": trajectory.joints, "body": trajectory.bodies, "point": trajectory.points}
    names = list(dict.fromkeys(map(quantity_of, trajectory.quantities)))
    names += [f"{group}.{quantity}" for group in SCALARS for quantity in dir(getattr(trajectory, group))]
    for group, quantities in RECORDED.items():
        names += [f"{group}.{subject}.{quantity}" for subject in subjects[group] for quantity in quantities]
    return [name for name in names if _column(trajectory, name) is not None]


def default_channels(trajectory: "Trajectory") -> list[str]:
    """What is drawn when nothing is named: a few joint coordinates, and the energy."""
    found = available(trajectory)
    joints = [name for name in found if name.startswith("joint.") and name.endswith(".q")]
    energy = [name for name in found if name in ("energy.total", "energy.drift")]
    return (joints[:MAX_JOINTS] + energy) or found[:MAX_JOINTS]


def default_columns(trajectory: "Trajectory") -> list[str]:
    """What is exported when nothing is named: all joint coordinates and velocities."""
    found = available(trajectory)
    return [name for name in found if name.startswith("joint.") and name.endswith((".q", ".qd"))] or found


def read_channels(
    trajectory: "Trajectory", names: Iterable[str], worlds: Sequence[int] = (0,), every: int = 1, file: str = ""
) -> list[Channel]:
    """Read channels of some worlds, every N-th frame; `file` is the name under which they are known beside others.

    Raises:
        UsageError: an unknown channel or world.
    """
    check_worlds(trajectory, worlds)
    sources = {source.name: source for name in names for source in locate_channel(trajectory, name)}
    frames = slice(0, trajectory.n_frames, every)
    return [
        Channel(name, trajectory.time[frames], tuple(worlds), source.read(frames, worlds), source.labels, source.units, file)
        for name, source in sources.items()
    ]


def energy_rounding(trajectory: "Trajectory", worlds: Sequence[int]) -> float:
    """[J], below which an energy of these worlds is rounding where it is shown; 0 where a file holds no energies."""
    frames = slice(0, trajectory.n_frames, max(1, trajectory.n_frames // _PROBES))
    names = [f"energy.{part}" for part in SCALARS["energy"]] if trajectory.n_frames else []
    columns = [_source(trajectory, name) for name in names if _column(trajectory, name) is not None]
    sizes = [np.abs(one.read(frames, worlds)) for one in columns]
    finite = [float(size[np.isfinite(size)].max(initial=0.0)) for size in sizes]
    return ENERGY_ROUNDING * max(finite, default=0.0)


def without_rounding(name: str, values: np.ndarray, rounding: float) -> np.ndarray:
    """Numbers of a channel as they are shown: of an energy, but for its drift, multiples of what is rounding.

    Args:
        name: of the channel.
        values: of it, any shape.
        rounding: of `energy_rounding`.
    """
    if not name.startswith("energy.") or name == DRIFT or not rounding > 0.0:
        return values
    return np.round(values / rounding) * rounding + 0.0


def check_worlds(trajectory: "Trajectory", worlds: Sequence[int]) -> None:
    """Refuse worlds that a file does not hold.

    Raises:
        UsageError: there is no such world.
    """
    for world in worlds:
        if not 0 <= world < trajectory.n_worlds:
            raise UsageError(f"no world {world} in {trajectory.path}: it holds 0 to {trajectory.n_worlds - 1}")


def quantity_of(label: str) -> str:
    """What a column of /frames/quantity is a component of: `contact.rod.force` of `contact.rod.force.x`."""
    group, _, last = split_name(label)
    is_part = group != "distance" and not is_on_demand(label)
    return label.removesuffix(f".{last}") if is_part else label


def _column(trajectory: "Trajectory", name: str):
    """The column of a channel, None if the file does not hold it."""
    group, subject, quantity = split_name(name)
    if is_on_demand(name):
        places = [k for k, label in enumerate(trajectory.quantities) if quantity_of(label) == name]
        return trajectory.column("frames/quantity", slice(places[0], places[-1] + 1)) if places else None
    if group not in SCALARS and quantity not in RECORDED.get(group, ()):
        return None
    try:
        owner = getattr(trajectory, group) if group in SCALARS else getattr(trajectory, group)(subject)
        column = getattr(owner, quantity)
    except (UsageError, AttributeError):
        return None
    return column if column.size or not trajectory.n_frames else None


def _source(trajectory: "Trajectory", name: str) -> ChannelSource:
    """A channel that is there."""
    group, subject, quantity = split_name(name)
    column = _column(trajectory, name)
    if is_on_demand(name):
        units = {label: unit for label, unit in trajectory.quantities.items() if quantity_of(label) == name}
        return ChannelSource(name, column, tuple(units), tuple(units.values()))
    if group in SCALARS:
        return ChannelSource(name, column, (name,), (column.unit,))
    if quantity in COORDINATES and group == "joint":
        return ChannelSource(name, column, *_coordinates(trajectory, name, subject, quantity))
    components, each = RECORDED[group][quantity]
    return ChannelSource(name, column, tuple(f"{name}.{part}" for part in components), each)


def _coordinates(trajectory: "Trajectory", name: str, joint: str, quantity: str) -> tuple[tuple[str, ...], ...]:
    """Labels and units of a joint's own coordinates."""
    offsets, unit, power = COORDINATES[quantity]
    j = trajectory.joints.index(joint)
    first, last = (int(at) for at in trajectory.model[offsets][j : j + 2])
    units = tuple(f"{word}{power}" for word in trajectory.model[unit][first:last])
    labels = (name,) if last - first == 1 else tuple(f"{name}.{k}" for k in range(last - first))
    return labels, units
