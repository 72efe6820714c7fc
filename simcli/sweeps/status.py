"""How a sweep is driven, how far it is by its folder alone, and what it came to."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from simcli.errors import FileError, UsageError, plural
from simcli.sweeps.records.claims import CLAIMS_FOLDER as CLAIMS
from simcli.sweeps.records.claims import PERIOD_S, Claim, Hearts, read_claims
from simcli.sweeps.records.ledger import FOLDER as LEDGERS
from simcli.sweeps.records.ledger import this_process
from simcli.sweeps.records.plan_file import Shard, read_plan
from simcli.sweeps.records.state import LedgerReader, WorkDone

GRACE_S = 25.0  # from being asked to end to the end: schedulers kill 30 s after SIGTERM


@dataclass(frozen=True)
class Options:
    """How a sweep is driven.

    Attributes:
        shard: the part that is done here, None for all.
        max_walltime: [s], from now on until all has to be over; None for as long as it takes.
        retry_failed: try cases again that failed or were given up before.
        tries: attempts of a case that crash, in all, before it is given up.
        grace: [s], from being asked to end to the end: what is nearly done is not lost.
    """

    shard: Shard | None = None
    max_walltime: float | None = None
    retry_failed: bool = False
    tries: int = 3
    grace: float = GRACE_S


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is.

    Attributes:
        event: that has just happened, "" if only time went by.
        facts: of the event.
        n_cases: that are to be done here.
        n_done: with a result, or given up.
        n_failed: of those.
        n_running: that are worked at here.
        rate: [1/s], world-steps per second of all that runs.
        seconds_left: [s], NaN while nobody can tell.
    """

    event: str
    facts: dict[str, object]
    n_cases: int
    n_done: int
    n_failed: int
    n_running: int
    rate: float
    seconds_left: float
    stage: str = "stepping"

    @property
    def fraction(self) -> float:
        """Part of the cases that is done."""
        return self.n_done / self.n_cases if self.n_cases else 1.0


@dataclass
class Summary:
    """What a sweep came to.

    Attributes:
        status: done; stopped if cases are left that the same command goes on with.
        n_cases: that were to be done here.
        n_done: with a result, or given up.
        n_begun_with: of those, done before.
        failed: cases whose world failed or that were given up, with reasons.
        n_steps: world-steps.
        seconds: [s], wall time.
        problem: why it was stopped, "" if it was asked to.
    """

    status: str = "done"
    n_cases: int = 0
    n_done: int = 0
    n_begun_with: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    n_steps: int = 0
    seconds: float = 0.0
    problem: str = ""


Standing = SweepProgress  # its name in programs that were written for earlier versions
SweepWatch = Callable[[SweepProgress], bool]
DEFAULTS = Options()


def watch_nothing(_: SweepProgress) -> bool:
    """Watch nothing, stop never."""
    return True


LISTEN_S = 2 * PERIOD_S  # for the hearts of other machines
STATUS_POLL_S = 0.25


@dataclass(frozen=True)
class _Row:
    """What one executor on one machine has done.

    Attributes:
        executor: as `workers 4`.
        host: name of the machine.
        work: that is done.
    """

    executor: str
    host: str
    work: WorkDone

    @property
    def rate(self) -> float:
        """[1/s], world-steps per second of work, 0 if nothing was done."""
        return self.work.n_steps / self.work.seconds if self.work.seconds > 0 else 0.0


@dataclass(frozen=True)
class _Status:
    """How a sweep stands.

    Attributes:
        n_cases: of the plan as it is now; where that cannot be read, the most that a driver said.
        n_done: of those, with a result.
        n_given_up: without one, that will not be tried again.
        failed: cases whose world failed or that were given up, with reasons.
        n_running: that living processes are at.
        running: claims of living processes.
        n_lost: that were begun, and whose process is gone: the same command goes on with them.
        rows: by executor and machine.
        rate: [1/s], world-steps per second of one chunk, times the chunks that run.
        seconds_left: [s], NaN if nobody is at work.
        notes: of what is wrong with the ledger.
    """

    n_cases: int
    n_done: int
    n_given_up: int
    failed: dict[str, str]
    n_running: int
    running: tuple[Claim, ...]
    n_lost: int
    rows: tuple[_Row, ...]
    rate: float
    seconds_left: float
    notes: tuple[str, ...]


def status_of(folder: Path) -> _Status:
    """How the sweep in a folder stands. Takes some seconds if other machines are at it: their hearts are listened to.

    Raises:
        UsageError: there is no sweep in the folder.
        OutputError: the ledger cannot be read.
    """
    reader = LedgerReader(folder)
    state = reader.read()
    if not (folder / LEDGERS).is_dir() or not state.planned:
        raise UsageError(f"{folder}: no sweep there; give the folder of `simcli sweep run -o`")
    state.forget_gone(folder)
    alive = living(folder)
    at_work = frozenset().union(*(claim.cases for claim in alive)) - state.results.keys()
    begun = {case for one in state.open.values() for case in one.cases} - state.results.keys()
    planned = _planned(folder)
    wanted = state.results.keys() | state.tries.keys() if planned is None else planned
    done = [case for case in state.results if case in wanted]
    given_up = {case for case in state.given_up() if case in wanted}
    n_cases = max(int(line["n_cases"]) for line in state.planned) if planned is None else len(planned)
    works = list(state.work.values())
    seconds, n_steps, n_worked = (sum(getattr(one, name) for one in works) for name in ("seconds", "n_steps", "cases"))
    n_left = max(n_cases - len(done) - len(given_up), 0)
    left = seconds / n_worked * n_left / len(alive) if alive and n_worked else float("nan")
    notes = [f"ledger/{name}: {plural(n, 'damaged line')} not believed" for name, n in sorted(state.damaged.items())]
    notes += [f"ledger/{name}: is no ledger; left alone" for name in sorted(state.foreign)]
    rows = tuple(_Row(*key, work) for key, work in sorted(state.work.items()))
    lost = begun - at_work - given_up
    failed = {case: reason for case, reason in state.failed().items() if case in wanted}
    return _Status(
        n_cases,
        len(done),
        len(given_up),
        failed,
        len(at_work),
        tuple(alive),
        len(lost),
        rows,
        n_steps / seconds * len(alive) if seconds > 0 else 0.0,
        left,
        tuple(notes),
    )


def _planned(folder: Path) -> frozenset[str] | None:
    """Cases of the plan in a folder; None if it cannot be read, or names none."""
    try:
        return frozenset(case.id for case in read_plan(folder).cases) or None
    except FileError:
        return None


def living(folder: Path) -> list[Claim]:
    """Claims of processes that live: those of this machine are looked up, the hearts of others are listened to."""
    try:
        claims = read_claims(folder / CLAIMS)
    except OSError:
        return []
    here, hearts = this_process().boot, Hearts(folder / CLAIMS)
    found = [claim for claim in claims if not claim.owner.is_surely_dead()]
    heard = {claim.owner for claim in found if here and claim.owner.boot == here}
    end = time.monotonic() + LISTEN_S
    while time.monotonic() < end and (silent := {claim.owner for claim in found} - heard):
        heard |= {owner for owner in silent if hearts.has_beaten(owner)}
        time.sleep(STATUS_POLL_S)
    return [claim for claim in found if claim.owner in heard]
