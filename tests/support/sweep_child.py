"""A driver as a process of its own: `python -m support.sweep_child FOLDER CASES SIZE EXECUTOR [SHARD]`.

EXECUTOR is a number of processes, or the address of a cluster with `fetch+` before it if results come over the wire.
"""

import sys
from pathlib import Path

from simcli.errors import Exit, SimcliError
from simcli.sweeps import driver
from simcli.sweeps.executors import cluster
from simcli.sweeps.executors.cluster import Cluster
from simcli.sweeps.executors.contract import Work
from simcli.sweeps.executors.pool import Pool
from simcli.sweeps.records import claims
from simcli.sweeps.records.plan_file import shard_of
from support.sweep_stand_in import FUNCTION, SCENE, names, plan_of


def main(folder, n, size, executor, shard=""):
    cluster.Bundles.of = lambda self, chunk: {SCENE.name: b""}  # the stand-in reads no scene
    driver.POLL_S, driver.CLAIMS_S, claims.PERIOD_S = 0.1, 0.1, 0.5
    work = Work(Path(folder), "none", None, "cpu", 1, FUNCTION)
    address = executor.removeprefix("fetch+")
    made = Pool(int(executor), work) if executor.isdigit() else Cluster(address, work, address != executor)
    options = driver.Options(shard=shard_of(shard) if shard else None)
    return driver.drive_sweep(plan_of(names(int(n)), int(size)), Path(folder), made, options)


if __name__ == "__main__":
    try:
        summary = main(*sys.argv[1:])
    except SimcliError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(int(error.exit_code))
    sys.exit(0 if summary.status == "done" else int(Exit.STOPPED))
