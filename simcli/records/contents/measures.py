"""/measures of a file: one group for each measure, with its values and times, made with the file and written at its end.

    /measures/NAME/value (W) or (W, n)      as the unit says; NaN in a world that never took a step of it
    /measures/NAME/time  (W) or (W, n) [s]  of an extreme or of a crossing, else of the last step that counted

A run that was killed leaves NaN there; one that goes on writes them when it ends.

    /run/measures_digest (32) bytes         blake2b-256 of, for each measure in the order of the names as UTF-8 bytes, and of
                                            value, then time: NAME/value, one zero byte, type and shape, one zero byte, the
                                            bytes in C order, little endian; zeros until the measures are written

Files of before have no digest of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import h5py
import numpy as np

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
            dataset.attrs["units"], dataset.attrs["long_name"] = unit, text
            dataset.dims[0].attach_scale(own["world"])


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
        dataset.attrs["long_name"] = "blake2b over values and times of all measures, see simcli.records.contents.measures"
        dataset.dims[0].attach_scale(file["run/byte"])


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
            layout = MeasureLayout(name, str(group.attrs["quantity"]), str(group.attrs["reduction"]),
                                   str(value.attrs["units"]), str(value.attrs["long_name"]),
                                   tuple(map(str, group.attrs["components"])))  # fmt: skip
            found[name] = Measure(layout, value[...], group["time"][...])
    return found
