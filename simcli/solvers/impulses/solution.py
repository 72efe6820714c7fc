"""The solution of the problem of a step: what the step takes of it, states of self-stress, and how numpy sees it.

Notation: g the time over which accelerations act; p the problem (impulses/memory.py).

Where rows say the same twice, impulses x with J^T x = 0 are states of self-stress. Each Newton step adds to them what
rounding leaves in such rows over their slack e, and warm starts keep it: forces of joints would walk at random. With F the
matrix of the last Newton step, whose masses, contacts and bounds are H,

    x - J F^-1 J^T x / e = e (J H^-1 J^T + e)^-1 x,    F = H + J^T J / e

is the self-stress alone, beside parts of e of the rest, and of e^2 after twice. It is taken away only where it moves
nothing. What stays is the least of all x by the sum of e x^2.

Source: derived.
"""

import numpy as np

from simcli.kernels.complementarity.condensed import renew_factors
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.islands import ITS_CONTACTS, ITS_ROWS, ITS_VELOCITIES, begin_of, end_of, member
from simcli.kernels.complementarity.large import DOFS, ROWS_SEEN
from simcli.kernels.complementarity.measure import pull, row_speed, solve_masses
from simcli.kernels.complementarity.newton import solve_condensed
from simcli.kernels.complementarity.problem import NEWTON
from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.values import Vec3
from simcli.kernels.rows.active_set import choose_linear_piece
from simcli.kernels.rows.bounded_laws import FREE
from simcli.solvers.base import needs
from simcli.solvers.impulses.law_rows import HARD, LINEAR, MOTION, UPPER
from simcli.solvers.impulses.mass import mirrored
from simcli.solvers.rows.active_set import acceleration_of_law, find_reference_velocities
from simcli.solvers.rows.islands import island_of, span_at


@ti.func
def unpack_solution(c: ti.template(), w: ti.i32):
    """Accelerations, forces of rows, efforts and pieces of laws, from impulses and velocities.

    Reads:  p
    Writes: c.bound.system.{acceleration, force, multiplier, effort, laws}, c.bound.move, c.state.qdd
    """
    y = c.bound.system
    m = c.bound.impulses
    p = m.problem
    g = c.g.load(w, 0)
    for n in range(y.n_dofs):
        d = c.tables.tree_dof.at(n)
        v = p.velocity.load(w, mirrored(y, n))
        a = (v - m.start.load(w, mirrored(y, n))) / span_at(c, w, c.g, n, g)
        y.acceleration.store(w, n, a)
        c.state.qdd.store(w, d, a)
        given = c.bound.move.load(w, d)
        c.bound.move.store(w, d, v)
        _move_as_given(c, w, d, given)
        _take_no_excess(c, w, n)
    _take_lines(c, w, g)
    for n in range(m.n_plain):
        item = m.item.at(n)
        kind = m.kind.at(n)
        force = p.rows.impulse.load(w, n) / _span_of_item(c, w, kind, item, g)
        if kind == HARD:
            force = select(p.rows.on.load(w, n) != 0.0, force, y.force.load(w, item))
            y.force.store(w, item, force)
            y.multiplier.store(w, item, -force)
        elif kind == MOTION:
            y.effort.store(w, c.tables.unknown.at(c.motions.lock_dof.at(item)), force)
        elif kind != LINEAR:
            _add_effort_of_law(c, w, item, force * ti.select(kind == UPPER, -1.0, 1.0))
    find_linear_pieces(c, w, g)


def _span_of_item(c, w, kind, item, g):
    """[s], c.g of row, prescribed dof or law `item` of a kind, where it differs between islands (inside kernels)."""
    return _span_by_kind(c, w, kind, item) if c.bound.islands.have_spans else g


@ti.func
def _span_by_kind(c: ti.template(), w: ti.i32, kind: ti.i32, item: ti.i32):
    i = c.bound.system.n_dofs + item
    if kind == MOTION:
        i = c.tables.unknown.at(c.motions.lock_dof.at(item))
    elif kind != HARD:
        i = c.bound.system.laws.unknown.at(item)
    return c.g.load(w, island_of(c, i))


@needs.moved_apart
def _move_as_given(c, w, d, given):
    """Where a motion moves dof d otherwise than by the velocity found (inside kernels)."""
    c.bound.move.store(w, d, ti.select(c.motions.lock_of.at(d) >= 0, given, c.bound.move.load(w, d)))


@needs.excess
def _take_no_excess(c, w, n):
    c.bound.excess.store(w, n, c.tables.arena.zero())  # nothing was added to the masses


@needs.laws
@ti.func
def _take_lines(c: ti.template(), w: ti.i32, g: ti.template()):
    """The linear part of the efforts of laws."""
    laws = c.bound.system.laws
    m = c.bound.impulses
    for k in range(laws.n):
        own_g = span_at(c, w, c.g, laws.unknown.at(k), g)
        speed = laws.rate.load(w, k) + (acceleration_of_law(c, w, k) + laws.shift.load(w, k)) * own_g
        laws.effort.store(w, k, m.push.load(w, k) - m.gain.load(w, k) * speed)


@needs.laws
def _add_effort_of_law(c, w, k, effort):
    laws = c.bound.system.laws
    laws.effort.store(w, k, laws.effort.load(w, k) + effort)


@needs.laws
@ti.func
def find_linear_pieces(c: ti.template(), w: ti.i32, g: ti.template()):
    """The pieces of the laws on which the answer is.

    Reads:  c.bound
    Writes: c.bound.system.{laws, effort, force}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    find_reference_velocities(c, w, 1, g)
    for k in range(y.laws.n):
        aim = y.laws.goal.load(w, k)
        y.laws.aim.store(w, k, aim)
        choose_linear_piece(y.laws, w, k, aim, zero - 1.0, zero == 0.0)
        i = y.laws.unknown.at(k)
        effort = y.laws.effort.load(w, k)
        if i < y.n_dofs:
            y.effort.store(w, i, select(y.laws.lock.load(w, k) != FREE, effort, y.effort.load(w, i)))
        else:
            y.force.store(w, i - y.n_dofs, effort)


_TIMES = 2


@ti.func
def scale_shared(c: ti.template(), w: ti.i32):
    """Rows that may be redundant share loads by the scale that they have in every solver, contact or not.

    Writes: p.rows.metric
    """
    m = c.bound.impulses
    p = m.problem
    for k in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS, m.n_shared)):
        n = member(p, w, ITS_ROWS, k)
        if n < m.n_shared:
            p.rows.metric.store(w, n, c.tables.arena.zero() + c.bound.system.scale.load(w, m.item.at(n)))


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
    for k in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, k)
        p.rows.step.store(w, s, select(_may_share(p, w, s, n), p.rows.impulse.load(w, s), zero))
    for side in ti.static(p.triples):
        for k in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, k)
            side.step.store(w, c, Vec3(zero, zero, zero))
    for _k in ti.static(range(_TIMES)):
        _pull_steps(p, w)
        solve_condensed(p, w, p.force)
        for k in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS, ti.min(n, whole(p.live, w, 0)))):
            s = member(p, w, ITS_ROWS, k)
            rest = p.rows.step.load(w, s) - p.rows.gain.load(w, s) * row_speed(p, w, s, p.force)
            p.rows.step.store(w, s, select(_may_share(p, w, s, n), rest, zero))
    moves_nothing = local(_speed_of_steps(p, w) < finest)
    for k in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS, ti.min(n, whole(p.live, w, 0)))):
        s = member(p, w, ITS_ROWS, k)
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
    for k in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
        a = member(p, w, ITS_VELOCITIES, k)
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
    for k in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
        a = member(p, w, ITS_VELOCITIES, k)
        speed = p.force.load(w, a)
        most, poison = ti.max(most, ti.abs(speed)), poison + speed * 0.0
    return most + poison


def stated_contacts(solver) -> list[tuple]:
    """J, M, v, impulses, biases and friction of the contacts of each world, in the problem's order of velocities.

    Args:
        solver: after `advance`, of a scene with contacts.

    Returns:
        (C, 3, n), (n, n), (n,), [N s] (C, 3), [m/s] (C, 3), (C,): the arguments of cli/runs/bench_work.py.
    """
    p = solver.core.bound.impulses.problem
    n, side = p.n, p.contacts
    counts = solver.core.bound.impulses.contacts.collider.contacts.count.read()[:, 0, 0].astype(int)
    if p.is_large:
        J, M = stated_sparsely(p, counts)
    else:
        J = np.where(seen_columns(side, n), side.jacobian.read().reshape(len(counts), side.count, n, 3), 0.0).swapaxes(2, 3)
        M = symmetric(p.mass.read()[..., 0], n)
    v, x, b, mu = p.velocity.read()[..., 0], side.impulse.read(), side.bias.read(), p.friction.read()[..., 0]
    return [(J[w, :c], M[w], v[w], x[w, :c], b[w, :c], mu[w, :c]) for w, c in enumerate(counts)]


def seen_columns(side, n: int) -> np.ndarray:
    """(W, C, n, 1), of which velocities contacts see something; what stands elsewhere means nothing."""
    threes, length = side.columns.read()[..., 0].reshape(-1, side.count, n), side.length.read()
    seen = np.zeros((len(threes), side.count, n + 1), bool)
    at = np.where(np.arange(n) < length, threes, n / 3).astype(int)
    for m in range(3):
        np.put_along_axis(seen, np.minimum(3 * at + m, n), True, axis=2)
    return seen[..., :n, None]


def symmetric(entries: np.ndarray, n: int) -> np.ndarray:
    """(..., n, n), from the lower triangle row by row."""
    lower = np.zeros((*entries.shape[:-1], n, n))
    lower[..., *np.tril_indices(n)] = entries
    return lower + np.tril(lower, -1).swapaxes(-1, -2)


def stated_sparsely(p, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """J and M of large worlds, with all their zeros."""
    n_worlds, most, large = len(counts), int(counts.max(initial=0)), p.large
    body = large.body.read().reshape(n_worlds, -1, 2).astype(int)
    seen = large.sixes.memory[:, : 2 * ROWS_SEEN * p.contacts.count].reshape(n_worlds, -1, 2, ROWS_SEEN, DOFS)
    J, M = np.zeros((n_worlds, most, 3, p.n)), np.zeros((n_worlds, p.n, p.n))
    blocks = symmetric(p.mass.read().reshape(n_worlds, large.n_bodies, -1), DOFS)
    for b in range(large.n_bodies):
        M[:, DOFS * b : DOFS * (b + 1), DOFS * b : DOFS * (b + 1)] = blocks[:, b]
    for w, count in enumerate(counts):
        for c in range(count):
            for side in np.flatnonzero(body[w, c] >= 0):
                at = DOFS * body[w, c, side]
                J[w, c, :, at : at + DOFS] = seen[w, c, side]
    return J, M
