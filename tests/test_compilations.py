"""A run knows which kernels were compiled for it, and which came from the folder of compiled kernels."""

import json
import os

import pytest
import taichi as ti
from support.process import python, simcli
from support.scenes import FALL

from simcli.errors import Exit
from simcli.kernels.compilations import Origin, _stderr_caught, kernels_noted


def kernels_of_run(folder, cache):
    """What `run --json` says of its kernels."""
    (folder / "fall.yaml").write_text(FALL)
    places = {"SIMCLI_KERNEL_CACHE": str(cache), "XDG_CACHE_HOME": str(folder)}
    done = simcli("run", "fall.yaml", "--json", "--force", cwd=folder, **places)
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
    assert "solvers.rollout.rollout" in cold["compiled_names"]


@ti.kernel
def double(x: ti.i32) -> ti.i32:
    return 2 * x


@ti.kernel
def twice(x: ti.i32) -> ti.i32:
    return 2 * x


@pytest.fixture
def fresh():
    """A device that has no kernels and keeps none."""
    from simcli.kernels.runtime import start_device

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
    asked = ("from simcli.kernels.runtime import start_device\nfrom taichi import _version_check\n"
             "asked = []\n_version_check.try_check_version = lambda: asked.append(True)\n"
             "start_device('cpu')\nimport time; time.sleep(0.2); print(asked)")  # fmt: skip
    assert python(asked) == "[]\n"
