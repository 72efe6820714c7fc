"""Which signals of a scene something reads."""

from simcli.spec.names.signal_uses import uses
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.signals.order import signals_of_feedback


def signals_read(spec: SceneSpec) -> set[str]:
    """Signals that drive something, and those that these name in their formulas."""
    found = {use.signal for use in uses(spec)} & set(spec.signals)
    waiting = list(found)
    while waiting:
        new = set(signals_of_feedback(spec.signals[waiting.pop()])) & set(spec.signals) - found
        found |= new
        waiting += new
    return found
