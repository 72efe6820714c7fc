"""Sensors on the device: what each looks at; what each finds is in sensor_formulas.py."""

from collections.abc import Sequence

import numpy as np

from simcli import rotations as rot
from simcli.kernels.algebra.values import Mat3, Sym3, Vec3
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena
from simcli.model.measures import Sensed
from simcli.model.tables import Array, Model
from simcli.solvers.shared.probes.sensor_formulas import FORMULAS
from simcli.spec.names.sensor_types import OF_SUBTREE, SENSOR_TYPES

_NUMBER = {name: n for n, name in enumerate(SENSOR_TYPES)}
TOUCH_KIND, RANGE_KIND = _NUMBER["touch"], _NUMBER["range"]  # those of contacts are from the one to before the other


class SensorReadings:
    """What is looked at by sensors.

    Args:
        sensed: sensors by their types.
        model: host tables.
        arena: receives the columns.

    Attributes:
        n: how many.  kind: place in SENSOR_TYPES.  first, width: of their numbers.
        body, base: of the frame, and of that from which it is seen (of joints the child's anchor), -1 for the world.
        place, turn: [m], [1], of both frames in their bodies.  com: [m], of both bodies.
        shape, toucher: whose contacts are summed; owner: bodies of all shapes.  radius, half: of zones.
        joint: of those on joints.  start: first coordinate of theirs.
        tree_start: (n + 1), where the bodies of each subtree begin in `member`.
        mass: [kg], inertia: [kg m^2], centre: [m], of `member`.
        reach: [m], of range finders.  bodies: those whose poses and velocities are looked at.
        kinds, formulas: of the types that are there and have one in `FORMULAS`.
        values: what they find.
    """

    _data_oriented = True

    def __init__(self, sensed: Sequence[Sensed], model: Model, arena: Arena):
        table, s = model.sensors, np.array([one.sensor for one in sensed])
        self.n, self.types = len(sensed), [one.type for one in sensed]
        present = [name for name in FORMULAS if name in self.types]
        self.kinds, self.formulas = [_NUMBER[name] for name in present], [FORMULAS[name] for name in present]
        items = arena.records(self.n)
        self.kind = items.ints([_NUMBER[name] for name in self.types])
        self.first, self.width = (items.ints([getattr(one, name) for one in sensed]) for name in ("first", "width"))
        ends = (table.body[s], table.pose[:, s]), (table.base[s], table.base_pose[:, s])
        self.body, self.base = (items.ints(body) for body, _ in ends)
        self.place = [items.column(pose[..., :3], Vec3) for _, pose in ends]
        self.turn = [items.column(rot.quat_to_matrix(pose[..., 3:]), Mat3) for _, pose in ends]
        self.com = [items.column(_com_of(model, body), Vec3) for body, _ in ends]
        starts = np.where([name == "encoder" for name in self.types], model.joints.q_start[table.joint[s]],
                          model.joints.qd_start[table.joint[s]])  # fmt: skip
        self.joint, self.start = items.ints(table.joint[s]), items.ints(starts)
        trees = [table.subtree[k] if SENSOR_TYPES[name].of == OF_SUBTREE else ()
                 for k, name in zip(s, self.types, strict=True)]  # fmt: skip
        member = np.array([body for tree in trees for body in tree], int)
        members = arena.records(len(member))
        self.tree_start, self.member = arena.ints(np.cumsum([0, *map(len, trees)])), members.ints(member)
        self.mass = members.column(model.bodies.mass[:, member])
        self.centre = members.column(model.bodies.com[:, member], Vec3)
        self.inertia = members.column(_packed(model.bodies.inertia[:, member]), Sym3)
        self.shape, self.toucher = items.ints(table.shape[s]), items.ints(table.toucher[s])
        self.radius, self.half = items.column(table.radius[:, s]), items.column(table.half[:, s], Vec3)
        self.reach = items.column(table.reach[:, s])
        self.owner = arena.ints(model.shapes.body)
        self.bodies = {int(b) for body, _ in ends for b in body if b >= 0} | set(member.tolist())
        self.values = arena.array(sum(one.width for one in sensed))

    def has_some(self, *of: str) -> bool:
        """Whether some look at these."""
        return any(SENSOR_TYPES[name].of in of for name in self.types)

    @property
    def are_placed(self) -> bool:
        """Whether poses and velocities are enough."""
        return not any(SENSOR_TYPES[name].channel for name in self.types)


def _com_of(model: Model, body: Array) -> Array:
    """[m], (W|1, n, 3), centres of mass of bodies; 0 of the world."""
    return np.where((body >= 0)[:, None], model.bodies.com[:, body], 0.0)


def _packed(inertia: Array) -> Array:
    """Symmetric matrices (..., 3, 3) as xx yy zz xy xz yz."""
    return np.stack([inertia[..., i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))], axis=-1)


@ti.func
def find_sensors(g: ti.template(), c: ti.template(), w: ti.i32):
    """What the sensors that are looked at find; those of contacts and range finders are in files of their own.

    Reads:  c.rows, c.state.{q, qd}, c.tables.gravity
    Writes: g.sensors.values
    """
    for n in range(g.sensors.n):
        for k in ti.static(range(len(g.sensors.formulas))):
            if g.sensors.kind.at(n) == g.sensors.kinds[k]:
                g.sensors.formulas[k](g, c, w, n)
