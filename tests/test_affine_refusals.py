"""What scenes may ask of the affine solver: refused by name at its line, or read as it is meant."""

import numpy as np
import pytest
from support.scenes import faults_of, scene

from simcli.model import build
from simcli.spec import resolve
from simcli.spec.checks.mechanism.affine import HOLD_NOTHING
from simcli.spec.resolve import warnings

SCENE = """
world: {gravity: [0, 0, 0]}
bodies: {a: {mass: 2, inertia: {diag: [1, 1, 1]}}, b: {mass: 3, inertia: {diag: [1, 1, 1]}}}
solver: {type: affine, dt: 0.01}
"""
PIN = "joints: {{j: {{type: {type}, parent: a, child: b, at: [0, 0, 0], {more}}}}}\n"
ACTS = "is_constrained: true"
# Text behind the scene: its code, and words of the message.
REFUSED = {
    PIN.format(type="ball", more="friction: 1"): ("SC501", "dry friction"),
    PIN.format(type="universal", more="axes: {angular: [[1, 0, 0], [0, 1, 0]]}, armature: 1"): ("SC501", "armature"),
    PIN.format(type="planar", more="velocity_limit: 1"): ("SC501", "a velocity limit"),
    PIN.format(type="planar", more="motion: {position: 1}"): ("SC501", "a prescribed motion"),
    "joints:\n  k: {type: universal, axes: {angular: [[1, 0, 0], [0, 1, 0]]}, parent: world, child: a, at: [0, 0, 0]}\n"
    "  j: {type: cylindrical, parent: a, child: b, at: [0, 0, 0], mimic: {joint: k}}\n": ("SC501", "a gear to a joint"),
    PIN.format(type="ball", more="limit: [-1, 1]"): ("SC501", "a limit"),
    PIN.format(type="universal", more="axes: {angular: [[1, 0, 0], [0, 1, 0]]}, damping: 1"): ("SC501", "damping"),
    PIN.format(type="screw", more="pitch: 0.1"): ("SC501", "screw"),
    PIN.format(type="ball", more="driving: {is_passive: true}"): ("SC612", "ball"),
    PIN.format(type="revolute", more="driving: {aim_distance: 1}"): ("SC612", "aim_distance"),
    PIN.format(type="revolute", more=f"driving: {{{ACTS}, is_passive: true, is_locked: true}}"): ("SC207", "is_locked"),
    PIN.format(type="revolute", more=f"driving: {{{ACTS}, stiffness: 1, strength_ratio: 1}}"): ("SC207", "strength_ratio"),
    PIN.format(type="revolute", more="compliance: 1, strength_ratio: 1"): ("SC613", "compliance"),
    **{PIN.format(type=name, more="strength_ratio: 1"): ("SC501", "`strength_ratio`") for name in sorted(HOLD_NOTHING)},
    PIN.format(type="revolute", more="limit: {upper: 1, strength: 1}"): ("SC613", "both bounds"),
    PIN.format(type="ball", more="") + "forces: {f: {type: torque, joint: j, value: [1, 1, 1]}}\n": ("SC501", "an effort"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_honoured_is_refused_by_name(text):
    code, words = REFUSED[text]
    ((found, line, message),) = faults_of(text, start=SCENE)
    assert (found, line) == (code, text.count("\n") - 1)
    assert words in message


@pytest.mark.parametrize(("more", "rest", "warned"), [
    ("aim_angle: 1", "", True),
    ("aim_angle: 1, is_constrained: false", "", False),
    ("aim_angle: 1", "events: [{at: 0.01, set: {joints.j.driving.is_constrained: true}}]\n", False),
    ("aim_angle: 1", "events: [{at: 0.01, set: {joints.j.driving.aim_angle: 2}}]\n", True),
])  # fmt: skip
def test_a_drive_that_never_acts_is_warned_of(more, rest, warned):
    document = scene(SCENE + PIN.format(type="revolute", more=f"driving: {{{more}}}") + rest)
    resolve(document)
    assert [fault.code for fault in warnings(document)] == ["SC667"] * warned


@pytest.mark.parametrize(("text", "code"), [
    (SCENE.replace("{gravity: [0, 0, 0]}", "{plane: xy}"), "SC501"),
    (SCENE.replace("b: {mass: 3,", "b: {kinematic: true, mass: 3,") + PIN.format(
        type="revolute", more="limit: [-1, 1]").replace("parent: a", "parent: world"), "SC501"),
    (SCENE.replace("b: {mass: 3,", "b: {kinematic: true, mass: 3,") + PIN.format(type="prismatic", more="").replace(
        "parent: a", "parent: world") + "forces: {f: {type: torque, joint: j, value: 1}}\n", "SC501"),
    (SCENE.replace("a: {mass: 2,", "a: {kinematic: true, affine: {transform: {linear: [1, 0, 0]}}, mass: 2,"), "SC501"),
    (SCENE.replace("a: {mass: 2,", "a: {affine: {transform: {linear: [1, 0, 0], shift: [1, 0, 0]}}, mass: 2,"), "SC207"),
    (SCENE.replace("a: {mass: 2, inertia: {diag: [1, 1, 1]}}", "a: {mass: 2, inertia: point}"), "SC452"),
    (SCENE.replace("a: {mass: 2,", "a: {affine: {transform: {}}, mass: 2,"), "SC207"),
    (SCENE.replace("affine,", "natural,").replace("a: {mass: 2,", "a: {affine: {volume: 1}, mass: 2,"), "SC501"),
])  # fmt: skip
def test_scenes_that_are_refused(text, code):
    assert {fault[0] for fault in faults_of(text)} == {code}


def model_of(text):
    return build(resolve(scene(text)))


def test_stiffness_is_a_ratio_of_mass_or_physical():
    ratio = 5.0 / 0.01**2
    for more, stiffness in (("", 100.0 * ratio), ("strength_ratio: 7", 7.0 * ratio), ("compliance: 1e-5", 1e5)):
        model = model_of(SCENE + PIN.format(type="revolute", more=more))
        assert model.affine.joint_stiffness[0, 0] == pytest.approx(stiffness, rel=1e-14)
    for more, stiffness in (("", 100.0 * ratio), ("strength_ratio: 7", 7.0 * ratio), ("stiffness: 30", 30.0)):
        for kind, rows in (("revolute", 1), ("prismatic", 2)):
            model = model_of(SCENE + PIN.format(type=kind, more=f"driving: {{is_constrained: true, {more}}}"))
            rows = rows if "stiffness" not in more else 1
            assert model.affine.driving_stiffness[0, 0] == pytest.approx(stiffness * rows, rel=1e-14)
            assert model.affine.driving_acts[0, 0] == 1.0


def test_volume_is_that_of_the_shapes_or_of_the_mass():
    boxes = SCENE.replace("inertia: {diag: [1, 1, 1]}", "shapes: {s: {type: box, size: [1, 2, 3]}}")
    shapes = f"contact: {{enabled: false}}\n{boxes}"
    np.testing.assert_allclose(model_of(SCENE).affine.shape_stiffness, [[1e8 * 0.002, 1e8 * 0.003]])
    np.testing.assert_allclose(model_of(shapes).affine.shape_stiffness, [[6e8, 6e8]])
    assert not model_of(SCENE).affine.driving_acts.any()


def test_a_drive_does_not_act_unless_it_says_so():
    model = model_of(SCENE + PIN.format(type="revolute", more="driving: {aim_angle: 1.0}"))
    assert model.affine.driving_acts[0, 0] == 0.0
