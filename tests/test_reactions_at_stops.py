"""Reactions in the steps in which a law stops a coordinate: limits and friction.

Oracle: Newton's second law for each body, m (v+ - v) / h, from the velocities of two frames; the effort of a slide is the
force along it. A shape far away, which lets a solver take steps with contact, changes neither.
"""

import numpy as np
import pytest
from support.forward import Runner
from support.solver_modes import MODES

STEP, FRAMES = 1e-3, 140
STOPS = """
world: {gravity: [1, 2, -9.81]WORLD}
bodies:
  a: {mass: 2, inertia: {diag: [0.02, 0.02, 0.02]}, pose: {xyz: [0, 0, 1]}}
  b: {mass: 1, inertia: {diag: [0.02, 0.02, 0.02]}, com: [0.2, 0, 0], pose: {xyz: [0.2, 0, 1]}}
  c: {mass: 2, inertia: {diag: [0.02, 0.02, 0.02]}, pose: {xyz: [0, 5, 1]}}
  d: {mass: 1, inertia: {diag: [0.02, 0.02, 0.02]}, com: [0.2, 0, 0], pose: {xyz: [0.2, 5, 1]}}
  e: {mass: 1, inertia: {diag: [0.02, 0.03, 0.04]}, pose: {xyz: [0.5, 9, 1]}}
  f: {mass: 0.7, inertia: {diag: [0.02, 0.03, 0.04]}, pose: {xyz: [1.5, 9, 1]}}
  g: {mass: 1, inertia: {diag: [0.02, 0.03, 0.04]}, pose: {xyz: [0.5, 14, 1]}}
  i: {mass: 2, inertia: {diag: [0.03, 0.03, 0.03]}, pose: {xyz: [1.5, 14, 1.2]}}
  j: {mass: 1, inertia: {diag: [0.02, 0.02, 0.02]}, pose: {xyz: [2, 14, 1.7]}}
  k: {mass: 1, inertia: {diag: [0.02, 0.02, 0.02]}, pose: {xyz: [0, 19, 1]}}
  STRANGER
joints:
  a: {type: prismatic, parent: world, child: a, at: [0, 0, 1], axis: [1, 0, 0.5], friction: 1, qd: 0.5, limit: [-0.3, 0.05]}
  b: {type: ball, parent: a, child: b, at: [0.2, 0, 1], qd: [0, 3, 5]}
  c: {type: prismatic, parent: world, child: c, at: [0, 5, 1], axis: [1, 0.3, 0], friction: 60, qd: -1}
  d: {type: ball, parent: c, child: d, at: [0.2, 5, 1], qd: [0, 3, 5]}
  e: {type: revolute, parent: world, child: e, at: [0, 9, 1], axis: [0, 1, 0], qd: -2, limit: [-0.1, 0.12]ARMATURE}
  f: {type: revolute, parent: e, child: f, at: [1, 9, 1], axis: [0, 1, 0], qd: 3}
  g: {type: revolute, parent: world, child: g, axis: [0, 1, 0], at: [0, 14, 1], qd: 3, limit: [-0.5, 0.2]}
  i: {type: revolute, parent: g, child: i, axis: [0, 1, 0], at: [1, 14, 1]}
  j: {type: revolute, parent: i, child: j, axis: [0, 1, 0], at: [2, 14, 1.4]}
  l: {type: revolute, parent: world, child: j, axis: [0, 1, 0], at: [2, 14, 2], loop: true}
  k: {type: prismatic, parent: world, child: k, at: [0, 19, 1], axis: [0, 0, 1], qd: -1,
      limit: {lower: -0.05, upper: 1, stiffness: 1e3}}
CONTACT
run: {duration: 0.2}
solver: {type: SOLVER, integrator: INTEGRATOR, dt: 1 ms}
"""
JOINED = {
    "a": (None, "a"),
    "b": ("a", "b"),
    "c": (None, "c"),
    "d": ("c", "d"),
    "e": (None, "e"),
    "f": ("e", "f"),
    "g": (None, "g"),
    "i": ("g", "i"),
    "j": ("i", "j"),
    "l": (None, "j"),
    "k": (None, "k"),
}
MASSES = {"a": 2.0, "b": 1.0, "c": 2.0, "d": 1.0, "e": 1.0, "f": 0.7, "g": 1.0, "i": 2.0, "j": 1.0, "k": 1.0}
SLIDES = {"a": (1.0, 0.0, 0.5), "c": (1.0, 0.3, 0.0)}
STRANGER = """z: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [30, 50, 9]},
      shapes: {s: {type: sphere, radius: 0.1}}}"""
ROUNDING = 1e-10  # [N] of 2500
INSTANT = 2.0  # [N] of 700, half a step times the rate of a force; along a slide of a tree h times its own share
RUNS = [
    (*mode, stranger)
    for mode in MODES
    for stranger in (False, True)
    if mode[0] != "affine" and mode[1] != "generalized_alpha" and not (stranger and mode[1] == "zhong06")
]


def text_of(solver, integrator, stranger):
    text = STOPS.replace("SOLVER", solver).replace("INTEGRATOR", integrator)
    text = text.replace("ARMATURE", ", armature: 0.3" if solver == "natural" else "")
    text = text.replace("WORLD", ", shapes: {floor: {type: plane, offset: -50}}" if stranger else "")
    text = text.replace("STRANGER", STRANGER if stranger else "")
    return text.replace("CONTACT", "contact: {pairs: [{a: z, b: floor}]}" if stranger else "")


@pytest.mark.usefixtures("scalar_code")
@pytest.mark.parametrize(("solver", "integrator", "stranger"), RUNS)
def test_forces_sum_to_the_momentum_of_a_step_in_which_a_law_stops_something(device, solver, integrator, stranger):
    runner = Runner(text_of(solver, integrator, stranger), integrator, device, frozenset(("state", "joints", "reactions")))
    seen = runner(STEP, 1, FRAMES)
    bodies, joints = list(runner.model.bodies.name), list(runner.model.joints.name)
    wrench, speed = seen["frames/joint_wrench"][1:, 0, :, :3], seen["frames/body_qd"][:, 0, :, :3]
    bound = ROUNDING if solver == "maximal" or (stranger and solver == "natural") else INSTANT
    for body, mass in MASSES.items():
        change = mass * (np.diff(speed[:, bodies.index(body)], axis=0) / STEP - [1, 2, -9.81])
        force = sum(
            wrench[:, joints.index(name)] * ((body == child) - (1.0 if body == parent else 0.0))
            for name, (parent, child) in JOINED.items()
        )
        assert body not in "aegi" or np.abs(change).max() > 100, body  # it has met its limit
        np.testing.assert_allclose(force, change, atol=bound, rtol=0, err_msg=body)
        if body == "c":  # friction holds it from then on: frames of natural coordinates show these steps
            held = slice(60, None) if solver == "natural" else slice(0, 0)
            np.testing.assert_allclose(force[held], change[held], atol=ROUNDING, rtol=0)
    effort = seen["frames/joint_effort"][1:, 0]
    for name, axis in SLIDES.items():
        j = joints.index(name)
        along = wrench[:, j] @ (np.array(axis) / np.linalg.norm(axis))
        np.testing.assert_allclose(effort[:, runner.model.joints.qd_start[j]], along, atol=1e-9, rtol=0, err_msg=name)
