"""Linear algebra of large worlds against numpy: pattern, factors, GMRES, products, of random bodies, rows and contacts."""

import numpy as np
import pytest
from support.device import live_device

from simcli.kernels.complementarity.graph import COMPLETE, OPEN
from simcli.kernels.complementarity.krylov import solve_large
from simcli.kernels.complementarity.large import DOFS, SEEN, SystemPattern
from simcli.kernels.complementarity.large_problem import factorize_large, multiply
from simcli.kernels.complementarity.measure import contact_speed, respond, row_speed
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
        self.problem = p = Problem(self.arena, N, N_ROWS + 3 * N_CONTACTS, N_CONTACTS,
                                   pattern=SystemPattern(N_BODIES, start, np.concatenate(self.columns), True))  # fmt: skip
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
                for c in range(p.contacts.count):
                    p.contacts.speed.store(w, c, contact_speed(p, w, c, x))
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
        seen, spin = rng.normal(size=(N_CONTACTS, SEEN, 3)), rng.normal(size=(N_CONTACTS, 3, SEEN))
        self.on = np.arange(N_CONTACTS) % 5 != 4
        rows = np.zeros((N_ROWS + 3 * N_CONTACTS, N))
        self.contacts = np.zeros((N_CONTACTS, 3, N))
        for s, (columns, value) in enumerate(zip(self.columns, values, strict=True)):
            np.add.at(rows[s], columns, value)
        for c in np.flatnonzero(self.on):
            for side in np.flatnonzero(body[c] >= 0):
                its = slice(DOFS * body[c, side], DOFS * (body[c, side] + 1))
                self.contacts[c][:, its] = seen[c, DOFS * side : DOFS * (side + 1)].T
                rows[N_ROWS + 3 * c : N_ROWS + 3 * c + 3, its] = spin[c][:, DOFS * side : DOFS * (side + 1)]
        self.rows, self.gains = rows, 10.0 ** rng.uniform(-2, 2, len(rows))
        self.blocks = rng.normal(size=(N_CONTACTS, 3, 3)) + 3 * np.eye(3)
        self.given, self.impulses = rng.normal(size=N), (rng.normal(size=len(rows)), rng.normal(size=(N_CONTACTS, 3)))
        on = np.concatenate([np.ones(N_ROWS), np.repeat(self.on, 3)])
        for slot, array in ((p.mass, own), (p.large.value, np.concatenate(values)), (p.large.seen, seen),
                            (p.large.spin, spin), (p.large.body, body), (p.rows.on, on), (p.contacts.on, self.on),
                            (p.large.row_gain, self.gains), (p.large.contact_gain, self.blocks), (self.x, self.given),
                            (p.large.steps, [0]), (p.rows.impulse, self.impulses[0]), (p.contacts.impulse, self.impulses[1]),
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
    close(one.read(p.contacts.speed), one.contacts @ one.given)
    dense = one.mass + one.rows.T @ (G[:, None] * one.rows)
    dense += np.einsum("cia,cij,cjb->ab", one.contacts, one.blocks, one.contacts)
    close(one.read(one.product), dense @ one.given)
    close(one.read(one.x), np.linalg.solve(dense, one.given))
    pulled = one.rows.T @ one.impulses[0] + np.einsum("cia,ci->a", one.contacts, one.impulses[1])
    close(one.read(p.trial), 1.0 + np.linalg.solve(one.mass, pulled))
    state, steps = int(p.large.graph.notes.memory[0, p.large.graph.state, 0]), one.read(p.large.steps)[0]
    assert (state, steps > 1) == ((COMPLETE, False) if room > 1 else (OPEN, True))


def test_large_worlds_have_the_metric_of_numpy(bench):
    _, one = bench
    p, inverse = one.problem, np.linalg.inv(one.mass)
    rows = np.einsum("ra,ab,rb->r", one.rows, inverse, one.rows)
    close(one.read(p.rows.metric), np.where(rows > 0, rows, 1))
    n, a, b = np.einsum("cia,ab,cib->ic", one.contacts, inverse, one.contacts)
    expected = np.stack((n, (a + b) / 2, (n + a + b) / 3), axis=1)
    close(one.read(p.contacts.metric), np.where(expected > 0, expected, 1))
