"""Which shapes of a scene can touch.

A pair is left out if both shapes belong to one body or to the world or to bodies that move as prescribed, if a joint
other than a free one connects their bodies (unless `contact.pairs` names the pair), if `contact.exclude` names it, or if a
shape says `collide: false`.
"""

import numpy as np

from simcli.model.contact_numbers import named, read_numbers, shape_of
from simcli.model.contact_tables import Contacts
from simcli.model.gather import Worlds
from simcli.model.hull import HullError, convex_hull
from simcli.model.tables import WORLD, Array, ShapeKind, Shapes
from simcli.spec.structure import joined

# A pair's shapes stand in this order, so that each combination has one routine.
ORDER = (ShapeKind.PLANE, ShapeKind.HEIGHTFIELD, ShapeKind.BOX, ShapeKind.CYLINDER, ShapeKind.CONE, ShapeKind.MESH,
         ShapeKind.ELLIPSOID, ShapeKind.CAPSULE, ShapeKind.SPHERE)  # fmt: skip
SINGLE = (ShapeKind.SPHERE, ShapeKind.ELLIPSOID)  # touch a convex shape in one point
RIMMED = (ShapeKind.CYLINDER, ShapeKind.CONE)
# On a rim the lowest point comes on top, and somewhere else in each step.
FACE_POINTS, RIM_POINTS, EDGE_POINTS, TERRAIN_POINTS = 4, 5, 2, 8
SPARE, PER_SHAPE = 64, 16  # contacts of a world at `capacity: auto`: a box in a pile has 6 neighbours, half of 4 points each
SWITCH = "contact.enabled"  # of events
THIN = 1e-10  # [1], twice the area of a triangle over the square of its extent, below which it has no normal


def read_contacts(worlds: Worlds, shapes: Shapes, kinematic: Array) -> Contacts | None:
    """Pairs of shapes that can touch.

    Args:
        worlds: the scenes.
        shapes: of the model.
        kinematic: (B,) bodies that move as prescribed.

    Returns:
        The pairs in the order of the shapes; None if there are none.
    """
    acts = worlds.common(lambda s: s.contact.enabled, "contact.enabled")
    if not acts and not any(SWITCH in event.set for event in worlds.first.events):
        return None
    labels = _labels(worlds, shapes)
    n = len(labels)
    can_touch = _can_touch(worlds, shapes, kinematic, labels) if shapes.collide.any() else np.zeros((n, n), bool)
    _check_pairs(worlds, labels, can_touch)
    first, second = np.nonzero(np.triu(can_touch, 1))
    if not len(first):
        return None
    for s in np.unique([first, second]):
        if shapes.kind[s] == ShapeKind.MESH:
            _check_mesh(worlds, shapes, s, labels[s])
    rank = np.argsort(ORDER)[shapes.kind]
    swap = rank[first] > rank[second]
    a, b = np.where(swap, second, first), np.where(swap, first, second)
    table = np.array([[most_points(i, j) for j in ShapeKind] for i in ShapeKind])
    points = table[shapes.kind[a], shapes.kind[b]]
    auto = min(int(points.sum()), SPARE + PER_SHAPE * len(np.unique([a, b])))
    numbers = read_numbers(worlds, labels, a, b)
    enabled = np.full((1, 1), float(acts))
    return Contacts(a, b, points, **numbers, enabled=enabled, capacity=worlds.first.contact.capacity or auto)


def most_points(kind_a: int, kind_b: int) -> int:
    """Most contacts that a pair of shapes needs."""
    kinds = {ShapeKind(kind_a), ShapeKind(kind_b)}
    if ShapeKind.HEIGHTFIELD in kinds:
        return FACE_POINTS if ShapeKind.SPHERE in kinds else TERRAIN_POINTS
    if kinds & set(SINGLE):
        return 1
    if ShapeKind.CAPSULE in kinds:
        return EDGE_POINTS
    return RIM_POINTS if kinds & set(RIMMED) else FACE_POINTS


def _labels(worlds: Worlds, shapes: Shapes) -> list[tuple[str, str]]:
    """Name and body of each shape, as `contact` may write them."""
    bodies = list(worlds.first.bodies)
    return [(name, "world" if b == WORLD else bodies[b]) for name, b in zip(shapes.name, shapes.body, strict=True)]


def _can_touch(worlds: Worlds, shapes: Shapes, kinematic: Array, labels: list[tuple[str, str]]) -> Array:
    """(S, S) pairs of shapes that are not kept apart."""
    contact = worlds.first.contact
    bodies, owner = np.unique([body for _, body in labels], return_inverse=True)
    number, held = {name: k for k, name in enumerate(bodies.tolist())}, np.zeros((len(bodies), len(bodies)), bool)
    for pair in joined(worlds.first):
        ends = [number[name] for name in pair if name in number]
        if len(ends) == 2:
            held[ends, ends[::-1]] = True
    held = held[np.ix_(owner, owner)]
    for pair in contact.pairs:
        held &= ~named(labels, (pair.a, pair.b))
    still = np.array([body == WORLD or kinematic[body] for body in shapes.body], bool)
    apart = held | (owner[:, None] == owner) | np.outer(still, still)
    for pair in contact.exclude:
        apart |= named(labels, pair)
    return ~apart & np.outer(shapes.collide, shapes.collide)


def _check_pairs(worlds: Worlds, labels: list[tuple[str, str]], can_touch: Array) -> None:
    """Refuse numbers of a pair that never touches."""
    for index, pair in enumerate(worlds.first.contact.pairs):
        if not (named(labels, (pair.a, pair.b)) & can_touch).any():
            message = f"`{pair.a}` and `{pair.b}` never touch: numbers for them would not be read"
            hint = "look at `exclude` and at `collide: false`; parts of one body, or of what moves as prescribed, are apart"
            worlds.fault("SC663", f"contact.pairs[{index}]", message, hint)


def _check_mesh(worlds: Worlds, shapes: Shapes, index: int, label: tuple[str, str]) -> None:
    """Refuse a mesh that cannot collide as the solver wants it: the affine one takes triangles as they are."""
    if shapes.convex[index] or worlds.first.solver.type != "affine":
        _check_hull(worlds, shapes, index, label)
    elif len(shapes.vertices[index]):
        sides = shapes.vertices[index][shapes.faces[index]]
        area = np.linalg.norm(np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0]), axis=1)
        if area.min() <= THIN * np.square(np.ptp(sides, axis=1).max(axis=1))[area.argmin()]:
            _, path = shape_of(worlds.first, *label)
            message = f"mesh `{label[0]}` has a triangle without area, number {int(area.argmin()) + 1}"
            worlds.fault("SC632", f"{path}.file", message, "remove degenerate triangles, or write convex: true")


def _check_hull(worlds: Worlds, shapes: Shapes, index: int, label: tuple[str, str]) -> None:
    """Refuse a mesh that has no hull, or does not want it."""
    shape, path = shape_of(worlds.first, *label)
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
