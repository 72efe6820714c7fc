"""Runs whose contacts are made up on the device out of the state: for tests of all that comes after the contact solver.

World by world the number of contacts wanders between 0 and MOST with the first coordinate, and every number of a contact is
one of the state, so that a contact at a wrong place, or of another world or frame, shows.
"""

import taichi as ti

from simcli.kernels.elementary import select
from simcli.kernels.values import Vec3
from simcli.solvers import rollout
from simcli.solvers.contact_report import note_residual, put_contact

MOST = 6
TOLERANCE = 1e-3
SCENE = """
simcli: 1
world: {shapes: {ground: {type: plane, offset: -9}}}
bodies:
  upper: {pose: {xyz: [0, 0, -0.5]}, mass: 1.0, inertia: {diag: [0.1, 0.1, 0.01]}}
  lower:
    pose: {xyz: [0, 0, -1.5]}
    mass: 1.0
    inertia: {diag: [0.1, 0.1, 0.01]}
    shapes: {tip: {type: sphere, radius: 0.1}}
joints:
  pin: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 1, 0], q: 2.0}
  elbow: {type: revolute, parent: upper, child: lower, at: [0, 0, -1], axis: [0, 1, 0], q: 0.5, damping: 0.01}
contact: {capacity: 6}
solver: {type: generalized, dt: 1.0e-3, integrator: semi_implicit}
run: {duration: 0.06}
output: {every: 0.01, channels: [state, contacts]}
"""


def wanted(q):
    """Contacts of a world, a whole number from 0 to MOST as a real, and their gap [m]."""
    return ti.floor((q * q) % (MOST + 1.0)), 0.5 - q


_report, _watch = rollout.report, rollout.watch


@ti.func
def _touching_report(c: ti.template(), w: ti.i32, steps: ti.i32):
    _report(c, w, steps)
    q = c.state.q.load(w, 0)
    count, gap = wanted(q)
    zero = c.tables.arena.zero()
    c.contacts.count.store(w, 0, count)
    for k in range(MOST):
        r = q + ti.cast(k, c.tables.arena.device.real)
        normal = Vec3(zero, zero, zero + 1.0)
        put_contact(c.contacts, w, k, zero, zero + 1.0, Vec3(r, q, zero), normal, gap * r, Vec3(zero, q, r))


@ti.func
def _touching_watch(c: ti.template(), w: ti.i32):
    """Contacts beyond the capacity where the second rate passes 12, residuals above the tolerance where it passes 6."""
    speed = ti.abs(c.state.qd.load(w, 1))
    zero = c.tables.arena.zero()
    alive = c.health.load(w, 0) == 0.0
    c.contacts.needed.store(w, 0, select(speed > 12.0, zero + 9.0, zero))
    step = c.count.load(w, 0) + 1.0
    note_residual(c.contacts, w, speed * (TOLERANCE / 6.0), zero + TOLERANCE, step, alive)
    _watch(c, w)


def touch(monkeypatch):
    """Let every run of this test have contacts."""
    monkeypatch.setattr(rollout, "report", _touching_report)
    monkeypatch.setattr(rollout, "watch", _touching_watch)
