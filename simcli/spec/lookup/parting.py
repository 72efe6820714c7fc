"""Which bodies never touch, whatever their shapes: those that a joint connects, and what is part of the world.

A joint says so while it is on, whatever its other body is: one that `enabled: false` or an event switches off neither
connects nor holds anything.
"""

from collections.abc import Iterable
from typing import NamedTuple

from simcli.spec.base import dofs
from simcli.spec.lookup.structure import WORLD_NAME, switched_by
from simcli.spec.schema.scene import SceneSpec


class Link(NamedTuple):
    """What of a joint counts here.

    Attributes:
        parent, child: bodies, or the world.
        type: of the joint.
        dofs: kinds of its dofs, "L" and "A".
    """

    parent: str
    child: str
    type: str
    dofs: str

    @property
    def connects(self) -> bool:
        """Whether it parts two bodies: a free one gives coordinates, and holds nothing."""
        return WORLD_NAME not in self[:2] and dofs.SAME.get(self.type, self.type) != "free"


class Parting(NamedTuple):
    """Which bodies do not touch.

    Attributes:
        pairs: two bodies that a joint other than a free one connects.
        still: the world, and bodies that move as prescribed: no contact could move them.
        grounded: these, and what rigid joints hold to them, in chains too: they are parts of the world.
    """

    pairs: frozenset[frozenset[str]]
    still: frozenset[str]
    grounded: frozenset[str]

    def parts(self, one: str, other: str) -> bool:
        """Whether two bodies do not touch unless `contact.pairs` names them."""
        return self.grounded.issuperset((one, other)) or frozenset((one, other)) in self.pairs

    def never(self, one: str, other: str) -> bool:
        """Whether two bodies cannot touch, whatever `contact` says."""
        return one == other or self.still.issuperset((one, other))


def part_bodies(links: Iterable[Link], kinematic: Iterable[str]) -> Parting:
    """The bodies that joints part.

    Args:
        links: joints that are on.
        kinematic: bodies that move as prescribed.
    """
    still = frozenset((WORLD_NAME, *kinematic))
    pairs, rigid = set(), {}
    for link in links:
        if link.connects:
            pairs.add(frozenset(link[:2]))
        if not link.dofs:
            rigid.setdefault(link.parent, []).append(link.child)
            rigid.setdefault(link.child, []).append(link.parent)
    grounded = dict.fromkeys(still)
    queue = list(still)
    for body in queue:  # which grows
        new = [other for other in rigid.get(body, ()) if other not in grounded]
        grounded |= dict.fromkeys(new)
        queue += new
    return Parting(frozenset(pairs), still, frozenset(grounded))


def parting(spec: SceneSpec, switch: bool | None = None) -> Parting:
    """The bodies that the joints of a scene part.

    Args:
        spec: the scene.
        switch: joints that events switch are taken as on (True) or off (False), which gives the most and the least that is
            ever apart; None: as the scene has them.
    """
    events = frozenset() if switch is None else switched_by(spec.events)
    links = [
        Link(joint.parent, joint.child, joint.type, joint.dof_kinds)
        for name, joint in spec.joints.items()
        if (switch if name in events else joint.enabled)
    ]
    return part_bodies(links, (name for name, body in spec.bodies.items() if body.kinematic))
