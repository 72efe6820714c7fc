"""Scenes from text."""

import tempfile
from pathlib import Path

from simcli.spec import load_document


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
