"""The command line, in this process and as one of its own."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import simcli as package
from support.touched import note_command

TIMEOUT = 300.0  # [s], far beyond any of these commands
COLUMNS = "120"  # of the terminal
STREAMS = (1, 2)  # descriptors
BUSY_SHARE = 0.1  # of the CPU time of a child that a thread has to take to count as at work
POLL = 0.02  # [s] between looks at a child's threads


def environment(**changes):
    """The environment of a child that imports the same simcli as this process, wherever it is started."""
    path = str(Path(package.__file__).parent.parent)
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": COLUMNS, **changes}


def simcli(*words, cwd=None):
    """Run a command to its end in this process, by the door and with the streams of a process of its own.

    Its imports are there, and its kernels if another command has taken them: half a second instead of two. What depends on
    the process itself (the environment, signals, streams that break, which imports a command makes) takes `simcli_apart`.
    """
    from simcli.cli import main

    with _files_for_streams() as streams, pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", COLUMNS)
        patch.setattr(sys, "argv", ["simcli", *map(str, words)])  # which files of runs keep
        patch.chdir(cwd or os.getcwd())
        with pytest.raises(SystemExit) as end:
            main(sys.argv[1:])
    return subprocess.CompletedProcess(words, int(end.value.code), *streams)


def run_here(*words, debug=False):
    """Exit code of a command in this process, with the streams of the test; exceptions go through if `debug` says so."""
    from simcli.cli import process as cli_process

    return cli_process.run_command([str(word) for word in words], debug=debug, as_json="--json" in words)


def told_here(capture, *words):
    """Exit code, stdout and stderr of a command in this process.

    Args:
        capture: fixture capsys or capfd of the test.
        words: of the command.
    """
    code = run_here(*words)
    said = capture.readouterr()
    return code, said.out, said.err


def completed_here(capture, *words):
    """As `told_here`, as a completed process; a traceback fails the test."""
    code, out, err = told_here(capture, *words)
    assert "Traceback" not in err
    return subprocess.CompletedProcess(words, code, out, err)


@contextlib.contextmanager
def _files_for_streams():
    """Both descriptors and Python's own streams go to files meanwhile; afterwards the list holds what was written."""
    written = []
    kept = [os.dup(number) for number in STREAMS]
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8")) for _ in STREAMS]
        stack.enter_context(contextlib.redirect_stdout(files[0]))
        stack.enter_context(contextlib.redirect_stderr(files[1]))
        for file, number in zip(files, STREAMS, strict=True):
            os.dup2(file.fileno(), number)
        try:
            yield written
        finally:
            for file, number, before in zip(files, STREAMS, kept, strict=True):
                file.flush()
                os.dup2(before, number)
                os.close(before)
                file.seek(0)
                written.append(file.read())


def simcli_apart(*words, cwd=None, **changes):
    """Run a command to its end in a process of its own, as a user does."""
    done = subprocess.run(
        [sys.executable, "-m", "simcli", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(**changes),
        timeout=TIMEOUT,
    )
    note_command(words, done.returncode, "process")
    return done


class _Command(subprocess.Popen):
    """A process of a command, whose end is noted by who asks for what it has said."""

    def communicate(self, *args, **named):
        said = super().communicate(*args, **named)
        note_command(self.args[3:], self.returncode, "process")
        return said


def start(*words, cwd=None, **changes):
    """Start a command and leave it running."""
    return _Command(
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


def cpu_by_thread(process):
    """[clock ticks] of CPU time of every thread of a child but its first, watched until it ends."""
    found = {}
    while process.poll() is None:
        for thread in Path(f"/proc/{process.pid}/task").glob("*"):
            try:
                fields = (thread / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            found[thread.name] = int(fields[11]) + int(fields[12])
        time.sleep(POLL)
    found.pop(str(process.pid), None)
    return found
