"""The sparse way of contact: what the dense way says, on few bodies; what stands and settles, on many."""

import numpy as np
import pytest
from support.contact_scenes import chain, run, scene
from support.large_worlds import brick_wall, fair, heap

slow = pytest.mark.slow
BOX, SPHERE = {"type": "box", "size": [0.2, 0.18, 0.16]}, {"type": "sphere", "radius": 0.1}
# Units of each, or relative to the largest; a step may lack 1e-6 m/s, but both ways lack nearly the same.
SAME = {"frames/body_q": 1e-10, "frames/body_qd": 1e-8, "frames/joint_q": 1e-10, "energy/total": 1e-8,
        "diag/penetration": 1e-10}  # fmt: skip
FORCES = {"frames/joint_effort": 1e-6, "frames/joint_wrench": 1e-6, "frames/multiplier": 1e-6}
PASSES, TOLERANCE = 40, 1e-8  # [1], [m/s], the tolerance of contact where nothing is said
JOINED = 1e-7  # [m], contact-solver.md, section 10, twice: the payload meets the ground
DRIFT = 1e-4  # [m] in a second, issue 5
SOLVED = 1e-5  # [m/s], contact-solver.md, section 10: median of the residuals of heaps
GAIN = 1e-4  # [1] of the energy at the start, in a step; likewise


def both_ways(folder, content):
    """Runs of a scene, dense and sparse."""
    seen = []
    for way in ("dense", "sparse"):
        solver = {**content["solver"], "contact": {**content["solver"].get("contact", {}), "linear": way}}
        code, found = run(folder, way, {**content, "solver": solver})
        assert code == 0
        seen.append(found)
    return seen


def assert_same(dense, sparse, columns=SAME):
    for name, tolerance in columns.items():
        one, other = (seen.column(name)[:] for seen in (dense, sparse))
        assert np.abs(one - other).max() < tolerance * max(1.0, np.abs(one).max()), name


@slow
def test_every_kind_of_row_is_the_same(tmp_path):
    """One step needs 40 passes: the pusher wedges a ball. Forces are compared of what both have solved."""
    dense, sparse = both_ways(tmp_path, scene("maximal", 5e-3, 0.2, fair(), contact={"passes": PASSES}))
    assert max(seen.diag.residual[:].max() for seen in (dense, sparse)) < TOLERANCE
    assert_same(dense, sparse, SAME | FORCES)
    assert dense.diag.contacts[:].max() > 4
    assert np.abs(dense.column("frames/joint_effort")[:]).max() > 1


@slow
def test_a_chain_with_a_heavy_end_is_the_same(tmp_path):
    """30 balls and a payload a thousand times as heavy as a link, which falls on the ground."""
    content = chain(30, 1000.0)
    content["world"]["shapes"]["ground"]["offset"] = -0.2
    dense, sparse = both_ways(tmp_path, scene("maximal", 0.01, 0.3, content))
    assert_same(dense, sparse)
    assert dense.diag.contacts[-1, 0] == 1
    assert sparse.diag.position_violation[:].max() < JOINED


@slow
@pytest.mark.parametrize("solver", ["generalized", "maximal"])
def test_a_heap_is_the_same(solver, tmp_path):
    """Until they have fallen on each other; then the same digits grow apart, as they do for any two orders of sums."""
    dense, sparse = both_ways(tmp_path, scene(solver, 0.01, 0.17, heap(3, 2, BOX)))
    assert_same(dense, sparse)
    assert dense.diag.contacts[:].max() > 40


@slow
def test_a_wall_of_many_bricks_stands(tmp_path):
    code, seen = run(tmp_path, "wall", scene("maximal", 0.01, 1.0, brick_wall(10, 10)))
    assert code == 0
    place = np.array([body.position[:, 0] for body in map(seen.body, seen.bodies)])
    assert np.abs(place - place[:, :1]).max() < DRIFT


@slow
def test_a_heap_of_many_boxes_settles(tmp_path):
    content = scene("maximal", 0.01, 1.5, heap(6, 6, BOX), contact={"passes": 10})
    code, seen = run(tmp_path, "heap", content)
    assert code == 0
    residual, energy = seen.diag.residual[1:, 0], seen.energy.total[:, 0]
    assert np.median(residual) < SOLVED
    assert np.diff(energy).max() < GAIN * energy[0]
    assert seen.energy.kinetic[-1, 0] < 1e-6 * energy[0]


@slow
def test_a_thousand_spheres_fall(tmp_path):
    code, seen = run(tmp_path, "spheres", scene("maximal", 0.01, 0.3, heap(10, 10, SPHERE)))
    assert code == 0
    assert np.isfinite(seen.column("frames/body_q")[:]).all()
    assert seen.diag.contacts[-1, 0] > 1000  # one for each sphere; those that fall side by side are not watched
