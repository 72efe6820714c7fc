"""What parts that act have in common: names, notes and losses, and how they get into a scene."""

from typing import NamedTuple

import numpy as np

from simcli.exchange.mechanism import SourceEntry, SourceFrame, SourceJoint, clean_numbers
from simcli.exchange.mjcf.bodies import JointPlace, MjcfBodies
from simcli.exchange.mjcf.shapes import MjcfShapes
from simcli.exchange.naming import GivenNames

NOT_SCALAR = "joins joints that have not one coordinate each"


class MjcfControl(NamedTuple):
    """How the control of an actuator becomes the target of a drive, scale (gain u + bias).

    Attributes:
        path: dotted, of the drive.
        key: of its target.
        gain, bias: of the force, in MuJoCo.
        scale: of force to target.
    """

    path: str
    key: str
    gain: float
    bias: float
    scale: float

    def target(self, control: float) -> float:
        """The target that a control, or an activation, asks for."""
        return (self.gain * control + self.bias) * self.scale

    def rate(self, control: float) -> float:
        """By what the target changes in a second, where the control is the rate of the activation."""
        return self.gain * control * self.scale

    def settings(self, *controls: float) -> dict[str, object]:
        """Keys below the path, with what a control makes of them."""
        return {self.key: self.target(*controls)}


class MjcfServo(NamedTuple):
    """How the controls of an actuator become the targets of a drive, each times a scale.

    Attributes:
        path: dotted, of the drive.
        keys: of its targets, one for each control.
        scale: of a control to its target.
    """

    path: str
    keys: tuple[str, ...]
    scale: float

    def settings(self, *controls: float) -> dict[str, object]:
        """Keys below the path, with what the controls make of them."""
        return {key: one * self.scale for key, one in zip(self.keys, controls, strict=True)}


class MjcfPush(NamedTuple):
    """How the control of an actuator at a site becomes a wrench.

    Attributes:
        path: dotted, of the wrench.
        force, torque: [N], [N m], (3,), of a control of 1.
    """

    path: str
    force: np.ndarray
    torque: np.ndarray

    def settings(self, *controls: float) -> dict[str, object]:
        """Keys below the path, with what a control makes of them."""
        given = (("force", self.force), ("torque", self.torque))
        return {key: list(clean_numbers(controls[0] * one)) for key, one in given if one.any()}


class Acts:
    """Forces and loop joints as they are made.

    Args:
        bodies, shapes: made.

    Attributes:
        lost: kind of part and index to why it is dropped.
        couplings: fixed tendon to the coupling that it is.
        controls: actuator to what its control became.
        loops: kind of part and index to the joint that closes a loop.
    """

    def __init__(self, bodies: MjcfBodies, shapes: MjcfShapes):
        self.bodies, self.shapes = bodies, shapes
        self.source, self.model, self.mechanism = bodies.source, bodies.model, bodies.mechanism
        self.names = GivenNames(tuple(self.mechanism.forces))
        self.lost: dict[tuple[str, int], str] = {}
        self.couplings: dict[int, SourceEntry] = {}
        self.controls: dict[int, MjcfControl | MjcfServo | MjcfPush] = {}
        self.loops: dict[tuple[str, int], SourceJoint] = {}

    def note(self, kind: str, index: int, words: str) -> None:
        """Something that a report says of a part that changed."""
        self.bodies.note(kind, index, words)

    def note_joint(self, joint: SourceJoint, dof: int, kind: str, words: str) -> None:
        """Something that a report says of what a coordinate of a joint has, as `set_starts` tells it."""
        for j, place in self.bodies.places.items():
            if place.joint is joint and place.dof == dof:
                self.note("joint", j, f"{kind} {words}")

    def is_on(self, *flags: str) -> bool:
        """Whether `option` has none of these switched off."""
        bits = self.source.mujoco.mjtDisableBit
        return not any(self.model.opt.disableflags & int(getattr(bits, f"mjDSBL_{flag}")) for flag in flags)

    def control_range(self, actuator: int, n: int = 0) -> tuple[float, float] | None:
        """The range that control n of an actuator is clamped to; None if it has none, or if `option` switches it off."""
        at = int(self.model.actuator_ctrladr[actuator]) + n
        if not (self.model.actuator_ctrllimited[at] and self.is_on("CLAMPCTRL")):
            return None
        low, high = map(float, self.model.actuator_ctrlrange[at])
        return low, high

    def give(self, kind: str, index: int, words: dict) -> SourceEntry:
        """A new force of the scene, with the name that a part of the model has.

        Args:
            kind: of the part, as MuJoCo calls it: `tendon`, `actuator`.
            index: of the part among its kind.
            words: keys of the force and their values.
        """
        element = self.source.element(kind, index)
        before = self.source.name(kind, index)
        name = self.names.give(before, element.tag)
        if before and name != before:
            self.note(kind, index, f"`{before}` is called `{name}`")
        self.mechanism.forces[name] = SourceEntry(words, element.line, element.file)
        return self.mechanism.forces[name]

    def path_of(self, entry: SourceEntry) -> str:
        """The dotted path of a force."""
        return next(f"forces.{name}" for name, one in self.mechanism.forces.items() if one is entry)

    def loop(
        self, kind: str, index: int, type_: str, parent: str, child: str, frame: SourceFrame, far: SourceFrame, words: dict
    ) -> None:
        """A new joint that closes a loop, with the name that a part of the model has.

        Args:
            kind: of the part, as of `give`.
            index: of the part among its kind.
            type_: of the joint.
            parent: name of the first body.
            child: name of the second body.
            frame: anchor in the parent.
            far: anchor in the child.
            words: further keys of the joint and their values.
        """
        element = self.source.element(kind, index)
        before = self.source.name(kind, index)
        name = self.bodies.joints.give(before, f"{parent}_{child}")
        joint = SourceJoint(name, element.line, type_, parent, child, frame, far, None, words, element.file)
        self.mechanism.joints[name] = self.loops[kind, index] = joint
        if before and name != before:
            self.note(kind, index, f"`{before}` is called `{name}`")

    def remove_idle_couplings(self) -> None:
        """Take out the couplings that nothing acts along."""
        for t, entry in self.couplings.items():
            if set(entry.words) <= {"type", "of", "unit", "rest"}:
                self.mechanism.forces = {key: one for key, one in self.mechanism.forces.items() if one is not entry}
                if ("tendon", t) not in self.bodies.notes:
                    self.lost["tendon", t] = "nothing acts along it"


def term_of(place: JointPlace, factor: float) -> dict:
    """A coordinate of a coupling, times a factor."""
    words: dict = {"joint": place.joint.name}
    return words | ({"dof": place.dof} if place.dof else {}) | ({"factor": factor} if factor != 1.0 else {})
