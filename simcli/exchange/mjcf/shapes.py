"""Geoms, sites and cameras of a compiled model: shapes, points and views."""

import numpy as np

from simcli.exchange.mjcf.bodies import LostPartError, MjcfBodies, frame_of
from simcli.exchange.source.mechanism import (
    NO_OFFSET,
    PLANE_LOOK,
    GivenNames,
    SourceFrame,
    SourceShape,
    clean_numbers,
    hex_colour,
)
from simcli.exchange.source.meshes import MESH_SUFFIXES, LostMeshError, MeshFiles, obj_text
from simcli.exchange.source.xml_source import put_scale
from simcli.model.bodies.hull import HullError, convex_hull
from simcli.spec.lookup.structure import WORLD_NAME

_NOBODY_PAINTED = (0.5, 0.5, 0.5, 1.0)  # what MuJoCo takes where neither a geom nor a material has a colour
_PLACES = 14  # decimals of what is computed of several numbers


class MjcfShapes:
    """MjcfShapes of all links as they are made.

    Args:
        bodies: links and joints, made.
        meshes: takes the meshes.

    Attributes:
        of: geom to its shape, of those that scenes can have.
        owner: geom to the name of the body that has it, or `world`.
        sites: to the link that they are in, and the frame there.
        places: site to its name in a scene, `body/point` or `world/frame`.
        ends: site to what springs call it: `body/point`, or {"world": [..]}.
    """

    def __init__(self, bodies: MjcfBodies, meshes: MeshFiles):
        self.bodies, self.source, self.model, self.meshes = bodies, bodies.source, bodies.model, meshes
        self.of: dict[int, SourceShape] = {}
        self.owner: dict[int, str] = {}
        self.sites: dict[int, tuple[str, SourceFrame]] = {}
        self.places: dict[int, str] = {}
        self.ends: dict[int, object] = {}
        self._made: dict[int, str] = {}  # mesh to the file that was written of its compiled vertices
        types = self.source.mujoco.mjtGeom
        self._forms = {
            types.mjGEOM_SPHERE: self._sphere,
            types.mjGEOM_CAPSULE: self._round,
            types.mjGEOM_BOX: self._box,
            types.mjGEOM_CYLINDER: self._round,
            types.mjGEOM_ELLIPSOID: self._ellipsoid,
            types.mjGEOM_PLANE: self._plane,
            types.mjGEOM_MESH: self._mesh,
            types.mjGEOM_HFIELD: self._terrain,
        }

    def read(self, collides: np.ndarray) -> None:
        """Make all shapes, points and cameras.

        Args:
            collides: (ngeom,) whether a geom could touch another one, if only of another file.
        """
        names = {name: GivenNames(()) for name in self.bodies.mechanism.links}
        self.bodies.read_all("geom", self.model.ngeom, lambda g: self._geom(g, bool(collides[g]), names))
        points = {name: GivenNames(tuple(link.points)) for name, link in self.bodies.mechanism.links.items()}
        for s in range(self.model.nsite):
            self._site(s, points)
        cameras: dict[str, dict] = {}
        names_of_cameras = GivenNames(())
        self.bodies.read_all("camera", self.model.ncam, lambda c: self._camera(c, names_of_cameras, cameras))
        if cameras:
            self.bodies.mechanism.sections["look"] = {"cameras": cameras}

    def static_frame(self, b: int) -> SourceFrame:
        """The pose in the world of a body that is fixed to it."""
        frame = NO_OFFSET
        while b:
            frame = frame.after(frame_of(self.model.body_pos[b], self.model.body_quat[b]))
            b = int(self.model.body_parentid[b])
        return frame

    # Geoms.

    def wrap_of(self, g: int) -> tuple[str, SourceFrame, float]:
        """A sphere or a cylinder that a tendon wraps around: its body, its frame there, and its radius [m]."""
        b = int(self.model.geom_bodyid[g])
        frame = frame_of(self.model.geom_pos[g], self.model.geom_quat[g]).after(self.bodies.frames[b])
        return self.bodies.names[b], frame, float(self.model.geom_size[g, 0])

    def _geom(self, g: int, collides: bool, names: dict[str, GivenNames]) -> None:
        model, element, types = self.model, self.source.element("geom", g), self.source.mujoco.mjtGeom
        b, kind = int(model.geom_bodyid[g]), types(int(model.geom_type[g]))
        owner = self.owner[g] = self.bodies.names[b]
        own = frame_of(model.geom_pos[g], model.geom_quat[g])
        frame = own.after(self.bodies.frames[b])
        if kind in (types.mjGEOM_PLANE, types.mjGEOM_HFIELD):
            frame, owner = own.after(self.static_frame(b)), WORLD_NAME
            self.owner[g] = WORLD_NAME
            if not collides:
                raise LostPartError(PLANE_LOOK)
        if kind not in self._forms:
            raise LostPartError(f"a geom of the type `{kind.name.removeprefix('mjGEOM_').lower()}`")
        try:
            words, frame = self._forms[kind](g, kind, frame, collides)
        except (LostMeshError, HullError) as error:
            raise LostPartError(f"mesh: {error}") from None
        words |= self._margin(g) if collides else {}
        name = self.bodies.give(names[owner], "geom", g, _fallback(element, kind, self.bodies.names[b]))
        colour, opacity = self._colour(g)
        self.of[g] = SourceShape(name, words, frame, collides, element.line, colour, opacity)
        self.bodies.mechanism.links[owner].shapes.append(self.of[g])
        if kind == types.mjGEOM_MESH and collides:
            self.bodies.note("geom", g, "collides as the convex hull of its mesh")

    def _margin(self, g: int) -> dict:
        margin = float(self.model.geom_margin[g])
        if margin < 0.0:
            self.bodies.note("geom", g, "has no margin: those of scenes are not negative")
        return {"margin": margin} if margin > 0.0 else {}

    def _colour(self, g: int) -> tuple[str, float]:
        model = self.model
        rgba = tuple(map(float, model.geom_rgba[g]))
        material = int(model.geom_matid[g])
        if np.allclose(rgba, _NOBODY_PAINTED, atol=1e-6):
            if material < 0:
                return "", 1.0
            rgba = tuple(map(float, model.mat_rgba[material]))
        return hex_colour(rgba[:3]), round(rgba[3], 6)

    def _sphere(self, g: int, _kind, frame: SourceFrame, _collides: bool) -> tuple[dict, SourceFrame]:
        return {"type": "sphere", "radius": float(self.model.geom_size[g, 0])}, SourceFrame(frame.xyz)

    def _round(self, g: int, kind, frame: SourceFrame, _collides: bool) -> tuple[dict, SourceFrame]:
        radius, half = (float(size) for size in self.model.geom_size[g, :2])
        name = "capsule" if kind == self.source.mujoco.mjtGeom.mjGEOM_CAPSULE else "cylinder"
        return {"type": name, "radius": radius, "length": clean_numbers([2.0 * half])[0]}, frame

    def _box(self, g: int, _kind, frame: SourceFrame, _collides: bool) -> tuple[dict, SourceFrame]:
        return {"type": "box", "size": list(clean_numbers(2.0 * self.model.geom_size[g]))}, frame

    def _ellipsoid(self, g: int, _kind, frame: SourceFrame, _collides: bool) -> tuple[dict, SourceFrame]:
        return {"type": "ellipsoid", "radii": [float(size) for size in self.model.geom_size[g]]}, frame

    def _plane(self, _g: int, _kind, frame: SourceFrame, _collides: bool) -> tuple[dict, SourceFrame]:
        normal = _tidied_direction(frame.matrix[:, 2])
        offset = round(float(np.dot(frame.xyz, normal)), _PLACES)
        words = {"type": "plane"} | ({"normal": list(normal)} if normal != (0.0, 0.0, 1.0) else {})
        return words | ({"offset": offset} if offset else {}), NO_OFFSET

    def _terrain(self, g: int, _kind, frame: SourceFrame, _collides: bool) -> tuple[dict, SourceFrame]:
        """Heights from 0 to 1 in rows along y, as those of a scene; the slab below them is solid in a scene without end."""
        model, h = self.model, int(self.model.geom_dataid[g])
        rows, columns, first = int(model.hfield_nrow[h]), int(model.hfield_ncol[h]), int(model.hfield_adr[h])
        heights = model.hfield_data[first : first + rows * columns].reshape(rows, columns)
        x, y, top, _ = (float(size) for size in model.hfield_size[h])
        text = "".join(",".join(f"{value:.7g}" for value in row) + "\n" for row in heights)
        file = self._write("hfield", h, ".csv", text)
        self.bodies.note("hfield", h, "is solid below without end, not only as deep as its base")
        return {"type": "heightfield", "file": file, "size": list(clean_numbers([2.0 * x, 2.0 * y, top]))}, frame

    def _mesh(self, g: int, _kind, frame: SourceFrame, collides: bool) -> tuple[dict, SourceFrame]:
        """The file of the source where a scene can have it, else the compiled vertices."""
        model, m = self.model, int(self.model.geom_dataid[g])
        path, element = self.source.files.get(m), self.source.element("mesh", m)
        if path is not None and path.suffix.lower() in MESH_SUFFIXES and not _is_moved(element):
            words = {"type": "mesh", "file": self.meshes.take(str(path), collides)}
            put_scale(words, clean_numbers(model.mesh_scale[m]))
            return words, frame_of(model.mesh_pos[m], model.mesh_quat[m]).inverse().after(frame)
        if m not in self._made:
            first, count = int(model.mesh_vertadr[m]), int(model.mesh_vertnum[m])
            begin, faces = int(model.mesh_faceadr[m]), int(model.mesh_facenum[m])
            vertices = model.mesh_vert[first : first + count]
            if collides:
                convex_hull(np.asarray(vertices, float))
            self._made[m] = self._write("mesh", m, ".obj", obj_text(vertices, model.mesh_face[begin : begin + faces]))
            self.bodies.note("mesh", m, "written as OBJ from the vertices that MuJoCo compiled")
        return {"type": "mesh", "file": self._made[m]}, frame

    def _write(self, kind: str, index: int, suffix: str, text: str) -> str:
        """A file of the scene that the source has not; its path in the scene."""
        return self.meshes.add(f"{self.source.name(kind, index) or f'{kind}_{index}'}{suffix}", text.encode())

    # Sites and cameras.

    def _site(self, s: int, names: dict[str, GivenNames]) -> None:
        model = self.model
        owner = self.bodies.names[int(model.site_bodyid[s])]
        frame = frame_of(model.site_pos[s], model.site_quat[s]).after(self.bodies.frames[int(model.site_bodyid[s])])
        name = self.bodies.give(names[owner], "site", s, "site")
        link = self.bodies.mechanism.links[owner]
        if frame.turns or owner == WORLD_NAME:
            link.frames[name] = frame
        else:
            link.points[name] = frame.xyz
        self.bodies.note("site", s, f"is a {'frame' if name in link.frames else 'point'}, without its form")
        self.places[s] = f"{owner}/{name}"
        self.ends[s] = {"world": list(frame.xyz)} if owner == WORLD_NAME else f"{owner}/{name}"
        self.sites[s] = (owner, frame)

    def _camera(self, c: int, names: GivenNames, found: dict[str, dict]) -> None:
        model, mujoco = self.model, self.source.mujoco
        b = int(model.cam_bodyid[c])
        if model.cam_projection[c] == int(mujoco.mjtProjection.mjPROJ_ORTHOGRAPHIC):
            raise LostPartError("shows parallel rays; cameras of scenes have an angle of view")
        if int(model.cam_mode[c]) != int(mujoco.mjtCamLight.mjCAMLIGHT_FIXED) or model.body_weldid[b]:
            raise LostPartError("moves with a body; cameras of scenes stand in the world")
        frame = frame_of(model.cam_pos[c], model.cam_quat[c]).after(self.static_frame(b))
        ahead = np.round(np.asarray(frame.xyz) - frame.matrix[:, 2], _PLACES)
        name = names.give(self.source.name("camera", c), "camera")
        up, angle = _tidied_direction(frame.matrix[:, 1]), f"{float(model.cam_fovy[c]):.10g} deg"
        found[name] = {"from": list(frame.xyz), "at": list(clean_numbers(ahead)), "up": list(up), "fov": angle}


def _tidied_direction(vector: np.ndarray) -> tuple[float, ...]:
    """A unit vector that was computed of a quaternion, without its rounding."""
    return clean_numbers(np.round(vector, _PLACES))


def _fallback(element, kind, body: str) -> str:
    """The name of a shape whose geom has none: its class, or its form."""
    if body == WORLD_NAME and kind.name == "mjGEOM_PLANE":
        return "ground"
    return element.get("class") or kind.name.removeprefix("mjGEOM_").lower()


def _is_moved(element) -> bool:
    """Whether MuJoCo changes the vertices of a mesh by more than a factor."""
    return any(key in element.attributes for key in ("refpos", "refquat"))
