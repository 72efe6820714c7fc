"""Random scenes of all that forces can say, of all joint types, of wheels and blades, and of surfaces that move."""

import copy

import numpy as np

from metamorphic.mechanisms import mechanism as tree_of_joints
from metamorphic.mechanisms import solid
from metamorphic.written import turn_of, unit
from simcli.joint_types import JOINT_TYPES
from simcli.spec.base.dofs import FRAMES_ONLY, NEVER_TREE, NONHOLONOMIC

SIGNALS = {
    "wave": {"sine": {"amplitude": 2.0, "frequency": 9.0, "offset": 3.0}},
    "pull": {"filter": {"input": "$wave", "rise": 0.01, "fall": 0.04, "initial": 1.0}},
    "grip": {"ramp": {"from": 0.05, "to": 0.4, "start": 0.02, "end": 0.06}},
}
NOISE = {"sigma": 0.1, "density": 0.01, "walk": 0.2, "turn_on": 0.2, "drift": 0.3, "drift_time": 0.05}
COARSE = {"sigma": 0.1, "quantum": 0.02, "rate": 500.0, "delay": 0.004}
SENSORS = {name: {"type": "com", "body": "b0"} for name in ("exact", "noisy", "coarse")}
SENSORS["noisy"]["noise"], SENSORS["coarse"]["noise"] = NOISE, COARSE


def without_curves(made: dict) -> dict:
    """The scene with its couplings along straight sums, whose directions do not turn."""
    out = copy.deepcopy(made)
    for force in out["forces"].values():
        for term in force.get("terms", ()):
            term.setdefault("factor", 0.5)
            term.pop("polynomial", None)
    return out


def elements(seed: int) -> dict:
    """A tree with arms on hinges and a slide, which forces of all types and sums of coordinates connect."""
    rng, made = np.random.default_rng(900 + seed), tree_of_joints(seed, 3, seed % 2 == 0)
    bodies, joints = made["bodies"], made["joints"]
    for k, kind in enumerate(("revolute", "prismatic", "revolute", "revolute")):
        name, parent = f"c{k}", f"b{int(rng.integers(3))}" if k < 3 else "c2"
        bodies[name] = solid(rng, bodies[parent]["x"] + rng.normal(size=3) * 0.5)
        axis = unit(rng.normal(size=3))
        joints[f"k{k}"] = {
            "type": kind,
            "parent": parent,
            "child": name,
            "at": bodies[name]["x"] + rng.normal(size=3) * 0.2,
            "axis": axis,
            "second": unit(np.cross(axis, rng.normal(size=3))),
            "hand": 1.0,
            "qd": rng.normal(size=1) * (k < 2),
            "laws": {},
        }
    curve = {"speed": [-1.0, 0.2, 2.0], "effort": [3.0, 2.0, 0.0]}
    joints["k0"]["laws"] = {"drive": {"stiffness": 40.0, "damping": 0.5, "target": 0.7, "effort_limit_table": curve}}
    forces = {**_along_lines(rng, bodies), **_ropes(rng, bodies), **_of_coordinates(rng), **_on_bodies(rng, bodies)}
    more = {"signals": copy.deepcopy(SIGNALS), "sensors": copy.deepcopy(SENSORS)}
    return {**made, "forces": forces, "more": more}


def _near(rng, bodies: dict, name: str) -> tuple:
    return name, bodies[name]["x"] + rng.normal(size=3) * 0.1


def _along_lines(rng, bodies: dict) -> dict:
    """Springs by numbers and by tables, over a point; dampers by tables; and a bushing."""
    over = bodies["b1"]["x"] + rng.normal(size=3)
    line = {"elongation": [-0.2, 0.0, 0.3], "force": [-3.0, 0.5, 9.0]}
    resisting = {"rate": [-2.0, -0.1, 0.0, 1.0], "force": [-5.0, -0.5, 0.0, 1.5]}
    frame = turn_of(rng)
    return {
        "cord": {
            "type": "spring",
            "ends": [_near(rng, bodies, "b2"), (None, rng.normal(size=3))],
            "stiffness": 12.0,
            "damping": 0.3,
            "rest_length": 0.4,
            "slack": True,
            "stops": [{"end": (None, over)}],
        },
        "line": {
            "type": "spring",
            "ends": [_near(rng, bodies, "c0"), _near(rng, bodies, "b1")],
            "stiffness_table": line,
            "damping_table": resisting,
            "rest_length": 0.5,
        },
        "mount": {
            "type": "bushing",
            "ends": [_near(rng, bodies, "b0"), _near(rng, bodies, "c1")],
            "R": frame,
            "stiffness": [20.0, 30.0, 5.0],
            "damping": [0.1, 0.3, 0.2],
            "angular_stiffness": [1.0, 2.0, 0.5],
            "angular_damping": [0.1, 0.02, 0.03],
            "preload": rng.normal(size=3),
            "angular_preload": rng.normal(size=3) * 0.1,
        },
    }


def _ropes(rng, bodies: dict) -> dict:
    """A rope around a cylinder with side and friction and around a sphere, which a winch pays out; one that is pulled."""
    first, last = _near(rng, bodies, "c0"), (None, bodies["c0"]["x"] + np.array([2.0, 0.4, -0.3]))
    way = last[1] - first[1]
    across = unit(np.cross(way, rng.normal(size=3)))
    above = unit(np.cross(across, way))
    drum, between, ball = (first[1] + share * way - 0.03 * above for share in (0.3, 0.6, 0.8))
    stops = [
        {
            "end": (None, drum),
            "radius": 0.1,
            "axis": across,
            "friction": 0.3,
            "slip_speed": 0.5,
            "side": (None, drum + 0.2 * above),
        },
        {"end": (None, between)},
        {"end": (None, ball + 0.05 * across), "radius": 0.15},
    ]
    around = _near(rng, bodies, "b2")
    pulled = [{"end": around, "radius": 0.05, "axis": unit(rng.normal(size=3))}]
    aside = unit(rng.normal(size=3))
    return {
        "hoist": {
            "type": "spring",
            "ends": [first, last],
            "stops": stops,
            "stiffness": 15.0,
            "damping": 0.5,
            "slack": True,
            "rest_length": 1.6,
            "terms": [{"joint": "k0", "factor": 0.15}, {"joint": "k1", "factor": -0.3}],
        },
        "pulled": {
            "type": "spring",
            "ends": [(None, around[1] + aside), (None, around[1] - aside + 0.1)],
            "stops": pulled,
            "stiffness": 0.0,
            "tension": "$pull",
        },
        "flesh": {
            "type": "spring",
            "ends": [(None, around[1] + 0.5 * aside), around],
            "stops": [{"end": (None, around[1] + 0.25 * aside), "radius": 0.05, "axis": aside, "inside": True}],
            "stiffness": 0.0,
            "muscle": {
                "control": "$grip",
                "force": 5.0,
                "length_range": [0.3, 0.7],
                "range": [0.8, 1.1],
                "min_length": 0.4,
                "max_length": 1.7,
                "max_velocity": 2.0,
                "passive_force": 1.2,
                "lengthening_force": 1.3,
                "activation": {"rise": 0.02, "fall": 0.05, "initial": 0.2, "law": "muscle", "smoothing": 0.1},
            },
        },
    }


def _of_coordinates(rng) -> dict:
    """Torsion, efforts, and couplings: one with all that acts on a sum, one by rate and signal, one that holds."""
    hinges = [{"joint": "k2", "factor": 1.0}, {"joint": "k0", "factor": -0.6}]
    bent = {"joint": "k0", "polynomial": [0.1, 0.5, 0.3]}
    curve = {"speed": [0.0, 3.0], "effort": [2.0, 0.5]}
    lag = {"rise": 0.02, "fall": 0.05, "initial": 0.1}
    drive = {
        "mode": "position",
        "target": "$grip",
        "stiffness": 10.0,
        "damping": 0.2,
        "effort_limit_table": curve,
        "activation": lag,
    }
    return {
        "twist": {"type": "torsion", "joint": "k0", "stiffness": 2.0, "damping": 0.05, "rest_angle": 0.2},
        "motor": {"type": "torque", "joint": "k1", "value": rng.normal(size=1)},
        "all": {
            "type": "coupling",
            "terms": copy.deepcopy(hinges),
            "stiffness": 3.0,
            "rest": 0.1,
            "damping": 0.1,
            "friction": 0.1,
            "velocity_limit": 8.0,
            "drive": drive,
            "limit": {"lower": -0.02, "upper": 0.03, "stiffness": 30.0, "damping": 0.2},
        },
        "clutch": {
            "type": "coupling",
            "terms": [{"joint": "k1", "factor": 2.0}, bent],
            "unit": "m",
            "friction": "$grip",
            "rate": {"min": -0.2, "max": 0.5},
        },
        "held": {"type": "coupling", "terms": [{"joint": "k2", "factor": 1.0}, {"joint": "k3", "factor": 0.7}], "hold": 0.0},
    }


def _on_bodies(rng, bodies: dict) -> dict:
    return {
        "air": {
            "type": "drag",
            "body": "b1",
            "damping": 0.2,
            "quadratic": 0.3,
            "angular_damping": 0.02,
            "angular_quadratic": 0.01,
            "at": rng.normal(size=3) * 0.1,
            "wind": rng.normal(size=3),
        },
        "push": {
            "type": "wrench",
            "body": "b0",
            "force": rng.normal(size=3),
            "torque": rng.normal(size=3) * 0.2,
            "at": bodies["b0"]["com"],
        },
        "jet": {
            "type": "wrench",
            "body": "b1",
            "force": rng.normal(size=3),
            "torque": rng.normal(size=3) * 0.1,
            "frame": "body",
            "at": rng.normal(size=3) * 0.1,
        },
    }


def _lever(axis: np.ndarray, normal: np.ndarray, radius: float, tube: float) -> np.ndarray:
    """[m], from the centre of a wheel to where it touches."""
    return -(radius - tube) * unit(normal - (normal @ axis) * axis) - tube * normal


def _joint(kind: str, parent: str, child: str, at, axis, second, qd=None, **more) -> dict:
    return {
        "type": kind,
        "parent": parent,
        "child": child,
        "at": at,
        "axis": axis,
        "second": second,
        "hand": 1.0,
        "qd": None if qd is None else np.array(qd),
        **more,
    }


def wheels(seed: int) -> dict:
    """A disc, a tyre and a ball that roll on an oblique plane, and a sleigh with a blade."""
    rng = np.random.default_rng(seed)
    frame = turn_of(rng)
    ahead, across, up = frame.T
    bodies, joints = {}, {}
    for k, (radius, tube) in enumerate(((0.2, 0.0), (0.3, 0.1), (0.15, 0.15))):
        axis = unit(across + 0.3 * rng.normal() * up + 0.3 * rng.normal() * ahead)
        at, lever = 3.0 * k * ahead, _lever(axis, up, radius, tube)
        w = axis * rng.uniform(2, 4) + rng.normal(size=3) * 0.3
        bodies[f"b{k}"] = solid(rng, at - lever) | {"com": np.zeros(3)}
        joints[f"j{k}"] = _joint(
            "rolling",
            "world",
            f"b{k}",
            at - lever,
            axis,
            up,
            [*np.cross(lever, w), *w],
            keys={"radius": radius, "tube": tube},
        ) | {"from": at}
    bodies["sleigh"], blade = solid(rng, -5 * across), -5 * across - 0.2 * ahead
    joints["ice"] = _joint("planar", "world", "sleigh", -5 * across, up, ahead)
    joints["blade"] = _joint("knife_edge", "world", "sleigh", blade, unit(ahead + 0.4 * across), up, keys={"loop": True})
    joints["blade"]["from"] = blade
    return {"bodies": bodies, "joints": joints, "gravity": np.array([1.0, 2, -9])}


def runner(seed: int) -> dict:
    """Wheels of an edge runner: a stone on an arm that turns on a post, whose hinges hold what its rolling holds, too."""
    rng = np.random.default_rng(seed)
    ahead, _, up = turn_of(rng).T
    bodies = {"beam": solid(rng, 0.5 * ahead), "stone": solid(rng, ahead)}
    joints = {
        "post": _joint("revolute", "world", "beam", np.zeros(3), up, ahead, [1.5]),
        "axle": _joint("revolute", "beam", "stone", ahead, ahead, up, [-1.5 / 0.4]),
        "track": _joint("rolling", "world", "stone", ahead, ahead, up, keys={"radius": 0.4, "loop": True}),
    }
    joints["track"]["from"] = ahead - 0.4 * up
    return {"bodies": bodies, "joints": joints, "gravity": np.array([1.0, 2, -9])}


def belts(seed: int) -> dict:
    """Boxes and balls that drop onto a belt and onto bodies whose surfaces move, some with friction that a signal drives."""
    rng = np.random.default_rng(seed)
    R = turn_of(rng)
    bodies = {}
    for k, kind in enumerate(("sphere", "capsule", "sphere")):
        bodies[f"b{k}"] = {
            "x": R @ np.array([0.6 * k, 0, 0.1 + 0.05 * k]),
            "R": turn_of(rng),
            "shape": kind,
            "v": R @ np.array([0, 0, -0.5]),
            "w": rng.normal(size=3),
        }
    bodies["b2"]["belt"] = rng.normal(size=3)
    ground = {
        "type": "box",
        "x": R @ np.array([0, 0, -0.5]),
        "R": R,
        "sizes": {"size": [9.0, 9.0, 1.0]},
        "belt": np.array([0.8, -0.3, 5.0]),
    }
    pairs = [{"a": "b1", "b": "ground", "friction": "$grip"}]
    more = {"signals": {"grip": SIGNALS["grip"]}, "contact": {"pairs": pairs}}
    return {"bodies": bodies, "joints": {}, "gravity": R @ np.array([0.5, 0, -9.81]), "ground": ground, "more": more}


_KEYS = {"distance": {"length": 0.5}, "cable": {"stretch": 1e3, "bend": 5.0, "twist": 4.0}, "screw": {"pitch": 0.3}}
_AXES = {"d6": {"linear": [[1, 0, 0]], "angular": [[0, 1, 0], [0, 0, 1]]}, "universal": {"angular": [[1, 0, 0], [0, 1, 0]]}}


def of_types(types: tuple[str, ...], seed: int) -> dict:
    """A body on each of these joints, on the world or on one before it, whose anchors have frames of their own."""
    rng = np.random.default_rng(seed)
    bodies, joints = {}, {}
    for k, kind in enumerate(one for one in types if one not in NONHOLONOMIC):
        parent = f"b{k - 1}" if k % 3 else "world"
        frame, x = turn_of(rng), np.array([2.0 * k, 0, 0])
        bodies[f"b{k}"] = solid(rng, x)
        keys = dict(_KEYS.get(kind, {})) | ({"axes": _AXES[kind]} if kind in _AXES else {})
        n = 3 if kind == "d6" else len(JOINT_TYPES[kind].dofs)
        at = x + rng.normal(size=3) * 0.2
        is_still = kind in NEVER_TREE or kind == "distance" or not n
        qd = None if is_still else rng.normal(size=n) * 0.5
        joint = _joint(kind, parent, f"b{k}", at, frame[:, 0], frame[:, 1], qd, frame=frame, keys=keys)
        joints[f"j{k}"] = joint | ({"from": at + 0.5 * frame[:, 2]} if kind in FRAMES_ONLY else {})
    return {"bodies": bodies, "joints": joints, "gravity": np.array([1.0, 2, -9])}
