"""What runs leave beside their file when they are killed: drafts, a lock, checkpoints that nobody needs."""

import re
from pathlib import Path


def remove_drafts(output: Path) -> None:
    """Remove drafts of an output and of its checkpoints. Whoever holds the lock of the output makes them, nobody else."""
    draft = re.compile(rf"\.{re.escape(output.name)}\.(\d+|checkpoint\d+)\.part")
    if output.parent.is_dir():
        for path in output.parent.iterdir():
            if draft.fullmatch(path.name):
                path.unlink(missing_ok=True)
