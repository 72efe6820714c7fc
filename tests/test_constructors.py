"""Constructors of natural coordinates: points and vectors that describe no body are refused with the reason."""

import numpy as np
import pytest

from simcli.model.natural import constructors as con
from simcli.model.natural.constructors import Basis


@pytest.mark.parametrize(
    ("words", "basis", "com"),
    [
        ("one place", Basis("2P2V", np.array([[[0, 0, 1], [0, 0, 1]]]), np.eye(3)[None, :2]), (0, 0, 0)),
        ("dependent", Basis("1P3V", np.zeros((1, 1, 3)), np.array([[[1, 0, 0], [0, 1, 0], [1, 1, 0]]])), (0, 0, 0)),
        ("dependent", Basis("1P3V", np.zeros((1, 1, 3)), np.array([[[1, 0, 0], [0, 1e-9, 0], [1, 1e-9, 0]]])), (0, 0, 0)),
        ("dependent", Basis("1P3V", np.zeros((1, 1, 3)), np.array([[[1, 0, 0], [0, 1, 0], [0, 0, 0]]])), (0, 0, 0)),
        ("", Basis("1P3V", np.zeros((1, 1, 3)), np.array([[[1e-20, 0, 0], [0, 1, 0], [0, 0, 1e9]]])), (0, 0, 0)),
        ("dependent", Basis("3P", np.array([[[0, 0, 0], [1, 0, 0], [2, 0, 0]]]), np.zeros((1, 0, 3)), 2), (0, 0, 0)),
        ("off its axis", Basis("2P", np.array([[[0, 0, 0], [1, 0, 0]]]), np.zeros((1, 0, 3))), (0.5, 0.1, 0)),
        ("inertia about", Basis("2P", np.array([[[0, 0, 0], [1, 0, 0]]]), np.zeros((1, 0, 3))), (0.5, 0, 0)),
        ("not at its centre", Basis("1P", np.array([[[0, 0, 0]]]), np.zeros((1, 0, 3))), (0.5, 0, 0)),
        ("out of the plane", Basis("1P2V", np.zeros((1, 1, 3)), np.array([[[1, 0, 0.1], [0, 1, 0]]]), 2), (0, 0, 0)),
        ("", Basis("2P2V", np.array([[[0, 0, 0], [1, 0, 0]]]), np.array([[[0, 1, 0.5], [0, 0, 3]]])), (0, 0, 0)),
    ],
)  # fmt: skip
def test_what_describes_no_body_is_named(words, basis, com):
    found = con.complain(basis, np.array([com], float), np.diag((0.1, 0.2, 0.2))[None])
    assert words in found
    assert bool(words) == bool(found)
