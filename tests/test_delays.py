"""Delays that differ between worlds: each world has the bytes of a run with its own delay, and its own guard of loops."""

import numpy as np
import pytest
from test_simulation import fresh, opened, run

import simcli

pytestmark = pytest.mark.usefixtures("packs_of_two")
SCENE = """
simcli: 1
bodies:
  c: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
  d: {pose: {xyz: [0, 1, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
joints:
  c: {type: revolute, parent: world, child: c, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $late}}
  d: {type: revolute, parent: world, child: d, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $seen}}
signals:
  late: {expression: "30*(0.1 - {joint.c.q}) - 5*{joint.c.qd}", rate: 500 Hz, delay: 0}
  seen: {expression: "-5*{sensor.turning.tachometer}"}
sensors:
  turning: {type: tachometer, joint: d, noise: {sigma: 0.01, delay: 0.004}}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.04}
output: {every: 0.01, channels: [state], quantities: [sensor.turning.tachometer]}
batch: {seed: 5, vary: VARY}
"""
LATE, SHOWN = [0.004, 0.0, 0.018, 0.002, 0.004], [0.0, 0.003, 0.001, 0.007, 0.003]
VARY = f"{{signals.late.delay: {{zip: {LATE}}}, sensors.turning.noise.delay: {{zip: {SHOWN}}}}}"


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("delays") / "late.yaml"
    path.write_text(SCENE.replace("VARY", VARY))
    return path


def test_each_world_has_the_bytes_of_its_own_delay(scene, tmp_path):
    wanted = run(scene, tmp_path / "all.h5")
    with opened(scene) as sim:
        for frame in range(1, 5):
            sim.step(10)
            now = fresh(sim)
            for path in ("frames/joint_q", "frames/joint_qd", "frames/quantity"):
                assert np.array_equal(now[path][0], wanted[path][frame]), path
        sim.reset([0, 2], episode=0)
        sim.step(20)
        for path in ("frames/joint_q", "frames/joint_qd", "frames/quantity"):
            assert np.array_equal(fresh(sim)[path][0, [0, 2]], wanted[path][2][[0, 2]]), path
    q = wanted["frames/joint_q"]
    assert len({world.tobytes() for world in q[-1]}) == 5
    for k, (late, shown) in enumerate(zip(LATE, SHOWN, strict=True)):
        one, two = ({"zip": [value] * (k + 1)} for value in (late, shown))
        vary = f"batch.vary={{signals.late.delay: {one}, sensors.turning.noise.delay: {two}}}"
        alone = run(scene, tmp_path / f"{k}.h5", vary)  # the last of worlds that are alike
        for path in ("frames/joint_q", "frames/joint_qd", "frames/quantity"):
            assert np.array_equal(alone[path][:, k], wanted[path][:, k]), (k, path)


def test_a_delay_is_that_of_a_recurrence(scene, tmp_path):
    """What is seen of a sensor without noise is what it showed before."""
    sets = ("sensors.turning.noise.sigma=0", "output.every=1e-3")
    found = run(scene, tmp_path / "seen.h5", *sets)
    rate, seen = found["frames/joint_qd"][:, :, 1], found["frames/quantity"][..., 0]
    for k, shown in enumerate(SHOWN):
        late = round(shown / 1e-3)
        assert np.array_equal(seen[late:, k], rate[: len(rate) - late, k])
        assert np.array_equal(seen[:late, k], np.full(late, rate[0, k]))


def test_loops_are_guarded_by_their_own_delays(scene, tmp_path):
    """The gain of a loop that its delay makes unstable ends that world, and as if it were alone."""
    sets = ["signals.late.expression=\"-400*{joint.c.qd}\"", "run.duration=0.3", "output.every=0.3"]
    ended = []
    for k, delays in enumerate((LATE, LATE[1:2] * 2, LATE[2:3] * 3, LATE[3:4] * 4)):
        path = tmp_path / f"{k}.h5"
        run(scene, path, *sets, f"batch.vary={{signals.late.delay: {{zip: {delays}}}}}")
        with simcli.open(path) as file:
            ended.append({event.world: event.step for event in file.events if event.code == "SC625"})
    assert len(set(ended[0].values())) > 2
    for k in (1, 2, 3):
        assert ended[0].get(k) == ended[k].get(k)
