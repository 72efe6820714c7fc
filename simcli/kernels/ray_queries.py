"""Where rays meet the shapes of a model in many states, for who takes no steps: distance, shape and normal of each.

What they see, and how, is what range finders do (line_of_sight.py).
"""

from functools import partial

import numpy as np

from simcli.kernels.algorithms import Algorithms
from simcli.kernels.algorithms_core import AlgorithmsCore, blocks_of_slot, give, take
from simcli.kernels.articulation.kinematics import vector_at
from simcli.kernels.articulation.report import put
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.lanes import one
from simcli.kernels.device.runtime import Device
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import get_lane, put_lane
from simcli.kernels.language.values import Mat3, Vec3
from simcli.kernels.rays.line_of_sight import RayTargets, distance_along, normal_at, seen_from_shape, stretch_within
from simcli.model.tables.model import Model

_RAY, _HIT = 7, 5  # numbers of a ray: origin, direction, body; of a hit: distance, shape, normal
NO_SHAPE = -1  # of a ray that meets nothing


class RayCore(AlgorithmsCore):
    """Tables, state and results of `RayAlgorithms`.

    Args:
        model: host tables.
        arena: receives the arrays.
        n_rays: of each state.
    """

    def __init__(self, model: Model, arena: Arena, n_rays: int):
        super().__init__(model, arena)
        self.targets = RayTargets(model, arena)
        self.shape = arena.ints(self.targets.index)
        self.n_rays = n_rays
        self.rays, self.hits = arena.array(_RAY * self.n_rays), arena.array(_HIT * self.n_rays)


class RayAlgorithms(Algorithms):
    """`Algorithms` with rays.

    Args:
        model: of one world, or of n_states worlds.
        device: from `start_device`.
        n_states: see `Algorithms`.
        n_rays: of each state.
    """

    def __init__(self, model: Model, device: Device, n_states: int = 1, n_rays: int = 1):
        self.n_rays = n_rays
        self.core_type = partial(RayCore, n_rays=n_rays)  # type: ignore[assignment]
        super().__init__(model, device, n_states)

    def hits(self, body_q, rays) -> np.ndarray:
        """The nearest surface that each ray meets: distance [m], shape, normal outward of the shape, world.

        Args:
            body_q: [m, 1], (N, B, 7).
            rays: [m, 1], (N, n, 7), origins and unit directions, world, and the body whose shapes are not seen, -1 for none.

        Returns:
            (N, n, 5); infinite distance and NO_SHAPE where there is none.
        """
        pose, lines = self.states(np.reshape(body_q, (len(body_q), -1)), np.reshape(rays, (len(rays), -1)))
        out = self.results(pose, _HIT * self.n_rays)
        self.launch(states_to_hits, len(pose), self.given(pose), self.given(lines), out)
        return self.fetch(out, pose, self.n_rays, _HIT)


@ti.kernel
def states_to_hits(
    c: ti.template(), n_states: ti.i32, pose: ti.types.ndarray(), lines: ti.types.ndarray(), out: ti.types.ndarray()
):
    """What rays meet, of many states."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.rows.body_q, 7 * c.tables.n_bodies, pose)
            take(c, w, block, c.rays, 7 * c.n_rays, lines)
            for r in range(c.n_rays):
                trace(c, w, r)
            give(c, w, block, c.hits, 5 * c.n_rays, out)


@ti.func
def trace(c: ti.template(), w: ti.i32, r: ti.i32):
    """The nearest surface that ray r meets.

    Reads:  c.{rays, rows.body_q}
    Writes: c.hits
    """
    zero = c.tables.arena.zero()
    put(c.hits, w, 5 * r, zero + ti.math.inf, zero - 1.0, zero, zero, zero)
    for s in range(c.targets.n):
        _look(c, w, r, s)


@ti.func
def _look(c: ti.template(), w: ti.i32, r: ti.i32, s: ti.i32):
    """Keep where ray r meets shape s, if nothing nearer is known.

    Writes: c.hits
    """
    t = c.targets
    axes, origin, along = seen_from_shape(t, c.rows, w, s, vector_at(c.rays, w, 7 * r), vector_at(c.rays, w, 7 * r + 3))
    for lane in range(c.lanes):
        o = Vec3(*[get_lane(part, lane) for part in origin.parts])
        d = Vec3(*[get_lane(part, lane) for part in along.parts])
        size = one(t.size, w, lane, s)
        enter, leave = stretch_within(t, s, size, o, d)
        found = distance_along(enter, leave)
        owner = get_lane(c.rays.part(w, 7 * r + 6, 0), lane)
        if owner >= 0.0 and owner == t.body.at(s):
            found = found * 0.0 + ti.math.inf
        if found < get_lane(c.hits.part(w, 5 * r, 0), lane):
            turn = Mat3(*[get_lane(part, lane) for part in axes.parts])
            normal = turn * normal_at(t, s, size, o + d * found)
            put_lane(c.hits.part(w, 5 * r, 0), lane, found)
            put_lane(c.hits.part(w, 5 * r + 1, 0), lane, ti.cast(c.shape.at(s), c.tables.arena.device.real))
            for k in ti.static(range(3)):
                put_lane(c.hits.part(w, 5 * r + 2 + k, 0), lane, normal.parts[k])
