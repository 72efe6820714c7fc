"""Positions that close the loops of a model, and velocities that keep them closed.

Positions are found by continuation (continuation.py). Velocities: the least kinetic energy, for the rates that the scene
left open and that some row sees. Dofs that no row sees, and those that are prescribed, stay.
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from simcli.model.closure.chart import (
    Chart,
    chart_at,
    composites,
    dof_paths,
    link_of_dof,
    mass_block,
    momenta,
    own_inertias,
)
from simcli.model.closure.gaps import Gaps, Meter
from simcli.model.closure.gradients import Entries, entries_of, gradients
from simcli.model.closure.spans import in_worlds, least_motion
from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.constraint_tables import NONHOLONOMIC_FORMS, Constraints, Form
from simcli.model.signals.inputs import prescribed
from simcli.model.tables.model import Array, Model
from simcli.model.tables.signal_tables import MotionKind
from simcli.model.tables.table_base import is_same, with_answer
from simcli.model.tables.worlds import has_world_axis

LEAST_GAP = 1e-12  # [m, rad, 1] gaps that are left as they are: the tolerance of the solvers' own corrections
OPEN_LOOP = 1e-9  # [m, rad, 1] gaps that count as such: far above what corrections reach, far below what is seen
_PORTION = 8192  # worlds that are closed together: what arises on the way stays in the caches, and threads seldom wait
_STARTS_BY = (  # columns of links, rows and pairs of anchors by which starts differ
    "rotation offset advance mass com inertia",
    "on_a across_a on_b constant compliance enabled coefficient",
    "point_a point_b frame_a frame_b",
)
_NO_PLACE = ("mass", "inertia", "enabled", "compliance", "scale")  # columns of links and rows that place nothing


@dataclass
class LoopProblem:
    """A model, ready to be closed.

    Attributes:
        model: the tables, in tree form.
        lead: worlds that differ: 1 or W.
        q, qd: [m, rad, 1] and [m/s, rad/s], (lead, NQ) and (lead, NV).
        acts: (lead, R) bool, rows that hold from the first instant on.
        acting: rows that do so in some world of the model.
        goal, speed: (lead, R), prescribed coordinates and rates of rows, else 0; the meter knows where balls shall be.
        tells_place: (R,) bool, False for rows that prescribe or hold a velocity alone.
        is_tree: (NV,) bool.  is_prescribed: (NV,) bool, dofs with prescribed motions.
        angle: [rad], (lead, R), of rows that count turns.
        paths: (L + 1,) dofs that move each link.  link: (NV,) link of each dof.
        seen: what has been measured last: where one search ends another one begins.
    """

    model: Model
    constraints: Constraints
    meter: Meter
    entries: Entries
    lead: int
    q: Array
    qd: Array
    acts: Array
    acting: Array
    goal: Array
    speed: Array
    tells_place: Array
    is_tree: Array
    is_prescribed: Array
    angle: Array
    paths: list[list[int]]
    link: Array
    seen: "_Seen | None" = None

    @staticmethod
    def of(model: Model) -> "LoopProblem":
        """The mechanism of a model."""
        constraints, paths = constraints_of(model), dof_paths(model.links)
        rows = constraints.rows
        meter = Meter.of(model, constraints)
        motion = np.pad(prescribed(model, 0.0), ((0, 0), (0, 1), (0, 0)))  # its last entry is for rows without a dof
        lead = _lead(model, constraints, motion)
        are_prescribed = (rows.dof >= 0) & rows.is_hard
        by_position = are_prescribed & (np.append(model.motions.kind, MotionKind.NONE)[rows.dof] == MotionKind.POSITION)
        motion = motion[:, rows.dof]
        speed = np.where(by_position, motion[..., 1], motion[..., 0])
        acts = rows.is_hard & (rows.enabled > 0.0) & (rows.compliance == 0.0)
        q, qd = (_full(np.nan_to_num(a), lead) for a in (model.joint_q, model.joint_qd))
        is_tree = link_of_dof(model) >= 0
        goal = np.where(by_position & (rows.form != Form.ROLL), motion[..., 0], 0.0)
        return LoopProblem(
            model,
            constraints,
            meter,
            entries_of(meter, paths),
            lead,
            q,
            qd,
            _shared(acts, lead),
            np.flatnonzero(acts.any(axis=0)),
            _shared(goal, lead),
            _shared(np.where(are_prescribed, speed, 0.0), lead),
            (by_position | ~are_prescribed) & ~np.isin(rows.form, NONHOLONOMIC_FORMS),
            is_tree,
            model.motions.kind != MotionKind.NONE,
            _full(meter.first_angle, lead),
            paths,
            link_of_dof(model),
        )

    def measure(self) -> tuple[Chart, Gaps, Array]:
        """The posture, its gaps, of one world where all stand alike, and residuals of the acting rows, (lead, R)."""
        chart, gaps, residuals = self.measured()
        self.angle = _full(gaps.angle, self.lead)
        return chart, gaps, residuals

    def measured(self) -> tuple[Chart, Gaps, Array]:
        """The same, with turns that are not counted on."""
        some = slice(0, 1) if self._stand_alike() else slice(None)
        return self.measure_at(self.q[some], self.angle[some], self.goal)

    def _stand_alike(self) -> bool:
        """Whether worlds differ in nothing but masses, rates and what is asked of them."""
        tables = {"links": self.model.links, "rows": self.constraints.rows, "anchor_pairs": self.constraints.anchor_pairs}
        places = [
            getattr(table, one.name)
            for table in tables.values()
            for one in fields(table)
            if one.name not in _NO_PLACE and has_world_axis(one.name, getattr(table, one.name))
        ]
        alike = all(len(one) == 1 or is_same(one) for one in (*places, self.meter.target_rotation))
        return alike and is_same(self.q) and is_same(self.angle)

    @cached_property
    def is_shared(self) -> bool:
        """Whether all worlds have one mechanism, and differ in coordinates and goals alone."""
        own, model = self.constraints, self.model
        columns = [
            getattr(table, one.name)
            for table in (model.links, model.dofs, own.anchor_pairs, own.rows, own.laws)
            for one in fields(table)
            if has_world_axis(one.name, getattr(table, one.name))
        ]
        return all(len(one) == 1 for one in (*columns, self.meter.target_rotation)) and bool(
            (self.acts == self.acts[:1]).all()
        )

    def measure_at(self, q: Array, angle: Array, goal: Array) -> tuple[Chart, Gaps, Array]:
        """The same of another posture.

        Args:
            q: [m, rad, 1], (lead, NQ).
            angle: [rad], (lead, R), from which turns are counted.
            goal: (lead, R), prescribed coordinates of rows.
        """
        if self.seen is None or not self.seen.is_at(q, angle, goal):
            chart = chart_at(self.model, q)
            gaps = self.meter.gaps(chart, q, angle)
            residuals = np.where(self.acts & self.tells_place, gaps.residual - goal, 0.0)
            self.seen = _Seen(tuple(one.copy("K") for one in (q, angle, goal)), (chart, gaps, residuals))
        return self.seen.found

    def of_worlds(self, worlds: Array) -> "LoopProblem":
        """The problem of some worlds alone.

        Args:
            worlds: (n,), numbers along the world axis of `q`.
        """
        if self.lead == 1:
            return self
        taken = _Taken(worlds, self.lead)
        model = replace(self.model, links=taken.table(self.model.links), dofs=taken.table(self.model.dofs))
        own = {name: taken.array(getattr(self, name)) for name in ("q", "qd", "acts", "goal", "speed", "angle")}
        tables = {name: taken.table(getattr(self.constraints, name)) for name in ("anchor_pairs", "rows", "laws")}
        meter = replace(taken.table(self.meter), constraints=replace(self.constraints, **tables))
        model = with_answer(constraints_of, model, meter.constraints)  # whose joints are still those of all worlds
        return replace(self, model=model, constraints=meter.constraints, meter=meter, lead=len(worlds), seen=None, **own)

    def worlds_of(self, world: int) -> range:
        """Worlds of the model that an entry of the arrays stands for."""
        return range(self.model.n_worlds) if self.lead == 1 else range(world, world + 1)

    def portions(self) -> list[Array]:
        """Worlds in portions that are worked on one after another; none needs anything of another."""
        return np.split(np.arange(self.lead), range(_PORTION, self.lead, _PORTION))

    def least_rates(self, here: tuple[Chart, Gaps, Array] | None = None) -> tuple[Array, Array]:
        """Give the unwritten rates that rows see their least values.

        Args:
            here: what `measure` finds; None: measure.

        Returns:
            Residuals of rows, and of their rates, (lead, R).
        """
        free = self.is_tree & ~self.model.dofs.qd_given & ~self.is_prescribed
        seen = np.zeros(self.model.n_qd, bool)
        for r in self.acting:
            seen[self.entries.seen[r]] = True
        free &= seen
        self.qd[:, free] = 0.0
        chart, gaps, open_by = here or self.measure()
        slopes = self.slopes(chart, gaps)
        slip = np.where(self.acts, self.rates(slopes) - self.speed, 0.0)
        own = own_inertias(self.model.links, chart)
        pushed = momenta(self.model, chart, own, self.q, self.qd)
        if not (slip.any() or pushed[:, free].any()):  # rest is the least motion, and its zeros are exact
            return open_by, slip
        bulk = composites(self.model.links, chart, own)
        for rows, dofs in self.groups(free, with_mass=True):
            known = [
                J[:, :, np.isin(own, dofs)]
                for some, own, J in slopes
                if np.array_equal(some, rows) and np.isin(dofs, own).all()
            ]
            J = known[0] if known else gradients(self.entries, chart, gaps, rows, dofs)
            J = J * self.acts[:, rows, None]
            M = _full(mass_block(self.model, chart, bulk, dofs, self.relatives(dofs)), self.lead)
            self.qd[:, dofs] = least_motion(J, M, pushed[:, dofs], -slip[:, rows])
        return open_by, np.where(self.acts, self.rates(slopes) - self.speed, 0.0)

    def slopes(self, chart: Chart, gaps: Gaps) -> list[tuple[Array, Array, Array]]:
        """Rows and dofs that belong together, and J of them, of all rows."""
        return [
            (rows, dofs, gradients(self.entries, chart, gaps, rows, dofs))
            for rows, dofs in self.groups(self.is_tree, with_mass=False)
        ]

    def rates(self, slopes: list[tuple[Array, Array, Array]]) -> Array:
        """J qd of all rows, (lead, R).

        Args:
            slopes: what `slopes` finds.
        """
        found = np.zeros((self.lead, self.constraints.rows.n), order="F")
        for rows, dofs, J in slopes:
            for n, d in enumerate(dofs):
                found[:, rows] += J[:, :, n] * self.qd[:, d, None]
        return found

    def groups(self, may: Array, with_mass: bool) -> list[tuple[Array, Array]]:
        """Rows and dofs that belong together, as small as can be.

        Args:
            may: (NV,) bool, dofs that may move.
            with_mass: whether the mass matrix joins dofs too.
        """
        owner = np.arange(self.model.n_qd)

        def root(d: int) -> int:
            while owner[d] != d:
                owner[d] = owner[owner[d]]
                d = owner[d]
            return d

        seen = {int(r): [d for d in self.entries.seen[r] if may[d]] for r in self.acting}
        chains = [dofs for dofs in seen.values() if dofs]
        if with_mass:
            chains += self.carried(may)
        for dofs in chains:
            for d in dofs[1:]:
                owner[root(d)] = root(dofs[0])
        found: dict[int, tuple[list[int], set[int]]] = {}
        for r, dofs in seen.items():
            if dofs:
                rows, members = found.setdefault(root(dofs[0]), ([], set()))
                rows.append(r)
                members.update(dofs)
        return [(np.array(rows), np.array(sorted(members))) for rows, members in found.values()]

    def carried(self, may: Array) -> list[list[int]]:
        """Dofs of each link that may move, with the nearest one of those that carry it."""
        links, chains = self.model.links, []
        nearest = [-1] * (self.model.n_links + 1)  # the last entry is the world
        for k in range(self.model.n_links):
            first, above = int(links.qd_start[k]), nearest[links.parent[k]]
            own = [d for d in range(first, first + int(links.n_qd[k])) if may[d]]
            nearest[k] = own[-1] if own else above
            chains.append([above, *own] if own and above >= 0 else own)
        return [chain for chain in chains if chain]

    def relatives(self, dofs: Array) -> list[list[int]]:
        """Places in `dofs` of the dofs that move the link of each of them, its own among them."""
        place = {d: n for n, d in enumerate(dofs.tolist())}
        return [[place[d] for d in self.paths[self.link[one]] if d in place] for one in dofs.tolist()]


@dataclass(frozen=True)
class _Seen:
    """Coordinates, angles and goals of `LoopProblem.measure_at`, and what was found there."""

    place: tuple[Array, Array, Array]
    found: tuple[Chart, Gaps, Array]

    def is_at(self, *place: Array) -> bool:
        """Whether it was found at a place, bit by bit."""
        both = zip(self.place, place, strict=True)
        return all(np.array_equal(one.view(np.int64), other.view(np.int64)) for one, other in both)


@dataclass(frozen=True)
class _Taken:
    """Takes some worlds out of tables whose arrays have a world axis where worlds differ."""

    worlds: Array
    lead: int

    def array(self, array: Array) -> Array:
        """Rows of some worlds; an array that serves all of them as it is."""
        return in_worlds(array, self.worlds) if len(array) == self.lead else array

    def table(self, table):
        """A table of some worlds."""
        found = {
            one.name: self.array(getattr(table, one.name))
            for one in fields(table)
            if has_world_axis(one.name, getattr(table, one.name))
        }
        return replace(table, **found)


def _lead(model: Model, constraints: Constraints, motion: Array) -> int:
    """Worlds whose starts can differ: 1 if nothing that matters has a world axis."""
    laws, tables = constraints.laws, (model.links, constraints.rows, constraints.anchor_pairs)
    columns = [getattr(table, name) for table, names in zip(tables, _STARTS_BY, strict=True) for name in names.split()]
    own = (model.dofs.armature, model.joint_q, model.joint_qd, motion, laws.lower, laws.upper)
    return max(map(len, (*columns, *own)))


def _shared(array: Array, lead: int) -> Array:
    """Rows of each world that nobody writes."""
    return np.broadcast_to(array, (lead, *array.shape[1:]))


def _full(array: Array, lead: int) -> Array:
    return np.array(np.broadcast_to(array, (lead, *array.shape[1:])), order="F")
