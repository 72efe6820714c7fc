"""The largest of what all states have, kept while they pass: residuals of a projection, differences of efforts."""

import numpy as np

from simcli.analysis.states.portions import States


class Worst:
    """Largest residuals of a projection, and the state of the largest distance."""

    def __init__(self):
        self.facts = {f"residual_{name}": 0.0 for name in ("position", "angle", "velocity", "spin")}
        self.place, self._size = "", -1.0

    def look(self, states: States, found: dict[str, np.ndarray]) -> None:
        """See some states."""
        for name in self.facts:
            self.facts[name] = max(self.facts[name], _largest(found[name]))
        size = np.nan_to_num(np.maximum(found["residual_position"], found["residual_angle"]))
        if len(size) and size.max() > self._size:
            k = int(size.argmax())
            self.place, self._size = _place_of(states, k), float(size[k])

    def exceeds(self, tolerance: float) -> bool:
        """True if a body is further [m] or more turned [rad] than this."""
        return max(self.facts["residual_position"], self.facts["residual_angle"]) > tolerance

    @property
    def words(self) -> str:
        """The largest distances, and where."""
        shift, angle = self.facts["residual_position"], self.facts["residual_angle"]
        return f"off by {shift:.3g} m and {angle:.3g} rad at most, worst at {self.place}"


class Difference:
    """Largest difference of efforts from the recorded ones."""

    def __init__(self):
        self.facts = {"largest_difference": 0.0, "largest_effort": 0.0}
        self.place = ""

    def look(self, states: States, found: dict[str, np.ndarray]) -> None:
        """See some states."""
        gap = np.nan_to_num(np.abs(found["joint_effort"] - found["recorded_effort"]))
        if gap.size and gap.max() > self.facts["largest_difference"]:
            self.place = f" at {_place_of(states, int(gap.max(axis=1).argmax()))}"
        self.facts["largest_difference"] = max(self.facts["largest_difference"], _largest(gap))
        self.facts["largest_effort"] = max(self.facts["largest_effort"], _largest(np.abs(found["recorded_effort"])))

    @property
    def words(self) -> str:
        """The largest difference, beside the largest effort."""
        gap, size = self.facts["largest_difference"], self.facts["largest_effort"]
        return f"recorded and computed efforts differ by at most {gap:.3g}{self.place}; the largest effort is {size:.3g}"


def _place_of(states: States, k: int) -> str:
    """A state in words."""
    time = f"t = {states.time[k]:g} s, " if np.isfinite(states.time[k]) else ""
    return f"{time}frame {states.frame[k]}, world {states.world[k]}"


def _largest(values: np.ndarray) -> float:
    """Largest number, NaN left out."""
    return float(np.nan_to_num(values).max(initial=0.0))
