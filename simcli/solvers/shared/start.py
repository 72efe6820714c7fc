"""What was done to begin a run, as the status of its worlds and the events of its first frame."""

from dataclasses import replace

import numpy as np

from simcli.model.closure.moves import move_text
from simcli.model.phases.beginning import Beginning
from simcli.model.snapshot import Event, Status
from simcli.model.tables import Model

ENDS = {"SC477": Status.OUTSIDE_LIMIT}  # of a world that cannot begin; else its loops are open
INFO, _WARNING, _ERROR = range(3)  # severities


def failed_starts(start: Beginning) -> dict[int, Status]:
    """Status by world, of worlds that cannot begin."""
    return {lack.world: ENDS.get(lack.code, Status.UNASSEMBLED) for lack in start.lacks}


def start_events(model: Model) -> list[Event]:
    """What closing the loops has moved, and the worst of what each world lacks that cannot begin."""
    child = model.joints.child
    events = [Event(0, 0.0, one.world, "SC616", _WARNING if one.is_written else INFO, int(child[one.joint]), one.joint,
                    one.size, move_text(model, one)) for one in model.start.moves]  # fmt: skip
    events += [Event(0, 0.0, one.world, "SC621", _WARNING, int(child[one.joint]), one.joint, 0.0, one.text)
               for one in model.start.forks]  # fmt: skip
    worst = {lack.world: lack for lack in sorted(model.start.lacks, key=lambda lack: lack.size)}
    return events + [Event(0, 0.0, world, lack.code, _ERROR, int(child[lack.joint]), lack.joint, lack.size, lack.text)
                     for world, lack in sorted(worst.items())]  # fmt: skip


def lacks_of(solver, model: Model, worlds: np.ndarray) -> tuple[list[Event], dict[int, int]]:
    """Events of where worlds were put, and status of those that cannot begin there, by world.

    Args:
        solver: a stepper.
        model: of these worlds alone.
        worlds: (W,) bool.
    """
    chosen = np.flatnonzero(worlds)
    events = [event if event.world < 0 else replace(event, world=int(chosen[event.world]))
              for event in start_events(model)]  # fmt: skip
    ended = {int(chosen[world]): status for world, status in failed_starts(model.start).items()}
    if solver.engine.end:
        found, more = solver.engine.end(solver, worlds)
        events, ended = events + found, ended | more
    return events, ended
