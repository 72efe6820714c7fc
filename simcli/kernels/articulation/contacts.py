"""Contacts of trees: what they see of each velocity, and the forces that they put on links.

Which links touch differs between the worlds of a pack, so that this goes lane by lane on scalars, with the same bits as for
all worlds at once, where they are alike.
"""

from simcli.kernels.articulation.contact_columns import (
    forget_links,
    forget_rounding,
    list_of_alike,
    list_threes,
    mark_carriers,
    mark_from_links,
    mark_links,
    pull_link,
    pull_marked,
    see_link,
)
from simcli.kernels.articulation.contact_places import pushed_points
from simcli.kernels.collision.collider import NO_GRAIN
from simcli.kernels.collision.table_rows import contacts_of, most_contacts
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.device.crew import items_of_part
from simcli.kernels.device.lanes import across as perpendicular
from simcli.kernels.device.lanes import one, put, vector, whole_of
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts, share
from simcli.kernels.language.expressions import get_lane
from simcli.kernels.language.values import Vec3

_UPRIGHT = 1e-6  # [1], less of a grain in the tangent plane has no direction


@ti.func
def state_contacts(k: ti.template(), t: ti.template(), s: ti.template(), p: ti.template(), w: ti.i32):
    """Which contacts are on, their tangents, and what they see of each velocity: normal, and two tangents.

        J v = (n, t_1, t_2) . (v_B - v_A), the velocity of each body where it is pushed (`pushed_points`)
        of spins: (n, t_1, t_2) . (w_B - w_A), with unit tangents

    Friction mu_1 along a grain and mu_2 across it, within an ellipse, is that within a circle for tangents that are
    shorter by mu_i / mu, with mu the larger one: so are t_1 and t_2.

    Args:
        k: Collider, after `detect`.
        p: Problem.

    Reads:  k, s.{S, R, o, origin}
    Writes: p.contacts.{on, columns, length, jacobian}, p.spins.jacobian, or p.large; k.contacts.{along, across}
    """
    clear_contacts(k, p, w)
    forget_links(k, p, w)
    state_cleared(k, t, s, p, w)


@ti.func
def state_cleared(k: ti.template(), t: ti.template(), s: ti.template(), p: ti.template(), w: ti.i32):
    """`state_contacts` after `clear_contacts`, and `spread_motions` of a large world.

    Writes: p.contacts.{on, columns, length, jacobian}, p.spins.jacobian, or p.large; k.contacts.{along, across}
    """
    first, end = items_of_part(k.arena, w, whole(p.stated, w, 0))
    for c in range(first, end):
        k.terms.store(w, 0, k.arena.zero())
        alike = whole(k.contacts.alike, w, c)
        if ti.static(takes_all(k, p)):
            if alike:
                list_of_alike(k, t, p, w, c)
                state_contact(k, t, s, p, w, None, c)
            else:
                state_apart(k, t, s, p, w, c)
        else:
            for lane in range(k.lanes):  # one
                if ti.static(not p.is_large):
                    mark_carriers(k, t, p, w, c)
                    list_threes(p, w, c)
                state_contact(k, t, s, p, w, lane, c)
        if ti.static(not p.is_large):
            forget_rounding(k, p, w, c)


@ti.func
def state_apart(k: ti.template(), t: ti.template(), s: ti.template(), p: ti.template(), w: ti.i32, c: ti.i32):
    """Turn on contact c of the worlds of a block that have it, each between other links.

    Writes: as `state_contacts`
    """
    for lane in range(k.lanes):
        if c < contacts_of(k, w, lane):
            state_contact(k, t, s, p, w, lane, c)
    mark_from_links(k, t, p, w)
    list_threes(p, w, c)
    for side in ti.static(range(2)):
        pull_marked(k, t, s, p, w, c, side)


def takes_all(k, p) -> bool:
    """Whether what goes lane by lane can go for all worlds at once where their contacts are alike."""
    return k.lanes > 1 and not p.is_large


def is_one_of_block(k, p, lane) -> bool:
    """Whether contacts of one world are done, in a block that can be done at once."""
    return lane is not None and takes_all(k, p)


@ti.func
def clear_contacts(k: ti.template(), p: ti.template(), w: ti.i32):
    """Contacts are off, and so many as some world has will be stated.

    Writes: p.stated, p.contacts.on
    """
    zero = p.arena.zero()
    most = most_contacts(k, w)
    p.stated.store(w, 0, zero + ti.cast(most, p.arena.device.real))
    for c in range(most):
        p.contacts.on.store(w, c, zero)


@ti.func
def state_contact(
    k: ti.template(), t: ti.template(), s: ti.template(), p: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32
):
    """Turn on contact c of one world, or without a lane of all: its tangents, and what it sees.

    Reads:  k, s.{S, R, o, origin}
    Writes: as `state_contacts`
    """
    put(p.contacts.on, w, lane, c, 1.0)
    combination = whole_of(k.contacts.combination, w, lane, c)
    n = one(k.contacts.normal, w, lane, c)
    along = tangent_of(k, s, w, lane, combination, n)
    frame = (n, along, n.cross(along))
    axes = cone_axes(k, frame, w, lane, combination)
    put(k.contacts.along, w, lane, c, axes[1])
    put(k.contacts.across, w, lane, c, axes[2])
    point_a, point_b = pushed_points(k, t, s, w, lane, c)
    a = k.link.at(whole_of(k.contacts.shape_a, w, lane, c))
    b = k.link.at(whole_of(k.contacts.shape_b, w, lane, c))
    if ti.static(p.is_large):
        see_link(t, p, w, c, 0, a, point_a, axes, frame, -1.0)
        see_link(t, p, w, c, 1, b, point_b, axes, frame, 1.0)
    elif ti.static(is_one_of_block(k, p, lane)):
        put(k.unit_along, w, lane, 0, along)
        mark_links(k, t, s, w, lane, 0, a, point_a)
        mark_links(k, t, s, w, lane, 1, b, point_b)
    else:
        pull_link(k, t, s, p, w, lane, c, a, point_a, axes, frame, -1.0)
        pull_link(k, t, s, p, w, lane, c, b, point_b, axes, frame, 1.0)


def cone_axes(k, frame, w, lane, combination):
    """Axes along which a contact is stated: those of its frame, shorter where there is less friction."""
    if not k.has_grain:
        return frame
    along, across = (one(share, w, lane, combination) for share in (k.share_along, k.share_across))
    return frame[0], frame[1] * along, frame[2] * across


@ti.func
def tangent_of(k: ti.template(), s: ti.template(), w: ti.i32, lane: ti.template(), combination: ti.i32, n: ti.template()):
    """A unit tangent: along the grain of the shapes, if it has one."""
    found = perpendicular(n)
    if ti.static(k.has_grain):
        link = k.grain_link.at(combination)
        if link != NO_GRAIN:
            grain = one(k.grain, w, lane, combination)
            if link >= 0:
                grain = one(s.R, w, lane, link) * grain
            along = grain - n * n.dot(grain)
            square = along.dot(along)
            upright = square > _UPRIGHT * _UPRIGHT
            found = select_parts(upright, along * (1.0 / ti.sqrt(select(upright, square, square * 0.0 + 1.0))), found)
    return found


@ti.func
def push_links(
    k: ti.template(),
    t: ti.template(),
    s: ti.template(),
    impulse: ti.template(),
    f: ti.template(),
    w: ti.i32,
    scale: ti.template(),
):
    """Add the forces of contacts to those on links, about each tree's O.

    Args:
        impulse: (C, Vec3) [N s], normal and tangents.  f: (links) Force.
        scale: [1/s], of impulses to forces.

    Reads:  k, s.{R, o, origin}
    Writes: f
    """
    for lane in range(k.lanes):
        for c in range(contacts_of(k, w, lane)):
            force = force_of_contact(k, impulse, w, lane, c) * get_lane(scale, lane)
            point_a, point_b = pushed_points(k, t, s, w, lane, c)
            push_link(t, s, f, w, lane, k.link.at(whole_of(k.contacts.shape_a, w, lane, c)), point_a, -force)
            push_link(t, s, f, w, lane, k.link.at(whole_of(k.contacts.shape_b, w, lane, c)), point_b, force)


@ti.func
def push_link(
    t: ti.template(),
    s: ti.template(),
    f: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    link: ti.i32,
    point: ti.template(),
    force: ti.template(),
):
    """Add a force at a point, from the reference point of its tree, to that on a link.

    Writes: f
    """
    if link >= 0:
        total = one(f, w, lane, link)
        put(f, w, lane, link, type_of_force(total, force, point.cross(force)))


def type_of_force(total, force: Vec3, moment: Vec3):
    """A force with more of it."""
    return total + type(total).of(force, moment)


@ti.func
def force_of_contact(k: ti.template(), impulse: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32):
    """An impulse, given along the normal and the tangents of contact c, in the world: on B."""
    n = one(k.contacts.normal, w, lane, c)
    x = one(impulse, w, lane, c)
    along = one(k.contacts.along, w, lane, c)
    return n * x.parts[0] + along * x.parts[1] + one(k.contacts.across, w, lane, c) * x.parts[2] + vector()


@ti.func
def impulse_of_contact(k: ti.template(), force: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32):
    """What `force_of_contact` makes a force of; never one that pulls, and no tangent part where friction has none."""
    press = one(k.contacts.normal, w, lane, c).dot(force)
    along, across = one(k.contacts.along, w, lane, c), one(k.contacts.across, w, lane, c)
    square_1, square_2 = along.dot(along), across.dot(across)
    return Vec3(ti.max(press, press * 0.0), share(along.dot(force), square_1), share(across.dot(force), square_2))
