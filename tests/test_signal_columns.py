"""Signals of CSV files with many columns: by header, and one signal of which each joint takes the column of its name."""

import numpy as np
import pytest
from support.scenes import faults_of, scene

from simcli.model import build
from simcli.spec import resolve, resolved_yaml

TABLE = """# recorded
t [ms], shoulder [deg], wrist.0, wrist.1, wrist.2, note, left/t_rate, elbow
0, 0, 1, 2, 3, begin, 5, 0
500, 90, 2, 3, 4, , 6, 0.5
1000, 45, 3, 4, 5, end, 7, 1
"""
BODIES = """
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}}
  b: {mass: 1, inertia: {diag: [1, 1, 1]}}
  c: {mass: 1, inertia: {diag: [1, 1, 1]}}
"""
CHAIN = (
    BODIES
    + """
joints:
  shoulder: {type: revolute, parent: world, child: a, at: [0, 0, 0], motion: {position: $s}}
  elbow: {type: prismatic, parent: a, child: b, at: [0, 0, 0], drive: {mode: effort, target: $s}}
  wrist:
    type: d6
    parent: b
    child: c
    at: [0, 0, 0]
    axes: {linear: [[1, 0, 0]], angular: [[0, 1, 0], {axis: [0, 0, 1], drive: {mode: effort, target: $s}}]}
    drive: [{mode: effort, target: $s}, {mode: effort, target: $s}, null]
"""
)
WANTED = {"s/shoulder": [0, np.pi / 2, np.pi / 4], "s/elbow": [0, 0.5, 1], "s/wrist/0": [1, 2, 3], "s/wrist/1": [2, 3, 4],
          "s/wrist/2": [3, 4, 5]}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.csv").write_text(TABLE, encoding="utf-8")
    return tmp_path


def samples(text: str, folder) -> dict:
    """Values of the tables of a scene at their times, by their signals; the times have to be those of the file."""
    document = scene(text, folder)
    signals = build(resolve(document), document).signals
    found = {}
    for k, name in enumerate(signals.name):
        pieces = slice(signals.piece_start[k] + 1, signals.piece_start[k + 1])
        assert signals.knot[pieces].tolist() == [0, 0.5, 1], name
        found[name] = signals.cubic[0, pieces, 0]
    return found


def test_each_joint_takes_the_column_of_its_name(folder):
    """In drives, motions, efforts and on single axes; dof k of several is `NAME.k`, and units are converted."""
    found = samples(CHAIN + 'signals: {s: {table: {file: x.csv, column: "*"}}}\n', folder)
    assert found.keys() == WANTED.keys()
    for name, values in WANTED.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-15, err_msg=name)


@pytest.mark.parametrize("use", ["motion: {position: $s}", "drive: {mode: velocity, target_velocity: $s, damping: 1}"])
@pytest.mark.parametrize("column", ["*", "joint_*"])
def test_names_are_those_of_the_model(tmp_path, use, column):
    (tmp_path / "x.csv").write_text("elbow;t;joint_elbow\n1;0;1\n2;0.5;2\n4;1;4\n", encoding="utf-8")
    table = f'{{file: x.csv, column: "{column}", time_column: t}}'
    text = f"""
models:
  arm:
    bodies: {{a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}}}
    joints: {{elbow: {{type: prismatic, parent: world, child: a, at: [0, 0, 0], {use}}}}}
    signals: {{s: {{table: {table}}}}}
instances: {{left: {{model: arm}}, right: {{model: arm}}}}
"""
    found = samples(text, tmp_path)
    assert found.keys() == {"left/s/elbow", "right/s/elbow"}
    assert [values.tolist() for values in found.values()] == [[1, 2, 4]] * 2


def test_the_resolved_scene_is_the_same(folder):
    document = scene(CHAIN + 'signals: {s: {table: {file: x.csv, column: "*"}}}\n', folder)
    again = resolved_yaml(resolve(document)).replace("simcli: 1\n", "")
    assert resolve(scene(again, folder)).signals.keys() == WANTED.keys()


def test_efforts_and_defaults_take_columns_too(folder):
    text = (
        BODIES
        + """
defaults: {joint: {drive: {mode: effort, target: $s}}}
joints:
  shoulder: {type: prismatic, parent: world, child: a, at: [0, 0, 0], drive: null}
  elbow: {type: prismatic, parent: a, child: b, at: [0, 0, 0]}
  left: {type: prismatic, parent: b, child: c, at: [0, 0, 0], drive: null}
forces: {push: {type: torque, joint: left, value: $r}}
signals:
  s: {table: {file: x.csv, column: "*"}}
  r: {table: {file: x.csv, column: "*/t_rate"}}
"""
    )
    found = samples(text, folder)
    assert {name: values.tolist() for name, values in found.items()} == {"s/elbow": [0, 0.5, 1], "r/left": [5, 6, 7]}


FAULTS = {
    "column: hip": "has no column `hip`",
    "column: sholder": "has no column `sholder`",
    'column: "t [ms]"': "is the column of the times",
    "column: t": "is the column of the times",
    "column: elbow, time_column: time": "has no column `time`",
    "column: elbow, time_column: shoulder": "`shoulder [deg]`: ",
    "column: note": "line 3: `begin` below `note` is no number",
    "column: shoulder": "x.csv: ",  # an angle for a force
    'column: "*"': "is the column of a joint, and no joint takes this signal",
    "interpolate: cubic": "line 3: 8 columns",
}


@pytest.mark.parametrize("keys", FAULTS)
def test_faults_say_what_the_file_has(folder, keys):
    text = (
        BODIES
        + "forces: {w: {type: wrench, body: a, force: [$s, 0, 0]}}\n"
        + f"signals: {{s: {{table: {{file: x.csv, {keys}}}}}}}\n"
    )
    found = faults_of(text, "", folder)
    assert {code for code, _, _ in found} == {"SC471"}, found
    assert FAULTS[keys] in found[0][2], found


@pytest.mark.parametrize("line", ["1500, 3", "0, 1, 1, 1, 1, 1, 1, 1", "1500, 1, 1, 1, 1, 1, 1, inf"])
def test_a_wrong_line_is_named(folder, line):
    (folder / "x.csv").write_text(TABLE + line + "\n", encoding="utf-8")
    text = (
        BODIES
        + "forces: {w: {type: wrench, body: a, force: [$s, 0, 0]}}\nsignals: {s: {table: {file: x.csv, column: elbow}}}\n"
    )
    ((code, _, message),) = faults_of(text, "", folder)
    assert (code, "line 6" in message) == ("SC471", True), message


@pytest.mark.parametrize("table", ["time: [0], value: [1], column: a", "time: [0], value: [1], time_column: a",
                                   "file: x.csv, time_column: a"])  # fmt: skip
def test_columns_go_with_a_file(folder, table):
    found = faults_of(f"signals: {{s: {{table: {{{table}}}}}}}\n", BODIES, folder)
    assert [code for code, _, _ in found] in (["SC207"], ["SC202"]), found
