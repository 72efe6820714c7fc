"""Targets of drives and values of constant signals, by name and world. They hold until they are set again."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import numpy as np

from simcli.errors import UsageError
from simcli.job import Job
from simcli.kernels.device.dlpack import is_lent_by, lent_array
from simcli.kernels.device.pack_arrays import PackArray
from simcli.kernels.device.storage import all_finite
from simcli.model.signals.controlled import CONTROL_OF, controlled_dofs, signal_of
from simcli.model.tables.joint_tables import Dofs, Joints
from simcli.model.tables.signal_tables import SignalKind
from simcli.simulation.starts import NOT_LENT, fitting_numbers, spread_of

_PARAMETERS = 4  # of a signal; a constant is the first


def joints_with_drives(joints: Joints, dofs: Dofs) -> tuple[str, ...]:
    """Joints whose drives can be controlled."""
    return tuple(name for name in joints.name if controlled_dofs(joints, dofs, name))


def known_joints(wanted: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Joints that are to be controlled.

    Raises:
        UsageError: one has no drive, or is not there.
    """
    for name in wanted:
        if name not in known:
            raise UsageError(f"controls: `{name}` is no joint with a drive")
    return tuple(wanted)


class Controls:
    """What a program sets at each step.

    Args:
        job: of the simulation, its model with a signal for each target (`with_controls`).
        joints: those that are controlled by name.
        stepper: whose signals are written.
        has_events: whether something else writes them, too.

    Values of an array in the memory of a GPU stay there; the host fetches them where it needs them.
    """

    def __init__(self, job: Job, joints: Sequence[str], stepper, has_events: bool):
        self.model, self.joints = job.model, tuple(joints)
        self._arena, self.n_worlds = stepper.arena, job.model.n_worlds
        core = stepper.core
        driving = core.signals, getattr(core, "prescribed", None)
        self._columns = [one.parameter for one in driving if one is not None and one.n]
        signals = self.model.signals
        self._values = np.broadcast_to(signals.parameter[..., 0], (self.n_worlds, len(signals.name))).copy()
        self._known: dict[str, np.ndarray] = {}
        lanes = self._arena.n_blocks * self._arena.device.lanes
        self._world_of_lane = np.minimum(np.arange(lanes), self.n_worlds - 1)
        self._rows = [column.rows if isinstance(column, PackArray) else None for column in self._columns]
        self._own_rows = [rows for rows in self._rows if rows is not None]
        self._takes_lent = stepper.device.is_gpu and not has_events and len(self._own_rows) == len(self._rows)
        self._afar: set[int] = set()  # signals whose values the device alone has

    @property
    def values(self) -> np.ndarray:
        """(W, K), of all signals; those that are no constants mean nothing."""
        self.fetch()
        return self._values

    def fetch(self) -> None:
        """Let the host have what the device alone has."""
        if self._afar:
            numbers = np.array(sorted(self._afar))
            self._values[:, numbers] = self._arena.read_rows(self._own_rows[0][_PARAMETERS * numbers])[: self.n_worlds]
            self._afar.clear()

    def find(self, name: str) -> np.ndarray:
        """Signals behind a name: of a joint, or `$u`, `signal.u`.

        Raises:
            UsageError: there is nothing to be controlled of that name.
        """
        if name not in self._known:
            self._known[name] = np.array(self._signals(name), int)
        return self._known[name]

    def _signals(self, name: str) -> list[int]:
        signals = self.model.signals
        found = name.removeprefix("$") if name.startswith("$") else name.removeprefix("signal.")
        is_signal = found != name
        if not is_signal and name in self.joints:
            found_here = (signal_of(self.model, dof) for dof in controlled_dofs(self.model.joints, self.model.dofs, name))
            numbers = [k for k in found_here if k is not None]
        elif is_signal:
            numbers = [k for k, label in enumerate(signals.name) if label == found or label.startswith(f"{found}:")]
        else:
            numbers = []
        if not numbers:
            raise self._unknown(name)
        for k in numbers:
            if signals.kind[k] != SignalKind.CONSTANT:
                kind = SignalKind(signals.kind[k])
                is_of_others = kind == SignalKind.FEEDBACK
                what = "worked out from others" if is_of_others else f"a {kind.name.lower()}, a function of time"
                raise UsageError(f"control of `{name}`: signal `{signals.name[k]}` is {what}; only constant signals are set")
        return numbers

    def _unknown(self, name: str) -> UsageError:
        if name in self.model.joints.name:
            why = (
                "is not among the `controls` of this simulation"
                if controlled_dofs(self.model.joints, self.model.dofs, name)
                else "has no drive"
            )
            return UsageError(f"control of `{name}`: the joint {why}")
        own = [one for one in self.model.signals.name if not one.startswith(CONTROL_OF)]
        near = get_close_matches(name, [*self.joints, *(f"${one}" for one in own)], n=1)
        return UsageError(
            f"control of `{name}`: there is no such joint or signal" + (f"; did you mean `{near[0]}`?" if near else "")
        )

    def set(self, control: Mapping[str, object]) -> list[str]:
        """Let values hold from now on.

        Args:
            control: name to values, broadcastable to (W, n); what a GPU has, (W, n) of its own type, is taken where it is.

        Returns:
            Names whose values have changed, or may have.

        Raises:
            UsageError: a name that is not there, or values that do not fit or are not finite.
        """
        found = [(name, self.find(name)) for name in control]
        given = [(name, numbers, self._fitting(name, numbers, control[name])) for name, numbers in found]
        changed = []
        for name, numbers, values in given:
            if not isinstance(values, np.ndarray):
                for rows in self._own_rows:
                    self._arena.storage.take_rows(rows[_PARAMETERS * numbers], values)
                self._afar |= set(numbers.tolist())
                changed.append(name)
            elif not np.array_equal(self.values[:, numbers], values):
                self._values[:, numbers] = values
                self._write(numbers)
                changed.append(name)
        return changed

    def _fitting(self, name: str, numbers: np.ndarray, value: object):
        """Values of signals, (W, n): an array of the host, or of the device, without a way over the host.

        Raises:
            UsageError: they do not fit, or are not finite.
        """
        what, shape, device = f"control of `{name}`", (self.n_worlds, len(numbers)), self._arena.device
        if not self._takes_lent or not is_lent_by(value, device.arch):
            return fitting_numbers(what, value, shape)
        try:
            lent = lent_array(value)
        except NOT_LENT as error:
            raise UsageError(f"{what}: the array cannot be taken by dlpack: {str(error) or type(error).__name__}") from None
        if lent.dtype != device.dtype or lent.shape not in (shape, shape[: 1 + (shape[1] > 1)]):
            return fitting_numbers(what, value, shape)
        buffer = device.buffer(shape)
        lent.copy_into(buffer, device.arch)
        return buffer if all_finite(device, buffer) else fitting_numbers(what, device.fetch(buffer), shape)

    def write_all(self) -> None:
        """Write all constants, where something else has written the tables."""
        self._write(np.flatnonzero(self.model.signals.kind == SignalKind.CONSTANT))

    def write_of(self, worlds: np.ndarray) -> None:
        """Write all constants of some worlds.

        Args:
            worlds: (W,) bool.
        """
        numbers = np.flatnonzero(self.model.signals.kind == SignalKind.CONSTANT)
        lanes = np.flatnonzero(worlds[self._world_of_lane])
        for rows in self._rows:
            if rows is not None and numbers.size:
                values = self._lanes(numbers)[lanes]
                self._arena.storage.write_worlds(rows[_PARAMETERS * numbers], lanes, values)

    def _write(self, numbers: np.ndarray) -> None:
        for column, rows in zip(self._columns, self._rows, strict=True):
            if rows is not None:
                self._arena.write_rows(rows[_PARAMETERS * numbers], self._lanes(numbers))
            else:  # one world, whose numbers are shared ones
                for k in numbers.tolist():
                    column.set(_PARAMETERS * k, float(self.values[0, k]))

    def _lanes(self, numbers: np.ndarray) -> np.ndarray:
        return self.values[self._world_of_lane[:, None], numbers].astype(self._arena.device.dtype)

    def described(self) -> list[str]:
        """What holds and is not what the scene says, for people."""
        signals = self.model.signals
        first = np.broadcast_to(signals.parameter[..., 0], self.values.shape)
        changed = (self.values != first).any(axis=0)
        own = [
            name
            for name, kind in zip(signals.name, signals.kind, strict=True)
            if kind == SignalKind.CONSTANT and not name.startswith(CONTROL_OF)
        ]
        names = (*self.joints, *(f"${one}" for one in own))
        return [self.describe(name) for name in names if changed[self.find(name)].any()]

    def describe(self, name: str) -> str:
        """A name and its values, for people."""
        return f"{name} = {spread_of(self.values[:, self.find(name)])}"
