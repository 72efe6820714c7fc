"""Closed loops that touch: redundant rows of a loop in a plane see nothing but rounding, and ask for no impulse."""

import json

import numpy as np
import pytest
from support.process import simcli as command

import simcli
from simcli.kernels.complementarity.problem import LIMITS

GRAVITY, DROP, SIDE, LENGTH = 9.81, 0.45, 0.1, 0.5  # [m/s^2, m, m, m]
ENDS = {"float64": 1e-8, "float32": 2e-3}  # [m], off from the place where the frame stands, which is one of no stability
CASES = [("generalized", "float64"), *(pytest.param(*case, marks=pytest.mark.slow) for case in (
    ("maximal", "float64"), ("natural", "float64"), ("generalized", "float32"), ("maximal", "float32"),
    ("natural", "float32")))]  # fmt: skip


def frame() -> dict:
    """A frame of four bars and four hinges that falls upright onto the ground; three rows of a hinge say nothing new."""
    level, post = [2 * LENGTH, SIDE, SIDE], [SIDE, SIDE, LENGTH]
    places = {"roof": (0, 2, level), "right": (1, 1.5, post), "sill": (0, 1, level), "left": (-1, 1.5, post)}
    bodies = {name: {"pose": {"xyz": [x * LENGTH, 0, z * LENGTH]},
                     "shapes": {"s": {"type": "box", "size": size, "material": "wood"}}}
              for name, (x, z, size) in places.items()}  # fmt: skip
    corners = {"a": ("roof", "right", 1, 2), "b": ("right", "sill", 1, 1), "c": ("sill", "left", -1, 1),
               "d": ("left", "roof", -1, 2)}  # fmt: skip
    joints = {name: {"type": "revolute", "parent": one, "child": other, "at": [x * LENGTH, 0, z * LENGTH],
                     "axis": [0, 1, 0]} for name, (one, other, x, z) in corners.items()}  # fmt: skip
    return {"simcli": 1, "materials": {"wood": {"density": 500, "friction": 0.6}},
            "world": {"shapes": {"floor": {"type": "plane", "material": "wood"}}}, "bodies": bodies, "joints": joints,
            "contact": {"exclude": [[one, other] for one, other, _, _ in corners.values()]},
            "run": {"duration": 1}, "output": {"every": 0.005}}  # fmt: skip


@pytest.mark.parametrize(("solver", "precision"), CASES)
def test_a_frame_falls_onto_the_ground(tmp_path, solver, precision):
    path, out = tmp_path / "frame.json", tmp_path / "frame.h5"
    path.write_text(json.dumps({**frame(), "solver": {"type": solver, "dt": 1e-3, "precision": precision}}))
    ended = command("run", path, "-o", out, "-q")
    assert ended.returncode == 0, ended.stderr
    with simcli.open(out) as run:
        assert run.diag.residual[:].max() < 100 * max(LIMITS[precision].least_of_rows, 1e-8)
        assert run.diag.iterations[:].max() < 40
        falls = run.time[:] < np.sqrt(2 * DROP / GRAVITY) - 2e-3
        fell = run.body("sill").velocity[:][falls, 0, 2]
        assert np.abs(fell + GRAVITY * run.time[:][falls]).max() < ENDS[precision]
        heights = {"sill": SIDE / 2, "roof": SIDE / 2 + LENGTH}
        for name, height in heights.items():
            assert abs(run.body(name).position[-1, 0, 2] - height) < ENDS[precision]
