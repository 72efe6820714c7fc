"""The time of an evaluation, and motions that are prescribed there."""

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.notes import Ages
from simcli.kernels.forces.signals import drive
from simcli.kernels.language import ti
from simcli.model.signals.inputs import depends_on_time
from simcli.model.tables.model import Model
from simcli.solvers.base.integrators import H

# Part of a step by which a jump is taken to lie inside the step rather than on its edge: times of steps are rounded.
# Events use the same one (Exact meaning 9 of the scene format); in float32 it must outweigh the rounding of the time.
LEAN = {"float64": 1e-6, "float32": 1e-2}
_WORD = 1 << 30  # steps before a frame are kept as multiples of it and the rest, because registers hold 32 bits


@ti.func
def time_of(c: ti.template(), w: ti.i32):
    """[s], the time of an evaluation of a program, and from which side a jump there is seen: 1 after it, -1 before it.

    A first-order step takes drives, forces and motions at its end, because its drives and motions are implicit; the
    others at their nodes. What jumps at the end of a step belongs to the next one. The number of the step is whole, so
    that the time does not depend on how a run is cut into calls.

    Reads: c.{constants, nodes, now}
    """
    real = c.tables.arena.device.real
    h = c.constants.load(w, H)
    node = c.nodes.load(w, c.now.load(w, "node"))
    side = _side_of(c, node)
    if c.now.load(w, "instant") != 0:
        node = ti.cast(0.0, real)
        side = ti.cast(1 - 2 * ti.min(c.now.load(w, "steps"), 1), real)
    whole = ti.cast(node, ti.i32)  # of a node at the end of the step
    step = steps_before(c, w) + c.now.load(w, "step") + whole
    return h * (c.ages.pack(w, step) + (node - ti.cast(whole, real))), side


def _side_of(c, node):
    """From which a jump at a node is seen; what jumps in the middle of a step of zhong06 does so at its end."""
    return ti.cast(-1.0, c.tables.arena.device.real) if c.integrator == "zhong06" else 1.0 - 2.0 * node


def ages_of(model: Model, plan, arena: Arena) -> Ages:
    """The ages of worlds, where a run lets them begin one by one and something depends on them.

    Args:
        model: host tables.
        plan: of the run.
        arena: receives them.
    """
    return Ages(arena, plan.by_age and (plan.measures.n > 0 or depends_on_time(model)))


def begin_program(c, w, first, steps) -> None:
    """Numbers that the program of a frame begins with (inside kernels).

    Args:
        first: steps before the frame.
        steps: of the frame.
    """
    c.now.store(w, "first_high", ti.cast(first // _WORD, ti.i32))
    c.now.store(w, "first_low", ti.cast(first % _WORD, ti.i32))
    c.now.store(w, "steps", steps)
    c.now.store(w, "step", 0)
    for name in c.now.zeros:
        c.now.store(w, name, 0)


def steps_before(c, w):
    """Steps before the frame (inside kernels)."""
    return ti.cast(c.now.load(w, "first_high"), ti.i64) * _WORD + c.now.load(w, "first_low")


@ti.func
def prescribe_start(c: ti.template(), w: ti.i32):
    """Prescribed motions where a step begins whose forces are those of its middle, after what jumps there.

    Reads:  c.prescribed
    Writes: the driven arrays
    """
    t, _side = time_of(c, w)
    h = c.constants.load(w, H)
    drive(c.prescribed, w, t - h * 0.5, h * LEAN[c.precision])


@ti.func
def prescribe_end(c: ti.template(), w: ti.i32):
    """Prescribed motions where such a step ends, before what jumps there; else as `prescribe_start`."""
    t, _side = time_of(c, w)
    h = c.constants.load(w, H)
    drive(c.prescribed, w, t + h * 0.5, -h * LEAN[c.precision])


@ti.func
def prescribe_frame(c: ti.template(), w: ti.i32):
    """Prescribed motions at the time of a frame, before what jumps there, at the start after it; else `prescribe_start`."""
    t, side = time_of(c, w)
    drive(c.prescribed, w, t, side * c.constants.load(w, H) * LEAN[c.precision])
