"""Anchors of joints as the scene writes them, where forces are reported and sensors stand; hinges without a place.

X_c = X_c0 x_j(init_angle)        X_c0: as written; x_j: the joint transform

A hinge whose place is not written, of a body that is drawn about its centre of mass, gives weight no lever.
"""

import numpy as np

from simcli import rotations as rot
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.model import Array, Model
from simcli.spec.base import dofs
from simcli.spec.schema.joint import JointSpec
from simcli.spec.schema.scene import SceneSpec


def pose_at_coordinate(is_slide: bool, axis: Array, pitch: Array | float, q: Array) -> Array:
    """Joint transform of a joint with one coordinate, [m, 1], (W|1, 7).

    Args:
        is_slide: whether the coordinate is a displacement instead of a turn.
        axis: [1], (W|1, 3), unit, parent anchor frame.
        pitch: [m/rad], (W|1,), of a screw, else 0.
        q: [m, rad], (W|1,).
    """
    advance, turn = (q, np.zeros(1)) if is_slide else (pitch * q, q)
    return rot.make_pose(advance[:, None] * axis, rot.quat_from_axis_angle(axis, turn))


def written_child_anchors(model: Model) -> Array:
    """[m, 1], (W|1, J, 7), child anchors in the child bodies as the scene writes them, `init_angle` taken off."""
    joints, axes = model.joints, model.dofs.axis
    if not joints.init_angle.any():
        return joints.X_c
    lead = max(map(len, (joints.X_c, joints.init_angle, axes, joints.pitch)))
    out = np.array(np.broadcast_to(joints.X_c, (lead, *joints.X_c.shape[1:])))
    for j in np.flatnonzero(joints.init_angle.any(axis=0)):
        axis = axes[:, joints.qd_start[j]]
        back = pose_at_coordinate(joints.dof_dim[j, 0] > 0, axis, joints.pitch[:, j], -joints.init_angle[:, j])
        out[:, j] = rot.pose_compose(out[:, j], back)
    return out


_CENTRED = 1e-6  # [1], of a centre of mass from the origin of its body, against that from the origin of the world
_FREE_TO_SLIDE = 2  # directions; a point that slides along so many holds no place


def hinges_about_centres(spec: SceneSpec, bodies: Bodies) -> list[str]:
    """Joints that turn their child about its centre of mass, and say nowhere that this is meant.

    A body whose centre of mass is not its origin has its origin at the hinge, as in files of robots, and one that stands at
    the origin of the world turns about that. The centre is that of the masses: of several shapes, and of meshes, too.
    """
    return [
        name
        for name, joint in spec.joints.items()
        if _is_placeless(joint) and _is_drawn_elsewhere(spec, joint.child) and _is_centred(bodies, joint.child)
    ]


def placeless_text(spec: SceneSpec, bodies: Bodies) -> tuple[str, str, str]:
    """The first of these joints, what there is to say of them, and what to write; "" if there are none."""
    hinges = hinges_about_centres(spec, bodies)
    if not hinges:
        return "", "", ""
    child = spec.joints[hinges[0]].child
    more = f"; so do {len(hinges) - 1} more with theirs" if len(hinges) > 1 else ""
    place = ", ".join(f"{x:g}" for x in spec.bodies[child].pose.xyz)
    text = f"joint `{hinges[0]}` has no `at`: it turns about the origin of `{child}`, its centre of mass{more}"
    return hinges[0], text, f"write `at: [x, y, z]`, its place in the world; `at: [{place}]` says that the origin is meant"


def _is_placeless(joint: JointSpec) -> bool:
    """Whether a joint turns about a point that it holds, and does not say where."""
    kinds = joint.dof_kinds
    if "A" not in kinds or kinds.count("L") >= _FREE_TO_SLIDE or joint.type in dofs.NO_DOFS:
        return False
    return joint.at is None and joint.parent_frame is None and joint.child_frame is None


def _is_drawn_elsewhere(spec: SceneSpec, name: str) -> bool:
    """Whether a body is drawn away from the origin of the world."""
    body = spec.bodies.get(name)
    return body is not None and not body.kinematic and body.pose is not None and any(body.pose.xyz)


def _is_centred(bodies: Bodies, name: str) -> bool:
    b = bodies.name.index(name)
    has_mass = (bodies.mass[:, b] > 0.0).all()
    far = np.linalg.norm(bodies.q[:, b, :3], axis=-1).max()
    return bool(has_mass and (np.linalg.norm(bodies.com[:, b], axis=-1) <= _CENTRED * far).all())
