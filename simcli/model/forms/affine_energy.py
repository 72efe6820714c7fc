"""Energies of affine bodies: polynomials of second degree of the bodies' coordinates, and what is a function of them.

    squares      stiffness phi^2 / 2       rigidity, and the rows of joints
    coordinates  V(x) of a joint           x = atan2(s, c) of two rows, or one row along each body's axis
    lengths      V(sqrt(phi)) of a spring  phi the square of its length; over pulleys of a sum of such roots

libuipc's joints have its rows, redundant ones included; all other types have those of the catalogue.

Source: Lan et al. (2022), joints of affine bodies, and the joints of libuipc. Deviation: the two points of a revolute joint
are 1 m apart, the anchor in the middle; coordinates are those of the anchor frames, so that they hold `init_angle`.
"""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from simcli import rotations as rot
from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.constraint_tables import Constraints, Form
from simcli.model.forces.spring import Segments, segments_of
from simcli.model.forms.frame_pairs import frame_columns
from simcli.model.forms.polynomials import AffineForm, Forms, Polynomial, Vector, anchor_pair_row, constant_vector, product
from simcli.model.forms.quadratic_rows import Quadratic, flat_tables
from simcli.model.joints.catalogue import kinds_of
from simcli.model.joints.tree_kinematics import body_rotations, link_points, links_of
from simcli.model.tables.model import Array, DriveMode, JointKind, Model
from simcli.model.tables.signal_tables import Driven
from simcli.model.tables.table_base import Table
from simcli.spec.checks.joint_fields import AFFINE_COORDINATES

OWN = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.BALL, JointKind.FIXED)  # libuipc's base joints
WITH_COORDINATES = kinds_of(AFFINE_COORDINATES)
HALF_SPAN = 0.5  # [m] from the anchor of a revolute joint to each of the points that it joins
ONE = np.ones(1)


class Kind(IntEnum):
    """How a coordinate follows from its two rows."""

    TURN = 0  # atan2 of the second and the first
    LINE = 1  # either, each counts half


@dataclass(frozen=True)
class Energies(Table):
    """Rows, and what is a function of them.

    Attributes:
        rows: the polynomials.
        stiffness: [J, N/m], (W|1, R), of squares, 0 for other rows.
        label: (R,).  joint: (R,) joint of the model, -1 for none.
        curve_start, curve_at, curve_coef: second derivatives of each row, by coordinates (i >= j).
        coordinate_kind, coordinate_dof, coordinate_row: (C,), Kind, dof and the first of its two rows.
        length_start: (S + 1,) offsets of the springs into length_row: (G,) rows of their straight parts.
    """

    rows: Quadratic
    stiffness: Array
    label: tuple[str, ...]
    joint: Array
    curve_start: Array
    curve_at: Array
    curve_coef: Array
    coordinate_kind: Array
    coordinate_dof: Array
    coordinate_row: Array
    length_start: Array
    length_row: Array


@dataclass
class _Collection:
    """Rows as they are found."""

    model: Model
    forms: Forms
    rows: list[Polynomial] = field(default_factory=list)
    stiffness: list[Array] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    joint: list[int] = field(default_factory=list)
    coordinates: list[tuple[int, int, int]] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    def add(self, row: Polynomial, stiffness: Array, joint: int, label: str) -> None:
        """A row."""
        self.rows.append(row)
        self.stiffness.append(stiffness)
        self.joint.append(joint)
        self.label.append(label)

    def add_pair(self, one: Polynomial, other: Polynomial, kind: Kind, dof: int) -> None:
        """The two rows of a coordinate, with entries at the same places."""
        both = one.coordinates | other.coordinates
        one.touches = other.touches = both
        self.coordinates.append((int(kind), dof, len(self.rows)))
        label = self.model.dofs.label[dof]
        for row, end in ((one, ":x"), (other, ":y")):
            self.add(row, np.zeros(1), int(self.model.dofs.joint[dof]), f"{label}{end}")


class _Anchors:
    """The two anchors of a joint: points and directions as forms."""

    def __init__(self, forms: Forms, j: int):
        model, joints = forms.model, forms.model.joints
        self.forms, self.ends, self.turns, self.points = forms, [], [], []
        for body, X in ((joints.parent[[j]], joints.X_p[:, [j]]), (joints.child[[j]], joints.X_c[:, [j]])):
            link = int(links_of(model.links, body)[0])
            self.ends.append(link)
            self.turns.append((body_rotations(model.links, body) @ rot.quat_to_matrix(X[..., 3:]))[:, 0])
            self.points.append(forms.point(link, link_points(model.links, body, X[..., :3])[:, 0]))
        self.gap = minus(self.points[1], self.points[0])

    def directions(self, v: Array) -> list[Vector]:
        """A direction (W|1, 3) of the anchor frames in the parent and in the child."""
        return [self.forms.direction(link, rot.turn(turn, v)) for link, turn in zip(self.ends, self.turns, strict=True)]


def minus(a: Vector, b: Vector) -> Vector:
    """A - b."""
    return [one + other.times(-ONE) for one, other in zip(a, b, strict=True)]


def linear_rows(v: Vector) -> list[Polynomial]:
    """The three components of a vector as rows."""
    return [Polynomial(one) for one in v]


def cross_rows(a: Vector, b: Vector) -> list[Polynomial]:
    """The three components of a x b as rows."""
    rows = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        rows.append(_sum(product([a[i]], [b[j]], ONE), product([a[j]], [b[i]], -ONE)))
    return rows


def energies_of(model: Model, phases: tuple[Model, ...] = ()) -> Energies:
    """The energies of a model of a scene for the affine solver.

    Args:
        model: in natural form, with `affine`.
        phases: the same model as events change it.

    Returns:
        The tables.
    """
    found = _Collection(model, Forms(model))
    constraints = constraints_of(model)
    for j in range(model.n_joints):
        if model.joints.kind[j] in OWN and not model.joints.is_tree[j] and j not in model.columns.prescribed:
            _own_rows(found, j)
    _other_rows(found, constraints)
    _rigidity(found, constraints)
    for dof in _driven_dofs((model, *phases)):
        _coordinate(found, int(dof))
    segments = segments_of(model.springs)
    for g in range(len(segments.spring)):
        _length(found, segments, g)
    return _tables(found, segments.first)


def _own_rows(found: _Collection, j: int) -> None:
    """The rows of libuipc's base joints."""
    model, anchors = found.model, _Anchors(found.forms, j)
    kind, first = JointKind(model.joints.kind[j]), int(model.joints.qd_start[j])
    rows = []
    if kind in (JointKind.BALL, JointKind.FIXED):
        rows += linear_rows(anchors.gap)
    if kind == JointKind.FIXED:
        for v in np.eye(3):
            rows += linear_rows(minus(*anchors.directions(v[None])[::-1]))
    elif kind != JointKind.BALL:
        frame = rot.frame_along(model.dofs.axis[:, first])
        n, b, t = (anchors.directions(frame[..., k]) for k in range(3))
        if kind == JointKind.REVOLUTE:
            for side in (-HALF_SPAN, HALF_SPAN):
                shift = [x.times(side * ONE) for x in minus(t[1], t[0])]
                rows += linear_rows([x + y for x, y in zip(anchors.gap, shift, strict=True)])
        else:
            rows += cross_rows(anchors.gap, t[0]) + cross_rows(anchors.gap, t[1])
            rows += linear_rows(minus(n[1], n[0])) + linear_rows(minus(b[1], b[0]))
    _add_joint(found, j, rows)


def _add_joint(found: _Collection, j: int, rows: list[Polynomial]) -> None:
    model = found.model
    stiffness = model.affine.joint_stiffness[:, j] * float(model.joints.enabled[j])
    for k, row in enumerate(rows):
        found.add(row, stiffness, j, f"{model.joints.name[j]}:{k}")


def _other_rows(found: _Collection, constraints: Constraints) -> None:
    """The rows of the catalogue, of joints of other types."""
    anchor_pairs, table, model = constraints.anchor_pairs, constraints.rows, found.model
    for p, j in enumerate(anchor_pairs.joint.tolist()):
        if j < 0 or model.joints.kind[j] in OWN or j in model.columns.prescribed:
            continue
        ends = [int(anchor_pairs.link_a[p]), int(anchor_pairs.link_b[p])]
        x_a, x_b = (
            found.forms.point(link, place[:, p])
            for link, place in zip(ends, (anchor_pairs.point_a, anchor_pairs.point_b), strict=True)
        )
        first, end = anchor_pairs.row_start[p : p + 2]
        chosen = [r for r in range(first, end) if table.is_hard[r] and table.dof[r] < 0]
        rows = []
        for r in chosen:
            row = anchor_pair_row(found.forms, table, r, minus(x_b, x_a), ends)
            if row is None:
                raise ValueError(f"joint `{model.joints.name[j]}` has an equation that is no polynomial of second degree")
            rows.append(row)
        _add_joint(found, j, rows)


def _rigidity(found: _Collection, constraints: Constraints) -> None:
    """|A^T A - 1|^2: twice the square of a product of different vectors."""
    model, table = found.model, constraints.rows
    link_of = {int(first): k for k, first in enumerate(model.links.qd_start)}
    for r in np.flatnonzero(table.form == Form.RIGID).tolist():
        body = int(model.joints.child[table.joint[r]])
        same = table.vector_a[r] == table.vector_b[r]
        one, other = (_vector(found.forms, link_of, int(x[r])) for x in (table.vector_a, table.vector_b))
        row = product(one, other, ONE)
        row.affine = row.affine + AffineForm(-table.constant[:, r])
        stiffness = model.affine.shape_stiffness[:, body] * (2.0 if same else 4.0)
        found.add(row, stiffness * float(not model.affine.is_arap[body]), -1, table.label[r])


def _vector(forms: Forms, link_of: dict[int, int], first: int) -> Vector:
    start = max(s for s in link_of if s <= first)
    return [forms.number(link_of[start], (first - start) // 3, k) for k in range(3)]


def _driven_dofs(phases: tuple[Model, ...]) -> Array:
    """Dofs of the scene on which something acts, in any phase."""
    model = phases[0]
    n = len(model.affine.has_driving)
    inputs = model.inputs
    acts = np.zeros(n, bool)
    for one in phases:
        dofs = one.dofs
        acts |= one.affine.has_driving | (dofs.drive_mode[:n] != DriveMode.NONE)
        acts |= np.isfinite(dofs.limit_lower[:, :n]).any(axis=0) | np.isfinite(dofs.limit_upper[:, :n]).any(axis=0)
        efforts = (dofs.damping, dofs.spring_stiffness, dofs.friction, dofs.armature, one.joint_f)
        acts |= np.any([np.any(x[:, :n], axis=0) for x in efforts], axis=0) | (one.motions.kind[:n] > 0)
        acts |= np.isfinite(dofs.velocity_limit[:, :n]).any(axis=0)
    acts &= ~np.isin(model.dofs.joint[:n], model.columns.prescribed)  # they are where they are
    acts[np.concatenate((model.mimics.follower, model.mimics.leader)).astype(int)] = True
    acts[inputs.item[np.isin(inputs.column, (Driven.JOINT_F, Driven.AIM))]] = True
    return np.flatnonzero(acts & np.isin(model.joints.kind[model.dofs.joint[:n]], WITH_COORDINATES))


def _coordinate(found: _Collection, dof: int) -> None:
    """The rows of the coordinate of a dof, by the axis of its joint."""
    model = found.model
    j = int(model.dofs.joint[dof])
    anchors = _Anchors(found.forms, j)
    frame = rot.frame_along(model.dofs.axis[:, dof])
    n, b, t = (anchors.directions(frame[..., k]) for k in range(3))
    if dof - model.joints.qd_start[j] < model.joints.dof_dim[j, 0]:
        found.add_pair(product(t[0], anchors.gap, ONE), product(t[1], anchors.gap, ONE), Kind.LINE, dof)
        return
    half = np.full(1, 0.5)
    cosine = _sum(product(n[0], n[1], half), product(b[0], b[1], half))
    sine = _sum(product(b[0], n[1], half), product(n[0], b[1], -half))
    found.add_pair(cosine, sine, Kind.TURN, dof)


def _sum(one: Polynomial, other: Polynomial) -> Polynomial:
    return Polynomial(one.affine + other.affine, one.products + other.products)


def _length(found: _Collection, segments: Segments, g: int) -> None:
    """The square of the length of a straight part of a spring."""
    model = found.model
    bodies, places = segments.body[g], segments.point[:, g]
    ends = []
    for side in range(2):
        body = bodies[[side]]
        place = link_points(model.links, body, places[:, side][:, None])[:, 0]
        link = int(links_of(model.links, body)[0])
        ends.append(found.forms.point(link, place, full=True) if link >= 0 else constant_vector(place))
    gap = minus(ends[1], ends[0])
    found.lengths.append(len(found.rows))
    found.add(product(gap, gap, ONE), np.zeros(1), -1, f"{model.springs.name[segments.spring[g]]}:square")


def _tables(found: _Collection, length_start: Array) -> Energies:
    curves = [sorted(row.curvature().items()) for row in found.rows]
    flat = [item for curve in curves for item in curve]
    coordinates = np.array(found.coordinates, int).reshape(-1, 3)
    n_worlds = max((len(value) for _, value in flat), default=1)
    coef = [np.broadcast_to(value, n_worlds) for _, value in flat]
    stiffness = np.broadcast_arrays(*found.stiffness) if found.stiffness else []
    return Energies(
        rows=flat_tables(found.forms, found.rows, [], frame_columns(found.forms, ()), np.ones(len(found.rows), bool)),
        stiffness=np.stack(stiffness, axis=1) if stiffness else np.zeros((1, 0)),
        label=tuple(found.label),
        joint=np.array(found.joint, int),
        curve_start=np.concatenate(([0], np.cumsum([len(curve) for curve in curves]))).astype(int),
        curve_at=np.array([at for at, _ in flat], int).reshape(-1, 2),
        curve_coef=np.stack(coef, axis=1) if coef else np.zeros((1, 0)),
        coordinate_kind=coordinates[:, 0],
        coordinate_dof=coordinates[:, 1],
        coordinate_row=coordinates[:, 2],
        length_start=length_start,
        length_row=np.array(found.lengths, int),
    )
