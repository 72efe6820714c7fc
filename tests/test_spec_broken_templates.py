"""Broken templates and instances: their faults, those behind them, and no others, all in one pass."""

import pytest

from simcli.errors import SceneError
from simcli.spec import load_document, resolve

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


def faults_of(folder, text, sets=()):
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
    assert faults_of(tmp_path, text, ["joints.left/pin.damping=1"]) == [(code, 9) for code in codes]


@pytest.mark.parametrize(("instance", "codes"), BROKEN)
def test_faults_behind_a_broken_instance_come_with_it(tmp_path, instance, codes):
    text = HEAD.replace("rod: {mass", "rod: {mas: 1, mass").replace("parent: world, child", "pearent: world, child")
    found = faults_of(tmp_path, f"{text}instances: {{left: {instance}}}\n")
    assert found == sorted([("SC204", 6), ("SC204", 8), *((code, 9) for code in codes)])


@pytest.mark.parametrize("replica", ["{model: link, count: 2}", "{model: link, count: -1, spacing: [1, 0, 0]}"])
def test_a_replica_that_cannot_be_counted_too(tmp_path, replica):
    text = HEAD.replace("rod: {mass", "rod: {mas: 1, mass") + f"replicate: {{grid: {replica}}}\n{BODY}"
    text += "joints: {j: {type: revolute, parent: grid/1-0-0/rod, child: b}}\n"
    found = faults_of(tmp_path, text)
    assert ("SC204", 6) in found
    assert sorted(line for _, line in found) == [6, 9]


def test_a_name_that_no_instance_makes_is_still_reported(tmp_path):
    text = f"{HEAD}instances: {{left: {{model: lnk}}, right: {{model: link, at: {{xyz: [0, 1]}}}}}}\n{BODY}"
    text += "joints: {j: {type: revolute, parent: right/rodd, child: bb}}\n"
    assert faults_of(tmp_path, text) == [("SC205", 9), ("SC304", 11), ("SC304", 11), ("SC307", 9)]


def test_a_template_that_nothing_uses_is_read_too(tmp_path):
    assert faults_of(tmp_path, HEAD + BODY) == []
    assert faults_of(tmp_path, HEAD.replace("mass:", "mas:") + BODY) == [("SC204", 6)]
    # Its parameters are an instance's business.
    assert faults_of(tmp_path, HEAD.replace("m: 1", "m: ~") + BODY) == []
