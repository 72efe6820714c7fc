"""A process on a machine, so that others can tell whether it lives. No clock of a machine has a part in it."""

import os
import re
import secrets
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

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
        return bool(self.boot) and self.boot == _boot() and _begun(self.pid) != self.begun


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
        return ""


def _begun(pid: int) -> int:
    """When a process began, 0 if there is none: another process may have its number by now. A zombie is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[BEGUN_FIELD])
