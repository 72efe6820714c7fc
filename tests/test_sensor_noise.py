"""Noise of sensors: variances and slopes, samples and delays, and bytes that depend on seed, world, sensor, step alone."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2
from support.scenes import faults_of
from test_measures import column, run

import simcli
from simcli import pipeline
from simcli.spec import load_document, resolve

pytestmark = pytest.mark.usefixtures("packs_of_two")
SIGMA, DENSITY, WALK, QUANTUM, DT = 0.5, 0.02, 0.3, 0.01, 1e-3
PERIOD, DELAY = 5, 7  # steps
SCENE = f"""simcli: 1
bodies:
  still: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}
  flies: {{pose: {{xyz: [0, 3, 0]}}, mass: 1, inertia: {{diag: [1, 2, 3]}},
           velocity: {{linear: [1.013, -2.171, 3.119], angular: [1, 2, 0.5]}}}}
world: {{gravity: [0, 0, 0]}}
sensors:
  white: {{type: gyro, at: still, noise: {{sigma: {SIGMA}}}}}
  dense: {{type: velocimeter, at: still, noise: {{density: {DENSITY}, rate: {1 / (PERIOD * DT)}}}}}
  drift: {{type: gyro, at: still, noise: {{walk: {WALK}}}}}
  clean: {{type: position, at: flies}}
  late: {{type: position, at: flies, noise: {{quantum: {QUANTUM}, rate: {1 / (PERIOD * DT)}, delay: {DELAY * DT}}}}}
  slow: {{type: orientation, at: flies, noise: {{delay: {DELAY * DT}}}}}
  clear: {{type: orientation, at: flies}}
solver: {{type: generalized, integrator: semi_implicit, dt: {DT}}}
run: {{duration: 0.6}}
batch: {{worlds: 5, seed: 3}}
measure: {{peak: {{max: sensor.white.gyro}}, spread: {{std: sensor.dense.velocimeter}}}}
output: {{every: {DT}, channels: [state], quantities: [sensor.white.gyro, sensor.dense.velocimeter, sensor.drift.gyro,
  sensor.clean.position, sensor.late.position, sensor.slow.orientation, sensor.clear.orientation]}}
"""
NAMES = (
    "white.gyro",
    "dense.velocimeter",
    "drift.gyro",
    "clean.position",
    "late.position",
    "slow.orientation",
    "clear.orientation",
)
RARE = 1e-6  # of what chance may give beyond the bounds, once and for all: the seed stands in the scene


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(tmp_path_factory.mktemp("noise"), SCENE)


def columns(path):
    with simcli.open(path) as trajectory:
        return {name: column(trajectory, f"sensor.{name}") for name in NAMES}


def assert_variance(numbers, sigma):
    """Of independent normal numbers about 0, within the bounds of chi-square."""
    low, high = chi2.ppf([RARE, 1 - RARE], numbers.size)
    assert low < (numbers**2).sum() / sigma**2 < high


def test_white_noise_has_its_variance_and_no_memory(whole):
    found = columns(whole[1])["white.gyro"]
    assert_variance(found, SIGMA)
    flat = found.reshape(len(found), -1)
    R = np.corrcoef(flat.T) - np.eye(flat.shape[1])  # worlds and components
    assert np.abs(R).max() < 5 / np.sqrt(len(flat))
    again = np.array([np.corrcoef(one[:-1], one[1:])[0, 1] for one in flat.T])
    assert np.abs(again).max() < 5 / np.sqrt(len(flat))


def test_density_is_white_noise_of_the_rate_and_held_between(whole):
    found = columns(whole[1])["dense.velocimeter"]
    assert_variance(found[::PERIOD], DENSITY / np.sqrt(PERIOD * DT))
    n = len(found) // PERIOD * PERIOD
    held = found[:n].reshape(-1, PERIOD, *found.shape[1:])
    assert (held == held[:, :1]).all()


def test_bias_walks_from_nothing_by_independent_steps(whole):
    found = columns(whole[1])["drift.gyro"]
    assert not found[0].any()
    assert_variance(np.diff(found, axis=0), WALK * np.sqrt(DT))


def test_allan_deviation_has_the_slopes_of_its_parts(whole):
    """White noise N^2 / tau with N = sigma sqrt(dt), a walking bias K^2 tau / 3 (IEEE Std 952, 1997, annex C)."""
    found = columns(whole[1])
    for name, wanted in (("white.gyro", lambda tau: SIGMA**2 * DT / tau), ("drift.gyro", lambda tau: WALK**2 * tau / 3)):
        values = found[name].reshape(len(found[name]), -1)
        taus, variance = np.array([10, 20, 40]) * DT, []
        for m in (10, 20, 40):
            n = len(values) // m * m
            mean = values[:n].reshape(-1, m, values.shape[1]).mean(axis=1)
            variance.append((np.diff(mean, axis=0) ** 2).mean() / 2)
        np.testing.assert_allclose(variance, wanted(taus), rtol=0.2)  # of some 200 independent differences
        slope = np.polyfit(np.log(taus), np.log(variance), 1)[0]
        assert slope == pytest.approx(-1 if name == "white.gyro" else 1, abs=0.15)


def test_samples_are_rounded_held_and_late_as_numpy_has_it(whole):
    found = columns(whole[1])
    clean, steps = found["clean.position"], np.arange(len(found["clean.position"]))
    sampled = QUANTUM * np.round(clean / QUANTUM)
    seen = np.maximum(steps - DELAY, 0) // PERIOD * PERIOD
    np.testing.assert_array_equal(found["late.position"], sampled[seen])
    np.testing.assert_array_equal(found["slow.orientation"], found["clear.orientation"][np.maximum(steps - DELAY, 0)])


def numbers_of(path, worlds=None):
    with simcli.open(path) as trajectory:
        found = trajectory.column("frames/quantity")[:]
        measures = [one.value for one in trajectory.measures.values()]
    keep = slice(None) if worlds is None else worlds
    return found[:, keep].tobytes(), np.concatenate(measures, axis=1)[keep].tobytes()


def test_worlds_alone_and_frames_further_apart_have_the_same_numbers(whole, tmp_path):
    alone = run(tmp_path, SCENE, name="alone.h5", worlds=(3,))[1]
    assert numbers_of(alone) == numbers_of(whole[1], [3])
    rare = run(tmp_path, SCENE.replace(f"every: {DT}", f"every: {50 * DT}"), name="rare.h5")[1]
    many = columns(whole[1])
    for name, found in columns(rare).items():
        np.testing.assert_array_equal(found, many[name][::50])
    assert numbers_of(rare)[1] == numbers_of(whole[1])[1]


def test_a_run_that_is_cut_goes_on_to_the_same_bytes(whole, tmp_path, monkeypatch):
    monkeypatch.setattr("simcli.records.writing.writer.PATIENCE_S", 0.0)
    (tmp_path / "scene.yaml").write_text(SCENE)
    asked = pipeline.Request(tmp_path / "scene.yaml", tmp_path / "cut.h5", (), "cpu", 1, checkpoint_every=0.0)
    pipeline.execute(pipeline.prepare(asked), watch=lambda tick: tick.frames < 200)
    with simcli.open(tmp_path / "cut.h5") as trajectory:
        assert 200 <= trajectory.n_frames < 601
    pipeline.execute(pipeline.prepare(replace(asked, resume=True)))
    assert numbers_of(tmp_path / "cut.h5") == numbers_of(whole[1])


@pytest.mark.parametrize("solver", [pytest.param(one, marks=pytest.mark.slow) for one in ("maximal", "natural", "affine")])
def test_noise_is_the_same_whatever_finds_what_it_is_added_to(solver, whole, tmp_path):
    integrator = {"maximal": "semi_implicit", "natural": "zhong06", "affine": "bdf1"}[solver]
    _, path = run(tmp_path, SCENE, f"solver.type={solver}", f"solver.integrator={integrator}", "run.duration=0.05")
    wanted, found = columns(whole[1]), columns(path)
    for name in ("white.gyro", "dense.velocimeter", "drift.gyro"):
        np.testing.assert_allclose(found[name], wanted[name][: len(found[name])], atol=1e-12)


TURN_ON, DRIFT, TIME, SOME = 0.4, 0.7, 0.02, 150
BIASED = f"""simcli: 1
bodies: {{still: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}}}
world: {{gravity: [0, 0, 0]}}
sensors:
  stays: {{type: gyro, at: still, noise: {{turn_on: {TURN_ON}}}}}
  wanders: {{type: gyro, at: still, noise: {{drift: {DRIFT}, drift_time: {TIME}, rate: {1 / (2 * DT)}}}}}
  both: {{type: gyro, at: still, noise: {{NOISE}}}}
solver: {{type: generalized, integrator: semi_implicit, dt: {DT}}}
run: {{duration: 0.08}}
batch: {{worlds: {SOME}, seed: 5}}
output: {{every: {DT}, channels: [state], quantities: [sensor.stays.gyro, sensor.wanders.gyro, sensor.both.gyro]}}
"""
BIASES = f"turn_on: {TURN_ON}, drift: {DRIFT}, drift_time: {TIME}"


def biases(folder, noise, *settings):
    folder.mkdir(exist_ok=True)
    with simcli.open(run(folder, BIASED.replace("NOISE", noise), *settings)[1]) as trajectory:
        return [column(trajectory, f"sensor.{name}.gyro") for name in ("stays", "wanders", "both")]


def test_biases_have_their_variance_and_their_memory(tmp_path):
    """That of turn-on is one number of a world; a drift has its variance from the first sample on, and exp(-t / time)."""
    stays, wanders, both = biases(tmp_path, f"sigma: {SIGMA}, {BIASES}")
    assert (stays == stays[:1]).all()
    assert_variance(stays[0], TURN_ON)
    sampled = wanders[::2]
    assert (wanders[1::2] == sampled[: len(wanders[1::2])]).all()
    for k in (0, 10, 40):  # 2 and 80 ms apart: each of 450 independent numbers
        assert_variance(sampled[k], DRIFT)
    memory = np.exp(-2 * DT / TIME)
    assert_variance(sampled[1:] - memory * sampled[:-1], DRIFT * np.sqrt(1 - memory**2))
    far = (sampled[0] * sampled[10]).mean() / DRIFT**2
    assert far == pytest.approx(np.exp(-20 * DT / TIME), abs=5 / np.sqrt(sampled[0].size))
    assert_variance(both[0], np.sqrt(SIGMA**2 + TURN_ON**2 + DRIFT**2))
    parts = [biases(tmp_path / name, text)[2] for name, text in (("white", f"sigma: {SIGMA}"), ("biased", BIASES))]
    np.testing.assert_allclose(both, sum(parts), atol=1e-12)  # numbers of a sensor do not depend on what else it has
    alone = biases(tmp_path / "alone", f"sigma: {SIGMA}, {BIASES}", "batch.worlds=3")
    for few, many in zip(alone, (stays, wanders, both), strict=True):
        np.testing.assert_array_equal(few, many[:, :3])


def test_a_turn_on_bias_is_drawn_anew_in_each_episode(tmp_path):
    (tmp_path / "scene.yaml").write_text(BIASED.replace("NOISE", BIASES).replace(f"worlds: {SOME}", "worlds: 3"))
    with simcli.Simulation(tmp_path / "scene.yaml", device="cpu") as simulation:
        seen = []
        for episode in (0, 1, 0):
            simulation.reset(episode=episode)
            first = np.array(simulation.get("sensor.stays.gyro"))
            simulation.step(7)
            np.testing.assert_array_equal(simulation.get("sensor.stays.gyro"), first)
            seen.append(first)
    np.testing.assert_array_equal(seen[0], seen[2])
    assert (np.abs(seen[0] - seen[1]) > 1e-3).all()


MISTAKEN = """bodies:
  rod: {mass: 1, inertia: {diag: [1, 1, 1]}}
joints: {ball: {type: ball, parent: world, child: rod}}
sensors:
  one: {type: gyro, at: rod, noise: {sigma: 1, rate: 100, delay: 0.002}}
  two: {type: encoder, joint: ball, noise: {delay: 0.01}}
solver: {type: generalized, dt: 1.0e-3}
"""


@pytest.mark.parametrize(
    ("line", "old", "new", "code"),
    [
        (4, "rate: 100", "rate: 300", "SC407"),
        (4, "delay: 0.002", "delay: 0.0025", "SC407"),
        (4, "delay: 0.002", "delay: 20", "SC205"),
        (4, "delay: 0.002", "delay: 1e308", "SC205"),
        (4, "rate: 100", "rate: 1e-8", "SC231"),
        (4, "rate: 100", "rate: 5e-324", "SC231"),
        (4, "sigma: 1", "sigma: -1", "SC231"),
        (4, "gyro", "orientation", "SC207"),
        (4, "gyro", "[gyro, position]", "SC207"),
        (5, "delay: 0.01", "sigma: 0.01", "SC207"),
        (4, "rate: 100", "rate: 5000", "SC407"),
        (4, "sigma: 1", "drift: 1", "SC202"),
        (4, "sigma: 1", "sigma: 1, drift_time: 1", "SC207"),
        (4, "sigma: 1", "drift: 1, drift_time: 0", "SC231"),
        (4, "sigma: 1", "turn_on: -1", "SC231"),
    ],
)
def test_noise_without_meaning_is_refused_at_its_line(line, old, new, code):
    lines = MISTAKEN.splitlines()
    assert old in lines[line]
    assert faults_of(MISTAKEN) == []
    lines[line] = lines[line].replace(old, new)
    assert [fault[:2] for fault in faults_of("\n".join(lines) + "\n")] == [(code, line)]


FED = f"""simcli: 1
bodies:
  wheel: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}
  still: {{pose: {{xyz: [0, 3, 0]}}, mass: 1, inertia: {{diag: [1, 1, 1]}}}}
world: {{gravity: [0, 0, 0]}}
joints: {{axle: {{type: revolute, parent: world, child: wheel, at: [0, 0, 0], axis: [0, 0, 1]}}}}
sensors:
  white: {{type: gyro, at: still, noise: {{sigma: {SIGMA}, walk: {WALK}}}}}
  turn: {{type: encoder, joint: axle, noise: {{delay: {DELAY * DT}}}}}
signals: {{u: {{expression: "{{sensor.white.gyro.1}} - 40*{{sensor.turn.encoder}}"}}}}
forces: {{motor: {{type: torque, joint: axle, value: $u}}}}
solver: {{type: generalized, integrator: semi_implicit, dt: {DT}}}
run: {{duration: 0.05}}
batch: {{worlds: 2, seed: 3}}
output: {{every: {DT}, channels: [state], quantities: [sensor.white.gyro, sensor.turn.encoder]}}
"""


@pytest.mark.parametrize(
    "solver", ["generalized", *(pytest.param(one, marks=pytest.mark.slow) for one in ("maximal", "affine"))]
)
def test_signals_see_what_files_hold(solver, tmp_path):
    """A wheel of unit inertia: its velocity changes in a step by h times the torque of what was seen where it began."""
    integrator = "bdf1" if solver == "affine" else "semi_implicit"
    _, path = run(tmp_path, FED, f"solver.type={solver}", f"solver.integrator={integrator}")
    with simcli.open(path) as trajectory:
        rate = trajectory.joint("axle").qd[:]
        noise = column(trajectory, "sensor.white.gyro")[:, :, 1]
        seen = column(trajectory, "sensor.turn.encoder")[:, :, 0]
        turned = trajectory.joint("axle").q[:]
    rate, turned = (one.reshape(len(noise), -1) for one in (rate, turned))
    np.testing.assert_array_equal(seen, turned[np.maximum(np.arange(len(seen)) - DELAY, 0)])
    near = 1e-5 if solver == "affine" else 1e-12  # whose joints yield
    np.testing.assert_allclose(np.diff(rate, axis=0), DT * (noise - 40 * seen)[:-1], atol=near)
    assert np.abs(rate).max() > 1e-3


UNITS = """simcli: 1
bodies: {arm: {mass: 1, inertia: {diag: [1, 1, 1]}}}
joints: {rail: {type: prismatic, parent: world, child: arm, axis: [1, 0, 0]}}
sensors: {one: {SENSOR, noise: {KEY: "VALUE"}}}
run: {duration: 0.1}
"""


@pytest.mark.parametrize(
    ("sensor", "key", "value", "wanted"),
    [
        ("type: gyro, at: arm", "sigma", "90 deg/s", np.pi / 2),
        ("type: gyro, at: arm", "quantum", "1 rad/s", 1.0),
        ("type: gyro, at: arm", "turn_on", "180 deg/h", np.pi / 3600),
        ("type: gyro, at: arm", "density", "180 deg/s/sqrt(Hz)", np.pi),
        ("type: gyro, at: arm", "walk", "1 mrad/s / sqrt(s)", 1e-3),
        ("type: encoder, joint: rail", "sigma", "2 mm", 2e-3),
        ("type: touch, body: arm", "sigma", "3 kN", 3e3),
        ("type: gyro, at: arm", "sigma", "1 m/s", None),
        ("type: gyro, at: arm", "density", "1 rad/s", None),
        ("type: gyro, at: arm", "density", "1 rad/s/sqrt(s)", None),
        ("type: gyro, at: arm", "walk", "1 m/sqrt(s)", None),
        ("type: encoder, joint: rail", "sigma", "2 deg", None),
        ("type: gyro, at: arm", "quantum", "1 rad/s/sqrt(s)", None),
    ],
)
def test_noise_has_the_unit_of_its_sensor(tmp_path, sensor, key, value, wanted):
    text = UNITS.replace("SENSOR", sensor).replace("KEY", key).replace("VALUE", value)
    if wanted is None:
        assert [code for code, *_ in faults_of(text.removeprefix("simcli: 1\n"))] == ["SC213"]
        return
    (tmp_path / "scene.yaml").write_text(text)
    spec = resolve(load_document(tmp_path / "scene.yaml"))
    assert getattr(spec.sensors["one"].noise, key) == pytest.approx(wanted, rel=1e-15)
