"""The sweep as a loop: take a chunk, note that it has begun, note what came of it, until there is none left."""

import contextlib
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simcli.errors import DeviceError, OutputError, SimcliError, SimcliWarning, plural
from simcli.sweeps.agenda import Agenda
from simcli.sweeps.book.claims import Claims
from simcli.sweeps.book.identity import this_process
from simcli.sweeps.book.ledger import GO_ON, Event, Ledger
from simcli.sweeps.book.state import LOST, OVERTIME, LedgerReader
from simcli.sweeps.executors.contract import Ending, Executor, Pace, Report, WorkersGoneError
from simcli.sweeps.planning.plan import Chunk, Plan
from simcli.sweeps.planning.plan_file import NAME as PLAN
from simcli.sweeps.planning.plan_file import write_plan
from simcli.sweeps.planning.provenance import own_version
from simcli.sweeps.planning.shards import Shard, cases_of

POLL_S = 0.5  # between looks at what has happened
CLAIMS_S = 2.0  # for which what is known of the claims of others is true enough
ENDS_ALL = {Ending.OUTPUT: OutputError, Ending.DEVICE: DeviceError}
GRACE_S = 25.0  # from being asked to end to the end: schedulers kill 30 s after SIGTERM
STOP_PART = 0.75  # of the grace, in which chunks may come to their own end


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
class Standing:
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
    facts: dict
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


_Watch = Callable[[Standing], bool]


DEFAULTS = Options()


def watch_nothing(_: Standing) -> bool:
    """Watch nothing, stop never."""
    return True


def drive(plan: Plan, folder: Path, executor: Executor, options: Options = DEFAULTS, watch: _Watch = watch_nothing
          ) -> Summary:  # fmt: skip
    """Get all cases of a sweep done that are not.

    Args:
        plan: the sweep.
        folder: of it, with the ledger; made if it is not there.
        executor: who does the work; is closed at the end.
        options: how.
        watch: sees every event, and twice a second how things stand; its False ends all in time.

    Raises:
        OutputError: the folder cannot be written, or holds another sweep.
    """
    try:
        reader = LedgerReader(folder)
        state = reader.read()
        _check_whose(plan, folder, reader)
        me = this_process()
        ledger = Ledger(folder, me)
        with Claims(folder, me) as claims:
            write_plan(plan, folder)
            driver = _Driver(plan, reader, ledger, claims, executor, options, watch)
            ledger.note(Event.PLANNED, origin=_origin(plan), plan=plan.digest, keep=plan.keep, n_cases=len(plan.cases),
                        n_mine=driver.n_mine, n_known=len(state.results), executor=executor.name,
                        shard=str(options.shard or ""))  # fmt: skip
            try:
                summary = driver.run()
                ledger.note(Event.ENDED, status=summary.status)
            except BaseException:
                executor.close()
                with contextlib.suppress(SimcliError):  # the ledger may be what is wrong
                    driver.abandon()
                raise
            finally:
                ledger.close()
            return summary
    finally:
        executor.close()


def _origin(plan: Plan) -> str:
    """What a sweep is of, in words."""
    scenes = sorted({chunk.scene.name for chunk in plan.chunks})
    return f"of {', '.join(scenes[:3])}{', ...' * (len(scenes) > 3)}, {own_version()}, {plan.device}"


def _check_whose(plan: Plan, folder: Path, reader: LedgerReader) -> None:
    """Refuse the folder of another sweep; take results for missing whose files are gone.

    Raises:
        OutputError: it is the folder of another sweep, or none.
    """
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file; give the folder of the sweep, or a new name")
    state = reader.state
    if state.damaged and not state.planned and not (folder / PLAN).exists():
        raise OutputError(f"{folder}: holds a ledger, but no sweep, as of `simcli optimize`: choose another folder with -o")
    known = state.results.keys() | state.tries.keys()
    if known and not any(case.id in known for case in plan.cases):
        last = state.planned[-1] if state.planned else {}
        raise OutputError(
            f"{folder}: holds another sweep: none of its {len(known)} cases is one of the {len(plan.cases)} of this one "
            f"({last.get('origin', 'of unknown origin')}). Another scene, seed, precision, device or version of simcli "
            "makes other cases: choose another folder with -o")
    gone = {file for file in state.digests if not (folder / file).is_file()}
    n_before = len(state.results)
    state.forget_results_in(gone)
    if n_before > len(state.results):
        warnings.warn(f"{folder}: results are gone that the ledger knows, as {min(gone)}; "
                      f"{plural(n_before - len(state.results), 'case')} will be run again", SimcliWarning, stacklevel=2)
    kept = {str(line["keep"]) for line in state.planned if "keep" in line} - {plan.keep}
    if kept and state.results:
        warnings.warn(f"{folder}: was begun with keep: {', '.join(sorted(kept))}; cases that are done have the trajectories "
                      f"that they have, and keep: {plan.keep} is for the others", SimcliWarning, stacklevel=2)
    for name in state.foreign:
        warnings.warn(f"{folder}: ledger/{name} is no ledger; left alone", SimcliWarning, stacklevel=2)
    if damaged := sum(state.damaged.values()):
        warnings.warn(f"{folder}: {plural(damaged, 'line')} of the ledger cannot be believed, because of damage, as in "
                      f"ledger/{min(state.damaged)}; what was said there is run again", SimcliWarning, stacklevel=2)


class _Driver:
    """One call of `drive`."""

    def __init__(self, plan: Plan, reader: LedgerReader, ledger: Ledger, claims: Claims, executor: Executor,
                 options: Options, watch: _Watch):
        self._plan, self._reader, self._ledger, self._claims = plan, reader, ledger, claims
        self._executor, self._options, self._watch = executor, options, watch
        mine = cases_of(plan, options.shard)
        self.n_mine = len(mine)
        self._agenda = Agenda(plan, mine, reader.state, options.tries, options.retry_failed, executor.slots)
        self._running: dict[str, tuple[Chunk, int]] = {}  # chunk id -> chunk, attempt
        self._pace: dict[str, Pace] = {}
        self._elsewhere: tuple[float, frozenset[str]] = (-CLAIMS_S, frozenset())
        self._begun = time.monotonic()
        self._ends_at: float | None = None  # when all has to be over, once somebody has asked for that
        self._stops_at, self._is_stopped = 0.0, False  # when what still runs then is stopped
        self._problem = ""
        self._is_overtime = False
        self._n_steps = 0
        self._first_open = len(self._agenda.open)

    def run(self) -> Summary:
        """Until nothing is open, or somebody has seen enough."""
        self._tell("begun", {})
        while self._go_on():
            if self._ends_at is None:
                self._fill()
            for one in self._reports():
                if isinstance(one, Pace):
                    self._pace[one.chunk] = one
                else:
                    self._take(one)
            self._tell("", {})
        left = bool(self._agenda.open)
        summary = Summary("stopped" if left else "done", self.n_mine, self.n_mine - len(self._agenda.open),
                          self.n_mine - self._first_open, dict(self._agenda.failed), self._n_steps,
                          time.monotonic() - self._begun, self._problem if left else "")  # fmt: skip
        self._tell("ended", {"status": summary.status})
        return summary

    def _go_on(self) -> bool:
        now = time.monotonic()
        limit, grace = self._options.max_walltime, self._options.grace
        if limit is not None and self._ends_at is None and now - self._begun >= limit - min(grace, limit / 4):
            self._is_overtime = True
            self._ask_to_end("the walltime is up", min(grace, limit / 4))
        if self._ends_at is None:
            return bool(self._running or self._agenda.open)
        if self._running and now >= self._stops_at and not self._is_stopped:
            self._is_stopped = True
            self._executor.stop()
        if self._running and now >= self._ends_at:
            self._executor.close()
            for chunk, _ in list(self._running.values()):
                self._take(Report(chunk.id, Ending.STOPPED, reason="did not end in time when it was asked to"))
        return bool(self._running)

    def _ask_to_end(self, problem: str, grace: float) -> None:
        """Begin no chunk any more. Those under way may end by themselves for three quarters of the grace."""
        if self._ends_at is None:
            now = time.monotonic()
            self._stops_at, self._ends_at, self._problem = now + STOP_PART * grace, now + grace, problem

    def _reports(self) -> Sequence[Report | Pace]:
        try:
            return self._executor.reports(POLL_S)
        except WorkersGoneError as error:
            self._stops_at = self._ends_at = -float("inf")
            self._problem = str(error)
            return []

    def _fill(self) -> None:
        """Begin chunks until everybody has one."""
        is_planned = False
        while len(self._running) < self._executor.slots:
            chunk = self._agenda.next()
            if chunk is None and not is_planned and self._agenda.open:
                self._catch_up()
                self._agenda.plan_anew(self._taken())
                is_planned = True
            elif chunk is None:
                return
            elif self._is_free(chunk) and self._claims.take(chunk):
                self._catch_up()
                if self._agenda.open.issuperset(chunk.cases):
                    self._start(chunk)
                else:
                    self._claims.release(chunk.id)

    def _is_free(self, chunk: Chunk) -> bool:
        return self._agenda.open.issuperset(chunk.cases) and not self._taken().intersection(chunk.cases)

    def _taken(self) -> set[str]:
        """Cases that somebody is at."""
        now = time.monotonic()
        if now - self._elsewhere[0] >= CLAIMS_S:
            self._elsewhere = now, frozenset(case for claim in self._claims.of_others() for case in claim.cases)
        return {case for chunk, _ in self._running.values() for case in chunk.cases}.union(self._elsewhere[1])

    def _catch_up(self) -> None:
        self._reader.read()
        self._agenda.update()

    def _start(self, chunk: Chunk) -> None:
        tries = self._reader.state.tries
        attempt = 1 + max((tries[case].started for case in chunk.cases if case in tries), default=0)
        self._running[chunk.id] = chunk, attempt
        self._note(Event.STARTED, chunk, attempt=attempt)
        self._executor.start(chunk)

    def _take(self, report: Report) -> None:
        """Note the end of an attempt, and what follows from it."""
        if report.chunk not in self._running:
            return
        chunk, attempt = self._running.pop(report.chunk)
        self._pace.pop(chunk.id, None)
        said = {"attempt": attempt, "worker": report.worker, "at": report.host}
        if report.ending is Ending.DONE:
            self._n_steps += report.result["n_steps"]
            self._note(Event.DONE, chunk, **said, **report.result)
            self._agenda.praise()
        elif report.ending in (Ending.STOPPED, *ENDS_ALL):
            kind = OVERTIME if self._is_overtime else report.ending.value
            self._note(Event.ABANDONED, chunk, **said, kind=kind, reason=report.reason)
        else:
            kind = LOST if report.ending is Ending.LOST else report.ending.value
            self._note(Event.FAILED, chunk, **said, kind=kind, reason=report.reason)
            if spent := self._agenda.blame(chunk, report.ending):
                self._note(Event.GIVEN_UP, chunk, spent, reason=report.reason)
        self._claims.release(chunk.id)
        if report.ending in ENDS_ALL:
            raise ENDS_ALL[report.ending](f"{report.reason}; {GO_ON}")

    def abandon(self) -> None:
        """Note of all that is under way that nobody is to blame."""
        for chunk, _ in list(self._running.values()):
            self._take(Report(chunk.id, Ending.STOPPED, reason="the sweep ended by an error"))

    def _note(self, event: Event, chunk: Chunk, cases: Sequence[str] | None = None, **facts) -> None:
        named = chunk.cases if cases is None else cases
        self._ledger.note(event, chunk.id, named, executor=self._executor.name, **facts)
        self._catch_up()
        self._tell(str(event), {"chunk": chunk.id, "n_cases": len(named), **facts})

    def _tell(self, event: str, facts: dict) -> None:
        rate = sum(one.rate for one in self._pace.values())
        n_open = len(self._agenda.open)
        parts = sum(one.fraction * len(self._running[one.chunk][0].cases) for one in self._pace.values()
                    if one.chunk in self._running)  # fmt: skip
        done_here = self._first_open - n_open + parts
        elapsed = time.monotonic() - self._begun
        left = elapsed / done_here * (n_open - parts) if done_here > 0 else float("nan")
        n_running = sum(len(chunk.cases) for chunk, _ in self._running.values())
        if not self._watch(Standing(event, facts, self.n_mine, self.n_mine - n_open, len(self._agenda.failed), n_running,
                                    rate, left)):  # fmt: skip
            self._ask_to_end("", self._options.grace)
