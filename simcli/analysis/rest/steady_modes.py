"""Modes about a steady motion of a scene: the motion that is meant, its eigenvalues and shapes, in the scene's words."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from simcli.analysis.rest.equilibrium import Equilibrium
from simcli.analysis.rest.modes import Study, charted
from simcli.analysis.rest.postures import Slope
from simcli.analysis.rest.spectrum import REAL, UNDAMPED, Mode, ModeKind, kind_of_mode
from simcli.analysis.rest.statics import Statics
from simcli.analysis.rest.steady import SteadyMotion
from simcli.errors import Fault, SceneError
from simcli.kernels.device.runtime import Device
from simcli.model.tables.model import Array, Model

NEAR = 2e-2  # of the accelerations that a motion can have: a state that far from a steady motion is led to it
STEADY = 1e-9  # likewise, of a motion that is steady
SAME_ALONG = 1e-7  # likewise, of accelerations that are the same all along the motion
_STEPS = 12  # of the search
_NOTHING = 1e-8  # of the largest singular value of A: what it takes to less is nothing
_INVARIANT = 1e-7  # likewise, of directions that it takes among themselves
_TOUCHING = 1e-6  # of the mechanism's length: shapes that near touch


@dataclass
class SteadyStudy(Study):
    """A steady motion of a scene and the small motions about it.

    Attributes:
        motion: the steady one.
        way: largest change of a coordinate, in lengths of the mechanism or rad, from the state that was given.
    """

    motion: SteadyMotion = field(kw_only=True)
    way: float = 0.0

    @cached_property
    def stiffness(self) -> Slope:
        """Nothing but the error of the derivatives; there is no stiffness of its own."""
        return Slope(np.eye(1), np.full((1, 1), self.motion.linear.error))

    @cached_property
    def modes(self) -> list[Mode]:
        """Modes by rising |s|; their shapes are of coordinates, or of rates where no coordinate changes."""
        return modes_of_motion(self.motion)

    def reduced(self, coordinates: list[int]) -> tuple[Array, Array, Array]:
        """M, C and K of M y'' + C y' + K y = 0, of some coordinates whose small motions depend on no other.

        Args:
            coordinates: unknowns, numbers of one each, as many as there are.

        Raises:
            ValueError: their small motions depend on others.
        """
        motion, n, k = self.motion, len(self.motion.v), len(coordinates)
        scale = motion.scale[:, None] * motion.tangent
        seen = np.concatenate((scale[coordinates], scale[[n + one for one in coordinates]]))
        found = (seen @ motion.matrix) @ np.linalg.pinv(seen)
        left = seen @ motion.matrix - found @ seen
        if np.abs(left).max() > _INVARIANT * np.abs(seen @ motion.matrix).max():
            raise ValueError("their small motions depend on other coordinates")
        M = self._mass_of(coordinates)
        return M, -M @ found[k:, k:], -M @ found[k:, :k]

    def _mass_of(self, coordinates: list[int]) -> Array:
        """Mass matrix of rates that change these coordinates and, of all that do, have the least energy beside."""
        motion = self.motion
        found = self.statics.balance(motion.q, angle=motion.angle)
        M = self.statics.balance.mass(found)
        free = self.statics.is_free
        J = (motion.linear.J * self.statics.unit)[:, free]
        _, values, right = np.linalg.svd(J) if len(J) else (0, np.zeros(0), np.eye(free.sum()))
        rank = int((values > 1e-9 * values.max(initial=0.0)).sum())
        U = np.zeros((len(free), free.sum() - rank))
        U[free] = right[rank:].T * self.statics.unit[free, None]
        inverse = np.linalg.inv(U.T @ M @ U)
        return np.linalg.inv(U[coordinates] @ inverse @ U[coordinates].T)


def modes_of_motion(motion: SteadyMotion) -> list[Mode]:
    """Modes by rising size of their eigenvalues.

    Zeros are taken out first, step by step, as far as A takes directions to nothing: what a mechanism does not mind, as
    where it is and at which of its steady speeds, gives chains of them, which rounding would spread.

    Args:
        motion: a steady one.
    """
    A = motion.matrix
    gone = _carried_places(motion, A)
    while True:
        rest = _complement(gone)
        inner = rest.T @ A @ rest
        if not len(inner):
            break
        _, values, right = np.linalg.svd(inner)
        nothing = values <= _NOTHING * max(values[0], 1e-300)
        if not nothing.any() and values[0] > 0.0:
            break
        gone = np.hstack((gone, rest @ right[nothing].T))
    modes = [Mode(ModeKind.ZERO, 0j, None, _shape(motion, z)) for z in gone.T]
    values, vectors = np.linalg.eig(inner) if len(inner) else (np.zeros(0), np.zeros((0, 0)))
    size = max(UNDAMPED, 10.0 * motion.linear.error) * np.abs(values).max(initial=0.0)
    for value, vector in zip(values.astype(complex), vectors.T, strict=True):
        if abs(value.imag) <= REAL * abs(value):
            value = complex(value.real)
        elif abs(value.real) <= size:
            value = 1j * value.imag
        if value.imag >= 0.0:
            whole = _lifted(A, value, rest @ vector, gone)
            partner = value.conjugate() if value.imag else None
            modes.append(Mode(kind_of_mode(value), value, partner, _shape(motion, whole)))
    return sorted(modes, key=lambda mode: mode.omega)


def _carried_places(motion: SteadyMotion, A: Array) -> Array:
    """Directions across a turn along which the place of all does not matter, as columns: they only turn along with it."""
    turn, n = motion.carrier.turn, len(motion.v)
    found = np.zeros((len(A), 0))
    if not turn.any():
        return found
    vectors = []
    for across in np.linalg.svd(turn[None])[2][1:]:
        z = np.zeros(2 * n)
        for joint in motion.carrier.joints:
            if joint.is_root and len(joint.place):
                z[joint.place] = joint.axes.T @ across
        vectors.append(z / motion.scale)
    both = np.stack(vectors, axis=1)
    C = motion.tangent.T @ both
    if not C.any() or np.abs(motion.tangent @ C - both).max() > _INVARIANT * np.abs(both).max():
        return found
    C = np.linalg.qr(C)[0]
    taken = A @ C
    return C if np.abs(taken - C @ (C.T @ taken)).max() <= _INVARIANT * np.abs(A).max() else found


def _complement(gone: Array) -> Array:
    """Orthonormal directions at right angles to some orthonormal ones, as columns."""
    return np.linalg.svd(gone)[0][:, gone.shape[1] :] if gone.shape[1] else np.eye(len(gone))


def _lifted(A: Array, value: complex, vector: Array, gone: Array) -> Array:
    """The eigenvector with the part along directions that were taken out."""
    if not gone.shape[1]:
        return vector
    here = gone.T @ A @ gone - value * np.eye(gone.shape[1])
    return vector - gone @ np.linalg.lstsq(here, gone.T @ A @ vector, None)[0]


def _shape(motion: SteadyMotion, vector: Array) -> Array:
    """Coordinates of a direction, or its rates where no coordinate changes."""
    x, y = np.split(motion.scale * (motion.tangent @ vector), 2)
    xi, eta = np.split(motion.tangent @ vector, 2)
    return x if np.abs(xi).max() > _INVARIANT * np.abs(eta).max() else y


def steady_study(model: Model, device: Device, time: float = 0.0) -> SteadyStudy:
    """The steady motion near the state of a model, from which small motions follow.

    Args:
        model: of one world, its initial state that of the motion.
        device: from `start_device`, in float64.
        time: [s], at which signals are taken.

    Raises:
        SceneError: SC650, the motion is not steady; SC651, its linear equations change; SC652, shapes touch.
    """
    statics = Statics(charted(model), device)
    _refuse_touching(statics)
    dof = statics.balance.dof
    q, v = np.nan_to_num(statics.model.joint_q[0]), np.nan_to_num(statics.model.joint_qd[0])[dof]
    given = SteadyMotion(statics, q, v, time)
    motion = _settled(given)
    if (change := motion.changes_along()) > SAME_ALONG:
        message = (
            f"the linear equations of the motion change along it, by {change:.2g} of its accelerations: a body that turns "
            "is not the same all round its axis, or forces depend on where the mechanism is"
        )
        raise SceneError([Fault("SC651", message, None, "modes about a periodic motion are not supported")])
    posture = statics.at(motion.q, motion.angle)
    posture = replace(posture, U=np.eye(len(dof)))
    notes = [] if not statics.model.signals.name else [f"signals keep the values that they have at t = {time:g} s"]
    way = np.abs((motion.v - given.v) / (statics.unit * motion.fast)).max(initial=0.0)
    if way > STEADY:
        notes.append(f"the state is led to the steady motion near it: rates change by up to {way:.2g} of the fastest")
    return SteadyStudy(model, statics, device, Equilibrium(posture, 0, 0.0, 0.0), notes, motion=motion, way=float(way))


def _settled(motion: SteadyMotion) -> SteadyMotion:
    """The steady motion near a state."""
    first = np.abs(motion.unsteady).max(initial=0.0)
    now, gap = motion, first
    for _ in range(_STEPS if first <= NEAR else 0):
        after = now.moved(now.to_steady())
        new = np.abs(after.unsteady).max(initial=0.0)
        if new >= gap:
            break
        now, gap = after, new
    if gap <= STEADY:
        return now
    model, dof = motion.statics.model, motion.statics.balance.dof
    worst = int(np.abs(motion.unsteady).argmax())
    rate = motion.unsteady[worst] * motion.statics.unit[worst] * motion.fast**2
    unit = "m/s^2" if motion.statics.moves[worst] else "rad/s^2"
    message = f"the motion is not steady: `{model.dofs.label[dof[worst]]}` accelerates at {rate:.3g} {unit}"
    hint = "take a time at which the motion has become steady, or a state that is: `simcli docs modes`"
    raise SceneError([Fault("SC650", message, None, hint)])


def _refuse_touching(statics: Statics) -> None:
    """Refuse shapes that touch: contacts of a body in motion are not linearised."""
    if statics.contacts is None:
        return
    near = statics.contacts.near(statics.start().found.pose[0])
    touching = np.flatnonzero(near.found.gap <= _TOUCHING * statics.length)
    if len(touching):
        names = near.name(statics.model, int(touching[0]))
        message = f"{names} touch: contacts of what moves are not linearised"
        raise SceneError([Fault("SC652", message, None, "let a `rolling` joint bear the wheel, or leave the pair out")])
