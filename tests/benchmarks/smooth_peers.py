"""Other engines on the same mechanism: MuJoCo's rollout and pinocchio's inverse dynamics, for comparison in one run.

Comes in: a Model. Goes out: the peer's model and its numbers in our layout. Trees of revolute, prismatic and fixed joints
only: there the coordinates of the engines are the same numbers.
"""

import time
import warnings
from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.cli.runs.bench_work import mean_seconds
from simcli.errors import UsageError
from simcli.model.tables.model import WORLD, JointKind, Model

MUJOCO_INTEGRATORS = {"semi_implicit": "Euler", "rk4": "RK4"}
COMMON_JOINTS = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.FIXED)
DEEPEST = 400  # bodies within each other: tinyxml2 stops at 500 elements
CHUNK = 100  # steps per rollout call: its output, every state of every step, stays small and is reused


@dataclass(frozen=True)
class PeerRun:
    """What a peer did.

    Attributes:
        name: engine and version.
        seconds: wall time of the work alone.
        result: (N, NV), end coordinates or efforts, in our layout.
    """

    name: str
    seconds: float
    result: np.ndarray


def refuse_unlike(model: Model) -> None:
    """Refuse mechanisms on which the engines do not share coordinates.

    Raises:
        UsageError: naming the joint, or the force.
    """
    for name, kind, is_tree in zip(model.joints.name, model.joints.kind, model.joints.is_tree, strict=True):
        if kind not in COMMON_JOINTS or not is_tree:
            raise UsageError(
                f"no peer for joint `{name}` ({JointKind(kind).name.lower()}): only trees of revolute, "
                "prismatic and fixed joints are compared"
            )
    acting = (model.dofs.drive_mode, model.joint_f, model.dofs.spring_stiffness)
    if model.springs.name or model.cables.name or model.wrenches.name or any(np.any(column) for column in acting):
        raise UsageError("no peer for springs, wrenches, drives and applied torques")
    varied = [len(a) for a in (model.bodies.mass, model.joints.X_p, model.dofs.damping, model.gravity)]
    if max(varied) > 1:
        raise UsageError("no peer for a batch that varies more than the initial state")


def mjcf_of(model: Model, integrator: str, dt: float) -> str:
    """The mechanism in MuJoCo's format, without contact.

    Args:
        model: tables of a common mechanism.
        integrator: MuJoCo's name.
        dt: [s].
    """
    lines = [
        f'<mujoco><option integrator="{integrator}" timestep="{dt!r}" gravity="{_text(model.gravity[0])}">'
        '<flag contact="disable"/></option><compiler angle="radian"/><worldbody>'
    ]
    children: dict[int, list[int]] = {}
    for j, parent in enumerate(model.joints.parent):
        children.setdefault(int(parent), []).append(j)
    _add_bodies(model, children, WORLD, lines, DEEPEST)
    return "\n".join([*lines, "</worldbody></mujoco>"])


def _add_bodies(model: Model, children: dict[int, list[int]], parent: int, lines: list[str], left: int) -> None:
    if not left:
        raise UsageError(f"no peer: MuJoCo reads no XML that is deeper than {DEEPEST} bodies")
    bodies, joints, dofs = model.bodies, model.joints, model.dofs
    for j in children.get(parent, []):
        b, X_p, X_c = int(joints.child[j]), joints.X_p[0, j], joints.X_c[0, j]
        R_p, R_c = rot.quat_to_matrix(X_p[3:]), rot.quat_to_matrix(X_c[3:])
        R = R_p @ R_c.T
        x, y, z, w = rot.matrix_to_quat(R)
        inertia = bodies.inertia[0, b]
        lines.append(f'<body name="b{b}" pos="{_text(X_p[:3] - R @ X_c[:3])}" quat="{_text([w, x, y, z])}">')
        full = [inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        lines.append(
            f'<inertial pos="{_text(bodies.com[0, b])}" mass="{float(bodies.mass[0, b])!r}" fullinertia="{_text(full)}"/>'
        )
        if joints.kind[j] != JointKind.FIXED:
            d, kind = joints.qd_start[j], "hinge" if joints.kind[j] == JointKind.REVOLUTE else "slide"
            lines.append(
                f'<joint name="j{j}" type="{kind}" pos="{_text(X_c[:3])}" axis="{_text(R_c @ dofs.axis[0, d])}" '
                f'damping="{float(dofs.damping[0, d])!r}" armature="{float(dofs.armature[0, d])!r}"/>'
            )
        _add_bodies(model, children, b, lines, left - 1)
        lines.append("</body>")


def _text(numbers) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def run_mujoco(model: Model, integrator: str, dt: float, n_steps: int, threads: int) -> PeerRun:
    """The same worlds by `mujoco.rollout`, in chunks of steps.

    Raises:
        ModuleNotFoundError: mujoco is not installed.
        UsageError: it has no such mechanism or integrator.
    """
    import mujoco
    from mujoco import rollout

    refuse_unlike(model)
    if integrator not in MUJOCO_INTEGRATORS:
        raise UsageError(f"mujoco has no integrator like `{integrator}`")
    peer = mujoco.MjModel.from_xml_string(mjcf_of(model, MUJOCO_INTEGRATORS[integrator], dt))
    data = [mujoco.MjData(peer) for _ in range(threads)]
    order = _order(peer, model, mujoco)
    n, spec = model.n_qd, mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros((model.n_worlds, mujoco.mj_stateSize(peer, spec)))
    state[:, 1 : 1 + n] = model.joint_q[:, order]
    state[:, 1 + n : 1 + 2 * n] = model.joint_qd[:, order]
    out, seconds, done = np.zeros((model.n_worlds, CHUNK, state.shape[1])), 0.0, 0
    models = [peer] * model.n_worlds
    with rollout.Rollout(nthread=threads if threads > 1 else 0) as pool:
        pool.rollout(models, data, state, nstep=1)  # starts its threads
        while done < n_steps:
            steps = min(CHUNK, n_steps - done)
            buffer = out if steps == CHUNK else np.zeros((model.n_worlds, steps, state.shape[1]))
            start = time.perf_counter()
            pool.rollout(models, data, state, nstep=steps, state=buffer)
            seconds += time.perf_counter() - start
            state, done = buffer[:, -1].copy(), done + steps
    result = np.empty((model.n_worlds, n))
    result[:, order] = state[:, 1 : 1 + n]
    return PeerRun(f"mujoco {mujoco.__version__}", seconds, result)


def _order(peer, model: Model, mujoco) -> np.ndarray:
    """Our dof of each of MuJoCo's, (NV,)."""
    names = [mujoco.mj_id2name(peer, mujoco.mjtObj.mjOBJ_JOINT, k) for k in range(peer.njnt)]
    return np.array([model.joints.qd_start[int(name[1:])] for name in names], int)


def run_pinocchio(model: Model, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, threads: int) -> PeerRun:
    """Inverse dynamics of N states by `pinocchio.rneaInParallel`; (N, NV) arrays.

    Raises:
        ModuleNotFoundError: pinocchio is not installed.
        UsageError: it has no such mechanism.
    """
    import pinocchio

    refuse_unlike(model)
    peer, order = _pinocchio_model(model, pinocchio)
    pool = pinocchio.ModelPool(peer, threads)
    states = [np.asfortranarray(a[:, order].T) for a in (q, qd, qdd)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, efforts = mean_seconds(lambda: pinocchio.rneaInParallel(threads, pool, *states))
    result = np.empty(q.shape)
    result[:, order] = np.asarray(efforts).T
    return PeerRun(f"pinocchio {pinocchio.__version__}", seconds, result)


def _pinocchio_model(model: Model, pinocchio):
    """The mechanism for pinocchio, its frames at our child anchors, and our dof of each of its."""
    peer, placed, order = pinocchio.Model(), {WORLD: (0, pinocchio.SE3.Identity())}, []
    peer.gravity.linear = np.array(model.gravity[0])
    joints = model.joints
    for j in model.links.joint:
        parent, child = int(joints.parent[j]), int(joints.child[j])
        X_p, X_c = (pinocchio.SE3(rot.quat_to_matrix(X[3:]), np.array(X[:3])) for X in (joints.X_p[0, j], joints.X_c[0, j]))
        index, to_parent = placed[parent]
        if joints.kind[j] == JointKind.FIXED:
            to_child = to_parent * X_p * X_c.inverse()
        else:
            axis = np.array(model.dofs.axis[0, joints.qd_start[j]])
            kinds = {
                JointKind.REVOLUTE: pinocchio.JointModelRevoluteUnaligned,
                JointKind.PRISMATIC: pinocchio.JointModelPrismaticUnaligned,
            }
            index = peer.addJoint(index, kinds[JointKind(joints.kind[j])](axis), to_parent * X_p, f"j{j}")
            peer.armature[-1:] = model.dofs.armature[0, joints.qd_start[j]]
            to_child = X_c.inverse()
            order.append(int(joints.qd_start[j]))
        bodies = model.bodies
        inertia = pinocchio.Inertia(
            float(bodies.mass[0, child]), np.array(bodies.com[0, child]), np.array(bodies.inertia[0, child])
        )
        peer.appendBodyToJoint(index, inertia, to_child)
        placed[child] = (index, to_child)
    return peer, np.array(order, int)
