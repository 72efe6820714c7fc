"""What Taichi is compiling for, one thing per process: its program, and how it is configured."""

import contextlib
import ctypes
import os
import sys

from simcli.kernels.language.internals import beyond_memory_limit, impl, is_arch_supported, memory_limit, ti

__all__ = ["configuration", "data_pointer", "default_real", "is_arch_supported", "keeps_order", "memory_error", "program",
           "stdout_silenced", "stop"]  # fmt: skip


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
