"""What a program gives for worlds: numbers, and which worlds."""

import numpy as np

from simcli.errors import UsageError
from simcli.kernels.device.dlpack import on_host


def fitting_numbers(what: str, value: object, shape: tuple[int, ...], worlds: np.ndarray | None = None,
                    dtype: type = float) -> np.ndarray:  # fmt: skip
    """Values of a shape.

    Args:
        what: what they are of, for messages, as "control of `pin`".
        value: broadcastable to the shape; of one number for each world also (worlds,). Arrays of other libraries have
            `__dlpack__`.
        shape: (worlds, ...).
        worlds: numbers of the worlds behind the rows; None for all.
        dtype: float, or bool.

    Returns:
        [as given], a view that is not to be written.

    Raises:
        UsageError: they do not fit, or are not finite.
    """
    value = on_host_of(what, value)
    try:
        values: np.ndarray = np.asarray(value, dtype)
    except (ValueError, TypeError, OverflowError):
        raise UsageError(f"{what}: {value!r} is no number, and no list or array of numbers") from None
    if dtype is bool and not np.isin(np.asarray(value), (0, 1)).all():
        raise UsageError(f"{what}: {value!r} is no flag, and no list or array of flags; write True or False")
    if values.shape == shape[:1] and shape[1:] == (1,):
        values = values[:, None]
    try:
        values = values if values.shape == shape else np.broadcast_to(values, shape)
    except ValueError:
        fits = f"values of shape {values.shape} do not fit (worlds, numbers) = {shape}"
        raise UsageError(f"{what}: {fits}") from None
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argwhere(~finite)[0, 0])
        raise UsageError(f"{what}: the value for world {row if worlds is None else worlds[row]} is not finite")
    return values


NOT_LENT = (BufferError, RuntimeError, TypeError, ValueError)  # what arrays of other libraries raise that cannot be had


def on_host_of(what: str, value: object) -> object:
    """A value, or the numbers of an array of another library.

    Raises:
        UsageError: they cannot be had.
    """
    if not hasattr(value, "__dlpack__") or isinstance(value, np.ndarray | np.generic):
        return value
    try:
        return on_host(value)
    except NOT_LENT as error:
        raise UsageError(f"{what}: the array cannot be taken by dlpack: {str(error) or type(error).__name__}") from None


def mask_of_worlds(worlds: object, n_worlds: int) -> np.ndarray:
    """Worlds as a mask (W,).

    Args:
        worlds: a mask (W,), or numbers of worlds; None for all.
        n_worlds: W.

    Raises:
        UsageError: neither a mask nor numbers of worlds.
    """
    if worlds is None:
        return np.ones(n_worlds, bool)
    worlds = on_host_of("worlds", worlds)
    try:
        given = np.asarray(worlds)
    except ValueError:  # rows of several lengths
        given = np.array("")
    if given.dtype == bool and given.shape == (n_worlds,):
        return given
    mask = np.zeros(n_worlds, bool)
    if given.size == 0:
        return mask
    if given.dtype.kind not in "iu" or np.any((given < 0) | (given >= n_worlds)):
        raise UsageError(f"worlds: a mask of {n_worlds}, or numbers from 0 to {n_worlds - 1}")
    mask[given] = True
    return mask


def spread_of(values: np.ndarray) -> str:
    """Numbers of worlds, (worlds, ...), for people."""
    flat = values.reshape(len(values), -1)
    low, high = (" ".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in end.tolist())
                 for end in (flat.min(axis=0), flat.max(axis=0)))  # fmt: skip
    return low if low == high else f"{low} to {high} over the worlds"
