"""Worlds that begin anew one by one, in scenes where something depends on time: they see their own."""

import numpy as np
import pytest
from test_simulation import CASES, fresh, opened, run, same

pytestmark = pytest.mark.usefixtures("packs_of_two")
SCENE = """
simcli: 1
bodies:
  a: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
  b: {pose: {xyz: [0, 1, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
  c: {pose: {xyz: [0, 2, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
  d: {pose: {xyz: [0, 3, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
  e: {pose: {xyz: [0, 4, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
joints:
  a: {type: revolute, parent: world, child: a, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $push}}
  b: {type: revolute, parent: world, child: b, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $pid}}
  c: {type: revolute, parent: world, child: c, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $late}}
  d: {type: revolute, parent: world, child: d, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $slow}}
  e: {type: revolute, parent: world, child: e, axis: [0, 1, 0], motion: {position: $wave}}
signals:
  push: {table: {time: [0, 0.01, 0.03, 0.05], value: [0, 3, -2, 1]}}
  wave: {sine: {amplitude: 0.3, frequency: 20}}
  pid: {pid: {input: "{joint.b.q}", target: "{signal.aim}", kp: 60, ki: 40, kd: 5}}
  aim: {filter: {input: "0.1 + {signal.push}/100", time_constant: 0.01}}
  more: {constant: 0}
  late: {expression: "{signal.more} + 30*(0.1 - {joint.c.q}) - 5*{joint.c.qd}", delay: 0.004}
  slow: {expression: "30*(0.1*sin(40*t) - {joint.d.q}) - 5*{sensor.turning.tachometer}", rate: 100 Hz, delay: 0.01}
sensors:
  turning: {type: tachometer, joint: d, noise: {density: 0.01, walk: 0.01, quantum: 1e-4, rate: 250 Hz, delay: 0.004}}
measure:
  top: {max: joint.a.q}
  mean: {mean: joint.b.q}
  part: {std: joint.c.qd, from: 0.01, until: 0.025}
  first: {first: joint.a.qd, below: 0}
events:
  - {when: {joint.a.qd: {above: 0.1}}, set: {signals.more.constant: 0.5}}
  - {at: 0.008, set: {joints.b.damping: 0.4, world.gravity: [0, 0, -5]}}
  - {at: 0.0175, set: {joints.b.damping: 0.1}}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.04}
output: {every: 0.01, channels: [state, energy], quantities: [sensor.turning.tachometer]}
"""
QUICK = {("generalized", "semi_implicit"), ("affine", "bdf2")}


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("ages") / "timed.yaml"
    path.write_text(SCENE)
    return path


def measured(sim, worlds=slice(None)):
    """Values and times of what was measured, of some worlds."""
    return [one[worlds].copy() for one in sim._solver.measured()]


CASES_OF_TIME = [(*case, "float64") for case in CASES if case[1] != "generalized_alpha"] + [
    ("generalized", "implicit", "float32")]  # fmt: skip


@pytest.mark.parametrize(
    ("solver", "integrator", "precision"),
    [pytest.param(*case, marks=() if case[:2] in QUICK else (pytest.mark.slow,)) for case in CASES_OF_TIME],
)
def test_worlds_begin_at_any_time_to_the_bytes_of_a_run(scene, tmp_path, solver, integrator, precision):
    sets = (f"solver.type={solver}", f"solver.integrator={integrator}", f"solver.precision={precision}", "batch.worlds=5")
    wanted = run(scene, tmp_path / "run.h5", *sets)
    with opened(scene, *sets, controls=()) as sim, opened(scene, *sets, controls=()) as whole:
        start, found, numbers = fresh(whole), [], []
        for _ in range(4):
            whole.step(10)
            found.append(fresh(whole))
            numbers.append(measured(whole))
        for path in ("frames/joint_q", "frames/joint_qd", "frames/quantity", "frames/body_q"):
            for k, one in enumerate([start, *found]):
                assert np.array_equal(one[path][0], wanted[path][k], equal_nan=True), (path, k)
        sim.step(13)
        sim.reset([1, 4], episode=0)
        assert not same(fresh(sim), start, [1, 4])
        sim.step(7)
        assert not same(fresh(sim), found[1], [0, 2, 3])  # they do not notice
        sim.reset([2], episode=0)
        sim.step(3)
        assert not same(fresh(sim), found[0], [1, 4])
        sim.step(7)
        assert not same(fresh(sim), found[0], [2])
        sim.step(10)
        assert not same(fresh(sim), found[1], [2])
        assert not same(fresh(sim), found[3], [0, 3])
        assert all(map(np.array_equal, measured(sim, [2]), [one[[2]] for one in numbers[1]], [True] * 2))
        sim.step(3)
        assert not same(fresh(sim), found[2], [1, 4])
        assert all(map(np.array_equal, measured(sim, [1, 4]), [one[[1, 4]] for one in numbers[2]], [True] * 2))
        assert np.abs(sim.age - [0.043, 0.03, 0.023, 0.043, 0.03]).max() < 1e-9
        sim.reset(np.ones(5, bool), episode=0)
        sim.step(20)
        assert not same(fresh(sim), found[1])
        sim.reset(episode=0)
        assert sim.time == 0.0
        sim.step(20)
        assert not same(fresh(sim), found[1])


def test_noise_is_that_of_the_episode(scene):
    with opened(scene, worlds=5) as sim:
        read = lambda: sim.get("sensor.turning.tachometer").ravel().copy()  # noqa: E731
        first = read()
        sim.step(4)
        later = read()
        sim.reset([1, 3])
        assert sim.episode.tolist() == [0, 1, 0, 1, 0]
        second = read()
        assert (second[[1, 3]] != first[[1, 3]]).all()
        sim.reset([1], episode=0)
        assert read()[1] == first[1]
        sim.step(4)
        assert read()[1] == later[1]
        sim.reset([1], episode=1)
        assert read()[1] == second[1]
        sim.set("joint.d.q", 0.3, worlds=[1])  # where it has just begun: the same episode
        assert read()[1] == second[1]
        sim.step(1)
        sim.set("joint.d.q", 0.3, worlds=[1, 4])
        assert sim.episode.tolist() == [0, 2, 0, 1, 1]
        kept = sim.save()
        sim.reset()
        assert sim.episode.tolist() == [1, 3, 1, 2, 2]
        assert read()[0] != first[0]
        sim.restore(kept)
        assert sim.episode.tolist() == [0, 2, 0, 1, 1]
        sim.reset(episode=0)
        assert np.array_equal(read(), first)


def test_worlds_that_are_put_begin_with_age_zero(scene):
    q = [0.3, -0.1]
    with opened(scene, worlds=5) as sim, opened(scene, worlds=5) as other:
        other.set({"joint.b.q": [[0.3]] * 5, "joint.b.qd": 0.0, "joint.c.q": -0.1, "joint.c.qd": 0.0})
        sim.step(17)
        every = {f"joint.{name}.{one}": 0.2 * (one == "q") for name in "ad" for one in ("q", "qd")}
        sim.reset([1, 2], episode=0)
        sim.set({**every, "joint.b.q": q[0], "joint.b.qd": 0.0, "joint.c.q": q[1], "joint.c.qd": 0.0}, worlds=[1, 2])
        assert np.array_equal(sim.age[[0, 1]], [0.017, 0.0])
        sim.step(30)
        other.step(30)
        assert not same(fresh(sim), fresh(other), [1, 2])


def test_events_are_told_by_the_clock(scene, tmp_path):
    with opened(scene, worlds=3) as sim:
        sim.step(40)
        told = [(event.step, event.world) for event in sim.events if event.code == "SC606"]
        at = [step for step, world in told if world == 1]
        assert sorted(told) == sorted([*((at[0], world) for world in range(3)), (8, -1), (18, -1)])
        sim.reset([1], episode=0)
        sim.step(40)
        again = [(event.step, event.world) for event in sim.events if event.code == "SC606"][len(told) :]
        assert sorted(again) == [(40 + step, 1) for step in sorted((8, 18, at[0]))]


@pytest.mark.parametrize("every", [2, 3, 40])
def test_worlds_in_many_packs_begin_and_others_do_not_notice(scene, every):
    """Packs that the host keeps, and those that a kernel keeps: up to 50 of them, of two worlds each."""
    some = np.arange(101) % every == 0
    with opened(scene, worlds=101) as sim, opened(scene, worlds=101) as whole:
        for one in (sim, whole):
            one.step(13)
        sim.reset(some, episode=0)
        assert not same(fresh(sim), fresh(whole), ~some)
        sim.step(9)
        whole.step(9)
        assert not same(fresh(sim), fresh(whole), ~some)
        whole.reset(episode=0)
        whole.step(9)
        assert not same(fresh(sim), fresh(whole), some)
