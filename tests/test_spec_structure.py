"""The tree of a scene: how it is found, and that the work grows with the scene and no faster.

Templates, replicas and defaults written out, and the tree that joints make.

Scenes that mean harm beyond the syntax: expansion, chains, sections of the wrong kind. Refused soon, or read.
"""

import re
import sys
import time

import pytest
from support.all_keys import BODY as EXPANDED_BODY
from support.all_keys import HEAD, ROUNDING, codes, document, resolve_ignoring
from support.process import simcli

from simcli.errors import Exit, SceneError
from simcli.model.from_scene import build
from simcli.solvers import SOLVERS
from simcli.spec import document_of_text as document_of_text_of_hostile
from simcli.spec import load_document
from simcli.spec import resolve as resolve_of_expanded
from simcli.spec import resolve as resolve_of_hostile
from simcli.spec.base.fault_list import Faults
from simcli.spec.faults.diagnostics import render_faults
from simcli.spec.loading import document_of_text
from simcli.spec.lookup import structure
from simcli.spec.resolve import resolve
from simcli.spec.schema.scene import TITLE_PATTERN, title_of_stem

BODY = "{mass: 1, inertia: {diag: [1, 1, 1]}}"
FEW, SOME, MANY = 20, 60, 100  # bodies of scenes, so that what does not grow with the bodies is taken out
LOOKS = 4  # at the joints of a body: once without and once with distance joints, twice beyond one of these


def spec_of(bodies: str, joints: str = ""):
    text = f"simcli: 1\nbodies:\n{bodies}\njoints: {{{joints}}}\nsolver: {{type: maximal, dt: 1e-3}}\nrun: {{duration: 1}}\n"
    return resolve(document_of_text(text, "tree.yaml"))


class Counted(dict):
    """Joints at each body, with the number of looks at them."""

    looks = 0

    def get(self, *key):
        self.looks += 1
        return super().get(*key)


def test_the_search_is_linear_in_free_bodies(monkeypatch):
    n, counts = 300, []

    class Watched(structure._Walk):
        def __init__(self, spec):
            super().__init__(spec)
            self.at = Counted(self.at)
            counts.append(self.at)

    spec = spec_of("\n".join(f"  b{k}: {BODY}" for k in range(n)))
    monkeypatch.setattr(structure, "_Walk", Watched)
    found = structure.tree(spec)
    assert found.free_bodies == tuple(f"b{k}" for k in range(n))
    assert counts[0].looks <= LOOKS * (n + 1)


def test_what_hangs_beyond_two_distance_joints_is_reached():
    bodies = "\n".join(f"  {name}: {BODY}" for name in "abcd")
    joints = (
        "ab: {type: distance, parent: a, child: b, length: 1}, bc: {type: revolute, parent: b, child: c}, "
        "cd: {type: distance, parent: c, child: d, length: 1}"
    )
    found = structure.tree(spec_of(bodies, joints))
    assert found.free_bodies == ("a",)
    assert found.tree_joints == ("ab", "bc", "cd")


def calls_of(n: int, solver: str) -> int:
    """Calls from the text of n free bodies to their model."""
    bodies = "\n".join(f"  b{k}: {BODY[:-1]}, pose: {{xyz: [{k}, 0, 1]}}}}" for k in range(n))
    text = f"simcli: 1\nbodies:\n{bodies}\nsolver: {{type: {solver}, dt: 1e-3}}\nrun: {{duration: 1}}\n"
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        document = document_of_text(text, "many.yaml")
        model = build(resolve(document), document)
    finally:
        sys.setprofile(None)
    assert model.n_bodies == n
    return count


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_further_free_body_is_read_checked_and_built_in_as_many_calls(solver):
    calls_of(1, solver)  # imports, and what is made once
    few, some, many = (calls_of(n, solver) for n in (FEW, SOME, MANY))
    assert few < some
    assert many - some <= 1.01 * (some - few)


TEMPLATE = (
    HEAD
    + """\
params: {s: 2}
models:
  link:
    params: {len: 1, m: "${2*len}"}
    bodies:
      tip: {mass: "${m}", inertia: {diag: [1, 1, 1]}, pose: {xyz: ["${len}", 0, 0]}, points: {p: [0, 0, 0]}}
    joints:
      hinge: {type: revolute, parent: world, child: tip, at: [0, 0, 0]}
      weld: {type: prismatic, parent: world, child: tip, parent_frame: {xyz: ["${len}", 0, 0]}, loop: true}
    forces:
      pull: {type: spring, a: {world: [0, 0, 1]}, b: tip/p, stiffness: "${s}"}
      turn: {type: torque, joint: hinge, value: 1}
      push: {type: wrench, body: tip, force: [1, 0, 0]}
  pair:
    instances: {one: {model: link, at: {xyz: [0, 0, 1]}}, two: {model: link, params: {len: 3}}}
"""
)


def test_an_instance_is_moved_and_renamed(tmp_path):
    text = (
        TEMPLATE + "instances: {left: {model: link, at: {xyz: [0, 1, 0], rpy: [0, 0, 90 deg]}, params: {len: '${s/4}'}}}\n"
    )
    spec = resolve_ignoring(tmp_path, text)
    body = spec.bodies["left/tip"]
    assert body.mass == 1.0
    assert body.pose.xyz == pytest.approx((0, 1.5, 0), abs=ROUNDING)
    hinge, weld = spec.joints["left/hinge"], spec.joints["left/weld"]
    assert (hinge.parent, hinge.child) == ("world", "left/tip")
    assert hinge.at == pytest.approx((0, 1, 0), abs=ROUNDING)
    assert hinge.axis == pytest.approx((0, 1, 0), abs=ROUNDING)
    assert weld.parent_frame.xyz == pytest.approx((0, 1.5, 0), abs=ROUNDING)
    assert weld.axis is None
    pull, turn, push = (spec.forces[f"left/{name}"] for name in ("pull", "turn", "push"))
    assert (pull.b.body, pull.b.point, pull.stiffness) == ("left/tip", "p", 2)
    assert pull.a.world == pytest.approx((0, 1, 1), abs=ROUNDING)
    assert turn.joint == "left/hinge"
    assert push.body == "left/tip"
    assert push.force == pytest.approx((0, 1, 0), abs=ROUNDING)


def test_replicas_and_nested_models(tmp_path):
    text = (
        TEMPLATE
        + """\
replicate:
  grid: {model: pair, count: [2, 1, 2], spacing: [10, 0, 100]}
  row: {model: link, count: 2, spacing: [1, 0, 0]}
"""
    )
    spec = resolve_ignoring(tmp_path, text)
    assert len(spec.bodies) == 2 * 4 + 2
    assert spec.bodies["grid/1-0-1/one/tip"].pose.xyz == (11, 0, 101)
    assert spec.bodies["grid/0-0-0/two/tip"].mass == 6
    assert spec.bodies["row/1-0-0/tip"].pose.xyz == (2, 0, 0)


def test_overrides_of_expanded_names(tmp_path):
    text = TEMPLATE + "instances: {left: {model: link}, right: {model: link}}\n"
    sets = ["joints.left/hinge.damping=0.5", "params.s=7", "instances.right.params={len: 5}"]
    doc = document(tmp_path, text.replace(", loop: true", "").replace("      weld", "      # weld"), sets)
    spec = resolve_of_expanded(doc)
    assert spec.joints["left/hinge"].damping == (0.5,)
    assert spec.joints["right/hinge"].damping == (0.0,)
    assert spec.bodies["right/tip"].mass == 10
    assert spec.forces["left/pull"].stiffness == 7
    assert codes(tmp_path, text, ["joints.up/hinge.damping=1"]) >= {"SC301"}


def test_defaults_fill_what_is_not_written(tmp_path):
    text = (
        HEAD
        + """\
materials: {steel: {density: 10}}
defaults: {joint: {damping: 0.25, axis: [0, 0, 1]}, shape: {material: steel}, body: {com: [1, 2, 3]}}
bodies:
  a: {shapes: {s: {type: sphere, radius: 1}}}
  b: {shapes: {s: {type: sphere, radius: 1, density: 2}}, com: [0, 0, 0]}
joints: {j: {type: revolute, parent: world, child: a}, k: {type: ball, parent: a, child: b, damping: 1}}
contact: {enabled: false}
"""
    )
    spec = resolve_of_expanded(document(tmp_path, text))
    assert spec.bodies["a"].com == (1, 2, 3)
    assert spec.bodies["b"].com == (0, 0, 0)
    assert spec.bodies["a"].shapes["s"].material == "steel"
    assert (spec.joints["j"].damping, spec.joints["j"].axis) == ((0.25,), (0, 0, 1))
    assert spec.joints["k"].damping == (1, 1, 1)


def graph(tmp_path, bodies, joints, more=""):
    entries = "\n".join(f"  {name}: {EXPANDED_BODY}" for name in bodies)
    lines = "\n".join(f"  {name}: {{type: {kind}, parent: {a}, child: {b}{extra}}}" for name, kind, a, b, extra in joints)
    return resolve_ignoring(tmp_path, HEAD + f"bodies:\n{entries}\njoints:\n{lines}\n{more}")


def test_tree_of_a_loop(tmp_path):
    """A four-bar linkage: breadth first from the world, the last joint met closes the loop."""
    joints = [
        ("a", "revolute", "world", "A", ""),
        ("b", "revolute", "A", "B", ""),
        ("c", "revolute", "B", "C", ""),
        ("d", "revolute", "world", "C", ""),
    ]
    tree = structure.tree(graph(tmp_path, "ABC", joints))
    assert tree.tree_joints == ("a", "d", "b")
    assert tree.loop_joints == ("c",)
    assert tree.free_bodies == ()


def test_tree_of_floating_bodies(tmp_path):
    joints = [("j", "revolute", "B", "A", ""), ("k", "revolute", "B", "C", "")]
    tree = structure.tree(graph(tmp_path, "ABCD", joints))
    assert tree.tree_joints == ("j", "k")
    assert tree.free_bodies == ("B", "D")


def test_a_circle_of_parents_has_one_free_body(tmp_path):
    joints = [("j", "revolute", "A", "B", ""), ("k", "revolute", "B", "A", "")]
    tree = structure.tree(graph(tmp_path, "AB", joints))
    assert (tree.tree_joints, tree.loop_joints, tree.free_bodies) == (("j",), ("k",), ("A",))


def test_distance_joints_come_last(tmp_path):
    rod = ", length: 1"
    joints = [
        ("rod", "distance", "world", "B", rod),
        ("j", "revolute", "world", "A", ""),
        ("k", "revolute", "A", "B", ""),
        ("tie", "distance", "B", "C", rod),
        ("l", "revolute", "C", "D", ""),
    ]
    tree = structure.tree(graph(tmp_path, "ABCD", joints))
    assert tree.loop_joints == ("rod",)
    assert set(tree.tree_joints) == {"j", "k", "tie", "l"}
    assert tree.free_bodies == ()


def test_declared_loops_and_cables_are_never_tree(tmp_path):
    joints = [("j", "revolute", "world", "A", ", loop: true"), ("c", "cable", "world", "B", ", bend: 1")]
    tree = structure.tree(graph(tmp_path, "AB", joints))
    assert tree.free_bodies == ("A", "B")
    assert tree.loop_joints == ("j", "c")


QUICK = 5.0  # s; generous, the machine may be busy
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
        resolve_of_hostile(load_document(path))
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
    from simcli.spec.lookup.keys import known_keys

    lines = ["simcli: 1", "bodies: {w: " + BODY + "}", "x: 1"]
    for section, fixed in (("bodies", {}), ("joints", {"type": "revolute"}), ("forces", {"type": "spring"})):
        lines = [line for line in lines if not line.startswith(section)] + [f"{section}:"]
        for i, key in enumerate(known_keys((section, "n"))):
            entry = ", ".join(f"{k}: {v}" for k, v in {**fixed, key: value}.items())
            lines.append(f"  n{i}: {{{entry}}}")
    error = outcome(tmp_path, "\n".join(lines))
    assert error.faults
    assert render_faults(error.faults, error.document)


BAD_NAMES = [
    "../../evil",
    "/tmp/evil",
    "a/b",
    "..",
    ".hidden",
    "-o",
    "",
    "two words",
    "x" * 101,
    "a\\n",
    "C:evil",
    "→",
    "é" * 101,
    "汉" * 67,
]


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
    [
        ("good", "good"),
        ("two words", "two_words"),
        ("..", "_.."),
        ("-o", "_-o"),
        ("é" * 150, "é" * 100),
        ("汉" * 90, "汉" * 66),
        ("schwüng 1", "schwüng_1"),
        ("schwu\u0308ng", "schwüng"),
        ("a→b", "a_b"),
    ],
)
def test_a_scene_without_a_name_has_that_of_its_file(stem, name):
    document = document_of_text_of_hostile(f"simcli: 1\nbodies: {{a: {BODY}}}\n", f"{stem}.yaml")
    assert resolve_of_hostile(document).name == name
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
        assert resolve_of_hostile(load_document(path)).output.every == 0.01
