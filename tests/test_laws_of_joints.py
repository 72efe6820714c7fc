"""Every joint type and every field of the table of joint fields: the law of each coordinate, in the tree and in loops.

All joints stand side by side in one scene (support/joint_laws.py), where one closed form serves all dofs of a law. What the
table refuses is refused by name: test_spec_units.py.
"""

import numpy as np
import pytest
from support import joint_laws
from support.joint_laws import COMPLIANCE, KINDS, LAWS, MASS, OFFSET, PUSH, RATIO, SPIN, TWIST, WAVE, coordinates
from support.many import run_many
from support.runs import committed, differing, worlds_of
from support.scenes import scene

import simcli as package
from simcli.errors import SceneError
from simcli.joint_types import NONHOLONOMIC
from simcli.spec import resolve
from simcli.spec.checks.joint_fields import JOINTS, ON_JOINTS, SUPPORTED_FIELDS

HONOURED = JOINTS["generalized"]
DT, COARSE = 1e-3, 5e-3  # [s]
RUNS = {"semi": DT, "coarse": COARSE, "rk4": DT}
RK4 = pytest.param("rk4", marks=pytest.mark.slow)
every_run = pytest.mark.parametrize("run_name", ["semi", "coarse", RK4])
# Errors by step of first-order runs [m/s, m/s^2]: a servo, half a swing of which is 0.5 m at 7 rad/s, and its effort limit.
X_PER_STEP, V_PER_STEP = 6.0, 30.0
# A step in which any law of the scene switches is one of first order for all of it: ten or so in that second.
X_RK4, V_RK4 = 1e-4, 5e-4
ROUNDING = 1e-12
# The two rates of a universal joint outside the tree turn with it, so that first-order steps meet them to second order:
# errors by step^2 [rad/s^3], and how much larger they are at five times the step.
TURNS, SQUARED = 2.0, 5.0**2 * 1.1
DRIFT_OF_SWITCH = 5e-3  # [J] of a mechanism that switches: a force of 6 N at 0.9 m/s during one step of 1 ms
N_WORLDS = 7
VARIED = ["--worlds", N_WORLDS, "--vary", "params.load=linspace(0.9, 1.1)", "--vary", "params.kick=linspace(1.3, 0.7)"]


def words(name, file, *more, dt=DT, duration=1):
    return [
        "run",
        file,
        "-o",
        f"{name}.h5",
        "--dt",
        dt,
        "--duration",
        duration,
        "--device",
        "cpu",
        "-q",
        *more,
        "--set",
        "output.every=0.005",
    ]


@pytest.fixture(scope="module")
def forest():
    return joint_laws.forest(HONOURED)


@pytest.fixture(scope="module")
def trees():
    """Joints of the tree whose coordinates are scalars, without gears: a scene without rows, which compiles faster."""
    return joint_laws.forest(HONOURED, ("tree",), ("ball", "distance", "mimic"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, forest, trees):
    folder = tmp_path_factory.mktemp("joints")
    joint_laws.write(folder / "all.yaml", forest)
    joint_laws.write(folder / "trees.yaml", trees)
    run_all([words("semi", "all.yaml"), words("coarse", "all.yaml", dt=COARSE)], folder)
    return folder


@pytest.fixture(scope="module")
def with_rk4(folder):
    """In the same folder: the run that only slow tests look at."""
    run_all([words("rk4", "all.yaml", "--set", "solver.integrator=rk4")], folder)


@pytest.fixture(autouse=True)
def runs_that_are_asked_for(request):
    """That of rk4 where a test's name or parameter names it."""
    if "rk4" in request.node.name:
        request.getfixturevalue("with_rk4")


@pytest.fixture(scope="module")
def copies(folder):
    """In the same folder: the trees in float32, and as a batch."""
    commands = [
        words("single", "trees.yaml", "--precision", "float32"),
        words("batch", "trees.yaml", *VARIED, duration=0.5),
        *(words(f"world{k}", "trees.yaml", *VARIED, "--world", k, duration=0.5) for k in (1, 5)),
    ]
    run_all(commands, folder)
    return folder


def run_all(commands, folder):
    for asked, (code, talk) in zip(commands, run_many(commands, folder), strict=True):
        assert code == 0, f"{asked}\n{talk}"


def settling(t, target, k=50.0, c=5.0):
    """Position and rate of unit mass on a spring and damper that pull it to a target, from rest."""
    w = np.sqrt(k - c**2 / 4)
    wave = np.exp(-c * t / 2)
    x = target * (1 - wave * (np.cos(w * t) + c / (2 * w) * np.sin(w * t)))
    return x, target * k / w * wave * np.sin(w * t)


def until(t, end, moving, after):
    return tuple(np.where(t < end, a, b) for a, b in zip(moving, after, strict=True))


def accelerated(t, a, v=0.0):
    return v * t + a * t**2 / 2, v + a * t


def decaying(t, c, v, end):
    """Rate v(t) = end + (v - end) exp(-c t)."""
    return end * t + (v - end) / c * (1 - np.exp(-c * t)), end + (v - end) * np.exp(-c * t)


def clamped(t, limit=6.0):
    """A servo at its limit, by small steps of RK4."""
    n = 20
    h, x, out = t[1] / n, np.zeros(2), [np.zeros(2)]

    def rate(x):
        return np.array([x[1], np.clip(50.0 * (1 - x[0]) - 5.0 * x[1], -limit, limit)])

    for _ in t[1:]:
        for _ in range(n):
            a = rate(x)
            b = rate(x + h / 2 * a)
            c = rate(x + h / 2 * b)
            x = x + h / 6 * (a + 2 * b + 2 * c + rate(x + h * c))
        out.append(x)
    return tuple(np.transpose(out))


def sine(t):
    amplitude, w = WAVE[0], 2 * np.pi * WAVE[1]
    return amplitude * np.sin(w * t), amplitude * w * np.cos(w * t)


HIT = np.sqrt(0.86) - 0.6  # [s]: 0.6 t + t^2 / 2 = 0.25
TIMES = {"upper": HIT, "lower": HIT, "brake": 0.4, "fast": 0.3}  # [s] of switches
FORMS = {
    "upper": lambda t: until(t, HIT, accelerated(t, 1.0, 0.6), (0.25 + 0 * t, 0 * t)),
    "lower": lambda t: until(t, HIT, accelerated(t, -1.0, -0.6), (-0.25 + 0 * t, 0 * t)),
    "soft": lambda t: (0.02 * (1 - (1 + 10 * t) * np.exp(-10 * t)), 2 * t * np.exp(-10 * t)),
    "servo": lambda t: settling(t, 1.0),
    "pace": lambda t: decaying(t, 4.0, 0.0, 2.0),
    "follow": lambda t: settling(t, 1.0 + 5.0 * 0.3 / 50.0),
    "thrust": lambda t: accelerated(t, 2.0),
    "brake": lambda t: until(t, 0.4, accelerated(t, -3.0, 1.2), (0.24 + 0 * t, 0 * t)),
    "stick": lambda t: (0 * t, 0 * t),
    "slip": lambda t: accelerated(t, 2.5),
    "damper": lambda t: decaying(t, 3.0, 1.5, 2.0 / 3.0),
    "heavy": lambda t: accelerated(t, 1.0, 0.3),
    "fast": lambda t: until(t, 0.3, accelerated(t, 3.0), (0.135 + 0.9 * (t - 0.3), 0.9 + 0 * t)),
    "weak": clamped,
    "geared": lambda t: accelerated(t, 6.5 / (1 + RATIO**2)),
    "led": sine,
}
FORMS["soft_loop"] = FORMS["soft"]


def of_law(forest, law):
    """(type, place, name) of the joints that show a law."""
    return [entry[1:] for entry in forest.seen if entry[0] == law]


def seen(run, name, kind, law):
    """Coordinates and rates, (F, dofs), and inertias of the dofs on which a law acts."""
    q, qd = coordinates(run, name, kind)
    M = np.array([dof.inertia(kind) for dof in KINDS[kind].dofs])
    one = kind == "distance" and LAWS[law].field == "limit"
    return (q[:, :1], qd[:, :1], M[:1]) if one else (q, qd, M)


def turning(name):
    return name.endswith("universal_loop")


def efforts(run, name, kind):
    return run.joint(name).effort[:][:, 0][:, [dof.index for dof in KINDS[kind].dofs]]


def errors(folder, forest, run_name, law):
    """(name, errors of coordinates, of rates), all frames but those around a switch, for which rates know a step only."""
    with package.open(folder / f"{run_name}.h5") as run:
        t = run.time[:]
        x, v = FORMS[law](t)
        away = np.abs(t - TIMES.get(law, -1.0)) > 2 * RUNS[run_name]
        for kind, _, name in of_law(forest, law):
            q, qd, _ = seen(run, name, kind, law)
            yield name, np.abs(q - x[:, None]).max(), np.abs(qd - v[:, None])[away].max()


def test_every_cell_of_the_table_is_here(forest):
    fields = set(SUPPORTED_FIELDS) - {*ON_JOINTS.values()}
    supported = {
        (place, field, kind) for place in ("tree", "loop") for field in fields for kind in getattr(HONOURED, place)[field]
    }
    supported = {
        one for one in supported if one[2] not in NONHOLONOMIC
    }  # test_joint_cells.py and test_rolling.py have these
    assert {(place, LAWS[law].field, kind) for law, kind, place, _ in forest.seen} == supported
    assert {law for law, *_ in forest.seen} == FORMS.keys() | {"gives", "off"} == LAWS.keys()


@pytest.mark.parametrize("law", FORMS)
def test_first_order_steps_follow_the_law(folder, forest, law):
    """Errors of a step's size, and five times those at five times the step."""
    for (name, x, v), (_, x_5, v_5) in zip(
        errors(folder, forest, "semi", law), errors(folder, forest, "coarse", law), strict=True
    ):
        assert max(x / DT, x_5 / COARSE) < X_PER_STEP, name
        assert max(v / DT, v_5 / COARSE) < V_PER_STEP, name
        assert x < ROUNDING or 4.0 < x_5 / x < 5.5, name
        assert v < ROUNDING or 4.0 < v_5 / v < (SQUARED if turning(name) else 5.5), name


@pytest.mark.slow
@pytest.mark.parametrize("law", FORMS)
def test_rk4_follows_the_law(folder, forest, law):
    for name, x, v in errors(folder, forest, "rk4", law):
        assert x < X_RK4, name
        assert v < V_RK4, name


@pytest.mark.parametrize(
    ("run_name", "slack"), [("semi", 0.01), ("coarse", 0.02), pytest.param("rk4", 0.001, marks=pytest.mark.slow)]
)
def test_step_response(folder, run_name, slack):
    """10 kg, 500 N/m, 50 N s/m, 1 m: the peak is 1.3045 m at 0.475 s."""
    with package.open(folder / f"{run_name}.h5") as run:
        t, x = run.time[:], run.joint("rail").q[:][:, 0, 0]
        effort, v = run.joint("rail").effort[:][:, 0, 0], run.joint("rail").qd[:][:, 0, 0]
    k = x.argmax()
    a, b, c = np.polyfit(t[k - 1 : k + 2] - t[k], x[k - 1 : k + 2], 2)
    assert c - b**2 / (4 * a) == pytest.approx(1.3045, rel=slack)
    assert t[k] - b / (2 * a) == pytest.approx(0.475, rel=slack)
    if run_name == "rk4":
        np.testing.assert_allclose(effort, 500 * (1 - x) - 50 * v, atol=1e-9)


@every_run
@pytest.mark.parametrize("law", ["upper", "lower"])
def test_hard_limits_are_rested_on(folder, forest, law, run_name):
    """Within 1e-6 m and never beyond; the limit gives what the load asks for. A loop's distance tells in its wrench."""
    bound = {"upper": 0.25, "lower": -0.25}[law]
    with package.open(folder / f"{run_name}.h5") as run:
        late = run.time[:] > HIT + 0.1
        for kind, place, name in of_law(forest, law):
            q, qd, M = seen(run, name, kind, law)
            assert np.abs(q[late] - bound).max() < 1e-6, name
            assert np.abs(qd[late]).max() < 1e-9, name
            assert (q * np.sign(bound)).max() < abs(bound) + 1e-12, name
            if (kind, place) == ("distance", "loop"):
                reaction = run.joint(name).wrench[:][late, 0, 2:3]
            else:
                reaction = efforts(run, name, kind)[late][:, : len(M)]
            np.testing.assert_allclose(reaction, np.tile(-LAWS[law].load * M, (late.sum(), 1)), rtol=1e-9, err_msg=name)


@every_run
def test_dry_friction_holds_exactly(folder, forest, run_name):
    """In the tree to the bit, in loops to the rounding of the body's pose; it gives what the load asks for."""
    with package.open(folder / f"{run_name}.h5") as run:
        late = run.time[:] > 0.41
        for law, start, load in (("stick", 1, 3.9), ("brake", np.argmax(late), 1.0)):
            for kind, place, name in of_law(forest, law):
                q, qd, M = seen(run, name, kind, law)
                slack = 0.0 if place == "tree" else 1e-15
                assert np.ptp(q[start:], axis=0).max() <= slack, name
                assert np.abs(qd[start:]).max() <= slack, name
                np.testing.assert_allclose(efforts(run, name, kind)[start:] / M, -load, rtol=1e-9, err_msg=name)


@every_run
def test_dry_friction_opposes_sliding(folder, forest, run_name):
    """The acceleration of a slide has no error of the step."""
    with package.open(folder / f"{run_name}.h5") as run:
        t = run.time[:]
        for law, rate, end in (("slip", 2.5, 1.0), ("brake", -3.0, 0.4)):
            for kind, _, name in of_law(forest, law):
                qd = seen(run, name, kind, law)[1]
                expected = LAWS[law].start + rate * t[t < end - 1e-9]
                slack = TURNS * DT**2 if turning(name) else 1e-11
                np.testing.assert_allclose(qd[t < end - 1e-9], np.tile(expected, (qd.shape[1], 1)).T, atol=slack)


@every_run
def test_speeds_and_efforts_stay_within_their_limits(folder, forest, run_name):
    with package.open(folder / f"{run_name}.h5") as run:
        for kind, _, name in of_law(forest, "fast"):
            qd = np.abs(seen(run, name, kind, "fast")[1])
            assert qd.max() <= 0.9 * (1 + 1e-12), name
            assert (qd.max(axis=0) > 0.9 * (1 - 1e-12)).all(), name
        for kind, _, name in of_law(forest, "weak"):
            effort = np.abs(efforts(run, name, kind)[1:] / seen(run, name, kind, "weak")[2])
            assert effort.max() <= 6.0 * (1 + 1e-12), name
            assert (effort.max(axis=0) > 6.0 * (1 - 1e-9)).all(), name
            assert effort.min() < 3.0, name


@every_run
def test_gears(folder, forest, run_name):
    """q = ratio q_other + offset at any instant; the efforts are in the ratio that does no work."""
    with package.open(folder / f"{run_name}.h5") as run:
        for kind, _, name in of_law(forest, "geared"):
            lead, after = (run.joint(one) for one in (name, f"{name}_after"))
            np.testing.assert_allclose(after.q[:], RATIO * lead.q[:] + OFFSET, rtol=0, atol=1e-12, err_msg=name)
            slack = TURNS * RUNS[run_name] ** 2 if turning(name) and run_name != "rk4" else 1e-11
            np.testing.assert_allclose(after.qd[:], RATIO * lead.qd[:], rtol=0, atol=slack, err_msg=name)
            np.testing.assert_allclose(lead.effort[:], -RATIO * after.effort[:], rtol=1e-9, err_msg=name)
            M = np.array([dof.inertia(kind) for dof in KINDS[kind].dofs])
            slack = TURNS * RUNS[run_name] if turning(name) and run_name != "rk4" else 1e-9
            np.testing.assert_allclose(after.effort[:][1:, 0] / M, RATIO * 2.0 + 0 * after.qd[:][1:, 0], rtol=slack)


@pytest.mark.parametrize(("run_name", "slack"), [("semi", 2e-2), pytest.param("rk4", 1e-9, marks=pytest.mark.slow)])
def test_prescribed_motions_report_their_effort(folder, forest, run_name, slack):
    """M x'': first-order steps report that of the step's middle or so."""
    with package.open(folder / f"{run_name}.h5") as run:
        for kind, _, name in of_law(forest, "led"):
            q, _, M = seen(run, name, kind, "led")
            wanted = -((2 * np.pi * WAVE[1]) ** 2) * q * M
            errors = np.abs(efforts(run, name, kind)[1:] - wanted[1:]) / np.abs(wanted).max()
            # Where others meet a stop frames show the whole step that ends there, in rk4, too: of 1 ms, at 2 pi WAVE[1].
            assert errors.max() < max(slack, 5e-3), name
            assert (errors < slack + 1e-9).mean() > 0.98, name


@pytest.mark.parametrize("run_name", ["semi", RK4])
def test_compliance_is_deflection_by_load(folder, forest, run_name):
    """The end of 1 s on critical dampers, with the geometry of finite rows.

    The row of a length c is (d^2 - c^2) / 2 c, which pulls d / c as hard; those of angles are sines, whose arms are cosines.
    """
    with package.open(folder / f"{run_name}.h5") as run:
        for kind, _, name in of_law(forest, "gives"):
            along, about = joint_laws.HELD[kind]
            at, quat = run.body(name).position[-1, 0] @ along, run.body(name).orientation[-1, 0]
            length = (at + at**2 / 2) * (1 + at) if kind == "distance" else at
            assert length == pytest.approx(COMPLIANCE * PUSH, rel=1e-6), name
            if about:
                turn = 2 * np.arctan2(quat[:3] @ about, quat[3])
                assert np.sin(2 * turn) / 2 == pytest.approx(COMPLIANCE * TWIST, rel=1e-6), name


@pytest.mark.parametrize("run_name", ["semi", RK4])
def test_a_joint_that_is_off_does_nothing(folder, forest, run_name):
    with package.open(folder / f"{run_name}.h5") as run:
        for kind, _, name in of_law(forest, "off"):
            along, about = joint_laws.HELD[kind]
            assert run.body(name).velocity[-1, 0] @ along == pytest.approx(PUSH / MASS, rel=1e-12), name
            if about:
                assert run.body(name).angular_velocity[-1, 0] @ about == pytest.approx(TWIST / SPIN, rel=1e-12), name


def ledger(folder, run_name):
    """[J]: times, drifts, and what was dissipated and put in."""
    with package.open(folder / f"{run_name}.h5") as run:
        moved = run.energy.dissipated[:][-1, 0] + run.energy.input[:][-1, 0]
        return run.time[:], run.energy.drift[:][:, 0], moved


def test_the_ledger_of_energies_closes(folder):
    """To the order of the step. Of the led joints, universal ones in loops alone drift, by 0.008 J: their rows turn."""
    (_, semi, moved), (_, coarse, _) = ledger(folder, "semi"), ledger(folder, "coarse")
    assert moved > 500
    assert np.abs(semi).max() < 1e-5 * moved + 0.008
    assert np.abs(coarse).max() / np.abs(semi).max() == pytest.approx(5.0, rel=0.1)


@pytest.mark.slow
def test_the_ledger_of_rk4_closes_but_for_switches(folder, forest):
    t, drift, _ = ledger(folder, "rk4")
    assert np.abs(drift).max() < DRIFT_OF_SWITCH * sum(law in TIMES for law, *_ in forest.seen)
    switches = np.any([(t[:-1] - 2 * DT < at) & (at < t[1:] + 2 * DT) for at in TIMES.values()], axis=0)
    assert np.abs(np.diff(drift))[~switches].max() < 1e-6


def test_equal_bounds_are_refused_by_name():
    for kind in sorted(HONOURED.tree["limit"] - {"distance"}):  # there they are a rod
        keys = {
            "universal": "axes: {angular: [[0, 0, 1], [0, 1, 0]]}",
            "d6": "axes: {linear: [[1, 0, 0]]}",
            "screw": "pitch: 0.5",
        }.get(kind, "damping: 0")
        with pytest.raises(SceneError) as caught:
            resolve(
                scene(
                    f"bodies: {{a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}}}\njoints:\n"
                    f"  pin: {{type: {kind}, parent: world, child: a, limit: [0.5, 0.5], {keys}}}\n"
                )
            )
        assert {fault.code for fault in caught.value.faults} == {"SC406"}
        assert "pin" in caught.value.faults[0].message


@pytest.mark.slow
def test_float32_agrees(copies, trees):
    """To 1e-3 of the largest value of each law."""
    with package.open(copies / "semi.h5") as run, package.open(copies / "single.h5") as other:
        assert other.provenance.precision == "float32"
        for law in FORMS:
            for kind, _, name in of_law(trees, law):
                for value, found in zip(seen(run, name, kind, law)[:2], seen(other, name, kind, law)[:2], strict=True):
                    assert np.abs(found - value).max() < 1e-3 * max(np.abs(value).max(), 1e-3), name


@pytest.mark.slow
def test_worlds_of_a_batch_are_those_of_single_runs(copies):
    """Their loads make some stick and some slide, and stop at other times, side by side in one pack."""
    rows = committed(copies / "batch.h5")
    with package.open(copies / "batch.h5") as run:
        sticks = (run.joint("stick_prismatic_tree").qd[:][:, :, 0] == 0).all(axis=0)
        rests = (np.abs(run.joint("upper_prismatic_tree").qd[:][:, :, 0]) < 1e-9).argmax(axis=0)
    assert sticks[:4].any()
    assert not sticks.all()
    assert len(set(rests[:4].tolist())) > 1
    for k in (1, 5):
        single = worlds_of(committed(copies / f"world{k}.h5"), [0])
        assert not differing(worlds_of(rows, [k]), single)
