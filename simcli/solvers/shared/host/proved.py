"""What is refused on devices that compile by way of SPIR-V, because no run has proved it there.

Proved on a software driver (tests/test_gpu_devices.py): the generalized solver without contact. Contact gives the numbers of
the CPU there, but takes minutes to compile; measures and the other solvers have not been compared.
"""

from collections.abc import Sequence

from simcli.errors import DeviceError
from simcli.kernels.device.runtime import Device
from simcli.model.tables import Model

PROVED = "generalized"  # solver


def refuse_unproved(device: Device, solver: str, models: Sequence[Model], has_measures: bool = False) -> None:
    """Refuse a run that its device has not been proved for.

    Args:
        device: of the run.
        solver: `solver.type` of the scene.
        models: of all phases.
        has_measures: whether quantities are measured, recorded, or end worlds.

    Raises:
        DeviceError: SC715.
    """
    has_contact = any(model.contacts is not None for model in models)
    if not device.by_spirv or (solver == PROVED and not has_contact and not has_measures):
        return
    else_what = "contact" if has_contact else "a quantity that is measured, recorded or ends a world"
    what = f"the solver `{solver}`" if solver != PROVED else else_what
    raise DeviceError(f"SC715: {what} is not proved on device `{device.arch}` ({device.name}), whose kernels are compiled "
                      "by way of SPIR-V: use --device cpu or cuda")
