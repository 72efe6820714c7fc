"""What the host's side of a solver drives on the device."""

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
        rollout: kernel that advances all blocks by whole frames.
        leave, enter: kernels before and after the tables change.
        notes: events of the start, from model, options and plan.
        end: takes the solver and frame 0, and ends the worlds that cannot begin.
    """

    core: Callable
    rollout: Callable
    leave: Callable
    enter: Callable
    notes: Callable = no_notes
    end: Callable | None = None
