"""Stages that solve the one problem of a step with contact (impulses/memory.py), and the two lists of them.

    solving       the problem of an evaluation, and the velocities that move the coordinates
    correcting    what it lacks at the poses that were reached

Both search until no bound that was thought to be far has been passed, and where contacts have rolling or torsional friction
as often as its bounds, by the normal impulses of the search before, need it.

Source: Jean (1999) for the step, Rockafellar (1976) for the rounds. Deviation: the direction is chosen for a scene, not for
a step.
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.collision.detect import detect, place_shapes
from simcli.kernels.complementarity.solve import READY, SEARCH
from simcli.kernels.language import ti
from simcli.kernels.language.numbers import number
from simcli.kernels.laws.active_set import choose_piece
from simcli.kernels.laws.bounded import FREE
from simcli.kernels.memory.arena import local
from simcli.kernels.memory.programs import only, repeat, within
from simcli.solvers.impulses.aims import aim_contacts, rub
from simcli.solvers.impulses.balls import bound_balls
from simcli.solvers.impulses.contacts import recall_contacts, watch_shapes
from simcli.solvers.impulses.direction import turn_directions
from simcli.solvers.impulses.mass import mirrored
from simcli.solvers.impulses.memory import FAST, FINER
from simcli.solvers.impulses.rows import (
    BOUNDLESS,
    HARD,
    LINEAR,
    MOTION,
    UPPER,
    restore_momentum,
    state_problem,
    state_rest,
    state_row,
    wake_bounds,
)
from simcli.solvers.impulses.spins import bound_spins
from simcli.solvers.rows.active_set import acceleration_of_law, aim_laws
from simcli.solvers.shared import needs
from simcli.solvers.tree.integrators import H


def problem_of(c):
    """What the search works on."""
    return c.bound.impulses.problem


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


@ti.func
def recall_all(c: ti.template(), w: ti.i32):
    """State the contacts that were found, and what they carried before.

    Reads:  c.state of `place_all`
    Writes: c.bound.impulses, p.contacts
    """
    m = c.bound.impulses
    recall_contacts(m.contacts, c.tables, c.state, m.problem, m.first_spin, w)


watch_contacts = watch_places, detect_all, recall_all  # of a step


def solving(c) -> tuple:
    """Stages that state the problem of an evaluation and solve it.

    Args:
        c: core of the run.
    """
    turn = (turn_first,) if c.turns else ()
    return (begin_solving, state, *turn, *searching(c), note_lack, take_answer)


def correcting(c) -> tuple:
    """Stages that solve what the present solution lacks at the poses reached.

    Args:
        c: core of the run.
    """
    turn = (begin_again, turn_again) if c.turns else ()
    return (begin_correcting, *turn, *searching(c, rest=(state_lack,)), note_lack, note_missed, take_answer)


def searching(c, rest: tuple = ()) -> tuple:
    """Searches, the first of them with all rows stated where worlds are awake.

    Args:
        c: core of the run.
        rest: stages before the first search.
    """
    aims = (_aim,) if c.touches else ()
    spins = (bound_spins,) if c.bound.impulses.first_spin >= 0 else ()
    balls = (bound_balls,) if c.bound.system.laws.has_shared_limit else ()
    wakes = (wake,) if c.bound.system.laws.n else ()
    restates = only(is_awake, state_rows, within(problem_of, *READY), *(aims if not rest else ()))
    search = (within(problem_of, *SEARCH), count_iterations, sleep, *wakes)
    first = only(is_first_search, *rest) if rest else ()
    return (repeat(restates, *(first,), *spins, *balls, *search, wanted=searches_again),)


@ti.func
def begin_solving(c: ti.template(), w: ti.i32):
    """What a search of an evaluation begins with.

    Reads:  c.state.qd
    Writes: c.now, p.{goal, enough, kappa}, c.bound.impulses.{finest, missed, first, lacked, iterations, awakened}
    """
    m = c.bound.impulses
    p = m.problem
    zero = c.tables.arena.zero()
    finest = find_finest(c, w)
    m.finest.store(w, 0, finest)
    p.enough.store(w, 0, finest)
    p.share.store(w, 0, zero)
    p.goal.store(w, 0, ti.max(finest, m.missed.load(w, 0) * FINER))
    m.missed.store(w, 0, zero)
    m.first.store(w, 0, zero + 1.0)
    m.lacked.store(w, 0, zero + BOUNDLESS)
    p.kappa.store(w, 0, zero + p.limits.kappa)
    m.iterations.store(w, 0, zero)
    m.awakened.store(w, 0, zero + 1.0)
    c.now.store(w, "search", 0)
    c.now.store(w, "statement", 0)
    c.now.store(w, "searches", m.searches)
    p.now.store(w, "rounds", m.rounds)
    if c.now.load(w, "instant") != 0:
        p.now.store(w, "rounds", m.passes)
        _search_often(c, w)


@ti.func
def find_finest(c: ti.template(), w: ti.i32):
    """[m/s], how finely velocities can be found: the tolerance, or what the fastest of them rounds by.

    Reads: c.state.qd
    """
    p = c.bound.impulses.problem
    fastest = c.tables.arena.zero()
    for n in range(c.bound.system.n_dofs):
        fastest = ti.max(fastest, ti.abs(c.state.qd.load(w, c.tables.tree_dof.at(n))))
    return local(ti.max(fastest * p.limits.rounding, p.limits.tolerance))


@needs.rolling
def _search_often(c, w):
    c.now.store(w, "searches", number(c.bound.impulses, "passes"))


@ti.func
def begin_correcting(c: ti.template(), w: ti.i32):
    """What a search of a correction begins with: the proximal compliance stays, and the factors with it, while that is fast.

    Reads:  p.{lack, progress.kappa}
    Writes: c.now, p.{goal, enough, kappa}, c.bound.impulses.{lacked, awakened}
    """
    m = c.bound.impulses
    p = m.problem
    zero = c.tables.arena.zero()
    p.goal.store(w, 0, m.finest.load(w, 0))
    p.share.store(w, 0, zero + FINER)
    p.enough.store(w, 0, ti.max(m.finest.load(w, 0), m.enough))
    lacks = p.lack.load(w, 0)
    before, after = p.kappa.load(w, 0), p.progress.kappa.load(w, 0)
    is_fast = (after < before) & (lacks < FAST * m.lacked.load(w, 0))
    p.kappa.store(w, 0, select(is_fast, before, after))
    m.lacked.store(w, 0, lacks)
    m.awakened.store(w, 0, zero)
    _wake_all(c, w)
    c.now.store(w, "search", 0)
    c.now.store(w, "statement", 1)
    c.now.store(w, "searches", m.searches)
    p.now.store(w, "rounds", m.rounds)


@needs.turns
def _wake_all(c, w):
    c.bound.impulses.awakened.store(w, 0, c.tables.arena.zero() + 1.0)


@ti.func
def state(c: ti.template(), w: ti.i32):
    """State the problem at the start of a step."""
    state_problem(c, w, c.b.load(w, 0), c.constants.load(w, H), c.g.load(w, 0), c.now.load(w, "instant"))


@ti.func
def turn_first(c: ti.template(), w: ti.i32):
    """Directions of rows where the mass matrix is new."""
    turn_directions(c, w, c.constants.load(w, H), 1)


@ti.func
def begin_again(c: ti.template(), w: ti.i32):
    """Begin with the momentum of the start of the step."""
    restore_momentum(c, w)


@ti.func
def turn_again(c: ti.template(), w: ti.i32):
    """Directions of rows at the poses reached."""
    turn_directions(c, w, c.constants.load(w, H), 0)


def is_awake(c, w):
    """The worlds whose rows are to be stated."""
    return c.bound.impulses.awakened.load(w, 0) != 0.0


def is_first_search(c, w):
    """Whether no search was made yet."""
    return c.tables.arena.zero() + ti.cast(c.now.load(w, "search") == 0, c.tables.arena.device.real) != 0.0


@ti.func
def state_rows(c: ti.template(), w: ti.i32):
    """Rows of joints, laws and motions; from the second time on with the bounds that have been passed."""
    for n in range(c.bound.impulses.n_plain):
        state_row(c, w, n, c.g.load(w, 0), c.now.load(w, "statement"))


@ti.func
def _aim(c: ti.template(), w: ti.i32):
    """Friction of contacts, and what they are to reach."""
    m = c.bound.impulses
    rub(m.contacts, m.problem, w, m.start)
    aim_contacts(m.contacts, m.problem, w, m.start, c.constants.load(w, H))


@ti.func
def state_lack(c: ti.template(), w: ti.i32):
    """What rigid rows and contacts lack at the poses reached."""
    state_rest(c, w, c.constants.load(w, H))


@ti.func
def count_iterations(c: ti.template(), w: ti.i32):
    """Add the Newton steps of a search to those of the step.

    Writes: c.bound.impulses.iterations
    """
    m = c.bound.impulses
    m.iterations.store(w, 0, m.iterations.load(w, 0) + m.problem.iterations.load(w, 0))


@ti.func
def sleep(c: ti.template(), w: ti.i32):
    """A search is over, and its rows are stated.

    Writes: c.now, c.bound.impulses.awakened
    """
    c.bound.impulses.awakened.store(w, 0, c.tables.arena.zero())
    c.now.store(w, "search", c.now.load(w, "search") + 1)


@ti.func
def wake(c: ti.template(), w: ti.i32):
    """After the first search of an evaluation, wake the worlds in which a bound was passed that was thought to be far."""
    if c.now.load(w, "search") == 1 and c.now.load(w, "statement") == 0:
        wake_bounds(c, w, c.g.load(w, 0))
    c.now.store(w, "statement", 1)


def searches_again(c, w):
    """The worlds that search again: because bounds woke, or for the bounds of spins and of drives of balls."""
    m = c.bound.impulses
    found = m.awakened.load(w, 0) != 0.0
    if m.first_spin < 0 and not c.bound.system.laws.has_shared_limit:
        return found
    more = ti.cast(c.now.load(w, "search") < c.now.load(w, "searches"), c.tables.arena.device.real)
    wants = 1.0 if c.bound.system.laws.has_shared_limit else m.spins.load(w, 0)
    return found | (wants * more != c.tables.arena.zero())


@ti.func
def note_lack(c: ti.template(), w: ti.i32):
    """Note what the last search began with, and whether that is too much.

    Reads:  p.{lack, enough, residual}
    Writes: c.bound.{worst, impulses.residual}
    """
    m = c.bound.impulses
    zero = c.tables.arena.zero()
    lacks = m.problem.lack.load(w, 0)
    too_much = lacks >= m.problem.enough.load(w, 0)
    c.bound.worst.store(w, 0, select(too_much, zero + 1.0, zero))
    m.residual.store(w, 0, select(too_much, m.problem.residual.load(w, 0), lacks))


@ti.func
def note_missed(c: ti.template(), w: ti.i32):
    """Note what the first solution of a step lacks at the poses reached.

    Reads:  p.lack
    Writes: c.bound.impulses.{missed, first}
    """
    m = c.bound.impulses
    m.missed.store(w, 0, select(m.first.load(w, 0) != 0.0, m.problem.lack.load(w, 0), m.missed.load(w, 0)))
    m.first.store(w, 0, c.tables.arena.zero())


@ti.func
def take_answer(c: ti.template(), w: ti.i32):
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
        a = (v - m.start.load(w, mirrored(y, n))) / g
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
        force = p.rows.impulse.load(w, n) / g
        if kind == HARD:
            force = select(p.rows.on.load(w, n) != 0.0, force, y.force.load(w, item))
            y.force.store(w, item, force)
            y.multiplier.store(w, item, -force)
        elif kind == MOTION:
            y.effort.store(w, c.tables.unknown.at(c.motions.lock_dof.at(item)), force)
        elif kind != LINEAR:
            _add_effort_of_law(c, w, item, force * ti.select(kind == UPPER, -1.0, 1.0))
    find_pieces(c, w, g)


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
        speed = laws.rate.load(w, k) + (acceleration_of_law(c, w, k) + laws.shift.load(w, k)) * g
        laws.effort.store(w, k, m.push.load(w, k) - m.gain.load(w, k) * speed)


@needs.laws
def _add_effort_of_law(c, w, k, effort):
    laws = c.bound.system.laws
    laws.effort.store(w, k, laws.effort.load(w, k) + effort)


@needs.laws
@ti.func
def find_pieces(c: ti.template(), w: ti.i32, g: ti.template()):
    """The pieces of the laws on which the answer is.

    Reads:  c.bound
    Writes: c.bound.system.{laws, effort, force}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    aim_laws(c, w, 1, g)
    for k in range(y.laws.n):
        aim = y.laws.goal.load(w, k)
        y.laws.aim.store(w, k, aim)
        choose_piece(y.laws, w, k, aim, zero - 1.0, zero == 0.0)
        i = y.laws.unknown.at(k)
        effort = y.laws.effort.load(w, k)
        if i < y.n_dofs:
            y.effort.store(w, i, select(y.laws.lock.load(w, k) != FREE, effort, y.effort.load(w, i)))
        else:
            y.force.store(w, i - y.n_dofs, effort)
