"""Where springs and bushings rest, if the scene does not say."""

from simcli.model.forces.bushing import bushings_at_rest
from simcli.model.forces.spring import springs_at_rest
from simcli.model.tables import Model


def at_rest(model: Model) -> Model:
    """The model whose springs and bushings rest, where the scene says nothing, as they are in its initial state."""
    return bushings_at_rest(springs_at_rest(model))
