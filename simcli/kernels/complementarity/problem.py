"""A complementarity problem: what is given, and what is found.

    M (v - vf) = J^T x            x impulses, v the velocity at the end of the step
    w = J v + b + C x             per row
    bounded row: x = clip(x - w/d, lower, upper);  infinite bounds: w = 0
    contact:     0 <= x_n _|_ w_n >= 0,  |x_t| <= mu x_n,  x_t = -mu x_n w_t/|w_t| where w_t is not 0
    its spins:   |x_n| <= torsion, |x_t| <= rolling, at the bound against w_n or w_t where that is not 0

Contacts also have a proximal compliance kappa d, which pulls to impulses that are given (`centre`): it shares the load
where it is redundant, and means nothing once an impulse stands where it is pulled to.

Notation: d = J M^-1 J^T of a row, of a contact and its spins d_N normal, d_T mean of the tangents, d mean of the three.

Source: Acary, Bremond and Huber (2018), the problem with associated friction and its De Saxce term. Deviation: rows of a
contact may differ in compliance.
"""

from copy import copy
from dataclasses import dataclass

from simcli.kernels.complementarity.islands import ITS_CONTACTS, ITS_ROWS
from simcli.kernels.complementarity.large import DOFS, Large, SystemPattern
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.notes import Registers
from simcli.kernels.device.sparse_factors import packed_index
from simcli.kernels.language.values import Mat3, Vec3

NEWTON, CONE, ADMM = 0, 1, 2  # kinds of stages: Alart-Curnier, Fischer-Burmeister on the cone, ADMM
# Kind, most iterations, iterations without progress after which it gives up.
SCHEDULE = (
    (NEWTON, 8, 3),
    (ADMM, 100, 99),
    (NEWTON, 12, 99),
    (ADMM, 300, 99),
    (CONE, 20, 99),
    (ADMM, 1000, 99),
    (CONE, 20, 99),
)


@dataclass(frozen=True)
class _Limits:
    """Numbers of a precision.

    Attributes:
        tolerance: [m/s], of the natural map of a proximal problem.
        exact: [m/s], of the natural map without the proximal term, at which no further round is wanted.
        least: [m/s], tolerance that can be met.  least_of_rows: that of rigid rows wherever they are: positions round.
        rounding: distance of neighbouring numbers, relative to them.
        kappa: proximal compliance that a step begins with, relative to d.  calm_kappa: likewise, a calm step.
        slack: added to C in the Newton matrix alone, relative to d. A Newton step leaves this share of what it is to take
            away, and what its impulses round by, the rounding over slack or kappa: in float32 less of both is slower.
        floor: [m/s], below which the cone's functions are smooth.
        tiny: a square that is as good as zero and can still be divided by.
    """

    tolerance: float
    exact: float
    least: float
    least_of_rows: float
    rounding: float
    kappa: float
    calm_kappa: float
    slack: float
    floor: float
    tiny: float

    @property
    def sight(self) -> float:
        """What a row sees of a velocity is rounding below this share of its terms."""
        return 32.0 * self.rounding


LIMITS = {
    "float64": _Limits(
        tolerance=1e-8,
        exact=1e-6,
        least=0.0,
        least_of_rows=0.0,
        rounding=2.2e-16,
        kappa=1e-4,
        calm_kappa=1e-5,
        slack=1e-8,
        floor=1e-13,
        tiny=1e-300,
    ),
    "float32": _Limits(
        tolerance=1e-4,
        exact=1e-3,
        least=1e-5,
        least_of_rows=1e-4,
        rounding=1.2e-7,
        kappa=3e-4,
        calm_kappa=3e-4,
        slack=1e-4,
        floor=1e-6,
        tiny=1e-36,
    ),
}
SOLVED, PROXIMAL, UNSOLVED, BROKEN = 0, 1, 2, 3  # statuses


class Side:
    """Memory of the rows, of the contacts, or of their spins.

    Args:
        arena: where.
        n: velocities; 0 where the world is large, which keeps J elsewhere.
        count: capacity.
        kind: None for rows, Vec3 (normal, two tangents) for contacts and spins.
        gain: None for rows, Mat3 for contacts and spins.
        contacts: of spins, which see the columns that their contacts see.

    Attributes:
        on: (count) 1 or 0.  jacobian: (count * n) item r n + a, n padded.  bias: b [m/s].  compliance: C [m/s per N s].
        impulse: [N s], start on entry, solution on exit.
        metric: d of a row; d_N, d_T, d of a contact; d_N, d_T, d_T of spins.
        columns: (count * n) those of J that are not zero in all lanes, in order, of contacts threes, which are given:
            what stands in other columns means nothing.  length: (count) how many.
        soft, shift: C and b with the proximal term.
        given: what is zero in rows that are off; those that are off in all lanes are passed over.
        speed: w.  best, kept: iterates.  gain, scale: G and B^-1 of the condensed step.
        counted: the G that is in the matrix of Newton steps.
        step, rate: a direction of x and of w.  part: see admm.py.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, n: int, count: int, kind=None, gain=None, contacts: "Side | None" = None):
        self.n, self.count = n, count
        items = self.items = arena.records(count)
        self.gain, self.scale, self.counted = items.array(gain), items.array(gain), items.array(gain).scratch()
        self.on = items.array()
        if contacts:
            self.columns, self.length = contacts.columns, contacts.length
        else:
            self.columns, self.length = arena.array(count * n).of_block(), items.array().of_block()
        self.jacobian = arena.array(count * n, kind)
        (
            self.bias,
            self.compliance,
            self.impulse,
            self.metric,
            self.soft,
            self.shift,
            self.speed,
            self.best,
            self.kept,
            self.part,
            self.step,
            self.rate,
        ) = items.arrays(12, kind)
        self.given = [self.bias, self.compliance, self.impulse, self.speed, self.step]


class Problem:
    """Memory of a problem of every world.

    Args:
        arena: not built yet.
        n: velocities; the memory has room for `n` of them, the next multiple of three, and those beyond stand still.
        n_rows, n_contacts: capacities; any may be off in any world.
        schedule: stages.
        limits: of the natural map, else of the device's precision.
        pattern: of the rows of a large world, which keeps nothing dense (large.py); `jacobian` is empty then.
        has_spins: whether contacts have rolling or torsional friction.

    Attributes, given:
        mass: (n (n + 1)/2) lower triangle of M, row by row.  free: (n) vf without `push`.
        rows, contacts, spins: see `Side`; the spins of a contact are on only where it is.
        stated: (1) contacts that may be on; `on` of those beyond is not looked at.
        push: (n) [N s], impulses that are given: `prepare_problem` adds M^-1 push to vf.
        lower, upper: (rows) [N s]; beyond 1e30 there is none.
        friction: (contacts) mu. A friction that differs between the tangents is their rows times mu_i, and mu = 1.
        torsion, rolling: (contacts) [N m s], not negative: bounds of their spins.
        kappa: (1) proximal compliance relative to d, 0 for none; `limits.kappa` is good.
        goal: (1) [m/s], natural map at which a proximal problem is solved; `limits.tolerance` is good.
        share: (1) of `first_residual`, that is as good as the goal, `limits.exact` at most.
        enough: (1) [m/s], that of the impulses that are given at which none others are wanted.
        settles, settled: (1) [m/s], impulses that are given and off by less than `settles` are improved, too, unless by less
            than `settled`. If that is less than the goal, a search takes one Newton step at least.
        centre: (contacts) [N s], what it pulls to: the impulses of the step before. Moved to those found.

    Attributes, found:
        rows.impulse, contacts.impulse: [N s].  velocity: (n) v.  residual: (1) [m/s], natural map without the proximal term.
        first_residual: (1) [m/s], natural map of the impulses that the search began with.
        proximal: (1) [m/s], with it, of the round that was last; `progress.kappa` is what the next one would have.
        iterations, admm_iterations: (1) Newton steps, of ADMM.  status: (1) SOLVED, PROXIMAL (the proximal problem alone),
        UNSOLVED, BROKEN (no number; the free velocity).

    Attributes, on the way:
        marked: (threes) of the contact that is stated, those that it sees.
        triples: what has three numbers each: contacts, and spins if there are any.  sides: rows and these, and what members
            of islands they are.
        is_parted: whether stages go over members of islands.  at_once: the same problem, all of which they go over.
        live: how many rows, and contacts, to look at.  known: 1 where `trial` is the velocity of the present impulses.
        matrix: (2 threes^2) what is factorized, and that of Newton steps.  rooted: (threes) see `condensed.condense_triple`.
        has_admm_factors: 1 if the factors of a block are of ADMM: `renew` alone knows, which makes those of all its worlds.
        now: number of the attempt, of the stage, its kind; iterations that it has left; rounds that a search may have.
    """

    _data_oriented = True

    def __init__(
        self,
        arena: Arena,
        n: int,
        n_rows: int,
        n_contacts: int,
        schedule=SCHEDULE,
        limits: _Limits | None = None,
        pattern: SystemPattern | None = None,
        has_spins: bool = False,
    ):
        self.arena, self.n_given, self.n_threes = arena, n, -(-n // 3)
        n = self.n = 3 * self.n_threes
        self.is_large = pattern is not None
        dense = 0 if self.is_large else n
        velocities, threes = arena.records(n), arena.records(dense // 3)
        self.velocities = velocities
        self.rows, self.contacts = Side(arena, dense, n_rows), Side(arena, dense, n_contacts, Vec3, Mat3)
        self.spins = Side(arena, dense, n_contacts, Vec3, Mat3, self.contacts) if has_spins else None
        self.triples = [self.contacts, self.spins] if has_spins else [self.contacts]
        self.sides = [(self.rows, ITS_ROWS), *((triple, ITS_CONTACTS) for triple in self.triples)]
        self.lower, self.upper, self.friction = self.rows.items.array(), self.rows.items.array(), self.contacts.items.array()
        self.rows.given += [self.lower, self.upper]
        self.centre = self.contacts.items.array(Vec3)
        self.contacts.given += [self.friction, self.centre]
        if has_spins:
            self.torsion, self.rolling = self.spins.items.arrays(2)
            self.spins.given += [self.torsion, self.rolling]
        self.n_mass = pattern.n_bodies * packed_index(DOFS, 0) if pattern else packed_index(n, 0)
        m = dense // 3
        self.mass, self.root = arena.array(self.n_mass), arena.array(packed_index(m, 0), Mat3).scratch()
        self.root_column, self.root_length = arena.array(m * m).of_block(), threes.array().of_block()
        self.matrix, self.pivot = arena.array(2 * m * m, Mat3).scratch(), threes.array(Mat3).scratch()
        self.marked = threes.array().of_block()
        self.rooted = threes.array(Mat3).scratch()
        self.column = arena.array(m * m).of_block()
        self.n_left, self.n_right = threes.array().of_block(), threes.array().of_block()
        self.free, self.push, self.velocity, self.trial, self.best_velocity = velocities.arrays(5)
        self.force, self.momentum = velocities.array().scratch(), velocities.array().scratch()
        self.reach, self.reached = threes.array(Mat3).scratch(), threes.array().of_block()
        self.live, self.stated = arena.array(2).of_block(), arena.array(1).of_block()
        self.now = Registers(arena, "attempt", "stage", "kind", "iterations", own=True)
        if arena.crew:
            arena.crew.taken_over.append(self.now.notes)
        self.known, self.has_admm_factors = arena.own_single.array(), arena.own_single.array().of_block()
        self.large = Large(arena, pattern, self.rows, self.contacts, has_spins) if pattern else None
        self.limits = limits or LIMITS[arena.device.precision]
        self.n_stages = len(schedule)
        stages = arena.records(self.n_stages)
        self.kind, self.most, self.patience = (stages.ints([stage[k] for stage in schedule]) for k in range(3))
        (
            self.kappa,
            self.goal,
            self.enough,
            self.residual,
            self.first_residual,
            self.proximal,
            self.iterations,
            self.admm_iterations,
            self.status,
            self.share,
            self.rounds,
            self.settles,
            self.settled,
        ) = ones(arena, 13)
        g = self.progress = Progress(arena)
        if self.large:
            worst = [self.residual, self.proximal, self.iterations, self.admm_iterations, self.status]
            given = [self.kappa, self.goal, self.enough, self.rounds, self.settles, self.settled, self.known]
            given += [self.has_admm_factors, self.first_residual]
            begun = [g.kappa, g.stale, g.fresh, g.rows, g.open, g.thorough, g.rounds_over, g.proximal, g.residual]
            self.large.islands.carry([*given, *begun, *worst], worst)
        self.is_parted, self.at_once = self.is_large, self
        if self.is_large:
            self.at_once = copy(self)
            self.at_once.is_parted = False


class Progress:
    """Numbers of each world on the way, (1) each.

    Attributes:
        busy: 1 in the stage that runs.  trying: 1 in the search of a step's length.
        length, least: of the best one tried, and the merit there.  part: of the step, to be tried.
        idle: iterations without progress.  sigma: [m/s], smoothing.  merit: [m^2/s^2].
        rho: weight of ADMM.  changed: 1 if rho has.
        kappa: of the round.  thorough: 1 for all stages, 0 for the first alone.  proximal, residual: of the best iterate.
        open: 1 until the world is through.  rounds_over: how many.  rows: how many are on, three for a contact.
        stale: 1 if the next Newton step wants a new matrix.  fresh: 1 if nothing of the present problem is in it.
    """

    _data_oriented = True

    def __init__(self, arena: Arena):
        (
            self.busy,
            self.idle,
            self.sigma,
            self.merit,
            self.rho,
            self.changed,
            self.kappa,
            self.thorough,
            self.proximal,
            self.residual,
            self.open,
            self.rounds_over,
            self.rows,
            self.stale,
            self.trying,
            self.length,
            self.least,
            self.part,
            self.fresh,
        ) = ones(arena, 19)


def ones(arena: Arena, count: int) -> list:
    """Slots of one number each; each thread of a world has its own."""
    return [arena.own_single.array() for _ in range(count)]
