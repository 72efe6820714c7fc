"""What a run probes, on the device: rows of quantities, and what each world has found of them so far."""

import numpy as np

from simcli.kernels.contact_queries import Clearances
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.forces.signals import Signals
from simcli.kernels.rays.line_of_sight import RayTargets
from simcli.model.constraints.constraint_tables import Constraints
from simcli.model.measure_rows import seen_by_feedback
from simcli.model.measures import LAST_STEP, NO_BODY, NO_MEASURES, NORM, Measures, Reduction, Source
from simcli.model.tables.joint_tables import Dofs
from simcli.model.tables.model import Model
from simcli.solvers.output.contact_report import Touches
from simcli.solvers.output.reductions import SERIES, Sum, sums_found
from simcli.solvers.output.sensor_noise import SensorNoise
from simcli.solvers.output.sensors import SensorReadings
from simcli.solvers.rows.drives import Drives
from simcli.spec.base.sensor_types import BY_CONTACTS

# Columns of frames in which a number may stand for nothing, by where a measure finds it.
OF_JOINTS = {Source.Q: "joint_q", Source.QD: "joint_qd", Source.QDD: "joint_qdd", Source.EFFORT: "joint_effort"}

# Known where a step has placed its bodies.
PLACED = {Source.Q, Source.QD, Source.POSE, Source.TWIST, Source.POINT, Source.DISTANCE}
DRIVEN = {Source.DRIVE_EFFORT, Source.DRIVE_POWER}  # likewise, if no motion prescribes them, while tables stay
MOST_PARTS = 7
# Where rows of a kind stand among the others.
_OTHERS = len(SERIES) + 1
_PLACE_OF_KIND = {Reduction["STOP"]: 0, Reduction["RECORD"]: _OTHERS + 1} | {
    kind: 1 + n for n, kinds in enumerate(SERIES) for kind in kinds
}
_PLACES = np.array([_PLACE_OF_KIND.get(int(kind), _OTHERS) for kind in Reduction])


class Positions:
    """Components of the positions of bodies.

    Args:
        rows: of `FrameRows.body_q`.
        model: host tables.
        arena: receives the columns.

    Attributes:
        link: of each.
        origin, o, R: rows of the arena's packs in which what they are made of begins, see `TreeState`; x: their own ones.
    """

    _data_oriented = True

    def __init__(self, rows: np.ndarray, model: Model, arena: Arena):
        body, self.axis = rows // 7, rows % 7
        self.rows, self.links = rows, model.links.tip[body]
        self.roots = model.links.root[self.links]
        self.where = np.zeros((4, len(rows)), np.int32)  # that `find` fills
        items = arena.records(len(rows))
        self.link = items.ints(self.links)
        self.origin, self.o, self.R, self.x = map(items.ints, self.where)

    def find(self, state, rows) -> None:
        """Note where they stand: in the state and the frames of a core."""
        k = self.axis
        self.where[:] = (
            state.origin.rows[3 * self.roots + k],
            state.o.rows[3 * self.links + k],
            state.R.rows[9 * self.links + 3 * k],
            rows.body_q.rows[self.rows],
        )


def probed_by_feedback(signals: Signals, model: Model, dt: float, tables: Tables, arena: Arena) -> "Accumulators":
    """Accumulators of what signals see that follow the motion."""
    measures = seen_by_feedback(model, dt) if signals.feedback.n else NO_MEASURES
    return Accumulators(measures, model, tables, arena, np.full((2, model.n_qd), -1), is_alone=False)


def _has_motion(probed: list[tuple[Source, int]], dofs: Dofs, tables: Tables) -> bool:
    """Whether a motion prescribes one of the joints whose drive is probed.

    Args:
        probed: source and first row of what is probed.
        dofs: host tables.
        tables: device tables.
    """
    moved = dofs.joint[tables.ever(lambda m: m.motions.kind[None] != 0)]
    joints = [first if source == Source.DRIVE_POWER else dofs.joint[first] for source, first in probed if source in DRIVEN]
    return bool(np.isin(joints, moved).any())


class Accumulators:
    """The rows of all quantities that a run probes, and what each world has found so far.

    Args:
        measures: of the run.
        model: host tables.
        tables: device tables.
        arena: of the core.
        rows_of_dof: `switches` and `prescribed` of `Drives`.
        is_alone: whether no event changes the tables.

    Attributes:
        order: rows of the table, as they stand here: those that end worlds, the series (rows of one kind, each one number,
            at every step), the others, columns of frames.
        n_stops, n_records: how many of the first and the last.
        limits: first rows of the series, and of the others.
        places: rows of the arena's packs in which the quantities begin.  apart: from one component to the next.
        is_plain: 1 for one component as it stands there.
        positions: components of positions that are probed.
        orientations, velocities, points: bodies and points that are probed.
        drives, clearances, touches, sensors, noise, targets: those that are asked for, else None; `has` tells which are.
        are_placed: whether something is done at every step, and needs no more than a step has placed.
        within: whether a probe is a stage of the next step.
        value: of a row, NaN before its first step.  time: [s], of an extreme or a crossing.
        base: value at the first step.  before: at the step before.  NaN where there is none.
        total, square: see reductions.py.
        parts: components at this step.
        alive: 1 for worlds that had not ended at the step before.  last: [s], their last step.
    """

    _data_oriented = True

    def __init__(self, measures: Measures, model: Model, tables: Tables, arena: Arena, rows_of_dof: tuple, is_alone: bool):
        self.n, self.measures, self.arena = measures.n, measures, arena
        self.n_stops, self.n_records = measures.stops, measures.records
        self.drives = self.clearances = self.touches = self.sensors = self.noise = self.targets = None
        self.within = self.are_placed = False
        self.has = {"motions": False}
        if not self.n:  # phases of a run are laid out by the thousand
            return
        items = arena.records(self.n)
        self.where, self.stride = np.zeros((2, self.n), np.int32)  # that `find` fills
        kind = np.array(measures.kind)
        is_plain = np.not_equal(measures.part, NORM) & np.equal(measures.turn, NO_BODY)
        is_always = np.equal(measures.begin, 0) & np.equal(measures.end, LAST_STEP)
        place = _PLACES[kind]
        place = np.where((place > 0) & ~(is_plain & is_always), np.maximum(place, _OTHERS), place)
        self.order = np.argsort(place, kind="stable")
        self.limits = arena.ints(np.searchsorted(place[self.order], 1 + np.arange(len(SERIES) + 1)))
        self.places, self.apart = items.ints(self.where), items.ints(self.stride)
        columns = (measures.width, measures.part, measures.turn, measures.kind, measures.begin, measures.end, is_plain)
        self.width, self.part, self.turn, self.kind, self.begin, self.end, self.is_plain = (
            items.ints(np.asarray(column, np.int32)[self.order]) for column in columns
        )
        self.above, self.below = (
            items.shared(np.asarray(column, float)[self.order]) for column in (measures.above, measures.below)
        )
        self.value, self.time, self.before, self.base = items.arrays(4)
        self.total, self.square = Sum(items), Sum(items)
        self.parts, (self.alive, self.last) = arena.array(MOST_PARTS), arena.single.arrays(2)
        self._see(measures, model, tables, arena, rows_of_dof, is_alone)

    def _see(self, measures: Measures, model: Model, tables: Tables, arena: Arena, rows_of_dof: tuple, is_alone: bool):
        """What has to be found for the quantities."""
        if measures.sensed:
            self.sensors = SensorReadings(measures.sensed, model, arena)
        if any(one.type == "range" for one in measures.sensed):
            self.targets = RayTargets(model, arena)
            self.sensors.bodies |= self.targets.bodies
        if any(model.sensors.is_noisy[one.sensor] for one in measures.sensed):
            self.noise = SensorNoise(measures.sensed, model, arena)
        seen = measures.seen(self.sensors.bodies if self.sensors else set())
        self.positions = Positions(np.array(seen["positions"], int), model, arena)
        self.orientations, self.velocities, self.points = (
            arena.ints(seen[name]) for name in ("orientations", "velocities", "points")
        )
        self.n_positions, self.n_orientations = len(seen["positions"]), len(seen["orientations"])
        self.n_velocities, self.n_points = len(seen["velocities"]), len(seen["points"])
        joints = {int(model.dofs.joint[dof]) for dof in seen["efforts"]} | set(seen["powers"])
        if joints:
            self.drives = Drives(model, tables, arena, sorted(joints), seen["powers"], *rows_of_dof)
        if measures.pairs[Source.DISTANCE]:
            self.clearances = Clearances(model, tables, arena, measures.pairs[Source.DISTANCE])
        if measures.pairs[Source.CONTACT]:
            self.touches = Touches(model, arena, measures.pairs[Source.CONTACT])
        self.has = {name: getattr(self, name) is not None for name in ("drives", "clearances", "touches", "sensors")}
        self.has["targets"] = self.targets is not None
        self.has["noise"] = self.noise is not None
        self.has["touching"] = bool(self.sensors and self.sensors.has_some(BY_CONTACTS))
        self.has["motions"] = bool(self.drives and self.drives.has_motion)
        probed = [
            (source, first)
            for source, first, kind in zip(measures.source, measures.first, measures.kind, strict=True)
            if kind != Reduction["RECORD"]
        ]
        steps = {source for source, _ in probed}
        self.has["drives at steps"] = not steps.isdisjoint(DRIVEN)
        stays = is_alone and not _has_motion(probed, model.dofs, tables)
        placed = PLACED | {Source.SENSOR} if self.sensors and self.sensors.are_placed else PLACED
        self.are_placed = bool(steps) and steps <= (placed | DRIVEN if stays else placed)

    def find(self, core) -> None:
        """Note where the quantities stand in the memory of a core, which is not built yet.

        Args:
            core: whose they are.
        """
        if not self.n:
            return
        s, rows = core.state, core.rows
        core.arena.lay_out()
        self.positions.find(s, rows)
        of = {
            Source.Q: s.q,
            Source.QD: s.qd,
            Source.QDD: s.qdd,
            Source.EFFORT: rows.effort,
            Source.WRENCH: rows.joint_wrench,
            Source.POSE: rows.body_q,
            Source.TWIST: rows.body_qd,
            Source.POINT: rows.points,
            Source.ENERGY: rows.energy,
        }
        if self.drives:
            of |= {Source.DRIVE_EFFORT: self.drives.effort, Source.DRIVE_POWER: self.drives.power}
        if self.clearances:
            of[Source.DISTANCE] = self.clearances.distance
        if self.touches:
            of[Source.CONTACT] = self.touches.sums
        if self.sensors:
            of[Source.SENSOR] = self.sensors.values
        m = self.measures
        for at, n in enumerate(self.order.tolist()):
            part = max(m.part[n], 0) if m.part[n] != NORM and m.turn[n] == NO_BODY else 0
            rows = of[m.source[n]].rows[m.first[n] : m.first[n] + m.width[n]]
            self.where[at], self.stride[at] = rows[part], rows[-1] - rows[-2] if len(rows) > 1 else 0

    def clear(self):
        """Nothing is seen yet, and all worlds are alive."""
        if not self.n:
            return
        for array in [own for own in (self.drives, self.touches, self.noise) if own]:
            array.clear()
        for array in (self.value, self.time, self.before, self.base, self.last):
            array.write(np.full((1, array.n_items, array.width), np.nan))
        self.total.clear()
        self.square.clear()
        self.alive.write(np.ones((1, 1, 1)))

    def forget(self, worlds: list[int]):
        """Let worlds that could not begin have measured nothing."""
        for array in (self.value, self.time, self.before, self.last) if self.n else ():
            found = array.read()
            found[worlds] = np.nan
            array.write(found)

    def found(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Values of all rows up to now, and the times of them [s], (W, N); NaN where there is nothing yet.

        Args:
            dt: [s], step.
        """
        back = np.argsort(self.order)
        read = lambda array: array.read()[:, back, 0]  # noqa: E731
        value, time, before, base = map(read, (self.value, self.time, self.before, self.base))
        total, square = (sum(map(read, sums.arrays)) for sums in (self.total, self.square))
        kind, real = np.array(self.measures.kind), value.dtype.type
        begin, end = (real(dt) * np.asarray(steps, real) for steps in (self.measures.begin, self.measures.end))
        last = self.last.read()[:, :, 0]
        last = np.where(last >= begin, np.minimum(last, end), np.nan)
        span = last - begin
        found = sums_found(real(dt), span, before, base, total, square)
        for reduction, numbers in found.items():
            value = np.where(kind == reduction, np.where(np.isnan(before), np.nan, numbers), value)
        return value, np.where(np.isin(kind, [Reduction["FINAL"], *found]) & ~np.isnan(value), last, time)


def rows_of_dofs(constraints: Constraints, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Rows by which the joint of each dof is switched on and off, and by which it follows its motion, -1 for none, (NV,)."""
    laws, rows = constraints.laws, constraints.rows
    switches, prescribed = np.full((2, model.n_qd), -1)
    own, of_rows = (laws.dof >= 0) & (laws.row >= 0), np.flatnonzero((rows.dof >= 0) & rows.is_hard)
    switches[laws.dof[own]], prescribed[rows.dof[of_rows]] = laws.row[own], of_rows
    return switches, prescribed
