"""Joints that are off, in the form of the affine solver: none of their laws acts.

The rows of the other solvers have a switch of their own (`Rows.enabled`); the coordinate laws of affine bodies have none, so
that what is off is zero, and bounds are nowhere.
"""

from dataclasses import replace

import numpy as np

from simcli.model.natural.form import natural_form
from simcli.model.state import State
from simcli.model.tables import Model

# A drive whose effort is bounded by zero does nothing, whatever a signal aims it at.
WITHOUT = {"armature": 0.0, "damping": 0.0, "spring_stiffness": 0.0, "spring_energy": 0.0, "friction": 0.0,
           "limit_lower": -np.inf, "limit_upper": np.inf, "velocity_limit": np.inf, "drive_stiffness": 0.0,
           "drive_damping": 0.0, "effort_limit": 0.0}  # fmt: skip
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
    affine = replace(model.affine, **{
        key: np.where(off, value, getattr(model.affine, key)) for key, value in WITHOUT_DRIVING.items()})  # fmt: skip
    return replace(model, dofs=dofs, affine=affine)
