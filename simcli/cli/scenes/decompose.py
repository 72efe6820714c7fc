"""`simcli decompose`: a mesh as convex parts, which can collide."""

import math
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.console import plural
from simcli.cli.options import JsonFlag, existing_file, folder_to_write, output_option
from simcli.errors import Exit, OutputError


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
