"""The scene that is written: its tables, its names in the model, and what is told of each of its elements."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import GivenNames, words_of_renaming
from simcli.model.tables.model import WORLD, Array, Model
from simcli.spec.document.scene_file import Document
from simcli.spec.lookup.structure import WORLD_NAME
from simcli.spec.schema.scene import SceneSpec


@dataclass
class WrittenScene:
    """A scene on its way to another format.

    Attributes:
        document: knows the lines.
        spec: the scene.
        model: its tables, of the values that the file has.
        report: receives a line for each element.
        bodies: names of the bodies in the model, by index.
        joints, shapes, others: names given so far.
    """

    document: Document
    spec: SceneSpec
    model: Model
    report: ImportReport
    bodies: list[str] = field(default_factory=list)
    joints: GivenNames = field(default_factory=lambda: GivenNames(()))
    shapes: GivenNames = field(default_factory=lambda: GivenNames(()))
    others: GivenNames = field(default_factory=lambda: GivenNames(()))

    def __post_init__(self) -> None:
        names = GivenNames()
        self.bodies = [names.give(name) for name in self.model.bodies.name]

    def name_of(self, body: int) -> str:
        """Name of a body in the model."""
        return WORLD_NAME if body == WORLD else self.bodies[body]

    def _place(self, path: str) -> tuple[int, str]:
        """Line of a dotted path, 0 if nothing of it is written, and the file, if it is an included one."""
        place = self.document.where(path)
        return place.line, "" if place.file == str(self.document.path) else place.file

    def has(self, key: str) -> bool:
        """Whether the file writes a section."""
        return self.document.root.get(key) is not None

    def report_element(self, kind: str, name: str, path: str, change: str = "") -> None:
        """An element is in the model, as it was or changed.

        Args:
            kind: of element.
            name: in the scene.
            path: dotted, of the element.
            change: what became of it; "" for nothing.
        """
        line, file = self._place(path)
        self.report.kept(kind, name, line, change, file)

    def lose(self, kind: str, name: str, path: str, why: str) -> None:
        """An element is not in the model."""
        line, file = self._place(path)
        self.report.dropped(kind, name, line, why, file)

    def lose_keys(self, name: str, path: str, shape, why: Mapping[str, str]) -> None:
        """Tell of keys of a shape that collides, whose values are others than those that hold without them.

        Args:
            name: of the shape in the scene.
            path: dotted, of it.
            shape: of the spec.
            why: by key, the reason why a model has none.
        """
        for key, words in why.items():
            if shape.collide and getattr(shape, key) != type(shape).model_fields[key].default:
                self.lose(key, name, f"{path}.{key}", words)

    def lose_concavity(self, name: str, path: str, shape) -> None:
        """Tell of a mesh that touches as it is, which other programs take for its hull."""
        if shape.collide and shape.type == "mesh" and not shape.convex:
            self.lose("convex", name, f"{path}.convex", "meshes of models touch as their convex hulls: `simcli decompose`")

    def lose_strain(self, name: str, path: str, body) -> None:
        """Tell of what a body of the affine solver says of its strain, and of what holds or moves it softly."""
        if body.affine is not None:
            self.lose("affine", name, f"{path}.affine", "models have rigid bodies, which nothing holds softly")

    def renaming(self, before: str, after: str) -> str:
        """What is told of a name with a slash, or of one that was taken; "" for one that stayed."""
        return words_of_renaming(before, after)

    def first(self, table: object, column: str) -> Array:
        """A column of a table of the model, of the first world."""
        return getattr(table, column)[0]


def joined_words(*parts: str) -> str:
    """What was changed, in one line; empty parts are left out."""
    return "; ".join(part for part in parts if part)


def pose_numbers(pose) -> Array:
    """[m, 1], (7,), a pose as the scene has it."""
    return np.array((*pose.xyz, *pose.quat_xyzw))


def tell_the_rest(scene: WrittenScene) -> None:
    """What no model has: batches, events, signals, and how a run goes."""
    spec = scene.spec
    if scene.has("batch"):
        scene.report_element("batch", "", "batch", "one model, with the values that the file has")
    for index, event in enumerate(spec.events):
        scene.lose("event", event.words(), f"events[{index}]", "models have no events")
    for name in spec.signals:
        scene.lose("signal", name, f"signals.{name}", "models have no functions of time; what it drives stays at 0")
    for key in ("measure", "expect", "run", "output"):
        if scene.has(key):
            scene.report_element(key, "", key, "says how a run goes, not what moves: it stays in the scene")
    for name in spec.articulations or ():
        scene.report_element("articulation", name, f"articulations.{name}", "models have no names for groups of joints")
    if scene.has("look"):
        scene.report_element("look", "", "look", "background and cameras stay in the scene")
    if spec.world.plane:
        scene.report_element("plane", spec.world.plane, "world.plane", "bodies that nothing holds got slides and a hinge")
