"""`simcli show`: what simcli understood of a scene. `simcli samples`: what a batch would draw, a row per world."""

from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import (
    JsonFlag,
    Replace,
    ReplaceForeign,
    ScenePath,
    Seed,
    SelectPatterns,
    SetValues,
    VaryTable,
    VaryValues,
    WorldCount,
    output_option,
    split_words,
)
from simcli.cli.results.render import PICTURE_SIZE, CameraName, Size, parse_size, say_render_notes
from simcli.cli.results.table import Chosen, TableOutput, claim_table, save_table, show_rows
from simcli.cli.runs.run_options import batch_overrides
from simcli.cli.scene_sources import say_imported
from simcli.errors import Exit, SceneError, UsageError

_NOT_HONOURED = {"SC501"}  # the scene is sound, this version cannot run it


def show(
    scene: ScenePath,
    resolved: Annotated[bool, typer.Option("--resolved", help="The scene with everything expanded, in SI.")] = False,
    tree: Annotated[bool, typer.Option("--tree", help="Bodies and joints; which joints close loops.")] = False,
    layout: Annotated[bool, typer.Option("--layout", help="What stands where in joint_q and joint_qd.")] = False,
    dof: Annotated[bool, typer.Option("--dof", help="Degrees of freedom, and redundant constraint equations.")] = False,
    select: SelectPatterns = [],  # noqa: B006
    sets: SetValues = [],  # noqa: B006
    output: Annotated[Path | None, output_option("Draw the start into a picture (png).", show_default=False)] = None,
    camera: CameraName = "",
    size: Size = "",
    force: ReplaceForeign = False,
    json: JsonFlag = False,
) -> int:
    """Show the tree, the layout of the coordinates and the degrees of freedom of a scene, or draw its start.

    Without an option: tree, layout and dof. --select says what its patterns mean, and shows that part only.
    Example: simcli show scenes/double_pendulum.yaml --dof
    Example: simcli show scenes/double_pendulum.yaml -o start.png
    """
    look = _look(output, camera, size)
    document, spec = _understand(scene, sets)
    say_imported(document, scene)
    if output is not None:
        _draw(document, spec, output, look, force)
        if not (resolved or tree or layout or dof or select):
            if json:
                console.emit("show", {"scene": spec.name, "path": output})
            return Exit.OK
    asked = {"tree": tree, "layout": layout, "dof": dof}
    if not resolved and not any(asked.values()):
        asked = dict.fromkeys(asked, True)
    parts = [name for name, wanted in asked.items() if wanted]
    if json:
        found = _data(document, spec, parts, split_words("--select", select))
        console.emit("show", {"resolved": spec.model_dump(mode="json"), **found} if resolved else found)
        return Exit.OK
    if resolved:
        from simcli.spec import resolved_yaml

        console.data(resolved_yaml(spec).rstrip("\n"))
    if parts:
        console.data("\n\n".join(_lines(document, spec, parts, split_words("--select", select))))
    return Exit.OK


def _look(output: Path | None, camera: str, size: str):
    """How the picture is taken, None if there is none.

    Raises:
        UsageError: the picture cannot be written so.
    """
    if output is None:
        for option, value in (("--camera", camera), ("--size", size)):
            if value:
                raise UsageError(f"{option} is of a picture: name it with -o")
        return None
    from simcli.view.images import check_picture_suffix, is_film
    from simcli.view.render import Look

    check_picture_suffix(output)
    if is_film(output):
        raise UsageError(f"-o {output}: a start does not move; write a name that ends in .png")
    return Look(parse_size(size or PICTURE_SIZE), camera)


def _draw(document, spec, output: Path, look, force: bool) -> None:
    from simcli.records.drafts import claim_path
    from simcli.view.images import write_picture
    from simcli.view.render import start_picture
    from simcli.view.subject import ViewSubject

    claim_path(output, force, document.inputs)
    subject = ViewSubject(Path(document.path), spec, document.folder, (0,), model=_model(document, spec), document=document)
    with console.stdout_kept_clean():
        picture = start_picture(subject, look)
    say_render_notes(subject.drawings[0].notes)
    write_picture(picture, output)
    console.say(f"wrote {output} ({look.size[0]}x{look.size[1]})")


def _understand(scene: Path, sets: list[str]):
    """Document and meaning of a scene; one that is sound but that its solver cannot run yet is shown all the same."""
    from simcli.pipeline import read_scene

    try:
        return read_scene(scene, sets)
    except SceneError as error:
        if error.spec is None or not {fault.code for fault in error.faults} <= _NOT_HONOURED:
            raise
        from simcli.spec.faults.diagnostics import render_faults

        console.say(render_faults(error.faults, error.document, console.colour_wanted()))
        return error.document, error.spec


def _data(document, spec, parts: list[str], patterns: list[str]) -> dict:
    from simcli.model import describe

    if not parts:
        return {}
    model = _model(document, spec)
    found: dict = {"scene": spec.name}
    joints = None
    if patterns:
        found["selection"] = _selected(model, patterns)
        joints = set(found["selection"]["joints"])
    if "tree" in parts:
        found |= {
            "tree": describe.describe_tree(model, joints),
            "loops": describe.loops(model, joints),
            "idle_shapes": describe.idle_names(model),
        }
    if "layout" in parts:
        found |= {"layout": describe.layout(model, joints), "keyframes": list(spec.keyframes)}
    if "dof" in parts:
        found["dof"] = describe.freedom(model, joints)
    return found


def _lines(document, spec, parts: list[str], patterns: list[str]) -> list[str]:
    from simcli.model import describe

    model = _model(document, spec)
    writers = {"tree": describe.tree_lines, "layout": describe.layout_lines, "dof": describe.freedom_lines}
    found, joints = [], None
    if patterns:
        joints = set(_selected(model, patterns)["joints"])
        found.append("\n".join(describe.selection_lines(model, patterns)))
    found += ["\n".join(writers[name](model, joints)) for name in parts]
    return [*found, f"keyframes: {', '.join(spec.keyframes)}"] if spec.keyframes and "layout" in parts else found


def _selected(model, patterns: list[str]) -> dict[str, list[str]]:
    """Names that the patterns mean.

    Raises:
        UsageError: one of them fits nothing.
    """
    from simcli.model import describe

    for pattern in patterns:
        if not any(describe.describe_selection(model, [pattern]).values()):
            raise UsageError(f"--select {pattern}: matches no body, no joint and no articulation")
    return describe.describe_selection(model, patterns)


def _model(document, spec):
    from simcli.pipeline import build_model

    return build_model(document, spec)


def samples(
    scene: ScenePath,
    output: TableOutput = None,
    sets: SetValues = [],  # noqa: B006  (Typer copies it)
    vary: VaryValues = [],  # noqa: B006
    vary_table: VaryTable = None,
    worlds: WorldCount = None,
    seed: Seed = None,
    force: Replace = False,
    json: JsonFlag = False,
) -> int:
    """Show the numbers that a batch would draw, or write them as a table for --vary-table.

    `simcli run SCENE --vary-table FILE` of the written table makes the same worlds, to the byte.
    Example: simcli samples scenes/double_pendulum.yaml --worlds 8 --vary "joints.elbow.q=lhs(0, 1)" -o samples.csv
    """
    from simcli.analysis.worlds.world_table import sample_table
    from simcli.pipeline import read_scene

    document, spec = read_scene(scene, (*batch_overrides(vary, vary_table, worlds, seed), *sets))
    claim_table(output, json, force, document.inputs)
    found = sample_table(document, spec)
    if output is not None:
        save_table(found, output, console.plural(found.n_rows, "world"))
    if json:
        columns = [{"name": one.name, "unit": one.unit, "values": one.values} for one in found.columns.values()]
        console.emit("samples", {"scene": scene, "worlds": found.n_rows, "columns": columns, "path": output})
    elif output is None:
        show_rows(Chosen(found, found.n_rows, found.n_rows, None, True), found, "world")
    return Exit.OK
