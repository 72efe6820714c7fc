"""One mistake, one fault: what follows from a section or an entry that is at fault is not told. And how many are printed."""

import json

import pytest
import yaml
from support.process import simcli

from simcli.errors import Exit, Fault, SceneError
from simcli.spec.document.scene_file import document_of_text
from simcli.spec.faults.diagnostics import MOST_SHOWN, render_faults
from simcli.spec.resolve import resolve
from simcli.spec.schema.scene import ENTRY_SECTIONS

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


def faults_of(text: str) -> list[Fault]:
    try:
        resolve(document_of_text(text, "scene.yaml"))
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
    assert faults_of(SCENE) == []


@pytest.mark.parametrize("section", [*ENTRY_SECTIONS, "articulations"])
def test_a_section_that_is_a_list_is_one_fault(section):
    found = faults_of(as_list(section))
    assert [(fault.code, fault.where.path) for fault in found] == [("SC203", section)]


@pytest.mark.parametrize(("key", "told"), [("damping", []), ("dampng", ["SC303"])])
def test_a_path_into_an_entry_that_is_at_fault(key, told):
    """A key that the schema knows may be meant as it stands; one that it does not know is a fault of its own."""
    text = SCENE.replace("at: [0, 0, 0.5]}", "at: [0, 0, 0.5], armature: x}")
    text = text.replace("set: {joints.pin.damping: 0.2}", f"set: {{joints.pin.{key}: 0.2}}")
    assert [fault.code for fault in faults_of(text)] == ["SC203", *told]


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
    found = faults_of(SCENE.replace("type: gyro", f"type: {written}"))
    assert [(fault.code, fault.hint) for fault in found] == [("SC206", "did you mean `gyro`?")]
