"""The beginning of a run: loops closed, velocities that keep them closed, limits kept; and what is wrong, in words.

What closing the loops has moved is told joint by joint: how far, in which worlds, and why.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum, auto

import numpy as np

from simcli.errors import Fault, SceneError, Where
from simcli.model.closure.assembly import Assembled, Why, assembled
from simcli.model.closure.limits import has_bounds, outside_limits
from simcli.model.closure.loop_problem import OPEN_LOOP, LoopProblem
from simcli.model.closure.postures import unit_of_row
from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.constraint_tables import NONHOLONOMIC_FORMS, turn_places
from simcli.model.forces.spring import at_rest
from simcli.model.joints.catalogue import BESIDE_ROWS_KINDS, CATALOGUE, TYPE_NAME
from simcli.model.tables.joint_tables import Dofs, Joints
from simcli.model.tables.model import Array, JointKind, Model
from simcli.model.tables.start_tables import Beginning, Fork, Move, StartFault
from simcli.model.tables.table_base import handed_on, kept
from simcli.spec.checks.solver_fields import JOINT_ENERGIES
from simcli.spec.schema.scene import SceneSpec

_MOVED = 1e-9  # [m, rad, 1] changes of a coordinate that are told
_MOST_NAMES = 3  # in one line
FORK_HINT = "write another coordinate of the loop, roughly: those beyond its degrees of freedom choose the branch"


def moves_of(problem: LoopProblem, before: Array, done: Assembled) -> list[Move]:
    """Every world in which a joint's written coordinate moved; of joints of which nothing is written the farthest.

    Args:
        problem: at the coordinates that close it.
        before: [m, rad, 1], (lead, NQ), coordinates as written.
        done: how they were found.
    """
    model, found = problem.model, []
    change = np.abs(problem.q - before)
    for j in np.flatnonzero(model.joints.is_tree):
        own, rates = (slice(start[j], start[j + 1]) for start in (model.joints.q_start, model.joints.qd_start))
        far, written = change[:, own].max(axis=1, initial=0.0), _written(model.dofs, own, rates)
        if far.max(initial=0.0) <= _MOVED:
            continue
        g = int(done.closer.group_of_dof[rates].max(initial=-1))
        why = done.why[:, g] if g >= 0 else np.zeros(problem.lead, int)
        told = (change[:, own][:, written].max(axis=1, initial=0.0) > _MOVED) | (_limited(problem, j) & (why == Why.LIMITED))
        worlds = np.flatnonzero(told) if told.any() else [int(far.argmax())]
        count = int(told.sum() if told.any() else (far > _MOVED).sum()) * (model.n_worlds // problem.lead)
        for world in worlds:
            ends = (tuple(q[world, own].tolist()) for q in (before, problem.q))
            reason = _reason(problem, done, int(j), int(world)) if told.any() else ("which closes its loops", "")
            found.append(Move(int(j), int(world), float(far[world]), *ends, bool(told.any()), count, *reason))
    return found


def forks_of(problem: LoopProblem, done: Assembled) -> list[Fork]:
    """Worlds and loops in which branches meet at the drawing and nothing chose between them.

    Args:
        problem: at the coordinates that close it.
        done: how they were found.
    """
    model, found = problem.model, []
    for g, (rows, dofs) in enumerate(done.closer.groups):
        worlds = np.flatnonzero(done.forks[:, g])
        if not len(worlds):
            continue
        closing = int(problem.constraints.rows.joint[rows[0]])
        held = [int(model.dofs.joint[d]) for d in dofs if done.held[worlds, d].any() and model.dofs.q_given[d]]
        names = ", ".join(f"`{model.joints.name[j]}`" for j in dict.fromkeys(held))
        count = len(worlds) * (model.n_worlds // problem.lead)
        for world in worlds.tolist():
            text = (
                f"two or more branches of the loop of joint `{model.joints.name[closing]}` meet at its authored poses, "
                f"and {names} alone does not choose between them: one was taken"
            )
            found.append(Fork(closing, world, count, text + _where(model.n_worlds, world, count)))
    return found


def _where(n_worlds: int, world: int, count: int) -> str:
    return f" (world {world}, one of {count})" if n_worlds > 1 else ""


def _written(dofs: Dofs, own: slice, rates: slice) -> Array:
    """(n_q,) bool, which coordinates of a joint are written; of a quaternion all or none."""
    given, n = dofs.q_given[rates], own.stop - own.start
    return given if len(given) == n else np.full(n, given.any())


def _limited(problem: LoopProblem, joint: int) -> bool:
    from_laws = problem.constraints.laws
    dofs = from_laws.dof[np.isfinite(from_laws.lower).any(axis=0) | np.isfinite(from_laws.upper).any(axis=0)]
    return bool((problem.model.dofs.joint[dofs[dofs >= 0]] == joint).any())


def _reason(problem: LoopProblem, done: Assembled, joint: int, world: int) -> tuple[str, str]:
    """Why a written coordinate moved, as the end of a sentence, and what to do."""
    model, group = problem.model, done.closer.group_of_dof[problem.model.joints.qd_start[joint]]
    why = done.why[world, group]
    if why == Why.LIMITED:
        return (
            "because a limit excludes the branch of its authored poses",
            "author the other branch, or write a coordinate that chooses it",
        )
    if why == Why.OUT_OF_REACH:
        return (
            "because no path was found on which its loop closes with the written values",
            "write a value that the loop reaches; from the authored poses it reaches the start of this run",
        )
    held = np.flatnonzero(done.held[world] & (done.closer.group_of_dof == group) & model.dofs.q_given)
    names = list(dict.fromkeys(f"`{model.joints.name[model.dofs.joint[d]]}`" for d in held))
    if not names:
        return "because its loop leaves it no degree of freedom", "leave it out"
    shown = ", ".join(names[:_MOST_NAMES]) + (f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else "")
    return (
        f"because its loop has no degree of freedom beside {shown}, which {'is' if len(names) == 1 else 'are'} held",
        "write the coordinates of fewer joints of the loop, as many as it has degrees of freedom",
    )


def move_text(n_worlds: int, joints: Joints, move: Move) -> str:
    """A move in words: from what to what, why, and where in a batch."""
    text = f"joint `{joints.name[move.joint]}` does not start where the scene says: {change_text(joints, move)}"
    text += f", {move.reason}"
    if n_worlds == 1:
        return text
    if move.n_worlds == n_worlds:
        return text + (f" (world {move.world}; all {move.n_worlds} moved)")
    which = "one" if move.is_written else "the farthest"
    return text + f" (world {move.world}, {which} of {move.n_worlds} that moved)"


def change_text(joints: Joints, move: Move) -> str:
    """From what to what a joint moved, with the unit where its coordinates have one."""
    dims = joints.dof_dim[move.joint].tolist()
    mixed = all(dims) or len(move.before) != sum(dims)  # lengths and angles, or a quaternion
    unit = "" if mixed else " m" if dims[0] else " rad"
    return f"from {_numbers(move.before)} to {_numbers(move.after)}{unit}"


def _numbers(values: tuple[float, ...]) -> str:
    words = [f"{value:.6g}" for value in values]
    return words[0] if len(words) == 1 else "[" + ", ".join(words) + "]"


CUT = "leave `assemble: false` out, or write coordinates that close the loop"


class Assembly(Enum):
    """What becomes of loops that the scene writes open."""

    CLOSED = auto()  # they are closed
    REFUSED = auto()  # nothing moves, and they are a fault
    OPEN = auto()  # nothing moves, and they begin open: joints that are energies pull them together


def assembly_of(spec: SceneSpec) -> Assembly:
    """What `initial.assemble` of a scene asks for."""
    if spec.initial.assemble is not False:
        return Assembly.CLOSED
    return Assembly.OPEN if spec.solver.type in JOINT_ENERGIES else Assembly.REFUSED


def begun(model: Model, assembly: Assembly = Assembly.CLOSED) -> Model:
    """The model with the coordinates and velocities with which a run begins.

    Args:
        model: the tables, in tree form, as the scene wrote them.
        assembly: what becomes of loops that are open.
    """
    if begins_anywhere(model):
        return at_rest(replace(model, start=Beginning()))
    mechanism = LoopProblem.of(model)
    before, done = mechanism.q.copy(), None
    acts, faults = mechanism.acts.any(), []
    if acts and assembly is Assembly.CLOSED:
        done = assembled(mechanism)
        mechanism.q, mechanism.angle, mechanism.qd = done.posture.q, done.posture.angle, done.qd
        faults += _open(mechanism, done.residuals, False)
        faults += _slipping(mechanism, done.slip, faults, False)
    elif acts and assembly is Assembly.REFUSED:
        chart, gaps, found = mechanism.measure()
        faults += _open(mechanism, found, True)
        speed = np.where(mechanism.acts, mechanism.rates(mechanism.slopes(chart, gaps)) - mechanism.speed, 0.0)
        faults += _slipping(mechanism, speed, faults, True)
    faults += outside_limits(mechanism, faults)
    changed = at_rest(_with_start(model, mechanism, before))
    faults = sorted(faults, key=lambda fault: fault.world)
    moves, forks = (moves_of(mechanism, before, done), forks_of(mechanism, done)) if done else ((), ())
    changed = replace(changed, start=Beginning(tuple(moves), tuple(faults), tuple(forks)))
    return handed_on(constraints_of, model, changed)


def begins_anywhere(model: Model) -> bool:
    """Whether a run can begin with any coordinates and velocities: nothing closes a loop, and nothing is limited."""
    return not (has_rows(model) or has_bounds(model))


@kept
def has_rows(model: Model) -> bool:
    """True if something closes a loop, gears joints, or keeps a length."""
    joints = model.joints
    return bool(
        (~joints.is_tree & (joints.kind != JointKind.CABLE)).any()
        or len(model.mimics.follower)
        or len(model.holds.name)
        or np.isin(joints.kind, BESIDE_ROWS_KINDS).any()
    )


def refuse_start(
    n_worlds: int, start: Beginning | None, where: Callable[[str], Where | None], numbers: Sequence[int] | None = None
) -> None:
    """Call a scene invalid of which no world can begin.

    Args:
        n_worlds: W.
        start: what was done to begin.
        where: place of a dotted path.
        numbers: of its worlds in their batch; None counts from 0.

    Raises:
        SceneError: with what the first world lacks.
    """
    faults = start.faults
    if len({fault.world for fault in faults}) == n_worlds:
        first = faults[0].world
        which = f" (world {first if numbers is None else numbers[first]})" if n_worlds > 1 else ""
        raise SceneError(
            [Fault(one.code, one.text + which, where(one.path), one.hint) for one in faults if one.world == first]
        )


def _with_start(model: Model, mechanism: LoopProblem, before: Array) -> Model:
    """The model at the coordinates and velocities of a mechanism; without a world axis where all worlds agree."""
    q = mechanism.q.copy()
    moved = (q != before).any(axis=1)
    places = turn_places(mechanism.constraints, model) if mechanism.constraints.rows.n else np.zeros(0, int)
    for r in np.flatnonzero(places >= 0):  # which turn a loop joint is in, for those who count on from here
        if not model.joints.is_tree[mechanism.constraints.rows.joint[r]]:
            q[moved, places[r]] = mechanism.angle[moved, r]
    found = {}
    for name, value in (("joint_q", q), ("joint_qd", mechanism.qd)):
        old = getattr(model, name)
        value = np.where(np.isnan(old), old, value)
        if np.array_equal(*np.broadcast_arrays(value, old), equal_nan=True):
            continue
        same = len(value) > 1 and np.array_equal(*np.broadcast_arrays(value, value[:1]), equal_nan=True)
        value = value[:1].copy() if same else value
        value.setflags(write=False)
        found[name] = value
    return replace(model, **found)


def _worst_rows(mechanism: LoopProblem, residuals: Array, bound: Array) -> list[tuple[int, int, float]]:
    """World, row and size of the worst row of each joint that lacks more than a bound, (lead,)."""
    found = []
    for world in np.flatnonzero(np.abs(residuals).max(axis=1, initial=0.0) > bound):
        size = np.abs(residuals[world])
        joint = mechanism.constraints.rows.joint
        for j in np.unique(joint[size > bound[world]]):
            row = int(np.where(joint == j, size, -1.0).argmax())
            found += [(one, row, float(size[row])) for one in mechanism.worlds_of(int(world))]
    return found


def _open(mechanism: LoopProblem, residuals: Array, is_kept: bool) -> list[StartFault]:
    """Loops that are open.

    Args:
        mechanism: at its coordinates.
        residuals: [m, rad, 1], (lead, R).
        is_kept: whether nothing may move.
    """
    found = []
    for world, row, size in _worst_rows(mechanism, residuals, np.full(len(residuals), OPEN_LOOP)):
        name, path, j = _joint_of(mechanism, row)
        unit = unit_of_row(mechanism.constraints, row)
        text = f"joint `{name}` cannot be closed: it stays open by {size:.3g} {unit}{_suspected(mechanism.model.joints, j)}"
        code, hint = "SC605", "check the axes and lengths of its loop, give fewer values, or start away from a straight pose"
        if is_kept:
            text = f"joint `{name}` is open by {size:.3g} {unit}, and `initial: {{assemble: false}}` does not let it close"
            code, hint = "SC476", CUT
        found.append(StartFault(code, world, j, size, path, text, hint))
    return found


def _suspected(joints: Joints, j: int) -> str:
    """What a joint may have wrong that no loop closes with, in words: its axis, if its type has one."""
    reads = CATALOGUE[TYPE_NAME[JointKind(joints.kind[j])]].reads if j >= 0 else ()
    return " (is its axis right?)" if {"axis", "axes"} & {*reads} else ""


def _slipping(mechanism: LoopProblem, residuals: Array, before: list[StartFault], is_kept: bool) -> list[StartFault]:
    """Loops that the velocities would open; else as `_open`."""
    speed = 1.0 + np.abs(mechanism.qd).max(axis=1, initial=0.0)
    known, found = {fault.world for fault in before}, []
    for world, row, size in _worst_rows(mechanism, residuals, OPEN_LOOP * speed):
        if world in known:
            continue
        name, path, j = _joint_of(mechanism, row)
        rate = f"{size:.3g} {unit_of_row(mechanism.constraints, row)}/s"
        suspected = _suspected(mechanism.model.joints, j)
        text = f"the initial velocities violate the closure of joint `{name}` by {rate}{suspected}"
        if mechanism.constraints.rows.form[row] in NONHOLONOMIC_FORMS:
            text = f"with the initial velocities joint `{name}` slips at {rate}"
        code, hint = "SC605", "check the axes of its loop, and give fewer, or consistent, velocities"
        if is_kept:
            text = f"the velocities open joint `{name}` at {rate}, and `initial: {{assemble: false}}` keeps them"
            code, hint = "SC476", "leave `assemble: false` out, or write the velocities of all joints of the loop"
        found.append(StartFault(code, world, j, size, path, text, hint))
    return found


def _joint_of(mechanism: LoopProblem, row: int) -> tuple[str, str, int]:
    """Name, path in the scene and index of the joint of a row."""
    j = int(mechanism.constraints.rows.joint[row])
    name = mechanism.model.joints.name[j]
    return name, f"joints.{name}", j
