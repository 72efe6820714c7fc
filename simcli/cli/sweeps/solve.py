"""`simcli solve`: the number of a scene for which a measure or a small motion has a given value."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from simcli.cli import console
from simcli.cli.console import in_unit, set_line
from simcli.cli.mechanics.statics import Stable, StudyAt, StudyPlace
from simcli.cli.options import JsonFlag, ScenePath, SetValues
from simcli.cli.sweeps.searching import (
    DeviceOption,
    ForceScene,
    MeasureTexts,
    Quiet,
    SceneOut,
    SearchThreads,
    Vary,
    all_sets,
    headed,
    interval_data,
    say_without,
    watched,
    write_found,
)
from simcli.errors import Exit, UsageError

if TYPE_CHECKING:
    from simcli.search.solving import Solved

POINTS, _TOLERANCE = 33, 1e-9

_Target = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="QUANTITY=VALUE",
        show_default=False,
        help="Quantity and the value that it takes, as 'measure.peak=3 N', 'modes.1.frequency=5 Hz' or "
        "'{measure.a} / {measure.b}=2'.",
    ),
]
_Points = Annotated[int, typer.Option("--points", metavar="N", min=2, help="Worlds of the first batch.")]
_Tolerance = Annotated[
    float,
    typer.Option("--tolerance", metavar="R", min=0, max=0.1, help="Relative width of a bracket at which its root is found."),
]


def solve(
    scene: ScenePath,
    vary: Vary,
    target: _Target,
    points: _Points = POINTS,
    tolerance: _Tolerance = _TOLERANCE,
    at: StudyAt = StudyPlace.SEARCH,
    stable: Stable = False,
    measure: MeasureTexts = [],  # noqa: B006
    sets: SetValues = [],  # noqa: B006
    output: SceneOut = None,
    force: ForceScene = False,
    device: DeviceOption = "auto",
    threads: SearchThreads = None,
    json: JsonFlag = False,
    quiet: Quiet = False,
) -> int:
    """Find the number for which a measure or a mode has a given value.

    A first batch over the interval brackets every root that its points show; a few more batches narrow the brackets. Where
    the quantity jumps over the value, the jump is reported. Exit code 1 if the value is never taken.
    Example: simcli solve press.yaml --vary forces.spring.stiffness=100..10000 --target 'modes.1.frequency=5 Hz'
    """
    from simcli.search.batches import claim_scene, set_texts
    from simcli.search.intervals import read_intervals, read_single
    from simcli.search.solving import solve_for, split_target, target_value

    if len(vary) != 1:
        raise UsageError("solve varies one number: give one --vary KEY=LOW..HIGH; `simcli optimize` takes several")
    laid = all_sets(sets, measure)
    name, value = split_target(target)
    read_single(scene, laid, "solve")
    (interval,) = read_intervals(scene, laid, vary)
    if output is not None:
        claim_scene(scene, laid, output, force)
    with watched(quiet or json) as watch:
        quantity = _quantity(scene, laid, interval, name, (at == StudyPlace.SEARCH, stable), device, threads, watch)
        wanted = target_value(value, quantity)

        def seen(part: float) -> None:
            watch.what = f"narrowing, {100 * part:.0f} %"

        watch.what = f"{points} points of {interval.path}"
        found = solve_for(interval, quantity, wanted, points, tolerance, seen)
    if json:
        console.emit("solve", {"scene": scene, **_data(found, tolerance)})
    else:
        _say(found)
    if output is not None and len(found.roots) == 1:
        write_found(scene, (*laid, *set_texts([interval.path], [found.roots[0].x])), output, force)
    elif output is not None:
        problem = "there is no root" if not found.roots else f"there are {len(found.roots)} roots: narrow --vary"
        console.note(f"{output} is not written: {problem}")
    return Exit.OK if found.roots and (output is None or len(found.roots) == 1) else Exit.NEGATIVE


def _quantity(scene, sets, interval, name: str, place: tuple[bool, bool], device: str, threads: int | None, watch):
    """What shall take the value."""
    from simcli.search.batches import Batches
    from simcli.search.quantities import Measured, OfMode, is_of_mode

    if is_of_mode(name):
        if place == (False, True):
            raise UsageError("--stable searches, and --at initial does not: give one of them")
        return OfMode(scene, sets, [interval.path], name, *place, device, threads, watch.goes_on)
    if place != (True, False):
        raise UsageError("--at and --stable are for targets of modes")
    return Measured(Batches(scene, sets, [interval.path], device, threads, watch), name, [interval])


def _say(solved: "Solved") -> None:
    """Roots on stdout; what else there is to know for people."""
    from simcli.search.batches import set_texts

    interval, quantity, found = solved.interval, solved.quantity, solved.found
    rows = [
        (f"{one.x:.12g}", f"{one.value:.10g}", f"{one.residual:.3g}", set_line(set_texts([interval.path], [one.x])))
        for one in solved.roots
    ]
    if rows:
        header = (headed(interval.path, interval.unit), headed(quantity.text, quantity.unit), "residual", "use")
        console.data(console.table(rows, header, indent=""))
    unit, of = in_unit(interval.unit), in_unit(quantity.unit)
    for one in found.jumps:
        console.note(
            f"at {interval.path} = {one.x:.10g}{unit} the quantity jumps from "
            f"{one.below:.6g} to {one.above:.6g}{of}: no root"
        )
    say_without(quantity.without)
    work = f"{console.plural(len(found.x), 'point')} in {console.plural(found.rounds, 'round')}"
    between = f"{interval.words} from {interval.low:g} to {interval.high:g}{unit}"
    console.say(f"{console.plural(len(rows), 'root')}; {work}, {between}")
    if not rows:
        _say_nearest(solved, unit, of)


def _say_nearest(solved: "Solved", unit: str, of: str) -> None:
    if solved.nearest is None:
        console.say(f"no point has a value of {solved.quantity.text}")
        return
    x, value = solved.nearest
    low, high = solved.seen
    console.say(
        f"{solved.quantity.text} was seen from {low:.6g} to {high:.6g}{of}, and {solved.target:.6g}{of} is wanted; "
        f"nearest: {value:.6g}{of} at {solved.interval.path} = {x:.6g}{unit}. Widen --vary, or "
        "take more --points if it touches the value between two of them"
    )


def _data(solved: "Solved", tolerance: float) -> dict[str, Any]:
    from simcli.search.batches import set_texts

    interval, found, nearest = solved.interval, solved.found, solved.nearest
    roots = [
        {
            "x": one.x,
            "value": one.value,
            "residual": one.residual,
            "bracket": [one.low, one.high],
            "set": set_texts([interval.path], [one.x])[0],
        }
        for one in solved.roots
    ]
    jumps = [{"bracket": [one.low, one.high], "from": one.below, "to": one.above} for one in found.jumps]
    return {
        "vary": interval_data(interval),
        "tolerance": tolerance,
        "target": {"quantity": solved.quantity.text, "value": solved.target, "unit": solved.quantity.unit},
        "roots": roots,
        "jumps": jumps,
        "nearest": nearest and dict(zip(("x", "value"), nearest, strict=True)),
        "seen": {"low": solved.seen[0], "high": solved.seen[1]},
        "rounds": found.rounds,
        "points": {"x": found.x, "value": found.value},
        "without_value": {reason: count for reason, count in solved.quantity.without.items() if count},
    }
