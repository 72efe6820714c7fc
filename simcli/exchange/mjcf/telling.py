"""What became of each element of an MJCF file, and of the attributes that scenes have nothing for.

Each element has one entry. An attribute that is lost has one of its own, of the kind `geom@solref`, so that nothing is lost
in silence where the rest of an element is carried. What scenes learn to say leaves the tables below.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from simcli.exchange.mjcf.source import MjcfSource
from simcli.exchange.report import ImportReport
from simcli.exchange.xml_reader import XmlElement

_SOFT = "constraints and contacts of scenes are rigid, or have a stiffness in N/m"
_GAP = "MuJoCo finds contacts earlier by it, which have no force"
_NO_MEDIUM = "no medium acts on bodies: write forces of the type drag"
_DRAWN = "is for drawing, and scenes have nothing for it"
_DELAY = "drives act at once"
_SENSED = "is not taken from MuJoCo: see `simcli docs sensors`"
_ACTIVATION = "an activation is not bounded, and has one time constant"
_LATER = "a law of MuJoCo 4 that joints of scenes have not"

_CONSTRAINT = dict.fromkeys(("solref", "solimp"), _SOFT)
_JOINT = dict.fromkeys(("solreflimit", "solimplimit", "solreffriction", "solimpfriction"), _SOFT) | {
    "margin": "limits act where they are reached", "actuatorgravcomp": "gravity compensation is no part of a drive",
    "springyield": _LATER, "plasticity": _LATER}  # fmt: skip
_TENDON = _JOINT | {"armature": "couplings and springs have no inertia"}
_ACTUATOR = dict.fromkeys(("delay", "nsample", "interp"), _DELAY) | dict.fromkeys(
    ("actrange", "actlimited", "actearly", "actdim", "timeconst"), _ACTIVATION) | dict.fromkeys(
    ("damping", "armature"), _LATER)  # fmt: skip
# Attributes that are lost, by the tag of their element. Those whose numbers are all 0 say nothing.
LOST_ATTRIBUTES: dict[str, dict[str, str]] = {
    "geom": _CONSTRAINT | {"solmix": _SOFT, "gap": _GAP, "fluidshape": _NO_MEDIUM, "fluidcoef": _NO_MEDIUM,
                           "surfacevel": _LATER, "adhesion": _LATER},
    "pair": _CONSTRAINT | {"solreffriction": _SOFT, "gap": _GAP, "adhesion": _LATER},
    "joint": _JOINT,
    "option": dict.fromkeys(("density", "viscosity", "wind"), _NO_MEDIUM) | {
        "magnetic": "scenes have no magnetic sensors"},
    "material": dict.fromkeys(("texture", "texrepeat", "texuniform", "emission", "specular", "shininess", "reflectance",
                               "metallic", "roughness"), _DRAWN),
    "key": {"mpos": "kinematic bodies begin at their pose", "mquat": "kinematic bodies begin at their pose",
            "time": "runs begin at t = 0"},
    "sensor": {"noise": "MuJoCo does not apply it", "cutoff": "sensors are not clipped"} | dict.fromkeys(
        ("delay", "nsample", "interp"), _SENSED),
    "equality": _CONSTRAINT | {"torquescale": _SOFT},
    **dict.fromkeys(("fixed", "spatial"), _TENDON),
    **dict.fromkeys(("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion",
                     "dcmotor"), _ACTUATOR),
}  # fmt: skip

# Elements that are lost with all that stands in them, and why.
LOST_ELEMENTS: dict[str, str] = {
    "visual": _DRAWN, "light": _DRAWN, "texture": "scenes have no textures", "skin": "scenes have no skins",
    "statistic": "is found from the model", "custom": "holds data for other programs", "size": "sets the memory of MuJoCo",
    "plugin": "is code that a simulator loads", "layer": _DRAWN,
}  # fmt: skip
_FUSED = "is part of the body that holds it, by `fusestatic`"
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


def tell_elements(source: MjcfSource, fates: Fates, report: ImportReport) -> None:
    """Give a report an entry for each element of a file, and one for each attribute that is lost."""
    parts: dict[int, list[tuple[str, int]]] = {}
    for part, element in source.elements.items():
        parts.setdefault(id(element), []).append(part)
    for element, above in _with_ancestors(source.root):
        fate, why = _fate(element, above, parts, fates)
        name = _name(element, above)
        where = element.line, element.file
        if fate == "dropped":
            report.dropped(element.tag, name, where[0], why, where[1])
            continue
        if fate == "changed":
            report.changed(element.tag, name, where[0], why, where[1])
        else:
            report.carried(element.tag, name, *where)
        table = above[-1].tag if above and above[-1].tag in ("equality", "sensor") else element.tag
        table = "" if above and above[-1].tag in _PATHS else table
        for key, reason in LOST_ATTRIBUTES.get(table, {}).items():
            if key in element.attributes and not _is_nothing(element.get(key)):
                report.dropped(f"{element.tag}@{key}", name, where[0], reason, where[1])


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
        if one.tag in LOST_ELEMENTS and "default" not in tags:
            return "dropped", LOST_ELEMENTS[one.tag]
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
        return "nothing uses it"
    return fates.lost.get(part, "")


def _name(element: XmlElement, above: tuple) -> str:
    names = (one.get("name") or one.get("class") for one in (element, *reversed(above)))
    return next(filter(None, names), "")


def _is_nothing(text: str) -> bool:
    """Whether a text is numbers that are all 0, or says no."""
    try:
        return not any(float(word) for word in text.split())
    except ValueError:
        return text.strip() in ("false", "none", "auto")
