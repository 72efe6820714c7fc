"""`simcli table`: rows of worlds, conditions, order, CSV and Parquet, on files with known numbers.

`simcli samples` and `--vary-table`: what is written makes the same worlds, to the byte, and stands in the result.
"""

import csv
import json
import shutil
import sys

import numpy as np
import pytest
from support.process import run_here
from support.world_files import ENDED, FAILED, grid, peaks, world_file

from simcli.cli import process as cli_process
from simcli.errors import Exit
from simcli.pipeline import build_model, read_scene
from simcli.records.reading.reader import open_trajectory
from simcli.spec.document.overrides import VARY_TABLE, Override

PARAMS = grid(3, 4)
N_WORLDS = 12
PEAKS = peaks(PARAMS)
HEADER = [
    "world",
    "status",
    "status.reason",
    "status.time [s]",
    "params.l [m]",
    "params.c [N m s/rad]",
    "measure.peak [rad]",
    "measure.pos.x [m]",
    "measure.pos.y [m]",
    "measure.pos.z [m]",
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return world_file(tmp_path_factory.mktemp("table") / "a.h5", PARAMS)


@pytest.fixture
def command(capsys):
    def run(*words):
        code = cli_process.run_command(["table", *map(str, words)], debug=False, as_json="--json" in words)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def worlds(command, path):
    """Numbers of the worlds that a command shows, in order."""

    def run(*words):
        code, out, err = command(path, "-c", "world", "-o", "-", *words)
        assert code == Exit.OK, err
        return [int(line) for line in out.split()[1:]]

    return run


def test_csv_holds_every_world_and_reads_back_to_the_bit(command, path, tmp_path):
    assert command(path, "-o", tmp_path / "t.csv")[0] == Exit.OK
    with (tmp_path / "t.csv").open(newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == HEADER
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    assert [int(word) for word in columns["world"]] == list(range(N_WORLDS))
    numbers = {
        name: np.array([float(word or "nan") for word in column])
        for name, column in columns.items()
        if name.startswith(("params", "measure"))
    }
    np.testing.assert_array_equal(numbers["measure.peak [rad]"], PEAKS)
    np.testing.assert_array_equal(numbers["params.l [m]"], PARAMS["params.l"][1])
    np.testing.assert_array_equal(numbers["measure.pos.z [m]"], np.arange(N_WORLDS) + 0.2)
    assert columns["measure.peak [rad]"][FAILED] == ""
    ends = list(zip(columns["status"], columns["status.reason"], columns["status.time [s]"], strict=True))
    assert ends[FAILED] == ("failed", "too fast", "0.0123")
    assert ends[ENDED] == ("stopped", "", "0.02")
    assert set(ends[:FAILED] + ends[ENDED + 1 :]) == {("ok", "", "")}


def test_parquet_holds_the_same_numbers_and_the_units(command, path, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert command(path, "-o", tmp_path / "t.parquet")[0] == Exit.OK
    table = parquet.read_table(tmp_path / "t.parquet")
    assert table.column_names == [title.split(" ")[0] for title in HEADER]
    np.testing.assert_array_equal(table["measure.peak"].to_numpy(), PEAKS)
    assert table["status"].to_pylist()[FAILED] == "failed"
    assert table.schema.field("measure.peak").metadata == {b"unit": b"rad", b"text": b"largest value of joint.hinge0.q"}


def test_parquet_without_its_library_says_what_to_install(command, path, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = command(path, "-o", tmp_path / "t.parquet")
    assert code == Exit.USAGE
    assert "pip install 'simcli[parquet]'" in err
    assert not (tmp_path / "t.parquet").exists()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("{measure.peak} > 0.4", PEAKS > 0.4),
        ("{measure.peak} != 0.4", np.isfinite(PEAKS)),
        ("{measure.peak} <= 2*{params.l} - 0.1", 2 * PARAMS["params.l"][1] - 0.1 >= PEAKS),
        ("1 < {measure.pos.x} < 5 and not {status} == failed", [k in (3, 4) for k in range(N_WORLDS)]),
        ("1 < {measure.pos.x} < 5 and {status} != 'failed'", [k in (3, 4) for k in range(N_WORLDS)]),
        ("{status} == failed or {world} == 0", [k in (0, FAILED) for k in range(N_WORLDS)]),
        ("max({measure.pos.x}, 3) + abs(-1) == 4", [k <= 3 for k in range(N_WORLDS)]),
        ("sqrt({world}) ** 2 / 0 > 1", [k > 0 for k in range(N_WORLDS)]),
        ("1 > 2", [False] * N_WORLDS),
        ("{measure.peak} > 20 deg", np.radians(20) < PEAKS),
        ("{measure.peak}>.02rev and -1 mm < {measure.pos.x} <= 400 cm", (0.04 * np.pi < PEAKS) & (np.arange(N_WORLDS) <= 4)),
        (
            "2 * {params.l} > 30 cm + {params.l} and {status} != 'failed'",
            [p > 0.3 and k != FAILED for k, p in enumerate(PARAMS["params.l"][1])],
        ),
        ("{params.c} <= 15 N*m*s/rad", PARAMS["params.c"][1] <= 15),
        ("{params.c} <= 0.2 Nm s/deg", PARAMS["params.c"][1] <= 0.2 * 180 / np.pi),
        ("{status.time} < 15 ms", [k == FAILED for k in range(N_WORLDS)]),
    ],
)
def test_conditions_keep_the_worlds_that_meet_them(worlds, condition, expected):
    assert worlds("--where", condition) == np.flatnonzero(expected).tolist()


def test_names_of_any_form_stand_in_braces(command, tmp_path):
    angles = np.linspace(0.0, 1.0, 5)
    path = world_file(tmp_path / "a.h5", {"joints.arm/elbow-1.q": ("rad", angles), "bodies.a.com[2]": ("m", -angles)})
    condition = "{joint.arm/elbow-1.q} > 0.3 and {bodies.a.com[2]} > -0.9"
    code, out, err = command(path, "--where", condition, "-c", "joint.arm/elbow-1.q,world", "-o", "-")
    assert code == Exit.OK, err
    assert out.splitlines() == ["joints.arm/elbow-1.q [rad],world", "0.5,2", "0.75,3"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--where", "{measure.paek} > 3"], "did you mean `measure.peak`?"),
        (["--where", "{peak} > 3"], "did you mean `measure.peak`?"),
        (["--where", "{measure.pos} > 3"], "has 3 components: name one, as `measure.pos.x`"),
        (["--where", "{joint.hinge0.q} > 3"], "a measure of it"),
        (["--where", "peak > 3"], "`peak > 3`: the name `peak` stands without braces: write `{measure.peak} > 3`"),
        (["--where", "measure.peak > 3 mm"], "write `{measure.peak} > 3 mm`"),
        (
            ["--where", "measure.pos.x-params.l > 3 and status == failed"],
            "names stand without braces: write `{measure.pos.x}-{params.l} > 3 and {status} == failed`",
        ),
        (["--where", "{measure.peak > 3 and {world} < 2"], "write `{measure.peak} > 3 and {world} < 2`"),
        (["--where", "measure.paek > 3"], "did you mean `measure.peak`?"),
        (
            ["--where", "{measure.peak} > 3 mm"],
            "3 mm is a length, and `measure.peak` is in rad; write a unit of its kind, or the number in SI, as 0.003",
        ),
        (["--where", "{world} > 3 mm"], "`world` has no unit"),
        (["--where", "{measure.peak} > 3 degs"], "unknown unit `degs`"),
        (["--where", "{status} == fialed"], "did you mean `failed`?"),
        (["--where", "{status} > 3"], "words are compared by == or !="),
        (["--where", "{world} == failed"], "`failed` stands without braces"),
        (["--where", "{world} + 1"], "is no condition"),
        (["--where", "{world} = 1"], "cannot be read as a condition"),
        (["--where", "().__class__ == 1"], "is not arithmetic"),
        (["--where", "open({world}) == 1"], "unknown function `open`"),
        (["--where", "{world} < 1" + "0" * 400], "beyond the largest"),
        (["--where", "not " * 80 + "{world} < 1"], "nested deeper than 64 levels"),
        (["--sort", "measure.peek"], "did you mean `measure.peak`?"),
        (["-c", "params.k*"], "no column `params.k*`"),
        (["-o", "t.xlsx"], "ends in .csv or .parquet"),
    ],
)
def test_what_cannot_be_asked_is_wrong_usage_with_a_guess(command, path, words, hint):
    code, out, err = command(path, *words)
    assert (code, out) == (Exit.USAGE, "")
    assert hint in err


def test_rows_in_order_with_missing_numbers_last(worlds):
    rising = [k for k in np.argsort(PEAKS, kind="stable").tolist() if k != FAILED]
    falling = [k for k in np.argsort(-PEAKS, kind="stable").tolist() if k != FAILED]
    assert worlds("--sort", "measure.peak") == [*rising, FAILED]
    assert worlds("--sort", "-measure.peak") == [*falling, FAILED]
    assert worlds("--sort", "-measure.peak", "--top", "3") == falling[:3]
    expected = sorted(range(N_WORLDS), key=lambda k: (-PARAMS["params.c"][1][k], PARAMS["params.l"][1][k]))
    assert worlds("--sort", "-params.c,params.l") == expected
    assert worlds("--sort", "status")[0] == FAILED  # words in the order of the alphabet
    assert worlds("--sort", "status")[-1] == ENDED


def test_columns_come_as_they_are_named(command, path):
    code, out, _ = command(path, "-c", "measure.pos,params.*", "-c", "world", "-o", "-")
    assert code == Exit.OK
    assert out.splitlines()[0] == (
        "measure.pos.x [m],measure.pos.y [m],measure.pos.z [m],params.l [m],params.c [N m s/rad],world"
    )


def test_files_stand_below_each_other(command, path, tmp_path):
    other = world_file(tmp_path / "b.h5", {"params.l": ("m", np.linspace(2.0, 3.0, 5))})
    code, out, err = command(path, other, "--json")
    assert code == Exit.OK, err
    document = json.loads(out)
    columns = {column["name"]: column for column in document["columns"]}
    assert (document["schema"], document["worlds"], document["rows"]) == ("simcli.table/1", 17, 17)
    assert columns["file"]["values"] == ["a.h5"] * N_WORLDS + ["b.h5"] * 5
    assert columns["world"]["values"] == [*range(N_WORLDS), *range(5)]
    assert columns["params.c"]["values"][N_WORLDS:] == [None] * 5
    assert columns["params.l"]["values"][N_WORLDS:] == np.linspace(2.0, 3.0, 5).tolist()
    assert columns["measure.peak"]["unit"] == "rad"
    code, out, _ = command(path, other, "--where", "{file} == 'b.h5' and {world} > 3", "-c", "file,world", "-o", "-")
    assert out.splitlines()[1:] == ["b.h5,4"]


def test_files_with_other_units_are_refused(command, path, tmp_path):
    other = world_file(tmp_path / "b.h5", {"params.l": ("kg", np.linspace(2.0, 3.0, 5))})
    code, _, err = command(path, other)
    assert code == Exit.USAGE
    assert "`params.l` is in kg, elsewhere in m" in err


def test_text_shows_names_units_and_a_count(command, path):
    code, out, err = command(path, "--where", "{world} < 4", "--top", "3")
    assert code == Exit.OK
    names, units, *rows = out.splitlines()
    assert names.split() == [title.split(" ")[0] for title in HEADER]
    assert "[N m s/rad]" in units
    assert len(rows) == 3
    assert rows[FAILED].split()[:5] == ["2", "failed", "too", "fast", "0.0123"]
    assert "3 of 4 worlds that meet the condition, of 12" in err


def test_reasons_stand_there_only_if_there_are_some(command, path):
    _, out, _ = command(path, "--where", "{status} == ok")
    assert "status.reason" not in out
    assert "status.time" not in out


def test_a_terminal_gets_what_fits(command, path, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("simcli.cli.results.table.MAX_ROWS", 5)
    monkeypatch.setenv("COLUMNS", "40")
    code, out, err = command(path)
    assert code == Exit.OK
    assert len(out.splitlines()) == 2 + 5
    assert max(map(len, out.splitlines())) <= 40
    assert "5 of 12 worlds" in err
    assert "columns more: " in err


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


def command_of_samples(*words):
    return run_here(*words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    (folder / "scene.yaml").write_text(SCENE)
    assert command_of_samples("run", folder / "scene.yaml", "-o", folder / "a.h5", "-q") == Exit.OK
    return folder


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_of_the_samples_makes_the_same_worlds(folder, tmp_path, monkeypatch, capsys, suffix):
    """And so does the result alone, in a folder where nothing else is."""
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    table, out = folder / f"rows.{suffix}", folder / f"{suffix}.h5"
    assert command_of_samples("samples", folder / "scene.yaml", "-o", table) == Exit.OK
    assert command_of_samples("run", folder / "scene.yaml", "--vary-table", table, "-o", out, "-q") == Exit.OK
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(out, elsewhere / "b.h5")
    monkeypatch.chdir(elsewhere)
    assert command_of_samples("run", "b.h5", "-o", "c.h5", "-q") == Exit.OK
    capsys.readouterr()
    for other in (out, elsewhere / "c.h5"):
        command_of_samples("diff", folder / "a.h5", other, "--exact")
        assert "all bits are equal" in capsys.readouterr().err
        with open_trajectory(folder / "a.h5") as first, open_trajectory(other) as second:
            assert first.n_worlds == 8
            assert first.digest == second.digest
            assert list(first.params) == list(second.params)
            assert first.param_units == second.param_units
            for name, column in first.params.items():
                assert column.tobytes() == second.params[name].tobytes(), name
            np.testing.assert_array_equal(first.world_seed, second.world_seed)
    assert command_of_samples("samples", "c.h5", "-o", "again.csv") == Exit.OK
    assert command_of_samples("samples", folder / "scene.yaml", "-o", "first.csv") == Exit.OK
    assert (elsewhere / "again.csv").read_text() == (elsewhere / "first.csv").read_text()


def test_one_world_of_a_table_is_that_of_the_batch(folder):
    assert command_of_samples("samples", folder / "scene.yaml", "-o", folder / "w.csv") == Exit.OK
    sets = (Override(VARY_TABLE, str(folder / "w.csv")),)
    drawn, read = (build_model(*read_scene(folder / "scene.yaml", sets), worlds=[6]) for sets in ((), sets))
    assert drawn.param_name == read.param_name
    assert drawn.param_value.tobytes() == read.param_value.tobytes()
    assert drawn.world_seed == read.world_seed
    assert drawn.bodies.mass.tobytes() == read.bodies.mass.tobytes()
    assert len(drawn.param_value) == 1


def test_the_same_numbers_on_the_terminal_in_json_and_as_csv(folder, tmp_path, capsys):
    scalar = "batch.vary.bodies.a.velocity.angular={uniform: [0, 1]}"
    assert (
        command_of_samples("samples", folder / "scene.yaml", "--worlds", "2", "--set", scalar) == Exit.SCENE
    )  # of three numbers
    asked = ["samples", folder / "scene.yaml", "--vary", "bodies.a.com[1]=choice(1.5)", "--seed", "9"]
    capsys.readouterr()
    assert command_of_samples(*asked) == Exit.OK
    shown = capsys.readouterr()
    assert shown.err.startswith("8 worlds")
    header, units, *rows = shown.out.splitlines()
    assert "bodies.a.com[1]" in header
    assert "[m]" in units
    assert len(rows) == 8
    assert command_of_samples(*asked, "--json") == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["worlds"]) == ("simcli.samples/1", 8)
    columns = {one["name"]: one for one in found["columns"]}
    assert columns["bodies.a.com[1]"] == {"name": "bodies.a.com[1]", "unit": "m", "values": [1.5] * 8}
    assert list(columns)[:2] == ["world", "seed"]
    assert command_of_samples(*asked, "-o", "-") == Exit.OK
    text = capsys.readouterr().out
    assert command_of_samples(*asked, "-o", tmp_path / "x.csv") == Exit.OK
    assert (tmp_path / "x.csv").read_text() == text
    assert [float(row.split(",")[2]) for row in text.splitlines()[1:]] == columns["params.k"]["values"]


def test_inputs_are_never_outputs(folder, capsys):
    table = folder / "mine.csv"
    table.write_text("params.l\n1\n")
    assert command_of_samples("samples", folder / "scene.yaml", "--vary-table", table, "-o", table) == Exit.USAGE
    assert "will not be replaced" in capsys.readouterr().err
    assert table.read_text() == "params.l\n1\n"
    assert command_of_samples("run", folder / "scene.yaml", "--vary-table", table, "-o", table, "--force") == Exit.USAGE
    assert table.read_text() == "params.l\n1\n"
    earlier = f"bodies.a.velocity.linear[1]=from({folder / 'a.h5'}, measure=fastest)"
    before = (folder / "a.h5").read_bytes()
    (folder / "plain.yaml").write_text(SCENE.partition("batch:")[0])
    assert (
        command_of_samples("run", folder / "plain.yaml", "--vary", earlier, "-o", folder / "a.h5", "--force") == Exit.USAGE
    )
    assert "will not be replaced" in capsys.readouterr().err
    assert (folder / "a.h5").read_bytes() == before
    assert command_of_samples("samples", folder / "scene.yaml", "-o", folder / "x.txt") == Exit.USAGE
    assert command_of_samples("samples", folder / "scene.yaml", "--vary-table", folder / "gone.csv") == Exit.USAGE
    assert "did you mean" not in capsys.readouterr().out
    assert not (folder / "x.txt").exists()


def test_a_table_of_a_run_is_a_table_of_samples(folder, tmp_path, capsys):
    """The worlds that are worth another look, chosen by what they came to."""
    words = ["table", folder / "a.h5", "--sort", "-measure.fastest", "--top", "2", "-o", tmp_path / "best.csv"]
    assert command_of_samples(*words) == Exit.OK
    assert command_of_samples("samples", folder / "scene.yaml", "--vary-table", tmp_path / "best.csv", "--json") == Exit.OK
    columns = {one["name"]: one["values"] for one in json.loads(capsys.readouterr().out)["columns"]}
    with open_trajectory(folder / "a.h5") as run:
        order = np.argsort(-run.measures["fastest"].value, kind="stable")[:2]
        assert columns["params.k"] == run.params["params.k"][order].tolist()


def test_an_earlier_run_gives_its_measures(folder, tmp_path, monkeypatch, capsys):
    how = 'batch: {vary: {"bodies.a.velocity.linear[1]": {from: {file: a.h5, measure: fastest}}}}'
    (folder / "next.yaml").write_text(SCENE.partition("batch:")[0] + how)
    assert command_of_samples("check", folder / "next.yaml") == Exit.OK
    assert command_of_samples("run", folder / "next.yaml", "-o", tmp_path / "b.h5", "-q") == Exit.OK
    monkeypatch.chdir(tmp_path)
    assert command_of_samples("run", "b.h5", "-o", "c.h5", "-q") == Exit.OK
    with open_trajectory(folder / "a.h5") as first:
        fastest = first.measures["fastest"].value
    for name in ("b.h5", "c.h5"):
        with open_trajectory(tmp_path / name) as run:
            np.testing.assert_array_equal(run.params["bodies.a.velocity.linear[1]"], fastest)
    capsys.readouterr()
    path = "bodies.a.velocity.linear[1]"
    faults = {
        f"{path}=from(b.h5, measure=slowest)": "SC321",
        f"{path}=from(c.h5, param=params.k)": "SC321",
        f"{path}=from(x.csv, measure=fastest)": "SC110",
        "params.k=from(b.h5, measure=fastest)": "SC213",
        "bodies.a.inertia.diag[0]=from(b.h5, measure=fastest)": "SC213",
    }
    for text, code in faults.items():
        assert command_of_samples("samples", folder / "scene.yaml", "--vary", text) == Exit.SCENE
        assert code in capsys.readouterr().err, text


def test_what_a_new_option_replaces_in_a_run(folder, tmp_path, monkeypatch, capsys):
    """`--vary-table` of a run in a file replaces the batch of this run; what the file keeps is not asked for again."""
    (tmp_path / "t.csv").write_text("params.l\n0.5\n0.6\n")
    monkeypatch.chdir(tmp_path)
    assert (
        command_of_samples("run", folder / "scene.yaml", "--vary-table", "t.csv", "--seed", "8", "-o", "t.h5", "-q")
        == Exit.OK
    )
    (tmp_path / "t.csv").write_text("params.l\n0.7\n")
    capsys.readouterr()

    def lengths(*words):
        assert command_of_samples("samples", *words, "--json") == Exit.OK
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
    assert command_of_samples(*words) == Exit.OK
    assert command_of_samples(*words, "--resume") == Exit.OK
    (tmp_path / "t.csv").write_text("params.l\n0.6\n")
    assert command_of_samples(*words, "--resume") == Exit.OUTPUT


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
VARIED = {
    "params.written": ("4000, 6000", "N/m"),
    "params.varied": ("1 N mm/deg, 2 Nm/rad", "N*m/rad"),
    "params.sized": ("1, 2", "m"),
    "params.plain": ("1, 2", ""),
    "instances.one.params.L": ("0.1, 0.2", "m"),
    "keyframes.home.joint_q.slide": ("1, 2", "m"),
}


def test_parameters_keep_the_unit_they_are_written_in(tmp_path, capsys):
    """In samples, results, tables, and on axes; in SI, as the numbers are."""
    scene, out = tmp_path / "u.yaml", tmp_path / "u.h5"
    scene.write_text(UNITS)
    (tmp_path / "rows.csv").write_text("params.header [rpm]\n1\n2\n")
    words = [word for path, (values, _) in VARIED.items() for word in ("--vary", f"{path}=zip({values})")]
    assert command_of_samples("run", scene, *words, "-o", out, "-q") == Exit.OK
    units = {path: unit for path, (_, unit) in VARIED.items()}
    with open_trajectory(out) as run:
        assert run.param_units == units
    titles = [f"{path} [{unit}]" if unit else path for path, unit in units.items()]
    capsys.readouterr()
    assert command_of_samples("table", out, "-o", "-", "-c", "instances.*,keyframes.*,params.*") == Exit.OK
    assert sorted(capsys.readouterr().out.splitlines()[0].split(",")) == sorted(titles)
    assert command_of_samples("samples", scene, *words, "-o", "-") == Exit.OK
    assert capsys.readouterr().out.splitlines()[0].split(",")[2:] == titles
    assert command_of_samples("plot", out, "-x", "params.written", "-y", "measure.high", "--terminal") == Exit.OK
    assert "params.written [N/m]" in capsys.readouterr().out
    assert command_of_samples("samples", scene, "--vary-table", tmp_path / "rows.csv", "-o", "-") == Exit.OK
    assert capsys.readouterr().out.splitlines()[0].split(",")[2:] == ["params.header [rad/s]"]
    assert command_of_samples("run", scene, "--vary", "params.varied=zip(1, 2)", "-o", tmp_path / "v.h5", "-q") == Exit.OK
    assert command_of_samples("table", tmp_path / "v.h5", out, "-c", "params.varied", "-o", "-") == Exit.OK
    assert capsys.readouterr().out.splitlines()[0] == "params.varied [N*m/rad]"
