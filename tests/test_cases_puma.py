"""Inverse and forward dynamics of the Puma 560, from the scene's model, against published torques and pinocchio."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.forward import build_scene

import simcli as package
from simcli.kernels.algorithms import Algorithms

HERE = Path(__file__).parent / "references"
SCENE = Path(package.__file__).parent.parent / "scenes" / "puma560.yaml"
ROUNDING = 1e-12  # relative to the largest torque of a state, in double precision
PRINTED = 5e-5  # [N m], half a unit in the last printed digit of the publication
STORED = 1e-10  # relative, of the case's own tables: it agrees with pinocchio to 3e-14, its drop to 3e-11
N_RANDOM = 64

# The published parameters, link by link: d, a, alpha; mass; centre of mass; moments; armature.
DH = [(0.67183, 0, 90), (0, 0.4318, 0), (0.15005, 0.0203, -90), (0.4318, 0, 90), (0, 0, -90), (0, 0, 0)]
MASS = [0, 17.4, 4.8, 0.82, 0.34, 0.09]
COM = [(0, 0, 0), (-0.3638, 0.006, 0.2275), (-0.0203, -0.0141, 0.07), (0, 0.019, 0), (0, 0, 0), (0, 0, 0.032)]
MOMENTS = [(0, 0.35, 0), (0.13, 0.524, 0.539), (0.066, 0.086, 0.0125), (1.8e-3, 1.3e-3, 1.8e-3), (3e-4, 4e-4, 3e-4),
           (1.5e-4, 1.5e-4, 4e-5)]  # fmt: skip
ARMATURE = [0.784029968642, 2.324814845, 0.576873331938, 0.19079062612368, 0.170706291657, 0.194064505668]


@pytest.fixture(scope="module")
def case():
    return json.loads((HERE / "puma560.json").read_text())


@pytest.fixture
def arm(device):
    """Solve for n states: a function that makes the algorithms of the scene's arm."""
    made = []

    def make(n_states):
        made.append(Algorithms(build_scene(SCENE), device, n_states))
        return made[-1]

    yield make
    for one in made:
        one.destroy()


def pinocchio_arm():
    """The published parameters as they stand (link 3 has no real inertia: pinocchio does not mind), and armature."""
    import pinocchio as pin

    model, before = pin.Model(), pin.SE3.Identity()
    for k, (d, a, alpha) in enumerate(DH):
        fixed = pin.SE3(pin.utils.rotate("x", np.radians(alpha)), np.array([a, 0, d]))  # from the joint to the link's frame
        joint = model.addJoint(k, pin.JointModelRZ(), before, f"joint{k}")
        inertia = pin.Inertia(MASS[k], np.array(COM[k]), np.diag(MOMENTS[k]))
        model.appendBodyToJoint(joint, inertia, fixed)
        before = fixed
    model.armature = np.array(ARMATURE)
    return pin, model, model.createData()


def relative(got, expected):
    """Largest difference of a state, over the largest number of it."""
    got, expected = np.atleast_2d(got), np.atleast_2d(expected)
    return float((np.abs(got - expected).max(axis=1) / np.abs(expected).max(axis=1)).max())


def test_torques_of_the_publication(arm, case):
    q, one, zero = np.array([case["qn"]]), np.ones((1, 6)), np.zeros((1, 6))
    table, solve = case["torques at qn"], arm(1).inverse_dynamics
    assert relative(solve(q, zero, zero), table["gravity"]) < ROUNDING
    assert relative(solve(q, zero, one), table["qdd=1"]) < ROUNDING
    assert relative(solve(q, one, one), table["qd=qdd=1"]) < ROUNDING
    rising = solve(q, zero, np.array([[1.0, 2, 3, 1, 2, 3]])) - solve(q, zero, zero)
    np.testing.assert_allclose(rising[0], [3.1500, 9.4805, 3.6189, 0.1901, 0.3519, 0.5823], atol=PRINTED)
    np.testing.assert_allclose(solve(q, zero, zero)[0, [1, 2, 4]], [31.6399, 6.0351, 0.0283], atol=PRINTED)


def test_mass_matrix_of_the_case(arm, case):
    matrix = arm(1).mass_matrix(np.array([case["qn"]]))[0]
    expected = np.array(case["M at qn"])
    assert np.abs(matrix - expected).max() < ROUNDING * np.abs(expected).max()


def test_torques_along_the_sinus_of_the_case(arm, case):
    sinus, rows = case["sinus"], np.array(case["sinus"]["data"])
    w, t = np.array(sinus["w"]), rows[:, :1]
    q = np.array(case["qn"]) + sinus["amplitude"] * np.sin(w * t)
    qd, qdd = sinus["amplitude"] * w * np.cos(w * t), -sinus["amplitude"] * w**2 * np.sin(w * t)
    assert relative(arm(len(q)).inverse_dynamics(q, qd, qdd), rows[:, 1:]) < STORED


def test_agrees_with_pinocchio_at_random_states(arm, device):
    pin, model, data = pinocchio_arm()
    random = np.random.default_rng(560)
    q, qd, qdd = (random.uniform(-size, size, (N_RANDOM, 6)) for size in (np.pi, 3.0, 10.0))
    ours = arm(N_RANDOM)
    torque = np.array([pin.rnea(model, data, *state) for state in zip(q, qd, qdd, strict=True)])
    assert relative(ours.inverse_dynamics(q, qd, qdd), torque) < ROUNDING
    acceleration = np.array([pin.aba(model, data, *state) for state in zip(q, qd, torque, strict=True)])
    assert relative(ours.forward_dynamics(q, qd, torque), acceleration) < STORED
    np.testing.assert_allclose(acceleration, qdd, rtol=STORED, atol=STORED * 10.0)
    for state, matrix in zip(q, ours.mass_matrix(q), strict=True):
        expected = pin.crba(model, data, state)
        expected = np.triu(expected) + np.triu(expected, 1).T
        assert np.abs(matrix - expected).max() < ROUNDING * np.abs(expected).max()
