"""Strongly stretched springs under generalized_alpha: the stiffness across their lines, steps that do not resolve it."""

import numpy as np
import pytest
import test_natural_quadratic as rows
from support.forward import Runner

pytestmark = pytest.mark.usefixtures("scalar_code")
# Relative: central differences with a step of 1e-6 of forces of order 1.
DIFFERENCES = 1e-7
STIFFNESS, REST, DAMPING = 40.0, 0.7, 3.0

CHAIN = """
params: {k: 1.0e6}
bodies:
  a: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
  b: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [1, 0, 0]}, points: {e: [0.5, 0.1, 0]}}
joints:
  pin: {type: revolute, parent: world, child: a, at: [-0.5, 0, 0], axis: [0, 1, 0], qd: 1}
  cross: {type: universal, parent: a, child: b, at: [0.5, 0, 0], axes: {angular: [[0, 1, 0], [0, 0, 1]]}, qd: [1, 0.5]}
forces:
  cord: {type: spring, a: {world: [2.5, 0, 0.1]}, b: b/e, stiffness: "${k}", damping: 1, rest_length: 0.5}
"""
STRUNG = """
params: {k: 1.0e6}
bodies:
  bead: {mass: 0.01, inertia: point, natural: 1P, velocity: {linear: [0, 0.5, 0.3]}, points: {c: [0, 0, 0]}}
  rod: {mass: 1, inertia: {diag: [0.01, 0.1, 0.1]}, pose: {xyz: [1.5, 0, 0]}, velocity: {angular: [1, 2, 3]},
        points: {l: [-0.5, 0, 0], r: [0.5, 0, 0]}}
forces:
  left: {type: spring, a: {world: [-1, 0, 0]}, b: bead/c, stiffness: "${k}", rest_length: 0.3}
  middle: {type: spring, a: bead/c, b: rod/l, stiffness: "${k}", rest_length: 0.3}
  right: {type: spring, a: rod/r, b: {world: [3, 0, 0]}, stiffness: "${k}", rest_length: 0.3}
"""
SOLVER = "\nsolver: {{type: {}, dt: 1.0e-3, integrator: {}}}\n"


def stretched(table, row, x):
    """Force along x of one spring whose length is a row, and its stiffness -dF/dx from the tables alone."""
    phi, G = rows.values(table, x)[row], rows.gradients(table, x)[row]
    length = np.sqrt(2.0 * phi)
    tension = STIFFNESS * (length - REST)
    H, own = np.zeros((table.n, table.n)), table.bend_row == row
    i, j, weight = table.bend_i[own], table.bend_j[own], table.bend_weight[0, own]
    H[i, j] = H[j, i] = weight
    along = G / length
    return -tension * along, (STIFFNESS - tension / length) * np.outer(along, along) + tension / length * H


def test_stiffness_of_a_spring_against_finite_differences(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text("simcli: 1\n" + STRUNG + SOLVER.format("natural", "generalized_alpha"))
    table = rows.expanded(path, springs=True)[2]
    lengths = np.flatnonzero(table.shape == 1)
    assert len(lengths) == 3
    x, step = np.random.default_rng(2).normal(size=table.n), 1e-6
    for row in lengths:
        K = stretched(table, row, x)[1]
        for i in range(table.n):
            e = step * np.eye(table.n)[i]
            change = (stretched(table, row, x + e)[0] - stretched(table, row, x - e)[0]) / (2 * step)
            assert np.abs(change + K[:, i]).max() < DIFFERENCES * np.abs(K).max()


def test_second_derivatives_of_all_rows_against_finite_differences(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text("simcli: 1\n" + CHAIN + SOLVER.format("natural", "generalized_alpha"))
    table = rows.expanded(path, springs=True)[2]
    random = np.random.default_rng(3)
    x, way, force = random.normal(size=table.n), random.normal(size=table.n), random.normal(size=len(table.is_hard))
    H = np.zeros((table.n, table.n))
    np.add.at(H, (table.bend_i, table.bend_j), force[table.bend_row] * table.bend_weight[0])
    H += np.tril(H, -1).T
    one, other = (force @ rows.gradients(table, x + s * way)[: len(force)] for s in (0.5, -0.5))
    assert np.abs(one - other - H @ way).max() < rows.ROUNDING * np.abs(H).max() * table.n


@pytest.mark.slow
def test_stretched_springs_that_no_step_resolves_converge(device):
    """Displacements across the lines are multiplied by up to 1e6 in a step, h^2 T / (L m)."""
    worlds = "batch: {worlds: 5, vary: {params.k: {list: [1.0e2, 1.0e4, 1.0e6, 1.0e7, 1.0e10]}}}\n"
    runner = Runner(STRUNG + SOLVER.format("natural", "generalized_alpha") + worlds, "generalized_alpha", device)
    frames = runner(1e-3, 100, 1)
    assert frames["diag/status"].max() == 0, frames["diag/status"]
    assert frames["diag/position_violation"].max() < 1e-11
    assert np.isfinite(frames["frames/body_q"]).all()


@pytest.mark.slow
def test_a_stretched_chain_to_order_two(device):
    steps, duration = (5e-5, 2.5e-5, 1.25e-5), 0.02
    found = []
    for kind, integrator, hs in (("natural", "generalized_alpha", (1e-3, *steps)), ("generalized", "rk4", (1e-5,))):
        runner = Runner(CHAIN + SOLVER.format(kind, integrator), integrator, device, frozenset(("bodies",)))
        for h in hs:
            frames = runner(h, round(duration / h), 1)
            assert frames["diag/status"].max() == 0
            found.append(frames["frames/body_q"][-1, 0])
    errors = [np.abs(one - found[-1]).max() for one in found[1:-1]]
    assert errors[2] < 1e-4, errors
    assert abs(errors[0] / errors[1] - 4) < 0.1, errors
    assert abs(errors[1] / errors[2] - 4) < 0.1, errors
