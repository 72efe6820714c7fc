"""Expressions, local variables and packs inside kernels that are being compiled; packs are vectors of the processor.

Taichi takes a vector to pieces before it looks at the program: each of its passes, and each of LLVM's, then has four or
eight times the work, and LLVM has to find the vectors again. It can keep them whole (`real_matrix_scalarize`), as far as
arithmetic, comparisons, choice, square roots and rounding go, and in arrays that a kernel is given. What it would get wrong
or cannot do is put in other words here (1.7.4):

    -x, |x|     are not there; a product, a difference and a choice are, with the same bits of all that is a number
    x += y      is meant for memory that others write; here it is x = x + y
    lanes       of a mask are bits, which have no address; they are read from numbers, and cannot be written

Taichi's own fields of vectors, and casts of vectors, end the process. Vectors in pieces had to lie in fields, so that LLVM
found them again.
"""

from simcli.kernels.language.internals import Expr, impl, make_matrix, ops, ti


def local(x):
    """A local variable that starts as x (Taichi would otherwise evaluate x again at each use)."""
    return impl.expr_init(x)


def builder():
    """Of the kernel or procedure that is compiled."""
    return impl.get_runtime().compiling_callable.ast_builder()


def item(array, place):
    """An item of an array, or a lane of a pack, as an assignable expression."""
    return impl.subscript(builder(), array, place)


def is_vector(x) -> bool:
    """Whether x is a vector."""
    return isinstance(x, Expr) and x.is_tensor()


def is_pack(x) -> bool:
    """True if x is a lane pack rather than a scalar: a vector, or where those are taken to pieces a matrix of Taichi's."""
    return is_vector(x) or isinstance(x, ti.Matrix)


def is_mask(x) -> bool:
    """Whether a vector holds bits."""
    return "u1" in str(x.ptr.get_rvalue_type())


OPERATIONS = {
    "Add": "__add__",
    "Sub": "__sub__",
    "Mult": "__mul__",
    "Div": "__truediv__",
    "BitAnd": "__and__",
    "BitOr": "__or__",
    "BitXor": "__xor__",
}

_neg, _abs, _augassign = ops.neg, ops.abs, Expr._augassign


def vector(parts: list):
    """A local variable of several numbers (inside kernels); Taichi's own is an expression that each use works out anew."""
    return local(make_matrix(parts))


def as_numbers(mask):
    """1 where a mask is set, else 0: a vector whose lanes can be read (inside kernels)."""
    return local(ti.select(mask, 1.0, 0.0))


def lane_of(pack, lane):
    """A lane of a pack, assignable (inside kernels); of a mask 0.0 or 1.0, not assignable."""
    return item(as_numbers(pack) if is_mask(pack) else pack, lane)


def put_lane(pack, lane: int, value):
    """Assign one lane of an assignable pack (inside kernels)."""
    assert not (is_pack(pack) and is_mask(pack)), "lanes of a mask cannot be written"
    (lane_of(pack, lane) if is_pack(pack) else pack)._assign(value)


def get_lane(pack, lane: int):
    """One lane of a pack (inside kernels)."""
    return lane_of(pack, lane) if is_pack(pack) else pack


def any_lane(mask):
    """True if any lane of a mask is set (inside kernels)."""
    if not is_pack(mask):
        return mask
    numbers = as_numbers(mask)
    lanes = [item(numbers, k) for k in range(mask.get_shape()[0])]
    found = lanes[0] != 0.0
    for lane in lanes[1:]:
        found = found | (lane != 0.0)
    return found


def negative(x):
    """-x, in which a zero changes its sign."""
    return x * -1 if is_vector(x) else _neg(x)


def magnitude(x):
    """|x|; no zero of it has a sign, as 0 - x has none."""
    if not is_vector(x):
        return _abs(x)
    x = local(x)
    return ti.select(x <= 0, 0 - x, x)


def is_nan(x):
    """Whether x is no number; `!=` is false of what is none (its comparison is ordered)."""
    return local(~(x == x)) if is_vector(x) else ti.math.isnan(x)


def augmented(self, x, op: str):
    """Self = self op x, of OPERATIONS if self is a vector."""
    if not is_vector(self):
        return _augassign(self, x, op)
    assert op in OPERATIONS, f"vectors have no augmented assignment `{op}`"
    self._assign(getattr(self, OPERATIONS[op])(x))
    return None


def keep_vectors(keep: bool) -> None:
    """Put Taichi's own words, from now on, in those that vectors understand, or leave them.

    Args:
        keep: True on a CPU.
    """
    ops.neg, ops.abs = (negative, magnitude) if keep else (_neg, _abs)
    ti.abs = ops.abs
    Expr._augassign = augmented if keep else _augassign


TEAM = 32  # threads of a GPU that work for one world: those of a warp


class SharedNumbers:
    """Numbers that the threads of a team share (inside kernels of a GPU).

    Args:
        count: how many.
        kind: one of Taichi's types.
    """

    _data_oriented = True

    def __init__(self, count: int, kind):
        self.array = ti.simt.block.SharedArray(count, kind)

    def places(self, first, count: int, apart: int = 1) -> list:
        """Some numbers one after another, assignable."""
        first = local(first)
        return [item(self.array, first + k * apart) for k in range(count)]

    def at(self, k):
        """Number k."""
        return local(item(self.array, k))

    def row(self, i, width: int) -> list:
        """Row i of rows of some numbers."""
        return [local(place) for place in self.places(i * width, width)]

    def put(self, i, values: list) -> None:
        """Replace row i of rows of as many numbers as these."""
        assign_all(self.places(i * len(values), len(values)), values)


def wait() -> None:
    """Go on when all threads of the team are here (inside kernels of a GPU), and see what they have written."""
    ti.simt.block.sync()


def count_from(first, end, bits: int):
    """How many numbers below an end are `first`, or more by a multiple of 2^bits; 0 or less if none (inside kernels)."""
    return local((end - first + ((1 << bits) - 1)) >> bits)


def assign_all(places: list, values: list) -> None:
    """Replace several numbers (inside kernels): `-=` of what threads share would be meant to be atomic."""
    for place, value in zip(places, [local(value) for value in values], strict=True):
        place._assign(value)
