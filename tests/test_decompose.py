"""`simcli decompose`: the convex parts of a mesh are convex, fill it, and collide where it does; what goes wrong is said."""

import json
import sys

import numpy as np
import pytest
import yaml

from simcli.cli.doorman import run_command
from simcli.errors import Exit, OutputError, SceneError, UsageError
from simcli.model import build
from simcli.model.bodies.hull import convex_hull
from simcli.model.bodies.mesh import mesh_properties, read_mesh
from simcli.spec import load_document, resolve

NEAR = 1e-3  # [1] of volumes and sizes: coacd cuts in steps of its own, and rebuilds the surface
CORNERS = ((0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2))  # of an angle of 1 m thickness, 3 m^3; its hull has 3.5
ENDS = ((0, 1, 3), (1, 2, 3), (0, 3, 4), (0, 4, 5))
SCENE = """simcli: 1
world: {shapes: {ground: {type: plane}}}
bodies:
  angle:
    mass: 1
    inertia: {diag: [1, 1, 1]}
    shapes:
SHAPES
solver: {dt: 1 ms}
run: {duration: 1}
"""


@pytest.fixture
def angle(tmp_path, monkeypatch):
    """The file of a mesh that is not convex, in the present folder."""
    monkeypatch.chdir(tmp_path)
    n = len(CORNERS)
    lines = [f"v {x} {y} {z}" for z in (0, 1) for x, y in CORNERS]
    lines += [f"f {c + 1} {b + 1} {a + 1}" for a, b, c in ENDS]
    lines += [f"f {a + n + 1} {b + n + 1} {c + n + 1}" for a, b, c in ENDS]
    lines += [f"f {k + 1} {(k + 1) % n + 1} {(k + 1) % n + n + 1} {k + n + 1}" for k in range(n)]
    (tmp_path / "angle.obj").write_text("\n".join(lines) + "\n")
    return tmp_path / "angle.obj"


def command(*words):
    return run_command(["decompose", *map(str, words)], debug=True, as_json="--json" in words)


def model_of(folder, shapes):
    path = folder / "scene.yaml"
    path.write_text(SCENE.replace("SHAPES", "".join(f"      {line}\n" for line in shapes.splitlines())))
    document = load_document(path)
    return build(resolve(document), document)


def test_parts_are_convex_and_fill_the_mesh(angle, capfd):
    pytest.importorskip("coacd")
    assert command("angle.obj", "-o", "parts") == Exit.OK
    out, err = capfd.readouterr()
    shapes = yaml.safe_load(out)
    assert "wrote 2 convex parts of angle.obj to parts/" in err
    model = model_of(angle.parent, out)
    assert {f"angle/{name}" for name in shapes} < set(model.shapes.name)
    total = 0.0
    for shape in shapes.values():
        vertices, faces = read_mesh(angle.parent / shape["file"])
        volume = float(mesh_properties(vertices, faces).mass)
        corner, rings, normals = convex_hull(vertices)
        planes = [(normal, corner[ring[0]] @ normal) for normal, ring in zip(normals, rings, strict=True)]
        hull = sum(height * _area(corner[ring], normal) for (normal, height), ring in zip(planes, rings, strict=True)) / 3
        assert hull == pytest.approx(volume, rel=NEAR)
        notch = np.array((1.5, 1.5, 0.5))
        assert any(normal @ notch > height for normal, height in planes)  # which the hull of the mesh fills
        total += volume
    assert total == pytest.approx(3.0, rel=NEAR)
    assert command("angle.obj", "-o", "again", "--json") == Exit.OK
    files = json.loads(capfd.readouterr().out)["files"]
    assert files == [shape["file"].removeprefix("parts/") for shape in shapes.values()]
    for name in files:
        assert (angle.parent / "again" / name).read_bytes() == (angle.parent / "parts" / name).read_bytes()


def _area(corners, normal):
    """[m^2] of a polygon in the plane of a normal."""
    return 0.5 * sum(np.cross(a, b) @ normal for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True))


def test_what_is_there_is_kept(angle):
    (angle.parent / "angle_parts").mkdir()
    (angle.parent / "angle_parts" / "angle_1.obj").write_text("mine")
    with pytest.raises(OutputError, match="add --force"):
        command("angle.obj")
    assert (angle.parent / "angle_parts" / "angle_1.obj").read_text() == "mine"


def test_without_coacd_the_package_is_named(angle, monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    with pytest.raises(UsageError, match=r"simcli\[decompose\]"):
        command("angle.obj")


def test_a_mesh_that_would_collide_as_it_is_names_the_command(angle):
    with pytest.raises(SceneError) as found:
        model_of(angle.parent, "it: {type: mesh, file: angle.obj, convex: false}")
    (fault,) = found.value.faults
    assert (fault.code, fault.where.line) == ("SC481", 8)
    assert "simcli decompose angle.obj" in fault.hint
