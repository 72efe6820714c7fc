"""What each test costs, and what a run saves without it: slow cases (slow_cases.py) are chosen by this.

    SIMCLI_COSTS=/tmp/costs PYTHONPATH=tests python -m pytest -p support.costs   # a line of each test
    python tests/support/costs.py /tmp/costs                                     # the dearest of them, and the sum

A kernel is compiled once for all tests of a run that take it. So a test costs its own time and the kernels that no other
test takes; what is printed is right for one test that is left out, not for several that share a kernel.
"""

import json
import os
import resource
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

FOLDER = "SIMCLI_COSTS"
FIRST_CALL = 0.2  # of the time that a kernel compiles: the machine's code is made when it is first called
SHOWN = 100

_taken: list = []


class Cost(NamedTuple):
    """Of a test: processor time without its kernels [s], and time of each kernel by key [s]."""

    own: float
    kernels: dict[str, float]


def pytest_configure():
    from simcli.kernels.language import compilations

    compilations.listeners.append(_taken.append)


def _processor_time() -> float:
    """Of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Write a test's time, and the kernels that it has taken first in its process."""
    _taken.clear()
    start = _processor_time()
    yield
    kernels = [(kernel.key, str(kernel.origin), kernel.trace, kernel.compile) for kernel in _taken]
    line = json.dumps({"test": item.nodeid, "time": _processor_time() - start, "kernels": kernels})
    folder = Path(os.environ[FOLDER])
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.jsonl", "a", encoding="utf-8") as file:
        file.write(line + "\n")


def read_costs(folder: Path) -> dict[str, Cost]:
    """Costs by test."""
    rows = [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]
    compiled: dict[str, float] = {}
    for key, origin, _, seconds in (kernel for row in rows for kernel in row["kernels"]):
        if origin == "compiled":
            compiled[key] = max(compiled.get(key, 0.0), seconds)
    found = {}
    for row in rows:
        own, kernels = row["time"], {}
        for key, origin, trace, seconds in row["kernels"]:
            if origin == "process":
                continue
            own -= trace + (seconds if origin == "compiled" else 0.0) + FIRST_CALL * compiled.get(key, 0.0)
            kernels[key] = trace + (1 + FIRST_CALL) * compiled.get(key, 0.0)
        found[row["test"]] = Cost(max(own, 0.0), kernels)
    return found


def savings(costs: dict[str, Cost]) -> dict[str, float]:
    """[s] that a run is shorter without each test."""
    users = defaultdict(set)
    for test, cost in costs.items():
        for key in cost.kernels:
            users[key].add(test)
    return {test: cost.own + sum(seconds for key, seconds in cost.kernels.items() if users[key] == {test})
            for test, cost in costs.items()}  # fmt: skip


def main() -> None:
    costs = read_costs(Path(sys.argv[1]))
    kernels: dict[str, float] = {}
    for cost in costs.values():
        for key, seconds in cost.kernels.items():
            kernels[key] = max(kernels.get(key, 0.0), seconds)
    own, shared = sum(cost.own for cost in costs.values()), sum(kernels.values())
    lines = [f"{len(costs)} tests, {own / 60:.1f} min, and {len(kernels)} kernels, {shared / 60:.1f} min"]
    for test, seconds in sorted(savings(costs).items(), key=lambda one: -one[1])[:SHOWN]:
        lines.append(f"{seconds:6.1f} s, {costs[test].own:5.1f} without kernels  {test}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
