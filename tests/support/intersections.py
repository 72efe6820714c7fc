"""Whether triangle surfaces cut each other, by edges through triangles: no code of the barrier, no distance.

Edges that end or lie exactly in the plane of a triangle do not count, so that only true crossings are told.
"""

import numpy as np


def edges_of(faces):
    """(E, 2), every edge of the triangles once."""
    pairs = np.sort(np.concatenate((faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]])), axis=1)
    return np.unique(pairs, axis=0)


def crosses(vertices, faces, other_vertices, other_faces):
    """True if an edge of one surface goes through a triangle of the other.

    Args:
        vertices, other_vertices: [m], (n, 3), world.
        faces, other_faces: (m, 3).
    """
    if (vertices.min(0) > other_vertices.max(0)).any() or (other_vertices.min(0) > vertices.max(0)).any():
        return False
    one = pierces(vertices[edges_of(faces)], other_vertices[other_faces])
    return one or pierces(other_vertices[edges_of(other_faces)], vertices[faces])


def pierces(segments, triangles):
    """True if any segment, (E, 2, 3), goes through any triangle, (F, 3, 3): signs of five volumes."""
    p, q = segments[:, None, 0], segments[:, None, 1]
    a, b, c = (triangles[None, :, k] for k in range(3))
    sides = volume(p, a, b, c) * volume(q, a, b, c) < 0
    turns = np.stack([volume(p, q, u, v) for u, v in ((a, b), (b, c), (c, a))])
    return bool((sides & ((turns > 0).all(0) | (turns < 0).all(0))).any())


def volume(a, b, c, d):
    """Six times the signed volume of tetrahedra."""
    return np.einsum("...k,...k->...", np.cross(b - a, c - a), d - a)
