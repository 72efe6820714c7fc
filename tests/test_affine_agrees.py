"""Affine bodies against the other solvers: hard as stiffness grows, the same motion as steps shrink; their promises."""

import numpy as np
import pytest
from support.forward import CHANNELS
from support.many import run_many
from support.scenes import scene
from test_affine_steps import Run

import simcli as package
from simcli.model.phases.stretches import build_phases
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import resolve

SLOPE = 0.02  # of what stiffness leaves: its square is a hundredth
RATIO = 0.5  # of errors over a halving, about the order's power: the soft modes leave some

# Worlds 0 to 3: joints ten times stiffer each; 4 to 7: bodies; 8 as 0.
STIFF = """
params: {gamma: 100, kappa: 1e12}
batch:
  worlds: 9
  vary:
    params.gamma: {list: [1e1, 1e2, 1e3, 1e4, 1e5, 1e5, 1e5, 1e5, 1e1]}
    params.kappa: {list: [1e12, 1e12, 1e12, 1e12, 1e7, 1e8, 1e9, 1e10, 1e12]}
defaults:
  body: {mass: 1, inertia: {diag: [0.1, 0.2, 0.25]}, affine: {stiffness: "${kappa}"}}
  joint: {strength_ratio: "${gamma}"}
bodies:
  upper: {com: [0.5, 0, 0]}
  lower: {pose: {xyz: [1, 0, 0]}, com: [0.4, 0.1, 0]}
joints:
  pin: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 1, 0]}
  elbow: {type: ball, parent: upper, child: lower, at: [1, 0, 0], qd: [0.5, 1, 2]}
solver: {type: affine, integrator: bdf1, dt: 0.005, tolerance: 1e-11}
run: {duration: 0.2}
"""


def test_soft_becomes_hard_as_one_over_the_stiffness(device):
    run = Run(STIFF, device, 40, ("bodies",))
    assert not run.columns["diag/status"].any()
    place = run.columns["frames/body_q"][-1, :, 1, :3]
    for first in (0, 4):
        gaps = [np.linalg.norm(place[first + k + 1] - place[first + k]) for k in range(3)]
        slopes = -np.diff(np.log10(gaps))
        assert gaps[0] > 1e-5
        assert slopes == pytest.approx([1.0, 1.0], abs=SLOPE)
    np.testing.assert_array_equal(*(run.columns["frames/body_q"][:, world] for world in (0, 8)))  # in packs of other lanes


MECHANISMS = """
world: {gravity: [0, 0, -9.81]}
defaults: {body: {mass: 1, inertia: {diag: [0.1, 0.2, 0.25]}}}
bodies:
  upper: {com: [0.5, 0, 0]}
  lower: {pose: {xyz: [1, 0, 0]}, com: [0.4, 0.1, 0]}
  cart: {pose: {xyz: [0, 10, 0]}, points: {hook: [0, 0, 0]}}
  bob: {pose: {xyz: [0, 10, -1]}, inertia: {diag: [0.03, 0.02, 0.01]}}
joints:
  shoulder: {type: universal, parent: world, child: upper, at: [0, 0, 0], q: [0.3, 0.2],
             axes: {angular: [[0, 1, 0], [0, 0, 1]]}}
  elbow: {type: ball, parent: upper, child: lower, at: [1, 0, 0], qd: [0.5, 1, 2]}
  rail: {type: prismatic, parent: world, child: cart, at: [0, 10, 0], axis: [1, 0, 0], q: 0.1}
  pin: {type: revolute, parent: cart, child: bob, at: [0, 10, 0], axis: [0, 1, 0], q: 0.7, damping: 0.2}
forces:
  s: {type: spring, a: {world: [-1, 10, 0]}, b: cart/hook, stiffness: 30, damping: 0.5, rest_length: 1}
run: {duration: 0.4}
"""
# Closed before the start by the generalized solver, which compiles it too.
LOOPS = MECHANISMS.replace("joints:", """\
  crank: {pose: {xyz: [0.5, 5, 0]}}
  coupler: {pose: {xyz: [1, 5, 1]}}
  rocker: {pose: {xyz: [2.5, 5, 1]}, mass: 2, inertia: {diag: [0.9, 0.9, 0.9]}}
  hanger: {pose: {xyz: [0.6, 35, -0.8]}}
joints:
  A: {type: revolute, parent: world, child: crank, at: [0, 5, 0], axis: [0, 1, 0]}
  B: {type: revolute, parent: crank, child: coupler, at: [1, 5, 0], axis: [0, 1, 0]}
  C: {type: revolute, parent: coupler, child: rocker, at: [1, 5, 2], axis: [0, 1, 0]}
  D: {type: revolute, parent: world, child: rocker, at: [4, 5, 0], axis: [0, 1, 0]}
  rope: {type: distance, parent: world, child: hanger, parent_frame: {xyz: [0, 35, 0]}, length: 1}""")
T, FRAMES = 0.4, 4
ERRORS = {"bdf1": 4e-3, "bdf2": 2e-4}  # [m] at 2 ms
ORDERS = {"bdf1": 1, "bdf2": 2}


class Ends:
    """Columns at the end of a run, and of the frames before it."""

    def __init__(self, text, device, solver, dt):
        document = scene(f"{text}solver: {{{solver}, dt: {dt}}}\n")
        spec = resolve(document)
        model, steps = build_phases(document, spec)[0].model, round(T / dt / FRAMES)
        plan = RunPlan(dt, steps, FRAMES, CHANNELS | {"reactions"})
        self.solver, self.steps = SOLVERS[spec.solver.type](model, spec.solver, plan, device), steps
        self.solver.initial()
        self.frames = self.solver.advance(FRAMES).columns
        self.last = {name: column[-1, 0] for name, column in self.frames.items()}


def affine(integrator):
    return f"type: affine, integrator: {integrator}, stiffness: 1e11, tolerance: 1e-10"


@pytest.fixture(scope="module")
def ends():
    from support.device import live_device

    return {name: Ends(MECHANISMS, live_device(), solver, dt) for name, solver, dt in (
        ("reference", "type: generalized, integrator: rk4", 1e-3), ("bdf2", affine("bdf2"), 2e-3))}  # fmt: skip


def agree(one, reference, error):
    np.testing.assert_allclose(one["frames/body_q"][:, :3], reference["frames/body_q"][:, :3], atol=error)
    np.testing.assert_allclose(one["frames/joint_q"], reference["frames/joint_q"], atol=2.0 * error)


def test_small_steps_give_the_motion_of_generalized_coordinates(ends):
    one, reference = ends["bdf2"].last, ends["reference"].last
    agree(one, reference, ERRORS["bdf2"])
    wrench = [side["frames/joint_wrench"] for side in (one, reference)]
    np.testing.assert_allclose(*wrench, atol=50.0 * ERRORS["bdf2"])
    assert np.abs(wrench[1]).max() > 10.0
    change = [side["frames/joint_qdd"] for side in (one, reference)]
    np.testing.assert_allclose(*change, atol=50.0 * ERRORS["bdf2"])
    assert np.abs(change[1]).max() > 5.0


def test_energy_is_accounted_for_but_for_what_the_formula_takes(ends):
    one, reference = ends["bdf2"].last, ends["reference"].last
    assert one["energy/dissipated"] == pytest.approx(reference["energy/dissipated"], rel=2e-3)
    assert one["energy/dissipated"] > 0.1
    assert abs(one["energy/drift"]) < 0.01
    lost = [one[f"energy/{name}"] - reference[f"energy/{name}"] for name in ("total", "dissipated")]
    assert one["energy/drift"] == pytest.approx(sum(lost), abs=1e-3)


def test_a_restored_state_goes_on_to_the_same_bits(ends):
    run = ends["bdf2"]
    kept = run.solver.state_arrays()
    there = run.solver.advance(2).columns
    run.solver.restore(kept, FRAMES * run.steps)
    again = run.solver.advance(2).columns
    for name, column in there.items():
        np.testing.assert_array_equal(column, again[name], err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", list(ORDERS))
def test_errors_are_of_the_order_of_the_integrator_in_loops_too(device, integrator):
    """Drift goes with the same power of the step."""
    reference = Ends(LOOPS, device, "type: generalized, integrator: rk4", 1e-3).last
    wide, narrow = (Ends(LOOPS, device, affine(integrator), dt).last for dt in (4e-3, 2e-3))
    poses = [one["frames/body_q"] for one in (wide, narrow, reference)]
    gaps = [np.linalg.norm((one - poses[2])[:, :3], axis=1) for one in poses[:2]]
    agree(narrow, reference, ERRORS[integrator])
    power = 2 ** ORDERS[integrator]
    assert gaps[0].max() / gaps[1].max() == pytest.approx(power, rel=RATIO)
    assert wide["energy/drift"] / narrow["energy/drift"] == pytest.approx(power, rel=0.1)


@pytest.mark.slow
def test_a_world_alone_has_the_bits_of_its_batch(tmp_path):
    path = tmp_path / "stiff.yaml"
    path.write_text("simcli: 1\n" + STIFF)
    one = ["run", path, "--device", "cpu", "-q", "-o"]
    for code, talk in run_many([[*one, "all.h5"], [*one, "two.h5", "--world", "2"]], tmp_path):
        assert code == 0, talk
    with package.open(tmp_path / "all.h5") as batch, package.open(tmp_path / "two.h5") as alone:
        np.testing.assert_array_equal(batch.body("lower").position[:, 2], alone.body("lower").position[:, 0])


@pytest.mark.slow
def test_a_step_that_does_not_converge_ends_its_world(device):
    run = Run(STIFF.replace("1e-11}", "1e-11, max_iterations: 2}"), device, 3, ("bodies",))
    assert run.columns["diag/status"][-1].all()
    assert {event.code for event in run.events} == {"SC610"}
    assert len(run.events) == 9
    assert "did not converge" in run.events[0].text
