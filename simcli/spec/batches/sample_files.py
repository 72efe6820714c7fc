"""The files that a scene and its batch name: meshes, terrain, tables and earlier runs; those of a batch are read once.

They stand below the scene's folder, where the command line says, or inside a result.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from simcli.errors import SimcliError, UsageError, Where
from simcli.spec.base.fault_list import Faults
from simcli.spec.base.nodes import Mark, TableNode, find, locate, parse_path
from simcli.spec.base.scene_files import HeldPath, checked_file, present_file
from simcli.spec.batches.sheets import MAX_FAULTS, sheet_of
from simcli.spec.batches.table_columns import UnknownColumnError, read_columns
from simcli.spec.document.overrides import VARY, VARY_TABLE
from simcli.spec.document.scene_file import Document
from simcli.spec.faults.checker import Checker, exists
from simcli.spec.lookup.scene_values import value_at
from simcli.spec.schema.batch import TableSpec, VarySpec
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.values.csv_tables import CsvError, SampleColumn, read_bytes
from simcli.spec.values.scopes import where_of

TYPED = (VARY, VARY_TABLE)


def kept_name(name: str, mark: Mark, column: str = "") -> str:
    """Under which name a result keeps a file.

    Args:
        name: as written.
        mark: place where it is written.
        column: of an earlier run.
    """
    from urllib.parse import quote

    under = f"{mark.file}/{quote(name, safe='')}" if mark.file in TYPED else name  # one level: it may lead anywhere
    return f"{under}#{column}" if column else under


def shown_name(document: Document, name: str, mark: Mark) -> str:
    """A file as messages name it."""
    is_below = mark.file not in TYPED and not isinstance(document.place, HeldPath)
    return os.path.join(os.path.dirname(document.path), name) if is_below else name


def path_of(document: Document, name: str, mark: Mark, faults: Faults) -> Path | HeldPath | None:
    """A file that a batch names; None after a fault.

    Args:
        document: the scene.
        name: as written.
        mark: place where it is written.
        faults: collects.
    """
    found = _found(document, name, mark, faults)
    document.note_input(found)
    return found


def _found(document: Document, name: str, mark: Mark, faults: Faults) -> Path | HeldPath | None:
    if mark.file not in TYPED:
        return checked_file(name, document.folder, document.folder, where_of(mark), faults)
    if isinstance(document.place, HeldPath) and not _is_typed(document, mark):
        target = HeldPath(document.place.files, kept_name(name, mark))
        return present_file(name, target.parent, target, target.is_file(), where_of(mark), faults)
    path = Path(name)
    try:
        there = path.is_file()
        if path.exists() and not there:
            faults.add("SC110", f"`{name}` is no regular file", where_of(mark), "write it to a file first")
            return None
    except (OSError, ValueError):
        there = False
    return present_file(name, Path(), path, there, where_of(mark), faults)


def earlier_text(document: Document, name: str, column: str, mark: Mark, faults: Faults) -> str | None:
    """A column of an earlier run as a table; None after a fault.

    Args:
        document: the scene.
        name: of the run's file, as written.
        column: as of `simcli table`.
        mark: place where the file is written.
        faults: collects.

    Raises:
        CsvError: some world has no number, or nothing can read runs here.
        SimcliError: the file is no run, or has no such column.
    """
    if isinstance(document.place, HeldPath) and not _is_typed(document, mark):
        data = document.place.files.get(kept_name(name, mark, column))
        if data is None:
            raise CsvError(f"the values of `{column}` of `{name}` are not in the result", "run the scene file itself")
        return data.decode()
    path = path_of(document, name, mark, faults)
    if path is None:
        return None
    if document.read_run is None:
        raise CsvError("earlier runs are not read here", "simcli run, check and simcli.load read them")
    values, unit = document.read_run(str(path), column)
    lacking = next((k for k, value in enumerate(values) if value - value != 0), None)
    if lacking is not None:
        good = f"simcli table {name} --where '{{status}} == ok' -o good.csv"
        raise CsvError(f"world {lacking} of `{name}` has no number `{column}`", f"take a table of the others: `{good}`")
    header = f"{column} [{unit}]" if unit else column
    quoted = '"' + header.replace('"', '""') + '"'
    return "\n".join([quoted, *(repr(float(value)) for value in values)]) + "\n"


def _is_typed(document: Document, mark: Mark) -> bool:
    """Whether an option was given now, not with the run that the scene stands in."""
    same = [one for one in document.overrides if one.option == mark.file]
    return mark.file in TYPED and 0 < mark.line <= len(same) and same[mark.line - 1] in document.typed


_TABLE = ("batch", "table")


def with_samples(check: Checker) -> SceneSpec:
    """The scene with what the files of its batch hold; where one cannot be read, a fault is told and the batch left out."""
    batch = check.spec.batch
    earlier = {path: vary for path, vary in batch.vary.items() if vary.kind == "from"}
    if (batch.table is None and not earlier) or check.is_refused("batch"):
        return check.spec
    table = batch.table and _with_table(check, batch.table)
    read = {path: _with_values(check, path, vary) for path, vary in earlier.items()}
    if (table is None) != (batch.table is None) or None in read.values():
        check.broken.add(("batch", ""))
        vary = {path: one for path, one in batch.vary.items() if path not in earlier}
        return check.spec.model_copy(update={"batch": batch.model_copy(update={"table": None, "vary": vary})})
    vary = {path: read.get(path, one) for path, one in batch.vary.items()}
    return check.spec.model_copy(update={"batch": batch.model_copy(update={"table": table, "vary": vary})})


def sample_files(document: Document) -> Mapping[str, bytes]:
    """The bytes that the batch of a resolved scene was read from, by the names under which a result keeps them."""
    return document.cache.get("samples", {})


def _with_table(check: Checker, table: TableSpec) -> TableSpec | None:
    """The table with its contents; None after a fault."""
    mark = _mark(check, (*_TABLE, "file"))
    path = path_of(check.document, table.file, mark, check.faults)
    if path is None:
        return None
    shown = shown_name(check.document, table.file, mark)
    known = check.document.cache.setdefault("tables", {})  # a scene with faults is judged several times
    asked = (kept_name(table.file, mark), tuple((table.columns or {}).items()), table.columns is None, table.sha256)
    if asked in known:
        return table.having(*known[asked])
    try:
        data = read_bytes(path)
        sheet = sheet_of(data)
    except CsvError as error:
        _tell(check, [error], shown)
        return None
    sha256 = hashlib.sha256(data).hexdigest()
    if table.sha256 not in (None, sha256):
        check.fault(
            "SC320",
            f"`{table.file}` is not the file of this checksum: its SHA-256 is {sha256}",
            (*_TABLE, "sha256"),
            "put the file back, or remove `sha256`",
        )
        return None
    columns = read_columns(sheet, shown, table.columns, lambda base, n: _is_vector(check, base, n), list(check.spec.params))
    if sheet.problems:
        _tell(check, sheet.problems, shown)
        return None
    check.document.cache.setdefault("samples", {})[kept_name(table.file, mark)] = data
    known[asked] = columns, sha256
    return table.having(columns, sha256)


def _is_vector(check: Checker, base: str, n: int) -> bool:
    """Whether a path is a list of n numbers, or has no entries of its own."""
    steps = parse_path(base) or ()
    value = value_at(check.spec, steps)
    if isinstance(value, tuple) and len(value) == n:
        return True
    return not exists(check, (*steps, 0))


def _with_values(check: Checker, path: str, vary: VarySpec) -> VarySpec | None:
    """The variation with the values of an earlier run; None after a fault."""
    earlier, at = vary.from_, ("batch", "vary", path, "from")
    mark = _mark(check, (*at, "file"))
    try:
        text = earlier_text(check.document, earlier.file, earlier.name, mark, check.faults)
        if text is None:
            return None
        column = _single(text)
    except (CsvError, SimcliError) as error:
        key = "file" if not isinstance(error, UsageError | CsvError) else "param" if earlier.param else "measure"
        check.fault("SC321", str(error), (*at, key), getattr(error, "hint", ""))
        return None
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    if earlier.sha256 not in (None, sha256):
        check.fault(
            "SC321",
            f"the values of `{earlier.name}` are not those of this checksum: their SHA-256 is {sha256}",
            (*at, "sha256"),
            "put the file back, or remove `sha256`",
        )
        return None
    check.document.cache.setdefault("samples", {})[kept_name(earlier.file, mark, earlier.name)] = text.encode()
    return vary.model_copy(update={"from_": earlier.having(column, sha256)})


def _single(text: str) -> SampleColumn:
    """The column of a table of one column, as `earlier_text` gives it."""
    sheet = sheet_of(text.encode())
    header = sheet.headers[0]
    (values,) = sheet.columns([0], None)
    if sheet.problems:
        raise sheet.problems[0]
    return SampleColumn(header.text, tuple(values), header.unit)


def _mark(check: Checker, steps: tuple) -> Mark:
    node = find(check.tree, steps)
    if node is None:
        above = find(check.tree, steps[:-1])
        return above.mark if above is not None else check.tree.mark
    return node.mark


def _tell(check: Checker, problems: list[CsvError], shown: str) -> None:
    """Faults of a table at their places in the file; of a key of `columns` at the key."""
    for problem in problems[:MAX_FAULTS]:
        if problem.text is not None:
            check.document.keep_line(shown, problem.line, problem.text)
        if isinstance(problem, UnknownColumnError):
            table = find(check.tree, (*_TABLE, "columns"))
            mark = table.keys.get(problem.key) if isinstance(table, TableNode) else None
            where = where_of(mark, "batch.table.columns") if mark else locate(check.tree, (*_TABLE, "columns"))
        else:
            where = Where(shown, problem.line, problem.column if problem.line else 0, problem.length, "batch.table")
        check.faults.add("SC320", str(problem), where, problem.hint)


def named_files(spec: SceneSpec) -> list[tuple[str, str]]:
    """(dotted path, file) of every mesh, terrain and table that a scene names."""
    owners = [*((f"bodies.{name}", body) for name, body in spec.bodies.items()), ("world", spec.world)]
    groups = [
        (f"{path}.{inner}", shapes)
        for path, owner in owners
        for inner, shapes in (("shapes", owner.shapes), ("look.shapes", owner.look.shapes))
    ]
    named = [
        (f"{path}.{key}.file", getattr(shape, "file", None)) for path, shapes in groups for key, shape in shapes.items()
    ]
    named += [(f"signals.{name}.table.file", signal.table and signal.table.file) for name, signal in spec.signals.items()]
    return [(path, file) for path, file in named if file]


def file_contents(document: Document, spec: SceneSpec) -> dict[str, bytes]:
    """Contents of every file that a scene names, by its path, and of what its batch was read from."""
    named = {file: (document.folder / file).read_bytes() for _, file in named_files(spec)}
    return named | sample_files(document)
