"""A plan as a file beside the ledger: what the table and the checks of a folder go by.

Plain JSON, gzipped: labels and numbers of cases in columns, so that a million of them are some 50 MB. The file of a plan
that was enlarged replaces the one before.
"""

import gzip
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from simcli.errors import FileError
from simcli.records.drafts import drafted
from simcli.spec.document.overrides import Override
from simcli.sweeps.planning.names import NAME_BYTES
from simcli.sweeps.planning.plan import Batch, Case, Plan, chunks_of
from simcli.sweeps.planning.sizes import Cost

NAME = "plan.json.gz"
_FORMAT = 1
_LEVEL = 3  # of compression: a third of the time of the highest, for a tenth more bytes
_MOST_BYTES = 2**31  # [B] of the text: a file of others that unpacks to more is refused
_DIGITS = 2 * NAME_BYTES


def write_plan(plan: Plan, folder: Path) -> None:
    """Write a plan into the folder of its sweep, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    batches, first = [], 0
    for batch in plan.batches:
        cases = plan.cases[first : first + batch.n_cases]
        names = [name for name, _ in cases[0].labels]
        columns = list(zip(*((value for _, value in case.labels) for case in cases), strict=True))
        sets = [list(one) if isinstance(one, Override) else one for one in batch.sets]
        batches.append({"scene": str(batch.scene), "sets": sets, "size": batch.size, "cost": asdict(batch.cost),
                        "labels": names, "values": columns, "worlds": [case.world for case in cases],
                        "cases": "".join(case.id for case in cases)})  # fmt: skip
        first += batch.n_cases
    same = {name: getattr(plan, name) for name in ("digest", "keep", "time_limit", "device", "units", "sources")}
    facts = {"format": _FORMAT, **same, "batches": batches}
    folder.mkdir(parents=True, exist_ok=True)
    with drafted(folder / NAME) as draft:
        draft.write_bytes(gzip.compress(json.dumps(facts).encode(), _LEVEL, mtime=0))


def read_plan(folder: Path) -> Plan:
    """The plan of a folder.

    Raises:
        FileError: there is none, or it is damaged.
    """
    path = folder / NAME
    try:
        with gzip.open(path) as stream:
            text = stream.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise ValueError(f"it unpacks to more than {_MOST_BYTES} bytes")
        return _plan(json.loads(text))
    except FileNotFoundError:
        raise FileError(f"{folder}: is no folder of a sweep: it has no {NAME}; `simcli sweep run SCENE -o DIR` makes one"
                        ) from None  # fmt: skip
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{path}: is damaged ({error}); the command that began the sweep writes it again") from error


def _plan(facts: dict[str, Any]) -> Plan:
    if facts["format"] != _FORMAT:
        raise ValueError(f"format {facts['format']}, and this program reads {_FORMAT}")
    cases: list[Case] = []
    batches = []
    for one in facts["batches"]:
        text = one["cases"]
        ids = [text[at : at + _DIGITS] for at in range(0, len(text), _DIGITS)]
        rows = list(zip(*one["values"], strict=True)) if one["values"] else [()] * len(ids)
        cases += [Case(name, tuple(zip(one["labels"], row, strict=True)), world)
                  for name, row, world in zip(ids, rows, one["worlds"], strict=True)]  # fmt: skip
        sets = tuple(text if isinstance(text, str) else Override(*text) for text in one["sets"])
        batches.append(Batch(Path(one["scene"]), sets, len(ids), int(one["size"]), Cost(**one["cost"])))
    sources = tuple((str(name), str(text)) for name, text in facts["sources"])
    units = tuple((str(name), str(unit)) for name, unit in facts["units"])
    return Plan(tuple(cases), tuple(chunks_of(batches, cases)), facts["keep"], facts["time_limit"], facts["device"],
                facts["digest"], sources, tuple(batches), units)  # fmt: skip
