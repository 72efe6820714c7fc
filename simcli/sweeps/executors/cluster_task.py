"""What a worker of a Dask cluster does: it runs a chunk in a process of its own, and answers in bytes.

A kernel holds Python's lock while it runs, and Taichi wants one thread: in the worker's own process it would keep the
worker from telling its scheduler that it lives. The answer is a line of JSON and, if it is to be fetched, the result file
behind it: bytes travel as they are, and nobody unpickles them.
"""

import json
import os
import socket
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from simcli.errors import OutputError
from simcli.records.drafts import drafted, sync
from simcli.sweeps.executors.contract import Ending, Report, reason_of, task_of, task_text
from simcli.sweeps.executors.pool import WorkerProcess
from simcli.sweeps.records.ledger import FOLDER
from simcli.sweeps.records.scenes import own_version

_POLL_S = 0.2
REFUSED_VERSION = "version"  # ending of a task that came to a worker with another simcli

_idle: list[WorkerProcess] = []
_lock = threading.Lock()


def version_of_worker() -> bytes:
    """The simcli of this worker, in bytes for the same reason."""
    return own_version().encode()


def run_on_worker(task: str, files: dict[str, bytes] | None, version: str) -> bytes:
    """Run a chunk on this worker.

    Args:
        task: of `contract.task_text`.
        files: to be fetched: the scene with its overrides and all that it needs, as of `Bundles.of`; the result comes
            back behind the answer. None where both share a folder.
        version: of the driver.

    Returns:
        a line of JSON as of `contract.run_task`, and the result file if it is to be fetched.
    """
    try:
        if (mine := own_version()) != version:
            return answer({"ending": REFUSED_VERSION, "reason": mine})
        if files is None:
            return answer(_unseen(task) or _run(task))
        with tempfile.TemporaryDirectory(prefix="simcli-") as folder:
            return _run_fetched(task, files, Path(folder))
    except Exception as error:  # no pickled exception has to travel
        ending = Ending.OUTPUT if isinstance(error, OSError | OutputError) else Ending.CRASHED
        return answer({"ending": ending.value, "reason": reason_of(error)})


def _unseen(task: str) -> dict[str, Any] | None:
    """What a worker says that does not see the folders of the driver; None if it does."""
    chunk, work = task_of(task)
    for path in (chunk.scene, work.folder / FOLDER):
        if not path.exists():
            return {
                "ending": Ending.OUTPUT.value,
                "reason": f"{path}: a worker on {socket.gethostname()} does not see it; "
                "share the folder with the workers, or give --fetch",
            }
    return None


def _run_fetched(task: str, files: dict[str, bytes], folder: Path) -> bytes:
    chunk, work = task_of(task)
    for name, content in files.items():
        path = folder / "scene" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    scene, out = folder / "scene" / next(iter(files)), folder / "sweep"
    out.mkdir()
    plain = _run(task_text(replace(chunk, scene=scene, sets=()), replace(work, folder=out)))
    if plain["ending"] != Ending.DONE.value:
        return answer(plain)
    kept = {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    return answer({**plain, "files": {name: len(content) for name, content in kept.items()}}, *kept.values())


def _run(task: str) -> dict[str, Any]:
    """Run a task in a process that has nothing to do, or a new one."""
    chunk, work = task_of(task)
    with _lock:
        process = _idle.pop() if _idle else None
    if process is None or process.is_dead:
        process = WorkerProcess(dies_with_us=False)
    try:
        process.begin(chunk, task, work.time_limit)
        is_wanted = _wanted()
        while True:
            if reports := [one for one in process.news(_POLL_S) if isinstance(one, Report)]:
                return _plain(reports[0])
            if not is_wanted():
                return {"ending": Ending.STOPPED.value, "reason": "nobody waits for it any more"}
    finally:
        if not process.is_dead and process.chunk is None:
            with _lock:
                _idle.append(process)
        else:
            process.end(0.0)


def _wanted() -> Callable[[], bool]:
    """Give a function that says whether somebody still waits for the task of this thread, as far as Dask tells."""
    try:
        from distributed import get_worker

        worker = get_worker()
        key = worker.get_current_task()
    except (ImportError, ValueError):  # not in a worker, as in a test
        return lambda: True

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state not in ("cancelled", "released")

    return is_wanted


def _plain(report: Report) -> dict[str, Any]:
    return {
        "ending": report.ending.value,
        "result": report.result,
        "reason": report.reason,
        "worker": report.worker,
        "host": socket.gethostname(),
    }


def answer(plain: dict[str, Any], *parts: bytes) -> bytes:
    """A line of JSON and what follows it."""
    return b"".join([json.dumps(plain).encode() + b"\n", *parts])


def unpack_answer(raw: bytes) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """The JSON of an answer, and the files behind it.

    Raises:
        ValueError: it is no answer, or names files outside of the folder.
    """
    view = memoryview(raw)
    end = raw.index(b"\n")
    plain = json.loads(raw[:end])
    files, start = {}, end + 1
    for name, size in plain.pop("files", {}).items():
        if os.path.isabs(name) or ".." in Path(name).parts or not isinstance(size, int) or size < 0:
            raise ValueError(f"the worker's answer names a file outside of the folder: {name}")
        files[name] = view[start : start + size]
        start += size
    if start != len(raw) and files:
        raise ValueError("the worker's answer is not as long as it says")
    return plain, files


def place_files(folder: Path, files: dict[str, memoryview]) -> None:
    """Write what was fetched: each file whole or not at all.

    Raises:
        OutputError: a file cannot be written.
    """
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with drafted(path) as draft:
            draft.write_bytes(content)
            sync(draft)
