"""Taichi's front end in fewer words: what it does at each node of a kernel's syntax tree, as far as simcli needs it.

Taichi walks through the trees of all device functions whenever a kernel is called first in a process, compiled before or
not: it needs the program to find the kernel in the folder. Here is the same walk without detours: a function is parsed once
for a kernel and not wherever it is inlined, a place for messages is written once per line, and operations and constants
become expressions directly, where Taichi asks of each whether it is one of twenty other things. Whatever is none of the
usual things goes to Taichi's own function. The programs are the same, and so are the keys of the kernels.

Uses Taichi's internals (1.7.4, see memory.py).
"""

import ast
import traceback
from types import FunctionType, SimpleNamespace

from taichi._lib import core
from taichi.lang import impl, kernel_impl, ops
from taichi.lang.any_array import AnyArray
from taichi.lang.ast import ast_transformer
from taichi.lang.ast.ast_transformer import ASTTransformer
from taichi.lang.ast.ast_transformer_utils import ASTTransformerContext, Builder, LoopStatus, ReturnStatus
from taichi.lang.exception import TaichiCompilationError, TaichiSyntaxError, handle_exception_from_cpp
from taichi.lang.expr import Expr
from taichi.lang.kernel_impl import Kernel

STACK = 70_000  # places of a frame: of 2^17 that Python takes for it, the rest is left
LEAST, MOST = -(2**31), 2**31 - 1  # of whole numbers of 32 bits
SCALARS = (Expr, int, float)  # what operations are given, but for matrices and fields

_taichis = SimpleNamespace(init=Expr.__init__, expr_init=impl.expr_init.__wrapped__, binary=ops._binary_operation,
                           subscript=impl.subscript.__wrapped__, info=core.DebugInfo, tree=kernel_impl._get_tree_and_ctx,
                           attribute=ASTTransformer.build_Attribute, materialize=Kernel.materialize)  # fmt: skip


def place_of(context, node) -> str:
    """File, line and source of a node of a kernel's syntax tree, for Taichi's messages.

    Taichi draws carets under every node that it compiles, needed or not: a quarter of the start-up time of a cached kernel.
    """
    places = context.func.__dict__.setdefault("places", {})
    found = places.get(node.lineno)
    if found is None:
        line = context.src[node.lineno - 1].rstrip()
        number = node.lineno + context.lineno_offset
        found = places[node.lineno] = f'File "{context.file}", line {number}, in {context.func.func.__name__}:\n{line}\n'
    return found


def info_of(place: str = ""):
    """Taichi's object of a place; places are few."""
    found = _infos.get(place)
    if found is None:
        found = _infos[place] = _taichis.info(place)
    return found


_infos: dict[str, object] = {}


def built(self, context, node):
    """What a node of a syntax tree is in the kernel's program."""
    kind = type(node)
    has_place = isinstance(node, ast.stmt | ast.expr)
    places = impl.pytaichi.src_info_stack
    places.append(place_of(context, node) if has_place else "")
    try:
        build = getattr(self, _names.get(kind) or _names.setdefault(kind, f"build_{kind.__name__}"), None)
        if build is None:
            raise TaichiSyntaxError(f'Unsupported node "{kind.__name__}"')
        return build(context, node)
    except Exception as error:
        if impl.pytaichi.print_full_traceback:
            raise
        if context.raised or not has_place:
            raise error.with_traceback(None) from None
        context.raised = True
        error = handle_exception_from_cpp(error)
        if not isinstance(error, TaichiCompilationError):
            raise TaichiCompilationError(place_of(context, node) + traceback.format_exc()) from None
        raise type(error)(place_of(context, node) + str(error)) from None
    finally:
        places.pop()


_names: dict[type, str] = {}


def built_one_after_another(context, nodes):
    """Nodes of a block."""
    context.local_scopes.append({})
    try:
        for node in nodes:
            if context.returned != ReturnStatus.NoReturn or context.loop_status() != LoopStatus.Normal:
                break
            ast_transformer.build_stmt(context, node)
    finally:
        context.local_scopes.pop()
    return nodes


def expression(pointer) -> Expr:
    """An expression of Taichi's, checked."""
    found = Expr.__new__(Expr)
    found.ptr, found.dbg_info, found.ptr_type_checked = pointer, info_of(impl.pytaichi.src_info_stack[-1]), True
    pointer.set_dbg_info(found.dbg_info)
    pointer.type_check(impl.pytaichi.prog.config())
    return found


def constant(value: int | float):
    """Taichi's pointer to a number, None if it is too large."""
    if type(value) is float:
        return core.make_const_expr_fp(impl.pytaichi.default_fp, value)
    if LEAST <= value <= MOST:
        return core.make_const_expr_int(impl.pytaichi.default_ip, value)
    return None


def begin_expression(self, *args, dbg_info=None, dtype=None):
    """Taichi's Expr.__init__."""
    (x,) = args
    pointer = x if type(x) is core.Expr else constant(x) if dtype is None and type(x) in SCALARS[1:] else None
    if pointer is None:
        _taichis.init(self, x, dbg_info=dbg_info, dtype=dtype)
        return
    self.ptr, self.dbg_info, self.ptr_type_checked = pointer, dbg_info, True
    if dbg_info:
        pointer.set_dbg_info(dbg_info)
    pointer.type_check(impl.pytaichi.prog.config())


def binary(operation, of_python, a, b):
    """An operation of two operands, of which one at least is an expression."""
    if type(a) not in SCALARS or type(b) not in SCALARS or not (type(a) is Expr or type(b) is Expr):
        return _taichis.binary(operation, of_python, a, b)
    return expression(operation(operand(a), operand(b)))


def operand(x):
    """Taichi's pointer to an expression or number."""
    if type(x) is Expr:
        return x.ptr
    pointer = constant(x)
    if pointer is None:
        return Expr(x).ptr
    pointer.type_check(impl.pytaichi.prog.config())
    return pointer


def local(value):
    """A local variable that starts as a value, or what Taichi makes of what is none."""
    if type(value) is not Expr:
        return _taichis.expr_init(value)
    info = info_of(impl.pytaichi.src_info_stack[-1])
    return Expr(impl.pytaichi.compiling_callable.ast_builder().expr_var(value.ptr, info))


def subscript(builder, value, *indices, skip_reordered=False):
    """An item of an array of one dimension, or a lane; or what Taichi makes of it."""
    if len(indices) != 1 or type(indices[0]) is not Expr or type(value) not in (Expr, AnyArray):
        return _taichis.subscript(builder, value, *indices, skip_reordered=skip_reordered)
    group = core.ExprGroup()
    group.push_back(indices[0].ptr)
    builder = impl.pytaichi.compiling_callable.ast_builder()
    return Expr(builder.expr_subscript(value.ptr, group, info_of(impl.pytaichi.src_info_stack[-1])))


def attribute(context, node: ast.Attribute):
    """An attribute of something; what Taichi notes of a vector's own functions does not outlast the tree's next use."""
    node.__dict__.pop("caller", None)
    return _taichis.attribute(context, node)


def tree_and_context(self, excluded_parameters=(), is_kernel=True, arg_features=None, args=None, ast_builder=None,
                     is_real_function=False):
    """A function's syntax tree and what Taichi notes while it is built: the tree of the last time, if that is at an end."""
    if is_kernel or is_real_function or not _trees.get(self):
        return _taichis.tree(self, excluded_parameters, is_kernel, arg_features, args, ast_builder, is_real_function)
    tree, src, first, file = _trees[self].pop()
    names = kernel_impl._get_global_vars(self.func)
    return tree, ASTTransformerContext((), False, self, arg_features, names, args, file, src, first, ast_builder)


def built_tree(tree, context):
    """What a function returns; its tree serves again, because Taichi leaves in it only what it overwrites."""
    ASTTransformer()(context, tree)
    if not (context.is_kernel or context.is_real_function):
        free = _trees.setdefault(context.func, [])
        free.append((tree, context.src, context.lineno_offset + 1, context.file))
    return context.return_data


_trees: dict[kernel_impl.Func, list] = {}  # of functions that are built into the kernel: trees that none is being built from


def roomy(function: FunctionType) -> FunctionType:
    """A function whose frame takes up half a piece of Python's stack, and what it calls the other half.

    Python takes 16 KiB from the system wherever its stack gets longer, and gives them back as soon as it gets shorter: under
    a walk through trees, thousands of times.
    """
    function.__code__ = function.__code__.replace(co_stacksize=STACK)
    return function


@roomy
def materialize(kernel: Kernel, *args) -> None:
    """Make the program of a kernel when it is called first."""
    try:
        _taichis.materialize(kernel, *args)
    finally:
        _trees.clear()  # they hold what they were built from, down to the memory of all worlds


# Taichi would warn of each call of a function that is not its own, with the words of it; we call plain Python on purpose.
OURS = (
    (ASTTransformerContext, "get_pos_info", place_of), (core, "DebugInfo", info_of), (Builder, "__call__", built),
    (ast_transformer, "build_stmts", built_one_after_another), (Expr, "__init__", begin_expression),
    (ops, "_binary_operation", binary), (impl, "expr_init", local), (impl, "subscript", subscript),
    (kernel_impl, "_get_tree_and_ctx", tree_and_context), (kernel_impl, "transform_tree", built_tree),
    (ASTTransformer, "warn_if_is_external_func", staticmethod(lambda context, node: None)),
)  # fmt: skip
TAICHIS = tuple((owner, name, vars(owner)[name]) for owner, name, _ in OURS)

for _owner, _name, _function in OURS:
    setattr(_owner, _name, _function)
ASTTransformer.build_Attribute = staticmethod(attribute)  # numbers.py calls it
