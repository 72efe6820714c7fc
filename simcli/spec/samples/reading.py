"""The files that a batch names, read once per scene: its table, and earlier runs."""

import hashlib
from collections.abc import Mapping

from simcli.errors import SimcliError, UsageError, Where
from simcli.spec.checks.checker import Checker
from simcli.spec.document.lookup import value_at
from simcli.spec.document.nodes import Mark, TableNode, find, locate, parse_path
from simcli.spec.document.paths import exists
from simcli.spec.document.scene_file import Document
from simcli.spec.samples.columns import SampleColumn
from simcli.spec.samples.csv_text import CsvError, read_bytes
from simcli.spec.samples.files import earlier_text, kept_name, path_of, shown_name
from simcli.spec.samples.sheets import MAX_FAULTS, sheet_of
from simcli.spec.samples.table import UnknownColumnError, read_columns
from simcli.spec.schema.batch import TableSpec, VarySpec
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.values.scopes import where_of

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
        check.fault("SC320", f"`{table.file}` is not the file of this checksum: its SHA-256 is {sha256}",
                    (*_TABLE, "sha256"), "put the file back, or remove `sha256`")  # fmt: skip
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
        check.fault("SC321", f"the values of `{earlier.name}` are not those of this checksum: their SHA-256 is {sha256}",
                    (*at, "sha256"), "put the file back, or remove `sha256`")  # fmt: skip
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

