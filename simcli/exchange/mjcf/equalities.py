"""Equalities of a compiled model: joints that close loops, gears, coordinates and sums of them that are held."""

import numpy as np
from numpy.polynomial import Polynomial

from simcli.exchange.mechanism import clean_numbers
from simcli.exchange.mjcf.acts import NOT_SCALAR, Acts, term_of
from simcli.exchange.mjcf.bodies import JointPlace, frame_of
from simcli.exchange.mjcf.source import MjcfSource
from simcli.spec.names.structure import WORLD_NAME

_X = Polynomial([0.0, 1.0])  # a coordinate


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
        for e in range(self.model.neq):
            self._equality(e)

    def _equality(self, e: int) -> None:
        model, mujoco = self.model, self.source.mujoco
        kinds = mujoco.mjtEq
        kind, one, other = int(model.eq_type[e]), int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        acts = bool(model.eq_active0[e]) and self.acts.is_on("EQUALITY", "CONSTRAINT")
        data = model.eq_data[e]
        if kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
            self._hold(e, kind == kinds.mjEQ_WELD, one, other, acts)
        elif kind not in (kinds.mjEQ_JOINT, kinds.mjEQ_TENDON):
            self.acts.lost["equality", e] = "of bodies that bend, or of a kind that scenes have not"
        elif not acts:
            self.acts.lost["equality", e] = "is off, and a gear cannot be switched on"
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
            self.acts.lost["equality", e] = "holds a body to itself"
            return
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
            self.acts.lost["equality", e] = "of a tendon that is no sum of coordinates"
            return
        length = self.model.tendon_length0
        terms, value = self._terms(one), float(length[one]) + bend(0.0)
        if other >= 0:
            led, bend = self._terms(other), bend(_X - float(length[other]))
            if len(led) > 1 and bend.degree() > 1:
                self.acts.lost["equality", e] = "a polynomial of a tendon of several joints"
                return
            value = float(length[one]) + bend(0.0)
            for j, own in led.items():
                terms[j] = terms.get(j, _X * 0.0) - (bend(own) - bend(0.0))
            self.acts.note("tendon", other, "is held to another one by an equality")
        self._hold_sum(e, terms, value)
        self.acts.note("tendon", one, "is held by an equality")

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
            self.acts.lost["equality", e] = NOT_SCALAR
            return
        (first, own), *others = terms.items()
        is_straight = own.trim().degree() == 1 and own.coef[0] == 0.0
        if is_straight and not others and "motion" in places[first].words:
            self.acts.lost["equality", e] = "the joint is held already"
        elif is_straight and not others and "mimic" not in places[first].words:
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
