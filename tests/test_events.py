"""Events: a run that an event cuts is two runs; when they take effect; their energy; what they may not set.

Tables of events: what no event sets, phases built together, and the calls that lay out their tables.
"""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from support.event_scenes import CHANGES, SPRING, WIRED, EventRun, with_event
from support.forward import CHANNELS, slope
from support.many import run_many
from support.runs import committed, differing, worlds_of
from support.scenes import faults_of, scene

import simcli as package
from simcli.kernels.device.arena import Arena
from simcli.model import build
from simcli.model.constraints.build import constraints_of, has_limit, needs_law, stated_alike
from simcli.model.phases import build_phases, differences, first_step, representatives
from simcli.solvers import SOLVERS, RunPlan
from simcli.solvers.base.integrators import STAGES
from simcli.spec import resolve
from simcli.spec.resolve import warnings

SAME = 1e-13  # relative: the code of both runs differs in what it leaves out
ORDERS = {"semi_implicit": 1, "implicit": 2, "rk4": 4}
COUNTS = {"semi_implicit": (200, 400, 800), "implicit": (100, 200, 400), "rk4": (20, 40, 80)}
RESTS = 1e-6  # [m], by which a ball that lies moves: contacts are solved to 1e-7 m/s or so
ORDER_TOLERANCE = 0.1  # of a slope over two halvings


def swung(x, v, t, k, force):
    """Place and speed of the oscillator after a time t under a constant force."""
    w, rest = np.sqrt(k / 2.0), force / k
    c, s = np.cos(w * t), np.sin(w * t)
    return rest + (x - rest) * c + v / w * s, v * c - (x - rest) * w * s


@pytest.mark.parametrize(
    "integrator", [one if one == "rk4" else pytest.param(one, marks=pytest.mark.slow) for one in STAGES]
)
def test_a_changed_spring_swings_as_in_closed_form(integrator, device):
    """Place and energy ledger at the integrator's order, across the jump of stored energy."""
    errors, drifts, inputs = [], [], []
    for count in COUNTS[integrator]:
        text = SPRING + f"solver: {{type: generalized, dt: {2.0 / count}}}\noutput: {{every: 0.1}}\n"
        out, _ = EventRun(text, device, integrator, steps=count // 20, frames=20)()
        x, v = swung(0.1, 0.7, 0.8, 50.0, 3.0 + 2.0 * 1.5)
        at_event = x, v
        x, v = swung(x, v, 1.2, 150.0, -2.0 - 2.0 * 0.5)
        errors.append(abs(out["frames/joint_q"][-1, 0, 0] - x) + abs(out["frames/joint_qd"][-1, 0, 0] - v) / 9.0)
        drifts.append(np.abs(out["energy/drift"]).max())
        inputs.append(out["energy/input"][-1, 0])
    steps = [2.0 / count for count in COUNTS[integrator]]
    assert slope(steps, errors) == pytest.approx(ORDERS[integrator], abs=ORDER_TOLERANCE)
    assert slope(steps, drifts) > ORDERS[integrator] - ORDER_TOLERANCE
    jump = 0.5 * (150.0 - 50.0) * at_event[0] ** 2 + 2.0 * (1.5 + 0.5) * at_event[0]
    wanted = jump + 3.0 * (at_event[0] - 0.1) - 2.0 * (x - at_event[0])
    assert abs(inputs[-1] - wanted) < 20.0 * errors[-1]


@pytest.mark.slow
def test_frames_do_not_move_events(device):
    """Events in the midst of frames, several of them in one: the same bytes at the times that all runs show."""
    text = SPRING.replace("run: {duration: 2}", "run: {duration: 0.06}").replace("at: 0.8", "at: 0.013")
    text += "  - {at: 0.0171, set: {joints.rail.damping: 0.7}}\n  - {at: 0.044, set: {joints.rail.damping: 0.2}}\n"
    shown = {}
    for steps in (1, 5, 20, 60):
        run = EventRun(text, device, steps=steps, frames=60 // steps)
        shown[steps], events = run()
        assert [event.step for event in events] == [13, 18, 44]
        assert all(event.world == -1 and event.code == "SC606" for event in events)
    for steps in (5, 20, 60):
        for name, values in shown[steps].items():
            if not name.startswith("energy/"):
                assert values.tobytes() == shown[1][name][::steps].tobytes(), name
            assert np.abs(values - shown[1][name][::steps]).max() < SAME * 100.0, name


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_the_state_runs_on_in_the_changed_scene(integrator, device):
    """With the implicit integrator springs are rows of the constrained system."""
    cut = EventRun(with_event(WIRED, CHANGES, 0.03), device, integrator, frames=6)
    out, _ = cut()
    document = scene(WIRED)
    model = build(resolve(document, CHANGES), document)
    later = SOLVERS["generalized"](model, cut.solver.options, cut.solver.plan, device)
    later.n_steps = 30
    for name, slot in (("joint_q", later.core.state.q), ("joint_qd", later.core.state.qd)):
        slot.write(out[f"frames/{name}"][3][..., None])
    block = later.advance(3)
    for name in ("joint_q", "joint_qd", "body_q", "body_qd", "joint_effort"):
        wanted, found = block.columns[f"frames/{name}"], out[f"frames/{name}"][4:]
        assert np.abs(found - wanted).max() < SAME * 100.0, name


@pytest.mark.parametrize("path", CHANGES)
def test_every_change_reaches_the_tables(path):
    document = scene(with_event(WIRED, {path: CHANGES[path]}, 0.03))
    first, later = build_phases(document, resolve(document))
    assert 1 <= len(differences(first.model, later.model)) <= (2 if "coil" in path else 1)


# One mass per law on rails of their own, all at 1 m/s; each law begins at 0.5 s.
LAWS = """
world: {gravity: [0, 0, 0]}
defaults: {body: {mass: 2.0, inertia: {diag: [1, 1, 1]}}, joint: {type: prismatic, parent: world, axis: [1, 0, 0], qd: 1}}
bodies: {a: {pose: {xyz: [0, 1, 0]}}, b: {pose: {xyz: [0, 2, 0]}}, c: {pose: {xyz: [0, 3, 0]}}, d: {pose: {xyz: [0, 4, 0]}}}
joints:
  rubs: {child: a, at: [0, 1, 0]}
  stops: {child: b, at: [0, 2, 0]}
  hurries: {child: c, at: [0, 3, 0]}
  strains: {child: d, at: [0, 4, 0], drive: {mode: position, target: 9, stiffness: 400, damping: 10}}
forces: {push: {type: torque, joint: hurries, value: 3}}
run: {duration: 1}
events:
  - at: 0.5
    set: {joints.rubs.friction: 1.2, joints.stops.limit: [-1, 0.75], joints.hurries.velocity_limit: 1.6,
          joints.strains.drive.effort_limit: 5}
"""


def test_laws_can_begin_with_an_event(device):
    """Friction, a limit, a velocity limit and an effort limit that are not there at the start, each in closed form."""
    out, _ = EventRun(LAWS, device, steps=100, frames=10)()
    x, v = out["frames/joint_q"][:, 0], out["frames/joint_qd"][:, 0]
    assert v[5].tolist()[:3] == pytest.approx([1.0, 1.0, 1.75], abs=1e-12)
    assert v[10, 0] == pytest.approx(1.0 - 0.6 * 0.5, abs=1e-12)
    assert x[10, 1] == pytest.approx(0.75, abs=1e-9)
    assert v[10, 1] == pytest.approx(0.0, abs=1e-9)
    assert v[6:, 2] == pytest.approx(1.6, abs=1e-12)
    effort = out["frames/joint_effort"][:, 0, 3]
    assert np.abs(effort[6:]).max() <= 5.0 * (1 + 1e-12)
    assert np.abs(effort[1:5]).max() > 50.0


CUT = """
world: {gravity: [0, 0, -9.81]}
bodies:
  rod: {pose: {xyz: [0, 0, -0.5]}, mass: 1.0, inertia: {diag: [0.1, 0.1, 0.01]}}
joints:
  pin: {type: revolute, parent: world, child: rod, at: [0, 0, 0], axis: [0, 1, 0]}
run: {duration: 0.6}
initial: {joint_q: {rod_free: [-0.5, 0, 0, 0, 0.7071067811865476, 0, 0.7071067811865476]}}
events:
  - {at: 0.3, set: {joints.pin.enabled: false}}
"""


def test_a_cut_joint_lets_go(device):
    """A rod that fell from the level is thrown: its centre follows a parabola, and it turns at a constant rate."""
    out, _ = EventRun(CUT, device, "rk4", steps=20, frames=30)()
    pose, twist = out["frames/body_q"][:, 0, 0], out["frames/body_qd"][:, 0, 0]
    assert np.abs(np.linalg.norm(pose[:16, :3], axis=1) - 0.5).max() < 1e-10
    t = out["time"][15:] - out["time"][15]
    for k, g in enumerate((0.0, 0.0, -9.81)):
        wanted = pose[15, k] + twist[15, k] * t + 0.5 * g * t**2
        assert np.abs(pose[15:, k] - wanted).max() < 1e-10
    assert np.abs(twist[15:, 3:] - twist[15, 3:]).max() < 1e-10
    assert abs(twist[15, 4]) > 2.0


@pytest.mark.parametrize(
    ("at", "dt", "step"),
    [
        (0.0, 1e-3, 0),
        (0.003, 1e-3, 3),
        (0.0030000000005, 1e-3, 3),
        (0.0030001, 1e-3, 4),
        (0.0029, 1e-3, 3),
        (0.7, 0.1, 7),
        (1e-12, 1e-3, 0),
        (2.9999999999, 1e-3, 3000),
    ],
)
def test_first_step(at, dt, step):
    assert first_step(at, dt) == step


def test_events_at_the_start_at_once_and_after_the_end(device):
    text = (
        SPRING.replace("run: {duration: 2}", "run: {duration: 0.02}").partition("events:")[0]
        + """
events:
  - {at: 0.01, set: {joints.rail.damping: 5}}
  - {at: 0, set: {forces.cord.stiffness: 10}}
  - {at: 0.01, set: {joints.rail.damping: 6, forces.cord.damping: 1}}
  - {at: 0.02, set: {joints.rail.damping: 7}}
"""
    )
    run = EventRun(text, device, steps=10, frames=2)
    assert [phase.step for phase in run.phases] == [0, 10]
    assert run.phases[0].model.springs.stiffness.tolist() == [[10.0]]
    assert run.phases[1].model.dofs.damping.tolist() == [[6.0]]
    assert run.phases[1].model.springs.stiffness.tolist() == [[10.0]]
    _, events = run()
    assert [(event.step, event.text) for event in events] == [
        (0, "forces.cord.stiffness = 10"),
        (10, "joints.rail.damping = 5"),
        (10, "joints.rail.damping = 6; forces.cord.damping = 1"),
    ]


BATCH = with_event("simcli: 1\n" + WIRED, {"joints.rail.damping": 4.0, "forces.cord.stiffness": 9.0}, 0.0235)
VARY = ["--worlds", 5, "--vary", "forces.cord.stiffness=uniform(20, 60)", "--vary", "joints.wrist.q=uniform(-0.3, 0.3)"]


@pytest.mark.slow
def test_worlds_and_threads_meet_events_alike(tmp_path):
    (tmp_path / "s.yaml").write_text(BATCH)
    base = ["run", "s.yaml", *VARY, "-q"]
    commands = [
        [*base, "-o", "all.h5"],
        [*base, "-o", "one.h5", "--threads", 1],
        [*base, "-o", "w3.h5", "--world", 3],
        ["run", "s.yaml", "-o", "own.h5", "-q"],
    ]
    for code, talk in run_many(commands, tmp_path):
        assert code == 0, talk
    rows = {name: committed(tmp_path / f"{name}.h5") for name in ("all", "one", "w3")}
    assert not differing(rows["all"], rows["one"])
    assert not differing(worlds_of(rows["all"], [3]), worlds_of(rows["w3"], [0]))
    events = ("events/step", "events/world", "events/text", "events/code")
    assert all(rows["all"][name].tobytes() == rows["w3"][name].tobytes() for name in events)
    with package.open(tmp_path / "all.h5") as run:
        assert [(event.step, event.time, event.code) for event in run.events] == [(24, 0.024, "SC606")]
        spread = np.ptp(run.joint("rail").q[-1])
    assert spread > 1e-6


DROP = """
world: {gravity: [0, 0, -10], shapes: {floor: {type: plane}}}
bodies: {ball: {pose: {xyz: [0, 0, 0.1]}, shapes: {s: {type: sphere, radius: 0.1, density: 1000}}}}
solver: {type: SOLVER, dt: 1e-3}
run: {duration: 0.4}
events:
  - {at: 0.2, set: {contact.enabled: false}}
"""


@pytest.mark.parametrize(
    "solver", ["generalized", *(pytest.param(one, marks=pytest.mark.slow) for one in ("maximal", "natural"))]
)
def test_a_ball_falls_through_a_floor_whose_contact_ends(solver, device):
    """It lies still until then, and falls freely from there, up to g t dt of a first-order step."""
    document = scene(DROP.replace("SOLVER", "natural, integrator: moreau" if solver == "natural" else solver))
    spec = resolve(document)
    first, *later = build_phases(document, spec)
    run = SOLVERS[solver](first.model, spec.solver, RunPlan(1e-3, 100, 4, CHANNELS), device, later)
    blocks = [run.initial()]
    while sum(len(block.step) for block in blocks) < 5:
        blocks.append(run.advance(1))
    height = np.concatenate([block.columns["frames/body_q"][:, 0, 0, 2] for block in blocks])
    assert np.abs(height[:3] - 0.1).max() < RESTS
    for frame, t in ((3, 0.1), (4, 0.2)):
        assert abs(height[frame] - (0.1 - 5.0 * t * t)) < 10.0 * t * 1e-3 + RESTS


SWITCHED = """
world: {gravity: [0, 0, -10], shapes: {floor: {type: plane}}}
params: {z: 0.3}
bodies: {ball: {pose: {xyz: [0, 0, "${z}"]}, shapes: {s: {type: sphere, radius: 0.1, density: 1000}}}}
contact: {enabled: false}
solver: {type: affine, dt: 2e-3, tolerance: 1e-9}
run: {duration: 0.5}
batch: {worlds: 2, vary: {params.z: {list: [0.3, 0.12]}}}
events:
  - {at: 0.1, set: {contact.enabled: true}}
  - {at: 0.4, set: {contact.enabled: false}}
"""


@pytest.mark.slow  # test_a_ball_falls_through_a_floor_whose_contact_ends tells the switch
def test_barriers_begin_and_end_with_events(device):
    """A ball falls, lies on the floor while contact is on, and falls through; one that is in the floor then ends by name."""
    h, g, document = 2e-3, 10.0, scene(SWITCHED)
    spec = resolve(document)
    first, *later = build_phases(document, spec)
    run = SOLVERS["affine"](first.model, spec.solver, RunPlan(h, 1, 250, CHANNELS), device, later)
    blocks = [run.initial(), *(run.advance(1) for _ in range(250))]
    column = {name: np.concatenate([block.columns[name] for block in blocks]) for name in blocks[0].columns}
    height = column["frames/body_q"][:, :, 0, 2]
    n = np.arange(51)
    assert height[:51] == pytest.approx(np.array([0.3, 0.12]) - (g * h * h / 2 * n * (n + 1))[:, None], abs=1e-9)
    assert np.ptp(height[190:201, 0]) < RESTS
    assert 0.1 < height[200, 0] < 0.1 + 1e-3  # within d_hat
    assert height[200, 0] - height[200:, 0] == pytest.approx(g * h * h / 2 * n * (n + 1), abs=RESTS)
    mass = 1000 * 4 / 3 * np.pi * 0.1**3
    assert np.diff(column["energy/drift"][200:, 0]) == pytest.approx(np.full(50, -mass * (g * h) ** 2 / 2), rel=1e-6)
    assert column["diag/status"][[50, 51, -1]].tolist() == [[0, 0], [0, 9], [0, 9]]
    ((step, text),) = [(event.step, event.text) for block in blocks for event in block.events if event.code == "SC631"]
    assert (step, text) == (50, "shapes `floor` and `ball/s` cut or touch each other when contact begins")


REFUSED = {
    "solver.dt: 1e-4": "SC316",
    "run.duration: 2": "SC316",
    "output.every: 0.1": "SC316",
    "batch.worlds: 3": "SC316",
    "bodies.arm.mass: 2": "SC316",
    "bodies.arm.pose.xyz: [0, 0, 0]": "SC316",
    "joints.rail.q: 0.3": "SC316",
    "joints.rail.type: revolute": "SC316",
    "joints.rail.axis: [0, 1, 0]": "SC316",
    "joints.rail.parent: arm": "SC316",
    "joints.rail.drive.mode: velocity": "SC316",
    "joints.rail.init_angle: 0.1": "SC316",
    "params.k: 3": "SC316",
    "initial.joint_q.rail: 1": "SC303",
    "forces.cord.type: wrench": "SC316",
    "forces.push.frame: body": "SC316",
    "forces.push.body: arm": "SC316",
    "signals.wave: {sine: {amplitude: 1, frequency: 1}}": "SC316",
    "signals.hops.table.interpolate: cubic": "SC316",
    "forces.wag.value: 3": "SC316",
    "forces.spin.value: $wave": "SC316",
    "world.shapes: {}": "SC316",
    "joints.rail.limits: [0, 1]": "SC303",
    "joints.nobody.damping: 1": "SC303",
    "joints.rail.limit.lower: 1": "SC303",
    "joints.rail.damping: true": "SC203",
    "joints.rail.damping: -1": "SC231",
    "joints.rail.damping: 3 kg": "SC213",
    "forces.cord.slack: 1": "SC203",
    "forces.push.force: [1, 2]": "SC205",
    "joints.rail.damping: [1, 2]": "SC205",
    "joints.rail.driving: {aim_distance: 1}": "SC501",
    "signals.hops.table.value: [1, 2]": "SC205",
    "signals.hops.table.time[1]: 7": "SC232",
    "joints.rail.compliance: 1e-6": "SC501",
    "": "SC205",
}


@pytest.mark.parametrize("change", REFUSED)
def test_what_no_event_sets(change):
    """Each by its code, at its line."""
    path, _, value = change.partition(": ")
    entry = f'      "{path}": {value}\n' if path else ""
    start = WIRED + "events:\n  - at: 0.01\n    set:\n" + ("      joints.wrist.damping: 0.2\n" if path else "")
    found = faults_of(entry if path else "      {}\n", start)
    assert (REFUSED[change], 0) in [(code, at) for code, at, _ in found], found


def test_an_event_after_the_end_is_a_warning():
    document = scene(with_event(WIRED, {"joints.rail.damping": 1.0}, 0.06))
    resolve(document)
    assert [(fault.code, fault.where.path) for fault in warnings(document)] == [("SC233", "events[0].at")]


def test_changes_of_structure_that_slip_through_are_refused(monkeypatch):
    """The guard behind the list of paths: whatever changes another table than it may."""
    monkeypatch.setattr("simcli.spec.checks.events.fixed_part", lambda steps: "")
    found = faults_of("      bodies.arm.mass: 3\n", WIRED + "events:\n  - at: 0.01\n    set:\n")
    assert [(code, line) for code, line, _ in found] == [("SC316", 0)]
    assert "bodies.mass" in found[0][2]


def many_events(n):
    """Values of all kinds, in turn and again, each another number; a list and one of its numbers; a table's times."""
    rng = np.random.default_rng(7)
    entries, t = [], 0.0
    paths = list(CHANGES)
    for k in range(n):
        path = paths[k % len(paths)]
        value = CHANGES[path]
        if isinstance(value, bool):
            value = bool(rng.integers(2))
        elif isinstance(value, list):
            value = rng.uniform(0.5, 2.0, len(value)).tolist()
        else:
            value = float(rng.uniform(0.5, 2.0))
        t += 1e-3
        entries.append(f"  - {{at: {t:.4f}, set: {json.dumps({path: value})}}}")
    more = (
        {"forces.push.force": [1, 2, 3]},
        {"forces.push.force[0]": 9},
        {"forces.push.force": [4, 5, 6]},
        {"signals.hops.table.time": [0, 0.03, 0.04]},
        {"joints.rail.friction": 0.0},
        {"joints.rail.friction": 1.5},
        {"joints.rail.limit": [-1, 1]},
        {"joints.rail.limit": [-1, 0.5]},
    )
    for k, change in enumerate(more):
        entries.append(f"  - {{at: {t + 1e-3 * (k + 1):.4f}, set: {json.dumps(change)}}}")
    return "events:\n" + "\n".join(entries) + "\n"


def test_models_of_phases_are_those_built_one_by_one():
    """Scenes after events are laid over each other and built together; the oracle resolves and builds each alone."""
    text = WIRED.replace("run: {duration: 0.06}", "run: {duration: 0.1}")
    document = scene(text + many_events(2 * len(CHANGES)))
    spec = resolve(document)
    phases = build_phases(document, spec)
    plain = scene(text)
    values = {}
    for phase, event in zip(phases[1:], sorted(spec.events, key=lambda one: one.at), strict=True):
        for path, value in event.set.items():
            if path == "forces.push.force":
                values.pop("forces.push.force[0]", None)
            values.pop(path, None)
            values[path] = value
        wanted = build(resolve(plain, values), plain)
        others = {name for _, name in differences(phase.model, wanted)} - {"q_given", "qd_given", "start", "world_seed"}
        assert not others, (event.set, others)


def test_events_that_change_numbers_share_the_work(monkeypatch):
    """Thousands of them are checked and built in seconds: no work of the size of the scene for each."""
    from simcli.model import phases
    from simcli.spec.checks import solver_fields as capabilities

    calls = {"check_capabilities": 0, "build_together": 0, "build_worlds": 0}

    def counted(room, name):
        function = getattr(room, name)

        def call(*arguments, **options):
            calls[name] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(room, name, call)

    counted(capabilities, "check_capabilities")
    counted(phases, "build_together")
    counted(phases, "build_worlds")
    entries = "".join(f"  - {{at: {k * 1e-4:.4f}, set: {{joints.rail.damping: {1 + k}}}}}\n" for k in range(1, 300))
    document = scene(WIRED + "events:\n" + entries)
    found = build_phases(document, resolve(document))
    assert found[-1].model.dofs.damping.max() == 300.2  # of the joint, and of a spring on it
    assert calls == {"check_capabilities": 1, "build_together": 1, "build_worlds": 1}
    assert len(representatives(found[0].model, found[1:])) == 1
    assert found[-1].model.links is found[0].model.links


def test_patterns_that_matter_stand_for_themselves():
    """A solver's layout sees each kind of phase, whatever the number of phases."""
    settings = ("friction: 0", "friction: 1", "friction: 2", "limit: [-1, 1]", "limit: [-2, 2]", "friction: 0")
    entries = "".join(f"  - {{at: {k * 1e-3}, set: {{joints.rail.{one}}}}}\n" for k, one in enumerate(settings, 1))
    document = scene(WIRED + "events:\n" + entries)
    first, *later = build_phases(document, resolve(document))
    assert [phase.step for phase in representatives(first.model, later)] == [1, 2, 4, 6]


def test_models_that_stand_for_phases_are_looked_at_once():
    """What laws a run needs is found once, from the few models that stand for all of its many phases."""
    events = "".join(f"  - {{at: {0.01 * (k + 1)}, set: {{joints.rail.damping: {0.1 + k}}}}}\n" for k in range(30))
    document = scene(SPRING[: SPRING.index("events:")] + "events:\n" + events)
    first, *later = build_phases(document, resolve(document))
    standing = stated_alike((first.model, *(phase.model for phase in representatives(first.model, later))), False)
    bodies = {one.__wrapped__.__code__ for one in (needs_law, has_limit)}
    ran = 0

    def watch(frame, event, argument):
        nonlocal ran
        ran += event == "call" and frame.f_code in bodies

    sys.setprofile(watch)
    try:
        laws = [constraints_of(replace(phase.model, lawful=standing[0].lawful)).laws for phase in later]
    finally:
        sys.setprofile(None)
    assert ran == 0
    assert all(one.dof.tolist() == laws[0].dof.tolist() for one in laws)


def calls_of_an_event(device, n_events=10, n_worlds=1, more=""):
    """Calls of Python and of C that lay out the tables of one event."""
    events = "".join(f"  - {{at: {0.01 * (k + 1)}, set: {{joints.rail.damping: {0.1 + k}}}}}\n" for k in range(n_events))
    text = SPRING[: SPRING.index("events:")].replace("forces:\n", f"forces:\n{more}")
    run = EventRun(f"{text}batch: {{worlds: {n_worlds}}}\nevents:\n{events}", device)
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    later = run.phases[2:]  # the first one is the second that stands for all
    arenas = [Arena(run.solver.device, n_worlds) for _ in later]
    sys.setprofile(counted)
    try:
        for phase, arena in zip(later, arenas, strict=True):
            run.solver.lay_out(run.solver.stated(phase.model), arena)
    finally:
        sys.setprofile(None)
    return count // len(later)  # the call that ends the counting is one more


def test_the_tables_of_an_event_are_laid_out_in_as_many_calls_whatever_is_there(device):
    """Of thousands of events each takes no time for worlds, other events, and what no event changes."""
    cords = "".join(
        f"  c{k}: {{type: spring, a: {{world: [-2, {k}, 0]}}, b: m/hook, stiffness: 5, rest_length: 2}}\n" for k in range(20)
    )
    alone = calls_of_an_event(device)
    assert alone > 0
    assert calls_of_an_event(device, n_worlds=1000) == calls_of_an_event(device, n_worlds=2)  # one world has threads besides
    assert calls_of_an_event(device, n_events=30) == alone
    assert calls_of_an_event(device, more=cords) == alone
