"""Signals: every kind against its closed form and its finite differences, and what they drive against closed forms.

Events by condition: their times, what they switch in each world, against recurrences in numpy; promises, wrong words.
"""

import numpy as np
import pytest
from support.forward import Runner, model_of, slope
from support.held_loops import EXACT, MASS, SLIDER, START, YIELDING, EventRunner, H, every_run, loop_of, motion, runner
from support.runs import MIXED
from support.scenes import faults_of, scene

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.forces.columns import Forces
from simcli.kernels.forces.prescribed_target import Prescribed
from simcli.kernels.forces.signals import ORDERS as NUMBERS
from simcli.kernels.forces.signals import Signals, evaluate_signals
from simcli.kernels.language import ti
from simcli.model import build
from simcli.model.signals.signal_values import piecewise, signal_values
from simcli.solvers.base.integrators import STAGES
from simcli.spec import resolve

ROUNDING = 2e-13  # of values near one with phases of some ten radians
DIFFERENCE = 2e-3  # [s] of the finite differences below
DIFFERENCED = 3e-7  # their error, (w DIFFERENCE)^4 / 30 for rates of 15 per second, times those rates
ORDERS = {"semi_implicit": 1, "implicit": 2, "rk4": 4}
ORDER_TOLERANCE = 0.1  # of a slope over two halvings
W = 5  # a pack of lanes and a rest
ONE_JOINT = """
world: {gravity: [0, 0, 0]}
bodies: {m: {mass: 2.0, inertia: {diag: [1, 1, 1]}}}
joints: {rail: {type: prismatic, parent: world, child: m, at: [0, 0, 0], axis: [1, 0, 0]}}
"""
TIMES, VALUES = (0.25, 0.4, 1.0, 1.1, 2.0), (0.5, -1.0, 2.0, 1.5, 0.25)
POINTS = f"time: {list(TIMES)}, value: {list(VALUES)}"
KINDS = {
    "constant": "constant: 1.5",
    "sine": "sine: {amplitude: 2, frequency: 0.7, phase: 0.3, offset: -0.5}",
    "step": "step: {before: 0.5, after: -1, time: 0.6}",
    "ramp": "ramp: {from: 1, to: -2, start: 0.3, end: 1.4}",
    "chirp": "chirp: {amplitude: 1.2, f0: 0.5, f1: 2, duration: 1.5}",
    "linear": f"table: {{{POINTS}}}",
    "previous": f"table: {{{POINTS}, interpolate: previous}}",
    "cubic": f"table: {{{POINTS}, interpolate: cubic}}",
}
ALL_KINDS = ONE_JOINT + "\n".join(
    [
        "forces:",
        *(f"  f_{name}: {{type: torque, joint: rail, value: ${name}}}" for name in KINDS),
        "signals:",
        *(f"  {name}: {{{text}}}" for name, text in KINDS.items()),
        "",
    ]
)
TURN = 2.0 * np.pi


def chirp(t):
    phase = np.where(t < 1.5, 0.5 * t + 0.5 * t**2, 0.5 * 1.5 + 0.5 * 1.5**2 + 2.0 * (t - 1.5))  # (2 - 0.5) / 1.5 = 1
    return 1.2 * np.sin(TURN * phase)


CLOSED = {
    "constant": lambda t: np.full_like(t, 1.5),
    "sine": lambda t: -0.5 + 2.0 * np.sin(TURN * 0.7 * t + 0.3),
    "step": lambda t: np.where(t < 0.6, 0.5, -1.0),
    "ramp": lambda t: np.interp(t, [0.3, 1.4], [1.0, -2.0]),
    "chirp": chirp,
    "linear": lambda t: np.interp(t, TIMES, VALUES),
    "previous": lambda t: np.array([VALUES[max(0, int(np.sum(np.array(TIMES) <= x)) - 1)] for x in t]),
}
CORNERS = {"step": (0.6,), "ramp": (0.3, 1.4), "chirp": (1.5,), "linear": TIMES, "previous": TIMES, "cubic": TIMES}


@ti.kernel
def evaluate_at(s: ti.template(), t: float, lean: float):
    for w in range(s.arena.n_blocks):
        s.arena.enter(w)
        evaluate_signals(s, w, t, lean)


class Probe:
    """Signals of a model on the device, evaluated at any time."""

    def __init__(self, model, device):
        arena = Arena(device, model.n_worlds)
        tables = Tables(model, arena)
        owners = (Forces(model, tables, arena), Prescribed(model, tables))
        self.signals = Signals(model, tables, arena, owners)
        arena.build()
        tables.arena.upload()

    def __call__(self, times, lean=0.0):
        """(T, W, K, 3)."""
        rows = []
        for t in times:
            self.signals.arena.launch(evaluate_at, self.signals, t, lean)
            rows.append(self.signals.values.read())
        return np.array(rows).reshape(len(times), -1, self.signals.n, NUMBERS)


@pytest.fixture
def probe(device):
    return Probe(model_of(ALL_KINDS)[0], device)


SAMPLES = np.linspace(0.0, 2.6, 131) + 0.0003  # in no corner, and with no corner within a difference


def test_kinds_have_their_closed_forms(probe):
    found = probe(SAMPLES)[:, 0]
    for k, name in enumerate(KINDS):
        if name in CLOSED:
            assert np.abs(found[:, k, 0] - CLOSED[name](SAMPLES)).max() < ROUNDING, name


def test_rates_are_derivatives(probe):
    """By central differences of fourth order of the values themselves."""
    found = probe(SAMPLES)[:, 0]
    near = [probe(SAMPLES + n * DIFFERENCE)[:, 0, :, 0] for n in (-2, -1, 1, 2)]
    first = (near[0] - 8.0 * near[1] + 8.0 * near[2] - near[3]) / (12.0 * DIFFERENCE)
    second = (-near[0] + 16.0 * near[1] - 30.0 * found[..., 0] + 16.0 * near[2] - near[3]) / (12.0 * DIFFERENCE**2)
    for k, name in enumerate(KINDS):
        apart = np.all([np.abs(SAMPLES - corner) > 3 * DIFFERENCE for corner in CORNERS.get(name, (-1,))], axis=0)
        scale = max(1.0, np.abs(found[:, k, 2]).max())
        assert np.abs(found[:, k, 1] - first[:, k])[apart].max() < DIFFERENCED * scale, name
        assert np.abs(found[:, k, 2] - second[:, k])[apart].max() < DIFFERENCED * scale / DIFFERENCE * 0.1, name


def test_rates_are_zero_across_jumps(probe):
    found = probe([0.6])[0, 0]
    names = list(KINDS)
    assert found[names.index("step")].tolist() == [-1.0, 0.0, 0.0]
    assert probe([0.4])[0, 0][names.index("previous")].tolist() == [-1.0, 0.0, 0.0]


@pytest.mark.parametrize(("lean", "side"), [(1e-9, 0), (-1e-9, 1)])
def test_a_jump_is_seen_from_the_side_that_is_asked_for(probe, lean, side):
    names = list(KINDS)
    after, before = (-1.0, 0.5), (0.5, -1.0)  # of step at 0.6 and of previous at 0.4
    assert probe([0.6], lean)[0, 0, names.index("step"), 0] == (after, before)[side][0]
    assert probe([0.4], lean)[0, 0, names.index("previous"), 0] == (-1.0, 0.5)[side]
    assert probe([0.3], lean)[0, 0, names.index("ramp"), 1] == pytest.approx((-3.0 / 1.1, 0.0)[side])


def test_the_host_has_the_same_values(probe):
    model = model_of(ALL_KINDS)[0]
    host = np.stack([signal_values(model.signals, t) for t in SAMPLES])
    assert np.abs(host - probe(SAMPLES)).max() < ROUNDING * 200.0  # second derivatives are up to 200


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9])
def test_a_cubic_table_is_the_spline_with_not_a_knot_ends(n):
    """Against scipy's, at uneven times: a line through two points, a parabola through three."""
    interpolate = pytest.importorskip("scipy.interpolate", reason="scipy is not installed")
    rng = np.random.default_rng(n)
    time, values = np.cumsum(rng.uniform(0.1, 1.0, n)), rng.normal(size=(2, n))
    c = piecewise(time, values, "cubic")
    if n > 1:
        wanted = interpolate.CubicSpline(time, values.T, bc_type="not-a-knot").c  # (4, n - 1, 2), from the cube down
        assert np.abs(c[:, 1:-1] - wanted.transpose(2, 1, 0)[..., ::-1]).max() < ROUNDING * 100.0
    assert not c[:, 1:-1, n:].any()  # of two points or three, what is no line or parabola
    assert c[:, 0].tolist() == [[row[0], 0, 0, 0] for row in values]
    assert c[:, -1].tolist() == [[row[-1], 0, 0, 0] for row in values]


def test_a_column_of_a_spline_has_the_bytes_that_it_has_alone():
    rng = np.random.default_rng(0)
    time, values = np.cumsum(rng.uniform(0.1, 1.0, 40)), rng.normal(size=(7, 40))
    together = piecewise(time, values, "cubic")
    for row, found in zip(values, together, strict=True):
        assert piecewise(time, row[None], "cubic").tobytes() == found.tobytes()


def test_worlds_have_their_own_parameters(device):
    """Times of jumps, too, of what is no table."""
    rng = np.random.default_rng(3)
    numbers = {
        "signals.step.step.time": rng.uniform(0.1, 1, W),
        "signals.ramp.ramp.end": rng.uniform(0.5, 2, W),
        "signals.chirp.chirp.duration": rng.uniform(0.5, 2, W),
        "signals.sine.sine.frequency": rng.uniform(1, 2, W),
        "signals.cubic.table.value[1]": rng.uniform(-1, 1, W),
    }
    lists = "\n".join(f"    {path}: {{list: {values.tolist()}}}" for path, values in numbers.items())
    batch = model_of(ALL_KINDS + f"batch:\n  worlds: {W}\n  vary:\n{lists}\n")[0]
    found = Probe(batch, device)(SAMPLES)
    document = scene(ALL_KINDS)
    for world in range(W):
        spec = resolve(document, {path: float(values[world]) for path, values in numbers.items()})
        single = Probe(build(spec, document), device)(SAMPLES)
        assert np.abs(found[:, world] - single[:, 0]).max() == 0.0


# A mass on a free rail: x'' = (A sin(wt + p) + b) / m is integrated by hand. Signals of all kinds act across the rail, so
# that this scene and the next one share a kernel.
DRIVEN = (
    ONE_JOINT
    + """
forces:
  push: {type: torque, joint: rail, value: $wave}
  pull: {type: wrench, body: m, force: [$half, $sine, $step], torque: [$table, 0, 0]}
signals:
  sine: {sine: {amplitude: 1, frequency: 1}}
  step: {step: {before: 0, after: 1, time: 5}}
  table: {table: {time: [0, 5], value: [0, 1], interpolate: previous}}
  wave: {sine: {amplitude: 3, frequency: 0.8, phase: 0.4}}
  half: {sine: {amplitude: 1.5, frequency: 0.8, phase: 0.4, offset: 0.25}}
"""
)
COUNTS = {"semi_implicit": (200, 400, 800), "implicit": (50, 100, 200), "rk4": (20, 40, 80)}


def driven_place(t):
    w, p, a, b, m = TURN * 0.8, 0.4, 4.5, 0.25, 2.0
    x = a / m * (np.sin(p) / w**2 + np.cos(p) / w * t - np.sin(w * t + p) / w**2) + b / m * t**2 / 2
    v = a / m * (np.cos(p) - np.cos(w * t + p)) / w + b / m * t
    return np.array([x, v])


@pytest.mark.parametrize("integrator", STAGES)
def test_a_driven_mass_moves_as_in_closed_form(integrator, device):
    runner, errors, drifts = Runner(DRIVEN, integrator, device), [], []
    for count in COUNTS[integrator]:
        out = runner(2.0 / count, count // 10, 10)
        found = np.array([out["frames/joint_q"][-1, 0, 0], out["frames/joint_qd"][-1, 0, 0]])
        errors.append(np.abs(found - driven_place(2.0)).max())
        drifts.append(np.abs(out["energy/drift"]).max())
        assert out["energy/input"][-1, 0] > 0.5
    steps = [2.0 / count for count in COUNTS[integrator]]
    assert slope(steps, errors) == pytest.approx(ORDERS[integrator], abs=ORDER_TOLERANCE)
    # Work of the first-order step is exact: kinetic energy changes by the force times the mean velocity.
    assert max(drifts) < 1e-12 or slope(steps, drifts) > ORDERS[integrator] - ORDER_TOLERANCE


JUMPING = DRIVEN.replace("sine: {amplitude: 3, frequency: 0.8, phase: 0.4}", "step: {before: 1, after: -2, time: 0.4}")
JUMPING = JUMPING.replace(
    "sine: {amplitude: 1.5, frequency: 0.8, phase: 0.4, offset: 0.25}",
    "table: {time: [0, 0.8], value: [0.5, 3], interpolate: previous}",
)


@pytest.mark.parametrize("integrator", STAGES)
def test_jumps_at_the_ends_of_steps_cost_no_order(integrator, device):
    """Constant forces between jumps at 0.4 s and 0.8 s, which fall on steps: motion and work keep their order."""
    runner, errors, drifts = Runner(JUMPING, integrator, device), [], []
    for count in COUNTS[integrator]:
        out = runner(2.0 / count, count // 10, 10)
        v = out["frames/joint_qd"][-1, 0, 0]
        accelerations, spans = np.array([1.5, -1.5, 1.0]) / 2.0, np.array([0.4, 0.4, 1.2])
        speeds = np.concatenate(([0.0], np.cumsum(accelerations * spans)))
        x = (speeds[:-1] * spans + accelerations * spans**2 / 2).sum()
        errors.append(max(abs(out["frames/joint_q"][-1, 0, 0] - x), 1e-14))
        assert abs(v - speeds[-1]) < 1e-12
        drifts.append(np.abs(out["energy/drift"]).max())
    assert max(drifts) < 1e-12
    if integrator == "semi_implicit":
        assert slope([2.0 / count for count in COUNTS[integrator]], errors) == pytest.approx(1, abs=ORDER_TOLERANCE)
    else:
        assert max(errors) < 1e-12


def test_a_run_does_not_depend_on_how_it_is_cut(device):
    runner = Runner(DRIVEN, "semi_implicit", device)
    whole, begun, solver = runner(1e-3, 7, 12), runner(1e-3, 7, 1), runner.solver
    later = [solver.advance(n).columns for n in (5, 2, 4)]
    for name, values in whole.items():
        assert np.concatenate([begun[name], *(columns[name] for columns in later)]).tobytes() == values.tobytes(), name


def test_constant_signals_are_the_numbers_that_they_stand_for(device):
    """In every field at once: targets, torques, wrenches in both frames."""
    fields = MIXED.replace("simcli: 1\n", "")
    fields = fields.replace("mode: position, target", "mode: position_velocity, target_velocity: 0.4, target")
    fields = fields.replace("run: {duration: 0.06}\n", "")
    fields = fields.replace(
        "  spin:", "  turn: {type: wrench, body: hand, force: [0.3, 0.2, 0.1], torque: [0, 0.1, 0.2], frame: body}\n  spin:"
    )
    numbers = {
        "target_velocity: 0.4": ("target_velocity: $a", 0.4),
        "target: 0.2": ("target: $b", 0.2),
        "torque: [0.01, 0, 0]": ("torque: [$c, 0, 0]", 0.01),
        "force: [0.3, 0.2, 0.1]": ("force: $d", [0.3, 0.2, 0.1]),
        "torque: [0, 0.1, 0.2]": ("torque: [0, $e, 0.2]", 0.1),
        "value: 0.3": ("value: $f", 0.3),
    }
    driven, signals = fields, "signals:\n"
    for old, (new, value) in numbers.items():
        assert old in driven
        driven = driven.replace(old, new)
        signals += f"  {new.partition('$')[2][0]}: {{constant: {value}}}\n"
    plain, wired = (Runner(text, "rk4", device)(1e-3, 10, 5) for text in (fields, driven + signals))
    for name, values in plain.items():
        assert np.abs(wired[name] - values).max() < 1e-12, name


def test_a_position_drive_takes_no_rate_from_its_signal(device):
    """J q'' = k (s(t) - q) + d (v(t) - q'): the rate is the one that is written, not that of the signal s, in both modes."""
    drive = """
world: {gravity: [0, 0, 0]}
bodies: {wheel: {mass: 1, inertia: {diag: [1, 1, 0.5]}}}
joints:
  axle: {type: revolute, parent: world, child: wheel, at: [0, 0, 0], axis: [0, 0, 1],
         drive: {mode: MODE, target: $s, target_velocity: $v, stiffness: 40, damping: 3}}
signals:
  s: {sine: {amplitude: 0.7, frequency: 0.9}}
  v: {ramp: {from: 0.2, to: 0.9, end: 0.5}}
"""
    for mode, share in (("position", 1.0), ("position_velocity", 1.0)):
        out = Runner(drive.replace("MODE", mode), "rk4", device)(1e-3, 100, 10)
        q = v = 0.0
        h = 1e-3
        for n in range(1000):

            def rate(t, q, v, share=share):
                wanted = 0.7 * np.sin(TURN * 0.9 * t)
                follow = share * np.interp(t, [0.0, 0.5], [0.2, 0.9])
                return v, (40.0 * (wanted - q) + 3.0 * (follow - v)) / 0.5

            k1 = rate(n * h, q, v)
            k2 = rate(n * h + h / 2, q + h / 2 * k1[0], v + h / 2 * k1[1])
            k3 = rate(n * h + h / 2, q + h / 2 * k2[0], v + h / 2 * k2[1])
            k4 = rate(n * h + h, q + h * k3[0], v + h * k3[1])
            q, v = q + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0]), v + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
        assert abs(out["frames/joint_q"][-1, 0, 0] - q) < 1e-12


PUSH = 1.6  # [N]
PUSHED = SLIDER.replace("DRIVE", f"{{mode: effort, target: {PUSH}}}")
TURNS = f"{PUSHED}events: [{{when: {{joint.rail.q: {{above: 0.5}}}}, set: {{joints.rail.drive.target: -7}}}}]\n"
LINE = 1e-12  # [s], of a crossing on the line through two frames


class Once:
    """The force of TURNS: -7 N from the first step on at whose start x > bound."""

    def __init__(self, bound=0.5):
        self.fired, self.bound = False, bound

    def __call__(self, x):
        self.fired |= bool(x[0] > self.bound)
        return -7.0 if self.fired else PUSH


@every_run
def test_an_event_switches_its_values_where_the_next_step_begins(solver, integrator):
    n = 500
    run = runner(TURNS, solver, integrator)
    found = motion(run(H, 1, n))
    wanted = loop_of(integrator, H, n, Once())
    assert np.abs(found - wanted).max() < (YIELDING if solver == "affine" else EXACT)
    assert found[:, 0].max() > 0.5 > found[-1, 0]
    (event,) = [one for one in run.events if one.code == "SC606"]
    k = int(np.argmax(found[:, 0] > 0.5))
    before, after = found[k - 1 : k + 1, 0]
    wanted = H * (k - 1 + (0.5 - before) / (after - before))
    assert event.time == pytest.approx(wanted, abs=YIELDING if solver == "affine" else LINE)
    assert (event.step, event.world) == (k, 0)
    assert event.text == "joint.rail.q above 0.5: joints.rail.drive.target = -7"


def test_times_of_crossings_are_of_second_order():
    """On a parabola the line is off by at most a h^2 / (8 v), and by that much for some step."""
    a = PUSH / MASS
    wanted = (-START[1] + np.sqrt(START[1] ** 2 + 2 * a * (0.5 - START[0]))) / a
    speed, run = START[1] + a * wanted, runner(TURNS, "generalized", "rk4")
    worst = 0.0
    for h in (H, 0.7 * H, 0.45 * H, H / 3, H / 7):
        run(h, 1, round(1.2 * wanted / h))
        (event,) = run.events
        largest = a * h**2 / (8 * speed)
        assert abs(event.time - wanted) < 1.01 * largest
        worst = max(worst, abs(event.time - wanted) / largest)
    assert worst > 0.3


def test_worlds_cross_at_steps_of_their_own():
    bounds = [0.5, 0.35, 9.0, 0.2, 0.31]  # the third is never passed, the fourth from the start on
    text = f"params: {{b: 0}}\nbatch: {{worlds: 5, vary: {{params.b: {{list: {bounds}}}}}}}\n" + TURNS.replace(
        "above: 0.5", "above: '${b}'"
    )
    run, n = runner(text, "generalized", "implicit"), 300
    frames = run(H, 1, n)
    for world, bound in enumerate(bounds):
        wanted = loop_of("implicit", H, n, Once(bound))
        assert np.abs(frames["frames/joint_q"][:, world, 0] - wanted[:, 0]).max() < EXACT, world
    assert sorted(event.world for event in run.events) == [0, 1, 3, 4]
    assert [(event.time, event.step) for event in run.events if event.world == 3] == [(0.0, 0)]
    alone = runner(TURNS.replace("above: 0.5", "above: 0.35"), "generalized", "implicit")(H, 1, n)
    assert (alone["frames/joint_q"][:, 0] == frames["frames/joint_q"][:, 1]).all()


RELAY = f"""{PUSHED}events:
- {{when: {{joint.rail.q: {{above: 0.4}}}}, repeat: true, set: {{joints.rail.drive.target: -60}}}}
- {{when: {{joint.rail.q: {{below: 0.2}}}}, repeat: true, set: {{joints.rail.drive.target: 50}}}}
- {{when: {{joint.rail.qd: {{above: 1000}}}}, set: {{joints.rail.drive.target: 3}}}}
"""


def test_the_last_event_counts_and_may_repeat():
    """A relay with hysteresis, which goes round and round."""
    n, state = 1500, {"force": PUSH, "high": False, "low": False, "times": 0}

    def relay(x):
        high, low = x[0] > 0.4, x[0] < 0.2
        if high and not state["high"]:
            state["force"], state["times"] = -60.0, state["times"] + 1
        if low and not state["low"]:
            state["force"], state["times"] = 50.0, state["times"] + 1
        state["high"], state["low"] = high, low
        return state["force"]

    run = runner(RELAY, "generalized", "implicit")
    found, wanted = motion(run(H, 1, n)), loop_of("implicit", H, n, relay)
    assert np.abs(found - wanted).max() < 1e3 * EXACT  # a relay turns rounding into times
    told = sum(1 for _ in run.events)
    assert state["times"] >= 6
    assert told >= 1


def test_a_run_that_went_on_tells_no_event_twice():
    run = runner(RELAY, "generalized", "implicit")
    whole = run(H, 1, 900)
    kept = run(H, 1, 500) and {name: np.array(array) for name, array in run.solver.state_arrays().items()}
    later = EventRunner(f"{RELAY}solver: {{type: generalized, dt: {H}, integrator: implicit}}\n", "implicit")
    later(H, 1, 5)
    later.solver.restore(kept, 500)
    later.solver.plan = run.solver.plan.__class__(H, 1, 900, later.channels)
    rest = later.solver.advance(400)
    assert (rest.columns["frames/joint_q"] == whole["frames/joint_q"][501:]).all()
    assert rest.events
    assert min(event.time for event in rest.events) > 500 * H


SWITCHED = {
    "a torque": ("forces: {f: {type: torque, joint: rail, value: 2}}", "forces.f.value", 5, 3.0),
    "a wrench": ("forces: {f: {type: wrench, body: m, force: [2, 0, 0]}}", "forces.f.force", [5, 1, 0], 3.0),
    "a wrench along the body": (
        "forces: {f: {type: wrench, body: m, force: [2, 0, 0], frame: body}}",
        "forces.f.force",
        [5, 1, 0],
        3.0,
    ),
    "a constant": (
        "forces: {f: {type: torque, joint: rail, value: $s}}\nsignals: {s: {constant: 2}}",
        "signals.s.constant",
        5,
        3.0,
    ),
    "a coupling": (
        "forces: {f: {type: coupling, of: [{joint: rail}], drive: {mode: effort, target: 2}}}",
        "forces.f.drive.target",
        5,
        3.0,
    ),
}


@pytest.mark.parametrize("word", SWITCHED)
def test_what_events_by_condition_switch(word):
    acts, path, value, more = SWITCHED[word]
    event = f"{{when: {{joint.rail.q: {{above: 0.5}}}}, set: {{{path}: {value}}}}}"
    text = f"{SLIDER.replace(', drive: DRIVE', '')}{acts}\nevents: [{event}]\n"
    found = motion(runner(text, "generalized", "implicit")(H, 1, 300))
    wanted = loop_of("implicit", H, 300, lambda x: 2.0 + more * (x[0] > 0.5))
    assert np.abs(found - wanted).max() < EXACT
    assert found[-1, 0] > 0.5


WRONG = {
    "gravity": ("{when: {joint.rail.q: {above: 1}}, set: {world.gravity: [1, 0, 0]}}", "SC316", "`gravity`, which"),
    "a damping": ("{when: {joint.rail.q: {above: 1}}, set: {joints.rail.damping: 3}}", "SC316", "`dofs.damping`"),
    "a time and a condition": ("{at: 1, when: {joint.rail.q: {above: 1}}, SET}", "SC207", "contradict"),
    "neither": ("{SET}", "SC202", "is missing"),
    "no bound": ("{when: {joint.rail.q: {}}, SET}", "SC202", "is missing"),
    "two bounds": ("{when: {joint.rail.q: {above: 1, below: 0}}, SET}", "SC207", "contradict"),
    "a repeated time": ("{at: 0.1, repeat: true, SET}", "SC207", "`repeat` goes with `when`"),
    "an unknown joint": ("{when: {joint.rial.q: {above: 1}}, SET}", "SC305", "`rial`"),
    "a bound of another kind": ("{when: {joint.rail.q: {above: 1 rad}}, SET}", "SC213", "a length [m] is expected"),
    "of a component": ("{when: {body.m.position.2: {below: 1 s}}, SET}", "SC213", "a length [m] is expected"),
    "a time as a quantity": ("{when: {t: {above: 1}}, SET}", "SC315", "`t` is no quantity: an event at a time has `at`"),
    "what forces decide": ("{when: {joint.rail.qdd: {above: 1}}, SET}", "SC315", "at its end"),
    "a value that is wrong": (
        "{when: {joint.rail.q: {above: 1}}, set: {joints.rail.drive.stiffness: -3}}",
        "SC231",
        "drive.stiffness",
    ),
    "what a time sets, too": (
        "{when: {joint.rail.q: {above: 1}}, SET}, {at: 0.1, set: {joints.rail.drive.target: 5}}",
        "SC316",
        "an event at a time changes it, too",
    ),
}


@pytest.mark.parametrize("word", WRONG)
def test_wrong_events_are_told_at_their_line(word):
    events, code, message = WRONG[word]
    events = events.replace("SET", "set: {joints.rail.drive.target: 3}").replace("}, {at:", "}\n- {at:")
    found = faults_of(f"- {events}\n", f"{PUSHED}events:\n")
    assert [one[0] for one in found] == [code]
    assert message in found[0][2]
    assert found[0][1] == 0


@pytest.mark.parametrize(
    ("name", "bound", "wanted"),
    [("joint.rail.q", "40 cm", 0.4), ("joint.rail.qd", "3 km/h", 3 / 3.6), ("body.m.position.0", "40 cm", 0.4)],
)
def test_a_bound_has_the_unit_of_its_quantity(name, bound, wanted):
    (event,) = resolve(scene(TURNS.replace("joint.rail.q: {above: 0.5}", f"{name}: {{above: {bound}}}"))).events
    assert event.crossing[1].above == pytest.approx(wanted, rel=1e-15)


GAINS = """forces: {f: {type: torque, joint: rail, value: $u}}
signals:
  brake: {constant: 0}
  base: {constant: 2}
  u: {expression: "{signal.base} - {signal.brake}*{joint.rail.qd}"}
events:
- {when: {joint.rail.q: {above: 0.4}}, set: {signals.brake.constant: 8}}
- {when: {joint.rail.q: {above: 0.6}}, set: {signals.brake.constant: 3, signals.base.constant: -5}}
"""


@every_run
def test_gains_of_expressions_are_switched_by_condition(solver, integrator):
    """From the first step on at whose start the quantity is beyond, as all that events by condition set."""
    state = {"brake": 0.0, "base": 2.0}

    def law(x):
        if x[0] > 0.4 and not state["brake"]:
            state["brake"] = 8.0
        if x[0] > 0.6:
            state.update(brake=3.0, base=-5.0)
        return state["base"] - state["brake"] * x[1]

    run = runner(SLIDER.replace(", drive: DRIVE", "") + GAINS, solver, integrator)
    found, wanted = motion(run(H, 1, 900)), loop_of(integrator, H, 900, law)
    assert np.abs(found - wanted).max() < (YIELDING if solver == "affine" else EXACT)
    assert state["base"] == -5.0
    assert found[-1, 0] < 0.6
