"""Which process is at which chunk: an exclusive file per chunk, and a heartbeat per process.

    DIR/claims/CHUNK.claim            who is at it, and at which cases
    DIR/claims/HOST-PID-TOKEN.beat    a counter that this process advances

A claim is stale if its owner is surely dead (same kernel, no such process), or if its heart has not beaten for `patience`
seconds on the clock of whoever looks: no two clocks are ever compared, so they may differ by hours. Claims spare double
work and nothing rests on them: whoever loses a race does a chunk twice, and its result is the same.
"""

import contextlib
import errno
import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from simcli.errors import OutputError
from simcli.sweeps.records.ledger import GO_ON, Identity, identity_of
from simcli.sweeps.records.plan import Chunk

CLAIMS_FOLDER, CLAIM, BEAT = "claims", ".claim", ".beat"
PERIOD_S = 5.0  # between beats
_PATIENCE_S = 90.0  # without a beat until a claim is stale: network file systems show a change after up to 60 s
NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES}


@dataclass(frozen=True)
class Claim:
    """A claim as it was read.

    Attributes:
        chunk: id.
        owner: who is at it.
        cases: ids.
    """

    chunk: str
    owner: Identity
    cases: frozenset[str]


class Hearts:
    """Watches the hearts of other processes on the clock of this one.

    Args:
        folder: of the claims.
        patience: [s].
        clock: [s], of this process; runs steadily.
    """

    def __init__(self, folder: Path, patience: float = _PATIENCE_S, clock: Callable[[], float] = time.monotonic):
        self._folder = folder
        self._patience = patience
        self._clock = clock
        self._seen: dict[str, tuple[str, float]] = {}  # owner -> its counter, and when it was first seen to be so

    def is_stale(self, owner: Identity) -> bool:
        """True if a process is dead, or its heart has not beaten for so long."""
        if owner.is_surely_dead():
            return True
        now = self._clock()
        try:
            count = (self._folder / f"{owner.name}{BEAT}").read_text()
        except (OSError, ValueError):
            count = ""
        before, since = self._seen.get(owner.name, (None, now))
        if count != before:
            self._seen[owner.name] = (count, now)
            return False
        return now - since >= self._patience

    def has_beaten(self, owner: Identity) -> bool:
        """True if the heart has beaten since it was first looked at."""
        before = self._seen.get(owner.name)
        self.is_stale(owner)
        return before is not None and self._seen[owner.name] != before


class Claims:
    """The claims of this process, and its heart, which beats in a thread from `__enter__` on.

    Args:
        folder: of the sweep.
        owner: this process.
        period: [s], between beats; 0 for a heart that beats by hand.
        patience, clock: see `Hearts`.
    """

    def __init__(
        self,
        folder: Path,
        owner: Identity,
        period: float = PERIOD_S,
        patience: float = _PATIENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._folder = folder / CLAIMS_FOLDER
        self._owner = owner
        self._period = period
        self._hearts = Hearts(self._folder, patience, clock)
        self._mine: set[str] = set()
        self._count = 0
        self._ends = threading.Event()
        self._problem: OSError | None = None

    def __enter__(self) -> "Claims":
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self.beat()
        except OSError as error:
            raise self._refused(error) from error
        if self._period:
            threading.Thread(target=self._beat_on, daemon=True, name="heart").start()
        return self

    def __exit__(self, *_) -> None:
        self._ends.set()
        for chunk in tuple(self._mine):
            self.release(chunk)
        with contextlib.suppress(OSError):
            self._beats.unlink()

    @property
    def _beats(self) -> Path:
        return self._folder / f"{self._owner.name}{BEAT}"

    def beat(self) -> None:
        """Advance the counter. In place: a file that is replaced is a new one to every other machine."""
        self._count += 1
        descriptor = os.open(self._beats, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.pwrite(descriptor, f"{self._count}\n".encode(), 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _beat_on(self) -> None:
        while not self._ends.wait(self._period):
            try:
                self.beat()
            except OSError as error:
                self._problem = error
            else:
                self._problem = None

    def take(self, chunk: Chunk) -> bool:
        """Claim a chunk; False if another process has it.

        Raises:
            OutputError: the claim cannot be written.
        """
        if self._problem is not None:
            raise self._refused(self._problem) from self._problem
        text = json.dumps({"chunk": chunk.id, "cases": list(chunk.cases), "owner": self._owner.plain}).encode()
        try:
            taken = self._create(self._path(chunk.id), text)
        except OSError as error:
            raise self._refused(error) from error
        if not taken:  # it may be our own, that could not be given back
            held = read_claim(self._path(chunk.id))
            taken = held is not None and held.owner.token == self._owner.token
        if taken:
            self._mine.add(chunk.id)
        return taken

    def _create(self, path: Path, text: bytes) -> bool:
        """A whole file under a name that nobody had; `link` is exclusive on network file systems, too."""
        draft = path.with_name(f".{path.name}.{self._owner.token}")
        try:
            draft.write_bytes(text)
            try:
                os.link(draft, path)
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
                with os.fdopen(descriptor, "wb") as stream:
                    stream.write(text)
        except FileExistsError:
            return False
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
        return True

    def release(self, chunk: str) -> None:
        """Give a claim back, unless another process has taken it for stale and has its own by now."""
        self._mine.discard(chunk)
        with contextlib.suppress(OSError):
            held = read_claim(self._path(chunk))
            if held and held.owner.token == self._owner.token:
                self._path(chunk).unlink()

    def of_others(self) -> list[Claim]:
        """Claims of processes that live, as far as can be told; stale ones are removed.

        Raises:
            OutputError: the folder cannot be read.
        """
        try:
            found = [claim for claim in read_claims(self._folder) if claim.owner.token != self._owner.token]
        except OSError as error:
            raise self._refused(error) from error
        stale = [claim for claim in found if self._hearts.is_stale(claim.owner)]
        for claim in stale:
            self._remove(claim)
        return [claim for claim in found if claim not in stale]

    def _remove(self, claim: Claim) -> None:
        """Remove a stale claim. Another process may have done so, and claimed the chunk: then that claim is put back."""
        path = self._path(claim.chunk)
        aside = path.with_name(f".{path.name}.{self._owner.token}.stale")
        with contextlib.suppress(OSError):
            os.rename(path, aside)
            held = read_claim(aside)
            if held and held.owner.token != claim.owner.token:
                os.link(aside, path)
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
            (self._folder / f"{claim.owner.name}{BEAT}").unlink(missing_ok=True)

    def _path(self, chunk: str) -> Path:
        return self._folder / f"{chunk}{CLAIM}"

    def _refused(self, error: OSError) -> OutputError:
        return OutputError(f"{self._folder}: cannot be used: {error.strerror or error}; {GO_ON}")


def read_claims(folder: Path) -> list[Claim]:
    """All claims of a folder by name; files of another kind are left alone."""
    paths = [path for path in folder.iterdir() if path.name.endswith(CLAIM) and not path.name.startswith(".")]
    return [claim for claim in map(read_claim, sorted(paths)) if claim]


def read_claim(path: Path) -> Claim | None:
    """A claim; None if it is gone. One that is not whole belongs to nobody who lives."""
    try:
        plain = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        plain = {}
    known = plain if isinstance(plain, dict) else {}
    cases = known.get("cases")
    return Claim(
        path.name.strip(".").partition(CLAIM)[0],
        identity_of(known.get("owner")),
        frozenset(map(str, cases if isinstance(cases, list) else ())),
    )
