"""A plan as a file beside the ledger, the part of it that is one machine's, and what it will take.

What the table and the checks of a folder go by is plain JSON, gzipped: labels and numbers of cases in columns, so that a
million of them are some 50 MB. The file of a plan that was enlarged replaces the one before. The part of a machine follows
from a rule that does not depend on what is done. The hours of a forecast are from rough rates of small scenes, and said to
be so.
"""

import gzip
import json
import re
from collections.abc import Container
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from simcli.analysis.estimate import FILE_OVERHEAD
from simcli.errors import FileError, UsageError
from simcli.records.drafts import drafted
from simcli.spec.document.overrides import Override
from simcli.sweeps.records.plan import Batch, Case, Cost, Plan, chunks_of
from simcli.sweeps.records.scenes import NAME_BYTES

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
        batches.append(
            {
                "scene": str(batch.scene),
                "sets": sets,
                "size": batch.size,
                "cost": asdict(batch.cost),
                "labels": names,
                "values": columns,
                "worlds": [case.world for case in cases],
                "cases": "".join(case.id for case in cases),
            }
        )
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
        raise FileError(
            f"{folder}: is no folder of a sweep: it has no {NAME}; `simcli sweep run SCENE -o DIR` makes one"
        ) from None
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
        cases += [
            Case(name, tuple(zip(one["labels"], row, strict=True)), world)
            for name, row, world in zip(ids, rows, one["worlds"], strict=True)
        ]
        sets = tuple(text if isinstance(text, str) else Override(*text) for text in one["sets"])
        batches.append(Batch(Path(one["scene"]), sets, len(ids), int(one["size"]), Cost(**one["cost"])))
    sources = tuple((str(name), str(text)) for name, text in facts["sources"])
    units = tuple((str(name), str(unit)) for name, unit in facts["units"])
    return Plan(
        tuple(cases),
        tuple(chunks_of(batches, cases)),
        facts["keep"],
        facts["time_limit"],
        facts["device"],
        facts["digest"],
        sources,
        tuple(batches),
        units,
    )


class Shard(NamedTuple):
    """One of `n` parts.

    Attributes:
        number: from 1 to n.
        n: parts.
    """

    number: int
    n: int

    def __str__(self) -> str:
        return f"{self.number}/{self.n}"


def shard_of(text: str) -> Shard:
    """`3/16` as a shard.

    Raises:
        UsageError: it is none.
    """
    found = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text)
    shard = Shard(*map(int, found.groups())) if found else None
    if shard is None or not 1 <= shard.number <= shard.n:
        raise UsageError(f"--shard {text}: write I/N with I from 1 to N, as 1/16 for the first of sixteen parts")
    return shard


def cases_of(plan: Plan, shard: Shard | None) -> frozenset[str]:
    """The cases of a shard: every n-th chunk, or every n-th case where there are fewer chunks than shards.

    Args:
        plan: the whole sweep; the rule knows nothing but its order.
        shard: None for all cases.
    """
    if shard is None:
        return frozenset(case.id for case in plan.cases)
    units = [chunk.cases for chunk in plan.chunks]
    if len(units) < shard.n:
        units = [(case.id,) for case in plan.cases]
    return frozenset(case for unit in units[shard.number - 1 :: shard.n] for case in unit)


@dataclass(frozen=True)
class Forecast:
    """What is left of a plan.

    Attributes:
        n_cases: in all.
        n_left: without a result.
        n_structures: batches that differ in more than numbers.
        n_chunks: of what is left.
        n_steps: world-steps of what is left.
        n_bytes: of the results of what is left, and of the trajectories that are kept; of failed cases none.
        hours: of two cores such as the rates are of, however many workers share them; compiling left out.
    """

    n_cases: int
    n_left: int
    n_structures: int
    n_chunks: int
    n_steps: int
    n_bytes: int
    hours: float


def forecast(plan: Plan, done: Container[str] = ()) -> Forecast:
    """What a plan will take.

    Args:
        plan: the sweep.
        done: ids of cases that have a result.
    """
    chunks = plan.rechunk(done)
    first, n_left, n_steps, n_bytes, seconds = 0, 0, 0, 0.0, 0.0
    for batch in plan.batches:
        left = sum(case.id not in done for case in plan.cases[first : first + batch.n_cases])
        first += batch.n_cases
        n_left += left
        n_steps += left * batch.cost.n_steps
        n_bytes += left * (batch.cost.kept if plan.keep == "all" else batch.cost.stored)
        seconds += left * batch.cost.seconds
    return Forecast(
        len(plan.cases),
        n_left,
        len(plan.batches),
        len(chunks),
        n_steps,
        round(n_bytes) + FILE_OVERHEAD * len(chunks),
        seconds / 3600,
    )
