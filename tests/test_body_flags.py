"""Kinds of bodies in forward kinematics and projection: what is of another kind keeps its values, or is left out."""

import json

import h5py
import numpy as np
import pytest
from support.process import run_here

import simcli as package
from simcli.errors import Exit

BodyFlags = package.BodyFlags

pytestmark = pytest.mark.usefixtures("scalar_code")
ROUNDING = 1e-14  # [m], of lengths of order one
OLD = 777.0
SCENE = """
simcli: 1
bodies:
  rod: {pose: {xyz: [0, 0, 1]}, mass: 1, com: [0, 0, 0.5], inertia: {diag: [0.1, 0.1, 0.1]}}
  table: {kinematic: true}
  stone: {pose: {xyz: [5, 0, 0]}, mass: 1, inertia: {diag: [1, 1, 1]}}
joints:
  pin: {type: revolute, parent: rod, child: table, at: [0, 0, 1], axis: [0, 1, 0]}  # places the rod, which is its parent
  slide: {type: prismatic, parent: world, child: table, at: [0, 0, 0], axis: [1, 0, 0], motion: {position: 0.0}}
run: {duration: 0.1}
batch: {worlds: 2}
"""
STILL = ("--set", "bodies.table={mass: 1, inertia: {diag: [1, 1, 1]}}")
SHIFT, ANGLE = 0.3, 0.4


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE)
    return path


def poses():
    """By hand: the rod turns with the table as its child, so by minus the angle about y."""
    half = -ANGLE / 2
    rod = [SHIFT, 0, 1, 0, np.sin(half), 0, np.cos(half)]
    return np.array([rod, [SHIFT, 0, 0, 0, 0, 0, 1], [5, 0, 0, 0, 0, 0, 1]])


def moved(scene):
    """Model, a state with coordinates of its own whose bodies hold an old value, and where the coordinates lie."""
    model, state = package.load(scene)
    place = {name: slice(*model.joints.q_start[j : j + 2]) for j, name in enumerate(model.joints.name)}
    state.joint_q[:, place["slide"]], state.joint_q[:, place["pin"]] = SHIFT, ANGLE
    state.body_q[...] = OLD
    return model, state, place


@pytest.mark.parametrize(("flags", "kept"), [(BodyFlags.ALL, ()), (BodyFlags.DYNAMIC, (1,)), (BodyFlags.KINEMATIC, (0, 2)),
                                         (1, (1,)), (0, (0, 1, 2))])  # fmt: skip
def test_bodies_of_other_kinds_keep_their_poses(scene, flags, kept, device):
    model, state, _ = moved(scene)
    package.eval_fk(model, state, body_flag_filter=flags)
    wanted = poses()
    wanted[list(kept)] = OLD
    assert np.abs(state.body_q - wanted).max() < ROUNDING


def test_joints_that_place_bodies_of_other_kinds_keep_their_coordinates(scene, device):
    model, state, place = moved(scene)
    cases = ((BodyFlags.DYNAMIC, "pin", ANGLE, "slide"), (BodyFlags.KINEMATIC, "slide", SHIFT, "pin"))
    for flags, written, value, kept in cases:
        state.body_q[...], state.joint_q[...] = poses(), OLD
        package.eval_ik(model, state, body_flag_filter=flags)
        assert np.abs(state.joint_q[:, place[written]] - value).max() < ROUNDING
        assert (state.joint_q[:, place[kept]] == OLD).all()


def test_views_filter_together_with_masks(scene, device):
    model, state, place = moved(scene)
    view = package.ArticulationView(model, "table")
    view.eval_fk(state, mask=np.array([True, False]), body_flag_filter=BodyFlags.DYNAMIC)
    assert np.abs(state.body_q[0, 0] - poses()[0]).max() < ROUNDING
    assert (state.body_q[0, 1:] == OLD).all()
    assert (state.body_q[1] == OLD).all()
    state.body_q[...], state.joint_q[...] = poses(), OLD
    view.eval_ik(state, mask=np.array([False, True]), body_flag_filter=BodyFlags.KINEMATIC)
    assert np.abs(state.joint_q[1, place["slide"]] - SHIFT).max() < ROUNDING
    assert (state.joint_q[1, place["pin"]] == OLD).all()
    assert (state.joint_q[0] == OLD).all()


def test_a_flag_that_means_nothing_is_refused(scene, device):
    model, state, _ = moved(scene)
    with pytest.raises(ValueError, match="BodyFlags"):
        package.eval_fk(model, state, body_flag_filter=4)


def command(*words):
    return run_here(*words)


def test_commands_give_bodies_and_joints_of_one_kind(scene, capfd):
    folder = scene.parent
    q = ("--q", f"slide={SHIFT}", "--q", f"pin={ANGLE}", "--world", "0")
    for kind, bodies, joints in (("dynamic", [0, 2], {"pin": [ANGLE], "stone_free": [5, 0, 0, 0, 0, 0, 1]}),
                                 ("kinematic", [1], {"slide": [SHIFT]})):  # fmt: skip
        assert command("fk", scene, *q, "--body-flags", kind, "-o", folder / f"{kind}.h5") == Exit.OK
        with package.open(folder / f"{kind}.h5") as result:
            assert result.labels("body_q")[0] == tuple(("rod", "table", "stone")[b] for b in bodies)
            assert np.abs(result["body_q"][0] - poses()[bodies]).max() < ROUNDING
        assert command("fk", scene, *q, "-o", folder / "all.csv", "--force") == Exit.OK
        words = ("--states", folder / "all.csv", "--body-flags", kind, "-o", folder / f"{kind}-q.h5")
        assert command("ik", scene, *words) == Exit.OK
        with package.open(folder / f"{kind}-q.h5") as result:
            found = dict(zip(result.labels("joint_q")[0], result["joint_q"][0], strict=True))
        wanted = {}
        for name, values in joints.items():
            wanted |= {name if len(values) == 1 else f"{name}:{k}": value for k, value in enumerate(values)}
        assert found.keys() == wanted.keys()
        assert all(abs(found[name] - wanted[name]) < ROUNDING for name in wanted)
    capfd.readouterr()


def test_a_residual_of_another_kind_does_not_count(scene, capfd):
    folder = scene.parent
    command("fk", scene, "--world", "0", "-o", folder / "all.h5")
    with h5py.File(folder / "all.h5", "r+") as file:
        file["states/body_q"][0, 1, 1] += 0.25  # the table leaves its slide sideways, and the rod with it
        file["states/body_q"][0, 0, 1] += 0.25
    capfd.readouterr()
    assert command("ik", scene, "--states", folder / "all.h5", "--body-flags", "kinematic", "--json") == Exit.NEGATIVE
    assert json.loads(capfd.readouterr().out)["residual_position"][0] == pytest.approx(0.25, abs=ROUNDING)
    with h5py.File(folder / "all.h5", "r+") as file:
        file["states/body_q"][0, :2, 1] -= 0.25
        file["states/body_q"][0, 0, 1] += 0.25
    assert command("ik", scene, "--states", folder / "all.h5", "--body-flags", "kinematic") == Exit.OK
    assert command("ik", scene, "--states", folder / "all.h5", "--body-flags", "dynamic") == Exit.NEGATIVE
    capfd.readouterr()


def test_a_kind_that_no_body_is_of_is_refused(scene, capfd):
    command("fk", scene, "-o", scene.parent / "all.csv")
    for words in (("fk", scene, "--select", "stone", "--body-flags", "kinematic"),
                  ("ik", scene, *STILL, "--states", scene.parent / "all.csv", "--body-flags", "kinematic")):  # fmt: skip
        assert command(*words) == Exit.USAGE
        assert "--body-flags kinematic: none" in "".join(capfd.readouterr())
