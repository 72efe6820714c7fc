"""The engine's package, and all that is taken from below its public interface, by name.

Engines are Taichi (1.7.4, frozen upstream) and Quadrants, which has grown out of it; simcli/engines.py says which one a
process uses. What they call alike is taken here, and the rest by a file for each (`engine`).

It is also told here how to find the text of device functions, and how to make a program of that text in fewer words.

While it is imported, the engine asks for each of its own functions who calls it, with source and context, which Python finds
by a search through all modules; here it is told the line that runs, and no more.
"""

import importlib
import inspect
import linecache
import os
import sys
import warnings
from types import CodeType, ModuleType, SimpleNamespace

from simcli.engines import engine_of_process
from simcli.errors import DeviceError

PACKAGE, TITLE, _PREFIX = engine_of_process().package, engine_of_process().title, engine_of_process().prefix
_RESERVED_GB, _LEAST_BYTES = 1.1, 1.6e9  # with its library and ours

# Its banner goes to stdout, which is for data.
os.environ.setdefault(f"ENABLE_{PACKAGE.upper()}_HEADER_PRINT", "0")
os.environ.setdefault(f"{_PREFIX}_ENABLE_PYBUF", "0")  # so does a remark when stdout is wrapped
# Taichi asks its makers' server for a newer version, once a day, and names itself to it; a new version is of no use to us.
os.environ.setdefault(f"{_PREFIX}_SKIP_VERSION_CHECK", "ON")


def _caller_named_only(frame, context=1):
    """What is read of `inspect.getframeinfo` while an engine is imported: the line that runs, fourth."""
    return frame.f_code.co_filename, frame.f_lineno, "", [linecache.getline(frame.f_code.co_filename, frame.f_lineno)], 0


def memory_limit() -> int | None:
    """[B], addresses that this process may have, None for as many as it likes."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def beyond_memory_limit() -> DeviceError:
    """The engine does not start within `memory_limit`."""
    limit = f"the memory limit of this process, {memory_limit() / 1e9:.3g} GB of addresses (ulimit -v)"
    return DeviceError(
        f"SC715: {TITLE} does not start within {limit}: it reserves {_RESERVED_GB} GB as it starts, whatever "
        "a run needs; raise the limit to 4 GB, or limit resident memory instead"
    )


def module(name: str = "") -> ModuleType:
    """A module of the package, by its path in it."""
    return importlib.import_module(PACKAGE + name)


if (memory_limit() or _LEAST_BYTES) < _LEAST_BYTES:  # before it is read: a start that fails half way may not end
    raise beyond_memory_limit()
_getframeinfo, inspect.getframeinfo = inspect.getframeinfo, _caller_named_only
try:
    with warnings.catch_warnings():  # of texts in the engine, which Python compiles where the installer has not
        warnings.filterwarnings("ignore", message=".*invalid escape sequence")
        ti = module()
finally:
    inspect.getframeinfo = _getframeinfo

engine = importlib.import_module(f"{__package__}.engine_{PACKAGE}")
core = module("._lib").core
impl, kernel_impl, ops = (module(f".lang.{name}") for name in ("impl", "kernel_impl", "ops"))
ASTTransformer = module(".lang.ast.ast_transformer").ASTTransformer
Expr = module(".lang.expr").Expr
Func, Kernel = kernel_impl.Func, kernel_impl.Kernel
own_materialize = Kernel.materialize
handle_exception_from_cpp = module(".lang.exception").handle_exception_from_cpp
is_arch_supported = module(".lang.misc").is_arch_supported
make_matrix = module(".lang.matrix").make_matrix
transform_tree = module(".lang.ast").transform_tree


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


_source_lines = engine.read_texts_by(source_lines)
kernel_impl._inside_class = stands_in_class


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
    found.ptr, found.dbg_info, found.ptr_type_checked = pointer, info_of(impl.get_runtime().src_info_stack[-1]), True
    pointer.set_dbg_info(found.dbg_info)
    pointer.type_check(impl.get_runtime().prog.config())
    return found


def constant(value: int | float):
    """Taichi's pointer to a number, None if it is too large."""
    if type(value) is float:
        return core.make_const_expr_fp(impl.get_runtime().default_fp, value)
    if _LEAST <= value <= MOST:
        return core.make_const_expr_int(impl.get_runtime().default_ip, value)
    return None


def begin_expression(self, *args, dbg_info=None, dtype=None):
    """Taichi's Expr.__init__."""
    (x,) = args
    pointer = x if type(x) is engine.CompiledExpr else constant(x) if dtype is None and type(x) in _SCALARS[1:] else None
    if pointer is None:
        _taichis.init(self, x, dbg_info=dbg_info, dtype=dtype)
        return
    self.ptr, self.dbg_info, self.ptr_type_checked = pointer, dbg_info, True
    if dbg_info:
        pointer.set_dbg_info(dbg_info)
    pointer.type_check(impl.get_runtime().prog.config())


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
    pointer.type_check(impl.get_runtime().prog.config())
    return pointer


def _local(value):
    """A local variable that starts as a value, or what Taichi makes of what is none."""
    if type(value) is not Expr:
        return _taichis.expr_init(value)
    info = info_of(impl.get_runtime().src_info_stack[-1])
    return Expr(impl.get_runtime().compiling_callable.ast_builder().expr_var(value.ptr, info))


# Taichi would warn of each call of a function that is not its own, with the words of it; we call plain Python on purpose.
OURS = (
    (*engine.TELLS_PLACE, _place_of),
    (Expr, "__init__", begin_expression),
    (ops, "_binary_operation", binary),
    (impl, "expr_init", _local),
    (*engine.WARNS_OF_CALL, staticmethod(lambda context, node: None)),
)
TAICHIS = tuple((owner, name, vars(owner)[name]) for owner, name, _ in OURS)

for _owner, _name, _function in OURS:
    setattr(_owner, _name, _function)
