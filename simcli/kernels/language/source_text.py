"""How Taichi finds the text of device functions, and how it makes a program of that text."""

import linecache
import sys
from types import CodeType, SimpleNamespace

from simcli.kernels.language.internals import ASTTransformer, ASTTransformerContext, Expr, core, impl, kernel_impl, ops


def stands_in_class(level_of_class_stackframe: int) -> bool:
    """Whether a function that is being decorated stands in a class.

    Args:
        level_of_class_stackframe: of the frame around the class, counted from here.
    """
    return "__qualname__" in sys._getframe(level_of_class_stackframe - 1).f_locals


def last_line(code: CodeType) -> int:
    """Line of the file where a function's code ends, what is defined in it included."""
    inner = [last_line(const) for const in code.co_consts if isinstance(const, CodeType)]
    return max([end for _, end, _, _ in code.co_positions() if end is not None] + inner)


def source_lines(function) -> tuple[list[str], int]:
    """Text of a function, decorators first, and the line of its file where it begins."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    first, end = code.co_firstlineno, last_line(code)
    if end > len(lines):  # of no file
        return _source_lines(function)
    depth = _depth(lines[first - 1])
    while end < len(lines) and (_depth(lines[end]) > depth or not lines[end].strip()):
        end += 1  # what leaves no code, as a last `pass`
    return lines[first - 1 : end], first


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


_source_lines = kernel_impl.getsourcelines
kernel_impl._inside_class = stands_in_class
kernel_impl.getsourcelines = source_lines


_LEAST, MOST = -(2**31), 2**31 - 1  # of whole numbers of 32 bits
_SCALARS = (Expr, int, float)  # what operations are given, but for matrices and fields

_taichis = SimpleNamespace(init=Expr.__init__, expr_init=impl.expr_init.__wrapped__, binary=ops._binary_operation)


def _place_of(context, node) -> str:
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
        found = _infos[place] = core.DebugInfo(place)
    return found


_infos: dict[str, object] = {}


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
    if _LEAST <= value <= MOST:
        return core.make_const_expr_int(impl.pytaichi.default_ip, value)
    return None


def begin_expression(self, *args, dbg_info=None, dtype=None):
    """Taichi's Expr.__init__."""
    (x,) = args
    pointer = x if type(x) is core.Expr else constant(x) if dtype is None and type(x) in _SCALARS[1:] else None
    if pointer is None:
        _taichis.init(self, x, dbg_info=dbg_info, dtype=dtype)
        return
    self.ptr, self.dbg_info, self.ptr_type_checked = pointer, dbg_info, True
    if dbg_info:
        pointer.set_dbg_info(dbg_info)
    pointer.type_check(impl.pytaichi.prog.config())


def binary(operation, of_python, a, b):
    """An operation of two operands, of which one at least is an expression."""
    if type(a) not in _SCALARS or type(b) not in _SCALARS or not (type(a) is Expr or type(b) is Expr):
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


def _local(value):
    """A local variable that starts as a value, or what Taichi makes of what is none."""
    if type(value) is not Expr:
        return _taichis.expr_init(value)
    info = info_of(impl.pytaichi.src_info_stack[-1])
    return Expr(impl.pytaichi.compiling_callable.ast_builder().expr_var(value.ptr, info))


# Taichi would warn of each call of a function that is not its own, with the words of it; we call plain Python on purpose.
OURS = (
    (ASTTransformerContext, "get_pos_info", _place_of),
    (Expr, "__init__", begin_expression),
    (ops, "_binary_operation", binary),
    (impl, "expr_init", _local),
    (ASTTransformer, "warn_if_is_external_func", staticmethod(lambda context, node: None)),
)
TAICHIS = tuple((owner, name, vars(owner)[name]) for owner, name, _ in OURS)

for _owner, _name, _function in OURS:
    setattr(_owner, _name, _function)
