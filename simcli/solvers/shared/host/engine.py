"""What a solver is on the device: Taichi functions of its core `c` and a block `w`, which the kernels of rollout.py call."""

from collections.abc import Callable
from dataclasses import dataclass


def no_notes(model, options, plan) -> list:
    """Nothing to say."""
    return []


@dataclass(frozen=True)
class Engine:
    """The device's side.

    Attributes:
        core: makes everything of a run on the device, as `core.Core`.
        begin: (c, w, first), before the first frame of a call, after `first` steps.
        report: (c, w, steps), the frame.
        report_drives: (c, w), what drives give, after the frame.
        judge: (c, w, count, alive), why worlds should end after a step, see watch.py.
        find_cause: (c, w, code), the dof, or another number, that is the cause.
        close, open: (c, w), before and after the tables change; give what is stored [J].
        finding: from a core, what finds the quantities that signals see, where a step begins (sampling.py).
        exchange_momenta: (c, w, first), see probes/loop_guard.py.
        notes: events of the start, from model, options and plan.
        end: takes the solver after frame 0, and a mask of worlds; gives events and status of those that cannot begin.
        enter: takes the solver and the model of a phase that begins, ends the worlds that cannot go on, gives the events.
    """

    core: Callable
    begin: Callable
    report: Callable
    report_drives: Callable
    judge: Callable
    find_cause: Callable
    close: Callable
    open: Callable
    finding: Callable
    exchange_momenta: Callable
    notes: Callable = no_notes
    end: Callable | None = None
    enter: Callable | None = None
