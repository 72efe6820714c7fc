"""/measures and /error_estimate of a file: the groups that are filled when a run has ended.

    /measures/NAME/value (W) or (W, n)      as the unit says; NaN in a world that never took a step of it
    /measures/NAME/time  (W) or (W, n) [s]  of an extreme or of a crossing, else of the last step that counted

One group for each measure, made with the file and written at its end. A run that was killed leaves NaN there; one that goes
on writes them when it ends.

    /run/measures_digest (32) bytes         blake2b-256 of, for each measure in the order of the names as UTF-8 bytes, and of
                                            value, then time: NAME/value, one zero byte, type and shape, one zero byte, the
                                            bytes in C order, little endian; zeros until the measures are written

Files of before have no digest of them. What the length of the step does to each channel of each world is added when all runs
of an estimate have ended:

    /error_estimate/channel, unit (G)       quantities, as `joint.q`, one entry for each unit that they have
    /error_estimate/difference (W, G)       largest difference between the run and the one at half its step
    /error_estimate/finer_difference (W, G) the same between the runs at half and at a quarter of the step
    /error_estimate/order (W, G)            observed order of convergence, NaN where it cannot be seen
    /error_estimate/error (W, G)            estimate of the run's error, NaN where nobody can tell; of `rounding` a bound
    /error_estimate/time (W, G) [s], label (W, G), verdict (W, G)    of the largest difference; how far it can be trusted

The attributes `dt` and `integrator` are those of the run. No row of the run is touched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from simcli.records.contents.digest import seal_again
from simcli.records.contents.layout import annotate_dataset
from simcli.records.hdf5_bytes import FORMAT_BOUNDS
from simcli.records.lock import WriterLock

_GROUP = "measures"
DIGEST_PLACE = "run/measures_digest"  # not in the group, where it would be in the way of a name
_DIGEST_BYTES = 32


@dataclass(frozen=True)
class MeasureLayout:
    """What a file says of a measure.

    Attributes:
        name: of it.
        quantity: its name, as `joint.arm.q`.
        reduction: as `max_abs`.
        unit: of the values.
        text: one line in words.
        labels: of the components; () of a single number.
    """

    name: str
    quantity: str
    reduction: str
    unit: str
    text: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Measure:
    """A measure of a file.

    Attributes:
        layout: what it is.
        value: (W,) or (W, n), in `layout.unit`.
        time: [s], of the same shape.
    """

    layout: MeasureLayout
    value: np.ndarray
    time: np.ndarray

    def __repr__(self) -> str:
        return f"<measure {self.layout.name}: {self.layout.text} [{self.layout.unit or '1'}], worlds {len(self.value)}>"


def create_measures(file: h5py.File, layouts: Sequence[MeasureLayout], n_worlds: int) -> None:
    """Make the group, empty, before the file grows.

    Args:
        file: being made, with its scale /frames/world.
        layouts: of all measures.
        n_worlds: W.
    """
    if not layouts:
        return
    group = file.create_group(_GROUP, track_order=True)  # of the scene
    for layout in layouts:
        own = group.create_group(layout.name)
        own["world"] = file["frames/world"]  # beside the measures it would be in the way of one of that name
        for key in ("quantity", "reduction"):
            own.attrs[key] = getattr(layout, key)
        own.attrs["components"] = np.array(layout.labels, h5py.string_dtype())
        shape = (n_worlds, len(layout.labels)) if layout.labels else (n_worlds,)
        for name, unit, text in (("value", layout.unit, layout.text), ("time", "s", f"when: {layout.text}")):
            dataset = own.create_dataset(name, shape, "<f8", chunks=shape, fletcher32=True, fillvalue=np.nan)
            annotate_dataset(dataset, [own["world"]], unit, text)


def write_measures(file: h5py.File, rows: Mapping[str, slice], value: np.ndarray, time: np.ndarray) -> None:
    """Write all values, once, before the file is closed.

    Args:
        file: with the group of `create_measures`.
        rows: of each measure.
        value: (W, N), of all rows.
        time: [s], of the same shape.
    """
    for name, where in rows.items():
        for key, numbers in (("value", value), ("time", time)):
            dataset = file[_GROUP][name][key]
            dataset[...] = numbers[:, where].reshape(dataset.shape)
    if rows:
        file[DIGEST_PLACE][...] = np.frombuffer(_digest(file), np.uint8)


def create_measures_digest(file: h5py.File) -> None:
    """Make the place of the digest, before the file grows: nothing can be added to it then."""
    if _GROUP in file:
        dataset = file.create_dataset(DIGEST_PLACE, data=np.zeros(_DIGEST_BYTES, np.uint8))
        text = "blake2b over values and times of all measures, see simcli.records.contents.measures"
        annotate_dataset(dataset, [file["run/byte"]], text=text)


def are_measures_sound(file: h5py.File) -> bool:
    """Whether the measures are those of their digest; true as well if there is none, or the run has not written them."""
    if DIGEST_PLACE not in file:
        return True
    written = file[DIGEST_PLACE][...].tobytes()
    return not any(written) or written == _digest(file)


def _digest(file: h5py.File) -> bytes:
    whole = blake2b(digest_size=_DIGEST_BYTES)
    for name in sorted(read_measures(file), key=str.encode):
        for key in ("value", "time"):
            dataset = file[_GROUP][name][key]
            whole.update(f"{name}/{key}\0{dataset.dtype.str}{dataset.shape}\0".encode() + dataset[...].tobytes())
    return whole.digest()


def read_measures(file: h5py.File) -> dict[str, Measure]:
    """All measures of a file, by name."""
    found = {}
    for name, group in file.get(_GROUP, {}).items():
        if isinstance(group, h5py.Group):
            value = group["value"]
            layout = MeasureLayout(
                name,
                str(group.attrs["quantity"]),
                str(group.attrs["reduction"]),
                str(value.attrs["units"]),
                str(value.attrs["long_name"]),
                tuple(map(str, group.attrs["components"])),
            )
            found[name] = Measure(layout, value[...], group["time"][...])
    return found


_ESTIMATE_GROUP = "error_estimate"
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
            if _ESTIMATE_GROUP in file:
                del file[_ESTIMATE_GROUP]
            file[_ESTIMATE_GROUP] = group
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
    group = file.get(_ESTIMATE_GROUP)
    if group is None:
        return None
    facts: dict[str, Any] = {"dt": float(group.attrs["dt"]), "integrator": str(group.attrs["integrator"])}
    texts = {name: group[name].asstr()[...].astype(str) for name in _WORDS}
    return ErrorEstimate(**facts, **texts, **{name: group[name][...] for name in _columns() if name not in _WORDS})
