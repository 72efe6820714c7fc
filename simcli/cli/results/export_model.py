"""A scene as a model of another format, for `simcli export`."""

from pathlib import Path

from simcli.cli import console
from simcli.cli.shipped import say_imported, say_report, write_with_meshes
from simcli.errors import Exit


def write_model(scene: Path, target: Path, strict: bool, force: bool, json: bool) -> int:
    """Write the mechanism of a scene, or of the scene inside a run, and say what became of each element.

    Args:
        scene: file.
        target: model; its suffix says the format.
        strict: whether a loss is a negative answer.
        force: whether meshes beside it may be replaced by others.
        json: whether the report goes to stdout.

    Returns:
        The exit code.
    """
    from simcli.exchange.exporting import export_scene
    from simcli.pipeline import read_scene

    document, spec = read_scene(scene)
    say_imported(document, scene)
    folder = f"{target.stem}_meshes"
    found = export_scene(document, spec, target.suffix.lower(), folder)
    write_with_meshes(target, found, force)
    say_report(found.report)
    console.say(f"wrote {target}" + (f" and {console.plural(len(found.files), 'file')} in {folder}/" if found.files else ""))
    if json:
        console.emit("export", {"path": target, "format": target.suffix, **found.report.as_data()})
    return Exit.NEGATIVE if strict and found.report.loses else Exit.OK
