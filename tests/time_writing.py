"""What writing costs beside stepping: `python tests/time_writing.py [--dtype float32] [--repeat N]`.

A chain of seven links, 1024 worlds, one thread, a frame every tenth step of 1 ms, all default channels, the file in memory
(/dev/shm). The run is made as it is and with a recorder that writes nothing, in turns, each in a process of its own. A time
is that of stepping until the file is closed, without imports and compiling. On a machine that does other things too, the
seconds of the processor say more than those of the clock.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

LINKS, WORLDS, SECONDS, EVERY = 7, 1024, 2.0, 0.01
MEMORY = Path("/dev/shm")
MODES = ("nothing", "file")
PROCESSES = ("ours", "recorder")


def chain() -> str:
    """The scene."""
    lines = ["simcli: 1", "solver: {type: generalized, dt: 1 ms, integrator: semi_implicit}", "bodies:"]
    lines += [f"  b{i}: {{mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}, com: [0, 0, -0.5]}}" for i in range(LINKS)]
    lines += [f"run: {{duration: {SECONDS}}}", f"batch: {{worlds: {WORLDS}}}", f"output: {{every: {EVERY}}}", "joints:"]
    for i in range(LINKS):
        parent, at = (f"b{i - 1}", "[0, 0, -1]") if i else ("world", "[0, 0, 0]")
        lines.append(
            f"  j{i}: {{type: revolute, parent: {parent}, child: b{i}, axis: [0, 1, 0], "
            f"parent_frame: {{xyz: {at}}}, q: 0.3}}"
        )
    return "\n".join(lines) + "\n"


def run_once(mode: str, dtype: str, folder: Path) -> dict:
    """Run the scene in this process: [s] of stepping and closing, of the clock, our processor and the recorder's; [B]."""
    from simcli import pipeline
    from simcli.pipeline import execution
    from simcli.records.writing.writer import Recorder

    found = {}
    step_all, close = execution.step_all, Recorder.close

    def timed(*args):
        found["wall"], found["ours"] = time.perf_counter(), time.process_time()
        step_all(*args)

    def timed_close(self, status):
        close(self, status)
        found.setdefault("end", (time.perf_counter(), time.process_time()))

    def put_nothing(self, block):
        self._n_put += len(block.step)
        self._n_committed = self._n_put

    execution.step_all, Recorder.close = timed, timed_close
    if mode == "nothing":
        Recorder.put, Recorder.places = put_nothing, lambda self, n: {}
    sets = (f"output.dtype={dtype}",)
    outcome = pipeline.execute(
        pipeline.prepare(pipeline.Request(folder / "chain.yaml", folder / "run.h5", sets, "cpu", 1, force=True))
    )
    wall, ours = found.pop("end")
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "wall": wall - found["wall"],
        "ours": ours - found["ours"],
        "recorder": usage.ru_utime + usage.ru_stime,
        "bytes": outcome.n_bytes,
    }


def in_turns(dtype: str, repeat: int, folder: Path) -> dict[str, list[dict]]:
    """What `run_once` found, by mode; the first turn, which fills the caches, does not count."""
    (folder / "chain.yaml").write_text(chain())
    rows = {mode: [] for mode in MODES}
    for _ in range(repeat + 1):
        for mode in MODES:
            command = [sys.executable, __file__, "--dtype", dtype, "--once", mode, str(folder)]
            rows[mode].append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    return {mode: found[1:] for mode, found in rows.items()}


def report(rows: dict[str, list[dict]], dtype: str) -> Iterator[str]:
    """Medians, line by line."""
    plain, written = rows["nothing"], rows["file"]
    for mode, found in rows.items():
        yield f"{mode:8}" + "".join(f"  {key} {median(row[key] for row in found):.3f} s" for key in ("wall", *PROCESSES))
    for key in ("wall", "ours"):
        ratio = median(b[key] / a[key] for a, b in zip(plain, written, strict=True))
        yield f"{key}: {100 * (ratio - 1):+.1f} % by writing (median of {len(plain)} turns)"
    size, seconds = written[0]["bytes"], median(row["wall"] for row in written)
    yield f"{size / 1e6:.0f} MB of {dtype} in {seconds:.2f} s: {size / seconds / 1e6:.0f} MB/s beside the stepping"


def main() -> None:
    """Run in turns, and tell the medians; or run once, and tell what was found as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--once", nargs=2, metavar=("MODE", "FOLDER"), help="one run, as JSON")
    given = parser.parse_args()
    if given.once:
        lines = [json.dumps(run_once(given.once[0], given.dtype, Path(given.once[1])))]
    else:
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
            lines = report(in_turns(given.dtype, given.repeat, Path(folder)), given.dtype)
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
