"""The recorder of a small file: a thread of the process that steps, which spares a process of its own.

A process of its own costs 0.3 s of a processor, and writes 0.2 GB in a second beside the stepping. A thread costs nothing to
begin; but a kernel holds Python's lock while it runs, so that a thread writes while the run waits for it. What is the same:
the messages, the memory of frames, and the code that writes (recorder_process.py). What is not: what ends the process of the
run at once ends the thread, too, so that frames that were handed over and not committed are lost, and the file keeps HDF5's
mark of a file that grows. So the file is made when it is to be published, not before: until then nothing may be left.
"""

import os
from threading import Thread

from simcli.records.writing import spawn
from simcli.records.writing.messages import Inbox, nameless_file
from simcli.records.writing.recorder_process import Correspondence, record

# [B], of a file, which is written in 40 ms: as long as it takes the system to begin a process that imports HDF5.
MOST_OF_THREAD = 8_000_000


class RecorderThread(spawn.Correspondent):
    """In place of a `RecorderProcess`, where the process of the run is left by `os._exit`.

    HDF5 crashes at the interpreter's exit once a write has failed, and when a file is closed that could not be written; so
    what has failed is never let go of.
    """

    def __init__(self):
        self.memory, self.pid = nameless_file(), os.getpid()
        orders, self._orders = (os.fdopen(end, mode, 0) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
        self._replies, replies = (os.fdopen(end, mode, 0) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
        self._inbox = Inbox(self._replies.fileno())
        self._thread = Thread(target=self._record, args=(orders, replies), daemon=True)
        self._thread.start()

    def _record(self, orders, replies) -> None:
        with orders, replies:
            _, failed = record(self.memory, Correspondence(Inbox(orders.fileno()), replies.fileno()), has_process=False)
        _failed.extend(failed)

    def dismiss(self) -> int:
        """Nothing more will be sent: wait until it has ended."""
        if not self._replies.closed:
            self._orders.close()
            self._thread.join()
            self._replies.close()
            os.close(self.memory)
        return 0


_failed: list = []  # what holds a file that could not be written


def recorder_of(n_bytes: int, may_be_thread: bool) -> spawn.Correspondent:
    """What will write a file.

    Args:
        n_bytes: [B], that it may take.
        may_be_thread: whether the process of the run is left by `os._exit`.

    Raises:
        OutputError: the system has no such processes.
    """
    return RecorderThread() if may_be_thread and n_bytes <= MOST_OF_THREAD else spawn.RecorderProcess(n_bytes)
