"""Friction of a step: contacts as they were when it began, each with a potential of how far it is from where it stuck.

    F = sum_g F_g(|u_g|),  u_g = u_g,n + (t_1, t_2) . (delta_g(q) - delta_g(q_n))

with points of the bodies that the contact had then: on the surfaces, so that what is round rolls. F_g is a spring that
slides at mu lambda_g (law.py, `stick`), u_g,n what the contact remembers. Load and tangents do not change within the step,
so that F is a potential, and convex. What friction holds stays where it is.

A contact remembers how far it has been pulled from where it stuck, and how stiffly it sticks. Without it friction knows the
slip of one step alone, and what it holds creeps: a constant force needs a slip in every step.

    k = mu lambda / e,   e = `give`        when the contact begins, and again when the load leaves [k e / BAND, BAND k e]

In between k is kept whatever the load does, so that the spring is an energy of the places alone and gives back no more than
it took. Where k changes, no energy comes from nothing: a spring that becomes stiffer keeps its force, one that becomes
softer its stretch, and what that takes is dissipated. The bound mu lambda is always that of the load at hand.

Source: Li et al. 2020 (IPC), section 5, for friction lagged once per step. Deviation: springs that remember where they
stuck instead of a law of the slip of one step, by which everything creeps; the radius of a shape carries the points.
Cundall and Strack 1979 (tangential springs of contacts, cut at Coulomb's bound). Deviation: stiffness by the load, which
makes the way until a contact slides the same for light bodies and heavy ones.
"""

from simcli.kernels.barrier.advancement import count_nearest, counts
from simcli.kernels.barrier.closest import (
    EDGE_EDGE,
    arm,
    blend,
    bodies_of,
    corners,
    direction,
    places,
    radius_at,
    slide,
    thickness,
    turned_back,
    turned_out,
    weigh,
)
from simcli.kernels.barrier.law import barrier, mollifier, stick
from simcli.kernels.barrier.pieces import edge_scale, near_gap, new_piece, put_half
from simcli.kernels.collision.collider import acting_combination
from simcli.kernels.device.arena import local
from simcli.kernels.device.lanes import by_world, one, put, vector, whole_of
from simcli.kernels.language import ti

_BAND = 4.0  # by which the load may change before a spring takes another stiffness


@ti.func
def same_features(w: ti.i32, lane: ti.i32, a: ti.template(), i: ti.i32, b: ti.template(), k: ti.i32):
    """1 if item i of one list of contacts and item k of another are of the same features, a flat face being one."""
    flat = one(a.flat, w, lane, i)
    differs = ti.abs(flat - one(b.flat, w, lane, k)) + ti.abs(one(a.kind, w, lane, i) - one(b.kind, w, lane, k))
    for m in range(4):
        if m == 0 or flat < 0.0:
            differs += ti.abs(one(a.corner, w, lane, 4 * i + m) - one(b.corner, w, lane, 4 * k + m))
    return ti.cast(differs == 0.0, ti.i32)


@ti.func
def acts_now(c: ti.template(), w: ti.i32, lane: ti.i32, items: ti.template(), k: ti.i32):
    """1 unless the contact of item k of a list is switched off, so that nothing sticks there any longer."""
    found = 1
    if ti.static(c.can_rest):
        i = c.vertex_shape.at(whole_of(items.corner, w, lane, 4 * k))
        j = c.vertex_shape.at(whole_of(items.corner, w, lane, 4 * k + 2))
        found = ti.cast(acting_combination(c, w, lane, ti.min(i, j), ti.max(i, j)) >= 0, ti.i32)
    return found


@ti.func
def find_anchor(c: ti.template(), w: ti.i32, lane: ti.i32, g: ti.i32, after: ti.i32):
    """The anchor of a sticking contact, -1 if it has none; both lists have one order, so that it is mostly the next one.

    Args:
        after: the last one that was found.
    """
    n = whole_of(c.anchors.count, w, lane, 0)
    found = -1
    turn = 0
    while turn < n and found < 0:
        k = (after + 1 + turn) % n
        if same_features(w, lane, c.sticking, g, c.anchors, k) == 1:
            found = k
        turn += 1
    return found


@ti.func
def load_stick_state(c: ti.template(), w: ti.i32, lane: ti.i32, g: ti.i32, anchor: ti.i32):
    """Stiffness of a sticking contact, and how far it is stretched as its step begins, along the axes of its first body.

    Reads:  c.{sticking.load, anchors}
    Writes: c.sticking.stiffness

    Returns:
        [m], a vector.
    """
    stiffness = local(one(c.sticking.load, w, lane, g) / c.give)
    stretch = vector()
    if anchor >= 0:
        before = one(c.anchors.stiffness, w, lane, anchor)
        keeps = before <= _BAND * stiffness and stiffness <= _BAND * before
        stiffness = ti.select(keeps, before, stiffness)
        stretch = one(c.anchors.stretch, w, lane, anchor) * ti.min(before / stiffness, 1.0)
    put(c.sticking.stiffness, w, lane, g, stiffness)
    return stretch


@ti.func
def sticking_potential(c: ti.template(), w: ti.i32, lane: ti.i32):
    """[J], in the springs of the contacts that stuck when the last step ended."""
    total = 0.0 * one(c.near, w, lane, 0)
    for k in range(whole_of(c.anchors.count, w, lane, 0)):
        if acts_now(c, w, lane, c.anchors, k) == 1:
            stretch = one(c.anchors.stretch, w, lane, k)
            total += 0.5 * one(c.anchors.stiffness, w, lane, k) * stretch.dot(stretch)
    return total


@ti.func
def keep_anchor(c: ti.template(), w: ti.i32, lane: ti.i32, g: ti.i32, stretch: ti.template()):
    """Remember a sticking contact.

    Args:
        stretch: [m], along the axes of its first body.

    Writes: c.anchors
    """
    put(c.anchors.kind, w, lane, g, one(c.sticking.kind, w, lane, g))
    put(c.anchors.flat, w, lane, g, one(c.sticking.flat, w, lane, g))
    for m in range(4):
        put(c.anchors.corner, w, lane, 4 * g + m, one(c.sticking.corner, w, lane, 4 * g + m))
    put(c.anchors.stiffness, w, lane, g, one(c.sticking.stiffness, w, lane, g))
    put(c.anchors.stretch, w, lane, g, stretch)


@by_world
@ti.func
def set_stick_stiffness(c: ti.template(), w: ti.i32, lane: ti.i32, x: ti.template()):
    """Keep the contacts with friction for the step that begins.

    Reads:  c.{at, candidates, anchors}
    Writes: c.sticking, c.candidates.counts
    """
    put(c.sticking.count, w, lane, 0, 0.0)
    put(c.sticking.lost, w, lane, 0, sticking_potential(c, w, lane))
    anchor = -1
    count_nearest(c, w, lane)
    for k in range(whole_of(c.candidates.count, w, lane, 0)):
        if counts(c, w, lane, k) and one(c.friction, w, lane, whole_of(c.candidates.combination, w, lane, k)) > 0.0:
            anchor = ti.max(set_one_stick_stiffness(c, w, lane, k, anchor, x), anchor)
    put(c.sticking.lost, w, lane, 0, ti.max(one(c.sticking.lost, w, lane, 0), 0.0))


@ti.func
def set_one_stick_stiffness(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, after: ti.i32, x: ti.template()):
    """Keep a candidate if there is a force in it.

    Args:
        after: see `find_anchor`.

    Returns:
        Its anchor, -1 if it has none.

    Writes: c.sticking
    """
    anchor = -1
    kind, combination, a, b, d, e = corners(c, w, lane, k)
    xi, near = thickness(c, w, lane, k), one(c.near, w, lane, combination)
    if near_gap(kind, xi + near, a, b, d, e):
        weights = weigh(kind, a, b, d, e)
        size, n = direction(blend(weights, (a, b, d, e)))
        _energy, slope, _curvature = barrier(size - xi, near, one(c.stiffness, w, lane, combination))
        if kind == EDGE_EDGE:
            area = (b - a).cross(e - d)
            weight, _first, _second = mollifier(area.dot(area), edge_scale(c, w, lane, k))
            slope = slope * weight
        if slope < 0.0:
            at = ti.cast(one(c.sticking.count, w, lane, 0), ti.i32)
            if at < c.sticking.capacity:
                _count, s, t, _ds, _dt = slide(kind, weights, n, a, b, d, e)
                put(c.sticking.count, w, lane, 0, at + 1.0)
                put(c.sticking.load, w, lane, at, -slope * one(c.friction, w, lane, combination))
                put(c.sticking.along, w, lane, at, s)
                put(c.sticking.across, w, lane, at, t)
                place_sticking(c, w, lane, k, kind, weights, n, at, x)
                anchor = find_anchor(c, w, lane, at, after)
                stretch_sticking(c, w, lane, at, anchor, x)
            else:
                put(c.crowded, w, lane, 0, one(c.candidates.count, w, lane, 0))
    return anchor


@ti.func
def place_sticking(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    k: ti.i32,
    kind: ti.i32,
    weights: ti.template(),
    n: ti.template(),
    at: ti.i32,
    x: ti.template(),
):
    """Features of a sticking contact, its bodies, and its points on their surfaces.

    Writes: c.sticking
    """
    first, second = places(c, w, lane, k, kind, weights)
    one_body, other = bodies_of(c, w, lane, k)
    r_a, r_b = radius_at(c, w, lane, k, 0), radius_at(c, w, lane, k, 2)
    put(c.sticking.kind, w, lane, at, 1.0 * kind)
    put(c.sticking.flat, w, lane, at, one(c.candidates.flat, w, lane, k))
    for m in range(4):
        put(c.sticking.corner, w, lane, 4 * at + m, one(c.candidates.corner, w, lane, 4 * k + m))
    put(c.sticking.first, w, lane, at, 1.0 * one_body)
    put(c.sticking.second, w, lane, at, 1.0 * other)
    put(c.sticking.place_a, w, lane, at, first - turned_back(c, w, lane, x, one_body, n) * r_a)
    put(c.sticking.place_b, w, lane, at, second - turned_back(c, w, lane, x, other, n) * r_b)


@ti.func
def stretch_sticking(c: ti.template(), w: ti.i32, lane: ti.i32, g: ti.i32, anchor: ti.i32, x: ti.template()):
    """How stiffly a contact sticks, and where: its points are apart there by less what it is stretched now.

    Writes: c.sticking.{stiffness, slip, lost}
    """
    stretch = turned_out(c, w, lane, x, whole_of(c.sticking.first, w, lane, g), load_stick_state(c, w, lane, g, anchor))
    delta = sticking_difference(c, w, lane, g, x)
    s, t = one(c.sticking.along, w, lane, g), one(c.sticking.across, w, lane, g)
    along, across = s.dot(stretch), t.dot(stretch)
    put(c.sticking.slip, w, lane, 2 * g, s.dot(delta) - along)
    put(c.sticking.slip, w, lane, 2 * g + 1, t.dot(delta) - across)
    kept = 0.5 * one(c.sticking.stiffness, w, lane, g) * (along * along + across * across)
    put(c.sticking.lost, w, lane, 0, one(c.sticking.lost, w, lane, 0) - kept)


@ti.func
def sticking_difference(c: ti.template(), w: ti.i32, lane: ti.i32, g: ti.i32, x: ti.template()):
    """[m], difference of the two points of a sticking contact at coordinates x."""
    one_body, other = whole_of(c.sticking.first, w, lane, g), whole_of(c.sticking.second, w, lane, g)
    delta = arm(c, w, lane, one_body, one(c.sticking.place_a, w, lane, g), 1.0, x)
    return delta + arm(c, w, lane, other, one(c.sticking.place_b, w, lane, g), -1.0, x)


@ti.func
def slip_of(c: ti.template(), w: ti.i32, lane: ti.i32, g: ti.i32, x: ti.template()):
    """[m], distances along both tangents from where a contact stuck."""
    delta = sticking_difference(c, w, lane, g, x)
    along = one(c.sticking.along, w, lane, g).dot(delta) - one(c.sticking.slip, w, lane, 2 * g)
    across = one(c.sticking.across, w, lane, g).dot(delta) - one(c.sticking.slip, w, lane, 2 * g + 1)
    return along, across


@ti.func
def sticking_energy(c: ti.template(), w: ti.i32, lane: ti.i32, g: ti.i32, x: ti.template()):
    """[J], potential of a sticking contact; what its spring stores; what sliding has taken since the step began."""
    along, across = slip_of(c, w, lane, g, x)
    slip = ti.sqrt(along * along + across * across)
    stiffness, load = one(c.sticking.stiffness, w, lane, g), one(c.sticking.load, w, lane, g)
    potential, _over, _slope, stretch = stick(slip, stiffness, load)
    return potential, 0.5 * stiffness * stretch * stretch, load * (slip - stretch)


@by_world
@ti.func
def keep_anchors(c: ti.template(), w: ti.i32, lane: ti.i32, x: ti.template()):
    """Remember all sticking contacts at the end of a step.

    Args:
        x: (12 B) coordinates there.

    Writes: c.anchors
    """
    count = whole_of(c.sticking.count, w, lane, 0)
    put(c.anchors.count, w, lane, 0, 1.0 * count)
    for g in range(count):
        along, across = slip_of(c, w, lane, g, x)
        slip = ti.sqrt(along * along + across * across)
        _potential, _over, _slope, stretch = stick(
            slip, one(c.sticking.stiffness, w, lane, g), one(c.sticking.load, w, lane, g)
        )
        part = ti.select(slip > stretch, stretch / ti.max(slip, stretch), 1.0)
        u = (one(c.sticking.along, w, lane, g) * along + one(c.sticking.across, w, lane, g) * across) * part
        keep_anchor(c, w, lane, g, turned_back(c, w, lane, x, whole_of(c.sticking.first, w, lane, g), u))


@ti.func
def sticking_pieces(c: ti.template(), w: ti.i32, lane: ti.i32, g: ti.i32, x: ti.template()):
    """Gradient and squares of a sticking contact, along the slip and across it.

    Writes: c.notes
    """
    along, across = slip_of(c, w, lane, g, x)
    slip = ti.sqrt(along * along + across * across)
    _potential, over, slope, _stretch = stick(slip, one(c.sticking.stiffness, w, lane, g), one(c.sticking.load, w, lane, g))
    c.notes.store(w, c.n_pieces, 0.0 * slip)
    is_still = slip <= 0.0
    scale = 1.0 / ti.select(is_still, 1.0, slip)
    x_u, y_u = ti.select(is_still, 1.0, along * scale), ti.select(is_still, 0.0, across * scale)
    s, t = one(c.sticking.along, w, lane, g), one(c.sticking.across, w, lane, g)
    u = s * x_u + t * y_u
    put_sticking(c, w, lane, c.gradient, g, u * (over * slip))
    put_sticking(c, w, lane, new_piece(c, w, slope), g, u)
    put_sticking(c, w, lane, new_piece(c, w, over), g, t * x_u - s * y_u)


@ti.func
def put_sticking(c: ti.template(), w: ti.i32, lane: ti.i32, at: ti.i32, g: ti.i32, f: ti.template()):
    """The numbers of both bodies of a force f on the first.

    Writes: c.notes
    """
    none = vector(0.0, 0.0, 0.0)
    put_half(c, w, at, f, one(c.sticking.place_a, w, lane, g), f, none, none)
    put_half(c, w, at + 12, f * -1.0, one(c.sticking.place_b, w, lane, g), f, none, none)
