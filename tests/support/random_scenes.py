"""Random mechanisms, and bodies that fall on each other, as numbers in the world that can be turned and mirrored.

All vectors are of the world, in the poses that the scene writes: x, v [m, m/s], R, w [rad/s] of bodies; com and inertia
are of the body.
"""

import copy

import numpy as np
from scipy.spatial.transform import Rotation

N_RATES = {"revolute": 1, "prismatic": 1, "ball": 3, "universal": 2, "cylindrical": 2, "screw": 1, "planar": 3}
TURNS = {"revolute": (0,), "prismatic": (), "universal": (0, 1), "cylindrical": (1,), "screw": (0,), "planar": (2,)}  # rates
MIRROR = np.diag([1.0, -1.0, 1.0])
KINDS = ("box", "sphere", "capsule", "cylinder")


def turn_of(rng) -> np.ndarray:
    return Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()


def unit(vector) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def mechanism(seed: int, n: int, floats: bool) -> dict:
    """A tree of bodies on joints of all types; one that floats has a free root and no gravity."""
    rng = np.random.default_rng(seed)
    bodies, joints = {}, {}
    for k in range(n):
        a, Q, mass = rng.uniform(0.1, 0.3, 3), turn_of(rng), rng.uniform(0.3, 2)
        inertia = Q @ np.diag(mass / 5 * (a @ a - a**2)) @ Q.T
        bodies[f"b{k}"] = {"x": rng.normal(size=3) * 0.6, "R": turn_of(rng), "mass": mass, "com": rng.normal(size=3) * 0.1,
                           "inertia": inertia}  # fmt: skip
    if floats:
        bodies["b0"] |= {"v": rng.normal(size=3), "w": rng.normal(size=3)}
    for k in range(1 if floats else 0, n):
        parent = int(rng.integers(0 if floats else -1, max(k, 1)))
        axis, kind = unit(rng.normal(size=3)), list(N_RATES)[int(rng.integers(len(N_RATES)))]
        joints[f"j{k}"] = {"type": kind, "parent": f"b{parent}" if k and parent >= 0 else "world", "child": f"b{k}",
                           "at": bodies[f"b{k}"]["x"] + rng.normal(size=3) * 0.2, "axis": axis, "hand": 1.0,
                           "second": unit(np.cross(axis, rng.normal(size=3))), "qd": rng.normal(size=3) * 0.8}  # fmt: skip
    return {"bodies": bodies, "joints": joints, "gravity": np.array([0.0, 0, 0] if floats else [1.0, 2, -9])}


def planar_loop(slides: bool) -> dict:
    """A four-bar, or a slider-crank, whose crank has a speed; its masses lie off the plane."""
    inertia = np.diag([0.02, 0.03, 0.025])
    places = ([0.1, 0, 0], [0.4, 0, 0.05], [0.7, 0, 0]) if slides else ([0, 0, 0.25], [0.5, 0, 0.5], [1, 0, 0.25])
    bodies = {f"b{k}": {"x": np.array(x), "R": np.eye(3), "mass": 1.0, "com": np.array([0.03, -0.02, 0.05]),
                        "inertia": inertia} for k, x in enumerate(places)}  # fmt: skip
    hinges = [("world", "b0", [0, 0, 0]), ("b0", "b1", [0.2, 0, 0.1] if slides else [0, 0, 0.5]),
              ("b1", "b2", [0.7, 0, 0] if slides else [1, 0, 0.5]), ("world", "b2", [0.7, 0, 0] if slides else [1, 0, 0])]
    joints = {f"j{k}": {"type": "prismatic" if slides and k == 3 else "revolute", "parent": parent, "child": child,
                        "at": np.array(at, float), "axis": np.array([1.0, 0, 0] if slides and k == 3 else [0, 1.0, 0]),
                        "second": np.array([0, 0, 1.0]), "hand": 1.0, "qd": np.array([2.0, 0, 0]) if k == 0 else None}
              for k, (parent, child, at) in enumerate(hinges)}  # fmt: skip
    return {"bodies": bodies, "joints": joints, "gravity": np.array([1.0, 2, -9])}


def heap(seed: int, n: int, kinds: tuple[str, ...] = KINDS) -> dict:
    """Bodies that fall on each other and on an inclined plane."""
    rng = np.random.default_rng(seed)
    bodies = {f"b{k}": {"x": np.array([*rng.uniform(-0.15, 0.15, 2), 0.25 + 0.3 * k]), "R": turn_of(rng),
                        "shape": kinds[int(rng.integers(len(kinds)))], "v": rng.normal(size=3) * 0.5,
                        "w": rng.normal(size=3) * 2} for k in range(n)}  # fmt: skip
    return {"bodies": bodies, "joints": {}, "gravity": np.array([0, 0, -9.81]), "normal": unit(np.array([0.1, 0.05, 1])),
            "origin": np.zeros(3)}  # fmt: skip


def turned(made: dict, R: np.ndarray, by: np.ndarray) -> dict:
    """All of it turned about the origin, and moved [m]."""
    out = copy.deepcopy(made)
    for body in out["bodies"].values():
        body["x"], body["R"] = R @ body["x"] + by, R @ body["R"]
        body |= {name: R @ body[name] for name in ("v", "w") if name in body}
    for joint in out["joints"].values():
        joint |= {"at": R @ joint["at"] + by, "axis": R @ joint["axis"], "second": R @ joint["second"]}
        if joint["type"] == "ball":
            joint["qd"] = R @ joint["qd"]
    for name in ("gravity", "normal"):
        out |= {name: R @ out[name]} if name in out else {}
    if "origin" in out:
        out["origin"] = R @ out["origin"] + by
    return out


def mirrored(made: dict) -> dict:
    """All of it as a mirror shows it, y to -y: turns go the other way about axes that are vectors."""
    S, out = MIRROR, copy.deepcopy(made)
    for body in out["bodies"].values():
        body["x"], body["R"] = S @ body["x"], S @ body["R"] @ S
        body |= {name: sign * S @ body[name] for name, sign in (("v", 1), ("w", -1), ("com", 1)) if name in body}
        if "inertia" in body:
            body["inertia"] = S @ body["inertia"] @ S
    for joint in out["joints"].values():
        joint |= {name: S @ joint[name] for name in ("at", "axis", "second")}
        joint["hand"] = -joint["hand"]
        if joint["qd"] is None:
            continue
        if joint["type"] == "ball":
            joint["qd"] = -S @ joint["qd"]
        else:
            joint["qd"] = joint["qd"] * [-1 if k in TURNS[joint["type"]] else 1 for k in range(3)]
    for name in ("gravity", "normal"):
        out |= {name: S @ out[name]} if name in out else {}
    return out


def scene_of(made: dict, backwards: bool = False) -> dict:
    """The scene, with its bodies and joints in this order or backwards; planar joints say no speed."""
    step = -1 if backwards else 1
    scene = {"simcli": 1, "materials": {"m": {"density": 1000, "friction": 0.4}},
             "world": {"gravity": made["gravity"].tolist()},
             "bodies": {name: _body(made["bodies"][name]) for name in list(made["bodies"])[::step]},
             "joints": {name: _joint(made["joints"][name]) for name in list(made["joints"])[::step]}}  # fmt: skip
    if "normal" in made:
        plane = {"type": "plane", "normal": made["normal"].tolist(), "material": "m"}
        if made["origin"].any():
            plane["pose"] = {"xyz": made["origin"].tolist()}
        scene["world"]["shapes"] = {"ground": plane}
    return scene


def _body(body: dict) -> dict:
    pose = {"xyz": body["x"].tolist(), "quat_xyzw": Rotation.from_matrix(body["R"]).as_quat().tolist()}
    written = {"pose": pose}
    if "v" in body:
        written["velocity"] = {"linear": body["v"].tolist(), "angular": body["w"].tolist()}
    if "shape" in body:
        sizes = {"box": {"size": [0.2, 0.15, 0.1]}, "sphere": {"radius": 0.07}}
        size = sizes.get(body["shape"], {"radius": 0.07, "length": 0.15})
        return {**written, "shapes": {"s": {"type": body["shape"], "material": "m", **size}}}
    symmetric = (body["inertia"] + body["inertia"].T) / 2
    return {**written, "mass": body["mass"], "com": body["com"].tolist(), "inertia": {"full": symmetric.tolist()}}


def _joint(joint: dict) -> dict:
    kind = joint["type"]
    written = {"type": kind, "parent": joint["parent"], "child": joint["child"], "at": joint["at"].tolist()}
    if kind == "universal":
        written["axes"] = {"angular": [joint["axis"].tolist(), joint["second"].tolist()]}
    elif kind != "ball":
        written["axis"] = joint["axis"].tolist()
    if kind == "screw":
        written["pitch"] = 0.3 * joint["hand"]
    if joint["qd"] is not None and kind != "planar":  # whose axes in the plane are the program's choice
        rates = joint["qd"][: N_RATES[kind]].tolist()
        written["qd"] = rates if len(rates) > 1 else rates[0]
    return written
