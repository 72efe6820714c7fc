"""Actuators of a compiled model: drives of joints and of couplings.

An actuator pushes with F = clamp(gain u + b0 + b1 L + b2 L') along its length L = gear x, where x is a coordinate or the
sum of a fixed tendon. On x that is a drive of stiffness -b1 gear^2 and damping -b2 gear^2. Source: MuJoCo documentation
(Todorov 2014), computation, actuation model.
"""

from typing import Any

import numpy as np

from simcli.exchange.mjcf.acts import Acts, MjcfControl, MjcfPush, MjcfServo, linear_law, term_of
from simcli.exchange.mjcf.bodies import LostPartError
from simcli.exchange.mjcf.muscles import is_muscle, read_muscle
from simcli.exchange.mjcf.options import FREE, gears_of
from simcli.exchange.source.mechanism import SourceFrame, clean_numbers
from simcli.spec.lookup.structure import WORLD_NAME

_NO_SUM = "without the bound of the sum of its actuators"
_LAST_GROUP = 30  # that `option` can switch off
_INPUTS = ("target", "target_velocity", "")  # of a `pid` by bit: position, velocity, force
# Lags of first order, with their step; and what is said of an actuator whose activation scenes have not.
_LAGS = {"FILTER": {"method": "euler"}, "FILTEREXACT": {}}
_DYNAMICS = {"INTEGRATOR": "its target is the integral of its control, which a program has to find"}


class Actuators:
    """Actuators as they become drives.

    Args:
        acts: receives them; its couplings are made.
    """

    def __init__(self, acts: Acts):
        self.acts = acts
        self.bodies, self.source, self.model = acts.bodies, acts.source, acts.model
        self.acting = [self._joint_of(a) for a in range(self.model.nactuator)]

    def read(self) -> None:
        """Make all of them."""
        self.bodies.read_all("actuator", self.model.nactuator, self._actuator)
        self._tell_bounds()
        self._tell_rotors()

    def _tell_rotors(self) -> None:
        """Tell what actuators give to the joints and tendons that they act on."""
        model, kinds = self.model, self.source.mujoco.mjtTrn
        for a in range(model.nactuator):
            kind, damping, armature = (getattr(model, f"actuator_{key}")[a] for key in ("trntype", "damping", "armature"))
            is_tendon = kind == int(kinds.mjTRN_TENDON)
            if kind not in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT), int(kinds.mjTRN_TENDON)):
                continue
            words = " and ".join(["damping"] * bool(damping) + ["armature"] * bool(armature and not is_tendon))
            if words:
                owner = "tendon" if is_tendon else "joint"
                self.acts.note("actuator", a, f"its {words}, times its gear squared, is part of that of its {owner}")
            if armature and is_tendon:
                self.acts.note("actuator", a, "without its armature: couplings and springs have no inertia")

    def _joint_of(self, a: int) -> tuple[str, int]:
        """What an actuator acts on: kind and index of a part."""
        transmissions = self.source.mujoco.mjtTrn
        kind, index = int(self.model.actuator_trntype[a]), int(self.model.actuator_trnid[a, 0])
        if self._is_grouped_off(a):
            return "", -1
        if kind in (transmissions.mjTRN_JOINT, transmissions.mjTRN_JOINTINPARENT):
            return "joint", index
        names = {int(transmissions.mjTRN_TENDON): "tendon", int(transmissions.mjTRN_SITE): "site"}
        return (names[kind], index) if kind in names else ("", -1)

    def _actuator(self, a: int) -> None:
        kind, index = self.acting[a]
        if not self.acts.is_on("ACTUATION"):
            raise LostPartError("actuation is switched off by `option`")
        if self._is_grouped_off(a):
            raise LostPartError("its group is switched off by `option`")
        if self.model.actuator_outnum[a] != 1 or not (self._is_pid(a) or self.model.actuator_ctrlnum[a] == 1):
            raise LostPartError("has several controls or forces; a drive has one of each")
        if not kind:
            raise LostPartError("acts on a body or a crank; drives act on joints and sums of coordinates")
        if kind == "joint" and self.bodies.places[index].type == FREE:
            self._push_free(a, index)
            return
        if kind == "joint" and not self.bodies.places[index].is_scalar:
            raise LostPartError("acts on axes of a ball joint")
        if kind == "tendon" and index not in {*self.acts.couplings, *self.acts.ways}:
            raise LostPartError("pulls a tendon that is dropped")
        if is_muscle(self.source, a):
            read_muscle(self.acts, a, kind, index)
        elif kind == "site":
            self._push(a, index)
        elif kind == "tendon" and index in self.acts.ways:
            self._pull(a, index)
        else:
            self._place(a, kind, index, self._drive(a, kind, index))

    def _is_grouped_off(self, a: int) -> bool:
        group = int(self.model.actuator_group[a])
        return 0 <= group <= _LAST_GROUP and bool(int(self.model.opt.disableactuator) >> group & 1)

    def _tell_bounds(self) -> None:
        """Tell of joints whose bound is that of a sum, of forces of tendons and sites among others."""
        model, joints = self.model, set()
        for t in (index for kind, index in self.acting if kind == "tendon"):
            first, count = int(model.tendon_adr[t]), int(model.tendon_num[t])
            joints |= {int(j) for j in model.wrap_objid[first : first + count]} if t in self.acts.couplings else set()
        is_pushed = any(kind == "site" for kind, _ in self.acting)
        for j in map(int, np.flatnonzero(model.jnt_actfrclimited)):
            if is_pushed or j in joints:
                self.acts.note("joint", j, _NO_SUM)

    def _push(self, a: int, site: int) -> None:
        """An actuator at a site, as a wrench: its force and torque are the gear times the control, in axes of the site."""
        model = self.model
        link, frame = self.acts.shapes.sites[site]
        seen = int(model.actuator_trnid[a, 1])
        base, axes = self.acts.shapes.sites[seen] if seen >= 0 else (link, frame)
        self._refuse_laws(a, "at a site")
        if link == WORLD_NAME:
            raise LostPartError("pushes the world")
        if seen >= 0 and base != WORLD_NAME:
            raise LostPartError("its force has the axes of another site, which moves")
        gear = float(model.actuator_gainprm[a, 0]) * gears_of(self.source, a).reshape(2, 3) @ axes.matrix.T
        self.acts.controls[a] = self._wrench(a, link, frame, "body" if seen < 0 else "world", MjcfPush("", *gear))
        note = f"is a wrench; of a control of 1 its force is {_spelled(gear[0])} N, its torque {_spelled(gear[1])} N m"
        self.acts.note("actuator", a, note)
        self._tell_ranges(a)

    def _push_free(self, a: int, j: int) -> None:
        """An actuator on a free joint: its gear times the control along the rates of its coordinates.

        That is a force on the origin of the body in world axes, and a torque in axes of the body, or of the world where it
        acts in those of the parent.
        """
        model: Any = self.model
        self._refuse_laws(a, "on a free joint")
        body = int(model.jnt_bodyid[j])
        link, frame = self.bodies.names[body], self.bodies.frames[body]
        force, torque = float(model.actuator_gainprm[a, 0]) * gears_of(self.source, a).reshape(2, 3)
        kinds: Any = self.source.mujoco
        in_parent = int(model.actuator_trntype[a]) == int(kinds.mjtTrn.mjTRN_JOINTINPARENT)
        none, axes = np.zeros(3), "world" if in_parent else "body"
        pushes = [("world", force, torque)] if in_parent else [("world", force, none), (axes, none, torque)]
        pushes = [one for one in pushes if one[1].any() or one[2].any()]
        if not pushes:
            raise LostPartError("has a gear of 0")
        made = [self._wrench(a, link, frame, axes_of, MjcfPush("", *parts)) for axes_of, *parts in pushes]
        self.acts.controls[a], self.acts.beside[a] = made[0], made[1:]
        words = [f"its force is {_spelled(force)} N in world axes"] * bool(force.any())
        words += [f"its torque {_spelled(torque)} N m in axes of the {axes}"] * bool(torque.any())
        self.acts.note("actuator", a, f"is a wrench; of a control of 1 {', '.join(words)}")
        self._tell_ranges(a)

    def _refuse_laws(self, a: int, where: str) -> None:
        """Refuse what is more than a gain times the control."""
        model, mujoco = self.model, self.source.mujoco
        laws = tuple(int(getattr(model, f"actuator_{key}type")[a]) for key in ("dyn", "gain", "bias"))
        if laws != (mujoco.mjtDyn.mjDYN_NONE, mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_NONE):
            raise LostPartError(f"its force {where} depends on more than its control")

    def _wrench(self, a: int, link: str, frame: SourceFrame, axes: str, push: MjcfPush) -> MjcfPush:
        """A wrench of a scene for an actuator, with its control at rest."""
        words = {"type": "wrench", "body": link, "at": list(frame.xyz), "frame": axes}
        entry = self.acts.give("actuator", a, words | push.settings(self._rest_control(a)))
        return push._replace(path=self.acts.path_of(entry))

    def _tell_ranges(self, a: int) -> None:
        """Tell of the ranges of a wrench, which scenes have not."""
        model = self.model
        self._tell_range(a, "control", self.acts.control_range(a))
        if model.actuator_forcelimited[a]:
            self._tell_range(a, "force", model.actuator_forcerange[a])

    def _pull(self, a: int, t: int) -> None:
        """An actuator along a spatial tendon, as a rope of its own on the same way, F = gain u + b0 + b1 L + b2 L'.

        Its tension is -gear F, L the gear times the length: stiffness and damping are -b1 gear^2 and -b2 gear^2.
        """
        model = self.model
        if self._is_pid(a):
            raise LostPartError("is a `pid` along a spatial tendon")
        gain, b0, b1, b2, gear, dynamics = linear_law(self.source, a)
        stiffness, damping = clean_numbers([-b1 * gear**2, -b2 * gear**2])
        pull = MjcfControl("", "tension", gain, b0, -gear)
        words = self.acts.ways[t] | {"stiffness": stiffness} | ({"rest_length": 0.0} if stiffness else {})
        words |= ({"damping": damping} if damping else {}) | {"tension": pull.target(self._rest_control(a))}
        entry = self.acts.give("actuator", a, words)
        self.acts.controls[a] = pull._replace(path=self.acts.path_of(entry))
        self.acts.note("actuator", a, f"is a rope; a control of 1 changes its tension by {-gear * gain:g} N")
        if dynamics != "NONE":
            self.acts.note("actuator", a, "acts at once, without its activation")
        self._tell_ranges(a)
        if model.tendon_actfrclimited[t]:
            self.acts.note("tendon", t, "without the bound of the force of its actuators")

    def _tell_range(self, a: int, word: str, bounds) -> None:
        """Tell of a range that scenes have not; None for none."""
        if bounds is not None:
            low, high = bounds
            self.acts.note("actuator", a, f"without the range of its {word}, [{low:g}, {high:g}]")

    def _drive(self, a: int, kind: str, index: int) -> dict:
        """The drive of an actuator."""
        if self._is_pid(a):
            return self._servo(a, kind, index)
        *law, dynamics = linear_law(self.source, a)
        words = self._law(a, kind, index, tuple(law))
        return words | self._activation(a, dynamics, words)

    def _is_pid(self, a: int) -> bool:
        return int(self.model.actuator_gaintype[a]) == int(self.source.mujoco.mjtGain.mjGAIN_PID)

    def _servo(self, a: int, kind: str, index: int) -> dict:
        """The drive of a `pid`, which follows a position and a velocity."""
        model = self.model
        b0, b1, b2 = map(float, model.actuator_biasprm[a, :3])
        gear = float(gears_of(self.source, a)[0])
        keys = tuple(key for bit, key in enumerate(_INPUTS) if int(model.actuator_ctrlspec[a]) >> bit & 1)
        if int(model.actuator_dyntype[a]) != int(self.source.mujoco.mjtDyn.mjDYN_NONE):
            raise LostPartError("integrates its error, or bounds the rate of its target")
        if len(keys) != model.actuator_ctrlnum[a] or "" in keys:
            raise LostPartError("adds a control to its force, and a drive that has targets takes no force")
        if gear == 0.0 or b0 or b1 > 0.0 or b2 > 0.0 or not (b1 or b2):
            raise LostPartError("has no gains, or a gear of 0, or pushes where it has reached its target")
        limit = self._effort_limit(a, kind, index, (1.0, 0.0, b1, b2, gear))
        for n in range(len(keys)):
            self._tell_range(a, "control", self.acts.control_range(a, n))
        control = self.acts.controls[a] = MjcfServo("", keys, 1.0 / gear)
        words = {"mode": "position_velocity", **control.settings(*(self._rest_control(a, n) for n in range(len(keys))))}
        gains = zip(("stiffness", "damping"), clean_numbers([-b1 * gear**2, -b2 * gear**2]), strict=True)
        return words | {key: one for key, one in gains if one} | ({"effort_limit": limit} if limit is not None else {})

    def _activation(self, a: int, dynamics: str, words: dict) -> dict:
        """The lag of a drive whose activation begins at 0."""
        if dynamics == "NONE":
            return {}
        low, high = self.acts.control_range(a) or (0.0, 0.0)
        if dynamics == "INTEGRATOR" and not low <= 0.0 <= high:
            rate = self.acts.controls[a].rate(min(max(0.0, low), high))
            self.acts.note("actuator", a, f"its target stands still; in MuJoCo it moves by {rate:g} in a second at least")
        if dynamics not in _LAGS or words["mode"] == "velocity":
            self.acts.note("actuator", a, _DYNAMICS.get(dynamics, "acts at once, without its activation"))
            return {}
        initial = self.acts.controls[a].target(0.0)
        lag = {"time_constant": float(self.model.actuator_dynprm[a, 0])}
        lag |= {"initial": initial} if initial else {}
        return {"activation": lag | _LAGS[dynamics]}

    def _law(self, a: int, kind: str, index: int, law: tuple[float, ...]) -> dict:
        _gain, _b0, b1, b2, gear = law
        limit = self._effort_limit(a, kind, index, law)
        bound = {"effort_limit": limit} if limit is not None else {}
        stiffness, damping = clean_numbers([-b1 * gear**2])[0], clean_numbers([-b2 * gear**2])[0]
        if not stiffness and not damping:
            return self._targeted(a, {"mode": "effort"}, "target", law, gear) | bound
        self._tell_range(a, "control", self.acts.control_range(a))
        if stiffness:
            return (
                self._targeted(a, {"mode": "position"}, "target", law, 1.0 / -b1 / gear)
                | {"stiffness": stiffness}
                | ({"damping": damping} if damping else {})
                | bound
            )
        return (
            self._targeted(a, {"mode": "velocity"}, "target_velocity", law, 1.0 / -b2 / gear) | {"damping": damping} | bound
        )

    def _targeted(self, a: int, words: dict, key: str, law: tuple[float, ...], scale: float) -> dict:
        """The words of a drive with its target at rest; keeps how controls become targets."""
        control = MjcfControl("", key, law[0], law[1], scale)
        self.acts.controls[a] = control
        integrates = int(self.model.actuator_dyntype[a]) == int(self.source.mujoco.mjtDyn.mjDYN_INTEGRATOR)
        return words | {key: control.target(0.0 if integrates else self._rest_control(a))}

    def _rest_control(self, a: int, n: int = 0) -> float:
        """Control n at 0, within its range."""
        low, high = self.acts.control_range(a, n) or (0.0, 0.0)
        if not low <= 0.0 <= high:
            self.acts.note("actuator", a, "begins at the end of its control range next to 0, which the range does not hold")
        return min(max(0.0, low), high)

    def _effort_limit(self, a: int, kind: str, index: int, law: tuple[float, ...]) -> float | None:
        """The largest effort, of the ranges of force, of control without feedback, and of what it acts on."""
        model, ranges = self.model, []
        gain, b0, b1, b2, gear = law
        if model.actuator_forcelimited[a]:
            ranges.append(gear * model.actuator_forcerange[a])
        controls = self.acts.control_range(a)
        if controls and not b1 and not b2:
            ranges.append(gear * (gain * np.array(controls) + b0))
        is_bounded, bounds = (
            (model.jnt_actfrclimited, model.jnt_actfrcrange)
            if kind == "joint"
            else (model.tendon_actfrclimited, model.tendon_actfrcrange)
        )
        if is_bounded[index]:
            if self.acting.count((kind, index)) == 1:
                ranges.append(bounds[index])
            else:
                self.acts.note(kind, index, _NO_SUM)
        if not ranges:
            return None
        low, high = max(min(one) for one in ranges), min(max(one) for one in ranges)
        if not np.isclose(low, -high):
            self.acts.note("actuator", a, f"its effort is from {low:g} to {high:g}; a drive has one limit, the larger")
        return clean_numbers([max(abs(low), abs(high))])[0]

    def _place(self, a: int, kind: str, index: int, words: dict) -> None:
        """Give a drive to its joint or tendon, or, if that has one, to a coupling of its own."""
        gear = float(gears_of(self.source, a)[0])
        if gear != 1.0:
            note = f"has the gear {gear:g}: targets, gains and efforts of its drive are those of the joint or tendon"
            self.acts.note("actuator", a, note)
        if kind == "joint":
            place = self.bodies.places[index]
            if "drive" not in place.words:
                place.words["drive"] = words
                self._found(a, place.path)
                self.acts.note(
                    "actuator",
                    a,
                    f"is the drive of `{place.joint.name}`"
                    + (f", coordinate {place.dof}" if place.joint.type == "d6" else ""),
                )
                return
            terms = [term_of(place, 1.0)]
        else:
            entry = self.acts.couplings[index]
            if "drive" not in entry.words:
                entry.words["drive"] = words
                self._found(a, self.acts.path_of(entry))
                self.acts.note("actuator", a, "is the drive of the coupling that its tendon is")
                return
            terms = entry.words["of"]
        entry = self.acts.give("actuator", a, {"type": "coupling", "of": terms, "drive": words})
        self._found(a, self.acts.path_of(entry))
        self.acts.note("actuator", a, "is a coupling with a drive, because its joint or tendon has another actuator")

    def _found(self, a: int, owner: str) -> None:
        """Keep where the drive of an actuator is."""
        self.acts.controls[a] = self.acts.controls[a]._replace(path=f"{owner}.drive")


def _spelled(vector: np.ndarray) -> str:
    """A vector in words."""
    return f"[{', '.join(f'{one:g}' for one in clean_numbers(vector))}]"
