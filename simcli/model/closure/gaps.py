"""Residuals of constraint rows at a posture of the tree, and their pulls on the two links. All worlds at once.

A row acts between two links by a force F and a couple C per unit multiplier (constraint_tables.py lists the kinds), so that

    d phi = F . (dx_B - dx_A) + C . (dr_B - dr_A)     dx at the anchors, of A at that of B where F turns with A

This is exact, but for the angle about an axis that A and B do not share yet: there it is exact where the loop is closed.

Notation: a, b the sides of A and B; x anchors in the world; g = x_B - x_A.
"""

import math
from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.closure.chart import Chart, angle_between
from simcli.model.closure.turned import far_rotation, held_turns, may_be_far
from simcli.model.constraints.constraint_tables import (
    Constraints,
    Form,
    Rows,
    anchor_pair_of_row,
    coordinate_rows,
    start_angles,
)
from simcli.model.joints.gears import polynomial_at
from simcli.model.joints.joint_rows import held_velocity
from simcli.model.signals.inputs import balls_by_position, prescribed
from simcli.model.tables.model import Array, Model

_FULL_TURN = 2.0 * math.pi
_TINY_LENGTH = 1e-12  # [m] below, two points have no direction
_SUCCESSIVE_ANGLES = {Form.CARDAN: 2, Form.EULER: 3}


@dataclass(frozen=True)
class Gaps:
    """Rows at a posture.

    Attributes:
        residual: [m, rad or 1], (W, R).
        force: [1], (W, R, 3), F, world.
        couple: [m or 1], (W, R, 3), C, world.
        at_a, at_b: [m], (W, R, 3), where F acts on A and on B, world.
        angle: [rad], (W, R), of rows that count full turns, else 0.
        slope: (W, T), of the terms of gears, what the row changes with the coordinate.
    """

    residual: Array
    force: Array
    couple: Array
    at_a: Array
    at_b: Array
    angle: Array
    slope: Array


@dataclass(frozen=True)
class Meter:
    """What measures the rows of a model.

    Attributes:
        constraints: of the model in tree form.
        anchor_pair: (R,) pair of anchors of each row, -1 for gears.
        row_of_dof: (NV,) row that is the coordinate of a dof outside the tree, else -1.
        q_of_dof: (NV,) index into joint_q of a dof with one coordinate.
        first_angle: [rad], (W|1, R), what each turn begins with.
        target_rotation: (W|1, R, 3, 3), child against parent, of prescribed balls; the identity for other rows.
        held: (NJ + 1,), turns that each joint holds, 0 of no joint.
        is_flat: whether the scene is planar.
    """

    constraints: Constraints
    anchor_pair: Array
    row_of_dof: Array
    q_of_dof: Array
    first_angle: Array
    target_rotation: Array
    held: Array
    is_flat: bool

    @staticmethod
    def of(model: Model, constraints: Constraints) -> "Meter":
        """The meter of a model and its rows."""
        joints, joint = model.joints, model.dofs.joint
        q_of_dof = joints.q_start[joint] + np.arange(model.n_qd) - joints.qd_start[joint]
        return Meter(
            constraints,
            anchor_pair_of_row(constraints),
            coordinate_rows(constraints.rows, model.n_qd),
            q_of_dof,
            start_angles(constraints, model),
            _target_rotations(model, constraints.rows),
            held_turns(model, np.append(np.arange(model.n_joints), -1)),
            model.plane >= 0,
        )

    def gaps(self, chart: Chart, joint_q: Array, near: Array) -> Gaps:
        """Rows at a posture.

        Args:
            chart: of the posture.
            joint_q: [m, rad, 1], (W, NQ).
            near: [rad], (W, R), the angles before, which tell full turns.
        """
        rows, found = self.constraints.rows, _blank(len(joint_q), self.constraints.rows)
        ends = _Ends(self, chart)
        for form in np.unique(rows.form):
            chosen = np.flatnonzero(rows.form == form)
            if form == Form.GEAR:
                continue
            ends.pick(chosen)
            found.at_a[:, chosen] = ends.x_a if form == Form.MEET else ends.x_b
            found.at_b[:, chosen] = ends.x_b
            found.angle[:, chosen] = near[:, chosen]
            _MEASURES[Form(form)](ends, found, chosen)
        for r in np.flatnonzero(rows.form == Form.GEAR):
            found.residual[:, r] = -rows.constant[:, r]
            for n in range(rows.term_start[r], rows.term_start[r + 1]):
                x = self._coordinate(found, joint_q, int(rows.term_dof[n]))
                powers = rows.coefficient[:, rows.power_start[n] : rows.power_start[n + 1]]
                value, found.slope[:, n] = polynomial_at(np.insert(powers, 0, 0.0, axis=-1), x)
                found.residual[:, r] += value
        return found

    def _coordinate(self, found: Gaps, joint_q: Array, dof: int) -> Array:
        row = int(self.row_of_dof[dof])
        return found.residual[:, row] if row >= 0 else joint_q[:, self.q_of_dof[dof]]


def _target_rotations(model: Model, rows: Rows) -> Array:
    motion = prescribed(model, 0.0)[..., 0]
    found = np.broadcast_to(np.eye(3), (len(motion), rows.n, 3, 3)).copy()
    for first in balls_by_position(model.joints, model.motions):
        chosen = (rows.dof >= first) & (rows.dof < first + 3)
        found[:, chosen] = rot.quat_to_matrix(rot.quat_from_vector(motion[:, first : first + 3]))[:, None]
    return found


def _blank(lead: int, rows: Rows) -> Gaps:
    force, couple, at_a, at_b = (np.zeros((lead, rows.n, 3), order="F") for _ in range(4))
    residual, angle = (np.zeros((lead, rows.n), order="F") for _ in range(2))
    return Gaps(residual, force, couple, at_a, at_b, angle, np.zeros((lead, len(rows.term_dof)), order="F"))


class _Ends:
    """Anchors and directions of the rows of one kind."""

    def __init__(self, meter: Meter, chart: Chart):
        self.anchor_pairs, self.rows, self.chart = meter.constraints.anchor_pairs, meter.constraints.rows, chart
        self.of_row, self.target_rotation, self.held, self.is_flat = (
            meter.anchor_pair,
            meter.target_rotation,
            meter.held,
            meter.is_flat,
        )
        c = self.anchor_pairs
        self.anchors = [
            chart.o[:, link] + rot.turn(chart.R[:, link], point)
            for link, point in ((c.link_a, c.point_a), (c.link_b, c.point_b))
        ]

    def pick(self, chosen: Array) -> None:
        """Turn to some rows."""
        c, chart, k = self.anchor_pairs, self.chart, self.of_row[chosen]
        self.k, self.chosen = k, chosen
        self.R_a, self.R_b = (_entries(chart.R, link[k]) for link in (c.link_a, c.link_b))
        self.x_a, self.x_b = (_entries(anchor, k) for anchor in self.anchors)
        self.gap = self.x_b - self.x_a
        self.constant = self.rows.constant[:, chosen]

    def column(self, name: str) -> Array:
        """A vector of each row, as the table has it."""
        return getattr(self.rows, name)[:, self.chosen]

    @property
    def frames(self) -> tuple[Array, Array]:
        """Anchor axes of both sides in the world."""
        frame_a, frame_b = (frame[:, self.k] for frame in (self.anchor_pairs.frame_a, self.anchor_pairs.frame_b))
        return rot.multiply(self.R_a, frame_a), rot.multiply(self.R_b, frame_b)


def _entries(array: Array, which: Array) -> Array:
    """Entries along the second axis, not to be written to: of one that all mean, as the rows of a joint do, no copies."""
    if (which == which[:1]).all():
        return np.broadcast_to(array[:, which[:1]], (len(array), len(which), *array.shape[2:]))
    return array[:, which]


def _meet(e: _Ends, found: Gaps, chosen: Array) -> None:
    found.force[:, chosen] = e.column("on_a")
    found.residual[:, chosen] = rot.dot(e.column("on_a"), e.gap) - e.constant


def _apart(e: _Ends, found: Gaps, chosen: Array) -> None:
    found.force[:, chosen] = e.gap / e.constant[..., None]
    found.residual[:, chosen] = 0.5 * (rot.dot(e.gap, e.gap) / e.constant - e.constant)


def _length(e: _Ends, found: Gaps, chosen: Array) -> None:
    length = np.sqrt(rot.dot(e.gap, e.gap))
    found.force[:, chosen] = e.gap / np.maximum(length, _TINY_LENGTH)[..., None]
    found.residual[:, chosen] = length


def _along(e: _Ends, found: Gaps, chosen: Array) -> None:
    force = rot.turn(e.R_a, e.column("on_a"))
    found.force[:, chosen] = force
    found.residual[:, chosen] = rot.dot(force, e.gap) - e.constant


def _dot(e: _Ends, found: Gaps, chosen: Array) -> None:
    d_a, d_b = rot.turn(e.R_a, e.column("on_a")), rot.turn(e.R_b, e.column("on_b"))
    found.couple[:, chosen] = rot.cross(d_b, d_a)
    found.residual[:, chosen] = rot.dot(d_a, d_b) - e.constant
    _hold_frames(e, found, chosen)


def _hold_frames(e: _Ends, found: Gaps, chosen: Array) -> None:
    """Rows of joints whose frames are far from what they allow, in directions that the products do not lead back from.

        residual = phi . (d_b x d_a),   phi from `far_rotation`, d_b as it is where phi is none

    The couple is exact along phi, so that a body that is free gets there in one step.
    """
    held = np.where(e.rows.is_hard[chosen], e.held[e.anchor_pairs.joint[e.k]], 0)
    if not held.any():
        return
    frame_a, frame_b = (frame[:, e.k] for frame in (e.anchor_pairs.frame_a, e.anchor_pairs.frame_b))
    axis, across = (rot.turn(rot.transpose(frame), e.column(name)) for frame, name in ((frame_a, "on_a"), (frame_b, "on_b")))

    def cosine(v: Array) -> Array:
        a, b = (rot.turn(R, rot.turn(frame, v)) for R, frame in ((e.R_a, frame_a), (e.R_b, frame_b)))
        return rot.dot(a, b)

    if not may_be_far(held, e.is_flat, cosine, axis, across):
        return
    F_a, F_b = e.frames
    turn = rot.multiply(rot.transpose(F_a), F_b)
    axis, across = (np.broadcast_to(v, turn.shape[:-1]) for v in (axis, across))
    phi = far_rotation(held, e.is_flat, turn, axis, across)
    far = (phi != 0.0).any(axis=-1)
    if not far.any():
        return
    away = rot.quat_to_matrix(rot.quat_from_vector(phi))
    d_b = rot.turn(rot.transpose(away), rot.turn(turn, across))
    couple = rot.turn(F_a, rot.cross(d_b, axis))
    residual = rot.dot(rot.turn(F_a, phi), couple)
    found.couple[:, chosen] = np.where(far[..., None], couple, found.couple[:, chosen])
    found.residual[:, chosen] = np.where(far, residual, found.residual[:, chosen])


def _turn(e: _Ends, found: Gaps, chosen: Array) -> None:
    d, t_a, t_b = (rot.turn(R, e.column(name)) for R, name in ((e.R_a, "on_a"), (e.R_a, "across_a"), (e.R_b, "on_b")))
    angle = angle_between(rot.dot(t_a, t_b), rot.dot(rot.cross(d, t_a), t_b))
    found.angle[:, chosen] = found.residual[:, chosen] = _nearest(angle, found.angle[:, chosen])
    found.couple[:, chosen] = d


def _pitch(e: _Ends, found: Gaps, chosen: Array) -> None:
    _turn(e, found, chosen)
    advance = e.constant * found.angle[:, chosen]
    found.couple[:, chosen] *= -e.constant[..., None]
    force = rot.turn(e.R_a, e.column("on_a"))
    found.force[:, chosen] = force
    found.residual[:, chosen] = rot.dot(force, e.gap) - advance


def _spin(e: _Ends, found: Gaps, chosen: Array) -> None:
    F_a, F_b = e.frames
    log, factor = rot.rotation_log(rot.matrix_to_quat(rot.multiply(rot.transpose(F_a), F_b)))
    component = np.broadcast_to(e.column("on_a"), log.shape)
    turned = rot.cross(log, component)
    found.residual[:, chosen] = rot.dot(log, component)
    found.couple[:, chosen] = rot.turn(F_a, component + 0.5 * turned + factor[..., None] * rot.cross(log, turned))


def _successive(e: _Ends, found: Gaps, chosen: Array) -> None:
    """One of two or three turns, each carried by those before: see kernels/rows/forms.py."""
    F_a, F_b = e.frames
    axes = [e.column(name) for name in ("on_a", "across_a", "on_b")]
    n = _SUCCESSIVE_ANGLES[Form(e.rows.form[chosen[0]])]
    first = rot.turn(F_a, axes[0])
    if n == 2:
        last = rot.turn(F_b, axes[1])
        e_k = [first, last, rot.cross(first, last)]
        angles = [_about(first, rot.turn(F_a, axes[1]), last), _about(last, first, rot.turn(F_b, axes[0]))]
    else:
        third, last = rot.turn(F_b, rot.cross(axes[0], axes[1])), rot.turn(F_b, axes[2])
        middle = rot.cross(third, first)
        length = np.sqrt(rot.dot(middle, middle))
        e_k = [first, middle / length[..., None], last]
        angles = [
            _about(first, rot.cross(first, rot.turn(F_a, axes[1])), third),
            angle_between(length, rot.dot(first, third)),
            _about(last, first, rot.turn(F_b, axes[0])),
        ]
    dual = [rot.cross(e_k[1], e_k[2]), rot.cross(e_k[2], e_k[0]), rot.cross(e_k[0], e_k[1])]
    volume = rot.dot(e_k[0], dual[0])[..., None]
    which = np.broadcast_to(e.constant, angles[0].shape)
    angle = np.select([which == k for k in range(n)], angles[:n])
    found.couple[:, chosen] = np.select([(which == k)[..., None] for k in range(n)], [d / volume for d in dual[:n]])
    found.angle[:, chosen] = found.residual[:, chosen] = _nearest(angle, found.angle[:, chosen])


def _about(axis: Array, start: Array, end: Array) -> Array:
    """[rad], the turn about a unit axis that brings `start` over `end`."""
    cosine = rot.dot(start, end) - rot.dot(axis, start) * rot.dot(axis, end)
    return angle_between(cosine, rot.dot(axis, rot.cross(start, end)))


def _nearest(angle: Array, near: Array) -> Array:
    return angle + _FULL_TURN * np.round((near - angle) * (1.0 / _FULL_TURN))


def _roll(e: _Ends, found: Gaps, chosen: Array) -> None:
    """A rate without a coordinate; where it follows a motion, the turn from where that is."""
    F_a, F_b = e.frames
    turned = rot.multiply(rot.multiply(rot.transpose(F_a), F_b), rot.transpose(e.target_rotation[:, chosen]))
    log, _factor = rot.rotation_log(rot.matrix_to_quat(turned))
    hard = e.rows.is_hard[chosen]
    found.residual[:, chosen] = np.where(hard, rot.dot(log, e.column("on_a")), 0.0)
    found.couple[:, chosen] = np.where(hard[:, None], rot.turn(F_a, e.column("on_a")), 0.0)


def _wheel(e: _Ends, found: Gaps, chosen: Array) -> None:
    """The gap of a wheel's lowest point, or a velocity of a wheel or a blade, which has no residual."""
    normal, heading, along = (rot.turn(R, e.column(x)) for R, x in ((e.R_a, "on_a"), (e.R_b, "on_b"), (e.R_a, "across_a")))
    form, tube = e.rows.form[chosen[0]], e.rows.tube[:, chosen]
    found.force[:, chosen], lever, below = held_velocity(form, normal, heading, along, e.constant, tube)
    found.couple[:, chosen] = rot.cross(lever, found.force[:, chosen])
    found.residual[:, chosen] = rot.dot(found.force[:, chosen], e.gap) + below if form == Form.RIM else 0.0


_MEASURES = {
    **dict.fromkeys((Form.RIM, Form.SLIP, Form.BLADE), _wheel),
    Form.MEET: _meet,
    Form.APART: _apart,
    Form.LENGTH: _length,
    Form.ALONG: _along,
    Form.DOT: _dot,
    Form.TURN: _turn,
    Form.PITCH: _pitch,
    Form.SPIN: _spin,
    Form.CARDAN: _successive,
    Form.EULER: _successive,
    Form.ROLL: _roll,
}
