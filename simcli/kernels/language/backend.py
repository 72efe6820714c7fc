"""What Taichi is compiling for, one thing per process: its program, its configuration, and where each kernel came from."""

import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from weakref import WeakKeyDictionary

from simcli.kernels.language.internals import (
    beyond_memory_limit,
    engine,
    handle_exception_from_cpp,
    impl,
    is_arch_supported,
    memory_limit,
    own_materialize,
    ti,
)

__all__ = [
    "configuration",
    "data_pointer",
    "default_real",
    "is_arch_supported",
    "keeps_order",
    "memory_error",
    "one_block_a_task",
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
    return engine.program_of_device()


def configuration():
    """How kernels are compiled from now on; its fields can be set."""
    return impl.current_cfg()


def one_block_a_task() -> dict:
    """Settings for loops whose tasks have one block: the engine's own splitting gives every thread at least 512 iterations,
    too coarse for packs.
    """
    return engine.ONE_BLOCK_A_TASK


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
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(program()))
        engine.forget_program()
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


def materialize(kernel, key: tuple, args: tuple, features: tuple) -> None:
    """What makes a kernel when it is called first with such arguments: it is traced, compiled and noted.

    Args:
        kernel: of the engine.
        key: function, number of the arguments, and mode.
        args: its arguments.
        features: what the engine reads of them.
    """
    if key in engine.made_kernels(kernel):
        return
    start = time.perf_counter()
    own_materialize(kernel, key, args, features)
    made = engine.made_kernels(kernel)[key]
    traced = time.perf_counter()
    compiled = compile_made(made)
    end = time.perf_counter()
    origin, code = look_up(made, compiled)
    tell(KernelTaken(name_of(kernel), code, origin, traced - start, end - traced))


def compile_made(made):
    """Compile a kernel that is traced, or read it from the folder; gives what the engine gives."""
    prog = program()
    try:
        return prog.compile_kernel(configuration(), prog.get_device_caps(), made)
    except Exception as error:
        raise handle_exception_from_cpp(error) from None


def name_of(kernel) -> str:
    """Module and function of a kernel of Taichi's."""
    return f"{kernel.func.__module__.removeprefix('simcli.')}.{kernel.func.__qualname__}"


def tell(kernel: KernelTaken) -> None:
    """Tell all who listen that a run takes a kernel."""
    for listener in listeners:
        listener(kernel)


engine.trace_by(materialize)


def origins_of(prog) -> dict[str, Origin]:
    """Where the kernels came from that a program of Taichi's has taken, by key; none for None."""
    return _known.get(prog, {}) if prog else {}


def look_up(made, compiled) -> tuple[Origin, str]:
    """Where the engine has a kernel from that it has just taken, and its key.

    Args:
        made: the kernel, traced.
        compiled: what `compile_made` gives.
    """
    code, is_from_folder = engine.key_and_source(program(), made, compiled)
    origins = _known.setdefault(program(), {})
    if code in origins:
        return Origin.PROCESS, code
    origins[code] = Origin.FOLDER if is_from_folder else Origin.COMPILED
    return origins[code], code
