"""What acts on one coordinate, law by law: force, slopes, effort limits, and tensions by tables.

A law is a function of the coordinate x and its rate v, and its `Response` is all that a stepper knows of it: implicit steps
take `foresee` of it, statics its force, energies of affine bodies its V and D, the ledger its V.
"""

import numpy as np

from simcli.kernels.device.arena import Arena, local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.values import Value
from simcli.model.forces.lines import bent_lines, ends_of_lines
from simcli.model.tables.model import Model


@ti.func
def limit_of(law: ti.template(), w: ti.i32, k: ti.i32):
    """Effort limit of the drive of law k; of a ball the share of its component.

    Reads: law.{effort_limit, share}
    """
    limit = law.changed.arena.zero() + law.effort_limit.load(w, k)
    if ti.static(law.has_shared_limit):
        if law.shares_limit.at(k) != 0:
            limit = law.share.load(w, k)
    return limit


def limits_of(law, w, k):
    """Least and largest effort of the drive of law k, at the speed at which its graph was stated (inside kernels)."""
    limit = local(limit_of(law, w, k))
    if not law.has_curves:
        return -limit, limit
    arena = law.changed.arena
    by_speed = local(arena.zero() + ti.cast(law.by_speed.at(k), arena.device.real) > 0.0)
    return local(select(by_speed, law.least_effort.load(w, k), -limit)), local(
        select(by_speed, law.most_effort.load(w, k), limit)
    )


def state_limits(law, w, k, v):
    """Bound the effort of the drive of law k by its curve at a speed: E(v) along it, E(-v) against it (inside kernels)."""
    if law.has_curves:
        law.most_effort.store(w, k, value_on_line(law.curves, w, k, v)[0])
        law.least_effort.store(w, k, -value_on_line(law.curves, w, k, -v)[0])


@ti.func
def limited_drive(law: ti.template(), w: ti.i32, k: ti.i32):
    """Effort of the drive of law k at once, within its limit: of a ball by the size of all three.

    Reads: law.{effort_limit, drive}
    """
    one = law.changed.arena.zero() + 1.0
    limit = one * law.effort_limit.load(w, k)
    drive = law.drive.load(w, k)
    least, most = limits_of(law, w, k)
    found = ti.max(ti.min(drive, most), least)
    if ti.static(law.has_shared_limit):
        if law.shares_limit.at(k) != 0:
            first = k - law.component.at(k)
            square = law.drive.load(w, first) ** 2 + law.drive.load(w, first + 1) ** 2 + law.drive.load(w, first + 2) ** 2
            found = drive * part_within(square, limit)
    return found


def part_within(square, limit):
    """Part of a vector, of whose size this is the square, that a limit lets pass."""
    return select(square > limit * limit, limit / ti.sqrt(square), square * 0.0 + 1.0)


@ti.func
def share_limits(law: ti.template(), w: ti.i32, may: ti.template(), rounding: ti.template()):
    """Share the effort limits E of balls among their components: a ball is a box of the shares where it is met.

        u = (kappa x + c1 - g1 v) / (1 + kappa),   |u| <= E: no bound,   else E |u_k| / |u|

    x is the drive and v the velocity that were found, kappa = g1 delta. Where both stay as they are, x is c1 - g1 v if that
    is within E, else E along it: the nearest point of the ball, whatever kappa is; it makes the way there short.

    Args:
        may: lanes that may change theirs.
        rounding: change relative to E that is none.

    Reads:  law.{graph, found, effort, slide}, columns
    Writes: law.{share, changed}
    """
    zero = law.changed.arena.zero()
    for k in range(law.n):
        if law.shares_limit.at(k) != 0 and law.component.at(k) == 0:
            kappa = zero
            size = zero
            for m in ti.static(range(3)):
                kappa = kappa + law.drive_gain.load(w, k + m) * law.delta.load(w, k + m) * (1.0 / 3.0)
            for m in ti.static(range(3)):
                size = size + wanted_drive(law, w, k + m, kappa) ** 2
            size = ti.sqrt(size)
            for m in ti.static(range(3)):
                limit = zero + law.effort_limit.load(w, k + m)
                u = ti.abs(wanted_drive(law, w, k + m, kappa))
                full = size > limit
                share = select(full, limit * u / select(full, size, zero + 1.0), zero + ti.math.inf)
                before = law.share.load(w, k + m)
                moved = may & ~((share == before) | (ti.abs(share - before) <= rounding * limit))
                law.changed.store(w, 0, select(moved, zero + 1.0, law.changed.load(w, 0)))
                law.share.store(w, k + m, select(may, share, before))


def wanted_drive(law, w, k, kappa):
    """Component of u, see `share_limits`."""
    v = law.found.load(w, k)
    rest = local(law.rest.load(w, k) - law.rest_gain.load(w, k) * v - law.friction.load(w, k) * law.slide.load(w, k))
    given = local(law.drive.load(w, k) - law.drive_gain.load(w, k) * v)
    return local(((law.effort.load(w, k) - rest) * kappa + given) / (kappa + 1.0))


class Response(Value):
    """What laws give at a coordinate and its rate; responses of several laws add up.

        F = -dV/dx - dD/dv,   k = -dF/dx,   c = -dF/dv

    Attributes:
        force, stiffness, damping: F, k, c.
        energy: V, that is stored.
        loss: D, the dissipation function; of a damper half its power.

    Source: Rayleigh (1873), the dissipation function. Deviation: constant efforts have neither V nor D; their work is
    supplied.
    """

    width = 5

    force, stiffness, damping, energy, loss = (property(lambda self, k=k: self.parts[k]) for k in range(5))

    @staticmethod
    def none(zero) -> "Response":
        """Of no law."""
        return Response(*(zero for _ in range(5)))

    def where(self, acts) -> "Response":
        """Only in lanes where it acts."""
        return Response(*(select(acts, part, part * 0.0) for part in self.parts))


def foresee(law: Response, v, b):
    """Force of a law at the end of a time b, linear in the acceleration a: F(x + b v + b^2 a, v + b a) = push - gain a.

    Returns:
        push = F - b k v, and gain = b (c + b k).
    """
    return local(law.force - law.stiffness * v * b), local((law.damping + law.stiffness * b) * b)


def foresee_again(stiffness, gain, moved, gained, b):
    """What the second node of an implicit step adds to the push of a law: 2 b k k1_q + 2 gain k1.

    Args:
        stiffness, gain: of the law in this stage, see `foresee`.
        moved, gained: k1_q and k1, what the first stage gave to the coordinate and to its rate.
    """
    return local((stiffness * moved * b + gain * gained) * 2.0)


def constant_law(fo, w, d):
    """Applied effort of a dof."""
    none = fo.potential.arena.zero()
    return Response(none + fo.constant.load(w, d), none, none, none, none)


def damper_law(fo, w, d, v):
    """Viscous damping of a dof."""
    none = fo.potential.arena.zero()
    c = local(none + fo.damping.load(w, d))
    return Response(-(v * c), none, c, none, v * v * c * 0.5)


def drag_law(viscous, quadratic, v):
    """Viscous and quadratic drag along a velocity, at the speed v >= 0.

    F = -(c + q v) v,   D = c v^2 / 2 + q v^3 / 3
    """
    none, factor = v * 0.0, local(viscous + quadratic * v)
    return Response(-(factor * v), none, factor + quadratic * v, none, v * v * (viscous * 0.5 + quadratic * v * (1.0 / 3.0)))


def bound_law(fo, w, d, x, v):
    """Soft limit of a dof; nothing while the coordinate is between the bounds.

        F = k (bound - x) - c v     beyond a bound

    Source: joint limits of the Newton engine, which go before the drive. No deviation.
    """
    lower, upper = fo.soft_lower.load(w, d), fo.soft_upper.load(w, d)
    none = fo.potential.arena.zero()
    over = local(select(x < lower, none + lower, select(x > upper, none + upper, none + x)) - x)
    acts = local((x < lower) | (x > upper))
    k = select(acts, none + fo.soft_stiffness.load(w, d), none)
    c = select(acts, none + fo.soft_damping.load(w, d), none)
    return Response(over * k - v * c, k, c, over * over * k * 0.5, v * v * c * 0.5)


def torsion_law(fo, w, d, x):
    """Torsion springs of a dof."""
    none = fo.potential.arena.zero()
    k, turn = fo.torsion.load(w, d), local(fo.torsion_rest.load(w, d) - x)
    return Response(turn * k, none + k, none, turn * turn * k * 0.5 + fo.torsion_energy.load(w, d), none)


def servo_law(fo, w, d, x, v):
    """Drive of a dof, as if it had no effort limit and no soft limit acted; the effort that it is told is not in V.

    F = driving + k (target - x) + c (target_rate - v)
    """
    none = fo.potential.arena.zero()
    effort, k, c, energy, loss = local(none + fo.driving.load(w, d)), none, none, none, none
    if fo.has_drives:
        k, c = local(none + fo.stiffness.load(w, d)), local(none + fo.rate_gain.load(w, d))
        error, lag = local(fo.target.load(w, d) - x), local(fo.target_rate.load(w, d) - v)
        effort = local(effort + error * k + lag * c)
        energy, loss = k * error * error * 0.5, c * lag * lag * 0.5
    return Response(effort, k, c, energy, loss)


def turn_law(fo, w, d, error):
    """Spring of the drive of a ball, along one of its dofs, by what it lacks to its target, a part of a rotation vector."""
    none = fo.potential.arena.zero()
    k = local(none + fo.ball_stiffness.load(w, d))
    return Response(error * k, k, none, error * error * k * 0.5, none)


def add_applied(law: Response, fo, w, d, x, v, lag=None) -> Response:
    """A response with what acts on a dof wherever it is: applied efforts, dampers, torsion springs.

    Args:
        lag: acceleration that its armature takes besides; not on trees, whose mass matrix has that.
    """
    law = law + constant_law(fo, w, d)
    if fo.has_damping:
        law = law + damper_law(fo, w, d, v)
    if fo.has_armature and lag is not None:
        none = law.damping * 0.0
        law = law - Response(lag * fo.armature.load(w, d), none, none, none, none)
    if fo.has_torsion:
        law = law + torsion_law(fo, w, d, x)
    return law


class TableLines:
    """Device columns of lines through the points of tables, see model/forces/lines.py.

    Args:
        count: of items.
        item, x, y: of the points.
        arena: receives the columns.
        is_held: whether lines are level beyond their ends.
    """

    _data_oriented = True

    def __init__(self, count: int, item: np.ndarray, x: np.ndarray, y: np.ndarray, arena: Arena, is_held: bool = False):
        lines = bent_lines(count, item, x, y)
        items, bends = arena.records(count), arena.records(lines.at.shape[1])
        self.value, self.slope, self.origin, self.begins = (
            items.column(one) for one in (lines.value, lines.slope, lines.origin, lines.begins)
        )
        self.start = arena.ints(lines.start)
        self.at, self.turn = bends.column(lines.at), bends.column(lines.turn)
        self.is_held = is_held
        if is_held:
            self.low, self.high = (items.column(one) for one in ends_of_lines(count, item, x))


def law_lines(table, owner: str, arena: Arena) -> tuple[TableLines | None, TableLines | None]:
    """Tensions by elongation and by rate of the springs, or ropes, of a table; None where none has one."""
    points = (
        (getattr(table, f"law_{owner}"), table.law_elongation, table.law_force),
        (getattr(table, f"damper_{owner}"), table.damper_rate, table.damper_force),
    )
    line, damper = (TableLines(len(table.name), *one, arena) if len(one[0]) else None for one in points)
    return line, damper


@ti.func
def value_on_line(c: ti.template(), w: ti.i32, k: ti.i32, x: ti.template()):
    """Value of line k at x, its slope, and its integral from 0 on; of a held one the value alone counts.

    Reads: c columns
    """
    zero = x * 0.0
    at = zero + x
    if ti.static(c.is_held):
        at = ti.max(ti.min(at, zero + c.high.load(w, k)), zero + c.low.load(w, k))
    reach = at - c.origin.load(w, k)
    slope = zero + c.slope.load(w, k)
    value = slope * reach + c.value.load(w, k)
    integral = (slope * reach * 0.5 + c.value.load(w, k)) * reach + c.begins.load(w, k)
    for m in range(c.start.at(k), c.start.at(k + 1)):
        past = ti.max(at - c.at.load(w, m), zero)
        turn = past * c.turn.load(w, m)
        value = value + turn
        integral = integral + turn * past * 0.5
        slope = slope + select(past > 0.0, zero + c.turn.load(w, m), zero)
    return value, slope, integral


def curves_of(model: Model, dofs: np.ndarray, arena: Arena) -> TableLines | None:
    """Effort limits by speed of drives of some dofs, (K,), an item each; None where none of them has one."""
    curves = model.effort_curves
    mine = np.isin(curves.dof, dofs)
    if not mine.any():
        return None
    item = np.array([int(np.argmax(dofs == d)) for d in curves.dof[mine].tolist()])
    return TableLines(len(dofs), item, curves.speed[:, mine], curves.effort[:, mine], arena, is_held=True)
