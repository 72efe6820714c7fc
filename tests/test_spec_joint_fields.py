"""Every cell of the table of joint types and fields: what it says `yes` to checks clean, what it says `refused` to is
refused by name; the page is that of the code."""

from pathlib import Path

import pytest
from support.scenes import scene

from simcli.errors import SceneError
from simcli.spec import resolve
from simcli.spec.honours import joint_fields
from simcli.spec.honours.joint_fields import HONOURED_FIELDS, JOINTS, ON_JOINTS
from simcli.spec.names import dofs, structure

PAGE = Path(joint_fields.__file__).parents[2] / "docs" / "joint_fields.md"
MASS = "mass: 1, com: [0.1, 0.2, 0.3], inertia: {diag: [0.1, 0.2, 0.25]}"
NEEDS = {
    "d6": "axes: {linear: [[1, 0, 0]], angular: [[0, 1, 0]]}", "universal": "axes: {angular: [[1, 0, 0], [0, 1, 0]]}",
    "screw": "pitch: 0.1", "distance": "length: 1, parent_frame: {xyz: [0, 0, 1]}", "cable": "stretch: 10",
}  # fmt: skip
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


def faults_of(text):
    try:
        resolve(scene(text))
    except SceneError as error:
        return error.faults
    return []


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("field", HONOURED_FIELDS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_cell(kind, field, loop):
    honoured = JOINTS["generalized"]
    outside = loop or field == "enabled" or kind in dofs.NEVER_TREE
    expected = kind in (honoured.loop if outside else honoured.tree)[field]
    faults = faults_of(text_of(kind, field, loop))
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
    assert faults_of(text) == []


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
    sound, refused = FORMS[form.type, form.field]
    head, joint = text_of(form.type, form.field, form.field == "compliance").split("  j: ")
    assert faults_of(f"{head}  j: {joint}") == []
    assert sound in joint
    faults = faults_of(f"{head}  j: {joint.replace(sound, refused)}")
    assert [(f.code, f.where.path) for f in faults] == [("SC501", f"joints.j.{WRITTEN.get(form.field, form.field)}")]


@pytest.mark.parametrize("solver", ["maximal", "natural"])
def test_forms_are_refused_by_every_solver(solver):
    for (kind, field), (sound, refused) in FORMS.items():
        text = text_of(kind, field, field == "compliance") + f"solver: {{type: {solver}}}\n"
        head, joint = text.split("  j: ")
        if kind == "ball":
            assert faults_of(text) == []
        faults = faults_of(f"{head}  j: {joint.replace(sound, refused)}")
        assert [(f.code, f.where.path) for f in faults] == [("SC501", f"joints.j.{WRITTEN.get(field, field)}")]


def test_an_event_that_switches_a_joint_is_a_switch():
    text = text_of("revolute", "damping", False) + "events: [{at: 0.5, set: {joints.j.enabled: false}}]\n"
    spec_faults = [f for f in faults_of(text) if "enabled" in f.message or "switch" in f.message]
    honoured = "revolute" in JOINTS["generalized"].loop["enabled"]
    assert [f.code for f in spec_faults] == ([] if honoured else ["SC501"])
    assert structure.switched(type("S", (), {"joints": {}, "events": ()})) == set()


def test_a_value_of_one_axis_is_refused_where_it_stands():
    axes = "axes: {angular: [{axis: [1, 0, 0], armature: 0.1}, [0, 1, 0]]}"
    joint = f"{{type: universal, parent: world, child: a, {axes}}}"
    solver = "{type: natural, integrator: generalized_alpha}"  # which takes no coordinate of several turns
    text = f"bodies: {{a: {{{MASS}}}}}\nsolver: {solver}\njoints: {{j: {joint}}}"
    (fault,) = faults_of(text)
    assert (fault.code, fault.where.path) == ("SC501", "joints.j.axes")


def test_defaults_leave_joints_without_dofs_alone():
    text = f"""
defaults: {{joint: {{damping: 0.1, armature: 0.01, friction: 0.1}}}}
bodies: {{a: {{{MASS}}}, b: {{{MASS}}}}}
joints:
  j: {{type: fixed, parent: world, child: a}}
  k: {{type: cable, parent: a, child: b, stretch: 10}}
"""
    assert faults_of(text) == []
    assert {f.code for f in faults_of(text.replace("child: a}", "child: a, friction: 1}"))} == {"SC409"}


def test_a_world_asks_for_no_more_than_the_solver_honours():
    """Numbers that the scene leaves at zero, which a batch varies: the page of the same cell decides."""
    base = text_of("distance", "damping", False).replace("damping: 0.1", "damping: 0")
    vary = "batch: {worlds: 2, vary: {joints.j.damping: {list: [0, 0.1]}}}\n"
    assert faults_of(base + vary) == []
    (fault,) = faults_of(base + vary + "solver: {type: natural}\n")
    assert fault.code == "SC501"
    assert "damping on a `distance` joint" in fault.message


@pytest.mark.parametrize(("key", "several"), [
    ("drive", "{mode: position, stiffness: 9, target: [0.1, 0.2, 0.3]}"),
    ("drive", "{mode: velocity, damping: 2, target_velocity: [1, 2, 3]}"),
    ("motion", "{position: [0.1, 0.2, 0.3]}"),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["ball", "planar", "nc_spherical"])
def test_numbers_of_all_dofs_in_one_say_what_to_write(kind, key, several):
    """What the hint says checks clean."""
    solver = "solver: {type: natural}\n"
    text = text_of(kind, "damping", False).replace("damping: 0.1", f"{key}: {several}") + solver
    (fault,) = faults_of(text)
    assert (fault.code, fault.where.path.split(".")[2]) == ("SC203", key)
    assert "and has 3" in fault.message
    written = fault.hint.partition(": ")[2]
    assert written.startswith(f"{key}: [")
    assert faults_of(text.replace(f"{key}: {several}", written)) == []


def test_what_the_issue_asks_for():
    """Every field of revolute and prismatic joints; what limits, drives and brakes the others."""
    tree, loop = JOINTS["generalized"].tree, JOINTS["generalized"].loop
    missing = {(k, f) for k in ("revolute", "prismatic") for f in HONOURED_FIELDS if k not in tree[f] | loop[f]}
    kinds = ("ball", "d6", "universal", "cylindrical", "planar", "screw")
    missing |= {(k, f) for k in kinds for f in REQUIRED_EVERYWHERE if k not in tree[f]}
    assert missing == set()


def test_the_page_is_that_of_the_code():
    assert PAGE.read_text(encoding="utf-8") == joint_fields.joint_fields_page()
