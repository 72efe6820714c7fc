"""The array in which an arena keeps everything: on the CPU of the host, on a GPU of the device.

First come numbers of kernels, then tables, then notes, then packs. What the host sets (numbers and tables) it has on a GPU
as well, as a copy, of which it sends what has changed. Whole numbers are the bits of real ones of the same size, which no
device changes that loads, stores and casts them (device/self_test.py).
"""

import contextlib
import mmap

import numpy as np

from simcli.errors import DeviceMemoryError
from simcli.kernels.device.cuda import copy_to_device, fetched, free_device_bytes
from simcli.kernels.device.runtime import Device, held_on_device
from simcli.kernels.language import ti

MASK = (1 << 30) - 1  # of a place: so LLVM knows that what is added to it does not overflow, and adds it to the address
MOST_NUMBERS = (1 << 31) - 1  # of an array on a GPU
_MOST_BYTES = 1 << 31  # of an array on a GPU, in Taichi's SPIR-V, which counts them in 32 bits
_MANY_PAGES = 1 << 23  # bytes: four large pages
PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}  # to this process


def _memory(n_bytes: int) -> mmap.mmap:
    """Memory of this process alone, in large pages where there is enough of it for several, and the system has them."""
    memory = mmap.mmap(-1, n_bytes, **PRIVATE)
    if n_bytes >= _MANY_PAGES and hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


class HostStorage:
    """An array of the host.

    Args:
        device: of the run.
        n_shared: numbers that all worlds share; they come first.
        packs: where packs of worlds begin.
        shape: blocks, packs from one block to the next, packs of a block.

    Attributes:
        real, whole: all numbers; at least those that worlds share.
        given: what kernels get, (packs, lanes), or flat where a pack is a scalar.
    """

    def __init__(self, device: Device, n_shared: int, packs: int, shape: tuple[int, int, int]):
        n_blocks, stride, n_rows = shape
        n_packs = packs + n_blocks * stride
        fit = (MASK - packs) // max(stride, 1) * device.lanes
        refuse_beyond(
            MASK, max(n_packs, packs * device.lanes), device.lanes * device.dtype.itemsize, fit, n_blocks * device.lanes
        )
        self.real = np.frombuffer(_memory(n_packs * device.lanes * device.dtype.itemsize), device.dtype)
        self.whole, by_packs = self.real.view(f"i{device.dtype.itemsize}"), self.real.reshape(n_packs, device.lanes)
        self.given = by_packs if device.lanes > 1 else self.real
        self.packs = by_packs[packs:].reshape(n_blocks, stride, device.lanes)[:, :n_rows]

    def send(self) -> None:
        """Let kernels see what the host has set."""

    def read_rows(self, rows: np.ndarray) -> np.ndarray:
        """Packs of all blocks by their numbers, (W with the idle lanes, n)."""
        n_blocks, _, lanes = self.packs.shape
        return self.packs[:, _as_slice(rows)].swapaxes(1, 2).copy(order="C").reshape(n_blocks * lanes, len(rows))

    def write_rows(self, rows: np.ndarray, values: np.ndarray) -> None:
        """Set packs of all blocks, (W with the idle lanes, n), or (1, n) of numbers that are the same in all worlds."""
        n_blocks, _, lanes = self.packs.shape
        same = len(values) == 1
        self.packs[:, _as_slice(rows)] = values.T if same else values.reshape(n_blocks, lanes, len(rows)).swapaxes(1, 2)

    def read_first(self, rows: np.ndarray) -> np.ndarray:
        """Packs of the first world by their numbers, (n,)."""
        return self.packs[0, rows, 0]

    def read_worlds(self, rows: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        """Packs of some worlds by their numbers, (worlds, n)."""
        block, lane = np.divmod(worlds, self.packs.shape[2])
        return self.packs[block[:, None], rows, lane[:, None]]

    def write_worlds(self, rows: np.ndarray, worlds: np.ndarray, values: np.ndarray) -> None:
        """Set packs of some worlds by their numbers, (worlds, n)."""
        block, lane = np.divmod(worlds, self.packs.shape[2])
        self.packs[block[:, None], rows, lane[:, None]] = values

    def read_notes(self, part: slice, shape: tuple[int, int, int], whole: bool) -> np.ndarray:
        """Scalars or vectors of all blocks, (blocks, scalars, numbers of each): a view.

        Args:
            part: where they are.
            shape: of what is given.
            whole: whether they are whole numbers.
        """
        n_blocks, n, width = shape
        of_blocks = (self.whole if whole else self.real)[part].reshape(n_blocks, -1)
        return of_blocks[:, : n * width].reshape(shape)


def _as_slice(rows: np.ndarray) -> np.ndarray | slice:
    """Numbers at one distance from each other as a slice, which numpy copies three times as fast."""
    if len(rows) < 2:
        return slice(int(rows[0]), int(rows[0]) + 1) if len(rows) else rows
    steps = np.diff(rows)
    step = int(steps[0])
    return slice(int(rows[0]), int(rows[-1]) + 1, step) if step > 0 and (steps == step).all() else rows


class DeviceStorage:
    """An array of a GPU, and the host's copy of what it sets; as `HostStorage`, worlds last."""

    def __init__(self, device: Device, n_shared: int, packs: int, shape: tuple[int, int, int]):
        self.device, self.first, (self.n_blocks, _, n_rows) = device, packs, shape
        n, size = packs + self.n_blocks * n_rows, device.dtype.itemsize
        most = _MOST_BYTES // size if device.by_spirv else MOST_NUMBERS
        refuse_beyond(most, n, size, (most - packs) // max(n_rows, 1), self.n_blocks)
        self.real = np.zeros(n_shared, device.dtype)
        self.whole, self.sent = self.real.view(f"i{size}"), np.zeros(n_shared, f"i{size}")
        try:
            self.given = ti.ndarray(device.real, n)  # of zeros
            held_on_device.add(self)
        except RuntimeError as error:
            most = free_device_bytes() // size if device.arch == "cuda" else n // 2
            fit = min(most - packs, n // 2) // max(n_rows, 1)  # frames need memory, too
            reason = f"the device has given ({str(error).strip()})"
            raise out_of_reach(n, size, reason, fit, self.n_blocks) from error

    def send(self) -> None:
        """Let kernels see what the host has set: from the first to the last number that has changed."""
        changed = np.flatnonzero(self.whole != self.sent)
        if changed.size:
            part = slice(changed[0], changed[-1] + 1)
            self._put(part)
            self.sent[part] = self.whole[part]

    def _put(self, part: slice) -> None:
        """Copy a part of what the host sets to the device."""
        if self.device.arch == "cuda":
            copy_to_device(self.real[part], self.given, part.start)
        else:
            _set(self.given, part.start, self.real[part])

    def read_rows(self, rows: np.ndarray) -> np.ndarray:
        """As of `HostStorage`; a copy."""
        out = self.device.buffer((self.n_blocks, max(len(rows), 1)))
        _read_rows(self.given, self.first, self.device.given(rows.astype(np.int32)), self.n_blocks, out)
        return self.device.fetch(out)[:, : len(rows)]

    def write_rows(self, rows: np.ndarray, values: np.ndarray) -> None:
        """As of `HostStorage`."""
        wide = np.ascontiguousarray(np.broadcast_to(values, (self.n_blocks, len(rows))))
        self.take_rows(rows, self.device.given(wide))

    def take_rows(self, rows: np.ndarray, values) -> None:
        """Set packs of all worlds by their numbers from an array that kernels can read, (W, n)."""
        _write_rows(self.given, self.first, self.device.given(rows.astype(np.int32)), self.n_blocks, values)

    def read_worlds(self, rows: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        """As of `HostStorage`."""
        return self.read_rows(rows)[worlds]

    def write_worlds(self, rows: np.ndarray, worlds: np.ndarray, values: np.ndarray) -> None:
        """As of `HostStorage`."""
        given = self.device.given
        numbers = [given(one.astype(np.int32)) for one in (rows, worlds)]
        _write_worlds(self.given, self.first, *numbers, self.n_blocks, given(np.ascontiguousarray(values)))

    def read_first(self, rows: np.ndarray) -> np.ndarray:
        """As of `HostStorage`."""
        out = self.device.buffer((1, max(len(rows), 1)))
        _read_first(self.given, self.first, self.device.given(rows.astype(np.int32)), self.n_blocks, out)
        return self.device.fetch(out)[0, : len(rows)]

    def read_notes(self, part: slice, shape: tuple[int, int, int], whole: bool) -> np.ndarray:
        """As of `HostStorage`; a copy."""
        found = fetched(self.given, part)
        found = found.view(self.whole.dtype) if whole else found
        return np.moveaxis(found.reshape(*shape[1:], shape[0]), -1, 0)


def storage_of(device: Device) -> type[HostStorage] | type[DeviceStorage]:
    """What kernels of a device work in."""
    return DeviceStorage if device.is_gpu else HostStorage


def refuse_beyond(most: int, n: int, size: int, fit: int, n_worlds: int) -> None:
    """Refuse what kernels cannot count.

    Args:
        most: packs that they can.
        n: packs.
        size: [bytes], of each.
        fit: worlds that `most` suffices for.
        n_worlds: worlds that were wanted.

    Raises:
        DeviceMemoryError: SC714.
    """
    if n > most:
        raise out_of_reach(n, size, "kernels reach", fit, n_worlds)


def out_of_reach(n: int, size: int, than: str, fit: int, n_worlds: int) -> DeviceMemoryError:
    """The refusal of a run that needs more memory than there is; as of `refuse_beyond`."""
    advice, fewer_fit = "simulate smaller worlds", 0 < fit < n_worlds
    if fewer_fit:
        advice = (
            f"{fit} of {n_worlds} worlds fit. Run parts of the batch, the first with --world 0-{fit - 1}, and join "
            "their files with simcli merge"
        )
    return DeviceMemoryError(f"SC714: {n * size / 1e9:.3g} GB are more than {than}: {advice}", fit * fewer_fit)


def no_room_for_frames(n: int, size: int, n_worlds: int, error: Exception) -> DeviceMemoryError:
    """The refusal of a run whose frames the device has no memory for.

    Args:
        n: numbers of a frame, of all worlds.
        size: [bytes], of each.
        n_worlds: worlds that were wanted.
        error: of who was asked for the memory.
    """
    reason = f"the device has given for a frame ({(str(error).strip() or type(error).__name__).splitlines()[-1]})"
    return out_of_reach(n, size, reason, n_worlds // 2, n_worlds)


@ti.kernel
def _set(memory: ti.types.ndarray(), first: ti.i32, values: ti.types.ndarray()):
    """Set numbers one after another."""
    for k in range(values.shape[0]):
        memory[first + k] = values[k]


@ti.kernel
def _write_rows(
    memory: ti.types.ndarray(), first: ti.i32, rows: ti.types.ndarray(), n_blocks: ti.i32, values: ti.types.ndarray()
):
    """Copy (W, n) into rows of a GPU's memory."""
    for k, w in ti.ndrange(rows.shape[0], n_blocks):  # no loop in an invocation: a driver may bound its turns
        memory[first + rows[k] * n_blocks + w] = values[w, k]


def all_finite(device: Device, values) -> bool:
    """Whether all numbers of an array of a GPU, (W, n), are finite: one number goes to the host."""
    found = device.buffer((1,), np.int32)
    _find_infinite(values, found)
    return not device.fetch(found)[0]


@ti.kernel
def _find_infinite(values: ti.types.ndarray(), found: ti.types.ndarray()):
    """Set `found` to 1 if a number is none, or infinite, else to 0."""
    for _ in range(1):
        found[0] = 0
    for w, k in ti.ndrange(values.shape[0], values.shape[1]):
        if not values[w, k] - values[w, k] == 0.0:
            found[0] = 1


@ti.kernel
def _write_worlds(
    memory: ti.types.ndarray(),
    first: ti.i32,
    rows: ti.types.ndarray(),
    worlds: ti.types.ndarray(),
    n_blocks: ti.i32,
    values: ti.types.ndarray(),
):
    """Copy (worlds, n) into rows of a GPU's memory."""
    for k, n in ti.ndrange(rows.shape[0], worlds.shape[0]):
        memory[first + rows[k] * n_blocks + worlds[n]] = values[n, k]


@ti.kernel
def _read_rows(
    memory: ti.types.ndarray(), first: ti.i32, rows: ti.types.ndarray(), n_blocks: ti.i32, out: ti.types.ndarray()
):
    """Copy rows of a GPU's memory into (W, n)."""
    for k, w in ti.ndrange(rows.shape[0], n_blocks):
        out[w, k] = memory[first + rows[k] * n_blocks + w]


@ti.kernel
def _read_first(
    memory: ti.types.ndarray(), first: ti.i32, rows: ti.types.ndarray(), n_blocks: ti.i32, out: ti.types.ndarray()
):
    """Copy rows of the first world of a GPU's memory."""
    for k in range(rows.shape[0]):
        out[0, k] = memory[first + rows[k] * n_blocks]
