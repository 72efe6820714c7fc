"""Activations of drives: lags of their targets, as signals of their own behind those of the scene."""

from collections.abc import Iterator, Mapping

from simcli.spec.schema.joint import DriveSpec
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.signals.laws import FilterSignal
from simcli.spec.signals.signal import SignalSpec


def activation_name(owner: str, k: int) -> str:
    """Name of the signal that is the activation of a drive.

    Args:
        owner: path of what has the drive, as `joints.pin`.
        k: which of its drives.
    """
    return f"{owner}.drive" + (f"[{k}]" if k else "")


def signals_of(spec: SceneSpec) -> Mapping[str, SignalSpec]:
    """The signals of a scene, and the activations of its drives."""
    lags = {name: _lag(drive) for name, drive in _drives(spec) if drive is not None and drive.activation is not None}
    return {**spec.signals, **lags} if lags else spec.signals


def _drives(spec: SceneSpec) -> Iterator[tuple[str, DriveSpec | None]]:
    for name, joint in spec.joints.items():
        for k, drive in enumerate(joint.drive or ()):
            yield activation_name(f"joints.{name}", k), drive
    for name, force in spec.forces.items():
        if getattr(force, "drive", None) is not None:
            yield activation_name(f"forces.{name}", 0), force.drive


def _lag(drive: DriveSpec) -> SignalSpec:
    lag = drive.activation
    return SignalSpec(filter=FilterSignal(input=drive.target, time_constant=lag.time_constant, initial=lag.initial,
                                          method=lag.method))  # fmt: skip
