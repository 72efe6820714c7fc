"""Paths of a scene and the intervals in which they are searched: `forces.spring.stiffness=100..10000`.

The ends are written as in the scene, with units or without. Between them a search goes by factors (log) where both are
above 0 and at least LOG_FROM apart, else evenly; `K=linear(1..100)` and `K=log(1..2)` say it.
"""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcli.errors import Fault, SceneError, UsageError
from simcli.spec.document.overrides import SET, VARY, Override

if TYPE_CHECKING:
    from simcli.spec import Document, SceneSpec

# Verdicts cost channels, and are about the scene as it stands; one bad point shall not end the others.
QUIET = (Override(SET, "[]", "expect"), Override(SET, "isolate", "run.on_failure"))
LOG_FROM = 10.0  # ratio of the ends from which a search goes by factors
BOUNDS, FREE = "--bounds", "--free"
_SCALED = re.compile(r"\s*(linear|log)\s*\((.*)\)\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class Interval:
    """Where one number of a scene may lie.

    Attributes:
        path: dotted path in the scene.
        low: in SI.
        high: above it.
        is_log: whether it is gone through by factors.
        unit: of the number.
    """

    path: str
    low: float
    high: float
    is_log: bool
    unit: str

    @property
    def words(self) -> str:
        """How it is gone through."""
        return "log" if self.is_log else "linear"

    def at(self, part: np.ndarray | float) -> np.ndarray:
        """Values at parts of the interval, 0 to 1; both ends are met to the bit, and no value lies beyond them."""
        part = np.asarray(part, float)
        if self.is_log:
            value = np.exp(math.log(self.low) * (1.0 - part) + math.log(self.high) * part)
        else:
            value = self.low * (1.0 - part) + self.high * part
        value = np.where(part <= 0.0, self.low, np.where(part >= 1.0, self.high, value))
        return np.clip(value, self.low, self.high)


def read_intervals(scene: Path, sets: Sequence[str | Override], texts: Sequence[str], option: str = VARY) -> list[Interval]:
    """The intervals that an option names.

    Args:
        scene: whose paths they are.
        sets: overrides of it.
        texts: of the option, as `K=100..10000`.
        option: for messages.

    Raises:
        UsageError: a text is no interval.
        SceneError: a path leads nowhere, cannot vary, or an end has the wrong unit; places show the text.
    """
    from simcli.model.params import param_unit
    from simcli.pipeline.scenes import read_scene, refuse_unread

    split = [_parts(text, option) for text in texts]
    varied = [Override(VARY, f"{path}={ends}") for path, ends, _ in split]
    with said_of(option, texts):
        document, spec = read_scene(scene, (*sets, *QUIET, *varied))
        refuse_unread(document, spec)
    return [
        _interval(path, spec.batch.vary[path].grid or (), scale, param_unit(document, spec, path), f"{option} {text}")
        for text, (path, _, scale) in zip(texts, split, strict=True)
    ]


@contextmanager
def said_of(option: str, texts: Sequence[str], number: int = 0) -> Iterator[None]:
    """Let faults of the `--vary` that stand for an option of a search name that option, and show its texts as typed.

    Args:
        option: as "--free".
        texts: of its uses, or of its entries.
        number: of the text that the first `--vary` stands for, from 0.
    """
    try:
        yield
    except SceneError as error:
        if error.document is not None:
            error.document.keep(option, "\n".join(texts))
        told = [_said_of(fault, option, texts, number) for fault in error.faults]
        raise SceneError(told, error.document, error.spec) from None


def _said_of(fault: Fault, option: str, texts: Sequence[str], number: int) -> Fault:
    where = fault.where
    if where is None or where.file != VARY or not 0 < where.line + number <= len(texts):
        return fault
    text = texts[where.line + number - 1]
    key, equals, ends = text.partition("=")
    is_key = where.column <= len(key)
    column, length = (1, len(key)) if is_key or not equals else (len(key) + 2, len(ends))
    return replace(fault, where=replace(where, file=option, line=where.line + number, column=column, length=max(length, 1)))


def _parts(text: str, option: str) -> tuple[str, str, str]:
    """Path, `LOW, HIGH` and scale of a text."""
    path, equals, rest = text.partition("=")
    scaled = _SCALED.match(rest)
    scale, rest = (scaled[1], scaled[2]) if scaled else ("", rest)
    low, dots, high = (part.strip() for part in rest.partition(".."))
    if not (path.strip() and equals and low and dots and high):
        how = "write KEY=LOW..HIGH, as forces.spring.stiffness=100..10000, or KEY=log(LOW..HIGH)"
        raise UsageError(f"{option} {text}: {how}")
    return path.strip(), f"{low}, {high}", scale


def _interval(path: str, ends: tuple, scale: str, unit: str, text: str) -> Interval:
    if len(ends) != 2:
        raise UsageError(f"{text}: an interval has two ends, LOW..HIGH")
    if not all(isinstance(end, int | float) for end in ends):
        raise UsageError(f"{text}: `{path}` is a vector; name one number of it, as `{path}[0]`")
    low, high = map(float, ends)
    if not low < high:
        raise UsageError(f"{text}: the first end is the lower one")
    if scale == "log" and low <= 0.0:
        raise UsageError(f"{text}: an interval by factors (log) begins above 0")
    is_log = scale == "log" or (not scale and low > 0.0 and high >= LOG_FROM * low)
    return Interval(path, low, high, is_log, unit)


def read_single(scene: Path, sets: Sequence[str | Override], what: str) -> "tuple[Document, SceneSpec]":
    """The scene that a search is about.

    Args:
        scene: file.
        sets: overrides.
        what: is done, for messages.

    Raises:
        UsageError: it is a batch of its own.
        SceneError: it is invalid.
    """
    from simcli.pipeline import read_scene
    from simcli.spec import n_worlds

    document, spec = read_scene(scene, (*sets, *QUIET))
    paths = spec.batch.paths
    if paths or n_worlds(spec) > 1:
        varied = f"varies {', '.join(f'`{path}`' for path in paths)}" if paths else "has several worlds"
        raise UsageError(
            f"{scene}: {varied} (`batch`), and `simcli {what}` makes the batches itself: leave it out with "
            "--set batch={}, and fix what it varied with --set"
        )
    return document, spec
