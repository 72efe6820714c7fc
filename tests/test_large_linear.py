"""Linear algebra of large worlds against numpy: pattern, factors, GMRES, products, of random bodies, rows and contacts."""

import numpy as np
import pytest
from support.device import live_device

from simcli.kernels.complementarity.graph import COMPLETE, OPEN
from simcli.kernels.complementarity.krylov import solve_large
from simcli.kernels.complementarity.large import DOFS, SEEN, SystemPattern
from simcli.kernels.complementarity.large_problem import factorize_large, multiply
from simcli.kernels.complementarity.measure import respond, row_speed, triple_speed
from simcli.kernels.complementarity.preparation import prepare_problem
from simcli.kernels.complementarity.problem import Problem
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena

N_BODIES, N_ROWS, N_CONTACTS = 12, 6, 16
N = DOFS * N_BODIES
ROUNDING = 1e-9  # [1], relative, for a condition of 1e4


class Bench:
    """One world of bodies that rows, contacts and spins couple, on the device and in numpy.

    Args:
        device: of one lane, or more.
        room: entries of the factor for each body.
    """

    def __init__(self, device, monkeypatch, room):
        monkeypatch.setattr("simcli.kernels.complementarity.large.ROOM", room)
        rng = self.rng = np.random.default_rng(3)
        self.columns = [np.concatenate([DOFS * b + rng.choice(DOFS, 3) for b in rng.choice(N_BODIES, 2, replace=False)])
                        for _ in range(N_ROWS)]  # fmt: skip
        self.columns[0][:] = self.columns[0][0]  # one velocity, many times
        start = np.cumsum([0, *map(len, self.columns)])
        self.arena = Arena(device.for_worlds(1), 1)
        self.problem = p = Problem(self.arena, N, N_ROWS, N_CONTACTS, has_spins=True,
                                   pattern=SystemPattern(N_BODIES, start, np.concatenate(self.columns)))  # fmt: skip
        self.x, self.product = self.arena.slot(N), self.arena.slot(N)
        x, product, arena = self.x, self.product, self.arena
        self.arena.build()
        self.arena.write(np.full((1, self.arena.n_rows), np.nan))

        @ti.kernel
        def run():
            ti.loop_config(block_dim=1)
            for w in range(arena.n_blocks):
                arena.enter(w)
                prepare_problem(p, w)
                respond(p, w)
                for s in range(p.rows.count):
                    p.rows.speed.store(w, s, row_speed(p, w, s, x))
                for side in ti.static(p.triples):
                    for c in range(p.contacts.count):
                        side.speed.store(w, c, triple_speed(p, side, w, c, x))
                multiply(p, w, x, product)
                factorize_large(p, w)
                solve_large(p, w, x)

        self.fill()
        arena.launch(run)

    def fill(self):
        """Random numbers, of which numpy keeps the dense form: M, J, G."""
        p, rng = self.problem, self.rng
        self.mass, blocks = np.zeros((N, N)), np.tril_indices(DOFS)
        for b in range(N_BODIES):
            spread = rng.normal(size=(DOFS, DOFS))
            self.mass[DOFS * b : DOFS * (b + 1), DOFS * b : DOFS * (b + 1)] = spread @ spread.T + np.eye(DOFS)
        own = [self.mass[DOFS * b : DOFS * (b + 1), DOFS * b : DOFS * (b + 1)][blocks] for b in range(N_BODIES)]
        values = [rng.normal(size=len(columns)) for columns in self.columns]
        body = np.array([[-1, 3], [2, -1], *(rng.choice(N_BODIES - 1, 2, replace=False) for _ in range(N_CONTACTS - 2))])
        views = rng.normal(size=(2, N_CONTACTS, SEEN, 3))
        self.on = np.arange(N_CONTACTS) % np.array([[5], [3]]) != 2
        self.on[1] &= self.on[0]  # spins are on only where their contact is
        rows = np.zeros((N_ROWS, N))
        self.triples = np.zeros((2, N_CONTACTS, 3, N))
        for s, (columns, value) in enumerate(zip(self.columns, values, strict=True)):
            np.add.at(rows[s], columns, value)
        for kind, c in np.argwhere(self.on):
            for side in np.flatnonzero(body[c] >= 0):
                its = slice(DOFS * body[c, side], DOFS * (body[c, side] + 1))
                self.triples[kind, c][:, its] = views[kind, c, DOFS * side : DOFS * (side + 1)].T
        self.rows, self.gains = rows, 10.0 ** rng.uniform(-2, 2, len(rows))
        self.blocks = rng.normal(size=(2, N_CONTACTS, 3, 3)) + 3 * np.eye(3)
        self.given, self.impulses = rng.normal(size=N), (rng.normal(size=N_ROWS), rng.normal(size=(2, N_CONTACTS, 3)))
        of_triples = [pair for k, side in enumerate(p.triples)
                      for pair in ((p.large.views[k], views[k]), (side.on, self.on[k]), (p.large.gains[k], self.blocks[k]),
                                   (side.impulse, self.impulses[1][k]))]  # fmt: skip
        for slot, array in ((p.mass, own), (p.large.value, np.concatenate(values)), (p.large.body, body),
                            (p.rows.on, np.ones(N_ROWS)), (p.large.row_gain, self.gains), (self.x, self.given),
                            (p.large.steps, [0]), (p.rows.impulse, self.impulses[0]), *of_triples,
                            (p.push, np.zeros(N)), (p.free, np.ones(N)), (p.stated, [N_CONTACTS])):  # fmt: skip
            slot.write(np.asarray(array, float).reshape(1, slot.n_items, slot.width))

    def read(self, slot):
        return slot.read()[0, :, 0] if slot.width == 1 else slot.read()[0]


@pytest.fixture(scope="module", params=[1, *(pytest.param(room, marks=pytest.mark.slow) for room in (64, 0))])
def bench(request):
    """With room for the factors of all bodies, of joints alone, and of none.

    Factors of all bodies are those of test_complementarity.py, too.
    """
    with pytest.MonkeyPatch.context() as patch:
        yield request.param, Bench(live_device(), patch, request.param)


def close(found, expected, factor=1.0):
    assert np.abs(found - expected).max() < factor * ROUNDING * np.abs(expected).max()


def test_large_worlds_solve_as_numpy(bench):
    room, one = bench
    p, G = one.problem, one.gains
    close(one.read(p.rows.speed), one.rows @ one.given)
    for side, seen in zip(p.triples, one.triples, strict=True):
        close(one.read(side.speed), seen @ one.given)
    dense = one.mass + one.rows.T @ (G[:, None] * one.rows)
    dense += np.einsum("kcia,kcij,kcjb->ab", one.triples, one.blocks, one.triples)
    close(one.read(one.product), dense @ one.given)
    close(one.read(one.x), np.linalg.solve(dense, one.given))
    pulled = one.rows.T @ one.impulses[0] + np.einsum("kcia,kci->a", one.triples, one.impulses[1])
    close(one.read(p.trial), 1.0 + np.linalg.solve(one.mass, pulled))
    state, steps = int(p.large.graph.notes.memory[0, p.large.graph.state, 0]), one.read(p.large.steps)[0]
    assert (state, steps > 1) == ((COMPLETE, False) if room > 1 else (OPEN, True))


def test_large_worlds_have_the_metric_of_numpy(bench):
    _, one = bench
    p, inverse = one.problem, np.linalg.inv(one.mass)
    rows = np.einsum("ra,ab,rb->r", one.rows, inverse, one.rows)
    close(one.read(p.rows.metric), np.where(rows > 0, rows, 1))
    for side, seen in zip(p.triples, one.triples, strict=True):
        n, a, b = np.einsum("cia,ab,cib->ic", seen, inverse, seen)
        expected = np.stack((n, (a + b) / 2, (n + a + b) / 3 if side is p.contacts else (a + b) / 2), axis=1)
        close(one.read(side.metric), np.where(expected > 0, expected, 1))
