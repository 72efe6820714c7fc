"""Machines that touch: a stick that hits, Painleve's rod, a spinning top, a quadruped, a long chain with a heavy end.

The stick is the case impacting_stick; its data from there are in the JSON of references.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from support.contact_scenes import (
    GRAVITY,
    RADIUS,
    batch,
    chain,
    quadruped,
    rod,
    rollers,
    rotated,
    run,
    scene,
    top,
)

pytestmark = pytest.mark.slow
CASE = json.loads((Path(__file__).parent / "references" / "impacting_stick.json").read_text())
FINE, COARSE = 1e-4, 1e-3  # [s]
STEP = 1e-6  # [m/s], what a step may lack
# [m/s, m/s, rad/s] x, y, angle of the stick: the time of an impact is known to a step. Rates jump by 0.004, 0.4 and 1.6 at
# the first and by 0.003, 1.0 and 1.5 at the second one, whose angle, 1.6 h off, adds 30 rad/s^2 times 0.04 s.
JUMPS = np.array([0.1, 1.5, 5.0])
# name: angle of the rod from the ground [rad], where it begins, its friction, restitution and gravity.
LEAN = np.arctan(2.0)  # where mu = 4/3 is critical
RODS = {
    "stick": {"x": np.sqrt(0.5), "tilt": 0.75 * np.pi, "u": -0.5, "v": 0.1, "w": 0.1, "gap": 0.01, "mu": 0.01, "e": 1,
              "g": 10},
    "paradox": {"tilt": np.pi / 3, "u": -2, "mu": 2.5},
    "beyond critical": {"tilt": LEAN, "u": -3, "mu": 1.5},
    "below critical": {"tilt": LEAN, "u": -3, "mu": 1.0},
}


@pytest.fixture(scope="module", params=[COARSE, FINE])
def rods(request, tmp_path_factory):
    content = rod()
    cases = batch(RODS, content["params"])
    code, seen = run(tmp_path_factory.mktemp("rod"), "rod", {**scene("generalized", request.param, 0.8, content, 1e-3),
                                                             "batch": cases})  # fmt: skip
    assert code == 0
    return request.param, seen


def test_stick_hits_twice(rods):
    """Newton's impacts with friction along the slip that follows; errors are a part of the step."""
    h, seen = rods
    body, rows = seen.body("rod"), np.array(CASE["data"])
    along = rotated(body.orientation[:][:, 0], [1.0, 0, 0])
    tilt = np.arctan2(along[:, 2], along[:, 0]) - np.pi / 2
    found = np.column_stack([body.position[:][:, 0, 0], body.position[:][:, 0, 2], tilt])
    frames = np.searchsorted(seen.time[:], rows[:, 0] - 1e-9)
    error = np.abs(found[frames] - rows[:, 1:4]).max(axis=0)
    assert (error < JUMPS * h).all()


def test_contacts_of_rods_give_no_energy(rods):
    """Painleve's rod jams and jumps, and never has more energy than at the start."""
    _, seen = rods
    energy = seen.energy.total[:][:, 1:]
    assert (energy - energy[0]).max() < 1e-9
    assert np.diff(seen.energy.dissipated[:][:, 1:], axis=0).min() >= 0


def test_tip_below_the_critical_friction_feels_two_and_a_half_weights(rods):
    """N = m g/(1 + 3 cos (cos - mu sin)) = 2.5 m g: the centre is pushed up with 1.5 g in the first step."""
    _, seen = rods
    first = seen.body("rod").velocity[:][1, list(RODS).index("below critical"), 2]
    assert abs(first / 1e-3 - 1.5 * GRAVITY) < 0.01  # the rod turns a little in the first millisecond


@pytest.mark.parametrize("h", [0.01, 0.05])
def test_round_bodies_end_rolling(h, tmp_path):
    """v = (v_0 + k w_0 r)/(1 + k), k = I/(m r^2): sides of cylinders and capsules do not turn with the body."""
    content, starts = rollers(), {"slides": {"v": 2.0}, "spins": {"v": 1.0, "w": 10.0}}
    cases = batch(starts, content["params"])
    code, seen = run(tmp_path, "rollers", {**scene("generalized", h, 2, content), "batch": cases})
    assert code == 0
    for name, inertia in zip(seen.bodies, np.asarray(seen.model["body_inertia"])[0], strict=True):
        k = inertia[2, 2] / RADIUS**2
        body = seen.body(name)
        for world, start in enumerate(starts.values()):
            rolling = (start["v"] + k * start.get("w", 0.0) * RADIUS) / (1 + k)
            assert abs(body.velocity[-1, world, 0] - rolling) < 1e-7  # contact-solver.md, section 10
            assert abs(body.angular_velocity[-1, world, 1] * RADIUS - rolling) < 1e-7
            assert np.abs(body.position[:][:, world, 2] - RADIUS).max() < 1e-8
            assert np.abs(body.angular_velocity[-1, world, ::2]).max() < STEP


def test_top_on_a_table_precesses_as_on_a_pivot(tmp_path):
    """Steady precession of a top whose point sticks to a table; the error is of order one."""
    errors = []
    for h in (2e-4, 1e-4):
        content, rate, tip = top(spin=100.0, lean=np.radians(30))
        code, seen = run(tmp_path, f"top{h}", scene("generalized", h, 2, content, 0.01))
        assert code == 0
        body = seen.body("top")
        down = rotated(body.orientation[:][:, 0], [0.0, 0.0, -tip])
        turned = np.unwrap(np.arctan2(-down[:, 1], -down[:, 0]))
        errors.append(turned[-1] / seen.time[-1] / rate - 1)
        point = body.position[:][:, 0] + down
        assert np.abs(point[:, 2]).max() < 1e-9
        assert np.abs(point[:, :2]).max() < 10 * h
    assert abs(errors[0]) < 2e-3
    assert 0.4 < errors[1] / errors[0] < 0.6


def test_quadruped_stands(tmp_path):
    """Drives with clamps, dry friction, limits and four feet: Newton steps per step, and what a step lacks."""
    content = quadruped()
    cases = batch({mu: {"mu": mu} for mu in (0.3, 0.6, 0.8, 1.2)}, content["params"])
    code, seen = run(tmp_path, "quadruped", {**scene("generalized", 5e-3, 2, content), "batch": cases})
    assert code == 0
    tries = seen.diag.iterations[:][1:]
    assert tries.mean() < 1.5  # contact-solver.md, section 10
    assert tries[-50:].mean() < 1
    assert seen.diag.residual[:][1:].max() < STEP
    assert seen.diag.penetration[:].max() < 1e-6
    assert (seen.diag.contacts[:][-1] == 4).all()
    body = seen.body("torso")
    assert np.abs(body.velocity[-1]).max() < 1e-7
    assert np.abs(body.position[:][:, :, 1]).max() < 1e-9  # symmetric
    assert (body.position[-1, :, 2] > 0.3).all()


def test_chain_with_a_heavy_end_keeps_its_joints(tmp_path):
    """30 links, 1000:1, beside contact. At h = 10 ms it comes apart: forces act along the directions of a step's start."""
    code, seen = run(tmp_path, "chain", scene("maximal", 1e-3, 0.2, chain(30, 1000), 0.01))
    assert code == 0
    assert seen.diag.position_violation[:].max() < 1e-9
    assert abs(seen.energy.total[-1, 0] - seen.energy.total[0, 0]) < 0.01 * seen.energy.kinetic[-1, 0]
