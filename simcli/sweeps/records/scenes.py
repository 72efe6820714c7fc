"""The scenes of a sweep: a sweep file read, every combination of its choices understood, and the names of its cases.

Workers elsewhere must have the same one.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simcli.errors import Fault, SceneError
from simcli.spec.base.fault_list import in_order
from simcli.spec.batches.sweep_file import Structure, Sweep, is_sweep, moved_paths, read_sweep
from simcli.spec.document.overrides import Override

if TYPE_CHECKING:
    from simcli.model.tables.model import Model
    from simcli.spec import Document, SceneSpec

NAME_BYTES = 10  # 20 hexadecimal digits: among 2^24 cases two have the same name once in 10^9 sweeps


def case_ids(document: "Document", spec: "SceneSpec", device: str, worlds: Sequence[int]) -> list[str]:
    """Names of worlds of a batch, whatever their number and the others are.

    Args:
        document: the scene as written.
        spec: it resolved.
        device: class of device, as "cpu".
        worlds: numbers in the batch.
    """
    from simcli.spec import world_seeds, world_values

    base, seeds = _base(document, spec, device), world_seeds(spec)
    values = [sorted(one.items()) for one in world_values(spec)]
    if spec.batch.table is not None and spec.batch.table.read.seeds is None:
        seeds = [seeds[k] for k in _counts(values)]  # a row is the same case wherever in its table it stands
    found = []
    for world in worlds:
        name = base.copy()
        name.update(json.dumps([values[world], seeds[world]]).encode())
        found.append(name.hexdigest())
    return found


def _counts(values: Sequence[list]) -> list[int]:
    """How many of the entries before each are equal to it."""
    seen: Counter[str] = Counter()
    found = []
    for value in values:
        key = json.dumps(value)
        found.append(seen[key])
        seen[key] += 1
    return found


def digest_of(names: Iterable[str]) -> str:
    """Name of some cases in their order."""
    whole = hashlib.blake2b(digest_size=NAME_BYTES)
    for name in names:
        whole.update(name.encode())
    return whole.hexdigest()


def _base(document: "Document", spec: "SceneSpec", device: str) -> hashlib.blake2b:
    """Digest of what all worlds of a batch share: scene, files, code, precision, class of device."""
    from simcli.records.contents.provenance import versions_of
    from simcli.release import code_digest
    from simcli.spec import resolved_yaml
    from simcli.spec.batches.sample_files import named_files
    from simcli.spec.schema.shape import LookSpec

    # What changes no number: the batch, whose values are those of the worlds, words, pictures, verdicts.
    idle = {"batch": type(spec.batch)(), "look": LookSpec(), "name": "", "description": "", "expect": ()}
    bare = spec.model_copy(update=idle)
    facts = {
        **versions_of(),
        "code": code_digest(),
        "precision": spec.solver.precision,
        "device": device,
        "scene": resolved_yaml(bare),
    }
    whole = hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=NAME_BYTES)
    for _, name in sorted(named_files(spec), key=lambda one: one[1]):
        whole.update(f"\0{name}\0".encode() + hashlib.sha256((document.folder / name).read_bytes()).digest())
    return whole


@cache
def own_version() -> str:
    """Version of simcli, and digest of the code that decides what the bytes of a result are."""
    import simcli
    from simcli.release import code_digest

    return f"simcli {simcli.__version__}, code {code_digest()[:12]}"


def device_class(device: str, precision: str) -> str:
    """What `auto` is on this machine, as "cpu" or "cuda"; another device itself, without a look at whether it is there.

    Raises:
        UsageError: there is no such device.
    """
    from simcli.kernels.device.runtime import ARCHS, choose_arch

    return device if device in ARCHS else choose_arch(device, precision)


@dataclass(frozen=True)
class Understood:
    """One structure of a sweep.

    Attributes:
        structure: its choices.
        document: the scene as written, with its overrides.
        spec: it resolved.
        model: its first world.
    """

    structure: Structure
    document: "Document"
    spec: "SceneSpec"
    model: "Model"


def read_scenes(path: Path, choices: Mapping[str, object] | None = None) -> Sweep:
    """A sweep file; or the sweep of the batch of a scene, which has no choices.

    Args:
        path: YAML of either, a model of another format, a packed scene, or a run with a scene inside.
        choices: as in a sweep file, beside its own.

    Raises:
        SceneError: the sweep file is invalid, or the choices are.
    """
    from simcli.exchange.importing import is_foreign
    from simcli.records.hdf5_bytes import is_hdf5
    from simcli.spec import document_of_text, load_document
    from simcli.spec.base.nodes import plain
    from simcli.spec.document.resolved_yaml import flow_text, is_packed

    document = None if is_hdf5(path) or is_foreign(path) or is_packed(path) else load_document(path)
    if document is not None and is_sweep(document) and not choices:
        return read_sweep(document)
    data: Any = {"sweep": 1, "scene": path.name}
    if document is not None and is_sweep(document):
        data = plain(document.root)
    whole = {**data, "choices": {**(data.get("choices") or {}), **(choices or {})}}
    return read_sweep(document_of_text(flow_text(whole), str(path)))


def understood(sweep: Sweep, sets: Sequence[Override | str] = ()) -> Iterator[Understood]:
    """Every structure of a sweep, one after the other: read, resolved, and the first of its worlds built.

    Raises:
        SceneError: at the end, with the faults of all of them; one that not all of them have says which have it.
    """
    faults: dict[Fault, list[Structure]] = {}
    unread: dict[str, Fault] | None = None  # what nothing reads in the structures so far
    document = sweep.document
    for structure in sweep.structures:
        try:
            one = _understood(structure, sets)
        except SceneError as error:
            for fault in dict.fromkeys(moved_paths(fault, structure, document) for fault in error.faults):
                faults.setdefault(fault, []).append(structure)
            if error.document is not None:
                document.know(error.document)
        else:
            unread = _still_unread(one, unread, document)
            yield one
    for fault in (unread or {}).values():
        faults.setdefault(fault, list(sweep.structures))
    if faults:
        found = [_named(fault, which, sweep.structures) for fault, which in faults.items()]
        raise SceneError(in_order(found), document)


def _understood(structure: Structure, sets: Sequence[Override | str]) -> Understood:
    from simcli.pipeline import build_run, read_scene

    document, spec = read_scene(structure.scene, (*structure.sets, *sets))
    return Understood(structure, document, spec, build_run(document, spec, (0,), tries_all=True)[0].model)


def _still_unread(one: Understood, before: dict[str, Fault] | None, document: "Document") -> dict[str, Fault]:
    """What the sweep varies and nothing reads in any structure up to this one: fault by path."""
    from simcli.model.unread import unread_varied

    if before == {}:
        return {}
    found = {fault.message: moved_paths(fault, one.structure, document) for fault in unread_varied(one.document, one.spec)}
    return {text: fault for text, fault in found.items() if before is None or text in before}


def _named(fault: Fault, which: list[Structure], structures: Sequence[Structure]) -> Fault:
    """A fault that not all structures have, with the choice that makes it, or else the first structure that has it."""
    if len(which) == len(structures):
        return fault
    choices = [label for label in which[0].labels if [one for one in structures if label in one.labels] == which]
    more = f" and {len(which) - 1} more" if len(which) > 1 else ""
    words = f"{choices[0][0]} = {choices[0][1]}" if choices else which[0].text + more
    return Fault(fault.code, f"{fault.message} (with {words})", fault.where, fault.hint, fault.severity)
