"""Differences of forces, and eigenvalues of small motions, on matrices alone: kinks, flutter, exact zeros, no mass."""

from types import SimpleNamespace

import numpy as np
import pytest

from simcli.analysis.rest.spectrum import MasslessError, ModeKind, modes_of
from simcli.analysis.rest.statics import WIDTH, _slope

EXACT = 1e-12
NONE = np.zeros((2, 2))


def slope(efforts, m=2):
    """Of efforts over m directions that are the unknowns themselves."""
    return _slope(efforts, SimpleNamespace(U=np.eye(m)), WIDTH, 0.0)


def test_differences_are_of_order_six_and_know_their_error():
    found = slope(lambda y: np.stack((-np.sin(3 * y[:, 0]), -np.expm1(y[:, 1]) - y[:, 0] ** 2), axis=1))
    assert np.abs(found.matrix - np.diag([3.0, 1.0])).max() < EXACT
    assert np.abs(found.matrix - np.diag([3.0, 1.0])).max() <= found.error.max() < 1e-9
    assert found.kink == -1


@pytest.mark.parametrize("rests", [0.0, 5.0])
def test_a_kink_is_found_where_it_is(rests):
    found = slope(lambda y: np.stack((-y[:, 0], -rests * y[:, 1] - np.maximum(y[:, 1], 0.0)), axis=1))
    assert found.kink == 1


def values(M, C, K, noise=NONE):
    modes, idle = modes_of(np.asarray(M, float), np.asarray(C, float), np.asarray(K, float), noise)
    return modes, idle


def test_damping_that_couples_is_that_of_the_state_matrix():
    M, C, K = np.array([[2, 0.3], [0.3, 1]]), np.array([[0.2, -0.1], [-0.1, 0.5]]), np.array([[5.0, -1], [-1, 3]])
    state = np.block([[NONE, np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    found = [value for mode in values(M, C, K)[0] for value in (mode.eigenvalue, mode.partner)]
    assert np.abs(np.sort_complex(found) - np.sort_complex(np.linalg.eigvals(state))).max() < EXACT
    for mode in values(M, C, K)[0]:
        s, y = mode.eigenvalue, mode.shape
        assert np.abs((s * s * M + s * C + K) @ y).max() < EXACT * np.abs(y).max() * 10


def test_follower_forces_flutter():
    (mode, other), _ = values(np.eye(2), NONE, [[2, 1], [-1, 2]])  # s^2 = -2 +- i
    assert {mode.kind, other.kind} == {ModeKind.OSCILLATION}
    root = np.sqrt(-2 + 1j)
    assert {complex(round(one.eigenvalue.real, 12), round(one.eigenvalue.imag, 12)) for one in (mode, other)} == {
        complex(round(sign * root.real, 12), round(root.imag, 12)) for sign in (1, -1)}  # fmt: skip
    assert min(mode.damping_ratio, other.damping_ratio) < 0


def test_zeros_are_exact_with_and_without_damping():
    K = np.diag([0.0, 1e-13, 4.0])
    noise = np.full((3, 3), 1e-12)
    found, _ = values(np.eye(3), np.zeros((3, 3)), K, noise)
    assert [mode.eigenvalue for mode in found] == [0, 0, 2j]
    found, _ = values(np.eye(3), np.diag([0.0, 0.5, 0]), K, noise)
    assert [mode.eigenvalue for mode in found[:2]] == [0, 0]
    assert [mode.kind for mode in found] == [ModeKind.ZERO, ModeKind.ZERO, ModeKind.DECAY, ModeKind.OSCILLATION]


def test_directions_without_inertia_need_to_be_without_forces():
    found, idle = values(np.diag([1.0, 0]), NONE, np.diag([9.0, 0]))
    assert (idle, [mode.eigenvalue for mode in found]) == (1, [3j])
    with pytest.raises(MasslessError):
        values(np.diag([1.0, 0]), NONE, np.diag([9.0, 1.0]))
    with pytest.raises(MasslessError):
        values(np.diag([1.0, 0]), np.diag([0.0, 1.0]), np.diag([9.0, 0.0]))
