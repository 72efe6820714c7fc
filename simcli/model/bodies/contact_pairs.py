"""Which shapes of a scene can touch; what signals drive of contacts.

A pair is left out if both shapes belong to one body or to what cannot be moved, if their layers do not touch, if joints
part their bodies (spec/lookup/parting.py; unless `contact.pairs` names the pair), if `contact.exclude` names it, or if a
shape says `collide: false`. Pairs that joints part only while these are on have numbers of their own, which rest meanwhile.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from simcli import rotations as rot
from simcli.model.bodies.contact_numbers import Labels, friction_signals, named_pairs, of_name, read_numbers, written_shape
from simcli.model.bodies.hull import HullError, convex_hull
from simcli.model.signals.inputs import Wiring
from simcli.model.tables.body_tables import Contacts, Shapes
from simcli.model.tables.model import WORLD, Array, Model, ShapeKind
from simcli.model.tables.signal_tables import Driven
from simcli.model.tables.worlds import Worlds, pose_of
from simcli.spec.base.channel_names import split_name
from simcli.spec.checks.quantities import named_quantities
from simcli.spec.lookup.parting import Parting, parting
from simcli.spec.schema.shape import may_touch
from simcli.spec.values.quantities import is_signal

# A pair's shapes stand in this order, so that each combination has one routine.
PAIR_ORDER = (
    ShapeKind.PLANE,
    ShapeKind.HEIGHTFIELD,
    ShapeKind.BOX,
    ShapeKind.CYLINDER,
    ShapeKind.CONE,
    ShapeKind.MESH,
    ShapeKind.ELLIPSOID,
    ShapeKind.CAPSULE,
    ShapeKind.SPHERE,
)
SINGLE = (ShapeKind.SPHERE, ShapeKind.ELLIPSOID)  # touch a convex shape in one point
RIMMED = (ShapeKind.CYLINDER, ShapeKind.CONE)
# On a rim the lowest point comes on top, and somewhere else in each step.
FACE_POINTS, RIM_POINTS, EDGE_POINTS, TERRAIN_POINTS = 4, 5, 2, 8
_SPARE, PER_SHAPE = 64, 16  # contacts of a world at `capacity: auto`: a box of a pile has 6 neighbours, half of 4 points
SWITCH = "contact.enabled"  # of events
_THIN = 1e-10  # [1], twice the area of a triangle over the square of its extent, below which it has no normal


def read_contacts(worlds: Worlds, shapes: Shapes) -> Contacts | None:
    """Which shapes can touch.

    Args:
        worlds: the scenes.
        shapes: of the model.

    Returns:
        The table; None if no two shapes can.
    """
    acts = worlds.common(lambda s: s.contact.enabled, "contact.enabled")
    if not acts and not any(SWITCH in event.set for event in worlds.first.events):
        return None
    labels = _labels(worlds, shapes)
    always, ever = (parting(worlds.first, switch) for switch in (False, True))
    groups = _groups(worlds, shapes, labels, always, ever)
    apart = _apart(worlds, shapes, labels, groups, always)
    count = _count_pairs(shapes, groups, apart)
    g, h = np.nonzero(np.triu(count))
    members = [labels[s] for s in groups.first]
    _check_pairs(worlds, members, g, h)
    if not len(g):
        return None
    combination = np.full(count.shape, -1, np.int32)
    combination[g, h] = combination[h, g] = np.arange(len(g))
    group = np.where(_count_partners(shapes, groups, apart, combination >= 0) > 0, groups.of, -1)
    touching = np.flatnonzero(group >= 0)
    for s in touching:
        if shapes.kind[s] == ShapeKind.MESH:
            _check_mesh(worlds, shapes, s, labels[s])
    kinds = shapes.kind[groups.first]
    points = np.array([most_points(i, j) for i, j in zip(kinds[g], kinds[h], strict=True)])
    auto = min(int((points * count[g, h]).sum()), _SPARE + PER_SHAPE * len(touching))
    numbers = read_numbers(worlds, members, groups.first, g, h)
    start = np.searchsorted(apart[:, 0], np.arange(len(labels) + 1))
    whole = {
        "group": group,
        "owner": shapes.body,
        "rank": np.argsort(PAIR_ORDER)[shapes.kind],
        "apart_start": start,
        "apart": apart[:, 1],
        "combination": combination,
    }
    whole = {name: np.array(column, np.int32) for name, column in whole.items()}
    still = (groups.of >= 0) & groups.still[groups.of]
    enabled = acts & ~_resting(worlds, members, groups, always, g, h) if always != ever else np.full(len(g), acts)
    return Contacts(
        **whole,
        still=still,
        points=points,
        **numbers,
        enabled=enabled.astype(float)[None],
        capacity=worlds.first.contact.capacity or auto,
    )


def idle_shapes(model: Model) -> list[int]:
    """Indices of shapes that collide, but can touch nothing."""
    group = np.full(len(model.shapes.name), -1) if model.contacts is None else model.contacts.group
    return np.flatnonzero(model.shapes.collide & (group < 0)).tolist()


def members_of(model: Model, contacts: Contacts) -> tuple[Labels, Array, Array]:
    """Name and body of a shape of each group, and the two groups of each combination that can touch."""
    shapes = model.shapes
    first = [int(np.argmax(contacts.group == k)) for k in range(len(contacts.combination))]
    a, b = np.nonzero(np.triu(contacts.combination >= 0))
    return [(shapes.name[s], _owner_of(model.bodies.name, shapes.body[s])) for s in first], a, b


def _owner_of(bodies: Sequence[str], body: int) -> str:
    return "world" if body == WORLD else bodies[body]


def moving_surfaces(model: Model) -> list[str]:
    """Names of the shapes that can touch others with a surface that moves along itself, as a number or a signal says."""
    driven = model.inputs.item[model.inputs.column == Driven.SURFACE_VELOCITY] // 3
    moves = np.any(model.shapes.surface_velocity != 0, axis=(0, 2)) | np.isin(np.arange(len(model.shapes.name)), driven)
    touching = [] if model.contacts is None else model.contacts.touching.tolist()
    return [model.shapes.name[s] for s in touching if moves[s]]


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
    return [(name, _owner_of(bodies, b)) for name, b in zip(shapes.name, shapes.body, strict=True)]


class Groups(NamedTuple):
    """Shapes that touch the same others with the same numbers.

    Attributes:
        of: (S,) group of each shape, -1: it says `collide: false`.
        first: (G,) index of one shape of each group.
        still: (G,) whether they are of the world, or of bodies that move as prescribed.
        asked: (G, G) whether `contact.pairs` names the pair.
        allowed: (G, G) whether shapes of two groups may touch at some time: one of them can move, they are not both parts of
            the world unless that is asked for, and their layers say so.
    """

    of: Array
    first: Array
    still: Array
    asked: Array
    allowed: Array


def _groups(worlds: Worlds, shapes: Shapes, labels: Labels, always: Parting, ever: Parting) -> Groups:
    scene = worlds.first
    sides = [of_name(labels, name) for pair in scene.contact.pairs for name in (pair.a, pair.b)]
    switched = frozenset().union(ever.grounded - always.grounded, *(ever.pairs - always.pairs))
    found: dict[tuple, int] = {}
    of = np.full(len(labels), -1)
    for s in np.flatnonzero(shapes.collide).tolist():
        shape, body = written_shape(scene, *labels[s])[0], labels[s][1]
        place = body in always.still, body in always.grounded, shapes.body[s] if body in switched else -1
        named = tuple(k for k, side in enumerate(sides) if side[s])
        grain = -1 if shape.grain is None else s
        layers = tuple(sorted(shape.layers)), tuple(sorted(shape.touches))
        of[s] = found.setdefault((*place, shape.material, int(shapes.kind[s]), named, grain, layers), len(found))
    first = np.array([int(np.argmax(of == k)) for k in range(len(found))], int)
    still, grounded = (np.array([key[k] for key in found], bool) for k in range(2))
    examples = [written_shape(scene, *labels[s])[0] for s in first]
    meet = np.array([may_touch(one, other) for one in examples for other in examples], bool).reshape(still.size, still.size)
    asked = np.zeros_like(meet)
    for one, other in zip(sides[::2], sides[1::2], strict=True):
        asked |= np.outer(one[first], other[first]) | np.outer(other[first], one[first])
    allowed = meet & ~np.outer(still, still) & (asked | ~np.outer(grounded, grounded))
    return Groups(of, first, still, asked, allowed)


def _resting(worlds: Worlds, members: Labels, groups: Groups, always: Parting, g: Array, h: Array) -> Array:
    """(K,) combinations of groups whose bodies joints part as the scene is, but not always."""
    now, pairs = parting(worlds.first), [(i, j, members[i][1], members[j][1]) for i, j in zip(g, h, strict=True)]
    return np.array([now.parts(*bodies) and not always.parts(*bodies) and not groups.asked[i, j] for i, j, *bodies in pairs])


def _apart(worlds: Worlds, shapes: Shapes, labels: Labels, groups: Groups, always: Parting) -> Array:
    """(n, 2) pairs of shapes that are kept apart by name, of those that their groups would let touch, in rising order."""
    of_body: dict[str, list[int]] = {}
    for s in np.flatnonzero(groups.of >= 0).tolist():
        of_body.setdefault(labels[s][1], []).append(s)
    found = _products([tuple(of_body.get(name, []) for name in pair) for pair in always.pairs])
    i, j = found.T
    found = found[~groups.asked[groups.of[i], groups.of[j]]]
    excluded = [tuple(np.flatnonzero(of_name(labels, name)) for name in pair) for pair in worlds.first.contact.exclude]
    i, j = np.sort(np.concatenate((found, _products(excluded))), axis=1).T
    g, h = groups.of[i], groups.of[j]
    fit = (g >= 0) & (h >= 0) & groups.allowed[g, h] & (shapes.body[i] != shapes.body[j]) if len(i) else np.zeros(0, bool)
    return np.unique(np.stack((i[fit], j[fit]), axis=1), axis=0)


def _products(sides: list[tuple]) -> Array:
    """(n, 2) each of one side with each of the other."""
    parts = [np.stack(np.meshgrid(*pair, indexing="ij"), axis=-1).reshape(-1, 2).astype(int) for pair in sides]
    return np.concatenate([np.zeros((0, 2), int), *parts])


def _own(shapes: Shapes, groups: Groups) -> Iterator[tuple[Array, Array, Array]]:
    """Shapes of each body that has several, their groups, and how many of them are of each."""
    acting = np.flatnonzero(groups.of >= 0)
    order = acting[np.argsort(shapes.body[acting], kind="stable")]
    for mine in np.split(order, np.flatnonzero(np.diff(shapes.body[order])) + 1):
        if len(mine) > 1:
            yield mine, *np.unique(groups.of[mine], return_counts=True)


def _count_pairs(shapes: Shapes, groups: Groups, apart: Array) -> Array:
    """(G, G) numbers of pairs of shapes that can touch; those of one group with itself count once."""
    size = np.bincount(groups.of[groups.of >= 0], minlength=len(groups.first))
    both = np.outer(size, size) - np.diag(size)  # each order
    for _, g, n in _own(shapes, groups):
        both[np.ix_(g, g)] -= np.outer(n, n) - np.diag(n)
    g, h = groups.of[apart].T
    np.subtract.at(both, (g, h), 1)
    np.subtract.at(both, (h, g), 1)
    both = both * groups.allowed
    return np.where(np.eye(len(size), dtype=bool), both // 2, both)


def _count_partners(shapes: Shapes, groups: Groups, apart: Array, allowed: Array) -> Array:
    """(S,) how many others each shape can touch."""
    acting = groups.of >= 0
    size = np.bincount(groups.of[acting], minlength=len(groups.first))
    by_group = allowed.astype(int) @ size - np.diag(allowed)
    count = np.where(acting, by_group[groups.of], 0)
    for mine, g, n in _own(shapes, groups):
        own = allowed[np.ix_(groups.of[mine], g)].astype(int) @ n - np.diag(allowed)[groups.of[mine]]
        count[mine] -= own
    g, h = groups.of[apart].T
    np.subtract.at(count, apart[allowed[g, h]].ravel(), 1)
    return count


def _check_pairs(worlds: Worlds, members: Labels, g: Array, h: Array) -> None:
    """Refuse numbers of a pair that never touches."""
    for index, pair in enumerate(worlds.first.contact.pairs):
        if not named_pairs(members, pair, g, h).any():
            message = f"`{pair.a}` and `{pair.b}` never touch: their parameters would be ignored"
            hint = "look at `exclude`, `layers`, `collide: false`; shapes of one body, or at rest, never touch each other"
            worlds.fault("SC663", f"contact.pairs[{index}]", message, hint)


def _check_mesh(worlds: Worlds, shapes: Shapes, index: int, label: tuple[str, str]) -> None:
    """Refuse a mesh that cannot collide as the solver wants it: the affine one takes triangles as they are."""
    if shapes.convex[index] or worlds.first.solver.type != "affine":
        _check_hull(worlds, shapes, index, label)
    elif len(shapes.vertices[index]):
        sides = shapes.vertices[index][shapes.faces[index]]
        area = np.linalg.norm(np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0]), axis=1)
        if area.min() <= _THIN * np.square(np.ptp(sides, axis=1).max(axis=1))[area.argmin()]:
            _, path = written_shape(worlds.first, *label)
            message = f"mesh `{label[0]}` has a triangle without area, number {int(area.argmin()) + 1}"
            worlds.fault("SC632", f"{path}.file", message, "remove degenerate triangles, or write convex: true")


def refuse_flat(worlds: Worlds, shapes: Shapes, contacts: Contacts | None) -> None:
    """Refuse meshes without a hull, from which a distance is measured; those that can touch are refused already."""
    names = [split_name(name) for name in named_quantities(worlds.first)]
    bodies = {body for group, *pair in names if group == "distance" for body in pair}
    seen = () if contacts is None else contacts.touching
    for s, label in enumerate(_labels(worlds, shapes)):
        if label[1] in bodies and shapes.kind[s] == ShapeKind.MESH and shapes.collide[s] and s not in seen:
            _check_volume(worlds, shapes, s, label)


def _check_hull(worlds: Worlds, shapes: Shapes, index: int, label: tuple[str, str]) -> None:
    """Refuse a mesh that has no hull, or does not want it."""
    shape, path = written_shape(worlds.first, *label)
    if not shape.convex:
        message = f"mesh `{label[0]}` has `convex: false`, but meshes collide as their convex hulls"
        hint = f"write convex: true, or collide: false, or make convex parts of it: simcli decompose {shape.file}"
        worlds.fault("SC481", f"{path}.convex", message, hint)
    else:
        _check_volume(worlds, shapes, index, label)


def _check_volume(worlds: Worlds, shapes: Shapes, index: int, label: tuple[str, str]) -> None:
    """Refuse a mesh that has no hull; one that could not be read is a fault already."""
    try:
        convex_hull(shapes.vertices[index]) if len(shapes.vertices[index]) else None
    except HullError as error:
        message = f"mesh `{label[0]}` has no convex hull: {error}"
        path = written_shape(worlds.first, *label)[1]
        worlds.fault("SC481", f"{path}.file", message, "give it a volume, or write collide: false")


def with_driven_contacts(worlds: Worlds, model: Model) -> Model:
    """Let signals drive what they do of contacts.

    Args:
        worlds: the scenes.
        model: of the same scenes, with its contacts and signals.
    """
    if model.contacts is None:
        return model
    wiring = Wiring(worlds, model)
    before = len(wiring.rows)
    _surfaces(wiring)
    for k, text in enumerate(friction_signals(worlds.first, *members_of(model, model.contacts))):
        wiring.drive(Driven.CONTACT_FRICTION, k, text)
    return replace(model, inputs=wiring.inputs()) if len(wiring.rows) > before else model


def _surfaces(wiring: Wiring) -> None:
    """Velocities of surfaces, turned from the frames of their shapes into those of their bodies."""
    worlds, shapes = wiring.worlds, wiring.model.shapes
    bodies = [*worlds.first.bodies, "world"]
    for s, (name, body) in enumerate(zip(shapes.name, shapes.body.tolist(), strict=True)):
        read = lambda scene, label=(name, bodies[body]): written_shape(scene, *label)[0]  # noqa: E731
        shape: Any = read(worlds.first)
        vector = shape.surface_velocity
        for k, text in enumerate(vector if any(map(is_signal, vector)) else ()):
            turn = rot.quat_to_matrix(pose_of(worlds, lambda scene, read=read: read(scene).pose)[:, 3:])
            for i in range(3):
                wiring.drive(Driven.SURFACE_VELOCITY, 3 * s + i, text, k, turn[:, i, k])
