"""Stubs: kernels that another process has traced are taken from the folder of kernels, and are not traced.

Taichi finds a kept kernel by a hash of the whole program, which it makes of the kernel's text first: 0.1 to 0.7 s a step.
A stub is a kernel with the same parameters whose text says nothing but a digest of the kernel's signature (traces.py); so
its program is there in some milliseconds, and the file of the real kernel is offered to Taichi under the stub's key, too.
What the digest cannot vouch for, as functions that are not simcli's, has no stub.

A stub that Taichi does not find it compiles: it would do nothing, and say nothing. So one is taken only if it came from the
folder and has the key that was noted with the kernel; and none that was compiled is ever kept.
"""

import ast
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Protocol

from simcli.kernels.language.backend import (
    KernelTaken,
    Origin,
    configuration,
    default_real,
    look_up,
    name_of,
    origins_of,
    own_materialize,
    program,
    tell,
)
from simcli.kernels.language.internals import PACKAGE, Func, Kernel, core, kernel_impl
from simcli.source_digest import traced_digest

# Whose code versions and digests vouch for.
_HOUSES = ("simcli.", f"{PACKAGE}.", "numpy.", "builtins.", "enum.", "types.", "functools.", "collections.")
_LOCAL = "<locals>"  # in the name of what a function has made
_DIGITS, _WORDS = 7, 8  # hexadecimal, of a whole number of a stub; and how many of them a digest has
_APART = 1_000_000  # added to Taichi's number of some arguments: those of a stub that is not to be called
_BYTES = _DIGITS * _WORDS // 2
STUB_ARCHS = ("x64", "arm64")  # backends whose kernels have stubs


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
        return f"{_digest_of(body)}\n{body}"

    @staticmethod
    def of_text(text: str) -> "StubNote | None":
        """The note that a text is; None if it is damaged."""
        said, _, body = text.partition("\n")
        return StubNote(*json.loads(body)) if said == _digest_of(body) else None


class StubNotes(Protocol):
    """Where notes are kept."""

    def note_of(self, digest: str) -> StubNote | None:
        """The note of a signature whose kernel is there; None if there is none."""

    def keep_note(self, digest: str, note: StubNote) -> None:
        """Keep a note with its kernel; the stub of that key is to be forgotten."""

    def forget_stub(self, key: str) -> None:
        """Never keep what was compiled under the key of a stub."""


stub_notes: list[StubNotes] = []  # of the device that is started, if it keeps kernels


class _UnvouchedError(Exception):
    """A digest cannot vouch for something."""


def stub_digest(said: list) -> str | None:
    """Digest of what a signature says, the same in every process of this code; None if nothing vouches for a part of it."""
    if not stub_notes or configuration().arch.name not in STUB_ARCHS:
        return None
    settings = configuration()
    words = [
        traced_digest(),
        str(sys.version_info[:2]),
        settings.arch.name,
        str(default_real()),
        str(settings.real_matrix_scalarize),
    ]
    try:
        words += map(_word_of, said)
    except _UnvouchedError:
        return None
    return code_mark() + _digest_of("\0".join(words))[len(code_mark()) :]


def code_mark() -> str:
    """How digests of stubs of this code begin."""
    return _digest_of(traced_digest())[:8]


def _digest_of(text: str) -> str:
    return blake2b(text.encode(), digest_size=_BYTES).hexdigest()


def _word_of(x) -> str:
    """What stands for a part of a signature.

    Raises:
        _UnvouchedError: its code may be another one in another process.
    """
    kind = type(x)
    if kind in (str, bytes, int, bool, type(None)):
        return f"{kind.__name__} {x!r}"
    if isinstance(x, Enum):
        return f"{_word_of(kind)} {x.name}"
    if isinstance(x, tuple):
        return f"({', '.join(map(_word_of, x))})"
    if isinstance(x, Func | Kernel):
        return f"{kind.__name__} {_word_of(x.func)}"
    if isinstance(x, CodeType):
        return f"{x.co_qualname} {x.co_firstlineno} {x.co_linetable.hex()}"
    if isinstance(x, ModuleType):
        return f"module {x.__name__}"
    if isinstance(x, type):
        return _named(x)
    if isinstance(x, FunctionType):
        return _function(x)
    if isinstance(x, BuiltinFunctionType) and isinstance(x.__self__, ModuleType | type(None)):
        return f"{x.__module__}.{x.__qualname__}"
    if kind.__module__ == core.__name__ or kind.__module__.startswith("numpy"):
        if " at 0x" not in (word := f"{kind.__name__} {x}"):
            return word
    raise _UnvouchedError(kind)


def _function(x: FunctionType) -> str:
    """What stands for a function, whose closure the signature says, unless a decorator has made it."""
    if _LOCAL in x.__qualname__ and (x.__defaults__ or x.__kwdefaults__ or getattr(x, "_is_taichi_function", False)):
        raise _UnvouchedError(x)
    return f"{_named(x)} {_word_of(x.__code__)}"


def _named(x) -> str:
    if not f"{x.__module__}.".startswith(_HOUSES):
        raise _UnvouchedError(x)
    return f"{x.__module__}.{x.__qualname__}"


@contextmanager
def _bodies_of_stubs(digest: str) -> Iterator[None]:
    """Kernels that are traced meanwhile say a digest and nothing else."""
    before = kernel_impl._get_tree_and_ctx
    words = [int(digest[_DIGITS * k :][:_DIGITS], 16) for k in range(_WORDS)]
    body = ast.parse("; ".join(f"_{k} = {word}" for k, word in enumerate(words))).body

    def stub(*given, **named):
        tree, context = before(*given, **named)
        tree.body[0].body = body
        return tree, context

    kernel_impl._get_tree_and_ctx = stub
    try:
        yield
    finally:
        kernel_impl._get_tree_and_ctx = before


def take_stub(kernel, key: tuple, args: tuple, features: tuple, digest: str) -> tuple[object, StubNote] | None:
    """A kernel that another process has traced; the kernel has it as that of the arguments.

    Args:
        kernel: of Taichi.
        key: Taichi's, of kernel and arguments.
        args: its arguments.
        features: what Taichi reads of the arguments.
        digest: of its signature.

    Returns:
        Taichi's, compiled, and what is noted of it; None if there is none, or it is damaged: then it has to be traced.
    """
    note = stub_notes[0].note_of(digest)
    if note is None:
        return None
    start = time.perf_counter()
    made, code = _made(kernel, key, args, features, digest)
    if code != note.stub or origins_of(program()).get(code) is not Origin.FOLDER:
        stub_notes[0].forget_stub(code)
        del kernel.compiled_kernels[key]
        return None
    tell(KernelTaken(name_of(kernel), note.kernel, Origin.FOLDER, 0.0, time.perf_counter() - start))
    return made, note


def keep_stub(kernel, key: tuple, args: tuple, features: tuple, digest: str, code: str, entries: dict) -> None:
    """Let other processes take a kernel that has been traced here.

    Args:
        kernel, key, args, features, digest: as of `take_stub`.
        code: its key in the folder.
        entries: of a `StubNote`.
    """
    apart = (key[0], _APART + key[1], key[2])
    _, stub = _made(kernel, apart, args, features, digest)
    del kernel.compiled_kernels[apart]
    stub_notes[0].forget_stub(stub)
    stub_notes[0].keep_note(digest, StubNote(stub, code, entries))


def _made(kernel, key: tuple, args: tuple, features: tuple, digest: str) -> tuple[object, str]:
    """A stub that Taichi has read or compiled, and its key; the kernel has it as that of the arguments."""
    with _bodies_of_stubs(digest):
        own_materialize(kernel, key, args, features)
    made, prog = kernel.compiled_kernels[key], program()
    prog.compile_kernel(prog.config(), prog.get_device_caps(), made)
    return made, look_up(prog, made)[1]
