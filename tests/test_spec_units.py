"""Numbers with units and expressions: closed forms, round trips, refusals.

Every cell of the table of joint types and fields: what it says `yes` to checks clean, what it says `refused` to is
refused by name; the page is that of the code.
"""

import contextlib
import math
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.joint_fields_page import joint_fields_page
from support.scenes import faults_of, scene

from simcli.errors import SceneError
from simcli.spec import resolve
from simcli.spec.base import dofs
from simcli.spec.base.channel_names import pattern
from simcli.spec.checks import joint_fields
from simcli.spec.checks.joint_fields import JOINTS, ON_JOINTS, SUPPORTED_FIELDS
from simcli.spec.lookup import structure
from simcli.spec.values.expressions import ExpressionError, evaluate, substitute_names
from simcli.spec.values.units import UNITS, UnitError, base_units, parse_unit, si_unit, to_si

ROUNDING = 4e-16  # relative: a product of two factors
QUICK = 2.0  # s, an attack must be refused within


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("5 cm", "m", 0.05),
        ("5cm", "m", 0.05),
        ("-1.5e1 mm", "m", -0.015),
        (".5 in", "m", 0.0127),
        ("90 deg", "rad", math.pi / 2),
        ("90°", "rad", math.pi / 2),
        ("120 rpm", "rad/s", 4 * math.pi),
        ("10 N*m/rad", "N*m/rad", 10),
        ("10 Nm/deg", "N*m/rad", 1800 / math.pi),
        ("10 N*m", "N*m/rad", 10),
        ("250 g", "kg", 0.25),
        ("1e5 Pa", "Pa", 1e5),
        ("1 bar", "Pa", 1e5),
        ("2 kg m^2", "kg*m^2", 2),
        ("2 kg*m²", "kg*m^2", 2),
        ("1 g*cm**2", "kg*m^2", 1e-7),
        ("9.81 m/s^2", "m/s^2", 9.81),
        ("1 g0", "m/s^2", 9.80665),
        ("3 N s/m", "N*s/m", 3),
        ("3 N/(m/s)", "N*s/m", 3),
        ("2 Hz", "cycle/s", 2),
        ("2 1/s", "cycle/s", 2),
        ("7.85 g/cm^3", "kg/m^3", 7850),
        ("30 %", "", 0.3),
        ("1 h", "s", 3600),
        ("5 mm/kN", "m/N", 5e-6),
    ],
)
def test_values(text, unit, value):
    assert to_si(text, unit) == pytest.approx(value, rel=ROUNDING * 4)


@pytest.mark.parametrize(
    ("text", "unit", "code", "words"),
    [
        ("5 kg", "m", "SC213", ("`5 kg` is a mass", "a length [m] is expected")),
        ("5 m", "rad", "SC213", ("a length", "an angle")),
        ("2 Hz", "rad/s", "SC213", ("a frequency", "an angular velocity")),
        ("2 rad/s", "cycle/s", "SC213", ("an angular velocity", "a frequency")),
        ("5 deg", "", "SC213", ("an angle", "a plain number")),
        ("5 N/m", "N*m/rad", "SC213", ("a stiffness", "a rotational stiffness")),
        ("5 kgs", "kg", "SC212", ("unknown unit `kgs`",)),
        ("5", "m", "SC211", ("quoted",)),
        ("five m", "m", "SC203", ("not a number",)),
        ("5 m^", "m", "SC211", ()),
        ("5 m^99", "m", "SC211", ()),
        ("5 (m", "m", "SC211", ()),
        ("5 m)", "m", "SC211", ()),
        ("5 m;", "m", "SC211", ()),
        ("1e999 m", "m", "SC211", ("finite",)),
        ("1" * 500, "m", "SC211", ()),
        ("1 " + "(" * 100 + "m" + ")" * 100, "m", "SC211", ()),
    ],
)
def test_refusals(text, unit, code, words):
    with pytest.raises(UnitError) as caught:
        to_si(text, unit)
    assert caught.value.code == code
    assert all(word in str(caught.value) for word in words)


def test_suggestion():
    with pytest.raises(UnitError) as caught:
        to_si("5 degrees", "rad")
    assert caught.value.hint == "did you mean `deg`?"


def test_there_are_enough_units():
    assert len(UNITS) >= 60


@pytest.mark.parametrize("name", sorted(UNITS))
def test_base_units_have_the_same_dimension(name):
    factor, dimension = parse_unit(name)
    assert factor > 0
    assert parse_unit(base_units(dimension)) == (1.0, dimension)


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_text_breaks_the_units(text):
    with contextlib.suppress(UnitError):
        assert math.isfinite(to_si(text, "m", "rad", ""))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2*L + 0.1", 0.9),
        ("-L**2", -0.16),
        ("(1 + 2) * 3 / 4", 2.25),
        ("2**-1", 0.5),
        ("2**3**2", 512),
        ("min(3, L, 5)", 0.4),
        ("max(1, 2)", 2),
        ("abs(-2)", 2),
        ("sqrt(16)", 4),
        ("sin(pi/2) + cos(0) + tan(0)", 2),
        ("1e-3", 1e-3),
        (" + 1 ", 1),
    ],
)
def test_expressions(text, value):
    assert evaluate(text, {"L": 0.4}) == pytest.approx(value, rel=ROUNDING * 4)


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "9**9**9**9**9",
        "1/0",
        "sqrt(-1)",
        "sqrt((-8)**0.5)",
        "max((-1)**0.5, 1)",
        "abs((-1)**0.5)",
        "(-8)**0.5",
        "1e308*10",
        "__import__('os')",
        "L.real",
        "L[0]",
        "lambda: 1",
        "[1 for i in 2]",
        "1 if 1 else 2",
        "1 < 2",
        "1 // 2",
        "1 % 2",
        "1 @ 2",
        "~1",
        "not 1",
        "True",
        "None",
        "'a'",
        "1j",
        "2L",
        "min",
        "min()",
        "sqrt(1, 2)",
        "tanh(1)",
        "sin(x=1)",
        "min(*L)",
        "",
        " ",
        "1 +",
        "(" * 300 + "1" + ")" * 300,
        "-" * 900 + "1",
        "1" * 2000,
        "9" * 900,
        "1+" * 400 + "1",
        "L; L",
        "a\x00b",
        "L\n\nL",
        "０",
    ],
)
def test_hostile_expressions(text):
    start = time.perf_counter()
    with pytest.raises(ExpressionError):
        evaluate(text, _known)
    assert time.perf_counter() - start < QUICK


def _known(name):
    if name == "L":
        return 0.4
    raise ExpressionError(f"unknown parameter `{name}`")


@given(st.text(alphabet="0123456789+-*/() .,eLpisqrtmaxn", max_size=30))
@settings(max_examples=300, deadline=None)
def test_no_text_breaks_the_expressions(text):
    with contextlib.suppress(ExpressionError):
        assert math.isfinite(evaluate(text, _known))


def test_substitution():
    assert substitute_names("${2*L}", _known) == 0.8
    assert substitute_names("${100*L} cm", _known) == "40 cm"
    assert substitute_names("run_${1+1}", _known) == "run_2"
    with pytest.raises(ExpressionError):
        substitute_names("${L", _known)


ASKED = """bodies: {cart: {mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}}, arm: {mass: 1, inertia: {diag: [1, 1, 1]}}}
joints:
  rail: {type: prismatic, parent: world, child: cart, axis: [1, 0, 0], drive: {mode: effort, target: $u}}
  pin: {type: revolute, parent: world, child: arm}
signals: {u: {expression: "EXPRESSION"}, push: {constant: 1}}
params: {k: 2}
measure:
  far: {max: body.cart.position}
  when: {first: joint.rail.q, above: 1 cm}
  way: {integral: joint.pin.q}
  often: {count: "body.cart.position[0]", above: 3 mm}
"""


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        ("{at: 0.5, quantity: joint.rail.q, equals: 10 UNIT, within: 1 mm}", "kg"),
        ("{at: 0.5, quantity: joint.rail.q, equals: 10, within: 1 UNIT}", "rad"),
        ("{at: 0.5, body: arm, quantity: position, equals: [1 UNIT, 0, 2 cm], within: 1}", "rad"),
        ("{at: 0.5, quantity: body.arm.position, component: 1, equals: 3 UNIT, within: 1}", "s"),
        ("{max: joint.pin.qd, below: 3 UNIT}", "m/s"),
        ("{min: body.cart.position.2, above: -3 UNIT}", "rad"),
        ("{max: energy.drift, below: 3 UNIT}", "m"),
        ("{measure: far, below: 3 UNIT}", "s"),
        ("{measure: when, below: 3 UNIT}", "m"),
        ("{measure: way, below: 3 UNIT}", "rad"),
        ("{measure: often, below: 3 UNIT}", "m"),
    ],
)
def test_expectations_take_the_unit_of_their_quantity(asked, wrong):
    """One that fits is taken, plain numbers are SI."""
    text = ASKED.replace("EXPRESSION", "t")
    fits = {
        "joint.rail.q": "cm",
        "joint.pin.qd": "rpm",
        "position": "mm",
        "energy": "kJ",
        "far": "km",
        "when": "ms",
        "way": "rad*s",
        "often": "",
    }
    right = next(unit for name, unit in fits.items() if name in asked)
    assert not faults_of(f"{text}expect: [{asked.replace('UNIT', right)}]\n")
    faults = faults_of(f"{text}expect:\n- {asked.replace('UNIT', wrong)}\n", "")
    assert [fault[:2] for fault in faults] == [("SC213", text.count("\n") + 1)], faults


@pytest.mark.parametrize("name", ["body.cart.position.2", "body.cart.position[2]", "body.cart.position.z"])
def test_a_component_may_stand_behind_a_name(name):
    """In measures, expectations and conditions, by the parser of feedback; it is that of the key `component`."""
    text = ASKED.replace("EXPRESSION", f"{{{name}}}").replace("body.cart.position}", f'"{name}"}}')
    asked = f"run: {{stop_when: {{quantity: '{name}', above: 3 m}}}}\nexpect: [{{max: '{name}', below: 1 m}}]"
    spec = resolve(scene(text + asked))
    for part in (spec.measure["far"], spec.run.stop_when, spec.expect[0]):
        assert part.component == 2
    assert (spec.measure["far"].quantity, spec.expect[0].channel) == ("body.cart.position",) * 2
    assert re.fullmatch(pattern(), name)
    twice = f"expect: [{{max: '{name}', component: 1, below: 1}}]\n"
    assert [fault[0] for fault in faults_of(text + twice)] == ["SC207"]
    beyond = twice.replace("2", "3").replace("position.z", "position.w").replace(", component: 1", "")
    assert [fault[0] for fault in faults_of(text + beyond)] == ["SC205"]


@pytest.mark.parametrize(
    ("expression", "code", "message"),
    [
        ("1/0 + {joint.rail.q}", "SC221", "`1/0 + {joint.rail.q}` divides by zero"),
        ("sqrt(-2) + t", "SC221", "`sqrt(-2) + t` is not a real number"),
        ("2*{push}", "SC315", "`push` is no quantity"),
        ("2*push", "SC221", "`push` is no name of an expression"),
        ("{joint.rail.effort}", "SC315", "is known at its end"),
    ],
)
def test_what_an_expression_lacks_is_told_in_its_words(expression, code, message):
    ((found, line, text),) = faults_of(ASKED.replace("EXPRESSION", expression))
    assert (found, line) == (code, 4)
    assert message in text


def test_a_start_of_another_kind_is_told_once():
    text = ASKED.replace("EXPRESSION", "t") + "initial: {joint_q: {rail: 3 kg}}\n"
    assert [fault[0] for fault in faults_of(text)] == ["SC213"]


def test_worlds_do_not_differ_in_their_keyframe():
    varied = "keyframes: {home: {}}\nbatch: {vary: {initial: {grid: [home]}}}\n"
    assert [fault[0] for fault in faults_of(ASKED.replace("EXPRESSION", "t") + varied)] == ["SC317"]


@pytest.mark.parametrize(
    "unit",
    [
        form.format(one)
        for one in UNITS
        for form in ("{}", "{}/mm", "1/{}", "N*{}", "{} deg", "{}^2", "kN/({} s)", "{}/ms/cm", "g²·{}")
    ],
)
def test_the_si_unit_of_a_unit_has_its_dimension_and_no_factor(unit):
    (factor, dimension), wanted = parse_unit(si_unit(unit)), parse_unit(unit)[1]
    assert (factor, dimension) == (1.0, wanted)


@pytest.mark.parametrize(
    ("unit", "si"),
    [
        ("N/mm", "N/m"),
        ("N mm/deg", "N*m/rad"),
        ("kNm s/rad", "N*m*s/rad"),
        ("g/cm**3", "kg/m^3"),
        ("rpm", "rad/s"),
        ("1/rpm", "1/(rad/s)"),
        ("%", ""),
        ("mm/m", ""),
        ("", ""),
    ],
)
def test_the_si_unit_is_spelled_as_people_do(unit, si):
    assert si_unit(unit) == si


PAGE = Path(joint_fields.__file__).parents[2] / "docs" / "joint_fields.md"
MASS = "mass: 1, com: [0.1, 0.2, 0.3], inertia: {diag: [0.1, 0.2, 0.25]}"
NEEDS = {
    "d6": "axes: {linear: [[1, 0, 0]], angular: [[0, 1, 0]]}",
    "universal": "axes: {angular: [[1, 0, 0], [0, 1, 0]]}",
    "screw": "pitch: 0.1",
    "distance": "length: 1, parent_frame: {xyz: [0, 0, 1]}",
    "cable": "stretch: 10",
    "rolling": "axis: [0, 1, 0], radius: 0.4, parent_frame: {xyz: [0, 0, -0.4]}",
}
VALUE = {
    "limit": "limit: {lower: -1, upper: 1}",
    "drive": "drive: {mode: velocity, target_velocity: 1, damping: 1}",
    "friction": "friction: 0.1",
    "damping": "damping: 0.1",
    "armature": "armature: 0.1",
    "velocity_limit": "velocity_limit: 3",
    "effort_limit": "drive: {mode: velocity, target_velocity: 1, damping: 1, effort_limit: 2}",
    "compliance": "compliance: 1e-6",
    "mimic": "mimic: {joint: other}",
    "motion": "motion: {velocity: 1}",
    "enabled": "enabled: false",
    "effort": "torque, value",
    "torsion": "torsion, stiffness",
}
NAMED_BY = {"SC501", "SC409", "SC464"}
KINDS = sorted(JOINTS["generalized"].types)
REQUIRED_EVERYWHERE = ("limit", "drive", "damping", "friction", "armature")


def text_of(kind, field, loop):
    value, force = VALUE[field], ""
    needs = NEEDS.get(kind, "")
    if field in ON_JOINTS.values():
        n = 2 if kind == "d6" else len(dofs.TYPES[kind])
        value, force = "", f"forces: {{t: {{type: {value}: {[2.0] * n}, joint: j}}}}\n"
    if (kind, field) == ("distance", "limit"):
        value, needs = "limit: [0.5, 1.5]", needs.replace("length: 1, ", "")
    parts = [f"type: {kind}, parent: world", needs, f"loop: {str(loop).lower()}", value]
    joint = ", ".join(part for part in parts if part)
    other = ", ".join(part for part in (f"type: {kind}, parent: world, child: b", NEEDS.get(kind, "")) if part)
    return f"bodies: {{a: {{{MASS}}}, b: {{{MASS}}}}}\njoints:\n  other: {{{other}}}\n  j: {{{joint}, child: a}}\n{force}"


def faults_of_of_joint_fields(text):
    try:
        resolve(scene(text))
    except SceneError as error:
        return error.faults
    return []


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("field", SUPPORTED_FIELDS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_cell(kind, field, loop):
    supported = JOINTS["generalized"]
    outside = loop or field == "enabled" or kind in dofs.NEVER_TREE
    expected = kind in (supported.loop if outside else supported.tree)[field]
    faults = faults_of_of_joint_fields(text_of(kind, field, loop))
    if expected:
        assert [fault.code for fault in faults] == []
        return
    assert {fault.code for fault in faults} <= NAMED_BY
    is_force = field in ON_JOINTS.values()
    path = "forces.t" if is_force else f"joints.j.{'drive' if field == 'effort_limit' else field}"
    assert any(path in fault.where.path for fault in faults), faults
    assert all(fault.where.line == 5 + is_force for fault in faults)
    assert all(fault.hint for fault in faults)


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_alone_checks_clean(kind):
    text = text_of(kind, "damping", False).replace(", damping: 0.1", "")
    assert faults_of_of_joint_fields(text) == []


UNEVEN = "{mode: position, stiffness: 1}, {mode: position, stiffness: 2}, null"
UNEVENLY_LIMITED = ", ".join(f"{{mode: velocity, target_velocity: 1, damping: 1, effort_limit: {n}}}" for n in (2, 3, 3))
WRITTEN = {"effort_limit": "drive"}  # in which field it stands
FORMS = {
    ("ball", "drive"): ("{mode: velocity, target_velocity: 1, damping: 1}", f"[{UNEVEN}]"),
    ("ball", "effort_limit"): ("{mode: velocity, target_velocity: 1, damping: 1, effort_limit: 2}", f"[{UNEVENLY_LIMITED}]"),
    ("ball", "motion"): ("{velocity: 1}", "[{velocity: 1}, {velocity: 1}, null]"),
    ("distance", "limit"): ("[0.5, 1.5]", "{upper: 1.5, stiffness: 5}"),
    ("distance", "compliance"): ("length: 1", "limit: [0.5, 1.5]"),
}


@pytest.mark.parametrize("form", joint_fields.REFUSED_FORMS, ids=lambda form: form.words)
def test_forms_that_are_refused(form):
    kind = next(iter(form.types - dofs.RIBLE.keys()))
    sound, refused = FORMS[kind, form.field]
    head, joint = text_of(kind, form.field, form.field == "compliance").split("  j: ")
    assert faults_of_of_joint_fields(f"{head}  j: {joint}") == []
    assert sound in joint
    faults = faults_of_of_joint_fields(f"{head}  j: {joint.replace(sound, refused)}")
    assert [(f.code, f.where.path) for f in faults] == [("SC501", f"joints.j.{WRITTEN.get(form.field, form.field)}")]


@pytest.mark.parametrize("solver", ["maximal", "natural"])
def test_forms_are_refused_by_every_solver(solver):
    for (kind, field), (sound, refused) in FORMS.items():
        text = text_of(kind, field, field == "compliance") + f"solver: {{type: {solver}}}\n"
        head, joint = text.split("  j: ")
        if kind == "ball":
            assert faults_of_of_joint_fields(text) == []
        faults = faults_of_of_joint_fields(f"{head}  j: {joint.replace(sound, refused)}")
        assert [(f.code, f.where.path) for f in faults] == [("SC501", f"joints.j.{WRITTEN.get(field, field)}")]


def test_an_event_that_switches_a_joint_is_a_switch():
    text = text_of("revolute", "damping", False) + "events: [{at: 0.5, set: {joints.j.enabled: false}}]\n"
    spec_faults = [f for f in faults_of_of_joint_fields(text) if "enabled" in f.message or "switch" in f.message]
    supported = "revolute" in JOINTS["generalized"].loop["enabled"]
    assert [f.code for f in spec_faults] == ([] if supported else ["SC501"])
    assert structure.switched(type("S", (), {"joints": {}, "events": ()})) == set()


def test_a_value_of_one_axis_is_refused_where_it_stands():
    axes = "axes: {angular: [{axis: [1, 0, 0], armature: 0.1}, [0, 1, 0]]}"
    joint = f"{{type: universal, parent: world, child: a, {axes}}}"
    solver = "{type: natural, integrator: generalized_alpha}"  # which takes no coordinate of several turns
    text = f"bodies: {{a: {{{MASS}}}}}\nsolver: {solver}\njoints: {{j: {joint}}}"
    (fault,) = faults_of_of_joint_fields(text)
    assert (fault.code, fault.where.path) == ("SC501", "joints.j.axes")


def test_defaults_leave_joints_without_dofs_alone():
    text = f"""
defaults: {{joint: {{damping: 0.1, armature: 0.01, friction: 0.1}}}}
bodies: {{a: {{{MASS}}}, b: {{{MASS}}}}}
joints:
  j: {{type: fixed, parent: world, child: a}}
  k: {{type: cable, parent: a, child: b, stretch: 10}}
"""
    assert faults_of_of_joint_fields(text) == []
    assert {f.code for f in faults_of_of_joint_fields(text.replace("child: a}", "child: a, friction: 1}"))} == {"SC409"}


def test_a_world_asks_for_no_more_than_the_solver_supports():
    """Numbers that the scene leaves at zero, which a batch varies: the page of the same cell decides."""
    base = text_of("distance", "damping", False).replace("damping: 0.1", "damping: 0")
    vary = "batch: {worlds: 2, vary: {joints.j.damping: {list: [0, 0.1]}}}\n"
    assert faults_of_of_joint_fields(base + vary) == []
    (fault,) = faults_of_of_joint_fields(base + vary + "solver: {type: natural}\n")
    assert fault.code == "SC501"
    assert "damping on a `distance` joint" in fault.message


@pytest.mark.parametrize(
    ("key", "several"),
    [
        ("drive", "{mode: position, stiffness: 9, target: [0.1, 0.2, 0.3]}"),
        ("drive", "{mode: velocity, damping: 2, target_velocity: [1, 2, 3]}"),
        ("motion", "{position: [0.1, 0.2, 0.3]}"),
    ],
)
@pytest.mark.parametrize("kind", ["ball", "planar", "nc_spherical"])
def test_numbers_of_all_dofs_in_one_say_what_to_write(kind, key, several):
    """What the hint says checks clean."""
    solver = "solver: {type: natural}\n"
    text = text_of(kind, "damping", False).replace("damping: 0.1", f"{key}: {several}") + solver
    (fault,) = faults_of_of_joint_fields(text)
    assert (fault.code, fault.where.path.split(".")[2]) == ("SC203", key)
    assert "and has 3" in fault.message
    written = fault.hint.partition(": ")[2]
    assert written.startswith(f"{key}: [")
    assert faults_of_of_joint_fields(text.replace(f"{key}: {several}", written)) == []


def test_what_the_issue_asks_for():
    """Every field of revolute and prismatic joints; what limits, drives and brakes the others."""
    tree, loop = JOINTS["generalized"].tree, JOINTS["generalized"].loop
    missing = {(k, f) for k in ("revolute", "prismatic") for f in SUPPORTED_FIELDS if k not in tree[f] | loop[f]}
    kinds = ("ball", "d6", "universal", "cylindrical", "planar", "screw")
    missing |= {(k, f) for k in kinds for f in REQUIRED_EVERYWHERE if k not in tree[f]}
    assert missing == set()


def test_the_page_is_that_of_the_code():
    assert PAGE.read_text(encoding="utf-8") == joint_fields_page()
