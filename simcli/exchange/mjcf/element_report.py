"""What became of each element of an MJCF file, and of the attributes that scenes have nothing for.

Each element has one entry. An attribute that is lost has one of its own, of the kind `geom@solref`, so that nothing is lost
in silence where the rest of an element is carried: `attributes` has the tables.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from simcli.exchange.import_report import ImportReport
from simcli.exchange.mjcf.attributes import LOST_DEFAULTS, LOST_ELEMENTS, NOTED_REASONS, lost_attributes
from simcli.exchange.mjcf.source import MjcfSource
from simcli.exchange.xml_reader import XmlElement

_FUSED = "is part of the body that holds it, by `fusestatic`"
_WATCHING = ("sensor", "camera")  # elements that move nothing
_UNUSED = "nothing uses it"
_NOTHING = "MuJoCo leaves it out of the model, or scenes have nothing for it"
# Elements that say nothing of their own: what stands in them, or takes their values, is told.
_HOLDERS = ("mujoco", "include", "compiler", "option", "flag", "default", "asset", "worldbody", "contact", "deformable",
            "actuator", "tendon", "equality", "sensor", "keyframe", "extension", "frame", "replicate", "composite",
            "inertial", "material")  # fmt: skip
_PATHS = ("fixed", "spatial")  # elements whose children are parts of them


@dataclass
class Fates:
    """What became of the parts of a compiled model.

    Attributes:
        lost: kind of part and index to why it is dropped.
        notes: kind of part and index to what changed.
        used: kinds of assets, with the indices that shapes use.
        fuses: whether MuJoCo makes bodies without joints part of those that hold them.
    """

    lost: dict[tuple[str, int], str]
    notes: dict[tuple[str, int], list[str]]
    used: dict[str, set[int]]
    fuses: bool = False


def report_elements(source: MjcfSource, fates: Fates, report: ImportReport) -> None:
    """Give a report an entry for each element of a file, and one for each attribute that is lost."""
    parts: dict[int, list[tuple[str, int]]] = {}
    for part, element in source.elements.items():
        parts.setdefault(id(element), []).append(part)
    for element, above in _with_ancestors(source.root):
        fate, why = _fate(element, above, parts, fates)
        name = _name(element, above)
        where, watches = (element.line, element.file), any(one.tag in _WATCHING for one in (*above, element))
        if fate == "dropped":
            report.dropped(element.tag, name, where[0], why, where[1], why in (*NOTED_REASONS, _UNUSED) or watches)
            continue
        if fate == "changed":
            report.changed(element.tag, name, where[0], why, where[1])
        else:
            report.carried(element.tag, name, *where)
        owner = next((one.tag for one in reversed(above) if one.tag != "include"), "")
        for key, reason in lost_attributes(element, owner):
            report.dropped(f"{element.tag}@{key}", name, where[0], reason, where[1], reason in NOTED_REASONS or watches)


def _with_ancestors(root: XmlElement) -> Iterator[tuple[XmlElement, tuple[XmlElement, ...]]]:
    waiting = [(root, ())]
    while waiting:
        element, above = waiting.pop()
        yield element, above
        waiting += [(one, (*above, element)) for one in reversed(element.children)]


def _fate(element: XmlElement, above: tuple, parts: dict, fates: Fates) -> tuple[str, str]:
    """(fate, why) of an element."""
    tags = [one.tag for one in above]
    for one in (*above, element):
        if one.tag in LOST_ELEMENTS:
            return "dropped", LOST_ELEMENTS[one.tag]
    if "default" in tags and element.tag in LOST_DEFAULTS:
        return "dropped", LOST_DEFAULTS[element.tag]
    if tags and tags[-1] in _PATHS:
        fate, why = _fate(above[-1], above[:-1], parts, fates)
        return (fate, why) if fate == "dropped" else ("carried", "")
    found = parts.get(id(element))
    if found is None and element.tag == "body" and fates.fuses and "worldbody" in tags:
        return "changed", _FUSED
    if found is None:
        is_held = element.tag in _HOLDERS or "default" in tags or "composite" in tags
        return ("carried", "") if is_held else ("dropped", _NOTHING)
    reasons = [_reason(part, fates) for part in found]
    if all(reasons):
        return "dropped", reasons[0]
    notes = list(dict.fromkeys(note for part in found for note in fates.notes.get(part, ())))
    return ("changed", "; ".join(notes)) if notes else ("carried", "")


def _reason(part: tuple[str, int], fates: Fates) -> str:
    """Why a part is dropped; "" if it is not."""
    kind, index = part
    if kind in fates.used and index not in fates.used[kind]:
        return _UNUSED
    return fates.lost.get(part, "")


def _name(element: XmlElement, above: tuple) -> str:
    names = (one.get("name") or one.get("class") for one in (element, *reversed(above)))
    return next(filter(None, names), "")
