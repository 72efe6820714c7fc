"""`simcli equilibrium|modes`: tables, JSON, the way back into a scene, and what they refuse."""

import json
import math
from types import SimpleNamespace

import pytest

from simcli.cli import doorman
from simcli.errors import Exit

G = 9.81
EXACT = 1e-9
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
        code = doorman.run_command([*words, *CPU], debug=False, as_json="--json" in words)
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
    (tmp_path / "stone.yaml").write_text("simcli: 1\nbodies: {stone: {mass: 1, inertia: {diag: [1, 1, 1]}}}\n"
                                         "solver: {type: natural, dt: 1e-3}\nrun: {duration: 1}\n")  # fmt: skip
    done = command("equilibrium", "stone.yaml", "--json")
    assert done.code == Exit.NEGATIVE
    assert "9.81 N are out of balance along `stone_free:2`" in done.err
    assert json.loads(done.out)["exit_code"] == Exit.NEGATIVE


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("modes", "rod.yaml", "--set", "joints.pin.friction=0.1"), Exit.SCENE, "error[SC607]: dry friction of joint `pin`"),
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
