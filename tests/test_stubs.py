"""A kernel that another process has traced is taken from the folder by the digest of its signature, or is traced."""

import json
import shutil
import subprocess
import sys

import pytest
from support.process import environment, simcli_apart
from support.scenes import FALL
from test_kernel_cache import cache, files  # noqa: F401

import simcli as package
from simcli import pipeline
from simcli.kernels.device.runtime import stop_device
from simcli.kernels.language import kernel_cache, traces
from simcli.kernels.language.backend import Origin, kernels_noted


@pytest.fixture(autouse=True, scope="module")
def one_device():
    """In place of that of conftest.py: folders are looked at whenever a device starts."""
    yield
    stop_device()


@pytest.fixture(autouse=True)
def stubs_here(monkeypatch):
    """In place of that of conftest.py: this process may take what others have traced."""
    monkeypatch.setattr(traces, "STUB_ARCHS", ("x64", "arm64"))


def run(folder, text=FALL, *sets):
    """Kernels that a run takes as a new process would, and the digest of its file."""
    stop_device()
    (folder / "scene.yaml").write_text(text)
    request = pipeline.Request(folder / "scene.yaml", folder / "out.h5", sets, "cpu", 1, force=True)
    with kernels_noted() as taken:
        pipeline.execute(pipeline.prepare(request))
    stop_device()
    with package.open(folder / "out.h5") as found:
        return taken, found.digest


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder of kernels in which a run has kept those that it compiled, and the digest of its file."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traces, "STUB_ARCHS", ("x64", "arm64"))
        for name in (kernel_cache.VARIABLE, "XDG_CACHE_HOME"):
            patch.setenv(name, str(folder / name))
        taken, digest = run(folder)
    assert facts(taken) == COMPILED
    return folder / kernel_cache.VARIABLE, digest


@pytest.fixture
def first(kept, cache):  # noqa: F811
    """A run has been, with an empty folder; its digest."""
    folder, digest = kept
    shutil.copytree(folder, cache, dirs_exist_ok=True)
    return digest


def facts(taken):
    """Origin of each kernel, and whether it was traced."""
    return [(kernel.origin, kernel.trace > 0) for kernel in taken]


TAKEN, TRACED, COMPILED = [(Origin.FOLDER, False)], [(Origin.FOLDER, True)], [(Origin.COMPILED, True)]


def test_what_another_process_has_traced_is_not_traced(first, cache, tmp_path):  # noqa: F811
    """Its bytes are the same, here and in a process that hashes differently; stubs themselves are not kept."""
    taken, digest = run(tmp_path)
    assert facts(taken) == TAKEN
    assert digest == first
    (kernel,), (note,) = cache.rglob(f"*{kernel_cache.SUFFIX}"), cache.rglob("*.stub")
    assert note.stem.split("-")[2] == kernel.stem == taken[0].key
    done = simcli_apart("precompile", "scene.yaml", "--json", cwd=tmp_path, PYTHONHASHSEED="7")
    found = json.loads(done.stdout)["scenes"][0]["kernels"]
    assert [(one["key"], one["origin"], one["trace_s"]) for one in found] == [(kernel.stem, "folder", 0.0)]
    assert files(cache) == sorted((kernel, note))


@pytest.mark.parametrize(
    ("sets", "expected"), [(("solver.dt=5e-3", "bodies.ball.mass=2"), TAKEN), (("solver.integrator=rk4",), COMPILED)]
)
def test_values_need_no_other_stub_and_structures_do(sets, expected, first, tmp_path):
    taken, digest = run(tmp_path, FALL, *sets)
    assert facts(taken) == expected
    traces.forget_traces()
    (tmp_path / "cache").rename(tmp_path / "gone")
    anew, other = run(tmp_path, FALL, *sets)
    assert facts(anew) == COMPILED
    assert digest == other != first


def another_key(text):
    """A whole note with the key of another stub."""
    note = kernel_cache.StubNote.of_text(text)
    return kernel_cache.StubNote("T" + "0" * 64, note.kernel, note.entries).text()


HARMS = [
    lambda text: "",
    lambda text: text[:-9],
    lambda text: text.replace("[", "(", 1),
    lambda text: text.replace("1", "2"),
    another_key,
]


@pytest.mark.parametrize("harm", HARMS)
def test_a_note_that_is_damaged_or_of_another_stub_is_not_used(harm, first, cache, tmp_path):  # noqa: F811
    (note,) = cache.rglob("*.stub")
    note.write_text(harm(note.read_text()))
    taken, digest = run(tmp_path)
    assert facts(taken) == TRACED
    assert digest == first
    assert facts(run(tmp_path)[0]) == TAKEN, "the note is made anew"


@pytest.mark.parametrize("harm", ["damaged", "cut", "gone"])
def test_a_stub_without_its_kernel_is_never_run(harm, first, cache, tmp_path):  # noqa: F811
    """Taichi would compile it: it does nothing. It is not kept either."""
    (kernel,) = cache.rglob(f"*{kernel_cache.SUFFIX}")
    data = kernel.read_bytes()
    if harm == "gone":
        kernel.unlink()
    else:
        kernel.write_bytes(data[:1000] if harm == "cut" else data[:5000] + b"x" + data[5001:])
    taken, digest = run(tmp_path)
    assert facts(taken) == COMPILED
    assert digest == first
    assert list(cache.rglob(f"*{kernel_cache.SUFFIX}")) == [kernel]
    taken, digest = run(tmp_path)
    assert (facts(taken), digest) == (TAKEN, first)


def test_other_code_is_traced(first, tmp_path, monkeypatch):
    monkeypatch.setattr(traces, "traced_digest", lambda: "other")
    taken, digest = run(tmp_path)
    assert facts(taken) == TRACED
    assert digest == first


def test_a_folder_that_cannot_be_written_gives_stubs(first, tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "trouble", lambda folder: f"{folder}: Read-only file system")
    taken, digest = run(tmp_path)
    assert (facts(taken), digest) == (TAKEN, first)


def test_foreign_functions_have_no_digest(first):
    """Their code is in no file that the digest knows."""
    from simcli.kernels.device.runtime import start_device
    from simcli.model.snapshot import Status

    start_device("cpu", threads=1)
    assert traces.stub_digest([Status.OK, Status, run_of := stop_device, 1, "a", (2, None)])
    assert traces.stub_digest([Status.OK]) != traces.stub_digest([next(one for one in Status if one is not Status.OK)])
    assert traces.stub_digest([run_of, facts]) is None
    assert traces.stub_digest([object()]) is None
    assert traces.stub_digest([lambda: 1]) is None


def test_a_process_that_is_killed_leaves_what_serves(cache, tmp_path):  # noqa: F811
    """StubNotes are written after their kernels: between both, the next process traces, and no more."""
    (tmp_path / "scene.yaml").write_text(FALL)
    code = (
        "import os\nfrom simcli.kernels.language import kernel_cache\n"
        "kernel_cache.keep_note = lambda *words: os.kill(os.getpid(), 9)\n"
        "from simcli.cli.process import run_command\n"
        "from simcli.kernels.device.runtime import stop_device\n"
        "run_command(['run', 'scene.yaml', '-q'], debug=True, as_json=False)\nstop_device()"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), cwd=tmp_path, check=False)
    assert done.returncode == -9
    assert [path.suffix for path in files(cache)] == [kernel_cache.SUFFIX]
    assert facts(run(tmp_path)[0]) == TRACED
    assert facts(run(tmp_path)[0]) == TAKEN
