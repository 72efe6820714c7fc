"""Arrays of a device for other libraries, and theirs for us, without a copy: the protocol of DLPack, version 0.

torch.from_dlpack(view), cupy.from_dlpack(view), jax.dlpack.from_dlpack(view)
"""

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcli.errors import DeviceError
from simcli.kernels.device.cuda import copied_from, copy_on_device
from simcli.kernels.language import ti
from simcli.kernels.language.backend import data_pointer

_CPU, _CUDA = 1, 2  # kinds of devices of the protocol
_KINDS = {"cpu": _CPU, "cuda": _CUDA}
_FLOAT = 2  # code of a type
_LETTERS = {0: "i", 1: "u", _FLOAT: "f", 6: "b"}  # numpy's, of codes
_DEFAULT_STREAM = 1  # of CUDA, in the protocol's words: the one in which the driver copies
_NAME = b"dltensor"  # of a capsule that nobody has taken


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]
_CAPSULE = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_IS_VALID = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_POINTER_OF_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
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

    buffer: object
    dtype: np.dtype
    arch: str
    first: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def __post_init__(self):
        if self.arch not in _KINDS:
            raise DeviceError(
                f"device `{self.arch}` has no arrays that other libraries can take: leave dlpack out, or use cuda"
            )

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


@dataclass(frozen=True)
class LentArray:
    """An array of another library, as it says where it is.

    Attributes:
        owner: keeps it there.
        place: address of its first number, as its device counts.
        dtype, shape: of its numbers, which stand one after another.
    """

    owner: Any
    place: int
    dtype: np.dtype
    shape: tuple[int, ...]

    def copy_into(self, buffer, arch: str) -> None:
        """Copy all numbers into Taichi's array of as many, of the same type, where the device has it."""
        n_bytes = int(np.prod(self.shape)) * self.dtype.itemsize
        if arch == "cuda":
            copy_on_device(self.place, data_pointer(buffer), n_bytes)
        else:
            ctypes.memmove(data_pointer(buffer), self.place, n_bytes)


def is_lent_by(value: object, arch: str) -> bool:
    """Whether a value is an array of another library, or numpy's, in the memory of a device, the first one of its kind."""
    return hasattr(value, "__dlpack__") and tuple(map(int, value.__dlpack_device__())) == (_KINDS.get(arch), 0)


def lent_array(value) -> LentArray:
    """What an array of another library says of itself.

    Raises:
        BufferError: its numbers are no numbers of a machine, or do not stand one after another; it is of a second GPU.
    """
    kind, number = map(int, value.__dlpack_device__())
    if kind == _CUDA and number:
        raise BufferError(f"it is in the memory of GPU {number}, and GPU 0 is taken: copy it there")
    capsule = value.__dlpack__(stream=_DEFAULT_STREAM) if kind == _CUDA else value.__dlpack__()
    t = _Managed.from_address(_POINTER_OF_OBJECT(capsule, _NAME)).tensor
    shape = tuple(t.shape[k] for k in range(t.ndim))
    if t.dtype.code not in _LETTERS or t.dtype.lanes != 1:
        raise BufferError(f"numpy has no numbers of its type, {t.dtype.code} of the protocol with {t.dtype.lanes} lanes")
    dense = [int(np.prod(shape[k + 1 :])) for k in range(t.ndim)]
    if t.strides and any(n > 1 and t.strides[k] != dense[k] for k, n in enumerate(shape)):
        raise BufferError("its numbers do not stand one after another: make it contiguous")
    dtype = np.dtype(f"{_LETTERS[t.dtype.code]}{t.dtype.bits // 8}")
    return LentArray((value, capsule), (t.data or 0) + t.byte_offset, dtype, shape)


def on_host(value) -> np.ndarray:
    """The numbers of an array of another library: where they are if the host can see them, else a copy.

    Raises:
        BufferError, RuntimeError: it cannot be had.
    """
    if int(value.__dlpack_device__()[0]) != _CUDA:
        return np.from_dlpack(value)
    lent = lent_array(value)
    return copied_from(lent.place, lent.shape, lent.dtype)
