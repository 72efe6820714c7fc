"""Quadrants 1.4.0: as engine_taichi.py, which says what each name means.

It traces each kernel twice, to see first which members of dataclasses are used; simcli gives it none, so that once is
enough. It remembers what it has read of arguments by their ids, which another number may have later, and warns of those that
it cannot watch; here it reads them each time, as Taichi does. It searches objects for its arrays, and notes in them what it
has found; those of simcli have none that a kernel is to take from there.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from quadrants._lib import core
from quadrants.lang import _func_base, _template_mapper_hotpath, _wrap_inspect, impl, kernel
from quadrants.lang._template_mapper import TemplateMapper
from quadrants.lang.ast.ast_transformer_utils import ASTTransformerFuncContext
from quadrants.lang.ast.ast_transformers.call_transformer import CallTransformer
from quadrants.lang.func import Func
from quadrants.lang.kernel import Kernel
from quadrants.lang.kernel_arguments import ArgMetadata

from simcli.kernels.language import machine_code

Argument, CompiledExpr, DataType = ArgMetadata, core.ExprCxx, core.DataTypeCxx
TELLS_PLACE = (ASTTransformerFuncContext, "memoized_get_pos_info")
WARNS_OF_CALL = (CallTransformer, "_warn_if_is_external_func")
IS_FUNCTION = "_is_quadrants_function"
KERNEL_LIST, KERNEL_FOLDER, KERNEL_SUFFIX = "qdcache.qdb", "kernel_compilation_manager", ".qdc"
FILE_MARK = machine_code.PLAIN_POINTERS
ONE_BLOCK_A_TASK = {"cpu_work_scheduling": core.CPUWorkScheduling.FIXED_SIZE}
CALLED = "exp"  # LLVM 22 takes the tangent for an instruction, and unrolls loops that have one


def program_of_device():
    """As of Taichi."""
    return impl.get_runtime()._prog


def forget_program() -> None:
    """As of Taichi."""
    impl.get_runtime()._prog = None


def arguments_of(function: Func | Kernel) -> list[ArgMetadata]:
    """As of Taichi."""
    return function.arg_metas


def begin_mapper(function: Func | Kernel) -> None:
    """As of Taichi."""
    function.mapper = TemplateMapper(function.arg_metas, function.template_slot_locations)


def put_first(function: Func | Kernel, argument: ArgMetadata) -> None:
    """As of Taichi."""
    function.arg_metas = [argument, *function.arg_metas]
    function.template_slot_locations = [k + 1 for k in function.template_slot_locations]
    function.raise_on_templated_floats = False
    begin_mapper(function)


def features_of(kernel: Kernel, args: tuple) -> tuple[int, tuple]:
    """As of Taichi."""
    return kernel.mapper.lookup(False, args)


def made_kernels(kernel: Kernel) -> dict:
    """As of Taichi."""
    return kernel.materialized_kernels


def _without_members(self, args: tuple, key: tuple) -> set[str]:
    """Which members of dataclasses a kernel uses, as if they were known: none."""
    self._l1_key = self._pruning_paths_from_l1 = self.fast_checksum = None
    used = self.used_py_dataclass_parameters_by_key_enforcing[key] = set()
    return used


def _looked_up(self, raise_on_templated_floats: bool, args: tuple) -> tuple[int, tuple]:
    """Number of what a function or kernel is for some arguments, and what is read of them."""
    key = self.extract(raise_on_templated_floats, args)
    return self.mapping.setdefault(key, len(self.mapping)), key


Kernel._try_load_fastcache = _without_members
TemplateMapper.lookup = _looked_up
_template_mapper_hotpath._struct_nd_paths_for = lambda arg: ()


def trace_by(function: Callable) -> None:
    """As of Taichi."""

    def materialize(self, key=None, py_args=None, arg_features=None) -> None:
        function(self, key or (self.func, 0, self.autodiff_mode), py_args, arg_features)

    Kernel.materialize = materialize


def compiled_data(compiled):
    """As of Taichi."""
    return compiled.compiled_kernel_data


def key_and_source(prog, made, compiled) -> tuple[str, bool]:
    """As of Taichi."""
    return compiled.cache_key, compiled.cache_hit


def launch(kernel: Kernel, key: tuple, made, args: tuple) -> None:
    """As of Taichi."""
    kernel.used_py_dataclass_parameters_by_key_enforcing.setdefault(key, set())
    kernel.launch_kernel(key, made, None, *args)


def place_of_argument(place: int):
    """As of Taichi."""
    return place


def tree_of(function: Func, args: tuple, features: tuple):
    """As of Taichi."""
    return function.get_tree_and_ctx(is_kernel=False, py_args=args, arg_features=features, is_real_function=True)


@contextmanager
def other_body(body: list) -> Iterator[None]:
    """As of Taichi."""

    def replaced(self, *given, **named):
        tree, context = super(Kernel, self).get_tree_and_ctx(*given, **named)
        tree.body[0].body = body
        return tree, context

    Kernel.get_tree_and_ctx = replaced
    try:
        yield
    finally:
        del Kernel.get_tree_and_ctx  # that of the base goes on


@contextmanager
def function_in_place_of_kernel(function, context) -> Iterator[None]:
    """As of Taichi."""
    runtime, kernel = impl.get_runtime(), context.global_context.current_kernel
    outer, before = runtime._compiling_callable, vars(kernel).pop("ast_builder", None)
    runtime._compiling_callable, kernel.ast_builder = function, function.ast_builder
    try:
        yield
    finally:
        runtime._compiling_callable = outer
        del kernel.ast_builder
        if before:
            kernel.ast_builder = before


def functions_of(function: Func) -> dict:
    """As of Taichi."""
    return function.cxx_function_by_id


def forget_functions(function: Func) -> None:
    """As of Taichi."""
    function.compiled, function.cxx_function_by_id = {}, {}
    begin_mapper(function)


def mark_function(chosen: Callable, called: Func) -> None:
    """As of Taichi."""
    chosen._is_quadrants_function, chosen._is_real_function, chosen.func, chosen.wrapper = True, True, called, called


def read_texts_by(source_lines: Callable) -> Callable:
    """As of Taichi; it wants facts of a function and lines without their ends, which are kept by function."""
    known: dict = {}

    def source_info(function):
        found = known.get(function)
        if found is None:
            lines, first = source_lines(function)
            facts = _wrap_inspect.FunctionSourceInfo(
                function_name=function.__name__,
                filepath=function.__code__.co_filename,
                start_lineno=first,
                end_lineno=first + len(lines) - 1,
            )
            found = known[function] = facts, [line.rstrip("\n").replace("\t", "    ") for line in lines]
        return found

    _func_base.get_source_info_and_src = kernel.get_source_info_and_src = source_info
    return _wrap_inspect.getsourcelines
