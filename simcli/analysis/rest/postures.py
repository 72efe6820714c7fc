"""A mechanism at a place: its directions, what is out of balance there, its lengths, the tensions of its springs."""

from dataclasses import dataclass

import numpy as np

from simcli.analysis.rest.rest_contacts import Press
from simcli.errors import Exit, SimcliError
from simcli.kernels.balance import Balances
from simcli.model.forces.spring import elastic_tension, ends_of_segments, segments_of
from simcli.model.tables.force_tables import Springs
from simcli.model.tables.model import WORLD, Array, JointKind, Model

_TINY = np.finfo(float).tiny


class NoEquilibriumError(SimcliError):
    """There is no equilibrium as asked for; the message has the residual."""

    exit_code = Exit.NEGATIVE


@dataclass(frozen=True)
class Posture:
    """A state at rest on the rows.

    Attributes:
        q: [m, rad, 1], (NQ,).
        angle: [rad], (R,), of rows that count turns.
        U: (n, m), directions, in the units of the dofs.
        effort: [N, N m], (n,), R, with the forces of contacts that are held; 0 for dofs that are prescribed.
        load: [N m], (m,), g.
        multiplier: [N, N m], (R,); of redundant rows the least ones.
        found: the balance with these multipliers.
        press: the contacts that are held, None without any.
    """

    q: Array
    angle: Array
    U: Array
    effort: Array
    load: Array
    multiplier: Array
    found: Balances
    press: Press | None = None


@dataclass(frozen=True)
class Slope:
    """A matrix of derivatives.

    Attributes:
        matrix: (m, m).
        error: (m, m), of each entry: what the last extrapolation changed, and rounding.
        kink: direction across which the slope jumps, -1 if there is none.
    """

    matrix: Array
    error: Array
    kink: int = -1

    @property
    def roughness(self) -> float:
        """Largest error of an entry relative to the diagonal entries of its row and its column."""
        size = np.sqrt(np.abs(np.diag(self.matrix)))
        return float((self.error / (np.outer(size, size) + _TINY)).max(initial=0.0))


def linear_dofs(model: Model) -> Array:
    """(NV,) True for dofs that move, in m; of natural coordinates those of the point."""
    out, joints = np.zeros(model.n_qd, bool), model.joints
    for j in range(model.n_joints):
        first, own = int(joints.qd_start[j]), joints.kind[j] != JointKind.CABLE
        out[first : first + int(joints.dof_dim[j, 0])] = own
    return out


def typical_length(model: Model) -> float:
    """[m], the median of the levers of joints, the lengths of springs and the radii of gyration; 1 if all vanish."""
    joints, springs, bodies = model.joints, model.springs, model.bodies
    levers = [np.linalg.norm(joints.X_c[0, :, :3] - bodies.com[0, joints.child], axis=-1)]
    inner = joints.parent != WORLD
    levers.append(np.linalg.norm((joints.X_p[0, :, :3] - bodies.com[0, joints.parent])[inner], axis=-1))
    heavy = bodies.mass[0] > 0
    moments = np.trace(bodies.inertia[0], axis1=-2, axis2=-1)
    levers.append(np.sqrt(moments[heavy] / (2.0 * bodies.mass[0][heavy])))
    levers.append(np.abs(springs.rest_length[0]))
    found = np.concatenate(levers)
    found = found[found > 1e-9]
    return float(np.median(found)) if len(found) else 1.0


def spring_tensions(springs: Springs, pose: Array) -> Array:
    """[N], (K,), elastic tension of each spring, 0 where a slack one is.

    Args:
        springs: the tables.
        pose: [m, 1], (B, 7), world.
    """
    segments = segments_of(springs)
    a, b = ends_of_segments(segments, pose)
    return elastic_tension(springs, segments.sum(np.linalg.norm(b - a, axis=-1)))
