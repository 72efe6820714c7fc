"""Folders of compiled kernels: which there are, what may be read and written, and what goes when they are full.

Below each folder, kernels lie by versions and processor (`kind_of_kernels`), one file each, named by Taichi's key, which is
a hash of the whole program and of how it is compiled; a file is Taichi's own with a checksum, its kernel finished
(language/finishing.py). A file is written beside its place and renamed, and never changed; so processes, users and machines
may share a folder without a lock, and one that is killed leaves nothing that is read. What Taichi itself would do with a
folder is in kernel_session.py.
"""

import contextlib
import json
import os
import platform
import shutil
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

import simcli
from simcli.engines import engine_of_process
from simcli.kernels.language import machine_code, ti
from simcli.kernels.language.finishing import finished_file
from simcli.kernels.language.internals import PACKAGE, engine
from simcli.release import traced_digest

VARIABLE = "SIMCLI_KERNEL_CACHE"
ENGINES_VARIABLE = f"{engine_of_process().prefix}_OFFLINE_CACHE_FILE_PATH"  # is heeded where ours is not set
SUFFIX, KERNEL_SUFFIXES = engine.KERNEL_SUFFIX, (".tic", ".qdc")  # of a kernel: the engine's, and those of all engines
_FORM = 2  # of what is kept: another number where kernels are finished in another way
DIGEST_DIGITS = 56  # hexadecimal
NOTE = ".stub"  # our own, of a kernel that need not be traced: DIGEST-STUB-KERNEL.stub (language/traces.py)
KEPT_SUFFIXES = (*KERNEL_SUFFIXES, NOTE, machine_code.LIGHT_SUFFIX, machine_code.CODE_SUFFIX, machine_code.REFUSED_SUFFIX)
_FACTS = ".bundle.json"  # our own, of the kernels that a scene takes
MOST_BYTES = 2**30  # of all kernels below a folder
MOST_KERNELS = 4000  # each costs every start some 6 us
KEPT = 0.75  # of both, when old ones go
LEAST_FREE = 16 * 2**20  # bytes: a kernel with contact takes a few MB
_SHORT = 3600.0  # [s]: a part of a file that is older belongs to nobody, a use that is younger need not be noted again
LEVELS = {  # of x86-64 processors, as compilers and distributions name them, by what they have
    "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "v3": {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"},
    "v2": {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
}


def users_folder() -> Path:
    """The folder of the user, beside the other caches.

    Raises:
        RuntimeError: there is no home.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "simcli" / "kernels"


def named_folder() -> Path | None:
    """The folder that the environment names, if it names one."""
    name = os.environ.get(VARIABLE) or os.environ.get(ENGINES_VARIABLE)
    return Path(name).absolute() if name else None


def folders() -> list[Path]:
    """Where kernels are looked for, the first that has one: what the environment names, then the user's own."""
    found = [named_folder()]
    with contextlib.suppress(RuntimeError):
        found.append(users_folder())
    return list(dict.fromkeys(folder for folder in found if folder))


def keeper() -> tuple[Path | None, str]:
    """Where new kernels are kept, None if nowhere; and why it is not the first of the folders, "" if it is that one.

    It is the named folder; the user's own if that cannot be written. Makes the folder.
    """
    reasons: list[str] = []
    for folder in folders():
        reason = trouble(folder)
        if not reason:
            return folder, reasons[0] if reasons else ""
        reasons.append(reason)
    return None, reasons[0] if reasons else "there is no home directory"


def trouble(folder: Path) -> str:
    """Why a folder can take no kernels, "" if it can; makes the folder."""
    try:
        place = place_in(folder)
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"kernel")
        free = shutil.disk_usage(place).free
    except OSError as error:
        return f"{folder}: {error.strerror}"
    return "" if free >= LEAST_FREE else f"{folder}: {free / 2**20:.1f} MiB are free there, {LEAST_FREE >> 20} are needed"


@cache
def kind_of_kernels() -> str:
    """Name of the folder, below each, of the kernels that this installation and processor can use.

    Taichi's key is without the processor and without a version. Its files hold LLVM's optimised text, which is turned into
    code of the machine where it runs; but it was optimised for the processor where it was compiled.
    """
    return f"simcli-{simcli.__version__}_{PACKAGE}-{'.'.join(map(str, ti.__version__))}_{processor()}_{_FORM}"


def place_in(folder: Path) -> Path:
    """Where in a folder the kernels lie that can be used here."""
    return folder / kind_of_kernels()


def processor() -> str:
    """The kind of processor: `x86_64-v3` (see `LEVELS`), `arm64`."""
    machine = platform.machine().lower() or "unknown"
    if machine in ("x86_64", "amd64"):
        with contextlib.suppress(OSError), open("/proc/cpuinfo") as info:
            has = next((set(line.split()) for line in info if line.startswith("flags")), set())
            level = next((level for level, needed in LEVELS.items() if needed <= has), "v1")
            return f"{machine}-{level}"
    return machine


def kernels_below(folder: Path, suffix: str = SUFFIX) -> dict[str, str]:
    """Kernels of a folder that can be used here, files by key; or by NOTE notes of those with stubs, of other code, too."""
    place = place_in(folder)
    try:
        names = [name for name in os.listdir(place) if name.endswith(suffix)]
    except OSError:
        return {}
    return {name.removesuffix(suffix): f"{place}{os.sep}{name}" for name in names}


def machine_code_below(folder: Path) -> dict[str, tuple[str, str]]:
    """Kernels of a folder that are there as code of this processor.

    Args:
        folder: of kernels.

    Returns:
        By the key of the stub, the files of what is left of the text, and of the code; no names for those that have none.
    """
    place, ours = place_in(folder), machine_code.processor_key()
    try:
        names = {name for name in os.listdir(place) if name.startswith(ours)}
    except OSError:
        return {}
    found = {}
    for name in names:
        stem, suffix = os.path.splitext(name)
        if suffix == machine_code.LIGHT_SUFFIX and stem + machine_code.CODE_SUFFIX in names:
            found[stem.split("-")[1]] = f"{place}{os.sep}{name}", f"{place}{os.sep}{stem}{machine_code.CODE_SUFFIX}"
        elif suffix == machine_code.REFUSED_SUFFIX:
            found.setdefault(stem.split("-")[1], ("", ""))
    return found


def text_digest(text: str) -> str:
    """Digest of a text, hexadecimal."""
    return blake2b(text.encode(), digest_size=DIGEST_DIGITS // 2).hexdigest()


def code_mark() -> str:
    """How digests of stubs of this code begin."""
    return text_digest(traced_digest())[:8]


@dataclass(frozen=True)
class StubNote:
    """What is known of a kernel that has a stub.

    Attributes:
        stub: Taichi's key of the stub.
        kernel: Taichi's key of the kernel.
        entries: of the numbers that it reads, by the name of their kind: place in the signature, and attribute; no place
            for the numbers themselves.
    """

    stub: str
    kernel: str
    entries: dict[str, list[tuple[int | None, str]]]

    def text(self) -> str:
        """It as text, with a checksum."""
        body = json.dumps([self.stub, self.kernel, self.entries])
        return f"{text_digest(body)}\n{body}"

    @staticmethod
    def of_text(text: str) -> "StubNote | None":
        """The note that a text is; None if it is damaged."""
        said, _, body = text.partition("\n")
        return StubNote(*json.loads(body)) if said == text_digest(body) else None


def keep_note(folder: Path, name: str, text: str) -> None:
    """Put a note into a folder, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    _keep(place_in(folder) / f"{name}{NOTE}", text.encode())


def bytes_below(folder: Path) -> int:
    """Size of all kernels below a folder, of other versions and processors, too, with what is kept beside them."""
    n_bytes = 0
    for path in folder.glob("simcli-*/*"):
        with contextlib.suppress(OSError):
            n_bytes += path.stat().st_size if path.suffix in KEPT_SUFFIXES else 0
    return n_bytes


def keep_kernel(file: Path, folder: Path) -> None:
    """Put a file of Taichi's into a folder, its kernel finished, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    _keep(place_in(folder) / file.name, finished_file(file.read_bytes()))


def _keep(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    machine_code.write_whole(path, data)


def keep_bundle(folder: Path, name: str, seconds: dict[str, float | None]) -> None:
    """Keep which kernels a scene takes, and what is known of the times that they took to compile.

    Args:
        folder: that has the kernels.
        name: of the scene.
        seconds: [s] by key, None for a kernel that was there.
    """
    known = bundles_below(folder)
    times = {key: took for bundle in known.values() for key, took in bundle.items() if took is not None}
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / f"{name}{_FACTS}"
        file.write_text(json.dumps({key: times.get(key) if took is None else took for key, took in seconds.items()}))
        keep_kernel(file, folder)


def bundles_below(folder: Path) -> dict[str, dict[str, float | None]]:
    """What `keep_bundle` has kept in a folder: by name the times of the kernels, of which some may be gone."""
    found = {}
    for path in sorted(place_in(folder).glob(f"*{_FACTS}")):
        with contextlib.suppress(OSError, ValueError):
            found[path.name.removesuffix(_FACTS)] = json.loads(path.read_text())
    return found


def note_use(files: list[str]) -> None:
    """Let kernels count as used now, for `tidy`; in a folder that cannot be written nothing goes anyway."""
    now = time.time()
    for file in files:
        with contextlib.suppress(OSError):
            if abs(now - os.stat(file).st_mtime) > _SHORT:
                os.utime(file)


def tidy(folder: Path) -> None:
    """Remove what was used longest ago, of all versions, if there is too much of its kind, and parts of files."""
    now = time.time()
    found: dict[str, list] = {kind: [] for kind in KEPT_SUFFIXES}
    for path in folder.glob("simcli-*/*"):
        with contextlib.suppress(OSError):  # somebody else tidies, too
            facts = path.stat()
            if path.suffix in KEPT_SUFFIXES:
                found[path.suffix].append((facts.st_mtime, facts.st_size, path))
            elif any(f"{kind}." in path.name for kind in KEPT_SUFFIXES) and now - facts.st_mtime > _SHORT:
                path.unlink()
    for files in found.values():
        _remove_oldest(files)


def _remove_oldest(files: list[tuple[float, int, Path]]) -> None:
    """Remove of some files, with times and sizes, those that were used longest ago, if there are too many."""
    n_bytes = sum(size for _, size, _ in files)
    if n_bytes <= MOST_BYTES and len(files) <= MOST_KERNELS:
        return
    files.sort(reverse=True)
    while files and (n_bytes > KEPT * MOST_BYTES or len(files) > KEPT * MOST_KERNELS):
        _, size, path = files.pop()
        n_bytes -= size
        with contextlib.suppress(OSError):
            path.unlink()
