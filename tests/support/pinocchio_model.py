"""Our tables as a pinocchio model: an oracle for the rigid-body algorithms that shares no code with them.

Pinocchio's coordinates differ from ours at two joints. Notation: R rotation of the child anchor in the parent anchor,
r = R (centre of mass in the child anchor frame), v and w our rates in the parent anchor frame.

    ball   w_pin = R^T w                        w_pin' = R^T w'
    free   v_pin = R^T (v - w x r)              v_pin' = R^T (v' - w' x r) - R^T (w x v)
           w_pin = R^T w                        w_pin' = R^T w'

so qd_pin = G qd and qdd_pin = G qdd + drift, efforts = G^T efforts_pin, M = G^T M_pin G.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from simcli.model.tables.model import WORLD, JointKind, Model

POSES = (JointKind.FREE, JointKind.DISTANCE)


@dataclass(frozen=True)
class Seat:
    """A joint of ours in pinocchio: its first coordinate and rate there, and ours."""

    kind: JointKind
    their_q: int
    their_qd: int
    our_q: slice
    our_qd: slice
    backwards: bool
    com: np.ndarray


def skew(v):
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def placement(pose):
    return pin.SE3(pin.Quaternion(*pose[[6, 3, 4, 5]]).normalized().matrix(), pose[:3])


class PinocchioTree:
    """One tree of one world of a Model. Methods take full arrays of one state and give this tree's bodies and dofs.

    (A forest in one pinocchio model would take minutes to lay out: createData grows faster than the cube of its size.)
    """

    def __init__(self, model: Model, world: int, root: int):
        self.model, self.world = model, world
        self.pin = pin.Model()
        self.pin.gravity = pin.Motion(self.pick(model.gravity), np.zeros(3))
        self.seats, self.mount = [], {WORLD: (0, pin.SE3.Identity())}
        self.grow(root, WORLD, np.flatnonzero(model.joints.is_tree).tolist())
        self.data = self.pin.createData()
        self.bodies = np.array([body for body in self.mount if body != WORLD])
        self.dofs = np.array([d for s in self.seats for d in range(s.our_qd.start, s.our_qd.stop)], int)

    def pick(self, column):
        return column[self.world if len(column) > 1 else 0]

    def grow(self, j, inner, tree):
        """Add joint j and all that hangs on it, depth first (crba needs that order)."""
        joints = self.model.joints
        backwards = joints.parent[j] != inner
        outer = int(joints.parent[j] if backwards else joints.child[j])
        X_in, X_out = (placement(self.pick(x)[j]) for x in (joints.X_p, joints.X_c)[:: -1 if backwards else 1])
        host, on_host = self.mount[inner]
        motion = self.motion(j, backwards)
        if motion is None:
            self.mount[outer] = (host, on_host * X_in * X_out.inverse())
        else:
            new = self.pin.addJoint(host, motion, on_host * X_in, joints.name[j])
            self.mount[outer] = (new, X_out.inverse())
            self.seat(j, new, backwards)
        self.load(outer)
        for k in tree:
            if k != j and outer in (joints.parent[k], joints.child[k]):
                self.grow(k, outer, tree)

    def load(self, body):
        """Give a pinocchio joint the inertia of a body."""
        b = self.model.bodies
        inertia = pin.Inertia(self.pick(b.mass)[body], self.pick(b.com)[body], self.pick(b.inertia)[body])
        self.pin.appendBodyToJoint(self.mount[body][0], inertia, self.mount[body][1])

    def motion(self, j, backwards):
        joints = self.model.joints
        kind = JointKind(joints.kind[j])
        if kind == JointKind.BALL:
            return pin.JointModelSpherical()
        if kind in POSES:
            return pin.JointModelFreeFlyer()
        elements = []
        for d in range(joints.qd_start[j], joints.qd_start[j + 1]):
            axis = self.pick(self.model.dofs.axis)[d] * (-1.0 if backwards else 1.0)
            if kind == JointKind.SCREW:
                elements.append(pin.JointModelHelicalUnaligned(axis, self.pick(joints.pitch)[j]))
            elif d - joints.qd_start[j] < joints.dof_dim[j, 0]:
                elements.append(pin.JointModelPrismaticUnaligned(axis))
            else:
                elements.append(pin.JointModelRevoluteUnaligned(axis))
        if len(elements) < 2:
            return elements[0] if elements else None
        chain = pin.JointModelComposite()
        for element in elements[:: -1 if backwards else 1]:
            chain.addJoint(element)
        return chain

    def seat(self, j, new, backwards):
        joints = self.model.joints
        q, qd = (slice(starts[j], starts[j + 1]) for starts in (joints.q_start, joints.qd_start))
        com = placement(self.pick(joints.X_c)[j]).actInv(self.pick(self.model.bodies.com)[joints.child[j]])
        theirs = self.pin.joints[new]
        self.seats.append(Seat(JointKind(joints.kind[j]), theirs.idx_q, theirs.idx_v, q, qd, backwards, com))

    def coordinates(self, q, qd):
        """q_pin; G, square, its columns in the order of `dofs`; and the drift at rates qd."""
        q_pin, G, drift = np.zeros(self.pin.nq), np.zeros((self.pin.nv, len(self.dofs))), np.zeros(self.pin.nv)
        first = 0
        for s in self.seats:
            mine, n = q[s.our_q], s.our_qd.stop - s.our_qd.start
            block = np.eye(n)[:: -1 if s.backwards else 1]
            if s.kind == JointKind.BALL:
                block = pin.Quaternion(*mine[[3, 0, 1, 2]]).normalized().matrix().T
                mine = mine / np.linalg.norm(mine)
            elif s.kind in POSES:
                v, w = np.split(qd[s.our_qd], 2)
                R = placement(mine).rotation
                block = np.block([[R.T, R.T @ skew(R @ s.com)], [np.zeros((3, 3)), R.T]])
                drift[s.their_qd : s.their_qd + 3] = -R.T @ np.cross(w, v)
                mine = np.append(mine[:3], mine[3:] / np.linalg.norm(mine[3:]))
            elif s.backwards:
                mine = mine[::-1]
            G[s.their_qd : s.their_qd + n, first : first + n] = block
            q_pin[s.their_q : s.their_q + len(mine)] = mine
            first += n
        return q_pin, G, drift

    @property
    def armature(self):
        return self.pick(self.model.dofs.armature)[self.dofs]

    def centres(self):
        """(body, joint, rotation of the joint frame, lever from its origin to the body's centre, joint axes)."""
        for body in self.bodies:
            joint, on_joint = self.mount[body]
            yield body, joint, self.data.oMi[joint].rotation, on_joint.act(self.pick(self.model.bodies.com)[body])

    def poses_and_twists(self, q, qd):
        q_pin, G, _ = self.coordinates(q, qd)
        pin.forwardKinematics(self.pin, self.data, q_pin, G @ qd[self.dofs])
        poses, twists = [], []
        for body, joint, R, lever in self.centres():
            v = self.data.v[joint]
            poses.append(pin.SE3ToXYZQUAT(self.data.oMi[joint] * self.mount[body][1]))
            twists.append(np.append(R @ (v.linear + np.cross(v.angular, lever)), R @ v.angular))
        return np.array(poses), np.array(twists)

    def accelerations(self, q, qd, qdd):
        """Accelerations of the centres of mass, and angular ones, world."""
        q_pin, G, drift = self.coordinates(q, qd)
        pin.forwardKinematics(self.pin, self.data, q_pin, G @ qd[self.dofs], G @ qdd[self.dofs] + drift)
        found = []
        for _, joint, R, lever in self.centres():
            a = pin.getClassicalAcceleration(self.pin, self.data, joint, pin.LOCAL)
            w = self.data.v[joint].angular
            at_com = a.linear + np.cross(a.angular, lever) + np.cross(w, np.cross(w, lever))
            found.append(np.append(R @ at_com, R @ a.angular))
        return np.array(found)

    def external(self, q_pin, body_f):
        """Forces and torques about the centres of mass, world axes, as pinocchio's joint forces."""
        pin.forwardKinematics(self.pin, self.data, q_pin)
        totals = [np.zeros(6) for _ in range(self.pin.njoints)]
        for body, joint, R, lever in self.centres():
            force, torque = R.T @ body_f[body, :3], R.T @ body_f[body, 3:]
            totals[joint] += np.append(force, torque + np.cross(lever, force))
        forces = pin.StdVec_Force()
        forces.extend([pin.Force(total) for total in totals])
        return forces

    def inverse_dynamics(self, q, qd, qdd, body_f):
        q_pin, G, drift = self.coordinates(q, qd)
        forces = self.external(q_pin, body_f)
        rate, rise = G @ qd[self.dofs], G @ qdd[self.dofs] + drift
        return G.T @ pin.rnea(self.pin, self.data, q_pin, rate, rise, forces) + self.armature * qdd[self.dofs]

    def joint_wrenches(self, q, qd, qdd, body_f):
        """Force and torque on the child at its anchor, world, of joints whose child hangs on them; their indices."""
        self.inverse_dynamics(q, qd, qdd, body_f)
        chosen = [k for k, s in enumerate(self.seats) if not s.backwards]
        found = []
        for k in chosen:
            R, force = self.data.oMi[k + 1].rotation, self.data.f[k + 1]
            found.append(np.append(R @ force.linear, R @ force.angular))
        starts = self.model.joints.qd_start
        ours = [j for j in range(self.model.n_joints) if starts[j + 1] > starts[j]]
        by_start = {int(starts[j]): j for j in ours}
        return np.array(found).reshape(-1, 6), [by_start[self.seats[k].our_qd.start] for k in chosen]

    def mass_matrix(self, q):
        q_pin, G, _ = self.coordinates(q, np.zeros(self.model.n_qd))
        M = np.triu(pin.crba(self.pin, self.data, q_pin))
        return G.T @ (M + np.triu(M, 1).T) @ G + np.diag(self.armature)

    def forward_dynamics(self, q, qd, tau, body_f):
        """By pinocchio's articulated-body algorithm; only without armature."""
        assert not self.armature.any()
        q_pin, G, drift = self.coordinates(q, qd)
        forces = self.external(q_pin, body_f)
        efforts = np.linalg.solve(G.T, tau[self.dofs])
        qdd = pin.aba(self.pin, self.data, q_pin, G @ qd[self.dofs], efforts, forces)
        return np.linalg.solve(G, qdd - drift)

    def jacobian(self, q):
        """(bodies, 6, dofs), velocity of the centre of mass and angular velocity, world."""
        q_pin, G, _ = self.coordinates(q, np.zeros(self.model.n_qd))
        pin.computeJointJacobians(self.pin, self.data, q_pin)
        parts = []
        for _, joint, R, lever in self.centres():
            part = np.zeros((6, self.pin.nv))
            if joint:
                part = pin.getJointJacobian(self.pin, self.data, joint, pin.LOCAL_WORLD_ALIGNED).reshape(6, self.pin.nv)
                part[:3] -= skew(R @ lever) @ part[3:]
            parts.append(part @ G)
        return np.array(parts)


def pinocchio_trees(model: Model, world: int) -> list[PinocchioTree]:
    """All trees of one world."""
    joints = model.joints
    roots = [j for j in range(model.n_joints) if joints.is_tree[j] and WORLD in (joints.parent[j], joints.child[j])]
    return [PinocchioTree(model, world, root) for root in roots]
