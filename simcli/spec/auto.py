"""`integrator: auto`: which integrator a scene gets that names none, and why.

The one of second order where the motion is smooth. Where something can touch, or bends the motion suddenly, the one of first
order, whose steps find impacts, limits and friction exactly; one of second order would be of first order there and dearer.

Where a prescribed rate jumps, all else is smooth, and second order has the smaller error (docs/choosing.md has the numbers).
So it has where a signal is sampled once a step, which makes the motion one of first order.
"""

from collections.abc import Iterator

from simcli.spec.checks.drives import jumping_rates
from simcli.spec.checks.geometry import switches_contact, touching_pair
from simcli.spec.faults.checker import Checker
from simcli.spec.lookup.signal_uses import uses
from simcli.spec.schema.joint import JointSpec
from simcli.spec.schema.scene import SceneSpec

_AUTO = "auto"
FIRST_CHOICE = {"generalized": "semi_implicit", "maximal": "semi_implicit", "natural": "moreau", "affine": "bdf1"}
SECOND = {"generalized": "implicit", "natural": "zhong06", "affine": "bdf2"}
# Solvers whose integrator of second order takes a step with the one of first order by itself where a law acts suddenly.
BENDS_WELL = ("natural", "affine")
SUDDEN = ("friction", "limit", "velocity_limit", "effort_limit")  # keys of joints that bend the motion, if set later


def with_integrator(check: Checker) -> tuple[SceneSpec, str]:
    """The scene with an integrator by name, and why it has this one; "" if the scene names it.

    Args:
        check: a scene that passed the schema.
    """
    spec = check.spec
    if spec.solver.integrator != _AUTO:
        return spec, ""
    name, why = _chosen(check)
    return spec.model_copy(update={"solver": spec.solver.model_copy(update={"integrator": name})}), why


def _chosen(check: Checker) -> tuple[str, str]:
    """The integrator of a scene that names none, and why."""
    solver = check.spec.solver.type
    if solver not in SECOND:
        return FIRST_CHOICE[solver], f"the integrator of the {solver} solver"
    touch = _touching(check)
    if touch:
        return FIRST_CHOICE[solver], f"of first order, because {touch}"
    if any(body.affine is not None and body.affine.quasi_static for body in check.spec.bodies.values()):
        return FIRST_CHOICE[solver], "of first order, because a body is quasi-static"
    sudden = "" if solver in BENDS_WELL else next(_sudden(check.spec), "")
    if sudden:
        return FIRST_CHOICE[solver], f"of first order, because {sudden}"
    sampled = next(_sampled(check.spec), "")
    if sampled:
        return SECOND[solver], f"of second order by itself, of first order here, because {sampled} once a step"
    jump = next(jumping_rates(check.spec), "")
    return SECOND[solver], f"of second order, because the motion is smooth{jump and f', but where {jump}'}"


def _sampled(spec: SceneSpec) -> Iterator[str]:
    """What is held from the start of a step to its end, in words; a `rate` is that of the controller, whatever the step."""
    for use in uses(spec):
        signal = spec.signals.get(use.signal)
        if signal is not None and signal.is_feedback and signal.rate is None:
            yield f"signal `{use.signal}` is sampled"
    owners = {f"joints.{name}": joint.drive or () for name, joint in spec.joints.items()}
    owners |= {f"forces.{name}": (getattr(force, "drive", None),) for name, force in spec.forces.items()}
    for path, drives in owners.items():
        if any(drive is not None and drive.activation is not None for drive in drives):
            yield f"the activation of `{path}.drive` is sampled"
    for name, force in spec.forces.items():
        if (muscle := getattr(force, "muscle", None)) is not None and muscle.activation is not None:
            yield f"the activation of `forces.{name}.muscle` is sampled"


def _touching(check: Checker) -> str:
    pair = touching_pair(check)
    if pair is not None:
        return f"`{pair[0]}` and `{pair[1]}` can touch"
    if switches_contact(check.spec):
        return "an event switches contact on"
    if "contacts" in check.spec.output.channels:
        return "contacts are recorded"
    return "`solver.contact` is written" if check.has("solver.contact") else ""


def _sudden(spec: SceneSpec) -> Iterator[str]:
    """What bends the motion suddenly, in words."""
    for name, joint in spec.joints.items():
        for what in _laws(joint):
            yield f"joint `{name}` has {what}"
    for path in (*spec.batch.paths, *(path for event in spec.events for path in event.set)):
        keys = path.replace("[", ".").split(".")
        key = next((key for key in SUDDEN if keys[0] == "joints" and key in keys[2:]), "")
        if key:
            yield f"`{path}` is set in the run or in a world"


def _laws(joint: JointSpec) -> Iterator[str]:
    if any(limit is not None and not limit.stiffness for limit in joint.limit or ()):
        yield "a hard limit"
    if any(joint.friction):
        yield "dry friction"
    if any(value is not None for value in joint.velocity_limit or ()):
        yield "a velocity limit"
    if any(drive is not None and drive.largest_effort is not None for drive in joint.drive or ()):
        yield "an effort limit"
