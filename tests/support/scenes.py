"""Scenes from text."""

import tempfile
from pathlib import Path

from simcli.errors import SceneError
from simcli.spec import load_document, resolve

# A file for tests of what is around a run: it compiles in a second.
FALL = """
simcli: 1
bodies:
  ball: {mass: 1, inertia: {diag: [1, 1, 1]}}
joints:
  free: {type: free, parent: world, child: ball}
solver: {type: generalized, dt: 1e-2}
run: {duration: 0.1}
"""


def scene(text: str, folder: Path | None = None):
    """Document of a scene without its first line, which all scenes share.

    Args:
        text: the scene from its second line on.
        folder: where it is written; left out, a folder that is gone when the document is there.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            return scene(text, Path(temporary))
    path = folder / "scene.yaml"
    path.write_text("simcli: 1\n" + text)
    return load_document(path)


def faults_of(text: str, start: str = "", folder: Path | None = None) -> list[tuple[str, int, str]]:
    """(code, line within the text from 0 on, message) of all faults of a scene, in all worlds and phases.

    Args:
        text: the scene's end, whose lines count.
        start: what stands before it.
        folder: as of `scene`.
    """
    from simcli.model.phases import build_phases

    try:
        document = scene(start + text, folder)
        build_phases(document, resolve(document))
    except SceneError as error:
        first = start.count("\n") + 2  # the first line is that of all scenes
        return [(fault.code, fault.where.line - first, fault.message) for fault in error.faults]
    return []
