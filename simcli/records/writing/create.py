"""The whole file, before the first frame: groups, datasets, scales, model, parameters, provenance.

Nothing is created once the file grows (SWMR forbids it). Checksums per chunk (fletcher32) are on wherever a chunk is
written once. The ragged tables (/events, /contacts) and /run go without: there a committed row shares its chunk with
later ones, and a writer killed while it rewrites the chunk leaves the committed bytes as they were but not the
checksum. The digest covers them.
"""

from collections.abc import Sequence
from math import prod
from uuid import uuid4

import h5py
import numpy as np

from simcli.records.contents.digest import COUNTERS, seal, static_digest
from simcli.records.contents.layout import (
    BARE_SCALES,
    COMPONENTS,
    CONVENTIONS,
    FORMAT,
    NAME_SCALES,
    SCALES,
    STATUS_BYTES,
    Axes,
    Dataset,
    annotate_dataset,
)
from simcli.records.contents.measures import MeasureLayout, create_measures, create_measures_digest
from simcli.records.contents.model_columns import BARE_AXES, COLUMNS, LABELS, WorldTables
from simcli.records.contents.provenance import Provenance, write_provenance
from simcli.records.contents.select import MAX_FRAMES, GrowingRows, chunk_shape
from simcli.records.hdf5_bytes import FORMAT_BOUNDS, Backing
from simcli.records.reading.guard import small

_ALIGNMENT = 8  # [B] counters never straddle a page, so that a killed writer cannot leave half of one
CHUNK_CACHE = 0  # [B] whole chunks are written once: to keep them costs a copy (measured: 2.1 s per GB with, 1.2 without)
# For long runs: HDF5's own way keeps some 300 B of memory for each gap between chunks until the file is closed. This one
# fills no gap, which costs a file 90 kB.
GAPS_OF_LONG = "none"
STATIC_CHUNK = 1024 * 1024  # [B]
# Marker of the netCDF-4 convention for a scale that is only a length.
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable.%10d"
_TEXT = h5py.string_dtype()
DIGEST_SLOTS = 2  # one describes the commit that n_committed counts, the other the one under way


def create_file(
    target: str | Backing,
    tables: WorldTables,
    growing: GrowingRows,
    provenance: Provenance,
    title: str,
    uuid: str = "",
    measures: Sequence[MeasureLayout] = (),
    is_watched: bool = True,
) -> h5py.File:
    """Make the file with everything in it, zero frames long.

    Args:
        target: name of the file, or the file.
        tables: what is simulated.
        growing: datasets that grow.
        provenance: where the file comes from.
        title: of the file.
        uuid: its name, a new one if left out.
        measures: that are written at its end.
        is_watched: others may read it while it grows (SWMR mode).

    Raises:
        OSError: it cannot be written.
    """
    file = h5py.File(
        target,
        "w",
        libver=FORMAT_BOUNDS,
        alignment_threshold=_ALIGNMENT,
        alignment_interval=_ALIGNMENT,
        rdcc_nbytes=CHUNK_CACHE,
        fs_strategy=GAPS_OF_LONG if growing.grain >= MAX_FRAMES else None,
    )
    small(file)
    try:
        _fill(file, tables, growing, provenance, title, uuid, measures)
    except Exception:  # of any type, where HDF5 stumbles over what was not written
        if isinstance(target, Backing):  # a file on disk that cannot be written crashes as it is closed
            file.close()
        raise
    if is_watched:
        file.swmr_mode = True
    return file


def _fill(
    file: h5py.File,
    tables: WorldTables,
    growing: GrowingRows,
    provenance: Provenance,
    title: str,
    uuid: str,
    measures: Sequence[MeasureLayout],
) -> None:
    """Everything that is in a file before its first frame; arguments as of `create_file`."""
    axes = growing.axes
    file.attrs["simcli_format"] = np.array(FORMAT, np.int32)
    file.attrs["uuid"] = uuid or str(uuid4())
    file.attrs["title"] = title
    file.attrs["conventions"] = CONVENTIONS
    write_provenance(file.create_group("provenance"), provenance)
    _write_scales(file, axes)
    _write_model(file, tables)
    _write_quantities(file, axes)
    _write_params(file, tables, axes)
    for row in growing.rows:
        _create_growing(file, row, growing)
    create_measures(file, measures, axes.n_worlds)
    _create_run(file, growing.grain)
    create_measures_digest(file)
    file["provenance"].attrs["static_digest"] = static_digest(file)
    seal(file)


def _write_scales(file: h5py.File, axes: Axes) -> None:
    """Master copies of the shared scales; groups that use one get a hard link of the same name."""
    model, frames = file.create_group("model"), file.create_group("frames")
    labels = {SCALES.get(axis, axis): names for axis, names in axes.label.items() if axis != "P"}
    for name, values in {**labels, **COMPONENTS, **LABELS}.items():
        _scale(model, name, np.array(values, object), _TEXT)
    world = _scale(frames, "world", np.arange(axes.n_worlds, dtype=np.int64))
    model["world"] = world
    if axes.n_worlds > 1:
        _bare_scale(model, "shared", 1)
    for path, axis in (("contacts", "C"), ("contacts", "offset"), ("events", "E")):
        _bare_scale(file.require_group(path), BARE_SCALES[axis], 0, growing=True)


def _scale(group: h5py.Group, name: str, values: np.ndarray, dtype: object = None) -> h5py.Dataset:
    dataset = group.create_dataset(name, data=values, dtype=dtype or values.dtype, **_room_for_none(values.shape))
    dataset.make_scale(name)
    return dataset


def _bare_scale(group: h5py.Group, name: str, size: int, growing: bool = False) -> h5py.Dataset:
    """A scale that is only a length: its data are never written, so it takes no space."""
    options = {"maxshape": (None,), "chunks": (4096,)} if growing else _room_for_none((size,))
    dataset = group.create_dataset(name, shape=(size,), dtype="<f4", **options)
    dataset.make_scale(NO_VARIABLE % size)
    return dataset


def _linked(file: h5py.File, group: str, name: str, home: str) -> h5py.Dataset:
    """The scale `name` as a member of `group`, hard-linked from its home if it is not there yet."""
    place = file.require_group(group)
    if name not in place:
        place[name] = file[home][name]
    return place[name]


def _attach(file: h5py.File, dataset: h5py.Dataset, axes: Sequence[str], group: str) -> None:
    for k, axis in enumerate(axes):
        if axis in BARE_SCALES:
            scale = file[group][BARE_SCALES[axis]]
        else:
            scale = _linked(file, group, SCALES[axis], "frames" if axis in "FW" else "model")
        if scale != dataset:  # time is its own scale
            dataset.dims[k].attach_scale(scale)


def _create_growing(file: h5py.File, row: Dataset, growing: GrowingRows) -> None:
    group = row.path.split("/")[0]
    dtype = row.dtype(growing.float_type)
    shape = (0, *growing.axes.tail(row))
    chunks = chunk_shape(row, growing.axes, growing.float_type, growing.grain)
    dataset = file.create_dataset(
        row.path,
        shape,
        dtype if dtype.kind != "S" else h5py.string_dtype("utf-8", dtype.itemsize),
        maxshape=(None, *shape[1:]),
        chunks=chunks,
        fletcher32=row.by_frame,
        fillvalue=row.fill if dtype.kind != "S" else None,
    )
    annotate_dataset(dataset, (), row.unit, row.text)
    if row.path == "frames/time":
        dataset.make_scale("time")
    _attach(file, dataset, row.axes, group)


def _write_model(file: h5py.File, tables: WorldTables) -> None:
    group = file["model"]
    for column in COLUMNS:
        array = tables.columns[column.name]
        scales = (_model_scale(group, axis, size) for axis, size in zip(column.axes, array.shape, strict=True))
        annotate_dataset(_static(group, column.name, array), scales, column.unit)
    for name, kept in tables.units.items():
        axis = "NQ" if name == "q_unit" else "NV"
        annotate_dataset(_words(group, name, kept), [group[NAME_SCALES[axis]]])


def _write_quantities(file: h5py.File, axes: Axes) -> None:
    """Units of what `output.quantities` names."""
    if axes.label["Y"]:
        annotate_dataset(_words(file["model"], "quantity_unit", axes.quantity_unit), [file["model"][NAME_SCALES["Y"]]])


def _model_scale(group: h5py.Group, axis: str, size: int) -> h5py.Dataset:
    if axis in BARE_AXES:
        name = BARE_AXES[axis]
        return group[name] if name in group else _bare_scale(group, name, size)
    if axis == "W|1":
        return group["world" if size == len(group["world"]) else "shared"]
    return group[NAME_SCALES.get(axis, axis)]


def _static(group: h5py.Group, name: str, array: np.ndarray) -> h5py.Dataset:
    """An array that never grows, with checksums unless it is empty."""
    options = _room_for_none(array.shape)
    if array.size and array.ndim:
        row = array.itemsize * prod(array.shape[1:])
        options = {"chunks": (min(len(array), max(1, STATIC_CHUNK // row)), *array.shape[1:]), "fletcher32": True}
    return group.create_dataset(name, data=array, **options)


def _words(group: h5py.Group, name: str, words: Sequence[str]) -> h5py.Dataset:
    return group.create_dataset(name, data=np.array(words, object), dtype=_TEXT, **_room_for_none((len(words),)))


def _room_for_none(shape: Sequence[int]) -> dict:
    """Options of a dataset that holds nothing: in chunks, because h5repack packs no others that are empty."""
    if 0 not in shape:
        return {}
    return {"chunks": tuple(max(n, 1) for n in shape), "maxshape": tuple(n or None for n in shape)}


def _write_params(file: h5py.File, tables: WorldTables, axes: Axes) -> None:
    group = file.create_group("params")
    name = _scale(group, "name", np.array(axes.label["P"], object), _TEXT)
    world = _linked(file, "params", "world", "frames")
    annotate_dataset(_static(group, "value", np.ascontiguousarray(tables.param_value, float)), [world, name])
    annotate_dataset(_words(group, "unit", tables.param_unit), [name])
    annotate_dataset(_static(group, "seed", np.asarray(tables.world_seed, np.uint64)), [world])


def _create_run(file: h5py.File, grain: int) -> None:
    """Counters as scalars: contiguous, so that writing one is one write of one word.

    /run/digest has two slots. A commit fills the slot that the counter does not point to, then moves the counter: at
    any moment the slot whose `digest_frames` equals n_committed describes exactly the committed rows.
    """
    group = file.create_group("run")
    group.attrs["frames_per_commit"] = grain
    for name, value, text in (
        ("n_committed", np.int64(0), "frames that are whole; written last in each commit"),
        ("wall_s", np.float64(0), "wall time of the run so far"),
    ):
        annotate_dataset(group.create_dataset(name, data=value), text=text)
    annotate_dataset(group["wall_s"], unit="s")
    status = group.create_dataset("status", data=np.bytes_(b"running"), dtype=h5py.string_dtype("ascii", STATUS_BYTES))
    annotate_dataset(status, text="running, done, stopped or failed")
    slot = _bare_scale(group, "slot", DIGEST_SLOTS)
    byte = _bare_scale(group, "byte", 32)
    for name, text in (
        ("digest_frames", "n_committed that this slot describes"),
        ("digest_events", "events up to that frame"),
        ("digest_contacts", "contacts up to that frame"),
    ):
        annotate_dataset(group.create_dataset(name, data=np.full(DIGEST_SLOTS, -1, np.int64)), [slot], text=text)
    for name, shape, scales, text in (
        ("digest", (DIGEST_SLOTS, 32), [slot, byte], "the committed rows"),
        (COUNTERS, (32,), [byte], "what else is here as the run ends"),
    ):
        text = f"blake2b over {text}, see simcli.records.contents.digest"
        annotate_dataset(group.create_dataset(name, data=np.zeros(shape, np.uint8)), scales, text=text)
