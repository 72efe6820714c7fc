"""Kernels that this process has traced: another run takes them if all that a trace can read of it is the same.

Taichi makes its program of a kernel's text anew for each object that it is given, compiled before or not: 0.1 to 1 s for a
step, and a compiled kernel of the folder becomes code of the machine anew in each program. Here objects are compared by
their signatures instead, in a few milliseconds: whatever can be reached from them, in one order, as classes, names, values
and functions. So a sweep, a run that is resumed, or the next scene of the same make begins at once. What another process
has traced is found by the digest of its signature (stubs.py).

Left out is what no trace reads: arrays of real numbers but for their types, because values are never part of a kernel, and
the attributes that a class names in `_untraced`; what follows from the rest and is there if somebody has asked for it
(`cached_property`); and, where numbers come from tables, the attributes in `_numbers`.
"""

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, partial
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from weakref import WeakKeyDictionary

import numpy as np

from simcli.kernels.language.backend import KernelTaken, Origin, configuration, kernels_noted, program, tell
from simcli.kernels.language.internals import Func, Kernel, core
from simcli.kernels.language.numbers import Numbers, listening
from simcli.kernels.language.stubs import keep_stub, stub_digest, stub_notes, take_stub

_PLAIN = (int, bool, str, bytes, type(None))
_THEMSELVES = (Enum, type, ModuleType, BuiltinFunctionType, np.dtype, Func, Kernel)


@dataclass
class Traced:
    """A kernel that can be launched.

    Attributes:
        compiled: Taichi's.
        numbers: that it reads.
    """

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
        elif kind is core.DataType or kind is slice or isinstance(x, np.generic):
            self.said += (kind, repr(x) if kind is slice else str(x) if kind is core.DataType else x.tobytes())
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
    return getattr(function, "_is_taichi_function", False)


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
        return Traced(kept.compiled, numbers_of(kept, arena, found))
    digest = stub_digest(found.said) if found else None
    if digest and (kept := taken_of_folder(arena, kernel, args, key, features, digest)):
        kernels[like] = kept
        return Traced(kept.compiled, numbers_of(kept, arena, found))
    numbers = of_all or Numbers(arena, arena.is_own)
    with listening(numbers), kernels_noted() as taken:
        kernel.materialize(key=key, args=args, arg_features=features)
    compiled = kernel.compiled_kernels[key]
    if found and len(taken) == 1:
        places = found.places | {id(numbers): None}
        if all(id(owner) in places for entries in numbers.entries.values() for owner, _ in entries):
            entries = {kind: [(places[id(owner)], name) for owner, name in pairs] for kind, pairs in numbers.entries.items()}
            kernels[like] = _Kept(compiled, taken[0], entries)
            if digest:
                named = {kind.__name__: pairs for kind, pairs in entries.items()}
                with listening(Numbers(arena, arena.is_own)):
                    keep_stub(kernel, key, args, features, digest, taken[0].key, named)
    return Traced(compiled, numbers)


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
