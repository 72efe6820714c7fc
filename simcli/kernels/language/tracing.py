"""Taichi's front end in fewer words: what it does at each node of a kernel's syntax tree, as far as simcli needs it.

Taichi walks through the trees of all device functions whenever a kernel is called first in a process, compiled before or
not: it needs the program to find the kernel in the folder. Here a place for messages is written once per line, and
operations and constants become expressions directly, where Taichi asks of each whether it is one of twenty other things.
Whatever is none of the usual things goes to Taichi's own function. The programs are the same, and so are the keys.
"""

from types import SimpleNamespace

from simcli.kernels.language.internals import ASTTransformer, ASTTransformerContext, Expr, core, impl, ops

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
    (ASTTransformerContext, "get_pos_info", _place_of), (Expr, "__init__", begin_expression),
    (ops, "_binary_operation", binary), (impl, "expr_init", _local),
    (ASTTransformer, "warn_if_is_external_func", staticmethod(lambda context, node: None)),
)  # fmt: skip
TAICHIS = tuple((owner, name, vars(owner)[name]) for owner, name, _ in OURS)

for _owner, _name, _function in OURS:
    setattr(_owner, _name, _function)
