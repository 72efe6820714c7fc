"""Damping that steps of rk4 cannot follow: said before the run, with the step that can, and of no scene without need."""

from pathlib import Path

import pytest

from simcli.cli import doorman
from simcli.cli.runs import run
from simcli.errors import Exit
from simcli.model.tree.explicit import stiff_damping
from simcli.pipeline import Request, build_model, prepare, read_scene

HOME = Path(__file__).parents[1]
TEMPLATES = HOME / "simcli" / "docs" / "templates"
CRANK = TEMPLATES / "slider-crank.yaml"
BOUND = 2.785293563405282  # of rate * dt on the negative axis, the root of z^3 + 4 z^2 + 12 z + 24 at its sign
GOOD = """simcli: 1
bodies: {rod: {mass: 2, com: [0.5, 0, 0], inertia: {diag: [0.1, 0.3, 0.3]}}}
joints: {pin: {type: revolute, parent: world, child: rod, axis: [0, 0, 1], damping: 40, armature: 0.2}}
world: {gravity: [0, 0, 0]}
solver: {integrator: rk4, dt: 0.1}
run: {duration: 1}
"""
INERTIA = 2 * 0.5**2 + 0.3 + 0.2  # of the rod about its pin, with the armature


def found(path, dt, *sets):
    return stiff_damping(build_model(*read_scene(path, sets)), dt)


def test_the_largest_step_of_a_damped_rod_is_that_of_the_method(tmp_path):
    path = tmp_path / "rod.yaml"
    path.write_text(GOOD)
    told = found(path, 0.1)
    assert (told.joint, told.rate) == ("pin", pytest.approx(40 / INERTIA))
    assert told.largest_dt == pytest.approx(BOUND * INERTIA / 40)
    assert found(path, told.largest_dt) is None
    assert found(path, 0.1, "joints.pin.damping=0") is None
    assert found(path, 0.1, "joints.pin.friction=1") is None  # which may hold it
    assert found(path, 0.1, "joints.pin.motion={position: 0}") is None
    assert found(path, 1.0, "joints.pin.damping=4").largest_dt == pytest.approx(BOUND * INERTIA / 4)


def test_a_drive_is_damped_by_half_of_it_where_it_is_critical(tmp_path):
    """(lambda + w)^2 = 0 with c = 2 w I, k = w^2 I: the rate is half of c / I."""
    path, rate = tmp_path / "rod.yaml", 30.0
    path.write_text(GOOD)
    drive = f"joints.pin.drive={{mode: position, target: 1, stiffness: {rate**2 * INERTIA}, damping: {2 * rate * INERTIA}}}"
    told = found(path, 0.15, "joints.pin.damping=0", drive)
    assert told.largest_dt == pytest.approx(BOUND / rate, rel=1e-6)  # rel: a double root
    assert found(path, 0.9 * BOUND / rate, "joints.pin.damping=0", drive) is None


def test_a_closed_loop_makes_a_joint_heavier():
    """At its dead centre a slider-crank moves its crank and the near end of its rod, each as a rod about one end."""
    rate = 10 / (0.2 * 0.1**2 / 3 + 0.6 * 0.1**2 / 3)
    told = found(CRANK, 1e-3)
    assert (told.joint, told.rate) == ("shaft", pytest.approx(rate))
    assert told.largest_dt == pytest.approx(BOUND / rate)


@pytest.mark.parametrize("path", [*sorted(TEMPLATES.glob("*.yaml")), *sorted((HOME / "scenes").glob("*.yaml"))],
                         ids=lambda path: path.stem)  # fmt: skip
def test_no_scene_is_told_so_that_is_stable(path):
    """Of the gallery two would blow up with rk4, and do: each at its own dt of 1 ms, and not at a tenth of it."""
    document, spec = read_scene(path)
    dt = spec.solver.dt
    told = stiff_damping(build_model(document, spec), dt)
    assert (told is not None) == (path.stem in ("slider-crank", "servo")), told
    if told:
        assert 0.1 * dt < told.largest_dt < dt


def test_check_and_run_say_it_with_its_code(tmp_path, capsys):
    path = tmp_path / "rod.yaml"
    path.write_text(GOOD)
    assert doorman.run_command(["check", str(path)], debug=False, as_json=False) == Exit.OK
    said = capsys.readouterr().err
    assert "warning[SC620]: the damping of joint `pin`" in said
    assert "rod.yaml:5:" in said
    run._say_beginning(prepare(Request(path, tmp_path / "rod.h5", ())), 0)
    said = capsys.readouterr().err
    assert "warning: the damping of joint `pin` takes its velocity away at 40 1/s, which steps of 0.1 s" in said
    assert "take a solver.dt of at most 0.07 s, or solver.integrator: implicit: simcli explain SC620" in said
    path.write_text(GOOD.replace("rk4", "implicit"))
    assert doorman.run_command(["check", str(path)], debug=False, as_json=False) == Exit.OK
    assert "SC620" not in capsys.readouterr().err
