"""Pictures of runs and of scenes, drawn here, without a display, at any time of the run.

Poses are found between frames, and after the end of a world that has ended before the others.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from simcli import rotations as rot
from simcli.errors import UsageError
from simcli.kernels.rays.picture import Light, decoded, draw
from simcli.kernels.rays.screens import Camera as RayCamera
from simcli.model.tables.model import Array
from simcli.spec.base.fault_list import did_you_mean
from simcli.view.drawing.items import Drawing, Viewpoint
from simcli.view.motion import RIGID, RecordedMotion, bounds, camera_of
from simcli.view.stage import LIGHT_BACKGROUND, LINES, MeshStore, Stage, grounds_of, joined_solids, nice
from simcli.view.subject import ViewSubject

_SAME = 1e-9  # of the time between frames: as near as this one asks for the frame itself


class Moments:
    """Poses of the worlds of a subject at any time of its run.

    Args:
        subject: of a run; its file stays open as long as it is asked.

    Attributes:
        time: [s], (F,), of the frames.

    Raises:
        UsageError: the file holds no poses and nothing that they follow from.
    """

    def __init__(self, subject: ViewSubject):
        self._path, self._motion = subject.path, subject.motion()
        self.time = self._motion.time
        self._last = self._last_frames()

    def at(self, time: float) -> Array:
        """Poses [m, 1], (W, B, 7 or 13), world: positions on straight lines between frames, rotations on the shortest way.

        Args:
            time: [s].

        Raises:
            UsageError: the run does not hold it.
        """
        first, last = float(self.time[0]), float(self.time[-1])
        lean = _SAME * (last - first)
        if not first - lean <= time <= last + lean:
            raise UsageError(f"--time {time:g}: {self._path} holds {first:g} to {last:g} s")
        after = min(bisect_left(self.time, time - lean), len(self.time) - 1)
        if self.time[after] <= time + lean or not after:
            return self._frames(after, after)[0]
        share = (time - self.time[after - 1]) / (self.time[after] - self.time[after - 1])
        return between(*self._frames(after - 1, after), share)

    def thinned(self, most: int) -> slice:
        """Frames of the run, at most so many."""
        return slice(0, len(self.time), max(1, -(-len(self.time) // most)))

    def _frames(self, first: int, last: int) -> Array:
        """Frames first to last; of each world that has ended before, its last one."""
        rows = self._read(first, last)
        for w, end in enumerate(self._last):
            if end < last:
                held = self._read(end, end)[0, w] if end >= 0 else rows[0, w]
                rows[np.arange(first, last + 1) > end, w] = held
        return rows

    def _read(self, first: int, last: int) -> Array:
        return self._motion.frames(first, last + 1)

    def _last_frames(self) -> list[int]:
        """The last frame of each world that has poses; worlds end once."""
        end = len(self.time) - 1
        ended = np.isnan(self._read(end, end)[0]).any(axis=(1, 2))
        found = [end] * len(ended)
        for w in np.flatnonzero(ended):
            found[w] = bisect_right(range(end + 1), 0, key=lambda f, w=w: int(np.isnan(self._read(f, f)[0, w]).any())) - 1
        return found


def between(one: Array, other: Array, share: float) -> Array:
    """Poses (..., 7 or 13) between two, `share` 0 the one and 1 the other."""
    moved = one + share * (other - one)
    place, stretch = moved[..., :3], moved[..., RIGID:]
    a, b = one[..., 3:RIGID], other[..., 3:RIGID]
    dot = (a * b).sum(axis=-1, keepdims=True)
    b = np.where(dot < 0.0, -b, b)
    angle = np.arccos(np.clip(np.abs(dot), 0.0, 1.0))
    sine = np.sin(angle)
    is_near = sine < 1e-6
    safe = np.where(is_near, 1.0, sine)
    turn = np.where(is_near, a + share * (b - a), (np.sin((1.0 - share) * angle) * a + np.sin(share * angle) * b) / safe)
    return np.concatenate((place, rot.unit(turn), stretch), axis=-1)


_AUTO = "auto"
GHOST = 0.28  # opacity of all worlds but the first, where they are drawn over each other
FAINT = 0.12  # opacity of the first of several instants in one picture
FRAMES_FOR_CAMERA = 1000  # that decide what the camera sees
_GAP = 2  # pixels between worlds side by side
_SUN = (-0.5, 0.85, 0.42)  # right, up and towards the camera, where the light is
_GAP_SHADE = 0.9


@dataclass(frozen=True)
class Look:
    """How a picture is taken.

    Attributes:
        size: width and height, pixels.
        camera: a name, "auto" for one that frames the motion, "" for what the scene says.
        overlay: whether several worlds are drawn over each other, else side by side.
    """

    size: tuple[int, int] = (1280, 720)
    camera: str = ""
    overlay: bool = False


class Studio:
    """Draws some worlds of a scene.

    Args:
        drawings: of the worlds.
        motion: that decides what the camera sees, some frames of it.
        look: of the pictures.
    """

    def __init__(self, drawings: Sequence[Drawing], motion: RecordedMotion, look: Look):
        _, poses = next(motion.blocks())
        box = bounds(drawings[0], motion)
        grounds = grounds_of(drawings[0], motion, box)
        self.look, self.notes = look, drawings[0].notes
        self._first = drawings[0]
        self._cells = [list(range(len(drawings)))] if look.overlay else [[w] for w in range(len(drawings))]
        self._columns, self._rows = _grid(len(self._cells), look.size)
        self._cell_size = (
            (look.size[0] - _GAP * (self._columns - 1)) // self._columns,
            (look.size[1] - _GAP * (self._rows - 1)) // self._rows,
        )
        if min(self._cell_size) < 16:
            raise UsageError(
                f"{len(self._cells)} worlds in {look.size[0]}x{look.size[1]} pixels: name fewer, a larger "
                "--size, or --overlay"
            )
        self._origin = 0.5 * (box[0] + box[1])
        self._scale = max(0.5 * float(np.linalg.norm(box[1] - box[0])), 1e-9)
        self.camera = _camera(self._first, box, self._cell_size, look.camera)
        store = MeshStore()
        spacing = nice(2.0 * self._scale / LINES)
        self._stages = [
            Stage(drawing, poses[0, w], store, spacing, grounds if not k else [])
            for cell in self._cells
            for k, (w, drawing) in enumerate((w, drawings[w]) for w in cell)
        ]
        self._meshes = store.meshes()
        self._rays = _ray_camera(self.camera, self._origin, self._scale, self._cell_size)
        self._light = _light(self._first, self._rays)

    def picture(self, poses: Array) -> Array:
        """A picture, (h, w, 3) uint8.

        Args:
            poses: [m, 1], (W, B, 7 or 13); or of several instants, (N, W, B, ..), the earlier the fainter.
        """
        instants = poses[None] if poses.ndim == 3 else poses
        faint = np.linspace(FAINT, 1.0, len(instants)) ** 1.5 if len(instants) > 1 else np.ones(1)
        if len(self._cells) == 1:
            return self._draw(self._cells[0], instants, faint)
        whole = np.empty((self.look.size[1], self.look.size[0], 3), np.uint8)
        whole[:] = np.round(255.0 * _GAP_SHADE * np.array(self._first.background or LIGHT_BACKGROUND))
        for number, cell in enumerate(self._cells):
            shown = self._draw(cell, instants, faint)
            row, column = divmod(number, self._columns)
            y, x = row * (self._cell_size[1] + _GAP), column * (self._cell_size[0] + _GAP)
            whole[y : y + self._cell_size[1], x : x + self._cell_size[0]] = shown
        return whole

    def _draw(self, cell: list[int], instants: Array, faint: Array) -> Array:
        last = len(instants) - 1
        parts = [
            self._stages[w].solids(instants[n, w], faint[n] * (GHOST if k else 1.0), with_fixed=not k and n == last)
            for k, w in enumerate(cell)
            for n in range(last, -1, -1)
        ]
        return draw(joined_solids(parts, self._origin, self._scale), self._meshes, self._rays, self._light).colour


@dataclass(frozen=True)
class Shooting:
    """A run that pictures are taken of.

    Attributes:
        studio: that draws.
        moments: poses at any time.
    """

    studio: Studio
    moments: Moments

    def at(self, time: float) -> Array:
        """The picture of one instant [s].

        Raises:
            UsageError: the run does not hold it.
        """
        return self.studio.picture(self.moments.at(time))

    def strobe(self, times: Sequence[float]) -> Array:
        """One picture of several instants [s], the earlier the fainter."""
        return self.studio.picture(np.stack([self.moments.at(time) for time in times]))

    def film(self, times: Sequence[float], tell: Callable[[float], None] = lambda _: None) -> Iterator[Array]:
        """Pictures of instants [s]; `tell` is told the fraction that is done."""
        for k, time in enumerate(times):
            yield self.at(time)
            tell((k + 1) / len(times))


def shooting_of(subject: ViewSubject, look: Look) -> Shooting:
    """Make ready to draw a run.

    Args:
        subject: of a run; its file stays open as long as pictures are taken.
        look: of the pictures.

    Raises:
        UsageError: the file holds no poses, or the scene has no such camera.
    """
    moments = Moments(subject)
    return Shooting(Studio(subject.drawings, subject.motion(moments.thinned(FRAMES_FOR_CAMERA)), look), moments)


def start_picture(subject: ViewSubject, look: Look) -> Array:
    """The picture of the start of a scene, (h, w, 3) uint8.

    Raises:
        UsageError: the scene has no such camera.
    """
    _, poses = next(subject.motion().blocks())
    return Studio(subject.drawings, subject.motion(), look).picture(poses[0])


def times_of_film(first: float, last: float, rate: Fraction, speed: float) -> list[float]:
    """[s], instants of a film from `first` to at most `last`.

    Args:
        first: [s].
        last: [s].
        rate: pictures a second.
        speed: seconds of the motion in a second of the film.
    """
    step = speed / float(rate)
    return [min(first + k * step, last) for k in range(int((last - first) / step * (1.0 + 1e-9)) + 1)]


def _grid(n: int, size: tuple[int, int]) -> tuple[int, int]:
    """Columns and rows for n worlds whose cells are as large as they can be, for a shape of 4 to 3."""
    best = max(range(1, n + 1), key=lambda columns: min(size[0] / columns, size[1] / -(-n // columns) * 4 / 3))
    return best, -(-n // best)


def _camera(drawing: Drawing, box: tuple[Array, Array], size: tuple[int, int], name: str) -> Viewpoint:
    name = name or drawing.camera or _AUTO
    if name == _AUTO:
        return camera_of(*box, drawing, size[0] / size[1])
    if name not in drawing.cameras:
        raise UsageError(f"--camera {name}: the scene has no such camera; {did_you_mean(name, [_AUTO, *drawing.cameras])}")
    return drawing.cameras[name]


def _ray_camera(camera: Viewpoint, origin: Array, scale: float, size: tuple[int, int]) -> RayCamera:
    eye, target, up = (np.array(part, float) for part in (camera.position, camera.target, camera.up))
    forward = target - eye
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, up)
    if np.linalg.norm(right) < 1e-6 * np.linalg.norm(up):  # straight along `up`
        right = np.cross(forward, np.eye(3)[np.argmin(np.abs(forward))])
    right /= np.linalg.norm(right)
    axes = np.stack((right, np.cross(right, forward), forward))
    return RayCamera((eye - origin) / scale, axes, float(np.tan(0.5 * camera.fov)), *size)


def _light(drawing: Drawing, camera: RayCamera) -> Light:
    """Daylight from over the photographer's left shoulder."""
    up = np.array(drawing.up, float)
    right, _, forward = camera.axes
    sun = _SUN[0] * right + _SUN[1] * up - _SUN[2] * forward
    behind = decoded(np.array(drawing.background or LIGHT_BACKGROUND))
    key, sky, earth = np.full(3, 0.72), np.array((0.44, 0.455, 0.48)), np.array((0.30, 0.29, 0.28))
    return Light(sun / np.linalg.norm(sun), up, key, sky, earth, behind, 0.93 * behind)
