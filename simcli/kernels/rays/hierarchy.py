"""Boxes about the triangles of a mesh: a binary tree in the order of a walk in depth."""

from dataclasses import dataclass

import numpy as np

from simcli.model.tables.table_base import Array

MOST_IN_LEAF = 4
CREASE = 0.825  # cosine of 0.6 rad, the angle between two faces from which on an edge is drawn sharp
PAD = 1e-6  # [1] of the mesh's size, about every box: flat ones have no inside


@dataclass(frozen=True)
class Hierarchy:
    """M nodes about F triangles.

    Attributes:
        box: (M, 6) float32, least and greatest corner.
        link: (M, 3) int32: the node to go on with if the box is missed, first triangle, number of triangles (0: no leaf).
        triangle: (F, 18) float32, in the order of the leaves: corner, two edges from it, normals of the three corners.
    """

    box: Array
    link: Array
    triangle: Array


def hierarchy_of(vertices: Array, faces: Array) -> Hierarchy:
    """The tree of a mesh: halves of equal number along the longest side of the box of centres.

    Args:
        vertices: (V, 3), in any unit.
        faces: (F, 3), at least one.
    """
    corner = np.asarray(vertices, float)[np.asarray(faces)]
    low, high, middle = corner.min(axis=1), corner.max(axis=1), corner.mean(axis=1)
    pad = PAD * float(np.ptp(corner.reshape(-1, 3), axis=0).max())
    boxes, links, order = [], [], []
    todo = [(np.arange(len(corner)), -1)]  # the node that closes a subtree is known once all of it is written
    parents = []
    while todo:
        inside, parent = todo.pop()
        node = len(boxes)
        parents.append(parent)
        boxes.append((*(low[inside].min(axis=0) - pad), *(high[inside].max(axis=0) + pad)))
        if len(inside) <= MOST_IN_LEAF:
            links.append([node + 1, len(order), len(inside)])
            order.extend(inside.tolist())
            continue
        links.append([0, 0, 0])
        axis = int(np.argmax(np.ptp(middle[inside], axis=0)))
        inside = inside[np.argsort(middle[inside, axis], kind="stable")]
        half = len(inside) // 2
        todo += [(inside[half:], node), (inside[:half], node)]
    end = np.arange(1, len(boxes) + 1)  # one past the last node below each
    for node in range(len(boxes) - 1, 0, -1):
        end[parents[node]] = max(end[parents[node]], end[node])
    link = np.array(links, np.int32)
    link[:, 0] = end
    normals = corner_normals(corner)
    rows = np.concatenate((corner[:, 0], corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0],
                           normals.reshape(-1, 9)), axis=1)  # fmt: skip
    return Hierarchy(np.array(boxes, np.float32), link, np.ascontiguousarray(rows[order], np.float32))


def corner_normals(corner: Array) -> Array:
    """Normals of the corners of triangles, (F, 3, 3): the mean of the faces about, those beyond a crease left out.

    Args:
        corner: (F, 3, 3).
    """
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])  # as long as twice the area
    size = np.linalg.norm(normal, axis=1, keepdims=True)
    unit = normal / np.where(size > 0.0, size, 1.0)
    _, vertex = np.unique(corner.reshape(-1, 3), axis=0, return_inverse=True)
    vertex = vertex.ravel()
    by_vertex = np.argsort(vertex, kind="stable")
    start = np.searchsorted(vertex[by_vertex], np.arange(vertex.max() + 2))
    # Pairs (corner, face that has its vertex), all at once.
    count = np.diff(start)[vertex]
    owner = np.repeat(np.arange(len(vertex)), count)
    nth = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    face = by_vertex[start[vertex[owner]] + nth] // 3
    near = np.einsum("pk,pk->p", unit[owner // 3], unit[face]) > CREASE
    total = np.stack([np.bincount(owner[near], normal[face[near], k], len(vertex)) for k in range(3)], axis=-1)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(length > 0.0, total / np.where(length > 0.0, length, 1.0), np.repeat(unit, 3, axis=0)).reshape(-1, 3, 3)
