"""The scene that is written: its tables, its names in the model, what is told of each of its elements; the text of the file.

Attributes of elements stand in the order in which they are given, numbers in their shortest exact spelling.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

import numpy as np

from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import GivenNames, words_of_renaming
from simcli.model.bodies.mesh import STL_HEADER, STL_TRIANGLE, read_mesh
from simcli.model.tables.model import WORLD, Array, Model
from simcli.spec.document.scene_file import Document
from simcli.spec.lookup.structure import WORLD_NAME
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.signals import DriveSpec

_LARGEST_WHOLE = 1e15  # of the numbers that are written without a point


@dataclass
class Tag:
    """An element to be written.

    Attributes:
        name: of the element.
        attributes: name to text.
        children: in order.
    """

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Tag"] = field(default_factory=list)

    def add(self, name: str, /, **attributes: object) -> "Tag":
        """A new child; attributes that are None are left out."""
        child = tag(name, **attributes)
        self.children.append(child)
        return child


def tag(name: str, /, **attributes: object) -> Tag:
    """An element; attributes that are None are left out."""
    return Tag(name, {key: spelled(value) for key, value in attributes.items() if value is not None})


def spelled(value: object) -> str:
    """A value of an attribute: text, a number, or numbers with spaces between them."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Iterable):
        return " ".join(_number(float(one)) for one in np.asarray(value, float).ravel().tolist())
    return _number(float(value))


def _number(value: float) -> str:
    value += 0.0  # no negative zero
    return str(int(value)) if value.is_integer() and abs(value) < _LARGEST_WHOLE else repr(value)


def document_text(root: Tag, head: Iterable[str]) -> str:
    """The text of a file.

    Args:
        root: its element.
        head: lines of the comment above it.
    """
    comment = "\n".join(line.replace("--", "- -") for line in head)
    printable = "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in comment)
    return f'<?xml version="1.0"?>\n<!--\n{printable}\n-->\n{_text(root, 0)}'


def _text(element: Tag, depth: int) -> str:
    space = "  " * depth
    words = "".join(f" {key}={quoteattr(value)}" for key, value in element.attributes.items())
    if not element.children:
        return f"{space}<{element.name}{words}/>\n"
    inner = "".join(_text(child, depth + 1) for child in element.children)
    return f"{space}<{element.name}{words}>\n{inner}{space}</{element.name}>\n"


@dataclass
class MeshCopies:
    """Meshes that a model names.

    Attributes:
        document: whose folder has them.
        folder: relative to the model, that gets them.
        files: path relative to the model to bytes.
    """

    document: Document
    folder: str
    files: dict[str, bytes] = field(default_factory=dict)
    _taken: dict[str, str] = field(default_factory=dict)

    def take(self, name: str) -> str:
        """The path in the model of a mesh as the scene names it; text STL becomes OBJ, which every program reads."""
        if name in self._taken:
            return self._taken[name]
        path = self.document.folder / name
        data, plain = path.read_bytes(), re.sub(r"[^A-Za-z0-9._-]", "_", path.name)
        if path.suffix.lower() == ".stl" and not _is_binary_stl(data):
            data, plain = _as_obj(path), f"{plain[:-4]}.obj"
        candidates = (f"{self.folder}/{plain}", *(f"{self.folder}/{k}_{plain}" for k in range(2, 10_000)))
        found = next(one for one in candidates if one not in self.files)
        self.files[found] = data
        self._taken[name] = found
        return found


def _is_binary_stl(data: bytes) -> bool:
    count = int.from_bytes(data[STL_HEADER : STL_HEADER + 4], "little")
    return len(data) == STL_HEADER + 4 + count * STL_TRIANGLE.itemsize


def _as_obj(path) -> bytes:
    vertices, faces = read_mesh(path)
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces.tolist()]
    return ("\n".join(lines) + "\n").encode()


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

    def lose_drive(self, name: str, path: str, drive: DriveSpec | None, of: str, without_lag: str = "") -> None:
        """Tell of what a drive has and an actuator of another format has not.

        Args:
            name: of the joint or coupling.
            path: dotted, of the drive.
            drive: of the spec.
            of: the format.
            without_lag: why the format has no activation, "" if it has one.
        """
        if drive is None:
            return
        if drive.effort_limit_table is not None:
            self.lose(
                "effort_limit_table", name, f"{path}.effort_limit_table", f"{of} has one limit for all speeds: the largest"
            )
        if drive.activation is not None and without_lag:
            self.lose("activation", name, f"{path}.activation", without_lag)
        elif drive.activation is not None and drive.activation.fall is not None:
            self.lose("fall", name, f"{path}.activation.fall", f"{of} has one time constant: that of rising")
            if drive.activation.law != "first_order":
                self.lose("law", name, f"{path}.activation.law", f"drives of {of} have a lag whose time constant stays")

    def lose_tables(self, name: str, path: str, spring) -> None:
        """Tell of tensions by tables, which tendons have not."""
        for key in ("stiffness_table", "damping_table"):
            if getattr(spring, key) is not None:
                self.lose(key, name, f"{path}.{key}", "MJCF has no springs and dampers by tables: it pulls with nothing")

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
