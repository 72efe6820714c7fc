"""Many laws at once: random trees against the convex problem that a step solves, and what no law may change."""

from dataclasses import replace

import numpy as np
import pytest
from support.forward import Runner
from support.lawful import Step, lawful_forest

from simcli.kernels.algorithms import Algorithms
from simcli.model.phases.beginning import Beginning
from simcli.solvers.rows.active_set import NEWTON_CHOICES
from simcli.spec.schema.scene import GeneralizedSolver

SIZES, N_WORLDS = (1, 3, 6, 9), 500  # trees side by side, each in so many random states
STEPS = (1e-3, 1e-2, 5e-2)  # [s]
NEAR = 1e-11  # relative, of a velocity to a vertical piece: the choice takes 1e-13 as rounding
AGREE = 1e-9  # [m/s, rad/s], issue 3; the bound behind it has the smallest eigenvalue of M, about 1e-4, in it


def runner_of(model, integrator, device, channels=("state",)):
    runner = Runner.__new__(Runner)
    options = GeneralizedSolver(type="generalized", integrator=integrator)
    runner.begin(replace(model, start=Beginning()), options, device, frozenset(channels))
    return runner


@pytest.fixture(scope="module")
def forest():
    return lawful_forest(np.random.default_rng(11), SIZES, N_WORLDS)


@pytest.mark.slow
def test_steps_solve_the_convex_problem(forest, device):
    runner = runner_of(forest, "semi_implicit", device)
    algorithms, tries = Algorithms(forest, device, N_WORLDS), []
    for h in STEPS:
        columns = runner(h, 1, 1)
        q, qd = columns["frames/joint_q"][0], columns["frames/joint_qd"]
        step = Step.at(forest, algorithms, q, qd[0], h)
        errors = step.errors(qd[1], NEAR)
        assert errors.max() < AGREE, (h, errors.argmax())
        assert (step.errors(qd[1] + 1e-6, NEAR) > AGREE).all()  # the bound notices what is wrong
        tries.append(columns["diag/iterations"][1])
    tries = np.concatenate(tries)
    assert tries.max() < runner.solver.core.bound.max_choices // 2  # all ended by themselves, with room
    assert (tries > NEWTON_CHOICES).mean() > 0.02  # and some of them run in circles without the walk
