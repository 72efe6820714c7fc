"""File and memory are told before a run starts, for kinds of scenes that differ in what fills them."""

import json
import os
import subprocess
import sys

import pytest

from simcli.kernels.device.kernel_cache import VARIABLE

WITHIN = 0.2  # what is asked of an estimate, relative
ROD = "{mass: 1, com: [0.1, 0, 0], inertia: {diag: [1, 1, 1]}}"
PIN = f"bodies: {{rod: {ROD}}}\njoints: {{pin: {{type: revolute, parent: world, child: rod, axis: [0, 1, 0]}}}}\n"
FREE = "bodies:\n" + "".join(f"  b{k}: {{pose: {{xyz: [0, 0, {k}]}}, mass: 1, inertia: {{diag: [1, 1, 1]}}}}\n"
                             for k in range(400))  # fmt: skip
BALL = "shapes: {s: {type: sphere, radius: 0.1, density: 900}}"
SPHERES = "bodies:\n" + "".join(f"  s{k}: {{pose: {{xyz: [{k}, 0, 0.11]}}, {BALL}}}\n" for k in range(8))
SPHERES += "world: {shapes: {ground: {type: plane}}}\n"
GRID = "bodies:\n" + "".join(f"  s{k}: {{pose: {{xyz: [{k % 25}, {k // 25}, 0.11]}}, {BALL}}}\n" for k in range(600))
GRID += "world: {shapes: {ground: {type: plane}}}\n"
OUTPUT = "output: {every: 0.01, channels: [state, energy, reactions]}\n"
SCENES = {
    "frames": PIN + "solver: {type: generalized, integrator: rk4}\nrun: {duration: 2}\noutput: {every: 0.01}\n",
    "worlds": PIN + "solver: {type: generalized, integrator: rk4}\nrun: {duration: 0.5}\noutput: {every: 0.01}\n"
              "batch: {worlds: 500, vary: {bodies.rod.mass: {uniform: [1, 2]}}}\n",
    "bodies": FREE + "solver: {type: generalized, integrator: rk4}\nrun: {duration: 0.03}\noutput: {every: 0.01}\n",
    "maximal": PIN + "solver: {type: maximal}\nrun: {duration: 0.5}\n" + OUTPUT,
    "contact": SPHERES + "solver: {type: generalized}\nrun: {duration: 0.3}\noutput: {every: 0.01}\n",
    "affine contact": GRID + "solver: {type: affine, dt: 0.01}\nrun: {duration: 0.03}\noutput: {every: 0.01}\n",
    "affine": PIN + "solver: {type: affine}\nrun: {duration: 0.3}\n" + OUTPUT,
}  # fmt: skip
# A process counts as large as the one that started it was, so that a small one stands between.
PEAK = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)")  # [B]
QUICK = ("frames", "worlds")  # the others compile kernels of their own


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SCENES])
def test_file_and_memory_are_as_large_as_was_told(name, tmp_path):
    """The memory is the peak of the larger process, which steps, in a run that finds no kernels compiled."""
    (tmp_path / "a.yaml").write_text(f"simcli: 1\n{SCENES[name]}")
    words = [sys.executable, "-m", "simcli", "run", str(tmp_path / "a.yaml"), "-o", str(tmp_path / "a.h5")]
    told = json.loads(subprocess.check_output([*words, "--dry-run", "--json"], text=True))
    cold = {**os.environ, VARIABLE: str(tmp_path / "kernels")}
    peak = int(subprocess.check_output([sys.executable, "-c", PEAK, *words, "-q"], env=cold))
    size = (tmp_path / "a.h5").stat().st_size
    assert abs(told["file_bytes"] - size) < WITHIN * size
    assert abs(told["memory_bytes"] - peak) < WITHIN * peak
