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
    followers: dict[str, list[str]] = {name: [] for name, signal in signals.items() if signal.is_feedback}
    waits: dict = {}
    for name in followers:
        needs = {one for one in signals_of_feedback(signals[name]) if one in followers}
        waits[name] = len(needs)
        for one in needs:
            followers[one].append(name)
    place = {name: k for k, name in enumerate(followers)}
    found: list[str] = []
    ready = [name for name, count in waits.items() if not count]
    while ready:
        found += ready
        freed = []
        for follower in (one for name in ready for one in followers[name]):
            waits[follower] -= 1
            if not waits[follower]:
                freed.append(follower)
        ready = sorted(freed, key=place.get)  # as they are written: one of many orders, and always the same
    return found


def circle_of_feedback(signals: Mapping[str, SignalSpec]) -> list[str]:
    """The signals of a circle in which each names the next one, the first once more at its end; empty without one."""
    ordered = set(order_of_feedback(signals))
    lost = dict.fromkeys(name for name, one in signals.items() if one.is_feedback and name not in ordered)
    if not lost:
        return []
    chain = [next(iter(lost))]
    while len(set(chain)) == len(chain):
        chain.append(next(one for one in signals_of_feedback(signals[chain[-1]]) if one in lost))
    return chain[chain.index(chain[-1]) :]
