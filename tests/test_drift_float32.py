"""What single precision rounds is no energy from nothing, however long a stack stands; a gain is one there, too."""

import numpy as np
import pytest
from support.process import simcli_apart

import simcli
from simcli.analysis.drift import _TERMS, EnergyAccount
from simcli.errors import Exit
from simcli.pipeline import build_model, read_scene

BOX = "shapes: {s: {type: box, size: [0.2, 0.2, 0.2]}}"
# Boxes on each other: from the ground at the origin up; with the origin amid them, so that their energies cancel; far away.
STACK = f"""simcli: 1
params: {{z: 0, x: 0}}
world: {{shapes: {{floor: {{type: plane, pose: {{xyz: [0, 0, "${{z}}"]}}}}}}}}
bodies:
  a: {{pose: {{xyz: ["${{x}}", 0, "${{z + 0.1}}"]}}, mass: 1, {BOX}}}
  b: {{pose: {{xyz: ["${{x}}", 0, "${{z + 0.3}}"]}}, mass: 2, {BOX}}}
  c: {{pose: {{xyz: ["${{x}}", 0, "${{z + 0.5}}"]}}, mass: 3, {BOX}}}
solver: {{dt: 1 ms, precision: float32}}
run: {{duration: 10}}
output: {{every: 0.1, channels: [energy]}}
batch: {{vary: {{params.z: {{list: [0, -0.3667, 100, 0]}}, params.x: {{list: [0, 0, 0, 300]}}}}}}
"""
# Two balls that overlap are pushed apart: energy from nothing. The second pair stands still.
GAIN = """simcli: 1
params: {x: 0.15}
world: {gravity: [0, 0, -9.81]}
bodies:
  a: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, shapes: {s: {type: sphere, radius: 0.1}}}
  b: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, shapes: {s: {type: sphere, radius: 0.1}}, pose: {xyz: ["${x}", 0, 0]}}
solver: {dt: 1 ms, precision: float32}
run: {duration: 0.02}
output: {every: 0.01}
batch: {vary: {params.x: {list: [0.5, 0.15]}}}
"""
SOLVERS = ["generalized", *(pytest.param(other, marks=pytest.mark.slow) for other in ("maximal", "natural"))]


def ran(folder, text, solver):
    (folder / "s.yaml").write_text(text)
    words = "-q", "--device", "cpu", "--set", f"solver.type={solver}"
    return simcli_apart("run", folder / "s.yaml", "-o", folder / "s.h5", *words)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_stack_at_rest_gains_nothing(solver, tmp_path):
    done = ran(tmp_path, STACK, solver)
    assert done.returncode == Exit.OK, done.stderr
    account = EnergyAccount(build_model(*read_scene(tmp_path / "s.yaml", ()), None), "float32")
    with simcli.open(tmp_path / "s.h5") as file:
        account.see_run(file, file.n_frames)
        account.n_steps = int(file.step[-1])
    assert account.gain.max() > 1e-4  # [J]: there is something to be judged
    assert (account.gain < 0.5 * account.floor()).all(), account.gain / account.floor()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_gain_is_told(solver, tmp_path):
    done = ran(tmp_path, GAIN, solver)
    assert done.returncode == Exit.SIMULATION
    assert "error: world 1: " in done.stderr
    assert "world 0" not in done.stderr


def test_the_floor_is_that_of_the_bodies_and_of_the_steps(tmp_path):
    """Against the sum by hand; in double precision it is a millionth of the largest term, as it was."""
    (tmp_path / "s.yaml").write_text(STACK)
    model = build_model(*read_scene(tmp_path / "s.yaml", ()), None)
    weights = [9.81 * sum(m * np.hypot(z + 0.2 * m - 0.1, x) for m in (1, 2, 3))
               for z, x in ((0, 0), (-0.3667, 0), (100, 0), (0, 300))]  # fmt: skip
    terms = {f"energy/{name}": np.full((1, 4), value) for name, value in zip(_TERMS, (3.0, 0, 0, 2.0, 0, 0), strict=True)}
    for precision, single in (("float32", 2.0**-23 * (16 + 500)), ("float64", 0.0)):
        account = EnergyAccount(model, precision)
        account.see(terms)
        account.n_steps = 1000
        np.testing.assert_allclose(account.floor(), 3e-6 + single * (5.0 + np.array(weights)), rtol=1e-12)
