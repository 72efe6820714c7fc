"""Couplings: what acts on combinations of joint coordinates."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from simcli.model.forces.ends import of_type
from simcli.model.joints.links import beside, stack_worlds
from simcli.model.tables.joint_tables import Combinations, EffortCurves, HeldSums
from simcli.model.tables.model import Array, DriveMode, Model
from simcli.model.tables.worlds import Worlds, constant_part
from simcli.spec.schema.force_base import kinds_of_terms
from simcli.spec.schema.forces import CouplingForce
from simcli.spec.schema.scene import SceneSpec

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
    places = list(_drives(worlds.first, model))
    curved = [k for k, (_, _, drive) in enumerate(places) if drive is not None and drive.effort_limit_table is not None]
    if not curved:
        return model.effort_curves
    sizes = [len(places[k][2].effort_limit_table.speed) for k in curved]
    columns: dict[str, list[Array]] = {"speed": [], "effort": []}
    for k, size in zip(curved, sizes, strict=True):
        worlds.common(partial(_size_of_curve, model, k), f"{places[k][1]}.effort_limit_table")
        for key, found in columns.items():
            found.append(worlds.numbers(partial(_curve_of, model, k, key), (size,)))
    dofs = np.repeat([places[k][0] for k in curved], sizes).astype(np.int32)
    return EffortCurves(dofs, beside(columns["speed"]), beside(columns["effort"]))


def _drives(scene: SceneSpec, model: Model) -> Iterator[tuple[int, str, Any]]:
    """Dof, path and words of each drive; of couplings the dof that stands for them behind all others."""
    for name, joint in scene.joints.items():
        first = int(model.joints.qd_start[model.joints.name.index(name)])
        yield from ((first + k, f"joints.{name}.drive", drive) for k, drive in enumerate(joint.drive or ()))
    sums = [(name, one) for name, one in scene.forces.items() if isinstance(one, CouplingForce) and one.hold is None]
    yield from ((model.n_qd + n, f"forces.{name}.drive", one.drive) for n, (name, one) in enumerate(sums))


def _curve_of(model: Model, k: int, key: str, scene: SceneSpec) -> Any:
    return getattr(list(_drives(scene, model))[k][2].effort_limit_table, key)


def _size_of_curve(model: Model, k: int, scene: SceneSpec) -> int:
    return len(_curve_of(model, k, "speed", scene))


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
