"""The form of a model in which combinations of coordinates are the coordinates of joints without bodies."""

from dataclasses import fields, replace

import numpy as np

from simcli.model.forms.maximal_form import FREE_SUFFIX, beside, with_dofs, with_joints, with_state
from simcli.model.joints.gears import polynomial_at
from simcli.model.joints.mechanism import DOF_DEFAULTS, JointInput
from simcli.model.joints.motion_axes import MotionAxis
from simcli.model.joints.state import State
from simcli.model.tables.joint_tables import Combinations
from simcli.model.tables.model import WORLD, Array, JointKind, Model

DOF_COLUMNS = tuple(one.name for one in fields(Combinations) if one.name in DOF_DEFAULTS)  # as of dofs


def combined(model: Model) -> Model:
    """The form of a model in which each combination is the coordinate of a joint without bodies, behind all others.

    What acts along it is what acts on any joint outside the tree: laws on a row (constraints/build.py).

    Args:
        model: as it begins; also its dofs have no such joints yet.

    Returns:
        Tables whose first joints, dofs and coordinates are those of the model.
    """
    combinations = model.combinations
    if not combinations.name:
        return model
    none, axis = np.zeros((1, 0, 3)), np.array([[[1.0, 0.0, 0.0]]])
    parts = [
        JointInput(
            f"{name}{FREE_SUFFIX}",
            JointKind.PRISMATIC if linear else JointKind.REVOLUTE,
            WORLD,
            WORLD,
            MotionAxis(axis, none) if linear else MotionAxis(none, axis),
            is_tree=False,
        )
        for name, linear in zip(combinations.name, combinations.is_linear.tolist(), strict=True)
    ]
    joints = with_joints(model.joints, parts)
    joints = replace(joints, is_tree=np.append(model.joints.is_tree, np.zeros(len(parts), bool)))
    dofs, n = with_dofs(model.dofs, parts, model.n_joints), model.n_qd
    columns = {name: beside([getattr(dofs, name)[:, :n], getattr(combinations, name)]) for name in DOF_COLUMNS}
    dofs = replace(dofs, drive_mode=np.append(model.dofs.drive_mode, combinations.drive_mode).astype(np.int32), **columns)
    at = model.joints.q_start[model.dofs.joint] + np.arange(n) - model.joints.qd_start[model.dofs.joint]
    start = State.of(model)
    q, qd = ([one[:, None] for one in values_at(combinations, now).T] for now in (start.joint_q[:, at], start.joint_qd))
    return replace(with_state(model, start, q, qd), joints=joints, dofs=dofs)


def values_at(combinations: Combinations, coordinates: Array) -> Array:
    """Sums of some coordinates.

    Args:
        combinations: the table.
        coordinates: (W, NV), of dofs that have one.

    Returns:
        (W, X).
    """
    terms, _slope = polynomial_at(combinations.term_polynomial, coordinates[:, combinations.term_dof])
    return np.stack(
        [terms[:, a:b].sum(axis=1) for a, b in zip(combinations.term_start[:-1], combinations.term_start[1:], strict=True)],
        axis=1,
    )
