"""The ledger of bdf2 is of second order, and a body that lands disturbs no other: orders over halvings of the step."""

from itertools import pairwise

import numpy as np
import pytest
from support.forward import Runner

STEPS = (4e-3, 2e-3, 1e-3)
RATIO = 0.4  # about 4, which differences of second order lose by a halving
# Everything that takes and gives energy: dampers of a joint and of a spring, a wrench and a drive with signals, a carrier
# that moves as prescribed, and a body that is pulled along. In world 1 the damper of the rotor is alone.
WORK = """
world: {gravity: [0, 0, 0]}
params: {c: 0.8}
batch: {worlds: 2, vary: {params.c: {list: [0.8, 0]}}}
defaults: {body: {mass: 1, inertia: {diag: [0.5, 0.5, 0.5]}}, joint: {compliance: 1.0e-9}}
bodies:
  rotor: {}
  slider: {pose: {xyz: [0, 5, 0]}}
  wheel: {pose: {xyz: [0, 10, 0]}}
  cart: {pose: {xyz: [0, 15, 0]}, kinematic: true, motion: {linear: [$pace, 0, 0]}}
  bob: {pose: {xyz: [0, 15, 1]}}
  drawn: {pose: {xyz: [0, 20, 0]},
          affine: {transform: {pose: {xyz: [0, 20, 0]}, strength: [1.0e-4, 1.0e-4], shift: [$far, 0, 0]}}}
joints:
  pin: {type: revolute, parent: world, child: rotor, axis: [0, 0, 1], qd: 2, damping: 1}
  rail: {type: prismatic, parent: world, child: slider, at: [0, 5, 0], axis: [1, 0, 0], qd: 0.5}
  axle: {type: revolute, parent: world, child: wheel, at: [0, 10, 0], axis: [0, 0, 1], qd: -1,
         drive: {mode: velocity, target_velocity: $pace, damping: "${c}"}}
  hook: {type: revolute, parent: cart, child: bob, at: [0, 15, 0], axis: [0, 1, 0]}
forces:
  cord: {type: spring, a: {world: [-2, 5, 0]}, b: {body: slider, at: [0, 0, 0]}, stiffness: 50, damping: "${c}",
         rest_length: 2}
  push: {type: wrench, body: slider, force: [$force, 0, 0]}
signals:
  pace: {sine: {amplitude: 1.5, frequency: 1}}
  force: {sine: {amplitude: 3, frequency: 2, phase: 1}}
  far: {sine: {amplitude: 0.5, frequency: 1}}
solver: {type: affine, integrator: bdf2, dt: 1.0e-3, stiffness: 1.0e+10, tolerance: 1.0e-12}
"""


def test_the_ledger_of_bdf2_is_of_second_order(device, scalar_code):
    runner = Runner(WORK, "bdf2", device)
    ends = [{name: column[-1] for name, column in runner(h, round(0.2 / h), 1).items()} for h in STEPS]
    taken = 0.5 * 0.5 * 2.0**2 * (1.0 - np.exp(-2.0 * 0.2 / 0.5))
    errors = [abs(end["energy/dissipated"][1] - taken) for end in ends]
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=RATIO)
    assert errors[1] / errors[2] == pytest.approx(4.0, abs=RATIO)
    for name in ("dissipated", "input", "drift"):
        wide, narrow = (one[f"energy/{name}"][0] - other[f"energy/{name}"][0] for one, other in pairwise(ends))
        assert wide / narrow == pytest.approx(4.0, abs=RATIO), name
    assert abs(ends[-1]["energy/drift"]).max() < 1e-3 * ends[-1]["energy/input"][0]


# A cube that lands in world 0 alone, beside a mass on a spring.
LANDING = """
params: {z: 0.106}
batch: {worlds: 2, vary: {params.z: {list: [0.106, 9]}}}
world: {shapes: {ground: {type: plane}}}
defaults: {joint: {compliance: 1.0e-9}}
bodies:
  cube: {pose: {xyz: [0, 0, "${z}"], rpy: [0.02, 0.01, 0]},
         shapes: {it: {type: box, size: [0.2, 0.2, 0.2], density: 1000}}}
  far: {pose: {xyz: [5, 0, 9]}, mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}}
joints:
  rail: {type: prismatic, parent: world, child: far, at: [5, 0, 9], axis: [1, 0, 0], qd: 1}
forces:
  cord: {type: spring, a: {world: [3, 0, 9]}, b: {body: far, at: [0, 0, 0]}, stiffness: 200, rest_length: 2}
solver: {type: affine, integrator: bdf2, dt: 1.0e-3, stiffness: 1.0e+10, tolerance: 1.0e-12}
"""
SAME = 1e-10  # [m, m/s], of Newton's method, whose directions are those of other worlds
ORDER = 1.9
LASTS = 0.24


@pytest.mark.slow  # test_the_ledger_of_bdf2_is_of_second_order tells most of it
def test_bdf2_keeps_its_order_where_nothing_lands(device, scalar_code):
    runner = Runner(LANDING, "bdf2", device, frozenset(("state",)))
    w, errors = np.sqrt(200 / 2.0), []
    for h in (8e-3, 4e-3):
        last = {name: column[-1] for name, column in runner(h, round(LASTS / h), 1).items()}
        age, n = runner.solver.core.step.age.read()[:, :2, 0], round(LASTS / h)
        assert age[0, 0] < n  # it has landed,
        assert (age[0, 1], *age[1]) == (n, n, n)  # and nothing else has begun anew
        place, speed = last["frames/body_q"][:, 1, 0] - 5.0, last["frames/body_qd"][:, 1, 0]
        np.testing.assert_allclose(place[0], place[1], atol=SAME)
        errors.append(abs(place - np.sin(w * LASTS) / w).max() + abs(speed - np.cos(w * LASTS)).max() / w)
    assert np.log2(errors[0] / errors[1]) >= ORDER
