"""Tables of events: what no event sets, phases built together, and the calls that lay out their tables."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from support.event_scenes import CHANGES, SPRING, WIRED, EventRun, with_event
from support.scenes import faults_of, scene

from simcli.kernels.memory.arena import Arena
from simcli.model import build
from simcli.model.constraints.build import constraints_of, stated_alike
from simcli.model.joints.lawful import has_limit, needs_law
from simcli.model.phases.stretches import build_phases, differences, representatives
from simcli.spec import resolve
from simcli.spec.resolve import warnings

REFUSED = {
    "solver.dt: 1e-4": "SC316", "run.duration: 2": "SC316", "output.every: 0.1": "SC316", "batch.worlds: 3": "SC316",
    "bodies.arm.mass: 2": "SC316", "bodies.arm.pose.xyz: [0, 0, 0]": "SC316", "joints.rail.q: 0.3": "SC316",
    "joints.rail.type: revolute": "SC316", "joints.rail.axis: [0, 1, 0]": "SC316", "joints.rail.parent: arm": "SC316",
    "joints.rail.drive.mode: velocity": "SC316", "joints.rail.init_angle: 0.1": "SC316", "params.k: 3": "SC316",
    "initial.joint_q.rail: 1": "SC303", "forces.cord.type: wrench": "SC316", "forces.push.frame: body": "SC316",
    "forces.push.body: arm": "SC316", "signals.wave: {sine: {amplitude: 1, frequency: 1}}": "SC316",
    "signals.hops.table.interpolate: cubic": "SC316", "forces.wag.value: 3": "SC316",
    "forces.spin.value: $wave": "SC316", "world.shapes: {}": "SC316", "joints.rail.limits: [0, 1]": "SC303",
    "joints.nobody.damping: 1": "SC303", "joints.rail.limit.lower: 1": "SC303", "joints.rail.damping: true": "SC203",
    "joints.rail.damping: -1": "SC231", "joints.rail.damping: 3 kg": "SC213", "forces.cord.slack: 1": "SC203",
    "forces.push.force: [1, 2]": "SC205", "joints.rail.damping: [1, 2]": "SC205",
    "joints.rail.driving: {aim_distance: 1}": "SC501", "signals.hops.table.value: [1, 2]": "SC205",
    "signals.hops.table.time[1]: 7": "SC232", "joints.rail.compliance: 1e-6": "SC501", "": "SC205",
}  # fmt: skip


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
    monkeypatch.setattr("simcli.spec.checks.runs.events.fixed_part", lambda steps: "")
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
    more = ({"forces.push.force": [1, 2, 3]}, {"forces.push.force[0]": 9}, {"forces.push.force": [4, 5, 6]},
            {"signals.hops.table.time": [0, 0.03, 0.04]}, {"joints.rail.friction": 0.0}, {"joints.rail.friction": 1.5},
            {"joints.rail.limit": [-1, 1]}, {"joints.rail.limit": [-1, 0.5]})  # fmt: skip
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
    import simcli.model.phases.stretches as phases
    import simcli.spec.honours.solver_fields as honours

    calls = {"check_honours": 0, "build_together": 0, "build_worlds": 0}

    def counted(room, name):
        function = getattr(room, name)

        def call(*arguments, **options):
            calls[name] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(room, name, call)

    counted(honours, "check_honours")
    counted(phases, "build_together")
    counted(phases, "build_worlds")
    entries = "".join(f"  - {{at: {k * 1e-4:.4f}, set: {{joints.rail.damping: {1 + k}}}}}\n" for k in range(1, 300))
    document = scene(WIRED + "events:\n" + entries)
    found = build_phases(document, resolve(document))
    assert found[-1].model.dofs.damping.max() == 300.2  # of the joint, and of a spring on it
    assert calls == {"check_honours": 1, "build_together": 1, "build_worlds": 1}
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
    arenas = [Arena(device, n_worlds) for _ in later]
    sys.setprofile(counted)
    try:
        for phase, arena in zip(later, arenas, strict=True):
            run.solver.lay_out(run.solver.stated(phase.model), arena)
    finally:
        sys.setprofile(None)
    return count // len(later)  # the call that ends the counting is one more


def test_the_tables_of_an_event_are_laid_out_in_as_many_calls_whatever_is_there(device):
    """Of thousands of events each takes no time for worlds, other events, and what no event changes."""
    cords = "".join(f"  c{k}: {{type: spring, a: {{world: [-2, {k}, 0]}}, b: m/hook, stiffness: 5, rest_length: 2}}\n"
                    for k in range(20))  # fmt: skip
    alone = calls_of_an_event(device)
    assert alone > 0
    assert calls_of_an_event(device, n_worlds=1000) == alone
    assert calls_of_an_event(device, n_events=30) == alone
    assert calls_of_an_event(device, more=cords) == alone
