"""Scenes that tests of pages and of drawings share."""

from pathlib import Path

SCENES = Path(__file__).parents[2] / "scenes"
BAR = """
bodies:
  crank: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}, points: {tip: [1, 0, 0]}%s}
joints:
  pin: {type: revolute, parent: world, child: crank, axis: [0, 1, 0]}
solver: {type: %s, dt: 1e-3}
run: {duration: 0.1}
"""
