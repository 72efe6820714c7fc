"""The pages of the fault codes: what is wrong, why it is refused, an example and its mended form."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

_KEY = re.compile(r"(\S+):(?:\s|$)")


@dataclass(frozen=True)
class Page:
    """One code.

    Attributes:
        code: as "SC204".
        title: one line.
        why: why it is refused and what to do.
        bad: text that has the fault, laid over the base scene; "" if no scene shows it.
        good: the mended text.
        whole: True if the examples are whole files.
        sets: overrides of the command line for the bad example.
        files: other files that the examples need.
        also: further codes that the bad example has.
        stage: "scene", "model", "check" (by that command alone) or "run": when it is found.
        advice: what to do, where there is no example.
    """

    code: str
    title: str
    why: str
    bad: str = ""
    good: str = ""
    whole: bool = False
    sets: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    stage: str = "scene"
    advice: str = ""

    def scene(self, text: str) -> str:
        """An example as a whole scene."""
        return text if self.whole else over(base(), text)

    def __str__(self) -> str:
        parts = [f"{self.code}: {self.title}", _wrap(self.why)]
        if self.sets:
            parts.append("For example:\n\n" + "\n".join(f"    --set {text}" for text in self.sets))
        elif self.bad:
            parts.append(f"For example:\n\n{_indent(self.bad)}")
        if self.good and not self.sets:
            parts.append(f"Fixed:\n\n{_indent(self.good)}")
        if self.advice:
            parts.append(_wrap(self.advice))
        return "\n\n".join(parts)


@cache
def _data() -> dict[str, Any]:
    text = files("simcli").joinpath("docs/codes.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def base() -> str:
    """The scene under every example."""
    return _data()["base"]


def codes() -> list[str]:
    """All codes."""
    return list(_data()["codes"])


def code_page(code: str) -> Page:
    """The page of a code.

    Raises:
        KeyError: there is no such code.
    """
    entry = dict(_data()["codes"][code.upper()])
    entry.pop("skip", None)
    entry["sets"] = tuple(entry.get("sets", ()))
    entry["also"] = tuple(entry.get("also", ()))
    return Page(code.upper(), **entry)


def over(under: str, text: str) -> str:
    """Lay top-level keys of a text over those of another."""
    names = {match.group(1) for line in text.splitlines() if (match := _KEY.match(line))}
    kept, keep = [], True
    for line in under.splitlines():
        match = _KEY.match(line)
        if match:
            keep = match.group(1) not in names
        if keep:
            kept.append(line)
    return "\n".join(kept) + "\n" + text


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.rstrip().splitlines())


def _wrap(text: str) -> str:
    import textwrap

    return textwrap.fill(text, 88)
