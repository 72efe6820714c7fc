"""Steps under constraints: loops, gears, laws and prescribed motions.

An evaluation builds the constrained system at its poses and solves it for accelerations and multipliers, finding the active
set of the laws again until it stays. A correction returns to the rows: positions to zero residuals, never by a force that
would feed them back slowly. The lists of stages are in tree/programs.py and natural/programs.py.

    semi_implicit   rows hold at the positions that the step reaches, along their directions where it starts (as SHAKE
                    does), so the velocities stay those of the positions and no energy is lost by projection
    rk4, implicit   rows hold in accelerations at each stage; then positions and velocities are projected, in the metric of
                    the mass matrix, with the factor of the last evaluation. A world in which a law stops a coordinate takes
                    the step again, as one of first order (repeat.py)
"""

from typing import NamedTuple

import numpy as np

from simcli.kernels.articulation.retraction import retract
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.language import ti
from simcli.kernels.language.values import Mat3
from simcli.kernels.rows.constrained_system import System, row_islands
from simcli.model.constraints.constraint_tables import Constraints, Form
from simcli.model.tables.model import Model
from simcli.solvers.base.integrators import ALL_STAGES, H, add_accelerations, book_efforts
from simcli.solvers.rows.islands import Islands
from simcli.solvers.rows.motions import follow_motions
from simcli.solvers.rows.repeat import set_locked_speeds

JUMP = {"float64": 1e-9, "float32": 1e-4}  # [m or rad] that a change of speed moves in a step, below which it is smooth
SAME_RATE = {"float64": 1e-12, "float32": 1e-5}  # relative difference of two rates of a motion that is rounding
DIAGNOSTICS = ("iterations", "position_violation", "velocity_violation")
CONTACT_DIAGNOSTICS = ("residual", "penetration", "contacts")
# Solutions for the velocities: those after the first take the softness of the rows away, more what weights have too much.
PROJECTIONS, MANY_PROJECTIONS = 3, 5
# Solutions that refine what bodies show that are flat or thin: of a frame, of a projection. Each leaves 3 r^2, or r, of what
# the one before did, with r the part of the inertia of a motion that is excess: 1e-2 for a plate, up to 2e-2 for a point on
# an arm.
REFINEMENTS = 4
# Active sets in one step: two or three suffice where nothing chatters; a walk (active_set.py) ends one piece at a time.
MAX_CHOICES, CHOICES_PER_LAW = 20, 4
# Residuals [m or 1] that cannot be told from none.
_TIGHT = {"float64": 1e-15, "float32": 2e-6}
# Relative difference of two solutions for one velocity that is rounding: pieces that differ by less are as good.
_ROUNDING = {"float64": 1e-13, "float32": 1e-5}


def yields(model: Model) -> bool:
    """True if a joint or a body has compliance."""
    return bool(np.any(model.joints.compliance) or np.any(model.bodies.compliance))


class Limits(NamedTuple):
    """Where corrections of positions end.

    Attributes:
        tolerance: [m, 1], residual that counts as none.
        corrections: in one step, at most.
    """

    tolerance: float = 1e-12
    corrections: int = 8

    @staticmethod
    def of(options) -> "Limits":
        """Those of a solver's options, where it has them."""
        return Limits(options.tolerance, options.max_iterations) if hasattr(options, "tolerance") else Limits()


class Constrained:
    """Memory of constrained steps beyond that of the system.

    Args:
        constraints, model, tables, arena: see `System`.
        n_locks: dofs that motions lock.
        integrator: its name.
        limits: where corrections end.
        impulses: makes `Impulses` of the system and the number of prescribed dofs, where shapes can touch.

    Attributes:
        start: (rows) coordinate of each row at the start of a step.
        base: (n dofs) efforts without rows and laws, F.
        worst: largest residual of hard rows before the last correction.
        turning: rows whose bias is the square of an angular velocity, over turn_weight.
        turn: (h omega)^2 of what turns fastest in the present step.
        fastest: (islands of rows) [1/s^2], omega^2 of what turns fastest in each island, in natural coordinates.
            island_of_row, island_of_turning: which one, of rows, and of `turning`.
        turned: (rows of prescribed motions) rotation of child against parent at the start of a step, of balls.
        tries: active sets of the last evaluation.  choosing: 1 where a piece of the set is another than before.
        repeats: whether steps may be taken again.  notes_jumps: whether laws or prescribed motions may want that.
        watches_motions: whether prescribed motions may.  even_rate: (locks, then rows of motions) their rates where the step
            begins.
        islands: see `Islands`.  spans: of those that differ in c.b and c.g, else of the world.
        velocity_jump: 1 if this one is.  jumps: (islands) 1 for those whose step is, where there are several.
        opens: 1 if the last one was, and at the start where the account opens late.
        opens_late: whether the first node opens the account: implicit steps know nothing of the contacts that frame 0 shows.
        switches: whether steps of zhong06 may be of first order, those with velocity_jump = 1: something stops or touches in
            them.
        held_power: [W] of locked dofs before the corrections of a step of impulses.
        parts: 1 where a step is taken again because nothing touches in it.  parts_of: (islands) likewise.
        stored: [J] of gravity half a step after its start, along the velocities there (output/energy_balance.py).
        work_kept: [J] done before this step.  first_power: [W] of motions at the first node of an implicit step.
        impulse: (n dofs) [N s] that massless vectors got at the end of the last step.
        pace: (laws) rate in the middle of the last step, of coordinates with armature.  owes: 1 until the velocities at its
            end have got what armature takes of them (natural/projection.py).
        first: (unknowns) the first solution of a correction.
        excess: (2 n dofs) what the weights have too much, see natural/saddle.py.  carried: (n dofs) with what a try begins.
        refinements: tries that refine the accelerations of a frame.
        move: (NV) displacement of a correction.
        projected: (rows, n dofs) forces of the step that ends at a frame, of one of its ends, in natural coordinates: of
            rows, and of what holds kinematic bodies. In steps of several nodes: forces of rows and accelerations of the
            corrections of velocities.  instant: likewise, of the instant, while both are shown together.
        answer: (n dofs, rows, n dofs) accelerations, forces and efforts of a step of natural coordinates, for the frame
            where it ends.  begun: (n dofs) velocities where it began.  of_laws: (3 K) effort, lock and rate of laws in it.
            jumped: 1 if it was of impulses, and 1 if a law held a coordinate in it or in the one before.
        q_end, qd_end: where the nodes of a step lead, while it is taken again.
        push: (NV) external forces along the coordinates, in the middle of the present step of zhong06.
    """

    _data_oriented = True

    def __init__(
        self,
        constraints: Constraints,
        model: Model,
        tables: Tables,
        arena: Arena,
        n_locks: int,
        integrator: str,
        limits: Limits,
        impulses=None,
    ):
        stages = ALL_STAGES[integrator]
        self.arena = arena
        stiff = any(map(yields, tables.phases))
        stiff |= bool(((constraints.rows.spring >= 0) | (constraints.rows.drag >= 0)).any())
        idles = bool(tables.ever(lambda m: ~m.joints.enabled).any())
        idles |= bool((constraints.rows.enabled == 0).any())
        prescribes = (constraints.rows.is_hard & (constraints.rows.dof >= 0)).sum()
        special = constraints.laws.n or stiff or n_locks or prescribes
        self.is_plain = not special  # one matrix serves velocities and positions
        self.system = System(constraints, model, tables, arena, idles or not self.is_plain)
        self.jump, self.same_rate = JUMP[arena.device.precision], SAME_RATE[arena.device.precision]
        self.tight, self.max_corrections = max(limits.tolerance, _TIGHT[arena.device.precision]), limits.corrections
        self.rounding = _ROUNDING[arena.device.precision]
        turning, weight, radial = turning_rows(constraints)
        self.turning, self.n_turning, self.turn_weight = arena.ints(turning), len(turning), tables.column(weight)
        self.radial = arena.ints(radial)
        islands = row_islands(model, tables, self.system) if tables.is_natural else np.zeros(self.system.n_rows, int)
        self.n_row_islands, self.island_of_row = int(islands.max(initial=0)) + 1, arena.ints(islands)
        self.island_of_turning, self.fastest = arena.ints(islands[turning]), arena.array(self.n_row_islands)
        is_touching = tables.is_natural and impulses is not None
        n_motions = n_locks + self.system.n_prescribed_rows
        self.watches_motions = integrator in ("rk4", "implicit") and n_motions > 0
        self.notes_jumps = (stages > 1 or integrator == "zhong06") and constraints.laws.n > 0 and not is_touching
        self.notes_jumps |= self.watches_motions
        self.repeats = self.notes_jumps or (stages > 1 and impulses is not None and not is_touching)
        self.opens_late = self.repeats and integrator == "implicit"
        self.switches = tables.is_natural and (self.repeats or is_touching)
        self.impulses = impulses(self.system, n_locks) if impulses else None
        self.lay_islands(constraints, model, tables, arena, stages)
        self.parts, self.held_power, self.stored = arena.single.arrays(3)
        self.projections = MANY_PROJECTIONS if tables.is_natural and tables.has_excess else PROJECTIONS
        self.max_choices = MAX_CHOICES + CHOICES_PER_LAW * constraints.laws.n
        n = tables.n_tree_dofs
        self.even_rate = arena.array(n_motions if self.watches_motions else 0)
        self.turned = arena.array(self.system.n_prescribed_rows if self.system.prescribes_balls else 0, Mat3)
        self.start, self.base, self.worst = self.system.rows.items.array(), tables.tree_dofs.array(), arena.single.array()
        has_contacts = self.impulses is not None and self.impulses.contacts is not None
        n_diagnostics = len(DIAGNOSTICS) + has_contacts * len(CONTACT_DIAGNOSTICS)
        self.tries, self.diag = arena.single.array(), arena.array(n_diagnostics)
        self.choosing = arena.single.array()
        if impulses and not tables.is_natural:
            self.max_corrections = self.impulses.passes
        (self.velocity_jump, self.opens, self.first_power), self.work_kept = arena.single.arrays(3), arena.array(2)
        self.impulse, self.turn = tables.tree_dofs.array(), arena.single.array()
        (self.pace, self.prescribed_gain), self.owes = self.system.laws.items.arrays(2), arena.array(self.islands.n)
        self.carried, self.refinements = tables.tree_dofs.array(), REFINEMENTS
        self.excess, self.first = arena.array(2 * n), self.system.unknowns.array()
        self.lay_shown(tables, arena, stages > 1, self.switches and not is_touching)
        self.push = tables.dofs.array() if integrator == "zhong06" else arena.array(0)
        self.move, self.q_start, self.q_kept = tables.dofs.array(), tables.coordinates.array(), tables.coordinates.array()

    def lay_shown(self, tables: Tables, arena: Arena, has_nodes: bool, looks_back: bool):
        """What a frame shows of the step that ends at it."""
        n, n_rows = tables.n_tree_dofs, self.system.n_rows
        keeps = self.switches or (has_nodes and (self.repeats or self.impulses is not None))
        self.projected = arena.array((n_rows + n) * keeps)
        self.instant = arena.array((n_rows + n) * (keeps and has_nodes))
        self.answer = arena.array((2 * n + n_rows) * self.switches)
        self.begun = arena.array(n * looks_back)
        self.of_laws = arena.array(3 * self.system.laws.n * looks_back)
        self.jumped = arena.array(2 * self.islands.n * looks_back)

    def lay_islands(self, constraints: Constraints, model: Model, tables: Tables, arena: Arena, stages: int):
        """What islands keep, where there are several."""
        self.islands = Islands(constraints, model, tables, arena, self.system, self.switches or self.repeats)
        n, returns = self.islands.n, self.islands.are_many and stages > 1
        self.spans = arena.records(n) if self.islands.have_spans else arena.single
        self.jumps, self.parts_of = arena.records(n * self.islands.are_many).arrays(2)
        self.q_end, self.qd_end = arena.array(tables.n_q * returns), arena.array(tables.n_qd * returns)
        if self.islands.have_spans and self.impulses:
            self.impulses.contacts.lag_by_islands(self.islands, arena)

    def clear(self):
        """Forget what earlier steps left."""
        self.system.clear()
        if self.impulses:
            self.impulses.clear()
        kept = (
            self.start,
            self.base,
            self.worst,
            self.excess,
            self.impulse,
            self.move,
            self.tries,
            self.diag,
            self.velocity_jump,
        )
        rotors = (self.pace, self.prescribed_gain, self.owes, self.jumps, self.parts_of)
        for array in (*kept, self.projected, self.carried, self.opens, self.parts, self.turn, *rotors):
            array.write(np.zeros((1, array.n_items, 1)))
        if self.opens_late:
            self.opens.write(np.ones((1, 1, 1)))


@ti.func
def advance_constrained(c: ti.template(), w: ti.i32):
    """qd+ = qd + h qdd, locked dofs at their speeds; q+ = q (+) h qd+ (a first-order step).

    Reads:  c.state, c.bound
    Writes: c.state.{q, qd}, c.bound.q_start, c.forces.account.work
    """
    h = c.constants.load(w, H)
    s = c.state
    book_efforts(c, w, h, h)
    add_accelerations(c, w, h)
    set_locked_speeds(c, w)
    copy(c.bound.q_start, s.q, c.tables.n_q, w)
    retract(c.tables, c.bound.q_start, s.q, s.qd, w, h)
    follow_motions(c, w)


def turning_rows(constraints: Constraints) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows whose bias tells how fast something turns: lengths of vectors, and distances.

    Returns:
        (K,) rows, (W|1, K): omega^2 over the bias, (K,) whether the bias of a row has the square of its rate, too: twice the
        square of a' of a length a . a, of which 2 (a . a') is the rate.
    """
    rows = constraints.rows
    own = (rows.form == Form.RIGID) & (rows.vector_a == rows.vector_b)
    chosen = np.flatnonzero(own | (rows.form == Form.APART))
    length = np.where(own[chosen], 2.0, rows.constant[:, chosen])
    return chosen, 1.0 / length, own[chosen]
