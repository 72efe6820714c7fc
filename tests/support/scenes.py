"""Scenes from text."""

import tempfile
from pathlib import Path

from simcli.spec import load_document


def scene(text: str):
    """Document of a scene without its first line, which all scenes share."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.yaml"
        path.write_text("simcli: 1\n" + text)
        return load_document(path)
