"""Torsion springs: the oscillator in closed form, reaction on both bodies, implicit in stiffness, energy that closes."""

import numpy as np
import pytest
from support.forward import Runner, model_of, slope
from support.scenes import scene

from simcli import rotations as rot
from simcli.errors import SceneError
from simcli.spec import resolve

OSCILLATOR = """
world: {{gravity: [0, 0, 0]}}
bodies: {{a: {{mass: 1, inertia: {{diag: [0.3, 0.3, 0.5]}}}}}}
joints: {{pin: {{type: revolute, parent: world, child: a, at: [0, 0, 0], axis: [0, 0, 1], q: 1.2}}}}
forces:
  coil: {{type: torsion, joint: pin, stiffness: {k}, damping: {c}, rest_angle: 0.5}}
  {more}
"""
INERTIA = 0.5


def oscillation(k, c, rest, q0, t):
    """Underdamped motion from rest."""
    decay, w0 = c / (2 * INERTIA), np.sqrt(k / INERTIA)
    w = np.sqrt(w0**2 - decay**2)
    return rest + (q0 - rest) * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))


def test_a_torsion_spring_swings_as_the_closed_form_says(device):
    """rk4 at 1 ms: (20/s * 1 ms)^4 of an amplitude of 0.7 rad. Elastic and dissipated energies are what was there."""
    runner = Runner(OSCILLATOR.format(k=200.0, c=0.8, more=""), "rk4", device)
    columns = runner(1e-3, 50, 10)
    t = np.arange(11) * 0.05
    assert np.abs(columns["frames/joint_q"][:, 0, 0] - oscillation(200, 0.8, 0.5, 1.2, t)).max() < 1e-7
    elastic, lost = columns["energy/elastic"][:, 0], columns["energy/dissipated"][:, 0]
    assert elastic[0] == pytest.approx(0.5 * 200 * 0.7**2, rel=1e-12)
    assert lost[-1] > 10
    assert (columns["energy/input"] == 0).all()
    assert np.abs(columns["energy/drift"]).max() < 1e-6 * elastic[0]
    effort = -200 * (columns["frames/joint_q"][:, 0, 0] - 0.5) - 0.8 * columns["frames/joint_qd"][:, 0, 0]
    assert np.abs(columns["frames/joint_effort"][:, 0, 0] - effort).max() < 1e-9


def test_a_stiff_torsion_spring_needs_no_small_step(device):
    """At thirty radians a step the first-order integrator still settles; explicit it would explode after two."""
    runner = Runner(OSCILLATOR.format(k=450.0, c=0.0, more=""), "semi_implicit", device)
    columns = runner(1.0, 10, 5)
    q = columns["frames/joint_q"][:, 0, 0]
    assert np.abs(np.diff(np.abs(q - 0.5))[0]) > 0.5
    assert np.abs(q[1:] - 0.5).max() < 1e-6


def test_the_second_order_integrator_keeps_its_order(device):
    runner = Runner(OSCILLATOR.format(k=200.0, c=0.8, more=""), "implicit", device)
    steps = (4e-3, 2e-3, 1e-3)
    exact = oscillation(200, 0.8, 0.5, 1.2, 0.4)
    errors = [abs(runner(h, round(0.4 / h), 1)["frames/joint_q"][-1, 0, 0] - exact) for h in steps]
    assert errors[0] > 1e-5
    assert abs(slope(steps, errors) - 2) < 0.1


def test_both_bodies_feel_the_spring(device):
    """A free pair keeps its momenta while the spring between them works."""
    runner = Runner("""
world: {gravity: [0, 0, 0]}
bodies:
  a: {mass: 1.5, com: [0.1, 0, 0.05], inertia: {diag: [0.2, 0.3, 0.4]}, velocity: {linear: [1, 2, 3], angular: [1, -1, 0.5]}}
  b: {mass: 0.7, pose: {xyz: [0.5, 0, 0]}, com: [0.2, 0.1, 0], inertia: {diag: [0.1, 0.15, 0.12]}}
joints: {j: {type: cylindrical, parent: a, child: b, at: [0.4, 0.1, 0], axis: [0.2, 1, 0.3], q: [0.1, 1.0]}}
forces: {coil: {type: torsion, joint: j, stiffness: [60, 8], damping: [1, 0.05], rest_angle: [0, -0.5]}}
""", "rk4", device)  # fmt: skip
    model, columns = runner.model, runner(1e-3, 100, 5)
    pose, twist = columns["frames/body_q"][:, 0], columns["frames/body_qd"][:, 0]
    linear, angular = np.zeros((6, 3)), np.zeros((6, 3))
    for b in range(2):
        R = rot.quat_to_matrix(pose[:, b, 3:])
        p = model.bodies.mass[0, b] * twist[:, b, :3]
        I_w = rot.turn(R @ model.bodies.inertia[0, b] @ rot.transpose(R), twist[:, b, 3:])
        linear, angular = linear + p, angular + I_w + np.cross(pose[:, b, :3] + rot.turn(R, model.bodies.com[:, b]), p)
    assert np.abs(linear - linear[0]).max() < 1e-9
    assert np.abs(angular - angular[0]).max() < 1e-7
    assert np.abs(np.diff(columns["energy/elastic"][:, 0])).max() > 0.1
    assert np.abs(columns["energy/drift"]).max() < 1e-7


def test_several_springs_on_one_joint_add_up():
    """The total energy at any angle is the sum of theirs; also where they pull against each other."""
    second = "second: {type: torsion, joint: pin, stiffness: 5, damping: 0.2, rest_angle: -1}"
    model, _ = model_of(OSCILLATOR.format(k=3.0, c=0.1, more=second))
    dofs = model.dofs
    for q in (-2.0, 0.3, 1.2):
        both = 0.5 * 3 * (q - 0.5) ** 2 + 0.5 * 5 * (q + 1) ** 2
        one = 0.5 * dofs.spring_stiffness[0, 0] * (q - dofs.spring_rest[0, 0]) ** 2 + dofs.spring_energy[0, 0]
        assert one == pytest.approx(both, rel=1e-14)
    assert dofs.damping[0, 0] == pytest.approx(0.3)


def test_units_follow_the_joint():
    text = """
bodies: {a: {mass: 1, inertia: {diag: [1, 1, 1]}}}
joints: {j: {type: %s, parent: world, child: a, damping: 0.5}}
forces: {f: {type: torsion, joint: j, stiffness: %s, damping: %s, rest_angle: %s}}
"""
    dofs = model_of(text % ("revolute", "2 N*mm/deg", "0.1 N*m*s/rad", "90 deg"))[0].dofs
    assert dofs.spring_stiffness[0, 0] == pytest.approx(2e-3 * 180 / np.pi)
    assert dofs.spring_rest[0, 0] == pytest.approx(np.pi / 2)
    assert dofs.damping[0, 0] == pytest.approx(0.6)
    dofs = model_of(text % ("cylindrical", "[2 N/mm, 3 N*m/rad]", "[0, 1]", "[5 cm, 0.1]"))[0].dofs
    assert dofs.spring_stiffness[0].tolist() == pytest.approx([2000, 3])
    assert dofs.spring_rest[0].tolist() == pytest.approx([0.05, 0.1])
    dofs = model_of(text % ("cylindrical", 2, 0, 0.1))[0].dofs
    assert dofs.spring_stiffness[0].tolist() == [2, 2]
    for stiffness, rest in (("2 N/m", "0"), ("2", "5 cm")):
        with pytest.raises(SceneError, match="SC213"):
            model_of(text % ("revolute", stiffness, "0", rest))


@pytest.mark.parametrize(("joint", "force", "code", "path"), [
    ("type: ball", "stiffness: 1", "SC501", "forces.f.joint"),
    ("type: ball, loop: true", "stiffness: 1", "SC501", "forces.f.joint"),
    ("type: cylindrical", "stiffness: [1, 2, 3]", "SC463", "forces.f.stiffness"),
    ("type: cylindrical", "stiffness: 1, rest_angle: [1, 2, 3]", "SC463", "forces.f.rest_angle"),
    ("type: revolute", "stiffness: -1", "SC231", "forces.f.stiffness"),
    ("type: revolute", "stiffness: 1, damping: -1", "SC231", "forces.f.damping"),
    ("type: revolute", "damping: 1", "SC202", "forces.f"),
])  # fmt: skip
def test_faults_of_torsion_springs(joint, force, code, path):
    text = f"""
bodies: {{a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}}}
joints: {{j: {{{joint}, parent: world, child: a}}}}
forces: {{f: {{type: torsion, joint: j, {force}}}}}
"""
    with pytest.raises(SceneError) as caught:
        resolve(scene(text))
    (fault,) = caught.value.faults
    assert fault.code == code
    assert fault.where.path.startswith(path)
    assert fault.where.line == 5
