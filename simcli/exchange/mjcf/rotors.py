"""Damping and armature that actuators give to the joint or the tendon that they act on, times the square of their gear.

They act whether or not the actuator pushes: also where it is dropped, or where `option` switches it off. Source: MuJoCo
documentation (Todorov 2014), XML reference, actuator/general: damping, armature.
"""

from typing import NamedTuple

from simcli.exchange.mjcf.source import MjcfSource


class Rotors(NamedTuple):
    """What the actuators of a joint or a tendon add to it.

    Attributes:
        damping: [N s/m, N m s/rad].
        armature: [kg, kg m^2].
    """

    damping: float
    armature: float


def rotors_of(source: MjcfSource, kind: str, index: int) -> Rotors:
    """Sums over the actuators of a part.

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
