"""ADMM iterations, which come near a solution from everywhere: on the dual problem, with the shift of de Saxce in each.

    min 1/2 x^T (W + C) x + x^T (q + s),  x in K,   W = J M^-1 J^T,  q = J vf + b,  s_n = mu |z_t|
    S = C + R + H,  R = rho d,  H = 1e-6 d:
    (M + J^T S^-1 J) u = M vf + J^T f,   f = S^-1 (-(b + s) + H x + R y + z),    x = f - S^-1 J u
    y = P_K(x - z/R),   z += R (y - x)

u is the velocity that x gives, softened by R; the matrix is the condensed one with G = S^-1. A row without bounds has
R = 1e-7 d, z = 0 and y = x by the same formulas.

Memory: x stands in `step`, y in `impulse`, z in `rate`, f in `part`, u in `force`.

Source: Boyd et al. (2011), section 3, as Acary, Bremond and Huber (2018) use it. Deviation: vf goes in with M vf instead of
J vf, so that u is a velocity; the matrix is factorised as the others are, L U.
"""

from simcli.kernels.complementarity.cones import UNBOUNDED, clipped, on_cone, on_discs
from simcli.kernels.complementarity.dense import is_anywhere, substitute
from simcli.kernels.complementarity.islands import ITS_CONTACTS, ITS_ROWS, ITS_VELOCITIES, begin_of, end_of, member
from simcli.kernels.complementarity.large import multiply_blocks
from simcli.kernels.complementarity.large_problem import solve_large
from simcli.kernels.complementarity.measure import pull, row_speed, times, triple_speed
from simcli.kernels.device.arena import local
from simcli.kernels.device.sparse_factors import packed_index
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.values import Vec3

ROUND = 20  # ADMM iterations with the same factors
FIRST_RHO, LEAST_RHO, MOST_RHO = 0.3, 1e-5, 1e3
UNSPLIT = 1e-7  # rho of rows without bounds
ETA = 1e-6  # H, relative to d
_BALANCED, LEAST_CHANGE, MOST_CHANGE = 2.0, 0.2, 5.0  # factors of rho: what is small enough to leave, limits


def weight_of_row(p, w, s):
    """R of a row."""
    bounded = local((p.lower.load(w, s) > -UNBOUNDED) | (p.upper.load(w, s) < UNBOUNDED))
    rho = p.progress.rho.load(w, 0)
    return local(select(bounded, rho, rho * 0.0 + UNSPLIT) * p.rows.metric.load(w, s))


def scale_of(p, side, w, c) -> Vec3:
    """D of a contact, the same in all directions; d_N, d_T, d_T of its spins."""
    metric = side.metric.load(w, c)
    return metric if side is not p.contacts else Vec3(*[metric.parts[2]] * 3)


def weight_of_triple(p, side, w, c) -> Vec3:
    """R of a contact, or of its spins."""
    return scale_of(p, side, w, c) * p.progress.rho.load(w, 0)


def admm_row(p, w, s):
    """S of a row."""
    return local(p.rows.soft.load(w, s) + weight_of_row(p, w, s) + ETA * p.rows.metric.load(w, s))


def admm_triple(p, side, w, c) -> Vec3:
    """S of a contact, or of its spins."""
    return side.soft.load(w, c) + (weight_of_triple(p, side, w, c) + scale_of(p, side, w, c) * ETA)


def reciprocals(a: Vec3) -> list:
    """1 over each part."""
    return [local(1.0 / x) for x in a.parts]


@ti.func
def begin_admm(p: ti.template(), w: ti.i32):
    """Start at the present impulses, with z = w + s for rows with bounds, contacts and spins, else 0.

    Reads:  {impulse, speed} of all
    Writes: {step, rate} of all, p.momentum
    """
    multiply_mass(p, w)
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        bounded = (p.lower.load(w, s) > -UNBOUNDED) | (p.upper.load(w, s) < UNBOUNDED)
        p.rows.step.store(w, s, p.rows.impulse.load(w, s))
        p.rows.rate.store(w, s, select(bounded, p.rows.speed.load(w, s), p.arena.zero()))
    for side in ti.static(p.triples):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            side.step.store(w, c, side.impulse.load(w, c))
            speed = side.speed.load(w, c)
            side.rate.store(w, c, shifted_triple(p, side, w, c, speed, speed))


@ti.func
def multiply_mass(p: ti.template(), w: ti.i32):
    """The momentum M vf.

    Writes: p.momentum
    """
    if ti.static(p.is_large):
        multiply_blocks(p, w, p.free, p.momentum)
    else:
        for i in range(p.n):
            total = p.arena.zero()
            for j in range(p.n):
                total = total + p.mass.load(w, packed_index(ti.max(i, j), ti.min(i, j))) * p.free.load(w, j)
            p.momentum.store(w, i, total)


def shifted_triple(p, side, w, c, z: Vec3, of: Vec3) -> Vec3:
    """The sum z + mu |of_t| n of a contact; z of its spins."""
    if side is not p.contacts:
        return z
    mu = p.friction.load(w, c)
    (n, a, b), (_, x, y) = z.parts, of.parts
    return Vec3(n + mu * ti.sqrt(x * x + y * y), a, b)


@ti.func
def admm_iteration(p: ti.template(), w: ti.i32):
    """A round of ADMM iterations, and rho for the next.

    Reads:  factors
    Writes: {impulse, step, rate, part} of all, p.progress.{rho, changed}, p.admm_iterations
    """
    g = p.progress
    p.admm_iterations.store(w, 0, p.admm_iterations.load(w, 0) + 1.0 * ROUND)
    primal = p.arena.zero()
    dual = p.arena.zero()
    for _k in range(ROUND):
        solve_velocity(p, w)
        primal = p.arena.zero()
        dual = p.arena.zero()
        for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
            s = member(p, w, ITS_ROWS, n)
            if is_anywhere(p.rows, w, s):
                off, moved = project_row(p, w, s)
                primal = primal + off
                dual = dual + moved
        for side in ti.static(p.triples):
            for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
                c = member(p, w, ITS_CONTACTS, n)
                off, moved = project_triple(p, side, w, c)
                primal = primal + off
                dual = dual + moved
    tiny = p.limits.tiny
    ratio = ti.sqrt(ti.sqrt(ti.max(primal, tiny) / ti.max(dual, tiny)))
    rho = g.rho.load(w, 0)
    new = clipped(rho * clipped(ratio, LEAST_CHANGE, MOST_CHANGE), LEAST_RHO, MOST_RHO)
    changes = (ratio > _BALANCED) | (ratio * _BALANCED < 1.0)
    g.rho.store(w, 0, select(changes, new, rho))
    g.changed.store(w, 0, select(changes, rho * 0.0 + 1.0, rho * 0.0))


@ti.func
def solve_velocity(p: ti.template(), w: ti.i32):
    """The velocity u, and f of every row.

    Reads:  {impulse, step, rate} of all
    Writes: p.force: u, part of all: f
    """
    for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
        a = member(p, w, ITS_VELOCITIES, n)
        p.force.store(w, a, p.momentum.load(w, a))
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        if is_anywhere(p.rows, w, s):
            x, y, z = p.rows.step.load(w, s), p.rows.impulse.load(w, s), p.rows.rate.load(w, s)
            kept = ETA * p.rows.metric.load(w, s) * x + weight_of_row(p, w, s) * y
            p.rows.part.store(w, s, (kept + z - p.rows.shift.load(w, s)) / admm_row(p, w, s))
    for side in ti.static(p.triples):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            x, y, z = side.step.load(w, c), side.impulse.load(w, c), side.rate.load(w, c)
            kept = times(x, scale_of(p, side, w, c) * ETA) + times(y, weight_of_triple(p, side, w, c))
            right = kept + z - shifted_triple(p, side, w, c, side.shift.load(w, c), z)
            side.part.store(w, c, times(right, Vec3(*reciprocals(admm_triple(p, side, w, c)))))
    pull(p, w, "part", p.force)
    if ti.static(p.is_large):
        solve_large(p, w, p.force)
    else:
        substitute(p, w, p.force)


@ti.func
def project_row(p: ti.template(), w: ti.i32, s: ti.i32):
    """Move x, y and z of a row; squares of x - y and of the change of y, both in m/s.

    Reads:  p.force, p.rows.part
    Writes: p.rows.{step, rate, impulse}
    """
    x = p.rows.part.load(w, s) - row_speed(p, w, s, p.force) / admm_row(p, w, s)
    before, z, weight = p.rows.impulse.load(w, s), p.rows.rate.load(w, s), weight_of_row(p, w, s)
    y = clipped(x - z / weight, p.lower.load(w, s), p.upper.load(w, s))
    p.rows.step.store(w, s, x)
    p.rows.rate.store(w, s, z + weight * (y - x))
    p.rows.impulse.store(w, s, y)
    d = p.rows.metric.load(w, s)
    return d * (x - y) * (x - y), weight * (y - before) * (weight * (y - before)) / d


def projected(p, side, w, c, y: Vec3) -> Vec3:
    """Projection on the cone of a contact, or on the bounds of its spins."""
    if side is p.contacts:
        return on_cone(y, p.friction.load(w, c))[0]
    return on_discs(y, p.torsion.load(w, c), p.rolling.load(w, c), p.limits.tiny)


@ti.func
def project_triple(p: ti.template(), side: ti.template(), w: ti.i32, c: ti.i32):
    """Move x, y and z of a contact, or of its spins; squares of x - y and of the change of y, both in m/s.

    Reads:  p.force, side.part
    Writes: side.{step, rate, impulse}
    """
    inverse = Vec3(*reciprocals(admm_triple(p, side, w, c)))
    x = side.part.load(w, c) - times(inverse, triple_speed(p, side, w, c, p.force))
    before, z, weight = side.impulse.load(w, c), side.rate.load(w, c), weight_of_triple(p, side, w, c)
    y = projected(p, side, w, c, x - times(z, Vec3(*reciprocals(weight))))
    side.step.store(w, c, x)
    side.rate.store(w, c, z + times(y - x, weight))
    side.impulse.store(w, c, y)
    d = scale_of(p, side, w, c)
    off, moved = x - y, times(y - before, weight)
    return off.dot(times(off, d)), moved.dot(times(moved, Vec3(*reciprocals(d))))
