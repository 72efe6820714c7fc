"""What contacts see of the velocities that carry links: columns of J.

Links of one world go one by one, with the same bits as for all worlds of a block at once. Where the worlds of a block have
contacts of the same number between other links, each of them marks the links that carry its own, and these are done for all.
"""

from simcli.kernels.articulation.kinematics import point_velocity
from simcli.kernels.complementarity.block_factor import DOFS, rows_of
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.large import see_body
from simcli.kernels.device.arena import local
from simcli.kernels.device.lanes import one, put, whole_of
from simcli.kernels.device.model_tables import links_of_part
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.language.numbers import number
from simcli.kernels.language.values import Motion, Vec3


@ti.func
def pull_link(
    k: ti.template(),
    t: ti.template(),
    s: ti.template(),
    p: ti.template(),
    w: ti.i32,
    lane: ti.template(),
    c: ti.i32,
    link: ti.i32,
    point: ti.template(),
    axes: ti.template(),
    frame: ti.template(),
    sign: ti.template(),
):
    """Add to contact c what it sees of the velocities that carry a link; nothing for the world, -1.

    Args:
        point: [m], where it is pushed, from the reference point of its tree.
        axes: what it sees velocities along.  frame: what spins see turning about.

    Writes: k.terms, p.contacts.jacobian, p.spins.jacobian
    """
    i = link
    while i >= 0:
        first = t.link_qd.at(i)
        for d in range(first, first + t.link_n_qd.at(i)):
            u = p.n_given - 1 - t.unknown.at(d)  # tips first
            if u < p.n_given:
                motion = one(s.S, w, lane, d)
                at = c * p.n + u
                found = one(p.contacts.jacobian, w, lane, at) + seen_along(axes, point_velocity(motion, point), sign)
                put(p.contacts.jacobian, w, lane, at, found)
                put(k.terms, w, lane, 0, ti.max(one(k.terms, w, lane, 0), size_of_terms(motion, point)))
                for side in ti.static(p.triples[1:]):
                    turned = one(side.jacobian, w, lane, at) + seen_along(frame, motion.angular, sign)
                    put(side.jacobian, w, lane, at, turned)
        i = t.parent.at(i)


@ti.func
def forget_links(k: ti.template(), p: ti.template(), w: ti.i32):
    """Nothing is marked.

    Writes: k.carries, p.marked
    """
    for n in range(2 * k.n_links):
        k.carries.store(w, n, k.arena.zero())
    for i in range(p.n_threes):
        p.marked.store(w, i, k.arena.zero())


@ti.func
def mark_carriers(k: ti.template(), t: ti.template(), p: ti.template(), w: ti.i32, c: ti.i32):
    """Mark the threes of velocities that carry the links of contact c, which are those of the first world.

    Writes: p.marked
    """
    for side in ti.static(range(2)):
        i = k.link.at(whole_of((k.contacts.shape_a, k.contacts.shape_b)[side], w, 0, c))
        while i >= 0:
            mark_threes(t, p, w, i)
            i = t.parent.at(i)


@ti.func
def mark_from_links(k: ti.template(), t: ti.template(), p: ti.template(), w: ti.i32):
    """Mark the threes of velocities of all links that are marked.

    Reads:  k.carries
    Writes: p.marked
    """
    for i in range(k.n_links):
        if any_lane(k.carries.load(w, 2 * i) + k.carries.load(w, 2 * i + 1) != 0.0):
            mark_threes(t, p, w, i)


@ti.func
def mark_threes(t: ti.template(), p: ti.template(), w: ti.i32, i: ti.i32):
    """Mark the threes of the velocities of link i.

    Writes: p.marked
    """
    for d in range(t.link_qd.at(i), t.link_qd.at(i) + t.link_n_qd.at(i)):
        u = p.n_given - 1 - t.unknown.at(d)
        if u < p.n_given:
            p.marked.store(w, u // 3, p.arena.zero() + 1.0)


@ti.func
def list_threes(p: ti.template(), w: ti.i32, c: ti.i32):
    """The threes that are marked are those that contact c sees, and it sees nothing there yet; no mark stays.

    Writes: p.marked, p.contacts.{columns, length, jacobian}, p.spins.jacobian
    """
    zero = p.arena.zero()
    length = 0
    for i in range(p.n_threes):
        if whole(p.marked, w, i) != 0:
            p.marked.store(w, i, zero)
            _list_three(p, w, c, length, i)
            length += 1
    p.contacts.length.store(w, c, zero + ti.cast(length, p.arena.device.real))


def _list_three(p, w, c, e, i):
    """Contact c sees three i as number e of its threes, and nothing there yet, nor do its spins.

    Writes: p.contacts.{columns, jacobian}, p.spins.jacobian
    """
    zero = p.arena.zero()
    p.contacts.columns.store(w, c * number(p, "n") + e, zero + ti.cast(i, p.arena.device.real))
    for side in p.triples:
        for m in range(3):
            side.jacobian.store(w, c * number(p, "n") + 3 * i + m, Vec3(zero, zero, zero))


@ti.func
def list_of_alike(k: ti.template(), t: ti.template(), p: ti.template(), w: ti.i32, c: ti.i32):
    """The threes that contact c sees, which is between the same shapes in all worlds; often so is the contact before it.

    Reads:  k.contacts.{alike, shape_a, shape_b}
    Writes: p.marked, p.contacts.{columns, length, jacobian}, p.spins.jacobian
    """
    if repeats_pair(k, w, c):
        p.contacts.length.store(w, c, p.contacts.length.load(w, c - 1))
        for e in range(whole(p.contacts.length, w, c - 1)):
            _list_three(p, w, c, e, whole(p.contacts.columns, w, (c - 1) * p.n + e))
    else:
        mark_carriers(k, t, p, w, c)
        list_threes(p, w, c)


@ti.func
def repeats_pair(k: ti.template(), w: ti.i32, c: ti.i32):
    """Whether contact c and the one before are between the same shapes in all worlds of a block."""
    before = ti.max(c - 1, 0)
    found = c > 0 and whole(k.contacts.alike, w, before) != 0
    for side in ti.static(range(2)):
        shape = (k.contacts.shape_a, k.contacts.shape_b)[side]
        found = found and whole(shape, w, c) == whole(shape, w, before)
    return found


@ti.func
def mark_links(
    k: ti.template(),
    t: ti.template(),
    s: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    side: ti.template(),
    link: ti.i32,
    point: ti.template(),
):
    """Mark the links that carry a link of one world, from itself to the root; none for the world, -1.

    Args:
        side: 0 for A of a contact, 1 for B.
        point: [m], where it is pushed, from the reference point of its tree.

    Writes: k.{carries, pushed}
    """
    if link >= 0:
        put(k.pushed, w, lane, side, point)
    i = link
    while i >= 0:
        put(k.carries, w, lane, 2 * i + side, 1.0)
        i = t.parent.at(i)


@ti.func
def pull_marked(
    k: ti.template(), t: ti.template(), s: ti.template(), p: ti.template(), w: ti.i32, c: ti.i32, side: ti.template()
):
    """As `pull_link`, for all worlds of a block, each with the links that it has marked; no mark stays.

    Reads:  k.{pushed, unit_along}
    Writes: k.{carries, terms}, p.contacts.jacobian, p.spins.jacobian
    """
    for i in range(k.n_links):
        is_on = k.carries.load(w, 2 * i + side) != 0.0
        if any_lane(is_on):
            k.carries.store(w, 2 * i + side, k.arena.zero())
            for d in range(t.link_qd.at(i), t.link_qd.at(i) + t.link_n_qd.at(i)):
                u = p.n_given - 1 - t.unknown.at(d)  # tips first
                if u < p.n_given:
                    pull_dof(k, p, w, c, side, u, s.S.load(w, d), is_on)


@ti.func
def pull_dof(
    k: ti.template(),
    p: ti.template(),
    w: ti.i32,
    c: ti.i32,
    side: ti.template(),
    u: ti.i32,
    motion: ti.template(),
    is_on: ti.template(),
):
    """Add what contact c sees of unknown u, which moves links so, in some worlds.

    Writes: k.terms, p.contacts.jacobian, p.spins.jacobian
    """
    sign = ti.static(2.0 * side - 1.0)
    n = k.contacts.normal.load(w, c)
    axes = (n, k.contacts.along.load(w, c), k.contacts.across.load(w, c))
    x = k.pushed.load(w, side)
    before = p.contacts.jacobian.load(w, c * p.n + u)
    found = before + seen_along(axes, point_velocity(motion, x), sign)
    p.contacts.jacobian.store(w, c * p.n + u, select_parts(is_on, found, before))
    terms = k.terms.load(w, 0)
    k.terms.store(w, 0, select(is_on, ti.max(terms, size_of_terms(motion, x)), terms))
    for spins in ti.static(p.triples[1:]):
        along = k.unit_along.load(w, 0)
        turned = spins.jacobian.load(w, c * p.n + u)
        more = seen_along((n, along, n.cross(along)), motion.angular, sign)
        spins.jacobian.store(w, c * p.n + u, select_parts(is_on, turned + more, turned))


@ti.func
def spread_motions(t: ti.template(), s: ti.template(), p: ti.template(), w: ti.i32):
    """The motions of the velocities of each body of a large world, number by number.

    Reads:  s.S
    Writes: p.large.sixes
    """
    g = p.large
    first, end = links_of_part(t, w)
    for link in range(first, end):
        for d in range(t.link_qd.at(link), t.link_qd.at(link) + DOFS):
            u = p.n_given - 1 - t.unknown.at(d)
            motion = s.S.load(w, d)
            for m in ti.static(range(DOFS)):
                g.sixes.part(w, g.motion + u // DOFS * DOFS + m, u % DOFS)._assign(motion.parts[m])


@ti.func
def see_link(
    t: ti.template(),
    p: ti.template(),
    w: ti.i32,
    c: ti.i32,
    side: ti.i32,
    link: ti.i32,
    point: ti.template(),
    axes: ti.template(),
    frame: ti.template(),
    sign: ti.template(),
):
    """What contact c of a large world sees of a link, whose velocities are those of no other.

    Reads:  p.large.sixes of `spread_motions`
    Writes: p.large.{body, sixes}
    """
    body = -1
    if link >= 0:
        body = (p.n_given - 1 - t.unknown.at(t.link_qd.at(link))) // DOFS
        motion = Motion(*rows_of(p.large.sixes, w, p.large.motion + DOFS * body))
        see_body(p, p.contacts, w, c, side, seen_along(axes, point_velocity(motion, point), sign))
        for spins in ti.static(p.triples[1:]):
            see_body(p, spins, w, c, side, seen_along(frame, motion.angular, sign))
    p.large.body.store(w, 2 * c + side, p.arena.zero() + ti.cast(body, p.arena.device.real))


def seen_along(axes, v: Vec3, sign) -> Vec3:
    """Components of a velocity, on B positive."""
    return Vec3(*(axis.dot(v) * sign for axis in axes))


def size_of_terms(motion, x: Vec3):
    """[m], of the terms of what is seen at x of a unit velocity, which turns by 1 at most: their sum rounds by it."""
    return _sum_of_sizes(motion.linear) + _sum_of_sizes(x)


def _sum_of_sizes(v: Vec3):
    """Sum of the absolute values of the components."""
    return local(ti.abs(v.parts[0]) + ti.abs(v.parts[1]) + ti.abs(v.parts[2]))


@ti.func
def forget_rounding(k: ti.template(), p: ti.template(), w: ti.i32, c: ti.i32):
    """Along an axis of contact c along which all that it sees is the rounding of its terms it sees nothing.

    A ball on a hinge that is pushed along the hinge's axis is not moved. By what rounds any impulse would be good.

    Reads:  k.terms, p.contacts.{columns, length}
    Writes: p.contacts.jacobian
    """
    zero = p.arena.zero()
    least = k.terms.load(w, 0) * p.limits.sight
    most = Vec3(zero, zero, zero)
    length = whole(p.contacts.length, w, c)
    for e in range(length):
        first = c * p.n + 3 * whole(p.contacts.columns, w, c * p.n + e)
        for m in ti.static(range(3)):
            most = larger_sizes(most, p.contacts.jacobian.load(w, first + m))
    blind = Vec3(*blind_axes(most, least))
    if any_lane(blind.parts[0] + blind.parts[1] + blind.parts[2] > 0.0):
        for e in range(length):
            first = c * p.n + 3 * whole(p.contacts.columns, w, c * p.n + e)
            for m in ti.static(range(3)):
                seen = p.contacts.jacobian.load(w, first + m)
                p.contacts.jacobian.store(w, first + m, hidden_along(seen, blind))


def larger_sizes(most: Vec3, v: Vec3) -> Vec3:
    """The larger absolute value, part by part."""
    return Vec3(*(ti.max(a, ti.abs(b)) for a, b in zip(most.parts, v.parts, strict=True)))


def blind_axes(most: Vec3, least) -> list:
    """1 for axes along which what is seen most is rounding, and not nothing."""
    return [select((x > 0.0) & (x <= least), least * 0.0 + 1.0, least * 0.0) for x in most.parts]


def hidden_along(v: Vec3, blind: Vec3) -> Vec3:
    """A vector without the components of some axes."""
    return Vec3(*(select(b > 0.0, x * 0.0, x) for x, b in zip(v.parts, blind.parts, strict=True)))
