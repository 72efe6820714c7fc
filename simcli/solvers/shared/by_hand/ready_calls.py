"""Kernels that a program calls again and again: what does not change between calls is handed over once."""

from simcli.kernels.language.backend import program
from simcli.kernels.language.launches import ReadyLaunch

_BEFORE = 2  # arguments before a kernel's own: the memory and the core


class ReadyCalls:
    """Calls of the kernels of a stepper.

    Args:
        stepper: whose core they are given.
    """

    def __init__(self, stepper):
        self._arena, self._core, self._device = stepper.arena, stepper.core, stepper.device
        self._ready: dict[tuple, tuple[ReadyLaunch, tuple]] = {}

    def call(self, kernel, *args, way: tuple = ()) -> None:
        """Call a kernel as `Arena.launch` does.

        Args:
            kernel: of Taichi, whose first argument is the core.
            args: its other arguments, of the kinds of the first call; arrays live until the next call.
            way: which of several sets of arguments, of a kernel that is called with them in turn.
        """
        if self._device.is_gpu:
            self._arena.launch(kernel, self._core, *args)
            return
        ready, last = self._ready.get((kernel, *way), (None, ()))
        if ready is None or ready.program is not program():
            ready, last = self._arena.ready(kernel, self._core, *args), args
        given = {k: one for k, (one, before) in enumerate(zip(args, last, strict=True), _BEFORE) if one is not before}
        self._ready[kernel, *way] = ready, args
        self._arena.launch_ready(ready, given)
