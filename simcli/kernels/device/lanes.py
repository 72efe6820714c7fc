"""Single worlds out of packs, and small geometry on scalars."""

from simcli.kernels.device.arena import local
from simcli.kernels.device.pack_arrays import PackArray, Shared
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import get_lane, put_lane
from simcli.kernels.language.values import Value, Vec3

TINY = {"float64": 1e-300, "float32": 1e-36}  # keeps divisions by a length finite


def one(column, w, lane, item):
    """The value of an item in one world; its components are scalars.

    Args:
        column: PackArray, or Shared, where every world has the same.
        w, lane, item: block, world in it, index. Without a lane it is the value of all worlds, of packs.
    """
    if isinstance(column, Shared) or lane is None:
        return column.load(w, item)
    parts = [get_lane(column.part(w, item, k), lane) for k in range(column.width)]
    return column.kind(*parts) if column.kind else local(parts[0])


def whole_of(array: PackArray, w, lane, item):
    """A whole number that an array holds, in one world; without a lane that of the first, for all have the same."""
    return local(ti.cast(one(array, w, 0 if lane is None else lane, item), ti.i32))


def put(array: PackArray, w, lane, item, value):
    """Replace the value of an item in one world, or without a lane in all, if it writes (`Arena.writing`)."""
    for k, new in enumerate(value.parts if isinstance(value, Value) else [value]):
        if lane is None:
            array.replace(w, item, k, array.arena.pack(new))
            continue
        part = array.part(w, item, k)
        put_lane(part, lane, array.arena.written_lane(get_lane(part, lane), lane, new) if array.is_masked else new)


def way_between(c, w, lane, a, b) -> Vec3:
    """[m], from the origin of shape a to that of shape b.

    First the way between their bases, which is the same for all shapes of two bodies: so what places far away round by is
    the same in the gaps of all contacts of these bodies. Where contacts share a load, gaps that are off each in its own way
    would move it from one to another.
    """
    return (one(c.base, w, lane, b) - one(c.base, w, lane, a)) + (one(c.position, w, lane, b) - one(c.position, w, lane, a))


def by_world(function):
    """Make of a device function (c, w, lane, ...) of one world one of a block (c, w, ...): of those that write, in turn."""

    def take(c, w, lane, args):
        with c.arena.writing(None):  # it need not ask again
            function(c, w, lane, *args)

    @ti.func
    def take_all(c: ti.template(), w: ti.i32, args: ti.template()):
        for lane in range(c.lanes):
            if c.arena.writes(lane):
                take(c, w, lane, args)

    return lambda c, w, *args: take_all(c, w, args)


def vector(x=0.0, y=0.0, z=0.0) -> Vec3:
    """A vector of scalars."""
    return Vec3(x, y, z)


def length(v: Vec3):
    """|v|."""
    return local(ti.sqrt(v.dot(v)))


def sign(x):
    """1, or -1 for negative x: a direction for zero, too."""
    return local(ti.select(x < 0.0, -1.0, 1.0))


@ti.func
def unit_or(v: ti.template(), other: ti.template()):
    """The unit vector along v, or another one if v is zero."""
    size = ti.max(ti.max(ti.abs(v.parts[0]), ti.abs(v.parts[1])), ti.abs(v.parts[2]))
    n = Vec3(other.parts[0], other.parts[1], other.parts[2])
    if size > 0.0:
        n = v * (1.0 / size)
        n = n * (1.0 / length(n))
    return n


def across(v: Vec3) -> Vec3:
    """A unit vector perpendicular to a unit vector, from the axis along which v is shortest; of packs, too."""
    x, y, z = (local(ti.abs(part)) for part in v.parts)
    is_x, is_y = local((x <= y) & (x <= z)), local(y <= z)
    zero = local(x * 0.0)
    one = local(zero + 1.0)
    n = v.cross(
        Vec3(
            ti.select(is_x, one, zero),
            ti.select(is_x, zero, ti.select(is_y, one, zero)),
            ti.select(is_x, zero, ti.select(is_y, zero, one)),
        )
    )
    a, b, c = (ti.abs(part) for part in n.parts)
    n = n * (1.0 / ti.max(ti.max(a, b), c))
    return n * (1.0 / length(n))


@ti.func
def farthest_along(vectors: ti.template(), w: ti.i32, first: ti.i32, end: ti.i32, d: ti.template()):
    """The one of some vectors of a table that is farthest along d, the first of equals."""
    best = first
    most = vectors.load(w, first).dot(d)
    for k in range(first + 1, end):
        reach = vectors.load(w, k).dot(d)
        if reach > most:
            most = reach
            best = k
    return best
