"""MuJoCo on mechanisms that touch: trees of free bodies, hinges, slides and balls of hinges, with planes and round shapes.

Comes in: a Model. Goes out: speed of mujoco.rollout, and how well a step keeps the law of contact.
"""

import time
from collections.abc import Iterator

import numpy as np

from simcli import rotations as rot
from simcli.analysis.drift import natural_map
from simcli.errors import UsageError
from simcli.model.bodies.colliders import colliders
from simcli.model.joints.tree_kinematics import body_poses, body_twists
from simcli.model.tables.model import WORLD, DriveMode, JointKind, Model, ShapeKind

JOINTS = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.FIXED, JointKind.FREE, JointKind.D6)
GEOMS = {ShapeKind.PLANE: "plane", ShapeKind.SPHERE: "sphere", ShapeKind.BOX: "box", ShapeKind.CAPSULE: "capsule"}
CHUNK = 50  # steps per rollout call


def touching_mjcf(model: Model, dt: float) -> str:
    """The mechanism in MuJoCo's format, with its default solver.

    Args:
        model: tables of a mechanism.
        dt: [s].

    Raises:
        UsageError: a joint or a shape that the engines do not share.
    """
    for name, kind, is_tree in zip(model.joints.name, model.joints.kind, model.joints.is_tree, strict=True):
        if kind not in JOINTS or not is_tree:
            raise UsageError(f"no peer for joint `{name}` ({JointKind(kind).name.lower()})")
    for name, kind in zip(model.shapes.name, model.shapes.kind, strict=True):
        if kind not in GEOMS:
            raise UsageError(f"no peer for shape `{name}` ({ShapeKind(kind).name.lower()})")
    lines = [
        f'<mujoco><option timestep="{dt!r}" gravity="{_text(model.gravity[0])}"/>'
        '<compiler angle="radian" autolimits="true"/><worldbody>'
    ]
    children: dict[int, list[int]] = {}
    for j, parent in enumerate(model.joints.parent):
        children.setdefault(int(parent), []).append(j)
    geoms = _geoms(model)
    lines += geoms.get(WORLD, [])
    _add_bodies(model, children, geoms, WORLD, lines)
    return "\n".join([*lines, "</worldbody><contact>", *_exclusions(model), "</contact></mujoco>"])


def _add_bodies(model: Model, children: dict, geoms: dict, parent: int, lines: list[str]) -> None:
    bodies, joints = model.bodies, model.joints
    for j in children.get(parent, []):
        b, X_p, X_c = int(joints.child[j]), joints.X_p[0, j], joints.X_c[0, j]
        R_c = rot.quat_to_matrix(X_c[3:])
        R = rot.quat_to_matrix(X_p[3:]) @ R_c.T
        x, y, z, w = rot.matrix_to_quat(R)
        lines.append(f'<body name="b{b}" pos="{_text(X_p[:3] - R @ X_c[:3])}" quat="{_text([w, x, y, z])}">')
        m = bodies.inertia[0, b]
        full = [m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]]
        lines.append(
            f'<inertial pos="{_text(bodies.com[0, b])}" mass="{float(bodies.mass[0, b])!r}" fullinertia="{_text(full)}"/>'
        )
        if joints.kind[j] == JointKind.FREE:
            lines.append(f'<freejoint name="j{j}"/>')
        else:
            lines += [_joint(model, j, d, X_c, R_c) for d in range(joints.qd_start[j], joints.qd_start[j + 1])]
        lines += geoms.get(b, [])
        _add_bodies(model, children, geoms, b, lines)
        lines.append("</body>")


def _joint(model: Model, j: int, d: int, X_c: np.ndarray, R_c: np.ndarray) -> str:
    """A hinge or a slide for one motion axis, with its limits, spring and damper."""
    dofs = model.dofs
    kind = "slide" if d - model.joints.qd_start[j] < model.joints.dof_dim[j, 0] else "hinge"
    drives = float(dofs.drive_mode[d] == DriveMode.POSITION)
    stiffness = drives * dofs.drive_stiffness[0, d] + dofs.spring_stiffness[0, d]
    damping = drives * dofs.drive_damping[0, d] + dofs.damping[0, d]
    low, high = dofs.limit_lower[0, d], dofs.limit_upper[0, d]
    bounds = f' range="{_text([low, high])}"' if np.isfinite([low, high]).all() else ""
    rest = dofs.drive_target[0, d] if drives else dofs.spring_rest[0, d]
    return (
        f'<joint name="d{d}" type="{kind}" pos="{_text(X_c[:3])}" axis="{_text(R_c @ dofs.axis[0, d])}"{bounds} '
        f'stiffness="{float(stiffness)!r}" springref="{float(rest)!r}" damping="{float(damping)!r}" '
        f'armature="{float(dofs.armature[0, d])!r}" frictionloss="{float(dofs.friction[0, d])!r}"/>'
    )


def _geoms(model: Model) -> dict[int, list[str]]:
    """Lines of the shapes of each body; those that no pair names do not collide.

    The engine takes the larger friction and the larger number of directions of two shapes.
    """
    shapes, table, c = model.shapes, colliders(model), model.contacts.pairs
    sizes = {
        ShapeKind.PLANE: lambda h, r: (1, 1, 1),
        ShapeKind.SPHERE: lambda h, r: (r,),
        ShapeKind.BOX: lambda h, r: h,
        ShapeKind.CAPSULE: lambda h, r: (r, h[2] - h[0]),
    }
    mu = np.full(len(shapes.name), np.inf)
    friction = model.contacts.friction[0, c.combination]
    for ends in (c.shape_a, c.shape_b):
        np.minimum.at(mu, ends, friction)
    if not np.array_equal(np.maximum(mu[c.shape_a], mu[c.shape_b]), friction):
        raise UsageError("no peer where the friction of a pair is not the larger one of its shapes")
    found: dict[int, list[str]] = {}
    for s, (body, kind) in enumerate(zip(shapes.body, shapes.kind, strict=True)):
        x, y, z, w = shapes.pose[0, s, 3:]
        size = sizes[ShapeKind(kind)](table.half[0, s], table.radius[0, s])
        touches, rubs = int(np.isfinite(mu[s])), bool(0.0 < mu[s] < np.inf)
        found.setdefault(int(body), []).append(
            f'<geom name="s{s}" type="{GEOMS[ShapeKind(kind)]}" size="{_text(size)}" pos="{_text(shapes.pose[0, s, :3])}" '
            f'quat="{_text([w, x, y, z])}" condim="{3 if rubs else 1}" friction="{float(mu[s] if rubs else 0)!r} 0 0" '
            f'contype="{touches}" conaffinity="{touches}"/>'
        )
    return found


def _exclusions(model: Model) -> list[str]:
    """Pairs of bodies whose shapes do not touch here."""
    body = np.asarray(model.shapes.body)
    ends = (body[shapes].tolist() for shapes in model.contacts.pairs[:2])
    touching = {frozenset(pair) for pair in zip(*ends, strict=True)}
    shaped = sorted(set(body.tolist()) - {WORLD})
    return [
        f'<exclude body1="b{a}" body2="b{b}"/>'
        for a in shaped
        for b in shaped
        if a < b and frozenset((a, b)) not in touching
    ]


def _text(numbers) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def states_of(peer, model: Model, mujoco) -> np.ndarray:
    """MuJoCo's states where the worlds begin, (W, size): time, qpos, qvel."""
    n_worlds = model.n_worlds
    turn, at = body_poses(model, model.joint_q)
    speed, spin = body_twists(model, model.joint_q, model.joint_qd)
    qpos, qvel = np.zeros((n_worlds, peer.nq)), np.zeros((n_worlds, peer.nv))
    for k in range(peer.njnt):
        name = mujoco.mj_id2name(peer, mujoco.mjtObj.mjOBJ_JOINT, k)
        q, v, number = peer.jnt_qposadr[k], peer.jnt_dofadr[k], int(name[1:])
        if name[0] == "d":
            joint = int(model.dofs.joint[number])
            place = model.joints.q_start[joint] + number - model.joints.qd_start[joint]
            qpos[:, q], qvel[:, v] = model.joint_q[:, place], model.joint_qd[:, number]
            continue
        b = int(model.joints.child[number])
        qpos[:, q : q + 3], qpos[:, q + 3 : q + 7] = at[b], rot.matrix_to_quat(turn[b])[..., [3, 0, 1, 2]]
        qvel[:, v : v + 3] = speed[b] - np.cross(spin[b], rot.turn(turn[b], model.bodies.com[:, b]))
        qvel[:, v + 3 : v + 6] = np.einsum("wji,wj->wi", np.broadcast_to(turn[b], (n_worlds, 3, 3)), spin[b])
    return np.concatenate([np.zeros((n_worlds, 1)), qpos, qvel], axis=1)


def run_touching(model: Model, dt: float, n_steps: int, threads: int = 1) -> tuple[str, float, np.ndarray]:
    """The same worlds by `mujoco.rollout` on one thread: name and version, [s] of the work alone, qpos at the end.

    One world alone has MuJoCo's own pool of threads, where there are several.

    Raises:
        ModuleNotFoundError: mujoco is not installed.
        UsageError: it has no such mechanism, or no memory for it.
    """
    import mujoco
    from mujoco import rollout

    try:
        peer = mujoco.MjModel.from_xml_string(touching_mjcf(model, dt))
    except ValueError as error:  # of ten thousand boxes: it has no memory for all that could touch
        raise UsageError(f"no peer: {error}") from error
    data, state, seconds, done = [mujoco.MjData(peer)], states_of(peer, model, mujoco), 0.0, 0
    if threads > 1 and len(state) == 1:
        return f"mujoco {mujoco.__version__}", *_with_pool(peer, data[0], state[0], n_steps, threads, mujoco)
    models = [peer] * len(state)
    with rollout.Rollout(nthread=0) as pool:
        while done < n_steps:
            steps = min(CHUNK, n_steps - done)
            begin = time.perf_counter()
            out, _ = pool.rollout(models, data, state, nstep=steps)
            seconds += time.perf_counter() - begin
            state, done = out[:, -1].copy(), done + steps
    return f"mujoco {mujoco.__version__}", seconds, state[:, 1 : 1 + peer.nq]


def _with_pool(peer, data, state: np.ndarray, n_steps: int, threads: int, mujoco) -> tuple[float, np.ndarray]:
    """Steps of one world by several threads, which `rollout` refuses: [s], and qpos at the end, (1, nq)."""
    mujoco.mju_threadpool(data, threads)
    data.qpos[:], data.qvel[:] = state[1 : 1 + peer.nq], state[1 + peer.nq :]
    begin = time.perf_counter()
    mujoco.mj_step(peer, data, n_steps)
    return time.perf_counter() - begin, data.qpos[None].copy()


def mujoco_natural_map(model: Model, dt: float, n_steps: int, n_worlds: int, most: int | None = None) -> np.ndarray:
    """[m/s], the largest natural map of the contacts of some worlds, each by itself: of all steps, or of so many at most."""
    import mujoco

    peer = mujoco.MjModel.from_xml_string(touching_mjcf(model, dt))
    data, watched = mujoco.MjData(peer), np.unique(np.linspace(0, n_steps - 1, min(most or n_steps, n_steps)).astype(int))
    worst = np.zeros(len(watched))
    for state in states_of(peer, model, mujoco)[:n_worlds]:
        mujoco.mj_resetData(peer, data)
        data.qpos[:], data.qvel[:] = state[1 : 1 + peer.nq], state[1 + peer.nq :]
        for k, step in enumerate(watched):
            mujoco.mj_step(peer, data, int(step - (watched[k - 1] if k else -1)))
            for contact in _contacts_of(peer, data, mujoco):
                worst[k] = max(worst[k], natural_map(*contact).max())
    return worst


def _contacts_of(peer, data, mujoco) -> Iterator[tuple]:
    """J, M, v, impulse, bias and friction of each contact of the step that is over, of the velocities of its two trees.

    Contacts stand where the step began. An overlap asks for no speed, a gap may be closed within the step.
    """
    h, force, ends, mass = peer.opt.timestep, np.zeros(6), np.zeros((2, 3, peer.nv)), {}
    for c in range(data.ncon):
        contact = data.contact[c]
        bodies = peer.geom_bodyid[contact.geom]
        for side in range(2):
            mujoco.mj_jac(peer, data, ends[side], None, contact.pos, bodies[side])
        trees = tuple(sorted({int(tree) for tree in peer.body_treeid[bodies] if tree >= 0}))
        if trees not in mass:
            mass[trees] = _mass_of(peer, data, trees, mujoco)
        own, M = mass[trees]
        J = contact.frame.reshape(3, 3) @ (ends[1] - ends[0])[:, own]
        mujoco.mj_contactForce(peer, data, c, force)
        bias, mu = np.array([[max(contact.dist, 0.0) / h, 0.0, 0.0]]), contact.friction[0] if contact.dim > 1 else 0.0
        yield J[None], M, data.qvel[own], force[None, :3] * h, bias, np.array([mu])


def _mass_of(peer, data, trees: tuple[int, ...], mujoco) -> tuple[np.ndarray, np.ndarray]:
    """Velocities of some trees, (n,), and their mass matrix, (n, n)."""
    own, column = np.flatnonzero(np.isin(peer.dof_treeid, trees)), np.zeros(peer.nv)
    M = np.zeros((len(own), len(own)))
    for k, dof in enumerate(own):
        mujoco.mj_mulM(peer, data, column, np.eye(1, peer.nv, dof)[0])
        M[k] = column[own]
    return own, M
