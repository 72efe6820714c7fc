"""What a scene says about contact: read, in bounds, at its line, refused where nobody would read it."""

import pytest
from support.contacts import read_model

from simcli.cli.doorman import run_command
from simcli.errors import SceneError
from simcli.spec import load_document, resolve

HEAD = """\
simcli: 1
materials:
  wood: {friction: 0.4, density: 1000}
world: {shapes: {ground: {type: plane, material: wood}}}
bodies:
  crate: {shapes: {hull: {type: box, size: [1, 1, 1], material: wood}, lid: {type: sphere, radius: 1, collide: false}}}
  ball: {shapes: {skin: {type: sphere, radius: 0.1, material: wood}}}
"""
OPTIONS = {"margin": "1 cm", "restitution_threshold": 0.02, "push_out": 0.1, "push_out_speed": "50 cm/s", "tolerance": 1e-9,
           "passes": 8, "linear": "dense"}  # fmt: skip
READ = OPTIONS | {"margin": 0.01, "push_out_speed": 0.5}
DEFAULTS = {"margin": None, "restitution_threshold": 0.0, "push_out": 0.2, "push_out_speed": 1.0, "tolerance": 1e-8,
            "passes": 5, "linear": "auto"}  # fmt: skip
SOLVERS = ("generalized", "maximal", "natural")


def scene(folder, text, sets=()):
    path = folder / "scene.yaml"
    path.write_text(text)
    return resolve(load_document(path, sets))


def options(solver, **more):
    integrator = ", integrator: moreau" if solver == "natural" else ""
    contact = ", ".join(f"{key}: {value}" for key, value in more.items())
    return f"solver: {{type: {solver}{integrator}, contact: {{{contact}}}}}\n"


@pytest.mark.parametrize("solver", SOLVERS)
def test_options_of_every_solver_that_touches(tmp_path, solver):
    assert dict(scene(tmp_path, HEAD + options(solver, **OPTIONS)).solver.contact) == READ
    assert dict(scene(tmp_path, HEAD + options(solver)).solver.contact) == DEFAULTS
    assert scene(tmp_path, HEAD + options(solver, margin="auto")).solver.contact.margin is None
    assert scene(tmp_path, HEAD + options(solver), ["solver.contact.push_out=0"]).solver.contact.push_out == 0


def fault_of(folder, text):
    """The one fault of a scene: code, line, and what it points at."""
    with pytest.raises(SceneError) as caught:
        read_model(folder, text)
    (fault,) = caught.value.faults
    line = text.splitlines()[fault.where.line - 1]
    return fault.code, fault.where.line, line[fault.where.column - 1 :][: fault.where.length]


WRONG = [
    ("margin", "-1", "SC231"), ("margin", "[1]", "SC203"), ("margin", "2 kg", "SC213"),
    ("restitution_threshold", "-1", "SC231"), ("push_out", "1.5", "SC231"), ("push_out", "-0.1", "SC231"),
    ("push_out_speed", "0", "SC231"), ("tolerance", "0", "SC231"), ("passes", "0", "SC231"), ("passes", "1.5", "SC203"),
    ("linear", "fast", "SC206"),
    ("capacity", "0", "SC231"), ("capacity", "some", "SC203"), ("enabled", "maybe", "SC203"),
    ("friction", "-0.1", "SC231"), ("restitution", "1.1", "SC231"), ("rolling_friction", "-1", "SC231"),
    ("torsional_friction", "1 kg", "SC213"), ("friction_static", "0.3", "SC664"), ("combine", "{friction: most}", "SC206"),
]  # fmt: skip
IN_CONTACT, IN_SOLVER = ("capacity", "enabled"), tuple(OPTIONS)


@pytest.mark.parametrize(("key", "value", "code"), WRONG, ids=[f"{key}-{value}" for key, value, _ in WRONG])
def test_wrong_values_are_refused_where_they_stand(tmp_path, key, value, code):
    if key in IN_SOLVER:
        text = HEAD + f"solver:\n  type: maximal\n  contact:\n    {key}: {value}\n"
    elif key in IN_CONTACT:
        text = HEAD + f"contact:\n  {key}: {value}\n"
    else:
        text = HEAD.replace("world:", f"  iron:\n    {key}: {value}\nworld:")
    found, line, shown = fault_of(tmp_path, text)
    assert found == code
    assert key in text.splitlines()[line - 1]
    assert shown in f"{key}: {value}"


@pytest.mark.parametrize("key", ["pairs: [{a: ball, b: ground, restitution: 2}]", "pairs: [{a: ball, b: groud}]",
                                 "exclude: [[ball, crat]]", "pairs: [{a: ball, b: crate, frictoin: 1}]",
                                 "pairs: [{a: ball, b: crate, friction: 0.5, friction_static: 0.4}]"])  # fmt: skip
def test_wrong_pairs_are_refused_where_they_stand(tmp_path, key):
    code, line, shown = fault_of(tmp_path, HEAD + f"contact:\n  {key}\n")
    assert (code, shown) in (("SC231", "2"), ("SC314", "groud"), ("SC314", "crat"), ("SC204", "frictoin"), ("SC664", "0.4"))
    assert line == len(HEAD.splitlines()) + 2


HELD = "joints: {grip: {type: ball, parent: crate, child: ball}}\n"
NOT_SPARSE = {"joints": ("generalized", HELD), "plane": ("maximal", "")}


@pytest.mark.parametrize("case", NOT_SPARSE)
def test_sparse_is_refused_where_bodies_share_velocities(tmp_path, case):
    solver, more = NOT_SPARSE[case]
    text = HEAD.replace("world: {", "world: {plane: xz, ") if case == "plane" else HEAD
    code, line, shown = fault_of(tmp_path, text + more + options(solver, linear="sparse"))
    assert (code, shown) == ("SC501", "linear")
    assert line == len((text + more).splitlines()) + 1


@pytest.mark.parametrize("case", ["maximal", "generalized"])
def test_sparse_is_read(tmp_path, case):
    text = HEAD + HELD * (case == "maximal") + options(case, linear="sparse")
    assert scene(tmp_path, text).solver.contact.linear == "sparse"


NEVER = {
    "excluded": ("a: ball, b: ground", "exclude: [[ground, ball]]"),
    "one body": ("a: crate/hull, b: crate/lid", ""),
    "does not collide": ("a: crate/lid, b: ball", ""),
}


@pytest.mark.parametrize("case", NEVER)
def test_numbers_of_pairs_that_never_touch_are_refused(tmp_path, case):
    pair, rest = NEVER[case]
    text = HEAD + f"contact:\n  {rest}\n  pairs:\n    - {{a: ball, b: crate, friction: 1}}\n    - {{{pair}, friction: 1}}\n"
    code, line, _ = fault_of(tmp_path, text)
    assert (code, line) == ("SC663", len(text.splitlines()))


def test_numbers_of_pairs_where_nothing_collides_are_refused(tmp_path):
    bare = HEAD.replace("material: wood}", "material: wood, collide: false}")
    assert read_model(tmp_path, bare).contacts is None
    assert fault_of(tmp_path, bare + "contact: {pairs: [{a: ball, b: ground}]}\n")[0] == "SC663"
    off = bare + "contact: {enabled: false, pairs: [{a: ball, b: ground}]}\n"
    assert read_model(tmp_path, off).contacts is None


def test_a_pair_with_less_friction_at_rest_than_its_materials_slide_with(tmp_path):
    text = HEAD + "contact:\n  pairs: [{a: ball, b: ground, friction_static: 0.3}]\n"
    assert fault_of(tmp_path, text)[:2] == ("SC664", len(text.splitlines()))
    contacts = read_model(tmp_path, text.replace("0.3}", "0.5}")).contacts
    assert sorted({*contacts.friction_static[0]}) == [0.4, 0.5]
    assert {*contacts.friction[0]} == {0.4}


def test_later_pairs_win(tmp_path):
    pairs = "pairs: [{a: ball, b: ground, friction: 0.8}, {a: ball/skin, b: ground, friction: 0.9}]"
    contacts = read_model(tmp_path, HEAD + f"contact: {{{pairs}}}\n").contacts
    assert sorted({*contacts.friction[0]}) == [0.4, 0.9]
    assert sorted({*contacts.friction_static[0]}) == [0.4, 0.9]


def test_a_solver_without_contact_refuses_what_is_said_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr("simcli.spec.honours.solver_fields.CONTACT", frozenset())
    quiet = "contact: {enabled: false}\n"
    with pytest.raises(SceneError) as caught:
        scene(tmp_path, HEAD + quiet + options("generalized", passes=3) + "output: {channels: [contacts]}\n")
    found = {(fault.code, fault.where.path) for fault in caught.value.faults}
    assert found == {("SC501", "solver.contact"), ("SC501", "output.channels[0]"), ("SC666", "solver.contact")}


def test_options_that_nothing_reads_are_warned_of(tmp_path, capsys):
    path = tmp_path / "scene.yaml"
    apart = "contact: {exclude: [[crate/hull, ground], [ball, world], [ball, crate]]}\n"
    path.write_text(HEAD + apart + options("maximal", passes=3))
    assert run_command(["check", str(path)], debug=False, as_json=False) == 0
    said = capsys.readouterr()
    assert "warning[SC666]" in said.out + said.err
    path.write_text(HEAD + options("maximal", passes=3))
    assert run_command(["check", str(path)], debug=False, as_json=False) == 0
    said = capsys.readouterr()
    assert "SC666" not in said.out + said.err


def test_a_key_of_another_solver_is_not_suggested_to_itself(tmp_path):
    with pytest.raises(SceneError) as caught:
        scene(tmp_path, HEAD + "solver: {type: generalized, joint_direction: explicit}\n")
    (fault,) = caught.value.faults
    assert (fault.code, fault.message) == ("SC204", "`joint_direction` does not go with the `type` of `solver`")
