"""Cables of a scene: stiffnesses as written or from the material, and the rest that the authored configuration is."""

import math

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.joint_inputs import JointReader
from simcli.model.joints.links import stack_worlds
from simcli.model.joints.mechanism import JointInput
from simcli.model.tables.force_tables import Cables
from simcli.model.tables.model import Array, JointKind
from simcli.model.tables.worlds import Worlds
from simcli.spec.lookup.scene_values import axis_of
from simcli.spec.schema.joint import JointSpec

_STRETCH = 1e5  # [N/m] where bend or twist alone are written: Newton's default
DAMPINGS = ("stretch_damping", "bend_damping", "twist_damping")


def stiffnesses(joint: JointSpec) -> tuple[float, float, float]:
    """Stiffnesses of a cable.

        stretch = E A / L,   bend = E I / L,   twist = G J / L     of a circular section
        A = pi r^2,   I = pi r^4 / 4,   J = pi r^4 / 2,   G = E / (2 (1 + nu))

    Args:
        joint: of type cable, with stiffnesses or with youngs, poisson, radius and length.

    Returns:
        stretch [N/m], bend [N m/rad], twist [N m/rad].

    Source: the cable of the Newton engine; sections by Euler and Bernoulli. No deviation.
    """
    if joint.youngs is None:
        bend = joint.bend or 0.0
        return (_STRETCH if joint.stretch is None else joint.stretch), bend, (bend if joint.twist is None else joint.twist)
    area = math.pi * joint.radius**2
    second = 0.25 * math.pi * joint.radius**4
    shear = joint.youngs / (2.0 * (1.0 + joint.poisson))
    return joint.youngs * area / joint.length, joint.youngs * second / joint.length, shear * 2.0 * second / joint.length


def dampings(joint: JointSpec) -> tuple[float, float, float]:
    """Dampings of a cable: stretch [N s/m], bend [N m s/rad], twist [N m s/rad]; the last is `bend` if left out."""
    bend = joint.bend_damping or 0.0
    return joint.stretch_damping or 0.0, bend, (bend if joint.twist_damping is None else joint.twist_damping)


def read_cables(worlds: Worlds, parts: list[JointInput], reader: JointReader) -> Cables:
    """The cables of a scene, at rest in the authored configuration.

    Args:
        worlds: the scenes.
        parts: all joints, placed.
        reader: knows the poses of the bodies.

    Returns:
        The table.
    """
    chosen = [(j, part) for j, part in enumerate(parts) if part.kind == JointKind.CABLE]
    names = [part.name for _, part in chosen]
    elastic = _columns(worlds, names, stiffnesses)
    viscous = _columns(worlds, names, dampings)
    tangents = [worlds.numbers(lambda s, n=name: axis_of(s.world.plane, s.joints[n]), (3,)) for name in names]
    return Cables(
        name=tuple(names),
        joint=np.array([j for j, _ in chosen], np.int32),
        tangent=stack_worlds([rot.unit(tangent) for tangent in tangents], (3,)),
        rest=stack_worlds([reader.relative(part) for _, part in chosen], (7,)),
        **dict(zip(("stretch", "bend", "twist"), elastic, strict=True)),
        **dict(zip(DAMPINGS, viscous, strict=True)),
    )


def _columns(worlds: Worlds, names: list[str], law) -> list[Array]:
    values = [worlds.numbers(lambda s, n=name: law(s.joints[n]), (3,)) for name in names]
    return [stack_worlds([value[:, k] for value in values], ()) for k in range(3)]
