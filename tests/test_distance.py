"""Distance joints of the tree: their links are free, their length is a row."""

import numpy as np
import pytest
from support.forward import model_of

from simcli.solvers import SOLVERS, RunPlan

LENGTH = 1e-9  # [m], tolerance of the projection and what it leaves


@pytest.mark.slow
def test_a_rod_of_the_tree_keeps_its_length(device):
    """A distance joint leaves its link free; its length is a row, in the tree as in a loop."""
    text = """
bodies: {a: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 0, -1]}, velocity: {linear: [1, 0.5, 0]}}}
joints: {rod: {type: distance, parent: world, child: a, length: 1}}
"""
    model, options = model_of(text)
    assert model.joints.is_tree.all()
    solver = SOLVERS["generalized"](model, options, RunPlan(1e-3, 100, 5, frozenset(("state",))), device)
    solver.initial()
    at = solver.advance(5).columns["frames/body_q"][:, 0, 0, :3]
    assert np.abs(at[-1] - [0, 0, -1]).max() > 0.05
    assert np.abs(np.linalg.norm(at, axis=1) - 1).max() < LENGTH
