"""Forests: many random trees side by side in one mechanism, so that one compiled kernel sees them all."""

from dataclasses import replace

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.mechanism import JointInput, Mechanism
from simcli.model.tables.model import WORLD
from support.random_models import (
    SCALAR_TYPES,
    TREE_TYPES,
    random_body,
    random_joint,
    random_mechanism,
    random_pose,
    random_quat,
)

ODD_GRAVITY = np.array([[1.3, -4.2, 7.7]])  # [m/s^2], along no axis


def plant(mechanisms, n_worlds, gravity=ODD_GRAVITY) -> Mechanism:
    """Put mechanisms side by side; names and indices are made unique."""
    bodies, joints = [], []
    for n, mechanism in enumerate(mechanisms):
        first = len(bodies)
        bodies += [replace(body, name=f"tree{n}/{body.name}") for body in mechanism.bodies]
        for joint in mechanism.joints:
            ends = {side: getattr(joint, side) for side in ("parent", "child")}
            moved = {side: body if body == WORLD else body + first for side, body in ends.items()}
            joints.append(replace(joint, name=f"tree{n}/{joint.name}", **moved))
    return Mechanism(bodies, joints, n_worlds=n_worlds, gravity=gravity)


def scatter(rng, joint: JointInput, n_worlds: int):
    """Coordinates of the whole range: angles over half turns, one-axis angles over several turns.

    The middle angle of three stays within 1.2 rad of zero, where the angles are well determined.
    """
    if joint.entry.coordinates != "scalars":
        return
    n_linear, n_angular = joint.entry.dof_dim(joint.motion)
    if n_angular == 0:
        return
    angles = rng.uniform(-3.1, 3.1, (n_worlds, n_angular))
    if n_angular == 1:
        angles *= rng.choice([1.0, 3.0], (n_worlds, 1))
    if n_angular == 3:
        angles[:, 1] *= 1.2 / 3.1
    joint.q = np.concatenate((joint.q[:, :n_linear], angles), axis=1)


def tilt(rng, joint: JointInput):
    """Take the axes of d6 and universal joints off their right angles, where the catalogue allows it.

    Three angular axes have to stay at right angles.
    """
    if joint.entry.reads != ("axes",):
        return
    linear, angular = joint.motion.linear, joint.motion.angular
    linear = rot.unit(linear + 0.3 * rng.uniform(-1.0, 1.0, linear.shape))
    if angular.shape[-2] == 2:
        angular = rot.unit(angular + 0.3 * rng.uniform(-1.0, 1.0, angular.shape))
    joint.motion = replace(joint.motion, linear=linear, angular=angular)


def random_forest(rng, sizes, n_worlds, types=TREE_TYPES) -> Mechanism:
    """For every size a fixed tree and a floating one, by turns a chain and a branching tree."""
    trees = []
    for k, size in enumerate(sizes):
        for floating in (False, True):
            branching = (k + floating) % 2 == 0
            kinds = SCALAR_TYPES if not floating and k % 3 == 2 else types
            trees.append(random_mechanism(rng, size, kinds, floating, branching, n_worlds))
    forest = plant(trees, n_worlds)
    for joint in forest.joints:
        scatter(rng, joint, n_worlds)
        if rng.random() < 0.5:
            tilt(rng, joint)
    return forest


def single_precision_forest(rng, n_worlds) -> Mechanism:
    """Small trees, because float32 loses what the size of a tree and its condition number take."""
    return vary_all(rng, random_forest(rng, (1, 3, 6), n_worlds))


def reverse(rng, mechanism: Mechanism, share=0.5) -> Mechanism:
    """Turn joints of scalar coordinates around, so that the tree runs against them."""
    joints = []
    for joint in mechanism.joints:
        turn = joint.parent != WORLD and joint.entry.coordinates == "scalars" and rng.random() < share
        joints.append(replace(joint, parent=joint.child, child=joint.parent) if turn else joint)
    return replace(mechanism, joints=joints)


def close_loop(rng, mechanism: Mechanism, kind="revolute", name="loop") -> Mechanism:
    """Add a joint that closes a loop (its anchors do not meet; the algorithms must not care)."""
    a, b = rng.choice(len(mechanism.bodies), 2, replace=False)
    joint = random_joint(rng, name, kind, int(a), int(b), mechanism.n_worlds)
    joint.is_tree = False
    joints = mechanism.joints
    middle = len(joints) // 2  # in the middle, so that offsets of tree joints after it are shifted
    return replace(mechanism, joints=[*joints[:middle], joint, *joints[middle:]])


def turn_axes(motion, quats):
    """Motion axes turned by another rotation in every world."""
    R = rot.quat_to_matrix(quats)
    turned = {name: getattr(motion, name) @ np.swapaxes(R, -1, -2) for name in ("linear", "angular")}
    return replace(motion, **turned)


def vary_all(rng, mechanism: Mechanism) -> Mechanism:
    """Every physical number differs from world to world: bodies, anchors, axes, pitches, gravity, armature."""
    n = mechanism.n_worlds
    bodies = [random_body(rng, body.name, n) for body in mechanism.bodies]
    joints = []
    for joint in mechanism.joints:
        motion = joint.motion
        if joint.entry.coordinates == "scalars":
            motion = turn_axes(motion, random_quat(rng, n))
            if joint.entry.reads[-1:] == ("pitch",):
                motion = replace(motion, pitch=rng.uniform(0.05, 0.2, n) * rng.choice([-1.0, 1.0], n))
        dof = {"armature": rng.uniform(0.01, 0.3, (n, joint.n_qd))}
        joints.append(replace(joint, motion=motion, X_p=random_pose(rng, n), X_c=random_pose(rng, n), dof=dof))
    gravity = rng.normal(size=(n, 3)) * 6.0
    return replace(mechanism, bodies=bodies, joints=joints, gravity=gravity)


def choose_worlds(mechanism: Mechanism, worlds) -> Mechanism:
    """The mechanism with the given worlds only, in that order."""

    def pick(value):
        return value[worlds] if isinstance(value, np.ndarray) and len(value) == mechanism.n_worlds else value

    def part(p, *names):
        return replace(p, **{name: pick(getattr(p, name)) for name in names})

    bodies = [part(body, "mass", "com", "inertia") for body in mechanism.bodies]
    joints = []
    for joint in mechanism.joints:
        motion = part(joint.motion, "linear", "angular", "pitch") if joint.motion.linear.ndim == 3 else joint.motion
        dof = {name: pick(value) for name, value in joint.dof.items()}
        joints.append(replace(part(joint, "X_p", "X_c", "q", "qd"), motion=motion, dof=dof))
    return replace(mechanism, bodies=bodies, joints=joints, n_worlds=len(worlds), gravity=pick(mechanism.gravity))
