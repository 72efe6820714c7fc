"""What robot formats share: links with mass and shapes, joints between frames. Numbers stay as they were written.

Names of the source become names of a scene (`GivenNames`). A body has one colour and one opacity for its shapes that
collide; shapes that are only seen have their own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simcli import rotations as rot
from simcli.spec.base import dofs
from simcli.spec.lookup.parting import Link, Parting, part_bodies

_ALLOWED = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_RESERVED = ("world",)


class GivenNames:
    """GivenNames of one kind, each given once.

    Args:
        taken: names that are not free.
    """

    def __init__(self, taken: tuple[str, ...] = _RESERVED):
        self.taken = set(taken)
        self.of: dict[str, str] = {}

    def give(self, name: str, fallback: str = "unnamed") -> str:
        """A name of a scene for one of the source: the same where scenes allow it, and where nothing has it yet."""
        found = name or fallback
        if not _ALLOWED.match(found):
            found = re.sub(r"[^A-Za-z0-9_-]", "_", found)
            found = found if _ALLOWED.match(found) else f"_{found}"
        first, k = found, 2
        while found in self.taken:
            found, k = f"{first}_{k}", k + 1
        self.taken.add(found)
        self.of.setdefault(name, found)
        return found


def words_of_renaming(before: str, after: str) -> str:
    """What a report says of a name that scenes do not allow; "" for one that stayed."""
    return f"`{before}` is called `{after}`" if before and before != after else ""


MODEL_LAYER = "model"  # of the shapes of a model that does not touch itself
_CLEAN = 15  # significant digits of numbers that were computed: one less than a double has


class SourceFrame(NamedTuple):
    """A pose in another frame.

    Attributes:
        xyz: [m], (3,).
        words: the orientation as a scene writes it, {"rpy": ..} or {"quat_wxyz": ..}; {} for none.
    """

    xyz: tuple[float, ...] = (0.0, 0.0, 0.0)
    words: dict[str, list[float]] = {}

    @property
    def quaternion(self) -> np.ndarray:
        """(4,) x y z w."""
        if "rpy" in self.words:
            return rot.quat_from_rpy(np.asarray(self.words["rpy"], float))
        if "quat_wxyz" in self.words:
            w, x, y, z = self.words["quat_wxyz"]
            found = np.array([x, y, z, w], float)
            return found / np.linalg.norm(found)
        return np.array([0.0, 0.0, 0.0, 1.0])

    @property
    def matrix(self) -> np.ndarray:
        """(3, 3)."""
        return rot.quat_to_matrix(self.quaternion)

    @property
    def is_identity(self) -> bool:
        """Whether the two frames are one."""
        return not any(self.xyz) and not self.turns

    @property
    def turns(self) -> bool:
        """Whether the orientation is not that of the other frame."""
        return bool(np.abs(self.quaternion[:3]).max() > 0.0)

    def after(self, outer: "SourceFrame") -> "SourceFrame":
        """This frame in the frame in which `outer` is given."""
        if outer.is_identity:
            return self
        xyz = np.asarray(outer.xyz) + outer.matrix @ np.asarray(self.xyz, float)
        if not self.turns:
            return SourceFrame(clean_numbers(xyz), outer.words)
        if not outer.turns:
            return SourceFrame(clean_numbers(xyz), self.words)
        return SourceFrame(clean_numbers(xyz), quaternion_words(outer.matrix @ self.matrix))

    def inverse(self) -> "SourceFrame":
        """The other frame in this one."""
        back = self.matrix.T
        xyz = clean_numbers(-back @ np.asarray(self.xyz, float))
        return SourceFrame(xyz, quaternion_words(back) if self.turns else {})


NO_OFFSET = SourceFrame()


def quaternion_words(turn: np.ndarray) -> dict[str, list[float]]:
    """An orientation as a scene writes it, (3, 3)."""
    x, y, z, w = clean_numbers(rot.matrix_to_quat(turn))
    return {"quat_wxyz": [w, x, y, z]} if max(map(abs, (x, y, z))) > 0.0 else {}


def clean_numbers(numbers) -> tuple[float, ...]:
    """Numbers that were computed, without the rounding that nobody wrote: what is 1e-16 beside the largest is 0."""
    values = np.asarray(numbers, float)
    size = max(1.0, float(np.abs(values).max(initial=0.0)))
    values = np.where(np.abs(values) < 4e-16 * size, 0.0, values)
    return tuple(float(f"{x:.{_CLEAN}g}") + 0.0 for x in values.tolist())


def in_outer_axes(matrix: np.ndarray, frame: SourceFrame) -> np.ndarray:
    """A symmetric matrix (3, 3) of the axes of a frame, in the axes in which the frame is given."""
    if not frame.turns:
        return matrix
    found = frame.matrix @ matrix @ frame.matrix.T
    return 0.5 * (found + found.T)


def hex_colour(rgb: tuple[float, ...]) -> str:
    """A colour as a scene writes it, of red, green and blue from 0 to 1."""
    return "#" + "".join(f"{round(255 * min(max(part, 0.0), 1.0)):02x}" for part in rgb)


def words_of_no_limit(key: str, most: float) -> str:
    """What a report says of a bound of effort or velocity that bounds nothing; "" for one that does."""
    if most < 0.0:
        return f"`{key}` is negative and left out"
    return "" if most > 0.0 else f"`{key}` is 0, as files write it that give none: the joint has no {key} limit"


@dataclass
class SourceShape:
    """A shape of a link.

    Attributes:
        name: unique in its link.
        words: type and sizes as a scene writes them; of a mesh `file` is a path of the source, see meshes.py.
        frame: in the link.
        collides: whether it takes part in contact; if not, it is only seen.
        colour: "#rrggbb" or "".  opacity: 0 to 1.
        line: of the source.
        seen_as: name in the report of the element that gave it its colour, if that is another one.
        home: the link of the source that it was written in, where formats note it; its body may have become another one.
        group: shapes of one group do not touch each other; "" of those that touch all.
        mask: 16 bits; two shapes touch if they share one.
    """

    name: str
    words: dict
    frame: SourceFrame
    collides: bool
    line: int
    colour: str = ""
    opacity: float = 1.0
    seen_as: str = ""
    home: str = ""
    group: str = ""
    mask: int = 0xFFFF

    def is_seen_as(self, look: "SourceShape") -> bool:
        """Whether it collides, has no colour of another visual yet, and has the form and the place of one."""
        form = {key: value for key, value in self.words.items() if key != "material"}
        is_same = form == look.words and np.array_equal(self.frame.xyz, look.frame.xyz)
        return self.collides and not self.seen_as and is_same and self.frame.words == look.frame.words


@dataclass
class SourceLink:
    """A body.

    Attributes:
        name: in the scene.  line: of the source, 0 if it is not in it.
        mass: [kg], None without inertial.  com: [m].
        inertia: [kg m^2], (3, 3) about the centre of mass, link axes; None without.
        frame: in the world, of links that no joint holds; of others the joint says it.
        shapes: see `SourceShape`.  points: of the link, lumped ones too.  frames: points with an orientation.
        file: that holds the line, as `ImportEntry` has it.
        words: further keys of the scene: kinematic, ..., as they are written.
    """

    name: str
    line: int
    mass: float | None = None
    com: tuple[float, ...] = (0.0, 0.0, 0.0)
    inertia: np.ndarray | None = None
    frame: SourceFrame = NO_OFFSET
    shapes: list[SourceShape] = field(default_factory=list)
    points: dict[str, tuple[float, ...]] = field(default_factory=dict)
    frames: dict[str, SourceFrame] = field(default_factory=dict)
    file: str = ""
    words: dict = field(default_factory=dict)

    @property
    def has_mass(self) -> bool:
        """Whether it has inertia of its own."""
        return bool(self.mass) and self.mass > 0.0


@dataclass
class SourceJoint:
    """A joint.

    Attributes:
        name: in the scene.  line: of the source, 0 if it is not in it.
        type: of the scene format.
        parent, child: names of links, or `world`.
        parent_frame, child_frame: of the anchors.
        axis: in the anchor frame of the parent; None where the type has none.
        words: further keys of the scene: limit, damping, drive, ..., as they are written.
        file: that holds the line, as `ImportEntry` has it.
    """

    name: str
    line: int
    type: str
    parent: str
    child: str
    parent_frame: SourceFrame = NO_OFFSET
    child_frame: SourceFrame = NO_OFFSET
    axis: tuple[float, ...] | None = None
    words: dict = field(default_factory=dict)
    file: str = ""

    @property
    def dof_kinds(self) -> str:
        """Kinds of its dofs, "L" and "A"."""
        axes = self.words.get("axes") or {}
        return dofs.kinds(self.type, *(len(axes.get(key, ())) for key in ("linear", "angular")))


@dataclass
class SourceEntry:
    """Something that acts: an entry of the section `forces`.

    Attributes:
        words: as a scene writes them.
        line: of the source, 0 if it is not in it.  file: that holds it, as `ImportEntry` has it.
    """

    words: dict
    line: int = 0
    file: str = ""


@dataclass
class SourceModel:
    """A model as it was read.

    Attributes:
        name: of the model.
        links, joints: in the order of the source; `links` begins with the world, whose shapes are fixed.
        initial: joint coordinates by name, as the scene writes them.
        neighbours: two links that a joint of the source connects, where formats note them.
        forces: by name.
        world_words: further keys of the world: gravity.
        sections: further sections of a scene by name: materials, contact, look, solver, ..., as they are written.
    """

    name: str
    links: dict[str, SourceLink] = field(default_factory=dict)
    joints: dict[str, SourceJoint] = field(default_factory=dict)
    initial: dict[str, object] = field(default_factory=dict)
    neighbours: set[frozenset[str]] = field(default_factory=set)
    forces: dict[str, SourceEntry] = field(default_factory=dict)
    world_words: dict = field(default_factory=dict)
    sections: dict[str, dict] = field(default_factory=dict)

    def parting(self) -> Parting:
        """Which links do not touch in the scene that is made."""
        on = [joint for joint in self.joints.values() if joint.words.get("enabled", True)]
        links = [Link(joint.parent, joint.child, joint.type, joint.dof_kinds) for joint in on]
        return part_bodies(links, (name for name, link in self.links.items() if link.words.get("kinematic")))

    def joints_of(self, parent: str) -> list[SourceJoint]:
        """Joints whose parent is a link."""
        return [joint for joint in self.joints.values() if joint.parent == parent]

    def holder(self, child: str) -> SourceJoint | None:
        """The first joint whose child is a link."""
        return next((joint for joint in self.joints.values() if joint.child == child), None)


PLANE_LOOK = "a plane that is only seen, which scenes have not"


def body_look(shapes: list[SourceShape]) -> dict:
    """Colour and opacity of a body whose shapes these are."""
    solid, seen = [one for one in shapes if one.collides], [one for one in shapes if not one.collides]
    found: dict = {}
    for colours in ({one.colour for one in solid} - {""}, {one.colour for one in seen}):
        if "colour" not in found and len(colours) == 1 and "" not in colours:
            found["colour"] = colours.pop()
    opacities = {one.opacity for one in solid}
    return found | ({"opacity": opacities.pop()} if len(opacities) == 1 and opacities != {1.0} else {})


def own_look(shape: SourceShape, look: dict) -> dict:
    """What a shape that is only seen says of itself, beside its body."""
    words = {"colour": shape.colour} if shape.colour not in ("", look.get("colour")) else {}
    return words | ({"opacity": shape.opacity} if shape.opacity != look.get("opacity", 1.0) else {})


def hide_collisions(link: SourceLink) -> bool:
    """Draw a body by its visuals, as programs of the source do, where none of them is a shape that collides.

    Returns:
        Whether there are any: shapes that collide have the opacity 0 then. What the world has is drawn, because other
        shapes of a scene belong to it, too, as the ground.
    """
    solid = [one for one in link.shapes if one.collides]
    if link.name in _RESERVED or len(solid) == len(link.shapes) or not solid or any(one.seen_as for one in solid):
        return False
    for one in solid:
        one.opacity = 0.0
    return True


def lost_looks(link: SourceLink) -> Iterator[tuple[SourceShape, str]]:
    """Shapes that collide and whose colour or opacity the body does not have, and what a report says of each."""
    look = body_look(link.shapes)
    for shape in (one for one in link.shapes if one.collides):
        lost = own_look(shape, look)
        if lost:
            what = " and ".join(f"the {key} {value}" for key, value in lost.items())
            yield shape, f"without {what}: shapes of a body that collide have one colour and one opacity"
