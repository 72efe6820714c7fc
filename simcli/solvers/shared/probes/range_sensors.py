"""Range finders: how far the shapes of other bodies are along the z axis of a frame."""

import numpy as np

from simcli import rotations as rot
from simcli.kernels.algebra.values import Mat3, Vec3
from simcli.kernels.articulation.kinematics import quaternion_at, upright, vector_at
from simcli.kernels.collision.lanes import one
from simcli.kernels.collision.rays import distance_along, stretch_within
from simcli.kernels.language import ti
from simcli.kernels.language.vectors import get_lane, put_lane
from simcli.kernels.memory.arena import Arena
from simcli.model.contact.colliders import colliders
from simcli.model.tables import Model, ShapeKind
from simcli.solvers.shared.probes.sensor_formulas import OWN_SIDE, motion_of_frame
from simcli.solvers.shared.probes.sensors import RANGE_KIND

NOTHING_SEEN = -1.0  # [m], what a range finder says if it meets nothing


class RayTargets:
    """Shapes that rays can meet: those that can touch something.

    Args:
        model: host tables.
        arena: receives the columns.

    Attributes:
        n: shapes.  kind, body: of each.  size: [m].  place, turn: [m], [1], of its frame in its body.
        face_start: (n + 1), where the faces of each hull begin.  face_normal, face_height: [1], [m], in its frame.
    """

    _data_oriented = True

    def __init__(self, model: Model, arena: Arena):
        shapes = model.shapes
        chosen = np.flatnonzero(shapes.collide & (shapes.kind != ShapeKind.HEIGHTFIELD))
        hulls = colliders(model, chosen)
        self.n, items = len(chosen), arena.records(len(chosen))
        self.kind, self.body = items.ints(shapes.kind[chosen]), items.ints(shapes.body[chosen])
        pose = shapes.pose[:, chosen]
        turn = rot.quat_to_matrix(pose[..., 3:])
        middle = [_middle_of(model, s) for s in chosen]
        self.size, self.turn = items.column(shapes.size[:, chosen], Vec3), items.column(turn, Mat3)
        place = pose[..., :3] + np.einsum("wsij,sj->wsi", turn, np.array(middle).reshape(-1, 3))
        self.place = items.column(place, Vec3)
        spans = [range(*hulls.face_start[s : s + 2]) for s in chosen]
        faces = np.array([f for span in spans for f in span], int)
        owner = np.array([s for s, span in zip(chosen, spans, strict=True) for _ in span], int)
        normal = hulls.face_normal[faces]
        corner = hulls.corner[hulls.corner_start[owner] + hulls.ring[hulls.ring_start[faces]]]
        self.face_start = arena.ints(np.cumsum([0, *map(len, spans)]))
        rows = arena.records(len(faces))
        self.face_normal, self.face_height = rows.shared(normal, Vec3), rows.shared((normal * corner).sum(axis=-1))
        self.bodies = set(shapes.body[chosen][shapes.body[chosen] >= 0].tolist())


def _middle_of(model: Model, s: int) -> np.ndarray:
    """[m], (3,), where the hull of a mesh has its frame, in that of the shape; 0 of others."""
    if model.shapes.kind[s] != ShapeKind.MESH:
        return np.zeros(3)
    used = model.shapes.vertices[s][np.unique(model.shapes.faces[s])]
    return (used.min(axis=0) + used.max(axis=0)) / 2


@ti.func
def sense_range(g: ti.template(), c: ti.template(), w: ti.i32):
    """Distances along the z axes of the frames of range finders, to shapes of other bodies than their own.

    Reads:  c.rows
    Writes: g.sensors.values
    """
    m = g.sensors
    for n in range(m.n):
        if m.kind.at(n) == RANGE_KIND:
            x, R, _v, _spin, _arm = motion_of_frame(m, c.rows, w, n, OWN_SIDE)
            m.values.store(w, m.first.at(n), c.tables.arena.zero() + ti.math.inf)
            for s in range(g.targets.n):
                if g.targets.body.at(s) != m.body.at(n):
                    look_at_shape(g, c, w, n, s, x, R.column(2))
            for lane in range(c.lanes):
                found = get_lane(m.values.part(w, m.first.at(n), 0), lane)
                if found > one(m.reach, w, lane, n):
                    put_lane(m.values.part(w, m.first.at(n), 0), lane, NOTHING_SEEN)


@ti.func
def look_at_shape(g: ti.template(), c: ti.template(), w: ti.i32, n: ti.i32, s: ti.i32, x: ti.template(),
                  direction: ti.template()):
    """Shorten what range finder n has found by where its ray meets shape s.

    Reads:  c.rows.body_q
    Writes: g.sensors.values
    """
    m = g.sensors
    t = g.targets
    b = t.body.at(s)
    zero = c.tables.arena.zero()
    R = upright(zero)
    x_b = Vec3(zero, zero, zero)
    if b >= 0:
        R = quaternion_at(c.rows.body_q, w, 7 * b + 3).matrix()
        x_b = vector_at(c.rows.body_q, w, 7 * b)
    axes = R * t.turn.load(w, s)
    origin = axes.transposed_times(x - x_b - R * t.place.load(w, s))
    along = axes.transposed_times(direction)
    for lane in range(c.lanes):
        o = Vec3(*[get_lane(part, lane) for part in origin.parts])
        d = Vec3(*[get_lane(part, lane) for part in along.parts])
        enter, leave = stretch_within(t, s, one(t.size, w, lane, s), o, d)
        found = ti.min(get_lane(m.values.part(w, m.first.at(n), 0), lane), distance_along(enter, leave))
        put_lane(m.values.part(w, m.first.at(n), 0), lane, found)
