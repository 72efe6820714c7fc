"""Each smooth law of a coordinate: k = -dF/dx, c = -dF/dv, and F from V, D and what it is told, by central differences."""

import numpy as np
import pytest
from support.device import live_device
from support.forward import model_of

from simcli.kernels.forces.columns import Forces
from simcli.kernels.forces.springs import spring_law
from simcli.kernels.language import ti
from simcli.kernels.laws import coordinate
from simcli.kernels.laws.coordinate import (
    bound_law,
    constant_law,
    damper_law,
    drag_law,
    servo_law,
    torsion_law,
    turn_law,
)
from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.tables import Tables

# A slider with everything, a ball with a drive, and springs, of which one is slack.
SCENE = """
bodies:
  s: {mass: 1, inertia: {diag: [1, 1, 1]}}
  b: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [3, 0, 0]}}
joints:
  slide: {type: prismatic, parent: world, child: s, axis: [1, 0, 0], damping: 1.7,
          limit: {lower: -0.4, upper: 0.3, stiffness: 40, damping: 2.5},
          drive: {mode: position, target: 0.7, target_velocity: -0.3, stiffness: 25, damping: 3}}
  ball: {type: ball, parent: world, child: b, at: [3, 0, 0],
         drive: [{mode: position, stiffness: 6}, {mode: position, stiffness: 6}, {mode: position, stiffness: 6}]}
forces:
  push: {type: torque, joint: slide, value: 1.3}
  coil: {type: torsion, joint: slide, stiffness: 12, rest_angle: 0.2}
  again: {type: torsion, joint: slide, stiffness: 5, rest_angle: -0.6}
  firm: {type: spring, a: {world: [0, 1, 0]}, b: {body: s, at: [0, 0, 0]}, stiffness: 30, damping: 2, rest_length: 0.4}
  rope: {type: spring, a: {world: [0, 1, 0]}, b: {body: s, at: [0, 0, 0]}, stiffness: 30, damping: 9, rest_length: 0.4,
         slack: true}
"""
SLIDE, BALL, FIRM, ROPE = 0, 1, 0, 1  # dofs and springs
TOLD = {"constant": 1.3}  # [N], efforts that are neither in V nor in D
RESULTS, WORLDS, STEP = 7, 256, 1e-6
DIFFERENCES = 1e-7  # relative, of central differences in double precision


def alone(law):
    """A law with nothing taken beside its dissipation, that acts everywhere."""
    return (*law.parts, law.force * 0.0, law.force * 0.0 + 1.0)


def of_spring(fo, w, k, x, v):
    law, taken, acts = spring_law(fo.springs, w, k, x, v)
    return (*law.parts, taken, ti.select(acts, x * 0.0 + 1.0, x * 0.0))


LAWS = {
    "constant": lambda fo, w, x, v: alone(constant_law(fo, w, SLIDE)),
    "damper": lambda fo, w, x, v: alone(damper_law(fo, w, SLIDE, v)),
    "bound": lambda fo, w, x, v: alone(bound_law(fo, w, SLIDE, x, v)),
    "torsion": lambda fo, w, x, v: alone(torsion_law(fo, w, SLIDE, x)),
    "servo": lambda fo, w, x, v: alone(servo_law(fo, w, SLIDE, x, v)),
    "turn": lambda fo, w, x, v: alone(turn_law(fo, w, BALL, -x)),
    "drag": lambda fo, w, x, v: alone(drag_law(x * 0.0 + 0.7, x * 0.0 + 0.4, v)),
    "spring": lambda fo, w, x, v: of_spring(fo, w, FIRM, x, v),
    "slack spring": lambda fo, w, x, v: of_spring(fo, w, ROPE, x, v),
}


def answers(name, x, v):
    """F, k, c, V, D, what is taken [W], and whether it acts, (7, N), at coordinates and rates (N,)."""
    device = live_device()
    arena = Arena(device, len(x))
    model = model_of(SCENE)[0]
    forces = Forces(model, Tables(model, arena), arena)
    at, rate, out, law = *arena.single.slots(2), arena.slot(RESULTS), LAWS[name]

    @ti.kernel
    def ask():
        ti.loop_config(block_dim=1)
        for w in range(arena.n_blocks):
            arena.enter(w)
            found = law(forces, w, at.load(w, 0), rate.load(w, 0))
            for m in ti.static(range(RESULTS)):
                out.store(w, m, arena.zero() + found[m])

    arena.build()
    arena.upload()
    at.write(x[:, None, None])
    rate.write(v[:, None, None])
    out.write(np.full((1, RESULTS, 1), np.nan))
    arena.launch(ask)
    found = out.read()[..., 0].T.copy()
    arena.destroy()
    return found


def around(name):
    """Answers at random arguments, and their derivatives by x and by v."""
    rng = np.random.default_rng(3)
    x, v = rng.uniform(-1.0, 1.0, WORLDS), rng.uniform(-2.0, 2.0, WORLDS)
    x, v = (np.abs(x) if "spring" in name else x), (np.abs(v) if name == "drag" else v)
    steps = np.array([[0, 0], [STEP, 0], [-STEP, 0], [0, STEP], [0, -STEP]])
    all_x, all_v = ((values + step[:, None]).ravel() for values, step in ((x, steps[:, 0]), (v, steps[:, 1])))
    here, right, left, up, down = np.moveaxis(answers(name, all_x, all_v).reshape(RESULTS, 5, WORLDS), 1, 0)
    return v, here, (right - left) / (2 * STEP), (up - down) / (2 * STEP)


def test_every_law_is_here():
    named = {name.removesuffix("_law") for name in vars(coordinate) if name.endswith("_law")}
    assert named | {"spring", "slack spring"} == set(LAWS)


@pytest.mark.parametrize("name", LAWS)
def test_what_a_law_answers_is_what_differences_say(name):
    v, (F, k, c, V, D, taken, acts), by_x, by_v = around(name)
    size = max(1.0, np.abs(F).max(), np.abs(k).max(), np.abs(c).max())
    np.testing.assert_allclose(by_x[0], -k, atol=DIFFERENCES * size, rtol=0)
    np.testing.assert_allclose(by_v[0], -c, atol=DIFFERENCES * size, rtol=0)
    told = F + by_x[3] + by_v[4]
    there = acts > 0.0
    np.testing.assert_allclose(told[there], TOLD.get(name, 0.0), atol=DIFFERENCES * size, rtol=0)
    if "spring" in name:  # what is stored and not given back is taken, and no more
        np.testing.assert_allclose(F * acts * v + by_x[3] * v + taken, 0.0, atol=DIFFERENCES * size, rtol=0)
        assert (taken >= 0.0).all()
        assert there.all() == (name == "spring")
        assert there.mean() > 0.1
    assert np.abs(F).max() > 0.1
    assert V.min() >= 0.0
    assert D.min() >= 0.0
