"""The motion of a scene in a solver and integrator, stepped in this process."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import simcli
from metamorphic.relations import Motion, Twin
from simcli.errors import SceneError


@contextlib.contextmanager
def skipping_refusals() -> Iterator[None]:
    """Skip the test where the solver refuses by name what the scene has."""
    try:
        yield
    except SceneError as error:
        if {fault.code for fault in error.faults} != {"SC501"}:
            raise
        pytest.skip("refused by name")


def with_solver(scene: dict, mode: tuple[str, str], dt: float, time: float, **options) -> dict:
    """The scene with a solver, which takes options of the scene, its duration, and reactions among its frames."""
    return {
        **scene,
        "solver": {"type": mode[0], "integrator": mode[1], "dt": dt, **scene.get("solver", {}), **options},
        "run": {"duration": time},
        "output": {"every": time, "channels": ["state", "energy", "reactions"]},
    }


def motion_of(folder: Path, scene: dict, bodies: list[str], joints: list[str]) -> Motion:
    """At the end of its run, of these bodies and joints.

    Raises:
        AssertionError: a world failed.
    """
    path = folder / "scene.json"
    path.write_text(json.dumps(scene))
    with simcli.Simulation(str(path)) as sim:
        sim.step(round(scene["run"]["duration"] / scene["solver"]["dt"]))
        assert not sim.failures
        x, turn, v, w = (
            np.array([sim.get(f"body.{name}.{what}")[0] for name in bodies])
            for what in ("position", "orientation", "velocity", "angular_velocity")
        )
        com = np.array([scene["bodies"][name].get("com", [0, 0, 0]) for name in bodies])
        v = v - np.cross(w, Rotation.from_quat(turn).apply(com))
        wrench = np.array([sim.get(f"joint.{name}.wrench")[0] for name in joints]).reshape(-1, 2, 3)
        return Motion(x, v, w, np.linalg.norm(wrench, axis=2))


def difference(folder: Path, plain: dict, twin: Twin, mode: tuple[str, str], dt: float, time: float, **options) -> dict:
    """Largest differences of the motions of a scene and of its twin, by quantity; and `largest load` of the first one."""
    bodies, joints = sorted(plain["bodies"]), sorted(plain["joints"])
    one, other = (
        motion_of(folder, with_solver(scene, mode, dt, time, **options), bodies, joints) for scene in (plain, twin.scene)
    )
    there = twin.back(other, time)
    found = {name: float(np.abs(a - b).max(initial=0)) for name, a, b in zip(Motion._fields, one, there, strict=True)}
    return {**found, "largest load": float(one.loads.max(initial=0))}
