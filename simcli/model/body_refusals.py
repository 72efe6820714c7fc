"""Bodies that lack inertia where something would move them are refused, with what to do; and wheels that loops hold, too."""

import numpy as np

from simcli.model.constraints.gimbals import ADVICE, gimbal_locks
from simcli.model.constraints.massless import carrying, lacks_inertia, massless_dofs
from simcli.model.constraints.mobility import joint_held_by_others
from simcli.model.forms.maximal_form import maximal_form
from simcli.model.forms.natural_form import THIN, prescribing_joints
from simcli.model.joints.catalogue import NONHOLONOMIC_KINDS
from simcli.model.joints.state import State
from simcli.model.joints.tree_kinematics import SINGULAR
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.model import Array, LinkKind, Model
from simcli.model.tables.worlds import Worlds

ARMATURE = "give the body inertia about this axis, or the joint armature"
LEAST_INERTIA = 1e-150  # [kg, kg m^2]: the square of its inverse is still a number in float64
HOLD = "give the body inertia, or hold it at a distance from every axis about which it turns"


def refuse_vanishing(worlds: Worlds, model: Model) -> None:
    """Refuse masses and inertias so small, and not 0, that what is computed of their inverse is no number."""
    bodies = model.bodies
    inertia = np.abs(bodies.inertia).max(axis=(-2, -1))
    for field, values, unit in (("mass", bodies.mass, "kg"), ("inertia", inertia, "kg m^2")):
        tiny = (values > 0.0) & (values < LEAST_INERTIA) & ~bodies.kinematic
        for b in np.flatnonzero(tiny.any(axis=0)):
            name, least = model.bodies.name[b], values[tiny[:, b], b].min()
            message = f"the {field} of body `{name}` is {least:g} {unit}, which is too small to divide by"
            hint = f"write at least {LEAST_INERTIA:g} {unit}; what its joints carry has `mass: 0, inertia: point`"
            worlds.fault("SC401", f"bodies.{name}.{field}", message, hint)
    worlds.raise_faults()


def refuse_massless(worlds: Worlds, model: Model, bodies: Array | None = None, hint: str = ARMATURE) -> None:
    """Refuse dofs along which nothing has inertia: their acceleration has no value.

    Args:
        worlds: receives the faults.
        model: the tables.
        bodies: (B,) bool, those whose dofs matter; all where it is left out.
        hint: what to do.
    """
    locked = {one.joint for one in gimbal_locks(model, model.joint_q)}
    for k, b in massless_dofs(model, bodies):
        name, body = model.joints.name[model.links.joint[k]], model.bodies.name[b]
        turning = "a rotation" if model.links.kind[k] != LinkKind.HELIX or model.links.turn[k] else "a displacement"
        message = f"joint `{name}` has {turning} that moves no inertia (body `{body}` and the bodies attached to it)"
        if name in locked:
            message, hint = f"joint `{name}` begins at gimbal lock, where two of its axes are one", ADVICE
        path = f"joints.{name}" if name in worlds.first.joints else f"bodies.{body}"
        worlds.fault("SC452", path, message, hint)
    worlds.raise_faults()


def refuse_points(worlds: Worlds, model: Model) -> None:
    """Refuse bodies that lack inertia along or about some axis along which their joints let them move, or joints yield."""
    refuse_massless(worlds, model, lacks_inertia(model), HOLD)
    for step in carrying(model) if worlds.first.solver.type == "maximal" else ():
        name = model.joints.name[step.joint]
        if model.joints.compliance[:, step.joint].any():
            body = next(b for b in (step.outer, step.inner) if lacks_inertia(model)[b])
            message = f"joint `{name}` has compliance, and nothing else gives inertia to body `{model.bodies.name[body]}`"
            worlds.fault("SC452", f"joints.{name}.compliance", message, "leave it out, or give the body inertia")
    worlds.raise_faults()


def refuse_spins(worlds: Worlds, model: Model) -> None:
    """Refuse bodies whose spin contacts could drive without a mass that resists, and flat ones that yield."""
    bodies, plane = model.bodies, model.plane
    inertia = np.linalg.eigvalsh(bodies.inertia)
    whole = ((bodies.n_vectors == 3) | (bodies.n_vectors < 0)) & (plane < 0) & ~bodies.kinematic
    spins = np.isin(np.arange(model.n_bodies), [b for _, b in massless_dofs(model, lacks_inertia(model))])
    thin = (inertia[..., 0] <= SINGULAR * inertia[..., 2]) & spins
    least, most = (inertia[..., 1] + side * (inertia[..., 0] - inertia[..., 2]) for side in (1, -1))  # second moments, twice
    flat = least <= THIN * most
    faults = {
        "has no inertia about its axis, and contact would spin it": (whole & thin, "write natural: 1P1V, or inertia"),
        "is flat or thin and has compliance, which contact does not support": (
            whole & flat & (bodies.compliance > 0),
            "leave its compliance out, or make it thicker",
        ),
    }
    for words, (lacks, hint) in faults.items():
        _fault_bodies(worlds, model.bodies, lacks, words, hint)


def _fault_bodies(worlds: Worlds, bodies: Bodies, lacks: Array, words: str, hint: str) -> None:
    """A fault for each body that something is said of in any world, (W|1, B) bool."""
    for b in np.flatnonzero(lacks.any(axis=0)):
        name = bodies.name[b]
        worlds.fault("SC452", f"bodies.{name}", f"body `{name}` {words}", hint)


def refuse_not_representable(worlds: Worlds, model: Model) -> None:
    """Refuse bodies whose natural coordinates would lack or ignore inertia; and prescribing joints that give way."""
    bodies, asked = model.bodies, model.bodies.n_vectors
    leading = prescribing_joints(model)
    for j in leading[leading >= 0].tolist():
        name = model.joints.name[j]
        for field, asks in (("compliance", model.joints.compliance[:, j].any()), ("enabled", not model.joints.enabled[j])):
            if asks:
                message = f"joint `{name}` holds a kinematic body, so that its `{field}` would be ignored"
                worlds.fault("SC470", f"joints.{name}.{field}", message, "leave it out, or kinematic")
    full = (asked == 3) | ((asked < 0) & (model.plane < 0))
    if model.plane >= 0:
        inertia = np.repeat(bodies.inertia[:, :, model.plane, model.plane, None], 3, axis=-1)
    else:
        inertia = np.linalg.eigvalsh(bodies.inertia)
    thick = inertia[..., 0] > THIN * inertia[..., 2]
    faults = {
        "has no mass": (bodies.mass <= 0) & ~bodies.kinematic,
        "has inertia about its axis, which a bar of one vector ignores": (asked == 1) & thick & (model.plane < 0) & ~full,
        "has inertia, which a point of `natural: 1P` ignores": (asked == 0) & (inertia[..., 2] > 0),
    }
    for words, lacks in faults.items():
        _fault_bodies(worlds, model.bodies, lacks, words, "change mass, inertia or natural")
    points = (inertia[..., 2] <= 0).any(axis=0) & (asked != 0) & ~bodies.kinematic
    refuse_massless(worlds, model, points, f"{HOLD}, or write natural: 1P")


def refuse_wheels(worlds: Worlds, model: Model) -> None:
    """Refuse wheels and blades that steps of semi_implicit cannot hold beside the loops of their bodies.

    Such a step ends where positions close and moves along the chord there, which slips by the square of what it turns; a
    velocity that the closed positions hold already contradicts it.
    """
    solver = worlds.first.solver
    if solver.type not in ("generalized", "maximal") or solver.integrator != "semi_implicit":
        return
    if not np.isin(model.joints.kind, NONHOLONOMIC_KINDS).any():
        return
    name = joint_held_by_others(maximal_form(model, State.of(model)) if solver.type == "maximal" else model)
    if name:
        words = "in maximal coordinates" if solver.type == "maximal" else "of semi_implicit beside joints that close loops"
        message = f"joint `{name}` holds a velocity that other joints hold already, which steps {words} cannot do"
        hint = "use the generalized solver with rk4, or hold the wheel by one of them"
        worlds.fault("SC501", f"joints.{name}.type", message, hint)
    worlds.raise_faults()
