"""`simcli run`: a scene to a trajectory, with `--view` and a page that grows with the run."""

import sys
import time
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.cli import console
from simcli.cli.options import (
    FixInertia,
    JsonFlag,
    MeasureValues,
    PackagePath,
    Replace,
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
from simcli.cli.process import leaves_at_once
from simcli.cli.runs import run_options
from simcli.cli.runs.run_options import batch_overrides, measure_override, overrides
from simcli.cli.scene_sources import say_imported
from simcli.errors import Exit, OutputError, SimcliError, UsageError

if TYPE_CHECKING:
    from simcli.records.contents.measures import ErrorEstimate
    from simcli.spec.document.overrides import Override
    from simcli.view.page.live import LiveProcess


class LiveView:
    """Shows a run from its first frames on, if that is wanted.

    Args:
        wanted: whether it is.
    """

    def __init__(self, wanted: bool):
        self._wanted = wanted
        self._process: LiveProcess | None = None

    def __enter__(self) -> "LiveView":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.close()

    def end(self, outcome) -> None:
        """Say where to look if there was no page: a run in parts has its file when all of them are done."""
        if self._wanted and outcome.sub_batches:
            console.say(f"view: a run in parts has no page before its end: simcli view {outcome.output}")

    def see(self, tick, output: Path) -> None:
        """Begin as soon as the file of this run stands at its name, where an older one may be; in parts to the end."""
        if self._wanted and not self._process and tick.steps and not tick.in_sub_batches and output.exists():
            from simcli.view.page.live import LiveProcess

            try:
                self._process = LiveProcess(output)
            except OutputError as error:  # the run goes on all the same
                self._wanted = False
                console.warn(str(error))
            else:
                console.say(f"view: {self._process.address}")


def run(
    scene: ScenePath,
    output: run_options.RunFile = None,
    sets: SetValues = [],  # noqa: B006  (Typer copies it)
    vary: VaryValues = [],  # noqa: B006
    vary_table: VaryTable = None,
    measure: MeasureValues = [],  # noqa: B006
    worlds: WorldCount = None,
    seed: Seed = None,
    duration: run_options.Duration = None,
    dt: run_options.StepLength = None,
    solver: run_options.SolverChoice = None,
    select: SelectPatterns = [],  # noqa: B006
    device: run_options.RunDevice = "auto",
    precision: run_options.PrecisionChoice = None,
    threads: run_options.RunThreads = None,
    world: run_options.OnlyWorlds = None,
    on_failure: run_options.FailureChoice = None,
    resume: run_options.Resume = False,
    restart: run_options.Restart = False,
    checkpoint_every: run_options.CheckpointTime = None,
    error_estimate: run_options.EstimateError = False,
    wanted: run_options.WantedError = None,
    view: run_options.LivePage = False,
    dry_run: run_options.DryRun = False,
    package_path: PackagePath = [],  # noqa: B006
    fix_inertia: FixInertia = False,
    force: Replace = False,
    json: JsonFlag = False,
    quiet: run_options.NoWords = False,
    verbose: run_options.Verbosity = 0,
) -> int:
    """Run a scene and write its trajectory.

    Example: simcli run scenes/double_pendulum.yaml --worlds 1000 --vary "joints.elbow.q=uniform(0, 1)"
    """
    from simcli.exchange.importing import import_overrides
    from simcli.pipeline import Request

    if resume and (restart or force):
        raise UsageError(f"--resume and {'--restart' if restart else '--force'} contradict each other")
    if wanted is not None and not (error_estimate and 0 < wanted < float("inf")):
        raise UsageError("--wanted is an error above 0, in SI units, as 1e-6; it goes with --error-estimate")
    changes = overrides(
        {
            "--duration": ("run.duration", duration),
            "--dt": ("solver.dt", dt),
            "--solver": ("solver.type", solver),
            "--precision": ("solver.precision", precision),
            "--on-failure": ("run.on_failure", on_failure),
            "--select": ("output.select", dumps(split_words("--select", select)) if select else None),
        }
    )
    reading = import_overrides(scene, package_path, fix_inertia)
    varied = batch_overrides(vary, vary_table, worlds, seed)
    laid: tuple[str | Override, ...] = (*reading, *changes, *varied, *map(measure_override, measure), *sets)
    request = Request(
        scene,
        output,
        laid,
        device,
        threads,
        force=force or restart,
        resume=resume,
        argv=("simcli", *sys.argv[1:]),
        worlds=None if world is None else tuple(sorted(set(parse_worlds(world)))),
        checkpoint_every=None if checkpoint_every is None else seconds("--checkpoint-every", checkpoint_every),
        leaves_at_once=leaves_at_once(),
    )
    if dry_run:
        return _dry_run(request, json, error_estimate)
    return _run(request, quiet, verbose, json, view, (error_estimate, wanted))


def _dry_run(request, as_json: bool, refined: bool) -> int:
    from simcli import pipeline
    from simcli.analysis.estimate import estimate, free_bytes
    from simcli.cli.runs import refined_runs, summary
    from simcli.records.contents.provenance import kept_bytes
    from simcli.spec.batches.sample_files import file_contents

    begun = time.perf_counter()
    job = pipeline.prepare(request)
    preparation = time.perf_counter() - begun
    finer = refined_runs.refinement_of(job).finer if refined else ()
    told = estimate(job.spec, job.model, job.schedule, job.channels, job.resolved)
    found = {
        **told,
        "file_bytes": told["file_bytes"] + kept_bytes(file_contents(job.document, job.spec).values()),
        "output": job.output,
        "steps_for_error_estimate": sum(one.schedule.n_steps for one in finer),
        "free_bytes": free_bytes(job.output),
        "preparation_seconds": preparation,
    }
    if as_json:
        console.emit("run.estimate", found)
    else:
        console.data(summary.estimate_text(found))
    return Exit.OK


def _announce(job, is_quiet: bool, verbose: int) -> None:
    """Say what is about to run, and what may be meant otherwise."""
    from simcli.cli.runs import summary

    for text in () if is_quiet else summary.notes_of_scene(job):
        console.note(text)
    if verbose:
        console.say(summary.job_text(job))


def _run(request, quiet: bool, verbose: int, as_json: bool, view: bool, asked: tuple[bool, float | None]) -> int:
    from simcli import pipeline
    from simcli.cli import interrupts, progress
    from simcli.cli.runs import refined_runs, summary

    with console.stdout_kept_clean(verbose > 0), interrupts.caught() as interrupt:
        with progress.shown(quiet or as_json) as show, LiveView(view) as page:

            def watch(tick) -> bool:
                show(tick)
                page.see(tick, job.output)
                interrupt.enter(tick.stage)
                return interrupt.code is None

            job = pipeline.prepare(request)
            refinement = refined_runs.refinement_of(job) if asked[0] else None
            _announce(job, quiet or as_json, verbose)
            if not quiet:
                _say_beginning(job, verbose)
            outcome = pipeline.execute(job, watch)
            page.end(outcome)
            found, trouble = _refined(refinement, outcome, show, interrupt)
        code = exit_code(outcome, interrupt.code, refinement is not None and found is None)
        if not quiet:
            console.say(summary.outcome_text(outcome, summary.solver_text(job), verbose))
            if refinement:
                console.say(refined_runs.refined_text(found, asked[1]) if found else refined_runs.NOT_MADE)
        elif trouble is None:
            if outcome.unsolved:
                console.say(summary.unsolved_line(outcome))
            for line in summary.untrusted_lines(outcome, len(outcome.untrusted)):
                console.say(line)
            if code != Exit.OK and not (code == Exit.SIMULATION and not outcome.failures):
                console.say(summary.problem_line(outcome, code))
        if trouble is not None:  # the run itself is whole, and has been told
            raise trouble
        if as_json:
            console.emit(
                "run",
                {
                    "exit_code": int(code),
                    **summary.outcome_json(outcome),
                    "solver": job.spec.solver.type,
                    "integrator": job.spec.solver.integrator,
                    **({"error_estimate": found and refined_runs.estimate_json(found, asked[1])} if refinement else {}),
                    "moved_at_start": summary.start_json(job.model),
                },
            )
    return code


def _say_beginning(job, verbose: int) -> None:
    """What is to be known of a run before its first step."""
    from simcli.cli.runs import summary
    from simcli.model.closure.begin import FORK_HINT
    from simcli.model.constraints.gimbals import ADVICE, locks_at_start
    from simcli.model.constraints.stiff_damping import stiff_text

    say_imported(job.document, job.request.scene)
    if text := summary.start_text(job.model, verbose):
        console.say(text)
    for fork in job.model.start.forks[: summary.MOST_WORLDS]:
        console.warn(f"{fork.text}; {FORK_HINT}: simcli explain SC621")
    trouble, advice = stiff_text(job.model, job.spec.solver)
    if trouble:
        console.warn(f"{trouble}; {advice}: simcli explain SC620")
    for lock in locks_at_start(job.model, job.spec.solver):
        console.warn(f"{lock.text(job.model.n_worlds)}; {ADVICE}: simcli explain SC640")


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
    if outcome.failures or outcome.untrusted or outcome.unsolved_fails:
        return Exit.SIMULATION
    if not all(verdict.passed for verdict in outcome.verdicts):
        return Exit.NEGATIVE
    return Exit.OK
