"""`simcli id --differentiate spline`: the efforts of a recorded motion of which only the coordinates are known.

`simcli fk|ik|id|mass-matrix|jacobian` of one tree with every kind of joint, against pinocchio.
"""

import json
from functools import partial
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from support.kinematics import CPU as KINEMATICS_ORACLE_CPU
from support.kinematics import EFFORTS, KINEMATICS, PROJECTION, off, run_quietly
from support.process import completed_here, run_here
from support.runs import MIXED
from support.trials import coordinate_errors
from support.zoo import JOINTS, forces_of, random_states, write_states, zoo

import simcli as package
from simcli.errors import Exit
from simcli.model.joints.catalogue import CATALOGUE, RIBLE_ENTRIES
from simcli.pipeline import build_model, read_scene
from simcli.spec.base.dofs import BESIDE_ROWS, ROWS_ONLY

pytestmark = pytest.mark.usefixtures("scalar_code")

pytest.importorskip("scipy", reason="scipy is not installed")
CPU = ("--device", "cpu", "--threads", "1")
MIDDLE = 1e-5  # of the largest effort: fourth order of 1 ms in motions of up to 20 rad/s, ends left out
RATES_GIVEN = 1e-6  # likewise, one derivative less
ENDS = 6  # samples at each end, where the spline has neighbours on one side only


def command(capfd, *words):
    code = run_here(*words)
    said = capfd.readouterr()
    assert "Traceback" not in said.err
    return code, said.err


@pytest.fixture(scope="module")
def motion(tmp_path_factory):
    """A run of a sliding, a ball, a hinge and a free joint, with a frame in each step."""
    folder = tmp_path_factory.mktemp("motion")
    (folder / "mixed.yaml").write_text(MIXED)
    words = (
        "run",
        folder / "mixed.yaml",
        "-o",
        folder / "run.h5",
        "-q",
        "--set",
        "solver.integrator=rk4",
        "--set",
        "output.every=0.001",
        *CPU,
    )
    assert run_here(*words, debug=True) == Exit.OK
    return folder


def efforts(path):
    header, *rows = path.read_text().splitlines()
    columns = [k for k, name in enumerate(header.split(",")) if ".effort" in name]
    return np.array([[float(row.split(",")[k]) for k in columns] for row in rows])


@pytest.mark.parametrize(("given", "bound"), [("joint.*.q", MIDDLE), ("joint.*.q,joint.*.qd", RATES_GIVEN)])
def test_efforts_follow_from_coordinates_over_time(motion, tmp_path, capfd, given, bound):
    scene = motion / "mixed.yaml"
    command(capfd, "export", motion / "run.h5", "-c", given, "-o", tmp_path / "q.csv")
    code, said = command(
        capfd, "id", scene, "--states", tmp_path / "q.csv", "--differentiate", "spline", "-o", tmp_path / "found.csv", *CPU
    )
    assert code == Exit.OK, said
    assert "count as zero" not in said
    command(capfd, "id", motion / "run.h5", "-o", tmp_path / "wanted.csv", *CPU)
    found, wanted = efforts(tmp_path / "found.csv"), efforts(tmp_path / "wanted.csv")
    inner = slice(ENDS, -ENDS)
    assert np.abs(found - wanted)[inner].max() < bound * np.abs(wanted).max()


def test_missing_derivatives_are_told_and_wrong_tables_refused(motion, tmp_path, capfd):
    scene, table = motion / "mixed.yaml", tmp_path / "q.csv"
    command(capfd, "export", motion / "run.h5", "-c", "joint.*.q", "-o", table)
    _, said = command(capfd, "id", scene, "--states", table, "-o", tmp_path / "held.csv", *CPU)
    assert "has no rates and no accelerations: they count as zero; --differentiate spline" in said
    lines = table.read_text().splitlines()
    for text, words in {
        "\n".join(lines[:5]): "has 4 states of world 0; a spline of degree 5 takes 6 or more",
        "\n".join([*lines, lines[-1]]): "has two states of world 0 at 0.06 s",
        "\n".join(line.split(",", 1)[1] for line in lines): "have no times: add a column `time`",
    }.items():
        table.write_text(text + "\n")
        code, said = command(capfd, "id", scene, "--states", table, "--differentiate", "spline", *CPU)
        assert code == Exit.USAGE
        assert words in said
    code, said = command(capfd, "id", motion / "run.h5", "--differentiate", "spline", *CPU)
    assert code == Exit.USAGE
    assert "a run holds its rates" in said


PLAYED = """simcli: 1
world: {gravity: [0, 0, 0]}
bodies: {b: {mass: 2, inertia: {diag: [1, 1, 1]}}, c: {mass: 2, inertia: {diag: [1, 1, 1]}, pose: {xyz: [0, 3, 0]}}}
joints:
  even: {type: prismatic, parent: world, child: b, axis: [1, 0, 0], motion: {position: $even}}
  wild: {type: prismatic, parent: world, child: c, axis: [1, 0, 0], motion: {position: $wild}}
signals:
  even: {table: {time: TIMES, value: EVEN, interpolate: cubic}}
  wild: {table: {time: TIMES, value: WILD, interpolate: cubic}}
run: {duration: 0.5}
output: {every: 0.05}
solver: {dt: 0.01}
"""


@pytest.mark.parametrize("solver", ["generalized", "maximal", "natural"])
def test_a_table_that_is_played_back_has_the_efforts_of_its_differentiated_coordinates(solver, tmp_path, capfd):
    """Of an even acceleration, 10 m/s^2 of 2 kg, to its ends; of an uneven motion the numbers of `--differentiate cubic`."""
    times = np.array([0.0, 0.1, 0.15, 0.25, 0.4, 0.5])
    even, wild = 5.0 * times**2, np.array([0.1, -0.2, 0.3, 0.25, -0.1, 0.0])
    scene, table, said = tmp_path / "played.yaml", tmp_path / "q.csv", {}
    numbers = {"TIMES": times, "EVEN": even, "WILD": wild}
    text = PLAYED
    for word, values in numbers.items():
        text = text.replace(word, str(values.tolist()))
    scene.write_text(text)
    command(capfd, "run", scene, "-o", tmp_path / "run.h5", "-q", "--set", f"solver.type={solver}", *CPU)
    rows = np.column_stack((times, even, wild))
    table.write_text("time,even,wild\n" + "\n".join(",".join(map(repr, row)) for row in rows.tolist()) + "\n")
    for kind in ("spline", "cubic"):
        command(capfd, "id", scene, "--states", table, "--differentiate", kind, "-o", tmp_path / f"{kind}.csv", *CPU)
        said[kind] = efforts(tmp_path / f"{kind}.csv")
        np.testing.assert_allclose(said[kind][:, 0], 20.0, rtol=1e-10)
    command(capfd, "export", tmp_path / "run.h5", "-c", "joint.*.effort", "-o", tmp_path / "played.csv")
    played = efforts(tmp_path / "played.csv")
    np.testing.assert_allclose(played[:-1, 0], 20.0, rtol=1e-9)  # the last frame is also the first of what follows the table
    if solver == "generalized":  # with accelerations of the instant of a frame
        at = np.round(times / 0.05).astype(int)
        np.testing.assert_allclose(said["cubic"][:, 1], played[at, 1], rtol=1e-9, atol=1e-9)


pinocchio_model = pytest.importorskip("support.pinocchio_model", reason="pinocchio is not installed")
N_STATES = 9


@pytest.fixture
def command_of_kinematics_oracle(capfd):
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
        run_quietly(kind, scene, "--states", folder / "states.csv", "-o", folder / f"{kind}.h5", *KINEMATICS_ORACLE_CPU)
        with package.open(folder / f"{kind}.h5") as result:
            found |= {name: result[name] for name in result.fields}
    run_quietly(
        "mass-matrix",
        scene,
        "--states",
        folder / "states.csv",
        "--no-armature",
        "-o",
        folder / "bare.h5",
        *KINEMATICS_ORACLE_CPU,
    )
    with package.open(folder / "bare.h5") as result:
        found["bare_matrix"] = result["mass_matrix"]
    return SimpleNamespace(
        model=model,
        q=q,
        qd=qd,
        qdd=qdd,
        folder=folder,
        scene=scene,
        trees=pinocchio_model.pinocchio_trees(model, 0),
        **found,
    )


def test_the_zoo_holds_every_tree_joint_that_pinocchio_has():
    assert {kind for _, kind, *_ in JOINTS} == set(CATALOGUE) - {"cable", *BESIDE_ROWS, *RIBLE_ENTRIES, *ROWS_ONLY}


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
def test_ik_inverts_fk(zoo_results, here, command_of_kinematics_oracle, suffix):
    z = zoo_results
    command_of_kinematics_oracle(
        "fk", z.scene, "--states", z.folder / "states.csv", "-o", f"poses.{suffix}", *KINEMATICS_ORACLE_CPU
    )
    done = command_of_kinematics_oracle(
        "ik", z.scene, "--states", f"poses.{suffix}", "-o", "back.h5", "--json", *KINEMATICS_ORACLE_CPU
    )
    assert done.returncode == Exit.OK, done.stderr
    with package.open("back.h5") as result:
        errors = coordinate_errors(z.model, result["joint_q"], z.q)
        assert max(errors.values()) < PROJECTION, errors
        assert np.abs(result["joint_qd"] - z.qd).max() < 100 * PROJECTION  # the d6 joint's angles amplify
    facts = json.loads(done.stdout)
    assert 0.0 < facts["residual_position"] < PROJECTION
    assert 0.0 < facts["residual_angle"] < PROJECTION


def test_ik_does_not_accept_poses_that_the_joints_do_not_allow(zoo_results, here, command_of_kinematics_oracle):
    z = zoo_results
    command_of_kinematics_oracle(
        "fk", z.scene, "--states", z.folder / "states.csv", "-o", "poses.h5", *KINEMATICS_ORACLE_CPU
    )
    moved = z.model.bodies.name.index("b")
    with h5py.File("poses.h5", "r+") as file:
        file["states/body_q"][4, moved, 2] += 0.25  # body b slides on a: a step aside is no slide
    done = command_of_kinematics_oracle(
        "ik", z.scene, "--states", "poses.h5", "-o", "back.h5", "--json", *KINEMATICS_ORACLE_CPU
    )
    assert done.returncode == Exit.NEGATIVE
    assert "frame 4" in done.stderr
    with package.open("back.h5") as result:
        residual = result["residual_position"]
    assert np.flatnonzero(residual > 1e-6).tolist() == [4]
    assert json.loads(done.stdout)["residual_position"] == residual.max()
    assert (
        command_of_kinematics_oracle(
            "ik", z.scene, "--states", "poses.h5", "--tolerance", "1", *KINEMATICS_ORACLE_CPU
        ).returncode
        == Exit.OK
    )
