"""GLB: the motion of one world as a binary glTF 2.0 file, a node per body, its shapes below it, one animation.

The colours and shapes are those of the view. Things between two bodies, as springs and massless rods, are nodes of their own
whose length is animated. Affine bodies that are stretched along their axes have an animated scale; others are as their poses
say, since no scale can tell it. The axes of the scene are turned so that y is up, as in glTF; lengths are metres, times
seconds from the first frame on. A world that has ended stands still.

Source: Khronos, glTF 2.0 specification, sections 3.6 (buffers), 3.11 (animations) and 4.4 (GLB). No deviation.
"""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

import simcli
from simcli import rotations as rot
from simcli.analysis.export.channel_tables import ExportSeen, Extract, unseen
from simcli.errors import UsageError
from simcli.exchange.writing.usd_parts import linear_colour
from simcli.model.tables.model import Array
from simcli.records.drafts import drafted
from simcli.view.drawing.items import HERE, UPRIGHT, Drawing, Item, Strand, strand_ends
from simcli.view.drawing.solids import triangles_of
from simcli.view.motion import RIGID, SEEN_STRETCH, UNMOVED, WHOLE, RecordedMotion, bounds, carried, strain, without_stretch
from simcli.view.subject import subject_of_run

MAGIC, _VERSION, JSON_CHUNK, BIN_CHUNK = b"glTF", 2, b"JSON", b"BIN\0"
MOST_GLB_BYTES = 2**32 - 2**16  # of a file: its lengths have 32 bits
FLOAT, UINT = 5126, 5125
VERTICES, INDICES = 34962, 34963
THIN_ROD = 0.25  # of the radius of a spring's coil: radius of the rod that is drawn for it
Y_UP = {0: (0.0, 0.0, 0.5**0.5, 0.5**0.5), 1: UPRIGHT, 2: (-(0.5**0.5), 0.0, 0.0, 0.5**0.5)}  # from the axis that is up
_UPSIDE_DOWN = {0: (0.0, 0.0, -(0.5**0.5), 0.5**0.5), 1: (1.0, 0.0, 0.0, 0.0), 2: (0.5**0.5, 0.0, 0.0, 0.5**0.5)}
PATHS = {"translation": 3, "rotation": 4, "scale": 3}
POSE_PARTS = {"translation": slice(3), "rotation": slice(3, RIGID), "scale": slice(RIGID, RIGID + 3)}  # of poses
ASKEW = 1e-3  # of a stretch, what is not along the body axes, from which on no scale can tell it


@dataclass
class _Scene:
    """The parts of the JSON document, and the bytes that stand before the animation."""

    nodes: list[dict] = field(default_factory=list)
    meshes: list[dict] = field(default_factory=list)
    materials: list[dict] = field(default_factory=list)
    accessors: list[dict] = field(default_factory=list)
    views: list[dict] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    samplers: list[dict] = field(default_factory=list)
    channels: list[dict] = field(default_factory=list)
    _materials: dict[tuple, int] = field(default_factory=dict)

    def node(self, **values) -> int:
        """Add a node; returns its number."""
        self.nodes.append(values)
        return len(self.nodes) - 1

    def held(self, array: Array, kind: str, component: int, target: int | None = None, bounded: bool = False) -> int:
        """Add an accessor with its bytes; returns its number.

        Args:
            array: (n, ...), the numbers, of the type that `component` names.
            kind: of glTF, as "VEC3".
            component: number of the type in glTF, as 5126 for float32.
            target: what the numbers are for, 34962 (vertices) or 34963 (indices); None for others.
            bounded: whether smallest and largest numbers are told.
        """
        number = self.reserved(len(array), array.nbytes, kind, component, target)
        if bounded:
            columns = array.reshape(len(array), -1)
            self.accessors[number] |= {"min": columns.min(axis=0).tolist(), "max": columns.max(axis=0).tolist()}
        self.parts.append(array.tobytes())
        return number

    def reserved(self, count: int, n_bytes: int, kind: str, component: int, target: int | None = None) -> int:
        """Add an accessor whose bytes come later; returns its number. All that are held come before the first of these.

        Args:
            count: items.
            n_bytes: of all of them.
            kind: as of `held`.
            component: as of `held`.
            target: as of `held`.
        """
        view = {"buffer": 0, "byteOffset": self.size, "byteLength": n_bytes} | ({"target": target} if target else {})
        self.views.append(view)
        self.accessors.append({"bufferView": len(self.views) - 1, "componentType": component, "count": count, "type": kind})
        self.size += n_bytes
        return len(self.accessors) - 1

    def material(self, colour: tuple[float, ...], opacity: float, two_sided: bool) -> int:
        """The number of a material, made where it is needed first."""
        key = (tuple(colour), opacity, two_sided)
        if key not in self._materials:
            factor = [*(linear_colour(value) for value in colour), float(opacity)]
            one = {"pbrMetallicRoughness": {"baseColorFactor": factor, "metallicFactor": 0.0, "roughnessFactor": 0.8}}
            one |= {"alphaMode": "BLEND"} if opacity < 1.0 else {}
            self.materials.append(one | ({"doubleSided": True} if two_sided else {}))
            self._materials[key] = len(self.materials) - 1
        return self._materials[key]

    def mesh(self, item: Item, reach: float) -> int | None:
        """The number of a new mesh; None if it has no triangles."""
        vertices, triangles, normals = triangles_of(item, reach)
        if not len(triangles):
            return None
        attributes = {"POSITION": self.held(np.ascontiguousarray(vertices, "<f4"), "VEC3", FLOAT, VERTICES, bounded=True)}
        if normals is not None:
            attributes["NORMAL"] = self.held(np.ascontiguousarray(normals, "<f4"), "VEC3", FLOAT, VERTICES)
        indices = self.held(np.ascontiguousarray(triangles, "<u4").reshape(-1), "SCALAR", UINT, INDICES)
        material = self.material(item.colour, item.opacity, item.kind in ("mesh", "plane"))
        primitive = {"attributes": attributes, "indices": indices, "material": material}
        self.meshes.append({"name": item.name, "primitives": [primitive]})
        return len(self.meshes) - 1

    def document(self, title: str, worlds: tuple[int, ...]) -> bytes:
        """The JSON document, padded."""
        found = {
            "asset": {"version": "2.0", "generator": f"simcli {simcli.__version__}"},
            "scene": 0,
            "scenes": [{"name": title or "simcli", "nodes": [0], "extras": {"world": worlds[0]}}],
            "nodes": self.nodes,
            "meshes": self.meshes,
            "materials": self.materials,
            "accessors": self.accessors,
            "bufferViews": self.views,
            "buffers": [{"byteLength": self.size}] if self.size else [],
            "animations": [{"name": "run", "samplers": self.samplers, "channels": self.channels}] if self.channels else [],
        }
        text = json.dumps({key: value for key, value in found.items() if value != []}, separators=(",", ":")).encode()
        return text + b" " * (-len(text) % 4)


class _Track:
    """An animated property of a node: where its values go.

    Attributes:
        path: translation, rotation or scale.
        start: [B], of its first value in the binary chunk.
    """

    def __init__(self, scene: _Scene, node: int, path: str, time: int, n_frames: int):
        width = PATHS[path]
        output = scene.reserved(n_frames, 4 * width * n_frames, f"VEC{width}", FLOAT)
        scene.samplers.append({"input": time, "output": output, "interpolation": "LINEAR"})
        scene.channels.append({"sampler": len(scene.samplers) - 1, "target": {"node": node, "path": path}})
        self.path, self.start, self._width = path, scene.views[-1]["byteOffset"], width

    def put(self, stream: BinaryIO, base: int, first: int, values: Array) -> None:
        """Write the values of some frames."""
        stream.seek(base + self.start + 4 * self._width * first)
        stream.write(np.ascontiguousarray(values, "<f4").tobytes())


def write(asked: Extract, path: Path, seen: ExportSeen = unseen) -> int:
    """Write a file; returns the number of frames.

    Raises:
        UsageError: the run holds no frame, neither poses nor coordinates, or too much for one file.
        OutputError: the file cannot be written.
    """
    subject = subject_of_run(asked.run, asked.worlds)
    motion, drawing = subject.motion(slice(None, None, asked.every)), subject.drawings[0]
    time = (motion.time - motion.time[0]).astype("<f4")
    if (np.diff(time) <= 0).any():
        raise UsageError(f"{path}: its frames are too close in time for the float32 of glTF: take fewer with --every")
    scene, tracks, strands, shown = _Scene(), {}, {}, Scaled(motion)
    _add_drawing(scene, drawing, *bounds(drawing, motion))
    if len(time) > 1:
        at = scene.held(time, "SCALAR", FLOAT, bounded=True)
        for body in range(len(drawing.bodies)):
            paths = [path for path in PATHS if path != "scale" or shown.has_scale[body]]
            tracks[body] = [_Track(scene, 1 + body, path, at, len(time)) for path in paths]
        first = len(scene.nodes) - len(drawing.strands)
        strands = {k: [_Track(scene, first + k, name, at, len(time)) for name in PATHS] for k in range(len(drawing.strands))}
    else:
        _stand(scene, drawing, next(shown.blocks())[1][0], shown.has_scale)
    head = scene.document(asked.run.attributes["title"], asked.worlds)
    n_bytes = 28 + len(head) + scene.size
    if n_bytes > MOST_GLB_BYTES:
        raise UsageError(f"{path}: {n_bytes / 1e9:.3g} GB are more than a .glb holds: take fewer frames with --every")
    with drafted(path) as draft, draft.open("wb") as stream:
        stream.write(struct.pack("<4sII", MAGIC, _VERSION, n_bytes))
        stream.write(struct.pack("<I4s", len(head), JSON_CHUNK) + head)
        stream.write(struct.pack("<I4s", scene.size, BIN_CHUNK) + b"".join(scene.parts))
        stream.truncate(n_bytes)
        if tracks or strands:
            _write_motion(stream, 28 + len(head), shown, drawing, tracks, strands, seen)
    return len(time)


def _add_drawing(scene: _Scene, drawing: Drawing, low: Array, high: Array) -> None:
    """Nodes and meshes: the world, the bodies in order, their items, and things between bodies last."""
    axis = int(np.argmax(np.abs(drawing.up)))
    turn = (Y_UP if drawing.up[axis] > 0 else _UPSIDE_DOWN)[axis]
    scene.node(name="world", rotation=list(turn), children=[])
    for name in drawing.bodies:
        scene.nodes[0]["children"].append(scene.node(name=name))
    reach = max(2.0 * float(np.linalg.norm(high - low)), 4.0 * drawing.unit)
    for item in drawing.items:
        if not item.shown or item.opacity <= 0.0:
            continue
        mesh = scene.mesh(item, reach)
        if mesh is None:
            continue
        place = {"translation": list(map(float, item.position))} if tuple(item.position) != HERE else {}
        place |= {"rotation": _unit(item.orientation)} if tuple(item.orientation) != UPRIGHT else {}
        child = scene.node(name=item.name, mesh=mesh, **place)
        scene.nodes[1 + item.body].setdefault("children", []).append(child)
    for strand in drawing.strands:
        radius = THIN_ROD * strand.radius if strand.kind == "spring" else strand.radius
        rod = Item(strand.name, -1, "cylinder", (radius, 1.0), HERE, UPRIGHT, strand.colour)
        scene.nodes[0]["children"].append(scene.node(name=strand.name, mesh=scene.mesh(rod, reach)))
    if not scene.nodes[0]["children"]:
        del scene.nodes[0]["children"]


def _stand(scene: _Scene, drawing: Drawing, poses: Array, has_scale: Array) -> None:
    """Put the nodes where they are at the only frame."""
    poses = np.where(np.isfinite(poses), poses, UNMOVED)
    for body, pose in enumerate(poses):
        scene.nodes[1 + body] |= {"translation": pose[:3].tolist(), "rotation": _unit(pose[3:RIGID])}
        scene.nodes[1 + body] |= {"scale": pose[POSE_PARTS["scale"]].tolist()} if has_scale[body] else {}
    first = len(scene.nodes) - len(drawing.strands)
    for k, strand in enumerate(drawing.strands):
        scene.nodes[first + k] |= {path: values[0].tolist() for path, values in spans_of(strand, poses[None]).items()}


class Scaled:
    """The motion of one world as nodes can show it: places, rotations, and scales along the body axes.

    Args:
        motion: of one world.

    Attributes:
        n_frames: of it.
        has_scale: (B,), of which bodies the scale is told: they are seen to be stretched, along their axes.
    """

    def __init__(self, motion: RecordedMotion):
        self._motion, self.n_frames = motion, motion.n_frames
        along, across = np.zeros((2, motion.n_bodies))
        for _, poses in motion.blocks() if motion.com is not None else ():
            largest = np.fmax.reduce(np.abs(strain(poses[:, 0])), axis=0, initial=0.0)
            along, across = np.maximum(along, largest[:, :3].max(axis=1)), np.maximum(across, largest[:, 3:].max(axis=1))
        self.has_scale = (np.maximum(along, across) >= SEEN_STRETCH) & (across < ASKEW)

    def blocks(self) -> Iterator[tuple[int, Array]]:
        """First frame and poses, (f, B, 13), as of `stretch`."""
        for first, block in self._motion.blocks():
            poses = np.full((*block.shape[:1], *block.shape[2:3], WHOLE), UNMOVED)
            poses[..., :RIGID] = without_stretch(block, self._motion.com)[:, 0]
            along = block[:, 0, self.has_scale][..., : RIGID + 3]
            poses[:, self.has_scale, : along.shape[-1]] = along
            yield first, poses


def _write_motion(
    stream: BinaryIO,
    base: int,
    motion: Scaled,
    drawing: Drawing,
    tracks: dict[int, list[_Track]],
    strands: dict[int, list[_Track]],
    seen: ExportSeen,
) -> None:
    """Write all animated values, in blocks of frames."""
    for first, poses in steady_poses(motion):
        for body, some in tracks.items():
            for track in some:
                track.put(stream, base, first, poses[:, body, POSE_PARTS[track.path]])
        for k, some in strands.items():
            values = spans_of(drawing.strands[k], poses)
            for track in some:
                track.put(stream, base, first, values[track.path])
        seen((first + len(poses)) / motion.n_frames)


def steady_poses(motion: Scaled) -> Iterator[tuple[int, Array]]:
    """First frame and poses, (f, B, 13): without gaps, and without quaternions that jump to their opposite."""
    last = np.tile(UNMOVED, (len(motion.has_scale), 1))
    for first, poses in motion.blocks():
        for k in np.flatnonzero(~np.isfinite(poses).all(axis=(1, 2))):
            before = poses[k - 1] if k else last
            poses[k] = np.where(np.isfinite(poses[k]).all(axis=1, keepdims=True), poses[k], before)
        turns = np.concatenate([last[None, :, 3:RIGID], poses[:, :, 3:RIGID]])
        turns /= np.linalg.norm(turns, axis=2, keepdims=True)
        jump = np.where((turns[1:] * turns[:-1]).sum(axis=2) < 0.0, -1.0, 1.0)
        poses[:, :, 3:RIGID] = turns[1:] * np.cumprod(jump, axis=0)[:, :, None]
        last = poses[-1]
        yield first, poses


def spans_of(strand: Strand, poses: Array) -> dict[str, Array]:
    """Middle [m], turn of z, and scale of a rod of length 1 that goes from one end to the other."""

    def carry(body: int, point: Array) -> Array:
        return np.broadcast_to(point, (len(poses), 3)) if body < 0 else carried(poses[:, body], point)

    ends = strand_ends(strand, carry)
    along = ends[1] - ends[0]
    length = np.linalg.norm(along, axis=1, keepdims=True)
    z = np.where(length > 0.0, along / np.maximum(length, 1e-300), (0.0, 0.0, 1.0))
    turn = np.array(rot.matrix_to_quat(rot.frame_along(z)))
    scale = np.concatenate([np.ones_like(z[:, :2]), np.maximum(length, 1e-9)], axis=1)
    return {"translation": 0.5 * (ends[0] + ends[1]), "rotation": _continuous(turn), "scale": scale}


def _continuous(turn: Array) -> Array:
    sign = np.where((turn[1:] * turn[:-1]).sum(axis=1) < 0.0, -1.0, 1.0)
    return turn * np.concatenate([[1.0], np.cumprod(sign)])[:, None]


def _unit(turn) -> list[float]:
    turn = np.asarray(turn, float)
    return (turn / np.linalg.norm(turn)).tolist()
