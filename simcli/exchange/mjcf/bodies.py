"""Bodies and joints of a compiled model as links and joints.

The joints of one body act one after the other, each about its own anchor, in the frame that the ones before have moved. A d6
does the same if its slides come first and are orthogonal, and its turns are orthogonal and about one point. Otherwise links
without mass stand between, one after each joint but the last.
"""

import math
from collections.abc import Callable

import numpy as np

from simcli.exchange.mjcf.options import BALL, FREE, HINGE, SLIDE, JointPlace, rotors_of
from simcli.exchange.mjcf.source import MjcfSource, compiler_word
from simcli.exchange.source.mechanism import (
    NO_OFFSET,
    GivenNames,
    SourceEntry,
    SourceFrame,
    SourceJoint,
    SourceLink,
    SourceModel,
    clean_numbers,
    words_of_renaming,
)
from simcli.spec.lookup.structure import WORLD_NAME

_TYPES = {BALL: "ball", SLIDE: "prismatic", HINGE: "revolute"}
_ORTHOGONAL = 1e-9  # cosine of two axes, or distance [m] of two anchors, below which a d6 takes them
_INERTIA_DIGITS = 14  # significant ones of the largest moment: MuJoCo turns inertias to their principal axes and back
_SHORTEST = 3  # letters that names of joints must share for their d6 to be called by these


class LostPartError(ValueError):
    """Why scenes cannot say what a part is, in words."""


class MjcfBodies:
    """Links and joints as they are made.

    Args:
        source: the compiled model.
        mechanism: receives them.
        alone: joints that may not be an axis of a d6, because others follow them.

    Attributes:
        names: index of a body to the link that it is, or is part of; the world is 0.
        frames: index of a body to its frame in that link.
        places: index of a joint to where it is.
        notes: kind of part and index to what a report says of it.
        lost: kind of part and index to why it is dropped.
    """

    def __init__(self, source: MjcfSource, mechanism: SourceModel, alone: set[int]):
        self.source, self.model, self.mechanism, self.alone = source, source.model, mechanism, alone
        self.links, self.joints = GivenNames(), GivenNames(())
        self.names: dict[int, str] = {0: WORLD_NAME}
        self.frames: dict[int, SourceFrame] = {0: NO_OFFSET}
        self.places: dict[int, JointPlace] = {}
        self.notes: dict[tuple[str, int], list[str]] = {}
        self.lost: dict[tuple[str, int], str] = {}
        self.in_degrees = compiler_word(source.root, "angle", "degree") == "degree"
        flags = self.model.opt.disableflags
        bits = source.mujoco.mjtDisableBit
        self.limits_act = not flags & (bits.mjDSBL_LIMIT | bits.mjDSBL_CONSTRAINT)
        self.friction_acts = not flags & (bits.mjDSBL_FRICTIONLOSS | bits.mjDSBL_CONSTRAINT)
        self.springs_act = not flags & bits.mjDSBL_SPRING
        self.dampers_act = not flags & bits.mjDSBL_DAMPER

    def read(self) -> None:
        """Make all links and joints."""
        world = self.source.root
        self.mechanism.links[WORLD_NAME] = SourceLink(
            WORLD_NAME, next((one.line for one in world.below() if one.tag == "worldbody"), 0)
        )
        for b in range(1, self.model.nbody):
            self._body(b)

    def read_all(self, kind: str, count: int, read: Callable[[int], object]) -> None:
        """Read the parts of a kind; those that scenes cannot say are lost."""
        for index in range(count):
            try:
                read(index)
            except LostPartError as why:
                self.lost[kind, index] = str(why)

    def note(self, kind: str, index: int, words: str) -> None:
        """Something that a report says of a part that changed."""
        self.notes.setdefault((kind, index), []).append(words)

    def give(self, names: GivenNames, kind: str, index: int, fallback: str) -> str:
        """A name of the scene for a part of the model; a report says where it is not that of the part."""
        before = self.source.name(kind, index)
        name = names.give(before, fallback)
        if words := words_of_renaming(before, name):
            self.note(kind, index, words)
        return name

    def angle(self, value: float, type_: int) -> object:
        """A coordinate as the source writes it, in degrees where it does, if that is the same number."""
        if not self.in_degrees or type_ != HINGE or value == 0.0:
            return float(value)
        degrees = round(math.degrees(value), 9)
        return f"{degrees:.12g} deg" if abs(math.radians(degrees) - value) <= 1e-15 * abs(value) else float(value)

    # Links.

    def _body(self, b: int) -> None:
        model, element = self.model, self.source.element("body", b)
        name = self.give(self.links, "body", b, "body")
        parent, held = self.names[int(model.body_parentid[b])], int(model.body_parentid[b])
        frame = frame_of(model.body_pos[b], model.body_quat[b]).after(self.frames[held])
        first, count = int(model.body_jntadr[b]), int(model.body_jntnum[b])
        if not model.body_mass[b] and not count and model.body_mocapid[b] < 0:
            self._join(b, name, parent, frame)
            return
        self.names[b], self.frames[b] = name, NO_OFFSET
        mass, com = clean_numbers([model.body_mass[b]])[0], clean_numbers(model.body_ipos[b])
        link = SourceLink(name, element.line, mass, com, self._inertia(b), file=element.file)
        self.mechanism.links[name] = link
        if model.body_gravcomp[b]:
            link.words["gravity_compensation"] = float(model.body_gravcomp[b])
        if model.body_mocapid[b] >= 0:
            link.frame, link.mass, link.words["kinematic"] = frame, None, True
            self.note("body", b, "is moved by programs: kinematic, and at rest until a motion is written")
        elif count == 0:
            held = self.joints.give(f"{name}_fixed")
            self.mechanism.joints[held] = SourceJoint(held, 0, "fixed", parent, name, frame)
        else:
            self._joints(link, parent, frame, list(range(first, first + count)))

    def _join(self, b: int, name: str, parent: str, frame: SourceFrame) -> None:
        """Make a body without mass and without joints a point of the link that holds it."""
        self.names[b], self.frames[b] = parent, frame
        if parent == WORLD_NAME:
            self.note("body", b, "has no mass: it is part of the world")
        else:
            self.mechanism.links[parent].points[name] = frame.xyz
            self.note("body", b, f"has no mass: it is a point of `{parent}`")

    def _inertia(self, b: int) -> np.ndarray:
        """[kg m^2] (3, 3) about the centre of mass, in the axes of the body."""
        moments = self.model.body_inertia[b]
        turn = frame_of(np.zeros(3), self.model.body_iquat[b]).matrix
        found = turn @ np.diag(moments) @ turn.T
        scale = moments.max(initial=0.0)
        places = _INERTIA_DIGITS - math.ceil(math.log10(scale)) if scale > 0.0 else 0
        return np.round(0.5 * (found + found.T), places)

    # Joints.

    def _joints(self, link: SourceLink, parent: str, frame: SourceFrame, indices: list[int]) -> None:
        types = [int(self.model.jnt_type[j]) for j in indices]
        if types == [FREE]:
            self._free(link, frame, indices[0])
        elif len(indices) > 1 and self._is_d6(indices, types):
            self._d6(link, parent, frame, indices)
        else:
            self._chain(link, parent, frame, indices)

    def _free(self, link: SourceLink, frame: SourceFrame, j: int) -> None:
        """A free joint from the world's frame, so that its coordinates are those of the source."""
        element = self.source.element("joint", j)
        name = self.joints.give(self.source.name("joint", j), f"{link.name}_joint")
        joint = SourceJoint(name, element.line, "free", WORLD_NAME, link.name, file=element.file)
        x, y, z, w = frame.quaternion
        self.mechanism.initial[name] = [*frame.xyz, *clean_numbers((x, y, z, w))]
        joint.words = self._losses(j)
        if self._stiffness(j):
            self.note("joint", j, "without its spring, which free joints have not")
        self._add(joint, j, 0, joint.words)

    def _chain(self, link: SourceLink, parent: str, frame: SourceFrame, indices: list[int]) -> None:
        """Joints one after the other, with links without mass between."""
        at = parent
        for k, j in enumerate(indices):
            is_last = k == len(indices) - 1
            element, type_ = self.source.element("joint", j), int(self.model.jnt_type[j])
            name = self.joints.give(self.source.name("joint", j), f"{link.name}_joint")
            child = link.name if is_last else self.links.give(f"{link.name}_{name}")
            if not is_last:
                own = self.mechanism.links
                own.pop(link.name)
                own[child] = SourceLink(child, 0, 0.0, inertia=None)
                own[link.name] = link
            anchor = SourceFrame(clean_numbers(self.model.jnt_pos[j]))
            outer = anchor.after(frame) if k == 0 else anchor
            axis = clean_numbers(self.model.jnt_axis[j]) if type_ != BALL else None
            joint = SourceJoint(name, element.line, _TYPES[type_], at, child, outer, anchor, axis, file=element.file)
            joint.words = self._losses(j)
            if type_ == BALL:
                self._ball(joint, j)
            else:
                self._scalar(joint, j)
            self._add(joint, j, 0, joint.words)
            if not is_last:
                self.note("joint", j, f"moves `{child}`, a body without mass that carries the next joint of `{link.name}`")
            at = child

    def _scalar(self, joint: SourceJoint, j: int) -> None:
        """Reference, start, bounds and spring of a joint of one coordinate."""
        model, type_ = self.model, int(self.model.jnt_type[j])
        ref = float(model.qpos0[model.jnt_qposadr[j]])
        if ref:
            joint.words["init_angle"] = self.angle(ref, type_)
        bounds, start = self._bounds(j)
        if bounds:
            joint.words["limit"] = bounds
        if start or ref:
            self.mechanism.initial[joint.name] = self.angle(start, type_)
        stiffness = self._stiffness(j)
        if stiffness:
            rest = float(model.qpos_spring[model.jnt_qposadr[j]])
            words = {"type": "torsion", "joint": joint.name, "stiffness": stiffness}
            words |= {"rest_angle": self.angle(rest, type_)} if rest else {}
            self.mechanism.forces[f"{joint.name}_spring"] = SourceEntry(words, joint.line, joint.file)

    def _ball(self, joint: SourceJoint, j: int) -> None:
        if self.model.jnt_limited[j] and self.limits_act:
            self.note("joint", j, "without its limit: MuJoCo bounds the angle of a ball, scenes bound three components")
        stiffness = self._stiffness(j)
        if stiffness:
            joint.words["drive"] = {"mode": "position", "stiffness": stiffness}

    def _bounds(self, j: int) -> tuple[list, float]:
        """Limits as a scene writes them, and the coordinate that a joint begins at."""
        model, type_ = self.model, int(self.model.jnt_type[j])
        start = float(model.qpos0[model.jnt_qposadr[j]])
        if not (model.jnt_limited[j] and self.limits_act):
            return [], start
        low, high = map(float, model.jnt_range[j])
        if not low < high:
            self.note("joint", j, f"without its limit, which leaves no room: [{low:g}, {high:g}]")
            return [], start
        return [self.angle(low, type_), self.angle(high, type_)], start

    def _losses(self, j: int) -> dict:
        """Damping, friction and armature of a joint, as a scene writes them."""
        model, a, rotors = self.model, int(self.model.jnt_dofadr[j]), rotors_of(self.source, "joint", j)
        words = {
            "damping": (float(np.ravel(model.dof_damping[a])[0]) + rotors.damping) * self.dampers_act,
            "friction": float(model.dof_frictionloss[a]) * self.friction_acts,
            "armature": float(model.dof_armature[a]) + rotors.armature,
        }
        if model.jnt_type[j] == FREE and words["friction"]:
            self.note("joint", j, "without dry friction, which free joints have not")
            words["friction"] = 0.0
        is_off = bool(model.body_ipos[model.jnt_bodyid[j]].any())
        if model.jnt_type[j] == FREE and is_off and (words["damping"] or words["armature"]):
            self.note("joint", j, "its damping and armature act on the centre of mass, not on the origin of the body")
        return {key: value for key, value in words.items() if value}

    def _stiffness(self, j: int) -> float:
        return float(np.ravel(self.model.jnt_stiffness[j])[0]) * self.springs_act

    def _is_d6(self, indices: list[int], types: list[int]) -> bool:
        """Whether one d6 does what these joints do one after the other."""
        model = self.model
        slides = [j for j, type_ in zip(indices, types, strict=True) if type_ == SLIDE]
        turns = [j for j, type_ in zip(indices, types, strict=True) if type_ == HINGE]
        if slides + turns != indices or max(len(slides), len(turns)) > 3 or self.alone & set(indices):
            return False
        at = [model.jnt_pos[j] for j in turns]
        refers = any(model.qpos0[model.jnt_qposadr[j]] for j in indices)
        if refers or any(np.abs(one - at[0]).max() > _ORTHOGONAL for one in at):
            return False
        return all(
            abs(model.jnt_axis[one] @ model.jnt_axis[other]) < _ORTHOGONAL
            for group in (slides, turns)
            for k, one in enumerate(group)
            for other in group[:k]
        )

    def _d6(self, link: SourceLink, parent: str, frame: SourceFrame, indices: list[int]) -> None:
        model = self.model
        before = [self.source.name("joint", j) for j in indices]
        name = self.joints.give(_common(before), f"{link.name}_joint")
        anchor = SourceFrame(clean_numbers(model.jnt_pos[indices[-1]]))
        if model.jnt_type[indices[-1]] == SLIDE:
            anchor = SourceFrame()
        first = self.source.element("joint", indices[0])
        joint = SourceJoint(name, first.line, "d6", parent, link.name, anchor.after(frame), anchor, file=first.file)
        axes: dict[str, list] = {}
        springs, starts = [], []
        for k, j in enumerate(indices):
            words = {"axis": list(clean_numbers(model.jnt_axis[j]))}
            bounds, start = self._bounds(j)
            words |= ({"limit": bounds} if bounds else {}) | self._losses(j)
            axes.setdefault("linear" if model.jnt_type[j] == SLIDE else "angular", []).append(words)
            springs.append((self._stiffness(j), float(model.qpos_spring[model.jnt_qposadr[j]])))
            starts.append(self.angle(start, int(model.jnt_type[j])))
            self._add(joint, j, k, words)
            self.note("joint", j, f"is coordinate {k} of the joint `{name}`, a d6")
        joint.words["axes"] = axes
        if any(starts):
            self.mechanism.initial[name] = starts
        if any(stiffness for stiffness, _ in springs):
            words = {"type": "torsion", "joint": name, "stiffness": [stiffness for stiffness, _ in springs]}
            words |= {"rest_angle": [rest for _, rest in springs]} if any(rest for _, rest in springs) else {}
            self.mechanism.forces[f"{name}_spring"] = SourceEntry(words, joint.line, joint.file)

    def _add(self, joint: SourceJoint, j: int, dof: int, words: dict) -> None:
        self.mechanism.joints[joint.name] = joint
        self.places[j] = JointPlace(joint, dof, words, j, int(self.model.jnt_type[j]))
        words = words_of_renaming(self.source.name("joint", j), joint.name)
        if words and joint.type != "d6":
            self.note("joint", j, words)


def frame_of(position: np.ndarray, quaternion: np.ndarray) -> SourceFrame:
    """A frame of MuJoCo: position [m], quaternion w x y z, in the source's numbers where these have length one."""
    w, x, y, z = (float(part) for part in quaternion)
    words = [w, x, y, z]
    if not (x or y or z):
        return SourceFrame(clean_numbers(position))
    w, x, y, z = clean_numbers(words)
    return SourceFrame(clean_numbers(position), {"quat_wxyz": [w, x, y, z]} if any((x, y, z)) else {})


def _common(names: list[str]) -> str:
    """What the names of joints begin with in common; "" if that is too short to be a name."""
    first = min(names, key=len)
    same = next((first[:k] for k in range(len(first), 0, -1) if all(name.startswith(first[:k]) for name in names)), "")
    same = same.rstrip("_-. ")
    return same if len(same) >= _SHORTEST else ""
