"""A stage as it is read: values with units, places of prims in bodies, which properties were looked at, what is told.

Lengths of a stage are in `metersPerUnit`, masses in `kilogramsPerUnit`, angles in degrees; y or z is up. A scene is in SI
units with z up: all of a stage is turned about x where y is up, so that what is local to a body stays as it is.

Source: OpenUSD, UsdGeom (stage metrics, xformOps) and UsdPhysics (units). No deviation.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, SupportsFloat

import numpy as np

from simcli.errors import FileError
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import GivenNames, SourceFrame, SourceModel, clean_numbers, quaternion_words
from simcli.exchange.source.meshes import MeshFiles
from simcli.model.tables.model import Array

_TURN = {"Z": np.eye(3), "Y": np.array([(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)])}  # to z up
ROUNDING = 1e-6  # [1] relative: rounding of numbers of single precision, which most of USD's are
# Properties without which nothing moves otherwise, by how they begin.
_LOOKS = (
    "accelerations", "collection:", "cornerIndices", "cornerSharpnesses", "crease", "debug:", "doubleSided", "extent",
    "faceVaryingLinearInterpolation", "info:", "inputs:", "interpolateBoundary", "isaac:", "material:binding", "model:",
    "normals", "outputs:", "physics:simulationOwner", "physics:startsAsleep", "primvars:", "proxyPrim", "purpose",
    "semantic", "subdivisionScheme", "subsetFamily", "triangleSubdivisionRule", "ui:", "userProperties:", "visibility",
)  # fmt: skip
_OTHERS = {"physx": "of PhysX", "newton": "of Newton", "mjc": "of MuJoCo", "state": "a state that other programs keep"}


class PrimPlacement(NamedTuple):
    """Where a prim is on the stage.

    Attributes:
        turn: (3, 3), of its axes to those of the stage.
        at: [units], (3,), its origin.
        linear: (3, 3), turn and scale and shear: of its coordinates to those of the stage.
    """

    turn: Array
    at: Array
    linear: Array

    @property
    def scale(self) -> Array:
        """(3,), along its axes."""
        return np.diag(self.turn.T @ self.linear).copy()

    @property
    def is_sheared(self) -> bool:
        """Whether no scale along its axes says it."""
        rest = self.turn.T @ self.linear - np.diag(self.scale)
        return bool(np.abs(rest).max() > ROUNDING * np.abs(self.linear).max())


class UsdSource:
    """One stage as it is read.

    Args:
        path: of the file, for messages.
        stage: open.
        meshes: takes the meshes that it holds.
        report: receives a line for each prim and property.
        mechanism: that is made.

    Attributes:
        length: [m], of a unit.  mass: [kg], of a unit.
        turn: (3, 3), of the axes of the stage to those of the scene.
        prims: all of them by path, instances too, each after the one above it.
        owner: path of a prim to that of the body it is part of; those that move with no body are not in it.
        links: path of a body to its name.  shapes: path of a collider to the names of link and shape.
        materials, joints: path of a material of physics, or of a joint, to its name.
        link_names, joint_names: given so far.
    """

    def __init__(self, path: Path, stage, meshes: MeshFiles, report: ImportReport, mechanism: SourceModel):
        from pxr import Usd, UsdGeom, UsdPhysics

        self.path, self.stage, self.meshes, self.report, self.mechanism = path, stage, meshes, report, mechanism
        self.time = Usd.TimeCode.EarliestTime()
        self.length, self.mass = UsdGeom.GetStageMetersPerUnit(stage), UsdPhysics.GetStageKilogramsPerUnit(stage)
        if not (0.0 < self.length < math.inf and 0.0 < self.mass < math.inf):
            raise FileError(f"{path}: a unit of {self.length:g} m and {self.mass:g} kg")
        if (up := str(UsdGeom.GetStageUpAxis(stage))) not in _TURN:
            raise FileError(f"{path}: the axis {up[:60]!r} is up, not Y or Z")
        self.turn = _TURN[up]
        self.prims = {str(prim.GetPath()): prim for prim in _all_prims(stage)}
        self.owner: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.shapes: dict[str, tuple[str, str]] = {}
        self.materials: dict[str, str] = {}
        self.joints: dict[str, str] = {}
        self.link_names, self.joint_names = GivenNames(), GivenNames(())
        self._known: set[tuple[str, str]] = set()
        self._told: set[str] = set()
        self._places: dict[str, PrimPlacement] = {}
        self._xforms = UsdGeom.XformCache(self.time)

    # Values.

    def value(self, prim, name: str, default: object = None):
        """A value that is written, which counts as looked at; a default where none is."""
        self.note(prim, name)
        attribute = prim.GetAttribute(name)
        if not attribute or not attribute.HasAuthoredValue():
            return default
        found = attribute.Get(self.time)
        return default if found is None else found

    def numbers(self, prim, name: str, count: int, default: tuple[float, ...]) -> tuple[float, ...]:
        """So many finite numbers that are written; a default where none are.

        Raises:
            FileError: they are not so many finite ones.
        """
        value = self.value(prim, name)
        if value is None:
            return default
        try:
            if type(value).__name__.startswith("Quat"):
                parts = [value.GetReal(), *value.GetImaginary()]
            else:
                parts = list(value) if count > 1 else [value]
            found = tuple(_as_written(part, str(prim.GetAttribute(name).GetTypeName())) for part in parts)
        except (TypeError, ValueError):
            found = ()
        if len(found) != count or not all(map(math.isfinite, found)):
            raise FileError(f"{self.path}: {prim.GetPath()}.{name} is {str(value)[:60]}, not {count} finite numbers")
        return found

    def number(self, prim, name: str, default: float = 0.0, is_bound: bool = False) -> float:
        """A number that is written; a default where none is.

        Args:
            prim: that has it.
            name: of the property.
            default: where none is written.
            is_bound: whether it may be infinite.
        """
        if is_bound:
            value = self.value(prim, name)
            if isinstance(value, float) and math.isinf(value):
                return value
        return self.numbers(prim, name, 1, (default,))[0]

    def axis(self, prim, name: str, default: str) -> str:
        """X, Y or Z.

        Raises:
            FileError: it is none of them.
        """
        found = str(self.value(prim, name, default))
        if found not in ("X", "Y", "Z"):
            raise FileError(f"{self.path}: {prim.GetPath()}.{name} is {found[:60]!r}, not X, Y or Z")
        return found

    def flag(self, prim, name: str, default: bool) -> bool:
        """A truth value."""
        return bool(self.value(prim, name, default))

    def targets(self, prim, name: str) -> list[str]:
        """Paths of the prims that a relationship names."""
        self.note(prim, name)
        relationship = prim.GetRelationship(name)
        return [str(path) for path in relationship.GetForwardedTargets()] if relationship else []

    def note(self, prim, *names: str) -> None:
        """Count properties of a prim as looked at."""
        self._known.update((str(prim.GetPath()), name) for name in names)

    # Places.

    def place(self, prim) -> PrimPlacement:
        """Where a prim is on the stage."""
        key = str(prim.GetPath())
        if key not in self._places:
            matrix = np.array(self._xforms.GetLocalToWorldTransform(prim)).T
            if not np.isfinite(matrix).all() or abs(np.linalg.det(matrix[:3, :3])) < 1e-300:
                raise FileError(f"{self.path}: {key}: its transformation is none, or flattens it")
            self._places[key] = PrimPlacement(_rotation(matrix[:3, :3]), matrix[:3, 3], matrix[:3, :3])
        return self._places[key]

    def within(self, owner: str | None, turn: Array, at: Array) -> SourceFrame:
        """A frame of the stage in a body, or in the world of the scene.

        Args:
            owner: path of the body; None for the world.
            turn: (3, 3), of its axes to those of the stage.
            at: [units], (3,), on the stage.
        """
        base = PrimPlacement(self.turn.T, np.zeros(3), self.turn.T) if owner is None else self.place(self.prims[owner])
        xyz = tidy_numbers(self.length * (base.turn.T @ (at - base.at)), self.length * max(np.abs(at).max(), 1e-300))
        return SourceFrame(xyz, quaternion_words(tidy_turn(base.turn.T @ turn)))

    def world_frame(self, path: str) -> SourceFrame:
        """Where a body is in the world of the scene."""
        place = self.place(self.prims[path])
        return self.within(None, place.turn, place.at)

    # The report.

    def keep(self, kind: str, prim, name: str, change: str = "") -> None:
        """A prim is in the scene, as it was or changed."""
        self._told.add(str(prim.GetPath()))
        self.report.kept(kind, name, 0, change, str(prim.GetPath()))

    def lose(self, kind: str, prim, name: str, why: str, is_note: bool = False) -> None:
        """A prim, or something of it, is not in the scene."""
        self._told.add(str(prim.GetPath()))
        self.report.dropped(kind, name, 0, why, str(prim.GetPath()), is_note)

    def lose_all(self, prim, why: str, is_note: bool = False) -> None:
        """A prim is not in the scene, and none of its properties."""
        self.note(prim, *prim.GetAuthoredPropertyNames())
        self.lose(str(prim.GetTypeName()) or "prim", prim, str(prim.GetPath()), why, is_note)

    def lose_property(self, prim, name: str, why: str, is_note: bool = False) -> None:
        """A property is not in the scene."""
        self.note(prim, name)
        self.report.dropped("attribute", f"{prim.GetPath()}.{name}", 0, why, str(prim.GetPath()), is_note)

    def tell_unread(self) -> None:
        """Prims, properties and schemas that nothing has looked at are dropped, and motion that is written, too."""
        for path, prim in self.prims.items():
            if path not in self._told:
                self._tell_prim(prim)
            for name in prim.GetAuthoredPropertyNames():
                attribute = prim.GetAttribute(name)
                if (path, name) not in self._known:
                    self._tell_property(prim, name)
                elif attribute and attribute.GetNumTimeSamples() > 1:
                    self.lose_property(prim, name, "moves with time: its first value is taken")
            for schema in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
                if not str(schema).startswith(_READ_SCHEMAS):
                    why = _of_whom(str(schema)) or "a schema that is not read"
                    self.report.dropped("schema", f"{path}: {schema}", 0, why, path, is_note=str(schema).startswith(_SEEN))

    def _tell_prim(self, prim) -> None:
        kind = str(prim.GetTypeName())
        if not prim.IsActive():
            self.lose_all(prim, "is not active", is_note=True)
        elif kind in ("Xform", "Scope", ""):
            self.keep(kind or "prim", prim, str(prim.GetPath()))
        else:
            why, is_note = _WHY.get(kind, ("says how a stage looks", kind.endswith(("Light", "Settings"))))
            self.lose_all(prim, why if is_note or kind in _WHY else f"a `{kind}`, which scenes do not have", is_note)

    def _tell_property(self, prim, name: str) -> None:
        is_look = name.startswith(_LOOKS)
        why = _of_whom(name) or ("says how it looks or is shown" if is_look else "not of UsdPhysics, or not read here")
        self.lose_property(prim, name, why, is_look)


_SEEN = (
    "Geom",
    "Material",
    "Motion",
    "Light",
    "Shadow",
    "Shaping",
    "Semantics",
    "Node",
    "Collection",
    "ColorSpace",
    "SceneGraph",
)
_READ_SCHEMAS = (*_SEEN, "Physics")
_WHY = {
    "Camera": ("cameras are not carried", True),
    "Material": ("materials of looks give colours alone", True),
    "Shader": ("materials of looks give colours alone", True),
    "NodeGraph": ("materials of looks give colours alone", True),
    "GeomSubset": ("a mesh has one colour", True),
    "RenderProduct": ("says how a stage is drawn", True),
    "RenderVar": ("says how a stage is drawn", True),
    "SkelRoot": ("scenes have no skins", True),
    "Skeleton": ("scenes have no skins", True),
}


def _of_whom(name: str) -> str:
    return next((f"{why}, not of UsdPhysics" for begin, why in _OTHERS.items() if name.lower().startswith(begin)), "")


def _all_prims(stage) -> Iterator:
    from pxr import Usd

    everything = Usd.TraverseInstanceProxies(Usd.PrimIsDefined & ~Usd.PrimIsAbstract)
    for prim in Usd.PrimRange(stage.GetPseudoRoot(), everything):
        if not prim.IsPseudoRoot():
            yield prim


def _rotation(linear: Array) -> Array:
    """The rotation of a linear map: its axes if they are orthogonal, else the nearest ones; a mirror is a negative scale."""
    turned = linear * (np.sign(np.linalg.det(linear)) or 1.0)
    columns = turned / np.linalg.norm(turned, axis=0)
    if np.abs(columns.T @ columns - np.eye(3)).max() > ROUNDING:
        left, _, right = np.linalg.svd(turned)
        return left @ right
    first = columns[:, 0]
    second = columns[:, 1] - first * (first @ columns[:, 1])
    second /= np.linalg.norm(second)
    return np.stack([first, second, np.cross(first, second)], axis=1)


def _as_written(part: SupportsFloat, kind: str) -> float:
    """A number as its author wrote it: of single precision the shortest decimal that means it."""
    number = float(part)
    is_single = kind.startswith("float") or kind.endswith("f")
    return float(str(np.float32(number))) if is_single and math.isfinite(number) else number


def is_below(path: str, other: str) -> bool:
    """Whether a prim is another one, or below it."""
    return path == other or path.startswith(f"{other}/")


def tidy_numbers(numbers: Array, size: float) -> tuple[float, ...]:
    """Numbers that were computed of numbers of a size, without what is rounding beside that."""
    values = np.where(np.abs(numbers) < 1e-13 * size, 0.0, numbers)
    return clean_numbers(values)


def tidy_turn(turn: Array) -> Array:
    """A rotation matrix without rounding where its entries are 0, 1 or -1."""
    return np.where(np.abs(turn - np.round(turn)) < 1e-14, np.round(turn), turn)
