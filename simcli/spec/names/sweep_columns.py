"""Columns that the table of a sweep has of its own, beside those of its choices; no choice may have such a name."""

CASE, STATUS, FAULT_CODE, REASON, TIME = "case", "status", "status.code", "status.reason", "status.time"
OWN_COLUMNS = (CASE, STATUS, FAULT_CODE, REASON, TIME)
OF_SCENE = "scene"  # which of several scenes
OF_MEASURE = "measure."  # what the name of a measure's column begins with


def is_own_column(name: str) -> bool:
    """Whether the table of a sweep may have such a column without a choice of that name."""
    return name in (*OWN_COLUMNS, OF_SCENE) or (name.startswith(OF_MEASURE) and name.count(".") == 1)
