"""Where results of the commands on states go: a JSON document, a file by the writers of other rooms, or tables."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from simcli.cli import console
from simcli.cli.mechanics.results_text import ResultText
from simcli.errors import UsageError
from simcli.records.drafts import written

JSON_NUMBERS = 2_000_000  # beyond it a text of numbers helps nobody, and Python takes some 100 B for each of them


class Json:
    """All states as one document, on stdout or in a file.

    Args:
        task: what was computed.
        axes: of its result.
        with_world: always written here; in the place of Text's.
        path: of the file, None for stdout.
    """

    def __init__(self, task, axes, with_world: bool, path: Path | None = None):
        self.task, self.axes, self.path = task, axes, path
        self.parts: dict[str, list] = {name: [] for name in ("time", "world", "frame", *task.outputs)}
        self.count = 0

    def __enter__(self) -> "Json":
        return self

    def __exit__(self, kind, error, traceback) -> None:
        if kind is None and self.path is not None:
            document = console.plain_json({"schema": f"simcli.{self.task.kind}/1", **self.body})
            with written(self.path) as stream:
                stream.write(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")

    def put(self, states, values: dict) -> None:
        """Keep a portion.

        Raises:
            UsageError: there is too much for a text.
        """
        found = {"time": states.time, "world": states.world, "frame": states.frame, **values}
        for name, parts in self.parts.items():
            parts.append(found[name])
            self.count += found[name].size
        if self.count > JSON_NUMBERS:
            raise UsageError(f"more than {JSON_NUMBERS} numbers: write them with -o FILE.h5, or choose some with --frames")

    @property
    def body(self) -> dict[str, Any]:
        """Fields, with the names along their axes and their units."""
        from simcli.records.contents.results import FIELDS

        axes = {name: list(FIELDS[name].axes[1:]) for name in self.task.outputs}
        used = dict.fromkeys(axis for names in axes.values() for axis in names)
        units = {name: FIELDS[name].unit for name in self.task.outputs}
        values: dict[str, Any] = {name: np.concatenate(parts) if parts else [] for name, parts in self.parts.items()}
        return {
            "axes": axes,
            "labels": {axis: self.axes.label[axis] for axis in used},
            "units": {**units, **{name: self.axes.unit[name] for name in self.axes.unit}},
            **{name: self._named(name, found) for name, found in values.items()},
        }

    def _named(self, field: str, values) -> Any:
        """Numbers of a field, or the names that they stand for, None for none."""
        from simcli.records.contents.results import FIELDS

        axis = FIELDS[field].names
        return np.array((*self.axes.label[axis], None), object)[values].tolist() if axis and len(values) else values


class Hdf5:
    """A result file, with the inputs that it was computed from.

    Args:
        path: of the file.
        task: what is computed.
        axes: of its result.
        subject: the mechanism.
        ready: the states.
        device: where it is computed.
        argv: the command line.
    """

    def __init__(self, path: Path, task, axes, subject, ready, device, argv: tuple[str, ...]):
        from simcli.records.contents.provenance import collect_provenance
        from simcli.records.contents.results import ResultWriter
        from simcli.spec import resolved_yaml

        sources, scene = subject.document.sources, resolved_yaml(subject.spec)
        if subject.file is not None:  # with its batch, which the subject leaves out
            sources, scene = subject.file.provenance.scene_source, subject.file.provenance.scene_resolved
        where = f"{device.arch}: {device.name}"
        provenance = collect_provenance(sources, scene, where, device.precision, subject.spec.batch.seed, argv)
        self.inputs = [name for name in task.inputs if name in ready.source.fields]
        fields = ["time", "world", "frame", *self.inputs, *task.outputs]
        self.writer = ResultWriter(
            path, task.kind, fields, axes, provenance, subject.spec.name, ready.source.where, ready.source.n_states
        )

    def __enter__(self) -> "Hdf5":
        self.writer.__enter__()
        return self

    def __exit__(self, *what) -> None:
        self.writer.__exit__(*what)

    def put(self, states, values: dict) -> None:
        """Write a portion."""
        places = {"time": states.time, "world": states.world, "frame": states.frame}
        inputs = {name: states.values[name] for name in self.inputs}
        self.writer.put({**places, **inputs, **values})


def sink_of(path: Path | None, form: str, subject, ready, task, axes, device):
    """Where portions go.

    Args:
        path: of the file, None for stdout.
        form: text, csv, json or hdf5.
        subject: the mechanism.
        ready: the states.
        task: what is computed.
        axes: of its result.
        device: where it is computed.
    """
    from simcli.analysis.mechanics.task_results import CsvWriter

    with_world = len(ready.numbers) > 1
    if path is not None and form == "hdf5":
        return Hdf5(path, task, axes, subject, ready, device, ("simcli", *sys.argv[1:]))
    if path is not None and form == "csv":
        return CsvWriter(path, task.outputs, axes, ready.source.has_times, with_world, bool(task.rows))
    return (Json if form == "json" else ResultText)(task, axes, with_world, path)
