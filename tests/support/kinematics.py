"""Commands of kinematics in a folder of a test, and bars that their tests share."""

from types import SimpleNamespace

import numpy as np
import pytest

from simcli.cli import doorman
from simcli.errors import Exit
from support.process import run_here

EFFORTS = 1e-10  # relative, what issue 3 asks of `id` with external forces and a floating base
KINEMATICS = 1e-12  # relative to the oracle: roundings of a tree of some metres
PROJECTION = 1e-12  # [m, rad], likewise
CPU = ("--device", "cpu", "--threads", "1")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(capfd):
    """Run a command in this process; same door, same streams."""

    def run(*words):
        words = [str(word) for word in words]
        code = doorman.run_command(words, debug=False, as_json="--json" in words)
        said = capfd.readouterr()
        assert "Traceback" not in said.err
        return SimpleNamespace(returncode=code, stdout=said.out, stderr=said.err)

    return run


def run_quietly(*words):
    assert run_here(*words, debug=True) == Exit.OK


def off(found, wanted):
    """Norm of the difference relative to the norm of what is wanted; infinite if anything is NaN."""
    error = np.linalg.norm(np.ravel(found) - np.ravel(wanted)) / np.linalg.norm(wanted)
    return error if np.isfinite(error) else np.inf
