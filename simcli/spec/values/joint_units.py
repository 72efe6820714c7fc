"""Units of values that belong to joints: metres or radians by the joint's dofs; and of noise, by what a sensor gives.

Works on the tree, before the schema, because only the joint as a whole tells the dimension of its numbers. A scalar
that stands for several dofs must fit all of them. What is no text with a unit is left to the schema.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from simcli.spec.document.nodes import Listing, Node, PathStep, Scalar, TableNode, plain
from simcli.spec.faults.fault_list import Faults
from simcli.spec.names import dofs
from simcli.spec.names.channel_names import CHANNEL_GROUPS, WATCHED, kind_of, split_component, split_name
from simcli.spec.names.patterns import matching
from simcli.spec.names.reductions import BOUNDED_REDUCTIONS, REDUCTIONS, unit_of_reduction
from simcli.spec.names.sensor_types import SENSOR_TYPES
from simcli.spec.values.scopes import failed, where_of
from simcli.spec.values.units import UnitError, to_si

_PER_DOF = {
    "qd": "velocity",
    "damping": "damping",
    "friction": "effort",
    "armature": "armature",
    "velocity_limit": "velocity",
}
_LIMIT = {"lower": "position", "upper": "position", "stiffness": "stiffness", "damping": "damping"}
_DRIVE = {"target_velocity": "velocity", "stiffness": "stiffness", "damping": "damping", "effort_limit": "effort"}
_FORCE = {"value": "effort", "stiffness": "stiffness", "damping": "damping", "rest_angle": "position"}  # on a joint
_MOTION = {"position": "position", "velocity": "velocity"}
_OF_JOINT = {"q": "position", "qd": "velocity", "qdd": "velocity", "effort": "effort", "drive_effort": "effort"}
# Of quantities, and of groups.
_UNITS = {**{name: one.unit for name, one in SENSOR_TYPES.items() if one.width},
          "position": "m", "orientation": "", "velocity": "m/s", "angular_velocity": "rad/s", "energy": "J", "distance": "m",
         "force": "N", "count": ""}  # fmt: skip

_NOISE = {"sigma": "", "quantum": "", "density": "Hz", "walk": "s"}  # of a sensor: the unit by whose root each number is
_ROOT = re.compile(r"\s*/\s*sqrt\s*\(\s*(Hz|s)\s*\)\s*\Z")


class JointUnits:
    """Converts the values of joints; keeps the kinds of all joints and the joints of sensors for `initial` and bounds."""

    def __init__(self, faults: Faults):
        self.faults = faults
        self.types: dict[str, tuple[str, str]] = {}
        self.sensed: dict[str, str] = {}

    def root(self, root: TableNode, names: Collection[PathStep] | None = None) -> TableNode:
        """The tree with the values of joints in SI, of all joints or of some."""
        changes: dict[str, Node] = {}
        joints = root.get("joints")
        if isinstance(joints, TableNode):
            chosen = joints.items if names is None else [name for name in names if name in joints.items]
            new = {name: self.joint(name, joints.items[name]) for name in chosen}
            if any(new[name] is not joints.items[name] for name in new):
                changes["joints"] = joints.replaced(new)
        forces = root.get("forces")
        if isinstance(forces, TableNode):
            new = {name: self.force(node) for name, node in forces.items.items()}
            if any(new[name] is not forces.items[name] for name in new):
                changes["forces"] = forces.replaced(new)
        sensors = root.get("sensors")
        if isinstance(sensors, TableNode):
            changes["sensors"] = sensors.replaced({name: self.sensor(name, node) for name, node in sensors.items.items()})
        initial, keyframes = root.get("initial"), root.get("keyframes")
        listed = self.listed(root.get("articulations"))
        if isinstance(initial, TableNode):
            changes["initial"] = self.initial(initial, listed)
        if isinstance(keyframes, TableNode):
            tables = {name: node for name, node in keyframes.items.items() if isinstance(node, TableNode)}
            changes["keyframes"] = keyframes.replaced({name: self.initial(node, listed) for name, node in tables.items()})
        changes |= self._asked(root)
        return root.replaced(changes) if changes else root

    def _asked(self, root: TableNode) -> dict[str, Node]:
        """Sections that ask for quantities, with their bounds in SI."""
        changes: dict[str, Node] = {}
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

    def force(self, node: Node) -> Node:
        """A force on a joint."""
        joint = node.get("joint") if isinstance(node, TableNode) else None
        if not isinstance(joint, Scalar) or joint.value not in self.types:
            return node
        _, of = self.types[joint.value]
        changes = {key: self.per_dof(node.items[key], dofs.units(role, of)) for key, role in _FORCE.items()
                   if key in node.items}  # fmt: skip
        return node.replaced(changes) if any(new is not node.items[key] for key, new in changes.items()) else node

    def joint(self, name: str, node: Node) -> Node:
        """One joint."""
        type_node = node.get("type") if isinstance(node, TableNode) else None
        if not isinstance(type_node, Scalar) or type_node.value not in dofs.TYPES:
            return node
        axes = node.get("axes")
        linear, angular = (_length(axes, "linear"), _length(axes, "angular"))
        of = dofs.kinds(type_node.value, linear, angular)
        self.types[name] = (type_node.value, of)
        changes: dict[str, Node] = {}
        for key, value in node.items.items():
            new = self.value(key, value, type_node.value, of)
            if new is not value:
                changes[key] = new
        if isinstance(axes, TableNode):
            groups = [(key, kind) for key, kind in (("linear", "L"), ("angular", "A")) if key in axes.items]
            changes["axes"] = axes.replaced({key: self.axes(axes.items[key], kind) for key, kind in groups})
        return node.replaced(changes) if changes else node

    def value(self, key: str, node: Node, type_name: str, of: str) -> Node:
        """One value of a joint."""
        if key in _PER_DOF:
            return self.per_dof(node, dofs.units(_PER_DOF[key], of))
        if key == "q":
            return self.per_dof(node, dofs.units("position", dofs.q_kinds(type_name, of)))
        if key == "init_angle":
            return self.per_dof(node, dofs.units("position", of[:1]))
        if key == "compliance":
            return self.scalar(node, ["m/N", "rad/(N*m)"], any_of=True)
        if key == "limit":
            return self.limits(node, "L" if type_name == "distance" else of)
        if key == "drive":
            return self.drives(node, of)
        if key == "motion":
            return self.motions(node, of)
        if key == "mimic" and isinstance(node, TableNode) and "offset" in node.items:
            return node.replaced({"offset": self.scalar(node.items["offset"], dofs.units("position", of[:1]))})
        return node

    def axes(self, node: Node, kind: str) -> Node:
        """Entries of `axes`."""
        if not isinstance(node, Listing):
            return node
        items = []
        for item in node.items:
            if isinstance(item, TableNode):
                item = item.replaced(
                    {key: self.value(key, item.items[key], "", kind) for key in item.items if key != "axis"}
                )
            items.append(item)
        return Listing(items, node.mark)

    def limits(self, node: Node, of: str) -> Node:
        """One limit, a pair, or a list of limits."""
        if isinstance(node, TableNode):
            return self.keyed(node, _LIMIT, of)
        if not isinstance(node, Listing):
            return node
        if len(node.items) == 2 and all(isinstance(item, Scalar) and item.value is not None for item in node.items):
            return Listing([self.scalar(item, dofs.units("position", of)) for item in node.items], node.mark)
        return Listing([self.limits(item, one) for item, one in _by_dof(node, of)], node.mark)

    def drives(self, node: Node, of: str) -> Node:
        """One drive, or a list of them."""
        if isinstance(node, Listing):
            return Listing([self.drives(item, one) for item, one in _by_dof(node, of)], node.mark)
        if not isinstance(node, TableNode):
            return node
        mode = node.get("mode")
        effort = isinstance(mode, Scalar) and mode.value == "effort"
        return self.keyed(node, {**_DRIVE, "target": "effort" if effort else "position"}, of)

    def motions(self, node: Node, of: str) -> Node:
        """One prescribed motion, or a list of them."""
        if isinstance(node, Listing):
            return Listing([self.keyed(item, _MOTION, one) for item, one in _by_dof(node, of)], node.mark)
        return self.keyed(node, _MOTION, of)

    def keyed(self, node: Node, roles: dict[str, str], of: str) -> Node:
        """A mapping whose keys have roles."""
        if not isinstance(node, TableNode):
            return node
        changes = {
            key: self.scalar(node.items[key], dofs.units(role, of)) for key, role in roles.items() if key in node.items
        }
        return node.replaced(changes)

    def per_dof(self, node: Node, units: Sequence[str]) -> Node:
        """One value, or one per dof."""
        if not isinstance(node, Listing):
            return self.scalar(node, units)
        items = list(node.items)
        for index, unit in enumerate(units[: len(items)]):
            items[index] = self.scalar(items[index], [unit])
        return Listing(items, node.mark)

    def scalar(self, node: Node, units: Sequence[str], any_of: bool = False) -> Node:
        """A text with a unit to SI; it must fit every unit, or any of them."""
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

    def initial(self, node: TableNode, listed: Mapping[str, Sequence[int]]) -> TableNode:
        """Values of `initial`, or of a keyframe; what several joints share must fit them all."""
        changes = {}
        names = list(self.types)
        for key, role in (("joint_q", "position"), ("joint_qd", "velocity")):
            table = node.get(key)
            if not isinstance(table, TableNode):
                continue
            new = {}
            for pattern, value in table.items.items():
                found = [self.types[names[place]] for place in matching(names, pattern, listed)]
                kinds = [dofs.q_kinds(type_name, of) if role == "position" else of for type_name, of in found]
                new[pattern] = self.shared(value, [dofs.units(role, kind) for kind in dict.fromkeys(kinds)])
            changes[key] = table.replaced(new)
        return node.replaced(changes)

    def listed(self, node: Node | None) -> dict[str, list[int]]:
        """The listed articulations: title to places in `types`; what is no such list is left to the schema."""
        place_of = {name: place for place, name in enumerate(self.types)}
        groups = plain(node) if isinstance(node, TableNode) else {}
        return {title: [place_of[name] for name in names if isinstance(name, str) and name in place_of]
                for title, names in groups.items() if isinstance(names, list)}  # fmt: skip

    def shared(self, node: Node, layouts: Sequence[Sequence[str]]) -> Node:
        """A value of several joints, each with its units."""
        if not isinstance(node, Listing):
            return self.scalar(node, [unit for units in layouts for unit in units])
        entries = [[units[k] for units in layouts if k < len(units)] for k in range(len(node.items))]
        return Listing([self.scalar(item, units) for item, units in zip(node.items, entries, strict=True)], node.mark)

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
            of_each = units * len(node.items["equals"].items) if isinstance(node.items["equals"], Listing) and len(
                units) == 1 else units  # fmt: skip
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
        group, subject, word = split_name(text)
        if group == "sensor" and word in ("encoder", "tachometer"):
            group, subject, word = "joint", self.sensed.get(subject, ""), "q" if word == "encoder" else "qd"
        if group != "joint":
            return [_UNITS[kind_of(text)]] if kind_of(text) in _UNITS else []
        if word == "wrench":
            return [*["N"] * 3, *["N*m"] * 3]
        if word == "drive_power":
            return ["W"]
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


def _length(axes: Node | None, key: str) -> int:
    node = axes.get(key) if isinstance(axes, TableNode) else None
    return min(len(node.items), 3) if isinstance(node, Listing) else 0


def _by_dof(node: Listing, of: str):
    """Entries of a list with the kind of their dof; an entry beyond the last dof is left to the schema."""
    for index, item in enumerate(node.items):
        yield item, of[index : index + 1] or of
