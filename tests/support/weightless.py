"""Bodies without inertia of their own on joints of every type, and mechanisms of point masses."""

import json

import numpy as np

from simcli.spec.base import dofs
from simcli.spec.checks.joint_fields import JOINTS
from support.closed_loops import bennett
from support.joint_cells import AXIS, NEEDS

MATTER = {"point": "point", "rod": {"diag": [0, 0.1, 0.1]}}
ARM = [0.3, 0.15, 0.1]  # [m]
PACE = 0.4  # [rad/s, m/s] of every dof at the start
GRAVITY = [0.7, -0.4, -9.81]
SOFT = {"lower": 1.0, "upper": 2.0, "stiffness": 10.0, "damping": 0.2}  # beyond which it starts and stays
LAWS = {
    "damped": {"damping": 0.3},
    "driven": {"drive": {"mode": "position", "target": 1.0, "stiffness": 20.0, "damping": 1.0}, "armature": 0.1},
    "rubbed": {"friction": 0.5},
    "stopped": {"limit": SOFT},
}
POINT = {"mass": 1.0, "inertia": "point"}


def types_of(solver):
    """Types of joints that a solver takes and that can move along each of their coordinates."""
    return [kind for kind in dofs.TYPES if kind in JOINTS[solver].types - dofs.NONHOLONOMIC]


def alone(types, matter, prefix=""):
    """A body of a matter on each type of joint: bodies and joints by name; a joint is named after its type."""
    bodies = {f"{prefix}b_{kind}": {"mass": 1.2, "com": ARM, "inertia": MATTER[matter]} for kind in types}
    joints = {
        f"{prefix}{kind}": {
            "type": kind,
            "parent": "world",
            "child": f"{prefix}b_{kind}",
            **({"axis": AXIS[kind]} if kind in AXIS else {}),
            **NEEDS.get(kind, {}),
        }
        for kind in types
    }
    return bodies, joints


def moving(types, matter, prefix=""):
    """As `alone`, with a start at `PACE` in every coordinate."""
    bodies, joints = alone(types, matter, prefix)
    for joint in joints.values():
        n = len(dofs.TYPES[joint["type"]]) if joint["type"] != "d6" else 2
        joint |= {"qd": [PACE] * n} if n else {}
    return bodies, joints


def mean(a, b):
    """Arithmetic-geometric mean."""
    for _ in range(6):
        a, b = (a + b) / 2, (a * b) ** 0.5
    return a


def textbook(quarter):
    """A point mass on an arm that swings from rest at 1 rad to its lowest place in a quarter of its period [s].

        T = 2 pi sqrt(l/g) / AGM(1, cos(theta_0 / 2))

    Source: C. F. Gauss (1799), complete elliptic integral by the arithmetic-geometric mean.

    Returns:
        Body, joint, and the coordinate [rad] of the lowest place.
    """
    g, lowest = float(np.hypot(GRAVITY[0], GRAVITY[2])), float(-np.arctan2(GRAVITY[0], -GRAVITY[2]))
    length = g * (4 * quarter * mean(1.0, float(np.cos(0.5))) / (2 * np.pi)) ** 2
    return {"pose": {"xyz": [9, 0, -length]}, **POINT}, pinned("world", "textbook", [9, 0, 0], q=lowest + 1.0), lowest


def pinned(parent, child, at, **more):
    """A hinge about y."""
    return {"type": "revolute", "parent": parent, "child": child, "at": at, "axis": [0, 1, 0], **more}


def mechanisms():
    """Mechanisms that move by their joints alone.

    A double pendulum of points, one at the end of a chain, pendulums with laws, a four-bar with a point as coupler, and
    Bennett's linkage of rods without inertia about their axes.

    Returns:
        Bodies, joints and forces by name.
    """
    bodies = {
        "up": {"pose": {"xyz": [5, 0, -0.7]}, **POINT},
        "low": {"pose": {"xyz": [5, 0, -1.6]}, **POINT},
        "arm": {"pose": {"xyz": [5, 2, -0.5]}, "mass": 2.0, "inertia": {"diag": [0.2, 0.2, 0.02]}},
        "tip": {"pose": {"xyz": [5.4, 2, -1]}, **POINT},
        "crank": {"pose": {"xyz": [0, 5, 0.5]}, "mass": 1.0, "inertia": {"diag": [0.1, 0.1, 0.1]}},
        "coupler": {"pose": {"xyz": [1, 5, 1.4]}, **POINT},
        "rocker": {"pose": {"xyz": [2, 5, 0.6]}, "mass": 1.0, "inertia": {"diag": [0, 0.1, 0.1]}},
        **{name: {"pose": {"xyz": [0.5, 2 + k, 0]}, **POINT} for k, name in enumerate(LAWS)},
    }
    joints = {
        "p1": pinned("world", "up", [5, 0, 0], q=1.0),
        "p2": pinned("up", "low", [5, 0, -0.7], q=0.5, qd=1.0),
        "a1": pinned("world", "arm", [5, 2, 0], q=0.7),
        "a2": {
            "type": "universal",
            "parent": "arm",
            "child": "tip",
            "at": [5, 2, -1],
            "q": [0.1, 0.2],
            "axes": {"angular": [[0, 1, 0], [0, 0, 1]]},
        },
        "b1": pinned("world", "crank", [0, 5, 0], qd=2.0),
        "b2": pinned("crank", "coupler", [0, 5, 1]),
        "b3": pinned("coupler", "rocker", [2, 5, 1.2]),
        "b4": pinned("world", "rocker", [2, 5, 0]),
        **{name: pinned("world", name, [0, 2 + k, 0], **law) for k, (name, law) in enumerate(LAWS.items())},
    }
    forces = {
        "cord": {
            "type": "spring",
            "a": {"world": [6, 2, -1]},
            "b": {"body": "tip", "at": [0, 0, 0]},
            "stiffness": 30.0,
            "damping": 1.0,
        },
        "couple": {"type": "wrench", "body": "damped", "torque": [0.3, 0.5, 0.2], "force": [0, 0, 2], "at": [0.1, 0, 0.2]},
    }
    linkage = bennett()
    for body in linkage["bodies"].values():
        body["inertia"] = MATTER["rod"]
    return bodies | linkage["bodies"], joints | linkage["joints"], forces


def text(solver, bodies, joints, forces=None, more=""):
    """A scene without its first line: a line per body and per joint, in this order, from the second line on."""
    lines = ["bodies:", *(f"  {name}: {json.dumps(one)}" for name, one in bodies.items())]
    lines += ["joints:", *(f"  {name}: {json.dumps(one)}" for name, one in joints.items())]
    lines += ["forces:", *(f"  {name}: {json.dumps(one)}" for name, one in forces.items())] if forces else []
    return "\n".join([*lines, f"world: {{gravity: {GRAVITY}}}", f"solver: {{type: {solver}{more}}}"]) + "\n"
