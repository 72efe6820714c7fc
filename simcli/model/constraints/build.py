"""Rows and laws of a model: what constrains the coordinates of its tree, joint by joint (constraint_tables.py).

A coordinate needs a law where something acts on it that a smooth force of the tree cannot state.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simcli.model.constraints.collected import RowCollector, RowPart
from simcli.model.constraints.constraint_tables import AnchorPairs, Constraints, Form, Laws, Rows
from simcli.model.constraints.massless import arms
from simcli.model.forces.spring import segments_of
from simcli.model.joints.catalogue import BALLS, KINDS_ALONG_ROWS, POSES
from simcli.model.joints.gears import terms_act
from simcli.model.joints.tree_kinematics import dof_inertia, link_points, links_of
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.joint_tables import Dofs, Joints
from simcli.model.tables.model import WORLD, Array, DriveMode, Model
from simcli.model.tables.signal_tables import Driven, Lawful, MotionKind
from simcli.model.tables.table_base import kept

TURNING = (Form.DOT, Form.TURN, Form.SPIN, Form.CARDAN, Form.EULER, Form.ROLL)  # rows on directions alone


def stated_alike(models: Sequence[Model], spring_rows: bool, drag_rows: bool = False) -> list[Model]:
    """Models of the phases of a run, in which a law that any of them needs is there in all: their rows differ in numbers.

    Args:
        models: of one structure and form.
        spring_rows: whether the springs are rows.
        drag_rows: whether the drags are.
    """
    if len(models) == 1 and not spring_rows and not drag_rows:
        return list(models)  # as they are, with the rows that they know
    lawful = lawful_of(models)
    return [replace(model, lawful=lawful, spring_rows=spring_rows, drag_rows=drag_rows) for model in models]


@kept
def constraints_of(model: Model) -> Constraints:
    """Rows and laws of a model, made once.

    Returns:
        The tables; with no loops, gears and laws all of them are empty.
    """
    lawful = model.lawful or lawful_of((model,))
    builder = RowCollector(model, lawful)
    for j in range(model.n_joints):
        builder.add_joint(j)
    if model.spring_rows:
        builder.add_springs()
    if model.drag_rows:
        builder.add_drags()
    builder.add_gears()
    builder.add_holds()
    builder.add_combinations()
    if model.spring_rows:
        builder.add_cables()
    if model.columns is not None:
        builder.add_rigidity()
    tree = np.isin(model.dofs.joint, np.flatnonzero(model.joints.is_tree))
    spins = {d for d, row in builder.laws if row >= 0}
    for d in np.flatnonzero(lawful.acts & tree).tolist():
        if d not in spins or lawful.beyond_limits[d]:
            builder.laws.append((d, -1))
    return Constraints(_anchor_pairs(builder), _rows(builder), _laws(builder))


def _stack(parts: list[Array], shape: tuple[int, ...]) -> Array:
    """(W|1, n, *shape) from n arrays (W|1, *shape)."""
    worlds = max((len(p) for p in parts), default=1)
    rows = [np.broadcast_to(p, (worlds, *shape)) for p in parts]
    return np.stack(rows, axis=1) if rows else np.zeros((1, 0, *shape))


def _anchor_pairs(builder: RowCollector) -> AnchorPairs:
    model, joints = builder.model, builder.model.joints
    table = np.array(builder.anchor_pairs, int).reshape(-1, 4)
    joint, a, b, segment = table.T
    places = _places_of_forces(model)
    is_joint, none = (joint >= 0)[:, None], np.eye(3)
    is_swapped = (joint >= 0) & (a != joints.parent[joint])
    anchors = [X[:, joint, :3] for X in (joints.X_p, joints.X_c)]
    turns = [turn[:, joint] for turn in (builder.turn_a, builder.turn_b)]
    points, frames = [], []
    for side, body in enumerate((a, b)):
        ends = places[:, segment, side] if places.shape[1] else np.zeros((1, len(joint), 3))
        x = np.where(is_swapped[:, None], anchors[1 - side], anchors[side])
        turn = np.where(is_swapped[:, None, None], turns[1 - side], turns[side])
        points.append(link_points(model.links, body, np.where(is_joint, x, ends)))
        frames.append(np.where(is_joint[..., None], turn, none))
    row_start = np.array(builder.row_start, int)
    return AnchorPairs(joint, links_of(model.links, a), links_of(model.links, b), *points, *frames, row_start, is_swapped)


def _places_of_forces(model: Model) -> Array:
    """[m], (W|1, n, 2, 3), places in both bodies of the pairs of anchors of forces: segments of springs, then drags."""
    springs, drags = segments_of(model.springs).point, model.drags.point
    worlds = max(len(springs), len(drags))
    on_bodies = np.stack((np.zeros_like(drags), drags), axis=2)
    return np.concatenate([np.broadcast_to(part, (worlds, *part.shape[1:])) for part in (springs, on_bodies)], axis=1)


def _rows(builder: RowCollector) -> Rows:
    model, parts = builder.model, builder.rows
    joint = np.array([p.joint for p in parts], int)
    vectors = {name: _stack([getattr(p, name) for p in parts], (3,)) for name in ("on_a", "across_a", "on_b")}
    hard = np.array([p.is_hard for p in parts], bool)
    dof = np.array([p.dof for p in parts], int)
    yields = hard & (joint >= 0) & (dof < 0) & np.array([p.form not in (Form.RIGID, Form.GEAR) for p in parts], bool)
    return Rows(
        label=tuple(p.label for p in parts),
        form=np.array([p.form for p in parts], int),
        joint=joint,
        spring=np.array([p.spring for p in parts], int),
        drag=np.array([p.drag for p in parts], int),
        is_hard=hard,
        **vectors,
        constant=_stack([np.asarray(p.constant, float) for p in parts], ()),
        compliance=_compliance(model.bodies, model.joints, parts, yields),
        enabled=_enabled(model, parts, joint)[None],
        scale=_scale(model, parts),
        vector_a=np.array([p.vectors[0] for p in parts], int),
        vector_b=np.array([p.vectors[1] for p in parts], int),
        dof=dof,
        tube=_stack([p.tube for p in parts], ()),
        **_terms(parts),
    )


def _terms(parts: list[RowPart]) -> dict[str, Array]:
    """Columns of the terms of combinations."""
    lists = [[(d, p, -1) for d, p in part.terms] + [(-1, [np.ones(1)], row) for row in part.parts] for part in parts]
    dofs, powers, rows = zip(*(term for one in lists for term in one), strict=True) if any(lists) else ((), (), ())
    return {
        "term_start": np.cumsum([0, *map(len, lists)]),
        "term_dof": np.array(dofs, int),
        "term_row": np.array(rows, int),
        "power_start": np.cumsum([0, *map(len, powers)]),
        "coefficient": _stack([one for some in powers for one in some], ()),
    }


def _compliance(bodies: Bodies, joints: Joints, parts: list[RowPart], on_joint: Array) -> Array:
    """Of bilateral rows of joints, and of those of rigidity, (W|1, R)."""
    joint = np.array([p.joint for p in parts], int)
    rigid = np.array([p.form == Form.RIGID for p in parts], bool)
    of_joints = np.where(on_joint, joints.compliance[:, joint], 0.0)
    return np.where(rigid, bodies.compliance[:, joints.child[joint]], of_joints)


def _enabled(model: Model, parts: list[RowPart], joint: Array) -> Array:
    """1 for rows that act, (R,): their joints are on, all of them for a gear, and something acts on their coordinate."""
    on = np.where(joint >= 0, model.joints.enabled[joint], True)
    for r, part in enumerate(parts):
        if part.terms:
            on[r] = terms_act(model, [d for d, _ in part.terms])
        on[r] &= not part.rests
    return on.astype(float)


def _scale(model: Model, parts: list[RowPart]) -> Array:
    """Sum of the inverse masses, or inverse mean inertias, of the two bodies of each row; 1 where nothing has mass.

    A point mass has the inertia that its longest arm gives it. Bodies without any are left out; a row between two of them
    has the mean of the scene.
    """
    mass = model.bodies.mass
    turning = np.trace(model.bodies.inertia, axis1=-2, axis2=-1) / 3.0
    turning = np.where(turning > 0.0, turning, mass * arms(model) ** 2)
    mobility, turning_mobility = _inverse_where_any(mass), _inverse_where_any(turning)
    out = []
    for part in parts:
        if part.form == Form.RIGID:
            weight = model.columns.weight[:, list(part.vectors)]
            out.append((2.0 / np.maximum(weight, np.finfo(float).tiny)).sum(axis=1))
            continue
        of_body, mean = turning_mobility if part.form in TURNING else mobility
        ends = part.ends or (model.joints.parent[part.joint], model.joints.child[part.joint])
        total = sum((of_body[:, b] for b in ends if b != WORLD), np.zeros(1))
        out.append(np.where(total > 0, total, mean))
    return _stack(out, ())


def _inverse_where_any(inertia: Array) -> tuple[Array, Array]:
    """Inverses by body, (W|1, B), 0 where there is no inertia; and their means, (W|1,), 1 where no body has any."""
    has_any = inertia > 0.0
    inverse = np.where(has_any, 1.0 / np.where(has_any, inertia, 1.0), 0.0)
    count = has_any.sum(axis=1)
    return inverse, np.where(count > 0, inverse.sum(axis=1) / np.maximum(count, 1), 1.0)


def _laws(builder: RowCollector) -> Laws:
    model = builder.model
    dof, row = (np.array([law[k] for law in builder.laws], int) for k in range(2))
    dofs = model.dofs
    hard = dofs.limit_stiffness == 0
    tables = {
        "lower": np.where(hard, dofs.limit_lower, -np.inf),
        "upper": np.where(hard, dofs.limit_upper, np.inf),
        "friction": dofs.friction,
        "rate_lower": np.maximum(-dofs.velocity_limit, dofs.rate_lower),
        "rate_upper": np.minimum(dofs.velocity_limit, dofs.rate_upper),
        "effort_limit": dofs.effort_limit,
    }
    driven = has_driven_friction(model)[np.maximum(dof, 0)] & (dof >= 0)
    are_prescribed = model.motions.kind != MotionKind.NONE  # a prescribed coordinate has no bounds
    bounds_of = {"lower": -np.inf, "upper": np.inf, "rate_lower": -np.inf, "rate_upper": np.inf}
    tables |= {name: np.where(are_prescribed, bound, tables[name]) for name, bound in bounds_of.items()}
    neutral = {**bounds_of, "friction": 0.0, "effort_limit": np.inf}
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
        alone = ("friction", "rate_lower", "rate_upper", "effort_limit") if spins else ("lower", "upper")
        for name in alone if kind in BALLS else ():  # SPIN rows have the bounds of a ball, and nothing else
            columns[name] = columns[name].copy()
            columns[name][:, k] = neutral[name]
    return Laws(dof, row, friction_is_driven=driven, **columns)


def _broadcast(column: Array, worlds: int) -> Array:
    return np.broadcast_to(column, (max(worlds, len(column)), column.shape[1])).copy()


@kept
def has_hard_limit(model: Model) -> Array:
    """(NV,) True for dofs with a hard bound in any world."""
    dofs = model.dofs
    bounded = np.isfinite(dofs.limit_lower) | np.isfinite(dofs.limit_upper)
    return np.any(bounded & (dofs.limit_stiffness == 0), axis=0)


@kept
def has_limit(model: Model) -> Array:
    """(NV,) True for dofs with a bound, hard or soft, in any world."""
    return np.any(np.isfinite(model.dofs.limit_lower) | np.isfinite(model.dofs.limit_upper), axis=0)


def has_bounded_rate(dofs: Dofs) -> Array:
    """(W|1, NV) True for dofs whose rate has a bound."""
    return np.isfinite(dofs.velocity_limit) | np.isfinite(dofs.rate_lower) | np.isfinite(dofs.rate_upper)


def has_driven_friction(model: Model) -> Array:
    """(NV,) True for dofs whose dry friction a signal drives."""
    return np.isin(np.arange(model.n_qd), model.inputs.item[model.inputs.column == Driven.FRICTION])


def has_applied_effort(model: Model) -> Array:
    """(NV,) True for dofs with an applied effort, a number or a signal, in any world."""
    driven = model.inputs.item[model.inputs.column == Driven.JOINT_F]
    return np.any(model.joint_f != 0, axis=0) | np.isin(np.arange(model.n_qd), driven)


def joints_with_wrench(models: Sequence[Model]) -> Array:
    """Joints whose applied efforts are a wrench between their bodies: poses outside the tree, which no row measures.

    Args:
        models: of one structure, of all phases of a run.

    Returns:
        Indices of the joints on which an effort is applied in any of them.
    """
    joints, dofs = models[0].joints, models[0].dofs
    applied = np.any([has_applied_effort(one) for one in models], axis=0)
    acted = np.isin(np.arange(len(joints.kind)), dofs.joint[np.flatnonzero(applied)])
    return np.flatnonzero(acted & ~joints.is_tree & np.isin(joints.kind, POSES))


@kept
def needs_law(model: Model, limits: bool = True) -> Array:
    """(NV,) True for dofs with hard limits, dry friction, a velocity limit or a drive with an effort limit.

    Every effort on the coordinate of a loop joint is a law too, for the tree knows nothing of that coordinate.

    Args:
        model: the tables.
        limits: False to leave all limits aside.
    """
    dofs, joints = model.dofs, model.joints
    driven = dofs.drive_mode != DriveMode.NONE
    law = np.any((dofs.friction > 0) | has_bounded_rate(dofs), axis=0) | has_driven_friction(model)
    law |= driven & np.any(np.isfinite(dofs.effort_limit), axis=0)
    if limits:
        law |= has_hard_limit(model)
    on_loop = ~joints.is_tree[dofs.joint]
    smooth = driven | np.any(dofs.damping > 0, axis=0) | has_applied_effort(model)
    smooth |= np.any(dofs.spring_stiffness > 0, axis=0) | np.any(dofs.armature > 0, axis=0)
    if limits:
        smooth |= has_limit(model)
        law |= has_limit(model) & np.isin(joints.kind[dofs.joint], BALLS)
    bounded = np.isin(joints.kind[dofs.joint], KINDS_ALONG_ROWS)
    return (law | (on_loop & smooth)) & bounded


def lawful_of(models: Sequence[Model]) -> Lawful:
    """What the laws of any of some models act on, all of one structure."""
    found = [(needs_law(one), has_limit(one), needs_law(one, limits=False)) for one in models]
    return Lawful(*(np.any(columns, axis=0) for columns in zip(*found, strict=True)))


@kept
def limit_damping(model: Model) -> Array:
    """Damping of soft limits; where a scene leaves it open critical for the inertia at the start, c = 2 sqrt(k D).

    Args:
        model: in tree form, or in another one with the dampings of its tree form.

    Returns:
        [N s/m, N m s/rad], (W|1, NV); D of joints outside the tree, which the tree does not tell, counts as 1.
    """
    dofs = model.dofs
    is_open = (dofs.limit_stiffness > 0) & np.isnan(dofs.limit_damping)
    if not is_open.any():
        return dofs.limit_damping
    D, _ = dof_inertia(model, np.nan_to_num(model.joint_q))
    inertia = np.ones((max(map(len, D)), model.n_qd))
    for k, (first, n) in enumerate(zip(model.links.qd_start, model.links.n_qd, strict=True)):
        inertia[:, first : first + n] = np.diagonal(D[k], axis1=1, axis2=2)
    return np.where(is_open, 2.0 * np.sqrt(dofs.limit_stiffness * inertia), dofs.limit_damping)


def drives_by_law(model: Model, laws: Laws, phases: tuple[Model, ...] = ()) -> Array:
    """(NV,) True for dofs of tree joints whose drive a law clamps, in any of the phases."""
    out = np.zeros(model.n_qd, bool)
    own = laws.dof[laws.row < 0]
    limits = [np.any(np.isfinite(one.dofs.effort_limit), axis=0) for one in (model, *phases)]
    out[own] = (np.any(limits, axis=0) & (model.dofs.drive_mode != DriveMode.NONE))[own]
    return out


def smooth_laws(model: Model, laws: Laws) -> Array:
    """(K,) bool, laws that are smooth efforts on coordinates that are rows: nothing bounds, sticks or switches."""
    dofs, chosen = model.dofs, np.maximum(laws.dof, 0)
    clamped = np.isfinite(dofs.effort_limit) & (dofs.drive_mode != DriveMode.NONE)
    bounded = np.isfinite(dofs.limit_lower) | np.isfinite(dofs.limit_upper) | has_bounded_rate(dofs)
    stops = clamped | bounded | (dofs.friction > 0) | has_driven_friction(model)
    return (laws.row >= 0) & (laws.dof >= 0) & ~np.any(stops[:, chosen], axis=0)
