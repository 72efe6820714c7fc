"""Contacts in equilibria and modes: `simcli equilibrium`, `simcli modes`, against closed forms and a run that stays."""

import json
import math

import numpy as np
import pytest
from support.process import run_here

from simcli.cli import doorman
from simcli.errors import Exit

pytestmark = pytest.mark.usefixtures("scalar_code")
CPU = ("--device", "cpu", "--threads", "1")
G = 9.81
FINE = 1e-9


def asked(capfd, tmp_path, text, command="equilibrium", *words):
    """Exit code, the document, and what is said."""
    path = tmp_path / "s.yaml"
    path.write_text("simcli: 1\n" + text)
    code = doorman.run_command([command, str(path), "--json", *words, *CPU], debug=False, as_json=True)
    out, err = capfd.readouterr()
    return code, json.loads(out), err + out


def force_of(document, name):
    """Sum of the forces on the shapes of a body, world."""
    return sum(np.array(one["force"]) * ((one["b"].split("/")[0] == name) - 1.0 * (one["a"].split("/")[0] == name))
               for one in document["contacts"])  # fmt: skip


RAIL = """world: {gravity: [0, 0, -9.81], shapes: {ground: {type: plane}}}
bodies: {ball: {mass: 1, inertia: {diag: [0.004, 0.004, 0.004]}, pose: {xyz: [0, 0, 0.15]},
                shapes: {s: {type: sphere, radius: 0.1}}}}
joints: {rail: {type: prismatic, parent: world, child: ball, at: [0, 0, 0.15], axis: [0, 0, 1]}}
contact: {pairs: [{a: ball, b: ground}]}
forces: {k: {type: spring, a: {world: [0, 0, 1]}, b: {body: ball, at: [0, 0, 0]}, stiffness: 20, rest_length: 0.85}}
solver: {type: SOLVER}
"""


@pytest.mark.parametrize("solver", ["generalized", "maximal", "natural", "affine"])
def test_a_ball_on_a_spring_lies_on_the_ground(capfd, tmp_path, solver):
    code, found, _ = asked(capfd, tmp_path, RAIL.replace("SOLVER", solver))
    assert code == Exit.OK
    assert found["stable"]
    assert found["body_q"]["ball"][2] == pytest.approx(0.1, abs=FINE)
    assert found["contacts"][0]["normal_force"] == pytest.approx(G - 20 * 0.05, rel=FINE)
    assert asked(capfd, tmp_path, RAIL.replace("SOLVER", solver), "modes")[1]["modes"] == []


def test_a_ball_that_no_floor_reaches_hangs_as_before(capfd, tmp_path):
    text = RAIL.replace("SOLVER", "generalized").replace("stiffness: 20", "stiffness: 2000")
    _, found, _ = asked(capfd, tmp_path, text)
    assert found["body_q"]["ball"][2] == pytest.approx(0.15 - G / 2000, abs=FINE)
    assert found["contacts"] == []
    _, found, _ = asked(capfd, tmp_path, text, "modes")
    assert found["modes"][0]["omega"] == pytest.approx(math.sqrt(2000), rel=1e-8)


VEE = """world:
  shapes:
    left: {type: plane, pose: {rpy: [A deg, 0, 0]}, material: m}
    right: {type: plane, pose: {rpy: [-30 deg, 0, 0]}, material: m}
materials: {m: {friction: 0}}
bodies: {ball: {mass: 2, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [0, 0.05, 0.3]},
                shapes: {s: {type: sphere, radius: 0.1, material: m}}}}
"""


def test_a_ball_in_a_vee(capfd, tmp_path):
    _, found, _ = asked(capfd, tmp_path, VEE.replace("A deg", "45 deg"))
    forces = {one["a"]: one["normal_force"] for one in found["contacts"]}
    total = math.sin(math.radians(75))
    assert forces["left"] == pytest.approx(2 * G * math.sin(math.radians(30)) / total, rel=FINE)
    assert forces["right"] == pytest.approx(2 * G * math.sin(math.radians(45)) / total, rel=FINE)


SLOPE = """world: {shapes: {slope: {type: plane, pose: {rpy: [0, 20 deg, 0]}, material: m}}}
materials: {m: {friction: MU}}
bodies: {box: {mass: 2, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [X, 0, Z], rpy: [0, 20 deg, 0]},
               shapes: {s: {type: box, size: [0.2, 0.2, 0.2], material: m}}}}
"""


@pytest.mark.parametrize(("mu", "gap", "holds"), [(0.5, 0.0, True), (0.5, 0.02, True), (0.37, 0.0, True), (0.3, 0.0, False)])
def test_a_box_on_a_slope(capfd, tmp_path, mu, gap, holds):
    """tan 20 deg = 0.364."""
    up, far = math.radians(20), 0.1 + gap
    text = SLOPE.replace("MU", str(mu)).replace("X,", f"{far * math.sin(up)!r},").replace("Z]", f"{far * math.cos(up)!r}]")
    code, found, said = asked(capfd, tmp_path, text)
    if not holds:
        assert code == Exit.NEGATIVE
        assert "no equilibrium was found" in said
        return
    np.testing.assert_allclose(force_of(found, "box"), [0, 0, 2 * G], atol=1e-8)
    x, _, z = found["body_q"]["box"][:3]
    assert x * math.sin(up) + z * math.cos(up) == pytest.approx(0.1, abs=1e-9)
    if not gap:
        assert found["iterations"] == 0
    for one in found["contacts"]:
        slides = np.array(one["force"]) - one["normal_force"] * np.array(one["normal"])
        assert np.linalg.norm(slides) <= mu * one["normal_force"] * (1 + 1e-6)


LADDER = """world:
  shapes: {floor: {type: plane, material: rough}, wall: {type: plane, pose: {rpy: [0, 90 deg, 0]}, material: ice}}
materials:
  rough: {friction: 0.5, combine: {friction: max}}
  ice: {friction: 0, combine: {friction: min}}
  bare: {friction: 0.2}
bodies:
  ladder: {mass: 10, inertia: {diag: [1, 1, 1]}, pose: {xyz: [X, 0, Z], rpy: [0, -30 deg, 0]}, shapes: {
    left: {type: sphere, radius: 0.01, pose: {xyz: [0, -0.3, -1]}, material: bare},
    right: {type: sphere, radius: 0.01, pose: {xyz: [0, 0.3, -1]}, material: bare},
    top: {type: sphere, radius: 0.01, pose: {xyz: [0, 0, 1]}, material: bare}}}
"""


def test_a_ladder(capfd, tmp_path):
    """On a smooth wall and a rough floor: moments about the feet, where their spheres touch."""
    lean = math.radians(30)
    text = LADDER.replace("X,", f"{0.01 + math.sin(lean)!r},").replace("Z]", f"{0.01 + math.cos(lean)!r}]")
    code, found, _ = asked(capfd, tmp_path, text)
    assert code == Exit.OK
    assert found["iterations"] == 0
    wall = sum(np.array(one["force"]) for one in found["contacts"] if one["a"] == "wall")
    np.testing.assert_allclose(wall, [10 * G * math.sin(lean) / (2 * math.cos(lean) + 0.01), 0, 0], atol=1e-6)
    np.testing.assert_allclose(force_of(found, "ladder"), [0, 0, 10 * G], atol=1e-6)


def test_joints_carry_what_contacts_leave(capfd, tmp_path):
    """A beam on a hinge at one end and on the floor at the other: half of its weight each."""
    text = """world: {shapes: {floor: {type: plane, material: m}}}
materials: {m: {friction: 0}}
bodies: {beam: {mass: 4, com: [0.5, 0, 0], inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 0, 0.1]},
                shapes: {tip: {type: sphere, radius: 0.1, pose: {xyz: [1, 0, 0]}, material: m}}}}
joints: {hinge: {type: revolute, parent: world, child: beam, axis: [0, 1, 0], q: -0.2}}
contact: {pairs: [{a: beam, b: floor}]}
"""
    _, found, _ = asked(capfd, tmp_path, text)
    assert found["joint_q"]["hinge"][0] == pytest.approx(0.0, abs=1e-8)
    np.testing.assert_allclose(found["joint_wrench"]["hinge"], [0, 0, 2 * G, 0, 0, 0], atol=1e-6)


LEG = """world: {shapes: {floor: {type: plane}}}
bodies:
  hip: {mass: 5, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 0, 1]}}
  thigh: {mass: 1, inertia: {diag: [0.02, 0.02, 0.02]}, com: [0, 0, -0.25], pose: {xyz: [0, 0, 1], rpy: [0, -0.4, 0]}}
  shank: {mass: 1, inertia: {diag: [0.02, 0.02, 0.02]}, com: [0, 0, -0.25],
          pose: {xyz: [0.19470917115432526, 0, 0.5394695029985575], rpy: [0, 0.4, 0]},
          shapes: {foot: {type: sphere, radius: 0.05, pose: {xyz: [0, 0, -0.5]}}}}
joints:
  rail: {type: prismatic, parent: world, child: hip, axis: [0, 0, 1]}
  hip: {type: revolute, parent: hip, child: thigh, axis: [0, 1, 0], at: [0, 0, 1], damping: 3,
        drive: {mode: position, stiffness: 200}}
  knee: {type: revolute, parent: thigh, child: shank, axis: [0, 1, 0], at: [0.19470917115432526, 0, 0.5394695029985575],
         damping: 3, drive: {mode: position, stiffness: 200}}
run: {duration: 4}
output: {every: 4}
"""


def test_a_leg_stands_where_a_run_from_there_stays(capfd, tmp_path):
    """Friction holds it anywhere near, so that a run that begins there has to stay."""
    _, found, _ = asked(capfd, tmp_path, LEG)
    np.testing.assert_allclose(force_of(found, "shank")[2], 7 * G, rtol=1e-8)
    q = {name: values[0] for name, values in found["joint_q"].items()}
    text = LEG + f"initial: {{joint_q: {q}}}\n"
    (tmp_path / "run.yaml").write_text("simcli: 1\n" + text)
    assert run_here("run", tmp_path / "run.yaml", "-o", tmp_path / "run.h5", "-q", *CPU) == Exit.OK
    assert run_here("export", tmp_path / "run.h5", "-c", "joint.*.q", "-o", tmp_path / "q.csv") == Exit.OK
    last = [float(x) for x in (tmp_path / "q.csv").read_text().splitlines()[-1].split(",")[1:]]
    np.testing.assert_allclose(last, list(q.values()), atol=2e-6)


WHEEL = """world: {shapes: {floor: {type: plane}, wall: {type: plane, pose: {xyz: [WALL, 0, 0], rpy: [0, 90 deg, 0]}}}}
bodies: {wheel: {mass: 2, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [0, 0, 0.1]},
                 shapes: {s: {type: sphere, radius: 0.1}}}}
contact: {pairs: [{a: wheel, b: floor}, {a: wheel, b: wall}]}
joints: {plane: {type: planar, parent: world, child: wheel, axis: [0, 1, 0]}}
forces: {k: {type: spring, a: {world: [-1, 0, 0.1]}, b: {body: wheel, at: [0, 0, 0]}, stiffness: 300, rest_length: 1}}
"""


@pytest.mark.parametrize(("slip", "mass"), [((), 2 + 0.01 / 0.1**2), (("--slip",), 2.0)])
def test_a_wheel_rolls_on_the_floor_or_slips(capfd, tmp_path, slip, mass):
    """A spring at its centre: it rolls with the mass m + I / r^2, and slips with m."""
    _, found, _ = asked(capfd, tmp_path, WHEEL.replace("WALL", "-5"), "modes", *slip)
    swings = [mode["omega"] for mode in found["modes"] if mode["kind"] == "oscillation"]
    np.testing.assert_allclose(swings, [math.sqrt(300 / mass)], rtol=1e-7)
    assert len(found["modes"]) == 1 + len(slip)  # slipping it may spin


def test_what_touches_without_pressing_is_refused_by_name(capfd, tmp_path):
    code, _, said = asked(capfd, tmp_path, WHEEL.replace("WALL", "-0.1"), "modes")
    assert code == Exit.NEGATIVE
    assert "`wall` and `wheel/s` touch without pressing" in said
    assert asked(capfd, tmp_path, WHEEL.replace("WALL", "-0.1"))[0] == Exit.OK


def test_unknown_springs_are_refused_where_shapes_touch(capfd, tmp_path):
    code, _, said = asked(capfd, tmp_path, WHEEL.replace("WALL", "-5"), "equilibrium", "--unknown", "forces.k.rest_length")
    assert code == Exit.USAGE
    assert "`floor` and `wheel/s` touch in the initial state" in said


def test_a_plank_rocks_on_a_log(capfd, tmp_path):
    """It rolls: V'' = m g (R - h) about the middle of a log of radius R, with the inertia about the point of contact."""
    text = """world: {shapes: {log: {type: sphere, radius: 0.5}}}
bodies: {plank: {mass: 3, inertia: {diag: [0.1, 0.2, 0.1]}, pose: {xyz: [0, 0, 0.55]},
                 shapes: {s: {type: box, size: [2, 0.5, 0.1]}}}}
joints: {p: {type: planar, parent: world, child: plank, axis: [0, 1, 0]}}
contact: {pairs: [{a: plank, b: log}]}
"""
    _, found, _ = asked(capfd, tmp_path, text, "modes")
    assert found["modes"][0]["omega"] == pytest.approx(math.sqrt(3 * G * 0.45 / (0.2 + 3 * 0.05**2)), rel=1e-7)


def test_no_motion_left_is_said(capfd, tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("simcli: 1\n" + RAIL.replace("SOLVER", "maximal"))
    assert doorman.run_command(["modes", str(path), *CPU], debug=False, as_json=False) == Exit.OK
    assert "no mode: joints and contacts hold every motion" in capfd.readouterr().out
