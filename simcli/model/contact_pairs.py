"""Which shapes of a scene can touch, and with which numbers.

A pair is left out if both shapes belong to one body or to the world or to bodies that move as prescribed, if a joint
other than a free one connects their bodies (unless `contact.pairs` names the pair), if `contact.exclude` names it, or if a
shape says `collide: false`.
"""

from itertools import combinations

import numpy as np

from simcli.model.contact_tables import Contacts
from simcli.model.gather import Worlds
from simcli.model.hull import HullError, convex_hull
from simcli.model.tables import WORLD, Array, ShapeKind, Shapes
from simcli.spec.schema_body import MaterialSpec, ShapeSpec
from simcli.spec.structure import joined

# The stronger of two materials' rules wins.
RULES = {
    "average": lambda a, b: (a + b) / 2,
    "geometric": lambda a, b: np.sqrt(a * b),
    "min": np.minimum,
    "multiply": lambda a, b: a * b,
    "max": np.maximum,
}
RANK = ("average", "geometric", "min", "multiply", "max")
# A pair's shapes stand in this order, so that each combination has one routine.
ORDER = (ShapeKind.PLANE, ShapeKind.HEIGHTFIELD, ShapeKind.BOX, ShapeKind.CYLINDER, ShapeKind.CONE, ShapeKind.MESH,
         ShapeKind.ELLIPSOID, ShapeKind.CAPSULE, ShapeKind.SPHERE)  # fmt: skip
SINGLE = (ShapeKind.SPHERE, ShapeKind.ELLIPSOID)  # touch a convex shape in one point
FACE_POINTS, EDGE_POINTS, TERRAIN_POINTS = 4, 2, 8
SPARE, PER_SHAPE = 64, 16  # contacts of a world at `capacity: auto`: a box in a pile has 6 neighbours, half of 4 points each
NUMBERS = ("friction", "friction_static", "rolling_friction", "torsional_friction", "restitution")
_DEFAULT = MaterialSpec()


def read_contacts(worlds: Worlds, shapes: Shapes, kinematic: Array) -> Contacts | None:
    """Pairs of shapes that can touch.

    Args:
        worlds: the scenes.
        shapes: of the model.
        kinematic: (B,) bodies that move as prescribed.

    Returns:
        The pairs in the order of the shapes; None if there are none.
    """
    if not worlds.common(lambda s: s.contact.enabled, "contact.enabled"):
        return None
    labels = _labels(worlds, shapes)
    apart = joined(worlds.first)
    asked = [(pair.a, pair.b) for pair in worlds.first.contact.pairs]
    pairs = [pair for pair in combinations(np.flatnonzero(shapes.collide).tolist(), 2)
             if _can_touch(worlds, shapes, kinematic, labels, pair, apart, asked)]  # fmt: skip
    if not pairs:
        return None
    for s in sorted({s for pair in pairs for s in pair if shapes.kind[s] == ShapeKind.MESH}):
        _check_hull(worlds, shapes, s, labels[s])
    a, b = np.array([sorted(pair, key=lambda s: (ORDER.index(shapes.kind[s]), s)) for pair in pairs]).T
    numbers = _combined(worlds, shapes, labels, a, b)
    points = np.array([most_points(*kinds) for kinds in zip(shapes.kind[a], shapes.kind[b], strict=True)])
    auto = min(int(points.sum()), SPARE + PER_SHAPE * len(np.unique([a, b])))
    return Contacts(a, b, points, **numbers, capacity=worlds.first.contact.capacity or auto)


def most_points(kind_a: int, kind_b: int) -> int:
    """Most contacts that a pair of shapes needs."""
    kinds = {ShapeKind(kind_a), ShapeKind(kind_b)}
    if ShapeKind.HEIGHTFIELD in kinds:
        return FACE_POINTS if ShapeKind.SPHERE in kinds else TERRAIN_POINTS
    if kinds & set(SINGLE):
        return 1
    return EDGE_POINTS if ShapeKind.CAPSULE in kinds else FACE_POINTS


def _labels(worlds: Worlds, shapes: Shapes) -> list[tuple[str, str]]:
    """Name and body of each shape, as `contact` may write them."""
    bodies = list(worlds.first.bodies)
    return [(name, "world" if b == WORLD else bodies[b]) for name, b in zip(shapes.name, shapes.body, strict=True)]


def _names(pair: tuple[str, str], first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Whether two written names mean two shapes, in any order."""
    a, b = pair
    return (a in first and b in second) or (b in first and a in second)


def _can_touch(worlds: Worlds, shapes: Shapes, kinematic: Array, labels, pair, apart, asked) -> bool:
    body_a, body_b = (int(shapes.body[s]) for s in pair)
    if body_a == body_b or all(b == WORLD or kinematic[b] for b in (body_a, body_b)):
        return False
    first, second = (labels[s] for s in pair)
    if any(_names(one, first, second) for one in worlds.first.contact.exclude):
        return False
    is_joined = frozenset((first[1], second[1])) in apart
    return not is_joined or any(_names(one, first, second) for one in asked)


def _combined(worlds: Worlds, shapes: Shapes, labels, a: Array, b: Array) -> dict[str, Array]:
    """Numbers of all pairs by name, (W|1, P)."""
    of = [_shape(worlds, name, body)[0].material for name, body in labels]
    materials = [lambda s, name=name: s.materials[name] if name else _DEFAULT for name in of]
    columns = {}
    for key in NUMBERS:
        rule = "restitution" if key == "restitution" else "friction"
        rank = np.array([RANK.index(getattr(get(worlds.first).combine, rule)) for get in materials])
        value = worlds.numbers(lambda s, key=key: [_number(get(s), key) for get in materials], (len(materials),))
        strongest = np.maximum(rank[a], rank[b])
        columns[key] = np.select([strongest == k for k in range(len(RANK))],
                                 [RULES[name](value[:, a], value[:, b]) for name in RANK])  # fmt: skip
    for index, written in enumerate(worlds.first.contact.pairs):
        hit = [_names((written.a, written.b), labels[i], labels[j]) for i, j in zip(a, b, strict=True)]
        for key in NUMBERS:
            if _number(written, key) is not None:
                value = worlds.numbers(lambda s, key=key, index=index: _number(s.contact.pairs[index], key))
                columns[key] = np.where(hit, value[:, None], columns[key])
    return columns


def _number(material, key: str) -> float | None:
    """A number of a material or of a pair; friction at rest is that of sliding unless it is written."""
    value = getattr(material, key)
    return material.friction if key == "friction_static" and value is None else value


def _shape(worlds: Worlds, name: str, body: str) -> tuple[ShapeSpec, str]:
    """A shape as written, and its dotted path."""
    key = name if body == "world" else name.removeprefix(f"{body}/")
    owner = worlds.first.world if body == "world" else worlds.first.bodies[body]
    return owner.shapes[key], f"world.shapes.{key}" if body == "world" else f"bodies.{body}.shapes.{key}"


def _check_hull(worlds: Worlds, shapes: Shapes, index: int, label: tuple[str, str]) -> None:
    """Refuse a mesh that has no hull, or does not want it."""
    shape, path = _shape(worlds, *label)
    if not shape.convex:
        message = f"mesh `{label[0]}` would collide as it is, but meshes collide as their convex hulls"
        hint = "write convex: true, split it into convex shapes, or write collide: false"
        worlds.fault("SC481", f"{path}.convex", message, hint)
    elif len(shapes.vertices[index]):  # else it could not be read, which is a fault already
        try:
            convex_hull(shapes.vertices[index])
        except HullError as error:
            message = f"mesh `{label[0]}` has no convex hull: {error}"
            worlds.fault("SC481", f"{path}.file", message, "give it a volume, or write collide: false")
