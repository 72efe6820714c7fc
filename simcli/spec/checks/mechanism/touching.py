"""Whether anything of a scene can touch, as far as names tell; model/bodies/contact_pairs.py knows it in full."""

from itertools import combinations, product

from simcli.spec.checks.checker import Checker
from simcli.spec.names import structure
from simcli.spec.names.parting import parting
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.shape import may_touch


def check_touching(check: Checker) -> None:
    """Warn of options of contact that nothing reads."""
    if check.has("solver.contact") and not _is_unknown(check) and touching_pair(check) is None:
        message, hint = "`solver.contact` has no effect: no two shapes can touch", "give two bodies shapes, or remove it"
        check.fault("SC666", message, "solver.contact", hint, on_key=True, severity="warning")


def _is_unknown(check: Checker) -> bool:
    return any(section in ("contact", "world", "bodies", "solver") for section, _ in check.broken)


def switches_contact(spec: SceneSpec) -> bool:
    """True if an event sets `contact.enabled`."""
    return any("contact.enabled" in event.set for event in spec.events)


def touching_pair(check: Checker) -> tuple[str, str] | None:
    """The first two owners of shapes that could touch, of which the second is a body; None: none, or nobody knows."""
    spec = check.spec
    if not (spec.contact.enabled or switches_contact(spec)) or _is_unknown(check):
        return None
    owners = {structure.WORLD_NAME: spec.world.shapes, **{name: body.shapes for name, body in spec.bodies.items()}}
    shapes = [(owner, key if owner == structure.WORLD_NAME else f"{owner}/{key}", shape)
              for owner, of in owners.items() for key, shape in of.items() if shape.collide]  # fmt: skip
    asked = {frozenset((_owner(check, pair.a), _owner(check, pair.b))) for pair in spec.contact.pairs}
    always = parting(spec, switch=False)
    excluded = {frozenset(pair) for pair in spec.contact.exclude}
    for first, second in combinations(shapes, 2):
        pair = frozenset((first[0], second[0]))
        if always.never(first[0], second[0]) or not may_touch(first[2], second[2]):
            continue
        if always.parts(first[0], second[0]) and pair not in asked:
            continue
        if excluded.isdisjoint(map(frozenset, product(first[:2], second[:2]))):
            return first[0], second[0]
    return None


def _owner(check: Checker, name: str) -> str:
    """The body of a body or shape, as `contact` names them."""
    if name in check.spec.bodies:
        return name
    is_worlds = name == structure.WORLD_NAME or name in check.spec.world.shapes
    return structure.WORLD_NAME if is_worlds else name.rpartition("/")[0]
