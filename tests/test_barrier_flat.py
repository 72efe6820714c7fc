"""Stacks on flat faces stay where they are: nothing pushes a corner along a face, wherever its triangles meet."""

import numpy as np
import pytest
from support.barriers import Drop, box_mesh
from support.device import live_device

SIZE, D_HAT, N = 0.2, 1e-3, 5  # [m], [m], cubes
STILL = 1e-6  # [m], in 5 s
SETTLED = 1.0  # [s]: unequal loads make unequal gaps, so that a stack leans by 10 um first


def stack(aside, creep):
    """Five cubes, every other one 1 cm aside, whose corners lie on the diagonals below or `aside` of them."""
    lines = ["world: {shapes: {ground: {type: plane}}}", "materials: {stone: {friction: 0.5}}", "params: {y: 0.01}",
             f"batch: {{worlds: {len(aside)}, vary: {{params.y: {{list: {aside}}}}}}}",
             "defaults: {shape: {density: 1000, material: stone}}", "bodies:"]  # fmt: skip
    for k in range(N):
        x, y, z = 0.01 * (k % 2), f'"${{{k % 2} * y}}"', (SIZE + 0.95 * D_HAT) * (k + 0.5) + 0.475 * D_HAT
        box = f"{{type: box, size: [{SIZE}, {SIZE}, {SIZE}]}}"
        lines.append(f"  c{k}: {{pose: {{xyz: [{x}, {y}, {z}]}}, shapes: {{it: {box}}}}}")
    contact = f"contact: {{d_hat: {D_HAT}, creep_speed: {creep}}}"
    return "\n".join([*lines, f"solver: {{type: affine, dt: 5 ms, {contact}}}", "run: {duration: 6}"])


@pytest.mark.slow
def test_a_stack_does_not_slip(tmp_path):
    """At a creep speed of 1 mm/s, because what friction holds creeps, and leaning faces are something to hold."""
    run = Drop(stack([0.01, 0.0101], 1e-3), live_device(), tmp_path)
    place = run.columns["frames/body_q"][round(SETTLED / 5e-3) :, :, :, :2]
    assert np.abs(place - place[0]).max() < STILL
    for world in range(2):
        assert run.crossings([box_mesh((SIZE,) * 3)] * N, -1, world) == []
    assert (run.columns["diag/gap"] > 0).all()
    assert run.columns["diag/status"].max() == 0
