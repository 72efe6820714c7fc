"""Where the joints of an imported model begin: within their limits, and within those of the joints that follow them.

A joint that follows another one, or that a motion holds, begins where these say: no start is written for it. A joint whose
limits, or those of its followers, do not hold its start begins in the middle of the range that all of them leave.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.polynomial import Polynomial

from simcli import rotations as rot
from simcli.exchange.source.mechanism import SourceJoint, SourceModel, clean_numbers
from simcli.joint_types import ONE_COORDINATE

_REAL = 1e-9  # of a root: an imaginary part that is rounding
_STILL = 1e-6  # [1] of a quaternion: rounding of frames in single precision
_SLACK = 1e-12  # of a bound, relative: rounding of what begins at it
_X = Polynomial([0.0, 1.0])
Follower = tuple[SourceJoint, Polynomial]  # and its coordinate by that of the joint that leads
ReportChange = Callable[[SourceJoint, int, str, str], None]  # joint, coordinate, "limit" or "mimic", how that was changed


@dataclass(frozen=True)
class _Bound:
    """A limit that a start has to keep.

    Attributes:
        joint: that has it.  place: its coordinate.
        words: that hold it.
        gear: value of the coordinate by that of the joint that leads.
    """

    joint: SourceJoint
    place: int
    words: dict
    gear: Polynomial

    @property
    def ends(self) -> tuple[float, float]:
        return _ends(self.words)

    def holds(self, x: float) -> bool:
        """Whether it holds a coordinate of the joint that leads."""
        return limit_holds(self.words, float(self.gear(x)))


def set_starts(mechanism: SourceModel, report_change: ReportChange) -> None:
    """Write the starts that limits, gears and motions leave, and take out those that they contradict.

    Args:
        mechanism: as it was read, without circles of gears; `initial` has the starts of the source itself.
        report_change: receives what is changed.
    """
    left = set(_left_to_others(mechanism))
    _hold_followers(mechanism, report_change)
    followers: dict[str, list[Follower]] = {}
    for joint in mechanism.joints.values():
        if "mimic" in joint.words:
            leader, gear = leader_of(mechanism, joint)
            followers.setdefault(leader.name, []).append((joint, gear))
            mechanism.initial.pop(joint.name, None)
    for joint in mechanism.joints.values():
        if "axes" in joint.words:
            _start_several(mechanism, joint, report_change)
        elif joint.type in ONE_COORDINATE and "mimic" not in joint.words and joint.name not in left:
            _start_one(mechanism, joint, followers.get(joint.name, []), report_change)
    moving = {name for name, joint in mechanism.joints.items() if joint.type != "fixed"}
    mechanism.initial = {name: start for name, start in mechanism.initial.items() if name in moving}


def circle_of_gears(mechanism: SourceModel) -> list[SourceJoint]:
    """Joints that follow each other in a circle; none if there is no circle."""
    for joint in mechanism.joints.values():
        seen = [joint]
        while "mimic" in seen[-1].words:
            following = mechanism.joints[seen[-1].words["mimic"]["joint"]]
            if following in seen:
                return seen[seen.index(following) :]
            seen.append(following)
    return []


def holds_zero(joint: SourceJoint) -> bool:
    """Whether the limits of a joint hold the coordinates 0, at which it is drawn."""
    return all(limit_holds(words, 0.0) for words in _coordinates(joint))


# One joint.


def _start_one(mechanism: SourceModel, joint: SourceJoint, followers: list[Follower], report_change: ReportChange) -> None:
    """Where a joint of one coordinate begins, with those that follow it."""
    own = [_Bound(joint, 0, joint.words, _X)]
    bounds = [one for one in (*own, *(_Bound(led, 0, led.words, gear) for led, gear in followers)) if "limit" in one.words]
    if "motion" in joint.words:
        mechanism.initial.pop(joint.name, None)
        held = number_of(joint.words["motion"]["position"])
        _loosen([one for one in bounds if not one.holds(held)], held, report_change)
        return
    start = number_of(mechanism.initial.get(joint.name, 0.0))
    kept: list[_Bound] = []
    for one in bounds:
        if _ranges([*kept, one]):
            kept.append(one)
        elif "stiffness" not in _soft(one.words):
            report_change(
                one.joint, 0, "limit", f"holds nothing that the joint can follow `{joint.name}` to: it has no limits"
            )
            del one.words["limit"]
    if all(one.holds(start) for one in kept):
        return
    low, high = min(_ranges(kept), key=lambda ends: _distance(start, ends))
    found, where = _middle(low, high)
    is_own = "limit" in joint.words and (low, high) == _ends(joint.words)
    mechanism.initial[joint.name] = _start_words(joint.words, found, is_own and where == "in the middle")
    for one in kept:
        if one.joint is joint and not one.holds(start):
            report_change(joint, 0, "limit", f"does not hold {start:g}: the joint begins {where}")
        elif not one.holds(start):
            words = f"does not hold {one.gear(start):g}: `{joint.name}`, which leads, begins at {found:g}"
            report_change(one.joint, 0, "limit", words)


def _start_several(mechanism: SourceModel, joint: SourceJoint, report_change: ReportChange) -> None:
    """Where a joint of several coordinates begins."""
    coordinates = list(_coordinates(joint))
    written = list(mechanism.initial.get(joint.name, [0.0] * len(coordinates)))
    before = list(written)
    for k, words in enumerate(coordinates):
        one, start = _Bound(joint, k, words, _X), number_of(written[k])
        if "motion" in words:
            written[k] = words["motion"]["position"]
            _loosen([one] if not one.holds(number_of(written[k])) else [], number_of(written[k]), report_change)
        elif not one.holds(start):
            found, where = _middle(*one.ends)
            written[k] = _start_words(words, found, False)
            report_change(joint, k, "limit", f"does not hold {start:g}: coordinate {k} begins {where}")
    if written != before:
        mechanism.initial[joint.name] = written


def _loosen(bounds: Iterable[_Bound], held: float, report_change: ReportChange) -> None:
    """Take out hard limits that do not hold what a motion holds."""
    for one in bounds:
        if "stiffness" not in _soft(one.words):
            value = clean_numbers([one.gear(held)])[0]
            report_change(
                one.joint, one.place, "limit", f"does not hold {value:g}, where a motion holds it: the joint has no limits"
            )
            del one.words["limit"]


# Gears.


def leader_of(mechanism: SourceModel, joint: SourceJoint) -> tuple[SourceJoint, Polynomial]:
    """The joint at the end of a chain of gears, and the coordinate of this one, a polynomial of that of it."""
    gear = _X
    while "mimic" in joint.words:
        gear, joint = gear(gear_of(joint.words["mimic"])), mechanism.joints[joint.words["mimic"]["joint"]]
    return joint, gear


def gear_of(mimic: dict) -> Polynomial:
    """Coordinate of a follower by that of its leader, from the words of a scene."""
    return Polynomial(mimic.get("polynomial") or [mimic.get("offset", 0.0), mimic.get("ratio", 1.0)])


def _hold_followers(mechanism: SourceModel, report_change: ReportChange) -> None:
    """Joints that follow one which does not move any more are held where their gear leaves them."""
    held = {joint.name: 0.0 for joint in mechanism.joints.values() if joint.type == "fixed"}
    waiting = [joint for joint in mechanism.joints.values() if "mimic" in joint.words]
    while True:
        now = [
            joint
            for joint in waiting
            if joint.words["mimic"]["joint"] in held or joint.words["mimic"]["joint"] not in mechanism.joints
        ]
        if not now:
            return
        for joint in now:
            mimic = joint.words.pop("mimic")
            held[joint.name] = clean_numbers([gear_of(mimic)(held.get(mimic["joint"], 0.0))])[0]
            joint.words["motion"] = {"position": held[joint.name]}
            report_change(
                joint, 0, "mimic", f"`{mimic['joint']}` is held: a motion holds this joint at {held[joint.name]:g}"
            )
            waiting.remove(joint)


def _left_to_others(mechanism: SourceModel) -> Iterator[str]:
    """Joints that a coupling which holds a sum leaves where the others of the sum put them."""
    for entry in mechanism.forces.values():
        if entry.words.get("type") == "coupling" and "hold" in entry.words:
            yield entry.words["of"][0]["joint"].partition(":")[0]


# Ranges and words.


def _ranges(bounds: list[_Bound]) -> list[tuple[float, float]]:
    """Ranges of the coordinate that leads in which all bounds hold."""
    cuts = {root for one in bounds for end in one.ends if math.isfinite(end) for root in _roots(one.gear - end)}
    ends = [-math.inf, *sorted(cuts), math.inf]
    found: list[tuple[float, float]] = []
    for low, high in pairwise(ends):
        inside = 0.5 * (low + high) if math.isfinite(high - low) else (low + 1.0 if math.isfinite(low) else high - 1.0)
        if not all(one.holds(inside if math.isfinite(inside) else 0.0) for one in bounds):
            continue
        if found and found[-1][1] == low:
            low = found.pop()[0]
        found.append((low, high))
    return found


def _roots(polynomial: Polynomial) -> list[float]:
    trimmed = polynomial.trim()
    if trimmed.degree() == 0:
        return []
    if trimmed.degree() == 1:
        return [float(-trimmed.coef[0] / trimmed.coef[1]) + 0.0]
    return [float(root.real) for root in np.atleast_1d(trimmed.roots()) if abs(root.imag) < _REAL * max(1.0, abs(root))]


def _distance(x: float, ends: tuple[float, float]) -> float:
    return max(ends[0] - x, x - ends[1], 0.0)


def _middle(low: float, high: float) -> tuple[float, str]:
    """A coordinate within a range, and where in it that is."""
    if math.isfinite(high - low):
        return clean_numbers([0.5 * (low + high)])[0], "in the middle"
    return (low if math.isfinite(low) else high), "at its bound"


def _coordinates(joint: SourceJoint) -> Iterator[dict]:
    """What a joint says of each of its coordinates."""
    axes = joint.words.get("axes")
    yield from [joint.words] if axes is None else (words for kind in ("linear", "angular") for words in axes.get(kind, ()))


def _soft(words: dict) -> dict:
    return words["limit"] if isinstance(words.get("limit"), dict) else {}


def _ends(words: dict) -> tuple[float, float]:
    limit = words.get("limit", {})
    low, high = (limit.get("lower"), limit.get("upper")) if isinstance(limit, dict) else limit
    return -math.inf if low is None else number_of(low), math.inf if high is None else number_of(high)


def limit_holds(words: dict, x: float) -> bool:
    """Whether the limit in the words of a coordinate holds a value [m, rad]."""
    low, high = _ends(words)
    slack = _SLACK * max(1.0, abs(x))
    return low - slack <= x <= high + slack


def number_of(value: object) -> float:
    """[m, rad], a coordinate as a scene writes it: a number, or degrees."""
    if isinstance(value, str):
        return math.radians(float(value.removesuffix("deg")))
    return float(value)


def start_of(mechanism: SourceModel, joint: SourceJoint, place: int = 0) -> float:
    """[m, rad], where a coordinate of a joint begins, by its motion, its gear or its start."""
    words = list(_coordinates(joint))[place]
    if "mimic" in joint.words:
        leader, gear = leader_of(mechanism, joint)
        return float(gear(start_of(mechanism, leader)))
    if "motion" in words:
        return number_of(words["motion"]["position"])
    start = mechanism.initial.get(joint.name, 0.0)
    start = start[place] if isinstance(start, list) else start
    return 0.5 * sum(_ends(words)) if start == "center" else number_of(start)


def _start_words(words: dict, value: float, is_centre: bool) -> object:
    """A start as a scene writes it, in the unit of the limit."""
    if is_centre:
        return "center"
    limit = words.get("limit")
    parts = limit.values() if isinstance(limit, dict) else limit or ()
    if any(isinstance(part, str) for part in parts):
        return f"{clean_numbers([math.degrees(value)])[0]:.12g} deg"
    return value


# Coordinates of bodies that a source has placed.


def nearest_coordinates(joint: SourceJoint, at: np.ndarray, turn: np.ndarray) -> tuple[list[float], float, float]:
    """Coordinates that bring the frame of a child nearest to where it is in that of its parent.

    Args:
        joint: of one axis, several axes at right angles, none, or a ball.
        at: [m], (3,), origin of the frame of the child in that of the parent.
        turn: (3, 3), of its axes.

    Returns:
        The coordinates, none of a ball that is not turned; [m] and [rad] that they leave.
    """
    if joint.type == "ball":
        x, y, z, w = rot.matrix_to_quat(turn)
        moves = math.hypot(x, y, z) > _STILL
        return ([x, y, z, w] if moves else []), float(np.linalg.norm(at)), 0.0
    if joint.type in ("revolute", "prismatic"):
        slides, turns = ([], [joint.axis or ()]) if joint.type == "revolute" else ([joint.axis or ()], [])
    else:
        axes = joint.words.get("axes", {})
        slides, turns = ([words["axis"] for words in axes.get(kind, ())] for kind in ("linear", "angular"))
    lengths = [float(np.dot(axis, at)) for axis in slides]
    left = at - sum((length * np.array(axis) for length, axis in zip(lengths, slides, strict=True)), np.zeros(3))
    angles, rest = _angles(turn, [np.array(axis) for axis in turns])
    return lengths + angles, float(np.linalg.norm(left)), rest


def _angles(turn: np.ndarray, axes: list[np.ndarray]) -> tuple[list[float], float]:
    """Angles about axes at right angles, in their order, and the angle that is left.

        R = R_a(alpha) R_b(beta) R_c(gamma),  h = (a x b).c
        sin beta = h a.R c,  alpha = atan2(-h b.R c, c.R c),  gamma = atan2(-h a.R b, a.R a)

    Source: Diebel (2006), Euler angles of any sequence of three different axes. Deviation: axes are any orthogonal ones.
    """
    if not axes:
        return [], float(np.arccos(np.clip((np.trace(turn) - 1.0) / 2.0, -1.0, 1.0)))
    if len(axes) == 1:
        x, y, z, w = rot.matrix_to_quat(turn)
        sine = float(axes[0] @ (x, y, z))
        angle = 2.0 * math.atan2(sine, w)
        angle -= 2.0 * math.pi * round(angle / (2.0 * math.pi))
        rest = 2.0 * math.asin(min(1.0, float(np.linalg.norm(np.cross(axes[0], (x, y, z))))))
        return [angle], rest
    a, b = axes[:2]
    c = axes[2] if len(axes) == 3 else np.cross(a, b)
    hand = float(np.sign(np.cross(a, b) @ c))
    beta = math.asin(min(1.0, max(-1.0, hand * float(a @ turn @ c))))
    alpha = math.atan2(-hand * float(b @ turn @ c), float(c @ turn @ c))
    gamma = math.atan2(-hand * float(a @ turn @ b), float(a @ turn @ a))
    return ([alpha, beta, gamma], 0.0) if len(axes) == 3 else ([alpha, beta], abs(gamma))
