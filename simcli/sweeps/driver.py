"""The sweep as a loop: take a chunk, note that it has begun, note what came of it, until there is none left."""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

from simcli.errors import DeviceError, OutputError, SimcliError
from simcli.sweeps.chunk_queue import ChunkQueue
from simcli.sweeps.executors.contract import Ending, Executor, Pace, Report, WorkersGoneError
from simcli.sweeps.folder import check_folder
from simcli.sweeps.records.claims import Claims
from simcli.sweeps.records.ledger import GO_ON, Ledger, LedgerEvent, this_process
from simcli.sweeps.records.plan import Chunk, Plan
from simcli.sweeps.records.plan_file import cases_of, write_plan
from simcli.sweeps.records.scenes import own_version
from simcli.sweeps.records.state import LOST, OVERTIME, LedgerReader
from simcli.sweeps.status import DEFAULTS, Options, Summary, SweepProgress, SweepWatch, watch_nothing

POLL_S = 0.5  # between looks at what has happened
CLAIMS_S = 2.0  # for which what is known of the claims of others is true enough
ENDS_ALL = {Ending.OUTPUT: OutputError, Ending.DEVICE: DeviceError}
STOP_PART = 0.75  # of the grace, in which chunks may come to their own end


def drive_sweep(
    plan: Plan, folder: Path, executor: Executor, options: Options = DEFAULTS, watch: SweepWatch = watch_nothing
) -> Summary:
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
    with contextlib.closing(executor):
        reader = LedgerReader(folder)
        state = reader.read()
        check_folder(plan, folder, reader)
        me = this_process()
        with contextlib.closing(Ledger(folder, me)) as ledger, Claims(folder, me) as claims:
            write_plan(plan, folder)
            driver = _Driver(plan, reader, ledger, claims, executor, options, watch)
            ledger.note(
                LedgerEvent.PLANNED,
                origin=_origin(plan),
                plan=plan.digest,
                keep=plan.keep,
                n_cases=len(plan.cases),
                n_mine=driver.n_mine,
                n_known=len(state.results),
                executor=executor.name,
                shard=str(options.shard or ""),
            )
            try:
                summary = driver.run()
                ledger.note(LedgerEvent.ENDED, status=summary.status)
            except BaseException:
                executor.close()
                with contextlib.suppress(SimcliError):  # the ledger may be what is wrong
                    driver.abandon()
                raise
            return summary


def _origin(plan: Plan) -> str:
    """What a sweep is of, in words."""
    scenes = sorted({chunk.scene.name for chunk in plan.chunks})
    return f"of {', '.join(scenes[:3])}{', ...' * (len(scenes) > 3)}, {own_version()}, {plan.device}"


class _Driver:
    """One call of `drive_sweep`."""

    def __init__(
        self,
        plan: Plan,
        reader: LedgerReader,
        ledger: Ledger,
        claims: Claims,
        executor: Executor,
        options: Options,
        watch: SweepWatch,
    ):
        self._plan, self._reader, self._ledger, self._claims = plan, reader, ledger, claims
        self._executor, self._options, self._watch = executor, options, watch
        mine = cases_of(plan, options.shard)
        self.n_mine = len(mine)
        self._queue = ChunkQueue(plan, mine, reader.state, options.tries, options.retry_failed, executor.slots)
        self._running: dict[str, tuple[Chunk, int]] = {}  # chunk id -> chunk, attempt
        self._pace: dict[str, Pace] = {}
        self._elsewhere: tuple[float, frozenset[str]] = (-CLAIMS_S, frozenset())
        self._begun = time.monotonic()
        self._ends_at: float | None = None  # when all has to be over, once somebody has asked for that
        self._stops_at, self._is_stopped = 0.0, False  # when what still runs then is stopped
        self._problem = ""
        self._is_overtime = False
        self._n_steps = 0
        self._first_open = len(self._queue.open)

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
        left = bool(self._queue.open)
        summary = Summary(
            "stopped" if left else "done",
            self.n_mine,
            self.n_mine - len(self._queue.open),
            self.n_mine - self._first_open,
            dict(self._queue.failed),
            self._n_steps,
            time.monotonic() - self._begun,
            self._problem if left else "",
        )
        self._tell("ended", {"status": summary.status})
        return summary

    def _go_on(self) -> bool:
        self._heed_walltime()
        if self._ends_at is None:
            return bool(self._running or self._queue.open)
        now = time.monotonic()
        if self._running and now >= self._stops_at and not self._is_stopped:
            self._is_stopped = True
            self._executor.stop()
        if self._running and now >= self._ends_at:
            self._executor.close()
            self._stop_running("did not end in time when it was asked to")
        return bool(self._running)

    def _heed_walltime(self) -> None:
        """Ask to end so early that the grace lies within the walltime."""
        limit = self._options.max_walltime
        if limit is None or self._ends_at is not None:
            return
        grace = min(self._options.grace, limit / 4)
        if time.monotonic() - self._begun >= limit - grace:
            self._is_overtime = True
            self._ask_to_end("the walltime is up", grace)

    def _stop_running(self, reason: str) -> None:
        for chunk, _ in list(self._running.values()):
            self._take(Report(chunk.id, Ending.STOPPED, reason=reason))

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
            chunk = self._queue.next()
            if chunk is not None:
                self._begin(chunk)
            elif is_planned or not self._queue.open:
                return
            else:
                self._catch_up()
                self._queue.plan_anew(self._taken())
                is_planned = True

    def _begin(self, chunk: Chunk) -> None:
        """Start a chunk, if nobody is at its cases and none of them is done."""
        is_free = self._is_open(chunk) and not self._taken().intersection(chunk.cases)
        if not is_free or not self._claims.take(chunk):
            return
        self._catch_up()  # what was done before the claim
        if self._is_open(chunk):
            self._start(chunk)
        else:
            self._claims.release(chunk.id)

    def _is_open(self, chunk: Chunk) -> bool:
        return self._queue.open.issuperset(chunk.cases)

    def _taken(self) -> set[str]:
        """Cases that somebody is at."""
        now = time.monotonic()
        if now - self._elsewhere[0] >= CLAIMS_S:
            self._elsewhere = now, frozenset(case for claim in self._claims.of_others() for case in claim.cases)
        return {case for chunk, _ in self._running.values() for case in chunk.cases}.union(self._elsewhere[1])

    def _catch_up(self) -> None:
        self._reader.read()
        self._queue.update()

    def _start(self, chunk: Chunk) -> None:
        tries = self._reader.state.tries
        attempt = 1 + max((tries[case].started for case in chunk.cases if case in tries), default=0)
        self._running[chunk.id] = chunk, attempt
        self._note(LedgerEvent.STARTED, chunk, attempt=attempt)
        self._executor.start(chunk)

    def _take(self, report: Report) -> None:
        """Note the end of an attempt, and what follows from it."""
        if report.chunk not in self._running:
            return
        chunk, attempt = self._running.pop(report.chunk)
        self._pace.pop(chunk.id, None)
        self._note_end(report, chunk, {"attempt": attempt, "worker": report.worker, "at": report.host})
        self._claims.release(chunk.id)
        if report.ending in ENDS_ALL:
            raise ENDS_ALL[report.ending](f"{report.reason}; {GO_ON}")

    def _note_end(self, report: Report, chunk: Chunk, said: dict) -> None:
        if report.ending is Ending.DONE:
            self._n_steps += report.result["n_steps"]
            self._note(LedgerEvent.DONE, chunk, **said, **report.result)
            self._queue.note_success()
        elif report.ending in (Ending.STOPPED, *ENDS_ALL):
            kind = OVERTIME if self._is_overtime else report.ending.value
            self._note(LedgerEvent.ABANDONED, chunk, **said, kind=kind, reason=report.reason)
        else:
            kind = LOST if report.ending is Ending.LOST else report.ending.value
            self._note(LedgerEvent.FAILED, chunk, **said, kind=kind, reason=report.reason)
            if spent := self._queue.note_failure(chunk, report.ending):
                self._note(LedgerEvent.GIVEN_UP, chunk, spent, reason=report.reason)

    def abandon(self) -> None:
        """Note of all that is under way that it has no fault of its own."""
        self._stop_running("the sweep ended by an error")

    def _note(self, event: LedgerEvent, chunk: Chunk, cases: Sequence[str] | None = None, **facts) -> None:
        named = chunk.cases if cases is None else cases
        self._ledger.note(event, chunk.id, named, executor=self._executor.name, **facts)
        self._catch_up()
        self._tell(str(event), {"chunk": chunk.id, "n_cases": len(named), **facts})

    def _tell(self, event: str, facts: dict) -> None:
        if not self._watch(self._progress(event, facts)):
            self._ask_to_end("", self._options.grace)

    def _progress(self, event: str, facts: dict) -> SweepProgress:
        rate = sum(one.rate for one in self._pace.values())
        n_open = len(self._queue.open)
        parts = sum(
            one.fraction * len(self._running[one.chunk][0].cases)
            for one in self._pace.values()
            if one.chunk in self._running
        )
        done_here = self._first_open - n_open + parts
        elapsed = time.monotonic() - self._begun
        left = elapsed / done_here * (n_open - parts) if done_here > 0 else float("nan")
        n_running = sum(len(chunk.cases) for chunk, _ in self._running.values())
        return SweepProgress(event, facts, self.n_mine, self.n_mine - n_open, len(self._queue.failed), n_running, rate, left)
