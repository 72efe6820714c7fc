"""Makes tests/support importable as `support` from every test, and the device for those that want it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config):
    # Device functions call plain Python at compile time on purpose (see kernels.runtime.start_device).
    config.addinivalue_line("filterwarnings", "ignore:.*alling non-taichi function.*")


@pytest.fixture
def all_honoured(monkeypatch):
    """Scenes may ask for what the solvers do not honour: for tests of what a scene means."""
    monkeypatch.setattr("simcli.spec.honours.check_honours", lambda check, tree: None)


@pytest.fixture
def device():
    """The CPU in float64 with one thread, shared by all tests of this process (see support.device)."""
    from support.device import live_device

    return live_device()
