"""Which parts of runs make a new one: what is asked for, checked, and handed to `records.writing.parts_file`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from simcli.analysis.channels import check_worlds
from simcli.analysis.diff.scenes_and_models import name_changes, scene_changes
from simcli.analysis.states.portions import frame_range
from simcli.errors import OutputError, UsageError, first_few
from simcli.records.contents.layout import CHANNELS, PARTS
from simcli.records.contents.provenance import Provenance
from simcli.records.drafts import claim_path, refuse_overwrite
from simcli.records.lock import is_being_written
from simcli.records.reading.reader import Trajectory
from simcli.records.writing.parts_file import Cut, Retold, RunPart, Seen, origin_text, write_parts
from simcli.spec.base.patterns import matching

_LEAN = 1e-9  # relative: times of frames are multiples of a step, rounded
_BATCH = "batch."  # keys of a scene that say how its worlds are drawn, and may differ between the parts


@dataclass(frozen=True)
class Slice:
    """What of a run is kept; None for all.

    Attributes:
        frames: START:STOP:STEP, as Python counts, or one number.
        since: [s], first time.
        until: [s], last time.
        worlds: their numbers.
        channels: groups, as in `output.channels`.
        select: patterns over bodies and joints.
    """

    frames: str | None = None
    since: float | None = None
    until: float | None = None
    worlds: tuple[int, ...] | None = None
    channels: tuple[str, ...] = ()
    select: tuple[str, ...] = ()


def write_slice(run: Trajectory, asked: Slice, path: Path, argv: Sequence[str], seen: Seen = lambda part: None) -> int:
    """Write a part of a run as a run; returns its number of frames.

    Raises:
        UsageError: there is no such frame, world, channel, body or joint.
        OutputError: it cannot be written.
        FileError: the run is damaged.
    """
    check_worlds(run, asked.worlds or ())
    worlds = np.arange(run.n_worlds) if asked.worlds is None else np.unique(asked.worlds)
    part = RunPart(run, worlds, _frames(run, asked))
    cut = Cut(_channels(run, asked.channels), _index(run, asked.select))
    source, made = run.provenance, _time_of_day()
    chosen = tuple(run.batch_numbers[world] for world in worlds) if len(worlds) < run.n_worlds else source.worlds
    origin = origin_text("slice", [part], argv, made)
    return write_parts(path, [part], cut, replace(source, origin=origin, worlds=chosen), seen)


def write_merge(runs: Sequence[Trajectory], path: Path, argv: Sequence[str], seen: Seen = lambda part: None) -> int:
    """Write the worlds of several runs of one scene as one run; returns its number of frames.

    Raises:
        UsageError: the runs do not fit together; the message says where.
        OutputError: it cannot be written.
        FileError: a run is damaged.
    """
    parts, source = _whole_runs(runs), runs[0].provenance
    if any(run.provenance.overrides != source.overrides or run.provenance.worlds != source.worlds for run in runs):
        source = replace(source, overrides=None, worlds=None)
    return _write_whole(path, parts, replace(source, origin=origin_text("merge", parts, argv, _time_of_day())), seen)


def write_run_of_parts(
    runs: Sequence[Trajectory], path: Path, worlds: tuple[int, ...] | None, seen: Seen, retold: Retold
) -> None:
    """Write the worlds of runs that were made as parts of one as that one.

    Args:
        runs: of one scene, with worlds of its batch that follow each other.
        path: of the file; what stands there is replaced.
        worlds: all of them, as of `Request.worlds`.
        seen: as of `write_parts`.
        retold: likewise.

    Raises:
        OutputError: it cannot be written.
        FileError: a run is damaged.
    """
    _write_whole(path, _whole_runs(runs), replace(runs[0].provenance, worlds=worlds), seen, retold)


def _whole_runs(runs: Sequence[Trajectory]) -> list[RunPart]:
    """All of several runs of one scene."""
    for k, other in enumerate(runs[1:], start=1):
        _check_fits(runs[0], other)
        for earlier in runs[:k]:
            _check_apart(earlier, other)
    return [RunPart(run, np.arange(run.n_worlds), range(run.n_frames)) for run in runs]


def _write_whole(path: Path, parts: Sequence[RunPart], source: Provenance, seen: Seen, retold: Retold = list) -> int:
    run = parts[0].run
    try:
        return write_parts(path, parts, Cut(run.channels, {}), source, seen, retold)
    except ValueError as error:
        raise UsageError(f"{run.path} and the others are of different mechanisms: /model/{error} differs") from error


def check_target(path: Path, inputs: Sequence[Path], force: bool) -> None:
    """Refuse to write over an input, a folder, or what is not meant to be replaced.

    Raises:
        UsageError: the path is that of an input.
        OutputError: it exists.
    """
    refuse_overwrite(path, inputs)
    if path.is_file() and is_being_written(path):
        raise OutputError(f"{path}: a run writes it now; choose another file with -o")
    claim_path(path, force, seeks=True)


def _time_of_day() -> str:
    """Date and time, UTC, to the second, as provenance has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _frames(run: Trajectory, asked: Slice) -> range:
    """Numbers of the frames that stay."""
    n = run.n_frames
    if not n:
        raise UsageError(f"{run.path} holds no frame yet")
    if asked.frames is not None and (asked.since is not None or asked.until is not None):
        raise UsageError("--frames and --from or --until contradict each other: give one of them")
    if asked.frames is not None:
        found = frame_range(asked.frames, n)
        if not len(found):
            raise UsageError(f"--frames {asked.frames}: {run.path} has no such frame; it has {n}, numbered from 0")
        return found
    time = run.time
    lean = _LEAN * max(abs(float(time[0])), abs(float(time[-1])))
    first = 0 if asked.since is None else int(np.searchsorted(time, asked.since - lean))
    last = n if asked.until is None else int(np.searchsorted(time, asked.until + lean, side="right"))
    if first >= last:
        raise UsageError(f"{run.path} has no frame in that time: its frames go from {time[0]:g} to {time[-1]:g} s")
    return range(first, last)


def _channels(run: Trajectory, wanted: Sequence[str]) -> tuple[str, ...]:
    """Channels that stay, of those that the file holds."""
    if not wanted:
        return run.channels
    for name in wanted:
        if name not in CHANNELS:
            near = get_close_matches(name, CHANNELS, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(CHANNELS)}"
            raise UsageError(f"--channel {name}: no group of channels, as `output.channels` of a scene has them: {hint}")
        if not set(PARTS.get(name, (name,))) & set(run.channels):
            raise UsageError(f"--channel {name}: {run.path} holds {', '.join(run.channels)}")
    kept = {part for name in wanted for part in PARTS.get(name, (name,))}
    return tuple(name for name in run.channels if name in kept)


def _index(run: Trajectory, patterns: Sequence[str]) -> dict[str, np.ndarray]:
    """Places of the bodies and joints that patterns mean, and of what belongs to them; none for all."""
    if not patterns:
        return {}
    names = (*run.bodies, *run.joints)
    for pattern in patterns:
        if not matching(names, pattern):
            near = get_close_matches(pattern, names, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise UsageError(f"--select {pattern}: matches no body and no joint of {run.path}{hint}")
    kept, n = np.array(matching(names, list(patterns)), np.int64), len(run.bodies)
    index = {"B": kept[kept < n], "J": kept[kept >= n] - n}
    for axis, starts in (("NQ", "q_start"), ("NV", "qd_start")):
        start = run.model[starts]
        parts = [np.arange(start[j], start[j + 1]) for j in index["J"]]
        index[axis] = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
    index["N"] = np.flatnonzero(np.isin(run.model["point_body"], index["B"]))
    if run.naturals:
        owner = [label.partition(":")[0] for label in run.naturals]  # as rod:2P.a.x
        index["G"] = np.flatnonzero(np.isin(owner, [run.bodies[b] for b in index["B"]]))
    return index


def _check_fits(a: Trajectory, b: Trajectory) -> None:
    """Refuse runs whose worlds are not of one scene, recorded alike.

    Raises:
        UsageError: with what differs.
    """
    both = f"{a.path} and {b.path}"
    keys = [change.key for change in scene_changes(a, b) if not change.key.startswith(_BATCH)]
    if keys:
        raise UsageError(f"{both} are not of one scene: {first_few(keys)} differ; `simcli diff` shows how")
    if name_changes(a, b):
        kinds = [change.kind for change in name_changes(a, b)]
        raise UsageError(f"{both} hold different {first_few(kinds)}: slice them to the same ones first")
    if tuple(a.params) != tuple(b.params):
        raise UsageError(
            f"{both} vary different parameters: {first_few(list(a.params)) or 'none'}, and "
            f"{first_few(list(b.params)) or 'none'}"
        )
    if a.channels != b.channels:
        raise UsageError(
            f"{both} hold different channels: {first_few(a.channels)}, and {first_few(b.channels)}: slice them first"
        )
    kinds = [run.column("diag/residual").dtype.name for run in (a, b)]
    if kinds[0] != kinds[1]:
        raise UsageError(f"{both} hold numbers of different types: {kinds[0]} and {kinds[1]}")
    if [one.layout for one in a.measures.values()] != [one.layout for one in b.measures.values()]:
        raise UsageError(f"{both} hold different measures: {first_few(list(a.measures))}, and {first_few(list(b.measures))}")
    if not (np.array_equal(a.time, b.time) and np.array_equal(a.step, b.step)):
        spans = [f"{run.n_frames} frames up to {run.time[-1]:g} s" if run.n_frames else "no frame" for run in (a, b)]
        raise UsageError(f"{both} have different times, {spans[0]} and {spans[1]}: slice them to the same frames first")
    if not a.n_frames:
        raise UsageError(f"{both} hold no frame yet")


def _check_apart(a: Trajectory, b: Trajectory) -> None:
    """Refuse runs that share a world: cut from one run, or made of one scene with one number in its batch.

    Raises:
        UsageError: with the world.
    """
    known = {origin: world for world, origin in enumerate(a.world_origins)}
    shared = [(known[origin], world) for world, origin in enumerate(b.world_origins) if origin in known]
    if not shared and a.provenance.seed == b.provenance.seed and not scene_changes(a, b):
        numbered = {number: world for world, number in enumerate(a.batch_numbers)}
        pairs = [(numbered[number], world) for world, number in enumerate(b.batch_numbers) if number in numbered]
        shared = [
            (mine, theirs)
            for mine, theirs in pairs
            if all(a.params[name][mine] == b.params[name][theirs] for name in a.params)
        ]
    if shared:
        mine, theirs = shared[0]
        more = f", and {len(shared) - 1} more" if len(shared) > 1 else ""
        raise UsageError(
            f"world {mine} of {a.path} is world {theirs} of {b.path}{more}: a merged file would hold it twice; "
            "cut one of them by `simcli slice --world`"
        )
