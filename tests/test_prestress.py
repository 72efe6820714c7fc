"""Prestress of cable nets and tensegrities: self-stress, mechanisms, and numbers of springs that balance a state.

Torsion springs: the oscillator in closed form, reaction on both bodies, implicit in stiffness, energy that closes.
"""

import json
import math
import shlex
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from scipy.optimize import linprog, minimize, nnls
from support.forward import Runner, model_of, slope
from support.scenes import scene

from simcli import rotations as rot
from simcli.analysis.rest.spectrum import least_distance, least_of, nearest, nonnegative
from simcli.cli import process as cli_process
from simcli.errors import Exit, SceneError
from simcli.spec import resolve

G = 9.81
EXACT = 1e-9
ROUNDING = 1e-12
PROGRAM = 1e-7  # relative, of a least bound: it leaves room by the tolerance of what has no solution
CPU = ("--device", "cpu", "--threads", "1")
POINT = {"diag": [0.01, 0.01, 0.01]}


@pytest.fixture
def command(capfd, tmp_path, monkeypatch):
    """Run `simcli equilibrium` in this process on a scene."""
    monkeypatch.chdir(tmp_path)

    def run(scene, *words):
        (tmp_path / "net.yaml").write_text(yaml.safe_dump({"simcli": 1, "run": {"duration": 1}, **scene}))
        code = cli_process.run_command(["equilibrium", "net.yaml", *words, *CPU], debug=False, as_json="--json" in words)
        said = capfd.readouterr()
        assert "Traceback" not in said.err
        found = json.loads(said.out) if "--json" in words else None
        return SimpleNamespace(code=code, out=said.out, err=said.err, found=found)

    return run


RADIUS, HEIGHT = 0.5, 1.0


def prism(twist=30.0, **cable):
    """Three struts, three cables around each end and three beside the struts; no gravity.

    Strut k stands on corner k of the bottom and ends at a corner of the top that is turned by 120 deg + twist; the twist of
    a prism of n struts that can be stressed is 90 - 180/n degrees (Connelly and Terrell 1995).
    """
    angle = np.radians(120.0 * np.arange(3))
    bottom = RADIUS * np.stack((np.cos(angle), np.sin(angle), 0 * angle), axis=1)
    turned = angle + np.radians(120.0 + twist)
    top = RADIUS * np.stack((np.cos(turned), np.sin(turned), 0 * angle), axis=1) + [0, 0, HEIGHT]
    bodies = {}
    for k in range(3):
        middle, half = (bottom[k] + top[k]) / 2, (top[k] - bottom[k]) / 2
        bodies[f"strut{k}"] = {
            "pose": {"xyz": middle.tolist()},
            "mass": 1.0,
            "inertia": POINT,
            "points": {"low": (-half).tolist(), "high": half.tolist()},
        }
    forces = {}
    for k in range(3):
        ends = {
            "low": (k, "low", (k + 1) % 3, "low"),
            "high": (k, "high", (k + 1) % 3, "high"),
            "side": ((k + 1) % 3, "low", k, "high"),
        }
        for name, (a, at_a, b, at_b) in ends.items():
            forces[f"{name}{k}"] = {
                "type": "spring",
                "a": f"strut{a}/{at_a}",
                "b": f"strut{b}/{at_b}",
                "stiffness": 1000.0,
                "slack": True,
                **cable,
            }
    return {"world": {"gravity": [0, 0, 0]}, "bodies": bodies, "forces": forces}


RATIO = 2 * math.sin(math.pi / 3)  # force density of a side over that of a ring (Connelly and Terrell 1995)


def test_a_prism_has_one_state_of_self_stress(command):
    done = command(prism(), "--unknown", "forces.*.tension", "--least-tension", "10", "--json")
    assert done.code == Exit.OK, done.err
    found = done.found
    (state,) = found["self_stress"]
    length = {name: spring["length"] for name, spring in found["springs"].items()}
    density = {name: state[name] / length[name] for name in state}
    for k in range(3):
        assert density[f"side{k}"] / density["low0"] == pytest.approx(RATIO, rel=EXACT)
        assert density[f"low{k}"] == pytest.approx(density["high0"], rel=EXACT)
    # Three spins of struts about themselves, six motions of the whole, and the mechanism of every such prism.
    assert (found["mechanisms"], found["rigid_motions"], found["redundant_rows"]) == (10, 6, 0)
    assert (found["rank"], found["equations"]) == (8, 18)
    least = min(length["low0"], length["side0"] * RATIO)
    unknowns = found["unknowns"]
    assert min(unknowns.values()) == pytest.approx(10.0, rel=EXACT)
    for name, spring in found["springs"].items():
        wanted = 10.0 / least * length[name] * (RATIO if name.startswith("side") else 1.0)
        assert spring["tension"] == pytest.approx(wanted, rel=EXACT)
        assert unknowns[f"forces.{name}.tension"] == pytest.approx(wanted, rel=EXACT)
        assert spring["force_density"] == pytest.approx(wanted / length[name], rel=EXACT)


def test_another_twist_cannot_be_stressed(command):
    done = command(prism(twist=25.0), "--unknown", "forces.*.rest_length", "--least-tension", "10", "--json")
    assert done.code == Exit.NEGATIVE
    done = command(prism(twist=25.0), "--json")
    assert done.found["self_stress"] == []
    assert (done.found["mechanisms"], done.found["rigid_motions"]) == (9, 6)


def test_rest_lengths_that_were_found_hold_the_prism(command):
    scene = prism()
    found = command(scene, "--unknown", "forces.*.rest_length", "--least-tension", "10", "--json").found
    for path, value in found["unknowns"].items():
        scene["forces"][path.split(".")[1]]["rest_length"] = value
    again = command(scene, "--json")
    assert again.code == Exit.OK
    assert again.found["iterations"] == 0
    for name, spring in again.found["springs"].items():
        assert spring["tension"] == pytest.approx(found["springs"][name]["tension"], rel=EXACT)
        assert spring["tension"] > 9.9


def hung(**cables):
    """A mass on two cables of slopes 3/4 and 4/3."""
    rope = {"type": "spring", "b": "load/hook", "stiffness": 500.0, "slack": True}
    springs = {"left": {"a": {"world": [-4, 0, 3]}}, "right": {"a": {"world": [2.25, 0, 3]}}}
    return {
        "bodies": {"load": {"pose": {"xyz": [0, 0, 0]}, "mass": 2.0, "inertia": "point", "points": {"hook": [0, 0, 0]}}},
        "joints": {
            "node": {
                "type": "d6",
                "parent": "world",
                "child": "load",
                "at": [0, 0, 0],
                "axes": {"linear": np.eye(3).tolist()},
            }
        },
        "forces": {name: {**rope, **ends, **cables.get(name, {})} for name, ends in springs.items()},
    }


LEFT, RIGHT = 2 * G * 0.6, 2 * G * 0.8  # [N], the cables stand at right angles


def test_two_cables_that_hang_a_mass(command):
    done = command(hung(), "--unknown", "forces.*.rest_length", "--json")
    assert done.code == Exit.OK, done.err
    found = done.found["unknowns"]
    assert found["forces.left.rest_length"] == pytest.approx(5 - LEFT / 500, rel=EXACT)
    assert found["forces.right.rest_length"] == pytest.approx(3.75 - RIGHT / 500, rel=EXACT)
    assert done.found["springs"]["left"]["tension"] == pytest.approx(LEFT, rel=EXACT)
    assert (done.found["self_stress"], done.found["mechanisms"], done.found["rigid_motions"]) == ([], 1, 1)
    stiff = command(hung(left={"rest_length": 4.9}, right={"rest_length": 3.5}), "--unknown", "forces.*.stiffness", "--json")
    assert stiff.found["unknowns"]["forces.left.stiffness"] == pytest.approx(LEFT / 0.1, rel=EXACT)
    assert stiff.found["unknowns"]["forces.right.stiffness"] == pytest.approx(RIGHT / 0.25, rel=EXACT)
    dense = command(hung(), "--unknown", "forces.*.force_density", "--json")
    assert dense.found["unknowns"]["forces.left.force_density"] == pytest.approx(LEFT / 5, rel=EXACT)
    assert dense.found["unknown_units"]["forces.left.force_density"] == "N/m"


def test_cables_that_are_not_asked_for_keep_their_force(command):
    done = command(hung(left={"rest_length": 5 - LEFT / 500}), "--unknown", "forces.right.rest_length", "--json")
    assert done.found["springs"]["right"]["tension"] == pytest.approx(RIGHT, rel=EXACT)
    alone = command(hung(left={"rest_length": 4.0}), "--unknown", "forces.right.rest_length", "--json")
    assert alone.code == Exit.NEGATIVE
    assert "out of balance" in alone.err


def test_many_answers_have_the_one_nearest_to_the_scene(command):
    """Two more cables beside the first: each pair shares a force, half of it more each than its own pull."""
    scene = hung(left={"rest_length": 5 - 10 / 500})
    scene["forces"]["twin"] = {**scene["forces"]["left"], "rest_length": 5 - 4 / 500}
    found = command(scene, "--unknown", "forces.*.rest_length", "--json").found["springs"]
    more = (LEFT - 14) / 2
    assert (found["left"]["tension"], found["twin"]["tension"]) == pytest.approx((10 + more, 4 + more), rel=EXACT)


def test_what_is_asked_in_vain(command):
    for word in ("forces.left", "forces.lift.rest_length", "forces.left.damping", "bodies.load.mass"):
        assert command(hung(), "--unknown", word).code == Exit.USAGE, word
    both = command(hung(), "--unknown", "forces.*.tension", "--unknown", "forces.left.stiffness")
    assert (both.code, "`left` has its tension unknown already" in both.err) == (Exit.USAGE, True)
    for more in ("--stable", "--initial"):
        assert command(hung(), "--unknown", "forces.*.tension", more).code == Exit.USAGE
    assert command(hung(), "--least-tension", "3").code == Exit.USAGE
    weak = command(hung(left={"stiffness": 1.0}), "--unknown", "forces.*.rest_length")
    assert (weak.code, "make it stiffer" in weak.err) == (Exit.NEGATIVE, True)
    none = command(hung(left={"stiffness": 0.0}), "--unknown", "forces.*.rest_length")
    assert (none.code, "has no stiffness" in none.err) == (Exit.USAGE, True)
    rests = command(hung(), "--unknown", "forces.*.stiffness")
    assert (rests.code, "has its rest length" in rests.err) == (Exit.USAGE, True)


def test_the_table_says_it(command):
    done = command(hung(), "--unknown", "forces.*.rest_length")
    assert "0 states of self-stress; 1 infinitesimal mechanism, 1 of them as one rigid body" in done.out
    assert "forces.left.rest_length" in done.out


@pytest.mark.parametrize("key", ["rest_length", "stiffness", "tension", "force_density"])
def test_what_was_found_is_printed_as_settings_that_hold(command, key, tmp_path):
    """Also for tensions, which a scene has no key for; and `-o` writes the scene with them."""
    scene = hung(left={"rest_length": 4.9}, right={"rest_length": 3.5})
    done = command(scene, "--unknown", f"forces.*.{key}")
    *_, line = done.out.splitlines()
    words = shlex.split(line)
    assert words[::2] == ["--set", "--set"]
    assert [word.split("=")[0] for word in words[1::2]] == [
        f"forces.{name}.{'stiffness' if key == 'stiffness' else 'rest_length'}" for name in ("left", "right")
    ]
    assert all(word.endswith(" N/m" if key == "stiffness" else " m") for word in words[1::2])
    again = command(scene, *words, "--json").found
    assert again["iterations"] == 0
    assert again["springs"]["left"]["tension"] == pytest.approx(LEFT, rel=EXACT)
    assert command(scene, "--unknown", f"forces.*.{key}", "-o", "out.yaml", "--json").found["sets"] == words[1::2]
    written = command(yaml.safe_load((tmp_path / "out.yaml").read_text()), "--json").found
    assert (written["iterations"], written["springs"]) == (0, again["springs"])


def test_an_equilibrium_is_written_as_the_scene_that_begins_there(command, tmp_path):
    """Rest lengths that the scene leaves to its start are those of the start that it had."""
    done = command(hung(), "-o", "rest.yaml", "--json")
    assert done.code == Exit.OK, done.err
    written = command(yaml.safe_load((tmp_path / "rest.yaml").read_text()), "--json").found
    assert written["iterations"] == 0
    for name, spring in written["springs"].items():
        assert spring["tension"] == pytest.approx(done.found["springs"][name]["tension"], rel=EXACT)
    assert command(hung(), "-o", "rest.json").code == Exit.OK
    document = json.loads((tmp_path / "rest.json").read_text())
    assert (document["schema"], document["joint_q"]) == ("simcli.equilibrium/1", done.found["joint_q"])
    block = command(hung(), "--initial", "-o", "block.yaml")
    assert "--set 'forces.left.rest_length=5.0 m'" in block.err
    assert yaml.safe_load((tmp_path / "block.yaml").read_text()) == {"initial": {"joint_q": done.found["joint_q"]}}


def test_outputs_of_equilibrium_that_cannot_be_meant_are_refused(command, tmp_path):
    (tmp_path / "rest.yaml").write_text("mine\n")
    for words, code, hint in [
        (["-o", "rest.yaml"], Exit.OUTPUT, "add --force"),
        (["--initial", "-o", "rest.yaml"], Exit.OUTPUT, "add --force"),
        (["-o", "net.yaml", "--force"], Exit.USAGE, "is a file that is read"),
        (["-o", "rest.txt"], Exit.USAGE, "ends in"),
        (["--initial", "-o", "rest.json"], Exit.USAGE, "block of YAML"),
        (["-o", "other.yaml", "--set", "batch.worlds=2"], Exit.USAGE, "has several worlds"),
    ]:
        done = command(hung(), *words)
        assert (done.code, hint in done.err) == (code, True), done.err
    assert (tmp_path / "rest.yaml").read_text() == "mine\n"
    assert command(hung(), "-o", "rest.yaml", "--force").code == Exit.OK


def test_least_squares_of_nothing_negative_are_scipys():
    rng = np.random.default_rng(1)
    for _ in range(200):
        m, n = rng.integers(1, 7, 2)
        E, f = rng.normal(size=(m, n)), rng.normal(size=m)
        assert np.allclose(E @ nonnegative(E, f), E @ nnls(E, f)[0], atol=1e-10)


def test_least_sums_and_least_largest_tensions_are_those_of_a_linear_program():
    """With bounds, and with numbers that have none, of which |x| counts."""
    rng = np.random.default_rng(4)
    n_bent = 0
    for trial in range(40):
        n = int(rng.integers(3, 9))
        m = int(rng.integers(1, n))
        A, lower = rng.normal(size=(m, n)), rng.uniform(0.0, 1.0, n)
        x = lower + rng.exponential(size=n)
        b = A @ x
        total = least_of(A, b, lower, True)
        wanted = linprog(np.ones(n), A_eq=A, b_eq=b, bounds=[*zip(lower, [None] * n, strict=True)])
        assert total.sum() == pytest.approx(wanted.fun, rel=PROGRAM)
        open_ended = np.where(rng.random(n) < 0.4, -np.inf, lower)
        largest = least_of(A, b, open_ended, False)
        sides = np.hstack((np.vstack((np.eye(n), -np.eye(n))), -np.ones((2 * n, 1))))
        bounds = [(None if low == -np.inf else low, None) for low in open_ended]
        program = linprog(
            np.eye(n + 1)[n], sides, np.zeros(2 * n), np.hstack((A, np.zeros((m, 1)))), b, [*bounds, (0, None)]
        )
        assert np.abs(largest).max() == pytest.approx(program.fun, rel=PROGRAM)
        for found, low in ((total, lower), (largest, open_ended)):
            assert np.abs(A @ found - b).max() < PROGRAM * np.abs(b).max()
            assert (found >= low - PROGRAM).all()
        n_bent += total.sum() < nearest(A, b, np.zeros(n), lower).sum() * (1 - 1e-6)
        assert trial < 0 or np.isfinite(total).all()
    assert n_bent > 10  # where the shortest is not the least
    assert least_of(np.ones((1, 2)), np.array([-1.0]), np.zeros(2), True) is None


def fan():
    """A mass on five cables in a plane, of which two would hold it."""
    rope = {"type": "spring", "b": "load/hook", "stiffness": 500.0, "slack": True}
    scene = hung()
    ends = ((-4, 0, 3), (2.25, 0, 3), (-1, 0, 3), (1.5, 0, 2), (0.5, 0, -2))
    scene["forces"] = {f"rope{k}": {**rope, "a": {"world": list(end)}} for k, end in enumerate(ends)}
    return scene, np.array(ends, float)


def test_preferred_tensions_of_a_fan_of_cables(command):
    """Each is the least in its own sense; A by hand, linear programs and least squares by scipy."""
    scene, ends = fan()
    along = (ends / np.linalg.norm(ends, axis=1, keepdims=True))[:, [0, 2]].T
    load, low = np.array([0.0, 2 * G]), 1.5
    found = {}
    for kind in ("squares", "sum", "largest"):
        done = command(scene, "--unknown", "forces.*.tension", "--least-tension", str(low), "--prefer", kind, "--json")
        assert done.code == Exit.OK, done.err
        found[kind] = np.array([done.found["springs"][f"rope{k}"]["tension"] for k in range(5)])
        assert np.abs(along @ found[kind] - load).max() < 1e-7
        assert found[kind].min() > low - 1e-7
        assert (done.found["rank"], done.found["equations"], len(done.found["self_stress"])) == (2, 3, 3)
        assert done.found["residual"]["force"] < 1e-7
    bounds = [(low, None)] * 5
    least = linprog(np.ones(5), A_eq=along, b_eq=load, bounds=bounds).fun
    assert found["sum"].sum() == pytest.approx(least, rel=PROGRAM)
    assert found["squares"].sum() > least * 1.001
    sides = np.hstack((np.eye(5), -np.ones((5, 1))))
    program = linprog(np.eye(6)[5], sides, np.zeros(5), np.hstack((along, np.zeros((2, 1)))), load, [*bounds, (0, None)])
    assert found["largest"].max() == pytest.approx(program.fun, rel=PROGRAM)
    shortest = minimize(
        lambda t: t @ t,
        np.full(5, 5.0),
        jac=lambda t: 2 * t,
        bounds=bounds,
        method="SLSQP",
        constraints={"type": "eq", "fun": lambda t: along @ t - load, "jac": lambda t: along},
        options={"ftol": 1e-14},
    )
    assert np.abs(found["squares"] - shortest.x).max() < 1e-5
    scene["forces"]["rope4"]["slack"] = False
    done = command(scene, "--unknown", "forces.*.tension", "--prefer", "sum")
    assert done.code == Exit.USAGE
    assert "rope4" in done.err
    assert command(scene, "--prefer", "sum").code == Exit.USAGE


def test_nearest_solutions_meet_the_conditions_of_optimality():
    """x - start is a sum of rows of A and of multipliers of bounds that act, none of them negative."""
    rng = np.random.default_rng(2)
    bounded = 0
    for _ in range(200):
        n = int(rng.integers(2, 9))
        A, start = rng.normal(size=(int(rng.integers(1, n)), n)), rng.normal(size=n)
        lower = np.where(rng.random(n) < 0.7, 0.0, -np.inf)
        b = A @ np.abs(rng.normal(size=n))
        x = nearest(A, b, start, lower)
        assert np.abs(A @ x - b).max() < 1e-9
        assert (x >= lower - 1e-9).all()
        acts = np.flatnonzero(x <= lower + 1e-9)
        bounded += len(acts)
        basis = np.concatenate((A, -A, np.eye(n)[acts]))
        assert nnls(basis.T, x - start)[1] < 1e-8
    assert bounded > 100
    assert nearest(np.ones((1, 2)), np.array([-1.0]), np.zeros(2), np.zeros(2)) is None
    assert least_distance(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0])) is None


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
    runner = Runner(
        """
world: {gravity: [0, 0, 0]}
bodies:
  a: {mass: 1.5, com: [0.1, 0, 0.05], inertia: {diag: [0.2, 0.3, 0.4]}, velocity: {linear: [1, 2, 3], angular: [1, -1, 0.5]}}
  b: {mass: 0.7, pose: {xyz: [0.5, 0, 0]}, com: [0.2, 0.1, 0], inertia: {diag: [0.1, 0.15, 0.12]}}
joints: {j: {type: cylindrical, parent: a, child: b, at: [0.4, 0.1, 0], axis: [0.2, 1, 0.3], q: [0.1, 1.0]}}
forces: {coil: {type: torsion, joint: j, stiffness: [60, 8], damping: [1, 0.05], rest_angle: [0, -0.5]}}
""",
        "rk4",
        device,
    )
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


@pytest.mark.parametrize(
    ("joint", "force", "code", "path"),
    [
        ("type: ball", "stiffness: 1", "SC501", "forces.f.joint"),
        ("type: ball, loop: true", "stiffness: 1", "SC501", "forces.f.joint"),
        ("type: cylindrical", "stiffness: [1, 2, 3]", "SC463", "forces.f.stiffness"),
        ("type: cylindrical", "stiffness: 1, rest_angle: [1, 2, 3]", "SC463", "forces.f.rest_angle"),
        ("type: revolute", "stiffness: -1", "SC231", "forces.f.stiffness"),
        ("type: revolute", "stiffness: 1, damping: -1", "SC231", "forces.f.damping"),
        ("type: revolute", "damping: 1", "SC202", "forces.f"),
    ],
)
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
