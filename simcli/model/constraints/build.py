"""Rows and laws of a model: what constrains the coordinates of its tree, joint by joint (tables.py)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simcli import rotations as rot
from simcli.model.bodies.massless import arms
from simcli.model.constraints.coordinate_rows import NO_VECTOR, coordinate_row
from simcli.model.constraints.tables import Constraints, Couples, Form, Laws, Rows
from simcli.model.joints.catalogue import CATALOGUE, TYPE_NAME, MotionAxis, Row, RowKind
from simcli.model.joints.gears import terms_act
from simcli.model.joints.lawful import MOVED, lawful_of
from simcli.model.signals.tables import Lawful, MotionKind
from simcli.model.table_base import kept
from simcli.model.tables import WORLD, Array, JointKind, Model
from simcli.model.tree.link_frames import body_rotations, link_points, links_of

TURNING = (Form.DOT, Form.TURN, Form.SPIN, Form.CARDAN, Form.EULER, Form.ROLL)  # rows on directions alone
SAME_AXIS = 1e-9  # of a unit vector's component along the normal of a planar scene


@dataclass
class _RowPart:
    label: str
    form: int
    joint: int
    is_hard: bool
    on_a: Array
    across_a: Array
    on_b: Array
    constant: Array
    vectors: tuple[int, int] = (-1, -1)
    terms: Sequence[tuple[int, Array]] = ()  # dofs and factors
    spring: int = -1
    dof: int = -1
    rests: bool = False


class _Builder:
    """Collects couples, rows and laws joint by joint."""

    def __init__(self, model: Model, lawful: Lawful):
        self.model, self.lawful = model, lawful
        self.couples: list[tuple[int, ...]] = []  # joint, parent, child, spring
        self.row_start: list[int] = [0]
        self.rows: list[_RowPart] = []
        self.laws: list[tuple[int, int]] = []  # dof, row
        self.turn_a = self.anchor_axes(model.joints.parent, model.joints.X_p)
        self.turn_b = self.anchor_axes(model.joints.child, model.joints.X_c)

    def anchor_axes(self, body: Array, X: Array) -> Array:
        return body_rotations(self.model, body) @ rot.quat_to_matrix(X[..., 3:])

    def add_joint(self, j: int) -> None:
        model = self.model
        kind, before, swapped = JointKind(model.joints.kind[j]), len(self.rows), False
        if kind == JointKind.CABLE or model.joints.child[j] == WORLD:  # that stands for a combination
            return
        is_led = model.columns is not None and j in model.columns.led
        if (not model.joints.is_tree[j] or kind == JointKind.DISTANCE) and not is_led:  # the tree leaves a distance free
            rows = hard_rows(model, j)
            swapped = bool(rows) and rows[0].swapped
            for row in rows:
                self.add_row(j, row)
        if not model.joints.is_tree[j] and kind == JointKind.BALL:
            self.add_rolls(j, is_led)
        elif not model.joints.is_tree[j] and kind not in MOVED:
            self.add_loop_coordinates(j, is_led)
        if kind == JointKind.DISTANCE and not is_rod(model, j) and not is_led:
            self.add_length(j)
        if kind == JointKind.BALL:
            self.add_spins(j)
        if len(self.rows) > before:
            ends = model.joints.parent[j], model.joints.child[j]
            self.couples.append((j, *(ends[::-1] if swapped else ends), -1))
            self.row_start.append(len(self.rows))

    def add_row(self, j: int, row: Row) -> None:
        on_a = NO_VECTOR if row.on_a is None else _lead(row.on_a)
        across, on_b = NO_VECTOR, NO_VECTOR
        turn_a, turn_b = (self.turn_b, self.turn_a) if row.swapped else (self.turn_a, self.turn_b)
        if row.on_b is not None:
            on_b = rot.turn(turn_b[:, j], _lead(row.on_b))
            across = rot.turn(turn_a[:, j], _lead(row.on_b))
        if row.kind not in (RowKind.MEET, RowKind.APART):
            on_a = rot.turn(turn_a[:, j], on_a)
        self.append(j, int(row.kind), True, on_a, across, on_b, np.atleast_1d(row.constant))

    def append(self, j: int, form: int, is_hard: bool, on_a: Array, across: Array, on_b: Array, constant: Array) -> None:
        count = len(self.rows) - (self.row_start[-1])
        label = f"{self.model.joints.name[j]}:{count}"
        self.rows.append(_RowPart(label, form, j, is_hard, on_a, across, on_b, constant))

    def add_loop_coordinates(self, j: int, is_led: bool) -> None:
        """Coordinates of a loop joint that a law, a smooth effort, a gear or a prescribed motion acts on.

        A joint that leads a kinematic body in natural coordinates (natural/led.py) prescribes without a row.
        """
        model = self.model
        first, count = int(model.joints.qd_start[j]), int(model.joints.dof_dim[j].sum())
        for k in range(count):
            d = first + k
            geared = bool(np.any(model.mimics.follower == d) or np.any(model.mimics.leader == d)
                          or np.any(model.combinations.term_dof == d))
            if self.lawful.acts[d]:
                self.laws.append((d, len(self.rows)))
            if self.lawful.acts[d] or geared:
                self.add_coordinate(j, k, is_hard=False)
                self.rows[-1].rests = not self.lawful.acts[d]
            if model.motions.kind[d] != MotionKind.NONE and not is_led:
                self.add_coordinate(j, k, is_hard=True)

    def add_coordinate(self, j: int, k: int, is_hard: bool) -> None:
        row = coordinate_row(self.model, j, k)
        on_a, across, on_b = row.on_a, row.across_a, row.on_b
        if not row.in_anchors:
            on_a, across = (rot.turn(self.turn_a[:, j], v) for v in (on_a, across))
            on_b = rot.turn(self.turn_b[:, j], on_b)
        self.append(j, row.form, is_hard, on_a, across, on_b, np.full(1, row.constant))
        self.rows[-1].dof = int(self.model.joints.qd_start[j]) + k

    def add_length(self, j: int) -> None:
        self.laws.append((-1, len(self.rows)))
        self.append(j, Form.LENGTH, False, NO_VECTOR, NO_VECTOR, NO_VECTOR, np.zeros(1))

    def add_rolls(self, j: int, is_led: bool) -> None:
        """Velocities of a ball joint outside the tree on which laws, but for its limits, or prescribed motions act."""
        first = int(self.model.joints.qd_start[j])
        for k in range(3):
            moves = self.model.motions.kind[first + k] != MotionKind.NONE and not is_led
            for is_hard, acts in ((False, self.lawful.beyond_limits[first + k]), (True, moves)):
                if acts:
                    self.append(j, Form.ROLL, is_hard, np.eye(3)[None, k], NO_VECTOR, NO_VECTOR, np.zeros(1))
                if acts and is_hard:
                    self.rows[-1].dof = first + k
                elif acts:
                    self.laws.append((first + k, len(self.rows) - 1))

    def add_spins(self, j: int) -> None:
        first = int(self.model.joints.qd_start[j])
        for k in range(3):
            if self.lawful.limited[first + k]:
                self.laws.append((first + k, len(self.rows)))
                self.append(j, Form.SPIN, False, np.eye(3)[None, k], NO_VECTOR, NO_VECTOR, np.zeros(1))

    def add_springs(self) -> None:
        for k, (a, b) in enumerate(self.model.springs.body.tolist()):
            length = _RowPart(f"{self.model.springs.name[k]}:length", Form.LENGTH, -1, False, *[NO_VECTOR] * 3, np.zeros(1))
            length.spring = k
            self.rows.append(length)
            self.couples.append((-1, a, b, k))
            self.row_start.append(len(self.rows))

    def add_gears(self) -> None:
        mimics = self.model.mimics
        for k, (follower, leader) in enumerate(zip(mimics.follower.tolist(), mimics.leader.tolist(), strict=True)):
            j = int(self.model.dofs.joint[follower])
            label = f"{self.model.dofs.label[follower]}:mimic"
            self.rows.append(_RowPart(label, Form.GEAR, j, True, NO_VECTOR, NO_VECTOR, NO_VECTOR, mimics.offset[:, k],
                                      terms=((follower, np.ones(1)), (leader, -mimics.ratio[:, k]))))  # fmt: skip

    def add_combinations(self) -> None:
        """Combinations as coordinates of the joints without bodies that stand for them (joints/combined.py)."""
        model, combinations = self.model, self.model.combinations
        if not combinations.name:
            return
        for k, d in enumerate(np.flatnonzero(model.joints.child[model.dofs.joint] == WORLD).tolist()):
            terms = [(int(combinations.term_dof[n]), combinations.term_factor[:, n]) for n in
                     range(*combinations.term_start[k : k + 2])]  # fmt: skip
            self.laws.append((d, len(self.rows)))
            self.rows.append(_RowPart(f"{combinations.name[k]}:sum", Form.GEAR, int(model.dofs.joint[terms[0][0]]), False,
                                      NO_VECTOR, NO_VECTOR, NO_VECTOR, np.zeros(1), terms=terms, dof=d))  # fmt: skip

    def add_rigidity(self) -> None:
        """Rows that keep the vectors of natural coordinates unit and at right angles."""
        links, columns = self.model.links, self.model.columns
        for k in np.flatnonzero(columns.n_vectors).tolist():
            if columns.led[k] >= 0:
                continue
            first, name = int(links.qd_start[k]) + 3, self.model.bodies.name[links.body[k]]
            for i in range(columns.n_vectors[k]):
                for j in range(i, columns.n_vectors[k]):
                    a, b = first + 3 * i, first + 3 * j
                    self.rows.append(_RowPart(f"{name}:rigid{i}{j}", Form.RIGID, int(links.joint[k]), True, NO_VECTOR,
                                              NO_VECTOR, NO_VECTOR, np.full(1, float(i == j)), (a, b)))  # fmt: skip


def stated_alike(models: Sequence[Model], spring_rows: bool) -> list[Model]:
    """Models of the phases of a run, in which a law that any of them needs is there in all: their rows differ in numbers.

    Args:
        models: of one structure and form.
        spring_rows: whether the springs are rows.
    """
    if len(models) == 1 and not spring_rows:
        return list(models)  # as they are, with the rows that they know
    lawful = lawful_of(models)
    return [replace(model, lawful=lawful, spring_rows=spring_rows) for model in models]


@kept
def constraints_of(model: Model) -> Constraints:
    """Rows and laws of a model, made once.

    Returns:
        The tables; with no loops, gears and laws all of them are empty.
    """
    lawful = model.lawful or lawful_of((model,))
    builder = _Builder(model, lawful)
    for j in range(model.n_joints):
        builder.add_joint(j)
    if model.spring_rows:
        builder.add_springs()
    builder.add_gears()
    builder.add_combinations()
    if model.columns is not None:
        builder.add_rigidity()
    tree = np.isin(model.dofs.joint, np.flatnonzero(model.joints.is_tree))
    spins = {d for d, row in builder.laws if row >= 0}
    for d in np.flatnonzero(lawful.acts & tree).tolist():
        if d not in spins or lawful.beyond_limits[d]:
            builder.laws.append((d, -1))
    return Constraints(_couples(builder), _rows(builder), _laws(builder))


def is_rod(model: Model, j: int) -> bool:
    """True for a distance joint with one length."""
    length = model.joints.length[:, j]
    return bool(np.all(length[:, 0] == length[:, 1]))


def hard_rows(model: Model, j: int) -> list[Row]:
    """Bilateral rows of a joint, in all worlds; a planar scene keeps those that its plane leaves open.

    A distance joint has one if its two bounds agree.
    """
    entry = CATALOGUE[TYPE_NAME[JointKind(model.joints.kind[j])]]
    if entry.kind == JointKind.DISTANCE:
        return [Row(RowKind.APART, constant=model.joints.length[:, j, 1])] if is_rod(model, j) else []
    if entry.coordinates == "slots":
        return []
    n_linear, n_angular = model.joints.dof_dim[j].tolist()
    first = int(model.joints.qd_start[j])
    axes = model.dofs.axis[:, first : first + n_linear + n_angular]
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


def _stack(parts: list[Array], shape: tuple[int, ...]) -> Array:
    """(W|1, n, *shape) from n arrays (W|1, *shape)."""
    worlds = max((len(p) for p in parts), default=1)
    rows = [np.broadcast_to(p, (worlds, *shape)) for p in parts]
    return np.stack(rows, axis=1) if rows else np.zeros((1, 0, *shape))


def _couples(builder: _Builder) -> Couples:
    model, joints = builder.model, builder.model.joints
    table = np.array(builder.couples, int).reshape(-1, 4)
    joint, a, b, spring = table.T
    is_joint, none = (joint >= 0)[:, None], np.eye(3)
    is_swapped = (joint >= 0) & (a != joints.parent[joint])
    anchors = [X[:, joint, :3] for X in (joints.X_p, joints.X_c)]
    turns = [turn[:, joint] for turn in (builder.turn_a, builder.turn_b)]
    points, frames = [], []
    for side, body in enumerate((a, b)):
        ends = model.springs.point[:, spring, side] if len(model.springs.name) else np.zeros((1, len(joint), 3))
        x = np.where(is_swapped[:, None], anchors[1 - side], anchors[side])
        turn = np.where(is_swapped[:, None, None], turns[1 - side], turns[side])
        points.append(link_points(model, body, np.where(is_joint, x, ends)))
        frames.append(np.where(is_joint[..., None], turn, none))
    row_start = np.array(builder.row_start, int)
    return Couples(joint, links_of(model, a), links_of(model, b), *points, *frames, row_start, is_swapped)


def _rows(builder: _Builder) -> Rows:
    model, parts = builder.model, builder.rows
    joint = np.array([p.joint for p in parts], int)
    vectors = {name: _stack([getattr(p, name) for p in parts], (3,)) for name in ("on_a", "across_a", "on_b")}
    hard = np.array([p.is_hard for p in parts], bool)
    dof = np.array([p.dof for p in parts], int)
    yields = hard & (joint >= 0) & (dof < 0) & np.array([p.form not in (Form.RIGID, Form.GEAR) for p in parts], bool)
    return Rows(
        label=tuple(p.label for p in parts), form=np.array([p.form for p in parts], int), joint=joint,
        spring=np.array([p.spring for p in parts], int), is_hard=hard,
        **vectors,
        constant=_stack([np.asarray(p.constant, float) for p in parts], ()),
        compliance=_compliance(model, parts, yields),
        enabled=_enabled(model, parts, joint)[None],
        scale=_scale(model, parts), vector_a=np.array([p.vectors[0] for p in parts], int),
        vector_b=np.array([p.vectors[1] for p in parts], int), dof=dof, **_terms(parts),
    )  # fmt: skip


def _terms(parts: list[_RowPart]) -> dict[str, Array]:
    """Columns of the terms of combinations."""
    terms = [term for part in parts for term in part.terms]
    if not terms:
        return {"term_start": np.zeros(len(parts) + 1, int), "term_dof": np.zeros(0, int), "term_factor": np.zeros((1, 0))}
    return {"term_start": np.cumsum([0, *(len(part.terms) for part in parts)]),
            "term_dof": np.array([d for d, _ in terms], int), "term_factor": _stack([f for _, f in terms], ())}


def _compliance(model: Model, parts: list[_RowPart], on_joint: Array) -> Array:
    """Of bilateral rows of joints, and of those of rigidity, (W|1, R)."""
    joint = np.array([p.joint for p in parts], int)
    rigid = np.array([p.form == Form.RIGID for p in parts], bool)
    of_joints = np.where(on_joint, model.joints.compliance[:, joint], 0.0)
    return np.where(rigid, model.bodies.compliance[:, model.joints.child[joint]], of_joints)


def _enabled(model: Model, parts: list[_RowPart], joint: Array) -> Array:
    """1 for rows that act, (R,): their joints are on, all of them for a gear, and something acts on their coordinate."""
    on = np.where(joint >= 0, model.joints.enabled[joint], True)
    for r, part in enumerate(parts):
        if part.form == Form.GEAR:
            on[r] = terms_act(model, [d for d, _ in part.terms])
        on[r] &= not part.rests
    return on.astype(float)


def _scale(model: Model, parts: list[_RowPart]) -> Array:
    """Sum of the inverse masses, or inverse mean inertias, of the two bodies of each row; 1 where nothing has mass.

    A point mass has the inertia that its longest arm gives it.
    """
    mass = model.bodies.mass
    turning = np.trace(model.bodies.inertia, axis1=-2, axis2=-1) / 3.0
    turning = np.where(turning > 0.0, turning, mass * arms(model) ** 2)
    out = []
    for part in parts:
        if part.form == Form.RIGID:
            weight = model.columns.weight[:, list(part.vectors)]
            out.append((2.0 / np.maximum(weight, np.finfo(float).tiny)).sum(axis=1))
            continue
        inertia = turning if part.form in TURNING else mass
        ends = [model.joints.parent[part.joint], model.joints.child[part.joint]]
        if part.spring >= 0:
            ends = model.springs.body[part.spring].tolist()
        ends = [b for b in ends if b != WORLD]
        total = sum(1.0 / np.maximum(inertia[:, b], np.finfo(float).tiny) for b in ends)
        largest = np.max(1.0 / np.maximum(mass[mass > 0].min(initial=1.0), 1e-9)) * 1e6
        out.append(np.where((total > 0) & (total < largest), total, 1.0))
    return _stack(out, ())


def _laws(builder: _Builder) -> Laws:
    model = builder.model
    dof, row = (np.array([law[k] for law in builder.laws], int) for k in range(2))
    dofs = model.dofs
    hard = dofs.limit_stiffness == 0
    tables = {
        "lower": np.where(hard, dofs.limit_lower, -np.inf), "upper": np.where(hard, dofs.limit_upper, np.inf),
        "friction": dofs.friction, "velocity_limit": dofs.velocity_limit, "effort_limit": dofs.effort_limit,
    }  # fmt: skip
    leads = model.motions.kind != MotionKind.NONE  # a prescribed coordinate has no bounds
    tables |= {name: np.where(leads, bound, tables[name])
               for name, bound in (("lower", -np.inf), ("upper", np.inf), ("velocity_limit", np.inf))}  # fmt: skip
    neutral = {"lower": -np.inf, "upper": np.inf, "friction": 0.0, "velocity_limit": np.inf, "effort_limit": np.inf}
    columns = {name: np.where(dof >= 0, table[:, dof], neutral[name]) for name, table in tables.items()}
    for k, (d, r) in enumerate(builder.laws):
        if d < 0:
            length = model.joints.length[:, builder.rows[r].joint]
            bounds = np.where(np.isnan(length) | (length < 0), (-np.inf, np.inf), length)
            columns = {n: _broadcast(c, len(bounds)) for n, c in columns.items()}
            columns["lower"][:, k], columns["upper"][:, k] = bounds[:, 0], bounds[:, 1]
            continue
        kind = model.joints.kind[dofs.joint[d]]
        spins = r >= 0 and builder.rows[r].form == Form.SPIN
        alone = ("friction", "velocity_limit", "effort_limit") if spins else ("lower", "upper")
        for name in alone if kind == JointKind.BALL else ():  # SPIN rows have the bounds of a ball, and nothing else
            columns[name] = columns[name].copy()
            columns[name][:, k] = neutral[name]
    return Laws(dof, row, **columns)


def _broadcast(column: Array, worlds: int) -> Array:
    return np.broadcast_to(column, (max(worlds, len(column)), column.shape[1])).copy()
