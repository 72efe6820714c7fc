"""The closed-loop reference cases through the command line: whole sampled trajectories against solutions from outside.

Tolerances are those of the cases: RK4 at 1 ms within 1e-7 over 2 s; semi-implicit of order 1, extrapolated within 1e-4;
implicit of order 2. Rows are met within 1e-10 in every frame, recomputed from body_q and the scene.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from support import closed_loops
from support.closed_loops import SCENES, bennett, body_energies, cardan, four_bar, pendulum, template, worst_rows
from support.many import run_many
from support.process import simcli as command

import simcli as package

REFERENCES = json.loads((Path(__file__).parent / "references" / "closed_loops.json").read_text())

SMOOTH, SHORT = 1e-7, 2.0  # [m, rad], [s] of RK4
STEP = 1e-3  # [s], RK4
CLOSED = 1e-10  # [m, 1], issue 3
EXTRAPOLATED = 1e-4  # [m, rad] of semi-implicit steps h and h/2: 2 x(h/2) - x(h)
SECOND = 1e-6  # [m, rad] of implicit steps: (4 x(h/2) - x(h)) / 3; what is left is of the third order
# Order and what it may lack at these steps. Some are of a higher one: from rest, symplectic steps of a single swing.
ORDER = {"semi": (1, 0.03), "implicit": (2, 0.06)}
STEPS = {"semi": (1e-4, 5e-5), "implicit": (1e-3, 5e-4)}  # [s]
# A step of 1 ms turns the crank by 0.15 rad; these turn it as far as STEP turns the others, or a little more.
CRANK_STEP, CRANK_STEPS = 2.5e-5, {"semi": (1e-5, 5e-6), "implicit": (2.5e-5, 1.25e-5)}  # [s]
QUICK = "instances.slider_crank.params.w"
# The four-bars pass ten singular positions, where reactions grow as 1/angle and what a stage lacks there stays as energy:
# below 5e-10 rad for N = 1 to 10 and 3e-7 rad for N = 40 in 10 s; how near a stage comes to one is chance.
BRANCH = {1: 1e-8, 2: 1e-8, 10: 1e-7, 40: 3e-6}  # [rad] over 10 s
DRIFT = 1e-7  # [J] of each mechanism with RK4; the slowest holds 1 J, the largest 60 J
UNLIKE = 0.1  # [N, N m] of first-order reactions at 1e-4 s, which are those of the step's middle: 500 N/s of change
FAST = 1e-4  # [m] of the governor, implicit at 1 ms
PUBLISHED = 1e-7  # relative, of the test set's vector
MULTIPLIERS = 2e-6  # relative: the test set's own are good to 1.3e-6
TORQUE = 1e-9  # [N m] of the crank's drive: printed to 1e-13, a step of 2 pi / 3600 is exact in its rows
ON_CRANK = {"slider_crank": "crank"}  # cases that need another run
INTEGRATOR = {"semi": "semi_implicit", "implicit": "implicit", "rk4": "rk4"}


def words(name, scene, dt, duration, every, *sets):
    """A command line; expectations of gallery scenes are another test's."""
    flags = [flag for one in (f"output.every={every}", "expect=[]", *sets) for flag in ("--set", one)]
    return ["run", scene, "-o", f"{name}.h5", "--dt", dt, "--duration", duration, "--device", "cpu", *flags]


def write_scenes(folder):
    """All mechanisms that RK4 follows at 1 ms in one scene, and the wide four-bars in another."""
    options = {"solver": {"type": "generalized"}, "output": {"channels": ["state", "energy", "reactions"]}}
    stems = ("bricard", "slider_crank", "fourbar_mbse")
    driven = template("slider_crank")
    del driven["joints"]["shaft"]["qd"]
    driven["joints"]["shaft"]["motion"] = {"velocity": "${w}"}
    loops = closed_loops.write(
        folder / "loops.yaml",
        four_bar(1),
        four_bar(2, at=1.0),
        bennett(),
        cardan(),
        pendulum(),
        **options,
        models={stem: template(stem) for stem in stems} | {"driven": driven},
        instances={stem: {"model": stem} for stem in stems}
        | {"thin": {"model": "bricard", "params": {"s": 0}}, "driven": {"model": "driven"}},
    )
    return loops, closed_loops.write(folder / "wide.yaml", four_bar(10), four_bar(40, at=1.0), **options)


TURN = 2 * np.pi / 150.0  # [s] of the driven crank
SLOW = ("instances.slider_crank.params.w=1", "instances.driven.params.w=1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of all runs."""
    folder = tmp_path_factory.mktemp("loops")
    loops, wide = write_scenes(folder)
    rk4 = "solver.integrator=rk4"
    commands = [
        words("loops-rk4", loops, STEP, 10, 0.05, rk4, *SLOW),
        words("crank-rk4", loops, CRANK_STEP, 0.2, 0.002, rk4),
        words("torque", loops, TURN / 1800, TURN, TURN / 72, rk4),
        words("wide-rk4", wide, STEP, 10, 0.05, rk4),
        words("andrews", SCENES / "andrews_squeezer.yaml", 1e-5, 0.05, 0.0005),
    ]
    governor = SCENES / "flyball_governor.yaml"
    commands += [words(f"governor-{half}", governor, (1e-3, 5e-4)[half], 10, 0.1) for half in range(2)]
    run_all(commands, folder)
    return folder


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    """The files of the runs at two steps of the integrators of lower order, which only slow tests look at."""
    folder = tmp_path_factory.mktemp("halves")
    loops, _ = write_scenes(folder)
    commands = []
    for kind, steps in STEPS.items():
        for half in range(2):
            one = f"solver.integrator={INTEGRATOR[kind]}"
            commands.append(words(f"loops-{kind}-{half}", loops, steps[half], SHORT, 0.05, one, *SLOW))
            commands.append(words(f"crank-{kind}-{half}", loops, CRANK_STEPS[kind][half], 0.2, 0.002, one))
    run_all(commands, folder)
    return folder


def run_all(commands, folder):
    for asked, (code, talk) in zip(commands, run_many(commands, folder), strict=True):
        assert code == 0, f"{asked}\n{talk}"


def reference(case):
    rows = np.array(REFERENCES[case]["data"])
    return rows[:, 0], rows[:, 1:]


def uprights(run, n):
    """Angles of the uprights from +y, clockwise."""
    return -np.concatenate([run.joint(f"w{n}_p{i}").q[:][:, 0] for i in range(n + 1)], axis=1)


def point(run, name, n=3):
    return run.point(name).position[:][:, 0, :n]


# case -> its numbers in a run, in the order of the reference
CASES = {
    "pendulum": lambda run: run.body("bob").position[:][:, 0, :2],
    "fourbar1": lambda run: uprights(run, 1),
    "fourbar2": lambda run: uprights(run, 2),
    "bricard": lambda run: point(run, "bricard/bar3/P3"),
    "bricard_thin": lambda run: point(run, "thin/bar2/P2"),
    "fourbar_mbse": lambda run: np.hstack(
        [point(run, "fourbar_mbse/crank/P1", 2), point(run, "fourbar_mbse/coupler/P2", 2)]
    ),
    "slider_crank": lambda run: np.hstack(
        [run.joint("slider_crank/shaft").q[:][:, 0], run.body("slider_crank/slider").position[:][:, 0, :1]]
    ),
}
every_case = pytest.mark.parametrize("case", CASES)


def compare(folder, case, run_name):
    """Times of the case's samples, its numbers and those of a run."""
    when, expected = reference(case)
    with package.open(folder / f"{'crank' if case == 'slider_crank' else 'loops'}-{run_name}.h5") as run:
        time, got = run.time[:], CASES[case](run)
    return at_samples(when, expected, time, got)


def at_samples(when, expected, time, got):
    kept = when <= time[-1] + 1e-9
    when, expected = when[kept], expected[kept]
    frame = np.searchsorted(time, when - 1e-9)
    np.testing.assert_allclose(time[frame], when, atol=1e-9)
    return when, expected, got[frame]


@every_case
def test_rk4_follows_the_case_over_two_seconds(folder, case):
    when, expected, got = compare(folder, case, "rk4")
    early = when <= SHORT + 1e-9
    assert early.sum() >= 6
    assert np.abs(got - expected)[early].max() < SMOOTH


@pytest.mark.parametrize("case", ["pendulum", "bricard", "bricard_thin", "fourbar_mbse"])
def test_rk4_follows_the_case_to_its_end(folder, case):
    when, expected, got = compare(folder, case, "rk4")
    assert when[-1] >= 5.0
    assert np.abs(got - expected).max() < SMOOTH


@pytest.mark.parametrize("n", BRANCH)
def test_four_bars_stay_on_their_branch(folder, n):
    """All uprights turn alike and the bars above stay level, through ten singular positions."""
    when, expected = reference(f"fourbar{n}")
    with package.open(folder / ("loops-rk4.h5" if n < 10 else "wide-rk4.h5")) as run:
        time, got = run.time[:], uprights(run, n)
        tilts = np.array([run.body(f"w{n}_c{i}").orientation[:][:, 0, 2] for i in range(n)])
    when, expected, got = at_samples(when, expected, time, got)
    assert when[-1] == pytest.approx(10.0)
    assert expected[-1] / np.pi > 10
    early = when <= SHORT + 1e-9
    assert np.abs(got - expected)[early].max() < SMOOTH
    assert np.abs(got - expected).max() < BRANCH[n]
    assert np.abs(2 * tilts).max() < CLOSED


@pytest.mark.slow
@pytest.mark.parametrize("kind", ORDER)
@every_case
def test_order_and_extrapolation(halves, case, kind):
    order, slack = ORDER[kind]
    _, expected, coarse = compare(halves, case, f"{kind}-0")
    _, _, fine = compare(halves, case, f"{kind}-1")
    errors = [np.abs(got - expected).max() for got in (coarse, fine)]
    assert np.log2(errors[0] / errors[1]) > order - slack
    extrapolated = fine + (fine - coarse) / (2**order - 1)
    assert np.abs(extrapolated - expected).max() < {"semi": EXTRAPOLATED, "implicit": SECOND}[kind]


@pytest.mark.parametrize(("runs", "joints"), [("folder", 300), pytest.param("halves", 200, marks=pytest.mark.slow)])
def test_rows_hold_in_every_frame(request, runs, joints):
    """Of every joint, tree and loop, in every run and world."""
    seen = 0
    for path in sorted(request.getfixturevalue(runs).glob("*.h5")):
        with package.open(path) as run:
            worst = worst_rows(run)
            reported = np.nanmax(run.column("diag/position_violation"))
        seen += len(worst)
        assert max(worst.values()) < CLOSED, (path.name, worst)
        assert reported < CLOSED
    assert seen > joints


# mechanism -> what the names of its bodies begin with
MECHANISMS = {
    "four-bar": "w1_",
    "four-bar of two": "w2_",
    "bennett": "bennett_",
    "cardan": "shaft",
    "pendulum": "bob",
    "bricard": "bricard/",
    "thin": "thin/",
    "crank": "slider_crank/",
    "fourbar_mbse": "fourbar_mbse/",
}


@pytest.mark.parametrize("name", ["loops-rk4", "crank-rk4"])
def test_energy_is_kept(folder, name):
    """Of every mechanism, recomputed from the bodies; all of them are the run's own ledger."""
    with package.open(folder / f"{name}.h5") as run:
        energy = body_energies(run)
        ledger = run.energy.kinetic[:][:, 0] + run.energy.potential[:][:, 0]
        assert np.ptp(run.energy.kinetic[:]) > 1.0
    np.testing.assert_allclose(np.ptp(sum(energy.values()) - ledger), 0.0, atol=1e-11 * np.abs(ledger).max())
    for mechanism, prefix in MECHANISMS.items():
        own = sum(one for body, one in energy.items() if body.startswith(prefix))
        assert np.abs(own - own[0]).max() < DRIFT, mechanism


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [[f"bricard/P{k}" for k in range(6)], [f"bennett_h{k}" for k in range(4)]], ids=["bricard", "bennett"]
)
def test_redundant_rows_share_the_load_alike(folder, halves, names):
    """Reactions of overconstrained loops do not depend on the integrator but to its order: what rows contradict is no force.

    The rows of both linkages are consistent at exact positions only, and velocities of first order contradict each other.
    """
    with package.open(folder / "loops-rk4.h5") as run:
        wanted = np.array([run.joint(name).wrench[:][:, 0] for name in names])
    errors = []
    for half in range(2):
        with package.open(halves / f"loops-semi-{half}.h5") as run:
            got = np.array([run.joint(name).wrench[:][:, 0] for name in names])
        errors.append(np.abs(got - wanted[:, : got.shape[1]]).max())
    assert (np.abs(wanted).max(axis=(1, 2)) > 1.0).all()
    assert errors[0] < UNLIKE
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1)


def test_squeezer_follows_the_test_set(folder):
    names = REFERENCES["andrews"]["columns"][1:]
    with package.open(folder / "andrews.h5") as run:
        when, expected, got = at_samples(
            *reference("andrews"), run.time[:], np.hstack([run.joint(name).q[:][:, 0] for name in names])
        )
        last = np.searchsorted(run.time[:], 0.03 - 1e-9)
        joints = [run.joint(name) for name in names]
        state = np.concatenate([joint.q[last, 0] for joint in joints] + [joint.qd[last, 0] for joint in joints])
        forces = {name: run.joint(name).wrench[:][[0, last], 0, :2] for name in ("E3", "E4", "E6")}
        drift = np.abs(run.energy.drift[:]).max()
        supplied = run.energy.input[:][-1, 0]
    assert when[-1] == pytest.approx(0.05)
    assert np.abs(got - expected).max() < SMOOTH
    published = np.array(REFERENCES["andrews"]["published"]["q_qd"])
    np.testing.assert_allclose(state, published, rtol=PUBLISHED, atol=0)
    # lambda pulls at E on the bodies that close the loops; on K2, the child of the three joints, it acts reversed.
    at_start, later = (np.array(REFERENCES["andrews"]["published"][key]) for key in ("lam_0", "lam"))
    np.testing.assert_allclose(-forces["E3"][0], at_start, rtol=1e-12)
    np.testing.assert_allclose(-np.concatenate([forces[n][1] for n in ("E3", "E4", "E6")]), later, rtol=MULTIPLIERS)
    assert drift < 1e-9
    assert supplied == pytest.approx(0.033 * (expected[-1, 0] - expected[0, 0]), abs=1e-8)


@pytest.mark.parametrize(("world", "case"), [(0, "flyball"), (1, "flyball_slow")])
def test_governor_is_followed_by_implicit_springs(folder, world, case):
    """A fast rate of thirty per step: order 2 is that of the slow motion."""
    found = []
    for half in range(2):
        with package.open(folder / f"governor-{half}.h5") as run:
            place = 0.5 + run.joint("slide").q[:][:, world]
            when, expected, got = at_samples(*reference(case), run.time[:], place)
            found.append(got)
    errors = [np.abs(got - expected).max() for got in found]
    assert when[-1] == pytest.approx(10.0)
    early = when <= 5.0 if case == "flyball_slow" else when < np.inf  # which swings twice as far as the case
    assert np.abs(found[0] - expected)[early].max() < FAST
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)


def test_drive_of_the_crank_gives_the_torque(folder):
    """Inverse dynamics at a constant speed: the effort of a prescribed motion."""
    table = REFERENCES["slider_crank"]["torque"]
    with package.open(folder / "torque.h5") as run:
        angle, effort = run.joint("driven/shaft").q[:][:, 0, 0], run.joint("driven/shaft").effort[:][:, 0, 0]
    np.testing.assert_allclose(angle, np.linspace(0, 2 * np.pi, len(angle)), atol=1e-12)
    at = np.round(np.array(table["angle_deg"]) / 5).astype(int)
    np.testing.assert_allclose(effort[at], table["value"], atol=TORQUE)


def test_cross_turns_the_driven_shaft(folder):
    """tan of the angles in the ratio cos(bend), and the time to an angle by quadrature of the energy."""
    c = np.cos(closed_loops.BEND)
    with package.open(folder / "loops-rk4.h5") as run:
        time = run.time[:]
        first, second = (run.joint(name).q[:][:, 0, 0] for name in ("drive", "driven"))
        rates = [run.joint(name).qd[0, 0, 0] for name in ("drive", "driven")]

    def ratio(angle):
        return c / (np.cos(angle) ** 2 + (c * np.sin(angle)) ** 2)

    assert rates[1] == pytest.approx(rates[0] * ratio(0.0), abs=1e-12)
    np.testing.assert_allclose(second, np.unwrap(np.arctan2(c * np.sin(first), np.cos(first))), atol=1e-9)
    inertia, other = closed_loops.SHAFTS
    twice = inertia * rates[0] ** 2 + other * rates[1] ** 2
    nodes, weights = np.polynomial.legendre.leggauss(400)  # converged to rounding over five turns
    for k in (20, 80, 200):
        angle = first[k] * (nodes + 1) / 2
        spent = (weights * np.sqrt((inertia + other * ratio(angle) ** 2) / twice)).sum() * first[k] / 2
        assert spent == pytest.approx(time[k], abs=1e-9)


# prefix of its joints -> rows of all joints, and how many of them are independent
COUNTS = {"bricard/": (30, 29), "bennett_": (20, 17), "w1_": (20, 17), "w2_": (35, 29), "slider_crank/": (20, 17)}
SHAFT_COUNTS = (14, 11)


def test_redundant_rows_are_counted(folder):
    """Independent rows are 6 per moving body less the one degree of freedom of each mechanism."""
    ended = command("show", folder / "loops.yaml", "--dof", "--json")
    assert ended.returncode == 0, ended.stderr
    freedom = json.loads(ended.stdout)["dof"]
    assert freedom["dof"] == 14  # nine mechanisms of one, that of the driven crank among them, and a body on a rod of five
    for prefix, counts in {**COUNTS, ("drive", "driven", "cross"): SHAFT_COUNTS}.items():

        def own(name, prefix=prefix):
            return name.startswith(prefix) if isinstance(prefix, str) else name in prefix

        rows = sum(joint["rows"] for joint in freedom["joints"] if own(joint["joint"]))
        idle = sum(entry["rows"] for entry in freedom["redundant"] if own(entry["joint"]))
        assert (rows, rows - idle) == counts, prefix
