"""Kernels as code of the machine: a shared object beside the text of a kernel, so that a process need not compile it.

Taichi keeps LLVM's text of a kernel, and each process compiles that anew: 0.1 to 0.5 s for a step. Here it is compiled once
for a processor, by LLVM's `llc` and the linker `ld` where they stand: its large functions go into a shared object, and what
is left of the text only names them. Whoever takes it loads the object first, since Taichi ends the process where a name is
not found. The text that is compiled is the one that Taichi would compile, in the same way, so that the bytes are the same.

A shared object with text relocations, which is code that depends on its place, is refused by the linker (`-z text`). Nothing
here imports anything of simcli's: the file is run as a script, in a process that outlives the command (`main`).
"""

import contextlib
import ctypes
import hashlib
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

# Suffixes: what is left of the text, the code, and a kernel that the tools refuse.
LIGHT_SUFFIX, CODE_SUFFIX, REFUSED_SUFFIX = ".light", ".so", ".refused"
LEAST_TEXT = 200_000  # bytes of a file: what is shorter is compiled in some 30 ms
CODE_SWITCH = "SIMCLI_MACHINE_CODE"  # environment variable: nothing is made where it is 0
_SECONDS = 300.0  # after which a compiler is given up
_LOCK = "machine-code.lock"
_HEAD = struct.Struct("<8sQQ")  # mark, bytes of the facts, bytes of the text
# What the file of a kernel begins with, and the compilers that read its text: of Taichi 1.7.4 those that read pointers with
# types, of Quadrants 1.4.0, whose LLVM is 22, none that is older.
TYPED_POINTERS, PLAIN_POINTERS = b"TIC\0\0\0\0\0", b"QDC\0\0\0\0\0"
_COMPILERS = {TYPED_POINTERS: ("llc", "llc-15", "llc-16", "llc-14"), PLAIN_POINTERS: ("llc-22", "llc-23")}
_CHECKSUM = 64  # hexadecimal digits of SHA-256
_END = "\n}\n"  # of a function
_LARGE = re.compile(r"^define internal (?:fastcc )?void @(take_\w+|function_body[\w.]*)\(", re.MULTILINE)
_OWN = re.compile(r"^define (?!internal|private)", re.MULTILINE)  # what Taichi calls
_TASK = re.compile(r"^define internal void @cpu_parallel_range_for_task\(", re.MULTILINE)


def file_parts(data: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Mark, facts and text of a kernel that an engine has kept; None of what is no such file, or damaged."""
    if len(data) < _HEAD.size + _CHECKSUM:
        return None
    mark, n_facts, n_text = _HEAD.unpack_from(data)
    body = data[_HEAD.size : -_CHECKSUM]
    if mark not in _COMPILERS or len(body) != n_facts + n_text or _checksum(body) != data[-_CHECKSUM:]:
        return None
    return mark, body[:n_facts], body[n_facts:]


def file_of(mark: bytes, facts: bytes, text: bytes) -> bytes:
    """The file of a kernel, of what `file_parts` gives."""
    body = facts + text
    return _HEAD.pack(mark, len(facts), len(text)) + body + _checksum(body)


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


@cache
def processor_key() -> str:
    """Digest of all that the code depends on: the model of the processor and what it can, and the C library."""
    facts = [platform.machine(), *platform.libc_ver()]
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as info:
        wanted = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features")
        facts += [line for line in info.read().split("\n\n", 1)[0].splitlines() if line.split("\t", 1)[0].strip() in wanted]
    return hashlib.blake2b("\n".join(facts).encode(), digest_size=8).hexdigest()


def code_tools(mark: bytes) -> tuple[str, str] | None:
    """Compiler, of kernels whose files have a mark, and linker; None where one is not there."""
    compiler, linker = next(filter(None, map(shutil.which, _COMPILERS[mark])), None), shutil.which("ld")
    return (compiler, linker) if sys.platform == "linux" and compiler and linker else None


def is_code_wanted(mark: bytes) -> bool:
    """Whether code can be made of kernels whose files have a mark, and the environment does not forbid it."""
    return os.environ.get(CODE_SWITCH) != "0" and code_tools(mark) is not None


def digest_of_object(data: bytes) -> str:
    """What a file of code is named by."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def load_code(file: str) -> bool:
    """Let the process have the functions of a file of code; False if it is damaged, or another one than its name says."""
    try:
        data = Path(file).read_bytes()
        if digest_of_object(data) != Path(file).stem.split("-")[-1]:
            return False
        ctypes.CDLL(file, ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True


def split_text(text: str, prefix: str) -> tuple[str, str] | None:
    """The text of a kernel without its large functions, and those alone; None if it has none.

    Args:
        text: of LLVM.
        prefix: of the names of the large functions, which are those of a process from then on.
    """
    names = _LARGE.findall(text)
    if not names:
        return None
    for name in names:
        text = re.sub(rf"@{re.escape(name)}(?![\w.])", f"@{prefix}{name}", text)
    text = text.replace("fastcc ", "")
    large = re.compile(rf"^define internal (void @{prefix}[^\n]*\)) [^\n{{]*\{{", re.MULTILINE)
    light, heavy = [], []
    for part in text.split(_END):
        if found := large.search(part):
            light.append(f"{part[: found.start()]}declare {found[1]}\n")
            heavy.append(f"{part[: found.start()]}define {part[found.start(1) :]}{_END}")
            continue
        own = _OWN.search(part) or _TASK.search(part)
        ended = _END if "\ndefine " in f"\n{part}" else ""
        light.append(part + ended)
        heavy.append(part[: own.start()] + "\n" if own else part + ended)
    return "".join(light), "".join(heavy)


def make_code(kernel: Path, stub: str, folder: Path) -> None:
    """Put the code of a kernel and what is left of its text into a folder, whole or not at all.

    Args:
        kernel: file of Taichi's.
        stub: key that the kernel is offered under.
        folder: of kernels.

    Raises:
        OSError: something cannot be read or written.
        subprocess.SubprocessError: a tool refuses the kernel.
    """
    parts = file_parts(kernel.read_bytes())
    split = split_text(parts[2].decode(), f"simcli_{stub[1:17]}_") if parts else None
    if not split:
        raise subprocess.SubprocessError
    light, heavy = split
    with tempfile.TemporaryDirectory() as place:
        code = compiled_code(heavy, Path(place), parts[0])
    name = f"{processor_key()}-{stub}-{digest_of_object(code)}"
    write_whole(folder / f"{name}{CODE_SUFFIX}", code)
    write_whole(folder / f"{name}{LIGHT_SUFFIX}", file_of(*parts[:2], light.encode()))


def make_or_refuse(kernel: str, stub: str, folder: Path) -> None:
    """Make the code of a kernel, or note that it has none, so that it is not tried again; arguments as of `make_code`."""
    try:
        make_code(Path(kernel), stub, folder)
    except subprocess.SubprocessError:
        write_whole(folder / f"{processor_key()}-{stub}{REFUSED_SUFFIX}", b"")


def compiled_code(text: str, place: Path, mark: bytes) -> bytes:
    """A shared object of a text of LLVM; raises as `make_code`.

    Args:
        text: of a kernel.
        place: a folder for what is between.
        mark: of the kernel's file.
    """
    compiler, linker = code_tools(mark)
    (place / "a.ll").write_text(text)
    steps = (
        [compiler, "-O2", "-mcpu=native", "-relocation-model=pic", "-filetype=obj", "a.ll", "-o", "a.o"],
        [linker, "-shared", "-z", "text", "-z", "noexecstack", "-o", "a.so", "a.o", *_c_libraries()],
    )
    for words in steps:
        subprocess.run(words, cwd=place, check=True, timeout=_SECONDS, stdin=subprocess.DEVNULL, capture_output=True)
    return (place / "a.so").read_bytes()


def _c_libraries() -> Iterator[str]:
    """Files of the C library and its mathematics that a process has: kernels call those that Taichi would call."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        files = {line.split(None, 5)[5].strip() for line in maps if line.count("/")}
    return (file for file in sorted(files) if re.match(r"lib[cm][.-]", os.path.basename(file)))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file of which nobody sees a part."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def make_code_later(folder: Path, wanted: dict[str, str]) -> None:
    """Start a process that makes the code of some kernels while this one goes on, or ends.

    Args:
        folder: in which it is kept.
        wanted: files of kernels by the keys of their stubs.

    Raises:
        OSError: the system starts no process.
    """
    words = [word for stub, kernel in wanted.items() for word in (stub, kernel)]
    command = [sys.executable, "-I", "-S", __file__, str(folder), *words]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    subprocess.run(command, start_new_session=True, cwd=os.sep, check=False, **streams)


def main() -> None:
    """`machine_code.py FOLDER STUB FILE ...`: make the code of kernels, one after another, if nobody else does."""
    if os.fork():
        return  # nobody waits for what follows, and no process that has started it is left with a dead child
    folder, words = Path(sys.argv[1]), sys.argv[2:]
    os.nice(19)
    import math  # noqa: F401  (its library is that of kernels, too)

    with contextlib.suppress(OSError):
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for stub, kernel in zip(words[::2], words[1::2], strict=True):
            make_or_refuse(kernel, stub, folder)


if __name__ == "__main__":
    main()
