"""Poses of bodies over time, what space they take, and a camera that sees all of it.

A body that is stretched has six numbers more, xx yy zz xy xz yz of S, which is symmetric. Its axes are R S, R the rotation
of its pose, about its centre of mass. Here the place of a pose is where the origin of the body frame is with the body as
it is, so that a point p of the body is at x + R S p. Poses of rigid bodies have seven numbers, x and R alone.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from simcli import rotations as rot
from simcli.analysis.channels import ChannelSource, check_worlds
from simcli.analysis.states.portions import States
from simcli.errors import UsageError
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.tables.model import Array, Model
from simcli.records.reading.reader import Trajectory
from simcli.view.drawing.items import Drawing, Viewpoint

RIGID = 7  # numbers of a pose
WHOLE = 13  # with the stretch
UNMOVED = np.array((0.0,) * 6 + (1.0,) * 4 + (0.0,) * 3)  # at the origin, as it was made
SEEN_STRETCH = 1e-4  # of the size of a body, the stretch that is drawn
_AT = np.array(((0, 3, 4), (3, 1, 5), (4, 5, 2)))


def with_stretch(poses: Array, stretch: Array, com: Array) -> Array:
    """Poses as files have them, with the stretch.

    Args:
        poses: [m, 1], (..., B, 7).
        stretch: [1], (..., B, 6), of each.
        com: [m], (..., B, 3), centres of mass, body frame.

    Returns:
        [m, 1], (..., B, 13).
    """
    place = poses[..., :3] - rot.quat_rotate(poses[..., 3:], _strained(stretch, com))
    return np.concatenate((place, poses[..., 3:], stretch), axis=-1)


def without_stretch(poses: Array, com: Array | None) -> Array:
    """Poses as files have them, (..., B, 7), of those that `with_stretch` made; of others these themselves."""
    if not is_stretched(poses):
        return poses
    place = poses[..., :3] + rot.quat_rotate(poses[..., 3:RIGID], _strained(poses[..., RIGID:], com))
    return np.concatenate((place, poses[..., 3:RIGID]), axis=-1)


def is_stretched(poses: Array) -> bool:
    """Whether poses have a stretch."""
    return poses.shape[-1] == WHOLE


def strain(poses: Array) -> Array:
    """[1], (..., 6), S - 1 of poses with a stretch."""
    return poses[..., RIGID:] - UNMOVED[RIGID:]


def stretch_axes(poses: Array) -> Array:
    """[1], (..., 3, 3), R of poses, or R S."""
    turn = rot.quat_to_matrix(poses[..., 3:RIGID])
    return turn @ poses[..., RIGID:][..., _AT] if is_stretched(poses) else turn


def carried(poses: Array, points: Array) -> Array:
    """[m], (..., 3), world: points of bodies [m], (..., 3), body frame, where poses (..., 7 or 13) have them."""
    points = np.asarray(points, float)
    if is_stretched(poses):
        points = points + _strained(poses[..., RIGID:], points)
    return poses[..., :3] + rot.quat_rotate(poses[..., 3:RIGID], points)


def _strained(stretch: Array, points: Array) -> Array:
    """(S - 1) p."""
    return ((stretch - UNMOVED[RIGID:])[..., _AT] * points[..., None, :]).sum(axis=-1)


BLOCK = 3e6  # [B] of poses that are read at once
_FAR = 3.0  # of the size of the motion: what is fixed and larger does not decide what the camera sees
_FLAT = 0.15  # [1], sine of the angle at which a plane is seen edge-on
_MARGIN = 1.1  # of the distance from which everything is just seen
FOV = 0.6  # [rad]
ASPECT = 16 / 9
_DECIDE = ("shape", "link")  # layers that decide what the camera sees: joints add little, rails may be without end


class RecordedMotion:
    """Poses of the bodies of some worlds at some frames of a run, or at the start of a scene.

    Args:
        time: [s], (F,), of the frames.
        worlds: numbers of the worlds in the run.
        n_bodies: B.
        read: poses of frames first to last - 1 of those, (f, W, B, 7), or (f, W, B, 13) if bodies are stretched.
        com: [m], (W, B, 3), centres of mass, if bodies are stretched.
    """

    def __init__(self, time: Array, worlds: Sequence[int], n_bodies: int, read, com: Array | None = None):
        self.time, self.worlds, self.n_bodies, self._read, self.com = time, tuple(worlds), n_bodies, read, com

    @property
    def n_frames(self) -> int:
        """Number of frames, F."""
        return len(self.time)

    def frames(self, first: int, last: int) -> Array:
        """Poses of frames first to last - 1, as of `blocks`."""
        return self._read(first, last)

    def blocks(self) -> Iterator[tuple[int, Array]]:
        """First frame and poses [m, 1], (f, W, B, 7), px py pz qx qy qz qw, world; NaN where a world has ended.

        Of bodies that are stretched (f, W, B, 13): see `stretch`.
        """
        width = 8 * (RIGID if self.com is None else WHOLE)
        step = max(1, int(BLOCK / (width * max(1, len(self.worlds) * self.n_bodies))))
        for first in range(0, self.n_frames, step):
            yield first, self._read(first, min(first + step, self.n_frames))


def motion_of_model(model: Model, worlds: Sequence[int] = (0,)) -> RecordedMotion:
    """The start of a scene, one frame."""
    start = start_poses(model)
    chosen = np.stack([start[world if len(start) > 1 else 0] for world in worlds])
    return RecordedMotion(np.zeros(1), worlds, model.n_bodies, lambda *_: chosen[None])


def motion_of_states(model: Model, states: States, worlds: Sequence[int], frames: slice = slice(None)) -> RecordedMotion:
    """Some states of a model of one world, a frame each.

    Args:
        model: of the world.
        states: with joint_q.
        worlds: the number of the world.
        frames: which of the states.
    """
    q = states.values["joint_q"][frames]

    def read(first: int, last: int) -> Array:
        return _forward(model, q[first:last])[:, None]

    return RecordedMotion(states.time[frames], worlds, model.n_bodies, read)


def start_poses(model: Model) -> Array:
    """[m, 1], (W|1, B, 7), poses of the bodies at the start."""
    return _forward(model, model.joint_q)


def _forward(model: Model, joint_q: Array) -> Array:
    turn, place = body_poses(model, joint_q)
    return np.moveaxis(rot.make_pose(place, rot.matrix_to_quat(turn)), 0, 1)


def motion_of_run(run: Trajectory, worlds: Sequence[int] = (0,), frames: slice = slice(None), models=None) -> RecordedMotion:
    """The motion of a run.

    Args:
        run: an open file; it stays open as long as blocks are read.
        worlds: which.
        frames: which; its step is larger than 0.
        models: makes the model of a world, for files that hold joint coordinates and no poses; None: they are refused.

    Raises:
        UsageError: the file holds neither, no frame yet, or not these worlds.
    """
    check_worlds(run, worlds)
    picked = range(run.n_frames)[frames]
    if not picked:
        raise UsageError(f"{run.path} holds no frame yet")
    held, com = run.channels, None
    if "bodies" in held and run.bodies:
        poses = _source(run, "body_q", RIGID)
        stretches = _source(run, "body_stretch", WHOLE - RIGID) if run.is_stretched else None
        if stretches is not None:
            com = run.model["body_com"]
            com = com[list(worlds)] if len(com) > 1 else np.repeat(com, len(worlds), axis=0)

        def read(first: int, last: int) -> Array:
            frames = slice(picked[first], picked[last - 1] + 1, picked.step)
            found = [source.read(frames, worlds) for source in (poses, stretches) if source is not None]
            found = [rows.reshape(*rows.shape[:2], len(run.bodies), -1) for rows in found]
            return found[0] if com is None else with_stretch(*found, com)

    elif "joints" in held and models is not None:
        column = run.column("frames/joint_q")
        of_world = [models(world) for world in worlds]
        source = ChannelSource("joint_q", column, ("",) * column.shape[2], ())

        def read(first: int, last: int) -> Array:
            q = source.read(slice(picked[first], picked[last - 1] + 1, picked.step), worlds)
            return np.stack([_forward(model, q[:, k]) for k, model in enumerate(of_world)], axis=1)

    else:
        raise UsageError(
            f"{run.path} holds neither poses of bodies nor joint coordinates: run the scene with "
            "`output: {channels: [state]}`"
        )
    return RecordedMotion(run.time[frames], worlds, len(run.bodies), read, com)


def _source(run: Trajectory, name: str, width: int) -> ChannelSource:
    return ChannelSource(name, run.column(f"frames/{name}"), ("",) * (width * len(run.bodies)), ())


class Extent:
    """The box that holds what is drawn at first, over a motion that is seen block by block.

    Args:
        drawing: of one of the worlds; all are taken to be as large.
    """

    def __init__(self, drawing: Drawing):
        self._unit = drawing.unit
        self._solid = [item for item in drawing.items if item.shown and item.layer in _DECIDE and item.kind != "plane"]
        moving = [item for item in self._solid if item.body >= 0]
        ends = [
            (body, np.array(point))
            for strand in drawing.strands
            for body, point in zip(strand.bodies, strand.points, strict=True)
        ]
        bodies = [item.body for item in moving for _ in item.corners] + [body for body, _ in ends if body >= 0]
        self._body = np.array(bodies, int)
        self._corners = np.concatenate(
            [np.zeros((0, 3)), *(item.corners for item in moving), *(point[None] for body, point in ends if body >= 0)]
        )
        fixed = [(item.corners, item.radius) for item in self._solid if item.body < 0]
        self._fixed = fixed + [(point[None], 0.0) for body, point in ends if body < 0]
        self._low, self._high = np.full(3, np.inf), np.full(3, -np.inf)

    def see(self, poses: Array) -> None:
        """Take poses in, (f, W, B, 7 or 13)."""
        if not len(self._body):
            return
        step = max(1, int(BLOCK / (24 * len(self._body) * poses.shape[1])))
        for first in range(0, len(poses), step):
            place = carried(poses[first : first + step, :, self._body], self._corners).reshape(-1, 3)
            self._low = np.fmin(self._low, np.fmin.reduce(place))
            self._high = np.fmax(self._high, np.fmax.reduce(place))

    def box(self) -> tuple[Array, Array]:
        """Corners [m], two of (3,), world; with what is fixed and not much larger."""
        low, high = self._low, self._high
        if not (np.isfinite(low) & np.isfinite(high)).all():
            low, high = np.full(3, -0.5 * self._unit), np.full(3, 0.5 * self._unit)
        reach, middle = _FAR * float(np.linalg.norm(high - low)), 0.5 * (low + high)
        for corners, radius in self._fixed:
            if radius < reach and np.linalg.norm(corners - middle, axis=1).max() < reach:
                low, high = np.minimum(low, corners.min(axis=0)), np.maximum(high, corners.max(axis=0))
        return low, high


def bounds(drawing: Drawing, motion: RecordedMotion) -> tuple[Array, Array]:
    """The box of `Extent` of a whole motion: corners [m], two of (3,), world."""
    extent = Extent(drawing)
    for _, poses in motion.blocks():
        extent.see(poses)
    return extent.box()


def camera_of(low: Array, high: Array, drawing: Drawing, aspect: float = ASPECT) -> Viewpoint:
    """A camera that sees a box: across a flat motion, from above one that lies, else from a corner; outside of planes.

    Args:
        low: [m], (3,), corner of the box.
        high: [m], (3,), the other corner.
        drawing: for what is up, and planes.
        aspect: width of the picture by its height.
    """
    up = np.array(drawing.up, float)
    size = np.maximum(high - low, 1e-9)
    level = [k for k in range(3) if not up[k]]
    thin, wide = sorted(level, key=lambda k: size[k])
    upright = int(np.argmax(np.abs(up)))
    # In a world with z up one looks along y, in one with y up against z, as drawings are made.
    sign = {(2, 1): -1.0, (1, 2): 1.0}.get((upright, thin), 1.0)
    front, right = sign * np.eye(3)[thin], np.cross(up, sign * np.eye(3)[thin])
    is_lying = size[upright] < 0.25 * size[wide] and size[thin] > 0.3 * size[wide]
    is_flat = size[thin] < 0.4 * max(size[wide], size[upright])
    weights = (1.0, 0.3, 0.9) if is_lying else (1.0, 0.32, 0.22) if is_flat else (1.0, 0.55, 0.45)
    planes = [
        (np.array(item.position), rot.quat_to_matrix(np.array(item.orientation))[:, 2])
        for item in drawing.items
        if item.kind == "plane" and item.body < 0
    ]
    cameras = [
        _seeing(low, high, up, weights[0] * f * front + weights[1] * r * right + weights[2] * up, aspect)
        for f, r in ((1, 1), (1, -1), (-1, 1), (-1, -1))
    ]
    outside = [one for one in cameras if all(_is_above(one, *plane) for plane in planes)]
    return (outside or cameras)[0]


def _is_above(camera: Viewpoint, point: Array, normal: Array) -> bool:
    """Whether a camera sees the outside of a plane, and not too flat."""
    away = np.array(camera.position) - point
    return float(away @ normal) > _FLAT * float(np.linalg.norm(away))


def _seeing(low: Array, high: Array, up: Array, towards: Array, aspect: float) -> Viewpoint:
    """A camera in a direction from the middle of a box, so far away that all corners of the box are seen."""
    towards = towards / np.linalg.norm(towards)
    middle = 0.5 * (low + high)
    across = np.cross(up, towards)
    across /= np.linalg.norm(across)
    over = np.cross(towards, across)
    corners = (
        np.array([[(low, high)[i][0], (low, high)[j][1], (low, high)[k][2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
        - middle
    )
    depth, x, y = corners @ towards, np.abs(corners @ across), np.abs(corners @ over)
    tangent = np.tan(0.5 * FOV)
    distance = _MARGIN * float(np.max(depth + np.maximum(y, x / aspect) / tangent))
    place = middle + distance * towards
    return Viewpoint(tuple(place.tolist()), tuple(middle.tolist()), tuple(up.tolist()), FOV)
