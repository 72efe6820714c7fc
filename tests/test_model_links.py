"""The link tree reproduces the joint transforms of the catalogue, also where it runs against a joint."""

from dataclasses import replace

import numpy as np
import pytest
from support.joint_rows import joint_transform
from support.random_models import SCALAR_TYPES, TREE_TYPES, random_mechanism, random_model

from simcli import rotations as rot
from simcli.model.assemble import assemble
from simcli.model.bodies.massless import least_inertia
from simcli.model.tables import WORLD, LinkKind
from simcli.model.tree.links import can_invert
from simcli.model.tree.reference import body_poses, dof_inertia

ROUNDING = 1e-14  # per body between the world and the body compared, lengths of order one
SEEDS = range(8)


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
    limit = ROUNDING * (4 + model.n_bodies)
    for b in range(model.n_bodies):
        assert np.abs(x[b, 0] - expected[b][:3]).max() < limit
        assert np.abs(R[b, 0] - rot.quat_to_matrix(expected[b][3:])).max() < limit


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("type_name", TREE_TYPES)
def test_links_reproduce_each_joint_type(type_name, seed):
    mechanism = random_mechanism(np.random.default_rng(seed), 4, types=(type_name,), floating=seed % 2 == 0)
    assert_same_poses(mechanism, assemble(mechanism))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_bodies", [1, 7, 30])
def test_links_reproduce_mixed_trees(n_bodies, seed):
    mechanism = random_mechanism(np.random.default_rng(100 + seed), n_bodies)
    assert_same_poses(mechanism, assemble(mechanism))


@pytest.mark.parametrize("seed", SEEDS)
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


@pytest.mark.parametrize("seed", SEEDS)
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


@pytest.mark.parametrize("seed", SEEDS)
def test_dof_inertia_times_to_the_determinant_of_the_mass_matrix(seed):
    """det M is the product of the D of the articulated-body algorithm, M from Jacobians of the body poses."""
    types = ("revolute", "prismatic", "screw", "universal", "cylindrical", "planar", "d6")
    model = random_model(np.random.default_rng(500 + seed), 4, types=types, floating=False)
    D, scale = dof_inertia(model, model.joint_q)
    product = np.prod([np.linalg.det(d[0]) for d in D if d.size])
    expected = np.linalg.det(mass_matrix_by_differences(model))
    assert abs(product / expected - 1.0) < 1e-6  # central differences of step 1e-6
    assert all((np.diagonal(d[0]) > 1e-6 * s[0]).all() for d, s in zip(D, scale, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
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
