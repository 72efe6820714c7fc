"""The file that HDF5 writes through Python, so that a write that fails is ours to tell and not HDF5's to crash over."""

import io
import os
from pathlib import Path


class Passed(io.RawIOBase):
    """A file as it is, read and written through this object.

    Args:
        path: of the file.
        mode, buffering: as of `open`.
    """

    def __init__(self, path: Path, mode: str, buffering: int = -1):
        super().__init__()
        self._stream = path.open(mode, buffering)

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a place."""
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        """The place."""
        return self._stream.tell()

    def readinto(self, buffer) -> int:
        """Read at the place."""
        return self._stream.readinto(buffer)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()


class Backing(Passed):
    """The file under construction. A write that fails is kept for later and HDF5 told that it went well.

    HDF5 crashes at interpreter exit once a write has failed (h5py issue 914); so it never learns of one.
    """

    def __init__(self, path: Path):
        super().__init__(path, "w+b", buffering=0)
        self.failure: OSError | None = None

    def writable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer) -> int:
        """Read at the place, zeros of what was never written: HDF5 takes all of a buffer for read, however short it was."""
        n = super().readinto(buffer)
        rest = memoryview(buffer).cast("B")[n:]
        rest[:] = bytes(len(rest))
        return n + len(rest)

    def truncate(self, size: int | None = None) -> int:
        """Set the length."""
        return self._kept(self._stream.truncate, size, size or 0)

    def write(self, data) -> int:
        """Write at the place, whole."""
        left = memoryview(data).cast("B")
        n = len(left)
        while len(left) and self.failure is None:
            left = left[self._kept(self._stream.write, left, len(left)) :]
        return n

    def _kept(self, call, argument, otherwise: int) -> int:
        try:
            return call(argument)
        except OSError as error:
            self.failure = self.failure or error
            return otherwise

    def flush(self) -> None:
        """Nothing is buffered."""

    def sync(self) -> None:
        """Bring everything to the disk."""
        self._kept(os.fsync, self._stream.fileno(), 0)
