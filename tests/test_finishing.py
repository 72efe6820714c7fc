"""Finished kernels: their text has no guards and loads addresses once, and they do what they did, bit by bit."""

import hashlib
import json
import re

import pytest
from support.process import python, simcli_apart

from simcli.kernels.device import kernel_cache
from simcli.kernels.language.finishing import finished_file, finished_text
from simcli.kernels.language.rolling import UNREACHED
from simcli.kernels.machine_code import _HEAD

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
    assert body[1:5] == ["  %arguments.at = bitcast %struct.RuntimeContext.7* %0 to " + LISTS + "**",
                         f"  %arguments = load {LISTS}*, {LISTS}** %arguments.at, align 8",
                         f"  %array.0.at = getelementptr {LISTS}, {LISTS}* %arguments, i64 0, i32 0, i32 1",
                         "  %array.0 = load double*, double** %array.0.at, align 8"]  # fmt: skip
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
        assert 1 <= len(loads) <= len(set(re.findall(r"%array\.\d+", function)))
        guards = re.findall(rf"(%[\w.]+) = icmp .*, {UNREACHED}$", function, re.MULTILINE)
        assert guards
        assert not any(f"br i1 {guard}," in function for guard in guards)


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
