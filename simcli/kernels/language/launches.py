"""Launches of one kernel again and again: its arguments are handed over once, and those that change, each time.

Taichi asks of each argument of each launch what it is, and looks the compiled kernel up; of the kernel of a run, with its 17
arrays, that takes longer than a step of a small scene.
"""

import numpy as np

from simcli.kernels.language.backend import configuration, program
from simcli.kernels.language.internals import handle_exception_from_cpp


class ReadyLaunch:
    """A kernel with its arguments.

    Args:
        kernel: of Taichi.
        traced: what it was compiled to, and the numbers that it reads.
        args: its arguments, as it was compiled for them; arrays stay where they are.
        of_kernel: tables of the numbers that kernels of an arena read, whole and real.

    Attributes:
        program: of Taichi, in which the launch is possible.
    """

    def __init__(self, kernel, traced, args: tuple, of_kernel: tuple[np.ndarray, np.ndarray]):
        self.program, self._args, self._tables = program(), args, of_kernel
        self._context = traced.compiled.make_launch_context()
        self._data = self.program.compile_kernel(configuration(), self.program.get_device_caps(), traced.compiled)
        traced.numbers.fill(*of_kernel)
        self._annotations = {k: argument.annotation for k, argument in enumerate(kernel.arguments)}
        counts = [len(traced.numbers.entries[kind]) for kind in (int, float)]
        self._numbers = [table[:n].copy() for table, n in zip(of_kernel, counts, strict=True)]
        self._place, place = {}, 0
        for k, value in enumerate(args):
            if k in kernel.template_slot_locations:
                continue
            self._place[k] = (place,)
            self._give(k, value)
            place += 1

    def _give(self, k: int, value) -> None:
        at, kind = self._place[k], self._annotations[k]
        if isinstance(value, int):
            self._context.set_arg_int(at, value)
        elif isinstance(value, np.ndarray):
            shape = value.shape if getattr(kind.dtype, "ndim", 0) == 0 else value.shape[: -kind.dtype.ndim]
            address = value.__array_interface__["data"][0]
            self._context.set_arg_external_array_with_shape(at, address, value.nbytes, shape, 0)
        else:
            self._context.set_arg_ndarray(at, value.arr)

    def prepare(self) -> None:
        """Write the numbers that the kernel reads: other kernels may have used their table."""
        for table, numbers in zip(self._tables, self._numbers, strict=True):
            table[: len(numbers)] = numbers

    def launch(self, given: dict) -> None:
        """Call the kernel.

        Args:
            given: of its arguments, by their place among all, those that are others: whole numbers, and arrays of the same
                kinds, which live until the kernel has ended.
        """
        for k, value in given.items():
            self._give(k, value)
        try:
            self.program.launch_kernel(self._data, self._context)
        except Exception as error:
            raise handle_exception_from_cpp(error) from None
