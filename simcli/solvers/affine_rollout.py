"""The kernel of the affine solver: every block of worlds by whole frames; see rollout.py."""

import taichi as ti

from simcli.kernels.elementary import select
from simcli.kernels.loops import follow_turns
from simcli.kernels.memory import any_lane
from simcli.kernels.projection import project_joints
from simcli.kernels.quadratic import start_gradients
from simcli.kernels.report import report_bodies
from simcli.model.snapshot import Status
from simcli.solvers.affine_places import place_affine
from simcli.solvers.affine_report import report_frame, show_coordinates, total_of
from simcli.solvers.affine_step import step_affine
from simcli.solvers.core import SPEED_SQUARED, STOP_ABOVE, STOP_BELOW
from simcli.solvers.integrators import H
from simcli.solvers.ledger import SUPPLIED
from simcli.solvers.rollout import stop_quantity, unload_frame

NOT_FINITE, TOO_FAST, STOPPED, NOT_CONVERGED, CROWDED = (int(status) for status in (
    Status.NOT_FINITE, Status.TOO_FAST, Status.STOPPED, Status.NOT_CONVERGED, Status.CROWDED))  # fmt: skip


@ti.kernel
def rollout_affine(c: ti.template(), n_frames: ti.i32, steps: ti.i32, first: ti.i64, q: ti.types.ndarray(),
                   qd: ti.types.ndarray(), qdd: ti.types.ndarray(), effort: ti.types.ndarray(), pose: ti.types.ndarray(),
                   twist: ti.types.ndarray(), points: ti.types.ndarray(), wrench: ti.types.ndarray(),
                   multiplier: ti.types.ndarray(), energy: ti.types.ndarray(), diag: ti.types.ndarray(),
                   health: ti.types.ndarray(), touch: ti.types.ndarray(), contacts: ti.types.ndarray()):
    """Advance every block by n_frames frames of `steps` steps; steps = 0 reports the initial state.

    Reads:  c
    Writes: c.state, c.potential, c.step, c.forces.work, the buffers
    """
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.state.n_blocks):
        c.count.store(w, 0, c.tables.arena.zero())
        start_gradients(c.potential.rows, w)
        for f in range(n_frames):
            for i in range(ti.max(steps, 1)):
                h = c.constants.load(w, H)
                number = first + ti.cast(f, ti.i64) * steps + i + 1
                step_affine(c, w, h, h * ti.cast(number, c.tables.arena.device.real), steps)
                if steps > 0:
                    if ti.static(c.loops.n_turns > 0 or c.stops):
                        place_affine(c, w, c.potential.rows.x, c.potential.rows.v)
                        follow_turns(c.loops, c.state, w, h)
                    watch_affine(c, w)
            report_frame(c, w, steps)
            at = (f * c.state.n_blocks + w) * c.lanes
            unload_frame(c, w, at, q, qd, qdd, effort, pose, twist, points, wrench, multiplier, energy, diag, health,
                         touch, contacts)


@ti.func
def watch_affine(c: ti.template(), w: ti.i32):
    """Note the first step at which a world did not converge, is not finite or too fast, or meets its end condition.

    Reads:  c.potential.rows.v, c.step.failed, c.constants
    Writes: c.health, c.count
    """
    count = c.count.load(w, 0) + 1.0
    c.count.store(w, 0, count)
    square = c.tables.arena.zero()
    for i in range(c.potential.n):
        rate = c.potential.rows.v.load(w, i)
        square = square + rate * rate
    status = c.health.load(w, 0)
    finite = square < c.tables.arena.zero() + ti.math.inf
    code = select(c.step.failed.load(w, 0) > 0.0, status * 0.0 + NOT_CONVERGED, status * 0.0)
    if ti.static(c.touches):
        code = select(c.barrier.crowded.load(w, 0) > 0.0, status * 0.0 + CROWDED, code)
    code = select(square >= c.constants.load(w, SPEED_SQUARED), status * 0.0 + TOO_FAST, code)
    code = select(finite, code, status * 0.0 + NOT_FINITE)
    met = status != status
    if ti.static(c.stops):
        report_bodies(c.tables, c.state, c.rows, w)
        project_joints(c.loops.anchors, c.rows, c.state.q, c.state.qd, w)
        show_coordinates(c, w)
        x = stop_quantity(c, w)
        met = (code == 0.0) & ((x > c.constants.load(w, STOP_ABOVE)) | (x < c.constants.load(w, STOP_BELOW)))
        code = select(met, status * 0.0 + STOPPED, code)
    ended = (status == 0.0) & (code != 0.0)
    if any_lane(ended):
        c.health.store(w, 0, select(ended, code, status))
        c.health.store(w, 1, select(ended, count, c.health.load(w, 1)))
        guilty = guilty_dof(c, w, met)
        if ti.static(c.touches):
            guilty = select(code == CROWDED, c.barrier.crowded.load(w, 0), guilty)
        c.health.store(w, 2, select(ended, guilty, c.health.load(w, 2)))


@ti.func
def guilty_dof(c: ti.template(), w: ti.i32, met: ti.template()):
    """The dof that moves most in Newton's last direction, a NaN first; the watched one where an end condition is met.

    Reads: c.step.move
    """
    zero = c.tables.arena.zero()
    worst = zero - 1.0
    guilty = zero
    for i in range(c.potential.n):
        move = c.step.move.load(w, i)
        size = select(ti.math.isnan(move), zero + ti.math.inf, ti.abs(move))
        worse = size > worst
        worst = select(worse, size, worst)
        guilty = select(worse, zero + ti.cast(c.potential.rows.qd_at.at(i), c.tables.arena.device.real), guilty)
    return select(met, zero + float(c.stop_index), guilty)


@ti.kernel
def leave_affine(c: ti.template()):
    """Before tables change: take the stored energy out of the input.

    Reads:  c.potential
    Writes: c.forces.work
    """
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.state.n_blocks):
        c.forces.work.store(w, SUPPLIED, c.forces.work.load(w, SUPPLIED) - total_of(c, w))


@ti.kernel
def enter_affine(c: ti.template()):
    """After tables have changed: what is stored now counts as input.

    Reads:  c.potential
    Writes: c.forces.work
    """
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.state.n_blocks):
        c.forces.work.store(w, SUPPLIED, c.forces.work.load(w, SUPPLIED) + total_of(c, w))
