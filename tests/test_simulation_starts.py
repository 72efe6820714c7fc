"""Worlds that begin anew in process: nothing of what was before is left, in every solver, with loops, laws and contacts."""

import numpy as np
import pytest
from test_run_resume import LOOP
from test_simulation import CASES, fresh, opened, same

from simcli.errors import SceneError, UsageError

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
