"""Closed loops of all kinds in one scene, and the rows and masses of their models as dense matrices."""

import copy

import numpy as np
import yaml

from simcli import rotations as rot
from simcli.model import build_worlds
from simcli.model.constraints.mobility import bilateral_rows, body_jacobian
from simcli.model.joints.joint_rows import row_gradient
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.tables.model import WORLD, JointKind
from simcli.spec import resolve
from support.joint_rows import row_residual
from support.scenes import scene

ROUNDING = 1e-12  # [m, rad, or per second], issue: what starts of solvers, and of the oracle, may differ by
INTEGRATORS = {"generalized": "rk4", "maximal": "semi_implicit", "natural": "zhong06", "affine": "bdf2"}


def bodies(prefix, y, *places):
    return {
        f"{prefix}{k}": {
            "pose": {"xyz": [x, y, z]},
            "mass": 1 + 0.5 * k,
            "com": [0.02, 0.01 * k, -0.03],
            "inertia": {"diag": [0.02, 0.03 + 0.01 * k, 0.04]},
        }
        for k, (x, z) in enumerate(places)
    }


def hinge(parent, child, x, y, z, **more):
    return {"type": "revolute", "parent": parent, "child": child, "at": [x, y, z], "axis": [0, 1, 0], **more}


def four_bar(prefix, y, base="world", **first):
    """Bodies and joints of a four-bar linkage in a vertical plane, closed as authored; `first` goes to its crank."""
    a, b, c = (f"{prefix}{k}" for k in range(3))
    joints = {
        f"{a}_pin": hinge(base, a, 0, y, 0, **first),
        f"{b}_pin": hinge(a, b, 0.1, y, 0.3),
        f"{c}_pin": hinge(base, c, 1, y, 0),
        f"{prefix}_close": hinge(b, c, 0.9, y, 0.5, loop=True),
    }
    return bodies(prefix, y, (0.05, 0.15), (0.5, 0.4), (0.95, 0.25)), joints


def balls(prefix, y, **first):
    """A spatial chain of three bodies on four ball joints, the last of which closes it."""
    ends = [[0, y, 0], [0.6, y + 0.2, -0.3], [1.2, y - 0.1, 0.1], [1.7, y + 0.3, 0.4]]
    names = [f"{prefix}{k}" for k in range(3)]
    joints = {
        f"{n}_ball": {"type": "ball", "parent": p, "child": n, "at": at}
        for p, n, at in zip(["world", *names], names, ends[:3], strict=False)
    }
    joints[f"{names[0]}_ball"] |= first
    joints[f"{prefix}_close"] = {"type": "ball", "parent": "world", "child": names[2], "at": ends[3], "loop": True}
    return bodies(prefix, y, (0.3, -0.1), (0.9, -0.1), (1.5, 0.2)), joints


def far_loop(prefix, y):
    """A damped double pendulum with one written rate beside a hinge that is there twice."""
    parts = bodies(prefix, y, (0.5, 0), (1.5, 0), (0.5, 3))
    a, b, c = parts
    joints = {
        "shoulder": hinge("world", a, 0, y, 0, qd=1),
        "elbow": hinge(a, b, 1, y, 0, damping=5),
        "pin": hinge("world", c, 0, y, 3),
        "again": hinge("world", c, 0, y, 3, loop=True),
    }
    return parts, {f"{prefix}_{name}": joint for name, joint in joints.items()}


def carried(prefix, y):
    """A four-bar on a free body that moves: its links lag by their inertia, and a hinge beside it stays at rest."""
    parts, joints = four_bar(prefix, y, f"{prefix}_base")
    base = bodies("base", y, (0.5, -0.2))["base0"] | {"velocity": {"linear": [1, 0, 0.3], "angular": [0.1, 2, 0.2]}}
    arm = bodies("arm", y, (0.5, -0.9))["arm0"]
    joints[f"{prefix}_arm_pin"] = hinge(f"{prefix}_base", f"{prefix}_arm", 0.5, y, -0.5)
    return {f"{prefix}_base": base, **parts, f"{prefix}_arm": arm}, joints


def rods(prefix, y):
    """Two pendulums whose ends a rod joins, one of them pushed; the rod is as long as the ends are apart."""
    parts = bodies(prefix, y, (0.5, 0), (2.5, 0))
    a, b = parts
    ends = {"parent_frame": {"xyz": [0.5, 0, 0]}, "child_frame": {"xyz": [-0.5, 0, 0.4]}}
    return parts, {
        f"{prefix}_a": hinge("world", a, 0, y, 0, qd=-0.7),
        f"{prefix}_b": hinge("world", b, 3, y, 0),
        f"{prefix}_rod": {"type": "distance", "parent": a, "child": b, **ends, "length": float(np.hypot(1, 0.4))},
    }


PARTS = {
    "written": four_bar("w", 0, qd=1.5),
    "at_rest": four_bar("r", 2),
    "zero": balls("z", 5, qd=[0, 0.4, 0]),
    "balls": balls("s", 8, qd=[0.7, -0.4, 0.5]),
    "far": far_loop("f", 11),
    "carried": carried("c", 14),
    "rods": rods("d", 17),
}


def together(*parts, **more) -> str:
    """A scene of several mechanisms without its first line."""
    whole = {"bodies": {}, "joints": {}, "solver": {"type": "generalized", "dt": 1e-3}, "run": {"duration": 0.01}}
    for some_bodies, some_joints in parts:
        whole["bodies"] |= copy.deepcopy(some_bodies)
        whole["joints"] |= copy.deepcopy(some_joints)
    return yaml.safe_dump(whole | more, sort_keys=False)


def built(text):
    document = scene(text)
    return build_worlds(document, resolve(document))


def dense_rows(model):
    """Gradients of all rows of loops and rods by the catalogue, and their residuals, of world 0."""
    J_b = np.concatenate((body_jacobian(model), np.zeros((1, 6, model.n_qd))))  # the world is entry -1
    R, x = body_poses(model, model.joint_q)
    pose = np.concatenate((rot.make_pose(x, rot.matrix_to_quat(R))[:, 0], [rot.IDENTITY_POSE]))
    com = np.concatenate((x[:, 0] + rot.turn(R[:, 0], model.bodies.com[0]), np.zeros((1, 3))))
    rows, residuals = [], []
    for j in range(model.n_joints):
        a, b = int(model.joints.parent[j]), int(model.joints.child[j])
        X_a, X_b = (rot.pose_compose(pose[body], X[0, j]) for body, X in ((a, model.joints.X_p), (b, model.joints.X_c)))
        if model.joints.is_tree[j] and model.joints.kind[j] != JointKind.DISTANCE:
            continue
        for row in bilateral_rows(model, j):
            gradient = row_gradient(row, X_a, X_b, com[a], com[b])
            rows.append(gradient[:6] @ J_b[a] * (a != WORLD) + gradient[6:] @ J_b[b])
            residuals.append(row_residual(row, X_a, X_b))
    return np.array(rows).reshape(-1, model.n_qd), np.array(residuals)


def dense_mass(model):
    """Mass matrix from the Jacobians of the bodies, of world 0."""
    M, (R, _) = np.diag(model.dofs.armature[0]), body_poses(model, model.joint_q)
    for b, J in enumerate(body_jacobian(model)):
        inertia = R[b, 0] @ model.bodies.inertia[0, b] @ R[b, 0].T
        M = M + model.bodies.mass[0, b] * J[:3].T @ J[:3] + J[3:].T @ inertia @ J[3:]
    return M


# A four-bar whose crank is written; the others are to follow.
OPEN = four_bar("o", 23, q=0.3, qd=2)
