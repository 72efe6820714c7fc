"""Where a command writes: pipes that end, disks that are full, streams that are closed, text that would steer a terminal."""

import os
import subprocess
import sys

import pytest

from simcli.cli import console, doorman
from simcli.errors import Exit

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX streams")


def in_shell(line, cwd):
    """Run a line of a shell in which `simcli` is this program."""
    line = line.replace("simcli", f"{sys.executable} -m simcli")
    done = subprocess.run(["bash", "-c", line], cwd=cwd, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(("line", "code", "words"), [
    ("simcli schema | head -n 1; exit ${PIPESTATUS[0]}", Exit.OK, ""),
    ("simcli docs start >&-", Exit.OUTPUT, "error: stdout: "),
    ("simcli docs --json > /dev/full", Exit.OUTPUT, "error: stdout: No space left on device"),
    ("simcli run none.yaml --json > /dev/full", Exit.USAGE, "no such file"),
    ("simcli run none.yaml 2>&-", Exit.USAGE, ""),
])  # fmt: skip
def test_streams_that_do_not_take_everything(tmp_path, line, code, words):
    if "/dev/full" in line and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    done = in_shell(line, tmp_path)
    assert done.returncode == code, done.stderr
    assert words in done.stderr


def test_a_file_that_is_opened_does_not_take_the_place_of_a_closed_stdout(tmp_path):
    """Descriptor 1 would else be the first file that the command opens, and its data would go there."""
    new = "simcli new swing --template pendulum"
    in_shell(f"mkdir a b; cd a; {new} > /dev/null; cd ../b; {new} >&-", tmp_path)
    assert (tmp_path / "b" / "swing.yaml").read_bytes() == (tmp_path / "a" / "swing.yaml").read_bytes()


def test_control_characters_are_spelled_out(capsys):
    console.data("a\x1b[2Jb\x07\x9bc\td")
    console.say("\x1b[1;31merror\x1b[0m \x1b]0;title\x07")
    console.emit("info", {"name": "\x9b2J\x1b"})
    out, err = capsys.readouterr()
    assert out.startswith("a\\x1b[2Jb\\x07\\x9bc\td\n")
    assert err == "\x1b[1;31merror\x1b[0m \\x1b]0;title\\x07\n"
    assert '"name": "\\u009b2J\\u001b"' in out


def test_nothing_is_left_of_a_table_that_cannot_be_written(tmp_path):
    from simcli.errors import OutputError
    from simcli.records.drafts import written

    def write(path):
        with written(path) as stream:
            stream.write("x")
            raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left"):
        write(tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()


def test_ctrl_c_while_commands_are_imported(monkeypatch):
    def interrupted(words):
        raise KeyboardInterrupt

    from simcli.cli import app

    monkeypatch.setattr(app, "build_app", interrupted)
    assert doorman.run_command(["check"], debug=False, as_json=False) == Exit.INTERRUPTED
