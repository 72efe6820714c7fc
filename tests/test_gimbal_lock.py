"""Joints whose three axes fall together: said before the run, and in the reason of the world that ends there."""

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import simcli as package
from simcli.cli import doorman
from simcli.cli.runs import run
from simcli.errors import Exit, SceneError
from simcli.model.tree.gimbals import ADVICE, LOCKED, gimbal_locks
from simcli.pipeline import Request, build_model, prepare, read_scene

ORTHOGONAL = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
CYCLED = [[0, 0, 1], [1, 0, 0], [0, -1, 0]]
SCENE = """simcli: 1
world: {gravity: [0, 0, 0]}
bodies: {rod: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}}
joints: {pin: JOINT}
solver: {type: SOLVER, dt: 1e-3}
run: {duration: 0.5}
BATCH
"""
D6 = "{{type: d6, parent: world, child: rod, q: {q}, qd: {qd}, axes: {{{linear}angular: {axes}}}}}"


def written(folder, axes=ORTHOGONAL, q=(0, "89.9 deg", 0), qd=(0, 0, 0), linear=(), solver="generalized", batch="",
            joint=None):  # fmt: skip
    path = folder / "scene.yaml"
    values, rates = ([*[0] * len(linear), *given] for given in (q, qd))
    joint = joint or D6.format(q=json.dumps(values).replace('"', ""), qd=json.dumps(rates), axes=json.dumps(axes),
                               linear=f"linear: {json.dumps(linear)}, " if linear else "")  # fmt: skip
    path.write_text(SCENE.replace("JOINT", joint).replace("SOLVER", solver).replace("BATCH", batch))
    return path


def said_by_check(path, capsys):
    assert doorman.run_command(["check", str(path)], debug=False, as_json=False) == Exit.OK
    return capsys.readouterr().err


@pytest.mark.parametrize("axes", [ORTHOGONAL, CYCLED])
@pytest.mark.parametrize("linear", [[], [[0, 0, 1]]])
def test_a_lock_is_where_the_rates_lose_a_direction(axes, linear, tmp_path):
    """The oracle: the determinant of what the rates give, by turns of scipy, and the angle between the turned axes."""
    model = build_model(*read_scene(written(tmp_path, axes, q=[0, 0, 0], linear=linear), ()))
    rng = np.random.default_rng(3)
    q = rng.uniform(-np.pi, np.pi, (400, model.n_q))
    q[::4, -2] = np.pi / 2 + rng.normal(0, 0.05, 100)
    a, b, c = np.array(axes, float)
    locked = 0
    for row in q:
        A, B = (Rotation.from_rotvec(axis * angle) for axis, angle in ((a, row[-3]), (b, row[-2])))
        rates = np.stack([a, A.apply(b), (A * B).apply(c)], axis=1)
        found = gimbal_locks(model, row[None])
        assert bool(found) == (abs(np.linalg.det(rates)) < LOCKED)
        locked += len(found)
        if found:
            first, third = rates[:, 0], rates[:, 2]
            assert found[0].angle == pytest.approx(np.degrees(np.arcsin(np.linalg.norm(np.cross(first, third)))), abs=1e-6)
    assert 30 < locked < 200


def test_check_and_run_tell_a_start_at_lock(tmp_path, capsys):
    path = written(tmp_path)
    said = said_by_check(path, capsys)
    assert "warning[SC640]: two of the three axes of joint `pin` are " in said
    assert "take a `ball` joint" in said
    assert "scene.yaml:4:" in said
    run._say_beginning(prepare(Request(path, tmp_path / "a.h5", ())), 0)
    assert "simcli explain SC640" in capsys.readouterr().err


def test_a_start_where_axes_are_one_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(SceneError) as caught:
        build_model(*read_scene(written(tmp_path, q=(0, "90 deg", 0)), ()))
    (fault,) = caught.value.faults
    assert (fault.code, fault.hint) == ("SC452", ADVICE)
    assert "joint `pin` begins at gimbal lock" in fault.message
    build_model(*read_scene(written(tmp_path, q=(0, "90 deg", 0), solver="maximal"), ()))


def test_check_looks_at_all_worlds(tmp_path, capsys):
    batch = "batch: {worlds: 3, vary: {joints.pin.q: {list: [[0, 0, 0], [0, 0.5, 0], [0, -1.56, 1]]}}}"
    assert "in 1 of 3 worlds, most in number 2" in said_by_check(written(tmp_path, q=[0, 0, 0], batch=batch), capsys)


@pytest.mark.parametrize("others", [
    {"solver": "maximal"}, {"solver": "natural"}, {"q": [0, 1.4, 0]}, {"q": ["90 deg", 0, "90 deg"]},
    {"axes": ORTHOGONAL[:2], "q": [0, "90 deg"], "qd": [0, 0]}, {"joint": "{type: ball, parent: world, child: rod}"},
])  # fmt: skip
def test_what_has_no_lock_is_told_of_none(others, tmp_path, capsys):
    assert "SC640" not in said_by_check(written(tmp_path, **others), capsys)


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "rk4"])
def test_a_world_that_ends_at_lock_says_what_to_do(integrator, tmp_path):
    """A body tumbles through the place at which the axes of a d6 fall together; in maximal coordinates it goes on."""
    words = ["-q", "--device", "cpu", "--force"]
    words += ["--set", f"solver.integrator={integrator}", "--set", "solver.max_velocity=100"]
    path, out = written(tmp_path, q=[0, 1.2708, 0], qd=[-0.323, 3.0, 0.338]), tmp_path / "a.h5"
    line = ["run", str(path), "-o", str(out), *words]
    assert doorman.run_command(line, debug=False, as_json=False) == Exit.SIMULATION
    with package.open(out) as file:
        (event,) = [one for one in file.events if one.severity > 1]
    assert event.code == "SC602"
    assert event.text.endswith("; at gimbal lock? then take a ball joint, or the maximal solver")
    assert doorman.run_command([*line, "--set", "solver.type=maximal", "--set", "solver.integrator=semi_implicit"],
                               debug=False, as_json=False) == Exit.OK  # fmt: skip
