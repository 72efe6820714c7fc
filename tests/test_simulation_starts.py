"""Worlds that begin anew in process: nothing of what was before is left, in every solver, with loops, laws and contacts."""

import numpy as np
import pytest
from test_run_resume import LOOP
from test_simulation import ARM, CASES, fresh, opened, same

from simcli.errors import SceneError, UsageError
from simcli.joint_types import COORDINATES_OF, IN_A_TREE, RIBLE, has_quaternion

pytestmark = pytest.mark.usefixtures("packs_of_two")
BALLS = """
simcli: 1
materials: {m: {friction: 0.5}}
world: {shapes: {ground: {type: plane, material: m}}}
bodies:
  one:
    {pose: {xyz: [0, 0, 0.12]}, mass: 1, velocity: {linear: [1, 0, 0]},
     shapes: {ball: {type: sphere, radius: 0.1, material: m}}}
  two: {pose: {xyz: [0.25, 0, 0.35]}, mass: 1, shapes: {ball: {type: sphere, radius: 0.1, material: m}}}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.2}
"""
SCENES = {"loop": LOOP, "balls": BALLS}
QUICK = {("loop", "generalized", "implicit")}


def cases():
    return list(_cases())


def _cases():
    for scene in SCENES:
        for solver, integrator in CASES:
            if (scene, integrator) in {("balls", "zhong06"), ("balls", "generalized_alpha")}:
                continue  # which take no contact
            marks = () if (scene, solver, integrator) in QUICK else (pytest.mark.slow,)
            yield pytest.param(scene, solver, integrator, marks=marks)


@pytest.mark.parametrize(("name", "solver", "integrator"), cases())
def test_nothing_of_what_was_before_is_left(tmp_path, name, solver, integrator):
    (tmp_path / "scene.yaml").write_text(SCENES[name])
    sets = (f"solver.type={solver}", f"solver.integrator={integrator}", "output.channels=[state, energy]")
    if name == "loop" and integrator == "generalized_alpha":
        with pytest.raises(SceneError, match="SC501: the natural solver does not honour dry friction"):
            opened(tmp_path / "scene.yaml", *sets)
        return
    with opened(tmp_path / "scene.yaml", *sets, worlds=3) as sim, opened(tmp_path / "scene.yaml", *sets, worlds=3) as other:
        sim.step(150)
        other.step(150)
        assert not same(fresh(sim), fresh(other))
        sim.reset([1])
        other.reset()
        assert not same(fresh(sim), fresh(other), [1])
        sim.step(100)
        other.step(100)
        assert not same(fresh(sim), fresh(other), [1])
        assert same(fresh(sim), fresh(other), [0, 2])


def test_loops_are_closed_where_worlds_are_put(tmp_path):
    (tmp_path / "loop.yaml").write_text(LOOP)
    with opened(tmp_path / "loop.yaml", "solver.integrator=implicit", worlds=3) as sim:
        sim.step(20)
        sim.set({"joint.pin.q": [0.2, 0.4, 0.6], "joint.pin.qd": 3.0})
        q, knee, wrist = (sim.get(f"joint.{one}.q")[:, 0] for one in ("pin", "knee", "wrist"))
        assert np.abs(q - [0.2, 0.4, 0.6]).max() < 1e-9
        # crank 0.2 m, rod 0.4 m, both turned about y: the end of the rod stays on the rail, and the slider level
        assert np.abs(0.2 * np.sin(q) + 0.4 * np.sin(q + knee)).max() < 1e-9
        assert np.abs(q + knee + wrist).max() < 1e-9
        assert np.abs(sim.get("joint.pin.qd") - 3.0).max() < 1e-9
        slider = sim.get("body.slider.position")[:, 0]
        assert np.abs(slider - 0.2 * np.cos(q) - 0.4 * np.cos(q + knee)).max() < 1e-9
        sim.step(20)
        assert np.abs(sim.get("diag.position_violation")).max() < 1e-9
        with pytest.raises(UsageError, match=r"set `joint\.rail\.q`: the joint closes a loop"):
            sim.set("joint.rail.q", 0.1)
        before = fresh(sim)
        with pytest.raises(UsageError, match=r"world 1: .*limit"):
            sim.set("joint.hinge.q", [0.0, 0.9, 0.0])  # beyond its limit
        assert not same(fresh(sim), before)


FELT = """
simcli: 1
bodies:
  rod: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
joints:
  pin: {type: revolute, parent: world, child: rod, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $u}}
signals:
  u: {LAW}
  aim: {constant: 0.1}
sensors:
  turning: {type: tachometer, joint: pin}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.2}
output: {quantities: [sensor.turning.tachometer]}
"""


def test_feedback_begins_anew_and_sensors_are_quantities(tmp_path):
    law = 'expression: "60*({signal.aim} - {joint.pin.q}) - 5*{joint.pin.qd}"'
    (tmp_path / "felt.yaml").write_text(FELT.replace("LAW", law))
    aims = [[0.1], [0.3], [-0.2]]
    with opened(tmp_path / "felt.yaml", worlds=3) as sim, opened(tmp_path / "felt.yaml", worlds=3) as other:
        sim.step(60, control={"$aim": aims})
        assert np.array_equal(sim.get("sensor.turning.tachometer"), sim.get("joint.pin.qd")[:, 0])
        sim.reset([1])
        sim.step(40)
        other.step(0, control={"$aim": aims})
        other.reset()  # which begins with what holds now: laws are sampled where a run begins
        other.step(40)
        assert not same(fresh(sim), fresh(other), [1])
        assert same(fresh(sim), fresh(other), [0, 2])
        with pytest.raises(UsageError, match="signal `u` is worked out from others; only constant signals are set"):
            sim.step(1, {"pin": 0.1})
    (tmp_path / "slow.yaml").write_text(FELT.replace("LAW", f"{law}, rate: 100 Hz"))
    with opened(tmp_path / "slow.yaml", worlds=3) as sim, opened(tmp_path / "slow.yaml", worlds=3) as other:
        other.step(33)
        sim.step(7)
        sim.reset([1])
        sim.step(33)
        assert not same(fresh(sim), fresh(other), [1])
    pid = 'pid: {input: "{joint.pin.q}", target: "{signal.aim}", kp: 60, ki: 40, kd: 5}'
    (tmp_path / "pid.yaml").write_text(FELT.replace("LAW", pid))
    with opened(tmp_path / "pid.yaml", worlds=3) as sim:
        sim.step(0, control={"$aim": aims})
        found = []
        for _ in range(2):
            sim.reset()
            sim.step(40)
            found.append(fresh(sim))
        assert not same(*found)
        sim.reset([1])
        sim.step(40)
        assert not same(fresh(sim), found[0], [1])
        sim.set({"joint.pin.q": 0.2, "joint.pin.qd": 0.0})
        sim.step(40)
        assert not same(fresh(sim), found[0])


def test_arrays_of_a_device_are_taken_without_a_copy(tmp_path, monkeypatch):
    """The memory of a GPU, on the CPU: what other libraries take is where the kernels have left it."""
    from functools import partial

    from simcli.kernels.device import dlpack
    from simcli.simulation import process

    monkeypatch.setattr(process, "start_device", partial(process.start_device, like_gpu=True))
    (tmp_path / "arm.yaml").write_text(ARM.replace("TARGET", "0.5").replace("EFFORT", "constant: 0.3"))
    names = ("joint.elbow.q", "joint.pin.qd", "body.lower.orientation", "body.lower.velocity", "energy.total",
             "point.lower/tip.velocity")  # fmt: skip
    with opened(tmp_path / "arm.yaml", worlds=5) as sim:
        assert sim.device.is_gpu
        sim.step(10, control={"pin": np.arange(5) * 0.1})
        for name in names:
            copy, view = sim.get(name), sim.get(name, dlpack=True)
            found = np.from_dlpack(view)
            assert found.shape == copy.shape, name
            assert np.array_equal(found, copy), name
            again = np.from_dlpack(sim.get(name, dlpack=True))
            assert again.__array_interface__["data"][0] == found.__array_interface__["data"][0]
        assert dlpack._handed_out
        del found, again, view
        assert not dlpack._handed_out
        sim.get("energy.total", dlpack=True).__dlpack__()  # which nobody takes
        assert not dlpack._handed_out
        with pytest.raises(UsageError, match="has no array on the device"):
            sim.get("diag.status", dlpack=True)
        with pytest.raises(BufferError, match="without a copy"):
            sim.get("joint.pin.q", dlpack=True).__dlpack__(copy=True)
    from simcli.kernels.device.runtime import stop_device

    stop_device()


def test_quaternions_of_all_joints_are_normed(tmp_path):
    """Every type of a tree whose coordinates end with a quaternion: what is set is the direction of the four numbers."""
    kinds = [name for name, one in COORDINATES_OF.items() if one in IN_A_TREE and has_quaternion(one) and name not in RIBLE]
    assert set(kinds) == {"ball", "free", "distance"}
    keys = {"distance": ", length: 1, parent_frame: {xyz: [0, 0, 1]}, child_frame: {}"}
    bodies = ", ".join(f"{kind}: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}" for kind in kinds)
    joints = "".join(f"  {kind}: {{type: {kind}, parent: world, child: {kind}{keys.get(kind, '')}}}\n" for kind in kinds)
    (tmp_path / "scene.yaml").write_text(f"simcli: 1\nbodies: {{{bodies}}}\njoints:\n{joints}run: {{duration: 0.01}}\n")
    with opened(tmp_path / "scene.yaml") as sim:
        for kind in kinds:
            place = [] if kind == "ball" else [0.0, 0.6, -0.8]
            sim.set(f"joint.{kind}.q", [*place, 0, 0, 3, 4])
            np.testing.assert_allclose(sim.get(f"joint.{kind}.q")[0], [*place, 0, 0, 0.6, 0.8], atol=1e-12)
