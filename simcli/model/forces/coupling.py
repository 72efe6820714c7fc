"""Couplings: what acts on combinations of joint coordinates."""

import numpy as np

from simcli.model.batch.gather import Worlds
from simcli.model.forces.ends import of_type
from simcli.model.joints.combinations import Combinations
from simcli.model.signals.inputs import constant_part
from simcli.model.tables import DriveMode, Model
from simcli.model.tree.links import pile
from simcli.spec.forces.base import kinds_of_terms

# Columns of dofs, the key of a coupling that they are, below which other key, and what stands for none.
SOURCES = {
    "friction": ("", "friction", 0.0), "damping": ("", "damping", 0.0), "spring_stiffness": ("", "stiffness", 0.0),
    "spring_rest": ("", "rest", 0.0), "velocity_limit": ("", "velocity_limit", np.inf),
    "limit_lower": ("limit", "lower", -np.inf), "limit_upper": ("limit", "upper", np.inf),
    "limit_stiffness": ("limit", "stiffness", 0.0), "limit_damping": ("limit", "damping", np.nan),
    "drive_stiffness": ("drive", "stiffness", 0.0), "drive_damping": ("drive", "damping", 0.0),
    "drive_target": ("drive", "direct_target", 0.0), "drive_target_velocity": ("drive", "target_velocity", 0.0),
    "effort_limit": ("drive", "effort_limit", np.inf),
}  # fmt: skip


def read_couplings(worlds: Worlds, model: Model) -> Combinations:
    """Couplings.

    Args:
        worlds: the scenes.
        model: its joints.
    """
    names = of_type(worlds, "coupling")
    if not names:
        return model.combinations  # none: an event builds a model, and most scenes have no couplings
    forces = [worlds.first.forces[name] for name in names]
    for name in names:
        worlds.common(lambda s, n=name: _structure(s.forces[n]), f"forces.{name}")
    joints = model.joints
    dofs = [joints.qd_start[joints.name.index(term.joint)] + term.dof for force in forces for term in force.of]
    factors = [worlds.numbers(lambda s, n=name, k=k: s.forces[n].of[k].factor)
               for name, force in zip(names, forces, strict=True) for k in range(len(force.of))]  # fmt: skip
    columns = {column: pile([worlds.numbers(lambda s, n=name, of=of: _number(s.forces[n], *of)) for name in names], ())
               for column, of in SOURCES.items()}  # fmt: skip
    linear = [(force.unit or {"L": "m"}.get(kinds_of_terms(worlds.first.joints, force.of))) == "m" for force in forces]
    modes = [DriveMode.NONE if force.drive is None else DriveMode[force.drive.mode.upper()] for force in forces]
    return Combinations(
        name=tuple(names), is_linear=np.array(linear, bool), term_dof=np.array(dofs, np.int32),
        term_start=np.cumsum([0, *(len(force.of) for force in forces)], dtype=np.int32), term_factor=pile(factors, ()),
        drive_mode=np.array(modes, np.int32), **columns,
    )  # fmt: skip


def _structure(force) -> tuple:
    """What of a coupling must be the same in all worlds."""
    return [(term.joint, term.dof) for term in force.of], force.unit, force.drive and force.drive.mode, force.limit is None


def _number(force, below: str, key: str, default: float) -> float:
    part = getattr(force, below) if below else force
    value = None if part is None else getattr(part, key)
    return default if value is None else constant_part(value)
