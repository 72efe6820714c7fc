"""What Taichi is compiling for, one thing per process: its program, its configuration, and where each kernel came from."""

import contextlib
import ctypes
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from weakref import WeakKeyDictionary

from simcli.kernels.language.internals import (
    Kernel,
    beyond_memory_limit,
    core,
    handle_exception_from_cpp,
    impl,
    is_arch_supported,
    memory_limit,
    ti,
)

__all__ = [
    "configuration",
    "data_pointer",
    "default_real",
    "is_arch_supported",
    "keeps_order",
    "memory_error",
    "program",
    "stdout_silenced",
    "stop",
]


def memory_error(error: Exception) -> Exception | None:
    """What an error of Taichi's start means where addresses are limited; None if it means something else."""
    is_limited = memory_limit() is not None and "memory" in str(error).lower()
    return beyond_memory_limit() if is_limited else None


def program():
    """Taichi's program of the device that is started, with all kernels and arrays; None if there is none."""
    return impl.get_runtime().prog


def configuration():
    """How kernels are compiled from now on; its fields can be set."""
    return impl.current_cfg()


def data_pointer(array) -> int:
    """Where an array of the device begins, as the device counts."""
    return program().get_ndarray_data_ptr_as_int(array.arr)


def default_real():
    """Taichi type of the real numbers of kernels."""
    return impl.get_runtime().default_fp


def stop() -> str:
    """End the program, which writes the kernels that it has compiled; gives why it could not, "" if it could.

    A folder that cannot be written is no reason to lose a run: the program, which would crash at its end, stays.
    """
    try:
        ti.reset()
    except RuntimeError as error:
        runtime = impl.get_runtime()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(runtime.prog))
        runtime.prog = None
        ti.reset()
        return str(error)
    return ""


def keeps_order() -> bool:
    """Whether the backend that is compiled for adds in the order that is written: SPIR-V's optimiser folds constants."""
    return configuration().arch in (ti.x64, ti.arm64, ti.cuda)


@contextlib.contextmanager
def stdout_silenced():
    """Send file descriptor 1 nowhere: Taichi prints its banner and its search for drivers to stdout, which is for data.

    What goes wrong it raises.
    """
    sys.stdout.flush()
    kept, sink = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(sink)


LOOKED_UP = re.compile(rb"Create kernel '[^']*' from (in-memory cache|cache) \(key='(\w+)'\)")
_LEVELS = ("trace", "debug", "info", "warn", "error", "critical")
MOST_TEXT = 65536  # bytes that a pipe holds; a look-up is told in 200


class Origin(StrEnum):
    """Where a kernel came from.

    Attributes:
        COMPILED: the compiler made it.
        FOLDER: it was read from the folder of compiled kernels.
        PROCESS: this process had it already, of an equal kernel.
    """

    COMPILED = "compiled"
    FOLDER = "folder"
    PROCESS = "process"


@dataclass(frozen=True)
class KernelTaken:
    """A kernel when it was called first.

    Attributes:
        name: module and function, as `solvers.core._advance`.
        key: of the folder; equal for kernels whose code is equal. "" if Taichi did not tell it.
        origin: where it came from.
        trace: [s], making Taichi's program from Python's.
        compile: [s], compiling or reading it; of the machine's code, a part is made at the first call.
    """

    name: str
    key: str
    origin: Origin
    trace: float
    compile: float


class KernelsTaken(list[KernelTaken]):
    """Kernels in the order of their first calls; those that the process had already are no part of any number."""

    @property
    def compiled(self) -> list[str]:
        """Names of those that were compiled."""
        return [kernel.name for kernel in self if kernel.origin == Origin.COMPILED]

    @property
    def from_folder(self) -> list[str]:
        """Names of those that were read, and not compiled before (see `runtime.read_compiled`)."""
        compiled = {kernel.key for kernel in self if kernel.origin == Origin.COMPILED}
        return [kernel.name for kernel in self if kernel.origin == Origin.FOLDER and kernel.key not in compiled]


@contextlib.contextmanager
def kernels_noted() -> Iterator[KernelsTaken]:
    """Note the kernels that are called first within, on whatever device is started."""
    taken = KernelsTaken()
    listeners.append(taken.append)
    try:
        yield taken
    finally:
        listeners.pop()


listeners: list[Callable[[KernelTaken], None]] = []  # are told of each kernel that is called first
_known: WeakKeyDictionary = WeakKeyDictionary()  # Taichi's program -> its kernels, origin by key
own_materialize = Kernel.materialize  # Taichi's


def materialize(self, key=None, args=None, arg_features=None) -> None:
    """Taichi's function that makes a kernel when it is called first with such arguments; it is compiled and noted, too."""
    if key in self.compiled_kernels:
        return
    start = time.perf_counter()
    own_materialize(self, key, args, arg_features)
    kernel, prog = self.compiled_kernels[key or (self.func, 0, self.autodiff_mode)], program()
    traced = time.perf_counter()
    try:
        prog.compile_kernel(prog.config(), prog.get_device_caps(), kernel)
    except Exception as error:
        raise handle_exception_from_cpp(error) from None
    end = time.perf_counter()
    origin, code = look_up(prog, kernel)
    tell(KernelTaken(name_of(self), code, origin, traced - start, end - traced))


def name_of(kernel) -> str:
    """Module and function of a kernel of Taichi's."""
    return f"{kernel.func.__module__.removeprefix('simcli.')}.{kernel.func.__qualname__}"


def tell(kernel: KernelTaken) -> None:
    """Tell all who listen that a run takes a kernel."""
    for listener in listeners:
        listener(kernel)


Kernel.materialize = materialize


def origins_of(prog) -> dict[str, Origin]:
    """Where the kernels came from that a program of Taichi's has taken, by key; none for None."""
    return _known.get(prog, {}) if prog else {}


def look_up(prog, kernel) -> tuple[Origin, str]:
    """Where Taichi has a kernel from that it has just taken, and its key."""
    said = _said_atlook_up(prog, kernel)
    found = LOOKED_UP.search(said)
    where, code = (found[1], found[2].decode()) if found else (b"", f"unknown {id(kernel)}")
    origins = _known.setdefault(prog, {})
    if code in origins:
        return Origin.PROCESS, code
    origins[code] = Origin.FOLDER if where == b"cache" else Origin.COMPILED
    return origins[code], code


def _said_atlook_up(prog, kernel) -> bytes:
    level = next(level for level in _LEVELS if core.logging_effective(level))
    with _stderr_caught() as said:
        core.set_logging_level("debug")
        try:
            prog.compile_kernel(prog.config(), prog.get_device_caps(), kernel)
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
            said[0] = os.read(reader, MOST_TEXT)
        os.close(reader)
        others = b"".join(line for line in said[0].splitlines(keepends=True) if not line.startswith(b"[D "))
        if others and kept is not None:
            os.write(2, others)
