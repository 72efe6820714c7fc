"""The tree of a scene as links on chains of slides and hinges: what robot formats know.

A joint of a scene lies between an anchor in the link nearer to the world and one in the link beyond it:

    X_beyond = X_inner  anchor_inner  x(q)  anchor_beyond^-1

x(q) is a product of slides and hinges about axes of the anchor frames, a quaternion, or a pose. Where the tree runs from the
child of a joint to its parent, x(q)^-1 stands there: the same coordinates about the reversed axes in reversed order.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from simcli import rotations as rot
from simcli.exchange.writing.written_scene import WrittenScene
from simcli.model.joints.catalogue import BALLS, POSES, SCREW_KINDS
from simcli.model.joints.topology import depth_first
from simcli.model.tables.model import WORLD, Array


class ChainAxis(NamedTuple):
    """A slide or hinge.

    Attributes:
        name: in the model.
        is_hinge: else a slide.
        direction: [1], (3,), unit, in the anchor frames.
        dof: index into joint_qd; of what follows that of its leader.
        coordinate: index into joint_q, likewise.
        lead: [m/rad], of the slide of a screw: its coordinate per turn of the hinge of the same dof; else None.
    """

    name: str
    is_hinge: bool
    direction: Array
    dof: int
    coordinate: int
    lead: float | None = None


@dataclass(frozen=True)
class ChainLink:
    """A body, and what holds it.

    Attributes:
        body: index.
        inner: index of the body nearer to the world, or WORLD.
        joint: index.
        name: of the joint in the model; path: dotted, in the scene, of the joint, or of the body where it has none.
        hold: what the joint is.
        anchor_inner, anchor_beyond: [m, 1], (7,), poses of the anchor frames in the two bodies.
        axes: of `hold` axes.
    """

    body: int
    inner: int
    joint: int
    name: str
    path: str
    hold: Literal["fixed", "axes", "ball", "free", "prescribed"]
    anchor_inner: Array
    anchor_beyond: Array
    axes: tuple[ChainAxis, ...] = ()

    @property
    def at_zero(self) -> Array:
        """[m, 1], (7,), pose of the body in the inner one with all coordinates at zero."""
        return rot.pose_compose(self.anchor_inner, rot.pose_inverse(self.anchor_beyond))


@dataclass(frozen=True)
class ChainTree:
    """The bodies of a scene, each after the one that it hangs on.

    Attributes:
        links: branches in the order of the joints.
        name_of_dof: index into joint_qd to the name of the axis that it is.
    """

    links: tuple[ChainLink, ...]
    name_of_dof: dict[int, str]

    @classmethod
    def of(cls, scene: WrittenScene) -> "ChainTree":
        """The tree of a scene; gives its joints their names."""
        joints = scene.model.joints
        steps = depth_first(joints.parent.tolist(), joints.child.tolist(), joints.is_tree.tolist())
        links = tuple(_link(scene, step) for step in steps)
        return cls(links, {axis.dof: axis.name for link in links for axis in link.axes if axis.lead is None})


def _link(scene: WrittenScene, step) -> ChainLink:
    model, j = scene.model, step.joint
    ends = [scene.first(model.joints, column)[j] for column in ("X_p", "X_c")]
    ends = ends[::-1] if step.inverted else ends
    kind, written = model.joints.kind[j], model.joints.name[j] in scene.spec.joints
    path = f"joints.{model.joints.name[j]}" if written else f"bodies.{model.bodies.name[step.outer]}"
    axes: tuple[ChainAxis, ...] = ()
    if step.inner == WORLD and model.bodies.kinematic[step.outer]:
        hold = "prescribed"
    elif not model.joints.dof_dim[j].any():
        hold = "fixed"
    elif kind in BALLS:
        hold = "ball"
    elif kind in POSES:
        hold = "free"
    else:
        hold, axes = "axes", _axes(scene, j, step.inverted)
    name = axes[0].name if len(axes) == 1 else scene.joints.give(model.joints.name[j])
    return ChainLink(step.outer, step.inner, j, name, path, hold, *ends, axes)


def _axes(scene: WrittenScene, j: int, inverted: bool) -> tuple[ChainAxis, ...]:
    model = scene.model
    first, last = model.joints.qd_start[j : j + 2]
    at, n_linear = model.joints.q_start[j], model.joints.dof_dim[j, 0]
    direction = scene.first(model.dofs, "axis")
    screw = n_linear if model.joints.kind[j] in SCREW_KINDS else -1  # its place among the dofs
    several, given = last - first > 1, model.joints.name[j]
    found = []
    for k, dof in enumerate(range(first, last)):
        name = scene.joints.give(f"{given}_{k + 1}" if several else given)
        found.append(ChainAxis(name, k >= n_linear, direction[dof], dof, int(at + k)))
        if k == screw:
            lead = float(scene.first(model.joints, "pitch")[j])
            found.append(found[-1]._replace(name=scene.joints.give(f"{given}_slide"), is_hinge=False, lead=lead))
    if inverted:
        found = [axis._replace(direction=-axis.direction) for axis in reversed(found)]
    return tuple(found)


def poses_at_zero(links: tuple[ChainLink, ...], place) -> dict[int, Array]:
    """[m, 1], (7,), world poses of the bodies with the coordinates of chains and balls at zero.

    Args:
        links: in the order of the walk.
        place: link to the pose of a body that nothing holds.
    """
    found: dict[int, Array] = {WORLD: np.array(rot.IDENTITY_POSE)}
    for link in links:
        floats = link.hold in ("free", "prescribed")
        found[link.body] = place(link) if floats else rot.pose_compose(found[link.inner], link.at_zero)
    return found
