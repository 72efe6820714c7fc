"""A ray against the triangles of a mesh, by way of boxes about them (see hierarchy.py)."""

from simcli.kernels.language import ti
from simcli.kernels.rays.shapes import LEAST, NEVER, met, vec3, vec4

_EDGE = 1e-6  # [1] of barycentric coordinates: neighbours overlap by so much, for no ray may slip between them


@ti.func
def enters(o, inverse, nodes: ti.template(), n, nearest):
    """Whether a ray meets the box of node n before `nearest`; `inverse` is 1 / d."""
    enter, leave = -NEVER, nearest
    for k in ti.static(range(3)):
        one, other = (nodes[n, k] - o[k]) * inverse[k], (nodes[n, 3 + k] - o[k]) * inverse[k]
        enter, leave = ti.max(enter, ti.min(one, other)), ti.min(leave, ti.max(one, other))
    return enter <= leave


@ti.func
def triangle(o, d, triangles: ti.template(), f):
    """Triangle f from either side: (t, barycentric coordinates of its second and third corner, 0).

    Source: Moeller and Trumbore 1997. No deviation but EDGE.
    """
    a = vec3(triangles[f, 0], triangles[f, 1], triangles[f, 2])
    u = vec3(triangles[f, 3], triangles[f, 4], triangles[f, 5])
    v = vec3(triangles[f, 6], triangles[f, 7], triangles[f, 8])
    p = d.cross(v)
    det = u.dot(p)
    found = vec4(NEVER, 0.0, 0.0, 0.0)
    if ti.abs(det) > LEAST:
        s = o - a
        q = s.cross(u)
        x, y = s.dot(p) / det, d.dot(q) / det
        if x >= -_EDGE and y >= -_EDGE and x + y <= 1.0 + _EDGE:
            found = vec4(v.dot(q) / det, x, y, 0.0)
    return found


@ti.func
def mesh(o, d, after, any_does, first, last, nodes: ti.template(), links: ti.template(), triangles: ti.template()):
    """The nearest triangle with t > after, of the mesh whose nodes are first to last - 1; its normal towards the ray.

    If any one does (1), the walk ends with the first that is found. Nodes stand in the order of a walk in depth, so that
    no stack is needed: a box that is missed tells where to go on.
    """
    found = vec4(NEVER, 0.0, 0.0, 0.0)
    face = -1
    inverse = vec3(0.0)
    for k in ti.static(range(3)):
        inverse[k] = 1.0 / (d[k] if ti.abs(d[k]) > LEAST else LEAST)
    n = first
    while n < last:
        goes_on = links[n, 0]
        if enters(o, inverse, nodes, n, found[0]):
            goes_on = n + 1
            for f in range(links[n, 1], links[n, 1] + links[n, 2]):
                one = triangle(o, d, triangles, f)
                if after < one[0] < found[0]:
                    found, face = one, f
        n = goes_on if any_does == 0 or face < 0 else last
    if face >= 0:
        normal = shading_normal(triangles, face, found[1], found[2])
        found = met(found[0], -normal if normal.dot(d) > 0.0 else normal)
    return found


@ti.func
def shading_normal(triangles: ti.template(), f, x, y):
    """The normal at a point of triangle f, between those of its corners."""
    normal = vec3(0.0)
    for k in ti.static(range(3)):
        normal[k] = ((1.0 - x - y) * triangles[f, 9 + k] + x * triangles[f, 12 + k] + y * triangles[f, 15 + k])
    return normal
