"""Every solver on a GPU: the numbers of the CPU; where each stage of a step is a kernel, the bytes of one kernel."""

from pathlib import Path

import numpy as np
import pytest
from support.device import live_device
from support.gpu import AGREEMENT, DOUBLE_PENDULUM, GPUS, assert_agree, columns_of, started

from simcli.kernels.device import runtime
from simcli.kernels.device.runtime import start_device
from simcli.pipeline import Request, prepare, solver_of
from simcli.solvers import SOLVERS
from simcli.solvers.shared.host import walk

BALLS = """
simcli: 1
world: {shapes: {ground: {type: plane}}}
defaults: {body: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, shapes: {s: {type: sphere, radius: 0.5}}}}
bodies: {a: {pose: {xyz: [0, 0, 0.501]}}, b: {pose: {xyz: [0.1, 0, 1.503]}}}
contact: {}
solver: {type: SOLVER, dt: 1 ms, precision: float64}
run: {duration: 0.02}
output: {every: 1e-2}
"""
LOOP = (Path(__file__).parents[1] / "scenes/fourbar_mbse.yaml").read_text().split("expect:")[0].replace("n: 5", "n: 0.02")
PENDULUM = DOUBLE_PENDULUM.replace("PRECISION", "float64").replace("0.1}\noutput", "0.02}\noutput")
SCENES = {**{name: PENDULUM.replace("generalized", name) for name in SOLVERS},
          "a loop": LOOP,  # by rk4
          "measures": PENDULUM + "measure: {end: {final: body.lower.position}, most: {max: joint.elbow.qd}}\n"}
CONTACTS = {name: BALLS.replace("SOLVER", name) for name in SOLVERS}
CHEAP = ("natural",)  # a case of the default run: the software driver compiles for some seconds


def run(text, device, folder):
    """All columns of a run of a scene."""
    path = folder / "scene.yaml"
    path.write_text(text)
    solver = solver_of(prepare(Request(path)), device)
    return columns_of(solver) | dict(zip(("values", "times"), solver.measured(), strict=True))


def cases(scenes, cheap=()):
    """Names of scenes; those that are not cheap are slow."""
    return [name if name in cheap else pytest.param(name, marks=pytest.mark.slow) for name in scenes]


@pytest.mark.gpu
@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", cases(SCENES))  # test_gpu_devices.py tells of the generalized solver
def test_steps_are_those_of_the_cpu(gpu, name, tmp_path):
    found = run(SCENES[name], started(gpu, "float64"), tmp_path)
    wanted = run(SCENES[name], live_device(), tmp_path)
    assert np.abs(wanted["frames/body_qd"][-1]).max() > 0.1
    assert_agree(found, wanted, AGREEMENT["float64"])


@pytest.mark.gpu
@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", cases(CONTACTS))
def test_contacts_are_those_of_the_cpu(gpu, name, tmp_path):
    found = run(CONTACTS[name], started(gpu, "float64"), tmp_path)
    wanted = run(CONTACTS[name], live_device(), tmp_path)
    assert wanted["diag/contacts"].max() > 0
    assert_agree(found, wanted, AGREEMENT["float64"])


@pytest.mark.parametrize("name", cases(SCENES | {f"{name} with contacts": text for name, text in CONTACTS.items()}, CHEAP))
def test_kernels_of_one_stage_make_the_bytes_of_one_kernel(name, tmp_path, monkeypatch):
    text = (SCENES | {f"{name} with contacts": text for name, text in CONTACTS.items()})[name]
    device = start_device("cpu", "float64", threads=1, like_gpu=True)
    wanted = run(text, device, tmp_path)
    monkeypatch.setattr(runtime, "BY_SPIRV", ("cpu",))
    taken = []
    monkeypatch.setattr(walk, "take_program", lambda solver, real=walk.take_program: (taken.append(solver), real(solver)))
    found = run(text, device, tmp_path)
    assert len(taken) == 3
    assert {key: value.tobytes() for key, value in found.items()} == {key: value.tobytes() for key, value in wanted.items()}
