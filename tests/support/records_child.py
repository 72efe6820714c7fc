"""Child process of the fault tests: writes the synthetic run of `tiny_model`. It reports on stdout the process id of its
recorder, then after every block n_committed.

    python -m support.records_child OUT.h5 [--pause S] [--limit BYTES] [--limit-all] [--waits]
"""

import argparse
import resource
import sys
import time

from simcli.errors import Exit, OutputError
from simcli.records.contents.provenance import collect_provenance
from simcli.records.contents.select import axes_of
from simcli.records.writing import writer
from simcli.records.writing.spawn import RecorderProcess
from simcli.records.writing.writer import Recorder
from support.tiny_model import datasets, frames, tiny_model

N_FRAMES, N_WORLDS, BLOCK = 240, 66, 5
MOST_BEHIND, MOST_PATIENCE_S = 4 * BLOCK, 1.0  # frames that are not committed yet; how long to wait for them
CHANNELS = ("state", "energy", "reactions", "contacts")


def write(path, pause=0.0, report=lambda n: None, n_frames=N_FRAMES, n_worlds=N_WORLDS, process=None):
    """The whole run; the uninterrupted reference when nothing stops it."""
    model = tiny_model(n_worlds)
    rows, axes = datasets(model, CHANNELS), axes_of(model)
    provenance = collect_provenance([("tiny.yaml", "simcli: 1\n")], "simcli: 1\n", "cpu", "float64", 7, argv=["test"])
    recorder = Recorder(path, model, provenance, CHANNELS, n_frames, title="tiny", process=process)
    for first in range(0, n_frames, BLOCK):
        recorder.put(frames(rows, axes, first, min(BLOCK, n_frames - first)))
        time.sleep(pause)
        patience = time.monotonic() + MOST_PATIENCE_S
        while pause and first + BLOCK - recorder.n_committed > MOST_BEHIND and time.monotonic() < patience:
            time.sleep(pause)  # the writer's thread may be late on a busy machine
        report(recorder.n_committed)
    recorder.close("done")


def say(n):
    sys.stdout.write(f"{n}\n")
    sys.stdout.flush()


def say_and_wait(n):
    """Go on when somebody who has read this says so: on a busy machine, too, the run is not over before it is killed."""
    say(n)
    sys.stdin.readline()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--limit-all", action="store_true", help="the limit is that of this process, too")
    parser.add_argument("--waits", action="store_true")
    options = parser.parse_args()
    if options.limit_all:
        resource.setrlimit(resource.RLIMIT_FSIZE, (options.limit, options.limit))
    recorder = RecorderProcess()
    if options.limit:
        resource.prlimit(recorder.pid, resource.RLIMIT_FSIZE, (options.limit, options.limit))
    writer.PATIENCE_S = 0.0  # a commit for every grain
    say(recorder.pid)
    try:
        write(options.path, options.pause, say_and_wait if options.waits else say, process=recorder)
    except OutputError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(int(Exit.OUTPUT))
