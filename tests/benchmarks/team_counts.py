"""What a thread, and a team of threads, of a GPU does for the condensed matrix of a world: counted, `python
tests/benchmarks/team_counts.py`.

Counts follow the loops of dense.py, condensed.py and team_stage.py. Cycles are those of a world alone: of each loop, in
which nothing waits for the one before but through memory, what it issues and the longest chain of what waits for each other.
"""

import argparse
from dataclasses import dataclass

from simcli.cli import console

# [cycles], of an H200: shared memory, the second-level cache, a sum or product, a reciprocal or root, a barrier.
SHARED, CACHE, ARITHMETIC, RECIPROCAL, BARRIER = 30, 270, 4, 40, 30
RECIPROCAL_ISSUES = 10  # instructions of a rounded reciprocal
CLOCK, MULTIPROCESSORS, SCHEDULERS = 1.8e9, 132, 4  # [Hz]
REGISTERS, SHARED_BYTES, MOST_TEAMS = 65536, 227 * 1024, 32  # of a multiprocessor
RESERVED = 1024  # [bytes], of shared memory for each team


@dataclass
class Case:
    """Averages of a world, from runs on a CPU with one world in a pack.

    Attributes:
        threes: of velocities.  looked, rows_looked: contacts and rows that are live.
        added, length, square: contacts of a new matrix, threes that one sees, the square of that; rows: threes of them.
        products, blocks: of the factors, of 3 x 3, and those beside the diagonal that are not empty.
        renewals, solves: of a step.
    """

    threes: int
    looked: float
    rows_looked: float
    added: float
    length: float
    square: float
    rows: float
    products: float
    blocks: float
    renewals: float
    solves: float


CASES = {
    "humanoid": Case(9, 9.6, 33.8, 4.4, 4.7, 22.7, 1.4, 70.8, 44.1, 1.62, 2.20),
    "stacks": Case(10, 20.0, 0.0, 19.4, 3.6, 13.5, 0.0, 51.4, 40.8, 0.59, 0.61),
}


@dataclass
class Count:
    """What somebody does.

    Attributes:
        sums: products with sums.  shared, memory: numbers loaded and stored.
        issues, cycles, barriers: of the busiest thread.
    """

    sums: float = 0.0
    shared: float = 0.0
    memory: float = 0.0
    issues: float = 0.0
    cycles: float = 0.0
    barriers: float = 0.0

    def take(self, times: float = 1.0, waits: float = 0.0, more: float = 0.0, **done: float) -> None:
        """Count a loop: what it waits for beside its issues, and instructions that are none of the numbers."""
        for name, value in done.items():
            setattr(self, name, getattr(self, name) + times * value)
        issues = sum(done.values()) - done.get("barriers", 0.0) + more
        self.issues += times * issues
        self.cycles += times * (issues + waits + BARRIER * done.get("barriers", 0.0))


def split(count: Count, times: float) -> None:
    """Factors of a block: three reciprocals, one after another."""
    count.take(times, sums=12, more=3 * RECIPROCAL_ISSUES, waits=3 * RECIPROCAL + 8 * ARITHMETIC)


def renewal_of_thread(case: Case) -> Count:
    """A new matrix and its factors."""
    c, m = Count(), case.threes
    c.take(case.looked, memory=27, sums=18, waits=CACHE)
    c.take(case.rows_looked, memory=1, waits=CACHE)
    c.take(
        case.added,
        memory=18 * case.length,
        sums=9 * case.length,
        more=3 * RECIPROCAL_ISSUES,
        waits=CACHE * (1 + case.length),
    )
    below = (case.square - case.length) / 2
    c.take(case.added * below, memory=45, sums=45, waits=2 * CACHE)
    c.take(case.added * case.length, memory=36, sums=45, waits=2 * CACHE)
    c.take(case.rows, memory=24, sums=12, waits=2 * CACHE)
    c.take(m * m, memory=18, waits=CACHE)  # copied
    c.take(m * m, memory=9, sums=9, waits=CACHE)  # which are empty
    c.take(case.blocks, memory=18, sums=18, waits=CACHE)
    c.take(case.products, memory=27, sums=27, waits=CACHE)
    split(c, m)
    c.take(m, memory=18, waits=CACHE)
    return c


def solve_of_thread(case: Case) -> Count:
    """A solution."""
    c = Count()
    c.take(2 * case.threes, memory=15, sums=8, waits=CACHE + 8 * ARITHMETIC)
    c.take(case.blocks, memory=12, sums=9, waits=CACHE + 4 * ARITHMETIC)
    return c


def renewal_of_team(case: Case) -> Count:
    """The busiest of 32 threads."""
    c, m = Count(), case.threes
    c.take(rounds(m * m, 32), memory=9, shared=9, more=40, waits=CACHE + SHARED)
    for looked in (case.looked, case.rows_looked):
        times = -(-looked // 30)
        c.take(times, memory=18, sums=27, shared=1, barriers=2, more=20, waits=CACHE)
    c.take(case.looked, shared=1, waits=SHARED)
    c.take(case.rows_looked / 3, shared=3, more=6, waits=SHARED)
    # The gain, which columns, and what is seen there: one after another from memory.
    c.take(case.added, memory=28, sums=65, shared=19, barriers=2, more=50, waits=2 * CACHE + 60)
    add_staged(c, case.added, case.length)
    c.take(min(case.rows, 1.0), memory=9, sums=9, shared=19, barriers=2, more=30, waits=CACHE)
    add_staged(c, min(case.rows, 1.0), m)
    c.take(rounds(m * m, 32), memory=9, shared=9, more=40, waits=SHARED)
    c.take(1, memory=27, barriers=2)
    for k in range(m):
        left = m - k - 1
        c.take(1, shared=9, waits=SHARED)
        split(c, 1)
        mixed = (6 * left) % 32 != 0 and left > 0
        c.take(rounds(6 * left, 32) + mixed, shared=6, sums=6, more=10, waits=SHARED + 6 * ARITHMETIC)
        c.take(1, shared=9, barriers=2)
        columns, pairs = rounds(left, 8), rounds(3 * left, 8)
        c.take(columns, shared=9, more=6, waits=SHARED)
        c.take(columns * pairs, shared=18, sums=18, more=14, waits=SHARED + 4 * ARITHMETIC)
    return c


def add_staged(c: Count, times: float, length: float) -> None:
    """What is staged of a contact goes to the matrix."""
    columns, rows = rounds(length, 8), rounds(3 * length, 4)
    c.take(times * columns, shared=9, more=8, waits=SHARED)
    c.take(times * columns * rows, shared=11, sums=9, more=14, waits=2 * SHARED + 4 * ARITHMETIC)


def solve_of_team(case: Case) -> Count:
    """The busiest of 32 threads."""
    c, n = Count(), 3 * case.threes
    c.take(rounds(n, 32), memory=2, shared=4, more=16, waits=CACHE + 2 * SHARED)
    c.take(2, barriers=1)
    c.take(2 * case.threes, shared=12, sums=6, waits=SHARED + 9 * ARITHMETIC)
    c.take(2 * case.threes * rounds(n / 2, 32), shared=5, sums=3, more=8, barriers=1, waits=SHARED + 4 * ARITHMETIC)
    return c


def rounds(items: float, threads: int) -> int:
    """Times that so many threads go over some items."""
    return int(-(-items // threads))


def teams_at_once(threes: int, size: int, registers: int) -> tuple[int, int]:
    """Teams that a multiprocessor holds, by shared memory and by registers."""
    room = -(-3 * threes // 15) * 15
    numbers = room * (room | 1) + 6 * room + 30
    by_memory = SHARED_BYTES // (numbers * size + 4 * (room // 3) + RESERVED)
    return min(by_memory, MOST_TEAMS), min(REGISTERS // (32 * registers), MOST_TEAMS)


def numbers_of_team(case: Case) -> tuple[float, float]:
    """Numbers that all threads of a team load and store from memory, for a matrix and for a solution."""
    kept = 2 * 9 * case.threes**2
    looked = 27 * case.looked + 3 * case.rows_looked
    return kept + looked + case.added * (9 + 10 * case.length) + 3 * case.rows * case.threes, 6 * case.threes


def rows_of(name: str, case: Case) -> list[tuple[str, ...]]:
    """A matrix, a solution and a step, by a thread and by the busiest of a team."""
    rows = []
    for who, *counts in (
        ("thread", renewal_of_thread(case), solve_of_thread(case)),
        ("team", renewal_of_team(case), solve_of_team(case)),
    ):
        moved = [count.memory for count in counts] if who == "thread" else numbers_of_team(case)
        for what, times in (("matrix", (1, 0)), ("solution", (0, 1)), ("step", (case.renewals, case.solves))):
            both = list(zip(times, counts, moved, strict=True))
            numbers = [sum(t * getattr(c, key) for t, c, _ in both) for key in ("sums", "issues", "cycles", "barriers")]
            rows.append((name, who, what, *(f"{x:.0f}" for x in (*numbers, 4 * sum(t * n for t, _, n in both)))))
    return rows


def main(words: list[str] | None = None) -> None:
    """Print the tables."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args(words)
    rows = [row for name, case in CASES.items() for row in rows_of(name, case)]
    console.data(console.table(rows, ("case", "by", "what", "sums", "issues", "cycles", "barriers", "bytes"), indent=""))
    for name, case in CASES.items():
        issues, cycles = (float(next(row for row in rows if row[:3] == (name, "team", "step"))[k]) for k in (4, 5))
        few, most = 1024 * CLOCK / cycles, MULTIPROCESSORS * SCHEDULERS * CLOCK / issues
        console.data(f"{name}: this alone allows {few:.2g} world-steps a second of 1024 worlds, {most:.2g} of any number")
        for size, registers in ((4, 80), (8, 128)):
            by_memory, by_registers = teams_at_once(case.threes, size, registers)
            console.data(
                f"{name}, {size} bytes: {by_memory} teams at once, {by_registers} if a thread has {registers} registers"
            )


if __name__ == "__main__":
    main()
