"""What the affine solver reads of a scene: stiffness of bodies and joints, and driving joints; joints that are off.

Stiffness is physical, in N/m and N m (of directions, which have no unit). libuipc's ratios are turned into it here,

    stiffness = strength_ratio (m_parent + m_child) / dt^2

with no mass for the world. Source: Lan et al. (2022), and the joints of libuipc. Deviation: physical units may be written.

The rows of the other solvers have a switch of their own (`Rows.enabled`); the coordinate laws of affine bodies have none,
so that what is off is zero, and bounds are nowhere.
"""

from dataclasses import replace

import numpy as np

from simcli import rotations as rot
from simcli.model.forms.natural_form import natural_form
from simcli.model.joints.mechanism import BodyInput
from simcli.model.joints.state import State
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.joint_tables import Dofs, Joints
from simcli.model.tables.model import WORLD, Affine, Array, Model
from simcli.model.tables.worlds import Worlds, constant_part
from simcli.spec.schema.joint import DrivingSpec

DENSITY = 1000.0  # [kg/m^3] of a body without shapes, which gives its volume; libuipc's default
OFF = DrivingSpec()


def read_affine(worlds: Worlds, model: Model, bodies: list[BodyInput]) -> Affine:
    """The table of a scene.

    Args:
        worlds: the scenes.
        model: of the same scenes.
        bodies: give volumes.

    Returns:
        The table.
    """
    first = worlds.first
    total = _masses(model.bodies, model.joints)
    dt = worlds.numbers(lambda s: s.solver.dt)[:, None]
    dof = model.dofs.joint
    driven = [first.joints.get(model.joints.name[j]) for j in dof]
    paths = [
        model.joints.name[j] if spec is not None and spec.driving is not None else None
        for j, spec in zip(dof, driven, strict=True)
    ]
    ratio = total / dt**2
    return Affine(
        shape_stiffness=_shape_stiffness(worlds, model, bodies),
        is_arap=np.array([body.affine is not None and body.affine.energy == "arap" for body in first.bodies.values()]),
        is_quasi_static=np.array(
            [body.affine is not None and body.affine.quasi_static for body in first.bodies.values()], bool
        ),
        **_holds(worlds, model.bodies, dt),
        joint_stiffness=_joint_stiffness(worlds, model.joints, ratio),
        limit_stiffness=_joint_stiffness(worlds, model.joints, ratio, soft=False)[:, dof],
        limit_strength=_limit_strength(worlds, model.joints, dt),
        driving_stiffness=_driving_stiffness(worlds, paths, ratio[:, dof]),
        driving_acts=_driving(worlds, paths, lambda d: float(d.is_constrained)),
        driving_passive=_driving(worlds, paths, lambda d: float(d.is_passive)),
        driving_locked=_driving(worlds, paths, lambda d: float(d.is_locked)),
        driving_aim=_driving(
            worlds,
            paths,
            lambda d: constant_part(next((aim for aim in (d.aim_angle, d.aim_distance) if aim is not None), 0.0)),
        ),
        has_driving=np.array([path is not None for path in paths], bool),
        one_turn=np.array([path is not None and first.joints[path].driving.turns == "one" for path in paths], bool),
        init=_per_dof(worlds, model.joints, model.dofs, lambda joint: joint.init_angle),
    )


def _masses(bodies: Bodies, joints: Joints) -> Array:
    """[kg], (W|1, J), of the two bodies of each joint together."""
    ends = (joints.parent, joints.child)
    return sum(np.where(end == WORLD, 0.0, bodies.mass[:, end]) for end in ends)


def _shape_stiffness(worlds: Worlds, model: Model, bodies: list[BodyInput]) -> Array:
    """[J], (W|1, B), stiffness times volume."""
    columns = []
    for b, part in enumerate(bodies):
        name = part.name
        kappa = worlds.numbers(lambda s, n=name: _asked(s.bodies[n].affine, "stiffness", s.solver.stiffness))
        volume = worlds.numbers(lambda s, n=name: _asked(s.bodies[n].affine, "volume", 0.0))
        own = model.bodies.mass[:, b] / DENSITY if part.volume is None else part.volume
        columns.append(kappa * np.where(volume > 0.0, volume, own))
    return _beside(columns)


def _holds(worlds: Worlds, bodies: Bodies, dt: Array) -> dict[str, Array]:
    """Soft holds: stiffness strength m / dt^2 of each body; aims; rates of motors."""
    rows = [_hold(worlds, name, bodies.mass[:, b, None] / dt**2) for b, name in enumerate(bodies.name)]
    holds = [spec.affine.transform if spec.affine is not None else None for spec in worlds.first.bodies.values()]
    found = {
        "has_hold": np.array([hold is not None for hold in holds], bool),
        "is_motor": np.array([hold is not None and hold.pose is None for hold in holds], bool),
    }
    keys = rows[0] if rows else ()
    return found | {key: np.stack(np.broadcast_arrays(*(row[key] for row in rows)), axis=1) for key in keys}


def _hold(worlds: Worlds, name: str, ratio: Array) -> dict[str, Array]:
    """The soft hold of a body, or one that does not act."""
    spec = worlds.first.bodies[name].affine
    if spec is None or spec.transform is None:
        return {
            "hold": np.zeros((1, 2)),
            "hold_pose": np.array([rot.IDENTITY_POSE]),
            "hold_rate": np.zeros((1, 6)),
            "hold_shift": np.zeros((1, 6)),
            "hold_passive": np.zeros(1),
        }

    def six(hold, one: str, other: str) -> list[float]:
        return [constant_part(v) for key in (one, other) for v in getattr(hold, key) or (0.0, 0.0, 0.0)]

    def read(get, shape=()):
        return worlds.numbers(lambda s: get(s.bodies[name].affine.transform), shape)

    pose = read(lambda h: (*h.pose.xyz, *h.pose.quat_xyzw) if h.pose else rot.IDENTITY_POSE, (7,))
    return {
        "hold": read(lambda h: h.strength, (2,)) * read(lambda h: float(h.is_constrained))[:, None] * ratio,
        "hold_pose": pose,
        "hold_rate": read(lambda h: six(h, "linear", "angular"), (6,)),
        "hold_shift": read(lambda h: six(h, "shift", "turn"), (6,)),
        "hold_passive": read(lambda h: float(h.is_passive)),
    }


def _asked(spec: object, key: str, default: float) -> float:
    value = getattr(spec, key, None)
    return default if value is None else value


def _joint_stiffness(worlds: Worlds, joints: Joints, ratio: Array, soft: bool = True) -> Array:
    """[N/m, N m], (W|1, J): 1 / compliance, else the ratio; of hard limits the ratio alone."""
    columns = []
    for j, name in enumerate(joints.name):
        gamma = worlds.numbers(lambda s, n=name: _asked(s.joints.get(n), "strength_ratio", s.solver.strength_ratio))
        stiffness = gamma * ratio[:, j]
        if soft and name in worlds.first.joints:
            yields = worlds.numbers(lambda s, n=name: s.joints[n].compliance)
            stiffness = np.where(yields > 0.0, 1.0 / np.where(yields > 0.0, yields, 1.0), stiffness)
        columns.append(stiffness)
    return _beside(columns)


def _limit_strength(worlds: Worlds, joints: Joints, dt: Array) -> Array:
    """[J], (W|1, NV), of cubic energies beyond limits; a joint's limits may be one for several dofs."""

    def strength(joint) -> list[float]:
        found = [0.0 if one is None else one.strength for one in joint.limit or ()]
        n = len(joint.dof_kinds)
        return found if len(found) == n else [0.0] * n

    columns = [np.zeros((1, 0))]
    for j, name in enumerate(joints.name):
        n = int(joints.qd_start[j + 1] - joints.qd_start[j])
        known = name in worlds.first.joints
        columns.append(worlds.numbers(lambda s, n=name: strength(s.joints[n]), (n,)) if known else np.zeros((1, n)))
    return _wide(columns) / dt**2


def _driving_stiffness(worlds: Worlds, paths: list[str | None], ratio: Array) -> Array:
    """[N/m, N m], (W|1, NV), of driving joints; libuipc's prismatic ones have two rows, along the axes of both bodies."""
    lines = [path is not None and worlds.first.joints[path].dof_kinds == "L" for path in paths]
    gamma = _driving(worlds, paths, lambda d: d.strength_ratio) * np.where(lines, 2.0, 1.0)
    written = _driving(worlds, paths, lambda d: _asked(d, "stiffness", 0.0))
    return np.where(written > 0.0, written, gamma * ratio) * np.array([path is not None for path in paths], float)


def _driving(worlds: Worlds, paths: list[str | None], get) -> Array:
    """A number of the driving joints, (W|1, NV); 0 elsewhere."""
    none = np.zeros(1)
    return _beside(
        [none if path is None else worlds.numbers(lambda s, p=path: get(s.joints[p].driving or OFF)) for path in paths]
    )


def _per_dof(worlds: Worlds, joints: Joints, dofs: Dofs, get) -> Array:
    """A number of the joints at each of their dofs, (W|1, NV); 0 for joints that were added."""
    names = [joints.name[j] for j in dofs.joint]
    return _beside(
        [
            worlds.numbers(lambda s, n=name: get(s.joints[n])) if name in worlds.first.joints else np.zeros(1)
            for name in names
        ]
    )


def _beside(columns: list[Array]) -> Array:
    """(W|1, n) of n arrays (W|1,)."""
    return np.stack(np.broadcast_arrays(*columns), axis=1) if columns else np.zeros((1, 0))


def _wide(columns: list[Array]) -> Array:
    """(W|1, n) of arrays (W|1, n_k)."""
    worlds = max(len(column) for column in columns)
    return np.concatenate([np.broadcast_to(column, (worlds, column.shape[1])) for column in columns], axis=1)


# A drive whose effort is bounded by zero does nothing, whatever a signal aims it at.
WITHOUT = {
    "armature": 0.0,
    "damping": 0.0,
    "spring_stiffness": 0.0,
    "spring_energy": 0.0,
    "friction": 0.0,
    "limit_lower": -np.inf,
    "limit_upper": np.inf,
    "velocity_limit": np.inf,
    "drive_stiffness": 0.0,
    "drive_damping": 0.0,
    "effort_limit": 0.0,
}
WITHOUT_DRIVING = {"limit_strength": 0.0, "driving_acts": 0.0}


def affine_form(model: Model, start: State) -> Model:
    """The natural form of a model for the affine solver, in which joints that are off have no laws.

    Args:
        model: the tables of a scene.
        start: where everything is.

    Returns:
        Tables as of `natural_form`.
    """
    return natural_form(without_laws_of_joints_off(model), start)


def without_laws_of_joints_off(model: Model) -> Model:
    """The model with limits, drives, dampers, friction and armature of the joints that are on alone."""
    off = ~model.joints.enabled[model.dofs.joint]
    if not off.any():
        return model
    dofs = replace(model.dofs, **{key: np.where(off, value, getattr(model.dofs, key)) for key, value in WITHOUT.items()})
    affine = replace(
        model.affine, **{key: np.where(off, value, getattr(model.affine, key)) for key, value in WITHOUT_DRIVING.items()}
    )
    return replace(model, dofs=dofs, affine=affine)
