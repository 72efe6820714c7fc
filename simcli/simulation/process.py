"""Which simulations are open in this process, and the device that they share; signals that wait for the end of a call."""

import signal
import threading
from weakref import WeakSet

from simcli.errors import DeviceError, UsageError
from simcli.kernels.device.runtime import Device, choose_arch, live_device, start_device
from simcli.kernels.language.backend import program

MOST_THREADS = 4096  # of a pool; more than a machine has, and fewer than what Taichi breaks at
_open: WeakSet = WeakSet()


def device_for(owner, scene: str, device: str, precision: str, threads: int | None) -> Device:
    """The device of a simulation that opens; it is then known as open.

    Args:
        owner: the simulation, which has `device` and `scene`.
        scene: for messages.
        device: as of `start_device`.
        precision: likewise.
        threads: likewise; None for all, or as many as those have that are open.

    Raises:
        UsageError: another simulation is open, on another device, with another precision or number of threads.
        DeviceError: the device is missing.
    """
    others = [other for other in _open if is_live(other.device)]
    found = others[0].device if others else start_device(device, precision, threads)
    asked = (choose_arch(device, precision), precision, found.threads if threads is None or found.is_gpu else threads)
    if others and asked != (found.arch, found.precision, found.threads):
        here, wanted = _words(found.arch, found.precision, found.threads), _words(*asked)
        raise UsageError(
            f"a simulation of {others[0].scene} is open on {here}, and a process holds one device with one "
            f"precision at a time: close it before {scene} is opened on {wanted}, or ask for the "
            "same"
        )
    _open.add(owner)
    return found


def _words(arch: str, precision: str, threads: int) -> str:
    return f"`{arch}` with {precision}" + (f" and {threads} thread(s)" if threads else "")


def forget_simulation(owner) -> None:
    """A simulation is closed."""
    _open.discard(owner)


def is_live(device: Device) -> bool:
    """Whether this process still has a device as it was."""
    now = live_device()
    return now is not None and (now.arch, now.precision, now.is_gpu) == (device.arch, device.precision, device.is_gpu)


class Hold:
    """The device that a simulation works on, which others of this process may have stopped.

    Args:
        device: that was started.
    """

    def __init__(self, device: Device):
        self._device, self._program = device, program()

    def check(self) -> None:
        """Refuse to go on where the device is another one.

        Raises:
            DeviceError: it is.
        """
        if program() is self._program:
            return
        if self._device.is_gpu or not is_live(self._device):  # on a CPU memory is the host's, and outlives the device
            raise DeviceError(
                "the device of this simulation was stopped, because something else in this process has "
                "started another one; a process holds one device with one precision at a time"
            )
        self._program = program()


class SignalsWait:
    """SIGINT comes after the block, so that a call of a kernel and what is noted of it stay together.

    In threads other than the main one nothing is done, because handlers run in the main thread.
    """

    def __enter__(self) -> None:
        self._came: list[tuple] = []
        self._before = None
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, lambda *given: self._came.append(given))

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            return
        signal.signal(signal.SIGINT, self._before)
        if self._came and callable(self._before):
            self._before(*self._came[-1])
