"""Effort limits of drives in laws: of one coordinate, and of a ball, whose three components share one."""

from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select


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


@ti.func
def limited_drive(law: ti.template(), w: ti.i32, k: ti.i32):
    """Effort of the drive of law k at once, within its limit: of a ball by the size of all three.

    Reads: law.{effort_limit, drive}
    """
    one = law.changed.arena.zero() + 1.0
    limit = one * law.effort_limit.load(w, k)
    drive = law.drive.load(w, k)
    found = ti.max(ti.min(drive, limit), -limit)
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
