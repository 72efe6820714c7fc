"""The doors of barrier contact to a solver, each for the worlds of a block that write (`Arena.writing`).

In a step: `search_along` and `cap` (sweep.py) before anything moves, `measure_barrier` at every trial, `add` for a new
direction; `renew` between steps where contact has been switched. A contact is reported by point, normal, gap and force.
"""

from simcli.kernels.barrier.advancement import count_nearest, counts
from simcli.kernels.barrier.closest import (
    EDGE_EDGE,
    blend,
    bodies_of,
    corners,
    direction,
    radius_at,
    shape_of,
    shapes_of,
    thickness,
    weigh,
)
from simcli.kernels.barrier.friction import acts_now, same_features, slip_of, sticking_energy, sticking_pieces
from simcli.kernels.barrier.law import barrier, mollifier, stick
from simcli.kernels.barrier.pieces import edge_scale, stencil_energy, stencil_pieces
from simcli.kernels.barrier.surfaces import INFINITE_GAP, PIECE
from simcli.kernels.barrier.sweep import move_vertices, place_vertices, search
from simcli.kernels.device.lanes import by_world, one, put, vector, whole_of
from simcli.kernels.device.sparse_factors import packed_index
from simcli.kernels.language import ti


@ti.func
def search_along(c: ti.template(), w: ti.i32, x: ti.template(), dx: ti.template()):
    """Candidates of the way dx from x; `cap` tells how much of it is free of contact.

    Args:
        x, dx: (12 B) coordinates and their change.

    Writes: c.{at, move, candidates, crowded}
    """
    place_vertices(c, w, x)
    move_vertices(c, w, dx, 1.0)
    search(c, w)


@ti.func
def renew(c: ti.template(), w: ti.i32, x: ti.template()):
    """Contacts at coordinates x after contact has been switched on or off; where it is off nothing sticks any longer.

    Writes: as `search_along` and `measure_barrier`
    """
    place_vertices(c, w, x)
    move_vertices(c, w, x, 0.0)
    search(c, w)
    measure_barrier(c, w, x)


@ti.func
def mark(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32):
    """A whole number below 2^31 that tells a candidate from others: sums of them are exact, whatever their order.

    A point and a flat face have one, whichever triangle is nearest.

    Source: the last mixing of MurmurHash3 (Appleby, public domain). Deviation: in 31 bits of 64, over five numbers.
    """
    x = ti.cast(whole_of(c.candidates.kind, w, lane, k), ti.i64) + 1
    flat = whole_of(c.candidates.flat, w, lane, k)
    for m in ti.static(range(4)):
        number = whole_of(c.candidates.corner, w, lane, 4 * k + m)
        if m > 0 and flat >= 0:
            number = flat
        x = (x ^ ti.cast(number, ti.i64)) * 0x5BD1E995 & 0x7FFFFFFF
        x = x ^ (x >> 15)
    return ti.cast(x, ti.f64)


@ti.func
def add_mark(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32):
    """Mark the two bodies of a candidate.

    Writes: c.pattern
    """
    number = mark(c, w, lane, k)
    a, b = bodies_of(c, w, lane, k)
    if a < c.n_bodies:
        put(c.pattern, w, lane, a, one(c.pattern, w, lane, a) + number)
    if b < c.n_bodies:
        put(c.pattern, w, lane, b, one(c.pattern, w, lane, b) + number)


@ti.func
def measure_barrier(c: ti.template(), w: ti.i32, x: ti.template()):
    """Energy at coordinates that the candidates were searched for.

    Writes: c.{at, energy, barrier, held, least, closest, touching, pattern, dissipated}, c.candidates.acts
    """
    place_vertices(c, w, x)
    measure_worlds(c, w, x)


@by_world
@ti.func
def measure_worlds(c: ti.template(), w: ti.i32, lane: ti.i32, x: ti.template()):
    """`measure_barrier` in a world.

    Writes: c.energy
    """
    total = measure_candidates(c, w, lane)
    if ti.static(c.has_friction):
        total = measure_sticking(c, w, lane, x, total)
    put(c.energy, w, lane, 0, total)


@ti.func
def measure_candidates(c: ti.template(), w: ti.i32, lane: ti.i32):
    """[J], of the candidates of a world.

    Writes: c.{barrier, least, closest, touching, pattern}, c.candidates.{size, counts, acts}
    """
    total = one(c.near, w, lane, 0) * 0.0
    least = total + INFINITE_GAP
    touching = total
    count_nearest(c, w, lane)
    for b in range(c.n_bodies):
        put(c.pattern, w, lane, b, 0.0)
    for k in range(whole_of(c.candidates.count, w, lane, 0)):
        put(c.candidates.acts, w, lane, k, 0.0)
        if counts(c, w, lane, k):
            energy, gap = stencil_energy(c, w, lane, k)
            total += energy
            if energy > 0.0:
                put(c.candidates.acts, w, lane, k, 1.0)
                touching += 1.0
                add_mark(c, w, lane, k)
            if gap < least:
                least = gap
                a, b = shapes_of(c, w, lane, k)
                put(c.closest, w, lane, 0, 1.0 * a)
                put(c.closest, w, lane, 1, 1.0 * b)
    put(c.barrier, w, lane, 0, total)
    put(c.least, w, lane, 0, least)
    put(c.touching, w, lane, 0, touching)
    return total


@ti.func
def measure_sticking(c: ti.template(), w: ti.i32, lane: ti.i32, x: ti.template(), barrier: ti.template()):
    """[J], of friction in a world, and of its barrier.

    Writes: c.{dissipated, held}
    """
    dissipated = 1.0 * one(c.sticking.lost, w, lane, 0)
    total = 1.0 * barrier
    held = 0.0 * dissipated
    for g in range(whole_of(c.sticking.count, w, lane, 0)):
        if acts_now(c, w, lane, c.sticking, g) == 1:
            potential, sticking_potential, work = sticking_energy(c, w, lane, g, x)
            total += potential
            held += sticking_potential
            dissipated += work
    put(c.dissipated, w, lane, 0, dissipated)
    put(c.held, w, lane, 0, held)
    return total


@ti.func
def add(c: ti.template(), w: ti.i32, x: ti.template(), gradient: ti.template(), matrix: ti.template(), exact: ti.template()):
    """Add gradient and projected curvature of all contacts and sticking ones at x.

    Args:
        gradient: (12 B).
        matrix: see `SkylineMatrix`.
        exact: True for the curvature as it is.

    Reads:  c.{candidates, sticking}; which candidates count is known from `measure_barrier` at x
    Writes: c.at, gradient, matrix.value
    """
    place_vertices(c, w, x)
    add_worlds(c, w, x, gradient, matrix, exact)


@by_world
@ti.func
def add_worlds(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    x: ti.template(),
    gradient: ti.template(),
    matrix: ti.template(),
    exact: ti.template(),
):
    """`add` in a world.

    Writes: gradient, matrix.value
    """
    n_candidates = whole_of(c.candidates.count, w, lane, 0)
    n_sticking = whole_of(c.sticking.count, w, lane, 0) if ti.static(c.has_friction) else 0
    for k in range(n_candidates + n_sticking):
        is_near = 1
        a, b = 0, 0
        if k < n_candidates:
            is_near = 0
            if counts(c, w, lane, k):
                is_near = stencil_pieces(c, w, lane, k, exact)
            a, b = bodies_of(c, w, lane, k)
        elif ti.static(c.has_friction):
            g = k - n_candidates
            sticking_pieces(c, w, lane, g, x)
            a, b = whole_of(c.sticking.first, w, lane, g), whole_of(c.sticking.second, w, lane, g)
        if is_near == 1:
            add_pieces(c, w, lane, a, b, gradient, matrix)


@ti.func
def add_pieces(
    c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, gradient: ti.template(), matrix: ti.template()
):
    """Add what the notes hold to the bodies a and b.

    Reads:  c.notes
    Writes: gradient, matrix.value
    """
    for side in range(2):
        body = ti.select(side == 0, a, b)
        if body < c.n_bodies:
            for r in range(12):
                more = c.notes.load(w, c.gradient + 12 * side + r)
                put(gradient, w, lane, 12 * body + r, one(gradient, w, lane, 12 * body + r) + more)
                for s in range(r + 1):
                    _add_entry(c, w, lane, matrix, packed_index(12 * body + r, 12 * body + s), 12 * side + r, 12 * side + s)
    if a < c.n_bodies and b < c.n_bodies:
        first = ti.select(a > b, 0, 12)
        for r in range(12):
            row = packed_index(12 * ti.max(a, b) + r, 12 * ti.min(a, b))
            for s in range(12):
                _add_entry(c, w, lane, matrix, row + s, first + r, 12 - first + s)


@ti.func
def _add_entry(c: ti.template(), w: ti.i32, lane: ti.i32, matrix: ti.template(), place: ti.i32, r: ti.i32, s: ti.i32):
    """Add the squares of the notes to an entry.

    Writes: matrix.value
    """
    total = one(matrix.value, w, lane, place)
    for k in range(ti.cast(c.notes.load(w, c.n_pieces), ti.i32)):
        at = c.pieces + k * PIECE
        total += c.notes.load(w, at) * c.notes.load(w, at + 1 + r) * c.notes.load(w, at + 1 + s)
    put(matrix.value, w, lane, place, total)


@ti.func
def touch_of(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, x: ti.template()):
    """What a candidate says of itself at coordinates x, where `measure_barrier` was last.

    Returns:
        1 if it carries a force; shapes a and b; [m], point half way between the surfaces; unit normal from a to b; [m], gap;
        [N], force on b: of the barrier, and of friction if the contact was there when the step began.
    """
    kind, combination, a, b, d, e = corners(c, w, lane, k)
    xi, near = thickness(c, w, lane, k), one(c.near, w, lane, combination)
    point, normal, force = vector(), vector(), vector()
    gap = near + 0.0 * xi
    shape_a, shape_b = shapes_of(c, w, lane, k)
    has_force = 0
    if one(c.candidates.acts, w, lane, k) != 0.0:
        weights = weigh(kind, a, b, d, e)
        size, n = direction(blend(weights, (a, b, d, e)))
        gap = size - xi
        if gap < near:
            _energy, slope, _curvature = barrier(gap, near, one(c.stiffness, w, lane, combination))
            first = a * weights.parts[0]
            if kind == EDGE_EDGE:
                area = (b - a).cross(e - d)
                weight, _first, _second = mollifier(area.dot(area), edge_scale(c, w, lane, k))
                slope = slope * weight
                first = first + b * weights.parts[1]
            shape = shape_of(c, w, lane, k, 0)
            side = ti.select(shape == shape_a, -1.0, 1.0)
            has_force = ti.select(slope < 0.0, 1, 0)
            point = first - n * (radius_at(c, w, lane, k, 0) + 0.5 * gap)
            normal = n * side
            force = (n * slope + friction_of(c, w, lane, k, x)) * -side
    return has_force, shape_a, shape_b, point, normal, gap, force


@ti.func
def friction_of(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, x: ti.template()):
    """[N], slope of the potential of friction by the place of a candidate's first feature; 0 where it does not stick."""
    force = vector()
    if ti.static(c.has_friction):
        for g in range(ti.cast(one(c.sticking.count, w, lane, 0), ti.i32)):
            if same_features(w, lane, c.candidates, k, c.sticking, g) == 1:
                along, across = slip_of(c, w, lane, g, x)
                _potential, over, _slope, _stretch = stick(
                    ti.sqrt(along * along + across * across),
                    one(c.sticking.stiffness, w, lane, g),
                    one(c.sticking.load, w, lane, g),
                )
                force = (one(c.sticking.along, w, lane, g) * along + one(c.sticking.across, w, lane, g) * across) * over
    return force
