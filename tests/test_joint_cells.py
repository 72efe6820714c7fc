"""No field of a joint is ignored: each is refused by name, warned of, or changes the motion, in every solver.

The cells are those of the code: every joint type, every field of the schema, every mode of a drive, in the tree and outside.

Joints with `enabled: false`: none of their laws acts, in any solver.

Joint types are listed in one place. One that is added as the house page says, in a copy of the package and a process of its
own:

`socket` is a ball and `slider_ball` a point on a line under new numbers: they must move, be shown, be set and be refused as
these are, though no line of code but those of the page knows them.

Effort limits of ball drives: the size of the torque stays within them, in every rigid solver and integrator.
"""

import ast
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from support.contact_scenes import run
from support.contacts import read_model
from support.device import live_device
from support.joint_cells import FIELDS, judged, names_not_covered
from support.process import TIMEOUT, environment
from support.scenes import scene

import simcli
from simcli.cli import process as cli_process
from simcli.errors import Exit, SceneError
from simcli.joint_types import TYPES
from simcli.model.phases import build_phases
from simcli.pipeline import read_scene
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import resolve
from simcli.spec.base import dofs
from simcli.spec.checks.drives import READS
from simcli.spec.checks.joint_fields import JOINTS

H, STEPS = 2e-3, 30  # [s], step, and how many
SEEN = 1e-7  # [m, rad, m/s, rad/s]: far above rounding, far below what the values of the cells do in these steps
every_solver = pytest.mark.parametrize("solver", sorted(JOINTS))


def test_every_field_of_the_schema_has_a_cell():
    assert names_not_covered() == set()


@every_solver
def test_what_is_refused_is_named(solver):
    """The fault stands at the field or at the joint's type, and names what is wrong."""
    scene, refused = judged(solver)
    assert len(scene.cells) + len(refused) == 2 * len(FIELDS) * len(dofs.TYPES)
    for (kind, name, outside), faults in refused.items():
        key = {"effort": "joint", "torsion": "joint"}.get(name.split(".")[0], name.split(".")[0])  # of a force
        named = [
            fault
            for fault in faults
            if f".{key}" in fault.where.path
            or f"`{key}`" in fault.message
            or ".type" in fault.where.path
            or ".axes" in fault.where.path
        ]
        assert named, (kind, name, outside, faults)
        assert all(fault.hint for fault in named), (kind, name, outside, faults)


@every_solver
@pytest.mark.parametrize("outside", [False, True], ids=["tree", "loop"])
def test_a_drive_takes_what_its_mode_reads_and_nothing_else(solver, outside):
    scene, refused = judged(solver)
    for kind in JOINTS[solver].types & (JOINTS[solver].loop if outside else JOINTS[solver].tree)["drive"]:
        if outside != (kind in dofs.NEVER_TREE) and kind in dofs.NEVER_TREE:
            continue
        for mode, read in READS.items():
            for key in ("target", "target_velocity", "stiffness", "damping"):
                cell = (kind, f"drive.{mode}.{key}", outside)
                assert (cell in scene.cells) == (key in read), (cell, refused.get(cell))


@every_solver
def test_what_is_taken_changes_the_motion(solver, device):
    """All cells in one run, which shows coordinates and bodies at its start and at its end."""
    scene, _ = judged(solver)
    model = scene.model
    plan = RunPlan(H, STEPS, 1, frozenset(("joints", "bodies")))
    run = SOLVERS[solver](model, scene.options, plan, device)
    blocks = [run.initial(), run.advance(1)]
    columns = {
        name: np.concatenate([block.columns[f"frames/{name}"] for block in blocks])[:, 0]
        for name in ("joint_q", "joint_qd", "body_q", "body_qd")
    }
    joints, bodies = ({name: k for k, name in enumerate(names)} for names in (model.joints.name, model.bodies.name))

    def seen(name):
        j, body = joints[name], bodies[name]
        q, qd = (slice(start[j], start[j + 1]) for start in (model.joints.q_start, model.joints.qd_start))
        where = {"joint_q": q, "joint_qd": qd, "body_q": body, "body_qd": body}
        parts = [columns[name][:, place] for name, place in where.items()]
        return np.concatenate([np.nan_to_num(np.ravel(part)) for part in parts])

    silent = [
        cell for cell, (having, without) in scene.cells.items() if not np.abs(seen(having) - seen(without)).max() > SEEN
    ]
    assert scene.cells
    assert silent == []


RATE, JOINTS_OFF_STEPS, DT = 1.0, 200, 1e-3
LAWS = (
    "limit: [-1, 0.05], damping: 3, friction: 2, armature: 1, velocity_limit: 0.5, "
    "drive: {mode: position, target: -1, stiffness: 50, damping: 1}",
    "limit: {lower: -1, upper: 0.05, stiffness: 500}, drive: {mode: effort, target: $pull}",
)
# A uniform turn about a principal axis at (w h) = 1e-3 rad a step: the affine body's bdf2 takes 2e-6 of it at the start.
NEAR = {"affine": 1e-5, "natural": 1e-7}


@pytest.mark.parametrize("laws", LAWS)
@pytest.mark.parametrize(
    "solver", [name if name == "affine" else pytest.param(name, marks=pytest.mark.slow) for name in SOLVERS]
)
def test_a_joint_that_is_off_does_nothing(solver, laws, tmp_path):
    armature = solver == "affine" and "armature" in laws
    text = f"""
world: {{gravity: [0, 0, 0]}}
signals: {{pull: {{constant: -7}}}}
bodies: {{wheel: {{mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}}}}}
joints:
  on: {{type: revolute, parent: world, child: wheel, axis: [0, 1, 0], qd: {RATE}}}
  off: {{type: revolute, parent: world, child: wheel, axis: [0, 1, 0], loop: true, enabled: false,
        {laws if armature else laws.replace("armature: 1, ", "")}}}
solver: {{type: {solver}, dt: {DT}}}
run: {{duration: {JOINTS_OFF_STEPS * DT}}}
"""
    document = scene(text, tmp_path)
    spec = resolve(document)
    model = build_phases(document, spec)[0].model
    run = SOLVERS[solver](
        model, spec.solver, RunPlan(DT, JOINTS_OFF_STEPS, 1, frozenset(("state", "energy"))), live_device()
    )
    first, last = run.initial().columns, run.advance(1).columns
    assert last["frames/joint_q"][0, 0] == pytest.approx(RATE * JOINTS_OFF_STEPS * DT, rel=0, abs=NEAR.get(solver, 1e-12))
    assert np.abs(last["frames/joint_effort"]).max() < 1e-12
    for part in ("elastic", "dissipated", "input"):
        assert abs(last[f"energy/{part}"][0, 0]) + abs(first[f"energy/{part}"][0, 0]) < 1e-6, part


# What can act on a joint that is off beside the laws above, and what joins it to others: its keys, and a force on it.
ACTIONS = {
    "torque": ({}, {"type": "torque", "value": [-3]}),
    "signal": ({}, {"type": "torque", "value": ["$pull"]}),
    "torsion": ({}, {"type": "torsion", "stiffness": 40, "rest_angle": 1}),
    "position": ({"motion": {"position": 0.5}}, {}),
    "velocity": ({"motion": {"velocity": "$pull"}}, {}),
    "follower": ({"mimic": {"joint": "on_torque", "ratio": 2}}, {}),
    "leader": ({}, {}),
    "both": ({"mimic": {"joint": "off_torque", "ratio": 2}}, {}),
}
SWITCHED, TORQUE, RATIO = 0.1, 0.4, 2.0  # [s, N m]


def wheels():
    """A wheel per action, each on a joint that is on beside one that is off; one that follows what is off; and a gear that
    an event switches off by its leader."""
    pin = {"type": "revolute", "parent": "world", "axis": [0, 1, 0]}
    bodies, joints, forces = {}, {}, {}
    for n, (name, (keys, force)) in enumerate(ACTIONS.items()):
        place = {"at": [0, n, 0], "child": name}
        bodies[name] = {"pose": {"xyz": [0, n, 0]}, "mass": 1, "inertia": {"diag": [0.1, 0.1, 0.1]}}
        joints[f"on_{name}"] = pin | place | {"qd": RATE}
        joints[f"off_{name}"] = pin | place | {"loop": True, "enabled": False} | keys
        if force:
            forces[name] = force | {"joint": f"off_{name}"}
    for n, name in enumerate(("rests", "driver", "driven"), len(ACTIONS)):
        bodies[name] = {"pose": {"xyz": [0, n, 0]}, "mass": 1, "inertia": {"diag": [0.1, 0.1, 0.1]}}
        joints[f"on_{name}"] = pin | {"at": [0, n, 0], "child": name}
    joints["on_rests"]["mimic"] = {"joint": "off_leader", "ratio": 2}
    joints["switched"] = pin | {"at": [0, len(ACTIONS) + 1, 0], "child": "driver", "loop": True}
    joints["on_driven"]["mimic"] = {"joint": "switched", "ratio": RATIO}
    forces["push"] = {"type": "wrench", "body": "driver", "torque": [0, TORQUE, 0]}
    return {
        "simcli": 1,
        "world": {"gravity": [0, 0, 0]},
        "signals": {"pull": {"constant": -7}},
        "bodies": bodies,
        "joints": joints,
        "forces": forces,
        "events": [{"at": SWITCHED, "set": {"joints.switched.enabled": False}}],
    }


@pytest.mark.parametrize(
    "solver", [name if name == "affine" else pytest.param(name, marks=pytest.mark.slow) for name in SOLVERS]
)
def test_nothing_acts_on_or_through_a_joint_that_is_off(solver, tmp_path):
    """Efforts, motions, and gears whose leader, follower or both are off; and one from an event on."""
    path = tmp_path / "wheels.yaml"
    path.write_text(
        json.dumps(wheels() | {"solver": {"type": solver, "dt": DT}, "run": {"duration": JOINTS_OFF_STEPS * DT}})
    )
    document, spec = read_scene(path)
    phases = build_phases(document, spec)
    run = SOLVERS[solver](
        phases[0].model,
        spec.solver,
        RunPlan(DT, JOINTS_OFF_STEPS, 1, frozenset(("state", "energy"))),
        live_device(),
        phases=phases[1:],
    )
    joints = phases[0].model.joints
    run.initial()
    last = run.advance(1).columns
    q, qd, effort = (
        {name: last[f"frames/joint_{key}"][0, 0, start[j]] for j, name in enumerate(joints.name)}
        for key, start in (("q", joints.q_start), ("qd", joints.qd_start), ("effort", joints.qd_start))
    )
    slack = NEAR.get(solver, 1e-12)
    for name in ACTIONS:
        assert q[f"on_{name}"] == pytest.approx(RATE * JOINTS_OFF_STEPS * DT, rel=0, abs=slack), name
        assert abs(effort[f"off_{name}"]) < 1e-12, name
    assert abs(q["on_rests"]) < slack
    rate = TORQUE * SWITCHED / 0.1 / (1 + RATIO**2)
    assert qd["on_driven"] == pytest.approx(RATIO * rate, rel=2 * DT / SWITCHED)
    assert qd["on_driver"] == pytest.approx(rate + TORQUE / 0.1 * (JOINTS_OFF_STEPS * DT - SWITCHED), rel=2 * DT / SWITCHED)


LINES = {  # file: a line that is there, and what is added behind it
    "model/tables/model.py": [("    UNIVERSAL_PRISMATIC = 18\n", "    SOCKET = 19\n    SLIDER_BALL = 20\n")],
    "joint_types.py": [
        (
            '    "planar": TypeEntry("LLA", has_axis=True, is_flat=True),\n',
            '    "socket": TypeEntry("AAA", Coordinates.QUATERNION),\n'
            '    "slider_ball": TypeEntry("LAAA", Coordinates.SLIDES, has_axis=True),\n',
        ),
    ],
    "model/joints/catalogue.py": [
        (
            '    "ball": (JointKind.BALL, all_turns, same_point, unbound),\n',
            '    "socket": (JointKind.SOCKET, all_turns, same_point, unbound),\n'
            '    "slider_ball": (JointKind.SLIDER_BALL, composed(1, 3), on_lines, unbound, _AXIS),\n',
        ),
    ],
}
ROUNDING = 1e-9  # [m, rad/s], of the same equations in another order
SCENE = """
simcli: 1
world: {gravity: [0.3, 0.5, -9.81]}
defaults: {body: {mass: 1, com: [0.1, 0.2, 0.3], inertia: {diag: [0.1, 0.2, 0.25]}}}
bodies: {ball: {}, socket: {}, point_on_line: {}, slider_ball: {}}
joints:
  ball: {type: ball, parent: world, child: ball, q: [0, 0.6, 0, 0.8], qd: [1, 2, 3]}
  socket: {type: socket, parent: world, child: socket, q: [0, 0.6, 0, 0.8], qd: [1, 2, 3]}
  point_on_line: {type: point_on_line, parent: world, child: point_on_line, axis: [0.2, 1, 0.3]}
  slider_ball: {type: slider_ball, parent: world, child: slider_ball, axis: [0.2, 1, 0.3]}
forces:
  turn: {type: torque, joint: ball, value: [0.1, 0.2, 0.3]}
  push: {type: torque, joint: socket, value: [0.1, 0.2, 0.3]}
solver: {type: SOLVER, dt: 1.0e-3}
run: {duration: 0.05}
"""
CHILD = """
import ast
import json
import numpy as np
import simcli
from simcli.analysis.states.state_tables import check_coordinates
from simcli.errors import UsageError

with open("scene.yaml") as file:
    text = file.read()
found = {}
for solver in ("generalized", "natural"):
    with open("here.yaml", "w") as out:
        out.write(text.replace("SOLVER", solver))
    with simcli.Simulation("here.yaml", device="cpu") as sim:
        model = sim._job.model
        sim.step(50)
        seen = {j: [sim.get(f"joint.{j}.{word}")[0].tolist() for word in ("qd", "q")] for j in sim.joints}
        sim.set("joint.socket.q", [0, 0, 3, 4])
        first = model.joints.q_start[model.joints.name.index("socket")]
        try:
            check_coordinates({"joint_q": np.where(np.arange(model.n_q) - first == 0, 0.5, model.joint_q[:1])}, model, str,
                              UsageError)
            said = ""
        except UsageError as error:
            said = str(error)
        found[solver] = seen, sim.get("joint.socket.q")[0].tolist(), said
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A folder with the package and two more joint types."""
    folder = tmp_path_factory.mktemp("house")
    copy = folder / "simcli"
    shutil.copytree(Path(simcli.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, additions in LINES.items():
        text = (copy / name).read_text(encoding="utf-8")
        for there, added in additions:
            assert text.count(there) == 1, (name, there)
            text = text.replace(there, there + added)
        (copy / name).write_text(text, encoding="utf-8")
    return folder


def in_house(house, *words):
    """A process that has the joint types."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=house,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env=environment(PYTHONPATH=str(house)),
        check=False,
    )


# Files that may name several joint types in one list: the list itself, and what each solver can do with them.
OF_TYPES = {"joint_types.py", "spec/checks/joint_fields.py"}


def type_lists(tree):
    """Lines with tuples, lists, sets or texts that name two joint types or more."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            names = [one.value for one in node.elts if isinstance(one, ast.Constant)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = node.value.split() if set(node.value.split()) <= set(TYPES) else []
        else:
            continue
        if len({name for name in names if name in TYPES}) > 1:
            yield node.lineno


def test_no_other_file_has_a_list_of_joint_types():
    """Readers and writers of formats apart, whose lists are of what the formats have."""
    house = Path(simcli.__file__).parent
    files = {path.relative_to(house).as_posix(): path for path in house.rglob("*.py")}
    found = [
        f"{name}:{line}"
        for name, path in files.items()
        if name not in OF_TYPES and not name.startswith("exchange/")
        for line in type_lists(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []
    assert list(type_lists(ast.parse("a = ('ball', 'free')\nb = 'screw cable'\nc = ('ball', 1)"))) == [1, 2]


def test_it_is_as_the_joint_that_it_is_like(house):
    (house / "scene.yaml").write_text(SCENE)
    done = in_house(house, "-c", CHILD)
    assert done.returncode == 0, done.stderr
    for solver, (seen, placed, said) in json.loads(done.stdout.splitlines()[-1]).items():
        for new, known in (("socket", "ball"), ("slider_ball", "point_on_line")):
            (qd, q), (qd_known, q_known) = seen[new], seen[known]
            assert len(q) == len(qd) + 1, (solver, new)
            assert sum(x * x for x in q[-4:]) == pytest.approx(1.0, abs=1e-9), (solver, new)
            assert q == pytest.approx(q_known, abs=ROUNDING), (solver, new)
            assert qd == pytest.approx(qd_known, abs=ROUNDING), (solver, new)
        assert placed == pytest.approx([0, 0, 0.6, 0.8])
        assert "the quaternion x y z w of joint `socket` has length" in said


def test_an_effort_on_it_is_honoured_or_refused(house):
    """Of a quaternion it is a law; of a point on a line nothing, and `check` says so."""
    refused = SCENE.replace("joint: socket, value: [0.1, 0.2, 0.3]", "joint: slider_ball, value: [1, 0, 0, 0]")
    for name, text, code in (("sound", SCENE, 0), ("refused", refused, 1)):
        (house / f"{name}.yaml").write_text(text.replace("SOLVER", "generalized"))
        done = in_house(house, "-m", "simcli", "check", f"{name}.yaml")
        assert done.returncode == code, (name, done.stdout + done.stderr)
    assert "SC501" in done.stderr
    assert "an effort on a `slider_ball` joint" in done.stderr


INERTIA, BALL_LIMITS_RATE, TARGET = (0.2, 0.3, 0.25), (0.3, -0.4, 0.5), (0.5, 1.0, -0.7)
STIFF, DAMP, LIMIT, DURATION = 20.0, 1.0, 3.0, 0.6
FIRST_ORDER = (1.8, 2.2)  # ratio of errors of steps in the ratio 2
FINE = 2e-5  # [1, rad/s] of steps of 1 ms and of second order or more: the kink where the limit ends is left
LAW = 1e-9  # relative to the limit
DIRECTION = 1e-6  # likewise, what the tries of a step leave of a direction: inertia times gain differs between the axes
slow = pytest.mark.slow
STONE = {"pose": {"xyz": [5, 0, 0.1]}, "mass": 1, "shapes": {"s": {"type": "sphere", "radius": 0.1}}}


def scene_of_ball_limits(solver, integrator, dt, touches=False, limit=LIMIT, every=0.02, loop=False, gains=(STIFF, DAMP)):
    servo = {"mode": "position", "stiffness": gains[0], "damping": gains[1], "effort_limit": limit}
    drives = [servo | {"target": x} for x in TARGET]
    start = {} if loop else {"qd": list(BALL_LIMITS_RATE)}
    hip = {"type": "ball", "parent": "world", "child": "top", "at": [0, 0, 0], "drive": drives, "loop": loop, **start}
    top = {
        "mass": 1,
        "inertia": {"diag": list(INERTIA)},
        **({"velocity": {"angular": list(BALL_LIMITS_RATE)}} if loop else {}),
    }
    ground = {"shapes": {"ground": {"type": "plane"}}} if touches else {}
    options = {"contact": {"tolerance": 1e-10}} if touches else {}
    return {
        "simcli": 1,
        "world": {"gravity": [0, 0, 0], **ground},
        "bodies": {"top": top, **({"stone": STONE} if touches else {})},
        "joints": {"hip": hip},
        "solver": {"type": solver, "integrator": integrator, "dt": dt, **options},
        "run": {"duration": DURATION},
        "output": {"every": every, "channels": ["state", "energy"]},
    }


@pytest.fixture(scope="module")
def exact():
    """Quaternions and rates by scipy, at every 20 ms."""
    inertia, aim = np.diag(INERTIA), Rotation.from_rotvec(TARGET)

    def rates(t, y):
        turn, w = Rotation.from_quat(y[:4]), y[4:]
        torque = STIFF * (aim * turn.inv()).as_rotvec() - DAMP * w
        torque *= min(1.0, LIMIT / np.linalg.norm(torque))
        R = turn.as_matrix()
        moment = R @ inertia @ R.T
        spin = np.linalg.solve(moment, torque - np.cross(w, moment @ w))
        return [*0.5 * (w * y[3] + np.cross(w, y[:3])), -0.5 * w @ y[:3], *spin]

    times = np.linspace(0, DURATION, round(DURATION / 0.02) + 1)
    return solve_ivp(
        rates, (0, DURATION), [0, 0, 0, 1, *BALL_LIMITS_RATE], rtol=1e-10, atol=1e-11, max_step=2e-3, t_eval=times
    ).y.T


def error(folder, exact, dt, *cell, **more):
    code, found = run(folder, f"{dt}", scene_of_ball_limits(*cell, dt, **more))
    assert code == 0
    hip = found.joint("hip")
    q = hip.q[:, 0] * np.sign((hip.q[:, 0] * exact[:, :4]).sum(axis=1, keepdims=True))
    return max(np.abs(q - exact[:, :4]).max(), np.abs(hip.qd[:, 0] - exact[:, 4:]).max())


CELLS = [
    ("generalized", "semi_implicit", False),
    *(
        pytest.param(*cell, marks=slow)
        for cell in (
            ("generalized", "semi_implicit", True),
            ("maximal", "semi_implicit", False),
            ("maximal", "semi_implicit", True),
            ("natural", "moreau", True),
        )
    ),
]


@pytest.mark.parametrize(("solver", "integrator", "touches"), CELLS)
def test_steps_of_first_order_converge(tmp_path, exact, solver, integrator, touches):
    errors = [error(tmp_path, exact, dt, solver, integrator, touches=touches) for dt in (2e-3, 1e-3)]
    assert FIRST_ORDER[0] < errors[0] / errors[1] < FIRST_ORDER[1]
    assert errors[1] < 0.03


HIGHER = [
    ("generalized", "rk4"),
    *(pytest.param(*cell, marks=slow) for cell in (("generalized", "implicit"), ("natural", "zhong06"))),
]


@pytest.mark.parametrize(("solver", "integrator"), HIGHER)
def test_steps_of_higher_order_are_near(tmp_path, exact, solver, integrator):
    assert error(tmp_path, exact, 1e-3, solver, integrator) < FINE


@slow
def test_a_ball_outside_the_tree_has_one_too(tmp_path, exact):
    assert error(tmp_path, exact, 1e-3, "generalized", "rk4", loop=True) < FINE


@pytest.mark.parametrize("touches", [False, pytest.param(True, marks=slow)])
@pytest.mark.parametrize(("gains", "limit"), [((20.0, 1.0), LIMIT), ((2e3, 300.0), 60.0)])  # slow beside a step, and fast
def test_the_torque_of_a_step_is_the_nearest_within_the_limit(tmp_path, gains, limit, touches):
    """k (e - h w+) - c w+ with the error e where the step begins and the rate w+ where it ends, cut to the limit."""
    h = 2e-3
    code, found = run(
        tmp_path, "law", scene_of_ball_limits("generalized", "semi_implicit", h, touches, limit, h, gains=gains)
    )
    assert code == 0
    hip = found.joint("hip")
    turns, w, effort = Rotation.from_quat(hip.q[:-1, 0]), hip.qd[1:, 0], hip.effort[1:, 0]
    asked = gains[0] * ((Rotation.from_rotvec(TARGET) * turns.inv()).as_rotvec() - h * w) - gains[1] * w
    size = np.linalg.norm(asked, axis=1, keepdims=True)
    assert (size > limit).sum() > 15
    assert (size < limit).sum() > 15
    wanted = asked * np.minimum(1.0, limit / size)
    assert np.abs(effort - wanted).max() < DIRECTION * limit
    assert np.linalg.norm(effort, axis=1).max() < limit * (1 + LAW)


def test_a_drive_at_its_limit_holds_up_a_part_of_a_weight(tmp_path, capfd):
    """The spring asks for more than the limit: m g l sin(angle) = limit."""
    content = scene_of_ball_limits("generalized", "semi_implicit", 1e-3)
    content["world"] = {"gravity": [0, 0, -9.81]}
    content["bodies"]["top"] |= {"com": [0, 0, -0.5]}
    for drive, target in zip(content["joints"]["hip"]["drive"], (0.0, 1.5, 0.0), strict=True):
        drive["target"] = target
    content["joints"]["hip"]["qd"] = [0.0] * 3
    (tmp_path / "held.yaml").write_text(json.dumps(content))
    command = ["equilibrium", str(tmp_path / "held.yaml"), "--json", "--device", "cpu", "--threads", "1"]
    assert cli_process.run_command(command, debug=False, as_json=True) == Exit.OK
    found = json.loads(capfd.readouterr().out)
    assert 2 * math.asin(abs(found["joint_q"]["hip"][1])) == pytest.approx(math.asin(LIMIT / (9.81 * 0.5)), rel=1e-8)
    assert found["joint_wrench"]["hip"][3:] == pytest.approx([0, LIMIT, 0], abs=1e-8)


def test_what_is_refused(tmp_path):
    content = scene_of_ball_limits("generalized", "rk4", 1e-3)
    content["joints"]["hip"]["drive"][1]["effort_limit"] = 4.0
    with pytest.raises(SceneError, match="effort limits that differ"):
        read_model(tmp_path, json.dumps(content))
    for solver, integrator in (("natural", "generalized_alpha"), ("affine", "bdf1")):
        with pytest.raises(SceneError, match="a drive on a `ball`"):
            read_model(tmp_path, json.dumps(scene_of_ball_limits(solver, integrator, 1e-3)))
