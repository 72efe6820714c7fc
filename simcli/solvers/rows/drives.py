"""What the drives of joints give: their laws at the coordinates and rates that a frame shows.

That is the same function of the state in every solver: what an implicit step solves with is its value at the end of the
step. A `motion` gives what the equations of the last evaluation found for it.
"""

from collections.abc import Sequence

import numpy as np

from simcli.kernels.articulation.kinematics import quaternion_at
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.forces.efforts import component_of, turn_to_target
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.coordinate_laws import bound_law, curves_of, part_within, servo_law, turn_law, value_on_line
from simcli.model.joints.catalogue import BALLS
from simcli.model.tables.model import Model

_DRIVE, BALL_DRIVE, _MOTION = 0, 1, 2


class Drives:
    """Dofs whose drive is asked for, and joints whose power is.

    Args:
        model: host tables.
        tables: device tables.
        arena: receives the columns.
        joints: indices of the joints, rising.
        powers: those whose power is asked for, too.
        switches, prescribed: (NV,) rows of constraints by which a joint outside the tree is switched, and by which it
            follows its motion; -1 where there is none.

    Attributes:
        n: dofs.  dof: of each.  q: index into joint_q, of a ball of its quaternion.  kind: DRIVE, BALL_DRIVE or MOTION.
        component: of a dof of a ball, which of the three.  row, lead: see `switches` and `prescribed`.
        unknown: of a motion of the tree, the number of its acceleration in the system, else -1.
        before: of a motion, the effort without what kinematic bodies are held by.
        effort_limit: [N, N m], infinite where there is none.  curves: those by speed, of those that are `by_speed`.
        joint: of those whose power is asked for, else -1.  is_first: 1 for the first dof of its joint.
        effort: [N, N m], (NV), of the dofs.  power: [W], (J), of the joints.
    """

    _data_oriented = True

    def __init__(
        self,
        model: Model,
        tables: Tables,
        arena: Arena,
        joints: Sequence[int],
        powers: Sequence[int],
        switches: np.ndarray,
        prescribed: np.ndarray,
    ):
        of, starts = model.joints, model.joints.qd_start
        dofs = np.concatenate([np.zeros(0, int), *(np.arange(starts[j], starts[j + 1]) for j in joints)]).astype(int)
        owner = model.dofs.joint[dofs]
        component = dofs - starts[owner]
        is_ball = np.isin(of.kind[owner], BALLS)
        moved = tables.ever(lambda m: m.motions.kind[None] != 0)[dofs]
        items = arena.records(len(dofs))
        self.n = len(dofs)
        self.dof, self.component = items.ints(dofs), items.ints(component)
        self.q = items.ints(of.q_start[owner] + np.where(is_ball, 0, component))
        self.kind = items.ints(np.select([moved, is_ball], [_MOTION, BALL_DRIVE], _DRIVE))
        self.has_motion, self.has_ball = bool(moved.any()), bool(is_ball.any())
        self.row, self.prescribed_row = items.ints(switches[dofs]), items.ints(prescribed[dofs])
        self.unknown, self.before = items.ints(np.where(moved, tables.unknown_of_dof[dofs], -1)), items.array()
        self.effort_limit = items.column(model.dofs.effort_limit[:, dofs])
        self.has_limit = bool(tables.ever(lambda m: np.isfinite(m.dofs.effort_limit))[dofs].any())
        self.curves = curves_of(model, dofs, arena)
        self.has_curves = self.curves is not None
        self.by_speed = items.ints(np.isin(dofs, model.effort_curves.dof))
        self.joint = items.ints(np.where(np.isin(owner, powers), owner, -1))
        self.is_first = items.ints(dofs == starts[owner])
        self.effort, self.power = arena.array(model.n_qd), arena.array(model.n_joints)

    def clear(self):
        """No drive acts on what is not asked for."""
        for array in (self.effort, self.power):
            array.write(np.zeros((1, array.n_items, 1)))


@ti.func
def report_drives(c: ti.template(), w: ti.i32):
    """Efforts of drives now, and what each joint's put in.

    Reads:  c.{forces, state, rows.effort}
    Writes: c.accumulators.drives.{effort, power}
    """
    p = c.accumulators.drives
    for n in range(p.n):
        effort = effort_of_drive(c, w, n)
        p.effort.store(w, p.dof.at(n), effort)
        add_drive_power(c, w, n, effort)


@ti.func
def add_drive_power(c: ti.template(), w: ti.i32, n: ti.i32, effort: ti.template()):
    """Power of drive n, after those of the dofs of its joint before it, where it is asked for.

    Reads:  c.state.qd
    Writes: c.accumulators.drives.power
    """
    p = c.accumulators.drives
    j = p.joint.at(n)
    if j >= 0:
        power = effort * c.state.qd.load(w, p.dof.at(n))
        if p.is_first.at(n) == 0:
            power = power + p.power.load(w, j)
        p.power.store(w, j, power)


@ti.func
def effort_of_drive(c: ti.template(), w: ti.i32, n: ti.i32):
    """Effort of drive n: its law, within its limit; none while a soft limit acts, or where the joint is switched off.

    Reads: c.{forces, state, rows.effort}
    """
    p = c.accumulators.drives
    d = p.dof.at(n)
    zero = c.tables.arena.zero()
    x = c.state.q.load(w, p.q.at(n))
    v = c.state.qd.load(w, d)
    given = servo_law(c.forces, w, d, x, v).force
    if ti.static(p.has_ball):
        if p.kind.at(n) == BALL_DRIVE:
            R = quaternion_at(c.state.q, w, p.q.at(n)).matrix()
            error, _factor = turn_to_target(c.forces, w, d - p.component.at(n), R)
            given = given + turn_law(c.forces, w, d, component_of(error, p.component.at(n))).force
            given = given * share_of_ball(c, w, n, error)
    if ti.static(c.forces.has_soft_limits):
        bound = bound_law(c.forces, w, d, x, v)
        given = select((bound.stiffness > 0.0) & (p.kind.at(n) != BALL_DRIVE), zero, given)
    if ti.static(p.has_limit):
        limit = zero + p.effort_limit.load(w, n)  # of a ball it bounds the size, which its components do not pass
        least, most = -limit, limit
        if ti.static(p.has_curves):
            if p.by_speed.at(n) != 0:
                most = value_on_line(p.curves, w, n, v)[0]
                least = -value_on_line(p.curves, w, n, -v)[0]
        given = select(given > most, most, select(given < least, least, given))
    if ti.static(p.has_motion):
        if p.kind.at(n) == _MOTION:
            given = effort_of_motion(c, w, n)
    return _switched(c, w, p.row.at(n), given)


@ti.func
def share_of_ball(c: ti.template(), w: ti.i32, n: ti.i32, error: ti.template()):
    """Part of the torque of a ball, of whose drive n is a component, that its limit lets pass.

    Args:
        error: rotation vector to the target.

    Reads: c.{forces, state}
    """
    p = c.accumulators.drives
    zero = c.tables.arena.zero()
    limit = zero + p.effort_limit.load(w, n)  # it may be infinite
    first = p.dof.at(n) - p.component.at(n)
    square = zero
    for k in ti.static(range(3)):
        law = servo_law(c.forces, w, first + k, zero, c.state.qd.load(w, first + k))
        square = square + (law + turn_law(c.forces, w, first + k, error.parts[k])).force ** 2
    return part_within(square, limit)


@ti.func
def keep_before(c: ti.template(), w: ti.i32):
    """Remember the efforts of motions before those are added that hold kinematic bodies.

    Writes: c.accumulators.drives.before
    """
    p = c.accumulators.drives
    for n in range(p.n):
        p.before.store(w, n, c.rows.effort.load(w, p.dof.at(n)))


@ti.func
def effort_of_motion(c: ti.template(), w: ti.i32, n: ti.i32):
    """What a motion gives: the effort of its lock or of its row, or what holds the kinematic body that it prescribed.

    Reads: c.bound.system.{effort, force}, c.rows.effort
    """
    p = c.accumulators.drives
    y = c.bound.system
    total = c.tables.arena.zero()
    if p.unknown.at(n) >= 0:
        total = total + y.effort.load(w, p.unknown.at(n))
    if p.prescribed_row.at(n) >= 0:
        total = total + y.force.load(w, p.prescribed_row.at(n))
    if ti.static(c.kinematic.n > 0):
        total = total + c.rows.effort.load(w, p.dof.at(n)) - p.before.load(w, n)
    return total


def _switched(c, w, row, effort):
    """An effort, or 0 where the joint of a row is off (inside kernels)."""
    if not c.constrained:
        return effort
    is_on = (row < 0) | (c.bound.system.enabled.load(w, ti.max(row, 0)) != 0.0)
    return select(is_on, effort, effort * 0.0)
