"""`simcli id`: inverse dynamics. `simcli mass-matrix`: the joint-space mass matrix. `simcli jacobian`: body Jacobians."""

from typing import Annotated, Literal

import typer

from simcli.cli.mechanics import mechanics as shared
from simcli.cli.options import JsonFlag, SelectPatterns, SetValues, split_words
from simcli.errors import Exit

_WITHOUT_CONTACTS = (
    "shapes of the scene can touch, but `id` does not include contact forces: where these act, the efforts "
    "contain them, and differ from the recorded ones by them"
)


def id(
    scene: shared.SubjectPath,
    states: shared.StatesFile = None,
    q: shared.Q = [],  # noqa: B006
    qd: shared.Qd = [],  # noqa: B006
    qdd: shared.Qdd = [],  # noqa: B006
    frames: shared.FrameNumbers = None,
    at: shared.AtTime = [],  # noqa: B006
    world: shared.WorldNumbers = None,
    external: Annotated[
        bool, typer.Option("--external/--no-external", help="Include the scene's springs, cables and wrenches.")
    ] = True,
    differentiate: Annotated[
        Literal["spline", "cubic"] | None,
        typer.Option(
            "--differentiate", help="Take missing rates and accelerations from q over time.", show_default="they are zero"
        ),
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Show the recorded efforts and the difference.")] = False,
    sets: SetValues = [],  # noqa: B006
    output: shared.Output = None,
    force: shared.ForceResults = False,
    device: shared.DeviceName = "auto",
    threads: shared.ThreadCount = None,
    json: JsonFlag = False,
) -> int:
    """Inverse dynamics: the efforts along the motion axes that a motion needs, by recursive Newton-Euler.

    effort = (M + armature) qdd + bias(q, qd) - J^T f

    with gravity in the bias and f the scene's springs, cables and wrenches, and body forces of the states (columns
    body.NAME.force.x, body.NAME.torque.x: world, about the centre of mass). It is everything that acts along a joint:
    applied, drives, damping, friction, limits; for a free base the force that would have to hold it. On a run without
    contacts it is the recorded joint_effort, which --compare shows. Accelerations that are not given are zero: the
    efforts that hold; --differentiate spline takes them from a table of coordinates over time, by quintic splines, and
    --differentiate cubic by those that play a table back. What a joint that closes a loop transmits is
    taken from a run that recorded its reactions.
    Example: simcli id outputs/swing.h5 --compare -o efforts.h5
    """
    from simcli.analysis.mechanics.rigid_body_tasks import Efforts
    from simcli.analysis.mechanics.task_results import Difference

    given = {"joint_q": q, "joint_qd": qd, "joint_qdd": qdd}
    ask = shared.Ask(scene, states, frames, at, world, sets, output, force, json, device, threads, given, differentiate)
    task, difference = Efforts(external, compare), Difference()
    report = shared.perform(ask, task, difference.look if compare else None)
    if compare:
        report.facts |= difference.facts
        report.notes.append(difference.words)
        if report.has_contacts:
            report.notes.append(_WITHOUT_CONTACTS)
    shared.conclude(ask, task, report)
    return Exit.OK


def mass_matrix(
    scene: shared.SubjectPath,
    states: shared.StatesFile = None,
    q: shared.Q = [],  # noqa: B006
    frames: shared.FrameNumbers = None,
    at: shared.AtTime = [],  # noqa: B006
    world: shared.WorldNumbers = None,
    armature: Annotated[bool, typer.Option("--armature/--no-armature", help="Include the joints' armature.")] = True,
    sets: SetValues = [],  # noqa: B006
    output: shared.Output = None,
    force: shared.ForceResults = False,
    device: shared.DeviceName = "auto",
    threads: shared.ThreadCount = None,
    json: JsonFlag = False,
) -> int:
    """Joint-space mass matrix M(q), one row and column per joint velocity.

    With armature, as the solver has it and as `simcli id` counts it; Newton's eval_mass_matrix is --no-armature. Rows and
    columns of joints that close loops are zero: the tree's velocities alone move the bodies.
    Example: simcli mass-matrix scenes/double_pendulum.yaml --q 0.1,0.2
    """
    from simcli.analysis.mechanics.rigid_body_tasks import Matrix

    ask = shared.Ask(scene, states, frames, at, world, sets, output, force, json, device, threads, {"joint_q": q})
    task = Matrix(armature)
    return shared.give_answer(ask, task)


def jacobian(
    scene: shared.SubjectPath,
    states: shared.StatesFile = None,
    q: shared.Q = [],  # noqa: B006
    frames: shared.FrameNumbers = None,
    at: shared.AtTime = [],  # noqa: B006
    world: shared.WorldNumbers = None,
    select: SelectPatterns = [],  # noqa: B006
    sets: SetValues = [],  # noqa: B006
    output: shared.Output = None,
    force: shared.ForceResults = False,
    device: shared.DeviceName = "auto",
    threads: shared.ThreadCount = None,
    json: JsonFlag = False,
) -> int:
    """Body Jacobians: six rows per body, so that J qd = body_qd.

    Rows are the velocity of the centre of mass and the angular velocity, world; columns the joint velocities, zero for
    joints that close loops. --select gives some bodies only.
    Example: simcli jacobian scenes/double_pendulum.yaml --q 0.1,0.2 --select lower --json
    """
    from simcli.analysis.mechanics.rigid_body_tasks import Jacobians

    ask = shared.Ask(scene, states, frames, at, world, sets, output, force, json, device, threads, {"joint_q": q})
    task = Jacobians(tuple(split_words("--select", select)))
    return shared.give_answer(ask, task)
