"""`simcli fk`: joint coordinates to poses of bodies. `simcli ik`: poses of bodies to joint coordinates."""

from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.mechanics import mechanics as shared
from simcli.cli.options import SelectPatterns, split_words
from simcli.errors import Exit


@shared.on_states("q", "qd")
def fk(
    ask: shared.Ask,
    select: SelectPatterns = [],  # noqa: B006
    body_flags: shared.BodyFlag = shared.Flags.all,
) -> int:
    """Forward kinematics: poses and twists of bodies, and named points, from joint coordinates and velocities.

    body_q is the pose of the body frame, body_qd the velocity of the centre of mass and the angular velocity, world.
    The tree decides; joints that close loops are not read, and a warning says where the coordinates leave one open.
    --select and --body-flags give some bodies only.
    Example: simcli fk outputs/swing.h5 --frames ::10 -o poses.csv
    """
    from simcli.analysis.mechanics.rigid_body_tasks import Forward
    from simcli.model.joints.selection import BodyFlags

    return shared.give_answer(ask, Forward(tuple(split_words("--select", select)), BodyFlags[body_flags.upper()]))


@shared.on_states()
def ik(
    ask: shared.Ask,
    unwrap: Annotated[bool, typer.Option("--unwrap", help="Count full turns from state to state.")] = False,
    tolerance: Annotated[
        float, typer.Option("--tolerance", metavar="X", min=0.0, help="Largest residual that is accepted \\[m, rad].")
    ] = 1e-6,
    body_flags: shared.BodyFlag = shared.Flags.all,
) -> int:
    """Project poses and twists of bodies to joint coordinates and velocities, each joint by itself (Newton's eval_ik).

    Nothing is searched: poses that a joint does not allow are projected, and the residual says how far the bodies are from
    where the coordinates put them; beyond --tolerance the exit code is 1. One-axis angles lie in (-pi, pi], since one pose
    knows no turns; --unwrap continues them from state to state. Joints that close loops get their coordinates too.
    --body-flags gives the joints that place bodies of this kind only, and the residuals of those bodies.
    Example: simcli ik scene.yaml --states poses.csv -o joints.csv
    """
    from simcli.analysis.mechanics.rigid_body_tasks import Inverse
    from simcli.analysis.mechanics.task_results import Worst
    from simcli.model.joints.selection import BodyFlags

    task, worst = Inverse(unwrap, BodyFlags[body_flags.upper()]), Worst()
    report = shared.perform(ask, task, worst.look)
    report.facts |= worst.facts
    shared.conclude(ask, task, report)
    if worst.exceeds(tolerance):
        console.say(f"the poses do not fit the joints: {worst.words}; --tolerance is {tolerance:g}")
        return Exit.NEGATIVE
    return Exit.OK
