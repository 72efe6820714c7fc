"""Scenes with barrier contact at the door: what is refused, and where; and the matrix that contact needs."""

import numpy as np
import pytest
from support.device import live_device
from support.scenes import faults_of

from simcli.kernels.language import ti
from simcli.kernels.linear.skyline import SkylineMatrix, factorize_skyline, packed_index, substitute_skyline
from simcli.kernels.memory.arena import Arena

START = """
world: {shapes: {ground: {type: plane}}}
materials:
  good: {friction: 0.4, friction_static: 0.4}
  far: {restitution: 0.9}
bodies:
  ball: {pose: {xyz: [0, 0, 1]}, shapes: {it: {type: sphere, radius: 0.1, density: 100, material: good}}}
run: {duration: 1}
"""
SOLVER = "solver: {type: affine, dt: 0.01}\n"


@pytest.mark.parametrize(("text", "words"), [
    ("contact: {pairs: [{a: ball, b: ground, restitution: 0.1}]}\n" + SOLVER, "restitution"),
    ("contact: {pairs: [{a: ball, b: ground, rolling_friction: 1e-3}]}\n" + SOLVER, "rolling friction"),
    ("contact: {pairs: [{a: ball, b: ground, torsional_friction: 1e-3}]}\n" + SOLVER, "torsional friction"),
    ("contact: {pairs: [{a: ball, b: ground, friction: 0.3, friction_static: 0.5}]}\n" + SOLVER, "friction at rest"),
    ("contact: {enabled: true}\nsolver: {type: affine, dt: 0.01, precision: float32}\n", "single precision"),
    ("contact: {pairs: [{a: ball, b: ground, d_hat: 1 mm}]}\nsolver: {type: maximal, dt: 0.01}\n", "barrier of a pair"),
    ("contact: {pairs: [{a: ball, b: ground, barrier_stiffness: 1e9}]}\nsolver: {type: maximal, dt: 0.01}\n",
     "stiffness of a barrier"),
])  # fmt: skip
def test_what_the_barrier_does_not_know_is_refused_by_name(text, words):
    found = faults_of(text, START)
    assert [code for code, _, _ in found] == ["SC501"]
    assert words in found[0][2]
    assert found[0][1] == 0


def test_materials_that_nothing_collides_with_may_say_anything():
    assert faults_of(SOLVER, START) == []
    assert faults_of("contact: {pairs: [{a: ball, b: ground, d_hat: 2 mm, barrier_stiffness: 1e9}]}\n" + SOLVER, START) == []


@ti.kernel
def solve(m: ti.template()):
    for w in range(m.arena.n_blocks):
        m.arena.enter(w)
        factorize_skyline(m, w)
        substitute_skyline(m, w)


@pytest.mark.parametrize("worlds", [1, 5])
def test_the_skyline_solves_whatever_is_zero_in_some_worlds(worlds):
    n_bodies = 5
    n = 12 * n_bodies
    rng = np.random.default_rng(worlds)
    A = rng.normal(size=(worlds, n, n))
    A = A + np.swapaxes(A, 1, 2) + 3 * n * np.eye(n) * np.where(np.arange(n) == n - 1, -1.0, 1.0)  # and indefinite
    body = np.arange(n) // 12
    for w in range(worlds):
        A[w] *= np.abs(body[:, None] - body) <= 1 + w % 3  # each world has its own pattern
    b = rng.normal(size=(worlds, n))
    device = live_device().for_worlds(worlds)
    arena = Arena(device, worlds)
    m = SkylineMatrix(n_bodies, arena)
    arena.build()
    lower = np.tril_indices(n)
    assert packed_index(n, 0) == len(lower[0])
    m.value.write(A[:, *lower][..., None])
    m.x.write(b[..., None])
    arena.launch(solve, m)
    assert m.x.read()[..., 0] == pytest.approx(np.linalg.solve(A, b[..., None])[..., 0], rel=1e-11, abs=1e-14)
    assert (m.inverse.read()[..., 0] < 0).sum() == worlds
    arena.destroy()
