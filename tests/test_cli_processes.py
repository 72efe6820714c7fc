"""Each command once, and each exit code, in a process of its own; all else of commands is tested in the tests' process."""

import subprocess
import sys

import pytest
from support.process import TIMEOUT, environment, simcli, simcli_apart
from support.touched import note_command

from simcli.cli.app import COMMANDS
from simcli.errors import Exit

ROD = """
simcli: 1
bodies: {rod: {pose: {xyz: [0, 0, -0.5]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.01]}}}
joints: {pin: {type: revolute, parent: world, child: rod, axis: [0, 1, 0], q: 0.3, damping: 0.1}}
measure: {swing: {max: joint.pin.q}}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.02}
output: {every: 0.01}
"""
URDF = """<robot name='r'><link name='base'><inertial><mass value='1'/>
<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link></robot>"""
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
WORDS = {
    "run": "run s.yaml -o run.h5 -q",
    "sweep": "sweep run s.yaml -o night --workers 1",
    "check": "check s.yaml",
    "show": "show s.yaml",
    "samples": "samples s.yaml -o samples.csv",
    "new": "new swing --template pendulum",
    "import": "import r.urdf -o r.yaml",
    "decompose": "decompose t.obj -o parts",
    "schema": "schema -o schema.json",
    "explain": "explain SC501",
    "info": "info b.h5",
    "table": "table b.h5",
    "view": "view b.h5 -o b.html",
    "plot": "plot b.h5 -c joint.pin.q -o b.png",
    "render": "render b.h5 --size 64x64 -o picture.png",
    "export": "export b.h5 -o b.csv",
    "diff": "diff b.h5 b.h5",
    "slice": "slice b.h5 --world 0 -o part.h5",
    "merge": "merge first.h5 second.h5 -o both.h5",
    "repair": "repair b.h5",
    "fk": "fk s.yaml -o fk.h5",
    "ik": "ik s.yaml --states b.h5 -o ik.h5",
    "id": "id b.h5 -o id.h5",
    "mass-matrix": "mass-matrix s.yaml -o mass.h5",
    "jacobian": "jacobian s.yaml -o jacobian.h5",
    "equilibrium": "equilibrium s.yaml --initial",
    "modes": "modes s.yaml",
    "solve": "solve s.yaml --vary joints.pin.q=0.1..0.4 --target measure.swing=0.2",
    "fit": "fit s.yaml --data log.csv --free joints.pin.q --iterations 2",
    "optimize": "optimize s.yaml --vary joints.pin.q=0.1..0.4 --minimize measure.swing --generations 2 --population 4",
    "docs": "docs start",
    "bench": "bench s.yaml --worlds 2 --duration 0.01 --repeat 1",
    "precompile": "precompile s.yaml",
    "doctor": "doctor",
}
PREPARED = (
    "run s.yaml -q -o b.h5",
    "export b.h5 -c joint.pin.q -o log.csv",
    "run s.yaml -q --vary joints.pin.q=0.1,0.2 -o two.h5",
    "slice two.h5 --world 0 -o first.h5",
    "slice two.h5 --world 1 -o second.h5",
)
LESS = {"optimize": (Exit.OK, Exit.NEGATIVE), "fit": (Exit.OK, Exit.NEGATIVE)}  # few rounds, which they tell
CRASH = "import sys; from simcli.cli import app, main; app.build_app = None; main(['check'])"
# Those that signals give are in test_cli_run.py.
CODES = {
    Exit.OK: "check s.yaml",
    Exit.NEGATIVE: "check bad.yaml",
    Exit.USAGE: "rnu",
    Exit.SCENE: "run bad.yaml",
    Exit.SIMULATION: "run s.yaml --vary joints.pin.qd=0,1.0e+250 -o failed.h5",
    Exit.DEVICE: "run s.yaml --device metal -o none.h5",
    Exit.OUTPUT: "schema -o s.yaml",
    Exit.FILE: "info bad.h5",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    for name, text in {"s.yaml": ROD, "bad.yaml": ROD.replace("mass: 1", "mass: -1"), "r.urdf": URDF, "t.obj": TETRAHEDRON,
                       "bad.h5": "no file of HDF5"}.items():  # fmt: skip
        (folder / name).write_text(text)
    for words in PREPARED:
        assert simcli(*words.split(), cwd=folder).returncode == Exit.OK, words
    return folder


def test_every_command_has_a_line():
    assert list(WORDS) == [command.name for command in COMMANDS]


@pytest.mark.parametrize("name", WORDS)
def test_a_command_ends_well_in_a_process_of_its_own(folder, name):
    done = simcli_apart(*WORDS[name].split(), cwd=folder)
    assert done.returncode in LESS.get(name, (Exit.OK,)), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_a_process_ends_with_the_exit_code(folder, code):
    if code == Exit.DEVICE and sys.platform == "darwin":
        pytest.skip("Metal is here")
    done = simcli_apart(*CODES[code].split(), cwd=folder)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_a_mistake_of_ours_ends_with_its_own_code(folder):
    done = subprocess.run([sys.executable, "-c", CRASH], cwd=folder, env=environment(), capture_output=True, text=True,
                          timeout=TIMEOUT)  # fmt: skip
    note_command(["check"], done.returncode, "process")
    assert done.returncode == Exit.INTERNAL, done.stderr
