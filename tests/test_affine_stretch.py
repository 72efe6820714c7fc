"""How affine bodies are stretched: in files against closed forms and energies, and as the page, pictures and GLB draw it.

Quasi-static affine bodies: no velocity is kept, steps creep to equilibrium by a ratio that is known.

The ledger of bdf2 is of second order, and a body that lands disturbs no other: orders over halvings of the step.
"""

import json
import struct
from itertools import pairwise

import numpy as np
import pytest
from support.browser import CHROMIUM, Browser
from support.contact_scenes import run
from support.forward import Runner
from support.process import run_here
from support.runs import SWING, committed

import simcli
from simcli import rotations as rot
from simcli.errors import Exit, UsageError
from simcli.records.integrity.verification import verify
from simcli.view import motion
from simcli.view.page import quantised
from simcli.view.page.content import Content
from simcli.view.render import Moments, between
from simcli.view.subject import subject_of_run

STIFFNESS, VOLUME, SPIN = 2e4, 0.008, 6.0
SECOND = np.array(((0.10, 0.03, 0.0), (0.03, 0.04, 0.0), (0.0, 0.0, 0.02)))  # [kg m^2], second moments of the bar, body axes
INERTIA = np.trace(SECOND) * np.eye(3) - SECOND
COM, EDGES = (0.1, 0.02, -0.05), (0.6, 0.2, 0.1)
SCENE = f"""
simcli: 1
world: {{gravity: [0, 0, 0]}}
params: {{push: 0.1}}
bodies:
  bar:
    pose: {{rpy: [0, 0, 0.7]}}
    com: {list(COM)}
    mass: 8
    inertia: {{full: {INERTIA.tolist()}}}
    velocity: {{linear: ["${{push}}", 0, 0], angular: [0, 0, {SPIN}]}}
    affine: {{stiffness: {STIFFNESS}, volume: {VOLUME}}}
    shapes: {{box: {{type: box, size: {list(EDGES)}, collide: false}}}}
  led:
    pose: {{xyz: [0, 1, 0]}}
    mass: 1
    inertia: {{diag: [0.1, 0.1, 0.1]}}
    kinematic: true
    motion: {{angular: [0, 0, 2]}}
    shapes: {{box: {{type: box, size: [0.3, 0.2, 0.1], collide: false}}}}
batch: {{worlds: 2, vary: {{params.push: {{list: [0.1, 1.0]}}}}}}
run: {{duration: 0.8, stop_when: {{quantity: body.bar.position, component: 0, above: 0.4}}}}
output: {{every: 0.04, channels: [state, energy]}}
solver: {{type: affine, dt: 2.0e-3, integrator: bdf1}}
"""


def command(*words):
    assert run_here(*words, debug=True) == Exit.OK


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stretch")
    (folder / "a.yaml").write_text(SCENE)
    command("run", folder / "a.yaml", "-o", folder / "a.h5", "-q")
    return folder / "a.h5"


def matrices(columns):
    """(..., 3, 3) of xx yy zz xy xz yz."""
    xx, yy, zz, xy, xz, yz = np.moveaxis(np.asarray(columns, float), -1, 0)
    return np.moveaxis(np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))), (0, 1), (-2, -1))


def test_a_body_that_spins_is_stretched_as_its_stiffness_says(path):
    """S - 1 = w^2 P J / (8 stiffness volume) to the first order, J the second moments, P across the spin; bdf1 damps it."""
    with simcli.open(path) as run:
        spin = run.body("bar").angular_velocity[-1, 0, 2]
        found = matrices(run.body("bar").stretch[-1, 0]) - np.eye(3)
    expected = spin**2 * np.diag((1.0, 1.0, 0.0)) @ SECOND / (8.0 * STIFFNESS * VOLUME)
    assert 4.0 < spin < SPIN
    np.testing.assert_allclose(found, expected, atol=0.02 * expected.max())


def test_the_energy_of_a_body_is_that_of_its_stretch(path):
    """Stiffness * volume * |S^2 - 1|^2 at every frame, the first oscillations too; a body that is led keeps its form."""
    with simcli.open(path) as run:
        S, elastic = matrices(run.body("bar").stretch[:, 0]), run.energy.elastic[:, 0]
        np.testing.assert_allclose(run.body("led").stretch[:, 0], np.tile((1, 1, 1, 0, 0, 0), (len(elastic), 1)), atol=1e-5)
    squared = ((S @ S - np.eye(3)) ** 2).sum(axis=(1, 2))
    assert elastic.max() > 1e-3
    np.testing.assert_allclose(STIFFNESS * VOLUME * squared, elastic, rtol=1e-9, atol=1e-12)


def test_a_world_that_ended_has_none_and_other_solvers_write_none(path, tmp_path):
    with simcli.open(path) as run:
        ended = run.diag.status[:, 1] != 0
        assert 0 < ended.sum() < len(ended)
        assert np.isnan(run.body("bar").stretch[ended, 1]).all()
        assert np.isfinite(run.body("bar").stretch[~ended, 1]).all()
    assert verify(path) == []
    (tmp_path / "rigid.yaml").write_text(SWING)
    command("run", tmp_path / "rigid.yaml", "-o", tmp_path / "rigid.h5", "-q")
    with simcli.open(tmp_path / "rigid.h5") as run:
        assert not run.is_stretched
        with pytest.raises(UsageError, match="body_stretch"):
            _ = run.body("upper").stretch


def test_slices_selections_and_float32_keep_it(path, tmp_path):
    with simcli.open(path) as run:
        whole = run.column("frames/body_stretch")[...]
    command("slice", path, "--frames", "2:9:3", "--select", "led", "-o", tmp_path / "part.h5")
    for world in (0, 1):
        command("slice", path, "--world", world, "-o", tmp_path / f"{world}.h5")
    command("merge", tmp_path / "1.h5", tmp_path / "0.h5", "-o", tmp_path / "both.h5")
    command(
        "run",
        path.with_suffix(".yaml"),
        "-o",
        tmp_path / "few.h5",
        "-q",
        "--set",
        "output.dtype=float32",
        "--set",
        "output.select=[bar]",
    )
    for name, expected in (("part", whole[2:9:3, :, 1:]), ("both", whole[:, ::-1]), ("few", whole[:, :, :1].astype("f4"))):
        with simcli.open(tmp_path / f"{name}.h5") as run:
            found = run.column("frames/body_stretch")[...]
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
        assert verify(tmp_path / f"{name}.h5") == []


def test_it_is_a_channel_of_tables_and_of_comparisons(path, tmp_path, capsys):
    command("export", path, "-o", tmp_path / "a.npz", "-c", "body.*.stretch")
    with np.load(tmp_path / "a.npz") as found, simcli.open(path) as run:
        np.testing.assert_array_equal(found["body.bar.stretch"], run.body("bar").stretch[:, :1])
    command("slice", path, "--world", 0, "-o", tmp_path / "one.h5")
    capsys.readouterr()
    command("diff", path, tmp_path / "one.h5", "--all")
    assert "body.bar.stretch" in capsys.readouterr().out


# Corners of stretched boxes


def corners(path, frame, world=0, body="bar"):
    """[m], (8, 3): of the box, by the axes of the body about its centre of mass, from the file alone."""
    with simcli.open(path) as run:
        pose, S = run.body(body).pose[frame, world], matrices(run.body(body).stretch[frame, world])
    box = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * EDGES * 0.5
    R = rot.quat_to_matrix(pose[3:])
    return pose[:3] + (np.array(COM) + (box - COM) @ S) @ R.T


def test_poses_with_a_stretch_carry_points_about_the_centre_of_mass(path):
    with simcli.open(path) as run:
        recorded = subject_of_run(run, [0]).motion()
        ((_, poses),) = recorded.blocks()
        rigid = motion.without_stretch(poses, recorded.com)
        np.testing.assert_allclose(rigid, run.column("frames/body_q")[:, :1], atol=1e-15)
        moments = Moments(subject_of_run(run, [0]))
        middle = moments.at(0.5 * (run.time[-2] + run.time[-1]))[0, 0]
    box = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * EDGES * 0.5
    np.testing.assert_allclose(motion.carried(poses[-1, 0, 0], box), corners(path, -1), atol=1e-14)
    by_axes = poses[-1, 0, 0, :3] + box @ motion.stretch_axes(poses[-1, 0, 0]).T
    np.testing.assert_allclose(by_axes, corners(path, -1), atol=1e-14)
    np.testing.assert_allclose(middle, between(poses[-2, 0, 0], poses[-1, 0, 0], 0.5), atol=1e-13)
    np.testing.assert_allclose(middle[7:], poses[-2:, 0, 0, 7:].mean(axis=0), atol=1e-15)


def test_packing_keeps_corners_and_leaves_out_what_nobody_sees(path):
    with simcli.open(path) as run:
        content = Content(subject_of_run(run, [0, 1]))
        (chunk,) = content.chunks()
        ((_, poses),) = content.subject.motion().blocks()
    poses, _ = quantised.filled(poses)
    largest, words = quantised.quantise_stretch(poses)
    assert np.abs(words).max() == quantised.QUANTISATION_STEPS
    S = quantised.unpack_stretch(largest, words)
    np.testing.assert_allclose(S, poses[..., 7:], atol=0.51 * largest.max() / quantised.QUANTISATION_STEPS)
    assert {"strain", "stretch"} <= set(chunk)
    assert content.error < 1e-4
    slight = poses.copy()
    strains = motion.strain(poses)
    slight[..., 7:] = motion.UNMOVED[7:] + 0.9e-4 * strains / np.abs(strains).max()
    assert quantised.quantise_stretch(slight) is None
    unseen = quantised.error(slight, slight[..., :7], np.ones(2))
    assert 0.5e-4 < unseen < 3e-4  # it is told all the same


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
def test_the_page_draws_the_stretch(path, tmp_path):
    """Corners in the page are those of the file, and further from those of the rigid pose than packing moves anything."""
    command("view", path, "-o", tmp_path / "a.html", "--world", "0")
    browser = Browser(tmp_path / "profile")
    try:
        browser.open((tmp_path / "a.html").as_uri())
        browser.evaluate("simcli.seek(simcli.recording.end)")
        browser.settle()
        box = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * EDGES * 0.5
        found = browser.evaluate(f"""(() => {{
          const group = simcli.stage.worlds[0].bodies[0]
          group.updateMatrixWorld(true)
          const point = group.position.clone()
          return {json.dumps(box.tolist())}.map((place) => point.set(...place).applyMatrix4(group.matrixWorld).toArray())
        }})()""")
        assert browser.console == []
    finally:
        browser.close()
    with simcli.open(path) as run:
        rigid = rot.pose_apply(run.body("bar").pose[-1, 0], box)
    np.testing.assert_allclose(found, corners(path, -1), atol=1e-4)
    assert np.abs(rigid - corners(path, -1)).max() > 5e-4


def test_a_picture_shows_the_stretch(path, monkeypatch):
    """The box that the ray caster is given has the corners of the file."""
    from simcli.view import render, stage

    with simcli.open(path) as run:
        subject, moments = subject_of_run(run, [0]), Moments(subject_of_run(run, [0]))
        poses = moments.at(float(run.time[-1]))
        ready = stage.Stage(subject.drawings[0], poses[0], stage.MeshStore(), 1.0, [])
        kind, maps, middle, *_ = ready.solids(poses[0])
        picture = render.shooting_of(subject, render.Look((64, 48))).at(float(run.time[-1]))
    (first, _) = np.flatnonzero(kind == stage.BOX)
    unit = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    np.testing.assert_allclose(middle[first] + unit @ maps[first].T, corners(path, -1), atol=1e-14)
    assert picture.std() > 1.0


def glb(path):
    """The JSON document of a GLB, and its binary chunk."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    return json.loads(data[20 : 20 + length]), data[28 + length :]


def scales(document, binary, body):
    """(F, 3), the animated scale of a body; None if there is none."""
    node = next(k for k, one in enumerate(document["nodes"]) if one.get("name") == body)
    (animation,) = document["animations"]
    for channel in animation["channels"]:
        if channel["target"] == {"node": node, "path": "scale"}:
            accessor = document["accessors"][animation["samplers"][channel["sampler"]]["output"]]
            start = document["bufferViews"][accessor["bufferView"]]["byteOffset"]
            return np.frombuffer(binary, "<f4", 3 * accessor["count"], start).reshape(-1, 3)
    return None


def test_a_glb_has_scales_where_they_tell_it(path, tmp_path):
    """The bar of the scene is sheared and stays rigid; one whose axes are those of its mass has a scale."""
    command("export", path, "-o", tmp_path / "askew.glb")
    assert scales(*glb(tmp_path / "askew.glb"), "bar") is None
    straight = SCENE.replace(str(INERTIA.tolist()), str(np.diag(np.diag(INERTIA)).tolist()))
    (tmp_path / "b.yaml").write_text(straight)
    command("run", tmp_path / "b.yaml", "-o", tmp_path / "b.h5", "-q")
    command("export", tmp_path / "b.h5", "-o", tmp_path / "b.glb")
    document, binary = glb(tmp_path / "b.glb")
    with simcli.open(tmp_path / "b.h5") as run:
        S = run.body("bar").stretch[:, 0]
    assert np.abs(S[:, :3] - 1.0).max() > 1e-3
    np.testing.assert_allclose(scales(document, binary, "bar"), S[:, :3], atol=1e-6)
    assert scales(document, binary, "led") is None


MASS, QUASI_STATIC_STIFFNESS, GRAVITY, REST = 2.0, 800.0, 9.81, 0.4


def hanging(h, n, **body):
    """A block on a spring, in a row beside one that falls, and one that swings on the spring and keeps its velocity."""
    solid = {"mass": MASS, "inertia": {"diag": [0.1, 0.1, 0.1]}, "points": {"top": [0, 0, 0]}}
    spring = {"type": "spring", "stiffness": QUASI_STATIC_STIFFNESS, "rest_length": REST}
    quiet = {"affine": {"quasi_static": True, **body}}
    return {
        "simcli": 1,
        "bodies": {
            "hangs": {**solid, **quiet, "pose": {"xyz": [0, 0, -REST]}},
            "falls": {**solid, **quiet, "pose": {"xyz": [3, 0, 0]}},
            "swings": {**solid, "pose": {"xyz": [6, 0, -REST]}},
        },
        "forces": {
            "still": {**spring, "a": {"world": [0, 0, 0]}, "b": "hangs/top"},
            "free": {**spring, "a": {"world": [6, 0, 0]}, "b": "swings/top"},
        },
        "solver": {"type": "affine", "dt": h, "integrator": "bdf1", "tolerance": 1e-10},
        "run": {"duration": n * h},
        "output": {"every": h, "channels": ["state", "energy"]},
    }


def rows(folder, content, name="run"):
    code, found = run(folder, name, content)
    found.close()
    assert code == 0
    return committed(folder / f"{name}.h5")


def test_creep_is_the_closed_form(tmp_path):
    """On the spring what is left shrinks by (m/h^2) / (m/h^2 + k) in each step; in free fall each step is g h^2."""
    h, n = 0.02, 60
    found = rows(tmp_path, hanging(h, n))
    z, steps = found["frames/body_q"][:, 0, :, 2], np.arange(n + 1)
    ratio = MASS / h**2 / (MASS / h**2 + QUASI_STATIC_STIFFNESS)
    sag = MASS * GRAVITY / QUASI_STATIC_STIFFNESS
    np.testing.assert_allclose(z[:, 0], -REST - sag * (1 - ratio**steps), atol=1e-8)
    np.testing.assert_allclose(z[:, 1], -GRAVITY * h * h * steps, atol=1e-8)
    np.testing.assert_allclose(found["frames/body_qd"][1:, 0, 1, 2], -GRAVITY * h, atol=1e-7)
    assert z[:, 2].min() < -REST - 1.5 * sag  # one that keeps its velocity goes on


def test_the_ledger_knows_what_is_taken(tmp_path):
    """No kinetic energy is kept; what inertia takes is dissipated, and the drift is of first order."""
    drift = []
    for name, h in (("long", 0.02), ("short", 0.005)):
        n = round(1.2 / h)
        content = hanging(h, n)
        del content["bodies"]["swings"], content["forces"]["free"], content["bodies"]["falls"]
        found = rows(tmp_path, content, name)
        assert found["energy/kinetic"].max() == 0.0
        ratio = MASS / h**2 / (MASS / h**2 + QUASI_STATIC_STIFFNESS)
        moves = MASS * GRAVITY / QUASI_STATIC_STIFFNESS * (1 - ratio) * ratio ** np.arange(n)
        assert found["energy/dissipated"][-1, 0] == pytest.approx(MASS / h**2 * (moves**2).sum(), rel=1e-6)
        drift.append(np.abs(found["energy/drift"][-1, 0]))
        assert drift[-1] == pytest.approx(QUASI_STATIC_STIFFNESS / 2 * (moves**2).sum(), rel=1e-4)
    assert drift[1] < 0.3 * drift[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"velocity": {"linear": [1, 0, 0]}}, "velocity of a quasi-static body"),
        ({"kinematic": True}, "quasi-static kinematic body"),
        ({"integrator": "bdf2"}, "quasi-static body with bdf2"),
        ({"solver": "natural"}, "`affine` of a body"),
        (
            {"joints": {"a": {"type": "revolute", "parent": "world", "child": "falls", "axis": [0, 0, 1], "qd": 1.0}}},
            "`qd` of joint `a`",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(tmp_path, capsys, changes, words):
    from support.contact_scenes import write

    from simcli.cli.process import run_command

    content = hanging(0.01, 2)
    solver = {"integrator": changes.pop("integrator", "bdf1")}
    if changes.pop("solver", None):
        solver = {"type": "natural", "integrator": "zhong06", "tolerance": 1e-10}
    content["solver"] |= solver
    content["joints"] = changes.pop("joints", {})
    content["bodies"]["falls"] |= changes
    code = run_command(["check", str(write(tmp_path, "bad", content))], debug=False, as_json=False)
    seen = capsys.readouterr()
    assert code != 0
    assert words in seen.out + seen.err


def test_auto_takes_the_integrator_that_can(tmp_path):
    content = hanging(0.01, 2)
    content["solver"]["integrator"] = "auto"
    rows(tmp_path, content)


STEPS = (4e-3, 2e-3, 1e-3)
RATIO = 0.4  # about 4, which differences of second order lose by a halving
# Everything that takes and gives energy: dampers of a joint and of a spring, a wrench and a drive with signals, a carrier
# that moves as prescribed, and a body that is pulled along. In world 1 the damper of the rotor is alone.
WORK = """
world: {gravity: [0, 0, 0]}
params: {c: 0.8}
batch: {worlds: 2, vary: {params.c: {list: [0.8, 0]}}}
defaults: {body: {mass: 1, inertia: {diag: [0.5, 0.5, 0.5]}}, joint: {compliance: 1.0e-9}}
bodies:
  rotor: {}
  slider: {pose: {xyz: [0, 5, 0]}}
  wheel: {pose: {xyz: [0, 10, 0]}}
  cart: {pose: {xyz: [0, 15, 0]}, kinematic: true, motion: {linear: [$pace, 0, 0]}}
  bob: {pose: {xyz: [0, 15, 1]}}
  drawn: {pose: {xyz: [0, 20, 0]},
          affine: {transform: {pose: {xyz: [0, 20, 0]}, strength: [1.0e-4, 1.0e-4], shift: [$far, 0, 0]}}}
joints:
  pin: {type: revolute, parent: world, child: rotor, axis: [0, 0, 1], qd: 2, damping: 1}
  rail: {type: prismatic, parent: world, child: slider, at: [0, 5, 0], axis: [1, 0, 0], qd: 0.5}
  axle: {type: revolute, parent: world, child: wheel, at: [0, 10, 0], axis: [0, 0, 1], qd: -1,
         drive: {mode: velocity, target_velocity: $pace, damping: "${c}"}}
  hook: {type: revolute, parent: cart, child: bob, at: [0, 15, 0], axis: [0, 1, 0]}
forces:
  cord: {type: spring, a: {world: [-2, 5, 0]}, b: {body: slider, at: [0, 0, 0]}, stiffness: 50, damping: "${c}",
         rest_length: 2}
  push: {type: wrench, body: slider, force: [$force, 0, 0]}
signals:
  pace: {sine: {amplitude: 1.5, frequency: 1}}
  force: {sine: {amplitude: 3, frequency: 2, phase: 1}}
  far: {sine: {amplitude: 0.5, frequency: 1}}
solver: {type: affine, integrator: bdf2, dt: 1.0e-3, stiffness: 1.0e+10, tolerance: 1.0e-12}
"""


def test_the_ledger_of_bdf2_is_of_second_order(device, scalar_code):
    runner = Runner(WORK, "bdf2", device)
    ends = [{name: column[-1] for name, column in runner(h, round(0.2 / h), 1).items()} for h in STEPS]
    taken = 0.5 * 0.5 * 2.0**2 * (1.0 - np.exp(-2.0 * 0.2 / 0.5))
    errors = [abs(end["energy/dissipated"][1] - taken) for end in ends]
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=RATIO)
    assert errors[1] / errors[2] == pytest.approx(4.0, abs=RATIO)
    for name in ("dissipated", "input", "drift"):
        wide, narrow = (one[f"energy/{name}"][0] - other[f"energy/{name}"][0] for one, other in pairwise(ends))
        assert wide / narrow == pytest.approx(4.0, abs=RATIO), name
    assert abs(ends[-1]["energy/drift"]).max() < 1e-3 * ends[-1]["energy/input"][0]


# A cube that lands in world 0 alone, beside a mass on a spring.
LANDING = """
params: {z: 0.106}
batch: {worlds: 2, vary: {params.z: {list: [0.106, 9]}}}
world: {shapes: {ground: {type: plane}}}
defaults: {joint: {compliance: 1.0e-9}}
bodies:
  cube: {pose: {xyz: [0, 0, "${z}"], rpy: [0.02, 0.01, 0]},
         shapes: {it: {type: box, size: [0.2, 0.2, 0.2], density: 1000}}}
  far: {pose: {xyz: [5, 0, 9]}, mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}}
joints:
  rail: {type: prismatic, parent: world, child: far, at: [5, 0, 9], axis: [1, 0, 0], qd: 1}
forces:
  cord: {type: spring, a: {world: [3, 0, 9]}, b: {body: far, at: [0, 0, 0]}, stiffness: 200, rest_length: 2}
solver: {type: affine, integrator: bdf2, dt: 1.0e-3, stiffness: 1.0e+10, tolerance: 1.0e-12}
"""
SAME = 1e-10  # [m, m/s], of Newton's method, whose directions are those of other worlds
ORDER = 1.9
LASTS = 0.24


@pytest.mark.slow  # test_the_ledger_of_bdf2_is_of_second_order tells most of it
def test_bdf2_keeps_its_order_where_nothing_lands(device, scalar_code):
    runner = Runner(LANDING, "bdf2", device, frozenset(("state",)))
    w, errors = np.sqrt(200 / 2.0), []
    for h in (8e-3, 4e-3):
        last = {name: column[-1] for name, column in runner(h, round(LASTS / h), 1).items()}
        age, n = runner.solver.core.step.age.read()[:, :2, 0], round(LASTS / h)
        assert age[0, 0] < n  # it has landed,
        assert (age[0, 1], *age[1]) == (n, n, n)  # and nothing else has begun anew
        place, speed = last["frames/body_q"][:, 1, 0] - 5.0, last["frames/body_qd"][:, 1, 0]
        np.testing.assert_allclose(place[0], place[1], atol=SAME)
        errors.append(abs(place - np.sin(w * LASTS) / w).max() + abs(speed - np.cos(w * LASTS)).max() / w)
    assert np.log2(errors[0] / errors[1]) >= ORDER
