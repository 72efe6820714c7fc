"""A state of a simulation that was saved, in memory or in a file.

A file is that of a checkpoint (records/checkpoint.py): arrays without pickles, and facts that must be the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simcli.errors import FileError, OutputError, UsageError
from simcli.job import Failure, Job
from simcli.model.tables.model import Model
from simcli.records.checkpoint import Checkpoint, read_checkpoint, write
from simcli.records.contents.provenance import sha256
from simcli.records.drafts import output_path
from simcli.solvers.run.host_copy import SavedState
from simcli.source_digest import code_digest

_STATE = ("packs", "status", "began", "episode", "entered")
_PARAMETER, _CONSTANTS = "parameter:", "constants:"
_WORDS = {"code": "the code of simcli", "scene": "the scene, or an option,"}


@dataclass(frozen=True)
class Snapshot:
    """A state of a simulation, for `Simulation.restore`.

    Attributes:
        owner: the simulation; no later one has this token.
        state: what steps to come depend on.
        controls: (W, K), values of signals.
        parameters: by path.
        model: with them; of a file, which has none, that of the simulation at hand.
        failures: so far.
    """

    owner: str
    state: SavedState
    controls: np.ndarray
    parameters: dict[str, np.ndarray]
    model: Model
    failures: tuple[Failure, ...]


def facts_of_job(job: Job, device, names: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same for a snapshot to go on to the same bits.

    Args:
        job: of the simulation.
        device: of it.
        names: what it was opened with, by name.
    """
    own = {"scene": sha256(job.resolved), "worlds": [int(number) for number in job.numbers], "device": device.arch,
           "lanes": device.lanes, "precision": device.precision, "code": code_digest()}  # fmt: skip
    return own | {name: list(value) for name, value in names.items()}


def write_snapshot(path: Path, snapshot: Snapshot, facts: Mapping[str, Any], force: bool) -> None:
    """Write a snapshot to a file.

    Args:
        path: of it.
        snapshot: what is written.
        facts: see `facts_of_job`.
        force: whether an existing file is replaced.

    Raises:
        OutputError: the file exists, or cannot be written.
    """
    path = output_path(path)
    if path.exists() and not force:
        raise OutputError(f"save: {path} exists; give force=True to replace it, or the name of another file")
    state = snapshot.state
    arrays = {name: getattr(state, name) for name in _STATE} | {"controls": snapshot.controls}
    arrays |= {f"{_CONSTANTS}{what}": values for what, values in state.constants.items()}
    arrays |= {f"{_PARAMETER}{name}": values for name, values in snapshot.parameters.items()}
    own = {**facts, "n_phases": len(state.phases), "failures": [asdict(one) for one in snapshot.failures]}
    try:
        write(path, Checkpoint(1, state.n_steps, 0, arrays, own))
    except OSError as error:
        raise OutputError(f"save: {path}: {error.strerror or error}") from None


def read_snapshot(path: Path, facts: Mapping[str, Any], owner: str, model: Model,
                  phases_left: Callable) -> Snapshot:  # fmt: skip
    """A snapshot of a file; its state has no `present`.

    Args:
        path: of it.
        facts: see `facts_of_job`, of the simulation at hand.
        owner: that simulation.
        model: of it.
        phases_left: gives those that are to come, from how many these are, and from the steps before worlds began.

    Raises:
        UsageError: it is of another scene, or of other circumstances.
        FileError: there is no such file, or it is damaged.
    """
    found = read_checkpoint(path) if path.is_file() else None
    if found is None or "n_phases" not in found.facts:
        raise FileError(f"restore: {path}: " + ("is no whole snapshot" if path.exists() else "there is no such file"))
    for name, value in facts.items():
        if found.facts.get(name) != value:
            shown = "" if name in _WORDS else f": {found.facts.get(name)} then, {value} now"
            raise UsageError(f"restore: {path}: cannot go on to the same bits, {_WORDS.get(name, name)} is different{shown}")
    arrays = found.arrays
    named = lambda lead: {name.removeprefix(lead): values for name, values in arrays.items() if name.startswith(lead)}  # noqa: E731
    packs, status, began, episode, entered = (arrays[name] for name in _STATE)
    left = phases_left(int(found.facts["n_phases"]), int(began[0]))
    state = SavedState(packs, named(_CONSTANTS), status, found.n_steps, began, episode, entered, left, None)
    failures = tuple(Failure(**one) for one in found.facts["failures"])
    return Snapshot(owner, state, arrays["controls"], named(_PARAMETER), model, failures)
