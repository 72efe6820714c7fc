"""Taichi 1.7.4, frozen upstream: what is below its public interface and has another name or form in other engines.

Each engine has a file with these names, which internals.py reads as `engine`; what they mean stands here.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace

from taichi._lib import core
from taichi.lang import impl, kernel_impl
from taichi.lang.ast.ast_transformer import ASTTransformer
from taichi.lang.ast.ast_transformer_utils import ASTTransformerContext
from taichi.lang.kernel_arguments import KernelArgument
from taichi.lang.kernel_impl import Func, Kernel, TaichiCallableTemplateMapper

from simcli.kernels.language import machine_code

Argument, CompiledExpr, DataType = KernelArgument, core.Expr, core.DataType
# Where the place of a node is told, and where the call of a function that is not the engine's is warned of.
TELLS_PLACE, WARNS_OF_CALL = (ASTTransformerContext, "get_pos_info"), (ASTTransformer, "warn_if_is_external_func")
IS_FUNCTION = "_is_taichi_function"  # attribute of device functions
# Of kernels that are kept: their list, where they lie below the folder that the engine is given, and their suffix.
KERNEL_LIST, KERNEL_FOLDER, KERNEL_SUFFIX = "ticache.tcb", "", ".tic"
FILE_MARK = machine_code.TYPED_POINTERS  # of these kernels
ONE_BLOCK_A_TASK = {"make_cpu_multithreading_loop": False}  # setting: it gives a thread at least 512 iterations otherwise
CALLED = "tan"  # a function that LLVM 15 takes for a call


def program_of_device():
    """Of the device that is started; None if there is none."""
    return impl.get_runtime().prog


def forget_program() -> None:
    """Leave the program to itself."""
    impl.get_runtime().prog = None


def arguments_of(function: Func | Kernel) -> list[KernelArgument]:
    """Arguments as they are declared."""
    return function.arguments


def begin_mapper(function: Func | Kernel) -> None:
    """Let a function or kernel forget what it has been called with."""
    function.mapper = TaichiCallableTemplateMapper(function.arguments, function.template_slot_locations)


def put_first(function: Func | Kernel, argument: KernelArgument) -> None:
    """Give a function or kernel an argument more, before all others."""
    function.arguments = [argument, *function.arguments]
    function.template_slot_locations = [k + 1 for k in function.template_slot_locations]
    begin_mapper(function)


def features_of(kernel: Kernel, args: tuple) -> tuple[int, tuple]:
    """Number of what a kernel is for some arguments, and what the engine reads of each."""
    return kernel.mapper.lookup(args)


def made_kernels(kernel: Kernel) -> dict:
    """Programs of a kernel, by function, number of the arguments and mode."""
    return kernel.compiled_kernels


def trace_by(function: Callable) -> None:
    """Let a function make the programs of kernels.

    Args:
        function: given are a kernel, the key of the program among `made_kernels`, arguments, and what is read of them.
    """

    def materialize(self, key=None, args=None, arg_features=None) -> None:
        function(self, key or (self.func, 0, self.autodiff_mode), args, arg_features)

    Kernel.materialize = materialize


def compiled_data(compiled):
    """What can be launched, of what the compiler gives."""
    return compiled


_LOOKED_UP = re.compile(rb"Create kernel '[^']*' from (in-memory cache|cache) \(key='(\w+)'\)")
_LEVELS = ("trace", "debug", "info", "warn", "error", "critical")
_MOST_TEXT = 65536  # bytes that a pipe holds; a look-up is told in 200


def key_and_source(prog, made, compiled) -> tuple[str, bool]:
    """Key of a kernel in the folder, equal for kernels whose code is equal, and whether it was read from there.

    Taichi tells it in its log, when it is asked for the kernel again.
    """
    found = _LOOKED_UP.search(_said_at_look_up(prog, made))
    return (found[2].decode(), found[1] == b"cache") if found else (f"unknown {id(made)}", False)


def _said_at_look_up(prog, made) -> bytes:
    level = next(level for level in _LEVELS if core.logging_effective(level))
    with _stderr_caught() as said:
        core.set_logging_level("debug")
        try:
            prog.compile_kernel(prog.config(), prog.get_device_caps(), made)
        finally:
            core.set_logging_level(level)
    return said[0]


@contextlib.contextmanager
def _stderr_caught() -> Iterator[list[bytes]]:
    """Catch what is written to file descriptor 2; lines of other threads, which are not Taichi's, are passed on."""
    said = [b""]
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    try:
        kept = os.dup(2)
    except OSError:  # the process was started without it
        kept = None
    os.dup2(writer, 2)
    os.close(writer)
    try:
        yield said
    finally:
        if kept is None:
            os.close(2)
        else:
            os.dup2(kept, 2)
            os.close(kept)
        with contextlib.suppress(BlockingIOError):
            said[0] = os.read(reader, _MOST_TEXT)
        os.close(reader)
        others = b"".join(line for line in said[0].splitlines(keepends=True) if not line.startswith(b"[D "))
        if others and kept is not None:
            os.write(2, others)


def launch(kernel: Kernel, key: tuple, made, args: tuple) -> None:
    """Call a kernel.

    Args:
        kernel: with the program.
        key: of the program among `made_kernels`.
        made: the program.
        args: as it was made for.
    """
    kernel.launch_kernel(made, *args)


def place_of_argument(place: int):
    """How a launch is told of which of its arguments it is given one."""
    return (place,)


def tree_of(function: Func, args: tuple, features: tuple):
    """Syntax tree of a function that is compiled by itself, and its context."""
    return kernel_impl._get_tree_and_ctx(function, is_kernel=False, args=args, arg_features=features, is_real_function=True)


@contextlib.contextmanager
def other_body(body: list) -> Iterator[None]:
    """Kernels that are traced meanwhile have another body.

    Args:
        body: statements of a syntax tree.
    """
    before = kernel_impl._get_tree_and_ctx

    def replaced(*given, **named):
        tree, context = before(*given, **named)
        tree.body[0].body = body
        return tree, context

    kernel_impl._get_tree_and_ctx = replaced
    try:
        yield
    finally:
        kernel_impl._get_tree_and_ctx = before


@contextlib.contextmanager
def function_in_place_of_kernel(function, context) -> Iterator[None]:
    """What is built meanwhile goes to a function of the program, what it inlines included."""
    runtime = impl.get_runtime()
    outer, kernel = runtime.compiling_callable, runtime.current_kernel
    runtime.compiling_callable = function
    runtime.current_kernel = SimpleNamespace(ast_builder=function.ast_builder, autodiff_mode=kernel.autodiff_mode)
    try:
        yield
    finally:
        runtime.compiling_callable, runtime.current_kernel = outer, kernel


def functions_of(function: Func) -> dict:
    """Functions of the program that a device function has been compiled to, by number of the arguments."""
    return function.taichi_functions


def forget_functions(function: Func) -> None:
    """Let a device function forget what it has been compiled to, which was of another program."""
    function.compiled, function.taichi_functions = {}, {}
    begin_mapper(function)


def mark_function(chosen: Callable, called: Func) -> None:
    """Let a function of Python's pass for a device function that is compiled by itself."""
    chosen._is_taichi_function, chosen._is_real_function, chosen.func = True, True, called


def read_texts_by(source_lines: Callable) -> Callable:
    """Let texts of functions be found by another function, which gives lines and the number of the first; gives its own."""
    own = kernel_impl.getsourcelines
    kernel_impl.getsourcelines = source_lines
    return own
