"""`simcli precompile`: what it has compiled, runs do not compile."""

import json
import subprocess

import pytest
from support.process import simcli_apart

from simcli.cli.runs import precompile
from simcli.cli.scenes import doctor
from simcli.cli.shipped import shipped_scenes
from simcli.errors import Exit
from simcli.kernels.device import kernel_cache

# An event in the midst: the tables change by kernels of their own.
SCENE = """
simcli: 1
bodies:
  upper: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [0, 0, -1]}}
joints:
  pin: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 1, 0], q: 0.3}
events:
  - {at: 0.05, set: {joints.pin.damping: 1}}
solver: {type: generalized, dt: 1e-2}
run: {duration: 0.1}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "swing.yaml").write_text(SCENE)
    return tmp_path


def call(folder, *words, cache="kernels"):
    places = {kernel_cache.VARIABLE: str(folder / cache), "XDG_CACHE_HOME": str(folder)}
    done = simcli_apart(*words, "--json", cwd=folder, **places)
    return done, json.loads(done.stdout or "null")


def test_runs_compile_nothing_of_what_was_precompiled(folder):
    """Nor another number of threads, nor a run that keeps checkpoints and goes on with them."""
    done, found = call(folder, "precompile", "swing.yaml")
    assert done.returncode == Exit.OK, done.stderr
    assert found["schema"] == "simcli.precompile/1"
    (row,) = found["scenes"]
    assert found["compiled"] == row["compiled"] == len(list((folder / "kernels").rglob("*.tic"))) > 1
    assert {kernel["origin"] for kernel in row["kernels"]} == {"compiled"}
    assert all(kernel["compile_s"] > 0 for kernel in row["kernels"])
    assert not (folder / "outputs").exists()
    done, run = call(folder, "run", "swing.yaml", "--threads", "3", "--checkpoint-every", "0")
    assert done.returncode == Exit.OK, done.stderr
    assert run["kernels"]["compiled"] == 0, run["kernels"]
    assert run["kernels"]["from_cache"] == found["compiled"]


def test_a_scene_that_is_invalid_stops_no_other(folder):
    (folder / "wrong.yaml").write_text(SCENE.replace("mass: 1", "mass: -1"))
    done, found = call(folder, "precompile", "swing.yaml", "wrong.yaml", "--jobs", "2", "--set", "solver.type=maximal")
    assert done.returncode == Exit.SCENE
    assert [(row["scene"], row["exit_code"], row["compiled"] > 0) for row in found["scenes"]] == [
        ("swing.yaml", Exit.OK, True), ("wrong.yaml", Exit.SCENE, False)]  # fmt: skip
    assert "wrong.yaml:4" in done.stderr


def test_without_a_folder_there_is_nothing_to_fill(folder):
    (folder / "file").touch()
    (folder / "simcli").touch()
    done, _ = call(folder, "precompile", "swing.yaml", cache="file/kernels")
    assert done.returncode == Exit.OUTPUT
    assert "cannot be kept" in done.stderr


@pytest.fixture
def keeper(tmp_path, monkeypatch):
    monkeypatch.setenv(kernel_cache.VARIABLE, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    kernel_cache.keeper()
    return tmp_path


def bundle_line(name):
    (line,) = [line for line in doctor._bundles() if line.name == f"kernels {name}"]
    return line


def test_doctor_lists_the_bundles_with_their_times(keeper):
    names = [line.name.removeprefix("kernels ") for line in doctor._bundles()]
    assert names == list(shipped_scenes("bundles"))
    assert len(names) <= 12
    assert bundle_line("tree").state == "missing"
    assert "simcli precompile" in bundle_line("tree").text
    place = kernel_cache.place_in(keeper)
    for key in ("Ta", "Tb", "Tc"):
        (place / f"{key}.tic").touch()
    kernel_cache.keep_bundle(keeper, "tree, 1 world, cpu", {"Ta": 1.0, "Tb": 2.0})
    kernel_cache.keep_bundle(keeper, "tree, 8 worlds, cpu", {"Tb": None, "Tc": 3.5})  # Tb was there
    assert bundle_line("tree").state == "ok"
    assert bundle_line("tree").text.endswith(
        "1 world, cpu: 2 kernels, compiled in 3 s; 8 worlds, cpu: 2 kernels, compiled in 5.5 s")
    kernel_cache.keep_bundle(keeper, "tree, 8 worlds, cpu", {"Tb": None, "Tc": None, "Td": None})
    (place / "Tb.tic").unlink()
    assert bundle_line("tree").state == "missing"
    assert bundle_line("tree").text.endswith(
        "1 world, cpu: 2 kernels, compiled in 3 s, 1 of them gone; 8 worlds, cpu: 3 kernels, 2 of them gone")


def test_doctor_tells_who_may_write(keeper, monkeypatch):
    (line, other) = doctor._cache()
    assert f"{keeper} (0 kernels for this processor" in line.text
    assert line.text.endswith("new kernels are kept here)")
    assert other.text.endswith("is read, too)")
    (keeper / "file").touch()
    monkeypatch.setenv(kernel_cache.VARIABLE, str(keeper / "file"))
    first, second = doctor._cache()
    assert "read only: " in first.text
    assert second.text.endswith("new kernels are kept here)")


def test_facts_of_a_bundle_are_kept_when_it_is_compiled(keeper, monkeypatch):
    """Not at the end, which a run of many bundles may not reach."""
    rows = iter([{"origin": "compiled"}, {"origin": "folder"}])

    def answer(command, **_):
        row = {"exit_code": 0, "compiled": 1, "from_cache": 0, "wall_s": 1.0,
               "kernels": [{"key": "Ta", "trace_s": 0.5, "compile_s": 2.0, **next(rows)}]}  # fmt: skip
        return subprocess.CompletedProcess(command, 0, json.dumps({"scenes": [row]}), "")

    monkeypatch.setattr(subprocess, "run", answer)
    for _ in range(2):
        item = precompile.Item("tree, 1 world", keeper, 1, bundle=True)
        precompile._compile_apart([item], [], 1, keeper, quiet=True)
        assert kernel_cache.bundles_below(keeper) == {"tree, 1 world": {"Ta": 2.5}}


@pytest.mark.slow
def test_all_bundles_are_compiled(tmp_path):
    done, found = call(tmp_path, "precompile")
    assert done.returncode == Exit.OK, done.stderr
    assert len(found["scenes"]) == 2 * len(shipped_scenes("bundles"))
    done, again = call(tmp_path, "precompile")
    assert again["compiled"] == 0
    assert again["from_cache"] >= found["compiled"]
