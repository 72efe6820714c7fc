"""Defaults, models, instances and replicas: from the file as written to the tree that is simulated.

Names inside a template get the prefix of the instance, and so do references to them; `at` moves what is given in world
coordinates: body poses, joint anchors and axes, world ends of springs, frames of joints on the world. Every node keeps
the mark of the template's line.
"""

import itertools
import math

import numpy as np
from pydantic import ValidationError

from simcli.spec.base.fault_list import Faults, did_you_mean
from simcli.spec.base.nodes import Mark, Node, Scalar, TableNode, plain
from simcli.spec.document.defaults import Defaults, names_of
from simcli.spec.expansion.placing import EMPTY_TABLE, NO_VALUE, UNMOVED_POSE, Placement, compose_poses, pose_array, table_at
from simcli.spec.faults.validate import report_errors
from simcli.spec.lookup.scene_values import AXES
from simcli.spec.lookup.structure import WORLD_NAME
from simcli.spec.schema.pose import PoseSpec
from simcli.spec.schema.scene import InstanceSpec, ReplicaSpec
from simcli.spec.values.scopes import Scope, evaluated, same_kind, where_of
from simcli.spec.values.varied_values import number_row

MAX_COPIES = 100_000
MAX_EXPANDED = 2_000_000  # nodes
SECTIONS = ("bodies", "joints", "forces", "signals", "sensors", "articulations")


class TooLargeError(Exception):
    """The expansion was given up; the fault is noted."""


class Expander:
    """Expands one tree.

    Attributes:
        faults: collects.
        models: templates by name.
        out: section -> entries of the expanded tree, and their key marks.
        lost: prefixes of names that a broken instance would have made; nothing is known of them.
    """

    def __init__(self, root: TableNode, scope: Scope, faults: Faults):
        self.root, self.scope, self.faults = root, scope, faults
        self.models = table_at(root.get("models"))
        self.defaults = Defaults(root.get("defaults"), names_of(root))
        plane = table_at(root.get("world")).get("plane")
        self.plane = plane.value if isinstance(plane, Scalar) and plane.value in AXES else None
        self.out: dict[str, dict[str, Node]] = {section: {} for section in SECTIONS}
        self.keys: dict[str, dict[str, Mark]] = {section: {} for section in SECTIONS}
        self.nodes = 0
        self.used: set[str] = set()
        self.lost: list[str] = []

    def expand(self) -> TableNode:
        """The tree without authoring keys; expressions evaluated."""
        rest = {}
        for key, node in self.root.items.items():
            if key not in ("models", "defaults", "instances", "replicate", "params", "include", "resolved", *SECTIONS):
                rest[key] = evaluated(node, self.scope)
        if "world" in rest:
            rest["world"] = self.defaults.shapes(rest["world"], WORLD_NAME, lambda default: evaluated(default, self.scope))
        for section in SECTIONS:
            node = self.root.get(section)
            if node is not None and not isinstance(node, TableNode):
                rest[section] = node
        if self.copies_in(self.root, {}) > MAX_COPIES:
            where = where_of(self.root.keys.get("replicate", self.root.keys.get("instances", self.root.mark)))
            self.faults.add("SC105", f"more than {MAX_COPIES} copies of models", where, "make fewer")
            raise TooLargeError
        self.content(self.root, "", UNMOVED_POSE, self.scope, [])
        if not self.lost:
            self.defaults.tell_unmatched(self.faults)
        params = {name: Scalar(value, self.scope.nodes[name][0].mark) for name, value in self.scope.values.items()}
        items = dict(rest)
        if params:
            items["params"] = TableNode(params, {name: self.scope.nodes[name][0].mark for name in params}, self.root.mark)
        for section in SECTIONS:
            if self.out[section] or (isinstance(self.root.get(section), TableNode) and section == "articulations"):
                home = self.root.get(section)
                mark = home.mark if home is not None else self.root.mark
                items[section] = TableNode(self.out[section], self.keys[section], mark)
        keys = {key: self.root.keys.get(key, self.root.mark) for key in items}
        return TableNode(items, keys, self.root.mark)

    def unused(self) -> TableNode:
        """The content of the templates that nothing uses, so that their faults come with the others."""
        quiet = Expander(self.root, Scope(None, Faults()), Faults())  # what their parameters lack, an instance may give
        quiet.scope.declare(self.root.get("params"))
        for name, model in self.models.items.items():
            if name not in self.used and isinstance(model, TableNode):
                inner = quiet.inner_scope(model, EMPTY_TABLE, name, quiet.scope)
                alone = model.replaced({"instances": None, "replicate": None})
                quiet.content(alone, f"{name}/", UNMOVED_POSE, inner, [name])
        sections = {section: TableNode(quiet.out[section], quiet.keys[section], self.root.mark) for section in SECTIONS}
        return TableNode(sections, dict.fromkeys(sections, self.root.mark), self.root.mark)

    def copies_in(self, source: TableNode, known: dict[str, int]) -> int:
        """How many copies of models a scene or template makes, as far as the counts are written as numbers."""
        total = 0
        for section in ("instances", "replicate"):
            for node in table_at(source.get(section)).items.values():
                model = plain(table_at(node).get("model") or NO_VALUE)
                if not isinstance(model, str) or not isinstance(self.models.get(model), TableNode):
                    continue
                if model not in known:
                    known[model] = 0  # ends circles, which are faults of their own
                    known[model] = self.copies_in(self.models.items[model], known)
                total += _times(node, self.scope) * (1 + known[model])
        return total

    def content(self, source: TableNode, prefix: str, at: np.ndarray, scope: Scope, stack: list[str]) -> None:
        """Put the entries of a scene or template into the output, then its instances."""
        local = {section: set(table_at(source.get(section)).items) for section in SECTIONS}
        place_in = Placement(prefix, at, local, self.plane)
        for section in SECTIONS:
            table = table_at(source.get(section))
            for name, node in table.items.items():
                entry = evaluated(node, scope)
                if section == "bodies":
                    entry = self.body(entry, prefix + name, scope, place_in)
                elif section == "joints":
                    entry = self.joint(entry, prefix + name, scope, place_in)
                elif prefix:
                    entry = self.placed_in(place_in, section, entry)
                self.put(section, prefix + name, entry, table.keys[name])
        for section, kind in (("instances", InstanceSpec), ("replicate", ReplicaSpec)):
            table = table_at(source.get(section))
            for name, node in table.items.items():
                self.copies(kind, section, name, table.keys[name], node, prefix, at, scope, stack)

    @staticmethod
    def placed_in(place_in: Placement, section: str, entry: Node) -> Node:
        """An entry of a template that is no body and no joint, with the names and places that it has here."""
        placed = {"forces": place_in.force, "signals": place_in.signal, "sensors": place_in.sensor}.get(section)
        return placed(entry) if placed else place_in.names_in(entry, section)

    def put(self, section: str, name: str, node: Node, mark: Mark) -> None:
        """Add an entry to the output."""
        self.nodes += node.size
        if name in self.out[section]:
            where = where_of(mark, f"{section}.{name}")
            self.faults.add("SC302", f"`{name}` is written twice in `{section}`", where, "rename one")
        self.out[section][name] = node
        self.keys[section][name] = mark

    def copies(
        self,
        kind: type[InstanceSpec] | type[ReplicaSpec],
        section: str,
        name: str,
        key_mark: Mark,
        node: Node,
        prefix: str,
        at: np.ndarray,
        scope: Scope,
        stack: list[str],
    ) -> None:
        """Expand one instance or replica.

        Args:
            kind: what it is.
            section: `instances` or `replicate`.
            name: its key there.
            key_mark: where this key stands.
            node: what is written of it.
            prefix: of the names of what it is in, as `left/`; "" in the scene.
            at: [m, 1], (7,), pose of what it is in, world.
            scope: parameters of what it is in.
            stack: models that it is in, outermost first.
        """
        where = where_of(key_mark, f"{section}.{name}")
        ready = evaluated(node, scope)
        try:
            spec = kind.model_validate(plain(ready))
        except ValidationError as error:
            report_errors(error, ready, (section, name), self.faults, key_mark)
            # One copy of the model all the same, so that its own faults and those of references to it come with this one.
            wanted = plain(table_at(ready).get("model") or NO_VALUE)
            spec = InstanceSpec.model_construct(model=wanted, at=PoseSpec(), params={})
            if not isinstance(wanted, str):
                self.lost.append(f"{prefix}{name}/")
                return
        if kind is ReplicaSpec and not isinstance(spec, ReplicaSpec):
            self.lost.append(f"{prefix}{name}/")  # the names of copies that cannot be counted
        model = self.models.get(spec.model)
        place_of = where_of(ready.items["model"].mark, f"{section}.{name}.model") if isinstance(ready, TableNode) else where
        if not isinstance(model, TableNode):
            self.faults.add(
                "SC307",
                f"there is no model `{spec.model}`",
                place_of,
                did_you_mean(spec.model, self.models.items, "models"),
            )
            self.lost.append(f"{prefix}{name}/")
            return
        if spec.model in stack:
            self.faults.add("SC308", f"the model `{spec.model}` contains itself", place_of)
            self.lost.append(f"{prefix}{name}/")
            return
        if isinstance(spec, ReplicaSpec) and math.prod(spec.count) > MAX_COPIES:
            number = math.prod(spec.count)
            self.faults.add("SC105", f"{number} copies of `{spec.model}`, the limit is {MAX_COPIES}", where, "make fewer")
            self.lost.append(f"{prefix}{name}/")
            return
        self.used.add(spec.model)
        inner = self.inner_scope(model, ready, spec.model, scope)
        for tag, shift in _places(spec):
            self.nodes += 1
            if self.nodes > MAX_EXPANDED:
                message = f"more than {MAX_EXPANDED} values after expansion"
                self.faults.add("SC105", message, where, "make fewer copies")
                raise TooLargeError
            base = compose_poses(pose_array(spec.at), number_row([*shift, *UNMOVED_POSE[3:]]))
            self.content(model, f"{prefix}{name}/{tag}", compose_poses(at, base), inner, [*stack, spec.model])

    def inner_scope(self, model: TableNode, instance: TableNode, name: str, scope: Scope) -> Scope:
        """Parameters of a template, with those of the instance on top."""
        inner = Scope(scope, self.faults)
        inner.declare(model.get("params"))
        own = instance.get("params")
        for key in table_at(own).items:
            if key not in inner.nodes:
                known = list(inner.nodes)
                self.faults.add(
                    "SC309",
                    f"the model `{name}` has no parameter `{key}`",
                    where_of(own.keys[key]),
                    did_you_mean(key, known, "parameters"),
                )
            elif not same_kind(inner.nodes[key][0], own.items[key]):
                written = inner.nodes[key][0].value
                message = f"`{own.items[key].value}` is of another kind than `{written}` of the model `{name}`"
                self.faults.add("SC213", message, where_of(own.items[key].mark), "write a unit of the same kind")
        inner.declare(own, home=scope)
        inner.check_all()
        return inner

    def body(self, node: Node, name: str, scope: Scope, where: Placement) -> Node:
        """A body with its defaults, moved into place."""
        if not isinstance(node, TableNode):
            return node
        node = self.defaults.filled(node, "body", name, lambda default: evaluated(default, scope))
        return where.body(self.defaults.shapes(node, name, lambda default: evaluated(default, scope)))

    def joint(self, node: Node, name: str, scope: Scope, where: Placement) -> Node:
        """A joint with its defaults, moved into place."""
        if not isinstance(node, TableNode):
            return node
        return where.joint(self.defaults.filled(node, "joint", name, lambda default: evaluated(default, scope)))


def _times(node: TableNode, scope: Scope) -> int:
    """Copies that a replica asks for; one for an instance, and where it cannot be told yet."""
    count = table_at(node).get("count")
    values = plain(evaluated(count, Scope(scope, Faults()))) if count is not None else []
    numbers = values if isinstance(values, list) else [values]
    return math.prod(int(n) for n in numbers if type(n) in (int, float) and 1 <= n < 1e18)


def _places(spec: InstanceSpec):
    """Tag and shift of every copy."""
    if not isinstance(spec, ReplicaSpec):
        yield "", (0.0, 0.0, 0.0)
        return
    for index in itertools.product(*(range(n) for n in spec.count)):
        yield "-".join(str(i) for i in index) + "/", tuple(i * d for i, d in zip(index, spec.spacing, strict=True))
