"""Names of cases: digests of all that decides about the numbers of a result; which simcli this is, on which they rest.

Workers elsewhere must have the same one.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from simcli.source_digest import code_digest
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
    from simcli.source_digest import code_digest

    return f"simcli {simcli.__version__}, code {code_digest()[:12]}"


def device_class(device: str, precision: str) -> str:
    """What `auto` is on this machine, as "cpu" or "cuda"; another device itself, without a look at whether it is there.

    Raises:
        UsageError: there is no such device.
    """
    from simcli.kernels.device.runtime import ARCHS, choose_arch

    return device if device in ARCHS else choose_arch(device, precision)
