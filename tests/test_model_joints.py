"""Laws of the joint catalogue, over every entry: rows vanish on what the joint can reach, and only there."""

import itertools

import numpy as np
import pytest

from simcli import rotations as rot
from simcli.model.joints import catalogue as joints
from simcli.model.joints import rows
from simcli.model.joints.catalogue import CATALOGUE, RowKind
from simcli.model.tables import JointKind
from simcli.spec.names import dofs

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
        elif name != "cable":
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
        self.X_b = rot.pose_compose(self.X_a, rows.joint_transform(self.entry, self.motion, q))
        self.body_b = rot.pose_compose(self.X_b, rot.pose_inverse(self.X_c))
        self.com_a, self.com_b = rot.pose_apply(self.body_a, self.com[0]), rot.pose_apply(self.body_b, self.com[1])

    @property
    def angle(self):
        """Angle of the first angular scalar, for the branch of PITCH rows."""
        n_linear = self.motion.linear.shape[-2]
        return self.q[n_linear] if self.entry.kind == JointKind.SCREW else 0.0

    def gradient(self):
        gradients = [rows.row_gradient(row, self.X_a, self.X_b, self.com_a, self.com_b) for row in self.rows]
        return np.array(gradients).reshape(-1, 12)

    def columns(self):
        return rows.motion_columns(self.entry, self.motion, self.q, self.X_a, self.X_b, self.com_b)

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
    assert {case[1] for case in CASES} | {"cable"} == set(CATALOGUE)
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
        assert abs(rows.row_residual(row, placed.X_a, placed.X_b, placed.angle)) < ROUNDING


@pytest.mark.parametrize(("name", "axes"), [case[1:] for case in CASES], ids=IDS)
def test_gradients_are_the_rates_of_the_residuals(name, axes):
    """Away from the joint's own motion, so that every term of a gradient counts."""
    placed = Placed(name, axes, 7)
    listed = [*placed.rows, joints.distance_row(0.8)]
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
            return rows.row_residual(row, *anchors, near=placed.angle)

        for row in listed:
            rate = (moved(1, row) - moved(-1, row)) / (2 * STEP)
            exact = rows.row_gradient(row, placed.X_a, placed.X_b, placed.com_a, placed.com_b) @ twist
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
        residuals = [rows.row_residual(row, placed.X_a, placed.X_b, near=angle + 1.0) for row in placed.rows]
        assert np.abs(residuals).max() < ROUNDING * 10
    lost = [rows.row_residual(row, placed.X_a, placed.X_b, near=0.0) for row in placed.rows]
    assert np.abs(lost).max() > 1.0  # the angle without its turns is another place


def test_row_kinds_are_those_of_the_table():
    """Counts per kind as in the table of joints of Rible."""
    axis = np.array([0.0, 0.0, 1.0])
    expected = {"revolute": (3, 0, 2), "prismatic": (0, 2, 3), "cylindrical": (0, 2, 2), "fixed": (3, 0, 3),
                "ball": (3, 0, 0), "universal": (3, 0, 1), "planar": (0, 1, 2)}  # fmt: skip
    for name, counts in expected.items():
        axes = np.eye(3)[:2]
        motion = CATALOGUE[name].motion(axis=axis, linear=np.zeros((0, 3)), angular=axes)
        kinds = [row.kind for row in CATALOGUE[name].rows(motion)]
        assert tuple(kinds.count(kind) for kind in (RowKind.MEET, RowKind.ALONG, RowKind.DOT)) == counts
