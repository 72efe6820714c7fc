"""/measures of a file: one group for each measure, with its values and times, made with the file and written at its end.

    /measures/NAME/value (W) or (W, n)      as the unit says; NaN in a world that never took a step of it
    /measures/NAME/time  (W) or (W, n) [s]  of an extreme or of a crossing, else of the last step that counted

A run that was killed leaves NaN there; one that goes on writes them when it ends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import h5py
import numpy as np

_GROUP = "measures"


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
    group["world"] = file["frames/world"]
    for layout in layouts:
        own = group.create_group(layout.name)
        for key in ("quantity", "reduction"):
            own.attrs[key] = getattr(layout, key)
        own.attrs["components"] = np.array(layout.labels, h5py.string_dtype())
        shape = (n_worlds, len(layout.labels)) if layout.labels else (n_worlds,)
        for name, unit, text in (("value", layout.unit, layout.text), ("time", "s", f"when: {layout.text}")):
            dataset = own.create_dataset(name, shape, "<f8", chunks=shape, fletcher32=True, fillvalue=np.nan)
            dataset.attrs["units"], dataset.attrs["long_name"] = unit, text
            dataset.dims[0].attach_scale(group["world"])


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
