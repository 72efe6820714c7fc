"""A run whose worlds the memory of its device does not hold at once: parts of the batch, one after another, in one file."""

import gc
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from simcli.errors import OutputError
from simcli.job import Job, Outcome, Tick, Watch
from simcli.model.snapshot import Event
from simcli.pipeline.execution import execute, outcome_in_file
from simcli.pipeline.preparation import claim_space, prepare
from simcli.pipeline.stepping import unsolved_among

_PLAN = "plan.json"  # of a folder of parts: worlds of each, and what was asked for
_OF_START = ("SC616", "SC621")  # events that say how worlds begin
_OF_WORST = ("SC611", "SC633")  # events of what is worst in a run, by their value
_TICKS = 1000  # of the joining, at most


def execute_sub_batches(job: Job, n_fit: int, watch: Watch) -> Outcome:
    """Run parts of a job, and write their worlds as the run that was asked for.

    Files of parts stand in a folder beside the output until all of them are there. If one is stopped they stay, and the same
    request with `resume` goes on.

    Args:
        job: with more worlds than fit.
        n_fit: worlds of a part.
        watch: sees every Tick, with frames and steps of all parts; its False stops the run.

    Returns:
        Of all parts; of the one that was stopped, if one was.

    Raises:
        OutputError: the folder cannot be made or holds parts of another run, or the output cannot be written, or another
            process writes it.
        DeviceError: not so many worlds fit after all.
    """
    numbers, folder = list(job.numbers), sub_batches_folder(job.output)
    size = -(-len(numbers) // -(-len(numbers) // n_fit))  # as many parts as must be, of one size but for the last
    parts = [tuple(numbers[first : first + size]) for first in range(0, len(numbers), size)]
    sizes = tuple(map(len, parts))
    outcomes: list[Outcome] = []
    with _locked(job.output):
        _make(folder, job, size)
        for k, worlds in enumerate(parts):
            seen = _SubBatchWatch(watch, job, sum(sizes[:k]))
            gc.collect()  # what a solver holds of the device is in cycles
            outcomes.append(execute(_part(job, worlds, folder), seen))
            if outcomes[-1].status != "done" or (not seen.goes_on and k + 1 < len(parts)):
                return replace(outcomes[-1], status="stopped", sub_batches=sizes)
        if not _join(job, outcomes, watch):
            return replace(outcomes[-1], status="stopped", sub_batches=sizes)
        shutil.rmtree(folder, ignore_errors=True)
        return _total(job, outcomes, sizes)


@contextmanager
def _locked(output: Path) -> Iterator[None]:
    """Be the only writer of an output, and remove the drafts of one that was killed."""
    from simcli.records.lock import WriterLock, remove_drafts

    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{output}: cannot make its folder: {error.strerror}") from error
    lock = WriterLock(output)
    try:
        remove_drafts(output)
        yield
    finally:
        lock.release()


def sub_batches_folder(output: Path) -> Path:
    """Where the files of parts stand for a while."""
    return output.with_name(f".{output.name}.parts")


def whole_of_sub_batches(folder: Path) -> Path:
    """The output whose `sub_batches_folder` it is."""
    return folder.with_name(folder.name.removeprefix(".").removesuffix(".parts"))


def planned_size(job: Job) -> int:
    """Worlds of a part of an unfinished run that a request goes on with, 0 if there is none.

    A file at the output that is older is one that the unfinished run may replace.

    Raises:
        OutputError: its parts were run on another device, or are of other worlds; or its plan is damaged.
    """
    folder = sub_batches_folder(job.output)
    if not job.request.resume or not folder.exists() or _is_older(folder / _PLAN, job.output):
        return 0
    try:
        found = json.loads((folder / _PLAN).read_text(encoding="utf-8"))
        size, asked = int(found["size"]), {name: found[name] for name in _asked(job)}
    except (OSError, ValueError, KeyError, TypeError):
        size, asked = 0, {}
    if size <= 0:
        raise OutputError(f"{folder}: its {_PLAN} is damaged; start again with --restart")
    for name, value in _asked(job).items():
        if asked[name] != value:
            raise OutputError(
                f"{folder}: has parts of a run with a different --{name}; use the same value, or start again with --restart"
            )
    return size


def _is_older(plan: Path, output: Path) -> bool:
    return plan.exists() and output.exists() and plan.stat().st_mtime < output.stat().st_mtime


def _asked(job: Job) -> dict[str, object]:
    """What parts have in common with a request that goes on with them, by its option; their files know the scene."""
    return {"device": job.request.device, "world": None if job.request.worlds is None else list(job.request.worlds)}


def _make(folder: Path, job: Job, size: int) -> None:
    if folder.exists() and not (job.request.resume or job.request.force):
        raise OutputError(
            f"{folder}: holds parts of an unfinished run; add --resume to continue it, --restart to begin anew"
        )
    if not job.request.resume:
        claim_space(job, in_sub_batches=True)
    try:
        if not job.request.resume:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _PLAN).write_text(json.dumps({"size": size, **_asked(job)}), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{folder}: the parts of the run cannot be written here: {error.strerror}") from error


def _part(job: Job, worlds: tuple[int, ...], folder: Path) -> Job:
    """The job of some worlds; worlds that cannot begin are failed ones, as in the whole."""
    output = folder / f"{worlds[0]}-{worlds[-1]}.h5"
    return prepare(replace(job.request, worlds=worlds, output=output, tries_all=True, resume=True))


class _SubBatchWatch:
    """Sees the Ticks of a part as those of the whole run, of which a part is so many frames as it has worlds.

    Args:
        watch: of the whole run.
        job: likewise.
        before: worlds of the parts before it.

    Attributes:
        goes_on: whether the watch has not said stop.
    """

    def __init__(self, watch: Watch, job: Job, before: int):
        self._watch, self.goes_on = watch, True
        self._n_steps, self._n_worlds, self._before = job.schedule.n_steps, len(job.numbers), before

    def __call__(self, tick: Tick) -> bool:
        steps = self._n_steps * self._before + tick.steps
        frames = tick.n_frames * steps // max(self._n_steps * self._n_worlds, 1)
        self.goes_on = self._watch(replace(tick, frames=frames, steps=steps, in_sub_batches=True)) and self.goes_on
        return self.goes_on


class _JoinStoppedError(Exception):
    """The watch has said stop."""


def _join(job: Job, outcomes: Sequence[Outcome], watch: Watch) -> bool:
    """Write the worlds of all parts as the run that was asked for; False if that was stopped, and nothing was written."""
    from simcli.analysis.export.run_parts import write_run_of_parts
    from simcli.records.reading.reader import open_trajectory

    n_bytes = _claim_room(job, outcomes)
    n_steps = job.schedule.n_steps
    now = Tick("joining", 0, _TICKS, n_steps * job.schedule.dt, n_steps * len(job.numbers), 0.0, 0, in_sub_batches=True)

    def see(part: float) -> None:
        if not watch(replace(now, frames=int(part * _TICKS), n_bytes=int(part * n_bytes))):
            raise _JoinStoppedError

    try:
        see(0.0)
        with ExitStack() as stack:
            runs = [stack.enter_context(open_trajectory(outcome.output)) for outcome in outcomes]
            write_run_of_parts(runs, job.output, job.request.worlds, see, lambda events: _retold(job, events))
    except _JoinStoppedError:
        return False
    except OutputError as error:
        raise OutputError(f"{error}. {_way_on(job)}") from error
    return True


def _claim_room(job: Job, outcomes: Sequence[Outcome]) -> int:
    """Refuse to join parts where there is no room for the file of all, unless `force` is given; [B], what it takes."""
    from simcli.analysis.estimate import free_bytes

    needed, free = sum(outcome.output.stat().st_size for outcome in outcomes), free_bytes(job.output)
    if needed > free and not job.request.force:
        wanted, there, missing = (f"{size / 1e9:.3g} GB" for size in (needed, free, needed - free))
        raise OutputError(
            f"{job.output}: its {len(outcomes)} parts are done, and to join them takes about {wanted} more; "
            f"{there} are free there, {missing} are missing. {_way_on(job)}"
        )
    return needed


def _way_on(job: Job) -> str:
    return f"Make room; then the same command with --resume joins the parts, which stay in {sub_batches_folder(job.output)}"


def _retold(job: Job, events: list[Event]) -> list[Event]:
    """The events of a run out of those of its parts, world by world: what a run tells once is told once.

    What was moved farthest or is worst of all worlds is that of its part, too, so that each event keeps its place.
    """
    from simcli.solvers.output.contact_report import worst_event
    from simcli.solvers.run.world_events import start_events

    starts = {(event.code, event.world, event.joint): event for event in start_events(job.model) if event.code in _OF_START}
    worst = {
        code: max((event for event in events if event.code == code), key=lambda event: event.value, default=None)
        for code in _OF_WORST
    }
    found = []
    for event in events:
        if event.code in _OF_START:
            key = event.code, event.world, event.joint
            found += [starts[key]] if key in starts else []
        elif not event.is_summary and worst.get(event.code, event) is event:
            found.append(event)
    unsolved = unsolved_among(events)
    return [*found, worst_event(unsolved)] if unsolved else found


def _total(job: Job, outcomes: list[Outcome], sizes: tuple[int, ...]) -> Outcome:
    """What all parts came to: what the file says, and the times and kernels of the parts."""
    total = outcome_in_file(job)
    total.sub_batches, total.device = sizes, outcomes[0].device
    total.compile, total.stepping = (sum(getattr(one, name) for one in outcomes) for name in ("compile", "stepping"))
    drifts = [one.drift for one in outcomes if one.drift]
    total.drift = max(drifts, key=lambda one: (one.is_gain, one.part), default=None)
    total.kernels_compiled = [name for one in outcomes for name in one.kernels_compiled]
    total.kernels_from_cache = [name for one in outcomes for name in one.kernels_from_cache]
    total.problem = next((one.problem for one in outcomes if one.problem), "")
    return total
