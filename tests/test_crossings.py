"""Events by condition: their times, what they switch in each world, against recurrences in numpy; promises, wrong words."""

import numpy as np
import pytest
from support.held_loops import EXACT, MASS, SLIDER, START, YIELDING, EventRunner, H, every_run, loop_of, motion, runner
from support.scenes import faults_of, scene

from simcli.spec import resolve

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
    text = (f"params: {{b: 0}}\nbatch: {{worlds: 5, vary: {{params.b: {{list: {bounds}}}}}}}\n"
            + TURNS.replace("above: 0.5", "above: '${b}'"))  # fmt: skip
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
        "forces: {f: {type: wrench, body: m, force: [2, 0, 0], frame: body}}", "forces.f.force", [5, 1, 0], 3.0),
    "a constant": ("forces: {f: {type: torque, joint: rail, value: $s}}\nsignals: {s: {constant: 2}}",
                   "signals.s.constant", 5, 3.0),
    "a coupling": ("forces: {f: {type: coupling, of: [{joint: rail}], drive: {mode: effort, target: 2}}}",
                   "forces.f.drive.target", 5, 3.0),
}  # fmt: skip


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
    "a time and a condition": (
        "{at: 1, when: {joint.rail.q: {above: 1}}, SET}", "SC207", "contradict"),
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
        "{when: {joint.rail.q: {above: 1}}, set: {joints.rail.drive.stiffness: -3}}", "SC231", "drive.stiffness"),
    "what a time sets, too": (
        "{when: {joint.rail.q: {above: 1}}, SET}, "
        "{at: 0.1, set: {joints.rail.drive.target: 5}}", "SC316", "an event at a time changes it, too"),
}


@pytest.mark.parametrize("word", WRONG)
def test_wrong_events_are_told_at_their_line(word):
    events, code, message = WRONG[word]
    events = events.replace("SET", "set: {joints.rail.drive.target: 3}").replace("}, {at:", "}\n- {at:")
    found = faults_of(f"- {events}\n", f"{PUSHED}events:\n")
    assert [one[0] for one in found] == [code]
    assert message in found[0][2]
    assert found[0][1] == 0


@pytest.mark.parametrize(("name", "bound", "wanted"), [("joint.rail.q", "40 cm", 0.4), ("joint.rail.qd", "3 km/h", 3 / 3.6),
                                                       ("body.m.position.0", "40 cm", 0.4)])  # fmt: skip
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
