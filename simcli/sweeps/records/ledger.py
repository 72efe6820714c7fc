"""What happened in a sweep, line by line: appended, checksummed, synced; one file per writing process.

    DIR/ledger/HOST-PID-TOKEN.jsonl

A line is a JSON object: `event`, the `chunk` and its `cases`, the `attempt`, who writes it, the `time` (for people: nothing
is decided by it), and `sum`, the checksum of all before it. No two processes write one file, so there are no locks, and a
folder may be shared over NFS. What was appended never changes; the end of a line that a killed process or a full disk
left unfinished is dropped by readers (`state`).

A process has an identity, so that others can see whether it lives. No clock of a machine has a part in it.
"""

import contextlib
import ctypes
import json
import os
import re
import secrets
import socket
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import Any

from simcli.errors import OutputError
from simcli.records.drafts import sync

BEGUN_FIELD = 19  # of /proc/PID/stat behind the name of the program: ticks from the start of the machine


@dataclass(frozen=True)
class Identity:
    """Who writes.

    Attributes:
        host: name of the machine, for people.
        boot: of this start of the machine and of the space of its process numbers; "" where the system does not tell.
        pid: process number.
        begun: [ticks] from the start of the machine to that of the process; 0 where the system does not tell.
        token: random, so that no two processes are ever the same.
    """

    host: str
    boot: str
    pid: int
    begun: int
    token: str

    @property
    def name(self) -> str:
        """Name of files of this process: host, process number, token."""
        return f"{re.sub(r'[^A-Za-z0-9.]+', '_', self.host)}-{self.pid}-{self.token}"

    @property
    def plain(self) -> dict[str, str | int]:
        """As JSON has it."""
        return asdict(self)

    def is_surely_dead(self) -> bool:
        """True if the process ran under the same kernel as this one and has ended; False if it lives or nobody can tell."""
        if not self.boot or self.boot != _boot():
            return False
        return _begun(self.pid) != self.begun if self.begun else _has_ended(self.pid)


def this_process() -> Identity:
    """The identity of this process, with a new token."""
    pid = os.getpid()
    return Identity(socket.gethostname(), _boot(), pid, _begun(pid), secrets.token_hex(4))


def identity_of(plain: object) -> Identity:
    """An identity out of JSON; whatever is missing there is unknown."""
    known = plain if isinstance(plain, dict) else {}
    host, boot, token = (str(known.get(name, "")) for name in ("host", "boot", "token"))
    pid, begun = (known[name] if isinstance(known.get(name), int) else 0 for name in ("pid", "begun"))
    return Identity(host, boot, pid, begun, token)


def _boot() -> str:
    """Containers of one machine share its start, but have process numbers of their own."""
    try:
        start = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{start}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return _boot_of_macos() if sys.platform == "darwin" else ""


def _boot_of_macos() -> str:
    """Number of this start of the machine, as the system tells it."""
    text, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
    code = ctypes.CDLL(None).sysctlbyname(b"kern.bootsessionuuid", text, ctypes.byref(size), None, 0)
    return text.value.decode() if code == 0 else ""


def _has_ended(pid: int) -> bool:
    """Whether no process has a number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # somebody else's
        return False
    return False


def _begun(pid: int) -> int:
    """When a process began, 0 if there is none: another process may have its number by now. A zombie is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[BEGUN_FIELD])


FOLDER, LEDGER_SUFFIX = "ledger", ".jsonl"
SUM_BYTES = 8
SUM_KEY = ', "sum": "'
GO_ON = "nothing that the ledger holds is lost, and the same command goes on"


class LedgerEvent(StrEnum):
    """What a line says of a chunk."""

    PLANNED = "planned"  # of a whole sweep: a driver has begun
    STARTED = "started"
    DONE = "done"  # there is a result file; worlds that failed are among its cases, with their reasons
    FAILED = "failed"  # an attempt brought nothing
    GIVEN_UP = "given up"  # the cases will not be tried again unless that is asked for
    ABANDONED = "abandoned"  # stopped in time, not by a fault of its own
    ENDED = "ended"  # of a whole sweep: a driver has ended by itself


def line_of(facts: dict[str, Any]) -> bytes:
    """A line of a ledger, with its checksum."""
    text = json.dumps(facts, ensure_ascii=True, allow_nan=False)
    return f'{text[:-1]}{SUM_KEY}{_sum(text[:-1])}"}}\n'.encode()


def facts_of(line: bytes) -> dict[str, Any] | None:
    """What a line says; None if it is damaged, unfinished or no line of a ledger."""
    try:
        text, key, rest = line.decode().rpartition(SUM_KEY)
        if not key or rest.rstrip("\n") != f'{_sum(text)}"}}':
            return None
        facts = json.loads(text + "}")
    except (ValueError, RecursionError):
        return None
    return facts if isinstance(facts, dict) else None


def _sum(text: str) -> str:
    return blake2b(text.encode(), digest_size=SUM_BYTES).hexdigest()


class Ledger:
    """The ledger of this process; the file comes with the first line.

    Args:
        folder: of the sweep.
        writer: this process.
    """

    def __init__(self, folder: Path, writer: Identity):
        self.path = folder / FOLDER / f"{writer.name}{LEDGER_SUFFIX}"
        self._writer = writer
        self._descriptor: int | None = None
        self._is_torn = False

    def note(self, event: StrEnum, chunk: str = "", cases: Sequence[str] = (), **facts: Any) -> None:
        """Append a line, and return when it is on the disk.

        Args:
            event: what happened.
            chunk: its id, "" of a whole sweep.
            cases: ids of all of its cases.
            **facts: more, as JSON has it.

        Raises:
            OutputError: it cannot be written.
        """
        who = {"host": self._writer.host, "pid": self._writer.pid, "time": datetime.now(UTC).isoformat(timespec="seconds")}
        place = {"chunk": chunk, "cases": list(cases)} if chunk else {}
        try:
            self._append(line_of({"event": str(event), **place, **facts, **who}))
        except OSError as error:
            raise OutputError(f"{self.path}: cannot write: {error.strerror or error}; {GO_ON}") from error

    def _append(self, line: bytes) -> None:
        descriptor = self._open() if self._descriptor is None else self._descriptor
        size = os.fstat(descriptor).st_size
        whole = (b"\n" if self._is_torn else b"") + line
        try:
            n = os.write(descriptor, whole)
            if n < len(whole):  # only a disk that is about to be full does so: the next write says what is wrong
                n += os.write(descriptor, whole[n:])
            if n < len(whole):
                raise OSError("the file system took a part of the line only")
            os.fsync(descriptor)
        except OSError:
            self._is_torn = True
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, size)
                self._is_torn = False
            raise
        # What is written to a file that was removed with its folder is written for nobody, and no system call says so.
        if not os.path.samestat(os.fstat(descriptor), os.stat(self.path)):
            raise OSError("the file was replaced by another")

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        sync(self.path.parent)
        return self._descriptor

    def close(self) -> None:
        """Close the file. May be called twice."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):  # every line is on the disk already
                os.close(self._descriptor)
            self._descriptor = None
