"""Prescribed motions whose rate jumps: what moves with them gets the impulse, or the integrator is refused by name."""

import json

import numpy as np
import pytest
import yaml
from support.process import simcli_apart
from support.solver_modes import MODES

import simcli

BODIES = {"cart": {"mass": 1, "inertia": {"diag": [0.1, 0.1, 0.1]}},
          "arm": {"mass": 1, "com": [0.5, 0, 0], "inertia": {"diag": [0.01, 0.1, 0.1]}}}  # fmt: skip
TIMES, ANGLES = [0, 0.1, 0.3, 0.6], [0, 0, 1.5, 0.5]  # [s, rad]
TABLE = {"time": TIMES, "value": ANGLES}
SIGNALS = {"table": TABLE, "ramp": {"start": 0.1, "end": 0.4, "from": 0, "to": 1},
           "late": {"start": 0, "end": 9, "from": 0, "to": 5}, "cubic": {**TABLE, "interpolate": "cubic"},
           "sine": {"amplitude": 1, "frequency": 1}, "step": {"before": 0, "after": 2, "time": 0.1}}  # fmt: skip
KINDS = {"late": "ramp", "cubic": "table"}
BLIND = (("generalized", "rk4"), ("generalized", "implicit"))
RIGID = [mode for mode in MODES if mode[0] != "affine" and mode not in BLIND]


def scene_of(signal: str, of: str, solver: str, integrator: str) -> dict:
    """An arm on a free cart, with its angle or its rate prescribed."""
    led = {"type": "revolute", "parent": "cart", "child": "arm", "at": [0, 0, 0], "axis": [0, 1, 0],
           "motion": {of: "$path"}}  # fmt: skip
    rail = {"type": "prismatic", "parent": "world", "child": "cart", "at": [0, 0, 0], "axis": [1, 0, 0]}
    return {"simcli": 1, "bodies": BODIES, "joints": {"rail": rail, "led": led}, "run": {"duration": 0.5},
            "signals": {"path": {KINDS.get(signal, signal): SIGNALS[signal]}}, "output": {"every": 0.1},
            "solver": {"type": solver, "integrator": integrator, "dt": 1e-3}}  # fmt: skip


def run(folder, scene: dict):
    path = folder / "scene.json"
    path.write_text(json.dumps(scene))
    return simcli_apart("run", path, "-o", folder / "out.h5", "-q", "--force")


def places(folder) -> tuple[np.ndarray, np.ndarray]:
    """[m], of the cart: found, and by the momentum along the rail, which stays."""
    with simcli.open(folder / "out.h5") as found:
        angle = found.joint("led").q[:, 0, 0]
        return found.joint("rail").q[:, 0, 0], 0.25 * (1.0 - np.cos(angle))


@pytest.mark.parametrize(("solver", "integrator"), [*RIGID, ("generalized", "auto")])
def test_cart_keeps_its_momentum(tmp_path, solver, integrator):
    scene = scene_of("table", "position", solver, integrator)
    assert run(tmp_path, scene).returncode == 0
    found, exact = places(tmp_path)
    np.testing.assert_allclose(found, exact, atol=4e-3)  # two jumps, of 7.5 and 10.8 rad/s, half a step late


@pytest.mark.parametrize("mode", BLIND)
@pytest.mark.parametrize(("signal", "of"), [("table", "position"), ("ramp", "position"), ("step", "velocity")])
def test_jump_of_a_rate_is_refused(tmp_path, signal, of, mode):
    ended = run(tmp_path, scene_of(signal, of, *mode))
    assert ended.returncode == 3
    assert "SC501" in ended.stderr
    assert "jumps at 0.1 s" in ended.stderr


@pytest.mark.parametrize(("signal", "of"), [("late", "position"), ("cubic", "position"), ("sine", "position"),
                                            ("ramp", "velocity"), ("table", "velocity")])  # fmt: skip
def test_smooth_motion_keeps_its_order(tmp_path, signal, of):
    assert run(tmp_path, scene_of(signal, of, "generalized", "auto")).returncode == 0
    with simcli.open(tmp_path / "out.h5") as found:
        assert yaml.safe_load(found.provenance.scene_resolved)["solver"]["integrator"] == "implicit"
