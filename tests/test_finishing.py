"""Finished kernels: their text has no guards and loads addresses once, and they do what they did, bit by bit.

Taichi's front end in fewer words makes the same programs, and still says where a mistake is.

The language of device code: each trick stands where its table says, and each test that it names is there.

Loops that stay loops compile to the same arithmetic, and only on the CPU.

`simcli bench`, and other engines beside it: the same work, the same results. Budget: 15 s.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.device import live_device
from support.process import TIMEOUT, environment, python, simcli_apart
from support.runs import MIXED

from simcli import pipeline
from simcli.cli import process as cli_process
from simcli.cli.runs import bench as bench_threads
from simcli.cli.runs import bench_scenes
from simcli.errors import Exit
from simcli.kernels import language
from simcli.kernels.device import runtime
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.runtime import compile_thoroughly
from simcli.kernels.language import calls, finishing, internals, kernel_cache, ti, traces
from simcli.kernels.language.backend import configuration, kernels_noted
from simcli.kernels.language.calls import procedure
from simcli.kernels.language.finishing import UNREACHED, finished_file, finished_text
from simcli.kernels.language.internals import ASTTransformer
from simcli.kernels.language.machine_code import _HEAD, PLAIN_POINTERS
from simcli.pipeline import Request, execute, prepare
from simcli.solvers import SOLVERS, RunPlan

LISTS = "{ { { i32 }, double* }, i32 }"
FUNCTION = f"""
define internal void @function_body(%struct.RuntimeContext.7* readonly %0, i8* nocapture readnone %1, i32 %2) #2 {{
allocs:
  %3 = bitcast %struct.RuntimeContext.7* %0 to {LISTS}**
  %4 = load {LISTS}*, {LISTS}** %3, align 8
  %5 = getelementptr {LISTS}, {LISTS}* %4, i64 0, i32 0, i32 1
  %6 = bitcast double** %5 to <4 x double>**
  %7 = load <4 x double>*, <4 x double>** %6, align 8
  br label %loop

loop:
  %8 = phi i32 [ 0, %allocs ], [ %12, %after ]
  %9 = load double*, double** %5, align 8
  store double 1.0, double* %9, align 8
  %10 = icmp ugt i32 %8, {UNREACHED}
  br i1 %10, label %never, label %after

never:
  %11 = tail call double @tan(double 1.0)
  br label %after

after:
  %12 = add nuw nsw i32 %8, 1
  %13 = icmp eq i32 %12, %2
  br i1 %13, label %loop, label %end

end:
  ret void
}}
define internal void @cpu_parallel_range_for_task(i8* %0) #5 {{
  ret void
}}
"""
SCENE = """
simcli: 1
name: ball_and_windows
contact: {{}}
world: {{shapes: {{ground: {{type: plane}}}}}}
defaults: {{body: {{mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}}}}}
bodies:
  ball: {{pose: {{xyz: [0, 0, 0.6]}}, shapes: {{s: {{type: sphere, radius: 0.5}}}}, velocity: {{linear: [1, 0, 0]}}}}
  arm: {{com: [0, 0, -0.5]}}
joints: {{hinge: {{type: revolute, parent: world, child: arm, at: [5, 0, 3], axis: [0, 1, 0], q: 0.3}}}}
solver: {{type: {solver}, dt: 2 ms}}
run: {{duration: 1}}
output: {{every: 0.02}}
batch: {{worlds: 4}}
"""


def test_addresses_are_loaded_once_and_guards_go():
    lines = finished_text(FUNCTION).split("\n")
    body = lines[lines.index("allocs:") :]
    assert body[1:5] == [
        "  %arguments.at = bitcast %struct.RuntimeContext.7* %0 to " + LISTS + "**",
        f"  %arguments = load {LISTS}*, {LISTS}** %arguments.at, align 8",
        f"  %array.0.at = getelementptr {LISTS}, {LISTS}* %arguments, i64 0, i32 0, i32 1",
        "  %array.0 = load double*, double** %array.0.at, align 8",
    ]
    assert "  %7 = bitcast double* %array.0 to <4 x double>*" in body
    assert "  %9 = bitcast double* %array.0 to double*" in body
    assert "  br label %after" in body[body.index(f"  %10 = icmp ugt i32 %8, {UNREACHED}") + 1]
    assert "  br i1 %13, label %loop, label %end" in body
    left = [line for line in FUNCTION.split("\n") if line not in lines]
    assert len(left) == 3  # two loads, a branch


def test_another_file_stays_as_it_is():
    facts, text = b"{}", FUNCTION.encode()
    good = _HEAD.pack(b"TIC\0\0\0\0\0", len(facts), len(text)) + facts + text
    good += hashlib.sha256(good[_HEAD.size :]).hexdigest().encode()
    assert finished_file(good) != good
    assert finished_file(finished_file(good)) == finished_file(good)
    of_gpu = FUNCTION.replace("@cpu_parallel_range_for_task", "@parallel_range_for_task").encode()
    other = _HEAD.pack(b"TIC\0\0\0\0\0", len(facts), len(of_gpu)) + facts + of_gpu
    other += hashlib.sha256(other[_HEAD.size :]).hexdigest().encode()
    for data in (b"", b'{"T1": 0.5}' * 20, good[:-100], good[:-1] + b"x", b"TOC" + good[3:], other):
        assert finished_file(data) == data


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty folder of kernels."""
    monkeypatch.setenv(kernel_cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    return tmp_path / "cache"


def run(path, name):
    """What a run says of its kernels."""
    said = simcli_apart("run", path, "-o", path.with_name(name), "--json", "--threads", "1")
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)["kernels"]


def test_kept_kernels_load_addresses_once(cache, tmp_path):
    """A run that compiles and one that reads what was kept are the same, bit by bit."""
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE.format(solver="generalized"))
    assert run(path, "compiled.h5")["compiled"]
    found = run(path, "read.h5")
    assert not found["compiled"]
    assert found["from_cache"]
    said = simcli_apart("diff", "--exact", tmp_path / "compiled.h5", tmp_path / "read.h5")
    assert said.returncode == 0, said.stdout
    texts = [file.read_bytes().decode("latin1") for file in cache.rglob("*" + kernel_cache.SUFFIX)]
    parts = [part for text in texts for part in text.split("\n}\n")]
    functions = [part for part in parts if re.search(r"\ndefine .*@(function_body|take)", part)]
    assert functions
    for function in functions:
        loads = re.findall(r"= load (?:<\d x double>|double|i64)\*, ", function)
        if internals.engine.FILE_MARK == PLAIN_POINTERS:  # of addresses without types, where the arguments stand is one, too
            sources = re.findall(r"= load ptr, ptr (%[\w.]+), ", function)
            known = [
                "%0",
                "%context",
                "%arguments.at",
                *re.findall(r"(%[\w.]+) = getelementptr [a-z ]*i8, ptr %0,", function),
            ]
            loads = [source for source in sources if source not in known]
        assert 1 <= len(loads) <= len(set(re.findall(r"%array\.\d+", function)))
        guards = re.findall(rf"(%[\w.]+) = icmp .*, {UNREACHED}$", function, re.MULTILINE)
        assert guards
        assert not any(f"br i1 {guard}," in function for guard in guards)


PLAIN = """
define internal fastcc void @take_1(ptr nonnull readonly %0) unnamed_addr #2 {
allocs:
  %1 = load ptr, ptr %0, align 8
  %2 = getelementptr i8, ptr %1, i64 8
  %3 = load ptr, ptr %2, align 8
  store double 1.000000e+00, ptr %3, align 8
  %4 = icmp samesign ugt i64 %x, 2000000000
  br i1 %4, label %never, label %rest

never:                                            ; preds = %allocs
  %5 = load ptr, ptr %0, align 8
  br label %rest

rest:                                             ; preds = %never, %allocs
  %6 = phi ptr [ %1, %allocs ], [ %5, %never ]
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 24
  %8 = load ptr, ptr %7, align 8
  %9 = load ptr, ptr %2, align 8
  %10 = getelementptr i8, ptr %6, i64 16
  %11 = load i32, ptr %10, align 8
  %12 = load ptr, ptr %8, align 8
  ret void
}
"""


def test_addresses_without_types_are_loaded_once():
    """Of arguments alone: not what an array holds, nor the list of arguments of what is not given one."""
    made = finishing.finished_text(PLAIN)
    known = ["%3 = bitcast ptr %array.8 to ptr", "%8 = bitcast ptr %array.24 to ptr", "%9 = bitcast ptr %array.8 to ptr"]
    assert re.findall(r"%\d+ = bitcast .*", made) == known
    assert re.findall(r"load ptr, ptr (%array[^,]*)", made) == ["%array.8.at", "%array.24.at"]
    assert "  %12 = load ptr, ptr %8, align 8\n" in made
    assert "  br label %rest\n\nnever:" in made
    assert finishing.finished_text(made) == made
    other = PLAIN.replace("@take_1", "@cpu_parallel_range_for_task").replace("samesign ugt", "eq")
    assert finishing.finished_text(other) == other


READ_ANEW = """
from simcli.cli import main
from simcli.kernels.device import runtime
from simcli.pipeline import stepping
stepping.READING_PAYS = -1.0
starts, begin = [], runtime._start_taichi
runtime._start_taichi = lambda *words: (starts.append(1), begin(*words))
try:
    main(["run", {scene!r}, "-o", {output!r}, "-q", "--threads", "1"])
except SystemExit as end:
    print(end.code, len(starts))
"""


def test_a_long_run_reads_what_it_has_compiled(cache, tmp_path):
    """It takes the same steps, and the kernel counts as compiled, not as read."""
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE.format(solver="natural"))
    anew = tmp_path / "anew.h5"
    assert python(READ_ANEW.format(scene=str(path), output=str(anew))).split() == ["0", "2"]
    assert len(list(cache.rglob("*" + kernel_cache.SUFFIX))) == 1
    assert run(path, "read.h5")["compiled"] == 0
    said = simcli_apart("diff", "--exact", anew, tmp_path / "read.h5")
    assert said.returncode == 0, said.stdout


def key_of_run(folder, name):
    """The key of the kernel that a scene takes, which is traced for it."""
    traces.forget_traces()
    (folder / "mixed.yaml").write_text(MIXED)
    with kernels_noted() as taken:
        execute(prepare(Request(folder / "mixed.yaml", folder / f"{name}.h5", force=True)))
    assert taken[0].trace > 0
    return [kernel.key for kernel in taken]


def test_programs_are_those_of_taichis_own_front_end(tmp_path, monkeypatch):
    ours = key_of_run(tmp_path, "ours")
    with monkeypatch.context() as patch:
        for owner, name, function in internals.TAICHIS:
            if name != "warn_if_is_external_func":  # which changes no program
                patch.setattr(owner, name, function)
        taichis = key_of_run(tmp_path, "taichis")
    assert ours == taichis


@ti.func
def twice(x):
    return x + x


def made(function):
    """The result of a kernel of a function that is built into it."""
    live_device()

    @ti.kernel
    def kernel() -> ti.f64:
        return function()

    return kernel()


def test_mistakes_are_told_with_their_place():
    @ti.func
    def wrong():
        return twice(nothing)  # noqa: F821

    wrong_place = r'test_finishing.py", line \d+, in wrong:\n +return twice\(nothing\)'
    with pytest.raises(getattr(ti, f"{internals.TITLE}CompilationError"), match=wrong_place):
        made(wrong)


def test_whole_numbers_up_to_32_bits_are_constants():
    @ti.func
    def widest():
        return ti.cast(ti.cast(0, ti.i32) + 2147483647, ti.f64)

    assert made(widest) == 2**31 - 1


def test_longer_ones_are_refused():
    @ti.func
    def wider():
        return ti.cast(ti.cast(0, ti.i32) + 2147483648, ti.f64)

    with pytest.raises(getattr(ti, f"{internals.TITLE}TypeError"), match="exceeded the range of default_ip"):
        made(wider)


LEAST_GAIN = 1.2


def rows_of_table():
    """(file, name in it, gain, file of the test, test) of each trick."""
    _, *lines = language.__doc__.partition("    Trick ")[2].strip().splitlines()
    rows = (re.split(r" {2,}", line.strip()) for line in lines)
    return [(*trick.split("."), gain, *test.split(".")) for trick, _, gain, _, test in rows]


@pytest.mark.parametrize("row", rows_of_table(), ids=lambda row: ".".join(row[:2]))
def test_a_trick_and_its_test_are_where_the_table_says(row):
    file, name, gain, test_file, test = row
    room = Path(language.__file__).parent
    place = next(path for path in (room / f"{file}.py", *room.parent.rglob(f"{file}.py")) if path.exists())
    assert re.search(rf"\b{name}\b", place.read_text(encoding="utf-8"))
    assert f"def test_{test}(" in Path(__file__).with_name(f"test_{test_file}.py").read_text(encoding="utf-8")
    assert gain == "all" or float(gain) >= LEAST_GAIN


@procedure
def add_to(slot: ti.template(), w: ti.i32, k: ti.i32, x: ti.f64):
    slot.store(w, k, slot.load(w, k) + x)


@pytest.mark.parametrize("backends", [calls.CALLING, ()])
def test_a_procedure_is_compiled_once_and_called_or_inlined(device, monkeypatch, backends):
    monkeypatch.setattr(calls, "CALLING", backends)
    arena, built = Arena(device, 1), []
    slot = arena.array(3)
    arena.build()
    monkeypatch.setattr(calls, "own_variables", lambda own=calls.own_variables: built.append(True) or own())

    @ti.kernel
    def twice(s: ti.template()):
        for w in range(arena.n_blocks):
            arena.enter(w)
            for k in range(3):
                add_to(s, w, k, 1.0)
            add_to(s, w, 1, 10.0)

    arena.launch(twice, slot)
    assert slot.read()[0, :, 0].tolist() == [1.0, 11.0, 1.0]
    assert len(built) == (1 if backends else 0)
    arena.destroy()


def test_only_what_is_compiled_thoroughly_is(device):
    assert not configuration().advanced_optimization
    compile_thoroughly()
    assert configuration().advanced_optimization
    compile_thoroughly(False)
    assert not configuration().advanced_optimization


def joint_positions(path, rolled):
    device = runtime.start_device("cpu", "float64", threads=1, offline_cache=False)
    finishing.keep_loops_rolled(rolled)
    model = prepare(Request(path)).model
    options = SimpleNamespace(integrator="semi_implicit", max_velocity=1e6)
    solver = SOLVERS["generalized"](model, options, RunPlan(1e-3, 10, 3, frozenset(("state",))), device)
    solver.initial()
    return solver.advance(3).columns["frames/joint_q"]


def test_loops_are_rewritten_on_the_cpu_alone():
    live_device()
    finishing.keep_loops_rolled(False)
    taichis_own = ASTTransformer.build_range_for
    finishing.keep_loops_rolled(True)
    assert taichis_own.__module__.startswith(internals.PACKAGE)
    assert ASTTransformer.build_range_for is not taichis_own


@pytest.mark.slow
def test_the_bytes_are_those_of_unrolled_loops(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(MIXED)
    unrolled, rolled = joint_positions(path, False), joint_positions(path, True)
    assert np.ptp(rolled) > 0
    assert rolled.tobytes() == unrolled.tobytes()


PEERS = Path(__file__).with_name("benchmarks") / "peers.py"
ROUNDING = 1e-12  # [rad] after 20 steps, and of efforts beside the largest one
WORDS = ["--worlds", "3", "--duration", "0.02", "--repeat", "1"]


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """Two hinges."""
    return next(bench_scenes.chains(tmp_path_factory.mktemp("bench")))[0]


@pytest.mark.parametrize(("task", "steps"), [("run", 20), ("rnea", 1)])
def test_bench_times_our_side(chain, capfd, task, steps):
    words = ["bench", str(chain), "--task", task, *WORDS, "--json"]
    assert cli_process.run_command(words, debug=True, as_json=True) == Exit.OK
    (row,) = json.loads(capfd.readouterr().out)["rows"]
    assert (row["scene"], row["task"], row["worlds"], row["steps"]) == ("chain2", task, 3, steps)
    assert row["per_second"] == pytest.approx(1e6 / row["microseconds"])
    assert "ratio" not in row


def test_what_threads_gain_is_told(chain, capfd, monkeypatch):
    """Runs are longer for it, whatever a short one takes; cores are given back."""
    monkeypatch.setattr(bench_threads, "_LEAST", 0.05)
    before = bench_threads.allowed_cores()
    words = ["bench", str(chain), *WORDS, "--repeat", "1", "--threads", "2"]
    assert cli_process.run_command(words, debug=True, as_json=False) == Exit.OK
    said = r"chain2: 2 threads .* do \d+\.\d\d times the work .* without frames, \d+\.\d\d times with"
    assert re.search(said, capfd.readouterr().out)
    assert bench_threads.allowed_cores() == before


@pytest.mark.skipif(len(bench_threads.allowed_cores()) < 2, reason="no system that binds processes, or one core")
def test_one_core_is_one_for_all_threads_and_children():
    ask = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
    with bench_threads.cores_for(1):
        assert {len(os.sched_getaffinity(int(each.name))) for each in Path("/proc/self/task").iterdir()} == {1}
        assert subprocess.check_output(ask, text=True) == "1\n"


def test_the_table_is_followed_by_where_the_peers_are(chain, capfd):
    assert cli_process.run_command(["bench", str(chain), "--task", "rnea", *WORDS], debug=True, as_json=False) == Exit.OK
    said = capfd.readouterr()
    assert said.out.split("\n")[1].startswith("chain2")
    assert f"python {PEERS.relative_to(Path(__file__).parents[1])}" in said.err


@pytest.mark.parametrize(("task", "peer"), [("run", "mujoco"), ("rnea", "pinocchio")])
def test_peers_come_to_the_same_and_have_a_line_below_ours(chain, task, peer):
    pytest.importorskip(peer)
    words = [sys.executable, str(PEERS), str(chain), "--task", task, *WORDS]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=TIMEOUT, check=True)
    head, ours, theirs = done.stdout.splitlines()
    assert head.split()[-2:] == ["ratio", "difference"]
    assert (ours.split()[1], theirs.split()[1]) == ("simcli", peer)
    ratio, difference = map(float, ours.split()[-2:])
    assert ratio >= 0
    assert difference < ROUNDING


def test_a_scene_without_a_peer_is_timed_and_says_so(chain, tmp_path):
    scene = tmp_path / "pulled.yaml"
    scene.write_text(chain.read_text() + "forces: {f: {type: wrench, body: b0, force: [1, 0, 0]}}\n")
    words = [sys.executable, str(PEERS), str(scene), "--task", "rnea", *WORDS]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=TIMEOUT, check=True)
    assert len(done.stdout.splitlines()) == 2
    assert "no peer for springs, wrenches, drives and applied torques" in done.stderr


@pytest.mark.slow
def test_what_measures_cost_is_said():
    words = [sys.executable, str(PEERS.with_name("measures.py")), "--turns", "1", "--steps", "20"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=TIMEOUT, check=True)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [
        "no frames between start and end",
        "states at each tenth step",
    ]


@pytest.mark.parametrize(("fraction", "steps"), [(1.0, 100), (0.25, 25), (0.001, 1)])
def test_the_residual_of_the_gpu_table_takes_its_part_of_the_steps(monkeypatch, tmp_path, fraction, steps):
    """--fraction is of all steps, those included that tell the residual."""
    monkeypatch.syspath_prepend(str(PEERS.parent))
    import gpu

    from simcli.cli.runs.bench import BenchTask

    asked = []
    monkeypatch.setattr(gpu, "Runs", lambda work: asked.append(work) or SimpleNamespace(residual=lambda: 0.0))
    (work, *_) = gpu.works_of(BenchTask.STACKS, 2, "float64", "cpu", tmp_path)
    assert gpu.residual_of(work, fraction) == 0.0
    dt = pipeline.read_scene(work.scene, work.sets)[1].solver.dt
    assert asked[0].duration == pytest.approx(steps * dt)
