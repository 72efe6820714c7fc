"""A scene with all that it needs, to be sent to machines that do not see its folder."""

from pathlib import Path

from simcli.pipeline import read_scene
from simcli.spec.check_refs import named_files
from simcli.sweeps.plan import Chunk


class Bundles:
    """The files of scenes; those of the last chunk are kept, because the next one mostly has the same."""

    def __init__(self):
        self._of: tuple[Path, tuple] | None = None
        self._files: dict[str, bytes] = {}

    def of(self, chunk: Chunk) -> dict[str, bytes]:
        """The scene file of a chunk, first, and all that it includes and names; by paths relative to its folder.

        Raises:
            SceneError: the scene is invalid.
        """
        if self._of != (chunk.scene, chunk.sets):
            document, spec = read_scene(chunk.scene, chunk.sets)
            folder = chunk.scene.parent
            names = [chunk.scene.name, *(name for name, _ in document.sources), *(name for _, name in named_files(spec))]
            self._files = {name: (folder / name).read_bytes() for name in dict.fromkeys(names) if (folder / name).is_file()}
            self._of = chunk.scene, chunk.sets
        return self._files
