"""Is a file whole (`verify`), and what is in it (`file_info`)."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simcli.errors import FileError
from simcli.records.contents.digest import COUNTERS, Digest, are_counters_sound, is_as_sealed, static_digest
from simcli.records.contents.layout import ORPHANED, STATUSES
from simcli.records.contents.measures import DIGEST_PLACE, are_measures_sound
from simcli.records.contents.provenance import provenance_problems
from simcli.records.lock import is_being_written
from simcli.records.reading.guard import reading
from simcli.records.reading.reader import Trajectory, open_trajectory
from simcli.records.reading.result_reader import Results, is_result
from simcli.records.reading.series import part_of_dataset
from simcli.records.reading.tiles import committed_length, held, portions


def verify(path: str | os.PathLike) -> list[str]:
    """Every problem: structure, checksums of committed chunks, scene texts, model, digest, measures, order of time.

    Returns:
        One line per problem; empty if the file is whole.
    """
    grows = is_being_written(Path(path))
    found = _problems(path)
    return _problems(path) if found and grows else found  # its writer may have been in the way


def _problems(path: str | os.PathLike) -> list[str]:
    try:
        run = open_trajectory(path)
    except FileError as error:
        return [str(error)]
    with run:
        checks = (_text_problems, _counter_problems, _row_problems, _measure_problems, _order_problems)
        return [problem for check in checks for problem in _guarded(check, run)]


def _guarded(check, run: Trajectory) -> list[str]:
    """Problems of one check; an exception is one more problem: HDF5 raises nearly every type on damaged metadata."""
    try:
        return list(check(run))
    except Exception as error:
        return [f"{run.path}: {check.__name__.strip('_').replace('_', ' ')}: {str(error) or type(error).__name__}"]


def _text_problems(run: Trajectory) -> Iterator[str]:
    group = run._file["provenance"]
    yield from provenance_problems(group)
    if static_digest(run._file) != group.attrs["static_digest"]:
        yield "/model or /params does not match its digest"
    if not is_as_sealed(run._file):
        yield "texts, units or structure of the file are not those that were written"


def _counter_problems(run: Trajectory) -> Iterator[str]:
    if run.status not in (*STATUSES, ORPHANED):
        yield f"/run/status is {run.status!r}"
    if run.digest is None and run.n_frames:
        yield f"/run: no digest belongs to the {run.n_frames} committed frames"
    if not are_counters_sound(run._file["run"]):
        yield f"/run/{COUNTERS}: status, counters or wall time are not those that were written"


def _row_problems(run: Trajectory) -> Iterator[str]:
    """Read everything, which checks fletcher32, and compare the digest."""
    rows, counters = held(run), run.counters()
    digest, whole = Digest(row.path for row in rows), True
    for row in rows:
        n = committed_length(row, run.n_frames, run.n_worlds, counters)
        for first, last in portions(run._file[row.path], n):
            try:
                digest.add(row.path, np.ascontiguousarray(part_of_dataset(run._file[row.path], slice(first, last))))
            except (OSError, RuntimeError):
                whole = False
                yield f"/{row.path}: a chunk in rows {first} to {last - 1} does not match its checksum"
    if whole and counters["digest"] is not None and digest.value().hex() != counters["digest"]:
        yield "/run/digest: the committed rows are not the ones that were written"


def _measure_problems(run: Trajectory) -> Iterator[str]:
    if not are_measures_sound(run._file):
        yield f"/{DIGEST_PLACE}: the measures are not the ones that were written"


def _order_problems(run: Trajectory) -> Iterator[str]:
    for name, values in (("time", run.time), ("step", run.step)):
        if (~(np.diff(values) > 0)).any():  # also catches NaN
            frame = int(np.argmin(np.diff(values) > 0)) + 1
            yield f"/frames/{name} does not increase at frame {frame}"
    if "contacts/offset" in run._file and run.digest:
        offset = run._file["contacts/offset"][: run.n_frames * run.n_worlds + 1]
        n_contacts = run.counters()["contacts"]
        if len(offset) and (offset[0] != 0 or (np.diff(offset) < 0).any() or offset[-1] != n_contacts):
            yield "/contacts/offset does not increase from 0 to the number of contacts"


def file_info(path: str | os.PathLike) -> dict:
    """What is in a file, as plain numbers and strings; reads counters and names only.

    Raises:
        FileError: it is missing, damaged, hostile or not made by simcli.
    """
    with open_trajectory(path) as run, reading(path):
        time = run._file["frames/time"]
        n = run.n_frames
        provenance = run.provenance
        return {
            "path": run.path,
            **run.attributes,
            "status": run.status,
            "bytes": os.path.getsize(path),
            "frames": n,
            "worlds": run.n_worlds,
            "batch_worlds": None if run.batch_numbers == tuple(range(run.n_worlds)) else list(run.batch_numbers),
            "time": [float(time[0]), float(time[n - 1])] if n else [],
            "steps": int(run._file["frames/step"][n - 1]) if n else 0,
            "bodies": list(run.bodies),
            "joints": list(run.joints),
            "points": list(run.points),
            "naturals": list(dict.fromkeys(label.split(".")[0] for label in run.naturals)),
            "coordinates": {"q": len(run._axes.label["NQ"]), "qd": len(run._axes.label["NV"])},
            "channels": list(run.channels),
            "dtype": _float_type(run),
            "params": list(run.params),
            "measures": {
                name: {
                    "quantity": one.layout.quantity,
                    "reduction": one.layout.reduction,
                    "unit": one.layout.unit,
                    "meaning": one.layout.text,
                }
                for name, one in run.measures.items()
            },
            "error_estimate": _estimate(run),
            "contacts": run.contacts_until(n),
            "events": _event_summary(run),
            "wall_s": float(run._file["run/wall_s"][()]),
            "digest": run.digest,
            "provenance": {
                "argv": list(provenance.argv),
                "device": provenance.device,
                "precision": provenance.precision,
                "seed": provenance.seed,
                "deterministic": provenance.deterministic,
                "created_utc": provenance.created_utc,
                "versions": provenance.versions,
                "scene_files": [name for name, _ in provenance.scene_source],
                "files": [name for name, _, _ in provenance.files],
                "origin": json.loads(provenance.origin) if provenance.origin else None,
            },
        }


def _float_type(run: Trajectory) -> str:
    return run._file["diag/residual"].dtype.name


def _estimate(run: Trajectory) -> str:
    """Whether there is an estimate of the error, and of which step; "" if there is none."""
    found = run.error_estimate
    return "" if found is None else f"of {len(found.channel)} quantities, of {found.integrator} with steps of {found.dt:g} s"


def _event_summary(run: Trajectory) -> dict:
    """Number of events by code, and the first few."""
    events = run.events
    codes = [event.code for event in events]
    return {
        "count": len(events),
        "codes": {code: codes.count(code) for code in dict.fromkeys(codes)},
        "first": [f"t = {event.time:g} s, {_who(event.world)}: {event.code}: {event.text}" for event in events[:5]],
    }


def _who(world: int) -> str:
    return f"world {world}" if world >= 0 else "all worlds"


def verify_any(path: str | os.PathLike[str]) -> list[str]:
    """Every problem of a run or a result, one line each; empty if the file is whole."""
    try:
        if not is_result(path):
            return verify(path)
        with Results(path) as result:
            return result.problems()
    except FileError as error:
        return [str(error)]
