"""`simcli table`: rows of worlds, conditions, order, CSV and Parquet, on files with known numbers."""

import csv
import json
import sys

import numpy as np
import pytest
from support.world_files import ENDED, FAILED, grid, peaks, world_file

from simcli.cli import doorman
from simcli.errors import Exit

PARAMS = grid(3, 4)
N_WORLDS = 12
PEAKS = peaks(PARAMS)
HEADER = ["world", "status", "status.reason", "status.time [s]", "params.l [m]", "params.c [N m s/rad]",
          "measure.peak [rad]", "measure.pos.x [m]", "measure.pos.y [m]", "measure.pos.z [m]"]  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return world_file(tmp_path_factory.mktemp("table") / "a.h5", PARAMS)


@pytest.fixture
def command(capsys):
    def run(*words):
        code = doorman.run_command(["table", *map(str, words)], debug=False, as_json="--json" in words)
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
    numbers = {name: np.array([float(word or "nan") for word in column]) for name, column in columns.items()
               if name.startswith(("params", "measure"))}  # fmt: skip
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
        ("2 * {params.l} > 30 cm + {params.l} and {status} != 'failed'", [p > 0.3 and k != FAILED for k, p in
                                                                       enumerate(PARAMS["params.l"][1])]),
        ("{params.c} <= 15 N*m*s/rad", PARAMS["params.c"][1] <= 15),
        ("{params.c} <= 0.2 Nm s/deg", PARAMS["params.c"][1] <= 0.2 * 180 / np.pi),
        ("{status.time} < 15 ms", [k == FAILED for k in range(N_WORLDS)]),
    ],
)  # fmt: skip
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
        (["--where", "measure.pos.x-params.l > 3 and status == failed"],
         "names stand without braces: write `{measure.pos.x}-{params.l} > 3 and {status} == failed`"),
        (["--where", "{measure.peak > 3 and {world} < 2"], "write `{measure.peak} > 3 and {world} < 2`"),
        (["--where", "measure.paek > 3"], "did you mean `measure.peak`?"),
        (["--where", "{measure.peak} > 3 mm"], "3 mm is a length, and `measure.peak` is in rad; write a unit of its kind, "
                                               "or the number in SI, as 0.003"),
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
    assert out.splitlines()[0] == ("measure.pos.x [m],measure.pos.y [m],measure.pos.z [m],params.l [m],"
                                   "params.c [N m s/rad],world")  # fmt: skip


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
