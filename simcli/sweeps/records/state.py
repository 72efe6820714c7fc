"""What all ledgers of a folder say of each case. Lines may come in any order and more than once: the state is the same."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simcli.errors import OutputError
from simcli.sweeps.records.ledger import FOLDER, LEDGER_SUFFIX, LedgerEvent, facts_of

OVERTIME = "overtime"  # kind of an abandoned attempt: the time of its job was up
LOST = "lost"  # kind of a failed attempt: the process was killed, by whom ever


@dataclass(frozen=True, order=True)
class Result:
    """Where the numbers of a case are. Of two results the smaller one counts, whoever wrote it and when.

    Attributes:
        is_failed: the world failed, and the file holds what there was until then.
        file: below the folder of the sweep.
        digest: of the file.
        reason: why the world failed, else "".
    """

    is_failed: bool
    file: str
    digest: str
    reason: str = ""


@dataclass
class Tries:
    """How often a case was tried.

    Attributes:
        started: attempts that began.
        ended: those of them whose end is told.
        crashed: those that brought nothing, by their own fault as far as can be told.
        lost: those whose process was killed.
        overtime: those that were cut off by the end of their job.
        smallest: cases of the smallest attempt that brought nothing, 0 if there is none.
        given_up: lines that say so; one takes away what was asked for with `--retry-failed`.
        reason: why it was given up; of several the last by the alphabet, so that the order of reading does not matter.
    """

    started: int = 0
    ended: int = 0
    crashed: int = 0
    lost: int = 0
    overtime: int = 0
    smallest: int = 0
    given_up: int = 0
    reason: str = ""

    @property
    def vanished(self) -> int:
        """Attempts whose process was killed, told or not; one that runs at present counts, too."""
        return self.lost + max(self.started - self.ended, 0)

    def see(self, n_cases: int) -> None:
        """Note the size of an attempt that brought nothing."""
        self.smallest = min(self.smallest or n_cases, n_cases)


@dataclass(frozen=True)
class Started:
    """An attempt whose end is not told: it runs, or its driver was killed.

    Attributes:
        writer: name of the driver's ledger.
        chunk: id.
        cases: ids.
        host: of the driver, for people.
        executor: who does the work, for people.
    """

    writer: str
    chunk: str
    cases: tuple[str, ...]
    host: str
    executor: str


@dataclass
class SweepState:
    """What is known of a sweep.

    Attributes:
        results: by case.
        others: results of a case beside the one that counts, of cases that have several.
        tries: by case, of all that were ever started.
        open: attempts without an end, by writer, chunk and attempt.
        digests: of a result file; several if it was made twice and the bytes differ.
        planned: the lines of drivers that began.
        work: world-steps and seconds of work, by executor and host.
        damaged: lines that are not whole, by file.
        foreign: names of files that are no ledgers.
        changed: cases that have a result or were given up since somebody emptied this.
    """

    results: dict[str, Result] = field(default_factory=dict)
    others: dict[str, set[Result]] = field(default_factory=dict)
    tries: dict[str, Tries] = field(default_factory=dict)
    open: dict[tuple[str, str, int], Started] = field(default_factory=dict)
    digests: dict[str, set[str]] = field(default_factory=dict)
    planned: list[dict[str, Any]] = field(default_factory=list)
    work: dict[tuple[str, str], "WorkDone"] = field(default_factory=dict)
    damaged: dict[str, int] = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)

    def given_up(self) -> dict[str, str]:
        """Cases without a result that will not be tried again, and why."""
        return {case: tries.reason for case, tries in self.tries.items() if tries.given_up and case not in self.results}

    def failed(self) -> dict[str, str]:
        """Cases whose world failed, and those that were given up; with reasons."""
        worlds = {case: result.reason for case, result in self.results.items() if result.is_failed}
        return {**worlds, **self.given_up()}

    def forget_gone(self, folder: Path) -> dict[str, str]:
        """Forget results whose files are gone. Of a case that was run again, in whatever chunk, another result counts.

        Args:
            folder: of the sweep.

        Returns:
            Case to the file that is gone, of those that have no result left.
        """
        gone = {file for file in self.digests if not (folder / file).is_file()}
        lost = {}
        for case, result in [(case, result) for case, result in self.results.items() if result.file in gone]:
            left = sorted(one for one in self.others.pop(case, ()) if one.file not in gone)
            if left:
                self.results[case], self.others[case] = left[0], set(left[1:])
            else:
                del self.results[case]
                lost[case] = result.file
        return lost


@dataclass
class WorkDone:
    """What one executor on one host has done.

    Attributes:
        chunks: that are done.
        cases: in them.
        n_steps: world-steps.
        seconds: of work, added up over chunks.
    """

    chunks: int = 0
    cases: int = 0
    n_steps: int = 0
    seconds: float = 0.0


class LedgerReader:
    """Reads all ledgers of a folder, and at the next time what was appended since.

    Args:
        folder: of the sweep.

    Attributes:
        state: as of the last `read`.
    """

    def __init__(self, folder: Path):
        self.state = SweepState()
        self._folder = folder / FOLDER
        self._ends: dict[str, int] = {}

    def read(self) -> SweepState:
        """The state by now; a folder without a ledger has an empty one.

        Raises:
            OutputError: a ledger cannot be read.
        """
        try:
            with os.scandir(self._folder) as entries:
                sizes = {entry.name: entry.stat().st_size for entry in entries}
        except (FileNotFoundError, NotADirectoryError):
            return self.state
        except OSError as error:
            raise OutputError(f"{self._folder}: cannot be read: {error.strerror or error}") from error
        for name in sorted(sizes):
            if not name.endswith(LEDGER_SUFFIX):
                self.state.foreign.add(name)
                continue
            if sizes[name] > self._ends.setdefault(name, 0):
                for line in self._new_lines(name):
                    self._take(name, line)
        return self.state

    def unfinished(self) -> list[str]:
        """Ledgers that end in the middle of a line: it is being written, or was when its process was killed."""
        return [name for name, end in sorted(self._ends.items()) if (self._folder / name).stat().st_size > end]

    def _new_lines(self, name: str) -> Iterator[bytes]:
        try:
            with (self._folder / name).open("rb") as stream:
                stream.seek(self._ends[name])
                for line in stream:
                    if not line.endswith(b"\n"):
                        return
                    self._ends[name] += len(line)
                    yield line
        except OSError as error:
            raise OutputError(f"{self._folder / name}: cannot be read: {error.strerror or error}") from error

    def _take(self, name: str, line: bytes) -> None:
        facts = facts_of(line)
        try:
            if facts is None:
                raise ValueError
            _TAKE[LedgerEvent(facts["event"])](self.state, name.removesuffix(LEDGER_SUFFIX), facts)
        except (ValueError, KeyError, TypeError, AttributeError):
            if line.strip():  # a line break of its own closes one that was not finished
                self.state.damaged[name] = self.state.damaged.get(name, 0) + 1


def _planned(state: SweepState, writer: str, facts: dict[str, Any]) -> None:
    state.planned.append({**facts, "writer": writer})


def _started(state: SweepState, writer: str, facts: dict[str, Any]) -> None:
    cases = tuple(map(str, facts["cases"]))
    state.open[_attempt(writer, facts)] = Started(writer, facts["chunk"], cases, facts["host"], facts.get("executor", ""))
    for case in cases:
        state.tries.setdefault(case, Tries()).started += 1


def _ended(state: SweepState, writer: str, facts: dict[str, Any]) -> None:
    state.open.pop(_attempt(writer, facts), None)
    for case in facts["cases"]:
        state.tries.setdefault(case, Tries()).ended += 1


def _done(state: SweepState, writer: str, facts: dict[str, Any]) -> None:
    failed, file, digest = facts["failed"], facts["file"], facts["digest"]
    found = {case: Result(case in failed, file, digest, str(failed.get(case, ""))) for case in facts["cases"]}
    _ended(state, writer, facts)
    for case, result in found.items():
        known = state.results.setdefault(case, result)
        if result != known:
            state.results[case] = min(result, known)
            state.others.setdefault(case, set()).add(max(result, known))
    state.changed |= found.keys()
    state.digests.setdefault(file, set()).add(digest)
    work = state.work.setdefault((facts.get("executor", ""), facts.get("at") or facts["host"]), WorkDone())
    work.chunks += 1
    work.cases += len(found)
    work.n_steps += int(facts["n_steps"])
    work.seconds += float(facts["seconds"])


def _failed(state: SweepState, writer: str, facts: dict[str, Any]) -> None:
    _ended(state, writer, facts)
    for case in facts["cases"]:
        tries = state.tries[case]
        tries.see(len(facts["cases"]))
        if facts["kind"] == LOST:
            tries.lost += 1
        else:
            tries.crashed += 1


def _abandoned(state: SweepState, writer: str, facts: dict[str, Any]) -> None:
    _ended(state, writer, facts)
    for case in facts["cases"] if facts.get("kind") == OVERTIME else ():
        tries = state.tries[case]
        tries.overtime += 1
        tries.see(len(facts["cases"]))


def _given_up(state: SweepState, writer: str, facts: dict[str, Any]) -> None:
    state.changed.update(facts["cases"])
    for case in facts["cases"]:
        tries = state.tries.setdefault(case, Tries())
        tries.given_up += 1
        tries.reason = max(tries.reason, str(facts["reason"]))


def _driver_ended(state: SweepState, writer: str, facts: dict[str, Any]) -> None:
    for line in state.planned:
        if line["writer"] == writer:
            line["ended"] = facts.get("status", "")


def _attempt(writer: str, facts: dict[str, Any]) -> tuple[str, str, int]:
    return writer, facts["chunk"], int(facts["attempt"])


_TAKE = {
    LedgerEvent.PLANNED: _planned,
    LedgerEvent.STARTED: _started,
    LedgerEvent.DONE: _done,
    LedgerEvent.FAILED: _failed,
    LedgerEvent.GIVEN_UP: _given_up,
    LedgerEvent.ABANDONED: _abandoned,
    LedgerEvent.ENDED: _driver_ended,
}
