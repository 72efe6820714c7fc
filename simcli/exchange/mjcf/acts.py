"""What parts that act have in common: names, notes and losses, and how they get into a scene; tendons.

A tendon is a sum of coordinates, which becomes a coupling, or a cable over sites, which becomes springs and distances.
"""

from typing import Any, NamedTuple

import numpy as np

from simcli.exchange.mjcf.bodies import LostPartError, MjcfBodies
from simcli.exchange.mjcf.options import JointPlace, gears_of, rotors_of
from simcli.exchange.mjcf.shapes import MjcfShapes
from simcli.exchange.mjcf.source import MjcfSource
from simcli.exchange.source.mechanism import GivenNames, SourceEntry, SourceFrame, SourceJoint, clean_numbers
from simcli.spec.lookup.structure import WORLD_NAME

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
        couplings: fixed tendon to the coupling that it is.
        controls: actuator to what its control became.  beside: further wrenches of it.
        ways: spatial tendon to the keys of a spring that say where it runs.
        loops: kind of part and index to the joint that closes a loop.
    """

    def __init__(self, bodies: MjcfBodies, shapes: MjcfShapes):
        self.bodies, self.shapes = bodies, shapes
        self.source, self.model, self.mechanism = bodies.source, bodies.model, bodies.mechanism
        self.names = GivenNames(tuple(self.mechanism.forces))
        self.couplings: dict[int, SourceEntry] = {}
        self.controls: dict[int, MjcfControl | MjcfServo | MjcfPush] = {}
        self.beside: dict[int, list[MjcfPush]] = {}
        self.ways: dict[int, dict] = {}
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
        name = self.bodies.give(self.names, kind, index, element.tag)
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
        name = self.bodies.give(self.bodies.joints, kind, index, f"{parent}_{child}")
        joint = SourceJoint(name, element.line, type_, parent, child, frame, far, None, words, element.file)
        self.mechanism.joints[name] = self.loops[kind, index] = joint

    def remove_idle_couplings(self) -> None:
        """Take out the couplings that nothing acts along."""
        for t, entry in self.couplings.items():
            if set(entry.words) <= {"type", "of", "unit", "rest"}:
                self.mechanism.forces = {key: one for key, one in self.mechanism.forces.items() if one is not entry}
                if ("tendon", t) not in self.bodies.notes:
                    self.bodies.lost["tendon", t] = "nothing acts along it"


def linear_law(source: MjcfSource, a: int) -> tuple[float, float, float, float, float, str]:
    """Gain, b0, b1, b2 and gear of an actuator whose force is linear, and the name of its dynamics."""
    model: Any = source.model
    mujoco: Any = source.mujoco
    gain, bias = model.actuator_gainprm[a], model.actuator_biasprm[a]
    gear = float(gears_of(source, a)[0])
    dynamics = mujoco.mjtDyn(int(model.actuator_dyntype[a]))
    laws = int(model.actuator_gaintype[a]), int(model.actuator_biastype[a])
    affine = laws[1] == mujoco.mjtBias.mjBIAS_AFFINE
    b0, b1, b2 = (float(part) for part in bias[:3]) if affine else (0.0, 0.0, 0.0)
    if dynamics == mujoco.mjtDyn.mjDYN_MUSCLE:
        raise LostPartError("has the activation of a muscle, and another force")
    if laws[0] not in (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_AFFINE) or laws[1] not in (
        mujoco.mjtBias.mjBIAS_NONE,
        mujoco.mjtBias.mjBIAS_AFFINE,
    ):
        raise LostPartError("its force is computed by a program, or by a law that no drive has")
    if laws[0] == mujoco.mjtGain.mjGAIN_AFFINE and gain[1:3].any():
        raise LostPartError("its gain depends on the length or the speed that it acts along")
    if b1 > 0.0 or b2 > 0.0:
        raise LostPartError("pushes away from its target, or along its speed")
    if gear == 0.0:
        raise LostPartError("has a gear of 0")
    return float(gain[0]), b0, b1, b2, gear, dynamics.name.removeprefix("mjDYN_")


def term_of(place: JointPlace, factor: float) -> dict:
    """A coordinate of a coupling, times a factor."""
    words: dict = {"joint": place.joint.name}
    return words | ({"dof": place.dof} if place.dof else {}) | ({"factor": factor} if factor != 1.0 else {})


class Tendons:
    """Tendons as they become couplings, springs and joints of the type distance.

    Args:
        acts: receives them.
    """

    def __init__(self, acts: Acts):
        self.acts = acts
        self.bodies, self.shapes, self.source, self.model = acts.bodies, acts.shapes, acts.source, acts.model

    def read(self) -> None:
        """Make all of them."""
        self.bodies.read_all("tendon", self.model.ntendon, self._tendon)

    def _tendon(self, t: int) -> None:
        model, wraps = self.model, self.source.mujoco.mjtWrap
        first, count = int(model.tendon_adr[t]), int(model.tendon_num[t])
        kinds = {int(kind) for kind in model.wrap_type[first : first + count]}
        objects = [int(one) for one in model.wrap_objid[first : first + count]]
        if kinds == {int(wraps.mjWRAP_JOINT)}:
            self._fixed(t, objects, [float(c) for c in model.wrap_prm[first : first + count]])
        elif int(wraps.mjWRAP_PULLEY) in kinds:
            raise LostPartError("has pulleys, which split it into branches")
        else:
            stops = [self._stop(n) for n in range(first, first + count)]
            self._spatial(t, stops, objects)

    def _stop(self, n: int) -> object:
        """A site of a spatial tendon, or what it wraps around, as a spring has it."""
        model, wraps = self.model, self.source.mujoco.mjtWrap
        index, kind = int(model.wrap_objid[n]), int(model.wrap_type[n])
        if kind == int(wraps.mjWRAP_SITE):
            return self.shapes.ends[index]
        body, frame, radius = self.shapes.wrap_of(index)
        place = {"world": list(frame.xyz)} if body == WORLD_NAME else {"body": body, "at": list(frame.xyz)}
        size: dict = {"radius": radius}
        if kind == int(wraps.mjWRAP_CYLINDER):
            size |= {"axis": list(clean_numbers(frame.matrix[:, 2]))}
        words = place | {"cylinder" if "axis" in size else "sphere": size}
        site = int(model.wrap_prm[n])
        if site < 0:
            return words
        inside = self._is_inside(site, body, frame, size)
        return words | ({"inside": True} if inside else {"side": self.shapes.ends[site]})

    def _is_inside(self, site: int, body: str, frame: SourceFrame, size: dict) -> bool:
        """Whether a side lies inside of what a tendon wraps around, where both are on one body."""
        owner, place = self.shapes.sites[site]
        way = frame.matrix.T @ np.subtract(place.xyz, frame.xyz)
        inside = owner == body and float(np.linalg.norm(way)) < size["radius"]
        if owner == body and not inside and "axis" in size and float(np.linalg.norm(way[:2])) <= size["radius"]:
            raise LostPartError("runs around a cylinder on the side of a site within its radius, beyond its middle")
        return inside

    def _fixed(self, t: int, joints: list[int], factors: list[float]) -> None:
        model, places = self.model, [self.bodies.places[j] for j in joints]
        if not all(place.is_scalar for place in places):
            raise LostPartError(NOT_SCALAR)
        terms = [term_of(place, factor) for place, factor in zip(places, factors, strict=True)]
        words: dict = {"type": "coupling", "of": terms} | (
            {"unit": "m"} if len({place.type for place in places}) > 1 else {}
        )
        low, high = map(float, model.tendon_lengthspring[t])
        stiffness = self._spring_of(t)
        bounds = self._range_of(t)
        if stiffness and low == high:
            words |= {"stiffness": stiffness} | ({"rest": low} if low else {})
        elif stiffness and not bounds:
            bounds = {"lower": low, "upper": high, "stiffness": stiffness, "damping": 0.0}
        elif stiffness:
            self.acts.note("tendon", t, "without its spring, which has a range without force beside a limit")
        words |= {"limit": bounds} if bounds else {}
        damping, friction = self._losses_of(t)
        words |= ({"damping": damping} if damping else {}) | ({"friction": friction} if friction else {})
        self.acts.couplings[t] = self.acts.give("tendon", t, words)

    def _spatial(self, t: int, ends: list, sites: list[int]) -> None:
        stiffness = self._spring_of(t)
        damping, friction = self._losses_of(t)
        bounds = self._range_of(t)
        low, high = map(float, self.model.tendon_lengthspring[t])
        if friction:
            self.acts.note("tendon", t, "without dry friction, which springs have not")
        way = {"type": "spring", "a": ends[0], "b": ends[-1]} | ({"through": ends[1:-1]} if ends[1:-1] else {})
        self.acts.ways[t] = way
        if stiffness or damping:
            words = way | {"stiffness": stiffness} | ({"damping": damping} if damping else {})
            if low == high or low == 0.0:
                words |= {"rest_length": high} | ({"slack": True} if low != high else {})
            else:
                self.acts.note("tendon", t, f"springs from the middle of its range without force, [{low:g}, {high:g}] m")
                words["rest_length"] = 0.5 * (low + high)
            if damping and words.get("slack"):
                self.acts.note("tendon", t, "does not damp while it is slack")
            self.acts.give("tendon", t, words)
        if bounds and len(ends) == 2:
            self._rope(t, sites, bounds)
        elif bounds:
            self.acts.note("tendon", t, "without its limit, which a cable over points has not")
        if not (stiffness or damping or bounds or self._is_pulled(t)):
            raise LostPartError("nothing acts along it")

    def _is_pulled(self, t: int) -> bool:
        """Whether an actuator pulls a tendon, which then is the spring of that."""
        by_tendon = self.model.actuator_trntype == int(self.source.mujoco.mjtTrn.mjTRN_TENDON)
        return bool((by_tendon & (self.model.actuator_trnid[:, 0] == t)).any())

    def _rope(self, t: int, sites: list[int], bounds: list[float]) -> None:
        """A distance joint between two sites, which bounds how far they are apart."""
        (one, frame), (other, far) = (self.shapes.sites[s] for s in sites)
        if other == WORLD_NAME:
            (one, frame), (other, far) = (other, far), (one, frame)
        limit = {"upper": bounds[1]} | ({"lower": bounds[0]} if bounds[0] > 0.0 else {})
        words = {"limit": limit, "loop": True}
        self.acts.loop("tendon", t, "distance", one, other, frame._replace(words={}), far._replace(words={}), words)
        self.acts.note("tendon", t, "its limit is a joint of the type distance")

    def _spring_of(self, t: int) -> float:
        return float(np.ravel(self.model.tendon_stiffness[t])[0]) * self.bodies.springs_act

    def _losses_of(self, t: int) -> tuple[float, float]:
        damping = float(np.ravel(self.model.tendon_damping[t])[0]) + rotors_of(self.acts.source, "tendon", t).damping
        damping *= self.bodies.dampers_act
        return damping, float(self.model.tendon_frictionloss[t]) * self.bodies.friction_acts

    def _range_of(self, t: int) -> list[float]:
        model = self.model
        return [float(x) for x in model.tendon_range[t]] if model.tendon_limited[t] and self.bodies.limits_act else []
