"""The numbers of a batch at the times of a log.

A run writes frames at the rhythm of the data where all their times are whole steps; nothing is interpolated then. Else it
writes every step, and a polynomial of degree five through six frames gives the numbers between: its error is of sixth order
in the step, as good as rounding for what a step resolves, and is told all the same, by what one degree less would change.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.worlds.world_table import untrusted_worlds
from simcli.errors import FileError, UsageError
from simcli.model.snapshot import Status
from simcli.search.fit_data import Log
from simcli.spec.base.channel_names import is_on_demand
from simcli.spec.document.overrides import SET, Override

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory
    from simcli.spec import SceneSpec

ON_STEP = 1e-6  # of a step that a time may be off: what is left of a time that was printed
_NODES = 6  # frames of an interpolation


@dataclass(frozen=True)
class Rhythm:
    """When a run must write frames.

    Attributes:
        every: [s], between frames.
        on_frames: whether the data lie on them.
        end: [s], after which nothing is needed.
    """

    every: float
    on_frames: bool
    end: float


def rhythm_of(log: Log, spec: "SceneSpec", latest: float | None = None) -> Rhythm:
    """The frames that a log asks for.

    Args:
        log: the data.
        spec: of the run.
        latest: [s], largest offset of the clocks, where that is fitted: the rows then lie in the run at every offset.

    Raises:
        FileError: a time is outside of the run; names the line.
    """
    dt, duration = spec.solver.dt, spec.run.duration
    if latest is not None:
        last = math.ceil((float(log.time.max()) + latest) / dt)
        return Rhythm(dt, False, min((last + _NODES) * dt, duration))
    for row in np.flatnonzero((log.time < 0.0) | (log.time > duration + ON_STEP * dt))[:1]:
        hint = "times begin at 0" if log.time[row] < 0.0 else f"lengthen it: --set run.duration={log.time.max():g}"
        raise FileError(f"{log.at(row)}: the time {log.time[row]:g} s is outside of the run, 0 to {duration:g} s: {hint}")
    steps = np.round(log.time / dt)
    if (np.abs(log.time / dt - steps) > ON_STEP).any():
        return Rhythm(dt, False, min((int(steps.max()) + _NODES) * dt, duration))
    whole, last = math.gcd(*steps.astype(int).tolist()), int(steps.max())
    return Rhythm((whole or round(duration / dt)) * dt, True, last * dt if last else duration)


def output_sets(log: Log, rhythm: Rhythm) -> list[Override]:
    """Overrides by which a run writes what a log has, and ends with it."""
    from simcli.analysis.channels import quantity_of
    from simcli.analysis.expectations import channels_of

    # Of several components one name: what it is a part of is what a scene can ask for.
    demanded = list(
        dict.fromkeys(
            quantity_of(label) if not is_on_demand(label) else label
            for label in log.labels
            if is_on_demand(label) or is_on_demand(label.rpartition(".")[0])
        )
    )
    channels = channels_of(
        label if ".wrench." not in label else label.rpartition(".")[0]
        for label in log.labels
        if not any(label.startswith(name) for name in demanded)
    )
    values = {
        "run.duration": repr(rhythm.end),
        "output.every": repr(rhythm.every),
        "output.channels": f"[{', '.join(sorted(channels))}]",
        "output.quantities": f"[{', '.join(demanded)}]",
        "measure": "{}",
        "run.stop_when": "null",
        "output.select": "null",
    }
    return [Override(SET, text, path) for path, text in values.items()]


def _columns_of(run: "Trajectory", log: Log) -> list[tuple]:
    """Source and component of each column of a log.

    Raises:
        FileError: the run has no such quantity.
    """
    from simcli.analysis.channels import locate_channel

    found = []
    for label in log.labels:
        for name in (label, label.rpartition(".")[0]):
            try:
                sources = locate_channel(run, name)
            except UsageError:
                continue
            if len(sources) == 1 and label in sources[0].labels:
                found.append((sources[0], sources[0].labels.index(label)))
                break
        else:
            raise FileError(f"{log.path}:1: column `{label}`: a run of the scene has no such quantity")
    return found


def numbers_at(run: "Trajectory", log: Log, rhythm: Rhythm, offsets: np.ndarray | None = None) -> tuple[np.ndarray, float]:
    """The numbers of every world at the times of a log.

    Args:
        run: a batch.
        log: says which and when.
        rhythm: of the run's frames.
        offsets: [s], (W,), of the clock of each world from that of the log; None where they are one.

    Returns:
        (W, T, C), NaN from the frame on at which a world has ended, and of untrusted worlds; and the largest error of the
        interpolation, relative to the spread of its column.
    """
    ended = np.asarray(run.diag.status[:]) != Status.OK
    columns, error = _columns_of(run, log), 0.0
    out = np.empty((run.n_worlds, len(log.time), len(columns)))
    blocks = {source.name: source.read(slice(None)) for source in {one.name: one for one, _ in columns}.values()}
    shifted = (
        [(slice(None), log.time)]
        if offsets is None
        else [(slice(w, w + 1), log.time + offset) for w, offset in enumerate(offsets)]
    )
    for worlds, time in shifted:
        frame = np.searchsorted(run.time, time - ON_STEP * rhythm.every)
        frame = np.minimum(frame, run.n_frames - 1)
        lost = ended[frame][:, worlds].T
        for k, (source, part) in enumerate(columns):
            values = blocks[source.name][:, worlds, part]
            if rhythm.on_frames:
                out[worlds, :, k] = values[frame].T
            else:
                out[worlds, :, k], change = _interpolated(run.time, values, time)
                there = values[~ended[:, worlds]]
                spread = np.ptp(there) if there.size else 0.0
                error = max(error, change[~lost].max(initial=0.0) / spread) if spread else error
        out[worlds][lost] = np.nan
    out[list(untrusted_worlds(run))] = np.nan
    return out, error


def _interpolated(time: np.ndarray, values: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers between frames, (W, T), and what the last degree changes of them."""
    n = min(_NODES, len(time))
    first = np.clip(np.searchsorted(time, at) - n // 2, 0, len(time) - n)
    place = first[:, None] + np.arange(n)
    found = np.einsum("tn,tnw->wt", _weights(time[place], at), values[place])
    less = np.einsum("tn,tnw->wt", _weights(time[place[:, : n - 1]], at), values[place[:, : n - 1]]) if n > 1 else found
    return found, np.abs(found - less)


def _weights(nodes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Lagrange's polynomials, (T, n)."""
    n = nodes.shape[1]
    out = np.ones_like(nodes)
    for k in range(n):
        for other in range(n):
            if other != k:
                out[:, k] *= (at - nodes[:, other]) / (nodes[:, k] - nodes[:, other])
    return out


def spreads(values: np.ndarray) -> np.ndarray:
    """Standard deviation of each column, gaps left out; 1 of a column that is constant."""
    with np.errstate(all="ignore"):
        found = np.nanstd(values, axis=0)
    return np.where(found > 0.0, found, 1.0)
