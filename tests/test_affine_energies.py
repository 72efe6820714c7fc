"""Energies of affine bodies: gradients and Hessians by finite differences, identities, the mass matrix of the equations."""

import numpy as np
import pytest
import yaml
from support.affine_oracle import mass_matrix, shape

import simcli
from simcli.kernels.language import ti
from simcli.kernels.linear.blocks import clear_matrix
from simcli.kernels.memory.arena import Arena
from simcli.kernels.potentials.energy import add_gradient, add_hessian, find_energy, find_slopes, follow_rows
from simcli.kernels.potentials.paces import aim_laws
from simcli.kernels.rows.quadratic import start_gradients
from simcli.model.affine.rows import energies_of
from simcli.model.natural.form import natural_form
from simcli.model.state import State
from simcli.solvers.affine.memory import AffineCore
from simcli.solvers.shared.host.plan import RunPlan

DT, ALPHA = 0.01, 100.0
DIFFERENCE = 1e-5  # step of central differences: errors of third derivatives, 1e-10, and rounding, 1e-11, relative
SAME = 2e-8  # relative, of what such differences leave
ROUNDING = 1e-13
INERTIA = {"full": [[0.3, 0.02, 0.01], [0.02, 0.4, -0.03], [0.01, -0.03, 0.5]]}


def body(x, y, **more):
    return {"mass": 2.0, "com": [0.1, -0.05, 0.2], "inertia": INERTIA, "pose": {"xyz": [x, y, 0.1], "rpy": [0.2, -0.1, 0.3]},
            "affine": {"stiffness": 3e4, "volume": 0.01}, **more}  # fmt: skip


JOINTS = {
    "turn": {"type": "revolute", "axis": [0.1, 0.2, 1], "damping": 0.7, "limit": [-0.1, 0.05], "init_angle": 0.2,
             "drive": {"mode": "position_velocity", "target": 0.4, "target_velocity": 1, "stiffness": 30, "damping": 3},
             "driving": {"aim_angle": 0.5, "is_constrained": True, "stiffness": 50}},
    "slide": {"type": "prismatic", "axis": [1, 0.3, 0], "limit": {"lower": -0.01, "upper": 0.02, "strength": 0.3},
              "driving": {"aim_distance": 0.1, "is_constrained": True, "is_passive": True, "stiffness": 40}},
    "both": {"type": "cylindrical", "axis": [0, 0.3, 1], "limit": [{"lower": -0.01, "upper": 0.01, "stiffness": 200,
             "damping": 2}, {"lower": -0.02, "upper": 0.02}], "damping": 0.3},
    "stiff": {"type": "revolute", "axis": [0, 1, 0.2], "friction": 0.8, "armature": 2e-4, "motion": {"velocity": 2}},
    "weak": {"type": "cylindrical", "axis": [0.1, 1, 0], "velocity_limit": 2, "friction": [2, 3], "armature": [1e-3, 2e-3],
             "drive": [{"mode": "position", "target": 0.1, "stiffness": 60, "damping": 0.1, "effort_limit": 1},
                       {"mode": "effort", "target": 3, "effort_limit": 1}]},
    "geared": {"type": "revolute", "axis": [0, 0.2, 1], "mimic": {"joint": "turn", "ratio": -2}},
    "rack": {"type": "prismatic", "axis": [0, 0.2, 1], "mimic": {"joint": "stiff", "ratio": 0.3}},
    "ball": {"type": "ball"}, "weld": {"type": "fixed"},
    "cross": {"type": "universal", "axes": {"angular": [[1, 0, 0], [0, 1, 0]]}},
    "plane": {"type": "planar", "axis": [0, 0, 1]},
    "orbit": {"type": "nc_orbital_revolute", "axis": [0, 0, 1], "parent_frame": {"xyz": [0.3, 0, 0]}, "child_frame": {}},
    "rod": {"type": "distance", "length": 0.6, "parent_frame": {"xyz": [0.1, 0, 0]}, "child_frame": {"xyz": [0, 0.1, 0]}},
}  # fmt: skip
SCENE = {
    "simcli": 1, "solver": {"type": "affine", "integrator": "bdf1", "dt": DT, "strength_ratio": 0.02},
    "bodies": {f"{end}{k}": body(0.5 * (end == "b"), k) for k in range(len(JOINTS)) for end in "ab"} | {
        "arap": body(0, 20, affine={"stiffness": 3e4, "volume": 0.01, "energy": "arap"})},
    "joints": {name: {"parent": f"a{k}", "child": f"b{k}", "loop": True, **(
        {} if "child_frame" in joint else {"at": [0.25, k, 0]}), **joint} for k, (name, joint) in enumerate(JOINTS.items())},
    "forces": {
        "cord": {"type": "spring", "a": {"body": "a0", "at": [0.1, 0, 0.2]}, "b": {"world": [1, 1, 1]}, "stiffness": 20,
                 "damping": 0.5, "rest_length": 0.3},
        "rope": {"type": "spring", "a": {"body": "a1", "at": [0, 0.1, 0]}, "b": {"body": "b2", "at": [0, 0, 0.1]},
                 "stiffness": 15, "rest_length": 0.4, "slack": True},
        "load": {"type": "torque", "joint": "turn", "value": 2.0},
        "coil": {"type": "torsion", "joint": "turn", "stiffness": 7, "rest_angle": 0.3},
    },
}  # fmt: skip


def built(tmp_path, scene):
    path = tmp_path / "scene.yaml"
    path.write_text(yaml.safe_dump(scene, sort_keys=False))
    model = simcli.load(path)[0]
    return model, natural_form(model, State.of(model))


@ti.kernel
def evaluate(c: ti.template()):
    for w in range(c.state.n_blocks):
        c.tables.arena.enter(w)
        p = c.potential
        start_gradients(p.rows, w)
        aim_laws(p.laws, w, c.step.weight, c.step.alpha, c.tables.arena.zero())
        c.step.energy.store(w, 0, find_energy(p, w, p.rows.next_x, c.step.alpha))
        follow_rows(p, w, p.rows.next_x)
        find_slopes(p, w, c.step.curve.load(w, 0))
        clear_matrix(p.matrix, w)
        for i in range(p.n):
            p.gradient.store(w, i, c.tables.arena.zero())
        add_gradient(p, w)
        add_hessian(p, w, c.step.curve.load(w, 0))


class Evaluation:
    """The energies of a model at coordinates, by the device."""

    def __init__(self, model, device):
        arena = Arena(device.for_worlds(4), 4)
        options = type("Options", (), {"integrator": "bdf1", "tolerance": 1e-9, "max_iterations": 5, "max_velocity": 1e6,
                                      "friction_speed": 3.0})  # fmt: skip
        self.core = AffineCore(model, options, RunPlan(DT, 1, 1, frozenset(("state",))), arena)
        arena.build()
        self.core.tables.arena.upload()
        self.core.clear()
        self.n = self.core.potential.n
        self.core.step.alpha.write(np.full((1, model.n_bodies, 1), ALPHA))
        self.core.potential.length_now.write(np.full((1, self.core.potential.n_lengths, 1), 0.4))
        self.core.potential.laws.push.write(np.full((1, 2 * self.core.potential.laws.n, 1), 0.3))
        self.core.potential.laws.pull.write(np.full((1, self.core.potential.laws.n, 1), 0.4))

    def __call__(self, x, curve=1.0):
        """Energies (W,), gradients (W, n) at coordinates (W, n) of four worlds."""
        whole = np.zeros((4, self.core.potential.rows.next_x.n_items, 1))
        whole[:, : self.n, 0] = x
        self.core.potential.rows.next_x.write(whole)
        self.core.step.curve.write(np.full((1, 1, 1), curve))
        self.core.tables.arena.launch(evaluate, self.core)
        return self.core.step.energy.read()[:, 0, 0], self.core.potential.gradient.read()[..., 0]

    def hessian(self):
        """That of world 0 at the last coordinates."""
        matrix, values = self.core.potential.matrix, self.core.potential.matrix.factor.value.read()[0, :, 0]
        H = np.zeros((self.n, self.n))
        for (i, j), place in zip(matrix.ends, matrix.places, strict=True):
            H[i, j] = H[j, i] = values[place]
        return H


def test_gradient_and_hessian_are_those_of_finite_differences(tmp_path, device):
    _, model = built(tmp_path, SCENE)
    energies = Evaluation(model, device)
    x = model.joint_q[0, -energies.n :] + 0.05 * np.random.default_rng(3).standard_normal(energies.n)
    energy, gradient = energies(x)
    H = energies.hessian()
    scale, stiffness = np.abs(gradient[0]).max(), np.abs(H).max()
    assert energy[0] > 0.0
    assert scale > 1.0
    for first in range(0, energies.n, 2):
        lanes = np.tile(x, (4, 1))
        for lane in range(4):
            lanes[lane, first + lane // 2] += DIFFERENCE * (1 - 2 * (lane % 2))
        energy, slopes = energies(lanes)
        for k in range(2):
            i = first + k
            by_difference = (energy[2 * k] - energy[2 * k + 1]) / (2 * DIFFERENCE)
            assert by_difference == pytest.approx(gradient[0, i], abs=SAME * scale), i
            column = (slopes[2 * k] - slopes[2 * k + 1]) / (2 * DIFFERENCE)
            np.testing.assert_allclose(column, H[:, i], atol=SAME * stiffness, err_msg=str(i))
    energies(x, curve=0.0)
    assert np.linalg.eigvalsh(energies.hessian()).min() > -ROUNDING * stiffness


def test_rigidity_is_the_energy_of_the_paper(tmp_path, device):
    """The same number from the rows of A (numpy) as from its columns along the principal axes of mass."""
    scene = {"simcli": 1, "solver": {"type": "affine"}, "bodies": {"a": body(0, 0)}}
    model, natural = built(tmp_path, scene)
    stiffness = 3e4 * 0.01
    assert model.affine.shape_stiffness[0, 0] == pytest.approx(stiffness, rel=ROUNDING)
    energies = energies_of(natural)
    rng = np.random.default_rng(1)
    A = np.eye(3) + 0.3 * rng.standard_normal((3, 3))
    axes = natural.joint_q[0, -9:].reshape(3, 3)  # rows: the vectors at the start, orthonormal
    columns = (A @ axes.T).T
    phi = [columns[i] @ columns[j] - (i == j) for i in range(3) for j in range(i, 3)]
    expected, *_ = shape(np.concatenate((np.zeros(3), A.ravel())), stiffness)
    assert 0.5 * energies.stiffness[0] @ np.square(phi) == pytest.approx(expected, rel=ROUNDING)


def test_mass_matrix_is_that_of_the_equations(tmp_path):
    """T of p and A about the body's origin (numpy) equals that of the natural form, for any velocity."""
    scene = {"simcli": 1, "solver": {"type": "affine"}, "bodies": {"a": body(0, 0, pose={})}}
    _, model = built(tmp_path, scene)
    com, inertia = np.array([0.1, -0.05, 0.2]), np.array(INERTIA["full"])
    M = mass_matrix(2.0, com, inertia)
    velocity = np.random.default_rng(2).standard_normal(12)
    axes = model.joint_q[0, -9:].reshape(3, 3)
    rates = np.concatenate((velocity[:3] + velocity[3:].reshape(3, 3) @ com,
                            (velocity[3:].reshape(3, 3) @ axes.T).T.ravel()))  # fmt: skip
    weight = (model.columns.weight - model.columns.excess)[0, -12:]
    assert weight @ np.square(rates) == pytest.approx(velocity @ M @ velocity, rel=ROUNDING)
