"""Contacts of one model at given poses of its bodies, for who takes no steps."""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.kernels.collision.detect import detect
from simcli.kernels.collision.tables import Collider
from simcli.kernels.device.runtime import Device
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.tables import Tables
from simcli.model.bodies.colliders import colliders
from simcli.model.joints.tree_kinematics import link_points
from simcli.model.tables.model import WORLD, Model

_READ = ("shape_a", "shape_b", "combination", "feature", "point", "normal", "gap")


@dataclass(frozen=True)
class FoundContacts:
    """The C contacts of a pose.

    Attributes:
        shape_a, shape_b: (C,) index into Shapes.
        combination: (C,) row of the columns of Contacts.
        feature: (C,) number that stays the same while the same features touch.
        point: [m], (C, 3), half way between the surfaces, world.
        normal: [1], (C, 3), from A to B, world.
        gap: [m], (C,), negative in overlap.
    """

    shape_a: np.ndarray
    shape_b: np.ndarray
    combination: np.ndarray
    feature: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    gap: np.ndarray


class ContactFinder:
    """Finds the contacts of a model of one world.

    Args:
        model: with contacts.
        device: from `start_device`.
    """

    def __init__(self, model: Model, device: Device):
        self.model, self.host = model, colliders(model)
        self.arena = Arena(device, 1)
        self.tables = Tables(model, self.arena)
        self.collider = Collider(model, self.tables, self.arena)
        self.arena.build()
        self.tables.arena.upload()
        shapes = model.shapes
        shift = self.host.position - link_points(model, shapes.body, shapes.pose[..., :3])
        self._middle = np.einsum("vsji,vsj->vsi", self.host.rotation, shift)  # [m], of a hull in its shape's axes

    def __call__(self, pose: np.ndarray, reach: float) -> FoundContacts:
        """Contacts with gaps up to a reach.

        Args:
            pose: [m, 1], (B, 7), of the body frames, world.
            reach: [m].
        """
        c, shapes = self.collider, self.model.shapes
        bodies = np.concatenate((pose, [rot.IDENTITY_POSE]))[np.where(shapes.body == WORLD, len(pose), shapes.body)]
        at = rot.pose_compose(bodies[None], shapes.pose)
        R = rot.quat_to_matrix(at[..., 3:])
        x = at[..., :3] + np.einsum("wsij,vsj->wsi", R, self._middle)
        pad = ((0, 0), (0, 1), (0, 0))
        c.rotation.write(np.pad(R.reshape(*R.shape[:2], 9), pad))
        c.base.write(np.pad(bodies[None, :, :3], pad))
        c.position.write(np.pad(x - bodies[None, :, :3], pad))
        c.margin.write(np.full((1, c.margin.n_items, 1), 0.5 * reach))
        c.spare.write(np.zeros((1, c.spare.n_items, 3)))
        self.arena.launch(find_contacts, c)
        table = c.contacts
        count = int(table.count.read()[0, 0, 0])
        found = {name: getattr(table, name).read()[0, :count] for name in _READ}
        found = {name: values[:, 0] if values.shape[-1] == 1 else values for name, values in found.items()}
        whole = {name: found[name].astype(int) for name in ("shape_a", "shape_b", "combination", "feature")}
        return FoundContacts(**{**found, **whole})

    def close(self) -> None:
        """Free the device memory."""
        self.arena.destroy()


@ti.kernel
def find_contacts(c: ti.template()):
    """The contacts of the shapes where they are placed."""
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        detect(c, w)
