"""Scenes as numbers in the world: turned, mirrored, and written as a file holds them.

All vectors are of the world, in the poses that the scene writes: x, v [m, m/s], R, w [rad/s] of bodies; com, inertia and
shapes are of the body. A force names points by a body, or None for the world, and a place of the world.
"""

import copy

import numpy as np
from scipy.spatial.transform import Rotation

N_RATES = {"revolute": 1, "prismatic": 1, "ball": 3, "universal": 2, "cylindrical": 2, "screw": 1, "planar": 3}
TURNS = {
    "revolute": (0,),
    "prismatic": (),
    "universal": (0, 1),
    "cylindrical": (1,),
    "screw": (0,),
    "planar": (2,),
    "distance": (3, 4, 5),
    "free": (3, 4, 5),
    "rolling": (3, 4, 5),
    "knife_edge": (3, 4, 5),
}
SINGLE = ("revolute", "prismatic", "screw")
# Joints whose rates and efforts are vectors, and of how many.
VECTORS = {"ball": 1, "free": 2, "distance": 2, "rolling": 2, "knife_edge": 2}
MIRROR = np.diag([1.0, -1.0, 1.0])
SIZES = {
    "box": {"size": [0.2, 0.15, 0.1]},
    "sphere": {"radius": 0.07},
    "capsule": {"radius": 0.07, "length": 0.15},
    "cylinder": {"radius": 0.07, "length": 0.15},
}


def turn_of(rng) -> np.ndarray:
    return Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()


def unit(vector) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def turned(made: dict, R: np.ndarray, by: np.ndarray) -> dict:
    """All of it turned about the origin, and moved [m]."""
    out = copy.deepcopy(made)
    for body in out["bodies"].values():
        body["x"], body["R"] = R @ body["x"] + by, R @ body["R"]
        body |= {name: R @ body[name] for name in ("v", "w") if name in body}
    for joint in out["joints"].values():
        joint |= {name: R @ joint[name] for name in ("axis", "second", "frame") if name in joint}
        joint |= {name: R @ joint[name] + by for name in ("at", "from") if name in joint}
        if joint["type"] in VECTORS and joint["qd"] is not None and "frame" not in joint:
            joint["qd"] = _each_vector(joint["qd"], R)
    for force in out.get("forces", {}).values():
        if force["type"] == "torque" and made["joints"][force["joint"]]["type"] in VECTORS:
            force["value"] = _each_vector(force["value"], R)
        of_world = () if force.get("frame") == "body" else ("force", "torque", "wind", "R")
        force |= {name: R @ force[name] for name in of_world if name in force}
        _move_places(force, R, by)
    out["gravity"] = R @ out["gravity"]
    if "ground" in out:
        out["ground"] |= {"x": R @ out["ground"]["x"] + by}
        out["ground"] |= {name: R @ out["ground"][name] for name in ("normal", "R") if name in out["ground"]}
    return out


def _move_places(force: dict, R: np.ndarray, by: np.ndarray) -> None:
    """Turn or mirror the ends of a force, and the stops of a rope with the axes of their cylinders, and move them."""
    force |= {"ends": [(body, R @ x + by) for body, x in force["ends"]]} if "ends" in force else {}
    for stop in force.get("stops", ()):
        stop |= {name: (stop[name][0], R @ stop[name][1] + by) for name in ("end", "side") if name in stop}
        stop |= {"axis": R @ stop["axis"]} if "axis" in stop else {}


def _each_vector(numbers, R) -> np.ndarray:
    return np.concatenate([R @ part for part in np.reshape(numbers, (-1, 3))])


def mirrored(made: dict) -> dict:
    """All of it as a mirror shows it, y to -y: turns go the other way about axes that are vectors."""
    S, out = MIRROR, copy.deepcopy(made)
    for body in out["bodies"].values():
        body["x"], body["R"] = S @ body["x"], S @ body["R"] @ S
        signs = (("v", 1), ("w", -1), ("com", 1), ("belt", 1))
        body |= {name: sign * S @ body[name] for name, sign in signs if name in body}
        if "inertia" in body:
            body["inertia"] = S @ body["inertia"] @ S
    for joint in out["joints"].values():
        joint |= {name: S @ joint[name] for name in ("at", "from", "axis", "second") if name in joint}
        joint["hand"] = -joint["hand"]
        if joint["qd"] is not None:
            joint["qd"] = _mirrored_rates(joint["type"], joint["qd"])
        laws = joint.get("laws", {})
        if 0 in TURNS.get(joint["type"], ()):
            if "limit" in laws:
                laws["limit"] = -laws["limit"][::-1]
            if "drive" in laws:
                laws["drive"]["target"] *= -1
    for force in out.get("forces", {}).values():
        if force["type"] == "torque":
            force["value"] = _mirrored_rates(made["joints"][force["joint"]]["type"], force["value"])
        else:
            force |= {name: sign * S @ force[name] for name, sign in _SIGNS.items() if name in force}
        _mirror_coordinates(made, force)
        _move_places(force, S, np.zeros(3))
    out["gravity"] = S @ out["gravity"]
    if "ground" in out:
        out["ground"] |= {name: S @ out["ground"][name] for name in ("x", "normal", "belt") if name in out["ground"]}
        out["ground"] |= {"R": S @ out["ground"]["R"] @ S} if "R" in out["ground"] else {}
    return out


_SIGNS = {"force": 1, "torque": -1, "at": 1, "wind": 1, "preload": 1, "angular_preload": -1}  # in the mirror


def _mirror_coordinates(made: dict, force: dict) -> None:
    """Coordinates that turn, as a force sums them, turn the other way in the mirror; what the sum is stays."""

    def turns(joint: str) -> bool:
        return 0 in TURNS[made["joints"][joint]["type"]]

    for term in force.get("terms", ()):
        if turns(term["joint"]) and "factor" in term:
            term["factor"] *= -1
        elif turns(term["joint"]):
            term["polynomial"] = [c * (-1) ** k for k, c in enumerate(term["polynomial"])]
    if force["type"] == "torsion" and turns(force["joint"]):
        force["rest_angle"] *= -1
    if "R" in force:
        force["R"] = MIRROR @ force["R"] @ MIRROR


def _mirrored_rates(kind: str, rates: np.ndarray) -> np.ndarray:
    """Rates or efforts of a joint in the mirror."""
    if kind == "ball":
        return -MIRROR @ rates
    if kind in VECTORS:
        return np.concatenate([MIRROR @ rates[:3], -MIRROR @ rates[3:]])
    return rates * [-1 if k in TURNS[kind] else 1 for k in range(len(rates))]


def scene_of(made: dict, backwards: bool = False) -> dict:
    """The scene, with its bodies and joints in this order or backwards; planar joints say no speed."""
    step = -1 if backwards else 1
    bodies = made["bodies"]
    scene = {
        "simcli": 1,
        "materials": {"m": {"density": 1000, "friction": 0.4, **made.get("material", {})}},
        "world": {"gravity": made["gravity"].tolist()},
        "bodies": {name: _body(bodies[name]) for name in list(bodies)[::step]},
        "joints": {name: _joint(made["joints"][name], bodies) for name in list(made["joints"])[::step]},
    }
    if made.get("forces"):
        scene["forces"] = {name: _force(made["forces"][name], bodies) for name in list(made["forces"])[::step]}
    if "ground" in made:
        scene["world"]["shapes"] = {"ground": _ground(made["ground"])}
    return scene | made.get("more", {})


def _pose(x, R) -> dict:
    return {"xyz": np.asarray(x).tolist(), "quat_xyzw": Rotation.from_matrix(R).as_quat().tolist()}


def _ground(ground: dict) -> dict:
    written = {"type": ground["type"], "material": "m", **ground.get("sizes", {}), **_belt(ground)}
    if "R" in ground:
        return {**written, "pose": _pose(ground["x"], ground["R"])}
    pose = {"pose": {"xyz": ground["x"].tolist()}} if ground["x"].any() else {}
    return {**written, "normal": ground["normal"].tolist(), **pose}


def _belt(surface: dict) -> dict:
    return {"surface_velocity": surface["belt"].tolist()} if "belt" in surface else {}


def _body(body: dict) -> dict:
    written = {"pose": _pose(body["x"], body["R"])}
    if "v" in body:
        written["velocity"] = {"linear": body["v"].tolist(), "angular": body["w"].tolist()}
    if "kinematic" in body:
        written |= body["kinematic"]
    if "shape" in body:
        shape = body["shape"] if isinstance(body["shape"], dict) else {"type": body["shape"], **SIZES[body["shape"]]}
        written["shapes"] = {"s": {"material": "m", **shape, **_belt(body)}}
    if "inertia" not in body:
        return written
    symmetric = (body["inertia"] + body["inertia"].T) / 2
    return {**written, "mass": body["mass"], "com": body["com"].tolist(), "inertia": {"full": symmetric.tolist()}}


def _joint(joint: dict, bodies: dict) -> dict:
    kind = joint["type"]
    written = {"type": kind, "parent": joint["parent"], "child": joint["child"], **joint.get("keys", {})}
    if "frame" in joint:
        return written | _in_frames(joint, bodies)
    if kind == "distance":
        for key, end in (("parent", joint["from"]), ("child", joint["at"])):
            body = joint[key]
            turn = {} if body == "world" else {"quat_xyzw": Rotation.from_matrix(bodies[body]["R"].T).as_quat().tolist()}
            written[f"{key}_frame"] = {"xyz": _place(bodies, body, end), **turn}
        length = float(np.linalg.norm(joint["at"] - joint["from"]))
        return {**written, **({} if "limit" in written else {"length": length})}
    if kind in ("rolling", "knife_edge"):
        return written | _on_a_plane(joint, bodies)
    written["at"] = joint["at"].tolist()
    if kind == "universal":
        written["axes"] = {"angular": [joint["axis"].tolist(), joint["second"].tolist()]}
    elif kind == "d6":
        written["axes"] = {what: [joint["axis"].tolist()] for what in joint["free"]}
    elif kind not in ("ball", "free", "fixed"):
        written["axis"] = joint["axis"].tolist()
    if kind == "screw":
        written["pitch"] = 0.3 * joint["hand"]
    if joint["qd"] is not None and kind != "planar":  # whose axes in the plane are the program's choice
        written["qd"] = _numbers(joint["qd"][: N_RATES.get(kind, len(joint["qd"]))])
    return written | _laws(joint.get("laws", {}), N_RATES.get(kind, 1))


def _on_a_plane(joint: dict, bodies: dict) -> dict:
    """A wheel or a blade, whose plane has the second axis as its normal; anchors have the axes of their bodies."""
    turns = {key: np.eye(3) if joint[key] == "world" else bodies[joint[key]]["R"] for key in ("parent", "child")}
    written = {
        "parent_frame": {"xyz": _place(bodies, joint["parent"], joint["from"])},
        "child_frame": {"xyz": _place(bodies, joint["child"], joint["at"])},
        "axis": (turns["child"].T @ joint["axis"]).tolist(),
        "normal": (turns["parent"].T @ joint["second"]).tolist(),
    }
    return written | ({} if joint["qd"] is None else {"qd": _numbers(joint["qd"])})


def _in_frames(joint: dict, bodies: dict) -> dict:
    """Both anchors in one place, with axes of the world as the joint has them, and rates along these."""
    written = {}
    for key, end in (("parent", joint.get("from", joint["at"])), ("child", joint["at"])):
        R = np.eye(3) if joint[key] == "world" else bodies[joint[key]]["R"]
        written[f"{key}_frame"] = _pose(_place(bodies, joint[key], end), R.T @ joint["frame"])
    return written | ({} if joint["qd"] is None else {"qd": _numbers(joint["qd"])})


def _laws(laws: dict, n: int) -> dict:
    plain = [name for name in ("damping", "armature", "friction") if name in laws]
    written = {name: [laws[name]] * n if n > 1 else laws[name] for name in plain}
    if "limit" in laws:
        lower, upper = laws["limit"].tolist()
        written["limit"] = {"lower": lower, "upper": upper, **laws.get("soft", {})}
    if "drive" in laws:
        written["drive"] = {"mode": "position", **laws["drive"]}
    return written


def _place(bodies: dict, body: str | None, x: np.ndarray) -> list[float]:
    """A place of the world in the frame of a body."""
    if body in (None, "world"):
        return x.tolist()
    return (bodies[body]["R"].T @ (x - bodies[body]["x"])).tolist()


_OF_NUMBERS = ("ends", "value", "stops", "terms", "R", "force", "torque", "at", "wind", "preload", "angular_preload")


def _force(force: dict, bodies: dict) -> dict:
    written = {name: value for name, value in force.items() if name not in _OF_NUMBERS}
    if force["type"] == "torque":
        return {**written, "value": _numbers(force["value"])}
    written |= {name: force[name].tolist() for name in _OF_NUMBERS[5:] if name in force}
    if "ends" in force:
        written |= {key: _end(bodies, *end) for key, end in zip("ab", force["ends"], strict=True)}
    if "stops" in force:
        written["through"] = [_stop(bodies, stop) for stop in force["stops"]]
    if "terms" in force:
        written["of" if force["type"] == "coupling" else "paid_out"] = force["terms"]
    if "R" in force:
        body = force["ends"][0][0]
        R = force["R"] if body is None else bodies[body]["R"].T @ force["R"]
        written["axes"] = {"quat_xyzw": Rotation.from_matrix(R).as_quat().tolist()}
    return written


def _end(bodies: dict, body: str | None, x: np.ndarray) -> dict:
    return {"world": x.tolist()} if body is None else {"body": body, "at": _place(bodies, body, x)}


def _stop(bodies: dict, stop: dict) -> dict:
    """A point that a rope runs over; with an axis a cylinder about it, with a radius alone a sphere."""
    body = stop["end"][0]
    written = {name: stop[name] for name in ("friction", "slip_speed", "inside") if name in stop} | _end(
        bodies, *stop["end"]
    )
    if "side" in stop:
        written["side"] = _end(bodies, *stop["side"])
    if "axis" in stop:
        axis = stop["axis"] if body is None else bodies[body]["R"].T @ stop["axis"]
        written["cylinder"] = {"radius": stop["radius"], "axis": axis.tolist()}
    elif "radius" in stop:
        written["sphere"] = {"radius": stop["radius"]}
    return written


def _numbers(values: np.ndarray) -> list[float] | float:
    return values.tolist() if len(values) > 1 else float(values[0])
