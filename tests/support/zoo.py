"""A scene with every tree joint on a fixed and a floating tree, springs and wrenches; and what its forces are, in numpy."""

import numpy as np

from simcli import rotations as rot

# joint, type, parent, child, what else the joint has
JOINTS = (
    ("hip", "revolute", "world", "a", "axis: [0.2, 1, 0.1], damping: 0.1, armature: 0.05"),
    ("slide", "prismatic", "a", "b", "axis: [1, 0.3, 0], damping: 0.4"),
    ("neck", "ball", "b", "c", ""),
    ("weld", "fixed", "c", "d", ""),
    ("cross", "universal", "b", "e", "axes: {angular: [[1, 0, 0], [0, 1, 0.2]]}"),
    ("sleeve", "cylindrical", "e", "f", "axis: [0, 0.6, 0.8]"),
    ("glide", "planar", "a", "g", "axis: [0.1, 0, 1]"),
    ("thread", "screw", "g", "h", "axis: [0, 0, 1], pitch: 0.3, armature: 0.02"),
    ("wrist", "d6", "h", "i", "axes: {linear: [[1, 0, 0], [0, 1, 0]], angular: [[0, 0, 1], [1, 0, 0], [0, 1, 0]]}"),
    ("base", "free", "world", "j", ""),
    ("knee", "revolute", "j", "k", "axis: [1, 0, 1], damping: 0.05"),
    ("ankle", "ball", "k", "l", ""),
    ("rider", "free", "k", "m", ""),
)
FORCES = """
forces:
  cord: {type: spring, a: c/p, b: {body: k, at: [0.1, 0, 0.2]}, stiffness: 30, damping: 0.4, rest_length: 0.3}
  stay: {type: spring, a: {world: [0.5, 1, 0.2]}, b: {body: i, at: [0, 0.1, 0]}, stiffness: 12, damping: 0.2, rest_length: 5,
         slack: true}
  push: {type: wrench, body: f, force: [1, -2, 0.5], torque: [0.1, 0, 0.2], at: [0.1, 0.2, 0]}
  jet: {type: wrench, body: m, force: [0, 0, 2], torque: [0.1, 0.3, 0], at: [0, 0.1, 0.3], frame: body}
"""


def zoo() -> str:
    """The scene."""
    rng = np.random.default_rng(3)

    def numbers(n, size=0.4):
        return "[" + ", ".join(f"{x:.3f}" for x in rng.uniform(-size, size, n)) + "]"

    lines = ["simcli: 1", "world: {gravity: [1.1, -2.3, -9.1]}", "bodies:"]
    for _, _, _, child, _ in JOINTS:
        root = rng.uniform(-0.2, 0.2, (3, 3))  # small, so that no moment exceeds the sum of the others
        inertia = np.round(root @ root.T + 0.15 * np.eye(3), 4)
        full = "[" + ", ".join("[" + ", ".join(f"{x:.4f}" for x in row) + "]" for row in inertia) + "]"
        lines.append(
            f"  {child}: {{mass: {rng.uniform(0.5, 2):.3f}, com: {numbers(3)}, inertia: {{full: {full}}}, "
            f"points: {{p: {numbers(3)}}}}}"
        )
    lines.append("joints:")
    for name, kind, parent, child, more in JOINTS:
        frames = (
            f"parent_frame: {{xyz: {numbers(3)}, rpy: {numbers(3, 1.0)}}}, "
            f"child_frame: {{xyz: {numbers(3)}, rpy: {numbers(3, 1.0)}}}"
        )
        lines.append(f"  {name}: {{type: {kind}, parent: {parent}, child: {child}, {frames}{', ' + more if more else ''}}}")
    return "\n".join(lines) + FORCES + "solver: {type: generalized, dt: 1.0e-3, integrator: rk4}\nrun: {duration: 0.05}\n"


def forces_of(model, pose, twist):
    """Force and torque about the centre of mass that springs and wrenches put on every body, (B, 6), world."""
    total = np.zeros((model.n_bodies, 6))
    com = [rot.pose_apply(pose[b], model.bodies.com[0, b]) for b in range(model.n_bodies)]

    def add(body, at, force, torque):
        if body >= 0:
            total[body] += np.append(force, torque + np.cross(at - com[body], force))

    def motion(body, point):
        if body < 0:
            return point, np.zeros(3)
        at = rot.pose_apply(pose[body], point)
        return at, twist[body, :3] + np.cross(twist[body, 3:], at - com[body])

    s = model.springs
    for k in range(len(s.name)):
        (x_a, v_a), (x_b, v_b) = (motion(s.body[k, end], s.point[0, k, end]) for end in range(2))
        length = np.linalg.norm(x_b - x_a)
        along = (x_b - x_a) / length
        stretch = length - s.rest_length[0, k]
        tension = s.stiffness[0, k] * stretch + s.damping[0, k] * along @ (v_b - v_a)
        if s.slack[k] and (stretch < 0 or tension < 0):
            tension = 0.0
        add(s.body[k, 0], x_a, tension * along, np.zeros(3))
        add(s.body[k, 1], x_b, -tension * along, np.zeros(3))
    w = model.wrenches
    for k in range(len(w.name)):
        at, _ = motion(w.body[k], w.point[0, k])
        R = rot.quat_to_matrix(pose[w.body[k], 3:]) if w.follows[k] else np.eye(3)
        add(w.body[k], at, R @ w.force[0, k], R @ w.torque[0, k])
    return total


def random_states(model, n, rng):
    """Coordinates with unit quaternions and rates of n states, (n, NQ), (n, NV), (n, NV)."""
    q = rng.uniform(-1.2, 1.2, (n, model.n_q))
    joints = model.joints
    for j in range(model.n_joints):
        if joints.q_start[j + 1] - joints.q_start[j] > joints.qd_start[j + 1] - joints.qd_start[j]:
            last = slice(joints.q_start[j + 1] - 4, joints.q_start[j + 1])
            q[:, last] /= np.linalg.norm(q[:, last], axis=1, keepdims=True)
    return q, rng.normal(size=(n, model.n_qd)), rng.normal(size=(n, model.n_qd))


def write_states(path, model, columns, time=None):
    """A CSV file with the labels of `simcli show --layout` after the array that they belong to.

    Args:
        path: of the file.
        model: its labels.
        columns: "joint_q", "joint_qd", "joint_qdd" to (N, n).
        time: [s], (N,).
    """
    labels = {"joint_q": model.dofs.q_label, "joint_qd": model.dofs.label, "joint_qdd": model.dofs.label}
    header = ["time"] * (time is not None) + [f"{name}.{label}" for name in columns for label in labels[name]]
    table = np.concatenate(([time[:, None]] if time is not None else []) + list(columns.values()), axis=1)
    rows = [",".join(map(repr, row)) for row in table.tolist()]
    path.write_text("\n".join([",".join(header), *rows]) + "\n")
