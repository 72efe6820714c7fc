"""What "the same bytes" means: the digest over the committed rows.

For every dataset of /frames, /energy, /diag, /contacts and /events that grows with the run, the bytes of its committed
rows in C order, little endian, as they stand in the file (fixed-length strings with their padding), are hashed:

    H(dataset) = blake2b-256(rows [0 : n])     n: n_committed; of /contacts/offset n_committed * W + 1;
                                               of the other ragged tables the rows up to that frame
    digest     = blake2b-256 of, for each dataset in the order of their paths as UTF-8 bytes:
                 path, one zero byte, H(dataset)

The scales (/frames/world, names) are not in it: they do not depend on what was computed. Chunk shapes, commits and
blocks do not enter, so the same run cut in other blocks has the same digest; float32 and float64 files differ.
"""

from collections.abc import Iterable
from hashlib import blake2b

import h5py
import numpy as np

_SIZE = 32  # [B]


class Digest:
    """Running digest of one file's committed rows."""

    def __init__(self, paths: Iterable[str]):
        self._hashes = {path: blake2b(digest_size=_SIZE) for path in sorted(paths, key=str.encode)}

    def add(self, path: str, rows: np.ndarray) -> None:
        """Append rows of one dataset: C-contiguous, in the type of the file."""
        if rows.nbytes:
            self._hashes[path].update(memoryview(rows.view(np.uint8).reshape(-1)))

    def value(self) -> bytes:
        """Digest of everything so far."""
        whole = blake2b(digest_size=_SIZE)
        for path, part in self._hashes.items():
            whole.update(path.encode() + b"\0" + part.digest())
        return whole.digest()


def static_digest(file: h5py.File) -> str:
    """Digest of /model and /params: path, type, shape and content of every dataset, in the order of the paths."""
    whole = blake2b(digest_size=_SIZE)
    for name in ("model", "params"):
        for path in sorted(file[name], key=str.encode):
            dataset = file[name][path]
            whole.update(f"{name}/{path}\0{dataset.dtype.str}{dataset.shape}\0".encode())
            whole.update(_content(dataset))
    return whole.hexdigest()


def _content(dataset: h5py.Dataset) -> bytes:
    if h5py.check_string_dtype(dataset.dtype):
        return b"\0".join(text.encode() for text in dataset.asstr()[...])
    return np.ascontiguousarray(dataset[...]).tobytes()
