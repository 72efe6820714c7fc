"""The part of a sweep that is one machine's, by a rule that does not depend on what is done."""

import re
from typing import NamedTuple

from simcli.errors import UsageError
from simcli.sweeps.planning.plan import Plan


class Shard(NamedTuple):
    """One of `n` parts.

    Attributes:
        number: from 1 to n.
        n: parts.
    """

    number: int
    n: int

    def __str__(self) -> str:
        return f"{self.number}/{self.n}"


def shard_of(text: str) -> Shard:
    """`3/16` as a shard.

    Raises:
        UsageError: it is none.
    """
    found = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text)
    shard = Shard(*map(int, found.groups())) if found else None
    if shard is None or not 1 <= shard.number <= shard.n:
        raise UsageError(f"--shard {text}: write I/N with I from 1 to N, as 1/16 for the first of sixteen parts")
    return shard


def cases_of(plan: Plan, shard: Shard | None) -> frozenset[str]:
    """The cases of a shard: every n-th chunk, or every n-th case where there are fewer chunks than shards.

    Args:
        plan: the whole sweep; the rule knows nothing but its order.
        shard: None for all cases.
    """
    if shard is None:
        return frozenset(case.id for case in plan.cases)
    units = [chunk.cases for chunk in plan.chunks]
    if len(units) < shard.n:
        units = [(case.id,) for case in plan.cases]
    return frozenset(case for unit in units[shard.number - 1 :: shard.n] for case in unit)
