"""Parameters that are written where they stand, against tables that are built anew: the same bytes and refusals."""

import numpy as np
import pytest
from test_simulation import CASES, fresh, opened, same

from simcli.errors import SceneError
from simcli.simulation.parameter_columns import ParameterColumns

pytestmark = pytest.mark.usefixtures("packs_of_two")
SCENE = """
simcli: 1
bodies:
  a: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
  b: {pose: {xyz: [1, 0, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
joints:
  a: {type: revolute, parent: world, child: a, axis: [0, 1, 0], q: 0.2, damping: 0.02, limit: {lower: -2, upper: 2}}
  b:
    {type: revolute, parent: a, child: b, axis: [0, 1, 0], q: 0.2,
     drive: {mode: position, target: 0.4, stiffness: 20, damping: 1}}
world: {gravity: [0, 0, -9.81]}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.2}
output: {channels: [state, energy]}
"""
VARIED = ["joints.a.damping", "joints.b.drive.stiffness", "world.gravity", "joints.a.limit.upper"]
LEDGER = ("energy/input", "energy/drift")  # to rounding, where tables of other worlds are moved, too
QUICK = (("generalized", "semi_implicit"),)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("set") / "arm.yaml"
    path.write_text(SCENE)
    return path


def written(sim, path):
    """Whether the next numbers of a path, among those before, are written where they stand."""
    return sim._parameters._columns[path].has(sim._parameters.values[path])


@pytest.mark.parametrize(
    ("solver", "integrator"), [pytest.param(*case, marks=() if case in QUICK else (pytest.mark.slow,)) for case in CASES])
def test_what_is_written_is_what_is_built(scene, monkeypatch, solver, integrator):
    sets = (f"solver.type={solver}", f"solver.integrator={integrator}")
    if integrator == "generalized_alpha":
        sets = (*sets, "joints.a.limit=null", "joints.b.drive.stiffness=20")
    varied = VARIED[:3]
    found = []
    for built_anew in (False, True):
        with opened(scene, *sets, worlds=5, vary=varied) as sim:
            if built_anew:
                monkeypatch.setattr(ParameterColumns, "has", lambda self, values: False)
            draw = np.random.default_rng(3)
            sim.set("joints.a.damping", np.linspace(0.01, 0.5, 5))
            sim.set("joints.b.drive.stiffness", np.linspace(60, 10, 5))
            sim.set("world.gravity", np.linspace([-1, -1, -10.0], [1, 1, -1], 5))
            if not built_anew:
                assert written(sim, "joints.a.damping")
                assert written(sim, "joints.b.drive.stiffness")
            for _ in range(3):
                sim.step(4)
                sim.set("joints.a.damping", draw.uniform(0.01, 0.5, 5))
                sim.set("joints.b.drive.stiffness", draw.uniform(10, 60, 5))
                sim.set("world.gravity", draw.uniform([-1, -1, -9], [1, 1, -2], (5, 3)))
            sim.set("joints.a.damping", [0.3, 0.4], worlds=[1, 4])
            assert np.array_equal(sim.get("joints.a.damping")[[1, 4], 0], [0.3, 0.4])
            sim.set("joints.a.damping", [0.0, 0.1, 0.2, 0.0, 0.3])
            sim.step(4)
            found.append(fresh(sim))
            sim.reset()
            sim.step(4)
            found.append(fresh(sim))
    for one, other in ((0, 2), (1, 3)):
        assert not same(found[one], found[other], but=LEDGER)
        for path in LEDGER:
            assert np.abs(found[one][path] - found[other][path]).max() < 1e-13


def test_what_was_never_checked_is_built(scene):
    with opened(scene, worlds=3, vary=VARIED) as sim:
        sim.set("joints.a.damping", [0.1, 0.2, 0.3])
        sim.step(2)
        before = fresh(sim)
        with pytest.raises(SceneError):
            sim.set("joints.a.damping", [0.1, -0.2, 0.3])
        with pytest.raises(SceneError, match="target"):
            sim.set("joints.b.drive.stiffness", [1, 0, 2])  # a target without stiffness
        with pytest.raises(SceneError):
            sim.set("joints.a.limit.upper", [1, -3, 2])  # below the lower one
        assert not same(fresh(sim), before)
        sim.set("joints.a.limit.upper", [0.01, 2, 2])  # beyond which the joint is
        assert sim.status.tolist() == [8, 0, 0] or sim.failures
        assert not written(sim, "joints.a.limit.upper")
