"""Complementarity problems in numpy, and the device's solver of them."""

from dataclasses import dataclass

import numpy as np

from simcli.kernels.complementarity.graph import part_islands
from simcli.kernels.complementarity.large import DOFS, ROWS_SEEN, SystemPattern
from simcli.kernels.complementarity.problem import SCHEDULE, Problem
from simcli.kernels.complementarity.solve import SEARCH
from simcli.kernels.complementarity.start import READY
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.programs import Program, begin, run
from simcli.kernels.device.stage_lists import repeat
from simcli.kernels.language import ti
from simcli.solvers.impulses.searches import begin_islands, leave_island, next_island


def is_island_left(p, w):
    """Whether there is another island (inside kernels)."""
    g = p.large.islands
    is_left = ti.cast(g.hand.load(w, g.island) + 1 < g.notes.load(w, g.count), p.arena.device.real)
    return p.arena.zero() + is_left != 0.0


BY_ISLANDS = (
    part_islands,
    begin_islands,
    repeat(next_island, *READY, *SEARCH, leave_island, wanted=is_island_left),
)


@dataclass
class Given:
    """One world: rows (m, n), contacts (k, 3, n); what is not given is zero."""

    M: np.ndarray
    free: np.ndarray
    rows: np.ndarray = None
    bias: np.ndarray = None
    compliance: np.ndarray = None
    lower: np.ndarray = None
    upper: np.ndarray = None
    contacts: np.ndarray = None
    contact_bias: np.ndarray = None
    contact_compliance: np.ndarray = None
    mu: np.ndarray = None
    centre: np.ndarray = None
    kappa: float = 0.0
    start_rows: np.ndarray = None
    start: np.ndarray = None

    def __post_init__(self):
        n = len(self.free)
        self.rows = np.zeros((0, n)) if self.rows is None else np.asarray(self.rows, float)
        self.contacts = np.zeros((0, 3, n)) if self.contacts is None else np.asarray(self.contacts, float)
        m, k = len(self.rows), len(self.contacts)
        for name in ("bias", "compliance", "start_rows"):
            self.fill(name, (m,), 0.0)
        self.fill("lower", (m,), -np.inf)
        self.fill("upper", (m,), np.inf)
        self.fill("mu", (k,), 0.0)
        for name in ("contact_bias", "contact_compliance", "centre", "start"):
            self.fill(name, (k, 3), 0.0)

    def fill(self, name, shape, value):
        given = value if getattr(self, name) is None else getattr(self, name)
        setattr(self, name, np.broadcast_to(given, shape).astype(float))


@dataclass
class Found:
    """What the device found, per world."""

    rows: np.ndarray
    contacts: np.ndarray
    velocity: np.ndarray
    residual: np.ndarray
    proximal: np.ndarray
    iterations: np.ndarray
    admm_iterations: np.ndarray
    status: np.ndarray


class Bench:
    """A problem of fixed capacities that serves all the tests; smaller ones leave rows off and velocities alone.

    Args:
        pattern: of a large world, which has no dense memory.
    """

    def __init__(self, device, n, n_rows, n_contacts, n_worlds, schedule=SCHEDULE, limits=None, pattern=None):
        device = device.for_worlds(1) if pattern else device
        self.arena, self.device, self.limits = Arena(device, n_worlds), device, limits
        self.problem = Problem(self.arena, n, n_rows, n_contacts, schedule, limits, pattern)
        self.stages = BY_ISLANDS if pattern else (*READY, *SEARCH)
        self.program = Program(self.arena, self.stages)
        self.sizes = (self.problem.n, n_rows, n_contacts)
        self.arena.build()
        p, arena, program = self.problem, self.arena, self.program

        @ti.kernel
        def solve(rounds: ti.i32):
            ti.loop_config(block_dim=1)
            for w in range(arena.n_blocks):
                arena.enter(w)
                p.goal.store(w, 0, arena.zero() + p.limits.tolerance)
                p.enough.store(w, 0, arena.zero() + p.limits.tolerance)
                p.share.store(w, 0, arena.zero())
                p.rounds.store(w, 0, arena.zero() + ti.cast(rounds, arena.device.real))
                begin(program, w)
                run(program, p, w)

        self.run = solve

    def set_schedule(self, schedule):
        """Exchange the stages; missing ones do nothing."""
        schedule = (*schedule, *((0, 0, 99),) * (self.problem.n_stages - len(schedule)))
        other = Arena(self.device, self.arena.n_worlds)
        Problem(other, *self.sizes, schedule, self.limits)
        Program(other, self.stages)
        self.arena.refill(other)

    def solve(self, worlds, rounds=1) -> Found:
        """Solve one problem per world; the last is repeated. All results are poisoned before."""
        self.load(worlds)
        self.arena.launch(self.run, rounds)
        p, names = self.problem, ("residual", "proximal", "iterations", "admm_iterations", "status")
        scalars = {name: np.array(getattr(p, name).read()[:, 0, 0]) for name in names}
        return Found(
            rows=np.array(p.rows.impulse.read()[..., 0]),
            contacts=np.array(p.contacts.impulse.read()),
            velocity=np.array(p.velocity.read()[..., 0]),
            **scalars,
        )

    def load(self, worlds):
        p, (n, m, k) = self.problem, self.sizes
        self.arena.write(np.full((self.arena.n_blocks * self.device.lanes, self.arena.n_rows), np.nan))
        worlds = [*worlds, *[worlds[-1]] * (self.arena.n_worlds - len(worlds))]
        corner = np.tril_indices(n)
        M = np.stack([padded(one.M, (n, n), np.eye(n)) for one in worlds])
        if p.is_large:
            self.load_large(worlds, M)
        else:
            p.mass.write(M[:, corner[0], corner[1]])
        p.free.write(np.stack([padded(one.free, (n,)) for one in worlds]))
        p.push.write(np.zeros((1, n, 1)))
        p.kappa.write(np.array([[one.kappa] for one in worlds]))
        p.stated.write(np.full((1, 1, 1), k))
        nan = np.nan  # rows that are off are never read
        for side, names, tail in (
            (p.rows, ("rows", "bias", "compliance", "start_rows"), ()),
            (p.contacts, ("contacts", "contact_bias", "contact_compliance", "start"), (3,)),
        ):
            count = side.count
            jacobians = [np.moveaxis(getattr(one, names[0]), -1, 1) for one in worlds]
            on = np.stack([np.arange(count) < len(j) for j in jacobians])
            side.on.write(on[..., None].astype(float))
            if not p.is_large:
                dense = [padded(padded(j, (len(j), n, *tail)), (count, n, *tail), nan) for j in jacobians]
                side.jacobian.write(np.stack(dense).reshape(len(worlds), count * n, side.jacobian.width))
                if tail:
                    threes = np.arange(-(-n // 3))
                    side.length.write(np.full((1, count, 1), len(threes)))
                    side.columns.write(np.tile(np.resize(threes, side.n), count)[None, :, None])
            for slot, name in zip((side.bias, side.compliance, side.impulse), names[1:], strict=True):
                slot.write(
                    np.stack([padded(getattr(one, name), (count, *tail), nan) for one in worlds]).reshape(
                        len(worlds), count, slot.width
                    )
                )
        for slot, name, count in ((p.lower, "lower", m), (p.upper, "upper", m), (p.friction, "mu", k)):
            slot.write(np.stack([padded(getattr(one, name), (count,), nan) for one in worlds])[..., None])
        p.centre.write(np.stack([padded(one.centre, (k, 3), nan) for one in worlds]))

    def load_large(self, worlds, M):
        """Masses of bodies, rows that may see everything, and contacts of two bodies at most."""
        (n, m, k), large = self.sizes, self.problem.large
        low = np.tril_indices(DOFS)
        blocks = M.reshape(len(worlds), n // DOFS, DOFS, n // DOFS, DOFS)
        assert sum(np.abs(blocks[:, i, :, j]).max() for i in range(n // DOFS) for j in range(i)) == 0
        self.problem.mass.write(np.stack([blocks[:, b, :, b][:, *low] for b in range(n // DOFS)], axis=1)[..., None])
        large.value.write(np.stack([padded(one.rows, (m, n)) for one in worlds])[..., None])
        body, seen = np.full((len(worlds), k, 2), -1.0), np.zeros((len(worlds), k, 2, ROWS_SEEN, DOFS))
        for w, one in enumerate(worlds):
            parts = padded(one.contacts, (len(one.contacts), 3, n)).reshape(-1, 3, n // DOFS, DOFS)
            for c, part in enumerate(parts):
                for side, b in enumerate(np.flatnonzero(np.abs(part).max(axis=(0, 2)))):
                    body[w, c, side], seen[w, c, side] = b, part[:, b]
        large.body.write(body[..., None])
        large.sixes.memory[:, large.seen : large.seen + 2 * ROWS_SEEN * k] = seen.reshape(
            len(worlds), 2 * ROWS_SEEN * k, DOFS
        )


def pattern_of_all(n, m):
    """Rows that may see all velocities."""
    return SystemPattern(n // DOFS, n * np.arange(m + 1), np.tile(np.arange(n), m))


def padded(values, shape, other=0.0):
    """Values in the first places of an array of a shape."""
    out = np.broadcast_to(other, shape).astype(float)
    out[tuple(slice(0, length) for length in np.shape(values))] = values
    return out
