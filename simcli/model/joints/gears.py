"""Gears of a scene: which joint follows which, and how the initial state of the followers follows."""

from collections.abc import Sequence

import numpy as np

from simcli.model.joints.mechanism import Gear, JointInput
from simcli.model.tables.model import Array, Model
from simcli.model.tables.worlds import Worlds

_SAME_START = 1e-9  # [m, rad or per second] what a written start may differ from the gear's: rounding in the file


def read_gears(worlds: Worlds, parts: list[JointInput]) -> None:
    """Read `mimic` of all joints.

    Args:
        worlds: the scenes; the spec has refused circles and joints that cannot turn together.
        parts: completed in place: `gear`.
    """
    index = {part.name: j for j, part in enumerate(parts)}
    for name, joint in worlds.first.joints.items():
        if joint.mimic is None:
            continue
        count = len(joint.mimic.coefficients)
        worlds.common(lambda s, n=name: len(s.joints[n].mimic.coefficients), f"joints.{name}.mimic.polynomial")
        polynomial = worlds.numbers(lambda s, n=name: s.joints[n].mimic.coefficients, (count,))
        parts[index[name]].gear = Gear(index[joint.mimic.joint], polynomial)


def follow_gears(worlds: Worlds, parts: list[JointInput]) -> None:
    """Initial coordinates and velocities of joints that follow others; written ones must agree.

    Args:
        worlds: take the faults.
        parts: completed in place; their own starts are read.
    """
    done = {j for j, part in enumerate(parts) if part.gear is None}
    while len(done) < len(parts):
        ready = [j for j, part in enumerate(parts) if j not in done and part.gear.leader in done]
        assert ready, "gears make no circle"
        for j in ready:
            _follow_one(worlds, parts[j], parts[parts[j].gear.leader])
        done.update(ready)


def terms_act(model: Model, dofs: Sequence[int | Array]) -> Array:
    """Whether combinations of these dofs act: those of which all joints are on."""
    return np.all([model.joints.enabled[model.dofs.joint[one]] for one in dofs], axis=0)


def polynomial_at(coefficients: Array, x: Array) -> tuple[Array, Array]:
    """A polynomial and its slope.

    Args:
        coefficients: (..., N), of x^0 and so on.
        x: (...).
    """
    value, slope = 0.0 * x, 0.0 * x
    for n in range(coefficients.shape[-1] - 1, -1, -1):
        slope = slope * x + value
        value = value * x + coefficients[..., n]
    return value, slope


def _follow_one(worlds: Worlds, part: JointInput, leader: JointInput) -> None:
    zero = np.zeros((1, part.n_qd))
    x = leader.zero_q() if leader.q is None else leader.q
    q, slope = polynomial_at(part.gear.polynomial[:, None], x)
    qd = slope * (zero if leader.qd is None else leader.qd)
    if part.q_given:
        _compare(worlds, part, leader, "q", part.q, q)
    if part.qd_given is not None and part.qd_given.any():
        _compare(worlds, part, leader, "qd", part.qd, qd)
    part.q, part.qd = q, qd


def _compare(worlds: Worlds, part: JointInput, leader: JointInput, key: str, written: Array, led: Array) -> None:
    gap = np.abs(written - led).max()
    if gap > _SAME_START:
        message = f"the written {key} of joint `{part.name}` differs by {gap:.3g} from its gear with `{leader.name}`"
        joint = worlds.first.joints[part.name]
        path = f"joints.{part.name}.{key}" if getattr(joint, key) is not None else f"initial.joint_{key}"
        worlds.fault("SC465", path, message, f"leave it out: {key} follows from that of `{leader.name}`")
