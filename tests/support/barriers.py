"""Barrier contact alone: coordinates of affine bodies in, energies, gradients, curvature and free parts of ways out."""

import numpy as np

from simcli import rotations as rot
from simcli.kernels.barrier.advancement import cap
from simcli.kernels.barrier.contact_energy import add, measure_barrier, search_along
from simcli.kernels.barrier.friction import set_stick_stiffness
from simcli.kernels.barrier.surfaces import Barrier
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.sparse_factors import SkylineMatrix
from simcli.kernels.language import ti
from simcli.model.bodies.surfaces import surfaces
from simcli.model.phases import build_phases
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import resolve
from support.intersections import crosses
from support.scenes import scene as write_scene

SEGMENTS = 8
CAPACITY = 4000


class Bench:
    """The barrier of a model of free bodies, whose links are the bodies, in W worlds."""

    def __init__(self, model, device, n_worlds, near, stiffness=1.0, give=1e-3):
        self.model, self.host, self.n = model, surfaces(model, SEGMENTS), model.n_bodies
        self.device = device.for_worlds(n_worlds)
        self.arena = Arena(self.device, n_worlds)
        self.tables = Tables(model, self.arena)
        ones = np.ones((1, len(model.contacts.points)))
        numbers = {"near": near * ones, "stiffness": stiffness * ones, "give": give}
        self.barrier = Barrier(model, self.host, self.tables, self.arena, numbers, CAPACITY)
        self.x, self.dx = self.arena.array(12 * self.n), self.arena.array(12 * self.n)
        self.gradient, self.most = self.arena.array(12 * self.n), self.arena.array(1)
        self.matrix = SkylineMatrix(self.n, self.arena)
        self.arena.build()
        self.tables.arena.upload()

    def begin(self, x):
        """Search at x, and keep its contacts for friction."""
        self.free_part(x, 0.0 * x)
        self.arena.launch(_set_stick_stiffness, self.barrier, self.x, self.arena.n_blocks)
        return self.barrier.candidates.needed.read()[:, 0, 0].astype(int)

    def energy(self, x):
        """[J], (W,) with and without friction; [m], least gaps."""
        self.x.write(x[..., None])
        self.arena.launch(_measure, self.barrier, self.x, self.arena.n_blocks)
        c = self.barrier
        return c.energy.read()[:, 0, 0], c.barrier.read()[:, 0, 0], c.least.read()[:, 0, 0]

    def curve(self, x, exact=False):
        """Gradient, (W, 12 B), and curvature, (W, 12 B, 12 B)."""
        self.energy(x)
        for slot in (self.gradient, self.matrix.value):
            slot.write(np.zeros((1, slot.n_items, 1)))
        kernel = _add_exact if exact else _add
        self.arena.launch(kernel, self.barrier, self.x, self.gradient, self.matrix, self.arena.n_blocks)
        n = 12 * self.n
        whole = np.zeros((len(x), n, n))
        whole[:, *np.tril_indices(n)] = self.matrix.value.read()[..., 0]
        return self.gradient.read()[..., 0], whole + np.swapaxes(np.tril(whole, -1), 1, 2)

    def free_part(self, x, dx):
        """[1], (W,) part of the ways that is free of contact."""
        self.x.write(x[..., None])
        self.dx.write(dx[..., None])
        self.most.write(np.ones((1, 1, 1)))
        self.arena.launch(_reach, self.barrier, self.x, self.dx, self.most, self.arena.n_blocks)
        return self.most.read()[:, 0, 0]

    def destroy(self):
        """Free the memory."""
        self.arena.destroy()


@ti.kernel
def _set_stick_stiffness(c: ti.template(), x: ti.template(), n_blocks: ti.i32):
    for w in range(n_blocks):
        x.arena.enter(w)
        set_stick_stiffness(c, w, x)


@ti.kernel
def _measure(c: ti.template(), x: ti.template(), n_blocks: ti.i32):
    for w in range(n_blocks):
        x.arena.enter(w)
        measure_barrier(c, w, x)


@ti.kernel
def _add(c: ti.template(), x: ti.template(), gradient: ti.template(), matrix: ti.template(), n_blocks: ti.i32):
    for w in range(n_blocks):
        x.arena.enter(w)
        add(c, w, x, gradient, matrix, False)


@ti.kernel
def _add_exact(c: ti.template(), x: ti.template(), gradient: ti.template(), matrix: ti.template(), n_blocks: ti.i32):
    for w in range(n_blocks):
        x.arena.enter(w)
        add(c, w, x, gradient, matrix, True)


@ti.kernel
def _reach(c: ti.template(), x: ti.template(), dx: ti.template(), most: ti.template(), n_blocks: ti.i32):
    for w in range(n_blocks):
        x.arena.enter(w)
        search_along(c, w, x, dx)
        cap(c, w, most)


class Drop:
    """A run of a scene of the affine solver, every step a frame.

    Attributes:
        by_bdf2: (F - 1, B), which bodies of the first world have taken the step to the next frame by bdf2.
    """

    def __init__(self, text, device, folder, channels=()):
        document = write_scene(text, folder)
        spec = resolve(document)
        self.model = build_phases(document, spec)[0].model
        n = round(spec.run.duration / spec.solver.dt)
        plan = RunPlan(spec.solver.dt, 1, n, frozenset(("state", "energy", *channels)))
        self.solver = SOLVERS["affine"](self.model, spec.solver, plan, device)
        blocks, weights = [self.solver.initial()], []
        for _ in range(n):
            blocks.append(self.solver.advance(1))
            weights.append(self.solver.core.step.weight.read()[0, : self.model.n_bodies, 0] > 0.0)
        self.by_bdf2 = np.array(weights)
        columns = {name: [block.columns[name] for block in blocks] for name in blocks[0].columns}
        self.columns = {name: np.concatenate(parts) for name, parts in columns.items()}
        self.events = [event for block in blocks for event in block.events]
        self.contacts = [block.contacts for block in blocks]

    def crossings(self, meshes, step, world=0):
        """Pairs of bodies whose surfaces cut each other after a step; meshes by body: vertices and faces."""
        pose = self.columns["frames/body_q"][step, world]
        R = rot.quat_to_matrix(pose[:, 3:])
        placed = [(vertices @ R[b].T + pose[b, :3], faces) for b, (vertices, faces) in enumerate(meshes)]
        return [(i, j) for j in range(len(placed)) for i in range(j) if crosses(*placed[i], *placed[j])]

    def kept_aside(self):
        """[J], (F - 1,): kinetic energy of what the velocities have changed by in the step before, of bodies in bdf2.

        Of each body as of a rigid one: m |dv|^2 / 2 + tr(dA' S dA'^T) / 2, A' = [w] R, S = tr(I) / 2 - I.
        """
        pose, twist = self.columns["frames/body_q"][:, 0], self.columns["frames/body_qd"][:, 0]
        axes = rot.quat_to_matrix(pose[..., 3:])
        inertia = self.model.bodies.inertia[0]
        second = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)[:, None, None] * np.eye(3) - inertia
        turned = np.diff(np.cross(twist[..., None, 3:], np.swapaxes(axes, -1, -2)), axis=0)  # rows: rates of vectors
        moved = np.diff(twist[..., :3], axis=0)
        energy = self.model.bodies.mass[0] * (moved**2).sum(axis=-1) + np.einsum("fbki,bkl,fbli->fb", turned, second, turned)
        return np.concatenate(([0.0], 0.5 * (energy[:-1] * self.by_bdf2[1:]).sum(axis=1)))


def box_mesh(size):
    """Corners and triangles of a box."""
    corners = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    squares = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return corners, np.array([(a, *two) for a, b, c, d in squares for two in ((b, c), (c, d))])


def rest_gap(load, d_hat, stiffness):
    """[m], gap at which the barrier carries a load [N]: lambda = 4 k g y ln(g^2/d^2) + 2 k y^2/g, y = g^2 - d^2."""
    low, high = 0.0, d_hat
    for _ in range(200):
        g = 0.5 * (low + high)
        y = g * g - d_hat * d_hat
        if g == 0.0 or stiffness * (4 * g * y * np.log(g * g / d_hat**2) + 2 * y * y / g) > load:
            low = g
        else:
            high = g
    return high
