"""`simcli fk|ik|id|mass-matrix|jacobian` of one tree with every kind of joint, against pinocchio."""

import json
from functools import partial
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from support.kinematics import CPU, EFFORTS, KINEMATICS, PROJECTION, off, run_quietly
from support.process import completed_here
from support.trials import coordinate_errors
from support.zoo import JOINTS, forces_of, random_states, write_states, zoo

import simcli as package
from simcli.errors import Exit
from simcli.model.joints.catalogue import CATALOGUE, RIBLE_ENTRIES
from simcli.pipeline import build_model, read_scene
from simcli.spec.names.dofs import ROWS_ONLY

pytestmark = pytest.mark.usefixtures("scalar_code")


pinocchio_model = pytest.importorskip("support.pinocchio_model", reason="pinocchio is not installed")
N_STATES = 9


@pytest.fixture
def command(capfd):
    return partial(completed_here, capfd)


@pytest.fixture(scope="module")
def zoo_results(tmp_path_factory):
    """Results of all commands for random states of the zoo, with its model and its trees in pinocchio."""
    folder = tmp_path_factory.mktemp("zoo")
    scene = folder / "zoo.yaml"
    scene.write_text(zoo())
    model = build_model(*read_scene(scene))
    q, qd, qdd = random_states(model, N_STATES, np.random.default_rng(5))
    write_states(folder / "states.csv", model, {"joint_qdd": qdd, "joint_q": q, "joint_qd": qd})
    found = {}
    for kind in ("fk", "id", "mass-matrix", "jacobian"):
        run_quietly(kind, scene, "--states", folder / "states.csv", "-o", folder / f"{kind}.h5", *CPU)
        with package.open(folder / f"{kind}.h5") as result:
            found |= {name: result[name] for name in result.fields}
    run_quietly("mass-matrix", scene, "--states", folder / "states.csv", "--no-armature", "-o", folder / "bare.h5", *CPU)
    with package.open(folder / "bare.h5") as result:
        found["bare_matrix"] = result["mass_matrix"]
    return SimpleNamespace(model=model, q=q, qd=qd, qdd=qdd, folder=folder, scene=scene,
                           trees=pinocchio_model.pinocchio_trees(model, 0), **found)  # fmt: skip


def test_the_zoo_holds_every_tree_joint_that_pinocchio_has():
    assert {kind for _, kind, *_ in JOINTS} == set(CATALOGUE) - {"distance", "cable", *RIBLE_ENTRIES, *ROWS_ONLY}


def test_poses_and_twists_are_pinocchios(zoo_results):
    z = zoo_results
    assert np.array_equal(z.joint_q, z.q)  # the numbers of the table, bit by bit
    for k in range(N_STATES):
        for tree in z.trees:
            pose, twist = tree.poses_and_twists(z.q[k], z.qd[k])
            signs = np.sign((z.body_q[k, tree.bodies, 3:] * pose[:, 3:]).sum(axis=1, keepdims=True))
            assert off(z.body_q[k, tree.bodies, :3], pose[:, :3]) < KINEMATICS
            assert off(z.body_q[k, tree.bodies, 3:], signs * pose[:, 3:]) < KINEMATICS
            assert off(z.body_qd[k, tree.bodies], twist) < KINEMATICS


def test_points_are_those_of_their_bodies(zoo_results):
    z = zoo_results
    for k in range(N_STATES):
        for n, body in enumerate(z.model.points.body):
            R = pinocchio_model.placement(z.body_q[k, body]).rotation
            r, c = z.model.points.position[0, n], z.model.bodies.com[0, body]
            assert off(z.point_position[k, n], z.body_q[k, body, :3] + R @ r) < KINEMATICS
            wanted = z.body_qd[k, body, :3] + np.cross(z.body_qd[k, body, 3:], R @ (r - c))
            assert off(z.point_velocity[k, n], wanted) < KINEMATICS


def test_efforts_with_springs_wrenches_and_a_floating_base_are_pinocchios(zoo_results):
    z = zoo_results
    for k in range(N_STATES):
        force = forces_of(z.model, z.body_q[k], z.body_qd[k])
        assert np.linalg.norm(force) > 10.0
        for tree in z.trees:
            wanted = tree.inverse_dynamics(z.q[k], z.qd[k], z.qdd[k], force)
            assert off(z.joint_effort[k, tree.dofs], wanted) < EFFORTS


def test_mass_matrices_are_pinocchios(zoo_results):
    z = zoo_results
    for k in range(N_STATES):
        for tree in z.trees:
            block = np.ix_(tree.dofs, tree.dofs)
            assert off(z.mass_matrix[k][block], tree.mass_matrix(z.q[k])) < KINEMATICS
            assert off(z.bare_matrix[k][block], tree.mass_matrix(z.q[k]) - np.diag(tree.armature)) < KINEMATICS


def test_jacobians_are_pinocchios_and_give_the_twists(zoo_results):
    z = zoo_results
    for k in range(N_STATES):
        for tree in z.trees:
            assert off(z.jacobian[k, tree.bodies][:, :, tree.dofs], tree.jacobian(z.q[k])) < KINEMATICS
    assert off(z.jacobian @ z.qd[:, None, :, None], z.body_qd[..., None]) < KINEMATICS


@pytest.mark.parametrize("suffix", ["h5", "csv"])
def test_ik_inverts_fk(zoo_results, here, command, suffix):
    z = zoo_results
    command("fk", z.scene, "--states", z.folder / "states.csv", "-o", f"poses.{suffix}", *CPU)
    done = command("ik", z.scene, "--states", f"poses.{suffix}", "-o", "back.h5", "--json", *CPU)
    assert done.returncode == Exit.OK, done.stderr
    with package.open("back.h5") as result:
        errors = coordinate_errors(z.model, result["joint_q"], z.q)
        assert max(errors.values()) < PROJECTION, errors
        assert np.abs(result["joint_qd"] - z.qd).max() < 100 * PROJECTION  # the d6 joint's angles amplify
    facts = json.loads(done.stdout)
    assert 0.0 < facts["residual_position"] < PROJECTION
    assert 0.0 < facts["residual_angle"] < PROJECTION


def test_ik_does_not_accept_poses_that_the_joints_do_not_allow(zoo_results, here, command):
    z = zoo_results
    command("fk", z.scene, "--states", z.folder / "states.csv", "-o", "poses.h5", *CPU)
    moved = z.model.bodies.name.index("b")
    with h5py.File("poses.h5", "r+") as file:
        file["states/body_q"][4, moved, 2] += 0.25  # body b slides on a: a step aside is no slide
    done = command("ik", z.scene, "--states", "poses.h5", "-o", "back.h5", "--json", *CPU)
    assert done.returncode == Exit.NEGATIVE
    assert "frame 4" in done.stderr
    with package.open("back.h5") as result:
        residual = result["residual_position"]
    assert np.flatnonzero(residual > 1e-6).tolist() == [4]
    assert json.loads(done.stdout)["residual_position"] == residual.max()
    assert command("ik", z.scene, "--states", "poses.h5", "--tolerance", "1", *CPU).returncode == Exit.OK
