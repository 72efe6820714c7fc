"""Contacts that their joints let nothing move along: what they see of velocities is rounding, and asks for no impulse."""

import json
from itertools import product

import numpy as np
import pytest
from support.process import simcli as command

import simcli

RADIUS, DIP, DT = 0.1, 1e-3, 1e-3  # [m, m, s]
NORMAL = np.array([0.3, 0.5, 0.7]) / np.sqrt(0.83)
ACROSS = np.array([0.5, -0.3, 0.0]) / np.sqrt(0.34)
SPEED = {"pin": 3.0, "slide": 0.1, "carriage": 3.0}  # [rad/s, m/s, rad/s]
PRECISE = {"float64": 1e-4, "float32": 1e-3}  # [rad/s]
SOLVERS = ("generalized", "maximal", "natural")
SINKS = [(case, "float64", DIP) for case in SPEED]
SINKS += [pytest.param(case, "float32", DIP, marks=pytest.mark.slow) for case in ("pin", "carriage")]
OFTEN = ("generalized", "carriage", "float64")
TOUCHES = [pytest.param(*each, marks=[] if each == OFTEN else pytest.mark.slow)
           for each in product(SOLVERS, SPEED, PRECISE)]  # fmt: skip


def ball_at(place) -> dict:
    ball = {"type": "sphere", "radius": RADIUS, "material": "m"}
    return {"pose": {"xyz": [float(x) for x in place]}, "shapes": {"s": ball}}


def scene_of(case: str, dip: float) -> dict:
    """A ball on a joint that touches a wall, deeper by a dip, in a direction in which the joint moves nothing."""
    base = {"mass": 1, "inertia": {"diag": [1, 1, 1]}, "pose": {"xyz": [0.7, 0.4, 1]}}
    weld = {"type": "fixed", "parent": "world", "child": "base", "at": [0, 0, 1]}
    wall = {"type": "plane", "normal": NORMAL.tolist(), "material": "m"}
    joint = {"parent": "base", "child": "top", "at": [0, 0, 0], "qd": SPEED[case]}
    scene = {"simcli": 1, "materials": {"m": {"density": 1000, "friction": 0 if case == "slide" else 0.5}},
             "world": {"gravity": [0, 0, 0]}, "run": {"duration": 0.1, "on_unsolved": "warn"}}  # fmt: skip
    if case == "carriage":  # a casing that flies and turns about the normal, and a wheel in it
        base["velocity"] = {"linear": [0.1, 0.2, 0.3], "angular": [0, 0, 2]}
        box = {"type": "box", "size": [1, 1, 0.2], "material": "m"}
        plate = {"pose": {"xyz": [0, 0, -0.1]}, "shapes": {"s": box}}
        scene["bodies"] = {"base": base, "plate": plate, "top": ball_at([0, 0, RADIUS - dip])}
        scene["joints"] = {"weld": {**weld, "parent": "base", "child": "plate"},
                           "joint": {**joint, "type": "revolute", "axis": [0, 0, 1]}}  # fmt: skip
    else:
        kind = {"pin": ("revolute", NORMAL), "slide": ("prismatic", ACROSS)}[case]
        scene["world"]["shapes"] = {"wall": wall}
        scene["bodies"] = {"base": base, "top": ball_at(NORMAL * (RADIUS - dip))}
        scene["joints"] = {"weld": weld, "joint": {**joint, "type": kind[0], "axis": kind[1].tolist()}}
    return scene


def last_speed(folder, scene, solver, precision) -> float:
    """[rad/s or m/s], of the joint at the end of a run."""
    path, out = folder / "scene.json", folder / "out.h5"
    path.write_text(json.dumps({**scene, "solver": {"type": solver, "dt": DT, "precision": precision}}))
    ended = command("run", path, "-o", out, "-q", "--force")
    assert ended.returncode == 0, ended.stderr
    with simcli.open(out) as run:
        return float(run.joint("joint").qd[-1, 0, 0])


def speed_without_contact(folder, case, precision) -> float:
    free = {**scene_of(case, 0.0), "contact": {"exclude": [["plate", "top"]] if case == "carriage" else [["world", "top"]]}}
    return last_speed(folder, free, "generalized", precision)


@pytest.mark.parametrize(("case", "precision", "dip"), SINKS)
def test_an_overlap_that_nothing_can_undo_moves_nothing(tmp_path, case, precision, dip):
    """Metrics of 1e-33 gave worlds that flew apart at the first step (SC602)."""
    speed = last_speed(tmp_path, scene_of(case, dip), "generalized", precision)
    assert abs(speed - speed_without_contact(tmp_path, case, precision)) < PRECISE[precision]


@pytest.mark.parametrize(("solver", "case", "precision"), TOUCHES)
def test_a_touch_that_nothing_can_change_moves_nothing(tmp_path, solver, case, precision):
    speed = last_speed(tmp_path, scene_of(case, 0.0), solver, precision)
    assert abs(speed - speed_without_contact(tmp_path, case, precision)) < PRECISE[precision]


@pytest.mark.parametrize("precision", PRECISE)
def test_a_wheel_on_a_turret_that_turns_keeps_its_speed(tmp_path, precision):
    """Its gap to a plate of the turret is 0 for all time: by a normal that stood still over a step it sank, and braked."""
    speed, ball = 10.0, ball_at([0.5, 0, RADIUS])
    plate = {"mass": 1, "inertia": {"diag": [1, 1, 1]}, "pose": {"xyz": [0.5, 0, -0.1]},
             "shapes": {"s": {"type": "box", "size": [1, 1, 0.2], "material": "m"}}}  # fmt: skip
    hinge = {"type": "revolute", "axis": [0, 1, 0], "at": [0, 0, 0], "motion": {"velocity": 2}}
    hub = {"type": "revolute", "axis": [1, 0, 0], "at": [0.5, 0, RADIUS], "qd": speed}
    scene = {"simcli": 1, "materials": {"m": {"density": 1000, "friction": 0.5}}, "world": {"gravity": [0, 0, 0]},
             "bodies": {"turret": {"mass": 1, "inertia": {"diag": [1, 1, 1]}}, "plate": plate, "wheel": ball},
             "joints": {"pivot": {**hinge, "parent": "world", "child": "turret"},
                        "weld": {"type": "fixed", "parent": "turret", "child": "plate", "at": [0, 0, 0]},
                        "joint": {**hub, "parent": "turret", "child": "wheel"}},
             "run": {"duration": 0.1}}  # fmt: skip
    assert abs(last_speed(tmp_path, scene, "generalized", precision) - speed) < PRECISE[precision]
