"""The second seal of a file: texts, units and structure, which no digest of numbers covers.

    seal = blake2b-256 of, for each group and dataset in the order of their paths: its path, its kind, the type, shape and
           that of a row of a dataset that grows, its attributes, and what it holds, if that was written once

What grows (its length and rows), the counters of /run and the values of measures change after a file has been made, and have
digests or checksums of their own; /model and /params have `static_digest`. Of them all the seal has types and attributes.
How a file is stored is not under the seal: chunks, filters, and how far a dataset may grow are other ones in a file that
h5repack has packed, and it holds the same.
The seal depends on uuid, dates and the command line, so it is no part of what "the same bytes" means. A reference, or a
further link, counts as the first path of what it leads to: HDF5 tells one of the names of an object with several, which
changes with what was opened before.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b

import h5py
import numpy as np

_PLACE, _NAME = "provenance", "seal"  # an attribute
_SIZE = 32  # [B]
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
    whole, objects = blake2b(digest_size=_SIZE), list(_objects(file, "", set()))
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
