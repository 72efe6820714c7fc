"""Bodies that lack inertia by themselves, and the joints that carry them.

A point mass on an arm, or a rod without inertia about its axis, has a singular mass matrix as a body that stands alone: no
velocity follows from the forces on it. Its joint makes the motion regular, because the coordinates of the joint move mass.
So the maximal form of a model (forms/maximal_form.py) keeps such a body on the joints by which the tree holds it, and its
mass
matrix is that of the small tree which these join: no inertia is made up, and nothing that is solved has another solution.

The articulated inertia that a body meets in the small tree is regular where that of the whole tree is: a neighbour with a
regular mass matrix hands on all but its own motion axes, whatever hangs on it, and a neighbour that lacks inertia keeps its
own neighbours in turn.
"""

import numpy as np

from simcli import rotations as rot
from simcli.model.constraints.constraint_tables import Constraints, Form
from simcli.model.joints.catalogue import POSES, SLOTTED
from simcli.model.joints.topology import Step, depth_first
from simcli.model.joints.tree_kinematics import SINGULAR, dof_inertia
from simcli.model.tables.model import WORLD, Array, LinkKind, Model

_TINY = np.finfo(float).tiny
_SURE = 1e3  # times what counts as no inertia: above, a bound from below leaves no doubt
_HOLD_NOTHING = (*POSES, *SLOTTED)  # in the tree, where rows are beside it


def lacks_inertia(model: Model) -> Array:
    """Bodies that forces move, and that by themselves lack inertia along or about some axis that they can move.

    Args:
        model: the tables.

    Returns:
        (B,) bool, in some world; False for kinematic bodies.
    """
    return is_singular(model) & ~model.bodies.kinematic


def is_singular(model: Model) -> Array:
    """(B,) bodies without inertia along or about some axis, in some world; kinematic ones, too."""
    bodies = model.bodies
    inertia = np.linalg.eigvalsh(bodies.inertia)
    least = bodies.inertia[:, :, model.plane, model.plane] if model.plane >= 0 else inertia[..., 0]
    lacks = (bodies.mass <= 0.0) | (least <= SINGULAR * inertia[..., 2])
    return lacks.any(axis=0)


def carrying(model: Model) -> list[Step]:
    """Joints of the tree between a body that lacks inertia and its neighbours: those on which the maximal form keeps it.

    Args:
        model: the tables.

    Returns:
        Joints with the bodies that they join.
    """
    lacks = lacks_inertia(model)
    if not lacks.any():
        return []
    joints = model.joints
    steps = depth_first(joints.parent.tolist(), joints.child.tolist(), joints.is_tree.tolist())
    return [
        step
        for step in steps
        if joints.kind[step.joint] not in _HOLD_NOTHING
        and (lacks[step.outer] or (step.inner != WORLD and lacks[step.inner]))
    ]


def massless_dofs(model: Model, bodies: Array | None = None) -> list[tuple[int, int]]:
    """Links of the tree along whose coordinates nothing has inertia: their acceleration has no value.

    Args:
        model: the tables.
        bodies: (B,) bool, those whose joints matter; all where it is left out.

    Returns:
        Link and the body that its joint carries, of each link in turn.
    """
    if bodies is not None and not bodies.any():
        return []
    links, found = model.links, []
    if (least_inertia(model) > _SURE * SINGULAR).all():
        return []
    carries = {j: b for j, b in zip(links.joint.tolist(), links.body.tolist(), strict=True) if b >= 0}
    D, scale = dof_inertia(model, model.joint_q)
    for k in range(model.n_links):
        first, n, body = links.qd_start[k], links.n_qd[k], carries[int(links.joint[k])]
        known = model.motions.kind[first : first + n].all()  # prescribed, or no dof at all
        if known or (bodies is not None and not bodies[body]):
            continue
        unit = np.sqrt(np.maximum(scale[k], _TINY))
        weakest = np.linalg.eigvalsh(D[k] / unit[:, :, None] / unit[:, None, :])[:, 0]
        if weakest.min() <= SINGULAR or scale[k].min() <= 0.0:
            found.append((k, body))
    return found


def least_inertia(model: Model) -> Array:
    """[1], (L,), a lower bound of D / scale of `dof_inertia` in all worlds: of what each link itself has, and no other.

    The articulated inertia of a link is at least its own, so that D is at least S^T I S of the link alone:

        HELIX  turn^2 (J_zz + m (c_x^2 + c_y^2)), or of a slide advance^2 m
        BALL   l, the least eigenvalue of J, l >= 4 det J / (tr J)^2
        FREE   m |v + w x c|^2 + w J w >= min(m / 4, l / (8 c^2)) |v|^2 + l / 2 |w|^2

    and the scale is at most that of all that hangs on the link, stretched out.

    Args:
        model: the tables.
    """
    links, n = model.links, model.n_links
    J = [links.inertia[..., i] for i in range(6)]
    trace = J[0] + J[1] + J[2]
    about = (J[2] + links.mass * rot.square_of(links.com[..., :2])).min(axis=0)
    det = J[0] * (J[1] * J[2] - J[5] ** 2) - J[3] * (J[3] * J[2] - J[5] * J[4]) + J[4] * (J[3] * J[5] - J[1] * J[4])
    least = np.divide(4.0 * det, trace**2, out=np.zeros_like(det), where=trace > 0.0).min(axis=0)
    mass, away = links.mass.min(axis=0), np.sqrt(rot.square_of(links.com)).max(axis=0)
    total, bulk, radius = links.mass.max(axis=0), trace.max(axis=0), away.copy()
    reach = np.sqrt(rot.square_of(links.offset)).max(axis=0)
    found = np.zeros(n)
    for k in range(n - 1, -1, -1):
        q = np.abs(model.joint_q[:, links.q_start[k] :])
        advance = np.abs(links.advance[:, k]).max()
        around, p = bulk[k] + 2.0 * total[k] * radius[k] ** 2, links.parent[k]
        if links.kind[k] == LinkKind.HELIX:
            turns, moves = links.turn[k] ** 2, advance**2
            own = turns * about[k] if turns else moves * mass[k]
            found[k] = own / max(moves * total[k] + turns * around, _TINY)
            reach[k] += advance * q[:, 0].max()
        elif links.kind[k] == LinkKind.BALL:
            found[k] = least[k] / max(around, _TINY)
        elif links.kind[k] == LinkKind.FREE:
            along = mass[k] * least[k] / max(8.0 * away[k] ** 2 * mass[k], 4.0 * least[k], _TINY)
            found[k] = min(along / max(total[k], _TINY), 0.5 * least[k] / max(around, _TINY))
            reach[k] += np.sqrt(rot.square_of(q[:, :3])).max()
        else:
            found[k] = np.inf
        if p != WORLD:
            total[p] += total[k]
            bulk[p] += bulk[k]
            radius[p] = max(radius[p], reach[k] + radius[k])
    return found


def holding_rows(constraints: Constraints, model: Model) -> Array:
    """Rows of the joints of bodies that lack inertia, which hold where they have no compliance.

    Returns:
        (R,) bool.
    """
    rows = constraints.rows
    lacks = np.append(lacks_inertia(model), False)  # the world is the last one
    holds = np.append(lacks[model.joints.parent] | lacks[model.joints.child], False)  # and so are rows of no joint
    return holds[rows.joint] & rows.is_hard & (rows.form != Form.GEAR)


def arms(model: Model) -> Array:
    """[m], (W|1, B), longest way from the centre of mass of each body to an anchor of one of its joints."""
    joints, bodies = model.joints, model.bodies
    out = np.zeros((max(map(len, (joints.X_p, joints.X_c, bodies.com))), model.n_bodies))
    for j in range(model.n_joints):
        for body, pose in ((joints.parent[j], joints.X_p[:, j]), (joints.child[j], joints.X_c[:, j])):
            if body != WORLD:
                out[:, body] = np.maximum(out[:, body], np.linalg.norm(pose[:, :3] - bodies.com[:, body], axis=-1))
    return out
