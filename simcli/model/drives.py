"""Which fields of a drive its mode reads, for all drives of a model at once."""

import numpy as np

from simcli.model.tables import Array, DriveMode
from simcli.spec.check_drives import READS


def reads(mode: Array, field: str) -> Array:
    """Where drives read a field.

    Args:
        mode: (...) DriveMode.
        field: of `spec.schema_joint.DriveSpec`: target, target_velocity, stiffness or damping.

    Returns:
        (...) bool, False where there is no drive.
    """
    return np.isin(mode, [DriveMode[name.upper()] for name, fields in READS.items() if field in fields])
