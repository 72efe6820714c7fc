"""Keyframes: states by name, values on top of them, overrides, worlds, units, the resolved scene, mistakes."""

import json

import numpy as np
import pytest
from support.scenes import faults_of

from simcli.cli.doorman import run_command
from simcli.model import build_worlds
from simcli.pipeline import read_scene
from simcli.spec import resolve, resolved_yaml
from simcli.spec.document.scene_file import load_document

ARM = """simcli: 1
params: {bend: 0.5}
bodies:
  upper: {mass: 1, inertia: {diag: [1, 1, 1]}}
  lower: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [1, 0, 0]}}
joints:
  shoulder: {type: revolute, parent: world, child: upper, q: 2, limit: {lower: -1, upper: 3}}
  elbow: {type: revolute, parent: upper, child: lower, at: [1, 0, 0], qd: 9}
keyframes:
  home: {joint_q: {"*": 0.1, elbow: 90 deg}, joint_qd: {shoulder: 2}}
  bent: {joint_q: {shoulder: center, elbow: "${bend}"}}
INITIAL
"""


def start(tmp_path, initial, sets=()):
    """joint_q and joint_qd of all worlds."""
    path = tmp_path / "s.yaml"
    path.write_text(ARM.replace("INITIAL", initial))
    model = build_worlds(*read_scene(path, sets))
    return model.joint_q, model.joint_qd


@pytest.mark.parametrize(("initial", "sets", "q", "qd"), [
    ("", (), [2, 0], [0, 9]),
    ("initial: home", (), [0.1, np.pi / 2], [2, 9]),
    ("", ("initial=home",), [0.1, np.pi / 2], [2, 9]),
    ("initial: home", ("initial=bent",), [1, 0.5], [0, 9]),
    ("initial: bent", ("params.bend=0.7",), [1, 0.7], [0, 9]),
    ("initial: {keyframe: home, joint_q: {shoulder: 0.3}}", (), [0.3, np.pi / 2], [2, 9]),
    ("initial: {keyframe: home, joint_q: {'*': 0.3}, joint_qd: {elbow: 1}}", (), [0.3, 0.3], [2, 1]),  # later ones win
    ("initial: {keyframe: home}", ("initial.joint_q.elbow=0.2",), [0.1, 0.2], [2, 9]),
    ("initial: home", ("keyframes.home.joint_q.elbow=0.2",), [0.1, 0.2], [2, 9]),
])  # fmt: skip
def test_where_a_run_begins(tmp_path, initial, sets, q, qd):
    found = start(tmp_path, initial, sets)
    np.testing.assert_allclose(found, [[q], [qd]], rtol=0, atol=1e-15)


def test_worlds_vary_what_keyframes_say(tmp_path):
    varied = "initial: bent\nbatch: {worlds: 2, vary: {VARIED: {list: [0.2, 0.4]}}}"
    for name in ("params.bend", "initial.joint_q.elbow", "keyframes.bent.joint_q.elbow"):
        q, _qd = start(tmp_path, varied.replace("VARIED", name))
        np.testing.assert_array_equal(q, [[1, 0.2], [1, 0.4]])


def test_a_keyframe_in_which_no_run_begins_is_not_varied():
    found = faults_of("batch: {worlds: 2, vary: {keyframes.home.joint_q.elbow: {list: [0.2, 0.4]}}}\n",
                      ARM.removeprefix("simcli: 1\n").replace("INITIAL", "initial: bent"))
    assert [(code, "changes nothing" in text) for code, _, text in found] == [("SC317", True)]


def test_the_resolved_scene_begins_there_and_keeps_the_others(tmp_path):
    (tmp_path / "a.yaml").write_text(ARM.replace("INITIAL", "initial: home"))
    spec = resolve(load_document(tmp_path / "a.yaml"))
    assert spec.initial.keyframe is None
    (tmp_path / "b.yaml").write_text(resolved_yaml(spec))
    again = resolve(load_document(tmp_path / "b.yaml"))
    assert again.initial == spec.initial
    assert again.keyframes == spec.keyframes
    assert list(again.keyframes) == ["home", "bent"]


def test_show_and_check_know_them(tmp_path, capsys):
    (tmp_path / "s.yaml").write_text(ARM.replace("INITIAL", "initial: home"))
    assert run_command(["show", str(tmp_path / "s.yaml"), "--layout"], debug=False, as_json=False) == 0
    assert "keyframes: home, bent" in capsys.readouterr().out
    assert run_command(["show", str(tmp_path / "s.yaml"), "--layout", "--json"], debug=False, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["keyframes"] == ["home", "bent"]
    assert run_command(["check", str(tmp_path / "s.yaml")], debug=False, as_json=False) == 0


CONTROLS = """joints: {pin: {type: revolute, parent: world, child: rod, drive: {mode: position, stiffness: 5, target: 0.1}}}
bodies: {rod: {mass: 1, inertia: {diag: [1, 1, 1]}}}
params: {lift: 0.5}
signals: {u: {constant: 1}, v: {constant: 1}}
forces: {push: {type: wrench, body: rod, force: [0, 0, $u]}, more: {type: wrench, body: rod}}
keyframes:
  home: {controls: {joints.pin.drive.target: 90 deg, signals.u.constant: 7, "forces.more.force[1]": 3}}
  bent: {controls: {joints.pin.drive.target: "${lift}"}}
INITIAL
"""


@pytest.mark.parametrize(("initial", "sets", "target", "constant"), [
    ("", (), 0.1, 1),
    ("initial: home", (), np.pi / 2, 7),
    ("", ("initial=home",), np.pi / 2, 7),
    ("initial: bent", ("params.lift=0.7",), 0.7, 1),
    ("initial: {keyframe: home, controls: {joints.pin.drive.target: 0.3}}", (), 0.3, 7),
    ("initial: {controls: {signals.u.constant: 2}}", (), 0.1, 2),
    ("initial: home", ("joints.pin.drive.target=0.2",), 0.2, 7),  # what is typed counts before what a keyframe says
])  # fmt: skip
def test_controls_of_the_start(tmp_path, initial, sets, target, constant):
    text = "simcli: 1\n" + CONTROLS.replace("INITIAL", initial)
    for given in (sets, ()):  # as written, and as resolved
        (tmp_path / "s.yaml").write_text(text)
        spec = resolve(load_document(tmp_path / "s.yaml", given))
        assert spec.joints["pin"].drive[0].target == pytest.approx(target, rel=1e-15)
        assert spec.signals["u"].constant == (constant,)
        assert spec.forces["more"].force == ((0, 3, 0) if "home" in initial + "".join(sets) else (0, 0, 0))
        assert "joints.pin.drive.target" not in spec.initial.controls or target != 0.2
        text = resolved_yaml(spec)


def test_worlds_vary_controls(tmp_path):
    """By the parameters of a keyframe, or as targets, over what the keyframe says."""
    for name in ("params.lift", "joints.pin.drive.target"):
        varied = f"initial: bent\nbatch: {{worlds: 2, vary: {{{name}: {{list: [0.2, 0.4]}}}}}}"
        (tmp_path / "s.yaml").write_text("simcli: 1\n" + CONTROLS.replace("INITIAL", varied))
        model = build_worlds(*read_scene(tmp_path / "s.yaml", ()))
        np.testing.assert_array_equal(model.dofs.drive_target, [[0.2], [0.4]])


@pytest.mark.parametrize(("old", "new", "code", "line"), [
    ("pin.drive.target: 90 deg", "pn.drive.target: 90 deg", "SC303", 6),
    ("pin.drive.target: 90 deg", "pin.drive.target: 90 kg", "SC213", 6),
    ("pin.drive.target: 90 deg", "pin.drive.stiffness: 9", "SC326", 6),
    ("signals.u.constant: 7", "'forces.push.force[2]': 2", "SC326", 6),
    ("signals.u.constant: 7", "signals.u.constant: $v", "SC326", 6),
    ("INITIAL", "initial: {controls: {joints.pin.drive.target: 3 kg}}", "SC213", 8),
    ("INITIAL", "initial: {controls: {'forces.more.force[3]': 3}}", "SC303", 8),
    ("INITIAL", "initial: {controls: {joints.pin.damping: 3}}", "SC326", 8),
])  # fmt: skip
def test_controls_that_are_none(old, new, code, line):
    for initial in ("", "initial: home"):  # one mistake, one fault, whether a run begins there or not
        faults = faults_of(CONTROLS.replace(old, new).replace("INITIAL", initial))
        assert [fault[:2] for fault in faults] == [(code, line)], (faults, initial)


def test_events_and_overrides_of_a_resolved_scene(tmp_path):
    """A resolved scene writes drives as lists of one; a key of such a list is that of its entry."""
    text = CONTROLS.replace("INITIAL", "events: [{at: 0.1, set: {joints.pin.drive.target: 2}}]")
    (tmp_path / "a.yaml").write_text(f"simcli: 1\n{text}")
    (tmp_path / "b.yaml").write_text(resolved_yaml(resolve(load_document(tmp_path / "a.yaml"))))
    spec = resolve(load_document(tmp_path / "b.yaml", ["joints.pin.drive.stiffness=9"]))
    assert (spec.joints["pin"].drive[0].stiffness, spec.joints["pin"].drive[0].target) == (9, 0.1)


@pytest.mark.parametrize(("old", "new", "code", "line"), [
    ("initial: home", "initial: hom", "SC325", 11),
    ("initial: home", "initial: {keyframe: hom}", "SC325", 11),
    ("elbow: 90 deg", "elbw: 90 deg", "SC454", 9),
    ("elbow: 90 deg", "elbow: [1, 2]", "SC463", 9),
    ("shoulder: 2}", "shoulder: 2 kg}", "SC213", 9),
    ("shoulder: center, elbow", "elbow: center, shoulder", "SC458", 10),
    ("joint_qd: {shoulder: 2}", "time: 1", "SC204", 9),
    ("initial: home", "initial: {keyframe: home, joint_q: 3}", "SC203", 11),
])  # fmt: skip
def test_mistakes_are_told_once_and_where_they_stand(old, new, code, line):
    text = ARM.replace("simcli: 1\n", "").replace("INITIAL", "initial: home").replace(old, new)
    faults = faults_of(text)
    assert [fault[:2] for fault in faults] == [(code, line - 1)], faults
