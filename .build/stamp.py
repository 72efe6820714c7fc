"""What a wheel or an sdist says of itself: `simcli/release.txt`, with the version and, where git is there, the commit."""

import os
import subprocess
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "simcli/release.txt"


class Stamp(BuildHookInterface):
    """Adds the file; what an sdist has brought with it stays."""

    PLUGIN_NAME = "custom"

    def initialize(self, version, build_data):
        """Before anything is built; an editable install reads pyproject.toml and git itself."""
        if version == "editable" or Path(self.root, PLACE).is_file():
            return
        handle, self.made = tempfile.mkstemp()
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{self.metadata.version} {commit(self.root)}".strip() + "\n")
        build_data["force_include"][self.made] = PLACE

    def finalize(self, version, build_data, artifact_path):
        """Remove what was made for it."""
        if hasattr(self, "made"):
            os.unlink(self.made)


def commit(folder: str) -> str:
    """The commit that a checkout is at, "" elsewhere."""
    if not Path(folder, ".git").exists():  # a folder above may be somebody else's checkout
        return ""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
