"""The articulated-body algorithm of the solvers, alone: accelerations of many states, to hold against other programs."""

from simcli.kernels.algorithms import Algorithms
from simcli.kernels.algorithms_core import blocks_of_slot, give, load_body_forces, take
from simcli.kernels.articulation.aba import aba_backward, aba_forward
from simcli.kernels.articulation.kinematics import place_all
from simcli.kernels.language import ti


def forward_dynamics(algorithms: Algorithms, joint_q, joint_qd, joint_f, body_f=None):
    """Joint accelerations, (N, NV), under joint efforts and external forces as of `Algorithms.inverse_dynamics`."""
    q, qd, effort = algorithms.states(joint_q, joint_qd, joint_f)
    out = algorithms.results(q, algorithms.model.n_qd)
    force = algorithms.forces(q, body_f)
    states = (algorithms.given(q), algorithms.given(qd), algorithms.given(effort))
    algorithms.launch(efforts_to_accelerations, len(q), body_f is not None, *states, force, out)
    return algorithms.of_tree(algorithms.fetch(out, q, algorithms.model.n_qd))


@ti.kernel
def efforts_to_accelerations(
    c: ti.template(),
    n_states: ti.i32,
    has_force: ti.template(),
    q: ti.types.ndarray(),
    qd: ti.types.ndarray(),
    effort: ti.types.ndarray(),
    force: ti.types.ndarray(),
    out: ti.types.ndarray(),
):
    """Articulated-body algorithm, of many states."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.state.q, c.tables.n_q, q)
            take(c, w, block, c.state.qd, c.tables.n_qd, qd)
            take(c, w, block, c.state.tau, c.tables.n_qd, effort)
            place_all(c.tables, c.state, w)
            if ti.static(has_force):
                load_body_forces(c, w, block, force)
            for d in range(c.tables.n_qd):
                c.state.diagonal.store(w, d, c.tables.arena.zero() + c.tables.armature.load(w, d))
            aba_backward(c.tables, c.state, w)
            aba_forward(c.tables, c.state, w)
            give(c, w, block, c.state.qdd, c.tables.n_qd, out)
