"""Random mechanisms whose joints have random laws, and what a step under laws has to satisfy, in numpy."""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.assemble import assemble
from simcli.model.joints.catalogue import CATALOGUE, KINDS_ALONG_ROWS, RIBLE_ENTRIES
from simcli.model.tables.model import DriveMode, LinkKind, Model
from support.forests import plant, scatter
from support.random_models import SCALAR_TYPES, random_mechanism

BOUNDED = tuple(
    name for name, entry in CATALOGUE.items() if entry.kind in KINDS_ALONG_ROWS and name not in (*RIBLE_ENTRIES, "fixed")
)
LAWFUL_TYPES = ("fixed", *BOUNDED)
ROUNDS = 3  # for velocities of the middle of a step that turns links far
REPEATS = 60  # each better by the turn in a step
MODES = (DriveMode.NONE, DriveMode.POSITION, DriveMode.VELOCITY, DriveMode.POSITION_VELOCITY, DriveMode.EFFORT)


def add_laws(rng, joint, n_worlds):
    """Give a joint random laws in each world: about half of them, so near to where it stands that they act.

    A ball joint gets those that act on its angular velocity.
    """
    shape = (n_worlds, joint.n_qd)

    def some(share, values, otherwise):
        return np.where(rng.random(shape) < share, values, otherwise)

    scalar = joint.entry.coordinates == "scalars"
    near = rng.choice([0.0, 1e-4, 1e-2, 0.5], shape)
    joint.qd = some(0.3, 0.0, rng.normal(size=shape) * rng.choice([1e-3, 1.0], shape))
    joint.dof = {
        "friction": some(0.5, rng.exponential(2.0, shape), 0.0),
        "velocity_limit": some(0.4, rng.exponential(1.0, shape), np.inf),
        "damping": some(0.3, rng.exponential(1.0, shape), 0.0),
        "armature": some(0.3, rng.exponential(0.1, shape), 0.0),
    }
    if scalar:
        joint.drive_mode = tuple(DriveMode(int(mode)) for mode in rng.choice(MODES, joint.n_qd))
        joint.dof |= {
            "limit_lower": some(0.5, joint.q - near * rng.random(shape), -np.inf),
            "limit_upper": some(0.5, joint.q + near * rng.random(shape), np.inf),
            "drive_stiffness": some(0.7, rng.exponential(100.0, shape), 0.0),
            "drive_damping": rng.exponential(3.0, shape),
            "drive_target": joint.q + 0.2 * rng.normal(size=shape),
            "drive_target_velocity": rng.normal(size=shape),
            "effort_limit": some(0.7, rng.exponential(3.0, shape), np.inf),
        }


def lawful_forest(rng, sizes, n_worlds) -> Model:
    """Random trees side by side, chains and branching ones, with laws on every joint but a floating base's."""
    trees = [
        random_mechanism(rng, size, LAWFUL_TYPES if k % 2 else SCALAR_TYPES, k % 3 == 0, k % 2 == 1, n_worlds)
        for k, size in enumerate(sizes)
    ]
    forest = plant(trees, n_worlds)
    for joint in forest.joints:
        scatter(rng, joint, n_worlds)
        if joint.kind in KINDS_ALONG_ROWS and joint.n_qd:
            add_laws(rng, joint, n_worlds)
    return assemble(forest)


@dataclass
class Step:
    """One first-order step of all worlds: M (v - v0) / h + bias + c v = lambda, with lambda on the graphs of the laws.

    What velocities need is taken where the step begins, or in its middle, at (v0 + v) / 2 with a v that nothing bounds, of
    one round or of three; each tree has one of them. Where the step begins the gyroscopic torque of a base that is free
    is that of the middle of a step of itself alone.

    Attributes:
        M: (W, NV, NV).  biases: (3, W, NV), gyroscopic forces and weight: of the start, and of both middles.
        x: (W, NV), scalar coordinates, else NaN.  v0: (W, NV).  h: [s].  model: its laws.
    """

    M: np.ndarray
    biases: np.ndarray
    x: np.ndarray
    v0: np.ndarray
    h: float
    model: Model

    @classmethod
    def at(cls, model, algorithms, q, qd, h):
        """The step from coordinates q and rates qd, (W, NQ) and (W, NV)."""
        M, x, joints = algorithms.mass_matrix(q), np.full_like(qd, np.nan), model.joints
        for j in range(model.n_joints):
            own_q, own_qd = (slice(s[j], s[j + 1]) for s in (joints.q_start, joints.qd_start))
            if own_q.stop - own_q.start == own_qd.stop - own_qd.start:
                x[:, own_qd] = q[:, own_q]
        resisting = M + h * model.dofs.damping[..., None] * np.eye(model.n_qd)
        biases, middle = [], qd
        for _ in range(1 + ROUNDS):
            biases.append(algorithms.inverse_dynamics(q, middle, np.zeros_like(qd)))
            pull = -biases[-1] - model.dofs.damping * qd
            middle = qd + 0.5 * h * np.linalg.solve(resisting, pull[..., None])[..., 0]
        biases[0] = biases[0] + gyroscopic_changes(model, q, qd, h)
        return cls(M, np.array(biases)[[0, 1, ROUNDS]], x, qd, h, model)

    def drive(self, v):
        """Efforts of the drives at the velocities that the step ends with."""
        dofs, mode = self.model.dofs, self.model.dofs.drive_mode
        holds = np.isin(mode, (DriveMode.POSITION, DriveMode.POSITION_VELOCITY))
        follows = np.isin(mode, (DriveMode.POSITION, DriveMode.VELOCITY, DriveMode.POSITION_VELOCITY))
        gap = np.nan_to_num(dofs.drive_target - self.x - self.h * v)
        pull = np.where(holds, dofs.drive_stiffness * gap, 0.0)
        lag = np.where(follows, dofs.drive_target_velocity, 0.0) - v
        pull = pull + np.where(holds | follows, dofs.drive_damping * lag, 0.0)
        pull = np.where(mode == DriveMode.EFFORT, dofs.drive_target, pull)
        return np.where(mode == DriveMode.NONE, 0.0, np.clip(pull, -dofs.effort_limit, dofs.effort_limit))

    def speeds(self):
        """Least and largest velocities that limits of positions and of velocities leave."""
        dofs = self.model.dofs
        fastest = dofs.velocity_limit
        low, high = ((bound - np.nan_to_num(self.x)) / self.h for bound in (dofs.limit_lower, dofs.limit_upper))
        return np.clip(low, -fastest, fastest), np.clip(high, -fastest, fastest)

    def errors(self, v, near, own):
        """How far the velocities of a tree can be from the only solution, in the largest velocity.

        Velocities within `near` of a vertical piece are put on it. With r the distance of the efforts from the graphs,
        strong monotonicity gives (v - v*) M (v - v*) / h <= r (v - v*).

        Args:
            v: (W, NV).  near: relative.  own: dofs of the tree.

        Returns:
            (3, W), with each of the biases.
        """
        low, high = self.speeds()
        outside = np.maximum(np.maximum(low - v, v - high), 0.0)
        close = near * (1.0 + np.abs(v))
        put = np.where(np.abs(v) <= close, 0.0, v)
        put = np.where(np.abs(put - low) <= close, low, put)
        put = np.where(np.abs(put - high) <= close, high, put)
        friction = self.model.dofs.friction
        effort = np.einsum("wij,wj->wi", self.M, (put - self.v0) / self.h) + self.biases + self.model.dofs.damping * put
        drive = self.drive(put)
        least = drive - np.where(put < 0, -friction, friction)
        most = drive - np.where(put > 0, friction, -friction)
        least, most = np.where(put == high, -np.inf, least), np.where(put == low, np.inf, most)
        off = np.maximum(np.maximum(least - effort, effort - most), 0.0)[..., own]
        stiff = np.linalg.eigvalsh(self.M[:, own][..., own])[:, 0]
        return self.h * np.linalg.norm(off, axis=-1) / stiff + (np.abs(put - v) + outside)[:, own].max(axis=1)


def gyroscopic_changes(model, q, qd, h):
    """[N m], (W, NV): m x I m - w x I w of bodies on free joints, m the middle of a step in which nothing else turns them.

    Euler's equations by the midpoint rule, I (w+ - w) / h = - m x I m, m = (w + w+) / 2, by repetition.
    """
    changes = np.zeros_like(qd)
    for i in np.flatnonzero(model.links.kind == LinkKind.FREE):
        own = slice(model.links.qd_start[i] + 3, model.links.qd_start[i] + 6)
        inertia, w = turned_inertia(model, q, i), qd[:, own]
        m = w
        for _ in range(REPEATS):
            m = w - 0.5 * h * np.linalg.solve(inertia, torque_of(inertia, m)[..., None])[..., 0]
        changes[:, own] = torque_of(inertia, m) - torque_of(inertia, w)
    return changes


def torque_of(inertia, w):
    """[N m], (W, 3): w x I w."""
    return np.cross(w, np.einsum("wij,wj->wi", inertia, w))


def turned_inertia(model, q, i):
    """[kg m^2], (W, 3, 3), of a link on a free joint, about its centre of mass, in axes of the joint's anchor."""
    first = model.links.q_start[i] + 3
    R = rot.quat_to_matrix(q[:, first : first + 4])
    return R @ model.links.inertia[:, i][:, [[0, 3, 4], [3, 1, 5], [4, 5, 2]]] @ rot.transpose(R)
