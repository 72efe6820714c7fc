"""`simcli id`: inverse dynamics. `simcli mass-matrix`: the joint-space mass matrix. `simcli jacobian`: body Jacobians."""

from typing import Annotated

import typer

from simcli.cli.mechanics import mechanics as shared
from simcli.cli.options import SelectPatterns, split_words
from simcli.errors import Exit

_WITHOUT_CONTACTS = (
    "shapes of the scene can touch, but `id` does not include contact forces: where these act, the efforts "
    "contain them, and differ from the recorded ones by them; --contacts takes those that a run recorded"
)


@shared.on_states("q", "qd", "qdd")
def id(
    ask: shared.Ask,
    external: Annotated[
        bool, typer.Option("--external/--no-external", help="Include the scene's springs, cables and wrenches.")
    ] = True,
    differentiate: shared.Differentiate = None,
    compare: Annotated[bool, typer.Option("--compare", help="Show the recorded efforts and the difference.")] = False,
    contacts: Annotated[bool, typer.Option("--contacts", help="Include the recorded forces of contacts.")] = False,
    reactions: Annotated[bool, typer.Option("--reactions", help="Give what each joint transmits.")] = False,
) -> int:
    """Inverse dynamics: the efforts along the motion axes that a motion needs, by recursive Newton-Euler.

    effort = (M + armature) qdd + bias(q, qd) - J^T f

    with gravity in the bias and f the scene's springs, cables and wrenches, and body forces of the states (columns
    body.NAME.force.x, body.NAME.torque.x: world, about the centre of mass). It is everything that acts along a joint:
    applied, drives, damping, friction, limits; for a free base the force that would have to hold it. On a run without
    contacts it is the recorded joint_effort, which --compare shows. Accelerations that are not given are zero: the
    efforts that hold; --differentiate spline takes them from a table of coordinates over time, by quintic splines, and
    --differentiate cubic by those that play a table back. What a joint that closes a loop transmits is
    taken from a run that recorded its reactions. --contacts takes the forces of contacts from a run that recorded them.
    --reactions gives joint_wrench, force and torque on the child at its anchor in world axes, and joint_wrench_local, the
    same in the axes of the anchor; along the motion axes it is the effort without armature.
    Example: simcli id outputs/swing.h5 --compare -o efforts.h5
    """
    from simcli.analysis.mechanics.rigid_body_tasks import Efforts
    from simcli.analysis.mechanics.task_results import Difference

    task, difference = Efforts(external, compare, contacts, reactions), Difference()
    report = shared.perform(ask, task, difference.look if compare else None, differentiate)
    if compare:
        report.facts |= difference.facts
        report.notes.append(difference.words)
        if report.has_contacts and not contacts:
            report.notes.append(_WITHOUT_CONTACTS)
    shared.conclude(ask, task, report)
    return Exit.OK


@shared.on_states("q")
def mass_matrix(
    ask: shared.Ask,
    armature: Annotated[bool, typer.Option("--armature/--no-armature", help="Include the joints' armature.")] = True,
) -> int:
    """Joint-space mass matrix M(q), one row and column per joint velocity.

    With armature, as the solver has it and as `simcli id` counts it; Newton's eval_mass_matrix is --no-armature. Rows and
    columns of joints that close loops are zero: the tree's velocities alone move the bodies.
    Example: simcli mass-matrix scenes/double_pendulum.yaml --q 0.1,0.2
    """
    from simcli.analysis.mechanics.rigid_body_tasks import Matrix

    return shared.give_answer(ask, Matrix(armature))


@shared.on_states("q")
def jacobian(
    ask: shared.Ask,
    select: SelectPatterns = [],  # noqa: B006
) -> int:
    """Body Jacobians: six rows per body, so that J qd = body_qd.

    Rows are the velocity of the centre of mass and the angular velocity, world; columns the joint velocities, zero for
    joints that close loops. --select gives some bodies only.
    Example: simcli jacobian scenes/double_pendulum.yaml --q 0.1,0.2 --select lower --json
    """
    from simcli.analysis.mechanics.rigid_body_tasks import Jacobians

    return shared.give_answer(ask, Jacobians(tuple(split_words("--select", select))))
