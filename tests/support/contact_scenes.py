"""Scenes of contact with closed forms, many cases as the worlds of one batch: one kernel serves all of them."""

import json

import numpy as np

from simcli.cli.doorman import run_command
from simcli.records.reader import open_trajectory

GRAVITY = 9.81
INTEGRATOR = {"generalized": "semi_implicit", "maximal": "semi_implicit", "natural": "moreau"}

# A block and a ball on a plane that leans by the angle a (gravity turns instead), and three sliders on rails across it.
RADIUS = 0.1
NEUTRAL = {"a": 0.0, "mu": 0.5, "more": 0.0, "roll": 0.0, "twist": 0.0, "e": 0.0, "z": RADIUS, "v": 0.0, "u": 0.0, "w": 0.0,
           "n": 0.0, "pull": 0.9}  # fmt: skip
YARD = {
    "simcli": 1,
    "params": NEUTRAL,
    "materials": {"m": {"friction": "${mu}", "friction_static": "${mu + more}", "rolling_friction": "${roll}",
                        "torsional_friction": "${twist}", "restitution": "${e}"}},
    "world": {"gravity": [f"${{{GRAVITY}*sin(a)}}", 0, f"${{-{GRAVITY}*cos(a)}}"],
              "shapes": {"ground": {"type": "plane", "material": "m"}}},
    "bodies": {
        "block": {"mass": 2, "pose": {"xyz": [0, 0, 0.1]}, "velocity": {"linear": ["${v}", 0, 0]},
                  "shapes": {"box": {"type": "box", "size": [1, 1, 0.2], "material": "m"}}},
        "ball": {"mass": 1, "pose": {"xyz": [0, 5, "${z}"]},
                 "velocity": {"linear": ["${u}", 0, 0], "angular": [0, "${w}", "${n}"]},
                 "shapes": {"sphere": {"type": "sphere", "radius": RADIUS, "material": "m"}}},
        **{name: {"mass": 1, "inertia": {"diag": [0.1, 0.1, 0.1]}, "pose": {"xyz": [x, 0, 5]}}
           for x, name in enumerate(("rubbed", "stopped", "clamped"))},
    },
    "joints": {
        "rubbed": {"type": "prismatic", "parent": "world", "child": "rubbed", "at": [0, 0, 5], "axis": [0, 1, 0],
                   "friction": 1.0},
        "stopped": {"type": "prismatic", "parent": "world", "child": "stopped", "at": [1, 0, 5], "axis": [0, 1, 0],
                    "limit": [-0.3, 0.3]},
        "clamped": {"type": "prismatic", "parent": "world", "child": "clamped", "at": [2, 0, 5], "axis": [0, 1, 0],
                    "drive": {"mode": "position", "target": 100, "stiffness": 1000, "damping": 10, "effort_limit": 4}},
    },
    "forces": {"pull": {"type": "wrench", "body": "rubbed", "force": [0, "${pull}", 0]},
               "push": {"type": "wrench", "body": "stopped", "force": [0, 10, 0]}},
    "contact": {"exclude": [["block", "ball"]]},
    "output": {"channels": ["state", "energy", "reactions"]},
}  # fmt: skip


def scene(solver, dt, duration, base, every=None, **solver_more):
    """A scene with its solver, step and times."""
    options = {"type": solver, "integrator": INTEGRATOR[solver], "dt": dt, **solver_more}
    output = {**base.get("output", {}), "every": every or dt}
    return {**base, "solver": options, "run": {"duration": duration}, "output": output}


def batch(cases, neutral):
    """`batch` of a scene with one world for each case, a mapping of names to what differs from the neutral parameters."""
    columns = {key: [float({**neutral, **case}[key]) for case in cases.values()] for key in neutral}
    return {"worlds": len(cases), "vary": {f"params.{key}": {"list": values} for key, values in columns.items()}}


def run(folder, name, content, *words):
    """Run a scene in this process, and open its file.

    Args:
        folder: where the scene is written.
        name: of the scene and of its file.
        content: the scene.
        words: more words of the command line.
    """
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(content, indent=1))
    code = run_command(["run", str(path), "-o", str(folder / f"{name}.h5"), "--device", "cpu", "-q", *map(str, words)],
                       debug=False, as_json=False)  # fmt: skip
    return int(code), open_trajectory(folder / f"{name}.h5")


def rotated(quat, vector):
    """(..., 3) a body vector in the world, from (..., 4) x y z w."""
    x, w = quat[..., :3], quat[..., 3:]
    t = 2 * np.cross(x, np.broadcast_to(vector, x.shape))
    return vector + w * t + np.cross(x, t)
