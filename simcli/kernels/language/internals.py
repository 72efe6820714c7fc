"""Taichi's package, and all that is taken from below its public interface (1.7.4, frozen upstream), by name.

A maintained fork is tried by the name of its package, below; where it has renamed something, here is the list of what has to
be found again.

While it is imported, Taichi asks for each of its own functions who calls it, with source and context, which Python finds by
a search through all modules; here it is told the line that runs, and no more.
"""

import importlib
import inspect
import linecache
import os
from types import ModuleType

from simcli.errors import DeviceError

PACKAGE = "taichi"
_RESERVED_GB, _LEAST_BYTES = 1.1, 1.6e9  # with its library and ours

# Its banner goes to stdout, which is for data.
os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "0")
os.environ.setdefault("TI_ENABLE_PYBUF", "0")  # so does a remark when stdout is wrapped
# It asks its makers' server for a newer version, once a day, and names itself to it; a new version is of no use to us.
os.environ.setdefault("TI_SKIP_VERSION_CHECK", "ON")


def _caller_named_only(frame, context=1):
    """What Taichi reads of `inspect.getframeinfo` while it is imported: the line that runs, fourth."""
    return frame.f_code.co_filename, frame.f_lineno, "", [linecache.getline(frame.f_code.co_filename, frame.f_lineno)]


def memory_limit() -> int | None:
    """[B], addresses that this process may have, None for as many as it likes."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def beyond_memory_limit() -> DeviceError:
    """Taichi does not start within `memory_limit`."""
    limit = f"the memory limit of this process, {memory_limit() / 1e9:.3g} GB of addresses (ulimit -v)"
    return DeviceError(
        f"SC715: Taichi does not start within {limit}: it reserves {_RESERVED_GB} GB as it starts, whatever "
        "a run needs; raise the limit to 4 GB, or limit resident memory instead"
    )


def module(name: str = "") -> ModuleType:
    """A module of the package, by its path in it."""
    return importlib.import_module(PACKAGE + name)


if (memory_limit() or _LEAST_BYTES) < _LEAST_BYTES:  # before it is read: a start that fails half way may not end
    raise beyond_memory_limit()
_getframeinfo, inspect.getframeinfo = inspect.getframeinfo, _caller_named_only
try:
    ti = module()
finally:
    inspect.getframeinfo = _getframeinfo

core = module("._lib").core
impl, kernel_impl, ops = (module(f".lang.{name}") for name in ("impl", "kernel_impl", "ops"))
ASTTransformer = module(".lang.ast.ast_transformer").ASTTransformer
ASTTransformerContext = module(".lang.ast.ast_transformer_utils").ASTTransformerContext
Expr = module(".lang.expr").Expr
Func, Kernel = kernel_impl.Func, kernel_impl.Kernel
KernelArgument = module(".lang.kernel_arguments").KernelArgument
TaichiCallableTemplateMapper = kernel_impl.TaichiCallableTemplateMapper
handle_exception_from_cpp = module(".lang.exception").handle_exception_from_cpp
is_arch_supported = module(".lang.misc").is_arch_supported
make_matrix = module(".lang.matrix").make_matrix
