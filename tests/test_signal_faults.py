"""What is refused of signals, each by its code and place; their CSV files, units and resolved text.

Signals of CSV files with many columns: by header, and one signal of which each joint takes the column of its name.
"""

import numpy as np
import pytest
from support.scenes import faults_of, scene

from simcli.model import build, build_worlds
from simcli.model.signals.csv_table import read_csv
from simcli.spec import resolve, resolved_yaml
from simcli.spec.loading import load_document
from simcli.spec.lookup import signal_uses
from simcli.spec.schema.signals import SignalSpec

ROUNDING = 1e-14
BASE = """
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}}
  b: {pose: {xyz: [1, 0, 0]}, mass: 1, inertia: {diag: [1, 1, 1]}}
joints:
  pin: {type: revolute, parent: world, child: a, at: [0, 0, 0], axis: [0, 0, 1]}
  eye: {type: ball, parent: a, child: b, at: [1, 0, 0]}
"""


REFUSED = {
    "an unknown name": ("SC311", 1, "forces:\n  t: {type: torque, joint: pin, value: $nobody}\n"),
    "an unknown name in a motion": ("SC311", 1, "bodies:\n  c: {kinematic: true, motion: {linear: [$nobody, 0, 0]}}\n"),
    "one number for a vector": (
        "SC205",
        1,
        "forces:\n  w: {type: wrench, body: b, force: $s}\nsignals: {s: {constant: 1}}\n",
    ),
    "a vector for one number": (
        "SC205",
        1,
        "forces:\n  t: {type: torque, joint: pin, value: $s}\nsignals: {s: {constant: [1, 2, 3]}}\n",
    ),
    "a vector for a component": (
        "SC205",
        1,
        "forces:\n  w: {type: wrench, body: b, force: [0, 0, $s]}\nsignals: {s: {constant: [1, 2, 3]}}\n",
    ),
    "an angle for a force": (
        "SC213",
        3,
        "forces:\n  w: {type: wrench, body: b, force: [0, 0, $s]}\nsignals:\n"
        "  s: {sine: {amplitude: 3 deg, frequency: 1}}\n",
    ),
    "a force for a torque": (
        "SC213",
        3,
        "forces:\n  t: {type: torque, joint: pin, value: $s}\nsignals:\n  s: {step: {after: 3 N, time: 1}}\n",
    ),
    "a length among the values": (
        "SC213",
        3,
        "forces:\n  t: {type: torque, joint: pin, value: $s}\nsignals:\n"
        "  s: {table: {time: [0, 1], value: [2 N*m, 3 cm]}}\n",
    ),
    "a ramp that ends before it starts": ("SC232", 0, "signals: {s: {ramp: {to: 1, start: 2, end: 1}}}\n"),
    "times that fall": ("SC232", 0, "signals: {s: {table: {time: [0, 2, 1], value: [1, 2, 3]}}}\n"),
    "fewer values than times": ("SC205", 0, "signals: {s: {table: {time: [0, 1], value: [1]}}}\n"),
    "no times": ("SC205", 0, "signals: {s: {table: {time: [], value: []}}}\n"),
    "no numbers": ("SC205", 0, "signals: {s: {constant: []}}\n"),
    "a file and values": ("SC207", 0, "signals: {s: {table: {file: x.csv, value: [1]}}}\n"),
    "a file that is not there": ("SC110", 0, "signals: {s: {table: {file: x.csv}}}\n"),
    "a file outside": ("SC111", 0, "signals: {s: {table: {file: ../x.csv}}}\n"),
    "two kinds": ("SC207", 0, "signals: {s: {constant: 1, sine: {amplitude: 1, frequency: 1}}}\n"),
    "a varied time of a table": (
        "SC317",
        3,
        "signals: {s: {table: {time: [0, 1], value: [1, 2]}}}\nbatch:\n  vary:\n"
        "    signals.s.table.time[1]: {uniform: [1, 2]}\n",
    ),
    "a rate of no sample in any run": ("SC231", 0, "signals: {s: {expression: '{joint.pin.q}', rate: 1e-8}}\n"),
    "a rate without a period": ("SC231", 0, "signals: {s: {expression: '{joint.pin.q}', rate: 5e-324}}\n"),
    "a delay of more than what is kept": ("SC231", 0, "signals: {s: {expression: '{joint.pin.q}', delay: 1e4}}\n"),
    "a delay without an end": ("SC231", 0, "signals: {s: {expression: '{joint.pin.q}', rate: 100, delay: 1e308}}\n"),
    "a varied number that a signal drives": (
        "SC317",
        4,
        "forces: {t: {type: torque, joint: pin, value: $s}}\nsignals: {s: {constant: 1}}\nbatch:\n  vary:\n"
        "    forces.t.value: {uniform: [1, 2]}\n",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    code, line, text = REFUSED[name]
    found = faults_of(text, BASE if "bodies" not in text else "")
    assert (code, line) in [(one[0], one[1]) for one in found], found


CSV_FAULTS = {
    "0,1\n1,x\n": "line 2",
    "0,1\n1,2,3\n": "line 2: 3 columns",
    "t,v\n\n0,1\n# later\n0,2\n": "line 5: the time 0 does not increase",
    "0,nan\n": "line 1",
    "t,v\n": "no numbers",
    "": "no numbers",
    "t,v\nu,w\n0,1\n": None,
    "no numbers at all\n": "no numbers",
}


@pytest.mark.parametrize("content", CSV_FAULTS)
def test_csv_faults_name_the_line(tmp_path, content):
    (tmp_path / "x.csv").write_text(content, encoding="utf-8")
    found = faults_of("signals:\n  s: {table: {file: x.csv}}\n", BASE, tmp_path)
    if CSV_FAULTS[content] is None:
        assert found == []
        return
    assert [(code, line) for code, line, _ in found] == [("SC471", 1)]
    assert found[0][2].startswith("x.csv: ")
    assert CSV_FAULTS[content] in found[0][2]


def test_bytes_that_are_no_text_are_a_fault(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"0,1\n1,\xff\n")
    ((code, line, message),) = faults_of("signals:\n  s: {table: {file: x.csv}}\n", BASE, tmp_path)
    assert (code, line) == ("SC471", 1)
    assert "byte 6 is not UTF-8" in message


@pytest.mark.parametrize(
    "content",
    [
        "0,1\n0.5,2\n1e0,-3\n",
        "time;value\n0;1\n0.5;2\n1;-3\n",
        "# a\n0 1\n\n 0.5\t2\n1   -3",
        '"t","v"\r\n"0","1"\r\n0.5 , 2\r\n1,-3\r\n',
    ],
)
def test_csv_spellings(tmp_path, content):
    path = tmp_path / "x.csv"
    path.write_bytes(content.encode())
    time, value, _ = read_csv(path)
    assert time.tolist() == [0, 0.5, 1]
    assert value.tolist() == [1, 2, -3]


def test_a_table_from_a_file_is_that_of_its_numbers(tmp_path):
    (tmp_path / "x.csv").write_text("t,v\n0.2,1\n0.5,-2\n1,4\n")
    use = "forces: {t: {type: torque, joint: pin, value: $s}}\n"
    models = []
    for source in ("file: x.csv", "time: [0.2, 0.5, 1], value: [1, -2, 4]"):
        document = scene(BASE + use + f"signals: {{s: {{table: {{{source}, interpolate: cubic}}}}}}\n", tmp_path)
        models.append(build(resolve(document), document))
    for column in ("knot", "cubic", "piece_start", "kind"):
        assert np.array_equal(*(getattr(model.signals, column) for model in models))


def test_units_are_those_of_what_is_driven(tmp_path):
    """And a varied number of a signal carries them."""
    document = scene(
        BASE
        + """
forces: {t: {type: torque, joint: pin, value: $s}}
signals: {s: {sine: {amplitude: 30 N*cm, frequency: 1.5 Hz, phase: 90 deg}}}
batch: {worlds: 2, vary: {signals.s.sine.amplitude: {list: [0.5, 0.7]}, signals.s.sine.frequency: {list: [1, 2]}}}
"""
    )
    spec = resolve(document)
    assert spec.signals["s"].sine.amplitude == pytest.approx(0.3, rel=ROUNDING)
    model = build_worlds(document, spec)
    assert model.param_unit == ("N*m", "Hz")
    assert model.signals.parameter[:, 0, 0].tolist() == [0.5, 0.7]


def test_a_resolved_scene_with_signals_reads_back(tmp_path):
    text = (
        BASE
        + """
forces: {w: {type: wrench, body: b, force: $v, torque: [0, $s, 0]}}
signals: {v: {constant: [1, 2, 3]}, s: {ramp: {from: 1, to: 2, end: 3}}}
"""
    )
    spec = resolve(scene(text))
    path = tmp_path / "back.yaml"
    path.write_text(resolved_yaml(spec))
    document = load_document(path)
    again = resolve(document)
    assert again.forces == spec.forces
    assert again.signals == spec.signals
    inputs = build(again, document).inputs
    assert inputs.item.tolist() == [0, 1, 1, 2]
    assert inputs.signal.tolist() == [0, 1, 3, 2]


@pytest.mark.parametrize("count", [2, 3, 5])
def test_times_that_do_not_rise_are_one_fault(count):
    """What stands in for them has as many entries as the values."""
    zeros = ", ".join(["0"] * count)
    table = f"signals: {{u: {{table: {{time: [{zeros}], value: [{zeros}]}}}}}}\n"
    faults = faults_of(BASE + "forces: {t: {type: torque, joint: pin, value: $u}}\n" + table)
    assert [code for code, *_ in faults] == ["SC232"]


@pytest.mark.parametrize("turned", [False, True])
def test_a_long_chain_of_signals_is_ordered_by_one_look_at_each(turned, monkeypatch):
    n, looks = 400, []
    look = signal_uses.signals_of_feedback
    monkeypatch.setattr(signal_uses, "signals_of_feedback", lambda signal: looks.append(0) or look(signal))
    chain = {f"s{k}": SignalSpec(expression=f"{{signal.s{k - 1}}} + 1" if k else "{time}") for k in range(n)}
    signals = dict(reversed(chain.items())) if turned else chain
    assert signal_uses.order_of_feedback(signals) == list(chain)
    assert signal_uses.circle_of_feedback(signals) == []
    assert len(looks) <= 2 * n
    closed = {**signals, "s0": SignalSpec(expression=f"{{signal.s{n - 1}}}")}
    assert len(signal_uses.circle_of_feedback(closed)) == n + 1
    assert len(looks) <= 4 * n


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
WANTED = {
    "s/shoulder": [0, np.pi / 2, np.pi / 4],
    "s/elbow": [0, 0.5, 1],
    "s/wrist/0": [1, 2, 3],
    "s/wrist/1": [2, 3, 4],
    "s/wrist/2": [3, 4, 5],
}


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


@pytest.mark.parametrize(
    "table", ["time: [0], value: [1], column: a", "time: [0], value: [1], time_column: a", "file: x.csv, time_column: a"]
)
def test_columns_go_with_a_file(folder, table):
    found = faults_of(f"signals: {{s: {{table: {{{table}}}}}}}\n", BODIES, folder)
    assert [code for code, _, _ in found] in (["SC207"], ["SC202"]), found
