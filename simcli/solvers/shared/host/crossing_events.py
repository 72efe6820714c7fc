"""Events by condition that took place in the last call, by what their worlds keep of them."""

import math

import numpy as np

from simcli.kernels.forces.feedback import FeedbackLaws
from simcli.model.phases.stretches import EARLY
from simcli.model.snapshot import Event
from simcli.model.tables import Model


class CrossingEvents:
    """What was told of events by condition so far.

    Args:
        model: whose events they are.

    Attributes:
        repeat: whether some may take place more than once, so that each frame is looked at.
        told: (W, E), how often each was told in each world.  began: (W,), steps before each world began.
    """

    def __init__(self, model: Model):
        self.texts, self.states = model.feedback.told, model.feedback.told_state
        self.repeat = bool(model.feedback.told_again.any())
        self.told = np.zeros((model.n_worlds, len(self.texts)))
        self.began = np.zeros(model.n_worlds, np.int64)

    def new(self, feedback: FeedbackLaws, dt: float) -> list[Event]:
        """Events since the last time, by their times.

        Args:
            feedback: on the device.
            dt: [s], step.
        """
        if not self.texts or not feedback.n:
            return []
        kept = feedback.states.read()[:, self.states, 0]
        time, count = kept[..., 0], np.nan_to_num(kept[..., 1])
        events = []
        for world, event in np.argwhere(count > self.told).tolist():
            often, when = int(count[world, event] - self.told[world, event]), float(time[world, event])
            more = f" ({often} times since the last frame; this is the last)" if often > 1 else ""
            text = self.texts[event] + more
            before = int(self.began[world])
            step = before + math.ceil(when / dt - EARLY)
            events.append(Event(step, before * dt + when, world, "SC606", 0, -1, -1, 0.0, text))
        self.told = np.maximum(count, self.told)
        return sorted(events, key=lambda event: (event.time, event.world))
