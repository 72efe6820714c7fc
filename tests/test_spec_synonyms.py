"""Words of other programs: each is answered with the word of this one, wherever a scene may hold it."""

from functools import cache
from typing import get_args

import pytest

from simcli.errors import SceneError
from simcli.spec import document_of_text, resolve
from simcli.spec.faults import hints
from simcli.spec.faults.synonyms import KEYS, NOT_HERE, VALUES, value_meant
from simcli.spec.manual.keys import fields, known_keys, parts_at
from simcli.spec.schema.scene import SceneSpec


def contexts():
    """Path and `type` of every kind of mapping that a scene may hold."""
    found, waiting = [], [()]
    while waiting:
        path = waiting.pop()
        parts = parts_at(path) if path else [SceneSpec]
        tags = [tag for part in parts for tag in get_args(fields(part).get("type"))]
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
            found |= {tuple(hints.choices(kind)) for kind in fields(part).values()}
    tagged = [parts_at(path) for path, _ in CONTEXTS if path]
    found |= {tuple(tag for part in parts for tag in get_args(fields(part).get("type"))) for parts in tagged}
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
    ({"type": "hinge"}, "revolute"), ({"type": "slide"}, "prismatic"), ({"type": "continuous"}, "revolute"),
    ({"joint": "motor: {mode: position}"}, "drive"), ({"joint": "actuator: {mode: position}"}, "drive"),
    ({"joint": "drive: {mode: position, kp: 1}"}, "stiffness"), ({"joint": "drive: {mode: position, kd: 1}"}, "damping"),
    ({"joint": "kp: 1"}, "drive.stiffness"), ({"joint": "kd: 1"}, "drive.damping"),
    ({"joint": "anchor: [0, 0, 0]"}, "at"), ({"joint": "origin: [0, 0, 0]"}, "at"), ({"parent": "ground"}, "world"),
    ({"body": "origin: [0, 0, 0]"}, "pose"), ({"body": "geom: {}"}, "shapes"),
    ({"top": "timestep: 1e-3"}, "solver.dt"), ({"top": "duration: 1"}, "run.duration"),
    ({"top": "solver: {timestep: 1e-3}"}, "dt"), ({"top": "links: {}"}, "bodies"),
    ({"body": "shapes: {s: {type: cone, radius: 1, height: 1}}"}, "length"),
    ({"body": "shapes: {s: {type: box, half_extents: [1, 1, 1]}}"}, "size"),
    ({"body": "shapes: {s: {type: cube, size: [1, 1, 1]}}"}, "box"),
    ({"body": "shapes: {s: {type: sphere, radius: 1, rgba: [1, 1, 1, 1]}}"}, "look: {colour: orange}"),
    ({"joint": "damping_coefficient: 1"}, "damping"), ({"joint": "range: [0, 1]"}, "limit"),
    ({"joint": "drive: {mode: effort, target: 1, ctrlrange: [0, 1]}"}, "effort_limit"),
    ({"joint": "effort: 1"}, "drive.effort_limit"),
    ({"joint": "lower: 1"}, "limit.lower"), ({"joint": "upper: 1"}, "limit.upper"),
    ({"joint": "drive: {mode: torque, target: 1}"}, "effort"), ({"joint": "q: -$L"}, "${-L}"),
    ({"body": "com: [-$L, 0, 0]"}, "${-L}"), ({"body": "com: [$L, 0, 0]"}, "${L}"),
    ({"joint": "drive: {mode: effort, target: $L}"}, "${L}"),
]  # fmt: skip


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
