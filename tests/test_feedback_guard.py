"""Loops of signals that drive themselves end their worlds (SC625); what follows its law stands, whatever work it does."""

import numpy as np
import pytest
from support.contact_scenes import run

from simcli.model.snapshot import Status

DT = 1e-3
# Brakes -g m/T qd on a mass of 1 kg, sampled once a step, once a step and late by one, and every tenth step; T the time
# between samples. They are stable below 2 sin(pi/(4 d + 2)), d samples late. A servo does all the work that there is from
# rest, and one holds a load.
BRAKES = {"brake": {"expression": f"-${{brake/{DT}}}*{{joint.brake.qd}}"},
          "late": {"expression": f"-${{late/{DT}}}*{{joint.late.qd}}", "delay": DT},
          "slow": {"expression": f"-${{slow/{10 * DT}}}*{{joint.slow.qd}}", "rate": 0.1 / DT}}  # fmt: skip
SERVOS = {"servo": {"expression": "900*(1 - {joint.servo.q}) - 40*{joint.servo.qd}"},
          "load": {"expression": "900*(1 - {joint.load.q}) - 40*{joint.load.qd} + 9.81"}}  # fmt: skip
STABLE = {"brake": 1.2, "late": 0.5, "slow": 1.6}
UNSTABLE = {"brake": 5.0, "late": 1.8, "slow": 2.6}
WORLDS = [STABLE, *({**STABLE, name: gain} for name, gain in UNSTABLE.items())]
INTEGRATORS = [("generalized", "implicit"), ("maximal", "semi_implicit"), ("natural", "zhong06"), ("affine", "bdf2"),
               *(pytest.param(*pair, marks=pytest.mark.slow) for pair in (
                   ("generalized", "semi_implicit"), ("generalized", "rk4"), ("natural", "moreau"),
                   ("natural", "generalized_alpha"), ("affine", "bdf1")))]  # fmt: skip


def sliders(laws, starts, gravity=-9.81):
    """Masses on rails, each driven by its law; those that hold loads go up and down."""
    bodies = {name: {"mass": 1, "inertia": {"diag": [1, 1, 1]}, "pose": {"xyz": [0, k, 0]}} for k, name in enumerate(laws)}
    joints = {name: {"type": "prismatic", "parent": "world", "child": name, "at": [0, k, 0], "qd": starts.get(name, 0.0),
                     "axis": [0, 0, 1] if name == "load" else [1, 0, 0], "drive": {"mode": "effort", "target": f"$u_{name}"}}
              for k, name in enumerate(laws)}  # fmt: skip
    return {"simcli": 1, "world": {"gravity": [0, 0, gravity]}, "bodies": bodies, "joints": joints,
            "signals": {f"u_{name}": law for name, law in laws.items()}, "output": {"every": 0.01}}  # fmt: skip


@pytest.mark.parametrize(("solver", "integrator"), INTEGRATORS)
def test_brakes_that_drive_end_and_servos_stand(solver, integrator, tmp_path):
    content = sliders({**BRAKES, **SERVOS}, dict.fromkeys(BRAKES, 1.0))
    content |= {"params": STABLE, "solver": {"type": solver, "integrator": integrator, "dt": DT}, "run": {"duration": 1.0},
                "batch": {"worlds": 4, "vary": {f"params.{name}": {"list": [world[name] for world in WORLDS]}
                                                for name in STABLE}}}  # fmt: skip
    code, seen = run(tmp_path, f"{solver}-{integrator}", content)
    assert code == 4
    assert seen.diag.status[-1].tolist() == [Status.OK, *[Status.LOOP_LOST] * 3]
    ended = {event.world: event for event in seen.events if event.severity == 2}
    assert {world: (event.code, seen.bodies[event.body]) for world, event in ended.items()} == {
        k: ("SC625", name) for k, name in enumerate(UNSTABLE, 1)}  # fmt: skip
    for name in SERVOS:
        assert seen.joint(name).q[-1, 0, 0] == pytest.approx(1.0, abs=1e-5)
    speeds = np.array([np.nanmax(np.abs(seen.joint(name).qd[:, k, 0])) for k, name in enumerate(UNSTABLE, 1)])
    assert (speeds < 500.0).all()  # what is unstable by far grows by more than ten times in three samples


def test_a_spring_that_is_sampled_ends_where_it_has_swung_up(tmp_path):
    """-k q held for a step swings wider by exp(w^2 h/4 t); a servo that oscillates, and a slow chirp of it, stand."""
    laws = {"spring": {"expression": "-${stiff}*{joint.spring.q}"},
            "servo": {"expression": "4000*({signal.chirp} - {joint.servo.q}) - 80*{joint.servo.qd}"}}  # fmt: skip
    content = sliders(laws, {"spring": 1.0}, 0.0)
    content["signals"]["chirp"] = {"expression": "0.3*sin(2*pi*(0.2 + 0.5*t)*t)"}
    content |= {"params": {"stiff": 100.0}, "solver": {"type": "generalized", "integrator": "implicit", "dt": DT},
                "run": {"duration": 4.0}, "batch": {"worlds": 2, "vary": {"params.stiff": {"list": [100.0, 1e4]}}}}
    code, seen = run(tmp_path, "spring", content)
    assert code == 4
    assert seen.diag.status[-1].tolist() == [Status.OK, Status.LOOP_LOST]
    (event,) = (event for event in seen.events if event.severity == 2)
    assert (event.code, event.world) == ("SC625", 1)
    assert np.nanmax(np.abs(seen.joint("spring").qd[:, 1, 0])) < 400.0
