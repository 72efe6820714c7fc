"""Base of the tables: a frozen dataclass of numpy columns that nobody can write."""

from dataclasses import fields

import numpy as np

Array = np.ndarray


class Table:
    """Base of the tables: freezes its arrays."""

    def __post_init__(self):
        for column in fields(self):
            value = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
