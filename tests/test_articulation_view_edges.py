"""ArticulationView at its edges: models that a view has changed, loops, recorded frames, and what is refused."""

from dataclasses import fields, replace

import numpy as np
import pytest
from support.arms import ARMS
from support.forests import close_loop, random_forest, reverse, vary_all
from support.process import python, simcli
from support.robots import apart, crew, members, robots
from support.scenes import scene

import simcli as package
from simcli import rotations as rot
from simcli.analysis.mechanics import evaluate
from simcli.errors import UsageError
from simcli.kernels.algorithms import Algorithms
from simcli.model import build
from simcli.model.assemble import assemble
from simcli.model.groups import Filters, find_group
from simcli.model.joints import edit
from simcli.model.joints.state import State
from simcli.model.tables.model import JointKind
from simcli.spec import resolve

ArticulationView = package.ArticulationView

pytestmark = pytest.mark.usefixtures("scalar_code")
WORLDS = (1, 5)
ROUNDING = 1e-12  # of chains of six joints with coordinates of order one
PROJECTED = 1e-9  # of angles from poses, within a right angle of zero

FOUR_BAR = """
bodies:
  crank: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.1, 0.1, 0.1]}, points: {tip: [1, 0, 0]}}
  rod: {pose: {xyz: [1, 0, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.1, 0.1, 0.1]}}
  rocker: {pose: {xyz: [2, 0, -1]}, mass: 1, com: [0, 0, 0.5], inertia: {diag: [0.1, 0.1, 0.1]}}
joints:
  pin: {type: revolute, parent: world, child: crank, at: [0, 0, 0], axis: [0, 1, 0]}
  knee: {type: revolute, parent: crank, child: rod, at: [1, 0, 0], axis: [0, 1, 0]}
  tie: {type: revolute, parent: rod, child: rocker, at: [2, 0, 0], axis: [0, 1, 0]}
  close: {type: revolute, parent: world, child: rocker, at: [2, 0, -1], axis: [0, 1, 0], loop: true}
"""


def test_links_follow_from_the_tables_bit_for_bit():
    rng = np.random.default_rng(13)
    for n_worlds in WORLDS:
        forest = reverse(rng, random_forest(rng, (1, 3, 6), n_worlds))
        for mechanism in (forest, vary_all(rng, forest), close_loop(rng, forest)):
            model = assemble(mechanism)
            again = edit.relinked(model, model)
            for column in fields(model.links):
                assert np.array_equal(getattr(again.links, column.name), getattr(model.links, column.name)), column.name


EDITS = (
    "bodies.mass",
    "bodies.com",
    "bodies.inertia",
    "joints.X_p",
    "joints.X_c",
    "joints.pitch",
    "dofs.axis",
    "dofs.damping",
    "joint_q",
)


@pytest.mark.parametrize("n_worlds", WORLDS)
def test_columns_set_one_by_one_make_the_model_that_is_built_with_them(n_worlds):
    """Two mechanisms that differ in numbers only: all columns of the second, set on the first, give its tables."""
    rng = np.random.default_rng(14)
    mechanism = random_forest(rng, (3, 6), n_worlds)
    model, goal = (assemble(vary_all(rng, mechanism)) for _ in range(2))
    for path in EDITS:
        table, _, name = path.rpartition(".")
        model = edit.with_column(model, path, getattr(getattr(goal, table) if table else goal, name))
    for table in ("links", "joints", "dofs"):
        for column in fields(getattr(goal, table)):
            mine, theirs = (getattr(getattr(one, table), column.name) for one in (model, goal))
            if isinstance(theirs, np.ndarray) and theirs.dtype.kind == "f" and column.name != "armature":
                assert np.allclose(mine, theirs, rtol=0, atol=ROUNDING, equal_nan=True), column.name


def test_the_authored_pose_goes_with_a_moved_base(device):
    model = build(resolve(scene(ARMS.removeprefix("simcli: 1\n"))))
    view, state = ArticulationView(model, "row/*"), State.of(model)
    assert (view.is_fixed_base, view.is_floating_base) == (False, False)
    old = view.get_attribute("bodies.q", model)
    X = view.get_root_transforms(state)
    assert np.array_equal(X[0, :, :3], [[0, 0, 0], [2, 0, 0], [4, 0, 0]])
    X[:, 1, 2] += 0.5
    view.set_root_transforms(state, X)
    expected = old.copy()
    expected[:, 1, :, 2] += 0.5
    assert apart(view.get_attribute("bodies.q", view.model), expected) < ROUNDING
    assert np.array_equal(
        ArticulationView(model, "*/drone").get_attribute("bodies.q", view.model),
        ArticulationView(model, "*/drone").get_attribute("bodies.q", model),
    )
    assert view.model.joints.X_p.shape == model.joints.X_p.shape
    assert view.shape_names == ("upper/tube",)


def four_bar():
    return build(resolve(scene(FOUR_BAR)))


def test_loop_joints_are_shown_and_moved_when_they_are_asked_for(device):
    model, T = four_bar(), np.array([0.3, -0.2, 0.5, 0, 0, np.sin(0.2), np.cos(0.2)])
    plain, looped = (ArticulationView(model, "crank", include_loop_closing_joints=flag) for flag in (False, True))
    assert plain.joint_names == ("pin", "knee", "tie")
    assert looped.joint_names == ("pin", "knee", "tie", "close")
    for view, gap in ((plain, np.linalg.norm(rot.pose_apply(T, np.array([2.0, 0, -1])) - [2, 0, -1])), (looped, 0.0)):
        state = State.of(model)
        view.set_root_transforms(state, rot.pose_compose(T, view.get_root_transforms(state)))
        view.eval_fk(state)
        on_ground, on_rocker = (getattr(view.model.joints, name)[0, 3] for name in ("X_p", "X_c"))
        reached = rot.pose_compose(state.body_q[0, 2], on_rocker)
        assert abs(np.linalg.norm(reached[:3] - on_ground[:3]) - gap) < ROUNDING
    state = State.of(model)
    state.joint_q[...] = np.nan
    looped.eval_ik(state)
    assert np.abs(looped.get_dof_positions(state)).max() < PROJECTED
    assert np.isnan(looped.eval_inverse_dynamics(State.of(model))[..., 3]).all()
    assert not looped.eval_jacobian(State.of(model))[..., 3].any()


def test_a_recorded_frame_is_a_state(tmp_path, device):
    (tmp_path / "arms.yaml").write_text(ARMS)
    for words in ((), ("--select", "row*")):
        done = simcli("run", "arms.yaml", "-q", "--worlds", "2", "-o", f"{len(words)}.h5", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    model, state = package.load(tmp_path / "arms.yaml", ["batch.worlds=2"])
    with package.open(tmp_path / "0.h5") as run:
        for frame in (0, -1):
            recorded = package.state_at(model, run, frame)
            assert np.array_equal(recorded.joint_q, run.column("frames/joint_q")[frame])
            again = recorded.copy()
            package.eval_fk(model, again)
            assert apart(again.body_q, recorded.body_q) < ROUNDING
            assert np.abs(again.body_qd - recorded.body_qd).max() < ROUNDING
            if frame == 0:
                assert apart(state.body_q, recorded.body_q) < ROUNDING
        with pytest.raises(IndexError):
            package.state_at(model, run, 99)
        with pytest.raises(UsageError, match="holds 2 worlds, the model has 1"):
            package.state_at(package.load(tmp_path / "arms.yaml")[0], run)
    with package.open(tmp_path / "2.h5") as run, pytest.raises(UsageError, match="run without `select`"):
        package.state_at(model, run)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"pattern": "wing"}, KeyError, "'wing' matches no articulation"),
        ({"pattern": "*"}, ValueError, "differ"),
        ({"pattern": [2, 0]}, ValueError, "do not ascend"),
        ({"pattern": [9]}, KeyError, "no number 9"),
        ({"pattern": 0}, ValueError, "no pattern"),
        ({"include_joints": ["joint1", "elbw"]}, KeyError, "'elbw' matches no joint"),
        ({"include_links": "wing"}, KeyError, "'wing' matches no link"),
        ({"include_joint_types": ["revolut"]}, ValueError, "did you mean `revolute`"),
        ({"exclude_joint_types": [99]}, ValueError, "99 is no joint type"),
        ({"include_joints": 3}, ValueError, "no pattern"),
    ],
)
def test_a_view_that_cannot_be_is_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        ArticulationView(robots(1, True), **({"pattern": "*/robot"} | arguments))


@pytest.mark.parametrize("change", ["kind", "parent", "missing"])
def test_articulations_of_different_structure_are_told_apart(change):
    model = robots(1, False)
    joints = model.joints
    j = members(model, "tree2/robot")[0][3]
    if change == "kind":
        kind = joints.kind.copy()
        kind[j] = JointKind.UNIVERSAL if kind[j] != JointKind.UNIVERSAL else JointKind.SCREW
        joints = replace(joints, kind=kind)
    elif change == "parent":
        first = members(model, "tree2/robot")[1]
        parent = joints.parent.copy()
        parent[j] = next(b for b in first if b not in (joints.parent[j], joints.child[j]))
        joints = replace(joints, parent=parent)
    else:
        owner = joints.articulation.copy()
        owner[j] = -1
        joints = replace(joints, articulation=owner)
    with pytest.raises(ValueError, match=r"differ: `tree0/\w+`.* `tree2/\w+`|`tree0/robot` and `tree2/robot` differ"):
        find_group(replace(model, joints=joints), "*/robot", Filters())


def test_a_body_in_no_articulation_moves_only_when_everything_does(device):
    model = robots(1, True)
    owner = np.where(model.joints.articulation == 1, -1, model.joints.articulation)
    model = replace(model, joints=replace(model.joints, articulation=owner))
    state, alone = State.of(model), members(model, "tree1/other")[1]
    state.body_q[...] = 777.0
    package.eval_fk(model, state, mask=np.ones(4, bool))
    assert (state.body_q == 777.0).all(axis=(0, 2)).tolist() == [b in alone for b in range(model.n_bodies)]
    package.eval_fk(model, state)
    assert apart(state.body_q, State.of(model).body_q) < ROUNDING


def test_the_root_comes_first_wherever_the_file_has_it():
    model = build(resolve(scene(ARMS.removeprefix("simcli: 1\n"))))
    view = ArticulationView(model, "*/drone")
    assert view.joint_names == ("hull_free", "lift", "gimbal")
    assert view.link_names == ("hull", "mast", "lamp")
    assert view.joint_dof_names == (*(f"hull_free:{k}" for k in range(6)), "lift", "gimbal:0", "gimbal:1")
    assert view.joint_labels[1][0] == "fleet/1-0-0/hull_free"
    assert np.array_equal(view.get_root_transforms(State.of(model)), view.get_dof_positions(State.of(model))[..., :7])


def test_an_articulation_in_two_pieces_has_no_root():
    model = robots(1, False)
    owner = model.joints.articulation.copy()
    owner[owner == 2] = 0
    view = ArticulationView(replace(model, joints=replace(model.joints, articulation=owner)), "tree0/robot")
    assert view.link_count == 12
    with pytest.raises(ValueError, match="several roots"):
        view.get_root_transforms(State.of(model))
    with pytest.raises(ValueError, match="several roots"):
        _ = view.is_fixed_base


def test_an_articulation_that_hangs_on_another_is_not_moved_in_the_model():
    model = four_bar()
    owner = np.array([0, 1, 1, -1])
    joints = replace(model.joints, articulation=owner, articulation_name=("base", "arm"))
    view = ArticulationView(replace(model, joints=joints), "arm")
    assert view.joint_names == ("knee", "tie")
    with pytest.raises(ValueError, match="`arm` hangs on a body"):
        view.set_root_transforms(State.of(model), rot.IDENTITY_POSE)


def test_what_does_not_fit_is_refused_by_name():
    model, other = robots(1, True), robots(5, True)
    view, state = ArticulationView(model, "*/robot"), State.of(model)
    with pytest.raises(ValueError, match="joint_q has shape"):
        view.get_dof_positions(State.of(other))
    with pytest.raises(ValueError, match="shape"):
        view.set_dof_positions(state, np.zeros((1, 3, view.joint_coord_count + 1)))
    for mask in (np.ones(3, bool), np.ones((1, 4), bool), np.ones((1, 3))):
        with pytest.raises(ValueError, match="a mask holds booleans"):
            view.set_dof_positions(state, 0.0, mask)
    with pytest.raises(ValueError, match="indices are integers"):
        view.eval_fk(state, indices=[0.5])
    for call in (view.eval_fk, view.eval_ik):
        with pytest.raises(ValueError, match="mask or indices, not both"):
            call(state, mask=np.ones(1, bool), indices=[0])
    for call in (package.eval_fk, package.eval_ik):
        with pytest.raises(ValueError, match="mask or indices, not both"):
            call(model, state, mask=np.ones(4, bool), indices=[0])
    for name in ("joint_x", "mass", "bodies.name", "shapes.size", "body_qd", "q_start"):
        with pytest.raises(KeyError, match=name):
            view.get_attribute(name, model)
    with pytest.raises(KeyError, match="a state has no"):
        view.get_attribute("bodies.mass", state)
    for name in ("joint_parent", "bodies.q", "joint_enabled"):
        with pytest.raises(ValueError, match="cannot be set"):
            view.set_attribute(name, model, 0)
    with pytest.raises(ValueError, match=r"`view\.model`"):
        view.set_attribute("dof_damping", other, 0.0)
    with pytest.raises(ValueError, match="a quaternion is zero"):
        view.set_root_transforms(state, np.zeros(7))


def test_the_front_door_opens_without_numpy_and_a_view_without_taichi():
    code = "import sys, simcli; {}; print(*sys.modules)"
    assert "numpy" not in python(code.format("pass")).split()
    loaded = python(code.format("simcli.ArticulationView, simcli.State, simcli.eval_fk")).split()
    assert not {"taichi", "h5py"} & set(loaded)
    with pytest.raises(AttributeError, match="no attribute 'ArticulationVue'"):
        _ = package.ArticulationVue


@pytest.mark.parametrize("n_worlds", WORLDS)
def test_kernels_take_the_numbers_of_another_model(device, n_worlds):
    """Moved bases and heavier bodies need no new kernels; all results are those of kernels made for the model."""
    model = assemble(crew(np.random.default_rng(21), n_worlds, False))
    view = ArticulationView(model, "*/robot")
    state, rng = State.of(model), np.random.default_rng(22)
    used = Algorithms(model, device, n_worlds)
    used.forward_kinematics(state.joint_q, state.joint_qd)
    view.set_root_transforms(state, rng.normal(size=(n_worlds, 3, 7)))
    view.set_attribute("body_mass", view.model, rng.uniform(1, 2, (n_worlds, 3, 6)))
    fresh = Algorithms(view.model, device, n_worlds)
    assert used.reload(view.model)
    arrays = {"forward_kinematics": (state.joint_q, state.joint_qd), "mass_matrix": (state.joint_q,)}
    for name, given in arrays.items():
        pairs = [getattr(one, name)(*given) for one in (used, fresh)]
        for mine, theirs in zip(*map(np.atleast_1d if name == "mass_matrix" else tuple, pairs), strict=True):
            assert np.array_equal(mine, theirs, equal_nan=True)


def test_kernels_refuse_a_model_that_they_were_not_made_for(device):
    model = robots(1, True)
    algorithms = Algorithms(model, device)
    for other in (robots(5, True), robots(1, False), four_bar()):
        assert not algorithms.reload(other)
    assert algorithms.model is model


def test_views_that_move_often_keep_their_kernels(device):
    model = robots(1, False)
    view, state = ArticulationView(model, "*/robot"), State.of(model)
    while evaluate._benches:  # other tests may have left some of such a structure
        evaluate._benches.popitem()[1].algorithms.destroy()
    package.eval_fk(model, state)
    for k in range(6):
        view.set_root_transforms(state, [0, 0, k, 0, 0, 0, 1])
        view.eval_fk(state)
        assert apart(state.body_q, State.of(view.model).body_q) < ROUNDING
        alike = [bench for bench in evaluate._benches.values() if bench.model.joints.name == model.joints.name]
        assert len(alike) <= evaluate.ALIKE + 1
    package.eval_fk(model, state)
    assert apart(state.body_q, State.of(model).body_q) < ROUNDING
