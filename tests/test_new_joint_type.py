"""A joint type that is added as the house page says: in a copy of the package, and a process of its own.

`socket` is a ball and `slider_ball` a point on a line under new numbers: they must move, be shown, be set and be refused as
these are, though no line of code but those of the page knows them.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.process import TIMEOUT, environment

import simcli

LINES = {  # file: a line that is there, and what is added behind it
    "model/tables.py": [("    UNIVERSAL_PRISMATIC = 18\n", "    SOCKET = 19\n    SLIDER_BALL = 20\n")],
    "joint_types.py": [
        ('    "screw": "A",\n', '    "socket": "AAA",\n    "slider_ball": "LAAA",\n'),
        ('    "ball": Coordinates.QUATERNION,\n',
         '    "socket": Coordinates.QUATERNION,\n    "slider_ball": Coordinates.SLIDES,\n'),
        ("AXIS = frozenset((", '"slider_ball", '),
    ],
    "model/joints/catalogue.py": [
        ('    "ball": (JointKind.BALL, all_turns, same_point, unbound),\n',
         '    "socket": (JointKind.SOCKET, all_turns, same_point, unbound),\n'
         '    "slider_ball": (JointKind.SLIDER_BALL, composed(1, 3), on_lines, unbound, _AXIS),\n'),
    ],
    "spec/honours/joint_fields.py": [
        ('types=MOVING | _types("', "socket slider_ball "), ('_ROWS = SCALAR | _types("', "socket slider_ball "),
    ],
}  # fmt: skip
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
    return subprocess.run([sys.executable, *words], cwd=house, capture_output=True, text=True, timeout=TIMEOUT,
                          env=environment(PYTHONPATH=str(house)), check=False)  # fmt: skip


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
