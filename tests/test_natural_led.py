"""Kinematic bodies in natural coordinates: closed forms, orders against the tree, efforts, wrenches and the ledger."""

from itertools import pairwise

import numpy as np
import pytest
from support.forward import Runner

from simcli.model.snapshot import Status

STEPS = (4e-3, 2e-3, 1e-3)
ROUNDING = 1e-10
JUMPED = 3e-4  # error of order two at 2 ms, and that of the extrapolated step; without the impulse of the jump it is 0.3
GRAVITY, LEAN, CART, BOB = 9.81, 0.3, 2.0, 1.0
INTEGRATORS = ("zhong06", "generalized_alpha", "moreau")
COLUMNS = ("frames/body_q", "frames/body_qd", "frames/joint_q", "frames/joint_qd", "frames/joint_effort",
           "frames/joint_wrench", "energy/input", "energy/total")  # fmt: skip

# A cart that accelerates so that the rod stands still on it.
CARRIED = f"""
bodies:
  cart: {{kinematic: true, motion: {{linear: [$v, 0, 0]}}, mass: {CART}, inertia: {{diag: [0.1, 0.2, 0.3]}}}}
  rod: {{mass: {BOB}, com: [0, 0, -0.5], inertia: {{diag: [0.1, 0.1, 0.02]}}}}
joints:
  pin: {{type: revolute, parent: cart, child: rod, at: [0, 0, 0], axis: [0, 1, 0], q: {LEAN}}}
signals: {{v: {{ramp: {{from: 0, to: {10 * GRAVITY * np.tan(LEAN)}, end: 10}}}}}}
"""
# A cart that moves and turns in all directions.
PIVOT = """
bodies:
  cart:
    kinematic: true
    motion: {linear: [$v, 0, $u], angular: [0.5, 1, $w]}
    mass: 2
    inertia: {diag: [0.1, 0.2, 0.3]}
    com: [0.1, 0, 0.05]
  rod: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.02]}}
  tail: {mass: 0.5, com: [0, 0, -0.5], inertia: {diag: [0.05, 0.04, 0.02]}, pose: {xyz: [0, 0, -1]}}
joints:
  pin: {type: revolute, parent: cart, child: rod, at: [0.2, 0, 0], axis: [0, 1, 0.1], q: 0.4}
  ball: {type: ball, parent: rod, child: tail, at: [0, 0, -1]}
signals:
  v: {sine: {amplitude: 1.5, frequency: 1}}
  u: {sine: {amplitude: 0.5, frequency: 2, phase: 1}}
  w: {ramp: {from: 1, to: 2, end: 2}}
"""
# A table that turns by position, and a body without mass on a screw whose speed jumps.
HELD = """
bodies:
  table: {kinematic: true, mass: 2, inertia: {diag: [0.1, 0.2, 0.3]}, com: [0.3, 0.1, 0.05]}
  lift: {kinematic: true, com: [0.1, 0.2, 0.3], pose: {xyz: [2, 0, 0]}}
  rod: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.02]}}
  tail: {mass: 0.5, com: [0, 0, -0.5], inertia: {diag: [0.05, 0.04, 0.02]}, pose: {xyz: [2, 0, -1]}}
joints:
  turn: {type: revolute, parent: world, child: table, at: [0.1, 0, 0], axis: [0, 0.3, 1], motion: {position: $p}}
  screw: {type: screw, parent: world, child: lift, at: [2, 0, 0], axis: [0, 0.3, 1], pitch: 0.5, motion: {velocity: $v}}
  pin: {type: revolute, parent: table, child: rod, at: [0.2, 0, 0], axis: [0, 1, 0.1], q: 0.4}
  knee: {type: revolute, parent: lift, child: tail, at: [2, 0, -1], axis: [1, 0, 0.2]}
signals:
  p: {sine: {amplitude: 1.5, frequency: 1, phase: 0.5}}
  v: {step: {before: 0.5, after: 2, time: 0.2}}
"""
FLAT = """
world: {plane: xz}
bodies:
  cart: {kinematic: true, motion: {linear: [$v, 0, 0.3], angular: [0, 1.5, 0]}}
  rod: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.02]}}
joints: {pin: {type: revolute, parent: cart, child: rod, at: [0.2, 0, 0], axis: [0, 1, 0], q: 0.4}}
signals: {v: {sine: {amplitude: 1.5, frequency: 1}}}
"""
BELT = """
materials: {rubber: {friction: 0.4}}
bodies:
  belt:
    kinematic: true
    mass: MASS
    inertia: {diag: [MASS, MASS, MASS]}
    motion: {linear: [$v, 0, 0]}
    shapes: {top: {type: box, size: [20, 2, 0.2], material: rubber}}
  block:
    mass: 1
    inertia: {diag: [0.01, 0.01, 0.01]}
    pose: {xyz: [0, 0, 0.2]}
    shapes: {all: {type: box, size: [0.2, 0.2, 0.2], material: rubber}}
signals: {v: {ramp: {from: 2, to: 3, end: 1}}}
"""


def ends(text, kind, integrator, device, steps=STEPS, duration=0.5):
    """Columns of frame 1 at the end, without those of joints that a form of the model adds."""
    runner = Runner(f"{text}solver: {{type: {kind}, dt: 1.0e-3, integrator: {integrator}}}\n", integrator, device,
                    frozenset(("state", "energy", "reactions")))  # fmt: skip
    found = [runner(h, round(duration / h), 1) for h in steps]
    assert all(one["diag/status"].max() == 0 for one in found)
    return [{name: column[-1, 0] for name, column in one.items()} for one in found]


@pytest.mark.parametrize("integrator", [
    "zhong06", pytest.param("generalized_alpha", marks=pytest.mark.slow)])  # fmt: skip
def test_what_a_cart_carries_leans_against_its_acceleration(device, integrator):
    one = ends(CARRIED, "natural", integrator, device, (1e-2,))[0]
    speed = 0.5 * GRAVITY * np.tan(LEAN)
    total = CART + BOB
    assert one["frames/joint_q"][0] == pytest.approx(LEAN, abs=ROUNDING)
    assert one["frames/body_qd"][:, 0] == pytest.approx([speed, speed], abs=ROUNDING)
    effort = one["frames/joint_effort"][1:7]
    assert effort[:3] == pytest.approx([total * GRAVITY * np.tan(LEAN), 0, total * GRAVITY], abs=1e-9)
    assert one["frames/joint_wrench"][1, :3] == pytest.approx(effort[:3], abs=1e-9)
    assert one["energy/input"] == pytest.approx(0.5 * total * speed**2, abs=ROUNDING)


def check_order(text, integrator, device, wanted, ratio, slack, columns=COLUMNS):
    found = ends(text, "natural", integrator, device)
    for name in columns:
        n = len(np.atleast_1d(wanted[name]))
        errors = [np.nanmax(np.abs(np.atleast_1d(one[name])[:n] - wanted[name])) for one in found]
        for coarse, fine in pairwise(errors):
            assert abs(coarse / fine - ratio) < slack, (name, errors)
    drifts = [abs(one["energy/drift"]) for one in found]
    assert all(abs(coarse / fine - ratio) < slack for coarse, fine in pairwise(drifts)), drifts


@pytest.mark.slow
@pytest.mark.parametrize("text", [PIVOT, FLAT], ids=["space", "plane"])
def test_orders_against_the_tree(device, text):
    wanted = ends(text, "generalized", "rk4", device, (5e-4,))[0]
    for integrator in INTEGRATORS:
        check_order(text, integrator, device, wanted, 4, 0.15)


@pytest.mark.slow
def test_bodies_that_joints_lead_and_speeds_that_jump(device):
    """Against the step of the tree whose impulses are those of the mass matrix, extrapolated."""
    coarse, fine = ends(HELD, "generalized", "semi_implicit", device, (5e-4, 2.5e-4))
    found = ends(HELD, "natural", "zhong06", device, STEPS[:2])
    for name in ("frames/body_q", "frames/body_qd", "energy/input", "energy/total"):
        wanted = 2 * fine[name] - coarse[name]
        errors = [np.abs(one[name] - wanted).max() for one in found]
        assert errors[1] < errors[0], (name, errors)
        assert errors[1] < JUMPED, (name, errors)


@pytest.mark.slow
@pytest.mark.parametrize("mass", [3.0, 0.0])
def test_a_belt_takes_a_block_along(device, mass):
    """The block slides until it is as fast as the belt, which then accelerates it further."""
    h = 1e-3
    one = ends(BELT.replace("MASS", str(mass)), "natural", "moreau", device, (h,), 1.0)[0]
    pull = 0.4 * GRAVITY
    until = 2 / (pull - 1)
    slid, rolled = 0.5 * pull * until**2, 2 * until + 0.5 * until**2
    wanted = slid + 2.5 - rolled
    assert one["frames/body_qd"][1, 0] == pytest.approx(3.0, abs=1e-6)
    assert one["frames/body_q"][1, 0] == pytest.approx(wanted, abs=2 * h)
    assert one["energy/dissipated"] == pytest.approx(pull * (rolled - slid), abs=1e-6)
    assert one["frames/joint_effort"][:3] == pytest.approx([mass + 1, 0, (mass + 1) * GRAVITY], abs=1e-5)
    assert abs(one["energy/drift"]) < 1e-6


# A wheel on a coil that is far from its rest.
WOUND = """
bodies: {wheel: {mass: 1, inertia: {diag: [1, 1, 1]}}}
joints: {pin: {type: revolute, parent: world, child: wheel, axis: [0, 0, 1]}}
forces: {coil: {type: torsion, joint: pin, stiffness: 10, rest_angle: 1}}
"""


def test_a_step_whose_iteration_fails_ends_its_world_by_name(device):
    text = WOUND + "solver: {type: natural, dt: 1 ms, integrator: generalized_alpha}\n"
    runner = Runner(text + "batch: {worlds: 2, vary: {forces.coil.stiffness: {list: [10, 1.0e+9]}}}\n",
                    "generalized_alpha", device)  # fmt: skip
    assert runner(1e-3, 1, 3)["diag/status"][-1].tolist() == [Status.OK, Status.NOT_CONVERGED]
