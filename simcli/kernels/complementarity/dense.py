"""Dense factors of packs: L L^T of the mass matrix, L U of the condensed matrix, both without pivoting.

All lanes do the same work in the same order whatever their numbers are. What is zero in all lanes is left out, which
changes no bit of what is finite: sums here start at +0, and so never become -0.
"""

from simcli.kernels.complementarity.cones import UNBOUNDED
from simcli.kernels.device.arena import local
from simcli.kernels.device.sparse_factors import packed_index
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane, get_lane
from simcli.kernels.language.values import Mat3, Vec3


def whole(array, w, item):
    """An integer that all lanes share, from an array."""
    return local(ti.cast(get_lane(array.part(w, item, 0), 0), ti.i32))


def is_anywhere(side, w, r):
    """True if row r is on in any lane."""
    return any_lane(side.on.load(w, r) != 0.0)


def three(array, w, k) -> Vec3:
    """Numbers 3 k to 3 k + 2 of a column."""
    return Vec3(*(array.load(w, 3 * k + m) for m in range(3)))


def put_three(array, w, k, value: Vec3):
    """Replace three numbers of a column."""
    for m, part in enumerate(value.parts):
        array.store(w, 3 * k + m, part)


def any_entry(value: Mat3):
    """True if any lane of any entry is not zero."""
    first, *rest = (part != 0.0 for part in value.parts)
    for other in rest:
        first = first | other
    return any_lane(local(first))


def diagonal(parts: list) -> Mat3:
    """A diagonal matrix."""
    x, y, z = parts
    zero = local(x * 0.0)
    return Mat3(x, zero, zero, zero, y, zero, zero, zero, z)


def scaled_columns(m: Mat3, s: Vec3) -> Mat3:
    """The product with a diagonal matrix, from the right."""
    return Mat3(*(part * s.parts[k % 3] for k, part in enumerate(m.parts)))


def split(a: Mat3) -> Mat3:
    """L and U of three rows and columns in one, the diagonal of U inverted."""
    m = [local(x) for x in a.parts]
    m[0] = local(1.0 / m[0])
    m[3], m[6] = local(m[3] * m[0]), local(m[6] * m[0])
    m[4] = local(1.0 / (m[4] - m[3] * m[1]))
    m[5] = local(m[5] - m[3] * m[2])
    m[7] = local((m[7] - m[6] * m[1]) * m[4])
    m[8] = local(1.0 / (m[8] - m[6] * m[2] - m[7] * m[5]))
    return Mat3(*m)


def lower_solved(f: Mat3, rows: list) -> list:
    """L^-1 of three rows of numbers, f from `split`."""
    m = f.parts
    one, two, last = rows
    two = [local(b - m[3] * a) for a, b in zip(one, two, strict=True)]
    return [one, two, [local(c - m[6] * a - m[7] * b) for a, b, c in zip(one, two, last, strict=True)]]


def right_solved_row(f: Mat3, row) -> list:
    """A U^-1 of a row of three numbers, f from `split`."""
    m, (x, y, z) = f.parts, row
    x = local(x * m[0])
    y = local((y - x * m[1]) * m[4])
    return [x, y, local((z - x * m[2] - y * m[5]) * m[8])]


def _right_solved(f: Mat3, a: Mat3) -> Mat3:
    """A U^-1 of a block, f from `split`."""
    return Mat3(*(x for k in (0, 3, 6) for x in right_solved_row(f, a.parts[k : k + 3])))


def _below(f: Mat3, a: Mat3) -> Mat3:
    """L^-1 A of a block, f from `split`."""
    rows = lower_solved(f, [a.parts[k : k + 3] for k in (0, 3, 6)])
    return Mat3(*(x for row in rows for x in row))


def forward(f: Mat3, x: Vec3) -> Vec3:
    """L^-1 x of three numbers, f from `split`."""
    return Vec3(*(x for (x,) in lower_solved(f, [[part] for part in x.parts])))


def backward(f: Mat3, x: Vec3) -> Vec3:
    """U^-1 x of three numbers, f from `split`."""
    m, (a, b, c) = f.parts, x.parts
    c = local(c * m[8])
    b = local((b - m[5] * c) * m[4])
    return Vec3((a - m[1] * b - m[2] * c) * m[0], b, c)


def threes_of_mass(p, w, i, j) -> Mat3:
    """Three rows and columns of M below its diagonal; j is None on it."""
    at = [(k, m) if j is not None else (max(k, m), min(k, m)) for k in range(3) for m in range(3)]
    rows = [local(packed_index(3 * i + k, 3 * (i if j is None else j))) for k in range(3)]
    return Mat3(*(p.mass.load(w, rows[k] + m) for k, m in at))


def _rooted(a: Mat3) -> Mat3:
    """L of three rows and columns of L L^T, the inverses of its diagonal in place of that."""
    m, zero = a.parts, local(a.parts[0] * 0.0)
    d = local(1.0 / ti.sqrt(m[0]))
    x, y = local(m[3] * d), local(m[6] * d)
    e = local(1.0 / ti.sqrt(m[4] - x * x))
    z = local((m[7] - y * x) * e)
    return Mat3(d, zero, zero, x, e, zero, y, z, 1.0 / ti.sqrt(m[8] - y * y - z * z))


def _root_solved(f: Mat3, rows: list) -> list:
    """L^-1 of three rows of numbers, f from `_rooted`."""
    m = f.parts
    one, two, last = rows
    one = [local(a * m[0]) for a in one]
    two = [local((b - m[3] * a) * m[4]) for a, b in zip(one, two, strict=True)]
    return [one, two, [local((c - m[6] * a - m[7] * b) * m[8]) for a, b, c in zip(one, two, last, strict=True)]]


def root_below(f: Mat3, a: Mat3) -> Mat3:
    """L^-1 A of a block, f from `_rooted`."""
    rows = _root_solved(f, [a.parts[k : k + 3] for k in (0, 3, 6)])
    return Mat3(*(x for row in rows for x in row))


def root_forward(f: Mat3, x: Vec3) -> Vec3:
    """L^-1 x of three numbers, f from `_rooted`."""
    return Vec3(*(x for (x,) in _root_solved(f, [[part] for part in x.parts])))


def _root_pulled(f: Mat3, x: Vec3) -> Vec3:
    """L^-T x of three numbers, f from `_rooted`."""
    m, (a, b, c) = f.parts, x.parts
    c = local(c * m[8])
    b = local((b - m[7] * c) * m[4])
    return Vec3((a - m[3] * b - m[6] * c) * m[0], b, c)


@ti.func
def factorize_mass(p: ti.template(), w: ti.i32):
    """M = L L^T by blocks of three; a row of blocks is told which it has before the diagonal.

    Reads:  p.mass
    Writes: p.{root, root_column, root_length}
    """
    real = p.arena.device.real
    zero = p.arena.zero()
    m = p.n_threes
    for i in range(m):
        count = 0
        for j in range(i):
            total = threes_of_mass(p, w, i, j) * (zero + 1.0)
            for e in range(whole(p.root_length, w, j)):
                k = whole(p.root_column, w, j * m + e)
                total = total - p.root.load(w, packed_index(i, k)) * p.root.load(w, packed_index(j, k)).T
            if any_entry(total):
                p.root_column.store(w, i * m + count, zero + ti.cast(j, real))
                count = count + 1
                total = root_below(p.root.load(w, packed_index(j, j)), total.T).T
            p.root.store(w, packed_index(i, j), total)
        p.root_length.store(w, i, zero + ti.cast(count, real))
        last = threes_of_mass(p, w, i, None) * (zero + 1.0)
        for e in range(count):
            left = p.root.load(w, packed_index(i, whole(p.root_column, w, i * m + e)))
            last = last - left * left.T
        p.root.store(w, packed_index(i, i), _rooted(last))


@ti.func
def solve_mass(p: ti.template(), w: ti.i32, x: ti.template()):
    """M^-1 x in place.

    Reads:  p.{root, root_column, root_length}
    Writes: x (n)
    """
    m = p.n_threes
    for i in range(m):
        total = three(x, w, i)
        for e in range(whole(p.root_length, w, i)):
            k = whole(p.root_column, w, i * m + e)
            total = total - p.root.load(w, packed_index(i, k)) * three(x, w, k)
        put_three(x, w, i, root_forward(p.root.load(w, packed_index(i, i)), total))
    for r in range(m):
        i = m - 1 - r
        value = _root_pulled(p.root.load(w, packed_index(i, i)), three(x, w, i))
        put_three(x, w, i, value)
        for e in range(whole(p.root_length, w, i)):
            k = whole(p.root_column, w, i * m + e)
            put_three(x, w, k, three(x, w, k) - p.root.load(w, packed_index(i, k)).transposed_times(value))


@ti.func
def factorize(p: ti.template(), w: ti.i32):
    """A = L U in place, L with a unit diagonal, by blocks of three; blocks on the diagonal apart, see `split`.

    A row of blocks is told which it has on either side of the diagonal: bodies that do not touch leave most of it empty.
    A pivot that is zero makes the solution no number, and the step of that world is not taken.

    Writes: p.matrix, p.pivot, p.{column, n_left, n_right}
    """
    real = p.arena.device.real
    zero = p.arena.zero()
    n = p.n_threes
    for i in range(n):
        left = 0
        for k in range(i):
            here = p.matrix.load(w, i * n + k)
            if any_entry(here):
                p.column.store(w, i * n + left, zero + ti.cast(k, real))
                left = left + 1
                scaled = _right_solved(p.pivot.load(w, k), here)
                p.matrix.store(w, i * n + k, scaled)
                for e in range(whole(p.n_right, w, k)):
                    j = whole(p.column, w, k * n + n - 1 - e)
                    p.matrix.store(w, i * n + j, p.matrix.load(w, i * n + j) - scaled * p.matrix.load(w, k * n + j))
        right = 0
        pivot = split(p.matrix.load(w, i * n + i))
        p.pivot.store(w, i, pivot)
        for j in range(i + 1, n):
            here = p.matrix.load(w, i * n + j)
            if any_entry(here):
                p.matrix.store(w, i * n + j, _below(pivot, here))
                p.column.store(w, i * n + n - 1 - right, zero + ti.cast(j, real))
                right = right + 1
        p.n_left.store(w, i, zero + ti.cast(left, real))
        p.n_right.store(w, i, zero + ti.cast(right, real))


@ti.func
def substitute(p: ti.template(), w: ti.i32, x: ti.template()):
    """A^-1 x in place.

    Reads:  p.matrix, p.pivot, p.{column, n_left, n_right}
    Writes: x (n)
    """
    n = p.n_threes
    for i in range(p.n_threes):
        total = three(x, w, i)
        for e in range(whole(p.n_left, w, i)):
            k = whole(p.column, w, i * n + e)
            total = total - p.matrix.load(w, i * n + k) * three(x, w, k)
        put_three(x, w, i, forward(p.pivot.load(w, i), total))
    for m in range(p.n_threes):
        i = p.n_threes - 1 - m
        total = three(x, w, i)
        for e in range(whole(p.n_right, w, i)):
            j = whole(p.column, w, i * n + n - 1 - e)
            total = total - p.matrix.load(w, i * n + j) * three(x, w, j)
        put_three(x, w, i, backward(p.pivot.load(w, i), total))


@ti.func
def find_columns(p: ti.template(), w: ti.i32):
    """Which velocities each row sees in some world.

    Writes: p.rows.{columns, length, jacobian}
    """
    zero = p.arena.zero()
    for r in range(whole(p.live, w, 0)):
        on = p.rows.on.load(w, r) != 0.0
        length = 0
        if any_lane(on):
            if any_lane(on == 0):
                for a in range(p.n):
                    silence(w, [p.rows.jacobian], r * p.n + a, on)
            for a in range(p.n):
                if any_part(p.rows.jacobian, w, r * p.n + a, 1):
                    p.rows.columns.store(w, r * p.n + length, zero + ti.cast(a, p.arena.device.real))
                    length = length + 1
        p.rows.length.store(w, r, zero + ti.cast(length, p.arena.device.real))


@ti.func
def silence_triples(p: ti.template(), side: ti.template(), w: ti.i32):
    """Contacts, or spins, that are off in a world see nothing there.

    Writes: side.jacobian, p.contacts.length
    """
    for c in range(whole(p.live, w, 1)):
        on = side.on.load(w, c) != 0.0
        if any_lane(on == 0):
            for e in range(whole(side.length, w, c)):
                for m in ti.static(range(3)):
                    at = c * p.n + 3 * whole(side.columns, w, c * p.n + e) + m
                    silence(w, [side.jacobian], at, on)
        if not any_lane(p.contacts.on.load(w, c) != 0.0):
            p.contacts.length.store(w, c, p.arena.zero())


def parts_of(array, w, item) -> list:
    """The packs of an item, assignable."""
    return [array.part(w, item, k) for k in range(array.width)]


def silence(w, arrays, item, on):
    """Zero where a row is off, whatever stands there."""
    for array in arrays:
        for k, part in enumerate(parts_of(array, w, item)):
            array.replace(w, item, k, select(on, part, array.arena.zero()))


def unless_finite(w, array, item):
    """Zero where a part of an item is no number, or beyond all bounds."""
    for k, part in enumerate(parts_of(array, w, item)):
        array.replace(w, item, k, select(ti.abs(part) < UNBOUNDED, part, array.arena.zero()))


def any_part(array, w, item, count):
    """True if any lane of any part of `_count` items is not zero."""
    first, *rest = (part != 0.0 for k in range(count) for part in parts_of(array, w, item + k))
    for other in rest:
        first = first | other
    return any_lane(local(first))
