"""GivenNames of a source as names of a scene."""

import re

_ALLOWED = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_RESERVED = ("world",)


class GivenNames:
    """GivenNames of one kind, each given once.

    Args:
        taken: names that are not free.
    """

    def __init__(self, taken: tuple[str, ...] = _RESERVED):
        self.taken = set(taken)
        self.of: dict[str, str] = {}

    def give(self, name: str, fallback: str = "unnamed") -> str:
        """A name of a scene for one of the source: the same where scenes allow it, and where nothing has it yet."""
        found = name or fallback
        if not _ALLOWED.match(found):
            found = re.sub(r"[^A-Za-z0-9_-]", "_", found)
            found = found if _ALLOWED.match(found) else f"_{found}"
        first, k = found, 2
        while found in self.taken:
            found, k = f"{first}_{k}", k + 1
        self.taken.add(found)
        self.of.setdefault(name, found)
        return found


def words_of_renaming(before: str, after: str) -> str:
    """What a report says of a name that scenes do not allow; "" for one that stayed."""
    return f"`{before}` is called `{after}`" if before and before != after else ""
