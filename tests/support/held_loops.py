"""A slider whose force is held over each step: scenes, and the exact map of each integrator."""

from functools import cache
from typing import get_args

import numpy as np
import pytest
from scipy.linalg import expm

from simcli.model.phases import build_phases
from simcli.spec import resolve
from simcli.spec.schema.scene import AffineSolver, GeneralizedSolver, MaximalSolver, NaturalSolver
from support.device import live_device
from support.forward import Runner
from support.scenes import scene

SOLVERS = {
    get_args(spec.model_fields["type"].annotation)[0]: spec
    for spec in (GeneralizedSolver, MaximalSolver, NaturalSolver, AffineSolver)
}
RUNS = [
    (solver, integrator)
    for solver, spec in SOLVERS.items()
    for integrator in get_args(spec.model_fields["integrator"].annotation)
    if integrator != "auto"
]
QUICK = (("generalized", "implicit"), ("natural", "generalized_alpha"))
every_run = pytest.mark.parametrize(
    ("solver", "integrator"), [run if run in QUICK else pytest.param(*run, marks=pytest.mark.slow) for run in RUNS]
)
TIGHT = {"natural": ", tolerance: 1e-15", "affine": ", tolerance: 1e-12"}  # of iterations that would stop at a small jump
MASS, STIFFNESS, DAMPING = 2.0, 20.0, 3.0
START = np.array([0.3, 0.1])
SLIDER = f"""
world: {{gravity: [0, 0, 0]}}
bodies: {{m: {{mass: {MASS}, inertia: {{diag: [1, 1, 1]}}}}}}
joints:
  rail: {{type: prismatic, parent: world, child: m, axis: [1, 0, 0], q: {START[0]}, qd: {START[1]}, drive: DRIVE}}
"""
FOLLOWING = SLIDER.replace("DRIVE", "{mode: effort, target: $u}")
PD = f"{{expression: '-{STIFFNESS}*{{joint.rail.q}} - {DAMPING}*{{joint.rail.qd}}'}}"
LOOP = f"{FOLLOWING}signals: {{u: {PD}}}\n"
EXACT = 1e-10  # [m, m/s], of a loop against its map; rounding of a thousand steps
ROUNDING = 1e-13  # [m, m/s], of a hundred of them
YIELDING = 2e-6  # [m, m/s], of affine bodies, whose joints yield
H = 2e-3  # [s]


class EventRunner(Runner):
    """A `Runner` whose scene may have events by condition."""

    def __init__(self, text: str, integrator: str):
        document = scene(text)
        spec = resolve(document)
        options = spec.solver.model_copy(update={"integrator": integrator})
        self.begin(build_phases(document, spec)[0].model, options, live_device(), frozenset(("state", "energy")))


@cache
def runner(text, solver, integrator) -> Runner:
    options = f"type: {solver}, dt: {H}, integrator: {integrator}{TIGHT.get(solver, '')}"
    return EventRunner(f"{text}solver: {{{options}}}\n", integrator)


def motion(frames):
    """Coordinate and rate of the slider, (F, 2)."""
    return np.stack([frames["frames/joint_q"][:, 0, 0], frames["frames/joint_qd"][:, 0, 0]], axis=1)


def exact_step(h):
    """The motion of a mass under a force that is held for h: x' = A x + b u."""
    whole = expm(np.array([[0, 1, 0], [0, 0, 1 / MASS], [0, 0, 0]]) * h)
    return lambda x, u: whole[:2, :2] @ x + whole[:2, 2] * u


def first_order_step(h):
    def step(x, u):
        v = x[1] + h * u / MASS
        return np.array([x[0] + h * v, v])

    return step


def law(x):
    return -STIFFNESS * x[0] - DAMPING * x[1]


def loop(step, n, law=law):
    """States of a loop with the force of the start of each step, (n + 1, 2)."""
    found = [START]
    for _ in range(n):
        found.append(step(found[-1], law(found[-1])))
    return np.array(found)


def bdf2_loop(h, n, law=law):
    """alpha = 3/(2h): x+ = (4x - x-)/3 + v+ / alpha, v+ = (4v - v-)/3 + a / alpha; the first step is of order 1."""
    found = [START, first_order_step(h)(START, law(START))]
    for _ in range(n - 1):
        before, now = found[-2:]
        v = (4 * now[1] - before[1]) / 3 + law(now) / MASS * 2 * h / 3
        found.append(np.array([(4 * now[0] - before[0]) / 3 + v * 2 * h / 3, v]))
    return np.array(found)


ORACLE = {"semi_implicit": first_order_step, "bdf1": first_order_step}


def loop_of(integrator, h, n, law=law):
    """States of the loop as an integrator finds them, (n + 1, 2)."""
    return bdf2_loop(h, n, law) if integrator == "bdf2" else loop(ORACLE.get(integrator, exact_step)(h), n, law)
