"""Joints outside the tree that give way: integrators keep their orders in motion and ledger, over halvings of the step."""

import numpy as np
import pytest
from support.forward import Runner, slope

STEPS = (4e-3, 2e-3, 1e-3)
SPAN = 0.2  # [s]
ORDERS = {"implicit": 2, "rk4": 4}
TOLERANCE = 0.25  # of a slope over two halvings
# Two links whose end hangs on a rod of 1 kN/m and in a hinge of 5 kN/m.
LINKS = """
bodies:
  upper: {mass: 1, com: [0.2, 0, -0.1], inertia: {diag: [0.05, 0.06, 0.07]}}
  lower: {pose: {xyz: [0.5, 0, 0]}, mass: 1.5, com: [0.3, 0.1, 0], inertia: {diag: [0.05, 0.07, 0.06]}}
joints:
  a: {type: ball, parent: world, child: upper, at: [0, 0, 0], qd: [0.5, 0.7, -0.4]}
  b: {type: universal, parent: upper, child: lower, at: [0.5, 0, 0], qd: [0.5, -0.6],
      axes: {angular: [[1, 0, 0], [0, 0, 1]]}}
  rod: {type: distance, parent: world, child: lower, parent_frame: {xyz: [0.6, 0.8, 0]}, child_frame: {xyz: [0.5, 0, 0]},
        length: 0.9, loop: true, compliance: 1.0e-3}
  end: {type: ball, parent: world, child: lower, at: [1, 0, 0], loop: true, compliance: 2.0e-4}
"""


@pytest.mark.parametrize("integrator", ["implicit", pytest.param("rk4", marks=pytest.mark.slow)])
def test_rows_that_give_way_keep_the_order(device, scalar_code, integrator):
    """A Rosenbrock method is of second order only if its second node has what the first one gave, of every force in A."""
    run = Runner(f"{LINKS}solver: {{type: generalized, dt: 1.0e-3, integrator: {integrator}}}\n", integrator, device)
    ends = [{name: column[-1, 0] for name, column in run(h, round(SPAN / h), 1).items()} for h in (*STEPS, STEPS[-1] / 8)]
    last = ends.pop()
    assert slope(STEPS, [abs(end["energy/drift"]) for end in ends]) > ORDERS[integrator] - TOLERANCE
    for name in ("frames/joint_q", "frames/joint_qd"):
        errors = [np.abs(end[name] - last[name]).max() for end in ends]
        assert slope(STEPS, errors) > ORDERS[integrator] - TOLERANCE, name
