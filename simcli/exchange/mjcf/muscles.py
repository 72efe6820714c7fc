"""Muscles of a compiled model: ropes with a `muscle`, on the way of their tendon, or paid out by coordinates.

A muscle pulls along its length L = gear x with gain(L, L') a + bias(L), a its activation. Along a tendon over sites that is
a rope on this way, with force times and lengths over the gear. Along coordinates it is a rope without a way, of which they
pay out -gear x: its length, less that, is L. Source: MuJoCo documentation (Todorov 2014), computation, muscle actuators.
"""

from typing import Any

import numpy as np

from simcli.exchange.mjcf.acts import Acts, MjcfControl, term_of
from simcli.exchange.mjcf.bodies import LostPartError
from simcli.exchange.mjcf.options import gears_of
from simcli.exchange.mjcf.source import MjcfSource
from simcli.exchange.source.mechanism import clean_numbers
from simcli.spec.schema.forces import MuscleSpec

_CURVE = ("min_length", "max_length", "max_velocity", "passive_force", "lengthening_force")
_USUAL = {name: field.default for name, field in MuscleSpec.model_fields.items()}  # which are MuJoCo's, too
_ORIGIN = {"world": [0.0, 0.0, 0.0]}


def is_muscle(source: MjcfSource, a: int) -> bool:
    """Whether the force of an actuator has a curve of a muscle."""
    model, mujoco = source.model, source.mujoco
    gain, bias = int(model.actuator_gaintype[a]), int(model.actuator_biastype[a])
    return gain == int(mujoco.mjtGain.mjGAIN_MUSCLE) or bias == int(mujoco.mjtBias.mjBIAS_MUSCLE)


def read_muscle(acts: Acts, a: int, kind: str, index: int) -> None:
    """Make the rope of a muscle.

    Args:
        acts: receives it; couplings and ways are made.
        a: of the actuator.
        kind: of what it acts on, "joint" or "tendon", of scalar joints.
        index: of that.

    Raises:
        LostPartError: scenes cannot say it.
    """
    words = _muscle_of(acts.source, a)
    gear = float(gears_of(acts.source, a)[0])
    if kind == "tendon" and index in acts.ways:
        if gear <= 0.0:
            raise LostPartError("is a muscle that its gear lets push")
        way = acts.ways[index]
        words["force"], words["length_range"] = words["force"] * gear, [one / gear for one in words["length_range"]]
    elif kind == "site" or gear == 0.0:
        raise LostPartError("is a muscle at a site, or has a gear of 0")
    else:
        way = {"type": "spring", "a": _ORIGIN, "b": _ORIGIN, "paid_out": _paid_out(acts, kind, index, -gear)}
    low, high = acts.control_range(a) or (-np.inf, np.inf)
    rest = min(max(0.0, low), high)
    entry = acts.give("actuator", a, way | {"muscle": {"control": rest} | words})
    acts.controls[a] = MjcfControl(f"{acts.path_of(entry)}.muscle", "control", 1.0, 0.0, 1.0)
    acts.note("actuator", a, "is a rope with a muscle" + ", which coordinates pay out" * ("paid_out" in way))
    _tell_bounds(acts, a, kind, index)


def _muscle_of(source: MjcfSource, a: int) -> dict:
    """The words of a muscle along its length; its force is that of the model, or its scale over the acceleration by 1 N."""
    model: Any = source.model
    mujoco: Any = source.mujoco
    gain, bias = model.actuator_gainprm[a, :9], model.actuator_biasprm[a, :9]
    kinds = int(model.actuator_gaintype[a]), int(model.actuator_biastype[a])
    none = int(mujoco.mjtBias.mjBIAS_NONE)
    if kinds[0] != int(mujoco.mjtGain.mjGAIN_MUSCLE) or kinds[1] not in (none, int(mujoco.mjtBias.mjBIAS_MUSCLE)):
        raise LostPartError("has the gain of a muscle and another bias, or the other way round")
    if kinds[1] != none and (gain[:8] != bias[:8]).any():
        raise LostPartError("is a muscle whose gain and bias have different numbers")
    low, high = map(float, model.actuator_lengthrange[a])
    curve = dict(zip(_CURVE, (float(gain[k]) for k in range(4, 9)), strict=True))
    curve["passive_force"] = 0.0 if kinds[1] == none else curve["passive_force"]
    force = float(gain[2] if gain[2] >= 0.0 else gain[3] / model.actuator_acc0[a])
    is_curve = (
        gain[0] < gain[1] and gain[4] < 1.0 < gain[5] and gain[6] > 0.0 and gain[8] >= 1.0 and min(curve.values()) >= 0.0
    )
    if not (low < high and is_curve and np.isfinite(force)):
        raise LostPartError("is a muscle without a range of lengths, or whose numbers make no curve")
    said = {"range": tuple(map(float, gain[:2])), **curve}
    words = {"force": force, "length_range": [low, high]}
    words |= {key: list(one) if key == "range" else one for key, one in said.items() if one != _USUAL[key]}
    return words | _activation_of(source, a)


def _activation_of(source: MjcfSource, a: int) -> dict:
    """The word `activation` of a muscle, with the step that MuJoCo takes; none where it acts at once."""
    name = source.mujoco.mjtDyn(int(source.model.actuator_dyntype[a])).name.removeprefix("mjDYN_")
    rise, fall, smoothing = map(float, source.model.actuator_dynprm[a, :3])
    lags: dict[str, dict[str, object]] = {
        "FILTER": {"time_constant": rise, "method": "euler"},
        "FILTEREXACT": {"time_constant": rise},
    }
    lags["MUSCLE"] = {"rise": rise, "fall": fall, "law": "muscle", "method": "euler"}
    lags["MUSCLE"] |= {"smoothing": smoothing} if smoothing else {}
    if name == "NONE":
        return {}
    if name not in lags or min(rise, fall if name == "MUSCLE" else rise) <= 0.0:
        raise LostPartError("is a muscle with an activation that scenes have not")
    return {"activation": lags[name]}


def _paid_out(acts: Acts, kind: str, index: int, factor: float) -> list[dict]:
    """The coordinates along which a muscle acts, as they pay out a rope."""
    if kind == "joint":
        terms, places = [term_of(acts.bodies.places[index], 1.0)], [acts.bodies.places[index]]
    else:
        terms = acts.couplings[index].words["of"]
        first, count = int(acts.model.tendon_adr[index]), int(acts.model.tendon_num[index])
        places = [acts.bodies.places[int(j)] for j in acts.model.wrap_objid[first : first + count]]
        acts.note("tendon", index, "its coordinates pay out the rope of a muscle")
    if any(len(place.joint.words.get("axes", {}).get("angular", ())) > 1 for place in places):
        raise LostPartError("is a muscle of a joint of several turns, which pays out no rope")
    return [term | {"factor": clean_numbers([factor * term.get("factor", 1.0)])[0]} for term in terms]


def _tell_bounds(acts: Acts, a: int, kind: str, index: int) -> None:
    """Tell of ranges that scenes have not, and of controls that muscles of scenes keep within 0 to 1."""
    model = acts.model
    bounds, clips = acts.control_range(a), model.actuator_dyntype[a] == acts.source.mujoco.mjtDyn.mjDYN_MUSCLE
    if bounds is not None and (bounds[0] > 0.0 or bounds[1] < 1.0):
        acts.note("actuator", a, f"without the range of its control, [{bounds[0]:g}, {bounds[1]:g}]")
    elif not clips and (bounds is None or bounds[0] < 0.0 or bounds[1] > 1.0):
        acts.note("actuator", a, "its activation is from 0 to 1")
    if model.actuator_forcelimited[a]:
        acts.note("actuator", a, "without the range of its force, [{:g}, {:g}]".format(*model.actuator_forcerange[a]))
    limited = model.tendon_actfrclimited if kind == "tendon" else model.jnt_actfrclimited
    if limited[index]:
        acts.note(kind, index, "without the bound of the force of its actuators")
