"""The one problem of a step with contact: joints, laws and contacts, solved together for impulses and velocities.

    M v = M v0 + h F + J^T x      x impulses of rows and contacts, v the velocities that move the coordinates

The evaluation states the problem and solves it; each correction states what is still missing at the poses that were reached,
and solves it again along the same directions, or where a scene wants that along those of the poses reached (direction.py).
The rows are stated by impulses/rows.py; impulses/stages.py has the stages. Large scenes keep nothing dense: what their rows
see is known beforehand (kernels/complementarity/large.py).

Source: Jean (1999) for the step, Rockafellar (1976) for the rounds. Deviation: the direction is chosen for a scene, not for
a step.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simcli.errors import UsageError
from simcli.kernels.articulation.retraction import retract
from simcli.kernels.complementarity.islands import ITS_BODIES, ITS_VELOCITIES, begin_of, end_of, member
from simcli.kernels.complementarity.large import DOFS
from simcli.kernels.complementarity.problem import LIMITS, Problem, ones
from simcli.kernels.device.arena import Arena, local
from simcli.kernels.device.crew import in_parts
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.forces.columns import Forces
from simcli.kernels.language import ti
from simcli.kernels.language.numbers import number
from simcli.kernels.language.values import Mat3
from simcli.kernels.rows.constrained_system import System
from simcli.model.constraints.build import smooth_laws
from simcli.model.constraints.constraint_tables import Constraints
from simcli.model.constraints.massless import holding_rows
from simcli.model.tables.model import Model
from simcli.solvers.base.integrators import H
from simcli.solvers.impulses.contact_rhs import BLURRED
from simcli.solvers.impulses.contacts import Contacts
from simcli.solvers.impulses.law_rows import DRIVE, FRICTION, HARD, LINEAR, LOWER, MOTION, UPPER, pattern_of
from simcli.solvers.impulses.mass import mirrored, places_of_masses
from simcli.solvers.impulses.sleeping import Sleep

# Velocities from which on sparse is faster than dense. Measured on heaps of boxes: one world gains from 200 on, several that
# would share lanes from about here on.
LARGE = 360


def is_large(models: Sequence[Model], options) -> bool:
    """Whether the impulses of a scene are found without dense matrices.

    Args:
        models: of all phases.
        options: of the solver.

    Raises:
        UsageError: a scene asks for it in which bodies do not stand alone.
    """
    linear = getattr(getattr(options, "contact", None), "linear", "dense")
    linear = "sparse" if sleeps(options) else linear
    links = models[0].links
    apart = models[0].columns is None and bool((links.parent < 0).all() and (links.n_qd == DOFS).all())
    touches = any(model.contacts is not None for model in models)
    if linear == "sparse" and touches and not apart and models[0].columns is None:
        raise UsageError(
            "sparse contact and sleep need bodies with inertia of their own: write linear: auto, no sleep_after"
        )
    return touches and apart and (linear == "sparse" or (linear == "auto" and DOFS * len(links.parent) >= LARGE))


def sleeps(options) -> bool:
    """Whether bodies at rest sleep."""
    return getattr(getattr(options, "contact", None), "sleep_after", None) is not None


_LOOSE = 100.0  # of `tolerance`: what a step may lack where it ends
FAST = 0.01  # of what the solution before lacked: with less, kappa is small enough
# Where gaps of redundant contacts differ by more than a step may lack, they share out loads anew, which travel by what kappa
# lets pass in a round. After a step that lacked TOO_MUCH times as much searches have further rounds, while one takes any.
TOO_MUCH, FURTHER_ROUNDS = 3.0, 19.0
# What impulses of bodies at rest lack, be it within the tolerance, moves them, and is taken back in two steps by impulses
# that lack as much, for ever. So in calm steps, after one that lacked little at the poses reached, impulses that are given
# stay if they lack less than CALM of the tolerance; those that have just changed are improved till they lack SETTLED of it,
# as long as each step begins with SETTLES of what the last one began with.
CALM, SETTLED, SETTLES = 0.1, 1e-5, 0.5
FINER = 0.02  # of what a solution will lack at the poses that it reaches: how finely it is found


class Impulses:
    """Memory of the problem.

    Args:
        phases: constraints of each phase; all have the same rows and laws.
        model, tables, arena: of the run.
        system: their rows and laws on the device.
        n_motions: prescribed dofs.
        forces: of the run.
        options: of the solver.
        touches, turns, is_large: see `Core`.

    Attributes:
        n_plain, kind, item: rows; kind of each, and row, prescribed dof or law that it is of.
        firm_row: rows of joints that hold bodies without inertia of their own.
        has_drive: by law, whether it has a row for its drive.
        n_shared: rows that hold exactly, which come first, where joints close loops: they may be redundant. 0 without.
        has_spins: whether contacts have rolling or torsional friction.
        start: (n of the problem) velocities at the start of the step.
        pushes: (K) c and (K) g of the linear part of each law.
        mass_place: place in the mass matrix of each entry of the system's.
        kept: (rows) impulses at the end of the last step.  awake: (rows) 1 for bounds that the first attempt has passed.
        load, stiff, stiffness: (n) [N s] given, without K; K of each link; its entries, see direction.py.
        tolerance: [m/s], that of the scene, or the least that velocities can be found to.
        finest_of_rows: [m/s], tolerance that rigid rows can be held to wherever they are; 0 without any.
        enough: [m/s], what a step may lack.
        finest: [m/s], how finely velocities of a step can be found: the tolerance, or what the fastest of them rounds by.
        missed: [m/s], what the first solution of the last step lacked at the poses reached; in a large world of the island
            of each body.  hard: likewise, 1 after a step that was not solved, and while a search takes further rounds;
            lingers: 1 once one of the step has.  unsettled: [m/s], what the last step began with if it found
            other impulses, else 0.
        first: 1 until that is known.  unmet: 1 where the last one began with too large a lack.
        link, body: of each body of a large world, of each of its links.
        earlier_residual: [m/s], that with which the solution before the last one began.
        awakened: 1 for the worlds whose rows are to be stated anew.  searching: 1 for those that search again.
        sleep: of bodies at rest, None without.
        spins: 1 for the worlds in which a contact has rolling or torsional friction.
        is_bounded: whether some law stops something: then all steps are of impulses.
        passes: solutions of a step, at most.
        can_settle: 1 if steps may be calm: those with corrections, in float64, which can be better than the tolerance.
        rounds: proximal rounds of a solution: all of them in natural coordinates, which solve once in a step.
        searches: solutions that follow each other, each with the spins bounded by the normal impulses of the one before.
            What shows an instant, as frame 0 does, is solved once in every solver: rounds and searches are `passes` there.
    """

    _data_oriented = True

    def __init__(
        self,
        phases: list[Constraints],
        model: Model,
        tables: Tables,
        arena: Arena,
        system: System,
        n_motions: int,
        forces: Forces,
        options,
        touches: bool,
        turns: bool,
        is_large: bool,
    ):
        self.is_bounded = any(not smooth_laws(phase, phases[0].laws).all() for phase in tables.phases)
        lag = None if tables.is_natural and not self.is_bounded else 0.5
        self.contacts = Contacts(model, tables, arena, options.contact, lag, forces) if touches else None
        capacity = self.contacts.capacity if touches else 0
        rows, drives = plan_rows(phases, n_motions, is_large)
        if touches:
            self.contacts.resists_flight = is_large and self.contacts.has_bounce and bool((rows[:, 0] == LINEAR).any())
        self.n_plain, n, plain = len(rows), system.n_dofs, arena.records(len(rows))
        self.kind, self.item, self.has_drive = plain.ints(rows[:, 0]), plain.ints(rows[:, 1]), arena.ints(drives)
        firm = np.flatnonzero(holding_rows(phases[0], model))
        self.n_firm, self.firm_row = len(firm), arena.ints(firm)
        self.has_spins = touches and self.contacts.has_spin
        is_law = np.isin(np.arange(phases[0].rows.n), phases[0].laws.row)
        self.has_hard = bool((~is_law).any())
        self.n_shared = 0 if model.joints.is_tree.all() else int((~is_law).sum())
        limits = LIMITS[arena.device.precision]
        self.tolerance = max(options.contact.tolerance, limits.least)
        self.finest_of_rows = limits.least_of_rows if self.has_hard else 0.0
        tolerance = max(self.tolerance, self.finest_of_rows)
        limits = replace(limits, tolerance=tolerance, exact=_LOOSE * tolerance)
        pattern = pattern_of(rows, phases[0].laws, system, model, tables) if is_large else None
        self.problem = Problem(arena, n, self.n_plain, capacity, limits=limits, pattern=pattern, has_spins=self.has_spins)
        self.mass_place = arena.ints(places_of_masses(system, is_large))
        self.enough = tolerance if self.has_hard else limits.exact
        self.passes = max(options.contact.passes, options.max_iterations if turns else 0)
        self.rounds = self.passes if tables.is_natural else 1
        self.can_settle = float(touches and arena.device.precision == "float64" and not tables.is_natural)
        self.searches = self.passes if tables.is_natural and (self.has_spins or system.laws.has_shared_limit) else 1
        can_sleep = touches and sleeps(options)
        self.sleep = Sleep(tables, arena, options.contact, self.contacts.collider.asleep) if can_sleep else None
        self.start = self.problem.velocities.array()
        self.kept, self.awake = self.problem.rows.items.array(), plain.array()
        self.load, self.stiff = arena.array(n if turns else 0), arena.array(tables.n_links if turns else 0, Mat3)
        self.stiffness = arena.array(DOFS * DOFS * tables.n_links if turns else 0)
        self.push, self.gain = system.laws.items.array(), system.laws.items.array()
        self.iterations, self.residual, self.unmet, self.first, self.earlier_residual, self.finest = ones(arena, 6)
        self.awakened, self.spins, self.searching, self.lingers = ones(arena, 4)
        self.missed, self.hard, self.unsettled = arena.records(tables.n_links if is_large else 1).arrays(3)
        bodies = bodies_of_links(tables) if is_large else np.zeros(0, int)
        self.body, self.link = arena.ints(bodies), arena.ints(np.argsort(bodies))
        if self.problem.large:
            worst = [self.iterations, self.residual, self.unmet, self.searching]
            carried = [self.first, self.earlier_residual, self.finest, self.awakened, self.lingers]
            self.problem.large.islands.carry([*carried, *worst], worst)

    def clear(self):
        """Forget what earlier steps left."""
        if self.contacts:
            self.contacts.clear()
        if self.sleep:
            self.sleep.clear()
        of_bodies = self.missed, self.hard, self.unsettled
        for array in (self.kept, self.problem.rows.impulse, self.iterations, self.residual, *of_bodies):
            array.write(np.zeros((1, array.n_items, 1)))


@ti.func
def find_finest(c: ti.template(), w: ti.i32):
    """[m/s], how finely velocities can be found: the tolerance, or what the fastest of them rounds by.

    Reads: c.state.{qd, origin, o}
    """
    fastest = c.tables.arena.zero()
    y = c.bound.system
    p = c.bound.impulses.problem
    for k in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES, y.n_dofs)):
        n = mirrored(y, member(p, w, ITS_VELOCITIES, k))
        fastest = ti.max(fastest, ti.abs(c.state.qd.load(w, c.tables.tree_dof.at(n))))
    return local(ti.max(fastest * c.bound.impulses.problem.limits.rounding, _tolerance(c, w)))


def _tolerance(c, w):
    """[m/s], that of the scene, or what can be met (inside kernels)."""
    m = c.bound.impulses
    return _tolerance_of_rows(c, w) if m.finest_of_rows > 0.0 else number(m, "tolerance")


@ti.func
def _tolerance_of_rows(c: ti.template(), w: ti.i32):
    """[m/s], what rigid rows can be held to: in a step they see what places round by.

    Reads: c.state.{origin, o}
    """
    m = c.bound.impulses
    far = c.tables.arena.zero()
    p = m.problem
    for n in range(begin_of(p, w, ITS_BODIES), end_of(p, w, ITS_BODIES, c.tables.n_links)):
        i = _link_of(c, member(p, w, ITS_BODIES, n))
        place = c.state.origin.load(w, c.tables.root.at(i)) + c.state.o.load(w, i)
        for x in ti.static(place.parts):
            far = ti.max(far, ti.abs(x))
    rounds = far * (BLURRED * m.problem.limits.rounding) / c.constants.load(w, H)
    return ti.max(ti.min(rounds, m.finest_of_rows), m.tolerance)


def _link_of(c, body):
    """The link of a body of a large world (inside kernels)."""
    return c.bound.impulses.link.at(body) if c.bound.impulses.problem.is_large else body


def bodies_of_links(tables: Tables) -> np.ndarray:
    """The body of the problem that each link of a large world is, (links,)."""
    last = tables.unknown_of_dof[tables.model.links.qd_start]
    return (tables.n_tree_dofs - 1 - last) // DOFS


def plan_rows(phases: list[Constraints], n_motions: int, is_large: bool) -> tuple[np.ndarray, np.ndarray]:
    """Kinds and items of the rows, (rows, 2), and which laws have a row for their drive, (K,)."""
    laws, n_rows = phases[0].laws, phases[0].rows.n
    rows = [(HARD, r) for r in range(n_rows) if r not in set(laws.row.tolist())]
    rows += [(MOTION, m) for m in range(n_motions)]

    def ever(test) -> np.ndarray:
        return np.any([np.any(test(one.laws), axis=0) for one in phases], axis=0)

    limited = ever(lambda law: np.isfinite(law.effort_limit)) if laws.n else np.zeros(0, bool)
    if laws.n:
        wanted = {
            DRIVE: limited,
            FRICTION: ever(lambda law: (law.friction > 0) | law.friction_is_driven),
            LOWER: ever(lambda law: np.isfinite(law.rate_lower) | np.isfinite(law.lower)),
            UPPER: ever(lambda law: np.isfinite(law.rate_upper) | np.isfinite(law.upper)),
        }
        rows += [(kind, k) for kind, mask in wanted.items() for k in np.flatnonzero(mask).tolist()]
        rows += [(LINEAR, k) for k in np.flatnonzero(laws.row >= 0).tolist() if is_large]
    return np.array(rows, int).reshape(-1, 2), limited


@in_parts
@ti.func
def move_by_impulses(c: ti.template(), w: ti.i32):
    """q+ = q (+) h v; the velocities stay those of the start until `finish_impulses`.

    Reads:  c.bound.{move, q_start}
    Writes: c.state.q
    """
    retract(c.tables, c.bound.q_start, c.state.q, c.bound.move, w, c.constants.load(w, H))


def needs_end(c, w):
    """Mask of the worlds in which a contact or a rigid row of this step asks for its end (inside kernels)."""
    if not c.touches or c.bound.impulses.has_hard or c.bound.system.laws.has_shared_limit:
        return c.tables.arena.zero() == 0.0
    return c.bound.impulses.contacts.collider.contacts.count.load(w, 0) > 0.0
