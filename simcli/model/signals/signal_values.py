"""Signals of a scene: their parameters and the cubics of their tables; and their values in numpy.

Activations of drives and muscles, lags of what they are told, are signals of their own behind those of the scene.
"""

from collections.abc import Iterator, Mapping
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np

from simcli.model.joints.links import stack_worlds
from simcli.model.signals.controllers import crossing_names
from simcli.model.signals.csv_table import CsvError, read_csv
from simcli.model.signals.splines import spline_derivatives
from simcli.model.tables.signal_tables import SignalKind, Signals
from simcli.model.tables.table_base import Array
from simcli.model.tables.worlds import Worlds
from simcli.spec.lookup.signal_uses import uses
from simcli.spec.schema.forces import MuscleSpec
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.signals import ActivationSpec, DriveSpec, FilterSignal, SignalSpec
from simcli.spec.values.units import UnitError, parse_unit, to_si


def activation_name(owner: str, k: int) -> str:
    """Name of the signal that is the activation of a drive.

    Args:
        owner: path of what has the drive, as `joints.pin`.
        k: which of its drives.
    """
    return f"{owner}.drive" + (f"[{k}]" if k else "")


def signals_of(spec: SceneSpec) -> Mapping[str, SignalSpec]:
    """The signals of a scene, and the activations of its drives and muscles."""
    lags = {name: _lag(one.activation, told) for name, one, told in _acting(spec) if one.activation is not None}
    return {**spec.signals, **lags} if lags else spec.signals


def muscle_name(owner: str) -> str:
    """Name of the signal that is the activation of a muscle; see `activation_name`."""
    return f"{owner}.muscle"


def _acting(spec: SceneSpec) -> Iterator[tuple[str, DriveSpec | MuscleSpec, float | str]]:
    """What may have an activation, with the name of its signal and what it is told."""
    for name, joint in spec.joints.items():
        for k, drive in enumerate(joint.drive or ()):
            if drive is not None:
                yield activation_name(f"joints.{name}", k), drive, drive.target
    for name, force in spec.forces.items():
        if (drive := getattr(force, "drive", None)) is not None:
            yield activation_name(f"forces.{name}", 0), drive, drive.target
        if (muscle := getattr(force, "muscle", None)) is not None:
            yield muscle_name(f"forces.{name}"), muscle, muscle.control


def _lag(lag: ActivationSpec, told: Any) -> SignalSpec:
    words = {key: getattr(lag, key) for key in type(lag).model_fields}
    return SignalSpec(filter=FilterSignal(input=told, **words))


_PARAMETERS = 4
_TURN = 2.0 * np.pi
# What p0 to p3 are, by kind (see `Signals`).
_READ = {
    "sine": lambda s: (s.amplitude, _TURN * s.frequency, s.phase, s.offset),
    "step": lambda s: (s.before, s.after, s.time, 0.0),
    "ramp": lambda s: (s.from_, s.to, s.start, s.end),
    "chirp": lambda s: (s.amplitude, s.f0, s.f1, s.duration),
}


def labels_of(name: str, signal) -> list[str]:
    """Rows of a signal in the table: its name, or `name:i` for each of several numbers."""
    n = len(signal.constant) if signal.constant is not None else 1
    return [name] if n == 1 else [f"{name}:{i}" for i in range(n)]


class _Pieces:
    """Cubics of the tables read so far."""

    def __init__(self):
        self.knots: list[Array] = []
        self.cubics: list[Array] = []

    def add(self, time: Array, value: Array, interpolate: str) -> int:
        """Add a table and return its number of pieces."""
        self.knots.append(np.concatenate((time[:1], time)))
        self.cubics.append(piecewise(time, value, interpolate))
        return len(self.knots[-1])


def read_signals(worlds: Worlds, folder: Path) -> Signals:
    """All signals.

    Args:
        worlds: the scenes; their faults are noted there.
        folder: of the scene; CSV files lie below it.

    Returns:
        The table.
    """
    names, kinds, parameters, sizes, pieces = [], [], [], [], _Pieces()
    for name, signal in signals_of(worlds.first).items():
        kind, rows = signal.kind, labels_of(name, signal)
        names += rows
        kinds += [SignalKind.FEEDBACK if signal.is_feedback else SignalKind[kind.upper()]] * len(rows)
        parameters += _parameters(worlds, name, kind, len(rows))
        sizes += [_read_table(worlds, name, folder, pieces)] if kind == "table" else [0] * len(rows)
    for name in crossing_names(worlds.first):
        names, kinds, sizes = [*names, name], [*kinds, SignalKind.FEEDBACK], [*sizes, 0]
        parameters.append(np.zeros((1, _PARAMETERS)))
    n_worlds = max((len(cubic) for cubic in pieces.cubics), default=1)
    cubics = [np.broadcast_to(cubic, (n_worlds, *cubic.shape[1:])) for cubic in pieces.cubics]
    return Signals(
        name=tuple(names),
        kind=np.array(kinds, np.int32),
        parameter=stack_worlds(parameters, (_PARAMETERS,)),
        piece_start=np.cumsum([0, *sizes]).astype(np.int32),
        knot=np.concatenate([np.zeros(0), *pieces.knots]),
        cubic=np.concatenate([np.zeros((n_worlds, 0, 4)), *cubics], axis=1),
    )


def _parameters(worlds: Worlds, name: str, kind: str, n_rows: int) -> list[Array]:
    """p0 to p3 of each row of a signal, (W|1, 4)."""
    if kind == "constant":
        values = worlds.numbers(lambda s: s.signals[name].constant, (n_rows,))
        return [np.pad(values[:, i : i + 1], ((0, 0), (0, _PARAMETERS - 1))) for i in range(n_rows)]
    if kind not in _READ:
        return [np.zeros((1, _PARAMETERS))]
    return [worlds.numbers(lambda s: _READ[kind](getattr(s.signals[name], kind)), (_PARAMETERS,))]


def _read_table(worlds: Worlds, name: str, folder: Path, pieces: _Pieces) -> int:
    """Add the table of a signal and return its number of pieces."""
    path, table = f"signals.{name}.table", worlds.first.signals[name].table
    worlds.common(lambda s: s.signals[name].table.time, f"{path}.time")
    if table.file is None:
        value = worlds.numbers(lambda s: s.signals[name].table.value, (len(table.time),))
        return pieces.add(np.array(table.time, float), value, table.interpolate)
    try:
        time, value, unit = read_csv(folder / table.file, table.column, table.time_column)
        factor = _factor(worlds, name, unit) if unit else 1.0
    except (CsvError, UnitError) as error:
        worlds.fault("SC471", f"{path}.{'file' if table.column is None else 'column'}", f"{table.file}: {error}", error.hint)
        return 0
    return pieces.add(time, factor * value[None], table.interpolate)


def _factor(worlds: Worlds, name: str, unit: str) -> float:
    """What a unit in the header of a column is in SI.

    Raises:
        UnitError: it is none, or not of what the signal drives.
    """
    factors = [to_si(f"1 {unit}", use.unit) for use in uses(worlds.first) if use.signal == name]
    return factors[0] if factors else parse_unit(unit)[0]


def piecewise(time: Array, value: Array, interpolate: str) -> Array:
    """Cubics of a table: constant before its first time and from its last one on.

    Args:
        time: [s], (n,), rising.
        value: (W|1, n).
        interpolate: previous, linear or cubic (the spline with not-a-knot ends).

    Returns:
        (W|1, n + 1, 4), c0 to c3 of the piece before the first time and of one from each time on.
    """
    cubic = np.zeros((len(value), len(time) + 1, 4))
    cubic[:, 0, 0], cubic[:, 1:, 0] = value[:, 0], value
    if interpolate == "previous" or len(time) == 1:
        return cubic
    derivatives = spline_derivatives(time, value.T, 3 if interpolate == "cubic" else 1)[1:, :-1]
    for order, found in enumerate(derivatives, start=1):
        cubic[:, 1:-1, order] = found.T / factorial(order)
    return cubic


def signal_values(signals: Signals, t: float) -> Array:
    """Signals at a time, with their rates; across a jump those that follow. Feedback, which is no function of time, gives 0.

    Args:
        signals: the table.
        t: [s].

    Returns:
        (W|1, K, 3): value, first and second derivative.
    """
    columns = [_one(signals, k, t) for k in range(len(signals.name))]
    return np.stack(np.broadcast_arrays(*columns), axis=1) if columns else np.zeros((1, 0, 3))


def _one(signals: Signals, k: int, t: float) -> Array:
    """(W|1, 3)."""
    p = signals.parameter[:, k].T
    none = np.zeros_like(p[0])
    kind = SignalKind(signals.kind[k])
    if kind == SignalKind.SINE:
        return _wave(p[0], p[1] * t + p[2], p[1], none) + np.stack((p[3], none, none), axis=-1)
    if kind == SignalKind.CHIRP:
        before, sweep = np.minimum(t, p[3]), _TURN * (p[2] - p[1]) / p[3]
        phase = _TURN * (p[1] * before + p[2] * (t - before)) + 0.5 * sweep * before**2
        going = t < p[3]
        return _wave(p[0], phase, _TURN * p[1] + sweep * before, np.where(going, sweep, 0.0))
    if kind == SignalKind.STEP:
        return np.stack((np.where(t >= p[2], p[1], p[0]), none, none), axis=-1)
    if kind == SignalKind.RAMP:
        rate = (p[1] - p[0]) / (p[3] - p[2])
        going = (t >= p[2]) & (t < p[3])
        inside = p[0] + rate * (np.clip(t, p[2], p[3]) - p[2])
        return np.stack((np.where(t >= p[3], p[1], inside), np.where(going, rate, 0.0), none), axis=-1)
    if kind == SignalKind.TABLE:
        first, end = signals.piece_start[k : k + 2]
        piece = first + int(np.searchsorted(signals.knot[first + 1 : end], t, side="right"))
        s, c = t - signals.knot[piece], signals.cubic[:, piece].T
        value = c[0] + s * (c[1] + s * (c[2] + s * c[3]))
        return np.stack((value, c[1] + s * (2.0 * c[2] + s * 3.0 * c[3]), 2.0 * c[2] + 6.0 * s * c[3]), axis=-1)
    return np.stack((p[0], none, none), axis=-1)


def _wave(amplitude: Array, phase: Array, rate: Array, acceleration: Array) -> Array:
    """A times the sine of a phase, and its two derivatives from those of the phase, (W|1, 3)."""
    sine, cosine = np.sin(phase), np.cos(phase)
    second = acceleration * cosine - rate**2 * sine
    return np.stack((amplitude * sine, amplitude * rate * cosine, amplitude * second), axis=-1)
