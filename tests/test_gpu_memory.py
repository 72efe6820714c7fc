"""The memory of a GPU, imitated and real: what holds on the CPU holds there."""

import numpy as np
import pytest
import test_kernels_elementary as test_kernels_vectors
import test_kernels_shared
from support.gpu import GPUS, started

from simcli.errors import DeviceError
from simcli.kernels.device.runtime import replace, start_device
from simcli.kernels.language import ti
from simcli.kernels.memory import storage
from simcli.kernels.memory.arena import Arena

SINGLE = 4  # bytes of float32


@pytest.fixture(params=["like_gpu", *(pytest.param(gpu, marks=pytest.mark.gpu) for gpu in GPUS)])
def device(request):
    if request.param == "like_gpu":
        return start_device("cpu", "float64", threads=1, like_gpu=True)
    return started(request.param, "float64")


test_notes_keep_numbers_and_vectors = test_kernels_vectors.test_notes_keep_numbers_and_vectors
test_packs_are_found_by_item_and_by_number = test_kernels_vectors.test_packs_are_found_by_item_and_by_number
test_memory_is_of_zeros = test_kernels_shared.test_memory_is_of_zeros_and_keeps_what_is_written


def test_tables_follow_the_host(device):
    """Those of a change of phase, and single numbers; no other number changes."""
    arenas = [Arena(device, 2) for _ in range(2)]
    tables = [(arena.ints([3 * k, 2**24 + 1, -1]), arena.shared([0.5 * k, 1.5])) for k, arena in enumerate(arenas, 1)]
    arena, (whole, real) = arenas[0], tables[0]
    found = arena.slot(5)
    arena.build()

    read = reader(arena, whole, real, found)
    for other, wanted in ((arena, (3, 2**24 + 1, -1, 0.5, 1.5)), (arenas[1], (6, 2**24 + 1, -1, 1.0, 1.5))):
        if other is not arena:
            other.slot(5)
            arena.refill(other)
        arena.launch(read)
        np.testing.assert_array_equal(found.read()[..., 0], [wanted, wanted])
    real.set(1, -7.0)
    arena.launch(read)
    np.testing.assert_array_equal(found.read()[..., 0], 2 * [(6, 2**24 + 1, -1, 1.0, -7.0)])
    arena.destroy()


def reader(arena, whole, real, found):
    """A kernel that writes tables into a slot."""

    @ti.kernel
    def read():
        for w in range(arena.n_blocks):
            arena.enter(w)
            for k in range(3):
                found.store(w, k, arena.zero() + whole.at(k))
            for k in range(2):
                found.store(w, 3 + k, arena.zero() + real.load(w, k))

    return read


@pytest.mark.parametrize(("arch", "name"), [("cpu", "MOST_NUMBERS"), ("vulkan", "_MOST_BYTES")])
def test_memory_that_a_gpu_does_not_reach_is_refused(arch, name, monkeypatch):
    device = replace(start_device("cpu", "float32", threads=1, like_gpu=True), arch=arch)
    arena = Arena(device, 1)
    arena.slot(3)
    arena.build()  # within bounds
    n = arena.storage.given.shape[0]
    bound = n if name == "MOST_NUMBERS" else n * SINGLE
    monkeypatch.setattr(storage, name, bound)
    storage.DeviceStorage(device, 1, n - 1, (1, 1, 1))
    with pytest.raises(DeviceError, match=r"SC714: .* are more than kernels reach: simulate smaller worlds"):
        storage.DeviceStorage(device, 1, n, (1, 1, 1))
    with pytest.raises(DeviceError, match=rf"SC714: .* reach: {n // 2} of {n} worlds fit.* --world 0-{n // 2 - 1}, .*merge"):
        storage.DeviceStorage(device, 1, 0, (n, 2, 2))
    storage.DeviceStorage(device, 1, 0, (n // 2, 2, 2))


def test_memory_that_a_gpu_does_not_have_is_refused(monkeypatch):
    def fails(*arguments):
        raise RuntimeError("allocate_memory_on_device failed")

    device = start_device("cpu", "float32", threads=1, like_gpu=True)
    monkeypatch.setattr(storage.ti, "ndarray", fails)
    with pytest.raises(DeviceError, match=r"SC714: .* more than the device has given \(allocate.*: simulate smaller worlds"):
        Arena(device, 1).build()
