"""Prims of USD that are seen: where they are, what form and colour they have; a stage as the bytes of a file.

Colours of a scene are sRGB, those of USD linear.

Source: OpenUSD, UsdGeom: xformOps, gprims, primvars displayColor and displayOpacity; usdz packages. No deviation.
"""

import tempfile
from pathlib import Path

import numpy as np

from simcli.errors import from_extra
from simcli.model.tables.model import Array
from simcli.spec.schema.shape import rgb

_NO_MESH = (np.zeros((0, 3)), np.zeros((0, 3), int))
_ROUND = {"capsule": "Capsule", "cylinder": "Cylinder", "cone": "Cone"}


def new_stage():
    """An empty stage in metres and kilograms with z up.

    Raises:
        UsageError: usd-core is not installed.
    """
    with from_extra("USD files need usd-core", "usd"):
        from pxr import Usd, UsdGeom, UsdPhysics
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, "Z")
    return stage


def bytes_of_stage(stage, suffix: str, stem: str) -> bytes:
    """A stage as a file: text (.usda), a crate (.usdc, .usd), or a package that holds one (.usdz)."""
    from pxr import Sdf, UsdUtils

    layer = stage.GetRootLayer()
    if suffix == ".usda":
        return layer.ExportToString().encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{stem}.usdc"
        layer.Export(str(path))
        if suffix == ".usdz":
            package = path.with_suffix(".usdz")
            UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(path)), str(package))
            path = package
        return path.read_bytes()


def add_xform(stage, path: str, pose: Array | None = None, scale: Array | None = None):
    """A new Xform with a pose (7,) in the one above it."""
    from pxr import UsdGeom

    xform = UsdGeom.Xform.Define(stage, path)
    put_pose(xform, pose, scale)
    return xform.GetPrim()


def put_pose(xform, pose: Array | None, scale: Array | None = None) -> None:
    """Give a prim its place, [m, 1], (7,), and its scale, where these are not the usual ones."""
    from pxr import Gf, UsdGeom

    if pose is not None and np.any(pose[:3]):
        xform.AddTranslateOp().Set(Gf.Vec3d(*map(float, pose[:3])))
    if pose is not None and np.any(pose[3:6]):
        x, y, z, w = map(float, pose[3:7])
        xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(w, x, y, z))
    if scale is not None and np.any(np.asarray(scale) != 1.0):
        xform.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*map(float, scale)))


def add_form(stage, path: str, kind: str, size: tuple[float, ...], pose: Array, mesh: tuple[Array, Array] | None = None):
    """A new gprim.

    Args:
        stage: it is added to.
        path: of it.
        kind: sphere, ellipsoid, box, capsule, cylinder, cone, plane or mesh, whose axis or normal is z.
        size: [m], as shapes of a scene have it: radius; radii; lengths; radius and length; of a plane and a mesh none.
        pose: [m, 1], (7,), in the prim above it.
        mesh: vertices [m], (n, 3), and triangles, (m, 3), of a mesh; None for others.
    """
    from pxr import UsdGeom, Vt

    scale = None
    if kind == "box":
        form, scale = UsdGeom.Cube.Define(stage, path), np.asarray(size)
        form.CreateSizeAttr(1.0)
    elif kind in ("sphere", "ellipsoid"):
        form, scale = UsdGeom.Sphere.Define(stage, path), np.asarray(size) if kind == "ellipsoid" else None
        form.CreateRadiusAttr(1.0 if kind == "ellipsoid" else float(size[0]))
    elif kind in _ROUND:
        form = getattr(UsdGeom, _ROUND[kind]).Define(stage, path)
        form.CreateRadiusAttr(float(size[0]))
        form.CreateHeightAttr(float(size[1]))
        form.CreateAxisAttr("Z")
    elif kind == "plane":
        form = UsdGeom.Plane.Define(stage, path)
        form.CreateAxisAttr("Z")
    else:
        vertices, faces = mesh or _NO_MESH
        form = UsdGeom.Mesh.Define(stage, path)
        form.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(vertices, np.float32)))
        form.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)))
        form.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(np.ascontiguousarray(faces, np.int32).ravel()))
        form.CreateSubdivisionSchemeAttr("none")
    put_pose(form, pose, scale)
    return form.GetPrim()


def paint_prim(prim, colour: str | tuple[float, ...] | None, opacity: float) -> None:
    """Give a gprim its colour, sRGB or a name of one, and its opacity; what is not seen is invisible."""
    from pxr import Gf, UsdGeom

    if opacity <= 0.0:
        UsdGeom.Imageable(prim).CreateVisibilityAttr("invisible")
        return
    if colour is not None:
        numbers = rgb(colour) if isinstance(colour, str) else colour
        UsdGeom.Gprim(prim).CreateDisplayColorAttr([Gf.Vec3f(*map(linear_colour, numbers))])
    if opacity < 1.0:
        UsdGeom.Gprim(prim).CreateDisplayOpacityAttr([float(opacity)])


def linear_colour(value: float) -> float:
    """Of sRGB, as USD and glTF want colours."""
    return float(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
