"""The open-chain reference cases through the command line: whole sampled trajectories against solutions from outside.

Tolerances are those of the cases: RK4 at 1 ms within 1e-8 over 2 s; semi-implicit of order 1, extrapolated within 1e-5.

Inverse and forward dynamics of the Puma 560, from the scene's model, against published torques and pinocchio.

The gallery: every scene in scenes/ and every template runs from the command line and meets its own expectations.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.forward import build_scene
from support.forward_dynamics import forward_dynamics
from support.many import run_many, step_kernels
from support.process import told_here

import simcli as package
from simcli.errors import Exit
from simcli.kernels.algorithms import Algorithms
from simcli.spec import load_document, resolve

REFERENCES = Path(__file__).parent / "references"
SCENES = Path(package.__file__).parent.parent / "scenes"
CHAINS, TOP, PUMA = REFERENCES / "open_chains.yaml", SCENES / "heavy_top.yaml", SCENES / "puma560.yaml"

SMOOTH = 1e-8  # [m, rad, 1] of RK4 over 2 s
SHORT = 2.0  # [s]
# Up to 20 s: errors grow with time; next to the separatrix by exp(2.9 t), and the case itself is known to 4e-8 there.
LONG = {"simple": 1e-8, "general": 1e-8, "general2": 1e-8, "dzhanibekov": 1e-5}  # [rad, 1]
EXTRAPOLATED = 1e-5  # [m, rad, 1] of semi-implicit steps h and h/2: 2 x(h/2) - x(h)
ORDER_ONE = 0.02  # distance of the measured order from 1: what is left of the second order at these steps
STEP = 1e-3  # [s], RK4
STEPS = (1e-4, 5e-5)  # [s], semi-implicit
# A fourth-order step of 1 ms turns the top by 0.15 rad, and is 8e-5 m off after 2 s: the tolerance asks for a shorter one.
# Semi-implicit steps feed the nutation by exp((145 rad/s)^2 h t / 2): the tolerance can be shown over 0.2 s only.
TOP_STEP, TOP_STEPS, TOP_SHORT = 5e-5, (4e-6, 2e-6), 0.2  # [s]
ARM = ("waist", "shoulder", "elbow", "roll", "bend", "flange")


def load(name):
    return json.loads((REFERENCES / f"{name}.json").read_text())


def words(name, scene, integrator, dt, every, duration):
    """A command line that runs a scene with another integrator; its own expectations are another test's."""
    sets = [f"solver.integrator={integrator}", f"output.every={every}", "expect=[]"]
    flags = [flag for one in sets for flag in ("--set", one)]
    return ["run", scene, "-o", f"{name}.h5", "--dt", dt, "--duration", duration, "--device", "cpu", *flags]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of runs: rk4 of chains, top and puma, half 0 and half 1 of chains."""
    folder = tmp_path_factory.mktemp("cases")
    commands = [
        words("chains-rk4", CHAINS, "rk4", STEP, 0.04, 20),
        words("top-rk4", TOP, "rk4", TOP_STEP, 0.04, SHORT),
        words("puma-rk4", PUMA, "rk4", STEP, 0.02, 1),
    ]
    commands += [words(f"chains-{half}", CHAINS, "semi_implicit", STEPS[half], 0.04, SHORT) for half in range(2)]
    run_all(commands, folder)
    return folder


@pytest.fixture(scope="module")
def halves(folder):
    """In the same folder: half 0 and half 1 of top and puma, which only slow tests look at."""
    commands = []
    for half in range(2):
        commands.append(words(f"top-{half}", TOP, "semi_implicit", TOP_STEPS[half], 0.04, TOP_SHORT))
        commands.append(words(f"puma-{half}", PUMA, "semi_implicit", STEPS[half], 0.02, 1))
    run_all(commands, folder)
    return folder


def run_all(commands, folder):
    for command, (code, talk) in zip(commands, run_many(commands, folder), strict=True):
        assert code == 0, f"{command}\n{talk}"


def coordinates(run, joints, world=0):
    return np.concatenate([run.joint(joint).q[:][:, world] for joint in joints], axis=1)


def absolute(run, name, n, world):
    """Angles from +x of the links of a chain."""
    return np.cumsum(coordinates(run, [f"{name}_{k + 1}" for k in range(n)], world), axis=1)


def planar(case, n):
    """Time and coordinates of a planar chain."""
    rows = np.array(load("planar_chains")["data"][case])
    return rows[:, 0], rows[:, 1 : 1 + n]


def simple():
    rows = np.array(load("simple_pendulum")["data"])
    return rows[:, 0], rows[:, 3:4] + np.pi / 2  # from straight down to from the start


def free(case):
    rows = np.array(load("free_body")["data"][case])
    return rows[:, 0], rows[:, [2, 3, 4, 1]]


def top():
    rows = np.array(load("heavy_top")["data"])
    return rows[:, 0], np.concatenate([rows[:, 1:4], rows[:, [5, 6, 7, 4]]], axis=1)


def puma():
    rows = np.array(load("puma560")["passive_drop"])
    return rows[:, 0], rows[:, 1:7]


# case -> (runs, exact solution, the same numbers of a run, whether they end with a quaternion)
CASES = {
    "simple": ("chains", simple, lambda run: coordinates(run, ["simple_1"]), False),
    "pointmass_double": (
        "chains",
        lambda: planar("pointmass_double", 2),
        lambda run: absolute(run, "pointmass", 2, 0),
        False,
    ),
    "triple_rods": ("chains", lambda: planar("triple_rods", 3), lambda run: absolute(run, "rods", 3, 0), False),
    "chrono_double": ("chains", lambda: planar("chrono_double", 2), lambda run: absolute(run, "chrono", 2, 1), False),
    "slider_pend": (
        "chains",
        lambda: planar("slider_pend", 2),
        lambda run: coordinates(run, ["slider_1", "slider_2"], 1),
        False,
    ),
    **{
        name: ("chains", lambda n=name: free(n), lambda run, n=name: run.body(n).orientation[:][:, 2], True)
        for name in ("general", "general2", "dzhanibekov")
    },
    "heavy_top": (
        "top",
        top,
        lambda run: np.concatenate([run.point("top/com").position[:], run.body("top").orientation[:]], 2)[:, 0],
        True,
    ),
    "puma560": ("puma", puma, lambda run: coordinates(run, ARM), False),
}
every_case = pytest.mark.parametrize("case", CASES)


def compare(folder, case, run_name):
    """Times of the case's samples, its numbers and those of a run."""
    runs, exact, read, has_quaternion = CASES[case]
    when, expected = exact()
    with package.open(folder / f"{runs}-{run_name}.h5") as run:
        time, got = run.time[:], read(run)
    kept = when <= time[-1] + 1e-9
    when, expected = when[kept], expected[kept]
    frame = np.searchsorted(time, when - 1e-9)
    np.testing.assert_allclose(time[frame], when, atol=1e-9)
    got = got[frame]
    if has_quaternion:  # q and -q are one rotation
        got[:, -4:] *= np.sign((got[:, -4:] * expected[:, -4:]).sum(axis=1))[:, None]
    return when, expected, got


@every_case
def test_rk4_follows_the_case_over_two_seconds(folder, case):
    when, expected, got = compare(folder, case, "rk4")
    early = when <= SHORT + 1e-9
    assert early.sum() >= 6
    assert np.abs(got - expected)[early].max() < SMOOTH


@pytest.mark.parametrize("case", LONG)
def test_rk4_follows_the_case_to_its_end(folder, case):
    when, expected, got = compare(folder, case, "rk4")
    assert when[-1] >= 10.0
    assert np.abs(got - expected).max() < LONG[case]


@pytest.mark.parametrize(
    "case", [case if CASES[case][0] == "chains" else pytest.param(case, marks=pytest.mark.slow) for case in CASES]
)
def test_semi_implicit_is_of_order_one_and_extrapolates_to_the_case(request, folder, case):
    if CASES[case][0] != "chains":
        request.getfixturevalue("halves")
    _, expected, coarse = compare(folder, case, "0")
    _, _, fine = compare(folder, case, "1")
    errors = [np.abs(got - expected).max() for got in (coarse, fine)]
    stands_alone = CASES[case][0] == "chains" and CASES[case][3]
    order = 2 if stands_alone else 1  # such a body turns by the middle of its steps
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=ORDER_ONE)
    assert np.abs((2**order * fine - coarse) / (2**order - 1) - expected).max() < EXTRAPOLATED


HERE = Path(__file__).parent / "references"
SCENE = Path(package.__file__).parent.parent / "scenes" / "puma560.yaml"
ROUNDING = 1e-12  # relative to the largest torque of a state, in double precision
PRINTED = 5e-5  # [N m], half a unit in the last printed digit of the publication
STORED = 1e-10  # relative, of the case's own tables: it agrees with pinocchio to 3e-14, its drop to 3e-11
N_RANDOM = 64

# The published parameters, link by link: d, a, alpha; mass; centre of mass; moments; armature.
DH = [(0.67183, 0, 90), (0, 0.4318, 0), (0.15005, 0.0203, -90), (0.4318, 0, 90), (0, 0, -90), (0, 0, 0)]
MASS = [0, 17.4, 4.8, 0.82, 0.34, 0.09]
COM = [(0, 0, 0), (-0.3638, 0.006, 0.2275), (-0.0203, -0.0141, 0.07), (0, 0.019, 0), (0, 0, 0), (0, 0, 0.032)]
MOMENTS = [
    (0, 0.35, 0),
    (0.13, 0.524, 0.539),
    (0.066, 0.086, 0.0125),
    (1.8e-3, 1.3e-3, 1.8e-3),
    (3e-4, 4e-4, 3e-4),
    (1.5e-4, 1.5e-4, 4e-5),
]
ARMATURE = [0.784029968642, 2.324814845, 0.576873331938, 0.19079062612368, 0.170706291657, 0.194064505668]


@pytest.fixture(scope="module")
def case():
    return json.loads((HERE / "puma560.json").read_text())


@pytest.fixture
def arm(device):
    """Solve for n states: a function that makes the algorithms of the scene's arm."""
    made = []

    def make(n_states):
        made.append(Algorithms(build_scene(SCENE), device, n_states))
        return made[-1]

    yield make
    for one in made:
        one.destroy()


def pinocchio_arm():
    """The published parameters as they stand (link 3 has no real inertia: pinocchio does not mind), and armature."""
    import pinocchio as pin

    model, before = pin.Model(), pin.SE3.Identity()
    for k, (d, a, alpha) in enumerate(DH):
        fixed = pin.SE3(pin.utils.rotate("x", np.radians(alpha)), np.array([a, 0, d]))  # from the joint to the link's frame
        joint = model.addJoint(k, pin.JointModelRZ(), before, f"joint{k}")
        inertia = pin.Inertia(MASS[k], np.array(COM[k]), np.diag(MOMENTS[k]))
        model.appendBodyToJoint(joint, inertia, fixed)
        before = fixed
    model.armature = np.array(ARMATURE)
    return pin, model, model.createData()


def relative(got, expected):
    """Largest difference of a state, over the largest number of it."""
    got, expected = np.atleast_2d(got), np.atleast_2d(expected)
    return float((np.abs(got - expected).max(axis=1) / np.abs(expected).max(axis=1)).max())


def test_torques_of_the_publication(arm, case):
    q, one, zero = np.array([case["qn"]]), np.ones((1, 6)), np.zeros((1, 6))
    table, solve = case["torques at qn"], arm(1).inverse_dynamics
    assert relative(solve(q, zero, zero), table["gravity"]) < ROUNDING
    assert relative(solve(q, zero, one), table["qdd=1"]) < ROUNDING
    assert relative(solve(q, one, one), table["qd=qdd=1"]) < ROUNDING
    rising = solve(q, zero, np.array([[1.0, 2, 3, 1, 2, 3]])) - solve(q, zero, zero)
    np.testing.assert_allclose(rising[0], [3.1500, 9.4805, 3.6189, 0.1901, 0.3519, 0.5823], atol=PRINTED)
    np.testing.assert_allclose(solve(q, zero, zero)[0, [1, 2, 4]], [31.6399, 6.0351, 0.0283], atol=PRINTED)


def test_mass_matrix_of_the_case(arm, case):
    matrix = arm(1).mass_matrix(np.array([case["qn"]]))[0]
    expected = np.array(case["M at qn"])
    assert np.abs(matrix - expected).max() < ROUNDING * np.abs(expected).max()


def test_torques_along_the_sinus_of_the_case(arm, case):
    sinus, rows = case["sinus"], np.array(case["sinus"]["data"])
    w, t = np.array(sinus["w"]), rows[:, :1]
    q = np.array(case["qn"]) + sinus["amplitude"] * np.sin(w * t)
    qd, qdd = sinus["amplitude"] * w * np.cos(w * t), -sinus["amplitude"] * w**2 * np.sin(w * t)
    assert relative(arm(len(q)).inverse_dynamics(q, qd, qdd), rows[:, 1:]) < STORED


def test_agrees_with_pinocchio_at_random_states(arm, device):
    pin, model, data = pinocchio_arm()
    random = np.random.default_rng(560)
    q, qd, qdd = (random.uniform(-size, size, (N_RANDOM, 6)) for size in (np.pi, 3.0, 10.0))
    ours = arm(N_RANDOM)
    torque = np.array([pin.rnea(model, data, *state) for state in zip(q, qd, qdd, strict=True)])
    assert relative(ours.inverse_dynamics(q, qd, qdd), torque) < ROUNDING
    acceleration = np.array([pin.aba(model, data, *state) for state in zip(q, qd, torque, strict=True)])
    assert relative(forward_dynamics(ours, q, qd, torque), acceleration) < STORED
    np.testing.assert_allclose(acceleration, qdd, rtol=STORED, atol=STORED * 10.0)
    for state, matrix in zip(q, ours.mass_matrix(q), strict=True):
        expected = pin.crba(model, data, state)
        expected = np.triu(expected) + np.triu(expected, 1).T
        assert np.abs(matrix - expected).max() < ROUNDING * np.abs(expected).max()


SCENES_SCENES = sorted((Path(package.__file__).parent.parent / "scenes").glob("*.yaml"))
NAMES = [scene.stem for scene in SCENES_SCENES]
TEMPLATES = sorted((Path(package.__file__).parent / "docs" / "templates").glob("*.yaml"))
SHIPPED = {scene.stem: scene for scene in SCENES_SCENES} | {f"template {scene.stem}": scene for scene in TEMPLATES}
MOST_KERNELS = 35  # of steps, for all of them in one precision; a scene of a new mechanism (ropes, wheels) brings one
MAX_LINES = 79  # a scene is read at one sight
FEWEST = 12  # so that a gallery that is not found fails
DECIDING = {"position", "orientation", "velocity", "angular_velocity", "q", "qd"}  # beyond the conservation of energy

README = Path(package.__file__).parent.parent / "README.md"
ROW = re.compile(r"^\| `(\w+)` \| .* \| (\S+) \|$", re.MULTILINE)
TABLE = dict(ROW.findall(README.read_text(encoding="utf-8")))
SLACK = 1e3  # a bound of the README may be this much larger than what is measured, across processors; not more

# Those that the default tier runs: each solver, and the README's first one. All share kernels, but these few have fewer.
OFTEN = {"double_pendulum", "simple_pendulum", "driven_hinge", "fourbar_natural", "newtons_cradle", "servo"}


def tiered(names) -> list:
    """Names of scenes as parameters."""
    return [pytest.param(name, id=name, marks=() if name in OFTEN else pytest.mark.full) for name in names]


every_scene = pytest.mark.parametrize("scene", SCENES_SCENES, ids=NAMES)


@pytest.fixture(scope="module")
def folder_of_scenes(tmp_path_factory):
    return tmp_path_factory.mktemp("gallery")


@pytest.fixture(scope="module")
def outcomes(request, folder_of_scenes):
    """Exit code and talk of every scene that this session asks for, all run in one process."""
    asked = {
        item.callspec.params["name"]
        for item in request.session.items
        if "outcomes" in getattr(item, "fixturenames", ()) and hasattr(item, "callspec")
    }
    scenes = {name: scene for name, scene in SHIPPED.items() if name in asked}
    commands = [["run", scene, "-o", f"{name}.h5", "--device", "cpu"] for name, scene in scenes.items()]
    return dict(zip(scenes, run_many(commands, folder_of_scenes), strict=True))


def test_gallery_is_there():
    assert len(SCENES_SCENES) >= FEWEST
    assert TEMPLATES


def test_scenes_that_are_shipped_warn_of_nothing(capsys, tmp_path):
    """Gallery, templates, bundles and the whole scenes on pages: no warning, no note."""
    docs = Path(package.__file__).parent / "docs"
    for page in (README, *sorted(docs.glob("*.md"))):
        blocks = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for place, block in enumerate(block for block in blocks if re.search(r"^simcli: 1$", block, re.MULTILINE)):
            (tmp_path / f"{page.stem}-{place}.yaml").write_text(block, encoding="utf-8")
    assert len(list(tmp_path.iterdir())) > FEWEST - 2
    places = (*SHIPPED.values(), docs / "humanoid.yaml", docs / "bundles", tmp_path)
    code, out, err = told_here(capsys, "check", "--strict", *map(str, places))
    assert (code, err) == (0, "")
    assert out.count(": ok (") > len(SHIPPED) + FEWEST


@pytest.mark.parametrize("name", tiered(SHIPPED))
def test_scene_meets_its_expectations(name, outcomes):
    code, talk = outcomes[name]
    assert code == 0, talk
    assert "expectations: all hold" in talk or "expect:" not in SHIPPED[name].read_text()


@pytest.mark.full
def test_scenes_share_kernels(outcomes, folder_of_scenes):
    assert len(outcomes) >= FEWEST
    assert 0 < len(step_kernels(folder_of_scenes)) <= MOST_KERNELS


@pytest.mark.slow
def test_scenes_share_kernels_in_the_other_precision(tmp_path):
    """What is not meant for float32 may miss its expectations, or be refused; not more."""
    commands = [
        ["run", scene, "-q", "-o", f"{name}.h5", "--device", "cpu", "--precision", "float32"]
        for name, scene in SHIPPED.items()
    ]
    codes = [code for code, _ in run_many(commands, tmp_path)]
    assert set(codes) <= {Exit.OK, Exit.NEGATIVE, Exit.SCENE}
    assert codes.count(Exit.SCENE) < FEWEST
    assert 0 < len(step_kernels(tmp_path)) <= MOST_KERNELS


@every_scene
def test_scene_is_short_and_says_what_it_shows(scene):
    lines = scene.read_text().splitlines()
    assert len(lines) <= MAX_LINES
    assert lines[0].startswith("# ")
    assert max(map(len, lines)) <= 125


@every_scene
def test_scene_expects_motion_and_not_only_energy(scene):
    spec = resolve(load_document(scene))
    assert spec.description
    exact = [one for one in spec.expect if one.equals is not None and one.quantity.rpartition(".")[2] in DECIDING]
    bounds = [one for one in spec.expect if one.max == "energy.drift"]
    assert exact
    # A drive of the stiffest scene is dissipative by itself, and so is bdf1; their ledgers are tested elsewhere.
    assert bounds or spec.solver.integrator in ("implicit", "bdf1")


def largest_error(talk):
    """The largest error of the exact expectations that a run printed."""
    return max(float(line.split()[-1]) for line in talk.splitlines() if " within " in line)


@pytest.mark.parametrize("name", tiered(TABLE))
def test_readme_tells_the_errors(name, outcomes):
    bound = TABLE[name]
    error = largest_error(outcomes[name][1])
    assert error < float(bound)
    assert error > float(bound) / SLACK


def test_readme_has_its_table():
    assert len(TABLE) >= FEWEST
