"""Numbers of a scene that nothing reads: neither its model, nor an event, a signal, a sensor, a measure or what ends a run.

A path is judged by who reads it, not by what its numbers do: by references, and by the orders in which one place holds over
another. Where no rule here says that nothing reads a value, it is read.

    parameters          the values whose expressions name them, through other parameters, defaults and keyframes, too
    starts              what holds of them (spec/expansion/starts.py)
    signals             those that drive something or are named (spec/lookup/signal_uses.py)
    materials, pairs    of shapes that can touch, what no entry of `contact.pairs` says (model/bodies/contact_numbers.py)
    shapes              those that can touch, that are looked at, or that give their body its mass
    joints              what acts on joints that are on at some time
    all                 what an event at the start sets is not read as written
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from simcli.errors import Fault
from simcli.model.bodies.contact_numbers import is_material_read, is_pair_read
from simcli.model.bodies.contact_pairs import members_of
from simcli.model.from_scene import build_together
from simcli.model.phases import EARLY
from simcli.model.tables.model import WORLD, Model
from simcli.spec.base.nodes import PathStep, Rank, find, full_rank, locate, parse_path, walk_nodes
from simcli.spec.batches.world_values import values_of_world, world_columns
from simcli.spec.checks.events import events_are_tried, in_time
from simcli.spec.document.overrides import SET, overridden_path
from simcli.spec.document.scene_file import Document
from simcli.spec.expansion.expand import BEFORE_EXPANSION
from simcli.spec.expansion.keyframes import CONTROLS
from simcli.spec.expansion.starts import held_nodes, is_of_start
from simcli.spec.expansion.worlds import dependent_leaves, tree_with_ranks
from simcli.spec.lookup.signal_uses import signals_read
from simcli.spec.resolve import resolve
from simcli.spec.schema.scene import SceneSpec

_SILENT = ("name", "description", "look", "articulations", "keyframes", "params", "simcli")  # sections that no run reads
_LOOKED_AT = ("events", "measure", "expect", "run", "sensors", "output", "solver", "batch")  # whose words may name shapes
_COPIED = ("defaults", "keyframes")  # whose values stand in the scene as they are written
_TEMPLATES = ("models", "instances", "replicate")
_OF_DISABLED = ("limit", "drive", "damping", "friction", "armature", "velocity_limit", "compliance")  # rest with it
_NO_MASS = ("margin", "grain", "surface_velocity", "look")  # of shapes
_Path = tuple[PathStep, ...]


def unread_paths(document: Document, spec: SceneSpec, paths: Iterable[str], typed: bool = False) -> list[str]:
    """Those of some paths that nothing reads.

    Args:
        document: the scene as written.
        spec: it resolved, without the values of any world.
        paths: dotted; each is judged by itself, beside what the batch varies.
        typed: whether they are those of `--set`, over which others hold.
    """
    readers = _Readers(document, spec, typed)
    return [path for path in dict.fromkeys(paths) if not readers.read(path)]


class _Readers:
    """Who reads the values of a scene.

    Args:
        document, spec, typed: as of `unread_paths`.
    """

    def __init__(self, document: Document, spec: SceneSpec, typed: bool):
        self.document, self.spec, self.typed = document, spec, typed

    def read(self, path: str) -> bool:
        """Whether something reads a path."""
        steps = parse_path(path)
        leaves = None if steps is None else self.leaves(path, steps)
        return leaves is None or any(self.reads(leaf, path) for leaf in leaves)

    def leaves(self, path: str, steps: _Path) -> Iterable[_Path] | None:
        """The values of the scene that a path is, or that are made of it; None where nobody can tell all of them."""
        if steps[0] not in BEFORE_EXPANSION:
            return [steps]
        is_param = steps[0] == "params" and len(steps) == 2
        found = dependent_leaves(self.document.root, self.document.root.get("params"), {str(steps[1])}) if is_param else None
        if found is not None:
            return found
        if not (is_param and not self.has_templates) and steps[0] not in _COPIED:
            return None
        return self.copies(path, steps)

    @cached_property
    def has_templates(self) -> bool:
        """Whether parts of the scene are worked out from others, which does not say from which."""
        return any(key in self.document.root.items for key in _TEMPLATES)

    def copies(self, path: str, steps: _Path) -> Iterable[_Path] | None:
        """The values of the expanded scene that are those of a path, or expressions of it; None where there may be more."""
        node = find(self.document.root, steps)
        if node is None or full_rank(node) == Rank.RUN:  # whose marks do not tell it from others
            return None
        tree = tree_with_ranks(self.document, (path,))
        found = [
            leaf
            for leaf, node in walk_nodes(tree)
            if leaf and leaf[0] not in BEFORE_EXPANSION and full_rank(node) > full_rank(find(self.document.expanded, leaf))
        ]
        may_hide = steps[0] == "keyframes" and CONTROLS in steps  # what a control has become has no mark of it
        return None if may_hide and not found else found

    def reads(self, leaf: _Path, path: str) -> bool:
        """Whether something reads a value, of which another path may be the source."""
        section, name, key = (str(step) for step in (*leaf, "", "")[:3])
        if section in _SILENT or any(leaf[: len(one)] == one for one in self.set_at_start):
            return False
        if is_of_start(leaf) and key:
            return self.reads_start(leaf, path)
        if section == "signals":
            return name in self.signals
        if section == "materials" and name in self.spec.materials:
            return self.reads_material(name, key)
        if leaf[:2] == ("contact", "pairs") and len(leaf) > 3:
            return is_pair_read(self.spec, *self.touching, leaf[2], str(leaf[3]))
        if section == "joints" and key in _OF_DISABLED and name in self.spec.joints:
            return self.spec.joints[name].enabled or self.is_switched(name)
        return self.reads_shape(leaf)

    @cached_property
    def set_at_start(self) -> list[_Path]:
        """What events set before the first step."""
        if not events_are_tried(self.document):
            return []
        early = EARLY * self.spec.solver.dt
        events = [self.spec.events[index] for index in in_time(self.spec)]
        return [parse_path(path) or ("",) for event in events if event.at <= early for path in event.set]

    @cached_property
    def signals(self) -> set[str]:
        """Those that are read."""
        return signals_read(self.spec)

    def is_switched(self, joint: str) -> bool:
        """Whether an event puts a joint on or off."""
        return any(f"joints.{joint}.enabled" in event.set for event in self.spec.events)

    def reads_start(self, leaf: _Path, path: str) -> bool:
        """Whether what a value says of the start holds for a coordinate, or a pose places a joint besides."""
        if leaf[0] == "bodies" and leaf[2] == "pose" and self.places(str(leaf[1])):
            return True
        if leaf[0] == "initial" and leaf[1] not in ("joint_q", "joint_qd"):
            return True
        paths = tuple(dict.fromkeys((*self.spec.batch.paths, path)))
        tree = tree_with_ranks(self.document, paths, (path,) if self.typed else ())
        mine = find(tree, leaf)
        if mine is None or (find(self.document.expanded, leaf) is None and path not in self.spec.batch.paths):
            return True  # not written, so that the scene has no number of it
        held = {id(node) for one in held_nodes(self.world, tree) for _, node in walk_nodes(one)}
        return any(id(node) in held for _, node in walk_nodes(mine))

    def places(self, body: str) -> bool:
        """Whether the pose of a body says more than where it begins."""
        for joint in self.spec.joints.values():
            is_own = joint.type == "free" and joint.child == body
            if body in (joint.parent, joint.child) and not (is_own and not joint.uses_frames and joint.at is None):
                return True
        return any(
            path[-1] == "in" and str(getattr(node, "value", "")).split("/")[0] == body
            for path, node in walk_nodes(self.document.expanded)
            if path
        )

    def reads_material(self, name: str, key: str) -> bool:
        """Whether the number of a material is one of a body or of a contact."""
        if key != "density":
            return is_material_read(self.spec, *self.touching, name, key)
        return any(
            _needs_mass(body) and shape.material == name and shape.density is None
            for body in self.spec.bodies.values()
            for shape in body.shapes.values()
        )

    def reads_shape(self, leaf: _Path) -> bool:
        """Whether a value is none of a shape, or one that can touch, that is looked at, or that gives its body its mass."""
        at = 2 if leaf[0] == "bodies" else 1
        if leaf[0] not in ("bodies", "world") or leaf[at : at + 1] != ("shapes",) or len(leaf) < at + 3:
            return leaf[at : at + 1] != ("look",) or leaf[0] not in ("bodies", "world")
        name, key = str(leaf[at + 1]), str(leaf[at + 2])
        gives_mass = leaf[0] == "bodies" and key not in _NO_MASS and _needs_mass(self.spec.bodies[str(leaf[1])])
        if gives_mass or self.spec.solver.type == "affine" or self.looks_at_all:
            return key != "look"
        label = (f"{leaf[1]}/{name}", str(leaf[1])) if leaf[0] == "bodies" else (name, "world")
        return key != "look" and label in self.labels and self.acts[self.labels.index(label)]

    @cached_property
    def looks_at_all(self) -> bool:
        """Whether sensors, or quantities that measure distances, may look at any shape."""
        return bool(self.spec.sensors) or "distance." in self.spec.model_dump_json(include={"signals", *_LOOKED_AT})

    @cached_property
    def world(self) -> SceneSpec:
        """The scene of the first world, with what varies."""
        values = values_of_world(world_columns(self.spec), 0)
        return resolve(self.document, values) if values else self.spec

    @cached_property
    def model(self) -> Model:
        """Of the scene as it is."""
        return build_together(self.document, [self.spec])

    @cached_property
    def labels(self) -> list[tuple[str, str]]:
        """Name and body of each shape."""
        bodies, shapes = list(self.spec.bodies), self.model.shapes
        return [(name, "world" if b == WORLD else bodies[b]) for name, b in zip(shapes.name, shapes.body, strict=True)]

    @cached_property
    def acts(self) -> list[bool]:
        """Whether each shape can touch another one."""
        contacts = self.model.contacts
        found = [] if contacts is None else contacts.touching
        return np.isin(np.arange(len(self.labels)), found).tolist()

    @cached_property
    def touching(self) -> tuple[list[tuple[str, str]], np.ndarray, np.ndarray]:
        """A shape of each group of them, and the groups of each combination that can touch."""
        contacts = self.model.contacts
        return ([], np.zeros(0, int), np.zeros(0, int)) if contacts is None else members_of(self.model, contacts)


def _needs_mass(body) -> bool:
    """Whether shapes say something of the mass of their body."""
    return body.mass is None or body.inertia is None


_WHY = {
    "joints": "the joint starts at a value from elsewhere (`simcli docs assembly` has the order), or is not used",
    "initial": "the joint starts at a value from elsewhere (`simcli docs assembly` has the order)",
    "keyframes": "`initial` does not use this keyframe, or the joint starts at a value from elsewhere",
    "bodies": "its joint, `initial` or a keyframe determines where the body starts, or it is not used",
    "materials": "no shape that can touch another has the material, or `contact.pairs` sets it for all its pairs",
    "contact": "no two of these shapes can touch, or a later pair sets the same",
    "signals": "nothing is driven by the signal, and no quantity names it",
    "params": "no expression that has an effect uses it",
}
_READERS = "the model, an event, a signal, a sensor, a measure, an expectation or the end of the run"


def unread_varied(document: Document, spec: SceneSpec) -> list[Fault]:
    """A fault for each path that the batch varies and nothing reads."""
    batch = spec.batch
    columns = batch.table.read.values if batch.table is not None else {}
    found = []
    for path in unread_paths(document, spec, batch.paths):
        at = ["batch", "table"] if path in columns else ["batch", "vary", path]
        message = f"`{path}` differs between worlds, but has no effect: it is read by none of {_READERS}"
        found.append(Fault("SC317", message, locate(document.expanded, at, on_key=True), why_unread(path)))
    return found


def unread_sets(document: Document, spec: SceneSpec) -> list[str]:
    """A line for each `--set` that nothing reads."""
    paths = [overridden_path(one) for one in document.overrides if one.option == SET and one in document.typed]
    return [
        f"--set {path}: has no effect, because nothing reads it: {why_unread(path)}"
        for path in unread_paths(document, spec, paths, typed=True)
    ]


def why_unread(path: str) -> str:
    """Why nothing reads a path, as a hint."""
    return _WHY.get(path.split(".")[0], f"name what one of these reads: {_READERS}")
