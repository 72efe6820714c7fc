"""Steps of `moreau`: of order two where nothing touches, of impulses where something does; springs damped in neither."""

from itertools import pairwise

import numpy as np
import pytest
from support.forward import Runner

pytestmark = pytest.mark.usefixtures("scalar_code")

# Every smooth force and a prescribed motion, on bodies whose shapes never meet.
SMOOTH = """
signals: {gust: {sine: {amplitude: 3, frequency: 1}}, way: {sine: {amplitude: 0.3, frequency: 1}}}
world: {shapes: {floor: {type: plane, pose: {xyz: [0, 0, -50]}}}}
defaults: {body: {mass: 1, inertia: {diag: [0.1, 0.2, 0.25]}}}
bodies:
  arm: {com: [0.5, 0, 0], points: {tip: [1, 0, 0]}, shapes: {ball: {type: sphere, radius: 0.1, density: 1}}}
  hand: {pose: {xyz: [1, 0, 0]}, com: [0.4, 0.1, 0]}
  cart: {pose: {xyz: [0, 3, 0]}, points: {hook: [0.1, 0, 0.2]}}
  leaf: {pose: {xyz: [0, 6, 0]}, com: [0.3, 0, 0]}
  base: {kinematic: true, pose: {xyz: [0, 9, 0]}, motion: {linear: [$way, 0, 0], angular: [0, 0, 0.5]}}
  bob: {pose: {xyz: [0, 9, 0]}, com: [0, 0, -0.5], shapes: {tip: {type: sphere, radius: 0.1, density: 1}}}
joints:
  shoulder: {type: revolute, parent: world, child: arm, at: [0, 0, 0], axis: [0, 1, 0], q: 0.4, damping: 0.2, armature: 0.1}
  elbow: {type: ball, parent: arm, child: hand, at: [1, 0, 0], qd: [0.5, 1, 1]}
  rail: {type: prismatic, parent: world, child: cart, at: [0, 3, 0], axis: [1, 0, 0.3], q: 0.3,
         drive: {mode: position, stiffness: 30, damping: 1, target: -0.2}}
  hinge: {type: revolute, parent: world, child: leaf, at: [0, 6, 0], axis: [0, 0.3, 1], q: 0.5}
  pin: {type: revolute, parent: base, child: bob, at: [0, 9, 0], axis: [0, 1, 0], q: 0.5}
forces:
  s: {type: spring, a: arm/tip, b: cart/hook, stiffness: 20, damping: 0.5, rest_length: 2}
  t: {type: torsion, joint: hinge, stiffness: 5, rest_angle: -0.3}
  p: {type: wrench, body: hand, force: [1, $gust, 0], torque: [0.1, 0, 0.2]}
run: {duration: 0.4}
"""
STEPS = (4e-3, 2e-3, 1e-3)
SPAN = 0.4  # [s]
ORDER = 0.1  # what an order may lack
OF_LIMIT = 0.02  # of the error of the finest step: that of the limit that the steps point to
COLUMNS = ("frames/body_q", "frames/body_qd", "energy/total", "energy/dissipated", "energy/input")

GRAVITY, START = 10.0, 12.0
# A block of 1 kg that rubs with 1 N on the floor, on a spring of 1 N/m.
RUBS = f"""
world: {{gravity: [0, 0, {-GRAVITY}], shapes: {{floor: {{type: plane, material: m}}}}}}
materials: {{m: {{friction: {1 / GRAVITY}}}}}
bodies:
  block: {{pose: {{xyz: [{START}, 0, 0.05]}}, mass: 1, inertia: {{diag: [0.002, 0.002, 0.002]}}, points: {{hook: [0, 0, 0]}},
           shapes: {{box: {{type: box, size: [0.1, 0.1, 0.1], material: m}}}}}}
forces:
  s: {{type: spring, a: {{world: [-40, 0, 0.05]}}, b: block/hook, stiffness: 1, rest_length: 40}}
solver: {{type: natural, integrator: moreau, dt: 2.0e-3}}
run: {{duration: 24}}
"""
RUB_STEP, SHORT, WHOLE = 2e-3, 32, 120  # [s]; frames of 0.2 s
OFF, DRIFT = 0.015, 0.1  # [m], [J], issue


def ends(solver, integrator, device, steps):
    """Columns of the last frame for each step, of the bodies and joints of the scene."""
    off = "contact: {enabled: false}\n" * (integrator != "moreau")
    runner = Runner(SMOOTH + off + f"solver: {{type: {solver}, integrator: {integrator}, dt: 1.0e-3}}\n", integrator, device)
    assert runner.solver.core.touches == (integrator == "moreau")
    found = []
    for h in steps:
        n = round(SPAN / h)
        seen = runner(h, n, 1)
        found.append({name: seen[name][-1, 0] for name in COLUMNS})
    return found


@pytest.mark.slow  # test_natural_quadratic and test_solvers_agree tell the order
def test_order_two_where_nothing_touches(device):
    """Bodies with shapes, and all kinds of forces: coordinates, energies and work; the limit is that of the tree."""
    coarse, middle, fine = ends("natural", "moreau", device, STEPS)
    for name in COLUMNS:
        changes = [np.abs(a[name] - b[name]).max() for a, b in pairwise((coarse, middle, fine))]
        assert np.log2(changes[0] / changes[1]) > 2.0 - ORDER, (name, changes)
    (exact,) = ends("generalized", "rk4", device, STEPS[-1:])
    for name in COLUMNS[:2]:
        limit = fine[name] + (fine[name] - middle[name]) / 3.0
        assert np.abs(limit - exact[name]).max() < OF_LIMIT * np.abs(fine[name] - exact[name]).max(), name


def rub(time):
    """[m], where the block is: half waves about a force of friction that points back, until less than that is left."""
    k = np.floor(time / np.pi)
    side = (-1.0) ** k
    wave = side * (1.0 + (START - 1.0 - 2.0 * k) * np.cos(time - k * np.pi))
    return np.where(2.0 * k < START - 1.0, wave, 0.0)


def check_rubbing(device, n_frames):
    """Where the block is, and that energy is neither lost nor made."""
    seen = Runner(RUBS, "moreau", device)(RUB_STEP, round(0.2 / RUB_STEP), n_frames)
    x = seen["frames/body_q"][:, 0, 0, 0]
    assert np.abs(x - rub(0.2 * np.arange(n_frames + 1))).max() < OFF
    assert np.abs(seen["energy/drift"]).max() < DRIFT
    assert np.diff(seen["energy/dissipated"][:, 0]).min() > -1e-8
    assert np.ptp(x) > START


@pytest.mark.slow  # test_natural_forces tells springs, test_contact_closed_forms friction
def test_springs_are_not_damped_where_something_rubs(device):
    check_rubbing(device, SHORT)


@pytest.mark.slow
def test_springs_are_not_damped_until_the_block_rests(device):
    check_rubbing(device, WHOLE)


# A hammer on an arm that falls on the floor: what the floor gives, what the pivot gives and the jump of the velocity belong
# to one step.
HAMMER = """
world: {shapes: {floor: {type: plane}}}
bodies:
  hammer: {pose: {xyz: [1, 0, 0.3]}, mass: 2, inertia: {diag: [0.02, 0.03, 0.025]},
           shapes: {head: {type: sphere, radius: 0.1}}}
joints:
  pivot: {type: revolute, parent: world, child: hammer, at: [0, 0, 0.3], axis: [0, 1, 0], qd: 0.5}
contact: {pairs: [{a: hammer, b: floor}]}
solver: {type: SOLVER, integrator: INTEGRATOR, dt: 1.0e-3}
run: {duration: 0.4}
"""
BLOW = 1e-2  # of the force of the impact: directions at the start of the step, velocities that are projected at its end


@pytest.mark.parametrize(("solver", "integrator"), [
    ("natural", "moreau"), pytest.param("generalized", "semi_implicit", marks=pytest.mark.slow),
    pytest.param("maximal", "semi_implicit", marks=pytest.mark.slow)])  # fmt: skip
def test_reaction_force_and_jump_of_an_impact_stand_in_one_frame(device, solver, integrator):
    """m (v - v before) / h = contact + pivot + m g, frame by frame."""
    h, mass = 1e-3, 2.0
    text = HAMMER.replace("SOLVER", solver).replace("INTEGRATOR", integrator)
    runner = Runner(text, integrator, device, frozenset(("state", "reactions", "contacts")))
    seen = runner(h, 1, 300)
    change = mass * np.diff(seen["frames/body_qd"][:, 0, 0, :3], axis=0) / h
    pivot = seen["frames/joint_wrench"][1:, 0, 0, :3]
    contacts, floor = np.zeros_like(change), -1
    rows = runner.contacts
    frame = np.repeat(np.arange(len(change)), rows.count[:, 0])
    owner = runner.model.shapes.body
    for column, sign in (("shape_a", -1.0), ("shape_b", 1.0)):
        moves = owner[rows.columns[column].astype(int)] != floor
        np.add.at(contacts, frame[moves], sign * rows.columns["force"][moves])
    blow = np.abs(change).max()
    assert blow > 100 * mass * 9.81
    lacks = change - contacts - pivot - mass * np.array([0, 0, -9.81])
    assert np.abs(lacks).max() < BLOW * blow, np.abs(lacks).max() / blow
