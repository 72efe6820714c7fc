"""Columns of forces: joint efforts (applied, damping, drives), springs between points, cables, wrenches on bodies.

efforts.py and wrenches.py have what acts, account.py what it does.
"""

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.forces.account import Account
from simcli.kernels.forces.bushings import Bushings
from simcli.kernels.forces.ropes import RopeColumns
from simcli.kernels.forces.signals import driven_columns
from simcli.kernels.forces.springs import DragColumns, Springs
from simcli.kernels.forces.wrenches import GravityCompensation, JointWrenches, Wrenches
from simcli.kernels.language.values import Vec3
from simcli.model.constraints.build import constraints_of, limit_damping
from simcli.model.forces.ends import LINK_TABLES
from simcli.model.joints.catalogue import BALLS
from simcli.model.joints.mechanism import reads
from simcli.model.joints.tree_kinematics import body_rotations
from simcli.model.tables.model import DriveMode, Model
from simcli.model.tables.table_base import kept


class Forces:
    """Device columns of drives, springs, cables and wrenches.

    Attributes:
        ball_stiffness: of the geodesic spring of a ball joint's drive; its target is a rotation vector.
        stiffness, rate_gain, target, target_rate, driving, constant: a drive's law per dof,
            effort = constant + driving + stiffness (target - q) + rate_gain (target_rate - qd) - damping qd.
        torsion, torsion_rest, torsion_energy: stiffness, rest and constant energy of torsion springs per dof.
        soft_lower, soft_upper, soft_stiffness, soft_damping: soft limits per dof; while one acts, the drive rests.
        armature: [kg, kg m^2], per dof.
        by_law: per dof, 1 where a law (rows/bounded_laws.py) gives the drive's effort instead.
        bushings, springs, ropes, wrenches, joint_wrenches, drags, gravity_compensation, on_links: forces on links, and
            those of them that there are, see wrenches.py.
        account: work done since the start, and power now.
        drives_links: whether signals drive forces on links.
        potential: [J] in springs, cables and bushings, where they were loaded last.
        surface_velocity: [m/s], (S), by which surfaces of shapes move along themselves, link axes; where some do
            (`has_moving_surfaces`).
        contact_friction: (K) of combinations, law_friction: of laws; where signals drive some of them.
    """

    _data_oriented = True

    # Of each table of forces on links, in the order in which they are summed; made of a model, its tables on the device, and
    # the forces, of which signals drive some.
    bushings: Bushings
    springs: Springs
    ropes: RopeColumns
    wrenches: Wrenches
    joint_wrenches: JointWrenches
    drags: DragColumns
    gravity_compensation: GravityCompensation

    def __init__(self, model: Model, tables: Tables, arena: Arena, by_law: np.ndarray | None = None):
        driven = self.driven = driven_columns(model)
        used = {name: name in driven for name in laws_of(model)}
        used |= dict.fromkeys(set().union(*map(acting, tables.phases)), True)
        self.has_drives = used["stiffness"] or used["rate_gain"] or used["ball_stiffness"]
        self.has_damping = bool(tables.ever(lambda m: m.dofs.damping != 0).any())
        self.has_soft_limits = used["soft_stiffness"]
        self.has_torsion = used["torsion"] or used["torsion_energy"]
        sprung = self.has_drives or self.has_damping or self.has_soft_limits or self.has_torsion
        self.has_efforts = sprung or used["constant"] or used["driving"]
        self.armature, self.has_armature = tables.armature, bool(tables.ever(lambda m: m.dofs.armature != 0).any())
        self.has_diagonal = sprung or self.has_armature
        self.has_ball_drives = used["ball_stiffness"]
        self.some_by_law = by_law is not None and bool(np.any(by_law))
        self.by_law = tables.dofs.ints(np.zeros(model.n_qd) if by_law is None else by_law)
        for name, values in laws_of(model).items():
            setattr(self, name, tables.dofs.column(values, driven=name in driven))
        self.damping = tables.damping
        for name, make in Forces.__annotations__.items():
            setattr(self, name, make(model, tables, self))
        self.wrench_force, self.wrench_torque = self.wrenches.force, self.wrenches.torque  # which signals may drive
        self.rope_tension, self.muscle_activation = self.ropes.pull, self.ropes.muscle_activation
        self.on_links = tuple(one for name in Forces.__annotations__ if (one := getattr(self, name)).n)
        self.has_external, self.need_poses = bool(self.on_links), any(one.need_poses for one in self.on_links)
        self.damps_links = any(one.damps for one in self.on_links)
        self.has_elastic = any(one.stores for one in self.on_links) or self.has_soft_limits or self.has_torsion
        self.has_work = self.has_efforts or self.has_external
        on_joints = {"constant"} if self.joint_wrenches.n else set()
        of_links = {"wrench_force", "wrench_torque", "rope_tension", "muscle_activation"}
        self.drives_links = bool(driven & (of_links | on_joints))
        self.account = Account(arena)
        self.potential = arena.single.array()
        is_driven = "surface_velocity" in driven
        self.has_moving_surfaces = is_driven or bool(tables.ever(lambda m: m.shapes.surface_velocity != 0).any())
        if self.has_moving_surfaces:
            self.surface_velocity = tables.column(surface_velocity(model), Vec3, driven=is_driven)
        contacts = model.contacts
        if contacts is not None and "contact_friction" in driven:
            most = np.maximum(contacts.friction, contacts.friction_across)
            self.contact_friction = tables.column(most, driven=True)
        if "law_friction" in driven:
            self.law_friction = tables.column(constraints_of(model).laws.friction, driven=True)


if lacking := {*LINK_TABLES} - {*Forces.__annotations__}:
    raise TypeError(f"forces {lacking} would not act: name their columns in `Forces` of {__name__}")


def surface_velocity(model: Model) -> np.ndarray:
    """[m/s], (W|1, S, 3), by which surfaces of shapes move along themselves, axes of their links."""
    return np.einsum("wsij,wsj->wsi", body_rotations(model.links, model.shapes.body), model.shapes.surface_velocity)


def laws_of(model: Model) -> dict[str, np.ndarray]:
    """Columns (W|1, NV) of all laws of coordinates."""
    return drive_law(model) | soft_limits(model) | torsions(model)


@kept
def acting(model: Model) -> list[str]:
    """Names of the columns of laws that are not zero everywhere."""
    return [name for name, values in laws_of(model).items() if np.any(values)]


@kept
def drive_law(model: Model) -> dict[str, np.ndarray]:
    """Reduce the drive modes to one law (see `Forces`).

    Returns:
        Columns (W|1, NV) stiffness, ball_stiffness, rate_gain, target, target_rate, driving, constant.

    Source: Newton's actuator modes: VELOCITY reads no stiffness, EFFORT applies the target. Deviation: POSITION damps the
    difference from the target velocity, which is 0 unless written, rather than the rate itself.
    """
    dofs, mode = model.dofs, model.dofs.drive_mode
    has_position = reads(mode, "stiffness")
    stiffness = np.where(has_position, dofs.drive_stiffness, 0.0)
    on_ball = np.isin(model.joints.kind[dofs.joint], BALLS)
    return {
        "stiffness": np.where(on_ball, 0.0, stiffness),
        "ball_stiffness": np.where(on_ball, stiffness, 0.0),
        "rate_gain": np.where(reads(mode, "damping"), dofs.drive_damping, 0.0),
        "target": np.where(has_position, dofs.drive_target, 0.0),
        "target_rate": np.where(reads(mode, "target_velocity"), dofs.drive_target_velocity, 0.0),
        "driving": np.where(mode == DriveMode.EFFORT, dofs.drive_target, 0.0),
        "constant": model.joint_f,
    }


def torsions(model: Model) -> dict[str, np.ndarray]:
    """Torsion springs: columns (W|1, NV) torsion, torsion_rest, torsion_energy."""
    dofs = model.dofs
    return {"torsion": dofs.spring_stiffness, "torsion_rest": dofs.spring_rest, "torsion_energy": dofs.spring_energy}


@kept
def soft_limits(model: Model) -> dict[str, np.ndarray]:
    """Limits that are springs: those with a stiffness.

    Returns:
        Columns (W|1, NV) soft_lower, soft_upper, infinite where there is none; soft_stiffness, soft_damping, 0 there.
    """
    dofs = model.dofs
    soft = (dofs.limit_stiffness > 0) & (np.isfinite(dofs.limit_lower) | np.isfinite(dofs.limit_upper))
    return {
        "soft_lower": np.where(soft, dofs.limit_lower, -np.inf),
        "soft_upper": np.where(soft, dofs.limit_upper, np.inf),
        "soft_stiffness": np.where(soft, dofs.limit_stiffness, 0.0),
        "soft_damping": np.where(soft, limit_damping(model), 0.0),
    }
