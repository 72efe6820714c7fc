"""Numbers that device code reads from memory, where Taichi would write them into the kernel as constants.

A number that an object holds (a count, a place, a tolerance) belongs to a scene. As a constant of the kernels that mention
it, it would make another kernel of every scene, to be compiled anew. So a mention of such a number in device code,
`c.tables.n_links`, becomes a load from a table that the host fills before the kernel runs; what is written in
`ti.static(...)` stays what it is, and decides what the kernel can do at all. The table is in the memory of the arena, which
kernels and procedures are given as their first argument, without saying so.

Constants are faster where loops are short: natural four-bars step in 23 us instead of 33, chains as fast. So work that
makes up for a compilation has a kernel of its own, in which all numbers are constants.

Entries of the table are numbered in the order in which a kernel's text mentions them, so that they do not depend on the
scene.
"""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from simcli.kernels.language.expressions import builder as builder_of_kernel
from simcli.kernels.language.expressions import local
from simcli.kernels.language.internals import (
    ASTTransformer,
    Kernel,
    core,
    engine,
    impl,
    ti,
)

OF_DEVICE = ("lanes", "block_dim", "reach")  # names of attributes: numbers that are the same for all scenes
MOST_INTS, MOST_REALS = 8192, 2048  # numbers that a kernel reads
_ZERO = "zero"  # a number that the compiler does not know
_MEMORY = "_memory"  # name of the array that kernels and procedures are given before their own arguments

_build_attribute, _build_name = ASTTransformer.build_Attribute, ASTTransformer.build_Name
_build_function_def = ASTTransformer.build_FunctionDef
_listening: list["Numbers"] = []  # of the kernel that is being compiled


class Numbers:
    """The numbers that one kernel reads, in the order of their mention.

    Args:
        arena: that it works in.
        own: whether the kernel serves one scene: numbers are constants.

    Attributes:
        entries: per kind of number, (object, attribute) in the order of the table.
    """

    zero = 0

    def __init__(self, arena, own: bool = False):
        self.own, self.arena, self.memory = own, arena, None
        self.entries: dict[type, list[tuple]] = {int: [], float: []}
        self.places: dict[tuple, int] = {}
        self.known: dict = {}

    def load(self, owner, name: str, value):
        """The entry of an attribute, as an expression (inside kernels); its value in a kernel that serves one scene."""
        if self.own and name != _ZERO:
            return value
        kind = float if is_real(value) else int
        entries = self.entries[kind]
        place = self.places.setdefault((id(owner), name), len(entries))
        if place == len(entries):
            assert place < (MOST_INTS if kind is int else MOST_REALS), "too many numbers for the table of a kernel"
            entries.append((owner, name))
        found = self.arena.whole(place) if kind is int else self.arena.real(MOST_INTS + place)
        found.in_static = value
        return found

    def fill(self, whole: np.ndarray, real: np.ndarray):
        """Write what the entries are now into the tables."""
        for kind, table in ((int, whole), (float, real)):
            values = [getattr(owner, name) for owner, name in self.entries[kind]]
            table[: len(values)] = np.array(values, np.int32 if kind is int else table.dtype)  # which refuses longer ones


_kernels: dict[tuple, Kernel] = {}  # by kernel and types of items


def given(kernel, real, lanes: int) -> Kernel:
    """A kernel that is given an array of packs before its own arguments.

    Args:
        kernel: without it.
        real: Taichi type of numbers.
        lanes: numbers of a pack.
    """
    key = kernel, str(real), lanes
    if key not in _kernels:
        item = ti.types.vector(lanes, real) if lanes > 1 else real
        made = _kernels[key] = Kernel(kernel._primal.func, kernel._primal.autodiff_mode)
        give_memory(made, item)
    return _kernels[key]


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
    kept = numbers.known, numbers.memory
    numbers.known, numbers.memory = {}, None
    try:
        yield numbers.arena
    finally:
        numbers.known, numbers.memory = kept


def begin(variables: dict[object, Callable]) -> None:
    """Make the local variables that serve a whole kernel or procedure, at its start (inside it).

    Args:
        variables: what each is, and its expression.
    """
    if _listening:
        numbers = _listening[-1]
        numbers.known = {_ZERO: local(numbers.load(numbers, "zero", 0))}
        numbers.known |= {key: local(0) for key in variables}
        with aside(numbers.known[_ZERO] == 0):
            for key, make in variables.items():
                numbers.known[key]._assign(make())


@contextmanager
def aside(condition) -> Iterator[None]:
    """A block of its own (inside kernels): the compiler's passes take the longer, the longer a block is."""
    builder = builder_of_kernel()
    about = core.DebugInfo(impl.get_runtime().get_current_src_info())
    builder.begin_frontend_if(condition.ptr, about)
    builder.begin_frontend_if_true()
    yield
    builder.pop_scope()
    builder.begin_frontend_if_false()
    builder.pop_scope()


def known(key, make: Callable):
    """The local variable that `begin` made; its expression where nobody listens."""
    if not _listening:
        return make()
    assert key in _listening[-1].known, "a kernel works in the arena that launches it, and calls its `enter` first"
    return _listening[-1].known[key]


def unknown_zero():
    """0, which the compiler does not know (inside kernels); None where nobody listens."""
    if not _listening:
        return None
    found = _listening[-1].known.get(_ZERO)
    return _listening[-1].load(_listening[-1], _ZERO, 0) if found is None else found


def unused_number():
    """A number in memory that nobody reads (inside kernels); None where nobody listens."""
    return _listening[-1].arena.real(unknown_zero() + (MOST_INTS + MOST_REALS)) if _listening else None


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


def memory():
    """The array that the kernel or procedure has been given (inside it); None where nobody listens."""
    return _listening[-1].memory if _listening else None


def give_memory(function, item=None) -> None:
    """Let a kernel or procedure take the given array before its own arguments.

    Args:
        function: of the engine.
        item: type of the array's items; that of the caller if None.
    """
    engine.put_first(function, engine.Argument(ti.types.ndarray(dtype=item, ndim=1), _MEMORY))


def _build_function(ctx, node: ast.FunctionDef):
    if _listening and (ctx.is_kernel or ctx.is_real_function):
        node.args.args.insert(0, ast.arg(_MEMORY))
        create = ctx.create_variable

        def created(name, variable):
            if name == _MEMORY:
                _listening[-1].memory = variable
            create(name, variable)

        ctx.create_variable = created
    return _build_function_def(ctx, node)


ASTTransformer.build_FunctionDef = staticmethod(_build_function)
ASTTransformer.build_Name = staticmethod(_build_argument)
ASTTransformer.build_Attribute = staticmethod(_build)
