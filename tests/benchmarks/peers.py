"""MuJoCo and pinocchio beside simcli, in turns: `python tests/benchmarks/peers.py [SCENE] [--task TASK]`.

The table is that of `simcli bench`, with a line for the peer below each of ours, the ratio of the times (the peer's over
ours, the median over the turns) and the largest difference of the results: end coordinates [m, rad] of runs without contact,
efforts relative to the largest one. Runs are `mujoco.rollout`, inverse dynamics `pinocchio.rneaInParallel`, both in float64;
where a peer cannot do what a scene asks for, or is not installed, a line says so. `--help` lists the options.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

import contact_peers
import numpy as np
import smooth_peers

from simcli.cli import console
from simcli.cli.runs.bench import BENCH_HEADER, BenchTask, bench_cells, line, residual_of, subject, works
from simcli.cli.runs.bench_work import BENCH_WATCHED, BenchStates, BenchWork, Runs
from simcli.errors import SimcliError, UsageError

TASKS = (BenchTask.RUN, BenchTask.RNEA, BenchTask.HUMANOID, BenchTask.STACKS, BenchTask.LARGE)
WATCHED_STEPS, WATCHED_BODIES = 100, 2000  # of a large world at most, for the residual of the peer
PACKAGES = {"pinocchio": "pin"}  # name to install, where it is not that of the module


def peer_of(work: BenchWork, task: BenchTask, timed: Runs | BenchStates) -> smooth_peers.PeerRun:
    """What the peer of a task does once.

    Raises:
        ModuleNotFoundError: it is not installed.
        UsageError: it cannot do the same.
    """
    if task is BenchTask.RNEA:
        return smooth_peers.run_pinocchio(timed.model, *timed.states, work.threads)
    job = timed.job
    if job.model.contacts is not None:
        return smooth_peers.PeerRun(*contact_peers.run_touching(job.model, job.schedule.dt, timed.n_steps, work.threads))
    return smooth_peers.run_mujoco(job.model, job.spec.solver.integrator, job.schedule.dt, timed.n_steps, work.threads)


def compared(work: BenchWork, task: BenchTask, repeat: int) -> list[tuple[str, ...]]:
    """Both lines of a scene; ours alone if it has no peer."""
    timed = subject(work, task)
    ours, theirs, peer, reason = [], [], None, ""
    for _ in range(repeat):
        ours.append(timed.once())
        if reason:
            continue
        try:
            peer = peer_of(work, task, timed)
            theirs.append(peer.seconds)
        except ModuleNotFoundError as error:
            reason = f"{error.name} is not installed: no peer (pip install {PACKAGES.get(error.name, error.name)})"
        except UsageError as error:
            reason = str(error)
    row = work.row(timed, ours, residual_of(timed, task))
    console.say(line(row))
    if reason:
        console.say(f"  {timed.name}: {reason}")
        return [(*bench_cells(row), "", "")]
    residual = None
    if _touches(timed) and timed.job.model.n_bodies <= WATCHED_BODIES:
        model, dt, most = timed.job.model, timed.job.schedule.dt, WATCHED_STEPS if task is BenchTask.LARGE else None
        residual = float(np.max(contact_peers.mujoco_natural_map(model, dt, timed.n_steps, BENCH_WATCHED, most)))
    other = work.line(timed, peer.name, "float64", theirs, 0.0, residual)
    console.say(line(other))
    ratio = median(b / a for a, b in zip(ours, theirs, strict=True))
    return [(*bench_cells(row), f"{ratio:.2f}", _difference(task, timed, peer)), (*bench_cells(other), "", "")]


def _touches(timed: Runs | BenchStates) -> bool:
    return isinstance(timed, Runs) and timed.job.model.contacts is not None


def _difference(task: BenchTask, timed: Runs | BenchStates, peer: smooth_peers.PeerRun) -> str:
    if _touches(timed):  # of other laws of contact, whose motions part
        return ""
    off = float(np.abs(timed.result() - peer.result).max())
    return f"{off / float(np.abs(peer.result).max()) if task is BenchTask.RNEA else off:.1e}"


def main(words: list[str] | None = None) -> None:
    """Time them and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("scene", nargs="?", type=Path, help="scene file; default: those of `simcli bench`")
    parser.add_argument("--task", choices=[task.value for task in TASKS], default=BenchTask.RUN.value)
    parser.add_argument("--worlds", type=int, help="worlds, or states")
    parser.add_argument("--precision", default="float64", help="of ours")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--duration", type=float, default=4.0, help="[s], simulated")
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    parser.add_argument("--set", dest="sets", action="append", default=[], metavar="KEY=VALUE")
    asked = parser.parse_args(words)
    task, rows = BenchTask(asked.task), []
    with tempfile.TemporaryDirectory() as folder:
        for work in works(
            asked.scene,
            task,
            asked.worlds,
            asked.precision,
            asked.threads,
            "cpu",
            asked.duration,
            tuple(asked.sets),
            Path(folder),
        ):
            rows += compared(work, task, asked.repeat)
    console.data(console.table(rows, (*BENCH_HEADER, "ratio", "difference"), indent=""))


if __name__ == "__main__":
    try:
        main()
    except SimcliError as error:
        sys.exit(f"error: {error}")
