"""Barrier contact of a run of affine bodies, what a call begins with, and the worlds that end.

Tables of contact from the options, and its room; see base/world_ends.py.
"""

import numpy as np

from simcli.kernels.barrier.surfaces import Barrier
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.stage_lists import when
from simcli.kernels.language import ti
from simcli.kernels.rows.quadratic import start_gradients
from simcli.model.bodies.surfaces import Surfaces, crossings, surfaces
from simcli.model.snapshot import Event, Status
from simcli.model.tables.body_tables import Contacts
from simcli.model.tables.model import Model
from simcli.solvers.base.world_ends import CROWDED, LOOP_LOST, NOT_CONVERGED, End, cause_of, code_of, judge_speed, worse_of
from simcli.solvers.output.loop_guard import is_lost

PER_FEATURE, _SPARE = 16, 256  # candidates at `capacity: auto`: an edge on a face of a box meets about 12 features there

USUAL_FORCE = 1e3  # [N], stiffness times d_hat^3 where nobody says: libuipc's at its d_hat of 0.01 m


def barrier_of(model: Model, options, dt: float, tables: Tables, arena: Arena) -> Barrier:
    """The barrier of a model with contacts.

    Args:
        model: in natural form.
        options: of the solver.
        dt: [s].
        tables, arena: of the run.
    """
    o = options.contact
    host = surfaces(model, o.segments)
    pairs = model.contacts
    near = np.where(np.isnan(pairs.d_hat), o.d_hat, pairs.d_hat)
    usual = o.stiffness or USUAL_FORCE / near**3
    stiffness = np.where(np.isnan(pairs.barrier_stiffness), usual, pairs.barrier_stiffness)
    numbers = {"near": near, "stiffness": stiffness, "give": o.creep_speed * dt}
    return Barrier(model, host, tables, arena, numbers, capacity_of(model.contacts, host))


def capacity_of(contacts: Contacts | None, host: Surfaces) -> int:
    """Most candidates of a world."""
    features = sum(map(len, (host.vertex[0], host.edge, host.face)))
    return max(_SPARE + PER_FEATURE * features, contacts.capacity)


def deviation_event(model: Model, options) -> list[Event]:
    """The event of the shape whose polyhedron lies farthest inside it, if there is one.

    Args:
        model: the tables.
        options: of the solver.
    """
    if model.contacts is None:
        return []
    deviation = surfaces(model, options.contact.segments).deviation
    worst = int(deviation.argmax())
    if not deviation[worst]:
        return []
    name, far = model.shapes.name[worst], float(deviation[worst])
    text = f"the surface of shape `{name}` lies up to {far:.3g} m inside it, with {options.contact.segments} segments"
    return [Event(0, 0.0, -1, "SC633", 0, -1, -1, far, text)]


def find_overlapping(solver, worlds: np.ndarray | None = None) -> tuple[list[Event], dict[int, Status]]:
    """The worlds whose shapes cut each other at the start: an event each, and how they end.

    Args:
        solver: a stepper of affine bodies.
        worlds: (W,) bool, those that begin; None for all.
    """
    pairs = {world: pair for world, pair in overlapping(solver, solver.model).items() if worlds is None or worlds[world]}
    return _overlap_events(solver, pairs, "at the start"), dict.fromkeys(pairs, Status.OVERLAPPING)


def end_caught(solver, model: Model) -> list[Event]:
    """End the worlds whose shapes cut each other when an event switches contact on.

    Args:
        solver: a stepper of affine bodies, in whose tables the phase has begun.
        model: of the phase.

    Returns:
        An event each.
    """
    if not (solver.core.touches and solver.core.barrier.can_rest):
        return []
    pairs = {world: pair for world, pair in overlapping(solver, model).items() if not solver.status[world]}
    solver.end(dict.fromkeys(pairs, Status.OVERLAPPING))
    return _overlap_events(solver, pairs, "when contact begins")


def overlapping(solver, model: Model) -> dict[int, tuple[int, int]]:
    """Two shapes that cut or touch each other, by world; none while contact is off.

    Args:
        solver: whose vertices are placed.
        model: of the phase at hand.
    """
    if not solver.core.touches or not model.contacts.enabled.any():
        return {}
    barrier = solver.core.barrier
    host = surfaces(model, solver.options.contact.segments)
    pairs = dict(crossings(host, model.contacts, barrier.at.read()))
    for world in np.flatnonzero(barrier.least.read()[:, 0, 0] <= 0.0).tolist():
        pairs.setdefault(world, tuple(barrier.closest.read()[world, :, 0].astype(int).tolist()))
    return pairs


def _overlap_events(solver, pairs: dict[int, tuple[int, int]], when: str) -> list[Event]:
    """The events of worlds that overlap, by the pair in each."""
    model, time = solver.model, solver.n_steps * solver.plan.dt
    events = []
    for world, pair in sorted(pairs.items()):
        a, b = (model.shapes.name[s] for s in pair)
        text = f"shapes `{a}` and `{b}` cut or touch each other {when}"
        events.append(Event(solver.n_steps, time, world, "SC631", 2, -1, -1, 0.0, text))
    return events


@ti.func
def begin_affine(c: ti.template(), w: ti.i32, _first: ti.i64):
    """What a call of the kernel begins with.

    Writes: c.potential.rows.gradient
    """
    start_gradients(c.potential.rows, w)


@ti.func
def judge_affine(c: ti.template(), w: ti.i32, count: ti.template(), alive: ti.template()):
    """Why a world should end, 0 where it is well: it did not converge, its contacts, its rates.

    Reads:  c.potential.rows.v, c.step.failed, c.constants
    """
    square = c.tables.arena.zero()
    for i in range(c.potential.n):
        rate = c.potential.rows.v.load(w, i)
        square = square + rate * rate
    code = code_of(c, w, c.tables.arena.zero())
    return judge_speed(c, w, square, code)


def affine_ends(c) -> tuple[End, ...]:
    """Reasons to end besides rates."""
    return (
        End(NOT_CONVERGED, _has_failed),
        *when(c.touches, End(CROWDED, _contacts_overflow, _note_overflow)),
        *when(c.guard.n, End(LOOP_LOST, is_lost)),
    )


def _has_failed(c, w):
    return c.step.failed.load(w, 0) > 0.0


def _note_overflow(c, w):
    return c.barrier.crowded.load(w, 0)


def _contacts_overflow(c, w):
    return _note_overflow(c, w) > 0.0


@ti.func
def find_affine_cause(c: ti.template(), w: ti.i32, code: ti.template()):
    """The dof that moves most in Newton's last direction, a NaN first; how many contacts are too many.

    Reads: c.step.move, c.barrier.crowded
    """
    zero = c.tables.arena.zero()
    worst = zero - 1.0
    cause = zero
    for i in range(c.potential.n):
        worst, cause = worse_of(c, ti.abs(c.step.move.load(w, i)), c.potential.rows.qd_at.at(i), worst, cause)
    return cause_of(c, w, code, cause)
