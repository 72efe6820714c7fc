"""The device and its memory. Only this file, notes.py and rolling.py use Taichi's internals (1.7.4, frozen upstream).

A lane pack is a `ti.Vector` that holds the same scalar of several worlds; Taichi's CPU backend turns operations on packs
into vector instructions, which it does for no loop over worlds (performance.md, findings 1 to 3). All packs of a block of
worlds stand together in memory on the CPU, so that they fit the cache; on a GPU a pack is one scalar and the world is
the last index, so that neighbouring threads read neighbouring numbers.
"""

import contextlib
import gc
import os
import sys
import warnings
from dataclasses import dataclass, replace

import numpy as np
import taichi as ti
from taichi.lang import impl
from taichi.lang.ast.ast_transformer_utils import ASTTransformerContext
from taichi.lang.expr import Expr
from taichi.lang.misc import is_arch_supported

from simcli.errors import DeviceError, UsageError
from simcli.kernels.rolling import keep_loops_rolled

# Lanes per pack, measured (performance.md): 256-bit registers, twice filled lanes are slower.
CPU_LANES = {"float64": 4, "float32": 8}
GPU_BLOCK = 64  # threads per GPU block: one world per thread, registers are the limit
ARCHS = {"cpu": ti.cpu, "cuda": ti.cuda, "vulkan": ti.vulkan, "metal": ti.metal}
GPUS_WITH_FLOAT64 = ("cuda",)


def place_of(context, node) -> str:
    """File, line and source of a node of a kernel's syntax tree, for Taichi's messages."""
    line = context.src[node.lineno - 1].rstrip()
    return f'File "{context.file}", line {node.lineno + context.lineno_offset}, in {context.func.func.__name__}:\n{line}\n'


# Taichi draws carets under every node that it compiles, needed or not: a quarter of the start-up time of a cached kernel.
ASTTransformerContext.get_pos_info = place_of


@dataclass(frozen=True)
class Device:
    """A started device.

    Attributes:
        arch: "cpu", "cuda", "vulkan" or "metal".
        name: for people and files.
        precision: "float64" or "float32".
        lanes: worlds per pack.
        threads: CPU threads, 0 on a GPU.
        is_gpu: True when a pack is a scalar, worlds are the last index in memory, and buffers stay on the device.
    """

    arch: str
    name: str
    precision: str
    lanes: int
    threads: int
    is_gpu: bool = False

    @property
    def real(self):
        """Taichi type of a real number."""
        return ti.f64 if self.precision == "float64" else ti.f32

    @property
    def dtype(self):
        """Numpy type of a real number."""
        return np.dtype(self.precision)

    @property
    def block_dim(self) -> int:
        """Iterations per task: on the CPU each block of worlds is one, on a GPU a block of threads serves many worlds."""
        return GPU_BLOCK if self.is_gpu else 1

    def for_worlds(self, n_worlds: int) -> "Device":
        """The device with as many lanes as so many worlds can use: scalar code compiles three times faster.

        Lanes and scalars do the same operations in the same order, so that the bytes do not depend on it.
        """
        return replace(self, lanes=1) if n_worlds < self.lanes else self

    def blocks(self, n_worlds: int) -> int:
        """Number of packs that hold n_worlds."""
        return -(-n_worlds // self.lanes)

    def buffer(self, shape: tuple[int, ...], dtype=None):
        """Memory that a kernel fills and the host reads with `fetch`."""
        dtype = np.dtype(dtype or self.dtype)
        if not self.is_gpu:
            return np.empty(shape, dtype)
        return ti.ndarray(ti.f64 if dtype == np.float64 else ti.f32 if dtype == np.float32 else ti.i32, shape)

    def fetch(self, buffer) -> np.ndarray:
        """The host's copy of a buffer; on the CPU the buffer itself."""
        return buffer.to_numpy() if self.is_gpu else buffer


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


def choose_arch(device: str, precision: str) -> str:
    """Resolve `--device`: "auto" is CUDA where there is one, else the CPU; nothing falls back silently.

    Raises:
        UsageError: an unknown device name.
        DeviceError: the device is missing, or has no float64.
    """
    if device == "auto":
        # The driver first: where there is none, Taichi's own question prints a warning.
        return "cuda" if has_cuda_device() and is_arch_supported(ti.cuda) else "cpu"
    if device not in ARCHS:
        raise UsageError(f"unknown device `{device}`: choose auto, {', '.join(ARCHS)}")
    if device == "cpu":
        return device
    if (device == "cuda" and not has_cuda_device()) or not is_arch_supported(ARCHS[device]):
        raise DeviceError(f"device `{device}` is not available on this machine; use --device cpu")
    if precision == "float64" and device not in GPUS_WITH_FLOAT64:
        raise DeviceError(f"device `{device}` has no float64; use --precision float32 or --device cpu")
    return device


def has_cuda_device() -> bool:
    """True if the CUDA driver reports at least one device."""
    import ctypes

    try:
        driver = ctypes.CDLL("libcuda.so.1" if os.name != "nt" else "nvcuda.dll")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def start_device(device: str = "auto", precision: str = "float64", threads: int | None = None, like_gpu: bool = False,
                 **options) -> Device:
    """Initialise Taichi for this process.

    Args:
        device: "auto", "cpu", "cuda", "vulkan" or "metal".
        precision: "float64" or "float32".
        threads: CPU threads; None for all cores.
        like_gpu: run the code and the memory layout of a GPU on the CPU, for tests on machines without one.
        **options: further fields of Taichi's compile configuration, for tests.

    Raises:
        UsageError, DeviceError: see `choose_arch`.
    """
    if precision not in CPU_LANES:
        raise UsageError(f"unknown precision `{precision}`: choose float64 or float32")
    arch = choose_arch(device, precision)
    if threads is None:
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    real = ti.f64 if precision == "float64" else ti.f32
    settings = {
        "default_fp": real,
        "default_ip": ti.i32,
        "fast_math": False,  # reassociation would break batch invariance, and the GPU would approximate square roots
        "offline_cache": True,
        "log_level": ti.ERROR,
        "random_seed": 0,
        "advanced_optimization": False,  # see compile_thoroughly
        "cfg_optimization": False,  # three times faster to compile, no slower to run (measured on chains of 7 and 20)
    }
    if arch == "cpu":
        # Taichi's own loop splitting gives every thread at least 512 iterations: too coarse for packs (finding 5).
        settings |= {"cpu_max_num_threads": threads, "make_cpu_multithreading_loop": False}
    gc.collect()  # arrays of a device started before must not be freed in the memory of the new one
    with stdout_silenced(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ti.init(arch=ARCHS[arch], **(settings | options))
        except RuntimeError as error:
            raise DeviceError(f"device `{arch}` did not start: {error}") from error
    keep_loops_rolled(arch == "cpu")
    if impl.current_cfg().arch != (ti.x64 if arch == "cpu" and ARCHS["cpu"] == ti.x64 else ARCHS[arch]):
        raise DeviceError(f"device `{arch}` is not available: Taichi fell back to another one")
    # Device functions call plain Python at compile time on purpose; Taichi warns of each call.
    warnings.filterwarnings("ignore", message=".*calling non-taichi function.*")
    warnings.filterwarnings("ignore", message=".*Calling non-taichi function.*")
    is_gpu = like_gpu or arch != "cpu"
    lanes = 1 if is_gpu else CPU_LANES[precision]
    device = Device(arch, device_name(arch), precision, lanes, threads if arch == "cpu" else 0, is_gpu)
    _live[:] = [(device, impl.get_runtime().prog)]
    return device


def compile_thoroughly(thorough: bool = True) -> None:
    """Let kernels compiled from now on run a sixth faster, or else compile up to twice as fast; the bytes are the same."""
    impl.current_cfg().advanced_optimization = thorough


_live: list = []  # the device started last and Taichi's program of it: Taichi has one per process


def live_device() -> Device | None:
    """The device that this process has started, None if there is none or if somebody has reset Taichi since."""
    if not _live or impl.get_runtime().prog is not _live[0][1]:
        return None
    return _live[0][0]


def stop_device() -> None:
    """Release the device of this process and write the kernels that were compiled to Taichi's cache."""
    with stdout_silenced():
        ti.reset()


def device_name(arch: str) -> str:
    """A name for people: the processor's or the GPU's."""
    if arch == "cpu":
        with contextlib.suppress(OSError), open("/proc/cpuinfo") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
        return "cpu"
    if arch == "cuda":
        import ctypes

        name = ctypes.create_string_buffer(256)
        with contextlib.suppress(OSError):
            driver = ctypes.CDLL("libcuda.so.1" if os.name != "nt" else "nvcuda.dll")
            if driver.cuInit(0) == 0 and driver.cuDeviceGetName(name, 256, 0) == 0:
                return name.value.decode()
    return arch


def is_pack(x) -> bool:
    """True if x, inside a kernel being compiled, is a lane pack rather than a scalar."""
    return x.is_tensor() if isinstance(x, Expr) else isinstance(x, ti.Matrix)


def local(x):
    """A local variable that starts as x (Taichi would otherwise evaluate x again at each use)."""
    return impl.expr_init(x)


class Arena:
    """One field that holds all packs of all blocks; slots are ranges of its rows.

    One field, because one block's packs must stand together (CPU), and because a process may hold 512 field trees only.
    """

    _data_oriented = True

    def __init__(self, device: Device, n_worlds: int):
        self.device, self.n_worlds, self.n_rows, self.field = device, n_worlds, 0, None
        self.int_tables, self.real_tables, self.n_ints, self.n_reals = [], [], 0, 0
        self.n_blocks = device.blocks(n_worlds)

    def ints(self, values) -> "Ints":
        """A table of integers that all worlds share."""
        array = np.ascontiguousarray(values, np.int32).ravel()
        table = Ints(self, self.n_ints)
        self.int_tables.append(array)
        self.n_ints += array.size
        return table

    def shared(self, values, kind=None) -> "Shared":
        """A column of real values that all worlds share, of a kind as in `slot`."""
        array = np.ascontiguousarray(values, np.float64).ravel()
        table = Shared(self, self.n_reals, kind)
        self.real_tables.append(array)
        self.n_reals += array.size
        return table

    def slot(self, n_items: int, kind=None) -> "Slot":
        """Reserve a quantity of n_items values of a kind (a class of values.py; None for a plain pack)."""
        slot = Slot(self, self.n_rows, n_items, kind)
        self.n_rows += max(n_items, 1) * slot.width
        return slot

    def build(self):
        """Allocate. No slot can be reserved afterwards."""
        lanes, real = self.device.lanes, self.device.real
        rows = max(self.n_rows, 1)
        self.tree = ti.FieldsBuilder()
        self.field = ti.Vector.field(lanes, real) if lanes > 1 else ti.field(real)
        if self.device.is_gpu:
            self.tree.dense(ti.ij, (rows, self.n_blocks)).place(self.field)
        else:
            self.tree.dense(ti.ij, (self.n_blocks, rows)).place(self.field)
        self.int_field, self.real_field = ti.field(ti.i32), ti.field(real)
        self.tree.dense(ti.i, max(self.n_ints, 1)).place(self.int_field)
        self.tree.dense(ti.i, max(self.n_reals, 1)).place(self.real_field)
        self.snode = self.tree.finalize()
        self.refill(self)

    def refill(self, other: "Arena"):
        """Take the shared tables of another arena, built or not, of the same layout."""
        assert (other.n_rows, other.n_ints, other.n_reals) == (self.n_rows, self.n_ints, self.n_reals), "another layout"
        _load_constants(self, np.concatenate([*other.int_tables, np.zeros(1, np.int32)]),
                        np.concatenate([*other.real_tables, np.zeros(1)]).astype(self.device.dtype))

    def read(self) -> np.ndarray:
        """Host copy of everything, (W with the idle lanes, rows): all state of a run, and all columns."""
        out = self.device.buffer((self.n_blocks * self.device.lanes, max(self.n_rows, 1)))
        _unload_rows(self, 0, self.n_rows, out)
        return self.device.fetch(out)

    def write(self, values: np.ndarray):
        """Set everything from a host copy of `read`; the same bits."""
        rows = np.ascontiguousarray(values, self.device.dtype)
        if rows.shape != (self.n_blocks * self.device.lanes, max(self.n_rows, 1)):
            raise ValueError(f"state of shape {rows.shape} does not fit")
        if self.n_rows:
            _load_rows(self, 0, len(rows) - 1, rows)

    def destroy(self):
        """Free the field."""
        self.snode.destroy()

    def zero(self):
        """A pack of zeros (inside kernels). Not `x * 0.0` of a pack in memory: what a state before left may be NaN."""
        lanes = self.device.lanes
        return local(ti.Vector([0.0] * lanes, self.device.real) if lanes > 1 else ti.cast(0.0, self.device.real))

    def at(self, block, row):
        """The pack at a row of a block, as an assignable expression (inside kernels)."""
        builder = impl.get_runtime().compiling_callable.ast_builder()
        if self.device.is_gpu:
            return impl.subscript(builder, self.field, row, block)
        return impl.subscript(builder, self.field, block, row)


class Ints:
    """A table of integers that all worlds share."""

    _data_oriented = True

    def __init__(self, arena: Arena, first: int):
        self.arena, self.first = arena, first

    def at(self, item):
        """Entry of an item (inside kernels)."""
        builder = impl.get_runtime().compiling_callable.ast_builder()
        return local(impl.subscript(builder, self.arena.int_field, item + self.first))


class Shared:
    """A column that all worlds share; loads like a Slot, its components are scalars."""

    _data_oriented = True

    def __init__(self, arena: Arena, first: int, kind):
        self.arena, self.first, self.kind = arena, first, kind
        self.width = kind.width if kind else 1

    def load(self, block, item):
        """The value of an item; `block` is not used."""
        builder = impl.get_runtime().compiling_callable.ast_builder()
        field = self.arena.real_field
        parts = [impl.subscript(builder, field, item * self.width + (self.first + k)) for k in range(self.width)]
        return self.kind(*parts) if self.kind else local(parts[0])


@ti.kernel
def _load_constants(arena: ti.template(), ints: ti.types.ndarray(), reals: ti.types.ndarray()):
    """Fill the tables that all worlds share."""
    for i in range(arena.n_ints):
        arena.int_field[i] = ints[i]
    for i in range(arena.n_reals):
        arena.real_field[i] = reals[i]


class Slot:
    """A quantity per (block of worlds, item): `load(w, i)` and `store(w, i, value)` inside kernels."""

    _data_oriented = True

    def __init__(self, arena: Arena, first: int, n_items: int, kind):
        self.arena, self.first, self.n_items, self.kind = arena, first, n_items, kind
        self.width = kind.width if kind else 1

    def load(self, block, item):
        """The value of an item."""
        parts = [self.arena.at(block, self.row(item, k)) for k in range(self.width)]
        return self.kind(*parts) if self.kind else local(parts[0])

    def store(self, block, item, value):
        """Replace the value of an item."""
        for k, part in enumerate(value.parts if self.kind else [value]):
            self.arena.at(block, self.row(item, k))._assign(part)

    def part(self, block, item, k):
        """Component k of an item, as an assignable expression."""
        return self.arena.at(block, self.row(item, k))

    def row(self, item, k):
        """Row of component k of an item."""
        return self.first + item * self.width + k

    def read(self) -> np.ndarray:
        """Host copy, (W, n_items, width)."""
        arena, rows = self.arena, self.n_items * self.width
        out = arena.device.buffer((arena.n_blocks * arena.device.lanes, max(rows, 1)))
        _unload_rows(arena, self.first, rows, out)
        return arena.device.fetch(out)[: arena.n_worlds, :rows].reshape(arena.n_worlds, self.n_items, self.width)

    def write(self, values: np.ndarray, arena: Arena | None = None):
        """Set from host values, (W or 1, n_items, width); unused lanes of the last pack repeat the last world.

        A repeated world cannot fail where the last one does not, so that no idle lane slows or disturbs a pack.

        Args:
            values: of all items.
            arena: where, if not in our own: one of the same layout.
        """
        arena, rows = arena or self.arena, self.n_items * self.width
        flat = np.ascontiguousarray(np.asarray(values, arena.device.dtype).reshape(len(values), rows))
        if rows:
            _load_rows(arena, self.first, arena.n_worlds - 1, flat)


@ti.kernel
def _load_rows(arena: ti.template(), first: ti.i32, last_world: ti.i32, values: ti.types.ndarray()):
    """Copy (W or 1, rows) into consecutive rows of every block."""
    for w in range(arena.n_blocks):
        for row in range(values.shape[1]):
            for lane in ti.static(range(arena.device.lanes)):
                world = ti.min(ti.min(w * arena.device.lanes + lane, last_world), values.shape[0] - 1)
                put_lane(arena.at(w, first + row), lane, values[world, row])


@ti.kernel
def _unload_rows(arena: ti.template(), first: ti.i32, rows: ti.i32, out: ti.types.ndarray()):
    """Copy consecutive rows of every block into (padded W, rows)."""
    for w in range(arena.n_blocks):
        for row in range(rows):
            for lane in ti.static(range(arena.device.lanes)):
                out[w * arena.device.lanes + lane, row] = get_lane(arena.at(w, first + row), lane)


def put_lane(pack, lane: int, value):
    """Assign one lane of an assignable pack (inside kernels)."""
    if is_pack(pack):
        builder = impl.get_runtime().compiling_callable.ast_builder()
        impl.subscript(builder, pack, lane)._assign(value)
    else:
        pack._assign(value)


def get_lane(pack, lane: int):
    """One lane of a pack (inside kernels)."""
    if is_pack(pack):
        builder = impl.get_runtime().compiling_callable.ast_builder()
        return impl.subscript(builder, pack, lane)
    return pack


def any_lane(mask):
    """True if any lane of a mask is set (inside kernels)."""
    if not is_pack(mask):
        return mask
    builder = impl.get_runtime().compiling_callable.ast_builder()
    lanes = [impl.subscript(builder, mask, k) for k in range(mask.get_shape()[0])]
    found = lanes[0] != 0
    for lane in lanes[1:]:
        found = found | (lane != 0)
    return found
