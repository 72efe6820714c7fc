"""The one language of selection: which of some names a pattern means. Scenes, commands and views all read this page.

A pattern is

    text              `*`, `?` and `[..]` as in file names, capitals matter; fits a name, or what follows its last slash.
                      A text that is a name, letter by letter, means that name alone
    compiled regex    fits the whole name, or the whole of what follows its last slash
    list of these     what any of them fits
    list of integers  places in the list of names, counted from 0, ascending

so that `elbow` means `left/elbow` and `right/elbow`, `left/*` all that stands under `left/`, and `*` everything.
"""

import re
from collections.abc import Mapping, Sequence
from fnmatch import translate
from functools import lru_cache
from itertools import pairwise
from operator import index

Pattern = str | re.Pattern[str] | Sequence[str | re.Pattern[str]] | Sequence[int]
NO_GROUPS: Mapping[str, Sequence[int]] = {}

_compiled = lru_cache(maxsize=1024)(lambda text: re.compile(translate(text)))


def is_pattern(text: str) -> bool:
    """Whether a text may mean several names."""
    return any(c in text for c in "*?[")


def fits(name: str, pattern: str | re.Pattern) -> bool:
    """True if one pattern fits a name, or what follows its last slash.

    Args:
        name: as `left/elbow`.
        pattern: a text with the wildcards of file names, or a compiled regular expression.
    """
    expression = _compiled(pattern) if isinstance(pattern, str) else pattern
    return bool(expression.fullmatch(name) or expression.fullmatch(name.rpartition("/")[2]))


def matching(names: Sequence[str], pattern: Pattern, groups: Mapping[str, Sequence[int]] = NO_GROUPS) -> list[int]:
    """Places of the names that a pattern means.

    Args:
        names: as `left/elbow`.
        pattern: see the head of this file.
        groups: title to places; a pattern that fits a title means all of them. A title that is also a name is not seen.

    Returns:
        Ascending, each place once; empty if nothing fits.

    Raises:
        ValueError: the pattern is none, or its integers do not ascend.
        KeyError: an integer that is no place in the list.
    """
    items = [pattern] if isinstance(pattern, str | re.Pattern) else listed(pattern)
    if not all(isinstance(item, str | re.Pattern) for item in items):
        return _places(len(names), items)
    known = set(names)
    titles = [title for title in groups if title not in known]
    found: set[int] = set()
    for item in items:
        found.update(_fitting(names, titles, groups, item))
    return sorted(found)


def listed(pattern: object) -> list:
    """The items of a list of patterns.

    Raises:
        ValueError: it is no list.
    """
    try:
        return list(pattern)
    except TypeError:
        raise ValueError(f"{pattern!r} is no pattern: give a text, a compiled regex, or a list") from None


def _fitting(names: Sequence[str], titles: list[str], groups: Mapping[str, Sequence[int]], item: str | re.Pattern):
    exact = isinstance(item, str) and (item in names or item in titles)
    same = item.__eq__ if exact else lambda name: fits(name, item)
    yield from (place for place, name in enumerate(names) if same(name))
    for title in titles:
        if same(title):
            yield from groups[title]


def _places(count: int, items: list) -> list[int]:
    try:
        places = [index(item) for item in items if not isinstance(item, bool)]
    except TypeError:
        places = []
    if len(places) != len(items):
        raise ValueError(f"{items!r} is no pattern: a list holds texts and regexes, or integers, not both")
    if any(b <= a for a, b in pairwise(places)):
        raise ValueError(f"{items!r} do not ascend: each place once, in order")
    outside = [place for place in places if not 0 <= place < count]
    if outside:
        raise KeyError(f"there is no number {outside[0]}: there are {count}, counted from 0")
    return places


def wanted(
    names: Sequence[str],
    kinds: Sequence[object],
    include: Pattern | None = None,
    exclude: Pattern | None = None,
    types: Sequence[object] | None = None,
    without: Sequence[object] | None = None,
    groups: Mapping[str, Sequence[int]] = NO_GROUPS,
) -> list[int]:
    """Places that inclusion and exclusion, by name and by kind, leave.

        (include or types; everything if neither is given), without exclude, without what has an excluded kind

    Args:
        names: as `left/elbow`.
        kinds: one per name.
        include: pattern, None if not given; an empty list includes nothing.
        exclude: pattern, None for nothing.
        types: kinds that are included, None if not given.
        without: kinds that are left out, None for nothing.
        groups: as in `matching`.

    Returns:
        Ascending.

    Raises:
        ValueError, KeyError: see `matching`.
    """
    kept = set(range(len(names)))
    if include is not None or types is not None:
        kept = {place for place, kind in enumerate(kinds) if kind in (types or ())}
        kept.update(matching(names, () if include is None else include, groups))
    kept.difference_update(matching(names, () if exclude is None else exclude, groups))
    return sorted(place for place in kept if kinds[place] not in (without or ()))
