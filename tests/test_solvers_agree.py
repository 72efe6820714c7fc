"""One scene in every solver: the same motion as the step goes to zero, of each integrator's order, and rows that hold.

All mechanisms stand side by side in two scenes, one that is smooth and one with laws, so that each solver compiles twice.
"""

import numpy as np
import pytest
from support.many import run_many
from test_laws_of_joints import settling

import simcli as package

SMOOTH = """simcli: 1
world: {gravity: [0, 0, -9.81]}
params: {bar: "${1/12}", axial: 0}
defaults: {body: {mass: 1, inertia: {diag: [0.1, 0.2, 0.25]}}}
bodies:
  upper: {com: [0.5, 0, 0]}
  lower: {pose: {xyz: [1, 0, 0]}, com: [0.4, 0.1, 0]}
  crank: {pose: {xyz: [0.5, 5, 0]}, inertia: {diag: ["${axial}", "${bar}", "${bar}"]}}
  coupler: {pose: {xyz: [1, 5, 1]}, inertia: {diag: ["${4*bar}", "${4*bar}", "${axial}"]}}
  rocker: {pose: {xyz: [2.5, 5, 1]}, mass: 2, inertia: {diag: [0.9, 0.9, 0.9]}}
  cart: {pose: {xyz: [0, 10, 0]}}
  bob: {pose: {xyz: [0, 10, -1]}, inertia: {diag: [0.03, 0.02, 0.01]}}
  plate: {pose: {xyz: [0, 15, 0]}, inertia: {diag: [0.1, 0.2, 0.3]}, velocity: {angular: [1, 2, 0.5]}}
  tumbler: {pose: {xyz: [0, 20, 0]}, inertia: {diag: [0.5, 0.8, 1.1]}, velocity: {linear: [1, 0, 2], angular: [2, -1, 0.5]}}
  swing: {pose: {xyz: [0, 25, 0]}, com: [0, 0, -0.5]}
  nut: {pose: {xyz: [0, 30, 0]}}
  hanger: {pose: {xyz: [0.6, 35, -0.8]}}
  cap: {pose: {xyz: [0.3, 25, -1]}}
joints:
  shoulder: {type: universal, parent: world, child: upper, at: [0, 0, 0], q: [0.3, 0.2],
             axes: {angular: [[0, 1, 0], [0, 0, 1]]}}
  elbow: {type: ball, parent: upper, child: lower, at: [1, 0, 0], qd: [0.5, 1, 2]}
  A: {type: revolute, parent: world, child: crank, at: [0, 5, 0], axis: [0, 1, 0]}
  B: {type: revolute, parent: crank, child: coupler, at: [1, 5, 0], axis: [0, 1, 0]}
  C: {type: revolute, parent: coupler, child: rocker, at: [1, 5, 2], axis: [0, 1, 0]}
  D: {type: revolute, parent: rocker, child: world_end, at: [4, 5, 0], axis: [0, 1, 0]}
  rail: {type: prismatic, parent: world, child: cart, at: [0, 10, 0], axis: [1, 0, 0], q: 0.1}
  pin: {type: revolute, parent: cart, child: bob, at: [0, 10, 0], axis: [0, 1, 0], q: 0.7, damping: 0.2}
  knob: {type: d6, parent: world, child: swing, at: [0, 25, 0], axes: {angular: [[1, 0, 0], [0, 1, 0]]}, q: [0.4, -0.3]}
  weld: {type: fixed, parent: swing, child: cap, at: [0.1, 25, -0.8]}
  thread: {type: screw, parent: world, child: nut, at: [0, 30, 0], axis: [0, 0, 1], pitch: 0.3}
  rope: {type: distance, parent: world, child: hanger, parent_frame: {xyz: [0, 35, 0]}, length: 1}
forces:
  s: {type: spring, a: {world: [-1, 10, 0]}, b: cart/hook, stiffness: 30, damping: 0.5, rest_length: 1}
run: {duration: 0.4}
output: {every: 0.04, channels: [state, energy, reactions]}
"""
# The rocker's end is fixed to the world; a joint's child is a body.
SMOOTH = SMOOTH.replace("parent: rocker, child: world_end", "parent: world, child: rocker")
SMOOTH = SMOOTH.replace("  cart: {pose: {xyz: [0, 10, 0]}}", "  cart: {pose: {xyz: [0, 10, 0]}, points: {hook: [0, 0, 0]}}")

LAWS = """simcli: 1
world: {gravity: [0, 0, -9.81]}
defaults: {body: {mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}}, joint: {type: prismatic, parent: world}}
bodies:
  faller: {pose: {xyz: [0, 0, 0]}}
  held: {pose: {xyz: [0, 1, 0]}}
  slider: {pose: {xyz: [0, 2, 0]}}
  driven: {pose: {xyz: [0, 3, 0]}}
  governed: {pose: {xyz: [0, 4, 0]}}
  gripped: {pose: {xyz: [0, 5, 0]}}
  top: {pose: {xyz: [0, 6, 0]}}
  turned: {pose: {xyz: [0, 7, 0]}}
  crossed: {pose: {xyz: [0, 8, 0]}}
joints:
  stop: {child: faller, at: [0, 0, 0], axis: [0, 0, 1], limit: [-0.2, 1]}
  stick: {child: held, at: [0, 1, 0], axis: [0, 0, 1], friction: 20}
  slip: {child: slider, at: [0, 2, 0], axis: [0, 0, 1], friction: 10}
  servo: {child: driven, at: [0, 3, 0], axis: [1, 0, 0], drive: {mode: position, target: 1, stiffness: 500, damping: 50}}
  slow: {child: governed, at: [0, 4, 0], axis: [0, 0, 1], velocity_limit: 0.5}
  grip: {type: ball, child: gripped, at: [0, 5, 0], friction: [0, 2, 0]}
  spin: {type: revolute, child: top, at: [0, 6, 0], axis: [0, 0, 1], qd: 20}
  turn: {type: revolute, child: turned, at: [0, 7, 0], axis: [0, 0, 1], velocity_limit: 4}
  cross: {type: universal, child: crossed, at: [0, 8, 0], axes: {angular: [[0, 0, 1], [0, 1, 0]]}, loop: true,
          velocity_limit: [4, 4]}
forces:
  twist_grip: {type: wrench, body: gripped, torque: [0, 1.9, 0]}
  twist_turn: {type: wrench, body: turned, torque: [0, 0, 4]}
  twist_cross: {type: wrench, body: crossed, torque: [0, 1, 4], frame: body}
run: {duration: 0.4}
output: {every: 0.04, channels: [state, energy, reactions]}
"""

STEP = 1e-3
RUNS = {  # name: solver, integrator, step
    "reference": ("generalized", "rk4", STEP),
    "zhong06": ("natural", "zhong06", STEP),
    "zhong06-half": ("natural", "zhong06", STEP / 2),
    "moreau": ("natural", "moreau", STEP),
    "moreau-half": ("natural", "moreau", STEP / 2),
    "thick": ("generalized", "rk4", STEP),
    "maximal": ("maximal", "semi_implicit", STEP),
    "maximal-half": ("maximal", "semi_implicit", STEP / 2),
}
THICK = ("thick", "maximal", "maximal-half")  # bars with inertia about their axes, which maximal coordinates need
PLACES = ("upper", "lower", "crank", "coupler", "rocker", "cart", "bob", "plate", "tumbler", "swing", "nut", "hanger")
UNIQUE = ("shoulder", "elbow", "rail", "pin", "knob", "weld", "thread", "rope")  # joints of which one reaction is possible
AT_ONCE, ONE_STEP = 1e-8, 5e-3  # of a reaction at frame 0: of the instant, or of a first step of 1 ms
CLOSED = 1e-11  # [m, 1], issue 4
EXACT = 1e-11  # of a free body's energy and angular momentum, issue 4
EVERY = ("zhong06", "moreau", "maximal")
WEIGHT = 2 * 9.81  # [N]
SERVO = 2.5e-4  # [m]: the five steps of first order in which a law switches, h^2/2 of 100 m/s^2 each


def commands(scene, prefix, names=tuple(RUNS)):
    for name in names:
        solver, integrator, dt = RUNS[name]
        sets = (f"solver.type={solver}", f"solver.integrator={integrator}")
        if prefix == "smooth" and name in THICK:
            sets += ("params.axial=0.01",)
        yield [
            "run",
            scene,
            "-o",
            f"{prefix}-{name}.h5",
            "--dt",
            dt,
            "--device",
            "cpu",
            "-q",
            *(word for one in sets for word in ("--set", one)),
        ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("solvers")
    (folder / "smooth.yaml").write_text(SMOOTH)
    (folder / "laws.yaml").write_text(LAWS)
    run_all(folder, [name for name in RUNS if "moreau" not in name], ("reference", "zhong06", "maximal"))
    return folder


@pytest.fixture(scope="module")
def with_moreau(folder):
    """The runs that only slow tests look at."""
    run_all(folder, ("moreau", "moreau-half"), ("moreau",))


@pytest.fixture(autouse=True)
def runs_that_are_asked_for(request):
    """Those of moreau where a parameter names it."""
    if "moreau" in request.node.name:
        request.getfixturevalue("with_moreau")


def run_all(folder, smooth, laws):
    words = [*commands("smooth.yaml", "smooth", smooth), *commands("laws.yaml", "laws", laws)]
    results = run_many(words, folder)
    assert {code for code, _ in results} == {0}, results


def slowly(names):
    """Parameters, those of moreau among the slow ones."""
    return [pytest.param(name, marks=pytest.mark.slow) if "moreau" in name else name for name in names]


def poses(folder, name):
    """Positions and orientations of the bodies, (F, 7) each; a quaternion and its negative are one orientation."""
    with package.open(folder / f"smooth-{name}.h5") as run:
        found = {body: np.hstack((run.body(body).position[:][:, 0], run.body(body).orientation[:][:, 0])) for body in PLACES}
    for pose in found.values():
        pose[:, 3:] *= np.sign(pose[:, 6:] + 1e-9)
    return found


@pytest.mark.parametrize("integrator", slowly(EVERY))
@pytest.mark.parametrize("body", PLACES)
def test_bodies_move_alike_and_errors_have_the_order(folder, body, integrator):
    order = 1 if integrator == "maximal" else 2
    expected = poses(folder, "thick" if integrator in THICK else "reference")[body]
    errors = [np.abs(poses(folder, name)[body] - expected).max() for name in (integrator, f"{integrator}-half")]
    assert errors[0] < (1e-4 if order == 2 else 1e-2)
    if errors[1] > 1e-10:
        assert errors[0] / errors[1] == pytest.approx(2.0**order, rel=0.03)


def test_joint_coordinates_agree(folder):
    names = ("shoulder", "A", "B", "C", "rail", "pin", "knob", "thread")
    with package.open(folder / "smooth-reference.h5") as run, package.open(folder / "smooth-zhong06-half.h5") as other:
        for name in names:
            for kind in ("q", "qd"):
                wanted = getattr(run.joint(name), kind)[:]
                slack = 1e-4 * max(1, np.abs(wanted).max())
                np.testing.assert_allclose(getattr(other.joint(name), kind)[:], wanted, atol=slack)
            moved = np.ptp(run.joint(name).q[:], axis=0)
            assert moved.max() > 1e-3, name


def test_reactions_agree_where_they_are_unique(folder):
    with package.open(folder / "smooth-reference.h5") as run, package.open(folder / "smooth-zhong06-half.h5") as other:
        for name in UNIQUE:
            wanted = run.joint(name).wrench[:]
            np.testing.assert_allclose(other.joint(name).wrench[:], wanted, atol=1e-4 * max(1, np.abs(wanted).max()))


@pytest.mark.parametrize(("name", "start"), [("zhong06", AT_ONCE), ("maximal", ONE_STEP)])
def test_reactions_of_the_start_agree(folder, name, start):
    """Frame 0, where all solvers are in one state; that of a first-order integrator is of the step that begins there."""
    wanted = "thick" if name in THICK else "reference"
    with package.open(folder / f"smooth-{wanted}.h5") as run, package.open(folder / f"smooth-{name}.h5") as other:
        for joint in UNIQUE:
            wrench = run.joint(joint).wrench[0]
            np.testing.assert_allclose(other.joint(joint).wrench[0], wrench, atol=start * np.abs(wrench).max(), rtol=0)


@pytest.mark.parametrize("name", slowly(name for name in RUNS if name not in ("reference", "thick")))
def test_rows_hold(folder, name):
    with package.open(folder / f"smooth-{name}.h5") as run:
        assert np.nanmax(run.column("diag/position_violation")) < CLOSED
        if "maximal" not in name:
            assert np.nanmax(run.column("diag/velocity_violation")) < CLOSED


def test_a_free_body_keeps_energy_and_angular_momentum(folder):
    inertia = np.diag([0.5, 0.8, 1.1])
    with package.open(folder / "smooth-zhong06.h5") as run:
        body = run.body("tumbler")
        x, y, z, w = np.moveaxis(body.orientation[:][:, 0], -1, 0)
        R = np.stack(
            [
                1 - 2 * (y * y + z * z),
                2 * (x * y - w * z),
                2 * (x * z + w * y),
                2 * (x * y + w * z),
                1 - 2 * (x * x + z * z),
                2 * (y * z - w * x),
                2 * (x * z - w * y),
                2 * (y * z + w * x),
                1 - 2 * (x * x + y * y),
            ],
            axis=-1,
        ).reshape(-1, 3, 3)
        spin = body.angular_velocity[:][:, 0]
    momentum = np.einsum("fij,jk,flk,fl->fi", R, inertia, R, spin)
    assert np.abs(momentum - momentum[0]).max() < EXACT
    energy = 0.5 * np.einsum("fi,fi->f", momentum, spin)
    assert np.abs(energy - energy[0]).max() < EXACT
    assert np.abs(spin - spin[0]).max() > 0.1


@pytest.mark.parametrize("name", slowly((*EVERY, "reference")))
def test_laws_hold_in_every_solver(folder, name):
    """The same closed forms that the generalized solver is held to."""
    with package.open(folder / f"laws-{name}.h5") as run:
        time = run.time[:]
        stop, stick, slip, servo, slow = (run.joint(joint) for joint in ("stop", "stick", "slip", "servo", "slow"))
        assert stop.q[:].min() > -0.2 - 1e-9
        np.testing.assert_allclose(stop.q[-3:, 0, 0], -0.2, atol=1e-9)
        np.testing.assert_allclose(stop.effort[-3:, 0, 0], WEIGHT, rtol=1e-9)
        assert np.abs(stick.q[:]).max() < 1e-12
        np.testing.assert_allclose(stick.effort[1:, 0, 0], WEIGHT, rtol=1e-9)
        fall = (WEIGHT - 10) / 2
        np.testing.assert_allclose(slip.q[:, 0, 0], -0.5 * fall * time**2, atol=fall * time[-1] * STEP)
        assert np.abs(slow.qd[:]).max() < 0.5 + 1e-9
        np.testing.assert_allclose(slow.qd[-3:, 0, 0], -0.5, atol=1e-9)
        assert np.abs(run.joint("grip").q[:, 0, :3]).max() < 1e-12  # however fast the top turns
    with package.open(folder / "laws-reference.h5") as run:
        wanted = run.joint("servo").q[:]
    with package.open(folder / f"laws-{name}.h5") as run:
        assert np.abs(run.joint("servo").q[:] - wanted).max() < (1e-4 if name == "zhong06" else 1e-2)
    assert np.abs(wanted[-1]) > 0.3
    assert servo is not None


@pytest.mark.parametrize("name", ["reference", "zhong06"])
def test_a_lock_that_keeps_its_speed_costs_no_order(folder, name):
    """A step in which a lock changes a speed is of first order for its whole world.

    After a step the rates of `turn` and `cross` lack of their limits what chords lack of arcs: that is no change of speed.
    """
    with package.open(folder / f"laws-{name}.h5") as run:
        for joint in ("turn", "cross"):
            assert run.joint(joint).qd[-1, 0, 0] == pytest.approx(4, rel=(4 * STEP) ** 2)
        x, _rate = settling(run.time[:], 1.0, 250.0, 25.0)
        assert np.abs(run.joint("servo").q[:, 0, 0] - x).max() < SERVO
