"""The list that collects every fault of a scene, and the nearest-name suggestion."""

import difflib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from simcli.errors import Fault, SceneError, UsageError, Where

_MANY = 100  # names that difflib compares in a few milliseconds
_LONGEST, _MOST = 200, 20_000  # of a name and of names that are compared: the cost is their product


class Faults:
    """Collects faults; raises them together.

    Attributes:
        found: the faults.
        of_schema: those of them that are no consequence of others.
        mends: place of a key to what would mend it.
        mended_sections: sections of which a mend leaves something unknown.
    """

    def __init__(self):
        self.found: list[Fault] = []
        self.of_schema: set[Fault] = set()
        self.mends: dict[tuple[str, int, int], object] = {}
        self.mended_sections: set[str] = set()
        self._seen: set[tuple] = set()

    def add(self, code: str, message: str, where: Where | None = None, hint: str = "", severity: str = "error") -> None:
        """Add a fault; one place has one fault of a code (a template's line is not reported per instance)."""
        key = (code, where.file, where.line, where.column) if where and where.line else (code, message)
        if key not in self._seen:
            self._seen.add(key)
            self.found.append(Fault(code, message, where, hint, severity))

    @property
    def errors(self) -> list[Fault]:
        """The faults that are not warnings."""
        return [fault for fault in self.found if fault.severity == "error"]

    def raise_if_any(self) -> None:
        """Raise SceneError with all faults if one of them is an error."""
        if self.errors:
            raise SceneError(in_order(self.found))


def in_order(faults: Iterable[Fault]) -> list[Fault]:
    """Faults by file, line and column; those without a place last. The order of files is that of their first fault."""
    files: dict[str, int] = {}
    for fault in faults:
        if fault.where:
            files.setdefault(fault.where.file, len(files))
    last = (len(files), 0, 0)
    return sorted(
        faults, key=lambda f: (files[f.where.file], f.where.line, f.where.column) if f.where and f.where.line else last
    )


def nearest_name(name: str, known: Iterable[str]) -> str:
    """The nearest known name, "" if none is near."""
    return _nearest(str(name), tuple(map(str, known)))


@lru_cache(maxsize=256)
def _nearest(name: str, names: tuple[str, ...]) -> str:
    if len(name) > _LONGEST or len(names) > _MOST:
        return ""
    folded = {item.lower().replace("-", "_"): item for item in reversed(names)}
    exact = folded.get(name.lower().replace("-", "_"))
    if exact:
        return exact
    if len(names) > _MANY:
        # Only names that share an end and nearly the length; difflib on all of them would take minutes per thousand.
        alike = (item for item in names if abs(len(item) - len(name)) <= 2)
        names = tuple(item for item in alike if item[:2] == name[:2] or item[-2:] == name[-2:])[:_MANY]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return close[0] if close else ""


def did_you_mean(name: str, known: Iterable[str], listing: str = "known") -> str:
    """A hint: the nearest name, else the first few names, else nothing."""
    names = list(known)
    close = nearest_name(name, names)
    if close:
        return f"did you mean `{close}`?"
    if not names:
        return ""
    shown = ", ".join(f"`{item}`" for item in names[:8])
    return f"{listing}: {shown}{', ...' if len(names) > 8 else ''}"


def suffix_of(path: Path, known: Sequence[str]) -> str:
    """The suffix of an output, in small letters: it says the format.

    Args:
        path: as given with -o.
        known: suffixes of formats, with their dot.

    Raises:
        UsageError: it is none of them; with the nearest one.
    """
    suffix = path.suffix.lower()
    if suffix in known:
        return suffix
    near = difflib.get_close_matches(suffix, known, n=1)
    guess = f"did you mean `{path.with_suffix(near[0])}`? " if near else ""
    names = f"{', '.join(known[:-1])} or {known[-1]}"
    raise UsageError(f"-o {path}: the suffix says the format; {guess}write a name that ends in {names}")
