"""Whether something of a mechanism depends on the time since it began."""

from simcli.model.signals.tables import Op, SignalKind
from simcli.model.tables import Model


def depends_on_time(model: Model) -> bool:
    """Whether a signal that drives something is a function of time, or follows the motion by samples."""
    laws = model.feedback
    used = {*model.inputs.signal.tolist(), *laws.index[laws.op == Op.SIGNAL].tolist()}
    return bool(len(laws.signal)) or any(model.signals.kind[k] != SignalKind.CONSTANT for k in used)
