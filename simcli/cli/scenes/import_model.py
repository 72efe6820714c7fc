"""`simcli import`: a model of another format as a scene. `simcli decompose`: a mesh as convex parts, which can collide."""

import math
from enum import StrEnum
from json import dumps
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
    folder_to_write,
    goes_to_stdout,
    output_option,
)
from simcli.cli.scene_sources import say_report, write_with_meshes
from simcli.errors import Exit, OutputError, UsageError

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


def decompose(
    mesh: Annotated[
        Path,
        typer.Argument(
            metavar="MESH", help="OBJ or STL file, also COLLADA or glTF.", callback=existing_file, show_default=False
        ),
    ],
    output: Annotated[
        Path | None,
        output_option("Folder for the parts. Default: MESH_parts, here.", folder_to_write, "DIR", show_default=False),
    ] = None,
    concavity: Annotated[
        float, typer.Option("--concavity", min=0.01, max=1.0, help="Largest of a part, relative to the size of the mesh.")
    ] = 0.05,
    most: Annotated[int | None, typer.Option("--most", min=1, help="Most parts.", show_default="no limit")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing parts.")] = False,
    json: JsonFlag = False,
) -> int:
    r"""Write the convex parts of a mesh as files, and the shapes of a scene that have them to stdout.

    Meshes collide as their convex hulls, so that one that is not convex collides as its parts.
    These are in the units of the mesh. A scene in the folder that holds that of the parts finds them.
    It needs coacd: pip install 'simcli\[decompose]'.
    Example: simcli decompose bracket.stl -o parts
    """
    from simcli.exchange.source.meshes import decompose_mesh, stem_of_parts
    from simcli.records.drafts import claim_path

    folder, stem = output or Path(f"{mesh.stem}_parts"), stem_of_parts(mesh)
    earlier = [path for path in folder.glob(f"{stem}_*.obj") if path.stem.removeprefix(f"{stem}_").isdigit()]
    for path in earlier:
        claim_path(path, force)
    found = decompose_mesh(mesh, concavity, most)
    _write(folder, earlier, found.files)
    if json:
        whole = None if math.isnan(found.of_mesh) else found.of_mesh
        console.emit("decompose", {"path": folder, "files": list(found.files), "volume": found.volume, "of_mesh": whole})
    else:
        for name in found.files:
            console.data(f"{Path(name).stem}: {{type: mesh, file: {dumps(f'{folder.name}/{name}')}}}")
    share = "" if math.isnan(found.of_mesh) else f", {100.0 * found.volume / found.of_mesh:.4g} % of its volume"
    console.say(f"wrote {plural(len(found.files), 'convex part')} of {mesh} to {folder}/{share}")
    return Exit.OK


def _write(folder: Path, earlier: list[Path], files: dict[str, str]) -> None:
    """Write the parts in place of those of an earlier decomposition of the mesh.

    Raises:
        OutputError: one of them cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in earlier:
            path.unlink()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{error.filename}: cannot be written: {error.strerror}") from None
