"""Compensation of gravity: falls in closed form, MuJoCo's accelerations, the ledger, events, worlds, words."""

from typing import get_args

import numpy as np
import pytest
from support.forward import Runner, model_of
from support.scenes import faults_of

from simcli.model.phases.stretches import build_phases
from simcli.pipeline import read_scene
from simcli.spec.schema.scene import AffineSolver, GeneralizedSolver, MaximalSolver, NaturalSolver

G = 9.81
RUNS = [(get_args(spec.model_fields["type"].annotation)[0], integrator)
        for spec in (GeneralizedSolver, MaximalSolver, NaturalSolver, AffineSolver)
        for integrator in get_args(spec.model_fields["integrator"].annotation) if integrator != "auto"]  # fmt: skip
QUICK = (("generalized", "implicit"), ("natural", "zhong06"), ("natural", "generalized_alpha"), ("affine", "bdf2"))
every_run = pytest.mark.parametrize(
    ("solver", "integrator"), [run if run in QUICK else pytest.param(*run, marks=pytest.mark.slow) for run in RUNS])
FACTORS, SPAN, SPEED = (1.0, 0.4, 1.5), 0.2, np.array([0.3, 0.2, 0.1])
ROUND, FIRST, YIELDING = 1e-9, 3e-2, 1e-4  # [m, J]: steps of first order are off by g h t / 2
# Free bodies, and two links whose factors differ: their centres of mass stand beside their frames.
SCENE = """
world: {gravity: [1, 0, -9.81]}
params: {F: 1}
bodies:
  free: {mass: 2, com: [0.1, 0, 0.2], inertia: {diag: [0.1, 0.1, 0.1]}, velocity: {linear: [0.3, 0.2, 0.1]},
         gravity_compensation: '${F}'}
  upper: {mass: 1.5, com: [0.3, 0.05, 0], inertia: {diag: [0.1, 0.2, 0.3]}, pose: {xyz: [0, 2, 0]},
          gravity_compensation: 0.7}
  lower: {mass: 1, com: [0.2, 0, 0.1], inertia: {diag: [0.1, 0.12, 0.15]}, pose: {xyz: [0.6, 2, 0]}}
joints:
  a: {type: revolute, parent: world, child: upper, at: [0, 2, 0], axis: [0, 1, 0], qd: 0.5}
  b: {type: revolute, parent: upper, child: lower, at: [0.6, 2, 0], axis: [0, 1, 0], qd: -1}
batch: {worlds: 3, vary: {params.F: {list: [1, 0.4, 1.5]}}}
"""
MJCF = """<mujoco><option gravity="1 0 -9.81" timestep="1e-3"/><compiler angle="radian"/><worldbody>
<body gravcomp="0.7"><inertial pos="0.3 0.05 0" mass="1.5" diaginertia="0.1 0.2 0.3"/><joint axis="0 1 0"/>
<body pos="0.6 0 0"><inertial pos="0.2 0 0.1" mass="1" diaginertia="0.1 0.12 0.15"/><joint axis="0 1 0"/></body></body>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def judge():
    """MuJoCo's accelerations of the two links at the start."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    data.qvel[:] = [0.5, -1]
    mujoco.mj_forward(model, data)
    return data.qacc.copy()


@every_run
def test_falls_and_accelerations_in_every_solver(device, judge, solver, integrator):
    run = Runner(f"{SCENE}solver: {{type: {solver}}}\n", integrator, device,
                 frozenset(("bodies", "joints", "energy", "body_qdd")))  # fmt: skip
    first = integrator in ("semi_implicit", "bdf1")
    at = run.model.bodies.name.index("free")
    drifts = []
    for n in (50, 100):
        found = run(SPAN / n, n, 1)
        drifts.append(np.abs(found["energy/drift"]).max())
    for w, factor in enumerate(FACTORS):
        way = found["frames/body_q"][-1, w, at, :3] - found["frames/body_q"][0, w, at, :3]
        expected = SPEED * SPAN + 0.5 * (1 - factor) * np.array([1, 0, -G]) * SPAN**2
        np.testing.assert_allclose(way, expected, atol=FIRST if first else YIELDING if solver == "affine" else ROUND)
    assert drifts[1] < 0.6 * drifts[0] or drifts[1] < ROUND
    if solver != "affine":  # whose bodies yield in the instant of the start
        step, tolerance = (1e-4, 1e-4) if solver == "maximal" else (1e-6, ROUND)
        links = np.array([run.model.bodies.name.index(name) for name in ("upper", "lower")])
        short, long = (run(h, 1, 1)["frames/body_qdd"][0][:, links, 4] for h in (step, 2 * step))
        spin = 2 * short - long
        np.testing.assert_allclose(np.diff(spin, prepend=0.0), np.broadcast_to(judge, spin.shape), rtol=tolerance)
    start = found["energy/potential"][0]
    held = [1 - factor for factor in FACTORS]
    own = -2.0 * (np.array([0.1, 0, 0.2]) @ [1, 0, -G])
    np.testing.assert_allclose(start - start[0], own * (np.array(held) - held[0]), atol=ROUND)


def test_events_and_worlds_change_it(tmp_path):
    text = SCENE + "events: [{at: 0.1, set: {bodies.upper.gravity_compensation: 1}}]\nrun: {duration: 0.2}\n"
    (tmp_path / "s.yaml").write_text("simcli: 1\n" + text)
    first, later = (phase.model.bodies.gravity_compensation for phase in build_phases(*read_scene(tmp_path / "s.yaml")))
    np.testing.assert_array_equal(first[:, 0], FACTORS)
    np.testing.assert_array_equal(first[:, 1], 0.7)
    np.testing.assert_array_equal(later[:, 1], 1.0)


def test_an_arm_whose_weight_is_held_up_rests_where_it_is(device):
    """With one factor for all: statics find no load, so that the motion is that without gravity."""
    text = SCENE.replace("gravity_compensation: 0.7", "gravity_compensation: 1").replace(
        "0.15]}, pose", "0.15]}, gravity_compensation: 1, pose").replace("qd: 0.5", "qd: 0").replace("qd: -1", "qd: 0")
    assert (model_of(text)[0].bodies.gravity_compensation[0] == 1).all()
    found = Runner(text + "solver: {type: generalized}\n", "implicit", device)(1e-3, 100, 1)
    np.testing.assert_allclose(found["frames/body_qd"][-1, 0, 1:], 0.0, atol=1e-12)
    np.testing.assert_allclose(found["energy/potential"][:, 0], 0.0, atol=1e-12)


@pytest.mark.parametrize(("value", "code"), [("yes", "SC203"), ("1 N", "SC213"), ("[1, 2]", "SC203")])
def test_wrong_words_are_told(value, code):
    text = f"bodies: {{b: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, gravity_compensation: {value}}}}}\n"
    (found,) = faults_of(text)
    assert found[:2] == (code, 0)
