"""Kinematics and dynamics of states from Python: whole models here, parts of them in `articulation_view`.

The arithmetic runs on the device that the process has started (`kernels.device.runtime.start_device`), on the CPU if none
is.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from simcli.arguments import whole_number
from simcli.errors import UsageError
from simcli.model.joints.selection import BodyFlags, flagged, owners
from simcli.model.joints.state import State
from simcli.model.tables.joint_tables import Joints
from simcli.model.tables.model import Array, JointKind, Model

if TYPE_CHECKING:
    from simcli.kernels.device.runtime import Device
    from simcli.records.reading.reader import Trajectory

_KEPT = 4  # models whose kernels stay loaded
ALIKE = 2  # of them, of one structure: the one a view started from, and the one it has come to
_benches: "OrderedDict[int, Bench]" = OrderedDict()


class Bench:
    """A model on the live device, with what its calls need again and again.

    Attributes:
        model: the tables.
        device: where the algorithms run.
        algorithms: of all worlds at once.
        of_body, of_joint: articulations (`model.batch.selection.owners`).
    """

    def __init__(self, model: Model, device: "Device"):
        from simcli.kernels.algorithms import Algorithms

        self.model, self.device = model, device
        self.algorithms: Algorithms = Algorithms(model, device, model.n_worlds)
        self.of_body, self.of_joint = owners(model)


def bench_of(model: Model) -> Bench:
    """The bench of a model, kept for the next call.

    Args:
        model: the tables.
    """
    from simcli.kernels.device.runtime import live_device, start_device  # first of the room: it keeps Taichi's banner away

    device = live_device()
    if device is None or device.most_turns:  # see Device.refuse_bounded_loops
        device = start_device("cpu")
    for key in [key for key, bench in _benches.items() if bench.device is not device]:
        del _benches[key]  # its memory went with its device
    if id(model) not in _benches:
        bench = _reused(model)
        while bench is None and len(_benches) >= _KEPT:
            _benches.popitem(last=False)[1].algorithms.destroy()
        _benches[id(model)] = bench or Bench(model, device)  # it holds the model, so that the id stays the model's own
    _benches.move_to_end(id(model))
    return _benches[id(model)]


def _reused(model: Model) -> Bench | None:
    """The oldest bench that can take the numbers of this model; None if there is none, or too few of its structure."""
    names = (model.bodies.name, model.joints.name)
    alike = [key for key, bench in _benches.items() if (bench.model.bodies.name, bench.model.joints.name) == names]
    enough = len(alike) >= ALIKE
    key = next((key for key in alike if enough and _benches[key].algorithms.reload(model)), None)
    if key is None:
        return None
    bench = _benches.pop(key)
    bench.model = model
    bench.of_body, bench.of_joint = owners(model)
    return bench


def articulation_mask(
    n_worlds: int, joints: Joints, mask: object = None, indices: Sequence[int] | None = None
) -> Array | None:
    """Which articulations of which worlds a call is about.

    Args:
        n_worlds: W.
        joints: of A articulations in each world; number w A + a is articulation a of world w.
        mask: (W A,), (W, A) or, for all worlds alike, (A,) bool; None for all.
        indices: numbers of articulations; those that do not exist are ignored.

    Returns:
        (W, A) bool; None for everything, bodies in no articulation included.

    Raises:
        ValueError: mask and indices are both given, or the mask has another shape.
    """
    n, a = n_worlds, len(joints.articulation_name)
    return chosen_worlds((n, a), mask, indices, {(n * a,): (n, a), (a,): (1, a)})


def chosen_worlds(shape: tuple[int, int], mask: object, indices: object, also: Mapping[tuple, tuple]) -> Array | None:
    """A mask of a shape, from a mask or from numbers in it, counted row by row.

    Args:
        shape: (W, n).
        mask: of the shape or of one in `also`, None for all.
        indices: numbers, None for all; those outside are ignored.
        also: further shapes that a mask may have, and as what they are read.

    Returns:
        Of the shape, bool; None for all.

    Raises:
        ValueError: mask and indices are both given, or one of them is none.
    """
    if mask is not None and indices is not None:
        raise ValueError("give mask or indices, not both")
    if mask is not None:
        mask = np.asarray(mask)
        if mask.dtype != bool or mask.shape not in (shape, *also):
            listed = " or ".join(str(one) for one in (shape, *also))
            raise ValueError(f"a mask holds booleans and has shape {listed}; this one holds {mask.dtype} in {mask.shape}")
        return np.array(np.broadcast_to(mask.reshape(also.get(mask.shape, shape)), shape))
    if indices is None:
        return None
    numbers = np.asarray(indices)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise ValueError(f"indices are integers; these are {numbers.dtype}")
    found = np.zeros(shape[0] * shape[1], bool)
    found[numbers[(numbers >= 0) & (numbers < found.size)].astype(int)] = True
    return found.reshape(shape)


def _in_selected(mask: Array | None, owner: Array) -> Array | bool:
    """Mask (W, n) of bodies or joints that belong to selected articulations; True if all are selected.

    Args:
        mask: (W, A), selected articulations of each world; None for all.
        owner: (n,), articulation of each body or joint, -1 where it has none.
    """
    return True if mask is None else mask[:, owner] & (owner >= 0)


def eval_fk(
    model: Model,
    state: State,
    mask: object = None,
    indices: Sequence[int] | None = None,
    body_flag_filter: int = BodyFlags.ALL,
) -> None:
    """Forward kinematics: body_q and body_qd from joint_q and joint_qd.

    The coordinates of the tree decide, and are taken as given: a joint that closes a loop is not read, and stays open where
    they do not close it.

    Args:
        model: the tables.
        state: written in place. Bodies of articulations that are not selected keep their values.
        mask: see `articulation_mask`; not together with `indices`.
        indices: see `articulation_mask`.
        body_flag_filter: sum of `BodyFlags`; bodies of other kinds keep their values.

    Raises:
        ValueError: mask and indices are both given, a shape is not the model's, or a flag is none.

    Source: forward kinematics of the Newton engine (eval_fk). Deviation: what an articulation hangs on is placed by its
    coordinates too, also where it is not selected or filtered out.
    """
    state.check(model)
    where, bench = articulation_mask(model.n_worlds, model.joints, mask, indices), bench_of(model)
    bodies = _in_selected(where, bench.of_body) & flagged(model, body_flag_filter)[0]
    pose, twist = bench.algorithms.forward_kinematics(state.joint_q, state.joint_qd)
    for target, values in ((state.body_q, pose), (state.body_qd, twist)):
        np.copyto(target, values, where=bodies[..., None])


def eval_accelerations(model: Model, state: State, joint_qdd: object = 0.0) -> Array:
    """Accelerations of bodies from joint coordinates, rates and accelerations.

    Args:
        model: the tables.
        state: of this model; its joint_q and joint_qd are read.
        joint_qdd: [m/s^2, rad/s^2], broadcast to (W, NV).

    Returns:
        [m/s^2, rad/s^2], (W, B, 6), accelerations of the centres of mass, and angular ones; world.

    Raises:
        ValueError: a shape is not the model's.
    """
    state.check(model)
    qdd = np.broadcast_to(np.asarray(joint_qdd, float), state.joint_qd.shape)
    return bench_of(model).algorithms.accelerations(state.joint_q, state.joint_qd, qdd)


def eval_ik(
    model: Model,
    state: State,
    mask: object = None,
    indices: Sequence[int] | None = None,
    body_flag_filter: int = BodyFlags.ALL,
) -> None:
    """Projection of the bodies on the joints: joint_q and joint_qd from body_q and body_qd, each joint by itself.

    Angles come out in (-pi, pi]; of a screw its advance tells the full turns. Slots of cables keep their values.

    Args:
        model: the tables.
        state: written in place. Joints of articulations that are not selected keep their values. A joint that closes a
            loop belongs to the articulation of both its bodies.
        mask: see `articulation_mask`; not together with `indices`.
        indices: see `articulation_mask`.
        body_flag_filter: sum of `BodyFlags`; joints that place bodies of other kinds keep their values.

    Raises:
        ValueError: mask and indices are both given, a shape is not the model's, or a flag is none.

    Source: eval_ik of the Newton engine. Deviation: a joint whose child is the inner body counts as one of its parent,
    which it places.
    """
    state.check(model)
    where, bench = articulation_mask(model.n_worlds, model.joints, mask, indices), bench_of(model)
    joints = _in_selected(where, bench.of_joint) & flagged(model, body_flag_filter)[1]
    joints = (model.joints.kind != JointKind.CABLE) & np.broadcast_to(joints, (model.n_worlds, model.n_joints))
    q, qd = bench.algorithms.projection(state.body_q, state.body_qd)
    counts = np.diff(model.joints.q_start), np.diff(model.joints.qd_start)
    for target, values, count in zip((state.joint_q, state.joint_qd), (q, qd), counts, strict=True):
        np.copyto(target, values, where=np.repeat(joints, count, axis=1))


def state_at(model: Model, trajectory: "Trajectory", frame: int = -1) -> State:
    """A recorded frame as a state.

    Args:
        model: the tables of the scene that was run.
        trajectory: from `simcli.open`; it holds the channel `state` of the whole scene.
        frame: its number, counted from the end if negative.

    Returns:
        The state; joint_f is the model's, since a file does not keep it.

    Raises:
        UsageError: the file lacks the channel, or leaves bodies or joints out; the number is none.
        IndexError: there is no such frame.
    """
    if (trajectory.bodies, trajectory.joints) != (model.bodies.name, model.joints.name):
        raise UsageError(f"{trajectory.path} holds other bodies or joints than the model: run without `select`")
    if trajectory.n_worlds != model.n_worlds:
        raise UsageError(f"{trajectory.path} holds {trajectory.n_worlds} worlds, the model has {model.n_worlds}")
    state, frame = State.of(model), whole_number("frame", frame, None)
    for name in ("joint_q", "joint_qd", "body_q", "body_qd"):
        target = getattr(state, name)
        if target.size:
            target[...] = trajectory.column(f"frames/{name}")[frame]
    return state
