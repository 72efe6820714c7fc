"""What the contacts of a step aim at: gaps to reach, speeds after impacts, and the bounds of friction and of spins.

Spins are torsional friction, within an interval, and rolling friction, within a disc.

Source: Jean (1999), the step in impulses; restitution by Moreau (1988). Deviation: heights of bounces are those of free
flight, see `rebound`. Acary and Bourrier (2021), rolling resistance as a cone. Deviation: the bounds of spins are those of
the normal impulse of the search before, so that each search has an interval and a disc of fixed sizes.
"""

from simcli.kernels.articulation.contact_places import bend_of_contact
from simcli.kernels.collision.table_rows import contacts_of
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.islands import ITS_CONTACTS, ITS_ROWS, begin_of, end_of, member, members_of_part
from simcli.kernels.complementarity.large import multiply_blocks, pull_of_row
from simcli.kernels.complementarity.large_problem import factorize_large, solve_large
from simcli.kernels.complementarity.measure import contact_speed
from simcli.kernels.device.arena import local
from simcli.kernels.device.lanes import one, put, vector, whole_of
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select_parts
from simcli.kernels.language.expressions import get_lane
from simcli.kernels.language.values import Mat3, Vec3
from simcli.solvers.impulses.law_rows import LINEAR

STILL = 1e-6  # [m/s], slower contacts stick
BLURRED = 8.0  # roundings of its terms by which a gap may be off


@ti.func
def carry_surfaces(k: ti.template(), s: ti.template(), p: ti.template(), w: ti.i32):
    """By which velocity surfaces that move along themselves slide besides J v: that of B less that of A, along the tangents.

    Reads:  k.{surface_velocity, collider.contacts}, s.R
    Writes: k.carried
    """
    table = k.collider.contacts
    first, end = members_of_part(p, w, ITS_CONTACTS)
    for n in range(first, end):
        c = member(p, w, ITS_CONTACTS, n)
        for lane in range(k.collider.lanes):
            if c < contacts_of(k.collider, w, lane):
                a = whole_of(table.shape_a, w, lane, c)
                b = whole_of(table.shape_b, w, lane, c)
                u = _surface_velocity(k, s, w, lane, b) - _surface_velocity(k, s, w, lane, a)
                along, across = one(table.along, w, lane, c), one(table.across, w, lane, c)
                put(k.carried, w, lane, c, Vec3(0.0 * along.dot(u), along.dot(u), across.dot(u)))


@ti.func
def _surface_velocity(k: ti.template(), s: ti.template(), w: ti.i32, lane: ti.i32, i: ti.i32):
    """[m/s], of the surface of shape i in its body, world axes."""
    link = k.collider.link.at(i)
    found = one(k.surface_velocity, w, lane, i) * 1.0
    if link >= 0:
        found = one(s.R, w, lane, link) * found
    return found


@ti.func
def set_friction(k: ti.template(), p: ti.template(), w: ti.i32, v: ti.template()):
    """Friction of the contacts: that at rest, unless they slipped before or, if they are new, slip now.

    Args:
        v: (n) velocities at the start of the step.

    Reads:  k.slid, p.contacts
    Writes: p.friction
    """
    first, end = members_of_part(p, w, ITS_CONTACTS)
    for n in range(first, end):
        c = member(p, w, ITS_CONTACTS, n)
        if ti.static(k.collider.lanes > 1 and not k.has_static):
            if whole(k.collider.contacts.alike, w, c) != 0:
                _set_friction_of(k, p, w, None, c, v)
        if ti.static(k.has_static) or whole(k.collider.contacts.alike, w, c) == 0:
            for lane in range(k.collider.lanes):
                if c < contacts_of(k.collider, w, lane):
                    _set_friction_of(k, p, w, lane, c, v)


@ti.func
def _set_friction_of(k: ti.template(), p: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32, v: ti.template()):
    """Friction of one contact, of one world, or without a lane of all."""
    combination = whole_of(k.collider.contacts.combination, w, lane, c)
    mu = one(k.friction, w, lane, combination)
    if ti.static(k.has_static):
        slips = one(k.slid, w, lane, c)
        if slips < 0.0:
            u = _sliding(k, p, w, lane, c, v).parts
            slips = ti.select(u[1] * u[1] + u[2] * u[2] > STILL * STILL, 1.0, 0.0)
        if slips == 0.0:
            mu = one(k.collider.friction_static, w, lane, combination)
    put(p.friction, w, lane, c, mu)


def _sliding(k, p, w, lane, c, v):
    """J v of contact c in one world, and what its surfaces add along the tangents (inside kernels)."""
    seen = seen_speed(p, w, lane, c, v)
    return seen + one(k.carried, w, lane, c) if k.has_moving_surfaces else seen


def seen_speed(p, w, lane, c, v):
    """J v of contact c in one world (inside kernels)."""
    return contact_speed(p, w, c, v) if p.is_large else _dense_speed(p, w, lane, c, v)


@ti.func
def _dense_speed(p: ti.template(), w: ti.i32, lane: ti.i32, c: ti.i32, v: ti.template()):
    total = vector()
    for e in range(whole(p.contacts.length, w, c)):
        for m in range(3):
            a = 3 * whole(p.contacts.columns, w, c * p.n + e) + m
            total = total + one(p.contacts.jacobian, w, lane, c * p.n + a) * one(v, w, lane, a)
    return total


@ti.func
def find_approach(c: ti.template(), w: ti.i32):
    """Velocities of free flight where linear parts of laws are rows, as where they are masses: see `rebound`.

        (M + J^T J / C) v = M vf - J^T b / C

    Reads:  p.{rows, free}
    Writes: p.trial, p.large
    """
    m = c.bound.impulses
    p = m.problem
    nothing = Mat3(*(p.arena.zero(),) * 9)
    for gains in ti.static(p.large.gains):
        for k in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            n = member(p, w, ITS_CONTACTS, k)
            gains.store(w, n, nothing)
    multiply_blocks(p, w, p.free, p.trial)
    for k in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        n = member(p, w, ITS_ROWS, k)
        p.large.row_gain.store(w, n, p.arena.zero())
        if m.kind.at(n) == LINEAR and p.rows.on.load(w, n) != 0.0:
            gain = 1.0 / p.rows.compliance.load(w, n)
            p.large.row_gain.store(w, n, gain)
            pull_of_row(p, w, n, -gain * p.rows.bias.load(w, n), p.trial)
    factorize_large(p, w)
    solve_large(p, w, p.trial)


def may_bounce(c, w):
    """The worlds in which a contact approaches that has restitution."""
    k, p = c.bound.impulses.contacts, c.bound.impulses.problem
    return approach_of_bounces(k, p, w, c.bound.impulses.start) > k.options.restitution_threshold


@ti.func
def approach_of_bounces(k: ti.template(), p: ti.template(), w: ti.i32, v: ti.template()):
    """[m/s], the fastest approach of a contact that has restitution."""
    fastest = p.arena.zero()
    for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
        c = member(p, w, ITS_CONTACTS, n)
        if one(k.collider.restitution, w, 0, whole_of(k.collider.contacts.combination, w, 0, c)) > 0.0:
            fastest = ti.max(fastest, -contact_speed(p, w, c, v).parts[0])
    return local(fastest)


@ti.func
def contact_rhs(
    k: ti.template(), t: ti.template(), s: ti.template(), p: ti.template(), w: ti.i32, v: ti.template(), h: ti.template()
):
    """What contacts are to reach: the gap that is left of an overlap, or the speed after an impact.

        overlap:   gap + min(depenetration |gap|, max_depenetration_velocity h), unless that takes less than the tolerance
        compliant: 0, with w_n = gap+/h + c x_n/h^2, so that gap+ = -c F
        impact:  e |v-|, or with the approach's own acceleration, so that heights are e^2 of what they were: see `rebound`

    Along its tangents a contact sees the mean velocity of the step, J v + h/2 of its rate: of what turns, friction holds the
    place, and not only the velocity.

    Args:
        v: (n) velocities at the start of the step.

    Reads:  p.{contacts.jacobian, free}, or p.trial of `find_approach`, k.collider, s of `bend_of_contact`
    Writes: k.{bounces, target}, k.collider.contacts.reach, p.contacts.{bias, compliance}
    """
    first, end = members_of_part(p, w, ITS_CONTACTS)
    for n in range(first, end):
        c = member(p, w, ITS_CONTACTS, n)
        if ti.static(k.collider.lanes > 1 and not k.has_bounce):
            if whole(k.collider.contacts.alike, w, c) != 0:
                _rhs_of_contact(k, t, s, p, w, None, c, v, h)
        if ti.static(k.has_bounce) or whole(k.collider.contacts.alike, w, c) == 0:
            for lane in range(k.collider.lanes):
                if c < contacts_of(k.collider, w, lane):
                    _rhs_of_contact(k, t, s, p, w, lane, c, v, get_lane(h, lane))


@ti.func
def _rhs_of_contact(
    k: ti.template(),
    t: ti.template(),
    s: ti.template(),
    p: ti.template(),
    w: ti.i32,
    lane: ti.template(),
    c: ti.i32,
    v: ti.template(),
    step: ti.template(),
):
    """What one contact is to reach, of one world, or without a lane of all."""
    table = k.collider.contacts
    combination = whole_of(table.combination, w, lane, c)
    compliance = one(k.collider.compliance, w, lane, combination)
    found = one(table.gap, w, lane, c)
    gap = gap_above_rounding(k, p, w, lane, c, found)
    removed = ti.min(k.options.depenetration * ti.max(-gap, gap * 0.0), k.options.max_depenetration_velocity * step)
    removed = ti.select(removed > p.limits.tolerance * step, removed, gap * 0.0)  # less would keep forces changing for ever
    target = ti.select(compliance > 0.0, 0.0 * gap, ti.min(gap + removed, gap * 0.0))
    bounces = 0.0 * gap
    bias = (gap - target) / step + one(k.bent, w, lane, c)
    if ti.static(k.has_bounce):
        e = one(k.collider.restitution, w, lane, combination)
        before = seen_speed(p, w, lane, c, v).parts[0]
        free = seen_speed(p, w, lane, c, _free_flight(k, p)).parts[0]
        least = ti.max(2.0 * get_lane(k.gravity.load(w, 0) + p.arena.zero(), lane) * step, k.options.restitution_threshold)
        if e > 0.0 and before < -least and gap + step * ti.min(before, free) < 0.0:
            target = rebound(e, before, (before - free) / step, ti.max(gap, 0.0), step, lag_of(k, w, lane, c) * step)
            bias = -target
            bounces = 1.0 + 0.0 * gap
    zero = gap * 0.0
    put(table.reach, w, lane, c, found)
    put(k.target, w, lane, c, target)
    put(k.bounces, w, lane, c, bounces)
    bend = bend_of_contact(k.collider, t, s, w, lane, c) * (0.5 * step)
    along, across = one(table.along, w, lane, c), one(table.across, w, lane, c)
    put(p.contacts.bias, w, lane, c, _with_surfaces(k, w, lane, c, Vec3(bias, along.dot(bend), across.dot(bend))))
    put(p.contacts.compliance, w, lane, c, Vec3(zero + compliance / (step * step), zero, zero))


def _with_surfaces(k, w, lane, c, bias):
    return bias + one(k.carried, w, lane, c) if k.has_moving_surfaces else bias


def _free_flight(k, p):
    """Velocities without contacts and without joints, as laws on these resist them."""
    return p.trial if k.resists_flight else p.free


def lag_of(k, w, lane, c):
    """Part of a step by which velocities of free flight of contact c are behind positions (inside kernels)."""
    if k.island is not None:
        return _lag_of_islands(k, w, lane, c)
    return one(k.lagging, w, lane, 0) if k.lag is None else k.lag


@ti.func
def _lag_of_islands(k: ti.template(), w: ti.i32, lane: ti.i32, c: ti.i32):
    table = k.collider.contacts
    most = 0.0
    for side in ti.static((table.shape_a, table.shape_b)):
        island = k.island.at(whole_of(side, w, lane, c))
        if island >= 0:
            most = ti.max(most, one(k.lagging, w, lane, island))
    return most


def gap_above_rounding(k, p, w, lane, c, gap):
    """What is certain of a gap of contact c: 0 of less than what it rounds by (inside kernels).

    No motion closes what each gap of a body at rest rounds by, so that impulses would go from one contact to another in each
    step.
    """
    bound, none = one(k.collider.contacts.terms, w, lane, c) * (p.limits.rounding * BLURRED), gap * 0.0
    return ti.max(gap - bound, none) + ti.min(gap + bound, none)


@ti.func
def rebound(
    e: ti.template(), before: ti.template(), a: ti.template(), gap: ti.template(), h: ti.template(), lag: ti.template()
):
    """[m/s], normal velocity after an impact: of the invariant (v - a s)^2/2 + a x of free flight, e^2 is kept.

    The step of the impact moves by the velocity that is found, to gap + h v.

    Args:
        e: restitution.  before: [m/s], normal velocity, negative.
        a: [m/s^2], acceleration of the approach.  gap: [m], not negative.
        lag: [s], s: 0 where steps of free flight are symmetric, h/2 where a velocity is that of the step before.
    """
    found = -e * before
    if a > 0.0:
        start, rest = lag * a, (h - lag) * a
        square = e * e * ((start - before) * (start - before) + 2.0 * a * gap) - 2.0 * a * gap
        square = square + rest * rest - start * start
        if square > rest * rest:
            found = ti.sqrt(square) - rest
    return found


@ti.func
def contact_rhs_again(k: ti.template(), p: ti.template(), w: ti.i32, h: ti.template()):
    """Biases of contacts for the gaps that the velocities found have reached.

        w_n = (gap - target) / h + J (v - v found)

    Reads:  k.{bounces, target}, k.collider.contacts.{reach, terms}, p.velocity
    Writes: p.contacts.bias
    """
    first, end = members_of_part(p, w, ITS_CONTACTS)
    for n in range(first, end):
        c = member(p, w, ITS_CONTACTS, n)
        gap = gap_above_rounding(k, p, w, None, c, k.collider.contacts.reach.load(w, c))
        violation = gap - k.target.load(w, c)
        bias = violation / h - contact_speed(p, w, c, p.velocity).parts[0]
        moves = (k.bounces.load(w, c) == 0.0) & (p.contacts.on.load(w, c) != 0.0)
        before = p.contacts.bias.load(w, c)
        p.contacts.bias.store(w, c, select_parts(moves, Vec3(bias, before.parts[1], before.parts[2]), before))


@ti.func
def bound_spins(c: ti.template(), w: ti.i32):
    """Bounds of the spins by the normal impulses of the solution before.

    Reads:  p.contacts.impulse
    Writes: p.{torsion, rolling}
    """
    m = c.bound.impulses
    p = m.problem
    k = m.contacts.collider
    for lane in range(k.lanes):
        for at in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS, contacts_of(k, w, lane))):
            n = member(p, w, ITS_CONTACTS, at)
            combination = whole_of(k.contacts.combination, w, lane, n)
            normal = ti.max(one(p.contacts.impulse, w, lane, n).parts[0], 0.0)
            put(p.torsion, w, lane, n, one(k.torsional_friction, w, lane, combination) * normal)
            put(p.rolling, w, lane, n, one(k.rolling_friction, w, lane, combination) * normal)
