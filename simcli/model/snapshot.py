"""FrameBlock: the common language between solvers, recorder, reader and analysis."""

from collections.abc import Sequence
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
    CROWDED = 7  # more contacts than there is room for
    NOT_CONVERGED = 8  # affine bodies: a step has no minimum within the iterations allowed
    OVERLAPPING = 9  # affine bodies: shapes cut each other at the start
    OUTSIDE_LIMIT = 10  # a coordinate is outside its hard limit when the run, or the limit, begins
    LOOP_LOST = 11  # a loop of signals has put in ten times the energy of the scene by its sampling

    @property
    def is_failure(self) -> bool:
        """True for the codes that make a run fail."""
        return self not in (Status.OK, Status.STOPPED)


MET = "SC604"  # code of the event of a world that met run.stop_when
UNTRUSTED = {"SC627": "unsolved steps", "SC628": "energy from nothing"}  # codes of events of worlds that end, but wrongly


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

    @property
    def is_summary(self) -> bool:
        """Whether it is said of the whole run, when that has ended."""
        return self.code == "SC668"

    @property
    def rank(self) -> tuple[bool, int, bool, int]:
        """What events of a file are sorted by: step, then world, those of all worlds last; what sums up a run at the end."""
        return self.is_summary, self.step, self.world < 0, self.world


# Columns of a contact: shapes a and b, point [m], unit normal from a to b, gap [m], force on b [N]; world axes.
CONTACT_WIDTHS = {"shape_a": 1, "shape_b": 1, "point": 3, "normal": 3, "gap": 1, "force": 3}


@dataclass(frozen=True)
class ContactRows:
    """Contacts of consecutive frames: frame by frame, in a frame world by world.

    Attributes:
        count: (F, W) int64, contacts of each world at each frame.
        columns: name in CONTACT_WIDTHS to array, (C,) or (C, 3), with C the sum of the counts.
    """

    count: np.ndarray
    columns: dict[str, np.ndarray]

    @property
    def n(self) -> int:
        """Number of contacts, C."""
        return int(self.count.sum())

    @property
    def nbytes(self) -> int:
        """[B], of all arrays."""
        return self.count.nbytes + sum(rows.nbytes for rows in self.columns.values())

    def of_frames(self, first: int, last: int) -> "ContactRows":
        """Those of the frames first to last - 1."""
        start, stop = int(self.count[:first].sum()), int(self.count[:last].sum())
        return ContactRows(self.count[first:last], {name: rows[start:stop] for name, rows in self.columns.items()})

    def where(self, keep: np.ndarray) -> "ContactRows":
        """Some of them.

        Args:
            keep: (C,) bool.
        """
        owner = np.repeat(np.arange(self.count.size), self.count.reshape(-1))
        count = np.bincount(owner[keep], minlength=self.count.size).reshape(self.count.shape)
        return ContactRows(count.astype(np.int64), {name: rows[keep] for name, rows in self.columns.items()})

    def of_worlds(self, keep: np.ndarray) -> "ContactRows":
        """Those of some worlds, the others left without.

        Args:
            keep: (W,) bool.
        """
        return self.where(np.repeat(np.broadcast_to(keep, self.count.shape).reshape(-1), self.count.reshape(-1)))


def joined_blocks(parts: Sequence[ContactRows]) -> ContactRows:
    """The contacts of frames that follow each other; at least one part."""
    count = np.concatenate([part.count for part in parts])
    return ContactRows(count, {name: np.concatenate([part.columns[name] for part in parts]) for name in CONTACT_WIDTHS})


def no_contacts(n_frames: int, n_worlds: int) -> ContactRows:
    """Frames without contacts."""
    columns = {name: np.zeros((0, 3) if width == 3 else 0) for name, width in CONTACT_WIDTHS.items()}
    return ContactRows(np.zeros((n_frames, n_worlds), np.int64), columns)


@dataclass(frozen=True)
class Unsolved:
    """Steps of a run that left their equations unsolved.

    Attributes:
        world: of the worst one.  step: its number from the start of the run.  time: [s], where it ends.
        residual: [m/s or rad/s] that it has left.
        n_steps: how many there are, of all worlds.  n_worlds: in how many worlds.
    """

    world: int
    step: int
    time: float
    residual: float
    n_steps: int
    n_worlds: int


@dataclass
class FrameBlock:
    """Several consecutive frames of all worlds.

    Attributes:
        step: (F,) int64.
        time: [s], (F,).
        columns: HDF5 path to array with leading axes (F, W), as `frames/joint_q` (F, W, NQ), `energy/total` (F, W).
            Frozen worlds hold NaN (`diag/status` holds their code).
        events: events since the block before.
        contacts: those of the frames; None if they are not recorded, or if nothing can touch. Frozen worlds have none.
        unsolved: steps of the run so far that were not solved; None if there are none.
    """

    step: np.ndarray
    time: np.ndarray
    columns: dict[str, np.ndarray]
    events: list[Event] = field(default_factory=list)
    contacts: ContactRows | None = None
    unsolved: Unsolved | None = None
