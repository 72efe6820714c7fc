"""Makes tests/support importable as `support` from every test, and the device for those that want it."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
# Tests start hundreds of commands, each of which would compile all of simcli's Python anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


# Files that compile most go first, so that no process is left with one at the end while the others are through.
LONGEST = ("test_solvers_agree", "test_run_determinism", "test_contact_closed_forms", "test_laws_of_joints",
           "test_laws_integrators", "test_natural_joints", "test_run_isolation", "test_barrier_runs", "test_scenes",
           "test_loops", "test_cli_kinematics", "test_cli_kinematics_faults", "test_laws_outside", "test_affine_machines",
           "test_natural_led", "test_affine_steps", "test_affine_agrees", "test_cases_closed_loops", "test_contact_grain",
           "test_modes", "test_cli_run", "test_natural_forces", "test_kernels_oracles", "test_kernels_lanes", "test_cables",
           "test_run_resume", "test_natural_quadratic", "test_events", "test_gpu_code", "test_complementarity")  # fmt: skip
FOR_GPU = ("for", "gpu")  # property of a test


def pytest_collection_modifyitems(items):
    rank = {name: k for k, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


def pytest_runtest_setup(item):
    """Tell the report which tests are for a GPU: its keywords hold the names of folders and functions, too."""
    if item.get_closest_marker("gpu"):
        item.user_properties.append(FOR_GPU)


def pytest_terminal_summary(terminalreporter):
    """How many tests ran on a GPU: .ci/run says it loudly if none did."""
    ended = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    ran = sum(FOR_GPU in map(tuple, report.user_properties) and report.when == "call" for report in ended)
    terminalreporter.write_line(f"tests on a GPU: {ran}")


@pytest.fixture
def all_honoured(monkeypatch):
    """Scenes may ask for what the solvers do not honour: for tests of what a scene means."""
    monkeypatch.setattr("simcli.spec.honours.solver_fields.check_honours", lambda check, tree: None)


@pytest.fixture
def device():
    """The CPU in float64 with one thread, shared by all tests of this process (see support.device)."""
    from support.device import live_device

    return live_device()


@pytest.fixture(scope="module")
def scalar_code():
    """Packs of one world for a file that is not about packs: up to three times faster to compile, and the same bytes.

    These bytes are promised by test_kernels_lanes.py, test_run_determinism.py, test_run_isolation.py,
    test_complementarity.py and test_contact_closed_forms.py.
    """
    from simcli.kernels.device import runtime

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "CPU_LANES", dict.fromkeys(runtime.CPU_LANES, 1))
        yield
