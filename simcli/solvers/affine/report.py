"""Frames of affine bodies: poses, joint coordinates and efforts, reactions, energies, diagnostics."""

from simcli.kernels.articulation.kinematics import vector_at
from simcli.kernels.articulation.report import put, report_bodies
from simcli.kernels.barrier.contact_energy import renew, touch_of
from simcli.kernels.barrier.surfaces import INFINITE_GAP
from simcli.kernels.device.lanes import one
from simcli.kernels.device.sparse_factors import AFFINE_DOFS
from simcli.kernels.device.stage_lists import sum_of, take_all, when
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import put_lane
from simcli.kernels.language.values import Sym3, Vec3
from simcli.kernels.potentials.energy import find_energy, follow_rows
from simcli.kernels.potentials.polar import place_affine
from simcli.kernels.potentials.potential_terms import energy_of_armature
from simcli.kernels.rows.quadratic import find_rates, give_state
from simcli.solvers.affine.kinematic_bodies import report_efforts_of_holds, report_holds
from simcli.solvers.affine.stages import find_multipliers
from simcli.solvers.base import needs
from simcli.solvers.output.contact_report import CONTACTS, put_row
from simcli.solvers.output.energy_balance import write_energies
from simcli.solvers.output.frame_stages import (
    distances,
    needs_joints,
    place_probed,
    see,
    sensors_of,
    show_joint_accelerations,
    show_joints,
    show_points,
    show_rods,
)
from simcli.solvers.rows.drives import add_drive_power

DIAGNOSTICS = ("iterations", "residual", "position_violation", "velocity_violation")


@ti.func
def report_frame(c: ti.template(), w: ti.i32, steps: ti.i32):
    """One frame.

    Reads:  c.potential, c.step
    Writes: c.rows, c.state, c.multipliers, c.diag
    """
    _place_bodies(c, w)
    take_all(c.shows, c, w)
    follow_rows(c.potential, w, c.potential.rows.next_x)  # where everything was evaluated last, with its forms
    if steps > 0:  # those of frame 0 are of a trial
        find_multipliers(c, w)
    take_all(c.shows_forces, c, w)
    _report_energy(c, w, steps)


def finding_affine(c) -> tuple:
    """What finds the quantities that signals see, where a step begins."""
    if not c.probed.n:
        return ()
    return (_place_bodies, *when(needs_joints(c.probed), show_joints), place_probed, *distances(c), *sensors_of(c), see)


@ti.func
def _place_bodies(c: ti.template(), w: ti.i32):
    give_state(c.potential.rows, c.state, w)
    place_affine(c, w, c.potential.rows.x, c.potential.rows.v)
    report_bodies(c.tables, c.state, c.rows, w)


def affine_shows(c) -> tuple[tuple, tuple]:
    """What a frame shows, of motions and of forces.

    Args:
        c: core of the run.
    """
    r = c.reports
    motions = (
        *when(r["bodies"], show_points, report_stretches),
        *when(r["body_qdd"], report_affine_accelerations),
        *when(r["joints"], show_joints, show_coordinates, show_joint_accelerations, _report_efforts),
    )
    wrenches = when(r["wrenches"], _report_wrenches, *when(c.kinematic.n, report_holds))
    rods = when(r["joints"] and c.loops.n_rods, show_rods)
    return motions, (*wrenches, *rods, report_diagnostics, *when(r["contacts"], report_touches))


@ti.func
def report_affine_accelerations(c: ti.template(), w: ti.i32):
    """Accelerations of the bodies as rigid ones: of the centres of mass, and of the spin of `place_affine`.

        w' = sum (r_k x a_k'' + (w x r_k) x a_k') / 2,   r_k the columns of R

    Reads:  c.step.acceleration, c.potential.rows.v, c.state.{R, v} after `place_affine`
    Writes: c.rows.body_qdd
    """
    for b in range(c.tables.n_bodies):
        first = 12 * b
        R = c.state.R.load(w, b)
        spin = c.state.v.load(w, b).angular
        change = spin * 0.0
        for k in ti.static(range(3)):
            at = first + 3 + 3 * k
            change = change + R.column(k).cross(vector_at(c.step.acceleration, w, at))
            change = change + spin.cross(R.column(k)).cross(vector_at(c.potential.rows.v, w, at))
        put(c.rows.body_qdd, w, 6 * b, vector_at(c.step.acceleration, w, first), change * 0.5)


@ti.func
def report_stretches(c: ti.template(), w: ti.i32):
    """S of each body in its own axes: its axes as they are are R S, R the rotation nearest to them.

    Reads:  c.potential.rows.x, c.state.R after `place_affine`, c.tables.body_rotation
    Writes: c.stretch
    """
    for b in range(c.tables.n_bodies):
        R = c.state.R.load(w, b)
        a = [R.transposed_times(vector_at(c.potential.rows.x, w, 12 * b + 3 + 3 * k)).parts for k in range(3)]
        own = Sym3(*[(a[i][j] + a[j][i]) * 0.5 for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))])
        put(c.stretch, w, 6 * b, own.turned(c.tables.body_rotation.load(w, b).T))


@ti.func
def show_coordinates(c: ti.template(), w: ti.i32):
    """Coordinates of the laws as their energies see them, over full turns.

    Writes: c.state.q
    """
    y = c.potential.laws
    for k in range(y.n):
        c.state.q.store(w, y.shown.at(k), y.now.load(w, k))


@ti.func
def _report_efforts(c: ti.template(), w: ti.i32):
    """What acts on the coordinates of joints: applied efforts, drives, motions, dampers, springs, limits, gears.

    Reads:  c.potential.laws.{slope, inert}
    Writes: c.rows.effort
    """
    for d in range(c.tables.n_qd):
        c.rows.effort.store(w, d, c.tables.arena.zero())
    y = c.potential.laws
    for m in range(y.n_points):
        d = y.dof.at(y.point_of.at(m))
        c.rows.effort.store(w, d, c.rows.effort.load(w, d) - y.slope.load(w, m) + y.inert.load(w, m))
    report_efforts_of_holds(c, w, c.rows.effort)


@ti.func
def report_affine_drives(c: ti.template(), w: ti.i32):
    """Efforts of drives, driving joints and motions: all that puts work in, less the efforts that are applied.

    Reads:  c.potential.laws, c.forces.constant, c.kinematic
    Writes: c.accumulators.drives.{effort, power}
    """
    y = c.potential.laws
    p = c.accumulators.drives
    for d in range(c.tables.n_qd):
        p.effort.store(w, d, c.tables.arena.zero())
    for m in range(y.n_points):
        d = y.dof.at(y.point_of.at(m))
        p.effort.store(w, d, p.effort.load(w, d) - y.drive.load(w, m))
    for k in range(y.n):
        d = y.dof.at(k)
        p.effort.store(w, d, p.effort.load(w, d) - c.forces.constant.load(w, d) * y.on.load(w, d))
    report_efforts_of_holds(c, w, p.effort)
    for n in range(p.n):
        add_drive_power(c, w, n, p.effort.load(w, p.dof.at(n)))


@ti.func
def _report_wrenches(c: ti.template(), w: ti.i32):
    """Force and torque of each joint on its child, at the child's anchor, world: - sum of V_r phi_r' on the child.

        F_p the force,  sum a_k x F_k the torque about the centre of mass

    Reads:  c.potential.{first, rows.gradient}, c.state
    Writes: c.rows.joint_wrench
    """
    for n in range(6 * c.tables.n_joints):
        c.rows.joint_wrench.store(w, n, c.tables.arena.zero())
    for r in range(c.n_rows):
        j = c.row_joint.at(r)
        if j >= 0:
            pull, couple = _wrench_of_row(c, w, r)
            arm = c.state.R.load(w, c.row_child.at(r)) * c.tables.anchor.load(w, j)
            add_to(c.rows.joint_wrench, w, 6 * j, pull)
            add_to(c.rows.joint_wrench, w, 6 * j + 3, couple - arm.cross(pull))


@ti.func
def _wrench_of_row(c: ti.template(), w: ti.i32, r: ti.i32):
    """Force of row r on the child of its joint, and its couple about the centre of mass."""
    f = c.potential.rows
    zero = c.tables.arena.zero()
    child = c.row_child.at(r)
    force = c.multipliers.load(w, r)
    pull = Vec3(zero, zero, zero)
    couple = Vec3(zero, zero, zero)
    for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
        i = f.entry_at.at(e) - 12 * child
        if i >= 0 and i < 12:
            given = _along(zero, i % 3) * (f.gradient.load(w, e) * force)
            if i < 3:
                pull = pull + given
            else:
                couple = couple + vector_at(f.x, w, 12 * child + i - i % 3).cross(given)
    return pull, couple


def _along(zero, k):
    """The unit vector along axis k, which the kernel knows (inside kernels)."""
    return Vec3(*(zero + ti.select(k == m, 1.0, 0.0) for m in range(3)))


def add_to(array, w, first, vector):
    """Add to three rows of an array (inside kernels)."""
    for m in range(3):
        array.store(w, first + m, array.load(w, first + m) + vector.parts[m])


@ti.func
def report_diagnostics(c: ti.template(), w: ti.i32):
    """Iterations and last displacement of the step, largest residual and rate of the rows of joints that act.

    Reads:  c.step, c.potential
    Writes: c.diag
    """
    p = c.potential
    zero = c.tables.arena.zero()
    position = zero
    velocity = zero
    find_rates(p.rows, w)
    for r in range(c.n_rows):
        if c.row_joint.at(r) >= 0 and c.is_square.at(r) != 0:
            acts = zero + p.stiffness.load(w, r) > 0.0
            position = ti.max(position, select(acts, ti.abs(p.rows.residual.load(w, r)), zero))
            velocity = ti.max(velocity, select(acts, ti.abs(p.rows.rate.load(w, r)), zero))
    put(c.diag, w, 0, c.step.iterations.load(w, 0), c.step.size.load(w, 0), position, velocity)
    _report_gap(c, w)


@needs.touching
@ti.func
def _report_gap(c: ti.template(), w: ti.i32):
    gap = c.barrier.least.load(w, 0)
    gap = select(gap < INFINITE_GAP, gap, c.tables.arena.zero() + ti.math.inf)
    put(c.diag, w, len(DIAGNOSTICS), ti.max(-gap, 0.0), gap, c.barrier.touching.load(w, 0))


@ti.func
def report_touches(c: ti.template(), w: ti.i32):
    """The contacts of a frame, one by one.

    Reads:  c.barrier
    Writes: c.contacts
    """
    k = c.barrier
    for lane in range(c.lanes):
        count = 0
        for n in range(ti.cast(one(k.candidates.count, w, lane, 0), ti.i32)):
            has_force, a, b, point, normal, gap, force = touch_of(k, w, lane, n, c.potential.rows.x)
            if has_force == 1:
                put_row(c.contacts.rows, w, lane, count, 1.0 * a, 1.0 * b, point, normal, gap, force)
                count += 1
        put_lane(c.contacts.summary.part(w, CONTACTS, 0), lane, 1.0 * count)


@ti.func
def energies_of_state(c: ti.template(), w: ti.i32):
    """Kinetic, potential and elastic energy [J].

    Reads:  c.potential, c.tables
    """
    f = c.potential.rows
    kinetic = c.tables.arena.zero()
    potential = c.tables.arena.zero()
    for i in range(f.n):
        v = f.v.load(w, i)
        kinetic = kinetic + _kinetic_energy(c, w, i, v * v * c.step.mass.load(w, i) * 0.5)
    for b in range(c.tables.n_bodies):
        for k in ti.static(range(3)):
            at = 12 * b + k
            fall = f.x.load(w, at) * c.tables.gravity.load(w, 0).parts[k] * c.step.falls.load(w, b)
            potential = potential - fall * c.step.mass.load(w, at)
    return sum_of(c.spins, kinetic, c, w), potential, sum_of(c.stores, c.potential.elastic.load(w, 0), c, w)


def _kinetic_energy(c, w, i, energy):
    """[J] of coordinate i; none of quasi-static bodies: their velocity is gone when a step begins (inside kernels)."""
    return energy * c.step.keeps.load(w, i // AFFINE_DOFS) if c.step.has_quasi_static else energy


def affine_spins(c) -> tuple:
    """What has kinetic energy besides the bodies."""
    return when(c.potential.laws.has_armature, lambda c, w: energy_of_armature(c.potential.laws, w))


def affine_stores(c) -> tuple:
    """What stores energy besides rows."""
    return when(c.touches, lambda c, w: c.barrier.barrier.load(w, 0), lambda c, w: c.barrier.held.load(w, 0))


@ti.func
def close_affine(c: ti.template(), w: ti.i32):
    """[J], kinetic, potential and elastic, by the tables as they are.

    Reads:  c.potential, c.tables
    Writes: c.potential
    """
    _energy = find_energy(c.potential, w, c.potential.rows.next_x, c.step.alpha)
    kinetic, potential, elastic = energies_of_state(c, w)
    return kinetic + potential + elastic


@ti.func
def open_affine(c: ti.template(), w: ti.i32):
    """As `close_affine`, by tables that are new: forces may jump, and bdf2 begins anew.

    Reads:  c.potential, c.tables
    Writes: c.potential, c.step.age, c.barrier
    """
    for b in range(c.tables.n_bodies):
        c.step.age.store(w, b, c.tables.arena.zero())
    _renew_contacts(c, w)
    return close_affine(c, w)


@needs.resting_contacts
def _renew_contacts(c, w):
    renew(c.barrier, w, c.potential.rows.next_x)


@needs.energy_balance
@ti.func
def _report_energy(c: ti.template(), w: ti.i32, steps: ti.i32):
    """The energy balance: ENERGY columns. What the formula of the step takes is the drift.

    Reads:  c.potential, c.forces.account.work
    Writes: c.total_start, c.rows.energy
    """
    kinetic, potential, elastic = energies_of_state(c, w)
    write_energies(c, w, steps, kinetic, potential, elastic)
