"""Point masses on arms and thin links in natural coordinates: what lacks inertia by itself, and has some by its joints."""

import numpy as np
import pytest
from support.closed_loops import bennett
from support.forward import Runner
from support.process import simcli as command
from support.scenes import faults_of

pytestmark = pytest.mark.usefixtures("scalar_code")

LENGTH, GRAVITY = 1.2, 9.81
THIN = [2e-4, 0.1, 0.1]  # [kg m^2] of a rod of 1 kg and 1.1 m: its thickness is 4 % of its length
AT_ONCE, OF_MOTION = 1e-8, 2e-5  # of reactions at frame 0, relative; of coordinates after SPAN, [rad], at the second step
SPAN, STEPS = 0.4, (2e-3, 1e-3)  # [s]
ORDER = 0.2  # what an order may lack
JOINTS = ("pin", "p1", "p2", "bennett_h0", "bennett_h1", "bennett_h2")  # whose coordinates all solvers show


def flow(table):
    """Bodies or joints as lines of YAML."""
    return "".join(f"  {name}: {one!r}\n".replace("'", '"') for name, one in table.items())


def scene():
    """A pendulum of one point mass, one of two, and Bennett's linkage with thin links."""
    linkage = bennett()
    for body in linkage["bodies"].values():
        body["inertia"] = {"diag": THIN}
    return f"""world: {{gravity: [0, 0, {-GRAVITY}]}}
bodies:
  bob: {{pose: {{xyz: [5, 0, {-LENGTH}]}}, mass: 2, inertia: point}}
  up: {{pose: {{xyz: [5, 3, -0.7]}}, mass: 1, inertia: point}}
  low: {{pose: {{xyz: [5, 3, -1.6]}}, mass: 1.5, inertia: point}}
{flow(linkage["bodies"])}joints:
  pin: {{type: revolute, parent: world, child: bob, at: [5, 0, 0], axis: [0, 1, 0], q: 1.5}}
  p1: {{type: revolute, parent: world, child: up, at: [5, 3, 0], axis: [0, 1, 0], q: 1.0}}
  p2: {{type: revolute, parent: up, child: low, at: [5, 3, -0.7], axis: [0, 1, 0], q: 0.5, qd: 1}}
{flow(linkage["joints"])}solver: {{type: SOLVER, dt: 1.0e-3}}
run: {{duration: 1}}
"""


def run(solver, integrator, device, steps):
    """Coordinates at the end by step, (n steps, n joints), and the reactions of the pendulums at frame 0, (3, 6)."""
    runner = Runner(scene().replace("SOLVER", solver), integrator, device, frozenset(("state", "reactions")))
    joints, found = runner.model.joints, []
    at = [int(joints.q_start[joints.name.index(name)]) for name in JOINTS]
    for h in steps:
        seen = runner(h, round(SPAN / h), 1)
        found.append(seen["frames/joint_q"][-1, 0, at])
    return np.array(found), seen["frames/joint_wrench"][0, 0, [joints.name.index(name) for name in JOINTS[:3]]]


@pytest.fixture(scope="module")
def reference():
    """What generalized coordinates find with rk4, which need no inertia of points."""
    from support.device import live_device

    return run("generalized", "rk4", live_device(), STEPS[1:])


@pytest.mark.parametrize("integrator", ["zhong06", "generalized_alpha"])
def test_what_lacks_inertia_moves_by_its_joints(device, reference, integrator):
    (wanted,), reactions = reference
    found, at_once = run("natural", integrator, device, STEPS)
    assert np.abs(at_once - reactions).max() < AT_ONCE * np.abs(reactions).max()
    errors = np.abs(found - wanted).max(axis=1)
    assert errors[1] < OF_MOTION * (4 if integrator == "generalized_alpha" else 1), errors
    assert np.log2(errors[0] / errors[1]) > 2 - ORDER, errors
    assert np.ptp(wanted) > 1.0


@pytest.mark.parametrize("solver", ["natural", "generalized"])
@pytest.mark.parametrize("at", ["[0, 0, 0]", "[0, 1, 0]"])
def test_points_on_the_axis_of_their_joint_are_refused(solver, at):
    """Nothing moves there; nor does what turns about an axis through it."""
    text = f"""bodies: {{p: {{mass: 1, inertia: point}}}}
joints:
  pin: {{type: revolute, parent: world, child: p, at: {at}, axis: [0, 1, 0]}}
solver: {{type: {solver}}}
"""
    assert [(code, line) for code, line, _ in faults_of(text)] == [("SC452", 2)]


def test_free_points_are_told_of_their_kind():
    ((code, _, message),) = faults_of("bodies: {p: {mass: 1, inertia: point}}\nsolver: {type: natural}\n")
    assert code == "SC452"
    assert "moves no inertia" in message


BAR = """simcli: 1
bodies:
  bar: {mass: 1, inertia: {diag: [0, 0.1, 0.1]}, natural: 1P1V}
joints:
  pin: {type: ball, parent: world, child: bar, at: [0.3, HEIGHT, 0]}
forces:
  s: {type: spring, a: {world: [1, 1, 0]}, b: {body: bar, at: [0.1, HEIGHT, 0]}, stiffness: 1}
  w: {type: wrench, body: bar, force: [0, 0, 1], at: [0.1, HEIGHT, 0]}
solver: {type: natural, dt: 1.0e-3, integrator: generalized_alpha}
run: {duration: 0.01}
"""


def test_generalized_alpha_names_what_stands_beside_the_axis_of_a_bar(tmp_path):
    """By check, with body, joint or force, and line; rounding is not beside it."""
    for height, code in (("0.1", 1), ("1.0e-17", 0)):
        path = tmp_path / f"bar{code}.yaml"
        path.write_text(BAR.replace("HEIGHT", height))
        ended = command("check", path)
        assert ended.returncode == code, ended.stderr
        for line in (5, 7, 8) if code else ():
            assert f"bar1.yaml:{line}:" in ended.stderr
        assert ended.stderr.count("bar `bar`") == 3 * code
