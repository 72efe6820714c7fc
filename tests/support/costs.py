"""What each test costs, what a run saves without it, and which cases a default tier of so many seconds takes.

    SIMCLI_COSTS=/tmp/costs PYTHONPATH=tests python -m pytest -m "" -p support.costs   # a line of each test
    PYTHONPATH=tests python tests/support/costs.py /tmp/costs                          # the dearest of them, and the sum
    PYTHONPATH=tests python tests/support/costs.py /tmp/costs --default 400 > tests/support/full_cases.py
    PYTHONPATH=tests python tests/support/costs.py /tmp/costs --engine > tests/support/engine_cases.py

A kernel is compiled once for all tests of a run that take it, and a fixture of a file is set up once. So a test costs its
own time, and of these what no other test takes.
"""

import contextlib
import json
import os
import resource
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support.engine_cases import ENGINE_FILES
from support.full_cases import FULL_CASES
from support.tiers import PROMISES, function_of, tier_of
from support.touched import notes, wanted, wanted_of_kernels

FOLDER = "SIMCLI_COSTS"
FIRST_CALL = 0.2  # of the time that a kernel compiles: the machine's code is made when it is first called
COMPILED = 5.4  # times that tracing takes: compiling, of the kernels that were measured
CHEAP = 0.05  # [s] of a test that is always taken
SHOWN = 100
LONGEST = 20  # files
AT_ONCE = 20  # a part of the tests that are taken before prices are looked at again

_taken: list = []
_within: list[float] = []  # [s] that fixtures within those take that are being set up, and within the test


class Cost(NamedTuple):
    """Of a test: processor time without what it shares [s], time of each kernel and fixture by key [s], what it touches."""

    own: float
    shared: dict[str, float]
    notes: frozenset = frozenset()
    is_marked: bool = False  # by its file as one of another tier than the default one


def pytest_configure():
    from simcli.kernels.language import backend

    backend.listeners.append(_taken.append)


def _processor_time() -> float:
    """Of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


@contextlib.contextmanager
def _notes_apart() -> Iterator[set]:
    """What is touched meanwhile, in a set of its own."""
    before = {*notes}
    notes.clear()
    found: set = set()
    try:
        yield found
    finally:
        found |= notes
        notes.update(before)


def _write(**row) -> None:
    folder = Path(os.environ[FOLDER])
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def _kernels(taken) -> list[tuple]:
    return [(kernel.key, str(kernel.origin), kernel.trace, kernel.compile) for kernel in taken]


def _key(definition, param) -> str:
    return f"{definition.baseid}::{definition.argname}[{param}]"


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef, request):
    """Write the time of a fixture that several tests share, and the kernels that it has taken."""
    if fixturedef.scope == "function":
        yield
        return
    before, start, began = len(_taken), _processor_time(), time.perf_counter()
    _within.append(0.0)
    with _notes_apart() as touched:
        yield
    whole = _processor_time() - start
    wall = time.perf_counter() - began
    own = whole - _within.pop()
    if _within:
        _within[-1] += whole
    _write(
        fixture=_key(fixturedef, getattr(request, "param_index", 0)),
        time=own,
        used=whole / wall,
        kernels=_kernels(_taken[before:]),
        notes=sorted(touched),
    )
    del _taken[before:]


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Write a test's time, and the kernels that it has taken first in its process."""
    _taken.clear()
    _within[:] = [0.0]
    start, began = _processor_time(), time.perf_counter()
    with _notes_apart() as touched:
        yield
    whole = _processor_time() - start
    wall = time.perf_counter() - began
    callspec, used = getattr(item, "callspec", None), []
    for name, definitions in item._fixtureinfo.name2fixturedefs.items():
        if definitions[-1].scope != "function":
            used.append(_key(definitions[-1], callspec.indices.get(name, 0) if callspec else 0))
    _write(
        test=item.nodeid,
        time=whole - _within[0],
        used=whole / wall,
        kernels=_kernels(_taken),
        fixtures=used,
        notes=sorted(touched),
        is_marked=_is_marked(item),
    )


def _is_marked(item) -> bool:
    """Whether its file leaves a test out of the default tier, whatever the list says."""
    listed = FULL_CASES.get(item.path.stem, ())
    return tier_of(item) != "default" and item.name not in listed and item.originalname not in listed


def read_costs(folder: Path) -> dict[str, Cost]:
    """Costs by test."""
    rows = [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]
    compiled: dict[str, float] = {}
    for row in rows:
        for key, origin, _, seconds in row["kernels"]:
            if origin == "compiled":
                compiled[key] = max(compiled.get(key, 0.0), seconds * _share(row))
    for row in rows:
        for key, origin, trace, _ in row["kernels"]:
            if origin == "folder":  # in all runs, as of a cache that was not empty
                compiled.setdefault(key, COMPILED * trace * _share(row))
    fixtures: dict[str, Cost] = {}
    for row in rows:
        if "fixture" in row:
            cost = _cost(row, compiled)
            fixtures[row["fixture"]] = max(cost, fixtures.get(row["fixture"], cost), key=lambda one: one.own)
    found = {}
    for row in rows:
        if "test" in row:
            own, shared, touched, _ = _cost(row, compiled)
            for name in row["fixtures"]:
                if name in fixtures:
                    shared = shared | fixtures[name].shared | {name: fixtures[name].own}
                    touched |= fixtures[name].notes
            found[row["test"]] = Cost(own, shared, touched, row.get("is_marked", False))
    return found


def _cost(row: dict, compiled: dict[str, float]) -> Cost:
    """Of a test or a fixture alone."""
    own, kernels = row["time"], {}
    for key, origin, trace, seconds in row["kernels"]:
        if origin == "process":
            continue
        traced = trace * _share(row)
        own -= traced + (seconds * _share(row) if origin == "compiled" else 0.0) + FIRST_CALL * compiled.get(key, 0.0)
        kernels[key] = traced + (1 + FIRST_CALL) * compiled.get(key, 0.0)
    return Cost(max(own, 0.0), kernels, frozenset(map(tuple, row.get("notes", ()))))


def _share(row: dict) -> float:
    """Processor time over time of a row, for the times of kernels, which are those of a clock: other processes run, too."""
    walls = sum(trace + (seconds if origin == "compiled" else 0.0) for _, origin, trace, seconds in row["kernels"])
    return min(1.0, row["used"] if "used" in row else row["time"] / max(walls, 1e-9))


def savings(costs: dict[str, Cost]) -> dict[str, float]:
    """[s] that a run is shorter without each test."""
    users = defaultdict(set)
    for test, cost in costs.items():
        for key in cost.shared:
            users[key].add(test)
    return {
        test: cost.own + sum(seconds for key, seconds in cost.shared.items() if users[key] == {test})
        for test, cost in costs.items()
    }


def chosen(costs: dict[str, Cost], most: float, whole: set | None = None) -> tuple[set[str], float]:
    """Tests of a default tier: promises, what touches all that must be, a case of each function, others; the cheapest first.

    Args:
        costs: of all tests.
        most: [s] of the tier; 0 for promises and what must be touched alone.
        whole: what must be touched; that of the default tier if None.

    Returns:
        ids, and what they cost together [s].
    """
    taken, held, sum_ = set(), set(), 0.0

    def price(test: str) -> float:
        return costs[test].own + sum(seconds for key, seconds in costs[test].shared.items() if key not in held)

    def take(test: str) -> None:
        nonlocal sum_
        sum_ += price(test)
        held.update(costs[test].shared)
        taken.add(test)

    for function in (name for names in PROMISES.values() for name in names):
        if having := [test for test in costs if function_of(test) == function]:
            take(min(having, key=lambda test: (price(test), test)))
    missing = (wanted() if whole is None else whole) - set().union(*(costs[test].notes for test in taken))
    while having := [test for test in costs if costs[test].notes & missing]:
        best = min(having, key=lambda test: (price(test) / len(costs[test].notes & missing), test))
        missing -= costs[best].notes
        take(best)

    def fill(groups: list[list[str]]) -> None:
        """Take one test of each group while there is time: first those whose part of what several groups share is least."""
        while groups:
            users = Counter(key for group in groups for key in set().union(*(costs[test].shared for test in group)) - held)

            def part(test: str, users=users) -> float:
                return costs[test].own + sum(s / users[key] for key, s in costs[test].shared.items() if key not in held)

            best = sorted((min((part(test), test) for test in group), group) for group in groups)
            fitting = [(test, group) for (_, test), group in best[: len(best) // AT_ONCE + 1] if sum_ + price(test) <= most]
            if not fitting:
                return
            for test, group in fitting:
                if sum_ + price(test) <= most:
                    take(test)
                groups.remove(group)

    if not most:
        return taken, sum_
    functions = defaultdict(list)
    for test in sorted(costs):
        functions[test.partition("[")[0]].append(test)
    fill([tests for tests in functions.values() if not taken & set(tests)])
    for test in sorted(costs):  # to leave them out would save nothing
        if test not in taken and price(test) <= CHEAP:
            take(test)
    fill([[test] for test in sorted(costs) if test not in taken])
    return taken, sum_


def longest(costs: dict[str, Cost], tests: Iterable[str]) -> list[str]:
    """Names of the files that take longest with these tests, whatever others share with them."""
    seconds: dict[str, float] = defaultdict(float)
    shared = defaultdict(dict)
    for test in tests:
        name = Path(test.partition("::")[0]).stem
        seconds[name] += costs[test].own
        shared[name] |= costs[test].shared
    return sorted(seconds, key=lambda name: -seconds[name] - sum(shared[name].values()))[:LONGEST]


def engine_listing(taken: set[str]) -> str:
    """The file of the cases that run with each engine."""
    by_file = defaultdict(set)
    for test in taken:
        path, _, name = test.partition("::")
        if Path(path).stem not in ENGINE_FILES:
            by_file[Path(path).stem].add(name)
    lines = [
        '"""Tests of the mark `engine`: of these files all, and cases that `costs.py --engine` chooses."""',
        "",
        "ENGINE_FILES = (",
        *(f"    {name!r}," for name in ENGINE_FILES),
        ")",
        "",
        "ENGINE_CASES: dict[str, tuple[str, ...]] = {",
    ]
    for file in sorted(by_file):
        lines += [f"    {file!r}: (", *(f"        {name!r}," for name in sorted(by_file[file])), "    ),"]
    return "\n".join([*lines, "}", ""])


def listing(costs: dict[str, Cost], taken: set[str]) -> str:
    """The file of the cases that are left to the tier `full`; of a function without any case in the other, its name."""
    kept = {test.partition("[")[0] for test in taken}
    by_file = defaultdict(set)
    for test in set(costs) - taken:
        path, _, name = (test if test.partition("[")[0] in kept else test.partition("[")[0]).partition("::")
        by_file[Path(path).stem].add(name)
    lines = [
        '"""Tests of the tier `full` that their files do not mark, by file, as `costs.py --default` chooses them."""',
        "",
        "FULL_CASES: dict[str, tuple[str, ...]] = {",
    ]
    for file in sorted(by_file):
        lines += [f"    {file!r}: (", *(f"        {name!r}," for name in sorted(by_file[file])), "    ),"]
    return "\n".join([*lines, "}", ""])


def main() -> None:
    costs = read_costs(Path(sys.argv[1]))
    if "--engine" in sys.argv:
        costs = {test: cost for test, cost in costs.items() if not cost.is_marked}
        sys.stdout.write(engine_listing(chosen(costs, 0.0, wanted_of_kernels())[0]))
        return
    if "--default" in sys.argv:
        costs = {test: cost for test, cost in costs.items() if not cost.is_marked}
        taken, seconds = chosen(costs, float(sys.argv[sys.argv.index("--default") + 1]))
        sys.stderr.write(f"{len(taken)} of {len(costs)} tests, {seconds:.0f} s; longest files, for conftest.py:\n")
        sys.stderr.write(", ".join(f'"{name}"' for name in longest(costs, taken)) + "\n")
        sys.stdout.write(listing(costs, taken))
        return
    shared: dict[str, float] = {}
    for cost in costs.values():
        for key, seconds in cost.shared.items():
            shared[key] = max(shared.get(key, 0.0), seconds)
    own, together = sum(cost.own for cost in costs.values()), sum(shared.values())
    lines = [f"{len(costs)} tests, {own / 60:.1f} min, and {len(shared)} kernels and fixtures, {together / 60:.1f} min"]
    for test, seconds in sorted(savings(costs).items(), key=lambda one: -one[1])[:SHOWN]:
        lines.append(f"{seconds:6.1f} s, {costs[test].own:5.1f} without what is shared  {test}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
