"""One name for one quantity: in `expect` and `stop_when` it means what the older spellings mean, which `check` mentions."""

import json
import re

import pytest
from support.process import simcli
from support.scenes import scene

from simcli.analysis import channels
from simcli.errors import SceneError
from simcli.model import build
from simcli.model.measures import measures_of
from simcli.records.contents import layout
from simcli.spec import resolve
from simcli.spec.names.channel_names import CHANNEL_GROUPS, PLURAL, SCALARS, WATCHED, canonical, pattern, split_name
from simcli.spec.resolve import warnings

BASE = """
models:
  arm:
    bodies: {rod: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}, points: {tip: [1, 0, 0]}}}
    joints: {pin: {type: revolute, parent: world, child: rod, axis: [0, 1, 0]}}
instances: {left: {model: arm}}
bodies: {ball: {pose: {xyz: [0, 3, 0]}, mass: 1, inertia: {diag: [1, 1, 1]}}}
"""


def document(stop="", *expect):
    stop = f", stop_when: {{{stop}}}" if stop else ""
    return scene(f"{BASE}run: {{duration: 1{stop}}}\nexpect: [{', '.join(f'{{{one}}}' for one in expect)}]\n")


def found(text):
    """Spec, and what is mentioned: code, line text from the marked place on, hint."""
    spec = resolve(text)
    return spec, [(one.code, one.severity, text.line(one.where)[one.where.column - 1 :], one.hint) for one in warnings(text)]


def test_the_names_are_those_of_the_reader_and_of_the_file():
    assert {group: tuple(names) for group, names in channels.QUANTITIES.items()} == CHANNEL_GROUPS
    for group, names in SCALARS.items():
        stored = [row.path.removeprefix(f"{group}/") for row in layout.DATASETS if row.path.startswith(f"{group}/")]
        assert set(stored) == set(names)
    assert set(PLURAL.values()) == set(CHANNEL_GROUPS)


@pytest.mark.parametrize("text", ["joint.left/pin.q", "body.ball.position", "point.left/rod/tip.velocity", "energy.total"])
def test_a_name_is_split_and_written_again(text):
    assert str(split_name(text)) == text == canonical(text)
    assert re.fullmatch(pattern(), text)
    many = {one: words for words, one in PLURAL.items()}.get(text.partition(".")[0])
    if many:
        plural = many + text[text.index(".") :]
        assert canonical(plural) == text
        assert re.fullmatch(pattern(), plural)


@pytest.mark.parametrize("word", WATCHED)
@pytest.mark.parametrize(("joint", "component"), [("left/pin", 0), ("ball_free", 5)])
def test_both_spellings_stop_alike(word, joint, component):
    unit = {"joint_q": "60 deg", "joint_qd": "10 rpm"}[word] if joint == "left/pin" else "0.5"
    more = f"component: {component}, above: {unit}, below: -2"
    name = f"joint.{joint}.{WATCHED[word]}"
    old, new = document(f"quantity: {word}, joint: {joint}, {more}"), document(f"quantity: {name}, {more}")
    (spec_old, told), (spec_new, quiet) = found(old), found(new)
    before, after = (measures_of({}, build(spec, text), 1e-3, spec.run.stop_when)
                     for spec, text in ((spec_old, old), (spec_new, new)))  # fmt: skip
    assert before == after
    assert (after.stops, after.part, after.stop) == (1, [component], name)
    assert quiet == []
    (note,) = told
    assert note[:2] == ("SC318", "note")
    assert note[2].startswith(word)
    assert note[3] == f"write `quantity: {name}`"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("at: end, joint: left/pin, quantity: q", "quantity: joint.left/pin.q"),
        ("at: end, body: ball, quantity: velocity", "quantity: body.ball.velocity"),
        ("at: end, point: left/rod/tip, quantity: position", "quantity: point.left/rod/tip.position"),
        ("at: end, quantity: points.left/rod/tip.position", "quantity: point.left/rod/tip.position"),
        ("max: joints.left/pin.qd", "max: joint.left/pin.qd"),
        ("min: bodies.ball.position", "min: body.ball.position"),
    ],
)
def test_older_spellings_of_expectations_are_mentioned_where_they_stand(old, new):
    key = new.partition(":")[0]
    at = "at: end, " if "at:" in old else ""
    spec, told = found(document("", f"{old}, below: 1", f"{at}{new}, below: 1"))
    assert spec.expect[0].channel == spec.expect[1].channel
    (note,) = told
    assert note[:2] == ("SC318", "note")
    assert note[2].startswith(re.search(rf"\b{key}: ([^ ,]+)", old).group(1))
    assert note[3] == f"write `{new}`"


@pytest.mark.parametrize(
    ("stop", "expect", "code", "hint"),
    [
        ("quantity: joint.left/pim.q, above: 1", "", "SC305", "`joint.left/pin.q`"),
        ("quantity: joint.left/pin.p, above: 1", "", "SC315", "joint.left/pin.q"),
        ("quantity: diag.gap, above: 1", "", "SC315", "`expect: [{max: diag.gap"),
        ("quantity: joint.left/pin.q, joint: left/pin, above: 1", "", "SC207", "remove `joint`"),
        ("quantity: joint_q, above: 1", "", "SC202", "joint.NAME.q"),
        ("quantity: joint.left/pin.q, component: 1, above: 1", "", "SC205", ""),
        ("", "at: end, quantity: joint.left/pin.qf, below: 1", "SC315", "`joint.left/pin.q"),
        ("", "at: end, quantity: jont.left/pin.q, below: 1", "SC315", "`joint.left/pin.q`"),
        ("", "at: end, quantity: energy.totl, below: 1", "SC315", "`energy.total`"),
        ("", "at: end, quantity: diag.resdual, below: 1", "SC315", "`diag.residual`"),
        ("", "max: diag.resdual, below: 1", "SC315", "`diag.residual`"),
        ("", "max: energy.left/pin.drift, below: 1", "SC315", ""),
        ("", "max: joint.q, below: 1", "SC315", ""),
        ("", "at: end, quantity: point.left/rod/tipp.position, below: 1", "SC310", "`point.left/rod/tip.position`"),
        ("", "at: end, quantity: body.bal.position, below: 1", "SC304", "`body.ball.position`"),
        ("", "at: end, body: ball, quantity: body.ball.position, below: 1", "SC207", "remove `body`"),
        ("", "max: energy.drift, joint: left/pin, below: 1", "SC207", "whole name"),
        ("", "at: end, joint: left/pin, quantity: position, below: 1", "SC207", ""),
    ],
)
def test_what_is_no_name_is_refused_with_what_is_meant(stop, expect, code, hint):
    with pytest.raises(SceneError) as caught:
        resolve(document(stop, *([expect] if expect else [])))
    (fault,) = caught.value.faults
    assert fault.code == code
    assert hint in fault.hint
    assert fault.where.line


def test_what_is_mentioned_is_in_the_order_of_the_file():
    text = document("quantity: joint_q, joint: left/pin, above: 1", "min: joints.left/pin.q, above: -1")
    lines = [one.where.line for one in (resolve(text), warnings(text))[1]]
    assert lines == sorted(lines)
    assert len(lines) == 2


def test_check_mentions_them_and_takes_the_scene(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(f"simcli: 1{BASE}run: {{duration: 1}}\nexpect: [{{min: joints.left/pin.q, above: -9}}]\n")
    done = simcli("check", "--strict", path)
    assert done.returncode == 0
    assert "note[SC318]" in done.stderr
    assert "0 errors, 0 warnings, 1 note; 0 of 1 file bad" in done.stderr
    done = simcli("check", "--format", "sarif", path)
    assert [one["level"] for one in json.loads(done.stdout)["runs"][0]["results"]] == ["note"]


@pytest.mark.parametrize("name", ["diag.residual", "diag.penetration", "diag.position_violation"])
def test_the_hint_of_a_diagnostic_is_true(name):
    """What it says to write checks clean, where no step may look at the diagnostic."""
    text = "bodies: {a: {mass: 1, inertia: {diag: [1, 1, 1]}}}\n"
    found = []
    for line in (f"measure: {{m: {{max: {name}}}}}\n", f"run: {{stop_when: {{quantity: {name}, above: 1}}}}\n"):
        with pytest.raises(SceneError) as refused:
            resolve(scene(text + line))
        (fault,) = refused.value.faults
        found.append(re.search(r"`(expect: .*?)`", fault.hint).group(1))
    assert found[0] == found[1]
    resolve(scene(f"{text}{found[0]}\n"))
