"""Texts with a unit in a tree, turned to SI before the schema, where only what stands around them tells their dimension."""

import math
from collections.abc import Sequence

from simcli.spec.document.nodes import Listing, Node, Scalar
from simcli.spec.faults.fault_list import Faults
from simcli.spec.values.scopes import failed, where_of
from simcli.spec.values.units import UnitError, to_si

_ONE_TURN = 2.0 * math.pi  # [rad]
_ENDLESS = 1e4  # [rad], what stands for no limit


class UnitTexts:
    """Turns texts to numbers.

    Args:
        faults: receives what does not fit.

    Attributes:
        turns: numbers without a unit that are more than a turn in radians.
    """

    def __init__(self, faults: Faults):
        self.faults = faults
        self.turns: list[Scalar] = []

    def scalar(self, node: Node, units: Sequence[str], any_of: bool = False) -> Node:
        """A text with a unit to SI; it must fit every unit, or any of them."""
        if isinstance(node, Scalar) and type(node.value) in (int, float) and not node.quoted and abs(node.value) > _ONE_TURN:
            self.turns += [node] if set(units) == {"rad"} and abs(node.value) < _ENDLESS else []
        if not isinstance(node, Scalar) or not isinstance(node.value, str) or node.value.startswith("$") or not units:
            return node
        if node.value == "center":
            return node
        try:
            if any_of:
                return Scalar(to_si(node.value, *units), node.mark)
            value = 0.0
            for unit in dict.fromkeys(units):
                value = to_si(node.value, unit)
            return Scalar(value, node.mark)
        except UnitError as error:
            self.faults.add(error.code, str(error), where_of(node.mark), error.hint)
            return failed(node.mark)

    def tell_turns(self) -> None:
        """A note on each number that looks like degrees."""
        for node in self.turns:
            number = f"{node.value:g}"
            hint = f"for degrees write `{number} deg`; `{number} rad` says that radians are meant"
            message = f"{number} is {number} rad, {abs(node.value) / _ONE_TURN:.3g} turns"
            self.faults.add("SC329", message, where_of(node.mark), hint, "note")

    def per_dof(self, node: Node, units: Sequence[str]) -> Node:
        """One value, or one per dof."""
        if not isinstance(node, Listing):
            return self.scalar(node, units)
        items = list(node.items)
        for index, unit in enumerate(units[: len(items)]):
            items[index] = self.scalar(items[index], [unit])
        return Listing(items, node.mark)
