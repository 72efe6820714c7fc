"""One body per joint type and law, side by side in one scene, so that all of them move alike.

Every dof with inertia M has forces M times those of a law for unit mass, in a tree without gravity and with centres of mass
on the axes: then one closed form serves all dofs of all joints. Worlds may scale the loads and the starting rates.
"""

import json
from dataclasses import dataclass, field

import numpy as np

MASS, SPIN = 2.0, 0.5  # [kg], [kg m^2] about every axis
PITCH = 0.5  # [m] per turn
COMPLIANCE = 1e-3  # [m/N, rad/(N m)]
X, Y, Z = np.eye(3).tolist()
WAVE = (0.5, 1.0)  # amplitude, frequency [Hz] of prescribed motions
RATIO, OFFSET = -1.5, 0.2  # of gears
OVER = 2 * np.pi / PITCH


@dataclass(frozen=True)
class Dof:
    """What is seen of a joint: index in joint_qd, "L" or "A", direction, and whether it turns with the body."""

    index: int
    letter: str
    along: list
    follows: bool = False

    def inertia(self, kind):
        """Of the dof alone."""
        if kind == "screw":
            return SPIN + MASS / OVER**2
        return MASS if self.letter == "L" else SPIN


@dataclass(frozen=True)
class Kind:
    """A joint type: its keys, its dofs that are seen and how many there are."""

    keys: dict
    dofs: list
    n: int


KINDS = {
    "revolute": Kind({"axis": Z}, [Dof(0, "A", Z)], 1),
    "prismatic": Kind({"axis": X}, [Dof(0, "L", X)], 1),
    "ball": Kind({}, [Dof(1, "A", Y)], 3),
    "d6": Kind({"axes": {"linear": [X], "angular": [Z]}}, [Dof(0, "L", X), Dof(1, "A", Z)], 2),
    "universal": Kind({"axes": {"angular": [Z, Y]}}, [Dof(0, "A", Z), Dof(1, "A", Y, True)], 2),
    "cylindrical": Kind({"axis": X}, [Dof(0, "L", X), Dof(1, "A", X)], 2),
    "planar": Kind({"axis": Z}, [Dof(0, "L", X), Dof(1, "L", Y), Dof(2, "A", Z)], 3),
    "screw": Kind({"axis": Z, "pitch": PITCH}, [Dof(0, "A", Z)], 1),
    "free": Kind({}, [Dof(2, "L", Z), Dof(5, "A", Z)], 6),
    "distance": Kind({"parent_frame": {"xyz": [0, 0, -1]}, "child_frame": {}}, [Dof(2, "L", Z), Dof(5, "A", Z)], 6),
    "fixed": Kind({}, [], 0),
    "point_on_line": Kind({"axis": Z}, [], 4),
    "point_on_plane": Kind({"axis": Z}, [], 5),
}
FAR = {"distance": {"limit": [0, 100]}}  # where the law is not about the distance


@dataclass(frozen=True)
class Law:
    """A law of one coordinate, for unit inertia.

    Attributes:
        field: of the table.
        keys: of the joint, from a function of an inertia and a type.
        load: [1/s^2] from outside.  start: [1/s] at the start.
        tree, loop: "-type" for types that do not show it there, empty for none that do; None: all that the table says.
    """

    field: str
    keys: object
    load: float = 0.0
    start: float = 0.0
    tree: tuple | None = None
    loop: tuple | None = None


def drive(mode, **values):
    """A drive for unit inertia; targets are not scaled but those of efforts."""
    scaled = ("stiffness", "damping", "effort_limit") + (("target",) if mode == "effort" else ())
    return lambda M: {"drive": {"mode": mode, **{k: v * M if k in scaled else v for k, v in values.items()}}}


def bound(lower, upper, **soft):
    return lambda M: {"limit": {"lower": lower, "upper": upper, **{k: v * M for k, v in soft.items()}}}


ONE_IN_TREE = ("prismatic", "cylindrical")  # types whose gears outside the tree join one joint of it
ONLY_TREE, ONLY_LOOP = {"loop": ()}, {"tree": ()}
NOT_OF_LENGTHS = {"tree": ("-distance",), "loop": ("-distance",)}
SERVO = {"stiffness": 50.0, "damping": 5.0, "target": 1.0}  # 10 kg with 500 N/m, 50 N s/m
LAWS = {
    "upper": Law("limit", bound(-0.5, 0.25), load=1.0, start=0.6),
    "lower": Law("limit", bound(-0.25, 0.5), load=-1.0, start=-0.6),
    "soft": Law("limit", bound(-0.5, 0.0, stiffness=100.0), load=2.0, tree=("-distance",), **ONLY_TREE),
    "soft_loop": Law("limit", bound(-0.5, 0.0, stiffness=100.0, damping=20.0), load=2.0, loop=("-distance",), **ONLY_LOOP),
    "servo": Law("drive", drive("position", **SERVO)),
    "pace": Law("drive", drive("velocity", damping=4.0, target_velocity=2.0)),
    "follow": Law("drive", drive("position_velocity", **SERVO, target_velocity=0.3)),
    "thrust": Law("drive", drive("effort", target=2.0)),
    "brake": Law("friction", lambda M: {"friction": 4.0 * M}, load=1.0, start=1.2),
    "stick": Law("friction", lambda M: {"friction": 4.0 * M}, load=3.9),
    "slip": Law("friction", lambda M: {"friction": 1.5 * M}, load=4.0),
    "damper": Law("damping", lambda M: {"damping": 3.0 * M}, load=2.0, start=1.5),
    "heavy": Law("armature", lambda M: {"armature": 0.5 * M}, load=1.5, start=0.3),
    "fast": Law("velocity_limit", lambda M: {"velocity_limit": 0.9}, load=3.0),
    "weak": Law("effort_limit", drive("position", **SERVO, effort_limit=6.0)),
    "geared": Law("mimic", lambda M: {}, load=6.5),
    "led": Law("motion", lambda M: {"motion": {"position": "$wave"}}),
    "gives": Law("compliance", lambda M: {"compliance": COMPLIANCE}),
    "off": Law("enabled", lambda M: {"enabled": False}),
}
# Besides, where the order of convergence is looked at: a limit of a drive that nothing reaches, which changes nothing, and
# soft limits that a coordinate runs into.
SMOOTH_LAWS = {
    "calm": Law("effort_limit", drive("position", **SERVO, effort_limit=1e3)),
    "bump": Law("limit", bound(-0.5, 0.1, stiffness=100.0, damping=4.0), start=0.6, **NOT_OF_LENGTHS),
}
STILL = {"position": 0.0}  # of the dofs of a ball that a motion turns about one axis
PER_DOF = ("limit", "drive", "damping", "friction", "armature", "velocity_limit")
# Where a joint lets a body not go: a direction of a force and one of a torque.
HELD = {
    "revolute": (X, X),
    "prismatic": (Y, X),
    "ball": (X, None),
    "d6": (Y, X),
    "universal": (X, X),
    "cylindrical": (Y, Y),
    "planar": (Z, X),
    "screw": (X, X),
    "fixed": (X, Y),
    "distance": (Z, None),
    "point_on_line": (X, None),
    "point_on_plane": (Z, None),
}
PUSH, TWIST = 3.0, 1.5  # [N], [N m]


def types_of(law, supported, place):
    """Joint types that show a law in the tree or in a loop."""
    told = getattr(law, place)
    types = [kind for kind in KINDS if kind in getattr(supported, place)[law.field]]
    if told is None:
        return types
    return [kind for kind in types if f"-{kind}" not in told] if told else []


@dataclass
class Forest:
    """The scene: bodies, joints and forces by name; `seen` lists (law, type, place, name of the joint)."""

    bodies: dict = field(default_factory=dict)
    joints: dict = field(default_factory=dict)
    forces: dict = field(default_factory=dict)
    seen: list = field(default_factory=list)

    def add(self, law_name, law, kind, place):
        name = f"{law_name}_{kind}_{place}"
        self.seen.append((law_name, kind, place, name))
        self.bodies[name] = {"mass": MASS, "inertia": {"diag": [SPIN] * 3}}
        if law.field in ("compliance", "enabled"):
            self.add_held(name, law, kind)
            return
        joint = {"type": kind, "parent": "world", "child": name, **KINDS[kind].keys, **self.keys_of(law, kind)}
        if kind == "distance" and law.field != "limit":
            joint |= FAR["distance"]
        self.joints[name] = joint
        start = [[0.0] * 3, [0.0] * 3]
        for dof in KINDS[kind].dofs:
            if kind == "distance" and law.field == "limit" and dof.letter == "A":
                continue
            side = 0 if dof.letter == "L" else 1
            start[side] = np.add(start[side], np.multiply(dof.along, law.start)).tolist()
            self.load(f"{name}_{dof.index}", name, dof, law.load * dof.inertia(kind))
        if kind == "screw":
            start[0] = np.divide(start[1], OVER).tolist()
        if place == "loop":
            joint["loop"] = True
            if law.field != "motion":  # which says the velocity itself
                self.bodies[name]["velocity"] = {
                    k: [scaled("kick", x) for x in v] for k, v in zip(("linear", "angular"), start, strict=True)
                }
        elif law.start:
            rates = [0.0] * KINDS[kind].n
            for dof in KINDS[kind].dofs:
                rates[dof.index] = 0.0 if law.field == "limit" and kind == "distance" and dof.letter == "A" else law.start
            joint["qd"] = [scaled("kick", x) for x in rates]
        if law.field == "mimic":
            self.add_follower(name, kind, place)

    def keys_of(self, law, kind):
        """Keys of the joint, dof by dof."""
        if kind == "distance" and law.field == "limit":
            limit = law.keys(1.0)["limit"]
            return {"limit": [1 + limit["lower"], 1 + limit["upper"]]}
        out = {}
        for dof in KINDS[kind].dofs:
            for key, value in law.keys(dof.inertia(kind)).items():
                if key == "motion" and kind == "ball":
                    out[key] = [value if k == dof.index else STILL for k in range(KINDS[kind].n)]
                    continue
                if key not in PER_DOF:
                    out[key] = value
                    continue
                none = 0.0 if key in ("damping", "friction", "armature") else None
                if key == "drive" and kind == "ball":  # its three stiffnesses are the same
                    none = {**value, "target": 0.0, **({"target_velocity": 0.0} if "target_velocity" in value else {})}
                out.setdefault(key, [none] * KINDS[kind].n)[dof.index] = value
        return out

    def load(self, force, body, dof, size):
        if size:
            key = "force" if dof.letter == "L" else "torque"
            values = [scaled("load", size * x) for x in dof.along]
            self.forces[force] = {"type": "wrench", "body": body, key: values, "frame": "body" if dof.follows else "world"}

    def add_follower(self, name, kind, place):
        """A second body whose joint follows. Outside the tree the first is held where it is."""
        self.bodies[f"{name}_after"] = {key: value for key, value in self.bodies[name].items() if key != "velocity"}
        self.joints[f"{name}_after"] = {
            "type": kind,
            "parent": "world",
            "child": f"{name}_after",
            **KINDS[kind].keys,
            "mimic": {"joint": name, "ratio": RATIO, "offset": OFFSET},
        }
        if place == "tree":
            self.joints[f"{name}_after"]["q"] = [OFFSET] * KINDS[kind].n
            return
        self.joints[f"{name}_carrier"] = {"type": "free", "parent": "world", "child": name, "q": [0, 0, 0, 0, 0, 0, 1]}
        self.joints[f"{name}_after"]["loop"] = kind not in ONE_IN_TREE

    def add_held(self, name, law, kind):
        """A body on dampers that a loop joint holds, or would hold if it were on, against a force and a torque."""
        damped = [2 * np.sqrt(MASS / COMPLIANCE)] * 3 + [2 * np.sqrt(SPIN / COMPLIANCE)] * 3
        self.joints[f"{name}_carrier"] = {
            "type": "free",
            "parent": "world",
            "child": name,
            "damping": damped if law.field == "compliance" else 0,
        }
        keys = KINDS[kind].keys | ({"length": 1} if kind == "distance" else {})
        self.joints[name] = {"type": kind, "parent": "world", "child": name, "loop": True, **keys, **law.keys(1.0)}
        along, about = HELD[kind]
        self.forces[f"{name}_push"] = {"type": "wrench", "body": name, "force": [scaled("load", PUSH * x) for x in along]}
        if about:
            self.forces[f"{name}_twist"] = {
                "type": "wrench",
                "body": name,
                "torque": [scaled("load", TWIST * x) for x in about],
            }


def scaled(name, value):
    return f"${{{name}*({value!r})}}" if value else 0.0


def forest(supported, places=("tree", "loop"), without=(), laws=LAWS):
    """All laws of all joints that a solver supports, but for some types and fields."""
    out = Forest()
    for name, law in laws.items():
        for place in places if law.field not in without else ():
            for kind in types_of(law, supported, place):
                if kind not in without:
                    out.add(name, law, kind, place)
    out.bodies["cart"] = {"mass": 10, "inertia": {"diag": [1, 1, 1]}}
    out.joints["rail"] = {
        "type": "prismatic",
        "parent": "world",
        "child": "cart",
        "axis": X,
        "drive": {"mode": "position", "target": 1, "stiffness": 500, "damping": 50},
    }
    return out


def write(path, built):
    amplitude, frequency = WAVE
    scene = {
        "simcli": 1,
        "params": {"load": 1.0, "kick": 1.0},
        "world": {"gravity": [0, 0, 0]},
        "bodies": built.bodies,
        "joints": built.joints,
        "forces": built.forces,
        "signals": {"wave": {"sine": {"amplitude": amplitude, "frequency": frequency}}},
        "solver": {"type": "generalized"},
        "output": {"channels": ["state", "energy", "reactions"]},
    }
    path.write_text(json.dumps(scene, indent=1))
    return path


def coordinates(run, name, kind):
    """Coordinates and rates of the dofs that are seen, (F, dofs), world 0; of a distance joint beyond where it starts."""
    joint = run.joint(name)
    return seen_of(joint.q[:][:, 0], joint.qd[:][:, 0], kind)


def seen_of(q, qd, kind):
    """`coordinates` from the columns of a joint, (F, n)."""
    n = KINDS[kind].n
    if kind == "ball":
        return (2 * np.arctan2(q[:, 1], q[:, 3]))[:, None], qd[:, 1:2]
    if n == 6:
        return np.stack([q[:, 2] - q[0, 2], 2 * np.arctan2(q[:, 5], q[:, 6])], axis=1), qd[:, [2, 5]]
    return q, qd
