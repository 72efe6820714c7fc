"""Which column of a table is for which path: by `columns`, or by headers that are paths themselves."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from simcli.spec.base.fault_list import did_you_mean, nearest_name
from simcli.spec.base.nodes import format_path, parse_path
from simcli.spec.batches.sheets import Header, Sheet, header_of
from simcli.spec.values.csv_tables import CsvError, SampleColumn, SampleColumns, table_cells
from simcli.spec.values.units import UnitError, parse_unit

_SEED = "seed"
# Columns that simcli writes beside those of paths: numbers of worlds, and what a run came to.
PASSED_OVER = ("world", "batch.world", _SEED, "file", "status")
_GROUPS = ("status.", "measure.")
Fits = Callable[[str, int], bool]  # whether a path stands for a vector of so many numbers, which its components alone do not


class Target(NamedTuple):
    """A column that is used.

    Attributes:
        path: dotted path that it is for.
        header: of the column.
        unit: of its numbers.
        key: of `columns`, "" where the header is the path.
    """

    path: str
    header: Header
    unit: str
    key: str = ""


class UnknownColumnError(CsvError):
    """A key of `columns` that the file does not have.

    Attributes:
        key: as written.
    """

    def __init__(self, key: str, message: str, hint: str):
        super().__init__(message, hint)
        self.key = key


def read_columns(sheet: Sheet, file: str, names: Mapping[str, str] | None, fits: Fits, params: list[str]) -> SampleColumns:
    """The columns of a table by the paths that they are for; problems are left in the sheet.

    Args:
        sheet: the file.
        file: its name in messages.
        names: header to path; None: headers are paths themselves.
        fits: see `Fits`.
        params: names of parameters, for hints.
    """
    targets = list(_by_name(sheet, names) if names is not None else _by_header(sheet, params))
    seeds = next((one.index for one in sheet.headers if one.name == _SEED), None) if names is None else None
    _refuse_doubles(sheet, targets)
    if not targets and names is None and not sheet.problems and seeds is None:
        problem = CsvError(
            "no column is for a number of the scene", "write paths as headers, as params.k, or `columns: {HEADER: params.k}`"
        )
        sheet.problems.append(problem.at(sheet.lines[0], sheet.text_of(None)) if sheet.lines else problem)
    if sheet.problems:
        return SampleColumns()
    factors = [_factor(sheet, one) for one in targets]
    wanted = [one.header.index for one in targets]
    raw = sheet.columns(wanted if seeds is None else [*wanted, seeds], seeds)
    if sheet.problems:
        return SampleColumns()
    columns = {
        one.path: SampleColumn(
            one.header.text,
            tuple(values if factor == 1.0 else [value * factor for value in values]),
            one.unit,
            factor,
            (one.header.index,),
            one.key,
        )
        for one, factor, values in zip(targets, factors, raw, strict=False)
    }
    for path, column in columns.items():
        row = next((k for k, value in enumerate(column.values) if value - value != 0), None)
        if row is not None:
            problem = CsvError(f"{column.header}: the number in row {row} is too large in SI", f"of `{path}`")
            sheet.problems.append(problem.at(sheet.lines[row + 1], sheet.text_of(row)) if sheet.lines else problem)
    return SampleColumns(
        file,
        sheet.n_rows,
        _with_vectors(columns, fits),
        None if seeds is None else tuple(raw[-1]),
        sheet.lines,
        sheet.text_of,
        sheet.separator,
    )


def _by_name(sheet: Sheet, names: Mapping[str, str]):
    """Targets in the order of the file; a key fits a header as a whole, or by its name where only one of them has a unit."""
    of_header: dict[int, Target] = {}
    for key, path in names.items():
        asked = header_of(key)
        exact = [one for one in sheet.headers if one.text == key.strip()]
        found = exact or [one for one in sheet.headers if one.name == asked.name and "" in (one.unit, asked.unit)]
        if len(found) == 1:
            if found[0].index in of_header:
                message = f"the column `{found[0].text}` is taken twice"
                sheet.problems.append(UnknownColumnError(key, message, "keep one key"))
            of_header[found[0].index] = Target(path, found[0], found[0].unit or asked.unit, key)
            continue
        if found:
            message = f"`{key}` means {len(found)} columns"
        else:
            message = f"the file has no column `{key}`"
        near = nearest_name(asked.name, [one.name for one in sheet.headers])
        meant = next((one.text for one in sheet.headers if near and one.name == near), "")
        hint = f"did you mean `{meant}`?" if meant else did_you_mean(key, [one.text for one in sheet.headers], "columns")
        sheet.problems.append(UnknownColumnError(key, message, hint))
    yield from (of_header[index] for index in sorted(of_header))


def _by_header(sheet: Sheet, params: list[str]):
    for header in sheet.headers:
        if header.name in PASSED_OVER or header.name.startswith(_GROUPS):
            continue
        steps = parse_path(header.name)
        if steps is not None and len(steps) > 1:
            yield Target(header.name, header, header.unit)
            continue
        near = nearest_name(header.name, params)
        hint = f"did you mean `params.{near}`?" if near else f"say what it is for: `columns: {{{header.text}: params.NAME}}`"
        sheet.problems.append(_at(sheet, header, f"the header `{header.text}` is no path of a number", hint))


def _refuse_doubles(sheet: Sheet, targets: list[Target]) -> None:
    first: dict[str, Target] = {}
    for one in targets:
        other = first.setdefault(one.path, one)
        if other is not one:
            message = f"the columns `{other.header.text}` and `{one.header.text}` are both for `{one.path}`"
            sheet.problems.append(_at(sheet, one.header, message, "keep one of them"))


def _factor(sheet: Sheet, target: Target) -> float:
    try:
        return parse_unit(target.unit)[0] if target.unit else 1.0
    except UnitError as error:
        sheet.problems.append(_at(sheet, target.header, f"{target.header.text}: {error}", error.hint))
        return 1.0


def _at(sheet: Sheet, header: Header, message: str, hint: str) -> CsvError:
    """A problem of a header."""
    if not sheet.lines:
        return CsvError(message, hint)
    cell = table_cells(sheet.text_of(None), sheet.separator)[header.index]
    return CsvError(message, hint).at(sheet.lines[0], sheet.text_of(None), cell.column, cell.length)


def _with_vectors(columns: dict[str, SampleColumn], fits: Fits) -> dict[str, SampleColumn]:
    """Columns of all components of a vector, `com[0]` to `com[2]`, as one of lists where the scene knows only the vector."""
    groups: dict[str, dict[int, str]] = {}
    for path in columns:
        steps = parse_path(path) or ()
        if steps and isinstance(steps[-1], int):
            groups.setdefault(format_path(steps[:-1]), {})[steps[-1]] = path
    found = dict(columns)
    for base, parts in groups.items():
        if sorted(parts) != list(range(len(parts))) or base in columns or not fits(base, len(parts)):
            continue
        members = [columns[parts[k]] for k in range(len(parts))]
        whole = SampleColumn(
            members[0].header,
            tuple(map(list, zip(*(one.values for one in members), strict=True))),
            members[0].unit,
            members[0].factor,
            tuple(one.parts[0] for one in members),
            members[0].key,
        )
        at = parts[0]
        found = {
            base if path == at else path: whole if path == at else column
            for path, column in found.items()
            if path == at or path not in parts.values()
        }
    return found
