"""An XML model as it is read: places of its elements, which of them were looked at, and what is told of each."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple

from simcli.errors import FileError
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import (
    PLANE_LOOK,
    GivenNames,
    SourceLink,
    SourceModel,
    SourceShape,
)
from simcli.exchange.source.meshes import LostMeshError, MeshFiles
from simcli.exchange.source.xml_reader import XmlElement, finite_numbers

HULL = "collides as the convex hull of its mesh"


class ReadForm(NamedTuple):
    """A geometry of a shape.

    Attributes:
        words: as a scene writes it.
        colour, opacity: of its mesh, see `SceneMesh`.
    """

    words: dict
    colour: str = ""
    opacity: float = 1.0


class XmlSource(ABC):
    """One file as it is read.

    Args:
        path: of the file, for messages.
        root: its root.
        meshes: takes the meshes that it names.
        report: receives a line for each element.
        mechanism: that is made.

    Attributes:
        links, joints: names of the scene, by names of the file.
        known: elements that were looked at, by identity.
        noted: tags of elements without which nothing moves otherwise, with all that stands in them.
    """

    noted: frozenset[str]

    def __init__(self, path: Path, root: XmlElement, meshes: MeshFiles, report: ImportReport, mechanism: SourceModel):
        self.path, self.root, self.meshes, self.report, self.mechanism = path, root, meshes, report, mechanism
        self.links, self.joints = GivenNames(), GivenNames(())
        self.known: set[int] = {id(root)}

    def at(self, element: XmlElement) -> str:
        """Place of an element, for messages."""
        return f"{self.path.parent / element.file if element.file else self.path}:{element.line}"

    def named(self, element: XmlElement) -> str:
        """The name of an element, which it has to have."""
        if not element.get("name"):
            raise FileError(f"{self.at(element)}: a <{element.tag}> without a name")
        return element.get("name")

    def part(self, element: XmlElement | None, *tags: str) -> XmlElement | None:
        """The element at the end of a way of first children, which count as looked at; None if there is none."""
        for tag in tags:
            element = element.child(tag) if element is not None else None
            if element is not None:
                self.known.add(id(element))
        return element

    def form_of(self, element: XmlElement) -> XmlElement | None:
        """What stands in the geometry of a shape, which counts as looked at."""
        geometry = self.part(element, "geometry")
        form = next(iter(geometry.children), None) if geometry is not None else None
        return None if form is None else self.part(geometry, form.tag)

    def read_numbers(self, element: XmlElement, words: str, text: str, count: int) -> tuple[float, ...]:
        """So many finite numbers of a text.

        Args:
            element: that says them.
            words: what the text is, for messages.
            text: of the numbers.
            count: how many there are.

        Raises:
            FileError: they are not so many finite ones.
        """
        found = finite_numbers(text, count)
        if found is None:
            raise FileError(
                f"{self.at(element)}: {words} is `{text[:60]}`, not {f'{count} numbers' if count > 1 else 'a number'}"
            )
        return found

    def mesh(self, name: str, collides: bool) -> tuple[list[ReadForm], str]:
        """A mesh, of which each colour is a form, and what is changed in it; none with the reason why there is none."""
        try:
            meshes, change = self.meshes.take_all(name, collides)
        except LostMeshError as error:
            return [], f"mesh: {error}"
        return [ReadForm({"type": "mesh", "file": one.file}, one.colour, one.opacity) for one in meshes], change

    def report_element(self, kind: str, name: str, element: XmlElement, change: str = "") -> None:
        """An element is in the scene, as it was or changed; it counts as looked at."""
        self.known.add(id(element))
        self.report.kept(kind, name, element.line, change, element.file)

    def lose(self, kind: str, name: str, element: XmlElement, why: str, is_note: bool = False) -> None:
        """An element, with all that stands in it, is not in the scene; `is_note` if nothing moves otherwise without it."""
        element.mark_reported()
        self.known.update(map(id, element.below()))
        self.report.dropped(kind, name, element.line, why, element.file, is_note=is_note or kind in self.noted)

    def add_shapes(
        self, link: SourceLink, shapes: list[SourceShape], element: XmlElement, names: GivenNames, change: str
    ) -> None:
        """Give a link the shapes of an element, or their look to the one that collides in their place.

        Args:
            link: receives them.
            shapes: at least one, with their name in the file; more than one are the colours of a mesh.
            element: that says them.
            names: of the shapes of the link.
            change: what is told of it.
        """
        label = f"{link.name}/{shapes[0].name}"
        for shape in shapes:
            twin = None if shape.collides else next((one for one in link.shapes if one.is_seen_as(shape)), None)
            if twin is None and not shape.collides and shape.words["type"] == "plane":
                self.lose(element.tag, label, element, PLANE_LOOK)
                return
            if twin is None:
                shape.name = names.give(shape.name)
                link.shapes.append(shape)
            else:
                twin.colour, twin.opacity, twin.seen_as = shape.colour, shape.opacity, label
        self.report_element(element.tag, label, element, change)

    def tell_unread(self, element: XmlElement, owner: str, is_note: bool = False) -> None:
        """Each element and each attribute that nothing has looked at is dropped, with what stands in it."""
        is_note = is_note or element.tag in self.noted
        self.report.lost_attributes(element, owner, is_note)
        for one in element.children:
            if id(one) in self.known:
                self.tell_unread(one, one.get("name") or owner, is_note)
            else:
                is_second = any(other.tag == one.tag and id(other) in self.known for other in element.children)
                self.drop_unread(one, owner, "only the first one is read" if is_second else "", is_note)

    @abstractmethod
    def drop_unread(self, element: XmlElement, owner: str, why: str, is_note: bool) -> None:
        """An element that nothing has looked at is dropped.

        Args:
            element: of the file.
            owner: name of what holds it.
            why: that it is dropped; "" for what its tag says.
            is_note: whether nothing moves otherwise without what holds it.
        """


def put_scale(words: dict, scale: tuple[float, ...]) -> None:
    """Give a mesh its scale, as a scene writes it."""
    if set(scale) != {1.0}:
        words["scale"] = scale[0] if len(set(scale)) == 1 else list(scale)
