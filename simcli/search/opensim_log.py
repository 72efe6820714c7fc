"""OpenSim's tables as logs: .sto and .mot, whose header says whether angles are in degrees.

    /jointset/hip/flexion/value    the coordinate of the joint `hip`, or of `flexion`, whichever the scene has
    /jointset/hip/flexion/speed    its velocity
    hip                            the coordinate, as in .mot; hip.1 one of several
    joint.hip.q, energy.total      channels, as `simcli export` writes them

Source: OpenSim's storage format, see `analysis.export.text_files`. Deviation: blanks part columns as tabs do.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from simcli.errors import FileError

OPENSIM = (".sto", ".mot")
_END = "endheader"
_QUANTITIES = {"value": "q", "speed": "qd"}


class OpenSimRows:
    """The rows of a file below its header, split at blanks.

    Attributes:
        line_num: of the row that was given last, from 1.
        in_degrees: whether angles are.
    """

    def __init__(self, path: Path, text: str):
        lines = text.splitlines()
        ends = [n for n, line in enumerate(lines) if line.strip().lower() == _END]
        if not ends:
            raise FileError(f"{path}: has no line `{_END}`, below which the columns of OpenSim's tables begin")
        said = [line.replace(" ", "").lower() for line in lines[: ends[0]]]
        self.in_degrees = "indegrees=yes" in said
        self.line_num = ends[0] + 1
        self._lines = iter(lines[ends[0] + 1 :])

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        words = next(self._lines).split()
        self.line_num += 1
        return words


def channel_of_header(header: str, known: Collection[str], joints: Collection[str]) -> str:
    """The channel that a column of OpenSim's means; the header itself where none is known.

    Args:
        header: of the column.
        known: labels of channels.
        joints: names of the scene.
    """
    if header in known:
        return header
    path, _, last = header.rpartition("/")
    if last in _QUANTITIES:
        for name in (path.removeprefix("/jointset/"), *reversed(path.split("/")[-2:])):
            if name in joints:
                return f"joint.{name}.{_QUANTITIES[last]}"
    name, dot, part = header, "", ""
    if name not in joints:
        name, dot, part = header.rpartition(".")
    return f"joint.{name}.q{dot}{part}" if name in joints and (not dot or part.isdigit()) else header


def unit_in_degrees(label: str, known: Mapping[str, str]) -> str:
    """The unit of a column of a file whose angles are in degrees; "" where it is that of SI."""
    unit = known.get(label, "")
    return unit.replace("rad", "deg") if label.startswith("joint.") and unit in ("rad", "rad/s") else ""
