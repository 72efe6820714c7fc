"""No field of a joint is ignored: each is refused by name, warned of, or changes the motion, in every solver.

The cells are those of the code: every joint type, every field of the schema, every mode of a drive, in the tree and outside.

Joints with `enabled: false`: none of their laws acts, in any solver.

Joint types are listed in one place. One that is added as the house page says, in a copy of the package and a process of its
own:

`socket` is a ball, `slider_ball` a point on a line, `rail` prismatic and `glue` fixed under new numbers: they must move, be
shown, be set and be refused as these are, though no line of code but those of the page knows them. `helix_on_line` is like
no other: a screw across a slide.

Effort limits of ball drives: the size of the torque stays within them, in every rigid solver and integrator.
"""

import ast
import json
import math
from pathlib import Path
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from support.contact_scenes import run
from support.contacts import read_model
from support.device import live_device
from support.joint_cells import FIELDS, judged, names_not_covered
from support.recipes import copy_with, in_copy
from support.scenes import scene

import simcli
from simcli import rotations as rot
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
    "model/tables/model.py": [
        (
            "    UNIVERSAL_PRISMATIC = 18\n",
            "    SOCKET = 90\n    SLIDER_BALL = 91\n    HELIX_ON_LINE = 92\n    RAIL = 93\n    GLUE = 94\n",
        )
    ],
    "joint_types.py": [
        (
            '    "planar": TypeEntry("LLA", has_axis=True, is_flat=True),\n',
            '    "socket": TypeEntry("AAA", Coordinates.QUATERNION),\n'
            '    "slider_ball": TypeEntry("LAAA", Coordinates.SLIDES, has_axis=True),\n'
            '    "helix_on_line": TypeEntry("LA", has_axis=True, keys=("pitch",), required=_PITCH),\n'
            '    "rail": TypeEntry("L", has_axis=True),\n'
            '    "glue": TypeEntry(""),\n',
        ),
    ],
    "model/joints/motion_axes.py": [
        (
            "def _no_axes() -> _Array:\n    return np.zeros((0, 3))\n",
            "\n\ndef slide_and_screw(axis: _Array, pitch: _Array, **_: _Array) -> MotionAxis:\n"
            "    return MotionAxis(axis[..., None, :], rot.frame_along(axis)[..., None, :, 0], pitch)\n",
        ),
    ],
    "model/joints/catalogue.py": [
        ("    no_motion,\n", "    slide_and_screw,\n"),
        (
            "    return [*rows, Row(RowKind.PITCH, frame[..., 2], frame[..., 0], motion.pitch)]\n",
            "\n\ndef across_screw(motion: MotionAxis) -> list[Row]:\n"
            "    slide, screw = motion.linear[..., 0, :], motion.angular[..., 0, :]\n"
            "    return [Row(RowKind.ALONG, rot.cross(slide, screw)), Row(RowKind.PITCH, screw, slide, motion.pitch)]\n",
        ),
        (
            '    "ball": (JointKind.BALL, all_turns, same_point, unbound),\n',
            '    "socket": (JointKind.SOCKET, all_turns, same_point, unbound),\n'
            '    "slider_ball": (JointKind.SLIDER_BALL, composed(1, 3), on_lines, unbound),\n'
            '    "helix_on_line": (JointKind.HELIX_ON_LINE, slide_and_screw, across_screw, parallel),\n'
            '    "rail": (JointKind.RAIL, slide_along, on_lines, same_axes),\n'
            '    "glue": (JointKind.GLUE, no_motion, same_point, same_axes),\n',
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
    """A folder with the package and five more joint types."""
    return copy_with(tmp_path_factory.mktemp("house"), LINES)


# Files that may name several joint types: the list, what is keyed by it, and what other programs have for some types.
OF_TYPES = {
    "joint_types.py": "the list",
    "model/joints/catalogue.py": "motion axes and constraint equations, one line for each type",
    "model/forms/affine_energy.py": "equations that libuipc has for its own joints; those of all others are the catalogue's",
    "exchange/writing/usd_parts.py": "joints that UsdPhysics has",
    "exchange/writing/mjcf_acts.py": "loops that MJCF closes; all others are reported as lost",
}


def types_named(node):
    """Joint types that an expression names: by texts, by members of JointKind, or as what these are compared with."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        words = set(node.value.replace(",", " ").split())
        return words if words <= set(TYPES) else set()
    if isinstance(node, ast.Attribute):
        return {node.attr} if isinstance(node.value, ast.Name) and node.value.id == "JointKind" else set()
    if isinstance(node, ast.keyword):
        return {node.arg} & set(TYPES)
    parts = {ast.Compare: ("left", "comparators"), ast.MatchValue: ("value",), ast.MatchOr: ("patterns",)}
    parts |= dict.fromkeys((ast.Tuple, ast.List, ast.Set), ("elts",))
    found = [getattr(node, name) for name in parts.get(type(node), ())]
    return set().union(*(types_named(one) for part in found for one in (part if isinstance(part, list) else [part])))


def parts_of_a_list(node):
    """What stands side by side: entries of a display, alternatives of a condition or a chain of conditions."""
    if isinstance(node, ast.If | ast.IfExp):
        rest = node.orelse if isinstance(node, ast.IfExp) else node.orelse[0] if len(node.orelse) == 1 else None
        return [node.test, *parts_of_a_list(rest)] if isinstance(rest, ast.If | ast.IfExp) else [node.test]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return node.keywords
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Match):
        return [case.pattern for case in node.cases]
    name = {ast.Dict: "keys", ast.BoolOp: "values"}.get(type(node), "elts")
    return [node] if isinstance(node, ast.Constant) else getattr(node, name, [])


def type_lists(tree, with_texts=True):
    """Lines that name two joint types or more beside each other."""
    for node in ast.walk(tree):
        names = set().union(*map(types_named, parts_of_a_list(node)))
        if len(names if with_texts else names - set(TYPES)) > 1:
            yield node.lineno


def test_no_other_file_has_a_list_of_joint_types():
    """Texts of readers and writers of formats are words of these."""
    house = Path(simcli.__file__).parent
    found = {}
    for path in house.rglob("*.py"):
        name = path.relative_to(house).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if lines := list(type_lists(tree, with_texts=not name.startswith("exchange/"))):
            found[name] = lines
    assert {name: lines for name, lines in found.items() if name not in OF_TYPES} == {}
    assert found.keys() == OF_TYPES.keys(), "a file of this list names no types any more"


@pytest.mark.parametrize(
    ("text", "is_list"),
    [
        ("a = ('ball', 'free')", True),
        ("a = 'screw cable'", True),
        ("a = 'screw, cable'.split(', ')", True),
        ("a = {'ball': 1, 'free': 2}", True),
        ("a = dict(ball=1, free=2)", True),
        ("a = frozenset(['ball', 'free'])", True),
        ("a = {'ball'} | {'free'}", True),
        ("a = kind == 'ball' or kind == 'free'", True),
        ("a = (JointKind.BALL, JointKind.FREE)", True),
        ("a = {JointKind.BALL: 1, JointKind.FREE: 2}", True),
        ("a = 1 if kind == JointKind.BALL else 2 if kind == JointKind.FREE else 3", True),
        ("if kind == 'ball':\n    pass\nelif kind in ('free', x):\n    pass", True),
        ("match kind:\n    case 'ball':\n        pass\n    case 'free':\n        pass", True),
        ("match kind:\n    case 'ball' | 'free':\n        pass", True),
        ("a = ('ball', 1, x.BALL)", False),
        ("a = kind == 'ball' or other == 'weight'", False),
        ("a = 'a ball is free'", False),
    ],
)
def test_a_list_of_joint_types_would_be_found(text, is_list):
    assert bool(list(type_lists(ast.parse(text)))) == is_list


def test_it_is_as_the_joint_that_it_is_like(house):
    (house / "scene.yaml").write_text(SCENE)
    done = in_copy(house, "-c", CHILD)
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


def test_an_effort_on_it_is_supported_or_refused(house):
    """Of a quaternion it is a law; of a point on a line nothing, and `check` says so."""
    refused = SCENE.replace("joint: socket, value: [0.1, 0.2, 0.3]", "joint: slider_ball, value: [1, 0, 0, 0]")
    for name, text, code in (("sound", SCENE, 0), ("refused", refused, 1)):
        (house / f"{name}.yaml").write_text(text.replace("SOLVER", "generalized"))
        done = in_copy(house, "-m", "simcli", "check", f"{name}.yaml")
        assert done.returncode == code, (name, done.stdout + done.stderr)
    assert "SC501" in done.stderr
    assert "an effort on a `slider_ball` joint" in done.stderr


AXIS, ACROSS = [0.0, 1.0, 0.0], rot.frame_along(np.array([0.0, 1.0, 0.0]))[:, 0].tolist()
HELIX_Q, HELIX_QD = [0.2, 9.0], [0.3, 2.0]  # beyond a turn
NUT = {"mass": 1.2, "com": [0.1, 0.15, 0.2], "inertia": {"diag": [0.1, 0.2, 0.25]}}
FROM_WORLD = {"parent": "world", "child": "nut", "axis": AXIS}
HELIX = FROM_WORLD | {"type": "helix_on_line", "pitch": 0.4, "q": HELIX_Q, "qd": HELIX_QD}
DAMPING = [2.0, 0.1]
RAIL = FROM_WORLD | {"type": "rail"}
# The nut of a screw on a carriage without mass that slides across it: the same motion by two joints that are known.
SLIDE = {"type": "prismatic", "q": HELIX_Q[0], "qd": HELIX_QD[0], "damping": DAMPING[0], "child": "carriage"}
SCREW = {"type": "screw", "pitch": 0.4, "axis": ACROSS, "q": HELIX_Q[1], "qd": HELIX_QD[1], "damping": DAMPING[1]}
BY_TWO = {
    "helix": HELIX | {"damping": DAMPING},
    "slide": FROM_WORLD | SLIDE,
    "screw": SCREW | {"parent": "carriage", "child": "other"},
}
TREE = {
    "helix": HELIX,
    "rail": RAIL | {"child": "sled", "init_angle": 0.1, "q": 0.25},
    "glue": {"type": "glue", "parent": "nut", "child": "lid", "at": [0.1, 0.2, 0.3]},
    "pin": {"type": "revolute", "parent": "lid", "child": "gear", "axis": [1, 0, 0], "q": 0.3},
}
NEAR_BY = {"generalized": 1e-11, "natural": 2e-7, "maximal": 4e-4}  # [m, rad], three times what steps of 1 ms miss
STEPS_CHILD = """
import json
import sys
import simcli

found = {}
for name in sys.argv[1:]:
    with simcli.Simulation(f"{name}.json", device="cpu") as sim:
        sim.step(50)
        found[name] = {j: [sim.get(f"joint.{j}.{word}")[0].tolist() for word in ("q", "qd")] for j in sim.joints}
print(json.dumps(found))
"""
COMMANDS_CHILD = """
from simcli.cli.process import run_command

for words in (
    "fk tree.json -o fk.h5",
    "ik tree.json --states fk.h5 -o ik.h5",
    "export tree.json -o tree.xml",
    "export tree.json -o tree.urdf",
):
    assert run_command(words.split(), debug=True, as_json=False) == 0, words
"""


def write_machine(house, name, joints, **solver):
    """A scene of some joints, each child a body of its own."""
    bodies = {joint["child"]: NUT for joint in joints.values()}
    if "carriage" in bodies:
        bodies["carriage"] = {"mass": 0, "inertia": "point"}
    words = {"world": {"gravity": [0.7, -0.4, -9.81]}, "bodies": bodies, "joints": joints, "run": {"duration": 0.05}}
    text = json.dumps({"simcli": 1, **words, "solver": {"dt": 1e-3, **solver}})
    (house / f"{name}.json").write_text(text)


def test_a_screw_across_a_slide_moves_as_two_joints_do(house):
    """In the tree to rounding; by constraint equations, whose turns begin beyond the first, as near as their steps are."""
    write_machine(house, "generalized", BY_TWO, type="generalized")
    for solver in ("natural", "maximal"):
        write_machine(house, solver, {"helix": BY_TWO["helix"]}, type=solver)
    done = in_copy(house, "-c", STEPS_CHILD, *NEAR_BY)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    q, qd = ([*one, *two] for one, two in zip(*(found["generalized"][j] for j in ("slide", "screw")), strict=True))
    assert q[1] > HELIX_Q[1]
    for solver, near in NEAR_BY.items():
        assert found[solver]["helix"][0] == pytest.approx(q, rel=0, abs=near), solver
        assert found[solver]["helix"][1] == pytest.approx(qd, rel=0, abs=near), solver


@pytest.fixture(scope="module")
def checked(house):
    """What `check` says of scenes with the joint types: (code, text) of each fault."""
    write_machine(house, "no_pitch", {"helix": {k: v for k, v in HELIX.items() if k != "pitch"}}, type="generalized")
    write_machine(house, "affine_helix", {"helix": HELIX}, type="affine")
    write_machine(house, "alpha_helix", {"helix": HELIX}, type="natural", integrator="generalized_alpha")
    write_machine(house, "affine_rail", {"rail": RAIL}, type="affine")
    write_machine(house, "affine_damped_rail", {"rail": RAIL | {"damping": 2.0}}, type="affine")
    names = ("no_pitch", "affine_helix", "alpha_helix", "affine_rail", "affine_damped_rail")
    done = in_copy(house, "-m", "simcli", "check", *(f"{name}.json" for name in names), "--json")
    assert done.returncode == 1, done.stderr
    files = json.loads(done.stdout)["files"]
    return {name: [(one["code"], one["message"]) for one in file["faults"]] for name, file in zip(names, files, strict=True)}


def test_a_key_that_it_needs_is_asked_for(checked):
    assert checked["no_pitch"] == [("SC416", "helix_on_line joint `helix` needs `pitch`")]


def test_what_is_no_polynomial_is_refused_by_name(checked):
    """A type that takes `pitch` has equations that two solvers cannot hold; no list has its name."""
    words = "solver does not support a joint of type `helix_on_line`"
    assert checked["affine_helix"] == [("SC501", f"the affine {words}")]
    assert checked["alpha_helix"] == [("SC501", f"the natural {words} with generalized_alpha")]


def test_affine_takes_what_a_new_type_says_of_itself(checked):
    """Its equations, which are of second degree; no coordinate, because it does not say that its axis stands still."""
    assert checked["affine_rail"] == []
    words = "the affine solver does not support damping on a `rail` joint of the tree"
    assert checked["affine_damped_rail"] == [("SC501", words)]


@pytest.fixture(scope="module")
def written(house):
    """A folder with a tree of the joint types, its poses and coordinates, and what is written of it as MJCF and URDF."""
    write_machine(house, "tree", TREE, type="generalized")
    done = in_copy(house, "-c", COMMANDS_CHILD)
    assert done.returncode == 0, done.stderr
    with h5py.File(house / "fk.h5") as file:
        names = file["states/body_name"].asstr()[:]
        return house, dict(zip(names, file["states/body_q"][0], strict=True))


def test_coordinates_come_back_from_poses(written):
    """`ik` undoes `fk`: the advance of a screw tells its turns, a slide takes no part in it."""
    folder, poses = written
    assert poses["sled"][:3] == pytest.approx([0.0, 0.15, 0.0], rel=0, abs=1e-15)  # 0.25 m, of which 0.1 m are as drawn
    with h5py.File(folder / "ik.h5") as file:
        q, qd = (dict(zip(file["states/joint_name"].asstr()[:], [0] * 4, strict=True)) for _ in range(2))
        for found, word, edge in ((q, "joint_q", "q_start"), (qd, "joint_qd", "qd_start")):
            starts = file[f"states/{edge}"][:]
            for name, first, last in zip(q, starts[:-1], starts[1:], strict=True):
                found[name] = file[f"states/{word}"][0, first:last].tolist()
    wanted = {"helix": HELIX_Q, "rail": [0.25], "glue": [], "pin": [0.3]}
    assert q == {name: pytest.approx(one, rel=0, abs=1e-12) for name, one in wanted.items()}
    assert qd == {name: pytest.approx(HELIX_QD if name == "helix" else [0.0] * len(q[name]), rel=0, abs=1e-12) for name in q}


def test_mujoco_places_what_is_written_of_it(written):
    """A slide, then a hinge with the slide that the screw advances by, tied by an equality."""
    mujoco = pytest.importorskip("mujoco")
    folder, poses = written
    model = mujoco.MjModel.from_xml_path(str(folder / "tree.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert data.ne == 1
    assert abs(data.efc_pos[0]) < 1e-12
    for name, pose in poses.items():
        body = data.body(name)
        assert body.xpos == pytest.approx(pose[:3], rel=0, abs=1e-12), name
        assert abs(body.xquat @ pose[[6, 3, 4, 5]]) == pytest.approx(1.0, rel=0, abs=1e-12), name


def test_pinocchio_places_what_is_written_of_it(written):
    """By the frames of the links of its URDF, with the coordinates of the scene: that of a follower by its `mimic`."""
    pin = pytest.importorskip("pinocchio")
    folder, poses = written
    model = pin.buildModelFromUrdf(str(folder / "tree.urdf"))
    follower = ElementTree.parse(folder / "tree.urdf").find(".//joint[@name='helix_slide']/mimic")
    values = {"helix_1": HELIX_Q[0], "helix_2": HELIX_Q[1], "pin": 0.3}
    values["helix_slide"] = float(follower.get("multiplier")) * values[follower.get("joint")]
    q = pin.neutral(model)
    for name, value in values.items():
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = [value] if joint.nq == 1 else [math.cos(value), math.sin(value)]
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    for name in ("nut", "gear"):
        pose = data.oMf[model.getFrameId(name)]
        assert pose.translation == pytest.approx(poses[name][:3], rel=0, abs=1e-12), name
        assert pose.rotation == pytest.approx(rot.quat_to_matrix(poses[name][3:]), rel=0, abs=1e-12), name


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
