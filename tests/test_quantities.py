"""Quantities that no channel holds: drives, distances, sums of contacts; in measures, in frames, and to end a world."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.process import simcli as command
from support.scenes import faults_of, scene
from test_measures import column, run

import simcli
from simcli import pipeline
from simcli.errors import SceneError
from simcli.solvers import SOLVERS
from simcli.spec import resolve
from simcli.spec.lookup.keys import meant_quantities

DRIVEN = """
simcli: 1
bodies:
  upper: {pose: {xyz: [0, 0, -0.5]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.01]}}
  lower: {pose: {xyz: [0, 0.1, -1.5]}, mass: 1, com: [0.01, 0, 0], inertia: {diag: [0.1, 0.105, 0.01]}}
joints:
  pin: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 1, 0], q: 0.3,
        drive: {mode: position, target: $s, stiffness: 30, damping: 2}}
  elbow: {type: revolute, parent: upper, child: lower, at: [0, 0, -1], axis: [0.1, 1, 0], q: 0.5, damping: 0.1,
          drive: {mode: velocity, target_velocity: 1, damping: 5, effort_limit: 3}}
signals: {s: {sine: {amplitude: 0.5, frequency: 2}}}
solver: {dt: 1.0e-3}
run: {duration: 0.06}
batch: {worlds: 2, seed: 1, vary: {joints.pin.qd: {list: [1, -4]}}}
output: {every: 0.01, quantities: [joint.pin.drive_effort, joint.elbow.drive_effort, joint.pin.drive_power]}
measure:
  peak: {max_abs: joint.pin.drive_effort}
  last: {final: joint.elbow.drive_power}
  used: {integral: joint.pin.drive_power}
"""
LED = """
simcli: 1
bodies:
  rod: {pose: {xyz: [0, 0, -0.5]}, mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}}
  lid: {pose: {xyz: [2, 0, -0.5]}, mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}, kinematic: true}
  rubbed: {pose: {xyz: [4, 0, -0.5]}, mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}}
  arm: {pose: {xyz: [6, 0, -0.5]}, mass: 3, inertia: {diag: [0.3, 0.3, 0.3]}}
  led: {pose: {xyz: [8, 0, -0.5]}, mass: 3, inertia: {diag: [0.3, 0.3, 0.3]}}
joints:
  swing: {type: revolute, parent: world, child: rod, at: [0, 0, 0], axis: [0, 1, 0], damping: 0.3, motion: {position: $turn}}
  lead: {type: revolute, parent: world, child: lid, at: [2, 0, 0], axis: [0, 1, 0], motion: {position: $turn}}
  rub: {type: revolute, parent: world, child: rubbed, at: [4, 0, 0], axis: [0, 1, 0], damping: 0.3, friction: 4,
        motion: {position: $turn}}
  pin: {type: revolute, parent: world, child: arm, at: [6, 0, 0], axis: [0, 1, 0], motion: {position: $turn}}
  geared: {type: revolute, parent: world, child: led, at: [8, 0, 0], axis: [0, 1, 0], mimic: {joint: pin, ratio: 2}}
signals: {turn: {sine: {amplitude: 0.4, frequency: 1}}}
solver: {dt: 2.0e-4}
run: {duration: 0.2}
output: {every: 0.002, quantities: [joint.swing.drive_effort, joint.lead.drive_effort, QUANTITIES
         joint.swing.drive_power, joint.rub.drive_power, joint.pin.drive_power, joint.lead.drive_power]}
"""
BALL = """
  ball: {pose: {xyz: [10, 0, -0.5]}, mass: 2, inertia: {diag: [0.2, 0.3, 0.1]}}
joints:
  neck: {type: ball, parent: world, child: ball, at: [10, 0, 0], q: [0.1, 0.2, -0.1, 0.96],
         drive: [{mode: position, target: 0.3, stiffness: 20, damping: 0.5}, {mode: position, target: -0.2, stiffness: 20,
          damping: 0.5}, {mode: position, target: 0.1, stiffness: 20, damping: 0.5}]}
"""
TOUCHING = """
simcli: 1
bodies:
  ball: {pose: {xyz: [0, 0, 0.15]}, mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, shapes: {s: {type: sphere, radius: 0.1}}}
  box: {pose: {xyz: [0, 0, 0.4]}, mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}, shapes: {s: {type: box, size: [0.2, 0.2, 0.2]}}}
world: {shapes: {ground: {type: plane}}}
solver: {dt: 2.0e-3}
run: {duration: 0.3}
output:
  every: 0.02
  channels: [state, contacts]
  quantities: [distance.ball.world, distance.world.box, distance.ball.box, contact.ball.force, contact.ball.count,
               contact.ball.box.force, contact.box.ball.force, contact.world.count]
measure: {hardest: {max: contact.ball.force, norm: true}, nearest: {min: distance.ball.box}}
"""
pytestmark = pytest.mark.usefixtures("scalar_code")
KINDS = {
    "ball": "{type: sphere, radius: 0.2}",
    "brick": "{type: box, size: [0.3, 0.2, 0.5]}",
    "pill": "{type: capsule, radius: 0.1, length: 0.4}",
    "can": "{type: cylinder, radius: 0.15, length: 0.4}",
    "egg": "{type: ellipsoid, radii: [0.1, 0.2, 0.3]}",
}


@pytest.fixture(scope="module")
def led(tmp_path_factory):
    """The file of a run of led joints by solver, beside the drive of a ball where the solver takes one."""

    @cache
    def path(solver):
        text = LED.replace("QUANTITIES", "" if solver == "affine" else "joint.neck.drive_effort, joint.neck.drive_power,")
        text = text if solver == "affine" else text.replace("\njoints:\n", BALL)
        return run(tmp_path_factory.mktemp("led"), text, f"solver.type={solver}")[1]

    return path


every_solver = pytest.mark.parametrize(
    "solver", [pytest.param(one, marks=[pytest.mark.slow] * (one == "natural")) for one in SOLVERS]
)


@every_solver
def test_a_motion_drives_with_what_the_other_laws_leave(solver, led):
    """The couple about the pin by d'Alembert, and the damper on top of it; of a body that is led the couple alone."""
    with simcli.open(led(solver)) as trajectory:
        since = int(solver == "affine")  # frame 0 of which is a trial
        t, w = trajectory.time[since:], 2 * np.pi
        q, qd, qdd = 0.4 * np.sin(w * t), 0.4 * w * np.cos(w * t), -0.4 * w * w * np.sin(w * t)
        couple = (0.1 + 2 * 0.25) * qdd + 2 * 9.81 * 0.5 * np.sin(q)
        for joint, expected in (("swing", couple + 0.3 * qd), ("lead", couple)):
            given = column(trajectory, f"joint.{joint}.drive_effort")[since:, 0, 0]
            np.testing.assert_allclose(given, expected, atol=2e-2 * np.abs(expected).max())


@every_solver
def test_motions_put_in_what_the_ledger_says(solver, led):
    """With dry friction on one of them, a gear, a body that is led, and the drive of a ball."""
    with simcli.open(led(solver)) as trajectory:
        names = ["swing", "lead", "rub", "pin", *["neck"] * (solver != "affine")]
        power = sum(column(trajectory, f"joint.{name}.drive_power")[1:, 0, 0] for name in names)
        supplied = trajectory.energy.input[:, 0]
        work = np.trapezoid(power, trajectory.time[1:])
        assert work == pytest.approx(supplied[-1] - supplied[1], rel=3e-3)
        assert abs(work) > 5


@every_solver
def test_the_drive_of_a_ball_is_a_spring_on_its_rotation_vector(solver, led):
    if solver == "affine":
        pytest.skip("it refuses drives of balls")
    with simcli.open(led(solver)) as trajectory:
        q, qd = trajectory.joint("neck").q[:, 0], trajectory.joint("neck").qd[:, 0]
        error = (Rotation.from_rotvec([0.3, -0.2, 0.1]) * Rotation.from_quat(q).inv()).as_rotvec()
        effort = 20 * error - 0.5 * qd
        np.testing.assert_allclose(column(trajectory, "joint.neck.drive_effort")[:, 0], effort, atol=1e-12)
        power = column(trajectory, "joint.neck.drive_power")[:, 0, 0]
        np.testing.assert_allclose(power, (effort * qd).sum(axis=1), atol=1e-12)


@pytest.mark.parametrize(
    "solver", [pytest.param(one, marks=pytest.mark.slow if one in ("maximal", "natural") else ()) for one in SOLVERS]
)
def test_contacts_and_distances_of_bodies(solver, tmp_path):
    found, path = run(tmp_path, TOUCHING, f"solver.type={solver}")
    with simcli.open(path) as trajectory:
        low, high = (trajectory.body(name).position[:, 0, 2] for name in ("ball", "box"))
        across = {"ball.world": low - 0.1, "world.box": high - 0.1, "ball.box": high - low - 0.2}
        for pair, distance in across.items():
            np.testing.assert_allclose(column(trajectory, f"distance.{pair}")[:, 0, 0], distance, atol=1e-9)
        sums, counts = np.zeros((2, trajectory.n_frames, 3)), np.zeros((2, trajectory.n_frames))
        table, owner = trajectory.contact_table(0, trajectory.n_frames), trajectory.model["shape_body"]
        a, b = (owner[table[name]] for name in ("shape_a", "shape_b"))
        for f, one, other, force in zip(table["frame"], a, b, table["force"], strict=True):
            for k, pair in enumerate(({0, -1, 1}, {0, 1})):
                if 0 in (one, other) and {one, other} <= pair:
                    sums[k, f] += force if other == 0 else -force
                    counts[k, f] += 1
        assert counts[1].any()
        slack = 1e-12 * np.abs(sums).max()
        for name, expected in {"ball.force": sums[0], "ball.box.force": sums[1], "box.ball.force": -sums[1]}.items():
            np.testing.assert_allclose(column(trajectory, f"contact.{name}")[:, 0], expected, atol=slack)
        np.testing.assert_array_equal(column(trajectory, "contact.ball.count")[:, 0, 0], counts[0])
        np.testing.assert_array_equal(column(trajectory, "contact.world.count")[:, 0, 0], counts[0] - counts[1])
    assert found["hardest"].value >= np.linalg.norm(sums[0], axis=1).max()
    stop = "run.stop_when={quantity: distance.ball.box, below: 0.02}"
    stopped, path = run(tmp_path, TOUCHING, f"solver.type={solver}", stop, name="stop.h5")
    with simcli.open(path) as trajectory:
        event = trajectory.events[-1]
        assert event.code == "SC604"
        assert event.text == "run.stop_when was met by distance.ball.box"
        assert stopped["nearest"].time == event.time
        assert 0.0 < stopped["nearest"].value < 0.02
        assert np.isnan(trajectory.body("ball").position[-1, 0, 2])


def test_distances_are_those_of_mujoco(tmp_path):
    """Every pair of kinds, eight poses, where the first step has placed them and where a frame does."""
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(7)
    bodies = "".join(
        f"  {name}: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, shapes: {{s: {shape}}}}}\n" for name, shape in KINDS.items()
    )
    pairs = [f"{a}.{b}" for a, b in combinations([*KINDS, "world"], 2)]
    low, high = (-0.7, -0.7, 0.5), (0.7, 0.7, 1.9)
    pose = {
        name: np.concatenate([rng.uniform(low, high, (8, 3)), Rotation.random(8, rng).as_quat()], axis=1) for name in KINDS
    }
    starts = ", ".join(f"{name}_free: {values[0].tolist()}" for name, values in pose.items())
    varied = ", ".join(f"initial.joint_q.{name}_free: {{list: {values.tolist()}}}" for name, values in pose.items())
    text = f"""
simcli: 1
bodies:
{bodies}
world: {{gravity: [0, 0, 0], shapes: {{ground: {{type: plane}}}}}}
contact: {{enabled: false}}
solver: {{dt: 1.0e-3}}
run: {{duration: 0.002}}
output: {{every: 0.001, quantities: [{", ".join("distance." + pair for pair in pairs)}]}}
measure: {{{", ".join(f"m{k}: {{final: distance.{pair}, until: 0.001}}" for k, pair in enumerate(pairs))}}}
initial: {{joint_q: {{{starts}}}}}
batch: {{worlds: 8, vary: {{{varied}}}}}
"""
    found, path = run(tmp_path, text)
    with simcli.open(path) as trajectory:
        for world in range(8):
            model = mujoco.MjModel.from_xml_string(in_mujoco(pose, world))
            data = mujoco.MjData(model)
            mujoco.mj_forward(model, data)
            for k, pair in enumerate(pairs):
                a, b = (mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, name) for name in pair.split("."))
                expected = mujoco.mj_geomDistance(model, data, a, b, 10.0, None)
                given = column(trajectory, f"distance.{pair}")[0, world, 0]
                if expected > 0:  # MuJoCo finds the depth of an overlap less exactly
                    assert given == pytest.approx(expected, abs=2e-6), (pair, world)
                else:
                    assert given <= 0, (pair, world)
                assert found[f"m{k}"].value[world] == given


def in_mujoco(pose: dict[str, np.ndarray], world: int) -> str:
    """The same shapes at the same places, as fixed geoms."""
    size = {
        "ball": ("sphere", "0.2"),
        "brick": ("box", "0.15 0.1 0.25"),
        "pill": ("capsule", "0.1 0.2"),
        "can": ("cylinder", "0.15 0.2"),
        "egg": ("ellipsoid", "0.1 0.2 0.3"),
    }
    geoms = ""
    for name, (kind, numbers_) in size.items():
        x, q = pose[name][world, :3], pose[name][world, 3:]
        w_first = " ".join(map(str, q[[3, 0, 1, 2]]))
        geoms += f'<geom name="{name}" type="{kind}" size="{numbers_}" pos="{" ".join(map(str, x))}" quat="{w_first}"/>'
    ground = '<geom name="world" type="plane" size="0 0 1"/>'
    return f'<mujoco><option><flag nativeccd="enable"/></option><worldbody>{ground}{geoms}</worldbody></mujoco>'


@pytest.mark.parametrize(
    ("where", "line", "code", "words"),
    [
        ("output", "{quantities: [joint.pin.q]}", "SC315", "column of `output.channels`"),
        ("output", "{quantities: [joint.pin.drive_efort]}", "SC315", "did you mean `joint.pin.drive_effort`"),
        ("output", "{quantities: [joint.wrist*.drive_effort]}", "SC315", "frames can record"),
        ("output", "{quantities: [joint.*.drive_efort]}", "SC315", "is no quantity"),
        ("output", "{quantities: [distance.*.*]}", "SC315", "frames can record"),
        ("output", "{channels: [energy], quantities: ['body.*.position']}", "SC315", "add `bodies` there"),
        ("output", "{quantities: ['joint.*.wrench']}", "SC315", "add `reactions` there"),
        ("output", "{quantities: [distance.upper.lower]}", "SC315", "no shape"),
        ("output", "{quantities: [distance.upper]}", "SC315", "is no quantity"),
        ("output", "{quantities: [distance.upper.lowr]}", "SC304", "lowr"),
        ("output", "{quantities: [contact.upper.force]}", "SC315", "nothing can touch"),
        ("output", "{quantities: [joint.weld.drive_effort]}", "SC205", "no component"),
        ("measure", "{t: {first: distance.force.upper, above: 1 N}}", "SC213", "a length [m] is expected"),
        ("run", "{duration: 1, stop_when: {quantity: joint.force_free.q, component: 2, below: 1 s}}", "SC213", "a length"),
        ("run", "{duration: 1, stop_when: {quantity: body.upper.position, component: 2, below: 1 s}}", "SC213", "a length"),
        ("measure", "{t: {first: joint.pin.q, above: 1 m}}", "SC213", "is a length, but an angle"),
        ("measure", "{t: {last_outside: energy.total, within: [0 J, 1 N]}}", "SC213", "is a force"),
        ("run", "{duration: 1, stop_when: {quantity: joint.pin.qdd, above: 1 rad/s}}", "SC213", "an angular velocity"),
        ("run", "{duration: 1, stop_when: {quantity: diag.gap, above: 1}}", "SC315", "diagnostic"),
        ("run", "{duration: 1, stop_when: {quantity: body.upper.position, component: 3, above: 1}}", "SC205", "3 component"),
    ],
)
def test_mistakes_are_named(where, line, code, words, tmp_path):
    others = (f"{where}:", "  peak", "  last", "  used", "measure:")
    lines = [one for one in DRIVEN.splitlines() if not one.startswith(others)]
    more = "\n".join([*lines, f"{where}: {line}"])
    if "weld" in line or "force.upper" in line or "force_free" in line:  # what the scene has for these lines alone
        weld = "  weld: {type: fixed, parent: world, child: force}\n" * ("weld" in line)
        more = more.replace("joints:\n", f"  force: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}\njoints:\n{weld}")
    (tmp_path / "scene.yaml").write_text(more)
    done = command("check", "scene.yaml", cwd=tmp_path)
    assert code in done.stderr
    assert words in done.stderr


@pytest.mark.parametrize(
    "where",
    [
        "measure={d: {min: distance.a.b}}",
        "output.quantities=[distance.b.a]",
        "run.stop_when={quantity: distance.a.b, below: 1}",
        "expect=[{max: distance.a.b, below: 1}]",
    ],
)
def test_a_flat_mesh_has_no_distance(where, tmp_path):
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n")
    (tmp_path / "scene.yaml").write_text(
        "simcli: 1\nbodies:\n"
        "  a: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, shapes: {s: {type: mesh, file: flat.obj}}}\n"
        "  b: {pose: {xyz: [0, 0, 2]}, mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {s: {type: sphere, radius: 0.1}}}\n"
        "contact: {enabled: false}\nrun: {duration: 0.1}\n"
    )
    request = pipeline.Request(tmp_path / "scene.yaml", None, (where,))
    with pytest.raises(SceneError) as caught:
        pipeline.prepare(request)
    (fault,) = caught.value.faults
    assert (fault.code, fault.where.line) == ("SC481", 3)
    assert "`a/s` has no convex hull" in fault.message


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("{at: end, quantity: body.m.position, equals: [0, 0], within: 1}", "SC205"),
        ("{at: end, quantity: body.m.position, component: 1, equals: [0, 0, 0], within: 1}", "SC205"),
        ("{at: end, quantity: joint.a.q, equals: [0, 0], within: 1}", "SC205"),
        ("{max: joint.*.q, below: 1 rad}", "SC213"),
        ("{max: joint.*.qd.0, below: 1 rad/s}", "SC213"),
        ("{at: end, quantity: body.m.position, equals: [0, 0, 9], within: 1}", None),
        ("{at: end, quantity: body.m.position, equals: 0, within: 9 m}", None),
        ("{max: joint.*.q, below: 1 cm}", None),
    ],
)
def test_expectations_that_could_only_fail_are_refused(entry, code):
    text = f"""bodies:
  m: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}
  n: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}
joints:
  a: {{type: prismatic, parent: world, child: m, axis: [1, 0, 0]}}
  b: {{type: prismatic, parent: m, child: n, axis: [1, 0, 0]}}
run: {{duration: 0.1}}
expect: [{entry}]
"""
    assert [one[0] for one in faults_of(text)] == ([code] if code else [])


PATTERNS = """
defaults: {body: {mass: 1, inertia: {diag: [1, 1, 1]}}}
bodies:
  a: {shapes: {s: {type: sphere, radius: 0.1}}, points: {p: [0, 0, 0]}}
  b: {pose: {xyz: [1, 0, 0]}, shapes: {s: {type: sphere, radius: 0.1}}, points: {p: [0, 0, 0]}}
  c: {pose: {xyz: [3, 0, 0]}, shapes: {s: {type: sphere, radius: 0.1}}}
  bare: {pose: {xyz: [9, 0, 0]}}
joints:
  arm_1: {type: revolute, parent: world, child: a, at: [0, 0, 0], axis: [0, 1, 0]}
  arm_2: {type: revolute, parent: a, child: b, at: [0.5, 0, 0], axis: [0, 1, 0], drive: {mode: effort, target: 1}}
  arm_3: {type: fixed, parent: b, child: bare}
  slide: {type: prismatic, parent: world, child: c, at: [3, 0, 0], axis: [1, 0, 0]}
sensors: {top: {type: [gyro, accelerometer], at: a/p}, low: {type: gyro, at: b/p}}
contact: {enabled: true}
"""
MEANT = {
    "joint.arm_*.drive_effort": ["joint.arm_1.drive_effort", "joint.arm_2.drive_effort"],
    "joints.*.drive_power": [f"joint.{name}.drive_power" for name in ("arm_1", "arm_2", "slide")],
    "sensor.*.gyro": ["sensor.top.gyro", "sensor.low.gyro"],
    "sensor.*.accelerometer": ["sensor.top.accelerometer"],
    "distance.*.*": ["distance.a.b", "distance.a.c", "distance.b.c"],
    "distance.c.*": ["distance.c.a", "distance.c.b"],
    "contact.[ab].force": ["contact.a.force", "contact.b.force"],
    "contact.*.c.count": ["contact.a.c.count", "contact.b.c.count"],
    "body.*.position": [],
    "joint.*.q": [],
}


def test_a_pattern_means_each_of_its_names(tmp_path):
    """In the file as if they were written one by one: the same columns with the same bytes."""
    for text, names in MEANT.items():
        assert faults_of(f"output: {{quantities: ['{text}']}}\n", PATTERNS) == [], text
        assert list(meant_quantities(resolve(scene(PATTERNS)), text)) == names, text
    written = dict.fromkeys(name for names in MEANT.values() for name in names)
    columns = {}
    for what, quantities in (("patterns", MEANT), ("names", written)):
        listed = ", ".join(f'"{one}"' for one in quantities)
        text = f"simcli: 1\n{PATTERNS}\nrun: {{duration: 0.003}}\noutput: {{every: 1e-3, quantities: [{listed}]}}\n"
        _, path = run(tmp_path, text)
        with simcli.open(path) as trajectory:
            columns[what] = {name: column(trajectory, name) for name in written}
            assert len({label.rpartition(".")[0] for label in trajectory.quantities}) <= len(written), what
    for name in written:
        np.testing.assert_array_equal(columns["patterns"][name], columns["names"][name])
