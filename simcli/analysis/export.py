"""Channels as CSV: one row per frame and world, a header with names and units. Contacts: one row for each."""

import contextlib
import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from simcli.analysis.channels import XYZ, Channel, check_worlds
from simcli.errors import OutputError

if TYPE_CHECKING:
    from simcli.records.reader import Trajectory

CONTACT_UNITS = {"shape_a": "", "shape_b": "", "point": "m", "normal": "1", "gap": "m", "force": "N"}
FRAMES_AT_ONCE = 256


@contextlib.contextmanager
def written(path: Path) -> Iterator[TextIO]:
    """Open a file to write text to; nothing is left there if it cannot be written to its end.

    Raises:
        OutputError: the file cannot be written.
    """
    try:
        with path.open("w", newline="", encoding="utf-8") as stream:
            yield stream
    except OSError as error:
        with contextlib.suppress(OSError):
            if path.is_file():
                path.unlink()
        raise OutputError(f"{path}: cannot write: {error.strerror or error}; nothing was left there") from error


def header(channels: list[Channel], with_world: bool) -> list[str]:
    """Column names: `time [s]`, `world` if there are several, then `joint.pin.q [rad]`, `body.rod.position.x [m]`."""
    names = ["time [s]"] + (["world"] if with_world else [])
    for channel in channels:
        for label, unit in zip(channel.labels, channel.units, strict=True):
            names.append(f"{label} [{unit}]" if unit else label)
    return names


def rows(channels: list[Channel], with_world: bool) -> Iterable[list[str]]:
    """Rows of text; floats in the shortest form that reads back as the same number, NaN as an empty cell."""
    first = channels[0]
    table = np.concatenate([channel.values for channel in channels], axis=2)
    for f, time in enumerate(first.time):
        for w, world in enumerate(first.worlds):
            cells = [repr(float(time))] + ([str(world)] if with_world else [])
            yield cells + [cell(value) for value in table[f, w].tolist()]


def cell(value: float | int | str) -> str:
    """A value as text: a float in the shortest form that reads back as the same number, NaN as nothing."""
    return "" if value != value else value if isinstance(value, str) else repr(value)


def write_csv(channels: list[Channel], file: TextIO) -> int:
    """Write channels of one file as CSV.

    Args:
        channels: same frames and worlds in all of them.
        file: opened with newline="".

    Returns:
        the number of rows under the header.
    """
    with_world = len(channels[0].worlds) > 1
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header(channels, with_world))
    count = 0
    for row in rows(channels, with_world):
        writer.writerow(row)
        count += 1
    return count


def contact_header() -> list[str]:
    """Column names: `time [s]`, `world`, `shape_a`, `shape_b`, `point.x [m]`, ..., `force.z [N]`."""
    names = ["time [s]", "world"]
    for name, unit in CONTACT_UNITS.items():
        parts = [f"{name}.{part}" for part in XYZ] if name in ("point", "normal", "force") else [name]
        names += [f"{part} [{unit}]" if unit else part for part in parts]
    return names


def contact_rows(trajectory: "Trajectory", worlds: Sequence[int], every: int) -> Iterable[list[str]]:
    """Rows of text, one per contact, in the order of the file."""
    shapes = trajectory.model["shape_name"]
    for first in range(0, trajectory.n_frames, FRAMES_AT_ONCE):
        table = trajectory.contact_table(first, first + FRAMES_AT_ONCE)
        wanted = np.isin(table["world"], worlds) & (table["frame"] % every == 0)
        for k in np.flatnonzero(wanted).tolist():
            cells = [repr(float(trajectory.time[table["frame"][k]])), str(table["world"][k])]
            cells += [shapes[table[name][k]] for name in ("shape_a", "shape_b")]
            numbers = (np.atleast_1d(table[name][k]).tolist() for name in ("point", "normal", "gap", "force"))
            yield cells + [repr(value) for values in numbers for value in values]


def write_contacts(trajectory: "Trajectory", file: TextIO, worlds: Sequence[int] = (0,), every: int = 1) -> int:
    """Write the contacts of some worlds as CSV, of every N-th frame.

    Returns:
        the number of rows under the header.

    Raises:
        UsageError: the file holds no contacts, or no such world.
    """
    check_worlds(trajectory, worlds)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(contact_header())
    count = 0
    for row in contact_rows(trajectory, worlds, every):
        writer.writerow(row)
        count += 1
    return count
