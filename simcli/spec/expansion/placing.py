"""Where the content of a template goes: names get the prefix of the instance, what is given in the world moves with it."""

import numpy as np
from pydantic import ValidationError

from simcli import rotations as rot
from simcli.spec.base import dofs
from simcli.spec.base.channel_names import canonical
from simcli.spec.base.nodes import Listing, Mark, Node, Scalar, TableNode, plain, rebuild
from simcli.spec.lookup.scene_values import default_axis
from simcli.spec.schema.forces import FORCES, WITH_AXES
from simcli.spec.schema.pose import PoseSpec
from simcli.spec.values.braces import renamed_in_braces
from simcli.spec.values.varied_values import number_row, plain_numbers

_OWNERS = {"joint": "joints", "signal": "signals"}  # sections of what quantities name, else bodies
# Keys of forces: ends, terms, and vectors in world axes.
_ENDS, _TERMS = ({key for force in FORCES for key in getattr(force, keys)} for keys in ("ENDS", "TERMS"))
_IN_WORLD = {key for force in FORCES for key in (*force.DRIVEN, *force.IN_WORLD)}


class Placement:
    """Where the content of a template goes: prefix for names, pose for what is given in the world; the scene's plane."""

    def __init__(self, prefix: str, at: np.ndarray, local: dict[str, set[str]], plane: str | None):
        self.prefix, self.at, self.local, self.plane = prefix, at, local, plane
        self.moves = not np.array_equal(at, UNMOVED_POSE)

    def _name(self, node: Node | None, section: str) -> Node | None:
        """A reference: with the prefix if the name is one of the template's own."""
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            return node
        head, slash, tail = node.value.rpartition("/")
        if node.value in self.local[section]:
            return Scalar(self.prefix + node.value, node.mark, node.quoted)
        if section == "bodies" and slash and head in self.local[section]:
            return Scalar(f"{self.prefix}{head}/{tail}", node.mark, node.quoted)
        return node

    def _signals(self, node: Node) -> Node:
        """`$name` of the template's own signals, anywhere below."""
        if not self.local["signals"] or not self.prefix:
            return node
        if isinstance(node, Scalar):
            own = isinstance(node.value, str) and node.value[:1] == "$" and node.value[1:] in self.local["signals"]
            return Scalar(f"${self.prefix}{node.value[1:]}", node.mark, node.quoted) if own else node
        if isinstance(node, TableNode):
            return node.replaced({key: self._signals(value) for key, value in node.items.items()})
        return Listing([self._signals(item) for item in node.items], node.mark)

    def signal(self, node: Node) -> Node:
        """A signal, whose formulas name what the template has."""
        node = self._signals(node)
        if isinstance(node, Scalar):
            has_names = isinstance(node.value, str) and "{" in node.value
            return Scalar(renamed_in_braces(node.value, self._seen), node.mark, node.quoted) if has_names else node
        if isinstance(node, TableNode):
            return node.replaced({key: self.signal(value) for key, value in node.items.items()})
        return Listing([self.signal(item) for item in node.items], node.mark)

    def _seen(self, text: str) -> str:
        """A name in braces: with the prefix if what it names is the template's own."""
        group, *parts = text.split(".")
        group = canonical(group)
        own = self.local[_OWNERS.get(group, "bodies")]
        subjects = 2 if group == "distance" else 1
        for k, part in enumerate(parts[:subjects]):
            name = part.partition("/")[0]
            if name in own or (group == "joint" and name.removesuffix("_free") in self.local["bodies"]):
                parts[k] = self.prefix + part
        return ".".join((group, *parts))

    def names_in(self, node: Node, section: str) -> Node:
        """An articulation with the names that its joints have here; other entries as they are."""
        if section == "articulations" and isinstance(node, Listing):
            return Listing([self._name(item, "joints") for item in node.items], node.mark)
        return node

    def _frames(self, node: Node, key: str = "", above: str = "") -> Node:
        """`in: body/frame` of the template's own bodies, anywhere below; a name alone is of the owner of the pose.

        Args:
            node: an entry, or what stands in it.
            key: whose value it is.
            above: the key of the mapping in which that one stands.
        """
        if isinstance(node, Listing) or not self.prefix:
            return node
        if isinstance(node, Scalar):
            names_frame = (key in _IN_FRAMES or above == "frames") and isinstance(node.value, str) and "/" in node.value
            return self._name(node, "bodies") if names_frame else node
        return node.replaced({name: self._frames(value, name, key) for name, value in node.items.items()})

    def body(self, node: TableNode) -> TableNode:
        """A body, moved into place."""
        node = self._frames(self._signals(node))
        pose = node.get("pose")
        if self.prefix and pose is not None:  # in another body, so that a name alone is that of a body
            inside = table_at(pose).get("in")
            named = self._name(pose, "bodies") if inside is None else pose.replaced({"in": self._name(inside, "bodies")})
            node = node.replaced({"pose": named})
        if not self.moves:
            return node
        changes: dict[str, Node] = {}
        mark = node.items["pose"].mark if "pose" in node.items else node.mark
        pose = _pose(node.get("pose"))
        if pose is not None:
            changes["pose"] = _pose_node(compose_poses(self.at, pose), mark)
        for section in ("velocity", "motion"):
            table = node.get(section)
            if isinstance(table, TableNode):
                changes[section] = table.replaced({key: self._turned(value) for key, value in table.items.items()})
        return node.replaced(changes)

    def joint(self, node: TableNode) -> TableNode:
        """A joint, moved into place."""
        node = self._frames(self._signals(node))
        changes: dict[str, Node] = {}
        if self.prefix:
            changes = {key: new for key in ("parent", "child") if (new := self._name(node.get(key), "bodies")) is not None}
            mimic = node.get("mimic")
            if isinstance(mimic, TableNode) and "joint" in mimic.items:
                changes["mimic"] = mimic.replaced({"joint": self._name(mimic.items["joint"], "joints")})
        if self.moves:
            changes.update(self._moved_joint(node))
        return node.replaced(changes) if changes else node

    def _moved_joint(self, node: TableNode) -> dict[str, Node]:
        written = node.get("type")
        type_name = written.value if isinstance(written, Scalar) else None  # a list is of no type: the schema reports it
        frames = "parent_frame" in node.items or "child_frame" in node.items or type_name in dofs.FRAMES_ONLY
        if frames:
            parent = node.get("parent")
            if not isinstance(parent, Scalar) or parent.value != "world":
                return {}
            pose = _pose(node.get("parent_frame"))
            mark = node.items["parent_frame"].mark if "parent_frame" in node.items else node.mark
            return {"parent_frame": _pose_node(compose_poses(self.at, pose), mark)} if pose is not None else {}
        changes: dict[str, Node] = {}
        point = _numbers(node.get("at"), 3)
        if point:
            changes["at"] = _vector_node(rot.pose_apply(self.at, number_row(point)), node.items["at"].mark)
        if "axis" in node.items:
            changes["axis"] = self._turned(node.items["axis"])
        elif type_name in dofs.AXIS:
            changes["axis"] = self._vector(default_axis(self.plane, type_name), node.mark)
        axes = node.get("axes")
        if isinstance(axes, TableNode):
            changes["axes"] = axes.replaced({key: self._turned_axes(value) for key, value in axes.items.items()})
        return changes

    def _turned_axes(self, node: Node) -> Node:
        if not isinstance(node, Listing):
            return node
        items = []
        for item in node.items:
            if isinstance(item, TableNode) and "axis" in item.items:
                items.append(item.replaced({"axis": self._turned(item.items["axis"])}))
            else:
                items.append(self._turned(item))
        return Listing(items, node.mark)

    def _turned(self, node: Node) -> Node:
        value = _numbers(node, 3)
        return self._vector(value, node.mark) if value else node

    def _vector(self, value: tuple[float, ...], mark: Mark) -> Node:
        return _vector_node(rot.quat_rotate(self.at[..., 3:], number_row(value)), mark)

    def force(self, node: Node) -> Node:
        """A force, moved into place."""
        if not isinstance(node, TableNode):
            return node
        node = self._signals(node)
        changes: dict[str, Node] = {}
        for key, section in (("body", "bodies"), ("joint", "joints")):
            if key in node.items:
                changes[key] = self._name(node.items[key], section)
        for key, moved in (*((key, self._end) for key in _ENDS), *((key, self._term) for key in _TERMS)):
            if isinstance(node.get(key), Listing):
                changes[key] = Listing([moved(item) for item in node.items[key].items], node.items[key].mark)
            elif key in node.items:
                changes[key] = moved(node.items[key])
        frame = node.get("frame")
        if self.moves and not (isinstance(frame, Scalar) and frame.value == "body"):
            for key in _IN_WORLD:
                if key in node.items:
                    changes[key] = self._turned(node.items[key])
        axes = _pose(node.get("axes"))
        on_world = self.moves and "world" in table_at(node.get("a")).items
        if on_world and axes is not None and str(plain(node.get("type") or NO_VALUE)) in WITH_AXES:
            turned = compose_poses(np.where(np.arange(7) < 3, 0.0, self.at), axes)
            changes["axes"] = rebuild({"quat_xyzw": plain_numbers(turned[..., 3:])}, node.mark)
        return node.replaced(changes)

    def sensor(self, node: Node) -> Node:
        """A sensor with the names that its bodies and joints have here."""
        keys = {"at": "bodies", "relative_to": "bodies", "body": "bodies", "joint": "joints"}
        return (
            node.replaced(
                {key: self._name(node.items[key], section) for key, section in keys.items() if key in table_at(node).items}
            )
            if isinstance(node, TableNode)
            else node
        )

    def _term(self, node: Node) -> Node:
        named = isinstance(node, TableNode) and "joint" in node.items
        return node.replaced({"joint": self._name(node.items["joint"], "joints")}) if named else node

    def _end(self, node: Node) -> Node:
        if not isinstance(node, TableNode):
            return self._name(node, "bodies")
        changes = {"body": self._name(node.items["body"], "bodies")} if "body" in node.items else {}
        point = _numbers(node.get("world"), 3)
        if point and self.moves:
            changes["world"] = _vector_node(rot.pose_apply(self.at, number_row(point)), node.items["world"].mark)
            side, size = _numbers(node.get("side"), 3), table_at(node.get("cylinder"))
            if side:
                changes["side"] = _vector_node(rot.pose_apply(self.at, number_row(side)), node.items["side"].mark)
            if "axis" in size.items:
                changes["cylinder"] = size.replaced({"axis": self._turned(size.items["axis"])})
        if "side" in node.items and not isinstance(node.items["side"], Listing):
            changes["side"] = self._end(node.items["side"])
        return node.replaced(changes)


def table_at(node: Node | None) -> TableNode:
    """A node as a table, empty where it is none."""
    return node if isinstance(node, TableNode) else EMPTY_TABLE


_IN_FRAMES = ("in", "pose", "parent_frame", "child_frame")  # keys whose text is the name of a frame
UNMOVED_POSE = np.array(rot.IDENTITY_POSE)
NO_VALUE = Scalar(None, Mark("", 0, 0, 0))
EMPTY_TABLE = TableNode({}, {}, Mark("", 0, 0, 0))


def compose_poses(outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """The inner pose seen from outside, of one or of all worlds; exact where the outer one is the identity."""
    if np.array_equal(outer, UNMOVED_POSE):
        return inner
    is_unmoved = (outer == UNMOVED_POSE).all(axis=-1, keepdims=True)
    return np.where(is_unmoved, inner, rot.pose_compose(outer, inner))


def pose_array(pose: PoseSpec) -> np.ndarray:
    """A pose as [m, 1], (7,); (W, 7) where it differs between worlds."""
    return number_row([*pose.xyz, *pose.quat_xyzw])


def _pose(node: Node | None) -> np.ndarray | None:
    """The pose of a node; None if it is wrong, which the schema reports."""
    if node is None:
        return UNMOVED_POSE
    try:
        spec = PoseSpec.model_validate(plain(node))
    except ValidationError:
        return None
    return pose_array(spec)


def _pose_node(pose: np.ndarray, mark: Mark) -> Node:
    return rebuild({"xyz": plain_numbers(pose[..., :3]), "quat_xyzw": plain_numbers(pose[..., 3:])}, mark)


def _vector_node(value: np.ndarray, mark: Mark) -> Node:
    return rebuild(plain_numbers(value), mark)


def _numbers(node: Node | None, count: int) -> tuple[float, ...] | None:
    """A list of plain numbers or lengths; None if it is none, which the schema reports."""
    if not isinstance(node, Listing) or len(node.items) != count:
        return None
    try:
        return PoseSpec.model_validate({"xyz": plain(node)}).xyz
    except ValidationError:
        values = plain(node)
        return tuple(values) if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values) else None
