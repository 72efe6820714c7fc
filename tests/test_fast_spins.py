"""Bodies that spin fast keep their angular momentum and their energy, in every step of first order, whoever is beside them.

Free, each alone in the tree or joined: with centres of mass and axes of inertia elsewhere, of two welded halves, on balls,
with rotors, in gimbals. The laws are exact, so that no other solver is needed.
"""

import json

import h5py
import numpy as np
import pytest
from support.process import simcli as command

from simcli.spec.auto import FIRST_CHOICE

NEEDLE = [0.00017231, 0.00000658, 0.00017243]  # [kg m^2]
SPIN = [20.0, 60.0, 5.0]  # [rad/s]
SPEED = 63.497  # [rad/s], |w| of the needle after a second: Euler's equations by elliptic functions
FULL = [[0.00017, 3.0e-5, 2.0e-5], [3.0e-5, 0.00008, -1.0e-5], [2.0e-5, -1.0e-5, 0.00017]]
HALF = {"mass": 0.06, "inertia": {"diag": [1e-5, 4e-6, 1e-5]}}
# Of |L| and of kinetic energy: rounding of a thousand steps; of bodies that others hold, what first order leaves of theirs.
ALONE, GAIN, LOSS = {"float64": 1e-9, "float32": 3e-5}, 0.01, -0.01

SMALL = {"type": "sphere", "radius": 0.1}
FREE = {
    "needle": {"mass": 0.12, "inertia": {"diag": NEEDLE}, "velocity": {"angular": SPIN}},
    "off": {"mass": 0.12, "com": [0.03, -0.02, 0.05], "inertia": {"diag": NEEDLE}, "pose": {"xyz": [3, 0, 0]},
            "velocity": {"angular": SPIN, "linear": [0.1, 0, 0]}},
    "full": {"mass": 0.12, "inertia": {"full": FULL}, "pose": {"xyz": [6, 0, 0], "rpy": [0.3, 0.2, 1.0]},
             "velocity": {"angular": SPIN}},
}  # fmt: skip
# Bodies of one mechanism, with its joints.
HELD = {
    "halves": ({"a": {**HALF, "pose": {"xyz": [0, 0.05, 0]}, "velocity": {"angular": SPIN, "linear": [-0.25, 0, 1.0]}},
                "b": {**HALF, "pose": {"xyz": [0, -0.05, 0]}}}, {"weld": {"type": "fixed", "parent": "a", "child": "b"}}),
    "hinged": ({"c": {**HALF, "pose": {"xyz": [3, 0.05, 0]}, "velocity": {"angular": SPIN, "linear": [-0.25, 0, 1.0]}},
                "d": {**HALF, "pose": {"xyz": [3, -0.05, 0]}}},
               {"pin": {"type": "revolute", "parent": "c", "child": "d", "axis": [0, 1, 0]}}),
    "ball": ({"e": {"mass": 0.12, "com": [0, 0.02, 0], "inertia": {"diag": NEEDLE}}},
             {"ball": {"type": "ball", "parent": "world", "child": "e", "qd": SPIN}}),
    "rotor": ({"f": {"mass": 1.0, "inertia": {"diag": [0.02, 0.02, 0.03]}, "pose": {"xyz": [6, 0, 0]},
                     "velocity": {"angular": [1, 2, 0.5]}},
               "g": {"mass": 0.5, "inertia": {"diag": [0.001, 0.001, 0.002]}, "pose": {"xyz": [6, 0, 0.1]}}},
              {"shaft": {"type": "revolute", "parent": "f", "child": "g", "axis": [0, 0, 1], "at": [6, 0, 0.1], "qd": 3e2}}),
    "gimbal": ({name: {"mass": 0.4, "inertia": {"diag": [0.001, 0.001, 0.001 + 0.001 * (name == "k")]},
                       "pose": {"xyz": [9, 0, 0]}} for name in "ijk"},
               {"outer": {"type": "revolute", "parent": "world", "child": "i", "axis": [1, 0, 0], "at": [9, 0, 0]},
                "inner": {"type": "revolute", "parent": "i", "child": "j", "axis": [0, 1, 0], "at": [9, 0, 0], "qd": 2.0},
                "wheel": {"type": "revolute", "parent": "j", "child": "k", "axis": [0, 0, 1], "at": [9, 0, 0], "qd": 3e2}}),
}  # fmt: skip
STRANGERS = {
    "none": ({}, {}),
    "rows and contact": (
        {"x": {"mass": 1.0, "inertia": {"diag": [1, 1, 1]}, "pose": {"xyz": [0, 5, 0]}},
         **{name: {"mass": 1.0, "inertia": {"diag": [1, 1, 1]}, "pose": {"xyz": [0, 9, z]}, "shapes": {"s": SMALL}}
            for name, z in (("y", 0.0), ("z", 0.1999))}},
        {"hook": {"type": "revolute", "parent": "world", "child": "x", "axis": [0, 0, 1], "at": [0, 6, 0]}}),
}  # fmt: skip
# Wheels that roll at 10 m/s without slip, 0.1 rad a step.
WHEELS = """
simcli: 1
world: {shapes: {ground: {type: plane}}}
bodies:
  cylinder: {mass: 1, pose: {xyz: [0, 0, 0.1], rpy: [90 deg, 0, 0]}, velocity: {linear: [10, 0, 0], angular: [0, 100, 0]},
             shapes: {s: {type: cylinder, radius: 0.1, length: 0.4}}}
  capsule: {mass: 1, pose: {xyz: [0, 3, 0.1], rpy: [90 deg, 0, 0]}, velocity: {linear: [10, 0, 0], angular: [0, 100, 0]},
            shapes: {s: {type: capsule, radius: 0.1, length: 0.4}}}
solver: {type: SOLVER, dt: 1 ms}
run: {duration: 0.1}
output: {every: 10 ms, channels: [state]}
"""
ROLLS = 1e-9  # [1]
FIRST = [solver for solver, integrator in FIRST_CHOICE.items() if integrator == "semi_implicit"]


def rotations(q: np.ndarray) -> np.ndarray:
    """(F, 3, 3) of quaternions x y z w."""
    x, y, z, w = q.T
    rows = ((1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)))  # fmt: skip
    return np.stack([np.stack(row, -1) for row in rows], -2)


def motion_of(folder, bodies: dict, joints: dict, solver: str, precision: str = "float64"):
    """Mass, place and velocity of the centre, angular momentum about it, kinetic energy and |w| of each body."""
    scene = {"simcli": 1, "world": {"gravity": [0, 0, 0]}, "bodies": bodies, "joints": joints, "run": {"duration": 1.0},
             "solver": {"type": solver, "integrator": "semi_implicit", "dt": 1e-3, "precision": precision}}  # fmt: skip
    (folder / "spin.json").write_text(json.dumps(scene))
    ended = command("run", folder / "spin.json", "-o", folder / "spin.h5", "-q")
    assert ended.returncode == 0, ended.stderr
    found = {}
    with h5py.File(folder / "spin.h5") as run:
        q, qd = (np.asarray(run[f"frames/body_{what}"][:, 0], float) for what in ("q", "qd"))
        names = run["frames/body_name"].asstr()[:]
        mass, inertia, com = (run[f"model/body_{what}"][0] for what in ("mass", "inertia", "com"))
    for b, name in enumerate(names):
        R, v, w = rotations(q[:, b, 3:]), qd[:, b, :3], qd[:, b, 3:]
        spin = np.einsum("tij,jk,tlk,tl->ti", R, inertia[b], R, w)
        kinetic = 0.5 * (mass[b] * (v * v).sum(1) + (w * spin).sum(1))
        found[name] = mass[b], q[:, b, :3] + R @ com[b], v, spin, kinetic, np.linalg.norm(w, axis=1)
    return found


def momentum_of(parts: list) -> np.ndarray:
    """[kg m^2/s], |L| of some bodies about their common centre of mass, (F,)."""
    total = sum(mass for mass, *_ in parts)
    centre, drift = (sum(part[0] * part[k] for part in parts) / total for k in (1, 2))
    about = sum(spin + mass * np.cross(x - centre, v - drift) for mass, x, v, spin, *_ in parts)
    return np.linalg.norm(about, axis=1)


@pytest.mark.parametrize(("precision", "stranger"), [("float64", name) for name in STRANGERS] + [("float32", "none")])
@pytest.mark.parametrize("solver", FIRST)
def test_a_free_body_keeps_its_angular_momentum_and_energy(tmp_path, solver, stranger, precision):
    bodies, joints = STRANGERS[stranger]
    found = motion_of(tmp_path, {**FREE, **bodies}, joints, solver, precision)
    for name in FREE:
        *_others, spin, kinetic, _speed = found[name]
        assert np.abs(spin - spin[0]).max() < ALONE[precision] * np.linalg.norm(spin[0])
        assert np.abs(kinetic / kinetic[0] - 1).max() < 10 * ALONE[precision]
    for name in ("needle", "off"):
        assert found[name][-1][-1] == pytest.approx(SPEED, rel=1e-3)


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("solver", FIRST)
def test_what_others_hold_keeps_its_energy_and_momentum(tmp_path, solver, stranger):
    bodies, joints = ({**one, **{k: v for held in HELD.values() for k, v in held[n].items()}}
                      for n, one in enumerate(STRANGERS[stranger]))  # fmt: skip
    found = motion_of(tmp_path, bodies, joints, solver)
    for mechanism, (parts, _joints) in HELD.items():
        kinetic = sum(found[name][4] for name in parts)
        change = kinetic / kinetic[0] - 1
        assert change.min() > LOSS, mechanism
        assert change.max() < GAIN, mechanism
        if mechanism not in ("ball", "gimbal"):
            size = momentum_of([found[name] for name in parts])
            assert np.abs(size / size[0] - 1).max() < GAIN, mechanism
    assert found["e"][-1][-1] == pytest.approx(63.492, rel=1e-3)  # the needle about a point 2 cm from its middle, by rk4


@pytest.mark.parametrize("solver", ["generalized", "maximal", "natural"])
def test_wheels_roll_on_at_their_speed(tmp_path, solver):
    (tmp_path / "wheels.yaml").write_text(WHEELS.replace("SOLVER", solver))
    ended = command("run", tmp_path / "wheels.yaml", "-o", tmp_path / "wheels.h5", "-q")
    assert ended.returncode == 0, ended.stderr
    with h5py.File(tmp_path / "wheels.h5") as run:
        qd = run["frames/body_qd"][:, 0]
    np.testing.assert_allclose(qd[..., 0], 10.0, rtol=ROLLS)
    np.testing.assert_allclose(qd[..., 4], 100.0, rtol=ROLLS)
