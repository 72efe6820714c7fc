"""Bodies that lack inertia of their own move by their joints, in every solver; the rest is refused by name.

Bodies without mass between joints: the joints on both sides act as one, in every solver that takes them.

Kinds of bodies in forward kinematics and projection: what is of another kind keeps its values, or is left out.
"""

import json

import h5py
import numpy as np
import pytest
from support.forward import Runner, slope
from support.process import run_here
from support.scenes import faults_of
from support.weightless import LAWS, MATTER, alone, mechanisms, moving, text, textbook, types_of

import simcli as package
from simcli.errors import Exit
from simcli.solvers import SOLVERS as MASSLESS_BODIES_SOLVERS
from simcli.solvers.base.integrators import STAGES
from simcli.spec.base import dofs
from simcli.spec.checks.joint_fields import JOINTS

pytestmark = pytest.mark.usefixtures("scalar_code")

SOLVERS = ("maximal", "affine")  # natural: test_natural_impulses.py
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
    told = [
        {code for code, *_ in faults_of(f"{bodies}joints: {{{joints}}}\nsolver: {{type: {solver}}}\n")}
        for joints in (own, f"{free}, {own}")
    ]
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
    return {
        matter: [kind for kind in types_of("generalized") if kind not in refused("generalized", matter)] for matter in MATTER
    }


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
    assert "`pin` has compliance" in message
    assert "`p`" in message


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
MASSLESS_BODIES_SPAN = 0.5  # [s]
EXTRAPOLATED = 2e-3  # [rad, m], of errors of 0.02 at the finest step


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_two_joints_about_a_massless_body_are_one_joint(integrator, device):
    """To rounding, because the rates of all of these coordinates are velocities of the solver."""
    runner = Runner(f"{TWINS}solver: {{type: generalized, dt: 1}}\n", integrator, device)
    apart = []
    for n in (200, 400):
        q = runner(MASSLESS_BODIES_SPAN / n, n, 1)["frames/joint_q"][-1, 0]
        assert np.isfinite(q).all()
        apart.append(np.abs(q[[0, 1, 4, 5]] - q[[2, 3, 6, 7]]).max())
    assert max(apart) < SAME


def test_the_maximal_solver_takes_them_and_tends_to_the_same(device):
    """It keeps them on the joints of the tree, because no velocity follows from a force on what has no mass."""
    peer = Runner(f"{TWINS}solver: {{type: generalized, dt: 1}}\n", "rk4", device)
    peer = peer(MASSLESS_BODIES_SPAN / 400, 400, 1)["frames/joint_q"][-1, 0]
    runner = Runner(f"{TWINS}solver: {{type: maximal, dt: 1}}\n", "semi_implicit", device)
    steps = MASSLESS_BODIES_SPAN / np.array([200, 400, 800])
    q = [runner(dt, round(MASSLESS_BODIES_SPAN / dt), 1)["frames/joint_q"][-1, 0, :8] for dt in steps]
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


@pytest.mark.parametrize("solver", sorted(MASSLESS_BODIES_SOLVERS))
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
        "cross",
        "sleeve",
    }


@pytest.mark.parametrize("solver", MASSLESS_BODIES_SOLVERS)
@pytest.mark.parametrize(
    ("mass", "inertia", "words"),
    [
        ("1e-200", "[0.1, 0.1, 0.1]", "the mass of body `a` is 1e-200 kg"),
        ("1", "[1e-200, 1e-200, 1e-200]", "the inertia of body `a` is 1e-200 kg m^2"),
    ],
)
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


BodyFlags = package.BodyFlags

ROUNDING = 1e-14  # [m], of lengths of order one
OLD = 777.0
SCENE = """
simcli: 1
bodies:
  rod: {pose: {xyz: [0, 0, 1]}, mass: 1, com: [0, 0, 0.5], inertia: {diag: [0.1, 0.1, 0.1]}}
  table: {kinematic: true}
  stone: {pose: {xyz: [5, 0, 0]}, mass: 1, inertia: {diag: [1, 1, 1]}}
joints:
  pin: {type: revolute, parent: rod, child: table, at: [0, 0, 1], axis: [0, 1, 0]}  # places the rod, which is its parent
  slide: {type: prismatic, parent: world, child: table, at: [0, 0, 0], axis: [1, 0, 0], motion: {position: 0.0}}
run: {duration: 0.1}
batch: {worlds: 2}
"""
STILL = ("--set", "bodies.table={mass: 1, inertia: {diag: [1, 1, 1]}}")
SHIFT, ANGLE = 0.3, 0.4


@pytest.fixture
def scene_of_flags(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE)
    return path


def poses():
    """By hand: the rod turns with the table as its child, so by minus the angle about y."""
    half = -ANGLE / 2
    rod = [SHIFT, 0, 1, 0, np.sin(half), 0, np.cos(half)]
    return np.array([rod, [SHIFT, 0, 0, 0, 0, 0, 1], [5, 0, 0, 0, 0, 0, 1]])


def moved(scene):
    """Model, a state with coordinates of its own whose bodies hold an old value, and where the coordinates lie."""
    model, state = package.load(scene)
    place = {name: slice(*model.joints.q_start[j : j + 2]) for j, name in enumerate(model.joints.name)}
    state.joint_q[:, place["slide"]], state.joint_q[:, place["pin"]] = SHIFT, ANGLE
    state.body_q[...] = OLD
    return model, state, place


@pytest.mark.parametrize(
    ("flags", "kept"),
    [(BodyFlags.ALL, ()), (BodyFlags.DYNAMIC, (1,)), (BodyFlags.KINEMATIC, (0, 2)), (1, (1,)), (0, (0, 1, 2))],
)
def test_bodies_of_other_kinds_keep_their_poses(scene_of_flags, flags, kept, device):
    model, state, _ = moved(scene_of_flags)
    package.eval_fk(model, state, body_flag_filter=flags)
    wanted = poses()
    wanted[list(kept)] = OLD
    assert np.abs(state.body_q - wanted).max() < ROUNDING


def test_joints_that_place_bodies_of_other_kinds_keep_their_coordinates(scene_of_flags, device):
    model, state, place = moved(scene_of_flags)
    cases = ((BodyFlags.DYNAMIC, "pin", ANGLE, "slide"), (BodyFlags.KINEMATIC, "slide", SHIFT, "pin"))
    for flags, written, value, kept in cases:
        state.body_q[...], state.joint_q[...] = poses(), OLD
        package.eval_ik(model, state, body_flag_filter=flags)
        assert np.abs(state.joint_q[:, place[written]] - value).max() < ROUNDING
        assert (state.joint_q[:, place[kept]] == OLD).all()


def test_views_filter_together_with_masks(scene_of_flags, device):
    model, state, place = moved(scene_of_flags)
    view = package.ArticulationView(model, "table")
    view.eval_fk(state, mask=np.array([True, False]), body_flag_filter=BodyFlags.DYNAMIC)
    assert np.abs(state.body_q[0, 0] - poses()[0]).max() < ROUNDING
    assert (state.body_q[0, 1:] == OLD).all()
    assert (state.body_q[1] == OLD).all()
    state.body_q[...], state.joint_q[...] = poses(), OLD
    view.eval_ik(state, mask=np.array([False, True]), body_flag_filter=BodyFlags.KINEMATIC)
    assert np.abs(state.joint_q[1, place["slide"]] - SHIFT).max() < ROUNDING
    assert (state.joint_q[1, place["pin"]] == OLD).all()
    assert (state.joint_q[0] == OLD).all()


def test_a_flag_that_means_nothing_is_refused(scene_of_flags, device):
    model, state, _ = moved(scene_of_flags)
    with pytest.raises(ValueError, match="BodyFlags"):
        package.eval_fk(model, state, body_flag_filter=4)


def command(*words):
    return run_here(*words)


def test_commands_give_bodies_and_joints_of_one_kind(scene_of_flags, capfd):
    folder = scene_of_flags.parent
    q = ("--q", f"slide={SHIFT}", "--q", f"pin={ANGLE}", "--world", "0")
    for kind, bodies, joints in (
        ("dynamic", [0, 2], {"pin": [ANGLE], "stone_free": [5, 0, 0, 0, 0, 0, 1]}),
        ("kinematic", [1], {"slide": [SHIFT]}),
    ):
        assert command("fk", scene_of_flags, *q, "--body-flags", kind, "-o", folder / f"{kind}.h5") == Exit.OK
        with package.open(folder / f"{kind}.h5") as result:
            assert result.labels("body_q")[0] == tuple(("rod", "table", "stone")[b] for b in bodies)
            assert np.abs(result["body_q"][0] - poses()[bodies]).max() < ROUNDING
        assert command("fk", scene_of_flags, *q, "-o", folder / "all.csv", "--force") == Exit.OK
        words = ("--states", folder / "all.csv", "--body-flags", kind, "-o", folder / f"{kind}-q.h5")
        assert command("ik", scene_of_flags, *words) == Exit.OK
        with package.open(folder / f"{kind}-q.h5") as result:
            found = dict(zip(result.labels("joint_q")[0], result["joint_q"][0], strict=True))
        wanted = {}
        for name, values in joints.items():
            wanted |= {name if len(values) == 1 else f"{name}:{k}": value for k, value in enumerate(values)}
        assert found.keys() == wanted.keys()
        assert all(abs(found[name] - wanted[name]) < ROUNDING for name in wanted)
    capfd.readouterr()


def test_a_residual_of_another_kind_does_not_count(scene_of_flags, capfd):
    folder = scene_of_flags.parent
    command("fk", scene_of_flags, "--world", "0", "-o", folder / "all.h5")
    with h5py.File(folder / "all.h5", "r+") as file:
        file["states/body_q"][0, 1, 1] += 0.25  # the table leaves its slide sideways, and the rod with it
        file["states/body_q"][0, 0, 1] += 0.25
    capfd.readouterr()
    assert (
        command("ik", scene_of_flags, "--states", folder / "all.h5", "--body-flags", "kinematic", "--json") == Exit.NEGATIVE
    )
    assert json.loads(capfd.readouterr().out)["residual_position"][0] == pytest.approx(0.25, abs=ROUNDING)
    with h5py.File(folder / "all.h5", "r+") as file:
        file["states/body_q"][0, :2, 1] -= 0.25
        file["states/body_q"][0, 0, 1] += 0.25
    assert command("ik", scene_of_flags, "--states", folder / "all.h5", "--body-flags", "kinematic") == Exit.OK
    assert command("ik", scene_of_flags, "--states", folder / "all.h5", "--body-flags", "dynamic") == Exit.NEGATIVE
    capfd.readouterr()


def test_a_kind_that_no_body_is_of_is_refused(scene_of_flags, capfd):
    command("fk", scene_of_flags, "-o", scene_of_flags.parent / "all.csv")
    for words in (
        ("fk", scene_of_flags, "--select", "stone", "--body-flags", "kinematic"),
        ("ik", scene_of_flags, *STILL, "--states", scene_of_flags.parent / "all.csv", "--body-flags", "kinematic"),
    ):
        assert command(*words) == Exit.USAGE
        assert "--body-flags kinematic: none" in "".join(capfd.readouterr())
