"""`simcli run`: a scene to a trajectory."""

import sys
from enum import StrEnum
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simcli.cli import console
from simcli.cli.options import (
    JsonFlag,
    MeasureValues,
    ScenePath,
    Seed,
    SelectPatterns,
    SetValues,
    VaryTable,
    VaryValues,
    WorldCount,
    parse_worlds,
    seconds,
    split_words,
)
from simcli.errors import Exit, SimcliError, UsageError

if TYPE_CHECKING:
    from simcli.records.contents.error_estimate import ErrorEstimate
    from simcli.spec.document.overrides import Override


class Device(StrEnum):
    """Where to compute."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"
    VULKAN = "vulkan"
    METAL = "metal"


class Precision(StrEnum):
    """Floating point numbers of the solver."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"


class OnFailure(StrEnum):
    """What a failed world does to the others."""

    ISOLATE = "isolate"
    STOP = "stop"


class SolverType(StrEnum):
    """Ways to move a scene."""

    GENERALIZED = "generalized"
    MAXIMAL = "maximal"
    NATURAL = "natural"
    AFFINE = "affine"


def run(
    scene: ScenePath,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="HDF5 file to write.", show_default="outputs/NAME.h5")
    ] = None,
    sets: SetValues = [],  # noqa: B006  (Typer copies it)
    vary: VaryValues = [],  # noqa: B006
    vary_table: VaryTable = None,
    measure: MeasureValues = [],  # noqa: B006
    worlds: WorldCount = None,
    seed: Seed = None,
    duration: Annotated[str | None, typer.Option("--duration", metavar="T", help="Simulated time, 5 or '5 s'.")] = None,
    dt: Annotated[str | None, typer.Option("--dt", metavar="T", help="Step, 1e-3 or '1 ms'.")] = None,
    solver: Annotated[SolverType | None, typer.Option("--solver", help="Solver, instead of the scene's.")] = None,
    select: SelectPatterns = [],  # noqa: B006
    device: Annotated[Device, typer.Option("--device", help="Where to compute.")] = Device.AUTO,
    precision: Annotated[Precision | None, typer.Option("--precision", help="Instead of the scene's.")] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", metavar="N", min=1, help="CPU threads. Default: all.")
    ] = None,
    world: Annotated[
        str | None, typer.Option("--world", metavar="I,J", help="Only these worlds of the batch, as 3 or 0,4 or 0-7.")
    ] = None,
    on_failure: Annotated[
        OnFailure | None, typer.Option("--on-failure", help="A failed world: freeze it alone, or stop the run.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an unfinished output, to the bytes of an uninterrupted run.")
    ] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Begin an unfinished output anew.")] = False,
    checkpoint_every: Annotated[
        str | None,
        typer.Option(
            "--checkpoint-every", metavar="T", help="Wall time between checkpoints, '10 min'. Default: 1 min.",
            show_default=False,
        ),
    ] = None,
    error_estimate: Annotated[
        bool,
        typer.Option(
            "--error-estimate",
            help="Run again at half and a quarter of the step; say the error of each quantity. Seven times the steps.",
        ),
    ] = False,
    wanted: Annotated[
        float | None,
        typer.Option("--wanted", metavar="E", help="With --error-estimate: the step for an error of E, in SI units."),
    ] = None,
    view: Annotated[
        bool, typer.Option("--view", help="Say the address of a page, on this machine, that grows with the run.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run and how large it gets.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing output.")] = False,
    json: JsonFlag = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
    verbose: Annotated[int, typer.Option("--verbose", "-v", count=True, show_default=False, help="Say more.")] = 0,
) -> int:
    """Run a scene and write its trajectory.

    Example: simcli run scenes/double_pendulum.yaml --worlds 1000 --vary "joints.elbow.q=uniform(0, 1)"
    """
    from simcli import pipeline

    if resume and (restart or force):
        raise UsageError(f"--resume and {'--restart' if restart else '--force'} contradict each other")
    if wanted is not None and not (error_estimate and 0 < wanted < float("inf")):
        raise UsageError("--wanted is an error above 0, in SI units, as 1e-6; it goes with --error-estimate")
    options = {
        "--duration": ("run.duration", duration),
        "--dt": ("solver.dt", dt),
        "--solver": ("solver.type", solver),
        "--precision": ("solver.precision", precision),
        "--on-failure": ("run.on_failure", on_failure),
        "--select": ("output.select", dumps(split_words(select)) if select else None),
    }
    request = pipeline.Request(
        scene=scene,
        output=output,
        sets=(*overrides(options), *batch_overrides(vary, vary_table, worlds, seed),
              *(measure_override(text) for text in measure), *sets),
        device=device.value,
        threads=threads,
        worlds=None if world is None else tuple(sorted(set(parse_worlds(world)))),
        force=force or restart,
        resume=resume,
        checkpoint_every=None if checkpoint_every is None else seconds("--checkpoint-every", checkpoint_every),
        argv=("simcli", *sys.argv[1:]),
    )
    if dry_run:
        return _dry_run(request, json, error_estimate)
    return _run(request, quiet, verbose, json, view, (error_estimate, wanted))


def overrides(options: dict[str, tuple[str, object]]) -> "list[Override]":
    """The options that were given, as overrides of the document: they get the same checks as the scene itself.

    Args:
        options: option to the path that it stands for and its value, None if it was not given.
    """
    from simcli.spec.document.overrides import Override

    return [Override(option, str(value), path) for option, (path, value) in options.items() if value is not None]


def batch_overrides(vary: list[str], table: Path | None, worlds: int | None, seed: int | None) -> "list[Override]":
    """What the options of the batch put into a scene.

    Raises:
        UsageError: a `--vary` is none.
    """
    from simcli.spec.document.overrides import VARY_TABLE, Override

    rows = [] if table is None else [Override(VARY_TABLE, str(table))]
    counts = overrides({"--worlds": ("batch.worlds", worlds), "--seed": ("batch.seed", seed)})
    return [*rows, *counts, *map(vary_override, vary)]


def vary_override(text: str) -> "Override":
    """`K=0.1,0.2` or `K=uniform(0, 1)` as an override of `batch.vary`.

    Raises:
        UsageError: there is no `=`, no key or no values.
    """
    from simcli.spec.document.overrides import VARY, Override

    key, equals, values = text.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise UsageError(f"--vary {text}: write KEY=0.1,0.2 or KEY=uniform(0, 1)")
    return Override(VARY, text)


def measure_override(text: str) -> "Override":
    """`NAME=REDUCTION:QUANTITY`, or `NAME={...}` as in a scene, as an override of `measure`.

    Raises:
        UsageError: there is no name, or no reduction.
    """
    from simcli.spec.document.overrides import Override

    name, equals, rest = (part.strip() for part in text.partition("="))
    reduction, colon, quantity = (part.strip() for part in rest.partition(":"))
    if not name or not equals or not (rest.startswith("{") or (reduction and colon and quantity)):
        raise UsageError(f"--measure {text}: write NAME=REDUCTION:QUANTITY, as peak=max_abs:joint.pin.effort")
    value = rest if rest.startswith("{") else f"{{{reduction}: {quantity}}}"
    return Override("--measure", value, f"measure.{name}")


def _dry_run(request, as_json: bool, refined: bool) -> int:
    from simcli import pipeline
    from simcli.analysis.estimate import estimate, free_bytes
    from simcli.cli.runs import refined_runs, summary

    job = pipeline.prepare(request)
    finer = refined_runs.refinement_of(job).finer if refined else ()
    found = {**estimate(job.spec, job.model, job.schedule, job.channels), "output": job.output,
             "steps_for_error_estimate": sum(one.schedule.n_steps for one in finer),
             "free_bytes": free_bytes(job.output)}  # fmt: skip
    if as_json:
        console.emit("run.estimate", found)
    else:
        console.data(summary.estimate_text(found))
    return Exit.OK


def _run(request, quiet: bool, verbose: int, as_json: bool, view: bool, asked: tuple[bool, float | None]) -> int:
    from simcli import pipeline
    from simcli.cli import interrupts, progress
    from simcli.cli.runs import refined_runs, refined_text, summary
    from simcli.cli.runs.live_view import LiveView

    with console.stdout_kept_clean(verbose > 0), interrupts.caught() as interrupt:
        with progress.shown(quiet or as_json) as show, LiveView(view) as page:

            def watch(tick) -> bool:
                show(tick)
                page.see(tick, job.output)
                interrupt.enter(tick.stage)
                return interrupt.code is None

            job = pipeline.prepare(request)
            refinement = refined_runs.refinement_of(job) if asked[0] else None
            if verbose:
                console.say(summary.job_text(job))
            if not quiet and (text := summary.start_text(job.model, verbose)):
                console.say(text)
            outcome = pipeline.execute(job, watch)
            found, trouble = _refined(refinement, outcome, show, interrupt)
        code = exit_code(outcome, interrupt.code, refinement is not None and found is None)
        if not quiet:
            console.say(summary.outcome_text(outcome, summary.solver_text(job), verbose))
            if refinement:
                console.say(refined_text.estimate_text(found, asked[1]) if found else refined_text.NOT_MADE)
        elif trouble is None:
            if outcome.unsolved:
                console.say(summary.unsolved_line(outcome))
            if code != Exit.OK and not (code == Exit.SIMULATION and not outcome.failures):
                console.say(summary.problem_line(outcome, code))
        if trouble is not None:  # the run itself is whole, and has been told
            raise trouble
        if as_json:
            console.emit("run", {"exit_code": int(code), **summary.outcome_json(outcome), "solver": job.spec.solver.type,
                                 "integrator": job.spec.solver.integrator,
                                 **({"error_estimate": found and refined_text.estimate_json(found, asked[1])}
                                    if refinement else {}),
                                 "moved_at_start": summary.start_json(job.model)})  # fmt: skip
    return code


def _refined(refinement, outcome, show, interrupt) -> "tuple[ErrorEstimate | None, SimcliError | None]":
    """The estimate of the error of a run that has ended, if one is wanted; else why there is none, if that is an error."""
    from simcli.cli.runs import refined_runs

    if refinement is None or outcome.status != "done":
        return None, None
    try:
        return refined_runs.run_refined(refinement, show, lambda: interrupt.code is None), None
    except SimcliError as error:
        return None, error


def exit_code(outcome, interrupted: int | None, cut_short: bool = False) -> int:
    """Exit code of a run: an interrupt beats failed worlds and steps, these beat failed expectations."""
    if interrupted is not None and (outcome.status == "stopped" or cut_short):
        return interrupted
    if outcome.failures or outcome.unsolved_fails:
        return Exit.SIMULATION
    if not all(verdict.passed for verdict in outcome.verdicts):
        return Exit.NEGATIVE
    return Exit.OK
