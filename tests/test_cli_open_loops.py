"""Coordinates that someone gives, and that leave loops open: the commands on states say so."""

import json
import math

import pytest

from simcli.cli import doorman

pytestmark = pytest.mark.usefixtures("scalar_code")

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
        assert doorman.run_command(words, debug=True, as_json="--json" in words) == 0
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
