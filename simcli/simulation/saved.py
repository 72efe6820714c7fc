"""A state of a simulation that was saved."""

from dataclasses import dataclass

import numpy as np

from simcli.job import Failure
from simcli.model.tables import Model
from simcli.solvers.shared.by_hand.stepwise import SavedState


@dataclass(frozen=True)
class Snapshot:
    """A state of a simulation, for `Simulation.restore`.

    Attributes:
        owner: the simulation; no later one has this token.
        state: what steps to come depend on.
        controls: (W, K), values of signals.
        parameters: by path.
        model: with them.
        failures: so far.
    """

    owner: str
    state: SavedState
    controls: np.ndarray
    parameters: dict
    model: Model
    failures: tuple[Failure, ...]
