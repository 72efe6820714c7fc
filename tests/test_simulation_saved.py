"""Snapshots in files: another process of the same scene goes on to the same bits, and any other is refused by name."""

import subprocess
import sys

import numpy as np
import pytest
from test_simulation import fresh, opened, same
from test_simulation_ages import SCENE

from simcli.errors import FileError, OutputError, UsageError

VARIED = {"vary": ["joints.a.damping"]}
EVENTS = "events=[{at: 0.01, set: {joints.a.damping: 0.5}}, {at: 0.03, set: {joints.a.damping: 0.1}}]"
ELSEWHERE = """
import sys
import numpy as np
import simcli
with simcli.Simulation(sys.argv[1], worlds=5, device="cpu", vary=["joints.a.damping"], threads=1) as sim:
    sim.restore(sys.argv[2])
    sim.step(25)
    np.savez(sys.argv[3], **{name: sim.get(name) for name in ("joint.a.q", "joint.c.qd", "sensor.turning.tachometer")},
             age=sim.age, episode=sim.episode, damping=sim.get("joints.a.damping"))
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "timed.yaml"
    by_condition = "\n".join(line for line in SCENE.splitlines() if "- {at:" not in line)  # others set what `vary` sets
    path.write_text(by_condition.replace("q: 0.2, drive: {mode: effort, target: $push}",
                                         "q: 0.2, damping: 0.01, drive: {mode: effort, target: $push}"))  # fmt: skip
    return path


def test_another_process_goes_on_to_the_same_bits(scene, tmp_path):
    with opened(scene, worlds=5, **VARIED) as sim:
        sim.step(17)
        sim.set("joints.a.damping", [0.1, 0.2, 0.3, 0.4, 0.5])
        sim.reset([1, 3])
        sim.step(3)
        sim.save(tmp_path / "state.npz")
        with pytest.raises(OutputError, match="exists; give force=True"):
            sim.save(tmp_path / "state.npz")
        sim.step(25)
        found = {name: sim.get(name) for name in ("joint.a.q", "joint.c.qd", "sensor.turning.tachometer")}
        found |= {"age": sim.age, "episode": sim.episode, "damping": sim.get("joints.a.damping")}
    words = [sys.executable, "-c", ELSEWHERE, scene, tmp_path / "state.npz", tmp_path / "found.npz"]
    subprocess.run(list(map(str, words)), check=True, timeout=300)
    with np.load(tmp_path / "found.npz") as other:
        assert not [name for name, values in found.items() if not np.array_equal(values, other[name])]


def test_what_is_to_come_is_kept(scene, tmp_path):
    for before in (5, 17, 35):  # of two events none, one and both have happened
        with opened(scene, EVENTS, worlds=5) as sim, opened(scene, EVENTS, worlds=5) as other:
            sim.step(before)
            sim.save(tmp_path / f"{before}.npz")
            sim.step(30)
            other.restore(tmp_path / f"{before}.npz")
            other.step(30)
            assert not same(fresh(sim), fresh(other))
            assert other.time == sim.time


WRONG = {
    "the scene, or an option, is another": {"sets": ["joints.a.q=0.1"]},
    r"vary is another: \[\] then, \['joints.a.damping'\] now": VARIED,
    r"controls is another: \['a'\] then, \[\] now": {"controls": ()},
}


def test_other_circumstances_are_refused(scene, tmp_path):
    state = tmp_path / "state.npz"
    with opened(scene, worlds=5, controls=("a",)) as sim:
        sim.step(1)
        sim.save(state)
    for words, options in WRONG.items():
        more = {"worlds": 5, "controls": ("a",), **options}
        with opened(scene, *more.pop("sets", ()), **more) as sim, pytest.raises(UsageError, match=words):
            sim.restore(state)
    with opened(scene, worlds=5, controls=("a",)) as sim:
        with pytest.raises(FileError, match="there is no such file"):
            sim.restore(tmp_path / "none.npz")
        state.write_bytes(state.read_bytes()[:-50])
        with pytest.raises(FileError, match="is no whole snapshot"):
            sim.restore(state)
