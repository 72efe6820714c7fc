"""Events that would throw bodies: a joint that is enabled while it is open, a prescribed position that jumps."""

import json

import numpy as np
import pytest
from support.forward import blocks_of, columns_of
from support.process import simcli as command
from support.solver_modes import MODES

import simcli
from simcli.errors import UsageError
from simcli.model.snapshot import Status
from simcli.spec import document_of_text

pytestmark = pytest.mark.usefixtures("packs_of_two")
NO_SWITCH = (("natural", "generalized_alpha"),)  # which refuses events of this kind by name
ARM = {"mass": 1, "com": [0.5, 0, 0], "inertia": {"diag": [0.01, 0.1, 0.1]}}
GAPS = [0.0, 1e-7, 1e-5, 0.4]  # [rad], of the worlds; 1e-5 is closed in float32 alone


def two_arms(**more) -> dict:
    """Two arms at rest, at an angle to each other."""
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    return {"simcli": 1, "world": {"gravity": [0, 0, 0]}, "bodies": {"a": ARM, "b": {"pose": {"xyz": [1, 0, 0]}, **ARM}},
            "joints": {"p": {**hinge, "parent": "world", "child": "a", "at": [0, 0, 0]},
                       "q": {**hinge, "parent": "a", "child": "b", "at": [1, 0, 0]}},
            "run": {"duration": 0.02}, "output": {"every": 0.01, "channels": ["state", "energy"]}, **more}  # fmt: skip


def run(folder, scene: dict, *more: str):
    path = folder / "scene.json"
    path.write_text(json.dumps(scene))
    return command("run", path, "-o", folder / "out.h5", "-q", "--force", *more)


def switched(solver: str, integrator: str) -> dict:
    """A scene in whose worlds an event welds the arms, which are apart by GAPS."""
    scene = two_arms(events=[{"at": 0.01, "set": {"joints.w.enabled": True}}],
                     solver={"type": solver, "integrator": integrator, "dt": 1e-3})  # fmt: skip
    scene["joints"]["w"] = {"type": "fixed", "parent": "a", "child": "b", "at": [1, 0, 0], "enabled": False, "loop": True}
    scene["params"], scene["joints"]["q"]["q"] = {"gap": 0.0}, "${gap}"
    scene["batch"] = {"worlds": len(GAPS), "vary": {"params.gap": {"list": GAPS}}}
    return scene


@pytest.mark.parametrize(("solver", "integrator"), [mode for mode in MODES if mode not in NO_SWITCH])
def test_open_joint_ends_its_world(tmp_path, device, solver, integrator):
    blocks = blocks_of(document_of_text(json.dumps(switched(solver, integrator)), tmp_path / "scene.json"), device)
    ends = [event for block in blocks for event in block.events if event.code != "SC606"]
    assert [(event.code, event.world, event.step, event.severity) for event in ends] == [
        ("SC619", world, 10, 2) for world in (2, 3)]  # fmt: skip
    assert ends[-1].text == "an event enables joint `w` while its frames are 0.389 m or rad apart"
    columns = columns_of(blocks)
    assert columns["diag/status"].tolist() == [[0] * 4, [0] * 4, [0, 0, Status.UNASSEMBLED, Status.UNASSEMBLED]]
    assert np.abs(columns["frames/joint_q"][-1, :2, 1]).max() < 2e-6  # they close what is less than the bound


TURNED = {"fixed": {}, "prismatic": {"axis": [0, 1, 0]}, "revolute": {"axis": [0, 0, 1]}, "cylindrical": {"axis": [1, 0, 0]}}


def half_turns(solver: str, integrator: str, kinds: dict, **world) -> dict:
    """Pairs of arms which an event joins, by a kind each; in each world but the first another one is half a turn off."""
    found = {"simcli": 1, "world": {"gravity": [0, 0, 0], **world}, "bodies": {}, "joints": {},
             "solver": {"type": solver, "integrator": integrator, "dt": 1e-3},
             "run": {"duration": 0.01}, "output": {"every": 5e-3, "channels": ["energy"]},
             "batch": {"worlds": 1 + len(kinds), "vary": {}},
             "events": [{"at": 5e-3, "set": {f"joints.{kind}.enabled": True for kind in kinds}}]}  # fmt: skip
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
    expected = [(n + 1, f"an event enables joint `{kind}` while its frames"[:42], pytest.approx(np.pi, abs=1e-6))
                for n, kind in enumerate(TURNED)]  # fmt: skip
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
        scene = two_arms(events=[{"at": 0.01, "set": {"joints.q.enabled": False}}],
                         solver={"type": solver, "integrator": integrator, "dt": 1e-3})  # fmt: skip
        assert "SC501" in run(tmp_path, scene).stderr


SIGNALS = {"step": {"step": {"before": 0, "after": 0.4, "time": 0.01}},
           "stairs": {"table": {"time": [0, 0.01], "value": [0, 0.4], "interpolate": "previous"}},
           "even": {"step": {"before": 0, "after": 0, "time": 0.01}},
           "late": {"step": {"before": 0, "after": 0.4, "time": 0.03}},
           "flat": {"table": {"time": [0, 0.01], "value": [0, 0], "interpolate": "previous"}}}  # fmt: skip


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


EVENTS = [({"position": 0}, {"joints.q.motion.position": 0.4}, "from 0 to 0.4 at 0.01 s"),
          ({"position": "$path"}, {"signals.path.constant": -1}, "from 0 to -1 at 0.01 s"),
          ({"velocity": 0}, {"joints.q.motion.velocity": 0.4}, "")]  # fmt: skip


@pytest.mark.parametrize(("motion", "changes", "text"), EVENTS)
def test_event_that_moves_a_position_is_refused(tmp_path, motion, changes, text):
    scene = two_arms(signals={"path": {"constant": 0}}, events=[{"at": 0.01, "set": changes}],
                     solver={"type": "generalized", "dt": 1e-3})  # fmt: skip
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
