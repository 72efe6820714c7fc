"""What sensors show of what they find: white noise, a bias that walks, steps of a converter, sampling and delay.

    b_k = b_(k-1) + walk sqrt(T) m_k,  b_0 = 0
    d_k = p d_(k-1) + drift sqrt(1 - p^2) l_k,  d_0 = drift l_0,  p = exp(-T / drift_time)
    y_k = quantum round((x_k + turn_on o + b_k + d_k + sigma n_k) / quantum)

n, m, l, o normal numbers, o the same for all samples, k samples at times k T; p is exact, so that d has
its variance at all times. What is shown is y of the last sample that is at least `delay` old; before there is one, that of
the start. Numbers depend on the seed of the world, how often it has begun anew, the name of the sensor, its type, the
component and the steps since then alone. Nothing of it comes back to the motion.

Samples are taken once in a step, however often it is looked at; what is kept of them stands in the memory of checkpoints.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.lanes import one
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import normal_pair, philox
from simcli.kernels.language.expressions import get_lane, put_lane
from simcli.model.measures import Sensed
from simcli.model.tables.model import Model
from simcli.solvers.base.clock import steps_before

_WORDS = 4  # of 16 bits each, in a number of 64: whole in single precision, too
_MARKS = 1 << 20  # numbers by which steps are told apart
_OF_DRIFT = 1 << 16  # beyond the components of a sensor: numbers of its drift


class SensorNoise:
    """The noise of the sensors that are looked at.

    Args:
        sensed: sensors by their types.
        model: host tables.
        arena: receives the columns.

    Attributes:
        n: sensors.  is_noisy: whether each has noise.
        sigma, walk, turn_on, drift, quantum: of each sample, in the unit of the sensor; 0 without.
        remembered: part of the drift of a sample that is left at the next one.  wandered: drift of all numbers.
        period, delay, longest: [steps], delay by world.  ring: where the samples of each that are kept begin.
        name: words of the sensor's own key.  seed: words of those of the worlds.
        mark: of the last step that was sampled.  bias, held: of all numbers.  kept: samples of the steps before.
    """

    _data_oriented = True

    def __init__(self, sensed: Sequence[Sensed], model: Model, arena: Arena):
        table, s = model.sensors, np.array([one.sensor for one in sensed])
        items, interval = arena.records(len(sensed)), np.array([one.interval for one in sensed])
        self.is_noisy = items.ints(table.is_noisy[s])
        self.has_turn_on, self.has_drift = (bool(np.any(column[:, s])) for column in (table.turn_on, table.drift))
        biased = self.has_turn_on or self.has_drift or np.any(table.walk[:, s])
        self.has_normals = bool(biased or np.any(table.sigma[:, s]) or np.any(table.density[:, s]))
        self.turn_on, self.drift = items.column(table.turn_on[:, s]), items.column(table.drift[:, s])
        time = table.drift_time[:, s]
        self.remembered = items.column(np.exp(-interval / np.where(time > 0.0, time, 1.0)))
        self.sigma = items.column(np.hypot(table.sigma[:, s], table.density[:, s] / np.sqrt(interval)))
        self.walk, self.quantum = items.column(table.walk[:, s] * np.sqrt(interval)), items.column(table.quantum[:, s])
        self.period, self.longest = (items.ints([getattr(one, name) for one in sensed]) for name in ("period", "delay"))
        steps = np.array([one.interval / one.period for one in sensed])
        self.delay = items.column(np.round(table.delay[:, s] / steps))
        lengths = [one.width * (one.delay + 1) if table.is_noisy[one.sensor] else 0 for one in sensed]
        self.ring = items.ints(np.cumsum([0, *lengths])[:-1])
        keys = [_words_of(f"{table.name[one.sensor]}.{one.type}") for one in sensed]
        self.name = [items.ints([key[k] for key in keys]) for k in range(_WORDS)]
        seeds = model.world_seed[:, None] >> np.array([16 * k for k in range(_WORDS)], np.uint64)
        self.seed = arena.records(_WORDS).column((seeds & np.uint64(0xFFFF)).astype(float))
        n = sum(one.width for one in sensed)
        self.mark, self.bias, self.held = arena.single.array(), arena.array(n), arena.array(n)
        self.kept, self.wandered = arena.array(sum(lengths)), arena.array(n if self.has_drift else 0)

    def clear(self):
        """No step is sampled yet."""
        for array in (self.bias, self.held, self.kept, self.wandered):
            array.write(np.zeros((1, array.n_items, 1)))
        self.mark.write(np.full((1, 1, 1), -1.0))


def _words_of(text: str) -> list[int]:
    """Four words of 16 bits out of a name."""
    digest = hashlib.sha256(text.encode()).digest()
    return [int.from_bytes(digest[2 * k : 2 * k + 2], "little") for k in range(_WORDS)]


@ti.func
def add_noise(g: ti.template(), c: ti.template(), w: ti.i32):
    """Let sensors show what they have sampled.

    Reads:  c.now
    Writes: g.{noise, sensors.values}
    """
    m = g.sensors
    p = g.noise
    number = steps_before(c, w) + ti.cast(c.now.load(w, "step"), ti.i64)
    for lane in range(c.lanes):
        step = c.ages.of_lane(w, lane, number)
        mark = ti.cast(ti.cast(step & (_MARKS - 1), ti.i32), c.arena.device.real)
        if c.arena.writes(lane) and get_lane(p.mark.part(w, 0, 0), lane) != mark:
            put_lane(p.mark.part(w, 0, 0), lane, mark)
            for n in range(m.n):
                if p.is_noisy.at(n) != 0:
                    sample_sensor(g, c, w, lane, n, step)
        if c.arena.writes(lane):
            for n in range(m.n):
                if p.is_noisy.at(n) != 0:
                    _show_sample(g, w, lane, n, step)


@ti.func
def sample_sensor(g: ti.template(), c: ti.template(), w: ti.i32, lane: ti.i32, n: ti.i32, step: ti.i64):
    """Take a sample of sensor n of one world if it is due, and keep what is held for those who see it later.

    Args:
        step: age of the world.

    Writes: g.noise.{bias, held, kept}
    """
    m = g.sensors
    p = g.noise
    first, width = m.first.at(n), m.width.at(n)
    place = p.ring.at(n) + ti.cast(step % (p.longest.at(n) + 1), ti.i32) * width
    for i in range(width):
        if step % p.period.at(n) == 0:
            sample_number(g, c, w, lane, n, i, step)
        put_lane(p.kept.part(w, place + i, 0), lane, get_lane(p.held.part(w, first + i, 0), lane))


@ti.func
def sample_number(g: ti.template(), c: ti.template(), w: ti.i32, lane: ti.i32, n: ti.i32, i: ti.i32, step: ti.i64):
    """Sample number i of sensor n of one world; see the head of this file.

    Writes: g.noise.{bias, held}
    """
    m = g.sensors
    p = g.noise
    at = m.first.at(n) + i
    x = get_lane(m.values.part(w, at, 0), lane)
    if ti.static(p.has_normals):
        place = ti.cast(i, ti.u64) | (c.ages.number_of(w, lane) << 32)
        words = philox(_seed_of(p, w, lane), _name_of(p, n), ti.cast(step + 1, ti.u64), place)
        white, walk = normal_pair(words[0], words[1], c.arena.device.real)
        bias = get_lane(p.bias.part(w, at, 0), lane)
        if step > 0:
            bias += one(p.walk, w, lane, n) * walk
        put_lane(p.bias.part(w, at, 0), lane, bias)
        x = x + bias + one(p.sigma, w, lane, n) * white
        if ti.static(p.has_drift):
            own = philox(_seed_of(p, w, lane), _name_of(p, n), ti.cast(step + 1, ti.u64), place | _OF_DRIFT)
            x = x + wandered_bias(p, w, lane, n, at, step, normal_pair(own[0], own[1], c.arena.device.real)[0])
        if ti.static(p.has_turn_on):
            first = philox(_seed_of(p, w, lane), _name_of(p, n), ti.cast(0, ti.u64), place)
            x = x + one(p.turn_on, w, lane, n) * normal_pair(first[0], first[1], c.arena.device.real)[0]
    quantum = one(p.quantum, w, lane, n)
    if quantum > 0.0:
        x = quantum * ti.round(x / quantum)
    put_lane(p.held.part(w, at, 0), lane, x)


@ti.func
def wandered_bias(p: ti.template(), w: ti.i32, lane: ti.i32, n: ti.i32, at: ti.i32, step: ti.i64, normal: ti.template()):
    """The Gauss-Markov bias of number `at`, of sensor n of one world, at its next sample.

    Writes: p.wandered
    """
    left = one(p.remembered, w, lane, n)
    new = ti.sqrt(1.0 - left * left)
    if step == 0:
        left = left * 0.0
        new = left + 1.0
    bias = left * get_lane(p.wandered.part(w, at, 0), lane) + one(p.drift, w, lane, n) * new * normal
    put_lane(p.wandered.part(w, at, 0), lane, bias)
    return bias


@ti.func
def _show_sample(g: ti.template(), w: ti.i32, lane: ti.i32, n: ti.i32, step: ti.i64):
    """What sensor n of one world shows: the sample that is `delay` old, before there is one the first.

    Writes: g.sensors.values
    """
    m = g.sensors
    p = g.noise
    seen = ti.max(step - ti.cast(one(p.delay, w, lane, n), ti.i64), ti.cast(0, ti.i64))
    place = p.ring.at(n) + ti.cast(seen % (p.longest.at(n) + 1), ti.i32) * m.width.at(n)
    for i in range(m.width.at(n)):
        put_lane(m.values.part(w, m.first.at(n) + i, 0), lane, get_lane(p.kept.part(w, place + i, 0), lane))


def _name_of(p, n):
    """The key of sensor n (inside kernels)."""
    return sum_of_words(ti.cast(p.name[k].at(n), ti.u64) for k in range(_WORDS))


def _seed_of(p, w, lane):
    """The seed of a world (inside kernels)."""
    return sum_of_words(ti.cast(one(p.seed, w, lane, k), ti.u64) for k in range(_WORDS))


def sum_of_words(words):
    """A number of 64 bits out of words of 16 (inside kernels)."""
    total = None
    for k, word in enumerate(words):
        total = word if total is None else total | (word << (16 * k))
    return total
