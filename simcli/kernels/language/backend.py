"""What Taichi is compiling for, one thing per process: its program, and how it is configured."""

import ctypes

from simcli.kernels.language.internals import beyond_memory_limit, impl, is_arch_supported, memory_limit, ti

__all__ = ["configuration", "data_pointer", "default_real", "is_arch_supported", "memory_error", "program", "stop"]


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
