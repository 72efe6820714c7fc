"""JSON Lines: an object per line, `{"time": 0.0, "world": 0, "joint.pin.q": 0.3}`; NaN and infinities are null."""

import json
import math
from pathlib import Path

from simcli.analysis.export.tables import ExportSeen, Extract, unseen
from simcli.records.drafts import written


def write(asked: Extract, path: Path, seen: ExportSeen = unseen) -> int:
    """Write a file; returns its number of lines."""
    table = asked.table()
    keys = [json.dumps(header.name, ensure_ascii=False) for header in table.headers]
    with written(path) as stream:
        for columns in table.blocks(seen):
            rows = zip(*(map(_word, column.tolist()) for column in columns), strict=True)
            stream.writelines("{" + ", ".join(map("{}: {}".format, keys, row)) + "}\n" for row in rows)
    return table.n_rows


def _word(value: float | int | str) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "null"
    return json.dumps(value, ensure_ascii=False)
