"""The folder of kernels that Taichi sees from a start to its stop: one of our own, in the place for temporary files.

Taichi reads and writes its list of kernels under a lock file, for which it tries five times within 0.2 s, then works
without the folder and says nothing; a process that was killed there leaves the lock for good, one that was killed while it
wrote leaves half a list, after which all kernels are compiled again; and a folder that cannot be written cannot be locked,
so that it is not even read. It makes the folder when it stops, and ends the process with a segmentation fault where it
cannot. So each start gets a folder that nobody else uses meanwhile: links to the kernels of kernel_cache.py and a list of
them. When Taichi has stopped, what is no link is new. The links stay for the next start, which brings them up to date: two
thousand of them would take a tenth of a second each time.
"""

import contextlib
import os
import shutil
import struct
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from simcli.errors import SimcliWarning
from simcli.kernels.language import kernel_cache, machine_code, ti
from simcli.kernels.language.backend import Origin
from simcli.kernels.language.internals import PACKAGE, engine
from simcli.kernels.language.kernel_cache import SUFFIX, StubNote, code_mark

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

PREFIX = "simcli-kernels-"
LOCK = "in-use"  # our own, which goes with the process that holds it
MOST_AT_ONCE = 256  # processes of a user that keep their links; others make them anew
OLD = 7 * 86400.0  # [s] after which a folder that nobody uses goes


class KernelSession:
    """A folder for Taichi.

    Attributes:
        path: where in the folder kernels lie; None if none could be made.
        keeper: where new kernels are kept, None if nowhere.
        reason: why that is not the first folder, or why there is none; "" if it is.
    """

    def __init__(self):
        self.keeper, self.reason = kernel_cache.keeper()
        self._folders = kernel_cache.folders()
        self._files, self._notes, self._code = self._found()
        self._compiled: set[str] = set()  # keys of stubs whose text was compiled here, and might be kept as code
        self._new_notes: dict[str, str] = {}  # texts by name
        self._stubs: set[str] = set()  # keys that are never kept
        try:
            self._given, self._lock = _free_folder(self._folders)
            self.path = self._given / engine.KERNEL_FOLDER
            _offer(self._files, self.path)
        except OSError as error:
            self.keeper, self.reason, self.path = None, f"{tempfile.gettempdir()}: {error.strerror}", None

    def _found(self) -> tuple[dict[str, str], dict[str, str], dict[str, tuple[str, str]]]:
        """What the folders have.

        Returns:
            Files of all kernels, by their keys and those of their stubs; files of notes, by digest; of stubs that have code
            of the machine, what is left of the text, and the code.
        """
        files, notes, code = {}, {}, {}
        for folder in reversed(self._folders):
            files |= kernel_cache.kernels_below(folder)
            notes |= kernel_cache.kernels_below(folder, kernel_cache.NOTE)
            code |= kernel_cache.machine_code_below(folder)
        by_digest = {}
        for name, file in notes.items():
            digest, stub, kernel = [*name.split("-"), "", ""][:3]
            if kernel in files and digest.startswith(code_mark()):
                light, _ = code.get(stub, ("", ""))
                by_digest[digest], files[stub] = file, light or files[kernel]
        return files, by_digest, code

    def is_up_to_date(self) -> bool:
        """Whether a new one would see the same kernels."""
        return kernel_cache.folders() == self._folders and self._found() == (self._files, self._notes, self._code)

    def settings(self) -> dict:
        """Taichi's configuration for this folder; it removes nothing from it."""
        if self.path is None:
            return {"offline_cache": False, "offline_cache_file_path": os.path.abspath(os.sep)}  # a folder that is there
        return {"offline_cache": True, "offline_cache_file_path": str(self._given), "offline_cache_cleaning_policy": "never"}

    def prepare_stop(self, origins: dict[str, Origin]) -> None:
        """Let Taichi write all that it has compiled when it stops: it leaves out what it finds in the list, damaged or not.

        Args:
            origins: where each kernel came from that was used.
        """
        if self.path is not None:
            compiled = (key + SUFFIX for key, origin in origins.items() if origin == Origin.COMPILED)
            for name in (engine.KERNEL_LIST, *compiled):
                (self.path / name).unlink(missing_ok=True)

    def note_of(self, digest: str) -> StubNote | None:
        """The note of a signature whose kernel is there; None if there is none."""
        with contextlib.suppress(KeyError, OSError, ValueError):
            with open(self._notes[digest], encoding="utf-8") as file:
                note = StubNote.of_text(file.read())
            return note if note and note.stub in self._files and self._is_loaded(note) else None
        return None

    def _is_loaded(self, note: StubNote) -> bool:
        """Whether the code of a kernel is loaded, if it has some; what is damaged goes."""
        light, code = self._code.get(note.stub, ("", ""))
        if light and not machine_code.load_code(code):
            with contextlib.suppress(OSError):
                os.unlink(code)
            return False
        if not light and note.stub not in self._code and os.stat(self._files[note.stub]).st_size >= machine_code.LEAST_TEXT:
            self._compiled.add(note.stub)
        return True

    def keep_note(self, digest: str, note: StubNote) -> None:
        """Keep a note with its kernel; the stub of that key is to be forgotten."""
        self._new_notes[f"{digest}-{note.stub}-{note.kernel}"] = note.text()

    def forget_stub(self, key: str) -> None:
        """Never keep what was compiled under the key of a stub."""
        self._stubs.add(key)

    def tell(self) -> None:
        """Warn, once in a process, if a kernel that was compiled is not kept where it was looked for."""
        if self.keeper and self.reason:
            tell_once(f"kernels that were compiled are kept in {self.keeper}: {self.reason}")
        elif self.reason:
            tell_not_kept(self.reason)

    def close(self, origins: dict[str, Origin]) -> None:
        """Keep what is new, and leave the folder to others.

        Args:
            origins: as of `prepare_stop`.

        Raises:
            OSError: a kernel could not be kept.
        """
        if self.path is None:
            return
        try:
            used = [key for key in origins if key in self._files]
            code = [self._code[key][1] for key in used if key in self._code]
            kernel_cache.note_use([self._files[key] for key in used] + code)
            new = [path for path in _plain_files(self.path) if path.suffix == SUFFIX and path.stem not in self._stubs]
            if self.keeper and (new or self._new_notes):
                for file in new:
                    kernel_cache.keep_kernel(file, self.keeper)
                for name, text in self._new_notes.items():
                    kernel_cache.keep_note(self.keeper, name, text)
                kernel_cache.tidy(self.keeper)
                _remove_old()
            if self.keeper and self._compiled and machine_code.is_code_wanted(engine.FILE_MARK):
                wanted = {stub: self._files[stub] for stub in self._compiled}
                machine_code.make_code_later(kernel_cache.place_in(self.keeper), wanted)
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._lock is None:
            shutil.rmtree(self._given, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                for file in _plain_files(self.path):
                    file.unlink()
            os.close(self._lock)
        self.path = None


@contextlib.contextmanager
def variable_unread() -> Iterator[None]:
    """Keep the environment variable of its folder from Taichi, which would print that an argument overrides it."""
    value = os.environ.pop(kernel_cache.ENGINES_VARIABLE, None)
    try:
        yield
    finally:
        if value is not None:
            os.environ[kernel_cache.ENGINES_VARIABLE] = value


def _free_folder(folders: list[Path]) -> tuple[Path, int | None]:
    """A folder for links to kernels of some folders that no other process uses, and the lock that says so.

    Returns:
        Folder, and descriptor of the lock file; None of a folder that is made for this start alone.

    Raises:
        OSError: there is no place.
    """
    for n in range(MOST_AT_ONCE if fcntl else 0):
        path = Path(tempfile.gettempdir(), f"{PREFIX}{PACKAGE}-{os.getuid()}-{n}")
        path.mkdir(mode=0o700, exist_ok=True)
        if path.is_symlink() or path.stat().st_uid != os.getuid():
            continue  # somebody else's, who may put there what he likes
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.utime(path)
            _begin_anew(path / engine.KERNEL_FOLDER, lock, "\n".join([kernel_cache.kind_of_kernels(), *map(str, folders)]))
            return path, lock
        os.close(lock)
    path = Path(tempfile.mkdtemp(prefix=PREFIX))
    (path / engine.KERNEL_FOLDER).mkdir(exist_ok=True)
    return path, None


def _begin_anew(path: Path, lock: int, what: str) -> None:
    """Remove the links of a folder if they lead to other folders than those that are wanted, as the lock file says."""
    path.mkdir(exist_ok=True)
    if os.pread(lock, 2 * len(what.encode()), 0) == what.encode():
        return
    for entry in [*os.scandir(path)]:
        if entry.name != LOCK:
            os.unlink(entry.path)
    os.ftruncate(lock, 0)
    os.pwrite(lock, what.encode(), 0)


def _offer(files: dict[str, str], folder: Path) -> None:
    """Links to kernels, or copies where links are not allowed, and Taichi's list of them; what else is there goes."""
    start, wanted = f"{folder}{os.sep}", {key + SUFFIX: file for key, file in files.items()}
    with os.scandir(folder) as entries:
        there = {entry.name: entry.is_symlink() and os.readlink(entry.path) for entry in entries if entry.name != LOCK}
    for name, target in there.items():
        if wanted.get(name) != target:  # what a process left that was killed, or another file of this kernel
            os.unlink(start + name)
        else:
            del wanted[name]
    for name, file in wanted.items():
        try:
            os.symlink(file, start + name)
        except OSError:
            shutil.copyfile(file, start + name)
    (folder / engine.KERNEL_LIST).write_bytes(_list_of(files))


def _plain_files(folder: Path) -> list[Path]:
    """What is neither a link nor the lock."""
    with os.scandir(folder) as entries:
        return [Path(entry.path) for entry in entries if not entry.is_symlink() and entry.name != LOCK]


def _list_of(keys: Iterable[str]) -> bytes:
    """Taichi's list (1.7.4): its length, version, size of all files, and of each kernel key, key, size, and times of use.

    Numbers are little-endian; a text follows its length, whole numbers have 8 bytes, those of the version 2. The sizes serve
    to remove files alone, which we do ourselves; they must not be 0.
    """
    facts = struct.pack("<QQQ", 1, now := int(time.time()), now)
    texts = [struct.pack("<Q", len(key)) + key.encode() for key in keys]
    body = struct.pack("<HHHQQ", *ti.__version__, len(texts), len(texts)) + b"".join(text + text + facts for text in texts)
    return struct.pack("<Q", len(body) + 8) + body


def _remove_old() -> None:
    """Remove folders that nobody has used for long; one in use would be compiled anew, no more."""
    for path in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > OLD:
                shutil.rmtree(path, ignore_errors=True)  # those of other users stay


def tell_not_kept(reason: str) -> None:
    """Warn, once in a process, that kernels are not kept."""
    tell_once(
        f"compiled kernels cannot be kept, so that each run compiles anew: {reason}; {kernel_cache.VARIABLE} names "
        "another folder"
    )


def tell_once(text: str) -> None:
    """Warn of the folders, once in a process."""
    if not _told:
        _told.append(text)
        warnings.warn(text, SimcliWarning, stacklevel=4)


_told: list[str] = []
