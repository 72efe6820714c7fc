"""Stages that find contacts and solve the one problem of a step with contact (memory.py). Their lists: programs.py."""

from simcli.kernels.articulation.contact_columns import spread_motions
from simcli.kernels.articulation.contact_places import find_gaps
from simcli.kernels.articulation.contacts import clear_contacts, state_cleared
from simcli.kernels.articulation.kinematics import point_velocity
from simcli.kernels.collision.box_tree import order_shapes
from simcli.kernels.collision.detect import begin_pairs, detect, place_boxes, place_shapes, search_part
from simcli.kernels.collision.table_rows import complete_points, join_points
from simcli.kernels.complementarity.islands import ITS_ROWS, begin_of, end_of, keep_for_all, member
from simcli.kernels.complementarity.preparation import push_free
from simcli.kernels.device.crew import in_parts, items_of_part
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.language.values import Vec3
from simcli.solvers.base import needs
from simcli.solvers.base.gyroscopic_torques import change_of_torque, gains_spin
from simcli.solvers.base.integrators import H
from simcli.solvers.impulses.contact_rhs import carry_surfaces, contact_rhs, set_friction
from simcli.solvers.impulses.contacts import count_as_before, warm_start_contacts, warm_start_others, warm_start_same
from simcli.solvers.impulses.direction import turn_directions
from simcli.solvers.impulses.memory import find_finest
from simcli.solvers.impulses.rows import state_problem, state_row

MOST_BOUND = 100.0  # [m] from the middle of a shape: a turning plane does not watch all the world
SLACK = 1e-3  # [1] of its size: how far a resting shape is watched


def sizes(v: Vec3) -> Vec3:
    """Sizes of the parts."""
    return Vec3(*(ti.abs(part) for part in v.parts))


@ti.func
def watch_shapes(k: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32, h: ti.template()):
    """Margin of each shape: what it can close in a step, twice, and a little of its size; it moves along its velocity.

    Reads:  s.v, k.collider.position
    Writes: k.collider.{margin, spare}
    """
    o = k.collider
    zero = t.arena.zero()
    first, end = items_of_part(t.arena, w, o.n_shapes)
    for i in range(first, end):
        margin = zero
        spare = Vec3(zero, zero, zero)
        link = o.link.at(i)
        if link >= 0:
            v = s.v.load(w, link)
            at = point_velocity(v, o.position.load(w, i))
            bound = ti.min(o.bound.load(w, i) + (zero + o.skin.load(w, i)), MOST_BOUND)
            pace = ti.sqrt(at.dot(at))
            speed = pace + ti.sqrt(v.angular.dot(v.angular)) * bound
            margin = (speed * 2.0 + k.gravity.load(w, 0) * h) * h + bound * SLACK
            spare = (Vec3(pace, pace, pace) - sizes(at)) * (h * 2.0)
        if ti.static(not k.is_auto):
            margin = zero + 0.5 * k.margin
            spare = Vec3(zero, zero, zero)
        o.margin.store(w, i, margin)
        o.spare.store(w, i, spare)


@in_parts
@ti.func
def watch_places(c: ti.template(), w: ti.i32):
    """Place all shapes where a step starts, and find how far around them it can reach.

    Reads:  c.state of `place_all`
    Writes: c.bound.impulses.contacts
    """
    contacts = c.bound.impulses.contacts
    place_shapes(contacts.collider, c.tables, c.state, w)
    watch_shapes(contacts, c.tables, c.state, w, c.constants.load(w, H))


@ti.func
def detect_all(c: ti.template(), w: ti.i32):
    """Find the contacts of placed shapes.

    Writes: c.bound.impulses.contacts.collider
    """
    detect(c.bound.impulses.contacts.collider, w)


@in_parts
@ti.func
def place_boxes_of_all(c: ti.template(), w: ti.i32):
    """The boxes of the shapes."""
    place_boxes(c.bound.impulses.contacts.collider, w)


@ti.func
def begin_searching_pairs(c: ti.template(), w: ti.i32):
    """Be ready to look for pairs."""
    begin_pairs(c.bound.impulses.contacts.collider, w)


@in_parts
@ti.func
def search_pairs(c: ti.template(), w: ti.i32):
    """Points of contact of the shapes of a part."""
    search_part(c.bound.impulses.contacts.collider, w)


@ti.func
def join_found(c: ti.template(), w: ti.i32):
    """How many points all parts have."""
    join_points(c.bound.impulses.contacts.collider, w)


@in_parts
@ti.func
def complete_found(c: ti.template(), w: ti.i32):
    """Rows of the table, of these points."""
    complete_points(c.bound.impulses.contacts.collider, w)


# `detect_all` of a world with many shapes.
DETECT = (place_boxes_of_all, begin_searching_pairs, search_pairs, join_found, complete_found)


@in_parts
@ti.func
def find_gaps_reached(c: ti.template(), w: ti.i32):
    """Gaps of the contacts at the poses that the velocities found have reached.

    Writes: c.bound.impulses.contacts.collider
    """
    find_gaps(c.bound.impulses.contacts.collider, c.tables, c.state, w)


@ti.func
def warm_start_all(c: ti.template(), w: ti.i32):
    """State the contacts that were found, and what they carried before.

    Reads:  c.state of `place_all`
    Writes: c.bound.impulses, p.contacts
    """
    m = c.bound.impulses
    warm_start_contacts(m.contacts, c.tables, c.state, m.problem, w)


@ti.func
def begin_contacts(c: ti.template(), w: ti.i32):
    """The contacts that were found are those of the problem.

    Writes: p.stated, p.contacts.on
    """
    clear_contacts(c.bound.impulses.contacts.collider, c.bound.impulses.problem, w)


@in_parts
@ti.func
def spread_all(c: ti.template(), w: ti.i32):
    """The motions of the velocities of all bodies."""
    spread_motions(c.tables, c.state, c.bound.impulses.problem, w)


@in_parts
@ti.func
def state_all(c: ti.template(), w: ti.i32):
    """What contacts see of velocities."""
    m = c.bound.impulses
    state_cleared(m.contacts.collider, c.tables, c.state, m.problem, w)


@ti.func
def count_same(c: ti.template(), w: ti.i32):
    """How many contacts are those of the step before."""
    count_as_before(c.bound.impulses.contacts, w)


@in_parts
@ti.func
def warm_start_those(c: ti.template(), w: ti.i32):
    """What these carried before."""
    warm_start_same(c.bound.impulses.contacts, c.bound.impulses.problem, w)


@ti.func
def warm_start_rest(c: ti.template(), w: ti.i32):
    """What the others carried."""
    warm_start_others(c.bound.impulses.contacts, c.bound.impulses.problem, w)


# `warm_start_all` of a large world.
WARM_START = (begin_contacts, spread_all, state_all, count_same, warm_start_those, warm_start_rest)


def take_directions_of_start(c, w):
    """Rows have the directions where the step begins (inside kernels)."""
    c.now.store(w, "turned", 0)


def take_directions_reached(c, w):
    """Rows have the directions of the poses reached (inside kernels)."""
    c.now.store(w, "turned", 1)


@ti.func
def order_shapes_by_islands(c: ti.template(), w: ti.i32):
    """Let the shapes of the next step be looked at island by island.

    Writes: c.bound.impulses.contacts.collider.box_tree
    """
    m = c.bound.impulses
    order_shapes(m.contacts.collider, w, m.problem.large.islands, m.body)


@ti.func
def state(c: ti.template(), w: ti.i32):
    """State the problem at the start of a step."""
    state_problem(c, w, c.b.load(w, 0), c.constants.load(w, H), c.g.load(w, 0), c.now.load(w, "instant"))


@ti.func
def turn_first(c: ti.template(), w: ti.i32):
    """Directions of rows where the mass matrix is new."""
    turn_directions(c, w, c.constants.load(w, H), 1)


@ti.func
def turn_again(c: ti.template(), w: ti.i32):
    """Directions of rows at the poses reached."""
    turn_directions(c, w, c.constants.load(w, H), 0)


@ti.func
def turn_held(c: ti.template(), w: ti.i32):
    """Give bodies that are held the gyroscopic torques of the velocities found, where these change more than rounding.

    Where directions turn the momentum is stated anew, and takes them; else the free velocity does.

    Reads:  p.velocity, c.gyroscopes
    Writes: p.{push, free, known}, c.bound.impulses.load, c.gyroscopes.rest
    """
    o = c.gyroscopes
    p = c.bound.impulses.problem
    zero = c.tables.arena.zero()
    h = c.constants.load(w, H)
    finest = find_finest(c, w)
    _forget_push(c, w)
    turned = zero
    for n in range(o.n):
        if o.carries.at(n) + o.is_alone.at(n) == 0:
            last = p.n_given - 1 - c.tables.unknown.at(o.first_qd.at(n))  # tips first
            ends = Vec3(p.velocity.load(w, last), p.velocity.load(w, last - 1), p.velocity.load(w, last - 2))
            moves = gains_spin(c, w, n, ends, h) > finest
            change = change_of_torque(c, w, n, ends, moves)
            turned = select(moves, zero + 1.0, turned)
            for k in ti.static(range(3)):
                p.push.store(w, last - k, p.push.load(w, last - k) + change.parts[k] * h)
                _keep_change(c, w, last - k, change.parts[k] * h)
    _free_again(c, w, turned)


@needs.turns
def _keep_change(c, w, a, given):
    load = c.bound.impulses.load
    load.store(w, a, load.load(w, a) + given)


@needs.fixed_directions
@ti.func
def _forget_push(c: ti.template(), w: ti.i32):
    for a in range(c.bound.impulses.problem.n):
        c.bound.impulses.problem.push.store(w, a, c.tables.arena.zero())


@needs.fixed_directions
@ti.func
def _free_again(c: ti.template(), w: ti.i32, turned: ti.template()):
    """Add the velocities that the pushes give to the free ones."""
    p = c.bound.impulses.problem
    if any_lane(turned != 0.0):
        push_free(p, w)
    p.known.store(w, 0, select(turned != 0.0, turned * 0.0, p.known.load(w, 0)))
    if ti.static(p.is_large):
        if turned != 0.0:
            keep_for_all(p, w, p.known)


@ti.func
def state_rows(c: ti.template(), w: ti.i32):
    """Rows of joints, laws and motions; from the second time on with the bounds that have been passed."""
    p = c.bound.impulses.problem
    for k in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS, c.bound.impulses.n_plain)):
        state_row(c, w, member(p, w, ITS_ROWS, k), c.g.load(w, 0), c.now.load(w, "statement"))


@in_parts
@ti.func
def contact_rhs_of_all(c: ti.template(), w: ti.i32):
    """Friction of contacts, and what they are to reach."""
    m = c.bound.impulses
    if ti.static(m.contacts.has_moving_surfaces):
        carry_surfaces(m.contacts, c.state, m.problem, w)
    set_friction(m.contacts, m.problem, w, m.start)
    contact_rhs(m.contacts, c.tables, c.state, m.problem, w, m.start, c.constants.load(w, H))
