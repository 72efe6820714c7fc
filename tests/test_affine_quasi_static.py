"""Quasi-static affine bodies: no velocity is kept, steps creep to equilibrium by a ratio that is known."""

import numpy as np
import pytest
from support.contact_scenes import run
from support.runs import committed

MASS, STIFFNESS, GRAVITY, REST = 2.0, 800.0, 9.81, 0.4


def hanging(h, n, **body):
    """A block on a spring, in a row beside one that falls, and one that swings on the spring and keeps its velocity."""
    solid = {"mass": MASS, "inertia": {"diag": [0.1, 0.1, 0.1]}, "points": {"top": [0, 0, 0]}}
    spring = {"type": "spring", "stiffness": STIFFNESS, "rest_length": REST}
    quiet = {"affine": {"quasi_static": True, **body}}
    return {
        "simcli": 1,
        "bodies": {"hangs": {**solid, **quiet, "pose": {"xyz": [0, 0, -REST]}},
                   "falls": {**solid, **quiet, "pose": {"xyz": [3, 0, 0]}},
                   "swings": {**solid, "pose": {"xyz": [6, 0, -REST]}}},
        "forces": {"still": {**spring, "a": {"world": [0, 0, 0]}, "b": "hangs/top"},
                   "free": {**spring, "a": {"world": [6, 0, 0]}, "b": "swings/top"}},
        "solver": {"type": "affine", "dt": h, "integrator": "bdf1", "tolerance": 1e-10},
        "run": {"duration": n * h},
        "output": {"every": h, "channels": ["state", "energy"]},
    }  # fmt: skip


def rows(folder, content, name="run"):
    code, found = run(folder, name, content)
    found.close()
    assert code == 0
    return committed(folder / f"{name}.h5")


def test_creep_is_the_closed_form(tmp_path):
    """On the spring what is left shrinks by (m/h^2) / (m/h^2 + k) in each step; in free fall each step is g h^2."""
    h, n = 0.02, 60
    found = rows(tmp_path, hanging(h, n))
    z, steps = found["frames/body_q"][:, 0, :, 2], np.arange(n + 1)
    ratio = MASS / h**2 / (MASS / h**2 + STIFFNESS)
    sag = MASS * GRAVITY / STIFFNESS
    np.testing.assert_allclose(z[:, 0], -REST - sag * (1 - ratio**steps), atol=1e-8)
    np.testing.assert_allclose(z[:, 1], -GRAVITY * h * h * steps, atol=1e-8)
    np.testing.assert_allclose(found["frames/body_qd"][1:, 0, 1, 2], -GRAVITY * h, atol=1e-7)
    assert z[:, 2].min() < -REST - 1.5 * sag  # one that keeps its velocity goes on


def test_the_ledger_knows_what_is_taken(tmp_path):
    """No kinetic energy is kept; what inertia takes is dissipated, and the drift is of first order."""
    drift = []
    for name, h in (("long", 0.02), ("short", 0.005)):
        n = round(1.2 / h)
        content = hanging(h, n)
        del content["bodies"]["swings"], content["forces"]["free"], content["bodies"]["falls"]
        found = rows(tmp_path, content, name)
        assert found["energy/kinetic"].max() == 0.0
        ratio = MASS / h**2 / (MASS / h**2 + STIFFNESS)
        moves = MASS * GRAVITY / STIFFNESS * (1 - ratio) * ratio ** np.arange(n)
        assert found["energy/dissipated"][-1, 0] == pytest.approx(MASS / h**2 * (moves**2).sum(), rel=1e-6)
        drift.append(np.abs(found["energy/drift"][-1, 0]))
        assert drift[-1] == pytest.approx(STIFFNESS / 2 * (moves**2).sum(), rel=1e-4)
    assert drift[1] < 0.3 * drift[0]


@pytest.mark.parametrize(("changes", "words"), [
    ({"velocity": {"linear": [1, 0, 0]}}, "velocity of a quasi-static body"),
    ({"kinematic": True}, "quasi-static kinematic body"),
    ({"integrator": "bdf2"}, "quasi-static body with bdf2"),
    ({"solver": "natural"}, "`affine` of a body"),
    ({"joints": {"a": {"type": "revolute", "parent": "world", "child": "falls", "axis": [0, 0, 1], "qd": 1.0}}},
     "`qd` of joint `a`"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused_by_name(tmp_path, capsys, changes, words):
    from support.contact_scenes import write

    from simcli.cli.doorman import run_command

    content = hanging(0.01, 2)
    solver = {"integrator": changes.pop("integrator", "bdf1")}
    if changes.pop("solver", None):
        solver = {"type": "natural", "integrator": "zhong06", "tolerance": 1e-10}
    content["solver"] |= solver
    content["joints"] = changes.pop("joints", {})
    content["bodies"]["falls"] |= changes
    code = run_command(["check", str(write(tmp_path, "bad", content))], debug=False, as_json=False)
    seen = capsys.readouterr()
    assert code != 0
    assert words in seen.out + seen.err


def test_auto_takes_the_integrator_that_can(tmp_path):
    content = hanging(0.01, 2)
    content["solver"]["integrator"] = "auto"
    rows(tmp_path, content)
