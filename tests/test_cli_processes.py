"""Each command once, and each exit code, in a process of its own; all else of commands is tested in the tests' process.

Where a command writes: pipes that end, disks that are full, streams that are closed, text that would steer a terminal.

A signal is heeded before the first step, too: while a scene is prepared, and while kernels compile.

Tables and pages as a person sees them: by rich, in lines that fit, without a lost word. Budget: 3 s.

A small file is written by a thread: the same bytes, and the same promises but for what ends the process at once.
"""

import os
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.process import TIMEOUT, environment, simcli, simcli_apart
from support.runs import SWING
from support.touched import note_command

import simcli as package
from simcli.cli import console
from simcli.cli import process as cli_process
from simcli.cli.app import COMMANDS
from simcli.cli.rich_text import terminal_table
from simcli.errors import Exit, SimcliError
from simcli.records.writing import recorder_thread, spawn

ROD = """
simcli: 1
bodies: {rod: {pose: {xyz: [0, 0, -0.5]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.01]}}}
joints: {pin: {type: revolute, parent: world, child: rod, axis: [0, 1, 0], q: 0.3, damping: 0.1}}
measure: {swing: {max: joint.pin.q}}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.02}
output: {every: 0.01}
"""
URDF = """<robot name='r'><link name='base'><inertial><mass value='1'/>
<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link></robot>"""
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
WORDS = {
    "run": "run s.yaml -o run.h5 -q",
    "sweep": "sweep run s.yaml -o night --workers 1",
    "check": "check s.yaml",
    "show": "show s.yaml",
    "samples": "samples s.yaml -o samples.csv",
    "new": "new swing --template pendulum",
    "import": "import r.urdf -o r.yaml",
    "decompose": "decompose t.obj -o parts",
    "schema": "schema -o schema.json",
    "explain": "explain SC501",
    "info": "info b.h5",
    "table": "table b.h5",
    "view": "view b.h5 -o b.html",
    "plot": "plot b.h5 -c joint.pin.q -o b.png",
    "render": "render b.h5 --size 64x64 -o picture.png",
    "export": "export b.h5 -o b.csv",
    "diff": "diff b.h5 b.h5",
    "slice": "slice b.h5 --world 0 -o part.h5",
    "merge": "merge first.h5 second.h5 -o both.h5",
    "repair": "repair b.h5",
    "fk": "fk s.yaml -o fk.h5",
    "ik": "ik s.yaml --states b.h5 -o ik.h5",
    "id": "id b.h5 -o id.h5",
    "mass-matrix": "mass-matrix s.yaml -o mass.h5",
    "jacobian": "jacobian s.yaml -o jacobian.h5",
    "matrices": "matrices s.yaml --coordinates maximal",
    "contacts": "contacts b.h5 --clearance 1 --json",
    "rays": "rays b.h5 --from 0,0,1 --direction 0,0,-1",
    "equilibrium": "equilibrium s.yaml --initial",
    "modes": "modes s.yaml",
    "solve": "solve s.yaml --vary joints.pin.q=0.1..0.4 --target measure.swing=0.2",
    "fit": "fit s.yaml --data log.csv --free joints.pin.q --iterations 2",
    "optimize": "optimize s.yaml --vary joints.pin.q=0.1..0.4 --minimize measure.swing --generations 2 --population 4",
    "docs": "docs start",
    "bench": "bench s.yaml --worlds 2 --duration 0.01 --repeat 1",
    "precompile": "precompile s.yaml",
    "doctor": "doctor",
}
PREPARED = (
    "run s.yaml -q -o b.h5",
    "export b.h5 -c joint.pin.q -o log.csv",
    "run s.yaml -q --vary joints.pin.q=0.1,0.2 -o two.h5",
    "slice two.h5 --world 0 -o first.h5",
    "slice two.h5 --world 1 -o second.h5",
)
LESS = {"optimize": (Exit.OK, Exit.NEGATIVE), "fit": (Exit.OK, Exit.NEGATIVE)}  # few rounds, which they tell
CRASH = "import sys; from simcli.cli import app, main; app.build_app = None; main(['check'])"
# Those that signals give are in test_cli_run.py.
CODES = {
    Exit.OK: "check s.yaml",
    Exit.NEGATIVE: "check bad.yaml",
    Exit.USAGE: "rnu",
    Exit.SCENE: "run bad.yaml",
    Exit.SIMULATION: "run s.yaml --vary joints.pin.qd=0,1.0e+250 -o failed.h5",
    Exit.DEVICE: "run s.yaml --device metal -o none.h5",
    Exit.OUTPUT: "schema -o s.yaml",
    Exit.FILE: "info bad.h5",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    for name, text in {
        "s.yaml": ROD,
        "bad.yaml": ROD.replace("mass: 1", "mass: -1"),
        "r.urdf": URDF,
        "t.obj": TETRAHEDRON,
        "bad.h5": "no file of HDF5",
    }.items():
        (folder / name).write_text(text)
    for words in PREPARED:
        assert simcli(*words.split(), cwd=folder).returncode == Exit.OK, words
    return folder


def test_every_command_has_a_line():
    assert list(WORDS) == [command.name for command in COMMANDS]


@pytest.mark.parametrize("name", WORDS)
def test_a_command_ends_well_in_a_process_of_its_own(folder, name):
    done = simcli_apart(*WORDS[name].split(), cwd=folder)
    assert done.returncode in LESS.get(name, (Exit.OK,)), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_a_process_ends_with_the_exit_code(folder, code):
    if code == Exit.DEVICE and sys.platform == "darwin":
        pytest.skip("Metal is here")
    done = simcli_apart(*CODES[code].split(), cwd=folder)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_a_mistake_of_ours_ends_with_its_own_code(folder):
    done = subprocess.run(
        [sys.executable, "-c", CRASH], cwd=folder, env=environment(), capture_output=True, text=True, timeout=TIMEOUT
    )
    note_command(["check"], done.returncode, "process")
    assert done.returncode == Exit.INTERNAL, done.stderr


@pytest.mark.full
def test_an_engine_that_is_compiled_by_its_first_user_says_nothing(tmp_path):
    """As after an installer that compiles no Python: the engine's texts have escapes of which Python warns."""
    words = ["-X", f"pycache_prefix={tmp_path}", "-W", "default", "-c", "import simcli.kernels.language.internals"]
    done = subprocess.run([sys.executable, *words], env=environment(), capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode, "escape sequence" in done.stderr) == (0, False), done.stderr


def in_shell(line, cwd):
    """Run a line of a shell in which `simcli` is this program."""
    line = line.replace("simcli", f"{sys.executable} -m simcli")
    done = subprocess.run(["bash", "-c", line], cwd=cwd, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.skipif(os.name == "nt", reason="POSIX streams")
@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("simcli schema | head -n 1; exit ${PIPESTATUS[0]}", Exit.OK, ""),
        ("simcli docs start >&-", Exit.OUTPUT, "error: stdout: "),
        ("simcli docs --json > /dev/full", Exit.OUTPUT, "error: stdout: No space left on device"),
        ("simcli run none.yaml --json > /dev/full", Exit.USAGE, "no such file"),
        ("simcli run none.yaml 2>&-", Exit.USAGE, ""),
    ],
)
def test_streams_that_do_not_take_everything(tmp_path, line, code, words):
    if "/dev/full" in line and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    done = in_shell(line, tmp_path)
    assert done.returncode == code, done.stderr
    assert words in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="POSIX streams")
def test_a_file_that_is_opened_does_not_take_the_place_of_a_closed_stdout(tmp_path):
    """Descriptor 1 would else be the first file that the command opens, and its data would go there."""
    new = "simcli new swing --template pendulum"
    in_shell(f"mkdir a b; cd a; {new} > /dev/null; cd ../b; {new} >&-", tmp_path)
    assert (tmp_path / "b" / "swing.yaml").read_bytes() == (tmp_path / "a" / "swing.yaml").read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="POSIX streams")
def test_control_characters_are_spelled_out(capsys):
    console.data("a\x1b[2Jb\x07\x9bc\td")
    console.say("\x1b[1;31merror\x1b[0m \x1b]0;title\x07")
    console.emit("info", {"name": "\x9b2J\x1b"})
    out, err = capsys.readouterr()
    assert out.startswith("a\\x1b[2Jb\\x07\\x9bc\td\n")
    assert err == "\x1b[1;31merror\x1b[0m \\x1b]0;title\\x07\n"
    assert '"name": "\\u009b2J\\u001b"' in out


@pytest.mark.skipif(os.name == "nt", reason="POSIX streams")
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


@pytest.mark.skipif(os.name == "nt", reason="POSIX streams")
def test_ctrl_c_while_commands_are_imported(monkeypatch):
    def interrupted(words):
        raise KeyboardInterrupt

    from simcli.cli import app

    monkeypatch.setattr(app, "build_app", interrupted)
    assert cli_process.run_command(["check"], debug=False, as_json=False) == Exit.INTERRUPTED


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
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
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


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.STOPPED), (signal.SIGUSR1, Exit.STOPPED)]
)
def test_a_signal_ends_the_preparation(tmp_path, number, code):
    found, err = stopped(tmp_path, number, "simcli.model.phases", "build_phases", IN_PYTHON, BY_THREAD)
    assert found == code
    assert "nothing was written" in err


COMPILER = "simcli.solvers.run.solver", "compile_thoroughly"


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    ("number", "most"), [(signal.SIGINT, BY_PROCESS), (signal.SIGINT, BY_THREAD), (signal.SIGTERM, BY_THREAD)]
)
def test_a_signal_ends_the_compilation(tmp_path, number, most):
    assert stopped(tmp_path, number, *COMPILER, IN_C, most)[0] == -number


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("most", [BY_PROCESS, BY_THREAD])
def test_a_crash_of_the_compiler_leaves_nothing(tmp_path, most):
    assert stopped(tmp_path, None, *COMPILER, "import os; os.abort()", most)[0] == -signal.SIGABRT


CELL = st.text("ab .-", max_size=30).map(str.strip)
ROWS = st.integers(1, 5).flatmap(lambda n: st.lists(st.tuples(*n * [CELL]), min_size=1, max_size=6))


def as_seen(rows, width, monkeypatch, **options):
    monkeypatch.setattr(console, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    return console.table(rows, **options)


@settings(max_examples=50, deadline=None)
@given(rows=ROWS, right=st.booleans(), width=st.integers(10, 80))
def test_no_word_is_lost_or_cut(rows, right, width):
    lines = terminal_table([list(row) for row in rows], [right] * len(rows[0]), width)
    found = sorted(word for line in lines for word in line.split())
    assert found == sorted(word for row in rows for cell in row for word in cell.split())


@pytest.mark.parametrize("width", range(33, 52))
def test_the_column_of_sentences_is_folded_and_no_other(width):
    rows = [["a.name.of.length.25......", "1.25e-3", "some words of a column"], ["b", "-2", "x"]]
    lines = terminal_table(rows, [False, True, False], width)
    assert max(len(line.rstrip()) for line in lines) <= max(width, 25 + 2 + 7 + 2 + 6)
    assert all(line[27:34] in ("1.25e-3", "     -2", "       ") for line in lines)
    assert lines[0].startswith("a.name.of.length.25......")


def test_a_table_that_fits_is_that_of_a_pipe(monkeypatch):
    rows = [("crank", 1, 0.5, "two  blanks"), ("rod", -20, 12.25, "")]
    piped = console.table(rows, ("body", "count", "mass", "words"))
    assert piped == "  body   count   mass  words\n  crank      1    0.5  two  blanks\n  rod      -20  12.25"
    assert as_seen(rows, 80, monkeypatch, header=("body", "count", "mass", "words")) == piped


def test_words_are_folded_and_padded_numbers_stand(monkeypatch):
    rows = [("a", "one two three four five", "    1.5"), ("b", "six", "   20.5")]
    assert as_seen(rows, 24, monkeypatch, indent="") == (
        "a  one two           1.5\n   three four\n   five\nb  six              20.5"
    )


@pytest.mark.parametrize("is_terminal", [True, False])
def test_control_characters_of_names_are_spelled(monkeypatch, is_terminal):
    monkeypatch.setattr(console, "on_terminal", lambda: is_terminal)
    assert console.table([("a\x1b[31m\r[bold]x[/bold]", 1)], indent="") == "a\\x1b[31m\\x0d[bold]x[/bold]  1"


WRITERS = {"process": 0, "thread": 10**12}  # largest file of a thread, by who writes
RECORDER_THREAD_GRACE = 120.0  # [s]
RECORDER_THREAD_CHILD = """
import resource, sys
from simcli.cli import main
from simcli.records.writing import recorder_thread

recorder_thread.MOST_OF_THREAD, limit = {most}, {limit}
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
sys.argv[0] = "simcli"
main()
"""


def begin(folder, writer, *words, limit=0):
    code = RECORDER_THREAD_CHILD.format(most=WRITERS[writer], limit=limit)
    command = [sys.executable, "-c", code, "run", "swing.yaml", "-o", f"{writer}.h5", "-q", *words]
    return subprocess.Popen(command, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True)


def ended(process):
    _, err = process.communicate(timeout=RECORDER_THREAD_GRACE)
    assert "Traceback" not in err
    return process.returncode, err


@pytest.fixture(scope="module")
def folder_of_recorder_thread(tmp_path_factory):
    """A scene, and runs of it by both."""
    place = tmp_path_factory.mktemp("runs")
    (place / "swing.yaml").write_text(SWING)
    for writer in WRITERS:
        assert ended(begin(place, writer))[0] == Exit.OK
    return place


def digest_of(path):
    with package.open(path) as run:
        return run.status, run.n_frames, run.digest


@pytest.mark.skipif(os.name == "nt", reason="POSIX")
def test_both_write_the_same_file(folder_of_recorder_thread):
    one, other = (digest_of(folder_of_recorder_thread / f"{writer}.h5") for writer in WRITERS)
    assert one == other
    assert one[0] == "done"
    assert not list(folder_of_recorder_thread.glob(".*")) + list(folder_of_recorder_thread.glob("*.lock"))


@pytest.mark.skipif(os.name == "nt", reason="POSIX")
def test_small_files_of_commands_have_a_thread():
    """Not those of a Python program, which is left by the interpreter: there HDF5 crashes once a write has failed."""
    small = recorder_thread.MOST_OF_THREAD
    kinds = []
    for n_bytes, may_be in ((small, True), (small + 1, True), (small, False)):
        with recorder_thread.recorder_of(n_bytes, may_be) as found:
            kinds.append(type(found))
    assert kinds == [recorder_thread.RecorderThread, spawn.RecorderProcess, spawn.RecorderProcess]


@pytest.mark.skipif(os.name == "nt", reason="POSIX")
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("part", [0.02, 0.5, 0.98])
def test_a_full_disk_ends_a_run_with_its_code(part, writer, folder_of_recorder_thread, tmp_path):
    """Nothing crashes as the process ends, and what is there opens, or nothing is there."""
    (tmp_path / "swing.yaml").write_text(SWING)
    whole = folder_of_recorder_thread / f"{writer}.h5"
    code, err = ended(begin(tmp_path, writer, limit=int(part * whole.stat().st_size)))
    assert code == Exit.OUTPUT, err
    path = tmp_path / whole.name
    if path.exists():
        with package.open(path) as run:
            assert run.status != "done"
    code, err = ended(begin(tmp_path, writer, "--resume"))
    assert code == Exit.OK, err
    assert digest_of(path) == digest_of(whole)


@pytest.mark.skipif(os.name == "nt", reason="POSIX")
def test_a_killed_run_leaves_what_was_committed(folder_of_recorder_thread, tmp_path):
    """The thread is gone with it; the run goes on to the same bytes."""
    (tmp_path / "swing.yaml").write_text(SWING)
    words = "--set", "run.duration=4000", "--set", "output.every=0.1"
    process, path, end = begin(tmp_path, "thread", *words), tmp_path / "thread.h5", time.monotonic() + RECORDER_THREAD_GRACE
    while process.poll() is None and time.monotonic() < end:
        try:
            with package.open(path) as run:
                if run.n_frames > 1:
                    break
        except (SimcliError, OSError):
            time.sleep(0.01)
    process.kill()
    assert ended(process)[0] == -signal.SIGKILL
    assert digest_of(path)[0] == "unfinished"
    assert [file.name for file in tmp_path.glob(".*")] == []
    code, err = ended(begin(tmp_path, "thread", *words, "--resume"))
    assert (code, digest_of(path)[:2]) == (Exit.OK, ("done", 40001)), err
