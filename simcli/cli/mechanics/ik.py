"""`simcli ik`: poses of bodies to joint coordinates."""

from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.mechanics import mechanics as shared
from simcli.cli.options import JsonFlag, SetValues
from simcli.errors import Exit


def ik(
    scene: shared.SubjectPath,
    states: shared.StatesFile = None,
    frames: shared.FrameNumbers = None,
    at: shared.AtTime = [],  # noqa: B006
    world: shared.WorldNumbers = None,
    unwrap: Annotated[bool, typer.Option("--unwrap", help="Count full turns from state to state.")] = False,
    tolerance: Annotated[
        float, typer.Option("--tolerance", metavar="X", min=0.0, help="Largest residual that is accepted \\[m, rad].")
    ] = 1e-6,
    body_flags: shared.BodyFlag = shared.Flags.all,
    sets: SetValues = [],  # noqa: B006
    output: shared.Output = None,
    force: shared.ForceResults = False,
    device: shared.DeviceName = "auto",
    threads: shared.ThreadCount = None,
    json: JsonFlag = False,
) -> int:
    """Project poses and twists of bodies to joint coordinates and velocities, each joint by itself (Newton's eval_ik).

    Nothing is searched: poses that a joint does not allow are projected, and the residual says how far the bodies are from
    where the coordinates put them; beyond --tolerance the exit code is 1. One-axis angles lie in (-pi, pi], since one pose
    knows no turns; --unwrap continues them from state to state. Joints that close loops get their coordinates too.
    --body-flags gives the joints that place bodies of this kind only, and the residuals of those bodies.
    Example: simcli ik scene.yaml --states poses.csv -o joints.csv
    """
    from simcli.analysis.mechanics.kinematic_tasks import Inverse
    from simcli.analysis.mechanics.verdicts import Worst
    from simcli.model.joints.selection import BodyFlags

    ask = shared.Ask(scene, states, frames, at, world, sets, output, force, json, device, threads)
    task, worst = Inverse(unwrap, BodyFlags[body_flags.upper()]), Worst()
    report = shared.perform(ask, task, worst.look)
    report.facts |= worst.facts
    shared.conclude(ask, task, report)
    if worst.exceeds(tolerance):
        console.say(f"the poses do not fit the joints: {worst.words}; --tolerance is {tolerance:g}")
        return Exit.NEGATIVE
    return Exit.OK
