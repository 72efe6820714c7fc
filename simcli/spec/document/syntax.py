"""What is wrong with a text that no YAML parser takes, told where the mistake was made.

A parser stops where it cannot read on, often many lines behind the mistake: a bracket swallows all that follows it. Here
the text is read again as people write scenes, one key per line, and what looks like a mistake is mended; the first mend
with which the parser comes further was the mistake.
"""

from collections.abc import Callable

from simcli.spec.document.syntax_block import BlockReader
from simcli.spec.document.syntax_flow import Mistake

_TRIED = 12  # mistakes that are mended to see whether the parser comes further
_LONGEST = 2**20  # characters of a text that is parsed again for each: libyaml takes a second for a million

_READABLE = 2**23  # characters of a text that is read as people write it; of a longer one the parser's own place is told

_Failure = Callable[[str], int | None]


def mistake_of(text: str, failed: int, failure: _Failure) -> tuple[Mistake | None, str | None]:
    """The first mistake in a text, and the text without it.

    Args:
        text: that the parser refused.
        failed: index of the character where it stopped.
        failure: index where the parser stops in a text; None if it takes it.

    Returns:
        The mistake, None if there is no likely one, and the mended text, None if no mend is known.
    """
    if len(text) > _READABLE:
        return None, None
    found: list[Mistake] = []
    best: tuple[int, Mistake, str] | None = None
    reader = BlockReader(text, _known)
    for mistake in reader.read(failed):
        if len(text) > _LONGEST:
            return mistake, None
        found.append(mistake)
        for start, end, put in mistake.edits:
            mended = text[:start] + put + text[end:]
            stops = failure(mended)
            # The place of the old failure moves with the edit.
            further = len(mended) if stops is None else stops - failed - max(0, len(mended) - len(text))
            # What an open quote or bracket has swallowed may hold another mistake, before the old failure.
            apart = mistake.swallows and further != 0 and failed + further > reader.line_end
            if stops is None or apart or further > _line_rest(text, failed):
                return mistake, mended
            if further > 0 and (best is None or further > best[0]):
                best = (further, mistake, mended)  # in the same line, which may hold another mistake
        if len(found) >= _TRIED:
            break
    if best is not None:
        return best[1:]
    return (found[0] if found else None), None


def _line_rest(text: str, index: int) -> int:
    """Characters to the end of a line: a parser that stops in the same line has not come further."""
    end = text.find("\n", index)
    return (end if end >= 0 else len(text)) - index


def _known(path: tuple[str, ...]) -> list[str]:
    """Keys of the format at a path of keys, dashes for entries of lists."""
    from simcli.spec.lookup.keys import known_keys

    return known_keys(tuple(0 if step == "-" else step for step in path))
