"""Small values whose components are packs. They live while a kernel is compiled; their operators build expressions.

Facts used, for Taichi 1.7.4: an object with the attribute `_data_oriented` may be a local variable of a kernel; assigning
to an existing variable calls `_assign`; `+ - *` call Python's operators (`@` does not).
Components are scalars (shared by the worlds) or packs; the two mix freely.
"""

from simcli.kernels.language import ti
from simcli.kernels.language.expressions import local


class Value:
    """A tuple of packs. `parts` lists them in storage order."""

    _data_oriented = True
    width = 0

    def __init__(self, *parts):
        self.parts = [local(part) for part in parts]

    def _assign(self, other):
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            mine._assign(theirs)

    def __add__(self, other):
        return type(self)(*(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    def __sub__(self, other):
        return type(self)(*(a - b for a, b in zip(self.parts, other.parts, strict=True)))

    def __neg__(self):
        return type(self)(*(-a for a in self.parts))

    def __mul__(self, s):
        return type(self)(*(a * s for a in self.parts))


class Vec3(Value):
    """x, y, z."""

    width = 3

    def dot(self, other):
        """Scalar product."""
        (a, b, c), (x, y, z) = self.parts, other.parts
        return local(a * x + b * y + c * z)

    def cross(self, other):
        """Vector product."""
        (a, b, c), (x, y, z) = self.parts, other.parts
        return Vec3(b * z - c * y, c * x - a * z, a * y - b * x)


class Mat3(Value):
    """Nine packs, row by row."""

    width = 9

    @property
    def T(self):
        """Transpose."""
        m = self.parts
        return Mat3(m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8])

    def transposed_times(self, v: Vec3) -> Vec3:
        """M^T v."""
        m, (x, y, z) = self.parts, v.parts
        return Vec3(*(m[k] * x + m[3 + k] * y + m[6 + k] * z for k in range(3)))

    def column(self, k: int) -> Vec3:
        """Column k."""
        return Vec3(*self.parts[k::3])

    def __mul__(self, other):
        m = self.parts
        if isinstance(other, Vec3):
            x, y, z = other.parts
            return Vec3(*(m[3 * i] * x + m[3 * i + 1] * y + m[3 * i + 2] * z for i in range(3)))
        if isinstance(other, Mat3):
            n = other.parts
            return Mat3(
                *(m[3 * i] * n[j] + m[3 * i + 1] * n[3 + j] + m[3 * i + 2] * n[6 + j] for i in range(3) for j in range(3))
            )
        return Value.__mul__(self, other)


class Sym3(Value):
    """A symmetric matrix: xx yy zz xy xz yz."""

    width = 6

    def __mul__(self, other):
        if not isinstance(other, Vec3):
            return Value.__mul__(self, other)
        (xx, yy, zz, xy, xz, yz), (x, y, z) = self.parts, other.parts
        return Vec3(xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z)

    def turned(self, R: Mat3) -> "Sym3":
        """R S R^T."""
        (xx, yy, zz, xy, xz, yz), r = self.parts, R.parts
        t = [
            (
                r[k] * xx + r[k + 1] * xy + r[k + 2] * xz,
                r[k] * xy + r[k + 1] * yy + r[k + 2] * yz,
                r[k] * xz + r[k + 1] * yz + r[k + 2] * zz,
            )
            for k in (0, 3, 6)
        ]
        t = [Vec3(*row) for row in t]
        rows = [Vec3(*r[k : k + 3]) for k in (0, 3, 6)]
        return Sym3(*(t[i].dot(rows[j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))))


class Quat(Value):
    """A quaternion x y z w."""

    width = 4

    def times(self, other: "Quat") -> "Quat":
        """Hamilton product: the rotation by other first, then by self."""
        (a, b, c, d), (x, y, z, w) = self.parts, other.parts
        return Quat(
            d * x + a * w + b * z - c * y,
            d * y - a * z + b * w + c * x,
            d * z + a * y - b * x + c * w,
            d * w - a * x - b * y - c * z,
        )

    def norm_squared(self):
        """x^2 + y^2 + z^2 + w^2."""
        x, y, z, w = self.parts
        return local(x * x + y * y + z * z + w * w)

    def matrix(self) -> Mat3:
        """The rotation matrix; the quaternion is unit."""
        x, y, z, w = self.parts
        return Mat3(
            1 - 2 * (y * y + z * z),
            2 * (x * y - w * z),
            2 * (x * z + w * y),
            2 * (x * y + w * z),
            1 - 2 * (x * x + z * z),
            2 * (y * z - w * x),
            2 * (x * z - w * y),
            2 * (y * z + w * x),
            1 - 2 * (x * x + y * y),
        )


class Motion(Value):
    """A spatial motion about the tree's reference point O: linear part (velocity of the point at O), angular part."""

    width = 6

    @staticmethod
    def of(linear: Vec3, angular: Vec3) -> "Motion":
        """Join the parts."""
        return Motion(*linear.parts, *angular.parts)

    @property
    def linear(self) -> Vec3:
        """Velocity of the body's point at O."""
        return Vec3(*self.parts[:3])

    @property
    def angular(self) -> Vec3:
        """Angular velocity."""
        return Vec3(*self.parts[3:])

    def cross(self, other: "Motion") -> "Motion":
        """The rate of `other` when it is carried along by this motion."""
        w, v, a, b = self.angular, self.linear, other.angular, other.linear
        return Motion.of(w.cross(b) + v.cross(a), w.cross(a))

    def dot(self, force: "Force"):
        """Power."""
        a, b = self.parts, force.parts
        return local(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


class Force(Value):
    """A spatial force about O: force, moment."""

    width = 6

    @staticmethod
    def of(force: Vec3, moment: Vec3) -> "Force":
        """Join the parts."""
        return Force(*force.parts, *moment.parts)

    @property
    def force(self) -> Vec3:
        """Resultant."""
        return Vec3(*self.parts[:3])

    @property
    def moment(self) -> Vec3:
        """Moment about O."""
        return Vec3(*self.parts[3:])


class Inertia(Value):
    """A spatial inertia about O, symmetric: force = M a + H^T w', moment = H a + A w' (a linear, w' angular).

    Storage: M (Sym3), H (Mat3), A (Sym3). A rigid body of mass m with centre c has M = m E, H = m [c]x,
    A = I_c + m (|c|^2 E - c c^T); articulated inertias fill every entry.
    """

    width = 21

    @staticmethod
    def of(M: Sym3, H: Mat3, A: Sym3) -> "Inertia":
        """Join the parts."""
        return Inertia(*M.parts, *H.parts, *A.parts)

    @staticmethod
    def of_body(mass, c: Vec3, inertia_c: Sym3) -> "Inertia":
        """Rigid body: mass, centre about O, inertia about the centre in world axes."""
        (x, y, z), t = c.parts, c * mass
        tx, ty, tz = t.parts
        xx, yy, zz = local(x * tx), local(y * ty), local(z * tz)
        xy, xz, yz = x * ty, x * tz, y * tz
        (a, b, d, e, f, g) = inertia_c.parts
        zero = tx * 0.0
        full_mass = zero + mass
        return Inertia(
            full_mass,
            full_mass,
            full_mass,
            zero,
            zero,
            zero,
            zero,
            -tz,
            ty,
            tz,
            zero,
            -tx,
            -ty,
            tx,
            zero,
            a + (yy + zz),
            b + (xx + zz),
            d + (xx + yy),
            e - xy,
            f - xz,
            g - yz,
        )

    @property
    def M(self) -> Sym3:
        """Linear block."""
        return Sym3(*self.parts[:6])

    @property
    def H(self) -> Mat3:
        """Coupling block."""
        return Mat3(*self.parts[6:15])

    @property
    def A(self) -> Sym3:
        """Angular block."""
        return Sym3(*self.parts[15:])

    def times(self, a: Motion) -> Force:
        """The force that gives this inertia the acceleration a."""
        M, h, A = Sym3(*self.parts[:6]), self.parts[6:15], Sym3(*self.parts[15:])
        v, w = a.linear, a.angular
        (vx, vy, vz), (wx, wy, wz) = v.parts, w.parts
        coupling_force = Vec3(*(h[k] * wx + h[3 + k] * wy + h[6 + k] * wz for k in range(3)))
        coupling_moment = Vec3(*(h[3 * k] * vx + h[3 * k + 1] * vy + h[3 * k + 2] * vz for k in range(3)))
        return Force.of(M * v + coupling_force, A * w + coupling_moment)

    def minus_dyad(self, u: Force, s) -> "Inertia":
        """I - s u u^T."""
        f, n = u.parts[:3], u.parts[3:]
        sf, sn = [local(x * s) for x in f], [local(x * s) for x in n]
        pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        dyad = [f[i] * sf[j] for i, j in pairs] + [n[i] * sf[j] for i in range(3) for j in range(3)]
        dyad += [n[i] * sn[j] for i, j in pairs]
        return Inertia(*(a - b for a, b in zip(self.parts, dyad, strict=True)))


def quaternion_of(R: Mat3) -> Quat:
    """The unit quaternion of a rotation matrix, with w >= 0.

    Each component's square is 1 + a signed sum of the diagonal; the largest is taken, and the others from it.

    Source: Shepperd (1978). Deviation: all four candidates are formed and selected, without branches.
    """
    a, b, c, d, e, f, g, h, k = R.parts
    squares = [1.0 + a - e - k, 1.0 - a + e - k, 1.0 - a - e + k, 1.0 + a + e + k]
    xy, xz, yz, xw, yw, zw = d + b, c + g, f + h, h - f, c - g, d - b
    rows = [(None, xy, xz, xw), (xy, None, yz, yw), (xz, yz, None, zw), (xw, yw, zw, None)]
    best = local(squares[0])
    parts = [local(x) for x in (squares[0], *rows[0][1:])]
    for n in range(1, 4):
        better = local(squares[n] > best)
        candidate = [squares[n] if x is None else x for x in rows[n]]
        parts = [local(ti.select(better, new, old)) for new, old in zip(candidate, parts, strict=True)]
        best = local(ti.select(better, local(squares[n]), best))
    scale = local(0.5 / ti.sqrt(best))
    scale = local(ti.select(parts[3] < 0.0, -scale, scale))
    return Quat(*(x * scale for x in parts))


def unit_vector(zero, k: int) -> Vec3:
    """A unit vector along an axis, from a zero."""
    return Vec3(*(zero + float(n == k) for n in range(3)))


def columns_of(a: Vec3, b: Vec3, c: Vec3) -> Mat3:
    """The matrix of three columns."""
    return Mat3(*(x for row in zip(a.parts, b.parts, c.parts, strict=True) for x in row))
