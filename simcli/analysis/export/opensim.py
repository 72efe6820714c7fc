"""OpenSim's tables: .sto of any channels, .mot of joint coordinates. One world; SI units, angles in radians.

Source: OpenSim's storage format, version 1: a name, `version`, `nRows`, `nColumns` (the time counts), `inDegrees`,
`endheader`, then tab-separated columns, the first of them `time`. No deviation. Columns have the names of the channels, in
.mot those of the joints (`pin`, `hip/ball.0` where a joint has several coordinates), because OpenSim looks for its
coordinates by name.
"""

from functools import partial
from pathlib import Path

from simcli.analysis.export.tables import ExportSeen, Extract, unseen
from simcli.errors import UsageError
from simcli.records.drafts import written

COORDINATE = ".q"


def write(asked: Extract, path: Path, seen: ExportSeen = unseen, is_motion: bool = False) -> int:
    """Write a file; returns its number of rows.

    Raises:
        UsageError: contacts; of a .mot anything but joint coordinates.
    """
    if asked.is_of_contacts:
        raise UsageError(f"contacts are no table over time, and {path.suffix} is one: write them as .csv, .parquet, "
                         ".jsonl or .npz")  # fmt: skip
    if is_motion:
        asked = _coordinates(asked, path)
    table = asked.table()
    labels = [header.name for k, header in enumerate(table.headers) if k != 1]
    if is_motion:
        labels = [labels[0], *(name.removeprefix("joint.").replace(f"{COORDINATE}.", ".").removesuffix(COORDINATE)
                               for name in labels[1:])]  # fmt: skip
    head = [path.stem, "version=1", f"nRows={table.n_rows}", f"nColumns={len(labels)}", "inDegrees=no", "",
            "Units are SI units: second, metre, newton; angles are in radians.", "",
            "endheader", "\t".join(labels)]  # fmt: skip
    with written(path) as stream:
        stream.write("\n".join(head) + "\n")
        for columns in table.blocks(seen):
            kept = [column.tolist() for k, column in enumerate(columns) if k != 1]
            stream.writelines("\t".join(map(repr, row)) + "\n" for row in zip(*kept, strict=True))
    return table.n_rows


def _coordinates(asked: Extract, path: Path) -> Extract:
    """The joint coordinates, where nothing else is named."""
    if not asked.channels:
        return Extract(asked.run, (f"joint.*{COORDINATE}",), asked.worlds, asked.every)
    other = next((source.name for source in asked.sources
                  if not (source.name.startswith("joint.") and source.name.endswith(COORDINATE))), None)  # fmt: skip
    if other:
        raise UsageError(f"{path}: .mot holds joint coordinates, and {other} is none: write it as .sto")
    return asked


write_motion = partial(write, is_motion=True)
