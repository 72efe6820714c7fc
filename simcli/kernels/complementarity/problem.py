"""A complementarity problem: what is given, what is found, and what is prepared once.

    M (v - vf) = J^T x            x impulses, v the velocity at the end of the step
    w = J v + b + C x             per row
    bounded row: x = clip(x - w/d, lower, upper);  infinite bounds: w = 0
    contact:     0 <= x_n _|_ w_n >= 0,  |x_t| <= mu x_n,  x_t = -mu x_n w_t/|w_t| where w_t is not 0

Contacts also have a proximal compliance kappa d, which pulls to impulses that are given (`centre`): it shares the load
where it is redundant, and means nothing once an impulse stands where it is pulled to.

Notation: d = J M^-1 J^T of a row, of a contact d_N normal, d_T mean of the tangents, d mean of the three.

Source: reference/contact-solver.md, sections 1 to 3. Deviation: rows of a contact may differ in compliance.
"""

from dataclasses import dataclass

import taichi as ti

from simcli.kernels.complementarity.cones import UNBOUNDED
from simcli.kernels.complementarity.dense import corner, factorize_mass, solve_mass, whole
from simcli.kernels.complementarity.large import SIZE, Large, Pattern, multiply_blocks
from simcli.kernels.complementarity.large_problem import prepare_large
from simcli.kernels.elementary import select
from simcli.kernels.memory import Arena, any_lane, local
from simcli.kernels.programs import Registers
from simcli.kernels.values import Mat3, Vec3

NEWTON, CONE, ADMM = 0, 1, 2  # kinds of stages: Alart-Curnier, Fischer-Burmeister on the cone, sweeps
# Kind, most iterations, iterations without progress after which it gives up.
SCHEDULE = ((NEWTON, 8, 3), (ADMM, 100, 99), (NEWTON, 12, 99), (ADMM, 300, 99), (CONE, 20, 99), (ADMM, 1000, 99),
            (CONE, 20, 99))


@dataclass(frozen=True)
class Limits:
    """Numbers of a precision.

    Attributes:
        tolerance: [m/s], of the natural map of a proximal problem.
        exact: [m/s], of the natural map without the proximal term, at which no further round is wanted.
        slack: added to C in the Newton matrix alone, relative to d.
        floor: [m/s], below which the cone's functions are smooth.
        tiny: a square that is as good as zero and can still be divided by.
    """

    tolerance: float
    exact: float
    slack: float
    floor: float
    tiny: float


LIMITS = {"float64": Limits(1e-8, 1e-6, 1e-8, 1e-13, 1e-300), "float32": Limits(1e-4, 1e-3, 1e-6, 1e-6, 1e-36)}
SOLVED, PROXIMAL, UNSOLVED, BROKEN = 0, 1, 2, 3  # statuses


class Side:
    """Memory of the rows, or of the contacts.

    Args:
        arena: where.
        n: velocities; 0 where the world is large, which keeps J elsewhere.
        count: capacity.
        kind: None for rows, Vec3 (normal, two tangents) for contacts.
        gain: None for rows, Mat3 for contacts.

    Attributes:
        on: (count) 1 or 0.  jacobian: (count * n) item r n + a, n padded.  bias: b [m/s].  compliance: C [m/s per N s].
        impulse: [N s], start on entry, solution on exit.
        metric: d of a row; d_N, d_T, d of a contact.
        columns: (count * n) those of J that are not zero in all lanes, in order, of contacts threes of them.
        length: (count) how many.
        soft, shift: C and b with the proximal term.
        given: what is zero in rows that are off; those that are off in all lanes are passed over.
        speed: w.  best, kept: iterates.  gain, scale: G and B^-1 of the condensed step.
        step, rate: a direction of x and of w.  part: see admm.py.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, n: int, count: int, kind=None, gain=None):
        self.n, self.count = n, count
        items = self.items = arena.records(count)
        self.gain, self.scale = items.slot(gain), items.slot(gain)
        self.on, self.columns, self.length = items.slot(), arena.slot(count * n).of_block(), items.slot().of_block()
        self.jacobian = arena.slot(count * n, kind)
        (self.bias, self.compliance, self.impulse, self.metric, self.soft, self.shift, self.speed, self.best,
         self.kept, self.part, self.step, self.rate) = items.slots(12, kind)
        self.given = [self.bias, self.compliance, self.impulse, self.speed, self.step]


class Problem:
    """Memory of a problem of every world.

    Args:
        arena: not built yet.
        n: velocities; the memory has room for `n` of them, the next multiple of three, and those beyond stand still.
        n_rows, n_contacts: capacities; any may be off in any world.
        schedule: stages.
        limits: of the natural map, else of the device's precision.
        pattern: of the rows of a large world, which keeps nothing dense (large.py); `jacobian` is empty then.

    Attributes, given:
        mass: (n (n + 1)/2) lower triangle of M, row by row.  free: (n) vf without `push`.  rows, contacts: see `Side`.
        push: (n) [N s], impulses that are given: `prepare` adds M^-1 push to vf.
        lower, upper: (rows) [N s]; beyond 1e30 there is none.
        friction: (contacts) mu. A friction that differs between the tangents is their rows times mu_i, and mu = 1.
        kappa: (1) proximal compliance relative to d, 0 for none; 1e-4 is good.
        goal: (1) [m/s], natural map at which a proximal problem is solved; `limits.tolerance` is good.
        enough: (1) [m/s], that of the impulses that are given at which none others are wanted.
        centre: (contacts) [N s], what it pulls to: the impulses of the step before. Moved to those found.

    Attributes, found:
        rows.impulse, contacts.impulse: [N s].  velocity: (n) v.  residual: (1) [m/s], natural map without the proximal term.
        lack: (1) [m/s], natural map of the impulses that the search began with.
        proximal: (1) [m/s], with it, of the round that was last; `progress.kappa` is what the next one would have.
        iterations, sweeps: (1) Newton steps, ADMM iterations.  status: (1) SOLVED, PROXIMAL (the proximal problem alone),
        UNSOLVED, BROKEN (no number; the free velocity).

    Attributes, on the way:
        live: how many rows, and contacts, to look at.  known: 1 where `trial` is the velocity of the present impulses.
        swept: 1 if the factors of a block are of sweeps: `renew` alone knows, which makes those of all its worlds.
        now: number of the attempt, of the stage, its kind; iterations that it has left; rounds that a search may have.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, n: int, n_rows: int, n_contacts: int, schedule=SCHEDULE, limits: Limits | None = None,
                 pattern: Pattern | None = None):
        self.arena, self.n_given, self.n_threes = arena, n, -(-n // 3)
        n = self.n = 3 * self.n_threes
        self.is_large = pattern is not None
        dense = 0 if self.is_large else n
        velocities, threes = arena.records(n), arena.records(dense // 3)
        self.velocities = velocities
        self.rows, self.contacts = Side(arena, dense, n_rows), Side(arena, dense, n_contacts, Vec3, Mat3)
        self.lower, self.upper, self.friction = self.rows.items.slot(), self.rows.items.slot(), self.contacts.items.slot()
        self.rows.given += [self.lower, self.upper]
        self.centre = self.contacts.items.slot(Vec3)
        self.contacts.given += [self.friction, self.centre]
        self.n_mass = pattern.n_bodies * corner(SIZE, 0) if pattern else corner(n, 0)
        self.mass, self.root = arena.slot(self.n_mass), arena.slot(corner(dense, 0)).scratch()
        self.begin = arena.slot(dense).of_block()
        m = dense // 3
        self.matrix, self.pivot = arena.slot(m * m, Mat3).scratch(), threes.slot(Mat3).scratch()
        self.column = arena.slot(m * m).of_block()
        self.n_left, self.n_right = threes.slot().of_block(), threes.slot().of_block()
        self.free, self.push, self.velocity, self.trial, self.best_velocity = velocities.slots(5)
        self.force, self.momentum = velocities.slot().scratch(), velocities.slot().scratch()
        self.reach = arena.slot(dense, Vec3).scratch()
        self.product = arena.slot(n_contacts * m, Mat3).scratch()
        self.acting, self.touched = self.contacts.items.slot().of_block(), arena.slot(n_contacts * m).of_block()
        self.live = arena.slot(2).of_block()
        self.now = Registers(arena, "attempt", "stage", "kind", "iterations", "rounds")
        self.known, self.swept = arena.single.slot(), arena.single.slot().of_block()
        self.large = Large(arena, pattern, n_rows, n_contacts) if pattern else None
        self.limits = limits or LIMITS[arena.device.precision]
        self.n_stages = len(schedule)
        stages = arena.records(self.n_stages)
        self.kind, self.most, self.patience = (stages.ints([stage[k] for stage in schedule]) for k in range(3))
        (self.kappa, self.goal, self.enough, self.residual, self.lack, self.proximal, self.iterations, self.sweeps,
         self.status) = ones(arena, 9)
        self.progress = Progress(arena)


class Progress:
    """Numbers of each world on the way, (1) each.

    Attributes:
        busy: 1 in the stage that runs.  trying: 1 in the search of a step's length.
        length, least: of the best one tried, and the merit there.  part: of the step, to be tried.
        idle: iterations without progress.  sigma: [m/s], smoothing.  merit: [m^2/s^2].
        rho: weight of the sweeps.  changed: 1 if rho has.
        kappa: of the round.  thorough: 1 for all stages, 0 for the first alone.  proximal, residual: of the best iterate.
        open: 1 until the world is through.  rounds_over: how many.  rows: how many are on, three for a contact.
        stale: 1 if the next Newton step wants a new matrix.
    """

    _data_oriented = True

    def __init__(self, arena: Arena):
        (self.busy, self.idle, self.sigma, self.merit, self.rho, self.changed, self.kappa, self.thorough, self.proximal,
         self.residual, self.open, self.rounds_over, self.rows, self.stale, self.trying, self.length, self.least,
         self.part) = ones(arena, 18)


def ones(arena: Arena, count: int) -> list:
    """Slots of one number each."""
    return [arena.single.slot() for _ in range(count)]


@ti.func
def prepare(p: ti.template(), w: ti.i32):
    """What the rounds share: the rows that are on, where they act, the factor of M, and the metric.

    Rows that are off in some lane and not beyond the last one that is on in any are cleared, so that nobody asks again.

    Reads:  p.{mass, push}
    Writes: p.{root, begin, free, push, live, known}, p.progress.stale, rows and contacts
    """
    p.known.store(w, 0, p.arena.zero())
    p.progress.stale.store(w, 0, p.arena.zero() + 1.0)
    p.progress.rows.store(w, 0, p.arena.zero())
    if ti.static(p.is_large):
        count(p, w, p.rows, 0)
        count(p, w, p.contacts, 1)
        prepare_large(p, w)
        for c in range(whole(p.live, w, 1)):
            p.contacts.metric.store(w, c, metric_of(p.contacts.metric.load(w, c)))
    else:
        prepare_dense(p, w)


@ti.func
def prepare_dense(p: ti.template(), w: ti.i32):
    """`prepare` where all is dense."""
    pad(p, w)
    factorize_mass(p, w)
    solve_mass(p, w, p.push)
    for a in range(p.n):
        p.free.store(w, a, p.free.load(w, a) + p.push.load(w, a))
    gather(p, w, p.rows, 0)
    gather(p, w, p.contacts, 1)
    if whole(p.live, w, 0) + whole(p.live, w, 1) > 0:
        for s in range(whole(p.live, w, 0)):
            load_row(p, w, s)
        for c in range(whole(p.live, w, 1)):
            load_contact(p, w, c)


@ti.func
def pad(p: ti.template(), w: ti.i32):
    """Velocities that nobody has given stand still, with a mass of 1.

    Writes: p.{mass, free, push}
    """
    zero = p.arena.zero()
    for i in range(p.n_given, p.n):
        for j in range(i):
            p.mass.store(w, corner(i, j), zero)
        p.mass.store(w, corner(i, i), zero + 1.0)
        p.free.store(w, i, zero)
        p.push.store(w, i, zero)


@ti.func
def count(p: ti.template(), w: ti.i32, side: ti.template(), which: ti.template()):
    """Number of rows of a large world to look at; those that are off are cleared.

    Writes: p.live, p.progress.rows, side.given
    """
    zero = p.arena.zero()
    last = 0
    for r in range(side.count):
        on = side.on.load(w, r) != 0.0
        if on:
            last = r + 1
            p.progress.rows.store(w, 0, p.progress.rows.load(w, 0) + side.bias.width)
    p.live.store(w, which, zero + ti.cast(last, p.arena.device.real))
    for r in range(last):
        silence(w, side.given, r, side.on.load(w, r) != 0.0)
        unless_finite(w, side.impulse, r)


@ti.func
def gather(p: ti.template(), w: ti.i32, side: ti.template(), which: ti.template()):
    """Number of rows to look at, and the columns of each.

    Writes: p.live, p.progress.rows, side.{columns, length, jacobian, given}
    """
    zero = p.arena.zero()
    last = 0
    for r in range(side.count):
        on = side.on.load(w, r)
        if any_lane(on != 0.0):
            last = r + 1
            p.progress.rows.store(w, 0, p.progress.rows.load(w, 0) + on * side.jacobian.width)
    p.live.store(w, which, zero + ti.cast(last, p.arena.device.real))
    for r in range(last):
        on = side.on.load(w, r) != 0.0
        if any_lane(on == 0):
            silence(w, side.given, r, on)
        length = 0
        if any_lane(on):
            if any_lane(on == 0):
                for a in range(p.n):
                    silence(w, [side.jacobian], r * p.n + a, on)
            for a in range(p.n // side.jacobian.width):
                if any_part(side.jacobian, w, r * p.n + a * side.jacobian.width, side.jacobian.width):
                    side.columns.store(w, r * p.n + length, zero + ti.cast(a, p.arena.device.real))
                    length = length + 1
        side.length.store(w, r, zero + ti.cast(length, p.arena.device.real))
        unless_finite(w, side.impulse, r)


def parts_of(slot, w, item) -> list:
    """The packs of an item, assignable."""
    return [slot.part(w, item, k) for k in range(slot.width)]


def silence(w, slots, item, on):
    """Zero where a row is off, whatever stands there."""
    for slot in slots:
        for k, part in enumerate(parts_of(slot, w, item)):
            slot.replace(w, item, k, select(on, part, slot.arena.zero()))


def unless_finite(w, slot, item):
    """Zero where a part of an item is no number, or beyond all bounds."""
    for k, part in enumerate(parts_of(slot, w, item)):
        slot.replace(w, item, k, select(ti.abs(part) < UNBOUNDED, part, slot.arena.zero()))


def any_part(slot, w, item, count):
    """True if any lane of any part of `count` items is not zero."""
    first, *rest = (part != 0.0 for k in range(count) for part in parts_of(slot, w, item + k))
    for other in rest:
        first = first | other
    return any_lane(local(first))


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
                total = total + p.mass.load(w, corner(ti.max(i, j), ti.min(i, j))) * p.free.load(w, j)
            p.momentum.store(w, i, total)


@ti.func
def load_row(p: ti.template(), w: ti.i32, s: ti.i32):
    """The metric d = |L^-1 J^T|^2 of a row; 1 where nothing moves.

    Reads:  p.root, p.begin, p.rows
    Writes: p.rows.metric
    """
    total = p.arena.zero()
    if whole(p.rows.length, w, s) > 0:
        first = whole(p.rows.columns, w, s * p.n)
        for i in range(first, p.n):
            y = p.rows.jacobian.load(w, s * p.n + i)
            for k in range(ti.max(whole(p.begin, w, i), first), i):
                y = y - p.root.load(w, corner(i, k)) * p.force.load(w, k)
            y = y * p.root.load(w, corner(i, i))
            p.force.store(w, i, y)
            total = total + y * y
    p.rows.metric.store(w, s, select(total > 0.0, total, total * 0.0 + 1.0))


@ti.func
def load_contact(p: ti.template(), w: ti.i32, c: ti.i32):
    """The metric d_N, d_T, d of a contact; 1 where nothing moves.

    Reads:  p.root, p.begin, p.contacts
    Writes: p.contacts.metric
    """
    zero = p.arena.zero()
    total = Vec3(zero, zero, zero)
    if whole(p.contacts.length, w, c) > 0:
        first = 3 * whole(p.contacts.columns, w, c * p.n)
        for i in range(first, p.n):
            y = p.contacts.jacobian.load(w, c * p.n + i)
            for k in range(ti.max(whole(p.begin, w, i), first), i):
                y = y - p.reach.load(w, k) * p.root.load(w, corner(i, k))
            y = y * p.root.load(w, corner(i, i))
            p.reach.store(w, i, y)
            total = total + squares(y)
    p.contacts.metric.store(w, c, metric_of(total))


def squares(y: Vec3) -> Vec3:
    """Squares of the parts."""
    return Vec3(*(a * a for a in y.parts))


def metric_of(diagonal: Vec3) -> Vec3:
    """The metric d_N, d_T, d from the diagonal of J M^-1 J^T."""
    n, a, b = diagonal.parts
    return Vec3(*(select(x > 0.0, x, x * 0.0 + 1.0) for x in (n, (a + b) * 0.5, (n + a + b) * (1.0 / 3.0))))


@ti.func
def soften(p: ti.template(), w: ti.i32):
    """C and b of a round: with the proximal compliance and what it pulls to.

    Reads:  rows, contacts, p.progress.kappa
    Writes: {soft, shift} of both
    """
    for s in range(whole(p.live, w, 0)):
        p.rows.soft.store(w, s, p.rows.compliance.load(w, s))
        p.rows.shift.store(w, s, p.rows.bias.load(w, s))
    for c in range(whole(p.live, w, 1)):
        more = p.progress.kappa.load(w, 0) * p.contacts.metric.load(w, c).parts[2]
        p.contacts.soft.store(w, c, p.contacts.compliance.load(w, c) + Vec3(more, more, more))
        p.contacts.shift.store(w, c, p.contacts.bias.load(w, c) - p.centre.load(w, c) * more)
