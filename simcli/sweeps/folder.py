"""The folder of a sweep: whether it is one, what of it can be believed, and whether it is whole and all there."""

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from simcli.errors import FileError, OutputError, SimcliWarning, plural
from simcli.records.integrity.verification import verify
from simcli.records.reading.reader import open_trajectory
from simcli.records.reading.sweep_cases import numbers_digest, read_cases
from simcli.sweeps.executors.chunk_run import RESULTS, RUNS
from simcli.sweeps.records.plan import Plan
from simcli.sweeps.records.plan_file import NAME as PLAN
from simcli.sweeps.records.state import LedgerReader, SweepState


def check_folder(plan: Plan, folder: Path, reader: LedgerReader) -> None:
    """Refuse the folder of another sweep; take results for missing whose files are gone.

    Raises:
        OutputError: it is the folder of another sweep, or none.
    """
    _refuse_another(plan, folder, reader.state)
    _forget_what_is_gone(folder, reader.state)
    _warn_of_ledger(plan, folder, reader.state)


def _refuse_another(plan: Plan, folder: Path, state: SweepState) -> None:
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file; give the folder of the sweep, or a new name")
    if state.damaged and not state.planned and not (folder / PLAN).exists():
        raise OutputError(f"{folder}: holds a ledger, but no sweep, as of `simcli optimize`: choose another folder with -o")
    known = state.results.keys() | state.tries.keys()
    if known and not any(case.id in known for case in plan.cases):
        last = state.planned[-1] if state.planned else {}
        raise OutputError(
            f"{folder}: holds another sweep: none of its {len(known)} cases is one of the {len(plan.cases)} of this one "
            f"({last.get('origin', 'of unknown origin')}). Another scene, seed, precision, device or version of simcli "
            "makes other cases: choose another folder with -o"
        )


def _forget_what_is_gone(folder: Path, state: SweepState) -> None:
    """Results without files are run again."""
    lost = state.forget_gone(folder)
    if lost:
        warnings.warn(
            f"{folder}: results are gone that the ledger knows, as {min(lost.values())}; "
            f"{plural(len(lost), 'case')} will be run again",
            SimcliWarning,
            stacklevel=3,
        )


def _warn_of_ledger(plan: Plan, folder: Path, state: SweepState) -> None:
    """Say what of a ledger is of another `keep`, foreign or damaged."""
    kept = {str(line["keep"]) for line in state.planned if "keep" in line} - {plan.keep}
    if kept and state.results:
        warnings.warn(
            f"{folder}: was begun with keep: {', '.join(sorted(kept))}; cases that are done have the trajectories "
            f"that they have, and keep: {plan.keep} is for the others",
            SimcliWarning,
            stacklevel=3,
        )
    for name in state.foreign:
        warnings.warn(f"{folder}: ledger/{name} is no ledger; left alone", SimcliWarning, stacklevel=3)
    if damaged := sum(state.damaged.values()):
        warnings.warn(
            f"{folder}: {plural(damaged, 'line')} of the ledger cannot be believed, because of damage, as in "
            f"ledger/{min(state.damaged)}; what was said there is run again",
            SimcliWarning,
            stacklevel=3,
        )


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


def problems_of(
    plan: Plan,
    folder: Path,
    done: Mapping[str, str],
    digests: Mapping[str, Collection[str]],
    given_up: Mapping[str, str],
    seen: Callable[[float], None] = lambda part: None,
) -> Iterator[FolderProblem]:
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
        yield FolderProblem(
            "", f"not of the present plan: {plural(len(others), 'case')} with results, {_some(others)}", False
        )


def _of_file(folder: Path, file: str, cases: list[str], digests: Collection[str]) -> Iterator[FolderProblem]:
    """Problems of one result that the ledger names."""
    path = folder / file
    if not path.is_file():
        yield FolderProblem(
            file, f"is not there; the command that began the sweep does its {plural(len(cases), 'case')} again"
        )
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
        yield FolderProblem(
            file, f"was made {len(digests)} times with different numbers: was it run on different processors?"
        )


def _left_over(folder: Path, known: Collection[str]) -> Iterator[FolderProblem]:
    """Results that the ledger does not name: of a driver that was killed before it could, or run a second time."""
    for path in sorted((folder / RESULTS).glob("[!.]*.h5")):
        file = path.relative_to(folder).as_posix()
        if file not in known:
            yield FolderProblem(file, "counts for no case: its cases have another result, or its driver was killed", False)


def _some(cases: list[str]) -> str:
    return ", ".join(cases[:MOST_NAMED]) + ", ..." * (len(cases) > MOST_NAMED)
