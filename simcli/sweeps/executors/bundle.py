"""A scene with all that it needs, to be sent to machines that do not see its folder."""

from pathlib import Path

from simcli.pipeline import read_scene
from simcli.spec.checks.references import file_contents
from simcli.spec.document.packed import packed
from simcli.sweeps.planning.plan import Chunk

_SUFFIX = ".packed"  # not that of a run that the scene stands in


class Bundles:
    """Scenes as bytes; that of the last chunk is kept, because the next one mostly has the same."""

    def __init__(self):
        self._of: tuple[Path, tuple] | None = None
        self._packed = b""

    def of(self, chunk: Chunk) -> dict[str, bytes]:
        """The scene of a chunk with its overrides in one file, by a name for it.

        It holds what the scene includes and all files that it names: meshes, terrain, tables, samples, and of earlier runs
        the values that are taken from them.

        Raises:
            SceneError: the scene is invalid.
        """
        if self._of != (chunk.scene, chunk.sets):
            document, spec = read_scene(chunk.scene, chunk.sets)
            self._packed = packed(document, file_contents(document, spec))
            self._of = chunk.scene, chunk.sets
        return {f"{chunk.scene.stem}{_SUFFIX}": self._packed}
