"""Shapes as geoms of MJCF: layers as bits of masks; what is only seen, or gives mass, in a group of its own."""

import numpy as np

from simcli import rotations as rot
from simcli.exchange.writing.mjcf.parts import MjcfParts, WrittenGeom, placed
from simcli.exchange.writing.source import joined_words, pose_numbers
from simcli.model.tables.model import WORLD, Array
from simcli.spec.lookup.structure import WORLD_NAME
from simcli.spec.schema.body import MaterialSpec
from simcli.spec.schema.shape import rgb

_SEEN = 2  # group of geoms that are only seen, as programs have it
_MOST_LAYERS = 31  # bits of a mask
_PLANE = 10.0  # [m] half side of a plane as it is drawn; it touches everywhere
_BASE = 1.0  # [m] that a height field is deep below its lowest point
_KEYS = ("friction_static", "friction_across", "restitution", "compliance")  # of materials, that MJCF has not


def write_shapes_of_all(parts: MjcfParts) -> None:
    """Geoms of the world and of all bodies."""
    spec, layers = parts.scene.spec, _Layers(parts)
    _write_owner(parts, layers, WORLD, spec.world, WORLD_NAME)
    for b, name in enumerate(parts.scene.model.bodies.name):
        _write_owner(parts, layers, b, spec.bodies[name], f"bodies.{name}")
    for name, material in spec.materials.items():
        lost = [f"`{key}`" for key in _KEYS if getattr(material, key)]
        if lost:
            parts.scene.lose("material", name, f"materials.{name}", f"MJCF has no {', '.join(lost)}")
        elif material.model_fields_set - {"density"}:
            parts.scene.report_element("material", name, f"materials.{name}",
                                       "friction of each geom; of two MuJoCo takes the larger")


class _Layers:
    """Layers as bits of masks."""

    def __init__(self, parts: MjcfParts):
        spec = parts.scene.spec
        every = [shape for owner in (spec.world, *spec.bodies.values()) for shape in owner.shapes.values()]
        names = dict.fromkeys(name for shape in every for name in (*shape.layers, *shape.touches))
        self.bits = {name: 1 << k for k, name in enumerate(list(names)[:_MOST_LAYERS])}
        if len(names) > _MOST_LAYERS:
            parts.scene.lose("layers", "", "", f"MJCF has {_MOST_LAYERS} of them, not {len(names)}")

    def masks(self, shape) -> tuple[int, int]:
        """Contype and conaffinity of a shape."""
        if not shape.collide:
            return 0, 0
        return tuple(sum(self.bits.get(name, 0) for name in set(names)) for names in (shape.layers, shape.touches))


def _write_owner(parts: MjcfParts, layers: _Layers, body: int, spec, path: str) -> None:
    scene, look, model = parts.scene, spec.look, parts.scene.model
    owner = "" if body == WORLD else path.removeprefix("bodies.") + "/"
    for name, shape in spec.shapes.items():
        place = f"{path}.shapes.{name}"
        form, words = _form(parts, shape, owner + name, shape.collide)
        if form is None:
            scene.lose("shape", owner + name, place, words)
            continue
        contype, conaffinity = layers.masks(shape)
        given = scene.shapes.give(f"{scene.name_of(body)}_{name}" if body != WORLD else name)
        scene.lose_concavity(owner + name, place, shape)
        parts.geoms[model.shapes.name.index(owner + name)] = WrittenGeom(given, contype, conaffinity)
        masks = {} if (contype, conaffinity) == (1, 1) else {"contype": contype, "conaffinity": conaffinity}
        friction = _friction(scene.spec, shape) if shape.collide else {}
        margin = shape.margin if shape.collide and shape.margin else None
        rgba = (*rgb(look.colour or "silver"), 0.0 if look.hidden else look.opacity) if look.colour or look.hidden else None
        parts.bodies[body].add("geom", name=given, **form, **masks, **friction, margin=margin, rgba=rgba,
                               group=None if shape.collide else _SEEN)  # fmt: skip
        scene.lose_keys(owner + name, place, shape, {"grain": "MuJoCo has friction along axes of its own"})
        scene.report_element("shape", owner + name, place, joined_words(words, "" if given == name or body != WORLD else
                                                              scene.renaming(name, given)))  # fmt: skip
    for name, shape in look.shapes.items():
        form, words = _form(parts, shape, owner + name, False)
        if form is None:
            scene.lose("look", owner + name, f"{path}.look.shapes.{name}", words)
            continue
        opacity = 0.0 if look.hidden else look.opacity if shape.opacity is None else shape.opacity
        colour = shape.colour or look.colour
        parts.bodies[body].add("geom", name=scene.shapes.give(f"{scene.name_of(body)}_{name}"), **form, contype=0,
                               conaffinity=0, group=_SEEN, rgba=(*rgb(colour), opacity) if colour else None)  # fmt: skip
        scene.report_element("look", owner + name, f"{path}.look.shapes.{name}", words)


def _friction(spec, shape) -> dict[str, object]:
    material = spec.materials[shape.material] if shape.material else MaterialSpec()
    numbers = material.friction, material.torsional_friction, material.rolling_friction
    return {"friction": numbers} | dimension(*numbers)


def dimension(_sliding: float, torsional: float, rolling: float) -> dict[str, int]:
    """Attribute `condim` of numbers of friction: 6 with rolling, 4 with torsion, else MuJoCo's 3."""
    return {"condim": 6} if rolling else {"condim": 4} if torsional else {}


def _form(parts: MjcfParts, shape, name: str, collides: bool) -> tuple[dict[str, object] | None, str]:
    """Attributes of a geom that say its form and place, and what was changed; None with the reason why there are none."""
    where = placed(pose_numbers(shape.pose))
    if shape.type == "box":
        return {"type": "box", "size": np.asarray(shape.size) / 2, **where}, ""
    if shape.type == "sphere" and shape.radius > 0.0:
        return {"type": "sphere", "size": shape.radius, **where}, ""
    if shape.type in ("capsule", "cylinder"):
        return {"type": shape.type, "size": (shape.radius, shape.length / 2), **where}, ""
    if shape.type == "ellipsoid":
        return {"type": "ellipsoid", "size": shape.radii, **where}, ""
    if shape.type == "plane":
        return {"type": "plane", "size": (_PLANE, _PLANE, 1), **_plane(shape)}, ""
    if shape.type == "mesh":
        return {"type": "mesh", "mesh": _mesh(parts, shape, collides), **where}, ""
    if shape.type == "heightfield":
        return _terrain(parts, shape, name)
    return None, f"MJCF has no `{shape.type}`" if shape.type != "sphere" else "MJCF has no points that touch"


def _plane(shape) -> dict[str, Array]:
    """Pose of a plane whose z axis is its normal."""
    within = pose_numbers(shape.pose)
    normal = rot.unit(np.asarray(shape.normal, float))
    turn = rot.matrix_to_quat(rot.frame_along(normal)) if normal[:2].any() or normal[2] < 0.0 else np.eye(4)[3]
    return placed(rot.pose_compose(within, np.concatenate((shape.offset * normal, turn))))


def _mesh(parts: MjcfParts, shape, collides: bool) -> str:
    """Name of the asset of a mesh; a hull, or a skin, which need not be closed."""
    file, scale = parts.meshes.take(shape.file), None if set(shape.scale) == {1.0} else shape.scale
    inertia = "convex" if collides else "shell"
    for one in parts.sections["asset"].children:
        same = {"file": file, "inertia": inertia}.items() <= one.attributes.items()
        if same and one.attributes.get("scale", "") == ("" if scale is None else " ".join(f"{x:g}" for x in scale)):
            return one.attributes["name"]
    name = parts.scene.others.give(file.rpartition("/")[2].rpartition(".")[0])
    parts.sections["asset"].add("mesh", name=name, file=file, scale=scale, inertia=inertia)
    return name


def _terrain(parts: MjcfParts, shape, name: str) -> tuple[dict[str, object] | None, str]:
    """A height field: its heights from 0 to 1, over its lowest point."""
    heights = parts.scene.model.shapes.heights[parts.scene.model.shapes.name.index(name)]
    low, high = float(heights.min()), float(heights.max())
    if high <= low:
        return None, "MJCF has no height field without heights: use a plane"
    size = (shape.size[0] / 2, shape.size[1] / 2, high - low, _BASE)
    given = parts.scene.others.give(name)
    parts.sections["asset"].add("hfield", name=given, nrow=heights.shape[0], ncol=heights.shape[1], size=size,
                                elevation=((heights - low) / (high - low))[::-1])  # fmt: skip
    lifted = rot.pose_compose(pose_numbers(shape.pose), np.array((0.0, 0.0, low, 0.0, 0.0, 0.0, 1.0)))
    return {"type": "hfield", "hfield": given, **placed(lifted)}, ""
