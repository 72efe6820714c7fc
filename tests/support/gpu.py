"""GPUs for tests: whatever CUDA or Vulkan device there is, software drivers included."""

import numpy as np
import pytest

GPUS = ("cuda", "vulkan")
AGREEMENT = {"float64": 1e-10, "float32": 1e-5}  # promised between devices; some last places of float32 over 100 steps
DOUBLE_PENDULUM = """
simcli: 1
bodies:
  upper: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.01]}}
  lower: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.01]}}
joints:
  shoulder: {type: revolute, parent: world, child: upper, axis: [0, 1, 0], q: 1.2}
  elbow: {type: revolute, parent: upper, child: lower, at: [0, 0, -1], axis: [0, 1, 0], q: 0.7}
solver: {type: generalized, dt: 1e-3, precision: PRECISION}
run: {duration: 0.1}
output: {every: 1e-2}
"""


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


def columns_of(solver):
    """All columns of a run."""
    blocks = [solver.initial()]
    n_frames = solver.plan.n_frames
    while sum(len(block.step) for block in blocks) <= n_frames:
        blocks.append(solver.advance(n_frames + 1 - sum(len(block.step) for block in blocks)))
    return {name: np.concatenate([block.columns[name] for block in blocks]) for name in blocks[0].columns}


def assert_agree(found, wanted, bound):
    for name, values in wanted.items():
        size = np.nanmax(np.abs(values), initial=1e-300)
        assert np.array_equal(np.isnan(found[name]), np.isnan(values)), name
        assert np.nanmax(np.abs(found[name] - values), initial=0.0) <= bound * max(size, 1.0), name
