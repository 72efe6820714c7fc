"""The door for files that are not ours: whatever stands at a path, it opens checked or it is a FileError.

Not followed: soft and external links, external storage, virtual datasets, filters that are not built in. Not believed:
sizes beyond what the file can hold, types and shapes that differ from the layout. HDF5 itself follows all of these.
What counts of a file (status, committed frames, and the events, contacts and digest that go with them) is read here, too.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path

import h5py
import numpy as np

from simcli.errors import FileError, SimcliError
from simcli.records.contents.layout import CHANNELS as ALL_CHANNELS
from simcli.records.contents.layout import COMPONENTS, FORMAT, NAME_SCALES, STATUS_BYTES, STRETCH, Axes, selected
from simcli.records.contents.model_columns import COLUMNS, YOUNGER
from simcli.records.contents.select import CHUNK_MAX
from simcli.records.hdf5_bytes import FORMAT_BOUNDS, SIGNATURE, Unmarked, damaged_heap, is_marked, is_sound, read_superblock
from simcli.records.lock import is_being_written

_TRIES = 20  # far more than a writer takes to commit while some words are read


@dataclass(frozen=True)
class RunCounts:
    """The counters of /run at one moment.

    Attributes:
        status: as it stands there.
        n_frames: committed frames.
        slots: for each slot its frames, events and contacts, and its digest in hexadecimal.
    """

    status: str
    n_frames: int
    slots: tuple[tuple[int, int, int, str], ...]


def read_counts(file: h5py.File) -> RunCounts:
    """The counters of a file whose writer may commit at any moment.

    The status is read first: frames that a file counts as it ends are there for whoever reads `done`. The writer leaves
    the slot of its last commit alone until the next one counts, so the slots are sound if the count is still the same.
    """
    status = file["run/status"][()].decode(errors="replace")
    for _ in range(_TRIES):
        n_frames, slots = _word(file, "n_committed"), _slots(file)
        if _word(file, "n_committed") == n_frames:
            break
    return RunCounts(status, n_frames, slots)


def _word(file: h5py.File, name: str) -> int:
    """Opened anew: HDF5 keeps what it has read of a dataset for as long as that is open."""
    return int(file["run"][name][()])


def _slots(file: h5py.File) -> tuple[tuple[int, int, int, str], ...]:
    numbers = np.stack([file["run"][f"digest_{name}"][...] for name in ("frames", "events", "contacts")], axis=1)
    digests = [row.tobytes().hex() for row in file["run/digest"][...]]
    return tuple((*map(int, row), digest) for row, digest in zip(numbers, digests, strict=True))


MAX_OBJECTS = 100_000  # more links than any scene makes, few enough to look at each
MAX_EXPANSION = 1000  # declared bytes per stored byte: beyond it lies a decompression bomb
FREE_BYTES = 256 * 1024 * 1024  # of a dataset that may be declared without being stored (fill values)
INDEX_CACHE = 2 * 1024 * 1024  # [B]
READ_CACHE = 4 * CHUNK_MAX  # [B] of each dataset; HDF5's own is a function of its version, and up to 8 MB
AGAIN_S = 0.05  # until a growing file is read once more: longer than its writer takes for what it writes at once
MAX_CHUNK = 256 * 1024 * 1024  # [B] that one read allocates at once
FILTERS = {
    h5py.h5z.FILTER_DEFLATE: "deflate",
    h5py.h5z.FILTER_SHUFFLE: "shuffle",
    h5py.h5z.FILTER_FLETCHER32: "fletcher32",
    h5py.h5z.FILTER_LZF: "lzf",
}
RUN_TYPES = {
    "n_committed": "<i8",
    "wall_s": "<f8",
    "status": f"|S{STATUS_BYTES}",
    "digest": "|u1",
    "digest_frames": "<i8",
    "digest_events": "<i8",
    "digest_contacts": "<i8",
}


def open_checked(path: str | os.PathLike[str]) -> tuple[h5py.File, Axes, RunCounts]:
    """Open a file for reading and check that it is one of ours and does nothing but hold data.

    Returns:
        The open file, its axes and what counts of it. What counts is read first: a writer may commit at any moment, and
        what is opened afterwards has at least so many rows.

    Raises:
        FileError: it is missing, damaged, hostile or not made by simcli.
    """
    path = Path(path)
    if not is_being_written(path):
        return _open_once(path)
    try:
        return _open_once(path)
    except FileError:  # nothing is called damaged before a second look while a process writes the file
        time.sleep(AGAIN_S)
        return _open_once(path)


def _open_once(path: Path) -> tuple[h5py.File, Axes, RunCounts]:
    check_path(path)
    file = open_plainly(path)
    try:
        with reading(path):
            _check_format(file, path)
            _check_run(file, path)
            counts = read_counts(file)
            held = check_objects(file, path)
            axes = _axes(file)
            _check_layout(file, held, axes, counts.n_frames, path)
    except FileError:
        file.close()
        raise
    return file, axes, counts


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turns what HDF5 raises on damaged data into a FileError."""
    try:
        yield
    except SimcliError:
        raise
    except Exception as error:  # HDF5 raises nearly every type on damaged metadata
        raise FileError(f"{path}: is damaged: {_brief(error)}; `simcli check` lists the damage") from error


def check_path(path: Path) -> None:
    """Refuse by its outside what cannot be an HDF5 file."""
    try:
        if not path.exists():
            raise FileError(f"{path}: no such file")
        if path.is_dir():
            raise FileError(f"{path}: is a folder; name the .h5 file in it")
        if not path.is_file():
            raise FileError(f"{path}: is not a regular file")
        with path.open("rb") as stream:
            head = stream.read(len(SIGNATURE))
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not head:
        raise FileError(f"{path}: is empty; the run that made it wrote nothing, run the scene again")
    if head != SIGNATURE:
        raise FileError(f"{path}: is not an HDF5 file; give an output of `simcli run`")


def small(file: h5py.File) -> h5py.File:
    """A file, of whose index HDF5 keeps little: a run of millions of frames has an index that would fill its 32 MB."""
    config = file.id.get_mdc_config()
    config.set_initial_size, config.initial_size = True, INDEX_CACHE
    config.min_size, config.max_size = INDEX_CACHE // 2, INDEX_CACHE
    file.id.set_mdc_config(config)
    return file


def open_plainly(path: Path) -> h5py.File:
    """Open plainly; a marked file as a reader of a growing file if its writer lives, else without its mark."""
    _check_heaps(path)
    block = read_superblock(path)
    try:
        if not is_marked(block):
            return small(h5py.File(path, "r", rdcc_nbytes=READ_CACHE))
        if not is_sound(block):
            raise OSError("the checksum of its first block is wrong")
        if is_being_written(path):
            return small(h5py.File(path, "r", libver=FORMAT_BOUNDS, swmr=True, rdcc_nbytes=READ_CACHE))
        return small(h5py.File(Unmarked(path), "r", rdcc_nbytes=READ_CACHE))
    except Exception as error:
        if "unable to lock" in str(error):
            raise FileError(f"{path}: is locked by a program that writes it; close that first") from error
        raise FileError(
            f"{path}: is damaged or cut short and cannot be opened: {_brief(error)}; take a copy of it, or "
            "run the scene again"
        ) from error


def _check_heaps(path: Path) -> None:
    place = damaged_heap(path)
    if place is not None:
        raise FileError(
            f"{path}: is damaged: the texts at byte {place} do not add up; take a copy of it, or run the scene again"
        )


def _check_format(file: h5py.File, path: Path) -> None:
    version = file.attrs.get("simcli_format")
    if version is None and "simcli_result" in file.attrs:
        raise FileError(f"{path}: is a result of `simcli {file.attrs.get('kind')}`, not a run")
    if version is None:
        raise FileError(f"{path}: is an HDF5 file, but not one of simcli (it lacks the attribute simcli_format)")
    if np.shape(version) != (2,) or int(version[0]) > FORMAT[0] or int(version[0]) < 1:
        raise FileError(
            f"{path}: has format {np.ravel(version)[:2].tolist()}, this version reads up to {list(FORMAT)}; update simcli"
        )


def check_objects(file: h5py.File, path: Path, only: bytes | None = None) -> dict[str, h5py.h5d.DatasetID]:
    """Walk over all links without following any that lead out of the file.

    In HDF5's own words: h5py's objects take three times as long, and a file has some hundred things.

    Args:
        file: to walk over.
        path: of it, for messages.
        only: the one group of the first level that is looked at.

    Returns:
        datasets by their paths, `/model/mass`.
    """
    waiting, held, seen, n = [("", file.id)], {}, set(), 0
    while waiting:
        prefix, group = waiting.pop()
        for name in group if prefix or only is None else {only} & set(group):
            n += 1
            place = f"{prefix}/{name.decode(errors='replace')}"
            if n > MAX_OBJECTS:
                raise FileError(f"{path}: holds more than {MAX_OBJECTS} objects: not a file of simcli")
            link = group.links.get_info(name).type
            if link != h5py.h5l.TYPE_HARD:
                kind = "an external" if link == h5py.h5l.TYPE_EXTERNAL else "a soft"
                raise FileError(f"{path}: {place} is {kind} link; files with such links are refused")
            item = h5py.h5o.open(group, name)
            if isinstance(item, h5py.h5d.DatasetID):
                held[place] = item
            address = h5py.h5o.get_info(item).addr
            if address in seen:
                continue
            seen.add(address)
            if isinstance(item, h5py.h5g.GroupID):
                waiting.append((place, item))
            elif isinstance(item, h5py.h5d.DatasetID):
                _check_dataset(item, place, path)
            else:
                raise FileError(f"{path}: {place} is a named type; files of simcli have none")
    return held


def _check_dataset(dataset: h5py.h5d.DatasetID, place: str, path: Path) -> None:
    plist, shape = dataset.get_create_plist(), dataset.shape
    layout = plist.get_layout()
    if layout == h5py.h5d.VIRTUAL:
        raise FileError(f"{path}: {place} is a virtual dataset, which would read other files; refused")
    if plist.get_external_count():
        raise FileError(f"{path}: {place} keeps its data in another file; refused")
    codes = [plist.get_filter(k)[0] for k in range(plist.get_nfilters())]
    foreign = [code for code in codes if code not in FILTERS]
    if foreign:
        raise FileError(f"{path}: {place} uses the filter {foreign[0]}; only {', '.join(FILTERS.values())} are read")
    item = dataset.get_type().get_size()  # numpy's type takes ten times as long
    if shape is None:
        raise FileError(f"{path}: {place} has no shape")
    declared = item
    for length in shape:
        declared *= int(length)
    if declared > FREE_BYTES and declared > MAX_EXPANSION * (stored := _stored(dataset, path)):
        raise FileError(f"{path}: {place} declares {declared:.3g} bytes but stores {stored}; refused")
    if layout == h5py.h5d.CHUNKED and item * prod(float(length) for length in plist.get_chunk()) > MAX_CHUNK:
        raise FileError(f"{path}: {place} has chunks of more than {MAX_CHUNK} bytes; refused")


def _stored(dataset: h5py.h5d.DatasetID, path: Path) -> int:
    """Bytes that a dataset takes in its file, at most."""
    try:
        return dataset.get_storage_size()
    except RuntimeError:  # a killed process had begun chunks behind the end that the file knows
        return path.stat().st_size


def names(dataset: h5py.Dataset) -> tuple[str, ...]:
    """Text of a name scale."""
    return tuple(dataset.asstr()[...])


def _axes(file: h5py.File) -> Axes:
    held = {axis: name for axis, name in NAME_SCALES.items() if axis not in YOUNGER or name in file["model"]}
    label = {**dict.fromkeys(YOUNGER, ()), **{axis: names(file["model"][name]) for axis, name in held.items()}}
    label["P"] = names(file["params/name"])
    label["D"] = STRETCH if label["D"] else ()
    unit = names(file["model/quantity_unit"]) if label["Y"] else ()
    return Axes(len(file["frames/world"]), {**label, **COMPONENTS}, quantity_unit=unit)


def _check_run(file: h5py.File, path: Path) -> None:
    """Types and shapes of the counters, alone: they are read before the rest of the file is opened."""
    held = check_objects(file, path, b"run")
    for name, expected in RUN_TYPES.items():
        dataset = _found(held, f"/run/{name}", path)
        shape = (2, 32) if name == "digest" else (2,) if name.startswith("digest") else ()
        if dataset.dtype != np.dtype(expected) or dataset.shape != shape:
            raise FileError(f"{path}: /run/{name} has type {dataset.dtype}, shape {dataset.shape}; refused")


def _check_layout(file: h5py.File, held: dict[str, h5py.h5d.DatasetID], axes: Axes, n: int, path: Path) -> None:
    """Types, ranks and shapes of everything that a reader takes by name; of `n` committed frames."""
    frames = _found(held, "/frames/time", path).shape[0]
    if not 0 <= n <= frames:
        raise FileError(f"{path}: /run/n_committed is {n}, but there are {frames} frames; the file is damaged")
    for row in selected(axes, ALL_CHANNELS):
        if (row.channel != "always" or row.is_younger) and f"/{row.path}" not in held:
            continue
        dataset = _found(held, f"/{row.path}", path)
        kinds = [row.dtype("f8"), row.dtype("f4")] if row.kind == "float" else [row.dtype("f8")]
        if dataset.dtype not in kinds:
            raise FileError(f"{path}: /{row.path} has type {dataset.dtype}, not {kinds[0]}; refused")
        if dataset.rank != len(row.axes) or dataset.shape[1:] != axes.tail(row):
            raise FileError(f"{path}: /{row.path} has shape {dataset.shape}, not (n, *{axes.tail(row)}); refused")
        if row.by_frame and dataset.shape[0] < n:
            raise FileError(f"{path}: /{row.path} has {dataset.shape[0]} frames of {n} committed; the file is damaged")
    _check_model(file, held, axes, path)


def _found(held: dict[str, h5py.h5d.DatasetID], place: str, path: Path) -> h5py.h5d.DatasetID:
    if place not in held:
        raise FileError(f"{path}: lacks {place}; the file is damaged")
    return held[place]


def _check_model(file: h5py.File, held: dict[str, h5py.h5d.DatasetID], axes: Axes, path: Path) -> None:
    for column in COLUMNS:
        if column.is_younger and f"/model/{column.name}" not in held:
            continue
        dataset = _found(held, f"/model/{column.name}", path)
        sizes = [axes.size(axis) if axis in axes.label else None for axis in column.axes]
        fits = dataset.rank == len(sizes)
        fits = fits and all(a in (None, b) for a, b in zip(sizes, dataset.shape, strict=True))
        if not fits or dataset.dtype.kind not in "iuf":
            raise FileError(f"{path}: /model/{column.name} has type {dataset.dtype}, shape {dataset.shape}; refused")
    for name, count in (("q_start", len(axes.label["NQ"])), ("qd_start", len(axes.label["NV"]))):
        start = file["model"][name][...]
        if len(start) != axes.size("J") + 1 or start[0] != 0 or start[-1] != count or (np.diff(start) < 0).any():
            raise FileError(f"{path}: /model/{name} is not a list of rising offsets up to {count}; refused")


def _brief(error: Exception) -> str:
    text = str(error).strip("'\"") or type(error).__name__
    return text.splitlines()[0][:200]
