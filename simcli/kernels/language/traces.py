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
import sys
import time
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
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
from simcli.kernels.language.calls import Traced
from simcli.kernels.language.internals import PACKAGE, Func, Kernel, core, engine, own_materialize
from simcli.kernels.language.kernel_cache import DIGEST_DIGITS, StubNote, code_mark, text_digest
from simcli.kernels.language.kernel_session import KernelSession
from simcli.kernels.language.numbers import Numbers, listening
from simcli.release import traced_digest

# Whose code versions and digests vouch for.
_HOUSES = ("simcli.", f"{PACKAGE}.", "numpy.", "builtins.", "enum.", "types.", "functools.", "collections.")
_LOCAL = "<locals>"  # in the name of what a function has made
_DIGITS = 7  # hexadecimal, of a whole number of a stub
_APART = 1_000_000  # added to Taichi's number of some arguments: those of a stub that is not to be called
STUB_ARCHS = ("x64", "arm64")  # backends whose kernels have stubs

stub_notes: list[KernelSession] = []  # of the device that is started, if it keeps kernels


class _UnvouchedError(Exception):
    """A digest cannot vouch for something."""


def stub_digest(said: list) -> str | None:
    """Digest of what a signature says, the same in every process of this code; None if nothing vouches for a part of it."""
    settings = configuration()
    if not stub_notes or settings.arch.name not in STUB_ARCHS:
        return None
    facts = sys.version_info[:2], settings.arch.name, default_real(), settings.real_matrix_scalarize
    words = [traced_digest(), *map(str, facts)]
    try:
        words += map(_word_of, said)
    except _UnvouchedError:
        return None
    return code_mark() + text_digest("\0".join(words))[len(code_mark()) :]


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
    # A signature says what a function closes over, unless a decorator has made it.
    if isinstance(x, FunctionType) and not (
        _LOCAL in x.__qualname__ and (x.__defaults__ or x.__kwdefaults__ or is_of_device(x))
    ):
        return f"{_named(x)} {_word_of(x.__code__)}"
    if isinstance(x, BuiltinFunctionType) and isinstance(x.__self__, ModuleType | type(None)):
        return f"{x.__module__}.{x.__qualname__}"
    if kind.__module__ == core.__name__ or kind.__module__.startswith("numpy"):
        if " at 0x" not in (word := f"{kind.__name__} {x}"):
            return word
    raise _UnvouchedError(kind)


def _named(x) -> str:
    if not f"{x.__module__}.".startswith(_HOUSES):
        raise _UnvouchedError(x)
    return f"{x.__module__}.{x.__qualname__}"


def take_stub(arena, kernel, args: tuple, key: tuple, features: tuple, digest: str) -> "_Kept | None":
    """A kernel that another process has traced; Taichi has it as that of the arguments, which are those of `traced`.

    Args:
        digest: of its signature.

    Returns:
        None if there is none, or it is damaged: then it has to be traced.
    """
    note = stub_notes[0].note_of(digest)
    if note is None:
        return None
    start = time.perf_counter()
    with listening(Numbers(arena, arena.is_own)):
        made, code = _made(kernel, key, args, features, digest)
    if code != note.stub or origins_of(program()).get(code) is not Origin.FOLDER:
        stub_notes[0].forget_stub(code)
        del engine.made_kernels(kernel)[key]
        return None
    taken = KernelTaken(name_of(kernel), note.kernel, Origin.FOLDER, 0.0, time.perf_counter() - start)
    tell(taken)
    return _Kept(made, taken, note.entries)


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
    """A stub that Taichi has read or compiled, and its key; the kernel has it as that of the arguments.

    Its statements say the digest and nothing else.
    """
    words = [int(digest[_DIGITS * k :][:_DIGITS], 16) for k in range(DIGEST_DIGITS // _DIGITS)]
    with engine.other_body(ast.parse("; ".join(f"_{k} = {word}" for k, word in enumerate(words))).body):
        own_materialize(kernel, key, args, features)
    made = engine.made_kernels(kernel)[key]
    return made, look_up(made, compile_made(made))[1]


_PLAIN = (int, bool, str, bytes, type(None))
_THEMSELVES = (Enum, type, ModuleType, BuiltinFunctionType, np.dtype, Func, Kernel)


@dataclass
class _Kept:
    """A kernel for the runs to come.

    Attributes:
        compiled: Taichi's.
        taken: what was said of it.
        entries: of a `StubNote`.
    """

    compiled: object
    taken: KernelTaken
    entries: dict[str, list[tuple[int | None, str]]]


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
    digest = stub_digest(found.said) if found and not kept else None
    if digest and (kept := take_stub(arena, kernel, args, key, features, digest)):
        kernels[like] = kept
    if kept:
        return Traced(key, kept.compiled, numbers_of(kept, arena, found))
    numbers = of_all or Numbers(arena, arena.is_own)
    with listening(numbers), kernels_noted() as taken:
        materialize(kernel, key, args, features)
    compiled = engine.made_kernels(kernel)[key]
    if found and len(taken) == 1:
        places = found.places | {id(numbers): None}
        if all(id(owner) in places for entries in numbers.entries.values() for owner, _ in entries):
            entries = {
                kind.__name__: [(places[id(owner)], name) for owner, name in pairs]
                for kind, pairs in numbers.entries.items()
            }
            kernels[like] = _Kept(compiled, taken[0], entries)
            if digest:
                with listening(Numbers(arena, arena.is_own)):
                    keep_stub(kernel, key, args, features, digest, taken[0].key, entries)
    return Traced(key, compiled, numbers)


def numbers_of(kept: _Kept, arena, signature: Signature) -> Numbers:
    """The numbers that a kernel reads, of the objects of a signature."""
    numbers = Numbers(arena, arena.is_own)
    for kind in numbers.entries:
        numbers.entries[kind] = [
            (numbers if place is None else signature.objects[place], name) for place, name in kept.entries[kind.__name__]
        ]
    return numbers
