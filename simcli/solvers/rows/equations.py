"""The equations of a try of a constrained evaluation: those of rows, of the lines and locks of laws, and of springs.

Called by stages of trees and of natural coordinates; rows/memory.py says what `c` holds.
"""

from simcli.kernels.articulation.kinematics import vector_at
from simcli.kernels.forces.springs import drag_of_row, spring_law
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.numbers import number
from simcli.kernels.rows.active_set import draw_line
from simcli.kernels.rows.bounded_laws import FREE
from simcli.kernels.rows.coordinate_laws import foresee, foresee_again
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import add_first_node
from simcli.solvers.rows.islands import island_of, span_at
from simcli.solvers.rows.motions import lock_motions
from simcli.solvers.rows.repeat import foreseen, meets_end


@ti.func
def state_equations(
    c: ti.template(), w: ti.i32, stage: ti.i32, b: ti.template(), h: ti.template(), g: ti.template(), instant: ti.i32
):
    """Masks, known values and right-hand side for the pieces that are chosen.

    Args:
        g, instant: as of `update_active_set`.

    Reads:  c.bound, c.state
    Writes: c.bound.system.{free, goal, load, soft, gain, laws}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    for n in range(y.n_dofs):
        y.free.store(w, n, zero + 1.0)
        y.gain.store(w, n, zero)
        y.load.store(w, n, c.bound.base.load(w, n))
    set_hard_rows(c, w, stage, b, h, g, instant)
    _set_laws(c, w, g)
    set_springs(c, w, stage, b)
    set_drags(c, w, stage, b)
    lock_motions(c, w, stage, g, instant)
    push_rows(y, w)


@needs.laws
@ti.func
def _set_laws(c: ti.template(), w: ti.i32, g: ti.template()):
    for n in range(c.bound.system.laws.n):
        set_law(c, w, n, span_at(c, w, c.g, c.bound.system.laws.unknown.at(n), g))


@ti.func
def set_hard_rows(
    c: ti.template(), w: ti.i32, stage: ti.i32, b: ti.template(), h: ti.template(), g: ti.template(), instant: ti.i32
):
    """Equations of all hard and compliant rows, see `set_hard_row`."""
    y = c.bound.system
    for r in range(y.n_rows):
        i = y.n_dofs + r
        set_hard_row(c, w, r, stage, span_at(c, w, c.b, i, b), h, span_at(c, w, c.g, i, g), instant)


@ti.func
def set_hard_row(
    c: ti.template(),
    w: ti.i32,
    r: ti.i32,
    stage: ti.i32,
    b: ti.template(),
    h: ti.template(),
    g: ti.template(),
    instant: ti.i32,
):
    """Equation of a hard or compliant row; rows of laws are set after it.

        at the end:   J qdd = -(phi / h + rate) / g - bias h / 2 g     so that phi vanishes where the step ends
                      J qdd = -rate / g - bias h / g           of a velocity that no coordinate tells
        else:         J qdd = -bias
        compliant:    J qdd + e lambda = -(phi + b rate) / b^2,  e = compliance / b^2
                      second node of implicit: + 2 J k1_q / b + 2 J k1, as of a spring, `push_of_spring`

    Reads:  c.{bound.system, k1_q, k1_qd}
    Writes: c.bound.system.{free, goal, soft, load, centre} of row r
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    i = y.n_dofs + r
    compliance = zero + y.compliance.load(w, r)
    enabled = zero + y.enabled.load(w, r)
    residual = y.rows.residual.load(w, r)
    rate = y.rows.rate.load(w, r)
    bias = y.rows.bias.load(w, r)
    load = -bias
    soft = y.softness.load(w, r) * y.scale.load(w, r)
    if meets_end(c, w) * (1 - instant) != 0:
        load = -(residual / h + rate) / g - bias * (0.5 * h / g)
        if is_slip(y, r) != 0:  # whose rate vanishes where the step ends
            load = -rate / g - bias * (h / g)
    span = b * b + zero
    yields = (compliance > 0.0) & (span > 0.0)
    safe = select(span > 0.0, span, span + 1.0)
    soft = select(yields, compliance / safe, soft)
    ahead = foreseen(c, w, island_of(c, i))
    load = select(yields, _with_first_motion(c, w, r, stage, -(residual + rate * b * ahead) / safe, b), load)
    explicit = (compliance > 0.0) & (span == 0.0)
    idle = explicit | (enabled == 0.0)
    y.free.store(w, i, select(idle, zero, zero + 1.0))
    y.goal.store(w, i, select(explicit & (enabled != 0.0), -residual / select(explicit, compliance, zero + 1.0), zero))
    y.soft.store(w, r, select(idle, zero + 1.0, soft))
    y.load.store(w, i, load)
    y.centre.store(w, r, zero)


def is_slip(y, r):
    """1 for a row that holds a velocity and no coordinate, else 0 (inside kernels)."""
    return y.rows.wheels.is_slip.at(r) if y.rows.wheels.has_slips else 0


@ti.func
def set_law(c: ti.template(), w: ti.i32, n: ti.i32, g: ti.template()):
    """Lock, or line, of law n.

    Reads:  c.bound
    Writes: c.bound.system.{free, goal, load, soft, gain} of its unknown
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    i = y.laws.unknown.at(n)
    draw_line(y.laws, w, n, g)
    locked = y.laws.lock.load(w, n) != FREE
    push = y.laws.push.load(w, n)
    gain = y.laws.gain.load(w, n)
    known = (y.laws.speed.load(w, n) - y.laws.rate.load(w, n)) / g - y.laws.shift.load(w, n)
    if i < y.n_dofs:
        y.free.store(w, i, select(locked, zero, y.free.load(w, i)))
        y.goal.store(w, i, select(locked, known, zero))
        y.gain.store(w, i, y.gain.load(w, i) + select(locked, zero, gain))
        y.load.store(w, i, y.load.load(w, i) + select(locked, zero, push))
    else:
        r = i - y.n_dofs
        enabled = (zero + y.enabled.load(w, r)) != 0.0
        carried = (locked | (gain > 0.0)) & enabled
        y.free.store(w, i, select(carried, zero + 1.0, zero))
        y.goal.store(w, i, select(carried | (enabled == 0), zero, push))  # an idle row keeps its effort here for push_rows
        soft = select(locked, _softness_of_law(c, w, n, r) * y.scale.load(w, r), 1.0 / select(gain > 0.0, gain, zero + 1.0))
        y.soft.store(w, r, select(carried, soft, zero + 1.0))
        y.load.store(w, i, select(locked, known, push * soft))


def _softness_of_law(c, w, n, r):
    """Softness of law n, row r, where it is locked; the least of rolling, which nothing takes back (inside kernels)."""
    y = c.bound.system
    if not (y.laws.has_roll and c.is_natural):
        return y.softness.load(w, r)
    zero = c.tables.arena.zero()
    return select(zero + y.laws.is_roll.at(n) != 0.0, zero + number(y, "least"), y.softness.load(w, r))


@needs.spring_rows
@ti.func
def set_springs(c: ti.template(), w: ti.i32, stage: ti.i32, b: ti.template()):
    """Equations of the lengths of springs.

    Writes: c.bound.system.{free, goal, load, soft} of their rows
    """
    y = c.bound.system
    for r in range(y.n_rows):
        if y.spring.at(r) >= 0:
            set_spring(c, w, r, stage, span_at(c, w, c.b, y.n_dofs + r, b))


@ti.func
def set_spring(c: ti.template(), w: ti.i32, r: ti.i32, stage: ti.i32, b: ti.template()):
    """Equation of a spring's length.

    Reads:  c.{bound, forces, k1_q, k1_qd}
    Writes: c.bound.system.{free, goal, load, soft} of row r
    """
    push, gain, acts = push_of_spring(c, w, r, stage, b)
    set_pushed_row(c, w, r, push, gain, acts)


@ti.func
def set_pushed_row(c: ti.template(), w: ti.i32, r: ti.i32, push: ti.template(), gain: ti.template(), acts: ti.template()):
    """Equation of a row that a law acts on: lambda = push - gain J qdd.

    Writes: c.bound.system.{free, goal, load, soft} of row r
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    i = y.n_dofs + r
    yields = acts & (gain > 0.0)
    soft = 1.0 / select(yields, gain, zero + 1.0)
    y.free.store(w, i, select(yields, zero + 1.0, zero))
    y.goal.store(w, i, push)
    y.soft.store(w, r, soft)
    y.load.store(w, i, push * soft)


@needs.drag_rows
@ti.func
def set_drags(c: ti.template(), w: ti.i32, stage: ti.i32, b: ti.template()):
    """Equations of the velocities that drags act on.

    Writes: c.bound.system.{free, goal, load, soft} of their rows
    """
    for m in range(c.bound.system.n_drags // 3):
        set_drag(c, w, m, stage, b)


@ti.func
def set_drag(c: ti.template(), w: ti.i32, m: ti.i32, stage: ti.i32, b: ti.template()):
    """Equations of the three rows of the m-th velocity that a drag acts on.

        lambda = F - b c (B + J qdd),   second node of implicit: + 2 b c (B + J k1)

    F: of the drag along each row; B: the bias of the row. c is that along the velocity for all three: less is true across,
    which takes no order from steps whose order stands whatever their gradients are.

    Reads:  c.{bound, forces, k1_q, k1_qd}
    Writes: c.bound.system.{free, goal, load, soft} of the rows
    """
    y = c.bound.system
    r = y.drag_row.at(3 * m)
    force, law = drag_of_row(c.forces.drags, w, y.drag.at(3 * m), vector_at(y.rows.rate, w, r))
    gain = law.damping * b
    for axis in ti.static(range(3)):
        turning = y.rows.bias.load(w, r + axis) * gain
        push = _with_first_node(c, w, r + axis, stage, force.parts[axis] - turning, turning, c.tables.arena.zero(), gain, b)
        set_pushed_row(c, w, r + axis, push, gain, gain == gain)


@ti.func
def push_of_spring(c: ti.template(), w: ti.i32, r: ti.i32, stage: ti.i32, b: ti.template()):
    """Tension of a spring at the end of a time b, linear in the acceleration, negative; and where it is not slack.

        lambda = -(T + b k L' + b c B) - G J qdd,   G = b (c + b k);   B: the bias, L'' at qdd = 0
        second node of implicit: + 2 b k J k1_q + 2 b c B + 2 G J k1

    B is the gradient of L' along the motion. Without it a stiff damper learns a stage too late that its line turns.

    Returns:
        Push, 0 where the spring is slack; gain G; mask.

    Reads: c.{bound, forces, k1_q, k1_qd}
    """
    y = c.bound.system
    k = y.spring.at(r)
    rate = y.rows.rate.load(w, r)
    law, _taken, acts = spring_law(c.forces.springs, w, k, y.rows.residual.load(w, r), rate)
    push, gain = foresee(law, rate, b)
    push = push + law.stiffness * rate * b * (1.0 - foreseen(c, w, island_of(c, y.n_dofs + r)))
    turning = _turning_of_spring(c, w, r, law, gain, b)
    push = _with_first_node(c, w, r, stage, push - turning, turning, law.stiffness, gain, b)
    return select(acts, push, c.tables.arena.zero()), gain, acts


def _turning_of_spring(c, w, r, law, gain, b):
    """What a force changes by as its line turns (inside kernels)."""
    bias = c.bound.system.rows.bias.load(w, r)
    if c.is_natural:  # whose J qdd and B are parts of one acceleration, which not even rigidity divides
        return bias * gain
    return bias * law.damping * b


def _with_first_motion(c, w, r, stage, load, b):
    return _load_of_node(c, w, r, stage, load, b) if c.integrator == "implicit" and c.has_compliance else load


@ti.func
def _load_of_node(c: ti.template(), w: ti.i32, r: ti.i32, stage: ti.i32, load: ti.template(), b: ti.template()):
    """The load of a compliant row, in the second node of a step with what the first one gave."""
    found = load
    if stage == 1:
        zero = c.tables.arena.zero()
        moved, gained = add_first_node(c, w, r, zero, zero)
        found = load + (moved / b + gained) * 2.0
    return found


def _with_first_node(c, w, r, stage, push, *others):
    return _push_of_node(c, w, r, stage, push, *others) if c.integrator == "implicit" else push


@ti.func
def _push_of_node(
    c: ti.template(),
    w: ti.i32,
    r: ti.i32,
    stage: ti.i32,
    push: ti.template(),
    turning: ti.template(),
    stiffness: ti.template(),
    gain: ti.template(),
    b: ti.template(),
):
    """The push of a spring or drag, in the second node of a step with what the first one gave."""
    found = push
    if stage == 1:
        zero = c.tables.arena.zero()
        moved, gained = add_first_node(c, w, r, zero, zero)
        found = push + turning * 2.0 + foresee_again(stiffness, gain, moved, gained, b)
    return found


@ti.func
def push_rows(y: ti.template(), w: ti.i32):
    """Efforts of idle rows, kept in their goals, to the right-hand side of the dofs: F + J^T push.

    Reads:  y.{free, goal, entry}
    Writes: y.{load, goal, force}
    """
    for r in range(y.n_rows):
        i = y.n_dofs + r
        push = select(y.free.load(w, i) == 0.0, y.goal.load(w, i), y.entry.arena.zero())
        y.force.store(w, r, push)
        y.goal.store(w, i, y.entry.arena.zero())
        for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
            j = y.end_j.at(y.n_mass + e)
            y.load.store(w, j, y.load.load(w, j) + y.entry.load(w, y.n_mass + e) * push)
