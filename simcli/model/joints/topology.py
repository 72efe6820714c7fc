"""The order in which a tree is walked, and in which its bodies are placed: names and numbers of joints, no geometry."""

from collections.abc import Iterator
from typing import NamedTuple

from simcli.model.joints.mechanism import JointInput
from simcli.model.tables.model import WORLD
from simcli.model.tables.worlds import Worlds
from simcli.spec.base import dofs


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


def placing_order(worlds: Worlds, joints: list[JointInput], steps: list[Step]) -> Iterator[tuple[Step, JointInput | None]]:
    """The walk; the tree of a free body that a joint outside the tree places comes after what that joint hangs on.

    Args:
        worlds: the scenes.
        joints: all joints.
        steps: the walk, tree by tree.

    Yields:
        Each step, and the joint outside the tree that places its body, None for most. Such a joint has frames, and its
        child is a free body without a pose of its own.
    """
    guide_of = _guides(worlds, joints)
    if not guide_of:
        yield from ((step, None) for step in steps)
        return
    waiting: list[tuple[JointInput | None, list[Step]]] = []
    for step in steps:
        if step.inner == WORLD:
            waiting.append((guide_of.get(step.outer), []))
        waiting[-1][1].append(step)
    placed = {WORLD}
    while waiting:
        ready = [one for one in waiting if one[0] is None or one[0].parent in placed]
        later = [one for one in waiting if not (one[0] is None or one[0].parent in placed)]
        if not ready:  # a circle: somebody must stand at the identity
            ready, later = [(None, later[0][1])], later[1:]
        for guide, walk in ready:
            yield walk[0], guide
            yield from ((step, None) for step in walk[1:])
            placed.update(step.outer for step in walk)
        waiting = later


def _guides(worlds: Worlds, joints: list[JointInput]) -> dict[int, JointInput]:
    """Body index to the first joint outside the tree that says where the body stands, for free bodies without pose."""
    scene = worlds.first
    names = list(scene.bodies)
    free = {part.child for part in joints if part.name not in scene.joints}
    found: dict[int, JointInput] = {}
    for part in joints:
        if part.is_tree or part.child not in free or scene.bodies[names[part.child]].pose is not None:
            continue
        joint = scene.joints[part.name]
        if joint.uses_frames and joint.type not in dofs.FRAMES_ONLY:
            found.setdefault(part.child, part)
    return found
