"""ArticulationView, eval_fk and eval_ik: laws over three copies of a random robot beside another, in 1 and 5 worlds."""

import re
from dataclasses import fields

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.forests import choose_worlds
from support.pinocchio_model import pinocchio_trees
from support.robots import apart, crew, members, place, robots, shaken
from support.scenes import scene

import simcli as package
from simcli import rotations as rot
from simcli.model import build
from simcli.model.assemble import assemble
from simcli.model.joints.edit import with_column
from simcli.model.joints.state import State
from simcli.model.tables.model import JointKind
from simcli.spec import resolve

ArticulationView = package.ArticulationView

pytestmark = pytest.mark.usefixtures("scalar_code")
ROUNDING = 1e-12  # of chains of six joints with coordinates of order one
DYNAMIC = 1e-10  # relative, of sums over such trees; two algorithms
PROJECTED = 1e-9  # of angles from poses, within a right angle of zero
FILLED = 777.0


@pytest.fixture(params=[(1, True), (5, True), (5, False)], ids=["1-floating", "5-floating", "5-fixed"])
def model(request, device):
    return robots(*request.param)


def test_counts_names_and_places_are_those_of_the_names(model):
    view = ArticulationView(model, "*/robot")
    state = shaken(model)
    assert view.articulation_names == ("tree0/robot", "tree2/robot", "tree3/robot")
    assert (view.world_count, view.count_per_world, view.count) == (model.n_worlds, 3, 3 * model.n_worlds)
    assert (view.joint_count, view.link_count) == (6, 6)
    assert view.body_names == view.link_names == tuple(f"body{k}" for k in range(6))
    assert view.joint_names == tuple(f"joint{k}" for k in range(6))
    for c, title in enumerate(view.articulation_names):
        joints, bodies = members(model, title)
        assert view.joint_labels[c] == tuple(model.joints.name[j] for j in joints)
        assert view.link_labels[c] == tuple(model.bodies.name[b] for b in bodies)
        for get, column, start in (
            (view.get_dof_positions, state.joint_q, model.joints.q_start),
            (view.get_dof_velocities, state.joint_qd, model.joints.qd_start),
            (view.get_dof_forces, state.joint_f, model.joints.qd_start),
        ):
            by_joint = [column[:, start[j] : start[j + 1]] for j in joints]
            assert np.array_equal(get(state)[:, c], np.concatenate(by_joint, axis=1))
        assert np.array_equal(view.get_link_transforms(state)[:, c], state.body_q[:, bodies])
        assert np.array_equal(view.get_link_velocities(state)[:, c], state.body_qd[:, bodies])
        assert np.array_equal(view.get_attribute("bodies.mass", model)[:, c], model.bodies.mass[:, bodies])
        assert np.array_equal(view.get_attribute("joint_X_c", model)[:, c], model.joints.X_c[:, joints])
        assert np.array_equal(view.get_attribute("joint_kind", model)[0, c], model.joints.kind[joints])
    assert len(view.joint_dof_names) == view.joint_dof_count == view.get_dof_velocities(state).shape[2]
    assert len(view.joint_coord_names) == view.joint_coord_count == view.get_dof_positions(state).shape[2]
    assert np.array_equal(view.get_attribute("joint_armature", model), view.get_attribute("dofs.armature", model))


def test_filters_cut_joints_and_links_alike_in_every_copy(model):
    whole, state = ArticulationView(model, "*/robot"), shaken(model)
    q = dict(zip(whole.joint_coord_names, np.moveaxis(whole.get_dof_positions(state), 2, 0), strict=True))
    kinds = [int(kind) for kind in model.joints.kind[whole.group.joint[0]]]
    for filters, kept in (
        ({"include_joints": ["joint[135]", "joint0"]}, (0, 1, 3, 5)),
        ({"exclude_joints": re.compile("joint[0-3]")}, (4, 5)),
        ({"include_joints": [2, 4]}, (2, 4)),
        ({"include_joints": "joint2", "include_joint_types": [kinds[4]]}, {2, *np.flatnonzero(np.equal(kinds, kinds[4]))}),
        ({"exclude_joint_types": [JointKind(kinds[0])]}, [k for k in range(6) if kinds[k] != kinds[0]]),
        ({"include_joints": []}, ()),
    ):
        view = ArticulationView(model, "*/robot", **filters)
        assert view.joint_names == tuple(f"joint{k}" for k in sorted(kept))
        values = view.get_dof_positions(state)
        assert values.shape == (model.n_worlds, 3, view.joint_coord_count)
        for k, name in enumerate(view.joint_coord_names):
            assert np.array_equal(values[:, :, k], q[name])
    view = ArticulationView(model, "*/robot", include_links=["body1", "body[45]"], exclude_links="tree0/body4")
    assert view.link_names == ("body1", "body5")
    assert np.array_equal(view.get_link_transforms(state), whole.get_link_transforms(state)[:, :, [1, 5]])


def test_a_setter_changes_what_its_mask_selects_and_nothing_else(model):
    view = ArticulationView(model, ["tree3/*", "tree0/*"], exclude_joints="joint2")
    rng = np.random.default_rng(1)
    w = model.n_worlds
    masks = [None, rng.random(w) < 0.5, rng.random((w, 2)) < 0.5, np.zeros((w, 2), bool)]
    setters = {"joint_q": view.set_dof_positions, "joint_qd": view.set_dof_velocities, "joint_f": view.set_dof_forces}
    for name, setter in setters.items():
        for mask in masks:
            state, before = shaken(model), shaken(model)
            old = view.get_attribute(name, before)
            values = rng.normal(size=old.shape)
            setter(state, values, mask)
            where = np.ones((w, 2), bool) if mask is None else np.broadcast_to(mask.reshape(w, -1), (w, 2))
            assert np.array_equal(view.get_attribute(name, state), np.where(where[..., None], values, old))
            view.set_attribute(name, state, old)
            for column in fields(State):
                assert np.array_equal(getattr(state, column.name), getattr(before, column.name))
    view.set_dof_positions(state, FILLED)
    assert np.all(view.get_dof_positions(state) == FILLED)


def test_fk_moves_what_is_selected_as_the_reference_does(model):
    view = ArticulationView(model, "*/robot")
    w, expected = model.n_worlds, shaken(model)
    mask = np.random.default_rng(2).random((w, 3)) < 0.5
    mask[0] = True, False, True
    numbers = [-1, 10**9, *np.flatnonzero(mask.ravel())]
    flat = view.get_model_articulation_mask(mask)
    assert flat.shape == (4 * w,)
    assert np.array_equal(flat.reshape(w, 4)[:, [0, 2, 3]], mask)
    assert not flat.reshape(w, 4)[:, 1].any()
    calls = (
        lambda s: view.eval_fk(s, mask=mask),
        lambda s: view.eval_fk(s, indices=numbers),
        lambda s: package.eval_fk(model, s, mask=flat),
        lambda s: package.eval_fk(model, s, mask=flat.reshape(w, 4)),
        lambda s: package.eval_fk(model, s, indices=[*np.flatnonzero(flat), 4 * w]),
    )
    for call in calls:
        state = expected.copy()
        state.body_q[...], state.body_qd[...] = FILLED, FILLED
        call(state)
        pose, twist = view.get_link_transforms(state), view.get_link_velocities(state)
        assert apart(pose[mask], view.get_link_transforms(expected)[mask]) < ROUNDING
        assert np.abs(twist[mask] - view.get_link_velocities(expected)[mask]).max() < ROUNDING
        assert np.all(pose[~mask] == FILLED)
        assert np.all(twist[~mask] == FILLED)
        others = members(model, "tree1/other")[1]
        assert np.all(state.body_q[:, others] == FILLED)
        assert np.array_equal(state.joint_q, expected.joint_q)


def test_fk_of_everything_and_of_one_articulation_of_all_worlds(model):
    expected = shaken(model)
    state = expected.copy()
    state.body_q[...], state.body_qd[...] = np.nan, np.nan
    package.eval_fk(model, state, mask=np.array([False, True, False, False]))
    mine = members(model, "tree1/other")[1]
    assert np.isnan(state.body_q).all(axis=(0, 2)).tolist() == [b not in mine for b in range(model.n_bodies)]
    package.eval_fk(model, state)
    assert apart(state.body_q, expected.body_q) < ROUNDING
    assert np.abs(state.body_qd - expected.body_qd).max() < ROUNDING


def test_ik_undoes_fk_where_it_is_selected(model):
    view = ArticulationView(model, "*/robot")
    expected = shaken(model)
    mask = np.random.default_rng(4).random((model.n_worlds, 3)) < 0.5
    mask[0] = False, True, True
    for call in (
        lambda s: view.eval_ik(s, mask=mask),
        lambda s: view.eval_ik(s, indices=np.flatnonzero(mask.ravel())),
        lambda s: package.eval_ik(model, s, mask=view.get_model_articulation_mask(mask)),
    ):
        state = expected.copy()
        state.joint_q[...], state.joint_qd[...] = FILLED, FILLED
        call(state)
        q, rates = view.get_dof_positions(state), view.get_dof_velocities(state)
        assert np.all(q[~mask] == FILLED)
        assert np.all(rates[~mask] == FILLED)
        assert (
            np.abs(upright(model, state.joint_q, expected.joint_q)[..., view.group.q] - view.get_dof_positions(expected))[
                mask
            ].max()
            < PROJECTED
        )
        assert np.abs(rates - view.get_dof_velocities(expected))[mask].max() < PROJECTED
    package.eval_ik(model, state)
    assert np.abs(upright(model, state.joint_q, expected.joint_q) - expected.joint_q).max() < PROJECTED
    assert np.abs(state.joint_qd - expected.joint_qd).max() < PROJECTED


def upright(model, joint_q, like):
    """Coordinates with quaternions of the same sign as others."""
    q = joint_q.copy()
    for j in np.flatnonzero(np.isin(model.joints.kind, (JointKind.BALL, JointKind.FREE, JointKind.DISTANCE))):
        span = slice(model.joints.q_start[j + 1] - 4, model.joints.q_start[j + 1])
        q[:, span] *= np.where((q[:, span] * like[:, span]).sum(axis=1, keepdims=True) < 0, -1, 1)
    return q


def test_jacobian_mass_matrix_and_efforts_are_those_of_pinocchio(model):
    view, state = ArticulationView(model, "*/robot"), shaken(model)
    qdd = np.random.default_rng(6).normal(size=(model.n_worlds, 3, view.joint_dof_count))
    J, M = view.eval_jacobian(state), view.eval_mass_matrix(state)
    f = view.eval_inverse_dynamics(state, qdd)
    full = np.zeros_like(state.joint_qd)
    full[:, view.group.qd] = qdd
    for w in range(model.n_worlds):
        trees = {int(tree.bodies[0]): tree for tree in pinocchio_trees(model, w)}
        for c in range(3):
            tree = trees[int(view.group.body[c, 0])]
            rows = np.argsort(tree.bodies)
            where = np.argsort(tree.dofs)
            assert sorted(tree.dofs) == view.group.qd[c].tolist()
            jacobian = tree.jacobian(state.joint_q[w])[rows][..., where].reshape(-1, len(where))
            matrix = tree.mass_matrix(state.joint_q[w])[where][:, where]
            efforts = tree.inverse_dynamics(state.joint_q[w], state.joint_qd[w], full[w], np.zeros((model.n_bodies, 6)))
            for mine, theirs in ((J[w, c], jacobian), (M[w, c], matrix), (f[w, c], efforts[where])):
                assert np.abs(mine - theirs).max() < DYNAMIC * np.abs(theirs).max()
    rates = np.einsum("wcij,wcj->wci", J, view.get_dof_velocities(state))
    assert np.abs(rates - view.get_link_velocities(state).reshape(rates.shape)).max() < ROUNDING
    bare = view.eval_mass_matrix(state, armature=False)
    diagonal = view.get_attribute("dof_armature", model)[..., None] * np.eye(view.joint_dof_count)
    assert np.abs(M - bare - diagonal).max() < ROUNDING


def test_parts_of_the_dynamics_are_cut_out_of_the_whole(model):
    whole, state = ArticulationView(model, "*/robot"), shaken(model)
    part = ArticulationView(model, "*/robot", include_joints=["joint[14]"], include_links="body[2-5]")
    at = [k for k, name in enumerate(whole.joint_dof_names) if name.split(":")[0] in ("joint1", "joint4")]
    rows = np.arange(36).reshape(6, 6)[2:6].ravel()
    assert np.array_equal(part.eval_jacobian(state), whole.eval_jacobian(state)[:, :, rows][..., at])
    assert np.array_equal(part.eval_mass_matrix(state), whole.eval_mass_matrix(state)[:, :, at][..., at])
    qdd = np.zeros((model.n_worlds, 3, whole.joint_dof_count))
    qdd[..., at] = 0.7
    assert np.array_equal(part.eval_inverse_dynamics(state, 0.7), whole.eval_inverse_dynamics(state, qdd)[..., at])
    holding, turning = whole.eval_inverse_dynamics_passive(state)
    M = whole.eval_mass_matrix(state)
    sum_ = np.einsum("wcij,wcj->wci", M, qdd) + holding + turning
    assert np.abs(sum_ - whole.eval_inverse_dynamics(state, qdd)).max() < DYNAMIC * np.abs(sum_).max()


def test_what_is_not_selected_keeps_the_rows_of_out(model):
    view, state = ArticulationView(model, "*/robot"), shaken(model)
    mask = np.zeros((model.n_worlds, 3), bool)
    mask[-1, 1] = True
    number = 3 * (model.n_worlds - 1) + 1
    for evaluate in (view.eval_jacobian, view.eval_mass_matrix, view.eval_inverse_dynamics):
        full = evaluate(state)
        out = np.full(full.shape, FILLED)
        assert evaluate(state, indices=[number, -1, 3 * model.n_worlds], out=out) is out
        assert np.array_equal(out[mask], full[mask])
        assert np.all(out[~mask] == FILLED)
        assert not evaluate(state, mask=mask)[~mask].any()
        with pytest.raises(ValueError, match="mask or indices"):
            evaluate(state, mask=mask, indices=[0])
        with pytest.raises(ValueError, match="`out` must have shape"):
            evaluate(state, out=out[..., :-1])


def test_roots_move_all_that_hangs_on_them(model):
    view = ArticulationView(model, "*/robot", exclude_joints="*")  # what is shown does not matter
    links = ArticulationView(model, "*/robot")
    state = shaken(model)
    before, old = state.copy(), view.get_root_transforms(state)
    rng = np.random.default_rng(8)
    new = rot.make_pose(rng.normal(size=(*old.shape[:-1], 3)), rng.normal(size=(*old.shape[:-1], 4)))
    mask = rng.random((model.n_worlds, 3)) < 0.6
    mask[0] = True, False, True
    view.set_root_transforms(state, new, mask)
    new[..., 3:] = rot.unit(new[..., 3:])
    assert np.array_equal(view.get_root_transforms(state), np.where(mask[..., None], new, old))
    place(view.model, state)
    anchor = model.joints.X_p[:, view.group.root] if view.is_floating_base else np.array([rot.IDENTITY_POSE])
    shift = rot.pose_compose(anchor, rot.pose_compose(new, rot.pose_inverse(old)))
    shift = rot.pose_compose(shift, rot.pose_inverse(anchor))
    pose = links.get_link_transforms(before)
    moved = np.where(mask[..., None, None], rot.pose_compose(shift[:, :, None], pose), pose)
    assert apart(links.get_link_transforms(state), moved) < ROUNDING
    still = members(model, "tree1/other")[1]
    assert np.array_equal(state.body_q[:, still], before.body_q[:, still])
    again = before.copy() if not view.is_floating_base else state.copy()
    view.eval_fk(again)
    assert apart(links.get_link_transforms(again), moved) < ROUNDING
    if view.is_floating_base:
        assert view.model is model
        return
    assert np.array_equal(state.joint_q, before.joint_q)
    turned = np.concatenate(
        [rot.quat_rotate(shift[:, :, None, 3:], part) for part in np.split(links.get_link_velocities(before), 2, axis=-1)],
        axis=-1,
    )
    got = links.get_link_velocities(again)
    assert np.abs(got - np.where(mask[..., None, None], turned, links.get_link_velocities(before))).max() < ROUNDING


def test_root_velocities_are_those_of_floating_bases(model):
    view, state = ArticulationView(model, "*/robot"), shaken(model)
    before = state.copy()
    if not view.is_floating_base:
        assert view.get_root_velocities(state) is None
        view.set_root_velocities(state, 1.0)
        assert np.array_equal(state.joint_qd, before.joint_qd)
        return
    assert np.array_equal(view.get_root_velocities(state), view.get_dof_velocities(state)[..., :6])
    mask = np.arange(model.n_worlds) % 2 == 0
    view.set_root_velocities(state, np.arange(6.0), mask)
    expected = np.where(mask[:, None, None], np.arange(6.0), view.get_root_velocities(before))
    assert np.array_equal(view.get_root_velocities(state), expected)
    assert np.array_equal(view.get_dof_velocities(state)[..., 6:], view.get_dof_velocities(before)[..., 6:])


def test_centring_goes_half_way_and_leaves_what_has_no_middle(model):
    view, state = ArticulationView(model, "*/robot"), shaken(model)
    rng = np.random.default_rng(9)
    lower, upper = (rng.uniform(low, low + 1, (model.n_worlds, 3, view.joint_dof_count)) for low in (-2.0, 1.0))
    upper[:, :, 1::3] = np.inf
    view.set_attribute("dof_limit_lower", model, lower)
    view.set_attribute("dofs.limit_upper", view.model, upper)
    mask = rng.random((model.n_worlds, 3)) < 0.7
    mask[0, 0] = True
    before = view.get_dof_positions(state)
    view.center_joint_q(state, mask)
    after = view.get_dof_positions(state)
    place_of = {name: k for k, name in enumerate(view.joint_dof_names)}
    for k, name in enumerate(view.joint_coord_names):
        joint = view.joint_names.index(name.split(":")[0])
        kind = model.joints.kind[view.group.joint[0, joint]]
        if kind in (JointKind.BALL, JointKind.FREE, JointKind.DISTANCE) or np.isinf(upper[0, 0, place_of[name]]):
            middle = before[:, :, k]
        else:
            middle = 0.5 * (lower + upper)[:, :, place_of[name]]
        assert np.array_equal(after[:, :, k], np.where(mask, middle, before[:, :, k])), name
    assert np.all(np.isinf(model.dofs.limit_lower)), "the model that was given stays as it was"


def test_a_world_is_the_same_alone(device):
    """Neither masks nor the batch change a bit of a world's result."""
    mechanism = crew(np.random.default_rng(12), 5, True)
    many, one = assemble(mechanism), assemble(choose_worlds(mechanism, [3]))
    state, alone = State.of(many), State.of(one)
    mask = np.ones((5, 3), bool)
    mask[3, 1] = False
    ArticulationView(many, "*/robot").eval_fk(state, mask)
    ArticulationView(one, "*/robot").eval_fk(alone, mask[3:4])
    for column in fields(State):
        assert np.array_equal(getattr(alone, column.name)[0], getattr(state, column.name)[3])


TWO_TURNS = """
bodies: {nut: {mass: 1, inertia: {diag: [1, 1, 1]}}}
joints:
  j: {type: d6, parent: world, child: nut, axes: {linear: [[0.6, 0.8, 0]], angular: [[0, 1, 0], [0, 0, 1]]}}
solver: {type: generalized, dt: 1e-3}
run: {duration: 1}
"""


@pytest.mark.parametrize(("q", "slides"), [([0.3, 7.0, 0.4], 1), ([-0.2, -20.0, 0.4], 1), ([7.0, 0.4], 0)])
def test_a_pitch_is_along_the_first_turn_alone(device, q, slides):
    """Slides before it are told from its advance, at any angle to it; a second turn advances nothing."""
    text = TWO_TURNS if slides else TWO_TURNS.replace("[[0.6, 0.8, 0]]", "[]")
    pitch, model = 0.05, build(resolve(scene(text)))
    model = with_column(model, "joints.pitch", np.array([[pitch]]))
    turns = [Rotation.from_rotvec(angle * axis) for axis, angle in zip(np.eye(3)[1:], q[slides:], strict=True)]
    place = pitch * q[slides] * np.array((0.0, 1.0, 0.0)) + (q[0] * np.array((0.6, 0.8, 0.0)) if slides else 0.0)
    state, qd = State.of(model), np.array([0.7, -0.5, 0.2])[-len(q) :]
    state.joint_q[:], state.joint_qd[:] = q, qd
    package.eval_fk(model, state)
    assert state.body_q[0, 0, :3] == pytest.approx(place, rel=0, abs=ROUNDING)
    assert rot.quat_to_matrix(state.body_q[0, 0, 3:]) == pytest.approx((turns[0] * turns[1]).as_matrix(), abs=ROUNDING)
    drift = pitch * qd[slides] * np.array((0.0, 1.0, 0.0)) + (qd[0] * np.array((0.6, 0.8, 0.0)) if slides else 0.0)
    assert state.body_qd[0, 0, :3] == pytest.approx(drift, rel=0, abs=ROUNDING)
    state.joint_q[:] = state.joint_qd[:] = FILLED
    package.eval_ik(model, state)
    assert state.joint_q[0] == pytest.approx(q, rel=0, abs=PROJECTED)
    assert state.joint_qd[0] == pytest.approx(qd, rel=0, abs=PROJECTED)
