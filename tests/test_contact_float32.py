"""Contact in single precision: what rounds is met no finer than it rounds, and takes no more solutions than in double."""

import numpy as np
import pytest
from support.process import simcli as command

import simcli
from simcli.cli.bench.contact import HUMANOID, PUSHED, stacks
from simcli.kernels.complementarity.problem import LIMITS

SIDE = 0.2  # [m], of the boxes
GRAVITY = 9.81  # [m/s^2]
SINGLE = LIMITS["float32"]
STEP_MISSES = 100 * SINGLE.least  # [m/s]
BLURRED = 8 * SINGLE.rounding * (1.0 + SIDE)  # [m], rounding of gaps as high as the stack
AT_REST = 0.5  # [s], from where on the stacks stand
SOLVERS = ["generalized", *(pytest.param(other, marks=pytest.mark.slow) for other in ("maximal", "natural"))]
SLIDE = """simcli: 1
materials: {m: {friction: 0.5}}
world: {shapes: {floor: {type: plane, material: m}}}
bodies:
  box: {pose: {xyz: [0, 0, 0.1]}, mass: 1, velocity: {linear: [1000, 0, 0]},
        shapes: {s: {type: box, size: [0.2, 0.2, 0.2], material: m}}}
solver: {type: generalized, dt: 1 ms, precision: float32}
run: {duration: 1}
output: {every: 1e-3}
"""


def done(scene, out, *words):
    """The run of a scene, in this process."""
    ended = command("run", scene, "-o", out, "-q", *words)
    assert ended.returncode == 0, ended.stderr
    return simcli.open(out)


@pytest.fixture(scope="module", params=SOLVERS)
def standing(request, tmp_path_factory):
    """Numbers of stacks of five boxes that have fallen on each other, from where they stand."""
    folder = tmp_path_factory.mktemp("stacks")
    words = ("--worlds", "32", "--precision", "float32", "--set", f"solver.type={request.param}",
             "--set", "output.every=0.005")
    with done(stacks(folder), folder / "stacks.h5", *words) as run:
        rests = run.time[:] >= AT_REST
        diag = {name: getattr(run.diag, name)[:][rests] for name in ("iterations", "residual", "penetration")}
        return diag, {k: run.body(f"b{k}").position[:][rests] for k in range(5)}


def test_stacks_that_stand_take_a_solution_a_step(standing):
    """Gaps that round away from each other made impulses of redundant contacts change places: 1.5 solutions, up to 13."""
    solutions = standing[0]["iterations"]
    assert 0.2 < solutions.mean() < 1.0
    assert (solutions <= 2).mean() > 0.99


def test_they_lie_as_high_as_they_are(standing):
    diag, places = standing
    assert (diag["residual"] < STEP_MISSES).all()
    assert (diag["penetration"] < 3 * BLURRED).all()
    for k, position in places.items():
        assert abs(position[..., 2] - (k + 0.5) * SIDE).max() < 3 * BLURRED * (k + 1)


def test_what_is_fast_is_met_as_finely_as_it_rounds(tmp_path):
    """A box at 1000 m/s: its speed rounds by more than the least tolerance."""
    path = tmp_path / "slide.yaml"
    path.write_text(SLIDE)
    with done(path, tmp_path / "slide.h5") as run:
        assert run.diag.residual[:].max() < STEP_MISSES
        assert run.diag.iterations[1:].mean() < 1.0
        speed, t = run.body("box").velocity[:, 0, 0], run.time[:]
    assert np.abs(speed - (1000.0 - 0.5 * GRAVITY * t)).max() < len(t) * SINGLE.rounding * 1000.0


@pytest.mark.slow
def test_newton_steps_are_as_exact_as_float32_allows(tmp_path):
    """Humanoids, whose limits are rows: softened by less than their rounding these took 3.2 solutions."""
    sets = [word for one in (*PUSHED, "expect=[]") for word in ("--set", one)]
    words = ("--worlds", "16", "--precision", "float32", *sets)
    with done(HUMANOID, tmp_path / "humanoid.h5", *words) as run:
        falls = run.time[:] > AT_REST
        assert run.diag.iterations[:][falls].mean() < 2.8
        assert run.diag.residual[:].max() < STEP_MISSES


@pytest.mark.parametrize("solver", SOLVERS)
def test_large_friction_holds_what_lies(tmp_path, solver):
    """With a cone as thin as 1e-6 what a body fell by was no more than its rounding along the ground times 1e6."""
    path = tmp_path / "slide.yaml"
    path.write_text(SLIDE.replace("friction: 0.5", "friction: 1.0e+6").replace("[1000, 0, 0]", "[1, 0.3, 0]"))
    with done(path, tmp_path / "slide.h5", "--solver", solver) as run:
        assert run.diag.penetration[:].max() < 5e-3 * SIDE
        assert run.body("box").position[:, 0, 2].min() > 0.45 * SIDE
