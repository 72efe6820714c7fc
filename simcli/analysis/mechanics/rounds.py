"""The rigid-body algorithms for states of any worlds: seats states in rounds where the worlds of a model differ."""

from collections.abc import Callable

import numpy as np

from simcli.errors import UsageError
from simcli.kernels.algorithms import Algorithms
from simcli.kernels.device.runtime import Device
from simcli.model.tables.model import Model
from simcli.model.tables.signal_tables import Driven, acting_feedback

_Array = np.ndarray
CALL_STATES = 1 << 16  # states of one call on a model whose worlds differ, idle seats included


class Mechanics:
    """The algorithms for states of any worlds.

    Args:
        model: of one world, which serves all states, or of all worlds of a batch.
        device: from `start_device`, in float64.
        algorithms: whose these are.
    """

    def __init__(self, model: Model, device: Device, algorithms: Callable[..., Algorithms] = Algorithms):
        for name in acting_feedback(model, (Driven.WRENCH_FORCE, Driven.WRENCH_TORQUE)):
            raise UsageError(
                f"the signal `{name}` drives a wrench and follows the motion by steps: states do not tell what the wrench is"
            )
        self.model = model
        self.algorithms = algorithms(model, device, model.n_worlds)

    @property
    def has_external(self) -> bool:
        """True if the scene has forces on bodies: springs, cables, wrenches."""
        return self.algorithms.core.forces.has_external

    @property
    def has_timed(self) -> bool:
        """True if some of these forces follow signals."""
        return bool(self.algorithms.core.forces.driven & {"wrench_force", "wrench_torque"})

    def __call__(self, name: str, world: _Array, *arrays: _Array) -> tuple[_Array, ...]:
        """Call an algorithm by name for N states.

        A model of W worlds takes rounds of W states, each in the seat of its world; seats without a state repeat one.

        Args:
            name: method of `Algorithms`.
            world: (N,), world of the model.
            *arrays: its arguments, (N, ...).
        """
        call = getattr(self.algorithms, name)
        if self.model.n_worlds == 1:
            return _as_tuple(call(*arrays))
        length, turn = self.algorithms.round_length, turns_of(world)
        per_call = max(CALL_STATES // length, 1)
        parts, places = [], []
        for first in range(0, int(turn.max(initial=-1)) + 1, per_call):
            mine = np.flatnonzero((turn >= first) & (turn < first + per_call))
            seat = (turn[mine] - first) * length + world[mine]
            seats = np.full((int(turn[mine].max()) - first + 1) * length, mine[0])
            seats[seat] = mine
            parts.append([np.array(part[seat]) for part in _as_tuple(call(*(a[seats] for a in arrays)))])
            places.append(mine)
        back = np.argsort(np.concatenate(places))
        return tuple(np.concatenate(part)[back] for part in zip(*parts, strict=True))

    def close(self) -> None:
        """Free the device memory."""
        self.algorithms.destroy()


def turns_of(world: _Array) -> _Array:
    """How many states of the same world come before each, (N,)."""
    order = np.argsort(world, kind="stable")
    turn = np.empty(len(world), np.int64)
    turn[order] = np.arange(len(world)) - np.searchsorted(world[order], world[order])
    return turn


def _as_tuple(found) -> tuple[_Array, ...]:
    return found if isinstance(found, tuple) else (found,)
