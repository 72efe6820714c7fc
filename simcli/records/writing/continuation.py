"""May an output be written, and where does an unfinished one go on?

HDF5 is imported where a file is opened: a new run needs it in its recorder only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simcli.errors import FileError, OutputError
from simcli.model.snapshot import Event
from simcli.records import checkpoint as checkpoints
from simcli.records.checkpoint import Checkpoint
from simcli.records.contents.layout import ORPHANED
from simcli.records.contents.provenance import sha256
from simcli.records.drafts import claim_path
from simcli.records.hdf5_bytes import SIGNATURE
from simcli.records.lock import is_being_written

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

UNFINISHED = ("running", "stopped", ORPHANED)
_MOST_NAMED = 5  # worlds of a message


@dataclass(frozen=True)
class Continuation:
    """An unfinished output and the checkpoint that it goes on from.

    Attributes:
        path: of the output.
        uuid: its name, which it keeps.
        checkpoint: state, and how many frames stay.
        events: what happened up to there.
        wall: [s], wall time that its run has taken.
    """

    path: Path
    uuid: str
    checkpoint: Checkpoint
    events: list[Event]
    wall: float

    @property
    def n_frames(self) -> int:
        """Frames that stay."""
        return self.checkpoint.n_frames


def holds_something(path: Path) -> bool:
    """Whether there is a file with anything in it: an empty one is as none, and no run goes on there."""
    return path.exists() and not (path.is_file() and path.stat().st_size == 0)


def claim_output(path: Path, replace: bool) -> None:
    """Refuse to write over anything that is not meant to be replaced.

    Raises:
        OutputError: the file exists and `replace` is not given, or it is no HDF5 file and not empty.
    """
    claim_path(path, force=True, seeks=True)
    if holds_something(path):
        with path.open("rb") as file:
            is_output = file.read(len(SIGNATURE)) == SIGNATURE
        if not is_output:
            raise OutputError(f"{path}: exists and is no HDF5 file, so it will not be replaced; choose another -o")
        if not replace and _status(path) in UNFINISHED and not is_being_written(path):
            raise OutputError(f"{path}: holds an unfinished run; add --resume to continue it, --restart to begin anew")
    claim_path(path, replace)


def _status(path: Path) -> str:
    from simcli.records.reading.reader import open_trajectory

    try:
        with open_trajectory(path) as run:
            return run.status
    except FileError:
        return ""


def is_finished(path: Path, scene_resolved: str, worlds: Sequence[int]) -> bool:
    """Whether there is an output of this scene whose run has ended by itself.

    Args:
        path: of the output.
        scene_resolved: the scene.
        worlds: numbers in the batch of those that are run.

    Raises:
        OutputError: there is a file, but of another scene, or of other worlds.
        FileError: there is a file, but damaged or not ours.
    """
    from simcli.records.reading.reader import open_trajectory
    from simcli.spec.document.renewal import renewed_text

    if not path.exists():
        return False
    with open_trajectory(path) as run:
        if run.provenance.origin:
            raise OutputError(
                f"{path}: was cut from other files or put together from them, so no run can go on in it; "
                "choose another file with -o, or --restart to begin anew in its place"
            )
        stored, _ = renewed_text(run.provenance.scene_resolved)  # of an older version
        if sha256(stored) != sha256(scene_resolved):
            raise OutputError(f"{path}: is of another scene, or of other options; --restart begins anew")
        if run.batch_numbers != tuple(worlds):
            raise OutputError(
                f"{path}: holds {_some(run.batch_numbers)} of the batch, but this run is of {_some(worlds)}; "
                "--restart begins anew"
            )
        return run.status not in UNFINISHED


def _some(worlds: Sequence[int]) -> str:
    """`worlds 3, 4, 5, ... (12 in all)`."""
    more = f", ... ({len(worlds)} in all)" if len(worlds) > _MOST_NAMED else ""
    return f"world{'s' * (len(worlds) > 1)} {', '.join(map(str, worlds[:_MOST_NAMED]))}{more}"


def find_continuation(path: Path, facts: Mapping[str, Any]) -> Continuation | None:
    """Where an unfinished output goes on; None if it has no usable checkpoint, and its run must begin anew.

    Args:
        path: an output whose scene is the one at hand (`is_finished`).
        facts: circumstances as of `Checkpoint`, those of this process.

    Raises:
        OutputError: it was made in other circumstances, in which the bytes may differ, or it is being written.
        FileError: a committed row is damaged.
    """
    from simcli.records.integrity.verification import verify
    from simcli.records.reading.reader import open_trajectory

    if is_being_written(path):
        raise OutputError(f"{path}: another simcli writes this file")
    with open_trajectory(path) as run:
        found = checkpoints.newest(path, run.n_frames, int(run._file["run"].attrs["frames_per_commit"]))
        if found is None or found.facts.get("uuid") != run.attributes["uuid"]:
            return None
        _refuse_other(path, found.facts, {**facts, "uuid": run.attributes["uuid"]})
        problems = verify(path)
        if problems:
            raise FileError(f"{problems[0]}; --restart begins anew")
        return Continuation(path, run.attributes["uuid"], found, run.events[: found.n_events], _wall(run))


def _wall(run: "Trajectory") -> float:
    return float(run._file["run/wall_s"][()])


def _refuse_other(path: Path, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    words = {"code": "the code of simcli", "uuid": "its file"}
    for name, value in ours.items():
        if theirs.get(name) != value:
            shown = "" if name in words else f": {theirs.get(name)} then, {value} now"
            changed = words.get(name, name)
            raise OutputError(f"{path}: cannot go on to the same bytes, {changed} changed{shown}; --restart begins anew")
