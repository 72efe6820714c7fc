"""Mass matrix and momentum of the problem of a step with contact: with the linear parts of laws, c - g v.

    M + h g J^T J,    F + J^T (c - g J v0)

In large worlds M holds bodies apart, and what is linear on rows between them is a row of its own (impulses/rows.py).

Source: Jean (1999), the step in impulses. Deviation: none.
"""

import numpy as np

from simcli.kernels.complementarity.large import mass_place, place_of_pair
from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.numbers import number
from simcli.kernels.rows.constrained_system import System
from simcli.kernels.rows.coordinate_laws import limits_of
from simcli.solvers.base import needs
from simcli.solvers.rows.islands import span_at
from simcli.solvers.rows.motions import end_speed_of_lock


def mirrored(y: System, i):
    """Place of unknown i among the velocities of the problem: tips come first, which leaves factors sparse."""
    return number(y, "n_dofs") - 1 - i


def places_of_masses(system: System, is_large: bool) -> np.ndarray:
    """Where in the mass matrix of the problem each entry of that of the system stands, (n_mass,); see `mass_place`."""
    high, low = (system.n_dofs - 1 - pick(system.mass_ends, axis=1) for pick in (np.min, np.max))
    return place_of_pair(high, low, is_large)


@ti.func
def state_mass(c: ti.template(), w: ti.i32, h: ti.template()):
    """M, with the linear parts of laws, lambda = push - gain v.

    Args:
        h: [s], over which forces act on the velocity that moves the coordinates.

    Reads:  c.bound.system
    Writes: p.mass, c.bound.impulses.{push, gain}, c.bound.system.load
    """
    y = c.bound.system
    p = c.bound.impulses.problem
    for k in range(p.n_mass):
        p.mass.store(w, k, c.tables.arena.zero())
    for e in range(y.n_mass):
        at = c.bound.impulses.mass_place.at(e)
        p.mass.store(w, at, p.mass.load(w, at) + y.entry.load(w, e))
    augment_mass(c, w, h)
    _weigh_laws(c, w, h)


@needs.laws
@ti.func
def _weigh_laws(c: ti.template(), w: ti.i32, h: ti.template()):
    y = c.bound.system
    m = c.bound.impulses
    zero = c.tables.arena.zero()
    for k in range(y.laws.n):
        push = y.laws.rest.load(w, k)
        gain = y.laws.rest_gain.load(w, k)
        drive = y.laws.drive.load(w, k)
        drive_gain = y.laws.drive_gain.load(w, k)
        if m.has_drive.at(k) != 0:  # in a row, unless it is constant
            least, most = limits_of(y.laws, w, k)
            push = push + select(drive_gain > 0.0, zero, ti.max(ti.min(drive, most), least))
        else:
            push = push + drive
            gain = gain + drive_gain
        acts = act_of_law(c, w, k)
        m.push.store(w, k, select(acts, push, zero))
        m.gain.store(w, k, select(acts, gain, zero))
        add_linear(c, w, k, span_at(c, w, c.g, y.laws.unknown.at(k), h))


@ti.func
def augment_mass(c: ti.template(), w: ti.i32, h: ti.template()):
    """Add K J^T J of rows that hold exactly to masses that may be 0, and K J^T of their right-hand side. Solutions stay.

        prescribed dofs: their own row, K: as much mass again, or 1 without any; in natural coordinates only without any
        thin bodies: their rigidity, K of what the weights add
        bodies that lack inertia: the rows of their joints, K = 1 / scale of the row

    A kinematic body may have no mass, alone or with what hangs on it: a massless carrier with a body on a hinge.

    Reads:  c.bound.system, c.motions, c.state.q
    Writes: p.mass, c.bound.system.load
    """
    y = c.bound.system
    p = c.bound.impulses.problem
    for k in range(c.motions.n_locks):
        d = c.motions.lock_dof.at(k)
        i = c.tables.unknown.at(d)
        at = mass_place(p, mirrored(y, i), mirrored(y, i))
        more = _mass_of_lock(c, w, d, p.mass.load(w, at))
        p.mass.store(w, at, p.mass.load(w, at) + more)
        own_h = span_at(c, w, c.g, i, h)
        asked = (end_speed_of_lock(c, w, k, own_h) - c.state.qd.load(w, d)) / own_h
        y.load.store(w, i, y.load.load(w, i) + more * asked)
    _augment_bodies(c, w)


def _mass_of_lock(c, w, d, mass):
    """K of prescribed dof d, whose own mass is given (inside kernels)."""
    if c.is_natural:
        return select(c.tables.weight.load(w, d) == mass * 0.0, mass * 0.0 + 1.0, mass * 0.0)
    return select(mass > 0.0, mass, mass * 0.0 + 1.0)


@needs.excess
@ti.func
def _augment_bodies(c: ti.template(), w: ti.i32):
    """Thin bodies, and those that lack inertia."""
    y = c.bound.system
    t = c.tables
    p = c.bound.impulses.problem
    zero = t.arena.zero()
    for i in range(y.n_dofs):
        at = mass_place(p, mirrored(y, i), mirrored(y, i))
        p.mass.store(w, at, p.mass.load(w, at) - t.excess.load(w, t.tree_dof.at(i)))
    for n in range(y.rows.n_rigid):
        a = y.rows.vector_d.at(2 * n)
        b = y.rows.vector_d.at(2 * n + 1)
        _augment_row(c, w, y.rows.first_rigid + n, ti.max(zero + t.excess.load(w, a), zero + t.excess.load(w, b)))
    for n in range(c.bound.impulses.n_firm):
        r = c.bound.impulses.firm_row.at(n)
        holds = (zero + y.enabled.load(w, r) != 0.0) & (zero + y.compliance.load(w, r) == 0.0)
        _augment_row(c, w, r, select(holds, 1.0 / (zero + y.scale.load(w, r)), zero))


@ti.func
def _augment_row(c: ti.template(), w: ti.i32, r: ti.i32, gain: ti.template()):
    size = gain * 1.0
    push_row(c, w, r, size * c.bound.system.load.load(w, c.bound.system.n_dofs + r))
    _add_square(c, w, r, size)


@ti.func
def push_row(c: ti.template(), w: ti.i32, r: ti.i32, push: ti.template()):
    """Add J^T times a number to F, of row r of the system.

    Writes: c.bound.system.load
    """
    y = c.bound.system
    for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
        a = y.end_j.at(y.n_mass + e)
        y.load.store(w, a, y.load.load(w, a) + y.entry.load(w, y.n_mass + e) * push)


@ti.func
def _add_square(c: ti.template(), w: ti.i32, r: ti.i32, gain: ti.template()):
    """Add g J^T J to M, of row r of the system.

    Writes: p.mass
    """
    y = c.bound.system
    p = c.bound.impulses.problem
    for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
        a = y.end_j.at(y.n_mass + e)
        value = y.entry.load(w, y.n_mass + e) * gain
        for f in range(y.j_start.at(r), y.j_start.at(r + 1)):
            other = y.end_j.at(y.n_mass + f)
            if other <= a:
                at = mass_place(p, mirrored(y, other), mirrored(y, a))
                p.mass.store(w, at, p.mass.load(w, at) + value * y.entry.load(w, y.n_mass + f))


def act_of_law(c, w, k):
    """Mask of the worlds in which the row of a law is enabled; of all for a dof of the tree."""
    y = c.bound.system
    row = y.laws.row.at(k)
    return select((y.enabled.load(w, ti.max(row, 0)) != 0.0) | (row < 0), 1, 0) != 0


@ti.func
def add_linear(c: ti.template(), w: ti.i32, k: ti.i32, h: ti.template()):
    """Add h g J^T J to M, and J^T (c - g (J v0 + shift h)) to F, of law k.

    Reads:  c.bound.{system, impulses}
    Writes: p.mass, c.bound.system.load
    """
    y = c.bound.system
    m = c.bound.impulses
    p = m.problem
    gain = m.gain.load(w, k)
    i = y.laws.unknown.at(k)
    if i < y.n_dofs:
        at = mass_place(p, mirrored(y, i), mirrored(y, i))
        p.mass.store(w, at, p.mass.load(w, at) + gain * h)
        y.load.store(w, i, y.load.load(w, i) + m.push.load(w, k) - gain * m.start.load(w, mirrored(y, i)))
    else:
        r = i - y.n_dofs
        speed = row_velocity(c, w, r, m.start) + y.laws.shift.load(w, k) * h
        _add_line(c, w, r, m.push.load(w, k) - gain * speed, gain, h)


def _add_line(c, w, r, push, gain, h):
    """What law on row r gives to F and M; in large worlds lines are rows (inside kernels)."""
    if c.bound.impulses.problem.is_large:
        push_row(c, w, r, select(gain > 0.0, c.tables.arena.zero(), push))
    else:
        push_row(c, w, r, local(push))
        _add_square(c, w, r, gain * h)


@ti.func
def row_velocity(c: ti.template(), w: ti.i32, r: ti.i32, v: ti.template()):
    """J v of a row of the system."""
    y = c.bound.system
    total = c.tables.arena.zero()
    for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
        total = total + y.entry.load(w, y.n_mass + e) * v.load(w, mirrored(y, y.end_j.at(y.n_mass + e)))
    return total
