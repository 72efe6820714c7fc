"""Scenes for the sparse way of contact: one with every kind of row, and some with many bodies."""

import numpy as np

from support.contact_scenes import ROUGH

WALLS = {"left": [1, 0, 0], "right": [-1, 0, 0], "front": [0, 1, 0], "back": [0, -1, 0]}
SPACING = 0.26  # [m], of the bodies of a heap
BRICK = (0.2, 0.1, 0.1)  # [m]


def fair():
    """Spheres that roll and press, on joints with laws of every kind; no shape that needs more than closed forms.

    An arm with a drive, limits, friction and a gear; a chain of balls with a payload on the ground; a four-bar, whose rows
    are redundant; a body that moves as prescribed, and pushes another.
    """
    ball = {"type": "sphere", "radius": 0.05}
    bodies, joints = {}, {}
    for k in range(4):
        place = [0.1 * k + 0.05, 0, 0.24 - 0.05 * k]
        bodies[f"link{k}"] = {"mass": 0.2, "inertia": {"diag": [1e-3] * 3}, "pose": {"xyz": place}}
        joints[f"ball{k}"] = {"type": "ball", "parent": f"link{k - 1}" if k else "world", "child": f"link{k}",
                              "at": [0.1 * k, 0, 0.26 - 0.05 * k]}
    bodies["link3"] |= {"mass": 5.0, "inertia": {"diag": [1e-2] * 3}, "shapes": {"s": ball}}
    for k, x in enumerate((1.0, 1.2)):
        bodies[f"arm{k}"] = {"mass": 1.0, "inertia": {"diag": [1e-2] * 3}, "pose": {"xyz": [x + 0.1, 0, 0.5]}, "shapes": {
            "s": {**ball, "pose": {"xyz": [0.1, 0, 0]}}}}
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    joints["shoulder"] = {**hinge, "parent": "world", "child": "arm0", "at": [1.0, 0, 0.5], "friction": 0.2, "qd": 0.5,
                          "drive": {"mode": "position", "target": 0.6, "stiffness": 40, "damping": 2, "effort_limit": 9}}
    joints["elbow"] = {**hinge, "parent": "arm0", "child": "arm1", "at": [1.2, 0, 0.5], "damping": 0.3, "limit": [-0.3, 0.3],
                       "drive": {"mode": "position", "target": 0.2, "stiffness": 5, "damping": 0.1}}
    bodies["wheel"] = {"mass": 1.0, "inertia": {"diag": [1e-2] * 3}, "pose": {"xyz": [1.0, 0.3, 0.5]}}
    joints["axle"] = {**hinge, "parent": "world", "child": "wheel", "at": [1.0, 0.3, 0.5],
                      "mimic": {"joint": "shoulder", "ratio": 2.0}}
    corners = np.array([[2, 0.3], [2, 0.5], [2.3, 0.6], [2.3, 0.3]])
    for k, (x, z) in enumerate((corners[:-1] + corners[1:]) / 2):
        bodies[f"bar{k}"] = {"mass": 1.0, "inertia": {"diag": [1e-2] * 3}, "pose": {"xyz": [float(x), 0, float(z)]}}
    ends = ("world", "bar0", "bar1", "bar2")
    for k, (x, z) in enumerate(corners):
        parent, child = (ends[k], ends[k + 1]) if k < 3 else ("world", "bar2")
        joints[f"pin{k}"] = {**hinge, "parent": parent, "child": child, "at": [float(x), 0, float(z)]}
    joints["pin0"]["qd"] = 2.0
    for k in range(3):
        bodies[f"ball{k}"] = {"mass": 1.0, "pose": {"xyz": [0.02 * k, 1, 0.05 + 0.11 * k]}, "shapes": {"s": ball},
                              "velocity": {"linear": [0.5, 0, 0], "angular": [0, 0, 3.0 + k]}}
    bodies["pusher"] = {"mass": 1.0, "pose": {"xyz": [-0.2, 1, 0.06]}, "shapes": {"s": ball},
                        "kinematic": True, "motion": {"linear": [1.0, 0, 0]}}
    material = {"friction": 0.5, "friction_static": 0.6, "rolling_friction": 2e-3, "torsional_friction": 1e-3}
    return {**ROUGH, "materials": {"m": material}, "bodies": bodies, "joints": joints,
            "output": {"channels": ["state", "energy", "contacts", "reactions"]}}


def overlapping_pile(solver):
    """Five layers of four boxes, of which some overlap their neighbours by 1 cm."""
    bodies = {}
    for k in range(20):
        a, b, layer = k % 2, k // 2 % 2, k // 4
        place = [0.21 * a + 0.03 * (layer % 3), 0.21 * b + 0.02 * ((layer + k) % 3), 0.12 + 0.22 * layer]
        bodies[f"b{k}"] = {"pose": {"xyz": [round(x, 3) for x in place]}, "shapes": {
            "s": {"type": "box", "size": [0.2, 0.2, 0.2], "density": 1000}}}
    return {"simcli": 1, "world": {"shapes": {"ground": {"type": "plane"}}}, "bodies": bodies,
            "solver": {"type": solver, "dt": 0.005}, "run": {"duration": 0.5},
            "output": {"every": 0.005, "channels": ["state"]}}


def column(count, solver):
    """Boxes over each other that fall by a centimetre and meet a little askew."""
    bodies = {}
    for k in range(count):
        pose = {"xyz": [0.01 * (k % 3), 0.008 * (k % 2), 0.11 + 0.21 * k], "rpy": [0.02 * (k % 2), 0.01 * (k % 3), 0.1 * k]}
        bodies[f"b{k}"] = {"pose": pose, "shapes": {"s": {"type": "box", "size": [0.2, 0.2, 0.2], "density": 1000}}}
    return {"simcli": 1, "world": {"shapes": {"ground": {"type": "plane"}}}, "bodies": bodies,
            "solver": {"dt": 0.005, **solver}, "run": {"duration": 5}, "output": {"every": 0.005, "channels": ["state"]}}


def heap(side, layers, shape, seed=0):
    """Bodies over each other in a box of walls, a little askew and apart, side x side in each layer."""
    rng, bodies = np.random.default_rng(seed), {}
    for layer in range(layers):
        for i in range(side):
            for j in range(side):
                place = np.array([(i - (side - 1) / 2) * SPACING, (j - (side - 1) / 2) * SPACING, 0.15 + SPACING * layer])
                pose = {"xyz": (place + rng.uniform(-0.02, 0.02, 3)).tolist(), "rpy": rng.uniform(-0.3, 0.3, 3).tolist()}
                bodies[f"b{len(bodies)}"] = {"pose": pose, "shapes": {"s": shape}}
    half = side * SPACING / 2 + 0.02
    walls = {name: {"type": "plane", "normal": normal, "offset": -half} for name, normal in WALLS.items()}
    return {**ROUGH, "materials": {"m": {"friction": 0.5, "density": 1000}}, "bodies": bodies,
            "world": {"shapes": {"ground": {"type": "plane"}, **walls}}}


def brick_wall(across, rows):
    """A wall in running bond, with half bricks at the ends of every second row."""
    length, _, height = BRICK
    bodies = {}
    for row in range(rows):
        places = [(k + 0.5, 1.0) for k in range(across)]
        if row % 2:
            places = [(0.25, 0.5), *((k + 1.0, 1.0) for k in range(across - 1)), (across - 0.25, 0.5)]
        for x, share in places:
            bodies[f"b{len(bodies)}"] = {"pose": {"xyz": [length * x, 0, height * (row + 0.5)]}, "shapes": {
                "s": {"type": "box", "size": [length * share, *BRICK[1:]]}}}
    return {**ROUGH, "materials": {"m": {"friction": 0.5, "density": 1000}}, "bodies": bodies}
