"""What a compiled model says of the world and its time stepping, of joints beside their types, and where these are."""

import math
from typing import NamedTuple

from simcli.exchange.mjcf.source import MjcfSource
from simcli.exchange.source.mechanism import SourceJoint, SourceModel

_SLACK = 1e-9  # of a step, by which a second may miss a whole number of them
_GRAVITY = (0.0, 0.0, -9.81)  # of scenes that do not write it


def read_options(source: MjcfSource, mechanism: SourceModel) -> None:
    """Give a scene the gravity, the solver and the switches of a model."""
    option, bits = source.model.opt, source.mujoco.mjtDisableBit
    gravity = (0.0, 0.0, 0.0) if option.disableflags & bits.mjDSBL_GRAVITY else tuple(map(float, option.gravity))
    if gravity != _GRAVITY:
        mechanism.world_words["gravity"] = list(gravity)
    if option.disableflags & (bits.mjDSBL_CONTACT | bits.mjDSBL_CONSTRAINT):
        mechanism.sections["contact"] = {"enabled": False}
    mechanism.sections["solver"] = {
        "type": "generalized",
        "dt": _in_ms(float(option.timestep)),
        "integrator": integrator_of(source),
    }
    mechanism.sections["run"] = {"duration": _whole_steps(float(option.timestep))}


def _whole_steps(step: float) -> float:
    """About a second, [s]."""
    return float(f"{max(1, math.ceil(1.0 / step - _SLACK)) * step:.10g}")


def integrator_of(source: MjcfSource) -> str:
    """The integrator that does what that of the model does: of first order, of fourth, or implicit."""
    kinds = source.mujoco.mjtIntegrator
    by_kind = {int(kinds.mjINT_EULER): "semi_implicit", int(kinds.mjINT_RK4): "rk4"}
    return by_kind.get(int(source.model.opt.integrator), "implicit")


def _in_ms(step: float) -> object:
    words = f"{step * 1e3:.10g}"
    return f"{words} ms" if abs(float(words) * 1e-3 - step) <= 1e-15 * step else step


class Rotors(NamedTuple):
    """What the actuators of a joint or a tendon add to it.

    Attributes:
        damping: [N s/m, N m s/rad].
        armature: [kg, kg m^2].
    """

    damping: float
    armature: float


def rotors_of(source: MjcfSource, kind: str, index: int) -> Rotors:
    """What actuators give to a part, times the square of their gear, whether or not they push.

    Source: MuJoCo documentation (Todorov 2014), XML reference, actuator/general: damping, armature.

    Args:
        source: the compiled model.
        kind: of the part, "joint" or "tendon".
        index: of the part.
    """
    model, kinds = source.model, source.mujoco.mjtTrn
    ways = (int(kinds.mjTRN_TENDON),) if kind == "tendon" else (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT))
    damping = armature = 0.0
    for a in range(model.nactuator):
        if int(model.actuator_trntype[a]) in ways and int(model.actuator_trnid[a, 0]) == index:
            gear = float(gears_of(source, a)[0])
            damping += gear**2 * float(model.actuator_damping[a])
            armature += gear**2 * float(model.actuator_armature[a])
    return Rotors(damping, armature)


def gears_of(source: MjcfSource, actuator: int):
    """(6,) the gear of the first force of an actuator; those before it may have several."""
    return source.model.actuator_gear[int(source.model.actuator_outadr[actuator])]


FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint


class JointPlace(NamedTuple):
    """Where a joint of the source is in the scene.

    Attributes:
        joint: that has its coordinates.
        dof: the first of its dofs.
        words: its own words: those of the joint, or of an axis of a d6.
        index: of the joint in the compiled model.
        type: mjtJoint.
    """

    joint: SourceJoint
    dof: int
    words: dict
    index: int
    type: int

    @property
    def is_scalar(self) -> bool:
        """Whether it has one coordinate."""
        return self.type in (SLIDE, HINGE)

    @property
    def path(self) -> str:
        """Dotted path of its words in the scene."""
        group = next(
            (
                (key, k)
                for key, axes in self.joint.words.get("axes", {}).items()
                for k, one in enumerate(axes)
                if one is self.words
            ),
            None,
        )
        return f"joints.{self.joint.name}" + (f".axes.{group[0]}[{group[1]}]" if group else "")
