"""A slack spring with a damper, let go while it is stretched: its damper never pushes, in any solver and integrator."""

import numpy as np
import pytest
from support.forward import Runner

from simcli.spec.schema.scene import AffineSolver, GeneralizedSolver, MaximalSolver, NaturalSolver

# T = 20 (1.5 - 1) - 10 * 4 < 0 until the spring hangs: the body flies, and the damper takes what was stored.
ROPE = """
world: {{gravity: [0, 0, 0]}}
bodies:
  m: {{mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}, pose: {{xyz: [1.5, 0, 0]}}, velocity: {{linear: [-4, 0.5, 0]}},
      points: {{c: [0, 0, 0]}}}}
  n: {{mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}, pose: {{xyz: [5, 0, 0]}}}}
joints:
  w: {{type: ball, parent: world, child: n, at: [5, 0, 0]}}
forces:
  rope: {{type: spring, a: {{world: [0, 0, 0]}}, b: m/c, stiffness: 20, damping: 10, rest_length: 1, slack: true}}
solver: {{type: {solver}, dt: 1e-3}}
"""
STORED = 0.5 * 20 * 0.5**2
INTEGRATORS = [(spec.model_fields["type"].annotation.__args__[0], integrator)
               for spec in (GeneralizedSolver, MaximalSolver, NaturalSolver, AffineSolver)
               for integrator in spec.model_fields["integrator"].annotation.__args__
               if integrator != "auto"]  # fmt: skip


@pytest.mark.parametrize(("solver", "integrator"), INTEGRATORS)
def test_a_damper_of_a_slack_spring_never_pushes(device, solver, integrator):
    """The way is that of free flight, and the ledger closes with the step: to first order, where it is of first order."""
    run = Runner(ROPE.format(solver=solver), integrator, device)
    frames = run(1e-3, 300, 1)
    body = run.model.bodies.name.index("m")
    np.testing.assert_allclose(frames["frames/body_q"][-1, 0, body, :3], [0.3, 0.15, 0.0], atol=1e-9)
    assert frames["energy/dissipated"][-1, 0] == pytest.approx(STORED, abs=0.03)
    drifts = [np.abs(run(dt, round(0.3 / dt), 1)["energy/drift"]).max() for dt in (1e-3, 5e-4)]
    assert drifts[1] < 0.6 * drifts[0]


FALL = """
world: {gravity: [0, 0, -9.81]}
bodies:
  m: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0.3, 0, 1.8]}}
forces:
  rope: {type: spring, a: {world: [0, 0, 2]}, b: {body: m, at: [0, 0, 0]}, stiffness: '${K}', rest_length: 0.5, slack: true}
params: {K: 1}
batch: {worlds: 2, vary: {params.K: {list: [20, 200]}}}
"""


def test_generalized_alpha_meets_ropes_with_its_order(device):
    """A weight falls into a rope and bounces: against rk4."""
    exact = Runner(FALL + "solver: {type: generalized}\n", "rk4", device)(5e-5, 20000, 1)["frames/body_q"][-1, :, 0, :3]
    run = Runner(FALL + "solver: {type: natural}\n", "generalized_alpha", device)
    coarse, fine = (run(h, round(1 / h), 1) for h in (4e-3, 1e-3))
    errors = [np.abs(one["frames/body_q"][-1, :, 0, :3] - exact).max(axis=1) for one in (coarse, fine)]
    assert (errors[1] < 2e-5).all()
    assert (errors[1] < errors[0] / 8).all()  # 16 of second order, less where the rope gets taut or slack within a step
