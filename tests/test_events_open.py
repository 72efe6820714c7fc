"""Events that would throw bodies: a joint that is enabled while it is open, a prescribed position that jumps.

Limits that an event puts behind their coordinates: such worlds end by name, in every solver, and the others go on.

Delays that differ between worlds: each world has the bytes of a run with its own delay, and its own guard of loops.
"""

import json

import numpy as np
import pytest
from support.forward import CHANNELS, blocks_of, columns_of
from support.process import simcli as command
from support.scenes import scene
from support.solver_modes import MODES
from test_simulation import fresh, opened
from test_simulation import run as run_of_delays

import simcli
from simcli.errors import UsageError
from simcli.model.phases import build_phases
from simcli.model.snapshot import Status
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import document_of_text, resolve

pytestmark = pytest.mark.usefixtures("packs_of_two")

NO_SWITCH = (("natural", "generalized_alpha"),)  # which refuses events of this kind by name
ARM = {"mass": 1, "com": [0.5, 0, 0], "inertia": {"diag": [0.01, 0.1, 0.1]}}
GAPS = [0.0, 1e-7, 1e-5, 0.4]  # [rad], of the worlds; 1e-5 is closed in float32 alone


def two_arms(**more) -> dict:
    """Two arms at rest, at an angle to each other."""
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    return {
        "simcli": 1,
        "world": {"gravity": [0, 0, 0]},
        "bodies": {"a": ARM, "b": {"pose": {"xyz": [1, 0, 0]}, **ARM}},
        "joints": {
            "p": {**hinge, "parent": "world", "child": "a", "at": [0, 0, 0]},
            "q": {**hinge, "parent": "a", "child": "b", "at": [1, 0, 0]},
        },
        "run": {"duration": 0.02},
        "output": {"every": 0.01, "channels": ["state", "energy"]},
        **more,
    }


def run(folder, scene: dict, *more: str):
    path = folder / "scene.json"
    path.write_text(json.dumps(scene))
    return command("run", path, "-o", folder / "out.h5", "-q", "--force", *more)


def switched(solver: str, integrator: str) -> dict:
    """A scene in whose worlds an event welds the arms, which are apart by GAPS."""
    scene = two_arms(
        events=[{"at": 0.01, "set": {"joints.w.enabled": True}}],
        solver={"type": solver, "integrator": integrator, "dt": 1e-3},
    )
    scene["joints"]["w"] = {"type": "fixed", "parent": "a", "child": "b", "at": [1, 0, 0], "enabled": False, "loop": True}
    scene["params"], scene["joints"]["q"]["q"] = {"gap": 0.0}, "${gap}"
    scene["batch"] = {"worlds": len(GAPS), "vary": {"params.gap": {"list": GAPS}}}
    return scene


@pytest.mark.parametrize(("solver", "integrator"), [mode for mode in MODES if mode not in NO_SWITCH])
def test_open_joint_ends_its_world(tmp_path, device, solver, integrator):
    blocks = blocks_of(document_of_text(json.dumps(switched(solver, integrator)), tmp_path / "scene.json"), device)
    ends = [event for block in blocks for event in block.events if event.code != "SC606"]
    assert [(event.code, event.world, event.step, event.severity) for event in ends] == [
        ("SC619", world, 10, 2) for world in (2, 3)
    ]
    assert ends[-1].text == "an event enables joint `w` while its frames are 0.389 m or rad apart"
    columns = columns_of(blocks)
    assert columns["diag/status"].tolist() == [[0] * 4, [0] * 4, [0, 0, Status.UNASSEMBLED, Status.UNASSEMBLED]]
    assert np.abs(columns["frames/joint_q"][-1, :2, 1]).max() < 2e-6  # they close what is less than the bound


TURNED = {"fixed": {}, "prismatic": {"axis": [0, 1, 0]}, "revolute": {"axis": [0, 0, 1]}, "cylindrical": {"axis": [1, 0, 0]}}


def half_turns(solver: str, integrator: str, kinds: dict, **world) -> dict:
    """Pairs of arms which an event joins, by a kind each; in each world but the first another one is half a turn off."""
    found = {
        "simcli": 1,
        "world": {"gravity": [0, 0, 0], **world},
        "bodies": {},
        "joints": {},
        "solver": {"type": solver, "integrator": integrator, "dt": 1e-3},
        "run": {"duration": 0.01},
        "output": {"every": 5e-3, "channels": ["energy"]},
        "batch": {"worlds": 1 + len(kinds), "vary": {}},
        "events": [{"at": 5e-3, "set": {f"joints.{kind}.enabled": True for kind in kinds}}],
    }
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    for n, (kind, more) in enumerate(kinds.items()):
        a, b, place = f"{kind}_a", f"{kind}_b", [0.4 * n, 0, 0]
        found["bodies"] |= {name: {"pose": {"xyz": place}, **ARM} for name in (a, b)}
        found["joints"] |= {f"h_{body}": {**hinge, "parent": "world", "child": body, "at": place} for body in (a, b)}
        found["joints"][kind] = {"type": kind, "parent": a, "child": b, "at": place, "enabled": False, "loop": True, **more}
        found["batch"]["vary"][f"joints.h_{b}.q"] = {"list": [np.pi * (world == n + 1) for world in range(1 + len(kinds))]}
    return found


def half_turns_found(tmp_path, device, scene) -> list[tuple]:
    blocks = blocks_of(document_of_text(json.dumps(scene), tmp_path / "scene.json"), device, frozenset(("energy",)))
    events = [event for block in blocks for event in block.events if event.code == "SC619"]
    return [(event.world, event.text[:42], event.value) for event in events]


@pytest.mark.parametrize(("solver", "integrator"), [mode for mode in MODES if mode not in NO_SWITCH])
def test_joints_that_are_half_a_turn_off_end_their_worlds(tmp_path, device, solver, integrator):
    """Where the products of the directions that they hold are zero as well."""
    expected = [
        (n + 1, f"an event enables joint `{kind}` while its frames"[:42], pytest.approx(np.pi, abs=1e-6))
        for n, kind in enumerate(TURNED)
    ]
    assert half_turns_found(tmp_path, device, half_turns(solver, integrator, TURNED)) == expected


@pytest.mark.parametrize("solver", ["generalized", "maximal", "natural"])
def test_joint_that_is_half_a_turn_off_in_a_plane_ends_its_world(tmp_path, device, solver):
    found = half_turns_found(tmp_path, device, half_turns(solver, "auto", {"fixed": {}}, plane="xz"))
    assert [(world, value) for world, _text, value in found] == [(1, pytest.approx(np.pi, abs=1e-6))]


@pytest.mark.parametrize(("solver", "integrator"), [("generalized", "implicit"), ("natural", "zhong06"), ("affine", "bdf2")])
def test_joint_away_from_its_position_ends_its_world(tmp_path, device, solver, integrator):
    scene = switched(solver, integrator)
    scene["joints"]["w"] |= {"type": "revolute", "axis": [0, 1, 0], "motion": {"position": 0}}
    blocks = blocks_of(document_of_text(json.dumps(scene), tmp_path / "scene.json"), device)
    ends = [(event.world, event.value) for block in blocks for event in block.events if event.code == "SC619"]
    assert ends == [(world, pytest.approx(GAPS[world])) for world in (2, 3)]


def test_joint_that_gives_way_and_becomes_rigid_ends_its_world(tmp_path, device):
    scene = switched("generalized", "implicit")
    scene["params"] = {"gap": 0.0, "soft": 0.0}
    scene["joints"]["w"] |= {"enabled": True, "compliance": "${soft}"}
    scene["batch"] = {"worlds": 3, "vary": {"params.soft": {"list": [0.0, 1e-8, 1e-2]}}}
    scene["events"] = [{"at": 0.01, "set": {"joints.w.compliance": 0}}]
    scene["world"] = {"gravity": [0, 0, -9.81]}
    blocks = blocks_of(document_of_text(json.dumps(scene), tmp_path / "scene.json"), device)
    ends = [(event.world, event.text[:40]) for block in blocks for event in block.events if event.code == "SC619"]
    assert ends == [(2, "an event takes the compliance of joint `w`"[:40])]


@pytest.mark.parametrize(("precision", "closed"), [("float64", 2), pytest.param("float32", 3, marks=pytest.mark.slow)])
def test_open_joint_is_told_by_a_run(tmp_path, precision, closed):
    ended = run(tmp_path, switched("generalized", "implicit"), "--precision", precision)
    assert ended.returncode == 4
    with simcli.open(tmp_path / "out.h5") as found:
        assert [event.world for event in found.events if event.code == "SC619"] == list(range(closed, 4))
        assert np.flatnonzero(np.isnan(found.joint("q").q[-1, :, 0])).tolist() == list(range(closed, 4))


def test_switch_is_refused_by_name(tmp_path):
    for solver, integrator in NO_SWITCH:
        scene = two_arms(
            events=[{"at": 0.01, "set": {"joints.q.enabled": False}}],
            solver={"type": solver, "integrator": integrator, "dt": 1e-3},
        )
        assert "SC501" in run(tmp_path, scene).stderr


SIGNALS = {
    "step": {"step": {"before": 0, "after": 0.4, "time": 0.01}},
    "stairs": {"table": {"time": [0, 0.01], "value": [0, 0.4], "interpolate": "previous"}},
    "even": {"step": {"before": 0, "after": 0, "time": 0.01}},
    "late": {"step": {"before": 0, "after": 0.4, "time": 0.03}},
    "flat": {"table": {"time": [0, 0.01], "value": [0, 0], "interpolate": "previous"}},
}


@pytest.mark.parametrize("solver", ["generalized", "affine"])
@pytest.mark.parametrize("name", SIGNALS)
def test_position_that_jumps_is_refused(tmp_path, name, solver):
    scene = two_arms(signals={"path": SIGNALS[name]}, solver={"type": solver, "dt": 1e-3})
    scene["joints"]["q"]["motion"] = {"position": "$path"}
    (tmp_path / "scene.json").write_text(json.dumps(scene))
    ended = command("check", tmp_path / "scene.json")
    if name in ("even", "late", "flat"):
        assert ended.returncode == 0, ended.stderr
    else:
        assert ended.returncode == 1
        assert "error[SC478]: the prescribed position of joint `q` jumps at 0.01 s" in ended.stderr + ended.stdout


EVENTS = [
    ({"position": 0}, {"joints.q.motion.position": 0.4}, "from 0 to 0.4 at 0.01 s"),
    ({"position": "$path"}, {"signals.path.constant": -1}, "from 0 to -1 at 0.01 s"),
    ({"velocity": 0}, {"joints.q.motion.velocity": 0.4}, ""),
]


@pytest.mark.parametrize(("motion", "changes", "text"), EVENTS)
def test_event_that_moves_a_position_is_refused(tmp_path, motion, changes, text):
    scene = two_arms(
        signals={"path": {"constant": 0}}, events=[{"at": 0.01, "set": changes}], solver={"type": "generalized", "dt": 1e-3}
    )
    scene["joints"]["q"]["motion"] = motion
    ended = run(tmp_path, scene)
    assert ended.returncode == (3 if text else 0), ended.stderr
    if text:
        assert f"SC478]: the prescribed position of joint `q` jumps {text}" in ended.stderr


def test_program_cannot_move_a_position_at_once(tmp_path):
    scene = two_arms(solver={"type": "generalized", "dt": 1e-3})
    scene["joints"]["q"]["motion"] = {"position": 0}
    path = tmp_path / "scene.json"
    path.write_text(json.dumps(scene))
    with simcli.Simulation(path, vary=["joints.q.motion.position"]) as sim:
        sim.step(5)
        with pytest.raises(UsageError, match=r"prescribed position of joint `q` jumps from 0 to 0\.4 at 0\.005 s"):
            sim.set("joints.q.motion.position", 0.4)
        sim.step(5)
        assert sim.get("joint.q.q")[0, 0] == 0.0


DT, STEPS, AT, FRAME = 1e-3, 120, 95, 40  # [s] and steps; the event is in the midst of the last frame
RATES = {"pin": 1.4, "rod": 1.3, "closing": 1.5, "turned": 70.0, "switched": 1.2}  # [rad/s, m/s] of what will be outside
DIGITS, BEHIND = 1e-5, 4.0  # relative: of a text, and by which implicit formulas miss a uniform turn, times (h w)^2
SHARE = 0.1  # [rad, m], upper end of the limits that the event sets

# Bodies that turn about their centres of mass, and one that slides: nothing acts on them, so that each goes on uniformly.
WORLDS = (None, *RATES)
PARTS = ("pin", "rod", "closing", "turned", "switched", "soft", "stopped")
SETS = (
    "joints.pin.limit: [-1, 0.1], joints.rod.limit: [-1, 0.1], joints.closing.limit: [-1, 0.1], "
    "joints.turned.limit: [-1, 6.4], joints.switched.enabled: true, "
    "joints.soft.limit: {lower: -1, upper: 0.1, stiffness: 5, damping: 0}, joints.stopped.limit: [-2, 0.11]"
)


def written(solver):
    """The scene: in world k the k-th of the joints of RATES is fast, and at rest in the others."""
    params, values, bodies, joints = [], [], [], []
    for n, name in enumerate(PARTS):
        rate = "1.5" if name in ("soft", "stopped") else f"'${{{name}}}'"
        slides = name == "rod"
        spin = f"linear: [{rate}, 0, 0]" if slides else f"angular: [0, {rate}, 0]"
        if name in RATES:
            params.append(f"{name}: 0")
            values.append(f"params.{name}: {{list: {[RATES[name] if one == name else 0.0 for one in WORLDS]}}}")
        loop = name in ("closing", "turned", "switched")
        velocity = f", velocity: {{{spin}}}" if loop else ""
        bodies.append(f"  b_{name}: {{pose: {{xyz: [0, 0, {n}]}}, mass: 1, inertia: {{diag: [0.1, 0.2, 0.3]}}{velocity}}}")
        kind, axis = ("prismatic", [1, 0, 0]) if slides else ("revolute", [0, 1, 0])
        more = ", loop: true" if loop else f", qd: {rate}"
        first = {"turned": "[-1, 99]", "switched": "[-1, 0.05]", "stopped": "[-1, 0.1]"}.get(name, "[-1, 1]")
        more += ", enabled: false" if name == "switched" else ""
        joints.append(
            f"  {name}: {{type: {kind}, parent: world, child: b_{name}, at: [0, 0, {n}], axis: {axis}, "
            f"limit: {first}{more}}}"
        )
    return "\n".join(
        [
            "world: {gravity: [0, 0, 0]}",
            f"params: {{{', '.join(params)}}}",
            "bodies:",
            *bodies,
            "joints:",
            *joints,
            f"batch: {{worlds: {len(WORLDS)}, vary: {{{', '.join(values)}}}}}",
            f"solver: {{type: {solver}, dt: {DT}}}",
            f"run: {{duration: {STEPS * DT}}}",
            "events:",
            f"  - {{at: {AT * DT}, set: {{{SETS}}}}}",
        ]
    )


@pytest.mark.parametrize(
    "solver", [pytest.param(one, marks=pytest.mark.slow) if one in ("maximal", "natural") else one for one in SOLVERS]
)
def test_a_limit_set_behind_its_coordinate_ends_the_world(solver, device):
    """In the tree, along a line, of a joint that closes a loop, after a full turn, and of one that is switched on.

    The soft limit that is passed stays, and so does the stop that was met before it is set wider.
    """
    document = scene(written(solver))
    spec = resolve(document)
    first, *later = build_phases(document, spec)
    run = SOLVERS[solver](first.model, spec.solver, RunPlan(DT, FRAME, STEPS // FRAME, CHANNELS), device, later)
    blocks = [run.initial(), *(run.advance(1) for _ in range(STEPS // FRAME))]
    events = [event for block in blocks for event in block.events if event.code != "SC606"]
    assert [(event.code, event.world, event.step, event.severity) for event in events] == [
        ("SC617", k, AT, 2) for k in range(1, len(WORLDS))
    ]
    for event, (name, rate) in zip(events, RATES.items(), strict=True):
        unit = "m" if name == "rod" else "rad"
        upper = {"turned": 6.4, "switched": 0.05}.get(name, SHARE)
        verb = "enables it with its limit" if name == "switched" else "sets its limit to"
        start, end = event.text.split(" is at ")
        assert start == f"joint `{name}`"
        assert end.endswith(f" {unit} when an event {verb} [-1, {upper}] {unit}")
        near = (DIGITS + BEHIND * (DT * rate) ** 2) * rate * AT * DT
        assert float(end.split()[0]) == pytest.approx(rate * AT * DT, rel=0, abs=near)
        assert event.value == pytest.approx(rate * AT * DT - upper, rel=0, abs=near)
        assert first.model.joints.name[event.joint] == name
        assert first.model.bodies.name[event.body] == f"b_{name}"
    status = np.concatenate([block.columns["diag/status"] for block in blocks])
    ended = [Status.OK] + [Status.OUTSIDE_LIMIT] * len(RATES)
    assert status.tolist() == [[Status.OK] * len(WORLDS)] * 3 + [ended]
    q = np.concatenate([block.columns["frames/joint_q"] for block in blocks])
    assert np.isfinite(q[:3]).all()
    assert np.isfinite(q[:, 0]).all()
    assert np.isnan(q[3:, 1:]).all()
    drift = np.concatenate([block.columns["energy/drift"] for block in blocks])
    assert np.isfinite(drift[:, 0]).all()


SCENE = """
simcli: 1
bodies:
  c: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
  d: {pose: {xyz: [0, 1, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
joints:
  c: {type: revolute, parent: world, child: c, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $late}}
  d: {type: revolute, parent: world, child: d, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $seen}}
signals:
  late: {expression: "30*(0.1 - {joint.c.q}) - 5*{joint.c.qd}", rate: 500 Hz, delay: 0}
  seen: {expression: "-5*{sensor.turning.tachometer}"}
sensors:
  turning: {type: tachometer, joint: d, noise: {sigma: 0.01, delay: 0.004}}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.04}
output: {every: 0.01, channels: [state], quantities: [sensor.turning.tachometer]}
batch: {seed: 5, vary: VARY}
"""
LATE, SHOWN = [0.004, 0.0, 0.018, 0.002, 0.004], [0.0, 0.003, 0.001, 0.007, 0.003]
VARY = f"{{signals.late.delay: {{zip: {LATE}}}, sensors.turning.noise.delay: {{zip: {SHOWN}}}}}"


@pytest.fixture(scope="module")
def scene_of_delays(tmp_path_factory):
    path = tmp_path_factory.mktemp("delays") / "late.yaml"
    path.write_text(SCENE.replace("VARY", VARY))
    return path


def test_each_world_has_the_bytes_of_its_own_delay(scene_of_delays, tmp_path):
    wanted = run_of_delays(scene_of_delays, tmp_path / "all.h5")
    with opened(scene_of_delays) as sim:
        for frame in range(1, 5):
            sim.step(10)
            now = fresh(sim)
            for path in ("frames/joint_q", "frames/joint_qd", "frames/quantity"):
                assert np.array_equal(now[path][0], wanted[path][frame]), path
        sim.reset([0, 2], episode=0)
        sim.step(20)
        for path in ("frames/joint_q", "frames/joint_qd", "frames/quantity"):
            assert np.array_equal(fresh(sim)[path][0, [0, 2]], wanted[path][2][[0, 2]]), path
    q = wanted["frames/joint_q"]
    assert len({world.tobytes() for world in q[-1]}) == 5
    for k, (late, shown) in enumerate(zip(LATE, SHOWN, strict=True)):
        one, two = ({"zip": [value] * (k + 1)} for value in (late, shown))
        vary = f"batch.vary={{signals.late.delay: {one}, sensors.turning.noise.delay: {two}}}"
        alone = run_of_delays(scene_of_delays, tmp_path / f"{k}.h5", vary)  # the last of worlds that are alike
        for path in ("frames/joint_q", "frames/joint_qd", "frames/quantity"):
            assert np.array_equal(alone[path][:, k], wanted[path][:, k]), (k, path)


def test_a_delay_is_that_of_a_recurrence(scene_of_delays, tmp_path):
    """What is seen of a sensor without noise is what it showed before."""
    sets = ("sensors.turning.noise.sigma=0", "output.every=1e-3")
    found = run_of_delays(scene_of_delays, tmp_path / "seen.h5", *sets)
    rate, seen = found["frames/joint_qd"][:, :, 1], found["frames/quantity"][..., 0]
    for k, shown in enumerate(SHOWN):
        late = round(shown / 1e-3)
        assert np.array_equal(seen[late:, k], rate[: len(rate) - late, k])
        assert np.array_equal(seen[:late, k], np.full(late, rate[0, k]))


def test_loops_are_guarded_by_their_own_delays(scene_of_delays, tmp_path):
    """The gain of a loop that its delay makes unstable ends that world, and as if it were alone."""
    sets = ['signals.late.expression="-400*{joint.c.qd}"', "run.duration=0.3", "output.every=0.3"]
    ended = []
    for k, delays in enumerate((LATE, LATE[1:2] * 2, LATE[2:3] * 3, LATE[3:4] * 4)):
        path = tmp_path / f"{k}.h5"
        run_of_delays(scene_of_delays, path, *sets, f"batch.vary={{signals.late.delay: {{zip: {delays}}}}}")
        with simcli.open(path) as file:
            ended.append({event.world: event.step for event in file.events if event.code == "SC625"})
    assert len(set(ended[0].values())) > 2
    for k in (1, 2, 3):
        assert ended[0].get(k) == ended[k].get(k)
