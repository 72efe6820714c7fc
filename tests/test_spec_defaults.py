"""Values of `defaults` for all, by pattern and by name: the more specific holds, in scenes, models and included files."""

import pytest
from support.scenes import faults_of, scene

from simcli.spec import resolve

BODIES = """
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {ball: {type: sphere, radius: 0.1}, box: {type: sphere, radius: 0.1}}}
  b: {inertia: {diag: [1, 1, 1]}}
  c: {mass: 3, inertia: {diag: [1, 1, 1]}}
joints:
  arm_1: {type: revolute, parent: world, child: a, at: [0, 0, 0]}
  arm_2: {type: prismatic, parent: a, child: b, at: [0, 0, 0]}
  arm_3: {type: fixed, parent: b, child: c}
models:
  leg:
    bodies: {shin: {mass: 1, inertia: {diag: [1, 1, 1]}}}
    joints: {knee: {type: revolute, parent: world, child: shin, at: [0, 0, 0]}}
instances: {left: {model: leg}, right: {model: leg}}
"""
ALL = ("arm_1", "arm_2", "left/knee", "right/knee")
CASES = {
    "0.1": dict.fromkeys(ALL, 0.1),
    '0.1, "arm_*": {damping: 0.2}': {"arm_1": 0.2, "arm_2": 0.2, "left/knee": 0.1, "right/knee": 0.1},
    '0.1, arm_1: {damping: 0.3}, "arm_*": {damping: 0.2}': {"arm_1": 0.3, "arm_2": 0.2, "left/knee": 0.1, "right/knee": 0.1},
    '0.1, "arm_*": {damping: 0.2}, "*_1": {damping: 0.4}': {"arm_1": 0.4, "arm_2": 0.2, "left/knee": 0.1, "right/knee": 0.1},
    '0.1, "left/*": {damping: 0.2}, "*": {friction: 1}': {"arm_1": 0.1, "arm_2": 0.1, "left/knee": 0.2, "right/knee": 0.1},
    "0.1, knee: {damping: 0.2}": {"arm_1": 0.1, "arm_2": 0.1, "left/knee": 0.2, "right/knee": 0.2},
    "0.1, left/knee: {damping: 0.2}": {"arm_1": 0.1, "arm_2": 0.1, "left/knee": 0.2, "right/knee": 0.1},
}


@pytest.mark.parametrize("damping", CASES)
def test_the_more_specific_holds(damping):
    spec = resolve(scene(f"defaults: {{joint: {{damping: {damping}}}}}\n" + BODIES.replace("b: {", "b: {mass: 1, ")))
    assert {name: spec.joints[name].damping[0] for name in ALL} == CASES[damping]


@pytest.mark.parametrize("damping", list(CASES)[:4])
def test_an_included_file_has_its_own(tmp_path, damping):
    """And what it says reaches no joint of the scene that includes it, nor the other way round."""
    arm = BODIES[: BODIES.index("models")].replace("b: {", "b: {mass: 1, ")
    (tmp_path / "arm.yaml").write_text(f"simcli: 1\ndefaults: {{joint: {{damping: {damping}}}}}\n{arm}")
    own = 'defaults: {joint: {"arm_*": {damping: 9}}}\n'
    more = "bodies: {d: {mass: 1, inertia: {diag: [1, 1, 1]}}}\n"
    more += "joints: {arm_4: {type: ball, parent: c, child: d, at: [0, 0, 0]}}\n"
    spec = resolve(scene("include: [arm.yaml]\n" + own + more, tmp_path))
    assert {name: spec.joints[name].damping[0] for name in ALL[:2]} == {name: CASES[damping][name] for name in ALL[:2]}
    assert spec.joints["arm_4"].damping[0] == 9


def test_bodies_and_shapes_have_patterns_too():
    spec = resolve(
        scene(
            """
params: {m: 2}
defaults:
  body: {"[ab]": {mass: "${m}"}}
  shape: {density: 100, "b*": {density: 200}, a/box: {density: 300}}
"""
            + BODIES
        )
    )
    assert [spec.bodies[name].mass for name in "abc"] == [1, 2, 3]
    assert {name: shape.density for name, shape in spec.bodies["a"].shapes.items()} == {"ball": 200, "box": 300}


UNMATCHED = {
    'joint: {"leg_*": {damping: 1}}': "`leg_*` fits no joint",
    "joint: {arm_4: {damping: 1}}": "`arm_4` fits no joint",
    "joint: {drve: {damping: 1}}": "`drve` fits no joint",
    'body: {"[xy]": {mass: 1}}': "`[xy]` fits no body",
    "shape: {cone: {friction: 1}}": "`cone` fits no shape",
}


@pytest.mark.parametrize("written", UNMATCHED)
@pytest.mark.parametrize("is_included", [False, True])
def test_what_fits_nothing_is_a_fault(tmp_path, written, is_included):
    text = f"defaults: {{{written}}}\n" + BODIES.replace("b: {", "b: {mass: 1, ")
    (tmp_path / "arm.yaml").write_text("simcli: 1\n" + text)
    found = faults_of("include: [arm.yaml]\n" if is_included else text, "", tmp_path)
    assert [(code, message) for code, _, message in found] == [("SC454", UNMATCHED[written])], found


def test_a_name_is_told_what_its_type_does_not_take():
    """A pattern leaves out what a type cannot have; a name means what it says."""
    bodies = BODIES.replace("b: {", "b: {mass: 1, ")
    assert faults_of('defaults: {joint: {"arm_*": {limit: [-1, 1], damping: 1}}}\n' + bodies) == []
    found = faults_of("defaults: {joint: {arm_3: {limit: [-1, 1]}}}\n" + bodies)
    assert [code for code, _, _ in found] == ["SC409"], found
