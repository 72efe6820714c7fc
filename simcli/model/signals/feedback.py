"""Feedback of a scene: the laws of its signals, in an order in which each comes after those that it names."""

from operator import attrgetter

import numpy as np

from simcli.model.signals.controllers import (
    crossing_names,
    latches_of,
    switched_constants,
    write_latch,
    write_law,
    write_stamp,
)
from simcli.model.signals.formulas import Code, LawNames
from simcli.model.signals.signal_values import signals_of
from simcli.model.tables.signal_tables import Feedback, Signals
from simcli.model.tables.worlds import Worlds
from simcli.spec.lookup.signal_uses import order_of_feedback
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.values.expressions import ExpressionError
from simcli.spec.values.varied import DivergedError, for_all_worlds, stacked_numbers

_COLUMNS = 5  # of a line
_rounded = for_all_worlds(round)


def read_feedback(worlds: Worlds, signals: Signals) -> Feedback:
    """The laws of all signals that follow the motion.

    Args:
        worlds: the scenes; what has no value in some world is noted there.
        signals: of the same scenes.

    Returns:
        The table.
    """
    first = worlds.first
    order = order_of_feedback(signals_of(first))
    if not order and not latches_of(first):
        return Feedback.empty()
    for name in order:
        if name in first.signals:
            worlds.common(lambda s, n=name: (s.signals[n].kind, s.signals[n].rate), f"signals.{name}")
    longest = {name: int(worlds.numbers(lambda s, n=name: _delay_of(s, signals_of(s)[n])).max()) for name in order}
    laws = _Laws(first, order, signals, longest)
    read = attrgetter("signals", "joints", "forces", "events")
    constants = []
    laws_of = lambda s: laws if _is_same(read(s), read(first)) else _Laws(s, order, signals, longest)  # noqa: E731
    for other, numbers in worlds.each(laws_of):
        laws.fault = laws.fault or other.fault
        if other.columns != laws.columns and not laws.fault:
            worlds.fault(
                "SC455",
                "signals",
                "the expressions of signals differ between worlds by more than numbers",
                "batch.vary changes numbers, not the structure",
            )
            return Feedback.empty()
        constants.append((other.constants, numbers))
    if laws.fault:
        name, key, message = laws.fault
        worlds.fault("SC221", f"signals.{name}.{key}", message, "what is constant in it must have a value")
        return Feedback.empty()
    rows = [(stacked_numbers(some, (len(some),)), numbers) for some, numbers in constants]
    return laws.table(signals, worlds.joined(rows))


def _is_same(one: tuple, other: tuple) -> bool:
    """Whether parts of scenes are equal, in all worlds."""
    try:
        return one == other
    except DivergedError:
        return False


def _delay_of(spec: SceneSpec, signal) -> float:
    """Samples by which a signal takes effect late, which the checks have found to be whole."""
    return _rounded(signal.delay / (_every(spec, signal) * spec.solver.dt))


def _every(spec: SceneSpec, signal) -> int:
    """Steps from one sample to the next."""
    return 1 if signal.rate is None else whole_steps(1.0 / signal.rate, spec.solver.dt)


def whole_steps(time: float, dt: float) -> int:
    """Whole steps of a time, which the checks have found to be whole."""
    return round(time / dt)


class _Laws:
    """The laws of a scene.

    Args:
        spec: the scene.
        order: names of the signals that have laws.
        signals: all of them.
        longest: most samples by which each takes effect late, of all worlds.

    Attributes:
        columns: everything but the constants.
        fault: the name of a signal without a value, its key, and why; None if all have one.
    """

    def __init__(self, spec: SceneSpec, order: list[str], signals: Signals, longest: dict[str, int]):
        self.constants, self.fault = [], None
        index = {name: k for k, name in enumerate(signals.name)}
        self.names = LawNames(
            index,
            {
                name: [(index[latch], change) for latch, change in changes]
                for name, changes in switched_constants(spec).items()
            },
        )
        self.events = [event for event in spec.events if event.when is not None]
        dt, self.rows, self.start, self.result, self.every = spec.solver.dt, [], [0], [], []
        self.told_state = []
        self._write_crossings(spec)
        named = signals_of(spec)
        for name in order:
            signal = named[name]
            every = _every(spec, signal)
            code = Code(self.names, len(self.constants))
            try:
                result = write_law(code, signal, every * dt, _delay_of(spec, signal), longest[name])
            except ExpressionError as error:
                key = next(iter(signal.formulas()))
                self.fault, result = self.fault or (name, key, str(error)), 0
            self.add(code, result, every)
        self.told = tuple(f"{event.words()}: {event.does()}" for event in self.events)
        self.told_again = [event.repeat for event in self.events]
        self.order = [*crossing_names(spec), *order]

    def _write_crossings(self, spec: SceneSpec) -> None:
        """Stamps and latches of events by condition, before the laws that see what they set."""
        for event in self.events:
            code = Code(self.names, len(self.constants))
            result, told = write_stamp(code, event)
            self.add(code, result, 1)
            self.told_state.append(told)
        for latch in latches_of(spec):
            code = Code(self.names, len(self.constants))
            self.add(code, write_latch(code, latch), 1)

    def add(self, code: Code, result: int, every: int) -> None:
        """Take the law of the next signal."""
        self.rows += code.rows
        self.constants += code.constants
        self.start.append(len(self.rows))
        self.result.append(result)
        self.every.append(every)

    @property
    def columns(self) -> tuple:
        return self.rows, self.start, self.result, self.names.quantities, self.names.n_states, len(self.constants)

    def table(self, signals: Signals, constants: np.ndarray) -> Feedback:
        """The table, with the constants of all worlds."""
        integers = lambda values: np.array(values, np.int32)  # noqa: E731
        lines = integers(self.rows).reshape(-1, _COLUMNS).T
        return Feedback(
            integers([signals.name.index(name) for name in self.order]),
            integers(self.every),
            integers(self.start),
            integers(self.result),
            *(column.copy() for column in lines),
            constants,
            tuple(self.names.quantities),
            self.told,
            np.array(self.told_again, bool),
            integers(self.told_state).reshape(-1, 2),
            self.names.n_states,
        )
