"""A signal is heeded before the first step, too: while a scene is prepared, and while kernels compile."""

import os
import signal
import subprocess
import sys
import time

import pytest
from support.process import environment

from simcli.errors import Exit

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
GRACE = 60.0  # [s], far beyond what any of this takes on a busy machine; the work below never ends by itself
SCENE = """
simcli: 1
bodies: {ball: {mass: 1, inertia: {diag: [1, 1, 1]}}}
solver: {type: generalized, dt: 1e-2}
run: {duration: 0.1}
"""
# Work that goes on for hours: in Python, where handlers run, and in C, where the lock is held and none does.
IN_PYTHON = "while True: time.sleep(0.01)"
IN_C = "sum(range(10**13))"
CHILD = """
import sys, time
from pathlib import Path
from simcli.cli import main
from simcli.records.writing import recorder_thread
import WHERE as room

recorder_thread.MOST_OF_THREAD = MOST

def busy(*arguments):
    Path("busy").touch()
    WORK

room.WHAT = busy
sys.argv = ["simcli", "run", "scene.yaml", "-o", "a.h5"]
main()
"""


BY_PROCESS, BY_THREAD = "0", "1e12"  # largest file that is written by a thread


def stopped(folder, number, where, what, work, most):
    """A run that gets a signal while it is busy somewhere; None for one that ends by itself."""
    (folder / "scene.yaml").write_text(SCENE)
    code = CHILD.replace("WHERE", where).replace("WHAT", what).replace("WORK", work)
    code = code.replace("= MOST", f"= {most}")
    process = subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=environment(), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    try:
        end = time.monotonic() + GRACE
        while not (folder / "busy").exists():
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < end
            time.sleep(0.02)
        if number is not None:
            process.send_signal(number)
        _, err = process.communicate(timeout=GRACE)
    finally:
        process.kill()
    assert "Traceback" not in err
    end = time.monotonic() + GRACE
    while most == BY_PROCESS and list(folder.glob("*a.h5*")) and time.monotonic() < end:
        time.sleep(0.02)  # its process ends after the run
    assert sorted(path.name for path in folder.iterdir()) == ["busy", "scene.yaml"]
    return process.returncode, err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.STOPPED),
                                             (signal.SIGUSR1, Exit.STOPPED)])  # fmt: skip
def test_a_signal_ends_the_preparation(tmp_path, number, code):
    found, err = stopped(tmp_path, number, "simcli.model.phases.stretches", "build_phases", IN_PYTHON, BY_THREAD)
    assert found == code
    assert "nothing was written" in err


COMPILER = "simcli.solvers.shared.host.solver", "compile_thoroughly"


@pytest.mark.parametrize(("number", "most"), [(signal.SIGINT, BY_PROCESS), (signal.SIGINT, BY_THREAD),
                                              (signal.SIGTERM, BY_THREAD)])  # fmt: skip
def test_a_signal_ends_the_compilation(tmp_path, number, most):
    assert stopped(tmp_path, number, *COMPILER, IN_C, most)[0] == -number


@pytest.mark.parametrize("most", [BY_PROCESS, BY_THREAD])
def test_a_crash_of_the_compiler_leaves_nothing(tmp_path, most):
    assert stopped(tmp_path, None, *COMPILER, "import os; os.abort()", most)[0] == -signal.SIGABRT
