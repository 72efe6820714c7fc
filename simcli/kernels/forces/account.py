"""The account of a run: work that forces have done since its start, the powers of an instant, and what springs store.

Whoever knows what a force does books it here: in what dissipates, or in what is put in. Work is force times displacement;
steps that know powers book power times time. Joint efforts and soft limits are booked by their powers.
"""

from simcli.kernels.articulation.kinematics import BALL
from simcli.kernels.device.arena import Arena, local
from simcli.kernels.forces.efforts import ball_error, coordinate_of, is_smooth_drive
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.coordinate_laws import bound_law, servo_law, torsion_law, turn_law

DISSIPATED, SUPPLIED = range(2)  # rows of each array


class Account:
    """Work and power of all forces, dissipated and supplied (methods inside kernels, but for `clear`).

    Args:
        arena: of the run.

    Attributes:
        work: [J] since the start.  power: [W] now.  start: [W] where a stretch began whose work is a trapezoid.
    """

    _data_oriented = True

    def __init__(self, arena: Arena):
        self.work, self.power, self.start = self.arrays = arena.records(2).arrays(3)

    def clear(self):
        """Nothing is done yet."""
        for array in self.arrays:
            array.write([[[0.0], [0.0]]])

    def dissipate(self, w, energy) -> None:
        """Book energy that is gone [J]."""
        self.work.store(w, DISSIPATED, self.work.load(w, DISSIPATED) + energy)

    def supply(self, w, energy) -> None:
        """Book energy that was put in [J]."""
        self.work.store(w, SUPPLIED, self.work.load(w, SUPPLIED) + energy)

    def set_power(self, w, dissipated, supplied) -> None:
        """The powers of this instant [W]."""
        self.power.store(w, DISSIPATED, dissipated)
        self.power.store(w, SUPPLIED, supplied)

    def add_power(self, w, dissipated, supplied) -> None:
        """More power at this instant [W]."""
        self.set_power(w, self.power.load(w, DISSIPATED) + dissipated, self.power.load(w, SUPPLIED) + supplied)

    def book_power(self, w, time) -> None:
        """Book the powers of this instant over a time [s]."""
        for k in range(2):
            self.work.store(w, k, self.work.load(w, k) + self.power.load(w, k) * time)

    def change(self, w, k):
        """[W], by which a power has grown since the start of the stretch."""
        return local(self.power.load(w, k) - self.start.load(w, k))

    def begin_stretch(self, w) -> None:
        """A stretch begins with the powers of this instant."""
        for k in range(2):
            self.start.store(w, k, self.power.load(w, k))

    def begin_stretch_where(self, w, where) -> None:
        """As `begin_stretch`, in some worlds."""
        for k in range(2):
            self.start.store(w, k, select(where, self.power.load(w, k), self.start.load(w, k)))

    def book_change(self, w, time) -> None:
        """Book what the trapezoidal rule takes at the end of a stretch, half a step [s] of the change of power."""
        for k in range(2):
            self.work.store(w, k, self.work.load(w, k) + self.change(w, k) * time)


@ti.func
def effort_power(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, b: ti.template()):
    """Powers of joint efforts over a step of length b that ends with the rates qd + b qdd; b = 0: now.

        dissipated: c qd+ . qd_mid     input: (effort - damping) . qd_mid

    Reads:  fo.{constant, stiffness, rate_gain, target, target_rate, damping}, s.{q, qd, qdd}
    Writes: adds to fo.account.power
    """
    if ti.static(fo.has_efforts):
        _add_effort_power(t, fo, s, w, b)


@ti.func
def _add_effort_power(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, b: ti.template()):
    zero = t.arena.zero()
    dissipated = zero
    supplied = zero
    for n in range(t.n_tree_dofs):
        d = t.tree_dof.at(n)
        before = s.qd.load(w, d)
        after = before + s.qdd.load(w, d) * b
        mid = (before + after) * 0.5
        effort, damping = effort_over(t, fo, s, w, d, before, after, b)
        dissipated = dissipated + ti.max(after * mid, zero) * damping  # a rate that turns round in a step is none
        supplied = supplied + effort * mid
    if ti.static(fo.has_ball_drives):
        for i in range(t.n_links):
            if t.kind.at(i) == BALL:
                supplied = supplied + power_of_ball(t, fo, s, w, i, b)
    fo.account.add_power(w, dissipated, supplied)


@ti.func
def power_of_ball(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32, b: ti.template()):
    """Power of the drive of a ball joint over a step of length b, as in `effort_power`.

    Reads: fo columns, s.{q, qd, qdd}
    """
    supplied = t.arena.zero()
    error = ball_error(t, fo, s, w, i)
    for k in ti.static(range(3)):
        d = t.link_qd.at(i) + k
        if is_smooth_drive(fo, d):
            after = s.qd.load(w, d) + s.qdd.load(w, d) * b
            pull = turn_law(fo, w, d, error.parts[k] - after * b).force
            supplied = supplied + pull * (s.qd.load(w, d) + after) * 0.5
    return supplied


@ti.func
def effort_over(
    t: ti.template(),
    fo: ti.template(),
    s: ti.template(),
    w: ti.i32,
    d: ti.i32,
    before: ti.template(),
    after: ti.template(),
    b: ti.template(),
):
    """Applied effort and drive of a dof of the tree over a step of length b, and its damping.

    Args:
        before, after: rates at both ends.

    Reads: fo columns, s.q
    """
    zero = t.arena.zero()
    effort = zero + fo.constant.load(w, d)
    damping = zero
    rests = zero > 0.0
    if ti.static(fo.has_damping):
        damping = damping + fo.damping.load(w, d)
    if ti.static(fo.has_soft_limits):
        if t.dof_q.at(d) >= 0:
            bound = bound_law(fo, w, d, coordinate_of(t, s, w, d), before)
            damping = damping + bound.damping
            rests = bound.stiffness > 0.0
    if is_smooth_drive(fo, d):
        effort = effort + servo_law(fo, w, d, coordinate_of(t, s, w, d) + after * b, after).where(~rests).force
    return effort, damping


@ti.func
def elastic_energy(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32):
    """[J] stored in the springs, cables, torsion springs and soft limits, after `load_links`.

    Reads: fo.potential, torsion springs and soft limits, s.q
    """
    zero = t.arena.zero()
    total = zero
    if ti.static(fo.has_external):
        total = total + fo.potential.load(w, 0)
    for n in range(t.n_tree_dofs):
        d = t.tree_dof.at(n)
        if ti.static(fo.has_torsion):
            total = total + torsion_law(fo, w, d, coordinate_of(t, s, w, d)).energy
        if ti.static(fo.has_soft_limits):
            if t.dof_q.at(d) >= 0:
                total = total + bound_law(fo, w, d, coordinate_of(t, s, w, d), zero).energy
    return total
