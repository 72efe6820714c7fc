"""Numbers that the command line gives in place of those of the initial state, and joints that follow by gears."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.polynomial import polynomial as powers

from simcli.analysis.states.portions import Held, States
from simcli.errors import UsageError
from simcli.model.tables.joint_tables import Dofs, Joints
from simcli.model.tables.model import Model

_Array = np.ndarray
_FIELDS = ("joint_q", "joint_qd", "joint_qdd")


def with_given(source: Held, model: Model, given: Mapping[str, Sequence[str]]) -> Held:
    """States in which the command line has replaced some numbers.

    A joint that follows another one by `mimic`, and that is not named itself, goes where the numbers of its leader put it.

    Args:
        source: initial states.
        model: its labels and gears.
        given: joint_q, joint_qd and joint_qdd to the texts of `--q`, `--qd`, `--qdd`.

    Raises:
        UsageError: an unknown joint, a text that is no number, or too many or few of them.
    """
    if not any(given.values()):
        return source
    values, named = dict(source.states.values), {}
    for field in _FIELDS:
        start = model.joints.q_start if field == "joint_q" else model.joints.qd_start
        before = values.get(field, np.zeros((len(source.states), start[-1])))
        numbers = _replaced(
            np.full_like(before, np.nan), given.get(field, ()), model.joints.name, start, f"--{field.removeprefix('joint_')}"
        )
        named[field] = np.isfinite(numbers).all(axis=0)
        if field in values or named[field].any():
            values[field] = np.where(named[field], numbers, before)
    values |= _followed(values, named, model, source.states.world)
    states = States(source.states.time, source.states.world, source.states.frame, values)
    return Held("the state of the command line", states, source.n_worlds, source.notes)


def _followed(values: Mapping[str, _Array], named: Mapping[str, _Array], model: Model, world: _Array) -> dict[str, _Array]:
    """Coordinates, rates and accelerations with those of followers whose leader is given.

        q = p(x),   qd = p'(x) x',   qdd = p'(x) x'' + p''(x) x'^2

    Args:
        values: fields to numbers (N, ...).
        named: fields to which numbers are given, (NQ) or (NV).
        model: its gears.
        world: (N,), world of each state.
    """
    mimics, moved = model.mimics, set()
    shape = (len(world), model.n_qd)
    found = [values["joint_q"].copy(), *(values.get(field, np.zeros(shape)).copy() for field in _FIELDS[1:])]
    for k in _leaders_first(mimics.leader.tolist(), mimics.follower.tolist()):
        leader, follower = int(mimics.leader[k]), int(mimics.follower[k])
        at, to = [(_coordinate(model.joints, model.dofs, d), d, d) for d in (leader, follower)]
        if leader not in moved and not any(named[field][n] for field, n in zip(_FIELDS, at, strict=True)):
            continue
        moved.add(follower)
        gear = mimics.polynomial[:, k]
        gear = (gear[world] if len(gear) > 1 else np.repeat(gear, len(world), axis=0)).T
        x, rate, acceleration = (one[:, n] for one, n in zip(found, at, strict=True))
        value, slope, bend = (powers.polyval(x, powers.polyder(gear, n), tensor=False) for n in range(3))
        follows = value, slope * rate, slope * acceleration + bend * rate**2
        for field, one, n, number in zip(_FIELDS, found, to, follows, strict=True):
            one[:, n] = one[:, n] if named[field][n] else number
    return {field: one for field, one in zip(_FIELDS, found, strict=True) if field in values or one.any()}


def _leaders_first(leader: list[int], follower: list[int]) -> list[int]:
    """Numbers of gears, each after that of its leader."""
    gear_of, order = {d: k for k, d in enumerate(follower)}, []
    for k in range(len(follower)):
        way = [k]
        while (above := gear_of.get(leader[way[-1]])) is not None:
            way.append(above)
        order += [one for one in reversed(way) if one not in order]
    return order


def _coordinate(joints: Joints, dofs: Dofs, dof: int) -> int:
    """Index into joint_q of a scalar dof."""
    joint = int(dofs.joint[dof])
    return int(joints.q_start[joint]) + dof - int(joints.qd_start[joint])


def _replaced(values: _Array, texts: Sequence[str], joints: Sequence[str], start: _Array, option: str) -> _Array:
    """Rows with the numbers of `0.1,0.2` (all of them) or `pin=0.2,ball=0,0,0,1`."""
    for text in texts:
        joint, words = None, []
        for word in [*(part.strip() for part in text.split(",")), "="]:
            name, equals, number = word.rpartition("=")
            if equals:
                if words or joint is not None:
                    _assign(values, joint, words, joints, start, option)
                joint, words = name.strip(), [number.strip()]
            else:
                words.append(number)
    return values


def _assign(values: _Array, joint: str | None, words: list[str], joints: Sequence[str], start: _Array, option: str) -> None:
    first, last, whose = 0, int(start[-1]), "the mechanism"
    if joint is not None:
        if joint not in joints:
            from simcli.records.reading.named import unknown

            raise UsageError(f"{option}: {unknown('joint', joint, joints)}")
        j = joints.index(joint)
        first, last, whose = int(start[j]), int(start[j + 1]), f"joint `{joint}`"
    numbers = []
    for word in words:
        try:
            numbers.append(float(word))
        except ValueError:
            raise UsageError(f"{option}: `{word}` is not a number; write {option} 0.1,0.2 or {option} NAME=0.1") from None
    if len(numbers) != last - first:
        raise UsageError(f"{option}: {whose} has {last - first} numbers, {len(numbers)} are given")
    if not np.isfinite(numbers).all():
        raise UsageError(f"{option}: `{','.join(words)}` is not finite")
    values[:, first:last] = numbers
