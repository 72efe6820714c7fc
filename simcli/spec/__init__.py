"""Text to meaning.

In: a YAML scene file, its includes, overrides of the command line. Out: a frozen SceneSpec in SI with every reference
checked, or SceneError with all faults and their places. Never here: Taichi, HDF5, printing.

    document      text to a tree with the place of every word
    samples       where the worlds of a batch get their numbers: files with a row per world, earlier runs
    values        numbers as they are written
    expansion     from the file as written to the tree that is simulated
    names         what can be known of a scene by its names alone
    schema        the schema: every key of a scene, its type, its unit, its default and its meaning
    sensors       sensors, as they are written
    forces        the forces that a scene can name, a file each: keys, what they refer to, who supports them
    signals       signals: numbers that change during a run
    faults        what is wrong with a scene, where, and what to write instead
    manual        what the schema tells of itself
    capabilities  which solver supports which field
    checks        checks of a scene that passed the schema
    batches       many worlds and many scenes out of one text
    auto          `integrator: auto`: which integrator a scene gets that names none, and why
    resolve       from a document to a SceneSpec: expand, evaluate, convert, validate, check
    resolved      a SceneSpec as YAML that reads back to an equal one: SI numbers in their shortest exact spelling
"""

from os import PathLike

from simcli.errors import Fault
from simcli.spec.batches.batch import n_worlds, world_seeds, world_values
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
    from simcli.spec.manual.json_schema import scene_schema, sweep_schema

    return sweep_schema() if of_sweeps else scene_schema()


def resolved_yaml(spec: SceneSpec) -> str:
    """A scene as YAML without templates, expressions and units; reading it gives an equal SceneSpec."""
    from simcli.spec.resolved import to_yaml

    return to_yaml(spec)
