"""Closed-loop mechanisms for tests, scenes of the gallery side by side among them, and their rows in plain numpy."""

import json
from pathlib import Path

import numpy as np
import yaml

import simcli as package

SCENES = Path(package.__file__).parent.parent / "scenes"
GRAVITY = 9.81
BEND = np.pi / 4  # [rad] between the shafts of the Cardan joint
SHAFTS = (0.3, 0.2)  # [kg m^2]
# A skew isogram, opposite sides of which are equal, with each hinge across both its bars, is Bennett's linkage.
ISOGRAM = np.array([[1.0, 0.3, 0.2], [0.4, 0.9, -0.2], [-1.0, -0.3, 0.2], [-0.4, -0.9, -0.2]])


def template(stem):
    """A scene of the gallery as a model for `instances`."""
    scene = yaml.safe_load((SCENES / f"{stem}.yaml").read_text())
    defaults = scene.get("defaults", {})
    model = {"params": scene["params"]} if "params" in scene else {}
    for section, kind in (("bodies", "body"), ("joints", "joint")):
        model[section] = {name: {**defaults.get(kind, {}), **one} for name, one in scene[section].items()}
    return model


def four_bar(n, at=0.0):
    """Bodies and joints of IFToMM A02 with n windows, in the plane z = at; wN_p0 ... are the hinges of the uprights."""
    bodies, joints, w = {}, {}, f"w{n}"
    bar = {"mass": 1, "inertia": {"diag": ["${1/12}"] * 3}}

    def hinge(parent, child, x, y):
        return {"type": "revolute", "parent": parent, "child": child, "at": [x, y, at], "axis": [0, 0, 1]}

    for i in range(n + 1):
        bodies[f"{w}_u{i}"] = {**bar, "pose": {"xyz": [i, 0.5, at]}}
        joints[f"{w}_p{i}"] = hinge("world", f"{w}_u{i}", i, 0)
    joints[f"{w}_p0"]["qd"] = -1.0
    for i in range(n):
        bodies[f"{w}_c{i}"] = {**bar, "pose": {"xyz": [i + 0.5, 1, at]}}
        joints[f"{w}_l{i}"] = hinge(f"{w}_u{i}", f"{w}_c{i}", i, 1)
        joints[f"{w}_r{i}"] = hinge(f"{w}_c{i}", f"{w}_u{i + 1}", i + 1, 1)
    return {"bodies": bodies, "joints": joints}


def bennett():
    """Bennett's linkage: four hinges, three moving bars, 20 rows of rank 17."""
    bodies, joints = {}, {}
    for k in range(4):
        before, here, after = ISOGRAM[k - 1], ISOGRAM[k], ISOGRAM[(k + 1) % 4]
        axis = np.cross(here - before, after - here)
        parent, child = ("world" if k == 0 else f"bennett_{k}"), f"bennett_{(k + 1) % 4}"
        if k < 3:
            middle = (here + after) / 2
            bodies[child] = {"pose": {"xyz": middle.tolist()}, "mass": 1, "inertia": {"diag": [0.1, 0.15, 0.2]}}
        else:
            parent, child = "world", "bennett_3"
        joints[f"bennett_h{k}"] = {
            "type": "revolute",
            "parent": parent,
            "child": child,
            "at": here.tolist(),
            "axis": axis.tolist(),
        }
    joints["bennett_h0"]["qd"] = 2.0
    return {"bodies": bodies, "joints": joints}


def cardan():
    """Two shafts at an angle and the cross between them: 14 rows of rank 11."""
    c, s = float(np.cos(BEND)), float(np.sin(BEND))
    bodies = {f"shaft{k + 1}": {"mass": 1, "inertia": {"diag": [inertia] * 3}} for k, inertia in enumerate(SHAFTS)}
    joints = {
        "drive": {"type": "revolute", "parent": "world", "child": "shaft1", "at": [0, 0, 0], "axis": [1, 0, 0], "qd": 3.0},
        "driven": {"type": "revolute", "parent": "world", "child": "shaft2", "at": [0, 0, 0], "axis": [c, s, 0]},
        "cross": {
            "type": "universal",
            "parent": "shaft1",
            "child": "shaft2",
            "at": [0, 0, 0],
            "axes": {"angular": [[0, 0, 1], [-s, c, 0]]},
        },
    }
    return {"bodies": bodies, "joints": joints}


def pendulum():
    """IFToMM A01 on a massless rod: a distance joint."""
    bob = {"pose": {"xyz": [-1, 0, 0]}, "mass": 1, "inertia": {"diag": [1, 1, 1]}}
    rod = {"type": "distance", "parent": "world", "child": "bob", "parent_frame": {}, "child_frame": {}, "length": 1}
    return {"bodies": {"bob": bob}, "joints": {"rod": rod}}


def write(path, *parts, gravity=(0.0, -GRAVITY, 0.0), **more):
    """A scene of several mechanisms; JSON is YAML."""
    scene = {"simcli": 1, "world": {"gravity": list(gravity)}, "bodies": {}, "joints": {}, **more}
    for part in parts:
        for section, entries in part.items():
            scene[section].update(entries)
    path.write_text(json.dumps(scene, indent=1))
    return path


def rotation(quat):
    """(..., 3, 3) from (..., 4) x y z w."""
    x, y, z, w = np.moveaxis(np.asarray(quat, float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def turn(R, v):
    return np.einsum("...ij,...j->...i", R, np.asarray(v, float))


def frame(pose):
    return np.array(pose.get("xyz", [0, 0, 0])), rotation(pose.get("quat_xyzw", [0, 0, 0, 1]))


def anchors(scene, joint, run):
    """Places and axes of a joint's anchor on parent and child over the run: two of (F, W, 3), (F, W, 3, 3)."""
    sides = []
    for end in ("parent", "child"):
        body = joint[end]
        x, R = (run.body(body).position[:], rotation(run.body(body).orientation[:])) if body != "world" else frame({})
        if "at" in joint:
            x_0, R_0 = frame(scene["bodies"][body].get("pose", {}) if body != "world" else {})
            local, turned = R_0.T @ (np.array(joint["at"]) - x_0), R_0.T
        else:
            local, turned = frame(joint.get(f"{end}_frame", {}))
        sides.append((x + turn(R, local), R @ turned))
    return sides


def residuals(scene, name, run):
    """What the rows of a joint lack over the run, (F, W, rows) [m, 1], from the bodies' poses and the scene alone."""
    joint = scene["joints"][name]
    (x_a, R_a), (x_b, R_b) = anchors(scene, joint, run)
    gap = x_b - x_a
    axis = joint.get("axis", [0, 0, 1] if "plane" in scene.get("world", {}) else [1, 0, 0])
    relative = np.swapaxes(R_a, -1, -2) @ R_b
    twist = np.stack([relative[..., 2, 1], relative[..., 0, 2], relative[..., 1, 0]], -1)
    twist = (twist - np.stack([relative[..., 1, 2], relative[..., 2, 0], relative[..., 0, 1]], -1)) / 2
    if joint["type"] == "revolute":
        return np.concatenate([gap, np.cross(turn(R_a, axis), turn(R_b, axis))], axis=-1)
    if joint["type"] == "prismatic":
        return np.concatenate([np.cross(turn(R_a, axis), gap), twist], axis=-1)
    if joint["type"] == "fixed":
        return np.concatenate([gap, twist], axis=-1)
    if joint["type"] == "universal":
        first, second = joint["axes"]["angular"]
        across = (turn(R_a, _axis(first)) * turn(R_b, _axis(second))).sum(-1, keepdims=True)
        return np.concatenate([gap, across], axis=-1)
    if joint["type"] == "distance":
        return np.linalg.norm(gap, axis=-1, keepdims=True) - np.array(joint["length"])
    raise NotImplementedError(joint["type"])


def _axis(entry):
    return entry["axis"] if isinstance(entry, dict) else entry


def worst_rows(run):
    """{joint: largest violation in any frame and world} of a finished run."""
    scene = yaml.safe_load(run.provenance.scene_resolved)
    return {name: float(np.abs(residuals(scene, name, run)).max()) for name in scene["joints"]}


def body_energies(run):
    """{body: kinetic and potential energy over the run, (F,) [J]} of world 0, from poses, twists and the scene alone."""
    scene = yaml.safe_load(run.provenance.scene_resolved)
    down, out = np.array(scene["world"]["gravity"]), {}
    for name, body in scene["bodies"].items():
        if "mass" not in body:
            continue
        seen = run.body(name)
        R, v, w = rotation(seen.orientation[:][:, 0]), seen.velocity[:][:, 0], seen.angular_velocity[:][:, 0]
        at = seen.position[:][:, 0] + turn(R, body.get("com", [0, 0, 0]))
        spin = turn(np.swapaxes(R, -1, -2), w)
        moment = turn(inertia(body.get("inertia", {})), spin)
        out[name] = body["mass"] * ((v * v).sum(-1) / 2 - at @ down) + (moment * spin).sum(-1) / 2
    return out


def inertia(entry):
    """(3, 3) [kg m^2] about the centre of mass, body axes."""
    if "full" in entry:
        return np.array(entry["full"])
    return np.diag(entry["diag"])
