"""The frame that goes along with a steady motion: which motions of it look the same at every instant.

A steady motion is carried by symmetries: the world turns about a vertical by Omega t and moves along, bodies that stand on
no other turn about axes of their own beside that, joints move on at their rates. With xi the field of these,

    dz/dt = f(z),   f(z0) = xi(z0),   f does not change along xi    =>    d(dz)/dt = D(f - xi)(z0) dz

is autonomous for deviations dz = (x, y) of coordinates and rates seen in that frame:

    x' = y - Omega x x            of the place of a body that stands on no other
    x' = y + (w - Omega) x x      of its orientation; of others on ball and free joints Omega counts as 0
    x' = y                        of coordinates that are numbers
    y' = Df (x, y) - Omega x y    of bodies that stand on no other, else Df (x, y)

Notation: w angular velocity of the body; x rotates by its exponential from the left, axes of the parent anchor frame.

Source: relative equilibria, as of Marsden and Ratiu (1999), written out in the coordinates of the tree.
"""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.tables.joint_tables import Links
from simcli.model.tables.model import WORLD, Array, LinkKind, Model


@dataclass(frozen=True)
class Turning:
    """A ball or free joint of the tree.

    Attributes:
        place: unknowns of its velocity, none of a ball.
        spin: unknowns of its angular velocity.
        is_root: whether its parent is the world.
        axes: [1], (3, 3), its parent anchor frame, world where the parent is the world.
        quat: index into joint_q of its quaternion.
    """

    place: Array
    spin: Array
    is_root: bool
    axes: Array
    quat: int


def turning_joints(links: Links, dof: Array) -> list[Turning]:
    """Ball and free joints.

    Args:
        links: of the tree.
        dof: (n,), index into joint_qd of each unknown.
    """
    at, found = {int(d): n for n, d in enumerate(dof)}, []
    for k in np.flatnonzero(np.isin(links.kind, (LinkKind.BALL, LinkKind.FREE))):
        own = np.array([at[d] for d in range(links.qd_start[k], links.qd_start[k] + links.n_qd[k])], int)
        quat = int(links.q_start[k]) + len(own) - 3
        found.append(Turning(own[:-3], own[-3:], links.parent[k] == WORLD, links.rotation[0, k], quat))
    return found


@dataclass(frozen=True)
class Carrier:
    """What carries a steady motion along.

    Attributes:
        turn: [rad/s], (3,), Omega, world.
        rates: [m/s, rad/s], (n,), of the unknowns.
        span: [1], (3, k), directions that Omega can have, world.
        joints: ball and free joints.
    """

    turn: Array
    span: Array
    rates: Array
    joints: list[Turning]

    def turn_of(self, joint: Turning) -> Array:
        """[rad/s], (3,), Omega in the axes of a joint."""
        return joint.axes.T @ self.turn if joint.is_root else np.zeros(3)

    def drift(self, rates: Array) -> Array:
        """[m/s^2, rad/s^2], (..., n), accelerations by which rates turn along."""
        return self.drift_of(self.turn, rates)

    def drift_of(self, omega: Array, rates: Array) -> Array:
        """The same with another turn of the whole, (3,)."""
        found = np.zeros(rates.shape)
        for joint in self.joints:
            turn = joint.axes.T @ omega if joint.is_root else np.zeros(3)
            for own in (joint.place, joint.spin):
                if len(own):
                    found[..., own] = rot.cross(turn, rates[..., own])
        return found

    def coordinates(self) -> Array:
        """(n, n), what x' is of x."""
        found = np.zeros((len(self.rates), len(self.rates)))
        for joint in self.joints:
            turn = self.turn_of(joint)
            found[np.ix_(joint.spin, joint.spin)] = rot.skew(self.rates[joint.spin] - turn)
            if len(joint.place):
                found[np.ix_(joint.place, joint.place)] = -rot.skew(turn)
        return found

    def moves(self, time: float, x: Array) -> tuple[Array, Array]:
        """Where a state that deviates by x is carried in a time: what bodies turn about their own axes, and the rest.

        Returns:
            Two displacements, (n,), the second one after the first.
        """
        own, rest = self.rates * time, np.zeros(len(self.rates))
        for joint in self.joints:
            turn = self.turn_of(joint)
            axis = rot.quat_rotate(rot.quat_from_vector(x[joint.spin]), self.rates[joint.spin] - turn)
            own[joint.spin], rest[joint.spin] = axis * time, turn * time
            if len(joint.place):
                own[joint.place] = 0.0
                rest[joint.place] = self._way(turn, self.rates[joint.place], x[joint.place], time)
        return own, rest

    def _way(self, turn: Array, rate: Array, x: Array, time: float) -> Array:
        """[m], (3,), that a centre of mass moves which is x beside the one of the steady motion."""
        square = float(turn @ turn)
        if not square:
            return rate * time
        arm, along = rot.cross(turn, rate) * (-1.0 / square), turn * (float(turn @ rate) / square)
        return rot.quat_rotate(rot.quat_from_vector(turn * time), arm + x) - arm - x + along * time

    def turned(self, values: Array, time: float) -> Array:
        """Rates or accelerations, (n,), as they are after a time."""
        found = values.copy()
        for joint in self.joints:
            quat = rot.quat_from_vector(self.turn_of(joint) * time)
            for own in (joint.place, joint.spin):
                if len(own):
                    found[own] = rot.quat_rotate(quat, values[own])
        return found


def carrier_of(model: Model, dof: Array, rates: Array, accelerations: Array) -> Carrier:
    """The carrier that explains accelerations best: Omega is along gravity, if there is some.

    Args:
        model: the tables.
        dof: (n,), index into joint_qd of each unknown.
        rates: (n,).
        accelerations: (n,).
    """
    joints, gravity = turning_joints(model.links, dof), model.gravity[0]
    down = np.linalg.norm(gravity)
    span = gravity[:, None] / down if down else np.eye(3)
    rows, known = [np.zeros((0, span.shape[1]))], [np.zeros(0)]
    for joint in joints:
        for own in (joint.place, joint.spin):
            if joint.is_root and len(own):
                rows.append(-rot.skew(joint.axes @ rates[own]) @ span)
                known.append(joint.axes @ accelerations[own])
    turn = span @ np.linalg.lstsq(np.concatenate(rows), np.concatenate(known), None)[0]
    return Carrier(turn, span, rates, joints)
