"""Random mechanisms, made without scene files."""

import numpy as np

from simcli import rotations as rot
from simcli.model.assemble import assemble
from simcli.model.joints.catalogue import CATALOGUE, RIBLE_ENTRIES
from simcli.model.joints.mechanism import BodyInput, JointInput, Mechanism
from simcli.model.tables.model import WORLD, Model
from simcli.spec.base.dofs import NONHOLONOMIC, ROWS_ONLY

TREE_TYPES = tuple(name for name in CATALOGUE if name != "cable" and name not in (*RIBLE_ENTRIES, *ROWS_ONLY, *NONHOLONOMIC))
SCALAR_TYPES = tuple(name for name in TREE_TYPES if CATALOGUE[name].coordinates == "scalars")


def random_quat(rng, n_worlds=1):
    return rot.unit(rng.normal(size=(n_worlds, 4)))


def random_pose(rng, n_worlds=1, spread=0.5):
    return rot.make_pose(rng.uniform(-spread, spread, (n_worlds, 3)), random_quat(rng, n_worlds))


def random_frame(rng):
    """Rotation matrix whose rows serve as an orthonormal triple of axes."""
    return rot.quat_to_matrix(random_quat(rng))[0]


def random_body(rng, name, n_worlds=1):
    """Off-centre mass, inertia of a random box at a random orientation: positive, triangle inequality holds."""
    mass = rng.uniform(0.5, 3.0, n_worlds)
    sides = rng.uniform(0.1, 0.6, (n_worlds, 3))
    squares = sides**2
    principal = mass[:, None] / 12.0 * (squares.sum(axis=1, keepdims=True) - squares)
    R = rot.quat_to_matrix(random_quat(rng, n_worlds))
    inertia = R * principal[:, None, :] @ rot.transpose(R)
    return BodyInput(name, mass, rng.uniform(-0.3, 0.3, (n_worlds, 3)), inertia)


def random_axes(rng, type_name, left_handed=False):
    """Arguments for the catalogue's motion of a type."""
    frame = random_frame(rng)
    if left_handed:
        frame = frame[[0, 2, 1]]
    if type_name == "universal":
        return {"linear": np.zeros((0, 3)), "angular": frame[:2]}
    if type_name == "d6":
        n_linear, n_angular = rng.integers(0, 4, 2)
        return {"linear": random_frame(rng)[:n_linear], "angular": frame[:n_angular]}
    return {"axis": frame[0], "pitch": rng.uniform(-0.2, 0.2) if type_name == "screw" else 0.0}


def random_q(rng, part, n_worlds=1, reach=1.2):
    """Coordinates away from gimbal lock of the three-angle d6 (reach < pi / 2)."""
    coordinates = part.entry.coordinates
    if coordinates == "quaternion":
        return random_quat(rng, n_worlds)
    if coordinates == "pose":
        return random_pose(rng, n_worlds)
    return rng.uniform(-reach, reach, (n_worlds, part.n_q))


def random_joint(rng, name, type_name, parent, child, n_worlds=1, axes=None):
    entry = CATALOGUE[type_name]
    motion = entry.motion(**(axes or random_axes(rng, type_name, left_handed=rng.random() < 0.5)))
    part = JointInput(name, entry.kind, parent, child, motion, random_pose(rng), random_pose(rng))
    part.q = random_q(rng, part, n_worlds)
    part.qd = rng.uniform(-1.0, 1.0, (n_worlds, part.n_qd))
    return part


def random_mechanism(rng, n_bodies, types=TREE_TYPES, floating=None, branching=True, n_worlds=1, vary=()):
    """A random tree.

    Args:
        rng: numpy Generator.
        n_bodies: number of bodies.
        types: joint types to draw from, for all joints but a floating base's.
        floating: True: the first joint is free; False: drawn from `types`; None: drawn.
        branching: parents are drawn among all bodies before; otherwise the tree is a chain.
        n_worlds: number of worlds; initial joint_q and joint_qd differ between them.
        vary: names among "bodies": their arrays differ between worlds as well.

    Returns:
        Mechanism with joints in random order of bodies; body k hangs on a body before it.
    """
    n_varied = n_worlds if "bodies" in vary else 1
    bodies = [random_body(rng, f"body{k}", n_varied) for k in range(n_bodies)]
    floating = bool(rng.random() < 0.5) if floating is None else floating
    joints = []
    for k in range(n_bodies):
        parent = WORLD if k == 0 else (int(rng.integers(0, k)) if branching else k - 1)
        type_name = "free" if k == 0 and floating else str(rng.choice(list(types)))
        joints.append(random_joint(rng, f"joint{k}", type_name, parent, k, n_worlds))
    return Mechanism(bodies, joints, n_worlds=n_worlds)


def random_model(rng, n_bodies, types=TREE_TYPES, floating=None, branching=True, n_worlds=1, vary=()) -> Model:
    """Model of `random_mechanism`; its joint_q and joint_qd are random."""
    return assemble(random_mechanism(rng, n_bodies, types, floating, branching, n_worlds, vary))
