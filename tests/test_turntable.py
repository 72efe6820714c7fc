"""What friction holds on a turntable stays where it is, and what rolls there goes in circles; bounces keep their height."""

import numpy as np
import pytest
from support.process import simcli as command

import simcli

CREEP = 1e-6  # [1] of the radius in 5 s at 2 rad/s and 2 ms; h^4 w^4 / 8 of each step is 8e-8
ROLLS = 1e-4  # [m], of a ball that rolls two metres
LOST = 1e-4  # [m], of a height of one
SOLVERS = ["generalized", "maximal", "natural"]
SCENE = """
simcli: 1
bodies:
  moved: {mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {s: {type: cylinder, radius: 2, length: 0.1}}}
  driven: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [9, 0, 0]},
           shapes: {s: {type: cylinder, radius: 2, length: 0.1}}}
  box: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [0.5, 0, 0.15]},
        velocity: {linear: [0, 1, 0], angular: [0, 0, 2]}, shapes: {s: {type: box, size: [0.2, 0.2, 0.2]}}}
  crate: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [9.6, 0.8, 0.15], rpy: [0, 0, 0.4]},
          velocity: {linear: [-1.6, 1.2, 0], angular: [0, 0, 2]}, shapes: {s: {type: box, size: [0.2, 0.2, 0.2]}}}
  ball: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [-0.5, 0, 0.15]},
         velocity: {linear: [0, -1, 0], angular: [0, 0, 2]}, shapes: {s: {type: sphere, radius: 0.1}}}
joints:
  axle: {type: revolute, parent: world, child: moved, axis: [0, 0, 1], motion: {velocity: 2}}
  shaft: {type: revolute, parent: world, child: driven, axis: [0, 0, 1], at: [9, 0, 0], qd: 2,
          drive: {mode: velocity, target_velocity: 2, damping: 1000}}
solver: {type: SOLVER, dt: 2 ms, contact: {passes: 8}}
run: {duration: 5}
output: {every: 0.5, channels: [state]}
"""
BOUNCES = """
simcli: 1
materials: {m: {restitution: 1, friction: 0}}
world: {shapes: {floor: {type: plane, material: m}}}
bodies:
  ball: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [0, 0, 1.1]},
         shapes: {s: {type: sphere, radius: 0.1, material: m}}}
  RESTS
solver: {type: SOLVER, dt: 1 ms}
run: {duration: 2}
output: {every: 1 ms, channels: [state]}
"""
RESTING = """rests: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [5, 0, 0.1]},
          shapes: {s: {type: box, size: [0.2, 0.2, 0.2]}}}"""


def places(folder, text: str, body: str) -> np.ndarray:
    """[m], (F, 3)."""
    (folder / "scene.yaml").write_text(text)
    ended = command("run", folder / "scene.yaml", "-o", folder / "out.h5", "-q", "--force")
    assert ended.returncode == 0, ended.stderr
    with simcli.open(folder / "out.h5") as run:
        return {name: run.body(name).position[:, 0] for name in body.split()}


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_friction_holds_on_a_turntable_stays_there(tmp_path, solver):
    """A ball whose inertia is m R^2 rolls in a circle, with half of the turntable's spin: v' = 1/2 Omega x v."""
    found = places(tmp_path, SCENE.replace("SOLVER", solver), "box crate ball")
    for name, centre, radius in (("box", 0.0, 0.5), ("crate", 9.0, 1.0)):
        away = np.hypot(found[name][:, 0] - centre, found[name][:, 1])
        np.testing.assert_allclose(away, radius, rtol=CREEP)
    t = np.linspace(0, 5, len(found["ball"]))
    circle = np.stack((0.5 - np.cos(t), -np.sin(t)), axis=1)
    np.testing.assert_allclose(found["ball"][:, :2], circle, atol=ROLLS)


@pytest.mark.parametrize("rests", ["", RESTING], ids=["alone", "beside what rests"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_bounces_keep_their_height_whatever_rests_beside(tmp_path, solver, rests):
    height = places(tmp_path, BOUNCES.replace("SOLVER", solver).replace("RESTS", rests), "ball")["ball"][:, 2]
    peaks = height[1:-1][(height[1:-1] >= height[:-2]) & (height[1:-1] > height[2:])]
    assert len(peaks) >= 2
    np.testing.assert_allclose(peaks, 1.1, atol=LOST)
