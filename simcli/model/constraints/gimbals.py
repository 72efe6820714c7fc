"""Joints of the tree that turn about three axes, one after the other, where the first and the third of these fall together.

There, at gimbal lock, the three rates do not reach every angular velocity: near it they grow without bound.
"""

from dataclasses import dataclass

import numpy as np

from simcli.model.tables.model import Array, Model

LOCKED = 0.05  # [1], sine of 3 degrees: rates are twenty times the angular velocity that is meant
ADVICE = "take a `ball` joint, whose coordinates have no such singularity, or solver: {type: maximal}"


@dataclass(frozen=True)
class GimbalLock:
    """A joint whose axes fall together.

    Attributes:
        joint: its name.
        world: where they do so most.
        angle: [degrees] between its first axis and its third one, there.
        n_worlds: in which they do so.
    """

    joint: str
    world: int
    angle: float
    n_worlds: int

    def text(self, n_worlds: int = 1) -> str:
        """What is wrong, among so many worlds."""
        where = f" in {self.n_worlds} of {n_worlds} worlds, closest in world {self.world}" if n_worlds > 1 else ""
        return (
            f"two of the three axes of joint `{self.joint}` are {self.angle:.2g} degrees apart{where}: at gimbal lock "
            "its rates grow without bound"
        )


def locks_at_start(model: Model, options) -> list[GimbalLock]:
    """Joints that begin at gimbal lock; only where the tree is stepped along its joints, which one solver does.

    Args:
        model: the tables.
        options: the `solver` of the scene.
    """
    return gimbal_locks(model, model.joint_q) if options.type == "generalized" else []


def gimbal_locks(model: Model, q: Array) -> list[GimbalLock]:
    """Joints of the tree that are at gimbal lock.

    The three rates give the angular velocity by  [a, A b, A B c],  A and B the turns about a and b. Its determinant,
    a . (b x B c), depends on the second coordinate alone.

    Args:
        model: the tables.
        q: [m, rad], (W, NQ).
    """
    found = []
    for j in np.flatnonzero(turns_about_axes(model)):
        first = int(model.joints.qd_start[j + 1]) - 3
        a, b, c = (model.dofs.axis[:, first + k] for k in range(3))
        angle = q[:, model.joints.q_start[j + 1] - 2, None]
        along = b * (b * c).sum(axis=1, keepdims=True)
        turned = along + (c - along) * np.cos(angle) + np.cross(b, c) * np.sin(angle)  # of Rodrigues
        volume = np.nan_to_num(np.abs((a * np.cross(b, turned)).sum(axis=1)), nan=1.0)
        if (volume < LOCKED).any():
            world = int(volume.argmin())
            apart = np.degrees(np.arcsin(min(float(volume[world]), 1.0)))
            found.append(GimbalLock(model.joints.name[j], world, float(apart), int((volume < LOCKED).sum())))
    return found


def turns_about_axes(model: Model) -> Array:
    """Joints of the tree with three angles, and no quaternion, (J,) bool; in natural coordinates no motion follows axes."""
    joints = model.joints
    thrice = (joints.dof_dim[:, 1] == 3) & (np.diff(joints.q_start) == np.diff(joints.qd_start))
    return thrice & joints.is_tree & joints.enabled & (model.columns is None)
