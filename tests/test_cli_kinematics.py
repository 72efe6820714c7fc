"""`simcli fk|ik|id|mass-matrix|jacobian`: against runs, and through every kind of file."""

import json
import math
import re
import shlex
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from support.kinematics import CPU, EFFORTS, KINEMATICS, PROJECTION, off, run_quietly
from support.process import completed_here
from support.runs import MIXED, SWING
from support.zoo import forces_of

import simcli as package
from simcli.errors import Exit
from simcli.pipeline import build_model, read_scene
from simcli.records.contents.results import FIELDS

pytestmark = pytest.mark.usefixtures("scalar_code")
RECORDED_MOTION = 1e-8  # relative; steps of other coordinates are projected on the joints
SPLINE_DIFFERENCES = 1e-6  # relative: h^4 of differences, h^4 of splines at their ends
MORE_ACCELERATED = (("generalized", "rk4"), ("maximal", "semi_implicit"), ("natural", "zhong06"))
RUN_EFFORTS = 1e-8  # [N, N m], what it asks of `id` on a simulated run


@pytest.fixture
def command(capfd):
    return partial(completed_here, capfd)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of a mechanism with drives, damping, armature, springs and wrenches, by integrator and steps per frame."""
    folder = tmp_path_factory.mktemp("runs")
    scene = folder / "mixed.yaml"
    scene.write_text(MIXED.replace("channels: [state, energy, reactions]", "channels: [state, energy]"))
    names = {}
    for integrator, every in (("rk4", 0.01), ("implicit", 0.01), ("semi_implicit", 0.001), ("semi_implicit", 0.01)):
        path = folder / f"{integrator}{every}.h5"
        run_quietly(
            "run",
            scene,
            "-o",
            path,
            "-q",
            "--set",
            f"solver.integrator={integrator}",
            "--device",
            "cpu",
            "--set",
            f"output.every={every}",
        )
        names[integrator, every] = path
    return SimpleNamespace(folder=folder, scene=scene, of=names)


@pytest.mark.parametrize(
    ("integrator", "every"), [("rk4", 0.01), ("implicit", 0.01), ("semi_implicit", 0.001), ("semi_implicit", 0.01)]
)
def test_id_of_a_run_is_its_efforts(runs, here, command, integrator, every):
    path = runs.of[integrator, every]
    done = command("id", path, "--compare", "-o", "efforts.h5", "--json", *CPU)
    assert done.returncode == Exit.OK, done.stderr
    facts = json.loads(done.stdout)
    assert facts["largest_difference"] < RUN_EFFORTS
    assert facts["largest_effort"] > 1.0
    with package.open(path) as run, package.open("efforts.h5") as result:
        recorded = run.column("frames/joint_effort")[:, 0]
        assert np.array_equal(result["recorded_effort"], recorded)
        assert np.abs(result["joint_effort"] - recorded).max() == facts["largest_difference"]
        assert np.array_equal(result["time"], run.time)
        assert result["frame"].tolist() == list(range(run.n_frames))


# Free: alone, with another one welded to it off its centre, pushed, damped; balls with all that resists or holds; a chain of
# balls; trees that turn far in a step, of which one has friction and one a drive that follows a signal; a loop with balls.
TURNING = """
simcli: 1
signals: {aim: {sine: {amplitude: 2, frequency: 9}}}
defaults: {body: {mass: 1.2, com: [0.02, 0, 0.01], inertia: {diag: [0.03, 0.035, 0.01]}}}
bodies:
  lone: {pose: {xyz: [3, 0, 0], rpy: [0.1, 0.2, 0.3]}, velocity: {linear: [0.1, 0.5, 1.0], angular: [13, 1, 22]}}
  pair: {pose: {xyz: [5, 0, 0]}, velocity: {linear: [0.1, 0.5, 1.0], angular: [7, 12, 9]}}
  weld: {pose: {xyz: [5, 0.3, 0]}}
  damped: {pose: {xyz: [7, 0, 0]}, velocity: {angular: [3, 1, 2]}}
  top: {pose: {xyz: [0, 0, 0.3]}}
  c1: {pose: {xyz: [0, 2, -0.3]}}
  c2: {pose: {xyz: [0, 2, -0.9]}}
  c3: {pose: {xyz: [0, 2, -1.5]}}
  frame: {pose: {xyz: [0.1, 4, 0.3]}}
  wheel: {pose: {xyz: [0.2, 4, 0.3]}}
  pen: {pose: {xyz: [0, 6, 0.3]}}
  cap: {pose: {xyz: [0, 6, 0.6]}}
joints:
  fl: {type: free, parent: world, child: pair}
  we: {type: fixed, parent: pair, child: weld}
  da: {type: free, parent: world, child: damped, damping: 0.1, armature: 0.01}
  b0: {type: ball, parent: world, child: top, at: [0, 0, 0], qd: [1, 2, 5], damping: 0.01, armature: [0.1, 0.2, 0.3] LAW}
  b1: {type: ball, parent: world, child: c1, at: [0, 2, 0], qd: [1, 2, 1]}
  b2: {type: ball, parent: c1, child: c2, at: [0, 2, -0.6], qd: [-1, 1, 1], damping: 0.02}
  b3: {type: ball, parent: c2, child: c3, at: [0, 2, -1.2], qd: [1, -2, 1]}
  gimbal: {type: universal, parent: world, child: frame, axes: {angular: [[0, 1, 0], [0, 0, 1]]}, at: [0, 4, 0.3],
           qd: [0.1, 0.2], damping: 0.3, drive: {mode: position, target: 0.1, stiffness: 20, damping: 2}}
  spin: {type: revolute, parent: frame, child: wheel, at: [0.2, 4, 0.3], axis: [1, 0, 0], qd: 80, damping: 1.0e-3,
         drive: {mode: velocity, target_velocity: $aim, damping: 0.02} LAW}
  tip: {type: ball, parent: world, child: pen, at: [0, 6, 0], qd: [0.5, 0.2, 60]}
  hold: {type: revolute, parent: pen, child: cap, at: [0, 6, 0.6], axis: [1, 0, 0], qd: 0.3}
forces:
  push: {type: wrench, body: lone, force: [1, 2, 3], torque: [1, 0.2, 0.1]}
  turn: {type: torque, joint: b0, value: [0.1, 0.2, 0.1]}
solver: {type: generalized, dt: 1.0e-3, integrator: semi_implicit}
run: {duration: 0.04}
output: {every: 0.01, channels: [state, joints]}
"""


@pytest.mark.parametrize("every", [0.01, pytest.param(0.001, marks=pytest.mark.slow)])
@pytest.mark.parametrize("law", ["", ", friction: 0.05"])
def test_id_takes_gyroscopic_torques_where_a_step_of_first_order_takes_them(here, command, law, every):
    """Of bodies that turn in every way that its steps tell apart; without laws, and with friction."""
    (here / "turning.yaml").write_text(TURNING.replace("LAW", law))
    command("run", "turning.yaml", "-o", "turning.h5", "--device", "cpu", "--set", f"output.every={every}")
    done = command("id", "turning.h5", "--compare", "-o", "efforts.h5", "--json", *CPU)
    facts = json.loads(done.stdout)
    assert facts["largest_difference"] < RUN_EFFORTS
    assert facts["largest_effort"] > 1.0


def test_id_of_free_bodies_in_maximal_coordinates(here, command):
    """What joints hold there is found with an error of the order of a step: bodies that nothing is joined to are exact."""
    (here / "free.yaml").write_text("""
simcli: 1
bodies:
  lone: {mass: 1.2, com: [0.1, 0.3, 0], inertia: {diag: [0.1, 0.07, 0.04]}, velocity: {angular: [10, 20, 5]}}
forces: {push: {type: wrench, body: lone, force: [1, 2, 3], torque: [1, 0.2, 0.1]}}
solver: {type: maximal, dt: 1.0e-3}
run: {duration: 0.04}
output: {every: 0.01, channels: [state, joints]}
""")
    command("run", "free.yaml", "-o", "free.h5", "--device", "cpu")
    done = command("id", "free.h5", "--compare", "-o", "efforts.h5", "--json", *CPU)
    assert json.loads(done.stdout)["largest_difference"] < RUN_EFFORTS


@pytest.mark.parametrize("integrator", ["rk4", pytest.param("semi_implicit", marks=pytest.mark.full)])
def test_reactions_of_a_run_are_what_its_joints_transmit(here, command, integrator):
    """Those that a run records; in the axes of the anchor they turn with the child, and have the efforts along the axes.

    Steps of first order take gyroscopic torques elsewhere, so that the difference falls with the step.
    """
    (here / "mixed.yaml").write_text(MIXED)
    errors = []
    for dt in (5e-4, 1e-3) if integrator == "semi_implicit" else (1e-3,):
        words = ("--set", f"solver.integrator={integrator}", "--set", "output.every=0.001", "--set", f"solver.dt={dt}")
        assert command("run", "mixed.yaml", "-o", "run.h5", "--force", *words, "--device", "cpu").returncode == Exit.OK
        done = command("id", "run.h5", "--reactions", "-o", "r.h5", "--force", *CPU)
        assert done.returncode == Exit.OK, done.stderr
        with package.open("r.h5") as found, package.open("run.h5") as run:
            recorded = np.asarray(run.column("frames/joint_wrench")[:])[:, 0]
            errors.append(off(found["joint_wrench"][1:], recorded[1:]))
    if integrator == "semi_implicit":
        assert errors[0] / errors[1] == pytest.approx(0.5, abs=0.05)
        return
    assert errors[0] < EFFORTS
    with package.open("r.h5") as found:
        wrench, local = found["joint_wrench"], found["joint_wrench_local"]
        sizes = [np.linalg.norm(one.reshape(-1, 3), axis=1) for one in (local, wrench)]
        assert off(*sizes) < EFFORTS
        model = build_model(*read_scene(here / "mixed.yaml", ()))
        d = model.dofs.label.index("wrist")
        along = local[:, found.labels("joint_wrench")[0].index("wrist"), 3:] @ model.dofs.axis[0, d]
        assert off(along, found["joint_effort"][:, d] - 0.01 * found["joint_qdd"][:, d]) < EFFORTS


@pytest.mark.parametrize("solver", ["generalized", pytest.param("maximal", marks=pytest.mark.full)])
def test_id_takes_contacts_that_a_run_recorded(here, command, solver):
    """A box that slides down a slope: nothing is left along its free joint."""
    (here / "slope.yaml").write_text(f"""
simcli: 1
materials: {{wood: {{friction: 0.2}}}}
world: {{shapes: {{ground: {{type: plane, material: wood, pose: {{rpy: [0, 0.3, 0]}}}}}}}}
bodies:
  box: {{pose: {{xyz: [0.0295520207, 0, 0.0955336489], rpy: [0, 0.3, 0]}}, mass: 2, inertia: {{diag: [0.02, 0.03, 0.04]}},
        velocity: {{linear: [0.2, 0.3, -0.06]}}, shapes: {{s: {{type: box, size: [0.4, 0.3, 0.2], material: wood}}}}}}
solver: {{type: {solver}, dt: 1.0e-3, contact: {{tolerance: 1.0e-11}}}}
run: {{duration: 0.05}}
output: {{every: 0.001, channels: [state, joints, contacts]}}
""")
    done = command("run", "slope.yaml", "-o", "slope.h5", "--device", "cpu")
    assert done.returncode == Exit.OK, done.stderr
    facts = []
    for words in ((), ("--contacts",)):
        done = command("id", "slope.h5", "--frames", "5:", "--compare", *words, "--json", *CPU)
        assert done.returncode == Exit.OK, done.stderr
        facts.append(json.loads(done.stdout)["largest_difference"])
        assert ("does not include contact forces" in done.stderr) == (not words)
    assert facts[0] > 15.0
    assert facts[1] < 1e-6
    refused = command("id", "slope.yaml", "--contacts")
    assert refused.returncode == Exit.USAGE
    assert "channels: [state, contacts]" in refused.stderr


@pytest.mark.parametrize("acts", [True, False])
def test_id_says_where_forces_of_contacts_are_left_out(here, command, acts):
    """A ball of 1 kg that lies on the ground: the effort that no record holds is its weight."""
    (here / "ball.yaml").write_text(f"""
simcli: 1
world: {{shapes: {{ground: {{type: plane}}}}}}
bodies: {{ball: {{pose: {{xyz: [0, 0, 0.1]}}, mass: 1, inertia: {{diag: [0.01, 0.01, 0.01]}},
                shapes: {{s: {{type: sphere, radius: 0.1}}}}}}}}
contact: {{enabled: {str(acts).lower()}}}
solver: {{type: generalized, dt: 1.0e-3, contact: {{tolerance: 1.0e-11}}}}
run: {{duration: 0.02}}
output: {{every: 0.01, channels: [state, joints]}}
""")
    assert command("run", "ball.yaml", "-o", "ball.h5", "--device", "cpu").returncode == Exit.OK
    done = command("id", "ball.h5", "--compare", "-o", "a.h5", "--force", "--json", *CPU)
    assert done.returncode == Exit.OK, done.stderr
    assert json.loads(done.stdout)["largest_difference"] == pytest.approx(9.81 if acts else 0.0, abs=1e-6)
    assert ("does not include contact forces" in done.stderr) == acts


def test_id_reads_the_state_at_the_start_of_a_first_order_step(runs, here, command):
    """Taken as they stand, the frames of a first-order run do not belong to their accelerations: they are O(h) off."""
    path = runs.of["semi_implicit", 0.01]
    command("export", path, "-c", "joint.*.q,joint.*.qd,joint.*.qdd,joint.*.effort", "-o", "frames.csv")
    done = command("id", runs.scene, "--states", "frames.csv", "--compare", "-o", "x.csv", "--json", *CPU)
    assert 1e-4 < json.loads(done.stdout)["largest_difference"] < 1.0
    assert "start of their step" in done.stderr


@pytest.mark.slow
def test_external_forces_can_be_left_out(runs, here, command):
    path = runs.of["rk4", 0.01]
    command("id", path, "--no-external", "-o", "without.h5", *CPU)
    command("id", path, "-o", "with.h5", *CPU)
    command("fk", path, "-o", "poses.h5", *CPU)
    command("jacobian", path, "-o", "jacobian.h5", *CPU)
    model = build_model(*read_scene(runs.scene))
    with package.open("without.h5") as a, package.open("with.h5") as b, package.open("jacobian.h5") as j:
        gap, J = a["joint_effort"] - b["joint_effort"], j["jacobian"]
    with package.open("poses.h5") as poses:
        states = zip(J, poses["body_q"], poses["body_qd"], strict=True)
        wanted = np.array([np.einsum("bkd,bk->d", J_k, forces_of(model, *state)) for J_k, *state in states])
    assert off(gap, wanted) < EFFORTS


DRIVEN = """
simcli: 1
signals:
  sweep: {sine: {amplitude: 3, frequency: 2}}
  kick: {step: {after: 200, time: 0.03}}
  twist: {table: {time: [0, 0.02, 0.05], value: [0, 3, 1], interpolate: cubic}}
bodies:
  rod: {pose: {xyz: [0, 0, -0.5]}, mass: 1.0, com: [0.1, 0, 0], inertia: {diag: [0.1, 0.1, 0.01]}}
joints:
  pin: {type: revolute, parent: world, child: rod, at: [0, 0, 0], axis: [0, 1, 0], q: 0.3, damping: 2}
forces:
  push: {type: wrench, body: rod, force: [$sweep, 0, $kick], torque: [0, $twist, 0], at: [0.3, 0, 0.2], frame: body}
solver: {type: generalized, dt: 1.0e-3, integrator: rk4}
run: {duration: 0.06}
output: {every: 0.01}
"""


@pytest.mark.parametrize("integrator", [pytest.param("rk4", marks=pytest.mark.slow), "semi_implicit"])
def test_forces_that_follow_signals_are_those_of_the_time_of_the_state(here, command, integrator):
    """A jump at the time of a frame belongs to the step after it."""
    (here / "driven.yaml").write_text(DRIVEN)
    command("run", "driven.yaml", "-o", "driven.h5", "-q", "--set", f"solver.integrator={integrator}", "--device", "cpu")
    done = command("id", "driven.h5", "--compare", "-o", "efforts.h5", "--json", *CPU)
    facts = json.loads(done.stdout)
    assert facts["largest_difference"] < RUN_EFFORTS
    assert facts["largest_effort"] > 1.0
    command("export", "driven.h5", "-c", "joint.pin.q,joint.pin.qd", "-o", "timed.csv")
    command("id", "driven.yaml", "--states", "timed.csv", "-o", "timed.h5", *CPU)
    with package.open("timed.h5") as result:
        jump = np.diff(result["joint_effort"][:, 0])
    assert np.abs(jump[2]) > 10 * np.abs(np.delete(jump, 2)).max()  # from 0.02 s to 0.03 s
    (here / "bare.csv").write_text("pin\n0.1\n")
    refused = command("id", "driven.yaml", "--states", "bare.csv", *CPU)
    assert refused.returncode == Exit.USAGE
    assert "a column `time`" in refused.stderr


FOURBAR = """
simcli: 1
world: {gravity: [0.2, 0.1, -9.81]}
bodies:
  crank: {pose: {xyz: [0, 0, 0.5]}, mass: 1.0, com: [0, 0.01, 0.1], inertia: {diag: [0.1, 0.1, 0.01]}}
  coupler: {pose: {xyz: [1, 0, 1]}, mass: 2.0, inertia: {diag: [0.02, 0.3, 0.3]}, points: {p: [0.1, 0, 0.2]}}
  rocker: {pose: {xyz: [2, 0, 0.5]}, mass: 1.5, inertia: {diag: [0.1, 0.1, 0.01]}}
joints:
  a: {type: revolute, parent: world, child: crank, at: [0, 0, 0], axis: [0, 1, 0], qd: 1.0, damping: 0.2,
      drive: {mode: position, target: 0.4, stiffness: 30, damping: 2}}
  b: {type: revolute, parent: crank, child: coupler, at: [0, 0, 1], axis: [0, 1, 0], friction: 0.3}
  c: {type: revolute, parent: coupler, child: rocker, at: [2, 0, 1], axis: [0, 1, 0], armature: 0.1}
  d: {type: revolute, parent: world, child: rocker, at: [2, 0, 0], axis: [0, 1, 0], loop: true, damping: 0.1}
forces:
  s: {type: spring, a: coupler/p, b: {world: [1, 0.5, 2]}, stiffness: 40, damping: 1, rest_length: 0.5}
solver: {type: generalized, dt: 1.0e-3, integrator: semi_implicit}
run: {duration: 0.06}
output: {every: 0.01, channels: [state, reactions]}
"""


@pytest.mark.slow
def test_id_of_a_closed_loop_reads_what_the_loop_transmits(here, command):
    (here / "four.yaml").write_text(FOURBAR)
    command("run", "four.yaml", "-o", "four.h5", "-q", "--device", "cpu")
    done = command("id", "four.h5", "--compare", "-o", "efforts.h5", "--json", *CPU)
    facts = json.loads(done.stdout)
    assert facts["largest_difference"] < RUN_EFFORTS
    assert facts["largest_effort"] > 1.0
    with package.open("efforts.h5") as result, package.open("four.h5") as run:
        assert np.isnan(result["joint_effort"][:, 3]).all()  # the tree does not know the loop joint's
        assert np.abs(run.joint("d").wrench[:, 0]).max() > 1.0
    refused = command("id", "four.yaml")
    assert refused.returncode == Exit.USAGE
    assert "`d` (revolute)" in refused.stderr


VARIED = """
simcli: 1
params: {m: 1.0, c: 0.1}
bodies:
  upper: {pose: {xyz: [0, 0, -0.5]}, mass: "${m}", com: ["${c}", 0, 0], inertia: {diag: [0.1, 0.1, 0.01]}}
  lower: {pose: {xyz: [0, 0, -1.5]}, mass: 1.0, inertia: {diag: [0.1, 0.1, 0.01]}, points: {tip: [0, 0, -0.5]}}
  puck: {pose: {xyz: [2, 0, 0]}, mass: "${2*m}", com: [0, "${c}", 0], inertia: {diag: [0.1, 0.2, 0.1]},
         velocity: {angular: [1, 2, 3]}}
joints:
  pin: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 1, 0], q: 2.0}
  elbow: {type: revolute, parent: upper, child: lower, at: [0, 0, -1], axis: [0, 1, 0], q: 0.5, damping: 0.1}
forces: {motor: {type: torque, joint: pin, value: 0.7}}
solver: {type: generalized, dt: 1.0e-3, integrator: semi_implicit}
run: {duration: 0.03}
output: {every: 0.005}
batch:
  worlds: 6
  seed: 1
  vary: {params.m: {uniform: [1, 2]}, params.c: {uniform: [0, 0.2]}, joints.pin.q: {uniform: [0, 3]}}
"""


@pytest.mark.parametrize(
    ("solver", "integrator"),
    [("generalized", "semi_implicit"), *(pytest.param(*one, marks=pytest.mark.full) for one in MORE_ACCELERATED)],
)
def test_accelerations_of_bodies_are_those_that_a_run_records(here, command, solver, integrator):
    """Poses, twists and accelerations of a frame are those of the frame; of a point also differences of its velocity."""
    (here / "mixed.yaml").write_text(MIXED)
    errors = {}
    for name, dt in (("run", 1e-4), ("fine", 5e-5))[: 1 + (solver == "maximal")]:
        chosen = (f"solver={{type: {solver}, integrator: {integrator}, dt: {dt}}}", "run.duration=4.0e-3")
        chosen += ("output={every: 1.0e-3, channels: [state, joints, body_qdd]}",)
        sets = [word for one in chosen for word in ("--set", one)]
        assert command("run", "mixed.yaml", "-o", f"{name}.h5", "--device", "cpu", *sets).returncode == Exit.OK
        done = command("fk", f"{name}.h5", "--accelerations", "-o", "found.h5", "--force", *CPU)
        assert done.returncode == Exit.OK, done.stderr
        with package.open("found.h5") as found, package.open(f"{name}.h5") as run:
            recorded = [np.asarray(run.column(f"frames/{name}")[1:])[:, 0] for name in ("body_q", "body_qd", "body_qdd")]
            found = [found[name][1:] for name in ("body_q", "body_qd", "body_qdd")]
            errors[name] = [off(*both) for both in zip(found, recorded, strict=True)]
    if solver == "maximal":  # its bodies leave their joints within a step
        assert errors["run"][0] < RECORDED_MOTION
        assert np.array(errors["fine"][1:]) / errors["run"][1:] == pytest.approx(0.5, abs=0.05)
        return
    assert max(errors["run"]) < RECORDED_MOTION
    command("fk", "run.h5", "-o", "plain.h5", *CPU)
    with package.open("plain.h5") as plain, package.open("found.h5") as found:
        assert "body_qdd" not in plain
        assert found.labels("point_acceleration") == (("hand/tip", "probe/hook"), ("x", "y", "z"))
        assert all(np.array_equal(plain[name], found[name]) for name in ("body_q", "body_qd", "point_velocity"))


def test_accelerations_of_points_are_differences_of_their_velocities(here, command):
    """A table of a smooth motion, differentiated by splines, and the same numbers given as accelerations."""
    (here / "swing.yaml").write_text(SWING.replace("upper: {", "upper: {points: {far: [0.1, 0.2, -0.7]}, "))
    t = np.linspace(0.0, 0.1, 101)
    rows = [f"{x!r},{math.sin(3 * x)!r},{math.cos(2 * x)!r}" for x in t.tolist()]
    (here / "q.csv").write_text("\n".join(["time,joint.pin.q,joint.elbow.q", *rows]))
    done = command("fk", "swing.yaml", "--states", "q.csv", "--differentiate", "spline", "-o", "a.h5", *CPU)
    assert done.returncode == Exit.OK, done.stderr
    with package.open("a.h5") as found:
        v, a = found["point_velocity"][:, 0], found["point_acceleration"][:, 0]
        slope = (v[:-4] - 8 * v[1:-3] + 8 * v[3:-1] - v[4:]) / (12 * (t[1] - t[0]))
        assert off(a[2:-2], slope) < SPLINE_DIFFERENCES
        assert off(a, 0.0 * a + [0.0, 0.0, 1.0]) > 1.0
    done = command("fk", "swing.yaml", "--q", "0,0", "--qd", "2,0", "--qdd", "3,0", "--json", *CPU)
    found = json.loads(done.stdout)
    assert found["units"]["body_qdd"] == "m/s^2, rad/s^2"
    # `far` is at (0.1, 0.2, -0.5 - 0.7) from the pin: alpha x r - w^2 r
    far = [3.0 * -1.2 - 4.0 * 0.1, 0.0, -3.0 * 0.1 + 4.0 * 1.2]
    assert off(found["point_acceleration"][0][0], np.array(far)) < KINEMATICS


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    """A batch whose bodies differ from world to world, and one of its worlds alone."""
    folder = tmp_path_factory.mktemp("batch")
    (folder / "varied.yaml").write_text(VARIED)
    run_quietly("run", folder / "varied.yaml", "-o", folder / "all.h5", "-q", "--device", "cpu")
    run_quietly("run", folder / "varied.yaml", "-o", folder / "four.h5", "-q", "--world", "4", "--device", "cpu")
    return folder


def efforts(path):
    """(world, frame) to efforts."""
    with package.open(path) as result:
        keys = zip(result["world"].tolist(), result["frame"].tolist(), strict=True)
        return dict(zip(keys, result["joint_effort"], strict=True))


def test_every_world_has_its_own_bodies(batch, here, command):
    """A run brings its worlds along, whatever the scene would need to make them; so does the scene."""
    for words in ((batch / "all.h5",), (batch / "varied.yaml", "--states", batch / "all.h5")):
        done = command("id", *words, "--compare", "-o", "a.h5", "--force", "--json", *CPU)
        assert json.loads(done.stdout)["largest_difference"] < RUN_EFFORTS
    whole = efforts("a.h5")
    assert len(whole) == 6 * 7
    for name, chosen, source in (("one", "4", "all.h5"), ("some", "5,1", "all.h5"), ("alone", None, "four.h5")):
        words = (batch / source, *(("--world", chosen) if chosen else ()))
        done = command("id", *words, "--compare", "-o", f"{name}.h5", "--json", *CPU)
        assert json.loads(done.stdout)["largest_difference"] < RUN_EFFORTS, name
    assert {world for world, _ in efforts("some.h5")} == {1, 5}
    for key, effort in (efforts("one.h5") | efforts("some.h5")).items():
        assert np.abs(effort - whole[key]).max() < RUN_EFFORTS
    # The world that ran alone is number 0 of its file; given the batch, it is recognised by its parameters.
    command("id", batch / "varied.yaml", "--states", batch / "four.h5", "-o", "found.h5", *CPU)
    for (world, frame), effort in efforts("found.h5").items():
        assert world == 4
        assert np.abs(effort - whole[4, frame]).max() < RUN_EFFORTS


@pytest.mark.slow
def test_tables_choose_the_world_of_each_row(batch, here, command):
    command("export", batch / "all.h5", "--world", "0-5", "-c", "joint.*.q,joint.*.qd", "-o", "all.csv")
    lines = (here / "all.csv").read_text().splitlines()
    order = np.random.default_rng(0).permutation(len(lines) - 1)
    (here / "mixed.csv").write_text("\n".join([lines[0], *(lines[k + 1] for k in order)]) + "\n")
    for name in ("all", "mixed"):
        command("id", batch / "varied.yaml", "--states", f"{name}.csv", "-o", f"{name}.h5", *CPU)
    with package.open("all.h5") as a, package.open("mixed.h5") as b:
        assert np.array_equal(a["joint_effort"][order], b["joint_effort"])
        assert np.array_equal(a["world"][order], b["world"])
        assert np.ptp(a["joint_effort"], axis=0).max() > 1.0
    text = command("export", batch / "all.h5", "--world", "3", "-c", "joint.*.q,joint.*.qd").stdout
    (here / "bare.csv").write_text(text)
    refused = command("id", batch / "varied.yaml", "--states", "bare.csv")
    assert refused.returncode == Exit.USAGE
    assert "--world" in refused.stderr
    command("id", batch / "varied.yaml", "--states", "bare.csv", "--world", "3", "-o", "b.h5", *CPU)
    command("fk", batch / "all.h5", "--world", "3", "-o", "c.h5", *CPU)
    command("id", batch / "varied.yaml", "--states", "c.h5", "-o", "d.h5", *CPU)
    assert [key[0] for key in efforts("b.h5")] == [3] * 7
    assert np.array_equal(list(efforts("b.h5").values()), list(efforts("d.h5").values()))


def test_export_of_a_run_is_read_back(runs, here, command):
    path = runs.of["rk4", 0.01]
    words = ("-c", "energy.total,joint.*.q,joint.*.qd,joint.*.qdd,joint.*.effort,body.*.position,point.*.position")
    command("export", path, *words, "-o", "run.csv")
    done = command("id", runs.scene, "--states", "run.csv", "--compare", "-o", "a.csv", "--json", *CPU)
    facts = json.loads(done.stdout)
    assert facts["largest_difference"] < RUN_EFFORTS
    assert facts["states"] == 7
    assert "not read: energy.total [J], body.cart.position.x [m]" in done.stderr
    command("id", path, "-o", "b.csv", *CPU)
    header, *rows = (here / "b.csv").read_text().splitlines()
    table = np.array([row.split(",") for row in (here / "a.csv").read_text().splitlines()[1:]], float)
    n = len(header.split(","))
    assert header.split(",")[:3] == ["time [s]", "joint.rail.effort [N]", "joint.shoulder.effort.0 [N m]"]
    assert off(table[:, :n], np.array([row.split(",") for row in rows], float)) < EFFORTS


def test_units_in_a_header_count_and_missing_velocities_are_zero(here, command):
    (here / "swing.yaml").write_text(SWING)
    (here / "deg.csv").write_text("elbow,joints.pin.q [deg],joint.pin.qd [rpm],state\n0.25,30,60,0\n")
    (here / "rad.csv").write_text(f"joint.pin.q [rad],joint.elbow.q,joint.pin.qd\n{np.pi / 6!r},0.25,{2 * np.pi!r}\n")
    found = []
    for name in ("deg", "rad"):
        done = command("fk", "swing.yaml", "--states", f"{name}.csv", "--json", *CPU)
        found.append(json.loads(done.stdout))
    assert off(found[0]["body_qd"], np.array(found[1]["body_qd"])) < KINEMATICS
    assert found[1]["labels"]["B"] == ["upper", "lower"]
    assert found[1]["axes"]["body_q"] == ["B", "pose"]
    assert np.allclose(np.array(found[1]["body_qd"])[0, 0, 3:], [0, 2 * np.pi, 0], atol=1e-12)


def test_a_state_of_the_command_line(here, command):
    """A pendulum that is held: m g L sin(q) at each hinge; one that is accelerated about its hinge: I alpha."""
    (here / "swing.yaml").write_text(SWING)
    words = ("--q", "pin=0.5,elbow=0", "--json", *CPU)
    held = json.loads(command("id", "swing.yaml", *words).stdout)
    pull = 9.81 * np.sin(0.5)
    assert np.allclose(held["joint_effort"], [[pull * (0.5 + 1.5), pull * 0.5]], rtol=1e-12)
    pushed = json.loads(command("id", "swing.yaml", *words, "--qdd", "0,2").stdout)
    inertia = 0.1 + 0.25
    assert np.allclose(np.subtract(pushed["joint_effort"], held["joint_effort"])[0, 1], 2 * inertia, rtol=1e-12)
    initial = json.loads(command("fk", "swing.yaml", "--qd", "elbow=1", "--json", *CPU).stdout)
    assert np.allclose(initial["body_qd"][0][1], [0.5 * -np.cos(2.5), 0, 0.5 * np.sin(2.5), 0, 1, 0], atol=1e-12)


GEARED = """
simcli: 1
bodies:
  {a: &B {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.1]}}, b: *B, c: *B, d: *B}
joints:
  first: {type: revolute, parent: world, child: a, axis: [0, 1, 0], mimic: {joint: second, ratio: -2, offset: 0.1}}
  second: {type: revolute, parent: a, child: b, axis: [0, 1, 0], mimic: {joint: lead, polynomial: [0.2, 0.5, -0.3, 0.4]}}
  lead: {type: revolute, parent: b, child: c, axis: [1, 0, 0]}
  own: {type: revolute, parent: c, child: d, axis: [0, 1, 0], mimic: {joint: lead}}
"""


def test_followers_go_where_the_leader_of_the_command_line_puts_them(here, command):
    """Those that are named stay as they are given; rates and accelerations are the derivatives of the gear."""
    (here / "geared.yaml").write_text(GEARED)
    x, v, a = 0.7, -0.4, 1.3
    second = (0.2 + 0.5 * x - 0.3 * x**2 + 0.4 * x**3, slope := 0.5 - 0.6 * x + 1.2 * x**2, -0.6 + 2.4 * x)
    q, qd = (0.1 - 2 * second[0], second[0], x, 0.3), (-2 * slope * v, slope * v, v, 0.9)
    second_qdd = slope * a + second[2] * v**2
    written = [("--q", q), ("--qd", qd), ("--qdd", (-2 * second_qdd, second_qdd, a, -0.2))]
    written = [word for option, numbers in written for word in (option, ",".join(map(repr, numbers)))]
    named = ("--q", f"lead={x},own=0.3", "--qd", f"lead={v},own=0.9", "--qdd", f"lead={a},own=-0.2")
    for task, field in (("id", "joint_effort"), ("fk", "body_qd"), ("mass-matrix", "mass_matrix")):
        count = {"id": 6, "fk": 4, "mass-matrix": 2}[task]
        wanted, found = (
            json.loads(command(task, "geared.yaml", *words[:count], "--json", *CPU).stdout) for words in (written, named)
        )
        assert off(np.array(found[field]), np.array(wanted[field])) < KINEMATICS


def test_forces_on_bodies_in_a_table_take_their_part(here, command):
    (here / "swing.yaml").write_text(SWING)
    wrench = [3.0, -1.0, 2.0, 0.2, 0.5, -0.3]
    names = [f"body.lower.{quantity}.{axis}" for quantity in ("force", "torque") for axis in "xyz"]
    row = "0.4,-0.7," + ",".join(map(str, wrench))
    (here / "pushed.csv").write_text(f"pin,elbow,{','.join(names)}\n{row}\n")
    for name, words in (("pushed", ["--states", "pushed.csv"]), ("free", ["--q", "0.4,-0.7"])):
        assert command("id", "swing.yaml", *words, "-o", f"{name}.h5", *CPU).returncode == Exit.OK
    command("jacobian", "swing.yaml", "--states", "free.h5", "--select", "lower", "-o", "jacobian.h5", *CPU)
    with package.open("pushed.h5") as pushed, package.open("free.h5") as free, package.open("jacobian.h5") as J:
        assert np.array_equal(pushed["body_f"], [[[0.0] * 6, wrench]])
        assert off(free["joint_effort"] - pushed["joint_effort"], wrench @ J["jacobian"][0, 0]) < EFFORTS


@pytest.mark.slow
def test_frames_and_times_choose(runs, here, command):
    path = runs.of["rk4", 0.01]
    for words, frames in (
        (["--frames", "1:6:2"], [1, 3, 5]),
        (["--frames", "-1"], [6]),
        (["--at", "0.03"], [3]),
        (["--at", "40 ms", "--at", "0"], [4, 0]),
        ([], list(range(7))),
    ):
        done = command("fk", path, *words, "--select", "hand", "--json", *CPU)
        document = json.loads(done.stdout)
        assert document["frame"] == frames
        with package.open(path) as run:
            for k, frame in enumerate(frames):
                assert np.allclose(document["body_q"][k], run.body("hand").pose[frame, 0], atol=1e-14)
                assert np.allclose(document["point_position"][k], run.point("hand/tip").position[frame, 0], atol=1e-14)


def test_unwrapped_angles_follow_the_turns(here, command):
    (here / "swing.yaml").write_text(SWING)
    command("run", "swing.yaml", "-q", "--set", "joints.pin.qd=12", "--set", "joints.elbow.qd=-30", "--duration", "1.5")
    with package.open("outputs/swing.h5") as run:
        wanted = run.column("frames/joint_q")[:, 0]
    assert np.abs(wanted).max() > 4 * np.pi
    command("ik", "outputs/swing.h5", "-o", "plain.h5", *CPU)
    done = command("ik", "outputs/swing.h5", "--unwrap", "-o", "turns.h5", *CPU)
    assert done.returncode == Exit.OK
    with package.open("plain.h5") as plain, package.open("turns.h5") as turns:
        assert np.abs(plain["joint_q"]).max() <= np.pi + 1e-12
        assert np.abs(turns["joint_q"] - wanted).max() < PROJECTION


def test_worlds_that_have_ended_give_nothing_and_disturb_nobody(batch, here, command):
    stop = ["--set", "run.stop_when={joint: pin, quantity: joint_qd, below: -0.2}"]
    command("run", batch / "varied.yaml", "-o", "stopped.h5", "-q", *stop)
    done = command("id", "stopped.h5", "--compare", "-o", "a.h5", "--json", *CPU)
    with package.open("stopped.h5") as run, package.open("a.h5") as result:
        ended = (run.diag.status[...] != 0).ravel()
        assert 0 < ended.sum() < len(ended)
        assert np.isnan(result["joint_effort"][ended]).all()
        assert np.isfinite(result["joint_effort"][~ended]).all()
    assert json.loads(done.stdout)["largest_difference"] < RUN_EFFORTS
    assert f"{ended.sum()} of {len(ended)} states belong to worlds that had ended" in done.stderr


def test_the_page_of_the_manual_names_every_field_and_works(here, command):
    from importlib.resources import files

    page = files("simcli").joinpath("docs", "mechanics.md").read_text(encoding="utf-8")
    table = page.split("| field |")[1]
    assert set(re.findall(r"`(\w+)`", table)) == {*FIELDS, "q_unit", "qd_unit", "effort_unit"}
    for name, text in re.findall(r"```yaml\n# (\w+\.yaml)\n(.*?)```", page, re.DOTALL):
        (here / name).write_text(text)
    for line in "".join(re.findall(r"```console\n(.*?)```", page, re.DOTALL)).splitlines():
        text, _, code = line.partition("  # exit ")
        program, *words = shlex.split(text)
        assert program == "simcli"
        done = command(*words)
        assert done.returncode == int(code or Exit.OK), (line, done.stderr)
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "mechanics.md", "exec"), {})
