"""Barrier contact of a run of affine bodies: its tables from the options, and its room."""

import numpy as np

from simcli.kernels.barrier.tables import Barrier
from simcli.kernels.memory import Arena
from simcli.kernels.tables import Tables
from simcli.model.surfaces import Surfaces, surfaces
from simcli.model.tables import Model

PER_FEATURE, SPARE = 16, 256  # candidates at `capacity: auto`: an edge on a face of a box meets about 12 features there


def barrier_of(model: Model, options, dt: float, tables: Tables, arena: Arena) -> Barrier:
    """The barrier of a model with contacts.

    Args:
        model: in natural form.
        options: of the solver.
        dt: [s].
        tables, arena: of the run.
    """
    host, o = surfaces(model, options.contact.segments), options.contact
    ones = np.ones((1, model.contacts.n_pairs))
    numbers = {"near": o.d_hat * ones, "stiffness": o.stiffness * ones, "creep": o.creep_speed * dt}
    return Barrier(model, host, tables, arena, numbers, capacity_of(model, host))


def capacity_of(model: Model, host: Surfaces) -> int:
    """Most candidates of a world."""
    features = sum(map(len, (host.vertex[0], host.edge, host.face)))
    return max(SPARE + PER_FEATURE * features, model.contacts.capacity)
