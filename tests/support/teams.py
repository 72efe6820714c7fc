"""Condensed matrices of random worlds: in numpy, by a thread for each world, and by a team of threads."""

from dataclasses import dataclass, replace

import numpy as np

from simcli.kernels.complementarity.admm import ETA, FIRST_RHO
from simcli.kernels.complementarity.condensed import renew_factors
from simcli.kernels.complementarity.dense import substitute
from simcli.kernels.complementarity.problem import ADMM, NEWTON, Problem
from simcli.kernels.device.arena import Arena
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import TEAM
from support.team_stage import ROOMS, Team, condense_by_team, factorize_by_team, substitute_by_team

STEPS = "begun", "changed", "admm"  # a Newton step of a world that begins, one whose G has changed in part, ADMM


@dataclass
class Condensed:
    """One world: rows (m, n) and their gains (m,), those that are off NaN; contacts and spins (k, 3, n), (k, 3, 3)."""

    M: np.ndarray
    force: np.ndarray
    rows: np.ndarray
    gain: np.ndarray
    triples: list[np.ndarray]
    gains: list[np.ndarray]
    metric: np.ndarray
    metrics: list[np.ndarray]

    @property
    def matrix(self) -> np.ndarray:
        """M + J^T G J."""
        on = np.isfinite(self.gain)
        A = self.M + self.rows[on].T @ (self.gain[on, None] * self.rows[on])
        for J, G in zip(self.triples, self.gains, strict=True):
            A = A + np.einsum("cia,cij,cjb->ab", np.nan_to_num(J), G, np.nan_to_num(J))
        return A


def drawn(seed: int, n: int, n_rows: int, n_contacts: int, has_spins: bool, dtype) -> dict[str, Condensed]:
    """A world at each of STEPS: contacts that see some velocities or none, stick, slide, are open or do not change."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    seen = rng.random((n_contacts, n // 3)) < 0.6
    J = [np.where(np.repeat(seen, 3, axis=1)[:, None], rng.normal(size=(n_contacts, 3, n)), np.nan) for _ in range(2)]
    rows = np.where(rng.random((n_rows, n)) < 0.5, rng.normal(size=(n_rows, n)), 0.0)
    gain = np.where(rng.random(n_rows) < 0.8, rng.normal(size=n_rows) ** 2, np.nan)
    kinds = rng.integers(3, size=(2, n_contacts))
    world = Condensed(
        *(A @ A.T + n * np.eye(n), rng.normal(size=n), rows, gain, J, [gains_of(rng, kind) for kind in kinds]),
        *(rng.uniform(0.5, 2.0, n_rows), [rng.uniform(0.5, 2.0, (n_contacts, 3)) for _ in range(2)]),
    )
    for name in ("triples", "gains", "metrics"):
        setattr(world, name, getattr(world, name)[: 1 + has_spins])
    for name, value in vars(world).items():
        setattr(world, name, [one.astype(dtype) for one in value] if isinstance(value, list) else value.astype(dtype))
    changes = rng.random(n_contacts) < 0.5
    others = [
        np.where(changes[:, None, None], gains_of(rng, np.roll(kind, 1)), G).astype(dtype)
        for kind, G in zip(kinds, world.gains, strict=False)
    ]
    changed = replace(
        world, gains=others, gain=np.where(rng.random(n_rows) < 0.5, world.gain, 0.5 * world.gain).astype(dtype)
    )
    softness = FIRST_RHO + ETA
    scales = [one if k else one[:, [2, 2, 2]] for k, one in enumerate(world.metrics)]
    swept = replace(
        world,
        gain=np.where(np.isfinite(gain), 1.0 / (softness * world.metric), np.nan),
        gains=[np.einsum("ci,ij->cij", 1.0 / (softness * one), np.eye(3)) for one in scales],
    )
    return dict(zip(STEPS, (world, changed, swept), strict=True))


def gains_of(rng, kinds: np.ndarray) -> np.ndarray:
    """G of contacts that are open (0), have a diagonal one with both signs, or slide, whose G is not symmetric."""
    full = rng.normal(size=(len(kinds), 3, 3))
    slides = full @ full.transpose(0, 2, 1) + 0.2 * rng.normal(size=full.shape)
    sticks = np.abs(full) * np.diag([3.0, 0.5, -0.1])  # of little weight, so that factors need no pivoting
    return np.where((kinds == 0)[:, None, None], 0.0, np.where((kinds == 1)[:, None, None], sticks, slides))


class TeamBench:
    """A problem whose condensed matrix is made by a thread for each world and by a team."""

    def __init__(self, device, n: int, n_rows: int, n_contacts: int, has_spins: bool, n_worlds: int):
        self.arena = Arena(device, n_worlds)
        p = self.problem = Problem(self.arena, n, n_rows, n_contacts, has_spins=has_spins)
        arena, room = self.arena, next(room for room in ROOMS if p.n <= room)
        arena.build()

        @ti.kernel
        def by_thread(kind: ti.i32):
            ti.loop_config(block_dim=1)
            for w in range(arena.reach):
                if w < arena.n_blocks:
                    arena.enter(w)
                    renew_factors(p, w, kind)
                    substitute(p, w, p.force)

        @ti.kernel
        def by_team(kind: ti.i32):
            ti.loop_config(block_dim=TEAM)
            for k in range(arena.reach * TEAM):
                w = k // TEAM
                if w < arena.n_blocks:
                    arena.enter(w)
                    team = Team(p, w, room, k % TEAM, kind)
                    condense_by_team(team)
                    factorize_by_team(team)
                    substitute_by_team(team, p.force)

        self.kernels = {"thread": by_thread, "team": by_team}

    def solve(self, worlds: list[dict[str, Condensed]], way: str) -> dict[str, np.ndarray]:
        """What is found at each of STEPS, and the matrix that the Newton steps keep; memory is poisoned before."""
        p, found = self.problem, {}
        self.arena.write(np.full((self.arena.n_blocks, self.arena.n_rows), np.nan))
        self.load([world["begun"] for world in worlds])
        for step in STEPS:
            now = [world[step] for world in worlds]
            put(p.force, [one.force for one in now])
            if step != "admm":
                put(p.rows.gain, [np.nan_to_num(one.gain) for one in now])
                for k, side in enumerate(p.triples):
                    put(side.gain, [one.gains[k] for one in now])
            self.arena.launch(self.kernels[way], ADMM if step == "admm" else NEWTON)
            found[step] = p.force.read()[..., 0]
        found["kept"] = p.matrix.read()[:, p.n_threes**2 :]
        counted = [side.counted.read().reshape(len(worlds), -1) for side in (p.rows, *p.triples)]
        counted[0] = np.where(p.rows.on.read()[..., 0] != 0.0, counted[0], 0.0)  # that of rows that are off means nothing
        found["counted"] = np.concatenate(counted, axis=1)
        found["fresh"] = p.progress.fresh.read()[..., 0]
        return found

    def load(self, worlds: list[Condensed]):
        p, count = self.problem, len(worlds)
        corner = np.tril_indices(p.n)
        put(p.mass, [one.M[corner] for one in worlds])
        put(p.live, count * [(p.rows.count, p.contacts.count)])
        put(p.progress.fresh, count * [1.0])
        put(p.progress.rho, count * [FIRST_RHO])
        on = [np.isfinite(one.gain) for one in worlds]
        put(p.rows.on, on)
        put(p.rows.jacobian, [np.where(a[:, None], one.rows, np.nan) for a, one in zip(on, worlds, strict=True)])
        put_columns(p.rows, [one.rows != 0.0 for one in worlds])
        put_columns(p.contacts, [np.isfinite(one.triples[0][:, 0, ::3]) for one in worlds])
        for array, value in ((p.lower, 0.0), (p.upper, 1.0), (p.rows.soft, 0.0)):
            put(array, np.full((count, array.n_items), value))
        put(p.rows.metric, [one.metric for one in worlds])
        for k, side in enumerate(p.triples):
            put(side.jacobian, [np.moveaxis(one.triples[k], -1, 1) for one in worlds])
            put(side.metric, [one.metrics[k] for one in worlds])
            put(side.soft, np.zeros((count, side.count, 3)))


def put(array, values):
    """Set an array from the values of all worlds."""
    values = np.asarray(values, float)
    if values.size:
        array.write(values.reshape(len(values), array.n_items, array.width))


def put_columns(side, seen: list[np.ndarray]):
    """Set which columns rows or contacts see."""
    columns = np.full((len(seen), side.count, side.n), np.nan)
    for w, all_rows in enumerate(seen):
        for r, row in enumerate(all_rows):
            columns[w, r, : row.sum()] = np.flatnonzero(row)
    put(side.columns, columns)
    put(side.length, [one.sum(axis=1) for one in seen])
