"""Pairs of anchors, rows and laws of a model as they are found, joint by joint."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from simcli import rotations as rot
from simcli.model.constraints.constraint_tables import NO_VECTOR, Form, coordinate_row
from simcli.model.forces.spring import segments_of
from simcli.model.joints.catalogue import (
    BALLS,
    BESIDE_ROWS_KINDS,
    CATALOGUE,
    KINDS_ALONG_ROWS,
    NONHOLONOMIC_KINDS,
    TYPE_NAME,
    Row,
    RowKind,
)
from simcli.model.joints.motion_axes import MotionAxis, on_plane_axes
from simcli.model.joints.tree_kinematics import body_rotations
from simcli.model.tables.joint_tables import Joints, terms_of
from simcli.model.tables.model import WORLD, Array, JointKind, Model
from simcli.model.tables.signal_tables import Lawful, MotionKind
from simcli.model.tables.table_base import agreed

SAME_AXIS = 1e-9  # of a unit vector's component along the normal of a planar scene


@dataclass
class RowPart:
    """A row as it is found: its columns, in all worlds (constraint_tables.py)."""

    label: str
    form: int
    joint: int
    is_hard: bool
    on_a: Array
    across_a: Array
    on_b: Array
    constant: Array
    vectors: tuple[int, int] = (-1, -1)
    terms: Sequence[tuple[int, Sequence[Array]]] = ()  # dofs, and coefficients of their powers from the first on
    parts: Sequence[int] = ()  # rows that it is the sum of, instead
    ends: Sequence[int] = ()  # bodies, where they are not those of the joint
    spring: int = -1
    drag: int = -1
    dof: int = -1
    rests: bool = False
    tube: Array = field(default_factory=lambda: np.zeros(1))


class RowCollector:
    """Collects pairs of anchors, rows and laws joint by joint."""

    def __init__(self, model: Model, lawful: Lawful):
        self.model, self.lawful = model, lawful
        self.anchor_pairs: list[tuple[int, ...]] = []  # joint, parent, child, segment of a spring, or drag
        self.row_start: list[int] = [0]
        self.segment_row: list[int] = []  # of each segment of the springs
        self.rows: list[RowPart] = []
        self.laws: list[tuple[int, int]] = []  # dof, row
        self.turn_a = self._anchor_axes(model.joints.parent, model.joints.X_p)
        self.turn_b = self._anchor_axes(model.joints.child, model.joints.X_c)

    def _anchor_axes(self, body: Array, X: Array) -> Array:
        return body_rotations(self.model.links, body) @ rot.quat_to_matrix(agreed(X[..., 3:]))

    def add_joint(self, j: int) -> None:
        """The rows of a joint, and the laws on them."""
        model = self.model
        kind, before, swapped = JointKind(model.joints.kind[j]), len(self.rows), False
        if kind == JointKind.CABLE or model.joints.child[j] == WORLD:  # that stands for a combination
            return
        is_prescribed = model.columns is not None and j in model.columns.prescribed
        if (not model.joints.is_tree[j] or kind in BESIDE_ROWS_KINDS) and not is_prescribed:  # the tree leaves it free
            rows = hard_rows(model, j)
            swapped = bool(rows) and rows[0].swapped
            for row in rows:
                self._add_row(j, row)
        if not model.joints.is_tree[j] and kind in BALLS:
            self._add_rolls(j, is_prescribed)
        elif not model.joints.is_tree[j] and kind in KINDS_ALONG_ROWS:
            self._add_loop_coordinates(j, is_prescribed)
        if kind == JointKind.DISTANCE and not is_rod(model.joints, j) and not is_prescribed:
            self._add_length(j)
        if kind in BALLS:
            self._add_spins(j)
        if len(self.rows) > before:
            ends = model.joints.parent[j], model.joints.child[j]
            self.anchor_pairs.append((j, *(ends[::-1] if swapped else ends), -1))
            self.row_start.append(len(self.rows))

    def _add_row(self, j: int, row: Row) -> None:
        on_a = NO_VECTOR if row.on_a is None else _lead(row.on_a)
        across, on_b = NO_VECTOR, NO_VECTOR
        turn_a, turn_b = (self.turn_b, self.turn_a) if row.swapped else (self.turn_a, self.turn_b)
        if row.on_b is not None:
            on_b = rot.turn(turn_b[:, j], _lead(row.on_b))
            across = rot.turn(turn_a[:, j], _lead(row.on_b if row.along is None else row.along))
        if row.kind not in (RowKind.MEET, RowKind.APART):
            on_a = rot.turn(turn_a[:, j], on_a)
        self._append(j, int(row.kind), True, on_a, across, on_b, np.atleast_1d(row.constant))
        self.rows[-1].tube = np.atleast_1d(row.tube)

    def _append(self, j: int, form: int, is_hard: bool, on_a: Array, across: Array, on_b: Array, constant: Array) -> None:
        count = len(self.rows) - (self.row_start[-1])
        label = f"{self.model.joints.name[j]}:{count}"
        self.rows.append(RowPart(label, form, j, is_hard, on_a, across, on_b, constant))

    def _add_loop_coordinates(self, j: int, is_prescribed: bool) -> None:
        """Coordinates of a loop joint that a law, a smooth effort, a gear or a prescribed motion acts on.

        A joint that leads a kinematic body in natural coordinates (forms/natural_form.py) prescribes without a row.
        """
        model = self.model
        first, count = int(model.joints.qd_start[j]), int(model.joints.dof_dim[j].sum())
        for k in range(count):
            d = first + k
            geared = bool(
                np.any(model.mimics.follower == d)
                or np.any(model.mimics.leader == d)
                or np.any(model.combinations.term_dof == d)
                or np.any(model.holds.term_dof == d)
            )
            if self.lawful.acts[d]:
                self.laws.append((d, len(self.rows)))
            if self.lawful.acts[d] or geared:
                self._add_coordinate(j, k, is_hard=False)
                self.rows[-1].rests = not self.lawful.acts[d]
            if model.motions.kind[d] != MotionKind.NONE and not is_prescribed:
                self._add_coordinate(j, k, is_hard=True)

    def _add_coordinate(self, j: int, k: int, is_hard: bool) -> None:
        row = coordinate_row(self.model, j, k)
        on_a, across, on_b = row.on_a, row.across_a, row.on_b
        if not row.in_anchors:
            on_a, across = (rot.turn(self.turn_a[:, j], v) for v in (on_a, across))
            on_b = rot.turn(self.turn_b[:, j], on_b)
        self._append(j, row.form, is_hard, on_a, across, on_b, np.full(1, row.constant))
        self.rows[-1].dof = int(self.model.joints.qd_start[j]) + k

    def _add_length(self, j: int) -> None:
        self.laws.append((-1, len(self.rows)))
        self._append(j, Form.LENGTH, False, NO_VECTOR, NO_VECTOR, NO_VECTOR, np.zeros(1))

    def _add_rolls(self, j: int, is_prescribed: bool) -> None:
        """Velocities of a ball joint outside the tree on which laws, but for its limits, or prescribed motions act."""
        first = int(self.model.joints.qd_start[j])
        for k in range(3):
            moves = self.model.motions.kind[first + k] != MotionKind.NONE and not is_prescribed
            for is_hard, acts in ((False, self.lawful.beyond_limits[first + k]), (True, moves)):
                if acts:
                    self._append(j, Form.ROLL, is_hard, np.eye(3)[None, k], NO_VECTOR, NO_VECTOR, np.zeros(1))
                if acts and is_hard:
                    self.rows[-1].dof = first + k
                elif acts:
                    self.laws.append((first + k, len(self.rows) - 1))

    def _add_spins(self, j: int) -> None:
        first = int(self.model.joints.qd_start[j])
        for k in range(3):
            if self.lawful.limited[first + k]:
                self.laws.append((first + k, len(self.rows)))
                self._append(j, Form.SPIN, False, np.eye(3)[None, k], NO_VECTOR, NO_VECTOR, np.zeros(1))

    def add_springs(self) -> None:
        """Springs as rows on the distances of their ends; of those over pulleys `add_cables` makes sums."""
        segments, names = segments_of(self.model.springs), self.model.springs.name
        count = np.diff(segments.first)
        for g, (k, (a, b)) in enumerate(zip(segments.spring.tolist(), segments.body.tolist(), strict=True)):
            alone = count[k] == 1
            label = f"{names[k]}:length" if alone else f"{names[k]}:part{g - segments.first[k]}"
            length = RowPart(label, Form.LENGTH, -1, False, *[NO_VECTOR] * 3, np.zeros(1), ends=(a, b))
            length.spring, length.rests = (k, False) if alone else (-1, True)
            self.segment_row.append(len(self.rows))
            self.rows.append(length)
            self.anchor_pairs.append((-1, a, b, g))
            self.row_start.append(len(self.rows))

    def add_drags(self) -> None:
        """Drags as rows on the velocities of their points, and of their turning, along the axes of the world."""
        drags, first = self.model.drags, len(segments_of(self.model.springs).spring)
        for k, b in enumerate(drags.body.tolist()):
            for n, form in enumerate((Form.MEET, Form.ROLL)):
                for axis, name in enumerate("xyz"):
                    label = f"{drags.name[k]}:{('', 'r')[n]}{name}"
                    along = np.eye(3)[None, axis]
                    self.rows.append(
                        RowPart(
                            label, form, -1, False, along, NO_VECTOR, NO_VECTOR, np.zeros(1), ends=(WORLD, b), drag=2 * k + n
                        )
                    )
            self.anchor_pairs.append((-1, WORLD, b, first + k))
            self.row_start.append(len(self.rows))

    def add_cables(self) -> None:
        """Springs over pulleys as sums of the distances that `add_springs` has."""
        segments = segments_of(self.model.springs)
        for k in np.unique(self.model.springs.pulley_spring).tolist():
            parts = range(*segments.first[k : k + 2])
            ends, rows = np.unique(segments.body[parts.start : parts.stop]).tolist(), [self.segment_row[g] for g in parts]
            self.rows.append(
                RowPart(
                    f"{self.model.springs.name[k]}:length",
                    Form.GEAR,
                    -1,
                    False,
                    *[NO_VECTOR] * 3,
                    np.zeros(1),
                    parts=rows,
                    ends=ends,
                    spring=k,
                )
            )

    def add_gears(self) -> None:
        """Gears as hard rows on two coordinates each: q_follower - p(q_leader) = 0."""
        mimics = self.model.mimics
        for k, (follower, leader) in enumerate(zip(mimics.follower.tolist(), mimics.leader.tolist(), strict=True)):
            j = int(self.model.dofs.joint[follower])
            label = f"{self.model.dofs.label[follower]}:mimic"
            offset, *powers = mimics.polynomial[:, k].T
            self.rows.append(
                RowPart(
                    label,
                    Form.GEAR,
                    j,
                    True,
                    NO_VECTOR,
                    NO_VECTOR,
                    NO_VECTOR,
                    offset,
                    terms=((follower, [np.ones(1)]), (leader, [-one for one in powers])),
                )
            )

    def add_holds(self) -> None:
        """Sums of coordinates that are held, as hard rows."""
        holds = self.model.holds
        for k, name in enumerate(holds.name):
            terms, constant = terms_of(holds, k)
            self.rows.append(
                RowPart(
                    f"{name}:hold",
                    Form.GEAR,
                    int(self.model.dofs.joint[terms[0][0]]),
                    True,
                    NO_VECTOR,
                    NO_VECTOR,
                    NO_VECTOR,
                    holds.value[:, k] - constant,
                    terms=terms,
                )
            )

    def add_combinations(self) -> None:
        """Combinations as coordinates of the joints without bodies that stand for them (forms/maximal_form.py)."""
        model, combinations = self.model, self.model.combinations
        if not combinations.name:
            return
        for k, d in enumerate(np.flatnonzero(model.joints.child[model.dofs.joint] == WORLD).tolist()):
            terms, constant = terms_of(combinations, k)
            self.laws.append((d, len(self.rows)))
            self.rows.append(
                RowPart(
                    f"{combinations.name[k]}:sum",
                    Form.GEAR,
                    int(model.dofs.joint[terms[0][0]]),
                    False,
                    NO_VECTOR,
                    NO_VECTOR,
                    NO_VECTOR,
                    -constant,
                    terms=terms,
                    dof=d,
                )
            )

    def add_rigidity(self) -> None:
        """Rows that keep the vectors of natural coordinates unit and at right angles."""
        links, columns = self.model.links, self.model.columns
        for k in np.flatnonzero(columns.n_vectors).tolist():
            if columns.prescribed[k] >= 0:
                continue
            first, name = int(links.qd_start[k]) + 3, self.model.bodies.name[links.body[k]]
            for i in range(columns.n_vectors[k]):
                for j in range(i, columns.n_vectors[k]):
                    a, b = first + 3 * i, first + 3 * j
                    self.rows.append(
                        RowPart(
                            f"{name}:rigid{i}{j}",
                            Form.RIGID,
                            int(links.joint[k]),
                            True,
                            NO_VECTOR,
                            NO_VECTOR,
                            NO_VECTOR,
                            np.full(1, float(i == j)),
                            (a, b),
                        )
                    )


def is_rod(joints: Joints, j: int) -> bool:
    """True for a distance joint with one length."""
    length = joints.length[:, j]
    return bool(np.all(length[:, 0] == length[:, 1]))


def hard_rows(model: Model, j: int) -> list[Row]:
    """Bilateral rows of a joint, in all worlds; a planar scene keeps those that its plane leaves open.

    A distance joint has one if its two bounds agree.
    """
    entry = CATALOGUE[TYPE_NAME[JointKind(model.joints.kind[j])]]
    if entry.kind == JointKind.DISTANCE:
        return [Row(RowKind.APART, constant=model.joints.length[:, j, 1])] if is_rod(model.joints, j) else []
    if entry.coordinates == "slots":
        return []
    n_linear, n_angular = model.joints.dof_dim[j].tolist()
    first = int(model.joints.qd_start[j])
    axes = model.dofs.axis[:, first : first + n_linear + n_angular]
    if entry.kind in NONHOLONOMIC_KINDS:
        motion = on_plane_axes(model.joints.heading[:, j], model.joints.normal[:, j], *model.joints.length[:, j].T)
    else:
        motion = MotionAxis(axes[:, :n_linear], axes[:, n_linear:], model.joints.pitch[:, j], model.joints.length[:, j, 1])
    rows = entry.rows(motion)
    return [row for row in rows if keeps(row, model.plane)] if model.plane >= 0 else rows


def keeps(row: Row, normal: int) -> bool:
    """True for a row that motion in a plane can violate: one on a direction in the plane, or between such directions."""
    in_plane = [np.abs(_lead(v)[..., normal]).max() < 1.0 - SAME_AXIS for v in (row.on_a, row.on_b) if v is not None]
    return row.kind == RowKind.APART or all(in_plane)


def _lead(v: Array) -> Array:
    v = np.asarray(v, float)
    return v if v.ndim > 1 else v[None]
