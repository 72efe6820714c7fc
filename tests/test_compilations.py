"""A run knows which kernels were compiled for it, and which came from the folder of compiled kernels."""

import json
import os

import pytest
from support.process import python, simcli_apart
from support.scenes import FALL

from simcli.errors import Exit
from simcli.kernels.language import ti
from simcli.kernels.language.compilations import Origin, _stderr_caught, kernels_noted


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
    n_files = len(list(cache.rglob("*.tic")))
    assert n_files > 0
    assert (cold["compiled"], cold["from_cache"]) == (n_files, 0)
    assert (warm["compiled"], warm["from_cache"], warm["compiled_names"]) == (0, n_files, [])
    assert len(cold["compiled_names"]) == n_files
    assert "solvers.shared.rollout.rollout" in cold["compiled_names"]


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


def test_what_others_write_meanwhile_is_passed_on(capfd):
    with _stderr_caught() as said:
        os.write(2, b"[D 11/22/26] Create kernel 'f' from cache (key='T1')\nwarning: of another thread\n")
    assert b"Create kernel" in said[0]
    assert capfd.readouterr().err == "warning: of another thread\n"


def test_nobody_is_told_of_a_start():
    """Taichi would ask its makers' server for a newer version, in a thread of its own."""
    asked = ("from simcli.kernels.device.runtime import start_device\n"
             "from simcli.kernels.language.internals import module\n_version_check = module('._version_check')\n"
             "asked = []\n_version_check.try_check_version = lambda: asked.append(True)\n"
             "start_device('cpu')\nimport time; time.sleep(0.2); print(asked)")  # fmt: skip
    assert python(asked) == "[]\n"


GOES_ON = f"""
import sys, shutil
from pathlib import Path
from simcli.cli.doorman import run_command
from simcli.kernels.device import runtime
from simcli.kernels.language.compilations import kernels_noted
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
for path in Path("cache").rglob("*.tic"):
    shutil.copy(path, path.with_name("T0.tic"))
run()
runtime._MOST_KERNELS = 1
run()
"""


def test_a_device_goes_on_while_nothing_is_new(tmp_path):
    """Not after a kernel was compiled, which is kept when it stops; nor where others have kept one; nor for ever."""
    done = python(GOES_ON, cwd=tmp_path, SIMCLI_KERNEL_CACHE=str(tmp_path / "cache"), XDG_CACHE_HOME=str(tmp_path))
    *rows, = (line.rsplit(" ", 1) for line in done.splitlines())
    assert [row[0] for row in rows] == ["['compiled'] []", "['folder'] [False]", "['process'] [True]", "['process'] [True]",
                                        "['folder'] [False]", "['folder'] [False]"]  # fmt: skip
    assert len({row[1] for row in rows}) == 1


@pytest.mark.parametrize("other", ["precision='float32'", "threads=2", "offline_cache=False"])
def test_another_device_is_started(other, tmp_path):
    """And one that had options is not taken for one without; no other process keeps kernels in this folder meanwhile."""
    code = ("from simcli.kernels.language.backend import program\nfrom simcli.kernels.device.runtime import start_device\n"
            "found = []\n"
            f"for words in ({{'threads': 1}}, {{'threads': 1}}, dict(threads=1) | dict({other}), {{'threads': 1}}):\n"
            "    start_device('cpu', **words)\n    found.append(program())\n"
            "print([a is b for a, b in zip(found, found[1:])])")  # fmt: skip
    assert python(code, SIMCLI_KERNEL_CACHE=str(tmp_path), XDG_CACHE_HOME=str(tmp_path)) == "[True, False, False]\n"
