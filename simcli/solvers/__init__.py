"""Time stepping. In: a Model, a solver's options, a RunPlan and a Device. Out: FrameBlocks.

The step of a tree, and of free bodies, is a list of named stages; the others are paragraphs of them. There is no inheritance
between solvers, no registry and no event bus: one dictionary of classes. Never found here: files, scenes, printing.
"""

from simcli.solvers.affine import AffineSolver
from simcli.solvers.generalized import GeneralizedSolver
from simcli.solvers.loose import MaximalSolver, NaturalSolver
from simcli.solvers.plan import RunPlan

SOLVERS = {"generalized": GeneralizedSolver, "maximal": MaximalSolver, "natural": NaturalSolver,
           "affine": AffineSolver}  # fmt: skip

__all__ = ["SOLVERS", "AffineSolver", "GeneralizedSolver", "MaximalSolver", "NaturalSolver", "RunPlan"]
