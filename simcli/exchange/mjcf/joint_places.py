"""Where joints of the compiled model are in the scene."""

from typing import NamedTuple

from simcli.exchange.source.mechanism import SourceJoint

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint


class JointPlace(NamedTuple):
    """Where a joint of the source is in the scene.

    Attributes:
        joint: that has its coordinates.
        dof: the first of its dofs.
        words: its own words: those of the joint, or of an axis of a d6.
        index: of the joint in the compiled model.
        type: mjtJoint.
    """

    joint: SourceJoint
    dof: int
    words: dict
    index: int
    type: int

    @property
    def is_scalar(self) -> bool:
        """Whether it has one coordinate."""
        return self.type in (SLIDE, HINGE)

    @property
    def path(self) -> str:
        """Dotted path of its words in the scene."""
        group = next(
            (
                (key, k)
                for key, axes in self.joint.words.get("axes", {}).items()
                for k, one in enumerate(axes)
                if one is self.words
            ),
            None,
        )
        return f"joints.{self.joint.name}" + (f".axes.{group[0]}[{group[1]}]" if group else "")
