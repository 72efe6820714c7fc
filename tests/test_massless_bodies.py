"""Bodies without mass between joints: the joints on both sides act as one, in every solver that takes them."""

import numpy as np
import pytest
from support.forward import Runner, slope
from support.scenes import faults_of

from simcli.solvers import SOLVERS
from simcli.solvers.tree.integrators import STAGES

pytestmark = pytest.mark.usefixtures("scalar_code")

# A universal joint, and the same as two hinges with a massless cross; a slide on a hinge, and the same as a d6 joint.
TWINS = """
world: {gravity: [0.5, 1, -9.81]}
defaults:
  body: {mass: 2, com: [0.3, 0.02, -0.05], inertia: {full: [[0.02, 0.003, 0], [0.003, 0.1, 0.002], [0, 0.002, 0.11]]}}
bodies:
  one: {pose: {xyz: [0, 0, 0]}}
  cross: {mass: 0, inertia: point}
  other: {pose: {xyz: [0, 0, 0]}}
  arm: {pose: {xyz: [0, 5, 0]}}
  sleeve: {pose: {xyz: [0, 5, 0]}, mass: 0, inertia: point}
  rod: {pose: {xyz: [0, 5, 0]}}
joints:
  universal: {type: universal, parent: world, child: one, at: [0, 0, 0], axes: {angular: [[0, 0, 1], [0, 1, 0]]},
              q: [0.3, -0.4], qd: [1.5, 0.7], damping: [0.1, 0.2]}
  first: {type: revolute, parent: world, child: cross, at: [0, 0, 0], axis: [0, 0, 1], q: 0.3, qd: 1.5, damping: 0.1}
  second: {type: revolute, parent: cross, child: other, at: [0, 0, 0], axis: [0, 1, 0], q: -0.4, qd: 0.7, damping: 0.2}
  slides: {type: d6, parent: world, child: arm, at: [0, 5, 0], axes: {linear: [[1, 0, 0]], angular: [[0, 1, 0]]},
           q: [0.1, 0.2], qd: [0.4, -0.6]}
  rail: {type: prismatic, parent: world, child: sleeve, at: [0, 5, 0], axis: [1, 0, 0], q: 0.1, qd: 0.4}
  pin: {type: revolute, parent: sleeve, child: rod, at: [0, 5, 0], axis: [0, 1, 0], q: 0.2, qd: -0.6}
"""
INTEGRATORS = list(STAGES)
SAME = 1e-11  # [rad, m], after SPAN
SPAN = 0.5  # [s]
EXTRAPOLATED = 2e-3  # [rad, m], of errors of 0.02 at the finest step


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_two_joints_about_a_massless_body_are_one_joint(integrator, device):
    """To rounding, because the rates of all of these coordinates are velocities of the solver."""
    runner = Runner(f"{TWINS}solver: {{type: generalized, dt: 1}}\n", integrator, device)
    apart = []
    for n in (200, 400):
        q = runner(SPAN / n, n, 1)["frames/joint_q"][-1, 0]
        assert np.isfinite(q).all()
        apart.append(np.abs(q[[0, 1, 4, 5]] - q[[2, 3, 6, 7]]).max())
    assert max(apart) < SAME


def test_the_maximal_solver_takes_them_and_tends_to_the_same(device):
    """It keeps them on the joints of the tree, because no velocity follows from a force on what has no mass."""
    peer = Runner(f"{TWINS}solver: {{type: generalized, dt: 1}}\n", "rk4", device)
    peer = peer(SPAN / 400, 400, 1)["frames/joint_q"][-1, 0]
    runner = Runner(f"{TWINS}solver: {{type: maximal, dt: 1}}\n", "semi_implicit", device)
    steps = SPAN / np.array([200, 400, 800])
    q = [runner(dt, round(SPAN / dt), 1)["frames/joint_q"][-1, 0, :8] for dt in steps]
    assert slope(steps, [np.abs(one - peer).max() for one in q]) == pytest.approx(1.0, abs=0.2)
    assert np.abs(2 * q[2] - q[1] - peer).max() < EXTRAPOLATED


REFUSED = {
    "mass: 0, inertia: {diag: [1, 1, 1]}": "SC401",  # inertia without mass
    "mass: 0": "SC401",
    "mass: -1, inertia: point": "SC401",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_no_massless_body(words):
    text = TWINS.replace("cross: {mass: 0, inertia: point}", f"cross: {{{words}}}")
    text += "solver: {type: generalized, dt: 1e-3}\n"
    assert REFUSED[words] in [code for code, _, _ in faults_of(text)]


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_nothing_holds_a_massless_body_that_stands_alone(solver):
    """And solvers whose bodies need mass refuse it by name."""
    text = f"bodies: {{p: {{mass: 0, inertia: point}}}}\nsolver: {{type: {solver}, dt: 1e-3}}\n"
    found = faults_of(text)
    assert found
    assert all("`p" in message for _, _, message in found)


@pytest.mark.parametrize("solver", ["natural", "affine"])
def test_solvers_whose_bodies_need_mass_refuse_it_by_name(solver):
    found = faults_of(f"{TWINS}solver: {{type: {solver}, dt: 1e-3}}\n")
    assert {name for name in ("cross", "sleeve") if any(f"`{name}` has no mass" in message for *_, message in found)} == {
        "cross", "sleeve"}  # fmt: skip


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("mass", "inertia", "words"), [
    ("1e-200", "[0.1, 0.1, 0.1]", "the mass of body `a` is 1e-200 kg"),
    ("1", "[1e-200, 1e-200, 1e-200]", "the inertia of body `a` is 1e-200 kg m^2"),
])  # fmt: skip
def test_what_is_too_small_to_divide_by_is_refused_at_its_line(solver, mass, inertia, words):
    text = f"""bodies:
  a: {{mass: {mass}, inertia: {{diag: {inertia}}}}}
solver: {{type: {solver}, dt: 1 ms}}
run: {{duration: 0.01}}
"""
    code, line, message = faults_of(text)[0]
    assert (code, line) == ("SC401", 1)
    assert words in message
    assert "too small to divide by" in message
