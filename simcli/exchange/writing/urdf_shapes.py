"""Shapes of a body as collision and visual elements of URDF."""

from typing import NamedTuple

import numpy as np

from simcli import rotations as rot
from simcli.exchange.source.mechanism import MODEL_LAYER
from simcli.exchange.writing.written_scene import MeshCopies, Tag, WrittenScene, pose_numbers, tag
from simcli.model.tables.model import Array
from simcli.spec.lookup.structure import WORLD_NAME
from simcli.spec.schema.shape import DEFAULT_LAYER, rgb

AT_ORIGIN = np.array(rot.IDENTITY_POSE)
_OF_CONTACT = {
    "layers": "URDF has no layers",
    "touches": "URDF has no layers",
    "margin": "URDF has no margins of shapes",
    "grain": "URDF has no friction",
    "surface_velocity": "URDF has no surfaces that move along themselves",
}
_OF_OTHERS = {key: why for key, why in _OF_CONTACT.items() if key not in ("layers", "touches")}


class _Form(NamedTuple):
    """Geometries of one shape, each with its pose in it; none with the reason."""

    parts: list[tuple[Tag, Array]]
    words: str = ""


def write_shapes(scene: WrittenScene, meshes: MeshCopies, element: Tag, body, path: str, back: Array) -> None:
    """What collides, and what is seen.

    Args:
        scene: that is written.
        meshes: gets the meshes.
        element: the link.
        body: of the spec, or its world.
        path: dotted.
        back: [m, 1], (7,), pose of the frame of the body in that of the link.
    """
    owner, look = "" if path == WORLD_NAME else path.removeprefix("bodies.") + "/", body.look
    for name, shape in body.shapes.items():
        form, place = _form(shape, meshes), f"{path}.shapes.{name}"
        if not form.parts:
            scene.lose("shape", owner + name, place, form.words)
            continue
        scene.lose_concavity(owner + name, place, shape)
        pose = rot.pose_compose(back, pose_numbers(shape.pose))
        for kind in ("collision",) * shape.collide + ("visual",) * (not look.hidden and look.opacity > 0.0):
            _write_form(element, kind, name, form, pose, _rgba(look.colour, look.opacity))
        scene.lose_keys(owner + name, place, shape, _OF_CONTACT if _has_layers(shape) else _OF_OTHERS)
        scene.report_element("shape", owner + name, place, form.words)
    for name, shape in look.shapes.items():
        form, place = _form(shape, meshes), f"{path}.look.shapes.{name}"
        if not form.parts:
            scene.lose("look", owner + name, place, form.words)
            continue
        opacity = look.opacity if shape.opacity is None else shape.opacity
        pose = rot.pose_compose(back, pose_numbers(shape.pose))
        _write_form(element, "visual", name, form, pose, _rgba(shape.colour or look.colour, opacity))
        scene.report_element("look", owner + name, place, form.words)


def _has_layers(shape) -> bool:
    """Whether a shape has other layers than a shape that comes from URDF: what is of the model does not touch itself."""
    return (shape.layers, shape.touches) != ((MODEL_LAYER,), (DEFAULT_LAYER,))


def _rgba(colour: str | None, opacity: float) -> tuple[float, ...] | None:
    return (*rgb(colour), opacity) if colour else None


def _write_form(element: Tag, kind: str, name: str, form: _Form, pose: Array, rgba: tuple[float, ...] | None) -> None:
    for k, (geometry, within) in enumerate(form.parts):
        one = element.add(kind, name=name if k == 0 else f"{name}_{k + 1}")
        add_origin(one, rot.pose_compose(pose, within))
        one.add("geometry").children.append(geometry)
        if kind == "visual" and rgba is not None:
            one.add("material", name=f"{element.attributes['name']}_{name}").add("color", rgba=rgba)


def _form(shape, meshes: MeshCopies) -> _Form:
    if shape.type == "box":
        return _Form([(tag("box", size=shape.size), AT_ORIGIN)])
    if shape.type == "sphere" and shape.radius > 0.0:
        return _Form([(tag("sphere", radius=shape.radius), AT_ORIGIN)])
    if shape.type == "cylinder":
        return _Form([(tag("cylinder", radius=shape.radius, length=shape.length), AT_ORIGIN)])
    if shape.type == "capsule":
        ends = [
            (tag("sphere", radius=shape.radius), np.array((0.0, 0.0, z, *AT_ORIGIN[3:])))
            for z in (-shape.length / 2, shape.length / 2)
        ]
        middle = [(tag("cylinder", radius=shape.radius, length=shape.length), AT_ORIGIN)]
        return _Form(middle + ends, "a cylinder and two balls") if shape.length else _Form(ends[:1])
    if shape.type == "mesh":
        scale = None if set(shape.scale) == {1.0} else shape.scale
        return _Form([(tag("mesh", filename=meshes.take(shape.file), scale=scale), AT_ORIGIN)])
    return _Form([], "URDF has no points that touch" if shape.type == "sphere" else f"URDF has no `{shape.type}`")


def add_origin(element: Tag, pose: Array) -> None:
    """Add the origin of an element, (7,), where it is not the identity."""
    turned = bool(pose[3:6].any())
    if turned or pose[:3].any():
        element.add("origin", xyz=pose[:3], rpy=_roll_pitch_yaw(rot.quat_to_matrix(pose[3:])) if turned else None)


def _roll_pitch_yaw(turn: Array) -> tuple[float, float, float]:
    """[rad], angles about the fixed x, y and z axes, in this order.

    turn = Rz(yaw) Ry(pitch) Rx(roll). The pitch and the roll are those that go with the yaw that was found, so that turn
    comes out to rounding also where the pitch is at 90 deg, and the yaw is any.
    """
    yaw = np.arctan2(turn[1, 0], turn[0, 0])
    s, c = np.sin(yaw), np.cos(yaw)
    pitch = np.arctan2(-turn[2, 0], c * turn[0, 0] + s * turn[1, 0])
    roll = np.arctan2(s * turn[0, 2] - c * turn[1, 2], c * turn[1, 1] - s * turn[0, 1])
    return float(roll), float(pitch), float(yaw)
