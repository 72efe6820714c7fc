"""Tendons of a compiled model: sums of coordinates as couplings, cables over sites as springs and distances."""

import numpy as np

from simcli.exchange.mjcf.acts import NOT_SCALAR, Acts, term_of
from simcli.exchange.mjcf.options import rotors_of
from simcli.spec.lookup.structure import WORLD_NAME


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
        for t in range(self.model.ntendon):
            self._tendon(t)

    def _tendon(self, t: int) -> None:
        model, wraps = self.model, self.source.mujoco.mjtWrap
        first, count = int(model.tendon_adr[t]), int(model.tendon_num[t])
        kinds = {int(kind) for kind in model.wrap_type[first : first + count]}
        objects = [int(one) for one in model.wrap_objid[first : first + count]]
        if kinds == {int(wraps.mjWRAP_JOINT)}:
            self._fixed(t, objects, [float(c) for c in model.wrap_prm[first : first + count]])
        elif kinds == {int(wraps.mjWRAP_SITE)}:
            self._spatial(t, [self.shapes.ends[s] for s in objects], objects)
        else:
            self.acts.lost["tendon", t] = "wraps around geoms, or has pulleys; those of scenes run straight"

    def _fixed(self, t: int, joints: list[int], factors: list[float]) -> None:
        model, places = self.model, [self.bodies.places[j] for j in joints]
        if not all(place.is_scalar for place in places):
            self.acts.lost["tendon", t] = NOT_SCALAR
            return
        terms = [term_of(place, factor) for place, factor in zip(places, factors, strict=True)]
        words: dict = {"type": "coupling", "of": terms} | (
            {"unit": "m"} if len({place.type for place in places}) > 1 else {})  # fmt: skip
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
        if stiffness or damping:
            words = {"type": "spring", "a": ends[0], "b": ends[-1]} | ({"through": ends[1:-1]} if ends[1:-1] else {})
            words |= {"stiffness": stiffness} | ({"damping": damping} if damping else {})
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
        if not (stiffness or damping or bounds):
            self.acts.lost["tendon", t] = "nothing acts along it"

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
