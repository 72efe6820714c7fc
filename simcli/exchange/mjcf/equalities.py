"""Equalities of a compiled model: joints that close loops, gears, coordinates that are held."""

import numpy as np

from simcli.exchange.mechanism import clean_numbers
from simcli.exchange.mjcf.acts import NOT_SCALAR, Acts
from simcli.exchange.mjcf.bodies import JointPlace, frame_of
from simcli.exchange.mjcf.source import MjcfSource
from simcli.spec.names.structure import WORLD_NAME


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
        elif data[2:5].any():
            self.acts.lost["equality", e] = "a polynomial of degree two or more"
        elif kind == kinds.mjEQ_JOINT:
            self._gear(e, one, other, float(data[0]), float(data[1]))
        else:
            self._hold_tendon(e, one, other, float(data[0]))

    def _hold(self, e: int, is_weld: bool, one: int, other: int, acts: bool) -> None:
        """A ball or a fixed joint between two bodies or two sites."""
        model, bodies = self.model, self.bodies
        data = model.eq_data[e]
        if model.eq_objtype[e] == self.source.mujoco.mjtObj.mjOBJ_SITE:
            (a, frame), (b, far) = self.shapes.sites[one], self.shapes.sites[other]
        else:
            a, b = bodies.names[one], bodies.names[other]
            unit = np.array([1.0, 0.0, 0.0, 0.0])
            if is_weld:  # the pose of the second body in the first
                frame, far = frame_of(data[3:6], data[6:10]), frame_of(np.zeros(3), unit)
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

    def _gear(self, e: int, one: int, other: int, offset: float, ratio: float) -> None:
        """q1 - q1_0 = offset + ratio (q2 - q2_0), of joints; without a second one q1 is held."""
        first = self.bodies.places[one]
        offset += self._reference(first)
        if other < 0:
            self._hold_still(e, first, offset)
            return
        second = self.bodies.places[other]
        if not (first.is_scalar and second.is_scalar):
            self.acts.lost["equality", e] = NOT_SCALAR
            return
        self._mimic(e, first, second, ratio, offset - ratio * self._reference(second))

    def _hold_tendon(self, e: int, one: int, other: int, offset: float) -> None:
        """The length of a tendon is held, which of two coordinates makes a gear."""
        entry = self.acts.couplings.get(one)
        if entry is None or other >= 0 or len(entry.words["of"]) > 2:
            self.acts.lost["equality", e] = "of a tendon that is no sum of one or two coordinates, or of two tendons"
            return
        model = self.model
        first = int(model.tendon_adr[one])
        places = [self.bodies.places[int(j)] for j in model.wrap_objid[first : first + len(entry.words["of"])]]
        factors = [float(term.get("factor", 1.0)) for term in entry.words["of"]]
        value = float(model.tendon_length0[one]) + offset
        if len(places) == 1:
            self._hold_still(e, places[0], value / factors[0])
        else:
            self._mimic(e, places[0], places[1], -factors[1] / factors[0], value / factors[0])
        self.acts.note("tendon", one, "is held by an equality")

    def _hold_still(self, e: int, place: JointPlace, value: float) -> None:
        if "motion" in place.words or not place.is_scalar:
            self.acts.lost["equality", e] = NOT_SCALAR
            return
        place.words["motion"] = {"position": self.bodies.angle(clean_numbers([value])[0], place.type)}
        self.acts.note("equality", e, f"is a motion of `{place.joint.name}`, held at a position")

    def _mimic(self, e: int, first: JointPlace, second: JointPlace, ratio: float, offset: float) -> None:
        if "mimic" in first.joint.words or first.joint.type == "d6" or second.joint.type == "d6":
            self.acts.lost["equality", e] = "the joint follows another one already"
            return
        ratio, offset = clean_numbers([ratio, offset])
        self.acts.mechanism.initial.pop(first.joint.name, None)  # the gear says where it begins
        first.joint.words["mimic"] = {"joint": second.joint.name, "ratio": ratio} | ({"offset": offset} if offset else {})
        self.acts.note("equality", e, f"is the gear of `{first.joint.name}` to `{second.joint.name}`")

    def _reference(self, place: JointPlace) -> float:
        return float(self.model.qpos0[self.model.jnt_qposadr[place.index]])


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
