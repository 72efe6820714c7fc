"""Random chains with everything that takes, keeps and gives energy, as dictionaries; and what of them a mode takes.

All elements are drawn on their own, so that pairs of them meet in some scene. Those that switch, as dry friction, hard
limits and contacts, come last.
"""

import copy

import numpy as np
import yaml

from simcli.errors import SceneError
from support.forward import model_of

N_BODIES, APART = 4, 0.5  # [m]
KINDS = ("revolute", "prismatic", "revolute", "ball", "universal", "cylindrical", "screw")
N_RATES = {"revolute": 1, "prismatic": 1, "ball": 3, "universal": 2, "cylindrical": 2, "screw": 1}
SIGNALS = ("s1", "s2", "way")


class Draw:
    """Numbers of one scene."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def number(self, low, high) -> float:
        return round(float(self.rng.uniform(low, high)), 3)

    def vector(self, size) -> list[float]:
        return [self.number(-size, size) for _ in range(3)]

    def says(self, chance) -> bool:
        return bool(self.rng.random() < chance)

    def one_of(self, things):
        return things[int(self.rng.integers(len(things)))]


def smooth_scene(seed: int) -> dict:
    """A chain of bodies, on the world or on a kinematic body, with laws, forces, motions, gears and a loop."""
    draw = Draw(seed)
    bodies, joints, parent = {}, {}, "world"
    if draw.says(0.6):
        parent = "led"
        bodies["led"] = {
            "kinematic": True,
            "mass": 1.0,
            "com": draw.vector(0.2),
            "inertia": {"diag": [0.1, 0.15, 0.2]},
            "motion": {
                "linear": ["$s1", 0.0, draw.number(-0.5, 0.5)],
                "angular": [draw.number(-1, 1), "$s2", draw.number(-1, 1)],
            },
        }
    root = parent
    for k in range(N_BODIES):
        bodies[f"b{k}"] = {
            "pose": {"xyz": [APART * k, 0.0, 0.0]},
            "mass": draw.number(0.5, 2),
            "com": [draw.number(0.1, 0.4), draw.number(-0.2, 0.2), draw.number(-0.2, 0.2)],
            "inertia": {"diag": [draw.number(0.06, 0.08) for _ in range(3)]},
        }
        joints[f"j{k}"] = {"parent": parent, "child": f"b{k}", "at": [APART * k, 0.0, 0.0], **_joint(draw, k)}
        parent = f"b{k}" if k != 1 or draw.says(0.7) else root
    _gear(draw, joints)
    _close(draw, joints, root)
    sines = {"s1": (draw.number(0.5, 2), 1.0), "s2": (draw.number(0.5, 2), 2.0), "way": (0.4, 1.5)}
    signals = {
        name: {"sine": {"amplitude": size, "frequency": rate, "phase": draw.number(0, 3)}}
        for name, (size, rate) in sines.items()
    }
    return {
        "bodies": bodies,
        "joints": joints,
        "forces": _forces(draw, "led" if "led" in bodies else None, joints),
        "signals": signals,
    }


def _joint(draw: Draw, k: int) -> dict:
    kind = draw.one_of(KINDS) if k else "revolute"
    joint = {"type": kind}
    if kind == "ball":
        return joint | ({"damping": draw.number(0.1, 0.5)} if draw.says(0.5) else {})
    if kind == "universal":
        joint["axes"] = {"angular": [[1.0, draw.number(-0.5, 0.5), 0.0], [0.0, 0.0, 1.0]]}
    else:
        joint["axis"] = [draw.number(-1, 1), draw.number(-1, 1), 1.0]
    if kind == "screw":
        joint["pitch"] = draw.number(0.5, 1)
    n = N_RATES[kind]
    if draw.says(0.5):
        joint["armature"] = _each(n, lambda: draw.number(0.05, 0.3))
    which = draw.rng.integers(6)
    joint["qd"] = _each(n, lambda: draw.number(-1, 1))
    if which == 0 and n == 1:
        joint |= {"motion": {"position": "$way"}}
        joint.pop("qd")
    elif which == 1 and n == 1:
        joint |= {
            "drive": {"mode": "position", "target": "$way", "stiffness": draw.number(5, 30), "damping": draw.number(0.1, 1)}
        }
    elif which == 2:
        joint |= {"damping": _each(n, lambda: draw.number(0.1, 0.8))}
    elif which == 3 and n == 1:
        joint |= {"drive": {"mode": "velocity", "target_velocity": "$s1", "damping": draw.number(0.1, 1)}}
    elif which == 4 and n == 1:
        joint |= {
            "limit": {"lower": -0.02, "upper": 0.03, "stiffness": draw.number(20, 40), "damping": draw.number(0.1, 0.5)}
        }
    return joint


def _close(draw: Draw, joints: dict, root: str) -> None:
    """A loop that the last body closes, where enough coordinates are left."""
    led = sum("motion" in joint or "mimic" in joint for joint in joints.values())
    chained = joints["j2"]["parent"] == "b1"
    if chained and sum(N_RATES[joint["type"]] for joint in joints.values()) - led >= 5 and draw.says(0.5):
        joints["loop"] = {"type": "ball", "parent": root, "child": f"b{N_BODIES - 1}", "at": [2.1, 0.0, 0.0], "loop": True}


def _each(n: int, number):
    return number() if n == 1 else [number() for _ in range(n)]


def _gear(draw: Draw, joints: dict) -> None:
    """One joint that follows another one, by a ratio or as a cam."""
    single = [name for name, joint in joints.items() if N_RATES[joint["type"]] == 1 and "motion" not in joint]
    if len(single) > 1 and draw.says(0.5):
        follower = joints[single[-1]]
        for name in ("drive", "limit", "damping", "qd"):
            follower.pop(name, None)
        by = {"ratio": draw.number(0.4, 1.2)}
        if draw.says(0.5):
            by = {"polynomial": [0.0, draw.number(0.4, 1), draw.number(-0.6, 0.6), draw.number(-0.4, 0.4)]}
        follower["mimic"] = {"joint": single[0], **by}


def _forces(draw: Draw, led: str | None, joints: dict) -> dict:
    forces = {}
    if draw.says(0.4):
        forces["cord"] = {
            "type": "spring",
            "a": {"world": [1.0, 1.0, 1.0]},
            "b": {"body": "b2", "at": [0.2, 0.0, 0.0]},
            "stiffness": draw.number(5, 40),
            "rest_length": 1.0,
            "damping": draw.number(0, 1),
        }
    if draw.says(0.4):
        forces["over"] = {
            "type": "spring",
            "a": {"world": [1.0, -1.0, 0.5]},
            "b": {"body": "b3", "at": [0.2, 0.0, 0.0]},
            "through": [{"body": "b1", "at": [0.1, -0.2, 0.1]}],
            "stiffness": draw.number(5, 20),
            "rest_length": 0.8,
            "damping": draw.number(0, 1),
            "slack": draw.says(0.5),
        }
    if draw.says(0.3):
        forces["push"] = {
            "type": "wrench",
            "body": "b1",
            "force": ["$s1", 1.0, 0.0],
            "torque": [0.0, "$s2", 0.2],
            "at": [0.1, 0.0, 0.1],
            "frame": draw.one_of(("world", "body")),
        }
    if draw.says(0.3):
        forces["air"] = {
            "type": "drag",
            "body": "b2",
            "damping": 0.2,
            "quadratic": 0.3,
            "angular_damping": 0.1,
            "wind": [1.0, 1.0, 0.0],
        }
    if led and draw.says(0.5):
        forces["stay"] = {
            "type": "spring",
            "a": {"body": led, "at": [0.1, 0.3, 0.0]},
            "b": {"body": "b1", "at": [0.2, 0.0, 0.0]},
            "stiffness": draw.number(5, 40),
            "rest_length": 0.5,
            "damping": draw.number(0, 1),
        }
    if draw.says(0.3):
        end = {"body": led, "at": [2.0, 0.0, 0.0]} if led else {"world": [2.0, 0.0, 0.0]}
        forces["mount"] = {
            "type": "bushing",
            "a": end,
            "b": {"body": "b3", "at": [0.0, 0.1, 0.0]},
            "stiffness": [9.0, 6.0, 4.0],
            "damping": 0.3,
            "angular_stiffness": [0.5, 0.3, 0.2],
            "angular_damping": 0.02,
        }
    if draw.says(0.3):
        forces["motor"] = {"type": "torque", "joint": "j0", "value": "$s2"}
    single = [name for name, joint in joints.items() if N_RATES[joint["type"]] == 1 and name != "loop"]
    if len(single) > 1 and draw.says(0.4):
        forces["tie"] = {
            "type": "coupling",
            "of": [{"joint": single[0]}, {"joint": single[-1], "factor": draw.number(-1, 1)}],
            "unit": "rad",
            "stiffness": draw.number(3, 10),
            "damping": draw.number(0, 0.5),
        }
    return forces


def with_switches(made: dict, seed: int) -> dict:
    """The scene with dry friction, hard limits, and drives that have an effort limit."""
    draw, out = Draw(1000 + seed), copy.deepcopy(made)
    for joint in out["joints"].values():
        if N_RATES[joint["type"]] > 1 or "mimic" in joint or "motion" in joint:
            continue
        if draw.says(0.5):
            joint["friction"] = draw.number(0.1, 0.6)
        if draw.says(0.4) and "limit" not in joint:
            joint["limit"] = [-0.03, 0.04]
        if "drive" in joint and draw.says(0.5):
            joint["drive"]["effort_limit"] = draw.number(0.2, 1)
    return out


def with_contact(made: dict, seed: int) -> dict:
    """The scene with shapes above a floor, which have friction and restitution."""
    draw, out = Draw(2000 + seed), copy.deepcopy(made)
    out["materials"] = {"m": {"friction": draw.number(0.1, 0.6), "restitution": draw.one_of((0.0, 0.4, 0.8))}}
    out["world"] = {"shapes": {"ground": {"type": "plane", "offset": -0.3, "material": "m"}}}
    for k in range(N_BODIES):
        shape = {"type": "sphere", "radius": 0.1, "pose": {"xyz": [0.25, 0.0, 0.0]}, "material": "m"}
        if draw.says(0.4):
            shape |= {"type": "box", "size": [0.3, 0.1, 0.1]}
            shape.pop("radius")
        out["bodies"][f"b{k}"]["shapes"] = {"s": shape}
    velocity = {"linear": draw.vector(1), "angular": draw.vector(5)}
    out["bodies"]["ball"] = {
        "pose": {"xyz": [0.0, 2.0, 0.05]},
        "velocity": velocity,
        "mass": 1.0,
        "inertia": {"diag": [0.01, 0.02, 0.03]},
        "com": [0.0, 0.0, 0.02],
        "shapes": {"s": {"type": "sphere", "radius": 0.1, "material": "m"}},
    }
    return out


def as_taken(made: dict, solver: dict) -> tuple[str, list[str]]:
    """The scene without what a mode refuses.

    Args:
        made: a scene.
        solver: its solver.

    Returns:
        its text without its first line, and the paths that were refused.
    """
    left, refused = copy.deepcopy(made) | {"solver": solver}, []
    for _ in range(12):
        text = yaml.safe_dump(left, sort_keys=False)
        try:
            model_of(text)
        except SceneError as error:
            for path in {fault.where.path for fault in error.faults if fault.severity == "error"}:
                refused.append(path)
                _drop(left, path)
        else:
            return text, refused
    raise AssertionError(f"a mode refuses more and more of a scene: {refused}")


def _drop(made: dict, path: str) -> None:
    """Remove what a path says: a force, or a field of a joint. A joint of a type that is refused becomes a revolute one."""
    room, name, *more = path.split(".")
    if room == "joints" and more == ["type"]:
        made[room][name]["type"] = "revolute"
        made[room][name].pop("pitch", None)
    elif room == "joints" and more:
        made[room][name].pop(more[0].split("[")[0])
    elif room == "materials":
        made[room][name].pop(*more)
    else:
        assert room == "forces", path
        made[room].pop(name)
