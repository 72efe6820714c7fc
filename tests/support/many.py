"""Many command lines in one child process: their start would cost more than they do."""

import json
import subprocess
import sys

from support.process import environment

TIMEOUT = 1200.0  # [s], far beyond any list of these commands
MOST_KERNELS = 100  # of the process
CHILD = f"""
import json, sys
from simcli.cli.process import start_process, run_command
start_process()
from simcli.kernels.device import runtime
from simcli.kernels.language.backend import kernels_noted
runtime._MOST_KERNELS, runtime._has_news = {MOST_KERNELS}, lambda: False  # one device for all
for number, words in enumerate(json.load(sys.stdin)):
    with open(f"{{sys.argv[1]}}/{{number}}.log", "w") as log:
        talk, sys.stderr = sys.stderr, log
        with kernels_noted() as taken:
            code = int(run_command(words, debug=False, as_json="--json" in words))
        sys.stderr = talk
    with open(f"{{sys.argv[1]}}/{{number}}.kernels", "w") as file:
        json.dump([[kernel.name, kernel.key] for kernel in taken], file)
    with open(f"{{sys.argv[1]}}/{{number}}.code", "w") as file:
        file.write(str(code))
"""


def run_many(commands, folder, **changes):
    """Run command lines one after the other, each as `simcli WORDS` would.

    Args:
        commands: lists of words.
        folder: for their talk; a folder of this call alone.
        **changes: of the environment.

    Returns:
        one (exit code, stderr) per command; exit code None for those after a crash. `step_kernels` tells more.
    """
    words = [[str(word) for word in command] for command in commands]
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder)],
        input=json.dumps(words),
        text=True,
        capture_output=True,
        cwd=folder,
        env=environment(**changes),
        timeout=TIMEOUT,
    )
    results = []
    for number in range(len(words)):
        log, code = folder / f"{number}.log", folder / f"{number}.code"
        talk = log.read_text() if log.exists() else ""
        results.append((int(code.read_text()), talk) if code.exists() else (None, talk + child.stderr))
    return results


def step_kernels(folder):
    """Keys of the kernels that made steps in all commands of a folder."""
    files = (json.loads(path.read_text()) for path in folder.glob("*.kernels"))
    return {key for kernels in files for name, key in kernels if name.endswith(".rollout")}
