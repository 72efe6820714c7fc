"""The order in which bodies are placed, and which joint outside the tree places a free body."""

from collections.abc import Iterator

from simcli.model.batch.gather import Worlds
from simcli.model.mechanism import JointInput
from simcli.model.tables import WORLD
from simcli.model.tree.topology import Step
from simcli.spec.names import dofs


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
