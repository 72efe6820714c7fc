"""Equalities of a compiled model: joints that close loops, gears, coordinates and sums of them that are held."""

import numpy as np
from numpy.polynomial import Polynomial

from simcli.exchange.mjcf.acts import NOT_SCALAR, Acts, term_of
from simcli.exchange.mjcf.bodies import LostPartError, frame_of
from simcli.exchange.mjcf.options import JointPlace
from simcli.exchange.mjcf.source import MjcfSource
from simcli.exchange.source.beginning import start_of
from simcli.exchange.source.mechanism import SourceFrame, SourceJoint, clean_numbers
from simcli.spec.lookup.structure import WORLD_NAME

_X = Polynomial([0.0, 1.0])  # a coordinate
_CLOSED = 1e-6  # [m, 1], of anchors that the file draws in one place


class Equalities:
    """Equalities as they become joints and words of joints.

    Args:
        acts: receives them; its couplings are made.
    """

    def __init__(self, acts: Acts):
        self.acts = acts
        self.bodies, self.shapes, self.source, self.model = acts.bodies, acts.shapes, acts.source, acts.model

    def read(self) -> None:
        """Make all of them."""
        self.bodies.read_all("equality", self.model.neq, self._equality)

    def _equality(self, e: int) -> None:
        model, mujoco = self.model, self.source.mujoco
        kinds = mujoco.mjtEq
        kind, one, other = int(model.eq_type[e]), int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        acts = bool(model.eq_active0[e]) and self.acts.is_on("EQUALITY", "CONSTRAINT")
        data = model.eq_data[e]
        if kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
            self._hold(e, kind == kinds.mjEQ_WELD, one, other, acts)
        elif kind not in (kinds.mjEQ_JOINT, kinds.mjEQ_TENDON):
            raise LostPartError("of bodies that bend, or of a kind that scenes have not")
        elif not acts:
            raise LostPartError("is off, and a gear cannot be switched on")
        elif kind == kinds.mjEQ_JOINT:
            self._gear(e, one, other, Polynomial(data[:5]).trim())
        else:
            self._hold_tendon(e, one, other, Polynomial(data[:5]).trim())

    def _hold(self, e: int, is_weld: bool, one: int, other: int, acts: bool) -> None:
        """A ball or a fixed joint between two bodies or two sites."""
        model, bodies = self.model, self.bodies
        data = model.eq_data[e]
        if model.eq_objtype[e] == self.source.mujoco.mjtObj.mjOBJ_SITE:
            (a, frame), (b, far) = self.shapes.sites[one], self.shapes.sites[other]
        else:
            a, b = bodies.names[one], bodies.names[other]
            unit = np.array([1.0, 0.0, 0.0, 0.0])
            if is_weld:  # a point of the first body with the axes of the second one there, and that point in the second
                frame, far = frame_of(data[3:6], data[6:10]), frame_of(data[:3], unit)
            else:
                frame, far = frame_of(data[:3], unit), frame_of(data[3:6], unit)
            frame, far = frame.after(bodies.frames[one]), far.after(bodies.frames[other])
        if not is_weld:
            frame, far = frame._replace(words={}), far._replace(words={})
        if a == b:
            raise LostPartError("holds a body to itself")
        if b == WORLD_NAME or self.acts.mechanism.links[b].words.get("kinematic"):
            a, b, frame, far = b, a, far, frame
        words = {"loop": True} | ({} if acts else {"enabled": False})
        self.acts.loop("equality", e, "fixed" if is_weld else "ball", a, b, frame, far, words)

    def _gear(self, e: int, one: int, other: int, bend: Polynomial) -> None:
        """q1 - q1_0 = bend(q2 - q2_0), of joints; without a second one q1 is held."""
        terms = {one: _X}
        if other >= 0:
            terms[other] = -bend(_X - self._reference(other))
        self._hold_sum(e, terms, self._reference(one) + (bend(0.0) if other < 0 else 0.0))

    def _hold_tendon(self, e: int, one: int, other: int, bend: Polynomial) -> None:
        """L1 - L1_0 = bend(L2 - L2_0), of tendons that are sums of coordinates; without a second one L1 is held."""
        if one not in self.acts.couplings or (other >= 0 and other not in self.acts.couplings):
            raise LostPartError("of a tendon that is no sum of coordinates")
        length = self.model.tendon_length0
        terms, value = self._terms(one), float(length[one]) + bend(0.0)
        if other >= 0:
            led, bend = self._terms(other), bend(_X - float(length[other]))
            if len(led) > 1 and bend.degree() > 1:
                raise LostPartError("a polynomial of a tendon of several joints")
            value = float(length[one]) + bend(0.0)
            for j, own in led.items():
                terms[j] = terms.get(j, _X * 0.0) - (bend(own) - bend(0.0))
            self.acts.note("tendon", other, "is held to another one by an equality")
        self.acts.note("tendon", one, "is held by an equality")
        self._hold_sum(e, terms, value)

    def _terms(self, tendon: int) -> dict[int, Polynomial]:
        """What a fixed tendon is the sum of, by joint."""
        first, count = int(self.model.tendon_adr[tendon]), int(self.model.tendon_num[tendon])
        terms: dict[int, Polynomial] = {}
        for n in range(first, first + count):
            j = int(self.model.wrap_objid[n])
            terms[j] = terms.get(j, _X * 0.0) + _X * float(self.model.wrap_prm[n])
        return terms

    def _hold_sum(self, e: int, terms: dict[int, Polynomial], value: float) -> None:
        """A sum of polynomials of coordinates is a value: a motion at a position, a gear, or a coupling that holds it."""
        places = {j: self.bodies.places[j] for j in terms}
        if not all(place.is_scalar for place in places.values()):
            raise LostPartError(NOT_SCALAR)
        (first, own), *others = terms.items()
        is_straight = own.trim().degree() == 1 and own.coef[0] == 0.0
        if is_straight and not others and "motion" in places[first].words:
            raise LostPartError("the joint is held already")
        if is_straight and not others and "mimic" not in places[first].words:
            self._hold_still(e, places[first], value / own.coef[1])
        elif is_straight and len(others) == 1 and self._can_follow(places[first], places[others[0][0]]):
            led = (value - others[0][1]) / own.coef[1]
            self._mimic(e, places[first], places[others[0][0]], led)
        else:
            self._couple(e, [(places[j], one) for j, one in terms.items()], value)

    def _hold_still(self, e: int, place: JointPlace, value: float) -> None:
        place.words["motion"] = {"position": self.bodies.angle(clean_numbers([value])[0], place.type)}
        self.acts.note("equality", e, f"is a motion of `{place.joint.name}`, held at a position")

    def _mimic(self, e: int, first: JointPlace, second: JointPlace, led: Polynomial) -> None:
        offset, *powers = clean_numbers(led.trim().coef)
        self.acts.mechanism.initial.pop(first.joint.name, None)  # the gear says where it begins
        if len(powers) > 1:
            words = {"polynomial": [offset, *powers]}
        else:
            words = {"ratio": powers[0] if powers else 0.0} | ({"offset": offset} if offset else {})
        first.joint.words["mimic"] = {"joint": second.joint.name} | words
        self.acts.note("equality", e, f"is the gear of `{first.joint.name}` to `{second.joint.name}`")

    def _couple(self, e: int, terms: list[tuple[JointPlace, Polynomial]], value: float) -> None:
        """A coupling that holds a sum."""
        of = []
        for place, own in terms:
            coefficients = list(clean_numbers(own.trim().coef))
            is_factor = len(coefficients) <= 2 and coefficients[0] == 0.0
            factor = coefficients[-1] if is_factor else 1.0
            of.append(term_of(place, factor) | ({} if is_factor else {"polynomial": coefficients}))
        self.acts.mechanism.initial.pop(terms[0][0].joint.name, None)  # it begins where the others leave it
        unit = {"unit": "m"} if len({place.type for place, _ in terms}) > 1 else {}
        self.acts.give("equality", e, {"type": "coupling", "of": of} | unit | {"hold": clean_numbers([value])[0]})

    def _can_follow(self, first: JointPlace, second: JointPlace) -> bool:
        """Whether one joint can be the gear of another: both have one coordinate, and it follows nothing yet."""
        if "d6" in (first.joint.type, second.joint.type) or {"mimic", "motion"} & first.joint.words.keys():
            return False
        ahead = second.joint  # gears in a circle have nothing that leads
        while "mimic" in ahead.words and ahead is not first.joint:
            ahead = self.acts.mechanism.joints[ahead.words["mimic"]["joint"]]
        return ahead is not first.joint

    def _reference(self, joint: int) -> float:
        return float(self.model.qpos0[self.model.jnt_qposadr[joint]])


def followers(source: MjcfSource) -> set[int]:
    """Joints that equalities join, which need a joint of their own in a scene."""
    model, kinds, found = source.model, source.mujoco.mjtEq, set()
    for e in range(model.neq):
        ends = [int(model.eq_obj1id[e]), int(model.eq_obj2id[e])]
        if model.eq_type[e] == kinds.mjEQ_JOINT:
            found |= {j for j in ends if j >= 0}
        elif model.eq_type[e] == kinds.mjEQ_TENDON:
            for t in (t for t in ends if t >= 0):
                first, count = int(model.tendon_adr[t]), int(model.tendon_num[t])
                is_joint = model.wrap_type[first : first + count] == int(source.mujoco.mjtWrap.mjWRAP_JOINT)
                found |= {int(j) for j in model.wrap_objid[first : first + count][is_joint]}
    return found


# Loops that the file draws closed, where a limit lets a joint begin only elsewhere. MuJoCo's constraints are soft, so that
# a weld may hold a hand where the limits of its arm do not let it be. A loop of a scene is rigid: what is held begins where
# its joints begin, and the end of the loop in the world, or the body that programs move, begins with it.


def follow_starts(acts: Acts) -> None:
    """Move the still ends of loops that starts open.

    Args:
        acts: whose loops are made; the starts of joints are set.
    """
    begun = _starts(acts)
    if np.array_equal(begun, acts.model.qpos0):
        return
    drawn, begun = (_poses(acts, q) for q in (acts.model.qpos0, begun))
    moved = set()
    for (kind, index), joint in acts.loops.items():
        is_still = joint.parent == WORLD_NAME or bool(acts.mechanism.links[joint.parent].words.get("kinematic"))
        if not is_still or not joint.words.get("enabled", True) or joint.child not in begun:
            continue
        outer = drawn.get(joint.parent, SourceFrame())
        near = joint.parent_frame.after(outer)
        was, now = (joint.child_frame.after(poses[joint.child]) for poses in (drawn, begun))
        if _gap(joint, near, was) > _CLOSED or _gap(joint, near, now) <= _CLOSED:
            continue
        if joint.parent == WORLD_NAME:
            joint.parent_frame = now if joint.type == "fixed" else now._replace(words={})
            acts.note(kind, index, "holds its body where the joints begin, which limits keep from where the file draws it")
        elif joint.parent not in moved:
            moved.add(joint.parent)
            _move(acts, joint, outer, near, now)


def _move(acts: Acts, joint: SourceJoint, outer: SourceFrame, near: SourceFrame, now: SourceFrame) -> None:
    """Put the body that programs move where a loop closes."""
    link = acts.mechanism.links[joint.parent]
    if joint.type == "fixed":
        link.frame = joint.parent_frame.inverse().after(now)
    else:
        link.frame = outer._replace(xyz=tuple((np.asarray(outer.xyz) + now.xyz - near.xyz).tolist()))
    b = next(b for b, name in acts.bodies.names.items() if name == joint.parent)
    acts.note("body", b, f"begins where `{joint.child}` does, which limits keep from where the file draws it")


def _gap(joint: SourceJoint, one: SourceFrame, other: SourceFrame) -> float:
    """[m, 1], how far apart two anchors are that a joint lets meet."""
    away = np.abs(np.subtract(one.xyz, other.xyz)).max()
    return float(max(away, np.abs(one.matrix - other.matrix).max()) if joint.type == "fixed" else away)


def _starts(acts: Acts) -> np.ndarray:
    """[m, rad], (nq,) where the joints begin; those that have several coordinates begin as the file has them."""
    q = acts.model.qpos0.copy()
    for j, place in acts.bodies.places.items():
        if place.is_scalar:
            start = start_of(acts.mechanism, place.joint, place.dof if "axes" in place.joint.words else 0)
            at = int(acts.model.jnt_qposadr[j])
            q[at] = start if abs(start - q[at]) > _CLOSED else q[at]
    return q


def _poses(acts: Acts, q: np.ndarray) -> dict[str, SourceFrame]:
    """Poses of the links in the world at coordinates, by MuJoCo."""
    mujoco, model = acts.source.mujoco, acts.model
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    return {
        name: acts.bodies.frames[b].inverse().after(frame_of(data.xpos[b], data.xquat[b]))
        for b, name in reversed(acts.bodies.names.items())
    }
