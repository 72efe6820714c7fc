"""Affine bodies from the command line: the same bytes whatever batch and threads, after a kill, and beside worlds that end.

And the maximal solver with contact, by the same trials.
"""

import os
import signal
import subprocess
import sys
import time

import pytest
from support.many import run_many
from support.process import environment
from support.runs import committed, differing, digest, worlds_of

import simcli as package
from simcli.errors import Exit, SimcliError

pytestmark = pytest.mark.slow

BODIES = """
simcli: 1
params: {drop: 0.23, push: 0.4}
world: {shapes: {ground: {type: plane}}}
defaults: {shape: {density: 1000}}
bodies:
  belt: {pose: {xyz: [0, 0, 0.1]}, kinematic: true, motion: {linear: [$pull, 0, 0]},
         shapes: {it: {type: box, size: [2, 0.6, 0.1]}}}
  cube: {pose: {xyz: [0, 0, "${0.17 + drop}"], rpy: [0.1, 0.2, 0]}, velocity: {linear: ["${push}", 0, 0]},
         shapes: {it: {type: box, size: [0.2, 0.2, 0.2]}}}
  flap: {pose: {xyz: [3, 0, 1]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
signals:
  pull: {sine: {amplitude: 0.3, frequency: 2}}
"""
AFFINE = BODIES + """
joints:
  hinge: {type: revolute, parent: world, child: flap, at: [2.8, 0, 1], axis: [0, 1, 0], limit: [-0.2, 0.25], friction: 0.1,
          driving: {aim_angle: 0.1, stiffness: 20}}
events:
  - {at: 0.1, set: {joints.hinge.driving.is_constrained: true}}
  - {at: 0.2, set: {joints.hinge.driving.is_passive: true}}
solver: {type: affine, dt: 0.01, integrator: bdf2, contact: {d_hat: 5 mm}}
run: {duration: 0.4}
output: {every: 0.01, channels: [state, energy, reactions, contacts]}
"""
MAXIMAL = BODIES + """
joints:
  hinge: {type: revolute, parent: world, child: flap, at: [2.8, 0, 1], axis: [0, 1, 0], limit: [-0.2, 0.25], friction: 0.1}
events:
  - {at: 0.1, set: {joints.hinge.damping: 0.3}}
solver: {type: maximal, dt: 2.0e-5}
run: {duration: 0.4}
output: {every: 0.01, channels: [state, energy, reactions, contacts]}
"""
SCENES = {"affine": AFFINE, "maximal": MAXIMAL}
VARY = ["--vary", "params.drop=uniform(0.15, 0.3)", "--vary", "params.push=uniform(-1, 1)"]
WORLDS = 6  # two packs, the second one with idle lanes
GRACE, POLL = 300.0, 0.01  # [s]
# As in test_run_kill.py: commits as often as chunks allow; so slowly that a look falls between two of them.
OFTEN = """
import sys, time
from simcli.records.writing import writer
writer.PATIENCE_S = 0.0
put = writer.Recorder.put
def put_slowly(self, block):
    put(self, block)
    time.sleep(0.1)
writer.Recorder.put = put_slowly
from simcli.cli import main
sys.argv[0] = "simcli"
sys.exit(main())
"""


def run_all(commands, folder):
    """What each committed, by its output's name."""
    results = run_many([["run", *words, "-q"] for words in commands], folder)
    assert [code for code, _ in results] == [Exit.OK] * len(commands), results
    return {str(words[2]): committed(folder / str(words[2])) for words in commands}


@pytest.fixture(scope="module", params=SCENES)
def runs(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    path = folder / "scene.yaml"
    path.write_text(SCENES[request.param])
    commands = [[path, "-o", f"{name}.h5", "--worlds", worlds, *VARY, *more] for name, worlds, more in (
        ("two", WORLDS, ("--threads", 2)), ("one", WORLDS, ("--threads", 1)),
        ("alone", WORLDS, ("--world", WORLDS - 1)))]  # fmt: skip
    return folder, path, run_all(commands, folder)


def test_bytes_do_not_depend_on_threads_or_batch(runs):
    folder, _, rows = runs
    assert len({row.tobytes() for row in rows["two.h5"]["frames/body_q"][-1, :, 1]}) == WORLDS
    assert (rows["two.h5"]["diag/contacts"][-1] > 0).all()
    assert not differing(rows["one.h5"], rows["two.h5"])
    assert digest(folder / "one.h5") == digest(folder / "two.h5")
    assert not differing(worlds_of(rows["alone.h5"], slice(None)), worlds_of(rows["two.h5"], slice(WORLDS - 1, WORLDS)))


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_a_killed_run_goes_on_to_the_same_bytes(runs):
    """Killed at two places: before the events and between them."""
    folder, scene, rows = runs
    whole = rows["two.h5"]
    for k, part in enumerate((0.2, 0.4)):
        path = folder / f"killed{k}.h5"
        words = ["run", str(scene), "-o", str(path), "--worlds", str(WORLDS), *VARY, "-q"]
        child = [sys.executable, "-c", OFTEN, *words]
        process = subprocess.Popen(child, stderr=subprocess.PIPE, text=True, env=environment())
        deadline = time.monotonic() + GRACE
        while process.poll() is None and progress(path) < part and time.monotonic() < deadline:
            time.sleep(POLL)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert part <= progress(path) < 1.0, "it was not killed at work"
        ((code, talk),) = run_many([[*words, "--resume"]], folder)
        assert code == Exit.OK, talk
        assert not differing(committed(path), whole)
        assert digest(path) == digest(folder / "two.h5")


def progress(path):
    """Part of the frames that is committed."""
    try:
        with package.open(path) as run:
            return run.n_frames / 41
    except (SimcliError, OSError):
        return 0.0


def test_worlds_that_end_disturb_nobody(runs):
    """One that begins in the belt, or is too fast, among five that are well."""
    folder, scene, _ = runs
    drops, pushes = [0.2, 0.21, 0.22, 0.23, 0.24, 0.25], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    for name, drop, push in (("good", 0.22, 0.3), ("bad", -0.05, 1.0e9)):
        drops[2] = drop if "affine" in scene.read_text() else 0.22
        pushes[2] = push if "maximal" in scene.read_text() else 0.3
        batch = f"batch: {{worlds: 6, vary: {{params.drop: {{list: {drops}}}, params.push: {{list: {pushes}}}}}}}\n"
        (folder / f"{name}.yaml").write_text(scene.read_text() + batch)
    commands = [["run", f"{name}.yaml", "-o", f"{name}.h5", "-q"] for name in ("good", "bad")]
    (good, _), (ended, talk) = run_many(commands, folder)
    assert (good, ended) == (Exit.OK, Exit.SIMULATION), talk
    rows = [committed(folder / words[3]) for words in commands]
    assert (rows[1]["diag/status"][-1] != 0).tolist() == [False, False, True, False, False, False]
    for part in (slice(0, 2), slice(3, 6)):
        assert not differing(*(worlds_of(one, part) for one in rows))
