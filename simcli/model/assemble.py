"""Parts to tables: offsets, labels, columns of dofs, links."""

import numpy as np

from simcli.model.actuation import no_inputs, no_motions, no_signals
from simcli.model.links import build_links, pile, spread
from simcli.model.mechanism import DOF_DEFAULTS, BodyPart, JointPart, Mechanism
from simcli.model.tables import Array, Bodies, Dofs, DriveMode, Joints, Mimics, Model
from simcli.model.topology import depth_first


def assemble(mechanism: Mechanism) -> Model:
    """Lay a mechanism out as a model. Signals and what they drive come later: they refer to the laid out dofs.

    Args:
        mechanism: its parts; every body is the outer body of one tree joint.

    Returns:
        The tables.
    """
    joints = mechanism.joints
    q_start = np.cumsum([0, *(part.n_q for part in joints)]).astype(np.int32)
    qd_start = np.cumsum([0, *(part.n_qd for part in joints)]).astype(np.int32)
    steps = depth_first(*([getattr(part, name) for part in joints] for name in ("parent", "child", "is_tree")))
    assert len(steps) == len(mechanism.bodies), "every body hangs on the world"
    n_worlds = mechanism.n_worlds
    seed = mechanism.world_seed
    return Model(
        n_worlds=n_worlds,
        plane=mechanism.plane,
        bodies=_bodies(mechanism.bodies),
        joints=_joints(mechanism, q_start, qd_start),
        dofs=_dofs(joints),
        links=build_links(mechanism.bodies, joints, steps, q_start, qd_start),
        mimics=_mimics(joints, qd_start),
        shapes=mechanism.shapes,
        points=mechanism.points,
        springs=mechanism.springs,
        cables=mechanism.cables,
        wrenches=mechanism.wrenches,
        signals=no_signals(),
        inputs=no_inputs(),
        motions=no_motions(int(qd_start[-1])),
        gravity=_frozen(np.array(mechanism.gravity, float)),
        joint_q=_row([part.zero_q() if part.q is None else part.q for part in joints]),
        joint_qd=_row([_or_zero(part.qd, part) for part in joints]),
        joint_f=_row([np.zeros((1, part.n_qd)) if part.effort is None else part.effort for part in joints]),
        param_name=mechanism.param_name,
        param_unit=mechanism.param_unit,
        param_value=_frozen(np.zeros((n_worlds, 0)) if mechanism.param_value is None else mechanism.param_value),
        world_seed=_frozen(np.zeros(n_worlds, np.uint64) if seed is None else seed),
    )


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array


def _or_zero(value: Array | None, part: JointPart) -> Array:
    if value is not None:
        return value
    return np.full((1, part.n_qd), np.nan if part.entry.coordinates == "slots" else 0.0)


def _row(pieces: list[Array]) -> Array:
    """Concatenate (W|1, n) pieces along the second axis."""
    if not pieces:
        return _frozen(np.zeros((1, 0)))
    n_worlds = max(len(piece) for piece in pieces)
    return _frozen(np.concatenate(spread(pieces, n_worlds), axis=1))


def _bodies(parts: list[BodyPart]) -> Bodies:
    return Bodies(
        name=tuple(part.name for part in parts),
        mass=pile([part.mass for part in parts], ()),
        com=pile([part.com for part in parts], (3,)),
        inertia=pile([part.inertia for part in parts], (3, 3)),
        q=pile([part.pose for part in parts], (7,)),
        kinematic=np.array([part.kinematic for part in parts], bool),
        n_vectors=np.array([part.n_vectors for part in parts], np.int32),
        compliance=pile([part.compliance for part in parts], ()),
    )


def _joints(mechanism: Mechanism, q_start: Array, qd_start: Array) -> Joints:
    parts = mechanism.joints
    return Joints(
        name=tuple(part.name for part in parts),
        **{name: np.array([getattr(part, name) for part in parts], np.int32)
           for name in ("kind", "parent", "child", "articulation")},
        **{name: np.array([getattr(part, name) for part in parts], bool) for name in ("is_tree", "enabled")},
        articulation_name=mechanism.articulation_name,
        X_p=pile([part.X_p for part in parts], (7,)),
        X_c=pile([part.X_c for part in parts], (7,)),
        q_start=q_start,
        qd_start=qd_start,
        dof_dim=np.array([part.entry.dof_dim(part.motion) for part in parts], np.int32).reshape(-1, 2),
        pitch=pile([part.motion.pitch for part in parts], ()),
        length=pile([part.length for part in parts], (2,)),
        compliance=pile([part.compliance for part in parts], ()),
    )  # fmt: skip


def labels(name: str, count: int) -> list[str]:
    """Labels of the coordinates of one joint: its name, or `name:i` if there are several."""
    return [name] if count == 1 else [f"{name}:{i}" for i in range(count)]


def _axes(part: JointPart) -> Array:
    if part.entry.coordinates == "slots":
        return np.broadcast_to(np.array([1.0, 0.0, 0.0]), (1, 2, 3))
    linear, angular = part.motion.linear, part.motion.angular
    lead = np.broadcast_shapes(linear.shape[:-2], angular.shape[:-2], (1,))
    pieces = [np.broadcast_to(axes, (*lead, *axes.shape[-2:])) for axes in (linear, angular)]
    return np.concatenate(pieces, axis=-2)


def _dofs(parts: list[JointPart]) -> Dofs:
    axes = [_axes(part) for part in parts]
    n_worlds = max((len(a) for a in axes), default=1)
    counts = [part.n_qd for part in parts]
    columns = {name: _column(parts, counts, name, default) for name, default in DOF_DEFAULTS.items()}
    modes = [mode for part, n in zip(parts, counts, strict=True) for mode in (part.drive_mode or (DriveMode.NONE,) * n)]
    return Dofs(
        label=tuple(label for part in parts for label in labels(part.name, part.n_qd)),
        q_label=tuple(label for part in parts for label in labels(part.name, part.n_q)),
        joint=np.repeat(np.arange(len(parts), dtype=np.int32), counts),
        axis=np.concatenate(spread(axes, n_worlds), axis=1) if axes else np.zeros((1, 0, 3)),
        drive_mode=np.array(modes, np.int32),
        q_given=_flags([np.full(part.n_qd, part.q_given) for part in parts]),
        qd_given=_flags([part.qd_given if part.qd_given is not None else np.zeros(part.n_qd) for part in parts]),
        **columns,
    )


def _column(parts: list[JointPart], counts: list[int], name: str, default: float) -> Array:
    """One column of all dofs, (W|1, NV), at its default where a joint says nothing."""
    given = [part.dof.get(name) for part in parts]
    blank = {n: np.full((1, n), default) for n in set(counts)}
    return _row([blank[n] if value is None else np.asarray(value, float) for value, n in zip(given, counts, strict=True)])


def _flags(pieces: list[Array]) -> Array:
    return np.concatenate([np.zeros(0), *pieces]).astype(bool)


def _mimics(parts: list[JointPart], qd_start: Array) -> Mimics:
    """One row per dof of every joint that follows another."""
    geared = [(j, k) for j, part in enumerate(parts) if part.gear for k in range(part.n_qd)]
    return Mimics(
        name=tuple(labels(parts[j].name, parts[j].n_qd)[k] for j, k in geared),
        follower=np.array([qd_start[j] + k for j, k in geared], np.int32),
        leader=np.array([qd_start[parts[j].gear.leader] + k for j, k in geared], np.int32),
        ratio=pile([parts[j].gear.ratio for j, _ in geared], ()),
        offset=pile([parts[j].gear.offset for j, _ in geared], ()),
    )
