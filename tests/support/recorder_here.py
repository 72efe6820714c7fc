"""A recorder in the process of the test: what it writes is the same, and hundreds of them start in no time."""

import os
from collections import deque

from simcli.records.writing.messages import Assignment, Close, Publish
from simcli.records.writing.recorder_process import Recording
from simcli.records.writing.ring import nameless_file


class RecorderHere:
    """In place of a `spawn.RecorderProcess`; commits as soon as it is due, patience apart."""

    def __init__(self):
        self.memory, self._answers, self.recording = nameless_file(), deque(), None

    def send(self, message):
        if isinstance(message, Assignment):
            self.recording = Recording(message, self.memory)
            return
        if isinstance(message, Publish):
            self.recording.publish()
            self._answers.append(self.recording.committed)
            return
        if isinstance(message, Close):
            self._answers.append(self.recording.close(message))
            return
        self.recording.backlog.add(message.n, message.events, message.contacts)
        while self.recording.backlog.seconds_to_commit(0.0) == 0.0:
            self.recording.commit()
            self._answers.append(self.recording.committed)

    def receive(self, wait):
        assert self._answers or not wait
        return self._answers.popleft() if self._answers else None

    def dismiss(self):
        if self.memory is not None:
            os.close(self.memory)
        self.memory = None
        return 0
