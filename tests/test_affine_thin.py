"""Needles and plates: little inertia, much stiffness. They turn in a few iterations, fall and are hit."""

import numpy as np
import pytest
from support.barriers import Drop, box_mesh
from support.device import live_device
from test_affine_steps import Run

pytestmark = pytest.mark.usefixtures("scalar_code")
SPEED, H, N = 20.0, 0.01, 20  # [rad/s], [s]
STRAIN = 1e-5  # relative, of angles: twice what the least of the stiffnesses leaves, w^2 S / (4 kappa V)
# Steel of 2 mm that spins and tumbles. Worlds: stiffnesses up to 4e10 times the inertia over the square of the step.
SPINS = f"""
params: {{kappa: 1.0e+9}}
world: {{gravity: [0, 0, 0]}}
defaults: {{body: {{affine: {{stiffness: "${{kappa}}"}}}}, shape: {{density: 7800}}}}
bodies:
  plate: {{velocity: {{angular: [0, 0, {SPEED}]}}, shapes: {{it: {{type: box, size: [0.3, 0.3, 0.002]}}}}}}
  needle: {{velocity: {{angular: [{SPEED}, 0, 0]}}, shapes: {{it: {{type: box, size: [0.3, 0.002, 0.002]}}}}}}
  tumbling: {{velocity: {{angular: [5, 20, 3]}}, shapes: {{it: {{type: box, size: [0.3, 0.002, 0.002]}}}}}}
contact: {{enabled: false}}
batch: {{worlds: 4, vary: {{params.kappa: {{list: [1.0e+9, 1.0e+10, 1.0e+11, 1.0e+12]}}}}}}
solver: {{type: affine, integrator: bdf1, dt: {H}, tolerance: 1.0e-11}}
run: {{duration: {N * H}}}
"""


def test_thin_bodies_turn_in_a_few_iterations_as_the_formula_says(device):
    """A step along the chord that is made rigid again turns by tan phi+ = sin phi / (2 - cos phi)."""
    run = Run(SPINS, device, N, ("bodies",))
    assert not run.columns["diag/status"].any()
    assert run.columns["diag/iterations"].max() <= 6
    q = run.columns["frames/body_q"][..., 3:]
    angles = [np.arctan(SPEED * H)]
    for _ in range(N - 1):
        angles.append(np.arctan2(np.sin(angles[-1]), 2.0 - np.cos(angles[-1])))
    turned = np.cumsum([0.0, *angles])[:, None]
    for body, axis in ((0, 2), (1, 0)):
        angle = np.unwrap(2.0 * np.arctan2(q[:, :, body, axis], q[:, :, body, 3]), axis=0)
        assert angle == pytest.approx(np.repeat(turned, 4, axis=1), rel=STRAIN)
    assert q[:, 0, 2] == pytest.approx(q[:, 3, 2], abs=STRAIN)


TOUGH = """
params: {{r: 0.3, p: 0.4, v: -2, w: 3, n: 1.57}}
world: {{shapes: {{ground: {{type: plane}}}}}}
defaults: {{body: {{affine: {{stiffness: 1.0e+10}}}}}}
bodies:
  needle: {{pose: {{xyz: [2, 0, 0.3], rpy: [0.3, "${{n}}", 0]}}, velocity: {{linear: [0, 0, "${{v}}"], angular: [2, 1, 3]}},
           shapes: {{it: {{type: box, size: [0.3, 0.002, 0.002], density: 7800}}}}}}
  plate: {{pose: {{xyz: [0, 0, 0.4], rpy: ["${{r}}", "${{p}}", 0]}},
          velocity: {{linear: [0, 0, "${{v}}"], angular: ["${{w}}", 1, 3]}},
          shapes: {{it: {{type: box, size: [0.3, 0.3, 0.001], density: 7800}}}}}}
  cube: {{pose: {{xyz: [0, 0.05, 0.9]}}, velocity: {{linear: [0, 0, "${{3*v}}"]}},
         shapes: {{it: {{type: box, size: [0.1, 0.1, 0.1], density: 1000}}}}}}
solver: {{type: affine, dt: 0.01, integrator: {integrator}}}
run: {{duration: {duration}}}
batch: {{worlds: {worlds}, seed: 3, vary: {{
  params.r: {{uniform: [0, 6]}}, params.p: {{uniform: [0, 6]}}, params.v: {{uniform: [-10, 0]}},
  params.w: {{uniform: [-30, 30]}}, params.n: {{normal: [1.57, 0.05]}}}}}}
"""
# Of the energy at the start: what steps of 0.3 rad in which a plate is pressed on its edge give, and bdf2's third step of a
# spin of 0.3 rad. The same to six digits with a tolerance of 1e-11 m; none of it at a quarter of the step.
GAIN = 3e-3
MESHES = [box_mesh(size) for size in ((0.3, 0.002, 0.002), (0.3, 0.3, 0.001), (0.1, 0.1, 0.1))]


@pytest.mark.parametrize(("integrator", "worlds", "duration", "gain"), [
    ("bdf1", 4, 0.3, 1e-9), pytest.param("bdf1", 32, 0.5, GAIN, marks=pytest.mark.slow),
    pytest.param("bdf2", 32, 0.5, GAIN, marks=pytest.mark.slow)])  # fmt: skip
def test_needles_and_plates_fall_and_are_hit(tmp_path, integrator, worlds, duration, gain):
    run = Drop(TOUGH.format(integrator=integrator, worlds=worlds, duration=duration), live_device(), tmp_path)
    assert run.columns["diag/status"].max() == 0
    assert (run.columns["diag/gap"] > 0).all()
    assert np.isfinite(run.columns["diag/gap"]).any(axis=0).all()  # all have met something
    total = run.columns["energy/total"]
    assert (np.diff(total, axis=0) <= gain * total[0]).all()
    for world in range(worlds):
        assert all(run.crossings(MESHES, step, world) == [] for step in range(len(total)))
