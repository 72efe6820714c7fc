"""What "the same bytes" means: the digest over the committed rows, and the seal over everything else.

For every dataset of /frames, /energy, /diag, /contacts and /events that grows with the run, the bytes of its committed
rows in C order, little endian, as they stand in the file (fixed-length strings with their padding), are hashed:

    H(dataset) = blake2b-256(rows [0 : n])     n: n_committed; of /contacts/offset n_committed * W + 1;
                                               of the other ragged tables the rows up to that frame
    digest     = blake2b-256 of, for each dataset in the order of their paths as UTF-8 bytes:
                 path, one zero byte, H(dataset)

The scales (/frames/world, names) are not in it: they do not depend on what was computed. Chunk shapes, commits and
blocks do not enter, so the same run cut in other blocks has the same digest; float32 and float64 files differ.

What /run itself says, as the status and the wall time, is under a digest of its own, /run/counters_digest: blake2b-256 of,
for each dataset of /run in the order of the names, but for scales and for those called .._digest, name, one zero byte, type
and shape, one zero byte, the bytes. It is written last of all; zeros, or none in files of before, say nothing.

Texts, units and structure, which no digest of numbers covers, have the seal:

    seal = blake2b-256 of, for each group and dataset in the order of their paths: its path, its kind, the type, shape and
           that of a row of a dataset that grows, its attributes, and what it holds, if that was written once

What grows (its length and rows), the counters of /run and the values of measures change after a file has been made, and
have digests or checksums of their own; /model and /params have `static_digest`. Of them all the seal has types and
attributes. How a file is stored is not under the seal: chunks, filters, and how far a dataset may grow are other ones in a
file that h5repack has packed, and it holds the same.
The seal depends on uuid, dates and the command line, so it is no part of what "the same bytes" means. A reference, or a
further link, counts as the first path of what it leads to: HDF5 reports one of the names of an object with several, which
changes with what was opened before.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import blake2b

import h5py
import numpy as np

from simcli.engines import cores

COUNTERS = "counters_digest"  # in /run
_OWN = "_digest"  # how datasets are called that say something of others
_SIZE = 32  # [B]
_MOST_THREADS = 4
_CORES_OF_A_THREAD = 4  # a run needs the others
_WORTH_A_THREAD = 1 << 16  # [B]


class Digest:
    """Running digest of one file's committed rows.

    Where there are cores enough, threads hash the rows of several datasets side by side, while others are written or read:
    of what the writer of a file does, hashing takes more than half.

    Args:
        paths: of the datasets.
        n_threads: 0 for none beside the caller's; None: one for every four cores, four at most.
    """

    def __init__(self, paths: Iterable[str], n_threads: int | None = None):
        self._hashes = {path: blake2b(digest_size=_SIZE) for path in sorted(paths, key=str.encode)}
        n_threads = min(cores() // _CORES_OF_A_THREAD, _MOST_THREADS) if n_threads is None else n_threads
        self._pool = ThreadPoolExecutor(n_threads) if n_threads else None
        self._hashing: dict[str, Future] = {}

    def add(self, path: str, rows: np.ndarray) -> None:
        """Append rows of one dataset: C-contiguous, in the type of the file. They must stay as they are until `value`."""
        if not rows.nbytes:
            return
        self._await(path)
        update, rows = self._hashes[path].update, memoryview(rows.view(np.uint8).reshape(-1))
        if self._pool and len(rows) >= _WORTH_A_THREAD:
            self._hashing[path] = self._pool.submit(update, rows)
        else:
            update(rows)

    def value(self) -> bytes:
        """Digest of everything so far."""
        whole = blake2b(digest_size=_SIZE)
        for path, part in self._hashes.items():
            self._await(path)
            whole.update(path.encode() + b"\0" + part.digest())
        return whole.digest()

    def _await(self, path: str) -> None:
        """Let what was appended to a dataset be hashed to its end: rows count in their order."""
        if path in self._hashing:
            self._hashing.pop(path).result()


def static_digest(file: h5py.File) -> str:
    """Digest of /model and /params: path, type, shape and content of every dataset, in the order of the paths."""
    whole = blake2b(digest_size=_SIZE)
    for name in ("model", "params"):
        for path in sorted(file[name], key=str.encode):
            dataset = file[name][path]
            whole.update(f"{name}/{path}\0{dataset.dtype.str}{dataset.shape}\0".encode())
            whole.update(_content(dataset))
    return whole.hexdigest()


def close_counters(run: h5py.Group) -> None:
    """Write the digest of what /run says, as the last thing of a run."""
    run[COUNTERS][...] = np.frombuffer(_counters(run), np.uint8)


def are_counters_sound(run: h5py.Group) -> bool:
    """Whether /run says what it did as its run ended; true as well where that has not been written."""
    written = run[COUNTERS][...].tobytes() if COUNTERS in run else b""
    return not any(written) or written == _counters(run)


def _counters(run: h5py.Group) -> bytes:
    whole = blake2b(digest_size=_SIZE)
    for name in sorted(run, key=str.encode):
        if not name.endswith(_OWN) and not run[name].is_scale:  # which are only a length
            whole.update(f"{name}\0{run[name].dtype.str}{run[name].shape}\0".encode() + np.asarray(run[name][()]).tobytes())
    return whole.digest()


def _content(dataset: h5py.Dataset) -> bytes:
    if h5py.check_string_dtype(dataset.dtype):
        return b"\0".join(text.encode() for text in dataset.asstr()[...])
    return np.ascontiguousarray(dataset[...]).tobytes()


_PLACE, _NAME = "provenance", "seal"  # an attribute
_SEAL_SIZE = 32  # [B]
_GROWING = ("frames", "energy", "diag", "contacts", "events")  # groups with datasets that grow
_LATER = (*_GROWING, "run", "measures", "model", "params")  # groups whose numbers the seal leaves to others
_BACK = "REFERENCE_LIST"  # attribute of a scale: who uses it, in an order that means nothing


def seal(file: h5py.File) -> None:
    """Seal a file that has been made, or that has just been given something more."""
    file[_PLACE].attrs[_NAME] = _seal_of(file)


def seal_again(file: h5py.File) -> None:
    """Seal a file anew if it was sealed; older ones are not."""
    if _NAME in file[_PLACE].attrs:
        seal(file)


def is_as_sealed(file: h5py.File) -> bool:
    """Whether texts, units and structure are those that were sealed; files of before the seal are taken as they are."""
    found = file[_PLACE].attrs.get(_NAME)
    return found is None or found == _seal_of(file)


def _seal_of(file: h5py.File) -> str:
    whole, objects = blake2b(digest_size=_SEAL_SIZE), list(_objects(file, "", set()))
    first: dict = {}
    for path, one in objects:
        first.setdefault(_address(one.id), path)

    def leads_to(reference: h5py.Reference) -> str:
        return first.get(_address(h5py.h5r.dereference(reference, file.id)), "")

    for path, one in objects:
        main = first[_address(one.id)]
        whole.update(f"{path}\0{main}\0".encode())
        if main != path:  # another link to what has been looked at
            continue
        whole.update(type(one).__name__.encode())
        attributes = one.attrs
        for name in sorted(attributes):
            if (path, name) != (_PLACE, _NAME):
                held = _bytes_of(attributes[name], leads_to) if name != _BACK else _users(attributes[name], leads_to)
                whole.update(f"{name}\0".encode() + held + b"\0")
        if isinstance(one, h5py.Dataset):
            group, shape = path.split("/")[0], one.shape
            whole.update(f"{one.dtype.str}{shape[1:] if shape and group in _GROWING else shape}\0".encode())
            if shape is not None and group not in _LATER:
                whole.update(_bytes_of(one[()], leads_to))
    return whole.hexdigest()


def _objects(group: h5py.Group, path: str, met: set[int]) -> Iterator[tuple[str, h5py.Group | h5py.Dataset]]:
    """A group and all below it, by their paths; what several links lead to comes as often, but what is below it once."""
    yield path, group
    address = _address(group.id)
    if address in met:
        return
    met.add(address)
    for name in sorted(group):
        one, below = group[name], f"{path}/{name}" if path else name
        if isinstance(one, h5py.Group):
            yield from _objects(one, below, met)
        else:
            yield below, one


def _address(id: h5py.h5g.GroupID | h5py.h5d.DatasetID) -> int:
    return h5py.h5o.get_info(id).addr


def _users(entries: np.ndarray, leads_to: Callable[[h5py.Reference], str]) -> bytes:
    """Who uses a scale, in the order of the paths."""
    return repr(sorted((leads_to(dataset), int(axis)) for dataset, axis in entries)).encode()


def _bytes_of(value, leads_to: Callable[[h5py.Reference], str]) -> bytes:
    """A value as h5py gives it: of texts their UTF-8, of references the paths that they lead to."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, bytes):
        return value
    if isinstance(value, h5py.Reference):
        return leads_to(value).encode() if value else b"none"
    array = np.asarray(value)
    if array.dtype.names:
        return b"\0".join(_bytes_of(array[name], leads_to) for name in array.dtype.names)
    if array.dtype == object:
        return b"\0".join(_bytes_of(one, leads_to) for one in array.reshape(-1))
    return f"{array.dtype.str}{array.shape}".encode() + array.tobytes()
