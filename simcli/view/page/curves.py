"""The strip below the motion: channels over time, in groups of one unit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcli.analysis.channels import MAX_JOINTS, ChannelSource, available, locate_channel, without_rounding
from simcli.records.reading.reader import Trajectory

PROBES = 50  # frames at which a channel is looked at
MAX_SERIES = 8  # in a group


@dataclass(frozen=True)
class Series:
    """One number over time.

    Attributes:
        label: as `joint.pin.q`.
        source: where it is read.
        component: of the source.
    """

    label: str
    source: ChannelSource
    component: int


@dataclass(frozen=True)
class CurveGroup:
    """Series of one unit.

    Attributes:
        title: of the group.
        unit: of its series.
        series: in the order of the legend.
    """

    title: str
    unit: str
    series: tuple[Series, ...]


def groups_of(run: Trajectory, names: Sequence[str] = ()) -> list[CurveGroup]:
    """What the strip shows.

    Args:
        run: an open file.
        names: channels or patterns; none: energies, coordinates and velocities of joints.

    Raises:
        UsageError: there is no such channel.
    """
    if names:
        return [group for name in names for group in _by_unit(name, locate_channel(run, name))]
    known = available(run)
    energies = [f"energy.{part}" for part in ("kinetic", "potential", "elastic", "total")]
    found = _by_unit("Energy", [one for one in _of(run, [name for name in energies if name in known]) if _says(run, one)])
    for title, end in (("Joints", ".q"), ("Joint speeds", ".qd")):
        joints = [name for name in known if name.startswith("joint.") and name.endswith(end)]
        scalars = [source for source in _of(run, joints) if len(source.labels) == 1]
        found += _by_unit(title, scalars[:MAX_JOINTS])
    return found


def _of(run: Trajectory, names: Sequence[str]) -> list[ChannelSource]:
    return [source for name in names for source in locate_channel(run, name)]


def _says(run: Trajectory, source: ChannelSource) -> bool:
    """Whether a channel is anything but zero, at some frames."""
    frames = slice(0, run.n_frames, max(1, run.n_frames // PROBES))
    return bool(np.any(source.read(frames, [0]))) if run.n_frames else False


def _by_unit(title: str, sources: Sequence[ChannelSource]) -> list[CurveGroup]:
    """Groups of the components of some channels."""
    of_unit: dict[str, list[Series]] = {}
    for source in sources:
        for k, (label, unit) in enumerate(zip(source.labels, source.units, strict=True)):
            of_unit.setdefault(unit, []).append(Series(label, source, k))
    return [
        CurveGroup(title if len(of_unit) == 1 else f"{title} [{unit}]", unit, tuple(series[:MAX_SERIES]))
        for unit, series in of_unit.items()
    ]


def values_of(groups: Sequence[CurveGroup], frames: slice, worlds: Sequence[int], rounding: float = 0.0) -> list[np.ndarray]:
    """Numbers of all series of all groups, (F, W) float32 each; a channel is read once.

    What is beyond float32 becomes infinite; the page leaves a gap there.

    Args:
        groups: of the strip.
        frames: of the run.
        worlds: of the run.
        rounding: [J], see `energy_rounding`.
    """
    read: dict[str, np.ndarray] = {}
    found = []
    for group in groups:
        for series in group.series:
            name = series.source.name
            if name not in read:
                read[name] = without_rounding(name, series.source.read(frames, worlds), rounding)
            with np.errstate(over="ignore"):
                found.append(read[name][:, :, series.component].astype(np.float32))
    return found
