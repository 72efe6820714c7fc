"""What a program gives for worlds: numbers, which worlds, and states to begin from.

States are coordinates and velocities of joints, poses and twists of free bodies, by name.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from simcli import rotations as rot
from simcli.arguments import by_name
from simcli.errors import UsageError
from simcli.job import Job
from simcli.kernels.device.dlpack import on_host
from simcli.model.closure.begin import assembly_of, begins_anywhere, begun
from simcli.model.initial_state import MOST_ANGLE, far_angles
from simcli.model.joints.catalogue import QUATERNIONS
from simcli.model.tables.joint_tables import Joints
from simcli.model.tables.model import WORLD, Array, JointKind, Model
from simcli.model.tables.start_tables import Beginning
from simcli.model.tables.worlds import model_of_worlds
from simcli.spec.base.channel_names import CHANNEL_GROUPS, canonical, split_name
from simcli.spec.base.nodes import Rank


def fitting_numbers(
    what: str, value: object, shape: tuple[int, ...], worlds: np.ndarray | None = None, dtype: type = float
) -> np.ndarray:
    """Values of a shape.

    Args:
        what: what they are of, for messages, as "control of `pin`".
        value: broadcastable to the shape; of one number for each world also (worlds,). Arrays of other libraries have
            `__dlpack__`.
        shape: (worlds, ...).
        worlds: numbers of the worlds behind the rows; None for all.
        dtype: float, or bool.

    Returns:
        [as given], a view that is not to be written.

    Raises:
        UsageError: they do not fit, or are not finite.
    """
    value = on_host_of(what, value)
    try:
        values: np.ndarray = np.asarray(value, dtype)
    except (ValueError, TypeError, OverflowError):
        raise UsageError(f"{what}: {value!r} is no number, and no list or array of numbers") from None
    if dtype is bool and not np.isin(np.asarray(value), (0, 1)).all():
        raise UsageError(f"{what}: {value!r} is no flag, and no list or array of flags; write True or False")
    if values.shape == shape[:1] and shape[1:] == (1,):
        values = values[:, None]
    try:
        values = values if values.shape == shape else np.broadcast_to(values, shape)
    except ValueError:
        fits = f"values of shape {values.shape} do not fit (worlds, numbers) = {shape}"
        raise UsageError(f"{what}: {fits}") from None
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argwhere(~finite)[0, 0])
        raise UsageError(f"{what}: the value for world {row if worlds is None else worlds[row]} is not finite")
    return values


NOT_LENT = (BufferError, RuntimeError, TypeError, ValueError)  # what arrays of other libraries raise that cannot be had


def on_host_of(what: str, value: object) -> object:
    """A value, or the numbers of an array of another library.

    Raises:
        UsageError: they cannot be had.
    """
    if not hasattr(value, "__dlpack__") or isinstance(value, np.ndarray | np.generic):
        return value
    try:
        return on_host(value)
    except NOT_LENT as error:
        raise UsageError(f"{what}: the array cannot be taken by dlpack: {str(error) or type(error).__name__}") from None


def numbers_of_worlds(what: str, worlds: object, n_worlds: int) -> np.ndarray:
    """Numbers of worlds in any order, (N,), the same one more than once if need be.

    Args:
        what: whose they are, for messages.
        worlds: a number, or some of them.
        n_worlds: W.

    Raises:
        UsageError: they are no numbers of worlds.
    """
    try:
        given = np.atleast_1d(np.asarray(on_host_of(what, worlds)))
    except ValueError:  # rows of several lengths
        given = np.array([""])
    if given.ndim != 1 or given.dtype.kind not in "iu" or np.any((given < 0) | (given >= n_worlds)):
        raise UsageError(f"{what} are numbers from 0 to {n_worlds - 1}")
    return given


def weights_given(weights: object) -> dict[str, list[float]]:
    """Weights of targets by patterns of their names: of place and orientation, or one of both; none if None.

    Raises:
        UsageError: they are no numbers.
    """
    found = {}
    for name, weight in by_name("weights", {} if weights is None else weights).items():
        some = weight if isinstance(weight, tuple | list | np.ndarray) and np.shape(weight) else (weight,)
        found[name] = fitting_numbers(f"ik: weight of `{name}`", some, (len(some),)).tolist()
    return found


def mask_of_worlds(worlds: object, n_worlds: int) -> np.ndarray:
    """Worlds as a mask (W,).

    Args:
        worlds: a mask (W,), or numbers of worlds; None for all.
        n_worlds: W.

    Raises:
        UsageError: neither a mask nor numbers of worlds.
    """
    if worlds is None:
        return np.ones(n_worlds, bool)
    worlds = on_host_of("worlds", worlds)
    try:
        given = np.asarray(worlds)
    except ValueError:  # rows of several lengths
        given = np.array("")
    if given.dtype == bool and given.shape == (n_worlds,):
        return given
    mask = np.zeros(n_worlds, bool)
    if given.size == 0:
        return mask
    if given.dtype.kind not in "iu" or np.any((given < 0) | (given >= n_worlds)):
        raise UsageError(f"worlds: a mask of {n_worlds}, or numbers from 0 to {n_worlds - 1}")
    mask[given] = True
    return mask


def spread_of(values: np.ndarray) -> str:
    """Numbers of worlds, (worlds, ...), for people."""
    flat = values.reshape(len(values), -1)
    low, high = (
        " ".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in end.tolist())
        for end in (flat.min(axis=0), flat.max(axis=0))
    )
    return low if low == high else f"{low} to {high} over the worlds"


def is_state(name: str) -> bool:
    """Whether a name is a quantity from which worlds can begin."""
    group, _, quantity = split_name(name)
    return (group == "joint" and quantity in ("q", "qd")) or (group == "body" and quantity in CHANNEL_GROUPS["body"])


def gives_all(joints: Joints, names: Iterable[str]) -> bool:
    """Whether states of these names leave nothing of a mechanism as it is."""
    wanted = {f"joint.{joint}.{quantity}" for joint in joints.name for quantity in ("q", "qd")}
    return bool(joints.is_tree.all()) and wanted <= set(map(canonical, names))


class Starts:
    """Coordinates and velocities of worlds that will begin anew, while some of them are replaced.

    Args:
        job: of the simulation.
        joint_q, joint_qd: (n, NQ), (n, NV), where they are; NaN where a world has ended.
        worlds: (n,), numbers of those that will begin.

    Attributes:
        model: of these worlds alone.
        q, qd: (n, NQ), (n, NV).
    """

    def __init__(self, job: Job, joint_q: Array, joint_qd: Array, worlds: Array):
        self.job, self.model, self.worlds = job, model_of_worlds(job.model, worlds), worlds
        self.q, self.qd = joint_q.astype(float), joint_qd.astype(float)
        self.q_given = np.zeros(self.model.n_qd, bool)
        self.qd_given = np.zeros(self.model.n_qd, bool)

    def set(self, name: str, values: object) -> None:
        """Replace a quantity.

        Args:
            name: of it.
            values: broadcastable to (worlds, n).

        Raises:
            UsageError: there is no such state, or the values do not fit.
        """
        group, subject, quantity = split_name(canonical(name))
        names = self.model.joints.name if group == "joint" else self.model.bodies.name
        if subject not in names:
            raise UsageError(f"set `{name}`: there is no {group} `{subject}`")
        k = names.index(subject)
        if group == "joint":
            self._set_joint(name, k, quantity, values)
        else:
            self._set_body(name, k, quantity, values)

    def _set_joint(self, name: str, j: int, quantity: str, values: object) -> None:
        joints = self.model.joints
        if not joints.is_tree[j]:
            raise UsageError(f"set `{name}`: the joint closes a loop, so that its coordinates follow from the others")
        start = joints.q_start if quantity == "q" else joints.qd_start
        first, end = int(start[j]), int(start[j + 1])
        found = self._fitting(name, values, end - first)
        if quantity == "q" and far_angles(found, joints.dof_dim[j]).any():
            raise UsageError(f"set `{name}`: an angle is beyond {MOST_ANGLE:g} rad; leave whole turns out")
        if quantity == "q" and int(joints.kind[j]) in QUATERNIONS:  # numpy compares whole numbers with an enum slowly
            found = self._with_unit(name, found)
        (self.q if quantity == "q" else self.qd)[:, first:end] = found
        dofs = slice(int(joints.qd_start[j]), int(joints.qd_start[j + 1]))
        (self.q_given if quantity == "q" else self.qd_given)[dofs] = True

    def _set_body(self, name: str, b: int, quantity: str, values: object) -> None:
        """Of a body on a free joint to the world: x_body = X_p q X_c^-1; twists are those of the centre of mass."""
        joints = self.model.joints
        at = np.flatnonzero((joints.child == b) & joints.is_tree)
        if not at.size or joints.kind[at[0]] != JointKind.FREE or joints.parent[at[0]] != WORLD:
            raise UsageError(f"set `{name}`: the body is no free one, so that it follows from joints; set their q and qd")
        j = int(at[0])
        parent, child = (getattr(joints, one)[:, j] for one in ("X_p", "X_c"))
        if quantity in ("velocity", "angular_velocity"):
            first = int(joints.qd_start[j]) + (3 if quantity == "angular_velocity" else 0)
            rate = self._fitting(name, values, 3)
            self.qd[:, first : first + 3] = rot.quat_rotate(rot.quat_inverse(parent[..., 3:]), rate)
            return
        own = slice(int(joints.q_start[j]), int(joints.q_start[j + 1]))
        pose = rot.pose_compose(rot.pose_compose(parent, self.q[:, own]), rot.pose_inverse(child))
        n, part = (3, slice(0, 3)) if quantity == "position" else (4, slice(3, 7))
        found = self._fitting(name, values, n)
        pose[:, part] = found if quantity == "position" else self._with_unit(name, found)
        self.q[:, own] = rot.pose_compose(rot.pose_compose(rot.pose_inverse(parent), pose), child)

    def _fitting(self, name: str, values: object, n: int) -> Array:
        return fitting_numbers(f"set `{name}`", values, (len(self.worlds), n), self.worlds)

    def _with_unit(self, name: str, values: Array) -> Array:
        """Coordinates whose last four are a unit quaternion."""
        length = np.linalg.norm(values[:, -4:], axis=1, keepdims=True)
        if not length.all():
            raise UsageError(f"set `{name}`: a quaternion is zero; the identity is [0, 0, 0, 1]")
        return np.concatenate((values[:, :-4], values[:, -4:] / length), axis=1)

    def model_of_start(self) -> Model:
        """The model that begins there: loops closed, limits kept.

        Raises:
            UsageError: a world cannot begin there, or has ended, so that what is not set is unknown.
        """
        pairs = ((self.q, self.model.joint_q), (self.qd, self.model.joint_qd))
        unknown = np.any([np.isnan(np.where(np.isnan(first), 0.0, now)).any(axis=1) for now, first in pairs], axis=0)
        if unknown.any():
            world = self.job.numbers[self.worlds[int(unknown.argmax())]]
            raise UsageError(
                f"world {world} has ended, so that it has no state of which a part could be set: reset it first"
            )
        if begins_anywhere(self.job.model):
            return replace(self.model, joint_q=self.q, joint_qd=self.qd, start=Beginning())
        dofs = replace(self.model.dofs, q_given=self.q_given, qd_given=self.qd_given)
        drawing = replace(self.model.drawing, named=self.q_given * Rank.RUN, stays=~self.q_given)
        model = replace(self.model, joint_q=self.q, joint_qd=self.qd, dofs=dofs, drawing=drawing, start=Beginning())
        model = begun(model, assembly_of(self.job.spec))
        start = model.start or Beginning()
        for fault in start.faults:
            which = f"world {self.job.numbers[self.worlds[fault.world]]}: " if self.job.model.n_worlds > 1 else ""
            raise UsageError(f"{which}{fault.text}")
        moves = [move for move in start.moves if move.is_written]
        return replace(model, drawing=self.model.drawing, start=Beginning(tuple(moves)))
