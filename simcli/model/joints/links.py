"""The spanning tree as elementary links: chains of helices, balls, free and welded links (see tables/joint_tables.py).

How a joint becomes links. Let A be the pose of the anchor frame on the inner side in the frame of the link that
carries the inner body, and Z_k a frame whose z axis is the k-th motion axis. The chain

    C_1 = A Z_1,  C_k = Z_(k-1)^T Z_k,  B = Z_n^T R(X_c)^T,  b = -B x(X_c)

gives R_body = R_inner A R(a_1, q_1) ... R(a_n, q_n) R(X_c)^T, the joint transform of the catalogue. Where the tree runs
against a joint (its child is nearer to the world), the inverse transform is the same chain read backwards about the
negated axes, and the anchors change places; joint_q remains child relative to parent. A ball or a pose has no such
chain, because its quaternion would have to be inverted.
"""

from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from simcli import rotations as rot
from simcli.joint_types import Coordinates
from simcli.model.joints.catalogue import QUATERNIONS, SLOTTED
from simcli.model.joints.mechanism import ZERO, JointInput
from simcli.model.joints.topology import Step
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.joint_tables import Links
from simcli.model.tables.model import WORLD, Array, JointKind, LinkKind
from simcli.model.tables.table_base import agreed

LINK_OF = {Coordinates.QUATERNION: (LinkKind.BALL, 3), Coordinates.POSE: (LinkKind.FREE, 6)}
SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # entries of Links.inertia


def can_invert(kind: JointKind) -> bool:
    """True if the tree may run from the joint's child to its parent."""
    return kind not in (*QUATERNIONS, *SLOTTED)


@dataclass
class _Link:
    parent: int
    root: int
    kind: LinkKind
    joint: int
    q_start: int
    qd_start: int
    n_qd: int
    rotation: Array
    offset: Array
    advance: Array | float
    turn: float = 0.0
    body: int = -1


@dataclass(frozen=True)
class _Element:
    """One scalar dof: its axis, what it turns and advances, and its place in the joint."""

    axis: Array
    turn: float
    advance: Array | float
    dof: int


def _elements(part: JointInput, inverted: bool) -> list[_Element]:
    n_linear = part.motion.linear.shape[-2]
    sign = -1.0 if inverted else 1.0
    elements = [_Element(sign * part.motion.linear[..., k, :], 0.0, 1.0, k) for k in range(n_linear)]
    for k in range(part.motion.angular.shape[-2]):
        axis = sign * part.motion.angular[..., k, :]
        elements.append(_Element(axis, 1.0, 0.0 if k else part.motion.pitch, n_linear + k))
    return elements[::-1] if inverted else elements


class _Chain:
    """Grows the list of links, joint by joint."""

    def __init__(self, n_bodies: int, joints: list[JointInput], q_start: Array, qd_start: Array):
        self.links: list[_Link] = []
        self.joints, self.q_start, self.qd_start = joints, q_start, qd_start
        self.inner = _anchors([part.X_p for part in joints])
        self.outer = _anchors([part.X_c for part in joints])
        self.tip = np.full(n_bodies, -1, np.int32)
        self.body_rotation = [np.eye(3)[None]] * n_bodies
        self.body_offset = [np.zeros((1, 3))] * n_bodies

    def append(self, step: Step) -> None:
        """Add the links of one tree joint."""
        part = self.joints[step.joint]
        inner, outer = (self.outer, self.inner) if step.inverted else (self.inner, self.outer)
        rotation, offset = self._anchor(step.inner, *inner[step.joint][:2])
        back = self._joint_links(part, step, rotation, offset)
        self.links[-1].body = step.outer
        self.tip[step.outer] = len(self.links) - 1
        _, offset, B, b = outer[step.joint]
        if back is not None:
            B = rot.multiply(back, B)
            b = -rot.turn(B, offset)
        self.body_rotation[step.outer], self.body_offset[step.outer] = B, b

    def _anchor(self, body: int, rotation: Array, offset: Array) -> tuple[Array, Array]:
        """Anchor frame in the frame of the link that carries the body."""
        if body == WORLD:
            return rotation, offset
        B = self.body_rotation[body]
        return rot.multiply(B, rotation), self.body_offset[body] + rot.turn(B, offset)

    def _joint_links(self, part: JointInput, step: Step, rotation: Array, offset: Array) -> Array | None:
        """Append the links; return the rotation from the last link's frame back to the joint's outer frame, None for 1."""
        coordinates = part.entry.coordinates
        if coordinates in LINK_OF:
            kind, n_qd = LINK_OF[coordinates]
            self._push(step, kind, 0, n_qd, rotation, offset)
            return None
        elements = _elements(part, step.inverted)
        if not elements:
            self._push(step, LinkKind.WELD, 0, 0, rotation, offset)
            return None
        before = rotation
        for element in elements:
            Z = rot.frame_along(element.axis)
            self._push(step, LinkKind.HELIX, element.dof, 1, rot.multiply(before, Z), offset, element)
            before, offset = rot.transpose(Z), np.zeros((1, 3))
        return before

    def _push(self, step, kind, dof, n_qd, rotation, offset, element=None) -> None:
        index = len(self.links)
        first = not self.links or self.links[-1].joint != step.joint
        parent = (WORLD if step.inner == WORLD else int(self.tip[step.inner])) if first else index - 1
        root = index if parent == WORLD else self.links[parent].root
        q, qd = int(self.q_start[step.joint]) + dof, int(self.qd_start[step.joint]) + dof
        link = _Link(parent, root, kind, step.joint, q, qd, n_qd, rotation, offset, ZERO)
        if element is not None:
            link.turn, link.advance = element.turn, element.advance
        self.links.append(link)


_RANK = attrgetter("ndim")
_PORTION = 4096  # worlds whose inertias are turned together: what arises on the way stays in the caches


def beside(pieces: list[Array]) -> Array:
    """Arrays (W|1, n, ...) side by side along the second axis."""
    lead = max(len(piece) for piece in pieces)
    whole = [piece if len(piece) == lead else np.broadcast_to(piece, (lead, *piece.shape[1:])) for piece in pieces]
    return np.concatenate(whole, axis=1)


def stack_worlds(arrays: list[Array], shape: tuple[int, ...]) -> Array:
    """Stack arrays with leading world axes of 1 or W along a second axis.

    Args:
        arrays: each (W|1, *shape) or a number.
        shape: of one item.

    Returns:
        (W|1, n, *shape), not sharing memory with the arguments.
    """
    if not arrays:
        return np.zeros((1, 0, *shape))
    rank = len(shape) + 1
    if set(map(type, arrays)) != {np.ndarray} or set(map(_RANK, arrays)) != {rank}:  # without a loop in Python
        arrays = [np.asarray(a, float).reshape(-1, *shape) for a in arrays]
    n_worlds = max(map(len, arrays))
    if n_worlds == 1:
        return np.concatenate(arrays, dtype=float)[None]  # five times faster than to stack
    return np.stack(spread(arrays, n_worlds), axis=1, dtype=float)


def spread(arrays: list[Array], n_worlds: int) -> list[Array]:
    """Repeat arrays with a leading world axis of 1 along it; those that have all worlds are left alone."""
    if n_worlds == 1:
        return arrays
    # numpy's broadcast_to costs 5 us even where it does nothing, and a scene of 50 bodies has 2500 pieces.
    return [a if len(a) == n_worlds else np.broadcast_to(a, (n_worlds, *a.shape[1:])) for a in arrays]


def build_links(bodies: Bodies, joints: list[JointInput], steps: list[Step], q_start: Array, qd_start: Array) -> Links:
    """Lay the tree out as links.

    Args:
        bodies: whose mass properties they carry.
        joints: parts, in joint order.
        steps: the walk; every body is reached once.
        q_start: (J + 1,) offsets into joint_q.
        qd_start: (J + 1,) offsets into joint_qd.

    Returns:
        The table.
    """
    chain = _Chain(len(bodies.name), joints, q_start, qd_start)
    for step in steps:
        chain.append(step)
    links = chain.links
    body = np.array([link.body for link in links], np.int32)
    B = _carried(stack_worlds(chain.body_rotation, (3, 3)), body, np.eye(3))
    b = _carried(stack_worlds(chain.body_offset, (3,)), body)
    com, inertia = _link_inertia(_carried(bodies.com, body), _carried(bodies.inertia, body), B, b)
    return Links(
        **{
            name: np.array([getattr(k, name) for k in links], np.int32)
            for name in ("parent", "root", "kind", "joint", "q_start", "qd_start", "n_qd")
        },
        body=body,
        rotation=stack_worlds([k.rotation for k in links], (3, 3)),
        offset=stack_worlds([k.offset for k in links], (3,)),
        turn=np.array([k.turn for k in links], float),
        advance=stack_worlds([k.advance for k in links], ()),
        mass=_carried(bodies.mass, body),
        com=com,
        inertia=inertia,
        body_rotation=B,
        body_offset=b,
        tip=chain.tip,
    )


def _carried(column: Array, body: Array, nothing: Array | float = 0.0) -> Array:
    """A column of the bodies, (W|1, B, ...), at the links that carry them, (W|1, n, ...)."""
    found = column.take(body, axis=1)
    found[:, body < 0] = nothing
    return found


def together(pieces: list[Array]) -> Array:
    """Arrays of one shape along a new first axis; five times faster than numpy's stack where there are thousands."""
    return np.concatenate(pieces).reshape(len(pieces), *pieces[0].shape)


def _anchors(X: list[Array]) -> list[tuple[Array, ...]]:
    """Rotation matrices (W|1, 3, 3) and offsets (W|1, 3) of poses (W|1, 7), and both of the inverse poses.

    Poses of one length are turned in one go; rotations on which all worlds agree are those of one world.
    """
    found: list[tuple[Array, ...]] = [() for _ in X]
    quats = [agreed(pose[:, 3:]) for pose in X]
    by_length: dict = {}
    for j, pose in enumerate(X):
        by_length.setdefault((len(pose), len(quats[j])), []).append(j)
    for mine in by_length.values():
        rotations, offsets = rot.quat_to_matrix(together([quats[j] for j in mine])), together([X[j][:, :3] for j in mine])
        back = rot.transpose(rotations)
        for j, one in zip(mine, zip(rotations, offsets, back, -rot.turn(back, offsets), strict=True), strict=True):
            found[j] = one
    return found


def _link_inertia(com: Array, inertia: Array, B: Array, b: Array) -> tuple[Array, Array]:
    """Centres of mass (W|1, n, 3) and inertias (W|1, n, 6) of what n links carry, in the frames of the links."""
    n_worlds = max(len(inertia), len(B))
    six = np.empty((n_worlds, inertia.shape[1], 6))
    for k in range(0, n_worlds, _PORTION):
        mine, R = (a if len(a) == 1 else a[k : k + _PORTION] for a in (inertia, B))
        turned = rot.multiply(rot.multiply(R, mine), rot.transpose(R))
        for n, (i, j) in enumerate(SIX):
            six[k : k + _PORTION, :, n] = 0.5 * (turned[..., i, j] + turned[..., j, i])
    return b + rot.turn(B, com), six
