"""Mass properties against closed forms, fine meshes, and the laws of sums and frames; mesh files and broken meshes.

Body Jacobians by differences, ranks of loops with known mobility, and the texts made of them.

Rotations and poses: group laws, agreement of the spellings, exactness on the coordinate axes.
"""

import json
from itertools import pairwise

import numpy as np
import pytest
from support.random_models import TREE_TYPES, random_body, random_mechanism, random_model

from simcli import rotations as rot
from simcli.model import describe
from simcli.model.assemble import assemble
from simcli.model.bodies.inertia import SOLIDS, MassProperties, combine, shape_properties, shift_inertia
from simcli.model.bodies.mesh import MeshError, mesh_properties, read_mesh, weld
from simcli.model.constraints.mobility import body_jacobian, loop_ranks
from simcli.model.joints.catalogue import CATALOGUE
from simcli.model.joints.mechanism import JointInput, Mechanism
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.tables.model import WORLD, ShapeKind
from simcli.spec.checks import physics

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


STEP = 1e-6
DIFFERENCE = 1e-7
Z = np.array([[0.0, 0.0, 1.0]])


@pytest.mark.parametrize("inverted", [False, True])
def test_body_jacobian_is_the_rate_of_the_poses(inverted):
    types = [name for name in TREE_TYPES if CATALOGUE[name].coordinates == "scalars"]
    mechanism = random_mechanism(np.random.default_rng(3), 8, types=types, floating=False)
    if inverted:
        for part in mechanism.joints[1:]:
            part.parent, part.child = part.child, part.parent
    model = assemble(mechanism)
    J = body_jacobian(model)
    R0, _ = body_poses(model, model.joint_q)
    for i in range(model.n_qd):
        states = []
        for sign in (1, -1):
            q = model.joint_q.copy()
            q[0, i] += sign * STEP
            R, x = body_poses(model, q)
            states.append((R[:, 0], x[:, 0] + rot.turn(R[:, 0], model.bodies.com[0])))
        velocity = (states[0][1] - states[1][1]) / (2 * STEP)
        spin = (states[0][0] - states[1][0]) @ rot.transpose(R0[:, 0]) / (2 * STEP)
        omega = np.stack((spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]), axis=-1)
        assert np.abs(J[:, :3, i] - velocity).max() < DIFFERENCE
        assert np.abs(J[:, 3:, i] - omega).max() < DIFFERENCE


def pose_at(x, y):
    return np.array([[x, y, 0.0, 0, 0, 0, 1.0]])


def four_bar(closing="revolute", axes=(Z, Z, Z, Z)):
    """Planar four-bar: crank, coupler, rocker; the last joint closes the loop."""
    bodies = [random_body(np.random.default_rng(k), name) for k, name in enumerate(("crank", "coupler", "rocker"))]
    pins = [(WORLD, 0, (0, 0), (0, 0)), (0, 1, (0, 1), (0, 0)), (1, 2, (2, 0), (0, 0)), (WORLD, 2, (2, 0), (0, -1))]
    joints = []
    for k, (parent, child, at_parent, at_child) in enumerate(pins):
        entry = CATALOGUE[closing if k == 3 else "revolute"]
        joints.append(
            JointInput(
                f"pin{k}",
                entry.kind,
                parent,
                child,
                entry.motion(axis=axes[k]),
                pose_at(*at_parent),
                pose_at(*at_child),
                is_tree=k < 3,
            )
        )
    return assemble(Mechanism(bodies, joints))


@pytest.mark.parametrize(("closing", "dof", "redundant"), [("revolute", 1, 3), ("ball", 1, 1), ("cylindrical", 1, 2)])
def test_four_bar_moves_with_one_degree_of_freedom(closing, dof, redundant):
    """Planar loop in space: Gruebler's 3 * 3 - 2 * 4 = 1; out-of-plane rows say nothing new."""
    data = describe.freedom(four_bar(closing))
    assert data["tree_dofs"] == 3
    assert data["dof"] == dof
    assert data["redundant"] == [{"joint": "pin3", "rows": redundant, "with": []}]


def test_crossed_axes_lock_the_four_bar():
    data = describe.freedom(four_bar(axes=(Z, Z, Z, np.array([[1.0, 0.0, 0.0]]))))
    assert data["dof"] == 0


def test_trees_have_no_loops():
    model = random_model(np.random.default_rng(1), 9)
    assert loop_ranks(model) == []
    assert describe.freedom(model)["dof"] == model.n_qd


def test_descriptions_are_json_and_name_everything():
    model = four_bar()
    data = {"tree": describe.describe_tree(model), "layout": describe.layout(model), "freedom": describe.freedom(model)}
    assert json.loads(json.dumps(data)) == data
    text = "\n".join(describe.tree_lines(model) + describe.layout_lines(model) + describe.freedom_lines(model))
    for name in (*model.joints.name, *model.bodies.name):
        assert name in text
    assert "      pin2 (revolute) -> rocker" in text


def test_layout_covers_the_coordinates_in_order():
    model = random_model(np.random.default_rng(5), 15)
    data = describe.layout(model)
    assert [row["index"] for row in data["joint_q"]] == list(range(model.n_q))
    assert [row["index"] for row in data["joint_qd"]] == list(range(model.n_qd))
    assert {row["unit"] for row in data["joint_q"]} <= {"m", "rad", "1"}


TOLERANCE = 1e-14  # some 50 roundings of numbers of size one


@pytest.fixture
def quats():
    rng = np.random.default_rng(1)
    return rot.unit(rng.normal(size=(500, 4)))


def axis_matrix(axis, angle):
    """Rodrigues' formula, written independently of the quaternions."""
    k = rot.skew(np.asarray(axis, float))
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def test_quaternion_rotation_equals_its_matrix(quats):
    v = np.random.default_rng(2).normal(size=(500, 3))
    R = rot.quat_to_matrix(quats)
    assert np.abs(rot.turn(R, v) - rot.quat_rotate(quats, v)).max() < TOLERANCE * 10
    assert np.abs(R @ rot.transpose(R) - np.eye(3)).max() < TOLERANCE
    assert np.abs(np.linalg.det(R) - 1).max() < TOLERANCE


def test_matrix_of_axis_angle_is_rodrigues_formula():
    rng = np.random.default_rng(3)
    for _ in range(100):
        axis, angle = rot.unit(rng.normal(size=3)), rng.uniform(-10, 10)
        R = rot.quat_to_matrix(rot.quat_from_axis_angle(axis, angle))
        assert np.abs(R - axis_matrix(axis, angle)).max() < TOLERANCE


def test_rpy_is_yaw_after_pitch_after_roll():
    roll, pitch, yaw = 0.3, -1.1, 2.5
    expected = axis_matrix([0, 0, 1], yaw) @ axis_matrix([0, 1, 0], pitch) @ axis_matrix([1, 0, 0], roll)
    assert np.abs(rot.quat_to_matrix(rot.quat_from_rpy([roll, pitch, yaw])) - expected).max() < TOLERANCE


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1.0, np.pi - 1e-9, np.pi, np.pi + 1e-9, 6.0])
def test_matrix_to_quat_inverts_at_every_angle(angle):
    axes = np.concatenate((np.eye(3), -np.eye(3), rot.unit(np.random.default_rng(4).normal(size=(50, 3)))))
    q = rot.quat_from_axis_angle(axes, np.full(len(axes), angle))
    back = rot.matrix_to_quat(rot.quat_to_matrix(q))
    sign = np.sign(rot.quat_multiply(rot.quat_inverse(q), back)[:, 3:])
    assert np.abs(back * sign - q).max() < TOLERANCE
    assert (back[:, 3] >= 0).all()


def test_poses_form_a_group(quats):
    p = np.random.default_rng(5).normal(size=(500, 3))
    a = rot.make_pose(p, quats)
    b = rot.make_pose(p[::-1], quats[::-1])
    x = np.random.default_rng(6).normal(size=(500, 3))
    twice = rot.pose_apply(a, rot.pose_apply(b, x))
    assert np.abs(rot.pose_apply(rot.pose_compose(a, b), x) - twice).max() < 10 * TOLERANCE
    shift, angle = rot.pose_distance(rot.pose_compose(a, rot.pose_inverse(a)), np.array(rot.IDENTITY_POSE))
    assert max(shift.max(), angle.max()) < 10 * TOLERANCE


def test_frame_along_is_a_rotation_with_its_z_on_the_axis():
    axes = rot.unit(np.random.default_rng(7).normal(size=(500, 3)))
    frames = rot.frame_along(axes)
    assert np.abs(frames[..., 2] - axes).max() == 0.0
    assert np.abs(frames @ rot.transpose(frames) - np.eye(3)).max() < TOLERANCE
    assert np.abs(np.linalg.det(frames) - 1).max() < TOLERANCE


def test_frame_along_coordinate_axes_is_cyclic_and_exact():
    x, y, z = np.eye(3)
    for axis, expected in ((z, (x, y, z)), (x, (y, z, x)), (y, (z, x, y)), (-z, (x, -y, -z))):
        assert (rot.frame_along(axis) == np.stack(expected, axis=-1)).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_products_of_skew_matrices_have_the_bits_of_the_full_ones(order):
    a, b = (np.array(np.random.default_rng(k).normal(size=(50, 3)), order=order) for k in range(2))
    a[:20, 1], b[10:30, 2] = 0.0, -0.0
    full = rot.multiply(rot.skew(a), rot.skew(b))
    assert rot.skew_product(a, b).tobytes() == full.tobytes()


def test_moments_of_a_diagonal_are_what_a_solver_finds():
    rows = np.zeros((50, 3, 3))
    rows[:, [0, 1, 2], [0, 1, 2]] = np.random.default_rng(3).uniform(-1.0, 9.0, (50, 3))
    np.testing.assert_array_equal(physics._principal_moments(rows.reshape(50, 9)), np.linalg.eigvalsh(rows))
