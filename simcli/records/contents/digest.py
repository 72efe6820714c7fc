"""What "the same bytes" means: the digest over the committed rows.

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
"""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import blake2b

import h5py
import numpy as np

from simcli.cores import cores

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
