"""Numbers that device code reads from memory, where Taichi would write them into the kernel as constants.

A number that an object holds (a count, an address, a tolerance) belongs to a scene. As a constant of the kernels that
mention it, it would make another kernel of every scene, to be compiled anew. So a mention of such a number in device code,
`c.tables.n_links`, becomes a load from a table that the host fills before the kernel runs; what is written in
`ti.static(...)` stays what it is, and decides what the kernel can do at all.

Constants are faster where loops are short: natural four-bars step in 25 us instead of 34, chains as fast. So work that
makes up for a compilation has a kernel of its own, in which only addresses come from the table, because they differ
between processes.

Entries of the table are numbered in the order in which a kernel's text mentions them, so that they do not depend on the
scene. This uses Taichi's internals (see memory.py).
"""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from taichi._lib import core as _ti_core
from taichi.lang import impl
from taichi.lang.ast.ast_transformer import ASTTransformer

OF_DEVICE = ("lanes", "block_dim")  # names of attributes: numbers that are the same for all scenes
MOST_INTS, MOST_REALS = 8192, 2048  # numbers that a kernel reads
PLACE = "place"  # name of addresses
ZERO = "zero"  # an index that the compiler does not know: it would work on each constant place for long

_build_attribute, _build_name = ASTTransformer.build_Attribute, ASTTransformer.build_Name
_listening: list["Numbers"] = []  # of the kernel that is being compiled


class Numbers:
    """The numbers that one kernel reads, in the order of their mention.

    Args:
        arena: that it works in.
        ints, reals: fields whose first entries are for them.
        own: whether the kernel serves one scene: only addresses come from the table.

    Attributes:
        entries: per kind of number, (object, attribute) in the order of the table.
    """

    zero = 0

    def __init__(self, arena, ints, reals, own: bool = False):
        self.own, self.arena, self.fields = own, arena, {int: ints, float: reals}
        self.entries: dict[type, list[tuple]] = {int: [], float: []}
        self.places: dict[tuple, int] = {}
        self.known: dict = {}

    def load(self, owner, name: str, value):
        """The entry of an attribute, as an expression (inside kernels); its value in a kernel that serves one scene."""
        if self.own and name not in (PLACE, ZERO):
            return value
        kind = float if is_real(value) else int
        entries = self.entries[kind]
        place = self.places.setdefault((id(owner), name), len(entries))
        if place == len(entries):
            assert place < (MOST_INTS if kind is int else MOST_REALS), "too many numbers for the table of a kernel"
            entries.append((owner, name))
        builder = impl.get_runtime().compiling_callable.ast_builder()
        found = impl.subscript(builder, self.fields[kind], self.known[ZERO] + place if ZERO in self.known else place)
        found.in_static = value
        return found

    def values(self, kind: type, dtype) -> np.ndarray:
        """What the entries are now."""
        return np.array([getattr(owner, name) for owner, name in self.entries[kind]], dtype)


@contextmanager
def listening(numbers: Numbers) -> Iterator[None]:
    """Let numbers of device code that is compiled meanwhile come from a table."""
    _listening.append(numbers)
    try:
        yield
    finally:
        _listening.pop()


@contextmanager
def own_variables() -> Iterator:
    """Forget the local variables of the kernel for a procedure that is compiled meanwhile; gives the arena, or None."""
    if not _listening:
        yield None
        return
    numbers = _listening[-1]
    kept, numbers.known = numbers.known, {}
    try:
        yield numbers.arena
    finally:
        numbers.known = kept


def begin(variables: dict[object, Callable]) -> None:
    """Make the local variables that serve a whole kernel or procedure, at its start (inside it).

    Args:
        variables: what each is, and its expression.
    """
    if _listening:
        numbers = _listening[-1]
        numbers.known = {ZERO: impl.expr_init(numbers.load(numbers, "zero", 0))}
        numbers.known |= {key: impl.expr_init(0) for key in variables}
        with aside(numbers.known[ZERO] == 0):
            for key, make in variables.items():
                numbers.known[key]._assign(make())


@contextmanager
def aside(condition) -> Iterator[None]:
    """A block of its own (inside kernels): the compiler's passes take the longer, the longer a block is."""
    builder = impl.get_runtime().compiling_callable.ast_builder()
    about = _ti_core.DebugInfo(impl.get_runtime().get_current_src_info())
    builder.begin_frontend_if(condition.ptr, about)
    builder.begin_frontend_if_true()
    yield
    builder.pop_scope()
    builder.begin_frontend_if_false()
    builder.pop_scope()


def known(key, make: Callable):
    """The local variable that `begin` made; its expression where there is none."""
    found = _listening[-1].known.get(key) if _listening else None
    return make() if found is None else found


def number(owner, name: str):
    """A number of an object: from the table, inside kernels whose numbers are listened to; else itself."""
    value = getattr(owner, name)
    return _listening[-1].load(owner, name, value) if _listening else value


def _build(ctx, node: ast.Attribute):
    found = _build_attribute(ctx, node)
    owner = node.value.ptr
    if _listening and not ctx.is_in_static_scope() and is_held(owner, node.attr) and is_read(node.attr, found):
        node.ptr = found = _listening[-1].load(owner, node.attr, found)
    return found


def _build_argument(ctx, node: ast.Name):
    found = _build_name(ctx, node)
    if ctx.is_in_static_scope() and hasattr(found, "in_static"):
        node.ptr = found = found.in_static
    return found


def is_held(owner, name: str) -> bool:
    """Whether an object, and no class or module, holds a value."""
    return getattr(owner, "_data_oriented", False) and name in vars(owner)


def is_read(name: str, value) -> bool:
    """Whether a value is a number that comes from the table."""
    return is_real(value) or (isinstance(value, int | np.integer) and not isinstance(value, bool) and name not in OF_DEVICE)


def is_real(value) -> bool:
    """Whether a value is a real number of Python's or numpy's."""
    return isinstance(value, float | np.floating)


ASTTransformer.build_Name = staticmethod(_build_argument)
ASTTransformer.build_Attribute = staticmethod(_build)
