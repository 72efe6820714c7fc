"""An SDF file as a mechanism: models within each other and in a world, and what is dropped by name.

Source: the specification of SDFormat, versions 1.4 to 1.12 (Open Robotics).
"""

import re
from pathlib import Path

import numpy as np

from simcli.errors import FileError
from simcli.exchange.sdf.frame_graph import MODEL_FRAME, WORLD_FRAME, FrameGraph, SdfFrame, close_loops, full_name
from simcli.exchange.sdf.joints import lose_led_starts, read_gearboxes, read_joint, read_mimics
from simcli.exchange.sdf.links import read_link
from simcli.exchange.sdf.source import NAMED_FRAMES, WHY_UNREAD, Includes, SdfSource
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import (
    MODEL_LAYER,
    GivenNames,
    SourceFrame,
    SourceJoint,
    SourceLink,
    SourceModel,
    words_of_renaming,
)
from simcli.exchange.source.meshes import MeshFiles
from simcli.exchange.source.xml_reader import XmlElement
from simcli.spec.lookup.structure import WORLD_NAME
from simcli.spec.schema.shape import DEFAULT_LAYER

_TURNED = 1e-12  # sine of half an angle [rad] up to which a frame is turned by rounding
_GRAVITY = [0.0, 0.0, -9.8]  # [m/s^2], of a world that writes none
_VERSION = re.compile(r"(\d+)\.(\d+)\Z")


class _Sdf:
    """One file as it is read."""

    def __init__(self, source: SdfSource):
        self.source, self.root = source, source.root
        self.frames = FrameGraph(source.path)
        # With the names of their models, whether these are static, and the group of shapes that do not touch each other.
        self.links: list[tuple[XmlElement, str, bool, str]] = []
        self.joints: list[tuple[XmlElement, str]] = []
        self.named: dict[str, str] = {}  # full name of a link to its name in the scene
        self.still = {WORLD_NAME}  # names of links of static models
        self.groups = GivenNames((DEFAULT_LAYER,))

    def read(self) -> None:
        source, mechanism = self.source, self.source.mechanism
        world = source.part(self.root, "world")
        models = list((world or self.root).all("model"))
        if not models:
            raise FileError(f"{source.at(self.root)}: holds no model")
        self._gravity(world)
        mechanism.name = models[0].get("name") or mechanism.name
        mechanism.links[WORLD_NAME] = SourceLink(WORLD_NAME, 0)
        parts = [] if world is None else list(world.all("frame", "joint"))
        for model in models:
            scope = "" if len(models) == 1 and not parts else model.get("name")
            self._collect(model, WORLD_FRAME, scope, False, self._group(model, len(models)))
        for part in parts:
            self._collect_part(part, "", WORLD_FRAME)
        for element, scope, is_static, group in self.links:
            self._link(element, scope, is_static, group)
        for element, scope in self.joints:
            self._joint(element, scope)
        gears = [(element, scope) for element, scope in self.joints if element.get("type") == "gearbox"]
        read_gearboxes(source, gears, self._end)
        read_mimics(source, [one for one in self.joints if one not in gears])
        lose_led_starts(source)
        self._points()
        close_loops(source.path, mechanism, source.report)
        for name, (element, change) in source.changes.items():
            joint = mechanism.joints[name]
            loop = f"closes a loop at `{joint.child}`" if "loop" in joint.words else ""
            source.report_element("joint", name, element, "; ".join(filter(None, (change, loop))))
        self.root.get("version")
        source.tell_unread(self.root, mechanism.name)

    def _gravity(self, world: XmlElement | None) -> None:
        """Gravity, which stands in `physics` up to version 1.5, or the one that the format has where none is written."""
        source = self.source
        gravity = source.part(world, "gravity") or source.part(world, "physics", "gravity")
        source.mechanism.world_words["gravity"] = _GRAVITY if gravity is None else list(source.numbers(gravity, 3))
        if gravity is not None:
            source.report_element("gravity", "", gravity)
        for one in (part for physics in ([] if world is None else world.all("physics")) for part in physics.children):
            if id(one) not in source.known:
                source.lose(one.tag, "physics", one, WHY_UNREAD["physics"], is_note=True)
        for physics in [] if world is None else world.all("physics"):
            physics.mark_reported()

    def _group(self, model: XmlElement, n_models: int) -> str:
        """The group of the shapes of a model, which do not touch each other unless it says so."""
        touches = self.source.truth(model, "self_collide", False)
        if (told := model.child("self_collide")) is not None:
            self.source.report_element("self_collide", model.get("name"), told)
        return "" if touches else MODEL_LAYER if n_models == 1 else self.groups.give(model.get("name"), MODEL_LAYER)

    def _collect(self, model: XmlElement, outer: str, scope: str, is_static: bool, group: str) -> None:
        """Frames, links and joints of a model and of those within it."""
        source = self.source
        source.known.add(id(model))
        if model.get("placement_frame"):
            raise FileError(f"{source.at(model)}: `placement_frame` is not read: write the pose of the model itself")
        is_static = source.truth(model, "static", False) or is_static
        pose, named = source.pose(model)
        around = scope.rpartition("::")[0]
        within = outer if not named else self._later(around, named)
        self.frames.add(full_name(scope, MODEL_FRAME), SdfFrame(model, pose, within, self._canonical(model, scope)))
        home = full_name(scope, MODEL_FRAME)
        for link in model.all("link"):
            self._frame(link, scope, home, "")
            self.links.append((link, scope, is_static, group))
        if scope:  # by which others name the frame of this model
            self.frames.add(scope, SdfFrame(model, SourceFrame(), home, home))
        for part in model.all("joint", "frame"):
            self._collect_part(part, scope, home)
        for inner in model.all("model"):
            self._collect(inner, home, full_name(scope, inner.get("name")), is_static, group)

    def _collect_part(self, part: XmlElement, scope: str, home: str) -> None:
        """A joint or a frame of a model or of the world; `home` is what a frame moves with that names nothing."""
        if part.tag == "frame":
            attached = self._later(scope, part.get("attached_to")) if part.get("attached_to") else home
            self._frame(part, scope, attached, attached)
            return
        child = self.source.part(part, "child")
        if child is None or self.source.part(part, "parent") is None:
            missing = "child" if child is None else "parent"
            raise FileError(f"{self.source.at(part)}: joint `{part.get('name')[:60]}` has no {missing}")
        self._frame(part, scope, self._later(scope, child.text), self._later(scope, child.text))
        self.joints.append((part, scope))

    def _canonical(self, model: XmlElement, scope: str) -> str:
        """Full name of the link that a model moves with: the one it names, else its first, else that of a model in it."""
        named = model.get("canonical_link")
        first, inner = model.child("link"), model.child("model")
        if not named and first is None and inner is None:
            return ""
        named = named or (first.get("name") if first is not None else f"{inner.get('name')}::{MODEL_FRAME}")
        return self._later(scope, named)

    def _later(self, scope: str, name: str) -> str:
        """Full name of a frame that may stand below."""
        return name if name == WORLD_FRAME else full_name(scope, name)

    def _frame(self, element: XmlElement, scope: str, within: str, attached: str) -> None:
        full, (pose, named) = full_name(scope, self.source.named(element)), self.source.pose(element)
        if (
            self.source.version < NAMED_FRAMES
            and full in self.frames.frames
            and (self.frames.frames[full].element.tag != element.tag)
        ):
            full = self.frames.free_name(full, element.tag)
        self.frames.add(full, SdfFrame(element, pose, self._later(scope, named) if named else within, attached))

    def _check(self) -> None:
        """Refuse poses in frames that there are not."""
        for name, frame in self.frames.frames.items():
            for other in (frame.within, frame.attached):
                if other not in ("", WORLD_FRAME) and other not in self.frames.frames:
                    where = self.source.at(frame.element)
                    raise FileError(f"{where}: `{name}` names the unknown frame `{other[:60]}`")

    def _link(self, element: XmlElement, scope: str, is_static: bool, group: str) -> None:
        if not self.named:
            self._check()
        source, before = self.source, full_name(scope, element.get("name"))
        pose = self.frames.pose(before)
        name = self.named[before] = source.links.give(before.replace("::", "_"), "link")
        link = source.mechanism.links[name] = SourceLink(name, element.line, frame=pose, file=element.file)
        if is_static:
            joint = source.joints.give(f"{name}_static")
            source.mechanism.joints[joint] = SourceJoint(joint, 0, "fixed", WORLD_NAME, name, parent_frame=pose)
            self.still.add(name)
            self._static(element, link)
        else:
            read_link(source, element, link, False)
            for shape in link.shapes:
                shape.group = group
        source.report_element("link", name, element, words_of_renaming(element.get("name"), name))

    def _static(self, element: XmlElement, link: SourceLink) -> None:
        """A link that does not move: its shapes are of the world."""
        world, shapes = self.source.mechanism.links[WORLD_NAME], link.shapes
        first = len(world.shapes)
        read_link(self.source, element, world, True)
        for shape in world.shapes[first:]:
            shape.frame, shape.home = shape.frame.after(link.frame), link.name
            taken = {one.name for one in world.shapes if one is not shape}
            shape.name = shape.name if shape.name not in taken else f"{link.name}_{shape.name}"
        del shapes[:]

    def _joint(self, element: XmlElement, scope: str) -> None:
        ends = tuple(self._end(scope, element, element.child(tag).text) for tag in ("parent", "child"))
        if self.still.issuperset(ends) and set(ends) != {WORLD_NAME}:
            self.source.lose("joint", element.get("name"), element, "joins what does not move", is_note=True)
            return
        self.source.mechanism.neighbours.add(frozenset(ends))
        read_joint(self.source, element, scope, self.frames, tuple(WORLD_NAME if one in self.still else one for one in ends))

    def _end(self, scope: str, element: XmlElement, name: str) -> str:
        """Name in the scene of the link that an end of a joint names, itself or by a frame of it."""
        held = self.frames.holder(self.frames.name_of(scope, name, element))
        if held == WORLD_FRAME:
            return WORLD_NAME
        if held not in self.named:
            raise FileError(f"{self.source.at(element)}: `{name[:60]}` moves with no link")
        return self.named[held]

    def _points(self) -> None:
        """Frames of links as points, or as frames where they are turned."""
        for name, frame in self.frames.frames.items():
            if frame.element.tag != "frame":
                continue
            held, label = self.frames.holder(name), name.replace("::", "_")
            if held not in self.named:
                self.source.lose("frame", name, frame.element, "is resolved; it moves with no link")
                continue
            link = self.source.mechanism.links[self.named[held]]
            is_written = frame.within == held
            place: SourceFrame = frame.pose if is_written else self.frames.pose(name).after(link.frame.inverse())
            if np.abs(place.quaternion[:3]).max() > _TURNED:
                link.frames[label] = place
            else:
                link.points[label] = place.xyz
            change = words_of_renaming(frame.element.get("name"), label)
            self.source.report_element("frame", name, frame.element, change)


def read_sdf(path: Path, root: XmlElement, meshes: MeshFiles, report: ImportReport) -> SourceModel:
    """The mechanism of an SDF file.

    Args:
        path: of the file, for messages.
        root: its root, `sdf`.
        meshes: takes the meshes that it names.
        report: receives a line for each element.

    Raises:
        FileError: the file is no SDF, or contradicts itself; with the line.
    """
    version = _VERSION.match(root.get("version", "1.6"))
    if version is None or version[1] != "1":
        raise FileError(f"{path}:{root.line}: version `{root.get('version')[:60]}` of SDF; 1.x is read")
    Includes(path, meshes).put(root, root.get("version", "1.6"), (path.resolve(),))
    mechanism = SourceModel(path.stem)
    _Sdf(SdfSource(path, root, meshes, report, mechanism, (1, int(version[2])))).read()
    return mechanism
