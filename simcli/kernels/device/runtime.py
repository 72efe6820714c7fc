"""The device: start Taichi, choose where it runs, how it compiles."""

import atexit
import gc
import os
import warnings
from dataclasses import dataclass, replace
from weakref import WeakSet

import numpy as np

from simcli.engines import cores, engine_of_process
from simcli.errors import DeviceError, UsageError
from simcli.kernels.device.cuda import copy_to_device, device_name, fetched, has_cuda_device, take_cuda_device
from simcli.kernels.language import ti
from simcli.kernels.language.backend import (
    KernelTaken,
    Origin,
    configuration,
    is_arch_supported,
    listeners,
    memory_error,
    one_block_a_task,
    origins_of,
    program,
    stdout_silenced,
    stop,
)
from simcli.kernels.language.expressions import keep_vectors
from simcli.kernels.language.finishing import keep_loops_rolled
from simcli.kernels.language.kernel_session import KernelSession, tell_not_kept, variable_unread
from simcli.kernels.language.traces import stub_notes

# Lanes per pack, measured: 256-bit registers, twice filled lanes are slower.
CPU_LANES = {"float64": 4, "float32": 8}
# Taichi writes a number of threads into each kernel, and its pool, which is as large as was asked for, takes no more than it
# has: with one number for all, a kernel that was compiled on two cores is the same on 64.
KERNEL_THREADS = 256
_MOST_KERNELS = 16  # of a device that goes on: Taichi keeps the program of each, with contact 28 MB
CACHE_LINE = 64  # [bytes], of a cache
GPU_BLOCK = 64  # threads per GPU block: one world per thread, registers are the limit
ARCHS = {"cpu": ti.cpu, "cuda": ti.cuda, "vulkan": ti.vulkan, "metal": ti.metal}
BY_SPIRV = ("vulkan", "metal")
# Of Mesa's software driver: without LLVM's optimisation it compiles up to twice as fast, and calls take longer than steps.
_MESA = "GALLIVM_PERF", "nopt"
GPUS_WITHOUT_FLOAT64 = ("metal",)  # Vulkan: the driver says, when it starts


def _note(taken: KernelTaken) -> None:
    """Count a kernel that the process did not have, and warn if it was compiled and cannot be kept."""
    if taken.origin != Origin.PROCESS:
        _made.append(taken)
    if taken.origin == Origin.COMPILED and _sessions:
        _sessions[0].tell()


listeners.append(_note)


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
        most_turns: of the loops of one invocation in total, after which the driver leaves all loops and says nothing; 0 if
            it has no such bound.
    """

    _untraced = ("name", "threads")  # of the machine: its kernels are those of others
    arch: str
    name: str
    precision: str
    lanes: int
    threads: int
    is_gpu: bool = False
    most_turns: int = 0

    @property
    def real(self):
        """Taichi type of a real number."""
        return ti.f64 if self.precision == "float64" else ti.f32

    @property
    def dtype(self):
        """Numpy type of a real number."""
        return np.dtype(self.precision)

    @property
    def by_spirv(self) -> bool:
        """True if kernels are compiled by way of SPIR-V."""
        return self.arch in BY_SPIRV

    @property
    def block_dim(self) -> int:
        """Iterations per task: on the CPU each block of worlds is one, on a GPU a block of threads serves many worlds."""
        return GPU_BLOCK if self.is_gpu else 1

    def for_worlds(self, n_worlds: int) -> "Device":
        """The device with as many lanes as so many worlds can use: scalar code compiles three times faster.

        Lanes and scalars do the same operations in the same order, so that the bytes do not depend on it.
        """
        return replace(self, lanes=1) if n_worlds < self.lanes else self

    def refuse_bounded_loops(self) -> None:
        """Refuse a device whose driver leaves loops early, for those who cannot split their calls.

        Raises:
            DeviceError: SC713.
        """
        if self.most_turns:
            raise DeviceError(
                f"SC713: the driver of `{self.arch}` ({self.name}) leaves all loops after {self.most_turns} "
                "turns and says nothing; only runs are split into short calls: use --device cpu"
            )

    def whole_lines(self, n: int) -> int:
        """Numbers of the least count of cache lines that hold n."""
        in_line = CACHE_LINE // self.dtype.itemsize
        return -(-n // in_line) * in_line

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
        return fetched(buffer) if self.is_gpu else buffer

    def given(self, array: np.ndarray):
        """A contiguous array of the host as a kernel that only reads it takes it."""
        if self.arch != "cuda" or not array.size:
            return array
        held = self.buffer(array.shape, array.dtype)
        copy_to_device(array, held)
        return held


def choose_arch(device: str, precision: str) -> str:
    """Resolve `--device`: "auto" is CUDA where there is one, else the CPU; nothing falls back silently.

    "cuda:1" takes the second CUDA device for this process, of which it is "cuda" from then on.

    Raises:
        UsageError: an unknown device name, or another CUDA device than the one of this process.
        DeviceError: the device is missing, or no device of its kind has float64.
    """
    if device == "auto":
        # The driver first: where there is none, Taichi's own question prints a warning.
        return "cuda" if has_cuda_device() and is_arch_supported(ti.cuda) else "cpu"
    asked = device
    if device.startswith("cuda:") and device[5:].isdecimal():
        take_cuda_device(int(device[5:]))
        device = "cuda"
    if device not in ARCHS:
        raise UsageError(f"unknown device `{device}`: choose auto, {', '.join(ARCHS)}, or cuda:1 for the second of several")
    if device == "cpu":
        return device
    if (device == "cuda" and not has_cuda_device()) or not is_arch_supported(ARCHS[device]):
        raise DeviceError(f"device `{asked}` is not available on this machine; use --device cpu")
    if precision == "float64" and device in GPUS_WITHOUT_FLOAT64:
        raise DeviceError(f"device `{device}` has no float64; use --precision float32 or --device cpu")
    return device


def start_device(
    device: str = "auto", precision: str = "float64", threads: int | None = None, like_gpu: bool = False, **options
) -> Device:
    """Initialise Taichi for this process; a CPU that is started as it is wanted goes on (see `_goes_on`).

    Args:
        device: "auto", "cpu", "cuda", "cuda:1", ..., "vulkan" or "metal".
        precision: "float64" or "float32".
        threads: CPU threads; None for one on each core that the process may use.
        like_gpu: run the code and the memory layout of a GPU on the CPU, for tests on machines without one.
        **options: further fields of Taichi's compile configuration, for tests.

    Raises:
        UsageError, DeviceError: see `choose_arch` and `self_test.refuse_wrong_numbers`.
    """
    if precision not in CPU_LANES:
        raise UsageError(f"unknown precision `{precision}`: choose float64 or float32")
    arch = choose_arch(device, precision)
    if threads is None:
        threads = cores()
    if arch == "vulkan":
        os.environ.setdefault(*_MESA)
    is_gpu = like_gpu or arch != "cpu"
    lanes = 1 if is_gpu else CPU_LANES[precision]
    device = Device(arch, device_name(arch), precision, lanes, threads if arch == "cpu" else 0, is_gpu)
    if not options and _goes_on(device):
        _live[0] = (device, *_live[0][1:])
        compile_thoroughly(False)
        return device
    return _begin(device, like_gpu, options)


def _begin(device: Device, like_gpu: bool, options: dict) -> Device:
    """Start a device in place of that of this process; raises as `start_device`."""
    _forget_device()
    _start_taichi(device.arch, _settings_of(device.precision, device.threads, like_gpu), options)
    keep_vectors(device.arch == "cpu" and not like_gpu)
    if device.arch != "cpu":
        from simcli.kernels.device.self_test import refuse_wrong_numbers  # it stands above this file

        device = replace(device, most_turns=refuse_wrong_numbers(device))
    _live[:] = [(device, program(), bool(options))]
    _made.clear()
    return device


def _settings_of(precision: str, threads: int, like_gpu: bool) -> dict:
    """Fields of Taichi's compile configuration; threads are 0 on a GPU."""
    settings = {
        "default_fp": ti.f64 if precision == "float64" else ti.f32,
        "default_ip": ti.i32,
        "fast_math": False,  # reassociation would break batch invariance, and the GPU would approximate square roots
        "log_level": ti.ERROR,
        "random_seed": 0,
        "advanced_optimization": False,  # see compile_thoroughly
    }
    if threads:
        settings |= {"cpu_max_num_threads": threads, **one_block_a_task()}
        settings["real_matrix_scalarize"] = like_gpu  # see language/expressions.py
    return settings


def _forget_device() -> None:
    """Stop the device that is started, if there is one, and let go of its memory."""
    if program() is not None:
        for storage in held_on_device:  # which something may still hold
            storage.given = None
        gc.collect()  # arrays of a device started before must not be freed in the memory of the new one
    stop_device()


def _start_taichi(arch: str, settings: dict, options: dict) -> None:
    """Begin a session of kernels, and initialise Taichi for it.

    Raises:
        DeviceError: the device does not start, or Taichi takes another one.
    """
    _sessions[:] = [KernelSession()]
    stub_notes[:] = _sessions
    with stdout_silenced(), warnings.catch_warnings(), variable_unread():
        warnings.simplefilter("ignore")
        try:
            ti.init(arch=ARCHS[arch], **(settings | _sessions[0].settings() | options))
        except RuntimeError as error:
            raise memory_error(error) or DeviceError(f"device `{arch}` did not start: {error}") from error
    if arch == "cpu":
        configuration().cpu_max_num_threads = KERNEL_THREADS
    keep_loops_rolled(arch == "cpu")
    if configuration().arch != ARCHS[arch]:
        raise DeviceError(f"device `{arch}` is not available: {engine_of_process().title} fell back to another one")


def _goes_on(wanted: Device) -> bool:
    """Whether the device that is started can serve once more as it is: kernels that it has need not be read again.

    It is stopped if it has been started with other options, if it has the programs of many kernels, if it has compiled some,
    which are kept only when it stops, or if the folders have some that it does not see.
    """
    if live_device() is None or wanted.arch in BY_SPIRV or _live[0][2]:
        return False
    if (wanted.is_gpu and wanted.arch == "cpu") or replace(_live[0][0], lanes=wanted.lanes) != wanted:
        return False
    return len(_made) < _MOST_KERNELS and bool(_sessions) and not _has_news()


def read_compiled() -> None:
    """Start the device of this process anew, if it has compiled kernels: they are read, finished, when they are called next.

    Nothing of Taichi's that was made before may be used (`ReadyLaunch`); memory of arenas of a CPU is the host's, and stays.
    """
    device = live_device()
    keeps = bool(_sessions) and _sessions[0].keeper is not None
    if device is not None and not device.is_gpu and not _live[0][2] and keeps and _has_compiled():
        _begin(device, False, {})


def _has_compiled() -> bool:
    return any(kernel.origin == Origin.COMPILED for kernel in _made)


def _has_news() -> bool:
    """Whether the device has kernels that the folders lack, or they have some that it does not see."""
    return _has_compiled() or not _sessions[0].is_up_to_date()


def compile_thoroughly(thorough: bool = True) -> None:
    """Let kernels compiled from now on run a sixth faster, or else compile up to twice as fast; the bytes are the same."""
    configuration().advanced_optimization = thorough


held_on_device: WeakSet = WeakSet()  # what has an array `given` of the device
_live: list = []  # the device started last, Taichi's program of it, and whether it had options: Taichi has one per process


_made: list[KernelTaken] = []  # on that device


def live_device() -> Device | None:
    """The device that this process has started, None if there is none or if somebody has reset Taichi since."""
    if not _live or program() is not _live[0][1]:
        return None
    return _live[0][0]


def stop_device() -> None:
    """Release the device of this process, if there is one, and keep the kernels that were compiled."""
    session = _sessions.pop() if _sessions else None
    stub_notes.clear()
    origins = origins_of(program())
    if session:
        session.prepare_stop(origins)
    keep_vectors(False)
    with stdout_silenced():
        reason = stop()
    if reason:
        tell_not_kept(reason)
    if session:
        try:
            session.close(origins)
        except OSError as error:
            tell_not_kept(str(error))


_sessions: list[KernelSession] = []  # of the device that is started
atexit.register(stop_device)
