"""Parts to tables: offsets, labels, columns of dofs, links."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from simcli.model.joints.links import build_links, spread, stack_worlds
from simcli.model.joints.mechanism import DOF_DEFAULTS, BodyInput, JointInput, Mechanism
from simcli.model.joints.topology import depth_first
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.joint_tables import Dofs, Joints, Mimics
from simcli.model.tables.model import Array, DriveMode, Model
from simcli.model.tables.signal_tables import Motions
from simcli.model.tables.start_tables import AsDrawn


def assemble(mechanism: Mechanism) -> Model:
    """Lay a mechanism out as a model. Signals and what they drive come later: they refer to the laid out dofs.

    Args:
        mechanism: its parts; every body is the outer body of one tree joint.

    Returns:
        The tables.
    """
    joints = mechanism.joints
    spans = _spans(joints)
    q_start, qd_start = (
        np.cumsum([0, *(getattr(span, name) for span in spans)], dtype=np.int32) for name in ("n_q", "n_qd")
    )
    steps = depth_first(*([getattr(part, name) for part in joints] for name in ("parent", "child", "is_tree")))
    assert len(steps) == len(mechanism.bodies), "every body hangs on the world"
    n_worlds = mechanism.n_worlds
    seed = mechanism.world_seed
    bodies = _bodies(mechanism.bodies)
    return Model(
        n_worlds=n_worlds,
        plane=mechanism.plane,
        bodies=bodies,
        joints=_joints(mechanism, spans, q_start, qd_start),
        dofs=_dofs(joints, spans, qd_start),
        links=build_links(bodies, joints, steps, q_start, qd_start),
        mimics=_mimics(joints, qd_start),
        shapes=mechanism.shapes,
        points=mechanism.points,
        cables=mechanism.cables,
        wrenches=mechanism.wrenches,
        motions=Motions.empty(NV=int(qd_start[-1])),
        gravity=_frozen(np.array(mechanism.gravity, float)),
        joint_q=_row([part.zero_q() if part.q is None else part.q for part in joints]),
        drawing=_drawing(joints, qd_start),
        joint_qd=_filled([_still(part) for part in joints], qd_start, 0.0),
        joint_f=_filled([part.effort for part in joints], qd_start, 0.0),
        param_name=mechanism.param_name,
        param_unit=mechanism.param_unit,
        param_value=_frozen(np.zeros((n_worlds, 0)) if mechanism.param_value is None else mechanism.param_value),
        world_seed=_frozen(np.zeros(n_worlds, np.uint64) if seed is None else seed),
    )


def _drawing(parts: list[JointInput], start: Array) -> AsDrawn:
    """The joints as drawn: where nothing is written."""
    drawn = [next(q for q in (part.drawn, part.q, part.zero_q()) if q is not None) for part in parts]
    named = np.repeat(np.array([part.named for part in parts], int), np.diff(start))
    return AsDrawn(_row(drawn), named, np.zeros(len(named), bool))


class _Span(NamedTuple):
    """What a joint takes of the tables.

    Attributes:
        n_q: coordinates.
        dof_dim: linear and angular velocities.
        axes: [1], (W|1, n_qd, 3), its motion axes.
    """

    n_q: int
    dof_dim: tuple[int, int]
    axes: Array

    @property
    def n_qd(self) -> int:
        """Velocities."""
        return sum(self.dof_dim)


def _spans(parts: list[JointInput]) -> list[_Span]:
    """Of each joint; free bodies have one motion in common, and so one span."""
    keys = [(part.kind, id(part.motion)) for part in parts]
    found = {
        key: _Span(part.n_q, part.entry.dof_dim(part.motion), _axes(part))
        for key, part in dict(zip(keys, parts, strict=True)).items()
    }
    return [found[key] for key in keys]


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array


def _still(part: JointInput) -> Array | None:
    """Velocities of a joint as written; NaN of slots that say nothing, which have none."""
    if part.qd is None and part.entry.coordinates == "slots":
        return np.full((1, part.n_qd), np.nan)
    return part.qd


def _row(pieces: list[Array]) -> Array:
    """Concatenate (W|1, n) pieces along the second axis."""
    if not pieces:
        return _frozen(np.zeros((1, 0)))
    n_worlds = max(map(len, pieces))
    return _frozen(np.concatenate(spread(pieces, n_worlds), axis=1))


def _filled(pieces: Iterable[Array | None], start: Array, default: float) -> Array:
    """One number of each dof of all joints, (W|1, NV), at its default where a joint says nothing."""
    given = [(j, np.atleast_2d(piece)) for j, piece in enumerate(pieces) if piece is not None]
    row = np.full((max((len(piece) for _, piece in given), default=1), start[-1]), default)
    for j, piece in given:
        row[:, start[j] : start[j + 1]] = piece
    return _frozen(row)


def _bodies(parts: list[BodyInput]) -> Bodies:
    return Bodies(
        name=tuple(part.name for part in parts),
        mass=stack_worlds([part.mass for part in parts], ()),
        com=stack_worlds([part.com for part in parts], (3,)),
        inertia=stack_worlds([part.inertia for part in parts], (3, 3)),
        q=stack_worlds([part.pose for part in parts], (7,)),
        kinematic=np.array([part.kinematic for part in parts], bool),
        n_vectors=np.array([part.n_vectors for part in parts], np.int32),
        compliance=stack_worlds([part.compliance for part in parts], ()),
        gravity_compensation=stack_worlds([part.gravity_compensation for part in parts], ()),
    )


def _joints(mechanism: Mechanism, spans: list[_Span], q_start: Array, qd_start: Array) -> Joints:
    parts = mechanism.joints
    return Joints(
        name=tuple(part.name for part in parts),
        **{
            name: np.array([getattr(part, name) for part in parts], np.int32)
            for name in ("kind", "parent", "child", "articulation")
        },
        **{name: np.array([getattr(part, name) for part in parts], bool) for name in ("is_tree", "enabled")},
        articulation_name=mechanism.articulation_name,
        X_p=stack_worlds([part.X_p for part in parts], (7,)),
        X_c=stack_worlds([part.X_c for part in parts], (7,)),
        init_angle=stack_worlds([part.init_angle for part in parts], ()),
        q_start=q_start,
        qd_start=qd_start,
        dof_dim=np.array([span.dof_dim for span in spans], np.int32).reshape(-1, 2),
        pitch=stack_worlds([part.motion.pitch for part in parts], ()),
        length=stack_worlds([part.length for part in parts], (2,)),
        compliance=stack_worlds([part.compliance for part in parts], ()),
        normal=stack_worlds([part.motion.normal for part in parts], (3,)),
        heading=stack_worlds([part.motion.heading for part in parts], (3,)),
    )


def labels(name: str, count: int) -> list[str]:
    """Labels of the coordinates of one joint: its name, or `name:i` if there are several."""
    return [name] if count == 1 else [f"{name}:{i}" for i in range(count)]


def _axes(part: JointInput) -> Array:
    if part.entry.coordinates == "slots":
        return np.broadcast_to(np.array([1.0, 0.0, 0.0]), (1, 2, 3))
    linear, angular = part.motion.linear, part.motion.angular
    lead = np.broadcast_shapes(linear.shape[:-2], angular.shape[:-2], (1,))
    pieces = [np.broadcast_to(axes, (*lead, *axes.shape[-2:])) for axes in (linear, angular)]
    return np.concatenate(pieces, axis=-2)


def _dofs(parts: list[JointInput], spans: list[_Span], start: Array) -> Dofs:
    axes = [span.axes for span in spans]
    n_worlds = max(map(len, axes), default=1)
    columns = {
        name: _filled([part.dof.get(name) for part in parts], start, default) for name, default in DOF_DEFAULTS.items()
    }
    counts = np.diff(start)
    return Dofs(
        label=_labels(parts, [span.n_qd for span in spans]),
        q_label=_labels(parts, [span.n_q for span in spans]),
        joint=np.repeat(np.arange(len(parts), dtype=np.int32), counts),
        axis=np.concatenate(spread(axes, n_worlds), axis=1) if axes else np.zeros((1, 0, 3)),
        drive_mode=_filled([part.drive_mode for part in parts], start, DriveMode.NONE)[0].astype(np.int32),
        q_given=np.repeat(np.array([part.q_given for part in parts], bool), counts),
        qd_given=_filled([part.qd_given for part in parts], start, 0.0)[0].astype(bool),
        **columns,
    )


def _labels(parts: list[JointInput], counts: list[int]) -> tuple[str, ...]:
    """Labels of the coordinates of all joints."""
    found: list[str] = []
    for part, n in zip(parts, counts, strict=True):
        found += labels(part.name, n)
    return tuple(found)


def _mimics(parts: list[JointInput], qd_start: Array) -> Mimics:
    """One row per dof of every joint that follows another."""
    geared = [(j, k) for j, part in enumerate(parts) if part.gear for k in range(part.n_qd)]
    most = max([parts[j].gear.polynomial.shape[-1] for j, _ in geared], default=2)
    padded = [np.pad(parts[j].gear.polynomial, ((0, 0), (0, most - parts[j].gear.polynomial.shape[-1]))) for j, _ in geared]
    polynomial = stack_worlds(padded, (most,))
    return Mimics(
        name=tuple(labels(parts[j].name, parts[j].n_qd)[k] for j, k in geared),
        follower=np.array([qd_start[j] + k for j, k in geared], np.int32),
        leader=np.array([qd_start[parts[j].gear.leader] + k for j, k in geared], np.int32),
        offset=polynomial[..., 0],
        ratio=polynomial[..., 1],
        curve=polynomial[..., 2:],
    )
