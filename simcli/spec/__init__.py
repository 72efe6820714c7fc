"""Text to meaning.

In: a YAML scene file, its includes, overrides of the command line. Out: a frozen SceneSpec in SI with every reference
checked, or SceneError with all faults and their places. Never here: Taichi, HDF5, printing.
"""

from os import PathLike

from simcli.errors import Fault
from simcli.spec.batches.world_values import n_worlds, world_seeds, world_values
from simcli.spec.document.scene_file import Document
from simcli.spec.loading import document_of_text, load_document, load_held
from simcli.spec.resolve import resolve, warnings
from simcli.spec.schema.scene import SceneSpec

__all__ = [
    "Document",
    "SceneSpec",
    "check_scene",
    "document_of_text",
    "json_schema",
    "load_document",
    "load_held",
    "n_worlds",
    "resolve",
    "resolved_yaml",
    "world_seeds",
    "world_values",
]


def check_scene(path: str | PathLike, sets: tuple[str, ...] = ()) -> tuple[SceneSpec, list[Fault]]:
    """Read and resolve a scene.

    Args:
        path: scene file.
        sets: overrides `KEY.PATH=VALUE`.

    Returns:
        The scene and its warnings.

    Raises:
        SceneError: with all faults.
    """
    document = load_document(path, sets)
    return resolve(document), warnings(document)


def json_schema(of_sweeps: bool = False) -> dict:
    """JSON Schema of scene files, or of sweep files."""
    from simcli.spec.lookup.json_schema import scene_schema, sweep_schema

    return sweep_schema() if of_sweeps else scene_schema()


def resolved_yaml(spec: SceneSpec) -> str:
    """A scene as YAML without templates, expressions and units; reading it gives an equal SceneSpec."""
    from simcli.spec.document.resolved_yaml import to_yaml

    return to_yaml(spec)
