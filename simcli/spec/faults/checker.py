"""What the checks of a scene share: the scene, its tree, the names in it, paths written as text, and the way to a fault."""

from collections.abc import Sequence
from functools import cached_property

from simcli.errors import Where, plural
from simcli.spec.base import dofs
from simcli.spec.base.fault_list import Faults, did_you_mean
from simcli.spec.base.nodes import Listing, Mark, Node, PathStep, Scalar, TableNode, find, format_path, locate, parse_path
from simcli.spec.document.scene_file import Document
from simcli.spec.faults.synonyms import value_meant
from simcli.spec.lookup import structure
from simcli.spec.lookup.keys import known_keys
from simcli.spec.lookup.scene_values import value_at
from simcli.spec.schema.joint import JointSpec
from simcli.spec.schema.scene import ENTRY_SECTIONS, SceneSpec
from simcli.spec.values.scopes import where_of


class Checker:
    """One scene under examination.

    Attributes:
        spec: the scene; entries that the schema refused are left out.
        tree: the expanded tree.
        document: the scene as written.
        faults: collects.
        broken: (section, name) of what the schema refused; names in it count as known.
        names: section to all names of it, refused ones included, in the order of the file.
    """

    def __init__(self, spec: SceneSpec, tree: TableNode, document: Document, faults: Faults, broken: set[tuple[str, str]]):
        self.spec, self.tree, self.document, self.faults, self.broken = spec, tree, document, faults, broken
        self.names: dict[str, dict[str, None]] = {}
        for section in ENTRY_SECTIONS:
            table = tree.get(section)
            self.names[section] = dict.fromkeys(table.items) if isinstance(table, TableNode) else {}

    @property
    def n_worlds(self) -> int:
        """Number of worlds."""
        return self.spec.batch.n_worlds

    @cached_property
    def mechanism(self) -> structure.Tree | None:
        """Joints of the tree, loops and free bodies; None if the parts are not sound enough to tell."""
        spec = self.spec
        if self.document.lost or any(section in ("bodies", "joints") for section, _ in self.broken):
            return None
        known = {structure.WORLD_NAME, *spec.bodies}
        if any(joint.parent not in known or joint.child not in spec.bodies for joint in spec.joints.values()):
            return None
        return structure.tree(spec)

    @cached_property
    def free_joints(self) -> dict[str, None]:
        """The joints NAME_free of free bodies; of all bodies where nobody can tell which are free."""
        bodies = self.names["bodies"] if self.mechanism is None else self.mechanism.free_bodies
        return dict.fromkeys(f"{name}_free" for name in bodies)

    def n_q(self, joint: JointSpec) -> int:
        """Number of coordinates of a joint."""
        return dofs.n_q(joint.type, len(joint.dof_kinds))

    def where(self, path: str | Sequence[PathStep], on_key: bool = False) -> Where:
        """Place of a path in the expanded tree."""
        steps = (parse_path(path) or (path,)) if isinstance(path, str) else tuple(path)
        found = locate(self.tree, steps, on_key)
        return Where(found.file, found.line, found.column, found.length, format_path(steps))

    def has(self, path: str) -> bool:
        """Whether a path is written."""
        return find(self.tree, parse_path(path) or (path,)) is not None

    def fault(
        self,
        code: str,
        message: str,
        path: str | Sequence[PathStep] | Where = "",
        hint: str = "",
        on_key: bool = False,
        mark: Mark | None = None,
        severity: str = "error",
    ) -> None:
        """Add a fault at a path of the expanded tree, at a mark, or at a place in another file."""
        if mark is None:
            where = path if isinstance(path, Where) else self.where(path, on_key)
        else:
            where = where_of(mark)
        self.faults.add(code, message, where, hint, severity)

    def body(self, name: str, path: str, hint: str = "") -> bool:
        """Whether a body exists; a fault if not, with a hint of its own if none is given."""
        return self._known("bodies", "SC304", "body", name, path, hint)

    def joint(self, name: str, path: str, hint: str = "") -> bool:
        """Whether a joint exists; a fault if not, with a hint of its own if none is given."""
        return self._known("joints", "SC305", "joint", name, path, hint)

    def joint_or_free(self, name: str, path: str, hint: str = "") -> bool:
        """Whether a joint exists, the joints NAME_free of free bodies included."""
        if name in self.free_joints:
            return True
        return self.joint(name, path, self.why_not_free(name) or hint)

    def why_not_free(self, name: str) -> str:
        """A hint for the name of a free joint that a body does not get; "" for any other name."""
        body = name.removesuffix("_free")
        is_one = body != name and body in self.names["bodies"] and name not in self.free_joints
        return f"body `{body}` is held by a joint, so that it has no free joint: name that joint" if is_one else ""

    def is_lost(self, name: str, *sections: str) -> bool:
        """Whether a broken instance or a refused section, reported already, may have made this name."""
        return name.startswith(self.document.lost) or self.is_refused(*sections)

    def lacks_names(self, *sections: str) -> bool:
        """Whether names are missing from these sections because of faults that are reported already."""
        return bool(self.document.lost) or self.is_refused(*sections)

    def is_refused(self, *sections: str) -> bool:
        """Whether the schema refused one of these sections as a whole."""
        return any((section, "") in self.broken for section in sections)

    def _known(self, section: str, code: str, what: str, name: str, path: str, hint: str) -> bool:
        if name in self.names[section]:
            return True
        if not self.is_lost(name, section):
            meant = value_meant(name, ("world",)) if section == "bodies" else ""
            own = f"did you mean `{meant}`?" if meant else did_you_mean(name, self.names[section], section)
            self.fault(code, f"there is no {what} `{name[:60]}`", path, hint or own)
        return False


def nowhere(check: Checker, text: str, path: list | Where) -> None:
    """The fault of a path that leads nowhere, unless that follows from a fault of the entry that it leads into.

    Args:
        check: takes it.
        text: the path as written.
        path: where it is written.
    """
    steps = parse_path(text) or ()
    if _into_refused(check, steps):
        return
    if close := _beyond(check, steps):
        check.fault("SC303", f"no such key: `{text[:80]}`", path, close, on_key=True)
        return
    known: list[str] = []
    for length in range(len(steps), 0, -1):
        above = find(check.tree, steps[: length - 1])
        if close := no_way(above, steps, length - 1):
            check.fault("SC303", f"no such key: `{text[:80]}`", path, close, on_key=True)
            return
        if above is not None and hasattr(above, "items") and not isinstance(above, Listing):
            known = [*above.items, *known_keys(tuple(steps[: length - 1]))]
            close = did_you_mean(str(steps[length - 1]), dict.fromkeys(known), "there")
            if str(steps[length - 1]) in known:
                close = f"`{format_path(steps[:length])}` is not written in the scene; write it first"
            check.fault("SC303", f"no such key: `{text[:80]}`", path, close, on_key=True)
            return
    check.fault("SC303", f"no such key: `{text[:80]}`", path, "as joints.pin.damping", on_key=True)


def no_way(node: Node | None, steps: tuple, n: int) -> str:
    """A hint where a path counts past the end of a list, or into a single value; "" where neither is so.

    Args:
        node: at the first n steps.
        steps: of the path.
        n: how many of them lead there.
    """
    name = format_path(steps[:n])
    if isinstance(node, Listing) and not (isinstance(steps[n], str) and len(node.items) == 1):
        last = len(node.items) - 1
        if isinstance(steps[n], int):
            return _entries(name, last)
        return f"`{name}` is a list of {plural(last + 1, 'entry')}: name one, as `{name}[0]`"
    if isinstance(node, Scalar) and node.value is not None:
        return f"`{name}` is a single value: name that"
    return ""


def _entries(name: str, last: int) -> str:
    """How many entries a list has, and their paths."""
    return f"`{name}` has {plural(last + 1, 'entry')}" + (f", `{name}[0]` to `{name}[{last}]`" if last >= 0 else "")


def _beyond(check: Checker, steps: tuple) -> str:
    """A hint where a path counts past the end of a list that the scene leaves at its default; "" where it does not."""
    for n, step in enumerate(steps):
        held = value_at(check.spec, steps[:n]) if isinstance(step, int) and find(check.tree, steps[:n]) is None else None
        if isinstance(held, tuple) and step >= len(held):
            return _entries(format_path(steps[:n]), len(held) - 1)
    return ""


def _into_refused(check: Checker, steps: tuple) -> bool:
    """Whether a path leads into a section, or to a key that the schema knows of an entry, that is refused already."""
    if check.is_refused(*map(str, steps[:1])):
        return True
    return len(steps) > 2 and steps[:2] in check.broken and str(steps[-1]) in known_keys(steps[:-1])


def exists(check: Checker, steps: tuple) -> bool:
    """Whether a path leads to a value that is written or that has a default."""
    for root in (check.tree, check.document.root):
        if find(root, steps) is not None:
            return True
    if value_at(check.spec, steps) is not None:
        return True
    # A key that is not written, but that the schema knows, of something that is.
    return value_at(check.spec, steps[:-1]) is not None and steps[-1] in known_keys(tuple(steps[:-1]))
