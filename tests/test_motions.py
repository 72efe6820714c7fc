"""Prescribed motions: what is refused, the tables, the start, and their values on the device."""

import numpy as np
import pytest
from support.scenes import faults_of, scene

from simcli.kernels.forces.columns import Forces
from simcli.kernels.forces.prescribed import Prescribed
from simcli.kernels.forces.signals import Signals, drive
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.tables import Tables
from simcli.model import build
from simcli.model.signals.prescribed import prescribed
from simcli.model.signals.tables import Driven, MotionKind
from simcli.spec import resolve

ROUNDING = 1e-14


@pytest.mark.usefixtures("all_honoured")
@pytest.mark.parametrize(("text", "line"), [
    ("  c: {kinematic: true, mass: 1}\njoints: {j: {type: fixed, parent: a, child: c, at: [0, 0, 0]}}\n", 0),
    ("  c: {mass: 1, inertia: {diag: [1, 1, 1]}, motion: {linear: [1, 0, 0]}}\n", 0),
    ("  c: {kinematic: true, motion: {linear: [1, 0, 0]}}\n"
     "joints: {j: {type: revolute, parent: world, child: c, at: [0, 0, 0]}}\n", 0),
    ("joints:\n  j: {type: ball, parent: world, child: a, at: [0, 0, 0], q: [0, 0, 0, 1], motion: {position: 0.3}}\n", 1),
    ("joints:\n  j: {type: ball, parent: world, child: a, at: [0, 0, 0], qd: [1, 0, 0], motion: {position: 0.3}}\n", 1),
    ("  c: {mass: 1, inertia: {diag: [1, 1, 1]}}\njoints:\n  i: {type: revolute, parent: world, child: a, at: [0, 0, 0]}\n"
     "  j: {type: revolute, parent: world, child: c, at: [0, 0, 0], mimic: {joint: i}, motion: {velocity: 1}}\n", 3),
    ("joints:\n  j: {type: revolute, parent: world, child: a, at: [0, 0, 0], q: 0.2, motion: {position: 0.3}}\n", 1),
    ("joints:\n  j: {type: revolute, parent: world, child: a, at: [0, 0, 0], qd: 0.2, motion: {position: 0.3}}\n", 1),
])  # fmt: skip
def test_motions_that_cannot_be_prescribed(text, line):
    found = faults_of(text, "bodies:\n  a: {mass: 1, inertia: {diag: [1, 1, 1]}}\n")
    assert [(code, at) for code, at, _ in found] == [("SC470", line)], found


TURNING = """
bodies: {{a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}{}}}, b: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}}}
joints:
  j: {{parent: world, child: a, {}, motion: {{velocity: 1}}}}
  k: {{type: fixed, parent: world, child: b}}
solver: {{type: natural, integrator: generalized_alpha}}
"""
ONE, TWO = "type: revolute, axis: [0, 0, 1]", "type: universal, axes: {angular: [[1, 0, 0], [0, 1, 0]]}"


@pytest.mark.parametrize(("held", "joint", "words"), [
    ("", ONE, None), (", kinematic: true", TWO, None),
    ("", ONE + ", compliance: 1.0e-6", "on a joint that yields with generalized_alpha"),
    ("", TWO, "on a `universal` joint of several turns with generalized_alpha"),
])  # fmt: skip
def test_motions_that_generalized_alpha_takes(held, joint, words):
    found = faults_of(TURNING.format(held, joint))
    assert [(code, line) for code, line, _ in found] == ([("SC501", 3)] if words else []), found
    assert all(words in message for _, _, message in found), found


MOVING = """
bodies:
  floor: {kinematic: true, motion: {linear: [$x, 0.5, 0], angular: [0, 0, $w]}}
  shelf:
    pose: {xyz: [0, 0, 2], rpy: [0, 0, 90 deg]}
    kinematic: true
    motion: {linear: [$x, 0, 1], angular: [0, $w, 0]}
  wheel: {mass: 1, inertia: {diag: [1, 1, 1]}}
  table: {kinematic: true}
  arm: {mass: 1, inertia: {diag: [1, 1, 1]}}
joints:
  hold: {type: free, parent: world, child: shelf, parent_frame: {rpy: [0, 0, 90 deg]}}
  axle: {type: revolute, parent: floor, child: wheel, at: [0, 0, 0], axis: [0, 0, 1], motion: {position: $x}}
  turn: {type: revolute, parent: world, child: table, at: [0, 0, 0], axis: [0, 0, 1], motion: {velocity: 2}}
  lift: {type: prismatic, parent: table, child: arm, at: [0, 0, 0], axis: [0, 0, 1], motion: {position: 0.7}}
signals: {x: {sine: {amplitude: 2, frequency: 0.5, phase: 0.3}}, w: {ramp: {from: 1, to: 3, end: 2}}}
"""


@pytest.fixture
def moving(all_honoured):
    document = scene(MOVING)
    return build(resolve(document), document)


def at_time(t):
    """Signals x and w, with two rates."""
    phase = np.pi * t + 0.3
    x = 2 * np.array([np.sin(phase), np.pi * np.cos(phase), -np.pi**2 * np.sin(phase)])
    return x, np.array([1 + t, 1.0, 0.0])


def test_motions_are_read(moving):
    start, joints = moving.joints.qd_start, moving.joints.name
    of = {name: slice(start[j], start[j + 1]) for j, name in enumerate(joints)}
    assert (moving.motions.kind[of["floor_free"]] == MotionKind.VELOCITY).all()
    assert (moving.motions.kind[of["hold"]] == MotionKind.VELOCITY).all()
    assert moving.motions.kind[of["axle"]].tolist() == [MotionKind.POSITION]
    assert moving.motions.kind[of["turn"]].tolist() == [MotionKind.VELOCITY]
    assert moving.motions.kind[of["lift"]].tolist() == [MotionKind.POSITION]
    assert set(moving.inputs.column.tolist()) == {int(Driven.MOTION)}
    x, w = at_time(0.8)
    found = prescribed(moving, 0.8)[0]
    zero, half = np.zeros(3), np.array([0.5, 0.0, 0.0])
    assert np.abs(found[of["floor_free"]] - [x, half, zero, zero, zero, w]).max() < ROUNDING
    # The anchor frame's x axis is the world's y, its y axis the world's -x.
    one = np.array([1.0, 0.0, 0.0])
    assert np.abs(found[of["hold"]] - [zero, -x, one, w, zero, zero]).max() < 20 * ROUNDING
    assert np.abs(found[of["axle"]][0] - x).max() < 20 * ROUNDING
    assert found[of["turn"]][0].tolist() == [2, 0, 0]
    assert found[of["lift"]][0].tolist() == [0.7, 0, 0]


def test_the_start_is_that_of_the_motion(moving):
    joints, dofs = moving.joints, moving.dofs
    x, w = at_time(0.0)
    axle, turn, lift, floor = (joints.name.index(name) for name in ("axle", "turn", "lift", "floor_free"))
    q, qd = moving.joint_q[0], moving.joint_qd[0]
    assert q[joints.q_start[axle]] == pytest.approx(x[0], abs=ROUNDING)
    assert qd[joints.qd_start[axle]] == pytest.approx(x[1], abs=10 * ROUNDING)
    assert q[joints.q_start[lift]] == 0.7
    assert qd[joints.qd_start[turn]] == 2.0
    assert np.abs(qd[joints.qd_start[floor] : joints.qd_start[floor + 1]] - [x[0], 0.5, 0, 0, 0, w[0]]).max() < ROUNDING
    assert dofs.qd_given.all()
    assert dofs.q_given[joints.qd_start[axle]]


@ti.kernel
def drive_at(s: ti.template(), t: float):
    for w in range(s.arena.n_blocks):
        s.arena.enter(w)
        drive(s, w, t, 0.0)


def test_the_device_has_the_motions_of_an_instant(moving, device):
    arena = Arena(device, 1)
    tables = Tables(moving, arena)
    motions = Prescribed(moving, tables)
    signals = Signals(moving, tables, arena, (Forces(moving, tables, arena), motions))
    arena.build()
    tables.arena.upload()
    arena.launch(drive_at, signals, 0.8)
    q, qd, qdd = (getattr(motions, name).read()[0, :, 0] for name in ("motion_q", "motion_qd", "motion_qdd"))
    wanted = prescribed(moving, 0.8)[0]
    by_position = motions.kind == MotionKind.POSITION
    assert np.abs(q - np.where(by_position, wanted[:, 0], 0.0)).max() < 20 * ROUNDING
    assert np.abs(qd - np.where(by_position, wanted[:, 1], wanted[:, 0])).max() < 20 * ROUNDING
    assert np.abs(qdd - np.where(by_position, wanted[:, 2], wanted[:, 1])).max() < 20 * ROUNDING
