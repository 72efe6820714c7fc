"""Laws of cables: force is minus the gradient of the energy, action equals reaction, statics of a hanging and of a
clamped cable, and the energy ledger. Ropes around things: MuJoCo's tendons, a winch, a capstan, all solvers."""

import json
import re
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import get_args

import mujoco
import numpy as np
import pytest
from support.forward import Runner, blocks_of, columns_of, slope
from support.forward_dynamics import forward_dynamics
from support.scenes import scene

import simcli
from simcli import rotations as rot
from simcli.cli.process import run_command
from simcli.errors import Exit, SceneError
from simcli.exchange.exporting import export_scene
from simcli.exchange.importing import import_model, load_scene
from simcli.kernels.algorithms import Algorithms
from simcli.model import build_worlds
from simcli.model.forces.ropes import length_of_way, way_of_rope, way_through, wrap
from simcli.model.joints.tree_kinematics import body_poses
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import resolve
from simcli.spec.checks.solver_fields import FIELD_RULES
from simcli.spec.schema.scene import AffineSolver, GeneralizedSolver, MaximalSolver, NaturalSolver

pytestmark = pytest.mark.usefixtures("all_supported")
CHANNELS = frozenset(("state", "energy", "reactions"))
STEP = 1e-5  # [m, rad] of central differences: the error of the slope is (1e-5)^2 of the third derivative, and rounding
SLOPE = 2e-7  # relative to the largest component
EXACT = 1e-12
PAGES = Path(simcli.__file__).parent / "docs"

PAIR = """
world: {{gravity: [0, 0, 0]}}
bodies:
  a: {{mass: 1.5, com: [0.1, 0.05, -0.02], inertia: {{diag: [0.2, 0.3, 0.4]}}, pose: {{rpy: [0.3, 0.1, -0.4]}}{first}}}
  b: {{mass: 0.7, com: [-0.1, 0.02, 0.1], inertia: {{diag: [0.1, 0.15, 0.12]}}, pose: {{xyz: [0.6, 0.1, 0.2], rpy: [1, 0, 0.2]}}{second}}}
joints:
  wire: {{type: cable, parent: {parent}, child: b, parent_frame: {{xyz: [0.3, 0, 0.1], rpy: [0.2, 0.5, 0]}},
         child_frame: {{xyz: [-0.25, 0.1, 0], rpy: [0, 0.3, 0.1]}}, axis: [1, 2, 0.5], {law}}}
batch: {{worlds: {worlds}}}
"""  # noqa: E501
STIFF = "stretch: 80, bend: 3, twist: 7"
DAMPED = STIFF + ", stretch_damping: 2, bend_damping: 0.3, twist_damping: 0.2"


def pair(law=STIFF, parent="a", worlds=1, first="", second=""):
    return PAIR.format(law=law, parent=parent, worlds=worlds, first=first, second=second)


def model_of(text):
    document = scene(text)
    spec = resolve(document)
    return build_worlds(document, spec), spec.solver


def start(model, options, device):
    """Columns of frame 0."""
    return SOLVERS["generalized"](model, options, RunPlan(1e-3, 1, 1, CHANNELS), device).initial().columns


DIRECTIONS = [(b, s * k) for b in range(2) for k in range(1, 7) for s in (1, -1)]
COM = np.array([[0.1, 0.05, -0.02], [-0.1, 0.02, 0.1]])  # of PAIR


def moved(q, body, direction):
    """joint_q (14,) of two free bodies with one body moved by STEP along one of six directions of its centre of mass."""
    q = q.copy()
    pose = q[7 * body : 7 * body + 7]
    if abs(direction) <= 3:
        pose[abs(direction) - 1] += np.sign(direction) * STEP
    else:
        turn = rot.quat_from_axis_angle(np.eye(3)[abs(direction) - 4], np.array(np.sign(direction) * STEP))
        com = COM[body]
        before = pose[:3] + rot.quat_rotate(pose[3:], com)
        pose[3:] = rot.quat_multiply(turn, pose[3:])
        pose[:3] = before - rot.quat_rotate(pose[3:], com)
    return q


def generalized_forces(model, q, qdd):
    """Force and torque about the centre of mass on each free body at rest, (2, 6), from its acceleration."""
    found = np.zeros((2, 6))
    for b in range(2):
        R = rot.quat_to_matrix(q[7 * b + 3 : 7 * b + 7])
        found[b, :3] = model.bodies.mass[0, b] * qdd[6 * b : 6 * b + 3]
        found[b, 3:] = R @ model.bodies.inertia[0, b] @ R.T @ qdd[6 * b + 3 : 6 * b + 6]
    return found


def states_about(rng, q, reach):
    """A state of two free bodies some way from q, and that state moved along every direction to both sides."""
    q = q.copy()
    for b in range(2):
        q[7 * b : 7 * b + 3] += 0.1 * reach * rng.normal(size=3)
        turn = rot.quat_from_axis_angle(rot.unit(rng.normal(size=3)), np.array(0.5 * reach))
        q[7 * b + 3 : 7 * b + 7] = rot.quat_multiply(turn, q[7 * b + 3 : 7 * b + 7])
    return [q, *(moved(q, b, d) for b, d in DIRECTIONS)]


def test_the_force_is_minus_the_gradient_of_the_energy(device):
    """Near the rest of the rotations and at large ones; the slots of the cable stand before the two free joints."""
    rng = np.random.default_rng(0)
    reaches = (0.01, 0.4, 2.0)
    n = 1 + len(DIRECTIONS)
    model, options = model_of(pair(worlds=n * len(reaches)))
    assert np.isnan(model.joint_q[0, :2]).all()
    states = np.array([q for reach in reaches for q in states_about(rng, model.joint_q[0, 2:], reach)])
    start_q = np.concatenate((np.full((len(states), 2), np.nan), states), axis=1)
    columns = start(replace(model, joint_q=start_q), options, device)
    for k in range(len(reaches)):
        energy = columns["energy/elastic"][0, n * k : n * (k + 1)]
        slope = -(energy[1::2] - energy[2::2]).reshape(2, 6) / (2 * STEP)
        force = generalized_forces(model, states[n * k], columns["frames/joint_qdd"][0, n * k, 2:])
        scale = np.abs(force).max()
        assert scale > 1.0
        assert np.abs(force - slope).max() < SLOPE * scale
        assert (np.abs(force) > 1e-4 * scale).all()


def turned_from_rest(model, axis, angle):
    """joint_q of the child when its anchor is turned from its rest, the anchors together; and the parent's anchor."""
    X_p, X_c, rest = model.joints.X_p[0, 0], model.joints.X_c[0, 0], model.cables.rest[0, 0]
    turn = rot.quat_from_axis_angle(axis, np.array(angle))
    anchor = rot.pose_compose(X_p, rot.make_pose(np.zeros(3), rot.quat_multiply(turn, rest[3:])))
    return np.concatenate(([np.nan] * 2, [0, 0, 0, 0, 0, 0, 1], rot.pose_compose(anchor, rot.pose_inverse(X_c))))


def test_twist_is_about_the_written_axis_and_bend_across_it(device):
    """A turn by 0.8 rad about an axis in the parent anchor gives the torque k 0.8 about it, on the child."""
    axes = rot.unit(np.array([[1.0, 2.0, 0.5], [2.0, -1.0, 0.0], [0.0, -0.5, 2.0]]))
    stiffness = np.array([7.0, 4.0, 5.0])  # of the world that turns about each axis
    vary = "worlds: 3, vary: {joints.wire.bend: {list: [3, 4, 5]}}"
    model, options = model_of(pair(parent="world", worlds=3).replace("worlds: 3", vary))
    q = np.array([turned_from_rest(model, axis, 0.8) for axis in axes])
    columns = start(replace(model, joint_q=q), options, device)
    wrench = columns["frames/joint_wrench"][0, :, 0]
    expected = -0.8 * stiffness[:, None] * rot.quat_rotate(model.joints.X_p[0, 0, 3:], axes)
    assert np.abs(wrench[:, :3]).max() < 80 * EXACT
    assert np.abs(wrench[:, 3:] - expected).max() < 10 * EXACT
    assert columns["energy/elastic"][0] == pytest.approx(0.5 * stiffness * 0.8**2, rel=EXACT)


@pytest.mark.slow
def test_a_rotation_of_both_bodies_together_is_not_damped(device):
    """Dampers see no relative motion in a rigid rotation, however far apart the anchors are; in any other they do."""
    law = "stretch: 0, bend: 0, stretch_damping: 5, bend_damping: 3, twist_damping: 2"
    spin, shift = np.array([0.5, -1.0, 2.0]), np.array([0.3, 0.2, 0.1])
    model, options = model_of(pair(law, worlds=2))
    qd = np.tile(model.joint_qd, (2, 1))
    pose = model.joint_q[0, 2:].reshape(2, 7)
    for b in range(2):
        com = pose[b, :3] + rot.quat_rotate(pose[b, 3:], model.bodies.com[0, b])
        qd[:, 2 + 6 * b : 8 + 6 * b] = np.concatenate((shift + np.cross(spin, com), spin))
    qd[1, 2:8] = 0.0
    wrench = start(replace(model, joint_qd=qd), options, device)["frames/joint_wrench"][0, :, 0]
    assert np.abs(wrench[0]).max() < 10 * EXACT
    assert np.abs(wrench[1]).min() > 0.1


MOVING = (
    ", velocity: {linear: [0.2, -0.3, 0.1], angular: [1, 0.5, -2]}",
    ", velocity: {linear: [-0.5, 0.4, 0.8], angular: [-2, 1, 3]}",
)
LEDGER = 1e-8  # [J] after 1 s of rk4 at 1 ms: (10/s * 1 ms)^4


def momenta(model, columns):
    """Linear and angular momentum about the origin, (F, 2, 3)."""
    pose, twist = columns["frames/body_q"][:, 0], columns["frames/body_qd"][:, 0]
    total = np.zeros((len(pose), 2, 3))
    for b in range(model.n_bodies):
        R = rot.quat_to_matrix(pose[:, b, 3:])
        com = pose[:, b, :3] + rot.turn(R, model.bodies.com[:, b])
        spin = rot.turn(R @ model.bodies.inertia[0, b] @ rot.transpose(R), twist[:, b, 3:])
        linear = model.bodies.mass[0, b] * twist[:, b, :3]
        total += np.stack((linear, np.cross(com, linear) + spin), axis=1)
    return total


def test_two_free_bodies_keep_their_momenta_and_the_ledger_closes(device):
    runner = Runner(pair(DAMPED, first=MOVING[0], second=MOVING[1]), "rk4", device)
    columns = runner(1e-3, 100, 10)
    total = momenta(runner.model, columns)
    assert np.abs(total[0]).min() > 0.01
    assert np.abs(total - total[0]).max() < LEDGER
    assert np.abs(columns["energy/drift"]).max() < LEDGER
    assert columns["energy/dissipated"][-1, 0] > 0.1
    assert columns["energy/elastic"].max() > 0.1
    assert np.isnan(columns["frames/joint_q"][..., :2]).all()
    assert np.isfinite(columns["frames/joint_q"][..., 2:]).all()
    for name in ("joint_qd", "joint_qdd", "joint_effort"):
        assert np.isnan(columns[f"frames/{name}"][..., :2]).all()


@pytest.mark.slow
def test_the_ledger_of_the_first_order_integrator_closes_with_the_step(device):
    runner = Runner(pair(DAMPED, first=MOVING[0], second=MOVING[1]), "semi_implicit", device)
    drifts = [np.abs(runner(h, round(0.1 / h), 5)["energy/drift"]).max() for h in (1e-3, 5e-4)]
    assert drifts[0] < 0.05
    assert drifts[1] < 0.6 * drifts[0]


def test_a_hanging_cable_stretches_by_weight_over_stiffness(device):
    """Two weights in series: the upper cable carries both. Reactions are the loads."""
    text = """
bodies:
  upper: {mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 0, -1]}}
  lower: {mass: 3, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 0, -2]}}
joints:
  top: {type: cable, parent: world, child: upper, stretch: 500, stretch_damping: 40, child_frame: {xyz: [0, 0, 1]}}
  low: {type: cable, parent: upper, child: lower, stretch: 800, stretch_damping: 40, child_frame: {xyz: [0, 0, 1]}}
"""
    model, options = model_of(text)
    solver = SOLVERS["generalized"](model, options, RunPlan(1e-3, 8000, 1, CHANNELS), device)
    solver.initial()
    columns = solver.advance(1).columns
    load = 9.81 * np.array([5.0, 3.0])
    z = columns["frames/body_q"][0, 0, :, 2]
    sag = np.cumsum(load / [500, 800])
    assert np.abs(z - ([-1, -2] - sag)).max() < 1e-9
    wrench = columns["frames/joint_wrench"][0, 0, :2]
    assert np.abs(wrench[:, 2] - load).max() < 1e-6
    assert np.abs(wrench[:, [0, 1, 3, 4, 5]]).max() < 1e-12


N_PIECES, PIECE = 8, 0.1  # pieces of the cantilever, their length [m]
YOUNGS, RADIUS, LOAD = 1e6, 0.01, 2e-4  # [Pa], [m], [N]: deflects 0.5 % of the length


def cantilever():
    """A beam along x clamped at the origin: pieces whose centres are the middles, cables at their ends; the clamp bends over
    half a piece only."""
    bodies, joints = [], []
    material = f"youngs: {YOUNGS}, poisson: 0.3, radius: {RADIUS}, axis: [1, 0, 0]"
    for k in range(N_PIECES):
        bodies.append(
            f"  p{k}: {{mass: 0.05, com: [{PIECE / 2}, 0, 0], inertia: {{diag: [1e-5, 5e-5, 5e-5]}}, "
            f"pose: {{xyz: [{k * PIECE}, 0, 0]}}}}"
        )
        parent, at = ("world", 0.0) if k == 0 else (f"p{k - 1}", PIECE)
        length = PIECE / 2 if k == 0 else PIECE
        joints.append(
            f"  c{k}: {{type: cable, parent: {parent}, child: p{k}, length: {length}, {material}, "
            f"parent_frame: {{xyz: [{at}, 0, 0]}}}}"
        )
    push = f"forces: {{f: {{type: wrench, body: p{N_PIECES - 1}, force: [0, 0, {LOAD}], at: [{PIECE}, 0, 0]}}}}"
    parts = ["world: {gravity: [0, 0, 0]}", "bodies:", *bodies, "joints:", *joints, push, "batch: {worlds: 2}"]
    return "\n".join(parts)


def test_a_cantilever_rests_in_the_shape_of_the_theory(device):
    """Placed in the deflection curve w(x) = F x^2 (3 L - x) / (6 E I), it stays there for half of its slowest period, in
    which a straight one moves by twice the deflection.

    The tip of the pieces rests at F (sum of the squared arms, half a piece at the clamp) / EI, which is 1 / (2 n^2) further
    than the theory; it swings about that by as much again, and the other modes take part.
    """
    model, options = model_of(cantilever())
    EI, L = YOUNGS * np.pi * RADIUS**4 / 4, N_PIECES * PIECE
    x = PIECE * np.arange(N_PIECES + 1)
    w = LOAD * x**2 * (3 * L - x) / (6 * EI)
    tip = LOAD * L**3 / (3 * EI)
    assert w[-1] == pytest.approx(tip)
    rho = 0.05 / PIECE
    period = 2 * np.pi / (3.516 * np.sqrt(EI / (rho * L**4)))  # first mode of a clamped beam
    q = model.joint_q.copy()
    slots = 2 * N_PIECES
    for k in range(N_PIECES):
        pitch = -(w[k + 1] - w[k]) / PIECE
        pose = rot.make_pose(np.array([x[k], 0, w[k]]), rot.quat_from_axis_angle(np.array([0.0, 1, 0]), np.array(pitch)))
        q[0, slots + 7 * k : slots + 7 * k + 7] = pose
    steps = round(0.5 * period / 1e-3)
    starts = np.concatenate((q, model.joint_q))
    plan = RunPlan(1e-3, steps // 20, 20, CHANNELS)
    solver = SOLVERS["generalized"](replace(model, joint_q=starts), options, plan, device)
    solver.initial()
    pose = solver.advance(20).columns["frames/body_q"][:, :, -1]
    tips = (pose[..., 2] + rot.quat_rotate(pose[..., 3:], np.array([PIECE, 0, 0]))[..., 2]).T
    assert np.abs(tips[0] - tip).max() < 2 * tip / N_PIECES**2
    assert tips[1][-1] == pytest.approx(2 * tip, rel=0.1)  # a sudden load swings to twice its deflection


def test_stiffness_of_a_material():
    """EA / L, EI / L, GJ / L of a circular section; damping of twist is that of bend unless it is written."""
    model, _ = model_of(pair("youngs: 2e9, poisson: 0.25, radius: 2 mm, length: 0.5, bend_damping: 0.1"))
    r, E, L = 2e-3, 2e9, 0.5
    G = E / 2.5
    assert model.cables.stretch[0, 0] == pytest.approx(E * np.pi * r**2 / L, rel=EXACT)
    assert model.cables.bend[0, 0] == pytest.approx(E * np.pi * r**4 / 4 / L, rel=EXACT)
    assert model.cables.twist[0, 0] == pytest.approx(G * np.pi * r**4 / 2 / L, rel=EXACT)
    assert model.cables.twist_damping[0, 0] == model.cables.bend_damping[0, 0] == 0.1


def test_what_is_left_out_of_a_cable():
    model, _ = model_of(pair("bend: 2").replace("axis: [1, 2, 0.5], ", ""))
    assert [model.cables.stretch[0, 0], model.cables.bend[0, 0], model.cables.twist[0, 0]] == [1e5, 2, 2]
    assert model.cables.tangent[0, 0].tolist() == [0, 0, 1]
    assert model.cables.stretch_damping[0, 0] == 0
    assert model.joints.name == ("wire", "a_free", "b_free")
    assert not model.joints.is_tree[0]


@pytest.mark.parametrize(
    ("law", "code"),
    [
        ("stretch: 10, length: 0.3", "SC416"),
        ("youngs: 1e9, radius: 0.1", "SC416"),
        ("length: 1", "SC416"),
        ("stretch: 10, youngs: 1e9", "SC416"),
        ("stretch: -1", "SC231"),
        ("stretch: 1, init_angle: 1", "SC462"),
        ("stretch: 1, limit: [0, 1]", "SC409"),
        ("stretch: 1, q: [1, 2]", "SC466"),
    ],
)
def test_faults_of_cables(law, code):
    with pytest.raises(SceneError) as caught:
        model_of(pair(law))
    assert {fault.code for fault in caught.value.faults} == {code}


@pytest.mark.slow
def test_a_cable_beside_a_row_closes_the_ledger_and_carries_its_load(device):
    """Two hinged rods, their ends on a cable, and a row that says nothing new: the solver with rows sees cables too."""
    text = """
bodies:
  a: {mass: 1, com: [0.25, 0, 0], inertia: {diag: [0.01, 0.03, 0.03]}}
  b: {mass: 2, com: [-0.2, 0, 0], inertia: {diag: [0.01, 0.03, 0.03]}, pose: {xyz: [1, 0, 0]}}
joints:
  left: {type: revolute, parent: world, child: a, at: [0, 0, 0], axis: [0, 1, 0], qd: 1}
  right: {type: revolute, parent: world, child: b, at: [1, 0, 0], axis: [0, 1, 0], limit: [-50, 50]}
  end: {type: distance, parent: world, child: a, length: 0.5, parent_frame: {xyz: [0, 0.3, 0]},
        child_frame: {xyz: [0, 0.3, 0.5]}}
  wire: {type: cable, parent: a, child: b, stretch: 300, bend: 2, stretch_damping: 3, bend_damping: 0.1,
         parent_frame: {xyz: [0.5, 0, 0]}, child_frame: {xyz: [-0.5, 0, 0]}}
"""
    model, options = model_of(text)
    options = options.model_copy(update={"integrator": "rk4"})
    solver = SOLVERS["generalized"](model, options, RunPlan(5e-4, 100, 10, CHANNELS), device)
    solver.initial()
    columns = solver.advance(10).columns
    assert np.abs(columns["energy/drift"]).max() < LEDGER
    assert columns["energy/elastic"].max() > 0.1
    assert columns["energy/dissipated"].max() > 0.01
    wire = model.joints.name.index("wire")
    wrench = columns["frames/joint_wrench"][-1, 0, wire]
    pose = columns["frames/body_q"][-1, 0]
    ends = [pose[b, :3] + rot.quat_rotate(pose[b, 3:], np.array(at)) for b, at in enumerate(([0.5, 0, 0], [-0.5, 0, 0]))]
    pull = 300 * (ends[0] - ends[1])
    assert np.abs(pull).max() > 1.0
    assert np.abs(wrench[:3] - pull).max() < 0.2 * np.abs(pull).max()  # but for the damper


def test_generalized_alpha_keeps_its_order_and_its_account(device):
    """Two pieces that swing and whip, against rk4; the dampers of a cable act half way between its ends."""
    laws = "stretch: 2000, bend: 0.3, twist: 0.2, stretch_damping: 1, bend_damping: 0.002, twist_damping: 0.001"
    text = (
        "bodies:\n"
        + "".join(
            f"  {b}: {{mass: 0.1, inertia: {{diag: [1e-4, 1e-4, 1e-4]}}, pose: {{xyz: [{x}, 0, 1]}}}}\n"
            for b, x in (("a", 0.1), ("b", 0.3))
        )
        + "joints:\n"
    )
    for name, parent, child, place in (("j", "world", "a", "[0, 0, 1]"), ("k", "a", "b", "[0.1, 0, 0]")):
        text += (
            f"  {name}: {{type: cable, parent: {parent}, child: {child}, parent_frame: {{xyz: {place}}}, "
            f"child_frame: {{xyz: [-0.1, 0, 0]}}, axis: [1, 0, 0], {laws}}}\n"
        )
    exact = Runner(text + "solver: {type: generalized}\n", "rk4", device)(2e-4, 1000, 1)
    run = Runner(text + "solver: {type: natural}\n", "generalized_alpha", device)
    steps = (4e-3, 2e-3, 1e-3)
    found = [run(h, round(0.2 / h), 1) for h in steps]
    errors = [np.abs(one["frames/body_q"][-1] - exact["frames/body_q"][-1]).max() for one in found]
    drifts = [np.abs(one["energy/drift"]).max() for one in found]
    assert slope(steps, errors) > 1.9
    assert slope(steps, drifts) > 1.9
    assert errors[-1] < 1e-4
    lost = exact["energy/dissipated"][-1, 0]
    assert lost > 1e-3
    assert found[-1]["energy/dissipated"][-1, 0] == pytest.approx(lost, rel=1e-3)


def test_a_cable_is_not_stretched_where_its_anchors_coincide_nor_bent_in_the_authored_poses(device):
    """Whatever the coordinates of the start make of these poses: the energy is that of page `coordinates`."""
    model, options = model_of("""
bodies: {a: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [0.5, 0, 0], rpy: [0.4, 0, 0]}}}
joints:
  wire: {type: cable, parent: world, child: a, parent_frame: {xyz: [-0.1, 0, 0]}, child_frame: {xyz: [0, 0, 0]}, stretch: 10,
         bend: 3, loop: true}
initial: {joint_q: {a_free: [0.3, 0, 0, 0.4349655341112302, 0, 0, 0.9004471023526769]}}    # turned by 0.9 rad
""")
    wanted = 0.5 * 10 * 0.4**2 + 0.5 * 3 * 0.5**2
    assert start(model, options, device)["energy/elastic"][0] == pytest.approx(wanted, rel=EXACT)


WRAP = """<mujoco><worldbody><body mocap="true"><site name="p"/></body><body mocap="true"><site name="q"/></body>
<geom name="g" type="{kind}" size="0.3 1" contype="0" conaffinity="0"/><site name="s" pos="{side}"/></worldbody>
<tendon><spatial><site site="p"/><geom geom="g" {sided}/><site site="q"/></spatial></tendon></mujoco>"""


@pytest.mark.parametrize("kind", ["cylinder", "sphere"])
@pytest.mark.parametrize("sided", [False, True])
def test_ways_are_those_of_mujoco(kind, sided):
    rng, wraps = np.random.default_rng(1), 0
    for _ in range(10):
        side = rng.normal(size=3)
        side *= 0.35 / np.linalg.norm(side[: 2 if kind == "cylinder" else 3])
        words = {"kind": kind, "side": " ".join(map(str, side)), "sided": 'sidesite="s"' * sided}
        peer = mujoco.MjModel.from_xml_string(WRAP.format(**words))
        data, ends = mujoco.MjData(peer), 0.7 * rng.normal(size=(100, 2, 3))
        axis = np.array([0.0, 0, 1]) if kind == "cylinder" else None
        found = wrap(ends[:, 0], ends[:, 1], np.array(0.3), axis, side if sided else None)
        for k, places in enumerate(ends):
            data.mocap_pos[:] = places
            mujoco.mj_forward(peer, data)
            assert found.length[k] == pytest.approx(data.ten_length[0], abs=1e-12)
        wraps += found.wraps.sum()
    assert wraps > 80


@pytest.mark.parametrize("kind", ["cylinder", "sphere"])
def test_ways_through_rings_are_those_of_mujoco(kind):
    """MuJoCo finds the bend to 1e-6, and the length, which is least there, to the square of that."""
    rng = np.random.default_rng(5)
    peer = mujoco.MjModel.from_xml_string(WRAP.format(kind=kind, side="0.1 0.05 -0.1", sided='sidesite="s"'))
    data, ends = mujoco.MjData(peer), 0.7 * rng.normal(size=(1000, 2, 3))
    found = way_through(ends[:, 0], ends[:, 1], np.array(0.3), np.array([0.0, 0, 1]) if kind == "cylinder" else None)
    for k, places in enumerate(ends):
        data.mocap_pos[:] = places
        mujoco.mj_forward(peer, data)
        assert found.length[k] == pytest.approx(data.ten_length[0], abs=1e-10)
        if found.wraps[k]:
            assert data.wrap_xpos.reshape(-1, 3)[1] == pytest.approx(found.first[k], abs=2e-5)
    assert found.wraps.sum() > 200
    assert (~found.wraps).sum() > 100


PEER = """
<mujoco><option gravity="0 0 -9.81"/><compiler autolimits="true"/>
<default><geom contype="0" conaffinity="0" mass="0"/></default><worldbody><site name="p0" pos="0 0 0.6"/>
<geom name="g2" type="sphere" size="0.2" pos="0.4 0.3 0.3"/><site name="s2" pos="0.4 0 0.9"/>
<body name="arm"><joint name="shoulder" axis="0 1 0.2"/>
<inertial pos="0.1 0.02 -0.03" mass="1.2" diaginertia="0.02 0.03 0.04"/>
<geom name="g1" type="cylinder" size="0.15 1" pos="0.1 0.1 0.1" zaxis="0.2 1 0.3"/><site name="s1" pos="0.1 0.4 0.7"/>
<geom name="g3" type="sphere" size="0.1" pos="0.2 0 -0.3"/>
<body name="fore" pos="0.3 0.1 0.2"><joint name="elbow" axis="1 0 0.4"/>
<inertial pos="0.12 0 0.01" mass="0.7" diaginertia="0.012 0.013 0.02"/><site name="p2" pos="0 0.3 0.05"/>
<site name="p5" pos="0.2 0 0"/></body></body>
<body name="ball" pos="0.9 -0.2 0.1"><freejoint/><inertial pos="0 0 0" mass="0.5" diaginertia="0.01 0.02 0.015"/>
<site name="p4" pos="0.05 0.02 0.1"/></body></worldbody>
<tendon><spatial name="t" stiffness="60" damping="1.5" springlength="1.2"><site site="p0"/><geom geom="g1" sidesite="s1"/>
<site site="p2"/>
<geom geom="g2" sidesite="s2"/><site site="p4"/><geom geom="g3"/><site site="p5"/></spatial></tendon>
<actuator><motor name="motor" tendon="t" gear="2" ctrlrange="-1 3"/><general name="servo" tendon="t" gear="0.5" gainprm="4"
biastype="affine" biasprm="1.5 -30 -2"/></actuator><keyframe><key name="held" ctrl="1.5 0"/></keyframe></mujoco>
"""


RINGS = PEER.replace('pos="0.1 0.4 0.7"', 'pos="0.1 0.12 0.1"').replace('pos="0.4 0 0.9"', 'pos="0.4 0.3 0.4"')


@pytest.mark.parametrize(("text", "rounding"), [(PEER, 1e-10), (RINGS, 1e-5)], ids=["around", "through"])
def test_accelerations_are_those_of_a_tendon_around_geoms(device, tmp_path, text, rounding):
    """The scene is imported of it, so that this holds for `import`, too. MuJoCo finds bends within rings to 1e-6 rad."""
    path = tmp_path / "ropes.xml"
    path.write_text(text)
    converted = import_model(path)
    model = model_of(re.sub("^simcli: 1$", "", converted.text, flags=re.MULTILINE))[0]
    assert model.ropes.name == ("t", "motor", "servo")
    assert model.ropes.stop_kind.tolist() == [0, 1, 0, 2, 0, 2, 0] * 3
    assert "forces.motor.tension: -3" in converted.text  # of the control 1.5 of the keyframe
    assert model.ropes.stop_inside.tolist() == [text is RINGS and m in (1, 3) for m in range(7)] * 3
    peer = mujoco.MjModel.from_xml_string(text)
    data, algorithms = mujoco.MjData(peer), Algorithms(model, device)
    rng, wraps = np.random.default_rng(17), np.zeros(3, int)
    for _ in range(40):
        angles, place, turn = rng.uniform(-1.5, 1.5, 2), rng.uniform(-1, 1, 3), rot.quat_from_rpy(rng.uniform(-3, 3, 3))
        rates, speed, spin = rng.normal(size=2), rng.normal(size=3), rng.normal(size=3)
        data.qpos[:] = [*angles, *place, turn[3], *turn[:3]]
        data.qvel[:] = [*rates, *speed, *(rot.quat_to_matrix(turn).T @ spin)]
        mujoco.mj_forward(peer, data)
        q, qd = np.concatenate((angles, place, turn)), np.concatenate((rates, speed, spin))
        way = way_of_rope(model.ropes, 0, *body_poses(model, q[None]))
        assert length_of_way(way)[0] == pytest.approx(data.ten_length[0], abs=EXACT if text is PEER else 1e-10)
        wraps += [bool(way[m][1].wraps[0]) for m in (1, 3, 5)]
        given = algorithms.external_forces(q[None], qd[None], 0.0)
        found = forward_dynamics(algorithms, q[None], qd[None], np.zeros((1, 8)), given)[0]
        expected = np.concatenate((data.qacc[:5], rot.quat_to_matrix(turn) @ data.qacc[5:]))
        np.testing.assert_allclose(found, expected, atol=rounding * max(1.0, np.abs(expected).max()))
    algorithms.destroy()
    assert wraps.min() > 0


ROPE_SOLVERS = [
    (solver, one)
    for kind in (GeneralizedSolver, MaximalSolver, NaturalSolver, AffineSolver)
    for solver in get_args(kind.model_fields["type"].annotation)
    for one in get_args(kind.model_fields["integrator"].annotation)
    if all(solver in rule.solvers for rule in FIELD_RULES if rule.path in ("forces.*.muscle", "forces.*.tension"))
    and one not in ("auto", "generalized_alpha")
]
OFTEN = (("generalized", "rk4"), ("maximal", "semi_implicit"), ("natural", "zhong06"))
every_rope_solver = pytest.mark.parametrize(
    ("solver", "integrator"),
    [pytest.param(*one, marks=() if one in OFTEN else pytest.mark.slow) for one in ROPE_SOLVERS],
)
G, HEAVY, LIGHT, DRUM, RADIUS_OF_DRUM = 9.81, 3.0, 2.0, 0.05, 0.2
FALL = HEAVY * G / (HEAVY + DRUM / RADIUS_OF_DRUM**2)  # of a weight on a drum
WINCH = f"""
world: {{gravity: [0, 0, -{G}]}}
bodies:
  drum: {{mass: 2, inertia: {{diag: [0.05, {DRUM}, 0.05]}}}}
  load: {{mass: {HEAVY}, inertia: {{diag: [0.1, 0.1, 0.1]}}, pose: {{xyz: [0.2, 0, -1]}}}}
joints:
  axle: {{type: revolute, parent: world, child: drum, at: [0, 0, 0], axis: [0, 1, 0], q: -7}}
forces:
  rope: {{type: spring, a: {{world: [0.2, 0, 0]}}, b: {{body: load, at: [0, 0, 0]}}, stiffness: 1000, damping: 5,
         rest_length: {1 + 7 * RADIUS_OF_DRUM - HEAVY * (G - FALL) / 1000},
         paid_out: [{{joint: axle, factor: {RADIUS_OF_DRUM}}}]}}
"""
MU, SIDE = 0.1, "side: {world: [0, 0, 2]}"
RATIO = float(np.exp(MU * np.pi))
SLIDE = G * (HEAVY - RATIO * LIGHT) / (HEAVY + RATIO * LIGHT)  # of two weights over a drum that does not turn
CAPSTAN = f"""
world: {{gravity: [0, 0, -{G}]}}
bodies:
  heavy: {{mass: {HEAVY}, inertia: {{diag: [0.1, 0.1, 0.1]}}, pose: {{xyz: [0.1, 0, -2]}}, velocity: {{linear: [0, 0, -2]}}}}
  light: {{mass: {LIGHT}, inertia: {{diag: [0.1, 0.1, 0.1]}}, pose: {{xyz: [-0.1, 0, -4]}}, velocity: {{linear: [0, 0, 2]}}}}
forces:
  rope: {{type: spring, a: {{body: light, at: [0, 0, 0]}}, b: {{body: heavy, at: [0, 0, 0]}}, stiffness: 1000, damping: 5,
         through: [{{world: [0, 0, 0], cylinder: {{radius: 0.1, axis: [0, 1, 0]}}, {SIDE}, friction: {MU},
                    slip_speed: 0.02}}],
         rest_length: {6 + 0.1 * np.pi - 0.5 * (LIGHT * (G + SLIDE) + HEAVY * (G - SLIDE)) / 1000}}}
"""


def fallen(text, solver, integrator, device):
    """Columns after 0.2 s, places of the bodies along z, and by what steps of first order are off for each m/s^2."""
    runner = Runner(f"{text}solver: {{type: {solver}}}\n", integrator, device)
    found = runner(1e-3, 200, 1)
    return found, found["frames/body_q"][-1, 0, :, 2], 1.01e-4 * (integrator == "semi_implicit")


@every_rope_solver
def test_a_weight_on_a_winch_turns_its_drum(device, solver, integrator):
    _found, z, late = fallen(WINCH, solver, integrator, device)
    exact = 1e-6 if solver == "natural" else 1e-8  # turns of natural coordinates are of second order in the step
    assert z[1] == pytest.approx(-1.0 - FALL * 0.2**2 / 2, abs=FALL * late + exact)


@every_rope_solver
def test_tensions_of_a_rope_that_slips_on_a_drum_are_those_of_euler_and_eytelwein(device, solver, integrator):
    """T1/T2 = exp(mu pi), so that both weights move uniformly; friction takes T1 - T2 along the way."""
    found, z, late = fallen(CAPSTAN, solver, integrator, device)
    path = 2.0 * 0.2 + SLIDE * 0.2**2 / 2
    np.testing.assert_allclose(z, [-2 - path, -4 + path], atol=SLIDE * late + 1e-8)
    pull = HEAVY * (G - SLIDE) - LIGHT * (G + SLIDE)
    assert pull > 5.0
    assert found["energy/dissipated"][-1, 0] == pytest.approx(pull * path, abs=pull * (SLIDE * late + 1e-7))


MACHINE = """
world: {gravity: [0, 0, -9.81]}
bodies:
  drum: {mass: 2, inertia: {diag: [0.02, 0.03, 0.02]}}
  arm: {mass: 1, com: [0.1, 0, 0], inertia: {diag: [0.01, 0.02, 0.02]}, pose: {xyz: [0.7, 0, 0.2]}}
  load: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [0.6, 0, -1]}}
joints:
  axle: {type: revolute, parent: world, child: drum, at: [0, 0, 0], axis: [0, 1, 0], qd: 3}
  elbow: {type: revolute, parent: world, child: arm, at: [0.7, 0, 0.2], axis: [0.1, 1, 0]}
forces:
  rope: {type: spring, a: {world: [-0.8, 0.05, -0.3]}, through: [{body: drum, at: [0, 0, 0], cylinder: {radius: 0.2,
         axis: [0, 1, 0]}, side: {world: [0, 0, 0.3]}, friction: 0.3, slip_speed: 0.1}, {body: arm, at: [0.1, 0, 0]},
         {world: [0.8, 0.05, -0.4], sphere: {radius: 0.1}}], b: {body: load, at: [0, 0, 0.1]}, stiffness: 100, damping: 2,
         rest_length: 2.2, paid_out: [{joint: axle, factor: 0.2}, {joint: elbow, factor: -0.1}]}
"""


def test_solvers_agree_on_a_rope_around_moving_things_and_close_the_ledger(device):
    exact = Runner(MACHINE + "solver: {type: generalized}\n", "rk4", device)(5e-4, 20, 10)
    assert np.abs(exact["energy/drift"]).max() < 1e-6
    assert exact["energy/dissipated"][-1, 0] > 0.5
    last = exact["frames/body_q"][-1, 0]
    fine = Runner(MACHINE + "solver: {type: natural}\n", "zhong06", device)(5e-4, 20, 10)
    assert np.abs(fine["frames/body_q"][-1, 0] - last).max() < 2e-4  # of second order
    run = Runner(MACHINE + "solver: {type: maximal}\n", "semi_implicit", device)
    off = [np.abs(run(h, round(0.1 / h), 1)["frames/body_q"][-1, 0] - last).max() for h in (1e-3, 5e-4)]
    assert 0.4 < off[1] / off[0] < 0.6  # of first order
    assert off[1] < 5e-3


FLOATING = """
world: {gravity: [0, 0, 0]}
bodies:
  a: {mass: 1.5, inertia: {diag: [0.2, 0.3, 0.4]}, pose: {xyz: [-1, 0, 0]}, velocity: {linear: [0.2, -0.3, 0.1], angular: [1, 0.5, -2]}}
  g: {mass: 2, inertia: {diag: [0.1, 0.15, 0.12]}, pose: {xyz: [0, 0, -0.15]}}
  b: {mass: 0.7, inertia: {diag: [0.1, 0.15, 0.12]}, pose: {xyz: [1, 0.2, 0.1], rpy: [1, 0, 0.2]}}
forces:
  rope: {type: spring, a: {body: a, at: [0.1, 0.1, 0]}, through: [{body: g, at: [0, 0, 0], SIZE, side: {body: g, at: [0, 0, 1]}}],
         b: {body: b, at: [0.1, 0, 0]}, stiffness: 80, damping: 1, rest_length: 1.5}
"""  # noqa: E501


@pytest.mark.parametrize(
    "size",
    [
        "cylinder: {radius: 0.3, axis: [0.1, 1, 0.2]}, friction: 0.5",
        "sphere: {radius: 0.3}",
        "cylinder: {radius: 0.05, axis: [0.1, 1, 0.2]}, inside: true",
        "sphere: {radius: 0.05}, inside: true",
    ],
)
def test_action_equals_reaction_where_a_rope_runs_around_a_free_body(device, size):
    """Or through it: a ring."""
    text = FLOATING.replace(", side: {body: g, at: [0, 0, 1]}", "") if "inside" in size else FLOATING
    runner = Runner(text.replace("SIZE", size), "rk4", device)
    columns = runner(2.5e-4, 400, 5)
    total = momenta(runner.model, columns)
    assert np.abs(total - total[0]).max() < LEDGER
    assert np.abs(columns["energy/drift"]).max() < 1e-6  # it leaves the body, where its force has a kink
    assert np.abs(columns["frames/body_qd"][-1, 0, 1]).max() > 0.1


def test_a_thin_cylinder_is_a_point_and_an_instance_takes_its_rope_along(device):
    """Of a rope that is pulled over its side, as radius goes to 0."""
    text = FLOATING.replace("friction: 0.5", "").replace("side: {body: g, at: [0, 0, 1]}", "side: {world: [0, 0, -5]}")
    thin = Runner(text.replace("SIZE", "sphere: {radius: 1e-7}"), "rk4", device)(1e-3, 100, 1)
    plain = text.replace(", SIZE, side: {world: [0, 0, -5]}", "")
    point = Runner(plain, "rk4", device)(1e-3, 100, 1)
    assert np.abs(thin["frames/body_q"] - point["frames/body_q"]).max() < 1e-5
    body = MACHINE[MACHINE.index("bodies:") :].replace("\n", "\n    ")
    moved = "models:\n  m:\n    " + body + "\ninstances: {one: {model: m, at: {xyz: [1, 2, 3], rpy: [0, 0, 1]}}}\n"
    ropes = [
        model_of(one)[0].ropes
        for one in (MACHINE.replace("rest_length: 2.2, ", ""), moved.replace("rest_length: 2.2, ", ""))
    ]
    assert ropes[1].rest_length == pytest.approx(ropes[0].rest_length, rel=EXACT)
    assert ropes[0].rest_length[0, 0] > 1.0


LINE, DAMPER = "{elongation: [-9, 0, 9], force: [-900, 0, 900]}", "{rate: [-9, 0, 9], force: [-18, 0, 18]}"


def test_a_rope_whose_tension_a_table_gives_moves_as_by_the_numbers_of_the_table(device):
    by_table = MACHINE.replace("stiffness: 100, damping: 2", f"stiffness_table: {LINE}, damping_table: {DAMPER}")
    ours, other = (
        Runner(text + "solver: {type: generalized}\n", "rk4", device)(1e-3, 50, 2) for text in (MACHINE, by_table)
    )
    for name in ("frames/body_q", "energy/elastic", "energy/dissipated"):
        assert np.abs(ours[name] - other[name]).max() < 1e-10
    assert ours["energy/elastic"][-1, 0] > 0.1


PULLED = f"""
world: {{gravity: [0, 0, -{G}]}}
bodies: {{load: {{mass: 2, inertia: {{diag: [1, 1, 1]}}, pose: {{xyz: [0.2, 0, -1]}}}}}}
signals: {{pull: {{sine: {{amplitude: 10, frequency: 2, offset: {2 * G}}}}}}}
forces:
  rope: {{type: spring, a: {{world: [0, 0, -2]}}, b: {{body: load, at: [0, 0, 0]}}, stiffness: 0, tension: $pull,
         through: [{{world: [0.1, 0, 0], cylinder: {{radius: 0.1, axis: [0, 1, 0]}}, side: {{world: [0.1, 0, 1]}}}}]}}
"""


def test_a_signal_pulls_a_rope_and_its_work_is_the_energy_of_the_load(device):
    w, t = 4 * np.pi, 0.3
    columns = Runner(PULLED + "solver: {type: generalized}\n", "rk4", device)(1e-3, 300, 1)
    assert columns["frames/body_q"][-1, 0, 0, 2] == pytest.approx(-1 + 5 * (t / w - np.sin(w * t) / w**2), abs=1e-9)
    assert np.abs(columns["energy/drift"]).max() < 1e-9
    assert columns["energy/kinetic"][-1, 0] > 0.1
    for solver, integrator in (("maximal", "semi_implicit"), ("natural", "zhong06")):
        found = Runner(f"{PULLED}solver: {{type: {solver}}}\n", integrator, device)(1e-3, 300, 1)["frames/body_q"]
        assert np.abs(found - columns["frames/body_q"]).max() < 5e-3 * (0.1 if solver == "natural" else 1.0)


def scenes_of_page():
    """Those of the page on ropes, without their first lines."""
    return re.findall(r"```yaml\nsimcli: 1\n(.*?)```", (PAGES / "ropes.md").read_text(), re.DOTALL)


def test_the_scene_of_the_page_on_ropes_falls_slower_than_free(device):
    text = scenes_of_page()[0]
    columns = Runner(text, "rk4", device)(1e-3, 500, 1)
    drop = -1 - columns["frames/body_q"][-1, 0, 1, 2]
    assert 0.1 < drop < G * 0.5**2 / 2
    assert columns["frames/joint_q"][-1, 0, 0] * 0.05 == pytest.approx(drop, abs=0.01)


MUSCLES = """
<mujoco><option gravity="0 0 -9.81" timestep="1e-3"/><compiler autolimits="true"/>
<default><geom contype="0" conaffinity="0" mass="0"/><general dyntype="DYN" dynprm="0.01 0.04"
 biastype="muscle" gaintype="muscle"
 gainprm="0.75 1.05 -1 200 0.5 1.6 1.5 1.3 1.2" biasprm="0.75 1.05 -1 200 0.5 1.6 1.5 1.3 1.2"/></default><worldbody>
<site name="o1" pos="-0.25 0 0.06"/><site name="o2" pos="-0.25 0 -0.05"/>
<site name="s1" pos="0 0 0.2"/><site name="s2" pos="0 0 -0.2"/>
<geom name="cap" type="cylinder" size="0.03 0.1" zaxis="0 1 0"/>
<body name="arm"><joint name="elbow" axis="0 1 0"/><inertial pos="0.12 0 0" mass="0.6" diaginertia="0.001 0.004 0.004"/>
<site name="i1" pos="0.06 0 0.02"/><site name="i2" pos="0.05 0 -0.02"/><body name="tip" pos="0.1 0 0">
<joint name="finger" axis="0 1 0"/><inertial pos="0.02 0 0" mass="0.2" diaginertia="0.001 0.002 0.002"/>
</body></body></worldbody>
<tendon><spatial name="up"><site site="o1"/><geom geom="cap" sidesite="s1"/><site site="i1"/></spatial>
<spatial name="down"><site site="o2"/><geom geom="cap" sidesite="s2"/><site site="i2"/></spatial>
<fixed name="both"><joint joint="elbow" coef="0.02"/><joint joint="finger" coef="-0.03"/></fixed></tendon>
<actuator><general name="flexor" tendon="up" gainprm="0.75 1.05 120" biasprm="0.75 1.05 120" lengthrange="0.25 0.33"/>
<general name="extensor" tendon="down" gear="2" dynprm="0.02 0.05 0.3" lengthrange="0.47 0.64"
 gainprm="0.7 1.1 -1 300 0.4 1.7 2 1.1 1.4" biasprm="0.7 1.1 -1 300 0.4 1.7 2 1.1 1.4"/>
<general name="worm" tendon="both" gainprm="0.75 1.05 30" biasprm="0.75 1.05 30" lengthrange="-0.03 0.04"/>
<general name="pure" joint="finger" gear="-1.5" biastype="none" gainprm="0.75 1.05 2" lengthrange="-1 2"/></actuator>
<keyframe><key name="held" ctrl="1 0.3 0.6 0.1" act="0.2 0.1 0.5 0"/></keyframe></mujoco>
"""
POWERS = ("flexor", "extensor", "worm", "pure")


def muscles_of_mujoco(path, dynamics):
    """The text of a scene that is imported from a model with these dynamics, and the model."""
    text = (
        MUSCLES.replace("DYN", dynamics)
        if dynamics != "none"
        else re.sub(' act="[^"]*"', "", MUSCLES.replace("DYN", "none"))
    )
    path.write_text(text)
    return re.sub("^simcli: 1$", "", import_model(path).text, flags=re.MULTILINE), mujoco.MjModel.from_xml_string(text)


def test_forces_of_muscles_are_those_of_mujoco(device, tmp_path):
    """Over lengths, rates and activations, of tendons around a cylinder, of coordinates, with gears."""
    text, peer = muscles_of_mujoco(tmp_path / "arm.xml", "none")
    model, data, rng, n = model_of(text)[0], mujoco.MjData(peer), np.random.default_rng(3), 400
    q, qd, act = rng.uniform([-2.2, -2.5], [2.2, 2.5], (n, 2)), 4.0 * rng.normal(size=(n, 2)), rng.uniform(size=(n, 4))
    assert model.ropes.name == POWERS
    model = replace(model, n_worlds=n, ropes=replace(model.ropes, muscle_activation=act))
    algorithms = Algorithms(model, device, n)
    found = forward_dynamics(algorithms, q, qd, np.zeros((n, 2)), algorithms.external_forces(q, qd, 0.0))
    expected, curves = np.zeros((n, 2)), []
    for k in range(n):
        data.qpos[:], data.qvel[:], data.ctrl[:] = q[k], qd[k], act[k]
        mujoco.mj_forward(peer, data)
        expected[k] = data.qacc
        low, high = peer.actuator_lengthrange.T
        curves.append((data.actuator_length - low) / (high - low))
        curves.append(data.actuator_force / np.array([120, 50, 30, 2]))
    algorithms.destroy()
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())
    assert np.abs(found - expected)[np.abs(expected) < 100].max() < 1e-10 * 100
    assert np.min(curves[::2], axis=0).max() < -0.1  # all muscles are seen short, long, passive, and without a force
    assert np.max(curves[::2], axis=0).min() > 1.3
    assert (np.max(curves[1::2], axis=0) == 0).all()


@pytest.mark.parametrize(
    ("solver", "integrator"),
    [pytest.param(*one, marks=() if one == ("natural", "zhong06") else pytest.mark.full) for one in ROPE_SOLVERS],
)
def test_muscles_move_an_arm_as_in_mujoco(device, tmp_path, solver, integrator):
    """Activations are held in a step, so that errors are of first order; with equal steps ours are MuJoCo's."""
    text, peer = muscles_of_mujoco(tmp_path / "arm.xml", "muscle")
    text += "\ninitial: held\n"
    exact, off, drift = contracted(peer, 1e-4, mujoco.mjtIntegrator.mjINT_RK4), [], []
    for h in (1e-3, 5e-4):
        here = re.sub("solver: {.*}", f"solver: {{type: {solver}, dt: {h}}}", text)
        columns = Runner(here, integrator, device)(h, round(0.05 / h), 1)
        found = columns["frames/joint_q"][-1, 0, :2]
        off.append(np.abs(found - exact).max())
        drift.append(np.abs(columns["energy/drift"][-1, 0]))
        assert columns["energy/input"][-1, 0] > 0.13
        if (solver, integrator) == ("generalized", "semi_implicit"):
            assert found == pytest.approx(contracted(peer, h), abs=1e-9)
    first_order = integrator == "semi_implicit"
    assert 0.4 < off[1] / off[0] < 0.6
    assert off[1] < (5e-3 if first_order else 1.5e-4)
    assert drift[1] < (4e-3 if first_order else 2e-5)
    assert drift[1] < 0.6 * drift[0]


def contracted(peer, h, integrator=mujoco.mjtIntegrator.mjINT_EULER):
    """Coordinates of MuJoCo after 50 ms from its keyframe."""
    data = mujoco.MjData(peer)
    mujoco.mj_resetDataKeyframe(peer, data, 0)
    peer.opt.timestep, peer.opt.integrator = h, integrator
    mujoco.mj_step(peer, data, round(0.05 / h))
    return data.qpos.copy()


def test_the_arm_of_the_page_rests_before_its_muscle_is_told_to_lift_it(device):
    columns = Runner(scenes_of_page()[1], "implicit", device)(1e-3, 100, 10)
    angle = columns["frames/joint_q"][:, 0, 0]
    assert np.ptp(angle[:3]) < 0.3
    assert angle[-1] - angle[2] > 0.6
    assert columns["energy/input"][-1, 0] > 1.0  # [J], 9.81 N/kg 1.5 kg 0.12 m sin of the turn
    assert abs(columns["energy/drift"][-1, 0]) < 1e-3


@pytest.mark.parametrize(
    ("words", "code", "key"),
    [
        ("length_range: [0.4, 0.3]", "SC643", "length_range"),
        ("length_range: [0.3, 0.4], range: [1, 1]", "SC643", "range"),
        ("length_range: [0.3, 0.4], min_length: 1", "SC643", "min_length"),
        ("length_range: [0.3, 0.4], max_length: 1", "SC643", "max_length"),
        ("length_range: [0.3, 0.4], lengthening_force: 0.9", "SC643", "lengthening_force"),
        ("length_range: [0.3, 0.4], activation: {time_constant: 1, law: muscle}", "SC202", "rise"),
        ("length_range: [0.3, 0.4], activation: {time_constant: 1, smoothing: 1}", "SC207", "smoothing"),
        ("length_range: 0.3", "SC203", "length_range"),
    ],
)
def test_muscles_without_a_curve_are_refused(words, code, key):
    text = PULLED.replace("stiffness: 0, tension: $pull", f"muscle: {{force: 10, {words}}}")
    with pytest.raises(SceneError) as refused:
        model_of(text)
    (fault,) = refused.value.faults
    assert fault.code == code
    assert key in f"{fault.message} {fault.where.path}"


@pytest.mark.full
def test_an_event_and_a_world_set_a_muscle_as_the_scene_does(device):
    muscle = "muscle: {control: CONTROL, force: FORCE, length_range: [0.5, 2.5]}"
    text = (
        PULLED.replace("stiffness: 0, tension: $pull", muscle)
        + "solver: {type: generalized, dt: 1e-3}\nrun: {duration: 0.1}\n"
    )
    plain, dull = (text.replace("CONTROL", one).replace("FORCE", "90") for one in ("0.4", "0.1"))
    set_ = "forces.rope.muscle.control: 0.4"
    weak = (
        text.replace("CONTROL", "0.4").replace("FORCE", "50")
        + "batch: {worlds: 2, vary: {forces.rope.muscle.force: {list: [50, 90]}}}\n"
    )
    others = (dull + f"events: [{{at: 0, set: {{{set_}}}}}]\n", dull + f"initial: {{controls: {{{set_}}}}}\n", weak)
    found = [columns_of(blocks_of(scene(one), device))["frames/body_q"][-1, -1, 0] for one in (plain, *others, dull)]
    for one in found[1:4]:
        np.testing.assert_allclose(one, found[0], rtol=0, atol=1e-12)
    assert found[0][2] - found[4][2] > 0.04


def test_what_of_muscles_scenes_have_not_is_told(tmp_path):
    """By name. Forces and ranges of lengths that MuJoCo finds are carried."""
    actuators = """<general name="bent" tendon="up" gear="-1" lengthrange="-1 0"/>
      <general name="odd" tendon="up" biasprm="0.7 1.05" lengthrange="0 1"/>
      <general name="half" joint="elbow" gaintype="fixed" lengthrange="0 1"/>
      <muscle name="bound" joint="elbow" forcerange="-3 0" ctrlrange="0 0.5" lengthrange="-1 1"/>
      <muscle name="found" joint="stop" scale="50"/></actuator>"""
    stop = """<body pos="1 0 0"><joint name="stop" type="slide" range="-0.2 0.5" damping="40"/>
      <inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/></body></worldbody>"""
    text = MUSCLES.replace("DYN", "muscle").replace("</actuator>", actuators).replace("</worldbody>", stop)
    path = tmp_path / "arm.xml"
    path.write_text(re.sub(r"<keyframe>.*</keyframe>", "", text))
    converted = import_model(path)
    fates = {one.name: (one.fate, one.why) for one in converted.report.entries if one.kind in ("general", "muscle")}
    assert {name: why for name, (fate, why) in fates.items() if fate == "dropped"} == {
        "bent": "is a muscle that its gear lets push",
        "odd": "is a muscle whose gain and bias have different numbers",
        "half": "has the gain of a muscle and another bias, or the other way round",
    }
    lost = "without the range of its control, [0, 0.5]; without the range of its force, [-3, 0]"
    assert fates["bound"] == ("changed", f"is a rope with a muscle, which coordinates pay out; {lost}")
    muscle = resolve(scene(re.sub("^simcli: 1$", "", converted.text, flags=re.MULTILINE))).forces["found"].muscle
    assert muscle.force == pytest.approx(50 * 2.0)  # the acceleration by 1 N is 1/2 m/s^2
    peer = mujoco.MjModel.from_xml_string(path.read_text())
    assert muscle.length_range == pytest.approx(peer.actuator_lengthrange[-1], rel=1e-15)
    assert muscle.length_range == pytest.approx([-0.2, 0.5], abs=0.02)


def test_an_arm_rests_where_its_muscles_and_the_ring_hold_it(tmp_path, device, capfd):
    """Statics finds the balance: steps from there stay, and its words say how long ropes rest."""
    path = tmp_path / "arm.yaml"
    text = """
      world: {gravity: [0, 0, -9.81]}
      bodies: {arm: {mass: 1, com: [0.15, 0, 0], inertia: {diag: [0.001, 0.01, 0.01]}}}
      joints: {elbow: {type: revolute, parent: world, child: arm, axis: [0, 1, 0], at: [0, 0, 0]START}}
      forces:
        up: {type: spring, a: {world: [-0.3, 0, 0.04]}, b: {body: arm, at: [0.1, 0, 0.01]}, stiffness: 100, damping: 1,
             through: [{world: [0, 0.02, -0.05], cylinder: {radius: 0.03, axis: [0, 1, 0]}, inside: true}]}
        down: {type: spring, a: {world: [-0.2, 0, 0.3]}, b: {body: arm, at: [0.1, 0, 0]}, muscle: {control: 0.3, force: 90,
               length_range: [0.3, 0.5]}}
      solver: {type: generalized, dt: 1 ms}
"""
    path.write_text("simcli: 1\n" + textwrap.dedent(text.replace("START", "")))
    assert run_command(["equilibrium", str(path), "--json"], debug=True, as_json=True) == Exit.OK
    sets = json.loads(capfd.readouterr().out)["sets"]
    assert [one.partition("=")[0] for one in sets] == [
        "forces.up.rest_length", "forces.down.rest_length", "initial.joint_q.elbow"
    ]  # fmt: skip
    angle = float(re.search(r"elbow=([-+.e0-9]+)", sets[-1]).group(1))
    assert abs(angle) > 0.05
    length = re.search(r"=([.e0-9-]+)", sets[0]).group(1)
    text = text.replace("START", f", q: {angle!r}").replace("stiffness: 100", f"stiffness: 100, rest_length: {length}")
    columns = Runner(textwrap.dedent(text), "semi_implicit", device)(1e-3, 100, 1)
    assert columns["frames/joint_q"][-1, 0, 0] == pytest.approx(angle, abs=1e-6)


def test_ropes_and_muscles_come_back_from_mjcf(tmp_path):
    """A scene of a model, written: MuJoCo finds the same forces, and the same motion of activations, in both models."""
    text = re.sub(
        "<fixed.*</fixed>", "", MUSCLES.replace("DYN", "muscle").replace(' ctrl="1 0.3 0.6 0.1" act="0.2 0.1 0.5 0"', "")
    )
    text = re.sub('<general name="(worm|pure)"[^>]*/>', "", text).replace('pos="0 0 -0.2"', 'pos="0 0.02 0"')
    motor = '<motor name="pull" tendon="up" gear="-2"/></actuator>'
    spring = '<spatial name="up" stiffness="30" damping="2" springlength="0.29">'
    text = text.replace("</actuator>", motor).replace('<spatial name="up">', spring)
    path = tmp_path / "arm.xml"
    path.write_text(text)
    (tmp_path / "arm.yaml").write_text(import_model(path).text.replace("tension: 0", "tension: 1"))  # which then is written
    document = load_scene(tmp_path / "arm.yaml")
    written = export_scene(document, resolve(document), ".xml")
    assert not [one for one in written.report.entries if one.fate == "dropped"]
    one, other = (mujoco.MjModel.from_xml_string(xml) for xml in (text, written.text))
    names = ["flexor_muscle", "extensor_muscle", "pull_pull"]
    at = [mujoco.mj_name2id(other, mujoco.mjtObj.mjOBJ_ACTUATOR, name) for name in names]
    assert min(at) >= 0
    rng = np.random.default_rng(9)
    for _ in range(40):
        first, second = mujoco.MjData(one), mujoco.MjData(other)
        first.qpos[:], first.qvel[:], first.act[:] = rng.uniform(-2, 2, 2), rng.normal(size=2), rng.uniform(size=2)
        second.qpos[:], second.qvel[:] = first.qpos, first.qvel
        second.act[[other.actuator_actadr[a] for a in at[:2]]] = first.act
        first.ctrl[:] = rng.uniform(size=3)
        second.ctrl[at] = first.ctrl * [1, 1, 2]
        mujoco.mj_step(one, first)
        mujoco.mj_step(other, second)
        np.testing.assert_allclose(second.qvel, first.qvel, atol=1e-9 * max(1.0, np.abs(first.qacc).max()))
        np.testing.assert_allclose(second.act[[other.actuator_actadr[a] for a in at[:2]]], first.act, atol=1e-12)
