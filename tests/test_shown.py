"""What is recorded changes nothing of what is simulated: not how often, nor what; in every solver, bit by bit."""

import numpy as np
import pytest
from support.forward import Runner
from support.solver_modes import MODES

import simcli

pytestmark = pytest.mark.usefixtures("scalar_code")

# A loop, a kinematic body that carries another one, armature, a prescribed motion, springs and forces that signals drive.
SCENE = """
signals: {gust: {sine: {amplitude: 3, frequency: 1}}, way: {sine: {amplitude: 0.3, frequency: 1}}}
defaults: {body: {mass: 1, inertia: {diag: [0.1, 0.2, 0.25]}}}
bodies:
  arm: {com: [0.5, 0, 0], points: {tip: [1, 0, 0]}}
  led: {pose: {xyz: [0, 12, 0]}, com: [0.3, 0, 0]}
  base: {kinematic: true, pose: {xyz: [0, 9, 0]}, motion: {linear: [$way, 0, 0], angular: [0, 0, 0.5]}}
  bob: {pose: {xyz: [0, 9, 0]}, com: [0, 0, -0.5]}
  a: {pose: {xyz: [0, 20, 0.25]}}
  b: {pose: {xyz: [0.5, 20, 0.5]}}
  c: {pose: {xyz: [1, 20, 0.25]}}
  BALL
joints:
  shoulder: {type: ball, parent: world, child: arm, at: [0, 0, 0], qd: [0.4, 1, 2]}
  lead: {type: revolute, parent: world, child: led, at: [0, 12, 0], axis: [0, 0.3, 1], motion: {position: $way}}
  pin: {type: revolute, parent: base, child: bob, at: [0, 9, 0], axis: [0, 1, 0], q: 0.5, armature: 0.1}
  p: {type: revolute, parent: world, child: a, axis: [0, 1, 0], at: [0, 20, 0], qd: 2 LIMIT}
  q: {type: revolute, parent: a, child: b, axis: [0, 1, 0], at: [0, 20, 0.5]}
  r: {type: revolute, parent: b, child: c, axis: [0, 1, 0], at: [1, 20, 0.5]}
  s: {type: revolute, parent: world, child: c, axis: [0, 1, 0], at: [1, 20, 0], loop: true}
forces:
  s: {type: spring, a: arm/tip, b: {world: [0, 1, 0]}, stiffness: 20, damping: 0.5, rest_length: 2}
  w: {type: wrench, body: arm, force: [1, $gust, 0], torque: [0.1, 0, 0.2]}
solver: {type: SOLVER, integrator: INTEGRATOR, dt: 1 ms}
run: {duration: 0.4}
"""
FALLS = "ball: {pose: {xyz: [0, 30, 0.1008]}, velocity: {angular: [1, 2, 3]}, shapes: {s: {type: sphere, radius: 0.1}}}"
FLOOR = "world: {shapes: {floor: {type: plane}}}\ncontact: {pairs: [{a: ball, b: floor}]}\n"
STEPS = 42  # the ball lands in the thirteenth
FEW = frozenset(("state",))
ALL = frozenset(("state", "energy", "reactions", "body_qdd"))
LIMITED = ", friction: 0.3, limit: {lower: -1, upper: 0.03}"
TOUCHING = [("generalized", "semi_implicit"), ("generalized", "rk4"), ("generalized", "implicit"),
            ("maximal", "semi_implicit"), ("natural", "moreau")]  # fmt: skip


def scene(solver: str, integrator: str, ball: str = "", limit: str = "") -> str:
    text = SCENE.replace("SOLVER", solver).replace("INTEGRATOR", integrator)
    return FLOOR * bool(ball) + text.replace("BALL", ball).replace("LIMIT", limit)


def check_shown(text: str, integrator: str, device):
    """Ends with frames of all steps, of some, of the last one, with few channels and with many."""
    ends, ledgers = [], []
    for channels in (FEW, ALL):
        runner = Runner(text, integrator, device, channels)
        for every in (STEPS, 1, 7):
            seen = runner(1e-3, every, STEPS // every)
            ends.append(np.concatenate([seen[f"frames/{name}"][-1].ravel() for name in ("body_q", "body_qd", "joint_q")]))
            ledgers += [np.ravel([seen[f"energy/{name}"][-1] for name in ("total", "input", "dissipated")])
                        ] if "energy" in channels else []  # fmt: skip
    assert np.ptp(seen["frames/body_q"], axis=0).max() > 0.01
    for one in ends[1:]:
        np.testing.assert_array_equal(one, ends[0])
    for one in ledgers[1:]:
        np.testing.assert_allclose(one, ledgers[0], rtol=0, atol=1e-13)


@pytest.mark.parametrize(("solver", "integrator"), MODES)
def test_motion_does_not_depend_on_what_is_shown(device, solver, integrator):
    check_shown(scene(solver, integrator), integrator, device)


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "integrator"), TOUCHING)
def test_nor_where_something_lands_and_something_is_stopped(device, solver, integrator):
    check_shown(scene(solver, integrator, FALLS, LIMITED), integrator, device)


@pytest.mark.parametrize("integrator", ["zhong06", "generalized_alpha"])
def test_nor_on_how_many_steps_a_program_asks_for_at_once(tmp_path, integrator):
    path = tmp_path / "scene.yaml"
    path.write_text("simcli: 1\n" + scene("natural", integrator) + "output: {every: 7 ms, channels: [state]}\n")
    found = []
    for parts in ([14], [1] * 14, [3, 8, 3]):
        sim = simcli.Simulation(path)
        for part in parts:
            sim.step(part)
            sim.get("body.c.position")
        found.append([np.array(sim.get(f"body.{name}.{what}")) for name in ("arm", "bob", "c")
                      for what in ("position", "velocity")])  # fmt: skip
    for one in found[1:]:
        np.testing.assert_array_equal(one, found[0])
