"""Contacts that hold a mechanism: where they are at a posture, what they let it do, and the forces in them.

A contact that is held is followed from posture to posture by its shapes and features. Its normal stays closed; where it
has friction its tangents, and with torsional or rolling friction its turns, stay as they are.
"""

from dataclasses import dataclass, replace

import numpy as np

from simcli import rotations as rot
from simcli.analysis.rest.touching import ROWS, RestContacts, cone_forces, contact_jacobians, contact_wrenches, touches_of
from simcli.kernels.collision.queries import ContactFinder, FoundContacts
from simcli.model.tables.model import Array, Model

_SURE = 1e-9  # of the largest force, by which one may leave its cone


@dataclass(frozen=True)
class HeldContacts:
    """Contacts that are held.

    Attributes:
        touches: where they were when they were chosen.
        rows: (C, 6) bool, of each, that do not move.
    """

    touches: RestContacts
    rows: Array


@dataclass(frozen=True)
class Press:
    """Contacts that are held, at a posture.

    Attributes:
        touches: where they are.
        rows: (C, 6, n), what they see of the unknowns.
        force: [N, N m], (C, 6), along their frames.
    """

    touches: RestContacts
    rows: Array
    force: Array

    @property
    def effort(self) -> Array:
        """[N, N m], (n,), of the forces along the unknowns."""
        return np.einsum("cin,ci->n", self.rows, self.force)


def held_of(touches: RestContacts) -> HeldContacts:
    """Contacts to hold: along their normals, and what their friction holds."""
    return HeldContacts(touches, touches.bound > 0.0)


class ContactHold:
    """The contacts of a model of one world, found anew at each posture.

    Args:
        model: with contacts.
        finder: of it.
        reach: [m], gaps up to which contacts are looked for.
        slips: whether friction is left out.
    """

    def __init__(self, model: Model, finder: ContactFinder, reach: float, slips: bool):
        self.model, self.finder, self.reach, self.slips = model, finder, reach, slips

    def near(self, pose: Array) -> RestContacts:
        """All contacts within reach of poses of bodies, (B, 7)."""
        return touches_of(self.model, self.finder(pose, self.reach), self.slips)

    def again(self, held: HeldContacts, pose: Array) -> RestContacts | None:
        """The held contacts at other poses; None if one of them is found no more."""
        found, before = self.finder(pose, self.reach), held.touches.found
        chosen = []
        for k in range(len(held.touches)):
            pair = (found.shape_a == before.shape_a[k]) & (found.shape_b == before.shape_b[k])
            if not pair.any():
                return None
            same = pair & (found.feature == before.feature[k])
            far = np.linalg.norm(found.point - before.point[k], axis=1)
            chosen.append(int(np.where(same if same.any() else pair, far, np.inf).argmin()))
        some = FoundContacts(*(getattr(found, name)[chosen] for name in FoundContacts.__dataclass_fields__))
        return touches_of(self.model, some, self.slips, held.touches.frame)

    def rows(self, touches: RestContacts, pose: Array, twist: Array) -> Array:
        """(C, 6, n), what contacts see of motions with the twists (n, B, 6)."""
        return contact_jacobians(touches, twist, rot.pose_apply(pose, self.model.bodies.com[0]))


def balancing_forces(touches: RestContacts, rows: Array, load: Array, unit: float, rounds: int = 3) -> Array:
    """Forces in the cones of contacts that balance a load as far as they can, (C, 6).

    Args:
        touches: contacts.
        rows: (C, 6, m), over directions.
        load: (m,).
        unit: [m], by which moments of contacts compare with forces.
        rounds: least-squares corrections for the last digits.
    """
    if not len(touches):
        return np.zeros((0, ROWS))
    scale = np.repeat([1.0, 1.0 / unit], 3)
    flat = (rows * scale[None, :, None]).reshape(-1, rows.shape[2])
    bare = replace(touches, bound=touches.bound * scale, compliance=0.0 * touches.compliance)
    force = cone_forces(bare, flat @ flat.T, (flat @ load).reshape(-1, ROWS))
    acts = (bare.bound > 0.0).ravel()
    inside = force
    for _ in range(rounds):
        rest = load + flat.T @ inside.ravel()
        correction = np.zeros(len(flat))
        correction[acts] = np.linalg.lstsq(flat[acts].T, -rest, 1e-12)[0]
        inside = inside + correction.reshape(force.shape)
    return (inside if is_in_cones(inside, bare.bound) else force) * scale


def is_in_cones(force: Array, bound: Array) -> bool:
    """Whether forces along the frames are ones that Coulomb's law lets contacts have."""
    slack = _SURE * np.abs(force).max(initial=0.0)
    n = force[:, 0]
    parts = [(np.linalg.norm(force[:, first:end] / np.where(bound[:, first:end] > 0.0, bound[:, first:end], 1.0), axis=1))
             for first, end in ((1, 3), (3, 4), (4, 6))]  # fmt: skip
    return bool((n >= -slack).all() and all((part <= n + slack).all() for part in parts))


def wrenches_of_joints(model: Model, wrench: Array, pose: Array, press: Press) -> Array:
    """Wrenches of joints with what contacts put on the bodies beyond them, (J, 6), at the child anchors, world.

    Args:
        model: of one world.
        wrench: (J, 6), without.
        pose: [m, 1], (B, 7).
        press: contacts.
    """
    joints, out = model.joints, wrench.copy()
    pushes = contact_wrenches(press.touches, press.force)
    below = {b: [b] for b in range(model.n_bodies)}
    tree = [j for j in range(len(wrench)) if joints.is_tree[j]]
    for _ in tree:  # as deep as the longest chain
        for j in tree:
            if joints.parent[j] >= 0:
                below[joints.parent[j]] = sorted({*below[joints.parent[j]], *below[joints.child[j]]})
    for j in tree:
        anchor = rot.pose_compose(pose[joints.child[j]][None], joints.X_c[:1, j])[0, :3]
        for k in range(len(press.touches)):
            own = below[joints.child[j]]
            sign = float(press.touches.body_b[k] in own) - float(press.touches.body_a[k] in own)
            force, torque = sign * pushes[k, :3], sign * pushes[k, 3:]
            out[j, :3] -= force
            out[j, 3:] -= torque + np.cross(press.touches.found.point[k] - anchor, force)
    return out
