"""Damping that explicit steps of rk4 cannot follow, found at the start of world 0, before anything runs."""

from dataclasses import dataclass

import numpy as np

from simcli.model.constraints.mobility import loop_rows, mass_at_start
from simcli.model.joints.mechanism import reads
from simcli.model.tables.model import Array, Model
from simcli.model.tables.signal_tables import MotionKind

GROWTH = 1.5  # of an error per step, from which a word is said: a smaller one may pass as the mechanism moves on
_RANK = 1e-9  # [1] singular values of rows below this part of the largest count as zero
_HALVINGS = 50  # of the interval in which the largest step lies


@dataclass(frozen=True)
class StiffDamping:
    """A joint whose velocity its damping takes away faster than steps of rk4 can follow.

    Attributes:
        joint: its name.
        rate: [1/s], at which the velocity goes.
        largest_dt: [s], above which errors grow.
    """

    joint: str
    rate: float
    largest_dt: float


def stiff_damping(model: Model, dt: float) -> StiffDamping | None:
    """The stiffest joint, if errors of steps of rk4 grow by more than `GROWTH` in each.

        M a + C v + K dq = 0 at the start;    an error e^(lambda t) grows in a step by
        R(z) = 1 + z + z^2 / 2 + z^3 / 6 + z^4 / 24,    z = lambda dt

    M is that of the tree with its loops closed, C and K are those of joints and drives. What dry friction may hold is left
    out of both, and what is prescribed, or tied to another coordinate, is held: this makes the answer milder. Springs
    between bodies, which K lacks, may slow a damped motion by half, which is therefore taken off.

    Args:
        model: the tables.
        dt: [s], step.

    Source: the stability function of the classical method, as in Hairer and Wanner (1996), IV.2.
    """
    if not model.joints.enabled.all() or not model.n_bodies:
        return None
    C, K = _laws(model)
    if not C.any():
        return None
    N = _free_directions(model)
    if not N.shape[1]:
        return None
    M = N.T @ mass_at_start(model) @ N
    strength = np.linalg.eigvalsh(M)
    if strength[0] <= _RANK * strength[-1]:  # a part without inertia, which is refused or told elsewhere
        return None
    n = N.shape[1]
    by_q, by_qd = (-np.linalg.solve(M, N.T @ (law[:, None] * N)) for law in (K, C))
    system = np.block([[np.zeros((n, n)), np.eye(n)], [by_q, by_qd]])
    values, vectors = np.linalg.eig(system)
    fastest = int(np.abs(values).argmax())
    damped = 0.5 if len(model.springs.name) or len(model.bushings.name) else 1.0
    if _growth(values * damped * dt) < GROWTH:
        return None
    share = C * np.abs(N @ vectors[n:, fastest]) ** 2
    joint = model.joints.name[model.dofs.joint[int(share.argmax())]]
    return StiffDamping(joint, float(abs(values[fastest])), _largest(values, dt))


def stiff_text(model: Model, options) -> tuple[str, str]:
    """What there is to say of the steps of a run, and what to do about it; "" if nothing.

    Args:
        model: the tables.
        options: the `solver` of the scene.
    """
    rk4 = options.type == "generalized" and options.integrator == "rk4"
    found = stiff_damping(model, options.dt) if rk4 else None
    if found is None:
        return "", ""
    text = (
        f"rk4 is explicit, and unstable with the damping of joint `{found.joint}`: its decay rate is "
        f"{found.rate:.3g} 1/s, and solver.dt is {options.dt:g} s"
    )
    return text, f"take solver.dt <= {found.largest_dt:.2g} s, or solver.integrator: implicit"


def _laws(model: Model) -> tuple[Array, Array]:
    """Damping and stiffness per velocity coordinate of world 0, but for those that dry friction may hold."""
    dofs = model.dofs
    acts = (dofs.friction[0] == 0) & model.joints.is_tree[dofs.joint]
    C = dofs.damping[0] + np.where(reads(dofs.drive_mode, "damping"), dofs.drive_damping[0], 0.0)
    K = dofs.spring_stiffness[0] + np.where(reads(dofs.drive_mode, "stiffness"), dofs.drive_stiffness[0], 0.0)
    return np.where(acts, C, 0.0), np.where(acts, K, 0.0)


def _free_directions(model: Model) -> Array:
    """Velocities that loops, motions and ties leave free, (NV, N), orthonormal."""
    joints, dofs = model.joints, model.dofs
    held = ~joints.is_tree[dofs.joint] | (model.motions.kind != MotionKind.NONE)
    held |= model.bodies.kinematic[joints.child[dofs.joint]]
    for sums in (model.combinations, model.holds):
        held[sums.term_dof] = True
    held[model.mimics.follower] = held[model.mimics.leader] = True
    rows = np.concatenate([np.eye(model.n_qd)[held], *(block for _, block in loop_rows(model))])
    _, values, axes = np.linalg.svd(rows, full_matrices=True)
    rank = int((values > _RANK * values[0]).sum()) if len(values) else 0
    return axes[rank:].T


def _growth(z: Array) -> float:
    """Of the error of a step, by its fastest growing mode."""
    return float(np.abs(1.0 + z * (1.0 + z / 2.0 * (1.0 + z / 3.0 * (1.0 + z / 4.0)))).max())


def _largest(values: Array, dt: float) -> float:
    """The largest step at which no damped mode grows."""
    damped = values[values.real < 0.0]
    low, high = 0.0, dt
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _growth(damped * middle) <= 1.0 else (low, middle)
    return low
