"""Sums of polynomials of joint coordinates, with laws of their own or held, as tables."""

from dataclasses import dataclass

import numpy as np

from simcli.model.table_base import Array, Table


@dataclass(frozen=True)
class Combinations(Table):
    """Sums of polynomials of joint coordinates, x = sum of p_i(q_i), with what acts along them.

    Attributes:
        name: (X,).
        is_linear: (X,) bool, x is in m; else in rad.
        term_start: (X + 1,) offsets into the terms.
        term_dof: (T,) index into joint_qd.
        term_polynomial: (W|1, T, N), coefficients of p_i, from that of q^0 on.
        drive_mode: (X,) DriveMode.
        friction, ..., effort_limit: (W|1, X), as of `Dofs`.
    """

    name: tuple[str, ...]
    is_linear: Array
    term_start: Array
    term_dof: Array
    term_polynomial: Array
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


@dataclass(frozen=True)
class HeldSums(Table):
    """Sums of polynomials of joint coordinates that are held: x = value.

    Attributes:
        name: (X,).
        term_start, term_dof, term_polynomial: as of `Combinations`.
        value: [m or rad], (W|1, X).
    """

    name: tuple[str, ...]
    term_start: Array
    term_dof: Array
    term_polynomial: Array
    value: Array


def terms_of(sums: Combinations | HeldSums, k: int) -> tuple[list[tuple[int, list[Array]]], Array]:
    """What one sum is made of.

    Returns:
        Of each term its dof and its coefficients from that of q^1 on, (W|1,) each; the sum of those of q^0, (W|1,).
    """
    chosen = slice(*sums.term_start[k : k + 2])
    polynomials = sums.term_polynomial[:, chosen]
    terms = [(d, list(polynomials[:, n, 1:].T)) for n, d in enumerate(sums.term_dof[chosen].tolist())]
    return terms, polynomials[..., 0].sum(axis=1)


def no_held_sums() -> HeldSums:
    """A table that holds nothing."""
    return HeldSums((), np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros((1, 0, 2)), np.zeros((1, 0)))


def no_combinations() -> Combinations:
    """A table without combinations."""
    none = np.zeros(0, np.int32)
    return Combinations((), np.zeros(0, bool), np.zeros(1, np.int32), none, np.zeros((1, 0, 2)), none.copy(),
                     *(np.zeros((1, 0)) for _ in range(14)))  # fmt: skip
