"""What a run asks of any solver: step, frames, channels, quantities."""

from collections.abc import Mapping
from dataclasses import dataclass

from simcli.model.measures import NO_MEASURES, Measures
from simcli.records.contents.layout import CHANNELS, PARTS

# What frames show, by name, and the channels that ask for it.
ASKED = {name: {name} | {whole for whole, parts in PARTS.items() if name in parts} for name in CHANNELS}
ASKED["stretch"] = ASKED["bodies"]


@dataclass(frozen=True)
class RunPlan:
    """Steps and frames of a run.

    Attributes:
        dt: [s], step.
        steps_per_frame: steps between frames.
        n_frames: frames after frame 0.
        channels: channel groups to fill, as of `output.channels`.
        measures: quantities that are looked at: end conditions of worlds, numbers per world, columns of frames.
        last_steps: steps before the last frame, 0 for as many as before the others.
        written: of the channels, those that leave the device; None for all.
        by_age: whether worlds begin one by one, and see the time since then.
        lets_pass: [m/s], what a step may lack without being counted as unsolved, beside the tolerance of the solver.
        energy_every: steps from one ledger of energies to the next, at frames, and at the first and the last one; more than
            1 only where they do not leave the device.
    """

    dt: float
    steps_per_frame: int
    n_frames: int
    channels: frozenset[str]
    last_steps: int = 0
    measures: Measures = NO_MEASURES
    written: frozenset[str] | None = None
    lets_pass: float = 0.0
    energy_every: int = 1
    by_age: bool = False

    def reports(self) -> dict[str, bool]:
        """What frames show, by name, whether it leaves the device or not."""
        return {name: bool(of & self.channels) for name, of in ASKED.items()}

    def leaving(self, reports: Mapping[str, bool]) -> dict[str, bool]:
        """Of what frames show, by name, what leaves the device."""
        written = self.channels if self.written is None else self.written
        return {name: reports[name] and bool(of & written) for name, of in ASKED.items()}

    @property
    def keeps_extremes(self) -> bool:
        """Whether energies are found that do not leave the device: their extremes do, at the end."""
        return "energy" in self.channels and self.written is not None and "energy" not in self.written

    @property
    def n_steps(self) -> int:
        """Steps of the whole run."""
        return self.n_frames * self.steps_per_frame - (self.steps_per_frame - self.last_steps if self.last_steps else 0)
