"""Stages of steps in joint coordinates, and of free bodies that rows join: functions of the core c and a block w.

What differs between integrators is another stage (base/integrators.py, rows/repeat.py, impulses/stages.py) or a number in
memory:

    node        evaluation of the step, from 0; as many as a step has for one that is taken again
    instant     1 for an evaluation that a frame shows, which ends no step
    b, g        [s], times over which efforts are implicit, and over which accelerations act on the velocity that moves
    choice      number of the choice of pieces;   solution: of a try;   correction: of a step
    rates       1 for corrections of velocities
    search      number of the search of impulses;   searches: at most
    statement   of the rows of impulses: 0 for the first one of an evaluation, which far bounds are not in

Impacts in steps of several nodes: these know nothing of contacts. Those that are near where a step starts are found there,
and where one of them overlaps at the poses that the nodes reach, the step of that world is one of first order: the world
goes back, and impulses bring it to the end of the step. What rests or slides takes all its steps so. A world in which
nothing meets keeps what its nodes have found, which is of the integrator's order.

Source: Acary (2012), Higher order event capturing time-stepping schemes for nonsmooth multibody systems with unilateral
constraints and impacts: smooth integrators between impacts, the step in impulses across them. Deviation: no error estimate
chooses the step, overlaps do.

The lists are in tree/programs.py.
"""

from simcli.kernels.articulation.aba import aba_backward, aba_forward
from simcli.kernels.articulation.contact_places import find_gaps
from simcli.kernels.articulation.kinematics import place_all
from simcli.kernels.articulation.retraction import retract
from simcli.kernels.collision.table_rows import contacts_of
from simcli.kernels.device.crew import in_parts, items_of_part
from simcli.kernels.device.lanes import one, put
from simcli.kernels.device.model_tables import links_of_part
from simcli.kernels.device.stage_lists import take_all, when
from simcli.kernels.forces.efforts import efforts
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.values import Vec3
from simcli.solvers.base import needs
from simcli.solvers.base.clock import time_of
from simcli.solvers.base.gyroscopic_torques import foresee_turns
from simcli.solvers.base.integrators import H, book_efforts, correct_efforts
from simcli.solvers.impulses.memory import move_by_impulses
from simcli.solvers.output.energy_balance import follow_signals, load_external, no_power
from simcli.solvers.rows.islands import forget_islands, note_jump_of, spread_jumps


@in_parts
@ti.func
def place_links(c: ti.template(), w: ti.i32):
    """Poses, velocities and motion axes of links, from the coordinates."""
    place_all(c.tables, c.state, w)


@ti.func
def follow(c: ti.template(), w: ti.i32):
    """What signals drive, at the time of the evaluation."""
    t, side = time_of(c, w)
    account = c.now.load(w, "node")
    if account == c.stages or c.now.load(w, "steps") == 0:
        account = -1
    follow_signals(c, w, t, side, account)


@ti.func
def begin_evaluation(c: ti.template(), w: ti.i32):
    """Times over which the evaluation is implicit, and the forces of `load_forces`.

    Writes: c.{b, g}, and what `load_forces` writes
    """
    node = c.now.load(w, "node")
    if c.now.load(w, "instant") != 0:
        node = c.stages + 1
    h = c.constants.load(w, H)
    c.b.store(w, 0, c.tables.arena.zero() + h * c.parts.load(w, node))
    c.g.store(w, 0, c.tables.arena.zero() + h)
    load_forces(c, w)


@ti.func
def load_forces(c: ti.template(), w: ti.i32):
    """External forces of links, and efforts of joints.

    Writes: c.state.{external, tau, diagonal, stiffness}, c.forces.account.power
    """
    take_all(c.loads, c, w)


def loads(c) -> tuple:
    """What loads them.

    Args:
        c: core of the run.
    """
    external = (load_external,) if c.forces.has_external else when(c.forces.has_work, no_power)
    return *external, *when(not _has_efforts_apart(c), *_efforts_of(c))


def efforts_apart(c) -> tuple:
    """Stages that load efforts after `begin_evaluation`, where threads take parts of them.

    Args:
        c: core of the run.
    """
    return when(_has_efforts_apart(c), *_efforts_of(c))


def _has_efforts_apart(c) -> bool:
    return c.arena.crew is not None and not c.is_natural


def _efforts_of(c) -> tuple:
    inner = c.constrained or c.forces.has_efforts or c.forces.has_diagonal or c.gyroscopes.n_carriers > 0
    return when(inner, load_efforts, *when(c.integrator == "implicit", correct_own_efforts))


@in_parts
@ti.func
def load_efforts(c: ti.template(), w: ti.i32):
    """Efforts of joints, without those of rows and laws."""
    efforts(c.tables, c.forces, c.state, w, c.b.load(w, 0))


@ti.func
def correct_own_efforts(c: ti.template(), w: ti.i32):
    """At the second node of an implicit step, as that of the first one says."""
    if c.now.load(w, "node") == 1:
        correct_efforts(c, w, c.b.load(w, 0))


@ti.func
def foresee_torques(c: ti.template(), w: ti.i32):
    """Gyroscopic torques of the whole step, of bodies that turn freely.

    Writes: c.state.qdd
    """
    foresee_turns(c, w, c.state.qdd, False)


@in_parts
@ti.func
def solve_tree(c: ti.template(), w: ti.i32):
    """Accelerations by the articulated-body algorithm."""
    aba_backward(c.tables, c.state, w)
    aba_forward(c.tables, c.state, w)


def impulses_not_converged(c, w):
    """The worlds whose last solution began with too large a lack."""
    return c.bound.impulses.unmet.load(w, 0) > 0.0


@ti.func
def book_step(c: ti.template(), w: ti.i32):
    """Book the work of joint efforts in a step of first order."""
    h = c.constants.load(w, H)
    book_efforts(c, w, h, h)


@in_parts
@ti.func
def keep_places(c: ti.template(), w: ti.i32):
    """Keep the coordinates with which a step of impulses begins.

    Writes: c.bound.q_start
    """
    first, end = items_of_part(c.arena, w, c.tables.n_q)
    for i in range(first, end):
        c.bound.q_start.store(w, i, c.state.q.load(w, i))


@in_parts
@ti.func
def move_smooth(c: ti.template(), w: ti.i32):
    """`advance_smooth` without its account, tree by tree.

    Reads:  c.state.qdd
    Writes: c.state.{q, qd}
    """
    t, s, h = c.tables, c.state, c.constants.load(w, H)
    first, end = links_of_part(t, w)
    for i in range(first, end):
        for d in range(t.link_qd.at(i), t.link_qd.at(i) + t.link_n_qd.at(i)):
            s.qd.store(w, d, s.qd.load(w, d) + s.qdd.load(w, d) * h)
    retract(t, s.q, s.q, s.qd, w, h)


# The first move of a step along the velocities that impulses give.
ADVANCE_BY_IMPULSES = (book_step, keep_places, move_by_impulses)


@ti.func
def select_impulse_worlds(c: ti.template(), w: ti.i32):
    """Add to the worlds that jump those in which a contact overlaps at the present poses.

    Reads:  c.state of `place_all`, c.bound.impulses
    Writes: c.bound.{velocity_jump, jumps, parts_of}, c.bound.impulses.contacts
    """
    k = c.bound.impulses.contacts.collider
    find_gaps(k, c.tables, c.state, w)
    _forget_jumps(c, w)
    for lane in range(k.lanes):
        for n in range(contacts_of(k, w, lane)):
            if one(k.contacts.reach, w, lane, n) < 0.0:
                put(c.bound.velocity_jump, w, lane, 0, 1.0)
                note_jump_of(c, w, lane, n)
    spread_jumps(c, w)


@needs.no_laws_that_jump
def _forget_jumps(c, w):
    c.bound.velocity_jump.store(w, 0, c.tables.arena.zero())
    forget_islands(c, w)


def is_smooth_step(c, w):
    """The worlds whose last step was smooth."""
    return c.bound.velocity_jump.load(w, 0) == 0.0


@ti.func
def forget_contacts(c: ti.template(), w: ti.i32):
    """After a smooth step no contact carries anything, and the next ones begin with nothing.

    Reads:  c.bound.worst
    Writes: c.bound.impulses
    """
    m = c.bound.impulses
    zero = c.tables.arena.zero()
    m.contacts.known.store(w, 0, zero)
    for n in range(m.contacts.capacity):
        m.problem.contacts.impulse.store(w, n, Vec3(zero, zero, zero))
    m.iterations.store(w, 0, zero)
    m.residual.store(w, 0, zero)
    _keep_violation(c, w)


@needs.some_rows
@ti.func
def _keep_violation(c: ti.template(), w: ti.i32):
    violation = c.bound.worst.load(w, 0)
    lost = select(violation > c.bound.tight, violation / c.constants.load(w, H), c.tables.arena.zero())
    c.bound.impulses.residual.store(w, 0, lost)
