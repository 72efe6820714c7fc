"""A contact as it is told: point, normal, gap and force."""

from simcli.kernels.barrier.anchors import same_features
from simcli.kernels.barrier.closest import EDGE_EDGE, blend, direction, weigh
from simcli.kernels.barrier.friction import slip_of
from simcli.kernels.barrier.law import barrier, mollifier, stick
from simcli.kernels.barrier.pieces import edge_scale
from simcli.kernels.barrier.stencils import corners, radius_at, shape_of, shapes_of, thickness
from simcli.kernels.collision.lanes import one, vector
from simcli.kernels.language import ti


@ti.func
def touch_of(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, x: ti.template()):
    """What a candidate says of itself at coordinates x, where `measure_barrier` was last.

    Returns:
        1 if it carries a force; shapes a and b; [m], point half way between the surfaces; unit normal from a to b; [m], gap;
        [N], force on b: of the barrier, and of friction if the contact was there when the step began.
    """
    kind, combination, a, b, d, e = corners(c, w, lane, k)
    xi, near = thickness(c, w, lane, k), one(c.near, w, lane, combination)
    point, normal, force = vector(), vector(), vector()
    gap = near + 0.0 * xi
    shape_a, shape_b = shapes_of(c, w, lane, k)
    has_force = 0
    if one(c.candidates.acts, w, lane, k) != 0.0:
        weights = weigh(kind, a, b, d, e)
        size, n = direction(blend(weights, (a, b, d, e)))
        gap = size - xi
        if gap < near:
            _energy, slope, _curvature = barrier(gap, near, one(c.stiffness, w, lane, combination))
            first = a * weights.parts[0]
            if kind == EDGE_EDGE:
                area = (b - a).cross(e - d)
                weight, _first, _second = mollifier(area.dot(area), edge_scale(c, w, lane, k))
                slope = slope * weight
                first = first + b * weights.parts[1]
            shape = shape_of(c, w, lane, k, 0)
            side = ti.select(shape == shape_a, -1.0, 1.0)
            has_force = ti.select(slope < 0.0, 1, 0)
            point = first - n * (radius_at(c, w, lane, k, 0) + 0.5 * gap)
            normal = n * side
            force = (n * slope + friction_of(c, w, lane, k, x)) * -side
    return has_force, shape_a, shape_b, point, normal, gap, force


@ti.func
def friction_of(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, x: ti.template()):
    """[N], slope of the potential of friction by the place of a candidate's first feature; 0 where it does not stick."""
    force = vector()
    if ti.static(c.has_friction):
        for g in range(ti.cast(one(c.sticking.count, w, lane, 0), ti.i32)):
            if same_features(w, lane, c.candidates, k, c.sticking, g) == 1:
                along, across = slip_of(c, w, lane, g, x)
                _potential, over, _slope, _stretch = stick(ti.sqrt(along * along + across * across),
                                                           one(c.sticking.stiffness, w, lane, g),
                                                           one(c.sticking.load, w, lane, g))
                force = (one(c.sticking.along, w, lane, g) * along + one(c.sticking.across, w, lane, g) * across) * over
    return force
