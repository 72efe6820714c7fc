"""A real Dask cluster of processes that a test may kill."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from support.process import environment

GRACE = 120.0  # [s], far beyond what any of this takes


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def child_environment(**changes):
    """Children find the tests' own modules, too."""
    env = environment(**changes)
    return {**env, "PYTHONPATH": os.pathsep.join([env["PYTHONPATH"], str(Path(__file__).parents[1])])}


def children(process):
    """Process numbers of those that run chunks for a driver, or for a worker of a cluster, whichever thread began them."""
    with contextlib.suppress(OSError):
        lists = [(task / "children").read_text().split() for task in Path(f"/proc/{process.pid}/task").iterdir()]
        numbers = [int(one) for found in lists for one in found]
        return [one for one in numbers if b"sweeps.executors.worker" in Path(f"/proc/{one}/cmdline").read_bytes()]
    return []


class DaskCluster:
    """A scheduler on a port of its own, and workers with one thread each; a context.

    Args:
        folder: for what Dask writes.
        n: workers.
        **changes: of the workers' environment.
    """

    def __init__(self, folder, n=2, **changes):
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self._folder, self._changes = folder, changes
        self.scheduler = self.start_scheduler()
        self.workers = [self.start_worker() for _ in range(n)]

    def _start(self, *words):
        folder = self._folder / "dask"
        folder.mkdir(exist_ok=True)
        with (folder / "said.txt").open("ab") as said:
            command = [sys.executable, *words]
            return subprocess.Popen(command, stdout=said, stderr=said, cwd=folder, env=child_environment(**self._changes))

    def start_scheduler(self):
        self.scheduler = self._start(
            "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"
        )
        return self.scheduler

    def start_worker(self, version=None):
        """Start a worker; `version` is what it takes its simcli for, instead of what it is."""
        words = [self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "60"]
        if version is None:
            return self._start("-m", "distributed.cli.dask_worker", *words)
        code = f"""
from simcli.sweeps.executors import cluster_task
cluster_task.own_version = lambda: {version!r}
from distributed.cli.dask_worker import main
main()
"""
        return self._start("-c", code, *words)

    def kill_worker(self, k):
        """Kill -9, and start another in its place."""
        self.workers[k].kill()
        self.workers[k].wait()
        self.workers[k] = self.start_worker()

    def kill_scheduler(self, pause=0.0):
        """Kill -9, and start another on the same port; workers come back by themselves or are started anew."""
        self.scheduler.kill()
        self.scheduler.wait()
        time.sleep(pause)
        self.start_scheduler()
        for k in range(len(self.workers)):
            self.kill_worker(k)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()
        with contextlib.suppress(OSError):
            shutil.rmtree(self._folder / "dask")
