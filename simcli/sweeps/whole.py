"""Is what the folder of a sweep holds whole, and all there?"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from simcli.errors import FileError, plural
from simcli.records.integrity.verification import verify
from simcli.records.reading.reader import open_trajectory
from simcli.records.reading.sweep_cases import numbers_digest, read_cases
from simcli.sweeps.executors.chunk_run import RESULTS, RUNS
from simcli.sweeps.planning.plan import Plan

MOST_NAMED = 3  # cases of a problem


@dataclass(frozen=True)
class FolderProblem:
    """What is wrong, or lacks.

    Attributes:
        file: relative to the folder; "" of the sweep as a whole.
        text: in words.
        is_error: False if nothing is damaged: work that is left, or was done for nothing.
    """

    file: str
    text: str
    is_error: bool = True


def problems_of(plan: Plan, folder: Path, done: Mapping[str, str], digests: Mapping[str, Collection[str]],
                given_up: Mapping[str, str],
                seen: Callable[[float], None] = lambda part: None) -> Iterator[FolderProblem]:  # fmt: skip
    """Everything that is wrong with the results of a sweep, file by file.

    Args:
        plan: what there should be.
        folder: of the sweep.
        done: case to file of its result, as the ledger has it.
        digests: of each file, as the ledger has them.
        given_up: cases without a result that will not be tried again, with reasons.
        seen: takes the part of the files that is read.
    """
    of_file: dict[str, list[str]] = {}
    for case, file in done.items():
        of_file.setdefault(file, []).append(case)
    kept = sorted((folder / RUNS).glob("[!.]*.h5"))
    n_files = len(of_file) + len(kept)
    for k, file in enumerate(sorted(of_file), 1):
        yield from _of_file(folder, file, of_file[file], digests.get(file, ()))
        seen(k / n_files)
    for k, path in enumerate(kept, len(of_file) + 1):
        yield from (FolderProblem(f"{RUNS}/{path.name}", text) for text in verify(path))
        seen(k / n_files)
    yield from _left_over(folder, of_file.keys())
    planned = {case.id for case in plan.cases}
    missing = [case.id for case in plan.cases if case.id not in done and case.id not in given_up]
    if missing:
        yield FolderProblem("", f"{len(missing)} of {len(planned)} cases have no result yet: {_some(missing)}", False)
    lost = [case for case in given_up if case in planned]
    if lost:
        yield FolderProblem("", f"given up: {plural(len(lost), 'case')}, {_some(lost)} ({given_up[lost[0]]})", False)
    others = [case for case in done if case not in planned]
    if others:
        yield FolderProblem("", f"not of the present plan: {plural(len(others), 'case')} with results, {_some(others)}",
                            False)  # fmt: skip


def _of_file(folder: Path, file: str, cases: list[str], digests: Collection[str]) -> Iterator[FolderProblem]:
    """Problems of one result that the ledger names."""
    path = folder / file
    if not path.is_file():
        yield FolderProblem(file,
                            f"is not there; the command that began the sweep does its {plural(len(cases), 'case')} again")
        return
    found = verify(path)
    yield from (FolderProblem(file, text) for text in found)
    if found:
        return
    try:
        with open_trajectory(path) as run:
            here, digest = read_cases(run), numbers_digest(run)
    except FileError as error:
        yield FolderProblem(file, str(error).removeprefix(f"{path}: "))
        return
    lacking = [case for case in cases if case not in here]
    if lacking:
        yield FolderProblem(file, f"does not hold the case {_some(lacking)}, which the ledger says it does")
    if len(set(here)) < len(here):
        yield FolderProblem(file, "holds a case twice")
    if digest not in digests:
        yield FolderProblem(file, "does not hold the numbers that the ledger says: it was changed, or replaced")
    elif len(digests) > 1:
        yield FolderProblem(file,
                            f"was made {len(digests)} times with different numbers: was it run on different processors?")


def _left_over(folder: Path, known: Collection[str]) -> Iterator[FolderProblem]:
    """Results that the ledger does not name: of a driver that was killed before it could, or run a second time."""
    for path in sorted((folder / RESULTS).glob("[!.]*.h5")):
        file = path.relative_to(folder).as_posix()
        if file not in known:
            yield FolderProblem(file, "counts for no case: its cases have another result, or its driver was killed", False)


def _some(cases: list[str]) -> str:
    return ", ".join(cases[:MOST_NAMED]) + ", ..." * (len(cases) > MOST_NAMED)
