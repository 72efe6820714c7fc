"""The scalar code and the memory layout of a GPU, run on the CPU and, where there is one, on a CUDA device."""

import json
import os
import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from support.process import python, simcli_apart
from support.random_models import TREE_TYPES, random_mechanism
from support.runs import MIXED, SWING
from support.trials import run_trial

from simcli.errors import DeviceError, Exit, UsageError
from simcli.kernels.device import cuda
from simcli.kernels.device.cuda import has_cuda_device
from simcli.kernels.device.runtime import choose_arch, start_device
from simcli.model.assemble import assemble
from simcli.model.closure.begin import begun
from simcli.model.joints.catalogue import CATALOGUE
from simcli.solvers import SOLVERS, RunPlan
from simcli.solvers.base.integrators import STAGES

AGREEMENT = 1e-10  # what the project promises between devices in float64, relative to the size of each quantity
N_WORLDS = 5  # a full pack of lanes and a rest
DT, STEPS_PER_FRAME, N_FRAMES = 1e-3, 10, 5
needs_cuda = pytest.mark.skipif(not has_cuda_device(), reason="no CUDA device")
SOME = [pytest.param(one, marks=pytest.mark.slow) if one != "semi_implicit" else one for one in STAGES]
OTHERS = ["like_gpu", pytest.param("cuda", marks=[pytest.mark.gpu, needs_cuda])]


def started(name):
    if name == "like_gpu":
        return start_device("cpu", "float64", threads=1, like_gpu=True)
    return start_device(name, "float64", threads=1)


def forest_model():
    """A tree of every kind of joint, other initial states in every world."""
    rng = np.random.default_rng(5)
    mechanism = random_mechanism(rng, 14, TREE_TYPES, floating=True, n_worlds=N_WORLDS, vary=("bodies",))
    while {joint.kind for joint in mechanism.joints} < kinds():
        mechanism = random_mechanism(rng, 14, TREE_TYPES, floating=True, n_worlds=N_WORLDS, vary=("bodies",))
    return begun(assemble(mechanism))


def kinds():
    return {CATALOGUE[name].kind for name in TREE_TYPES}


def scene_model(tmp_path):
    """A scene with every kind of force."""
    from simcli.pipeline import Request, prepare

    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED)
    vary = ("batch.worlds=5", "batch.vary={params.k: {uniform: [20, 60]}, joints.rail.q: {uniform: [-0.2, 0.2]}}")
    return prepare(Request(path, sets=vary)).model


def solve(model, integrator, device):
    """All columns of a short run."""
    options = SimpleNamespace(integrator=integrator, max_velocity=1e6)
    plan = RunPlan(DT, STEPS_PER_FRAME, N_FRAMES, frozenset(("state", "energy", "reactions")))
    solver = SOLVERS["generalized"](model, options, plan, device)
    first, rest = solver.initial(), solver.advance(N_FRAMES)
    return {name: np.concatenate((first.columns[name], rest.columns[name])) for name in first.columns}


def assert_agree(found, wanted):
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        # The drift is a difference of sums of these: their size is that of its rounding.
        parts = ("energy/kinetic", "energy/potential") if name == "energy/drift" else (name,)
        size = max(np.nanmax(np.abs(wanted[part]), initial=1e-300) for part in parts)
        assert np.array_equal(np.isnan(found[name]), np.isnan(values)), name
        assert np.nanmax(np.abs(found[name] - values), initial=0.0) <= AGREEMENT * size, name


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("integrator", SOME)
def test_runs_agree_with_the_lane_code(integrator, other, tmp_path):
    model = scene_model(tmp_path)
    wanted = solve(model, integrator, started("cpu"))
    assert (wanted["frames/joint_q"][0] != wanted["frames/joint_q"][-1]).any(axis=0).all()
    device = started(other)
    assert device.is_gpu
    assert device.lanes == 1
    assert_agree(solve(model, integrator, device), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("other", OTHERS)
def test_runs_of_every_kind_of_joint_agree(other):
    model = forest_model()
    wanted = solve(model, "semi_implicit", started("cpu"))
    assert_agree(solve(model, "semi_implicit", started(other)), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("other", OTHERS)
def test_algorithms_agree_with_the_lane_code(other):
    rng = np.random.default_rng(5)
    mechanism = random_mechanism(rng, 14, TREE_TYPES, floating=True, n_worlds=N_WORLDS)
    names = ("body_q", "body_qd", "rnea", "mass", "jacobian", "aba", "projected_q", "projected_qd")
    both = []
    for name in ("cpu", other):
        trial = run_trial(np.random.default_rng(6), mechanism, started(name))
        both.append({key: getattr(trial, key) for key in names})
    assert_agree(both[1], both[0])


@pytest.fixture
def swing(tmp_path):
    path = tmp_path / "swing.yaml"
    path.write_text(SWING)
    return path


@pytest.mark.skipif(has_cuda_device(), reason="CUDA is here")
def test_cuda_without_cuda_is_refused(swing, tmp_path):
    done = simcli_apart("run", swing, "--device", "cuda", "--json", cwd=tmp_path)
    assert done.returncode == Exit.DEVICE
    message = json.loads(done.stdout)["message"]
    assert "`cuda` is not available" in message
    assert "--device cpu" in message
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "outputs").exists()


@pytest.mark.skipif(has_cuda_device(), reason="CUDA is here")
def test_auto_without_cuda_says_that_it_took_the_cpu():
    assert choose_arch("auto", "float64") == "cpu"


def test_float64_is_what_metal_lacks(monkeypatch):
    """Also where the device is there; what a Vulkan driver lacks is found when it starts (test_gpu_devices.py)."""
    from simcli.kernels.device import runtime

    monkeypatch.setattr(runtime, "is_arch_supported", lambda arch: True)
    with pytest.raises(DeviceError, match="has no float64"):
        choose_arch("metal", "float64")
    assert choose_arch("metal", "float32") == "metal"
    assert choose_arch("vulkan", "float64") == "vulkan"


def test_unknown_names_are_refused():
    with pytest.raises(UsageError, match="unknown device"):
        choose_arch("abacus", "float64")
    with pytest.raises(UsageError, match="unknown device `cuda:one`"):
        choose_arch("cuda:one", "float64")
    with pytest.raises(UsageError, match="unknown precision"):
        start_device("cpu", "float16")


def test_one_of_several_cuda_devices_is_made_the_only_one(monkeypatch):
    monkeypatch.setattr(cuda, "_taken", [])
    monkeypatch.setenv(cuda.VISIBLE_DEVICES, "4,7")
    with pytest.raises(DeviceError, match="`cuda:2` is not available: CUDA_VISIBLE_DEVICES names 2"):
        cuda.take_cuda_device(2)
    cuda.take_cuda_device(1)
    assert os.environ[cuda.VISIBLE_DEVICES] == "7"
    cuda.take_cuda_device(1)
    with pytest.raises(UsageError, match="works on cuda:1 and cannot take cuda:0"):
        cuda.take_cuda_device(0)


@pytest.mark.skipif(has_cuda_device(), reason="CUDA is here")
def test_a_numbered_device_that_is_not_there_is_refused(swing, tmp_path):
    done = simcli_apart("run", swing, "--device", "cuda:1", cwd=tmp_path)
    assert done.returncode == Exit.DEVICE
    assert "device `cuda:1` is not available on this machine" in done.stderr


def test_a_device_that_taichi_exchanges_is_refused(monkeypatch):
    """Taichi falls back to the CPU with a log line; that must not pass for the device that was asked for."""
    from simcli.kernels.device import runtime

    monkeypatch.setattr(runtime, "choose_arch", lambda device, precision: "cuda")
    if has_cuda_device():
        pytest.skip("CUDA is here")
    with pytest.raises(DeviceError):
        start_device("cuda", "float64")


ASSEMBLY = """
from pathlib import Path
from types import SimpleNamespace
from simcli.kernels.device.runtime import start_device
from simcli.pipeline import Request, prepare
from simcli.solvers import SOLVERS, RunPlan
from simcli.solvers.base.integrators import STAGES
device = start_device("cpu", PRECISION, threads=1, offline_cache=False, print_kernel_asm=True)
model = prepare(Request(Path("swing.yaml"), sets=("batch.worlds=WORLDS",))).model
options = SimpleNamespace(integrator="semi_implicit", max_velocity=1e6)
plan = RunPlan(1e-3, 10, 5, frozenset(("state",)))
SOLVERS["generalized"](model, options, plan, device).initial()
"""
ARITHMETIC = re.compile(r"\s*v?(?:mul|add|sub|div|fn?m(?:add|sub)\d*)([ps])([sd])\s+(.*)")
NEAR = 64  # lines between a sum and its store: all lanes of a pack are summed first


def is_of_frame(operands, after):
    """True for a number of a frame on its way out, memory + poison: lanes of a pack go to rows of different worlds."""
    number = re.escape(operands.rsplit(", ", 1)[-1])
    use = next((line for line in after if re.search(rf"{number}\b", line)), "")
    return "(" in operands and re.match(rf"\s*v?movs[sd]\s+{number}, .*\(", use) is not None


def count_arithmetic(text):
    """How many instructions on packs ("p") and on scalars ("s") of each letter; those of frames not."""
    lines, count = text.splitlines(), Counter()
    for k, line in enumerate(lines):
        if found := ARITHMETIC.match(line):
            kind, letter, operands = found.groups()
            if kind == "p" or not is_of_frame(operands, lines[k + 1 : k + 1 + NEAR]):
                count[kind, letter] += 1
    return count


def largest_kernel(folder, precision, worlds):
    (folder / "swing.yaml").write_text(SWING)
    python(ASSEMBLY.replace("PRECISION", repr(precision)).replace("WORLDS", str(worlds)), cwd=folder)
    return max(folder.rglob("*.s"), key=lambda path: path.stat().st_size).read_text()


@pytest.mark.parametrize(("precision", "letter"), [("float64", "d"), ("float32", "s")])
def test_the_lane_code_is_packed_arithmetic(tmp_path, precision, letter):
    """A pack that falls apart into scalars costs the whole advantage of lanes, silently.

    What stays scalar is what all worlds share, before it is spread over the lanes.
    """
    count = count_arithmetic(largest_kernel(tmp_path, precision, worlds=8))
    packed, scalar = count["p", letter], count["s", letter]
    assert packed > 200, count
    assert packed > 5 * scalar, count


def test_code_of_one_world_is_not_taken_for_packs(tmp_path):
    """The count tells scalar code: that of a single world."""
    count = count_arithmetic(largest_kernel(tmp_path, "float64", worlds=1))
    assert count["p", "d"] < 5 * count["s", "d"], count
