"""A Dask cluster as an executor: whatever has a scheduler's address or file (by hand, jobqueue, Kubernetes) looks alike.

Nothing rests on the scheduler: the driver notes what is done in the ledger, and a scheduler or a worker that dies costs the
chunks that were under way. Answers come as bytes, and the connection takes nothing else. A scene goes with all that it needs
to machines that do not see its folder (`Bundles`).
"""

import contextlib
import json
import logging
import os
import queue
import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.errors import DeviceError, OutputError, from_extra
from simcli.pipeline import read_scene
from simcli.spec.batches.sample_files import file_contents
from simcli.spec.document.resolved_yaml import packed
from simcli.sweeps.executors.cluster_task import (
    REFUSED_VERSION,
    place_files,
    run_on_worker,
    unpack_answer,
    version_of_worker,
)
from simcli.sweeps.executors.contract import MOST_OF_REASON, Ending, Pace, Report, Work, WorkersGoneError, task_text
from simcli.sweeps.executors.pool import report_of
from simcli.sweeps.records.plan import Chunk
from simcli.sweeps.records.scenes import own_version

if TYPE_CHECKING:
    from distributed import Client, Future

_SUFFIX = ".packed"  # not that of a run that the scene stands in


class Bundles:
    """Scenes as bytes; that of the last chunk is kept, because the next one mostly has the same."""

    def __init__(self):
        self._of: tuple[Path, tuple] | None = None
        self._packed = b""

    def of(self, chunk: Chunk) -> dict[str, bytes]:
        """The scene of a chunk with its overrides in one file, by a name for it.

        It holds what the scene includes and all files that it names: meshes, terrain, tables, samples, and of earlier runs
        the values that are taken from them.

        Raises:
            SceneError: the scene is invalid.
        """
        if self._of != (chunk.scene, chunk.sets):
            document, spec = read_scene(chunk.scene, chunk.sets)
            self._packed = packed(document, file_contents(document, spec))
            self._of = chunk.scene, chunk.sets
        return {f"{chunk.scene.stem}{_SUFFIX}": self._packed}


CONNECT_S = 5.0  # of one try to reach a scheduler
CENSUS_S = 2.0  # between looks at which workers there are
CLUSTER_PATIENCE_S = 60.0  # without a scheduler or a worker
SEEN_S = 10.0  # until a file that a worker has written is seen here
CLOSE_S = 2.0


def _distributed():
    with from_extra("--cluster needs the package distributed", "cluster"):
        import distributed
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what goes wrong with it is told here
    return distributed


def is_scheduler_file(address: str) -> bool:
    """Whether an address is the path of a scheduler file; one that is wrong fails in Dask without a reason.

    Raises:
        OSError: the path leads to none.
    """
    if "://" in address or not (Path(address).exists() or address.endswith(".json")):
        return False
    if not Path(address).is_file():
        raise OSError("no such scheduler file")
    try:
        held = json.loads(Path(address).read_bytes())
    except ValueError:
        held = None
    if not isinstance(held, dict) or not isinstance(held.get("address"), str):
        raise OSError("no scheduler file, which is JSON and holds an `address`")
    return True


class Cluster:
    """An executor: a Dask cluster, as many chunks at a time as its workers have threads.

    Args:
        address: tcp://HOST:PORT and the like, or the path of a scheduler file.
        work: what all chunks have in common; one thread a chunk if it does not say.
        fetch: results come over the wire, because the workers do not share the folder.
        patience: [s], to wait for a scheduler or workers that are gone.

    Raises:
        DeviceError: the cluster cannot be reached.
        UsageError: `distributed` is not installed.
    """

    def __init__(self, address: str, work: Work, fetch: bool = False, patience: float = CLUSTER_PATIENCE_S):
        self.name = f"cluster {address}"
        self._address, self._work, self._patience = address, work, patience
        self._bundles = Bundles() if fetch else None
        self._ended: queue.Queue[tuple[str, Future]] = queue.Queue()
        self._chunks: dict[str, Chunk] = {}
        self._futures: dict[str, Future] = {}
        self._limits: dict[str, frozenset[str]] = {}  # chunk -> workers that may have it
        self._workers: dict[str, int] = {}  # those that have our version -> threads
        self._known: dict[str, str] = {}  # worker -> its version
        self._looked_at = -CENSUS_S
        self._missed_since: float | None = None  # since when there is no scheduler, or no worker
        self._said: list[Report | Pace] = []
        self._distributed = _distributed()
        try:
            self._client: Client | None = self._connect()
        except (OSError, ValueError) as error:
            raise DeviceError(
                f"{address}: no cluster there: {_brief(error)}; `dask scheduler` starts one, and "
                "`dask worker ADDRESS` its workers"
            ) from error
        self._look()

    def _connect(self) -> "Client":
        where = {"scheduler_file" if is_scheduler_file(self._address) else "address": self._address}
        return self._distributed.Client(
            **where,
            timeout=CONNECT_S,
            set_as_default=False,
            serializers=["dask", "pickle"],
            deserializers=["dask", "msgpack"],
            name="simcli-sweep",
        )

    @property
    def slots(self) -> int:
        """Threads of all workers that have our version."""
        return sum(self._workers.values())

    def _look(self) -> None:
        """See which workers there are, and which of them have our version.

        Raises:
            DeviceError: none of them has.
        """
        now = time.monotonic()
        if self._client is None or now - self._looked_at < CENSUS_S:
            return
        self._looked_at = now
        with contextlib.suppress(OSError, TimeoutError):
            threads = self._client.nthreads()
            self._known = {one: said for one, said in self._known.items() if one in threads}
            if new := [one for one in threads if one not in self._known]:
                for one, said in self._client.run(version_of_worker, workers=new, on_error="return").items():
                    self._known[one] = said.decode() if isinstance(said, bytes) else f"no such simcli ({_brief(said)})"
            self._workers = {one: n for one, n in threads.items() if self._known.get(one) == own_version()}
            if threads and not self._workers:
                others = "; ".join(f"{one} has {self._known.get(one, 'not answered')}" for one in sorted(threads)[:3])
                raise DeviceError(
                    f"{self._address}: no worker has {own_version()}, as this machine has: {others}. Install "
                    "the same simcli there, and start the workers anew"
                )
            self._resubmit_stranded()
        self._count_misses(not self._workers, "has no workers")

    def _resubmit_stranded(self) -> None:
        """Chunks that may go to certain workers only, of which none is left."""
        for chunk, limits in list(self._limits.items()):
            if limits and not limits & self._workers.keys():
                self._submit(self._chunks[chunk])

    def _count_misses(self, is_missed: bool, what: str) -> None:
        now = time.monotonic()
        if not is_missed:
            self._missed_since = None
            return
        if self._missed_since is None:
            self._missed_since = now
        if now - self._missed_since >= self._patience:
            raise WorkersGoneError(
                f"{self._address}: {what} since {self._patience:g} s; what was done is in the ledger: start the cluster anew"
            )

    def start(self, chunk: Chunk) -> None:
        """Hand a chunk to the scheduler."""
        self._chunks[chunk.id] = chunk
        self._submit(chunk)

    def _submit(self, chunk: Chunk) -> None:
        if self._client is None:  # it gets all chunks when it is there again
            return
        if (old := self._futures.pop(chunk.id, None)) is not None:
            with contextlib.suppress(Exception):
                old.cancel()
        refused = len(self._workers) < len(self._known)
        limits = frozenset(self._workers) if refused else frozenset()
        work = replace(self._work, threads=self._work.threads or 1)  # Dask counts a thread of a worker for each task
        try:
            files = None if self._bundles is None else self._bundles.of(chunk)
            task = (task_text(chunk, work), files, own_version())
            future = self._client.submit(
                run_on_worker,
                *task,
                key=f"simcli-{chunk.id}-{secrets.token_hex(4)}",
                workers=sorted(limits) or None,
                pure=False,
                retries=0,
            )
        except (OSError, RuntimeError):  # the connection has just gone: `reports` will see so
            return
        self._futures[chunk.id], self._limits[chunk.id] = future, limits
        future.add_done_callback(lambda ended, name=chunk.id: self._ended.put((name, ended)))

    def reports(self, timeout: float) -> Sequence[Report | Pace]:
        """What has ended.

        Raises:
            WorkersGoneError: there is no scheduler or no worker, for longer than our patience.
        """
        found, self._said = self._said, []
        self._keep_connected()
        self._look()
        with contextlib.suppress(queue.Empty):
            name, future = self._ended.get(timeout=0.0 if found else timeout)
            while True:
                if self._futures.get(name) is future and (report := self._report(self._chunks[name], future)):
                    found.append(report)
                    self._forget(name)
                name, future = self._ended.get_nowait()
        return found

    def _forget(self, chunk: str) -> None:
        for kept in (self._chunks, self._futures, self._limits):
            kept.pop(chunk, None)

    def _keep_connected(self) -> None:
        """If the scheduler is gone, look for it, or for its successor, and give it all that was under way."""
        if self._client is not None and self._client.status == "running":
            return
        if self._client is not None:
            self._drop_client(self._client)
        try:
            self._client = self._connect()
        except (OSError, ValueError):
            self._count_misses(True, "has no scheduler")
            time.sleep(0.2)
            return
        self._known.clear()
        self._looked_at = -CENSUS_S
        self._look()
        for chunk in self._chunks.values():
            self._submit(chunk)

    def _drop_client(self, client: "Client") -> None:
        self._client = None
        self._futures.clear()
        self._limits.clear()
        self._workers = {}
        with contextlib.suppress(Exception):  # it is gone already, in whatever way
            client.close(timeout=CLOSE_S)

    def _report(self, chunk: Chunk, future: "Future") -> Report | None:
        """What a future that has ended says; None if it says nothing, because the connection has gone."""
        if future.status == "error":
            error = future.exception()
            words = "every worker that had it died" if "KilledWorker" in type(error).__name__ else _brief(error)
            return Report(chunk.id, Ending.LOST, reason=words)
        if future.status != "finished":
            if self._client is not None and self._client.status == "running":
                self._submit(chunk)  # a scheduler that was started anew knows nothing of it
            return None
        try:
            plain, files = unpack_answer(future.result(timeout=CONNECT_S + len(self._chunks)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return Report(chunk.id, Ending.CRASHED, reason=f"the worker's answer is not valid: {_brief(error)}")
        except Exception:  # the worker died between its answer and our taking it
            self._submit(chunk)
            return None
        if plain.get("ending") == REFUSED_VERSION:
            self._known.clear()
            self._looked_at = -CENSUS_S
            self._submit(chunk)
            return None
        return self._placed(report_of(chunk, plain, str(plain.get("worker", "")), str(plain.get("host", ""))), files)

    def _placed(self, report: Report, files: dict[str, memoryview]) -> Report:
        """The report, once its files are where they belong."""
        if report.ending is not Ending.DONE:
            return report
        target = self._work.folder / report.result["file"]
        try:
            place_files(self._work.folder, files)
            end = time.monotonic() + SEEN_S
            while not target.is_file():
                if time.monotonic() > end:
                    raise OSError(
                        "the worker has written it where this machine does not see it; share the folder with the "
                        "workers, or give --fetch"
                    )
                time.sleep(0.1)
                os.listdir(target.parent) if target.parent.is_dir() else None  # makes a network file system look again
        except OSError as error:
            return Report(report.chunk, Ending.OUTPUT, reason=f"{target}: {error.strerror or error}")
        except OutputError as error:
            return Report(report.chunk, Ending.OUTPUT, reason=str(error))
        return report

    def stop(self) -> None:
        """Take everything back: a worker cannot be asked to make a checkpoint."""
        for name, future in list(self._futures.items()):
            with contextlib.suppress(Exception):
                future.cancel()
            self._said.append(Report(name, Ending.STOPPED, reason="taken back from the cluster"))
            self._forget(name)

    def close(self) -> None:
        """Take everything back, and leave the cluster."""
        if self._client is not None:
            self.stop()
            self._drop_client(self._client)


def _brief(error: object) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:MOST_OF_REASON]
