"""Small finished files with known numbers, written by the real recorder."""

import contextlib

from simcli.records.layout import axes_of, selected
from simcli.records.provenance import collect
from simcli.records.reader import open_trajectory
from simcli.records.writer import Recorder
from support.recorder_here import RecorderHere
from support.tiny_model import frames, tiny_model

DT = 1e-3  # [s] of `tiny_model.frames`
STEPS_PER_FRAME = 10
CHANNELS = ("state", "energy")


@contextlib.contextmanager
def record(path, n_frames, n_worlds, change):
    """Write frames of the tiny model, changed by `change(columns)`, and open the file."""
    model = tiny_model(n_worlds=n_worlds)
    axes = axes_of(model)
    block = frames(selected(axes, CHANNELS), axes, 0, n_frames)
    change(block.columns)
    source = collect([("scene.yaml", "simcli: 1")], "simcli: 1", "cpu", "float64", 0, argv=["simcli"])
    recorder = Recorder(path, model, source, CHANNELS, n_frames, process=RecorderHere())
    recorder.put(block)
    recorder.close("done")
    with open_trajectory(path) as trajectory:
        yield trajectory
