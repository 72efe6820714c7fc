"""Units of values that belong to joints: metres or radians by the joint's dofs.

Works on the tree, before the schema, because only the joint as a whole tells the dimension of its numbers. A scalar
that stands for several dofs must fit all of them. What is no text with a unit is left to the schema.
"""

from collections.abc import Collection, Mapping, Sequence

from simcli.spec.base import dofs
from simcli.spec.base.fault_list import Faults
from simcli.spec.base.nodes import Listing, Node, PathStep, Scalar, TableNode, plain
from simcli.spec.base.patterns import matching
from simcli.spec.values.quantity_units import QuantityUnits, UnitTexts

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


class JointUnits(UnitTexts):
    """Converts the values of joints, and what is asked of quantities.

    Args:
        faults: receives what does not fit.

    Attributes:
        types: of joints by name, the type and the kinds of their dofs; for `initial` and quantities.
    """

    def __init__(self, faults: Faults):
        super().__init__(faults)
        self.types: dict[str, tuple[str, str]] = {}

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
        initial, keyframes = root.get("initial"), root.get("keyframes")
        listed = self.listed(root.get("articulations"))
        if isinstance(initial, TableNode):
            changes["initial"] = self.initial(initial, listed)
        if isinstance(keyframes, TableNode):
            tables = {name: node for name, node in keyframes.items.items() if isinstance(node, TableNode)}
            changes["keyframes"] = keyframes.replaced({name: self.initial(node, listed) for name, node in tables.items()})
        changes |= QuantityUnits(self.faults, self.types).sections(root)
        return root.replaced(changes) if changes else root

    def force(self, node: Node) -> Node:
        """A force on a joint."""
        joint = node.get("joint") if isinstance(node, TableNode) else None
        if not isinstance(joint, Scalar) or joint.value not in self.types:
            return node
        _, of = self.types[joint.value]
        changes = {
            key: self.per_dof(node.items[key], dofs.units(role, of)) for key, role in _FORCE.items() if key in node.items
        }
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
        return {
            title: [place_of[name] for name in names if isinstance(name, str) and name in place_of]
            for title, names in groups.items()
            if isinstance(names, list)
        }

    def shared(self, node: Node, layouts: Sequence[Sequence[str]]) -> Node:
        """A value of several joints, each with its units."""
        if not isinstance(node, Listing):
            return self.scalar(node, [unit for units in layouts for unit in units])
        entries = [[units[k] for units in layouts if k < len(units)] for k in range(len(node.items))]
        return Listing([self.scalar(item, units) for item, units in zip(node.items, entries, strict=True)], node.mark)


def _length(axes: Node | None, key: str) -> int:
    node = axes.get(key) if isinstance(axes, TableNode) else None
    return min(len(node.items), 3) if isinstance(node, Listing) else 0


def _by_dof(node: Listing, of: str):
    """Entries of a list with the kind of their dof; an entry beyond the last dof is left to the schema."""
    for index, item in enumerate(node.items):
        yield item, of[index : index + 1] or of
