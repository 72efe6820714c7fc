"""Rates and accelerations of a table of coordinates over time, by splines.

A spline through the coordinates of each world is differentiated at its own knots: a quintic one, or the cubic one that plays
a table back. Rotations differentiate as quaternions: with a unit quaternion Q of the child in the parent anchor frame,

    w = 2 vec(Q' Q*),   dw/dt = 2 vec(Q'' Q*),

because vec(Q' Q'*) is zero. The rate of a free joint is that of the centre of mass, at R c from its anchor.

The splines are those of `simcli.model.signals.splines`.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from simcli import rotations as rot
from simcli.analysis.states.portions import Held, States
from simcli.errors import UsageError
from simcli.model.signals.splines import spline_derivatives
from simcli.model.tables.model import LinkKind, Model

_Array = np.ndarray
# Degree and fewest samples. The second derivative of a quintic spline is of fourth order in the distance of the samples,
# that of a cubic one of second order; three samples make a parabola, as in a table.
SPLINES = {"spline": (5, 6), "cubic": (3, 3)}
_MISSING = {"joint_qd": "rates", "joint_qdd": "accelerations"}


def note_missing(source: Held) -> None:
    """Tell the user which derivatives a table lacks, because zero is rarely what a recorded motion means."""
    missing = [name for field, name in _MISSING.items() if field not in source.fields]
    if missing:
        more = "; --differentiate spline takes them from the coordinates over time" if source.has_times else ""
        source.notes.append(f"{source.where} has no {' and no '.join(missing)}: they count as zero{more}")


def differentiated(source: Held, model: Model, seats: _Array, kind: str) -> Held:
    """States whose missing rates and accelerations are those of splines in time.

    Rates that are given stay; the accelerations are then their derivatives. Only joints of the tree are differentiated.

    Args:
        source: states with times, in any order.
        model: the tree.
        seats: world of the model for each world of the states.
        kind: of `SPLINES`.

    Raises:
        UsageError: states have no times, two of one world have the same time, or a world has too few.
    """
    if not source.has_times:
        raise UsageError(f"--differentiate: the states of {source.where} have no times: add a column `time`")
    if not set(_MISSING) - source.fields:
        raise UsageError(f"--differentiate: {source.where} holds rates and accelerations; there is nothing to differentiate")
    states = source.states
    shape = (len(states), model.n_qd)
    rate = states.values.get("joint_qd", np.zeros(shape)).copy()
    acceleration = states.values.get("joint_qdd", np.zeros(shape)).copy()
    for world in np.unique(states.world):
        rows = np.flatnonzero(states.world == world)
        rows = rows[np.argsort(states.time[rows], kind="stable")]
        spline = _through(source, states.time[rows], int(world), kind)
        q, com = states.values["joint_q"][rows], model.links.com[seats[world] if len(model.links.com) > 1 else 0]
        if "joint_qd" in source.fields:
            acceleration[rows] = spline(np.nan_to_num(rate[rows]), 1)
        else:
            found = derivatives(model, q, com, spline)
            rate[rows] = found[0]
            if "joint_qdd" not in source.fields:
                acceleration[rows] = found[1]
    values = {**states.values, "joint_qd": rate, "joint_qdd": acceleration}
    return replace(source, states=States(states.time, states.world, states.frame, values))


def derivatives(model: Model, q: _Array, com: _Array, spline: Callable[[_Array, int], _Array]) -> tuple[_Array, _Array]:
    """Rates and accelerations of the joints of the tree.

    Args:
        model: the tree.
        q: joint coordinates at the knots, (F, NQ).
        com: [m], centres of mass of the links from their anchors, (L, 3).
        spline: the n-th derivative at the knots of numbers (F, k) at the knots.

    Returns:
        joint_qd and joint_qdd, (F, NV); zero for joints that close loops.
    """
    links = model.links
    rate, acceleration = np.zeros((2, len(q), model.n_qd))
    for i in range(model.n_links):
        start, d, kind = int(links.q_start[i]), int(links.qd_start[i]), links.kind[i]
        if kind == LinkKind.HELIX:
            value = q[:, start : start + 1]
            rate[:, d : d + 1], acceleration[:, d : d + 1] = spline(value, 1), spline(value, 2)
        elif kind == LinkKind.BALL:
            rate[:, d : d + 3], acceleration[:, d : d + 3] = _spin(q[:, start : start + 4], spline)
        elif kind == LinkKind.FREE:
            place, quat = q[:, start : start + 3], _continuous(q[:, start + 3 : start + 7])
            w, dw = _spin(quat, spline)
            arm = rot.turn(rot.quat_to_matrix(quat), com[i])
            turning = rot.cross(w, arm)
            rate[:, d : d + 3] = spline(place, 1) + turning
            acceleration[:, d : d + 3] = spline(place, 2) + rot.cross(dw, arm) + rot.cross(w, turning)
            rate[:, d + 3 : d + 6], acceleration[:, d + 3 : d + 6] = w, dw
    return rate, acceleration


def _through(source: Held, time: _Array, world: int, kind: str) -> Callable[[_Array, int], _Array]:
    """A function that interpolates numbers at these times and differentiates them there."""
    degree, fewest = SPLINES[kind]
    if len(time) < fewest:
        raise UsageError(
            f"--differentiate: {source.where} has {len(time)} states of world {world}; a spline of degree "
            f"{degree} takes {fewest} or more"
        )
    if (np.diff(time) <= 0).any():
        twice = time[1:][np.diff(time) <= 0][0]
        raise UsageError(f"--differentiate: {source.where} has two states of world {world} at {twice:g} s")
    return lambda values, order: spline_derivatives(time, values, degree)[order]


def _spin(quat: _Array, spline: Callable[[_Array, int], _Array]) -> tuple[_Array, _Array]:
    """Angular velocity and acceleration in the frame that the quaternion turns into, (F, 3) each."""
    quat = _continuous(quat)
    back = quat * np.array([-1.0, -1.0, -1.0, 1.0])
    first, second = (2.0 * rot.quat_multiply(spline(quat, order), back)[:, :3] for order in (1, 2))
    return first, second


def _continuous(quat: _Array) -> _Array:
    """Unit quaternions of which none has its sign turned against the one before."""
    quat = rot.unit(quat)
    turned = np.sum(quat[1:] * quat[:-1], axis=1) < 0.0
    return quat * np.where(np.concatenate([[False], np.cumsum(turned) % 2 == 1]), -1.0, 1.0)[:, None]
