"""Loops that the compiler keeps as loops.

LLVM believes that today's processors like loop bodies of thousands of instructions, and unrolls each of ours eight times.
That is most of the time that a scene takes to compile, grows with the scene, and gains nothing: the memory of a block of
worlds sets the pace. A body with a call is left alone. So every loop of a device function gets one, after a test that is
never true but that the compiler cannot decide; bounds are opaque to it, so that its work does not depend on the scene.
"""

import ast
from functools import cache
from types import SimpleNamespace

from simcli.kernels.language.backend import default_real
from simcli.kernels.language.expressions import item
from simcli.kernels.language.internals import ASTTransformer, ti
from simcli.kernels.language.numbers import unknown_zero, unused_number

_ROLLING = "_rolling"  # in device functions
UNREACHED = 2_000_000_000  # iterations
GUARD = f"if {{0}} > {UNREACHED}: {_ROLLING}.call()"
_ZERO = f"{_ROLLING}.zero()"

_fields = SimpleNamespace(zero=None, sink=None)
_build_range_for = ASTTransformer.build_range_for


def keep_loops_rolled(keep: bool) -> None:
    """Compile the loops of simcli's device functions as loops from now on, or as Taichi's own.

    Args:
        keep: True directly after Taichi's start on a CPU; False on a GPU.
    """
    ASTTransformer.build_range_for = staticmethod(_build_rolled if keep else _build_range_for)
    if keep:
        _fields.zero, _fields.sink = ti.field(ti.i32, shape=1), ti.field(default_real(), shape=1)


def _zero():
    """0, which the compiler does not know (inside kernels)."""
    found = unknown_zero()
    return item(_fields.zero, 0) if found is None else found


def _call():
    """A call of the C library: the tangent of a number that nobody uses (inside kernels)."""
    place = unused_number()
    place = item(_fields.sink, 0) if place is None else place
    place._assign(ti.tan(place))


_here = SimpleNamespace(zero=_zero, call=_call)


def _build_rolled(ctx, node: ast.For):
    if ctx.is_kernel or not ctx.func.func.__module__.startswith("simcli."):
        return _build_range_for(ctx, node)
    ctx.global_vars[_ROLLING] = _here
    bounds = node.iter.args
    end = bounds[-1]
    if not any(isinstance(part, ast.Call) for part in ast.walk(end)):  # what is read from a table is opaque already
        node.iter.args = [*bounds[:-1], ast.copy_location(ast.BinOp(end, ast.Add(), _parsed(_ZERO).value), end)]
    node.body = [*node.body, _parsed(GUARD.format(node.target.id))]
    return _build_range_for(ctx, node)


@cache
def _parsed(text: str) -> ast.stmt:
    """Tree of a statement; all loops share it, for Taichi leaves in a tree only what it overwrites when it comes again."""
    return ast.parse(text).body[0]
