"""Combinations of joint coordinates that have laws of their own, as a table."""

from dataclasses import dataclass

import numpy as np

from simcli.model.table_base import Array, Table


@dataclass(frozen=True)
class Combinations(Table):
    """Linear combinations of joint coordinates, x = sum of factors times coordinates, with what acts along them.

    Attributes:
        name: (X,).
        is_linear: (X,) bool, x is in m; else in rad.
        term_start: (X + 1,) offsets into the terms.
        term_dof: (T,) index into joint_qd.
        term_factor: (W|1, T).
        drive_mode: (X,) DriveMode.
        friction, ..., effort_limit: (W|1, X), as of `Dofs`.
    """

    name: tuple[str, ...]
    is_linear: Array
    term_start: Array
    term_dof: Array
    term_factor: Array
    drive_mode: Array
    friction: Array
    damping: Array
    spring_stiffness: Array
    spring_rest: Array
    limit_lower: Array
    limit_upper: Array
    limit_stiffness: Array
    limit_damping: Array
    velocity_limit: Array
    drive_stiffness: Array
    drive_damping: Array
    drive_target: Array
    drive_target_velocity: Array
    effort_limit: Array


def no_combinations() -> Combinations:
    """A table without combinations."""
    none = np.zeros(0, np.int32)
    return Combinations((), np.zeros(0, bool), np.zeros(1, np.int32), none, np.zeros((1, 0)), none.copy(),
                     *(np.zeros((1, 0)) for _ in range(14)))  # fmt: skip
