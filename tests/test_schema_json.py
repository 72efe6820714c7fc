"""The JSON Schema as an editor uses it: it takes every good scene, and points at what is wrong in a broken one."""

import pytest
import yaml
from jsonschema import Draft7Validator
from support.mutations import SHIPPED, draw
from test_spec_scene import ALL_KEYS

from simcli.errors import SceneError
from simcli.spec import document_of_text, json_schema, load_document
from simcli.spec.document.loader import parse_text
from simcli.spec.document.nodes import find, parse_path, plain
from simcli.spec.faults import codes
from simcli.spec.faults.fault_list import Faults
from simcli.spec.manual.json_schema import DRAFT
from simcli.spec.values.units import UNITS, dimension_of, fits

# Kinds of mistakes that a schema can tell, and scenes of each.
OF_THE_SCHEMA = ("misspelt_key", "misspelt_value", "wrong_type", "missing_key", "wrong_unit", "vector_length", "negative",
                 "foreign_section", "dashes_for_names")  # fmt: skip
PER_KIND = 10
# Codes of faults that a schema can tell from the shape of their example.
SHAPE_CODES = ("SC202", "SC203", "SC204", "SC205", "SC206", "SC211", "SC212", "SC231")


@pytest.fixture(scope="module")
def schema():
    found = json_schema()
    Draft7Validator.check_schema(found)
    return Draft7Validator(found)


def places(schema, text):
    data = plain(document_of_text(text, "scene.yaml").root)
    return {".".join(map(str, error.absolute_path)): error.message for error in schema.iter_errors(data)}


def test_it_is_draft_7(schema):
    assert schema.schema["$schema"] == DRAFT
    text = str(schema.schema)
    for later in ("prefixItems", "$defs", "unevaluated", "dependentRequired", "discriminator"):
        assert later not in text
    references = [node for node in nodes(schema.schema) if "$ref" in node]
    assert references
    assert all(set(node) == {"$ref"} for node in references)  # draft 7 passes over what stands beside


def nodes(node):
    if isinstance(node, dict):
        yield node
    for below in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(below)


def test_it_describes_every_field(schema):
    lacking = []
    for owner, table in [("", schema.schema), *schema.schema["definitions"].items()]:
        full = table.get("then", table)
        lacking += [f"{owner}.{key}" for key, entry in full["properties"].items() if not entry.get("description")]
    assert lacking == []


@pytest.mark.parametrize("path", SHIPPED, ids=[path.stem for path in SHIPPED])
def test_it_takes_the_gallery(schema, path):
    assert [error.message for error in schema.iter_errors(plain(load_document(path).root))] == []


def test_it_takes_every_key(schema):
    assert places(schema, ALL_KEYS) == {}


def test_it_takes_every_good_example_of_the_faults(schema):
    for code in codes.codes():
        page = codes.page(code)
        if page.good and code not in ("SC111", "SC112"):
            faults = Faults()
            data = plain(parse_text(page.scene(page.good), "good.yaml", faults))
            assert [error.message for error in schema.iter_errors(data)] == [], code


@pytest.mark.parametrize("code", SHAPE_CODES)
def test_it_refuses_the_bad_examples(schema, code):
    page = codes.page(code)
    data = plain(parse_text(page.scene(page.bad), "bad.yaml", Faults()))
    assert not schema.is_valid(data)


@pytest.mark.parametrize("kind", OF_THE_SCHEMA)
def test_it_tells_a_mistake_in_the_gallery(schema, kind):
    for seed in range(PER_KIND):
        broken = draw(seed, kind)
        try:
            document = document_of_text(broken.text, str(broken.path))
        except SceneError:
            continue  # no YAML, of which an editor knows without a schema
        errors = list(schema.iter_errors(plain(document.root)))
        assert errors, broken.text.split("\n")[broken.line - 1]


GOOD = """simcli: 1
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {s: {type: box, size: [1, 1, 1]}}}
joints:
  j: {type: revolute, parent: world, child: a, limit: [-1, 1], drive: {mode: effort, target: 1}}
forces:
  f: {type: torque, joint: j, value: 1}
  k: {type: spring, a: {world: [0, 0, 0]}, b: {body: a, at: [0, 0, 0]}, stiffness: 1 N/m}
solver: {type: natural, dt: 1 ms}
expect: [{at: end, joint: j, quantity: q, below: 1}]
"""
# Changes of the good scene, and the path at which an editor must underline.
BROKEN = [
    ("size: [1, 1, 1]", "radius: 1", "bodies.a.shapes.s"), ("size: [1, 1, 1]", "size: [1, 1]", "bodies.a.shapes.s.size"),
    ("size: [1, 1, 1]", "size: [1, 1 kg, 1]", "bodies.a.shapes.s.size.1"),
    ("type: box", "type: cube", "bodies.a.shapes.s.type"),
    ("type: box, ", "", "bodies.a.shapes.s"), ("mass: 1, ", "", None), ("mass: 1", "mass: -1", "bodies.a.mass"),
    ("mass: 1", "mass: 1 m", "bodies.a.mass"), ("mass: 1", "mass: '1'", "bodies.a.mass"), ("mass: 1", "mas: 1", "bodies.a"),
    ("diag: [1, 1, 1]", "diagonal: [1, 1, 1]", "bodies.a.inertia"), ("diag: [1, 1, 1]", "diag: 1", "bodies.a.inertia.diag"),
    ("dt: 1 ms", "dtt: 1", "solver"), ("dt: 1 ms", "dt: 1 mm", "solver.dt"), ("dt: 1 ms", "dt: 0", "solver.dt"),
    ("type: natural, dt: 1 ms", "spectral_radius: 0.5", "solver"), ("type: natural", "type: nature", "solver.type"),
    ("type: natural", "type: maximal, spectral_radius: 0.9", "solver"),
    ("dt: 1 ms", "contact: {passes: 0}", "solver.contact.passes"),
    ("child: a, ", "", "joints.j"), ("type: revolute, ", "", "joints.j"), ("type: revolute", "type: hinge", "joints.j.type"),
    ("limit: [-1, 1]", "limit: {lower: -1, uper: 1}", "joints.j.limit"), ("limit: [-1, 1]", "pitch: 1", "joints.j.pitch"),
    ("mode: effort, ", "", "joints.j.drive"), ("mode: effort", "mode: torque", "joints.j.drive.mode"),
    ("target: 1", "target: far", "joints.j.drive.target"), ("limit: [-1, 1]", "loop: maybe", "joints.j.loop"),
    ("value: 1", "vlue: 1", "forces.f"), ("stiffness: 1 N/m", "stiffness: 1 N", "forces.k.stiffness"),
    ("stiffness: 1 N/m", "stiffness: -1", "forces.k.stiffness"), ("type: spring", "type: sprng", "forces.k.type"),
    ("type: spring, ", "", "forces.k"), ("b: {body: a, at: [0, 0, 0]}", "b: a", "forces.k.b"),
    ("at: end", "at: last", "expect.0.at"),
    ("quantity: q", "quantity: angle", "expect.0.quantity"), ("simcli: 1", "simcli: 2", "simcli"), ("simcli: 1\n", "", ""),
    ("bodies:", "bodys:", ""), ("simcli: 1", "simcli: 1\nworld: {gravity: [0, 0, 1 N]}", "world.gravity.2"),
]  # fmt: skip


def test_the_good_scene_is_good(schema):
    assert places(schema, GOOD) == {}


@pytest.mark.parametrize(("old", "new", "path"), BROKEN)
def test_a_fault_has_the_path_of_what_is_wrong(schema, old, new, path):
    assert GOOD.count(old) == 1
    found = places(schema, GOOD.replace(old, new))
    if path is None:
        assert found == {}  # the shape may give the mass
    else:
        assert path in found
        assert all(one == path or one.startswith(f"{path}.") or path == "" for one in found), found


def test_a_body_without_mass_is_told(schema):
    assert set(places(schema, "simcli: 1\nbodies: {a: {inertia: point}}\n")) == {"bodies.a"}
    assert set(places(schema, "simcli: 1\nbodies: {a: {mass: 1}}\n")) == {"bodies.a"}
    assert places(schema, "simcli: 1\nbodies: {a: {kinematic: true}}\n") == {}


DEFAULTS = "defaults: {body: {mass: 1, inertia: point}, joint: {type: ball, parent: world, child: a}}"


@pytest.mark.parametrize("given", [DEFAULTS, "include: [more.yaml]"])
def test_what_defaults_or_includes_may_give_is_not_asked_for(schema, given):
    data = yaml.safe_load(f"simcli: 1\n{given}\nbodies: {{a: {{}}}}\njoints: {{j: {{}}}}\n")
    assert schema.is_valid(data)
    assert not schema.is_valid({key: value for key, value in data.items() if key not in ("defaults", "include")})


def test_units_are_told_by_their_dimension(schema):
    """Every unit of the program stands where it fits, and nowhere else."""
    for where, unit in (
        ("bodies.a.mass", "kg"),
        ("solver.dt", "s"),
        ("world.gravity[0]", "m/s^2"),
        ("forces.k.stiffness", "N/m"),
    ):
        text = "simcli: 1\nbodies: {a: {mass: 1, inertia: point}}\nsolver: {dt: 1}\nworld: {gravity: [1, 0, 0]}\n"
        text += "forces: {k: {type: spring, a: {world: [0, 0, 0]}, b: a/p, stiffness: 1}}\n"
        data = plain(document_of_text(text, "scene.yaml").root)
        *steps, last = parse_path(where)
        owner = data
        for step in steps:
            owner = owner[step]
        for name, (_, dimension) in UNITS.items():
            owner[last] = f"2 {name}"
            assert schema.is_valid(data) == fits(dimension, dimension_of(unit)), (where, name)
        owner[last] = f"2.5e-3 {unit}"
        assert schema.is_valid(data)
        owner[last] = "${2*L} " + unit
        assert schema.is_valid(data)


def test_places_of_paths_exist():
    root = document_of_text(GOOD, "scene.yaml").root
    for _, _, path in BROKEN:
        if path and not path.endswith((".pitch", ".loop", ".gravity.2", ".passes")):
            assert find(root, [int(step) if step.isdigit() else step for step in path.split(".")]) is not None, path
