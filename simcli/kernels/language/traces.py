"""Kernels that need not be traced, because this process or another one has traced them.

Taichi makes its program of a kernel's text anew for each object that it is given, compiled before or not: 0.1 to 1 s for a
step, and a compiled kernel of the folder becomes code of the machine anew in each program. Here objects are compared by
their signatures instead, in a few milliseconds: whatever can be reached from them, in one order, as classes, names, values
and functions. So a sweep, a run that is resumed, or the next scene of the same make begins at once.

Left out is what no trace reads: arrays of real numbers but for their types, because values are never part of a kernel, and
the attributes that a class names in `_untraced`; what follows from the rest and is there if somebody has asked for it
(`cached_property`); and, where numbers come from tables, the attributes in `_numbers`.

What another process has traced is found by the digest of its signature. Taichi finds a kept kernel by a hash of the whole
program, which it makes of the kernel's text first. A stub is a kernel with the same parameters whose text says nothing but
that digest; so its program is there in some milliseconds, and the file of the real kernel is offered to Taichi under the
stub's key, too. What the digest cannot vouch for, as functions that are not simcli's, has no stub.

A stub that Taichi does not find it compiles: it would do nothing, and say nothing. So one is taken only if it came from the
folder and has the key that was noted with the kernel; and none that was compiled is ever kept.
"""

import ast
import json
import sys
import time
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, partial
from hashlib import blake2b
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np

from simcli.kernels.language.backend import (
    KernelTaken,
    Origin,
    compile_made,
    configuration,
    default_real,
    kernels_noted,
    look_up,
    materialize,
    name_of,
    origins_of,
    program,
    tell,
)
from simcli.kernels.language.internals import PACKAGE, Func, Kernel, core, engine, own_materialize
from simcli.kernels.language.numbers import Numbers, listening
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
    if _LOCAL in x.__qualname__ and (x.__defaults__ or x.__kwdefaults__ or getattr(x, engine.IS_FUNCTION, False)):
        raise _UnvouchedError(x)
    return f"{_named(x)} {_word_of(x.__code__)}"


def _named(x) -> str:
    if not f"{x.__module__}.".startswith(_HOUSES):
        raise _UnvouchedError(x)
    return f"{x.__module__}.{x.__qualname__}"


def _body_of_stub(digest: str) -> list[ast.stmt]:
    """Statements that say a digest and nothing else."""
    words = [int(digest[_DIGITS * k :][:_DIGITS], 16) for k in range(_WORDS)]
    return ast.parse("; ".join(f"_{k} = {word}" for k, word in enumerate(words))).body


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
        del engine.made_kernels(kernel)[key]
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
    del engine.made_kernels(kernel)[apart]
    stub_notes[0].forget_stub(stub)
    stub_notes[0].keep_note(digest, StubNote(stub, code, entries))


def _made(kernel, key: tuple, args: tuple, features: tuple, digest: str) -> tuple[object, str]:
    """A stub that Taichi has read or compiled, and its key; the kernel has it as that of the arguments."""
    with engine.other_body(_body_of_stub(digest)):
        own_materialize(kernel, key, args, features)
    made = engine.made_kernels(kernel)[key]
    return made, look_up(made, compile_made(made))[1]


_PLAIN = (int, bool, str, bytes, type(None))
_THEMSELVES = (Enum, type, ModuleType, BuiltinFunctionType, np.dtype, Func, Kernel)


@dataclass
class Traced:
    """A kernel that can be launched.

    Attributes:
        key: Taichi's, of kernel and arguments.
        compiled: Taichi's.
        numbers: that it reads.
    """

    key: tuple
    compiled: object
    numbers: Numbers


@dataclass
class _Kept:
    """A kernel for the runs to come.

    Attributes:
        compiled: Taichi's.
        taken: what was said of it.
        entries: of the numbers that it reads, by kind: the place of the object in the signature, and the attribute; None for
            the numbers themselves.
    """

    compiled: object
    taken: KernelTaken
    entries: dict[type, list[tuple[int | None, str]]]


class UnknownError(Exception):
    """Something of which it is not known what a trace reads."""


class Signature:
    """What a trace can read of some objects.

    Args:
        own: whether numbers are constants.

    Attributes:
        said: classes, names and values, in the order of a walk.
        places: by id, the number of each object in this order.  objects: in the same order.
    """

    def __init__(self, own: bool):
        self.own, self.said, self.places, self.objects = own, [], {}, []

    def add(self, x) -> None:
        """Append an object and all that it leads to.

        Raises:
            UnknownError: it leads to something that may be anything.
        """
        kind = type(x)
        if kind in _PLAIN:
            self.said += (kind, x)
        elif kind is float:
            self.said += (kind, x.hex())  # -0.0 is not 0.0, NaN is NaN
        elif isinstance(x, _THEMSELVES) or (kind is FunctionType and (not x.__closure__ or is_of_device(x))):
            self.said.append(x)
        elif kind is engine.DataType or kind is slice or isinstance(x, np.generic):
            self.said += (kind, repr(x) if kind is slice else str(x) if kind is engine.DataType else x.tobytes())
        elif id(x) in self.places:
            self.said += (Signature, self.places[id(x)])
        else:
            self.places[id(x)] = len(self.objects)
            self.objects.append(x)
            self.said.append(kind)
            self.add_parts(kind, x)

    def add_parts(self, kind: type, x) -> None:
        """Append what an object consists of; raises as `add`."""
        if kind is np.ndarray:
            self.said += (x.dtype, x.ndim) if x.dtype.kind == "f" else (x.dtype, x.shape, x.tobytes())
        elif isinstance(x, tuple | list):
            self.add_all(x)
        elif isinstance(x, dict | MappingProxyType):
            self.add_all(x)
            self.add_all(x.values())
        elif isinstance(x, set | frozenset):
            self.add_all(sorted(x, key=str))
        elif kind is FunctionType:
            self.said.append(x.__code__)
            self.add_all([cell.cell_contents for cell in x.__closure__])
        elif kind is MethodType:
            self.add_all((x.__func__, x.__self__))
        elif kind is partial:
            self.add_all((x.func, x.args, x.keywords))
        elif hasattr(x, "__dict__"):
            left_out = getattr(kind, "_untraced", ()) + (() if self.own else getattr(kind, "_numbers", ()))
            for name, value in vars(x).items():
                if name not in left_out and type(getattr(kind, name, None)) is not cached_property:
                    self.said.append(name)
                    self.add(value)
        else:
            raise UnknownError(kind)

    def add_all(self, parts) -> None:
        """Append their number, and each of them; raises as `add`."""
        self.said.append(len(parts))
        for part in parts:
            self.add(part)


def is_of_device(function) -> bool:
    """Whether it is a device function, which a decorator has made."""
    return getattr(function, engine.IS_FUNCTION, False)


def signature_of(arena, kernel, args: tuple, features: tuple) -> Signature | None:
    """The signature of what a kernel is given, None if there is none.

    Args:
        arena: in which it works.
        kernel: of Taichi.
        args: its arguments.
        features: what Taichi reads of those that are no templates.
    """
    found = Signature(arena.is_own)
    found.said += (kernel, arena.is_own, configuration().advanced_optimization)
    try:
        found.add(arena)
        for k, arg in enumerate(args):
            if k in kernel.template_slot_locations:
                found.add(arg)
            else:
                found.said.append(features[k])
    except UnknownError:
        return None
    return found


_kept: WeakKeyDictionary = WeakKeyDictionary()  # Taichi's program -> its kernels, by what their signatures say


def forget_traces() -> None:
    """Let the next run of each kind trace its kernels, while the device goes on."""
    _kept.clear()
    stub_notes.clear()


def traced(arena, kernel, args: tuple, key: tuple, features: tuple, of_all: Numbers | None = None) -> Traced:
    """A kernel for some arguments, traced and compiled if none is like it.

    Args:
        arena: in which it works.
        kernel: of Taichi.
        args: its arguments.
        key: Taichi's, of kernel and arguments.
        features: what Taichi reads of the arguments.
        of_all: numbers of all kernels of the arena, where they share them: then no other run has the same.
    """
    kernels = _kept.setdefault(program(), {})
    found = None if of_all else signature_of(arena, kernel, args, features)
    like = tuple(found.said) if found else None
    kept = kernels.get(like) if found else None
    if kept:
        tell(replace(kept.taken, origin=Origin.PROCESS, trace=0.0, compile=0.0))
        return Traced(key, kept.compiled, numbers_of(kept, arena, found))
    digest = stub_digest(found.said) if found else None
    if digest and (kept := taken_of_folder(arena, kernel, args, key, features, digest)):
        kernels[like] = kept
        return Traced(key, kept.compiled, numbers_of(kept, arena, found))
    numbers = of_all or Numbers(arena, arena.is_own)
    with listening(numbers), kernels_noted() as taken:
        materialize(kernel, key, args, features)
    compiled = engine.made_kernels(kernel)[key]
    if found and len(taken) == 1:
        places = found.places | {id(numbers): None}
        if all(id(owner) in places for entries in numbers.entries.values() for owner, _ in entries):
            entries = {kind: [(places[id(owner)], name) for owner, name in pairs] for kind, pairs in numbers.entries.items()}
            kernels[like] = _Kept(compiled, taken[0], entries)
            if digest:
                named = {kind.__name__: pairs for kind, pairs in entries.items()}
                with listening(Numbers(arena, arena.is_own)):
                    keep_stub(kernel, key, args, features, digest, taken[0].key, named)
    return Traced(key, compiled, numbers)


def taken_of_folder(arena, kernel, args: tuple, key: tuple, features: tuple, digest: str) -> _Kept | None:
    """A kernel that another process has traced, None if there is none; arguments as of `traced`."""
    with listening(Numbers(arena, arena.is_own)), kernels_noted() as taken:
        found = take_stub(kernel, key, args, features, digest)
    if found is None:
        return None
    compiled, note = found
    return _Kept(compiled, taken[0], {kind: note.entries[kind.__name__] for kind in (int, float)})


def numbers_of(kept: _Kept, arena, signature: Signature) -> Numbers:
    """The numbers that a kernel reads, of the objects of a signature."""
    numbers = Numbers(arena, arena.is_own)
    for kind, entries in kept.entries.items():
        numbers.entries[kind] = [(numbers if place is None else signature.objects[place], name) for place, name in entries]
    return numbers
