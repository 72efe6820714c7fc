"""Shapes as geoms of MJCF, and which of them touch; geoms that ropes run around.

Layers are bits of masks; what is only seen, or gives mass, is in a group of its own.

By masks MuJoCo lets all geoms touch that layers let touch, but for those of one body, of bodies that do not move, and of a
body and the one that it hangs on. A pair of bodies of which not all may touch that would is an `exclude`; single pairs are
named.
"""

from itertools import combinations

import numpy as np

from simcli import rotations as rot
from simcli.exchange.writing.mjcf_parts import MjcfParts, WrittenGeom, placed, write_muscle
from simcli.exchange.writing.written_scene import Tag, joined_words, pose_numbers
from simcli.model.tables.force_tables import StopKind
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
            parts.scene.report_element(
                "material", name, f"materials.{name}", "friction of each geom; of two MuJoCo takes the larger"
            )


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


_LOST = {
    "grain": "MuJoCo has friction along axes of its own",
    "surface_velocity": "MuJoCo has no surfaces that move along themselves",
}


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
        is_seen = not look.hidden and look.opacity > 0.0
        rgba = (*rgb(look.colour or "silver"), look.opacity * is_seen) if look.colour or not is_seen else None
        parts.bodies[body].add(
            "geom", name=given, **form, **masks, **friction, margin=margin, rgba=rgba, group=None if shape.collide else _SEEN
        )
        scene.lose_keys(owner + name, place, shape, _LOST)
        scene.report_element(
            "shape",
            owner + name,
            place,
            joined_words(words, "" if given == name or body != WORLD else scene.renaming(name, given)),
        )
    for name, shape in look.shapes.items():
        form, words = _form(parts, shape, owner + name, False)
        if form is None:
            scene.lose("look", owner + name, f"{path}.look.shapes.{name}", words)
            continue
        opacity = 0.0 if look.hidden else look.opacity if shape.opacity is None else shape.opacity
        colour = shape.colour or look.colour
        parts.bodies[body].add(
            "geom",
            name=scene.shapes.give(f"{scene.name_of(body)}_{name}"),
            **form,
            contype=0,
            conaffinity=0,
            group=_SEEN,
            rgba=(*rgb(colour), opacity) if colour else None,
        )
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
    parts.sections["asset"].add(
        "hfield",
        name=given,
        nrow=heights.shape[0],
        ncol=heights.shape[1],
        size=size,
        elevation=((heights - low) / (high - low))[::-1],
    )
    lifted = rot.pose_compose(pose_numbers(shape.pose), np.array((0.0, 0.0, low, 0.0, 0.0, 0.0, 1.0)))
    return {"type": "hfield", "hfield": given, **placed(lifted)}, ""


_KEPT = ("friction", "torsional_friction", "rolling_friction", "margin")  # numbers of `contact.pairs` that MJCF has


def write_touching(parts: MjcfParts) -> None:
    """Excluded pairs of bodies, and pairs of geoms that are named."""
    scene, contacts = parts.scene, parts.scene.model.contacts
    for index, pair in enumerate(scene.spec.contact.exclude):
        scene.report_element("exclude", " ".join(pair), f"contact.exclude[{index}]")
    for index, pair in enumerate(scene.spec.contact.pairs):
        lost = sorted(pair.model_fields_set - {"a", "b", *_KEPT})
        scene.report_element(
            "pair",
            f"{pair.a} {pair.b}",
            f"contact.pairs[{index}]",
            f"without {', '.join(f'`{key}`' for key in lost)}" if lost else "",
        )
    if contacts is not None and scene.spec.contact.enabled:
        rows = {}
        for pairs in contacts.partners():
            for a, b, row in zip(*(column.tolist() for column in pairs), strict=True):
                rows[min(a, b), max(a, b)] = row
        _Touching(parts, rows).write()


class _Touching:
    """Pairs of geoms of a scene.

    Args:
        parts: of the file.
        rows: pair of shapes to its row of numbers, of those that may touch.
    """

    def __init__(self, parts: MjcfParts, rows: dict[tuple[int, int], int]):
        self.parts, self.section = parts, parts.sections["contact"]
        self.rows = {pair: row for pair, row in rows.items() if pair[0] in parts.geoms and pair[1] in parts.geoms}
        self.named = self._named()
        self.links = {link.body: link for link in parts.tree.links}
        self.of_body: dict[int, list[int]] = {}
        shapes = parts.scene.model.shapes
        for s in sorted(parts.geoms):
            if shapes.collide[s]:
                self.of_body.setdefault(int(shapes.body[s]), []).append(s)

    def write(self) -> None:
        for one, other in combinations(sorted(self.of_body), 2):
            self._write_bodies(one, other)

    def _named(self) -> set[tuple[int, int]]:
        """Pairs that `contact.pairs` gives numbers."""
        scene, found = self.parts.scene, set()
        shapes = scene.model.shapes
        sides = [
            {name, WORLD_NAME if b == WORLD else scene.model.bodies.name[b]}
            for name, b in zip(shapes.name, shapes.body, strict=True)
        ]
        for pair in scene.spec.contact.pairs:
            found |= {
                (a, b)
                for a, b in self.rows
                if (pair.a in sides[a] and pair.b in sides[b]) or (pair.b in sides[a] and pair.a in sides[b])
            }
        return found

    def _write_bodies(self, one: int, other: int) -> None:
        geoms, name_of = self.parts.geoms, self.parts.scene.name_of
        pairs = [(min(a, b), max(a, b)) for a in self.of_body[one] for b in self.of_body[other]]
        is_apart = self._is_filtered(one, other)
        if not is_apart and any(geoms[a].meets(geoms[b]) and (a, b) not in self.rows for a, b in pairs):
            self.section.add("exclude", body1=name_of(one), body2=name_of(other))
            is_apart = True
        for pair in pairs:
            if pair in self.rows and (is_apart or pair in self.named):
                self._write_pair(pair)

    def _write_pair(self, pair: tuple[int, int]) -> None:
        scene, row = self.parts.scene, self.rows[pair]
        sliding, torsional, rolling, margin = (float(scene.first(scene.model.contacts, key)[row]) for key in _KEPT)
        if np.isnan(margin):  # a pair of MuJoCo has no regard to its geoms
            margin = float(scene.first(scene.model.shapes, "margin")[list(pair)].sum())
        self.section.add(
            "pair",
            geom1=self.parts.geoms[pair[0]].name,
            geom2=self.parts.geoms[pair[1]].name,
            friction=(sliding, sliding, torsional, rolling, rolling),
            margin=margin or None,
            **({"condim": 3} | dimension(sliding, torsional, rolling)),
        )

    def _is_filtered(self, one: int, other: int) -> bool:
        """Whether MuJoCo leaves two bodies out by itself: welded ones, or one and what it hangs on but for the world."""
        roots = self._root(one), self._root(other)
        return roots[0] == roots[1] or self._above(one) == roots[1] != WORLD or self._above(other) == roots[0] != WORLD

    def _root(self, body: int) -> int:
        """The first of the bodies that are welded to each other, from the world on."""
        while body != WORLD and self.links[body].hold == "fixed":
            body = self.links[body].inner
        return body

    def _above(self, body: int) -> int:
        top = self._root(body)
        floats = top == WORLD or self.links[top].hold in ("free", "prescribed")
        return WORLD if floats else self._root(self.links[top].inner)


def write_rope(parts: MjcfParts, name: str, force, path: str) -> None:
    """A rope as a spatial tendon; its pull and its muscle as actuators along it."""
    scene, ropes = parts.scene, parts.scene.model.ropes
    k = ropes.name.index(name)
    stops = np.flatnonzero(ropes.stop_rope == k).tolist()
    if force.paid_out or any(scene.first(ropes, "stop_friction")[stops]):
        words = "is paid out by coordinates" if force.paid_out else "rubs on what it runs around"
        scene.lose("force", name, path, f"{words}{', and has a muscle' * (force.muscle is not None)}; tendons do not")
        return
    stiffness, damping, rest = (float(scene.first(ropes, key)[k]) for key in ("stiffness", "damping", "rest_length"))
    given, springs = scene.others.give(name), {"springlength": (0, rest) if force.slack else rest} if stiffness else {}
    losses = {"stiffness": stiffness or None, "damping": damping or None}
    tendon = parts.sections["tendon"].add("spatial", name=given, **losses, **springs)
    scene.lose_tables(name, path, force)
    for n, m in enumerate(stops, start=1):
        _write_stop(parts, tendon, f"{given}_{n}", m)
    if force.tension != 0.0:
        pull = lambda state: tension if isinstance(tension := state.spec.forces[name].tension, float) else 0.0  # noqa: E731
        parts.actuate("motor", f"{name}_pull", pull, tendon=given, gear=-1)
    if force.muscle is not None:
        write_muscle(parts, name, f"{path}.muscle", given)
    words = "a tendon; its damper acts while it is slack, too" if force.slack and damping else "a tendon"
    scene.report_element("force", name, path, words)


def _write_stop(parts: MjcfParts, tendon: Tag, name: str, m: int) -> None:
    """A point of a tendon, or a geom that it runs around, on a side or within."""
    scene, ropes = parts.scene, parts.scene.model.ropes
    body, point = int(ropes.stop_body[m]), scene.first(ropes, "stop_point")[m]
    if ropes.stop_kind[m] == StopKind.POINT:
        tendon.add("site", site=parts.site(name, body, point))
        return
    radius, axis = float(scene.first(ropes, "stop_radius")[m]), scene.first(ropes, "stop_axis")[m]
    is_cylinder = ropes.stop_kind[m] == StopKind.CYLINDER
    form = (
        {"type": "cylinder", "size": (radius, radius), "zaxis": axis} if is_cylinder else {"type": "sphere", "size": radius}
    )
    geom = scene.shapes.give(name)
    unfelt = {"contype": 0, "conaffinity": 0, "mass": 0, "group": _SEEN}
    parts.bodies[body].add("geom", name=geom, **form, **placed(point), **unfelt)
    place = (body, point) if ropes.stop_inside[m] else (int(ropes.stop_side_body[m]), scene.first(ropes, "stop_side")[m])
    is_beside = ropes.stop_inside[m] or ropes.stop_sided[m]
    tendon.add("geom", geom=geom, sidesite=parts.site(f"{name}_side", *place) if is_beside else None)
