"""Every field of every joint type, in the tree and outside it, in one scene: a joint with the field beside one without.

A cell is a joint type and a field; its variant has the field, its base has not and is otherwise the same. Whether a solver
refuses the variant is seen by `check`; whether the field does something, by the difference of the two motions.
"""

import json
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from simcli.errors import SceneError
from simcli.model.from_scene import build_worlds
from simcli.spec import resolve
from simcli.spec.base import dofs
from simcli.spec.checks.drives import READS
from simcli.spec.loading import document_of_text
from simcli.spec.resolve import warnings
from simcli.spec.schema.joint import JointSpec, LimitSpec
from simcli.spec.schema.signals import DriveSpec

ROUNDS = 4  # faults of the text, of the schema's checks and of the model come one after another
START = 0.3  # [rad/s, m/s] of every dof at the start
GAINS = {"stiffness": 40.0, "damping": 3.0}
VALUES = {"target": 0.4, "target_velocity": 1.5, **GAINS}
SERVO = {"mode": "position", "target": 2.0, "stiffness": 500.0, "damping": 5.0}
LAG = {"time_constant": 0.03}  # [s]
NARROW = {"lower": -0.004, "upper": 0.004}
UP, DOWN = ({"drive": {"mode": "effort", "target": sign * 20.0}} for sign in (1, -1))  # runs into a bound within 60 ms
UNTWISTED = {"nc_floating", "nc_floating_revolute", "nc_floating_universal"}  # rotation is held, and weight turns no body
PLACES = {"distance": [0.0, 0.6, -0.8], "rolling": [0.0, 0.0, 0.2]}  # on their constraint equations
# Along these: a sphere, or the length would change; rolling, of the centre of mass of `Scene.joint`; the heading.
RATES = {"distance": [1, 0, 0, 0, 0, 0], "rolling": [0.4, 0, -0.1, 0, 1, 0], "knife_edge": [1, 0, 0, 0, 0, 0]}
HOLDING = ("compliance", "strength_ratio", "enabled")  # fields that say how a joint holds
AXIS = {name: [0.2, 1, 0.3] for name in dofs.AXIS}
NEEDS = {
    "d6": {"axes": {"linear": [[1, 0, 0]], "angular": [[0, 1, 0]]}},
    "universal": {"axes": {"angular": [[0, 1, 0], [0, 0, 1]]}},
    "screw": {"axis": [0, 1, 0.2], "pitch": 0.1},
    "distance": {"length": 1.0, "parent_frame": {"xyz": [0, 0, 1]}, "child_frame": {}},
    "rolling": {"axis": [0, 1, 0], "radius": 0.2, "parent_frame": {"xyz": [0, 0, -0.2]}, "child_frame": {}},
    "knife_edge": {"axis": [1, 0, 0], "parent_frame": {}, "child_frame": {}},
    "cable": {"stretch": 100.0, "bend": 1.0, "parent_frame": {"xyz": [0, 0, 0.1]}, "child_frame": {}},
    **{name: {"axis": [0, 1, 0], "parent_frame": {"xyz": [0, 0, 1]}, "child_frame": {}} for name in dofs.ORBITAL},
}


@dataclass(frozen=True)
class Field:
    """A field of a joint: its dotted name, what a joint says that lacks it, and what it says with it."""

    name: str
    without: dict
    having: dict


CURVE = {"speed": [0, 9], "effort": [0.5, 0.3]}  # [rad/s, m/s], [N m, N]


def drive_fields():
    """Each field of a drive in each mode, on top of gains that make the mode act."""
    for mode, read in READS.items():
        gains = {key: value for key, value in GAINS.items() if key in read}
        for key, value in VALUES.items():
            rest = {name: gain for name, gain in gains.items() if name != key}
            aim = {"stiffness": "target", "damping": "target_velocity"}.get(key)
            extra = {aim: VALUES[aim]} if aim in read and mode == "velocity" else {}
            with_key = {"mode": mode, **gains, **extra, key: value}
            yield Field(f"drive.{mode}.{key}", {"drive": {"mode": mode, **rest}} if rest else {}, {"drive": with_key})
        yield Field(f"drive.{mode}.effort_limit", {"drive": SERVO}, {"drive": {**SERVO, "effort_limit": 0.5}})
        yield Field(f"drive.{mode}.effort_limit_table", {"drive": SERVO}, {"drive": {**SERVO, "effort_limit_table": CURVE}})
        aimed = {"mode": mode, **gains, **({"target": VALUES["target"]} if "target" in read else {})}
        yield Field(f"drive.{mode}.activation", {"drive": aimed}, {"drive": {**aimed, "activation": LAG}})


def fields():
    """All fields of which a joint can have one or none."""
    soft = {**NARROW, "stiffness": 300.0}
    limits = [
        Field("limit.lower", DOWN, {**DOWN, "limit": {"lower": -0.004}}),
        Field("limit.upper", UP, {**UP, "limit": {"upper": 0.004}}),
        Field("limit.stiffness", {**UP, "limit": NARROW}, {**UP, "limit": soft}),
        Field("limit.damping", {**UP, "limit": soft}, {**UP, "limit": {**soft, "damping": 90.0}}),
        Field("limit.damping of a hard one", {"limit": NARROW}, {"limit": {**NARROW, "damping": 90.0}}),
        Field("limit.strength", {}, {"limit": {**NARROW, "strength": 50.0}}),
    ]
    values = {
        "damping": 2.0,
        "friction": 0.5,
        "armature": 3.0,
        "compliance": 1e-3,
        "enabled": False,
        "mimic": {"joint": "leader"},
        "motion.position": "$wave",
        "motion.velocity": 1.0,
        "init_angle": 0.1,
        "q": 0.2,
        "qd": 0.7,
        "strength_ratio": 1.0,
        "driving": {"aim_angle": 0.5, "is_constrained": True},
        "effort": 3.0,
        "effort.signal": "$wave",
        "torsion": 40.0,
    }
    plain = [Field("velocity_limit", UP, {**UP, "velocity_limit": 0.31})]
    for name, value in values.items():
        key, *below = name.split(".")
        plain.append(Field(name, {}, {key: {below[0]: value} if below else value}))
    return [*drive_fields(), *limits, *plain]


FIELDS = fields()
FORCES = {"effort": ("torque", "value"), "torsion": ("torsion", "stiffness")}  # fields that are forces: type, key
# Keys that say which joint it is rather than what acts on it, or are told by another field here.
STRUCTURE = {"type", "parent", "child", "at", "parent_frame", "child_frame", "axis", "axes", "loop", "length", "pitch"}
STRUCTURE |= {"normal", "tube"}
CABLE = {"stretch", "bend", "twist", "stretch_damping", "bend_damping", "twist_damping", "youngs", "poisson", "radius"}


def names_not_covered():
    """Fields of the schema that no cell is about."""
    told = {part for one in FIELDS for part in one.name.replace(" of a hard one", "").split(".")}
    keys = {*JointSpec.model_fields, *DriveSpec.model_fields, *LimitSpec.model_fields}
    return keys - told - STRUCTURE - CABLE - {"mode"}


@dataclass
class Scene:
    """A scene of cells.

    Attributes:
        cells: (type, field name, whether it closes a loop) to the names of the joints with and without the field.
        model: its tables, once nothing in it is refused.
        options: of the solver.
    """

    bodies: dict = field(default_factory=dict)
    joints: dict = field(default_factory=dict)
    forces: dict = field(default_factory=dict)
    cells: dict = field(default_factory=dict)
    known: dict = field(default_factory=dict)
    model: object = None
    options: object = None

    def joint(self, kind, keys, outside, twisted=False):
        """The name of a joint of a type with these keys; one joint for all cells that say the same."""
        text = f"{kind} {json.dumps(keys, sort_keys=True)} {outside} {twisted}"
        if text not in self.known:
            name = self.known[text] = f"j{len(self.known)}"
            self.bodies[name] = {"mass": 1.2, "com": [0.1, 0.15, 0.2], "inertia": {"diag": [0.1, 0.2, 0.25]}}
            acts = {key: value for key, value in keys.items() if key in FORCES}
            said = {key: value for key, value in keys.items() if key not in FORCES}
            self.joints[name] = self.keys(kind, name, said, outside)
            for key, value in acts.items():
                self.forces[name] = self.force(kind, name, key, value)
            if twisted:
                self.forces[name] = {"type": "wrench", "body": name, "torque": [3.0, 5.0, 4.0]}
        return self.known[text]

    def force(self, kind, name, key, value):
        """A force on each dof of a joint: a number, or a signal."""
        force, of_value = FORCES[key]
        value = value["signal"] if isinstance(value, dict) else value
        return {"type": force, "joint": name, of_value: [value] * (len(dofs.TYPES[kind]) if kind != "d6" else 2)}

    def keys(self, kind, name, keys, outside):
        """All keys of a joint."""
        n = len(dofs.TYPES[kind]) if kind != "d6" else 2
        joint = {
            "type": kind,
            "parent": "world",
            "child": name,
            **({"axis": AXIS[kind]} if kind in AXIS else {}),
            **NEEDS.get(kind, {}),
        }
        if kind == "distance":  # it takes no drive: its weight brings it to a bound
            if keys.get("drive") in (UP["drive"], DOWN["drive"]):
                joint["parent_frame"] = {"xyz": [0, 0, 1.0 if keys["drive"] == UP["drive"] else -1.0]}
                keys = {key: value for key, value in keys.items() if key != "drive"}
            if "limit" in keys:
                joint.pop("length")
                keys = {**keys, "limit": {k: 1 + v if k in ("lower", "upper") else v for k, v in keys["limit"].items()}}
        if outside:
            joint["loop"] = True
        elif (
            n
            and not {"motion", "driving", "enabled"} & set(keys)
            and kind not in (*dofs.NEVER_TREE, "free", *dofs.BESIDE_ROWS)
        ):
            joint["qd"] = [START] * n
        keys = dict(keys)
        if "q" in keys or "qd" in keys:
            keys = self.start(kind, n, keys)
        return joint | keys

    def start(self, kind, n, keys):
        """Coordinates and rates at the start, of as many numbers as the joint has."""
        n_q = dofs.n_q(kind, n)
        if "q" in keys and n_q > n:
            place = PLACES.get(kind, [0.0] * (n_q - 4))
            return {"q": [*place, 0.0, 0.6, 0.0, 0.8]}
        if "qd" in keys and kind in RATES:
            return {"qd": [keys["qd"] * one for one in RATES[kind]]}
        return {key: [value] * max(n_q if key == "q" else n, 1) for key, value in keys.items()}  # none would say nothing

    def text(self, solver):
        """The scene as text."""
        return json.dumps(
            {
                "simcli": 1,
                "world": {"gravity": [0.7, -0.4, -9.81]},
                "bodies": self.bodies,
                "joints": self.joints,
                "forces": self.forces,
                "signals": {"wave": {"sine": {"amplitude": 0.3, "frequency": 2.0}}},
                "solver": {"type": solver, "dt": 1e-3},
                "run": {"duration": 0.06},
                "output": {"every": 0.06},
            },
            separators=(",\n", ": "),
        )


def build(skip=frozenset()):
    """A scene of all cells but some: (type, field name, whether it closes a loop)."""
    scene = Scene()
    for kind, one, outside in product(dofs.TYPES, FIELDS, (False, True)):
        if (kind, one.name, outside) in skip:
            continue
        having, twisted = dict(one.having), one.name in HOLDING and kind in UNTWISTED
        if "mimic" in having:  # a leader that moves otherwise than the base
            having["mimic"] = {"joint": scene.joint(kind, {} if kind in dofs.NO_DOFS else {"damping": 1.0}, outside)}
        if "driving" in having and kind in ("prismatic", "nc_prismatic"):
            having["driving"] = {"aim_distance": 0.5, "is_constrained": True}
        pair = tuple(scene.joint(kind, keys, outside, twisted) for keys in (having, one.without))
        scene.cells[kind, one.name, outside] = pair
    return scene


def told(scene, solver):
    """What `check` says of each joint: name to faults and warnings. A fault elsewhere is an error of the scene of cells.

    Sets the model and the options of the scene if it has no fault.
    """
    document = document_of_text(scene.text(solver), "cells.yaml")
    try:
        spec = resolve(document)
        found = warnings(document)
        scene.model, scene.options = build_worlds(document, spec, None), spec.solver
    except SceneError as error:
        found = error.faults
    by_joint = {}
    for fault in found:
        section, _, path = fault.where.path.partition(".")
        assert section in ("joints", "forces"), fault
        by_joint.setdefault(path.split(".")[0], []).append(fault)
    return by_joint


@cache
def judged(solver):
    """The cells that a solver takes, in a scene of their own, and what is said of the others.

    Returns:
        the scene; cells to the faults and warnings of the joint that has the field.
    """
    refused = {}
    for _ in range(ROUNDS):
        scene = build(frozenset(refused))
        by_joint = told(scene, solver)
        new = {cell: by_joint[pair[0]] for cell, pair in scene.cells.items() if pair[0] in by_joint}
        bases = {cell for cell, pair in scene.cells.items() if pair[1] in by_joint and cell not in new}
        assert not bases, f"cells with a base that is refused: {sorted(bases)[:5]}"
        if not new:
            return scene, refused
        refused |= new
    raise AssertionError(f"faults after {ROUNDS} rounds: {refused}")
