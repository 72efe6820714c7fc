"""A kernel serves all sizes, numbers of worlds, step sizes and values: nothing is compiled for another one of these."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.gpu import started

from simcli import pipeline
from simcli.errors import DeviceError
from simcli.kernels.algebra.values import Sym3, Vec3
from simcli.kernels.device import runtime
from simcli.kernels.device.runtime import CACHE_LINE, CPU_LANES
from simcli.kernels.language import ti
from simcli.kernels.language.compilations import kernels_noted
from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.notes import Notes
from simcli.solvers import SOLVERS

SCENE = """
simcli: 1
solver: {{type: {solver}, dt: {dt} ms}}
world: {{gravity: [0, 0, -{g}]}}
defaults:
  joint: {{type: revolute, axis: [0, 1, 0]}}
  body: {{inertia: {{diag: [0.1, 0.1, 0.1]}}, com: [0, 0, -0.5], points: {{p: [0, 0, -1]}}}}
bodies: {{{bodies}}}
joints: {{{joints}}}
forces: {{{springs}}}
run: {{duration: {duration}}}
batch: {{worlds: {worlds}}}
output: {{every: 0.01}}
"""
BALLS = """
simcli: 1
solver: {{type: {solver}, dt: 1 ms}}
contact: {{}}
defaults:
  body: {{mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}, shapes: {{s: {{type: sphere, radius: 0.5}}}}}}
world: {{shapes: {{ground: {{type: plane}}}}}}
bodies: {{{bodies}}}
run: {{duration: 0.01}}
"""
FIRST = {"dt": 1, "g": 9.81, "mass": 1.0, "duration": 0.02, "worlds": 8, "n": 2, "n_springs": 1}
OTHERS = {"worlds": 100, "dt": 0.5, "g": 1.62, "mass": 2.5, "duration": 0.05, "n": 5, "n_springs": 2}
FIRST_CLASS = 64  # worlds whose kernels are the same where each stage is one


def chain(solver: str, n: int, n_springs: int, mass: float, **numbers) -> str:
    """Hinges one below the other, with springs between the world and the first bodies."""
    bodies = (f"b{k}: {{mass: {mass}}}" for k in range(n))
    joints = (f"j{k}: {{parent: {f'b{k - 1}' if k else 'world'}, child: b{k}, "
              f"parent_frame: {{xyz: [0, 0, {-1 if k else 0}]}}, q: 0.3}}" for k in range(n))  # fmt: skip
    springs = (f"s{k}: {{type: spring, a: {{world: [1, 0, 0]}}, b: b{k}/p, stiffness: 5, rest_length: 1}}"
               for k in range(n_springs))  # fmt: skip
    parts = {"bodies": bodies, "joints": joints, "springs": springs}
    return SCENE.format(solver=solver, **numbers, **{name: ", ".join(part) for name, part in parts.items()})


ON_GPU = [pytest.param("generalized", "like_gpu", marks=pytest.mark.slow),
          pytest.param("generalized", "vulkan", marks=pytest.mark.gpu)]  # fmt: skip


@pytest.mark.parametrize(("solver", "device"), [
    *(pytest.param(one, "cpu", marks=[pytest.mark.slow] * (one != "generalized")) for one in SOLVERS),
    *ON_GPU])  # fmt: skip
def test_another_scene_of_a_kind_needs_no_other_kernel(solver, device, tmp_path, monkeypatch):
    scenes, fixed = {"first": {}, **{name: {name: value} for name, value in OTHERS.items()}}, {}
    if device == "vulkan":
        started(device, "float64")
        fixed = {"n_springs": 0}  # springs take the software driver longer, and it starts anew for each scene
        scenes = {name: scenes[name] for name in ("first", "worlds", "n")} | {"worlds": {"worlds": FIRST_CLASS}}
    for name, changes in scenes.items():
        (tmp_path / f"{name}.yaml").write_text(chain(solver, **FIRST | changes | fixed))
    first, *others = kernels_of([tmp_path / f"{name}.yaml" for name in scenes], device, monkeypatch)
    assert first
    assert [kernels - first for kernels in others] == [set()] * (len(scenes) - 1), list(scenes)


@pytest.mark.parametrize(("solver", "device"), [("generalized", "cpu"), ON_GPU[0], *(
    pytest.param(one, "cpu", marks=pytest.mark.slow) for one in SOLVERS if one != "generalized")])  # fmt: skip
def test_another_number_of_shapes_needs_no_other_kernel(solver, device, tmp_path, monkeypatch):
    for n in (2, 3):
        bodies = ", ".join(f"b{k}: {{pose: {{xyz: [{3 * k}, 0, 1]}}}}" for k in range(n))
        (tmp_path / f"{n}.yaml").write_text(BALLS.format(solver=solver, bodies=bodies))
    first, second = kernels_of([tmp_path / "2.yaml", tmp_path / "3.yaml"], device, monkeypatch)
    assert first
    assert second <= first


LOOP = """
simcli: 1
solver: {type: generalized, dt: 1 ms, integrator: semi_implicit}
bodies: {m: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}}
joints: {pin: {type: revolute, parent: world, child: m, q: 0.2, drive: {mode: effort, target: $u}}}
signals: {LAWS}
run: {duration: 0.01}
"""
LAWS = (
    "u: {expression: '-{joint.pin.q}'}",
    "u: {expression: 'exp(-t)*sin(3*{joint.pin.qd})**2 - {body.m.orientation.3}', limits: [-1, 1]}",
    "u: {pid: {input: '{joint.pin.q}', kp: 3, ki: 2, limits: [-1, 2]}, rate: 250 Hz, delay: 8 ms}",
    "u: {filter: {input: $v, time_constant: 0.1}}, v: {expression: '{signal.w} + 2'}, "
    "w: {pid: {input: '{joint.pin.q}', kp: 1}}",
)


def test_another_law_of_feedback_needs_no_other_kernel(tmp_path, monkeypatch):
    for k, laws in enumerate(LAWS):
        (tmp_path / f"{k}.yaml").write_text(LOOP.replace("LAWS", laws))
    first, *others = kernels_of([tmp_path / f"{k}.yaml" for k in range(len(LAWS))], "cpu", monkeypatch)
    assert first
    assert [kernels - first for kernels in others] == [set()] * len(others)


def kernels_of(scenes: list[Path], device: str, monkeypatch) -> list[set[str]]:
    """Keys of all kernels that each scene takes, wherever they come from: equal kernels have equal keys."""
    if device == "like_gpu":
        monkeypatch.setattr(runtime, "start_device", partial(runtime.start_device, like_gpu=True))
        device = "cpu"
    found = []
    for scene in scenes:
        with kernels_noted() as taken:
            pipeline.execute(pipeline.prepare(pipeline.Request(scene, scene.with_suffix(".h5"), (), device, 1)))
        found.append({kernel.key for kernel in taken})
    return found


@pytest.mark.parametrize("n_worlds", [1, 5])
def test_memory_is_of_zeros_and_keeps_what_is_written(device, n_worlds):
    """Slots of all widths, of which none overlaps another; a copy of everything, put back, is the same."""
    arena = Arena(device.for_worlds(n_worlds), n_worlds)
    slots = [arena.slot(n, kind) for n, kind in ((3, None), (2, Vec3), (1, Sym3), (5, None), (4, Vec3))]
    arena.build()
    values = [np.random.default_rng(k).normal(size=slot.read().shape) for k, slot in enumerate(slots)]
    assert not arena.read().any()
    for slot, value in zip(slots, values, strict=True):
        slot.write(value)
    kept = arena.read()
    for slot, value in zip(slots, values, strict=True):
        assert (slot.read() == value).all()
        slot.write(np.zeros_like(value))
    arena.write(kept)
    for slot, value in zip(slots, values, strict=True):
        assert (slot.read() == value).all()
    arena.destroy()


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("n_worlds", [2, 40])  # scalars, packs
def test_blocks_share_no_line_of_the_cache(device, precision, n_worlds):
    """A line that two threads write goes from one core to the other each time: chains of two did 0.9 of their work so."""
    arena = Arena(replace(device, precision=precision, lanes=CPU_LANES[precision]).for_worlds(n_worlds), n_worlds)
    arena.slot(3), arena.slot(4, Vec3), arena.ints([1, 2, 3])
    kept, whole, wide = Notes(arena), Notes(arena, ti.i32), Notes(arena, width=3)
    kept.reserve(5), whole.reserve(3), wide.reserve(7)
    arena.build()
    starts = [arena.storage.packs.ctypes.data, *(each.memory.ctypes.data for each in (kept, whole, wide))]
    apart = [arena.storage.packs.strides[0], *(each.memory.strides[0] for each in (kept, whole, wide))]
    assert arena.n_blocks > 1
    assert not any(number % CACHE_LINE for number in (*starts, *apart))
    assert [each.memory.shape[1:] for each in (kept, whole, wide)] == [(5, 1), (3, 1), (7, 3)]
    arena.destroy()


def test_memory_that_kernels_do_not_reach_is_refused(device, monkeypatch):
    monkeypatch.setattr("simcli.kernels.memory.storage.MASK", 1)
    arena = Arena(device, 1)
    arena.slot(3)
    with pytest.raises(DeviceError, match=r"SC714: .* are more than kernels reach: simulate smaller worlds"):
        arena.build()
