"""Selection: one language of patterns in scenes, on the command line and in Python.

One name for one quantity: in `expect` and `stop_when` it means what the older spellings mean, which `check` mentions.
"""

import json
import re
from fnmatch import fnmatchcase

import numpy as np
import pytest
from jsonschema import Draft7Validator
from support.arms import ARMS
from support.process import simcli
from support.scenes import scene

import simcli as package
from simcli.analysis import channels
from simcli.analysis.channels import locate_channel
from simcli.errors import Exit, OutputError, SceneError
from simcli.model import build
from simcli.model.joints.selection import choose_selection, owners
from simcli.model.measure_rows import measures_of
from simcli.records.contents import layout
from simcli.records.contents.select import selection
from simcli.spec import json_schema, load_document, resolve, resolved_yaml
from simcli.spec.base.channel_names import CHANNEL_GROUPS, PLURAL, SCALARS, WATCHED, canonical, pattern, split_name
from simcli.spec.base.patterns import fits, matching, wanted
from simcli.spec.resolve import warnings
from simcli.spec.schema.run_sections import SelectSpec

NAMES = ("base", "left/arm", "left/arm2", "right/arm", "arm", "left/hand/finger", "finger", "Arm")
PATTERNS = ("*", "arm", "arm*", "left/*", "*/arm", "?rm", "[bf]*", "fing?r", "nothing", "left", "ar", "*/*/*", "ARM", "Arm")

FOUR_BAR = """
bodies:
  crank: {pose: {xyz: [0, 0, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.1, 0.1, 0.1]}}
  rod: {pose: {xyz: [1, 0, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.1, 0.1, 0.1]}}
  loose: {mass: 1, inertia: {diag: [1, 1, 1]}}
joints:
  pin: {type: revolute, parent: world, child: crank, at: [0, 0, 0], axis: [0, 1, 0]}
  knee: {type: revolute, parent: crank, child: rod, at: [1, 0, 0], axis: [0, 1, 0]}
  close: {type: revolute, parent: world, child: rod, at: [2, 0, 0], axis: [0, 1, 0], loop: true}
  tie: {type: distance, parent: loose, child: rod, length: 1, loop: true}
"""


def arms(**changes):
    """The scene of arms with keys of its top level replaced or added."""
    lines = [line for line in ARMS.splitlines() if line.split(":")[0] not in ("simcli", *changes)]
    return "\n".join([*lines, *(f"{key}: {value}" for key, value in changes.items())])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_text_fits_the_name_or_its_last_part_and_a_name_means_itself(pattern):
    by_hand = [k for k, name in enumerate(NAMES) if fnmatchcase(name, pattern) or fnmatchcase(name.split("/")[-1], pattern)]
    expected = [NAMES.index(pattern)] if pattern in NAMES else by_hand
    assert matching(NAMES, pattern) == expected
    assert [k for k, name in enumerate(NAMES) if fits(name, pattern)] == by_hand


def test_a_name_of_several_things_means_them_all():
    assert matching(["arm", "left/arm", "arm"], "arm") == [0, 2]


def test_lists_unite_regexes_match_whole_names_and_integers_are_places():
    assert matching(NAMES, ["arm2", "base", "b*"]) == [0, 2]
    assert matching(NAMES, re.compile("arm")) == [1, 3, 4]  # a regex is no name: it fits last parts too
    assert matching(NAMES, re.compile("ar|left/hand")) == []
    assert matching(NAMES, [re.compile(r"\w+"), "left/a*"]) == list(range(8))
    assert matching(NAMES, np.array([1, 3])) == [1, 3]
    assert matching(NAMES, []) == []


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ([1, 1], ValueError),
        ([2, 1], ValueError),
        ([True], ValueError),
        ([0, "arm"], ValueError),
        (3, ValueError),
        (None, ValueError),
        ([1.0], ValueError),
        ([8], KeyError),
        ([-1], KeyError),
    ],
)
def test_what_is_no_pattern_is_refused(pattern, error):
    with pytest.raises(error):
        matching(NAMES, pattern)


def test_a_title_means_its_group_unless_a_name_has_it():
    groups = {"crew": (0, 6), "arm": (0,), "other/crew": (2,)}
    assert matching(NAMES, "crew", groups) == [0, 6]
    assert matching(NAMES, "cre*", groups) == [0, 2, 6]
    assert matching(NAMES, "arm", groups) == [4]


def test_inclusion_and_exclusion_are_set_algebra():
    rng = np.random.default_rng(5)
    kinds = ("x", "y", "x", "z", "y", "y", "x", None)
    for _ in range(200):
        include, exclude, types, without = (
            None if rng.random() < 0.4 else [str(p) for p in rng.choice(options, rng.integers(0, 3))]
            for options in (PATTERNS, PATTERNS, ("x", "y", "q"), ("x", "z"))
        )
        by_name = set(matching(NAMES, include or []))
        by_kind = {k for k, kind in enumerate(kinds) if types and kind in types}
        whole = set(range(8)) if include is None and types is None else by_name | by_kind
        left = whole - set(matching(NAMES, exclude or []))
        left -= {k for k, kind in enumerate(kinds) if without and kind in without}
        assert wanted(NAMES, kinds, include, exclude, types, without) == sorted(left)


def test_an_articulation_means_all_that_belongs_to_it():
    model = build(resolve(scene(arms())))
    bodies, joints = choose_selection(model, "drone", exclude="fleet/1*")
    assert {model.bodies.name[b] for b in bodies} == {f"fleet/0-0-0/{n}" for n in ("hull", "mast", "lamp")}
    assert {model.joints.name[j] for j in joints} == {f"fleet/0-0-0/{n}" for n in ("gimbal", "lift", "hull_free")}
    bodies, joints = choose_selection(model, "row/*/arm", types=["prismatic"], exclude_types=["revolute"])
    assert len(bodies) == 6
    assert {model.joints.name[j] for j in joints} == {"fleet/0-0-0/lift", "fleet/1-0-0/lift"}


def test_a_loop_joint_belongs_to_the_articulation_of_both_its_bodies():
    try:
        spec = resolve(scene(FOUR_BAR))
    except SceneError as error:  # the solver of this version may not run loops; the scene is sound
        spec = error.spec
    model = build(spec)
    of_body, of_joint = owners(model)
    names = [model.joints.articulation_name[a] if a >= 0 else "" for a in of_joint]
    by_joint = dict(zip(model.joints.name, names, strict=True))
    assert by_joint == {"pin": "crank", "knee": "crank", "close": "crank", "tie": "", "loose_free": "loose"}
    assert [model.joints.articulation_name[a] for a in of_body] == ["crank", "crank", "loose"]
    # An articulation that nobody named has its root body's name, and the body is what the name means.
    assert [part.tolist() for part in choose_selection(model, "crank")] == [[0], []]


@pytest.mark.parametrize(
    "select",
    ['["row*", gimbal]', '{include: ["row*"], exclude: ["row/1*"], types: [universal], exclude_types: [free]}'],
)
def test_both_spellings_of_select_survive_the_resolved_text(tmp_path, select):
    spec = resolve(scene(arms(output=f"{{every: 0.01, select: {select}}}")))
    (tmp_path / "again.yaml").write_text(resolved_yaml(spec))
    assert resolve(load_document(tmp_path / "again.yaml")) == spec
    kept = selection(build(spec), spec.output.select).label["J"]
    middle = 0 if "exclude" in select else 2
    assert len(kept) == 4 + middle + 2
    assert sum("row/1-0-0/" in name for name in kept) == middle


def test_the_json_schema_knows_both_spellings():
    schema = Draft7Validator(json_schema())
    for select in (["row*"], {"include": ["row*"], "exclude": ["row/1*"]}):
        assert schema.is_valid({"simcli": 1, "output": {"select": select}})
    assert not schema.is_valid({"simcli": 1, "output": {"select": {"tipes": ["revolute"]}}})


@pytest.mark.parametrize(
    ("select", "code", "path"),
    [
        ('["row*", «wing]', "SC313", "output.select[1]"),
        ("{exclude: [«wing]}", "SC313", "output.select.exclude[0]"),
        ('«{exclude: ["*"]}', "SC313", "output.select"),
        ("[row/0-0-0/elbow, «row/0-0-0/upper_free]", "SC313", "output.select[1]"),
        ("{types: [«revolut]}", "SC206", "output.select.types[0]"),
        ("{«tipes: [revolute]}", "SC204", "output.select.tipes"),
        ("«row", "SC203", "output.select"),
        ("[«1]", "SC203", "output.select[0]"),
    ],
)
def test_a_selection_that_means_nothing_is_a_fault_with_its_place(select, code, path):
    text = arms(output=f"{{every: 0.01, select: {select}}}")
    document = scene(text.replace("«", ""))
    with pytest.raises(SceneError) as caught:
        build(resolve(document), document)
    (found,) = caught.value.faults
    assert (found.code, found.where.path) == (code, path)
    assert (found.where.line, found.where.column) == (text.count("\n") + 2, text.splitlines()[-1].index("«") + 1)


def test_an_articulation_keeps_its_bodies_where_its_joints_are_excluded():
    document = scene(arms(output='{every: 0.01, select: {include: [row/0-0-0/arm], exclude: ["*/shoulder", "*/elbow"]}}'))
    model = build(resolve(document), document)
    assert selection(model, resolve(document).output.select).label["B"] == ("row/0-0-0/upper", "row/0-0-0/fore")


@pytest.mark.parametrize(
    "changes",
    [
        {"measure": "{x: {max: «joint.row/0-0-0/fore_free.q}}"},
        {"expect": "[{max: «joint.row/0-0-0/fore_free.q, below: 3}]"},
        {"sensors": "{x: {type: encoder, joint: «row/0-0-0/fore_free}}"},
        {"initial": "{joint_q: {«row/0-0-0/fore_free: [0, 0, 0, 0, 0, 0, 1]}}"},
        {"output": "{every: 0.01, select: [«row/0-0-0/fore_free]}"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_body_on_a_joint_has_no_free_joint(changes):
    text = arms(**changes)
    with pytest.raises(SceneError) as caught:
        resolve(scene(text.replace("«", "")))
    (found,) = caught.value.faults
    assert (found.where.line, found.where.column) == (text.count("\n") + 2, text.splitlines()[-1].index("«") + 1)
    assert found.hint == "body `row/0-0-0/fore` is held by a joint, so that it has no free joint: name that joint"
    resolve(scene(text.replace("«", "").replace("row/0-0-0/fore", "fleet/0-0-0/hull")))


def test_a_file_without_bodies_and_joints_is_refused():
    model = build(resolve(scene(arms())))
    for select in (["wing"], ["row*", "wing"]):
        with pytest.raises(OutputError, match="`wing` matches no body, no joint and no articulation"):
            selection(model, select)
    with pytest.raises(OutputError, match="keeps no body and no joint"):
        selection(model, SelectSpec(include=["row*"], exclude=["arm"]))


def test_initial_takes_articulations_and_last_parts():
    spec = resolve(scene(arms(initial='{joint_q: {"row/*": 10 deg, "row/1*/arm": 0.7, elbow: 0.5, lift: 2 cm}}')))
    model = build(spec)
    q = dict(zip(model.dofs.q_label, model.joint_q[0], strict=True))
    assert q["row/0-0-0/shoulder"] == np.deg2rad(10)
    assert q["row/1-0-0/shoulder"] == 0.7
    assert [q[f"row/{k}-0-0/elbow"] for k in range(3)] == [0.5] * 3
    assert q["fleet/1-0-0/lift"] == 0.02


@pytest.mark.parametrize(
    ("joint_q", "code"),
    [
        ('{"fleet/*/l*": 3 deg}', "SC213"),  # an angle for a slide
        ('{"*shoulder": [1, 2]}', "SC463"),
        ('{"wing": 1}', "SC454"),
        ('{"*/drone": 5 cm}', "SC213"),  # a length for the articulation's turns as well
    ],
)
def test_initial_values_must_fit_every_joint_that_a_pattern_means(joint_q, code):
    text = arms(initial=f"{{joint_q: {joint_q}}}")
    with pytest.raises(SceneError) as caught:
        resolve(scene(text))
    assert code in {fault.code for fault in caught.value.faults}


def test_run_select_cuts_the_file_as_the_scene_does(tmp_path):
    (tmp_path / "arms.yaml").write_text(ARMS)
    for words in ((), ("--select", "row/1*", "--select", "gimbal,lift")):
        done = simcli("run", "arms.yaml", "-q", "--force", "-o", f"{len(words)}.h5", *words, cwd=tmp_path)
        assert done.returncode == Exit.OK, done.stderr
    with package.open(tmp_path / "0.h5") as whole, package.open(tmp_path / "4.h5") as cut:
        assert cut.joints == tuple(f"row/1-0-0/{n}" for n in ("shoulder", "elbow")) + tuple(
            f"fleet/{k}-0-0/{n}" for k in range(2) for n in ("lift", "gimbal")
        )
        assert cut.bodies == ("row/1-0-0/upper", "row/1-0-0/fore")
        for name in cut.joints:
            assert np.array_equal(cut.joint(name).qdd[...], whole.joint(name).qdd[...])
        (found,) = locate_channel(cut, "joint.shoulder.q")
        assert found.name == "joint.row/1-0-0/shoulder.q"
    done = simcli("run", "arms.yaml", "--select", "wing", cwd=tmp_path)
    assert done.returncode == Exit.SCENE
    assert "SC313" in done.stderr


def test_show_says_what_a_selection_means(tmp_path):
    (tmp_path / "arms.yaml").write_text(ARMS)
    words = ("show", "arms.yaml", "--select", "row/2*/arm", "--json")
    found = json.loads(simcli(*words, cwd=tmp_path).stdout)
    joints = ["row/2-0-0/shoulder", "row/2-0-0/elbow"]
    bodies = ["row/2-0-0/upper", "row/2-0-0/fore"]
    assert found["selection"] == {"articulations": ["row/2-0-0/arm"], "joints": joints, "bodies": bodies}
    assert [entry["joint"] for entry in found["tree"]] == joints[:1]
    assert [row["label"] for row in found["layout"]["joint_q"]] == joints
    assert [row["joint"] for row in found["dof"]["joints"]] == joints
    text = simcli("show", "arms.yaml", "--select", "lift", "--tree", cwd=tmp_path).stdout
    assert "joints (2)\n  fleet/0-0-0/lift\n" in text
    assert "fleet/1-0-0/hull_free (free)" in text  # what the lift hangs on
    assert "row/" not in text
    assert simcli("show", "arms.yaml", "--select", "wing", cwd=tmp_path).returncode == Exit.USAGE


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
    before, after = (
        measures_of({}, build(spec, text), 1e-3, spec.run.stop_when) for spec, text in ((spec_old, old), (spec_new, new))
    )
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
