"""What a search for targets may move, within which bounds, where its searches begin, and what they find."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.mechanics.tasks import of_worlds
from simcli.errors import UsageError
from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.constraint_tables import Constraints, Form, rows_of_terms
from simcli.model.joints.selection import BodyFlags, flagged
from simcli.model.tables.model import Array, LinkKind, Model

if TYPE_CHECKING:
    from simcli.kernels.target_search import Layout

_AT_LIMIT = 1e-9  # [m, rad], of joints that close loops, whose coordinates are projected
MOST_UNKNOWNS = 512  # coordinates of a search: its matrix is dense


def layout_of(model: Model, bodies: Array, most: int, tolerance: tuple[float, float]) -> "Layout":
    """What is searched for targets of bodies: the joints below them, and those that rows join to these.

    Joints that place bodies with a prescribed motion stay. Limits are kept, soft ones as well.

    Args:
        model: the tables, in tree form.
        bodies: (T,).
        most: iterations.
        tolerance: [m, rad].

    Raises:
        UsageError: nothing moves the bodies, or too much does.
    """
    from simcli.kernels.target_search import Layout

    links, dofs = model.links, model.dofs
    scalar = _is_scalar(model)
    paths = [_dofs_below(model, int(links.tip[body])) for body in bodies]
    seen, rows = _joined({d for path in paths for d in path}, model)
    placed = flagged(model, BodyFlags.KINEMATIC)[1]
    order = [d for i in range(model.n_links) for d in range(links.qd_start[i], links.qd_start[i] + links.n_qd[i])]
    found = np.array([d for d in order if d in seen and not placed[dofs.joint[d]]], int)
    if not len(found):
        raise UsageError("no joint moves what has a target")
    if len(found) > MOST_UNKNOWNS:
        raise UsageError(f"{len(found)} coordinates move what has a target; a search takes up to {MOST_UNKNOWNS}")
    lower = np.where(scalar[found], dofs.limit_lower[:, found], -np.inf)
    upper = np.where(scalar[found], dofs.limit_upper[:, found], np.inf)
    geared = constraint_dofs(model)[constraints_of(model).rows.form == Form.GEAR].any(axis=0)  # they know whole turns
    turns = (_is_hinge(model) & ~geared)[found]
    return Layout(np.asarray(bodies, int), found, lower, upper, turns, rows, most, tolerance)


def _dofs_below(model: Model, link: int) -> list[int]:
    """Dofs between the world and a link."""
    links = model.links
    found: list[int] = []
    while link >= 0:
        found += range(links.qd_start[link], links.qd_start[link] + links.n_qd[link])
        link = int(links.parent[link])
    return found


def _is_scalar(model: Model) -> Array:
    """Dofs of the tree that are one coordinate, (NV,) bool."""
    return _dofs_of(model, model.links.kind == LinkKind.HELIX)


def _is_hinge(model: Model) -> Array:
    """Dofs of the tree that turn about an axis, (NV,) bool."""
    slides = np.any(model.links.advance != 0, axis=0)
    return _dofs_of(model, (model.links.kind == LinkKind.HELIX) & (model.links.turn == 1) & ~slides)


def _dofs_of(model: Model, links: Array) -> Array:
    """Dofs of some links, (NV,) bool."""
    found = np.zeros(model.n_qd, bool)
    found[model.links.qd_start[links]] = True
    return found


def constraint_dofs(model: Model) -> Array:
    """Which dofs of the tree each row sees, (R, NV) bool."""
    constraints = constraints_of(model)
    rows, pairs = constraints.rows, constraints.anchor_pairs
    found = np.zeros((rows.n, model.n_qd), bool)
    for k, (a, b) in enumerate(zip(pairs.link_a, pairs.link_b, strict=True)):
        below = [set(_dofs_below(model, int(link))) for link in (a, b)]
        found[np.ix_(range(pairs.row_start[k], pairs.row_start[k + 1]), sorted(below[0] ^ below[1]))] = True
    _see_gears(found, constraints, rows_of_terms(rows, model.n_qd))
    return found


def _see_gears(found: Array, constraints: Constraints, row_of_term: Array) -> None:
    """Add what gears see: dofs, and what rows see that are their coordinates."""
    rows = constraints.rows
    for r in np.flatnonzero(rows.form == Form.GEAR):
        for n in range(rows.term_start[r], rows.term_start[r + 1]):
            if row_of_term[n] >= 0:
                found[r] |= found[row_of_term[n]]
            else:
                found[r, rows.term_dof[n]] = True


def _joined(dofs: set[int], model: Model) -> tuple[set[int], Array]:
    """Dofs with all that rows join to them, and these rows, (R,) bool."""
    sees = constraint_dofs(model)
    mine = np.zeros(model.n_qd, bool)
    mine[list(dofs)] = True
    while True:
        rows = sees[:, mine].any(axis=1)
        more = mine | sees[rows].any(axis=0)
        if (more == mine).all():
            return set(np.flatnonzero(mine).tolist()), np.asarray(rows)
        mine = more


def random_numbers(model: Model, layout: "Layout", count: int, seed: int) -> Array:
    """Numbers in [0, 1) for each start and velocity, (count, NV); a start has the same ones whatever the count."""
    return np.random.Generator(np.random.Philox(seed)).random((count, model.n_qd))


def start_at(model: Model, layout: "Layout", first: Array, bounds: tuple[Array, Array], numbers: Array) -> Array:
    """Random coordinates, (N, NQ): uniform within limits; without these a turn about the first ones, displacements stay.

    Args:
        model: the tables.
        layout: of the search.
        first: [m, rad, 1], (N, NQ).
        bounds: [m, rad], (N, n), lower and upper, of the unknowns.
        numbers: (NV,), in [0, 1).
    """
    q, links, places = first.copy(), model.links, scalar_places(model, layout.dofs)
    half = np.where(_is_hinge(model)[layout.dofs], np.pi, 0.0)
    some = places >= 0
    at, half, u = places[some], half[some], numbers[layout.dofs[some]]
    lower, upper = (side[:, some] for side in bounds)
    lowest = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0 * half, first[:, at] - half))
    highest = np.where(np.isfinite(upper), upper, lowest + 2.0 * half)
    q[:, at] = lowest + u * (highest - lowest)
    for i in np.flatnonzero(np.isin(links.kind, (LinkKind.BALL, LinkKind.FREE))):
        d, first_q = int(links.qd_start[i] + links.n_qd[i] - 3), int(links.q_start[i] + (3 if links.n_qd[i] == 6 else 0))
        if d in layout.dofs:
            q[:, first_q : first_q + 4] = _random_quaternion(numbers[d : d + 3])
    return q


def _random_quaternion(u: Array) -> Array:
    """A quaternion of a rotation that is uniform among all, of three numbers in [0, 1).

    Source: Shoemake (1992). No deviation.
    """
    a, b = np.sqrt(1.0 - u[0]), np.sqrt(u[0])
    s, t = 2.0 * np.pi * u[1], 2.0 * np.pi * u[2]
    return np.array([a * np.sin(s), a * np.cos(s), b * np.sin(t), b * np.cos(t)])


def within_bounds(model: Model, layout: "Layout", q: Array, bounds: tuple[Array, Array]) -> Array:
    """Coordinates with those of the unknowns clamped to their bounds, (N, NQ)."""
    found, place = q.copy(), scalar_places(model, layout.dofs)
    some = place >= 0
    found[:, place[some]] = np.clip(q[:, place[some]], bounds[0][:, some], bounds[1][:, some])
    return found


def scalar_places(model: Model, dofs: Array) -> Array:
    """Index into joint_q of dofs that are one coordinate, -1 of others."""
    links = model.links
    place = np.full(model.n_qd, -1)
    one = links.n_qd == 1
    place[links.qd_start[one]] = links.q_start[one]
    return place[dofs]


def nearest_turns(model: Model, layout: "Layout", q: Array, near: Array) -> Array:
    """Coordinates with whole turns of joints without limits taken off, so that they are nearest to others, (N, NQ)."""
    free = layout.turns & ~np.isfinite(layout.lower).any(axis=0) & ~np.isfinite(layout.upper).any(axis=0)
    place = scalar_places(model, layout.dofs)[free]
    found = q.copy()
    found[:, place] -= 2.0 * np.pi * np.round((q[:, place] - near[:, place]) / (2.0 * np.pi))
    return found


@dataclass(frozen=True)
class SearchOptions:
    """How targets are searched.

    Attributes:
        seeds: searches of each target at most.
        seed: of the random numbers where they begin.
        posture: weight of the squares of how far coordinates are from those of the state.
        follow: begin at the solution of the state before of the same world.
        every: give all solutions.
        tolerance: [m, rad], within which targets are reached.
        most: iterations of a search.
    """

    seeds: int = 16
    seed: int = 0
    posture: float = 0.0
    follow: bool = False
    every: bool = False
    tolerance: tuple[float, float] = (1e-6, 1e-6)
    most: int = 500


@dataclass
class SearchFound:
    """What came of searches.

    Attributes:
        q: [m, rad, 1], (N, NQ).
        facts: (N, 6), distance, turn, gap of rows, E, status, iterations.
        start: (N,), number of the search.
    """

    q: Array
    facts: Array
    start: Array

    @property
    def is_reached(self) -> Array:
        """(N,) bool."""
        return self.facts[:, 4] == 0

    def put(self, which: Array, other: "SearchFound", rows: Array) -> None:
        """Take rows of another one for some of these."""
        for name in ("q", "facts", "start"):
            getattr(self, name)[which] = getattr(other, name)[rows]


def limit_states(model: Model, world: Array, q: Array) -> Array:
    """-1 at the lower limit, 1 at the upper one, else 0, of each scalar joint coordinate, (N, NV)."""
    found = np.zeros((len(q), model.n_qd), np.int64)
    counts = np.diff(model.joints.q_start), np.diff(model.joints.qd_start)
    for j in np.flatnonzero(counts[0] == counts[1]):
        dofs, place = slice(*model.joints.qd_start[j : j + 2]), slice(*model.joints.q_start[j : j + 2])
        lower, upper = (of_worlds(a, world)[:, dofs] for a in (model.dofs.limit_lower, model.dofs.limit_upper))
        near = 0.0 if model.joints.is_tree[j] else _AT_LIMIT
        found[:, dofs] = np.where(q[:, place] >= upper - near, 1, np.where(q[:, place] <= lower + near, -1, 0))
    return found
