"""What a run asks of any solver: step, frames, channels, quantities."""

from collections.abc import Mapping
from dataclasses import dataclass

from simcli.model.measures import NO_MEASURES, Measures


@dataclass(frozen=True)
class RunPlan:
    """Steps and frames of a run.

    Attributes:
        dt: [s], step.
        steps_per_frame: steps between frames.
        n_frames: frames after frame 0.
        channels: channel groups to fill, of "state" (= "joints" and "bodies"), "energy", "reactions", "contacts".
        measures: quantities that are looked at: end conditions of worlds, numbers per world, columns of frames.
        last_steps: steps before the last frame, 0 for as many as before the others.
        written: of the channels, those that leave the device; None for all.
    """

    dt: float
    steps_per_frame: int
    n_frames: int
    channels: frozenset[str]
    last_steps: int = 0
    measures: Measures = NO_MEASURES
    written: frozenset[str] | None = None

    def leaving(self, reports: Mapping[str, bool]) -> dict[str, bool]:
        """Of what frames show, by name, what leaves the device."""
        written = self.channels if self.written is None else self.written
        of = {"joints": {"state", "joints"}, "bodies": {"state", "bodies"}, "stretch": {"state", "bodies"}}
        return {name: on and bool(of.get(name, {name}) & written) for name, on in reports.items()}

    @property
    def n_steps(self) -> int:
        """Steps of the whole run."""
        return self.n_frames * self.steps_per_frame - (self.steps_per_frame - self.last_steps if self.last_steps else 0)
