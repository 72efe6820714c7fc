"""/error_estimate of a file: what the length of the step does to each channel of each world, added when all runs have ended.

    /error_estimate/channel, unit (G)       quantities, as `joint.q`, one entry for each unit that they have
    /error_estimate/difference (W, G)       largest difference between the run and the one at half its step
    /error_estimate/finer_difference (W, G) the same between the runs at half and at a quarter of the step
    /error_estimate/order (W, G)            observed order of convergence, NaN where it cannot be seen
    /error_estimate/error (W, G)            estimate of the run's error, NaN where nobody can tell; of `rounding` a bound
    /error_estimate/time (W, G) [s], label (W, G), verdict (W, G)    of the largest difference; how far it can be trusted

The attributes `dt` and `integrator` are those of the run. No row of the run is touched.
"""

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from simcli.records.contents.seal import seal_again
from simcli.records.integrity.superblock import FORMAT_BOUNDS
from simcli.records.resume.lock import WriterLock

_GROUP = "error_estimate"
_WORDS = ("channel", "unit", "label", "verdict")  # texts of fixed length: such of any length grow a heap
_UNITS = {"order": "1", "time": "s"}  # of the others that of the channel


class EstimateVerdict(StrEnum):
    """What an estimate is worth."""

    GOOD = "good"  # the differences shrink as those of an order do
    ROUNDING = "rounding"  # the differences are as small as rounding: `error` is a bound, no smaller step helps
    IMPACTS = "impacts"  # shapes may touch or a hard limit may be met: errors follow no order
    IRREGULAR = "irregular"  # the differences follow no order: the step is too long, or the motion bends or is chaotic
    SHORT = "short"  # the world ended before its second frame
    FAILED = "failed"  # the world failed, with one of the steps at least

    @property
    def has_error(self) -> bool:
        """True if there is a number."""
        return self in (EstimateVerdict.GOOD, EstimateVerdict.ROUNDING)


@dataclass(frozen=True)
class ErrorEstimate:
    """What the length of the step does to each channel of each world.

    Attributes:
        dt: [s], of the run.
        integrator: of the run.
        channel: quantities, (G,).
        unit: of each, (G,).
        difference: (W, G), to the run at half the step: largest over frames and components.
        finer_difference: (W, G), of that one to the run at a quarter of the step.
        order: (W, G), observed; NaN where it cannot be seen.
        error: (W, G), of the run; NaN where nobody can tell.
        time: [s], (W, G), of the largest difference.
        label: (W, G), component where it is largest, as `joint.pin.q`.
        verdict: (W, G), values of `EstimateVerdict`.
    """

    dt: float
    integrator: str
    channel: np.ndarray
    unit: np.ndarray
    difference: np.ndarray
    finer_difference: np.ndarray
    order: np.ndarray
    error: np.ndarray
    time: np.ndarray
    label: np.ndarray
    verdict: np.ndarray


ATTRIBUTES = ("dt", "integrator")


def add_error_estimate(path: Path, found: ErrorEstimate) -> None:
    """Add an estimate to the file of a run that has ended, in place of an earlier one.

    Raises:
        OutputError: somebody else writes the file.
        OSError: it cannot be written.
    """
    lock = WriterLock(path)
    try:
        with h5py.File(path, "r+", libver=FORMAT_BOUNDS) as file:
            group = file.create_group(None)  # without a name until it is whole
            for name in ATTRIBUTES:
                group.attrs[name] = getattr(found, name)
            group["world"] = file["frames/world"]
            for name in _columns():
                _write(group, name, getattr(found, name))
            if _GROUP in file:
                del file[_GROUP]
            file[_GROUP] = group
            seal_again(file)
    finally:
        lock.release()


def _write(group: h5py.Group, name: str, values: np.ndarray) -> None:
    if name in _WORDS:
        texts = np.char.encode(values.astype(str), "utf-8")
        kind = h5py.string_dtype("utf-8", max(texts.dtype.itemsize, 1))
        dataset = group.create_dataset(name, data=texts.astype(kind), dtype=kind)
    else:
        dataset = group.create_dataset(name, data=np.asarray(values, "<f8"))
        dataset.attrs["units"] = _UNITS.get(name, "mixed")
    if values.ndim > 1:
        dataset.dims[0].attach_scale(group["world"])


def _columns() -> list[str]:
    return [field.name for field in fields(ErrorEstimate) if field.name not in ATTRIBUTES]


def read_error_estimate(file: h5py.File) -> ErrorEstimate | None:
    """The estimate of a file, None if it has none."""
    group = file.get(_GROUP)
    if group is None:
        return None
    facts: dict[str, Any] = {"dt": float(group.attrs["dt"]), "integrator": str(group.attrs["integrator"])}
    texts = {name: group[name].asstr()[...].astype(str) for name in _WORDS}
    return ErrorEstimate(**facts, **texts, **{name: group[name][...] for name in _columns() if name not in _WORDS})
