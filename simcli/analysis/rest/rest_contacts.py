"""Contacts that hold a mechanism at rest: what they see of displacements, what they let it do, and the forces in them.

A contact has a normal force, two of friction, and torques of torsional and rolling friction: x = (n, s) with the rows of s
scaled by their coefficients of friction, so that each part of s is at most n. Forces are found as the minimum of a convex
function over these cones,

    min 1/2 x W x + b x,   x in K,

by projected gradients with momentum and restarts; the shift of De Saxce, |u_s| in each normal, lets friction oppose sliding.

A contact that is held is followed from posture to posture by its shapes and features. Its normal stays closed; where it
has friction its tangents, and with torsional or rolling friction its turns, stay as they are.

Source: Acary and Brogliato (2008), chapter 13, the problem of a step, here with displacements for velocities; Mazhar et al.
(2015), accelerated projected gradients. Deviation: torques of friction are parts of the same cone.
"""

from dataclasses import dataclass, replace

import numpy as np

from simcli import rotations as rot
from simcli.kernels.contact_queries import ContactFinder, FoundContacts
from simcli.model.tables.model import Array, Model

ROWS = 6  # of a contact: normal, two tangents, about the normal, two about tangents
_PARTS = ((1, 3), (3, 4), (4, 6))  # of s, each bounded by the normal force: sliding, torsion, rolling
_MOST_FRICTION = 100.0  # as of steps
_MOST_ITERATIONS = 4000
_CLOSE = 1e-13  # of the largest force, change of an iteration that ends them


@dataclass(frozen=True)
class RestContacts:
    """Contacts at a posture, in the coordinates of forces that cones bound.

    Attributes:
        found: where they are.
        body_a, body_b: (C,) body index or WORLD.
        frame: [1], (C, 3, 3), normal and two tangents as rows, world.
        bound: [1, m], (C, 6), by what x is multiplied: 1 for the normal, coefficients of friction for the others.
        compliance: [m/N], (C,).
    """

    found: FoundContacts
    body_a: Array
    body_b: Array
    frame: Array
    bound: Array
    compliance: Array

    def __len__(self) -> int:
        return len(self.body_a)

    def some(self, chosen: Array) -> "RestContacts":
        """Those of a mask or of indices."""
        part = FoundContacts(*(getattr(self.found, name)[chosen] for name in FoundContacts.__dataclass_fields__))
        own = ("body_a", "body_b", "frame", "bound", "compliance")
        return RestContacts(part, *(getattr(self, name)[chosen] for name in own))

    def name(self, model: Model, k: int) -> str:
        """The two shapes of a contact."""
        return " and ".join(f"`{model.shapes.name[s]}`" for s in (self.found.shape_a[k], self.found.shape_b[k]))


def touches_of(model: Model, found: FoundContacts, slips: bool = False, frames: Array | None = None) -> RestContacts:
    """Contacts with their frames and bounds.

    Args:
        model: of one world.
        found: contacts.
        slips: whether friction is left out.
        frames: (C, 3, 3), of contacts that these continue: their tangents are turned with the normals.
    """
    contacts, k = model.contacts, found.combination
    body = model.shapes.body
    along = frames[:, 1] if frames is not None else _first_tangents(model, found)
    along = along - (along * found.normal).sum(axis=1, keepdims=True) * found.normal
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    frame = np.stack((found.normal, along, np.cross(found.normal, along)), axis=1)
    sliding, across, still = (getattr(contacts, name)[0, k] for name in ("friction", "friction_across", "friction_static"))
    at_rest = np.where(sliding > 0.0, np.maximum(still, sliding) / np.where(sliding > 0.0, sliding, 1.0), 1.0)
    bound = np.stack(
        (
            np.ones(len(k)),
            sliding * at_rest,
            across * at_rest,
            contacts.torsional_friction[0, k],
            contacts.rolling_friction[0, k],
            contacts.rolling_friction[0, k],
        ),
        axis=1,
    )
    bound = np.minimum(bound, _MOST_FRICTION)
    bound[:, 1:] *= not slips
    return RestContacts(found, body[found.shape_a], body[found.shape_b], frame, bound, contacts.compliance[0, k])


def _first_tangents(model: Model, found: FoundContacts) -> Array:
    """[1], (C, 3), any direction that is no normal; along the grain of a shape that has one."""
    n = found.normal
    return np.eye(3)[np.abs(n).argmin(axis=1)] if len(n) else np.zeros((0, 3))


def contact_jacobians(touches: RestContacts, twist: Array, com: Array) -> Array:
    """What contacts see of displacements, (C, 6, m): of B against A along the frame, moments after forces.

    Args:
        touches: contacts.
        twist: [m/s, rad/s], (m, B, 6), of the bodies in each displacement, of their centres of mass.
        com: [m], (B, 3), centres of mass, world.
    """
    m = len(twist)
    twist = np.concatenate((twist, np.zeros((m, 1, 6))), axis=1)  # WORLD is the last entry
    com = np.concatenate((com, np.zeros((1, 3))))
    point, sides = touches.found.point, []
    for body in (touches.body_a, touches.body_b):
        turn = twist[:, body, 3:]
        sides.append((twist[:, body, :3] + np.cross(turn, point - com[body]), turn))
    slide, spin = (b - a for a, b in zip(*sides, strict=True))
    rows = [np.einsum("cij,mcj->cim", touches.frame, one) for one in (slide, spin)]
    return np.concatenate(rows, axis=1)[:, :ROWS] if m else np.zeros((len(touches), ROWS, 0))


def contact_wrenches(touches: RestContacts, force: Array) -> Array:
    """[N, N m], (C, 6), on the bodies B at the points of contact, world; on A the opposite.

    Args:
        touches: contacts.
        force: (C, 6), along the frames.
    """
    return np.concatenate([np.einsum("cij,ci->cj", touches.frame, part) for part in (force[:, :3], force[:, 3:])], axis=1)


def on_cones(x: Array, is_bound: Array) -> Array:
    """The nearest points of the cones, (C, 6): n >= 0, each part of s at most n; parts that are not bound are 0."""
    s = np.where(is_bound, x, 0.0)
    sizes = np.stack([np.linalg.norm(s[:, first:end], axis=1) for first, end in _PARTS], axis=1)
    n = np.maximum(x[:, 0], 0.0)
    for _ in range(len(_PARTS) + 1):
        beyond = sizes > n[:, None]
        n = np.maximum((x[:, 0] + (sizes * beyond).sum(axis=1)) / (1.0 + beyond.sum(axis=1)), 0.0)
    out = np.zeros_like(x)
    out[:, 0] = n
    for (first, end), size in zip(_PARTS, sizes.T, strict=True):
        part = np.minimum(1.0, n / np.maximum(size, 1e-300))
        out[:, first:end] = s[:, first:end] * part[:, None]
    return out


def cone_forces(touches: RestContacts, W: Array, b: Array, shifts: int = 0, close: float = _CLOSE) -> Array:
    """Forces of contacts in cones that minimise 1/2 x W x + b x, (C, 6), along the frames.

    Args:
        touches: contacts.
        W: (6 C, 6 C), of forces along the frames.
        b: (C, 6), what contacts see without forces, with the gap in the normal.
        shifts: how often the shift of De Saxce is taken anew, 0 where nothing slides.
        close: change of forces, relative to the largest, that ends the iterations.
    """
    scale = touches.bound.ravel()
    W = W * np.outer(scale, scale) + np.diag(np.pad(touches.compliance[:, None], ((0, 0), (0, ROWS - 1))).ravel())
    b, is_bound = b * touches.bound, touches.bound > 0.0
    x, shift = np.zeros_like(b), np.zeros(len(b))
    for _ in range(shifts + 1):
        given = b.copy()
        given[:, 0] += shift
        x = _minimum(W, given, x, is_bound, close)
        slide = (W @ x.ravel()).reshape(b.shape) + b
        new = sum(np.linalg.norm(slide[:, first:end], axis=1) for first, end in _PARTS)
        if np.abs(new - shift).max(initial=0.0) <= close * np.abs(b).max(initial=0.0):
            break
        shift = new
    return x * touches.bound


def _minimum(W: Array, b: Array, x: Array, is_bound: Array, close: float) -> Array:
    """The minimum over the cones, by accelerated projected gradients."""
    largest = np.linalg.eigvalsh(W)[-1] if W.size else 0.0
    if largest <= 0.0:
        return x
    y, momentum = x, 1.0
    for _ in range(_MOST_ITERATIONS):
        new = on_cones(y - ((W @ y.ravel()).reshape(b.shape) + b) / largest, is_bound)
        step = new - x
        if np.abs(step).max(initial=0.0) <= close * np.abs(new).max(initial=0.0):
            return new
        if ((y - new) * step).sum() > 0.0:  # uphill: begin anew
            momentum = 1.0
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        y, x, momentum = new + (momentum - 1.0) / after * step, new, after
    return x


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
    parts = [
        (np.linalg.norm(force[:, first:end] / np.where(bound[:, first:end] > 0.0, bound[:, first:end], 1.0), axis=1))
        for first, end in ((1, 3), (3, 4), (4, 6))
    ]
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
