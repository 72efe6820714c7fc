"""Couplings: what acts on combinations of joint coordinates."""

import numpy as np

from simcli.model.forces.ends import of_type
from simcli.model.joints.links import beside, stack_worlds
from simcli.model.tables.joint_tables import Combinations, EffortCurves, HeldSums
from simcli.model.tables.model import Array, DriveMode, Model
from simcli.model.tables.worlds import Worlds, constant_part
from simcli.spec.schema.force_base import kinds_of_terms

# Columns of dofs, the key of a coupling that they are, below which other key, and what stands for none.
SOURCES = {
    "friction": ("", "friction", 0.0),
    "damping": ("", "damping", 0.0),
    "spring_stiffness": ("", "stiffness", 0.0),
    "spring_rest": ("", "rest", 0.0),
    "velocity_limit": ("", "velocity_limit", np.inf),
    "rate_lower": ("rate", "min", -np.inf),
    "rate_upper": ("rate", "max", np.inf),
    "limit_lower": ("limit", "lower", -np.inf),
    "limit_upper": ("limit", "upper", np.inf),
    "limit_stiffness": ("limit", "stiffness", 0.0),
    "limit_damping": ("limit", "damping", np.nan),
    "drive_stiffness": ("drive", "stiffness", 0.0),
    "drive_damping": ("drive", "damping", 0.0),
    "drive_target": ("drive", "direct_target", 0.0),
    "drive_target_velocity": ("drive", "target_velocity", 0.0),
    "effort_limit": ("drive", "largest_effort", np.inf),
}


def read_couplings(worlds: Worlds, model: Model) -> Combinations:
    """Couplings.

    Args:
        worlds: the scenes.
        model: its joints.
    """
    names = [name for name in of_type(worlds, "coupling") if worlds.first.forces[name].hold is None]
    if not names:
        return model.combinations  # none: an event builds a model, and most scenes have no couplings
    forces = [worlds.first.forces[name] for name in names]
    columns = {
        column: stack_worlds([worlds.numbers(lambda s, n=name, of=of: _number(s.forces[n], *of)) for name in names], ())
        for column, of in SOURCES.items()
    }
    linear = [(force.unit or {"L": "m"}.get(kinds_of_terms(worlds.first.joints, force.of))) == "m" for force in forces]
    modes = [DriveMode.NONE if force.drive is None else DriveMode[force.drive.mode.upper()] for force in forces]
    return Combinations(
        name=tuple(names),
        is_linear=np.array(linear, bool),
        **_terms(worlds, model, names),
        drive_mode=np.array(modes, np.int32),
        **columns,
    )


def read_holds(worlds: Worlds, model: Model) -> HeldSums:
    """Couplings that hold their sum.

    Args:
        worlds: the scenes.
        model: its joints.
    """
    names = [name for name in of_type(worlds, "coupling") if worlds.first.forces[name].hold is not None]
    if not names:
        return model.holds
    values = [worlds.numbers(lambda s, n=name: s.forces[n].hold) for name in names]
    return HeldSums(name=tuple(names), **_terms(worlds, model, names), value=stack_worlds(values, ()))


def read_effort_curves(worlds: Worlds, model: Model) -> EffortCurves:
    """Effort limits of drives that depend on the speed, of joints and of couplings.

    Args:
        worlds: the scenes.
        model: its joints.
    """
    found = [
        (int(model.joints.qd_start[model.joints.name.index(name)]) + k, lambda s, n=name, k=k: s.joints[n].drive[k])
        for name, joint in worlds.first.joints.items()
        for k in range(len(joint.drive or ()))
    ]
    sums = [name for name in of_type(worlds, "coupling") if worlds.first.forces[name].hold is None]
    found += [(model.n_qd + n, lambda s, name=name: s.forces[name].drive) for n, name in enumerate(sums)]
    found = [(dof, get) for dof, get in found if get(worlds.first) is not None]
    curves = [(dof, get) for dof, get in found if get(worlds.first).effort_limit_table is not None]
    if not curves:
        return model.effort_curves
    sizes = [worlds.common(lambda s, get=get: len(get(s).effort_limit_table.speed), "joints") for _, get in curves]
    speed, effort = (
        beside(
            [
                worlds.numbers(lambda s, get=get, key=key: getattr(get(s).effort_limit_table, key), (size,))
                for (_, get), size in zip(curves, sizes, strict=True)
            ]
        )
        for key in ("speed", "effort")
    )
    return EffortCurves(np.repeat([dof for dof, _ in curves], sizes).astype(np.int32), speed, effort)


def _terms(worlds: Worlds, model: Model, names: list[str]) -> dict[str, Array]:
    """Columns of the terms of some couplings."""
    forces, joints = [worlds.first.forces[name] for name in names], model.joints
    for name in names:
        worlds.common(lambda s, n=name: _structure(s.forces[n]), f"forces.{name}")
    dofs = [joints.qd_start[joints.name.index(term.joint)] + term.dof for force in forces for term in force.of]
    most = max(len(term.coefficients) for force in forces for term in force.of)
    polynomials = [
        worlds.numbers(lambda s, n=name, k=k: _padded(s.forces[n].of[k].coefficients, most), (most,))
        for name, force in zip(names, forces, strict=True)
        for k in range(len(force.of))
    ]
    return {
        "term_dof": np.array(dofs, np.int32),
        "term_polynomial": stack_worlds(polynomials, (most,)),
        "term_start": np.cumsum([0, *(len(force.of) for force in forces)], dtype=np.int32),
    }


def _padded(coefficients: tuple[float, ...], count: int) -> tuple[float, ...]:
    return (*coefficients, *(0.0,) * (count - len(coefficients)))


def _structure(force) -> tuple:
    """What of a coupling must be the same in all worlds."""
    terms = [(term.joint, term.dof, len(term.coefficients)) for term in force.of]
    return terms, force.hold is None, force.unit, force.drive and force.drive.mode, force.limit is None, force.rate is None


def _number(force, below: str, key: str, default: float) -> float:
    part = getattr(force, below) if below else force
    value = None if part is None else getattr(part, key)
    return default if value is None else constant_part(value)
