"""How a sweep is driven, how far it is, and what it came to."""

from collections.abc import Callable
from dataclasses import dataclass, field

from simcli.sweeps.records.plan_file import Shard

GRACE_S = 25.0  # from being asked to end to the end: schedulers kill 30 s after SIGTERM


@dataclass(frozen=True)
class Options:
    """How a sweep is driven.

    Attributes:
        shard: the part that is done here, None for all.
        max_walltime: [s], from now on until all has to be over; None for as long as it takes.
        retry_failed: try cases again that failed or were given up before.
        tries: attempts of a case that crash, in all, before it is given up.
        grace: [s], from being asked to end to the end: what is nearly done is not lost.
    """

    shard: Shard | None = None
    max_walltime: float | None = None
    retry_failed: bool = False
    tries: int = 3
    grace: float = GRACE_S


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is.

    Attributes:
        event: that has just happened, "" if only time went by.
        facts: of the event.
        n_cases: that are to be done here.
        n_done: with a result, or given up.
        n_failed: of those.
        n_running: that are worked at here.
        rate: [1/s], world-steps per second of all that runs.
        seconds_left: [s], NaN while nobody can tell.
    """

    event: str
    facts: dict[str, object]
    n_cases: int
    n_done: int
    n_failed: int
    n_running: int
    rate: float
    seconds_left: float
    stage: str = "stepping"

    @property
    def fraction(self) -> float:
        """Part of the cases that is done."""
        return self.n_done / self.n_cases if self.n_cases else 1.0


@dataclass
class Summary:
    """What a sweep came to.

    Attributes:
        status: done; stopped if cases are left that the same command goes on with.
        n_cases: that were to be done here.
        n_done: with a result, or given up.
        n_begun_with: of those, done before.
        failed: cases whose world failed or that were given up, with reasons.
        n_steps: world-steps.
        seconds: [s], wall time.
        problem: why it was stopped, "" if it was asked to.
    """

    status: str = "done"
    n_cases: int = 0
    n_done: int = 0
    n_begun_with: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    n_steps: int = 0
    seconds: float = 0.0
    problem: str = ""


Standing = SweepProgress  # its name in programs that were written for earlier versions
SweepWatch = Callable[[SweepProgress], bool]
DEFAULTS = Options()


def watch_nothing(_: SweepProgress) -> bool:
    """Watch nothing, stop never."""
    return True
