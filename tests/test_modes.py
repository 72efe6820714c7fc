"""Small motions about equilibria: closed forms, the three forms of a model against each other, mujoco, a simulation.

`simcli equilibrium|modes`: tables, JSON, the way back into a scene, and what they refuse.
"""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.runs import MIXED
from support.scenes import scene

from simcli.analysis.rest.equilibrium import search_equilibrium
from simcli.analysis.rest.modes import Study, check_bounds, refuse_modes, study
from simcli.analysis.rest.postures import NoEquilibriumError
from simcli.analysis.rest.spectrum import ModeKind
from simcli.analysis.rest.statics import Statics
from simcli.cli import process as cli_process
from simcli.errors import Exit, SceneError
from simcli.model.forms.maximal_form import maximal_form
from simcli.model.forms.natural_form import natural_form
from simcli.model.joints.state import State
from simcli.pipeline import build_model
from simcli.solvers import RunPlan, Stepper
from simcli.spec import resolve

EXACT = 1e-9  # relative: differences of order six leave some 1e-12 of a stiffness, equilibria some 1e-13 of a load
FORMS_AGREE = 1e-9  # relative; 1e-6 is asked for
G = 9.81
SWING_DT, SWING_STEPS = 2e-3, 6000
SWING = 1e-7  # relative: rk4 leaves (omega dt)^4 / 120 = 1e-10, crossings (omega dt)^2 / 6 = 2e-5 of a step over 9 periods

# Mechanisms that know nothing of each other: one kernel for all of their closed forms.
LABORATORY = """
bodies:
  bob: {mass: 2, com: [0, 0, -0.4], inertia: {diag: [0.05, 0.06, 0.02]}}
  post: {pose: {xyz: [1, 0, 0]}, mass: 2, com: [0, 0, 0.4], inertia: {diag: [0.05, 0.06, 0.02]}}
  upper: {pose: {xyz: [2, 0, 0]}, mass: 1.5, com: [0, 0, -0.3], inertia: {diag: [0.02, 0.02, 0.01]}}
  lower: {pose: {xyz: [2, 0, -0.7]}, mass: 0.8, com: [0, 0, -0.2], inertia: {diag: [0.01, 0.01, 0.01]}}
  lump: {pose: {xyz: [3, 0, 0]}, mass: 3, inertia: point, points: {c: [0, 0, 0]}}
  bead1: {pose: {xyz: [0.5, 5, 0]}, mass: 0.1, inertia: point, points: {c: [0, 0, 0]}}
  bead2: {pose: {xyz: [1.0, 5, 0]}, mass: 0.1, inertia: point, points: {c: [0, 0, 0]}}
  bead3: {pose: {xyz: [1.5, 5, 0]}, mass: 0.1, inertia: point, points: {c: [0, 0, 0]}}
  ringing: {pose: {xyz: [4, 0, 0]}, mass: 2, inertia: point, points: {c: [0, 0, 0]}}
  creeping: {pose: {xyz: [5, 0, 0]}, mass: 2, inertia: point, points: {c: [0, 0, 0]}}
  resting: {pose: {xyz: [6, 0, 0]}, mass: 2, inertia: point, points: {c: [0, 0, 0]}}
  stiff: {pose: {xyz: [11, 0, 0]}, mass: 2, inertia: point, points: {c: [0, 0, 0]}}
  door: {pose: {xyz: [7, 0, 0]}, mass: 4, com: [0.5, 0, 0], inertia: {diag: [0.2, 0.2, 0.3]}}
  heavy_door: {pose: {xyz: [9, 0, 0]}, mass: 4, com: [0.5, 0, 0], inertia: {diag: [0.2, 0.2, 0.3]}}
joints:
  bob: {type: revolute, parent: world, child: bob, at: [0, 0, 0], axis: [0, 1, 0], q: 0.3, limit: [-1, 1]}
  post: {type: revolute, parent: world, child: post, at: [1, 0, 0], axis: [0, 1, 0], q: 0.02}
  upper: {type: revolute, parent: world, child: upper, at: [2, 0, 0], axis: [0, 1, 0], q: 0.2}
  lower: {type: revolute, parent: upper, child: lower, at: [2, 0, -0.7], axis: [0, 1, 0], q: -0.1}
  lump: {type: prismatic, parent: world, child: lump, at: [3, 0, 0], axis: [0, 0, 1]}
  bead1: {type: d6, parent: world, child: bead1, at: [0.5, 5, 0], axes: {linear: [[1, 0, 0], [0, 1, 0]]}, q: [0.02, 0.01]}
  bead2: {type: d6, parent: world, child: bead2, at: [1.0, 5, 0], axes: {linear: [[1, 0, 0], [0, 1, 0]]}}
  bead3: {type: d6, parent: world, child: bead3, at: [1.5, 5, 0], axes: {linear: [[1, 0, 0], [0, 1, 0]]}}
  ringing: {type: prismatic, parent: world, child: ringing, at: [4, 0, 0], axis: [1, 0, 0],
            drive: {mode: position, target: 0.2, stiffness: 50, damping: 4, effort_limit: 20}}
  creeping: {type: prismatic, parent: world, child: creeping, at: [5, 0, 0], axis: [1, 0, 0], damping: 30,
             drive: {mode: position, stiffness: 50, damping: 0}}
  resting: {type: prismatic, parent: world, child: resting, at: [6, 0, 0], axis: [0, 0, 1], q: -0.11,
            limit: {lower: -0.1, upper: 1, stiffness: 1000, damping: 0}}
  stiff: {type: d6, parent: world, child: stiff, at: [11, 0, 0], axes: {linear: [[1, 0, 0], [0, 1, 0]]}}
  door: {type: revolute, parent: world, child: door, at: [7, 0, 0], axis: [0, 0, 1], q: 0.4}
  heavy_door: {type: revolute, parent: world, child: heavy_door, at: [9, 0, 0], axis: [0, 0, 1], damping: 0.7}
forces:
  below: {type: spring, a: {world: [3, 0, -1]}, b: lump/c, stiffness: 200, rest_length: 0.9}
  above: {type: spring, a: {world: [3, 0, 1]}, b: lump/c, stiffness: 300, rest_length: 0.8}
  steel: {type: spring, a: {world: [11.6, 0.8, 0]}, b: stiff/c, stiffness: 1e6, rest_length: 1}
  rubber: {type: spring, a: {world: [11.8, -0.6, 0]}, b: stiff/c, stiffness: 2, rest_length: 1}
  string0: {type: spring, a: {world: [0, 5, 0]}, b: bead1/c, stiffness: 80, rest_length: 0.3}
  string1: {type: spring, a: bead1/c, b: bead2/c, stiffness: 80, rest_length: 0.3}
  string2: {type: spring, a: bead2/c, b: bead3/c, stiffness: 80, rest_length: 0.3}
  string3: {type: spring, a: bead3/c, b: {world: [2, 5, 0]}, stiffness: 80, rest_length: 0.3}
solver: {type: generalized, dt: 1e-3}
run: {duration: 1}
"""

FOURBAR = """
world: {gravity: [0, -9.81, 0]}
defaults: {joint: {type: revolute, axis: [0, 0, 1]}}
bodies:
  crank: {pose: {xyz: [0.5, 0, 0]}, mass: 1, inertia: {diag: [0, 0.083, 0.083]}}
  coupler: {pose: {xyz: [1, 1, 0]}, mass: 2, inertia: {diag: [0.66, 0, 0.66]}}
  rocker: {pose: {xyz: [2.5, 1, 0]}, mass: 4, inertia: {diag: [4.3, 4.3, 4.3]}, points: {tip: [0.5, 0.2, 0]}}
joints:
  A: {parent: world, child: crank, at: [0, 0, 0]TREE}
  P1: {parent: crank, child: coupler, at: [1, 0, 0]}
  P2: {parent: coupler, child: rocker, at: [1, 2, 0]}
  B: {loop: true, parent: world, child: rocker, at: [4, 0, 0]LOOP}
forces:
  stay: {type: spring, a: {world: [3, 3, 0]}, b: rocker/tip, stiffness: 9, rest_length: 0.5, damping: DASHPOT}
solver: {type: generalized, dt: 1.0e-3, integrator: rk4}
run: {duration: 1}
"""


def fourbar(tree="", loop="", dashpot="0"):
    return FOURBAR.replace("TREE", tree).replace("LOOP", loop).replace("DASHPOT", dashpot)


def model_of(text):
    document = scene(text)
    return build_model(document, resolve(document))


def forms_of(model):
    """The tree, the maximal and the natural form of a model."""
    start = State.of(model)
    return {"tree": model, "loose": maximal_form(model, start), "natural": natural_form(model, start)}


def studied(form, device, stable=False):
    statics = Statics(form, device)
    found = search_equilibrium(statics, stable)
    return Study(form, statics, device, replace(found, posture=statics.aligned(found.posture)), [])


def eigenvalues(found):
    return np.array([mode.eigenvalue for mode in found.modes])


def twists(found):
    """Twists of all bodies in the first mode per spin of the first body about z."""
    posture = found.equilibrium.posture
    x = posture.U @ found.modes[0].shape
    real, imag = found.statics.balance(posture.q, rate=np.stack((x.real, x.imag)), angle=posture.angle).twist
    return (real + 1j * imag) / (real[0, 5] + 1j * imag[0, 5])


def off(found, wanted):
    return np.abs(np.sort_complex(np.atleast_1d(found)) / np.sort_complex(np.atleast_1d(wanted)) - 1.0).max()


@pytest.fixture(scope="module")
def laboratory():
    from support.device import live_device

    found = study(model_of(LABORATORY), live_device())
    yield found
    found.close()


def of(found, *joints):
    """Eigenvalues of the modes that move some joints and nothing else."""
    rate, _ = found.shapes
    model = found.model
    mine = np.isin(np.array(model.joints.name)[model.dofs.joint], joints)
    moved = np.abs(rate[:, mine]).max(axis=1) > 0.5
    assert np.abs(rate[moved][:, ~mine]).max() < 1e-6
    return eigenvalues(found)[moved]


def test_pendulum(laboratory):
    omega = math.sqrt(2 * G * 0.4 / (0.06 + 2 * 0.4**2))
    assert off(of(laboratory, "bob").imag, omega) < EXACT


def test_inverted_pendulum_grows(laboratory):
    rate = math.sqrt(2 * G * 0.4 / (0.06 + 2 * 0.4**2))
    assert off(of(laboratory, "post").real, [-rate, rate]) < EXACT
    assert laboratory.slopes[0] == 1


def test_double_pendulum(laboratory):
    m1, m2, l1, c1, c2, i1, i2 = 1.5, 0.8, 0.7, 0.3, 0.2, 0.02, 0.01
    side, own = i2 + m2 * (c2**2 + l1 * c2), i2 + m2 * c2**2
    M = np.array([[i1 + m1 * c1**2 + i2 + m2 * (l1 + c2) ** 2, side], [side, own]])
    K = G * np.array([[m1 * c1 + m2 * (l1 + c2), m2 * c2], [m2 * c2, m2 * c2]])
    assert off(of(laboratory, "upper", "lower").imag, np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)))) < EXACT


def test_mass_on_two_springs(laboratory):
    assert off(of(laboratory, "lump").imag, math.sqrt(500 / 3)) < EXACT
    shift = (300 * (1 - 0.8) - 200 * (1 - 0.9) - 3 * G) / 500
    at = laboratory.model.joints.name.index("lump")
    assert laboratory.joint_q()[laboratory.model.joints.q_start[at]] == pytest.approx(shift, rel=1e-11)


def test_string_of_beads_is_held_by_its_tension(laboratory):
    n, m, k, a, rest = 3, 0.1, 80.0, 0.5, 0.3
    half = np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1)))
    along, across = (2.0 * math.sqrt(stiffness / m) * half for stiffness in (k, k * (a - rest) / a))
    assert off(of(laboratory, "bead1", "bead2", "bead3").imag, [*along, *across]) < EXACT


def test_damped_oscillators(laboratory):
    (mode,) = (mode for mode in laboratory.modes if abs(mode.eigenvalue + 1 - 1j * math.sqrt(24)) < 1e-6)
    assert off([mode.eigenvalue], [complex(-1, math.sqrt(24))]) < EXACT
    assert mode.omega == pytest.approx(5, rel=EXACT)
    assert mode.damping_ratio == pytest.approx(0.2, rel=EXACT)
    assert mode.frequency == pytest.approx(math.sqrt(24) / (2 * math.pi), rel=EXACT)
    root = math.sqrt(30**2 - 4 * 2 * 50)
    assert off(of(laboratory, "creeping").real, [(-30 - root) / 4, (-30 + root) / 4]) < EXACT


def test_a_soft_mode_beside_a_stiff_one(laboratory):
    """Springs at right angles, askew to the coordinates."""
    soft, stiff = np.sort(of(laboratory, "stiff").imag)
    assert soft == pytest.approx(1, rel=EXACT)
    assert stiff == pytest.approx(math.sqrt(1e6 / 2), rel=EXACT)


def test_soft_limit_that_carries_is_a_spring(laboratory):
    assert off(of(laboratory, "resting").imag, math.sqrt(1000 / 2)) < EXACT


def test_what_stays_where_it_is_put_is_zero_and_not_noise(laboratory):
    assert list(of(laboratory, "door")) == [0]
    still, creeps = sorted(of(laboratory, "heavy_door"), key=abs)
    assert still == 0
    assert off([creeps], [-0.7 / (0.3 + 4 * 0.25)]) < EXACT
    assert laboratory.slopes[1] == 2


def test_reactions_and_residual(laboratory):
    found = laboratory.equilibrium
    assert max(found.force, found.torque) < 1e-9
    at = laboratory.model.joints.name.index("bob")
    assert np.allclose(found.posture.found.wrench[0, at], [0, 0, 2 * G, 0, 0, 0], atol=1e-9)


def test_what_leans_on_a_stop_is_refused(laboratory):
    statics, equilibrium = laboratory.statics, laboratory.equilibrium
    before = statics.balance.constraints
    check_bounds(statics, equilibrium)
    statics.balance.constraints = replace(before, laws=replace(before.laws, lower=np.full_like(before.laws.lower, 0.2)))
    with pytest.raises(NoEquilibriumError, match=r"`bob` comes to rest at .*hard limit is \[0.2, 1\]"):
        check_bounds(statics, equilibrium)
    statics.balance.constraints = before


@pytest.fixture(scope="module")
def damped_fourbar():
    """With a spring, a dashpot, and dampers on a joint of the tree and on the one that closes the loop."""
    from support.device import live_device

    found = studied(model_of(fourbar(", damping: 0.9", ", damping: 40", "6")), live_device(), stable=True)
    assert [mode.kind for mode in found.modes] == [ModeKind.OSCILLATION]
    assert found.modes[0].damping_ratio > 0.01
    yield found
    found.close()


@pytest.mark.parametrize("form", ["natural", pytest.param("loose", marks=pytest.mark.slow)])
def test_a_closed_loop_is_the_same_in_every_form(damped_fourbar, device, form):
    found = studied(forms_of(damped_fourbar.model)[form], device, stable=True)
    assert off(eigenvalues(found), eigenvalues(damped_fourbar)) < FORMS_AGREE
    assert found.slopes == (0, 0)
    pose, other = (one.equilibrium.posture.found.pose[0] for one in (damped_fourbar, found))
    assert np.abs(pose[:, :3] - other[:, :3]).max() < 1e-10
    assert np.abs(twists(damped_fourbar) - twists(found)).max() < 1e-8
    for one in (damped_fourbar.statics, found.statics):  # a search begins where a run does
        np.testing.assert_array_equal(one.start().q, one.model.joint_q[0])
    found.close()


GEARED = """
bodies:
  bob: {mass: 2, com: [0, 0, -0.4], inertia: {diag: [0.05, 0.06, 0.02]}}
  wheel: {pose: {xyz: [1, 0, 0]}, mass: 1, inertia: {diag: [0.1, 0.2, 0.1]}}
joints:
  bob: {type: revolute, parent: world, child: bob, at: [0, 0, 0], axis: [0, 1, 0], armature: 0.1LOOP}
  wheel: {type: revolute, parent: world, child: wheel, at: [1, 0, 0], axis: [0, 1, 0], mimic: {joint: bob, ratio: -2}LOOP}
forces: {clock: {type: torsion, joint: bob, stiffness: 7}}
solver: {type: generalized, dt: 1e-3}
run: {duration: 1}
"""


@pytest.mark.parametrize(
    "loop", [pytest.param("", id="tree"), pytest.param(", loop: true", id="outside", marks=pytest.mark.slow)]
)
def test_gears_armature_and_torsion_springs_in_and_outside_the_tree(device, loop):
    """(I + A + n^2 J) x'' = -(m g l + k) x about the lowest place, n the ratio of the gear."""
    found = study(model_of(GEARED.replace("LOOP", loop)), device)
    omega = math.sqrt((2 * G * 0.4 + 7) / (0.06 + 2 * 0.4**2 + 0.1 + 4 * 0.2))
    assert off(eigenvalues(found).imag, omega) < EXACT
    found.close()


@pytest.mark.slow
def test_trees_in_space_are_the_same_in_every_form(device):
    """A ball joint, a slide with a drive, a hinge with a motor, a free body on a spring: nothing at rest is symmetric."""
    text = MIXED.replace("simcli: 1\n", "").replace("armature: 0.01", "armature: 0")  # which rows do not have
    found = {name: studied(form, device, stable=True) for name, form in forms_of(model_of(text)).items()}
    wanted = eigenvalues(found["tree"])
    assert len(wanted) == 11
    for one in found.values():
        assert off(eigenvalues(one), wanted) < FORMS_AGREE
        one.close()


@pytest.mark.slow
def test_geometric_stiffness_of_multipliers_is_what_holds_a_pendulum(device):
    """In natural and maximal form a pendulum is held by its multipliers alone: without them K = 0."""
    pin = next(line for line in LABORATORY.splitlines() if line.startswith("  bob: {type"))
    text = LABORATORY.split("  post:")[0] + f"joints:\n{pin}\nsolver: {{type: natural, dt: 1e-3}}\nrun: {{duration: 1}}\n"
    forms = forms_of(model_of(text))
    wanted = math.sqrt(2 * G * 0.4 / (0.06 + 2 * 0.4**2))
    found = studied(forms["natural"], device)
    assert off(eigenvalues(found).imag, wanted) < EXACT
    posture = found.equilibrium.posture
    bare = found.statics.stiffness(type(posture)(**{**vars(posture), "multiplier": 0.0 * posture.multiplier}))
    assert np.abs(bare.matrix).max() < 1e-9 * np.abs(found.stiffness.matrix).max()
    found.close()


def small_swing(found, device):
    """[rad/s], of the first joint of a mechanism that starts from its equilibrium with 1e-5 of its first mode."""
    model, q = found.model, found.joint_q()[None]
    rate, _ = found.shapes
    starts = np.arange(model.n_qd) == 0  # the others follow
    dofs = replace(model.dofs, qd_given=starts)
    moving = replace(model, dofs=dofs, joint_q=q, joint_qd=1e-5 * starts * rate[0].real[None])
    plan = RunPlan(SWING_DT, 1, SWING_STEPS, frozenset(("state",)))
    stepper = Stepper(moving, SimpleNamespace(integrator="rk4", max_velocity=1e9), plan, device)
    stepper.initial()
    swing = stepper.advance(SWING_STEPS)
    x = swing.columns["frames/joint_q"][:, 0, 0] - q[0, 0]
    up = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))
    crossing = swing.time[up] - x[up] * SWING_DT / (x[up + 1] - x[up])
    return 2 * np.pi * (len(crossing) - 1) / (crossing[-1] - crossing[0])


@pytest.mark.slow
def test_a_small_swing_has_the_frequency(device):
    found = study(model_of(fourbar()), device, stable=True)
    assert abs(small_swing(found, device) / found.modes[0].omega - 1.0) < SWING
    found.close()


def test_prescribed_motion_holds_and_a_moving_one_is_refused():
    text = (
        "bodies: {rod: {mass: 1, com: [0, 0, -1], inertia: {diag: [1, 1, 1]}}}\njoints:\n  pin: {type: revolute, "
        "parent: world, child: rod, at: [0, 0, 0], axis: [0, 1, 0], %s}\nsolver: {type: generalized, dt: 1e-3}\n"
        "run: {duration: 1}\nsignals: {sweep: {sine: {amplitude: 1, frequency: 1}}}\n"
    )
    for field, word in {
        "friction: 0.1": "dry friction",
        "motion: {position: $sweep}": "has a prescribed motion",
        "motion: {velocity: 1}": "has a prescribed motion",
    }.items():
        document = scene(text % field)
        with pytest.raises(SceneError) as raised:
            refuse_modes(build_model(document, resolve(document)), document)
        (fault,) = raised.value.faults
        assert (fault.code, fault.where.line) == ("SC607", 4)
        assert word in fault.message
    document = scene(text % "motion: {position: 0.4}")
    refuse_modes(build_model(document, resolve(document)), document)


CPU = ("--device", "cpu", "--threads", "1")
# A rod on a torsion drive, with a slack cord beside it; two worlds of different drives.
ROD = """simcli: 1
params: {k: 30}
bodies:
  rod: {mass: 2, com: [0, 0, -0.5], inertia: {diag: [0.2, 0.2, 0.01]}, points: {tip: [0, 0, -1]}}
joints:
  pin: {type: revolute, parent: world, child: rod, at: [0, 0, 0], axis: [0, 1, 0], q: 0.2,
        drive: {mode: position, target: 1.0, stiffness: "${k}", damping: 0.5}}
forces:
  cord: {type: spring, a: {world: [0, 0, 2]}, b: rod/tip, stiffness: 100, rest_length: 5, slack: true}
batch: {worlds: 2, vary: {params.k: {list: [30, 60]}}}
solver: {type: generalized, dt: 1e-3}
run: {duration: 1}
"""


@pytest.fixture
def command(capfd, tmp_path, monkeypatch):
    """Run a command in this process on the rod's scene; same door, same streams."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rod.yaml").write_text(ROD)

    def run(*words):
        code = cli_process.run_command([*words, *CPU], debug=False, as_json="--json" in words)
        said = capfd.readouterr()
        assert "Traceback" not in said.err
        return SimpleNamespace(code=code, out=said.out, err=said.err)

    return run


def angle_of(stiffness):
    """[rad], of the rod at rest: k (1 - q) = m g l sin q."""
    q = 0.5
    for _ in range(50):
        q -= (2 * G * 0.5 * math.sin(q) - stiffness * (1 - q)) / (2 * G * 0.5 * math.cos(q) + stiffness)
    return q


def test_modes_as_json(command):
    done = command("modes", "rod.yaml", "--world", "1", "--json")
    assert done.code == Exit.OK
    found = json.loads(done.out)
    q, inertia = angle_of(60), 0.2 + 2 * 0.25
    (mode,) = found["modes"]
    omega = math.sqrt((60 + 2 * G * 0.5 * math.cos(q)) / inertia)
    zeta = 0.5 / (2 * inertia * omega)
    assert (found["schema"], found["world"], mode["kind"]) == ("simcli.modes/1", 1, "oscillation")
    assert mode["omega"] == pytest.approx(omega, rel=EXACT)
    assert mode["damping_ratio"] == pytest.approx(zeta, rel=EXACT)
    assert mode["eigenvalue"] == pytest.approx([-zeta * omega, omega * math.sqrt(1 - zeta**2)], rel=EXACT)
    parts = mode["joint_qd"]["real"]["pin"], mode["joint_qd"]["imag"]["pin"]
    assert parts == (pytest.approx([1.0], rel=1e-15), pytest.approx([0.0], abs=1e-15))
    c, s = math.cos(q), math.sin(q)
    assert mode["body_qd"]["real"]["rod"] == pytest.approx([-0.5 * c, 0, 0.5 * s, 0, 1, 0], abs=1e-12)
    at = found["equilibrium"]
    assert at["joint_q"]["pin"] == pytest.approx([q], rel=EXACT)
    assert at["joint_wrench"]["pin"] == pytest.approx([0, 0, 2 * G, 0, 60 * (1 - q), 0], abs=1e-8)
    assert at["stable"]
    assert (found["units"]["joint_qd"], found["units"]["omega"]) == ({"pin": ["rad/s"]}, "rad/s")
    assert "`cord` is slack" in done.err


def test_an_equilibrium_pasted_into_its_scene_is_its_initial_state(command, tmp_path):
    done = command("modes", "rod.yaml", "--at", "initial")
    assert done.code == Exit.NEGATIVE
    assert done.out == ""
    assert "no equilibrium" in done.err
    assert "N m are out of balance along `pin`" in done.err
    block = command("equilibrium", "rod.yaml", "--initial").out
    (tmp_path / "rest.yaml").write_text(ROD + block)
    done = command("modes", "rest.yaml", "--at", "initial")
    assert done.code == Exit.OK
    header, line = done.out.splitlines()
    assert header.split("  ")[1:3] == ["mode", "kind"]
    assert line.split()[:2] == ["1", "oscillation"]
    assert line.endswith("pin 1")
    assert "stable equilibrium after 0 iterations" in done.err


@pytest.mark.parametrize("name", ["modes", "equilibrium"])
def test_the_text_says_which_world_of_a_batch_it_is_about(command, name):
    assert "world 0 of 2" in command(name, "rod.yaml").err
    assert "world 1 of 2" in command(name, "rod.yaml", "--world", "1").err


def test_what_falls_has_no_equilibrium(command, tmp_path):
    (tmp_path / "stone.yaml").write_text(
        "simcli: 1\nbodies: {stone: {mass: 1, inertia: {diag: [1, 1, 1]}}}\n"
        "solver: {type: natural, dt: 1e-3}\nrun: {duration: 1}\n"
    )
    done = command("equilibrium", "stone.yaml", "--json")
    assert done.code == Exit.NEGATIVE
    assert "9.81 N are out of balance along `stone_free:2`" in done.err
    assert json.loads(done.out)["exit_code"] == Exit.NEGATIVE


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("modes", "rod.yaml", "--set", "joints.pin.friction=0.1"), Exit.SCENE, "[SC607]: joint `pin` has dry friction"),
        (("modes", "rod.yaml", "--world", "2"), Exit.USAGE, "--world 2: the batch has worlds 0 to 1"),
        (("modes", "rod.yaml", "--at", "initial", "--stable"), Exit.USAGE, "--stable"),
        (("modes", "rod.yaml", "--at", "0.5"), Exit.USAGE, "write search or initial"),
        (("equilibrium", "rod.yaml", "--initial", "--json"), Exit.USAGE, "--initial and --json"),
        (("equilibrium", "rd.yaml"), Exit.USAGE, "did you mean `rod.yaml`?"),
    ],
)
def test_refusals(command, words, code, text):
    done = command(*words)
    assert done.code == code
    assert text in done.err
