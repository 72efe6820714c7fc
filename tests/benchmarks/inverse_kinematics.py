"""Coordinates for poses of three public arms: simcli beside damped least squares on pinocchio and on MuJoCo, in one run.

    python tests/benchmarks/inverse_kinematics.py [TARGETS]

Coordinates are uniform within the limits, targets are their poses, and all searches have random starts, up to 32 for each
target; a target is reached at 1e-6 m and 1e-6 rad. The peers take steps dq = J^T (J J^T + 1e-6 E)^-1 e from Python, as
their manuals show, clamped to the limits, 100 at most; kinematics and Jacobians are theirs.
"""

import sys
import tempfile
import time
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin

import simcli
from simcli import rotations as rot

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.target_arms import ARMS, Arm

SEEDS, STEPS, DAMPING, REACHED = 32, 100, 1e-6, 1e-6


def targets_of(arm: Arm, count: int) -> np.ndarray:
    """Poses of the last body, (count, 7)."""
    T = arm.poses(arm.drawn(np.random.default_rng(1), count))
    return np.concatenate([T[:, :3, 3], rot.matrix_to_quat(T[:, :3, :3])], axis=1)


def by_simcli(arm: Arm, poses: np.ndarray) -> tuple[np.ndarray, float]:
    """Mask of targets that are reached, and seconds, with kernels compiled."""
    with tempfile.TemporaryDirectory() as folder:
        scene = Path(folder) / "arm.yaml"
        scene.write_text(arm.scene())
        with simcli.Simulation(scene, device="cpu", threads=1) as sim:
            goal, worlds = f"link{arm.n - 1}", np.zeros(len(poses), int)
            sim.ik({goal: poses[:8]}, worlds=worlds[:8], seeds=2)
            began = time.perf_counter()
            found = sim.ik({goal: poses}, worlds=worlds, seeds=SEEDS, iterations=STEPS)
            return found.reached, time.perf_counter() - began


def pinocchio_error(arm: Arm):
    """Error and Jacobian in the frame of the last body, by pinocchio."""
    model = pin.Model()
    last, before = 0, pin.SE3.Identity()
    for k, (a, alpha, d) in enumerate(arm.rows):
        c, s = np.cos(alpha), np.sin(alpha)
        link = pin.SE3(np.array([[1.0, 0, 0], [0, c, -s], [0, s, c]]), np.array([a, 0.0, 0.0]))
        along = pin.SE3(np.eye(3), np.array([0.0, 0.0, d]))
        last = model.addJoint(last, pin.JointModelRZ(), before * link * along if arm.is_modified else before, f"j{k}")
        before = pin.SE3.Identity() if arm.is_modified else along * link
    data = model.createData()

    def error(q, pose):
        goal = pin.XYZQUATToSE3(pose)
        pin.computeJointJacobians(model, data, q)
        here = data.oMi[last] * before
        J = before.inverse().action @ pin.getJointJacobian(model, data, last, pin.LOCAL)
        return pin.log6(here.actInv(goal)).vector, J

    return error


def mujoco_error(arm: Arm):
    """Error and Jacobian in world axes, by MuJoCo."""
    inner, outer = "", ""
    for k, (a, alpha, d) in enumerate(arm.rows):
        half = f"{np.cos(alpha / 2)!r} {np.sin(alpha / 2)!r} 0 0".replace("np.float64(", "").replace(")", "")
        mass = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        hinge = f'<joint name="j{k}" axis="0 0 1"/>{mass}'
        if arm.is_modified:
            inner += f'<body pos="{a} 0 0" quat="{half}"><body pos="0 0 {d}">{hinge}'
        else:
            inner += f'<body>{hinge}<body pos="{a} 0 {d}" quat="{half}">'
        outer += "</body></body>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{inner}{outer}</worldbody></mujoco>")
    data, last, J, turn = mujoco.MjData(model), model.nbody - 1, np.zeros((6, arm.n)), np.zeros(3)

    def error(q, pose):
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_jacBody(model, data, J[:3], J[3:], last)
        x, y, z, w = pose[3:]
        here, inverse, lacking = data.xquat[last], np.zeros(4), np.zeros(4)
        mujoco.mju_negQuat(inverse, here)
        mujoco.mju_mulQuat(lacking, np.array([w, x, y, z]), inverse)
        mujoco.mju_quat2Vel(turn, lacking, 1.0)
        return np.concatenate([pose[:3] - data.xpos[last], turn]), J

    return error


def by_peer(arm: Arm, poses: np.ndarray, error) -> tuple[np.ndarray, float]:
    """As `by_simcli`, by damped least squares."""
    starts = arm.drawn(np.random.default_rng(9), SEEDS)
    reached, began = np.zeros(len(poses), bool), time.perf_counter()
    for k, pose in enumerate(poses):
        for start in starts:
            q = start.copy()
            for _ in range(STEPS):
                e, J = error(q, pose)
                if np.abs(e).max() < REACHED:
                    reached[k] = True
                    break
                q = np.clip(q + J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(6), e), *arm.limits.T)
            if reached[k]:
                break
    return reached, time.perf_counter() - began


def main(count: int) -> None:
    print(f"{'arm':8}{'solver':12}{'targets':>8}{'reached':>10}{'us a target':>14}")
    for name, arm in ARMS.items():
        poses = targets_of(arm, count)
        some = poses[: max(count // 50, 4)]  # peers take so much longer
        rows = [("simcli", poses, by_simcli(arm, poses))]
        for peer, error in (("pinocchio", pinocchio_error(arm)), ("mujoco", mujoco_error(arm))):
            rows.append((peer, some, by_peer(arm, some, error)))
        for solver, asked, (reached, seconds) in rows:
            print(f"{name:8}{solver:12}{len(asked):8}{reached.mean():10.4f}{1e6 * seconds / len(asked):14.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
