"""A scene file with its includes and `--set` overrides, as one marked tree."""

import os
import shlex
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simcli.errors import Fault, SceneError, Where
from simcli.spec.base.fault_list import Faults
from simcli.spec.base.nodes import Listing, Mark, Node, Scalar, TableNode, locate, parse_path
from simcli.spec.base.old_keys import mentions_old_key
from simcli.spec.base.scene_files import HeldPath, checked_file
from simcli.spec.base.text import MAX_BYTES, decode, split_lines
from simcli.spec.document.defaults import as_included
from simcli.spec.document.loader import parse_text
from simcli.spec.document.overrides import SET, Laid, Override, apply_sets
from simcli.spec.document.renewal import OldKey, old_keys, renewed, tell_old_keys
from simcli.spec.values.scopes import where_of

MAX_INCLUDES = 1000
# Reads a column of worlds out of an earlier run: path of the file, name as of `simcli table`; values and unit.
ReadRun = Callable[[str, str], tuple[Sequence[float], str]]


class Document:
    """A scene as written: what `resolve` starts from.

    Attributes:
        path: the scene file as the user gave it, or what messages call one that stands in a result.
        place: where it is read from.
        overrides: of the command line, in order.
        typed: those of them that were given now; the others come with a result that the scene stands in.
        read_run: reads earlier runs that the batch names; None where nothing can.
        worlds: of its batch that are meant, where the scene stands in a result of some of them; None if all are.
        root: the merged tree: includes under the file's keys, then the overrides of the command line.
        sources: (path relative to the scene's folder, text) of the scene and every include, in reading order.
        late_sets: overrides that wait for the expansion: of names that exist only then, as `joints.left/pin.q`, and of
            entries of lists that are not written, as `bodies.a.com[0]`.
        old_keys: of the scene and every include, by the places where they stand.
        notes: what is noted while it is read.
        lost: prefixes of the names that broken instances would have made; nothing is known of them.
        expanded: the tree after expansion, kept by `resolve`; None before.
        cache: what `resolve` keeps between calls.
        inputs: files on disk that it is read from, which no output may replace: the scene, its includes and, once it is
            resolved, the meshes, terrain and tables that it names.
    """

    def __init__(self, path: str, root: TableNode, sources: list[tuple[str, str]], place: HeldPath | None = None):
        self.path = path
        self.place: Path | HeldPath = place or Path(path)
        self.overrides: tuple[Override, ...] = ()
        self.typed: frozenset[Override] = frozenset()
        self.read_run: ReadRun | None = None
        self.worlds: tuple[int, ...] | None = None
        self.root = root
        self.sources = sources
        self.late_sets: list[Laid] = []
        self.old_keys: list[OldKey] = []
        self.notes: list[Fault] = []
        self.lost: tuple[str, ...] = ()
        self.expanded: TableNode | None = None
        self.cache: dict = {}
        self.inputs: list[Path] = []
        self._texts: dict[str, list[str]] = {}
        self._lines: dict[tuple[str, int], str] = {}

    @property
    def folder(self) -> Path | HeldPath:
        """Folder of the scene; every file that it names lies below."""
        return self.place.resolve().parent

    @property
    def stem(self) -> str:
        """Default name of the scene."""
        return self.place.stem

    def note_input(self, file: Path | HeldPath | None) -> None:
        """Remember a file that is read, if it is one on disk."""
        if isinstance(file, Path) and file not in self.inputs:
            self.inputs.append(file)

    def keep(self, file: str, text: str) -> None:
        """Remember a text for the snippets of messages."""
        self._texts[file] = split_lines(text)

    def keep_line(self, file: str, number: int, text: str) -> None:
        """Remember one line of a large text for the snippets of messages."""
        self._lines[file, number] = text

    def know(self, other: "Document") -> None:
        """Remember the texts of another document, too."""
        self._texts |= other._texts

    def line(self, where: Where) -> str | None:
        """The source line of a place, None if there is none."""
        if (where.file, where.line) in self._lines:
            return self._lines[where.file, where.line]
        lines = self._texts.get(where.file, [])
        return lines[where.line - 1] if 0 < where.line <= len(lines) else None

    def where(self, path: str, on_key: bool = False) -> Where:
        """The place of a dotted path, or of its deepest part that is written."""
        steps = parse_path(path) or ()
        place_now = locate(self.expanded or self.root, steps, on_key)
        return Where(place_now.file, place_now.line, place_now.column, place_now.length, path)


@dataclass(frozen=True)
class HeldScene:
    """A scene inside a result.

    Attributes:
        sources: (path relative to the scene's folder, text) of the scene and its includes.
        files: meshes and tables by their path; None of one that was not kept.
        overrides: of the run.
        worlds: numbers of those that were run, None if all were.
    """

    sources: tuple[tuple[str, str], ...]
    files: Mapping[str, bytes | None]
    overrides: tuple[Override, ...]
    worlds: tuple[int, ...] | None


def as_override(one: str | Override) -> Override:
    """An override; a text is one of `--set`."""
    return one if isinstance(one, Override) else Override(SET, one)


class SceneReader:
    """Reads one scene and the files that it includes.

    Args:
        path: what messages call it.
        judge: raises all faults of a scene as it stands; asked where faults of its text could be mended.
        place: of a scene that stands in a result.
    """

    def __init__(self, path: str, judge: Callable[[Document], object], place: HeldPath | None = None):
        self.path, self.judge = path, judge
        self.faults = Faults()
        self.document = Document(path, TableNode({}, {}, Mark(path, 1, 1, 1)), [], place)
        self.top = self.document.folder
        self.merged: dict[Path | HeldPath, TableNode] = {}
        self.bytes = 0
        self.is_unread = False  # whether a file has no tree
        self.is_stored = place is not None  # its text cannot be written anew

    def read(self, sets: Sequence[str | Override], text: str | None = None) -> Document:
        """The scene of the file, or of a text; an error knows its document."""
        try:
            return self._read(sets, text)
        except SceneError as error:
            error.document = self.document
            raise

    def _read(self, sets: Sequence[str | Override], text: str | None) -> Document:
        self.is_stored |= text is not None
        if text is None:
            root = self.file(self.document.place, self.path, [])
        else:
            checked = decode(text.encode(), self.path, self.faults)
            self.faults.raise_if_any()
            root = self.table(checked, self.path, os.path.basename(self.path))
        is_read = not self.is_unread and root is not None
        of_text = {(fault.where.file, fault.where.line) for fault in self.faults.errors if fault.where}
        self.document.overrides = tuple(as_override(one) for one in sets)
        if is_read:
            self.document.root, self.document.late_sets = apply_sets(
                root, sets, self.document.keep, self.faults, self.document.typed
            )
        if of_text and is_read:
            self.judge_further(of_text)
        self.faults.raise_if_any()
        self.document.notes = self.faults.found
        return self.document

    def judge_further(self, lines: set[tuple[str, int]]) -> None:
        """Add the faults of a scene whose text had faults, where these could be mended; not those of the same lines."""
        try:
            self.judge(self.document)
        except SceneError as error:
            for fault in error.faults:
                if fault.where is None or (fault.where.file, fault.where.line) not in lines:
                    self.faults.add(fault.code, fault.message, fault.where, fault.hint, fault.severity)

    def file(self, path: Path | HeldPath, shown: str, stack: list) -> TableNode:
        """One file with its includes merged under it."""
        real = path.resolve()
        if real in self.merged:
            return self.merged[real]
        empty = TableNode({}, {}, Mark(shown, 1, 1, 1))
        self.document.note_input(real)
        text = self.text(real, shown, path.exists())
        table = None
        if text is not None:
            table = self.table(text, shown, os.path.relpath(real, self.top).replace(os.sep, "/"))
        if table is None:
            self.is_unread = True
            return empty
        self.merged[real] = self.with_includes(table, path, shown, [*stack, real])
        return self.merged[real]

    def table(self, text: str, shown: str, name: str) -> TableNode | None:
        """The marked tree of one text, or None after a fault."""
        self.document.keep(shown, text)
        self.document.sources.append((name, text))
        node = parse_text(text, shown, self.faults)
        if isinstance(node, TableNode):
            return self.renewed(node) if mentions_old_key(text) else node
        if node is not None:
            self.faults.add("SC109", "a scene is a mapping of keys to values", where_of(node.mark), "start with `simcli: 1`")
        elif not self.faults.errors:
            self.faults.add("SC109", "the file is empty", Where(shown, 1, 1), "start with `simcli: 1`")
        return None

    def renewed(self, node: TableNode) -> TableNode:
        """The tree of one text with the new names of old keys, which are reported."""
        found = old_keys(node)
        self.document.old_keys += found
        hint = f"write `{{}}`, or let `simcli check --fix {shlex.quote(self.path)}` do it"
        tell_old_keys(found, self.faults, None if self.is_stored else hint)
        return renewed(node)

    def text(self, real: Path | HeldPath, shown: str, is_there: bool) -> str | None:
        """The text of a file, or None after a fault."""
        hint = "a scene is read from a file: write it to one"
        try:
            status = real.stat()
            if not stat.S_ISREG(status.st_mode):
                self.faults.add("SC110", f"`{shown}` is not a file", Where(shown, 0, 0), hint)
                return None
            if status.st_size > MAX_BYTES - self.bytes:
                self.faults.add("SC105", f"the files have more than {MAX_BYTES} bytes (64 MiB)", Where(shown, 1, 1))
                return None
            data = real.read_bytes()
        except (OSError, ValueError) as error:
            if is_there and isinstance(error, FileNotFoundError):  # a pipe, which has no path of its own
                self.faults.add("SC110", f"`{shown}` is not a file", Where(shown, 0, 0), hint)
                return None
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self.faults.add("SC110", f"cannot read `{shown}`: {reason}", Where(shown, 0, 0))
            return None
        self.bytes += len(data)
        return decode(data, shown, self.faults)

    def with_includes(self, node: TableNode, path: Path | HeldPath, shown: str, stack: list) -> TableNode:
        """A tree over those of the files that it includes."""
        listed = node.get("include")
        if listed is None:
            return node
        names = listed.items if isinstance(listed, Listing) else [listed]
        below = TableNode({}, {}, node.mark)
        for name in names:
            table = self.included(name, path, shown, stack)
            if table is not None:
                below = merged(as_included(table, self.faults), below)
        return merged(node.replaced({"include": None}), below)

    def included(self, name: Node, path: Path | HeldPath, shown: str, stack: list) -> TableNode | None:
        """The tree of an included file; None after a fault, and where no name is written."""
        if isinstance(name, Scalar) and name.value is None:
            return None
        if not isinstance(name, Scalar) or not isinstance(name.value, str):
            self.faults.add("SC203", "`include` takes file names", where_of(name.mark, "include"), "as [materials.yaml]")
            return None
        target = checked_file(name.value, path.parent, self.top, where_of(name.mark, "include"), self.faults)
        if target is None:
            return None
        if target in stack:
            self.faults.add("SC112", f"`{name.value}` includes itself", where_of(name.mark, "include"), "remove this line")
            return None
        if len(stack) > 60 or len(self.merged) > MAX_INCLUDES:
            self.faults.add(
                "SC105", f"more than {MAX_INCLUDES} includes, or nested deeper than 60", where_of(name.mark, "include")
            )
            return None
        inner = os.path.join(os.path.dirname(shown), name.value)
        return self.file(target, inner, stack)


def merged(over: TableNode, under: TableNode) -> TableNode:
    """`under` with the keys of `over` laid on top; mappings are merged, everything else is replaced."""
    items, keys = dict(under.items), dict(under.keys)
    for key, value in over.items.items():
        old = items.get(key)
        items[key] = merged(value, old) if isinstance(value, TableNode) and isinstance(old, TableNode) else value
        keys[key] = over.keys[key]
    return TableNode(items, keys, over.mark, over.block)
