"""Files of USD with physics that tests write, and that `references/usd_newton.py` gives to Newton; numbers in SI."""

import math

HULL = [(0, 0, 0), (0.3, 0, 0), (0, 0.2, 0), (0, 0, 0.1), (0.05, 0.04, 0.02)]  # the last one lies within the others
FACES = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]


class UsdFile:
    """A stage on its way to a file: bodies, colliders and joints below /robot.

    Args:
        path: of the file.
        length: [m], of a unit.
        up: "Z" or "Y".
        kilograms: of a unit of mass.
    """

    def __init__(self, path, length=1.0, up="Z", kilograms=1.0):
        from pxr import Usd, UsdGeom, UsdPhysics

        self.length, self.mass, self.up = length, kilograms, up
        self.stage = Usd.Stage.CreateNew(str(path))
        UsdGeom.SetStageMetersPerUnit(self.stage, length)
        UsdPhysics.SetStageKilogramsPerUnit(self.stage, kilograms)
        UsdGeom.SetStageUpAxis(self.stage, up)
        self.root = UsdGeom.Xform.Define(self.stage, "/robot").GetPrim()
        self.stage.SetDefaultPrim(self.root)
        UsdPhysics.Scene.Define(self.stage, "/physics")

    def far(self, xyz):
        """[units] of a place in metres, in axes of a body."""
        return tuple(x / self.length for x in xyz)

    def on_stage(self, xyz):
        """[units] of a place of the world with z up."""
        x, y, z = self.far(xyz)
        return (x, y, z) if self.up == "Z" else (x, z, -y)

    def on_stage_turn(self, wxyz):
        """The orientation on the stage of one of the world with z up."""
        from pxr import Gf

        turn = Gf.Quatd(*wxyz)
        return turn if self.up == "Z" else Gf.Quatd(math.sqrt(0.5), -math.sqrt(0.5), 0.0, 0.0) * turn

    def body(self, name, at=(0, 0, 0), wxyz=(1, 0, 0, 0), mass=None, com=None, moments=None, axes=None):
        from pxr import Gf, UsdGeom, UsdPhysics

        xform = UsdGeom.Xform.Define(self.stage, f"/robot/{name}")
        xform.AddTranslateOp().Set(Gf.Vec3d(*self.on_stage(at)))
        xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(self.on_stage_turn(wxyz))
        UsdPhysics.RigidBodyAPI.Apply(xform.GetPrim())
        self.weigh(xform.GetPrim(), mass=mass, com=com, moments=moments, axes=axes)
        return xform.GetPrim()

    def weigh(self, prim, mass=None, density=None, com=None, moments=None, axes=None):
        """What MassAPI says of a prim."""
        from pxr import Gf, UsdPhysics

        if (mass, density, com, moments) == (None,) * 4:
            return
        api, unit = UsdPhysics.MassAPI.Apply(prim), self.length
        if mass is not None:
            api.CreateMassAttr(mass / self.mass)
        if density is not None:
            api.CreateDensityAttr(density / self.mass * unit**3)
        if com is not None:
            api.CreateCenterOfMassAttr(Gf.Vec3f(*self.far(com)))
        if moments is not None:
            api.CreateDiagonalInertiaAttr(Gf.Vec3f(*(one / self.mass / unit**2 for one in moments)))
        if axes is not None:
            api.CreatePrincipalAxesAttr(Gf.Quatf(*axes))

    def solid(self, kind, path, at=(0, 0, 0), wxyz=None, scale=None, **sizes):
        """A gprim that collides; `sizes` in metres, or tokens."""
        from pxr import Gf, Sdf, UsdGeom, UsdPhysics

        prim = getattr(UsdGeom, kind).Define(self.stage, f"/robot/{path}")
        prim.AddTranslateOp().Set(Gf.Vec3d(*self.far(at)))
        if wxyz:
            prim.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(*wxyz))
        if scale:
            prim.AddScaleOp().Set(Gf.Vec3f(*scale))
        for key, value in sizes.items():
            number = isinstance(value, float)
            prim.GetPrim().GetAttribute(key).Set(value / self.length if number else value)
        if kind == "Mesh":
            prim.CreatePointsAttr([Gf.Vec3f(*self.far(point)) for point in HULL])
            prim.CreateFaceVertexCountsAttr([3] * 4)
            prim.CreateFaceVertexIndicesAttr(FACES)
            prim.GetPrim().CreateAttribute("subdivisionScheme", Sdf.ValueTypeNames.Token).Set("none")
        UsdPhysics.CollisionAPI.Apply(prim.GetPrim())
        return prim.GetPrim()

    def joint(self, kind, name, parent, child, at=(0, 0, 0), to=(0, 0, 0), turns=((1, 0, 0, 0),) * 2, **values):
        """A joint between /robot/parent and /robot/child, None for the world, whose frame is of the world with z up."""
        from pxr import Gf, UsdPhysics

        joint = getattr(UsdPhysics, kind).Define(self.stage, f"/robot/{name}")
        for k, (body, place, turn) in enumerate(zip((parent, child), (at, to), turns, strict=True)):
            if body:
                getattr(joint, f"CreateBody{k}Rel")().SetTargets([f"/robot/{body}"])
            place, turn = (self.far(place), Gf.Quatd(*turn)) if body else (self.on_stage(place), self.on_stage_turn(turn))
            getattr(joint, f"CreateLocalPos{k}Attr")(Gf.Vec3f(*place))
            getattr(joint, f"CreateLocalRot{k}Attr")(Gf.Quatf(turn))
        for key, value in values.items():
            joint.GetPrim().GetAttribute(f"physics:{key}").Set(value)
        return joint.GetPrim()

    def drive(self, joint, axis, stiffness, damping, target=0.0, rate=0.0, most=None):
        """A drive whose numbers are in N, m and rad; the target of an angle in degrees."""
        from pxr import UsdPhysics

        api, angular = UsdPhysics.DriveAPI.Apply(joint, axis), axis == "angular" or axis.startswith("rot")
        per = self.mass * (self.length**2 * 180.0 / math.pi if angular else 1.0)
        api.CreateStiffnessAttr(stiffness / per)
        api.CreateDampingAttr(damping / per)
        api.CreateTargetPositionAttr(target if angular else target / self.length)
        api.CreateTargetVelocityAttr(rate if angular else rate / self.length)
        if most is not None:
            api.CreateMaxForceAttr(most / self.mass / self.length ** (2 if angular else 1))

    def bound(self, joint, axis, low, high):
        """A LimitAPI; [deg] or [m]."""
        from pxr import UsdPhysics

        api, unit = UsdPhysics.LimitAPI.Apply(joint, axis), 1.0 if axis.startswith("rot") else self.length
        api.CreateLowAttr(low / unit)
        api.CreateHighAttr(high / unit)

    def save(self):
        self.stage.GetRootLayer().Save()


def write_arm(path, length=1.0, up="Z", kilograms=1.0):
    """A robot on a foot: a hinge, a slide, a ball and a joint of two axes, with drives and limits; colliders give masses."""
    from pxr import UsdPhysics

    file = UsdFile(path, length, up, kilograms)
    UsdPhysics.ArticulationRootAPI.Apply(file.root)
    tilt = (math.cos(0.2), 0.0, math.sin(0.2), 0.0)
    file.body("base", (0, 0, 0.5), mass=4.0, com=(0.01, 0, 0.02), moments=(0.1, 0.2, 0.25), axes=(0.8, 0.6, 0, 0))
    file.body("arm", (0.3, 0, 1.0), tilt)
    file.solid("Cube", "arm/box", (0.1, 0, 0), scale=(2, 0.5, 1), size=0.2)
    file.weigh(file.solid("Capsule", "arm/cap", axis="X", radius=0.05, height=0.2), density=500.0)
    file.body("tip", (0.8, 0, 1.0), mass=0.5)
    file.solid("Sphere", "tip/ball", (0, 0.02, 0), radius=0.05)
    file.body("hand", (0.8, 0, 0.8), mass=0.3, moments=(1e-3, 2e-3, 2e-3))
    file.body("tool", (0.8, 0.1, 0.8), mass=0.2, moments=(1e-3, 1e-3, 1e-3))
    file.joint("FixedJoint", "foot", None, "base", (0, 0, 0.5))
    back = (tilt[0], 0.0, -tilt[2], 0.0)
    turn = file.joint("RevoluteJoint", "turn", "base", "arm", (0.1, 0, 0.5), (-0.2, 0, 0), ((1, 0, 0, 0), back), axis="Y")
    turn.GetAttribute("physics:lowerLimit").Set(-90.0)
    turn.GetAttribute("physics:upperLimit").Set(60.0)
    file.drive(turn, "angular", 80.0, 4.0, 30.0, most=50.0)
    reach = file.joint("PrismaticJoint", "reach", "arm", "tip", (0.4, 0, 0), axis="X", lowerLimit=-0.1 / length)
    reach.GetAttribute("physics:upperLimit").Set(0.2 / length)
    file.drive(reach, "linear", 300.0, 20.0, 0.1, 0.05)
    file.joint("SphericalJoint", "wrist", "tip", "hand", (0, 0, -0.1), (0, 0, 0.1), axis="Z")
    two = file.joint("Joint", "two", "hand", "tool", (0, 0.1, 0))
    for axis in ("transX", "transY", "rotY"):
        file.bound(two, axis, 1.0, -1.0)
    file.bound(two, "transZ", -0.05, 0.05)
    file.bound(two, "rotX", -45.0, 45.0)
    file.bound(two, "rotZ", -170.0, 170.0)  # Newton takes axes without a LimitAPI for locked ones, USD for free ones
    file.drive(two, "rotZ", 5.0, 0.5, -20.0)
    file.save()
    return file


def write_loads(path, length=1.0, up="Z", kilograms=1.0):
    """Free bodies whose masses come from all that may say them."""
    from pxr import Gf, UsdPhysics, UsdShade

    file = UsdFile(path, length, up, kilograms)
    material = UsdShade.Material.Define(file.stage, "/robot/steel").GetPrim()
    api = UsdPhysics.MaterialAPI.Apply(material)
    api.CreateDensityAttr(7800.0 / kilograms * length**3)
    api.CreateDynamicFrictionAttr(0.4)
    api.CreateStaticFrictionAttr(0.5)
    api.CreateRestitutionAttr(0.1)
    file.body("water", (0, 0, 1))
    file.solid("Cylinder", "water/can", (0, 0.1, 0), axis="Y", radius=0.05, height=0.3)
    file.body("steel_ball", (1, 0, 1))
    ball = file.solid("Sphere", "steel_ball/ball", radius=0.04)
    UsdShade.MaterialBindingAPI.Apply(ball).Bind(UsdShade.Material(material), materialPurpose="physics")
    file.body("two_parts", (2, 0, 1), (0.5, 0.5, 0.5, 0.5))
    file.weigh(file.solid("Cube", "two_parts/heavy", (0.1, 0, 0), size=0.1), mass=3.0)
    file.weigh(file.solid("Cone", "two_parts/light", (-0.1, 0, 0), radius=0.05, height=0.12), density=300.0)
    light = file.body("light", (3, 0, 1), mass=0.7)
    light.GetAttribute("physics:velocity").Set(Gf.Vec3f(*file.far((1, 0, 0.5))))
    light.GetAttribute("physics:angularVelocity").Set(Gf.Vec3f(0, 90, 0))
    file.solid("Cube", "light/crate", (0, 0, 0.05), (math.cos(0.3), 0, math.sin(0.3), 0), (1, 2, 3), size=0.1)
    file.weigh(file.body("dense", (4, 0, 1)), density=2000.0)
    file.solid("Capsule", "dense/pill", axis="Z", radius=0.03, height=0.1)
    file.body("shifted", (5, 0, 1), mass=2.0, com=(0.1, 0, 0))
    file.solid("Cube", "shifted/block", size=0.2)
    for k, approximation in enumerate(("convexHull", "boundingCube", "boundingSphere", "none")):
        file.body(f"mesh_{k}", (6 + k, 0, 1))
        mesh = file.solid("Mesh", f"mesh_{k}/part", (0.01, 0.02, 0.03), scale=(1, 2, 1))
        UsdPhysics.MeshCollisionAPI.Apply(mesh).CreateApproximationAttr(approximation)
    file.save()
    return file
