"""Words that vectors of the processor do not know: bit for bit what numpy does, lane by lane."""

import numpy as np
import pytest

from simcli.kernels.device.runtime import compile_thoroughly
from simcli.kernels.language import ti
from simcli.kernels.language.vectors import is_nan, vector
from simcli.kernels.memory.arena import Arena, any_lane, get_lane, put_lane
from simcli.kernels.memory.notes import Notes

ODD = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 1e-290, -1e-290, 1e308, -1e308])


@pytest.fixture(params=["quickly", "thoroughly, for one scene"])
def evaluate(device, request):
    """Apply a device function to packs, one number per world."""
    is_thorough = request.param != "quickly"

    def run(body, *arguments):
        arena = Arena(device, len(arguments[0]))
        arena.is_own = is_thorough
        given, found = arena.slot(len(arguments)), arena.slot(1)
        arena.build()

        @ti.kernel
        def apply(g: ti.template(), f: ti.template()):
            ti.loop_config(block_dim=1)
            for w in range(arena.n_blocks):
                arena.enter(w)
                f.store(w, 0, body(*load_all(g, w)))

        def load_all(slot, w):
            return [slot.load(w, k) for k in range(len(arguments))]

        given.write(np.stack(arguments, axis=1)[..., None])
        compile_thoroughly(is_thorough)
        arena.launch(apply, given, found)
        compile_thoroughly(False)
        result = found.read()[:, 0, 0].copy()
        arena.destroy()
        return result

    return run


def same_bits(found, wanted):
    """A NaN is a NaN, whatever its sign."""
    assert (np.isnan(found) == np.isnan(wanted)).all()
    there = ~np.isnan(wanted)
    assert found[there].tobytes() == wanted[there].tobytes()


def test_negation_and_magnitude(evaluate):
    same_bits(evaluate(lambda x: -x, ODD), -ODD)
    same_bits(evaluate(lambda x: ti.abs(x), ODD), np.abs(ODD))
    same_bits(evaluate(lambda x: abs(-x), ODD), np.abs(ODD))


def test_what_is_not_a_number(evaluate):
    same_bits(evaluate(lambda x: ti.select(is_nan(x), 1.0, 0.0), ODD), np.isnan(ODD).astype(float))


@ti.func
def in_turn(x: ti.template(), y: ti.template()):
    """Every augmented assignment that device code uses."""
    total = x + 0.0
    total += y
    total *= x
    total -= y
    total /= 3.0
    return total


def test_augmented_assignments(evaluate):
    x, y = np.random.default_rng(1).normal(size=(2, 11))
    same_bits(evaluate(in_turn, x, y), ((x + y) * x - y) / 3.0)


def any_of(mask):
    return ti.select(any_lane(mask), 1.0, 0.0)


def test_a_mask_is_set_in_each_lane_alone(evaluate, device):
    for k in range(2 * device.lanes):
        x = np.zeros(2 * device.lanes)
        x[k] = 1.0
        found = evaluate(lambda x: x * 0.0 + any_of(x > 0.5), x)
        assert (found == (np.arange(len(x)) // device.lanes == k // device.lanes)).all()


def lane_of_mask(x, k):
    return ti.select(get_lane(x > 0.5, k) != 0, 1.0, 0.0)


def test_lanes_of_a_mask_are_read(evaluate, device):
    x = (np.arange(2 * device.lanes) % 3 == 1).astype(float)
    for k in range(device.lanes):
        found = evaluate(lambda x, k=k: x * 0.0 + lane_of_mask(x, k), x)
        assert (found.reshape(2, -1) == x.reshape(2, -1)[:, k, None]).all()


@pytest.mark.parametrize("width", [1, 6])
def test_notes_keep_numbers_and_vectors(device, width):
    arena = Arena(device, 1 + device.lanes)
    before, notes, whole, after = Notes(arena), Notes(arena, width=width), Notes(arena, ti.i32), Notes(arena)
    for each in (before, notes, whole, after):
        each.reserve(4)
    arena.build()

    @ti.kernel
    def write(n: ti.template(), m: ti.template()):
        for w in range(arena.n_blocks):
            arena.enter(w)
            for k in range(4):
                n.store(w, k, made(w, k))
                m.store(w, k, 1000 * w + k)
            n.store(w, 1, n.load(w, 2))
            m.store(w, 1, -m.load(w, 2))

    def made(w, k):
        numbers = [100.0 * w + 10.0 * k + j for j in range(width)]
        if width == 1:
            return numbers[0]
        value = vector(numbers)
        put_lane(value, 2, get_lane(value, 2) + 0.5)
        return value

    arena.launch(write, notes, whole)
    wanted = 100.0 * np.arange(2)[:, None, None] + 10.0 * np.arange(4)[:, None] + np.arange(width)
    wanted[..., 2:3] += 0.5
    wanted[:, 1] = wanted[:, 2]
    assert (notes.memory == wanted).all()
    assert (whole.memory[..., 0] == [[0, -2, 2, 3], [1000, -1002, 1002, 1003]]).all()
    assert not before.memory.any()
    assert not after.memory.any()
    arena.destroy()


def test_packs_are_found_by_item_and_by_number(device):
    """What is written in one way is read in the other, at once."""
    arena = Arena(device, 3)
    spread, slot = arena.slot(5), arena.slot_by_rows(4)
    arena.build()

    @ti.kernel
    def write(s: ti.template(), rows: ti.template(), first: ti.i32):
        for w in range(arena.n_blocks):
            arena.enter(w)
            for k in range(4):
                rows.store(w, first + k, s.load(w, k) + 1.0)
                s.store(w, k, s.load(w, k) * 2.0)
                rows.store(w, first + k, rows.load(w, first + k) + s.load(w, k))

    slot.write(np.arange(12.0).reshape(3, 4, 1))
    arena.launch(write, slot, arena.by_rows, slot.first)
    assert (slot.read()[..., 0] == 4 * (np.arange(12.0).reshape(3, 4) + 1)).all()
    assert not spread.read().any()
    arena.destroy()


def test_lanes_of_memory_are_those_of_packs(device):
    """A lane that is written is in the pack that is read next, and the other way round."""
    arena = Arena(device, device.lanes)
    slot = arena.slot(2)
    arena.build()

    @ti.kernel
    def write(s: ti.template()):
        for w in range(arena.n_blocks):
            arena.enter(w)
            before = s.load(w, 0)
            put_lane(s.part(w, 0, 0), 1, 5.0)
            s.store(w, 1, s.load(w, 0) + before)
            put_lane(s.part(w, 1, 0), 0, 10.0 * get_lane(s.part(w, 1, 0), 1))

    slot.write(np.ones((1, 2, 1)))
    arena.launch(write, slot)
    first = np.where(np.arange(device.lanes) == 1, 5.0, 1.0)
    assert (slot.read()[:, 0, 0] == first).all()
    assert (slot.read()[:, 1, 0] == np.where(np.arange(device.lanes) == 0, 60.0, first + 1.0)).all()
    arena.destroy()


def test_a_kernel_works_in_one_arena(device):
    arenas = [Arena(device, 1) for _ in range(2)]
    slots = [arena.slot(1) for arena in arenas]
    for arena in arenas:
        arena.build()

    @ti.kernel
    def mix(a: ti.template(), b: ti.template()):
        for w in range(arenas[0].n_blocks):
            arenas[0].enter(w)
            a.store(w, 0, b.load(w, 0))

    with pytest.raises(ti.TaichiCompilationError, match="a kernel works in the arena that launches it"):
        arenas[0].launch(mix, *slots)
    for arena in arenas:
        arena.destroy()
