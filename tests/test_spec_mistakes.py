"""What a message says of a mistake: its line, what to write instead, and that no mistake hides another.

Measured over scenes of the gallery that are spoilt by a slip of the hand (support/mutations.py), so that what is expected
does not come from the code that finds it.

Every fault code has a page whose failing example has that fault and whose mended example has none.

One mistake, one fault: what follows from a section or an entry that is at fault is not told. And how many are printed.
"""

import json
import re
from pathlib import Path

import pytest
import yaml
from support.mutations import KINDS, combine, draw
from support.process import simcli

from simcli.cli.runs.run_options import vary_override
from simcli.errors import Exit, Fault, SceneError, UsageError
from simcli.model.from_scene import build_worlds
from simcli.spec import document_of_text, load_document, resolve
from simcli.spec.faults import codes
from simcli.spec.faults.diagnostics import MOST_SHOWN, render_faults
from simcli.spec.loading import document_of_text as document_of_text_of_consequences
from simcli.spec.resolve import resolve as resolve_of_consequences
from simcli.spec.resolve import warnings
from simcli.spec.schema.batch import VARY_KINDS as WAYS
from simcli.spec.schema.scene import ENTRY_SECTIONS

PER_KIND = 15  # scenes of each kind of mistake: above 300 in all
SEVERAL = 100  # scenes with two to four mistakes
# Shares that are wanted; those of one kind may be lower, because a scene may leave open what was meant.
LINE, SUGGESTION, AT_ONCE, ALONE, OF_A_KIND = 0.95, 0.90, 0.98, 0.95, 0.80


def faults_of(text, path="scene.yaml"):
    try:
        resolve(document_of_text(text, str(path)))
    except SceneError as error:
        return [fault for fault in error.faults if fault.severity == "error"]
    return []


@pytest.fixture(scope="module")
def found():
    """Every scene with one mistake, and its faults."""
    scenes = [draw(seed, name) for name in KINDS for seed in range(PER_KIND)]
    return [(scene, faults_of(scene.text, scene.path)) for scene in scenes]


def share(values):
    values = list(values)
    return sum(values) / len(values)


def names_line(scene, faults):
    return any(fault.where.line == scene.line for fault in faults)


def proposes(scene, faults):
    return any(word in fault.hint for fault in faults for word in scene.wanted)


def test_there_are_three_hundred_scenes_of_nineteen_kinds(found):
    assert len(KINDS) >= 19
    assert len(found) >= 300


def test_the_line_is_named(found):
    assert share(names_line(*one) for one in found) >= LINE


def test_what_was_meant_is_proposed(found):
    assert share(proposes(*one) for one in found) >= SUGGESTION


def test_one_mistake_brings_no_faults_elsewhere(found):
    assert share(all(fault.where.line == scene.line for fault in faults) for scene, faults in found) >= ALONE


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_is_told(found, name):
    mine = [one for one in found if one[0].kind == name]
    assert share(names_line(*one) and proposes(*one) for one in mine) >= OF_A_KIND


def test_expressions_are_mentioned_where_they_are(found):
    for scene, faults in found:
        for fault in faults:
            if "${" in fault.hint:
                assert "${" in scene.text.split("\n")[fault.where.line - 1] or fault.code == "SC203"


def test_several_mistakes_are_told_at_once():
    told = []
    for seed in range(SEVERAL):
        text, path, made = combine(seed)
        lines = {fault.where.line for fault in faults_of(text, path)}
        told += [line in lines for _, line, _ in made]
    assert len(told) > 2 * SEVERAL
    assert share(told) >= AT_ONCE


HEAD = "simcli: 1\nbodies:\n"
BODY = "inertia: {diag: [1, 1, 1]}"
# Text below `bodies:`, and line, column and hint of its fault.
SYNTAX = [
    (f"  a: {{mass: 1, {BODY}\n  b: {{mass: 1, {BODY}}}\n", (3, 6), "close it with `}`"),
    ("  a:\n    mass: 1\n    inertia: {diag: [1, 1, 1}\n", (5, 21), "write `]` before the `}`, or in place of it"),
    ("  a:\n    mass: 1\n    inertia: {diag: [1, 1, 1]\n  b:\n    mass: 1\n", (5, 14), "close it with `}`"),
    ("  a:\n    mass: 1\n    inertia: {diag: [1, 1, 1]]}\n", (5, 30), "write `}`"),
    ("  a:\n    mass:1.0\n    inertia: {diag: [1, 1, 1]}\n", (4, 5), "write a space after the colon: `mass: 1.0`"),
    (f"  a:\n    {BODY}\n    mass:1.0\n", (5, 5), "write a space after the colon: `mass: 1.0`"),
    (f"  a: {{mass:1.0, {BODY}}}\n", (3, 7), "write a space after the colon: `mass: 1.0`"),
    ("  a:\n    mass 1.0\n    inertia: {diag: [1, 1, 1]}\n", (4, 5), "write a colon after the key: `mass: 1.0`"),
    (f"  a:\n    mass: 1\n      {BODY}\n", (5, 7), "align it with `mass` of line 4"),
    (f"  a:\n    mass: 1\n   {BODY}\n", (5, 4), "align it with `mass` of line 4"),
    (f"  a:\n      mass: 1\n    com: [0, 0, 0]\n    {BODY}\n", (4, 7), "align it with `com`"),
    (
        f"  a: {{mass: 1, {BODY}}}\n  b: {{mass: 1, {BODY}}}\n   c: {{mass: 1, {BODY}}}\n",
        (5, 4),
        "align it with `b` of line 4",
    ),
    (f"  a:\n\tmass: 1\n    {BODY}\n", (4, 1), "indent with spaces"),
    (f"  a:\n    mass: 1\n    - {BODY}\n", (5, 5), "remove the dash"),
    (f"  a:\n    - mass: 1\n    {BODY}\n", (4, 5), "remove the dash"),
    (f"  a: {{mass: '1 kg, {BODY}}}\n  b: {{mass: 1, {BODY}}}\n", (3, 13), "close the quote in the same line"),
    (f"  a: {{mass: 1 {BODY}}}\n", (3, 13), "write `, ` between entries"),
    (f"  a: {{mass: 1, com: [${{L}}, 0, 0], {BODY}}}\n", (3, 22), 'write `"${L}"`'),
    (f"  a: {{mass: 1, {BODY}}}\ndescription: so: it is\n", (4, 16), "quote the text, or begin a new line"),
]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(("text", "place", "hint"), SYNTAX)
def test_syntax_is_told_where_the_mistake_is(text, place, hint, ending):
    fault = faults_of((HEAD + text).replace("\n", ending))[0]
    assert ((fault.where.line, fault.where.column), fault.hint) == (place, hint)


def test_what_libyaml_alone_refuses_is_read():
    text = "  a: {mass:\n 1, com:[0, 0, 0], inertia: {diag: [1, 1, 1]}}\n"
    assert faults_of(HEAD + text) == []


def test_faults_behind_a_mistake_of_syntax_come_with_it():
    text = f"  a: {{mas: 1, {BODY}\n  b: {{mass:-1, {BODY}}}\n  c: {{mass: 1, {BODY}}}\nrun: {{duration: soon}}\n"
    text += "joints:\n  j: {type: revolute, parent: world, child: d}\n"
    assert [(fault.code, fault.where.line) for fault in faults_of(HEAD + text)] == [
        ("SC101", 3),
        ("SC204", 4),
        ("SC203", 6),
        ("SC304", 8),
    ]


GOOD = f"""simcli: 1
bodies:
  a: {{mass: 1, {BODY}, points: {{tip: [0, 0, 1]}}}}
joints:
  j: {{type: revolute, parent: world, child: a, axis: [0, 1, 0]}}
forces:
  f: {{type: torque, joint: j, value: 1}}
run: {{duration: 1}}
expect:
  - {{at: 1, joint: j, quantity: q, equals: 0, within: 1}}
  - {{max: energy.drift, below: 1}}
"""
# Several changes at once, and the codes that they bring, by the line.
TOGETHER = {
    "a misspelt key and a reference": ([("axis:", "axs:"), ("child: a", "child: b")], ["SC204 5", "SC304 5"]),
    "a wrong value and a reference": ([("axis: [0, 1, 0]", "axis: 5"), ("child: a", "child: b")], ["SC304 5", "SC203 5"]),
    "a missing key and a reference": ([("type: revolute, ", ""), ("child: a", "child: b")], ["SC202 5", "SC304 5"]),
    "a missing key of a force and its joint": ([("joint: j, v", "joint: k, v"), (", value: 1", "")], ["SC202 7", "SC305 7"]),
    "a wrong value and the physics of the body": ([("mass: 1", "mass: -1"), ("tip: [0", "tip: [x")], ["SC401 3", "SC203 3"]),
    "a wrong value and the order of a limit": ([("axis: [0, 1, 0]", "axis: 5, limit: [1, -1]")], ["SC203 5", "SC406 5"]),
    "a misspelt section and what names its entries": (
        [("bodies:", "bodys:"), ("j, value", "k, value")],
        ["SC204 2", "SC305 7"],
    ),
    "two expectations": ([("quantity: q", "quantity: p"), ("energy.drift", "energy.drfit")], ["SC206 10", "SC315 11"]),
    "an expectation that lacks a key": (
        [(", within: 1", ""), ("energy.drift", "energy.drfit"), ("joint: j, q", "joint: k, q")],
        ["SC202 10", "SC305 10", "SC315 11"],
    ),
    "a section and the expectations": (
        [("duration: 1", "duration: x"), ("joint: j, q", "joint: k, q")],
        ["SC203 8", "SC305 10"],
    ),
    "a misspelt type": ([("type: revolute", "typ: revolute"), ("j, value", "k, value")], ["SC204 5", "SC305 7"]),
}


@pytest.mark.parametrize("case", TOGETHER)
def test_no_fault_hides_another(case):
    changes, codes = TOGETHER[case]
    text = GOOD
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    assert sorted(f"{fault.code} {fault.where.line}" for fault in faults_of(text)) == sorted(codes)


VARIED = GOOD + "params: {k: 1}\nbatch: {worlds: 3, vary: {params.k: {list: [1, 2, 3]}}}\n"
DISTRIBUTIONS = [way for way in WAYS if way != "list"]
PIN = "revolute, parent: world, child: a, axis: [0, 1, 0]"
CROSS = "universal, parent: world, child: a, axes: {angular: [x, [0, 1, 0]]}"
# What is written in place of something, and what the hint says to write.
WRITE = [
    ("{list: [1, 2, 3]}", "[1, 2, 3]", ["`{list: [1, 2, 3]}`", *(f"`{way}`" for way in DISTRIBUTIONS)]),
    ("{list: [1, 2, 3]}", "5", ["`{list: ["]),
    ("{params.k: {list: [1, 2, 3]}}", "[1, 2, 3]", ["a key", "`{params.k: {list: [1, 2, 3]}}`"]),
    ("axis: [0, 1, 0]", "axis: y", ["`[0, 1, 0]`"]),
    ("axis: [0, 1, 0]", "axis: -Z", ["`[0, 0, -1]`"]),
    ("axis: [0, 1, 0]", "axis: 0 -1 .5", ["`[0, -1, .5]`"]),
    ("axis: [0, 1, 0]", "axis: up", ["3 numbers in brackets"]),
    (PIN, CROSS, ["`[1, 0, 0]`"]),
    ("tip: [0, 0, 1]", "tip: x", ["3 numbers in brackets"]),
]


@pytest.mark.parametrize(("old", "new", "words"), WRITE, ids=[new[-20:] for _, new, _ in WRITE])
def test_the_hint_is_what_to_write(old, new, words):
    assert VARIED.count(old) == 1
    hints = [fault.hint for fault in faults_of(VARIED.replace(old, new)) if fault.code == "SC203"]
    assert len(hints) == 1
    assert all(word in hints[0] for word in words), hints


def test_a_fault_of_an_included_file_hides_nothing(tmp_path):
    (tmp_path / "more.yaml").write_text("materials:\n  steel: {density: 7850, frction: 1}\n  wood {density: 500}\n")
    (tmp_path / "scene.yaml").write_text("include: [more.yaml]\n" + GOOD.replace("child: a", "child: b"))
    with pytest.raises(SceneError) as caught:
        resolve(load_document(tmp_path / "scene.yaml"))
    places = [(fault.where.file.rpartition("/")[2], fault.where.line) for fault in caught.value.faults]
    assert sorted(set(places)) == [("more.yaml", 2), ("more.yaml", 3), ("scene.yaml", 6)]


def test_a_bare_name_where_a_signal_may_stand_is_told_its_dollar():
    text = "simcli: 1\nbodies: {a: {mass: 1, inertia: {diag: [1, 1, 1]}}}\n"
    text += "signals: {push: {sine: {amplitude: 1, frequency: 1}}}\n"
    (fault,) = faults_of(text + "forces: {f: {type: wrench, body: a, force: [push, 0, 0]}}\n")
    assert "`$push`" in fault.hint
    assert fault.where.line == 4


TOLD = [
    ("expect: [1, {max: energy.drift, below: 1}]", "SC203", "`expect[0]` must be a mapping, not `1`", "write a mapping"),
    ("solver: {type: null}", "SC203", "`type` has no value", "allowed: `generalized`"),
    ("solver: {integrator: }", "SC203", "`integrator` has no value", "allowed: `auto`"),
    ("forces: {t: {type: null, joint: pin, value: 1}}", "SC203", "`type` has no value", "allowed: `spring`"),
    ("params: {pi: 3}", "SC206", "`pi` is a function or constant", "give it another name"),
    ("params: {1a: 3}", "SC206", "`1a` is not a parameter name", "use letters, digits and _"),
    ("events: [{at: 0.1, set: {joints.pin.damping: null}}]", "SC203", "joints.pin.damping = null", ""),
]


@pytest.mark.parametrize(("text", "code", "message", "hint"), TOLD, ids=[text[:24] for text, *_ in TOLD])
def test_what_is_missing_or_wrong_is_named_in_words_of_the_file(text, code, message, hint):
    scene = (
        "simcli: 1\nbodies: {rod: {mass: 1, inertia: {diag: [1, 1, 1]}}}\n"
        "joints: {pin: {type: revolute, parent: world, child: rod, damping: 1}}\n"
    )
    found = [(one.code, one.where.line) for one in faults_of(scene + text) if message in one.message and hint in one.hint]
    assert found == [(code, 4)], faults_of(scene + text)


@pytest.mark.parametrize(
    ("second", "off", "hint"), [("[-0.8, 0.6001, 0]", "0.00458", "more digits"), ("[1, 1, 0]", "81.9", "two joints")]
)
def test_axes_that_are_nearly_at_right_angles_say_by_how_much(second, off, hint):
    """Rounded directions were called "at 90 degrees", and refused because they have to be at right angles."""
    (fault,) = faults_of(
        "simcli: 1\nbodies: {a: {mass: 1, inertia: {diag: [1, 1, 1]}}}\njoints:\n"
        "  cross: {type: d6, parent: world, child: a, at: [0, 0, 0],\n"
        f"          axes: {{angular: [[0.6, 0.8, 0], {second}]}}}}\n"
    )
    assert fault.message == f"two angular axes of joint `cross` are {off} degrees off a right angle"
    assert hint in fault.hint


ARITHMETIC = """simcli: 1
params: {l: 0.4, k: 2}
bodies: {a: {mass: 1, com: [0, 0, COM], inertia: {diag: [1, 1, 1]}}}
joints: {j: {type: revolute, parent: world, child: a, at: [0, 0, 0], q: "Q"}}
signals: {s: {expression: "SIGNAL"}}
forces: {t: {type: torque, joint: j, value: $s}}
"""
# What is written, and what the hint says to write, for a length, an angle and a signal; "" where another thing is meant.
PROPOSED = {
    "-${l}": "${-l}",
    "- ${l}": "${- l}",
    "$l": "${l}",
    "$(l)": "${l}",
    "$l}": "${l}",
    "{l}": "${l}",
    "2*$l": "${2*l}",
    "${l": "${l}",
    "${2*l": "${2*l}",
    "2*l": "${2*l}",
    "${l} + 1": "${l + 1}",
    "2*${l+1}": "${2*(l+1)}",
    "${l}*${k}": "${l*k}",
    "${l}^2": "${l**2}",
    "${l^2}": "l**2",
    "${5 cm}": "0.05",
    "${l + 2 cm}": "0.02",
    "${2l}": "2*l",
    "${(l}": "lacks 1 `)`",
}
OF_SIGNALS = {
    "{joint.j.q}^2": "{joint.j.q}**2",
    "joint.j.q*2": "{joint.j.q}",
    "5 cm*{joint.j.q}": "0.05",
    "-$l*{joint.j.q}": "${l}",
    "-{joint.j.q": "lacks 1 `}`",
    "2 N*m + t": "write `2` for `2 N*m`",
    "{l}*2": "${l}",
    "3j": "",
}


@pytest.mark.parametrize("place", ["COM", "Q", "l: 0.4, z"])
@pytest.mark.parametrize("written", PROPOSED)
def test_arithmetic_that_is_written_otherwise_is_told_how(written, place):
    """And what is proposed as a whole is valid there."""

    def text(value):
        if place == "COM":
            return ARITHMETIC.replace("COM", f'"{value}"').replace("Q", "0 rad")
        text = ARITHMETIC.replace("COM", "0")
        if place == "Q":
            return text.replace("Q", value)
        return text.replace("Q", "0 rad").replace("l: 0.4", f'l: 0.4, z: "{value}"')

    found = faults_of(text(written).replace("SIGNAL", "1"))
    if place not in ("COM", "Q") and written in ("$l", "$(l)", "$l}", "{l}"):
        assert found
        return
    assert f"`{PROPOSED[written]}`" in found[0].hint or PROPOSED[written] in found[0].hint, found[0].hint
    if PROPOSED[written].startswith("${"):
        assert faults_of(text(PROPOSED[written]).replace("SIGNAL", "1")) == []


@pytest.mark.parametrize("written", OF_SIGNALS)
def test_arithmetic_of_signals_is_told_how(written):
    found = faults_of(ARITHMETIC.replace("COM", "0").replace("Q", "0 rad").replace("SIGNAL", written))
    assert OF_SIGNALS[written] in found[0].hint, found[0].hint


def test_a_unit_behind_a_parameter_goes_behind_the_braces():
    (fault,) = faults_of(ARITHMETIC.replace("COM", '"${l*k cm}"').replace("Q", "0 rad").replace("SIGNAL", "1"))
    assert "`${l*k} cm`" in fault.hint
    assert faults_of(ARITHMETIC.replace("COM", '"${l*k} cm"').replace("Q", "0 rad").replace("SIGNAL", "1")) == []


@pytest.mark.parametrize("values", ["0..1", "0:1", "-1 .. 1e-3", "0 to 1", "1 cm..2 cm"])
def test_a_span_to_vary_is_told_its_distributions(values):
    with pytest.raises(UsageError, match=r"linspace\(.*uniform\("):
        vary_override(f"params.l={values}")


@pytest.mark.parametrize("values", ["0,1", "0.1", "uniform(0, 1)", "linspace(0 cm, 1 cm)", "[0, 1]", "list([a:b])"])
def test_values_to_vary_are_left_alone(values):
    assert vary_override(f"params.l={values}").text == f"params.l={values}"


ROOM = Path(__file__).parent.parent / "simcli"
NO_EXAMPLE = ("SC451", "SC455", "SC461", "SC645")  # guards of the model behind checks of the spec; a batch, below


def faults(tmp_path, page, text, sets=()):
    folder = tmp_path / "scene"
    folder.mkdir(exist_ok=True)
    for name, content in page.files.items():
        (folder / name).write_text(content)
    path = folder / "scene.yaml"
    path.write_text(page.scene(text))
    try:
        document = load_document(path, sets)
        spec = resolve(document)
        if page.stage in ("model", "check"):
            from simcli.model import build

            model = build(spec, document)
        if page.stage == "check":
            from simcli.cli.scenes.start_findings import start_faults

            return {fault.code for fault in start_faults(document, spec, model)}
    except SceneError as error:
        return {fault.code for fault in error.faults}
    return {fault.code for fault in warnings(document)}


@pytest.mark.parametrize("code", codes.codes())
def test_examples(tmp_path, code, request):
    page = codes.code_page(code)
    if code not in ("SC501", "SC502"):  # what solvers support changes; what a scene means does not
        request.getfixturevalue("all_supported")
    assert page.title
    assert page.why
    if page.stage == "run" or code in NO_EXAMPLE:
        assert not page.bad
        return
    assert faults(tmp_path, page, page.bad, page.sets) == {code, *page.also}
    assert faults(tmp_path, page, page.good) == set()


def test_every_code_in_the_source_has_a_page():
    used = set()
    for path in ROOM.rglob("*.py"):
        used |= set(re.findall(r"\bSC\d{3}\b", path.read_text(encoding="utf-8")))
    assert used <= set(codes.codes())


def test_every_page_is_of_a_code_in_the_source():
    text = "".join(path.read_text(encoding="utf-8") for path in ROOM.rglob("*.py"))
    assert [code for code in codes.codes() if code not in text] == []


def test_text_of_a_page():
    text = str(codes.code_page("SC204"))
    assert text.startswith("SC204: An unknown key\n")
    assert "mas: 1.0" in text
    assert "Fixed:" in text


# Every section is named from others: by entry, by path, by pattern.
SCENE = """\
simcli: 1
solver: {type: maximal, dt: 1 ms}
run: {duration: 1, stop_when: {quantity: joint_q, joint: pin, above: 3}}
materials: {steel: {density: 1000, friction: 0.5}}
bodies:
  arm: {mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {s: {type: sphere, radius: 0.1, material: steel}}}
  leg: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [1, 0, 0]}, points: {p: [0, 0, 0]},
    shapes: {s: {type: sphere, radius: 0.1}}}
joints:
  pin: {type: revolute, parent: world, child: arm, axis: [0, 1, 0], at: [0, 0, 0.5]}
  pan: {type: revolute, parent: arm, child: leg, axis: [0, 1, 0], at: [0, 0, 1.5], mimic: {joint: pin, ratio: 2}}
articulations: {one: [pin, pan]}
signals: {push: {sine: {amplitude: 1, frequency: 1}}}
sensors: {spin: {type: gyro, at: arm}}
forces:
  pull: {type: wrench, body: leg, force: [$push, 0, 0]}
  cord: {type: spring, stiffness: 1, rest_length: 1, a: {body: arm, at: [0, 0, 0]}, b: {body: leg, point: p}}
initial: {joint_q: {pin: 0.1}}
contact: {exclude: [[arm, leg/s]]}
output: {every: 0.1, select: [pin, leg]}
batch: {worlds: 2, vary: {joints.pin.damping: {uniform: [0, 1]}, bodies.arm.mass: {uniform: [1, 2]}}}
events:
  - {at: 0.1, set: {joints.pin.damping: 0.2}}
  - {at: 0.2, set: {forces.cord.damping: 0.2}}
  - {at: 0.3, set: {signals.push.sine.amplitude: 0.2}}
expect:
  - {max: joint.pin.q, below: 100}
  - {max: body.leg.position, below: 100}
"""


def faults_of_of_consequences(text: str) -> list[Fault]:
    try:
        resolve_of_consequences(document_of_text_of_consequences(text, "scene.yaml"))
    except SceneError as error:
        return error.faults
    return []


def as_list(section: str) -> str:
    """The scene with the entries of a section as a list, each with its name as a key."""
    data = yaml.safe_load(SCENE)
    entries = data[section].items()
    data[section] = [{"name": name, **(entry if isinstance(entry, dict) else {})} for name, entry in entries]
    return yaml.safe_dump(data, sort_keys=False)


def test_the_scene_is_sound():
    assert faults_of_of_consequences(SCENE) == []


@pytest.mark.parametrize("section", [*ENTRY_SECTIONS, "articulations"])
def test_a_section_that_is_a_list_is_one_fault(section):
    found = faults_of_of_consequences(as_list(section))
    assert [(fault.code, fault.where.path) for fault in found] == [("SC203", section)]


@pytest.mark.parametrize(("key", "told"), [("damping", []), ("dampng", ["SC303"])])
def test_a_path_into_an_entry_that_is_at_fault(key, told):
    """A key that the schema knows may be meant as it stands; one that it does not know is a fault of its own."""
    text = SCENE.replace("at: [0, 0, 0.5]}", "at: [0, 0, 0.5], armature: x}")
    text = text.replace("set: {joints.pin.damping: 0.2}", f"set: {{joints.pin.{key}: 0.2}}")
    assert [fault.code for fault in faults_of_of_consequences(text)] == ["SC203", *told]


def test_people_read_the_first_faults_and_programs_get_all(tmp_path):
    n = MOST_SHOWN + 50
    (tmp_path / "many.yaml").write_text("simcli: 1\nbodies:\n" + "".join(f"  b{k}: {{mas: 1}}\n" for k in range(n)))
    shown = simcli("check", "many.yaml", cwd=tmp_path)
    data = simcli("check", "--json", "many.yaml", cwd=tmp_path)
    assert shown.returncode == data.returncode == Exit.NEGATIVE
    found = json.loads(data.stdout)["files"][0]["faults"]
    assert len(found) >= n
    assert shown.stderr.count("error[") == MOST_SHOWN
    assert f"and {len(found) - MOST_SHOWN} more; --json has them all" in shown.stderr
    assert f"{len(found)} errors" in shown.stderr


def test_errors_are_shown_before_warnings():
    few = [Fault("SC433", "warned", None, "", "warning")] * MOST_SHOWN + [Fault("SC203", "wrong", None)]
    assert "wrong" in render_faults(few, None)


@pytest.mark.parametrize("written", ["gyroo", "[gyroo]"])
def test_an_entry_that_is_refused_makes_no_list_too_short(written):
    found = faults_of_of_consequences(SCENE.replace("type: gyro", f"type: {written}"))
    assert [(fault.code, fault.hint) for fault in found] == [("SC206", "did you mean `gyro`?")]


HANGING = """
simcli: 1
bodies:
  rod: {mass: 1, inertia: {diag: [1, 1, 1]}}
  other: {mass: MASS, inertia: {diag: [1, 1, 1]}}
joints:
  pin: {type: revolute, parent: world, child: rod, at: [1, 0, 0], axis: [0, 1, 0]}
solver: {type: maximal, dt: 0.1WAY}
run: {duration: 1}
batch: {worlds: 4, vary: {bodies.rod.mass: {list: [1, 1, 1, HEAVY]}}}
"""


@pytest.mark.parametrize(
    ("mass", "way", "heavy", "found"),
    [(1, "", 100, "loads on light bodies in world 3"), (1, ", joint_direction: implicit", 100, None), (1e6, "", 2, None)],
)  # of bodies that hang together alone, whatever else there is
def test_worlds_that_need_other_steps_are_refused(tmp_path, mass, way, heavy, found):
    (tmp_path / "scene.yaml").write_text(HANGING.replace("MASS", str(mass)).replace("WAY", way).replace("HEAVY", str(heavy)))
    document = load_document(tmp_path / "scene.yaml")
    if found is None:
        build_worlds(document, resolve(document))
        return
    with pytest.raises(SceneError, match=rf"SC645: {found}"):
        build_worlds(document, resolve(document))
