"""Which chunk is next, and what is tried again.

A case whose world failed has a result and is left alone. A chunk whose process was killed is tried again as it is; after the
second time, and after every error of its own, it is halved, until the case that causes it stands alone.
That one is given up after so many tries in all.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import replace

from simcli.sweeps.executors.contract import Ending
from simcli.sweeps.records.plan import Chunk, Plan
from simcli.sweeps.records.scenes import digest_of
from simcli.sweeps.records.state import SweepState, Tries

MOST_LOST = 10  # attempts whose process was killed: mostly by others, who kill whatever runs
OVERTIME_UNHALVED = 2  # attempts that the end of a job cut off: another one of this size would be cut off, too
LOST_UNHALVED = 2  # of them that do not halve a chunk
MOST_CRASHES_ALONE = 12  # chunks one after the other that brought nothing: a single case is not the cause


class ChunkQueue:
    """The chunks that are still to be done.

    Args:
        plan: the whole sweep.
        mine: cases that are to be done here.
        state: of the ledger, as it changes.
        tries: attempts of a case, in all, that crash before it is given up.
        retry_failed: whether cases that failed, or were given up, until now are tried again.
        slots: chunks that are done at a time.

    Attributes:
        open: cases that have no result and were not given up.
        failed: cases that failed or were given up, with reasons.
    """

    def __init__(self, plan: Plan, mine: frozenset[str], state: SweepState, tries: int, retry_failed: bool, slots: int):
        self._plan = plan
        self._mine = mine
        self._state = state
        self._tries = tries
        self._slots = slots
        self._waiting: deque[Chunk] = deque()
        self._grain: dict[str, int] = {}  # cases of the largest chunk that a suspected case may be in
        self._crashes = 0  # chunks one after the other that brought nothing
        failed = state.failed() if retry_failed else {}
        self._again = set(failed) & state.results.keys()
        self._before = {case: replace(state.tries.get(case, Tries())) for case in failed}
        self.open: set[str] = set()
        self.failed: dict[str, str] = {}
        state.changed.clear()
        self._look_at(mine)
        for case in self.open:
            if (size := self._suspected_size(case)) > 1:
                self._grain[case] = size // 2

    def _since(self, case: str) -> tuple[int, int, int]:
        """Crashes, killed processes and givings up that count."""
        now, before = self._state.tries.get(case, Tries()), self._before.get(case, Tries())
        return now.crashed - before.crashed, now.vanished - before.vanished, now.given_up - before.given_up

    def _suspected_size(self, case: str) -> int:
        crashed, vanished, _ = self._since(case)
        tries = self._state.tries.get(case, Tries())
        is_suspected = crashed or vanished > LOST_UNHALVED or tries.overtime >= OVERTIME_UNHALVED
        return tries.smallest if is_suspected else 0

    def update(self) -> None:
        """Take in what the ledger has learnt."""
        changed, self._state.changed = self._state.changed, set()
        self._again -= changed
        self._look_at(changed & self._mine)

    def _look_at(self, cases: Collection[str]) -> None:
        for case in cases:
            result = None if case in self._again else self._state.results.get(case)
            given_up = self._since(case)[2] > 0
            if result is None and not given_up:
                self.open.add(case)
                continue
            self.open.discard(case)
            self.failed.pop(case, None)
            if result is None or result.is_failed:
                self.failed[case] = result.reason if result else self._state.tries[case].reason

    def plan_anew(self, elsewhere: Collection[str]) -> None:
        """Make chunks of what is open and nobody is at.

        Args:
            elsewhere: cases that somebody is at, here or in another process.
        """
        left = self.open.difference(elsewhere)
        closed = frozenset(case.id for case in self._plan.cases if case.id not in left)
        chunks = list(self._plan.rechunk(closed)) if left else []
        portions = max(1, -(-self._slots // max(len(chunks), 1)))
        self._waiting = deque(part for chunk in chunks for part in self._parts(chunk, portions))

    def _parts(self, chunk: Chunk, portions: int) -> list[Chunk]:
        """A chunk in portions for all who have nothing to do, and with suspected cases apart from all others."""
        groups: dict[int, list[str]] = {}
        for case in chunk.cases:
            groups.setdefault(self._grain.get(case, 0), []).append(case)
        found = []
        for grain, cases in groups.items():
            size = grain or -(-len(cases) // portions)
            found += [part_of(chunk, cases[k : k + size]) for k in range(0, len(cases), size)]
        return found

    def next(self) -> Chunk | None:
        """The next chunk, None if there is none; `plan_anew` may find more."""
        return self._waiting.popleft() if self._waiting else None

    def note_success(self) -> None:
        """A chunk is done."""
        self._crashes = 0

    def note_failure(self, chunk: Chunk, ending: Ending) -> list[str]:
        """A chunk has brought nothing, and the ledger has learnt so.

        Returns:
            cases that are to be given up.
        """
        self._crashes += ending is not Ending.LOST
        counts = [self._since(case) for case in chunk.cases]
        spent = [
            case
            for case, (crashed, vanished, _) in zip(chunk.cases, counts, strict=True)
            if crashed >= self._tries or vanished >= MOST_LOST or ending is Ending.REFUSED
        ]
        if len(chunk.cases) == 1 or self._crashes >= MOST_CRASHES_ALONE:
            return spent
        if ending is not Ending.LOST or min(vanished for _, vanished, _ in counts) > LOST_UNHALVED:
            self._grain.update(dict.fromkeys(chunk.cases, len(chunk.cases) // 2))
        return []


def part_of(chunk: Chunk, cases: Collection[str]) -> Chunk:
    """Some cases of a chunk as a chunk of its own; all of them are the chunk itself."""
    chosen = set(cases)
    if len(chosen) == len(chunk.cases):
        return chunk
    kept = [(world, case) for world, case in zip(chunk.worlds, chunk.cases, strict=True) if case in chosen]
    worlds, ids = zip(*kept, strict=True)
    return replace(chunk, id=digest_of(ids), worlds=worlds, cases=ids)
