"""`simcli optimize`: the numbers of a scene for which a measure is least or largest."""

import math
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simcli.cli import console
from simcli.cli.console import in_unit, set_line
from simcli.cli.options import JsonFlag, ScenePath, SetValues, folder_to_write, output_option
from simcli.cli.sweeps.searching import (
    DeviceOption,
    MeasureTexts,
    Quiet,
    SearchThreads,
    Vary,
    all_sets,
    headed,
    interval_data,
    say_without,
    watched,
)
from simcli.errors import Exit, SceneError, UsageError

if TYPE_CHECKING:
    from simcli.search.optimizing import Optimum

GENERATIONS, EVALUATIONS, _TOLERANCE, _SEED = 200, 1_000_000, 1e-6, 1
BEST = "best.yaml"

_Minimize = Annotated[
    str | None,
    typer.Option(
        "--minimize", metavar="EXPRESSION", help="Measure, or arithmetic of some: '{measure.a} + 2 * {measure.b}'."
    ),
]
_Maximize = Annotated[str | None, typer.Option("--maximize", metavar="EXPRESSION", help="Likewise, for the largest.")]
_Generations = Annotated[int, typer.Option("--generations", metavar="N", min=1, help="Most generations.")]
_Evaluations = Annotated[int, typer.Option("--evaluations", metavar="N", min=1, help="Most worlds.")]
_Tolerance = Annotated[
    float,
    typer.Option(
        "--tolerance",
        metavar="R",
        min=1e-15,
        max=0.1,
        help="Spread of a generation, as a part of the intervals, at which the search ends.",
    ),
]
_Population = Annotated[
    int | None, typer.Option("--population", metavar="N", min=4, help="Worlds of a generation.", show_default="16 or more")
]
_SearchSeed = Annotated[int, typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="Seed of the search.")]
_SearchFolder = Annotated[
    Path | None,
    output_option(
        "Folder for every generation and the best scene; the same command then goes on after a stop.",
        folder_to_write,
        "DIR",
        show_default=False,
    ),
]


def optimize(
    scene: ScenePath,
    vary: Vary,
    minimize: _Minimize = None,
    maximize: _Maximize = None,
    generations: _Generations = GENERATIONS,
    evaluations: _Evaluations = EVALUATIONS,
    tolerance: _Tolerance = _TOLERANCE,
    population: _Population = None,
    seed: _SearchSeed = _SEED,
    measure: MeasureTexts = [],  # noqa: B006
    sets: SetValues = [],  # noqa: B006
    output: _SearchFolder = None,
    device: DeviceOption = "auto",
    threads: SearchThreads = None,
    json: JsonFlag = False,
    quiet: Quiet = False,
) -> int:
    r"""Find the numbers for which a measure is least or largest (CMA-ES).

    Each generation runs as one batch; worlds that fail count as worst. With -o a search that was stopped goes on,
    and ends with the bits of one that was not. Needs cma: pip install 'simcli\[optimize]'.
    Exit code 1 if --generations or --evaluations ended it.
    Example: simcli optimize arm.yaml --vary params.k=1..1000 --vary params.c=0.1..10 --minimize measure.settled -o best
    """
    from simcli.search.batches import Batches
    from simcli.search.generations import Generations
    from simcli.search.intervals import read_intervals, read_single
    from simcli.search.optimizing import Limits, find_optimum, population_of
    from simcli.search.quantities import Measured

    maximizes, text = _aim(minimize, maximize)
    limits, laid = Limits(generations, evaluations, tolerance), all_sets(sets, measure)
    _, spec = read_single(scene, laid, "optimize")
    intervals = read_intervals(scene, laid, vary)
    if not vary or len({one.path for one in intervals}) < len(intervals):
        raise UsageError("give --vary KEY=LOW..HIGH once for each number")
    size, paths = population_of(len(intervals), population), [one.path for one in intervals]
    with watched(quiet or json) as watch, ExitStack() as at_end:
        quantity, ledger = Measured(Batches(scene, laid, paths, device, threads, watch), text, intervals), None
        if output is not None:
            ledger = Generations(output, _facts(spec, intervals, text, maximizes, size, seed, device, threads))
            at_end.callback(ledger.close)
            watch.when_stopped = f"every generation is in {output}, and the same command goes on"
        watch.what = "generation 1"

        def seen(number: int, best: float) -> None:
            watch.what = f"generation {number + 1}, best {best:.6g}"

        found = find_optimum(quantity, intervals, maximizes, seed, size, limits, ledger, seen)
    if json:
        console.emit("optimize", {"scene": scene, "folder": output, **_data(found, intervals, quantity, maximizes)})
    else:
        _say(found, intervals, quantity)
    if output is not None:
        _write_best(scene, laid, paths, found, output)
    return Exit.OK if found.converged else Exit.NEGATIVE


def _aim(minimize: str | None, maximize: str | None) -> tuple[bool, str]:
    """Whether the largest is sought, and of what."""
    from simcli.search.optimizing import library
    from simcli.search.quantities import is_of_mode

    if len(texts := [text for text in (minimize, maximize) if text is not None]) != 1:
        raise UsageError("give one of --minimize EXPRESSION and --maximize EXPRESSION")
    library()  # before anything is computed
    (text,) = texts
    if is_of_mode(text):
        raise UsageError(f"`{text}`: optimize takes measures; `simcli solve` takes modes")
    return minimize is None, text


def _facts(
    spec, intervals, text: str, maximizes: bool, population: int, seed: int, device: str, threads: int | None
) -> dict[str, Any]:
    """What must be the same for an optimization to go on to the same bits."""
    from simcli.kernels.device.runtime import start_device
    from simcli.records.contents.provenance import sha256, versions_of
    from simcli.search.optimizing import library
    from simcli.spec import resolved_yaml

    found = start_device(device, spec.solver.precision, threads)
    return {
        "scene": sha256(resolved_yaml(spec)),
        "intervals": [interval_data(one) for one in intervals],
        "expression": text,
        "aim": "largest" if maximizes else "least",
        "population": population,
        "seed": seed,
        "device": f"{found.arch}: {found.name}, {found.precision}",
        "versions": {**versions_of("numpy"), "cma": str(library().__version__).split()[0]},
    }


def _write_best(scene: Path, sets, paths: list[str], found: "Optimum", output: Path) -> None:
    from simcli.search.batches import set_texts, write_scene

    try:
        write_scene(scene, (*sets, *set_texts(paths, found.x)), output / BEST, True)
    except (UsageError, SceneError) as error:  # the search itself is whole
        console.note(f"{output / BEST} is not written: {error}")
    else:
        console.say(f"wrote {output / BEST}; every generation is in {output}")


def _say(found: "Optimum", intervals, quantity) -> None:
    from simcli.search.batches import set_texts

    rows = [
        (headed(one.path, one.unit), f"{x:.10g}", f"{one.low:g} to {one.high:g}, {one.words}")
        for one, x in zip(intervals, found.x, strict=True)
    ]
    rows.append((headed(quantity.text, quantity.unit), f"{found.value:.10g}", f"best, of generation {found.generation}"))
    console.data(console.table(rows, ("number", "value", "interval"), indent=""))
    console.data("\n" + set_line(set_texts([one.path for one in intervals], found.x)))
    for path in found.ends(intervals):
        console.note(f"{path} lies at an end of its interval: a wider one may do better")
    if found.n_failed:
        of = console.plural(found.n_worlds, "world")
        console.note(f"{found.n_failed} of {of} had no value, and count as the worst")
    say_without(quantity.without)
    unexplained = found.n_failed - sum(quantity.without.values())
    if found.n_replayed and unexplained > 0:
        console.note(f"{console.plural(unexplained, 'point')} had none in generations of the ledger, which has no reasons")
    before = f" ({found.n_replayed} from the ledger)" if found.n_replayed else ""
    head = "converged" if found.converged else console.paint("not converged", "bad")
    work = f"{console.plural(len(found.generations), 'generation')}{before}, {console.plural(found.n_worlds, 'world')}"
    console.say(f"{head}: {found.reason}; {work}; {quantity.text} = {found.value:.6g}{in_unit(quantity.unit)}")


def _data(found: "Optimum", intervals, quantity, maximizes: bool) -> dict[str, Any]:
    from simcli.search.batches import set_texts

    paths = [one.path for one in intervals]
    numbers = [
        {**interval_data(one), "value": x, "at_end": one.path in found.ends(intervals)}
        for one, x in zip(intervals, found.x.tolist(), strict=True)
    ]
    best = [None if math.isnan(value) else value for value in _best_so_far(found, maximizes)]
    return {
        "numbers": numbers,
        "expression": quantity.text,
        "aim": "largest" if maximizes else "least",
        "value": found.value,
        "unit": quantity.unit,
        "generation": found.generation,
        "generations": len(found.generations),
        "from_ledger": found.n_replayed,
        "worlds": found.n_worlds,
        "without_value": found.n_failed,
        "reason": found.reason,
        "converged": found.converged,
        "best_by_generation": best,
        "sets": set_texts(paths, found.x),
    }


def _best_so_far(found: "Optimum", maximizes: bool) -> list[float]:
    import numpy as np

    sign = -1.0 if maximizes else 1.0
    best = [np.nanmin(sign * one.values, initial=np.inf) for one in found.generations]
    return (sign * np.minimum.accumulate(best)).tolist()
