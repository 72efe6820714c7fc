"""Small finished files with known numbers, written by the real recorder."""

import contextlib
from dataclasses import replace

import numpy as np

from simcli.records.contents.layout import selected
from simcli.records.contents.provenance import collect_provenance
from simcli.records.contents.select import axes_of
from simcli.records.reading.reader import open_trajectory
from simcli.records.writing.writer import Recorder
from support.recorder_here import RecorderHere
from support.tiny_model import frames, tiny_model

DT = 1e-3  # [s] of `tiny_model.frames`
STEPS_PER_FRAME = 10
CHANNELS = ("state", "energy")


@contextlib.contextmanager
def record(path, n_frames, n_worlds, change, events=(), measures=(), measured=None, params=None, channels=CHANNELS):
    """Write frames of the tiny model, changed by `change(columns)`, and open the file.

    `measures` are layouts, `measured` (rows, value, time) as of `Recorder.close`; `params` name to (unit, values (W,)).
    """
    model = tiny_model(n_worlds=n_worlds)
    if params is not None:
        units, values = zip(*params.values(), strict=True)
        model = replace(model, param_name=tuple(params), param_unit=units, param_value=np.stack(values, axis=1))
    axes = axes_of(model)
    block = frames(selected(axes, channels), axes, 0, n_frames, events)
    change(block.columns)
    source = collect_provenance([("scene.yaml", "simcli: 1")], "simcli: 1", "cpu", "float64", 0, argv=["simcli"])
    recorder = Recorder(path, model, source, channels, n_frames, process=RecorderHere(), measures=measures)
    recorder.put(block)
    recorder.close("done", measured)
    with open_trajectory(path) as trajectory:
        yield trajectory
