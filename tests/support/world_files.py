"""Files whose worlds have varied parameters, measures and failures with known numbers."""

import numpy as np

from simcli.model.snapshot import Event, Status
from simcli.records.contents.measures import MeasureLayout
from support.analysis_files import record

PEAK = MeasureLayout("peak", "joint.hinge0.q", "max", "rad", "largest value of joint.hinge0.q", ())
POS = MeasureLayout("pos", "body.ball.position", "final", "m", "value at the last step of body.ball.position", tuple("xyz"))
FAILED, ENDED = 2, 3  # worlds


def grid(n_a, n_b):
    """Parameters as a grid makes them: the last one fastest."""
    a, b = np.meshgrid(np.linspace(0.1, 1.0, n_a), np.linspace(10.0, 20.0, n_b), indexing="ij")
    return {"params.l": ("m", a.ravel()), "params.c": ("N m s/rad", b.ravel())}


def peaks(params):
    """The measure `peak` of `world_file`, (W,): awkward numbers, one missing."""
    (_, a), *_ = params.values()
    value = np.sqrt(a) / 3.0 + np.arange(len(a)) % 2 / 7.0
    value[FAILED] = np.nan
    return value


def world_file(path, params):
    """World 2 failed at 0.0123 s without a peak, world 3 met run.stop_when at 0.02 s."""
    n_worlds = len(next(iter(params.values()))[1])
    value = np.column_stack([peaks(params), *(np.arange(n_worlds) + 0.1 * k for k in range(3))])

    def change(columns):
        columns["diag/status"][2:, FAILED] = Status.TOO_FAST
        columns["diag/status"][3:, ENDED] = Status.STOPPED

    events = [
        Event(12, 0.0123, FAILED, "SC602", 2, 0, -1, 1e9, "too fast"),
        Event(20, 0.02, ENDED, "SC604", 0, -1, -1, 0.0, "met"),
    ]
    rows = {"peak": slice(0, 1), "pos": slice(1, 4)}
    with record(path, 5, n_worlds, change, events, (PEAK, POS), (rows, value, 0.1 * value), params):
        return path
