"""Tests of the tier `full` that their files do not mark, by file: see tiers.py."""

FULL_CASES: dict[str, tuple[str, ...]] = {}
