"""`simcli samples` and `--vary-table`: what is written makes the same worlds, to the byte, and stands in the result."""

import json
import shutil

import numpy as np
import pytest
from support.process import run_here

from simcli.errors import Exit
from simcli.pipeline import build_model, read_scene
from simcli.records.reading.reader import open_trajectory
from simcli.spec.document.overrides import VARY_TABLE, Override

SCENE = """\
simcli: 1
params: {k: 10 N/mm, l: 0.4}
bodies:
  a:
    {mass: "${k / 10000}", inertia: {diag: [1, 1, 1]}, com: ["${l}", 0, 0],
     velocity: {linear: [1, 0, 0], angular: [1, 2, 3]}}
solver: {dt: 1 ms}
run: {duration: 0.02}
output: {every: 0.01}
measure: {fastest: {max_abs: joint.a_free.qd, component: 1}, lift: {max: body.a.position}}
batch:
  worlds: 4
  seed: 3
  vary:
    params.k: {normal: [10 N/mm, 1 N/mm], low: 9 N/mm, high: 11.5 N/mm}
    world.gravity: {choice: [[0, 0, -9.81], [0, 1, -1.62]], weights: [1, 2]}
    bodies.a.velocity.linear[1]: {lhs: [1, 2], strata: 4}
    bodies.a.velocity.angular: {list: [[0, 0, 1], [1, 0, 0], [0, 1, 0], [0.6, 0, 0.8]]}
    bodies.a.inertia.diag[0]: {scrambled_sobol: [0.9, 1.1]}
    params.l: {zip: [0.1, 0.3]}
"""


def command(*words):
    return run_here(*words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    (folder / "scene.yaml").write_text(SCENE)
    assert command("run", folder / "scene.yaml", "-o", folder / "a.h5", "-q") == Exit.OK
    return folder


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_of_the_samples_makes_the_same_worlds(folder, tmp_path, monkeypatch, capsys, suffix):
    """And so does the result alone, in a folder where nothing else is."""
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    table, out = folder / f"rows.{suffix}", folder / f"{suffix}.h5"
    assert command("samples", folder / "scene.yaml", "-o", table) == Exit.OK
    assert command("run", folder / "scene.yaml", "--vary-table", table, "-o", out, "-q") == Exit.OK
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(out, elsewhere / "b.h5")
    monkeypatch.chdir(elsewhere)
    assert command("run", "b.h5", "-o", "c.h5", "-q") == Exit.OK
    capsys.readouterr()
    for other in (out, elsewhere / "c.h5"):
        command("diff", folder / "a.h5", other, "--exact")
        assert "all bits are equal" in capsys.readouterr().err
        with open_trajectory(folder / "a.h5") as first, open_trajectory(other) as second:
            assert first.n_worlds == 8
            assert first.digest == second.digest
            assert list(first.params) == list(second.params)
            assert first.param_units == second.param_units
            for name, column in first.params.items():
                assert column.tobytes() == second.params[name].tobytes(), name
            np.testing.assert_array_equal(first.world_seed, second.world_seed)
    assert command("samples", "c.h5", "-o", "again.csv") == Exit.OK
    assert command("samples", folder / "scene.yaml", "-o", "first.csv") == Exit.OK
    assert (elsewhere / "again.csv").read_text() == (elsewhere / "first.csv").read_text()


def test_one_world_of_a_table_is_that_of_the_batch(folder):
    assert command("samples", folder / "scene.yaml", "-o", folder / "w.csv") == Exit.OK
    sets = (Override(VARY_TABLE, str(folder / "w.csv")),)
    drawn, read = (build_model(*read_scene(folder / "scene.yaml", sets), worlds=[6]) for sets in ((), sets))
    assert drawn.param_name == read.param_name
    assert drawn.param_value.tobytes() == read.param_value.tobytes()
    assert drawn.world_seed == read.world_seed
    assert drawn.bodies.mass.tobytes() == read.bodies.mass.tobytes()
    assert len(drawn.param_value) == 1


def test_the_same_numbers_on_the_terminal_in_json_and_as_csv(folder, tmp_path, capsys):
    scalar = "batch.vary.bodies.a.velocity.angular={uniform: [0, 1]}"
    assert command("samples", folder / "scene.yaml", "--worlds", "2", "--set", scalar) == Exit.SCENE  # of three numbers
    asked = ["samples", folder / "scene.yaml", "--vary", "bodies.a.com[1]=choice(1.5)", "--seed", "9"]
    capsys.readouterr()
    assert command(*asked) == Exit.OK
    shown = capsys.readouterr()
    assert shown.err.startswith("8 worlds")
    header, units, *rows = shown.out.splitlines()
    assert "bodies.a.com[1]" in header
    assert "[m]" in units
    assert len(rows) == 8
    assert command(*asked, "--json") == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["worlds"]) == ("simcli.samples/1", 8)
    columns = {one["name"]: one for one in found["columns"]}
    assert columns["bodies.a.com[1]"] == {"name": "bodies.a.com[1]", "unit": "m", "values": [1.5] * 8}
    assert list(columns)[:2] == ["world", "seed"]
    assert command(*asked, "-o", "-") == Exit.OK
    text = capsys.readouterr().out
    assert command(*asked, "-o", tmp_path / "x.csv") == Exit.OK
    assert (tmp_path / "x.csv").read_text() == text
    assert [float(row.split(",")[2]) for row in text.splitlines()[1:]] == columns["params.k"]["values"]


def test_inputs_are_never_outputs(folder, capsys):
    table = folder / "mine.csv"
    table.write_text("params.l\n1\n")
    assert command("samples", folder / "scene.yaml", "--vary-table", table, "-o", table) == Exit.USAGE
    assert "will not be replaced" in capsys.readouterr().err
    assert table.read_text() == "params.l\n1\n"
    assert command("run", folder / "scene.yaml", "--vary-table", table, "-o", table, "--force") == Exit.USAGE
    assert table.read_text() == "params.l\n1\n"
    earlier = f"bodies.a.velocity.linear[1]=from({folder / 'a.h5'}, measure=fastest)"
    before = (folder / "a.h5").read_bytes()
    (folder / "plain.yaml").write_text(SCENE.partition("batch:")[0])
    assert command("run", folder / "plain.yaml", "--vary", earlier, "-o", folder / "a.h5", "--force") == Exit.USAGE
    assert "will not be replaced" in capsys.readouterr().err
    assert (folder / "a.h5").read_bytes() == before
    assert command("samples", folder / "scene.yaml", "-o", folder / "x.txt") == Exit.USAGE
    assert command("samples", folder / "scene.yaml", "--vary-table", folder / "gone.csv") == Exit.USAGE
    assert "did you mean" not in capsys.readouterr().out
    assert not (folder / "x.txt").exists()


def test_a_table_of_a_run_is_a_table_of_samples(folder, tmp_path, capsys):
    """The worlds that are worth another look, chosen by what they came to."""
    words = ["table", folder / "a.h5", "--sort", "-measure.fastest", "--top", "2", "-o", tmp_path / "best.csv"]
    assert command(*words) == Exit.OK
    assert command("samples", folder / "scene.yaml", "--vary-table", tmp_path / "best.csv", "--json") == Exit.OK
    columns = {one["name"]: one["values"] for one in json.loads(capsys.readouterr().out)["columns"]}
    with open_trajectory(folder / "a.h5") as run:
        order = np.argsort(-run.measures["fastest"].value, kind="stable")[:2]
        assert columns["params.k"] == run.params["params.k"][order].tolist()


def test_an_earlier_run_gives_its_measures(folder, tmp_path, monkeypatch, capsys):
    how = 'batch: {vary: {"bodies.a.velocity.linear[1]": {from: {file: a.h5, measure: fastest}}}}'
    (folder / "next.yaml").write_text(SCENE.partition("batch:")[0] + how)
    assert command("check", folder / "next.yaml") == Exit.OK
    assert command("run", folder / "next.yaml", "-o", tmp_path / "b.h5", "-q") == Exit.OK
    monkeypatch.chdir(tmp_path)
    assert command("run", "b.h5", "-o", "c.h5", "-q") == Exit.OK
    with open_trajectory(folder / "a.h5") as first:
        fastest = first.measures["fastest"].value
    for name in ("b.h5", "c.h5"):
        with open_trajectory(tmp_path / name) as run:
            np.testing.assert_array_equal(run.params["bodies.a.velocity.linear[1]"], fastest)
    capsys.readouterr()
    path = "bodies.a.velocity.linear[1]"
    faults = {f"{path}=from(b.h5, measure=slowest)": "SC321", f"{path}=from(c.h5, param=params.k)": "SC321",
              f"{path}=from(x.csv, measure=fastest)": "SC110", "params.k=from(b.h5, measure=fastest)": "SC213",
              "bodies.a.inertia.diag[0]=from(b.h5, measure=fastest)": "SC213"}  # fmt: skip
    for text, code in faults.items():
        assert command("samples", folder / "scene.yaml", "--vary", text) == Exit.SCENE
        assert code in capsys.readouterr().err, text


def test_what_a_new_option_replaces_in_a_run(folder, tmp_path, monkeypatch, capsys):
    """`--vary-table` of a run in a file replaces the batch of this run; what the file keeps is not asked for again."""
    (tmp_path / "t.csv").write_text("params.l\n0.5\n0.6\n")
    monkeypatch.chdir(tmp_path)
    assert command("run", folder / "scene.yaml", "--vary-table", "t.csv", "--seed", "8", "-o", "t.h5", "-q") == Exit.OK
    (tmp_path / "t.csv").write_text("params.l\n0.7\n")
    capsys.readouterr()

    def lengths(*words):
        assert command("samples", *words, "--json") == Exit.OK
        return {one["name"]: one["values"] for one in json.loads(capsys.readouterr().out)["columns"]}

    kept = lengths("t.h5")
    assert kept["params.l"] == [0.5, 0.6]
    assert lengths("t.h5", "--vary-table", "t.csv")["params.l"] == [0.7]
    assert lengths("t.h5", "--vary-table", "t.csv")["seed"] == kept["seed"][:1]  # of --seed 8
    assert lengths("t.h5", "--vary", "params.k=1,2")["params.l"] == [0.5, 0.6, 0.5, 0.6]
    assert lengths("t.h5", "--worlds", "1")["params.l"] == [0.5]


def test_resuming_with_another_table_is_refused(folder, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("params.l\n0.5\n")
    words = ["run", folder / "scene.yaml", "--vary-table", tmp_path / "t.csv", "-o", tmp_path / "t.h5", "-q"]
    assert command(*words) == Exit.OK
    assert command(*words, "--resume") == Exit.OK
    (tmp_path / "t.csv").write_text("params.l\n0.6\n")
    assert command(*words, "--resume") == Exit.OUTPUT


UNITS = """\
simcli: 1
params: {written: 5 N/mm, varied: 1, sized: "${written / 50} cm", header: 3, plain: 2}
models: {m: {params: {L: 40 cm}, bodies: {b: {mass: 1, com: ["${L}", 0, 0], inertia: {diag: [1, 1, 1]}}}}}
instances: {one: {model: m, params: {L: 30 cm}}}
bodies: {a: {mass: 1, com: ["${written + varied}", "${sized + header}", "${plain}"], inertia: {diag: [1, 1, 1]}}}
initial: home
keyframes: {home: {joint_q: {slide: 1}}}
joints: {slide: {type: prismatic, parent: world, child: one/b, axis: [0, 0, 1]}}
world: {gravity: [0, 0, 0]}
run: {duration: 1 ms}
output: {every: 1 ms}
solver: {type: maximal}
measure: {high: {final: body.a.position, component: 0}}
"""
VARIED = {"params.written": ("4000, 6000", "N/m"), "params.varied": ("1 N mm/deg, 2 Nm/rad", "N*m/rad"),
          "params.sized": ("1, 2", "m"), "params.plain": ("1, 2", ""), "instances.one.params.L": ("0.1, 0.2", "m"),
          "keyframes.home.joint_q.slide": ("1, 2", "m")}  # fmt: skip


def test_parameters_keep_the_unit_they_are_written_in(tmp_path, capsys):
    """In samples, results, tables, and on axes; in SI, as the numbers are."""
    scene, out = tmp_path / "u.yaml", tmp_path / "u.h5"
    scene.write_text(UNITS)
    (tmp_path / "rows.csv").write_text("params.header [rpm]\n1\n2\n")
    words = [word for path, (values, _) in VARIED.items() for word in ("--vary", f"{path}=zip({values})")]
    assert command("run", scene, *words, "-o", out, "-q") == Exit.OK
    units = {path: unit for path, (_, unit) in VARIED.items()}
    with open_trajectory(out) as run:
        assert run.param_units == units
    titles = [f"{path} [{unit}]" if unit else path for path, unit in units.items()]
    capsys.readouterr()
    assert command("table", out, "-o", "-", "-c", "instances.*,keyframes.*,params.*") == Exit.OK
    assert sorted(capsys.readouterr().out.splitlines()[0].split(",")) == sorted(titles)
    assert command("samples", scene, *words, "-o", "-") == Exit.OK
    assert capsys.readouterr().out.splitlines()[0].split(",")[2:] == titles
    assert command("plot", out, "-x", "params.written", "-y", "measure.high", "--terminal") == Exit.OK
    assert "params.written [N/m]" in capsys.readouterr().out
    assert command("samples", scene, "--vary-table", tmp_path / "rows.csv", "-o", "-") == Exit.OK
    assert capsys.readouterr().out.splitlines()[0].split(",")[2:] == ["params.header [rad/s]"]
    assert command("run", scene, "--vary", "params.varied=zip(1, 2)", "-o", tmp_path / "v.h5", "-q") == Exit.OK
    assert command("table", tmp_path / "v.h5", out, "-c", "params.varied", "-o", "-") == Exit.OK
    assert capsys.readouterr().out.splitlines()[0] == "params.varied [N*m/rad]"
