"""Motion of the links of a tree by its dofs: axes, moves, kinetic energy. All worlds at once.

Arrays have the world axis first, of length 1 where all worlds agree, and lie component by component in memory, worlds side
by side (Fortran's order), so that a sum runs along the worlds. Notation: o_k origin of link k; a dof d moves its own
link, and what hangs on it, with the velocity v_d of o_k and the angular velocity w_d, both in world axes.
"""

import math
from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.links import SIX
from simcli.model.joints.tree_kinematics import link_poses, link_twists
from simcli.model.tables.joint_tables import Links
from simcli.model.tables.model import WORLD, Array, LinkKind, Model


@dataclass(frozen=True)
class Chart:
    """Links of a tree at a posture.

    Attributes:
        R: [1], (W, L + 1, 3, 3), link rotations; the last entry is the world.
        o: [m], (W, L + 1, 3), link origins.
        link: (NV,) link of each dof, -1 for dofs outside the tree.
        linear: [1 or m], (W, NV, 3), v_d.
        angular: [1], (W, NV, 3), w_d.
    """

    R: Array
    o: Array
    link: Array
    linear: Array
    angular: Array


def chart_at(model: Model, joint_q: Array) -> Chart:
    """The chart of a model.

    Args:
        model: the tables, in tree form.
        joint_q: [m, rad, 1], (W|1, NQ), without NaN.
    """
    links = model.links
    R, o = (np.moveaxis(a, 0, 1) for a in link_poses(links, joint_q))
    lead = len(R)
    R = _with_world(R, np.eye(3))
    o = _with_world(o, np.zeros(3))
    linear, angular = (np.zeros((lead, model.n_qd, 3), order="F") for _ in range(2))
    for k in range(model.n_links):
        d, kind = int(links.qd_start[k]), links.kind[k]
        if kind == LinkKind.WELD:
            continue
        if kind == LinkKind.HELIX:  # the turn leaves its own axis
            angular[:, d] = links.turn[k] * R[:, k, :, 2]
            linear[:, d] = links.advance[:, k, None] * R[:, k, :, 2]
            continue
        Q = rot.multiply(R[:, links.parent[k]], links.rotation[:, k])  # the world is the last entry, -1
        turns = d + 3 * int(kind == LinkKind.FREE)
        angular[:, turns : turns + 3] = rot.transpose(Q)
        if kind == LinkKind.FREE:
            linear[:, d : d + 3] = rot.transpose(Q)
            lever = rot.turn(R[:, k], links.com[:, k])
            linear[:, turns : turns + 3] = -rot.cross(rot.transpose(Q), lever[:, None])
    return Chart(R, o, link_of_dof(model), linear, angular)


def _with_world(parts: Array, world: Array) -> Array:
    found = np.empty((len(parts), parts.shape[1] + 1, *parts.shape[2:]), order="F")
    found[:, :-1], found[:, -1] = parts, world
    return found


def link_of_dof(model: Model) -> Array:
    """(NV,) link that each dof moves, -1 for dofs outside the tree."""
    found = np.full(model.n_qd, -1)
    for k in range(model.n_links):
        first = int(model.links.qd_start[k])
        found[first : first + int(model.links.n_qd[k])] = k
    return found


def dof_paths(links: Links) -> list[list[int]]:
    """Dofs that move each link, from the root on; the last entry is the world's, which nothing moves."""
    paths: list[list[int]] = []
    for k in range(len(links.parent)):
        first = int(links.qd_start[k])
        above = [] if links.parent[k] == WORLD else paths[links.parent[k]]
        paths.append(above + list(range(first, first + int(links.n_qd[k]))))
    return [*paths, []]


def moved(links: Links, joint_q: Array, step: Array) -> Array:
    """Coordinates after a displacement along the dofs; links that it does not touch keep their bits.

        scalars add;  R+ = exp(w) R, w in the parent anchor frame;  a free body's centre of mass moves by v

    Args:
        links: the table.
        joint_q: [m, rad, 1], (W, NQ).
        step: [m, rad], (W, NV).
    """
    q = joint_q.copy("K")
    for k in range(len(links.parent)):
        d, n, at = int(links.qd_start[k]), int(links.n_qd[k]), int(links.q_start[k])
        touched = (step[:, d : d + n] != 0.0).any(axis=1)
        if not touched.any():
            continue
        if links.kind[k] == LinkKind.HELIX:
            q[:, at] += step[:, d]
            continue
        is_free = int(links.kind[k] == LinkKind.FREE)
        place = at + 3 * is_free
        before = q[:, place : place + 4]
        after = rot.unit(rot.quat_multiply(_rotation_of(step[:, d + 3 * is_free : d + n]), before))
        after = np.where(touched[:, None], after, before)
        if is_free:
            com = links.com[:, k]
            shift = rot.quat_rotate(before, com) - rot.quat_rotate(after, com)
            q[:, at : at + 3] += np.where(touched[:, None], step[:, d : d + 3] + shift, 0.0)
        q[:, place : place + 4] = after
    return q


def _rotation_of(vector: Array) -> Array:
    """Quaternion of a rotation vector [rad], (W, 3)."""
    angle = np.sqrt(rot.dot(vector, vector))
    none = angle == 0.0
    axis = np.where(none[:, None], (0.0, 0.0, 1.0), vector / np.where(none, 1.0, angle)[:, None])
    return rot.quat_from_axis_angle(axis, angle)


@dataclass(frozen=True)
class Inertias:
    """Inertia of each link together with all that hangs on it, about the link's origin, world axes.

    Attributes:
        mass: [kg], (W, L).
        first: [kg m], (W, L, 3), mass times the way from the origin to the centre of mass.
        second: [kg m^2], (W, L, 3, 3).
    """

    mass: Array
    first: Array
    second: Array


def own_inertias(links: Links, chart: Chart) -> Inertias:
    """Inertias of the links by themselves."""
    R = chart.R[:, :-1]
    central = np.zeros((*links.inertia.shape[:2], 3, 3), order="F")
    for n, (i, j) in enumerate(SIX):
        central[..., i, j] = central[..., j, i] = links.inertia[..., n]
    com = rot.turn(R, links.com)
    first = links.mass[..., None] * com
    second = rot.multiply(rot.multiply(R, central), rot.transpose(R)) - rot.skew_product(first, com)
    return Inertias(*np_lead(max(len(first), len(second)), links.mass, first, second))


def np_lead(lead: int, *arrays: Array) -> list[Array]:
    """Arrays with a world axis of full length, not shared."""
    return [np.array(np.broadcast_to(a, (lead, *a.shape[1:])), order="F") for a in arrays]


def composites(links: Links, chart: Chart, own: Inertias) -> Inertias:
    """Inertias of the links with all that hangs on them.

    Args:
        links: the table.
        chart: of the posture.
        own: `own_inertias`, which become what is found.

    Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.2, composite rigid bodies. No deviation.
    """
    mass, first, second = own.mass, own.first, own.second
    for k in range(len(links.parent) - 1, -1, -1):
        p = links.parent[k]
        if p == WORLD:
            continue
        gap = chart.o[:, k] - chart.o[:, p]
        moment = first[:, k] + mass[:, k, None] * gap
        mass[:, p] += mass[:, k]
        first[:, p] += moment
        second[:, p] += second[:, k] - rot.skew_product(first[:, k], gap) - rot.skew_product(gap, moment)
    return own


def mass_block(model: Model, chart: Chart, bulk: Inertias, dofs: Array, related: list[list[int]]) -> Array:
    """Mass matrix over some dofs, armature included.

    Args:
        model: the tables.
        chart: of the posture.
        bulk: `composites`.
        dofs: (n,), of the tree.
        related: (n,) lists of places in `dofs`: the dofs at and above each one's link.

    Returns:
        [kg, kg m, kg m^2], (W, n, n).
    """
    link = chart.link[dofs]
    lead = max(len(bulk.mass), len(model.dofs.armature))
    M = np.zeros((lead, len(dofs), len(dofs)), order="F")
    j = np.repeat(np.arange(len(dofs)), [len(above) for above in related])
    i = np.array([place for above in related for place in above], int)
    v, w, k = chart.linear[:, dofs[j]], chart.angular[:, dofs[j]], link[j]
    force = bulk.mass[:, k, None] * v + rot.cross(w, bulk.first[:, k])
    torque = rot.turn(bulk.second[:, k], w) + rot.cross(bulk.first[:, k], v)
    spin = chart.angular[:, dofs[i]]
    carried = chart.linear[:, dofs[i]] + rot.cross(spin, chart.o[:, k] - chart.o[:, link[i]])
    value = rot.dot(carried, force) + rot.dot(spin, torque)
    M[:, i, j] = value
    M[:, j, i] = value
    M[:, np.arange(len(dofs)), np.arange(len(dofs))] += model.dofs.armature[:, dofs]
    return M


def momenta(model: Model, chart: Chart, own: Inertias, joint_q: Array, joint_qd: Array) -> Array:
    """M qd over all dofs of the tree but for armature: the momentum that each would feel.

    Args:
        model: the tables.
        chart: at joint_q.
        own: `own_inertias`.
        joint_q: [m, rad, 1], (W|1, NQ).
        joint_qd: [m/s, rad/s], (W|1, NV), without NaN.

    Returns:
        [kg m/s, kg m^2/s], (W, NV).
    """
    links = model.links
    R, o = (np.moveaxis(a[:, :-1], 1, 0) for a in (chart.R, chart.o))
    v, w = (np.moveaxis(a, 0, 1) for a in link_twists(links, joint_q, joint_qd, R, o))
    force = own.mass[..., None] * v + rot.cross(w, own.first)
    torque = rot.turn(own.second, w) + rot.cross(own.first, v)
    for k in range(len(links.parent) - 1, -1, -1):
        p = links.parent[k]
        if p != WORLD:
            force[:, p] += force[:, k]
            torque[:, p] += torque[:, k] + rot.cross(chart.o[:, k] - chart.o[:, p], force[:, k])
    k = chart.link
    found = rot.dot(chart.linear, force[:, k]) + rot.dot(chart.angular, torque[:, k])
    return np.where(k >= 0, found, 0.0)


def angle_between(cosine: Array, sine: Array) -> Array:
    """[rad], in (-pi, pi], from multiples of cosine and sine."""
    return rot.each(math.atan2, sine, cosine)
