"""Mass properties against closed forms, fine meshes, and the laws of sums and frames; mesh files and broken meshes."""

from itertools import pairwise

import numpy as np
import pytest

from simcli import rotations as rot
from simcli.model.bodies.inertia import SOLIDS, MassProperties, combine, shape_properties, shift_inertia
from simcli.model.bodies.mesh import MeshError, mesh_properties, read_mesh, weld
from simcli.model.tables import ShapeKind

EXACT = 1e-13  # relative, some hundred roundings
N_TURN, N_PROFILE = 128, 96
TESSELLATED = 3.0 / min(N_TURN, N_PROFILE) ** 2 * 10  # an inscribed polygon of n sides errs by (2 pi / n)^2 / 6


def profile_arc(centre, radius, start, end):
    angle = np.linspace(start, end, N_PROFILE)
    return np.stack((radius * np.cos(angle), centre + radius * np.sin(angle)), axis=-1)


PROFILES = {  # (distance from the axis, z) from the lowest to the highest point
    ShapeKind.SPHERE: lambda s: profile_arc(0, s[0], -np.pi / 2, np.pi / 2),
    ShapeKind.CAPSULE: lambda s: np.concatenate(
        (profile_arc(-s[1] / 2, s[0], -np.pi / 2, 0), profile_arc(s[1] / 2, s[0], 0, np.pi / 2))
    ),
    ShapeKind.CYLINDER: lambda s: np.array([[0, -s[1] / 2], [s[0], -s[1] / 2], [s[0], s[1] / 2], [0, s[1] / 2]]),
    ShapeKind.CONE: lambda s: np.array([[0, -s[1] / 2], [s[0], -s[1] / 2], [0, s[1] / 2]]),
}


def revolve(profile):
    """Closed mesh of a solid of revolution about z."""
    angle = np.arange(N_TURN) * 2 * np.pi / N_TURN
    ring = [np.stack((r * np.cos(angle), r * np.sin(angle), np.full(N_TURN, z)), -1) for r, z in profile]
    triangles = []
    for low, high in pairwise(ring):
        for i in range(N_TURN):
            k = (i + 1) % N_TURN
            triangles += [(low[i], low[k], high[k]), (low[i], high[k], high[i])]
    corners = np.round(np.array(triangles), 12)
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=-1)
    return weld(corners[area > 1e-11])


def tessellate(kind, size):
    if kind == ShapeKind.ELLIPSOID:
        vertices, faces = revolve(PROFILES[ShapeKind.SPHERE]([1.0]))
        return vertices * size, faces
    if kind == ShapeKind.BOX:
        return box_mesh(size)
    return revolve(PROFILES[kind](size))


def box_mesh(size):
    corner = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    return corner, faces


def assert_close(found, expected, tolerance):
    size = np.sqrt(np.trace(expected.inertia) / expected.mass)
    assert abs(found.mass / expected.mass - 1) < tolerance
    assert np.abs(found.com - expected.com).max() < tolerance * size
    assert np.abs(found.inertia - expected.inertia).max() < tolerance * np.trace(expected.inertia)


@pytest.mark.parametrize("kind", list(SOLIDS), ids=lambda kind: kind.name)
def test_closed_form_agrees_with_a_fine_mesh(kind):
    size = np.array([0.3, 0.7, 0.45])
    closed = shape_properties(kind, size)
    meshed = mesh_properties(*tessellate(kind, size))
    assert_close(meshed, closed, TESSELLATED)


def test_box_mesh_is_exact():
    size = np.array([0.3, 0.7, 0.45])
    assert_close(mesh_properties(*box_mesh(size)), shape_properties(ShapeKind.BOX, size), EXACT)


def test_known_numbers():
    """Textbook values of unit solids."""
    sphere = shape_properties(ShapeKind.SPHERE, np.array([2.0, 0, 0]))
    assert np.allclose(sphere.inertia, 0.4 * sphere.mass * 4.0 * np.eye(3), rtol=EXACT)
    cone = shape_properties(ShapeKind.CONE, np.array([1.0, 4.0, 0]))
    about_apex = shift_inertia(cone.inertia, cone.mass, np.array([0, 0, 2.0]) - cone.com)
    assert np.isclose(about_apex[0, 0], 3 / 5 * cone.mass * (1 / 4 + 16), rtol=EXACT)  # 3/5 m (r^2/4 + h^2)
    ball_of_capsule = shape_properties(ShapeKind.CAPSULE, np.array([0.5, 0.0, 0]))
    assert_close(ball_of_capsule, shape_properties(ShapeKind.SPHERE, np.array([0.5, 0, 0])), EXACT)


def test_capsule_is_a_cylinder_with_two_half_balls():
    r, length = 0.4, 1.1
    half_mass = 2 / 3 * np.pi * r**3
    across = 2 / 5 * half_mass * r**2 - half_mass * (3 / 8 * r) ** 2  # of a half ball, about its own centre of mass
    half = np.diag([across, across, 0.4 * half_mass * r**2])
    z = length / 2 + 3 / 8 * r
    parts = [MassProperties(np.array(half_mass), np.array([0, 0, s * z]), half) for s in (-1, 1)]
    parts.append(shape_properties(ShapeKind.CYLINDER, np.array([r, length, 0])))
    assert_close(shape_properties(ShapeKind.CAPSULE, np.array([r, length, 0])), combine(parts), EXACT)


def test_a_cut_box_is_the_whole_box():
    pose = np.array([0.1, -0.2, 0.3, *rot.unit(np.array([0.1, 0.5, -0.3, 0.8]))])
    halves = []
    for sign in (-1, 1):
        place = rot.make_pose(rot.pose_apply(pose, np.array([0, sign * 0.35, 0])), pose[3:])
        halves.append(shape_properties(ShapeKind.BOX, np.array([0.3, 0.7, 0.5])).placed(place))
    whole = shape_properties(ShapeKind.BOX, np.array([0.3, 1.4, 0.5])).placed(pose)
    assert_close(combine(halves), whole, EXACT)


def test_worlds_are_leading_axes():
    sizes = np.random.default_rng(1).uniform(0.1, 1.0, (6, 3))
    for kind in SOLIDS:
        many = shape_properties(kind, sizes)
        for w in range(6):
            one = shape_properties(kind, sizes[w])
            assert np.allclose(one.inertia, many.inertia[w], rtol=EXACT)
            assert np.allclose(one.com, many.com[w], rtol=EXACT)


def test_mesh_moves_with_its_pose():
    vertices, faces = tessellate(ShapeKind.CONE, np.array([0.3, 0.7, 0]))
    pose = np.array([3.0, -2.0, 5.0, *rot.unit(np.array([0.4, 0.1, -0.3, 0.6]))])
    moved = mesh_properties(rot.pose_apply(pose, vertices), faces)
    assert_close(moved, mesh_properties(vertices, faces).placed(pose), 1e-11)  # offsets of ten sizes cancel


def write_obj(path, vertices, faces):
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {a + 1}/1/1 {b + 1}/1/1 {c + 1}/1/1 # face" for a, b, c in faces.tolist()]
    path.write_text("# made by a test\no box\n" + "\n".join(lines) + "\n")


def write_stl_text(path, vertices, faces):
    rows = ["solid box"]
    for face in faces:
        rows += ["facet normal 0 0 0", "outer loop"]
        rows += [f"vertex {x!r} {y!r} {z!r}" for x, y, z in vertices[face].tolist()]
        rows += ["endloop", "endfacet"]
    path.write_text("\n".join([*rows, "endsolid box"]))


def write_stl_binary(path, vertices, faces):
    head = b"solid looks like text".ljust(80) + np.uint32(len(faces)).tobytes()
    body = b"".join(bytes(12) + vertices[face].astype("<f4").tobytes() + bytes(2) for face in faces)
    path.write_bytes(head + body)


@pytest.mark.parametrize(
    ("suffix", "write", "tolerance"),
    [(".obj", write_obj, EXACT), (".stl", write_stl_text, EXACT), (".STL", write_stl_binary, 1e-6)],
    ids=["obj", "stl-text", "stl-binary-of-float32"],
)
def test_files_give_the_same_solid(tmp_path, suffix, write, tolerance):
    vertices, faces = box_mesh(np.array([0.3, 0.7, 0.45]))
    write(tmp_path / f"box{suffix}", vertices, faces)
    found = mesh_properties(*read_mesh(tmp_path / f"box{suffix}"))
    assert_close(found, mesh_properties(vertices, faces), tolerance)


def test_obj_with_polygons_and_negative_indices(tmp_path):
    vertices, _ = box_mesh(np.ones(3))
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in vertices)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    text += "".join("f " + " ".join(str(i - 8) for i in quad) + "\n" for quad in quads)
    (tmp_path / "b.obj").write_text(text)
    assert np.isclose(mesh_properties(*read_mesh(tmp_path / "b.obj")).mass, 1.0, rtol=EXACT)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda v, f: (v, f[1:]), "not closed"),
        (lambda v, f: (v, f[:, ::-1]), "inside out"),
        (lambda v, f: (v, np.concatenate((f[:1, ::-1], f[1:]))), "disagree"),
        (lambda v, f: (v * np.array([1, 1, 0]), f), "no volume"),
        (lambda v, f: (v, np.concatenate((f, f[:1]))), "not closed"),
        (lambda v, f: (v, np.concatenate((f, [[1, 1, 2]]))), "without area"),
    ],
)
def test_broken_meshes_are_refused_with_a_hint(spoil, words):
    with pytest.raises(MeshError, match=words) as caught:
        mesh_properties(*spoil(*box_mesh(np.ones(3))))
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.obj", b"v 0 0 x\n", "damaged"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 12345678901234567890\n", "damaged"),
        ("a.obj", b"v 0 0 0\nv 1e100 0 0\nv 0 1e100 0\nf 1 2 3\n", "coordinates beyond"),
        ("a.obj", b"v 0 0 0\nf 1 2 3\n", "does not exist"),
        ("a.obj", b"v 0 0\nf 1 1 1\n", "damaged"),
        ("a.obj", b"", "no triangles"),
        ("a.stl", b"\x00\x01", "damaged"),
        ("a.stl", b"solid x\nvertex 1 2 3\n", "damaged"),
        ("a.ply", b"", "not known"),
        ("missing.obj", None, "cannot read"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(MeshError, match=words):
        read_mesh(tmp_path / name)
