"""Constructors of natural coordinates: energy, rigidity, and the constant maps between them, at random states."""

import numpy as np
import pytest

from simcli import rotations as rot
from simcli.model.natural import constructors as con
from simcli.model.natural.constructors import Basis

ENERGY = 1e-12  # relative, issue 4
ROUNDING = 1e-11  # of sums over matrices whose condition is up to a thousand
KINDS = [(kind, -1) for kind in ("1P3V", "2P2V", "3P1V", "4P", *con.SLENDER)]
KINDS += [(kind, plane) for kind in (*con.PLANAR, *con.SLENDER) for plane in range(3)]
DIMS = {"1P3V": 3, "2P2V": 3, "3P1V": 3, "4P": 3, "1P2V": 2, "2P1V": 2, "3P": 2, "1P1V": 1, "2P": 1, "1P": 0}


class Placed:
    """A body with a random basis of a kind, moving; flat: its mass lies in a plane (in space) or on the bar."""

    def __init__(self, kind, plane, seed, flat=False):
        rng = np.random.default_rng(seed)
        self.mass, self.com = rng.uniform(0.5, 2.0), rng.normal(size=3)
        self.R_g = rot.quat_to_matrix(rot.unit(rng.normal(size=4)))
        second = rng.uniform(0.1, 0.5, 3) * (np.array((1.0, 1.0, 0.0)) if flat else 1.0)
        n_points, n_vectors = con.constructor_counts(kind)
        points, vectors = rng.normal(size=(n_points, 3)), rng.normal(size=(n_vectors, 3))
        self.turn = rng.normal(size=3)
        twist = rng.normal(size=6)
        pose = np.concatenate((rng.normal(size=3), rot.unit(rng.normal(size=4))))
        if DIMS[kind] == 0:
            points[:] = self.com
            second[:] = 0.0
        if DIMS[kind] == 1:
            second[:] = (0.3, 0.0, 0.0)
            along = self.R_g[:, 0] if plane < 0 else rot.unit(np.where(np.arange(3) == plane, 0.0, rng.normal(size=3)))
            points = self.com + rng.normal(size=(n_points, 1)) * along
            vectors = rng.uniform(0.5, 2.0, size=(n_vectors, 1)) * along
        self.inertia = self.R_g @ np.diag(second.sum() - second) @ self.R_g.T
        if plane >= 0:
            points[:, plane], vectors[:, plane], self.com[plane], pose[plane], twist[plane] = 0, 0, 0, 0, 0
            angle = rng.uniform(-3, 3)
            pose[3:] = rot.quat_from_axis_angle(np.eye(3)[plane], angle)
            twist[3:] = np.eye(3)[plane] * twist[3]
            about = 0.0 if DIMS[kind] == 0 else 0.37
            self.inertia = np.diag(np.where(np.arange(3) == plane, about, 0.5 * about))
        self.basis, self.pose, self.twist, self.plane = Basis(kind, points, vectors, plane), pose, twist, plane
        self.q, self.qd = con.coordinates(self.basis, pose), con.rates(self.basis, self.com, pose, twist)

    def energy(self):
        R = rot.quat_to_matrix(self.pose[3:])
        v, w = self.twist[:3], self.twist[3:]
        return 0.5 * self.mass * v @ v + 0.5 * w @ R @ self.inertia @ R.T @ w


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("kind", "plane"), KINDS)
def test_kinetic_energy_is_that_of_the_rigid_body(kind, plane, seed, flat):
    """Flat bodies and thin rods too, whose mass matrix has no inverse."""
    body = Placed(kind, plane, seed, flat)
    M = con.mass_matrix(body.basis, body.mass, body.com, body.inertia)
    assert np.abs(M - M.T).max() < ROUNDING * np.abs(M).max()
    assert abs(0.5 * body.qd @ M @ body.qd - body.energy()) < ENERGY * np.abs(M).max() * (body.qd @ body.qd)
    assert body.energy() > 0.0
    lowest = np.linalg.eigvalsh(M)[0]
    if flat and DIMS[kind] == 3:
        assert abs(lowest) < ENERGY * np.abs(M).max()
    else:
        assert lowest > 0.0


@pytest.mark.parametrize(("kind", "plane"), KINDS)
def test_rigidity_holds_has_its_rank_and_constant_hessians(kind, plane):
    body = Placed(kind, plane, 7)
    value, A = con.rigidity(body.basis, body.q)
    n = {0: 0, 1: 1, 2: 3, 3: 6}[DIMS[kind]]
    assert len(value) == n
    assert len(body.q) == (3 if plane < 0 else 2) * (1 + DIMS[kind])
    if not n:
        return
    assert np.linalg.matrix_rank(A) == n
    size = np.abs(A).max() ** 2
    assert np.abs(value).max() < ENERGY * size
    assert np.abs(A @ body.qd).max() < ENERGY * size * np.abs(body.qd).max()
    H, rng, step = con.rigidity_hessians(body.basis), np.random.default_rng(1), 1e-4
    for _ in range(3):
        d = rng.normal(size=len(body.q))
        ahead, back = (con.rigidity(body.basis, body.q + s * step * d) for s in (1, -1))
        assert np.abs((ahead[0] - back[0]) / (2 * step) - A @ d).max() < 1e-9 * size
        assert np.abs((ahead[1] - back[1]) / (2 * step) - H @ d).max() < 1e-9 * size


@pytest.mark.parametrize(("kind", "plane"), KINDS)
def test_places_of_the_body_are_constant_combinations(kind, plane):
    body = Placed(kind, plane, 3)
    rng = np.random.default_rng(5)
    entities = np.concatenate((body.basis.points, body.basis.vectors))
    place = body.basis.points[0] + rng.normal(size=DIMS[kind]) @ (entities[1:] - np.where(
        np.arange(1, len(entities))[:, None] < len(body.basis.points), body.basis.points[0], 0.0))  # fmt: skip
    w = con.weights(body.basis, place)
    seen = w @ body.q.reshape(len(w), -1)
    assert np.abs(seen - body.basis.axes @ rot.pose_apply(body.pose, place)).max() < ROUNDING


def test_vectors_may_have_any_length():
    """Each alone: places and energy are those of a body whose vectors have length one."""
    body = Placed("1P3V", -1, 2)
    short = Basis("1P3V", body.basis.points, body.basis.vectors * np.array([[1e-20], [1.0], [1e9]]))
    assert con.complain(short, body.com[None], body.inertia[None]) == ""
    q, qd = con.coordinates(short, body.pose), con.rates(short, body.com, body.pose, body.twist)
    place, R = np.array([0.3, -0.2, 0.7]), rot.quat_to_matrix(body.pose[3:])
    seen = con.weights(short, place) @ q.reshape(4, 3)
    assert np.abs(seen - body.pose[:3] - R @ place).max() < ROUNDING
    energy = 0.5 * qd @ con.mass_matrix(short, body.mass, body.com, body.inertia) @ qd
    assert abs(energy - body.energy()) < ROUNDING * body.energy()


def from_internal(basis, com, axes, n_vectors):
    """The constant matrix that makes q of the solver's own coordinates (p, a_1, ..); its pseudoinverse leads back.

    Args:
        basis: of the body.
        com: [m], (3,), body frame.
        axes: [1], (3, 3), of the vectors a_k in the body frame, as columns (natural.principal_axes).
        n_vectors: how many of them are coordinates; in a plane the second is the first turned about the normal.

    Returns:
        [1, m], (N (1 + M), 3 (1 + n_vectors)).
    """
    entities = [(1.0, point - com) for point in basis.points] + [(0.0, vector) for vector in basis.vectors]
    rows = []
    for share, place in entities:
        s = axes.T @ place
        blocks = [share * np.eye(3), *(s[k] * np.eye(3) for k in range(n_vectors))]
        if basis.plane >= 0 and n_vectors:
            blocks[1] = blocks[1] + s[1] * rot.skew(axes[:, 2])
        rows.append(basis.axes @ np.concatenate(blocks, axis=1))
    return np.concatenate(rows)


@pytest.mark.parametrize(("kind", "plane"), KINDS)
def test_coordinates_are_a_constant_matrix_times_those_of_the_solver(kind, plane):
    body, M = Placed(kind, plane, 11), DIMS[kind]
    axes = body.R_g if plane < 0 else np.roll(np.eye(3), -(plane + 1), axis=0).T
    n_vectors = M if plane < 0 or not M else 1
    R = rot.quat_to_matrix(body.pose[3:])
    p, A = rot.pose_apply(body.pose, body.com), R @ axes
    own = np.concatenate([p, *A.T[:n_vectors]])
    own_rate = np.concatenate([body.twist[:3], *np.cross(body.twist[3:], A.T[:n_vectors])])
    T = from_internal(body.basis, body.com, axes, n_vectors)
    assert np.abs(T @ own - body.q).max() < ROUNDING
    assert np.abs(T @ own_rate - body.qd).max() < ROUNDING
    assert np.abs(np.linalg.pinv(T) @ body.q - own).max() < ROUNDING * 100


@pytest.mark.parametrize(
    ("words", "basis", "com"),
    [
        ("one place", Basis("2P2V", np.array([[[0, 0, 1], [0, 0, 1]]]), np.eye(3)[None, :2]), (0, 0, 0)),
        ("dependent", Basis("1P3V", np.zeros((1, 1, 3)), np.array([[[1, 0, 0], [0, 1, 0], [1, 1, 0]]])), (0, 0, 0)),
        ("dependent", Basis("1P3V", np.zeros((1, 1, 3)), np.array([[[1, 0, 0], [0, 1e-9, 0], [1, 1e-9, 0]]])), (0, 0, 0)),
        ("dependent", Basis("1P3V", np.zeros((1, 1, 3)), np.array([[[1, 0, 0], [0, 1, 0], [0, 0, 0]]])), (0, 0, 0)),
        ("", Basis("1P3V", np.zeros((1, 1, 3)), np.array([[[1e-20, 0, 0], [0, 1, 0], [0, 0, 1e9]]])), (0, 0, 0)),
        ("dependent", Basis("3P", np.array([[[0, 0, 0], [1, 0, 0], [2, 0, 0]]]), np.zeros((1, 0, 3)), 2), (0, 0, 0)),
        ("off its axis", Basis("2P", np.array([[[0, 0, 0], [1, 0, 0]]]), np.zeros((1, 0, 3))), (0.5, 0.1, 0)),
        ("inertia about", Basis("2P", np.array([[[0, 0, 0], [1, 0, 0]]]), np.zeros((1, 0, 3))), (0.5, 0, 0)),
        ("not at its centre", Basis("1P", np.array([[[0, 0, 0]]]), np.zeros((1, 0, 3))), (0.5, 0, 0)),
        ("out of the plane", Basis("1P2V", np.zeros((1, 1, 3)), np.array([[[1, 0, 0.1], [0, 1, 0]]]), 2), (0, 0, 0)),
        ("", Basis("2P2V", np.array([[[0, 0, 0], [1, 0, 0]]]), np.array([[[0, 1, 0.5], [0, 0, 3]]])), (0, 0, 0)),
    ],
)  # fmt: skip
def test_what_describes_no_body_is_named(words, basis, com):
    found = con.complain(basis, np.array([com], float), np.diag((0.1, 0.2, 0.2))[None])
    assert words in found
    assert bool(words) == bool(found)
