"""Results on disk: what is written comes back, by name and with h5py alone; what is not ours is refused.

Worlds that come to their end, but are not to be trusted: exit codes, events, and their status in tables and searches.

Snapshots in files: another process of the same scene goes on to the same bits, and any other is refused by name.
"""

import errno
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from support.recorder_here import RecorderHere
from support.solver_modes import MODES
from support.tiny_model import datasets, frames, tiny_model
from test_simulation import fresh, opened, same
from test_simulation_starts import SCENE as SIMULATION_SAVED_SCENE

import simcli
import simcli as package
from simcli.analysis.drift import Drift
from simcli.analysis.worlds.world_table import read_table
from simcli.cli.process import run_command
from simcli.cli.runs.summary import drift_text
from simcli.errors import Exit, FileError, OutputError, UsageError
from simcli.pipeline import execution
from simcli.records import hdf5_bytes
from simcli.records.contents.layout import CHANNELS
from simcli.records.contents.provenance import collect_provenance
from simcli.records.contents.results import FIELDS, Field, ResultWriter, result_axes
from simcli.records.contents.select import axes_of
from simcli.records.integrity.verification import verify_any
from simcli.records.reading.reader import Trajectory
from simcli.records.reading.result_reader import Results, open_any
from simcli.records.writing.writer import Recorder
from simcli.search.batches import Batches
from simcli.search.fit_data import Log
from simcli.search.intervals import Interval
from simcli.search.quantities import Measured
from simcli.search.residuals import Rhythm, numbers_at

MODEL = tiny_model()
OWN = {"H": ("ground", "rod/s"), "Q": ("up",), "U": ("x", "y"), "U2": ("x", "y"), "X": ("p",), "R": ("pin:0", "pin:1")}
AXES = result_axes(MODEL)
AXES = replace(AXES, label={**AXES.label, **OWN})
SOURCES = [("scene.yaml", "simcli: 1\n")]
PROVENANCE = collect_provenance(SOURCES, "simcli: 1\nresolved: true\n", "cpu: test", "float64", 7, ["simcli", "fk"])
PIECES = (1, 4, 2)  # states per portion
TEXT_AXES = {
    "B": MODEL.bodies.name,
    "NV": MODEL.dofs.label,
    "NV2": MODEL.dofs.label,
    "NQ": MODEL.dofs.q_label,
    "N": MODEL.points.name,
    **OWN,
}


def values_of(field: Field, first: int, n: int) -> np.ndarray:
    """Numbers that name their place."""
    shape = AXES.tail(field)
    values = np.arange(np.prod(shape, dtype=int)) + 1000.0 * np.arange(first, first + n)[:, None]
    return values.reshape(n, *shape).astype(field.kind)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A result with every field, written in portions."""
    path = tmp_path_factory.mktemp("results") / "all.h5"
    with ResultWriter(path, "fk", tuple(FIELDS), AXES, PROVENANCE, "title", "somewhere") as writer:
        first = 0
        for n in PIECES:
            writer.put({name: values_of(field, first, n) for name, field in FIELDS.items()})
            first += n
    assert [entry.name for entry in path.parent.iterdir()] == ["all.h5"]
    return path


def test_every_field_comes_back(path):
    with simcli.open(path) as result:
        assert isinstance(result, Results)
        assert result.kind == "fk"
        assert result.n_states == sum(PIECES)
        assert result.fields == tuple(FIELDS)
        assert result.joints == MODEL.joints.name
        assert result.bodies == MODEL.bodies.name
        for name, field in FIELDS.items():
            assert np.array_equal(result[name], values_of(field, 0, sum(PIECES))), name
            assert result[name].dtype == np.dtype(field.kind)
        assert result.labels("mass_matrix") == (MODEL.dofs.label, MODEL.dofs.label)
        assert result.labels("jacobian") == (MODEL.bodies.name, ("vx", "vy", "vz", "wx", "wy", "wz"), MODEL.dofs.label)
        assert result.provenance == replace(PROVENANCE, versions={**PROVENANCE.versions, "hdf5": h5py.version.hdf5_version})
        with pytest.raises(UsageError, match="did you mean `joint_q`"):
            result["joint_p"]
    with pytest.raises(UsageError, match="is closed"):
        result["joint_q"]


def test_numbers_that_stand_for_names(path):
    with Results(path) as found:
        with pytest.raises(FileError, match="2 names"):
            found.named("contact_shape_a")
        with pytest.raises(UsageError, match="no names"):
            found.named("time")


def test_h5py_alone_finds_names_and_units(path):
    with h5py.File(path) as file:
        states = file["states"]
        for name, field in FIELDS.items():
            assert states[name].attrs["units"] == field.unit
            assert states[name].attrs["long_name"] == field.text
            scales = [dimension[0] for dimension in states[name].dims]
            assert [scale.shape[0] for scale in scales] == list(states[name].shape)
            assert len({scale.name for scale in scales}) == len(scales)  # or xarray could not open the group
            for axis, scale in zip(field.axes, scales, strict=True):
                assert axis not in TEXT_AXES or tuple(scale.asstr()[...]) == TEXT_AXES[axis]
        for name, dataset in states.items():
            assert dataset.is_scale or all(len(dimension) == 1 for dimension in dataset.dims), name
        assert states["qd_unit"].asstr()[0] == "rad/s"
        assert np.array_equal(states["q_start"], MODEL.joints.q_start)
        assert file["provenance"].attrs["states"] == "somewhere"
        assert file["provenance/scene_resolved"].asstr()[()].startswith("simcli: 1")


def test_a_selection_of_bodies_has_their_names(tmp_path):
    axes = AXES.of_bodies([1], [0])
    with ResultWriter(tmp_path / "a.h5", "fk", ("world", "body_q", "point_position"), axes, PROVENANCE) as writer:
        writer.put({"world": np.zeros(2, int), "body_q": np.ones((2, 1, 7)), "point_position": np.ones((2, 1, 3))})
    with simcli.open(tmp_path / "a.h5") as result:
        assert result.bodies == (MODEL.bodies.name[1],)
        assert result.labels("point_position")[0] == (MODEL.points.name[0],)


def test_a_mechanism_without_coordinates_or_points_can_be_stored(tmp_path):
    empty = AXES.of_bodies([], [])
    with ResultWriter(tmp_path / "a.h5", "fk", ("world", "body_q"), empty, PROVENANCE) as writer:
        writer.put({"world": np.zeros(3, int), "body_q": np.zeros((3, 0, 7))})
    with simcli.open(tmp_path / "a.h5") as result:
        assert result["body_q"].shape == (3, 0, 7)


def test_a_failed_result_is_not_there(tmp_path):
    def fail():
        with ResultWriter(tmp_path / "a.h5", "fk", ("world",), AXES, PROVENANCE) as writer:
            writer.put({"world": np.zeros(3, int)})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("room", [1_000, 100_000])  # [B]: for a part of the head, for a part of the states
def test_a_result_on_a_full_disk_is_not_there(tmp_path, room, monkeypatch):

    class Full(hdf5_bytes.Backing):
        def _kept(self, call, argument, otherwise):
            if call == self._stream.write and self._stream.tell() + otherwise > room:
                self.failure = OSError(errno.ENOSPC, "No space left on device")
            return super()._kept(call, argument, otherwise)

    def write():
        with ResultWriter(tmp_path / "a.h5", "fk", ("world",), AXES, PROVENANCE) as writer:
            writer.put({"world": np.zeros(1 << 16, int)})

    monkeypatch.setattr(hdf5_bytes, "Backing", Full)
    with pytest.raises(OutputError, match="cannot write: No space left on device;"):
        write()
    assert list(tmp_path.iterdir()) == []


def external(file, folder):
    file["states/more"] = h5py.ExternalLink(str(folder / "x.h5"), "/")


def soft(file, folder):
    file["states/more"] = h5py.SoftLink("/states/joint_q")


def wrong_shape(file, folder):
    del file["states/joint_q"]
    file["states/joint_q"] = np.zeros((7, 2))


def wrong_type(file, folder):
    del file["states/time"]
    file["states/time"] = np.zeros(7, "i4")


def falling(file, folder):
    file["states/q_start"][...] = file["states/q_start"][...][::-1]


def newer(file, folder):
    file.attrs["simcli_result"] = [2, 0]


def no_names(file, folder):
    del file["states/body_name"]


HOSTILE = {
    "external": (external, "external link"),
    "soft": (soft, "soft link"),
    "shape": (wrong_shape, "shape"),
    "type": (wrong_type, "type int32"),
    "falling": (falling, "rising offsets"),
    "newer": (newer, "update simcli"),
    "no names": (no_names, "damaged"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_files_that_are_not_ours_are_refused(path, tmp_path, name):
    change, reason = HOSTILE[name]
    copy = tmp_path / "copy.h5"
    copy.write_bytes(path.read_bytes())
    with h5py.File(copy, "r+") as file:
        change(file, tmp_path)
    with pytest.raises(FileError, match=reason) as error:
        open_any(copy)
    assert "copy.h5" in str(error.value)
    assert error.value.exit_code == Exit.FILE


def test_a_whole_result_is_whole_and_a_changed_one_is_not(path, tmp_path):
    assert verify_any(path) == []
    data = bytearray(path.read_bytes())
    number = np.float64(values_of(FIELDS["jacobian"], 0, 1).ravel()[100]).tobytes()
    at = data.index(number)
    data[at] ^= 1
    (tmp_path / "flipped.h5").write_bytes(data)
    problems = verify_any(tmp_path / "flipped.h5")
    assert any("flipped.h5: /states/" in problem for problem in problems), problems
    with h5py.File(tmp_path / "text.h5", "w") as copy, h5py.File(path) as file:
        for name in file:
            file.copy(name, copy)
        copy.attrs.update(file.attrs)
        copy["provenance/scene_resolved"][()] = "simcli: 2\n"
    assert any("scene_resolved" in problem for problem in verify_any(tmp_path / "text.h5"))
    assert verify_any(tmp_path / "none.h5") == [f"{tmp_path / 'none.h5'}: no such file"]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_cut_files_are_refused(path, tmp_path, share):
    data = path.read_bytes()
    (tmp_path / "cut.h5").write_bytes(data[: int(share * len(data))])
    with pytest.raises(FileError, match=r"cut\.h5"):
        open_any(tmp_path / "cut.h5")


def test_a_run_is_no_result_and_opens_as_one(tmp_path):
    with Recorder(tmp_path / "run.h5", MODEL, PROVENANCE, CHANNELS, 4, process=RecorderHere()) as recorder:
        recorder.put(frames(datasets(MODEL, CHANNELS), axes_of(MODEL), 0, 4))
    with open_any(tmp_path / "run.h5") as run:
        assert isinstance(run, Trajectory)
    with pytest.raises(FileError, match="no result"):
        Results(tmp_path / "run.h5")


FAR, NEAR = 0.5, 0.15  # [m], of two balls of 0.1 m: in the second world they overlap
BALL = "mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, shapes: {s: {type: sphere, radius: 0.1}}"
# Along z nothing parts the two, so that every step of the second world is unsolved; free balls are pushed apart instead.
RAILS = (
    "joints: {j: {type: prismatic, parent: world, child: a, axis: [0, 0, 1]}, "
    "k: {type: prismatic, parent: world, child: b, axis: [0, 0, 1]}}"
)
SCENE = f"""
simcli: 1
params: {{x: {FAR}}}
world: {{gravity: [0, 0, 0]}}
bodies:
  a: {{{BALL}}}
  b: {{{BALL}, pose: {{xyz: ["${{x}}", 0, 0]}}}}
RAILS
measure: {{far: {{final: body.b.position}}}}
run: {{duration: 0.02RUN}}
output: {{every: 0.01}}
BATCH
"""
BATCH = f"batch: {{worlds: 2, vary: {{params.x: {{list: [{FAR}, {NEAR}]}}}}}}"
EVERY_SOLVER = ["generalized", *(pytest.param(name, marks=pytest.mark.slow) for name in ("maximal", "natural"))]


def written(folder, rails="", run="", batch=BATCH) -> Path:
    path = folder / "s.yaml"
    path.write_text(SCENE.replace("RAILS", rails).replace("RUN", run).replace("BATCH", batch))
    return path


def ran(folder, path, *words):
    """Exit code of a run, and how its worlds ended."""
    line = ["run", str(path), "-o", str(folder / "s.h5"), "--device", "cpu", "-q", "--force", *words]
    code = run_command(line, debug=False, as_json=False)
    with package.open(folder / "s.h5") as file:
        table = read_table([file]).columns
        events = {(event.code, event.world) for event in file.events if event.code in ("SC627", "SC628")}
    return code, list(zip(table["status"].values, table["status.reason"].values, strict=True)), events


@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize(
    ("rails", "code", "reason"),
    [
        (RAILS, "SC627", "unsolved steps"),
        ("", "SC628", "energy from nothing"),
    ],
)
def test_a_world_that_is_wrong_fails_the_run_and_has_a_status_of_its_own(solver, rails, code, reason, tmp_path, capfd):
    path = written(tmp_path, rails)
    done, ends, events = ran(tmp_path, path, "--solver", solver)
    assert done == Exit.SIMULATION
    assert ends == [("ok", ""), ("untrusted", reason)]
    assert (code, 1) in events
    assert {world for _, world in events} == {1}
    assert "error: world 1: " in capfd.readouterr().err
    line = ["run", str(path), "-o", str(tmp_path / "s.h5"), "--device", "cpu", "--solver", solver, "--resume", "--json"]
    assert run_command(line, debug=False, as_json=True) == Exit.SIMULATION  # judged by the file of a run that has ended
    assert {one["world"] for one in json.loads(capfd.readouterr().out)["untrusted"]} == {1}
    assert ran(tmp_path, path, "--solver", solver, "--world", "1")[1] == [("untrusted", reason)]


@pytest.mark.parametrize(
    ("rails", "run", "code"),
    [
        (RAILS, ", on_unsolved: warn, on_drift: warn", Exit.OK),
        (RAILS, ", on_unsolved: {above: 2}, on_drift: warn", Exit.OK),
        (RAILS, ", on_unsolved: {action: auto, share: 1}", Exit.SIMULATION),
        (RAILS, ", on_unsolved: fail", Exit.SIMULATION),
        ("", ", on_drift: warn", Exit.OK),
        ("", ", on_drift: {above: 1}", Exit.OK),  # of 0.25 J
        ("", ", on_drift: {action: fail, share: 0.5}", Exit.SIMULATION),
    ],
)
def test_a_scene_says_what_becomes_of_it(rails, run, code, tmp_path):
    assert ran(tmp_path, written(tmp_path, rails, run))[0] == code


@pytest.mark.slow
def test_energy_is_judged_where_it_is_written(tmp_path, capfd):
    path = written(tmp_path)
    assert ran(tmp_path, path, "--set", "output.channels=[state]")[0] == Exit.OK
    capfd.readouterr()
    words = ["-o", str(tmp_path / "s.h5"), "--device", "cpu", "--force", "--set", "run.on_drift=warn"]
    assert run_command(["run", str(path), *words], debug=False, as_json=False) == Exit.OK
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith(("energy: ", "done: "))]
    assert lines[0].startswith("energy: balance error in world 1: 0.25 J (100 %")


@pytest.mark.slow
def test_a_sweep_has_the_status_of_its_cases(tmp_path, capfd):
    path = written(tmp_path, RAILS)
    line = ["sweep", "run", str(path), "-o", str(tmp_path / "d"), "-q"]
    assert run_command(line, debug=False, as_json=False) == Exit.SIMULATION
    capfd.readouterr()
    assert run_command(["sweep", "table", str(tmp_path / "d"), "--json"], debug=False, as_json=True) == Exit.OK
    columns = {one["name"]: one["values"] for one in json.loads(capfd.readouterr().out)["columns"]}
    ends = zip(columns["status"], columns["status.code"], strict=True)
    assert sorted((word, code or "") for word, code in ends) == [("ok", ""), ("untrusted", "SC627")]


def test_searches_leave_it_out(tmp_path):
    """Measures of optimize and solve, and the numbers of a fit, are none in such a world."""
    path = written(tmp_path, RAILS, batch="")
    measured = Measured(Batches(path, (), ["params.x"], "cpu"), "measure.far.x", [Interval("params.x", 0.1, 1.0, False, "")])
    values = measured(np.array([[FAR], [NEAR]]))
    np.testing.assert_array_equal(values, [FAR, np.nan])
    assert measured.without["untrusted (unsolved steps)"] == 1
    ran(tmp_path, written(tmp_path, RAILS))
    time = np.array([0.01, 0.02])
    nothing = np.full((2, 1), np.nan)
    log = Log(Path("log.csv"), time, np.array([2, 3]), ("body.b.position.x",), ("m",), nothing, nothing)
    with package.open(tmp_path / "s.h5") as file:
        found, _ = numbers_at(file, log, Rhythm(0.01, True, 0.02))
    np.testing.assert_allclose(found[:, :, 0], [[FAR, FAR], [np.nan, np.nan]])


@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["output.channels=[state]"], True),
        (["output.channels=[state]"], False),
        pytest.param(["output.channels=[joints]", "output.every=0.001"], True, marks=pytest.mark.slow),
    ],
)
def test_energy_that_is_not_written_stands_first_in_the_summary(solver, more, told, tmp_path, capfd):
    """And changes neither the exit code nor a number of the file; in the first world alone nothing is gained."""
    path = written(tmp_path, batch=BATCH if told else "")
    words = ["-o", str(tmp_path / "s.h5"), "--device", "cpu", "--force", "--solver", solver]
    words += [word for one in more for word in ("--set", one)]
    assert run_command(["run", str(path), *words], debug=False, as_json=False) == Exit.OK
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith(("energy: ", "done: "))]
    assert [line.split(":")[0] for line in lines] == ["energy", "done"][1 - told :]
    if told:
        assert lines[0].startswith("energy: balance error in world 1: 0.25 J (100 %")
        assert lines[0].endswith("see what `simcli check` says of the start")  # as where the energy is written
        with package.open(tmp_path / "s.h5") as file:
            assert "energy" not in file.channels


@pytest.mark.parametrize(
    ("touches", "gains", "untrusted", "says"),
    [
        (True, True, False, "check"),
        (True, False, True, "check"),
        (True, False, False, "dt"),
        (False, True, True, "dt"),
        (False, True, False, "dt"),  # as of a spring that is too stiff for its step
    ],
)
def test_what_is_advised_of_a_drift(touches, gains, untrusted, says):
    """The start where shapes may overlap there, whether or not the energy is written; else the step."""
    text = drift_text(Drift(0, 2.0, 1.0, "solver.dt = 0.01 s", gains, touches), untrusted)
    assert text.endswith({"check": "see what `simcli check` says of the start", "dt": "try solver.dt = 0.01 s"}[says])


# What the frames of a run with the channel show is what one without it has found, and both move alike.
SWING = """
simcli: 1
bodies: {rod: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}}
joints: {pin: {type: revolute, parent: world, child: rod, at: [0, 0, 0], axis: [0, 1, 0], damping: 0.05,
               drive: {mode: position, target: 1, stiffness: 3, damping: 0.1}}}
forces: {push: {type: wrench, body: rod, force: [0, 0, 1], at: [1, 0, 0]}}
solver: {type: SOLVER, integrator: INTEGRATOR, dt: 1e-3}
run: {duration: 0.64}
output: {every: 0.064, channels: CHANNELS}
batch: {vary: {joints.pin.q: {list: [0, 0.7, -1]}}}
"""
CHEAP = ("generalized", "rk4"), ("natural", "zhong06")
STEPS = [pytest.param(*mode, marks=[pytest.mark.slow] * (mode not in CHEAP)) for mode in MODES if mode[0] != "affine"]


@pytest.mark.parametrize(("solver", "integrator"), STEPS)
def test_extremes_are_those_that_frames_would_show(solver, integrator, tmp_path, monkeypatch):
    seen, columns = [], []
    judged = execution._judged

    def note(job, outcome, account):
        seen.append(account)
        return judged(job, outcome, account)

    monkeypatch.setattr(execution, "_judged", note)
    for channels in ("[joints]", "[joints, energy]"):
        text = SWING.replace("SOLVER", solver).replace("INTEGRATOR", integrator).replace("CHANNELS", channels)
        (tmp_path / "s.yaml").write_text(text)
        run_command(
            ["run", str(tmp_path / "s.yaml"), "-o", str(tmp_path / "s.h5"), "--device", "cpu", "-q", "--force"],
            debug=False,
            as_json=False,
        )
        with package.open(tmp_path / "s.h5") as file:
            columns.append(file.joint("pin").q[:].tobytes() + file.joint("pin").qd[:].tobytes())
    assert columns[0] == columns[1]
    np.testing.assert_array_equal(seen[0].numbers(), seen[1].numbers())
    assert (seen[0].energy() > 0.1).all()


VARIED = {"vary": ["joints.a.damping"]}
EVENTS = "events=[{at: 0.01, set: {joints.a.damping: 0.5}}, {at: 0.03, set: {joints.a.damping: 0.1}}]"
ELSEWHERE = """
import sys
import numpy as np
import simcli
with simcli.Simulation(sys.argv[1], worlds=5, device="cpu", vary=["joints.a.damping"], threads=1) as sim:
    sim.restore(sys.argv[2])
    sim.step(25)
    np.savez(sys.argv[3], **{name: sim.get(name) for name in ("joint.a.q", "joint.c.qd", "sensor.turning.tachometer")},
             age=sim.age, episode=sim.episode, damping=sim.get("joints.a.damping"))
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "timed.yaml"
    by_condition = "\n".join(
        line for line in SIMULATION_SAVED_SCENE.splitlines() if "- {at:" not in line
    )  # others set what `vary` sets
    path.write_text(
        by_condition.replace(
            "q: 0.2, drive: {mode: effort, target: $push}", "q: 0.2, damping: 0.01, drive: {mode: effort, target: $push}"
        )
    )
    return path


def test_another_process_goes_on_to_the_same_bits(scene, tmp_path):
    with opened(scene, worlds=5, **VARIED) as sim:
        sim.step(17)
        sim.set("joints.a.damping", [0.1, 0.2, 0.3, 0.4, 0.5])
        sim.reset([1, 3])
        sim.step(3)
        sim.save(tmp_path / "state.npz")
        with pytest.raises(OutputError, match="exists; give force=True"):
            sim.save(tmp_path / "state.npz")
        sim.step(25)
        found = {name: sim.get(name) for name in ("joint.a.q", "joint.c.qd", "sensor.turning.tachometer")}
        found |= {"age": sim.age, "episode": sim.episode, "damping": sim.get("joints.a.damping")}
    words = [sys.executable, "-c", ELSEWHERE, scene, tmp_path / "state.npz", tmp_path / "found.npz"]
    subprocess.run(list(map(str, words)), check=True, timeout=300)
    with np.load(tmp_path / "found.npz") as other:
        assert not [name for name, values in found.items() if not np.array_equal(values, other[name])]


def test_what_is_to_come_is_kept(scene, tmp_path):
    for before in (5, 17, 35):  # of two events none, one and both have happened
        with opened(scene, EVENTS, worlds=5) as sim, opened(scene, EVENTS, worlds=5) as other:
            sim.step(before)
            sim.save(tmp_path / f"{before}.npz")
            sim.step(30)
            other.restore(tmp_path / f"{before}.npz")
            other.step(30)
            assert not same(fresh(sim), fresh(other))
            assert other.time == sim.time


WRONG = {
    "the scene, or an option, is different": {"sets": ["joints.a.q=0.1"]},
    r"vary is different: \[\] then, \['joints.a.damping'\] now": VARIED,
    r"controls is different: \['a'\] then, \[\] now": {"controls": ()},
}


def test_other_circumstances_are_refused(scene, tmp_path):
    state = tmp_path / "state.npz"
    with opened(scene, worlds=5, controls=("a",)) as sim:
        sim.step(1)
        sim.save(state)
    for words, options in WRONG.items():
        more = {"worlds": 5, "controls": ("a",), **options}
        with opened(scene, *more.pop("sets", ()), **more) as sim, pytest.raises(UsageError, match=words):
            sim.restore(state)
    with opened(scene, worlds=5, controls=("a",)) as sim:
        with pytest.raises(FileError, match="there is no such file"):
            sim.restore(tmp_path / "none.npz")
        state.write_bytes(state.read_bytes()[:-50])
        with pytest.raises(FileError, match="is no whole snapshot"):
            sim.restore(state)
