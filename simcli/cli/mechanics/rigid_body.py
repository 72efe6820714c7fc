"""`simcli fk`, `ik`, `id`, `mass-matrix`, `jacobian`: what rigid-body algorithms say at states."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simcli.cli import console
from simcli.cli.mechanics import mechanics as shared
from simcli.cli.options import SelectPatterns, existing_file, split_words
from simcli.errors import Exit, UsageError

if TYPE_CHECKING:
    from simcli.analysis.mechanics.target_starts import SearchOptions


@shared.on_states("q", "qd", "qdd")
def fk(
    ask: shared.Ask,
    select: SelectPatterns = [],  # noqa: B006
    body_flags: shared.BodyFlag = shared.Flags.all,
    accelerations: Annotated[
        bool, typer.Option("--accelerations", help="Give accelerations too; with --qdd and --differentiate they are given.")
    ] = False,
    differentiate: shared.Differentiate = None,
) -> int:
    """Forward kinematics: poses and twists of bodies, and named points, from joint coordinates and velocities.

    body_q is the pose of the body frame, body_qd the velocity of the centre of mass and the angular velocity, world.
    body_qdd are their accelerations, from those of the joints (--qdd, a run, a table).
    The tree decides; joints that close loops are not read, and a warning says where the coordinates leave one open.
    --select and --body-flags give some bodies only.
    Example: simcli fk outputs/swing.h5 --frames ::10 -o poses.csv
    """
    from simcli.analysis.mechanics.rigid_body_tasks import Forward
    from simcli.model.joints.selection import BodyFlags

    accelerates = accelerations or bool(ask.qdd) or differentiate is not None
    task = Forward(tuple(split_words("--select", select)), BodyFlags[body_flags.upper()], accelerates)
    return shared.give_answer(ask, task, differentiate)


_Targets = Annotated[
    list[str],
    typer.Option(
        "--target",
        metavar="NAME=X,Y,Z",
        help="Where a body, a named point, or `body@x,y,z` shall be; with a quaternion x,y,z,w of the body, or "
        "NAME.rpy=R,P,Y. An empty number leaves an axis free. Without numbers: what is wanted of a table. Repeatable.",
    ),
]
_Table = Annotated[
    Path | None,
    typer.Option(
        "--target-table",
        metavar="FILE",
        help="Targets, a set in each row: CSV or JSON with columns as hand.x, hand.qw; or a run or result (HDF5).",
        callback=existing_file,
        show_default=False,
    ),
]
_Weights = Annotated[
    list[str],
    typer.Option(
        "--weight", metavar="NAME=W[,V]", help="Weight of squared distances, and of squared angles. Default: 1. Repeatable."
    ),
]


@shared.on_states("q")
def ik(
    ask: shared.Ask,
    target: _Targets = [],  # noqa: B006
    target_table: _Table = None,
    weight: _Weights = [],  # noqa: B006
    posture: Annotated[
        float,
        typer.Option("--posture", metavar="W", min=0.0, help="Weight of squared distances from the initial coordinates."),
    ] = 0.0,
    seeds: Annotated[
        int, typer.Option("--seeds", metavar="N", min=1, max=4096, help="Searches of each target at most.")
    ] = 16,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the random starts of searches.")] = 0,
    follow: Annotated[bool, typer.Option("--follow", help="Begin at the solution of the row before.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Give all solutions that the searches find.")] = False,
    iterations: Annotated[
        int, typer.Option("--iterations", metavar="N", min=1, max=100000, help="Iterations of a search at most.")
    ] = 500,
    unwrap: Annotated[bool, typer.Option("--unwrap", help="Count full turns from state to state.")] = False,
    tolerance: Annotated[
        float, typer.Option("--tolerance", metavar="X", min=0.0, help="Largest residual that is accepted \\[m, rad].")
    ] = 1e-6,
    body_flags: shared.BodyFlag = shared.Flags.all,
) -> int:
    """Joint coordinates whose bodies are at targets, or nearest to them; of poses of all bodies a projection.

    With --target or --target-table coordinates are searched for (Levenberg-Marquardt, within limits, loops closed), from the
    initial state (--q) and from random starts; targets that are out of reach end nearest to them, with the distance.

    With --states poses and twists of all bodies are projected, each joint by itself (Newton's eval_ik). Nothing is searched:
    poses that a joint does not allow are projected, and the residual says how far the bodies are from where the coordinates
    put them. One-axis angles lie in (-pi, pi], since one pose knows no turns; --unwrap continues them from state to state.
    Joints that close loops get their coordinates too. --body-flags gives the joints that place bodies of this kind only, and
    the residuals of those bodies.

    Beyond --tolerance the exit code is 1.
    Example: simcli ik arm.yaml --target hand=0.4,0,0.3 -o joints.csv
    """
    if target or target_table is not None:
        from simcli.analysis.mechanics.target_starts import SearchOptions

        options = SearchOptions(seeds, seed, posture, follow, every, (tolerance, tolerance), iterations)
        return _search(ask, (target, target_table, weight), options)
    return _project(ask, unwrap, tolerance, body_flags.upper())


def _project(ask: shared.Ask, unwrap: bool, tolerance: float, flags: str) -> int:
    """Project poses; the exit code."""
    from simcli.analysis.mechanics.rigid_body_tasks import Inverse
    from simcli.analysis.mechanics.task_results import Worst
    from simcli.model.joints.selection import BodyFlags

    task, worst = Inverse(unwrap, BodyFlags[flags]), Worst()
    report = shared.perform(ask, task, worst.look)
    report.facts |= worst.facts
    shared.conclude(ask, task, report)
    if worst.exceeds(tolerance):
        console.say(f"the poses do not fit the joints: {worst.words}; --tolerance is {tolerance:g}")
        return Exit.NEGATIVE
    return Exit.OK


def _search(ask: shared.Ask, asked: tuple, options: "SearchOptions") -> int:
    """Search for targets; the exit code."""
    from simcli.analysis.mechanics.target_tables import AskedTargets, prepare_targets

    if ask.states is not None:
        raise UsageError("--states and --target contradict each other: poses of some bodies are given with --target-table")
    if options.follow and options.every:
        raise UsageError("--follow and --all contradict each other: a row begins at one solution")
    task, report = shared.perform_prepared(
        ask, lambda subject, choice: prepare_targets(subject, choice, {"joint_q": ask.q}, AskedTargets(*asked), options)
    )
    report.facts |= task.facts
    shared.conclude(ask, task, report)
    missed = task.counts[1:].sum()
    if missed:
        shift, angle = task.worst
        console.say(
            f"{console.plural(missed, 'state')} of {task.counts.sum()} not at the targets, {task.counts[2]} of them not "
            f"converged: off by {shift:.3g} m and {angle:.3g} rad at most; --tolerance is {options.tolerance[0]:g}"
        )
        return Exit.NEGATIVE
    return Exit.OK


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
