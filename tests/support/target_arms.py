"""Three public arms as scenes, from published Denavit-Hartenberg numbers, and their kinematics by these numbers alone.

PUMA  standard, a alpha d [m, rad]: Armstrong, Khatib and Burdick (1986); limits of Corke (1994)
UR5   standard: Universal Robots, parameters for calculations of kinematics and dynamics
PANDA modified (Craig), with the flange: Franka Emika, control parameters of the Panda
"""

from dataclasses import dataclass

import numpy as np
import yaml

HALF = np.pi / 2


@dataclass(frozen=True)
class Arm:
    """An arm: rows of a, alpha, d, and limits [rad]."""

    rows: tuple
    limits: np.ndarray
    is_modified: bool = False

    @property
    def n(self):
        return len(self.rows)

    def drawn(self, rng, count):
        """Coordinates that are uniform within the limits, (count, n)."""
        return rng.uniform(*self.limits.T, (count, self.n))

    def poses(self, q):
        """Transforms of the last frame, (N, 4, 4), by products of the matrices of Denavit and Hartenberg."""
        found = np.broadcast_to(np.eye(4), (len(q), 4, 4))
        for k, (a, alpha, d) in enumerate(self.rows):
            turn = np.zeros((len(q), 4, 4))
            turn[:, 0, 0] = turn[:, 1, 1] = np.cos(q[:, k])
            turn[:, 1, 0], turn[:, 0, 1] = np.sin(q[:, k]), -np.sin(q[:, k])
            turn[:, 2, 2] = turn[:, 3, 3] = 1.0
            turn[:, 2, 3] = d
            c, s = np.cos(alpha), np.sin(alpha)
            link = np.array([[1, 0, 0, a], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])
            found = found @ link @ turn if self.is_modified else found @ turn @ link
        return found

    def scene(self, **more):
        """A scene: bodies link0, link1, ... with frames of Denavit and Hartenberg, joints j0, j1, ..."""
        bodies, joints = {}, {}
        for k, (a, alpha, d) in enumerate(self.rows):
            c, s = np.cos(alpha), np.sin(alpha)
            if self.is_modified:
                frames = {"parent_frame": {"xyz": [a, -s * d, c * d], "rpy": [alpha, 0.0, 0.0]}, "child_frame": {}}
            else:
                frames = {"parent_frame": {}, "child_frame": {"xyz": [-a, -s * d, -c * d], "rpy": [-alpha, 0.0, 0.0]}}
            frames = {name: {key: [float(x) for x in value] for key, value in one.items()} for name, one in frames.items()}
            low, high = map(float, self.limits[k])
            bodies[f"link{k}"] = {"mass": 1.0, "inertia": {"diag": [0.01] * 3}}
            joints[f"j{k}"] = {
                **frames,
                "type": "revolute",
                "parent": f"link{k - 1}" if k else "world",
                "child": f"link{k}",
                "axis": [0, 0, 1],
                "limit": [low, high],
                "q": 0.5 * (low + high) + 0.1,
            }
        scene = {"simcli": 1, "contact": {"enabled": False}, "bodies": bodies, "joints": joints}
        return yaml.safe_dump(scene | more, sort_keys=False)


PUMA = Arm(
    ((0, HALF, 0), (0.4318, 0, 0), (0.0203, -HALF, 0.15005), (0, HALF, 0.4318), (0, -HALF, 0), (0, 0, 0)),
    np.deg2rad([(-160, 160), (-45, 225), (-225, 45), (-110, 170), (-100, 100), (-266, 266)]),
)
UR5 = Arm(
    (
        *((0, HALF, 0.089159), (-0.425, 0, 0), (-0.39225, 0, 0)),
        *((0, HALF, 0.10915), (0, -HALF, 0.09465), (0, 0, 0.0823)),
    ),
    np.array([(-2 * np.pi, 2 * np.pi)] * 6),
)
PANDA = Arm(
    (
        *((0, 0, 0.333), (0, -HALF, 0), (0, HALF, 0.316), (0.0825, HALF, 0)),
        *((-0.0825, -HALF, 0.384), (0, HALF, 0), (0.088, HALF, 0.107)),
    ),
    np.array(
        [
            *((-2.8973, 2.8973), (-1.7628, 1.7628), (-2.8973, 2.8973), (-3.0718, -0.0698)),
            *((-2.8973, 2.8973), (-0.0175, 3.7525), (-2.8973, 2.8973)),
        ]
    ),
    is_modified=True,
)
ARMS = {"puma": PUMA, "ur5": UR5, "panda": PANDA}


def four_bar(crank, coupler, rocker, ground, point, angle):
    """A four-bar drawn at a crank angle, closed by the joint `base`; with the closed form of its coupler point.

    Returns:
        The scene, and a function from crank angles to the places of `coupler/p`, (N, 2).
    """

    def drawn(angle):
        tip = np.stack([crank * np.cos(angle), crank * np.sin(angle)], axis=-1)
        to = np.array([ground, 0.0]) - tip
        reach = np.linalg.norm(to, axis=-1)
        inner = np.arccos((coupler**2 + reach**2 - rocker**2) / (2 * coupler * reach))
        return tip, np.arctan2(to[..., 1], to[..., 0]) + inner

    def path(angle):
        tip, turn = drawn(angle)
        c, s = np.cos(turn), np.sin(turn)
        return tip + np.stack([c * point[0] - s * point[1], s * point[0] + c * point[1]], axis=-1)

    tip, turn = drawn(np.array(angle))
    knee = tip + coupler * np.array([np.cos(turn), np.sin(turn)])
    turns = {"crank": angle, "coupler": turn, "rocker": np.arctan2(knee[1], knee[0] - ground)}
    places = {"crank": (0.0, 0.0), "coupler": tip, "rocker": (ground, 0.0)}
    mass = {"mass": 1.0, "inertia": {"diag": [0.01] * 3}}
    bodies = {
        name: {"pose": {"xyz": [*map(float, places[name]), 0.0], "rpy": [0.0, 0.0, float(turns[name])]}, **mass}
        for name in turns
    }
    bodies["coupler"]["points"] = {"p": [*map(float, point), 0.0]}
    ends = {"pin": ("world", "crank", (0.0, 0.0)), "elbow": ("crank", "coupler", tip), "knee": ("coupler", "rocker", knee)}
    ends["base"] = ("world", "rocker", (ground, 0.0))
    joints = {
        name: {"type": "revolute", "parent": a, "child": b, "at": [*map(float, at), 0.0], "axis": [0, 0, 1]}
        for name, (a, b, at) in ends.items()
    }
    joints["base"]["loop"] = True
    scene = {"simcli": 1, "contact": {"enabled": False}, "bodies": bodies, "joints": joints}
    return yaml.safe_dump(scene, sort_keys=False), path
