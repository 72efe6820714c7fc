"""The process that runs chunks: `python -m simcli.sweeps.executors.worker DESCRIPTOR PARENT`.

It reads tasks on its standard input, a line of JSON each, and answers on the descriptor, in lines of JSON, too. Its first
library is the one that a chunk needs. It ends when its input ends, because then whoever started it is gone; signals of a
terminal or a scheduler do not reach it.
"""

import json
import os
import queue
import signal
import sys
import threading
import time

from simcli.sweeps.executors.contract import run_task, task_of

STOP_WORD = "stop"
_PERIOD_S = 0.5  # between words of how far a chunk is
PR_SET_PDEATHSIG = 1  # of prctl(2)
IGNORED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


def main(answers: int, parent: int) -> None:
    """Run tasks until the input ends.

    Args:
        answers: descriptor to answer to.
        parent: process whose death is that of this one, too, at once; 0 to see only that the input ends.
    """
    for name in IGNORED:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    if parent:
        _die_with(parent)
    os.dup2(2, 1)  # what a library may print goes to stderr
    tasks: queue.Queue[str] = queue.Queue()
    stopped = threading.Event()
    threading.Thread(target=_listen, args=(tasks, stopped), daemon=True).start()
    while True:
        text = tasks.get()
        chunk, work = task_of(text)
        last = time.monotonic()

        def watch(tick=None) -> bool:
            nonlocal last
            now = time.monotonic()
            if tick is not None and now - last >= _PERIOD_S:
                last = now
                _answer(answers, {"fraction": tick.fraction, "rate": tick.rate})
            return not stopped.is_set()

        _answer(answers, run_task(chunk, work, watch))


def _listen(tasks: "queue.Queue[str]", stopped: threading.Event) -> None:
    for line in sys.stdin:
        if line.strip() == STOP_WORD:
            stopped.set()
        else:
            stopped.clear()
            tasks.put(line)
    os._exit(0)


def _answer(descriptor: int, words: dict) -> None:
    left = memoryview(json.dumps(words).encode() + b"\n")
    try:
        while left:
            left = left[os.write(descriptor, left) :]
    except BrokenPipeError:
        os._exit(0)


def _die_with(parent: int) -> None:
    """A thread that sees the input end has to wait while a kernel compiles; the system does not."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
