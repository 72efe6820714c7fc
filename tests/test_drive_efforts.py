"""What drives and motions give is in every run that shows joints, apart from all else that acts along them."""

import re
from importlib.resources import files

import numpy as np
import pytest

import simcli
from simcli import pipeline
from simcli.errors import UsageError
from simcli.solvers import SOLVERS

pytestmark = pytest.mark.usefixtures("scalar_code")
FRICTION, DAMPING = 0.5, 0.2
SCENE = f"""
simcli: 1
defaults:
  body: {{mass: 1, com: [0.2, 0, 0], inertia: {{diag: [0.1, 0.1, 0.1]}}}}
  joint: {{type: revolute, parent: world, axis: [0, 1, 0]}}
bodies: {{servo: {{}}, moved: {{}}, led: {{kinematic: true}}, stopped: {{}}, idle: {{}}}}
joints:
  servo: {{child: servo, damping: {DAMPING}, friction: {FRICTION},
    drive: {{mode: position, target: 3, stiffness: 100, damping: 10}}}}
  moved: {{child: moved, damping: {DAMPING}, motion: {{velocity: 2}}}}
  led: {{child: led, motion: {{velocity: 2}}}}
  stopped: {{child: stopped, q: 0.2, limit: {{upper: 0.1, stiffness: 1000, damping: 10}},
    drive: {{mode: effort, target: 20}}}}
  idle: {{child: idle, damping: {DAMPING}}}
contact: {{enabled: false}}
run: {{duration: 0.1}}
output: {{every: 0.01}}
"""
# [N m]: dampers of steps of first order see the speed before; friction of affine bodies is smooth.
OFF = {"generalized": 1e-9, "maximal": 1e-2, "natural": 1e-9, "affine": 2e-2}


def run(folder, *sets):
    path = folder / "scene.yaml"
    path.write_text(SCENE)
    pipeline.execute(pipeline.prepare(pipeline.Request(path, folder / "run.h5", sets, device="cpu", force=True)))
    return simcli.open(folder / "run.h5")


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_efforts_of_drives_and_motions_are_there_apart(tmp_path, solver):
    """Of a hinge that turns: its effort less friction and damping. A drive rests while a soft limit acts."""
    more = ("bodies.led.kinematic=false",) if solver == "affine" else ()  # whose led joints do nothing but lead
    with run(tmp_path, f"solver.type={solver}", *more) as file:
        assert list(file.quantities) == [f"joint.{name}.drive_effort" for name in ("servo", "moved", "led", "stopped")]
        for name, friction in (("servo", FRICTION), ("moved", 0.0)):
            joint = file.joint(name)
            speed, drive, effort = (column[3:, 0, 0] for column in (joint.qd, joint.drive_effort, joint.effort))
            assert np.abs(speed).min() > 1.0
            assert effort == pytest.approx(drive - DAMPING * speed - friction * np.sign(speed), abs=OFF[solver])
        stopped = file.joint("stopped")
        acts = stopped.q[:, 0, 0] > 0.1
        assert acts.any()
        assert not stopped.drive_effort[:, 0, 0][acts].any()
        with pytest.raises(UsageError, match="holds no drive_effort of joint `idle`"):
            _ = file.joint("idle").drive_effort


@pytest.mark.parametrize(("sets", "labels"), [
    (("output.quantities=[]",), ()),
    (("output.quantities=[joint.servo.drive_power]",), ("joint.servo.drive_power",)),
    (("output.channels=[bodies]",), ()),
    (("output.select={include: [servo, idle]}",), ("joint.servo.drive_effort",)),
])  # fmt: skip
def test_a_scene_may_leave_them_out(tmp_path, sets, labels):
    with run(tmp_path, *sets) as file:
        assert tuple(file.quantities) == labels


def test_what_frames_show_costs_no_step(tmp_path):
    """A measure of a drive is a stage of steps as before, also beside a motion whose effort frames show alone."""
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE + "measure: {most: {max_abs: joint.servo.drive_effort}, far: {max: joint.idle.q}}\n")
    sets = ("solver.integrator=semi_implicit",)
    with simcli.Simulation(path, sets=sets, device="cpu") as sim:
        core = sim._solver.stepper.core
        assert core.gauges.within
        assert not sim._solver.stepper.looks_late
        assert core.gauges.has["drives at steps"]
    with simcli.Simulation(path, sets=(*sets, "measure={far: {max: joint.idle.q}}"), device="cpu") as sim:
        core = sim._solver.stepper.core
        assert core.gauges.within
        assert core.further == ()


PAGE = files("simcli").joinpath("docs", "signals.md").read_text(encoding="utf-8")
RECIPE = re.search(r"## PD control of all joints.*?```yaml\n(.*?)```", PAGE, re.DOTALL).group(1)
AIM, STIFFNESS = 0.4, (300.0, 300.0, 80.0)  # [rad], [N m/rad] of the recipe
ARM, LEVER, WEIGHT = 0.3, 0.15, 9.81  # [m], [N] of each body
AT_REST = 1e-4  # [N m], what is left of its motion


@pytest.mark.parametrize("floats", [False, True])
def test_the_recipe_of_pd_rests_at_load_over_stiffness(tmp_path, floats):
    """Each joint at the angle at which its drive carries the weight of what hangs on it, or at its target without weight."""
    text = RECIPE.replace("body: {", "body: {gravity_compensation: 1, ") if floats else RECIPE
    path = tmp_path / "arm.yaml"
    path.write_text(text, encoding="utf-8")
    pipeline.execute(pipeline.prepare(pipeline.Request(path, tmp_path / "arm.h5", device="cpu")))
    with simcli.open(tmp_path / "arm.h5") as file:
        q = np.array([file.joint(name).q[-1, 0, 0] for name in ("shoulder", "elbow", "wrist_1")])
        effort = np.array([file.joint(name).drive_effort[-1, 0, 0] for name in ("shoulder", "elbow", "wrist_1")])
    np.testing.assert_allclose(effort, np.array(STIFFNESS) * (AIM - q), atol=AT_REST)
    tilt = np.cumsum(q)  # of each body from the vertical
    joints = np.concatenate(([0.0], np.cumsum(ARM * np.sin(tilt))))[:3]
    centres = joints + LEVER * np.sin(tilt)
    load = [WEIGHT * np.sum(centres[k:] - joints[k]) for k in range(3)]
    np.testing.assert_allclose(effort, [0, 0, 0] if floats else np.negative(load), atol=AT_REST)
