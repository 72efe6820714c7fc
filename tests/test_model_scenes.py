"""Meshes, articulations, names and planar scenes on their way from a scene to a model."""

import numpy as np
import pytest
from support.scenes import scene

from simcli.errors import SceneError
from simcli.model import build, build_worlds
from simcli.spec import resolve

EXACT = 1e-13
MASS = "mass: 1, inertia: {diag: [0.1, 0.2, 0.25]}"
CUBE = """
v 0 0 0
v 2 0 0
v 2 2 0
v 0 2 0
v 0 0 2
v 2 0 2
v 2 2 2
v 0 2 2
f 4 3 2 1
f 5 6 7 8
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
"""


def with_mesh(folder, mesh, scale, extra=""):
    (folder / "part.obj").write_text(mesh)
    shape = f"{{type: mesh, file: part.obj, scale: {scale}, density: 10, pose: {{xyz: [0, 0, 1]}}}}"
    return scene(f"bodies: {{a: {{shapes: {{m: {shape}}}}}}}\ncontact: {{enabled: false}}\n{extra}", folder)


@pytest.mark.parametrize(("scale", "sign"), [("0.5", 1), ("[0.5, -0.5, 0.5]", -1)])
def test_mesh_gives_mass_also_when_mirrored(tmp_path, scale, sign):
    document = with_mesh(tmp_path, CUBE, scale)
    model = build(resolve(document), document)
    assert np.isclose(model.bodies.mass[0, 0], 10.0, rtol=EXACT)
    assert np.allclose(model.bodies.com[0, 0], [0.5, sign * 0.5, 1.5], rtol=EXACT)
    assert np.allclose(model.bodies.inertia[0, 0], 10 / 6 * np.eye(3), rtol=EXACT, atol=EXACT)
    assert len(model.shapes.vertices[0]) == 8
    assert len(model.shapes.faces[0]) == 12


def test_open_mesh_is_refused_at_its_line(tmp_path):
    document = with_mesh(tmp_path, CUBE.rsplit("f", 1)[0], "1")
    with pytest.raises(SceneError, match="not closed") as caught:
        build(resolve(document), document)
    (fault,) = caught.value.faults
    assert (fault.code, fault.where.path, fault.where.line) == ("SC453", "bodies.a.shapes.m.file", 2)
    assert fault.hint


def test_open_mesh_is_legal_where_no_mass_comes_of_it(tmp_path):
    (tmp_path / "part.obj").write_text(CUBE.rsplit("f", 1)[0])
    text = f"bodies: {{a: {{{MASS}, shapes: {{m: {{type: mesh, file: part.obj}}}}}}}}\ncontact: {{enabled: false}}"
    document = scene(text, tmp_path)
    assert build(resolve(document), document).bodies.mass[0, 0] == 1.0


def test_scale_of_a_mesh_cannot_differ_between_worlds(tmp_path):
    vary = "batch: {worlds: 2, vary: {bodies.a.shapes.m.scale: {list: [[1, 1, 1], [2, 2, 2]]}}}"
    document = with_mesh(tmp_path, CUBE, "[1, 1, 1]", vary)
    with pytest.raises(SceneError, match=r"SC455.*scale"):
        build_worlds(document, resolve(document))


def built(text):
    document = scene(text)
    return build(resolve(document), document)


def test_articulations_are_found_and_named_after_their_root():
    model = built(f"""
bodies: {{a: {{{MASS}}}, b: {{{MASS}}}, c: {{{MASS}}}, d: {{{MASS}}}}}
joints:
  ab: {{type: revolute, parent: a, child: b}}
  wc: {{type: revolute, parent: world, child: c}}
  cd: {{type: revolute, parent: c, child: d}}
""")
    assert model.joints.name == ("ab", "wc", "cd", "a_free")
    names = [model.joints.articulation_name[k] for k in model.joints.articulation]
    assert names == ["a", "c", "c", "a"]


def test_listed_articulations_keep_their_names():
    model = built(f"""
bodies: {{a: {{{MASS}}}, b: {{{MASS}}}, c: {{{MASS}}}}}
joints:
  ab: {{type: revolute, parent: a, child: b}}
  wc: {{type: revolute, parent: world, child: c}}
articulations: {{arm: [ab]}}
""")
    assert model.joints.articulation_name == ("arm",)
    assert model.joints.articulation.tolist() == [0, -1, 0]  # a_free belongs to the arm on its body


def test_instances_keep_their_prefix():
    model = built(f"""
models: {{m: {{bodies: {{a: {{{MASS}}}}}, joints: {{j: {{type: revolute, parent: world, child: a}}}}}}}}
instances: {{left: {{model: m}}, right: {{model: m, at: {{xyz: [0, 1, 0]}}}}}}
initial: {{joint_q: {{"*/j": 0.5}}}}
""")
    assert model.joints.name == ("left/j", "right/j")
    assert model.joint_q.tolist() == [[0.5, 0.5]]
    assert np.abs(model.joints.X_p[0, 1, :3] - [0, 1, 0]).max() < EXACT
