"""Arrays of a device for other libraries, without a copy: the protocol of DLPack, version 0.

torch.from_dlpack(view), cupy.from_dlpack(view), jax.dlpack.from_dlpack(view)
"""

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcli.errors import DeviceError
from simcli.kernels.language import ti
from simcli.kernels.language.backend import data_pointer

_CPU, _CUDA = 1, 2  # kinds of devices of the protocol
_KINDS = {"cpu": _CPU, "cuda": _CUDA}
_FLOAT = 2  # code of a type
_NAME = b"dltensor"  # of a capsule that nobody has taken


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32), ("dtype", _Type),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]  # fmt: skip


class _Managed(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]
_CAPSULE = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi))  # fmt: skip
_IS_VALID = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))  # fmt: skip
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_handed_out: dict[int, tuple] = {}  # by address of the structure: what has to live as long as somebody holds it


@_DELETER
def _delete(managed) -> None:
    _handed_out.pop(ctypes.addressof(managed.contents), None)


@_DESTRUCTOR
def _forget_untaken(capsule) -> None:
    if _IS_VALID(capsule, _NAME):
        _handed_out.pop(_POINTER(capsule, _NAME), None)


@dataclass(frozen=True)
class DeviceView:
    """Part of an array of a device.

    Attributes:
        buffer: Taichi's array.
        dtype: of its numbers.
        arch: "cuda", or "cpu" where memory is laid out as on a GPU.
        first: number at which the part begins.
        shape, strides: of the part, in numbers.
    """

    buffer: Any
    dtype: np.dtype
    arch: str
    first: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def __post_init__(self):
        if self.arch not in _KINDS:
            raise DeviceError(f"device `{self.arch}` has no arrays that other libraries can take: leave dlpack out, or use "
                              "cuda")  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        """Kind and number of the device."""
        return _KINDS[self.arch], 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule; all kernels have ended.

        Args:
            stream, max_version: of the protocol; not needed.
            dl_device: the device that is wanted, if it is this one.
            copy: True is refused.

        Raises:
            BufferError: another device or a copy is wanted.
        """
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("this array is handed over where it is, without a copy")
        ti.sync()
        n = len(self.shape)
        shape, strides = ((ctypes.c_int64 * n)(*numbers) for numbers in (self.shape, self.strides))
        managed = _Managed()
        t = managed.tensor
        t.data, t.ndim = data_pointer(self.buffer) + self.first * self.dtype.itemsize, n
        t.device = _Device(*self.__dlpack_device__())
        t.dtype, t.byte_offset = _Type(_FLOAT, 8 * self.dtype.itemsize, 1), 0
        t.shape, t.strides = (ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int64)) for numbers in (shape, strides))
        managed.deleter = _delete
        address = ctypes.addressof(managed)
        _handed_out[address] = (managed, shape, strides, self.buffer)
        return _CAPSULE(address, _NAME, ctypes.cast(_forget_untaken, ctypes.c_void_p))
