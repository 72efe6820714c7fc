"""The model's tables on the device, under the names they have on the host.

A column that all worlds share is a table of scalars; a column that the batch varies is an array of packs. Device code does
not see the difference: `load(w, i)` gives a value whose components are scalars or packs.
"""

from collections.abc import Callable, Sequence

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.crew import items_of_part
from simcli.kernels.device.pack_arrays import Records
from simcli.kernels.language.numbers import number
from simcli.kernels.language.values import Mat3, Sym3, Vec3
from simcli.model.joints.anchors import written_child_anchors
from simcli.model.joints.elimination import tree_dofs, unknown_of_dof
from simcli.model.joints.tree_kinematics import link_points
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.joint_tables import Links
from simcli.model.tables.model import LinkKind, Model

# How a link hands its articulated inertia to its parent (see `aba_backward`).
CARRY, START, ADD = 0, 1, 2


class Tables:
    """The columns of a Model that the tree kernels read.

    Args:
        model: host tables.
        arena: receives the columns that vary; the caller builds it, then calls `upload`.
        phases: the models of all phases of the run, of the same structure; the model alone if there is one only.
    """

    _data_oriented = True

    def __init__(self, model: Model, arena: Arena, phases: Sequence[Model] = ()):
        self.model, self.arena, self.phases = model, arena, tuple(phases) or (model,)
        links, dofs = model.links, model.dofs
        self.n_links, self.n_qd, self.n_q, self.n_bodies = model.n_links, model.n_qd, model.n_q, model.n_bodies
        self.links, self.joints = arena.records(model.n_links), arena.records(model.n_joints)
        self.dofs, self.coordinates = arena.records(model.n_qd), arena.records(model.n_q)
        self.bodies = arena.records(model.n_bodies)
        ints, column = self.links.ints, self.links.column
        self.parent, self.kind = ints(links.parent), ints(links.kind)
        kinds = set(links.kind.tolist())
        self.has_helix, self.has_ball, self.has_free, self.has_affine = (
            kind in kinds for kind in (LinkKind.HELIX, LinkKind.BALL, LinkKind.FREE, LinkKind.AFFINE)
        )
        self.is_natural, self.normal = model.columns is not None, model.plane
        if model.columns is not None:
            self.n_vectors, self.weight = ints(model.columns.n_vectors), self.column(model.columns.weight)
            self.excess, self.has_excess = self.column(model.columns.excess), bool(np.any(model.columns.excess))
            self.has_bodies, self.has_bars = (bool(np.any(model.columns.n_vectors == n)) for n in (3, 1))
        helix = links.kind == LinkKind.HELIX
        self.slides = bool(np.any(links.turn[helix] != 1) or np.any(links.advance[:, helix]))  # else only hinges
        self.link_q, self.link_qd, self.link_n_qd = ints(links.q_start), ints(links.qd_start), ints(links.n_qd)
        self.root, self.tip = ints(links.root), arena.ints(links.tip)
        starts = starts_of_trees(links.root)
        self.n_trees, self.tree_start = len(starts) - 1, arena.ints(starts)
        if arena.crew:
            arena.crew.hire(model.n_links, self.n_trees)
        self.massive = ints(np.any(links.mass > 0, axis=0))
        route, continues, gathers = handover(links.parent)
        self.route, self.continues, self.gathers = ints(route), ints(continues), ints(gathers)
        self.branches = bool(gathers.any())
        self.turn = column(links.turn[None])
        self.rotation, self.offset = column(links.rotation, Mat3), column(links.offset, Vec3)
        self.advance, self.mass = column(links.advance), column(links.mass)
        self.com, self.inertia = column(links.com, Vec3), column(links.inertia, Sym3)
        self.body_rotation, self.body_offset = column(links.body_rotation, Mat3), column(links.body_offset, Vec3)
        lifted, self.has_lifts = (
            weight_held_up(model.bodies, model.links),
            bool(self.ever(lambda m: weight_held_up(m.bodies, m.links) != 0).any()),
        )
        self.lifted = column(lifted) if self.has_lifts else None
        self.gravity = arena.single.column(model.gravity[:, None, :], Vec3)
        self.armature, self.damping = (self.dofs.column(values) for values in (dofs.armature, dofs.damping))
        self.n_joints, self.n_points = model.n_joints, len(model.points.name)
        self.joint_link, self.joint_sign, self.child_link, anchor = joint_anchors(model, self.joints)
        self.anchor = self.joints.column(anchor, Vec3)
        points = arena.records(self.n_points)
        self.point_link = points.ints(links.tip[model.points.body])
        self.point_position = points.column(link_points(model.links, model.points.body, model.points.position), Vec3)
        self.dof_q = self.dofs.ints(dof_coordinates(model))
        self.q_of_dof = dof_coordinates(model)
        order = tree_dofs(model)
        self.n_tree_dofs, self.tree_dofs = len(order), arena.records(len(order))
        self.tree_dof = self.tree_dofs.ints(order)
        self.unknown_of_dof = unknown_of_dof(model)
        self.unknown = self.dofs.ints(self.unknown_of_dof)

    def column(self, values: np.ndarray, kind=None, driven: bool = False):
        """A device column of (W|1, items, ...) values, of items of its own; see `Records.column`."""
        return self.arena.records(values.shape[1]).column(values, kind, driven)

    def ever(self, mask: Callable[[Model], np.ndarray]) -> np.ndarray:
        """Where something holds in any phase and any world: what the code is compiled for must fit all of them.

        Args:
            mask: of a model, (W|1, ...) bool.

        Returns:
            (...) bool.
        """
        return np.any([np.any(mask(model), axis=0) for model in self.phases], axis=0)


def starts_of_trees(root: np.ndarray) -> np.ndarray:
    """(trees + 1), first links of trees, and the end; one tree of all links where those of one do not stand side by side."""
    starts = np.flatnonzero(root == np.arange(len(root)))
    apart = np.repeat(starts, np.diff([*starts, len(root)]))
    return np.append(starts if np.array_equal(apart, root) else [0], len(root))


def links_of_part(t: Tables, w) -> tuple:
    """The first link of the trees that a thread takes, and the one behind the last (inside kernels), see crew.py."""
    if t.arena.crew is None:
        return 0, number(t, "n_links")
    first, end = items_of_part(t.arena, w, number(t, "n_trees"))
    return t.tree_start.at(first), t.tree_start.at(end)


def weight_held_up(bodies: Bodies, links: Links) -> np.ndarray:
    """[kg], (W|1, L), mass of each link on which gravity does not act."""
    body = links.body
    return np.where(body >= 0, links.mass * bodies.gravity_compensation[:, np.maximum(body, 0)], 0.0)


def joint_anchors(model: Model, joints: Records):
    """Where the force through each joint is known, and where it is reported.

    Returns:
        Device tables (J,): the link whose force it is, -1 for loop joints; +1 if that link carries the child, -1 if the
        tree runs against the joint; the child's link. [m], (W|1, J, 3), the child anchor in the child's link.
    """
    links, child = model.links, model.joints.child
    carried = {int(j): int(i) for i, (j, b) in enumerate(zip(links.joint, links.body, strict=True)) if b >= 0}
    link = np.array([carried.get(j, -1) for j in range(model.n_joints)], int)
    sign = np.where(links.body[link] == child, 1, -1) if len(link) else link
    anchors = link_points(model.links, child, written_child_anchors(model)[..., :3])
    return joints.ints(link), joints.ints(sign), joints.ints(links.tip[child]), anchors


def handover(parent: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How links in depth-first order pass values to their parents when visited from last to first.

    Args:
        parent: (L,).

    Returns:
        route: (L,), CARRY if the parent is visited next, else START for the first child that stores, ADD for others.
        continues: (L,), 1 if the link visited just before is a child (its carried value is for us).
        gathers: (L,), 1 if children have stored values for us.
    """
    n = len(parent)
    route, continues, gathers = np.full(n, CARRY), np.zeros(n, int), np.zeros(n, int)
    for i in range(n - 1, -1, -1):
        p = parent[i]
        if p < 0:
            continue
        if p == i - 1:
            continues[p] = 1
        else:
            route[i] = ADD if gathers[p] else START
            gathers[p] = 1
    return route, continues, gathers


def dof_coordinates(model: Model) -> np.ndarray:
    """Index into joint_q of each scalar dof, -1 for the dofs of quaternion joints and of loop joints.

    Returns:
        (NV,) int.
    """
    index = np.full(model.n_qd, -1)
    for i in range(model.n_links):
        if model.links.n_qd[i] == 1:
            index[model.links.qd_start[i]] = model.links.q_start[i]
    return index
