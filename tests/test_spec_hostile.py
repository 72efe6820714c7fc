"""Scenes that mean harm beyond the syntax: expansion, chains, sections of the wrong kind. Refused soon, or read."""

import re
import time

import pytest
from support.process import simcli

from simcli.errors import Exit, SceneError
from simcli.spec import document_of_text, load_document, resolve
from simcli.spec.faults.diagnostics import render_faults
from simcli.spec.faults.fault_list import Faults
from simcli.spec.schema.scene import TITLE_PATTERN, title_of_stem

QUICK = 5.0  # s; generous, the machine may be busy
BODY = "{mass: 1, inertia: {diag: [1, 1, 1]}}"
CUBE = "count: [40, 40, 40], spacing: [1, 1, 1]"
SECTIONS = [
    "include",
    "params",
    "materials",
    "world",
    "defaults",
    "bodies",
    "joints",
    "articulations",
    "models",
    "instances",
    "replicate",
    "forces",
    "signals",
    "events",
    "contact",
    "initial",
    "solver",
    "run",
    "output",
    "batch",
    "expect",
]


def chain(n):
    """Every model holds the next one twice."""
    links = [f"  m{i}: {{instances: {{x: {{model: m{i + 1}}}, y: {{model: m{i + 1}}}}}}}" for i in range(n)]
    return "models:\n" + "\n".join(links) + f"\n  m{n}: {{bodies: {{b: {BODY}}}}}\ninstances: {{z: {{model: m0}}}}\n"


ONE = f"models: {{a: {{bodies: {{b: {BODY}}}}}, b: {{replicate: {{r: {{model: a, {CUBE}}}}}}}}}\n"
CIRCLE = "models: {a: {instances: {x: {model: b}}}, b: {instances: {x: {model: a}}}}\ninstances: {x: {model: a}}"
MANY_WORLDS = f"bodies: {{a: {BODY}}}\nbatch: {{worlds: 10000000, vary: {{bodies.a.mass: {{grid: [1, 2]}}}}}}"
JOINTS = "".join(f"  j{i}: {{type: revolute, parent: world, child: c{i}}}\n" for i in range(500))
HOSTILE = {
    "huge count": (ONE + "replicate: {r: {model: a, count: 1e15, spacing: [1, 1, 1]}}", "SC105"),
    "nested replicas": (ONE + f"replicate: {{r: {{model: b, {CUBE}}}}}", "SC105"),
    "nested empty replicas": (ONE.replace(BODY, "{}") + f"replicate: {{r: {{model: b, {CUBE}}}}}", "SC105"),
    "doubling models": (chain(60), "SC105"),
    "circle of models": (CIRCLE, "SC308"),
    "circle of parameters": ("params: {" + ", ".join(f'p{i}: "${{p{(i + 1) % 3000}}}"' for i in range(3000)) + "}", "SC223"),
    "tiny step": (f"bodies: {{a: {BODY}}}\nsolver: {{dt: 1e-300}}\nrun: {{duration: 1e308}}", "SC418"),
    "many worlds": (MANY_WORLDS, "SC418"),
    "many unknown names": ("bodies:\n" + "".join(f"  b{i}: {BODY}\n" for i in range(500)) + "joints:\n" + JOINTS, "SC304"),
    "many unknown keys": ("bodies:\n" + "".join(f"  b{i}: {{mas: 1}}\n" for i in range(500)), "SC204"),
    "version true": ("", "SC206"),
}


def outcome(tmp_path, text):
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    start = time.perf_counter()
    try:
        resolve(load_document(path))
        error = None
    except SceneError as caught:
        error = caught
    assert time.perf_counter() - start < QUICK
    return error


@pytest.mark.parametrize("name", HOSTILE)
def test_refused_soon(tmp_path, name):
    text, code = HOSTILE[name]
    head = "simcli: true\n" if name == "version true" else "simcli: 1\n"
    error = outcome(tmp_path, head + text + "\n")
    assert code in {fault.code for fault in error.faults}
    assert render_faults(error.faults[:50], error.document)


def test_long_chains_of_parameters_are_fine(tmp_path):
    text = "params: {" + ", ".join(f'p{i}: "${{p{i + 1}}}"' for i in range(3000)) + ", p3000: 7}"
    assert outcome(tmp_path, f"simcli: 1\n{text}\nbodies: {{a: {BODY}}}\n") is None


@pytest.mark.parametrize(
    "value",
    ["", "null", "x", "1", "true", "[]", "{}", "[1]", "[[1]]", "{a: }", "{a: 1}", "{a: [1]}", "{a: {b: 1}}", "$a", "${a}"],
)
@pytest.mark.parametrize("section", SECTIONS)
def test_sections_of_every_kind(tmp_path, section, value):
    text = f"simcli: 1\n{section}: {value}\n"
    error = outcome(tmp_path, text)
    assert error is None or render_faults(error.faults, error.document)


@pytest.mark.parametrize("value", ["", "x", "1", "true", "[]", "{}", "[1]", "{a: 1}", "1e300", "-1", "$a", "a/b"])
def test_every_key_with_every_kind_of_value(tmp_path, value):
    """All keys of bodies, joints and forces at once, each with a value that few of them take."""
    from simcli.spec.manual.keys import known_keys

    lines = ["simcli: 1", "bodies: {w: " + BODY + "}", "x: 1"]
    for section, fixed in (("bodies", {}), ("joints", {"type": "revolute"}), ("forces", {"type": "spring"})):
        lines = [line for line in lines if not line.startswith(section)] + [f"{section}:"]
        for i, key in enumerate(known_keys((section, "n"))):
            entry = ", ".join(f"{k}: {v}" for k, v in {**fixed, key: value}.items())
            lines.append(f"  n{i}: {{{entry}}}")
    error = outcome(tmp_path, "\n".join(lines))
    assert error.faults
    assert render_faults(error.faults, error.document)


BAD_NAMES = ["../../evil", "/tmp/evil", "a/b", "..", ".hidden", "-o", "", "two words",
             "x" * 101, "a\\n", "C:evil", "→", "é" * 101, "汉" * 67]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_cannot_lead_elsewhere(tmp_path, name):
    """The file of the results is named after the scene."""
    error = outcome(tmp_path, f'simcli: 1\nname: "{name}"\nbodies: {{a: {BODY}}}\n')
    assert [(fault.code, fault.where.line) for fault in error.faults] == [("SC312", 2)]
    assert "`-o`" in error.faults[0].hint


@pytest.mark.parametrize("name", ["a", "9_lives", "run-3.v2", "_", "x" * 100, "schwüng", "маятник-2", "振り子", "हिन्दी"])
def test_good_names(tmp_path, name):
    assert outcome(tmp_path, f"simcli: 1\nname: {name}\nbodies: {{a: {BODY}}}\n") is None


@pytest.mark.parametrize(
    ("stem", "name"),
    [("good", "good"), ("two words", "two_words"), ("..", "_.."), ("-o", "_-o"), ("é" * 150, "é" * 100),
     ("汉" * 90, "汉" * 66), ("schwüng 1", "schwüng_1"), ("schwu\u0308ng", "schwüng"), ("a→b", "a_b")],
)  # fmt: skip
def test_a_scene_without_a_name_has_that_of_its_file(stem, name):
    document = document_of_text(f"simcli: 1\nbodies: {{a: {BODY}}}\n", f"{stem}.yaml")
    assert resolve(document).name == name
    assert title_of_stem(name) == name
    assert re.search(TITLE_PATTERN, name)


def test_no_file_is_written_where_a_name_leads(tmp_path):
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "scene.yaml").write_text(f"simcli: 1\nname: ../../evil\nbodies: {{a: {BODY}}}\n")
    assert simcli("run", "scene.yaml", cwd=folder).returncode == Exit.SCENE
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "scene.yaml"]


def test_no_tree_is_built_of_a_long_text_with_a_mistake_at_its_end(monkeypatch):
    """The parser alone goes over the text first: it is twenty times faster than the tree."""
    from simcli.spec.document import loader

    def build(builder):
        raise AssertionError("a tree is built")

    lines = "".join(f"  b{k}: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}\n" for k in range(50_000))
    assert len(lines) > loader._LONGEST
    monkeypatch.setattr(loader._Builder, "build", build)
    faults = Faults()
    assert loader.parse_text(f"simcli: 1\nbodies:\n{lines}joints: {{a: [1, 2}}\n", "long.yaml", faults) is None
    assert [(fault.code, fault.where.line) for fault in faults.found] == [("SC101", 50_003)]


def test_places_whose_inertia_has_no_finite_square_are_refused(tmp_path):
    joint = "{type: revolute, parent: world, child: a, at: [PLACE, 0, 0]}"
    text = f"simcli: 1\nbodies: {{a: {BODY}}}\njoints: {{pin: {joint}}}\n"
    error = outcome(tmp_path, text.replace("PLACE", "-1e300"))
    assert [(fault.code, fault.where.path) for fault in error.faults] == [("SC231", "joints.pin.at[0]")]
    assert outcome(tmp_path, text.replace("PLACE", "-1e59")) is None


def test_a_time_between_frames_without_a_value_is_the_default(tmp_path):
    path = tmp_path / "scene.yaml"
    for text in ("output: {every: null}", "output: {every: }", ""):
        path.write_text(f"simcli: 1\nbodies: {{a: {BODY}}}\n{text}\n")
        assert resolve(load_document(path)).output.every == 0.01
