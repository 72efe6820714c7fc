"""The command line as a process of its own, as a user starts it."""

import os
import subprocess
import sys
from pathlib import Path

import simcli as package

TIMEOUT = 300.0  # [s], far beyond any of these commands


def environment(**changes):
    """The environment of a child that imports the same simcli as this process, wherever it is started."""
    path = str(Path(package.__file__).parent.parent)
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "120", **changes}


def simcli(*words, cwd=None, **changes):
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "simcli", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(**changes),
        timeout=TIMEOUT,
    )


def start(*words, cwd=None, **changes):
    """Start a command and leave it running."""
    return subprocess.Popen(
        [sys.executable, "-m", "simcli", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=environment(**changes),
    )


def python(code, cwd=None, **changes):
    """What a piece of Python prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, env=environment(**changes), check=True
    )
    return done.stdout


def recorder_of(process):
    """Process id of the child that writes the file."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return next(int(child) for child in children if b"recorder_process" in Path(f"/proc/{child}/cmdline").read_bytes())
