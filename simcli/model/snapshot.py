"""FrameBlock: the common language between solvers, recorder, reader and analysis."""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np


class Status(IntEnum):
    """State of one world, written to /diag/status."""

    OK = 0
    NOT_FINITE = 1  # NaN or infinity in the state
    TOO_FAST = 2  # a velocity beyond the divergence bound
    SINGULAR = 3  # an articulated inertia is not positive
    STOPPED = 4  # run.stop_when was met: an end, not a failure
    UNASSEMBLED = 5  # the loops cannot be closed, or not at the velocities that were written
    TURNS_FAR = 6  # natural coordinates: a body turns too far in one step
    NOT_CONVERGED = 7  # affine bodies: a step has no minimum within the iterations allowed
    CROWDED = 8  # more contacts than there is room for

    @property
    def is_failure(self) -> bool:
        """True for the codes that make a run fail."""
        return self not in (Status.OK, Status.STOPPED)


@dataclass(frozen=True)
class Event:
    """Something that happened.

    Attributes:
        step: step count at the event.
        time: [s].
        world: world index, -1 for all worlds.
        code: rule code, as "SC601".
        severity: 0 info, 1 warning, 2 error.
        body: body index, -1 if none.
        joint: joint index, -1 if none.
        value: a number that goes with the text.
        text: one line for the user.
    """

    step: int
    time: float
    world: int
    code: str
    severity: int
    body: int
    joint: int
    value: float
    text: str


@dataclass
class FrameBlock:
    """Several consecutive frames of all worlds.

    Attributes:
        step: (F,) int64.
        time: [s], (F,).
        columns: HDF5 path to array with leading axes (F, W), as `frames/joint_q` (F, W, NQ), `energy/total` (F, W).
            Frozen worlds hold NaN (`diag/status` holds their code).
        events: events since the block before.
    """

    step: np.ndarray
    time: np.ndarray
    columns: dict[str, np.ndarray]
    events: list[Event] = field(default_factory=list)
