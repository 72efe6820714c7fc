"""What the formulas of signals name: quantities, other signals, the time; and the order in which signals are found."""

from collections.abc import Mapping

from simcli.spec.signals.signal import SignalSpec
from simcli.spec.values.braces import names_in_braces

SIGNAL = "signal."  # begins the name of another signal


def names_of_feedback(signal: SignalSpec) -> list[str]:
    """What a signal has in braces."""
    return [name for text in signal.formulas().values() for name in names_in_braces(text)] if signal.is_feedback else []


def signals_of_feedback(signal: SignalSpec) -> list[str]:
    """The signals that a signal names."""
    return [name.removeprefix(SIGNAL) for name in names_of_feedback(signal) if name.startswith(SIGNAL)]


def order_of_feedback(signals: Mapping[str, SignalSpec]) -> list[str]:
    """Signals that follow the motion, each after those that it names; without circles, and what names them."""
    waiting = {name: {one for one in signals_of_feedback(signal) if one in signals and signals[one].is_feedback}
               for name, signal in signals.items() if signal.is_feedback}  # fmt: skip
    found: list[str] = []
    while ready := [name for name, needs in waiting.items() if needs <= set(found)]:
        found += ready
        for name in ready:
            del waiting[name]
    return found


def circle_of_feedback(signals: Mapping[str, SignalSpec]) -> list[str]:
    """The signals of a circle in which each names the next one, the first once more at its end; empty without one."""
    lost = [name for name, one in signals.items() if one.is_feedback and name not in set(order_of_feedback(signals))]
    if not lost:
        return []
    chain = [lost[0]]
    while len(set(chain)) == len(chain):
        chain.append(next(one for one in signals_of_feedback(signals[chain[-1]]) if one in lost))
    return chain[chain.index(chain[-1]) :]
