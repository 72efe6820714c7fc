"""GPUs for tests: whatever CUDA or Vulkan device there is, software drivers included."""

import pytest

GPUS = ("cuda", "vulkan")


def started(name, precision):
    """A GPU, or a skip where there is none of this kind or none with this precision."""
    from simcli.errors import DeviceError
    from simcli.kernels.device.runtime import start_device

    try:
        return start_device(name, precision)
    except DeviceError as error:
        if "not available" in str(error) or (precision == "float64" and "SC712" in str(error)):
            pytest.skip(str(error))
        raise
