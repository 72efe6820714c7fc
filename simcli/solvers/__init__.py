"""Time stepping. In: a Model, a solver's options, a RunPlan and a Device. Out: FrameBlocks.

The step of a tree, and of free bodies, is a list of named stages; the others are paragraphs of them. There is no inheritance
between solvers, no registry and no event bus: one dictionary of classes. Never found here: files, scenes, printing.

A folder imports only from those above it here:

    base      the clock, what a run asks for, integrators, the torques of bodies that turn freely
    rows      steps that rows and laws constrain
    impulses  steps in which something can touch
    output    what a run shows and probes: frames, energies, contacts, sensors
    tree      coordinates of joints, and of free bodies (generalized, maximal)
    natural   points and vectors, rigidity and joints as rows
    affine    points and vectors, rigidity and joints as energies
    run       the solvers, on the host: calls of kernels, events of worlds, runs that a program steps
"""

from collections.abc import Callable
from typing import Any

from simcli.solvers.base.run_plan import RunPlan
from simcli.solvers.run.single_bodies import MaximalSolver, NaturalSolver, generalized_solver
from simcli.solvers.run.solver import Stepper


def affine_solver(*args, **named):
    """An `AffineSolver`, which other runs need not import: a twentieth of their start."""
    from simcli.solvers.run.affine_solver import AffineSolver

    return AffineSolver(*args, **named)


SOLVERS: dict[str, Callable[..., Any]] = {
    "generalized": generalized_solver,
    "maximal": MaximalSolver,
    "natural": NaturalSolver,
    "affine": affine_solver,
}

__all__ = ["SOLVERS", "MaximalSolver", "NaturalSolver", "RunPlan", "Stepper"]
