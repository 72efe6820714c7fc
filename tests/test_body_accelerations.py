"""The channel body_qdd: accelerations of bodies in every solver, against closed forms and differences of velocities."""

from typing import get_args

import numpy as np
import pytest
from support.forward import model_of
from support.solver_modes import MODES

from simcli.records.contents.layout import CHANNELS, PARTS
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec.schema.parts import OutputSpec

ANGLE, RATE, ARM, G = 0.7, 3.0, 0.6, 9.81
H, N = 1e-3, 100
# A pendulum whose inertia about the pin is known; and a chain in space, whose last body turns about three axes.
SCENE = f"""
bodies:
  bob: {{mass: 2, com: [{ARM}, 0, 0], inertia: {{diag: [0.1, 0.3, 0.2]}}}}
  arm: {{mass: 1, com: [0.2, 0, 0], inertia: {{diag: [0.1, 0.12, 0.15]}}, pose: {{xyz: [0, 3, 0]}}}}
  top: {{mass: 0.5, com: [0.1, 0.2, 0], inertia: {{diag: [0.1, 0.05, 0.08]}}, pose: {{xyz: [0.5, 3, 0]}}}}
joints:
  pin: {{type: revolute, parent: world, child: bob, axis: [0, 1, 0], q: {ANGLE}, qd: {RATE}}}
  turn: {{type: revolute, parent: world, child: arm, at: [0, 3, 0], axis: [1, 2, 0.5], qd: 2}}
  ball: {{type: ball, parent: arm, child: top, at: [0.5, 3, 0], qd: [1, 3, -2]}}
"""
# Others are told by test_elements.py (implicit, generalized_alpha, bdf2), test_sensors.py and test_frames_with_contact.py.
QUICK = {("generalized", "rk4"), ("maximal", "semi_implicit"), ("natural", "zhong06"), ("natural", "moreau")}
FIRST_ORDER = {"semi_implicit", "moreau", "bdf1"}
START = 1e-10  # [m/s^2], of rounding
BOUND = {True: 1e-2, False: 2e-5}  # relative to the largest acceleration: what steps of first and second order differ
# Frames that are compared: the first step of maximal coordinates is along the chord, and affine bodies swing at first.
FIRST = {"maximal": 2, "affine": 80}


def frames(kind, integrator, device):
    model, options = model_of(f"{SCENE}solver: {{type: {kind}, dt: {H}, integrator: {integrator}}}\n")
    solver = SOLVERS[kind](model, options, RunPlan(H, 1, N, frozenset(("bodies", "body_qdd"))), device)
    found = [solver.initial().columns, solver.advance(N).columns]
    velocity, acceleration, status = (np.concatenate([part[name][:, 0] for part in found])
                                      for name in ("frames/body_qd", "frames/body_qdd", "diag/status"))  # fmt: skip
    assert status.max() == 0
    return velocity, acceleration


@pytest.fixture(scope="module")
def wanted(device_of_module):
    """By differences of velocities, at all frames but the first and the last."""
    velocity, _ = frames("generalized", "rk4", device_of_module)
    return (velocity[2:] - velocity[:-2]) / (2 * H)


@pytest.fixture(scope="module")
def device_of_module():
    from support.device import live_device

    return live_device()


def of_pendulum():
    """Of the centre of mass, and angular; the pin along y turns x to -z."""
    alpha = 2 * G * ARM * np.cos(ANGLE) / (0.3 + 2 * ARM**2)
    along, across = np.array([np.cos(ANGLE), 0, -np.sin(ANGLE)]), np.array([-np.sin(ANGLE), 0, -np.cos(ANGLE)])
    return np.r_[ARM * (alpha * across - RATE**2 * along), 0, alpha, 0]


def test_every_channel_of_the_file_is_offered():
    offered, _ = get_args(OutputSpec.model_fields["channels"].annotation)
    assert set(get_args(offered)) == set(CHANNELS) >= set(PARTS)


@pytest.mark.parametrize(("kind", "integrator"), [
    pytest.param(*one, marks=[pytest.mark.slow] * (one not in QUICK)) for one in MODES])  # fmt: skip
def test_accelerations_are_the_rates_of_velocities(wanted, kind, integrator, device_of_module):
    _, found = frames(kind, integrator, device_of_module)
    first = FIRST.get(kind, 1)
    gap = np.abs(found[first:-1] - wanted[first - 1 :]).max() / np.abs(wanted).max()
    assert kind == "affine" or np.abs(found[0, 0] - of_pendulum()).max() < START
    assert gap < BOUND[integrator in FIRST_ORDER or kind == "affine"]
