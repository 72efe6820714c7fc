"""Suffix to writer: the one place that knows which formats there are. A scene as a model of another format."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from simcli.cli import console
from simcli.cli.scene_sources import say_imported, say_report, write_with_meshes
from simcli.errors import Exit
from simcli.spec.base.fault_list import suffix_of


class _Format(NamedTuple):
    """A format of export.

    Attributes:
        suffix: with its dot.
        what: for people.
        place: `module:function` below simcli; the function takes (asked, path, seen) and returns a count.
        counts: what it counts.
        takes_channels: whether `--channel` chooses; else it holds the motion of the bodies.
        takes_worlds: whether it holds several worlds.
        of_scene: whether it holds a mechanism, not a run: `place` then is "".
        has_folder: whether there is a folder of its name beside it.
        seeks: whether its writer goes back in the file, so that it writes to no pipe.
    """

    suffix: str
    what: str
    place: str
    counts: str = "row"
    takes_channels: bool = True
    takes_worlds: bool = True
    of_scene: bool = False
    seeks: bool = False
    has_folder: bool = False

    def writer(self) -> Callable:
        """The function that writes it."""
        module, _, function = self.place.partition(":")
        return getattr(import_module(f"simcli.{module}"), function)


FORMATS = (
    _Format(".csv", "CSV", "analysis.export.text_files:write_channels_csv"),
    _Format(".parquet", "Parquet", "analysis.export.binary_files:write_parquet", seeks=True),
    _Format(".npz", "arrays of numpy", "analysis.export.binary_files:write_npz", seeks=True),
    _Format(".jsonl", "JSON Lines", "analysis.export.text_files:write_json_lines"),
    _Format(".sto", "storage of OpenSim", "analysis.export.text_files:write_opensim", takes_worlds=False),
    _Format(".mot", "joint coordinates for OpenSim", "analysis.export.text_files:write_motion", takes_worlds=False),
    _Format(
        ".pvd",
        "VTK, with a folder of .vtp beside it",
        "analysis.export.vtk:write",
        "frame",
        takes_channels=False,
        has_folder=True,
    ),
    _Format(".glb", "animated glTF", "view.glb:write", "frame", takes_channels=False, takes_worlds=False),
    _Format(".urdf", "the mechanism of a scene as URDF", "", "element", of_scene=True),
    _Format(".xml", "the mechanism of a scene as MJCF", "", "element", of_scene=True),
)


def format_of(path: Path) -> _Format:
    """The format that a suffix names.

    Raises:
        UsageError: it names none.
    """
    names = [one.suffix for one in FORMATS]
    return FORMATS[names.index(suffix_of(path, names))]


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
