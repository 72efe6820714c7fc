"""Impulses of redundant rows: what moves nothing is taken out of them.

Where rows say the same twice, impulses x with J^T x = 0 are states of self-stress. Each Newton step adds to them what
rounding leaves in such rows over their slack e, and warm starts keep it: forces of joints would walk at random. With F the
matrix of the last Newton step, whose masses, contacts and bounds are H,

    x - J F^-1 J^T x / e = e (J H^-1 J^T + e)^-1 x,    F = H + J^T J / e

is the self-stress alone, beside parts of e of the rest, and of e^2 after twice. It is taken away only where it moves
nothing. What stays is the least of all x by the sum of e x^2.

Source: derived.
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.complementarity.condensed import renew_factors
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.measure import pull, row_speed, solve_masses
from simcli.kernels.complementarity.newton import solve_condensed
from simcli.kernels.complementarity.problem import NEWTON
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import local

_TIMES = 2


@ti.func
def scale_shared(c: ti.template(), w: ti.i32):
    """Rows that may be redundant share loads by the scale that they have in every solver, contact or not.

    Writes: p.rows.metric
    """
    m = c.bound.impulses
    for n in range(m.n_shared):
        m.problem.rows.metric.store(w, n, c.tables.arena.zero() + c.bound.system.scale.load(w, m.item.at(n)))


@ti.func
def share_load(c: ti.template(), w: ti.i32):
    """Rows of loops carry the least that does what they found.

    Writes: p.rows.impulse
    """
    m = c.bound.impulses
    _renew_factors(m.problem, w)
    _drop_self_stress(m.problem, w, m.n_shared, m.finest.load(w, 0))


@ti.func
def _renew_factors(p: ti.template(), w: ti.i32):
    """Factors of the last Newton step of each world, where those of the block are of ADMM of one of them.

    A world that begins anew still does so after that: its matrix does not depend on what others have swept.

    Writes: p.{matrix, pivot}, or p.large; p.has_admm_factors
    """
    if whole(p.has_admm_factors, w, 0) != 0:
        fresh = local(p.progress.fresh.load(w, 0))
        renew_factors(p, w, NEWTON)
        p.progress.fresh.store(w, 0, fresh)
        p.has_admm_factors.store(w, 0, p.arena.zero())


@ti.func
def _drop_self_stress(p: ti.template(), w: ti.i32, n: ti.template(), finest: ti.template()):
    """Take the self-stress out of the impulses that a search has found for the first n rows, those that hold exactly.

    Args:
        finest: [m/s], below which velocities are none.

    Reads:  factors of the last Newton step, rows, contacts
    Writes: p.rows.impulse, step of all, p.force
    """
    zero = p.arena.zero()
    for s in range(whole(p.live, w, 0)):
        p.rows.step.store(w, s, select(_may_share(p, w, s, n), p.rows.impulse.load(w, s), zero))
    for side in ti.static(p.triples):
        for c in range(whole(p.live, w, 1)):
            side.step.store(w, c, Vec3(zero, zero, zero))
    for _k in ti.static(range(_TIMES)):
        _pull_steps(p, w)
        solve_condensed(p, w, p.force)
        for s in range(ti.min(n, whole(p.live, w, 0))):
            rest = p.rows.step.load(w, s) - p.rows.gain.load(w, s) * row_speed(p, w, s, p.force)
            p.rows.step.store(w, s, select(_may_share(p, w, s, n), rest, zero))
    moves_nothing = local(_speed_of_steps(p, w) < finest)
    for s in range(ti.min(n, whole(p.live, w, 0))):
        x = p.rows.impulse.load(w, s)
        p.rows.impulse.store(w, s, select(moves_nothing, x - p.rows.step.load(w, s), x))


def _may_share(p, w, s, n):
    """Mask of the worlds in which row s holds exactly, and a Newton step was made (inside kernels)."""
    is_first = p.arena.zero() + ti.cast(s < n, p.arena.device.real) != 0.0
    return (p.iterations.load(w, 0) > 0.0) & is_first & (p.rows.on.load(w, s) != 0.0) & (p.rows.soft.load(w, s) == 0.0)


@ti.func
def _pull_steps(p: ti.template(), w: ti.i32):
    """J^T of the steps.

    Writes: p.force
    """
    for a in range(p.n):
        p.force.store(w, a, p.arena.zero())
    pull(p, w, "step", p.force)


@ti.func
def _speed_of_steps(p: ti.template(), w: ti.i32):
    """[m/s, rad/s], the largest velocity that the steps give; no number if one of them is none.

    Writes: p.force
    """
    _pull_steps(p, w)
    solve_masses(p, w, p.force)
    most = poison = p.arena.zero()
    for a in range(p.n):
        speed = p.force.load(w, a)
        most, poison = ti.max(most, ti.abs(speed)), poison + speed * 0.0
    return most + poison
