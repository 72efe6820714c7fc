"""One run of every rigid-body algorithm on random states of a mechanism: the numbers that oracle tests judge."""

from types import SimpleNamespace

import numpy as np

from simcli.model.assemble import assemble
from support.forward_dynamics import forward_dynamics


def slots_of(core):
    """Device memory that kernels must fill before they read it, by name."""
    from simcli.kernels.device.pack_arrays import PackArray

    groups = {"state": core.state, "rows": core.rows, "core": core, "hinges": core.hinges}
    kept = ("state.external", "state.qd")  # zero where nobody writes: links without a body, kernels without rates
    found = {
        f"{name}.{key}": slot
        for name, group in groups.items()
        if group
        for key, slot in vars(group).items()
        if isinstance(slot, PackArray) and not hasattr(slot, "base")
    }
    return [slot for name, slot in found.items() if name not in kept]


def poison(algorithms):
    """Fill results and scratch with NaN, so that what a kernel forgets to write shows."""
    for slot in slots_of(algorithms.core):
        if slot.n_items:
            slot.write(np.full((1, slot.n_items, slot.width), np.nan))


def draw_inputs(rng, model, n_states):
    """Random accelerations, efforts and body forces for states of a model."""
    shape = (n_states, model.n_qd)
    return SimpleNamespace(
        q=np.broadcast_to(model.joint_q, (n_states, model.n_q)),
        qd=np.broadcast_to(model.joint_qd, shape),
        qdd=rng.normal(size=shape),
        tau=rng.normal(size=shape),
        force=rng.normal(size=(n_states, model.n_bodies, 6)) * 3.0,
    )


def run_trial(rng, mechanism, device):
    """Everything that `Algorithms` computes, on poisoned memory.

    Returns:
        Namespace of model, inputs (q, qd, qdd, tau, force) and results (body_q, body_qd, body_qdd, rnea, wrench, mass,
        jacobian, aba, aba_of_rnea, projected_q, projected_qd, bias without body forces).
    """
    from simcli.kernels.algorithms import Algorithms

    model = assemble(mechanism)
    given = draw_inputs(rng, model, mechanism.n_worlds)
    algorithms = Algorithms(model, device, mechanism.n_worlds)
    poison(algorithms)
    q, qd, qdd, tau, force = given.q, given.qd, given.qdd, given.tau, given.force
    body_q, body_qd = algorithms.forward_kinematics(q, qd)
    rnea = algorithms.inverse_dynamics(q, qd, qdd, force)
    results = {
        "body_q": body_q,
        "body_qd": body_qd,
        "body_qdd": algorithms.accelerations(q, qd, qdd),
        "rnea": rnea,
        "wrench": algorithms.joint_wrenches(q, qd, qdd, force),
        "bias": algorithms.inverse_dynamics(q, qd, 0.0 * qdd),
        "mass": algorithms.mass_matrix(q),
        "jacobian": algorithms.jacobian(q),
        "aba": forward_dynamics(algorithms, q, qd, tau, force),
        "aba_unforced": forward_dynamics(algorithms, q, qd, tau),
        "aba_of_rnea": forward_dynamics(algorithms, q, qd, np.nan_to_num(rnea), force),
    }
    results["projected_q"], results["projected_qd"] = algorithms.projection(body_q, body_qd)
    results = {name: np.array(values) for name, values in results.items()}
    algorithms.destroy()
    return SimpleNamespace(model=model, mechanism=mechanism, **vars(given), **results)


def coordinate_errors(model, found, wanted):
    """Largest difference of joint coordinates per tree joint: quaternions up to sign, angles up to full turns.

    A screw's angle counts its turns, because its advance tells them.
    """
    from simcli.model.tables.model import JointKind

    joints, errors = model.joints, {}
    for j in np.flatnonzero(joints.is_tree):
        span = slice(joints.q_start[j], joints.q_start[j + 1])
        kind, n_linear = JointKind(joints.kind[j]), joints.dof_dim[j, 0]
        gap = found[:, span] - wanted[:, span]
        if gap.size == 0:
            continue
        if kind in (JointKind.BALL, JointKind.FREE, JointKind.DISTANCE):
            a, b = found[:, span][:, -4:], wanted[:, span][:, -4:]
            gap[:, -4:] = a - b * np.sign((a * b).sum(axis=1, keepdims=True))
        elif kind != JointKind.SCREW:
            gap[:, n_linear:] -= 2 * np.pi * np.round(gap[:, n_linear:] / (2 * np.pi))
        errors[joints.name[j]] = np.abs(gap).max()
    return errors
