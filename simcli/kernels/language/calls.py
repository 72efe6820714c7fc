"""Calls: device functions that are compiled once and called, and launches of one kernel again and again.

Taichi would copy a device function into every place that uses it. It inlines what it calls, and its passes take time that
grows faster than what they are given: a step with contact compiles in half the time, and to the same bytes, if its large
stages are functions of their own. What such a function is given is either the same for all calls (`ti.template()`: memory,
constants), and it is compiled for each of them, or a number; it leaves its results in memory. On a GPU it is inlined as any
other.

A kernel, and a procedure, calls one procedure at most: with two, the key under which Taichi keeps the kernel is another one
at each start, and it compiles again. So stages form a chain.

Taichi's own functions forget none of the programs before, and what they inline goes to the kernel instead of to themselves.

Of each argument of each launch Taichi asks what it is, and looks the compiled kernel up; of the kernel of a run, with its
17 arrays, that takes longer than a step of a small scene. So arguments are handed over once, and those that change, each
time.
"""

import ast
import functools
from dataclasses import dataclass

import numpy as np

from simcli.kernels.language.backend import compile_made, configuration, program
from simcli.kernels.language.internals import (
    Func,
    engine,
    handle_exception_from_cpp,
    ti,
    transform_tree,
)
from simcli.kernels.language.numbers import Numbers, give_memory, memory, own_variables

_ENTER = ast.fix_missing_locations(ast.parse("_arena.enter(w)").body[0])
CALLING = ("x64", "arm64")  # backends that call


def procedure(body):
    """Mark a device function without a result that is worth a call: a stage, not a formula.

    Args:
        body: every argument is annotated, with `ti.template()` or a type of numbers; the block is `w`.
    """
    inlined, called, given = ti.func(body), _Called(body), _Given(body)

    @functools.wraps(body)
    def chosen(*args):
        if configuration().arch.name not in CALLING:
            return inlined(*args)
        return (called if memory() is None else given)(*args)

    engine.mark_function(chosen, called)
    return chosen


@dataclass
class Traced:
    """A kernel that can be launched.

    Attributes:
        key: Taichi's, of kernel and arguments.
        compiled: Taichi's.
        numbers: that it reads.
    """

    key: tuple
    compiled: object
    numbers: Numbers


class _Called(Func):
    def __init__(self, body):
        super().__init__(body, is_real_function=True)
        self.program = None

    def __call__(self, *args):
        if self.program is not program():
            self.program = program()
            engine.forget_functions(self)
        return super().__call__(*args)

    def do_compile(self, key, args, arg_features):
        """As Taichi does it, but what is inlined goes to this function."""
        tree, context = engine.tree_of(self, args, arg_features)
        function = program().create_function(key)

        def compile_body():
            context.ast_builder = function.ast_builder()
            with engine.function_in_place_of_kernel(function, context), own_variables() as arena:
                if arena:
                    context.global_vars["_arena"] = arena
                    tree.body[0].body.insert(0, _ENTER)
                transform_tree(tree, context)

        engine.functions_of(self)[key.instance_id], self.compiled[key.instance_id] = (
            function,
            True,
        )  # the body holds all memory
        function.set_function_body(compile_body)


class _Given(_Called):
    """A function that is given the memory of the kernel, too."""

    def __init__(self, body):
        super().__init__(body)
        give_memory(self)

    def __call__(self, *args):
        return super().__call__(memory(), *args)


def kernel_features(kernel, args: tuple) -> tuple[tuple, tuple]:
    """Key of what a kernel is for some arguments, and what the engine reads of them."""
    instance, features = engine.features_of(kernel, args)
    return (kernel.func, instance, kernel.autodiff_mode), features


def launch_kernel(kernel, traced, args: tuple) -> None:
    """Call a kernel once.

    Args:
        kernel: of the engine.
        traced: what it was compiled to, for such arguments.
        args: its arguments.
    """
    engine.launch(kernel, traced.key, traced.compiled, args)


class ReadyLaunch:
    """A kernel with its arguments.

    Args:
        kernel: of Taichi.
        traced: what it was compiled to, and the numbers that it reads.
        args: its arguments, as it was compiled for them; arrays stay where they are.
        of_kernel: tables of the numbers that kernels of an arena read, whole and real.

    Attributes:
        program: of Taichi, in which the launch is possible.
    """

    def __init__(self, kernel, traced, args: tuple, of_kernel: tuple[np.ndarray, np.ndarray]):
        self.program, self._args, self._tables = program(), args, of_kernel
        self._context = traced.compiled.make_launch_context()
        self._data = engine.compiled_data(compile_made(traced.compiled))
        traced.numbers.fill(*of_kernel)
        self._annotations = {k: argument.annotation for k, argument in enumerate(engine.arguments_of(kernel))}
        counts = [len(traced.numbers.entries[kind]) for kind in (int, float)]
        self._numbers = [table[:n].copy() for table, n in zip(of_kernel, counts, strict=True)]
        self._place, place = {}, 0
        for k, value in enumerate(args):
            if k in kernel.template_slot_locations:
                continue
            self._place[k] = engine.place_of_argument(place)
            self._give(k, value)
            place += 1

    def _give(self, k: int, value) -> None:
        at, kind = self._place[k], self._annotations[k]
        if isinstance(value, int):
            self._context.set_arg_int(at, value)
        elif isinstance(value, np.ndarray):
            shape = value.shape if getattr(kind.dtype, "ndim", 0) == 0 else value.shape[: -kind.dtype.ndim]
            address = value.__array_interface__["data"][0]
            self._context.set_arg_external_array_with_shape(at, address, value.nbytes, shape, 0)
        else:
            self._context.set_arg_ndarray(at, value.arr)

    def prepare(self) -> None:
        """Write the numbers that the kernel reads: other kernels may have used their table."""
        for table, numbers in zip(self._tables, self._numbers, strict=True):
            table[: len(numbers)] = numbers

    def launch(self, given: dict) -> None:
        """Call the kernel.

        Args:
            given: of its arguments, by their place among all, those that are others: whole numbers, and arrays of the same
                kinds, which live until the kernel has ended.
        """
        for k, value in given.items():
            self._give(k, value)
        try:
            self.program.launch_kernel(self._data, self._context)
        except Exception as error:
            raise handle_exception_from_cpp(error) from None
