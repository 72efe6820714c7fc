"""Functions whose root is the law of a row or contact: slopes by differences, roots where the laws hold."""

import numpy as np
import pytest

from simcli.kernels.algebra.values import Mat3, Vec3
from simcli.kernels.complementarity.cones import curnier, discs, fischer_cone, fischer_row, on_cone, on_discs
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena

N, STEP = 400, 1e-6
SLOPE = 1e-7  # of values about 1: a difference of second order over two steps of 1e-6 loses 1e-10, and curvature 1e-8
SIGMA, FLOOR, TINY = 0.3, 1e-13, 1e-300
METRIC = np.array([0.7, 1.9, 1.5])  # d_N, d_T, d
TORSION = 0.4  # of spins, whose discs have the radius mu


class Evaluator:
    """Both functions of contacts, those of spins and of rows, for N points."""

    def __init__(self, device):
        arena = self.arena = Arena(device, N)
        x, w, mu, sigma = self.given = arena.slot(1, Vec3), arena.slot(1, Vec3), arena.slot(1), arena.slot(1)
        names = ("curnier", "cone", "discs", "smooth discs")
        out = self.out = {name: (arena.slot(1, Vec3), arena.slot(1, Mat3), arena.slot(1, Mat3)) for name in names}
        row = self.row = arena.slot(3)
        nearest, inner = self.nearest, self.inner = arena.slot(1, Vec3), arena.slot(1, Vec3)
        arena.build()

        def write(k, x, w, mu, sigma, point):
            zero = arena.zero()
            metric = Vec3(*(zero + m for m in METRIC))
            for name, found in (("curnier", curnier(x, w, metric, mu, TINY)),
                                ("cone", fischer_cone(x, w, metric, mu, sigma, FLOOR, TINY)),
                                ("discs", discs(x, w, metric, zero + TORSION, mu, zero, TINY)),
                                ("smooth discs", discs(x, w, metric, zero + TORSION, mu, sigma, TINY))):
                for slot, value in zip(out[name], found, strict=True):
                    slot.store(k, 0, value)
            a, b, _ = x.parts
            bounds = zero - 0.4, select_bound(b, zero)
            for part, value in enumerate(fischer_row(a, w.parts[0], METRIC[0], *bounds, sigma, TINY)):
                row.store(k, part, value)
            nearest.store(k, 0, on_cone(point, mu)[0])
            inner.store(k, 0, on_discs(point, zero + TORSION, mu, TINY))

        def select_bound(b, zero):
            return ti.select(b > 0.0, zero + 0.5, zero + np.inf)

        @ti.kernel
        def run():
            ti.loop_config(block_dim=1)
            for k in range(arena.n_blocks):
                arena.enter(k)
                write(k, x.load(k, 0), w.load(k, 0), mu.load(k, 0), sigma.load(k, 0), x.load(k, 0))

        self.run = run

    def __call__(self, x, w, mu, sigma=SIGMA):
        for slot, values in zip(self.given, (x, w, mu, np.broadcast_to(sigma, N)), strict=True):
            slot.write(np.reshape(values, (N, 1, -1)))
        self.arena.launch(self.run)
        found = {name: [np.array(slot.read()[:, 0]) for slot in slots] for name, slots in self.out.items()}
        found["row"] = np.array(self.row.read()[..., 0])
        found["nearest"], found["inner"] = (np.array(slot.read()[:, 0]) for slot in (self.nearest, self.inner))
        return found


@pytest.fixture
def evaluate(device):
    evaluator = Evaluator(device)
    yield evaluator
    evaluator.arena.destroy()


def test_slopes_and_roots(evaluate):
    rng = np.random.default_rng(1)
    x, w, mu = rng.normal(size=(N, 3)), rng.normal(size=(N, 3)), rng.uniform(0.1, 1.2, N)
    mu[:40] = 0.0
    x[:20] = x[:20, :1] * np.eye(3)[0]  # on the axis, on both sides of the tip
    here = evaluate(x, w, mu)
    check_slopes(evaluate, here, x, w, mu)
    check_roots(evaluate, rng)
    check_projection(here["nearest"], x, mu)
    check_discs(evaluate, here["inner"], x, mu)


def check_slopes(evaluate, here, x, w, mu):
    for column in range(3):
        step = STEP * np.eye(3)[column]
        for which, (plus, minus) in ((1, (evaluate(x + step, w, mu), evaluate(x - step, w, mu))),
                                     (2, (evaluate(x, w + step, mu), evaluate(x, w - step, mu)))):
            for name in ("curnier", "cone", "discs", "smooth discs"):
                slope = (plus[name][0] - minus[name][0]) / (2 * STEP)
                off = abs(slope - here[name][which].reshape(N, 3, 3)[:, :, column]).max(axis=1)
                crossed = 2 if name in ("curnier", "discs") else 0  # points next to a kink
                assert np.sort(off)[N - 1 - crossed] < SLOPE * 10, (name, which, column)
            if column == 0:
                slope = (plus["row"][:, 0] - minus["row"][:, 0]) / (2 * STEP)
                assert slope == pytest.approx(here["row"][:, which], abs=SLOPE)


def check_roots(evaluate, rng):
    """Open, sticking and sliding contacts that obey the law of Coulomb, and what does not."""
    mu, mode = rng.uniform(0.1, 1.2, N), np.arange(N) % 3
    angle, normal, speed = rng.uniform(0, 2 * np.pi, N), rng.uniform(0.5, 2.0, N), rng.uniform(0.5, 2.0, N)
    axis = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    x, w = np.zeros((N, 3)), np.zeros((N, 3))
    x[mode > 0, 0] = normal[mode > 0]
    inside = rng.uniform(0.0, 0.9, N)
    share = np.select([mode == 1, mode == 2], [inside, np.ones(N)])
    x[:, 1:] = (share * mu * x[:, 0])[:, None] * -axis
    w[mode == 2, 1:] = (speed[:, None] * axis)[mode == 2]
    w[mode == 0] = np.concatenate((normal[:, None], speed[:, None] * axis), axis=1)[mode == 0]
    found = evaluate(x, w, mu, 0.0)
    for name in ("curnier", "cone"):
        assert abs(found[name][0]).max() < 1e-12, name
    more = np.array([0.1, 0.0, 0.0])
    away = evaluate(x + more, w + more, mu, 0.0)
    for name in ("curnier", "cone"):
        assert abs(away[name][0]).max(axis=1).min() > 1e-3, name


def check_discs(evaluate, inner, x, mu):
    """Spins at rest and at their bounds obey the law, what does not is seen, and the projection is that of discs."""
    size = np.hypot(x[:, 1], x[:, 2])
    assert inner[:, 0] == pytest.approx(np.clip(x[:, 0], -TORSION, TORSION), abs=1e-15)
    assert inner[:, 1:] == pytest.approx(x[:, 1:] * np.minimum(1.0, mu / np.maximum(size, 1e-300))[:, None], abs=1e-15)
    w = (inner - x) * np.array([METRIC[0], METRIC[1], METRIC[1]])
    for name in ("discs", "smooth discs"):
        assert abs(evaluate(inner, w, mu, 0.0)[name][0]).max() < 1e-12, name
    side = np.array([0.0, 0.1, 0.0])
    turned = w + side * (np.hypot(w[:, 1], w[:, 2]) > 0.1)[:, None]  # no longer against the impulse
    seen = abs(evaluate(inner, turned, mu, 0.0)["discs"][0]).max(axis=1)
    oblique = (abs(w[:, 2]) > 0.1) & (mu > 0.0)
    assert oblique.sum() > N // 4
    assert seen[oblique].min() > 1e-4
    assert abs(evaluate(inner, w + side, mu, 0.0)["discs"][0]).max(axis=1)[size < mu].min() > 1e-3


def check_projection(nearest, x, mu):
    """No point of the cone is nearer, and what is left is at right angles."""
    assert (np.hypot(nearest[:, 1], nearest[:, 2]) <= mu * nearest[:, 0] * (1 + 1e-14) + 1e-15).all()
    assert (nearest[:, 0] >= 0).all()
    left = x - nearest
    assert (abs(np.einsum("ni,ni->n", left, nearest)) < 1e-14 * 10).all()
    assert (left[:, 0] + mu * np.hypot(left[:, 1], left[:, 2]) <= 1e-14 * 10).all()
