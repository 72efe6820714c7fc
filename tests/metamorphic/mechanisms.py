"""Random mechanisms, and bodies that touch, as numbers in the world (written.py) that can be turned and mirrored."""

import copy

import numpy as np
from scipy.spatial.transform import Rotation

from metamorphic.written import N_RATES, SINGLE, turn_of, turned, unit

KINDS = ("box", "sphere", "capsule", "cylinder")


def solid(rng, x, R=None, mass=None) -> dict:
    """A body with a random inertia that some distribution of mass has, and its centre of mass beside its origin."""
    a, Q, m = rng.uniform(0.1, 0.3, 3), turn_of(rng), mass or rng.uniform(0.3, 2)
    R = turn_of(rng) if R is None else R
    return {"x": np.asarray(x, float), "R": R, "mass": m, "com": rng.normal(size=3) * 0.1,
            "inertia": Q @ np.diag(m / 5 * (a @ a - a**2)) @ Q.T}


def mechanism(seed: int, n: int, floats: bool) -> dict:
    """A tree of bodies on joints of all types; one that floats has a free root and no gravity."""
    rng = np.random.default_rng(seed)
    bodies, joints = {f"b{k}": solid(rng, rng.normal(size=3) * 0.6) for k in range(n)}, {}
    if floats:
        bodies["b0"] |= {"v": rng.normal(size=3), "w": rng.normal(size=3)}
    for k in range(1 if floats else 0, n):
        parent = int(rng.integers(0 if floats else -1, max(k, 1)))
        axis, kind = unit(rng.normal(size=3)), list(N_RATES)[int(rng.integers(len(N_RATES)))]
        joints[f"j{k}"] = {"type": kind, "parent": f"b{parent}" if k and parent >= 0 else "world", "child": f"b{k}",
                           "at": bodies[f"b{k}"]["x"] + rng.normal(size=3) * 0.2, "axis": axis, "hand": 1.0,
                           "second": unit(np.cross(axis, rng.normal(size=3))), "qd": rng.normal(size=3) * 0.8}
    return {"bodies": bodies, "joints": joints, "gravity": np.array([0.0, 0, 0] if floats else [1.0, 2, -9])}


def with_laws(made: dict, seed: int) -> dict:
    """The mechanism with dampers, armatures, drives and limits on joints; springs, wrenches and efforts."""
    rng, out = np.random.default_rng(500 + seed), copy.deepcopy(made)
    names, forces = list(out["bodies"]), {}
    for name, joint in out["joints"].items():
        laws = joint["laws"] = {}
        n = N_RATES[joint["type"]]
        if joint["type"] == "planar" or rng.random() < 0.2:
            continue  # whose axes in the plane are the program's choice
        if rng.random() < 0.5:
            laws["armature"] = rng.uniform(0.05, 0.2)
        what = rng.integers(5)
        if what == 0:
            laws["damping"] = rng.uniform(0.1, 0.6)
        elif what == 1 and joint["type"] in SINGLE:
            laws["drive"] = {"stiffness": rng.uniform(5, 30), "damping": rng.uniform(0.1, 1), "target": rng.uniform(-1, 1)}
        elif what == 2 and joint["type"] in SINGLE:
            laws["limit"] = np.array([-0.03, 0.04])
            laws["soft"] = {"stiffness": rng.uniform(20, 40), "damping": rng.uniform(0.1, 0.5)}
        else:
            forces[f"motor-{name}"] = {"type": "torque", "joint": name, "value": rng.normal(size=n) * 0.5}
    ends = [(names[-1], out["bodies"][names[-1]]["x"] + rng.normal(size=3) * 0.1), (None, rng.normal(size=3))]
    forces["cord"] = {"type": "spring", "ends": ends, "stiffness": rng.uniform(5, 30), "rest_length": 0.8, "damping": 0.3}
    forces["push"] = {"type": "wrench", "body": names[0], "force": rng.normal(size=3), "torque": rng.normal(size=3) * 0.2,
                      "at": out["bodies"][names[0]]["com"]}
    return {**out, "forces": forces}


def turning(made: dict, by: float) -> dict:
    """The mechanism with rates of its joints that are larger by a factor."""
    joints = {name: {**joint, "qd": joint["qd"] * by} for name, joint in made["joints"].items()}
    return {**made, "joints": joints}


def spinning(seed: int, n: int = 3) -> dict:
    """Slender bodies that spin fast with nothing around; the smallest principal inertia is a tenth of the largest."""
    rng = np.random.default_rng(seed)
    bodies = {}
    for k in range(n):
        Q, size = turn_of(rng), rng.uniform(0.5, 2)
        body = solid(rng, [2.0 * k, 0, 0])
        body["inertia"] = Q @ np.diag(size * np.array([1e-3, 1e-2, 1.06e-2])) @ Q.T
        bodies[f"b{k}"] = {**body, "v": rng.normal(size=3), "w": unit(rng.normal(size=3)) * rng.uniform(20, 40)}
    return {"bodies": bodies, "joints": {}, "gravity": np.zeros(3)}


def floating_pushed(seed: int) -> dict:
    """Bodies on joints that leave all six directions, or all but one, with efforts on them."""
    rng = np.random.default_rng(seed)
    bodies = {f"b{k}": solid(rng, [1.5 * k, 0.3, 0.2]) for k in range(4)}
    anchor = {"axis": np.eye(3)[0], "second": np.eye(3)[1], "hand": 1.0, "qd": None}
    joints = {"f0": {"type": "free", "parent": "world", "child": "b0", "at": bodies["b0"]["x"], **anchor},
              "f1": {"type": "free", "parent": "b0", "child": "b1", "at": bodies["b1"]["x"] + 0.1, **anchor},
              "d2": {"type": "distance", "parent": "world", "child": "b2", "at": bodies["b2"]["x"] + 0.1,
                     "from": bodies["b2"]["x"] + [0.1, 0.2, 1.1], **anchor},
              "d3": {"type": "distance", "parent": "b2", "child": "b3", "at": bodies["b3"]["x"] - 0.1,
                     "from": bodies["b2"]["x"] - 0.05, **anchor}}
    forces = {f"push-{name}": {"type": "torque", "joint": name, "value": rng.normal(size=6) * 0.3} for name in joints}
    return {"bodies": bodies, "joints": joints, "gravity": np.array([0.3, 0.1, -2.0]), "forces": forces}


def planar_loop(slides: bool) -> dict:
    """A four-bar, or a slider-crank, whose crank has a speed; its masses lie off the plane."""
    inertia = np.diag([0.02, 0.03, 0.025])
    places = ([0.1, 0, 0], [0.4, 0, 0.05], [0.7, 0, 0]) if slides else ([0, 0, 0.25], [0.5, 0, 0.5], [1, 0, 0.25])
    bodies = {f"b{k}": {"x": np.array(x), "R": np.eye(3), "mass": 1.0, "com": np.array([0.03, -0.02, 0.05]),
                        "inertia": inertia} for k, x in enumerate(places)}
    hinges = [("world", "b0", [0, 0, 0]), ("b0", "b1", [0.2, 0, 0.1] if slides else [0, 0, 0.5]),
              ("b1", "b2", [0.7, 0, 0] if slides else [1, 0, 0.5]), ("world", "b2", [0.7, 0, 0] if slides else [1, 0, 0])]
    joints = {f"j{k}": {"type": "prismatic" if slides and k == 3 else "revolute", "parent": parent, "child": child,
                        "at": np.array(at, float), "axis": np.array([1.0, 0, 0] if slides and k == 3 else [0, 1.0, 0]),
                        "second": np.array([0, 0, 1.0]), "hand": 1.0, "qd": np.array([2.0, 0, 0]) if k == 0 else None}
              for k, (parent, child, at) in enumerate(hinges)}
    return {"bodies": bodies, "joints": joints, "gravity": np.array([1.0, 2, -9])}


def heap(seed: int, n: int, kinds: tuple[str, ...] = KINDS) -> dict:
    """Bodies that fall on each other and on an inclined plane."""
    rng = np.random.default_rng(seed)
    bodies = {f"b{k}": {"x": np.array([*rng.uniform(-0.15, 0.15, 2), 0.25 + 0.3 * k]), "R": turn_of(rng),
                        "shape": kinds[int(rng.integers(len(kinds)))], "v": rng.normal(size=3) * 0.5,
                        "w": rng.normal(size=3) * 2} for k in range(n)}
    return {"bodies": bodies, "joints": {}, "gravity": np.array([0, 0, -9.81]), **floor([0.1, 0.05, 1])}


def floor(normal, **material) -> dict:
    """A plane through the origin, of a material."""
    return {"ground": {"type": "plane", "normal": unit(np.array(normal, float)), "x": np.zeros(3)},
            "material": {"friction": 0.4, **material}}


def rollers(seed: int, n: int = 4, spread: float = 2 * np.pi) -> dict:
    """Balls that roll on a level plane in directions of an angle from x on, with rolling friction."""
    rng = np.random.default_rng(seed)
    bodies = {}
    for k in range(n):
        way, radius = rng.uniform(0, spread), 0.07
        v = np.array([np.cos(way), np.sin(way), 0])
        bodies[f"b{k}"] = {"x": np.array([0, 1.0 * k, radius]), "R": turn_of(rng), "shape": "sphere", "v": v,
                           "w": np.cross([0, 0, 1], v) / radius}
    return {"bodies": bodies, "joints": {}, "gravity": np.array([0, 0, -9.81]), **floor([0, 0, 1], rolling_friction=4e-3)}


BALL, APART = 0.05, 12.0  # [m], radius of what strikes; of mechanisms beside each other
STRUCK = {"type": "sphere", "radius": 0.1, "layers": ["struck"], "touches": ["balls"]}
MATTER = {"friction": 0.4, "restitution": 0.3}
TURNING = {"friction_static": 0.5, "rolling_friction": 2e-3, "torsional_friction": 1e-3}  # of what balls do besides


def struck(made: dict) -> dict:
    """The scene with a ball that strikes each body from above, and turns; bodies do not touch each other."""
    out, balls = copy.deepcopy(made), {}
    down = unit(made["gravity"])
    for name, body in out["bodies"].items():
        body.setdefault("shape", STRUCK)
        balls[f"{name}-ball"] = {
            "x": body["x"] - (0.1 + BALL + 5e-4) * down,
            "R": np.eye(3),
            "shape": {"type": "sphere", "radius": BALL, "layers": ["balls"], "touches": ["struck"]},
            "v": body.get("v", np.zeros(3)) + down,
            "w": np.array([3.0, 1, 2]),
        }
    return {**out, "bodies": {**balls, **out["bodies"]}, "material": {**MATTER, **made.get("material", {})}}


def beside_each_other(**parts: dict) -> dict:
    """Several scenes in one, by the first letters of the names of all that is in each; the gravity of the first one."""
    out = {"bodies": {}, "joints": {}, "forces": {}, "more": {}}
    for k, (prefix, made) in enumerate(parts.items()):
        names = {*made["bodies"], *made["joints"]}
        part = _renamed(turned(made, np.eye(3), np.array([0, APART * k, 0])), {name: prefix + name for name in names})
        out["bodies"] |= part["bodies"]
        out["joints"] |= part["joints"]
        out["forces"] |= {prefix + name: force for name, force in part.get("forces", {}).items()}
        for name, more in part.get("more", {}).items():
            out["more"].setdefault(name, {}).update(more)
    return {**out, "gravity": next(iter(parts.values()))["gravity"]}


def _renamed(value, names: dict[str, str]):
    """What numbers say at any depth, with other names."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, dict):
        return {_renamed(key, names): _renamed(part, names) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_renamed(part, names) for part in value)
    return value


def bouncing(seed: int, n: int = 3) -> dict:
    """Balls that lose nothing when they bounce on a level plane."""
    rng = np.random.default_rng(seed)
    bodies = {f"b{k}": {"x": np.array([1.0 * k, 0, rng.uniform(0.3, 0.6)]), "R": np.eye(3), "shape": "sphere",
                        "v": np.zeros(3), "w": np.zeros(3)} for k in range(n)}
    ground = floor([0, 0, 1], restitution=1.0, friction=0.0)
    return {"bodies": bodies, "joints": {}, "gravity": np.array([0, 0, -9.81]), **ground}


def stopped(seed: int) -> dict:
    """A hinge that runs into a hard limit, within a step."""
    rng = np.random.default_rng(seed)
    body = solid(rng, [2.0, 0, 0], np.eye(3), 1.0)
    hinge = {"type": "revolute", "parent": "world", "child": "b0", "at": body["x"], "axis": unit(rng.normal(size=3)),
             "second": np.eye(3)[1], "hand": 1.0, "qd": np.array([3.0]),
             "laws": {"limit": np.array([-4, 0.1 + 0.003 / 12 * seed])}}
    return {"bodies": {"b0": body}, "joints": {"j0": hinge}, "gravity": np.zeros(3)}


def discs(seed: int, n: int = 4) -> dict:
    """Discs that slide flat on a level plane or rock on their rims."""
    rng = np.random.default_rng(seed)
    disc = {"type": "cylinder", "radius": 0.1, "length": 0.2}
    bodies = {}
    for k in range(n):
        tilt = Rotation.from_rotvec([*rng.uniform(-0.05, 0.05, 2) * (k % 2), rng.uniform(-3, 3)]).as_matrix()
        v, w = rng.normal(size=3) * [0.8, 0.8, 0.3 * (k % 2)], rng.normal(size=3) * [k % 2, k % 2, 2]
        bodies[f"b{k}"] = {"x": np.array([0.5 * k, 0.1, 0.1 + 0.01 * (k % 2)]), "R": tilt, "shape": disc, "v": v, "w": w}
    return {"bodies": bodies, "joints": {}, "gravity": np.array([0, 0, -9.81]), **floor([0, 0, 1])}


def flats(seed: int) -> dict:
    """A box, a disc and a cone that land flat on an oblique plane, turning, and slide, pressed by oblique gravity."""
    rng = np.random.default_rng(seed)
    up = unit(rng.normal(size=3))
    upright, down = Rotation.align_vectors([up], [[0, 0, 1]])[0], up * -8.0
    bodies = {}
    for k, kind in enumerate(("box", "cylinder", "cone")):
        size = {"size": [0.2, 0.2, 0.2]} if kind == "box" else {"radius": 0.1, "length": 0.2}
        turn = upright * Rotation.from_rotvec([*rng.normal(size=2) * 1e-3, rng.uniform(-3, 3)])
        body = solid(rng, upright.apply([0.6 * k, 0, 0.11]), turn.as_matrix(), 2.0)
        body |= {"com": np.array([-0.009, -0.064, 0.001]), "inertia": np.diag([0.067, 0.064, 0.035])}
        v, w = rng.normal(size=3) * [0.8, 0.8, 0.1], [*rng.normal(size=2) * 0.05, 1.0]
        bodies[f"b{k}"] = {**body, "shape": {"type": kind, **size}, "v": upright.apply(v), "w": upright.apply(w)}
    aside = upright.apply([rng.normal(), rng.normal(), 0]) * 2
    return {"bodies": bodies, "joints": {}, "gravity": down + aside, **floor(up)}


def on_rails(seed: int) -> dict:
    """Rollers that drop onto two rails, or onto the edge of a box, across them: each scene is its own mirror image."""
    rng = np.random.default_rng(seed)
    bodies, along_y = {}, Rotation.from_rotvec([np.pi / 2, 0, 0]).as_matrix()
    rail = {"type": "box", "size": [0.5, 1.0, 0.3]}
    diamond = Rotation.from_rotvec([0, np.pi / 4, 0]).as_matrix()
    for k, kind in enumerate(("cylinder", "capsule", "box", "cone")):
        at = np.array([3.0 * k, 0, 0])
        size = {"size": [0.14, 0.14, 0.3]} if kind == "box" else {"radius": 0.1, "length": 0.3}
        roller, aside, down = {"type": kind, **size}, np.array([0.3, 0, 0]), np.array([0, 0, -0.15])
        edges = [(f"left{k}", at - aside + down, np.eye(3)), (f"right{k}", at + aside + down, np.eye(3))]
        height, turn = 0.0866, along_y
        if k % 2 or kind == "box":
            edges, height = [(f"edge{k}", at + 2 * down, diamond)], 0.36
        if kind == "cone":  # upright, its axis in the plane of the mirror
            roller, turn, height = {"type": "cone", "radius": 0.1, "length": 0.2}, np.eye(3), 0.41
        if kind == "box":
            turn = along_y @ Rotation.from_rotvec([0, 0, np.pi / 4]).as_matrix()
        for name, x, R in edges:
            bodies[name] = {"x": x, "R": R, "shape": rail, "kinematic": {"kinematic": True}}
        at[2] = height + rng.uniform(0.01, 0.03)
        v = np.array([rng.uniform(-0.2, 0.2), 0, 0])
        bodies[f"r{k}"] = {"x": at, "R": turn, "shape": roller, "v": v, "w": np.zeros(3)}
    return {"bodies": bodies, "joints": {}, "gravity": np.array([0, 0, -9.81]), "material": {"friction": 0.5}}


def on_turntable(seed: int) -> dict:
    """Boxes that friction holds on a table that turns."""
    rng = np.random.default_rng(seed)
    bodies = {"table": {"x": np.zeros(3), "R": np.eye(3), "shape": {"type": "cylinder", "radius": 2.0, "length": 0.2},
                        "kinematic": {"kinematic": True, "motion": {"angular": [0, 0, 2.0]}}}}
    for k in range(3):
        way = 2.1 * k + rng.uniform(0, 1)
        x = rng.uniform(0.5, 1.2) * np.array([np.cos(way), np.sin(way), 0]) + [0, 0, 0.15]
        bodies[f"b{k}"] = {"x": x, "R": Rotation.from_rotvec([0, 0, way]).as_matrix(), "w": np.array([0, 0, 2.0]),
                           "shape": {"type": "box", "size": [0.2, 0.15, 0.1]}, "v": np.cross([0, 0, 2.0], x)}
    return {"bodies": bodies, "joints": {}, "gravity": np.array([0, 0, -9.81]), "material": {"friction": 0.9}}


def closed_by_hand(seed: int) -> tuple[dict, dict]:
    """A four-bar or a slider-crank drawn at one crank angle, whose crank begins at another one, and the same drawn there.

    The second drawing is found by where two circles, or a circle and a line, cross on the side of the first one.
    """
    rng = np.random.default_rng(seed)
    crank, coupler, base = rng.uniform(0.15, 0.25), rng.uniform(0.7, 0.9), rng.uniform(0.65, 0.75)
    rocker = 0.0 if seed % 2 else rng.uniform(0.6, 0.7)
    first, turn = rng.uniform(-np.pi, np.pi), rng.uniform(-3, 3)
    drawings = [_drawn(first + angle, crank, coupler, rocker, base, side=(-1) ** (seed // 2)) for angle in (0, turn)]
    drawings[0]["joints"]["j0"]["keys"] = {"q": turn}
    return tuple(drawings)


def _drawn(angle: float, crank: float, coupler: float, rocker: float, base: float, side: int) -> dict:
    """At a crank angle [rad] about y; a rocker of no length is a slide along x."""
    a, o = crank * np.array([np.cos(angle), np.sin(angle)]), np.array([base, 0.0])
    if rocker:
        d = o - a
        along = (d @ d + coupler**2 - rocker**2) / (2 * d @ d)
        across = np.sqrt(coupler**2 - along**2 * (d @ d))
        p = a + along * d + side * across * np.array([-d[1], d[0]]) / np.linalg.norm(d)
    else:
        p = np.array([a[0] + side * np.sqrt(coupler**2 - a[1] ** 2), 0.0])
    inertia, com = np.diag([0.02, 0.03, 0.025]), np.array([0.05, 0, 0.02])

    def at(point):
        return np.array([point[0], 0, point[1]])

    def solid_at(point, direction):
        x, z = unit(np.array([*direction]))
        R = np.column_stack([[x, 0, z], [0, 1, 0], [-z, 0, x]])
        return {"x": at(point), "R": R, "mass": 1.0, "com": com, "inertia": inertia}

    bodies = {"b0": solid_at([0, 0], a), "b1": solid_at(a, p - a), "b2": solid_at(p, (o - p) if rocker else (1.0, 0.0))}
    ends = [("world", "b0", [0, 0]), ("b0", "b1", a), ("b1", "b2", p), ("world", "b2", o if rocker else p)]
    joints = {f"j{k}": {"type": "revolute", "parent": parent, "child": child, "at": at(place), "hand": 1.0,
                        "axis": np.array([0, -1.0, 0]), "second": np.eye(3)[0], "qd": None if k else np.array([2.0])}
              for k, (parent, child, place) in enumerate(ends)}
    if not rocker:
        joints["j3"] |= {"type": "prismatic", "axis": np.eye(3)[0]}
    joints["j2"]["loop"] = True
    joints["j2"]["keys"] = {"loop": True}
    return {"bodies": bodies, "joints": joints, "gravity": np.array([1.0, 0, -9])}
