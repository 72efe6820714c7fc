"""The tiers of the tests: what the default run takes, and what it leaves to `pytest -m "slow or full"`.

The default tier touches everything once (touched.py), in about five minutes on two cores. A mark leaves a test out of it:

    full    repeats with other values what a test of the default tier shows: the rest of a table (full_cases.py)
    slow    over 5 s, or 2 s and told by others (slow_cases.py)

Tests on a GPU are of the tier that their other marks say; where there is no device they are skipped by name.

Tests of the default tier that are to run with each engine that compiles kernels have the mark `engine` (engine_cases.py):
every promise, all that kernels are made of (`touched.wanted_of_kernels`), and the files of what keeps kernels.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

import pytest

MARKS = ("slow", "full")
DEFAULT, OTHERS, ENGINE = "not slow and not full", "slow or full", "engine"  # what `-m` says, here and in .ci/run

# Promises of the README, by the words with which they begin, and functions of tests that show them.
PROMISES = {
    "The same scene, seed, version": (
        "test_a_world_has_the_same_bytes_in_a_batch_of_any_size",
        "test_a_world_replayed_alone_has_the_same_bytes",
        "test_one_and_two_threads_give_the_same_bytes",
        "test_any_of_them_have_the_bytes_of_the_whole",
    ),
    "A world that fails": ("test_no_byte_of_another_world_changes", "test_the_failed_world_is_named_in_the_events"),
    "After Ctrl-C, kill -9": (
        "test_kill_9_leaves_every_committed_frame",
        "test_a_full_disk_is_exit_6_and_a_readable_file",
        "test_a_polite_signal_leaves_a_stopped_file",
        "test_stopped_runs_go_on_to_the_same_bytes",
    ),
    "A scene with a mistake": ("test_broken_scene", "test_all_faults_at_once", "test_what_is_refused_is_named"),
}


def function_of(name: str) -> str:
    """The function of a test, by its id."""
    return name.partition("[")[0].rpartition("::")[2]


def covering(rows: Iterable[Sequence], width: int = 2) -> list:
    """Rows of a table as parameters; the default tier takes some of them, in which all pairs of values stand.

    Args:
        rows: values of the parameters, one after the other as in the table; of `pytest.param` they keep their marks.
        width: 2 for pairs, 1 for single values, 3 for triples; fewer where rows are shorter.

    Returns:
        one `pytest.param` each, in the same order; those that are not needed are marked `full`.
    """
    rows = [row if hasattr(row, "values") else pytest.param(*row) for row in rows]
    chosen = covered([row.values for row in rows], width)
    return [
        row if k in chosen else pytest.param(*row.values, id=row.id, marks=(*row.marks, pytest.mark.full))
        for k, row in enumerate(rows)
    ]


def in_turns(first: Sequence, second: Sequence, shift: int = 0) -> list[tuple]:
    """Few pairs in which each value of both stands: the second ones go round from `shift` on, as the first ones do."""
    return [(first[k % len(first)], second[(k + shift) % len(second)]) for k in range(max(len(first), len(second)))]


def covered(rows: Sequence[Sequence], width: int) -> set[int]:
    """Indices of few rows in which all combinations of so many values stand that stand in any row.

    Greedy: the row that has most of what is left, the first of several. So the choice depends on nothing but the rows.
    """
    parts = [_combinations(row, width) for row in rows]
    left, chosen = set().union(*parts), set()
    while left:
        best = max(range(len(rows)), key=lambda k: (len(parts[k] & left), -k))
        chosen.add(best)
        left -= parts[best]
    return chosen


def _combinations(row: Sequence, width: int) -> set[tuple]:
    """Values of a row, so many at a time, each with its column."""
    cells = [(column, repr(value)) for column, value in enumerate(row)]
    return set(combinations(cells, min(width, len(cells))))


def tier_of(item) -> str:
    """The tier of a collected test: "default", "slow" or "full"; what has both marks is slow."""
    return next((mark for mark in MARKS if item.get_closest_marker(mark)), "default")


def mark_for_engines(items, files: Sequence[str], cases: dict[str, Sequence[str]]) -> None:
    """Mark the tests of the default tier that are to run with each engine.

    Args:
        items: collected tests.
        files: whose tests are all to run.
        cases: file to names, as of `mark_listed`.
    """
    here = [item for item in items if tier_of(item) == "default"]
    mark_listed(here, {ENGINE: cases})
    for item in here:
        if item.path.stem in files:
            item.add_marker(getattr(pytest.mark, ENGINE))


def mark_listed(items, lists: dict[str, dict[str, Sequence[str]]]) -> None:
    """Mark the tests that lists by mark and by file name.

    Args:
        items: collected tests.
        lists: mark to file to names, with or without parameters: `test_x`, `test_x[case]`.
    """
    for item in items:
        for mark, by_file in lists.items():
            names = by_file.get(item.path.stem, ())
            if item.name in names or getattr(item, "originalname", None) in names:
                item.add_marker(getattr(pytest.mark, mark))
