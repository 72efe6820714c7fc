"""Limits that an event puts behind their coordinates: such worlds end by name, in every solver, and the others go on."""

import numpy as np
import pytest
from support.forward import CHANNELS
from support.scenes import scene

from simcli.model.phases.stretches import build_phases
from simcli.model.snapshot import Status
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import resolve

pytestmark = pytest.mark.usefixtures("packs_of_two")
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
        joints.append(f"  {name}: {{type: {kind}, parent: world, child: b_{name}, at: [0, 0, {n}], axis: {axis}, "
                      f"limit: {first}{more}}}")  # fmt: skip
    return "\n".join([
        "world: {gravity: [0, 0, 0]}", f"params: {{{', '.join(params)}}}", "bodies:", *bodies, "joints:", *joints,
        f"batch: {{worlds: {len(WORLDS)}, vary: {{{', '.join(values)}}}}}",
        f"solver: {{type: {solver}, dt: {DT}}}", f"run: {{duration: {STEPS * DT}}}",
        "events:", f"  - {{at: {AT * DT}, set: {{{SETS}}}}}"])  # fmt: skip


@pytest.mark.parametrize("solver", [
    pytest.param(one, marks=pytest.mark.slow) if one in ("maximal", "natural") else one for one in SOLVERS])  # fmt: skip
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
        ("SC617", k, AT, 2) for k in range(1, len(WORLDS))]  # fmt: skip
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
