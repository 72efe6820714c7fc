"""Statics of a mechanism on its constraints: what moves, what is out of balance, and how forces answer to displacements.

    x = U y,  J U = 0;   R = F + J^T lambda;   load g = U^T R;   stiffness K = -U^T dR/dx U;   damping C = -U^T dR/dv U

lambda stays while R is differenced, so that K = -dF/dq - sum lambda_k phi_k'', the geometric stiffness of the multipliers
included: where R vanishes this is the tangent of every chart. Differences are central, of three widths, extrapolated to
order six; the last extrapolation is the error that is given with them.

Notation: n unknowns x, velocities of the dofs of the tree; m directions y, which the rows leave; xi = x / unit, unit a
length for dofs that move and 1 for those that turn, so that directions of both kinds compare; U = unit N, N^T N = 1.

Source: the stiffness over the null space of the rows, as in the statics of Rible. Deviation: F'' and phi'' by differences.
"""

from dataclasses import replace

import numpy as np

from simcli.analysis.rest.postures import NoEquilibriumError, Posture, Slope, linear_dofs, spring_tensions, typical_length
from simcli.analysis.rest.rest_contacts import ContactHold, Press, balancing_forces, wrenches_of_joints
from simcli.errors import UsageError
from simcli.kernels.balance import Balance, Balances
from simcli.kernels.contact_queries import ContactFinder
from simcli.kernels.device.runtime import Device
from simcli.model.bodies.contact_pairs import moving_surfaces
from simcli.model.constraints.constraint_tables import start_angles
from simcli.model.tables.model import Array, Model
from simcli.model.tables.signal_tables import Driven, acting_feedback

_RANK = 1e-9  # singular values of rows below this part of the largest are redundancy
# Of the longest row: a shorter one is rounding, as those across an oblique plane of a loop. `gradients` of model/closure
# asks the same by the sizes of the terms, which the gradients of the device do not have.
_ROUNDED_ROW = 1e-12
WIDTH, NARROWER, _WIDTHS = 8e-3, 8.0, 4  # xi of the first differences; what a worse than SMOOTH error divides it by; tries
_TANGENT_WIDTH = 1e-4  # xi of the difference that is a step's stiffness
_SMOOTH = 1e-9  # relative error of a stiffness that is smooth
KINK = 1e-6  # relative change of slope across a state that is no rounding
_CLOSED = 1e-9  # [m, 1] residual of rows that are closed
_LARGEST_MOVE = 0.2  # xi of one correction of the rows
_CORRECTIONS = 60
_SPEED = 1e-2  # xi per second, of the fastest differences by velocities
_EVEN, _ODD = (2, 4), (1, 2)  # powers of the width in the errors of central differences: smooth forces; |v| v
REACH = 2.0  # typical lengths within which contacts are looked for
_WITHOUT_BELTS = "leave its `surface_velocity` out, or run the scene"
_ROUNDING = 1e-15  # of a sum of forces, relative to what the mechanism carries
RELATIVE = 1e-13  # rounding of a stiffness, relative to the diagonal entries of its row and its column


class Statics:
    """The statics of one model in any of its forms.

    Args:
        model: of one world.
        device: from `start_device`, in float64.
        slips: take contacts without friction.

    Attributes:
        balance: forces and rows.
        length: [m], typical of the mechanism.
        unit: (n,), `length` for dofs that move, 1 for those that turn.
        is_free: (n,) bool, False for dofs that are prescribed.
        contacts: those of the model, None where nothing can touch.
        held: contacts that every posture holds, None without any.
    """

    def __init__(self, model: Model, device: Device, slips: bool = False):
        # A few hundred states at most: scalar code takes longer for them than packs, but far less to compile.
        if model.combinations.name:
            name = model.combinations.name[0]
            raise UsageError(
                f"`{name}`: statics and modes do not support couplings; run the scene until it rests, or let "
                "a joint follow another (mimic)"
            )
        for name in moving_surfaces(model):
            raise UsageError(f"the surface of `{name}` moves, so that what lies on it is not at rest; {_WITHOUT_BELTS}")
        if Driven.CONTACT_FRICTION in model.inputs.column:
            raise UsageError("a signal drives friction of contacts: statics and modes take a number; run the scene instead")
        for name in acting_feedback(model):
            raise UsageError(
                f"the signal `{name}` follows the motion by steps: statics and modes do not support feedback; "
                "write the same law as a spring, a damper or a drive"
            )
        self.model, self.balance = model, Balance(model, device.for_worlds(model.n_worlds))
        self.length = typical_length(model)
        dof = self.balance.dof
        self.moves = linear_dofs(model)[dof]
        self.unit = np.where(self.moves, self.length, 1.0)
        self.is_free = model.motions.kind[dof] == 0
        self.contacts, self.held = None, None
        if model.contacts is not None and model.contacts.enabled.all():
            finder = ContactFinder(model, device.for_worlds(1))
            self.contacts = ContactHold(model, finder, REACH * self.length, slips)

    def start(self) -> Posture:
        """The state in which the mechanism begins, its loops closed (model/closure)."""
        angle = start_angles(self.balance.constraints, self.model)[0]
        return self.at(np.nan_to_num(self.model.joint_q[0]), angle)

    def closed(self, q: Array, angle: Array) -> tuple[Array, Array, float]:
        """Coordinates near q that satisfy the rows, their angles, and the largest residual that is left.

        Args:
            q: (NQ,).
            angle: (R,).
        """
        holds, worst, best = self.balance.holds, np.inf, (q, angle, np.inf)
        for _ in range(_CORRECTIONS):
            found = self.balance(q, angle=angle)
            q, angle, lack = found.q[0], found.angle[0], found.residual[0, holds]
            gaps, slopes = self._held_gaps(found)
            lack = np.concatenate((lack, gaps))
            now = np.abs(lack).max(initial=0.0)
            if now < best[2]:
                best = (q, angle, now)
            if now == 0.0 or (now >= 0.5 * worst and now < _CLOSED):
                break
            worst = now
            step = np.zeros(len(self.unit))
            rows = np.concatenate((self.balance.jacobian(found)[holds], slopes))
            rows = (rows * self.unit)[:, self.is_free]
            step[self.is_free] = -np.linalg.lstsq(rows, lack, _RANK)[0]
            step *= _LARGEST_MOVE / max(np.abs(step).max(initial=0.0), _LARGEST_MOVE)
            q = self.balance(q, move=(step * self.unit)[None], angle=angle).q[0]
        return best

    def _held_gaps(self, found: Balances) -> tuple[Array, Array]:
        """[m], (C,), gaps of the contacts that are held, and their slopes, (C, n)."""
        if self.held is None:
            return np.zeros(0), np.zeros((0, len(self.unit)))
        touches = self.contacts.again(self.held, found.pose[0])
        if touches is None:
            return np.full(1, np.inf), np.zeros((1, len(self.unit)))
        return touches.found.gap, self.contact_slopes(found, touches)[:, 0]

    def contact_slopes(self, found: Balances, touches) -> Array:
        """(C, 6, n), what contacts see of the unknowns at the first state of a balance."""
        twist = self.balance(found.q[0], rate=np.eye(len(self.unit)), angle=found.angle[0]).twist
        return self.contacts.rows(touches, found.pose[0], np.where(self.is_free[:, None, None], twist, 0.0))

    def _pressed(self, found: Balances, U: Array) -> Press | None:
        """The contacts that are held at a state, with the forces that balance it over the directions of its rows."""
        touches = None if self.held is None else self.contacts.again(self.held, found.pose[0])
        if touches is None:
            return None
        rows = self.contact_slopes(found, touches)
        load = U.T @ np.where(self.is_free, found.effort[0], 0.0)
        return Press(touches, rows, balancing_forces(touches, rows @ U, load, self.length))

    def at(self, q: Array, angle: Array) -> Posture:
        """The posture at coordinates that satisfy the rows, and where the contacts that are held are closed."""
        holds, free = self.balance.holds, self.is_free
        found = self.balance(q, angle=angle)
        rows = (self.balance.jacobian(found)[holds] * self.unit)[:, free]
        size = np.linalg.norm(rows, axis=1, keepdims=True)
        counts = size > _ROUNDED_ROW * size.max(initial=0.0)
        size = np.where(counts, size, 1.0)
        left, values, right = np.linalg.svd(np.where(counts, rows, 0.0) / size)
        rank = int((values > _RANK * values.max(initial=0.0)).sum())
        U = np.zeros((len(free), free.sum() - rank))
        U[free] = right[rank:].T * self.unit[free, None]
        press = self._pressed(found, U)
        given = 0.0 if press is None else press.effort
        push = right[:rank] @ ((found.effort[0] + given) * self.unit)[free]
        multiplier = np.zeros(len(holds))
        multiplier[holds] = -(left[:, :rank] @ (push / values[:rank])) / size[:, 0]
        found = self.balance(q, multiplier=multiplier, angle=angle)
        effort = np.where(free, found.effort[0] + given, 0.0)
        if press is not None:
            U = self._left_by(press, U)
            wrench = wrenches_of_joints(self.model, found.wrench[0], found.pose[0], press)
            found = replace(found, wrench=wrench[None])
        return Posture(found.q[0], found.angle[0], U, effort, U.T @ effort, multiplier, found, press)

    def _left_by(self, press: Press, U: Array) -> Array:
        """The directions that contacts leave of some directions."""
        scale = np.repeat([1.0, self.length], 3)
        rows = ((press.rows @ U) * scale[None, :, None])[self.held.rows]
        size = np.linalg.norm(rows, axis=1, keepdims=True)
        counts = (size > _ROUNDED_ROW * size.max(initial=0.0))[:, 0]
        _, values, right = np.linalg.svd(rows[counts] / size[counts])
        rank = int((values > _RANK * values.max(initial=0.0)).sum())
        return U @ right[rank:].T

    def moved(self, posture: Posture, step: Array) -> Posture | None:
        """The posture after a displacement along the directions, back on the rows; None if that cannot be.

        Args:
            posture: from where.
            step: (m,), y.
        """
        q = self.balance(posture.q, move=(posture.U @ step)[None], angle=posture.angle).q[0]
        q, angle, worst = self.closed(q, posture.angle)
        return self.at(q, angle) if worst <= _CLOSED else None

    def efforts(self, posture: Posture, moves: Array | None = None, rates: Array | None = None) -> Array:
        """U^T R, (N, m), at displacements or velocities (N, n) from a posture, with its multipliers."""
        if not posture.U.shape[1]:
            return np.zeros((0, 0))
        found = self.balance(posture.q, moves, rates, posture.multiplier, posture.angle)
        effort = found.effort
        if posture.press is not None:
            given = self._efforts_of_contacts(posture, found) if rates is None else posture.press.effort
            effort = effort + given
        return np.where(self.is_free, effort, 0.0) @ posture.U

    def _efforts_of_contacts(self, posture: Posture, found: Balances) -> Array:
        """(N, n), of the forces of a posture's contacts, which turn with their frames, at other states."""
        out, held = [], replace(self.held, touches=posture.press.touches)
        for k in range(len(found.q)):
            touches = self.contacts.again(held, found.pose[k])
            if touches is None:
                name = posture.press.touches.name(self.model, 0)
                raise NoEquilibriumError(f"a contact ends beside the equilibrium, as of {name}: it cannot be linearised")
            one = replace(found, q=found.q[k : k + 1], angle=found.angle[k : k + 1], pose=found.pose[k : k + 1])
            out.append(np.einsum("cin,ci->n", self.contact_slopes(one, touches), posture.press.force))
        return np.array(out)

    def tangent(self, posture: Posture) -> Array:
        """Stiffness by one central difference: good enough to step along."""
        moves = _TANGENT_WIDTH * posture.U.T
        both = self.efforts(posture, np.concatenate((moves, -moves)))
        return -(both[: len(moves)] - both[len(moves) :]).T / (2.0 * _TANGENT_WIDTH)

    def stiffness(self, posture: Posture) -> Slope:
        """K, by differences as narrow as its smoothness asks for."""
        best, noise = None, self.noise(posture)
        for k in range(_WIDTHS):
            slope = _slope(lambda moves: self.efforts(posture, moves), posture, WIDTH / NARROWER**k, noise)
            if best is None or slope.roughness < best.roughness:
                best = slope
            if best.roughness <= _SMOOTH:
                break
        return best

    def aligned(self, posture: Posture) -> Posture:
        """The posture with its directions along the eigenvectors of K, so that soft ones know nothing of stiff ones."""
        K = self.tangent(posture)
        _, V = np.linalg.eigh(0.5 * (K + K.T))
        return replace(posture, U=posture.U @ V, load=V.T @ posture.load)

    def damping(self, posture: Posture) -> Slope:
        """C, by differences as slow as its smoothness asks for: quadratic drag bends at rest in a light wind."""
        best, noise = None, self.noise(posture)
        for k in range(_WIDTHS):
            slope = _slope(lambda rates: self.efforts(posture, rates=rates), posture, _SPEED / NARROWER**k, noise, _ODD)
            if best is None or slope.error.max(initial=0.0) < best.error.max(initial=0.0):
                best = replace(slope, matrix=np.where(np.abs(slope.matrix) <= 4.0 * slope.error, 0.0, slope.matrix))
            largest = np.abs(best.matrix).max(initial=0.0)
            if largest == 0.0 or best.error.max() <= _SMOOTH * largest:
                break
        return best

    def noise(self, posture: Posture) -> float:
        """[N m], rounding of the loads."""
        return _ROUNDING * self.loads(posture)[1]

    def mass(self, posture: Posture) -> Array:
        """M over the directions, (m, m)."""
        return posture.U.T @ self.balance.mass(posture.found) @ posture.U

    def residual(self, posture: Posture) -> tuple[float, float]:
        """Largest force [N] and torque [N m] that is out of balance."""
        gap = np.abs(posture.effort)
        return float(gap[self.moves].max(initial=0.0)), float(gap[~self.moves].max(initial=0.0))

    def loads(self, posture: Posture) -> tuple[float, float]:
        """Force [N] and torque [N m] that the mechanism carries: what a residual is small against."""
        model, wrench = self.model, posture.found.wrench[0]
        weight = model.bodies.mass[0].sum() * np.linalg.norm(model.gravity[0])
        pull = sum(np.abs(spring_tensions(model.springs, posture.found.pose[0])))
        pushes, turns = (np.linalg.norm(a[0], axis=-1).sum() for a in (model.wrenches.force, model.wrenches.torque))
        wrench = wrench[np.isfinite(wrench).all(axis=1)]
        force = weight + pull + pushes + np.abs(wrench[:, :3]).max(initial=0.0)
        return float(force), float(force * self.length + turns + np.abs(wrench[:, 3:]).max(initial=0.0))

    def close(self) -> None:
        """Free the device memory."""
        self.balance.close()
        if self.contacts is not None:
            self.contacts.finder.close()


def _slope(efforts, posture: Posture, width: float, noise: float, powers: tuple[int, int] = _EVEN) -> Slope:
    """-d(efforts)/dy by central differences of widths h, h/2, h/4, extrapolated (Romberg).

    With errors a h^p + b h^q, the differences of h and h/2 give (2^p D(h/2) - D(h)) / (2^p - 1), free of the first one,
    and two of these likewise the slope.

    Args:
        efforts: of displacements or velocities (N, n), (N, m).
        posture: where.
        width: h, xi or xi per second.
        noise: [N m], rounding of efforts.
        powers: p and q.
    """
    m = posture.U.shape[1]
    if m == 0:
        return Slope(np.zeros((0, 0)), np.zeros((0, 0)))
    widths = width / np.array([1.0, 2.0, 4.0])
    steps = np.concatenate([sign * h * posture.U.T for h in widths for sign in (1.0, -1.0)])
    found = efforts(np.concatenate((steps, np.zeros((1, len(posture.U))))))
    sides, here = found[:-1].reshape(3, 2, m, m), found[-1]
    D = [-(up - down).T / (2.0 * h) for h, (up, down) in zip(widths, sides, strict=True)]
    bend = [np.abs(up + down - 2.0 * here).max(axis=1) / h for h, (up, down) in zip(widths, sides, strict=True)]
    first, second = (2.0**power for power in powers)
    once = [(first * D[k + 1] - D[k]) / (first - 1.0) for k in range(2)]
    matrix = (second * once[1] - once[0]) / (second - 1.0)
    size = np.sqrt(np.abs(np.diag(matrix)))
    error = np.abs(matrix - once[1]) + RELATIVE * np.outer(size, size) + noise / widths[-1]
    least = np.maximum(KINK * np.maximum(np.abs(matrix).max(axis=0), bend[0]), 16.0 * noise / widths[-1])
    jumps = np.flatnonzero((bend[2] > least) & (bend[2] > 0.5 * bend[0]))  # a smooth bend shrinks with the width
    return Slope(matrix, error, int(jumps[0]) if len(jumps) else -1)
