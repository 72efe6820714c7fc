"""Who has written a number: the file, its batch, an option, or who runs it; itself or through parameters."""

from enum import IntEnum

from simcli.spec.document.nodes import Mark, Node

SET, VARY, VARY_TABLE = "--set", "--vary", "--vary-table"  # options; a mark has them in place of a file
SWEEP = "sweep"  # what a sweep file lays over its scenes


class Rank(IntEnum):
    """Who has written a number; a higher one holds."""

    FILE = 0
    BATCH = 1
    SET = 2
    RUN = 3


_OF_OPTION = {SET: Rank.SET, SWEEP: Rank.RUN, VARY: Rank.RUN, VARY_TABLE: Rank.RUN}


class RankedMark(Mark):
    """A place whose value somebody else than the file has written, itself or in the parameters that it is made of."""

    rank: Rank = Rank.FILE
    of_parameters: Rank = Rank.FILE

    @classmethod
    def of(cls, mark: Mark, rank: Rank) -> "RankedMark":
        """A place with a rank."""
        found = cls(*mark)
        found.rank = rank
        return found


def start_rank(node: Node | None) -> Rank:
    """The rank of a value."""
    mark = node.mark if node is not None else None
    return getattr(mark, "rank", None) or (_OF_OPTION.get(mark.file, Rank.FILE) if mark is not None else Rank.FILE)


def full_rank(node: Node | None) -> Rank:
    """The rank of a value or of the parameters that it is made of, whichever is higher."""
    of_parameters = getattr(node.mark, "of_parameters", Rank.FILE) if node is not None else Rank.FILE
    return max(start_rank(node), of_parameters)


def made_of(node: Node, of_parameters: Rank) -> Mark:
    """The mark of a value that is made of parameters.

    Args:
        node: its expression.
        of_parameters: the highest rank of these.
    """
    if of_parameters == Rank.FILE:
        return node.mark
    found = RankedMark.of(node.mark, start_rank(node))
    found.of_parameters = of_parameters
    return found
