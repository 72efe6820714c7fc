"""Steps of `moreau`: of order two where nothing touches, of impulses where something does; springs damped in neither.

Point masses on arms and thin links in natural coordinates: what lacks inertia by itself, and has some by its joints.

Strongly stretched springs under generalized_alpha: the stiffness across their lines, steps that do not resolve it.
"""

from itertools import pairwise

import numpy as np
import pytest
import test_natural_quadratic as rows
from support.closed_loops import bennett
from support.forward import Runner
from support.process import simcli as command
from support.scenes import faults_of

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


@pytest.mark.parametrize(
    ("solver", "integrator"),
    [
        ("natural", "moreau"),
        pytest.param("generalized", "semi_implicit", marks=pytest.mark.slow),
        pytest.param("maximal", "semi_implicit", marks=pytest.mark.slow),
    ],
)
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


LENGTH, MASSLESS_GRAVITY = 1.2, 9.81
THIN = [2e-4, 0.1, 0.1]  # [kg m^2] of a rod of 1 kg and 1.1 m: its thickness is 4 % of its length
AT_ONCE, OF_MOTION = 1e-8, 2e-5  # of reactions at frame 0, relative; of coordinates after SPAN, [rad], at the second step
MASSLESS_SPAN, MASSLESS_STEPS = 0.4, (2e-3, 1e-3)  # [s]
MASSLESS_ORDER = 0.2  # what an order may lack
JOINTS = ("pin", "p1", "p2", "bennett_h0", "bennett_h1", "bennett_h2")  # whose coordinates all solvers show


def flow(table):
    """Bodies or joints as lines of YAML."""
    return "".join(f"  {name}: {one!r}\n".replace("'", '"') for name, one in table.items())


def scene():
    """A pendulum of one point mass, one of two, and Bennett's linkage with thin links."""
    linkage = bennett()
    for body in linkage["bodies"].values():
        body["inertia"] = {"diag": THIN}
    return f"""world: {{gravity: [0, 0, {-MASSLESS_GRAVITY}]}}
bodies:
  bob: {{pose: {{xyz: [5, 0, {-LENGTH}]}}, mass: 2, inertia: point}}
  up: {{pose: {{xyz: [5, 3, -0.7]}}, mass: 1, inertia: point}}
  low: {{pose: {{xyz: [5, 3, -1.6]}}, mass: 1.5, inertia: point}}
{flow(linkage["bodies"])}joints:
  pin: {{type: revolute, parent: world, child: bob, at: [5, 0, 0], axis: [0, 1, 0], q: 1.5}}
  p1: {{type: revolute, parent: world, child: up, at: [5, 3, 0], axis: [0, 1, 0], q: 1.0}}
  p2: {{type: revolute, parent: up, child: low, at: [5, 3, -0.7], axis: [0, 1, 0], q: 0.5, qd: 1}}
{flow(linkage["joints"])}solver: {{type: SOLVER, dt: 1.0e-3}}
run: {{duration: 1}}
"""


def run(solver, integrator, device, steps):
    """Coordinates at the end by step, (n steps, n joints), and the reactions of the pendulums at frame 0, (3, 6)."""
    runner = Runner(scene().replace("SOLVER", solver), integrator, device, frozenset(("state", "reactions")))
    joints, found = runner.model.joints, []
    at = [int(joints.q_start[joints.name.index(name)]) for name in JOINTS]
    for h in steps:
        seen = runner(h, round(MASSLESS_SPAN / h), 1)
        found.append(seen["frames/joint_q"][-1, 0, at])
    return np.array(found), seen["frames/joint_wrench"][0, 0, [joints.name.index(name) for name in JOINTS[:3]]]


@pytest.fixture(scope="module")
def reference():
    """What generalized coordinates find with rk4, which need no inertia of points."""
    from support.device import live_device

    return run("generalized", "rk4", live_device(), MASSLESS_STEPS[1:])


@pytest.mark.parametrize("integrator", ["zhong06", "generalized_alpha"])
def test_what_lacks_inertia_moves_by_its_joints(device, reference, integrator):
    (wanted,), reactions = reference
    found, at_once = run("natural", integrator, device, MASSLESS_STEPS)
    assert np.abs(at_once - reactions).max() < AT_ONCE * np.abs(reactions).max()
    errors = np.abs(found - wanted).max(axis=1)
    assert errors[1] < OF_MOTION * (4 if integrator == "generalized_alpha" else 1), errors
    assert np.log2(errors[0] / errors[1]) > 2 - MASSLESS_ORDER, errors
    assert np.ptp(wanted) > 1.0


@pytest.mark.parametrize("solver", ["natural", "generalized"])
@pytest.mark.parametrize("at", ["[0, 0, 0]", "[0, 1, 0]"])
def test_points_on_the_axis_of_their_joint_are_refused(solver, at):
    """Nothing moves there; nor does what turns about an axis through it."""
    text = f"""bodies: {{p: {{mass: 1, inertia: point}}}}
joints:
  pin: {{type: revolute, parent: world, child: p, at: {at}, axis: [0, 1, 0]}}
solver: {{type: {solver}}}
"""
    assert [(code, line) for code, line, _ in faults_of(text)] == [("SC452", 2)]


def test_free_points_are_told_of_their_kind():
    ((code, _, message),) = faults_of("bodies: {p: {mass: 1, inertia: point}}\nsolver: {type: natural}\n")
    assert code == "SC452"
    assert "moves no inertia" in message


BAR = """simcli: 1
bodies:
  bar: {mass: 1, inertia: {diag: [0, 0.1, 0.1]}, natural: 1P1V}
joints:
  pin: {type: ball, parent: world, child: bar, at: [0.3, HEIGHT, 0]}
forces:
  s: {type: spring, a: {world: [1, 1, 0]}, b: {body: bar, at: [0.1, HEIGHT, 0]}, stiffness: 1}
  w: {type: wrench, body: bar, force: [0, 0, 1], at: [0.1, HEIGHT, 0]}
solver: {type: natural, dt: 1.0e-3, integrator: generalized_alpha}
run: {duration: 0.01}
"""


def test_generalized_alpha_names_what_stands_beside_the_axis_of_a_bar(tmp_path):
    """By check, with body, joint or force, and line; rounding is not beside it."""
    for height, code in (("0.1", 1), ("1.0e-17", 0)):
        path = tmp_path / f"bar{code}.yaml"
        path.write_text(BAR.replace("HEIGHT", height))
        ended = command("check", path)
        assert ended.returncode == code, ended.stderr
        for line in (5, 7, 8) if code else ():
            assert f"bar1.yaml:{line}:" in ended.stderr
        assert ended.stderr.count("bar `bar`") == 3 * code


# Relative: central differences with a step of 1e-6 of forces of order 1.
DIFFERENCES = 1e-7
STIFFNESS, REST, DAMPING = 40.0, 0.7, 3.0

CHAIN = """
params: {k: 1.0e6}
bodies:
  a: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
  b: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [1, 0, 0]}, points: {e: [0.5, 0.1, 0]}}
joints:
  pin: {type: revolute, parent: world, child: a, at: [-0.5, 0, 0], axis: [0, 1, 0], qd: 1}
  cross: {type: universal, parent: a, child: b, at: [0.5, 0, 0], axes: {angular: [[0, 1, 0], [0, 0, 1]]}, qd: [1, 0.5]}
forces:
  cord: {type: spring, a: {world: [2.5, 0, 0.1]}, b: b/e, stiffness: "${k}", damping: 1, rest_length: 0.5}
"""
STRUNG = """
params: {k: 1.0e6}
bodies:
  bead: {mass: 0.01, inertia: point, natural: 1P, velocity: {linear: [0, 0.5, 0.3]}, points: {c: [0, 0, 0]}}
  rod: {mass: 1, inertia: {diag: [0.01, 0.1, 0.1]}, pose: {xyz: [1.5, 0, 0]}, velocity: {angular: [1, 2, 3]},
        points: {l: [-0.5, 0, 0], r: [0.5, 0, 0]}}
forces:
  left: {type: spring, a: {world: [-1, 0, 0]}, b: bead/c, stiffness: "${k}", rest_length: 0.3}
  middle: {type: spring, a: bead/c, b: rod/l, stiffness: "${k}", rest_length: 0.3}
  right: {type: spring, a: rod/r, b: {world: [3, 0, 0]}, stiffness: "${k}", rest_length: 0.3}
"""
SOLVER = "\nsolver: {{type: {}, dt: 1.0e-3, integrator: {}}}\n"


def stretched(table, row, x):
    """Force along x of one spring whose length is a row, and its stiffness -dF/dx from the tables alone."""
    phi, G = rows.values(table, x)[row], rows.gradients(table, x)[row]
    length = np.sqrt(2.0 * phi)
    tension = STIFFNESS * (length - REST)
    H, own = np.zeros((table.n, table.n)), table.bend_row == row
    i, j, weight = table.bend_i[own], table.bend_j[own], table.bend_weight[0, own]
    H[i, j] = H[j, i] = weight
    along = G / length
    return -tension * along, (STIFFNESS - tension / length) * np.outer(along, along) + tension / length * H


def test_stiffness_of_a_spring_against_finite_differences(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text("simcli: 1\n" + STRUNG + SOLVER.format("natural", "generalized_alpha"))
    table = rows.expanded(path, springs=True)[2]
    lengths = np.flatnonzero(table.shape == 1)
    assert len(lengths) == 3
    x, step = np.random.default_rng(2).normal(size=table.n), 1e-6
    for row in lengths:
        K = stretched(table, row, x)[1]
        for i in range(table.n):
            e = step * np.eye(table.n)[i]
            change = (stretched(table, row, x + e)[0] - stretched(table, row, x - e)[0]) / (2 * step)
            assert np.abs(change + K[:, i]).max() < DIFFERENCES * np.abs(K).max()


def test_second_derivatives_of_all_rows_against_finite_differences(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text("simcli: 1\n" + CHAIN + SOLVER.format("natural", "generalized_alpha"))
    table = rows.expanded(path, springs=True)[2]
    random = np.random.default_rng(3)
    x, way, force = random.normal(size=table.n), random.normal(size=table.n), random.normal(size=len(table.is_hard))
    H = np.zeros((table.n, table.n))
    np.add.at(H, (table.bend_i, table.bend_j), force[table.bend_row] * table.bend_weight[0])
    H += np.tril(H, -1).T
    one, other = (force @ rows.gradients(table, x + s * way)[: len(force)] for s in (0.5, -0.5))
    assert np.abs(one - other - H @ way).max() < rows.ROUNDING * np.abs(H).max() * table.n


@pytest.mark.slow
def test_stretched_springs_that_no_step_resolves_converge(device):
    """Displacements across the lines are multiplied by up to 1e6 in a step, h^2 T / (L m)."""
    worlds = "batch: {worlds: 5, vary: {params.k: {list: [1.0e2, 1.0e4, 1.0e6, 1.0e7, 1.0e10]}}}\n"
    runner = Runner(STRUNG + SOLVER.format("natural", "generalized_alpha") + worlds, "generalized_alpha", device)
    frames = runner(1e-3, 100, 1)
    assert frames["diag/status"].max() == 0, frames["diag/status"]
    assert frames["diag/position_violation"].max() < 1e-11
    assert np.isfinite(frames["frames/body_q"]).all()


@pytest.mark.slow
def test_a_stretched_chain_to_order_two(device):
    steps, duration = (5e-5, 2.5e-5, 1.25e-5), 0.02
    found = []
    for kind, integrator, hs in (("natural", "generalized_alpha", (1e-3, *steps)), ("generalized", "rk4", (1e-5,))):
        runner = Runner(CHAIN + SOLVER.format(kind, integrator), integrator, device, frozenset(("bodies",)))
        for h in hs:
            frames = runner(h, round(duration / h), 1)
            assert frames["diag/status"].max() == 0
            found.append(frames["frames/body_q"][-1, 0])
    errors = [np.abs(one - found[-1]).max() for one in found[1:-1]]
    assert errors[2] < 1e-4, errors
    assert abs(errors[0] / errors[1] - 4) < 0.1, errors
    assert abs(errors[1] / errors[2] - 4) < 0.1, errors
