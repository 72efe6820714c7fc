"""A scene to its meaning, and to numbers."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.errors import FileError, SceneError, SimcliWarning, UsageError

if TYPE_CHECKING:
    from simcli.model.phases import Phase
    from simcli.model.tables.model import Model
    from simcli.spec import Document, SceneSpec
    from simcli.spec.document.overrides import Override
    from simcli.spec.document.scene_file import HeldScene


def read_scene(path: Path, sets: "Sequence[str | Override]" = ()) -> "tuple[Document, SceneSpec]":
    """Read a scene, or the one inside a run, with overrides and give it its meaning.

    Raises:
        SceneError: with every fault.
        FileError: it is an HDF5 file, but damaged or no run.
        UsageError: the run does not know the scene that it was made from; the file is a sweep.
    """
    from simcli.analysis.worlds.world_table import column_of
    from simcli.exchange.importing import load_scene
    from simcli.records.hdf5_bytes import is_hdf5
    from simcli.spec import load_held, resolve
    from simcli.spec.batches.sweep_file import is_sweep
    from simcli.spec.document.resolved_yaml import is_packed, unpacked

    if is_hdf5(path):
        held = scene_in(path)
        document = load_held(held, str(path), sets, column_of)
    elif is_packed(path):
        document = load_held(unpacked(path.read_bytes()), str(path), sets, column_of)
    else:
        document = load_scene(path, sets, column_of)
    if is_sweep(document):
        raise UsageError(f"{path}: is a sweep file, not a scene: simcli sweep run {path} -o DIR")
    return document, resolve(document)


def scene_in(path: Path) -> "HeldScene":
    """The scene inside a run, and what it was run with.

    Raises:
        FileError: the file is damaged or no run.
        UsageError: the run does not know the scene that it was made from.
    """
    from simcli.records.contents.provenance import file_problems
    from simcli.records.reading.reader import open_trajectory
    from simcli.spec.document.overrides import Override
    from simcli.spec.document.scene_file import HeldScene

    with open_trajectory(path) as run:
        known = run.provenance
    if known.overrides is None and known.origin:
        raise UsageError(f"{path}: is put together from several runs, whose options differ: give one of them, or the scene")
    if known.overrides is None:
        raise UsageError(
            f"{path}: does not hold the options of its run beside the scene, as files of this version do: "
            "give the scene file"
        )
    if problems := file_problems(known):
        raise FileError(f"{path}: is damaged: {problems[0]}; `simcli check` lists the damage")
    files = {name: data for name, _, data in known.files}
    return HeldScene(known.scene_source, files, tuple(Override(*one) for one in known.overrides), known.worlds)


def build_model(document: "Document", spec: "SceneSpec", worlds: Sequence[int] | None = (0,)) -> "Model":
    """Turn a scene into numbers as they are at the start: some worlds of its batch by their numbers, None for all.

    Raises:
        SceneError: the scene makes no mechanism, at the start or after an event.
    """
    return build_run(document, spec, worlds)[0].model


def build_run(
    document: "Document", spec: "SceneSpec", worlds: Sequence[int] | None = (0,), tries_all: bool = False
) -> "list[Phase]":
    """Turn a scene into numbers, the stretch before the first event and those after each; else as `build_model`.

    Raises:
        SceneError: the scene makes no mechanism, at the start or after an event.
    """
    from simcli.model.phases import build_phases

    try:
        phases = build_phases(document, spec, worlds, tries_all)
        if not tries_all:  # of a sweep it is judged by all its cases
            refuse_unread(document, spec)
    except SceneError as error:
        error.document = document  # for the snippets
        raise
    return phases


def refuse_unread(document: "Document", spec: "SceneSpec") -> None:
    """Refuse a scene that varies what nothing reads; a warning where `--set` sets such.

    Raises:
        SceneError: with a fault for each path.
    """
    from simcli.model.unread import unread_sets, unread_varied

    for text in unread_sets(document, spec):
        warnings.warn(text, SimcliWarning, stacklevel=2)
    if faults := unread_varied(document, spec):
        raise SceneError(faults, document)
