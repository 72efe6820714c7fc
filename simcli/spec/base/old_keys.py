"""Keys of scenes that have another name now. The old ones are read as before, and `simcli check --fix` writes the new ones.

A key stands here only if it cannot vary within a batch: the random draws of a path are made from its name.
"""

import re

# Dotted path of a key by its old name, and the name that it has now, in the same mapping.
OLD_KEYS = {
    "solver.contact.push_out": "depenetration",
    "solver.contact.push_out_speed": "max_depenetration_velocity",
}
_NEW_NAMES: dict[tuple[str | int, ...], str] = {tuple(old.split(".")): new for old, new in OLD_KEYS.items()}
# Or an escape, behind which one may hide.
_MENTION = re.compile("|".join([*(re.escape(str(old[-1])) for old in _NEW_NAMES), r"\\[ux]"]))


def mentions_old_key(text: str) -> bool:
    """Whether an old name may stand anywhere in a text; only such texts are searched for keys."""
    return _MENTION.search(text) is not None


def new_name(steps: tuple[str | int, ...]) -> str | None:
    """The name that the key at a path has now; None if the path is not that of an old key."""
    return _NEW_NAMES.get(steps)


def leads_to_old_key(steps: tuple[str | int, ...]) -> bool:
    """Whether a path is that of an old key, or of a mapping on the way to one."""
    return any(old[: len(steps)] == steps for old in _NEW_NAMES)


def current_steps(steps: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """A path with the new name where it leads to an old key, or into its value."""
    for old, new in _NEW_NAMES.items():
        if steps[: len(old)] == old:
            return (*old[:-1], new, *steps[len(old) :])
    return steps
