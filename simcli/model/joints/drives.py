"""Which fields of a drive its mode reads, for all drives of a model at once."""

import numpy as np

from simcli.model.tables import Array, DriveMode
from simcli.spec.capabilities.drives import READS

_FIELDS = {name for names in READS.values() for name in names}
_READING = {name: np.array([name in READS.get(mode.name.lower(), ()) for mode in DriveMode]) for name in _FIELDS}


def reads(mode: Array, field: str) -> Array:
    """Where drives read a field.

    Args:
        mode: (...) DriveMode.
        field: of `spec.schema_joint.DriveSpec`: target, target_velocity, stiffness or damping.

    Returns:
        (...) bool, False where there is no drive.
    """
    return _READING[field][mode]
