"""Prescribed motions whose rate jumps: what moves with them gets the impulse, in every solver and integrator."""

import copy
import json

import numpy as np
import pytest
from support.forward import blocks_of, columns_of
from support.solver_modes import MODES

from simcli.spec import document_of_text

BODIES = {"cart": {"mass": 1, "inertia": {"diag": [0.1, 0.1, 0.1]}},
          "arm": {"mass": 1, "com": [0.5, 0, 0], "inertia": {"diag": [0.01, 0.1, 0.1]}}}  # fmt: skip
TIMES, ANGLES = [0, 0.1, 0.3, 0.6], [0, 0, 1.5, 0.5]  # [s, rad]
RAIL = {"type": "prismatic", "parent": "world", "child": "cart", "at": [0, 0, 0], "axis": [1, 0, 0]}
LED = {"type": "revolute", "parent": "cart", "child": "arm", "at": [0, 0, 0], "axis": [0, 1, 0]}
EVERY, PULL = 0.1, 0.25  # [s]; [m] of the cart, by a quarter turn of the arm
RIGID = [mode for mode in MODES if mode[0] != "affine"]
NODES = [("generalized", "rk4"), ("generalized", "implicit")]
# What tells of each jump: the signal of the angle, that of its rate, or events.
TOLD = {
    "position": {"motion": {"position": "$path"}, "signals": {"path": {"table": {"time": TIMES, "value": ANGLES}}}},
    "velocity": {"motion": {"velocity": "$path"}, "signals": {"path": {"table": {
        "time": TIMES[:3], "value": [0, 7.5, -1 / 0.3], "interpolate": "previous"}}}},
    "event": {"motion": {"velocity": 0}, "events": [{"at": 0.1, "set": {"joints.led.motion.velocity": 7.5}},
                                                    {"at": 0.3, "set": {"joints.led.motion.velocity": -1 / 0.3}}]},
}  # fmt: skip


def scene_of(told: dict, solver: str, integrator: str, dt: float = 1e-3) -> dict:
    """An arm on a free cart, with its angle or its rate prescribed."""
    more = {key: value for key, value in told.items() if key != "motion"}
    return {"simcli": 1, "bodies": copy.deepcopy(BODIES), "run": {"duration": 0.5},
            "joints": {"rail": copy.deepcopy(RAIL), "led": {**LED, "motion": told["motion"]}},
            "solver": {"type": solver, "integrator": integrator, "dt": dt},
            "output": {"every": EVERY, "channels": ["state", "energy"]}, **copy.deepcopy(more)}  # fmt: skip


def run(scene: dict, device) -> dict[str, np.ndarray]:
    """Columns of all frames, those of the only world."""
    found = columns_of(blocks_of(document_of_text(json.dumps(scene), "scene.json"), device))
    assert not found["diag/status"].any()
    return {name: column[:, 0] for name, column in found.items()}


def error_of_place(scene: dict, device) -> float:
    """[m], of the cart, against the momentum along the rail, which stays."""
    place, angle = run(scene, device)["frames/joint_q"][:, :2].T
    np.testing.assert_allclose(angle, np.interp(EVERY * np.arange(len(angle)), TIMES, ANGLES), atol=1e-9)
    return float(np.abs(place - PULL * (1.0 - np.cos(angle))).max())


@pytest.mark.parametrize(("solver", "integrator"), RIGID)
def test_cart_keeps_its_momentum(device, solver, integrator):
    first_order = (solver, integrator) == ("generalized", "semi_implicit")  # two jumps, half a step late
    assert error_of_place(scene_of(TOLD["position"], solver, integrator), device) < (4e-3 if first_order else 1e-5)


@pytest.mark.parametrize(("solver", "integrator", "told"), [
    (*mode, told) for mode in NODES for told in TOLD if told != "event" or mode[1] == "implicit"])  # fmt: skip
def test_order_stays_two(device, solver, integrator, told):
    """Steps that are taken again at jumps are as exact as the others: forces there are those after the jump."""
    coarse, fine = (error_of_place(scene_of(TOLD[told], solver, integrator, dt), device) for dt in (2e-3, 1e-3))
    assert fine < 1e-5
    assert coarse / fine == pytest.approx(4.0, rel=0.1)


def test_jump_within_a_step_is_late_by_less_than_it(device):
    told = copy.deepcopy(TOLD["position"])
    told["signals"]["path"]["table"]["time"][1] = 0.1004
    place, angle = run(scene_of(told, "generalized", "implicit"), device)["frames/joint_q"].T
    assert np.abs(place - PULL * (1.0 - np.cos(angle))).max() < 3e-3


def ball(scene: dict) -> None:
    """Two ramps turn a ball, about two axes."""
    scene["signals"] = {"r": {"ramp": {"from": 0, "to": 1, "start": 0.1, "end": 0.3}},
                        "q": {"ramp": {"from": 0, "to": 1.5, "start": 0.2, "end": 0.4}}}  # fmt: skip
    scene["joints"]["led"] = {"type": "ball", "parent": "cart", "child": "arm", "at": [0, 0, 0],
                              "motion": [{"position": "$r"}, {"position": 0}, {"position": "$q"}]}  # fmt: skip


def body(scene: dict) -> None:
    """A kinematic body jerks a pendulum."""
    scene["signals"] = {"v": {"step": {"before": 0, "after": 2, "time": 0.1}}}
    scene["bodies"]["cart"] = {"kinematic": True, "motion": {"linear": ["$v", 0, 0]}}
    scene["joints"] = {"led": {**LED, "axis": [0, 0.6, 0.8]}}


def loop(scene: dict) -> None:
    """A joint that closes a loop of four bars is led by a ramp."""
    scene["signals"] = {"r": {"ramp": {"from": 0, "to": 0.5, "start": 0.1, "end": 0.3}}}
    arm, hinge = scene["bodies"]["arm"], {"type": "revolute", "axis": [0, 1, 0]}
    scene["bodies"] = {"a": arm, "b": {**arm, "pose": {"xyz": [1, 0, 0]}}, "c": {**arm, "pose": {"xyz": [0, 0, 1]}}}
    scene["joints"] = {"p": {**hinge, "parent": "world", "child": "a", "at": [0, 0, 0]},
                       "q": {**hinge, "parent": "a", "child": "b", "at": [1, 0, 0]},
                       "r": {**hinge, "parent": "world", "child": "c", "at": [0, 0, 1]},
                       "s": {**hinge, "parent": "c", "child": "b", "at": [1, 0, 1], "loop": True,
                             "motion": {"position": "$r"}}}  # fmt: skip


@pytest.mark.parametrize(("case", "drift"), [(ball, 5e-2), (body, 1e-3), (loop, 1e-1)])
@pytest.mark.parametrize(("solver", "integrator"), NODES)
def test_other_motions_agree_with_natural_coordinates(device, case, drift, solver, integrator):
    found = []
    for mode in ((solver, integrator), ("natural", "zhong06")):
        scene = scene_of(TOLD["velocity"], *mode)
        case(scene)
        one = run(scene, device)
        found.append(one["frames/body_q"][:, -1])
        if mode == (solver, integrator):
            assert np.abs(one["energy/drift"]).max() < drift
    np.testing.assert_allclose(*found, atol=3e-5)
