"""`batch.vary` on any number of a scene: world k of a varied batch is the single run with that value, bit for bit."""

import json

import numpy as np
import pytest
from support.many import run_many
from support.runs import MIXED, committed, differing, worlds_of

import simcli as package

pytestmark = pytest.mark.slow

# Path: two values. Each is a number that the authored scene does not hold, so that a value that is dropped shows.
VALUES = {
    "bodies.arm.mass": (0.9, 1.7),
    "bodies.hand.inertia.diag[1]": (0.028, 0.035),
    "bodies.arm.inertia.full": ([[0.11, 0.01, 0], [0.01, 0.12, 0.005], [0, 0.005, 0.06]],
                                [[0.12, 0.0, 0], [0.0, 0.13, 0.0], [0, 0.0, 0.07]]),
    "bodies.cart.com": ([0.05, 0.02, -0.03], [0.01, -0.1, 0.0]),
    "bodies.hand.points.tip[2]": (-0.25, -0.1),
    "bodies.probe.velocity.angular": ([1.0, 0.0, 2.0], [0.0, -2.0, 0.5]),
    "joints.rail.axis": ([1.0, 0.1, 0.3], [0.9, 0.0, -0.4]),
    "joints.wrist.at[2]": (-0.55, -0.65),
    "joints.rail.damping": (0.1, 0.9),
    "joints.wrist.armature": (0.02, 0.03),
    "joints.rail.drive.stiffness": (20.0, 55.0),
    "joints.rail.drive.damping": (1.0, 4.0),
    "joints.rail.drive.target": (-0.3, 0.5),
    "world.gravity": ([0.0, 0.0, -1.62], [0.5, 0.0, -3.7]),
    "world.gravity[2]": (-9.0, -11.0),
    "forces.cord.rest_length": (0.8, 1.3),
    "forces.cord.damping": (0.1, 0.9),
    "forces.push.force[2]": (0.5, 3.0),
    "forces.spin.value": (0.1, -0.4),
    "params.k": (25.0, 70.0),
    "joints.rail.q": (-0.15, 0.05),
    "joints.wrist.qd": (-2.0, 3.0),
    "joints.shoulder.qd[1]": (0.0, -1.5),
}  # fmt: skip
APART = ("world.gravity[2]", "bodies.arm.inertia.full")  # meet another path of the table in the same number
TOGETHER = tuple(path for path in VALUES if path not in APART)
# Alone each is a kernel of its own, because what varies is loaded differently: one of each room of the model.
ALONE = ("bodies.arm.mass", "joints.rail.axis", "joints.rail.drive.stiffness", "world.gravity[2]", "params.k",
         "joints.rail.q")  # fmt: skip
SHORT = ["--set", "run.duration=0.02", "--set", "output.channels=[state, energy]", "-q"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "mixed.yaml"
    path.write_text(MIXED)
    return path


def batch_words(scene, name, paths):
    lists = {path: {"list": list(VALUES[path])} for path in paths}
    return ["run", scene, "-o", name, "--worlds", 2, "--set", f"batch.vary={json.dumps(lists)}", *SHORT]


def single_words(scene, name, paths, world):
    sets = [word for path in paths for word in ("--set", f"{path}={json.dumps(VALUES[path][world])}")]
    return ["run", scene, "-o", name, *sets, *SHORT]


@pytest.fixture(scope="module")
def runs(scene, tmp_path_factory):
    """Rows by name: the scene as it is, `together`, each of ALONE, and the single runs of their worlds."""
    folder = tmp_path_factory.mktemp("runs")
    commands = {"plain": single_words(scene, "plain.h5", (), 0)}
    for name, paths in {"together": TOGETHER, **{path: (path,) for path in ALONE}}.items():
        commands[name] = batch_words(scene, f"{name}.h5", paths)
        for world in (0, 1):
            commands[f"{name}={world}"] = single_words(scene, f"{name}={world}.h5", paths, world)
    for path in TOGETHER:
        commands.setdefault(f"{path}=1", single_words(scene, f"{path}=1.h5", (path,), 1))
    for (code, talk), words in zip(run_many(list(commands.values()), folder), commands.values(), strict=True):
        assert code == 0, (words, talk)
    rows = {name: committed(folder / f"{name}.h5") for name in commands}
    rows["folder"] = folder
    return rows


@pytest.mark.parametrize("world", [0, 1])
@pytest.mark.parametrize("name", ["together", *ALONE])
def test_a_world_is_the_single_run_with_its_values(runs, name, world):
    batch, single = runs[name], runs[f"{name}={world}"]
    assert not differing(worlds_of(batch, [world]), worlds_of(single, [0]))


@pytest.mark.parametrize("path", TOGETHER)
def test_every_value_matters(runs, path):
    """So that equal bytes above cannot come from values that nobody reads."""
    assert differing(worlds_of(runs[f"{path}=1"], [0]), worlds_of(runs["plain"], [0]))


def test_params_hold_what_was_varied(runs):
    with package.open(runs["folder"] / "together.h5") as run:
        params = run.params
    for path in TOGETHER:
        values = np.asarray(VALUES[path], float)
        if values.ndim == 1:
            assert np.array_equal(params[path], values), path
        else:
            for k in range(values.shape[1]):
                assert np.array_equal(params[f"{path}[{k}]"], values[:, k]), path


def test_draws_have_the_statistics_that_were_asked_for(scene, tmp_path):
    """Bounds are five standard errors: a right generator fails once in a million seeds, and the seed is fixed."""
    n = 400
    draws = {"joints.rail.q": "uniform(-0.2, 0.4)", "joints.rail.qd": "normal(1.0, 0.5)",
             "joints.wrist.qd": "log_uniform(0.1, 10)", "joints.wrist.q": "linspace(0, 1)"}  # fmt: skip
    words = ["run", scene, "-o", "a.h5", "--worlds", n, "--set", "output.channels=[state]", "--duration", 0.01, "-q"]
    words += [word for pair in draws.items() for word in ("--vary", "=".join(pair))]
    ((code, talk),) = run_many([words], tmp_path)
    assert code == 0, talk
    with package.open(tmp_path / "a.h5") as run:
        params, seeds = run.params, run.world_seed
        started = {"joints.rail.q": run.joint("rail").q[0][:, 0], "joints.wrist.qd": run.joint("wrist").qd[0][:, 0]}
    for path, values in started.items():
        assert np.array_equal(params[path], values), path
    assert len(set(seeds.tolist())) == n
    uniform, normal = params["joints.rail.q"], params["joints.rail.qd"]
    log = np.log(params["joints.wrist.qd"] / 0.1) / np.log(100.0)
    assert np.allclose(params["joints.wrist.q"], np.linspace(0.0, 1.0, n), rtol=0, atol=1e-15)
    for fractions in ((uniform + 0.2) / 0.6, log):
        assert 0.0 <= fractions.min() < 0.05
        assert 0.95 < fractions.max() <= 1.0
        assert abs(fractions.mean() - 0.5) < 5.0 / np.sqrt(12.0 * n)
    assert abs(normal.mean() - 1.0) < 5.0 * 0.5 / np.sqrt(n)
    assert abs(normal.std() - 0.5) < 5.0 * 0.5 / np.sqrt(2.0 * n)
    assert abs(np.corrcoef(uniform, normal)[0, 1]) < 5.0 / np.sqrt(n)
