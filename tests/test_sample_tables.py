"""Tables of samples: headers, units, vectors, seeds; every fault at its line and column; CSV and Parquet alike."""

import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcli.errors import SceneError
from simcli.model import build_worlds
from simcli.spec import json_schema, load_document, n_worlds, resolve, resolved_yaml, world_seeds, world_values
from simcli.spec.batches import sheets
from simcli.spec.batches.sheets import header_of, sheet_of
from simcli.spec.document.overrides import VARY, VARY_TABLE, Override
from simcli.spec.resolve import warnings
from simcli.spec.values.csv_tables import ANY, SEPARATORS, CsvError, number_in, table_cells

BASE = """\
simcli: 1
params: {k: 10 N/mm, l: 0.4, n: 1}
models: {m: {params: {s: 1}, bodies: {b: {mass: "${s}", inertia: {diag: [1, 1, 1]}}}}}
instances: {left: {model: m, params: {s: 1}}}
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}, com: ["${l}", 0, 0]}
joints:
  pin: {type: revolute, parent: world, child: a, axis: [0, 0, 1], damping: 0.1}
  eye: {type: ball, parent: world, child: left/b}
forces: {s: {type: spring, a: {world: [1, 0, 0]}, b: {body: a, at: [0, 0, 0]}, stiffness: "${k}"}}
run: {duration: 1}
"""
TABLE = "batch: {table: {file: t.csv}}\n"
NAMED = 'batch: {table: {file: t.csv, columns: {length: params.l, "k [N/mm]": params.k}}}\n'
LINE = BASE.count("\n") + 1


def document(folder, text, more=TABLE, sets=(), name="t.csv"):
    (folder / "scene.yaml").write_text(BASE + more)
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_document(folder / "scene.yaml", sets)


def worlds(folder, text, more=TABLE, sets=()):
    doc = document(folder, text, more, sets)
    return world_values(resolve(doc))


def faults(folder, text, more=TABLE, sets=()):
    with pytest.raises(SceneError) as caught:
        resolve(document(folder, text, more, sets))
    return caught.value.faults


def test_headers_are_paths_with_units(tmp_path):
    got = worlds(
        tmp_path,
        "params.l [mm],joints.pin.damping,instances.left.params.s,world.gravity[2] [m/s^2]\n"
        "400,0.25,2,-9.81\n # a comment\n\n500.5,1e-1,3,-1.62\n",
    )
    assert list(got[0]) == ["params.l", "joints.pin.damping", "instances.left.params.s", "world.gravity[2]"]
    assert [world["params.l"] for world in got] == [400 * 1e-3, 500.5 * 1e-3]
    assert [world["world.gravity[2]"] for world in got] == [-9.81, -1.62]
    model = build_worlds(doc := document(tmp_path, "instances.left.params.s\n2\n3\n"), resolve(doc))
    assert model.bodies.mass[:, model.bodies.name.index("left/b")].tolist() == [2, 3]


@pytest.mark.parametrize(
    "text",
    [
        'length [mm],k,note\n400,10,"a, b"\n500,12.5,x\n',
        "\ufefflength [mm];k [N/mm];;\n400;10;;\n500;12.5;\n",
        "k [N/mm]\tlength[mm]\n10\t400\n 12.5 \t500\n",
        '"length [mm]","k [N/mm]"\r\n"400",10\r\n500,+1.25E1\r\n',
    ],
)
def test_columns_are_named(tmp_path, text):
    got = worlds(tmp_path, text, NAMED)
    assert [(world["params.l"], world["params.k"]) for world in got] == [(0.4, 10000.0), (0.5, 12500.0)]


HEADERS = {
    "k": ("k", ""),
    "k [N/mm]": ("k", "N/mm"),
    "k[N/mm]": ("k", "N/mm"),
    "a.com[0]": ("a.com[0]", ""),
    "a.com[0] [m]": ("a.com[0]", "m"),
    "a.com[0][mm]": ("a.com[0]", "mm"),
    "mu [1]": ("mu", "1"),
    "[m]": ("[m]", ""),
    "x []": ("x", ""),
    " k  [ N ] ": ("k", "N"),
    "a [b] [c]": ("a [b]", "c"),
}


@pytest.mark.parametrize("text", HEADERS)
def test_grammar_of_headers(text):
    found = header_of(text)
    assert (found.name, found.unit) == HEADERS[text]


def test_vectors_are_columns_of_components(tmp_path):
    got = worlds(
        tmp_path,
        "joints.eye.q[0],joints.eye.q[1],joints.eye.q[2],joints.eye.q[3],bodies.a.com[1] [cm]\n0,0,0,1,5\n1,0,0,0,6\n",
    )
    assert [world["joints.eye.q"] for world in got] == [[0, 0, 0, 1], [1, 0, 0, 0]]
    assert [world["bodies.a.com[1]"] for world in got] == [0.05, 0.06]
    gravity = worlds(tmp_path, "world.gravity[1],world.gravity[0],world.gravity[2]\n1,2,3\n")
    assert gravity == [{"world.gravity": [2, 1, 3]}]
    one = worlds(tmp_path, "joints.pin.damping[0]\n0.5\n")
    assert one == [{"joints.pin.damping": [0.5]}]


def test_what_simcli_writes_beside_is_passed_over(tmp_path):
    header = "file,world,status,status.reason,status.time [s],seed,params.l,measure.peak [rad]"
    text = f"{header}\na.h5,7,ok,,,18446744073709551615,0.5,1\n"
    doc = document(tmp_path, text)
    spec = resolve(doc)
    assert world_values(spec) == [{"params.l": 0.5}]
    assert world_seeds(spec) == [2**64 - 1]
    assert resolve(document(tmp_path, "world,seed\n0,5\n1,6\n")).batch.n_draws == 2


def test_a_table_stands_for_the_draws(tmp_path):
    more = "batch: {table: {file: t.csv}, vary: {params.k: {grid: [1, 2]}, bodies.a.mass: {uniform: [1, 2]}}}\n"
    text = "params.l\n0.1\n0.2\n0.3\n"
    got = worlds(tmp_path, text, more)
    assert [(world["params.k"], world["params.l"]) for world in got] == [(k, x) for k in (1, 2) for x in (0.1, 0.2, 0.3)]
    assert [world["bodies.a.mass"] for world in got[:3]] == [world["bodies.a.mass"] for world in got[3:]]
    spec = resolve(document(tmp_path, text))
    assert n_worlds(spec) == 3
    fewer = document(tmp_path, text, sets=["batch.worlds=2"])
    assert [world["params.l"] for world in world_values(resolve(fewer))] == [0.1, 0.2]
    assert [fault.code for fault in warnings(fewer)] == ["SC323"]
    (more_than,) = faults(tmp_path, text, sets=["batch.worlds=4"])
    assert (more_than.code, more_than.hint) == ("SC205", "at most 3")


def test_a_column_counts_as_varied(tmp_path):
    """For the choice of the integrator, and for a target that only the worlds give a gain."""
    smooth = resolve(document(tmp_path, "joints.pin.damping\n1\n"))
    sudden = resolve(document(tmp_path, "joints.pin.friction\n1\n"))
    assert (smooth.solver.integrator, sudden.solver.integrator) == ("implicit", "semi_implicit")
    scene = BASE.replace("damping: 0.1}", "drive: {mode: position, target: 1}}")
    (tmp_path / "scene.yaml").write_text(scene + TABLE)
    (tmp_path / "t.csv").write_text("joints.pin.drive.stiffness\n5\n")
    assert n_worlds(resolve(load_document(tmp_path / "scene.yaml"))) == 1
    (tmp_path / "scene.yaml").write_text(scene)
    with pytest.raises(SceneError, match="SC473"):
        resolve(load_document(tmp_path / "scene.yaml"))


def test_a_resolved_scene_knows_what_was_read(tmp_path):
    """Another content, another scene; the same checksum, or none, is accepted."""
    text = "params.l\n0.1\n"
    first = resolve(document(tmp_path, text))
    again = resolved_yaml(first)
    assert "sha256" in again
    assert resolved_yaml(resolve(document(tmp_path, "params.l\n0.10\n"))) != again
    pinned = f"batch: {{table: {{file: t.csv, sha256: {first.batch.table.sha256}}}}}\n"
    assert resolved_yaml(resolve(document(tmp_path, text, pinned))) == again
    (fault,) = faults(tmp_path, "params.l\n0.2\n", pinned)
    assert (fault.code, fault.where.path) == ("SC320", "batch.table.sha256")


# Text of the table, and what is told: line, column, a part of the message, a part of the hint.
BROKEN = {
    "nothing": ("", 1, 1, "empty", "headers"),
    "blank lines": ("\n \n# x\n", 1, 1, "empty", ""),
    "headers alone": ("params.l\n", 1, 1, "no rows", "a line per world"),
    "no headers": ("1,2\n3,4\n", 1, 1, "numbers where", "paths"),
    "no names": (",\n1,2\n", 1, 1, "no headers", ""),
    "a column without a name": ("params.l,,params.k\n1,2,3\n", 1, 10, "column 2 has no name", ""),
    "a name twice": ("params.l,params.l\n1,2\n", 1, 10, "two columns", "rename"),
    "one path twice": ("params.l [m],params.l [mm]\n1,2\n", 1, 14, "both for `params.l`", "keep one"),
    "no path": ("params.l,note\n1,2\n", 1, 10, "`note` is no path", "columns"),
    "the name of a parameter": ("l\n1\n", 1, 1, "`l` is no path", "did you mean `params.l`"),
    "an unknown path": ("params.l,joints.pin.dampin\n1,2\n", 1, 10, "no such key", "did you mean `damping`"),
    "a path that is fixed": ("solver.dt [ms]\n1\n", 1, 1, "cannot differ", ""),
    "a path of a mapping": ("joints.pin\n1\n", 1, 1, "no number", ""),
    "an unknown unit": ("params.l [mmm]\n1\n", 1, 1, "unknown unit `mmm`", "did you mean `mm`"),
    "a unit that is none": ("params.l,params.k [N/(]\n1,2\n", 1, 10, "params.k [N/(]", ""),
    "a unit of another kind": ("bodies.a.mass [mm]\n400\n", 2, 1, "is a length, but a mass", ""),
    "a unit of another kind than the parameter": ("params.k [mm]\n400\n", 2, 1, "of another kind than `10 N/mm`", ""),
    "a word": ("params.l,params.k\n1,2\n3,abc\n", 3, 3, "params.k: `abc` is no number", ""),
    "an empty cell": ("params.l,params.k\n1,\n", 2, 3, "empty cell", ""),
    "a number that is none": ("params.l\nnan\n", 2, 1, "not a finite number", ""),
    "infinity": ("params.l\n-inf\n", 2, 1, "not a finite number", ""),
    "too large": ("params.l\n1e400\n", 2, 1, "not a finite number", ""),
    "too large in SI": ("params.l [km]\n1e308\n", 2, 1, "too large", ""),
    "a comma for a point": ("params.l;params.k\n1,5;2\n", 2, 1, "`1,5` is no number", "`1.5`"),
    "no unit in a cell": ("params.l\n0.x\n", 2, 1, "no number", "0.25"),
    "a unit in a cell": ("params.l\n5 mm\n", 2, 1, "plain number", "NAME [mm]"),
    "digits of Python": ("params.l\n1_0\n", 2, 1, "no number", ""),
    "digits of others": ("params.l\n\u0661\n", 2, 1, "no number", ""),
    "fewer cells": ("params.l,params.k\n1\n", 2, 1, "1 cell below 2 headers", ""),
    "more cells": ("params.l,params.k\n1,2,3\n", 2, 1, "3 cells below 2 headers", ""),
    "an open quote": ('params.l,"params.k\n1,2\n', 1, 10, "not closed", ""),
    "an open quote in a row": ('params.l,params.k\n1,"2\n', 2, 3, "not closed", ""),
    "text after a quote": ('params.l,params.k\n"1"x,2\n', 2, 4, "follows", ""),
    "UTF-16": ("params.l\n1\n".encode("utf-16"), 1, 1, "UTF-16", "UTF-8"),
    "Latin 1": (b"params.l,x\n1,\xb0\n", 2, 3, "not UTF-8", "UTF-8"),
    "a byte 0": (b"params.l\n1\0\n", 2, 2, "byte 0", ""),
    "a workbook": (b"PK\x03\x04rest", 0, 0, "workbook", "CSV"),
    "compressed": (b"\x1f\x8brest", 0, 0, "compressed", "unpack"),
    "a run": (b"\x89HDF\r\n", 0, 0, "HDF5", "simcli table"),
    "half a Parquet file": (b"PAR1rest", 0, 0, "Parquet", ""),
    "a seed that is none": ("params.l,seed\n1,2.5\n", 2, 3, "64 bits", ""),
    "a seed too large": ("params.l,seed\n1,18446744073709551616\n", 2, 3, "64 bits", ""),
    "a value that makes no scene": ("bodies.a.mass\n1\n-1\n2\n", 3, 1, "with bodies.a.mass = -1", ""),
    "an endless header": ("params.l," + "x" * 5000 + "\n1,2\n", 1, 10, "5000 characters", ""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_tables(tmp_path, name):
    text, line, column, message, hint = BROKEN[name]
    if b"PAR1" in (text if isinstance(text, bytes) else b""):
        pytest.importorskip("pyarrow")
    (found,) = faults(tmp_path, text)
    assert message in found.message, found
    assert hint in found.hint, found
    assert (Path(found.where.file).name, found.where.line, found.where.column) == ("t.csv", line, column), found


def test_all_faults_at_once_up_to_a_number(tmp_path):
    rows = "".join(f"x{k},1\n" for k in range(100))
    found = faults(tmp_path, f"params.l,params.k\n1,\n1\n{rows}")
    assert [fault.where.line for fault in found] == list(range(2, 2 + sheets.MAX_FAULTS))
    assert [fault.where.column for fault in found] == [3, 1, *[1] * (sheets.MAX_FAULTS - 2)]


COLUMNS = {
    "no such column": ("{lenght: params.l}", "no column `lenght`", "did you mean `length [mm]`", "lenght"),
    "another unit": ('{"length [cm]": params.l}', "no column `length [cm]`", "did you mean `length [mm]`", '"length'),
    "a path nowhere": ("{length: params.x}", "no such key", "", "params.x"),
    "no path": ("{length: 'a b..'}", "no such key", "", "'a b"),
    "a number for a path": ("{length: 5}", "not a text", "", "5"),
    "a list": ("[length]", "is a list", "{length: params.l}", "[length"),
    "none": ("{}", "empty", "leave it out", "{}"),
    "a column twice": ('{length: params.l, "length [mm]": params.k}', "taken twice", "keep one", '"length'),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_broken_columns(tmp_path, name):
    columns, message, hint, at = COLUMNS[name]
    more = f"batch: {{table: {{file: t.csv, columns: {columns}}}}}\n"
    (found,) = faults(tmp_path, "length [mm],k\n1,2\n", more)
    assert message in found.message, found
    assert hint in found.hint, found
    assert (found.where.line, found.where.column) == (LINE, more.index(at) + 1), found


def test_a_path_is_varied_once(tmp_path):
    (found,) = faults(tmp_path, "params.l\n1\n", "batch: {table: {file: t.csv}, vary: {params.l: {grid: [1, 2]}}}\n")
    assert (found.code, found.where.line) == ("SC322", LINE)


def test_rows_are_judged_as_a_whole(tmp_path):
    """Numbers that are good together are good, though each alone would not be; and the other way round."""
    text = "bodies.a.inertia.diag[0],bodies.a.inertia.diag[1]\n{}\n"
    good = "1,1\n9,9\n"
    doc = document(tmp_path, text.format(good).replace(",bodies.a.inertia.diag[1]", ",bodies.a.inertia.diag[2]"))
    assert n_worlds(resolve(doc)) == 2
    (found,) = faults(tmp_path, text.format("1,1\n1.5,0.4\n1,0.2\n1.6,1.6"))
    assert (found.message[:9], found.where.line) == ("world 1: ", 3)


def test_very_many_columns(tmp_path):
    """Their units are judged, and their rows; in a time that grows with their number."""
    n = 120
    bodies = "".join(f"  b{k}: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}\n" for k in range(n))
    (tmp_path / "scene.yaml").write_text(BASE.replace("joints:\n", f"{bodies}joints:\n", 1) + TABLE)
    header = ",".join(f"bodies.b{k}.inertia.diag[0] [g*m^2]" for k in range(n))
    good, bad = ["1500"] * n, ["1500", "5000"] * (n // 2)
    for unit, values, told in (("g*m^2", good, 0), ("g*m", good, n), ("g*m^2", bad, 1)):
        (tmp_path / "t.csv").write_text(header.replace("g*m^2", unit) + "\n" + ",".join(values) + "\n")
        try:
            resolve(load_document(tmp_path / "scene.yaml"))
            found = []
        except SceneError as error:
            found = error.faults
        assert len(found) >= told
        assert bool(found) == bool(told)
        assert {fault.code for fault in found} <= {"SC213" if told == n else "SC404"}


def test_worlds_that_check_does_not_try_are_named_by_their_rows(tmp_path):
    doc = document(tmp_path, "joints.pin.q,bodies.a.com[0],bodies.a.inertia.diag[0]\n0,0,1\n0,0,1.5\n0,0,0.5\n")
    assert build_worlds(doc, resolve(doc)).n_worlds == 3
    rows = ["1,0.1", "1.9,1", *["1.5,1.5"] * 203]
    rows[100] = "1.5,0.2"
    doc = document(tmp_path, "\n".join(["bodies.a.inertia.diag[0],bodies.a.inertia.diag[1]", *rows]))
    with pytest.raises(SceneError) as caught:
        build_worlds(doc, resolve(doc))
    (found,) = caught.value.faults
    assert found.message.startswith("world 100: ")
    assert (Path(found.where.file).name, found.where.line) == ("t.csv", 102)
    assert doc.line(found.where) == "1.5,0.2"


def test_a_table_for_short(tmp_path):
    assert worlds(tmp_path, "params.l\n1\n", "batch: {table: t.csv}\n") == [{"params.l": 1}]
    (found,) = faults(tmp_path, "params.l\n1\n", "batch: {table: u.csv}\n")
    assert (found.code, found.where.line, found.where.column) == ("SC110", LINE, 16)
    assert json_schema()["definitions"]["TableSpec"]


def test_files_lie_below_the_scene(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "t.csv").write_text("params.l\n1\n")
    codes = {"../t.csv": "SC111", str(tmp_path / "t.csv"): "SC111", "u.csv": "SC110", ".": "SC110"}
    for name, code in codes.items():
        (found,) = faults(inner, "params.l\n1\n", f"batch: {{table: {{file: '{name}'}}}}\n")
        assert (found.code, found.where.line) == (code, LINE), name
    os.symlink(tmp_path / "t.csv", inner / "link.csv")
    (found,) = faults(inner, "params.l\n1\n", "batch: {table: {file: link.csv}}\n")
    assert found.code == "SC111"


def test_the_option_takes_the_place_of_the_batch(tmp_path, monkeypatch):
    (tmp_path / "scenes").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("params.l,params.n\n1,2\n3,4\n")
    own = "batch: {worlds: 7, seed: 5, vary: {params.l: {grid: [1, 2]}, bodies.a.mass: {uniform: [1, 2]}}}\n"
    sets = [Override("--worlds", "1", "batch.worlds"), Override(VARY, "params.k=1,2"), Override(VARY_TABLE, "rows.csv")]
    (tmp_path / "scenes" / "scene.yaml").write_text(BASE.replace('"${l}", 0', '"${l}", "${n}"') + own)
    doc = load_document(tmp_path / "scenes" / "scene.yaml", sets)
    spec = resolve(doc)
    assert world_values(spec) == [{"params.l": 1, "params.n": 2, "params.k": k} for k in (1, 2)]
    assert spec.batch.seed == 5
    for name, code in (("gone.csv", "SC110"), ("scenes", "SC110"), ("a\0b", "SC110")):
        with pytest.raises(SceneError) as caught:
            resolve(load_document(tmp_path / "scenes" / "scene.yaml", [Override(VARY_TABLE, name)]))
        assert [(fault.code, fault.where.file) for fault in caught.value.faults] == [(code, VARY_TABLE)]


def test_large_files_are_refused(tmp_path, monkeypatch):
    with open(tmp_path / "big.csv", "wb") as stream:
        stream.truncate(64 * 2**20 + 1)
    (found,) = faults(tmp_path, "", "batch: {table: {file: big.csv}}\n")
    assert "64 MiB" in found.message
    monkeypatch.setattr(sheets, "MAX_WORLDS", 3)
    (found,) = faults(tmp_path, "params.l\n1\n2\n3\n4\n")
    assert "4 rows" in found.message


def parquet(folder, columns, units=None, name="t.csv"):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet as pq

    arrays = [pa.array(values) for values in columns.values()]
    fields = [
        pa.field(key, array.type, metadata={"unit": (units or {}).get(key, "")})
        for key, array in zip(columns, arrays, strict=True)
    ]
    pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), folder / name)
    return (folder / name).read_bytes()


def test_parquet_is_read_like_csv(tmp_path):
    data = parquet(
        tmp_path,
        {
            "params.l": np.array([400.0, 500.5]),
            "joints.pin.damping": [1, 2],
            "world.gravity[2] [cm/s^2]": np.array([-981, -162], np.float32),
            "status": ["ok", "ok"],
            "seed": np.array([2**64 - 1, 1], np.uint64),
        },
        {"params.l": "mm"},
    )
    doc = document(tmp_path, data)
    spec = resolve(doc)
    assert world_values(spec) == [
        {"params.l": 400.0 * 1e-3, "joints.pin.damping": 1.0, "world.gravity[2]": -981 * 0.01},
        {"params.l": 500.5 * 1e-3, "joints.pin.damping": 2.0, "world.gravity[2]": -162 * 0.01},
    ]
    assert world_seeds(spec) == [2**64 - 1, 1]


PARQUETS = {
    "words": ({"params.l": ["a"]}, "holds string"),
    "truths": ({"params.l": [True]}, "holds bool"),
    "an empty cell": ({"params.l": [1.0, None]}, "row 1 of column `params.l`"),
    "no number": ({"params.l": [1.0, 2.0, math.nan]}, "row 2 of column `params.l`"),
    "no rows": ({"params.l": np.zeros(0)}, "0 rows"),
    "no columns of paths": ({"world": [1]}, "no column is for a number"),
    "negative seeds": ({"params.l": [1.0], "seed": [-1]}, "damaged"),
    "a path nowhere": ({"params.x": [1.0]}, "no such key"),
    "another kind": ({"bodies.a.mass [m]": [1.0]}, "is a length, but a mass"),
}


@pytest.mark.parametrize("name", PARQUETS)
def test_broken_parquet(tmp_path, name):
    columns, message = PARQUETS[name]
    (found,) = faults(tmp_path, parquet(tmp_path, columns))
    assert message in found.message, found
    assert found.where.file.endswith("t.csv")


def test_without_pyarrow_parquet_says_what_to_install(tmp_path, monkeypatch):
    data = parquet(tmp_path, {"params.l": [1.0]})
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (found,) = faults(tmp_path, data)
    assert "pip install 'simcli[parquet]'" in found.hint


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=80) | st.text('params.lk[] m",;\t\n\r1.-e#', max_size=80).map(str.encode))
def test_any_bytes_are_a_table_or_a_fault(tmp_path, data):
    try:
        resolve(document(tmp_path, data))
    except SceneError as error:
        assert all(fault.where is not None for fault in error.faults)  # noqa: PT017
        for fault in error.faults:
            error.document.line(fault.where)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=8), min_size=1, max_size=5),
    st.sampled_from(SEPARATORS),
)
def test_cells_are_those_of_python(texts, separator):
    import csv
    import io

    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, quoting=csv.QUOTE_ALL).writerow(texts)
    assert [cell.text for cell in table_cells(stream.getvalue().rstrip("\r\n"), separator)] == [
        text.strip() for text in texts
    ]


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False))
def test_floats_come_back_to_the_bit(value):
    got = number_in(repr(value))
    assert (got, math.copysign(1, got)) == (value, math.copysign(1, value))


@pytest.mark.parametrize("odd", ["", '"1"', "1_0", " 7 ", "nan", "x", "1,2", "\u0661", "1e999"])
def test_many_rows_are_read_as_few(odd):
    """The quick way and the close look give the same numbers and the same faults, wherever the odd cell is."""
    n = 2 * sheets._ROWS_AT_ONCE + 5
    rows = [f"{k}.5,{k}" for k in range(n)]
    for at in (0, sheets._ROWS_AT_ONCE, n - 1):
        rows[at] = f"{odd},3" if odd else rows[at]
        sheet = sheet_of("\n".join(["a,b", *rows]).encode())
        quick = sheet.columns([0, 1], None)
        close = sheet_of("\n".join(["a,b", *rows]).encode())
        close._is_plain = False
        assert close.columns([0, 1], None) == quick
        assert [(str(one), one.line) for one in close.problems] == [(str(one), one.line) for one in sheet.problems]
        assert bool(sheet.problems) == (odd not in ("", '"1"', " 7 "))


def test_any_separator_takes_blanks():
    assert [cell.text for cell in table_cells('  1.5  2;"3",4\t5 ', ANY)] == ["1.5", "2", "3", "4", "5"]
    with pytest.raises(CsvError):
        sheet_of(b"")
