"""The tests of the whole folder, collected by a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

from support.process import TIMEOUT, environment

TESTS = Path(__file__).parents[1]
CODE = """
import json
import sys
import pytest

class Collected:
    def pytest_collection_finish(self, session):
        from conftest import COLLECTED
        with open(sys.argv[1], "w") as file:
            json.dump(session.config.stash[COLLECTED], file)

sys.exit(pytest.main(["--collect-only", "-qq", "-n", "0", "-p", "no:cacheprovider"], [Collected()]))
"""


def collected(folder: Path) -> dict[str, str]:
    """Tier of each test, by its id.

    Args:
        folder: for what the process tells.
    """
    out = folder / "collected.json"
    paths = os.pathsep.join([str(TESTS), environment()["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(out)],
        cwd=TESTS.parent,
        env=environment(PYTHONPATH=paths),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(out.read_text())
