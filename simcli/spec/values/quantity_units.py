"""Units of numbers that belong to quantities: bounds of measures, conditions and expectations, and noise of sensors.

Texts with a unit are turned to SI in the tree, before the schema, where only what stands around them tells their dimension.
"""

import math
import re
from collections.abc import Mapping, Sequence

from simcli.spec.base import dofs
from simcli.spec.base.channel_names import (
    BOUNDED_REDUCTIONS,
    CHANNEL_GROUPS,
    QUANTITY_TYPES,
    REDUCTIONS,
    TYPES_BY_KIND,
    WATCHED,
    kind_of,
    own_quantity,
    split_component,
    split_name,
    unit_of_reduction,
)
from simcli.spec.base.fault_list import Faults
from simcli.spec.base.nodes import Listing, Node, Scalar, TableNode, plain
from simcli.spec.base.patterns import matching
from simcli.spec.base.sensor_types import SENSOR_TYPES
from simcli.spec.values.scopes import failed, where_of
from simcli.spec.values.units import UnitError, to_si

_ONE_TURN = 2.0 * math.pi  # [rad]
_ENDLESS = 1e4  # [rad], what stands for no limit
_SAME_DEGREES = 2e-3  # [deg], how near a number of radians, written with five digits, is to the whole degrees that it means


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
            self.turns += [node] if set(units) == {"rad"} and _looks_like_degrees(node.value) else []
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
            message = f"{number} is {number} rad, {abs(node.value) / _ONE_TURN:.2f} turns"
            self.faults.add("SC329", message, where_of(node.mark), hint, "note")

    def per_dof(self, node: Node, units: Sequence[str]) -> Node:
        """One value, or one per dof."""
        if not isinstance(node, Listing):
            return self.scalar(node, units)
        items = list(node.items)
        for index, unit in enumerate(units[: len(items)]):
            items[index] = self.scalar(items[index], [unit])
        return Listing(items, node.mark)


def _looks_like_degrees(angle: float) -> bool:
    """Whether a number above one turn of radians may be of degrees: not 6.28319, which is 360 of them in radians."""
    degrees = math.degrees(angle)
    is_converted = angle != round(angle) and abs(degrees - round(degrees)) < _SAME_DEGREES
    return abs(angle) < _ENDLESS and not is_converted


_OF_JOINT = {"q": "position", "qd": "velocity", "qdd": "velocity", "effort": "effort", "drive_effort": "effort"}
# Of a sensor: the unit by whose root each number is.
_NOISE = {"sigma": "", "turn_on": "", "drift": "", "quantum": "", "density": "Hz", "walk": "s"}
_ROOT = re.compile(r"\s*/\s*sqrt\s*\(\s*(Hz|s)\s*\)\s*\Z")


class QuantityUnits(UnitTexts):
    """Converts what is asked of quantities.

    Args:
        faults: receives what does not fit.
        types: of joints by name, the type and the kinds of their dofs, see `JointUnits`.

    Attributes:
        sensed: joints of sensors, by the names of these.
    """

    def __init__(self, faults: Faults, types: Mapping[str, tuple[str, str]]):
        super().__init__(faults)
        self.types = types
        self.sensed: dict[str, str] = {}

    def sections(self, root: TableNode) -> dict[str, Node]:
        """Sections of a scene that ask for quantities, with their bounds in SI, and its sensors."""
        changes: dict[str, Node] = {}
        sensors = root.get("sensors")
        if isinstance(sensors, TableNode):
            changes["sensors"] = sensors.replaced({name: self.sensor(name, node) for name, node in sensors.items.items()})
        run, measures, events, expect = (root.get(key) for key in ("run", "measure", "events", "expect"))
        if isinstance(run, TableNode) and isinstance(run.get("stop_when"), TableNode):
            changes["run"] = run.replaced({"stop_when": self.bounds(run.items["stop_when"])})
        if isinstance(measures, TableNode):
            changes["measure"] = measures.replaced({name: self.bounds(node) for name, node in measures.items.items()})
        if isinstance(events, Listing):
            changes["events"] = Listing([self.crossing(node) for node in events.items], events.mark)
        if isinstance(expect, Listing):
            changes["expect"] = Listing([self.expectation(node, measures) for node in expect.items], expect.mark)
        return changes

    def sensor(self, name: str, node: Node) -> Node:
        """A sensor, whose noise is in the unit of what it gives; its joint is kept."""
        if not isinstance(node, TableNode):
            return node
        joint = _text(node, "joint")
        if joint:
            self.sensed[name] = joint
        noise, types = node.get("noise"), plain(node.get("type")) if "type" in node.items else None
        if not isinstance(noise, TableNode):
            return node
        types = types if isinstance(types, list) else [types]
        known = all(isinstance(one, str) and one in SENSOR_TYPES for one in types)
        known = known and len({SENSOR_TYPES[one].unit for one in types}) == 1
        units = [unit for one in types for unit in self.units_of(f"sensor.{name}.{one}")] if known else []
        changes = {key: self.noise(noise.items[key], units, root) for key, root in _NOISE.items() if key in noise.items}
        return node.replaced({"noise": noise.replaced(changes)})

    def noise(self, node: Node, units: Sequence[str], root: str) -> Node:
        """A number of noise: of units of a sensor, by the root of a unit if there is one."""
        if not isinstance(node, Scalar) or not isinstance(node.value, str) or node.value.startswith("$"):
            return node
        if not units:  # the types are refused
            return failed(node.mark)
        text, behind = node.value, _ROOT.search(node.value)
        if (behind[1] if behind else "") != root:
            unit = f"{units[0] or '1'}{f'/sqrt({root})' if root else ''}"
            message = f"`{text[:40]}` is not in {unit}, the unit of the sensor" + (f" by the root of {root}" if root else "")
            self.faults.add("SC213", message, where_of(node.mark), f'write a number in {unit}, or a string as "2 {unit}"')
            return failed(node.mark)
        return self.scalar(Scalar(text[: behind.start()], node.mark) if behind else node, units)

    def bounds(self, node: Node) -> Node:
        """Bounds of `run.stop_when`, or of a measure: of the unit of their quantity."""
        if not isinstance(node, TableNode):
            return node
        text = _text(node, "quantity", *BOUNDED_REDUCTIONS)
        is_stop = "quantity" in node.items
        if is_stop and text in WATCHED:
            text = f"joint.{_text(node, 'joint')}.{WATCHED[text]}"
        units, is_whole = self.units_named(node, text)
        if is_stop and is_whole and kind_of(text) in WATCHED.values():
            units = units[:1]  # of `stop_when`, which watches the first one
        return self.bounded(node, units) if text else node

    def units_named(self, node: TableNode, text: str) -> tuple[list[str], bool]:
        """Units of what a part names, of its component if it has one, and whether it means all components."""
        name, behind = split_component(text)
        written = node.get("component")
        component = written.value if isinstance(written, Scalar) and type(written.value) is int else behind
        every = [self.units_of(one) for one in self.meant(name)]
        if component is not None:
            every = [_of_component(units, component) for units in every]
        units = every[0] if len(every) == 1 else list(dict.fromkeys(unit for units in every for unit in units))
        return units, component is None

    def meant(self, text: str) -> list[str]:
        """The names that a pattern of joints or of sensors on joints means; of any other the name alone."""
        group, subject, word = split_name(text)
        names = {"joint": list(self.types), "sensor": list(self.sensed)}.get(group)
        if names is None or not any(c in subject for c in "*?["):
            return [text]
        return [f"{group}.{names[place]}.{word}" for place in matching(names, subject)] or [text]

    def expectation(self, node: Node, measures: Node | None) -> Node:
        """Numbers of an expectation: of the unit of its quantity, or of what its measure finds."""
        if not isinstance(node, TableNode):
            return node
        measure = _text(node, "measure")
        if measure:
            spec = measures.get(measure) if isinstance(measures, TableNode) else None
            units = self.units_found(spec) if isinstance(spec, TableNode) else []
        else:
            text = _text(node, "max", "min", "quantity")
            of = next((key for key in CHANNEL_GROUPS if key in node.items), "")
            units, _ = self.units_named(node, f"{of}.{_text(node, of)}.{text}" if of else text)
        changes = {key: self.scalar(node.items[key], units) for key in ("above", "below", "within") if key in node.items}
        if "equals" in node.items:
            of_each = (
                units * len(node.items["equals"].items)
                if isinstance(node.items["equals"], Listing) and len(units) == 1
                else units
            )
            changes["equals"] = self.per_dof(node.items["equals"], of_each)
        return node.replaced(changes)

    def units_found(self, node: TableNode) -> list[str]:
        """Units of what a measure finds."""
        reduction = next((key for key in REDUCTIONS if key in node.items), "")
        units, _ = self.units_named(node, _text(node, reduction))
        return list(dict.fromkeys(unit_of_reduction(reduction, unit) for unit in units))

    def crossing(self, node: Node) -> Node:
        """An event: the bound of its condition has the unit of the quantity, or of its component."""
        when = node.get("when") if isinstance(node, TableNode) else None
        if not isinstance(when, TableNode):
            return node
        new = {}
        for name, bound in when.items.items():
            text, component = split_component(str(name))
            units = self.units_of(text)
            units = units if component is None else _of_component(units, component)
            new[name] = self.bounded(bound, units) if isinstance(bound, TableNode) else bound
        return node.replaced({"when": when.replaced(new)})

    def bounded(self, node: TableNode, units: Sequence[str]) -> TableNode:
        """What has bounds, with these in SI; they must fit all units."""
        changes = {key: self.scalar(node.items[key], units) for key in ("above", "below") if key in node.items}
        within = node.get("within")
        if isinstance(within, Listing):
            changes["within"] = Listing([self.scalar(item, units) for item in within.items], within.mark)
        return node.replaced(changes)

    def units_of(self, text: str) -> list[str]:
        """Units of the components of a quantity; none where they are not known."""
        group, subject, word = name = split_name(text)
        if own := own_quantity(name):
            group, subject, word = "joint", self.sensed.get(subject, ""), own
        kind = QUANTITY_TYPES["joint"].get(word) if group == "joint" else TYPES_BY_KIND.get(kind_of(text))
        if kind is None or kind.units or group != "joint":
            units = list(kind.units) if kind else []
            return units[:1] if len(set(units)) == 1 else units
        is_free = subject.endswith("_free") and subject not in self.types
        if word not in _OF_JOINT or not (is_free or subject in self.types):
            return []
        type_name, of = self.types.get(subject, ("free", dofs.kinds("free", 0, 0)))
        units = dofs.units(_OF_JOINT[word], dofs.q_kinds(type_name, of) if word == "q" else of)
        return [f"{unit}^2" for unit in units] if word == "qdd" else units


def _text(node: TableNode, *keys: str) -> str:
    """The text under the first of some keys that is written; "" if there is none."""
    found = next((node.items[key] for key in keys if key in node.items), None)
    return found.value if isinstance(found, Scalar) and isinstance(found.value, str) else ""


def _of_component(units: list[str], component: int) -> list[str]:
    """Units of one component: a single unit is that of all of them."""
    return units if len(units) == 1 else units[component : component + 1]
