"""The size of a file is told before a run starts, for kinds of scenes whose files differ in what fills them."""

import json
import subprocess
import sys

import pytest

WITHIN = 0.2  # what is asked of an estimate, relative
ROD = "{mass: 1, com: [0.1, 0, 0], inertia: {diag: [1, 1, 1]}}"
PIN = f"bodies: {{rod: {ROD}}}\njoints: {{pin: {{type: revolute, parent: world, child: rod, axis: [0, 1, 0]}}}}\n"
FREE = "bodies:\n" + "".join(f"  b{k}: {{pose: {{xyz: [0, 0, {k}]}}, mass: 1, inertia: {{diag: [1, 1, 1]}}}}\n"
                             for k in range(400))  # fmt: skip
BALL = "shapes: {s: {type: sphere, radius: 0.1, density: 900}}"
SPHERES = "bodies:\n" + "".join(f"  s{k}: {{pose: {{xyz: [{k}, 0, 0.11]}}, {BALL}}}\n" for k in range(8))
SPHERES += "world: {shapes: {ground: {type: plane}}}\n"
OUTPUT = "output: {every: 0.01, channels: [state, energy, reactions]}\n"
SCENES = {
    "frames": PIN + "solver: {type: generalized, integrator: rk4}\nrun: {duration: 2}\noutput: {every: 0.01}\n",
    "worlds": PIN + "solver: {type: generalized, integrator: rk4}\nrun: {duration: 0.5}\noutput: {every: 0.01}\n"
              "batch: {worlds: 500, vary: {bodies.rod.mass: {uniform: [1, 2]}}}\n",
    "bodies": FREE + "solver: {type: generalized, integrator: rk4}\nrun: {duration: 0.03}\noutput: {every: 0.01}\n",
    "maximal": PIN + "solver: {type: maximal}\nrun: {duration: 0.5}\n" + OUTPUT,
    "contact": SPHERES + "solver: {type: generalized}\nrun: {duration: 0.3}\noutput: {every: 0.01}\n",
    "affine": PIN + "solver: {type: affine}\nrun: {duration: 0.3}\n" + OUTPUT,
}  # fmt: skip
QUICK = ("frames", "worlds")  # the others compile kernels of their own


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SCENES])
def test_the_file_has_the_size_that_was_told(name, tmp_path):
    (tmp_path / "a.yaml").write_text(f"simcli: 1\n{SCENES[name]}")

    def simcli(*words):
        done = subprocess.run([sys.executable, "-m", "simcli", "run", "a.yaml", "-o", "a.h5", *words], cwd=tmp_path,
                              capture_output=True, text=True, timeout=600)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    told = json.loads(simcli("--dry-run", "--json"))
    simcli("-q")
    size = (tmp_path / "a.h5").stat().st_size
    assert abs(told["file_bytes"] - size) < WITHIN * size
