"""Laws of the joint catalogue, over every entry: rows vanish on what the joint can reach, and only there.

The link tree reproduces the joint transforms of the catalogue, also where it runs against a joint.

Meshes, articulations, names and planar scenes on their way from a scene to a model.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from support.joint_rows import joint_transform, row_residual
from support.random_models import SCALAR_TYPES, TREE_TYPES, random_mechanism, random_model
from support.scenes import scene

from simcli import rotations as rot
from simcli.errors import SceneError
from simcli.joint_types import COAXIAL, NONHOLONOMIC, ONE_COORDINATE, SCREWS
from simcli.model import build, build_worlds
from simcli.model.assemble import assemble
from simcli.model.constraints.massless import least_inertia
from simcli.model.joints import catalogue as joints
from simcli.model.joints import joint_rows
from simcli.model.joints.catalogue import CATALOGUE, RowKind
from simcli.model.joints.links import can_invert
from simcli.model.joints.tree_kinematics import body_poses, dof_inertia
from simcli.model.tables.model import WORLD, JointKind, LinkKind
from simcli.spec import resolve
from simcli.spec.base import dofs

SEEDS = range(5)
ROUNDING = 1e-13  # poses of size one to ten through a dozen products
SPAN = 1e-10  # principal angles: rounding times the condition of generic motion axes
STEP = 1e-5  # of central differences: cubic error 1e-10, rounding 1e-11
DIFFERENCE = 1e-8


def right_handed():
    return rot.quat_to_matrix(rot.unit(np.array([0.3, -0.5, 0.2, 0.7]))).T


def d6_cases():
    """Every number of axes, left-handed triples, axes that are not at right angles."""
    frame = right_handed()
    left = frame[[0, 2, 1]]
    skewed = np.stack((frame[0], rot.unit(frame[1] + 0.4 * frame[0]), rot.unit(frame[2] - 0.3 * frame[1])))
    for n_linear, n_angular in itertools.product(range(4), range(4)):
        for name, axes in (("right", frame), ("left", left), ("skew", skewed)):
            yield f"d6-{n_linear}{n_angular}-{name}", "d6", {"linear": axes[:n_linear], "angular": axes[:n_angular]}


def catalogue_cases():
    axis = rot.unit(np.array([0.2, -0.9, 0.5]))
    for name, entry in CATALOGUE.items():
        if name == "d6":
            yield from d6_cases()
        elif name == "universal":
            yield name, name, {"linear": np.zeros((0, 3)), "angular": right_handed()[:2]}
            skew = np.stack((axis, rot.unit(np.array([1.0, 0.2, 0.1]))))
            yield "universal-skew", name, {"linear": np.zeros((0, 3)), "angular": skew}
        elif name not in ("cable", *NONHOLONOMIC):  # whose rows take of what their axes span
            own = {"axis": axis} if "axis" in entry.reads else {}
            yield name, name, {**own, "pitch": 0.17 if "pitch" in entry.reads else 0.0, "radius": 0.7}


CASES = list(catalogue_cases())
IDS = [case[0] for case in CASES]


class Placed:
    """One joint between two bodies at random poses with off-centre anchors and centres of mass."""

    def __init__(self, name, axes, seed):
        rng = np.random.default_rng(seed)
        self.entry = CATALOGUE[name]
        self.motion = self.entry.motion(**axes)
        self.rows = self.entry.rows(self.motion)
        n_q = self.entry.n_q(self.motion)
        self.q = rng.uniform(-3.0, 3.0, n_q)
        if self.entry.has_quaternion:
            self.q[-4:] = rot.unit(rng.normal(size=4))
        self.X_p, self.X_c, self.body_a = (random_pose(rng) for _ in range(3))
        self.com = rng.normal(size=(2, 3))
        self.place(self.q)

    def place(self, q):
        self.X_a = rot.pose_compose(self.body_a, self.X_p)
        self.X_b = rot.pose_compose(self.X_a, joint_transform(self.entry, self.motion, q))
        self.body_b = rot.pose_compose(self.X_b, rot.pose_inverse(self.X_c))
        self.com_a, self.com_b = rot.pose_apply(self.body_a, self.com[0]), rot.pose_apply(self.body_b, self.com[1])

    @property
    def angle(self):
        """Angle of the first angular scalar, for the branch of PITCH rows."""
        n_linear = self.motion.linear.shape[-2]
        return self.q[n_linear] if self.motion.pitch else 0.0

    def gradient(self):
        gradients = [joint_rows.row_gradient(row, self.X_a, self.X_b, self.com_a, self.com_b) for row in self.rows]
        return np.array(gradients).reshape(-1, 12)

    def columns(self):
        return joint_rows.motion_columns(self.entry, self.motion, self.q, self.X_a, self.X_b, self.com_b)

    def allowed(self):
        """Twists of both bodies: motion as one rigid body, and the motion axes."""
        carried = np.block([[np.eye(3), -rot.skew(self.com_b - self.com_a)], [np.zeros((3, 3)), np.eye(3)]])
        rigid = np.concatenate((np.eye(6), carried))
        joint = np.concatenate((np.zeros((6, self.columns().shape[1])), self.columns()))
        return np.concatenate((rigid, joint), axis=1)


def random_pose(rng):
    return np.concatenate((rng.normal(size=3), rot.unit(rng.normal(size=4))))


def basis_of(columns):
    """Orthonormal basis of a span, and its rank."""
    u, s, _ = np.linalg.svd(columns, full_matrices=True)
    rank = int((s > 1e-9 * s[0]).sum()) if len(s) else 0
    return u[:, :rank], u[:, rank:]


def test_every_entry_is_under_test():
    assert {case[1] for case in CASES} | {"cable", *NONHOLONOMIC} == set(CATALOGUE)
    assert {entry.kind for entry in CATALOGUE.values()} == set(JointKind)


@pytest.mark.parametrize(("name", "axes"), [case[1:] for case in CASES], ids=IDS)
def test_rows_and_motion_axes_count_six(name, axes):
    placed = Placed(name, axes, 0)
    n_linear, n_angular = placed.entry.dof_dim(placed.motion)
    assert len(placed.rows) + n_linear + n_angular == 6
    assert placed.columns().shape == (6, n_linear + n_angular)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "axes"), [case[1:] for case in CASES], ids=IDS)
def test_motion_axes_span_the_null_space_of_the_rows(name, axes, seed):
    placed = Placed(name, axes, seed)
    reachable, _ = basis_of(placed.allowed())
    if len(placed.rows):
        pulled, null = basis_of(placed.gradient().T)
        assert pulled.shape[1] == len(placed.rows)  # no redundant row
    else:
        null = np.eye(12)
    assert reachable.shape[1] == null.shape[1]
    assert np.abs(reachable @ reachable.T - null @ null.T).max() < SPAN


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "axes"), [case[1:] for case in CASES], ids=IDS)
def test_rows_vanish_at_any_coordinates(name, axes, seed):
    placed = Placed(name, axes, seed)
    for row in placed.rows:
        assert abs(row_residual(row, placed.X_a, placed.X_b, placed.angle)) < ROUNDING


@pytest.mark.parametrize(("name", "axes"), [case[1:] for case in CASES], ids=IDS)
def test_gradients_are_the_rates_of_the_residuals(name, axes):
    """Away from the joint's own motion, so that every term of a gradient counts."""
    placed = Placed(name, axes, 7)
    wheel = {"axis": rot.unit(np.array([0.1, 0.9, 0.3])), "normal": rot.unit(np.array([0.2, -0.1, 1.0]))}
    rim = CATALOGUE["rolling"].translation(CATALOGUE["rolling"].motion(**wheel, radius=0.4, tube=0.1))
    listed = [*placed.rows, joints.distance_row(0.8), *rim]
    rng = np.random.default_rng(8)
    for _ in range(3):
        twist = rng.normal(size=12)

        def moved(sign, row, twist=twist):
            anchors = []
            for X, com, t in ((placed.X_a, placed.com_a, twist[:6]), (placed.X_b, placed.com_b, twist[6:])):
                angle = np.linalg.norm(t[3:])
                turn = rot.quat_from_axis_angle(t[3:] / angle, sign * STEP * angle)
                position = com + sign * STEP * t[:3] + rot.quat_rotate(turn, X[:3] - com)
                anchors.append(rot.make_pose(position, rot.quat_multiply(turn, X[3:])))
            return row_residual(row, *anchors, near=placed.angle)

        for row in listed:
            rate = (moved(1, row) - moved(-1, row)) / (2 * STEP)
            exact = joint_rows.row_gradient(row, placed.X_a, placed.X_b, placed.com_a, placed.com_b) @ twist
            assert abs(rate - exact) < DIFFERENCE * (1 + abs(exact))


@pytest.mark.parametrize(("name", "axes"), [case[1:] for case in CASES], ids=IDS)
def test_motion_columns_are_the_rates_of_the_joint_transform(name, axes):
    placed = Placed(name, axes, 9)
    if placed.entry.has_quaternion:
        pytest.skip("velocities are not rates of the coordinates; the span test covers them")
    columns = placed.columns()
    for i in range(columns.shape[1]):
        step = np.zeros_like(placed.q)
        step[i] = STEP
        placed.place(placed.q + step)
        ahead, com_ahead = placed.X_b, placed.com_b
        placed.place(placed.q - step)
        turned = rot.quat_multiply(ahead[3:], rot.quat_inverse(placed.X_b[3:]))
        rate = np.concatenate((com_ahead - placed.com_b, 2.0 * turned[:3] * np.sign(turned[3]))) / (2 * STEP)
        assert np.abs(rate - columns[:, i]).max() < DIFFERENCE * 10


def test_all_of_rible_are_in_the_catalogue_with_the_dofs_that_the_spec_knows():
    """And the rows of each are those of the table of joints of Rible."""
    assert set(joints.RIBLE_ENTRIES) == set(dofs.RIBLE)
    parts = {"floating": (0, 0, 0), "orbital": (0, 1, 0), "planar": (0, 0, 1), "prismatic": (0, 0, 2)}
    turns = {"spherical": 0, "universal": 1, "revolute": 2}
    for name, entry in joints.RIBLE_ENTRIES.items():
        words = {"nc_cylindrical": "prismatic_revolute"}.get(name, name.removeprefix("nc_")).split("_")
        meet, apart, along = next((parts[word] for word in words if word in parts), (3, 0, 0))
        dot = next((turns[word] for word in words if word in turns), 3)
        motion = entry.motion(axis=np.array([0.0, 0.0, 1.0]), radius=1.0)
        kinds = [row.kind for row in entry.rows(motion)]
        found = tuple(kinds.count(kind) for kind in (RowKind.MEET, RowKind.APART, RowKind.ALONG, RowKind.DOT))
        assert found == (meet, apart, along, dot), name
        of = dofs.TYPES[name]
        assert entry.dof_dim(motion) == (of.count("L"), of.count("A")), name
        assert entry.n_q(motion) == dofs.n_q(name, len(of)), name
        assert (entry.kind in joints.ROWS_ONLY_KINDS) == (name in dofs.ROWS_ONLY), name
        assert name in dofs.ROWS_ONLY or joints.TYPE_NAME[entry.kind] == dofs.SAME[name], name
        assert (entry.kind in joints.ORBITS) == (name in dofs.ORBITAL), name
        assert (name in dofs.AXIS) == ("axis" in entry.reads), name


@pytest.mark.parametrize(("name", "axes"), [case[1:] for case in CASES], ids=IDS)
def test_what_a_type_says_of_itself_is_so(name, axes):
    """By what affine bodies take and refuse: equations of second degree, and axes that stand still in both bodies."""
    entry = CATALOGUE[name]
    motion = entry.motion(**axes)
    assert (RowKind.PITCH in {row.kind for row in entry.rows(motion)}) == (name in SCREWS) == bool(motion.pitch)
    if name in COAXIAL:
        assert all(np.array_equal(axis, axes["axis"]) for axis in (*motion.linear, *motion.angular))
    if motion.pitch:  # the advance is told from the slides
        assert np.linalg.matrix_rank(np.concatenate((motion.linear, motion.angular[:1]))) == len(motion.linear) + 1


@pytest.mark.parametrize("name", sorted(dofs.SAME.keys() & ONE_COORDINATE))
def test_init_angle_is_that_of_the_type_under_its_other_name(name):
    def anchors(kind):
        joint = f"{{type: {kind}, parent: world, child: b, axis: [1, 2, 0], init_angle: 0.4, q: 0.1}}"
        text = f"bodies: {{b: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}}}\njoints: {{j: {joint}}}\n"
        model = build(resolve(scene(f"{text}solver: {{type: natural, dt: 1e-3}}\nrun: {{duration: 1}}\n")))
        return np.concatenate((model.joints.X_c, model.joint_q, *body_poses(model, model.joint_q)), axis=None)

    assert np.array_equal(anchors(name), anchors(dofs.SAME[name]))


def test_free_velocity_is_that_of_the_centre_of_mass_in_the_parent_anchor_frame():
    placed = Placed("free", {}, 3)
    Q = rot.quat_to_matrix(placed.X_a[3:])
    expected = np.block([[Q, np.zeros((3, 3))], [np.zeros((3, 3)), Q]])
    assert np.abs(placed.columns() - expected).max() == 0.0


def test_screw_advances_over_many_turns():
    placed = Placed("screw", {"axis": np.array([0.0, 0.0, 1.0]), "pitch": 0.02}, 1)
    for turns in (-40.3, -1.0, 0.0, 0.7, 25.25):
        angle = 2 * np.pi * turns
        placed.place(np.array([angle]))
        residuals = [row_residual(row, placed.X_a, placed.X_b, near=angle + 1.0) for row in placed.rows]
        assert np.abs(residuals).max() < ROUNDING * 10
    lost = [row_residual(row, placed.X_a, placed.X_b, near=0.0) for row in placed.rows]
    assert np.abs(lost).max() > 1.0  # the angle without its turns is another place


def test_row_kinds_are_those_of_the_table():
    """Counts per kind as in the table of joints of Rible."""
    axis = np.array([0.0, 0.0, 1.0])
    expected = {
        "revolute": (3, 0, 2),
        "prismatic": (0, 2, 3),
        "cylindrical": (0, 2, 2),
        "fixed": (3, 0, 3),
        "ball": (3, 0, 0),
        "universal": (3, 0, 1),
        "planar": (0, 1, 2),
    }
    for name, counts in expected.items():
        axes = np.eye(3)[:2]
        motion = CATALOGUE[name].motion(axis=axis, linear=np.zeros((0, 3)), angular=axes)
        kinds = [row.kind for row in CATALOGUE[name].rows(motion)]
        assert tuple(kinds.count(kind) for kind in (RowKind.MEET, RowKind.ALONG, RowKind.DOT)) == counts


LINKS_ROUNDING = 1e-14  # per body between the world and the body compared, lengths of order one
LINKS_SEEDS = range(8)


def poses_by_catalogue(mechanism, joint_q, q_start):
    """x_wc = x_wp x_pj x_j(q) x_cj^-1, joint by joint, whichever body is known."""
    poses = {WORLD: np.array(rot.IDENTITY_POSE)}
    waiting = [j for j, part in enumerate(mechanism.joints) if part.is_tree]
    while waiting:
        for j in list(waiting):
            part = mechanism.joints[j]
            X = joint_transform(part.entry, part.motion, joint_q[q_start[j] : q_start[j + 1]])
            across = rot.pose_compose(rot.pose_compose(part.X_p[0], X), rot.pose_inverse(part.X_c[0]))
            if part.parent in poses:
                poses[part.child] = rot.pose_compose(poses[part.parent], across)
            elif part.child in poses:
                poses[part.parent] = rot.pose_compose(poses[part.child], rot.pose_inverse(across))
            else:
                continue
            waiting.remove(j)
    return poses


def assert_same_poses(mechanism, model):
    expected = poses_by_catalogue(mechanism, model.joint_q[0], model.joints.q_start)
    R, x = body_poses(model, model.joint_q)
    limit = LINKS_ROUNDING * (4 + model.n_bodies)
    for b in range(model.n_bodies):
        assert np.abs(x[b, 0] - expected[b][:3]).max() < limit
        assert np.abs(R[b, 0] - rot.quat_to_matrix(expected[b][3:])).max() < limit


@pytest.mark.parametrize("seed", LINKS_SEEDS)
@pytest.mark.parametrize("type_name", TREE_TYPES)
def test_links_reproduce_each_joint_type(type_name, seed):
    mechanism = random_mechanism(np.random.default_rng(seed), 4, types=(type_name,), floating=seed % 2 == 0)
    assert_same_poses(mechanism, assemble(mechanism))


@pytest.mark.parametrize("seed", LINKS_SEEDS)
@pytest.mark.parametrize("n_bodies", [1, 7, 30])
def test_links_reproduce_mixed_trees(n_bodies, seed):
    mechanism = random_mechanism(np.random.default_rng(100 + seed), n_bodies)
    assert_same_poses(mechanism, assemble(mechanism))


@pytest.mark.parametrize("seed", LINKS_SEEDS)
@pytest.mark.parametrize("type_name", SCALAR_TYPES)
def test_links_reproduce_joints_that_the_tree_runs_against(type_name, seed):
    mechanism = random_mechanism(np.random.default_rng(200 + seed), 5, types=(type_name,), floating=False)
    turned = []
    for part in mechanism.joints:
        assert can_invert(part.kind)
        if part.parent == WORLD:
            turned.append(part)
        else:
            turned.append(replace(part, parent=part.child, child=part.parent))
    mechanism.joints = turned
    assert_same_poses(mechanism, assemble(mechanism))


@pytest.mark.parametrize("seed", LINKS_SEEDS)
def test_table_invariants(seed):
    model = random_model(np.random.default_rng(300 + seed), 20)
    links = model.links
    k = np.arange(model.n_links)
    assert (links.parent < k).all()
    assert sorted(links.body[links.body >= 0]) == list(range(model.n_bodies))
    assert (links.body[links.tip] == np.arange(model.n_bodies)).all()
    assert links.n_qd.sum() == model.n_qd
    owners = np.concatenate([np.arange(s, s + n) for s, n in zip(links.qd_start, links.n_qd, strict=True)])
    assert sorted(owners) == list(range(model.n_qd))
    assert (links.mass[:, links.body < 0] == 0.0).all()
    for i in k:  # depth first: what hangs on a link follows it without gap
        below = {i}
        for j in range(i + 1, model.n_links):
            if links.parent[j] in below:
                below.add(j)
        assert below == set(range(i, i + len(below)))
        assert links.root[i] == (i if links.parent[i] == WORLD else links.root[links.parent[i]])
    assert len(model.dofs.label) == model.n_qd == model.dofs.axis.shape[1]
    assert len(model.dofs.q_label) == model.n_q == model.joint_q.shape[1]


def test_arrays_are_read_only():
    model = random_model(np.random.default_rng(1), 3)
    for array in (model.joint_q, model.links.rotation, model.bodies.mass, model.dofs.axis):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_worlds_are_independent_of_each_other():
    rng = np.random.default_rng(4)
    model = random_model(rng, 6, n_worlds=5, vary=("bodies",))
    R, x = body_poses(model, model.joint_q)
    for w in range(5):
        R_w, x_w = body_poses(model, model.joint_q[w : w + 1])
        assert (R_w[:, 0] == R[:, w]).all()
        assert (x_w[:, 0] == x[:, w]).all()
    assert model.links.mass.shape[0] == 5
    assert model.links.offset.shape[0] == 1


@pytest.mark.parametrize("seed", LINKS_SEEDS)
def test_dof_inertia_times_to_the_determinant_of_the_mass_matrix(seed):
    """det M is the product of the D of the articulated-body algorithm, M from Jacobians of the body poses."""
    types = ("revolute", "prismatic", "screw", "universal", "cylindrical", "planar", "d6")
    model = random_model(np.random.default_rng(500 + seed), 4, types=types, floating=False)
    D, scale = dof_inertia(model, model.joint_q)
    product = np.prod([np.linalg.det(d[0]) for d in D if d.size])
    expected = np.linalg.det(mass_matrix_by_differences(model))
    assert abs(product / expected - 1.0) < 1e-6  # central differences of step 1e-6
    assert all((np.diagonal(d[0]) > 1e-6 * s[0]).all() for d, s in zip(D, scale, strict=True))


@pytest.mark.parametrize("seed", LINKS_SEEDS)
@pytest.mark.parametrize("floating", [False, True])
def test_inertia_of_a_link_alone_is_a_bound_of_what_its_dofs_meet(seed, floating):
    """Of all joint types, in several worlds, to the least eigenvalue of D by its scale."""
    model = random_model(np.random.default_rng(900 + seed), 5, floating=floating, n_worlds=3, vary=("bodies",))
    D, scale = dof_inertia(model, model.joint_q)
    units = [np.sqrt(one) for one in scale]
    met = [np.linalg.eigvalsh(d / u[:, :, None] / u[:, None, :]).min(initial=np.inf) for d, u in zip(D, units, strict=True)]
    assert (least_inertia(model) <= np.array(met) * (1.0 + 1e-9)).all()
    assert (least_inertia(model)[model.links.body >= 0] > 0.0).all()


def mass_matrix_by_differences(model, step=1e-6):
    n = model.n_qd
    J = np.zeros((model.n_bodies, 6, n))
    R0, _ = body_poses(model, model.joint_q)
    for i in range(n):
        states = []
        for sign in (1, -1):
            q = model.joint_q.copy()
            q[0, i] += sign * step
            R, x = body_poses(model, q)
            states.append((R[:, 0], x[:, 0] + rot.turn(R[:, 0], model.bodies.com[0])))
        J[:, :3, i] = (states[0][1] - states[1][1]) / (2 * step)
        W = (states[0][0] - states[1][0]) @ rot.transpose(R0[:, 0]) / (2 * step)
        J[:, 3:, i] = np.stack((W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]), axis=-1)
    M = np.zeros((n, n))
    for b in range(model.n_bodies):
        inertia = R0[b, 0] @ model.bodies.inertia[0, b] @ R0[b, 0].T
        M += model.bodies.mass[0, b] * J[b, :3].T @ J[b, :3] + J[b, 3:].T @ inertia @ J[b, 3:]
    return M


def test_scalar_links_carry_turn_and_advance():
    model = random_model(np.random.default_rng(9), 8, types=("screw",), floating=False)
    assert (model.links.kind == LinkKind.HELIX).all()
    assert (model.links.advance == model.joints.pitch[:, model.links.joint]).all()
    assert (model.links.turn == 1.0).all()


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
