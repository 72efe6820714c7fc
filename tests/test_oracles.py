"""Rigid-body algorithms against pinocchio and against each other, on forests of random trees with every joint type.

Equilibria and modes against mujoco's differences, an energy minimised by numpy, and joints that yield.
"""

import json
from importlib.resources import files

import numpy as np
import pytest
from scipy.sparse import load_npz
from support.device import live_device
from support.forests import close_loop, plant, random_forest, reverse, vary_all
from support.process import completed_here
from support.random_models import SCALAR_TYPES, TREE_TYPES, random_mechanism
from support.runs import MIXED
from support.scenes import scene
from support.trials import coordinate_errors, draw_inputs, poison, run_trial

import simcli as package
from simcli import rotations as rot
from simcli.analysis.mechanics.evaluate import eval_accelerations
from simcli.analysis.rest.modes import study
from simcli.analysis.rest.spectrum import ModeKind
from simcli.errors import Exit
from simcli.kernels.algorithms import Algorithms
from simcli.model.assemble import assemble
from simcli.model.joints.catalogue import CATALOGUE
from simcli.model.joints.state import State
from simcli.pipeline import build_model, read_scene
from simcli.spec import resolve

pinocchio_model = pytest.importorskip("support.pinocchio_model", reason="pinocchio is not installed")

# What the project promises of trees of up to 30 bodies in float64, as norms over a tree relative to the oracle's.
KINEMATICS, EFFORTS, MASS = 1e-12, 1e-12, 1e-12
ACCELERATIONS = 1e-13  # times the condition number of the mass matrix
# Sums of a few numbers of order one, deep in trees of some ten metres: thousand roundings.
JACOBIAN, PROJECTION = 1e-13, 1e-12
SIZES = (1, 2, 3, 5, 8, 13, 20, 30)
N_STATES = 5  # one full pack of lanes and a rest


def shared(rng):
    """All sizes and joint types; tables that all states share."""
    return random_forest(rng, SIZES, N_STATES)


def varied(rng):
    """Every number differs between worlds; joints run against the tree; a joint closes a loop; armature; odd gravity."""
    forest = reverse(rng, random_forest(rng, (1, 4, 9, 30), N_STATES))
    return vary_all(rng, close_loop(rng, close_loop(rng, forest), "free", name="far"))


def lean(types, floating, branching):
    """Mechanisms for which kernels leave parts out: no branches, no quaternions, no scalars, no dofs."""

    def build(rng):
        trees = [random_mechanism(rng, n, types, floating, branching, N_STATES) for n in (1, 6)]
        return plant(trees, N_STATES)

    return build


FORESTS = {
    "shared": shared,
    "varied": varied,
    "hinge chain": lean(("revolute",), False, False),
    "quaternions": lean(("ball", "free"), False, True),
    "welds": lean(("fixed",), False, True),
}


SLOWER = pytest.param("quaternions", marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=[SLOWER, *(name for name in FORESTS if name != "quaternions")])
def trial(request):
    """Numbers of one forest: states, results, and its trees in pinocchio."""
    rng = np.random.default_rng(20)
    device = live_device() if request.param == "varied" else live_device().for_worlds(1)  # scalar code compiles faster
    numbers = run_trial(rng, FORESTS[request.param](rng), device)
    numbers.name = request.param
    numbers.trees = [(w, tree) for w in range(N_STATES) for tree in pinocchio_model.pinocchio_trees(numbers.model, w)]
    numbers.moving = [(w, tree) for w, tree in numbers.trees if len(tree.dofs)]
    return numbers


def off(found, wanted):
    """Norm of the difference relative to the norm of what is wanted; infinite if anything is NaN."""
    error = np.linalg.norm(np.ravel(found) - np.ravel(wanted)) / max(np.linalg.norm(wanted), 1e-300)
    return error if np.isfinite(error) else np.inf


def block(matrix, tree):
    return matrix[np.ix_(tree.dofs, tree.dofs)]


def test_forests_hold_every_tree_joint_size_and_base():
    rng = np.random.default_rng(20)
    forest = shared(rng)
    assert {part.kind for part in forest.joints} == {CATALOGUE[name].kind for name in TREE_TYPES}
    assert len(forest.bodies) == 2 * sum(SIZES)
    turned = varied(np.random.default_rng(20))
    against = {part.kind for part in turned.joints if part.parent > part.child >= 0 and part.is_tree}
    assert against == {CATALOGUE[name].kind for name in SCALAR_TYPES}


def test_poses(trial):
    for w, tree in trial.trees:
        wanted, _ = tree.poses_and_twists(trial.q[w], trial.qd[w])
        found = trial.body_q[w, tree.bodies]
        assert off(found[:, :3], wanted[:, :3]) < KINEMATICS
        signs = np.sign((found[:, 3:] * wanted[:, 3:]).sum(axis=1, keepdims=True))
        assert off(found[:, 3:], signs * wanted[:, 3:]) < KINEMATICS


def test_twists(trial):
    for w, tree in trial.trees:
        _, wanted = tree.poses_and_twists(trial.q[w], trial.qd[w])
        assert off(trial.body_qd[w, tree.bodies], wanted) < KINEMATICS


def test_accelerations_of_bodies(trial):
    for w, tree in trial.moving:
        wanted = tree.accelerations(trial.q[w], trial.qd[w], trial.qdd[w])
        assert off(trial.body_qdd[w, tree.bodies], wanted) < KINEMATICS


def test_public_accelerations_of_bodies(trial):
    state = State.of(trial.model)
    found = eval_accelerations(trial.model, state, trial.qdd)
    assert off(found, trial.body_qdd) < KINEMATICS
    with pytest.raises(ValueError, match="broadcast"):
        eval_accelerations(trial.model, state, np.zeros(trial.model.n_qd + 2))


def test_inverse_dynamics(trial):
    for w, tree in trial.moving:
        wanted = tree.inverse_dynamics(trial.q[w], trial.qd[w], trial.qdd[w], trial.force[w])
        assert off(trial.rnea[w, tree.dofs], wanted) < EFFORTS


def test_joint_wrenches(trial):
    for w, tree in trial.moving:
        wanted, joints = tree.joint_wrenches(trial.q[w], trial.qd[w], trial.qdd[w], trial.force[w])
        if len(joints):
            assert off(trial.wrench[w, joints], wanted) < EFFORTS


def test_inverse_dynamics_without_forces_forgets_the_forces_before(trial):
    for w, tree in trial.moving:
        still = np.zeros_like(trial.force[w])
        wanted = tree.inverse_dynamics(trial.q[w], trial.qd[w], 0.0 * trial.qdd[w], still)
        assert off(trial.bias[w, tree.dofs], wanted) < EFFORTS


def hinged(types, turns):
    """Trees of hinges alone, of which the kernel of their own takes the efforts: with forks, massless links and armature."""

    def build(rng):
        forest = plant([random_mechanism(rng, n, types, False, True, N_STATES) for n in (1, 8, 20)], N_STATES)
        return vary_all(rng, reverse(rng, forest)) if turns else forest

    return build


HINGED = {
    "shared": hinged(("revolute", "universal"), False),
    "varied, welds": hinged(("revolute", "universal", "fixed"), True),
}


@pytest.mark.parametrize("name", HINGED)
def test_inverse_dynamics_of_hinges(name):
    rng = np.random.default_rng(21)
    model = assemble(HINGED[name](rng))
    given = draw_inputs(rng, model, N_STATES)
    algorithms = Algorithms(model, live_device(), N_STATES)
    assert algorithms.core.hinges is not None
    assert algorithms.core.hinges.has_forks
    poison(algorithms)
    states = given.q, given.qd, given.qdd
    found = algorithms.inverse_dynamics(*states)
    for w in range(N_STATES):
        for tree in pinocchio_model.pinocchio_trees(model, w):
            wanted = tree.inverse_dynamics(given.q[w], given.qd[w], given.qdd[w], np.zeros_like(given.force[w]))
            assert off(found[w, tree.dofs], wanted) < EFFORTS
    if name == "shared":
        for chosen in ([3], [2, 1], np.arange(300) % N_STATES):  # part of a pack, in another order, more than all blocks
            assert algorithms.inverse_dynamics(*(a[chosen] for a in states)).tobytes() == found[chosen].tobytes()
        spoilt = np.array(given.q)
        spoilt[1] = np.nan
        others = algorithms.inverse_dynamics(spoilt, given.qd, given.qdd)
        assert np.isnan(others[1]).any()
        assert np.delete(others, 1, axis=0).tobytes() == np.delete(found, 1, axis=0).tobytes()
    algorithms.destroy()


def test_mass_matrix(trial):
    for w, tree in trial.moving:
        assert off(block(trial.mass[w], tree), tree.mass_matrix(trial.q[w])) < MASS


def test_mass_matrix_is_symmetric_and_empty_between_trees(trial):
    mine = np.zeros(trial.mass.shape[1:], bool)
    for _, tree in trial.moving:
        mine[np.ix_(tree.dofs, tree.dofs)] = True
    assert (trial.mass == np.swapaxes(trial.mass, 1, 2)).all()
    assert (trial.mass[:, ~mine] == 0.0).all()


@pytest.mark.parametrize("forced", [True, False])
def test_forward_dynamics(trial, forced):
    for w, tree in trial.moving:
        force = trial.force[w] if forced else 0.0 * trial.force[w]
        found = (trial.aba if forced else trial.aba_unforced)[w, tree.dofs]
        M = tree.mass_matrix(trial.q[w])
        bias = tree.inverse_dynamics(trial.q[w], trial.qd[w], 0.0 * trial.qdd[w], force)
        limit = ACCELERATIONS * np.linalg.cond(M)
        assert off(found, np.linalg.solve(M, trial.tau[w, tree.dofs] - bias)) < limit
        if not tree.armature.any():
            assert off(found, tree.forward_dynamics(trial.q[w], trial.qd[w], trial.tau[w], force)) < limit


def test_forward_dynamics_inverts_inverse_dynamics(trial):
    """The rounding of the bias forces, which cancel in the round trip, is carried as well."""
    for w, tree in trial.moving:
        M, qdd = block(trial.mass[w], tree), trial.qdd[w, tree.dofs]
        carried = np.linalg.norm(trial.rnea[w, tree.dofs] - M @ qdd) / np.linalg.norm(M @ qdd)
        limit = ACCELERATIONS * np.linalg.cond(M) * (1.0 + carried)
        assert off(trial.aba_of_rnea[w, tree.dofs], qdd) < limit


def test_jacobian(trial):
    for w, tree in trial.moving:
        found = trial.jacobian[w][tree.bodies]
        assert off(found[:, :, tree.dofs], tree.jacobian(trial.q[w])) < KINEMATICS
        others = np.delete(found, tree.dofs, axis=2)
        assert (others == 0.0).all()


def test_jacobian_times_rates_is_the_twist(trial):
    for w, tree in trial.moving:
        found = trial.jacobian[w][tree.bodies][:, :, tree.dofs] @ trial.qd[w, tree.dofs]
        assert off(found, trial.body_qd[w, tree.bodies]) < JACOBIAN


def test_projection_inverts_forward_kinematics(trial):
    errors = coordinate_errors(trial.model, trial.projected_q, trial.q)
    assert all(error < PROJECTION for error in errors.values()), errors
    tree = trial.model.joints.is_tree[trial.model.dofs.joint]
    assert np.abs(trial.projected_qd - trial.qd)[:, tree].max(initial=0.0) < PROJECTION


def test_loop_joints_have_no_accelerations_and_no_efforts(trial):
    loop = ~trial.model.joints.is_tree[trial.model.dofs.joint]
    for values in (trial.rnea, trial.aba):
        assert np.isnan(values[:, loop]).all()
        assert np.isfinite(values[:, ~loop]).all()
    assert (trial.mass[:, loop] == 0.0).all()
    assert (trial.jacobian[..., loop] == 0.0).all()


def test_projection_of_a_free_loop_joint_is_the_relative_motion(trial):
    """X_child = X_parent X_p q X_c^-1; velocity of the child's centre against the point of the parent there."""
    model, joints = trial.model, trial.model.joints
    if "far" not in joints.name:
        return
    j = joints.name.index("far")
    p, c = joints.parent[j], joints.child[j]
    for w in range(N_STATES):
        q = trial.projected_q[w, joints.q_start[j] : joints.q_start[j + 1]]
        qd = trial.projected_qd[w, joints.qd_start[j] : joints.qd_start[j + 1]]
        anchor = rot.pose_compose(trial.body_q[w, p], joints.X_p[w, j])
        child = rot.pose_compose(rot.pose_compose(anchor, q), rot.pose_inverse(joints.X_c[w, j]))
        shift, angle = rot.pose_distance(child, trial.body_q[w, c])
        assert max(shift, angle) < PROJECTION
        com_p, com_c = (rot.pose_apply(trial.body_q[w, b], model.bodies.com[w, b]) for b in (p, c))
        (v_p, w_p), (v_c, w_c) = (np.split(trial.body_qd[w, b], 2) for b in (p, c))
        R = rot.quat_to_matrix(anchor[3:])
        assert off(R @ qd[:3], v_c - v_p - np.cross(w_p, com_c - com_p)) < PROJECTION
        assert off(R @ qd[3:], w_c - w_p) < PROJECTION


mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

DIFFERENCES = 1e-7  # relative: mujoco's central differences of 1e-5 leave some 1e-9 of a gradient
EXACT = 1e-9
G, N, LINK, SPAN = 9.81, 6, 0.5, 2.0

# Three skew hinges with springs: offset, axis, mass, com, moments, stiffness, rest, damping, armature.
ARM = [
    ((0.0, 0.0, 0.0), (0, 1, 0), 1.3, (0.05, 0.02, -0.3), (0.05, 0.06, 0.02), 4.0, 0.3, 0.10, 0.02),
    ((0.1, 0.0, -0.6), (1, 0, 0), 0.9, (0.00, 0.04, -0.2), (0.03, 0.02, 0.02), 3.0, -0.4, 0.05, 0.0),
    ((0.0, 0.1, -0.4), (0, 0.6, 0.8), 0.5, (0.10, 0.00, -0.1), (0.01, 0.01, 0.01), 1.0, 0.8, 0.02, 0.01),
]


def arm_scene():
    bodies, joints, at, parent = "", "", np.zeros(3), "world"
    for k, (offset, axis, mass, com, moments, stiffness, rest, damping, armature) in enumerate(ARM):
        at = at + offset
        bodies += (
            f"  arm{k}: {{pose: {{xyz: {at.tolist()}}}, mass: {mass}, com: {list(com)}, "
            f"inertia: {{diag: {list(moments)}}}}}\n"
        )
        joints += (
            f"  arm{k}: {{type: revolute, parent: {parent}, child: arm{k}, at: {at.tolist()}, axis: {list(axis)}, "
            f"armature: {armature}, damping: {damping}, "
            f"drive: {{mode: position, target: {rest}, stiffness: {stiffness}, damping: 0}}}}\n"
        )
        parent = f"arm{k}"
    return bodies, joints


def arm_in_mujoco():
    head = '<mujoco><compiler angle="radian"/><option timestep="1e-3" integrator="Euler" gravity="0 0 -9.81">'
    head += '<flag eulerdamp="disable" contact="disable"/></option><worldbody>'
    text = lambda v: " ".join(map(str, v))  # noqa: E731
    for offset, axis, mass, com, moments, stiffness, rest, damping, armature in ARM:
        head += (
            f'<body pos="{text(offset)}"><joint type="hinge" axis="{text(axis)}" stiffness="{stiffness}" '
            f'springref="{rest}" damping="{damping}" armature="{armature}"/>'
            f'<inertial pos="{text(com)}" mass="{mass}" diaginertia="{text(moments)}"/>'
        )
    return mujoco.MjModel.from_xml_string(head + "</body>" * len(ARM) + "</worldbody></mujoco>")


def chain_scene():
    bodies = "".join(f"  link{k}: {{mass: 1, inertia: {{diag: [0.01, 0.02, 0.02]}}}}\n" for k in range(N))
    joints = f"  link0: {{type: revolute, parent: world, child: link0, axis: [0, 1, 0], q: 0.9, child_frame: {{xyz: [{-LINK / 2}, 0, 0]}}}}\n"  # noqa: E501
    for k in range(1, N):
        joints += (
            f"  link{k}: {{type: revolute, parent: link{k - 1}, child: link{k}, axis: [0, 1, 0], q: -0.36, "
            f"parent_frame: {{xyz: [{LINK / 2}, 0, 0]}}, child_frame: {{xyz: [{-LINK / 2}, 0, 0]}}}}\n"
        )
    joints += (
        f"  end: {{type: revolute, loop: true, parent: world, child: link{N - 1}, axis: [0, 1, 0], "
        f"parent_frame: {{xyz: [{SPAN}, 0, 0]}}, child_frame: {{xyz: [{LINK / 2}, 0, 0]}}}}\n"
    )
    return bodies, joints


@pytest.fixture(scope="module")
def found():
    from support.device import live_device

    (bodies, joints), (more, further) = arm_scene(), chain_scene()
    document = scene(
        f"bodies:\n{bodies}{more}joints:\n{joints}{further}solver: {{type: generalized, dt: 1e-3}}\nrun: {{duration: 1}}\n"
    )
    one = study(build_model(document, resolve(document)), live_device(), stable=True)
    yield one
    one.close()


def test_arm_rests_and_swings_as_in_mujoco(found):
    model = arm_in_mujoco()
    data = mujoco.MjData(model)
    n = model.nv
    data.qpos[:] = found.equilibrium.posture.q[:n]
    mujoco.mj_forward(model, data)
    assert np.abs(data.qacc).max() < 1e-9
    A = np.zeros((2 * n, 2 * n))
    mujoco.mjd_transitionFD(model, data, 1e-5, True, A, None, None, None)
    h = model.opt.timestep  # a step of semi-implicit Euler: v+ = v + h a
    rates = np.block([[np.zeros((n, n)), np.eye(n)], [A[n:, :n] / h, (A[n:, n:] - np.eye(n)) / h]])
    mine = np.array([value for mode in found.modes for value in (mode.eigenvalue, mode.partner) if value is not None])
    for value in np.linalg.eigvals(rates):
        assert np.abs(mine - value).min() < DIFFERENCES * abs(value)


def least_energy():
    """Angles of a chain below the horizontal, by Newton on the conditions of least energy with both ends held.

        V = -m g sum_k L (sum_{j<k} sin t_j + sin t_k / 2),  L sum cos t = SPAN,  L sum sin t = 0

    Returns:
        Angles, and the forces [N] along x and z that hold the far end.
    """
    weight = G * (N - 0.5 - np.arange(N)) * LINK
    angle, force = np.linspace(0.9, -0.9, N), np.zeros(2)
    for _ in range(50):
        s, c = np.sin(angle), np.cos(angle)
        J = LINK * np.stack((-s, -c))  # of x and z of the end
        slope = -weight * c - J.T @ force
        bend = np.diag(weight * s + LINK * (c * force[0] - s * force[1]))
        lack = np.array([LINK * c.sum() - SPAN, -LINK * s.sum()])
        step = np.linalg.solve(np.block([[bend, -J.T], [J, np.zeros((2, 2))]]), -np.concatenate((slope, lack)))
        angle, force = angle + step[:N], force + step[N:]
    assert np.abs(step).max() < 1e-13
    return angle, force


def test_hanging_chain_is_where_energy_is_least(found):
    angle, force = least_energy()
    q = found.equilibrium.posture.q[len(ARM) : len(ARM) + N]
    assert np.abs(np.cumsum(q) - angle).max() < EXACT
    end = found.model.joints.name.index("end")
    wrench = found.equilibrium.posture.found.wrench[0, end]
    assert np.abs(wrench[[0, 2]] - force).max() < 1e-8
    assert found.slopes == (0, 0)


def test_joints_that_yield_are_springs_and_a_free_body_has_six_zero_modes(device):
    """A fixed joint with compliance c, in maximal coordinates: k = 1 / c along and about every axis."""
    text = (
        "world: {gravity: [0, 0, 0]}\nbodies:\n  block: {mass: 2, inertia: {diag: [0.1, 0.2, 0.25]}}\n"
        "  stone: {pose: {xyz: [1, 0, 0]}, mass: 2, com: [0.1, 0, 0], inertia: {diag: [1, 2, 3]}}\njoints:\n"
        "  weld: {type: fixed, parent: world, child: block, at: [0, 0, 0], compliance: 1e-3}\n"
        "solver: {type: maximal, dt: 1e-3}\nrun: {duration: 1}\n"
    )
    document = scene(text)
    one = study(build_model(document, resolve(document)), device)
    omega = np.array([mode.omega for mode in one.modes])
    wanted = np.sqrt(1e3 / np.array([2, 2, 2, 0.1, 0.2, 0.25]))
    assert not omega[:6].any()
    assert {mode.kind for mode in one.modes[:6]} == {ModeKind.ZERO}
    assert np.abs(omega[6:] / np.sort(wanted) - 1).max() < EXACT
    assert one.slopes == (0, 6)
    rate, twist = one.shapes
    assert not np.abs(twist[:6, 0]).max() > 1e-9  # the free body moves alone, and so does the block
    assert not np.abs(twist[6:, 1]).max() > 1e-9
    assert np.abs(rate[:6]).max(axis=1) == pytest.approx(np.ones(6))
    one.close()


# `simcli matrices`

PENDULA = """
simcli: 1
bodies:
  upper: {pose: {xyz: [0.1, 0, -0.5]}, mass: 2.0, inertia: {diag: [0.2, 0.25, 0.1]}}
  lower: {pose: {xyz: [0.3, 0.2, -1.1]}, mass: 1.5, inertia: {diag: [0.08, 0.1, 0.06]}}
  slide: {pose: {xyz: [0.3, 0.5, -1.1], rpy: [0.1, 0.3, 0.2]}, mass: 0.7, inertia: {diag: [0.02, 0.03, 0.04]}}
joints:
  pin: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 1, 0.2], q: 0.5, qd: 0.7}
  elbow: {type: revolute, parent: upper, child: lower, at: [0.2, 0.1, -1], axis: [1, 0.3, 0], q: -0.4, qd: 1.1}
  rail: {type: prismatic, parent: lower, child: slide, at: [0.3, 0.4, -1.1], axis: [0, 1, 0.5], q: 0.1, qd: -0.6}
solver: {type: generalized, dt: 1.0e-3}
"""
CPU = ("--device", "cpu", "--threads", "1")
MOTION = 1e-10  # relative, of equations of motion with J' by differences of order four
CURVED = 1e-6  # relative, of second differences of poses: rounding over the square of the width


@pytest.fixture
def ask(capfd, tmp_path, monkeypatch):
    """A command with a JSON document, as arrays."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        done = completed_here(capfd, *words, "--json", *CPU)
        assert done.returncode == Exit.OK, done.stderr
        return json.loads(done.stdout)

    return call


def test_matrices_in_joint_coordinates_are_those_of_pinocchio(ask, tmp_path):
    """Of hinges and slides also C, which is that of the Christoffel symbols."""
    pin = pytest.importorskip("pinocchio")
    (tmp_path / "p.yaml").write_text(PENDULA)
    found = {name: np.array(values[0]) for name, values in ask("matrices", "p.yaml").items() if name.startswith("system_")}
    model = build_model(*read_scene(tmp_path / "p.yaml", ()))
    (tree,) = pinocchio_model.pinocchio_trees(model, 0)
    q, v = model.joint_q[0], model.joint_qd[0]
    still = np.zeros((model.n_bodies, 6))
    assert off(found["system_mass"], tree.mass_matrix(q)) < MASS
    assert off(found["system_bias"], tree.inverse_dynamics(q, v, 0.0 * v, still)) < EFFORTS
    assert off(found["system_gravity"], tree.inverse_dynamics(q, 0.0 * v, 0.0 * v, still)) < EFFORTS
    theirs_q, G, _ = tree.coordinates(q, v)
    C = G.T @ pin.computeCoriolisMatrix(tree.pin, tree.data, theirs_q, G @ v) @ G
    assert off(found["system_coriolis"], C) < EFFORTS
    (tmp_path / "m.yaml").write_text(MIXED)
    found = ask("matrices", "m.yaml")
    C, v, h, g = (np.array(found[f"system_{name}"][0]) for name in ("coriolis", "rate", "bias", "gravity"))
    assert np.abs(C).max() > 0.1
    assert off(C @ v, h - g) < EFFORTS


def natural_places(found):
    """Natural coordinates, (N, B 12): the centre of mass and the axes of each body, of `simcli fk`."""
    pose = np.array(found["body_q"])
    R = rot.quat_to_matrix(pose[..., 3:])
    return np.concatenate((pose[..., :3], np.swapaxes(R, -1, -2).reshape(*pose.shape[:2], 9)), axis=-1).reshape(
        len(pose), -1
    )


@pytest.mark.parametrize("coordinates", ["natural", "maximal"])
def test_matrices_of_single_bodies_obey_the_equations_of_motion(ask, tmp_path, coordinates):
    """M a + h = J^T lambda and J v = 0 at the motion of the mechanism, which the matrices in joint coordinates give.

    M and h by hand; lambda is right where the first equation holds; of a curve x(s) on the constraints
    x' K x' = lambda J x''.
    """
    (tmp_path / "p.yaml").write_text(PENDULA)
    tree = {name: np.array(values[0]) for name, values in ask("matrices", "p.yaml").items() if name.startswith("system_")}
    qdd = np.linalg.solve(tree["system_mass"], -tree["system_bias"])
    found = ask("matrices", "p.yaml", "--coordinates", coordinates)
    (M, h, C, v, x), (J, force, gap, K) = (
        [np.array(found[name][0]) for name in names]
        for names in (
            [f"system_{name}" for name in ("mass", "bias", "coriolis", "rate", "q")],
            ["constraint_jacobian", "constraint_force", "constraint_residual", "geometric_stiffness"],
        )
    )
    q, qd = (np.array(tree[f"system_{name}"]) for name in ("q", "rate"))
    moving = ask("fk", "p.yaml", "--qdd", ",".join(map(repr, qdd.tolist())))
    twist, change, pose = (np.array(moving[f"body_{name}"][0]) for name in ("qd", "qdd", "q"))
    mass, inertia = (2.0, 1.5, 0.7), ((0.2, 0.25, 0.1), (0.08, 0.1, 0.06), (0.02, 0.03, 0.04))
    R, w = rot.quat_to_matrix(pose[:, 3:]), twist[:, 3:]
    weight = np.array([0.0, 0.0, 9.81])
    if coordinates == "natural":
        labels = ("x", "y", "z", *(f"{letter}.{axis}" for letter in "uvw" for axis in "xyz"))
        assert off(x, natural_places(moving)[0]) < KINEMATICS
        assert off(v.reshape(3, 4, 3)[:, 1:], np.cross(w[:, None], np.swapaxes(R, 1, 2))) < KINEMATICS
        half = 0.5 * np.sum(inertia, axis=1)[:, None] - inertia
        wanted = np.concatenate([np.repeat([m, *second], 3) for m, second in zip(mass, half, strict=True)])
        assert off(M, np.diag(wanted)) < MASS
        assert off(h, np.concatenate([[*(m * weight), *np.zeros(9)] for m in mass])) < EFFORTS
        alpha, spin = change[:, None, 3:], w[:, None]
        vectors = np.swapaxes(R, 1, 2)
        a = np.concatenate((change[:, None, :3], np.cross(alpha, vectors) + np.cross(spin, np.cross(spin, vectors))), axis=1)
    else:
        labels = ("vx", "vy", "vz", "wx", "wy", "wz")
        assert off(v, twist.ravel()) < KINEMATICS
        turning = np.einsum("bij,bj,bkj->bik", R, inertia, R)
        torque = np.cross(w, np.einsum("bij,bj->bi", turning, w))
        assert off(h.reshape(3, 6), np.hstack((np.outer(mass, weight), torque))) < EFFORTS
        for b in range(3):
            mine = slice(6 * b, 6 * b + 6)
            assert (
                off(M[mine, mine], np.block([[mass[b] * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), turning[b]]]))
                < MASS
            )
        a = change
    a = a.ravel()
    assert found["labels"]["U"] == [f"{body}.{label}" for body in ("upper", "lower", "slide") for label in labels]
    assert len(found["labels"]["R"]) == len(force) == 15 + 18 * (coordinates == "natural")
    assert np.abs(gap).max() < 1e-14
    assert np.linalg.matrix_rank(J) == len(v) - 3
    assert np.abs(J @ v).max() < 1e-13
    assert np.abs(C @ v - h + np.array(found["system_gravity"][0])).max() < 1e-13
    assert off(M @ a + h, J.T @ force) < MOTION
    if coordinates == "natural":
        assert np.abs(K - K.T).max() < 1e-13
        s = 1e-3 * np.arange(-2, 3)
        rows = [",".join(map(repr, row)) for row in (q + s[:, None] * qd).tolist()]
        (tmp_path / "q.csv").write_text("\n".join(["pin,elbow,rail", *rows]))
        path = natural_places(ask("fk", "p.yaml", "--states", "q.csv"))
        first = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) @ path / 12e-3
        second = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) @ path / 12e-6
        assert off(first, v) < CURVED
        assert v @ K @ v == pytest.approx(force @ J @ second, rel=CURVED)


@pytest.mark.parametrize("coordinates", ["natural", "maximal"])
def test_geometric_stiffness_holds_a_pendulum(ask, tmp_path, coordinates):
    """At rest, below its pin, the forces in the constraints have all of its stiffness: m g l."""
    (tmp_path / "p.yaml").write_text("""
simcli: 1
bodies: {rod: {pose: {xyz: [0, 0, -0.5]}, mass: 2.0, inertia: {diag: [0.2, 0.25, 0.1]}}}
joints: {pin: {type: revolute, parent: world, child: rod, at: [0, 0, 0], axis: [0, 1, 0]}}
solver: {type: generalized, dt: 1.0e-3}
""")
    found = ask("matrices", "p.yaml", "--coordinates", coordinates, "--qd", "1")
    at_rest = ask("matrices", "p.yaml", "--coordinates", coordinates)
    v, K = np.array(found["system_rate"][0]), np.array(at_rest["geometric_stiffness"][0])
    assert v @ K @ v == pytest.approx(2.0 * 9.81 * 0.5, rel=1e-9)
    pin = ask("matrices", "p.yaml", "--coordinates", coordinates, "--select", "pin:0", "--select", "pin:2")
    assert pin["labels"]["R"] == ["pin:0", "pin:2"]
    assert np.array(pin["constraint_force"][0]) == pytest.approx([0.0, 19.62], abs=1e-10)


def test_matrices_of_loops_and_their_sparse_files(ask, tmp_path, capfd):
    (tmp_path / "crank.yaml").write_text((files("simcli") / "docs" / "templates" / "slider-crank.yaml").read_text())
    names = build_model(*read_scene(tmp_path / "crank.yaml", ())).joints.name
    done = completed_here(capfd, "matrices", "crank.yaml", "--npz", "sparse", "-o", "m.h5", *CPU)
    assert done.returncode == Exit.OK, done.stderr
    with package.open(tmp_path / "m.h5") as found:
        J, v = found["constraint_jacobian"][0], found["system_rate"][0]
        assert {label.rpartition(":")[0] for label in found.labels("constraint_jacobian")[0]} <= set(names)
        assert len(J) > 0
        assert np.abs(J @ v).max() < 1e-10
        for name in ("system_mass", "system_coriolis", "constraint_jacobian", "geometric_stiffness"):
            sparse = load_npz(tmp_path / "sparse" / f"{name}.0.npz")
            assert (sparse.toarray() == found[name][0]).all()
    done = completed_here(capfd, "matrices", "crank.yaml", "--npz", "sparse", *CPU)
    assert done.returncode == Exit.OUTPUT
    for word, text in (("--set=solver={type: affine, dt: 1.0e-3}", "affine"), ("--select=none", "no constraint")):
        done = completed_here(capfd, "matrices", "crank.yaml", word, *CPU)
        assert done.returncode == Exit.USAGE
        assert text in done.stderr
