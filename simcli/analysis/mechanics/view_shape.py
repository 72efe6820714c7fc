"""What an ArticulationView shows, in counts and names."""

import numpy as np

from simcli.model.assemble import labels
from simcli.model.groups import Group
from simcli.model.joints.catalogue import POSES
from simcli.model.tables.model import Array, Model


class ViewShape:
    """Counts and names of C articulations of one structure in each of W worlds."""

    def __init__(self, model: Model, group: Group):
        self._model, self.group = model, group

    def __repr__(self) -> str:
        return (
            f"<view of {self.world_count} x {self.count_per_world} articulations: {self.joint_count} joints, "
            f"{self.joint_dof_count} dofs, {self.link_count} links>"
        )

    @property
    def model(self) -> Model:
        """The tables with everything that the setters of this view have changed."""
        return self._model

    @property
    def world_count(self) -> int:
        """Worlds, W."""
        return self._model.n_worlds

    @property
    def count_per_world(self) -> int:
        """Articulations in each world, C."""
        return len(self.group.articulation)

    @property
    def count(self) -> int:
        """Articulations in all worlds, W C."""
        return self.world_count * self.count_per_world

    @property
    def joint_count(self) -> int:
        """Joints shown of each articulation."""
        return self.group.joint.shape[1]

    @property
    def joint_coord_count(self) -> int:
        """Coordinates of these joints."""
        return self.group.q.shape[1]

    @property
    def joint_dof_count(self) -> int:
        """Degrees of freedom of these joints."""
        return self.group.qd.shape[1]

    @property
    def link_count(self) -> int:
        """Links shown of each articulation."""
        return self.group.body.shape[1]

    @property
    def shape_count(self) -> int:
        """Shapes on the links of the first articulation."""
        return len(self.shape_names)

    @property
    def articulation_names(self) -> tuple[str, ...]:
        """Full names of the articulations, C of them."""
        return tuple(self._model.joints.articulation_name[a] for a in self.group.articulation)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self._relative(self.joint_labels[0])

    @property
    def joint_labels(self) -> tuple[tuple[str, ...], ...]:
        """Full names of the joints of each articulation."""
        return tuple(tuple(self._model.joints.name[j] for j in row) for row in self.group.joint)

    @property
    def joint_dof_names(self) -> tuple[str, ...]:
        """Names of the degrees of freedom: the joint's, or `name:i` where it has several."""
        return self._coordinate_names(self._model.joints.qd_start)

    @property
    def joint_coord_names(self) -> tuple[str, ...]:
        """Names of the coordinates: the joint's, or `name:i` where it has several."""
        return self._coordinate_names(self._model.joints.q_start)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links."""
        return self._relative(self.link_labels[0])

    @property
    def body_names(self) -> tuple[str, ...]:
        """Names of the links: Newton's other word."""
        return self.link_names

    @property
    def link_labels(self) -> tuple[tuple[str, ...], ...]:
        """Full names of the links of each articulation."""
        return tuple(tuple(self._model.bodies.name[b] for b in row) for row in self.group.body)

    @property
    def shape_names(self) -> tuple[str, ...]:
        """Names of the shapes on the links of the first articulation, link by link."""
        shapes = self._model.shapes
        return self._relative([shapes.name[s] for b in self.group.body[0] for s in np.flatnonzero(shapes.body == b)])

    @property
    def is_fixed_base(self) -> bool:
        """True if the root's joint has no degree of freedom.

        Raises:
            ValueError: an articulation has several roots.
        """
        return bool((self._model.joints.dof_dim[self._roots()].sum(axis=1) == 0).all())

    @property
    def is_floating_base(self) -> bool:
        """True if the root's joint is a free or a distance joint.

        Raises:
            ValueError: an articulation has several roots.
        """
        return bool(np.isin(self._model.joints.kind[self._roots()], POSES).all())

    def _roots(self) -> Array:
        """The joint that carries each articulation, (C,)."""
        for name, root in zip(self.articulation_names, self.group.root, strict=True):
            if root < 0:
                raise ValueError(f"the articulation `{name}` has several roots: more than one of its joints hangs on others")
        return self.group.root

    def _relative(self, names) -> tuple[str, ...]:
        """Names of the first articulation without the path that they share."""
        return tuple(name.removeprefix(self.group.prefix[0]) for name in names)

    def _coordinate_names(self, start: Array) -> tuple[str, ...]:
        counts = [int(start[j + 1] - start[j]) for j in self.group.joint[0]]
        return tuple(label for name, n in zip(self.joint_names, counts, strict=True) for label in labels(name, n))
