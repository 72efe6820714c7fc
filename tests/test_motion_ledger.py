"""The ledger of energy has the work of prescribed motions: what it lacks falls with the step, in every solver.

Scenes: a joint with armature on a kinematic body that turns; rates that jump, at the edge of a step and within one.
"""

from itertools import product

import numpy as np
import pytest
from support.forward import Runner
from support.solver_modes import MODES
from support.tiers import covering

STEPS = (2e-3, 1e-3)
ORDERS = {"rk4": 2, "implicit": 2, "zhong06": 2, "moreau": 2, "generalized_alpha": 2}  # at least; 1 of the others
SLACK = 0.75  # of a ratio 2^order, so that terms of higher order may show
LEAST, LARGEST = 1e-9, 4e-2  # [J], rounding; of the input, at 1 ms and first order
DURATION, JUMP = 0.1, 0.05  # [s]

ROTOR = """
bodies:
  turner: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, kinematic: true, motion: {angular: [0, $speed, 0]}}
  arm: {mass: 1, com: [0.3, 0, -0.2], inertia: {diag: [0.05, 0.05, 0.05]}}
joints:
  pin: {type: revolute, parent: turner, child: arm, at: [0, 0.1, 0], axis: [0, 1, 0], armature: 0.3, qd: 1}
signals: {speed: {sine: {amplitude: 4, frequency: 2}}}
"""
# All joints have dampers, one has a drive with a signal, one a motion: what holds the motions changes within a step.
DAMPED = """
bodies:
  cart: {kinematic: true, mass: 1, com: [0.2, -0.1, 0.1], inertia: {diag: [0.1, 0.15, 0.2]},
         motion: {linear: [0.5, 0, 0.4], angular: [-0.4, $turn, -0.2]}}
  one: {mass: 1.7, com: [0.2, 0, -0.2], inertia: {diag: [0.07, 0.07, 0.06]}}
  two: {pose: {xyz: [0.5, 0, 0]}, mass: 1.7, com: [0.2, 0, -0.1], inertia: {diag: [0.06, 0.06, 0.06]}}
  three: {pose: {xyz: [1, 0, 0]}, mass: 1.6, com: [0.2, 0, 0.2], inertia: {diag: [0.08, 0.07, 0.07]}}
joints:
  a: {type: revolute, parent: cart, child: one, at: [0, 0, 0], axis: [-0.4, -0.7, 1], damping: 0.2, qd: 0.2}
  b: {type: revolute, parent: one, child: two, at: [0.5, 0, 0], axis: [0.6, 0.2, 1], damping: 0.5, motion: {velocity: $turn}}
  c: {type: revolute, parent: two, child: three, at: [1, 0, 0], axis: [-0.9, 0.3, 1],
      drive: {mode: position, target: $goal, stiffness: 11, damping: 0.9}}
signals: {turn: {sine: {amplitude: 1.7, frequency: 2}}, goal: {sine: {amplitude: 0.4, frequency: 1.5, phase: 0.6}}}
"""
CARRIED = """
world: {gravity: [0, 0, 0]}
bodies:
  cart: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, kinematic: true, motion: {linear: [$speed, 0, 0], angular: [0, 0, 0]}}
  arm: {mass: 1, com: [0.3, 0.5, 0], inertia: {diag: [0.1, 0.1, 0.1]}}
joints: {pin: {type: revolute, parent: cart, child: arm, at: [0, 0, 0], axis: [0, 0, 1]}}
signals: {speed: {step: {before: 0, after: 5, time: TIME}}}
"""
CHAIN = """
world: {gravity: [0, 0, 0]}
bodies:
  upper: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.1, 0.1, 0.1]}}
  lower: {pose: {xyz: [1, 0, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.1, 0.1, 0.1]}}
joints:
  free: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 0, 1]}
  led: {type: revolute, parent: upper, child: lower, at: [1, 0, 0], axis: [0, 0, 1], motion: {MOTION}}
"""
BY_RATE = CHAIN.replace("MOTION", "velocity: $speed") + "signals: {speed: {step: {before: 0, after: 5, time: TIME}}}\n"
BY_PLACE = CHAIN.replace("MOTION", "position: $way") + (
    "signals: {way: {ramp: {from: 0, to: 3, start: TIME, end: 0.5}}}\n")
GEARED = """
world: {gravity: [0, 0, 0]}
bodies:
  turner: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, kinematic: true, motion: {angular: [0, $speed, 0]}}
  arm: {mass: 1, com: [0.3, 0, -0.2], inertia: {diag: [0.05, 0.05, 0.05]}}
joints: {pin: {type: revolute, parent: turner, child: arm, at: [0, 0.1, 0], axis: [0, 1, 0], armature: 0.3, qd: 1}}
signals: {speed: {step: {before: 1, after: 5, time: TIME}}}
"""
GEARED_RATE = 1 - 4 * 0.18 / (0.18 + 0.3)  # [rad/s], the arm's inertia about the pin over that with its rotor
JUMPS = {"body": CARRIED, "body that carries a rotor": GEARED, "rate of a joint": BY_RATE, "position of a joint": BY_PLACE}
# Steps of affine bodies give up kinetic energy where a rate jumps, as their pages say.
PASSING = [mode for mode in MODES if mode[0] != "affine"]
# Affine steps compile long.
QUICK_FIRST = [pytest.param(*mode, marks=pytest.mark.slow) if mode[0] == "affine" else mode for mode in MODES]


def gaps(text, solver, integrator, device, steps=STEPS) -> tuple[np.ndarray, float]:
    """[J], what the ledger lacks at the end, by step; and what has been put in."""
    runner = Runner(f"{text}solver: {{type: {solver}, dt: 1.0e-3, integrator: {integrator}}}\n", integrator, device)
    ends = [runner(h, round(DURATION / h), 1) for h in steps]
    assert all(one["diag/status"].max() == 0 for one in ends)
    return np.array([abs(one["energy/drift"][-1, 0]) for one in ends]), ends[-1]["energy/input"][-1, 0]


@pytest.mark.parametrize(("solver", "integrator"), QUICK_FIRST)
@pytest.mark.parametrize("text", [DAMPED, ROTOR], ids=["dampers and drives", "rotors"])
def test_motions_work_on_what_they_meet(device, text, solver, integrator):
    (wide, narrow), given = gaps(text, solver, integrator, device)
    assert abs(given) > 0.3
    assert narrow < LARGEST * abs(given)
    assert narrow < wide / (SLACK * 2 ** ORDERS.get(integrator, 1)) + LEAST


MOUNTED = """
bodies:
  turner: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, kinematic: true,
           motion: {linear: [$speed, 0, 0], angular: [0, $speed, 1]}}
  block: {mass: 1, inertia: {diag: [0.05, 0.06, 0.07]}, pose: {xyz: [0.5, 0, 0]}}
forces:
  mount: {type: bushing, a: {body: turner, at: [0.4, 0, 0]}, b: {body: block, at: [0, 0.1, 0]}, stiffness: [90, 60, 40],
          damping: 6, angular_stiffness: [5, 3, 2], angular_damping: 0.4}
signals: {speed: {sine: {amplitude: 2, frequency: 2}}}
"""


@pytest.mark.parametrize(("solver", "integrator"), PASSING)
def test_a_kinematic_body_works_on_a_bushing_that_damps(device, solver, integrator):
    """The second half of a step of natural coordinates has its own force of a damper, whose work was taken twice."""
    (wide, narrow), given = gaps(MOUNTED, solver, integrator, device)
    assert narrow < LARGEST * abs(given)
    assert narrow < wide / (SLACK * 2 ** ORDERS.get(integrator, 1)) + LEAST


JUMPING = covering((name, late, *mode) for name, late, mode in product(JUMPS, (0.0, 0.27), PASSING))


@pytest.mark.parametrize(("name", "late", "solver", "integrator"), JUMPING)
def test_impulses_of_rates_that_jump_do_work(device, name, late, solver, integrator):
    """Late by a part of a step."""
    drifts = []
    for h in STEPS:
        found, given = gaps(JUMPS[name].replace("TIME", repr(JUMP + late * h)), solver, integrator, device, (h,))
        drifts.append(found[0])
    assert drifts[1] < 5e-3 * given  # of order one: smooth forces of the step times half of the jump
    assert drifts[1] < drifts[0] / (SLACK * 2) + 1e-4 * given


@pytest.mark.parametrize(("solver", "integrator"), PASSING)
@pytest.mark.parametrize("late", [0.0, 0.27])
def test_a_rotor_takes_its_part_of_a_jump(device, late, solver, integrator):
    text = GEARED.replace("TIME", repr(JUMP + late * STEPS[1]))
    runner = Runner(f"{text}solver: {{type: {solver}, dt: 1.0e-3, integrator: {integrator}}}\n", integrator, device)
    rate = runner(STEPS[1], round(DURATION / STEPS[1]), 1)["frames/joint_qd"][-1, 0, 0]
    assert rate == pytest.approx(GEARED_RATE, abs=2e-3)  # of an error of order one in the step of the jump


# Laws hold what a body carries that turns as prescribed: a bound at which it stands, a speed, and dry friction.
HELD = """
bodies:
  turner: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, kinematic: true, motion: {angular: [0, 1.5, 0]}}
  stands: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.05, 0.06, 0.07]}}
  slides: {mass: 1, com: [0.4, 0, 0.1], inertia: {diag: [0.05, 0.06, 0.07]}}
  sticks: {mass: 1, com: [0.5, 0.1, 0], inertia: {diag: [0.05, 0.06, 0.07]}}
joints:
  a: {type: prismatic, parent: turner, child: stands, axis: [0, 0, 1], limit: [-0.03, 0.04], qd: -1}
  b: {type: prismatic, parent: turner, child: slides, axis: [0, 0, 1], velocity_limit: 0.5, qd: -1}
  c: {type: prismatic, parent: turner, child: sticks, axis: [0, 0, 1], friction: 20, qd: -1}
"""


@pytest.mark.parametrize("direction", ["explicit", "implicit"])
def test_what_laws_hold_is_in_the_ledger_whichever_directions_rows_have(device, direction):
    """Along directions of the end velocities of laws were off by how a row turns, and the ledger by 0.05 J at any step."""
    runner = Runner(f"{HELD}solver: {{type: maximal, dt: 1.0e-3, joint_direction: {direction}}}\n", "semi_implicit", device)
    wide, narrow = (abs(runner(h, round(DURATION / h), 1)["energy/drift"][-1, 0]) for h in STEPS)
    assert narrow < wide / (SLACK * 2) + LEAST
    assert narrow < 2e-2
