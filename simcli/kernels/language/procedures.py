"""Device functions that are compiled once and called, where Taichi would copy them into every place that uses them.

Taichi inlines what it calls, and its passes take time that grows faster than what they are given: a step with contact
compiles in half the time, and to the same bytes, if its large stages are functions of their own. What such a function is
given is either the same for all calls (`ti.template()`: memory, constants), and it is compiled for each of them, or a
number; it leaves its results in memory. On a GPU it is inlined as any other.

A kernel, and a procedure, calls one procedure at most: with two, the key under which Taichi keeps the kernel is another one
at each start, and it compiles again. So stages form a chain.

Taichi's own functions forget none of the programs before, and what they inline goes to the kernel instead of to themselves.
"""

import ast
import functools
from types import SimpleNamespace

from simcli.kernels.language.backend import configuration, program
from simcli.kernels.language.internals import Func, TaichiCallableTemplateMapper, impl, kernel_impl, ti
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
        tree, context = kernel_impl._get_tree_and_ctx(self, is_kernel=False, args=args, arg_features=arg_features,
                                          is_real_function=True)  # fmt: skip
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
