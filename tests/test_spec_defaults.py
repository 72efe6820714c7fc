"""Values of `defaults` for all, by pattern and by name: the more specific holds, in scenes, models and included files.

`integrator: auto`: the integrator of a scene that names none.

Keys that choose how one solver works are noted by the others: one scene serves all four.

Words of other programs: each is answered with the word of this one, wherever a scene may hold it.
"""

from dataclasses import fields
from functools import cache
from typing import get_args

import numpy as np
import pytest
from support.scenes import faults_of, scene

from simcli.errors import SceneError
from simcli.model import build_worlds
from simcli.spec import document_of_text, resolve
from simcli.spec.auto import FIRST_CHOICE, SECOND
from simcli.spec.checks.solver_fields import BUILT, CHOICES
from simcli.spec.document.resolved_yaml import to_yaml
from simcli.spec.faults import hints
from simcli.spec.faults.synonyms import KEYS, NOT_HERE, VALUES, value_meant
from simcli.spec.lookup.keys import fields as fields_of_synonyms
from simcli.spec.lookup.keys import known_keys, parts_at
from simcli.spec.resolve import warnings, why_integrator
from simcli.spec.schema.scene import SceneSpec

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
    'joint: {"leg_*": {damping: 1}}': "`leg_*` matches no joint",
    "joint: {arm_4: {damping: 1}}": "`arm_4` matches no joint",
    "joint: {drve: {damping: 1}}": "`drve` matches no joint",
    'body: {"[xy]": {mass: 1}}': "`[xy]` matches no body",
    "shape: {cone: {friction: 1}}": "`cone` matches no shape",
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


BALL = "shapes: {s: {type: sphere, radius: 0.1}}"


def text(solver, joint="", world="", body="", more=""):
    return (
        f"world: {{{world}}}\nbodies: {{rod: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, {body}}}, "
        "other: {mass: 1, inertia: {diag: [1, 1, 1]}}}\n"
        f"joints: {{pin: {{type: revolute, parent: world, child: rod{joint}}}}}\n"
        f"solver: {{type: {solver}}}\n{more}"
    )


def choice(*words, **more):
    document = scene(text(*words, **more))
    return resolve(document).solver.integrator, why_integrator(document)


@pytest.mark.parametrize("solver", sorted(FIRST_CHOICE))
def test_smooth_scenes_get_second_order_and_contact_first(solver):
    name, why = choice(solver)
    assert name == SECOND.get(solver, FIRST_CHOICE[solver])
    assert why
    touching = {"world": "shapes: {ground: {type: plane}}", "body": BALL}
    if solver != "affine":  # whose bodies touch by their own barrier; the choice is the same
        name, why = choice(solver, more="contact: {pairs: [{a: rod, b: ground, friction: 0.1}]}", **touching)
        assert name == FIRST_CHOICE[solver]
        assert "`world` and `rod` can touch" in why or solver == "maximal"


@pytest.mark.parametrize(
    ("joint", "more", "words"),
    [
        (", friction: 0.1", "", "joint `pin` has dry friction"),
        (", limit: [-1, 1]", "", "joint `pin` has a hard limit"),
        (", velocity_limit: 3", "", "joint `pin` has a velocity limit"),
        (", drive: {mode: position, stiffness: 9, effort_limit: 1}", "", "joint `pin` has an effort limit"),
        ("", "batch: {worlds: 2, vary: {joints.pin.friction: {list: [0, 1]}}}", "`joints.pin.friction` is set"),
        ("", "events: [{at: 0.1, set: {joints.pin.friction: 1}}]", "`joints.pin.friction` is set"),
        ("", "output: {channels: [state, contacts]}", "contacts are recorded"),
    ],
)
def test_sudden_laws_get_first_order(joint, more, words):
    name, why = choice("generalized", joint, more=more)
    assert name == "semi_implicit"
    assert words in why


def test_soft_limits_and_drives_are_smooth():
    soft = ", limit: {lower: -1, upper: 1, stiffness: 10}, drive: {mode: position, stiffness: 9}, damping: 1"
    assert choice("generalized", soft)[0] == "implicit"


TABLE = "time: [0, 0.1, 0.2, 0.4], value: [0, 0.1, 0.2, 0]"
RUN = "run: {duration: 1}\n"
SET = "events: [{at: 0.1, set: {%s: 2}}]"


@pytest.mark.parametrize(
    ("motion", "more", "words"),
    [
        ("{velocity: $s}", "signals: {s: {step: {after: 1, time: 0.3}}}", "joint `pin` jumps at 0.3 s"),
        ("{velocity: $s}", f"signals: {{s: {{table: {{{TABLE}, interpolate: previous}}}}}}", "joint `pin` jumps at 0.1 s"),
        ("{position: $s}", f"signals: {{s: {{table: {{{TABLE}}}}}}}", "joint `pin` jumps at 0.2 s"),
        ("{position: $s}", "signals: {s: {ramp: {to: 1, start: 0, end: 0.5}}}", "joint `pin` jumps at 0.5 s"),
        ("{velocity: 1}", SET % "joints.pin.motion.velocity", "an event sets `joints.pin.motion.velocity`"),
        (
            "{velocity: $s}",
            "signals: {s: {constant: 1}}\n" + SET % "signals.s.constant",
            "an event sets `signals.s.constant`",
        ),
        ("{velocity: $s}", f"signals: {{s: {{table: {{{TABLE}}}}}}}", ""),
        ("{velocity: $s}", "signals: {s: {step: {after: 1, time: 9}}}", ""),
        ("{velocity: $s}", "signals: {s: {step: {before: 1, after: 1, time: 0.3}}}", ""),
        ("{position: $s}", "signals: {s: {sine: {amplitude: 1, frequency: 1}}}", ""),
    ],
)
@pytest.mark.parametrize("solver", sorted(SECOND))
def test_rates_that_jump_leave_the_order_and_are_told(solver, motion, more, words):
    """Measured: with second order a pendulum at a slider whose rate steps has 1/20 to 1/200 of the error of first order."""
    name, why = choice(solver, f", motion: {motion}", more=RUN + more)
    assert name == SECOND[solver]
    assert why.startswith("of second order, because the motion is smooth")
    assert words in why if words else why.endswith("smooth")


@pytest.mark.parametrize(
    ("drive", "more", "words"),
    [
        ("target: $u", "signals: {u: {expression: '-{joint.pin.q}'}}", "signal `u` is sampled"),
        ("target: $u", "signals: {u: {pid: {input: '{joint.pin.q}', target: 1, kp: 2}}}", "signal `u` is sampled"),
        ("target: 1, activation: {time_constant: 0.1}", "", "activation of `joints.pin.drive` is sampled"),
        ("target: $u", "signals: {u: {expression: '-{joint.pin.q}', rate: 100}}", ""),  # whatever the step
        ("target: $u", "signals: {u: {sine: {amplitude: 1, frequency: 1}}}", ""),
        ("target: 1", "signals: {u: {expression: '-{joint.pin.q}'}}", ""),
    ],
)
@pytest.mark.parametrize("solver", sorted(SECOND))
def test_what_is_sampled_in_each_step_makes_the_motion_one_of_first_order(solver, drive, more, words):
    """It keeps the integrator of second order, and says that the motion is of first (test_feedback.py measures it)."""
    name, why = choice(solver, f", drive: {{mode: position, stiffness: 9, {drive}}}", more=RUN + more)
    assert name == SECOND[solver]
    if words:
        assert "of first order here" in why
        assert words in why
    else:
        assert why == "of second order, because the motion is smooth"


def test_a_kinematic_body_whose_rate_jumps_is_told():
    document = scene(
        text(
            "natural",
            body="kinematic: true, motion: {linear: [0, $s, 0]}",
            more=RUN + "signals: {s: {step: {after: 1, time: 0.3}}}",
        ).replace("revolute", "free")
    )
    resolve(document)
    assert why_integrator(document).endswith("but where the prescribed rate of body `rod` jumps at 0.3 s")


def test_what_is_named_stands_and_what_is_chosen_is_written():
    document = scene(text("generalized").replace("type: generalized", "type: generalized, integrator: rk4"))
    assert resolve(document).solver.integrator == "rk4"
    assert why_integrator(document) == ""
    document = scene(text("generalized"))
    assert "integrator: implicit" in to_yaml(resolve(document))


def test_worlds_have_the_integrator_of_the_scene():
    """Their own section `solver` is read again where a value in it varies."""
    document = scene(text("generalized"))
    base = resolve(document)
    for path, value in {"solver.max_velocity": 5.0, "joints.pin.friction": 1.0, "bodies.rod.mass": 2.0}.items():
        assert resolve(document, {path: value}).solver.integrator == base.solver.integrator == "implicit"


# A scene for every row of CHOICES: what it writes, where that is noted, and the solvers that have the key at all.
WRITTEN = {
    "bodies.*.natural": ("natural: {kind: 2P2V, points: [a, b]}", "bodies.rod.natural", BUILT),
    "solver.contact.linear": ("contact: {linear: sparse}", "solver.contact.linear", BUILT - {"affine"}),
}
ROD = """bodies:
  rod: {{mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}, points: {{a: [0, 0, 0], b: [1, 0, 0]}}{body}}}
solver: {{type: {solver}, dt: 1.0e-3{options}}}
"""


def text_of(path, solver):
    """The scene that makes the choice of a row."""
    written = f", {WRITTEN[path][0]}"
    on_body = path.startswith("bodies")
    options = ", integrator: moreau" * (solver == "natural") + written * (not on_body)
    return ROD.format(solver=solver, body=written * on_body, options=options)


@pytest.mark.parametrize("row", CHOICES, ids=lambda row: row.path)
@pytest.mark.parametrize("solver", sorted(BUILT))
def test_choices_are_noted_where_they_stand(row, solver):
    _, path, readers = WRITTEN[row.path]
    if solver not in readers:
        return
    document = scene(text_of(row.path, solver))
    resolve(document)
    noted = [fault for fault in warnings(document) if fault.code == "SC502"]
    assert [fault.where.path for fault in noted] == ([] if solver in row.solvers else [path])
    assert all(fault.where.line == (3 if path.startswith("bodies") else 4) for fault in noted)


@pytest.mark.parametrize("solver", sorted(BUILT - {"natural"}))
def test_bodies_are_those_of_the_scene_without_the_choice(solver):
    """The affine solver has natural coordinates of its own, whose kind is not that of the scene."""
    tables = []
    for kind in ("", ", natural: 1P1V"):
        document = scene(ROD.format(solver=solver, body=kind, options=""))
        tables.append(build_worlds(document, resolve(document)).bodies)
    for field in fields(tables[0]):
        np.testing.assert_array_equal(*(getattr(table, field.name) for table in tables))


@pytest.mark.parametrize("solver", sorted(BUILT - {"natural"}))
def test_bodies_that_yield_are_refused(solver):
    """Compliance is no choice: it changes the motion."""
    text = ROD.format(solver=solver, body=", natural: {kind: 1P3V, compliance: 1.0e-3}", options="")
    with pytest.raises(SceneError) as caught:
        resolve(scene(text))
    found = [(fault.code, fault.where.path) for fault in caught.value.faults if fault.severity == "error"]
    assert found == [("SC501", "bodies.rod.natural.compliance")]


def contexts():
    """Path and `type` of every kind of mapping that a scene may hold."""
    found, waiting = [], [()]
    while waiting:
        path = waiting.pop()
        parts = parts_at(path) if path else [SceneSpec]
        tags = [tag for part in parts for tag in get_args(fields_of_synonyms(part).get("type"))]
        found += [(path, tag) for tag in (tags if len(parts) > 1 else [""])] if parts else []
        for key in known_keys(path) or ["x"]:
            below = (*path, key)
            if len(below) <= 5 and (known_keys(below) or (parts and hints.is_named(below))):
                waiting.append(below)
    return found


CONTEXTS = contexts()


def keys_at(path, tag):
    return known_keys(path, tag)


def choices():
    """The lists of words that keys of a scene choose from."""
    found = {("world",)}
    for path, _ in CONTEXTS:
        for part in parts_at(path):
            found |= {tuple(hints.choices(kind)) for kind in fields_of_synonyms(part).values()}
    tagged = [parts_at(path) for path, _ in CONTEXTS if path]
    found |= {tuple(tag for part in parts for tag in get_args(fields_of_synonyms(part).get("type"))) for parts in tagged}
    return [words for words in found if words]


def target_is_there(path, tag, target):
    head, _, rest = target.partition(".")
    if head in SceneSpec.model_fields and rest:
        return path in ((), (head,)) and rest in known_keys((head,))
    return head in keys_at(path, tag) and (not rest or rest in known_keys((*path, head)))


def test_the_contexts_are_those_of_the_format():
    assert {((), ""), (("bodies", "x"), ""), (("joints", "x", "drive"), ""), (("solver",), "natural")} <= set(CONTEXTS)
    assert (("bodies", "x", "shapes", "x"), "cone") in CONTEXTS


@pytest.mark.parametrize("word", KEYS)
def test_every_word_for_a_key_is_answered(word):
    reached = set()
    for path, tag in CONTEXTS:
        targets = [target for target in KEYS[word] if target_is_there(path, tag, target)]
        if not targets or word in known_keys(path, tag):
            continue
        hint = hints.unknown_key(path, word, scene_of(path, tag) if tag else None)
        shown = targets[0].partition(".")[2] if path and path[0] == targets[0].partition(".")[0] else targets[0]
        assert hint.startswith(f"did you mean `{shown}`"), (path, tag, hint)
        reached.add(targets[0])
    assert reached, "no place of the format has what this word stands for"


@cache
def scene_of(path, tag):
    """The tree of a scene that has nothing but a mapping of a `type` at a path."""
    text = f"{{type: {tag}}}"
    for step in reversed(path):
        text = f"{{{step}: {text}}}"
    return document_of_text(f"a: {text}", "scene.yaml").root.items["a"]


@pytest.mark.parametrize("word", VALUES)
def test_every_word_for_a_value_is_answered(word):
    lists = choices()
    for target in VALUES[word]:
        assert any(value_meant(word, words) == target for words in lists), target
    assert not any(word in words and value_meant(word, words) != word for words in lists if set(words) & set(VALUES[word]))


def test_what_scenes_do_not_hold_is_said():
    for word, hint in NOT_HERE.items():
        assert hints.unknown_key(("bodies", "a", "shapes", "s"), word) == hint


SCENE = """simcli: 1
params: {{L: 1}}
{top}
bodies:
  a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, {body}}}
joints:
  j: {{type: {type}, parent: {parent}, child: a, {joint}}}
"""
# Words as users of other programs would write them: where, and what the hint must name.
WORDS = [
    ({"type": "hinge"}, "revolute"),
    ({"type": "slide"}, "prismatic"),
    ({"type": "continuous"}, "revolute"),
    ({"joint": "motor: {mode: position}"}, "drive"),
    ({"joint": "actuator: {mode: position}"}, "drive"),
    ({"joint": "drive: {mode: position, kp: 1}"}, "stiffness"),
    ({"joint": "drive: {mode: position, kd: 1}"}, "damping"),
    ({"joint": "kp: 1"}, "drive.stiffness"),
    ({"joint": "kd: 1"}, "drive.damping"),
    ({"joint": "anchor: [0, 0, 0]"}, "at"),
    ({"joint": "origin: [0, 0, 0]"}, "at"),
    ({"parent": "ground"}, "world"),
    ({"body": "origin: [0, 0, 0]"}, "pose"),
    ({"body": "geom: {}"}, "shapes"),
    ({"top": "timestep: 1e-3"}, "solver.dt"),
    ({"top": "duration: 1"}, "run.duration"),
    ({"top": "solver: {timestep: 1e-3}"}, "dt"),
    ({"top": "links: {}"}, "bodies"),
    ({"body": "shapes: {s: {type: cone, radius: 1, height: 1}}"}, "length"),
    ({"body": "shapes: {s: {type: box, half_extents: [1, 1, 1]}}"}, "size"),
    ({"body": "shapes: {s: {type: cube, size: [1, 1, 1]}}"}, "box"),
    ({"body": "shapes: {s: {type: sphere, radius: 1, rgba: [1, 1, 1, 1]}}"}, "look: {colour: orange}"),
    ({"joint": "damping_coefficient: 1"}, "damping"),
    ({"joint": "range: [0, 1]"}, "limit"),
    ({"joint": "drive: {mode: effort, target: 1, ctrlrange: [0, 1]}"}, "effort_limit"),
    ({"joint": "effort: 1"}, "drive.effort_limit"),
    ({"joint": "lower: 1"}, "limit.lower"),
    ({"joint": "upper: 1"}, "limit.upper"),
    ({"joint": "drive: {mode: torque, target: 1}"}, "effort"),
    ({"joint": "q: -$L"}, "${-L}"),
    ({"body": "com: [-$L, 0, 0]"}, "${-L}"),
    ({"body": "com: [$L, 0, 0]"}, "${L}"),
    ({"joint": "drive: {mode: effort, target: $L}"}, "${L}"),
]


@pytest.mark.parametrize(("words", "meant"), WORDS)
def test_a_scene_in_words_of_others(words, meant):
    text = SCENE.format(
        **({"top": "", "body": "com: [0, 0, 0]", "type": "revolute", "parent": "world", "joint": "q: 0"} | words)
    )
    with pytest.raises(SceneError) as caught:
        resolve(document_of_text(text, "scene.yaml"))
    hint = caught.value.faults[0].hint
    assert f"`{meant}`" in hint or meant in hint.replace("`", "").split("; ")[0]


def test_a_missing_mode_names_the_four():
    text = SCENE.format(top="", body="com: [0, 0, 0]", type="revolute", parent="world", joint="drive: {target: 1}")
    with pytest.raises(SceneError) as caught:
        resolve(document_of_text(text, "scene.yaml"))
    hint = caught.value.faults[0].hint
    assert all(mode in hint for mode in ("position", "velocity", "position_velocity", "effort"))
