"""Bars that tests of `simcli fk|ik|id|mass-matrix|jacobian` share, and a command that must succeed."""

import numpy as np

from simcli.errors import Exit
from support.process import run_here

EFFORTS = 1e-10  # relative, what issue 3 asks of `id` with external forces and a floating base
KINEMATICS = 1e-12  # relative to the oracle: roundings of a tree of some metres
PROJECTION = 1e-12  # [m, rad], likewise
CPU = ("--device", "cpu", "--threads", "1")


def run_quietly(*words):
    assert run_here(*words, debug=True) == Exit.OK


def off(found, wanted):
    """Norm of the difference relative to the norm of what is wanted; infinite if anything is NaN."""
    error = np.linalg.norm(np.ravel(found) - np.ravel(wanted)) / np.linalg.norm(wanted)
    return error if np.isfinite(error) else np.inf
