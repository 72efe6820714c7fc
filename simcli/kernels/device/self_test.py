"""What a GPU must get right before a run is trusted to it: the elementary functions, undefined numbers, and loops.

Drivers and their compilers fold constants, leave out functions of float64, or end loops early, and say nothing. So a device
computes known numbers when it starts, with the code that the runs use, and is refused if one is wrong.

What relies on the order of operations, on numbers that are undefined, or on bits, and what covers it here:

    elementary.rounded, sincos              rounding, sine, cosine
    angles that go on by whole turns        nearest turn (rows, loops, laws, forms, projection, quadratic, potentials)
    expressions.is_nan                      SEEN: is it NaN
    watch.judge_speed, worse_of             SEEN: is it below infinity
    rollout.poison_of, report.unload_part   SEEN: is 1 + x * NaN still 1, is it NaN
    arena.whole, put_whole, numbers         BITS: whole numbers as the bits of real ones
    rollout, clock.time_of                  integers of 64 bits
    loops, loop_bounds                      turns of a loop
"""

from collections.abc import Callable

import numpy as np

from simcli.errors import DeviceError
from simcli.kernels.device.runtime import Device
from simcli.kernels.language import elementary, ti
from simcli.kernels.language.expressions import is_nan
from simcli.kernels.language.values import Vec3

_REACH = 1e3  # [rad], largest angle
N = 512  # numbers of each function
# Relative to the largest value of a function near the argument: square roots and quotients of a GPU may be off by 3 ulp,
# and the angle and the vector part of a rotation carry several of them.
ULPS = 32.0
# Turns of a loop. Mesa's software driver ends all loops of an invocation after 65535 in total.
MANY_TURNS = 70_000
_FIRST_STEP, _STEPS = 2**33, 5  # a step count that no 32 bits hold
_TURN = 2.0 * np.pi  # [rad]
UNDEFINED = (np.nan, np.inf, 1.0)
# Of each of them: is it NaN, is it at most 2, is it itself, is it below infinity, does it leave 1 as it is (1 alone).
_SEEN = (1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1)
_BITS = (0, 1, 2, -1, 5, 2**24 + 1, 2**30 + 1, -(2**31), 2**31 - 1)  # as real numbers most are denormal, or NaN

# By name, what numpy gives; numbers are those of the kernel `_evaluate`.
REFERENCES: dict[str, Callable] = {
    "sine": lambda x, y: np.sin(x),
    "cosine": lambda x, y: np.cos(x),
    "rounding": lambda x, y: np.rint(x),
    "square root": lambda x, y: np.sqrt(y),
    "quotient": lambda x, y: x / y,
    "arctangent": lambda x, y: np.arctan2(x, y - 1.0),
    "nearest turn": lambda x, y: y + _TURN * np.rint((x - y) / _TURN),
    "rotation": lambda x, y: _rotation(x, y)[0],
    "cosine of half a rotation": lambda x, y: _rotation(x, y)[1],
    "logarithm": lambda x, y: np.log(y),
}


def _rotation(x, y):
    """First and last component of the unit quaternion of (y, x/1000, -y)."""
    angle = np.sqrt(2.0 * y * y + (x / _REACH) ** 2)
    return y / angle * np.sin(0.5 * angle), np.cos(0.5 * angle)


@ti.kernel
def _evaluate(n: ti.i32, x: ti.types.ndarray(), y: ti.types.ndarray(), out: ti.types.ndarray()):
    """Every function of REFERENCES, n values each, one after another."""
    for k in range(n):
        sine, cosine = elementary.sincos(x[k])
        turn = elementary.exp_rotation(Vec3(y[k], x[k] / _REACH, -y[k]))
        out[k] = sine
        out[n + k] = cosine
        out[2 * n + k] = elementary.rounded(x[k])
        out[3 * n + k] = ti.sqrt(y[k])
        out[4 * n + k] = x[k] / y[k]
        out[5 * n + k] = elementary.atan2(x[k], y[k] - 1.0)
        out[6 * n + k] = y[k] + _TURN * ti.round((x[k] - y[k]) * (1.0 / _TURN))
        out[7 * n + k] = turn.parts[0]
        out[8 * n + k] = turn.parts[3]
        out[9 * n + k] = elementary.logarithm(y[k])


@ti.kernel
def _look(n: ti.i32, x: ti.types.ndarray(), out: ti.types.ndarray()):
    """What worlds that have failed are found and marked by."""
    for k in range(n):
        poison = elementary.select(x[k] == 1.0, x[k] - 1.0, x[k] * ti.math.nan)
        out[5 * k] = ti.select(is_nan(x[k]), 1, 0)
        out[5 * k + 1] = ti.select(x[k] <= 2.0, 1, 0)
        out[5 * k + 2] = ti.select(x[k] == x[k], 1, 0)
        out[5 * k + 3] = ti.select(x[k] < x[k] * 0.0 + ti.math.inf, 1, 0)
        out[5 * k + 4] = ti.select(1.0 + poison == 1.0, 1, 0)


@ti.kernel
def _keep(
    bits: ti.types.ndarray(), real: ti.template(), whole: ti.template(), memory: ti.types.ndarray(), out: ti.types.ndarray()
):
    """Whole numbers into a memory of real ones, one further each, and back: those of the host, and those of this kernel."""
    n = bits.shape[0]
    for k in range(n):
        memory[n + k] = ti.bit_cast(ti.cast(bits[k], whole), real)
        out[k] = ti.cast(ti.bit_cast(memory[k], whole), ti.i32)
        out[n + k] = ti.cast(ti.bit_cast(memory[n + k], whole), ti.i32)


@ti.kernel
def _count(turns: ti.i32, first: ti.i64, steps: ti.i32, out: ti.types.ndarray()):
    """How far a loop comes, and a step count split in two numbers of 20 bits."""
    for w in range(1):
        for k in range(turns):
            out[w] = k + 1
        last = first + ti.cast(turns, ti.i64) * steps
        out[1] = ti.cast(last % 1048576, ti.i32)
        out[2] = ti.cast(last // 1048576, ti.i32)


def refuse_wrong_numbers(device: Device) -> int:
    """Compute known numbers on a device.

    Args:
        device: that Taichi has been started with.

    Returns:
        Turns that the loops of one invocation may take in total; 0 if there is no bound.

    Raises:
        DeviceError: SC711 if a number is wrong, SC712 if a kernel does not compile or run.
    """
    try:
        return _examine(device)
    except RuntimeError as error:
        raise unable(device, error) from error


def unable(device: Device, error: Exception) -> DeviceError:
    """The refusal of a device whose driver or compiler has given up.

    Args:
        device: of a run.
        error: Taichi's.
    """
    reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]
    return DeviceError(
        f"SC712: device `{device.arch}` ({device.name}) cannot compute this in {device.precision}: {reason}; "
        "use --device cpu"
    )


def _examine(device: Device) -> int:
    rng = np.random.default_rng(1)
    x = np.concatenate((rng.uniform(-_REACH, _REACH, N // 2), rng.uniform(-2.0, 2.0, N // 2))).astype(device.dtype)
    y = rng.uniform(1e-3, 2.0, N).astype(device.dtype)
    found = _on_device(device, _evaluate, (x, y), len(REFERENCES) * N, device.dtype).reshape(-1, N)
    for (name, reference), values in zip(REFERENCES.items(), found, strict=True):
        wanted = reference(x.astype(float), y.astype(float))
        error = np.abs(values - wanted) / np.maximum(np.abs(wanted), 1.0)
        if not error.max() <= ULPS * np.finfo(device.dtype).eps:
            k = int(np.nanargmax(np.where(np.isnan(error), np.inf, error)))
            raise _wrong(device, f"{name} of ({x[k]:.9g}, {y[k]:.9g}) is {values[k]:.9g} instead of {wanted[k]:.9g}")
    seen = _on_device(device, _look, (np.array(UNDEFINED, device.dtype),), len(_SEEN), np.int32)
    if tuple(seen.tolist()) != _SEEN:
        raise _wrong(device, "numbers that are undefined or infinite are not found")
    _refuse_lost_bits(device)
    counts = device.buffer((3,), np.int32)
    _count(MANY_TURNS, _FIRST_STEP, _STEPS, counts)
    turns, low, high = device.fetch(counts).tolist()
    if high * 2**20 + low != _FIRST_STEP + _STEPS * MANY_TURNS:
        raise _wrong(device, "integers of 64 bits are wrong")
    return 0 if turns == MANY_TURNS else turns


def _refuse_lost_bits(device: Device) -> None:
    """Refuse a device that changes whole numbers which are kept as the bits of real ones; some flush what is denormal."""
    bits, size = np.array(_BITS, np.int32), device.dtype.itemsize
    memory, out = device.buffer((2 * len(bits),)), device.buffer((2 * len(bits),), np.int32)
    held = np.concatenate((bits, 0 * bits)).astype(f"i{size}").view(device.dtype)
    memory.from_numpy(held)
    _keep(bits, device.real, ti.i64 if size == 8 else ti.i32, memory, out)
    if device.fetch(out).tolist() != 2 * bits.tolist():
        raise _wrong(device, "whole numbers that are kept as the bits of real ones change")


def _on_device(device: Device, kernel, inputs: tuple, size: int, dtype) -> np.ndarray:
    """What a kernel writes into a buffer, NaN or -1 before."""
    out = device.buffer((size,), dtype)
    out.fill(-1 if dtype == np.int32 else np.nan)
    kernel(len(inputs[0]), *inputs, out)
    return device.fetch(out)


def _wrong(device: Device, what: str) -> DeviceError:
    place = f"device `{device.arch}` ({device.name})"
    return DeviceError(f"SC711: {place} computes wrong numbers in {device.precision}: {what}; use --device cpu")
