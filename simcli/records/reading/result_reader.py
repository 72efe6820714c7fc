"""Results: a file of `simcli fk`, `ik`, `id`, `mass-matrix` or `jacobian`, by name.

with simcli.open("efforts.h5") as result:
result["joint_effort"]                  # (S, NV)
result.labels("joint_effort")           # (("pin", "elbow"),): names along the axes after the state
"""

import os
from functools import cached_property
from pathlib import Path

import h5py
import numpy as np

from simcli.errors import FileError, UsageError
from simcli.records.contents.layout import COMPONENTS
from simcli.records.contents.provenance import Provenance, provenance_problems, read_provenance
from simcli.records.contents.results import (
    FIELDS,
    LABELLED,
    OFFSETS,
    OWN_AXES,
    RESULT_FORMAT,
    RESULT_SCALES,
    RESULT_UNITS,
    ResultAxes,
)
from simcli.records.reading.guard import check_objects, check_path, names, open_plainly, reading
from simcli.records.reading.named import unknown
from simcli.records.reading.reader import Trajectory, open_trajectory
from simcli.records.reading.series import closed

_MARK = "simcli_result"  # attribute that only results have


class Results:
    """A result: S states and what was computed for them.

    Attributes:
        path: of the file.
        kind: the command, as "fk".
        axes: labels, units and offsets of the mechanism.
        n_states: S.
        fields: what it holds, names of `results.FIELDS`.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path: str = os.fspath(path)
        check_path(Path(path))
        self._handle = open_plainly(Path(path))
        try:
            with reading(self.path):
                _check_format(self._handle, self.path)
                check_objects(self._handle, Path(path))
                self.kind = str(self._handle.attrs["kind"])
                group = self._handle["states"]
                self.axes = _axes(group, self.path)
                self.n_states = len(group["state"])
                self.fields = tuple(name for name in FIELDS if name in group)
                for name in self.fields:
                    self._check(name, group[name])
        except FileError:
            self._handle.close()
            raise

    def __enter__(self) -> "Results":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self._handle:
            return f"<closed result {self.path}>"
        return f"<result {self.path}: {self.kind} of {self.n_states} states, {', '.join(self.fields)}>"

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def __getitem__(self, name: str) -> np.ndarray:
        """A field, (S, ...).

        Raises:
            UsageError: the file does not hold it, or is closed.
        """
        if not self._handle:
            raise closed(self.path)
        if name not in self.fields:
            raise unknown("field", name, self.fields)
        with reading(f"{self.path}: /states/{name}"):
            return self._handle["states"][name][...]

    def labels(self, name: str) -> tuple[tuple[str, ...], ...]:
        """Names along the axes of a field after the state."""
        return tuple(self.axes.label[axis] for axis in FIELDS[name].axes[1:])

    def named(self, name: str) -> np.ndarray:
        """A field of whole numbers that stand for names, as these names; "" for none.

        Raises:
            UsageError: the file does not hold it, or its numbers are no names.
            FileError: a number stands for no name.
        """
        numbers = self[name]
        if not FIELDS[name].names:
            raise UsageError(f"`{name}` holds numbers, no names")
        words = np.array((*self.axes.label[FIELDS[name].names], ""), object)
        if numbers.size and not -1 <= numbers.min() <= numbers.max() < len(words) - 1:
            raise FileError(f"{self.path}: /states/{name} has numbers beyond its {len(words) - 1} names")
        return words[numbers]

    def close(self) -> None:
        """Close the file."""
        self._handle.close()

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self.axes.label["J"]

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies that the file keeps."""
        return self.axes.label["B"]

    @cached_property
    def provenance(self) -> Provenance:
        """Where the file comes from."""
        with reading(self.path):
            return read_provenance(self._handle["provenance"])

    def problems(self) -> list[str]:
        """What is wrong with the file beyond its layout: checksums of its fields and of the scene, one line each."""
        found = []
        for name in self.fields:
            try:
                self[name]
            except FileError as error:
                found.append(str(error))
        with reading(self.path):
            return found + provenance_problems(self._handle["provenance"])

    def info(self) -> dict[str, object]:
        """What is in the file, as plain numbers and strings."""
        source = self.provenance
        with reading(self.path):
            states, title = str(self._handle["provenance"].attrs["states"]), str(self._handle.attrs["title"])
        return {
            "path": self.path,
            "bytes": os.path.getsize(self.path),
            "kind": self.kind,
            "title": title,
            "states": self.n_states,
            "source": states,
            "fields": list(self.fields),
            "bodies": list(self.bodies),
            "joints": list(self.joints),
            "argv": list(source.argv),
            "device": source.device,
            "created_utc": source.created_utc,
            "versions": source.versions,
        }

    def _check(self, name: str, dataset: h5py.Dataset) -> None:
        """Refuse types and shapes that differ from the layout."""
        shape = (self.n_states, *self.axes.tail(FIELDS[name]))
        if dataset.dtype != np.dtype(f"<{FIELDS[name].kind}") or dataset.shape != shape:
            raise FileError(f"{self.path}: /states/{name} has type {dataset.dtype}, shape {dataset.shape}, not {shape}")


def _check_format(file: h5py.File, path: str) -> None:
    version = file.attrs.get(_MARK)
    if version is None:
        raise FileError(f"{path}: is an HDF5 file, but no result of simcli (it lacks the attribute {_MARK})")
    if np.shape(version) != (2,) or not 1 <= int(version[0]) <= RESULT_FORMAT[0]:
        raise FileError(
            f"{path}: has format {np.ravel(version)[:2].tolist()}, this version reads up to "
            f"{list(RESULT_FORMAT)}; update simcli"
        )


def _axes(group: h5py.Group, path: str) -> ResultAxes:
    held = (*LABELLED, *(axis for axis in OWN_AXES if RESULT_SCALES[axis] in group))
    label = {axis: names(group[RESULT_SCALES[axis]]) for axis in held}
    offset = {name: group[name][...] for name in OFFSETS}
    for name, axis in OFFSETS.items():
        start = offset[name]
        if len(start) != len(label["J"]) + 1 or start[0] != 0 or start[-1] != len(label[axis]) or (np.diff(start) < 0).any():
            raise FileError(f"{path}: /states/{name} is not a list of rising offsets up to {len(label[axis])}")
    unit = {name: names(group[name]) for name in RESULT_UNITS}
    return ResultAxes({**label, **COMPONENTS}, unit, offset, group["joint_type"][...])


def is_result(path: str | os.PathLike[str]) -> bool:
    """True for results, False for runs and for files that are neither.

    Raises:
        FileError: it is missing or no HDF5 file.
    """
    check_path(Path(path))
    with reading(path), open_plainly(Path(path)) as file:
        return _MARK in file.attrs


def open_any(path: str | os.PathLike[str]) -> Trajectory | Results:
    """Open a file of simcli: a run as a Trajectory, a result as Results.

    Raises:
        FileError: it is missing, damaged, hostile or not made by simcli.
    """
    return Results(path) if is_result(path) else open_trajectory(path)
