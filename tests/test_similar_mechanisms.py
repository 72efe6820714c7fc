"""The same mechanism in other units moves alike: lengths, masses and times that are larger by powers of two.

A power of two changes no digit of a number, so that what holds of a mechanism of metres holds bit by bit of one of
millimetres, unless an order of operations or an absolute threshold depends on the size. What a scene says in metres and
seconds by itself (tolerances, the stiffness of affine bodies) is scaled with it.
"""

import json
from itertools import product

import numpy as np
import pytest
from support.solver_modes import MODES

import simcli

STEPS, DT = 32, 2.0**-10  # [1, s]
SMALL = (2.0**-10, 2.0**-30, 2.0**-5)  # millimetres, micrograms, steps of 31 us
LARGE = (2.0**7, 2.0**21, 2.0**3)
OTHERS = [(2.0**-12, 1.0, 1.0), (1.0, 2.0**-40, 1.0), (1.0, 2.0**40, 1.0), (1.0, 1.0, 2.0**-7), LARGE]
# Relative to the largest number: rounding, where the order of operations depends on the size, in 32 steps; and the absolute
# tolerance of corrections, 1e-12 m, which is more of a small mechanism.
BOUND = {"float64": 1e-8, "float32": 1e-3}
CONTACT_BOUND = {"float64": 1e-6, "float32": 3e-3}  # the tolerance of contact, 1e-8 and 1e-4 m/s, of 1 m/s, and its history


class Units:
    """Quantities of a mechanism whose lengths, masses and times are so many times as large."""

    def __init__(self, length: float, mass: float, time: float):
        self.length, self.mass, self.time = length, mass, time
        self.speed, self.spin = length / time, 1.0 / time
        self.inertia = mass * length**2
        self.torque, self.force = self.inertia / time**2, mass * length / time**2

    def body(self, *xyz: float, mass: float = 1.0, **more) -> dict:
        diag = [n * mass * self.inertia for n in (0.02, 0.03, 0.025)]
        com = [n * self.length for n in (0.03, -0.02, 0.05)]
        return {"pose": {"xyz": self.lengths(*xyz)}, "mass": mass * self.mass, "com": com, "inertia": {"diag": diag}, **more}

    def shape(self, kind: str, *xyz: float, **more) -> dict:
        sizes = {"box": {"size": self.lengths(0.2, 0.2, 0.2)}, "sphere": {"radius": 0.1 * self.length}}
        shape = {"type": kind, "material": "m", **sizes[kind]}
        return {"pose": {"xyz": self.lengths(*xyz)}, "shapes": {"s": shape}, **more}

    def lengths(self, *numbers: float) -> list[float]:
        return [n * self.length for n in numbers]


def loop(u: Units) -> tuple[dict, dict]:
    """A four-bar in space, which two hinges would hold as well: nine rows say nothing new."""
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    return {"a": u.body(0, 0, 0.5), "b": u.body(0.5, 0, 1), "c": u.body(1, 0, 0.5)}, {
        "p": {**hinge, "parent": "world", "child": "a", "at": [0, 0, 0], "qd": 2 * u.spin},
        "q": {**hinge, "parent": "a", "child": "b", "at": u.lengths(0, 0, 0.5), "damping": 0.02 * u.torque * u.time},
        "r": {**hinge, "parent": "b", "child": "c", "at": u.lengths(0.5, 0, 0)},
        "s": {**hinge, "parent": "world", "child": "c", "at": u.lengths(1, 0, 0)},
    }


def arm(u: Units) -> tuple[dict, dict]:
    """Joints that turn, slide, and do both, with drives."""
    drive = {"mode": "position", "stiffness": 30 * u.mass / u.time**2, "damping": u.mass / u.time, "target": 0.1 * u.length}
    bodies = {"a": u.body(0.3, 0, 0), "b": u.body(0.6, 0.1, 0, mass=0.5), "c": u.body(0.9, 0.1, 0.2, mass=0.7),
              "d": u.body(1.1, 0.1, 0.2)}  # fmt: skip
    return bodies, {
        "p": {"type": "ball", "parent": "world", "child": "a", "at": [0, 0, 0], "qd": [u.spin, 0.5 * u.spin, 0.2 * u.spin]},
        "q": {"type": "prismatic", "parent": "a", "child": "b", "at": u.lengths(0.15, 0, 0), "axis": [1, 0, 0],
              "qd": 0.3 * u.speed, "drive": drive},
        "r": {"type": "universal", "parent": "b", "child": "c", "at": u.lengths(0.15, 0, 0),
              "axes": {"angular": [[1, 0, 0], [0, 1, 0]]}},
        "s": {"type": "cylindrical", "parent": "c", "child": "d", "at": u.lengths(0.1, 0, 0), "axis": [0, 0, 1]},
    }  # fmt: skip


def pendulum(u: Units) -> tuple[dict, dict]:
    """A rod on a hinge."""
    pin = {"type": "revolute", "parent": "world", "child": "a", "at": [0, 0, 0], "axis": [0, 1, 0], "qd": u.spin}
    return {"a": u.body(0.25, 0, 0)}, {"p": pin}


def stack(u: Units) -> tuple[dict, dict]:
    """What falls on each other."""
    ball = u.shape("sphere", 0, 0, 0.55, velocity={"linear": [0.3 * u.speed, 0, 0]})
    return {"a": u.shape("box", 0, 0, 0.105), "b": u.shape("box", 0.02, 0.01, 0.32), "c": ball}, {}


def hammer(u: Units) -> tuple[dict, dict]:
    """A box that slides, and a ball hinged to it that falls."""
    box = u.shape("box", 0, 0, 0.105, velocity={"linear": [0.5 * u.speed, 0, 0]})
    pin = {"type": "revolute", "parent": "a", "child": "b", "at": u.lengths(0.1, 0, 0.1), "axis": [0, 1, 0]}
    return {"a": box, "b": u.shape("sphere", 0.3, 0, 0.3)}, {"p": pin}


def scene_of(case, solver: str, integrator: str, precision: str, units: tuple[float, float, float]) -> dict:
    u = Units(*units)
    bodies, joints = case(u)
    material = {"density": 1000 * u.mass / u.length**3, "friction": 0.4}
    gravity = [0.5 * u.length / u.time**2, 0, -9.81 * u.length / u.time**2]
    options = {"type": solver, "integrator": integrator, "dt": DT * u.time, "precision": precision}
    if solver == "affine":
        options |= {"tolerance": 1e-9 * u.length, "stiffness": 1e8 * u.mass / (u.length * u.time**2)}
    scene = {"simcli": 1, "materials": {"m": material}, "world": {"gravity": gravity}, "bodies": bodies, "joints": joints,
             "run": {"duration": STEPS * DT * u.time}, "output": {"every": STEPS * DT * u.time}}  # fmt: skip
    if case in (stack, hammer):
        options["contact"] = {"tolerance": {"float64": 1e-8, "float32": 1e-4}[precision] * u.speed,
                              "push_out_speed": u.speed, "restitution_threshold": 0.01 * u.speed}  # fmt: skip
        scene["world"]["shapes"] = {"g": {"type": "plane", "normal": [0.05, 0, 1], "material": "m"}}
    return {**scene, "solver": options}


def motion_of(folder, case, *cell, units) -> np.ndarray:
    """Positions and velocities of all bodies at the end, in the units of the first mechanism."""
    path, u = folder / "scene.json", Units(*units)
    path.write_text(json.dumps(scene_of(case, *cell, units)))
    with simcli.Simulation(str(path)) as sim:
        sim.step(STEPS)
        assert not sim.failures
        found = [(f"body.{name}.position", u.length) for name in case(u)[0]]
        found += [(f"body.{name}.velocity", u.speed) for name in case(u)[0]]
        found += [(f"body.{name}.angular_velocity", u.spin) for name in case(u)[0]]
        return np.concatenate([np.ravel(sim.get(name)) / unit for name, unit in found])


def difference(folder, case, solver, integrator, precision, units) -> float:
    """Of the motion from that of the first mechanism, relative to its largest number."""
    cell = case, solver, integrator, precision
    first = motion_of(folder, *cell, units=(1.0, 1.0, 1.0))
    return float(np.abs(motion_of(folder, *cell, units=units) - first).max() / np.abs(first).max())


RIGID = [mode for mode in MODES if mode[0] != "affine"]
OFTEN = {(loop, "maximal", "semi_implicit"), (loop, "generalized", "semi_implicit")}
CELLS = [pytest.param(case, *mode, precision, SMALL,
                      marks=[] if (case, *mode) in OFTEN and precision == "float64" else pytest.mark.slow)
         for case, mode, precision in product((loop, arm), RIGID, BOUND)]  # fmt: skip
CELLS += [pytest.param(case, *mode, "float64", units, marks=pytest.mark.slow)
          for case, mode, units in product((loop, arm), RIGID, OTHERS)]  # fmt: skip
CELLS += [(pendulum, "maximal", "semi_implicit", "float32", (2.0**-11, 2.0**-24, 2.0**-7))]  # inertia: its cube is no number


@pytest.mark.parametrize(("case", "solver", "integrator", "precision", "units"), CELLS)
def test_mechanism_of_other_units_moves_alike(tmp_path, case, solver, integrator, precision, units):
    assert difference(tmp_path, case, solver, integrator, precision, units) < BOUND[precision]


@pytest.mark.slow
@pytest.mark.parametrize("units", [SMALL, LARGE])
@pytest.mark.parametrize("precision", CONTACT_BOUND)
@pytest.mark.parametrize(("solver", "integrator"), [("generalized", "semi_implicit"), ("generalized", "rk4"),
                                                    ("maximal", "semi_implicit"), ("natural", "moreau")])  # fmt: skip
@pytest.mark.parametrize("case", [stack, hammer])
def test_contact_of_other_units_is_alike(tmp_path, case, solver, integrator, precision, units):
    assert difference(tmp_path, case, solver, integrator, precision, units) < CONTACT_BOUND[precision]


@pytest.mark.slow
@pytest.mark.parametrize("integrator", [name for solver, name in MODES if solver == "affine"])
@pytest.mark.parametrize("case", [loop, arm])
def test_affine_mechanism_of_other_units_moves_alike(tmp_path, case, integrator):
    assert difference(tmp_path, case, "affine", integrator, "float64", SMALL) < 1e-6
