"""The ledger of random chains balances in every solver: initial + put in - dissipated = kinetic + potential + elastic.

What it lacks falls with the step as the integrator's order says; where something switches or touches, it falls and is small.
"""

import numpy as np
import pytest
from support.forward import Runner
from support.ledger_scenes import as_taken, smooth_scene, with_contact, with_switches
from support.solver_modes import MODES

STEPS = (4e-3, 2e-3, 1e-3, 5e-4)
DURATION = 0.2  # [s]
ORDERS = {"rk4": 2, "implicit": 2, "zhong06": 2, "moreau": 2, "generalized_alpha": 2, "bdf2": 2}  # at least; 1 of the others
SLACK = 0.4  # of the ratio of the first and the last step, because soft limits and ropes begin and end within a step
LEAST = 1e-8  # [J], rounding and tolerances
SMALL = 2e-2  # of the largest energy, with steps of 0.5 ms and impacts
FALLS = 0.5  # of the largest of the other steps: the number of impacts is one of each step
LAWS = {"smooth": smooth_scene, "switches": lambda seed: with_switches(smooth_scene(seed), seed),
        "contact": lambda seed: with_contact(smooth_scene(seed), seed)}  # fmt: skip
WITHOUT_CONTACT = ("zhong06", "generalized_alpha")
FAST = {("smooth", 1, "rk4"), ("smooth", 4, "zhong06"), ("contact", 2, "rk4")}
CASES = [pytest.param(kind, seed, *mode, marks=() if (kind, seed, mode[1]) in FAST else pytest.mark.slow)
         for kind in LAWS for seed in range(6) for mode in MODES
         if not (kind == "contact" and mode[1] in WITHOUT_CONTACT)
         and not (kind != "smooth" and mode[0] == "affine")]  # fmt: skip


def solver_of(solver, integrator, seed) -> dict:
    # Bodies of the default stiffness vibrate faster than these steps follow, which is part of what the ledger lacks.
    more = {"affine": {"tolerance": 1e-11, "stiffness": 1e10},
            "maximal": {"joint_direction": ("explicit", "implicit")[seed % 2]}}
    return {"type": solver, "dt": 1e-3, "integrator": integrator, **more.get(solver, {})}


@pytest.mark.parametrize("seed", range(6))
def test_what_a_mode_refuses_leaves_a_scene(seed):
    """Of the mode that refuses most, types of joints among them."""
    text, _ = as_taken(smooth_scene(seed), solver_of("natural", "generalized_alpha", seed))
    assert "generalized_alpha" in text


@pytest.mark.parametrize(("kind", "seed", "solver", "integrator"), CASES)
def test_the_ledger_balances(device, kind, seed, solver, integrator):
    text, _ = as_taken(LAWS[kind](seed), solver_of(solver, integrator, seed))
    run = Runner(text, integrator, device)
    ends = [run(h, round(DURATION / h), 1) for h in STEPS]
    assert all(end["diag/status"].max() == 0 for end in ends)
    lacks = np.abs([end["energy/drift"][-1, 0] for end in ends])
    if kind == "smooth":
        order = ORDERS.get(integrator, 1)
        assert lacks[-1] < lacks[0] / (SLACK * (STEPS[0] / STEPS[-1]) ** order) + LEAST
    size = max(abs(ends[-1][f"energy/{name}"][-1, 0]) for name in ("input", "dissipated", "kinetic"))
    assert lacks[-1] < SMALL * size
    assert lacks[-1] < FALLS * lacks[:-1].max() + LEAST
