"""Measures: what a file with every step would give, in all solvers; kept to the byte, and checked by name.

Drives are measured with everything else, so that quantities of drives are told here, too.
"""

import shutil
from functools import cache
from typing import get_args

import h5py
import numpy as np
import pytest
from support.measured import quantity, reduced
from support.process import simcli as command

import simcli
from simcli import pipeline
from simcli.analysis.channels import read_channels
from simcli.records.integrity.bits import differing_bits
from simcli.records.integrity.verification import verify
from simcli.records.reading.named import MeasuresByName, UnknownNameError
from simcli.solvers import SOLVERS
from simcli.spec.base.channel_names import REDUCTIONS
from simcli.spec.loading import document_of_text
from simcli.spec.resolve import resolve, warnings
from simcli.spec.schema.scene import AffineSolver, GeneralizedSolver, MaximalSolver, NaturalSolver

SCENE = """
simcli: 1
bodies:
  upper: {pose: {xyz: [0, 0, -0.5]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.01]}, points: {tip: [0.1, 0, -0.5]}}
  lower: {pose: {xyz: [0, 0.1, -1.5]}, mass: 1, com: [0.01, 0, 0], inertia: {diag: [0.1, 0.105, 0.01]}}
joints:
  pin: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 1, 0], q: 0.3}
  elbow: {type: revolute, parent: upper, child: lower, at: [0, 0, -1], axis: [0.1, 1, 0], q: 0.5, damping: 0.1}
solver: {dt: 1.0e-3}
run: {duration: 0.12}
batch: {worlds: 2, seed: 1, vary: {joints.pin.qd: {list: [1, -4]}}}
"""
PLACED = """
measure:
  highest: {max: joint.elbow.q}
  lowest: {min: joint.pin.qd}
  farthest: {max_abs: point.upper/tip.velocity, component: 2}
  swing: {range: joint.elbow.q}
  end: {final: body.lower.position}
  usual: {mean: joint.elbow.q, from: 0.02, until: 0.0915}
  spread: {std: body.upper.position}
  pace: {rms: body.lower.velocity, norm: true}
  walked: {integral: joint.elbow.qd}
  fell: {first: joint.elbow.q, below: 0.35}
  never: {first: joint.elbow.q, above: 100}
  settled: {last_outside: joint.pin.qd, within: [-3.9, 1.2]}
  strokes: {count: joint.elbow.qd, above: -2}
  spin: {mean: body.lower.angular_velocity, frame: body}
  along: {max: point.upper/tip.velocity, frame: body, component: 0}
"""
ALL = (
    PLACED
    + """
  jerk: {max_abs: joint.elbow.qdd}
  effort: {min: joint.elbow.effort}
  pull: {max: joint.elbow.wrench}
  twist: {mean: joint.elbow.wrench, frame: body, component: 4}
  heat: {final: energy.dissipated}
  power: {integral: energy.kinetic}
"""
)
LIMIT = 3  # [N m] of the drive of the elbow
DRIVEN = (
    SCENE.replace("q: 0.3}", "q: 0.3, drive: {mode: position, target: $s, stiffness: 30, damping: 2}}").replace(
        "damping: 0.1}", f"damping: 0.1, drive: {{mode: velocity, target_velocity: 1, damping: 5, effort_limit: {LIMIT}}}}}"
    )
    + """
signals: {s: {sine: {amplitude: 0.5, frequency: 2}}}
output: {quantities: [joint.pin.drive_effort, joint.elbow.drive_effort, joint.pin.drive_power]}
"""
)
DRIVES = """
  peak: {max_abs: joint.pin.drive_effort}
  last: {final: joint.elbow.drive_power}
  used: {integral: joint.pin.drive_power}
"""
CHANNELS = "output.channels=[state, energy, reactions]"
SCHEMAS = {"generalized": GeneralizedSolver, "maximal": MaximalSolver, "natural": NaturalSolver, "affine": AffineSolver}
WAYS = [
    (solver, one)
    for solver in SOLVERS
    for one in get_args(SCHEMAS[solver].model_fields["integrator"].annotation)
    if one != "auto"
]
# One of each solver: measures see frames, and a drive is one function of its coordinate, whatever steps made them.
QUICK = {("generalized", "semi_implicit"), ("maximal", "semi_implicit"), ("natural", "zhong06"), ("affine", "bdf2")}
SUMS = {"mean", "integral", "rms", "std"}


def ways(*solvers):
    """Ways of some solvers as cases, those that are not quick marked."""
    return [pytest.param(*way, marks=[] if way in QUICK else pytest.mark.slow) for way in WAYS if way[0] in solvers]


def run(folder, text, *sets, name="out.h5", **more):
    """A run in this process: its measures by name, and its file."""
    (folder / "scene.yaml").write_text(text)
    request = pipeline.Request(folder / "scene.yaml", folder / name, sets, "cpu", 1, force=True, **more)
    pipeline.execute(pipeline.prepare(request))
    with simcli.open(folder / name) as trajectory:
        return trajectory.measures, folder / name


def numbers(measures) -> bytes:
    return b"".join(one.value.tobytes() + one.time.tobytes() for one in measures.values())


def way_of(solver, integrator):
    """What sets solver and integrator; no limit of efforts where it takes none."""
    free = "joints.elbow.drive={mode: velocity, target_velocity: 1, damping: 5}"
    return (
        f"solver.type={solver}",
        f"solver.integrator={integrator}",
        CHANNELS,
        *[free] * (integrator == "generalized_alpha"),
    )


@pytest.fixture(scope="module")
def driven(tmp_path_factory):
    """The driven scene by solver and integrator: measures and file, with a frame each 10 ms, and of every step."""

    @cache
    def runs(solver, integrator):
        folder, way = tmp_path_factory.mktemp("driven"), way_of(solver, integrator)
        return [
            run(folder, DRIVEN + ALL + DRIVES, *way, f"output.every={every}", name=f"{every}.h5") for every in (0.01, 0.001)
        ]

    return runs


def column(trajectory, name: str) -> np.ndarray:
    """(F, W, n) of a channel."""
    return read_channels(trajectory, [name], tuple(range(trajectory.n_worlds)))[0].values


def specs_of(folder, text):
    """Measures of a scene, as they are resolved."""
    (folder / "scene.yaml").write_text(text)
    specs = pipeline.prepare(pipeline.Request(folder / "scene.yaml")).spec.measure
    assert {spec.reduction for spec in specs.values()} == set(REDUCTIONS)
    return specs


@pytest.mark.parametrize(("solver", "integrator"), ways(*SOLVERS))
def test_measures_are_those_of_a_file_with_every_step(solver, integrator, driven, tmp_path):
    found, whole = driven(solver, integrator)
    compare(found, whole, specs_of(tmp_path, SCENE + ALL), solver)


@pytest.mark.parametrize(("solver", "integrator"), ways("generalized", "maximal"))
def test_measures_of_what_a_step_places_are_those_of_every_step(solver, integrator, tmp_path):
    way = way_of(solver, integrator)
    runs = [run(tmp_path, SCENE + PLACED, *way, f"output.every={every}", name=f"{every}.h5") for every in (0.01, 0.001)]
    compare(*runs, specs_of(tmp_path, SCENE + PLACED), solver)


def compare(found, whole, specs, solver):
    """Every component of every measure in both worlds, against numpy."""
    if solver != "natural":  # whose frames round its motion
        assert numbers(found[0]) == numbers(whole[0])
    whole, path = whole
    with simcli.open(path) as trajectory:
        t = trajectory.time
        for name, spec in specs.items():
            counts = (t >= spec.since - 1e-6) & (t <= (spec.until or t[-1]) + 1e-6)
            x = quantity(trajectory, spec)[counts]
            value, time = (part.reshape(2, -1) for part in (whole[name].value, whole[name].time))
            assert value.shape == x.shape[1:]
            for w, k in np.ndindex(*value.shape):
                expected, when = reduced(spec, t[counts], x[:, w, k])
                is_exact = spec.reduction not in SUMS | {"first"} and spec.frame == "world"
                slack = 0.0 if is_exact else 1e-14 * max(1.0, np.abs(x[:, w]).max())
                np.testing.assert_allclose(value[w, k], expected, rtol=0, atol=slack, err_msg=f"{name}[{k}] of world {w}")
                assert when is None or spec.frame == "body" or time[w, k] == when


@pytest.mark.parametrize(("solver", "integrator"), ways(*SOLVERS))
def test_drives_give_what_their_laws_say(solver, integrator, driven):
    """k (target - q) + c (target_rate - qd), within the limit; an affine step evaluates that at its last iterate."""
    limit = LIMIT if integrator != "generalized_alpha" else 100  # which takes none
    (_, path), (every, whole) = driven(solver, integrator)
    slack = 1e-3 if solver == "affine" else 1e-13
    with simcli.open(path) as trajectory:
        q, qd = (trajectory.joint("pin").q[...], trajectory.joint("pin").qd[...])
        rate = trajectory.joint("elbow").qd[...]
        target = 0.5 * np.sin(4 * np.pi * trajectory.time)[:, None, None]
        skip = int(solver == "affine")  # frame 0 of which is a trial
        expected = {"pin": 30 * (target - q) - 2 * qd, "elbow": np.clip(5 * (1 - rate), -limit, limit)}
        for joint, effort in expected.items():
            given = column(trajectory, f"joint.{joint}.drive_effort")
            np.testing.assert_allclose(given[skip:], effort[skip:], rtol=0, atol=slack)
        power = column(trajectory, "joint.pin.drive_power")
        np.testing.assert_allclose(power, column(trajectory, "joint.pin.drive_effort") * qd, rtol=1e-15)
        assert limit > LIMIT or np.abs(expected["elbow"]).max() == limit
    with simcli.open(whole) as trajectory:
        effort, power = (column(trajectory, f"joint.pin.drive_{name}")[..., 0] for name in ("effort", "power"))
        np.testing.assert_array_equal(every["peak"].value, np.abs(effort).max(axis=0))
        area = ((power[1:] + power[:-1]) * 0.5 * 1e-3).sum(axis=0)
        np.testing.assert_allclose(every["used"].value, area, rtol=1e-13)


@pytest.mark.parametrize(("solver", "integrator"), [("generalized", "semi_implicit"), ("affine", "bdf2")])
def test_a_world_measures_the_same_in_any_batch(solver, integrator, driven, tmp_path):
    (many, _), _ = driven(solver, integrator)
    alone, _ = run(tmp_path, DRIVEN + ALL + DRIVES, *way_of(solver, integrator), "output.every=0.01", worlds=(1,))
    for name, one in many.items():
        assert one.value[1:].tobytes() == alone[name].value.tobytes()
        assert one.time[1:].tobytes() == alone[name].time.tobytes()


def test_other_measures_need_no_other_kernel_and_no_frames(tmp_path):
    run(tmp_path, SCENE + PLACED, "output.channels=[]")
    (tmp_path / "scene.yaml").write_text(SCENE + "measure: {one: {rms: joint.elbow.q}}")
    outcome = pipeline.execute(
        pipeline.prepare(pipeline.Request(tmp_path / "scene.yaml", tmp_path / "o.h5", ("output.channels=[]",), "cpu", 1))
    )
    assert outcome.kernels_compiled == []
    with simcli.open(tmp_path / "o.h5") as trajectory:
        assert not trajectory.channels


def test_a_failed_world_keeps_what_it_had_measured(tmp_path):
    """World 1 gets too fast; its measures end with its last healthy step, and no expectation is met by them."""
    text = SCENE + PLACED + "\nexpect: [{measure: lowest, above: -1e6}]"
    sets = "solver.max_velocity=4.2", "output.every=0.001", CHANNELS
    found, path = run(tmp_path, text, *sets)
    with simcli.open(path) as trajectory:
        status = trajectory.diag.status[:, 1]
        last = int(np.flatnonzero(status == 0)[-1])
        assert 0 < last < len(status) - 1
        np.testing.assert_array_equal(found["end"].value[1], trajectory.body("lower").position[last, 1])
        assert found["end"].time[1, 0] == trajectory.time[last]
    coarse, _ = run(tmp_path, text, sets[0], "output.every=0.04", CHANNELS, name="coarse.h5")
    assert numbers(coarse) == numbers(found)
    done = command("run", tmp_path / "scene.yaml", "--set", sets[0], "-o", tmp_path / "judged.h5", "--json")
    assert done.returncode != 0
    assert "measure.lowest" in done.stdout


def test_a_world_that_stops_measures_the_step_at_which_it_does(tmp_path):
    stop = SCENE.replace("duration: 0.12}", "duration: 0.12, stop_when: {quantity: joint.elbow.q, below: 0.45}}")
    found, _ = run(tmp_path, stop + "measure: {q: {min: joint.elbow.q}, t: {first: joint.elbow.q, below: 0.45}}")
    assert (found["q"].value < 0.45).all()
    assert (found["t"].value <= found["q"].time).all()
    assert (found["q"].time - found["t"].value < 1.001e-3).all()


def test_measures_go_on_where_a_run_was_stopped(tmp_path):
    sets = "output.every=0.01", "output.channels=[]"
    (tmp_path / "scene.yaml").write_text(SCENE + PLACED)
    whole, _ = run(tmp_path, SCENE + PLACED, *sets, name="whole.h5")

    def stop(tick):
        return tick.frames < 6

    request = pipeline.Request(tmp_path / "scene.yaml", tmp_path / "part.h5", sets, "cpu", 1)
    assert pipeline.execute(pipeline.prepare(request), stop).status == "stopped"
    with simcli.open(tmp_path / "part.h5") as trajectory:
        part = trajectory.measures
        assert 0 < part["end"].time[0, 0] < 0.12
    request = pipeline.Request(tmp_path / "scene.yaml", tmp_path / "part.h5", sets, "cpu", 1, resume=True)
    assert pipeline.execute(pipeline.prepare(request)).status == "done"
    with simcli.open(tmp_path / "part.h5") as trajectory:
        assert numbers(trajectory.measures) == numbers(whole)


def test_events_in_the_midst_of_a_frame_lose_no_step(tmp_path):
    events = "[{at: 0.033, set: {joints.elbow.damping: 2}}, {at: 0.07, set: {world.gravity: [0, 0, 0]}}]"
    text = f"{SCENE}{PLACED}\nevents: {events}"
    found, _ = run(tmp_path, text, "output.every=0.04", CHANNELS)
    whole, _ = run(tmp_path, text, "output.every=0.001", CHANNELS, name="whole.h5")
    assert numbers(found) == numbers(whole)


@pytest.mark.parametrize("name", ["world", "value", "time", "measures"])
def test_a_measure_may_have_any_name(name, tmp_path):
    _, path = run(tmp_path, f"{SCENE}measure: {{{name}: {{max: joint.pin.q}}}}\n", "run.duration=0.01")
    with simcli.open(path) as trajectory:
        assert list(trajectory.measures) == [name]
        assert trajectory.measures[name].value.shape == (2,)


@pytest.mark.parametrize("key", ["value", "time"])
def test_check_sees_a_changed_measure(key, tmp_path, capsys):
    _, path = run(tmp_path, SCENE + PLACED, "run.duration=0.01")
    assert verify(path) == []
    before = shutil.copy(path, tmp_path / "before.h5")
    with h5py.File(path, "r+") as file:
        file[f"measures/end/{key}"][...] += 1
    with simcli.open(before) as a, simcli.open(path) as b:
        assert [(one.path, one.reason) for one in differing_bits(a, b)] == [(f"measures/end/{key}", "value")]
    assert verify(path)[0] == "/run/measures_digest: the measures are not the ones that were written"
    with h5py.File(path, "r+") as file:
        del file["run/measures_digest"], file["provenance"].attrs["seal"]  # as files of before
    assert verify(path) == []


def test_measures_tell_their_units_and_what_they_are(driven):
    (found, path), _ = driven("generalized", "semi_implicit")
    units = {name: one.layout.unit for name, one in found.items()}
    assert units == {
        "highest": "rad",
        "lowest": "rad/s",
        "farthest": "m/s",
        "swing": "rad",
        "end": "m",
        "usual": "rad",
        "spread": "m",
        "pace": "m/s",
        "walked": "rad/s s",
        "fell": "s",
        "never": "s",
        "settled": "s",
        "strokes": "1",
        "spin": "rad/s",
        "along": "m/s",
        "jerk": "rad/s^2",
        "effort": "N m",
        "pull": "mixed",
        "twist": "N m",
        "heat": "J",
        "power": "J s",
        "peak": "N m",
        "last": "W",
        "used": "W s",
    }
    assert found["end"].layout.labels == ("x", "y", "z")
    assert found["fell"].layout.text == "first time of joint.elbow.q below 0.35"
    assert np.isnan(found["never"].value).all()
    told = command("info", path).stdout
    assert "measures" in told
    assert "highest" in told


def test_expectations_judge_measures(tmp_path):
    expects = """
expect:
  - {measure: highest, below: 1}
  - {measure: end, component: 2, equals: -1.3, within: 0.5}
  - {measure: end, component: 2, equals: -9, within: 0.2, world: 1}
"""
    (tmp_path / "scene.yaml").write_text(SCENE + PLACED + expects)
    request = pipeline.Request(tmp_path / "scene.yaml", tmp_path / "o.h5", (), "cpu", 1)
    verdicts = pipeline.execute(pipeline.prepare(request)).verdicts
    assert [verdict.passed for verdict in verdicts] == [True, True, False]
    assert verdicts[2].text == "measure.end[2]"
    assert verdicts[2].failed_worlds == (1,)


def test_a_measure_of_the_command_line(tmp_path):
    (tmp_path / "scene.yaml").write_text(SCENE)
    done = command(
        "run",
        "scene.yaml",
        "--measure",
        "peak=max_abs:joint.elbow.q",
        "--measure",
        "late={first: joint.elbow.q, above: 1}",
        "-o",
        "o.h5",
        "-q",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    with simcli.open(tmp_path / "o.h5") as trajectory:
        assert list(trajectory.measures) == ["peak", "late"]
    wrongs = {"peak": "write NAME=REDUCTION:QUANTITY", "peak=max:joint.elbw.q": "did you mean `joint.elbow.q`"}
    for wrong, words in wrongs.items():
        done = command("run", "scene.yaml", "--measure", wrong, "-o", "o.h5", cwd=tmp_path)
        assert done.returncode in (2, 3)
        assert words in done.stderr


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("{max: joint.elbw.q}", "SC305", "did you mean `joint.elbow.q`"),
        ("{max: joint.elbow.jerk}", "SC315", "is no quantity"),
        ("{max: joint.*.q}", "SC315", "is a pattern"),
        ("{max: diag.gap}", "SC315", "is a diagnostic"),
        ("{max: joint.elbow.q, component: 1}", "SC205", "1 component"),
        ("{max: joint.elbow.wrench, norm: true}", "SC207", "add forces to torques"),
        ("{max: joint.elbow.q, frame: body}", "SC207", "no axes of a body"),
        ("{max: joint.elbow.q, above: 1}", "SC207", "does not go with"),
        ("{first: joint.elbow.q}", "SC202", "`above`, `below`"),
        ("{last_outside: joint.elbow.q, within: [1, -1]}", "SC232", "down to"),
        ("{max: joint.elbow.q, min: joint.elbow.q}", "SC207", "contradict"),
        ("{max: joint.elbow.q, from: 2, until: 1}", "SC232", "before"),
        ("{}", "SC202", "is missing"),
    ],
)
def test_mistakes_are_named(line, code, words, tmp_path):
    (tmp_path / "scene.yaml").write_text(SCENE + f"measure:\n  it: {line}\n")
    done = command("check", "scene.yaml", cwd=tmp_path)
    assert code in done.stderr
    assert words in done.stderr
    assert f"scene.yaml:{len((SCENE + 'measure:').splitlines()) + 1}:" in done.stderr


def test_expectations_record_what_they_name(tmp_path):
    expect = "expect: [{max: joint.elbow.drive_effort, below: 3.0001}]"
    _, path = run(tmp_path, DRIVEN + ALL + DRIVES + expect, *way_of("generalized", "semi_implicit"), "output.quantities=[]")
    with simcli.open(path) as trajectory:
        assert trajectory.quantities == {"joint.elbow.drive_effort": "N m"}
    done = command("plot", path, "-c", "joint.pin.drive_effort", "-o", tmp_path / "p.png")
    assert done.returncode == 2
    assert "output: {quantities: [..]}" in done.stderr
    done = command("export", path, "-c", "joint.elbow.drive_effort")
    assert done.stdout.startswith("time [s],joint.elbow.drive_effort [N m]\n")


def test_a_measure_that_begins_after_the_end_is_told():
    text = """simcli: 1
bodies: {a: {mass: 1, inertia: {diag: [1, 1, 1]}}}
run: {duration: 0.05}
measure: {late: {max: energy.total, from: 1}, timely: {max: energy.total, from: 0.05}}
"""
    document = document_of_text(text, "scene.yaml")
    resolve(document)
    (told,) = warnings(document)
    assert (told.code, told.where.path) == ("SC233", "measure.late.from")


def test_a_measure_that_is_not_there_is_refused_with_the_nearest():
    measures = MeasuresByName(peak=1)
    assert measures["peak"] == 1
    with pytest.raises(UnknownNameError, match="did you mean `peak`"):
        measures["peek"]
    assert "peek" not in measures
    assert measures.get("peek") is None
