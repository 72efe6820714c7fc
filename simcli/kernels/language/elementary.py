"""Elementary functions on packs, free of branches and of library calls, so that all lanes run side by side.

The rotation vector of a rotation, and how torques pull back through it, stand here as well; and random numbers by their
place in a sequence: the same for any number of worlds, threads and calls.

Source: Salmon, Moraes, Dror, Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3", Philox4x64 with 10 rounds; it is
the generator that numpy.random.Philox has, whose counter is one less. Normal numbers: Box and Muller (1958).
"""

import math
from math import factorial, log, pi, sqrt

from simcli.kernels.language import ti
from simcli.kernels.language.backend import default_real, keeps_order
from simcli.kernels.language.expressions import get_lane, is_pack, local, put_lane
from simcli.kernels.language.values import Mat3, Quat, Vec3, quaternion_of

FULL_TURN = 2.0 * pi
# pi/2 in three pieces of decreasing size; n * PIECE[0] is exact for |n| < 2^20 (33 bits + 20 bits in float64).
QUARTER = {
    "float64": (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21),
    "float32": (1.5703125, 4.837512969970703125e-4, 7.54978995489188e-8),
}
# Adding and subtracting 1.5 * 2^(mantissa bits) rounds to an integer, without a library call.
ROUNDER = {"float64": 1.5 * 2.0**52, "float32": 1.5 * 2.0**23}
# Taylor terms that leave less than half an ulp on |x| <= pi/4.
_TERMS = {"float64": (8, 8), "float32": (4, 5)}
SMALL_ANGLE_SQUARED = {"float64": 1e-8, "float32": 1e-4}  # below, sin(x)/x is its series of two terms to rounding
TANGENT = sqrt(2) - 1  # of pi/8: the largest argument of the arctangent's series
ARC_TERMS = {"float64": 20, "float32": 9}  # of that series: the first one left out is below half an ulp of pi/8
LOG_TERMS = {"float64": 11, "float32": 5}  # of the logarithm's, likewise of 1
EXP_TERMS = {"float64": 14, "float32": 8}  # of the exponential's, of 1 on |x| <= ln 2 / 2
# ln 2 in two pieces; n * the first is exact for the exponents n there are.
LOG_OF_2 = {"float64": (0.6931471803691238, 1.9082149292705877e-10), "float32": (0.693145751953125, 1.42860682030941723e-6)}
MANTISSA = {"float64": 52, "float32": 23}  # [bits], without the leading one


def precision_of() -> str:
    """Precision of the kernel being compiled."""
    return "float64" if default_real() == ti.f64 else "float32"


def select(mask, a, b):
    """A where mask, else b; lane by lane."""
    return local(ti.select(mask, a, b))


def select_parts(mask, a, b):
    """The value a (a vector, a matrix, ...) where mask, else b of the same class; part by part, lane by lane."""
    return type(a)(*(select(mask, x, y) for x, y in zip(a.parts, b.parts, strict=True)))


def polynomial(x, coefficients):
    """Horner's rule, lowest coefficient first."""
    total = local(x * 0.0 + coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = local(total * x + c)
    return total


def rounded(x):
    """The nearest integer; between two integers either of them.

    A backend that folds constants takes (x + a) - a for x, so that it needs a call; the others are faster without one.
    """
    if keeps_order():
        rounder = ROUNDER[precision_of()]
        return local((x + rounder) - rounder)
    return local(ti.round(x))


def sincos(x):
    """Sine and cosine of a pack [rad].

    Within 1.5 ulp of the true value for |x| < 1e3 and 2.5 ulp for |x| < 1e6 in float64 (measured, tests); beyond, the
    error grows with |x| ulp.

    Source: reduction by quarter turns (Cody and Waite 1980) and Taylor polynomials. No deviation.
    """
    precision = precision_of()
    p1, p2, p3 = QUARTER[precision]
    x = local(x)
    n = rounded(x * (2 / pi))
    y = local(((x - n * p1) - n * p2) - n * p3)
    z = local(y * y)
    n_sin, n_cos = _TERMS[precision]
    s_series = polynomial(z, [(-1) ** k / factorial(2 * k + 1) for k in range(1, n_sin + 1)])
    c_series = polynomial(z, [(-1) ** k / factorial(2 * k) for k in range(2, n_cos + 1)])
    s = local(y + y * z * s_series)
    c = local((1.0 - 0.5 * z) + z * z * c_series)
    quadrant = local(n - 4.0 * rounded(n * 0.25 - 0.375))
    odd = local((quadrant == 1.0) | (quadrant == 3.0))
    sine, cosine = select(odd, c, s), select(odd, s, c)
    sine = select(quadrant > 1.5, -sine, sine)
    cosine = select((quadrant == 1.0) | (quadrant == 2.0), -cosine, cosine)
    return sine, cosine


def normalized(q: Quat) -> Quat:
    """The unit quaternion in the direction of q."""
    return q * (1.0 / ti.sqrt(q.norm_squared()))


def exp_rotation(v: Vec3) -> Quat:
    """The unit quaternion of a rotation vector [rad]."""
    square = v.dot(v)
    small = local(square < SMALL_ANGLE_SQUARED[precision_of()])
    angle = local(ti.sqrt(select(small, square * 0.0 + 1.0, square)))
    s, c = sincos(angle * 0.5)
    scale = select(small, 0.5 - square * (1 / 48), s / angle)
    return Quat(*(v * scale).parts, select(small, 1.0 - square * 0.125, c))


def atan2(y, x):
    """Angle of the point (x, y) [rad], in (-pi, pi].

    Lane by lane: Taichi 1.7.4 evaluates atan2 of float64 vectors in single precision (error 3e-8), scalars rightly. Its
    SPIR-V has none in float64, and one of 300 ulp in float32.
    """
    angle = local(y * 0.0)
    if not is_pack(angle):
        return local(ti.atan2(y, x)) if keeps_order() else arc(y, x)
    y, x = local(y), local(angle + x)
    for lane in range(angle.get_shape()[0]):
        put_lane(angle, lane, ti.atan2(get_lane(y, lane), get_lane(x, lane)))
    return angle


def exponential(x):
    """E to the power x; lane by lane, because vectors have it in single precision, and without a library call in SPIR-V."""
    return _by_lane(ti.exp, x) if keeps_order() else exponential_of_parts(x)


def exponential_of_parts(x):
    """As `exponential`, of a scalar, without a library call; within 3 ulp. Numbers below the normal ones are 0.

        e^x = 2^n e^r,    r = x - n ln 2,    |r| <= ln 2 / 2

    Source: reduction (Cody and Waite 1980) and the Taylor polynomial. No deviation.
    """
    precision, real = precision_of(), default_real()
    whole, width = (ti.i64, 64) if precision == "float64" else (ti.i32, 32)
    lead = MANTISSA[precision]
    bias = (1 << (width - lead - 2)) - 1  # of the exponent
    x = local(x)
    n = rounded(x * (1 / log(2)))
    high, low = LOG_OF_2[precision]
    r = local((x - n * high) - n * low)
    series = polynomial(r, [1 / factorial(k) for k in range(EXP_TERMS[precision])])
    inside = local((n >= 1.0 - bias) & (n <= float(bias)))
    power = local(ti.cast(select(inside, n, n * 0.0), whole) + bias)
    found = local(series * ti.bit_cast(power << lead, real))
    return select(inside, found, ti.select(x > 0.0, ti.math.inf, ti.select(x < 0.0, x * 0.0, x)))


def raised(x, y):
    """X to the power y, NaN for a negative x whose y is no whole number; lane by lane, as `exponential`."""
    if keeps_order():
        return _by_lane(ti.pow, x, y)
    size = exponential_of_parts(y * logarithm_of_parts(abs(x)))
    odd = local(abs(y - 2.0 * ti.round(y * 0.5)) == 1.0)
    signed = ti.select(odd, -size, ti.select(ti.round(y) == y, size, ti.math.nan))
    found = select(x < 0.0, signed, size)
    return select(y == 0.0, y * 0.0 + 1.0, found)


def _by_lane(function, x, *others):
    """A function of scalars, of each lane of packs."""
    found = local(x)
    if not is_pack(found):
        return local(function(x, *others))
    given = [local(x), *others]
    for lane in range(found.get_shape()[0]):
        put_lane(found, lane, function(*(get_lane(one, lane) for one in given)))
    return found


def logarithm(x):
    """Natural logarithm of a number that is positive and normal; minus infinity at 0.

    Taichi's SPIR-V has none in float64, and in float32 one that is off by many ulp near 1.
    """
    return local(ti.log(x)) if keeps_order() else logarithm_of_parts(x)


def logarithm_of_parts(x):
    """As `logarithm`, of a scalar, without a library call; within 3 ulp. What is negative has none.

        ln(2^e m) = e ln 2 + 2 (s + s^3/3 + s^5/5 + ...),    s = (m - 1)/(m + 1),    1/sqrt 2 < m <= sqrt 2

    Source: Gregory's series (1668) of the area below a hyperbola. No deviation.
    """
    precision, real = precision_of(), default_real()
    whole, width = (ti.i64, 64) if precision == "float64" else (ti.i32, 32)
    lead = MANTISSA[precision]
    bias = (1 << (width - lead - 2)) - 1  # of the exponent
    x = local(x)
    bits = local(ti.bit_cast(x, whole))
    one = local(ti.cast(bias, whole) << lead)
    m = local(ti.bit_cast((bits & ((ti.cast(1, whole) << lead) - 1)) | one, real))
    e = local(ti.cast((bits >> lead) - bias, real))
    large = local(m > sqrt(2))
    m, e = select(large, m * 0.5, m), select(large, e + 1.0, e)
    s = local((m - 1.0) / (m + 1.0))
    series = polynomial(s * s, [1 / (2 * k + 1) for k in range(LOG_TERMS[precision])])
    found = local(e * log(2) + 2.0 * s * series)
    return select(x > 0.0, found, ti.select(x == 0.0, -ti.math.inf, ti.math.nan))


def nearest_turn(x, near):
    """[rad], the angle x plus full turns, nearest to another one."""
    return local(x + FULL_TURN * ti.round((near - x) * (1.0 / FULL_TURN)))


def arc(y, x):
    """Angle of the point (x, y) [rad], in [-pi, pi], without a library call; 0 at the origin. Within 2 ulp.

        atan t = t - t^3/3 + t^5/5 - ...     for t <= tan(pi/8)
        atan t = pi/4 + atan((t - 1)/(t + 1))    for t up to 1, where t = min(|x|, |y|) / max(|x|, |y|)

    Source: addition theorem of the tangent; Gregory's series (1671). No deviation.
    """
    y, x = local(y), local(x)
    size_x, size_y = local(ti.abs(x)), local(ti.abs(y))
    steep = local(size_y > size_x)
    low, high = select(steep, size_x, size_y), select(steep, size_y, size_x)
    high = select(high > 0.0, high, high + 1.0)
    near_diagonal = local(low > TANGENT * high)
    t = select(near_diagonal, (low - high) / (low + high), low / high)
    z = local(t * t)
    series = polynomial(z, [(-1) ** k / (2 * k + 1) for k in range(1, ARC_TERMS[precision_of()])])
    angle = local(t + t * z * series)
    angle = select(near_diagonal, angle + pi / 4, angle)
    angle = select(steep, pi / 2 - angle, angle)
    angle = select(x < 0.0, pi - angle, angle)
    return select(y < 0.0, -angle, angle)


def share(part, whole):
    """Part / whole, 0 if there is no whole."""
    is_some = local(whole > 0.0)
    zero = local(part * 0.0)
    return select(is_some, part / select(is_some, whole, zero + 1.0), zero)


_SMALL_SINE = 1e-6  # of half an angle below which 2 asin(s)/s is 2
LOG_SERIES_ANGLE = 0.3  # [rad] below which a power series has less rounding, and no error beyond it


def rotation_log(R: Mat3) -> tuple[Vec3, object]:
    """Rotation vector phi of R, at most half a turn long, and the factor of [phi]^2 in J_l^-1 (see `pulled_back`)."""
    q = quaternion_of(R)
    half = Vec3(*q.parts[:3])
    sine = local(ti.sqrt(half.dot(half)))
    small = local(sine < _SMALL_SINE)
    angle = local(2.0 * atan2(sine, q.parts[3]))
    safe = select(small, sine * 0.0 + 1.0, sine)
    phi = half * select(small, sine * 0.0 + 2.0, angle / safe)
    theta = select(small, sine * 0.0 + 1.0, angle)
    factor = select(small, sine * 0.0 + 1.0 / 12.0, (1.0 - theta * q.parts[3] / (safe * 2.0)) / (theta * theta))
    return phi, factor


def pulled_back(phi: Vec3, factor, component: Vec3) -> Vec3:
    """J_l^-T component: what a covector on the rotation vector is as a couple against the angular velocity.

    J_l^-1 = E - [phi]/2 + (1/th^2 - (1 + cos th) / (2 th sin th)) [phi]^2,   phi' = J_l^-1 w
    """
    turned = phi.cross(component)
    return component + turned * 0.5 + phi.cross(turned) * factor


def change_of_pull(phi: Vec3, factor, component: Vec3, spin: Vec3) -> Vec3:
    """Rate of `pulled_back` while R turns with an angular velocity.

    With f the factor, f' = (phi . phi') g(th),   g = -2/th^4 + cot(th/2) / 2 th^3 + 1 / (2 th sin(th/2))^2
    """
    across = phi.cross(spin)
    rate = spin - across * 0.5 + phi.cross(across) * factor
    square = local(phi.dot(phi))
    small = local(square < LOG_SERIES_ANGLE**2)
    safe = select(small, square * 0.0 + 1.0, square)
    angle = local(ti.sqrt(safe))
    sine, cosine = sincos(angle * 0.5)
    series = (((square / 5987520 + 1 / 201600) * square) + 1 / 7560) * square + 1 / 360
    far = cosine / (sine * safe * angle * 2.0) + 1.0 / (safe * sine * sine * 4.0) - 2.0 / (safe * safe)
    growth = local(phi.dot(rate) * select(small, series, far))
    turned = phi.cross(component)
    changed = (rate.cross(turned) + phi.cross(rate.cross(component))) * factor
    return rate.cross(component) * 0.5 + changed + phi.cross(turned) * growth


_ROUNDS = 10
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_LOW = 0xFFFFFFFF
_BITS = {"float64": 53, "float32": 24}  # of a uniform number


@ti.func
def multiply_high(a: ti.u64, b: ti.u64):
    """The upper 64 bits of a product."""
    low = ti.u64(_LOW)
    a_0, a_1, b_0, b_1 = a & low, a >> 32, b & low, b >> 32
    middle = a_1 * b_0 + ((a_0 * b_0) >> 32)
    return a_1 * b_1 + (middle >> 32) + ((a_0 * b_1 + (middle & low)) >> 32)


@ti.func
def philox(key_0: ti.u64, key_1: ti.u64, counter_0: ti.u64, counter_1: ti.u64):
    """Two of the four words of a block, whose counter has two more words that are 0.

    Args:
        key_0, key_1: which sequence.
        counter_0, counter_1: which block of it.
    """
    x_0, x_1, x_2, x_3 = counter_0, counter_1, ti.u64(0), ti.u64(0)
    k_0, k_1 = key_0, key_1
    for _ in range(_ROUNDS):
        high_0, low_0 = multiply_high(ti.u64(_MULTIPLIERS[0]), x_0), ti.u64(_MULTIPLIERS[0]) * x_0
        high_1, low_1 = multiply_high(ti.u64(_MULTIPLIERS[1]), x_2), ti.u64(_MULTIPLIERS[1]) * x_2
        x_0, x_1, x_2, x_3 = high_1 ^ x_1 ^ k_0, low_1, high_0 ^ x_3 ^ k_1, low_0
        k_0 += ti.u64(_WEYL[0])
        k_1 += ti.u64(_WEYL[1])
    return x_0, x_1


@ti.func
def normal_pair(word_0: ti.u64, word_1: ti.u64, real: ti.template()):
    """Two independent standard normal numbers from two words.

    sqrt(-2 ln u) (cos, sin)(2 pi v),   u in (0, 1], v in [0, 1)
    """
    bits = ti.static(_BITS[precision_of()])
    u = ti.cast((word_0 >> (64 - bits)) + ti.u64(1), real) * ti.cast(ti.static(2.0**-bits), real)
    v = ti.cast(word_1 >> (64 - bits), real) * ti.cast(ti.static(2.0**-bits), real)
    length = ti.sqrt(-2.0 * logarithm(u))
    sine, cosine = sincos(v * ti.cast(ti.static(2.0 * math.pi), real))
    return length * cosine, length * sine
