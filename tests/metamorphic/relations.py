"""Other ways to write a scene, each with the way back: what moves as before, and where it is looked for.

A relation takes a scene of numbers (written.py) and gives another one, and a function from its motion to that of the
first.
"""

import copy
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from metamorphic.mechanisms import solid
from metamorphic.written import MIRROR, SINGLE, mirrored, scene_of, turn_of, turned, unit

TURN, SPEED = turn_of(np.random.default_rng(7)), np.array([2.0, 1, -3])  # [m/s]
BY, FAR = np.array([0.3, -0.2, 0.5]), np.array([64.0, -32, 128])  # [m]
ELSEWHERE = np.array([40.0, 30, 20])  # [m], where strangers are
SPLIT = 0.3  # share of the mass that the second half of a body has


class Motion(NamedTuple):
    """Where the origins of bodies are and how they move, and how large the forces and torques of joints are.

    Attributes:
        x: [m], (B, 3), of the origin; v: [m/s], its velocity; w: [rad/s]; all in the world.
        loads: [N, N m], (J, 2): sizes of the force and of the torque on the child at the anchor.
    """

    x: np.ndarray
    v: np.ndarray
    w: np.ndarray
    loads: np.ndarray


class Twin(NamedTuple):
    """A scene that moves as the first one does.

    Attributes:
        scene: as a file holds it.
        back: its motion to that of the first scene; takes the motion and the time [s].
    """

    scene: dict
    back: Callable[[Motion, float], Motion]


def _joint(kind: str, parent: str, child: str, at: np.ndarray) -> dict:
    x, y, _ = np.eye(3)
    return {"type": kind, "parent": parent, "child": child, "at": at, "axis": x, "second": y, "hand": 1.0, "qd": None}


def _same(motion: Motion, time: float) -> Motion:
    return motion


def turned_and_moved(made: dict) -> Twin:
    """In another place, with axes that are oblique."""
    return Twin(scene_of(turned(made, TURN, BY)), lambda m, t: m._replace(x=(m.x - BY) @ TURN, v=m.v @ TURN, w=m.w @ TURN))


def far_away(made: dict) -> Twin:
    """Moved by some 150 m, along axes that stay."""
    return Twin(scene_of(turned(made, np.eye(3), FAR)), lambda m, t: m._replace(x=m.x - FAR))


def in_a_mirror(made: dict) -> Twin:
    return Twin(scene_of(mirrored(made)), lambda m, t: m._replace(x=m.x @ MIRROR, v=m.v @ MIRROR, w=-m.w @ MIRROR))


def backwards(made: dict) -> Twin:
    """With bodies, joints and forces in the other order."""
    return Twin(scene_of(made, backwards=True), _same)


def faster(made: dict) -> Twin:
    """With another speed of all of it, where nothing is fixed to the world and nothing falls."""
    out = copy.deepcopy(made)
    free = set(out["bodies"]) - {joint["child"] for joint in out["joints"].values()}
    for name in free:
        out["bodies"][name]["v"] = out["bodies"][name]["v"] + SPEED
    return Twin(scene_of(out), lambda m, t: m._replace(x=m.x - SPEED * t, v=m.v - SPEED))


def _beside(made: dict, bodies: dict, joints: dict | None = None, **more) -> Twin:
    out = copy.deepcopy(made)
    out["bodies"], out["joints"] = {**bodies, **out["bodies"]}, {**(joints or {}), **out["joints"]}
    return Twin({**scene_of(out), **more}, _same)


def beside_a_top(made: dict) -> Twin:
    """With a stranger that spins by itself."""
    top = solid(np.random.default_rng(3), ELSEWHERE)
    return _beside(made, {"top": {**top, "v": -made["gravity"], "w": np.array([3.0, 1, 2])}})


def beside_a_gyroscope(made: dict) -> Twin:
    """With a stranger of two bodies of which one turns far in a step."""
    frame, wheel = (solid(np.random.default_rng(seed), ELSEWHERE) for seed in (5, 6))
    axle = {**_joint("revolute", "frame", "wheel", ELSEWHERE), "qd": np.array([80.0])}
    return _beside(made, {"frame": {**frame, "v": np.zeros(3), "w": np.array([0, 1.0, 0])}, "wheel": wheel}, {"axle": axle})


def beside_a_stop(made: dict) -> Twin:
    """With a stranger whose hinge runs into a hard limit on the way, within a step."""
    arm = solid(np.random.default_rng(4), ELSEWHERE)
    hinge = _joint("revolute", "world", "arm", ELSEWHERE)
    hinge |= {"qd": np.array([3.0]), "laws": {"limit": np.array([-1.0, 0.0317])}}
    return _beside(made, {"arm": arm}, {"arm-hinge": hinge})


def beside_touching(made: dict) -> Twin:
    """With strangers that touch: a ball that falls onto one that stands, far from all else."""
    post = {"x": ELSEWHERE, "R": np.eye(3), "shape": "sphere", "kinematic": {"kinematic": True}}
    ball = {"x": ELSEWHERE - 0.15 * _down(made), "R": np.eye(3), "shape": "sphere", "v": _down(made), "w": np.zeros(3)}
    return _beside(made, {"post": post, "ball": ball})


def _down(made: dict) -> np.ndarray:
    size = np.linalg.norm(made["gravity"])
    return made["gravity"] / size if size else np.array([0, 0, -1.0])


def in_halves(made: dict) -> Twin:
    """With each body as two that a fixed joint welds, the second one with a share of mass and inertia elsewhere."""
    out = copy.deepcopy(made)
    for name, body in made["bodies"].items():
        first, second = out["bodies"][name], copy.deepcopy(body)
        thinnest = np.sqrt(np.linalg.eigvalsh(body["inertia"])[0] / body["mass"])
        offset = np.array([0.5, -0.3, 0.4]) * thinnest  # of the centre of mass of the second half from that of the whole
        m1, m2 = (1 - SPLIT) * body["mass"], SPLIT * body["mass"]
        c2 = body["com"] + offset
        c1 = body["com"] - offset * m2 / m1
        apart = sum(m * ((r @ r) * np.eye(3) - np.outer(r, r)) for m, r in ((m1, c1 - body["com"]), (m2, offset)))
        for half, share, m, c in ((first, 1 - SPLIT, m1, c1), (second, SPLIT, m2, c2)):
            half |= {"mass": m, "com": c, "inertia": share * (body["inertia"] - apart)}
        if "v" in body:
            for half, c in ((first, c1), (second, c2)):
                half["v"] = body["v"] + np.cross(body["w"], body["R"] @ (c - body["com"]))
        second.pop("v", None), second.pop("w", None), second.pop("shape", None)
        out["bodies"][f"{name}-half"] = second
        out["joints"][f"{name}-weld"] = _joint("fixed", name, f"{name}-half", body["x"] + 0.1)
    return Twin(scene_of(out), _same)


def parent_and_child_exchanged(made: dict) -> Twin:
    """With the joints between two bodies told from the other body, about the opposite axis."""
    out = copy.deepcopy(made)
    for joint in out["joints"].values():
        if joint["type"] in (*SINGLE, "cylindrical") and joint["parent"] != "world" and joint.get("loop"):
            joint |= {"parent": joint["child"], "child": joint["parent"], "axis": -joint["axis"]}
    return Twin(scene_of(out), _same)


AS_D6 = {"revolute": ("angular",), "prismatic": ("linear",), "cylindrical": ("linear", "angular")}
AS_RIBLE = {
    "revolute": "nc_revolute",
    "prismatic": "nc_prismatic",
    "cylindrical": "nc_cylindrical",
    "ball": "nc_spherical",
    "universal": "nc_universal",
    "planar": "nc_planar_revolute",
}


def by_d6(made: dict) -> Twin:
    """With hinges and slides as joints of type d6."""
    out = copy.deepcopy(made)
    for joint in out["joints"].values():
        if joint["type"] in AS_D6:
            joint |= {"free": AS_D6[joint["type"]], "type": "d6"}
            if joint["qd"] is not None:
                joint["qd"] = joint["qd"][: len(joint["free"])]
    return Twin(scene_of(out), _same)


def by_other_names(made: dict) -> Twin:
    """With joints under Rible's names, where these have the same coordinates."""
    scene = scene_of(made)
    for joint in scene["joints"].values():
        if "axes" not in joint:  # Rible's have one axis
            joint["type"] = AS_RIBLE.get(joint["type"], joint["type"])
    return Twin(scene, _same)


def by_wrenches(made: dict) -> Twin:
    """With drives in place of efforts of joints of one coordinate, and a wrench in place of efforts on free bodies."""
    scene = scene_of(made)
    for name, force in list(scene.get("forces", {}).items()):
        joint = made["joints"].get(force.get("joint"))
        if force["type"] != "torque":
            continue
        if joint["type"] == "free" and joint["parent"] == "world":
            value = force["value"]
            scene["forces"][name] = {"type": "wrench", "body": joint["child"], "force": value[:3], "torque": value[3:]}
        elif joint["type"] in SINGLE and "drive" not in scene["joints"][force["joint"]]:
            scene["joints"][force["joint"]]["drive"] = {"mode": "effort", "target": force["value"]}
            del scene["forces"][name]
    return Twin(scene, lambda m, t: m._replace(loads=0 * m.loads) if scene != scene_of(made) else m)


def tethered(made: dict) -> Twin:
    """With each free body on a tether to the world that is never taut."""
    out = copy.deepcopy(made)
    led = {joint["child"] for joint in made["joints"].values()}
    for name, body in made["bodies"].items():
        if name not in led and "kinematic" not in body:
            tether = _joint("distance", "world", name, body["x"])
            above = {"from": body["x"] + np.array([0, 0, 1.0]), "keys": {"limit": [0, 50.0], "loop": True}}
            out["joints"][f"{name}-tether"] = {**tether, **above}
    return Twin(scene_of(out), _same)


def on_terrain(made: dict) -> Twin:
    """With flat terrain, whose grid lines are the axes, in place of the plane."""
    out = copy.deepcopy(made)
    normal = out["ground"]["normal"]
    R = np.column_stack([unit(np.cross([0, 1, 0], normal)), unit(np.cross(normal, np.cross([0, 1, 0], normal))), normal])
    out["ground"] = {
        "type": "heightfield",
        "x": out["ground"]["x"],
        "R": R,
        "sizes": {"size": [16, 16, 1], "data": np.zeros((17, 17)).tolist()},
    }
    return Twin(scene_of(out), _same)


def on_crests(made: dict) -> Twin:
    """With the crests of a zigzag along x in place of the level plane: for what rolls along them."""
    out = copy.deepcopy(made)
    rows = [[-0.4 * (k % 2)] * 17 for k in range(17)]
    out["ground"] = {"type": "heightfield", "x": np.zeros(3), "R": np.eye(3), "sizes": {"size": [4, 8, 1], "data": rows}}
    return Twin(scene_of(out), _same)


def welded(made: dict) -> Twin:
    """With what friction holds on the table held by fixed joints."""
    out = copy.deepcopy(made)
    for name, body in made["bodies"].items():
        if "kinematic" not in body:
            del out["bodies"][name]["v"], out["bodies"][name]["w"]
            out["joints"][f"{name}-weld"] = _joint("fixed", "table", name, body["x"])
    return Twin({**scene_of(out), "contact": {"enabled": False}}, _same)


def sparsely(made: dict) -> Twin:
    """With contact solved without dense matrices, as in large worlds."""
    return Twin({**scene_of(made), "solver": {"contact": {"linear": "sparse"}}}, _same)


EVERYWHERE = {"turned": turned_and_moved, "far": far_away, "mirrored": in_a_mirror, "backwards": backwards}
STRANGERS = {
    "beside a top": beside_a_top,
    "beside a gyroscope": beside_a_gyroscope,
    "beside a stop": beside_a_stop,
    "beside touching": beside_touching,
}
REWRITTEN = {"d6": by_d6, "other names": by_other_names, "wrenches": by_wrenches}
