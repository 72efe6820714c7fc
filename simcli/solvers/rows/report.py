"""Reactions and efforts of a constrained evaluation: what rows, laws and locks give, added to what the tree shows."""

from simcli.kernels.articulation.contacts import push_links
from simcli.kernels.articulation.report import report_wrenches
from simcli.kernels.articulation.rnea import rnea_backward, rnea_link_forces
from simcli.kernels.device.stage_lists import when
from simcli.kernels.forces.bushings import report_cables
from simcli.kernels.forces.wrenches import report_joint_wrenches
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import nearest_turn, select
from simcli.kernels.rows.bounded_laws import FREE, elastic_law
from simcli.kernels.rows.jacobian import apply_jacobian_transpose, report_anchor_pairs, share_gears
from simcli.kernels.rows.tree_rows import turning
from simcli.solvers.base import needs
from simcli.solvers.base.gyroscopic_torques import hold_turns
from simcli.solvers.base.integrators import H
from simcli.solvers.rows.active_set import acceleration_of_law
from simcli.solvers.rows.drives import keep_before
from simcli.solvers.rows.motion_work import add_kinematic_efforts, add_kinematic_wrenches


@ti.func
def clear_wrenches(c: ti.template(), w: ti.i32):
    """No reactions: those of joints outside the tree are sums.

    Writes: c.rows.joint_wrench
    """
    for j in range(6 * c.tables.n_joints):
        c.rows.joint_wrench.store(w, j, c.tables.arena.zero())


@needs.joint_wrenches
def _forget_wrenches(c, w):
    clear_wrenches(c, w)


def report_reactions(c: ti.template(), w: ti.i32):
    """Joint wrenches of the evaluation that was just made.

    Reads:  c.state
    Writes: c.state.{a, f, u}, c.rows.joint_wrench
    """
    rnea_link_forces(c.tables, c.state, w)
    rnea_backward(c.tables, c.state, c.state.u, w)
    _forget_wrenches(c, w)
    hold_turns(c, w)
    report_wrenches(c.tables, c.state, c.rows, w)
    _report_cables(c, w)
    _report_efforts(c, w)


@ti.func
def report_constrained_reactions(c: ti.template(), w: ti.i32):
    """Joint wrenches of the evaluation that was just made: what the links' motion needs, less what rows give.

    Reads:  c.state, c.bound
    Writes: c.state.{a, f, u}, c.rows.joint_wrench
    """
    t = c.tables
    s = c.state
    y = c.bound.system
    clear_wrenches(c, w)
    rnea_link_forces(t, s, w)
    share_among_links(c, w)
    apply_jacobian_transpose(y, s, w, -1.0, True)
    _push_links(c, w)
    rnea_backward(t, s, s.u, w)
    hold_turns(c, w)
    report_wrenches(t, s, c.rows, w)
    _report_cables(c, w)
    _report_efforts(c, w)
    report_anchor_pairs(t, y, s, c.rows, w)
    add_kinematic_wrenches(c, w)


def reactions(c) -> tuple:
    """The stage that shows joint wrenches of the evaluation before it, if frames show them."""
    return when(c.reports["wrenches"], report_constrained_reactions if c.constrained else report_reactions)


def later_reactions(c) -> tuple:
    """The stage that adds the forces of rows where a step ends, if frames show joint wrenches."""
    return when(c.reports["wrenches"], _add_later_reactions)


def _add_later_reactions(c, w):
    share_among_links(c, w)
    report_anchor_pairs(c.tables, c.bound.system, c.state, c.rows, w)
    add_kinematic_wrenches(c, w)


@needs.cables
def _report_cables(c, w):
    report_cables(c.forces.bushings, c.rows, w)


@needs.joint_wrenches
def _report_efforts(c, w):
    report_joint_wrenches(c.forces.joint_wrenches, c.rows, w)


@needs.shared_gears
def share_among_links(c, w):
    """Forces of gears to the links that share them (inside kernels)."""
    share_gears(c.bound.system, w)


@needs.touching
def _push_links(c, w):
    m = c.bound.impulses
    push_links(
        m.contacts.collider,
        c.tables,
        c.state,
        m.problem.contacts.impulse,
        c.state.f,
        w,
        c.tables.arena.zero() - 1.0 / c.constants.load(w, H),
    )


def efforts_of_rows(c) -> tuple:
    """What laws, gears and prescribed motions add to the efforts that `report_efforts` puts; armature takes none."""
    if not c.constrained:
        return ()
    y = c.bound.system
    kinematic = (*when(c.accumulators.has["motions"], keep_before), add_kinematic_efforts)
    return (
        _add_dofs,
        *when(y.laws.n, _add_laws),
        _add_rows,
        *when(y.rows.n_gears, _add_gears),
        *when(c.kinematic.n, *kinematic),
    )


def _add_effort(c, w, d, effort):
    c.rows.effort.store(w, d, c.rows.effort.load(w, d) + effort)


@ti.func
def _add_dofs(c: ti.template(), w: ti.i32):
    """What holds locked dofs, and laws of the tree."""
    y = c.bound.system
    for n in range(y.n_dofs):
        _add_effort(c, w, c.tables.tree_dof.at(n), y.effort.load(w, n))


@ti.func
def _add_laws(c: ti.template(), w: ti.i32):
    """What laws give, of rows also where they are locked."""
    y = c.bound.system
    for k in range(y.laws.n):
        d = y.laws.dof.at(k)
        locked = y.laws.lock.load(w, k) != FREE
        effort = y.laws.effort.load(w, k)
        if y.laws.unknown.at(k) < y.n_dofs:  # what holds a locked dof has been added
            _add_effort(c, w, d, select(locked, effort * 0.0, effort))
        elif y.laws.is_loop.at(k) != 0:
            _add_effort(c, w, d, _with_armature(c, w, k, d, effort))
        elif y.laws.is_ball.at(k) != 0:
            add_limit_of_ball(c, w, k)


def _with_armature(c, w, k, d, effort):
    """The effort of law k and of the armature of its dof d (inside kernels)."""
    if not c.forces.has_armature:
        return effort
    laws = c.bound.system.laws
    change = acceleration_of_law(c, w, k) + laws.shift.load(w, k) + laws.lag.load(w, k)
    return effort + change * c.forces.armature.load(w, d)


@ti.func
def _add_rows(c: ti.template(), w: ti.i32):
    """What rows of one joint give along its coordinates, and prescribed motions of rows."""
    y = c.bound.system
    for r in range(y.n_rows):
        if y.is_own.at(r) != 0:
            for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
                _add_effort(c, w, y.j_dof.at(e), y.entry.load(w, y.n_mass + e) * y.force.load(w, r))
    for m in range(y.n_prescribed_rows):
        _add_effort(c, w, y.prescribed_dof.at(m), y.force.load(w, y.prescribed_row.at(m)))


@ti.func
def add_limit_of_ball(c: ti.template(), w: ti.i32, k: ti.i32):
    """Add the couple of law k, the limit of a ball outside the tree, to the efforts along its three velocities.

    Reads:  c.bound, c.state.R
    Writes: c.rows.effort
    """
    laws = c.bound.system.laws
    rows = c.bound.system.rows
    n = laws.row.at(k)
    at = rows.anchor_pair.at(n)
    R_a, _spin, _alpha = turning(c.tables, c.state, w, rows.link_a.at(at))
    couple = (R_a * rows.frame_a.load(w, at)).T * rows.jacobian_b.load(w, n).moment * laws.effort.load(w, k)
    first = laws.dof.at(k) - laws.component.at(k)
    for i in ti.static(range(3)):
        c.rows.effort.store(w, first + i, c.rows.effort.load(w, first + i) + couple.parts[i])


@ti.func
def _add_gears(c: ti.template(), w: ti.i32):
    """Add what gears give to the coordinates that they join.

    Reads:  c.bound
    Writes: c.rows.effort
    """
    y = c.bound.system
    for g in range(y.rows.n_geared):
        n = y.rows.first_gear + g
        force = y.force.load(w, n)
        for k in range(y.rows.term_start.at(g), y.rows.term_start.at(g + 1)):
            _add_effort(c, w, y.rows.term_dof.at(k), force * y.rows.slope.load(w, k))


@ti.func
def report_rows(c: ti.template(), w: ti.i32):
    """Iterations and violations of rigid rows at the frame, in the order of DIAGNOSTICS.

    Reads:  c.bound
    Writes: c.bound.diag
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    position = zero
    velocity = zero
    for r in range(y.n_rows):
        if y.is_hard.at(r) != 0:
            acts = (zero + y.enabled.load(w, r) != 0.0) & (zero + y.compliance.load(w, r) == 0.0)
            position = ti.max(position, select(acts, ti.abs(y.rows.residual.load(w, r)), zero))
            velocity = ti.max(velocity, select(acts, ti.abs(y.rows.rate.load(w, r)), zero))
    c.bound.diag.store(w, 0, c.bound.tries.load(w, 0))
    c.bound.diag.store(w, 1, position)
    c.bound.diag.store(w, 2, velocity)


@ti.func
def row_energy(c: ti.template(), w: ti.i32):
    """[J] stored in compliant rows, residual^2 / (2 compliance).

    Reads: c.bound
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    total = zero
    for r in range(y.n_rows):
        compliance = zero + y.compliance.load(w, r)
        yields = (compliance > 0.0) & (zero + y.enabled.load(w, r) != 0.0)
        residual = y.rows.residual.load(w, r)
        total = total + select(yields, residual * residual * 0.5 / select(yields, compliance, zero + 1.0), zero)
    return total


@ti.func
def law_energy(c: ti.template(), w: ti.i32):
    """[J] stored in laws of rows: torsion springs on joints outside the tree, soft limits there and of balls.

    Reads: c.{bound, forces}
    """
    y = c.bound.system
    total = c.tables.arena.zero()
    for k in range(y.laws.n):
        r = y.laws.row.at(k)
        if r >= 0:
            stored = elastic_law(y.laws, c.forces, w, k, y.rows.residual.load(w, r))
            total = total + stored.energy * y.enabled.load(w, r)
    return total


@ti.func
def spin_energy(c: ti.template(), w: ti.i32):
    """[J] of the armature of joints outside the tree.

    Reads: c.{bound, forces}
    """
    y = c.bound.system
    total = c.tables.arena.zero()
    for k in range(y.laws.n):
        if y.laws.is_loop.at(k) != 0:
            r = y.laws.row.at(k)
            rate = y.rows.rate.load(w, r)
            energy = rate * rate * (0.5 * c.forces.armature.load(w, y.laws.dof.at(k)))
            total = total + energy * y.enabled.load(w, r)
    return total


@ti.func
def unwrap_rows(c: ti.template(), w: ti.i32):
    """Give projected angles of successive turns the full turns that their rows have counted.

    Reads:  c.bound
    Writes: c.state.q
    """
    y = c.bound.system
    for m in range(y.n_turns):
        x = c.state.q.load(w, y.turn_q.at(m))
        c.state.q.store(w, y.turn_q.at(m), nearest_turn(x, y.rows.angle.load(w, y.turn_row.at(m))))
