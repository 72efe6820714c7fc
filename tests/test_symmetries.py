"""Nothing in physics knows where the world's axes point, which way a mirror turns, or in which order a file lists bodies.

Random mechanisms of all joint types and random heaps, turned and moved, mirrored, written backwards, or given another speed
as a whole, move as the first one does, turned, mirrored or faster. A mirror changes signs alone, so that it changes no bit.
"""

import json
from itertools import product

import numpy as np
import pytest
from support.process import simcli_apart
from support.random_scenes import MIRROR, N_RATES, heap, mechanism, mirrored, planar_loop, scene_of, turn_of, turned
from support.solver_modes import MODES

import simcli
from simcli.spec.honours.solver_fields import CONTACT_INTEGRATORS

BY, SPEED = np.array([0.3, -0.2, 0.5]), np.array([2.0, 1, -3])  # [m, m/s]
# [m, m/s, rad/s]; maximal coordinates and affine bodies end at a tolerance, contact at one of 1e-8 m/s.
BOUND, TOUCHING = {"generalized": 1e-12, "natural": 1e-8, "maximal": 1e-10, "affine": 1e-6}, 1e-5
SMOOTH = [mode for mode in MODES if mode not in (("affine", "bdf1"), ("natural", "generalized_alpha"))]
TOUCH = [mode for mode in MODES if mode[1] in CONTACT_INTEGRATORS and mode[0] != "affine"]
ROUND = ("sphere", "capsule")
MECHANISMS = [(seed, 4 + seed % 3, seed % 2 == 0) for seed in range(6)]
HEAPS = [(seed, 3 + seed % 3) for seed in range(8)]


def motion_of(folder, scene: dict, solver: str, integrator: str, steps: int, dt: float) -> list[np.ndarray]:
    """Positions, velocities and angular velocities of all bodies at the end, (B, 3) each, in the order of their names."""
    path = folder / "scene.json"
    run = {"run": {"duration": steps * dt}, "output": {"every": steps * dt}}
    path.write_text(json.dumps({**scene, "solver": {"type": solver, "integrator": integrator, "dt": dt}, **run}))
    with simcli.Simulation(str(path)) as sim:
        sim.step(steps)
        assert not sim.failures
        return [np.array([sim.get(f"body.{name}.{what}")[0] for name in sorted(scene["bodies"])])
                for what in ("position", "velocity", "angular_velocity")]  # fmt: skip


def farthest(one, other) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))


def differences(folder, made: dict, *mode, steps: int, dt: float) -> dict[str, float]:
    """Of the motions of one scene: turned, mirrored, written backwards; and of what floats, faster."""
    R = turn_of(np.random.default_rng(7))
    plain = motion_of(folder, scene_of(made), *mode, steps, dt)
    x, v, w = motion_of(folder, scene_of(turned(made, R, BY)), *mode, steps, dt)
    found = {"turned": farthest((x @ R - BY @ R, v @ R, w @ R), plain)}
    x, v, w = motion_of(folder, scene_of(mirrored(made)), *mode, steps, dt)
    found["mirrored"] = farthest((x @ MIRROR, v @ MIRROR, -w @ MIRROR), plain)
    found["backwards"] = farthest(motion_of(folder, scene_of(made, backwards=True), *mode, steps, dt), plain)
    if not made["gravity"].any():
        made["bodies"]["b0"]["v"] = made["bodies"]["b0"]["v"] + SPEED
        x, v, w = motion_of(folder, scene_of(made), *mode, steps, dt)
        found["faster"] = farthest((x - SPEED * steps * dt, v - SPEED, w), plain)
    return found


def marked(cells, often):
    return [pytest.param(*cell, marks=[] if cell in often else pytest.mark.slow) for cell in cells]


def honours(made: dict, solver: str) -> bool:
    return solver != "affine" or all(joint["type"] != "screw" for joint in made["joints"].values())


OFTEN = [((0, 4, True), ("generalized", "rk4")), ((1, 5, False), ("natural", "zhong06"))]


@pytest.mark.parametrize(("size", "mode"), marked(product(MECHANISMS, SMOOTH), OFTEN))
def test_mechanism_moves_the_same_in_every_frame(tmp_path, size, mode):
    made = mechanism(*size)
    if not honours(made, mode[0]):
        pytest.skip("affine bodies know no screws")
    found = differences(tmp_path, made, *mode, steps=60, dt=1e-3)
    assert max(found.values()) < BOUND[mode[0]], found
    assert found["mirrored"] == 0.0


@pytest.mark.parametrize(("slides", "mode"), marked(product((False, True), SMOOTH), [(False, ("maximal", "semi_implicit"))]))
def test_planar_loop_moves_the_same_in_an_oblique_plane(tmp_path, slides, mode):
    found = differences(tmp_path, planar_loop(slides), *mode, steps=60, dt=1e-3)
    if mode[0] == "generalized":
        del found["backwards"]  # another order may cut the loop elsewhere: other coordinates, another error
    assert max(found.values()) < BOUND[mode[0]], found


@pytest.mark.parametrize("slides", [False, True])
def test_planar_loop_rests_and_swings_the_same_in_an_oblique_plane(tmp_path, slides):
    made, R = planar_loop(slides), turn_of(np.random.default_rng(7))
    found = []
    for one in (made, turned(made, R, BY)):
        scene, path = scene_of(one), tmp_path / "scene.json"
        scene["joints"]["j0"] |= {"qd": 0, "drive": {"mode": "position", "stiffness": 200, "damping": 1, "target": 0}}
        path.write_text(json.dumps(scene))
        answers = [json.loads(simcli_apart(command, path, "--json").stdout) for command in ("equilibrium", "modes")]
        rates = [mode["frequency"] for mode in answers[1]["modes"]]
        found.append(([answers[0]["joint_q"][name] for name in sorted(made["joints"])], rates))
    for plain, oblique in zip(*found, strict=True):
        assert len(plain) > 0
        np.testing.assert_allclose(np.ravel(oblique), np.ravel(plain), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("size", "mode"), marked(product(HEAPS, TOUCH), [((0, 3), ("natural", "moreau"))]))
def test_heap_falls_the_same_in_every_frame(tmp_path, size, mode):
    found = differences(tmp_path, heap(*size, ROUND), *mode, steps=150, dt=2e-3)
    assert max(found.values()) < TOUCHING, found


def test_contact_that_carries_rounding_leaves_steps_of_natural_coordinates_smooth(tmp_path):
    made = heap(19, 3, ("box", *ROUND))  # one of few in which the order of the file decides what is rounding
    both = [motion_of(tmp_path, scene_of(made, order), "natural", "moreau", 150, 2e-3) for order in (False, True)]
    assert farthest(*both) < TOUCHING


def test_random_mechanisms_have_all_joints():
    assert {joint["type"] for size in MECHANISMS for joint in mechanism(*size)["joints"].values()} == set(N_RATES)
