"""Equilibria and modes against mujoco's differences, an energy minimised by numpy, and joints that yield."""

import numpy as np
import pytest
from support.scenes import scene

from simcli.analysis.rest.modes import study
from simcli.analysis.rest.spectrum import ModeKind
from simcli.pipeline import build_model
from simcli.spec import resolve

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

DIFFERENCES = 1e-7  # relative: mujoco's central differences of 1e-5 leave some 1e-9 of a gradient
EXACT = 1e-9
G, N, LINK, SPAN = 9.81, 6, 0.5, 2.0

# Three skew hinges with springs: offset, axis, mass, com, moments, stiffness, rest, damping, armature.
ARM = [
    ((0.0, 0.0, 0.0), (0, 1, 0), 1.3, (0.05, 0.02, -0.3), (0.05, 0.06, 0.02), 4.0, 0.3, 0.10, 0.02),
    ((0.1, 0.0, -0.6), (1, 0, 0), 0.9, (0.00, 0.04, -0.2), (0.03, 0.02, 0.02), 3.0, -0.4, 0.05, 0.0),
    ((0.0, 0.1, -0.4), (0, 0.6, 0.8), 0.5, (0.10, 0.00, -0.1), (0.01, 0.01, 0.01), 1.0, 0.8, 0.02, 0.01),
]


def arm_scene():
    bodies, joints, at, parent = "", "", np.zeros(3), "world"
    for k, (offset, axis, mass, com, moments, stiffness, rest, damping, armature) in enumerate(ARM):
        at = at + offset
        bodies += (f"  arm{k}: {{pose: {{xyz: {at.tolist()}}}, mass: {mass}, com: {list(com)}, "
                   f"inertia: {{diag: {list(moments)}}}}}\n")  # fmt: skip
        joints += (f"  arm{k}: {{type: revolute, parent: {parent}, child: arm{k}, at: {at.tolist()}, axis: {list(axis)}, "
                   f"armature: {armature}, damping: {damping}, "
                   f"drive: {{mode: position, target: {rest}, stiffness: {stiffness}, damping: 0}}}}\n")  # fmt: skip
        parent = f"arm{k}"
    return bodies, joints


def arm_in_mujoco():
    head = '<mujoco><compiler angle="radian"/><option timestep="1e-3" integrator="Euler" gravity="0 0 -9.81">'
    head += '<flag eulerdamp="disable" contact="disable"/></option><worldbody>'
    text = lambda v: " ".join(map(str, v))  # noqa: E731
    for offset, axis, mass, com, moments, stiffness, rest, damping, armature in ARM:
        head += (f'<body pos="{text(offset)}"><joint type="hinge" axis="{text(axis)}" stiffness="{stiffness}" '
                 f'springref="{rest}" damping="{damping}" armature="{armature}"/>'
                 f'<inertial pos="{text(com)}" mass="{mass}" diaginertia="{text(moments)}"/>')  # fmt: skip
    return mujoco.MjModel.from_xml_string(head + "</body>" * len(ARM) + "</worldbody></mujoco>")


def chain_scene():
    bodies = "".join(f"  link{k}: {{mass: 1, inertia: {{diag: [0.01, 0.02, 0.02]}}}}\n" for k in range(N))
    joints = f"  link0: {{type: revolute, parent: world, child: link0, axis: [0, 1, 0], q: 0.9, child_frame: {{xyz: [{-LINK / 2}, 0, 0]}}}}\n"  # noqa: E501
    for k in range(1, N):
        joints += (f"  link{k}: {{type: revolute, parent: link{k - 1}, child: link{k}, axis: [0, 1, 0], q: -0.36, "
                   f"parent_frame: {{xyz: [{LINK / 2}, 0, 0]}}, child_frame: {{xyz: [{-LINK / 2}, 0, 0]}}}}\n")  # fmt: skip
    joints += (f"  end: {{type: revolute, loop: true, parent: world, child: link{N - 1}, axis: [0, 1, 0], "
               f"parent_frame: {{xyz: [{SPAN}, 0, 0]}}, child_frame: {{xyz: [{LINK / 2}, 0, 0]}}}}\n")  # fmt: skip
    return bodies, joints


@pytest.fixture(scope="module")
def found():
    from support.device import live_device

    (bodies, joints), (more, further) = arm_scene(), chain_scene()
    document = scene(f"bodies:\n{bodies}{more}joints:\n{joints}{further}solver: {{type: generalized, dt: 1e-3}}\n"
                     "run: {duration: 1}\n")  # fmt: skip
    one = study(build_model(document, resolve(document)), live_device(), stable=True)
    yield one
    one.close()


def test_arm_rests_and_swings_as_in_mujoco(found):
    model = arm_in_mujoco()
    data = mujoco.MjData(model)
    n = model.nv
    data.qpos[:] = found.equilibrium.posture.q[:n]
    mujoco.mj_forward(model, data)
    assert np.abs(data.qacc).max() < 1e-9
    A = np.zeros((2 * n, 2 * n))
    mujoco.mjd_transitionFD(model, data, 1e-5, True, A, None, None, None)
    h = model.opt.timestep  # a step of semi-implicit Euler: v+ = v + h a
    rates = np.block([[np.zeros((n, n)), np.eye(n)], [A[n:, :n] / h, (A[n:, n:] - np.eye(n)) / h]])
    mine = np.array([value for mode in found.modes for value in (mode.eigenvalue, mode.partner) if value is not None])
    for value in np.linalg.eigvals(rates):
        assert np.abs(mine - value).min() < DIFFERENCES * abs(value)


def least_energy():
    """Angles of a chain below the horizontal, by Newton on the conditions of least energy with both ends held.

        V = -m g sum_k L (sum_{j<k} sin t_j + sin t_k / 2),  L sum cos t = SPAN,  L sum sin t = 0

    Returns:
        Angles, and the forces [N] along x and z that hold the far end.
    """
    weight = G * (N - 0.5 - np.arange(N)) * LINK
    angle, force = np.linspace(0.9, -0.9, N), np.zeros(2)
    for _ in range(50):
        s, c = np.sin(angle), np.cos(angle)
        J = LINK * np.stack((-s, -c))  # of x and z of the end
        slope = -weight * c - J.T @ force
        bend = np.diag(weight * s + LINK * (c * force[0] - s * force[1]))
        lack = np.array([LINK * c.sum() - SPAN, -LINK * s.sum()])
        step = np.linalg.solve(np.block([[bend, -J.T], [J, np.zeros((2, 2))]]), -np.concatenate((slope, lack)))
        angle, force = angle + step[:N], force + step[N:]
    assert np.abs(step).max() < 1e-13
    return angle, force


def test_hanging_chain_is_where_energy_is_least(found):
    angle, force = least_energy()
    q = found.equilibrium.posture.q[len(ARM) : len(ARM) + N]
    assert np.abs(np.cumsum(q) - angle).max() < EXACT
    end = found.model.joints.name.index("end")
    wrench = found.equilibrium.posture.found.wrench[0, end]
    assert np.abs(wrench[[0, 2]] - force).max() < 1e-8
    assert found.slopes == (0, 0)


def test_joints_that_yield_are_springs_and_a_free_body_has_six_zero_modes(device):
    """A fixed joint with compliance c, in maximal coordinates: k = 1 / c along and about every axis."""
    text = ("world: {gravity: [0, 0, 0]}\nbodies:\n  block: {mass: 2, inertia: {diag: [0.1, 0.2, 0.25]}}\n"
            "  stone: {pose: {xyz: [1, 0, 0]}, mass: 2, com: [0.1, 0, 0], inertia: {diag: [1, 2, 3]}}\njoints:\n"
            "  weld: {type: fixed, parent: world, child: block, at: [0, 0, 0], compliance: 1e-3}\n"
            "solver: {type: maximal, dt: 1e-3}\nrun: {duration: 1}\n")  # fmt: skip
    document = scene(text)
    one = study(build_model(document, resolve(document)), device)
    omega = np.array([mode.omega for mode in one.modes])
    wanted = np.sqrt(1e3 / np.array([2, 2, 2, 0.1, 0.2, 0.25]))
    assert not omega[:6].any()
    assert {mode.kind for mode in one.modes[:6]} == {ModeKind.ZERO}
    assert np.abs(omega[6:] / np.sort(wanted) - 1).max() < EXACT
    assert one.slopes == (0, 6)
    rate, twist = one.shapes
    assert not np.abs(twist[:6, 0]).max() > 1e-9  # the free body moves alone, and so does the block
    assert not np.abs(twist[6:, 1]).max() > 1e-9
    assert np.abs(rate[:6]).max(axis=1) == pytest.approx(np.ones(6))
    one.close()
