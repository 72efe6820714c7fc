"""The forces that a scene can name, a file each: keys, what they refer to, who supports them.

The numbers of a force are read by the file of the same name in model/forces/; what it does stands in kernels/.

    base      what all have: who supports it, its ends, what signals may drive
    spring    springs between two points
    wrench    wrenches on bodies
    torque    efforts on joints
    torsion   torsion springs of joints
    bushing   springs of six axes between two frames
    coupling  linear combinations of joint coordinates
    drag      drag on bodies
"""

from typing import TYPE_CHECKING, Annotated, Union, get_args

from simcli.spec.forces.base import ForceBase
from simcli.spec.forces.bushing import BushingForce
from simcli.spec.forces.coupling import CouplingForce
from simcli.spec.forces.drag import DragForce
from simcli.spec.forces.spring import SpringForce
from simcli.spec.forces.torque import TorqueForce
from simcli.spec.forces.torsion import TorsionForce
from simcli.spec.forces.wrench import WrenchForce
from simcli.spec.values.spec_model import ByType

FORCES: tuple[type[ForceBase], ...] = (SpringForce, WrenchForce, TorqueForce, TorsionForce, BushingForce, CouplingForce,
                                       DragForce)  # fmt: skip
WITH_AXES = frozenset(get_args(force.model_fields["type"].annotation)[0] for force in FORCES if "axes" in force.model_fields)
if TYPE_CHECKING:
    ForceSpec = ForceBase
else:
    ForceSpec = Annotated[Union[FORCES], ByType(*FORCES)]  # noqa: UP007 (of a list)
