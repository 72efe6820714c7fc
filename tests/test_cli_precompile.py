"""`simcli precompile`: what it has compiled, runs do not compile.

The scene inside a run: `simcli run`, `show`, `modes` of an HDF5 file, to the bytes of the run it came from.

A run knows which kernels were compiled for it, and which came from the folder of compiled kernels.
"""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
from support.analysis_files import record
from support.process import python, run_here, simcli_apart
from support.scenes import FALL

from simcli.cli.runs import precompile
from simcli.cli.scene_sources import shipped_scenes
from simcli.cli.scenes import doctor
from simcli.errors import Exit
from simcli.kernels.language import kernel_cache, ti
from simcli.kernels.language.backend import Origin, kernels_noted
from simcli.kernels.language.internals import PACKAGE, engine
from simcli.kernels.language.kernel_cache import SUFFIX
from simcli.records.contents.provenance import collect_provenance
from simcli.records.reading.reader import open_trajectory
from simcli.spec.base.scene_files import HeldPath

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
    assert found["compiled"] == row["compiled"] == len(list((folder / "kernels").rglob(f"*{SUFFIX}"))) > 1
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
        ("swing.yaml", Exit.OK, True),
        ("wrong.yaml", Exit.SCENE, False),
    ]
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
        (place / f"{key}{SUFFIX}").touch()
    kernel_cache.keep_bundle(keeper, "tree, 1 world, cpu", {"Ta": 1.0, "Tb": 2.0})
    kernel_cache.keep_bundle(keeper, "tree, 8 worlds, cpu", {"Tb": None, "Tc": 3.5})  # Tb was there
    assert bundle_line("tree").state == "ok"
    assert bundle_line("tree").text.endswith(
        "1 world, cpu: 2 kernels, compiled in 3 s; 8 worlds, cpu: 2 kernels, compiled in 5.5 s"
    )
    kernel_cache.keep_bundle(keeper, "tree, 8 worlds, cpu", {"Tb": None, "Tc": None, "Td": None})
    (place / f"Tb{SUFFIX}").unlink()
    assert bundle_line("tree").state == "missing"
    assert bundle_line("tree").text.endswith(
        "1 world, cpu: 2 kernels, compiled in 3 s, 1 of them gone; 8 worlds, cpu: 3 kernels, 2 of them gone"
    )


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
        row = {
            "exit_code": 0,
            "compiled": 1,
            "from_cache": 0,
            "wall_s": 1.0,
            "kernels": [{"key": "Ta", "trace_s": 0.5, "compile_s": 2.0, **next(rows)}],
        }
        return subprocess.CompletedProcess(command, 0, json.dumps({"scenes": [row]}), "")

    monkeypatch.setattr(subprocess, "run", answer)
    for _ in range(2):
        item = precompile.PrecompiledItem("tree, 1 world", keeper, 1, bundle=True)
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


SCENES = Path(__file__).parent.parent / "scenes"
PARTS = "materials: {light: {density: 500}, heavy: {density: 7850}}\n"
# All that a file must know beyond the resolved scene: an include, a template, a parameter, a table, and a mesh for the mass.
RERUN_SCENE = """
simcli: 1
include: [parts/materials.yaml]
params: {l: 0.5}
models:
  link:
    bodies: {b: {shapes: {r: {type: box, size: ["${l}", 0.02, 0.02], pose: {xyz: ["${l/2}", 0, 0]}, material: heavy}}}}
    joints: {pin: {type: revolute, parent: world, child: b, axis: [0, 1, 0], drive: {mode: effort, target: $push}}}
instances: {left: {model: link}}
bodies: {ring: {pose: {xyz: [0, 3, 0]}, shapes: {m: {type: mesh, file: parts/ring.obj, convex: false, material: heavy}}}}
signals: {push: {table: {file: push.csv}}}
solver: {dt: 1 ms}
run: {duration: 0.2}
contact: {enabled: false}
output: {every: 0.01, channels: [state, energy]}
"""
RUN = [
    "--vary",
    "params.l=0.3,0.4,0.6",
    "--vary",
    "joints.left/pin.damping=uniform(0, 1)",
    "--set",
    "joints.left/pin.q=0.3",
    "--seed",
    "4",
    "--duration",
    "40 ms",
    "--measure",
    "peak=max_abs:joint.left/pin.qd",
]


def command(*words):
    return run_here(*words)


@pytest.fixture(scope="module")
def folder_of_rerun(tmp_path_factory):
    """A run of three worlds, and none of the files that it was made from."""
    folder = tmp_path_factory.mktemp("rerun")
    made = folder / "made"
    (made / "parts").mkdir(parents=True)
    (made / "rod.yaml").write_text(RERUN_SCENE)
    (made / "push.csv").write_text("0, 0\n0.01, 2.5\n0.03, -1\n")
    (made / "parts" / "materials.yaml").write_text(PARTS)
    shutil.copy(SCENES / "ring.obj", made / "parts")
    assert command("run", made / "rod.yaml", *RUN, "-o", folder / "a.h5", "-q") == Exit.OK
    assert command("run", made / "rod.yaml", *RUN, "--world", "2", "-o", folder / "two.h5", "-q") == Exit.OK
    shutil.rmtree(made)
    return folder


@pytest.mark.parametrize("name", ["a", "two"])
def test_a_run_of_the_scene_inside_has_the_same_bytes(folder_of_rerun, capsys, name):
    again = folder_of_rerun / f"{name}-again.h5"
    assert command("run", folder_of_rerun / f"{name}.h5", "-o", again, "-q") == Exit.OK
    assert command("diff", folder_of_rerun / f"{name}.h5", again, "--exact") == Exit.OK
    assert "all bits are equal" in capsys.readouterr().err
    with open_trajectory(folder_of_rerun / f"{name}.h5") as first, open_trajectory(again) as second:
        assert first.digest == second.digest
        np.testing.assert_array_equal(first.world_seed, second.world_seed)
        for field in ("scene_source", "scene_resolved", "overrides", "worlds", "files", "seed"):
            assert getattr(first.provenance, field) == getattr(second.provenance, field), field
        assert first.n_worlds == (3 if name == "a" else 1)
        np.testing.assert_array_equal(first.measures["peak"].value, second.measures["peak"].value)
        assert len(np.unique(first.measures["peak"].value)) == first.n_worlds  # else the worlds would prove nothing


def test_worlds_of_a_part_are_numbered_by_the_file_and_run_by_the_batch(folder_of_rerun, tmp_path, capsys):
    """As the page `results` has it: readers count in the file, `run FILE --world` in the batch of the scene inside."""
    part = tmp_path / "part.h5"
    assert command("run", folder_of_rerun / "a.h5", "--world", "2,1", "-o", part, "-q") == Exit.OK
    assert command("info", part) == Exit.OK
    assert "2, in the batch 1, 2" in capsys.readouterr().out
    assert command("info", folder_of_rerun / "a.h5", "--json") == Exit.OK
    assert json.loads(capsys.readouterr().out)["batch_worlds"] is None
    with open_trajectory(folder_of_rerun / "a.h5") as whole, open_trajectory(part) as some:
        np.testing.assert_array_equal(some.measures["peak"].value, whole.measures["peak"].value[[1, 2]])
    assert command("slice", part, "--world", "1", "-o", tmp_path / "one.h5") == Exit.OK
    assert command("run", part, "--world", "1", "-o", tmp_path / "again.h5", "-q") == Exit.OK
    with open_trajectory(tmp_path / "one.h5") as sliced, open_trajectory(tmp_path / "again.h5") as again:
        assert (sliced.batch_numbers, again.batch_numbers) == ((2,), (1,))


def test_more_options_change_the_scene_inside(folder_of_rerun, tmp_path, capsys):
    out = tmp_path / "b.h5"
    words = ["--vary", "params.l=0.4,0.7", "--set", "joints.left/pin.q=0.1", "--duration", "20 ms"]
    assert command("run", folder_of_rerun / "a.h5", *words, "-o", out, "-q") == Exit.OK
    with open_trajectory(out) as run, open_trajectory(folder_of_rerun / "a.h5") as first:
        assert run.params["params.l"].tolist() == [0.4, 0.7]
        np.testing.assert_array_equal(run.params["joints.left/pin.damping"], first.params["joints.left/pin.damping"][:2])
        assert run.joint("left/pin").q[0, 0, 0] == 0.1
        assert run.time[-1] == pytest.approx(0.02)


def test_a_measure_of_the_same_name_replaces_the_one_inside_and_is_given_once(folder_of_rerun, tmp_path, capsys):
    out, again = tmp_path / "b.h5", ["--measure", "peak=max:joint.left/pin.q"]
    assert command("run", folder_of_rerun / "a.h5", *again, "-o", out, "-q", "--duration", "20 ms") == Exit.OK
    with open_trajectory(out) as run:
        assert list(run.measures) == ["peak"]
    capsys.readouterr()
    assert command("run", folder_of_rerun / "a.h5", *again, *again, "-o", out, "--force") == Exit.SCENE
    assert "`peak` is measured twice" in capsys.readouterr().err


def test_show_gives_the_scene_that_was_run(folder_of_rerun, capsys):
    assert command("show", folder_of_rerun / "a.h5", "--resolved") == Exit.OK
    with open_trajectory(folder_of_rerun / "a.h5") as run:
        assert capsys.readouterr().out.rstrip("\n") == run.provenance.scene_resolved.rstrip("\n")
    assert command("show", folder_of_rerun / "a.h5", "--dof", "--json") == Exit.OK
    assert json.loads(capsys.readouterr().out)["scene"] == "rod"


def test_faults_name_the_scene_inside(folder_of_rerun, tmp_path, capsys):
    assert (
        command("run", folder_of_rerun / "a.h5", "--set", "joints.left/pin.dampng=1", "-o", tmp_path / "x.h5") == Exit.SCENE
    )
    assert "did you mean `damping`" in capsys.readouterr().err
    assert not (tmp_path / "x.h5").exists()


@pytest.mark.parametrize("more", [[], ["--force"], ["--resume"]])
def test_the_file_itself_is_never_the_output(folder_of_rerun, monkeypatch, capsys, more):
    before = hashlib.sha256((folder_of_rerun / "a.h5").read_bytes()).hexdigest()
    monkeypatch.chdir(folder_of_rerun)
    (folder_of_rerun / "outputs").mkdir(exist_ok=True)
    (folder_of_rerun / "outputs" / "rod.h5").unlink(missing_ok=True)
    (folder_of_rerun / "outputs" / "rod.h5").hardlink_to(folder_of_rerun / "a.h5")  # the default output
    for words in (["a.h5", "-o", folder_of_rerun / "a.h5"], ["outputs/rod.h5"]):
        assert command("run", *words, *more) == Exit.USAGE
        assert "is a file that is read" in capsys.readouterr().err
    assert hashlib.sha256((folder_of_rerun / "a.h5").read_bytes()).hexdigest() == before


def test_files_that_do_not_know_their_scene_say_so(tmp_path, capsys):
    with record(tmp_path / "old.h5", 3, 1, lambda columns: None):
        pass
    (tmp_path / "text.h5").write_text("simcli: 1")
    (tmp_path / "cut.h5").write_bytes((tmp_path / "old.h5").read_bytes()[:5000])
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["x"] = 1.0
    told = {
        "old": ("give the scene file", Exit.USAGE),
        "text": ("is not an HDF5 file", Exit.FILE),
        "cut": ("damaged", Exit.FILE),
        "foreign": ("not one of simcli", Exit.FILE),
    }
    for name, (words, code) in told.items():
        for verb in (("run", "-o", tmp_path / "x.h5"), ("show",), ("modes",)):
            assert command(verb[0], tmp_path / f"{name}.h5", *verb[1:]) == code
            assert words in capsys.readouterr().err


def test_a_damaged_mesh_inside_is_found(folder_of_rerun, tmp_path, capsys):
    path = tmp_path / "a.h5"
    shutil.copy(folder_of_rerun / "a.h5", path)
    with h5py.File(path, "r+") as file:
        content = file["provenance/file_content"]
        content[10] = content[10] ^ 1
    assert command("check", path) == Exit.NEGATIVE
    assert "file_content: " in capsys.readouterr().err
    assert command("run", path, "-o", tmp_path / "x.h5") == Exit.FILE
    assert "does not match its SHA-256" in capsys.readouterr().err
    with h5py.File(path, "r+") as file:
        del file["provenance/overrides"]
        file["provenance"].create_dataset("overrides", data='[["--dt"]]', dtype=h5py.string_dtype())
    assert command("run", path, "-o", tmp_path / "x.h5") == Exit.FILE
    assert "is damaged" in capsys.readouterr().err


def test_what_is_too_large_to_be_kept_is_named(folder_of_rerun, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("simcli.records.contents.provenance.MAX_FILE_BYTES", 100)
    files = [("big.obj", bytes(101)), ("small.csv", bytes(98)), ("more.csv", b"12")]
    kept = collect_provenance([], "", "cpu", "float64", 0, files=files).files
    assert [(path, data) for path, _, data in kept] == [("big.obj", None), *files[1:]]
    assert kept[0][1] == hashlib.sha256(files[0][1]).hexdigest()
    path = tmp_path / "a.h5"
    shutil.copy(folder_of_rerun / "a.h5", path)
    with h5py.File(path, "r+") as file:
        names = list(file["provenance/file_path"].asstr())
        k, sizes = names.index("parts/ring.obj"), file["provenance/file_bytes"][...]
        content = np.split(file["provenance/file_content"][...], np.cumsum(sizes)[:-1])
        del file["provenance/file_content"]
        file["provenance/file_content"] = np.concatenate([part for i, part in enumerate(content) if i != k])
        file["provenance/file_bytes"][k] = -1
    assert command("run", path, "-o", tmp_path / "x.h5") == Exit.SCENE
    assert "`parts/ring.obj` was too large to be kept in the result" in capsys.readouterr().err


def test_a_held_folder_stays_within_itself():
    top = HeldPath({"scene.yaml": b"x", "a/b.obj": b"y"}, "scene.yaml").parent
    assert (top / "a" / "../a/b.obj").read_bytes() == b"y"
    assert not (top / "../scene.yaml").is_relative_to(top)
    assert not (top / "/scene.yaml").exists()
    assert [path.name for path in (top / "a").iterdir()] == ["b.obj"]
    with pytest.raises(FileNotFoundError):
        (top / "none").stat()


def kernels_of_run(folder, cache):
    """What `run --json` says of its kernels."""
    (folder / "fall.yaml").write_text(FALL)
    places = {"SIMCLI_KERNEL_CACHE": str(cache), "XDG_CACHE_HOME": str(folder)}
    done = simcli_apart("run", "fall.yaml", "--json", "--force", cwd=folder, **places)
    assert done.returncode == Exit.OK, done.stderr
    return json.loads(done.stdout)["kernels"]


def test_run_tells_what_it_compiled(tmp_path):
    cache = tmp_path / "cache"
    cold, warm = kernels_of_run(tmp_path, cache), kernels_of_run(tmp_path, cache)
    n_files = len(list(cache.rglob(f"*{SUFFIX}")))
    assert n_files > 0
    assert (cold["compiled"], cold["from_cache"]) == (n_files, 0)
    assert (warm["compiled"], warm["from_cache"], warm["compiled_names"]) == (0, n_files, [])
    assert len(cold["compiled_names"]) == n_files
    assert "solvers.run.rollout.rollout" in cold["compiled_names"]


@ti.kernel
def double(x: ti.i32) -> ti.i32:
    return 2 * x


@ti.kernel
def twice(x: ti.i32) -> ti.i32:
    return 2 * x


@pytest.fixture
def fresh():
    """A device that has no kernels and keeps none."""
    from simcli.kernels.device.runtime import start_device

    return start_device("cpu", threads=1, offline_cache=False)


def test_kernels_are_noted_at_their_first_call_alone(fresh):
    with kernels_noted() as taken:
        assert double(3) + double(4) == 14
    assert [(kernel.name.rpartition(".")[2], kernel.origin) for kernel in taken] == [("double", Origin.COMPILED)]
    assert taken[0].compile > 0
    with kernels_noted() as later:
        assert double(5) == 10
    assert later == []


def test_equal_kernels_are_compiled_once(fresh):
    """Also where the first was called before anybody took notes."""
    double(1)
    with kernels_noted() as outer, kernels_noted() as inner:
        twice(1)
    assert outer == inner
    assert [kernel.origin for kernel in outer] == [Origin.PROCESS]
    assert outer.compiled == outer.from_folder == []


@pytest.mark.skipif(PACKAGE != "taichi", reason="no other engine tells it there")
def test_what_others_write_meanwhile_is_passed_on(capfd):
    with engine._stderr_caught() as said:
        os.write(2, b"[D 11/22/26] Create kernel 'f' from cache (key='T1')\nwarning: of another thread\n")
    assert b"Create kernel" in said[0]
    assert capfd.readouterr().err == "warning: of another thread\n"


@pytest.mark.skipif(PACKAGE != "taichi", reason="no other engine asks")
def test_nobody_is_told_of_a_start():
    """Taichi would ask its makers' server for a newer version, in a thread of its own."""
    asked = (
        "from simcli.kernels.device.runtime import start_device\n"
        "from simcli.kernels.language.internals import module\n_version_check = module('._version_check')\n"
        "asked = []\n_version_check.try_check_version = lambda: asked.append(True)\n"
        "start_device('cpu')\nimport time; time.sleep(0.2); print(asked)"
    )
    assert python(asked) == "[]\n"


GOES_ON = f"""
import sys, shutil
from pathlib import Path
from simcli.cli.process import run_command
from simcli.kernels.device import runtime
from simcli.kernels.language.backend import kernels_noted
import simcli

def run():
    before = runtime._live[:]
    with kernels_noted() as taken:
        run_command(["run", "fall.yaml", "-q", "--force", "-o", "a.h5"], debug=True, as_json=False)
    with simcli.open("a.h5") as found:
        print([kernel.origin.value for kernel in taken], [a[1] is b[1] for a, b in zip(before, runtime._live)], found.digest)

Path("fall.yaml").write_text({FALL!r})
for _ in range(4):
    run()
for path in Path("cache").rglob("T*.[tq][id]c"):
    shutil.copy(path, path.with_name("T0" + path.suffix))
run()
runtime._MOST_KERNELS = 1
run()
"""


def test_a_device_goes_on_while_nothing_is_new(tmp_path):
    """Not after a kernel was compiled, which is kept when it stops; nor where others have kept one; nor for ever."""
    done = python(GOES_ON, cwd=tmp_path, SIMCLI_KERNEL_CACHE=str(tmp_path / "cache"), XDG_CACHE_HOME=str(tmp_path))
    (*rows,) = (line.rsplit(" ", 1) for line in done.splitlines())
    assert [row[0] for row in rows] == [
        "['compiled'] []",
        "['folder'] [False]",
        "['process'] [True]",
        "['process'] [True]",
        "['folder'] [False]",
        "['folder'] [False]",
    ]
    assert len({row[1] for row in rows}) == 1


@pytest.mark.parametrize("other", ["precision='float32'", "threads=2", "offline_cache=False"])
def test_another_device_is_started(other, tmp_path):
    """And one that had options is not taken for one without; no other process keeps kernels in this folder meanwhile."""
    code = (
        "from simcli.kernels.language.backend import program\nfrom simcli.kernels.device.runtime import start_device\n"
        "found = []\n"
        f"for words in ({{'threads': 1}}, {{'threads': 1}}, dict(threads=1) | dict({other}), {{'threads': 1}}):\n"
        "    start_device('cpu', **words)\n    found.append(program())\n"
        "print([a is b for a, b in zip(found, found[1:])])"
    )
    assert python(code, SIMCLI_KERNEL_CACHE=str(tmp_path), XDG_CACHE_HOME=str(tmp_path)) == "[True, False, False]\n"
