"""Expressions and local variables inside kernels that are being compiled."""

from simcli.kernels.language.internals import Expr, impl, ti


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
