"""A run is the same in this process and in a file, in a batch among any neighbours, and continued from its own state."""

import json

import numpy as np
import pytest
from support.solver_modes import MODES

import simcli
from metamorphic.mechanisms import floating_pushed, heap, mechanism, planar_loop, with_laws
from metamorphic.motions import skipping_refusals, with_solver
from metamorphic.reverts import REVERTS, ROOT
from metamorphic.written import scene_of
from simcli.spec.checks.solver_fields import CONTACT_INTEGRATORS

STEPS, DT = 60, 2e-3  # [1, s]
KINDS = {
    "laws": lambda seed: with_laws(mechanism(seed, 4, False), seed),
    "pushed": floating_pushed,
    "heap": lambda seed: heap(seed, 3),
}
RIGID = [mode for mode in MODES if mode[0] != "affine"]
CELLS = [
    pytest.param(kind, mode, marks=() if (kind, mode) == ("heap", ("natural", "moreau")) else pytest.mark.slow)
    for kind in KINDS
    for mode in RIGID
    if kind != "heap" or mode[1] in CONTACT_INTEGRATORS
]


def written(tmp_path, kind: str, mode, seed: int = 0, **more) -> tuple[str, list[str]]:
    """The file of a scene, and the names of its bodies."""
    made, path = scene_of(KINDS[kind](seed)), tmp_path / "scene.json"
    path.write_text(json.dumps({**with_solver(made, mode, DT, STEPS * DT), **more}))
    with skipping_refusals(), simcli.Simulation(str(path)):
        pass
    return str(path), sorted(made["bodies"])


def poses(sim, names) -> np.ndarray:
    return np.concatenate(
        [
            sim.get(f"body.{name}.{what}")
            for name in names
            for what in ("position", "orientation", "velocity", "angular_velocity")
        ],
        axis=1,
    )


@pytest.mark.parametrize(("kind", "mode"), CELLS)
def test_a_world_has_the_same_bytes_among_other_neighbours(tmp_path, kind, mode):
    path, names = written(tmp_path, kind, mode)
    found = []
    kinds = ["solver.joint_direction=explicit"] if mode[0] == "maximal" else []  # such worlds would choose otherwise: SC645
    for others in ([], [3.0, -2.0, 12.0], [-9.0, 1e3, 0.1, -1.0, 7.0, 2.0]):
        worlds = 1 + len(others)
        sets = [f"batch.vary={{'world.gravity[2]': {{list: {[-9.81, *others]}}}}}", *kinds]
        with simcli.Simulation(path, worlds=worlds, sets=sets) as sim:
            sim.step(STEPS)
            found.append(poses(sim, names)[0])
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.slow
def test_a_loop_shares_its_loads_whatever_neighbours_need(tmp_path):
    """Some of these need sweeps for a stack of light and heavy boxes: their block has no factors of Newton steps then."""
    box, scene = {"type": "box", "size": [0.2, 0.2, 0.2]}, scene_of(planar_loop(True))
    joints, path = sorted(scene["joints"]), tmp_path / "scene.json"
    scene["bodies"]["floor"] = {
        "kinematic": True,
        "pose": {"xyz": [30, 0, -0.5]},
        "shapes": {"s": {"type": "box", "size": [8, 8, 1]}},
    }
    for k, mass in enumerate((1.0, 200.0, 0.5, 300.0, 1.0)):
        pose = {"xyz": [30 + 0.02 * k, 0.01 * k, 0.12 + 0.22 * k]}
        scene["bodies"][f"box{k}"] = {
            "mass": mass,
            "pose": pose,
            "shapes": {"s": box},
            "velocity": {"linear": [0, 0, -1]},
            "inertia": {"diag": [0.01 * mass] * 3},
        }
    scene = {**with_solver(scene, ("maximal", "semi_implicit"), DT, 1.0), "world": {"gravity": [0, 0, -9.81]}}
    path.write_text(json.dumps(scene))
    found = []
    for masses in ([1.0], [1.0, 2000.0, 0.01, 500.0, 3000.0, 0.02, 900.0, 40.0]):
        sets = [f"batch.vary={{'bodies.box1.mass': {{list: {masses}}}}}"]
        with simcli.Simulation(str(path), worlds=len(masses), sets=sets) as sim:
            seen = []
            for _ in range(10):
                sim.step(6)
                seen.append(np.concatenate([sim.get(f"joint.{name}.wrench")[0].ravel() for name in joints]))
            found.append(np.array(seen))
    np.testing.assert_array_equal(found[1], found[0])


@pytest.mark.parametrize(("kind", "mode"), CELLS)
def test_a_state_goes_on_as_if_nobody_had_asked(tmp_path, kind, mode):
    """After steps that are forgotten; where steps are asked for in the same portions, since natural coordinates are filtered
    at each frame.
    """
    path, names = written(tmp_path, kind, mode)
    with simcli.Simulation(path) as sim:
        sim.step(STEPS // 3)
        sim.step(STEPS - STEPS // 3)
        through = poses(sim, names)
        sim.reset()
        sim.step(STEPS // 3)
        saved = sim.save()
        sim.step(7)
        sim.restore(saved)
        sim.step(STEPS - STEPS // 3)
        np.testing.assert_array_equal(poses(sim, names), through)


@pytest.mark.parametrize(("kind", "mode"), CELLS)
def test_a_file_holds_the_motion_of_this_process(tmp_path, kind, mode):
    path, names = written(tmp_path, kind, mode)
    with simcli.Simulation(path) as sim:
        sim.step(STEPS)
        here = poses(sim, names)[0]
    from simcli.cli import main

    with pytest.raises(SystemExit) as end:
        main(["run", path, "-q", "-o", str(tmp_path / "run.h5")])
    assert end.value.code == 0
    with simcli.open(tmp_path / "run.h5") as run:
        there = np.concatenate(
            [
                np.ravel(getattr(run.body(name), what)[-1, 0])
                for name in names
                for what in ("position", "orientation", "velocity", "angular_velocity")
            ]
        )
    np.testing.assert_array_equal(there, here)


def test_what_reverts_take_out_stands_once():
    for name, revert in REVERTS.items():
        assert (ROOT / "simcli" / revert.file).read_text().count(revert.mended) == 1, name
