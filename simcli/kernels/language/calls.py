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
from types import SimpleNamespace

import numpy as np

from simcli.kernels.language.backend import configuration, program
from simcli.kernels.language.internals import (
    Func,
    TaichiCallableTemplateMapper,
    handle_exception_from_cpp,
    impl,
    kernel_impl,
    ti,
)
from simcli.kernels.language.numbers import memory, own_variables, with_memory

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

    chosen._is_taichi_function, chosen._is_real_function, chosen.func = True, True, called
    return chosen


class _Called(Func):
    def __init__(self, body):
        super().__init__(body, is_real_function=True)
        self.program = None

    def __call__(self, *args):
        if self.program is not program():
            self.program, self.compiled, self.taichi_functions = program(), {}, {}
            self.mapper = TaichiCallableTemplateMapper(self.arguments, self.template_slot_locations)
        return super().__call__(*args)

    def do_compile(self, key, args, arg_features):
        """As Taichi does it, but what is inlined goes to this function."""
        runtime = impl.get_runtime()
        tree, context = kernel_impl._get_tree_and_ctx(
            self, is_kernel=False, args=args, arg_features=arg_features, is_real_function=True
        )
        function = runtime.prog.create_function(key)

        def compile_body():
            outer, kernel = runtime.compiling_callable, runtime.current_kernel
            runtime.compiling_callable = function
            runtime.current_kernel = SimpleNamespace(ast_builder=function.ast_builder, autodiff_mode=kernel.autodiff_mode)
            context.ast_builder = function.ast_builder()
            try:
                with own_variables() as arena:
                    if arena:
                        context.global_vars["_arena"] = arena
                        tree.body[0].body.insert(0, _ENTER)
                    kernel_impl.transform_tree(tree, context)
            finally:
                runtime.compiling_callable, runtime.current_kernel = outer, kernel

        self.taichi_functions[key.instance_id], self.compiled[key.instance_id] = function, True  # the body holds all memory
        function.set_function_body(compile_body)


class _Given(_Called):
    """A function that is given the memory of the kernel, too."""

    def __init__(self, body):
        super().__init__(body)
        self.arguments = with_memory(self.arguments)
        self.template_slot_locations = [k + 1 for k in self.template_slot_locations]

    def __call__(self, *args):
        return super().__call__(memory(), *args)


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
        self._data = self.program.compile_kernel(configuration(), self.program.get_device_caps(), traced.compiled)
        traced.numbers.fill(*of_kernel)
        self._annotations = {k: argument.annotation for k, argument in enumerate(kernel.arguments)}
        counts = [len(traced.numbers.entries[kind]) for kind in (int, float)]
        self._numbers = [table[:n].copy() for table, n in zip(of_kernel, counts, strict=True)]
        self._place, place = {}, 0
        for k, value in enumerate(args):
            if k in kernel.template_slot_locations:
                continue
            self._place[k] = (place,)
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
