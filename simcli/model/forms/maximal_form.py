"""The maximal form of a model: every body on a free joint of its own, every joint of the scene a set of rows.

The maximal solver steps it. Joints of the scene keep their numbers and coordinates, so that the frames of a maximal form
are those of the scene with more columns at their ends. A free joint from the world, and in a planar scene a planar one,
is what a body alone has anyhow: it stays. So do the joints of bodies that have no inertia without them
(constraints/massless.py).

Which worlds take the forces of joints along the directions where a step ends (`joint_direction: auto`): along the
directions of its start a step is stable while h^2 f r / I is below about 4: f a force at the distance r from the centre
of a body of inertia I. The joints of a body can carry the weight of all bodies that hang together with it; what else is
in the scene changes nothing. Steps of one kind serve a whole batch, so that its worlds must agree: else a world would
move differently alone.

In any form that solvers step, combinations of coordinates are the coordinates of joints without bodies (`combined`).
"""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace

import numpy as np

from simcli import rotations as rot
from simcli.errors import Fault, SceneError, Where
from simcli.model.constraints.build import limit_damping
from simcli.model.constraints.massless import carrying
from simcli.model.joints.catalogue import CATALOGUE
from simcli.model.joints.edit import joint_inputs
from simcli.model.joints.gears import polynomial_at
from simcli.model.joints.links import beside, build_links
from simcli.model.joints.mechanism import DOF_DEFAULTS, JointInput
from simcli.model.joints.motion_axes import MotionAxis
from simcli.model.joints.state import State
from simcli.model.joints.topology import depth_first
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.joint_tables import Combinations, Dofs, Joints
from simcli.model.tables.model import WORLD, Array, DriveMode, JointKind, Model
from simcli.spec.schema.scene import MaximalSolver

FREE_SUFFIX = "~"  # of the names of joints that are added; no name in a scene has it


def maximal_form(model: Model, start: State) -> Model:
    """The maximal form of a model at a state.

    Args:
        model: the tables.
        start: the state.

    Returns:
        Tables whose first joints, dofs and coordinates are those of the model.
    """
    carried = carrying(model)
    stays = [j for j in range(model.n_joints) if has_own_free_joint(model, j)]
    held = {*model.joints.child[stays].tolist(), *(step.outer for step in carried)}
    stays += [step.joint for step in carried]
    free = [_free_joint(model.bodies, model.plane, b) for b in range(model.n_bodies) if b not in held]
    is_tree = np.concatenate((np.isin(np.arange(model.n_joints), stays), np.ones(len(free), bool)))
    joints = replace(with_joints(model.joints, free), is_tree=is_tree)
    parts = joint_inputs(model.joints, model.dofs) + free
    steps = depth_first(joints.parent.tolist(), joints.child.tolist(), is_tree.tolist())
    for part, tree in zip(parts, is_tree.tolist(), strict=True):
        part.is_tree = tree
    starts = [_start(model, part, start.body_q[:, part.child], start.body_qd[:, part.child]) for part in free]
    model = replace(model, dofs=with_damping(model))
    return replace(
        with_state(model, start, [q for q, _ in starts], [qd for _, qd in starts]),
        joints=joints,
        dofs=with_dofs(model.dofs, free, model.n_joints),
        links=build_links(model.bodies, parts, steps, joints.q_start, joints.qd_start),
    )


def has_own_free_joint(model: Model, j: int) -> bool:
    """True for a joint of the tree that holds nothing: free from the world, or planar in a planar scene."""
    joints = model.joints
    holds_nothing = joints.kind[j] == JointKind.FREE or (joints.kind[j] == JointKind.PLANAR and model.plane >= 0)
    return bool(joints.is_tree[j] and joints.parent[j] == WORLD and holds_nothing)


def _free_joint(bodies: Bodies, plane: int, body: int) -> JointInput:
    """The joint on which a body of the maximal form moves; in a planar scene, from where the body was authored."""
    name = f"{bodies.name[body]}{FREE_SUFFIX}"
    if plane < 0:
        return JointInput(name, JointKind.FREE, WORLD, body, CATALOGUE["free"].motion())
    normal = np.eye(3)[plane]
    in_plane = np.eye(3)[[(plane + 1) % 3, (plane + 2) % 3]]
    at = bodies.q[:, body]
    back = rot.transpose(rot.quat_to_matrix(at[:, 3:]))[:, None]
    motion = MotionAxis(rot.turn(back, in_plane[None]), rot.turn(back, normal[None, None]))
    return JointInput(name, JointKind.PLANAR, WORLD, body, motion, X_p=at)


def _start(model: Model, part: JointInput, pose: Array, twist: Array) -> tuple[Array, Array]:
    """Coordinates and velocities of an added joint, (W|1, n_q) and (W|1, n_qd)."""
    if part.kind == JointKind.FREE:
        return pose, twist
    R, R_p = (rot.quat_to_matrix(X[:, 3:]) for X in (pose, part.X_p))
    linear, normal = part.motion.linear, part.motion.angular[:, 0]
    relative = rot.matrix_to_quat(rot.multiply(rot.transpose(R_p), R))
    angle = 2.0 * np.arctan2(rot.dot(relative[:, :3], normal), relative[:, 3])
    rate = twist[:, :3] - rot.cross(twist[:, 3:], rot.turn(R, model.bodies.com[:, part.child]))
    gap, rate, spin = (rot.turn(rot.transpose(R_p), v) for v in (pose[:, :3] - part.X_p[:, :3], rate, twist[:, 3:]))
    q, qd = ((rot.dot(v[:, None], linear), about[:, None]) for v, about in ((gap, angle), (rate, rot.dot(spin, normal))))
    return np.concatenate(q, axis=1), np.concatenate(qd, axis=1)


def with_joints(joints: Joints, added: list[JointInput]) -> Joints:
    """The table with more joints of the tree behind its own."""
    m = len(added)
    counts = {"q_start": [p.n_q for p in added], "qd_start": [p.n_qd for p in added]}
    more = {
        "kind": [p.kind for p in added],
        "parent": [p.parent for p in added],
        "child": [p.child for p in added],
        "is_tree": [True] * m,
        "enabled": [True] * m,
        "articulation": [-1] * m,
        "dof_dim": [p.entry.dof_dim(p.motion) for p in added],
    }
    columns = {
        name: np.concatenate((getattr(joints, name), _like(getattr(joints, name), values))) for name, values in more.items()
    }
    columns |= {
        name: np.concatenate((getattr(joints, name), getattr(joints, name)[-1] + np.cumsum(n))).astype(np.int32)
        for name, n in counts.items()
    }
    columns |= {
        name: beside([getattr(joints, name), *(np.asarray(getattr(p, name))[:, None] for p in added)])
        for name in ("X_p", "X_c", "init_angle", "length", "compliance")
    }
    columns |= {
        name: beside([getattr(joints, name), np.zeros((1, m, *getattr(joints, name).shape[2:]))])
        for name in ("pitch", "normal", "heading")
    }
    return replace(joints, name=joints.name + tuple(p.name for p in added), **columns)


def _like(old: Array, values: list) -> Array:
    return np.array(values, old.dtype).reshape(-1, *old.shape[1:])


def with_dofs(dofs: Dofs, added: list[JointInput], first: int) -> Dofs:
    """The table with the dofs of joints, numbered from `first` on, behind its own; nothing acts on them."""
    n_qd, n_q = ([getattr(part, name) for part in added] for name in ("n_qd", "n_q"))
    total = sum(n_qd)
    columns = {name: beside([getattr(dofs, name), np.full((1, total), value)]) for name, value in DOF_DEFAULTS.items()}
    columns |= {name: np.concatenate((getattr(dofs, name), np.zeros(total, bool))) for name in ("q_given", "qd_given")}
    axes = [axes if axes.ndim == 3 else axes[None] for p in added for axes in (p.motion.linear, p.motion.angular)]
    labels = (tuple(p.name for p, count in zip(added, n, strict=True) for _ in range(count)) for n in (n_qd, n_q))
    return replace(
        dofs,
        label=dofs.label + next(labels),
        q_label=dofs.q_label + next(labels),
        axis=beside([dofs.axis, *axes]),
        joint=np.concatenate((dofs.joint, np.repeat(first + np.arange(len(added)), n_qd))).astype(np.int32),
        drive_mode=np.concatenate((dofs.drive_mode, np.full(total, DriveMode.NONE))).astype(np.int32),
        **columns,
    )


def with_state(model: Model, start: State, q: list[Array], qd: list[Array]) -> Model:
    """The model with the coordinates and velocities of joints behind its own; its joints are not yet in the tables."""
    total = sum(piece.shape[1] for piece in qd)
    return replace(
        model,
        joint_q=beside([start.joint_q, *q]),
        joint_qd=beside([start.joint_qd, *qd]),
        joint_f=beside([model.joint_f, np.zeros((1, total))]),
        motions=replace(
            model.motions,
            kind=np.concatenate((model.motions.kind, np.zeros(total, np.int32))),
            value=beside([model.motions.value, np.zeros((1, total))]),
        ),
    )


def with_damping(model: Model) -> Dofs:
    """The dofs with the damping of soft limits written out: without a tree nobody could tell what inertia they meet."""
    return replace(model.dofs, limit_damping=limit_damping(model))


STABLE = 0.5  # h^2 f r / I from which on directions turn


def directions_turn(model: Model, choice: str, h: float) -> bool:
    """Whether directions turn in the passes of a scene whose worlds agree.

    Args:
        model: in its maximal form.
        choice: auto, explicit or implicit.
        h: [s], step.
    """
    return bool(turning_worlds(model, h).any()) if choice == "auto" else choice == "implicit"


def turning_worlds(model: Model, h: float) -> Array:
    """Whether a step could turn a body too far by what its joints could carry, for each world: (W|1,).

    Args:
        model: in its maximal form or as the scene has it.
        h: [s], step.
    """
    carried = {step.joint for step in carrying(model)}
    holds = np.array([j not in carried and not has_own_free_joint(model, j) for j in range(model.n_joints)], bool)
    joints, bodies = model.joints, model.bodies
    g = np.linalg.norm(model.gravity, axis=-1)
    inertia = np.linalg.eigvalsh(bodies.inertia)[..., 1]  # that of a rod across it
    inertia = np.where(inertia > 0.0, inertia, np.inf)
    groups = _groups(inertia.shape[1], joints.parent, joints.child)
    worst = np.zeros(1)
    for j in np.flatnonzero(holds):
        for body, pose in ((joints.parent[j], joints.X_p[:, j]), (joints.child[j], joints.X_c[:, j])):
            if body >= 0:
                load = g * bodies.mass[:, groups == groups[body]].sum(axis=-1)  # [N]
                arm = np.linalg.norm(pose[..., :3] - bodies.com[:, body], axis=-1)
                worst = np.maximum(worst, arm * load / inertia[:, body])
    return worst * h * h > STABLE


def refuse_differing(
    model: Model, solver: MaximalSolver, where: Callable[[str], Where | None], numbers: Sequence[int] | None = None
) -> None:
    """Refuse a batch of which some worlds would take other steps of maximal coordinates than others.

    Args:
        model: of the worlds.
        solver: of the scene.
        where: place of a dotted path.
        numbers: of the worlds in their batch; None counts from 0.

    Raises:
        SceneError: SC645.
    """
    turning = turning_worlds(model, solver.dt) if solver.joint_direction == "auto" else np.zeros(1, bool)
    if turning.any() and not turning.all():
        one, other = (int(k) if numbers is None else numbers[int(k)] for k in (np.argmax(turning), np.argmin(turning)))
        message = (
            f"loads on light bodies in world {one} are too heavy for `joint_direction: explicit` with dt = "
            f"{solver.dt:g} s, but not those in world {other}, and all worlds of a batch use the same"
        )
        hint = "write `joint_direction: implicit` in `solver`, which suits both, or a smaller `dt`"
        raise SceneError([Fault("SC645", message, where("solver"), hint)])


def _groups(n: int, parent: Array, child: Array) -> Array:
    """A number for each body, one for those that joints hold together, not by way of the world."""
    group = np.arange(n)
    for a, b in zip(parent.tolist(), child.tolist(), strict=True):
        if a >= 0 and b >= 0:
            group[group == group[a]] = group[b]
    return group


DOF_COLUMNS = tuple(one.name for one in fields(Combinations) if one.name in DOF_DEFAULTS)  # as of dofs


def combined(model: Model) -> Model:
    """The form of a model in which each combination is the coordinate of a joint without bodies, behind all others.

    What acts along it is what acts on any joint outside the tree: laws on a row (constraints/build.py).

    Args:
        model: as it begins; also its dofs have no such joints yet.

    Returns:
        Tables whose first joints, dofs and coordinates are those of the model.
    """
    combinations = model.combinations
    if not combinations.name:
        return model
    none, axis = np.zeros((1, 0, 3)), np.array([[[1.0, 0.0, 0.0]]])
    parts = [
        JointInput(
            f"{name}{FREE_SUFFIX}",
            JointKind.PRISMATIC if linear else JointKind.REVOLUTE,
            WORLD,
            WORLD,
            MotionAxis(axis, none) if linear else MotionAxis(none, axis),
            is_tree=False,
        )
        for name, linear in zip(combinations.name, combinations.is_linear.tolist(), strict=True)
    ]
    joints = with_joints(model.joints, parts)
    joints = replace(joints, is_tree=np.append(model.joints.is_tree, np.zeros(len(parts), bool)))
    dofs, n = with_dofs(model.dofs, parts, model.n_joints), model.n_qd
    columns = {name: beside([getattr(dofs, name)[:, :n], getattr(combinations, name)]) for name in DOF_COLUMNS}
    dofs = replace(dofs, drive_mode=np.append(model.dofs.drive_mode, combinations.drive_mode).astype(np.int32), **columns)
    at = model.joints.q_start[model.dofs.joint] + np.arange(n) - model.joints.qd_start[model.dofs.joint]
    start = State.of(model)
    q, qd = ([one[:, None] for one in values_at(combinations, now).T] for now in (start.joint_q[:, at], start.joint_qd))
    return replace(with_state(model, start, q, qd), joints=joints, dofs=dofs)


def values_at(combinations: Combinations, coordinates: Array) -> Array:
    """Sums of some coordinates.

    Args:
        combinations: the table.
        coordinates: (W, NV), of dofs that have one.

    Returns:
        (W, X).
    """
    terms, _slope = polynomial_at(combinations.term_polynomial, coordinates[:, combinations.term_dof])
    return np.stack(
        [terms[:, a:b].sum(axis=1) for a, b in zip(combinations.term_start[:-1], combinations.term_start[1:], strict=True)],
        axis=1,
    )
