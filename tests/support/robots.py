"""Mechanisms with several copies of one random robot beside another mechanism, each an articulation of its own."""

from dataclasses import replace
from functools import cache

import numpy as np

from simcli import rotations as rot
from simcli.model.assemble import assemble
from simcli.model.joints import tree_kinematics
from simcli.model.joints.mechanism import Mechanism
from simcli.model.joints.state import State
from simcli.model.tables.model import JointKind
from support.forests import plant, reverse, vary_all
from support.random_models import SCALAR_TYPES, TREE_TYPES, random_mechanism, random_q


def crew(rng, n_worlds, floating, n_copies=3, size=6) -> Mechanism:
    """Copies of one random tree as the articulations `tree0/robot`, `tree2/robot`, ..., and `tree1/other` between them;
    every number differs in every copy and every world, angles lie within a right angle.

    Args:
        rng: numpy Generator.
        n_worlds: W.
        floating: the robot has a free root and joints of all types; else joints of scalar coordinates only.
        n_copies: C.
        size: bodies of the robot.
    """
    kinds = TREE_TYPES if floating else SCALAR_TYPES
    robot = reverse(rng, random_mechanism(rng, size, kinds, floating, True, n_worlds))
    other = random_mechanism(rng, 2, ("revolute",), False, False, n_worlds)
    trees = [robot] * n_copies
    trees.insert(1, other)
    forest = vary_all(rng, plant(trees, n_worlds))
    owner = [n for n, tree in enumerate(trees) for _ in tree.joints]
    for n, part in zip(owner, forest.joints, strict=True):
        part.articulation = n
        part.q = random_q(rng, part, n_worlds)
        part.qd = rng.uniform(-1.0, 1.0, (n_worlds, part.n_qd))
    titles = tuple(f"tree{n}/{'other' if tree is other else 'robot'}" for n, tree in enumerate(trees))
    return replace(forest, articulation_name=titles)


@cache
def robots(n_worlds, floating):
    return assemble(crew(np.random.default_rng(11 + floating), n_worlds, floating))


def shaken(model, seed=3):
    """A state with coordinates, velocities and efforts of its own in every world; its bodies are where FK puts them."""
    rng = np.random.default_rng(seed)
    state = State.of(model)
    for joint in range(model.n_joints):
        span = slice(model.joints.q_start[joint], model.joints.q_start[joint + 1])
        q = state.joint_q[:, span]
        if model.joints.kind[joint] in (JointKind.BALL, JointKind.FREE, JointKind.DISTANCE):
            q[:, -4:] = rot.unit(rng.normal(size=(len(q), 4)))
        else:
            q[...] = rng.uniform(-1.2, 1.2, q.shape)
    state.joint_qd[...] = rng.uniform(-1, 1, state.joint_qd.shape)
    state.joint_f[...] = rng.uniform(-1, 1, state.joint_f.shape)
    place(model, state)
    return state


def place(model, state):
    """Poses and twists by the reference in numpy."""
    R, x = tree_kinematics.body_poses(model, state.joint_q)
    state.body_q[...] = np.moveaxis(rot.make_pose(x, rot.matrix_to_quat(R)), 0, 1)
    twists = tree_kinematics.body_twists(model, state.joint_q, state.joint_qd)
    state.body_qd[...] = np.moveaxis(np.concatenate(twists, -1), 0, 1)


def apart(a, b):
    """Largest distance and angle between two sets of poses."""
    return max(float(part.max()) for part in rot.pose_distance(a, b))


def members(model, title):
    """Indices of joints and bodies by their names alone."""
    folder = title.split("/")[0] + "/"
    return [
        [k for k, name in enumerate(names) if name.startswith(folder)] for names in (model.joints.name, model.bodies.name)
    ]
