"""Feedback: loops against their exact maps, laws against recurrences in numpy and MuJoCo, what signals see, promises.

Loops of signals that drive themselves end their worlds (SC625); what follows its law stands, whatever work it does.
"""

import mujoco
import numpy as np
import pytest
from scipy.linalg import expm
from support.contact_scenes import run
from support.device import live_device
from support.forward import model_of, slope
from support.held_loops import (
    DAMPING,
    EXACT,
    FOLLOWING,
    LOOP,
    MASS,
    PD,
    ROUNDING,
    SLIDER,
    START,
    STIFFNESS,
    YIELDING,
    EventRunner,
    H,
    every_run,
    first_order_step,
    loop_of,
    motion,
    runner,
)
from support.scenes import faults_of, scene

from simcli.analysis.rest.statics import Statics
from simcli.errors import SceneError, UsageError
from simcli.model.snapshot import Status
from simcli.spec import resolve, resolved_yaml


@every_run
def test_a_loop_is_the_map_of_a_force_that_is_held(solver, integrator):
    n = 500
    found = motion(runner(LOOP, solver, integrator)(H, 1, n))
    wanted = loop_of(integrator, H, n)
    assert np.abs(found - wanted).max() < (YIELDING if solver == "affine" else EXACT)
    assert np.abs(found - START).max() > 0.1


@every_run
def test_a_loop_is_the_drive_of_the_same_law_as_steps_shrink(solver, integrator):
    """To first order, because the force is held over the step; poles of the loop are those of the drive."""
    following = runner(LOOP, solver, integrator)
    damped = np.sqrt(STIFFNESS / MASS - (DAMPING / (2 * MASS)) ** 2)
    rate, end = DAMPING / (2 * MASS), 0.5
    swing = np.exp(-rate * end) * np.array([np.cos(damped * end), np.sin(damped * end) / damped])
    wanted = swing[0] * START[0] + swing[1] * (START[1] + rate * START[0])
    steps = np.array([H, H / 2, H / 4])
    errors = [abs(motion(following(h, round(end / h), 1))[-1, 0] - wanted) for h in steps]
    assert slope(steps, errors) == pytest.approx(1.0, abs=0.1), errors


SEEN = """
world: {gravity: [0.5, 0, -9.81]}
bodies:
  crank: {mass: 1, com: [0.1, 0, 0], inertia: {diag: [0.01, 0.012, 0.015]}}
  rod: {pose: {xyz: [0.2, 0, 0]}, mass: 1.2, com: [0.3, 0, 0], inertia: {diag: [0.02, 0.03, 0.04]},
        points: {p: [0.1, 0.2, 0.3]}}
  rocker: {pose: {xyz: [0.8, 0, 0]}, mass: 0.8, com: [0, 0, -0.2], inertia: {diag: [0.02, 0.02, 0.02]}}
  top: {pose: {xyz: [0, 3, 0]}, mass: 1, com: [0, 0, 0.2], inertia: {diag: [0.02, 0.03, 0.04]}}
  free: {pose: {xyz: [0, 6, 0]}, mass: 1, com: [0.1, 0, 0.2], inertia: {diag: [0.02, 0.03, 0.04]},
         velocity: {angular: [1, 2, 3]}}
joints:
  a: {type: revolute, parent: world, child: crank, axis: [0, 1, 0], qd: 2}
  b: {type: revolute, parent: crank, child: rod, at: [0.2, 0, 0], axis: [0, 1, 0]}
  c: {type: revolute, parent: rod, child: rocker, at: [0.8, 0, 0], axis: [0, 1, 0]}
  d: {type: revolute, parent: world, child: rocker, at: [0.8, 0, -0.5], axis: [0, 1, 0], loop: true}
  eye: {type: ball, parent: world, child: top, at: [0, 3, 0], qd: [0.5, 1, -0.7]}
"""
QUANTITIES = {
    "joint.a.q": ("joint_q", 0),
    "joint.a.qd": ("joint_qd", 0),
    "joint.d.q": ("joint_q", 3),
    "joint.d.qd": ("joint_qd", 3),
    "joint.eye.q[3]": ("joint_q", 7),
    "joint.eye.qd.2": ("joint_qd", 6),
    "body.rod.position.z": ("body_q", (1, 2)),
    "body.free.orientation.1": ("body_q", (4, 4)),
    "body.free.velocity.0": ("body_qd", (4, 0)),
    "bodies.top.angular_velocity.2": ("body_qd", (3, 5)),
    "point.rod/p.position.0": ("point/rod/p/position", 0),
    "point.rod/p.velocity.2": ("point/rod/p/velocity", 2),
}  # where frames have each
# Natural steps project velocities once more than a frame; affine frames show coordinates as energies see them.
SIGHT = {"affine": 1e-12, "natural": 1e-15}
ONCE = 1e-7  # of generalized_alpha, whose steps project velocities once where frames do so three times: what soft rows leave


@every_run
def test_signals_see_what_a_frame_of_that_time_shows(solver, integrator):
    text = (
        SEEN
        + "forces:\n"
        + "".join(f"  f{k}: {{type: wrench, body: free, force: [0, 0, $s{k}]}}\n" for k in range(len(QUANTITIES)))
    )
    text += "signals:\n" + "".join(f"  s{k}: {{expression: '{{{name}}}'}}\n" for k, name in enumerate(QUANTITIES))
    run = runner(text, solver, integrator)
    n = 20
    frames = run(H, 1, n)
    values = run.solver.core.signals.values.read()[0, ::3, 0]
    for k, (name, (column, place)) in enumerate(QUANTITIES.items()):
        shown = frames[f"frames/{column}"][:, 0]
        shown = shown[(slice(None), *(place if isinstance(place, tuple) else (place,)))]
        sight = ONCE if integrator == "generalized_alpha" else SIGHT.get(solver, 0.0)
        assert abs(values[k] - shown[n - 1]) <= sight * max(1, abs(shown[n - 1])), name
        assert abs(shown[n - 1] - shown[n]) > 1e-6, name


FORMULAS = {
    "-{joint.rail.q}**2": lambda q, v, t: -(q**2),
    "2**3**2 + 0*{joint.rail.q}": lambda q, v, t: 512.0,
    "${k}*{joint.rail.q} + ${k}**2*t - ${k}": lambda q, v, t, k: k * q + k**2 * t - k,
    "sin({joint.rail.q}) + cos(2*t)*tan({joint.rail.qd})": lambda q, v, t: np.sin(q) + np.cos(2 * t) * np.tan(v),
    "exp(-3*{joint.rail.q})": lambda q, v, t: np.exp(-3 * q),
    "abs({joint.rail.qd})**1.5 - sqrt(abs({joint.rail.q}))": lambda q, v, t: abs(v) ** 1.5 - np.sqrt(abs(q)),
    "atan2({joint.rail.qd}, -{joint.rail.q})": lambda q, v, t: np.arctan2(v, -q),
    "sign({joint.rail.qd})*clip(10*{joint.rail.q}, -0.5, 0.25)": lambda q, v, t: np.sign(v) * np.clip(10 * q, -0.5, 0.25),
    "min({joint.rail.q}, t, 0.2) + max({joint.rail.qd}, -t, -1)/(2 + t)": lambda q, v, t: (
        min(q, t, 0.2) + max(v, -t, -1) / (2 + t)
    ),
    "{signal.s0} + {signal.wave}/pi": lambda q, v, t: -(q**2) + 0.7 * np.sin(2 * np.pi * 1.5 * t) / np.pi,
    "{joint.rail.q} - ({joint.rail.q} - (t - 1))": lambda q, v, t: t - 1,
}
WORLDS = (2.0, -3.0, 0.5, -0.25, 1.75)
FEW_ULP = 2e-14


def test_formulas_are_those_of_numpy_in_each_world():
    lines = "".join(f'  s{k}: {{expression: "{text}"}}\n' for k, text in enumerate(FORMULAS))
    forces = "".join(f"  f{k}: {{type: torque, joint: rail, value: $s{k}}}\n" for k in range(len(FORMULAS)))
    text = (
        f"params: {{k: 1}}\nbatch: {{worlds: {len(WORLDS)}, vary: {{params.k: {{list: {list(WORLDS)}}}}}}}\n"
        f"{SLIDER.replace('DRIVE', '{mode: effort, target: 1}')}forces:\n{forces}signals:\n"
        f"  wave: {{sine: {{amplitude: 0.7, frequency: 1.5}}}}\n{lines}"
    )
    run = runner(text, "generalized", "implicit")
    for n in (1, 7):
        frames = run(H, 1, n)
        values = run.solver.core.signals.values.read()[:, 3::3, 0]
        q, v, t = frames["frames/joint_q"][n - 1, :, 0], frames["frames/joint_qd"][n - 1, :, 0], (n - 1) * H
        for s, (formula, wanted) in enumerate(FORMULAS.items()):
            for w, k in enumerate(WORLDS):
                value = wanted(q[w], v[w], t, *([k] if "${k}" in formula else []))
                assert values[w, s] == pytest.approx(value, rel=FEW_ULP, abs=FEW_ULP), (formula, k)


def test_rate_delay_and_limits_are_a_recurrence():
    """A sample each four steps; the force is that of two samples ago, 0 before, within limits."""
    text = f"{FOLLOWING}signals: {{u: {{expression: '10 - 90*{{joint.rail.q}} - 2*{{joint.rail.qd}}', "
    text += f"rate: {1 / (4 * H)} Hz, delay: {8 * H} s, limits: [-1, 4]}}}}\n"
    n, step = 120, first_order_step(H)
    found = motion(runner(text, "generalized", "semi_implicit")(H, 1, n))
    x, line, u, wanted = START, [0.0, 0.0], 0.0, [START]
    for k in range(n):
        if k % 4 == 0:
            line.append(10 - 90 * x[0] - 2 * x[1])
            u = np.clip(line.pop(0), -1, 4)
        x = step(x, u)
        wanted.append(x)
    assert np.abs(found - wanted).max() < ROUNDING
    assert np.ptp(found[:, 1]) > 0.1


PID = {"kp": 30.0, "ki": 12.0, "kd": 4.0, "derivative_filter": 0.01}
WINDUPS = {
    "none": "",
    "clamp": ", limits: [-2, 1.5]",
    "back_calculation": ", limits: [-2, 1.5], anti_windup: back_calculation, tracking_time: 0.1",
}


def pid_recurrence(n, every, windup):
    """States of the slider by the law of docs/signals.md."""
    x, integral, smooth, before, wanted, T, u = START, 0.0, 0.0, None, [START], every * H, 0.0
    for k in range(n):
        if k % every == 0:
            e = 0.2 - x[0]
            before = e if before is None else before
            smooth = (PID["derivative_filter"] * smooth + PID["kd"] * (e - before)) / (PID["derivative_filter"] + T)
            v = PID["kp"] * e + integral + smooth
            u = v if windup == "none" else np.clip(v, -2, 1.5)
            growth = PID["ki"] * e
            if windup == "back_calculation":
                growth += (u - v) / 0.1
            elif (v - u) * growth > 0:
                growth = 0.0
            integral, before = integral + T * growth, e
        x = first_order_step(H)(x, u)
        wanted.append(x)
    return np.array(wanted)


@pytest.mark.parametrize("windup", WINDUPS)
def test_pid_is_its_recurrence(windup):
    keys = ", ".join(f"{key}: {value}" for key, value in PID.items())
    text = f"{FOLLOWING}signals:\n  u:\n    rate: {1 / (2 * H)} Hz\n"
    text += f"    pid: {{input: '{{joint.rail.q}}', target: 0.2, {keys}{WINDUPS[windup]}}}\n"
    n = 400
    found, wanted = motion(runner(text, "generalized", "semi_implicit")(H, 1, n)), pid_recurrence(n, 2, windup)
    assert np.abs(found - wanted).max() < ROUNDING
    others = [pid_recurrence(n, 2, other) for other in WINDUPS if other != windup]
    assert min(np.abs(found - other).max() for other in others) > 1e-3


LAG = """
<mujoco><option timestep="{h}" integrator="Euler" gravity="0 0 0"><flag eulerdamp="disable"/></option>
<worldbody><body><joint name="rail" type="slide" axis="1 0 0" damping="0"/>
<inertial pos="0 0 0" mass="{mass}" diaginertia="1 1 1"/></body></worldbody>
<actuator><general joint="rail" dyntype="{dyntype}" dynprm="{tau}" gainprm="7"/></actuator></mujoco>
"""


@pytest.mark.parametrize(("method", "dyntype"), [("exact", "filterexact"), ("euler", "filter")])
def test_a_lag_is_the_activation_of_mujoco(method, dyntype):
    tau, n = 0.03, 300
    text = (
        f"{FOLLOWING}signals:\n  push: {{sine: {{amplitude: 2, frequency: 3, offset: 0.5}}}}\n"
        f"  act: {{filter: {{input: $push, time_constant: {tau}, method: {method}}}}}\n"
        "  u: {expression: '7*{signal.act}'}\n"
    )
    found = motion(runner(text, "generalized", "semi_implicit")(H, 1, n))
    model = mujoco.MjModel.from_xml_string(LAG.format(h=H, mass=MASS, dyntype=dyntype, tau=tau))
    data = mujoco.MjData(model)
    data.qpos[0], data.qvel[0] = START
    wanted = [START]
    for k in range(n):
        data.ctrl[0] = 0.5 + 2 * np.sin(2 * np.pi * 3 * k * H)
        mujoco.mj_step(model, data)
        wanted.append([data.qpos[0], data.qvel[0]])
    assert np.abs(found - wanted).max() < ROUNDING


@pytest.mark.parametrize("smoothing", [0, 0.4])
@pytest.mark.parametrize("method", ["exact", "euler"])
def test_a_lag_of_a_muscle_is_that_of_mujoco(method, smoothing):
    """Also of what is told below 0 and above 1; exact of time constants that are held in a sample."""
    lag = f"rise: 0.02, fall: 0.05, law: muscle, smoothing: {smoothing}, method: {method}, initial: 0.3"
    text = (
        f"{FOLLOWING}signals:\n  push: {{sine: {{amplitude: 0.8, frequency: 3, offset: 0.5}}}}\n"
        f"  act: {{filter: {{input: $push, {lag}}}}}\n  u: {{expression: '{{signal.act}}'}}\n"
    )
    n, y, seen = 300, 0.3, []
    found = motion(runner(text, "generalized", "semi_implicit")(H, 1, n))
    for k in range(n):
        seen.append(y)
        told = 0.5 + 0.8 * np.sin(2 * np.pi * 3 * k * H)
        rate = mujoco.mju_muscleDynamics(told, y, np.array([0.02, 0.05, smoothing]))
        gap = np.clip(told, 0, 1) - y
        y += H * rate if method == "euler" else -gap * np.expm1(-H * rate / gap) if gap else 0.0
    assert np.abs(np.diff(found[:, 1]) - H * np.array(seen) / MASS).max() < ROUNDING
    assert np.ptp(seen) > 0.5


def test_worlds_and_restarts_have_the_same_bytes():
    """Delay lines, integrals and lags are state: a world alone, and a run that went on, end at the same bytes."""
    values = [0.1, -0.2, 0.35, 0.05, -0.4, 0.2, 0.3]
    text = (
        f"{FOLLOWING}signals:\n  u:\n    delay: {6 * H} s\n    rate: {1 / (3 * H)} Hz\n"
        "    pid: {input: '{joint.rail.q} + {signal.lag}', target: '${aim}', kp: 9, ki: 30, kd: 1}\n"
        "  lag: {filter: {input: '{joint.rail.qd}', time_constant: 0.02}}\n"
    )
    whole = f"params: {{aim: 0}}\nbatch: {{worlds: 7, vary: {{params.aim: {{list: {values}}}}}}}\n{text}"
    run = runner(whole, "generalized", "implicit")
    frames = run(H, 1, 60)
    for world in (0, 4, 6):
        alone = runner(f"params: {{aim: {values[world]}}}\n{text}", "generalized", "implicit")(H, 1, 60)
        assert (alone["frames/joint_q"][:, 0] == frames["frames/joint_q"][:, world]).all()
    run(H, 1, 31)
    kept = {name: np.array(array) for name, array in run.solver.state_arrays().items()}
    later = EventRunner(f"{whole}solver: {{type: generalized, dt: {H}, integrator: implicit}}\n", "implicit")
    later(H, 1, 5)
    later.solver.restore(kept, 31)
    later.solver.plan = run.solver.plan.__class__(H, 1, 60, later.channels)
    rest = later.solver.advance(29)
    assert (rest.columns["frames/joint_q"] == frames["frames/joint_q"][32:]).all()


def test_signals_of_models_see_their_own_parts():
    text = """
models:
  arm:
    bodies: {m: {mass: 1, inertia: {diag: [1, 1, 1]}}}
    joints: {rail: {type: prismatic, parent: world, child: m, axis: [1, 0, 0], q: 0.1, drive: {mode: effort, target: $u}}}
    signals:
      u: {expression: "-{joint.rail.q} + {signal.v}"}
      v: {pid: {input: "{body.m.position.0}", target: $w}}
      w: {constant: 1}
instances: {left: {model: arm}, right: {model: arm, at: {xyz: [0, 1, 0]}}}
"""
    model, _ = model_of(text)
    assert model.feedback.quantity == (
        ("body.left/m.position", 0),
        ("body.right/m.position", 0),
        ("joint.left/rail.q", 0),
        ("joint.right/rail.q", 0),
    )


def test_statics_do_not_ignore_feedback():
    with pytest.raises(UsageError, match="`u` follows the motion"):
        Statics(model_of(LOOP)[0], live_device())


WRONG = {
    "an open bracket": ("u: {expression: '2*({joint.rail.q}'}", "SC221", "from its character"),
    "no operator": ("u: {expression: '2 {joint.rail.q}'}", "SC221", "from its character 3 on"),
    "an unknown function": ("u: {expression: 'log({joint.rail.q})'}", "SC221", "unknown function `log`"),
    "a unit": ("u: {expression: '20 N'}", "SC221", "cannot be read"),
    "a name without braces": ("u: {expression: '2*rail'}", "SC221", "`rail` is no name of an expression"),
    "two numbers for one": ("u: {expression: 'atan2({joint.rail.q})'}", "SC221", "takes 2 argument(s)"),
    "an unknown joint": ("u: {expression: '{joint.rial.q}'}", "SC305", "there is no joint `rial`"),
    "an unknown quantity": ("u: {expression: '{joint.rail.p}'}", "SC315", "is no quantity"),
    "what forces decide": ("u: {expression: '{joint.rail.qdd}'}", "SC315", "known at its end"),
    "an energy": ("u: {expression: '{energy.kinetic}'}", "SC315", "known at its end"),
    "a vector": ("u: {expression: '{body.m.position}'}", "SC205", "has 3 components"),
    "a component that is not there": ("u: {expression: '{body.m.position.3}'}", "SC205", "counted from 0"),
    "an unknown signal": ("u: {expression: '{signal.v}'}", "SC311", "there is no signal `v`"),
    "itself": ("u: {expression: '{signal.u} + 1'}", "SC223", "u -> u"),
    "a circle": ("u: {expression: '{signal.v}'}\n  v: {filter: {input: $u, time_constant: 1}}", "SC223", "u -> v -> u"),
    "a rate between steps": ("u: {expression: '{joint.rail.q}', rate: 300 Hz}", "SC407", "a sample every"),
    "a delay between samples": ("u: {expression: '{joint.rail.q}', rate: 250 Hz, delay: 6 ms}", "SC407", "between samples"),
    "limits that fall": ("u: {expression: '{joint.rail.q}', limits: [1, -1]}", "SC232", "`limits` from 1 down to -1"),
    "limits of another kind": ("u: {expression: '{joint.rail.q}', limits: [-1 deg, 1]}", "SC213", "takes `$u`"),
    "a rate of a sine": ("u: {sine: {amplitude: 1, frequency: 1}, rate: 100 Hz}", "SC207", "not with `sine`"),
    "no time to track within": (
        "u: {pid: {input: '{joint.rail.q}', limits: [-1, 1], anti_windup: back_calculation}}",
        "SC202",
        "tracking_time",
    ),
    "a time and nothing to track": ("u: {pid: {input: '{joint.rail.q}', tracking_time: 1}}", "SC207", "tracking_time"),
    "nothing that winds up": (
        "u: {pid: {input: '{joint.rail.q}', anti_windup: back_calculation, tracking_time: 1}}",
        "SC202",
        "`limits` is",
    ),
}


@pytest.mark.parametrize("word", WRONG)
def test_wrong_words_are_told_at_their_line(word):
    signals, code, message = WRONG[word]
    start = FOLLOWING + "signals:\n"
    found = faults_of(f"  {signals}\n", start)
    assert [one[0] for one in found] == [code]
    assert message in found[0][2]
    assert found[0][1] == 0


def test_the_nearest_quantity_is_named():
    with pytest.raises(SceneError) as told:
        resolve(scene(f"{FOLLOWING}signals: {{u: {{expression: '{{joint.rial.q}}'}}}}\n"))
    assert "did you mean `joint.rail.q`?" in told.value.faults[0].hint


def test_a_resolved_scene_reads_back():
    text = f"{FOLLOWING}params: {{k: -2}}\nsignals: {{u: {{expression: '${{k}}**2*{{joint.rail.q}} + {{signal.w}}', "
    text += "limits: [-1, 1]}, "
    spec = resolve(scene(text + "w: {pid: {input: '{body.m.position.0}', kp: 2, target: $v}}, v: {constant: 1}}\n"))
    assert spec.signals["u"].expression == "(-2)**2*{joint.rail.q} + {signal.w}"
    assert resolve(scene(resolved_yaml(spec).removeprefix("simcli: 1\n"))).signals == spec.signals


def test_a_motion_cannot_follow_feedback():
    found = faults_of(f"signals: {{u: {PD}}}\n", SLIDER.replace("drive: DRIVE", "motion: {position: $u}"))
    assert [(code, "derivatives" in text) for code, _, text in found] == [("SC470", True)]


def test_a_number_without_a_value_is_told_in_its_world():
    text = f"{FOLLOWING}params: {{k: 1}}\nsignals: {{u: {{expression: 'sqrt(${{k}}) + 0*t'}}}}\n"
    text += "batch: {worlds: 2, vary: {params.k: {list: [1, -1]}}}\n"
    with pytest.raises(Exception, match=r"SC221: `sqrt\(-1\) \+ 0\*t` is not a real number"):
        model_of(text)


@pytest.mark.parametrize("mode", ["effort", "position"])
def test_a_drive_with_an_activation_follows_the_lag_of_its_target(mode):
    """Against the exact map of each step, over which the lag is held; rk4 is as exact as rounding here."""
    tau, first, k, d = 0.03, 0.2, 40.0, 2.0
    gains = f", stiffness: {k}, damping: {d}" if mode == "position" else ""
    drive = f"{{mode: {mode}, target: $s{gains}, activation: {{time_constant: {tau}, initial: {first}}}}}"
    text = SLIDER.replace("DRIVE", drive) + "signals: {s: {sine: {amplitude: 2, frequency: 3}}}\n"
    n = 60
    found = motion(runner(text, "generalized", "rk4")(H, 1, n))
    pull = [-k / MASS, -d / MASS, k / MASS] if mode == "position" else [0, 0, 1 / MASS]
    whole = expm(np.array([[0, 1, 0], pull, [0, 0, 0]]) * H)
    wanted, y = [START], first
    for step in range(n):
        wanted.append(whole[:2, :2] @ wanted[-1] + whole[:2, 2] * y)
        y += (2 * np.sin(2 * np.pi * 3 * step * H) - y) * -np.expm1(-H / tau)
    assert np.abs(found - wanted).max() < EXACT
    assert np.ptp(found[:, 1]) > 0.05


@pytest.mark.parametrize("method", ["exact", "euler"])
@pytest.mark.parametrize(
    ("kind", "integrator"), [("generalized", "semi_implicit"), ("maximal", "semi_implicit"), ("natural", "zhong06")]
)
def test_a_lag_rises_and_falls_in_times_of_its_own(method, kind, integrator):
    """A pulse: 1 - exp(-t / rise), then exp(-t / fall) of what was there; with equal times it is the plain lag."""
    rise, fall, on, n = 0.02, 0.07, 0.03, 90
    table = f"{{time: [0, {on}], value: [2, 0], interpolate: previous}}"
    pulse = f"signals: {{s: {{table: {table}}}}}\n"
    effort = "{mode: effort, target: $s, activation: {LAG, method: METHOD}}".replace("METHOD", method)
    of = lambda lag: motion(  # noqa: E731
        runner(SLIDER.replace("DRIVE", effort.replace("LAG", lag)) + pulse, kind, integrator)(H, 1, n)
    )
    t = H * np.arange(n)
    on_steps = round(on / H)
    if method == "exact":
        top = 2 * -np.expm1(-on / rise)
        y = np.where(t < on - H / 2, 2 * -np.expm1(-t / rise), top * np.exp(-(t - on) / fall))
    else:
        k = np.arange(n)
        up = 2 * (1 - (1 - H / rise) ** np.minimum(k, on_steps))
        y = up * (1 - H / fall) ** np.maximum(k - on_steps, 0)
    found = of(f"rise: {rise}, fall: {fall}")
    gained = np.diff(found[:, 1])
    if integrator == "semi_implicit":
        assert np.abs(gained - H * y / MASS).max() < 1e-12
    else:  # whose velocities are those half a step off
        assert np.abs(found[-1, 1] - START[1] - H * y.sum() / MASS).max() < 2 * H * 2 / MASS
    plain, same = of(f"time_constant: {rise}"), of(f"rise: {rise}, fall: {rise}")
    assert np.abs(plain - same).max() < 1e-12
    assert np.abs(plain - found).max() > 1e-4


@pytest.mark.parametrize(
    ("lag", "code"),
    [
        ("rise: 0.1", "SC202"),
        ("fall: 0.1", "SC202"),
        ("initial: 0.1", "SC202"),
        ("time_constant: 0.1, rise: 0.1, fall: 0.2", "SC207"),
        ("rise: 0.1, fall: 0", "SC231"),
    ],
)
def test_times_of_lags_that_contradict_are_refused(lag, code):
    drive = f"{{mode: effort, target: 1, activation: {{{lag}}}}}"
    assert [one for one, _, _ in faults_of(SLIDER.replace("DRIVE", drive))] == [code]


def test_a_lag_of_what_no_law_reads_is_refused():
    drive = "{mode: velocity, target_velocity: 1, damping: 3, activation: {time_constant: 0.1}}"
    assert [code for code, _, _ in faults_of(SLIDER.replace("DRIVE", drive))] == ["SC472"]


@pytest.mark.parametrize("velocity", ["target_velocity: 1", "target_velocity: $s"])
@pytest.mark.parametrize("mode", ["position", "position_velocity"])
def test_a_target_velocity_beside_an_activation_is_refused(mode, velocity):
    """In drives of joints and of couplings, and where an event sets it."""
    lag = f"mode: {mode}, target: 1, stiffness: 9, damping: 3, activation: {{time_constant: 0.1}}"
    signal = "signals: {s: {constant: 1}}\n"
    assert [code for code, _, _ in faults_of(SLIDER.replace("DRIVE", f"{{{lag}, {velocity}}}") + signal)] == ["SC484"]
    other = "{mode: position, target: 0, stiffness: 1, damping: 1}"
    coupling = f"forces: {{c: {{type: coupling, of: [{{joint: rail}}], drive: {{{lag}, {velocity}}}}}}}\n"
    assert [code for code, _, _ in faults_of(SLIDER.replace("DRIVE", other) + coupling + signal)] == ["SC484"]
    event = "events: [{at: 0.01, set: {joints.rail.drive.target_velocity: 2}}]\n"
    assert [code for code, _, _ in faults_of(SLIDER.replace("DRIVE", f"{{{lag}}}") + event)] == ["SC484"]


DT = 1e-3
# Brakes -g m/T qd on a mass of 1 kg, sampled once a step, once a step and late by one, and every tenth step; T the time
# between samples. They are stable below 2 sin(pi/(4 d + 2)), d samples late. A servo does all the work that there is from
# rest, and one holds a load.
BRAKES = {
    "brake": {"expression": f"-${{brake/{DT}}}*{{joint.brake.qd}}"},
    "late": {"expression": f"-${{late/{DT}}}*{{joint.late.qd}}", "delay": DT},
    "slow": {"expression": f"-${{slow/{10 * DT}}}*{{joint.slow.qd}}", "rate": 0.1 / DT},
}
SERVOS = {
    "servo": {"expression": "900*(1 - {joint.servo.q}) - 40*{joint.servo.qd}"},
    "load": {"expression": "900*(1 - {joint.load.q}) - 40*{joint.load.qd} + 9.81"},
}
STABLE = {"brake": 1.2, "late": 0.5, "slow": 1.6}
UNSTABLE = {"brake": 5.0, "late": 1.8, "slow": 2.6}
GUARD_WORLDS = [STABLE, *({**STABLE, name: gain} for name, gain in UNSTABLE.items())]
INTEGRATORS = [
    ("generalized", "implicit"),
    ("maximal", "semi_implicit"),
    ("natural", "zhong06"),
    ("affine", "bdf2"),
    *(
        pytest.param(*pair, marks=pytest.mark.slow)
        for pair in (
            ("generalized", "semi_implicit"),
            ("generalized", "rk4"),
            ("natural", "moreau"),
            ("natural", "generalized_alpha"),
            ("affine", "bdf1"),
        )
    ),
]


def sliders(laws, starts, gravity=-9.81):
    """Masses on rails, each driven by its law; those that hold loads go up and down."""
    bodies = {name: {"mass": 1, "inertia": {"diag": [1, 1, 1]}, "pose": {"xyz": [0, k, 0]}} for k, name in enumerate(laws)}
    joints = {
        name: {
            "type": "prismatic",
            "parent": "world",
            "child": name,
            "at": [0, k, 0],
            "qd": starts.get(name, 0.0),
            "axis": [0, 0, 1] if name == "load" else [1, 0, 0],
            "drive": {"mode": "effort", "target": f"$u_{name}"},
        }
        for k, name in enumerate(laws)
    }
    return {
        "simcli": 1,
        "world": {"gravity": [0, 0, gravity]},
        "bodies": bodies,
        "joints": joints,
        "signals": {f"u_{name}": law for name, law in laws.items()},
        "output": {"every": 0.01},
    }


@pytest.mark.parametrize(("solver", "integrator"), INTEGRATORS)
def test_brakes_that_drive_end_and_servos_stand(solver, integrator, tmp_path):
    content = sliders({**BRAKES, **SERVOS}, dict.fromkeys(BRAKES, 1.0))
    content |= {
        "params": STABLE,
        "solver": {"type": solver, "integrator": integrator, "dt": DT},
        "run": {"duration": 1.0},
        "batch": {
            "worlds": 4,
            "vary": {f"params.{name}": {"list": [world[name] for world in GUARD_WORLDS]} for name in STABLE},
        },
    }
    code, seen = run(tmp_path, f"{solver}-{integrator}", content)
    assert code == 4
    assert seen.diag.status[-1].tolist() == [Status.OK, *[Status.LOOP_LOST] * 3]
    ended = {event.world: event for event in seen.events if event.severity == 2}
    assert {world: (event.code, seen.bodies[event.body]) for world, event in ended.items()} == {
        k: ("SC625", name) for k, name in enumerate(UNSTABLE, 1)
    }
    for name in SERVOS:
        assert seen.joint(name).q[-1, 0, 0] == pytest.approx(1.0, abs=1e-5)
    speeds = np.array([np.nanmax(np.abs(seen.joint(name).qd[:, k, 0])) for k, name in enumerate(UNSTABLE, 1)])
    assert (speeds < 500.0).all()  # what is unstable by far grows by more than ten times in three samples


def test_a_spring_that_is_sampled_ends_where_it_has_swung_up(tmp_path):
    """-k q held for a step swings wider by exp(w^2 h/4 t); a servo that oscillates, and a slow chirp of it, stand."""
    laws = {
        "spring": {"expression": "-${stiff}*{joint.spring.q}"},
        "servo": {"expression": "4000*({signal.chirp} - {joint.servo.q}) - 80*{joint.servo.qd}"},
    }
    content = sliders(laws, {"spring": 1.0}, 0.0)
    content["signals"]["chirp"] = {"expression": "0.3*sin(2*pi*(0.2 + 0.5*t)*t)"}
    content |= {
        "params": {"stiff": 100.0},
        "solver": {"type": "generalized", "integrator": "implicit", "dt": DT},
        "run": {"duration": 4.0},
        "batch": {"worlds": 2, "vary": {"params.stiff": {"list": [100.0, 1e4]}}},
    }
    code, seen = run(tmp_path, "spring", content)
    assert code == 4
    assert seen.diag.status[-1].tolist() == [Status.OK, Status.LOOP_LOST]
    (event,) = (event for event in seen.events if event.severity == 2)
    assert (event.code, event.world) == ("SC625", 1)
    assert np.nanmax(np.abs(seen.joint("spring").qd[:, 1, 0])) < 400.0
