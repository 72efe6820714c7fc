"""`simcli run --error-estimate`: the scene again at half and at a quarter of its step, beside the run that is kept.

The words and numbers of the estimate are here as well.
"""

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simcli import pipeline
from simcli.analysis.diff.refinement import step_for
from simcli.analysis.drift import ORDER_OF_INTEGRATOR
from simcli.cli import console, progress
from simcli.errors import OutputError, UsageError
from simcli.records.contents.measures import EstimateVerdict, add_error_estimate
from simcli.records.reading.reader import open_trajectory
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
    from simcli.analysis.diff.error_of_step import COMPARED

    if not job.channels & set(COMPARED):
        raise UsageError(f"{OPTION} compares frames, and `output.channels` has none of {', '.join(COMPARED)}")
    return Refinement(job, tuple(_finer(job, part) for part in _PARTS.values()))


def _finer(job: "Job", part: int) -> "Job":
    """The same job at a part of its step: without expectations, checkpoints to go on from, and what is not compared."""
    from simcli.analysis.diff.error_of_step import COMPARED

    step = Override(OPTION, repr(job.schedule.dt / part), "solver.dt")
    others = [one for one in job.request.sets if not (isinstance(one, Override) and one.path == step.path)]  # no --dt
    request = replace(
        job.request, sets=(*others, step), output=_folder(job.output) / f"{part}.h5", resume=False, force=job.request.force
    )
    finer = pipeline.prepare(request)
    spec = finer.spec.model_copy(update={"expect": []})
    return replace(finer, spec=spec, channels=finer.channels & set(COMPARED))


def _folder(output: Path) -> Path:
    """Where the files of finer runs stand for a while; of one name, so that the next run clears what a kill left."""
    return output.with_name(f".{output.name}.estimate")


def run_refined(
    refinement: Refinement, show: "Callable[[Tick], None]", goes_on: Callable[[], bool]
) -> "ErrorEstimate | None":
    """Run at the finer steps, compare, and add the estimate to the file of the run; leave nothing else behind.

    Args:
        refinement: of a run that has ended.
        show: sees every Tick.
        goes_on: False stops.

    Returns:
        The estimate, None if it was stopped.
    """
    with _cleared(_folder(refinement.job.output)):
        for words, job in zip(_PARTS, refinement.finer, strict=True):

            def watch(tick: "Tick", words: str = words) -> bool:
                show(replace(tick, stage=f"at {words} the step"))
                return goes_on()

            if pipeline.execute(job, watch).status == "stopped" or not goes_on():
                return None
        return _compared(refinement)


def _compared(refinement: Refinement) -> "ErrorEstimate":
    from simcli.analysis.diff.error_of_step import estimate_error

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


NOT_MADE = "  no estimate of the error: a run did not come to its end; the same command with --resume goes on"
_REASONS = {
    EstimateVerdict.IMPACTS: "cannot tell: shapes may touch, or a hard limit may be met",
    EstimateVerdict.IRREGULAR: "cannot tell: the differences follow no order",
    EstimateVerdict.SHORT: "cannot tell: the world ended before its second frame",
    EstimateVerdict.FAILED: "cannot tell: the world failed",
}


def refined_text(found: "ErrorEstimate", wanted: float | None) -> str:
    """The estimate as part of the summary of a run: of each quantity the world with the largest error."""
    differs = found.difference.any(axis=0) | (found.verdict == EstimateVerdict.SHORT).any(axis=0)
    rows = [_row(found, k, wanted) for k in np.flatnonzero(differs).tolist()]
    equal = [f"{found.channel[k]} [{found.unit[k]}]" for k in np.flatnonzero(~differs)]
    header = ("quantity", "error", "order", "difference", "where", *(["step wanted"] if wanted is not None else []))
    lines = [
        f"  error of the step of {found.dt:g} s, from runs at {found.dt / 2:g} and {found.dt / 4:g} s:",
        *([console.table(rows, header, indent="    ")] if rows else []),
    ]
    if equal:
        lines.append(f"    the same at all three steps: {', '.join(equal)}")
    reasons = dict.fromkeys(reason for reason in found.verdict.flat if not EstimateVerdict(reason).has_error)
    n_worlds = len(found.verdict)
    for reason in reasons:
        worlds = int((found.verdict == reason).any(axis=1).sum())
        among = f" (in {worlds} of {n_worlds} worlds)" if n_worlds > 1 else ""
        lines.append(console.paint(f"  {_REASONS[EstimateVerdict(reason)]}", "warn") + among)
    return "\n".join(lines)


def worst_world(found: "ErrorEstimate", k: int) -> int:
    """The world with the largest error of a quantity; if none has one, that with the largest difference."""
    errors = found.error[:, k]
    return int(np.nanargmax(errors if np.isfinite(errors).any() else found.difference[:, k]))


def _row(found: "ErrorEstimate", k: int, wanted: float | None) -> tuple[str, ...]:
    world = worst_world(found, k)
    unit, verdict, order = found.unit[k], EstimateVerdict(found.verdict[world, k]), found.order[world, k]
    if not verdict.has_error:
        error = "cannot tell"
    else:
        error = f"{'<= ' if verdict == EstimateVerdict.ROUNDING else ''}{found.error[world, k]:.2g} {unit}"
    place = f"{found.label[world, k]}, t = {found.time[world, k]:.6g} s"
    where = place + (f", world {world}" if len(found.error) > 1 else "")
    seen = "rounding" if verdict == EstimateVerdict.ROUNDING else f"{order:.1f}" if np.isfinite(order) else "-"
    row = (found.channel[k], error, seen, f"{found.difference[world, k]:.2g} {unit}", where)
    return row if wanted is None else (*row, _step_words(found, k, wanted))


def _step_words(found: "ErrorEstimate", k: int, wanted: float) -> str:
    step, floor = wanted_step(found, k, wanted)
    if step is not None:
        return f"{step:g} s"
    return "none: rounding" if floor else "-"


def wanted_step(found: "ErrorEstimate", k: int, wanted: float) -> tuple[float | None, bool]:
    """The step at which the error of a quantity is below what is wanted in all worlds, and whether rounding forbids it.

    None if a world has no estimate, or if no step reaches it.
    """
    verdicts, errors = found.verdict[:, k], found.error[:, k]
    rounding = verdicts == EstimateVerdict.ROUNDING
    if (rounding & (errors > wanted)).any():
        return None, True
    if not (rounding | (verdicts == EstimateVerdict.GOOD)).all():
        return None, False
    orders = np.where(np.isfinite(found.order[:, k]), found.order[:, k], ORDER_OF_INTEGRATOR[found.integrator])
    good = zip(errors[~rounding], orders[~rounding], strict=True)
    return min([found.dt, *(step_for(wanted, error, order, found.dt) for error, order in good)]), False


def estimate_json(found: "ErrorEstimate", wanted: float | None) -> dict[str, Any]:
    """All of it as the document of `run --json`; of each quantity the worst world; the file has all of them."""
    return {
        "dt": found.dt,
        "integrator": found.integrator,
        "wanted": wanted,
        "channels": [_channel(found, k, wanted) for k in range(len(found.channel))],
    }


def _channel(found: "ErrorEstimate", k: int, wanted: float | None) -> dict[str, Any]:
    world = worst_world(found, k)
    columns = ("difference", "finer_difference", "order", "error", "time", "label", "verdict")
    document = {
        "channel": found.channel[k],
        "unit": found.unit[k],
        "world": world,
        **{name: getattr(found, name)[world, k] for name in columns},
        "worlds_by_verdict": Counter(found.verdict[:, k].tolist()),
    }
    return document if wanted is None else document | {"step_wanted": wanted_step(found, k, wanted)[0]}
