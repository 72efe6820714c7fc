"""Bushings: closed forms of statics and small motions, energy, momentum, all solvers, wrong words, templates."""

import shutil

import h5py
import numpy as np
import pytest
from support.forward import Runner, model_of, slope
from support.runs import SWING
from support.scenes import scene

import simcli
from simcli import rotations as rot
from simcli.analysis.rest.equilibrium import search_equilibrium
from simcli.analysis.rest.modes import Study
from simcli.analysis.rest.statics import Statics
from simcli.cli.process import run_command
from simcli.errors import SceneError
from simcli.kernels.device.runtime import live_device
from simcli.solvers import SOLVERS
from simcli.spec.schema.forces import BushingForce

G = 9.81
STIFFNESS, TURNING = np.array([900.0, 400.0, 250.0]), np.array([18.0, 8.0, 5.0])
MASS, INERTIA = 2.0, np.array([0.05, 0.06, 0.08])
EXACT = 1e-9  # of frequencies by differences of order six

ON_WORLD = """
world: {gravity: [0, 0, GRAVITY]}
bodies:
  m: {mass: 2, inertia: {diag: [0.05, 0.06, 0.08]}, pose: {xyz: [0.3, 0.1, 1], rpy: [0, 0, 0.7]}}
forces:
  mount: {type: bushing, a: {world: [0.1, 0, 0]}, b: {body: m, at: [0, 0, 0]}, axes: {rpy: [0, 0, 0.7]},
          stiffness: [900, 400, 250], angular_stiffness: [18, 8, 5]MORE}
"""
# Two free bodies, an end away from both centres of mass, axes that turn with the first body.
PAIR = """
world: {gravity: [0, 0, 0]}
bodies:
  a: {mass: 1.5, com: [0.1, 0.05, -0.02], inertia: {diag: [0.2, 0.3, 0.4]}, pose: {rpy: [0.3, 0.1, -0.4]},
      velocity: {linear: [0.2, -0.1, 0.4], angular: [1.0, 2.0, -1.5]}}
  b: {mass: 0.7, com: [-0.1, 0.02, 0.1], inertia: {diag: [0.1, 0.15, 0.12]}, pose: {xyz: [0.6, 0.1, 0.2], rpy: [1, 0, 0.2]},
      velocity: {linear: [-0.3, 0.6, 0.1], angular: [-2.0, 0.5, 1.0]}}
forces:
  mount: {type: bushing, a: {body: a, at: [0.3, 0, 0.1]}, b: {body: b, at: [-0.2, 0.1, 0]}, axes: {rpy: [0.4, -0.2, 0.9]},
          stiffness: [90, 40, 25], angular_stiffness: [6, 3, 2], preload: [1, -2, 3], angular_preload: [0.2, 0.1, -0.3]MORE}
"""


def on_world(more="", gravity=0.0):
    return ON_WORLD.replace("MORE", more).replace("GRAVITY", str(gravity))


def study_of(text):
    statics = Statics(model_of(text)[0], live_device())
    found = search_equilibrium(statics, False)
    return found, [mode.eigenvalue for mode in Study(statics.model, statics, live_device(), found, []).modes]


def test_frequencies_are_those_of_the_six_axes(device):
    """K / m along the axes, which the body shares, and L / I about them."""
    found = np.sort(np.abs(np.imag(study_of(on_world())[1])))
    expected = np.sort(np.sqrt(np.concatenate((STIFFNESS / MASS, TURNING / INERTIA))))
    np.testing.assert_allclose(found, expected, rtol=EXACT)


def test_damping_is_that_of_each_axis(device):
    """s^2 m + s c + k = 0."""
    text = on_world(", damping: [3, 2, 1], angular_damping: [0.02, 0.03, 0.04]")
    found = np.array(study_of(text)[1])
    for inertia, c, k in zip([MASS] * 3 + list(INERTIA), [3, 2, 1, 0.02, 0.03, 0.04], [*STIFFNESS, *TURNING], strict=True):
        roots = np.roots([inertia, c, k])
        assert min(abs(found - root)[np.newaxis].min() for root in roots) < EXACT * abs(roots[0])


def test_a_weight_sinks_by_its_compliance(device):
    found, _ = study_of(on_world(gravity=-G))
    sunk = found.posture.q[2] if hasattr(found.posture, "q") else found.posture.joint_q[2]
    assert sunk == pytest.approx(1.0 - MASS * G / STIFFNESS[2], abs=1e-12)


def states(columns):
    return {name: columns[f"frames/{name}"][:, 0] for name in ("body_q", "body_qd")}


def momenta(found):
    """Momentum and angular momentum about the world's origin, (F, 6), of the two bodies of PAIR."""
    mass = np.array([1.5, 0.7])
    com = np.array([[0.1, 0.05, -0.02], [-0.1, 0.02, 0.1]])
    inertia = np.array([np.diag([0.2, 0.3, 0.4]), np.diag([0.1, 0.15, 0.12])])
    pose, twist = found["body_q"], found["body_qd"]
    R = rot.quat_to_matrix(pose[..., 3:])
    x = pose[..., :3] + rot.turn(R, com)
    p = mass[:, None] * twist[..., :3]
    spin = rot.turn(R @ inertia @ rot.transpose(R), twist[..., 3:])
    return np.concatenate((p.sum(axis=1), (np.cross(x, p) + spin).sum(axis=1)), axis=-1)


@pytest.mark.parametrize("damped", [False, True])
def test_nothing_is_lost(device, damped):
    """Energy, by a force that is the gradient of what is stored; momentum and angular momentum, with dampers, too."""
    more = ", damping: [2, 1, 0.5], angular_damping: [0.1, 0.2, 0.3]" if damped else ""
    run = Runner(PAIR.replace("MORE", more), "rk4", device)
    coarse, fine = run(8e-3, 10, 5), run(4e-3, 20, 5)
    drifts = [np.abs(one["energy/drift"]).max() for one in (coarse, fine)]
    assert drifts[1] < 1e-6
    assert drifts[0] / drifts[1] > 12.0  # of fourth order
    kept = momenta(states(fine))
    np.testing.assert_allclose(kept, np.broadcast_to(kept[0], kept.shape), atol=1e-9)
    assert np.abs(fine["frames/body_qd"][-1] - fine["frames/body_qd"][0]).max() > 0.5


@pytest.mark.parametrize("integrator", ["zhong06", "generalized_alpha"])
def test_dampers_keep_the_order_of_natural_steps(device, integrator):
    """Two, by the mean of the forces at both velocities of a step, or by rounds at its end; work closes the ledger."""
    text = PAIR.replace("MORE", ", damping: [2, 1, 0.5], angular_damping: [0.1, 0.2, 0.3]")
    expected = Runner(text, "rk4", device)(1e-3, 200, 1)["frames/body_q"][-1]
    run = Runner(f"{text}solver: {{type: natural}}\n", integrator, device)
    steps = np.array([4e-3, 2e-3, 1e-3])
    found = [run(h, round(0.2 / h), 1) for h in steps]
    errors = [np.abs(one["frames/body_q"][-1] - expected).max() for one in found]
    assert slope(steps, errors) > 1.8
    assert errors[-1] < 1e-4
    drifts = [np.abs(one["energy/drift"]).max() for one in found]
    assert slope(steps, drifts) > 1.6
    assert drifts[-1] < 1e-4


def test_preload_is_what_it_gives_at_rest(device):
    """The weight, along tilted axes: nothing moves."""
    axes = rot.quat_to_matrix(rot.quat_from_rpy(np.array([0.0, 0.0, 0.7])))
    preload = axes.T @ [0.0, 0.0, MASS * G]
    found = Runner(on_world(f", preload: {preload.tolist()}", -G), "rk4", device)(1e-3, 100, 2)
    np.testing.assert_allclose(found["frames/body_qd"], 0.0, atol=1e-12)


@pytest.mark.parametrize("solver", sorted(BushingForce.SOLVERS - {"generalized"}))
def test_solvers_agree(device, solver):
    """With steps of first or second order, by their rate of convergence to those of fourth."""
    exact = states(Runner(PAIR.replace("MORE", ""), "rk4", device)(1e-3, 100, 1))["body_q"][-1]
    integrator = {"maximal": "semi_implicit", "natural": "zhong06"}[solver]
    run = Runner(PAIR.replace("MORE", "") + f"solver: {{type: {solver}}}\n", integrator, device)
    errors = [np.abs(states(run(dt, round(0.1 / dt), 1))["body_q"][-1] - exact).max() for dt in (1e-3, 5e-4)]
    order = {"maximal": 1, "natural": 2}[solver]
    assert errors[0] < {1: 5e-3, 2: 2e-4}[order]
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.15)


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        ("{type: affine}", "the affine solver does not support a force of type `bushing`"),
    ],
)
def test_who_does_not_support_it_says_so(solver, words):
    with pytest.raises(SceneError) as refused:
        model_of(on_world() + f"solver: {solver}\n")
    fault = next(fault for fault in refused.value.faults if words in fault.message)
    assert (fault.code, fault.where.path) == ("SC501", "forces.mount.type")


@pytest.mark.parametrize(
    ("wrong", "code", "path"),
    [
        ("stiffness: [900, 400]", "SC205", "stiffness"),
        ("stiffness: -1", "SC231", "stiffness"),
        ("stiffness: 3 N", "SC213", "stiffness"),
        ("axes: {xyz: [1, 0, 0]}", "SC207", "axes.xyz"),
        ("a: {body: world, at: [0, 0, 0]}", "SC304", "a"),
        ("b: {body: n, at: [0, 0, 0]}", "SC304", "b.body"),
    ],
)
def test_wrong_words_are_told_where_they_stand(wrong, code, path):
    key = wrong.partition(":")[0]
    parts = {"a": "{world: [0, 0, 0]}", "b": "{body: m, at: [0, 0, 0]}", key: wrong.partition(": ")[2]}
    force = ", ".join(f"{name}: {value}" for name, value in parts.items())
    text = f"bodies: {{m: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}}}\nforces: {{mount: {{type: bushing, {force}}}}}\n"
    with pytest.raises(SceneError) as refused:
        model_of(text)
    assert (code, f"forces.mount.{path}") in [(fault.code, fault.where.path) for fault in refused.value.faults]


def test_an_instance_turns_the_axes_of_its_mounts_on_the_world(device):
    """The motion of a model that stands elsewhere is the same, turned."""
    part = """
models:
  part:
    bodies:
      m: {mass: 2, inertia: {diag: [0.05, 0.06, 0.08]}, velocity: {linear: [0.3, 0.2, 0.1], angular: [1, 2, 3]}}
    forces:
      mount: {type: bushing, a: {world: [0.1, 0, 0]}, b: {body: m, at: [0.1, 0.2, 0]}, stiffness: [900, 400, 250],
              angular_stiffness: [18, 8, 5]}
instances:
  one: {model: part}
  two: {model: part, at: {xyz: [1, 2, 3], rpy: [0.5, -0.3, 1.1]}}
world: {gravity: [0, 0, 0]}
"""
    run = Runner(part, "rk4", device)
    if not np.allclose(run.model.joint_qd[0, 6:9], run.model.joint_qd[0, :3]):
        found = states(run(1e-3, 100, 1))["body_q"][-1]
        placed = np.concatenate(([1.0, 2.0, 3.0], rot.quat_from_rpy(np.array([0.5, -0.3, 1.1]))))
        moved = rot.pose_compose(placed, found[0])
        np.testing.assert_allclose(rot.pose_distance(moved, found[1]), 0.0, atol=1e-10)
    np.testing.assert_allclose(run.model.bushings.axes[0, 1], rot.quat_from_rpy(np.array([0.5, -0.3, 1.1])), atol=1e-15)


def test_all_solvers_say_whether_they_support_it():
    assert set(SOLVERS) >= BushingForce.SOLVERS
    assert scene(on_world())


def test_files_of_before_have_none(tmp_path):
    """What a version without bushings wrote is opened, and says that there is none."""
    (tmp_path / "s.yaml").write_text(SWING)
    scene_path, new_path, old_path = (str(tmp_path / name) for name in ("s.yaml", "a.h5", "old.h5"))
    assert run_command(["run", scene_path, "-o", new_path, "-q"], debug=False, as_json=False) == 0
    shutil.copy(tmp_path / "a.h5", tmp_path / "old.h5")
    with h5py.File(tmp_path / "old.h5", "r+") as file:
        for name in [name for name in file["model"] if name.startswith("bushing")]:
            del file["model"][name]
    with simcli.open(tmp_path / "old.h5") as old, simcli.open(tmp_path / "a.h5") as new:
        assert {name: np.shape(array) for name, array in old.model.items()} == {
            name: np.shape(array) for name, array in new.model.items()
        }
    assert run_command(["diff", old_path, new_path], debug=False, as_json=False) == 0
