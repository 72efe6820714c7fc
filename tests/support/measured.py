"""Measures worked out from the frames of a file that has every step: an oracle in numpy, sums by math.fsum."""

import math

import numpy as np

from simcli.spec.base.channel_names import split_name


def quantity(run, spec) -> np.ndarray:
    """(F, W, n) what a measure reduces."""
    group, subject, word = split_name(spec.quantity)
    if group == "energy":
        column = getattr(run.energy, word)[...][..., None]
    elif group == "joint" and word != "wrench":
        column = getattr(run.joint(subject), word)[...]
    else:
        column = getattr(getattr(run, group)(subject), word)[...]
    if spec.frame == "body":
        owner = subject if group == "body" else subject.rpartition("/")[0]
        if group == "joint":
            owner = run.bodies[int(run.model["joint_child"][run.joints.index(subject)])]
        column = column.reshape(*column.shape[:-1], -1, 3) if group == "joint" else column[..., None, :]
        column = turned_back(run.body(owner).orientation[...], column).reshape(*column.shape[:2], -1)
    if spec.norm:
        return np.sqrt(np.square(column).sum(axis=-1, keepdims=True))
    return column if spec.component is None else column[..., [spec.component]]


def turned_back(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors in the axes of a body: R^T v."""
    x, y, z, w = np.moveaxis(q, -1, 0)
    R = np.stack(
        [
            1 - 2 * (y * y + z * z),
            2 * (x * y - z * w),
            2 * (x * z + y * w),
            2 * (x * y + z * w),
            1 - 2 * (x * x + z * z),
            2 * (y * z - x * w),
            2 * (x * z - y * w),
            2 * (y * z + x * w),
            1 - 2 * (x * x + y * y),
        ],
        -1,
    ).reshape(*q.shape[:-1], 3, 3)
    return np.einsum("fwji,fwnj->fwni", R, v)


def reduced(spec, t: np.ndarray, x: np.ndarray) -> tuple[float, float | None]:
    """A measure of one component of one world, and when; None where the time says nothing.

    Args:
        spec: of the measure.
        t: [s], (F,), all steps that count.
        x: (F,).
    """
    span = t[-1] - t[0]
    mean_of = lambda y: math.fsum((y[1:] + y[:-1]) * 0.5 * np.diff(t)) / (span or 1.0)  # noqa: E731
    kind = spec.reduction
    if kind in ("max", "min", "max_abs"):
        at = int({"max": np.argmax, "min": np.argmin}.get(kind, lambda y: np.argmax(np.abs(y)))(x))
        return (abs(x[at]) if kind == "max_abs" else x[at]), t[at]
    if kind in ("first", "last_outside", "count"):
        return _crossing(spec, t, x), None
    return {
        "range": lambda: x.max() - x.min(),
        "final": lambda: x[-1],
        "mean": lambda: mean_of(x),
        "integral": lambda: mean_of(x) * span,
        "rms": lambda: math.sqrt(mean_of(x * x)),
        "std": lambda: math.sqrt(mean_of(np.square(x - x[0])) - mean_of(x - x[0]) ** 2),
    }[kind](), None


def _crossing(spec, t: np.ndarray, x: np.ndarray) -> float:
    low = -math.inf if spec.below is None else spec.below
    low, high = spec.within or (low, math.inf if spec.above is None else spec.above)
    beyond = (x > high) | (x < low)
    if spec.reduction == "count":
        return float(beyond[0] + (beyond[1:] & ~beyond[:-1]).sum())
    if not beyond.any():
        return math.nan
    if spec.reduction == "last_outside":
        return t[np.flatnonzero(beyond)[-1]]
    k = int(np.argmax(beyond))
    bound = high if x[k] > high else low
    return t[0] if k == 0 else t[k - 1] + (t[k] - t[k - 1]) * (bound - x[k - 1]) / (x[k] - x[k - 1])
