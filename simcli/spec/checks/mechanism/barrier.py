"""What barrier contact does not know: refused by name."""

from collections.abc import Iterator

from simcli.spec.capabilities.joint_fields import refuse_field
from simcli.spec.checks.checker import Checker
from simcli.spec.checks.mechanism.touching import switches_contact
from simcli.spec.schema.body import MaterialSpec
from simcli.spec.schema.contact import PairSpec

_WORDS = {
    "friction_across": ("friction that differs between directions", "write `friction` alone"),
    "friction_static": ("static friction that differs from sliding friction", "write `friction` alone"),
    "rolling_friction": ("rolling friction", "remove it"),
    "torsional_friction": ("torsional friction", "remove it"),
    "compliance": ("compliance of contacts", "remove it: `barrier_stiffness` says how hard a barrier is"),
    "restitution": ("restitution", "remove it: a rebound is what barrier and integrator make of it"),
}


def check_barrier(check: Checker) -> None:
    """Refuse what materials and pairs ask for beyond friction."""
    for path, numbers in _asked(check):
        for key, (words, hint) in _WORDS.items():
            value = getattr(numbers, key)
            if value and not (key == "friction_static" and value == numbers.friction):
                refuse_field(check, words, f"{path}.{key}", hint, True)


def _asked(check: Checker) -> Iterator[tuple[str, MaterialSpec | PairSpec]]:
    """Materials of shapes that collide, and pairs, each with its path."""
    spec = check.spec
    if not (spec.contact.enabled or switches_contact(spec)):
        return
    owners = (spec.world, *spec.bodies.values())
    used = {shape.material for owner in owners for shape in owner.shapes.values() if shape.collide}
    for name, material in spec.materials.items():
        if name in used:
            yield f"materials.{name}", material
    for index, pair in enumerate(spec.contact.pairs):
        yield f"contact.pairs[{index}]", pair
