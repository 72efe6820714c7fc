"""`simcli fk|ik|id|mass-matrix|jacobian` on what cannot be: the right exit code, a message with the place, no traceback.

Coordinates that someone gives, and that leave loops open: the commands on states say so.
"""

import json
import math
import os
import shlex
import shutil
from functools import partial
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from support.device import live_device
from support.process import completed_here
from support.runs import SWING
from support.zoo import random_states, zoo

import simcli as package
from simcli import rotations as rot
from simcli.cli import process as cli_process
from simcli.cli.mechanics import result_sinks as mechanics_text
from simcli.errors import Exit, OutputError
from simcli.pipeline import build_model, read_scene
from simcli.records import hdf5_bytes
from simcli.records.contents import results

pytestmark = pytest.mark.usefixtures("scalar_code")

POWER = 1e-12  # relative: roundings of some hundred products
CPU = ("--device", "cpu", "--threads", "1")

STAY = "  stay: {type: ball, parent: world, child: lower, loop: true, at: [0, 0, -1]}\n"
LOOP = SWING.replace("forces:", STAY + "forces:")
LED = "signals: {u: {table: {file: led.csv}}}\n"
BALL = """
simcli: 1
bodies: {bob: {mass: 1.0, com: [0, 0, -1], inertia: {diag: [1, 1, 1]}, pose: {xyz: [0, 0, 0]}}}
joints: {socket: {type: ball, parent: world, child: bob, at: [0, 0, 0]}}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.01}
"""
HEADER = "joint.pin.q [rad],joint.elbow.q [rad]"
TABLES = {
    "good": f"{HEADER}\n0.1,0.2\n",
    "empty": "",
    "header": f"{HEADER}\n",
    "lacking": "joint.pin.q [rad]\n0.1\n",
    "unknown": "joint.pin.q,joint.elbw.q\n0.1,0.2\n",
    "twice": f"{HEADER},pin\n0.1,0.2,0.3\n",
    "word": f"{HEADER}\n0.1,0.2\n\n0.1,x\n",
    "gap": f"{HEADER}\n0.1,\n",
    "infinite": f"{HEADER}\n0.1,0.2\n0.1,0.2\n-inf,0.2\n",
    "nan": f"{HEADER}\n0.1,nan\n",
    "short": f"{HEADER}\n0.1,0.2\n0.1\n",
    "long": f"{HEADER}\n0.1,0.2,0.3\n",
    "unit": "joint.pin.q [m],joint.elbow.q\n1,2\n",
    "no_unit": "joint.pin.q [furlong],joint.elbow.q\n1,2\n",
    "world": f"{HEADER},world\n1,2,0.5\n",
    "beyond": f"{HEADER},world\n1,2,4\n",
    "quote": f'{HEADER}\n"0.1,0.2\n',
    "far": f"{HEADER}\n0.1,0.2\n0.1,-2e6\n",
    "poses": "body.upper.position.x\n1\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Scenes, tables, and one run."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "swing.yaml").write_text(SWING)
    (folder / "ball.yaml").write_text(BALL)
    (folder / "loop.yaml").write_text(LOOP)
    (folder / "led.yaml").write_text(SWING.replace("forces:", LED + "forces:"))
    (folder / "led.csv").write_text("time [s],value\n0,0\n1,2\n")
    (folder / "broken.yaml").write_text(SWING.replace("damping: 0.01", "dampng: 0.01"))
    (folder / "batch.yaml").write_text(SWING + "batch: {worlds: 3, vary: {bodies.upper.mass: {uniform: [1, 2]}}}\n")
    for name, text in TABLES.items():
        (folder / f"{name}.csv").write_text(text)
    (folder / "bytes.csv").write_bytes(b"\x00\xff\xfe joint")
    (folder / "quat.csv").write_text("socket:0,socket:1,socket:2,socket:3\n0,0,0,1\n0.5,0.5,0.5,0.6\n")
    (folder / "text.h5").write_text("no HDF5")
    with h5py.File(folder / "foreign.h5", "w") as file:
        file["x"] = 1.0
    for name, words in (
        ("run", []),
        ("led", []),
        ("bare", ["--set", "output.channels=[energy]"]),
        ("part", ["--select", "upper,pin"]),
    ):
        scene = folder / ("led.yaml" if name == "led" else "swing.yaml")
        code = cli_process.run_command(
            ["run", str(scene), "-o", str(folder / f"{name}.h5"), "-q", *words], debug=True, as_json=False
        )
        assert code == Exit.OK
    (folder / "cut.h5").write_bytes((folder / "run.h5").read_bytes()[:5000])
    shutil.copy(folder / "run.h5", folder / "mended.h5")
    with h5py.File(folder / "mended.h5", "r+") as file:
        file["model/joint_parent"][1] = -1
    return folder


@pytest.fixture
def command(folder, monkeypatch, capfd):
    """Run a command in the folder of the scenes."""
    monkeypatch.chdir(folder)

    return partial(completed_here, capfd)


BAD = {
    # a scene or file that is not there, broken, foreign
    "no scene": ("fk none.yaml", Exit.USAGE, ["none.yaml", "no such file"]),
    "no run": ("fk none.h5", Exit.USAGE, ["none.h5", "no such file"]),
    "broken scene": ("fk broken.yaml", Exit.SCENE, ["broken.yaml:8:", "did you mean `damping`?"]),
    "no states": ("fk swing.yaml --states none.csv", Exit.USAGE, ["none.csv", "no such file"]),
    "no states file": ("fk swing.yaml --states none.h5", Exit.USAGE, ["none.h5", "no such file"]),
    "no HDF5": ("fk swing.yaml --states text.h5", Exit.FILE, ["text.h5", "not an HDF5 file"]),
    "foreign": ("fk swing.yaml --states foreign.h5", Exit.FILE, ["foreign.h5", "not one of simcli"]),
    "foreign scene": ("fk foreign.h5", Exit.FILE, ["foreign.h5"]),
    "cut": ("id cut.h5", Exit.FILE, ["cut.h5"]),
    "no text": ("fk swing.yaml --states bytes.csv", Exit.FILE, ["bytes.csv"]),
    "a far angle": ("fk swing.yaml --q pin=1e7", Exit.USAGE, ["--q: an angle of joint `pin` is beyond 1e+06 rad"]),
    "a folder": ("fk swing.yaml --states .", Exit.USAGE, ["is a folder"]),
    # tables
    "empty": ("fk swing.yaml --states empty.csv", Exit.FILE, ["empty.csv", "is empty"]),
    "header": ("fk swing.yaml --states header.csv", Exit.FILE, ["header.csv", "no state"]),
    "lacking": ("fk swing.yaml --states lacking.csv", Exit.FILE, ["lacking.csv:1", "joint.elbow.q [rad]"]),
    "unknown": ("fk swing.yaml --states unknown.csv", Exit.FILE, ["unknown.csv:1", "did you mean `joint.elbow.q`?"]),
    "twice": ("fk swing.yaml --states twice.csv", Exit.FILE, ["twice.csv:1", "joint.pin.q [rad]", "pin", "the same"]),
    "word": ("fk swing.yaml --states word.csv", Exit.FILE, ["word.csv:4", "joint.elbow.q [rad]", "`x` is not a number"]),
    "gap": ("fk swing.yaml --states gap.csv", Exit.FILE, ["gap.csv:2", "joint.elbow.q [rad]", "empty"]),
    "infinite": ("id swing.yaml --states infinite.csv", Exit.FILE, ["infinite.csv:4", "joint.pin.q [rad]", "not finite"]),
    "nan": ("id swing.yaml --states nan.csv", Exit.FILE, ["nan.csv:2", "joint.elbow.q [rad]", "not finite"]),
    "short": ("fk swing.yaml --states short.csv", Exit.FILE, ["short.csv:3", "1 cells", "names 2"]),
    "long": ("fk swing.yaml --states long.csv", Exit.FILE, ["long.csv:2", "3 cells", "names 2"]),
    "unit": ("fk swing.yaml --states unit.csv", Exit.FILE, ["unit.csv:1", "joint.pin.q [m]", "[rad] is expected"]),
    "no unit": ("fk swing.yaml --states no_unit.csv", Exit.FILE, ["no_unit.csv:1", "furlong"]),
    "world": ("fk batch.yaml --states world.csv", Exit.FILE, ["world.csv:2", "0.5 is not a number of a world"]),
    "beyond": ("fk batch.yaml --states beyond.csv", Exit.USAGE, ["beyond.csv", "world 4", "0 to 2"]),
    "quote": ("fk swing.yaml --states quote.csv", Exit.FILE, ["quote.csv:2", "1 cells"]),
    "quaternion": ("fk ball.yaml --states quat.csv", Exit.FILE, ["quat.csv:3", "`socket`", "length 1.0535"]),
    "far": ("fk swing.yaml --states far.csv", Exit.FILE, ["far.csv:3", "an angle of joint `elbow` is beyond 1e+06 rad"]),
    "which world": ("fk batch.yaml --states good.csv", Exit.USAGE, ["good.csv", "--world"]),
    "poses for fk": ("fk swing.yaml --states poses.csv", Exit.FILE, ["poses.csv:1", "joint.pin.q [rad]"]),
    "joints for ik": ("ik swing.yaml --states good.csv", Exit.FILE, ["good.csv:1", "body.upper.position.x [m]", "11 more"]),
    # choices
    "frame": ("fk run.h5 --frames 100:", Exit.USAGE, ["--frames 100:", "run.h5", "7"]),
    "frames": ("fk run.h5 --frames a:b", Exit.USAGE, ["--frames a:b", "START:STOP"]),
    "back": ("fk run.h5 --frames ::-1", Exit.USAGE, ["--frames ::-1", "from 1 on"]),
    "at": ("fk run.h5 --at 0.0123", Exit.USAGE, ["--at 0.0123", "0.01 and 0.02 s"]),
    "at what": ("fk run.h5 --at '5 kg'", Exit.USAGE, ["--at 5 kg", "a time"]),
    "both": ("fk run.h5 --at 0 --frames 1", Exit.USAGE, ["contradict"]),
    "no times": ("fk swing.yaml --states good.csv --at 0", Exit.USAGE, ["good.csv", "no times"]),
    "no frames": ("fk swing.yaml --frames 1", Exit.USAGE, ["--states"]),
    "no world": ("fk run.h5 --world 2", Exit.USAGE, ["--world 2", "0 to 0"]),
    "no such": ("fk batch.yaml --world 3", Exit.USAGE, ["--world 3", "0 to 2"]),
    # states of the command line
    "q count": ("fk swing.yaml --q 0.1", Exit.USAGE, ["--q", "2 numbers, 1 are given"]),
    "q joint": ("fk swing.yaml --q pn=0.1", Exit.USAGE, ["--q", "did you mean `pin`?"]),
    "q word": ("fk swing.yaml --q pin=x", Exit.USAGE, ["--q", "`x` is not a number"]),
    "q finite": ("id swing.yaml --qdd pin=inf", Exit.USAGE, ["--qdd", "not finite"]),
    "q quaternion": ("fk ball.yaml --q 1,1,0,0", Exit.USAGE, ["--q", "`socket`", "length 1.41421"]),
    "q and states": ("fk swing.yaml --q 0,0 --states good.csv", Exit.USAGE, ["contradict"]),
    "ik of a scene": ("ik swing.yaml", Exit.USAGE, ["--states"]),
    # runs and results that do not fit
    "another run": ("fk ball.yaml --states run.h5", Exit.USAGE, ["run.h5", "lacks `socket`, has `pin`, `elbow`"]),
    "no state": ("fk bare.h5", Exit.USAGE, ["bare.h5", "frames/joint_q", "channels: [joints]"]),
    "part": ("fk part.h5", Exit.USAGE, ["part.h5", "`elbow`", "output.select"]),
    "set on a run": ("id run.h5 --set bodies.upper.mass=2", Exit.USAGE, ["--set", "SCENE --set ... --states run.h5"]),
    "mended": ("id mended.h5", Exit.FILE, ["mended.h5", "/model", "joint_parent"]),
    "nothing to compare": ("id swing.yaml --compare", Exit.USAGE, ["--compare", "no recorded efforts"]),
    # selection, output, device
    "selection": ("jacobian swing.yaml --select uper", Exit.USAGE, ["--select", "did you mean `upper`?"]),
    "format": ("fk swing.yaml -o a.txt", Exit.USAGE, ["a.txt", ".h5, .csv or .json"]),
    "exists": ("fk swing.yaml -o good.csv", Exit.OUTPUT, ["good.csv", "--force"]),
    "input": ("fk swing.yaml --states good.csv -o good.csv --force", Exit.USAGE, ["good.csv", "is a file that is read"]),
    "input of a scene": ("id led.yaml -o led.csv --force", Exit.USAGE, ["led.csv", "is a file that is read"]),
    "input of a run": ("fk led.h5 -o led.csv --force", Exit.USAGE, ["led.csv", "will not be replaced"]),
    "not HDF5": ("fk swing.yaml -o text.h5 --force", Exit.OUTPUT, ["text.h5", "no HDF5 file"]),
    "folder": ("fk swing.yaml -o swing.yaml/x.csv", Exit.OUTPUT, ["swing.yaml"]),
    "device": ("fk swing.yaml --device tpu", Exit.USAGE, ["tpu"]),
    "option": ("fk swing.yaml --tolerance 1", Exit.USAGE, ["--tolerance"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(folder, command, name):
    words, code, parts = BAD[name]
    before = sorted(os.listdir(folder))
    done = command(*shlex.split(words))
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    said = done.stderr.replace("\n", " ")
    for part in parts:
        assert part in said, done.stderr
    assert sorted(os.listdir(folder)) == before  # nothing half made is left
    assert (folder / "good.csv").read_text() == TABLES["good"]


def test_errors_are_json_documents_too(command):
    done = command("fk", "swing.yaml", "--states", "word.csv", "--json")
    document = json.loads(done.stdout)
    assert document["exit_code"] == Exit.FILE
    assert "word.csv:4" in document["message"]


def test_too_much_for_a_text_is_refused(command, monkeypatch):
    monkeypatch.setattr(mechanics_text, "JSON_NUMBERS", 20)
    done = command("fk", "run.h5", "--json", *CPU)
    assert done.returncode == Exit.USAGE
    assert "-o FILE.h5" in done.stderr


def test_tables_for_people_are_short(command):
    done = command("fk", "run.h5", *CPU)
    assert done.returncode == Exit.OK
    assert "t = 0.06 s" in done.stdout
    assert "lower/tip" in done.stdout
    assert "NaN" not in done.stdout
    for kind, part in (("mass-matrix", "elbow"), ("jacobian", "lower wy"), ("id", "N m"), ("ik", "residual")):
        assert part in command(kind, "run.h5", "--frames", "-1", *CPU).stdout


def test_loop_joints_are_not_read_and_their_forces_are_refused_by_name(command):
    done = command("id", "loop.yaml", *CPU)
    assert done.returncode == Exit.USAGE
    assert "`stay` (ball)" in done.stderr
    assert "reactions" in done.stderr
    done = command("jacobian", "loop.yaml", "--json", *CPU)
    assert done.returncode == Exit.OK, done.stderr
    document = json.loads(done.stdout)
    J = np.array(document["jacobian"])[0]
    loop = [k for k, label in enumerate(document["labels"]["NV"]) if label.startswith("stay")]
    assert len(loop) == 3
    assert (J[..., loop] == 0.0).all()
    assert np.abs(J[1]).max() > 0.5


def test_forces_of_loops_have_the_power_of_their_wrench(tmp_path):
    """J^T f . qd = F . (velocity of the child's point against the parent's) + T . (relative angular velocity)."""
    from simcli.analysis.mechanics.rigid_body_tasks import loop_forces
    from simcli.kernels.algorithms import Algorithms

    (tmp_path / "zoo.yaml").write_text(zoo())
    model = build_model(*read_scene(tmp_path / "zoo.yaml"))
    rng, loops = np.random.default_rng(1), [4, 0, 9]  # any joints: their wrenches act the same whoever closes the loop
    q, qd, _ = random_states(model, 6, rng)
    algorithms = Algorithms(model, live_device())
    pose, twist = algorithms.forward_kinematics(q, qd)
    wrench = rng.normal(size=(6, model.n_joints, 6))
    force = loop_forces(model, loops, np.zeros(6, int), pose, wrench)
    power = np.einsum("sbk,sbk->s", force, twist)
    wanted = np.zeros(6)
    for j in loops:
        parent, child = model.joints.parent[j], model.joints.child[j]
        at = rot.pose_apply(pose[:, child], model.joints.X_c[0, j, :3])
        v, w = point_motion(model, pose, twist, child, at) - point_motion(model, pose, twist, parent, at)
        wanted += (wrench[:, j, :3] * v).sum(axis=1) + (wrench[:, j, 3:] * w).sum(axis=1)
    assert np.abs(power - wanted).max() < POWER * np.abs(wanted).max()
    algorithms.destroy()


def point_motion(model, pose, twist, body, at):
    """Velocity of a point of a body and its angular velocity, (2, N, 3)."""
    if body < 0:
        return np.zeros((2, len(pose), 3))
    arm = at - rot.pose_apply(pose[:, body], model.bodies.com[0, body])
    return np.array([twist[:, body, :3] + np.cross(twist[:, body, 3:], arm), twist[:, body, 3:]])


def test_a_result_of_a_batch_does_not_pass_for_a_scene(command):
    command("fk", "batch.yaml", "-o", "poses_of_batch.h5", *CPU)
    done = command("id", "poses_of_batch.h5")
    assert done.returncode == Exit.USAGE
    assert "--states poses_of_batch.h5" in done.stderr
    assert command("id", "batch.yaml", "--states", "poses_of_batch.h5", *CPU).returncode == Exit.OK
    os.remove("poses_of_batch.h5")


def test_other_commands_know_results(command):
    command("fk", "run.h5", "-o", "poses.h5", *CPU)
    assert "poses.h5: ok (7 states, result of fk)" in command("check", "poses.h5").stdout
    text = command("info", "poses.h5").stdout
    assert "7, from run.h5" in text
    assert "body_qd" in text
    found = json.loads(command("info", "poses.h5", "--json").stdout)
    assert (found["kind"], found["states"], found["source"]) == ("fk", 7, "run.h5")
    assert found["bytes"] < 100_000  # small results are small files
    done = command("export", "poses.h5")
    assert done.returncode == Exit.FILE
    assert "is a result of `simcli fk`, not a run" in done.stderr
    os.remove("poses.h5")


def test_a_full_disk_leaves_nothing(folder, command, monkeypatch):
    written = []

    class Full(hdf5_bytes.Backing):
        def __init__(self, path):
            super().__init__(path)
            real = self._stream
            self._stream = SimpleNamespace(
                write=self.refuse,
                seek=real.seek,
                tell=real.tell,
                readinto=real.readinto,
                truncate=real.truncate,
                fileno=real.fileno,
                close=real.close,
            )
            self.real = real

        def refuse(self, data):
            written.append(len(data))
            if len(written) > 5:
                raise OSError(28, "No space left on device")
            return self.real.write(data)

    before = sorted(os.listdir(folder))
    monkeypatch.setattr(hdf5_bytes, "Backing", Full)
    done = command("fk", "run.h5", "-o", "new.h5", *CPU)
    assert done.returncode == Exit.OUTPUT
    assert "No space left" in done.stderr
    assert len(written) > 5
    assert sorted(os.listdir(folder)) == before


def test_an_existing_result_stays_until_the_new_one_is_whole(folder, command, monkeypatch):
    assert command("fk", "run.h5", "-o", "kept.h5", *CPU).returncode == Exit.OK
    before = (folder / "kept.h5").read_bytes()
    assert command("fk", "run.h5", "-o", "kept.h5").returncode == Exit.OUTPUT

    def fail(self, values):
        raise OutputError("kept.h5: a fault of the test")

    with monkeypatch.context() as patch:
        patch.setattr(results.ResultWriter, "put", fail)
        assert command("fk", "run.h5", "-o", "kept.h5", "--force", *CPU).returncode == Exit.OUTPUT
    assert (folder / "kept.h5").read_bytes() == before
    assert command("fk", "run.h5", "-o", "kept.h5", "--force", *CPU).returncode == Exit.OK
    with package.open(folder / "kept.h5") as result:
        assert result.n_states == 7
    os.remove(folder / "kept.h5")


# A crank, a bar and a rocker in a square of 1 m, whose last joint closes the loop; a follower geared to the crank.
SQUARE = """
simcli: 1
defaults: {joint: {type: revolute, axis: [0, 1, 0]}, body: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}}
params: {slope: 2}
bodies: {crank: {}, bar: {pose: {xyz: [0, 0, 1]}}, rocker: {pose: {xyz: [1, 0, 1]}}, wheel: {pose: {xyz: [0, 3, 0]}}}
joints:
  A: {parent: world, child: crank, at: [0, 0, 0]}
  B: {parent: crank, child: bar, at: [0, 0, 1]}
  C: {parent: bar, child: rocker, at: [1, 0, 1]}
  D: {parent: world, child: rocker, at: [1, 0, 0], loop: true}
  E: {parent: world, child: wheel, at: [0, 3, 0], mimic: {joint: A, ratio: "${slope}"}}
batch: {worlds: 2, vary: {params.slope: {list: [2, 3]}}}
solver: {type: generalized, dt: 1e-3}
run: {duration: 0.1}
"""
SHEAR = (math.asin(0.6), -math.asin(0.6), math.asin(0.6))  # of a parallelogram: bar and rocker go with the crank
OPEN = "open by"


@pytest.fixture
def said(tmp_path, capfd):
    """Both streams of a command on the scene."""
    (tmp_path / "square.yaml").write_text(SQUARE)

    def run(name, *words):
        words = [name, str(tmp_path / "square.yaml"), "--device", "cpu", "--threads", "1", *map(str, words)]
        assert cli_process.run_command(words, debug=True, as_json="--json" in words) == 0
        return capfd.readouterr()

    return run


@pytest.mark.parametrize("name", ["fk", "jacobian", "mass-matrix"])
def test_coordinates_that_open_a_loop_are_told(said, name):
    found = said(name, "--q", "A=0.1", "--world", 0, "--json")
    # about A, all is turned by 0.1: the loop's end has gone from (1, 0) to (cos 0.1, - sin 0.1)
    assert "warning: joint `D` is open by 0.0998 m: the coordinates are taken as given" in found.err
    facts = json.loads(found.out)
    assert facts["open_joint"] == "D"
    assert facts["open_by"] == pytest.approx(math.sin(0.1), abs=1e-12)


def test_coordinates_that_close_a_loop_are_not_told(said):
    q = [f"{joint}={value:.9f}" for joint, value in zip("ABC", SHEAR, strict=True)]
    for words in ((), ("--q", ",".join(q)), ("--set", f"initial.joint_q.A={SHEAR[0]}")):
        found = said("fk", *words, "--json")
        assert OPEN not in found.err
        assert "open_joint" not in json.loads(found.out)


def test_a_follower_away_from_its_leader_is_told_in_its_world(said):
    found = said("fk", "--q", "E=0.5", "--json")
    assert json.loads(found.out)["open_by"] == pytest.approx(0.5)
    q = ",".join(f"{joint}={value!r}" for joint, value in zip("ABC", SHEAR, strict=True))
    found = said("fk", "--q", f"{q},E={2 * SHEAR[0]!r}", "--json")  # as world 0 has it; in world 1 the slope is 3
    assert json.loads(found.out)["open_by"] == pytest.approx(SHEAR[0])
    assert "world 1, the most of 2 states" in found.err


def test_tables_and_projections_are_told(said, tmp_path):
    poses = tmp_path / "poses.csv"
    said("fk", "--q", "A=0.1", "--world", 0, "-o", poses)
    assert "joint `D` is open by 0.0998 m" in said("ik", "--states", poses).err
    (tmp_path / "joints.csv").write_text("joint.A.q,joint.B.q,joint.C.q,joint.D.q,joint.E.q\n0,0,0,0,0\n0.1,0,0,0,0.2\n")
    found = said("fk", "--states", tmp_path / "joints.csv", "--world", 0)
    assert "joint `D` is open by 0.0998 m at frame 1, world 0, the most of 2 states" in found.err
