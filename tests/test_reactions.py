"""Reactions at pivots against closed forms."""

import numpy as np
import pytest
from support.process import simcli as command

import simcli

RELATIVE = 1e-6  # issue 3; rk4 at 1 ms is good to 1e-9 here
MASS, LENGTH, GRAVITY = 2.0, 1.2, 9.81
THIN = MASS * LENGTH**2 / 12
SWINGS = f"""
simcli: 1
bodies:
  bob: {{pose: {{xyz: [0, 0, {-LENGTH}]}}, mass: {MASS}, inertia: point}}
  rod: {{pose: {{xyz: [0, 3, {-LENGTH / 2}]}}, mass: {MASS}, inertia: {{diag: [{THIN}, {THIN}, 1.0e-3]}}}}
joints:
  bob_pin: {{type: revolute, parent: world, child: bob, at: [0, 0, 0], axis: [0, 1, 0], q: 1.5}}
  rod_pin: {{type: revolute, parent: world, child: rod, at: [0, 3, 0], axis: [0, 1, 0], q: 1.5}}
solver: {{type: generalized, integrator: rk4, dt: 1.0e-3}}
run: {{duration: 2}}
output: {{every: 0.05, channels: [state, reactions]}}
"""


@pytest.fixture(scope="module")
def swings(tmp_path_factory):
    """A point mass and a rod, let go at 1.5 rad."""
    folder = tmp_path_factory.mktemp("swings")
    (folder / "swings.yaml").write_text(SWINGS)
    ended = command("run", folder / "swings.yaml", "-o", folder / "out.h5", "-q")
    assert ended.returncode == 0, ended.stderr
    return folder / "out.h5"


@pytest.mark.parametrize(
    ("name", "inertia_ratio", "arm"),
    [("bob", 1.0, LENGTH), ("rod", 1.0 / 3.0, LENGTH / 2)],
)
def test_pivot_reaction(swings, name, inertia_ratio, arm):
    """F = m (a_com - g): along the arm m g cos + m arm w^2, across it m (g sin - arm alpha), alpha = m g arm sin / I_pivot.

    The speed comes from the energy, not from the run: I w^2 / 2 = m g arm (cos q - cos 1.5).
    """
    inertia = MASS * LENGTH**2 * inertia_ratio
    with simcli.open(swings) as run:
        q = run.joint(f"{name}_pin").q[:, 0, 0]
        wrench = run.joint(f"{name}_pin").wrench[:, 0]
    speed_squared = 2 * MASS * GRAVITY * arm * (np.cos(q) - np.cos(1.5)) / inertia
    along = MASS * (GRAVITY * np.cos(q) + arm * speed_squared)
    across = MASS * (GRAVITY * np.sin(q) - arm * MASS * GRAVITY * arm * np.sin(q) / inertia)
    # Hanging at angle q about +y, the arm points from the pivot along (-sin q, 0, -cos q); the pivot pulls back along it.
    force = along[:, None] * np.stack((np.sin(q), 0 * q, np.cos(q)), -1)
    force += across[:, None] * np.stack((-np.cos(q), 0 * q, np.sin(q)), -1)
    scale = np.abs(force).max()
    np.testing.assert_allclose(wrench[:, :3], force, atol=RELATIVE * scale, rtol=0)
    np.testing.assert_allclose(wrench[:, 3:], 0.0, atol=RELATIVE * scale)
    assert np.ptp(q) > 2.5
