"""Folders of compiled kernels: shared, read-only, full, damaged, used by two at once, left by those that were killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.process import environment, python, simcli_apart
from support.scenes import FALL
from support.three_kernels import use

from simcli.engines import engine_of_process
from simcli.errors import Exit, SimcliWarning
from simcli.kernels.language import kernel_cache, kernel_session, ti
from simcli.kernels.language.backend import kernels_noted
from simcli.kernels.language.internals import PACKAGE, engine


@pytest.fixture(autouse=True, scope="module")
def one_device():
    """In place of that of conftest.py: folders are looked at whenever a device starts."""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty folder of kernels, which the environment names; the user's own is empty, too."""
    for name, value in ((kernel_cache.VARIABLE, "cache"), ("XDG_CACHE_HOME", "own"), ("TMPDIR", "tmp")):
        (tmp_path / value).mkdir()
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(kernel_session, "_told", [])
    return tmp_path / "cache"


def take(n=1, threads=1):
    """Numbers of kernels compiled and read, by a start of the device that uses three kernels for a field of a size."""
    from simcli.kernels.device.runtime import start_device, stop_device

    with kernels_noted() as taken:
        start_device("cpu", threads=threads)
        assert use(n) == 2.0
        stop_device()
    return len(taken.compiled), len(taken.from_folder)


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_kernels_are_kept_by_version_and_processor(cache):
    import simcli as package

    assert take() == (3, 0)
    kept = files(cache)
    assert len(kept) == 3
    (kind,) = {path.parent for path in kept}
    of_package, of_taichi, of_processor = kind.name.split("_", 2)
    assert (of_package, of_taichi) == (f"simcli-{package.__version__}", f"{PACKAGE}-{engine_of_process().version}")
    assert of_processor.startswith(kernel_cache.processor() + "_")
    assert ti.__version__ == {"taichi": (1, 7, 4), "quadrants": (1, 4, 0)}[PACKAGE]
    assert take() == (0, 3)
    kind.rename(kind.with_name(kind.name + "9"))  # another processor's
    assert take() == (3, 0)
    assert take() == (0, 3)
    (links,) = Path(os.environ["TMPDIR"]).iterdir()
    assert {path.name for path in links.rglob("*") if not path.is_dir()} == {"in-use", *(path.name for path in kept)}


def test_kernels_serve_any_number_of_threads(cache):
    """Taichi writes the number into each kernel: a folder filled on two cores would be of no use on three."""
    assert [take(threads=1), take(threads=3)] == [(3, 0), (0, 3)]


def test_the_processor_is_named_by_what_it_can(monkeypatch):
    flags = set().union(*kernel_cache.LEVELS.values())
    has = {"v4": flags, "v3": flags - {"avx512vl"}, "v2": flags - {"avx512vl", "avx2"}, "v1": {"sse2"}}
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    for level, found in has.items():
        text = f"model name : x\nflags : {' '.join(sorted(found))}\n"
        monkeypatch.setattr("builtins.open", lambda *_, text=text: __import__("io").StringIO(text))
        assert kernel_cache.processor() == f"x86_64-{level}"
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert kernel_cache.processor() == "arm64"


def test_a_damaged_kernel_is_mended_and_a_lost_one_comes_back(cache):
    assert take() == (3, 0)
    lost, damaged, _ = files(cache)
    whole = damaged.read_bytes()
    lost.unlink()
    damaged.write_bytes(whole[:-100])
    assert take() == (2, 1)
    assert take() == (0, 3)


def test_taichis_variable_names_the_folder_where_ours_does_not(cache, monkeypatch, tmp_path):
    monkeypatch.setenv(kernel_cache.ENGINES_VARIABLE, str(tmp_path / "taichis"))
    assert kernel_cache.named_folder() == cache
    monkeypatch.delenv(kernel_cache.VARIABLE)
    assert kernel_cache.folders() == [tmp_path / "taichis", tmp_path / "own" / "simcli" / "kernels"]
    monkeypatch.delenv(kernel_cache.ENGINES_VARIABLE)
    assert kernel_cache.folders() == [tmp_path / "own" / "simcli" / "kernels"]


TESTS = str(Path(__file__).parent)
READ = f"""
import sys
sys.path.insert(0, {TESTS!r})
import warnings
from support.three_kernels import use
from simcli.kernels.language import backend
from simcli.kernels.device.runtime import start_device, stop_device
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as told, backend.kernels_noted() as taken:
    for n in {{sizes}}:
        start_device("cpu", threads=1)
        use(n)
        stop_device()
print(len(taken.compiled), len(taken.from_folder), *(w.message for w in told if w.category.__name__ == "SimcliWarning"))
"""


def seal(folder):
    """Let nobody write into a folder."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


def plainly(sizes):
    """What a process says, as `READ`, that has no more rights than the owner of the files, though its user be root."""
    command = [sys.executable, "-c", READ.format(sizes=sizes)]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all", *command]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), check=True).stdout


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_read(cache, tmp_path):
    """As one in a container's image, or one that an administrator has filled. What it lacks goes to the user's own."""
    assert take() == (3, 0)
    seal(cache)
    before = [(path, path.stat().st_mtime) for path in files(cache)]
    assert plainly([1]).split() == ["0", "3"]
    own = tmp_path / "own"
    told = plainly([2, 3])
    assert told.startswith(f"6 0 kernels that were compiled are kept in {own}/simcli/kernels: {cache}: ")
    assert told.count("kept") == 1
    assert plainly([1, 2, 3]).split() == ["0", "9"]
    seal(own)
    told = plainly([1, 4])
    assert told.startswith(f"3 3 compiled kernels cannot be kept, so that each run compiles anew: {cache}: ")
    assert before == [(path, path.stat().st_mtime) for path in files(cache)]


def test_two_processes_at_once_do_no_harm(cache):
    """Each takes six kernels twice. What it has compiled itself counts once, what the other one has at both times."""
    code = READ.format(sizes=[1, 2, 1, 2])
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment())
        for _ in range(2)
    ]
    found = [[int(word) for word in process.communicate()[0].split()] for process in both]
    assert all(6 <= sum(numbers) <= 12 for numbers in found), found
    assert len(files(cache)) == 6
    assert take(1) == take(2) == (0, 3)


KILLED = """
import os, pathlib, signal
write = pathlib.Path.write_bytes
def die(path, data):
    if ".tic" in path.name or ".qdc" in path.name:
        write(path, data[:1000])
        os.kill(os.getpid(), signal.SIGKILL)
    return write(path, data)
pathlib.Path.write_bytes = die
"""


def test_a_process_that_is_killed_while_it_writes_leaves_nothing_that_is_read(cache):
    code = KILLED + READ.format(sizes=[1])
    assert subprocess.run([sys.executable, "-c", code], env=environment()).returncode == -signal.SIGKILL
    (part,) = files(cache)
    (links,) = Path(os.environ["TMPDIR"]).iterdir()
    half = next(links.rglob(f"*{kernel_cache.SUFFIX}"))  # that Taichi has written, as if it had been killed there
    half.write_bytes(half.read_bytes()[:1000])
    (half.parent / engine.KERNEL_LIST).with_suffix(".lock").touch()
    assert take() == (3, 0)
    assert list(Path(os.environ["TMPDIR"]).iterdir()) == [links]
    assert part.exists()  # it might be somebody's who is writing
    os.utime(part, (0.0, 0.0))
    assert take(2) == (3, 0)
    assert take() == (0, 3)
    assert not part.exists()


def test_folders_of_links_that_nobody_uses_go(cache):
    assert take() == (3, 0)
    (links,) = Path(os.environ["TMPDIR"]).iterdir()
    old = links.with_name(links.name + "9")
    old.mkdir()
    os.utime(old, (0.0, 0.0))
    assert take(2) == (3, 0)
    assert list(Path(os.environ["TMPDIR"]).iterdir()) == [links]


def test_links_lead_to_the_folders_that_are_named(cache, monkeypatch, tmp_path):
    """They stay from start to start, also where another folder is named, which has the same kernels or lacks some."""
    assert take() == (3, 0)
    other = tmp_path / "other"
    shutil.copytree(cache, other)
    assert take() == (0, 3)
    monkeypatch.setenv(kernel_cache.VARIABLE, str(other))
    shutil.rmtree(cache)
    assert take() == (0, 3)
    files(other)[0].unlink()
    assert take() == (1, 2)
    assert len(list(Path(os.environ["TMPDIR"]).iterdir())) == 1


def test_a_folder_of_links_that_is_not_ours_is_not_used(cache, monkeypatch):
    """Names in the place for temporary files can be guessed, and others can write there."""
    assert take() == (3, 0)
    (links,) = Path(os.environ["TMPDIR"]).iterdir()
    elsewhere = links.rename(links.parent.parent / "elsewhere")
    before = sorted(elsewhere.iterdir())
    links.symlink_to(elsewhere)
    assert take() == (0, 3)
    assert sorted(elsewhere.iterdir()) == before
    assert len(list(links.parent.iterdir())) == 2  # and one of our own


@pytest.mark.parametrize("lacks", ["fcntl", "links"])
def test_systems_without_locks_or_links_keep_kernels(cache, monkeypatch, lacks):
    if lacks == "links":
        monkeypatch.setattr("os.symlink", lambda *_: (_ for _ in ()).throw(OSError(1, "not permitted")))
    monkeypatch.setattr(kernel_session, "fcntl", None)
    assert [take(), take()] == [(3, 0), (0, 3)]
    assert not list(Path(os.environ["TMPDIR"]).iterdir())


def test_kernels_that_were_used_longest_ago_go_first(cache, monkeypatch):
    assert [take(n)[0] for n in (1, 2, 3)] == [3, 3, 3]
    old = cache / "simcli-0.0.1_taichi-1.7.4_x86_64-v3" / f"T0{kernel_cache.SUFFIX}"  # another version's
    old.parent.mkdir()
    old.write_bytes(bytes(1000))
    for path in files(cache):
        os.utime(path, (1e9, 1e9))
    os.utime(old, (2e9, 2e9))
    assert take(2) == (0, 3)  # which is noted as a use
    monkeypatch.setattr(kernel_cache, "MOST_KERNELS", 10)
    kernel_cache.tidy(cache)
    assert len(files(cache)) == 10
    monkeypatch.setattr(kernel_cache, "MOST_KERNELS", 8)
    kernel_cache.tidy(cache)
    assert len(files(cache)) == 6
    assert take(2) == (0, 3)
    os.utime(old, (0.0, 0.0))
    sizes = sum(path.stat().st_size for path in files(cache))
    monkeypatch.setattr(kernel_cache, "MOST_KERNELS", 1000)
    monkeypatch.setattr(kernel_cache, "MOST_BYTES", sizes - 1)
    kernel_cache.tidy(cache)
    assert not old.exists()
    assert sum(path.stat().st_size for path in files(cache)) <= kernel_cache.KEPT * (sizes - 1)
    assert take(2) == (0, 3)


def test_a_folder_is_tidied_when_it_gets_something_new(cache, monkeypatch):
    monkeypatch.setattr(kernel_cache, "MOST_KERNELS", 4)
    assert take(1) == take(2) == (3, 0)
    assert len(files(cache)) == 3


def assert_warned_once(done, cache):
    assert done.returncode == Exit.OK, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("warning: compiled kernels cannot be kept")
    assert str(cache) in lines[0]
    assert kernel_cache.VARIABLE in lines[0]


def test_a_folder_that_cannot_be_made_costs_a_warning(tmp_path):
    """Taichi makes the folder at its end, and segfaults where it cannot."""
    (tmp_path / "file").touch()
    (tmp_path / "fall.yaml").write_text(FALL)
    cache = tmp_path / "file" / "cache"
    places = {kernel_cache.VARIABLE: str(cache), "XDG_CACHE_HOME": str(tmp_path / "file")}
    assert_warned_once(simcli_apart("run", "fall.yaml", "-q", cwd=tmp_path, **places), cache)


def test_without_a_place_for_temporary_files_kernels_are_compiled(cache, monkeypatch):
    assert take() == (3, 0)
    monkeypatch.setattr("tempfile.tempdir", str(cache / "nowhere"))
    with pytest.warns(SimcliWarning, match="cannot be kept.*nowhere: No such file"):
        assert take() == (3, 0)


@pytest.mark.slow
def test_a_full_file_system_costs_a_warning(cache, tmp_path):
    mounted = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(cache)]
    if subprocess.run(mounted, capture_output=True).returncode:
        pytest.skip("no right to mount")
    try:
        (cache / "filling").write_bytes(bytes(60_000))
        (tmp_path / "fall.yaml").write_text(FALL)
        done = simcli_apart("run", "fall.yaml", "-q", cwd=tmp_path, XDG_CACHE_HOME=str(cache))
        assert_warned_once(done, cache)
    finally:
        subprocess.run(["umount", str(cache)], check=True)


def test_a_file_system_that_is_almost_full_takes_no_kernels(cache, monkeypatch):
    assert kernel_cache.keeper() == (cache, "")
    monkeypatch.setattr(kernel_cache, "LEAST_FREE", 2**62)
    assert "MiB are free there" in kernel_cache.trouble(cache)
    folder, reason = kernel_cache.keeper()
    assert folder is None
    assert reason.startswith(f"{cache}: ")


LOST = f"""
import os, shutil, sys, warnings
sys.path.insert(0, {TESTS!r})
from pathlib import Path
cache = Path("cache").absolute()
os.environ["SIMCLI_KERNEL_CACHE"] = str(cache)
from support.three_kernels import use
from simcli.kernels.device.runtime import start_device, stop_device
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as told:
    for turn in range(3):
        start_device("cpu", threads=1)
        print(use(1 + turn))
        if turn == 0:
            shutil.rmtree(cache)
            cache.touch()
    stop_device()
print(*(warning.category.__name__ for warning in told))
"""


def test_a_folder_that_is_lost_in_the_midst_costs_a_warning(tmp_path):
    assert python(LOST, cwd=tmp_path).split() == ["2.0", "2.0", "2.0", "SimcliWarning"]


def test_uses_are_noted_once_in_a_while(cache):
    """So that a folder on a network is not written at each start."""
    assert take() == (3, 0)
    path, now = files(cache)[0], time.time()
    os.utime(path, (now - 60, now - 60))
    take()
    assert path.stat().st_mtime < now - 50
    os.utime(path, (now - 7200, now - 7200))
    take()
    assert path.stat().st_mtime > now - 50
