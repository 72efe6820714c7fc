"""What a contact remembers: how far it has been pulled from where it stuck, and how stiffly it sticks.

Without it friction knows the slip of one step alone, and what it holds creeps: a constant force needs a slip in every step.

    k = mu lambda / e,   e = `give`        when the contact begins, and again when the load leaves [k e / BAND, BAND k e]

In between k is kept whatever the load does, so that the spring is an energy of the places alone and gives back no more than
it took. Where k changes, no energy comes from nothing: a spring that becomes stiffer keeps its force, one that becomes
softer its stretch, and what that takes is dissipated. The bound mu lambda is always that of the load at hand.

Source: Cundall and Strack 1979 (tangential springs of contacts, cut at Coulomb's bound). Deviation: stiffness by the load,
which makes the way until a contact slides the same for light bodies and heavy ones.
"""

from simcli.kernels.collision.lanes import one, put, vector, whole_of
from simcli.kernels.collision.rule import acting_combination
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import local

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
