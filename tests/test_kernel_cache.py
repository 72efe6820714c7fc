"""The folder of compiled kernels outlives processes that were killed in the middle of it."""

import os
import subprocess
import threading
import time

import pytest
from support.process import python, simcli

from simcli.errors import Exit
from simcli.kernels import kernel_cache

FALL = """
simcli: 1
bodies:
  ball: {mass: 1, inertia: {diag: [1, 1, 1]}}
joints:
  free: {type: free, parent: world, child: ball}
solver: {type: generalized, dt: 1e-2}
run: {duration: 0.1}
"""


@pytest.fixture
def lock(tmp_path, monkeypatch):
    """A lock of a folder of our own, just taken."""
    monkeypatch.setenv("TI_OFFLINE_CACHE_FILE_PATH", str(tmp_path))
    path = tmp_path / "ticache.lock"
    path.touch()
    return path


@pytest.mark.parametrize("age", [60.0, -3600.0])
def test_a_lock_that_nobody_holds_is_removed(lock, age):
    then = time.time() - age
    os.utime(lock, (then, then))
    kernel_cache.wait_for_lock()
    assert not lock.exists()


def test_a_lock_that_somebody_holds_is_waited_for(lock):
    held = 0.3
    threading.Timer(held, lock.unlink).start()
    start = time.monotonic()
    kernel_cache.wait_for_lock()
    assert time.monotonic() - start >= 0.9 * held
    assert not lock.exists()


def test_kernels_are_kept_behind_the_lock_of_a_killed_process(lock):
    """Taichi would compile without its folder for ever, and say nothing."""
    from simcli.kernels.memory import Arena
    from simcli.kernels.runtime import start_device, stop_device

    os.utime(lock, (0.0, 0.0))
    arena = Arena(start_device("cpu"), 1)
    arena.slot(1)
    arena.build()
    stop_device()
    assert list(lock.parent.glob("*.tic"))
    assert not lock.exists()


def run_fall(folder, cache):
    (folder / "fall.yaml").write_text(FALL)
    return simcli("run", "fall.yaml", "-q", cwd=folder, TI_OFFLINE_CACHE_FILE_PATH=str(cache))


def assert_warned_once(done, cache):
    assert done.returncode == Exit.OK, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("warning: compiled kernels cannot be kept")
    assert str(cache) in lines[0]


def test_a_cache_that_cannot_be_made_costs_a_warning(tmp_path):
    """Taichi makes the folder at its end, and segfaults where it cannot."""
    (tmp_path / "file").touch()
    cache = tmp_path / "file" / "cache"
    assert_warned_once(run_fall(tmp_path, cache), cache)


@pytest.mark.slow
def test_a_full_file_system_costs_a_warning(tmp_path):
    cache = tmp_path / "small"
    cache.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(cache)]
    if subprocess.run(mounted, capture_output=True).returncode:
        pytest.skip("no right to mount")
    try:
        (cache / "filling").write_bytes(bytes(60_000))
        assert_warned_once(run_fall(tmp_path, cache), cache)
    finally:
        subprocess.run(["umount", str(cache)], check=True)


def test_a_file_system_that_is_almost_full_takes_no_kernels(tmp_path, monkeypatch):
    monkeypatch.setenv(kernel_cache.VARIABLE, str(tmp_path / "new"))
    assert kernel_cache.trouble() == ""
    monkeypatch.setattr(kernel_cache, "LEAST_FREE", 2**62)
    assert "MiB are free there" in kernel_cache.trouble()


LOST = """
import os, shutil, warnings
from pathlib import Path
cache = Path("cache").absolute()
os.environ["TI_OFFLINE_CACHE_FILE_PATH"] = str(cache)
from simcli.kernels.memory import Arena
from simcli.kernels.runtime import start_device, stop_device
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as told:
    for turn in range(3):
        arena = Arena(start_device("cpu", threads=1), 1)
        slot = arena.slot(1)
        arena.build()
        slot.write([[[turn]]])
        print(slot.read().item())
        if turn == 0:
            shutil.rmtree(cache)
            cache.touch()
    stop_device()
print(*(warning.category.__name__ for warning in told))
"""


def test_a_cache_that_is_lost_in_the_midst_costs_a_warning(tmp_path):
    assert python(LOST, cwd=tmp_path).split() == ["0.0", "1.0", "2.0", "SimcliWarning"]
