"""The numbers of shapes that can touch: what their materials combine to, what `contact.pairs` says, and grains.

Shapes are known by labels: their name and their body's, as `contact` may write them.
"""

import numpy as np

from simcli import rotations as rot
from simcli.model.tables.model import Array
from simcli.model.tables.worlds import Worlds, constant_part, pose_of
from simcli.spec.schema.body import MaterialSpec
from simcli.spec.schema.contact_options import PairSpec
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.shape import ShapeSpec
from simcli.spec.values.quantities import is_signal

# From the weakest to the strongest, which wins where two materials differ.
RULES = {
    "average": lambda a, b: (a + b) / 2,
    "geometric": lambda a, b: np.sqrt(a * b),
    "min": np.minimum,
    "multiply": lambda a, b: a * b,
    "max": np.maximum,
}
_RANK = tuple(RULES)
OF_SLIDING = ("friction_across", "friction_static")  # like `friction` where they are not written
_NUMBERS = ("friction", *OF_SLIDING, "rolling_friction", "torsional_friction", "restitution", "compliance")
OF_PAIRS = ("margin", "d_hat", "barrier_stiffness")  # that no material has
_DEFAULT = MaterialSpec()
Labels = list[tuple[str, str]]


def read_numbers(worlds: Worlds, labels: Labels, shape: Array, a: Array, b: Array) -> dict[str, Array]:
    """Numbers of all combinations of groups of shapes by their names in the table Contacts.

    Args:
        worlds: the scenes.
        labels: (G) of one shape of each group.
        shape: (G,) its index.
        a: (K,) first groups of the combinations.
        b: (K,) second groups.
    """
    columns = _combined(worlds, labels, a, b)
    for index, written in enumerate(worlds.first.contact.pairs):
        hit = named_pairs(labels, written, a, b)
        for key in _NUMBERS + OF_PAIRS:
            if _number(written, key) is not None:
                value = worlds.numbers(lambda s, key=key, index=index: _number(s.contact.pairs[index], key))
                columns[key] = np.where(hit, value[:, None], columns[key])
        if (hit & (columns["friction_static"] < columns["friction"])).any():
            message = f"`{written.a}` and `{written.b}` have less static than sliding friction"
            worlds.fault("SC664", f"contact.pairs[{index}]", message, "write both, friction <= friction_static")
    _refuse_two_rebounds(worlds, labels, a, b, columns)
    return columns | _grains(worlds, labels, shape, a, b)


def friction_signals(scene: SceneSpec, labels: Labels, a: Array, b: Array) -> list[str | None]:
    """What drives the friction of each combination, as `$name`; None where numbers say it."""
    found: list[str | None] = [None] * len(a)
    for pair in scene.contact.pairs:
        for k in np.flatnonzero(named_pairs(labels, pair, a, b)) if pair.friction is not None else ():
            found[k] = pair.friction if is_signal(pair.friction) else None
    return found


def of_name(labels: Labels, name: str) -> Array:
    """(S,) shapes that a written name means."""
    return np.array([name in label for label in labels], bool)


def named_pairs(labels: Labels, pair: PairSpec, a: Array, b: Array) -> Array:
    """Mask of the combinations that two written names mean, in any order, (K,).

    Args:
        labels: names that each shape, or each group of them, answers to.
        pair: as written, with both names.
        a: (K,), number of the first shape of each combination.
        b: (K,), number of the second one.
    """
    one, other = of_name(labels, pair.a), of_name(labels, pair.b)
    return (one[a] & other[b]) | (one[b] & other[a])


def written_shape(scene: SceneSpec, name: str, body: str) -> tuple[ShapeSpec, str]:
    """A shape as written, and its dotted path."""
    key = name if body == "world" else name.removeprefix(f"{body}/")
    owner = scene.world if body == "world" else scene.bodies[body]
    return owner.shapes[key], f"world.shapes.{key}" if body == "world" else f"bodies.{body}.shapes.{key}"


def _material(scene: SceneSpec, label: tuple[str, str]) -> MaterialSpec:
    name = written_shape(scene, *label)[0].material
    return scene.materials[name] if name else _DEFAULT


def _combined(worlds: Worlds, labels: Labels, a: Array, b: Array) -> dict[str, Array]:
    """What the materials of two groups combine to, (W|1, K)."""
    materials = [lambda s, label=label: _material(s, label) for label in labels]
    columns = {key: np.full((1, len(a)), np.nan) for key in OF_PAIRS}
    for key in _NUMBERS:
        value = worlds.numbers(lambda s, key=key: [_number(get(s), key) for get in materials], (len(materials),))
        if key == "compliance":  # in series
            columns[key] = value[:, a] + value[:, b]
            continue
        rule = "restitution" if key == "restitution" else "friction"
        rank = np.array([_RANK.index(getattr(get(worlds.first).combine, rule)) for get in materials])
        strongest = np.maximum(rank[a], rank[b])
        columns[key] = np.select(
            [strongest == k for k in range(len(_RANK))], [RULES[name](value[:, a], value[:, b]) for name in _RANK]
        )
    return columns


def _refuse_two_rebounds(worlds: Worlds, labels: Labels, a: Array, b: Array, columns: dict[str, Array]) -> None:
    """Refuse restitution of what is compliant: an impact on a spring lasts, and has no speed that it ends with."""
    for k in np.flatnonzero(((columns["compliance"] > 0) & (columns["restitution"] > 0)).any(axis=0))[:1]:
        names = f"`{labels[a[k]][0]}` and `{labels[b[k]][0]}`"
        message = f"contact of {names} is compliant and has restitution, but a compliant contact rebounds by itself"
        worlds.fault(
            "SC669",
            written_shape(worlds.first, *labels[a[k]])[1],
            message,
            "write restitution: 0 or compliance: 0 for the pair, in `contact.pairs`, or in both materials",
        )


def _number(material: MaterialSpec | PairSpec, key: str) -> float | None:
    """A number of a material or of a pair, 0 where a signal drives it, None if a pair does not say it."""
    value = getattr(material, key)
    value = material.friction if key in OF_SLIDING and value is None else value
    return None if value is None else constant_part(value)


def is_material_read(scene: SceneSpec, labels: Labels, a: Array, b: Array, name: str, key: str) -> bool:
    """Whether the number of a material is one of a pair of shapes that can touch, which `contact.pairs` does not say.

    Args:
        scene: as resolved.
        labels: of one shape of each group.
        a: (K,) first groups of the combinations.
        b: (K,) second groups.
        name: of the material.
        key: of its number.
    """
    has = np.array([written_shape(scene, *label)[0].material == name for label in labels], bool)
    return _is_left(scene, labels, a, b, has[a] | has[b], scene.materials[name], key, 0)


def is_pair_read(scene: SceneSpec, labels: Labels, a: Array, b: Array, index: int, key: str) -> bool:
    """Whether a number of an entry of `contact.pairs` is one of a pair of shapes, which no later entry says.

    Args:
        scene: as resolved.
        labels: of one shape of each group.
        a: (K,) first groups of the combinations.
        b: (K,) second groups.
        index: of the entry.
        key: of its number.
    """
    pair = scene.contact.pairs[index]
    return _is_left(scene, labels, a, b, named_pairs(labels, pair, a, b), pair, key, index + 1)


def _is_left(
    scene: SceneSpec, labels: Labels, a: Array, b: Array, mine: Array, of: MaterialSpec | PairSpec, key: str, first: int
) -> bool:
    """Whether some combinations have a number, or one that is like it, that no entry from the first one on says."""
    keys = (key, *(one for one in OF_SLIDING if key == "friction" and getattr(of, one) is None))
    later = [(pair, named_pairs(labels, pair, a, b)) for pair in scene.contact.pairs[first:]]
    return any(
        (mine & ~np.any([hit for pair, hit in later if _says(pair, one)] or [mine & False], axis=0)).any() for one in keys
    )


def _says(pair: PairSpec, key: str) -> bool:
    return key in _NUMBERS + OF_PAIRS and _number(pair, key) is not None


def _grains(worlds: Worlds, labels: Labels, shape: Array, a: Array, b: Array) -> dict[str, Array]:
    """Which shape of each combination has the grain, (K,), and its direction, (W|1, K, 3), in that shape's body.

    A shape with a grain is a group of its own. A pair has one if friction across it is written; then one of its shapes, and
    not both, must say where it runs.
    """
    shapes = [written_shape(worlds.first, *label) for label in labels]
    has = np.array([shape.grain is not None for shape, _ in shapes])
    wants = _wants_grain(worlds, labels, a, b)
    for one, other in zip(a[wants & (has[a] == has[b])], b[wants & (has[a] == has[b])], strict=True):
        names = f"`{labels[one][0]}` and `{labels[other][0]}`"
        lack = "both have a `grain`, and only one may" if has[one] else "none of them has a `grain`"
        message = f"friction of {names} differs along and across the grain, but {lack}"
        worlds.fault("SC665", shapes[other][1], message, "write `grain` in one of them, or `friction` for the pair")
    for s in np.nonzero(has & np.isin(np.arange(len(has)), [a, b]))[0]:
        if not wants[(a == s) | (b == s)].any():
            message = f"the grain of `{labels[s][0]}` has no effect: nothing that it touches has `friction_across`"
            worlds.fault("SC665", f"{shapes[s][1]}.grain", message, "write `friction_across` in its material, or remove it")
    direction = {s: _direction(worlds, labels[s]) for s in np.nonzero(has)[0]}
    owner = np.where(wants, np.where(has[a], a, b), -1)
    none = np.zeros((1, 3))
    columns = np.broadcast_arrays(*(direction.get(s, none) for s in owner), np.zeros((1, 3)))[:-1]
    return {"grain_shape": np.where(owner >= 0, shape[owner], -1), "grain": np.stack(columns, axis=1)}


def _wants_grain(worlds: Worlds, labels: Labels, a: Array, b: Array) -> Array:
    """(K,) whether friction differs between directions."""
    differs = np.array([_material(worlds.first, label).friction_across is not None for label in labels])
    wants = differs[a] | differs[b]
    for pair in worlds.first.contact.pairs:
        if pair.friction is not None or pair.friction_across is not None:
            wants = np.where(named_pairs(labels, pair, a, b), pair.friction_across is not None, wants)
    return wants


def _direction(worlds: Worlds, label: tuple[str, str]) -> Array:
    """[1], (W|1, 3), grain of a shape in its body."""
    along = rot.unit(worlds.numbers(lambda s: written_shape(s, *label)[0].grain, (3,)))
    return rot.quat_rotate(pose_of(worlds, lambda s: written_shape(s, *label)[0].pose)[:, 3:], along)
