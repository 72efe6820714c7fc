"""Forces in steps that need no poses (natural/quadratic.py): gravity, wrenches, springs, and smooth efforts on coordinates.

A spring is a force on its length, an effort one on a displacement or a turn: soft rows, whose force is linear in the
acceleration over a step, lambda = push - gain x''. Wrenches are terms of the forces on the coordinates
(model/forms/frame_pairs.py).

Called by natural/quadratic.py and natural/alpha_steps.py, whose core says what `c` holds.
"""

from simcli.kernels.forces.account import SUPPLIED
from simcli.kernels.forces.springs import spring_law
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.active_set import draw_line
from simcli.kernels.rows.bounded_laws import law_terms, split_power, state_law
from simcli.kernels.rows.coordinate_laws import Response, foresee
from simcli.kernels.rows.quadratic import IDLE, bend_bias, bias
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H
from simcli.solvers.natural.frame_forces import add_frame_power, idle_frames


@ti.func
def load_coordinates(c: ti.template(), w: ti.i32, x: ti.template()):
    """Gravity and wrenches at extended coordinates x.

    Reads:  c.forces.{wrench_force, wrench_torque}
    Writes: c.pushes.pull
    """
    p = c.pushes
    for i in range(c.steps.rows.n):
        p.pull.store(w, i, c.tables.arena.zero() + p.gravity.load(w, i))
    _push_coordinates(c, w, x)


@needs.pushes
@ti.func
def _push_coordinates(c: ti.template(), w: ti.i32, x: ti.template()):
    p = c.pushes
    for k in range(p.n_wrenches):
        _put(c, w, 6 * k, c.forces.wrench_force.load(w, k))
        _put(c, w, 6 * k + 3, c.forces.wrench_torque.load(w, k))
    for n in range(p.n_pushes):
        value = p.wrench.load(w, p.push_component.at(n)) * p.push_weight.load(w, n)
        if p.push_form.at(n) >= 0:
            value = value * x.load(w, p.push_form.at(n))
        i = p.push_at.at(n)
        p.pull.store(w, i, p.pull.load(w, i) + value)


def _put(c, w, first, vector):
    for m in range(3):
        c.pushes.wrench.store(w, first + m, c.tables.arena.zero() + vector.parts[m])


@ti.func
def idle_coordinates(c: ti.template(), w: ti.i32):
    """Take the rows that are not rigid out of the saddle point, all but the inertia of their armature, and all stresses.

    Writes: c.steps.rows.{soft, lent, stress, frames}
    """
    p = c.pushes
    f = c.steps.rows
    zero = c.tables.arena.zero()
    for k in range(p.n):
        f.soft.store(w, p.row.at(k), zero + IDLE)
        _weigh_rotor(c, w, k)
        f.lent.store(w, p.row.at(k), zero)
    for k in range(p.n_yielding):
        r = p.yielding.at(k)
        yields = zero + c.bound.system.compliance.load(w, r) > 0.0
        f.soft.store(w, r, select(yields, zero + IDLE, f.soft.load(w, r)))
        f.lent.store(w, r, select(yields, zero, f.lent.load(w, r)))
    _unstress(c, w)
    idle_frames(c, w)


@needs.rotors
@ti.func
def _weigh_rotor(c: ti.template(), w: ti.i32, k: ti.i32):
    n = c.pushes.law.at(k)
    if n >= 0:
        armature = c.tables.arena.zero() + c.forces.armature.load(w, c.bound.system.laws.dof.at(n))
        c.steps.rows.soft.store(w, c.pushes.row.at(k), 1.0 / ti.max(armature, 1.0 / IDLE))


@needs.stresses
@ti.func
def _unstress(c: ti.template(), w: ti.i32):
    for r in range(c.steps.rows.n_rows):
        c.steps.rows.stress.store(w, r, c.tables.arena.zero())


@ti.func
def rotor_rate_rhs(c: ti.template(), w: ti.i32):
    """Right-hand side of coordinates with armature in the projection of velocities, see projection.py.

    Reads:  c.bound.{pace, owes}, c.steps.rows.rate
    Writes: c.steps.load of soft rows, c.bound.owes
    """
    for k in range(c.pushes.n):
        c.steps.load.store(w, c.steps.rows.n + c.pushes.row.at(k), c.tables.arena.zero())
        _rotor_rate_rhs(c, w, k)
    c.bound.owes.store(w, 0, c.tables.arena.zero())


@needs.rotors
@ti.func
def _rotor_rate_rhs(c: ti.template(), w: ti.i32, k: ti.i32):
    f = c.steps.rows
    if c.pushes.law.at(k) >= 0:
        pace = c.bound.pace.load(w, c.pushes.law.at(k))
        owed = (pace - f.rate.load(w, c.pushes.row.at(k))) * c.bound.owes.load(w, 0)
        c.steps.load.store(w, f.n + c.pushes.row.at(k), owed)


@needs.rotors
@ti.func
def store_coordinate_rotor_rates(c: ti.template(), w: ti.i32):
    """As `store_rotor_rates` of projection.py, while gradients and rates are those of the start of the step.

    Reads:  c.steps.{acceleration, rows.gradient, rows.rate}, c.bound.system.laws.shift
    Writes: c.steps.force, c.bound.{pace, owes}
    """
    f = c.steps.rows
    g = c.constants.load(w, H) * 0.5
    for k in range(c.pushes.n):
        n = c.pushes.law.at(k)
        if n >= 0:
            r = c.pushes.row.at(k)
            change = c.bound.system.laws.shift.load(w, n)
            for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
                change = change + f.gradient.load(w, e) * c.steps.acceleration.load(w, f.entry_at.at(e))
            given = change * c.forces.armature.load(w, c.bound.system.laws.dof.at(n))
            c.bound.pace.store(w, n, f.rate.load(w, r) + change * g)
            c.steps.force.store(w, r, c.steps.force.load(w, r) + given)
    c.bound.owes.store(w, 0, c.tables.arena.zero() + 1.0)


@ti.func
def bias_of(c: ti.template(), w: ti.i32, k: ti.i32):
    """Acceleration of coordinate k where those of x are none.

    Reads: c.steps.rows.{v, rate}
    """
    found = c.tables.arena.zero()
    if c.pushes.bent.at(k) >= 0:
        found = bend_bias(c.steps.rows, w, c.pushes.bent.at(k))
    else:
        found = bias(c.steps.rows, c.steps.rows.v, w, c.pushes.row.at(k))
    return _with_cable(c, w, k, found)


def _with_cable(c, w, k, found):
    return found + bias_of_cable(c, w, k) if c.pushes.has_cables else found


@ti.func
def bias_of_cable(c: ti.template(), w: ti.i32, k: ti.i32):
    """As `bias_of`, of coordinate k where it is a sum, whose own polynomial is none; else zero.

    Reads: c.steps.rows.{v, rate}
    """
    f = c.steps.rows
    found = c.tables.arena.zero()
    n = c.pushes.sum.at(k)
    if n >= 0:
        for m in range(f.part_start.at(n), f.part_start.at(n + 1)):
            found = found + bend_bias(f, w, c.pushes.bent_of.at(m))
    return found


@ti.func
def regularize_coordinates(c: ti.template(), w: ti.i32):
    """Soft rows of a step of length h: forces at the end of half of it, linear in the acceleration, as in `equations.py`.

    Reads:  c.steps.rows.{residual, rate, v}
    Writes: c.steps.{load, rows.soft, rows.lent}
    """
    for k in range(c.pushes.n):
        _idle_part(c, w, k)
        _regularize_spring(c, w, k)
        _regularize_law(c, w, k)


@ti.func
def _regularize(c: ti.template(), w: ti.i32, k: ti.i32, push: ti.template(), gain: ti.template()):
    """Soft row k gives push - gain x''."""
    f = c.steps.rows
    r = c.pushes.row.at(k)
    soft = 1.0 / ti.max(gain, 1.0 / IDLE)
    f.soft.store(w, r, soft)
    f.lent.store(w, r, c.tables.arena.zero())
    c.steps.load.store(w, f.n + r, push * soft)


@needs.cable_parts
def _idle_part(c, w, k):
    _regularize(c, w, k, c.tables.arena.zero(), c.tables.arena.zero())


@needs.soft_springs
@ti.func
def _regularize_spring(c: ti.template(), w: ti.i32, k: ti.i32):
    if c.pushes.spring.at(k) >= 0:
        zero = c.tables.arena.zero()
        law, _taken, acts, _inertia = response_now(c, w, k)
        foreseen, yielded = foresee(law, c.steps.rows.rate.load(w, c.pushes.row.at(k)), c.constants.load(w, H) * 0.5)
        gain = select(acts, yielded, zero)
        _regularize(c, w, k, select(acts, foreseen, zero) - bias_of(c, w, k) * gain, gain)


@needs.soft_laws
@ti.func
def _regularize_law(c: ti.template(), w: ti.i32, k: ti.i32):
    n = c.pushes.law.at(k)
    if n >= 0:
        f = c.steps.rows
        laws = c.bound.system.laws
        zero = c.tables.arena.zero()
        r = c.pushes.row.at(k)
        h = c.constants.load(w, H)
        b = h * 0.5
        laws.shift.store(w, n, bias_of(c, w, k))
        state_law(laws, c.forces, w, n, f.residual.load(w, r), f.rate.load(w, r), zero, zero, b, h, b)
        draw_line(laws, w, n, b)
        _regularize(c, w, k, laws.push.load(w, n), laws.gain.load(w, n))


@ti.func
def response_now(c: ti.template(), w: ti.i32, k: ti.i32):
    """Response of soft row k now, as if it acted; what the damper of a spring takes [W]; where it acts; its armature.

    Reads:  c.steps.rows.{residual, rate}, c.forces
    Writes: c.bound.system.laws.{drive_now, rest_now, coordinate, rate} of its law
    """
    zero = c.tables.arena.zero()
    found = Response.none(zero)
    dissipated = zero
    acts = zero == 0.0
    inertia = zero
    x = c.steps.rows.residual.load(w, c.pushes.row.at(k))
    v = c.steps.rows.rate.load(w, c.pushes.row.at(k))
    if ti.static(c.pushes.has_springs):
        if c.pushes.spring.at(k) >= 0:
            found, dissipated, acts = spring_law(c.forces.springs, w, c.pushes.spring.at(k), x, v)
    if ti.static(c.pushes.has_laws):
        n = c.pushes.law.at(k)
        if n >= 0:
            laws = c.bound.system.laws
            drive, rest, inertia = law_terms(laws, c.forces, w, n, x, v)
            laws.coordinate.store(w, n, x)
            laws.rate.store(w, n, v)
            laws.drive_now.store(w, n, drive.force)
            laws.rest_now.store(w, n, rest.force)
            found = drive + rest
    return found, dissipated, acts, inertia


@ti.func
def add_work(c: ti.template(), w: ti.i32):
    """Half a step of the powers of the instant, at coordinates and velocities whose forces are known.

    Reads:  c.steps.rows, c.pushes, c.bound.system.laws
    Writes: c.forces.account
    """
    zero = c.tables.arena.zero()
    c.forces.account.set_power(w, zero, zero)
    for k in range(c.pushes.n):
        _add_spring_power(c, w, k)
        _add_law_power(c, w, k)
    _add_push_power(c, w)
    add_frame_power(c, w)
    c.forces.account.book_power(w, c.constants.load(w, H) * 0.5)


@needs.soft_springs
@ti.func
def _add_spring_power(c: ti.template(), w: ti.i32, k: ti.i32):
    if c.pushes.spring.at(k) >= 0:
        _law, dissipated, _acts, _inertia = response_now(c, w, k)
        c.forces.account.add_power(w, dissipated, c.tables.arena.zero())


@needs.soft_laws
@ti.func
def _add_law_power(c: ti.template(), w: ti.i32, k: ti.i32):
    n = c.pushes.law.at(k)
    if n >= 0:
        zero = c.tables.arena.zero()
        rate = c.steps.rows.rate.load(w, c.pushes.row.at(k))
        h = c.constants.load(w, H)
        supplied, dissipated = split_power(c.bound.system.laws, c.forces, w, n, rate, rate, h, zero, zero == 0.0)
        c.forces.account.add_power(w, dissipated, supplied)


@needs.pushes
@ti.func
def _add_push_power(c: ti.template(), w: ti.i32):
    supplied = c.forces.account.power.load(w, SUPPLIED)
    for i in range(c.steps.rows.n):
        push = c.pushes.pull.load(w, i) - c.pushes.gravity.load(w, i) - _of_frames(c, w, i)
        supplied = supplied + push * c.steps.rows.v.load(w, i)
    c.forces.account.power.store(w, SUPPLIED, supplied)


def _of_frames(c, w, i):
    return c.pushes.of_frames.load(w, i) if c.pushes.has_frames else c.tables.arena.zero()
