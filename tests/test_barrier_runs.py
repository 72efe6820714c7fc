"""Runs with barrier contact: rest gaps and sliding in closed form, surfaces that never meet, energy that never grows.

Needles and plates: little inertia, much stiffness. They turn in a few iterations, fall and are hit.
"""

import numpy as np
import pytest
from support.barriers import Drop, box_mesh, rest_gap
from support.device import live_device
from test_affine_steps import Run

pytestmark = pytest.mark.usefixtures("scalar_code")

G = 9.8
KAPPA = 1e9  # [N/m^3]
REST = 1e-9  # [m], in 0.1 s: what friction holds stays, once it has swung to rest
TOLERANCE = 1e-6  # [m], of the last displacement of a step: the default
GAIN = 1e-9  # of the energy at the start, in a step: rounding


def block(gravity, densities, rest=""):
    """A cube of 0.4 m just over the ground, in as many worlds as there are densities."""
    each = len(densities)
    return f"""
world: {{gravity: {gravity[0]}, shapes: {{ground: {{type: plane}}}}}}
bodies:
  cube: {{pose: {{xyz: [0, 0, 0.2095]}}, shapes: {{it: {{type: box, size: [0.4, 0.4, 0.4], density: 1000}}}}}}
batch:
  worlds: {each}
  vary:
    world.gravity: {{list: {gravity}}}
    bodies.cube.shapes.it.density: {{list: {list(densities)}}}
{rest}"""


@pytest.mark.parametrize("integrator", [pytest.param("bdf1", marks=pytest.mark.slow), "bdf2"])
def test_cubes_hover_where_the_closed_form_says(tmp_path, integrator):
    masses = np.array([64.0, 27.0, 1000.0])
    scheme = f"type: affine, dt: 0.01, integrator: {integrator}"
    solver = f"solver: {{{scheme}, contact: {{d_hat: 0.01}}}}\nrun: {{duration: 4}}"
    run = Drop(block([[0, 0, -G]] * 3, (masses / 0.064).tolist(), solver), live_device(), tmp_path, ["contacts"])
    expected = [rest_gap(m * G / 4, 0.01, KAPPA) for m in masses]
    assert expected == pytest.approx([9.169e-3, 9.466e-3, 6.390e-3], abs=1e-6)  # Li et al. (2020), by bisection
    assert run.columns["diag/gap"][-1] == pytest.approx(expected, abs=TOLERANCE)
    sag = masses * G * 0.2**2 / (8 * 1e8 * 0.4**3)  # of the centre: slope 8 kappa V of the rigidity along z
    assert run.columns["frames/body_q"][-1, :, 0, 2] - 0.2 == pytest.approx(expected - sag, abs=1e-7)
    total = run.columns["energy/total"]
    assert (np.diff(total, axis=0) <= 1e-9 * np.abs(total[0])).all()
    assert run.columns["diag/status"].max() == 0
    last = run.contacts[-1]
    assert last.count.tolist() == [[4, 4, 4]]
    force = last.columns["force"].reshape(3, 4, 3)
    side = np.where(run.model.shapes.name[int(last.columns["shape_b"][0])] == "cube/it", 1.0, -1.0)
    assert side * force[:, :, 2] == pytest.approx(np.repeat(masses[:, None] * G / 4, 4, axis=1), rel=1e-4)
    assert np.abs(force[:, :, :2]).max() < 1e-6 * G
    assert last.columns["gap"].reshape(3, 4) == pytest.approx(np.outer(expected, np.ones(4)), abs=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
def test_no_impact_gives_energy_back(tmp_path, integrator):
    """From rest and at 3 and 20 m/s, at many phases of the step: bdf2 without restarts gains up to 40 % in a step here."""
    heights, speeds = np.linspace(0.203, 0.25, 8).tolist() * 3, np.repeat([0.0, -3.0, -20.0], 8).tolist()
    text = f"""
world: {{shapes: {{ground: {{type: plane}}}}}}
params: {{z: 0.21, v: 0}}
bodies:
  cube: {{pose: {{xyz: [0, 0, "${{z}}"]}}, velocity: {{linear: [0, 0, "${{v}}"]}},
         shapes: {{it: {{type: box, size: [0.4, 0.4, 0.4], density: 1000}}}}}}
batch: {{worlds: 24, vary: {{params.z: {{list: {heights}}}, params.v: {{list: {speeds}}}}}}}
solver: {{type: affine, dt: 0.01, integrator: {integrator}}}
run: {{duration: 0.4}}
"""
    run = Drop(text, live_device(), tmp_path)
    total = run.columns["energy/total"]
    assert run.columns["diag/status"].max() == 0
    assert (np.diff(total, axis=0) <= 1e-9 * total[0]).all()
    gap = run.columns["diag/gap"][-1]
    assert total[-1] == pytest.approx(64 * 9.81 * (0.2 + gap), abs=0.05)  # it rests; the barrier stores 0.02 J


@pytest.mark.slow
def test_a_thin_barrier_carries_as_much_at_a_smaller_gap(tmp_path):
    solver = "solver: {type: affine, dt: 0.01, contact: {d_hat: 1 mm, stiffness: 1.0e9}}\nrun: {duration: 0.5}"
    text = block([[0, 0, -G]], [1000.0], solver)
    run = Drop(text.replace("0.2095", "0.2005"), live_device(), tmp_path)
    expected = rest_gap(64 * G / 4, 1e-3, KAPPA)
    assert expected == pytest.approx(12.8e-6, abs=5e-8)
    assert run.columns["diag/gap"][-1, 0] == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.slow
def test_pairs_have_their_own_barrier(tmp_path):
    text = """
world: {gravity: [0, 0, -9.8], shapes: {ground: {type: plane}}}
bodies:
  near: {pose: {xyz: [0, 0, 0.2045]}, shapes: {it: {type: box, size: [0.4, 0.4, 0.4], density: 1000}}}
  far: {pose: {xyz: [2, 0, 0.2185]}, shapes: {it: {type: box, size: [0.4, 0.4, 0.4], density: 1000}}}
contact: {pairs: [{a: near, b: ground, d_hat: 5 mm, barrier_stiffness: 1.0e+11}, {a: far, b: ground, d_hat: 0.02}]}
solver: {type: affine, dt: 0.01, contact: {d_hat: 0.01}}
run: {duration: 0.6}
"""
    run = Drop(text, live_device(), tmp_path, ["contacts"])
    load = 64 * G / 4
    expected = [rest_gap(load, 5e-3, 1e11), rest_gap(load, 0.02, 1e3 / 0.02**3)]
    gaps = np.sort(run.contacts[-1].columns["gap"]).reshape(2, 4)
    assert gaps == pytest.approx(np.outer(expected, np.ones(4)), abs=TOLERANCE)


@pytest.mark.slow
def test_kinematic_plates_take_along_lift_and_do_not_crush_in_silence(tmp_path):
    """Belts: dv = mu g h until the cube moves along. Lifts: the gap of the weight. Against a lid nothing gives way."""
    text = """
params: {belt: 0.5, lift: 0}
world: {gravity: [0, 0, -9.8], shapes: {lid: {type: box, size: [1, 1, 0.1], pose: {xyz: [0, 0, 0.61]}}}}
bodies:
  plate: {pose: {xyz: [0, 0, 0]}, kinematic: true, motion: {linear: ["${belt}", 0, "${lift}"]},
          shapes: {it: {type: box, size: [2, 1, 0.1]}}}
  cube: {pose: {xyz: [0, 0, 0.259169]}, shapes: {it: {type: box, size: [0.4, 0.4, 0.4], density: 1000}}}
solver: {type: affine, dt: 0.01, tolerance: 1.0e-8, contact: {d_hat: 0.01}}
run: {duration: 0.5}
batch: {worlds: 3, vary: {params.belt: {list: [0.5, 0, 0]}, params.lift: {list: [0, 0.1, 1.5]}}}
"""
    run = Drop(text, live_device(), tmp_path)
    speed = run.columns["frames/body_qd"][:, :, 1]
    assert np.diff(speed[2:10, 0, 0]).mean() == pytest.approx(0.5 * G * 0.01, rel=2e-2)  # it rocks a little
    assert speed[-1, 0, 0] == pytest.approx(0.5, abs=1e-6)
    height = run.columns["frames/body_q"][:, 1, 1, 2] - run.columns["frames/body_q"][:, 1, 0, 2] - 0.25
    assert speed[-1, 1, 2] == pytest.approx(0.1, abs=1e-6)
    assert height[-1] == pytest.approx(height[25:].mean(), abs=1e-7)
    assert 0.005 < height[-1] < 0.01
    assert run.columns["diag/status"][-1].tolist() == [0, 0, 8]
    ((code, world, text),) = [(event.code, event.world, event.text) for event in run.events if event.severity == 2]
    assert (code, world) == ("SC610", 2)
    assert "did not converge" in text
    given, kinetic = run.columns["energy/input"][-1, 0], 0.5 * 64 * 0.5**2
    assert given == pytest.approx(2 * kinetic, rel=0.1)  # half of it is what friction takes


def test_friction_holds_without_creep_and_slides_by_its_law(tmp_path):
    # The slope of 0.2 is held by friction 0.5: it gives way once, and then stays. A slope of 0.8 is not, and BDF1 is exact
    # for constant forces: dv = h (g sin - mu g cos) each step.
    limits = "tolerance: 1.0e-9, contact: {d_hat: 0.01, creep_speed: 0.01}"
    slopes = np.array([0.2, 0.8])
    gravity = [[G * np.sin(np.arctan(s)), 0.0, -G * np.cos(np.arctan(s))] for s in slopes]
    solver = f"solver: {{type: affine, dt: 0.01, {limits}}}\nrun: {{duration: 0.6}}"
    run = Drop(block([[float(x) for x in g] for g in gravity], [1000.0] * 2, solver), live_device(), tmp_path)
    speed = run.columns["frames/body_qd"][:, :, 0, 0]
    place = run.columns["frames/body_q"][:, 0, 0, 0]
    assert np.abs(place[50:] - place[-1]).max() < REST
    assert np.abs(place).max() < 4 * 0.01 * 0.01  # creep_speed dt, four times as soft at most: kernels/barrier/friction.py
    pull = gravity[1][0] + 0.5 * gravity[1][2]
    assert np.diff(speed[30:, 1]) == pytest.approx(np.full(len(speed) - 31, 0.01 * pull), rel=1e-3)
    lost = run.columns["energy/dissipated"][:, 1]
    way = run.columns["frames/body_q"][:, 1, 0, 0]
    normal = -0.5 * 64 * gravity[1][2]
    assert np.diff(lost[30:]) == pytest.approx(normal * np.diff(way[30:]), rel=1e-3)
    assert (np.diff(run.columns["energy/dissipated"], axis=0) >= 0).all()
    total = run.columns["energy/total"]
    assert (np.diff(total, axis=0) <= 1e-9 * np.abs(total[0])).all()
    goes_on_to_the_same_bytes(run.solver, 60)


def goes_on_to_the_same_bytes(solver, n_steps):
    """What contacts remember is state: a run that goes on from its arrays is the run that was not interrupted."""
    arrays = {name: np.array(values) for name, values in solver.state_arrays().items()}
    first = solver.advance(5)
    solver.restore(arrays, n_steps)
    second = solver.advance(5)
    for name, column in first.columns.items():
        assert np.array_equal(column, second.columns[name], equal_nan=True), name


@pytest.mark.slow
def test_a_ball_that_slides_comes_to_roll(tmp_path):
    # Friction acts where the surfaces are near each other, not at the core: v = 5/7 v_0 once it rolls, whatever mu is.
    text = """
world: {shapes: {ground: {type: plane}}}
materials: {cloth: {friction: 0.2}}
bodies:
  ball: {pose: {xyz: [0, 0, 0.1009]}, velocity: {linear: [0.5, 0, 0]},
         shapes: {it: {type: sphere, radius: 0.1, density: 1000, material: cloth}}}
contact: {pairs: [{a: ball, b: ground, friction: 0.2}]}
solver: {type: affine, dt: 0.002, integrator: bdf2, tolerance: 1.0e-9, contact: {creep_speed: 1.0e-4}}
run: {duration: 0.2}
"""
    run = Drop(text, live_device(), tmp_path)
    v, spin = run.columns["frames/body_qd"][-1, 0, 0, 0], run.columns["frames/body_qd"][-1, 0, 0, 4]
    assert v == pytest.approx(5 / 7 * 0.5, rel=1e-2)
    assert spin * 0.1 == pytest.approx(v, rel=1e-2)


def no_crossing(run, meshes):
    """No two surfaces cut each other at any step, and nothing is below the ground."""
    pose = run.columns["frames/body_q"][:, 0]
    for step in range(len(pose)):
        assert run.crossings(meshes, step) == []
    return (run.columns["diag/gap"][1:] > 0).all() and run.columns["diag/status"].max() == 0


def pile(n, integrator, duration, size=0.2, apart=0.02):
    """Cubes n x n x n over the ground, a little out of line."""
    rng = np.random.default_rng(n)
    lines = ["world: {shapes: {ground: {type: plane}}}", "bodies:"]
    for k in range(n**3):
        x, y, z = np.array((k % n, k // n % n, k // n**2)) * (size + apart) + (*rng.uniform(-0.2, 0.2, 2) * apart, 0.0)
        lines.append(
            f"  c{k}: {{pose: {{xyz: [{x:.6f}, {y:.6f}, {z + size / 2 + apart:.6f}]}}, shapes: {{it: "
            f"{{type: box, size: [{size}, {size}, {size}], density: 1000}}}}}}"
        )
    lines.append(f"solver: {{type: affine, dt: 0.01, integrator: {integrator}, contact: {{d_hat: 2 mm}}}}")
    lines.append(f"run: {{duration: {duration}}}")
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
def test_a_pile_of_cubes_stays_apart_and_gains_no_energy(tmp_path, integrator):
    run = Drop(pile(3, integrator, 0.5), live_device(), tmp_path)
    assert no_crossing(run, [box_mesh((0.2, 0.2, 0.2))] * 27)
    total = run.columns["energy/total"][:, 0]
    assert (np.diff(total) < 1e-9 * total[0]).all()


def gains(run, integrator):
    """[J], (F - 1,): by how much the energy is ever higher after each frame than the formula lets it be.

    A step of bdf1 loses energy. Of bdf2 another one never grows (Dahlquist's G-stability), (E(u) + E(2 u - u-)) / 2 with u-
    of the step before: it is E + (E - E-) / 2 + D, with D the energy of what velocities and forces change by in a step. So E
    may rise again, but to E + D at most; and it begins no higher than before the step of bdf1 that bdf2 follows, which has
    lost D. Where bodies turn, D is that of the velocities.
    """
    total = run.columns["energy/total"][:, 0]
    highest = np.maximum.accumulate(total[::-1])[::-1]
    assert integrator == "bdf2" or not run.by_bdf2.any()
    return highest[1:] - total[:-1] - run.kept_aside()


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
def test_boxes_that_tumble_onto_each_other_stay_apart(tmp_path, integrator):
    text = f"""
world: {{shapes: {{ground: {{type: plane}}}}}}
defaults: {{shape: {{density: 1000}}}}
bodies:
  low: {{pose: {{xyz: [0, 0, 0.3], rpy: [0.7, 0.4, 0.2]}}, shapes: {{it: {{type: box, size: [0.4, 0.2, 0.1]}}}}}}
  middle: {{pose: {{xyz: [0.05, 0.02, 0.7], rpy: [1.2, 0.3, 1]}}, velocity: {{linear: [0, 0, -3], angular: [5, 2, 1]}},
           shapes: {{it: {{type: box, size: [0.4, 0.2, 0.1]}}}}}}
  high: {{pose: {{xyz: [-0.05, 0.05, 1.1], rpy: [0.2, 1.3, 1]}}, velocity: {{linear: [0, 0, -6], angular: [-3, 8, 1]}},
         shapes: {{it: {{type: box, size: [0.4, 0.2, 0.1]}}}}}}
solver: {{type: affine, dt: 0.005, integrator: {integrator}}}
run: {{duration: 0.6}}
"""
    run = Drop(text, live_device(), tmp_path)
    assert no_crossing(run, [box_mesh((0.4, 0.2, 0.1))] * 3)
    total = run.columns["energy/total"][:, 0]
    assert gains(run, integrator).max() < GAIN * total[0]
    assert total[-1] < 0.2 * total[0]  # they have met, and lie or roll


def ring(radius=0.1, thick=0.02, n=12, m=6):
    """Corners and triangles of a ring about z."""
    a, b = np.meshgrid(2 * np.pi * np.arange(n) / n, 2 * np.pi * np.arange(m) / m, indexing="ij")
    r = radius + thick * np.cos(b)
    corners = np.stack((r * np.cos(a), r * np.sin(a), thick * np.sin(b)), axis=-1).reshape(-1, 3)
    i, j = (index.ravel() for index in np.meshgrid(np.arange(n), np.arange(m), indexing="ij"))
    p, q, s, t = (k % n * m + l % m for k, l in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)))  # noqa: E741
    return corners, np.concatenate([np.stack(three, axis=1) for three in ((p, q, s), (p, s, t))])


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])
def test_a_chain_of_rings_hangs_together(tmp_path, integrator):
    corners, faces = ring()
    lines = [f"v {x:.9f} {y:.9f} {z:.9f}" for x, y, z in corners]
    (tmp_path / "ring.obj").write_text("\n".join(lines + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]))
    text = """
world: {shapes: {peg: {type: capsule, radius: 0.02, length: 0.4, pose: {xyz: [0, 0, 1], rpy: [90 deg, 0, 0]}}}}
defaults: {shape: {density: 7800}}
bodies:
  r0: {pose: {xyz: [0, 0, 0.95], rpy: [90 deg, 0, 0]}, shapes: {it: {type: mesh, file: ring.obj, convex: false}}}
  r1: {pose: {xyz: [0, 0, 0.80], rpy: [90 deg, 0, 90 deg]}, shapes: {it: {type: mesh, file: ring.obj, convex: false}}}
  r2: {pose: {xyz: [0, 0, 0.65], rpy: [90 deg, 0, 0]}, velocity: {linear: [0.5, 0.4, 0]},
       shapes: {it: {type: mesh, file: ring.obj, convex: false}}}
solver: {type: affine, dt: 0.01, contact: {d_hat: 2 mm}}
run: {duration: 1}
"""
    run = Drop(text.replace("dt: 0.01", f"dt: 0.01, integrator: {integrator}"), live_device(), tmp_path)
    assert no_crossing(run, [(corners, faces)] * 3)
    assert (run.columns["frames/body_q"][-1, 0, :, 2] > 0.5).all()  # nothing has fallen out of the chain
    assert gains(run, integrator).max() < GAIN * np.ptp(run.columns["energy/total"])


@pytest.mark.slow
def test_worlds_of_a_batch_are_the_worlds_alone(tmp_path):
    densities = [400.0, 700.0, 1000.0, 1300.0, 1600.0]
    solver = "solver: {type: affine, dt: 0.01, contact: {d_hat: 0.01}}\nrun: {duration: 0.1}"
    tilt = [[0.5 * k, 0.2, -G] for k in range(5)]
    together = Drop(block(tilt, densities, solver), live_device(), tmp_path).columns
    for world in (0, 4):
        alone = Drop(block(tilt[world : world + 1], densities[world : world + 1], solver), live_device(), tmp_path).columns
        for name, column in alone.items():
            assert np.array_equal(column[:, 0], together[name][:, world], equal_nan=True), name


@pytest.mark.slow
def test_a_world_with_too_many_contacts_and_one_that_begins_in_another_are_ended_by_name(tmp_path):
    text = pile(2, "bdf1", 0.2)
    run = Drop(text.replace("0.120000]", "0.105000]", 1), live_device(), tmp_path)
    assert run.columns["diag/status"].max() == 0
    low = text.replace("0.120000]", "0.095000]", 1)
    run = Drop(low, live_device(), tmp_path)
    assert [event.code for event in run.events] == ["SC631"]
    assert "`c0/it`" in run.events[0].text
    assert "`ground`" in run.events[0].text
    assert run.columns["diag/status"][-1, 0] == 9
    assert np.isnan(run.columns["frames/body_q"]).all()


SPEED, H, N = 20.0, 0.01, 20  # [rad/s], [s]
STRAIN = 1e-5  # relative, of angles: twice what the least of the stiffnesses leaves, w^2 S / (4 kappa V)
# Steel of 2 mm that spins and tumbles. Worlds: stiffnesses up to 4e10 times the inertia over the square of the step.
SPINS = f"""
params: {{kappa: 1.0e+9}}
world: {{gravity: [0, 0, 0]}}
defaults: {{body: {{affine: {{stiffness: "${{kappa}}"}}}}, shape: {{density: 7800}}}}
bodies:
  plate: {{velocity: {{angular: [0, 0, {SPEED}]}}, shapes: {{it: {{type: box, size: [0.3, 0.3, 0.002]}}}}}}
  needle: {{velocity: {{angular: [{SPEED}, 0, 0]}}, shapes: {{it: {{type: box, size: [0.3, 0.002, 0.002]}}}}}}
  tumbling: {{velocity: {{angular: [5, 20, 3]}}, shapes: {{it: {{type: box, size: [0.3, 0.002, 0.002]}}}}}}
contact: {{enabled: false}}
batch: {{worlds: 4, vary: {{params.kappa: {{list: [1.0e+9, 1.0e+10, 1.0e+11, 1.0e+12]}}}}}}
solver: {{type: affine, integrator: bdf1, dt: {H}, tolerance: 1.0e-11}}
run: {{duration: {N * H}}}
"""


def test_thin_bodies_turn_in_a_few_iterations_as_the_formula_says(device):
    """A step along the chord that is made rigid again turns by tan phi+ = sin phi / (2 - cos phi)."""
    run = Run(SPINS, device, N, ("bodies",))
    assert not run.columns["diag/status"].any()
    assert run.columns["diag/iterations"].max() <= 6
    q = run.columns["frames/body_q"][..., 3:]
    angles = [np.arctan(SPEED * H)]
    for _ in range(N - 1):
        angles.append(np.arctan2(np.sin(angles[-1]), 2.0 - np.cos(angles[-1])))
    turned = np.cumsum([0.0, *angles])[:, None]
    for body, axis in ((0, 2), (1, 0)):
        angle = np.unwrap(2.0 * np.arctan2(q[:, :, body, axis], q[:, :, body, 3]), axis=0)
        assert angle == pytest.approx(np.repeat(turned, 4, axis=1), rel=STRAIN)
    assert q[:, 0, 2] == pytest.approx(q[:, 3, 2], abs=STRAIN)


TOUGH = """
params: {{r: 0.3, p: 0.4, v: -2, w: 3, n: 1.57}}
world: {{shapes: {{ground: {{type: plane}}}}}}
defaults: {{body: {{affine: {{stiffness: 1.0e+10}}}}}}
bodies:
  needle: {{pose: {{xyz: [2, 0, 0.3], rpy: [0.3, "${{n}}", 0]}}, velocity: {{linear: [0, 0, "${{v}}"], angular: [2, 1, 3]}},
           shapes: {{it: {{type: box, size: [0.3, 0.002, 0.002], density: 7800}}}}}}
  plate: {{pose: {{xyz: [0, 0, 0.4], rpy: ["${{r}}", "${{p}}", 0]}},
          velocity: {{linear: [0, 0, "${{v}}"], angular: ["${{w}}", 1, 3]}},
          shapes: {{it: {{type: box, size: [0.3, 0.3, 0.001], density: 7800}}}}}}
  cube: {{pose: {{xyz: [0, 0.05, 0.9]}}, velocity: {{linear: [0, 0, "${{3*v}}"]}},
         shapes: {{it: {{type: box, size: [0.1, 0.1, 0.1], density: 1000}}}}}}
solver: {{type: affine, dt: 0.01, integrator: {integrator}}}
run: {{duration: {duration}}}
batch: {{worlds: {worlds}, seed: 3, vary: {{
  params.r: {{uniform: [0, 6]}}, params.p: {{uniform: [0, 6]}}, params.v: {{uniform: [-10, 0]}},
  params.w: {{uniform: [-30, 30]}}, params.n: {{normal: [1.57, 0.05]}}}}}}
"""
# Of the energy at the start: what steps of 0.3 rad in which a plate is pressed on its edge give, and bdf2's third step of a
# spin of 0.3 rad. The same to six digits with a tolerance of 1e-11 m; none of it at a quarter of the step.
AFFINE_THIN_GAIN = 3e-3
MESHES = [box_mesh(size) for size in ((0.3, 0.002, 0.002), (0.3, 0.3, 0.001), (0.1, 0.1, 0.1))]


@pytest.mark.parametrize(
    ("integrator", "worlds", "duration", "gain"),
    [
        ("bdf1", 4, 0.3, 1e-9),
        pytest.param("bdf1", 32, 0.5, AFFINE_THIN_GAIN, marks=pytest.mark.slow),
        pytest.param("bdf2", 32, 0.5, AFFINE_THIN_GAIN, marks=pytest.mark.slow),
    ],
)
def test_needles_and_plates_fall_and_are_hit(tmp_path, integrator, worlds, duration, gain):
    run = Drop(TOUGH.format(integrator=integrator, worlds=worlds, duration=duration), live_device(), tmp_path)
    assert run.columns["diag/status"].max() == 0
    assert (run.columns["diag/gap"] > 0).all()
    assert np.isfinite(run.columns["diag/gap"]).any(axis=0).all()  # all have met something
    total = run.columns["energy/total"]
    assert (np.diff(total, axis=0) <= gain * total[0]).all()
    for world in range(worlds):
        assert all(run.crossings(MESHES, step, world) == [] for step in range(len(total)))
