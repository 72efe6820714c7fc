"""The scenes of a sweep: a sweep file read, and every combination of its choices understood."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.errors import Fault, SceneError
from simcli.spec.overrides import Override

if TYPE_CHECKING:
    from simcli.model.tables import Model
    from simcli.spec import Document, SceneSpec
    from simcli.spec.sweep_file import Structure, Sweep


@dataclass(frozen=True)
class Understood:
    """One structure of a sweep.

    Attributes:
        structure: its choices.
        document: the scene as written, with its overrides.
        spec: it resolved.
        model: its first world.
    """

    structure: "Structure"
    document: "Document"
    spec: "SceneSpec"
    model: "Model"


def read(path: Path, choices: Mapping[str, object] | None = None) -> "Sweep":
    """A sweep file; or the sweep of the batch of a scene, which has no choices.

    Args:
        path: YAML of either, or a run with a scene inside.
        choices: as in a sweep file, beside its own.

    Raises:
        SceneError: the sweep file is invalid, or the choices are.
    """
    from simcli.records.superblock import is_hdf5
    from simcli.spec import document_of_text, load_document
    from simcli.spec.nodes import plain
    from simcli.spec.resolved import flow_text
    from simcli.spec.sweep_file import is_sweep, read_sweep

    document = None if is_hdf5(path) else load_document(path)
    if document is not None and is_sweep(document) and not choices:
        return read_sweep(document)
    data: dict = {"sweep": 1, "scene": path.name}
    if document is not None and is_sweep(document):
        data = plain(document.root)
    whole = {**data, "choices": {**(data.get("choices") or {}), **(choices or {})}}
    return read_sweep(document_of_text(flow_text(whole), str(path)))


def understood(sweep: "Sweep", sets: Sequence[Override | str] = ()) -> list[Understood]:
    """Every structure of a sweep: read, resolved, and the first of its worlds built.

    Raises:
        SceneError: with the faults of all of them; one that not all of them have says which have it.
    """
    found = list(_each(sweep, sets))
    faults: dict[Fault, list[str]] = {}
    document = sweep.document
    for structure, one in found:
        if isinstance(one, SceneError):
            for fault in dict.fromkeys(moved_all(one, structure)):
                faults.setdefault(fault, []).append(structure.text)
            if one.document is not None:
                document.know(one.document)
    if faults:
        error = SceneError([_named(fault, which, len(found)) for fault, which in faults.items()])
        error.document = document
        raise error
    return [one for _, one in found if isinstance(one, Understood)]


def moved_all(error: SceneError, structure: "Structure") -> list[Fault]:
    """The faults of a structure, at the places of the sweep file that they come from."""
    from simcli.spec.sweep_file import moved

    return [moved(fault, structure) for fault in error.faults]


def _each(sweep: "Sweep", sets: Sequence[Override | str]) -> "Iterator[tuple[Structure, Understood | SceneError]]":
    from simcli.pipeline import build_run, read_scene

    for structure in sweep.structures:
        try:
            document, spec = read_scene(structure.scene, (*structure.sets, *sets))
            model = build_run(document, spec, (0,), tries_all=True)[0].model
            yield structure, Understood(structure, document, spec, model)
        except SceneError as error:
            yield structure, error


def _named(fault: Fault, which: list[str], n_structures: int) -> Fault:
    """A fault that not all structures have, with the first that has it."""
    if len(which) == n_structures:
        return fault
    more = f" and {len(which) - 1} more" if len(which) > 1 else ""
    return Fault(fault.code, f"{fault.message} (with {which[0]}{more})", fault.where, fault.hint, fault.severity)
