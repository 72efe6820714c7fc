"""A recorder in the process of the test: what it writes is the same, and hundreds of them start in no time."""

import os
import traceback
from collections import deque

from simcli.errors import OutputError
from simcli.records.writing.messages import Assignment, Close, Defect, Failed, Publish, nameless_file
from simcli.records.writing.recorder_process import Recording, RefusedError
from simcli.records.writing.spawn import RecorderEndedError


class RecorderHere:
    """In place of a `spawn.RecorderProcess`; commits as soon as it is due, patience apart.

    Args:
        n_bytes: as of that one; nothing is made before it is needed.
    """

    def __init__(self, n_bytes: int = 0):
        self.memory, self._answers, self.recording = nameless_file(), deque(), None
        self._is_published, self._has_ended = False, False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.dismiss()

    def send(self, message):
        if self._has_ended:
            raise RecorderEndedError
        try:
            self._take(message)
        except OutputError as error:
            self._end(Failed("", str(error)))
        except RefusedError as error:
            self._end(error.message)
        except Exception:
            self._end(Defect(traceback.format_exc()))

    def _take(self, message):
        if isinstance(message, Assignment):
            self.recording = Recording(message, self.memory)
        elif isinstance(message, Publish):
            self.recording.publish()
            self._is_published = True
            self._answers.append(self.recording.committed)
        elif isinstance(message, Close):
            self._end(self.recording.close(message))
        else:
            self.recording.backlog.add(message.n, message.events, message.contacts)
            while self.recording.backlog.seconds_to_commit(0.0) == 0.0:
                self.recording.commit()
                self._answers.append(self.recording.committed)

    def _end(self, last):
        self._has_ended = True
        if self.recording:
            self.recording.release()
        self._answers.append(last)

    def receive(self, wait):
        if wait and not self._answers:
            raise RecorderEndedError
        return self._answers.popleft() if self._answers else None

    def dismiss(self):
        if self.memory is None:
            return 0
        if self.recording and not self._has_ended:  # the run ends without a word
            self._has_ended = True
            if self._is_published:
                self.recording.close(Close("stopped"))
            else:
                self.recording.discard()
        os.close(self.memory)
        self.memory = None
        return 0
