"""Small finished runs with known numbers, written by the real recorder, that differ as a test wants."""

import h5py
import numpy as np

from simcli.model.snapshot import ContactRows, FrameBlock
from simcli.records.contents.layout import Axes, selected
from simcli.records.contents.provenance import collect_provenance
from simcli.records.contents.select import axes_of, selection
from simcli.records.writing.writer import Recorder
from support.recorder_here import RecorderHere
from support.tiny_model import frames, tiny_model

CHANNELS = ("state", "energy", "reactions", "contacts", "body_qdd")
ROW_LABEL = ("hinge0.x", "hinge0.y")
PERIOD = 0.01  # [s] between the frames of number k and k + 1
SCENE = "simcli: 1\nresolved: true\nname: tiny\nsolver: {type: generalized, dt: 0.001}\nrun: {duration: 0.11}\n"


def write_run(
    path,
    which=range(12),
    n_worlds=3,
    change=None,
    channels=CHANNELS,
    scene=SCENE,
    dt=1e-3,
    select=None,
    order=None,
    dtype="float64",
    events=(),
    status="done",
    device="cpu",
    seed=0,
):
    """Write some frames of the tiny model; frame k is at k PERIOD, whatever the step.

    Args:
        path: of the file.
        which: numbers of the frames.
        n_worlds: of the model.
        change: changes the columns, by path, before they are written.
        channels: that are recorded.
        scene: text of the resolved scene.
        dt: [s], step.
        select: as `output.select`.
        order: of the bodies in the file, as numbers.
        dtype: of the file.
        events: of the run.
        status: at the end.
        device: name of it.
        seed: of the batch.
    """
    model = tiny_model(n_worlds=n_worlds)
    whole = axes_of(model, ROW_LABEL)
    block = frames(selected(whole, channels), whole, 0, max(which) + 1, events)
    kept = list(which)
    columns = {name: column[kept].copy() for name, column in block.columns.items()}
    if change:
        change(columns)
    axes = selection(model, select, ROW_LABEL)
    if order is not None:
        names = tuple(whole.label["B"][k] for k in order)
        axes = Axes(n_worlds, {**whole.label, "B": names}, {"B": np.array(order)}, whole.capacity)
    step = np.round(np.array(kept) * PERIOD / dt).astype(np.int64)
    contacts = block.contacts
    if contacts is not None:
        parts = [contacts.of_frames(k, k + 1) for k in kept]
        rows = {name: np.concatenate([part.columns[name] for part in parts]) for name in contacts.columns}
        contacts = ContactRows(np.concatenate([part.count for part in parts]), rows)
    source = collect_provenance([("tiny.yaml", scene)], scene, device, "float64", seed, argv=["test"])
    recorder = Recorder(
        path, model, source, channels, len(kept), dtype=dtype, axes=axes, row_label=ROW_LABEL, process=RecorderHere()
    )
    recorder.put(FrameBlock(step, step * dt, columns, list(events), contacts))
    recorder.close(status)
    return path


def write_many(path, n_frames, value, channels=("state", "energy"), block=2000):
    """A run of one world and many frames, every number of which is the same."""
    model = tiny_model(1)
    axes = axes_of(model)
    rows = [row for row in selected(axes, channels) if row.by_frame and row.axes != ("F",)]
    columns = {row.path: np.full((block, *axes.tail(row)), value, row.dtype("float64")) for row in rows}
    columns["diag/status"][:] = 0
    source = collect_provenance([("tiny.yaml", SCENE)], SCENE, "cpu", "float64", 0, argv=["test"])
    with Recorder(path, model, source, channels, n_frames, process=RecorderHere()) as out:
        for first in range(0, n_frames, block):
            step = np.arange(first, first + block)
            out.put(FrameBlock(step, step * 1e-3, columns, [], None))
    return path


def flip_bit(path, dataset, index, bit):
    """Flip one bit of one stored value, as no checksum notices; returns the value before and after."""
    with h5py.File(path, "r+") as file:
        values = file[dataset][...]
        before = values[index]
        octets = np.frombuffer(before.tobytes().ljust(values.dtype.itemsize, b"\0"), np.uint8).copy()
        octets[bit // 8] ^= 1 << bit % 8
        values[index] = np.frombuffer(octets.tobytes(), f"V{len(octets)}").view(values.dtype.str)[0]
        file[dataset][...] = values
        return before, values[index]
