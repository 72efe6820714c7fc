"""Parts of a scene as prims of USD: what is seen, joints of UsdPhysics, and a stage as the bytes of a file.

Colours of a scene are sRGB, those of USD linear.

Source: OpenUSD, UsdGeom: xformOps, gprims, primvars displayColor and displayOpacity; usdz packages. No deviation.
"""

import math
import tempfile
from pathlib import Path

import numpy as np

from simcli import rotations as rot
from simcli.errors import from_extra
from simcli.exchange.source.mechanism import words_of_renaming
from simcli.exchange.writing.written_scene import joined_words
from simcli.model.joints.catalogue import BALLS, POSES, UNBOUND_KINDS
from simcli.model.tables.model import WORLD, Array, DriveMode, JointKind
from simcli.model.tables.signal_tables import MotionKind
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


_PLAIN = {
    JointKind.REVOLUTE: "RevoluteJoint",
    JointKind.PRISMATIC: "PrismaticJoint",
    JointKind.FIXED: "FixedJoint",
    JointKind.DISTANCE: "DistanceJoint",
}
_SEVERAL = (JointKind.D6, JointKind.UNIVERSAL, JointKind.CYLINDRICAL, JointKind.PLANAR)
_ALONG = 1e-9  # cosine that is rounding
_AXES = ("X", "Y", "Z")


def write_joints(written) -> None:
    """All joints of a scene, in the tree and outside of it, with a line of the report for each.

    Args:
        written: `UsdScene`.
    """
    from simcli.exchange.writing.usd_model import PrimNames

    scene, names = written.scene, PrimNames()
    for j, name in enumerate(scene.model.joints.name):
        if name not in scene.spec.joints:
            continue  # of a free body
        spec, path = scene.spec.joints[name], f"joints.{name}"
        if scene.model.joints.kind[j] in UNBOUND_KINDS:
            scene.report_element("joint", name, path, "" if spec.parent == "world" else "leaves all free: it is no prim")
            _tell_laws(written, j, path)
            continue
        frame, why = _frame_of(written, j)
        if frame is None:
            scene.lose("joint", name, path, why)
            continue
        given = names.give(name, "joint")
        prim = _write_joint(written, j, f"{written.root}/joints/{given}", frame)
        scene.report_element("joint", name, path, joined_words(words_of_renaming(name, given), why))
        _write_laws(written, j, prim, frame, path)
        _tell_laws(written, j, path)
        ends = frozenset((int(scene.model.joints.parent[j]), int(scene.model.joints.child[j])))
        if WORLD not in ends and scene.model.joints.enabled[j] and not prim.GetAttribute("physics:collisionEnabled").Get():
            written.joined.add(ends)


def _frame_of(written, j: int) -> tuple[Array | None, str]:
    """(3, 3), axes x, y, z of the joint's prim in its anchor frames; None with the reason why there is no such joint."""
    model = written.scene.model
    kind, own = model.joints.kind[j], slice(*model.joints.qd_start[j : j + 2])
    axes, n_linear = model.dofs.axis[0, own], int(model.joints.dof_dim[j, 0])
    if kind in (*BALLS, JointKind.FIXED, JointKind.DISTANCE):
        return np.eye(3), ""
    if kind in (JointKind.REVOLUTE, JointKind.PRISMATIC):
        return np.eye(3) if axes[0].max() == 1.0 else np.roll(rot.frame_along(axes[0]), 1, axis=1), ""
    if kind not in _SEVERAL:
        return None, f"USD has no joint of the type {written.scene.spec.joints[model.joints.name[j]].type}"
    linear, angular = axes[:n_linear], axes[n_linear:]
    first = [*angular, *(one for one in linear if all(abs(one @ other) < _ALONG for other in angular))][:3]
    if len(first) == 1:
        return np.roll(rot.frame_along(first[0]), 1, axis=1), ""
    frame = np.stack([first[0], first[1], np.cross(first[0], first[1])], axis=1)
    places = np.abs(frame.T @ axes.T)
    if (np.abs(places.max(axis=0) - 1.0) > 1e-6).any():
        return None, "USD has slides and turns about the same three axes only"
    return frame, ""


def _write_joint(written, j: int, path: str, frame: Array):
    from pxr import Gf, UsdPhysics

    scene, joints = written.scene, written.scene.model.joints
    kind = "SphericalJoint" if joints.kind[j] in BALLS else _PLAIN.get(JointKind(joints.kind[j]), "Joint")
    joint = getattr(UsdPhysics, kind).Define(written.stage, path)
    for k, (body, pose) in enumerate(((joints.parent[j], joints.X_p[0, j]), (joints.child[j], joints.X_c[0, j]))):
        if body != WORLD:
            getattr(joint, f"CreateBody{k}Rel")().SetTargets([written.bodies[int(body)]])
        x, y, z, w = map(float, rot.matrix_to_quat(rot.quat_to_matrix(pose[3:]) @ frame))
        getattr(joint, f"CreateLocalPos{k}Attr")(Gf.Vec3f(*map(float, pose[:3])))
        getattr(joint, f"CreateLocalRot{k}Attr")(Gf.Quatf(w, x, y, z))
    if kind in ("RevoluteJoint", "PrismaticJoint"):
        direction = frame.T @ written.scene.model.dofs.axis[0, joints.qd_start[j]]
        joint.CreateAxisAttr(_AXES[int(direction.argmax())])
    if kind == "DistanceJoint":
        for key, bound in zip(("Min", "Max"), joints.length[0, j], strict=True):
            getattr(joint, f"Create{key}DistanceAttr")(float(bound) if math.isfinite(bound) else -1.0)
    if not joints.is_tree[j]:
        joint.CreateExcludeFromArticulationAttr(True)
    if not joints.enabled[j]:
        joint.CreateJointEnabledAttr(False)
    names = {ends_name(scene, joints.parent[j]), ends_name(scene, joints.child[j])}
    if any({pair.a, pair.b} == names for pair in scene.spec.contact.pairs):
        joint.CreateCollisionEnabledAttr(True)
    return joint.GetPrim()


def ends_name(scene, body: int) -> str:
    """Name of a body of the scene."""
    return "world" if body == WORLD else scene.model.bodies.name[body]


# Laws.


def _write_laws(written, j: int, prim, frame: Array, path: str) -> None:
    """Limits and drives of the coordinates; which axes are locked."""
    from pxr import UsdPhysics

    model = written.scene.model
    first, last = model.joints.qd_start[j : j + 2]
    n_linear, kind = int(model.joints.dof_dim[j, 0]), model.joints.kind[j]
    if kind in (*BALLS, JointKind.FIXED, JointKind.DISTANCE):
        return
    free = {}
    for k, dof in enumerate(range(first, last)):
        along = frame.T @ model.dofs.axis[0, dof]
        axis = int(np.abs(along).argmax())
        free[("trans" if k < n_linear else "rot") + _AXES[axis]] = (dof, float(np.sign(along[axis])), k >= n_linear)
    for name, (dof, sign, is_turn) in free.items():
        unit = 180.0 / math.pi if is_turn else 1.0
        ends = [float(getattr(model.dofs, f"limit_{side}")[0, dof]) * unit * sign for side in ("lower", "upper")]
        low, high = ends if sign > 0.0 else ends[::-1]
        if kind in _PLAIN:
            name = "angular" if is_turn else "linear"
            for key, end in (("lower", low), ("upper", high)):
                prim.GetAttribute(f"physics:{key}Limit").Set(end)
        elif math.isfinite(low) or math.isfinite(high):
            limit = UsdPhysics.LimitAPI.Apply(prim, name)
            limit.CreateLowAttr(low)
            limit.CreateHighAttr(high)
        _write_drive(written, dof, sign, is_turn, UsdPhysics.DriveAPI, prim, name)
    if kind not in _PLAIN:
        for name in (f"{kind}{axis}" for kind in ("trans", "rot") for axis in _AXES):
            if name not in free:
                limit = UsdPhysics.LimitAPI.Apply(prim, name)
                limit.CreateLowAttr(1.0)
                limit.CreateHighAttr(-1.0)


def _write_drive(written, dof: int, sign: float, is_turn: bool, schema, prim, name: str) -> None:
    """A drive that is that of the coordinate and its damping together: their sum is a drive, too.

    k (target - q) + d (rate' - q') - c q' = k (target - q) + (d + c) (d rate' / (d + c) - q')
    """
    dofs, joint = written.scene.model.dofs, written.scene.model.dofs.joint[dof]
    spec = written.scene.spec.joints[written.scene.model.joints.name[joint]]
    mode = DriveMode(dofs.drive_mode[dof])
    stiffness = float(dofs.drive_stiffness[0, dof]) if mode in (DriveMode.POSITION, DriveMode.POSITION_VELOCITY) else 0.0
    damping = float(dofs.drive_damping[0, dof]) if mode not in (DriveMode.NONE, DriveMode.EFFORT) else 0.0
    losses = float(spec.damping[dof - written.scene.model.joints.qd_start[joint]])
    most = float(dofs.effort_limit[0, dof]) if stiffness or damping else math.inf
    losses = losses if not math.isfinite(most) else 0.0
    if not (stiffness or damping or losses):
        return
    rate = float(dofs.drive_target_velocity[0, dof]) if mode != DriveMode.POSITION and damping else 0.0
    unit = 180.0 / math.pi if is_turn else 1.0
    api = schema.Apply(prim, name)
    api.CreateTypeAttr("force")
    api.CreateStiffnessAttr(stiffness / unit)
    api.CreateDampingAttr((damping + losses) / unit)
    api.CreateTargetPositionAttr(sign * float(dofs.drive_target[0, dof]) * unit if stiffness else 0.0)
    api.CreateTargetVelocityAttr(sign * rate * damping / (damping + losses) * unit if rate else 0.0)
    if math.isfinite(most):
        api.CreateMaxForceAttr(most)


def _tell_laws(written, j: int, path: str) -> None:
    """What acts on the coordinates of a joint: carried as far as USD has it."""
    scene, model = written.scene, written.scene.model
    name, dofs = model.joints.name[j], model.dofs
    spec, own = scene.spec.joints[name], slice(*model.joints.qd_start[j : j + 2])
    is_distance = model.joints.kind[j] == JointKind.DISTANCE
    is_plain = model.joints.kind[j] not in (*BALLS, *POSES)
    if spec.limit:
        is_soft = (scene.first(dofs, "limit_stiffness")[own] > 0.0).any()
        if is_plain or is_distance:
            scene.report_element("limit", name, f"{path}.limit", "hard: USD has no soft limits" if is_soft else "")
        else:
            scene.lose("limit", name, f"{path}.limit", "USD has cones of a ball, not limits of its turn")
    if spec.drive:
        efforts = (dofs.drive_mode[own] == DriveMode.EFFORT) & (scene.first(dofs, "drive_target")[own] != 0.0)
        targets = (getattr(one, key) for one in spec.drive if one for key in ("target", "target_velocity"))
        if not is_plain or efforts.any():
            scene.lose("drive", name, f"{path}.drive", "USD has drives to targets of single axes, not efforts")
        elif any(isinstance(target, str) for target in targets):
            scene.lose("drive", name, f"{path}.drive", "USD has no signals: its targets are those of the start")
        else:
            idle = (dofs.drive_mode[own] == DriveMode.EFFORT).any()
            scene.report_element("drive", name, f"{path}.drive", "an effort of 0: it has no drive" if idle else "")
            for one in spec.drive:
                scene.lose_drive(name, f"{path}.drive", one, "USD", "USD has drives that act at once")
    if any(spec.damping):
        drives = ~np.isin(dofs.drive_mode[own], (DriveMode.NONE, DriveMode.EFFORT))
        bounded = (drives & np.isfinite(scene.first(dofs, "effort_limit")[own])).any()
        if is_plain and not bounded:
            scene.report_element("damping", name, f"{path}.damping", "is that of a drive")
        else:
            words = "a drive with an effort limit would bound it, and joints have none" if is_plain else "of several turns"
            scene.lose("damping", name, f"{path}.damping", words)
    lost = {
        "friction": any(spec.friction),
        "armature": scene.first(dofs, "armature")[own].any(),
        "velocity_limit": np.isfinite(scene.first(dofs, "velocity_limit")[own]).any(),
        "mimic": spec.mimic is not None,
        "motion": (model.motions.kind[own] != MotionKind.NONE).any(),
        "driving": spec.driving is not None,
        "compliance": spec.compliance > 0.0,
    }
    for key, has in lost.items():
        if has:
            scene.lose(key, name, f"{path}.{key}", f"USD has no `{key}` of a joint")
