"""The folder of compiled kernels outlives processes that were killed in the middle of it."""

import os
import threading
import time

import pytest

from simcli.kernels import kernel_cache


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
