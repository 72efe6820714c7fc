"""Which scenes keep nothing dense, and what their rows see for good (kernels/complementarity/large.py)."""

from collections.abc import Sequence

import numpy as np

from simcli.kernels.complementarity.large import DOFS, SystemPattern
from simcli.kernels.linear.system import System
from simcli.kernels.memory.tables import Tables
from simcli.model.constraints.tables import Laws
from simcli.model.tables import Model
from simcli.solvers.impulses.law_rows import HARD, MOTION

# Velocities from which on sparse is faster than dense. Measured on heaps of boxes: one world gains from 200 on, several that
# would share lanes from about here on.
LARGE = 360


def is_large(models: Sequence[Model], options) -> bool:
    """Whether the impulses of a scene are found without dense matrices.

    Args:
        models: of all phases.
        options: of the solver.
    """
    linear = getattr(getattr(options, "contact", None), "linear", "dense")
    links = models[0].links
    apart = models[0].columns is None and bool((links.parent < 0).all() and (links.n_qd == DOFS).all())
    touches = any(model.contacts is not None for model in models)
    return touches and apart and (linear == "sparse" or (linear == "auto" and DOFS * len(links.parent) >= LARGE))


def pattern_of(rows: np.ndarray, laws: Laws, system: System, model: Model, tables: Tables) -> SystemPattern:
    """What each row of `impulses.plan_rows` sees, by its item: a row of the system, a prescribed dof, or a law.

    Args:
        rows: (rows, 2), kinds and items.
        laws: of the constraints.
        system, model, tables: of the run.
    """
    last = tables.n_tree_dofs - 1
    prescribed = np.flatnonzero((model.motions.kind != 0) & (tables.unknown_of_dof >= 0))
    seen = []
    for kind, item in rows.tolist():
        if kind == HARD:
            seen.append(system.seen[item])
        elif kind == MOTION:
            seen.append([last - tables.unknown_of_dof[prescribed[item]]])
        elif laws.row[item] >= 0:
            seen.append(system.seen[laws.row[item]])
        else:
            seen.append([last - tables.unknown_of_dof[laws.dof[item]]])
    start = np.cumsum([0, *map(len, seen)])
    return SystemPattern(model.n_links, start, np.concatenate([np.zeros(0, int), *seen]).astype(int))
