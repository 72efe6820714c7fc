"""`simcli run --error-estimate`: the scene again at half and at a quarter of its step, beside the run that is kept."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.cli import progress
from simcli.errors import OutputError, UsageError
from simcli.spec.document.overrides import Override

if TYPE_CHECKING:
    from simcli.job import Job, Tick
    from simcli.records.contents.measures import ErrorEstimate

OPTION = "--error-estimate"
_PARTS = {"half": 2, "a quarter of": 4}  # of the step, in words


@dataclass(frozen=True)
class Refinement:
    """The runs at finer steps, read and checked before the first step of any.

    Attributes:
        job: the run that is kept.
        finer: the others, with outputs of their own.
    """

    job: "Job"
    finer: "tuple[Job, ...]"


def refinement_of(job: "Job") -> Refinement:
    """Prepare the runs at finer steps.

    Raises:
        UsageError: nothing is recorded that could be compared.
        SceneError: the scene does not hold at a finer step.
    """
    from simcli.analysis.refinement.estimate import COMPARED

    if not job.channels & set(COMPARED):
        raise UsageError(f"{OPTION} compares frames, and `output.channels` has none of {', '.join(COMPARED)}")
    return Refinement(job, tuple(_finer(job, part) for part in _PARTS.values()))


def _finer(job: "Job", part: int) -> "Job":
    """The same job at a part of its step: without expectations, checkpoints to go on from, and what is not compared."""
    from simcli import pipeline
    from simcli.analysis.refinement.estimate import COMPARED

    step = Override(OPTION, repr(job.schedule.dt / part), "solver.dt")
    others = [one for one in job.request.sets if not (isinstance(one, Override) and one.path == step.path)]  # no --dt
    request = replace(job.request, sets=(*others, step), output=_folder(job.output) / f"{part}.h5", resume=False,
                      force=job.request.force)  # fmt: skip
    finer = pipeline.prepare(request)
    spec = finer.spec.model_copy(update={"expect": []})
    return replace(finer, spec=spec, channels=finer.channels & set(COMPARED))


def _folder(output: Path) -> Path:
    """Where the files of finer runs stand for a while; of one name, so that the next run clears what a kill left."""
    return output.with_name(f".{output.name}.estimate")


def run_refined(refinement: Refinement, show: "Callable[[Tick], None]",
                goes_on: Callable[[], bool]) -> "ErrorEstimate | None":  # fmt: skip
    """Run at the finer steps, compare, and add the estimate to the file of the run; leave nothing else behind.

    Args:
        refinement: of a run that has ended.
        show: sees every Tick.
        goes_on: False stops.

    Returns:
        The estimate, None if it was stopped.
    """
    from simcli import pipeline

    with _cleared(_folder(refinement.job.output)):
        for words, job in zip(_PARTS, refinement.finer, strict=True):

            def watch(tick: "Tick", words: str = words) -> bool:
                show(replace(tick, stage=f"at {words} the step"))
                return goes_on()

            if pipeline.execute(job, watch).status == "stopped" or not goes_on():
                return None
        return _compared(refinement)


def _compared(refinement: Refinement) -> "ErrorEstimate":
    from simcli.analysis.refinement.estimate import estimate_error
    from simcli.records.contents.measures import add_error_estimate
    from simcli.records.reading.reader import open_trajectory

    job = refinement.job
    models = [job.model, *(phase.model for phase in job.phases)]
    with contextlib.ExitStack() as files, progress.fraction_shown("comparing steps") as seen:
        runs = [files.enter_context(open_trajectory(one.output)) for one in (job, *refinement.finer)]
        found = estimate_error(runs, models, job.spec.solver.integrator, job.schedule.dt, seen)
    try:
        add_error_estimate(job.output, found)
    except OSError as error:
        raise OutputError(f"{job.output}: the estimate of the error cannot be written into it: {error}") from error
    return found


@contextlib.contextmanager
def _cleared(folder: Path) -> Iterator[None]:
    """A folder that is there within the block only, and empty when it begins.

    Raises:
        OutputError: it cannot be made.
    """
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise OutputError(f"{folder}: the finer runs of {OPTION} cannot be written here: {error.strerror}") from error
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
