"""Bodies that lack inertia of their own move by their joints, in every solver; the rest is refused by name."""

import numpy as np
import pytest
from support.forward import Runner
from support.scenes import faults_of
from support.weightless import LAWS, MATTER, alone, mechanisms, moving, text, textbook, types_of

from simcli.spec.honours.joint_fields import JOINTS
from simcli.spec.names import dofs

pytestmark = pytest.mark.usefixtures("scalar_code")

SOLVERS = ("maximal", "affine")  # natural: test_natural_massless.py
INTEGRATOR = {"maximal": "semi_implicit", "affine": "bdf2"}
CODES = {"SC423", "SC452"}  # what lacks inertia against its motion; the former is told before there is a model
SPAN, STEPS = 0.16, (2e-3, 1e-3)  # [s]
# Of coordinates after SPAN at the second step, [rad, m]: half a step at the 10.05 rad/s of the textbook's pendulum, whose
# small swings have w = 10.5 rad/s: h^2 w^3 t / 3 by which bdf2 lags.
ERROR = {"maximal": 5.1e-3, "affine": 5e-4}
ORDER = {"maximal": 0.9, "affine": 1.6}
AT_ONCE = 1e-7  # of reactions at frame 0, relative to the largest: what the softness of rows leaves of them
LOOPS = ("b1", "b2", "b3", "b4", *(f"bennett_h{k}" for k in range(4)))  # with redundant rows: reactions are not unique
RESOLVED = 2e-5  # [rad, m], errors from which on an order can be told from what affine joints yield


def refused(solver, matter):
    """Types of joints on which a body of a matter is refused alone, with the faults of their lines."""
    left, found = types_of(solver), {}
    while left:
        bodies, joints = alone(left, matter)
        faults = faults_of(text(solver, bodies, joints))
        if not faults:
            break
        for code, line, message in faults:
            k = line - 1 if line <= len(left) else line - 2 - len(left)
            found[left[k]] = (code, line, message)
        left = [kind for kind in left if kind not in found]
    return found


@pytest.mark.parametrize("matter", MATTER)
def test_solvers_take_what_moves_mass_and_refuse_the_rest_by_name(matter):
    """On the joints of a tree all agree. Outside it a body is free in the tree, and refused."""
    by_tree = set(refused("generalized", matter))
    for solver in SOLVERS:
        found = refused(solver, matter)
        for kind in types_of(solver):
            same = dofs.SAME.get(kind, kind)
            axes = kind != same and same == "d6"  # those of the name, not those of the test's d6
            if kind in dofs.NEVER_TREE:
                assert kind in found, (solver, kind)
            elif same in JOINTS["generalized"].types and not axes:
                assert (kind in found) == (same in by_tree), (solver, kind)
        for kind, (code, _, message) in found.items():
            assert code in CODES, (solver, kind)
            assert f"`{kind}`" in message or f"`b_{kind}`" in message, message


@pytest.mark.parametrize("solver", ["generalized", *SOLVERS])
@pytest.mark.parametrize("matter", ["point", "{diag: [0, 0.1, 0.1]}"])
@pytest.mark.parametrize("kind", ["fixed", "revolute", "ball"])
def test_a_free_joint_that_a_body_gets_counts_as_one_that_is_written(solver, matter, kind):
    """A point that is free and carries a body moves its inertia."""
    bodies = f"bodies: {{a: {{mass: 1, inertia: {matter}}}, b: {{mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}}}}}\n"
    own = f"k: {{type: {kind}, parent: a, child: b, at: [0, 0, 1]{', axis: [1, 0, 0]' if kind == 'revolute' else ''}}}"
    free = "f: {type: free, parent: world, child: a}"
    told = [{code for code, *_ in faults_of(f"{bodies}joints: {{{joints}}}\nsolver: {{type: {solver}}}\n")}
            for joints in (own, f"{free}, {own}")]  # fmt: skip
    assert told[0] == told[1]
    assert told[0] <= {"SC452"}
    assert kind == "ball" or not told[0]


def scene(solver, types):
    """The mechanisms, and each matter on each type of joint."""
    bodies, joints, forces = mechanisms()
    bodies["textbook"], joints["textbook"], _ = textbook(SPAN)
    for matter, kinds in types.items():
        more = moving([kind for kind in kinds if kind in JOINTS[solver].types], matter, f"{matter}_")
        bodies, joints = bodies | more[0], joints | more[1]
    # The speed of friction is times the step, of 1 s, for which a Runner is built.
    # Bodies of 1 kg and 1e8 Pa would twist by 1e-4 rad under the drive.
    more = ", friction_speed: 1.0e-5, tolerance: 1.0e-9, stiffness: 1.0e+10" if solver == "affine" else ""
    return text(solver, bodies, joints, forces, f", dt: 1.0e-3{more}")


def run(solver, integrator, device, steps, types):
    """Coordinates at the end by label, [rad, m, 1], one per step length, and the reactions at frame 0 by joint."""
    runner = Runner(scene(solver, types), integrator, device, frozenset(("state", "reactions")))
    model, found = runner.model, []
    for h in steps:
        seen = runner(h, round(SPAN / h), 1)
        assert seen["diag/status"].max() == 0
        found.append(seen["frames/joint_q"][-1, 0])
    labels = [label for label in model.dofs.q_label if "~" not in label]
    values = {label: np.array([one[k] for one in found]) for k, label in enumerate(labels)}
    reactions = seen["frames/joint_wrench"][0, 0]
    return values, {name: reactions[j] for j, name in enumerate(model.joints.name) if "~" not in name}


@pytest.fixture(scope="module")
def types():
    """Types on which generalized coordinates take each matter."""
    return {matter: [kind for kind in types_of("generalized") if kind not in refused("generalized", matter)]
            for matter in MATTER}  # fmt: skip


@pytest.fixture(scope="module")
def reference(types):
    """What generalized coordinates find with rk4."""
    from support.device import live_device

    return run("generalized", "rk4", live_device(), STEPS[1:], types)


@pytest.mark.parametrize("solver", [SOLVERS[0], pytest.param(SOLVERS[1], marks=pytest.mark.slow)])
def test_motions_are_those_of_generalized_coordinates(device, reference, types, solver):
    """Every type of joint, chains, a loop, springs, drives, soft limits, friction, a wrench with a couple; a closed form."""
    found, reactions = run(solver, INTEGRATOR[solver], device, STEPS, types)
    wanted = reference[0] | {"textbook": textbook(SPAN)[2]}
    for label, values in found.items():
        errors = np.abs(values - wanted[label])
        assert errors[1] < ERROR[solver], (label, errors)
        if errors.min() > RESOLVED:
            assert np.log2(errors[0] / errors[1]) > ORDER[solver], (label, errors)
    if solver == "maximal":  # joints of affine bodies yield, and frame 0 begins a step
        unique = [name for name in reference[1] if name not in (*LAWS, *LOOPS)]  # and not of laws, which a step takes late
        gaps = [np.abs(reactions[name] - reference[1][name]).max() for name in unique]
        most = max(np.abs(reference[1][name]).max() for name in unique)
        assert max(gaps) < AT_ONCE * most, unique[int(np.argmax(gaps))]


TOUCHING = """world: {gravity: [0, 0, -9.81], shapes: {ground: {type: plane, pose: {xyz: [0, 0, -1]}, material: rubber}}}
materials: {rubber: {friction: 0.4}}
bodies:
  bob: {pose: {xyz: [0, 0, -0.5]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
  hub: {pose: {xyz: [5, 3, 0]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
  up: {pose: {xyz: [5, 3, -0.7]}, mass: 1, inertia: point}
  low: {pose: {xyz: [5, 3, -1.3]}, mass: 1.5, inertia: point, shapes: {s: {type: sphere, radius: 0.1, material: rubber}}}
joints:
  swing: {type: revolute, parent: world, child: bob, at: [0, 0, 0], axis: [0, 1, 0], q: 1.5}
  h: {type: revolute, parent: world, child: hub, at: [5, 3, 0], axis: [0, 1, 0], damping: 1}
  p1: {type: universal, parent: hub, child: up, at: [5, 3, 0], axes: {angular: [[0, 1, 0], [1, 0, 0]]}, q: [1, 0.1]}
  p2: {type: revolute, parent: up, child: low, at: [5, 3, -0.7], axis: [0, 1, 0], q: 0.5, qd: 1}
solver: {type: SOLVER, dt: 1.0e-3}
"""
TOUCH_SPAN, TOUCHES = 0.5, {"generalized": "semi_implicit", "maximal": "semi_implicit", "natural": "moreau"}
APART = 1e-6  # [rad], of maximal from generalized coordinates: what solutions of single steps leave
PULL = 0.01  # of a reaction: half a step, at 5 rad/s, of what changes within 0.2 s; half of the centripetal force is 30 %
LATE = 5e-3  # [rad], of natural coordinates, whose positions are half a step from the velocities: at 5 rad/s, twice


@pytest.mark.slow
def test_points_touch_the_ground(device):
    """A double pendulum of points that strikes the ground and slides there.

    A pendulum that touches nothing takes steps of impulses with it: its reaction is that of its whole velocity.
    """
    found, pulls, channels = {}, {}, frozenset(("state", "energy", "contacts", "reactions"))
    for solver, integrator in TOUCHES.items():
        runner = Runner(TOUCHING.replace("SOLVER", solver), integrator, device, channels)
        one = runner(1e-3, 20, round(TOUCH_SPAN / 0.02))
        assert one["diag/status"].max() == 0
        assert one["energy/dissipated"][-1, 0] > 0.5
        found[solver] = one["frames/joint_q"][:, 0, 1:5]
        pulls[solver] = one["frames/joint_wrench"][-1, 0, runner.model.joints.name.index("swing")]
    assert np.abs(found["maximal"] - found["generalized"]).max() < APART
    assert np.abs(found["natural"] - found["generalized"]).max() < LATE
    assert np.abs(pulls["natural"] - pulls["generalized"]).max() < PULL * np.abs(pulls["generalized"]).max(), pulls


def test_joints_that_yield_do_not_carry_what_lacks_inertia():
    """In maximal coordinates, where they would be joints of a small tree; by joint and line."""
    scene_text = """bodies: {p: {mass: 1, inertia: point, com: [0, 0, -1]}}
joints:
  pin: {type: revolute, parent: world, child: p, at: [0, 0, 0], axis: [0, 1, 0], compliance: 1.0e-6}
solver: {type: maximal}
"""
    ((code, line, message),) = faults_of(scene_text)
    assert (code, line) == ("SC452", 2)
    assert "`pin` yields" in message
    assert "`p`" in message
