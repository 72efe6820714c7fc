"""`integrator: auto`: the integrator of a scene that names none."""

import pytest
from support.scenes import scene

from simcli.spec import resolve
from simcli.spec.auto import FIRST_CHOICE, SECOND
from simcli.spec.resolve import why_integrator
from simcli.spec.resolved import to_yaml

BALL = "shapes: {s: {type: sphere, radius: 0.1}}"


def text(solver, joint="", world="", body="", more=""):
    return (f"world: {{{world}}}\nbodies: {{rod: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, {body}}}, "
            "other: {mass: 1, inertia: {diag: [1, 1, 1]}}}\n"
            f"joints: {{pin: {{type: revolute, parent: world, child: rod{joint}}}}}\n"
            f"solver: {{type: {solver}}}\n{more}")  # fmt: skip


def choice(*words, **more):
    document = scene(text(*words, **more))
    return resolve(document).solver.integrator, why_integrator(document)


@pytest.mark.parametrize("solver", sorted(FIRST_CHOICE))
def test_smooth_scenes_get_second_order_and_contact_first(solver):
    name, why = choice(solver)
    assert name == SECOND.get(solver, FIRST_CHOICE[solver])
    assert why
    touching = {"world": "shapes: {ground: {type: plane}}", "body": BALL}
    if solver != "affine":  # whose bodies touch by their own barrier; the choice is the same
        name, why = choice(solver, more="contact: {pairs: [{a: rod, b: ground, friction: 0.1}]}", **touching)
        assert name == FIRST_CHOICE[solver]
        assert "`world` and `rod` can touch" in why or solver == "maximal"


@pytest.mark.parametrize(("joint", "more", "words"), [
    (", friction: 0.1", "", "joint `pin` has dry friction"),
    (", limit: [-1, 1]", "", "joint `pin` has a hard limit"),
    (", velocity_limit: 3", "", "joint `pin` has a velocity limit"),
    (", drive: {mode: position, stiffness: 9, effort_limit: 1}", "", "joint `pin` has an effort limit"),
    ("", "batch: {worlds: 2, vary: {joints.pin.friction: {list: [0, 1]}}}", "`joints.pin.friction` is set"),
    ("", "events: [{at: 0.1, set: {joints.pin.friction: 1}}]", "`joints.pin.friction` is set"),
    ("", "output: {channels: [state, contacts]}", "contacts are recorded"),
])  # fmt: skip
def test_sudden_laws_get_first_order(joint, more, words):
    name, why = choice("generalized", joint, more=more)
    assert name == "semi_implicit"
    assert words in why


def test_soft_limits_and_drives_are_smooth():
    soft = ", limit: {lower: -1, upper: 1, stiffness: 10}, drive: {mode: position, stiffness: 9}, damping: 1"
    assert choice("generalized", soft)[0] == "implicit"


TABLE = "time: [0, 0.1, 0.2, 0.4], value: [0, 0.1, 0.2, 0]"
RUN = "run: {duration: 1}\n"
SET = "events: [{at: 0.1, set: {%s: 2}}]"


@pytest.mark.parametrize(("motion", "more", "words"), [
    ("{velocity: $s}", "signals: {s: {step: {after: 1, time: 0.3}}}", "joint `pin` jumps at 0.3 s"),
    ("{velocity: $s}", f"signals: {{s: {{table: {{{TABLE}, interpolate: previous}}}}}}", "joint `pin` jumps at 0.1 s"),
    ("{position: $s}", f"signals: {{s: {{table: {{{TABLE}}}}}}}", "joint `pin` jumps at 0.2 s"),
    ("{position: $s}", "signals: {s: {ramp: {to: 1, start: 0, end: 0.5}}}", "joint `pin` jumps at 0.5 s"),
    ("{velocity: 1}", SET % "joints.pin.motion.velocity", "an event sets `joints.pin.motion.velocity`"),
    ("{velocity: $s}", "signals: {s: {constant: 1}}\n" + SET % "signals.s.constant", "an event sets `signals.s.constant`"),
    ("{velocity: $s}", f"signals: {{s: {{table: {{{TABLE}}}}}}}", ""),
    ("{velocity: $s}", "signals: {s: {step: {after: 1, time: 9}}}", ""),
    ("{velocity: $s}", "signals: {s: {step: {before: 1, after: 1, time: 0.3}}}", ""),
    ("{position: $s}", "signals: {s: {sine: {amplitude: 1, frequency: 1}}}", ""),
])  # fmt: skip
@pytest.mark.parametrize("solver", sorted(SECOND))
def test_rates_that_jump_leave_the_order_and_are_told(solver, motion, more, words):
    """Measured: with second order a pendulum at a slider whose rate steps has 1/20 to 1/200 of the error of first order."""
    name, why = choice(solver, f", motion: {motion}", more=RUN + more)
    assert name == SECOND[solver]
    assert why.startswith("of second order, because the motion is smooth")
    assert words in why if words else why.endswith("smooth")


@pytest.mark.parametrize(("drive", "more", "words"), [
    ("target: $u", "signals: {u: {expression: '-{joint.pin.q}'}}", "signal `u` is sampled"),
    ("target: $u", "signals: {u: {pid: {input: '{joint.pin.q}', target: 1, kp: 2}}}", "signal `u` is sampled"),
    ("target: 1, activation: {time_constant: 0.1}", "", "activation of `joints.pin.drive` is sampled"),
    ("target: $u", "signals: {u: {expression: '-{joint.pin.q}', rate: 100}}", ""),  # whatever the step
    ("target: $u", "signals: {u: {sine: {amplitude: 1, frequency: 1}}}", ""),
    ("target: 1", "signals: {u: {expression: '-{joint.pin.q}'}}", ""),
])  # fmt: skip
@pytest.mark.parametrize("solver", sorted(SECOND))
def test_what_is_sampled_in_each_step_makes_the_motion_one_of_first_order(solver, drive, more, words):
    """It keeps the integrator of second order, and says that the motion is of first (test_feedback.py measures it)."""
    name, why = choice(solver, f", drive: {{mode: position, stiffness: 9, {drive}}}", more=RUN + more)
    assert name == SECOND[solver]
    if words:
        assert "of first order here" in why
        assert words in why
    else:
        assert why == "of second order, because the motion is smooth"


def test_a_kinematic_body_whose_rate_jumps_is_told():
    document = scene(text("natural", body="kinematic: true, motion: {linear: [0, $s, 0]}",
                          more=RUN + "signals: {s: {step: {after: 1, time: 0.3}}}").replace("revolute", "free"))  # fmt: skip
    resolve(document)
    assert why_integrator(document).endswith("but where the prescribed rate of body `rod` jumps at 0.3 s")


def test_what_is_named_stands_and_what_is_chosen_is_written():
    document = scene(text("generalized").replace("type: generalized", "type: generalized, integrator: rk4"))
    assert resolve(document).solver.integrator == "rk4"
    assert why_integrator(document) == ""
    document = scene(text("generalized"))
    assert "integrator: implicit" in to_yaml(resolve(document))


def test_worlds_have_the_integrator_of_the_scene():
    """Their own section `solver` is read again where a value in it varies."""
    document = scene(text("generalized"))
    base = resolve(document)
    for path, value in {"solver.max_velocity": 5.0, "joints.pin.friction": 1.0, "bodies.rod.mass": 2.0}.items():
        assert resolve(document, {path: value}).solver.integrator == base.solver.integrator == "implicit"
