"""What became of each element of a source: carried, changed (how), dropped (why)."""

from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from simcli.exchange.source.xml_reader import XmlElement

Fate = Literal["carried", "changed", "dropped"]
FATES: tuple[Fate, ...] = ("carried", "changed", "dropped")


@dataclass(frozen=True)
class ImportEntry:
    """One element.

    Attributes:
        fate: what became of it.
        kind: of element, in the words of the source: `joint`, `visual`, `gazebo`.
        name: of the element, or of what it belongs to; "" if it has none.
        line: where it stands in the source, 0 if that is not known.
        why: how it was changed, or why it was dropped; "" for what was carried.
        file: that holds the line, relative to the model's folder, if the model includes it; "" for the model itself; of
            USD, which has no lines, the path of the prim.
        is_note: of what was dropped, whether nothing moves otherwise without it: looks, names, numbers of other programs.
    """

    fate: Fate
    kind: str
    name: str
    line: int
    why: str = ""
    file: str = ""
    is_note: bool = False


@dataclass
class ImportReport:
    """All elements of a source, in the order in which they were read.

    Attributes:
        source: path of the file, as given.
        entries: what became of each.
    """

    source: str
    entries: list[ImportEntry] = field(default_factory=list)

    def kept(self, kind: str, name: str, line: int, how: str = "", file: str = "") -> None:
        """An element says in the scene what it said in the source; `how` if it says it in another way."""
        self.entries.append(ImportEntry("changed" if how else "carried", kind, name, line, how, file))

    def dropped(self, kind: str, name: str, line: int, why: str, file: str = "", is_note: bool = False) -> None:
        """An element is lost."""
        self.entries.append(ImportEntry("dropped", kind, name, line, why, file, is_note))

    def lost_attributes(self, element: XmlElement, owner: str, is_note: bool = False) -> None:
        """Attributes of an element that is in the scene, which nobody has read, are lost."""
        for key in element.unread():
            why = "not of the format, or not read"
            self.dropped("attribute", f"{owner}: {element.tag} {key}", element.line, why, element.file, is_note)

    def amend(self, kind: str, name: str, line: int, how: str) -> None:
        """An element that was told already, or that nobody told, says it in another way, too."""
        at = next((k for k, entry in enumerate(self.entries) if (entry.kind, entry.name) == (kind, name)), None)
        if at is None:
            self.kept(kind, name, line, how)
        elif self.entries[at].fate != "dropped":
            why = "; ".join(filter(None, (self.entries[at].why, how)))
            self.entries[at] = replace(self.entries[at], fate="changed", why=why)

    def withdraw(self, kinds: Collection[str], name: str, why: str, is_note: bool = False) -> None:
        """Elements of some kinds and a name, told already, are lost with what they belong to."""
        self.entries = [
            replace(entry, fate="dropped", why=why, is_note=is_note) if entry.kind in kinds and entry.name == name else entry
            for entry in self.entries
        ]

    def counts(self) -> dict[Fate, int]:
        """How many elements met each fate."""
        found = Counter(entry.fate for entry in self.entries)
        return {fate: found[fate] for fate in FATES}

    @property
    def loses(self) -> bool:
        """Whether anything was dropped without which the motion may differ."""
        return self.count_notes() < self.counts()["dropped"]

    def count_notes(self) -> int:
        """How many elements were dropped without which nothing moves otherwise."""
        return sum(entry.is_note for entry in self.entries if entry.fate == "dropped")

    def sums(self, fate: Fate) -> list[tuple[str, str, list[ImportEntry]]]:
        """(kind, why, entries) of a fate, the most frequent first."""
        found: dict[tuple[str, str], list[ImportEntry]] = {}
        for entry in self.entries:
            if entry.fate == fate:
                found.setdefault((entry.kind, entry.why), []).append(entry)
        ordered = sorted(found.items(), key=lambda item: -len(item[1]))
        return [(kind, why, entries) for (kind, why), entries in ordered]

    def as_data(self) -> dict:
        """The report for programs."""
        entries = [asdict(entry) for entry in self.entries]
        return {"source": self.source, "counts": self.counts(), "elements": entries}


@dataclass(frozen=True)
class ConvertedModel:
    """What was made of a model or a scene in another format.

    Attributes:
        text: of the file; "" of one that is no text.
        files: path relative to the file to bytes, of the meshes that it names.
        report: what became of each element.
        data: bytes of a file that is no text.
    """

    text: str
    files: dict[str, bytes]
    report: ImportReport
    data: bytes = b""
