"""A run block by block, and what of its events is reported.

Worlds that came to their end may be untrusted: too many steps unsolved, or energy from nothing. What a scene makes of it
stands in `run.on_unsolved` and `run.on_drift`. The events stand in the file, so that tables and searches know it of the file
alone.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcli.job import Failure, Job, Outcome, Tick, Watch
from simcli.model.snapshot import MET, UNTRUSTED, Event, FrameBlock, Unsolved

if TYPE_CHECKING:
    from simcli.analysis.drift import EnergyAccount

_COUNT = "SC662"  # code of the event that counts the unsolved steps of a world
_UNSOLVED, _GAINED = UNTRUSTED


def distrust(job: Job, outcome: Outcome, events: list[Event], account: "EnergyAccount") -> list[Event]:
    """The events of the worlds that are not to be trusted.

    Args:
        job: that has come to its last step.
        outcome: with the worlds that ended before.
        events: of the last block, with the numbers of unsolved steps.
        account: of the energies of all frames.
    """
    failed = {one.world for one in outcome.failures}
    failed |= {job.numbers[event.world] for event in events if event.severity > 1 and event.world >= 0}
    found = [*_unsolved(job, outcome, events), *_drifting(job, account)]
    n_steps = outcome.n_steps
    return [
        Event(n_steps, n_steps * job.schedule.dt, world, code, 1, -1, -1, value, text)
        for world, code, value, text in found
        if job.numbers[world] not in failed
    ]


def _unsolved(job: Job, outcome: Outcome, events: list[Event]) -> list[tuple[int, str, float, str]]:
    """Worlds of which too many steps are unsolved, with the share of them."""
    wanted, found = job.spec.run.on_unsolved, []
    for event in events:
        if event.code != _COUNT or wanted.action == "warn":
            continue
        steps = outcome.ends.get(event.world, outcome.n_steps)
        share = event.value / max(steps, 1)
        if wanted.action == "fail" or share >= wanted.share:
            text = f"{event.value:.0f} of {steps} steps did not converge: the motion cannot be trusted"
            found.append((event.world, _UNSOLVED, share, text))
    return found


def _drifting(job: Job, account: "EnergyAccount") -> list[tuple[int, str, float, str]]:
    """Worlds whose energy does not add up, with the drift in relation to the energy exchanged."""
    wanted = job.spec.run.on_drift
    is_judged = wanted.action == "fail" or (wanted.action == "auto" and job.spec.solver.type != "affine")
    if "energy" not in job.channels or not is_judged:
        return []
    drift = account.largest("drift") if wanted.action == "fail" else account.gain
    part, what = account.part(drift), "unaccounted for" if wanted.action == "fail" else "gained without a source"
    worlds = np.flatnonzero((part > wanted.share) & (drift > wanted.above)).tolist()
    return [
        (w, _GAINED, float(part[w]), f"{drift[w]:.3g} J are {what}, {100 * part[w]:.3g} % of the energy exchanged")
        for w in worlds
    ]


ENERGIES = "energies"  # of a checkpoint, beside the arrays of its solver
_WARNING, _ERROR = 1, 2  # severities of events; an error is a failure
READING_PAYS = 20.0  # [s] that a run has still to go, so that kernels which it has compiled are read anew, finished
_TELLING_CALL = 2  # of the kernel, whose time tells how long a run goes on: the first is of few frames
LAST_SECONDS = 5.0  # [s] that a run which is asked to stop may take to reach a frame from which it can go on


def begin_run(job: Job, solver, continues, outcome: Outcome) -> FrameBlock | None:
    """Frame 0; or, of a run that goes on, its state and what is known of it."""
    if continues is None:
        return solver.initial()
    solver.restore(continues.checkpoint.arrays, continues.checkpoint.n_steps)
    outcome.n_frames = outcome.first_frame = continues.n_frames
    outcome.n_steps = outcome.first_step = continues.checkpoint.n_steps
    outcome.n_events = len(continues.events)
    note_events(job, outcome, continues.events)
    outcome.ends |= ends_among(continues.events)
    return None


def unsolved_among(events: list[Event]) -> Unsolved | None:
    """The unsolved steps of a run that has ended, out of its events, or out of those of all its parts, world by world."""
    counts = [event.value for event in events if event.code == "SC662"]
    told = [event for event in events if event.is_summary]
    if not told:
        return None
    worst = max(told, key=lambda event: inf if isnan(event.value) else event.value)
    return Unsolved(worst.world, worst.step, worst.time, worst.value, int(sum(counts)), len(counts))


def heed_unsolved(job: Job, outcome: Outcome, unsolved: Unsolved | None) -> None:
    """Note the unsolved steps of a run as `run.on_unsolved` wants it; its world has its number in the batch."""
    wanted = job.spec.run.on_unsolved
    if unsolved and not unsolved.residual <= wanted.above:
        outcome.unsolved = replace(unsolved, world=job.numbers[unsolved.world])
        outcome.unsolved_fails = wanted.action == "fail"


def step_all(
    job: Job, solver, first: FrameBlock | None, recorder, keeper, watch: Watch, outcome: Outcome, account: "EnergyAccount"
) -> None:
    """Advance block by block until the end, a failure that stops, or a watcher that has seen enough."""
    schedule, n_worlds = job.schedule, job.model.n_worlds
    stop_at_failure = job.spec.run.on_failure == "stop"
    clock = time.perf_counter()

    def state() -> dict:
        return {**solver.state_arrays(), ENERGIES: account.numbers()}

    def record(block: FrameBlock) -> bool:
        account.see(block.columns)
        outcome.n_steps = account.n_steps = int(block.step[-1])
        outcome.ends |= ends_among(block.events)
        if outcome.n_steps == schedule.n_steps:
            block.events += distrust(job, outcome, block.events, account)
        recorder.put(block)
        outcome.n_frames += len(block.step)
        note_events(job, outcome, block.events)
        outcome.n_events += len(block.events)
        heed_unsolved(job, outcome, block.unsolved)
        keeper.look(outcome.counts, recorder.n_committed, state)
        stepping = time.perf_counter() - clock - (solver.compile_seconds or 0.0)
        steps = outcome.n_steps * n_worlds
        rate = (outcome.n_steps - outcome.first_step) * n_worlds / stepping if stepping > 0 else 0.0
        now = Tick(
            "stepping",
            outcome.n_frames - 1,
            schedule.n_frames,
            outcome.n_steps * schedule.dt,
            steps,
            rate,
            _size(job.output),
        )
        return watch(now)

    def step_on(limit: int) -> bool:
        left = schedule.n_frames + 1 - outcome.n_frames
        n_frames = min(solver.suggest_frames(), recorder.frames_wanted, left, limit)
        return record(solver.advance(n_frames, recorder.places(n_frames)))

    going, calls = first is None or record(first), 0
    while going and outcome.n_frames <= schedule.n_frames:
        if stop_at_failure and (outcome.failures or outcome.unsolved_fails):
            outcome.status = "failed"
            return
        before, start, calls = outcome.n_frames, time.perf_counter(), calls + 1
        going = step_on(keeper.frames_to_grain(outcome.n_frames) if keeper.is_due else schedule.n_frames)
        if calls == _TELLING_CALL:
            each = (time.perf_counter() - start) / max(outcome.n_frames - before, 1)
            _finish_kernels(each * (schedule.n_frames + 1 - outcome.n_frames))
    if stop_at_failure and (outcome.failures or outcome.unsolved_fails):
        outcome.status = "failed"
    elif outcome.n_frames <= schedule.n_frames:
        seconds = (time.perf_counter() - clock) / max(outcome.n_frames - outcome.first_frame, 1)
        _keep_last(seconds, schedule.n_frames, keeper, outcome, step_on)
        if outcome.n_frames % keeper.grain == 0:
            keeper.take(outcome.counts, state)
        if outcome.n_frames <= schedule.n_frames:
            outcome.status = "stopped"


def _finish_kernels(seconds: float) -> None:
    """Let a run that goes on for so long [s] read what it has compiled: a kernel is finished where it is kept."""
    if seconds > READING_PAYS:
        from simcli.kernels.device.runtime import read_compiled

        read_compiled()


def _keep_last(seconds: float, n_frames: int, keeper, outcome: Outcome, step_on: Callable[[int], bool]) -> None:
    """Step to the next frame that ends a commit, if it is near by the time of a frame: only there can a run go on."""
    if keeper.frames_to_grain(outcome.n_frames) * seconds < LAST_SECONDS:
        while outcome.n_frames % keeper.grain and outcome.n_frames <= n_frames:
            step_on(keeper.frames_to_grain(outcome.n_frames))


def note_events(job: Job, outcome: Outcome, events: list[Event]) -> None:
    """Take events into what a run comes to: failures, warnings, and worlds that are not to be trusted."""
    outcome.failures += failures_among(events, job)
    outcome.untrusted += _told([event for event in events if event.code in UNTRUSTED], job)
    outcome.warnings += warnings_among(events)


def ends_among(events: list[Event]) -> dict[int, int]:
    """Steps at which worlds ended, by the world of the run."""
    return {event.world: event.step for event in events if event.severity >= _ERROR or event.code == MET}


def failures_among(events: list[Event], job: Job) -> list[Failure]:
    """Failures among events, as they came; worlds have their numbers in the batch."""
    return _told([event for event in events if event.severity >= _ERROR], job)


def _told(events: list[Event], job: Job) -> list[Failure]:
    model = job.model
    return [
        Failure(
            world=job.numbers[event.world] if event.world >= 0 else event.world,
            step=event.step,
            time=event.time,
            code=event.code,
            body=model.bodies.name[event.body] if event.body >= 0 else "",
            joint=model.joints.name[event.joint] if event.joint >= 0 else "",
            text=event.text,
        )
        for event in sorted(events, key=lambda event: (event.step, event.world))
    ]


def warnings_among(events: list[Event]) -> Counter[str]:
    """Warnings among events, by code."""
    return Counter(event.code for event in events if event.severity == _WARNING)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
