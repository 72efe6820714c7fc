"""Makes tests/support importable as `support` from every test, and the device for those that want it."""

import gc
import os
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
# Tests start hundreds of commands, each of which would compile all of simcli's Python anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Commands have a threshold of their own (simcli/cli/process.py), because Python's walks over all objects again and again:
# a fifth of the time of test_joint_cells.py. This one is lower, because the process of the tests goes on for minutes.
OBJECTS_BETWEEN_COLLECTIONS = 50_000
gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)


from support import touched  # noqa: E402
from support.engine_cases import ENGINE_CASES, ENGINE_FILES  # noqa: E402
from support.full_cases import FULL_CASES  # noqa: E402
from support.machine import workers_that_fit  # noqa: E402
from support.slow_cases import SLOW_CASES  # noqa: E402
from support.tiers import DEFAULT, ENGINE, mark_for_engines, mark_listed, tier_of  # noqa: E402

# Files that take longest in the default tier (costs.py) go first, so that no process is left with one at the end.
LONGEST = (
    "test_joint_cells",
    "test_cli_processes",
    "test_run_determinism",
    "test_run_worlds",
    "test_run_kill",
    "test_couplings",
    "test_motion_ledger",
    "test_cli_run",
    "test_cli_render",
    "test_records_writer",
    "test_run_resume",
    "test_records_layout",
    "test_cli_kinematics_faults",
    "test_affine_steps",
    "test_glb",
    "test_records_contacts",
    "test_pages",
    "test_tiers",
    "test_view",
    "test_model_joints",
)
MOST_KERNELS = 32  # of a device of tests, some 10 MB each
FOR_GPU = ("for", "gpu")  # property of a test
TOUCHED = "touched"  # what a worker hands to the session
COLLECTED = pytest.StashKey[dict[str, str]]()  # id to tier of all tests that were collected, those of other tiers included
UNTIL = float(os.environ["SIMCLI_TESTS_UNTIL"]) if os.environ.get("SIMCLI_TESTS_UNTIL") else None  # [s] since 1970
NO_TIME = "its time is over (SIMCLI_TESTS_UNTIL)"  # of tests that would begin later
STRIDE = 37  # files a day by which the first one goes on
NOTES = pytest.StashKey[set]()  # what all workers have touched


def pytest_xdist_auto_num_workers():
    """As many as the cores and the memory of the machine let work at once."""
    return workers_that_fit()


@pytest.hookimpl(tryfirst=True)  # before `-m` leaves any out
def pytest_collection_modifyitems(config, items):
    rank = {name: k for k, name in enumerate(LONGEST)} if UNTIL is None else begun_elsewhere(items)
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))
    mark_listed(items, {"slow": SLOW_CASES, "full": FULL_CASES})
    mark_for_engines(items, ENGINE_FILES, ENGINE_CASES)
    config.stash[COLLECTED] = {item.nodeid: tier_of(item) for item in items}


def begun_elsewhere(items) -> dict[str, int]:
    """Places of all files, of which another one is the first each time: those at the end may be left out (`UNTIL`)."""
    names = sorted({item.path.stem for item in items})
    first = int(UNTIL / 86400 * STRIDE) % max(len(names), 1)
    return {name: k for k, name in enumerate(names[first:] + names[:first])}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Tell the report which tests are for a GPU: its keywords hold the names of folders and functions, too."""
    if UNTIL is not None and time.time() > UNTIL:
        pytest.skip(NO_TIME)
    if item.get_closest_marker("gpu"):
        item.user_properties.append(FOR_GPU)


def pytest_terminal_summary(terminalreporter):
    """How many tests ran on a GPU: .ci/run says it loudly if none did."""
    ended = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    ran = sum(FOR_GPU in map(tuple, report.user_properties) and report.when == "call" for report in ended)
    terminalreporter.write_line(f"tests on a GPU: {ran}")
    if UNTIL is not None:
        left = sum(NO_TIME in str(report.longrepr) for report in terminalreporter.getreports("skipped"))
        terminalreporter.write_line(f"tests without time: {left}")


def pytest_testnodedown(node):
    """Take from a worker that has ended what its tests have touched."""
    found = getattr(node, "workeroutput", {}).get(TOUCHED, ())
    node.config.stash.setdefault(NOTES, set()).update(map(tuple, found))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    """Fail a whole run of the default tier that has left out what it must touch."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput[TOUCHED] = sorted(touched.notes)
    elif is_whole(config) and not session.shouldstop and not session.shouldfail:
        name, wanted = WHOLE[config.option.markexpr]
        seen = config.stash.get(NOTES, set()) | touched.notes
        if missing := touched.missing(seen, wanted()):
            report_error(config, f"tests of {name} have not touched: " + "; ".join(missing))
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


# What runs must touch that take all tests that `-m` says.
WHOLE = {DEFAULT: ("the default tier", touched.wanted), ENGINE: ("the mark engine", touched.wanted_of_kernels)}


def is_whole(config) -> bool:
    """Whether a run takes all tests of the default tier, or all of the mark `engine`."""
    asked = config.option
    is_cut = asked.keyword or asked.deselect or asked.ignore or asked.collectonly or getattr(asked, "lf", False)
    return config.args_source == config.ArgsSource.TESTPATHS and asked.markexpr in WHOLE and not is_cut


def report_error(config, words) -> None:
    """Let the session's last lines count an error, and show it."""
    report = pytest.CollectReport("tests/support/touched.py", "failed", words, [])
    config.pluginmanager.get_plugin("terminalreporter").stats.setdefault("error", []).append(report)


@pytest.fixture(autouse=True, scope="session")
def notes_of_what_is_touched():
    """Runs of this process note what they touch."""
    with pytest.MonkeyPatch.context() as patch:
        touched.listening(patch)
        yield


@pytest.fixture(scope="session")
def tiers(pytestconfig, tmp_path_factory):
    """Tier of each test of the whole folder, by its id: as this run has collected them, or collected once more."""
    if pytestconfig.args_source == pytestconfig.ArgsSource.TESTPATHS:
        return pytestconfig.stash[COLLECTED]
    from support.collecting import collected

    return collected(tmp_path_factory.mktemp("collected"))


@pytest.fixture
def all_supported(monkeypatch):
    """Scenes may ask for what the solvers do not support: for tests of what a scene means."""
    monkeypatch.setattr("simcli.spec.checks.solver_fields.check_capabilities", lambda check, tree: None)


@pytest.fixture(autouse=True, scope="session")
def recorder_of_runs():
    """Runs in this process record in it: a process of the recorder costs 0.26 s. Runs of other processes have one."""
    from support.recorder_here import RecorderHere

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.records.writing.spawn.RecorderProcess", RecorderHere)
        yield


@pytest.fixture(autouse=True, scope="session")
def no_machine_code():
    """No command starts a process that makes code of the machine while other tests run; test_machine_code.py has some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMCLI_MACHINE_CODE", "0")
        yield


@pytest.fixture(autouse=True, scope="session")
def traces_of_this_process():
    """Kernels are traced in this process: tests put other code in place of ours, of which no digest of files knows."""
    from simcli.kernels.language import traces

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traces, "STUB_ARCHS", ())
        yield


@pytest.fixture(autouse=True, scope="module")
def one_device():
    """Within a file a device goes on whatever was compiled: a restart costs a third of a compilation once more.

    The device of the files before is stopped here, if the folders of kernels want to be brought up to date.
    """
    from simcli.kernels.device import runtime

    if runtime.live_device() is not None and runtime._sessions and runtime._has_news():
        runtime.stop_device()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "_has_news", lambda: False)
        patch.setattr(runtime, "_MOST_KERNELS", MOST_KERNELS)
        yield


@pytest.fixture
def device():
    """The CPU in float64 with one thread, shared by all tests of this process (see support.device)."""
    from support.device import live_device

    return live_device()


@pytest.fixture(scope="module")
def packs_of_two():
    """Packs of two worlds for a file about worlds that differ within a pack: they compile faster than full ones."""
    yield from packs_of(2)


@pytest.fixture(scope="module")
def scalar_code():
    """Packs of one world for a file that is not about packs: up to three times faster to compile, and the same bytes.

    These bytes are promised by test_kernels_shared.py, test_run_determinism.py, test_run_worlds.py,
    test_complementarity.py and test_contact_closed_forms.py.
    """
    yield from packs_of(1)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small_memory(monkeypatch):
    """As if the memory of the device held three worlds."""
    from simcli.kernels.device import storage

    most_worlds, refuse = 3, storage.refuse_beyond

    def refuse_sooner(most, n, size, fit, n_worlds):
        refuse(most if n_worlds <= most_worlds else n - 1, n, size, most_worlds, n_worlds)

    monkeypatch.setattr(storage, "refuse_beyond", refuse_sooner)


def packs_of(lanes):
    """Runs of this process have packs of so many worlds meanwhile."""
    from simcli.kernels.device import runtime

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "CPU_LANES", dict.fromkeys(runtime.CPU_LANES, lanes))
        yield
