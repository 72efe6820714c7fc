"""The CUDA driver: which device a process works on, and copies between the host and its arrays.

Taichi takes the first device that it sees, and the driver reads once in a process, when it is asked first, which ones it may
show: so the one that is wanted is made the only one before.

Taichi hands an array of the host to a kernel and copies it back after the kernel has ended, whether it was written or not,
and fills an array of the host by a kernel that gets it in the same way: each copy is made twice. The driver's own functions
make one. They wait for what was launched before, because both use the driver's default stream.
"""

import contextlib
import ctypes
import math
import os
from collections.abc import Iterator
from functools import cache

import numpy as np

from simcli.errors import DeviceError, UsageError
from simcli.kernels.language import ti
from simcli.kernels.language.backend import configuration, data_pointer

VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"  # the driver's variable: numbers or names of devices, with commas between
_DTYPES = {ti.f64: np.float64, ti.f32: np.float32, ti.i32: np.int32}
_taken: list[int] = []  # number of the device of this process, once the driver was asked


@cache
def driver() -> ctypes.CDLL:
    """The CUDA driver.

    Raises:
        OSError: there is none.
    """
    return ctypes.CDLL("libcuda.so.1" if os.name != "nt" else "nvcuda.dll")


def has_cuda_device() -> bool:
    """True if the CUDA driver reports at least one device."""
    try:
        found = driver()
    except OSError:
        return False
    _taken[:] = _taken or [0]
    count = ctypes.c_int(0)
    return found.cuInit(0) == 0 and found.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def cuda_name() -> str:
    """Name of the device, "cuda" if there is none."""
    name = ctypes.create_string_buffer(256)
    is_known = has_cuda_device() and driver().cuDeviceGetName(name, len(name), 0) == 0
    return name.value.decode() if is_known else "cuda"


def take_cuda_device(n: int) -> None:
    """Let this process, and those that it starts, see one of the devices alone.

    Args:
        n: its number, among those that `CUDA_VISIBLE_DEVICES` names if it is set.

    Raises:
        UsageError: the process works on another one.
        DeviceError: there are not so many.
    """
    if _taken:
        if _taken != [n]:
            raise UsageError(f"this process works on cuda:{_taken[0]} and cannot take cuda:{n}: start another process")
        return
    seen = os.environ.get(VISIBLE_DEVICES, "").split(",")
    if seen != [""] and n >= len(seen):
        raise DeviceError(f"device `cuda:{n}` is not available: {VISIBLE_DEVICES} names {len(seen)}, the first is cuda:0")
    os.environ[VISIBLE_DEVICES] = str(n) if seen == [""] else seen[n]
    _taken[:] = [n]


def copy_to_device(array: np.ndarray, to, first: int = 0) -> None:
    """Copy numbers into an array of a CUDA device.

    Args:
        array: of the host, contiguous, of the same type.
        to: of Taichi.
        first: its number that becomes the first of them.

    Raises:
        DeviceError: the driver refuses.
    """
    place = data_pointer(to) + first * array.itemsize
    with _context():
        _try(
            driver().cuMemcpyHtoD_v2,
            ctypes.c_uint64(place),
            ctypes.c_void_p(array.ctypes.data),
            ctypes.c_size_t(array.nbytes),
        )


def fetched(array, part: slice = slice(None)) -> np.ndarray:
    """Numbers of an array of a GPU on the host.

    Args:
        array: of Taichi.
        part: along its first axis, without gaps.

    Raises:
        DeviceError: the driver refuses.
    """
    if configuration().arch != ti.cuda:
        return array.to_numpy()[part]
    first, end, _ = part.indices(array.shape[0])
    dtype = np.dtype(_DTYPES[array.dtype])
    place = data_pointer(array) + first * dtype.itemsize * math.prod(array.shape[1:])
    return copied_from(place, (end - first, *array.shape[1:]), dtype)


def copied_from(place: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Numbers of a CUDA device on the host.

    Args:
        place: address of the first one, as the device counts.
        shape, dtype: of all, which stand one after another.

    Raises:
        DeviceError: the driver refuses.
    """
    out = np.empty(shape, dtype)
    with _context():
        _try(driver().cuMemcpyDtoH_v2, ctypes.c_void_p(out.ctypes.data), ctypes.c_uint64(place), ctypes.c_size_t(out.nbytes))
    return out


def copy_on_device(place: int, to: int, n_bytes: int) -> None:
    """Copy within the memory of a CUDA device, from one address to another.

    Raises:
        DeviceError: the driver refuses.
    """
    with _context():
        _try(driver().cuMemcpyDtoD_v2, ctypes.c_uint64(to), ctypes.c_uint64(place), ctypes.c_size_t(n_bytes))


def free_device_bytes() -> int:
    """Memory of the device that nobody has taken."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with _context():
        _try(driver().cuMemGetInfo_v2, ctypes.byref(free), ctypes.byref(total))
    return free.value


@contextlib.contextmanager
def _context() -> Iterator[None]:
    """Give this thread a context of the device, which another thread than that which began it may lack."""
    context = ctypes.c_void_p()
    _try(driver().cuCtxGetCurrent, ctypes.byref(context))
    has_none = not context.value
    if has_none:
        _try(driver().cuDevicePrimaryCtxRetain, ctypes.byref(context), 0)
        _try(driver().cuCtxPushCurrent_v2, context)
    try:
        yield
    finally:
        if has_none:
            driver().cuCtxPopCurrent_v2(ctypes.byref(context))
            driver().cuDevicePrimaryCtxRelease_v2(0)


def _try(function, *args) -> None:
    code = function(*args)
    if code:
        raise DeviceError(f"the CUDA driver refuses {function.__name__} with error {code}: use --device cpu")


def device_name(arch: str) -> str:
    """A name for people: the processor's or the GPU's."""
    if arch == "cpu":
        with contextlib.suppress(OSError), open("/proc/cpuinfo") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
        return "cpu"
    return cuda_name() if arch == "cuda" else arch
