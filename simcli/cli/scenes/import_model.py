"""`simcli import`: a model of another format as a scene, with a report of every loss."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from simcli.cli import console
from simcli.cli.console import plural
from simcli.cli.options import (
    FixInertia,
    JsonFlag,
    PackagePath,
    existing_file,
    file_or_stdout,
    goes_to_stdout,
    output_option,
)
from simcli.cli.scene_sources import say_report, write_with_meshes
from simcli.errors import Exit, UsageError

if TYPE_CHECKING:
    from simcli.exchange.importing import ModelBase


class _Base(StrEnum):
    """What holds the first link of a model."""

    FIXED = "fixed"
    FLOATING = "floating"


def import_command(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="URDF, MJCF, SDF or USD file.", callback=existing_file, show_default=False),
    ],
    output: Annotated[
        Path | None,
        output_option("Scene to write, - for stdout. Default: MODEL.yaml, here.", file_or_stdout, show_default=False),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 if motion depends on what is dropped.")] = False,
    base: Annotated[
        _Base | None,
        typer.Option("--base", help="The first link of a model; not of MJCF.", show_default="fixed in URDF, else floating"),
    ] = None,
    package_path: PackagePath = [],  # noqa: B006
    self_collision: Annotated[
        bool, typer.Option("--self-collision", help="Let links of a URDF model touch each other, except neighbours.")
    ] = False,
    fix_inertia: FixInertia = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing scene, and meshes beside it.")] = False,
    json: JsonFlag = False,
) -> int:
    r"""Make a scene of a model, and report what became of each of its elements.

    Meshes are copied into a folder beside the scene. `simcli run MODEL` and `simcli check MODEL` do the same in memory.
    MJCF needs mujoco: pip install 'simcli\[import]'. USD (.usd, .usda, .usdc, .usdz) needs usd-core: 'simcli\[usd]'.
    Example: simcli import robot.urdf --base floating -o robot.yaml
    """
    from simcli.exchange.importing import ImportOptions, import_model
    from simcli.records.drafts import claim_path

    target = output or Path(f"{model.stem}.yaml")
    to_stdout = goes_to_stdout(output, json)
    if not to_stdout:
        claim_path(target, force, [model])
    folder = f"{'model' if to_stdout else target.stem}_meshes"
    first = cast("ModelBase | None", base and base.value)
    found = import_model(model, ImportOptions(first, package_path, folder, fix_inertia, self_collision))
    if to_stdout:
        if found.files:
            raise UsageError(f"-o -: the scene needs {plural(len(found.files), 'mesh')} beside it: name a file")
        console.data(found.text.rstrip("\n"))
    else:
        write_with_meshes(target, found, force)
    say_report(found.report)
    if not to_stdout:
        console.say(f"wrote {target}" + (f" and {plural(len(found.files), 'file')} in {folder}/" if found.files else ""))
    if json:
        console.emit("import", {"path": None if to_stdout else target, **found.report.as_data()})
    return Exit.NEGATIVE if strict and found.report.loses else Exit.OK
