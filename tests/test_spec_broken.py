"""Broken scenes: a good one is mutated at one known place; the fault must name exactly that place.

A mutation replaces one piece of text that stands once in the scene. The fault must have the code, and point at the
piece of the mutated text that is marked by « ».

Broken templates and instances: their faults, those behind them, and no others, all in one pass.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcli.errors import SceneError
from simcli.spec import load_document, resolve
from simcli.spec.faults.diagnostics import fault_data, render_faults, sarif

GOOD = """\
simcli: 1
name: good
params: {L: 0.4, half: "${L/2}"}
materials:
  steel: {density: 7850, friction: 0.3, restitution: 0.1}
world:
  gravity: [0, 0, -9.81]
  shapes: {ground: {type: plane, material: steel}}
defaults: {joint: {damping: 0.01}}
bodies:
  crank:
    pose: {xyz: [0, 0, 0], rpy: [0, 0, 90 deg]}
    mass: 1.0
    com: [0.2, 0, 0]
    inertia: {diag: [1e-3, 2e-3, 2e-3]}
    points: {b: ["${L}", 0, 0]}
  bob:
    shapes:
      ball: {type: sphere, radius: 5 cm, material: steel}
  cross:
    mass: 2.0
    inertia: {full: [[1, 0.1, 0], [0.1, 1, 0], [0, 0, 1]]}
joints:
  pin:
    type: revolute
    parent: world
    child: crank
    at: [0, 0, 0]
    axis: [0, 1, 0]
    q: 30 deg
    drive: {mode: position, target: 0.5, stiffness: 10 N*m/rad, damping: 2}
  slide: {type: prismatic, parent: crank, child: bob, axis: [1, 0, 0], armature: 0.1}
  gimbal:
    type: d6
    parent: world
    child: cross
    axes: {linear: [[1, 0, 0]], angular: [[0, 1, 0], [0, 0, 1]]}
articulations: {arm: [pin, slide], other: [gimbal]}
models:
  link:
    params: {len: 1}
    bodies: {tip: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: ["${len}", 0, 0]}}}
    joints: {hinge: {type: revolute, parent: world, child: tip, axis: [0, 1, 0]}}
instances:
  left: {model: link, at: {xyz: [0, 1, 0]}, params: {len: 0.5}}
replicate:
  grid: {model: link, count: [2, 2], spacing: [1, 1, 0]}
forces:
  s1: {type: spring, a: {world: [1, 0, 0]}, b: crank/b, stiffness: 50}
  w1: {type: wrench, body: bob, force: [0, 0, 1 N]}
  t1: {type: torque, joint: pin, value: 2.0}
signals:
  sweep: {sine: {amplitude: 1, frequency: 0.5 Hz}}
contact: {enabled: false, exclude: [[crank, bob]]}
initial: {joint_q: {"sl*": 0.1}}
solver: {type: generalized, dt: 1e-3}
run: {duration: 2, stop_when: {quantity: joint_q, joint: pin, above: 3}}
output: {every: 0.01, select: [crank]}
batch:
  worlds: 4
  vary:
    joints.pin.damping: {uniform: [0.01, 0.1]}
    params.L: {grid: [0.2, 0.3]}
expect:
  - {max: energy.drift, below: 1.0e-6}
  - {at: 2.0, body: crank, quantity: position, equals: [0.1, 0.0, 0.2], within: 1.0e-6}
"""

# (code, what stands there, what is put there; « » mark the place of the fault)
MUTATIONS = [
    # syntax
    ("SC101", "com: [0.2, 0, 0]", "com: [0.2, 0, 0"),
    ("SC102", "    mass: 1.0\n", "    mass: 1.0\n    «mass»: 1.0\n"),
    ("SC102", "restitution: 0.1}", "restitution: 0.1, «density»: 1}"),
    ("SC106", "q: 30 deg", "q: «.inf»"),
    ("SC106", "stiffness: 50", "stiffness: «1e400»"),
    ("SC107", "name: good", "name: «!!str good»"),
    ("SC107", "dt: 1e-3}", "dt: 1e-3, «<<»: {a: 1}}"),
    ("SC101", "name: good", "name: «*nobody»"),
    # schema
    ("SC204", "    mass: 1.0\n", "    «mas»: 1.0\n    mass: 1.0\n"),
    ("SC204", "run: {duration: 2,", "«runn»: 1\nrun: {duration: 2,"),
    ("SC204", "radius: 5 cm", "radius: 5 cm, «lenght»: 2"),
    ("SC204", "stiffness: 10 N*m/rad", "«stifness»: 1, stiffness: 10 N*m/rad"),
    ("SC204", "dt: 1e-3}", "dt: 1e-3, «rho»: 0.9}"),
    ("SC204", "frequency: 0.5 Hz", "frequency: 0.5 Hz, «freq»: 1"),
    ("SC204", "model: link, at:", "model: link, «where»: 1, at:"),
    ("SC204", "    params: {len: 1}\n", "    params: {len: 1}\n    «body»: {}\n"),
    ("SC202", "  slide: {type: prismatic, parent: crank,", "  «slide»: {parent: crank,"),
    ("SC202", "w1: {type: wrench, body: bob,", "«w1»: {type: wrench,"),
    ("SC203", "mass: 1.0\n", "mass: «true»\n"),
    ("SC203", "mass: 1.0\n", "mass: «heavy»\n"),
    ("SC203", "worlds: 4", "worlds: «2.5»"),
    ("SC203", "enabled: false,", "enabled: «no»,"),
    ("SC203", "child: cross\n", "child: «7»\n"),
    ("SC203", "com: [0.2, 0, 0]", "com: «0.2»"),
    ("SC205", "com: [0.2, 0, 0]", "com: «[0.2, 0]»"),
    ("SC205", "q: 30 deg", "q: «[1, 2]»"),
    ("SC206", "type: revolute\n", "type: «revolut»\n"),
    ("SC206", "type: sphere", "type: «spere»"),
    ("SC206", "type: generalized,", "type: «generalised»,"),
    ("SC206", "mode: position", "mode: «pos»"),
    ("SC206", "params: {L: 0.4,", "params: {«pi»: 3, L: 0.4,"),
    ("SC207", "inertia: {full:", "inertia: {diag: [1, 1, 1], full:"),
    ("SC208", "rpy: [0, 0, 90 deg]", "rpy: [0, 0, 0], quat_wxyz: «[1, 0, 0, 0]»"),
    ("SC231", "radius: 5 cm", "radius: «-5 cm»"),
    ("SC231", "friction: 0.3", "friction: «-0.3»"),
    ("SC231", "worlds: 4", "worlds: «0»"),
    ("SC231", "dt: 1e-3", "dt: «0»"),
    # units and expressions
    ("SC211", "mass: 1.0\n", "mass: «'1.0'»\n"),
    ("SC212", "mass: 1.0\n", "mass: «1 kgs»\n"),
    ("SC213", "radius: 5 cm", "radius: «5 kg»"),
    ("SC213", "q: 30 deg", "q: «30 mm»"),
    ("SC213", "stiffness: 10 N*m/rad", "stiffness: «10 N/m»"),
    ("SC213", "armature: 0.1", "armature: «0.1 kg*m^2»"),
    ("SC213", "frequency: 0.5 Hz", "frequency: «0.5 rad/s»"),
    ("SC213", "gravity: [0, 0, -9.81]", "gravity: [0, 0, «9 m/s»]"),
    ("SC221", '"${L/2}"', '«"${L/0}"»'),
    ("SC221", '"${L/2}"', '«"${tanh(L)}"»'),
    ("SC222", '["${L}", 0, 0]', '[«"${LL}"», 0, 0]'),
    ("SC223", 'half: "${L/2}"', 'half: «"${half}"»'),
    # references
    ("SC304", "child: crank\n", "child: «cranc»\n"),
    ("SC304", "body: bob", "body: «bop»"),
    ("SC304", "body: crank, quantity", "body: «crnk», quantity"),
    ("SC305", "joint: pin, value", "joint: «pim», value"),
    ("SC305", "arm: [pin, slide]", "arm: [pin, slide, «glide»]"),
    ("SC305", "joint: pin, above", "joint: «pen», above"),
    ("SC306", "radius: 5 cm, material: steel", "radius: 5 cm, material: «stell»"),
    ("SC307", "left: {model: link,", "left: {model: «lnk»,"),
    ("SC309", "params: {len: 0.5}", "params: {«length»: 0.5}"),
    ("SC310", "b: crank/b", "b: «crank/c»"),
    ("SC311", "target: 0.5", "target: «$sweeep»"),
    ("SC312", "  s1: {type", "  «1s»: {type"),
    ("SC313", "select: [crank]", "select: [crank, «wheel»]"),
    ("SC314", "[[crank, bob]]", "[[crank, «bop»]]"),
    ("SC315", "max: energy.drift", "max: «energy.drfit»"),
    ("SC303", "joints.pin.damping:", "«joints.pin.dampin»:"),
    ("SC317", "    joints.pin.damping:", "    «solver.dt»: {uniform: [1e-3, 1e-2]}\n    joints.pin.damping:"),
    ("SC454", '"sl*"', '«"sx*"»'),
    # physics
    ("SC401", "mass: 1.0\n", "mass: «-1.0»\n"),
    ("SC402", "[0.1, 1, 0]", "[0.2, 1, 0]"),
    ("SC403", "{diag: [1e-3, 2e-3, 2e-3]}", "{diag: «[1e-3, -2e-3, 2e-3]»}"),
    ("SC404", "{diag: [1e-3, 2e-3, 2e-3]}", "{diag: «[1e-3, 2e-3, 4e-3]»}"),
    ("SC406", "    q: 30 deg\n", "    q: 30 deg\n    limit: «[1, -1]»\n"),
    ("SC407", "duration: 2", "duration: «2.0005»"),
    ("SC407", "every: 0.01", "every: «0.0015»"),
    ("SC408", "    at: [0, 0, 0]\n", "    «at»: [0, 0, 0]\n    child_frame: {xyz: [0, 0, 0]}\n"),
    ("SC409", "    q: 30 deg\n", "    q: 30 deg\n    «pitch»: 0.1\n"),
    ("SC410", "child: crank\n", "child: «world»\n"),
    (
        "SC412",
        "articulations: {arm: [pin, slide],",
        "  twin: {type: fixed, parent: world, child: bob}\narticulations: {arm: [pin, slide, «twin»],",
    ),
    ("SC413", "arm: [pin, slide]", "arm: [pin]"),
    ("SC415", "other: [gimbal]", "other: [gimbal, «pin»]"),
    ("SC416", "{type: prismatic,", "{type: screw,"),
    ("SC417", "type: sphere, radius: 5 cm", "type: «plane»"),
    ("SC456", "    axis: [0, 1, 0]\n", "    axis: «[0, 0, 0]»\n"),
    ("SC456", "[[0, 1, 0], [0, 0, 1]]", "[[0, 1, 0], «[0, 1, 1]»]"),
    ("SC460", "    inertia: {diag: [1e-3, 2e-3, 2e-3]}\n", ""),
    ("SC463", "value: 2.0", "value: «[2.0, 1.0]»"),
    # solver
    ("SC501", "    q: 30 deg\n", "    q: 30 deg\n    «strength_ratio»: 100\n"),
    ("SC501", "    q: 30 deg\n", "    q: 30 deg\n    «driving»: {aim_angle: 1.0}\n"),
]
# Mutations whose place is not in the replaced text: the piece of the mutated scene that the fault must point at.
ELSEWHERE = {
    ("SC207", "inertia: {full:"): "[[1, 0.1, 0], [0.1, 1, 0], [0, 0, 1]]",
    ("SC402", "[0.1, 1, 0]"): "[[1, 0.1, 0], [0.2, 1, 0], [0, 0, 1]]",
    ("SC413", "arm: [pin, slide]"): "slide",
    ("SC101", "com: [0.2, 0, 0]"): "[0.2, 0, 0\n",
    ("SC416", "{type: prismatic,"): "slide",
    ("SC460", "    inertia: {diag: [1e-3, 2e-3, 2e-3]}\n"): "1.0",
}


def mutated(old, new):
    """The scene with one piece replaced, and the (line, column, length) of what « » mark."""
    assert GOOD.count(old) == 1, old
    text = GOOD.replace(old, new)
    if "«" not in text:
        return text, None
    start, end = text.index("«"), text.index("»") - 1
    text = text.replace("«", "").replace("»", "")
    place = text[:start]
    return text, (place.count("\n") + 1, start - place.rfind("\n"), end - start)


def position(text, piece, after):
    start = text.index(piece, max(0, after))
    return text[:start].count("\n") + 1, start - text.rfind("\n", 0, start), len(piece)


def faults_of(tmp_path, text):
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    with pytest.raises(SceneError) as caught:
        resolve(load_document(path))
    return caught.value


def test_the_good_scene_is_good(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(GOOD)
    spec = resolve(load_document(path))
    assert len(spec.bodies) == 8


def test_there_are_sixty():
    assert len(MUTATIONS) >= 60


@pytest.mark.parametrize(("code", "old", "new"), MUTATIONS, ids=[f"{i}-{m[0]}" for i, m in enumerate(MUTATIONS)])
def test_broken_scene(tmp_path, code, old, new):
    text, place = mutated(old, new)
    if place is None:
        piece = ELSEWHERE[code, old]
        place = position(text, piece, GOOD.index("joints:") if piece in ("slide", "gimbal") else 0)
    error = faults_of(tmp_path, text)
    # One cause, one fault; what the solver does not support may come on top.
    assert {fault.code for fault in error.faults} | {"SC501"} == {code, "SC501"}
    fault = next(fault for fault in error.faults if fault.code == code)
    assert (fault.where.line, fault.where.column) == place[:2]
    if code != "SC101":
        assert fault.where.length == place[2]
    assert render_faults(error.faults, error.document)
    assert all(fault_data(fault)["line"] for fault in error.faults)
    assert len(sarif(error.faults)["runs"][0]["results"]) == len(error.faults)


def test_all_faults_at_once(tmp_path):
    """Schema, references and physics are reported together, in the order of the file."""
    text = GOOD
    changes = (
        ("mass: 1.0\n", "mass: -1.0\n"),
        ("type: sphere", "type: spere"),
        ("child: crank\n", "child: cranc\n"),
        ("b: crank/b", "b: crank/c"),
        ("duration: 2", "duration: 2.0005"),
        ("select: [crank]", "select: [wheel]"),
    )
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    codes = [fault.code for fault in faults_of(tmp_path, text).faults]
    assert codes == ["SC401", "SC206", "SC304", "SC310", "SC407", "SC313"]


def test_a_fault_of_a_template_is_reported_once_at_its_line(tmp_path):
    text, place = mutated('pose: {xyz: ["${len}", 0, 0]}', "pose: {xyz: [«1 kg», 0, 0]}")
    faults = faults_of(tmp_path, text).faults
    assert [(f.code, f.where.line, f.where.column, f.where.length) for f in faults] == [("SC213", *place)]


def test_golden_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scene = tmp_path / "scenes" / "slider.yaml"
    scene.parent.mkdir()
    lines = ["simcli: 1", *["# "] * 10, "bodies:", "  crank:", "      mas: 1.0", "      inertia: {diag: [1, 1, 1]}"]
    scene.write_text("\n".join(lines) + "\n")
    with pytest.raises(SceneError) as caught:
        resolve(load_document("scenes/slider.yaml"))
    fault = [fault for fault in caught.value.faults if fault.code == "SC204"]
    assert render_faults(fault, caught.value.document) == (
        "error[SC204]: unknown key `mas` in body `crank`\n"
        "  --> scenes/slider.yaml:14:7\n"
        "   |\n"
        "14 |       mas: 1.0\n"
        "   |       ^^^ did you mean `mass`?\n"
        "   = help: simcli explain SC204"
    )


def test_messages_cannot_steer_the_terminal(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text('simcli: 1\n"\\e[31mred\\n": 1\n')
    with pytest.raises(SceneError) as caught:
        resolve(load_document(path))
    text = render_faults(caught.value.faults, caught.value.document)
    assert "\x1b" not in text
    assert "\x1b[31m" in render_faults(caught.value.faults, caught.value.document, color=True)


def test_a_long_line_is_cut(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text("simcli: 1\nparams: {" + ", ".join(f"p{i}: 1" for i in range(3000)) + ", q: x}\n")
    with pytest.raises(SceneError) as caught:
        resolve(load_document(path))
    text = render_faults(caught.value.faults, caught.value.document)
    assert max(map(len, text.splitlines())) < 200
    lines = text.splitlines()
    assert lines[3][lines[4].index("^")] == "x"


LINES = GOOD.splitlines()
VALUES = [
    "1",
    "-1",
    "0",
    "1e300",
    "-1e-300",
    "true",
    "null",
    "[]",
    "{}",
    "[1, 2]",
    "{a: 1}",
    '"5 kg"',
    '"${L}"',
    '"${x}"',
    "$sweep",
    "world",
    "crank",
    "crank/b",
    "a/b/c",
    "'*'",
    "[[[]]]",
    '""',
    "center",
    "end",
    "point",
    "~",
    "9" * 25,
]


@st.composite
def broken_scene(draw):
    """The good scene with a few lines or values changed at random."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        index = draw(st.integers(0, len(lines) - 1))
        change = draw(st.sampled_from(["drop", "double", "swap", "value", "indent", "cut", "insert"]))
        line = lines[index]
        if change == "drop":
            lines[index] = ""
        elif change == "double":
            lines.insert(index, line)
        elif change == "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[index], lines[other] = lines[other], line
        elif change == "value" and ":" in line:
            cuts = [i for i, c in enumerate(line) if c == ":"]
            cut = draw(st.sampled_from(cuts))
            rest = line[cut + 1 :]
            tail = rest[rest.index(",") :] if "," in rest else ""
            lines[index] = f"{line[:cut]}: {draw(st.sampled_from(VALUES))}{tail}"
        elif change == "indent":
            lines[index] = " " * draw(st.integers(0, 6)) + line.strip()
        elif change == "cut":
            lines[index] = line[: draw(st.integers(0, len(line)))]
        else:
            at = draw(st.integers(0, len(line)))
            lines[index] = (
                line[:at]
                + draw(st.sampled_from(["{", "}", "[", "]", ":", ",", "'", '"', "#", "&", "*", "-", "!", "\t"]))
                + line[at:]
            )
    return "\n".join(lines)


def refusal(path):
    """The SceneError of a scene, None if it is good; anything else escapes."""
    try:
        resolve(load_document(path))
    except SceneError as error:
        return error
    return None


@given(text=broken_scene())
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_fuzzed_scenes_end_in_a_scene_or_a_scene_error(tmp_path, text):
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    error = refusal(path)
    assert error is None or render_faults(error.faults, error.document)


@given(text=st.text(max_size=200))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_ends_in_a_scene_error(tmp_path, text):
    path = tmp_path / "scene.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(SceneError) as caught:
        resolve(load_document(path))
    assert render_faults(caught.value.faults, caught.value.document)


HEAD = """simcli: 1
models:
  link:
    params: {m: 1}
    bodies:
      rod: {mass: "${m}", inertia: {diag: [1, 1, 1]}}
    joints:
      pin: {type: revolute, parent: world, child: rod}
"""
BODY = "bodies: {b: {mass: 1, inertia: {diag: [1, 1, 1]}}}\n"
REFERENCES = """
  k: {type: revolute, parent: left/rod, child: b}
forces: {w: {type: torque, joint: left/pin, value: 1}}
initial: {joint_q: {left/pin: 0.2, "left/*": 0.1}}
output: {select: [left/*, b]}
expect: [{at: 1, body: left/rod, quantity: position, equals: [0, 0, 0], within: 1}]
"""


def faults_of_of_templates(folder, text, sets=()):
    path = folder / "scene.yaml"
    path.write_text(text)
    try:
        resolve(load_document(path, sets))
    except SceneError as error:
        return sorted((fault.code, fault.where.line) for fault in error.faults)
    return []


BROKEN = [
    ("{model: lnk}", ["SC307"]),
    ("{modl: link}", ["SC204"]),
    ("5", ["SC203"]),
    ("{model: link, at: {xyz: [0, 1]}}", ["SC205"]),
    ("{model: link, foo: 1}", ["SC204"]),
    ("{model: link, params: 5}", ["SC203"]),
    ('{model: link, params: {m: "${q}"}}', ["SC222"]),
    ("{model: link, params: {n: 1}}", ["SC309"]),
]


@pytest.mark.parametrize(("instance", "codes"), BROKEN)
def test_a_broken_instance_takes_no_references_with_it(tmp_path, instance, codes):
    text = f"{HEAD}instances: {{left: {instance}}}\n{BODY}joints:{REFERENCES}"
    assert faults_of_of_templates(tmp_path, text, ["joints.left/pin.damping=1"]) == [(code, 9) for code in codes]


@pytest.mark.parametrize(("instance", "codes"), BROKEN)
def test_faults_behind_a_broken_instance_come_with_it(tmp_path, instance, codes):
    text = HEAD.replace("rod: {mass", "rod: {mas: 1, mass").replace("parent: world, child", "pearent: world, child")
    found = faults_of_of_templates(tmp_path, f"{text}instances: {{left: {instance}}}\n")
    assert found == sorted([("SC204", 6), ("SC204", 8), *((code, 9) for code in codes)])


@pytest.mark.parametrize("replica", ["{model: link, count: 2}", "{model: link, count: -1, spacing: [1, 0, 0]}"])
def test_a_replica_that_cannot_be_counted_too(tmp_path, replica):
    text = HEAD.replace("rod: {mass", "rod: {mas: 1, mass") + f"replicate: {{grid: {replica}}}\n{BODY}"
    text += "joints: {j: {type: revolute, parent: grid/1-0-0/rod, child: b}}\n"
    found = faults_of_of_templates(tmp_path, text)
    assert ("SC204", 6) in found
    assert sorted(line for _, line in found) == [6, 9]


def test_a_name_that_no_instance_makes_is_still_reported(tmp_path):
    text = f"{HEAD}instances: {{left: {{model: lnk}}, right: {{model: link, at: {{xyz: [0, 1]}}}}}}\n{BODY}"
    text += "joints: {j: {type: revolute, parent: right/rodd, child: bb}}\n"
    assert faults_of_of_templates(tmp_path, text) == [("SC205", 9), ("SC304", 11), ("SC304", 11), ("SC307", 9)]


def test_a_template_that_nothing_uses_is_read_too(tmp_path):
    assert faults_of_of_templates(tmp_path, HEAD + BODY) == []
    assert faults_of_of_templates(tmp_path, HEAD.replace("mass:", "mas:") + BODY) == [("SC204", 6)]
    # Its parameters are an instance's business.
    assert faults_of_of_templates(tmp_path, HEAD.replace("m: 1", "m: ~") + BODY) == []
