"""Barrier contact alone: coordinates of affine bodies in, energies, gradients, curvature and free parts of ways out."""

import numpy as np
import taichi as ti

from simcli.kernels.barrier.contact import add, begin, limit, measure
from simcli.kernels.barrier.tables import Barrier
from simcli.kernels.memory import Arena
from simcli.kernels.tables import Tables
from simcli.model.surfaces import surfaces

SEGMENTS = 8
CAPACITY = 4000


class Entries:
    """A matrix that keeps every entry of every block where it is named."""

    _data_oriented = True

    def __init__(self, arena, n_blocks):
        self.place, self.value = arena.ints(np.arange(144 * n_blocks)), arena.slot(144 * n_blocks)


class Bench:
    """The barrier of a model of free bodies, whose links are the bodies, in W worlds."""

    def __init__(self, model, device, n_worlds, near, stiffness=1.0, creep=1e-3):
        self.model, self.host, self.n = model, surfaces(model, SEGMENTS), model.n_bodies
        self.device = device.for_worlds(n_worlds)
        self.arena = Arena(self.device, n_worlds)
        self.tables = Tables(model, self.arena)
        pairs = model.contacts
        ones = np.ones((1, pairs.n_pairs))
        numbers = {"near": near * ones, "stiffness": stiffness * ones, "creep": creep}
        link = self.host.link
        self.between = {}
        block = []
        for a, b in zip(link[pairs.shape_a], link[pairs.shape_b], strict=True):
            key = (int(max(a, b)), int(min(a, b)))
            block.append(0 if min(key) < 0 else self.between.setdefault(key, self.n + len(self.between)))
        self.barrier = Barrier(model, self.host, self.tables, self.arena, numbers, CAPACITY, block)
        self.x, self.dx = self.arena.slot(12 * self.n), self.arena.slot(12 * self.n)
        self.gradient, self.most = self.arena.slot(12 * self.n), self.arena.slot(1)
        self.matrix = Entries(self.arena, self.n + len(self.between))
        self.arena.build()
        self.barrier.notes.build()
        self.tables.upload()

    def begin(self, x):
        """Search at x, and keep its contacts for friction."""
        self.x.write(x[..., None])
        self._ready()
        _begin(self.barrier, self.x, self.arena.n_blocks)
        return self.barrier.candidates.needed.read()[:, 0, 0].astype(int)

    def energy(self, x):
        """[J], (W,) with and without friction; [m], least gaps."""
        self.x.write(x[..., None])
        _measure(self.barrier, self.x, self.arena.n_blocks)
        c = self.barrier
        return c.energy.read()[:, 0, 0], c.barrier.read()[:, 0, 0], c.least.read()[:, 0, 0]

    def curve(self, x, exact=False):
        """Gradient, (W, 12 B), and curvature, (W, 12 B, 12 B)."""
        self.x.write(x[..., None])
        for slot in (self.gradient, self.matrix.value):
            slot.write(np.zeros((1, slot.n_items, 1)))
        (_add_exact if exact else _add)(self.barrier, self.x, self.gradient, self.matrix, self.arena.n_blocks)
        blocks = self.matrix.value.read()[..., 0].reshape(len(x), -1, 12, 12)
        whole = np.zeros((len(x), self.n, 12, self.n, 12))
        for b in range(self.n):
            lower = np.tril(blocks[:, b])
            whole[:, b, :, b] = lower + np.swapaxes(np.tril(lower, -1), 1, 2)
        for (i, j), k in self.between.items():
            whole[:, i, :, j] = blocks[:, k]
            whole[:, j, :, i] = np.swapaxes(blocks[:, k], 1, 2)
        return self.gradient.read()[..., 0], whole.reshape(len(x), 12 * self.n, 12 * self.n)

    def free_part(self, x, dx):
        """[1], (W,) part of the ways that is free of contact."""
        self.x.write(x[..., None])
        self.dx.write(dx[..., None])
        self._ready()
        _limit(self.barrier, self.x, self.dx, self.most, self.arena.n_blocks)
        return self.most.read()[:, 0, 0]

    def _ready(self):
        self.most.write(np.ones((1, 1, 1)))

    def destroy(self):
        """Free the fields."""
        self.arena.destroy()
        self.barrier.notes.destroy()


@ti.kernel
def _begin(c: ti.template(), x: ti.template(), n_blocks: ti.i32):
    for w in range(n_blocks):
        begin(c, w, x)


@ti.kernel
def _measure(c: ti.template(), x: ti.template(), n_blocks: ti.i32):
    for w in range(n_blocks):
        measure(c, w, x)


@ti.kernel
def _add(c: ti.template(), x: ti.template(), gradient: ti.template(), matrix: ti.template(), n_blocks: ti.i32):
    for w in range(n_blocks):
        add(c, w, x, gradient, matrix, False)


@ti.kernel
def _add_exact(c: ti.template(), x: ti.template(), gradient: ti.template(), matrix: ti.template(), n_blocks: ti.i32):
    for w in range(n_blocks):
        add(c, w, x, gradient, matrix, True)


@ti.kernel
def _limit(c: ti.template(), x: ti.template(), dx: ti.template(), most: ti.template(), n_blocks: ti.i32):
    for w in range(n_blocks):
        limit(c, w, x, dx, most)
