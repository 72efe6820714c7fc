"""Loops that drive themselves: signals that follow the motion, whose samples come too late for their gains.

A value that is held from one sample to the next acts on a motion that it does not see. Where it turns all of the motion
round within that time, and faster than it was, what it puts in is no work that its law asks for, but that of its sampling:

    v_n = velocities at sample n,   v_n . M v_(n-1) < 0,   |v_n| > |v_(n-1)|,   and so on from sample to sample

A motion that turns round at every sample is alternating. The largest kinetic energy while it was not is that of the scene,
and what exceeds it is the loop's own work. A world in which that is more than ten times the energy of the scene
ends. No motion that the samples resolve alternates, so that a loop may put in any work that its law asks for.

A loop whose samples take effect d samples late turns the motion round in 2 d + 1 samples, where it becomes unstable; it is
looked at in that period.

A spring that is sampled, u = - k q, has no such period: what its samples put in lets it swing wider at each turn. So do
loops that are unstable by their laws, and a motion that grows as its loop asks for cannot be told from that but by its size.
A world ends where the peaks of the kinetic energy have grown, turn by turn, to _SWUNG times the largest energy of the scene;
which is that of a fall by _FALL at least, because what swings in gravity has that of its height.

Source: linear difference equation v_(n+1) = v_n - g v_(n-d), whose roots pass the unit circle at the angle pi / (2 d + 1).
Deviation: none.
"""

import numpy as np

from simcli.kernels.articulation.kinematics import com_about_origin, point_velocity, store_vector, vector_at
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane
from simcli.model.tables.model import Model
from simcli.model.tables.signal_tables import delays_of
from simcli.solvers.base import needs

_OWN_WORK = 10.0  # of the energy of the scene: the loop's own work that ends a world
_SWUNG = 1e4  # of it: what peaks that grow turn by turn may reach, a hundred times the speed
_SUDDEN = 100.0  # of the peak before: a larger one is none that has grown
_FALL = 0.01  # [m], of all masses
_MANY, _MOST = 3.0, 8.0  # samples that turn the motion round, less those that do not: from where it alternates, and at most
_FIRST = 2.0  # likewise: from where the energy may be the loop's own, and is no longer counted as that of the scene
_MANY_PEAKS = 6.0  # likewise, peaks that turn it round and are higher
_STILL = 1e-4  # [m/s], of all masses: the least energy of a scene, below which bodies are at rest


class LoopGuard:
    """What is known of the samples before.

    Args:
        model: host tables.
        acts: whether laws of feedback are taken.
        count: numbers of the velocities of a world.
        tables, arena: of the run.

    Attributes:
        n, period: [steps], distinct ones, of the loops; a column where worlds differ (`periods_differ`).
        momentum: (count n) at the sample before.  kinetic, largest: (n) [J], then, and of the scene.  least: [J].
        turns: samples that have turned the motion round, less those that have not.  is_lost: 1 in worlds to end.
        peak: (count) momenta at the last peak of the kinetic energy, seen in the first period; height: [J], of that peak.
            rises: 1 while the energy rises; grown: peaks that turned the motion round and were higher, less the others.
            summit: [J], of the scene, by other peaks.  lowest: [J], of the scene.
    """

    _data_oriented = True

    def __init__(self, model: Model, acts: bool, count: int, tables: Tables, arena: Arena):
        periods = periods_of(model) if acts else np.zeros((1, 0), int)
        self.n, self.count, self.periods_differ = periods.shape[1], count, len(periods) > 1
        if not self.n:  # phases of a run are laid out by the thousand
            return
        loops = arena.records(self.n)
        self.period = loops.column(periods * 1.0) if self.periods_differ else loops.ints(periods[0])
        self.momentum = arena.array(count * self.n)
        self.kinetic, self.largest, self.turns = loops.arrays(3)
        self.peak = arena.array(count)
        self.is_lost, self.height, self.rises, self.grown, self.summit = arena.single.arrays(5)
        mass, gravity = model.bodies.mass.sum(axis=-1, keepdims=True), np.linalg.norm(model.gravity, axis=-1, keepdims=True)
        self.least = tables.column(0.5 * _STILL**2 * mass)
        self.lowest = tables.column(mass * (0.5 * _STILL**2 + gravity.reshape(-1, 1) * _FALL))

    def clear(self):
        """No sample was taken yet."""
        lasting = ("momentum", "kinetic", "largest", "turns", "is_lost", "peak", "height", "rises", "grown", "summit")
        for array in (getattr(self, name) for name in lasting if self.n):
            array.write(np.zeros((1, array.n_items, 1)))


def periods_of(model: Model) -> np.ndarray:
    """[steps], (W|1, n), in which loops turn a motion round where they are unstable.

    There is none if nothing that follows the motion drives it. The first one is a step, at which energies are seen, too.
    """
    feedback, driven = model.feedback, set(model.inputs.signal.tolist())
    of_laws = [
        int(feedback.every[law]) * (2 * delays_of(feedback, law).astype(int) + 1)
        for law, signal in enumerate(feedback.signal.tolist())
        if signal in driven and feedback.quantity
    ]
    if not of_laws:
        return np.zeros((1, 0), int)
    found = np.unique(np.stack(np.broadcast_arrays(np.ones(1, int), *of_laws), axis=-1), axis=1)
    return found[:1] if (found == found[0]).all() else found


def period_of(g, w, k):
    """[steps], of a loop (inside kernels)."""
    return g.period.load(w, k) if g.periods_differ else g.period.at(k)


@needs.guarded_loops
@ti.func
def probe_loops(c: ti.template(), w: ti.i32, number: ti.i64):
    """Whether loops have put in what no law asks for, before the samples of a step are taken.

    Args:
        number: of the step that begins.

    Reads:  c.state of `place_all`
    Writes: c.guard
    """
    for k in range(c.guard.n):
        due = c.ages.due(w, number, period_of(c.guard, w, k))
        if any_lane(due):
            c.ages.take(due, probe_loop, c, w, k)
        others = c.ages.others(due)
        if any_lane(others):
            c.ages.take(others, see_energy, c.guard, w, k, c.guard.kinetic.load(w, 0))


@ti.func
def probe_loop(c: ti.template(), w: ti.i32, k: ti.i32):
    """A sample of one period.

    Writes: c.guard
    """
    g = c.guard
    zero = c.tables.arena.zero()
    kinetic, turned, swung = c.engine.exchange_momenta(c, w, g.count * k)
    if k == 0:
        probe_peak(c, w, kinetic, swung)
    before = g.kinetic.load(w, k)
    turns = g.turns.load(w, k) + select((turned < 0.0) & (kinetic > 0.0), zero + 1.0, zero - 1.0)
    g.turns.store(w, k, ti.min(ti.max(turns, zero), zero + _MOST))
    see_energy(g, w, k, kinetic)
    largest = g.largest.load(w, k)
    lost = (turns >= _MANY) & (kinetic > before) & (kinetic - largest > largest * _OWN_WORK)
    g.is_lost.store(w, 0, select(lost, zero + 1.0, g.is_lost.load(w, 0)))
    g.kinetic.store(w, k, kinetic)


@ti.func
def see_energy(g: ti.template(), w: ti.i32, k: ti.i32, kinetic: ti.template()):
    """The largest energy [J] of the scene, by period k, while that does not alternate.

    Writes: g.largest
    """
    largest = ti.max(g.largest.load(w, k), kinetic * 0.0 + g.least.load(w, 0))
    g.largest.store(w, k, select(g.turns.load(w, k) >= _FIRST, largest, ti.max(largest, kinetic)))


@ti.func
def probe_peak(c: ti.template(), w: ti.i32, kinetic: ti.template(), swung: ti.template()):
    """Whether the kinetic energy has been at a peak, and whether peaks have grown beyond bounds.

    Args:
        kinetic, swung: [J], of `exchange_momenta`.

    Reads:  c.guard.{kinetic, momentum}
    Writes: c.guard.{peak, height, rises, grown, summit, is_lost}
    """
    g = c.guard
    zero = c.tables.arena.zero()
    before, height = g.kinetic.load(w, 0), g.height.load(w, 0)
    is_peak = (kinetic < before) & (g.rises.load(w, 0) > 0.0)
    g.rises.store(w, 0, select(kinetic > before, zero + 1.0, select(is_peak, zero, g.rises.load(w, 0))))
    grows = (swung < 0.0) & (before > height) & (before < height * _SUDDEN) & (before > zero + g.least.load(w, 0))
    grown = ti.min(ti.max(g.grown.load(w, 0) + select(grows, zero + 1.0, zero - 1.0), zero), zero + _MOST)
    grown = select(is_peak, grown, g.grown.load(w, 0))
    summit = ti.max(g.summit.load(w, 0), zero + g.lowest.load(w, 0))
    has_grown = is_peak & (grown >= _MANY_PEAKS)
    g.summit.store(w, 0, select(is_peak & (grown < _MANY_PEAKS), ti.max(summit, before), summit))
    g.is_lost.store(w, 0, select(has_grown & (before > summit * _SWUNG), zero + 1.0, g.is_lost.load(w, 0)))
    g.grown.store(w, 0, grown)
    g.height.store(w, 0, select(is_peak, before, height))
    for n in range(g.count):
        g.peak.store(w, n, select(is_peak, g.momentum.load(w, n), g.peak.load(w, n)))


@ti.func
def exchange_momenta(c: ti.template(), w: ti.i32, first: ti.i32):
    """Take the momenta of now in place of those of the sample before, of rigid bodies or of natural coordinates.

    Args:
        first: place of the momenta.

    Returns:
        [J], kinetic energy, and half the products of the velocities of now and the momenta before, of sample and peak.

    Reads:  c.state of `place_all`
    Writes: c.guard.momentum
    """
    t = c.tables
    momentum, peak = c.guard.momentum, c.guard.peak
    kinetic = t.arena.zero()
    turned = t.arena.zero()
    swung = t.arena.zero()
    if ti.static(t.is_natural):
        for n in range(t.n_tree_dofs):
            d = t.tree_dof.at(n)
            v = c.state.qd.load(w, d)
            push = (t.weight.load(w, d) - t.excess.load(w, d)) * v
            turned = turned + momentum.load(w, first + n) * v * 0.5
            swung = swung + peak.load(w, n) * v * 0.5
            kinetic = kinetic + push * v * 0.5
            momentum.store(w, first + n, push)
    else:
        for i in range(t.n_links):
            if t.massive.at(i) != 0:
                at = first + 6 * i
                v = c.state.v.load(w, i)
                rate, spin = point_velocity(v, com_about_origin(t, c.state, w, i)), v.angular
                turned = turned + (vector_at(momentum, w, at).dot(rate) + vector_at(momentum, w, at + 3).dot(spin)) * 0.5
                swung = swung + (vector_at(peak, w, 6 * i).dot(rate) + vector_at(peak, w, 6 * i + 3).dot(spin)) * 0.5
                push, moment = rate * t.mass.load(w, i), t.inertia.load(w, i).turned(c.state.R.load(w, i)) * spin
                store_vector(momentum, w, at, push)
                store_vector(momentum, w, at + 3, moment)
                kinetic = kinetic + (push.dot(rate) + moment.dot(spin)) * 0.5
    return kinetic, turned, swung


@ti.func
def exchange_affine_momenta(c: ti.template(), w: ti.i32, first: ti.i32):
    """`exchange_momenta` of affine bodies.

    Reads:  c.potential.rows.v, c.step.mass
    Writes: c.guard.momentum
    """
    kinetic = c.tables.arena.zero()
    turned = c.tables.arena.zero()
    swung = c.tables.arena.zero()
    for i in range(c.potential.n):
        v = c.potential.rows.v.load(w, i)
        push = v * c.step.mass.load(w, i)
        turned = turned + c.guard.momentum.load(w, first + i) * v * 0.5
        swung = swung + c.guard.peak.load(w, i) * v * 0.5
        kinetic = kinetic + push * v * 0.5
        c.guard.momentum.store(w, first + i, push)
    return kinetic, turned, swung


def is_lost(c, w):
    """The worlds in which a loop has driven itself (inside kernels)."""
    return c.guard.is_lost.load(w, 0) > 0.0
