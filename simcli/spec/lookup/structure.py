"""Which joints make the tree, which close loops, which bodies are free. Names only, no geometry.

The rules are those of the scene format: breadth first from the world in file order, a further joint to a reached body
closes a loop, and what nothing reaches is free. A joint that is switched off, at the start or by an event, is no tree
joint: its bodies move on without it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from simcli.spec.base import dofs
from simcli.spec.base.nodes import parse_path
from simcli.spec.schema.run_sections import EventSpec
from simcli.spec.schema.scene import SceneSpec

WORLD_NAME = "world"


@dataclass(frozen=True)
class Tree:
    """The mechanism as a graph.

    Attributes:
        tree_joints: joints of the spanning tree, breadth first from the world and then from the free bodies.
        loop_joints: the others, in file order; they close loops, are cables, or can be switched off.
        free_bodies: bodies that get the joint NAME_free, in file order.
        orphans: joints that belong to no listed articulation and to no loop.
    """

    tree_joints: tuple[str, ...]
    loop_joints: tuple[str, ...]
    free_bodies: tuple[str, ...]
    orphans: tuple[str, ...]


class _Walk:
    """Breadth-first search over undirected joints, in file order.

    Attributes:
        reached: bodies that were reached, in the order in which they were (the values mean nothing).
        taken: the joints that reached them.
    """

    def __init__(self, spec: SceneSpec):
        self.spec = spec
        self.reached: dict[str, None] = {}
        self.taken: list[str] = []
        self.at: dict[str, list[str]] = {}
        self.place = {name: index for index, name in enumerate((WORLD_NAME, *spec.bodies))}
        apart = never_tree(spec)
        for name, joint in spec.joints.items():
            if name in apart:
                continue
            self.at.setdefault(joint.parent, []).append(name)
            self.at.setdefault(joint.child, []).append(name)

    def spread(self, start: Iterable[str], distance: bool) -> list[str]:
        """Reach everything from the start; joints that leave a body free, as distance joints, only when asked.

        Returns:
            the start and what was reached from it.
        """
        queue = list(start)
        for body in queue:
            for name in self.at.get(body, []):
                joint = self.spec.joints[name]
                if joint.type in dofs.BESIDE_ROWS and (not distance or body == joint.child):
                    continue  # from its child it is no tree joint: its parent then is free, which means the same
                other = joint.child if joint.parent == body else joint.parent
                if other in self.reached or (other != WORLD_NAME and other not in self.spec.bodies):
                    continue
                self.reached[other] = None
                self.taken.append(name)
                # Beyond a distance joint the others come first again.
                queue += self.spread([other], distance=False) if joint.type in dofs.BESIDE_ROWS else [other]
        return queue

    def flood(self, start: str) -> None:
        """Reach everything from one body, distance joints last.

        Bodies of earlier floods are at their end already, so that the work is linear in the scene.
        """
        self.reached[start] = None
        if start not in self.at:  # no joint leads further: most bodies of a heap
            return
        self.spread(sorted(self.spread([start], distance=False), key=self.place.__getitem__), distance=True)


def switched(spec: SceneSpec) -> set[str]:
    """Joints that are off at the start, or that an event switches."""
    return {name for name, joint in spec.joints.items() if not joint.enabled} | switched_by(spec.events)


def switched_by(events: tuple[EventSpec, ...]) -> frozenset[str]:
    """Joints that events switch. The scenes after each of thousands of events have one list of events: kept for the next."""
    if _last_events[0] is not events:
        paths = (parse_path(path) or ("",) for event in events for path in event.set)
        found = frozenset(str(steps[1]) for steps in paths if steps[0] == "joints" and steps[2:] == ("enabled",))
        _last_events[:] = events, found
    return _last_events[1]


_last_events: list = [(), frozenset()]  # events that were looked at last, and the joints that they switch


def never_tree(spec: SceneSpec) -> set[str]:
    """Joints that the tree passes by: marked as loops, cables, and those that can be off.

    In a planar scene distance joints too: a body on one would be free in space, but a free body there keeps to the plane.
    """
    apart = dofs.NEVER_TREE | ({"distance"} if spec.world.plane else set())
    marked = {name for name, joint in spec.joints.items() if joint.loop or joint.type in apart}
    return marked | switched(spec)


def tree(spec: SceneSpec) -> Tree:
    """Split the joints of a scene into tree and loops.

    Args:
        spec: the scene; references to bodies that do not exist are passed over.

    Returns:
        The tree. A body that nothing reaches from the world becomes free; of a floating group it is the first body in
        the file that is no joint's child, else the first.
    """
    walk = _Walk(spec)
    walk.flood(WORLD_NAME)
    candidates = _candidates(walk)
    children = {joint.child for name, joint in spec.joints.items() if name in candidates}
    free: list[str] = []
    for roots_only in (True, False):
        for body in spec.bodies:
            if body not in walk.reached and not (roots_only and body in children):
                free.append(body)
                walk.flood(body)
    taken = set(walk.taken)
    order = {name: index for index, name in enumerate(spec.bodies)}
    return Tree(
        tuple(walk.taken),
        tuple(name for name in spec.joints if name not in taken),
        tuple(sorted(free, key=order.__getitem__)),
        orphans(spec, taken),
    )


def _candidates(walk: _Walk) -> set[str]:
    return {name for names in walk.at.values() for name in names}


def orphans(spec: SceneSpec, tree_joints: set[str]) -> tuple[str, ...]:
    """Joints in no listed articulation that close no loop, hang on no world, and touch no listed joint's body."""
    if spec.articulations is None:
        return ()
    listed = {name for names in spec.articulations.values() for name in names}
    touched = {body for name in listed if name in spec.joints for body in _bodies(spec.joints[name])}
    return tuple(
        name
        for name, joint in spec.joints.items()
        if name not in listed and name in tree_joints and joint.parent != WORLD_NAME and joint.child not in touched
    )


def _bodies(joint) -> tuple[str, str]:
    return joint.parent, joint.child


def two_parents(spec: SceneSpec) -> list[tuple[str, str, str]]:
    """Pairs of joints with one child inside one listed articulation: (articulation, first joint, second joint)."""
    found = []
    apart = never_tree(spec)
    for group, names in (spec.articulations or {}).items():
        by_child: dict[str, str] = {}
        for name in names:
            joint = spec.joints.get(name)
            if joint is None or name in apart:
                continue
            if joint.child in by_child:
                found.append((group, by_child[joint.child], name))
            by_child.setdefault(joint.child, name)
    return found


def leaves(spec: SceneSpec, tree: Tree) -> list[str]:
    """Bodies that one joint of the tree reaches, and none leaves: the free joint that a body gets counts, loops do not."""
    ends = [_bodies(spec.joints[name]) for name in tree.tree_joints]
    count = Counter([*(body for both in ends for body in both), *tree.free_bodies])
    return [body for body in spec.bodies if count[body] <= 1]
