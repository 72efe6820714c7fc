"""Laws of a contact: the barrier of a gap, the mollifier of parallel edges, friction that sticks; and friction of joints."""

from simcli.kernels.language import ti
from simcli.kernels.language.elementary import logarithm

WALL = 1e30  # [J], of surfaces that have met
PARALLEL = 1e-3  # [1], square of the sine of the angle of two edges at which the mollifier ends


@ti.func
def barrier(gap, near, stiffness):
    """The barrier of a gap, and its first two derivatives; 0 from `near` on, without bound where there is no gap.

        B(g) = -kappa (g^2 - n^2)^2 ln(g^2 / n^2)

    Args:
        gap: [m].
        near: [m], n, where the barrier begins.
        stiffness: [J/m^4], kappa.

    Returns:
        [J], [N], [N/m].

    Source: Li et al. (2020), the barrier; its form in squares is of libuipc. Deviation: g is the gap of the surfaces;
    libuipc's difference of squares (D - xi^2, n^2 + 2 n xi) is the same without thickness, and with it a barrier that
    stiffens with the radius.
    """
    square = near * near
    y = ti.min(gap * gap - square, 0.0)
    log = logarithm(ti.min(gap * gap / square, 1.0))
    energy = -stiffness * y * y * log
    slope = -stiffness * (4.0 * gap * y * log + 2.0 * y * y / gap)
    curvature = -stiffness * ((4.0 * y + 8.0 * gap * gap) * log + 16.0 * y - 2.0 * y * y / (gap * gap))
    return ti.select(gap > 0.0, energy, WALL), slope, ti.select(y < 0.0, curvature, 0.0)


@ti.func
def mollifier(c, scale):
    """Weight of two edges by the square c of the area that they span, and its first two derivatives.

        m(c) = c / s (2 - c / s) for c < s, else 1

    Args:
        c: [m^4], |a x b|^2.
        scale: [m^4], s = PARALLEL |a|^2 |b|^2 of the edges at rest.

    Source: Li et al. 2020 (IPC), section 5. No deviation.
    """
    part = ti.min(c / scale, 1.0)
    return part * (2.0 - part), 2.0 * (1.0 - part) / scale, ti.select(part < 1.0, -2.0 / (scale * scale), 0.0)


@ti.func
def smooth_step(slip, least):
    """Friction of a joint, of unit load, over a slip of this step: potential, slope over slip, and slope's slope.

        f_0(y) = y^2 / e - y^3 / (3 e^2) + e / 3 for y < e, else y

    Args:
        slip: [m], y, not negative.
        least: [m], e, from which on friction is full.

    Returns:
        [m], [1/m], [1/m]: f_0, f_0' / y, f_0''.

    Source: Li et al. (2020), smoothed friction. No deviation.
    """
    part = ti.min(slip / least, 1.0)
    potential = ti.select(part < 1.0, slip * part * (1.0 - part / 3.0) + least / 3.0, slip)
    over = ti.select(part < 1.0, (2.0 - part) / least, 1.0 / ti.max(slip, least))
    return potential, over, 2.0 * (1.0 - part) / least


@ti.func
def stick(slip, stiffness, most):
    """Friction over the distance from where a contact stuck: a spring as far as friction holds, its bound beyond.

        F(y) = k y^2 / 2 for y < f/k, else f y - f^2 / (2 k);    the stretch of the spring is min(y, f/k)

    Its slope is the force after the return to the yield surface, so that the minimum of inertia, other energies and F is
    the backward Euler step of an elastic and perfectly plastic contact.

    Args:
        slip: [m], y, not negative.
        stiffness: [N/m], k, positive.
        most: [N], f, what friction can hold.

    Returns:
        [J], [N/m], [N/m], [m]: F, F' / y, F'', stretch.

    Source: Simo and Hughes, Computational Inelasticity, 1998, section 1.4 (return mapping). No deviation.
    """
    stretch = ti.min(slip, most / stiffness)
    potential = 0.5 * stiffness * stretch * stretch + most * (slip - stretch)
    sticks = slip * stiffness <= most
    return potential, ti.select(sticks, stiffness, most / ti.max(slip, stretch)), ti.select(sticks, stiffness, 0.0), stretch
