"""USD: the motion of one world as time samples, an Xform per body with its shapes below it, for any viewer of USD.

Shapes and colours are those of the view, as of `glb`. Things between two bodies, as springs and massless rods, are prims of
their own whose length is animated. A second has 60 time codes, from the first frame on, which is the rate of viewers;
samples stand at the times of the frames, and viewers interpolate between them. No physics: the file is a motion that was.
A world that has ended stands still.

Source: OpenUSD, UsdGeom: xformOps, time samples. No deviation.
"""

from pathlib import Path

import numpy as np

from simcli import rotations as rot
from simcli.analysis.export.channel_tables import ExportSeen, Extract, unseen
from simcli.errors import UsageError
from simcli.exchange.source.mechanism import GivenNames
from simcli.exchange.writing.usd_parts import add_form, add_xform, bytes_of_stage, new_stage, paint_prim
from simcli.model.tables.model import Array
from simcli.records.drafts import drafted
from simcli.view.drawing.items import Drawing, Strand
from simcli.view.drawing.solids import triangles_of
from simcli.view.glb import POSE_PARTS, THIN_ROD, Scaled, spans_of, steady_poses
from simcli.view.motion import bounds
from simcli.view.subject import subject_of_run

RATE = 60.0  # [1/s], time codes, and frames of a viewer
MOST_POSES = 1_000_000  # of one file: a stage is built in memory, of a kB each
_UP = np.array((0.0, 0.0, 1.0))


def write(asked: Extract, path: Path, seen: ExportSeen = unseen) -> int:
    """Write a file; returns the number of frames.

    Raises:
        UsageError: usd-core is missing, or the run holds no frame, neither poses nor coordinates, or too much for one file.
        OutputError: the file cannot be written.
    """
    stage = new_stage()
    subject = subject_of_run(asked.run, asked.worlds)
    motion, drawing = subject.motion(slice(None, None, asked.every)), subject.drawings[0]
    shown = Scaled(motion)
    if shown.n_frames * (len(drawing.bodies) + len(drawing.strands)) > MOST_POSES:
        raise UsageError(f"{path}: more than {MOST_POSES} poses for one file: take fewer frames with --every")
    codes = (motion.time - motion.time[0]) * RATE
    stage.SetTimeCodesPerSecond(RATE)
    stage.SetFramesPerSecond(RATE)
    stage.SetStartTimeCode(0.0)
    stage.SetEndTimeCode(float(codes[-1]))
    names = GivenNames(())
    root = f"/{names.give(asked.run.attributes['title'].replace('-', '_'), 'run')}"
    stage.SetDefaultPrim(add_xform(stage, root, _upright(np.asarray(drawing.up, float))))
    tracks = _add_drawing(stage, root, drawing, *bounds(drawing, motion), shown.has_scale)
    for first, poses in steady_poses(shown):
        at = codes[first : first + len(poses)].tolist()
        for body in range(len(drawing.bodies)):
            tracks[body].put(at, *(poses[:, body, POSE_PARTS[key]] for key in POSE_PARTS))
        for strand, track in zip(drawing.strands, tracks[len(drawing.bodies) :], strict=True):
            track.put(at, *spans_of(strand, poses).values())
        seen((first + len(poses)) / shown.n_frames)
    data = bytes_of_stage(stage, path.suffix.lower(), names.give("motion"))
    with drafted(path) as draft:
        draft.write_bytes(data)
    return len(codes)


class _PrimTrack:
    """The animated place of a prim.

    Args:
        stage: of it.
        path: of the prim, new.
        has_scale: whether its scale is animated.
    """

    def __init__(self, stage, path: str, has_scale: bool):
        from pxr import UsdGeom

        xform, self._layer = UsdGeom.Xform.Define(stage, path), stage.GetRootLayer()
        ops = [xform.AddTranslateOp(), xform.AddOrientOp(), *([xform.AddScaleOp()] if has_scale else [])]
        self._place, self._turn, self._scale = [*(op.GetAttr().GetPath() for op in ops), None][:3]

    def put(self, codes: list[float], places: Array, turns: Array, scales: Array) -> None:
        """Add samples: places [m], (f, 3); turns x y z w, (f, 4); scales, (f, 3)."""
        from pxr import Gf, Sdf

        with Sdf.ChangeBlock():  # a third less time: nobody is told of each sample
            for code, place, (x, y, z, w) in zip(codes, places.tolist(), turns.tolist(), strict=True):
                self._layer.SetTimeSample(self._place, code, Gf.Vec3d(*place))
                self._layer.SetTimeSample(self._turn, code, Gf.Quatf(w, x, y, z))
            for code, scale in zip(codes, scales.tolist(), strict=True) if self._scale is not None else ():
                self._layer.SetTimeSample(self._scale, code, Gf.Vec3f(*scale))


def _upright(up: Array) -> Array | None:
    """[m, 1], (7,), of the root, so that z is up in the file; None where it is already."""
    if up @ _UP > 1.0 - 1e-12:
        return None
    turn = rot.frame_along(up / np.linalg.norm(up))
    return rot.make_pose(np.zeros(3), rot.matrix_to_quat(turn.T))


def _add_drawing(stage, root: str, drawing: Drawing, low: Array, high: Array, has_scale: Array) -> list[_PrimTrack]:
    """Prims of the world, the bodies and what lies between them; the tracks of bodies and of those."""
    names = GivenNames(())
    paths = {-1: f"{root}/{names.give('world')}"}
    add_xform(stage, paths[-1])
    tracks = []
    for body, name in enumerate(drawing.bodies):
        paths[body] = f"{root}/{names.give(name.replace('-', '_'), 'body')}"
        tracks.append(_PrimTrack(stage, paths[body], bool(has_scale[body])))
    reach = max(2.0 * float(np.linalg.norm(high - low)), 4.0 * drawing.unit)
    within: dict[int, GivenNames] = {body: GivenNames(()) for body in paths}
    for item in drawing.items:
        if not item.shown or item.opacity <= 0.0:
            continue
        is_mesh = item.kind in ("mesh", "plane")
        mesh = triangles_of(item, reach)[:2] if is_mesh else None
        if mesh is not None and not len(mesh[1]):
            continue
        name = within[item.body].give(item.name.rpartition("/")[2].replace("-", "_"), "shape")
        pose = rot.make_pose(np.asarray(item.position), np.asarray(item.orientation, float))
        prim = add_form(stage, f"{paths[item.body]}/{name}", "mesh" if is_mesh else item.kind, item.size, pose, mesh)
        paint_prim(prim, item.colour, item.opacity)
    tracks += [_strand(stage, root, strand, names) for strand in drawing.strands]
    return tracks


def _strand(stage, root: str, strand: Strand, names: GivenNames) -> _PrimTrack:
    path = f"{root}/{names.give(strand.name.replace('-', '_'), 'rod')}"
    radius = THIN_ROD * strand.radius if strand.kind == "spring" else strand.radius
    track = _PrimTrack(stage, path, True)
    rod = add_form(stage, f"{path}/rod", "cylinder", (radius, 1.0), np.array(rot.IDENTITY_POSE))
    paint_prim(rod, strand.colour, 1.0)
    return track
