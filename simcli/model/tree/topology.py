"""The order in which a tree is walked: names and numbers of joints only, no geometry."""

from typing import NamedTuple

from simcli.model.tables import WORLD


class Step(NamedTuple):
    """One tree joint as it is met from the world outwards.

    Attributes:
        joint: joint index.
        inner: body index nearer to the world, or WORLD.
        outer: body index that the step reaches.
        inverted: True where the walk goes from the joint's child to its parent.
    """

    joint: int
    inner: int
    outer: int
    inverted: bool


def depth_first(parent: list[int], child: list[int], is_tree: list[bool]) -> list[Step]:
    """Walk of the spanning tree from the world, branches in the order of the joints.

    Args:
        parent: (J,) body index or WORLD.
        child: (J,) body index.
        is_tree: (J,); together these joints reach every body once.

    Returns:
        Tree joints, each after the one that reaches its inner body. A joint of which neither body hangs on the world
        is not met.
    """
    at_body: dict[int, list[int]] = {}
    for j, tree in enumerate(is_tree):
        if tree:
            at_body.setdefault(parent[j], []).append(j)
            at_body.setdefault(child[j], []).append(j)
    steps: list[Step] = []
    reached = {WORLD}
    waiting = [(j, WORLD) for j in reversed(at_body.get(WORLD, []))]
    while waiting:
        j, inner = waiting.pop()
        inverted = inner != parent[j]
        outer = parent[j] if inverted else child[j]
        if outer in reached:
            continue
        reached.add(outer)
        steps.append(Step(j, inner, outer, inverted))
        for k in reversed(at_body[outer]):
            if k != j:
                waiting.append((k, outer))
    return steps
