"""What became of each element and attribute of an MJCF file: carried, or lost with the reason.

Each element has one entry. An attribute that is lost has one of its own, of the kind `geom@solref`, so that nothing is lost
in silence where the rest of an element is carried. An attribute that is in neither table is reported as one that the
importer does not know; a test asks MuJoCo for its schema and finds each attribute of it here. What scenes learn to say
moves from the second table to the first.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from simcli.exchange.mjcf.source import MjcfSource
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.xml_reader import XmlElement

_SOFT = "constraints and contacts of scenes are rigid, or have a stiffness in N/m"
_GAP = "MuJoCo finds contacts earlier by it, which have no force"
_NO_MEDIUM = "no medium acts on bodies: write forces of the type drag"
DRAWN = "is for drawing, and scenes have nothing for it"
_DELAY = "drives act at once"
_SENSED = "is not taken from MuJoCo: see `simcli docs sensors`"
_ACTIVATION = "an activation is not bounded, and has one time constant"
_LATER = "a law of MuJoCo 4 that joints of scenes do not have"
_SOLVER = "belongs to the solver of MuJoCo: see `simcli docs choosing`"
_EFFORT = "says how the solver of MuJoCo works, and where it stops"
_OVERRIDE = "says what all contacts of MuJoCo have: write it in each `geom` or `pair`"
_DATA = "holds data for other programs"
_GROUP = "is for viewers, and scenes have no groups of shapes"
_LENS = "cameras of scenes have an angle of view"
_KINEMATIC = "kinematic bodies begin at their pose"
_POWERS = "has coefficients after the first one, and laws of scenes are linear: the first one is carried"
_TEXTURE, _SKIN = "scenes have no textures", "scenes have no skins"
_FOUND, _MEMORY = "is found from the model", "sets the memory of MuJoCo"
_PICTURES = "pictures have the size that is asked for"
# Reasons of what is lost without which nothing moves otherwise.
NOTED_REASONS = frozenset((DRAWN, _DATA, _GROUP, _LENS, _TEXTURE, _SKIN, _FOUND, _MEMORY, _PICTURES, _EFFORT))
_UNKNOWN = "the importer does not know it"

_OTHERS = {"user": _DATA, "group": _GROUP}
_CONSTRAINT = dict.fromkeys(("solref", "solimp"), _SOFT)
_JOINT = _OTHERS | dict.fromkeys(("solreflimit", "solimplimit", "solreffriction", "solimpfriction"), _SOFT) | {
    "margin": "limits act where they are reached", "actuatorgravcomp": "gravity compensation is no part of a drive",
    "springyield": _LATER}
_TENDON = _JOINT | dict.fromkeys(("width", "material", "rgba"), DRAWN) | {
    "armature": "couplings and springs have no inertia"}
_ACTUATOR = {"user": _DATA} | dict.fromkeys(("delay", "nsample", "interp"), _DELAY) | dict.fromkeys(
    ("actrange", "actlimited", "actearly", "actdim"), _ACTIVATION)
_ACTUATORS = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "pid", "muscle")
# Attributes that are lost, by the tag of their element. Those that say nothing (`says_nothing`) are not.
LOST_ATTRIBUTES: dict[str, dict[str, str]] = {
    "geom": _OTHERS | _CONSTRAINT | {"solmix": _SOFT, "gap": _GAP, "fluidshape": _NO_MEDIUM, "fluidcoef": _NO_MEDIUM,
                                     "surfacevel": _LATER, "adhesion": _LATER, "castshadow": DRAWN},
    "pair": _CONSTRAINT | {"solreffriction": _SOFT, "gap": _GAP, "adhesion": _LATER},
    "joint": _JOINT, "freejoint": _OTHERS, "site": _OTHERS,
    "body": {"user": _DATA, "sleep": "bodies of scenes do not sleep"},
    "camera": {"user": _DATA, "output": DRAWN, "ipd": _LENS, "resolution": _PICTURES} | (
        dict.fromkeys(("principal", "principalpixel"), _LENS)),
    "option": dict.fromkeys(("density", "viscosity", "wind"), _NO_MEDIUM) | dict.fromkeys(
        ("ccd_iterations", "ccd_tolerance", "iterations", "jacobian", "ls_iterations", "ls_tolerance", "sdf_initpoints",
         "sdf_iterations", "solver", "tolerance"), _EFFORT) | dict.fromkeys(
        ("impratio", "noslip_iterations", "noslip_tolerance", "sleep_tolerance"), _SOLVER) | dict.fromkeys(
        ("o_friction", "o_margin", "o_solimp", "o_solref"), _OVERRIDE) | {
        "magnetic": "scenes have no magnetic sensors", "cone": "cones of friction are round in scenes"},
    "flag": dict.fromkeys(
        ("fwdinv", "invdiscrete", "island", "midphase", "speculative", "warmstart"), _EFFORT) | dict.fromkeys(
        ("autoreset", "diagexact", "eulerdamp", "ipc", "multiccd", "nativeccd", "refsafe"), _SOLVER) | {
        "override": _OVERRIDE, "sleep": "bodies of scenes do not sleep"},
    "material": dict.fromkeys(("texture", "texrepeat", "texuniform", "emission", "specular", "shininess", "reflectance",
                               "metallic", "roughness"), DRAWN),
    "mesh": dict.fromkeys(("normal", "texcoord", "smoothnormal"), DRAWN) | {
        "maxhullvert": "the hulls of scenes have all vertices"},
    "key": {"mpos": _KINEMATIC, "mquat": _KINEMATIC, "time": "runs begin at t = 0", "plastic": _LATER},
    "sensor": {"user": _DATA, "noise": "MuJoCo does not apply it", "cutoff": "sensors are not clipped"} | dict.fromkeys(
        ("delay", "nsample", "interp", "interval"), _SENSED),
    "equality": _CONSTRAINT | {"torquescale": _SOFT},
    **dict.fromkeys(("fixed", "spatial", "tendon"), _TENDON),
    **dict.fromkeys(_ACTUATORS, _ACTUATOR),
}
# Polynomials of which scenes have the first coefficient, by the tag of their element.
_POLYNOMIALS = dict.fromkeys(("joint", "fixed", "spatial", "tendon"), ("stiffness", "damping")) | dict.fromkeys(
    _ACTUATORS, ("damping",))

_PLACE = ("name", "class", "pos", "quat", "axisangle", "euler", "xyaxes", "zaxis")
_BOUND = ("range", "limited", "actuatorfrcrange", "actuatorfrclimited", "stiffness", "damping", "frictionloss")
_ON_TENDON = ("name", "class", *_BOUND, "springlength")
_DRIVE = ("name", "class", "group", "joint", "jointinparent", "tendon", "site", "refsite", "body", "cranklength",
          "cranksite", "slidersite", "lengthrange", "gear", "ctrlrange", "ctrllimited", "forcerange",
          "forcelimited", "damping", "armature")
_INPUTS = ("input", "velrange", "ffrange")  # names of controls; that an actuator has no such range is told of each
_SERVO = ("kp", "kv", "dampratio", "inheritrange")
# Attributes that a scene says, or that say to MuJoCo how it compiles the file, by the tag of their element.
CARRIED_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "mujoco": ("model",),
    "compiler": ("alignfree", "angle", "assetdir", "autolimits", "balanceinertia", "boundinertia", "boundmass", "conflict",
                 "coordinate", "discardvisual", "eulerseq", "fitaabb", "fusestatic", "inertiafromgeom", "inertiagrouprange",
                 "meshdir", "passthrough", "savecanonical", "savecompiled", "saveinertial", "settotalmass", "strippath",
                 "texturedir", "usethread"),
    "include": ("file",), "default": ("class",), "frame": (*_PLACE, "childclass"),
    "replicate": ("count", "sep", "offset", "euler", "childclass"),
    "option": ("actuatorgroupdisable", "gravity", "integrator", "timestep"),
    "flag": ("actuation", "clampctrl", "constraint", "contact", "damper", "energy", "equality", "filterparent",
             "frictionloss", "gravity", "limit", "sensor", "spring"),
    "body": (*_PLACE, "childclass", "gravcomp", "mocap", "fuse", "simple"),
    "inertial": (*_PLACE, "mass", "diaginertia", "fullinertia"),
    "joint": ("name", "class", *_BOUND, "type", "pos", "axis", "ref", "springref", "springdamper", "armature"),
    "freejoint": ("name", "align"),
    "geom": (*_PLACE, "type", "fromto", "size", "mass", "density", "shellinertia", "fitscale", "mesh", "hfield", "material",
             "rgba", "contype", "conaffinity", "condim", "priority", "friction", "margin"),
    "site": (*_PLACE, "type", "fromto", "size", "mesh", "material", "rgba"),  # the form is told of each site
    "camera": (*_PLACE, "mode", "target", "fovy", "focal", "focalpixel", "sensorsize", "projection"),
    "pair": ("name", "class", "geom1", "geom2", "condim", "friction", "margin"),
    "exclude": ("name", "body1", "body2"),
    "equality": ("name", "class", "active", "body1", "body2", "site1", "site2", "anchor", "relpose", "joint1", "joint2",
                 "tendon1", "tendon2", "polycoef"),
    **dict.fromkeys(("fixed", "spatial", "tendon"), _ON_TENDON),
    "path": ("joint", "coef", "site", "geom", "sidesite", "divisor"),
    "general": (*_DRIVE, "gaintype", "gainprm", "biastype", "biasprm", "dyntype", "dynprm", "inheritrange",
                *_INPUTS),
    "pid": (*_DRIVE, *_SERVO, *_INPUTS, "posrange", "ki", "imax", "slewmax"),  # with the last three it is dropped
    "motor": _DRIVE, "position": (*_DRIVE, *_SERVO, "timeconst"), "velocity": (*_DRIVE, "kv"),
    "intvelocity": (*_DRIVE, *_SERVO), "damper": (*_DRIVE, "kv"),
    "cylinder": (*_DRIVE, "area", "diameter", "bias", "timeconst"),
    "muscle": (*_DRIVE, "timeconst", "tausmooth", "range", "force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"),
    "lengthrange": ("mode", "useexisting", "uselimit", "accel", "maxforce", "timeconst", "timestep", "inttotal", "interval",
                    "tolrange"),
    "sensor": ("name", "site", "body", "joint", "camera", "data", "objtype", "objname", "reftype",
               "refname"),
    "key": ("name", "qpos", "qvel", "act", "ctrl"),
    "mesh": ("name", "class", "file", "content_type", "vertex", "face", "builtin", "params", "scale", "inertia", "refpos",
             "refquat", "material"),
    "hfield": ("name", "file", "content_type", "nrow", "ncol", "size", "elevation"),
    "material": ("name", "class", "rgba"),
}
# Words that say no more than what scenes have anyway, beside zeros.
_NO_WORDS = ("false", "none", "auto", "elliptic")
_ON_BY_DEFAULT = "enable"  # of flags of which MuJoCo has a bit that switches them off
_OFF_BY_DEFAULT = ("diagexact", "energy", "fwdinv", "invdiscrete", "ipc", "override", "sleep", "speculative")

# Whose 0 or `false` says something, because MuJoCo has another number where a file has none.
_NO_ZEROS = ("castshadow", "ccd_iterations", "ccd_tolerance", "impratio", "ipd", "iterations", "ls_iterations",
             "ls_tolerance", "metallic", "noslip_tolerance", "rgba", "roughness", "sdf_initpoints", "sdf_iterations",
             "shininess", "sleep_tolerance", "solmix", "specular", "texrepeat", "tolerance", "torquescale",
             "width")

# Elements that are lost with all that stands in them, and why.
LOST_ELEMENTS: dict[str, str] = {
    "visual": DRAWN, "light": DRAWN, "texture": _TEXTURE, "skin": _SKIN,
    "statistic": _FOUND, "custom": _DATA, "size": _MEMORY,
    "plugin": "is code that a simulator loads", "layer": DRAWN,
}
# Elements of `default` that only actuators take which scenes have not; the actuators have reasons of their own.
LOST_DEFAULTS = dict.fromkeys(("adhesion", "dcmotor", "orientation"), "scenes have no drive like it")


def lost_attributes(element: XmlElement, owner: str) -> list[tuple[str, str]]:
    """Attributes that are lost of an element that is carried, each with the reason.

    Args:
        element: of the file.
        owner: tag of the element that holds it; "" of the root.
    """
    table = owner if owner in ("equality", "sensor") else "path" if owner in ("fixed", "spatial") else element.tag
    if table not in CARRIED_ATTRIBUTES:
        return []
    lost, carried, found = LOST_ATTRIBUTES.get(table, {}), CARRIED_ATTRIBUTES[table], []
    for key, text in element.attributes.items():
        if key in _POLYNOMIALS.get(table, ()) and not says_nothing(key, " ".join(text.split()[1:])):
            found.append((key, _POWERS))
        elif key not in carried and not says_nothing(key, text):
            found.append((key, lost.get(key, _UNKNOWN)))
    return found


def says_nothing(key: str, text: str) -> bool:
    """Whether an attribute is numbers that are all 0, or a word for what holds without it."""
    if text in ("enable", "disable"):
        return (text == _ON_BY_DEFAULT) != (key in _OFF_BY_DEFAULT)
    if key in _NO_ZEROS:
        return False
    try:
        return not any(float(word) for word in text.split())
    except ValueError:
        return text.strip() in _NO_WORDS


_FUSED = "is part of the body that holds it, by `fusestatic`"
_WATCHING = ("sensor", "camera")  # elements that move nothing
_UNUSED = "nothing uses it"
_NOTHING = "MuJoCo leaves it out of the model, or scenes have nothing for it"
# Elements that say nothing of their own: what stands in them, or takes their values, is told.
_HOLDERS = ("mujoco", "include", "compiler", "option", "flag", "default", "asset", "worldbody", "contact", "deformable",
            "actuator", "tendon", "equality", "sensor", "keyframe", "extension", "frame", "replicate", "composite",
            "inertial", "material", "lengthrange")
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
        report.kept(element.tag, name, where[0], why, where[1])
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
