"""Channels as CSV: one row per frame and world, a header with names and units."""

import csv
from collections.abc import Iterable
from typing import TextIO

import numpy as np

from simcli.analysis.channels import Channel


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
            yield cells + ["" if value != value else repr(value) for value in table[f, w].tolist()]


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
