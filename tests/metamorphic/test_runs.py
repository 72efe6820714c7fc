"""A run is the same in this process and in a file, in a batch among any neighbours, and continued from its own state.

What rests, swings or touches knows neither where the world's axes point nor in which order a file lists bodies; and random
scenes have every key of forces and every type of joints.
"""

import json
from collections.abc import Iterator

import numpy as np
import pytest
from support.process import simcli as command
from support.solver_modes import MODES

import simcli
from metamorphic.elements import belts, elements, of_types, runner, wheels
from metamorphic.mechanisms import floating_pushed, heap, mechanism, planar_loop, with_laws
from metamorphic.motions import difference, skipping_refusals, with_solver
from metamorphic.relations import BY, TURN, backwards, beside_a_top, turned_and_moved
from metamorphic.reverts import REVERTS, ROOT
from metamorphic.written import N_RATES, scene_of, turned
from simcli.joint_types import JOINT_TYPES
from simcli.spec.checks.solver_fields import CONTACT_INTEGRATORS
from simcli.spec.schema.force_base import (
    EffortCurve,
    ElongationTable,
    RateTable,
    RopeStopSpec,
    TermSpec,
    WrapCylinderSpec,
    WrapSphereSpec,
)
from simcli.spec.schema.forces import FORCES, MuscleSpec, RateSpec
from simcli.spec.schema.joint import LimitSpec
from simcli.spec.schema.sensor import NoiseSpec
from simcli.spec.schema.signals import ActivationSpec, DriveSpec

STEPS, DT = 60, 2e-3  # [1, s]
TOUCHING = 1e-5  # [m, m/s, rad/s]
KINDS = {
    "laws": lambda seed: with_laws(mechanism(seed, 4, False), seed),
    "pushed": floating_pushed,
    "heap": lambda seed: heap(seed, 3),
    "elements": elements,
    "wheels": wheels,
    "belts": belts,
}
RIGID = [mode for mode in MODES if mode[0] != "affine"]
ALPHA, NATURAL = [mode for mode in RIGID if "alpha" in mode[1]], [mode for mode in RIGID if mode[0] == "natural"]
REFUSED = [*(("elements", mode) for mode in ALPHA), *(("wheels", mode) for mode in NATURAL)]
CELLS = [
    pytest.param(kind, mode, marks=() if (kind, mode) == ("heap", ("natural", "moreau")) else pytest.mark.slow)
    for kind in KINDS
    for mode in RIGID
    if (kind not in ("heap", "belts") or mode[1] in CONTACT_INTEGRATORS) and (kind, mode) not in REFUSED
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


@pytest.mark.parametrize("slides", [False, True])
def test_planar_loop_rests_and_swings_the_same_in_an_oblique_plane(tmp_path, slides):
    made = planar_loop(slides)
    found = []
    for one in (made, turned(made, TURN, BY)):
        scene, path = scene_of(one), tmp_path / "scene.json"
        scene["joints"]["j0"] |= {"qd": 0, "drive": {"mode": "position", "stiffness": 200, "damping": 1, "target": 0}}
        path.write_text(json.dumps(scene))
        answers = [json.loads(command(verb, path, "--json").stdout) for verb in ("equilibrium", "modes")]
        rates = [mode["frequency"] for mode in answers[1]["modes"]]
        found.append(([answers[0]["joint_q"][name] for name in sorted(made["joints"])], rates))
    for plain, oblique in zip(*found, strict=True):
        assert len(plain) > 0
        np.testing.assert_allclose(np.ravel(oblique), np.ravel(plain), rtol=1e-6, atol=1e-9)


def test_contact_that_carries_rounding_leaves_steps_of_natural_coordinates_smooth(tmp_path):
    made = heap(19, 3, ("box", "sphere", "capsule"))  # one of few in which the order of the file decides what is rounding
    found = difference(tmp_path, scene_of(made), backwards(made), ("natural", "moreau"), 2e-3, 0.3)
    assert max(found[name] for name in "xvw") < TOUCHING, found


def test_random_mechanisms_have_all_joints():
    made = [mechanism(seed, 4 + seed % 3, seed % 2 == 0) for seed in range(6)]
    assert {joint["type"] for one in made for joint in one["joints"].values()} == set(N_RATES)


# What forces and sensors say in these scenes by another key, and why.
NESTED = (
    RopeStopSpec,
    TermSpec,
    WrapCylinderSpec,
    WrapSphereSpec,
    ElongationTable,
    RateTable,
    EffortCurve,
    RateSpec,
    LimitSpec,
    DriveSpec,
    ActivationSpec,
    MuscleSpec,
    NoiseSpec,
)
NOT_NESTED = {
    "point": "a named place of a body, which `at` says",
    "dof": "joints of these sums have one",
    "strength": "of affine bodies, which refuse ropes and couplings",
    "method": "the other way to the same lag",
    "time_constant": "`rise` and `fall` stand in its place",
    "effort_limit": "`effort_limit_table` stands in its place",
    "target_velocity": "a drive with an activation refuses it",
}


def test_random_scenes_have_every_key_of_forces_and_every_type_of_joints():
    made = [kind(seed) for kind in (elements, wheels, runner, belts) for seed in range(2)]
    scenes = [scene_of(one) for one in (*made, of_types(tuple(JOINT_TYPES), 0))]
    forces = [force for one in scenes for force in one.get("forces", {}).values()]
    for kind in FORCES:
        keys = {key for force in forces if force["type"] == kind.type_name() for key in force}
        assert set(kind.model_fields) == keys, kind
    below = set(keys_below([forces, [one.get("sensors", {}) for one in scenes]]))
    for spec in NESTED:
        assert set(spec.model_fields) - below <= set(NOT_NESTED), (spec, set(spec.model_fields) - below)
    bodies = [body for one in scenes for body in (one["world"], *one["bodies"].values())]
    assert any("surface_velocity" in shape for body in bodies for shape in body.get("shapes", {}).values())
    assert {joint["type"] for one in scenes for joint in one["joints"].values()} == set(JOINT_TYPES)


def keys_below(value) -> Iterator[str]:
    """All keys of what a scene has there, at any depth."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from keys_below(one)


@pytest.mark.full
@pytest.mark.parametrize("twin", [turned_and_moved, backwards, beside_a_top], ids=lambda twin: twin.__name__)
def test_noise_of_a_sensor_is_that_of_its_twin(tmp_path, twin):
    made, path, found = elements(0), tmp_path / "scene.json", []
    for scene in (scene_of(made), twin(made).scene):
        path.write_text(json.dumps(with_solver(scene, ("generalized", "semi_implicit"), DT, STEPS * DT)))
        with simcli.Simulation(str(path), sets=["output.quantities=[sensor.noisy.com, sensor.exact.com]"]) as sim:
            sim.step(STEPS)
            found.append(sim.get("sensor.noisy.com") - sim.get("sensor.exact.com"))
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=TOUCHING)
    assert np.abs(found[0]).min() > TOUCHING
