"""`simcli check`: is this valid? Scenes, folders, outputs. Starts neither Taichi nor, for scenes, HDF5."""

import codecs
import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from simcli.cli import console
from simcli.cli.console import plural
from simcli.cli.options import OUTPUT_SUFFIXES, FixInertia, JsonFlag, PackagePath, SetValues, existing
from simcli.errors import Exit, Fault, OutputError, SceneError, UsageError, Where, first_few

SCENE_SUFFIXES = (".yaml", ".yml")
_SHOWN = 5  # varied numbers in a message
FILE_CODE = "SC701"  # of a damaged or foreign output file


class _Format(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


class KeyChange(NamedTuple):
    """A key that has its new name now.

    Attributes:
        file: that it stands in.
        line: where.
        old, new: its names.
    """

    file: str
    line: int
    old: str
    new: str


@dataclass
class Finding:
    """What was found in one file.

    Attributes:
        path: the file.
        faults: errors, warnings and notes.
        note: what it is, for a file that is good.
        document: the text that the places are in, None for outputs.
        idle: shapes that collide, but can touch nothing.
        changes: what `--fix` wrote, into it and into what it includes.
    """

    path: Path
    faults: list[Fault] = field(default_factory=list)
    note: str = ""
    document: Any = None
    idle: list[str] = field(default_factory=list)
    changes: list[KeyChange] = field(default_factory=list)

    def fails(self, strict: bool) -> bool:
        """True if the file counts as bad; `strict` counts warnings."""
        return any(fault.severity == "error" or (strict and fault.severity == "warning") for fault in self.faults)


def check(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Scenes, folders, HDF5 outputs.", show_default=False)],
    format: Annotated[_Format, typer.Option("--format", help="text, json or sarif.")] = _Format.TEXT,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
    sets: SetValues = [],  # noqa: B006
    package_path: PackagePath = [],  # noqa: B006
    fix_inertia: FixInertia = False,
    fix: Annotated[bool, typer.Option("--fix", help="Write the new names of old keys into the files.")] = False,
    json: JsonFlag = False,
) -> int:
    """Check scenes and outputs without running anything.

    Exit code 1 if anything is wrong. `--set` holds for all scenes that are named. --fix changes scenes, sweeps and what
    they include, and of these the names of old keys alone. Of more than 200 faults of a file the first are printed; --json
    has them all.

    Example: simcli check scenes/
    """
    from simcli.exchange.importing import import_overrides, is_foreign

    files = _files(paths)
    models = [path for path in files if is_foreign(path)] or files[:1]
    reading = {path: import_overrides(path, package_path, fix_inertia) for path in models}
    changes = {path: _write_new_names(path) for path in files if fix and path.suffix in SCENE_SUFFIXES}
    findings = [_check_one(path, [*reading.get(path, []), *sets]) for path in files]
    for finding in findings:
        finding.changes = changes.get(finding.path, [])
    bad = sum(finding.fails(strict) for finding in findings)
    if json:
        format = _Format.JSON
    _say_changes(findings, console.data if format is _Format.TEXT else console.say)
    if format is _Format.TEXT:
        _write_text(findings, bad)
    elif format is _Format.JSON:
        _write_json(findings, bad)
    else:
        from simcli.spec.faults.diagnostics import sarif

        console.data_json(sarif([fault for finding in findings for fault in finding.faults]))
    return Exit.NEGATIVE if bad else Exit.OK


def _files(paths: list[Path]) -> list[Path]:
    """Every file to look at; in folders, the scenes and outputs below them.

    Raises:
        UsageError: a path does not exist, or there is nothing to check below it.
    """
    files: list[Path] = []
    for path in paths:
        if not existing(path).is_dir():
            files.append(path)
            continue
        below = sorted(entry for entry in path.rglob("*") if entry.is_file() and _is_ours(entry))
        if not below:
            raise UsageError(f"{path}: no scene (a .yaml file with the key `simcli`) and no .h5 file below this folder")
        files.extend(below)
    return files


def _is_ours(path: Path) -> bool:
    """True for outputs and for YAML files that are scenes or sweeps; included fragments lack the format version."""
    if path.suffix in OUTPUT_SUFFIXES:
        return True
    if path.suffix not in SCENE_SUFFIXES:
        return False
    return any(line.startswith((b"simcli:", b"sweep:")) for line in path.read_bytes().splitlines())


def _write_new_names(path: Path) -> list[KeyChange]:
    """Replace old keys in a scene and in the files that it includes; of a scene that cannot be read nothing is changed.

    Raises:
        OutputError: one of the files cannot be written.
    """
    from simcli.spec.document.renewal import renewed_text
    from simcli.spec.loading import load_document

    try:
        document = load_document(path)
    except SceneError:  # which the check tells
        return []
    changes: list[KeyChange] = []
    texts: dict[Path, str] = {}
    for file in dict.fromkeys(one.mark.file for one in document.old_keys):
        text = Path(file).read_bytes().decode("utf-8-sig")
        texts[Path(file)], found = renewed_text(text, file)
        changes += [KeyChange(file, one.mark.line, one.old, one.new) for one in found]
        if not os.access(file, os.W_OK):
            raise OutputError(
                f"{file}: cannot be written, and holds the old key `{found[0].old}`: make it writable; nothing was changed"
            )
    for target, new in texts.items():
        _replace_text(target, new)
    return changes


def _replace_text(file: Path, text: str) -> None:
    """Write a text into a file that has another one, with its byte order mark and its mode."""
    from simcli.records.drafts import drafted

    mark = codecs.BOM_UTF8 if file.read_bytes().startswith(codecs.BOM_UTF8) else b""
    with drafted(file) as draft:
        draft.write_bytes(mark + text.encode())
        shutil.copymode(file, draft)


def _check_one(path: Path, sets: list) -> Finding:
    if path.suffix in OUTPUT_SUFFIXES:
        return _check_output(path)
    from simcli.exchange.importing import load_scene
    from simcli.spec.batches.sweep_file import is_sweep

    try:
        document = load_scene(path, sets)
    except SceneError as error:
        return Finding(path, error.faults, document=error.document)
    return _check_sweep(path, document) if is_sweep(document) else _check_scene(path, sets)


def _check_sweep(path: Path, document) -> Finding:
    """A sweep file, and every combination of its choices."""
    from simcli.spec import n_worlds
    from simcli.spec.batches.sweep_file import read_sweep
    from simcli.sweeps.records.scenes import understood

    try:
        counts = [n_worlds(one.spec) for one in understood(read_sweep(document))]
    except SceneError as error:
        return Finding(path, error.faults, document=error.document)
    note = f"sweep of {plural(sum(counts), 'case')} in {plural(len(counts), 'structure')}"
    return Finding(path, list(document.notes), note, document)


def _check_scene(path: Path, sets: list) -> Finding:
    from simcli.cli.scene_sources import say_imported
    from simcli.cli.scenes.start_findings import start_faults
    from simcli.model.describe import idle_names
    from simcli.pipeline import read_scene
    from simcli.spec.resolve import warnings

    try:
        document, spec = read_scene(path, sets)
        say_imported(document, path)
        model, lacking = _begun(document, spec)
    except SceneError as error:
        return Finding(path, error.faults, document=error.document)
    note = f"{plural(len(spec.bodies), 'body')}, {plural(len(spec.joints), 'joint')}, {spec.solver.type}"
    found = [*warnings(document), *lacking, *start_faults(document, spec, model)]
    return Finding(path, found, note, document, idle_names(model))


def _begun(document, spec) -> tuple[Any, list[Fault]]:
    """A world that can begin, and a warning about those of its batch that cannot.

    Raises:
        SceneError: the values of some world make no mechanism, or no world can begin.
    """
    from simcli.pipeline import build_model

    whole = build_model(document, spec, None)
    if whole.n_worlds == 1:
        return whole, []
    faults = {fault.world: fault for fault in reversed(whole.start.faults if whole.start else ())}
    model = build_model(document, spec, (next(k for k in range(whole.n_worlds) if k not in faults),))
    return model, [_lacking(document, whole, faults)] if faults else []


def _lacking(document, model, faults: dict) -> Fault:
    """How many worlds cannot begin, and what the first of them lacks."""
    world = min(faults)
    names = list(zip(model.param_name, model.param_unit, model.param_value[world].tolist(), strict=True))
    values = [f"{name} = {value:.6g} {unit}".rstrip() for name, unit, value in names]
    text = (
        f"{len(faults)} of {model.n_worlds} worlds cannot start; the first is world {world}, with "
        f"{first_few(values, _SHOWN)}: {faults[world].text}"
    )
    return Fault(faults[world].code, text, document.where(faults[world].path), faults[world].hint, "warning")


def _check_output(path: Path) -> Finding:
    from simcli.records.integrity.verification import file_info, verify_any
    from simcli.records.reading.result_reader import Results, is_result

    faults = [Fault(FILE_CODE, problem, Where(str(path), 0, 0)) for problem in verify_any(path)]
    if faults:
        return Finding(path, faults)
    if is_result(path):
        with Results(path) as result:
            return Finding(path, [], f"{plural(result.n_states, 'state')}, result of {result.kind}")
    found = file_info(path)
    counts = f"{plural(found['frames'], 'frame')}, {plural(found['worlds'], 'world')}"
    return Finding(path, [], f"{counts}, {console.status_text(found['status'])}")


def _say_changes(findings: list[Finding], say: Callable[[str], None]) -> None:
    for finding in findings:
        for one in finding.changes:
            say(f"{one.file}:{one.line}: {one.old} -> {one.new}")


def _write_text(findings: list[Finding], bad: int) -> None:
    from simcli.spec.faults.diagnostics import render_faults

    for finding in findings:
        if finding.faults:
            console.say(render_faults(finding.faults, finding.document, console.colour_wanted()))
        if all(fault.severity == "note" for fault in finding.faults):
            console.data(f"{finding.path}: ok ({finding.note})")
    n_of = Counter(fault.severity for finding in findings for fault in finding.faults)
    if n_of:
        counts = ", ".join(plural(n_of[kind], kind) for kind in ("error", "warning", "note") if n_of[kind] or kind != "note")
        console.say(f"{counts}; {bad} of {plural(len(findings), 'file')} bad")


def _write_json(findings: list[Finding], bad: int) -> None:
    from simcli.spec.faults.diagnostics import fault_data

    files = [
        {
            "path": finding.path,
            "note": finding.note,
            "faults": [fault_data(fault) for fault in finding.faults],
            "idle_shapes": finding.idle,
            "changes": [one._asdict() for one in finding.changes],
        }
        for finding in findings
    ]
    console.emit("check", {"ok": not bad, "files": files})
