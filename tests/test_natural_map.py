"""How far contacts are from their law: by hand, by the device on runs of ours, and MuJoCo's model of a scene of ours."""


import numpy as np
import pytest
import yaml
from benchmarks.contact_peers import mujoco_natural_map, states_of, touching_mjcf
from support.device import live_device

from simcli import pipeline
from simcli.analysis.natural_map import natural_map
from simcli.cli.bench import contact as bench_contact
from simcli.model.tree.reference import body_poses, body_twists
from simcli.solvers import SOLVERS
from simcli.solvers.shared.contacts.stated import stated_contacts
from simcli.solvers.shared.host.plan import RunPlan

MASS, MU, FAST = 2.0, 0.5, 3.0  # kg, 1, m/s
PUSH = 0.1  # [N s]
ROUNDING = 1e-12  # [m/s, m] of numbers near 1
HUMANOID = bench_contact.HUMANOID
SHAKEN = 1e-3  # [m/s]
SOFT = 1e-4  # [m/s]: contacts of MuJoCo yield by more
STEPS = 150
SCENE = """
simcli: 1
materials: {wood: {friction: 0.4, density: 1000, combine: {friction: max}}}
world: {shapes: {ground: {type: plane, material: wood}}}
bodies:
  log:
    pose: {xyz: [0, 0, 0.13], rpy: [0.2, 1.4, 0.3]}
    velocity: {linear: [0.3, 0, 0], angular: [0, 0, 1]}
    shapes: {bark: {type: capsule, radius: 0.1, length: 0.4, material: wood}}
  ball:
    pose: {xyz: [-0.6, 0.02, 0.0999]}
    velocity: {linear: [3, 0, 0]}
    shapes: {skin: {type: sphere, radius: 0.1, material: wood}}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.2}
batch: {vary: {"bodies.log.pose.xyz[2]": {grid: [0.11, 0.12, 0.13, 0.14]}}}
"""
# Velocity and impulse, each (normal, two tangents), of a free mass, and what the law lacks; by hand.
CASES = {
    "rests": ((0, 0, 0), (PUSH, MU * PUSH / 2, 0), 0.0),
    "slides": ((0, FAST, 0), (PUSH, -MU * PUSH, 0), 0.0),
    "leaves": ((FAST, 1, 0), (0, 0, 0), 0.0),
    "falls": ((-FAST, 0, 0), (0, 0, 0), FAST),
    "pulls": ((0, 0, 0), (-PUSH, 0, 0), PUSH / MASS),
    "holds": ((FAST, 0, 0), (PUSH, 0, 0), PUSH / MASS),
}


@pytest.mark.parametrize("case", CASES)
def test_a_free_mass(case):
    speed, impulse, wanted = (np.array(a, float) for a in CASES[case])
    (found,) = natural_map(np.eye(3)[None], MASS * np.eye(3), speed, impulse[None], np.zeros((1, 3)), np.array([MU]))
    assert found == pytest.approx(wanted, abs=ROUNDING)


def test_biases_count_as_speeds():
    rng = np.random.default_rng(0)
    J, v, x, mu = rng.normal(size=(4, 3, 6)), rng.normal(size=6), rng.normal(size=(4, 3)), rng.uniform(0, 1, 4)
    found = natural_map(J, np.eye(6), v, x, np.zeros((4, 3)), mu)
    assert natural_map(J, np.eye(6), 0 * v, x, J @ v, mu) == pytest.approx(found, abs=ROUNDING)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log that falls and a ball that rolls into it."""
    path = tmp_path_factory.mktemp("log") / "log.yaml"
    path.write_text(SCENE)
    document, spec = pipeline.read_scene(path)
    return pipeline.build_model(document, spec, None), spec


@pytest.mark.slow
@pytest.mark.parametrize("linear", ["dense", "sparse"])
def test_the_device_says_the_same_of_every_step(log, linear):
    model, spec = log
    device, contact = live_device(), spec.solver.contact.model_copy(update={"linear": linear})
    options = spec.solver.model_copy(update={"contact": contact})
    solver = SOLVERS["generalized"](model, options, RunPlan(spec.solver.dt, 1, STEPS, frozenset(("joints",))), device)
    solver.initial()
    most = 0
    for _ in range(STEPS):
        said = solver.advance(1).columns["diag/residual"][0]
        worlds = stated_contacts(solver)
        most = max(most, len(worlds[0][0]))
        assert [natural_map(*world).max(initial=0.0) for world in worlds] == pytest.approx(said.tolist(), abs=ROUNDING)
    assert most == 3
    J, M, v, x, b, mu = worlds[0]
    assert natural_map(J, M, v + SHAKEN, x, b, mu).max() > SHAKEN / 10


def test_mujoco_stands_where_the_humanoid_does():
    """Places and velocities of all bodies, masses and inertias: every frame, axis and unit of the other format."""
    mujoco = pytest.importorskip("mujoco")
    document, spec = pipeline.read_scene(HUMANOID)
    model = pipeline.build_model(document, spec)
    rng = np.random.default_rng(1)
    q, qd = model.joint_q + rng.uniform(-0.3, 0.3, model.joint_q.shape), rng.uniform(-1, 1, model.joint_qd.shape)
    q[:, -4:] /= np.linalg.norm(q[:, -4:])
    object.__setattr__(model, "joint_q", q)
    object.__setattr__(model, "joint_qd", qd)
    peer = mujoco.MjModel.from_xml_string(touching_mjcf(model, spec.solver.dt))
    data, state = mujoco.MjData(peer), states_of(peer, model, mujoco)[0]
    data.qpos[:], data.qvel[:] = state[1 : 1 + peer.nq], state[1 + peer.nq :]
    mujoco.mj_forward(peer, data)
    (turn, at), (speed, spin) = body_poses(model, q), body_twists(model, q, qd)
    found = np.zeros(6)
    for b in range(model.n_bodies):
        other = mujoco.mj_name2id(peer, mujoco.mjtObj.mjOBJ_BODY, f"b{b}")
        assert data.xpos[other] == pytest.approx(at[b, 0], abs=ROUNDING)
        assert data.xmat[other].reshape(3, 3) == pytest.approx(turn[b, 0], abs=ROUNDING)
        mujoco.mj_objectVelocity(peer, data, mujoco.mjtObj.mjOBJ_XBODY, other, found, 0)
        assert found[:3] == pytest.approx(spin[b, 0], abs=ROUNDING)
        offset = turn[b, 0] @ model.bodies.com[0, b]
        assert found[3:] + np.cross(spin[b, 0], offset) == pytest.approx(speed[b, 0], abs=ROUNDING)
        assert peer.body_mass[other] == pytest.approx(model.bodies.mass[0, b], rel=ROUNDING)


@pytest.mark.slow
def test_mujoco_yields_where_it_touches(log):
    pytest.importorskip("mujoco")
    model, spec = log
    assert model.contacts.friction.min() == 0.4
    found = mujoco_natural_map(model, spec.solver.dt, STEPS, 1)
    assert (found == 0.0).sum() > 1
    assert found.max() > SOFT


def test_the_scene_of_stacks_is_a_scene(tmp_path):
    from simcli.cli.bench.contact import stacks

    path = stacks(tmp_path)
    assert len(yaml.safe_load(path.read_text())["bodies"]) == 5
    document, spec = pipeline.read_scene(path)
    assert pipeline.build_model(document, spec).n_bodies == 5
