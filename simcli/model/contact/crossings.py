"""Which pairs of shapes cut each other: edges through triangles, points below planes."""

from collections.abc import Iterator

import numpy as np

from simcli.model.contact.surfaces import HALF_SPACE, Surfaces
from simcli.model.contact.tables import Contacts, Pairs
from simcli.model.table_base import Array


def crossings(host: Surfaces, contacts: Contacts, vertex: Array) -> Iterator[tuple[int, tuple[int, int]]]:
    """Worlds and pairs of shapes whose surfaces cut each other or, at a half space, touch it.

    Args:
        host: surfaces.
        contacts: which shapes can touch.
        vertex: [m], (W, V, 3), all vertices in the world.
    """
    low, high = (bound_of(host, vertex, side) for side in (np.min, np.max))
    for pairs in contacts.partners():
        a, b = pairs.shape_a, pairs.shape_b
        reach = _reach(host, contacts, pairs)
        near = ((low[:, a] <= high[:, b]) & (low[:, b] <= high[:, a])).all(axis=-1)
        is_plane = host.core[a] == HALF_SPACE
        for k in np.flatnonzero(near.any(axis=0) | is_plane).tolist():
            pair = int(a[k]), int(b[k])
            if is_plane[k]:
                yield from ((world, pair) for world in _below(host, vertex, *pair, reach[:, k]))
                continue
            for world in np.flatnonzero(near[:, k]).tolist():
                if cut(host, vertex[world], *pair) or cut(host, vertex[world], *pair[::-1]):
                    yield world, pair


def _reach(host: Surfaces, contacts: Contacts, pairs: Pairs) -> Array:
    """[m], (W|1, P), how far apart the cores of two shapes touch."""
    bare, full = (radius[:, pairs.shape_a] + radius[:, pairs.shape_b] for radius in (host.bare, host.radius))
    margin = contacts.margin[:, pairs.combination]
    return np.where(np.isnan(margin), full, bare + margin)


def _below(host: Surfaces, vertex: Array, a: int, b: int, reach: Array) -> list[int]:
    """Worlds in which shape b is as near to the half space a as they touch."""
    origin = vertex[:, host.vertex_start[a]]
    height = np.einsum("wvk,wk->wv", vertex[:, part(host.vertex_start, b)] - origin[:, None],
                       np.broadcast_to(host.normal[:, a], origin.shape))  # fmt: skip
    return np.flatnonzero(height.min(axis=1) <= reach).tolist()


def part(start: Array, s: int) -> slice:
    """Entries of shape s."""
    return slice(start[s], start[s + 1])


def bound_of(host: Surfaces, vertex: Array, side) -> Array:
    """[m], (W, S, 3), least or largest coordinates of the cores; NaN of shapes without vertices."""
    empty = np.full((len(vertex), 3), np.nan)
    parts = [vertex[:, part(host.vertex_start, s)] for s in range(len(host.core))]
    return np.stack([side(points, axis=1) if points.shape[1] else empty for points in parts], axis=1)


def cut(host: Surfaces, vertex: Array, a: int, b: int) -> bool:
    """True if an edge of shape a goes through a triangle of shape b."""
    p, q = np.moveaxis(vertex[host.edge[part(host.edge_start, a)]][:, None], 2, 0)
    u, v, w = np.moveaxis(vertex[host.face[part(host.face_start, b)]][None], 2, 0)
    way, normal = q - p, np.cross(v - u, w - u)
    speed = np.einsum("efk,efk->ef", way, normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.einsum("efk,efk->ef", u - p, normal) / speed
        x = p + t[..., None] * way
        size = np.einsum("efk,efk->ef", normal, normal)
        weight_v = np.einsum("efk,efk->ef", np.cross(x - u, w - u), normal) / size
        weight_w = np.einsum("efk,efk->ef", np.cross(v - u, x - u), normal) / size
        hits = (t >= 0) & (t <= 1) & (weight_v >= 0) & (weight_w >= 0) & (weight_v + weight_w <= 1)
    return bool(hits.any())
