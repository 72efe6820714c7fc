"""Vectors and matrices: products, lengths, frames."""

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

_Array = np.ndarray
_BY_NUMPY = {math.sin: np.sin, math.cos: np.cos, math.atan2: np.arctan2}
_MANY_CALLS = 64  # numbers, from which on it is asked for
_TRIED = 2000  # numbers; of those by another routine a tenth differs in the last bit
_MANY = 4096  # numbers, from which on loops over worlds are worth that their numbers are laid side by side


def joined(components: Sequence[_Array], like: _Array, shape: tuple[int, ...] = ()) -> _Array:
    """Components as one array that lies in memory as another one does; see `is_by_components`.

    Args:
        components: n arrays (...), of shapes that go together.
        like: the other one.
        shape: of n components, if it is not (n,).

    Returns:
        (..., *shape).
    """
    if not is_by_components(like):
        found = np.stack(components, axis=-1)
        return found.reshape(*found.shape[:-1], *shape) if shape else found
    found = np.empty((*np.broadcast_shapes(*map(np.shape, components)), len(components)), order="F")
    for k, one in enumerate(components):
        found[..., k] = one
    return found.reshape(*found.shape[:-1], *shape[::-1], order="F").swapaxes(-1, -2) if shape else found


def is_by_components(a: _Array) -> bool:
    """Whether an array lies component by component, the first axis side by side, as Fortran has it.

    That is several times faster where the first axis is long, as that of worlds; all functions here give what they take.
    """
    return a.ndim > 1 and 0 < a.strides[0] < a.strides[-1]


def dot(a: _Array, b: _Array) -> _Array:
    """Scalar product over the last axis.

    Args:
        a: (..., 3).
        b: (..., 3).

    Returns:
        (...).
    """
    found = a[..., 0] * b[..., 0]
    found += a[..., 1] * b[..., 1]
    found += a[..., 2] * b[..., 2]
    return found


def cross(a: _Array, b: _Array) -> _Array:
    """Vector product over the last axis; several times faster than numpy's on small arrays.

    Args:
        a: (..., 3).
        b: (..., 3).

    Returns:
        (..., 3).
    """
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return joined((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), a if is_by_components(a) else b)


def skew(v: _Array) -> _Array:
    """Matrix that multiplies by v from the left in the vector product.

    Args:
        v: (..., 3).

    Returns:
        (..., 3, 3).
    """
    zero = np.zeros(v.shape[:-1])
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    return joined((zero, -z, y, z, zero, -x, -y, x, zero), v, (3, 3))


def skew_product(a: _Array, b: _Array) -> _Array:
    """Product of the matrices of two vectors, `skew(a)` times `skew(b)`, without the zeros in them.

        b a^T - (a . b) E

    Args:
        a: (..., 3).
        b: (..., 3).

    Returns:
        (..., 3, 3), no zero in it with a sign.
    """
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    x, y, z = ax * bx, ay * by, az * bz
    found = joined(
        (-z - y, ay * bx, az * bx, ax * by, -z - x, az * by, ax * bz, ay * bz, -y - x),
        a if is_by_components(a) else b,
        (3, 3),
    )
    found += 0.0
    return found


def square_of(v: _Array) -> _Array:
    """Square of the length, (...), of (..., n)."""
    return sum(v[..., i] * v[..., i] for i in range(v.shape[-1]))


def unit(v: _Array) -> _Array:
    """Vector of length one in the same direction.

    Args:
        v: (..., n), not zero.

    Returns:
        [1], (..., n).
    """
    v = np.asarray(v, dtype=float)
    largest = np.abs(v).max(axis=-1, keepdims=True)  # against overflow of the squares
    v = v / largest
    return v / np.sqrt(square_of(v))[..., None]


def turn(R: _Array, v: _Array) -> _Array:
    """Product of matrices and vectors.

    Args:
        R: (..., 3, 3).
        v: (..., 3).

    Returns:
        (..., 3).
    """
    found = R[..., 0] * v[..., 0:1]
    found += R[..., 1] * v[..., 1:2]
    found += R[..., 2] * v[..., 2:3]
    return found


def multiply(A: _Array, B: _Array) -> _Array:
    """Product of 3 x 3 matrices.

    Args:
        A: (..., 3, 3).
        B: (..., 3, n).

    Returns:
        (..., 3, n).
    """
    if A.ndim != B.ndim or A.size + B.size < _MANY or is_by_components(A) or is_by_components(B):
        found = A[..., :, 0:1] * B[..., 0:1, :]
        found += 0.0  # no zeros with a sign
        for i in (1, 2):
            found += A[..., :, i : i + 1] * B[..., i : i + 1, :]
        return found
    A, B = (np.ascontiguousarray(np.moveaxis(a, (-2, -1), (0, 1))) for a in (A, B))  # the same sums, in the same order
    return np.ascontiguousarray(np.moveaxis(sum(A[:, i, None] * B[None, i] for i in range(3)), (0, 1), (-2, -1)))


def transpose(R: _Array) -> _Array:
    """Transpose of the last two axes.

    Args:
        R: (..., n, m).

    Returns:
        (..., m, n).
    """
    return np.swapaxes(R, -1, -2)


def each(function: Callable[..., float], *values: _Array) -> _Array:
    """A function of the maths library, number by number: a vectorised one may round by the number of its items."""
    order = "F" if any(map(is_by_components, values)) else "C"
    values = np.broadcast_arrays(*values)
    if values[0].size >= _MANY_CALLS and _is_called_by_numpy(function):
        return _BY_NUMPY[function](*(np.array(v, order=order) for v in values))
    flat = [function(*x) for x in zip(*(v.ravel(order).tolist() for v in values), strict=True)]
    return np.array(flat, float).reshape(values[0].shape, order=order)


@cache
def _is_called_by_numpy(function: Callable[..., float]) -> bool:
    """Whether numpy calls the same function for each number, as it does where it has none for this processor."""
    if function not in _BY_NUMPY:
        return False
    table = np.linspace(-9.0, 9.0, 2 * _TRIED).reshape(2, -1)
    values = table if function is math.atan2 else table[:1]
    return np.array_equal([function(*x) for x in values.T.tolist()], _BY_NUMPY[function](*values))


def frame_along(axis: _Array) -> _Array:
    """Right-handed frame whose z axis is the given axis.

    The x axis is the coordinate direction that follows the largest component of `axis` in cyclic order, made
    perpendicular to it: axis z gives (x, y, z), axis x gives (y, z, x), axis y gives (z, x, y), all exact.

    Args:
        axis: [1], (..., 3), unit.

    Returns:
        [1], (..., 3, 3), columns x y z.
    """
    axis = np.asarray(axis, dtype=float)
    largest = np.abs(axis).argmax(axis=-1)
    guide = np.eye(3)[(largest + 1) % 3]
    x = unit(guide - dot(guide, axis)[..., None] * axis)
    return np.stack((x, cross(axis, x), axis), axis=-1)
